/* pointwise_arith.cu -- arithmetic, rounding, choosing
 *
 * For table.cu. Rows of kernels/formulas.h become loops; below them the few ops whose formula
 * depends on their arguments.
 * MUST NOT  know strides or threads (pointwise.c). */
#include "pw.h"

#define DL_FORMULAS_ARITH
#include "pw_make.h"

static bool is_one(const dl_arg *a) { return dl_arg_f(a) == 1.0; }

DL_CUDA(add) { return pw_run(c, is_one(&c->arg[2]) ? &pw_add_plain : &pw_add_alpha, stream); }
DL_CUDA(sub) { return pw_run(c, is_one(&c->arg[2]) ? &pw_sub_plain : &pw_sub_alpha, stream); }
DL_CUDA(rsub) { return pw_run(c, is_one(&c->arg[2]) ? &pw_rsub_plain : &pw_rsub_alpha, stream); }

/* a bound that is absent is no bound: the call becomes clamp_min or clamp_max */
DL_CUDA(clamp) {
  bool low = c->in[1].dtype != DL_NODTYPE, high = c->in[2].dtype != DL_NODTYPE;
  if (low && high) return pw_run(c, &pw_clamp_both, stream);
  if (low) return pw_run(c, &pw_clamp_min, stream);
  c->in[1] = c->in[2];
  c->numbers |= c->numbers >> 1 & 2u;
  return pw_run(c, &pw_clamp_max, stream);
}

DL_CUDA(round) {
  int64_t d = dl_arg_i(&c->arg[1]);
  pw_num num = {{pow(10.0, (double)(d < 0 ? -d : d)), 0.0, 0.0}, {0, 0, 0}};
  const pw_op *op = d == 0 ? &pw_round_plain : d > 0 ? &pw_round_up : &pw_round_down;
  return pw_run_num(c, op, &num, stream);
}
