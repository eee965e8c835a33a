/* grad_matmul.c -- gradients of the section "matrix products", written in ops */
#include "grad/rule.h"

/* scaled by a number, unless it is 1 */
static dl_tensor *times(dl_ex *e, dl_tensor *t, const dl_arg *by) {
  return dl_arg_f(by) == 1 ? t : EX(e, mul, T(t), *by);
}

/* Gradient x.T @ G of a right factor, input k. Where that was made by `.t()`, as a layer's weight
 * is, its transpose is computed dense, so that the leaf takes it as it is. */
static dl_tensor *right_factor(dl_gcall *g, int k, dl_tensor *x) {
  const dl_node *from = g->node->edges[k].node;
  bool turned = from->kind == DL_NODE_OP && from->op == DL_OP_t;
  if (!turned) return EX(E, mm, T(EX(E, t, T(x))), T(G(0)));
  return EX(E, t, T(EX(E, mm, T(EX(E, t, T(G(0)))), T(x))));
}

DL_GRAD(mm) {
  GIN(0, EX(E, mm, T(G(0)), T(EX(E, t, T(IN(1))))));
  GIN(1, right_factor(g, 1, IN(0)));
  return DONE;
}

DL_GRAD(addmm) {
  const dl_meta *self = META(0);
  GIN(0, dl_ex_sum_to(E, times(E, G(0), ARG(3)), self->ndim, self->size));
  GIN(1, times(E, EX(E, mm, T(G(0)), T(EX(E, t, T(IN(2))))), ARG(4)));
  GIN(2, times(E, right_factor(g, 2, IN(1)), ARG(4)));
  return DONE;
}

static dl_tensor *swap_last(dl_ex *e, dl_tensor *t) { return EX(e, transpose, T(t), I(1), I(2)); }

DL_GRAD(bmm) {
  GIN(0, EX(E, bmm, T(G(0)), T(swap_last(E, IN(1)))));
  GIN(1, EX(E, bmm, T(swap_last(E, IN(0))), T(G(0))));
  return DONE;
}

DL_GRAD(baddbmm) {
  const dl_meta *self = META(0);
  GIN(0, dl_ex_sum_to(E, times(E, G(0), ARG(3)), self->ndim, self->size));
  GIN(1, times(E, EX(E, bmm, T(G(0)), T(swap_last(E, IN(2)))), ARG(4)));
  GIN(2, times(E, EX(E, bmm, T(swap_last(E, IN(1))), T(G(0))), ARG(4)));
  return DONE;
}

DL_GRAD(mv) {
  GIN(0, EX(E, mul, T(EX(E, unsqueeze, T(G(0)), I(1))), T(IN(1))));
  GIN(1, EX(E, mv, T(EX(E, t, T(IN(0)))), T(G(0))));
  return DONE;
}

DL_GRAD(addmv) {
  const dl_meta *self = META(0);
  GIN(0, dl_ex_sum_to(E, times(E, G(0), ARG(3)), self->ndim, self->size));
  dl_tensor *up = times(E, G(0), ARG(4));
  GIN(1, EX(E, mul, T(EX(E, unsqueeze, T(up), I(1))), T(IN(2))));
  GIN(2, EX(E, mv, T(EX(E, t, T(IN(1)))), T(up)));
  return DONE;
}

DL_GRAD(dot) {
  GIN(0, EX(E, mul, T(G(0)), T(IN(1))));
  GIN(1, EX(E, mul, T(G(0)), T(IN(0))));
  return DONE;
}
