/* pointwise_act.cu -- activations and their backwards
 *
 * For table.cu. */
#include "pw.h"

#include <string.h>

#define DL_FORMULAS_ACT
#include "pw_make.h"

static bool by_tanh(const dl_arg *a) { return a->tag == DL_A_STR && !strcmp(a->s, "tanh"); }

DL_CUDA(gelu) { return pw_run(c, by_tanh(&c->arg[1]) ? &pw_gelu_tanh : &pw_gelu_none, stream); }
DL_CUDA(gelu_backward) {
  return pw_run(c, by_tanh(&c->arg[2]) ? &pw_gelu_tanh_backward : &pw_gelu_none_backward, stream);
}
