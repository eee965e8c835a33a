/* pointwise_act.c -- activations and their backwards
 *
 * For table.c. */
#include "pw.h"

#include <string.h>

#define DL_FORMULAS_ACT
#define PW_GRAIN 16384
#include "pw_make.h"

static bool by_tanh(const dl_arg *a) { return a->tag == DL_A_STR && !strcmp(a->s, "tanh"); }

DL_KERNEL(gelu) { return DL_K(dl_pw_run)(c, by_tanh(&c->arg[1]) ? &pw_gelu_tanh : &pw_gelu_none); }
DL_KERNEL(gelu_backward) {
  return DL_K(dl_pw_run)(c, by_tanh(&c->arg[2]) ? &pw_gelu_tanh_backward : &pw_gelu_none_backward);
}
