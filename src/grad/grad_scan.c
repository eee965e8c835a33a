/* grad_scan.c -- gradients of the reductions that pick or run: max(dim) … topk, products, scans
 *
 * SOURCE torch/csrc/autograd/FunctionsManual.cpp (prod_backward, cumprod_backward,
 * value_selecting_reduction_backward). */
#include "grad/words.h"

/* ---- values picked along a dim: the gradient goes where the index says ---------------------- */
static dl_status picked_rule(dl_gcall *g, int64_t dim, bool keep) {
  dl_tensor *up = G(0), *at = OUT(1);
  const dl_meta *x = META(0);
  if (!up) return DONE;
  if (!keep && x->ndim) {
    up = EX(E, unsqueeze, T(up), I(dim));
    at = EX(E, unsqueeze, T(at), I(dim));
  }
  GIN(0, EX(E, scatter, T(ZEROS(0)), I(dim), T(at), T(up)));
  return DONE;
}

DL_GRAD(max_dim) { return picked_rule(g, ARG(1)->i, ARG(2)->i); }
DL_GRAD(min_dim) { return picked_rule(g, ARG(1)->i, ARG(2)->i); }
DL_GRAD(median_dim) { return picked_rule(g, ARG(1)->i, ARG(2)->i); }
DL_GRAD(kthvalue) { return picked_rule(g, ARG(2)->i, ARG(3)->i); }
DL_GRAD(sort) { return picked_rule(g, ARG(1)->i, true); }
DL_GRAD(topk) { return picked_rule(g, ARG(2)->i, true); }

/* ---- running sums --------------------------------------------------------------------------- */
static dl_tensor *flip(dl_ex *e, dl_tensor *t, int64_t dim) {
  return EX(e, flip, T(t), L(&dim, 1));
}

static dl_tensor *cumsum_from_end(dl_ex *e, dl_tensor *t, int64_t dim) {
  return flip(e, EX(e, cumsum, T(flip(e, t, dim)), I(dim)), dim);
}

static int64_t length(const dl_meta *m, int64_t dim) {
  return m->ndim ? m->size[dim < 0 ? dim + m->ndim : dim] : 1;
}

DL_GRAD(cumsum) {
  int64_t dim = ARG(1)->i;
  dl_tensor *up = EX(E, _to_copy, T(G(0)), DT(META(0)->dtype));
  GIN(0, length(META(0), dim) <= 1 ? up : cumsum_from_end(E, up, dim));
  return DONE;
}

/* ---- products ------------------------------------------------------------------------------- */
static int64_t count_true(dl_ex *e, dl_tensor *mask) {
  dl_tensor *n = words_one(e, DL_OP_sum, mask);
  return n ? dl_tensor_item_i(n) : 0;
}

static dl_tensor *narrow(dl_ex *e, dl_tensor *t, int64_t dim, int64_t from, int64_t to) {
  return EX(e, slice, T(t), I(dim), I(from), I(to));
}

static dl_tensor *join(dl_ex *e, dl_tensor *a, dl_tensor *b, int64_t dim) {
  dl_tensor *both[2] = {a, b};
  return e->st == DL_OK ? EX(e, cat, TS(both, 2), I(dim)) : NULL;
}

/* For each element the product of all others along dim: right also where some are zero. */
static dl_tensor *others_product(dl_ex *e, dl_tensor *x, int64_t dim) {
  int64_t n = x ? x->size[dim] : 0;
  if (n <= 1) return words_one(e, DL_OP_ones_like, x);
  dl_tensor *one = words_one(e, DL_OP_ones_like, narrow(e, x, dim, 0, 1));
  dl_tensor *before = EX(e, cumprod, T(join(e, one, narrow(e, x, dim, 0, n - 1), dim)), I(dim));
  dl_tensor *after = join(e, one, flip(e, narrow(e, x, dim, 1, n), dim), dim);
  after = flip(e, EX(e, cumprod, T(after), I(dim)), dim);
  return words_two(e, DL_OP_mul, before, after);
}

static dl_tensor *prod_slope(dl_gcall *g, dl_tensor *up, dl_tensor *y, int64_t dim) {
  dl_tensor *x = IN(0);
  if (!x) return NULL;
  int64_t zeros = count_true(E, EX(E, eq, T(x), F(0)));
  if (zeros == 0) return MUL(up, DIV(y, x));
  return MUL(up, others_product(E, x, dim));
}

DL_GRAD(prod) {
  const dl_meta *m = META(0);
  int64_t flat = -1;
  if (!NEED(0)) return DONE;
  dl_tensor *x = IN(0);
  if (m->ndim == 0) {
    GIN(0, G(0));
  } else if (count_true(E, EX(E, eq, T(x), F(0))) == 0) {
    GIN(0, MUL(G(0), DIV(OUT(0), x)));
  } else {
    dl_tensor *others = others_product(E, EX(E, reshape, T(x), L(&flat, 1)), 0);
    GIN(0, MUL(G(0), EX(E, view, T(others), L(m->size, m->ndim))));
  }
  return DONE;
}

DL_GRAD(prod_dim) {
  const dl_meta *m = META(0);
  dl_tensor *up = G(0), *y = OUT(0);
  int dim = 0;
  if (m->ndim == 0) {
    GIN(0, up);
    return DONE;
  }
  if (E->st == DL_OK) E->st = dl_wrap_dim(ARG(1)->i, m->ndim, &dim);
  if (!ARG(2)->i) {
    up = EX(E, unsqueeze, T(up), I(dim));
    y = EX(E, unsqueeze, T(y), I(dim));
  }
  GIN(0, prod_slope(g, up, y, dim));
  return DONE;
}

/* Element k's share: the sum over i >= k of up[i] * (product of the elements up to i but k). */
static dl_tensor *cumprod_element(dl_ex *e, dl_tensor *up, dl_tensor *x, int64_t dim, int64_t k) {
  int64_t n = x->size[dim];
  dl_tensor *before = EX(e, prod_dim, T(narrow(e, x, dim, 0, k)), I(dim), B(true));
  dl_tensor *rest = before;
  if (k + 1 < n) {
    dl_tensor *after = EX(e, cumprod, T(narrow(e, x, dim, k + 1, n)), I(dim));
    rest = join(e, before, words_two(e, DL_OP_mul, before, after), dim);
  }
  dl_tensor *share = words_two(e, DL_OP_mul, narrow(e, up, dim, k, n), rest);
  return EX(e, sum_dim, T(share), L(&dim, 1));
}

static dl_tensor *cumprod_with_zeros(dl_ex *e, dl_tensor *up, dl_tensor *x, int64_t dim) {
  if (e->st != DL_OK) return NULL;
  int64_t n = x->size[dim];
  size_t bytes = (size_t)n * sizeof(dl_tensor *);
  dl_tensor **part = dl_block_new(bytes), *all = NULL;
  if (!part) {
    e->st = dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for cumprod's gradient");
    return NULL;
  }
  for (int64_t k = 0; k < n; k++) part[k] = cumprod_element(e, up, x, dim, k);
  if (e->st == DL_OK) all = EX(e, stack, TS(part, (int32_t)n), I(dim));
  dl_block_free(part, bytes);
  return all;
}

DL_GRAD(cumprod) {
  int dim = 0;
  if (!NEED(0)) return DONE;
  if (E->st == DL_OK) E->st = dl_wrap_dim(ARG(1)->i, META(0)->ndim, &dim);
  dl_tensor *x = EX(E, _to_copy, T(IN(0)), DT(META(0)->dtype)),
            *up = EX(E, _to_copy, T(G(0)), DT(META(0)->dtype));
  if (length(META(0), dim) <= 1) GIN(0, up);
  else if (count_true(E, EX(E, eq, T(x), F(0))) == 0)
    GIN(0, DIV(cumsum_from_end(E, MUL(OUT(0), up), dim), x));
  else GIN(0, cumprod_with_zeros(E, up, x, dim));
  return DONE;
}
