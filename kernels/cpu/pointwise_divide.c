/* pointwise_divide.c -- quotients that are rounded, and remainders
 *
 * For table.c. Floats never fail; integers refuse a zero divisor before anything is written. */
#include "pw.h"

#include <string.h>

#define DL_FORMULAS_DIVIDE
#define PW_GRAIN 16384
#include "pw_make.h"

static dl_status divide(dl_kcall *c, const pw_op *real, const pw_op *whole, int divisor) {
  if (c->compute != DL_I64) return DL_K(dl_pw_run)(c, real);
  DL_TRY(DL_K(dl_pw_refuse_zero)(c, divisor));
  return DL_K(dl_pw_run)(c, whole);
}

DL_KERNEL(floor_divide) { return divide(c, &pw_floor_divide, &pw_whole_floor, 1); }
DL_KERNEL(rfloor_divide) { return divide(c, &pw_rfloor_divide, &pw_whole_rfloor, 0); }
DL_KERNEL(remainder) { return divide(c, &pw_remainder, &pw_whole_mod, 1); }
DL_KERNEL(rremainder) { return divide(c, &pw_rremainder, &pw_whole_rmod, 0); }
DL_KERNEL(fmod) { return divide(c, &pw_fmod, &pw_whole_fmod, 1); }
DL_KERNEL(div_mode) {
  bool floors = !strcmp(c->arg[2].s, "floor");
  return floors ? divide(c, &pw_floor_divide, &pw_whole_floor, 1)
                : divide(c, &pw_div_trunc, &pw_whole_trunc, 1);
}
