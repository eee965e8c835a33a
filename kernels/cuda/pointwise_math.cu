/* pointwise_math.cu -- exp, log, sin, pow and their kin
 *
 * For table.cu. float32 by math32.h, float64 by libm. */
#include "pw.h"

PW_LONG(pow_any)
PW_LONG(rpow_any)

#define DL_FORMULAS_MATH
#include "pw_make.h"

/* A number as exponent takes the form that PyTorch takes: x^2 is x * x to the last bit. */
static const struct { double exponent; const pw_op *op; } power_forms[] = {
  {2.0, &pw_pow_2},           {3.0, &pw_pow_3},         {0.5, &pw_pow_half},
  {-0.5, &pw_pow_minus_half}, {-1.0, &pw_pow_minus_1},  {-2.0, &pw_pow_minus_2},
};

DL_CUDA(pow) {
  const dl_arg *e = &c->arg[1];
  if (!dl_arg_is_num(e)) return pw_run(c, &pw_pow_any, stream);
  for (size_t i = 0; i < sizeof power_forms / sizeof *power_forms; i++) {
    bool whole = c->compute == DL_I64;
    if (dl_arg_f(e) == power_forms[i].exponent && (!whole || power_forms[i].op->types & PW_WHOLE))
      return pw_run(c, power_forms[i].op, stream);
  }
  return pw_run(c, &pw_pow_any, stream);
}
DL_CUDA(rpow) { return pw_run(c, &pw_rpow_any, stream); }
