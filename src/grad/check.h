/* check.h -- gradients against central differences (torch.autograd.gradcheck)
 *
 * For bind/ and tests. */
#ifndef DL_GRAD_CHECK_H
#define DL_GRAD_CHECK_H

#include "grad/grad.h"

#define DL_CHECK_OUTS 16

/* The function under test: fills up to DL_CHECK_OUTS owned results; entries that are no tensors are
 * left out. It is called often, with gradients on and off. */
typedef dl_status (*dl_check_fn)(void *ctx, dl_tensor *const *in, int nin, dl_tensor **out,
                                 int *nout);

typedef struct dl_check {
  double eps, atol, rtol; /* PyTorch: 1e-6, 1e-5, 1e-3 */
  int out, in; /* of a mismatch: "Jacobian mismatch for output 0 with respect to input 0" … */
  dl_tensor *numerical; /* … both float64 (elements of in, elements of out), owned */
  dl_tensor *analytical;
} dl_check;

/* Fails where fn or backward fails. *good false: c tells the first Jacobian that differs. */
dl_status dl_gradcheck(dl_check_fn fn, void *ctx, dl_tensor *const *in, int nin, dl_check *c,
                       bool *good);

#endif
