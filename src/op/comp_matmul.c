/* comp_matmul.c -- composites of the section "matrix products" (einsum has its own file)
 *
 * matmul folds batches into rows where PyTorch does, so that results, grad_fn names and errors
 * agree.
 *
 * SOURCE ATen/native/LinearAlgebra.cpp (should_fold, _matmul_impl), Linear.cpp. */
#include "op/op.h"

#include <string.h>

/* ---- matmul -------------------------------------------------------------------------------- */
/* Is viewing t as (-1, last) free? */
static bool rows_merge(const dl_tensor *t) {
  for (int d = 0; d + 2 < t->ndim; d++)
    if (t->stride[d] != t->stride[d + 1] * t->size[d + 1]) return false;
  return true;
}

/* A batch times a matrix or vector: one product of the merged rows? */
static bool folds(const dl_tensor *a, const dl_tensor *b) {
  bool first_larger = a->ndim >= b->ndim;
  const dl_tensor *large = first_larger ? a : b, *small = first_larger ? b : a;
  if (large->ndim < 3 || small->ndim > 2) return false;
  if (small->requires_grad && dl_grad_enabled()) return true;
  if (a->ndim == 2) return false; /* the result would have to be transposed and copied */
  return large->numel == 0 || (first_larger ? rows_merge(large) : false);
}

static dl_tensor *swap_last(dl_ex *e, dl_tensor *t) { return EX(e, transpose, T(t), I(-2), I(-1)); }

static dl_tensor *fold(dl_ex *e, dl_tensor *a, dl_tensor *b) {
  bool swapped = a->ndim < b->ndim;
  dl_tensor *x = swapped ? swap_last(e, b) : a,
            *y = swapped ? (a->ndim == 2 ? EX(e, t, T(a)) : a) : b;
  if (e->st != DL_OK) return NULL;
  int n = x->ndim;
  int64_t size[DL_MAXDIM], rows = 1;
  memcpy(size, x->size, (size_t)n * sizeof *size);
  for (int d = 0; d + 1 < n; d++) rows *= size[d];
  int64_t flat[2] = {rows, size[n - 1]};
  dl_tensor *m = EX(e, reshape, T(x), L(flat, 2));
  if (y->ndim == 1) return EX(e, _unsafe_view, T(EX(e, mv, T(m), T(y))), L(size, n - 1));
  size[n - 1] = y->size[1];
  m = EX(e, _unsafe_view, T(EX(e, mm, T(m), T(y))), L(size, n));
  return swapped ? EX(e, contiguous, T(swap_last(e, m))) : m;
}

/* t expanded to batch dims `lead` and flattened to (batch, rows, cols) */
static dl_tensor *as_batch(dl_ex *e, dl_tensor *t, const dl_meta *lead, int64_t rows,
                           int64_t cols) {
  int64_t size[DL_MAXDIM + 2], n = lead->ndim, batch = 1;
  for (int d = 0; d < n; d++) batch *= size[d] = lead->size[d];
  if (t->ndim == 1) size[n] = t->size[0];
  else size[n] = rows, size[n + 1] = cols;
  t = EX(e, expand, T(t), L(size, (int)n + (t->ndim == 1 ? 1 : 2)));
  int64_t flat[3] = {batch, rows, cols};
  return EX(e, reshape, T(t), L(flat, 3));
}

static dl_tensor *batched(dl_ex *e, dl_tensor *a, dl_tensor *b) {
  int na = a->ndim, nb = b->ndim;
  int64_t n = na > 1 ? a->size[na - 2] : 1, k = a->size[na - 1];
  int64_t k2 = nb > 1 ? b->size[nb - 2] : b->size[0], p = nb > 1 ? b->size[nb - 1] : 1;
  dl_meta lead = {.ndim = (uint8_t)(na > 2 ? na - 2 : 0)};
  memcpy(lead.size, a->size, lead.ndim * sizeof *lead.size);
  e->st = dl_broadcast(&lead, nb > 2 ? nb - 2 : 0, b->size);
  if (e->st != DL_OK) return NULL;
  int64_t size[DL_MAXDIM + 2];
  int d = lead.ndim;
  memcpy(size, lead.size, lead.ndim * sizeof *size);
  if (na > 1) size[d++] = n;
  if (nb > 1) size[d++] = p;
  dl_tensor *x = as_batch(e, a, &lead, n, k), *y = as_batch(e, b, &lead, k2, p);
  return EX(e, _unsafe_view, T(EX(e, bmm, T(x), T(y))), L(size, d));
}

static dl_tensor *product(dl_ex *e, dl_tensor *a, dl_tensor *b) {
  if (a->ndim == 1 && b->ndim == 1) return EX(e, dot, T(a), T(b));
  if (a->ndim == 2 && b->ndim == 1) return EX(e, mv, T(a), T(b));
  if (a->ndim == 1 && b->ndim == 2) {
    int64_t zero = 0;
    return EX(e, squeeze_dim, T(EX(e, mm, T(EX(e, unsqueeze, T(a), I(0))), T(b))), L(&zero, 1));
  }
  if (a->ndim == 2 && b->ndim == 2) return EX(e, mm, T(a), T(b));
  return folds(a, b) ? fold(e, a, b) : batched(e, a, b);
}

dl_status dl_comp_matmul(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *a = arg[0].t, *b = arg[1].t;
  if (a->ndim == 0 || b->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "both arguments to matmul need to be at least 1D, but they are %dD and %dD",
                   a->ndim, b->ndim);
  return dl_ex_return(e, product(e, a, b), out);
}

/* ---- linear: input (*, in) @ weight (out, in).T + bias (out) ------------------------------- */
/* Leading dims flattened to rows of one product. */
static dl_tensor *rows_times(dl_ex *e, dl_tensor *x, dl_tensor *wt, dl_tensor *bias) {
  if (e->st != DL_OK) return NULL;
  int64_t size[DL_MAXDIM], rows = 1;
  int last = x->ndim - 1;
  for (int d = 0; d < last; d++) rows *= size[d] = x->size[d];
  size[last] = wt->size[wt->ndim - 1];
  dl_tensor *y = EX(e, view, T(x), L(((int64_t[]){rows, x->size[last]}), 2));
  return EX(e, _unsafe_view, T(EX(e, addmm, T(bias), T(y), T(wt))), L(size, x->ndim));
}

dl_status dl_comp_linear(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *w = arg[1].t, *bias = dl_arg_given(&arg[2]) ? arg[2].t : NULL;
  if (x->ndim == 0 || w->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "both arguments to linear need to be at least 1D, but they are %dD and %dD",
                   x->ndim, w->ndim);
  dl_tensor *wt = EX(e, t, T(w));
  if (bias && x->ndim == 2)
    return dl_ex_return(e, EX(e, addmm, T(bias), T(x), T(wt)), out);
  if (bias && x->contig && w->ndim == 2)
    return dl_ex_return(e, rows_times(e, x, wt, bias), out);
  dl_tensor *y = EX(e, matmul, T(x), T(wt));
  if (bias) y = EX(e, add, T(y), T(bias));
  return dl_ex_return(e, y, out);
}

/* ---- the rest ------------------------------------------------------------------------------ */
dl_status dl_comp_outer(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  const dl_tensor *a = arg[0].t, *b = arg[1].t;
  if (a->ndim != 1 || b->ndim != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "outer: Expected 1-D argument %s, but got %d-D",
                   a->ndim != 1 ? "self" : "vec2", a->ndim != 1 ? a->ndim : b->ndim);
  int64_t column[2] = {a->size[0], 1};
  return dl_ex_return(e, EX(e, mul, T(EX(e, reshape, arg[0], L(column, 2))), arg[1]), out);
}

/* ---- tensordot: contracted dims last in a, first in b, then one product -------------------- */
static dl_status contracted(const dl_tensor *a, const dl_tensor *b, const dl_arg *da,
                            const dl_arg *db, uint32_t mask[2]) {
  if (da->n != db->n)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "both dimension lists should have same length");
  DL_TRY(da->n ? dl_dims_mask(da, a->ndim, &mask[0]) : DL_OK);
  DL_TRY(db->n ? dl_dims_mask(db, b->ndim, &mask[1]) : DL_OK);
  for (int i = 0; i < da->n; i++) {
    int x, y;
    DL_TRY(dl_wrap_dim(da->is[i], a->ndim, &x));
    DL_TRY(dl_wrap_dim(db->is[i], b->ndim, &y));
    if (a->size[x] != b->size[y])
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "contracted dimensions need to match, but first has size %lld in dim %lld and second has "
          "size %lld in dim %lld",
          (long long)a->size[x], (long long)da->is[i], (long long)b->size[y], (long long)db->is[i]);
  }
  return DL_OK;
}

/* The dims not in mask, then (or before) the listed ones; sizes of the free dims go to size[]. */
static dl_tensor *to_matrix(dl_ex *e, dl_tensor *t, const dl_arg *dims, uint32_t mask,
                            bool free_first, int64_t *size, int *n) {
  int64_t order[DL_MAXDIM] = {0}, rows = 1, cols = 1;
  int nfree = t->ndim - dims->n, at_free = free_first ? 0 : dims->n,
      at_sum = free_first ? nfree : 0;
  for (int d = 0; d < t->ndim; d++)
    if (!(mask & (1u << d))) order[at_free++] = d, rows *= size[(*n)++] = t->size[d];
  for (int i = 0; i < dims->n; i++) {
    int64_t d = dims->is[i] < 0 ? dims->is[i] + t->ndim : dims->is[i];
    order[at_sum++] = d;
    cols *= t->size[d];
  }
  int64_t flat[2] = {free_first ? rows : cols, free_first ? cols : rows};
  return EX(e, reshape, T(EX(e, permute, T(t), L(order, t->ndim))), L(flat, 2));
}

dl_status dl_comp_tensordot(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *a = arg[0].t, *b = arg[1].t;
  uint32_t mask[2] = {0, 0};
  int64_t size[2 * DL_MAXDIM];
  int n = 0;
  DL_TRY(contracted(a, b, &arg[2], &arg[3], mask));
  if (a->dtype != b->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "both inputs should have same dtype");
  if (a->ndim + b->ndim - 2 * arg[2].n > DL_MAXDIM)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "tensordot: the result would have more than %d dimensions", DL_MAXDIM);
  dl_tensor *x = to_matrix(e, a, &arg[2], mask[0], true, size, &n);
  dl_tensor *y = to_matrix(e, b, &arg[3], mask[1], false, size, &n);
  return dl_ex_return(e, EX(e, reshape, T(EX(e, mm, T(x), T(y))), L(size, n)), out);
}
