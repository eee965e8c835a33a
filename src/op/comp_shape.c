/* comp_shape.c -- shape ops that are made of views and copies
 *
 * For dispatch (COMPOSITE rows of "copies" and "views and shape").
 * SOURCE     ATen/native/TensorShape.cpp, Repeat.cpp (texts, and when a view is enough). */
#include "op/view.h"
#include "tensor/devmem.h"

#include <string.h>

#define TEXT 160 /* bytes of "[2, 3]" */
#define COMP(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out)
#define RETURN(expr) return dl_ex_return(e, (expr), out)

static dl_tensor *row_major(dl_ex *e, dl_tensor *x) {
  return EX(e, clone, T(x), S("contiguous_format"));
}

/* A view of x with the given size, or of a copy where no view can show it. */
static dl_tensor *reshaped(dl_ex *e, dl_tensor *x, int n, const int64_t *size) {
  int64_t stride[DL_MAXDIM];
  if (!x) return NULL;
  if (dl_view_strides(x, n, size, stride)) return EX(e, view, T(x), L(size, n));
  return EX(e, _unsafe_view, T(row_major(e, x)), L(size, n));
}

COMP(contiguous) {
  dl_tensor *x = arg[0].t;
  RETURN(x->contig ? x : row_major(e, x));
}

/* ---- reshape and its family ------------------------------------------------------ */
COMP(reshape) {
  int64_t size[DL_MAXDIM];
  int n;
  DL_TRY(dl_infer_size(&arg[1], arg[0].t->numel, size, &n));
  RETURN(reshaped(e, arg[0].t, n, size));
}

COMP(reshape_as) {
  dl_tensor *o = arg[1].t;
  RETURN(EX(e, reshape, arg[0], L(o->size, o->ndim)));
}

COMP(view_as) {
  dl_tensor *o = arg[1].t;
  RETURN(EX(e, view, arg[0], L(o->size, o->ndim)));
}

COMP(expand_as) {
  dl_tensor *o = arg[1].t;
  RETURN(EX(e, expand, arg[0], L(o->size, o->ndim)));
}

COMP(broadcast_to) { RETURN(EX(e, expand, arg[0], arg[1])); }

COMP(ravel) {
  const int64_t all = -1;
  RETURN(EX(e, view, T(EX(e, contiguous, arg[0])), L(&all, 1)));
}

COMP(flatten) {
  dl_tensor *x = arg[0].t;
  int a, b, n = 0;
  int64_t size[DL_MAXDIM];
  DL_TRY(dl_wrap_dim(arg[1].i, x->ndim, &a));
  DL_TRY(dl_wrap_dim(arg[2].i, x->ndim, &b));
  if (a > b)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "flatten() has invalid args: start_dim cannot come after end_dim");
  if (x->ndim == 0) RETURN(EX(e, reshape, T(x), I(1)));
  if (a == b) RETURN(x);
  for (int d = 0; d < x->ndim; d++) {
    if (d > a && d <= b) size[n - 1] *= x->size[d];
    else size[n++] = x->size[d];
  }
  RETURN(reshaped(e, x, n, size));
}

/* The sizes that replace dim d, with a -1 filled in. */
static dl_status unflatten_sizes(const dl_arg *sizes, int64_t whole, int d, int64_t *out, int *n) {
  char s[TEXT];
  int free = -1;
  int64_t known = 1;
  const int64_t *v = dl_arg_ints(sizes, n);
  if (*n == 0) return dl_fail(DL_RuntimeError, DL_E_SHAPE, "unflatten: sizes must be non-empty");
  DL_TRY(dl_dim_count(*n));
  for (int k = 0; k < *n; k++) {
    out[k] = v[k];
    if (v[k] == -1 && free >= 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "unflatten got an unexpected error:\nonly one dimension can be inferred");
    if (v[k] == -1) free = k;
    else if (!dl_mul_ok(known, v[k], &known)) known = -1;
  }
  if (free >= 0 && known > 0 && whole % known == 0) out[free] = whole / known;
  else if (free >= 0 || known != whole)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) "
                   "in the input tensor",
                   dl_sizes_str(*n, v, s, sizeof s), d, (long long)whole);
  return DL_OK;
}

COMP(unflatten) {
  dl_tensor *x = arg[0].t;
  int64_t part[DL_MAXDIM], size[DL_MAXDIM];
  int d, n;
  DL_TRY(dl_wrap_dim(arg[1].i, x->ndim, &d));
  DL_TRY(unflatten_sizes(&arg[2], x->ndim ? x->size[d] : 1, d, part, &n));
  int rest = x->ndim ? x->ndim - d - 1 : 0;
  DL_TRY(dl_dim_count(d + n + rest));
  memcpy(size, x->size, (size_t)d * sizeof *size);
  memcpy(size + d, part, (size_t)n * sizeof *size);
  memcpy(size + d + n, x->size + d + 1, (size_t)rest * sizeof *size);
  RETURN(EX(e, view, T(x), L(size, d + n + rest)));
}

/* ---- order, parts ---------------------------------------------------------------- */
static dl_status wrap_unique(const int64_t *v, int n, int ndim, const char *which, int *dims) {
  char s[TEXT];
  uint32_t seen = 0;
  for (int k = 0; k < n; k++) DL_TRY(dl_wrap_dim(v[k], ndim, &dims[k]));
  for (int k = 0; k < n; k++) {
    if (seen & (1u << dims[k]))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "movedim: repeated dim in `%s` (%s)", which,
                     dl_sizes_str(n, v, s, sizeof s));
    seen |= 1u << dims[k];
  }
  return DL_OK;
}

COMP(movedim) {
  dl_tensor *x = arg[0].t;
  int n, m, src[DL_MAXDIM], dst[DL_MAXDIM];
  const int64_t *from = dl_arg_ints(&arg[1], &n), *to = dl_arg_ints(&arg[2], &m);
  char a[TEXT], b[TEXT];
  if (n != m)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "movedim: Invalid source or destination dims: source (%s dims) should contain "
                   "the same number of dims as destination (%s dims)",
                   dl_sizes_str(n, from, a, sizeof a), dl_sizes_str(m, to, b, sizeof b));
  DL_TRY(dl_dim_count(n));
  DL_TRY(wrap_unique(from, n, x->ndim, "source", src));
  DL_TRY(wrap_unique(to, n, x->ndim, "destination", dst));
  if (x->ndim == 0) RETURN(EX(e, alias, T(x)));
  int64_t order[DL_MAXDIM];
  uint32_t moved = 0;
  for (int d = 0; d < x->ndim; d++) order[d] = -1;
  for (int k = 0; k < n; k++) {
    order[dst[k]] = src[k];
    moved |= 1u << src[k];
  }
  for (int d = 0, next = 0; d < x->ndim; d++) {
    if (order[d] >= 0) continue;
    while (moved & (1u << next)) next++;
    order[d] = next++;
  }
  RETURN(EX(e, permute, T(x), L(order, x->ndim)));
}

COMP(narrow) {
  dl_tensor *x = arg[0].t;
  int64_t start = arg[2].i, length = arg[3].i;
  int d;
  if (x->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "narrow() cannot be applied to a 0-dim tensor.");
  if (length < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "narrow(): length must be non-negative.");
  DL_TRY(dl_wrap_dim(arg[1].i, x->ndim, &d));
  int64_t n = x->size[d];
  if (start < -n || start > n)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                   (long long)-n, (long long)n, (long long)start);
  if (start < 0) start += n;
  if (length > n - start)
    return dl_fail(DL_RuntimeError, DL_E_INDEX,
                   "start (%lld) + length (%lld) exceeds dimension size (%lld).", (long long)start,
                   (long long)length, (long long)n);
  RETURN(EX(e, slice, T(x), I(d), I(start), I(start + length)));
}

COMP(diag) {
  int n = arg[0].t->ndim;
  if (n == 1) RETURN(EX(e, diag_embed, arg[0], arg[1]));
  if (n == 2) RETURN(EX(e, clone, T(EX(e, diagonal, arg[0], arg[1]))));
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "diag(): Supports 1D or 2D tensors. Got %dD", n);
}

COMP(trace) {
  int n = arg[0].t->ndim;
  if (n != 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "trace: expected a matrix, but got tensor with dim %d", n);
  RETURN(EX(e, sum, T(EX(e, diagonal, arg[0]))));
}

/* ---- repetition ------------------------------------------------------------------ */
COMP(tile) {
  int n, ndim = arg[0].t->ndim;
  const int64_t *v = dl_arg_ints(&arg[1], &n);
  int64_t times[DL_MAXDIM];
  if (n >= ndim) RETURN(EX(e, repeat, arg[0], arg[1]));
  for (int d = 0; d < ndim; d++) times[d] = d < ndim - n ? 1 : v[d - (ndim - n)];
  RETURN(EX(e, repeat, arg[0], L(times, ndim)));
}

static dl_tensor *each_times(dl_ex *e, dl_tensor *x, int64_t times, int d) {
  int64_t size[DL_MAXDIM];
  dl_tensor *y = EX(e, unsqueeze, T(x), I(d + 1));
  if (!y) return NULL;
  memcpy(size, y->size, (size_t)y->ndim * sizeof *size);
  size[d + 1] = times;
  y = row_major(e, EX(e, expand, T(y), L(size, y->ndim)));
  return EX(e, flatten, T(y), I(d), I(d + 1));
}

static dl_status check_repeats(const dl_tensor *r, const dl_tensor *x, int d) {
  if (r->ndim > 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "repeats must be 0-dim or 1-dim tensor");
  if (r->dtype != DL_I64 && r->dtype != DL_I32)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"repeat_interleave_cpu\" not implemented for '%s'",
                   dl_dtypes[r->dtype].scalar);
  if (r->numel != 1 && r->numel != x->size[d])
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "repeats must have the same size as input along dim, but got repeats.size(0) = "
                   "%lld and input.size(%d) = %lld",
                   (long long)r->numel, d, (long long)x->size[d]);
  size_t step = r->ndim ? (size_t)r->stride[0] * dl_dtype_size((dl_dtype)r->dtype) : 0;
  dl_tensor *h;
  bool negative = false;
  DL_TRY(dl_tensor_values(r, &h));
  for (int64_t i = 0; i < h->numel; i++)
    negative = negative || dl_elem_get_i64((dl_dtype)h->dtype, h->data + (size_t)i * step) < 0;
  dl_tensor_release(h);
  if (!negative) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "repeats can not be negative");
}

/* Rows picked by an index in which row i stands repeats[i] times. */
static dl_tensor *picked(dl_ex *e, dl_tensor *x, dl_tensor *repeats, int d) {
  dl_tensor *ends = EX(e, cumsum, T(repeats), I(0));
  if (!ends) return NULL;
  dl_tensor *last = ends->numel ? EX(e, select, T(ends), I(0), I(-1)) : NULL;
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = x->dev};
  dl_tensor *place = EX(e, arange_end, I(last ? dl_tensor_item_i(last) : 0), NIL, dev);
  dl_tensor *index = EX(e, searchsorted, T(ends), T(place), B(true));
  return EX(e, index_select, T(x), I(d), T(index));
}

COMP(repeat_interleave) {
  dl_tensor *x = arg[0].t;
  const dl_arg *times = &arg[1];
  int d = 0;
  if (dl_arg_given(&arg[2])) DL_TRY(dl_wrap_dim(arg[2].i, x->ndim, &d));
  else if (x->ndim != 1) x = EX(e, flatten, T(x));
  if (x && x->ndim == 0) x = EX(e, flatten, T(x));
  if (!x) return e->st;
  if (times->tag == DL_A_TENSOR) {
    DL_TRY(check_repeats(times->t, x, d));
    if (times->t->numel != 1 || x->size[d] == 1) RETURN(picked(e, x, EX(e, flatten, *times), d));
    RETURN(each_times(e, x, dl_tensor_item_i(times->t), d));
  }
  if (dl_arg_i(times) < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Repeats must be non-negative");
  RETURN(each_times(e, x, dl_arg_i(times), d));
}

/* ---- grids ----------------------------------------------------------------------- */
static dl_status grid_checks(const dl_arg *ts, const char *indexing) {
  char s[TEXT];
  if (ts->n == 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "meshgrid expects a non-empty TensorList");
  DL_TRY(dl_dim_count(ts->n));
  for (int k = 1; k < ts->n; k++)
    if (ts->ts[k]->dtype != ts->ts[0]->dtype)
      return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                     "meshgrid expects all tensors to have the same dtype");
  for (int k = 0; k < ts->n; k++)
    if (ts->ts[k]->ndim > 1)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: %s",
                     dl_sizes_str(ts->ts[k]->ndim, ts->ts[k]->size, s, sizeof s));
  if (strcmp(indexing, "ij") && strcmp(indexing, "xy"))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "torch.meshgrid: indexing must be one of \"xy\" or \"ij\", but received: %s",
                   indexing);
  return DL_OK;
}

COMP(meshgrid) {
  const dl_arg *ts = &arg[0];
  int64_t size[DL_MAXDIM], one[DL_MAXDIM];
  DL_TRY(grid_checks(ts, arg[1].s));
  bool xy = !strcmp(arg[1].s, "xy") && ts->n >= 2;
  for (int k = 0; k < ts->n; k++) size[k] = ts->ts[k]->numel;
  for (int k = 0; k < ts->n; k++) {
    for (int j = 0; j < ts->n; j++) one[j] = j == k ? size[k] : 1;
    dl_tensor *g = EX(e, expand, T(EX(e, view, T(ts->ts[k]), L(one, ts->n))), L(size, ts->n));
    if (xy) g = EX(e, transpose, T(g), I(0), I(1));
    DL_TRY(dl_ex_return(e, g, &out[k]));
  }
  return DL_OK;
}
