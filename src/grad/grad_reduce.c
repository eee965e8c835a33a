/* grad_reduce.c -- gradients of the reductions that weigh every element: sum … norm, softmax
 *
 * SOURCE tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp. */
#include "grad/words.h"

#include <math.h>

/* A reduction as its call said it: which dims went, how many elements each result stands for. */
typedef struct {
  uint32_t mask;
  bool keep;
  int64_t count;
  const dl_meta *x;
} reduced;

static reduced reduction(dl_gcall *g, const dl_arg *dims, bool keep) {
  reduced r = {.keep = keep, .count = 1, .x = META(0)};
  if (E->st == DL_OK) E->st = dl_dims_mask(dims, r.x->ndim, &r.mask);
  for (int d = 0; d < r.x->ndim; d++)
    if (r.mask >> d & 1) r.count *= r.x->size[d];
  return r;
}

/* Put the reduced dims back, with size 1. */
static dl_tensor *with_dims(dl_ex *e, dl_tensor *t, const reduced *r) {
  for (int d = 0; d < r->x->ndim && !r->keep; d++)
    if (r->mask >> d & 1) t = EX(e, unsqueeze, T(t), I(d));
  return t;
}

static dl_tensor *spread(dl_ex *e, dl_tensor *t, const reduced *r) {
  return EX(e, expand, T(with_dims(e, t, r)), L(r->x->size, r->x->ndim));
}

static dl_tensor *sum_dims(dl_ex *e, dl_tensor *t, const reduced *r) {
  int64_t dims[DL_MAXDIM];
  int n = 0;
  for (int d = 0; d < r->x->ndim; d++)
    if (r->mask >> d & 1) dims[n++] = d;
  return n ? EX(e, sum_dim, T(t), L(dims, n), B(true)) : t;
}

static dl_tensor *mean_dims(dl_ex *e, dl_tensor *t, const reduced *r) {
  dl_tensor *s = sum_dims(e, t, r);
  return EX(e, div, T(s), I(r->count));
}

/* ---- sum and mean --------------------------------------------------------------------------- */
static dl_status sum_rule(dl_gcall *g, const dl_arg *dims, bool keep, bool mean) {
  reduced r = reduction(g, dims, keep);
  dl_tensor *t = spread(E, G(0), &r);
  GIN(0, mean ? EX(E, div, T(t), I(r.count)) : t);
  return DONE;
}

DL_GRAD(sum) { return sum_rule(g, &NIL, false, false); }
DL_GRAD(sum_dim) { return sum_rule(g, ARG(1), ARG(2)->i, false); }
DL_GRAD(mean) { return sum_rule(g, &NIL, false, true); }
DL_GRAD(mean_dim) { return sum_rule(g, ARG(1), ARG(2)->i, true); }

/* ---- largest and smallest: ties share ------------------------------------------------------- */
static dl_status extreme_rule(dl_gcall *g, const dl_arg *dims, bool keep) {
  reduced r = reduction(g, dims, keep);
  dl_tensor *best = with_dims(E, OUT(0), &r), *up = with_dims(E, G(0), &r);
  dl_tensor *mask = EX(E, eq, T(IN(0)), T(best));
  dl_tensor *share = DIV(up, EX(E, _to_copy, T(sum_dims(E, mask, &r)), DT(META(0)->dtype)));
  GIN(0, MUL(share, EX(E, _to_copy, T(mask), DT(META(0)->dtype))));
  return DONE;
}

DL_GRAD(amax) { return extreme_rule(g, ARG(1), ARG(2)->i); }
DL_GRAD(amin) { return extreme_rule(g, ARG(1), ARG(2)->i); }

/* One value picked out of all elements: those equal to it share, nan counts as equal to nan. */
static dl_status even_rule(dl_gcall *g) {
  dl_tensor *x = IN(0);
  dl_tensor *mask = EX(E, logical_or, T(EX(E, eq, T(x), T(OUT(0)))), T(DO(isnan, x)));
  dl_tensor *share = EX(E, div, T(G(0)), T(DO(sum, mask)));
  GIN(0, EX(E, masked_fill, T(ZEROS(0)), T(mask), T(share)));
  return DONE;
}

DL_GRAD(max) { return even_rule(g); }
DL_GRAD(min) { return even_rule(g); }
DL_GRAD(median) { return even_rule(g); }

/* ---- variance ------------------------------------------------------------------------------- */
static double correction_of(dl_gcall *g) {
  return dl_arg_given(ARG(4)) ? dl_arg_f(ARG(4)) : ARG(2)->i ? 1 : 0;
}

/* 2 / (n - correction) * up * (x - mean) */
static dl_tensor *var_slope(dl_gcall *g, dl_tensor *up) {
  reduced r = reduction(g, ARG(1), ARG(3)->i);
  dl_tensor *gap = SUB(IN(0), mean_dims(E, IN(0), &r));
  double dof = (double)r.count - correction_of(g);
  up = with_dims(E, up, &r);
  if (dof > 0) return MUL(MULN(up, 2 / dof), gap);
  dl_tensor *level = EX(E, eq, T(gap), F(0));
  dl_tensor *factor =
      EX(E, masked_fill, T(EX(E, full_like, T(gap), F(INFINITY))), T(level), F(NAN));
  return MUL(up, factor);
}

DL_GRAD(var) {
  GIN(0, var_slope(g, G(0)));
  return DONE;
}

DL_GRAD(std) {
  dl_tensor *up = DIV(G(0), MULN(OUT(0), 2));
  GIN(0, var_slope(g, ZERO_WHERE(up, EX(E, eq, T(OUT(0)), F(0)))));
  return DONE;
}

/* ---- p-norm --------------------------------------------------------------------------------- */
static dl_tensor *norm_inf(dl_gcall *g, const reduced *r, dl_tensor *up, dl_tensor *n) {
  dl_tensor *x = IN(0), *size = DO(abs, x);
  dl_tensor *mask = EX(E, logical_or, T(EX(E, eq, T(size), T(n))), T(DO(isnan, size)));
  dl_tensor *share = EX(E, div, T(up), T(sum_dims(E, mask, r)));
  return MUL(DO(sign, x), KEEP_WHERE(share, mask));
}

static dl_tensor *norm_slope(dl_gcall *g, double p, const reduced *r) {
  dl_tensor *x = IN(0), *up = with_dims(E, G(0), r), *n = with_dims(E, OUT(0), r);
  dl_tensor *none = EX(E, eq, T(n), F(0));
  if (p == 1) return MUL(DO(sign, x), up);
  if (p == 2) return MUL(ZERO_WHERE(DIV(x, n), none), up);
  if (isinf(p)) return norm_inf(g, r, up, n);
  if (p < 1) {
    dl_tensor *scaled = ZERO_WHERE(POWN(DO(abs, x), p - 1), EX(E, eq, T(x), F(0)));
    return MUL(MUL(MUL(DO(sign, x), scaled), up), POWN(n, 1 - p));
  }
  dl_tensor *scale = ZERO_WHERE(DIV(up, POWN(n, p - 1)), none);
  if (p < 2) return MUL(MUL(DO(sign, x), POWN(DO(abs, x), p - 1)), scale);
  return MUL(MUL(x, POWN(DO(abs, x), p - 2)), scale);
}

DL_GRAD(norm) {
  double p = dl_arg_given(ARG(1)) ? dl_arg_f(ARG(1)) : 2;
  reduced r = reduction(g, ARG(2), ARG(3)->i);
  GIN(0, p == 0 ? ZEROS(0) : norm_slope(g, p, &r));
  return DONE;
}

/* ---- softmax -------------------------------------------------------------------------------- */
DL_GRAD(_softmax) {
  GIN(0, EX(E, _softmax_backward, T(G(0)), T(OUT(0)), *ARG(1)));
  return DONE;
}

DL_GRAD(_log_softmax) {
  GIN(0, EX(E, _log_softmax_backward, T(G(0)), T(OUT(0)), *ARG(1)));
  return DONE;
}

/* sum along the row's dim, kept */
static dl_tensor *row_sum(dl_gcall *g, dl_tensor *t) {
  return EX(E, sum_dim, T(t), L(&ARG(2)->i, 1), B(true));
}

/* f(go, y) = y go - y sum(y go) */
DL_GRAD(_softmax_backward) {
  dl_tensor *up = IN(0), *y = IN(1);
  GIN(0, EX(E, _softmax_backward, T(G(0)), T(y), *ARG(2)));
  if (NEED(1)) {
    dl_tensor *first = MUL(SUB(up, row_sum(g, MUL(y, up))), G(0));
    GIN(1, SUB(first, MUL(up, row_sum(g, MUL(y, G(0))))));
  }
  return DONE;
}

/* f(go, y) = go - exp(y) sum(go) */
DL_GRAD(_log_softmax_backward) {
  dl_tensor *p = DO(exp, IN(1));
  GIN(0, SUB(G(0), row_sum(g, MUL(G(0), p))));
  GIN(1, MUL(MUL(NEG(row_sum(g, IN(0))), p), G(0)));
  return DONE;
}
