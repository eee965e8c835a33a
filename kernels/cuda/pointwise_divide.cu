/* pointwise_divide.cu -- quotients that are rounded, and remainders
 *
 * For table.cu. A zero divisor gives what the formula gives: as in PyTorch a GPU raises nothing. */
#include "pw.h"

#include <string.h>

PW_LONG(floor_divide)
PW_LONG(rfloor_divide)
PW_LONG(remainder)
PW_LONG(rremainder)
PW_LONG(fmod)

#define DL_FORMULAS_DIVIDE
#include "pw_make.h"

static dl_status divide(dl_kcall *c, const pw_op *real, const pw_op *whole, void *stream) {
  return pw_run(c, c->compute != DL_I64 ? real : whole, stream);
}

DL_CUDA(floor_divide) { return divide(c, &pw_floor_divide, &pw_whole_floor, stream); }
DL_CUDA(rfloor_divide) { return divide(c, &pw_rfloor_divide, &pw_whole_rfloor, stream); }
DL_CUDA(remainder) { return divide(c, &pw_remainder, &pw_whole_mod, stream); }
DL_CUDA(rremainder) { return divide(c, &pw_rremainder, &pw_whole_rmod, stream); }
DL_CUDA(fmod) { return divide(c, &pw_fmod, &pw_whole_fmod, stream); }
DL_CUDA(div_mode) {
  if (!strcmp(c->arg[2].s, "floor")) return divide(c, &pw_floor_divide, &pw_whole_floor, stream);
  return divide(c, &pw_div_trunc, &pw_whole_trunc, stream);
}
