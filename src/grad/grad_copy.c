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
