/* grad_copy.c -- gradients of copies, fills and random fills
 *
 * SOURCE  tools/autograd/derivatives.yaml of PyTorch. */
#include "grad/rule.h"

static dl_tensor *zeros(dl_ex *e, dl_tensor *like) { return EX(e, zeros_like, T(like)); }

DL_GRAD(clone) { GIN(0, G(0)); return DONE; }
DL_GRAD(_to_copy) { GIN(0, G(0)); return DONE; } /* the walk casts to the input's dtype */

/* What is overwritten gets no gradient. */
#define OVERWRITTEN(id) DL_GRAD(id) { GIN(0, zeros(E, G(0))); return DONE; }
OVERWRITTEN(zero_)
OVERWRITTEN(uniform_)
OVERWRITTEN(normal_)
OVERWRITTEN(random_)
OVERWRITTEN(bernoulli_)
OVERWRITTEN(exponential_)
OVERWRITTEN(bernoulli)

/* ---- dropout ------------------------------------------------------------------------------- */
/* The mask as numbers, scaled: for what records itself. */
static dl_tensor *scaled_mask(dl_ex *e, dl_tensor *mask, uint8_t dtype, double scale) {
  return EX(e, mul, T(EX(e, _to_copy, T(mask), DT(dtype))), F(scale));
}

/* PyTorch scales by 1 where training was left out (None), though elements were dropped. */
DL_GRAD(native_dropout) {
  double p = dl_arg_f(ARG(1)), scale = p == 1 ? 0 : 1 / (1 - p);
  if (!dl_arg_given(ARG(2)) || !ARG(2)->i) scale = 1;
  if (!G(0)) return DONE;
  if (dl_grad_enabled()) {
    GIN(0, EX(E, mul, T(G(0)), T(scaled_mask(E, OUT(1), G(0)->dtype, scale))));
  } else {
    GIN(0, EX(E, native_dropout_backward, T(G(0)), T(OUT(1)), F(scale)));
  }
  return DONE;
}

DL_GRAD(native_dropout_backward) {
  dl_tensor *grad = IN(0), *mask = IN(1);
  if (!grad || !mask) return DONE;
  dl_tensor *by = scaled_mask(E, mask, grad->dtype, dl_arg_f(ARG(2)));
  GIN(0, dl_ex_sum_to(E, EX(E, mul, T(G(0)), T(by)), grad->ndim, grad->size));
  return DONE;
}

DL_GRAD(fill_) {
  GIN(0, zeros(E, G(0)));
  GIN(1, EX(E, sum, T(G(0))));
  return DONE;
}

DL_GRAD(copy_) {
  GIN(0, zeros(E, G(0)));
  if (NEED(1)) {
    const dl_meta *src = META(1);
    GIN(1, dl_ex_sum_to(E, G(0), src->ndim, src->size));
  }
  return DONE;
}
