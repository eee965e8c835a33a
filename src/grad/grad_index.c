/* grad_index.c -- gradients of indexing
 *
 * SOURCE  tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp of PyTorch. */
#include "grad/rule.h"

/* Zeros of tensor input k's shape, of grad's dtype. */
static dl_tensor *zeros(dl_gcall *g, int k, dl_tensor *grad) {
  const dl_meta *m = META(k);
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = grad->dev};
  return EX(E, zeros, L(m->size, m->ndim), DT(grad->dtype), dev);
}

static dl_tensor *summed(dl_gcall *g, dl_tensor *t, int k) {
  const dl_meta *m = META(k);
  return dl_ex_sum_to(E, t, m->ndim, m->size);
}

/* ---- subscripts ------------------------------------------------------------------ */
DL_GRAD(index) {
  int n;
  dl_tensor *const *idx = INDICES(&n);
  GIN(0, EX(E, index_put, T(zeros(g, 0, G(0))), TS(idx, n), T(G(0)), B(true)));
  return DONE;
}

DL_GRAD(index_put) {
  int n;
  dl_tensor *const *idx = INDICES(&n);
  if (NEED(0) && ARG(3)->i) GIN(0, G(0));
  else if (NEED(0)) {
    dl_tensor *zero = EX(E, zeros, L(NULL, 0), DT(G(0)->dtype), DEV(G(0)));
    GIN(0, EX(E, index_put, T(G(0)), TS(idx, n), T(zero)));
  }
  GIN(1, summed(g, EX(E, index, T(G(0)), TS(idx, n)), 1));
  return DONE;
}

/* ---- along one dim --------------------------------------------------------------- */
DL_GRAD(gather) {
  GIN(0, EX(E, scatter_add, T(zeros(g, 0, G(0))), *ARG(1), T(IN(1)), T(G(0))));
  return DONE;
}

DL_GRAD(scatter) {
  GIN(0, EX(E, scatter, T(G(0)), *ARG(1), T(IN(1)), I(0)));
  GIN(2, EX(E, gather, T(G(0)), *ARG(1), T(IN(1))));
  return DONE;
}

DL_GRAD(scatter_add) {
  GIN(0, G(0));
  GIN(2, EX(E, gather, T(G(0)), *ARG(1), T(IN(1))));
  return DONE;
}

DL_GRAD(index_select) {
  GIN(0, EX(E, index_add, T(zeros(g, 0, G(0))), *ARG(1), T(IN(1)), T(G(0))));
  return DONE;
}

/* What the written rows got, in the shape of the source. */
static dl_tensor *picked(dl_gcall *g, int k) {
  const dl_meta *m = META(k);
  dl_tensor *t = EX(E, index_select, T(G(0)), *ARG(1), T(IN(1)));
  return EX(E, reshape, T(t), L(m->size, m->ndim));
}

DL_GRAD(index_add) {
  GIN(0, G(0));
  if (NEED(2)) {
    dl_tensor *t = picked(g, 2);
    GIN(2, dl_arg_f(ARG(4)) == 1 ? t : EX(E, mul, T(t), *ARG(4)));
  }
  return DONE;
}

DL_GRAD(index_copy) {
  GIN(0, EX(E, index_fill, T(G(0)), *ARG(1), T(IN(1)), I(0)));
  GIN(2, picked(g, 2));
  return DONE;
}

/* A row named twice counts once. */
DL_GRAD(index_fill) {
  GIN(0, EX(E, index_fill, T(G(0)), *ARG(1), T(IN(1)), I(0)));
  if (NEED(2)) {
    dl_tensor *once = EX(E, unique, T(IN(1)));
    GIN(2, EX(E, sum, T(EX(E, index_select, T(G(0)), *ARG(1), T(once)))));
  }
  return DONE;
}
