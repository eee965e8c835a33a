/* rule_shape.c -- result shapes of ops that lay elements out anew: cat, stack, flip, roll, tril …
 *
 * For dispatch.
 * SOURCE     ATen/native/TensorShape.cpp, TensorTransformations.cpp, TriangularOps.cpp, PadNd.cpp
 *            (texts).
 * MUST NOT   allocate. */
#include "op/view.h"

#include <string.h>

#define TEXT 160 /* bytes of "[2, 3]" */

/* ---- lists ----------------------------------------------------------------------- */
/* Promotion over a list, by PyTorch's priorities: dimensioned, 0-dim, wrapped numbers. */
static dl_dtype list_dtype(const dl_arg *ts) {
  dl_dtype level[3] = {DL_NODTYPE, DL_NODTYPE, DL_NODTYPE}, d = DL_NODTYPE;
  for (int k = 0; k < ts->n; k++) {
    const dl_tensor *t = ts->ts[k];
    dl_dtype *slot = &level[t->wrapped ? 2 : t->ndim == 0];
    *slot = *slot == DL_NODTYPE ? (dl_dtype)t->dtype : dl_promote(*slot, (dl_dtype)t->dtype);
  }
  for (int k = 0; k < 3; k++) {
    if (level[k] == DL_NODTYPE) continue;
    if (d == DL_NODTYPE) d = level[k];
    else if (dl_dtypes[level[k]].category > dl_dtypes[d].category) d = dl_promote(d, level[k]);
  }
  return d;
}

/* PyTorch lets an empty 1-dim tensor stand anywhere in a list to be joined. */
static bool skipped(const dl_tensor *t) { return t->ndim == 1 && t->size[0] == 0; }

static dl_status cat_member(const dl_tensor *t, int k, int dim, dl_meta *m) {
  if (t->ndim != m->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Tensors must have same number of dimensions: got %d and %d", m->ndim, t->ndim);
  for (int d = 0; d < t->ndim; d++)
    if (d != dim && t->size[d] != m->size[d])
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Sizes of tensors must match except in dimension %d. Expected size %lld but "
                     "got size %lld for tensor number %d in the list.",
                     dim, (long long)m->size[d], (long long)t->size[d], k);
  if (!dl_add_ok(m->size[dim], t->size[dim], &m->size[dim]))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "torch.cat(): the result is too large");
  return DL_OK;
}

dl_status dl_rule_cat(dl_call *c) {
  const dl_arg *ts = &c->arg[0];
  int first = -1, dim;
  if (ts->n == 0)
    return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                   "torch.cat(): expected a non-empty list of Tensors");
  for (int k = 0; k < ts->n; k++) {
    if (ts->ts[k]->ndim == 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "zero-dimensional tensor (at position %d) cannot be concatenated", k);
    if (first < 0 && !skipped(ts->ts[k])) first = k;
  }
  const dl_tensor *like = ts->ts[first < 0 ? 0 : first];
  DL_TRY(dl_wrap_dim(c->arg[1].i, like->ndim, &dim));
  dl_call_out(c, 0, list_dtype(ts), like->ndim, like->size);
  dl_meta *m = &c->out[0];
  m->size[dim] = 0;
  for (int k = 0; k < ts->n; k++)
    if (!skipped(ts->ts[k])) DL_TRY(cat_member(ts->ts[k], k, dim, m));
  return DL_OK;
}

dl_status dl_rule_stack(dl_call *c) {
  const dl_arg *ts = &c->arg[0];
  int dim;
  char a[TEXT], b[TEXT];
  if (ts->n == 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "stack expects a non-empty TensorList");
  const dl_tensor *t = ts->ts[0];
  DL_TRY(dl_wrap_dim(c->arg[1].i, t->ndim + 1, &dim));
  DL_TRY(dl_dim_count(t->ndim + 1));
  for (int k = 1; k < ts->n; k++)
    if (!dl_sizes_equal(t->ndim, t->size, ts->ts[k]->ndim, ts->ts[k]->size))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "stack expects each tensor to be equal size, but got %s at entry 0 and %s at "
                     "entry %d",
                     dl_sizes_str(t->ndim, t->size, a, sizeof a),
                     dl_sizes_str(ts->ts[k]->ndim, ts->ts[k]->size, b, sizeof b), k);
  dl_call_out(c, 0, list_dtype(ts), t->ndim, t->size);
  dl_meta *m = &c->out[0];
  memmove(m->size + dim + 1, m->size + dim, (size_t)(t->ndim - dim) * sizeof *m->size);
  m->size[dim] = ts->n;
  m->ndim++;
  return DL_OK;
}

/* ---- one operand ----------------------------------------------------------------- */
dl_status dl_rule_repeat(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  int n;
  const int64_t *times = dl_arg_ints(&c->arg[1], &n);
  char s[TEXT];
  if (n < x->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Number of dimensions of repeat dims can not be smaller than number of "
                   "dimensions of tensor");
  DL_TRY(dl_dim_count(n));
  dl_call_out(c, 0, (dl_dtype)x->dtype, n, times);
  dl_meta *m = &c->out[0];
  int lead = n - x->ndim;
  for (int d = lead; d < n; d++)
    if (!dl_mul_ok(times[d], x->size[d - lead], &m->size[d]))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "the repeated tensor is too large");
  for (int d = 0; d < n; d++)
    if (m->size[d] < 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Trying to create tensor with negative dimension %lld: %s",
                     (long long)m->size[d], dl_sizes_str(n, m->size, s, sizeof s));
  return DL_OK;
}

dl_status dl_rule_flip(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  bool some = c->arg[1].tag != DL_A_INTS || c->arg[1].n > 0;
  dl_call_out_like(c, 0, x);
  c->dims = 0;
  if (some) DL_TRY(dl_dims_mask(&c->arg[1], x->ndim, &c->dims));
  return DL_OK;
}

dl_status dl_rule_roll(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  int n, m;
  dl_arg_ints(&c->arg[1], &n);
  const int64_t *dims = dl_arg_ints(&c->arg[2], &m);
  if (n == 0) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "`shifts` required");
  if (n != m && !(n == 1 && m == 0))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "shifts and dimensions must align. shifts: %d, dims:%d", n, m);
  for (int k = 0; k < m; k++) {
    int d;
    if (x->ndim == 0)
      return dl_fail(DL_IndexError, DL_E_INDEX,
                     "Dimension specified as %lld but tensor has no dimensions",
                     (long long)dims[k]);
    DL_TRY(dl_wrap_dim(dims[k], x->ndim, &d));
  }
  dl_call_out_like(c, 0, x);
  return DL_OK;
}

dl_status dl_rule_tri(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  if (x->ndim < 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: input tensor must have at least 2 dimensions",
                   c->op->id);
  dl_call_out_like(c, 0, x);
  return DL_OK;
}

dl_status dl_rule_diag_embed(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  int64_t off = c->arg[1].i;
  int a, b;
  DL_TRY(dl_wrap_dim(c->arg[2].i, x->ndim + 1, &a));
  DL_TRY(dl_wrap_dim(c->arg[3].i, x->ndim + 1, &b));
  if (a == b)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "diagonal dimensions cannot be identical %lld, %lld", (long long)c->arg[2].i,
                   (long long)c->arg[3].i);
  DL_TRY(dl_dim_count(x->ndim + 1));
  int64_t size[DL_MAXDIM], side;
  if (off == INT64_MIN || !dl_add_ok(x->size[x->ndim - 1], off < 0 ? -off : off, &side))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "diag_embed: offset %lld is too large",
                   (long long)off);
  for (int d = 0, k = 0; d < x->ndim + 1; d++) size[d] = d == a || d == b ? side : x->size[k++];
  dl_call_out(c, 0, (dl_dtype)x->dtype, x->ndim + 1, size);
  return DL_OK;
}

dl_status dl_rule_constant_pad(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  int n;
  const int64_t *pad = dl_arg_ints(&c->arg[1], &n);
  if (n % 2 || n / 2 > x->ndim)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Length of pad must be even and at most twice the number of dimensions, but "
                   "got %d and %d",
                   n, x->ndim);
  dl_call_out_like(c, 0, x);
  for (int k = 0; k < n / 2; k++) {
    int64_t *s = &c->out[0].size[x->ndim - 1 - k];
    if (!dl_add_ok(*s, pad[2 * k], s) || !dl_add_ok(*s, pad[2 * k + 1], s))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "pad: the padded tensor is too large");
    if (*s < 0)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "narrow(): length must be non-negative.");
  }
  return DL_OK;
}

/* ---- backwards of views ---------------------------------------------------------- */
/* select_backward, slice_backward: the size is given. */
static dl_status misfit(const dl_call *c) {
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: the gradient does not fit the sizes given",
                 c->op->id);
}

/* The slices start, start + step, … that the gradient's `count` needs lie inside `size`. */
static bool slices_fit(int64_t size, int64_t start, int64_t step, int64_t count) {
  int64_t span;
  if (step < 1 || count < 0) return false;
  if (count == 0) return true;
  if (start < 0) start = start + size < 0 ? 0 : start + size;
  return dl_mul_ok(count - 1, step, &span) && start < size && span < size - start;
}

/* select: arg dim, index; slice: arg dim, start, End, step. The kernels trust this check. */
static bool grad_fits(const dl_call *c, int n, const int64_t *size, int dim) {
  const dl_tensor *g = c->arg[0].t;
  bool select = c->schema->nparam == 4;
  if (g->ndim != n - (select ? 1 : 0)) return false;
  for (int i = 0, k = 0; i < n; i++) {
    if (i != dim && g->size[k] != size[i]) return false;
    if (i != dim || !select) k++;
  }
  int64_t start = c->arg[3].i;
  if (select) return start >= -size[dim] && start < size[dim];
  return slices_fit(size[dim], start, c->arg[5].i, g->size[dim]);
}

dl_status dl_rule_view_bwd(dl_call *c) {
  int n, dim;
  const int64_t *size = dl_arg_ints(&c->arg[1], &n);
  DL_TRY(dl_dim_count(n));
  DL_TRY(dl_wrap_dim(c->arg[2].i, n, &dim));
  if (n == 0 || !grad_fits(c, n, size, dim)) return misfit(c);
  dl_call_out(c, 0, (dl_dtype)c->arg[0].t->dtype, n, size);
  return DL_OK;
}

dl_status dl_rule_as_strided_bwd(dl_call *c) {
  const dl_tensor *g = c->arg[0].t;
  int n, nsize, nstride;
  const int64_t *base = dl_arg_ints(&c->arg[1], &n), *size = dl_arg_ints(&c->arg[2], &nsize);
  dl_arg_ints(&c->arg[3], &nstride);
  DL_TRY(dl_dim_count(n));
  if (nsize != nstride || !dl_sizes_equal(g->ndim, g->size, nsize, size)) return misfit(c);
  dl_call_out(c, 0, (dl_dtype)g->dtype, n, base);
  return DL_OK;
}
