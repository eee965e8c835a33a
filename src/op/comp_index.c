/* comp_index.c -- indexing ops that are made of others
 *
 * For dispatch (COMPOSITE rows of "indexing", argsort).
 * SOURCE     ATen/native/TensorAdvancedIndexing.cpp, Onehot.cpp (texts). */
#include "op/view.h"
#include "tensor/devmem.h"
#include "walk.h"

#include <string.h>

#define COMP(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out)
#define RETURN(expr) return dl_ex_return(e, (expr), out)

static dl_tensor *spread(dl_ex *e, dl_tensor *t, const dl_meta *m) {
  if (dl_sizes_equal(t->ndim, t->size, m->ndim, m->size)) return t;
  return EX(e, expand, T(t), L(m->size, m->ndim));
}

static void shape_of(const dl_tensor *t, dl_meta *m) {
  m->ndim = t->ndim;
  memcpy(m->size, t->size, (size_t)t->ndim * sizeof *t->size);
}

static const char *scalar(const dl_tensor *t) { return dl_dtypes[t->dtype].scalar; }

/* Smallest and largest element of an int64 tensor; numel > 0. Waits for a GPU. */
static dl_status extremes(const dl_tensor *index, int64_t *lo, int64_t *hi) {
  dl_walk w;
  dl_tensor *t;
  DL_TRY(dl_tensor_values(index, &t));
  *lo = INT64_MAX;
  *hi = INT64_MIN;
  dl_walk_begin(&w, t->ndim, t->size, -1);
  dl_walk_add(&w, t->ndim, t->stride, -1);
  for (; w.left > 0; dl_walk_next(&w)) {
    int64_t v = ((const int64_t *)t->data)[w.off[0]];
    if (v < *lo) *lo = v;
    if (v > *hi) *hi = v;
  }
  dl_tensor_release(t);
  return DL_OK;
}

COMP(argsort) {
  dl_ex_call(e, DL_OP_sort, arg, 4, 0);
  RETURN(e->st == DL_OK ? e->last.v[1] : NULL);
}

COMP(argwhere) { RETURN(EX(e, nonzero, arg[0])); }

/* ---- masks ----------------------------------------------------------------------- */
COMP(masked_select) {
  dl_tensor *x = arg[0].t, *mask = arg[1].t;
  dl_meta m = {0};
  if (mask->dtype != DL_BOOL && mask->dtype != DL_U8)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "masked_select: expected BoolTensor for mask");
  shape_of(mask, &m);
  DL_TRY(dl_broadcast(&m, x->ndim, x->size));
  dl_tensor *full = spread(e, mask, &m);
  if (full && full->ndim == 0) full = EX(e, unsqueeze, T(full), I(0));
  x = spread(e, x, &m);
  if (x && x->ndim == 0) x = EX(e, unsqueeze, T(x), I(0));
  RETURN(EX(e, index, T(x), TS(&full, 1)));
}

/* The k-th true place takes the k-th element of source. */
COMP(masked_scatter) {
  dl_tensor *x = arg[0].t, *mask = arg[1].t, *src = arg[2].t;
  dl_meta m = {0};
  if (mask->dtype != DL_BOOL)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "masked_scatter_ only supports boolean masks, but got mask with dtype %s",
                   scalar(mask));
  if (x->dtype != src->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "masked_scatter: expected self and source to have same dtypes but got%s and %s",
                   scalar(x), scalar(src));
  shape_of(mask, &m);
  DL_TRY(dl_broadcast(&m, x->ndim, x->size));
  x = spread(e, x, &m);
  mask = spread(e, mask, &m);
  if (!x || !mask) return e->st;
  int64_t count;
  DL_TRY(dl_tensor_count_nonzero(mask, &count));
  if (count > src->numel)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Number of elements of source < number of ones in mask");
  if (src->numel == 0) RETURN(EX(e, clone, T(x)));
  const int64_t flat = -1;
  dl_tensor *place =
      EX(e, sub, T(EX(e, cumsum, T(EX(e, reshape, T(mask), L(&flat, 1))), I(0))), I(1));
  place = EX(e, clamp, T(place), I(0), I(src->numel - 1));
  dl_tensor *vals = EX(e, index_select, T(EX(e, reshape, T(src), L(&flat, 1))), I(0), T(place));
  RETURN(EX(e, where, T(mask), T(EX(e, reshape, T(vals), L(m.size, m.ndim))), T(x)));
}

/* ---- by place -------------------------------------------------------------------- */
COMP(take) {
  dl_tensor *x = arg[0].t, *idx = arg[1].t;
  int64_t lo, hi;
  if (idx->dtype != DL_I64)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "take(): Expected a long tensor for index, but got %s", scalar(idx));
  if (x->numel == 0 && idx->numel)
    return dl_fail(DL_IndexError, DL_E_INDEX, "take(): tried to take from an empty tensor");
  if (idx->numel) {
    DL_TRY(extremes(idx, &lo, &hi));
    if (hi >= x->numel || lo < -x->numel)
      return dl_fail(DL_IndexError, DL_E_INDEX,
                     "out of range: tried to access index %lld on a tensor of %lld elements.",
                     (long long)(hi >= x->numel ? hi : lo), (long long)x->numel);
  }
  const int64_t flat = -1;
  if (x->numel == 0) RETURN(EX(e, zeros, L(idx->size, idx->ndim), DT(x->dtype), DEV(x)));
  RETURN(EX(e, index, T(EX(e, reshape, T(x), L(&flat, 1))), TS(&idx, 1)));
}

COMP(take_along_dim) {
  dl_tensor *x = arg[0].t, *idx = arg[1].t;
  const int64_t flat = -1;
  if (idx->dtype != DL_I64)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "torch.take_along_dim(): dtype of indices should be Long but got %s",
                   scalar(idx));
  if (!dl_arg_given(&arg[2]))
    RETURN(EX(e, gather, T(EX(e, reshape, T(x), L(&flat, 1))), I(0),
              T(EX(e, reshape, T(idx), L(&flat, 1)))));
  if (x->ndim != idx->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "torch.take_along_dim(): input and indices should have the same number of "
                   "dimensions, but got %d dimensions for input, and %d dimensions for indices",
                   x->ndim, idx->ndim);
  int dim;
  DL_TRY(dl_wrap_dim(arg[2].i, x->ndim, &dim));
  dl_meta xs = {0}, is = {0}, both = {0};
  shape_of(x, &xs);
  shape_of(idx, &is);
  if (x->ndim) xs.size[dim] = 1;
  both = xs;
  if (x->ndim) is.size[dim] = 1;
  DL_TRY(dl_broadcast(&both, is.ndim, is.size));
  xs = is = both;
  if (x->ndim) {
    xs.size[dim] = x->size[dim];
    is.size[dim] = idx->size[dim];
  }
  RETURN(EX(e, gather, T(spread(e, x, &xs)), I(dim), T(spread(e, idx, &is))));
}

/* ---- one_hot --------------------------------------------------------------------- */
COMP(one_hot) {
  dl_tensor *x = arg[0].t;
  int64_t classes = arg[1].i, lo = 0, hi = -1, size[DL_MAXDIM];
  if (x->dtype != DL_I64)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "one_hot is only applicable to index tensor of type LongTensor.");
  if (x->numel == 0 && classes <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Can not infer total number of classes from empty tensor.");
  if (x->numel) DL_TRY(extremes(x, &lo, &hi));
  if (lo < 0) return dl_fail(DL_RuntimeError, DL_E_INDEX, "Class values must be non-negative.");
  if (hi == INT64_MAX)
    return dl_fail(DL_RuntimeError, DL_E_INDEX, "Class values must be smaller than num_classes.");
  if (classes == -1) classes = hi + 1;
  else if (hi >= classes)
    return dl_fail(DL_RuntimeError, DL_E_INDEX, "Class values must be smaller than num_classes.");
  DL_TRY(dl_dim_count(x->ndim + 1));
  memcpy(size, x->size, (size_t)x->ndim * sizeof *size);
  size[x->ndim] = classes;
  dl_tensor *z = EX(e, zeros, L(size, x->ndim + 1), DT(DL_I64), DEV(x));
  RETURN(EX_(e, scatter, T(z), I(-1), T(EX(e, unsqueeze, T(x), I(-1))), I(1)));
}
