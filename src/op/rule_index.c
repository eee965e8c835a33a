/* rule_index.c -- shapes and checks of indexing by tensors
 *
 * For dispatch. A mask's result size depends on its elements, so these rules read them (and
 * nonzero's, bincount's …): on a GPU that is a wait, as in PyTorch.
 * SOURCE     ATen/native/TensorAdvancedIndexing.cpp, IndexingUtils.h, ScatterGatherChecks.h
 *            (texts).
 * MUST NOT   allocate, but for a copy of what a GPU holds. */
#include "op/view.h"
#include "walk.h"

#include <stdio.h>
#include <string.h>

#define TEXT 160 /* bytes of "[2, 3]" */

static const char *text_of(const dl_tensor *t, char *buf) {
  return dl_sizes_str(t->ndim, t->size, buf, TEXT);
}

static bool is_mask(const dl_tensor *t) { return t->dtype == DL_BOOL || t->dtype == DL_U8; }
static bool is_index(const dl_tensor *t) { return t->dtype == DL_I64 || t->dtype == DL_I32; }

/* ---- subscripts ------------------------------------------------------------------ */
typedef struct subscript {
  int n, dim[DL_MAXDIM];         /* indexed dims of self, in order */
  dl_meta part[DL_MAXDIM];       /* shape of each index tensor; masks are expanded */
  dl_meta common;                /* their broadcast shape */
} subscript;

static dl_status too_many(const dl_tensor *self) {
  return dl_fail(DL_IndexError, DL_E_INDEX, "too many indices for tensor of dimension %d",
                 self->ndim);
}

static dl_status add_mask(subscript *s, const dl_tensor *self, const dl_tensor *mask, int *dim) {
  char a[TEXT], b[TEXT];
  if (*dim + mask->ndim > self->ndim) return too_many(self);
  for (int d = 0; d < mask->ndim; d++)
    if (mask->size[d] != self->size[*dim + d])
      return dl_fail(DL_IndexError, DL_E_INDEX,
                     "The shape of the mask %s at index %d does not match the shape of the "
                     "indexed tensor %s at index %d",
                     text_of(mask, a), d, text_of(self, b), *dim + d);
  if (mask->dtype == DL_U8)
    dl_warn(true, "UserWarning",
            "indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool "
            "instead.");
  int64_t count;
  DL_TRY(dl_tensor_count_nonzero(mask, &count));
  for (int d = 0; d < mask->ndim; d++) {
    s->part[s->n] = (dl_meta){.ndim = 1, .size = {count}};
    s->dim[s->n++] = (*dim)++;
  }
  return DL_OK;
}

static dl_status add_index(subscript *s, const dl_tensor *self, const dl_tensor *idx, int *dim) {
  if (*dim >= self->ndim) return too_many(self);
  s->part[s->n].ndim = idx->ndim;
  memcpy(s->part[s->n].size, idx->size, (size_t)idx->ndim * sizeof *idx->size);
  s->dim[s->n++] = (*dim)++;
  return DL_OK;
}

static bool join(dl_meta *m, const dl_meta *p) {
  int grow = p->ndim - m->ndim;
  if (grow > 0) {
    memmove(m->size + grow, m->size, m->ndim * sizeof *m->size);
    for (int d = 0; d < grow; d++) m->size[d] = 1;
    m->ndim = p->ndim;
  }
  for (int d = 0; d < p->ndim; d++) {
    int64_t *have = &m->size[m->ndim - p->ndim + d];
    if (*have != p->size[d] && *have != 1 && p->size[d] != 1) return false;
    if (*have == 1) *have = p->size[d];
  }
  return true;
}

static dl_status cannot_join(const subscript *s) {
  char list[512], one[TEXT];
  size_t at = 0;
  for (int k = 0; k < s->n && at < sizeof list; k++)
    at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", k ? ", " : "",
                           dl_sizes_str(s->part[k].ndim, s->part[k].size, one, sizeof one));
  return dl_fail(DL_IndexError, DL_E_INDEX,
                 "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                 list);
}

static dl_status read_subscript(const dl_tensor *self, const dl_arg *list, subscript *s) {
  int dim = 0;
  memset(s, 0, sizeof *s);
  for (int k = 0; k < list->n; k++) {
    const dl_tensor *t = list->ts[k];
    if (t && !is_mask(t) && !is_index(t))
      return dl_fail(DL_IndexError, DL_E_INDEX,
                     "tensors used as indices must be long, int, byte or bool tensors");
  }
  for (int k = 0; k < list->n; k++) {
    const dl_tensor *t = list->ts[k];
    if (!t) dim++;
    else if (is_mask(t)) DL_TRY(add_mask(s, self, t, &dim));
    else DL_TRY(add_index(s, self, t, &dim));
  }
  if (dim > self->ndim) return too_many(self);
  for (int k = 0; k < s->n; k++)
    if (!join(&s->common, &s->part[k])) return cannot_join(s);
  return DL_OK;
}

/* Neighbouring indexed dims are replaced in place; otherwise the common shape comes first. */
static dl_status subscript_shape(const dl_tensor *self, const subscript *s, dl_meta *m) {
  bool joined = true;
  uint32_t indexed = 0;
  for (int k = 0; k < s->n; k++) {
    joined = joined && (k == 0 || s->dim[k] == s->dim[k - 1] + 1);
    indexed |= 1u << s->dim[k];
  }
  int at = joined && s->n ? s->dim[0] : 0, n = 0;
  DL_TRY(dl_dim_count(self->ndim - s->n + s->common.ndim));
  for (int d = 0; d <= self->ndim; d++) {
    if (d == at)
      for (int k = 0; k < s->common.ndim; k++) m->size[n++] = s->common.size[k];
    if (d < self->ndim && !(indexed & (1u << d))) m->size[n++] = self->size[d];
  }
  m->ndim = (uint8_t)n;
  return DL_OK;
}

dl_status dl_rule_index(dl_call *c) {
  const dl_tensor *self = c->arg[0].t;
  subscript s;
  DL_TRY(read_subscript(self, &c->arg[1], &s));
  dl_call_out(c, 0, (dl_dtype)self->dtype, 0, NULL);
  return subscript_shape(self, &s, &c->out[0]);
}

dl_status dl_rule_index_put(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *v = c->arg[2].t;
  subscript s;
  dl_meta m;
  char a[TEXT], b[TEXT];
  if (v->dtype != self->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Index put requires the source and destination dtypes match, got %s for the "
                   "destination and %s for the source.",
                   dl_dtypes[self->dtype].scalar, dl_dtypes[v->dtype].scalar);
  DL_TRY(read_subscript(self, &c->arg[1], &s));
  DL_TRY(subscript_shape(self, &s, &m));
  int extra = v->ndim > m.ndim ? v->ndim - m.ndim : 0;
  bool fits = true;
  for (int d = 0; d < extra; d++) fits = fits && v->size[d] == 1;
  for (int d = extra; d < v->ndim; d++) {
    int64_t want = m.size[m.ndim - v->ndim + d];
    fits = fits && (v->size[d] == 1 || v->size[d] == want);
  }
  if (!fits)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "shape mismatch: value tensor of shape %s cannot be broadcast to indexing "
                   "result of shape %s",
                   text_of(v, a), dl_sizes_str(m.ndim, m.size, b, sizeof b));
  dl_call_out_like(c, 0, self);
  c->dims = m.ndim;
  return DL_OK;
}

/* ---- gather, scatter ------------------------------------------------------------- */
static int rank(const dl_tensor *t) { return t->ndim ? t->ndim : 1; }
static int64_t size_at(const dl_tensor *t, int d) { return t->ndim ? t->size[d] : 1; }

static dl_status index_dtype(const char *name, const dl_tensor *idx) {
  if (is_index(idx)) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_DTYPE, "%s(): Expected dtype int32/int64 for index", name);
}

dl_status dl_rule_gather(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *idx = c->arg[2].t;
  int dim;
  char a[TEXT], b[TEXT];
  DL_TRY(dl_wrap_dim(c->arg[1].i, self->ndim, &dim));
  DL_TRY(index_dtype("gather", idx));
  if (idx->numel && rank(self) != rank(idx))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Index tensor must have the same number of dimensions as input tensor");
  for (int d = 0; idx->numel && d < rank(self); d++)
    if (d != dim && size_at(idx, d) > size_at(self, d))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Size does not match at dimension %d expected index %s to be no larger than "
                     "self %s apart from dimension %d",
                     d, text_of(idx, a), text_of(self, b), dim);
  dl_call_out(c, 0, (dl_dtype)self->dtype, idx->ndim, idx->size);
  return DL_OK;
}

static dl_status scatter_sizes(const dl_tensor *self, const dl_tensor *idx, const dl_tensor *src,
                               int dim) {
  char a[TEXT], b[TEXT], s[TEXT];
  bool fits = true, fits_src = true;
  if (idx->numel == 0) return DL_OK;
  if (rank(self) != rank(idx))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Index tensor must have the same number of dimensions as self tensor");
  if (src && rank(src) != rank(idx))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Index tensor must have the same number of dimensions as src tensor");
  for (int d = 0; d < rank(self); d++) {
    fits = fits && (d == dim || size_at(idx, d) <= size_at(self, d));
    fits_src = fits_src && (!src || size_at(idx, d) <= size_at(src, d));
  }
  if (fits && fits_src) return DL_OK;
  if (!src)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Expected index %s to be no larger than self %s apart from dimension %d",
                   text_of(idx, a), text_of(self, b), dim);
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "Expected index %s to be no larger than self %s apart from dimension %d and to "
                 "be no larger size than src %s",
                 text_of(idx, a), text_of(self, b), dim, text_of(src, s));
}

dl_status dl_rule_scatter(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *idx = c->arg[2].t;
  const dl_tensor *src = c->arg[3].tag == DL_A_TENSOR ? c->arg[3].t : NULL;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, self->ndim, &dim));
  DL_TRY(index_dtype("scatter", idx));
  if (src && src->dtype != self->dtype && !src->wrapped)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "scatter(): Expected self.dtype to be equal to src.dtype");
  DL_TRY(scatter_sizes(self, idx, src, dim));
  dl_call_out_like(c, 0, self);
  return DL_OK;
}

/* ---- one index vector ------------------------------------------------------------ */
dl_status dl_rule_index_select(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *idx = c->arg[2].t;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, self->ndim, &dim));
  if (idx->ndim > 1)
    return dl_fail(DL_IndexError, DL_E_SHAPE, "index_select(): Index is supposed to be a vector");
  if (!is_index(idx))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "index_select(): Expected dtype int32 or int64 for index");
  if (self->ndim == 0 && idx->numel != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                   (long long)idx->numel);
  dl_call_out_like(c, 0, self);
  if (self->ndim) c->out[0].size[dim] = idx->numel;
  return DL_OK;
}

static dl_status add_checks(const dl_tensor *self, const dl_tensor *idx, const dl_tensor *src,
                            int dim) {
  char a[TEXT], b[TEXT];
  bool same = src->ndim == self->ndim;
  if (idx->ndim > 1)
    return dl_fail(DL_IndexError, DL_E_SHAPE,
                   "index_add_(): Index is supposed to be a vector, but got dim: %d with type: %s "
                   "and size: %s",
                   idx->ndim, dl_dtypes[idx->dtype].scalar, text_of(idx, a));
  if (!is_index(idx))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "index_add_(): Expected dtype int32/int64 for index but got: %s",
                   dl_dtypes[idx->dtype].scalar);
  if (self->dtype != src->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "index_add_(): self (%s) and source (%s) must have the same scalar type",
                   dl_dtypes[self->dtype].scalar, dl_dtypes[src->dtype].scalar);
  int64_t given = src->ndim == 0 ? 1 : src->size[dim < src->ndim ? dim : 0];
  if (idx->numel != given)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "index_add_(): Number of indices (%lld) should be equal to source.size(dim): "
                   "(%lld), for dim: %d",
                   (long long)idx->numel, (long long)given, dim);
  for (int d = 0; same && d < self->ndim; d++) same = d == dim || self->size[d] == src->size[d];
  if (!same && !(self->ndim <= 1 && src->ndim <= 1))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "source tensor shape must match self tensor shape, excluding the specified "
                   "dimension. Got self.shape = %s source.shape = %s",
                   text_of(self, a), text_of(src, b));
  return DL_OK;
}

static dl_status copy_checks(const dl_tensor *self, const dl_tensor *idx, const dl_tensor *src,
                             int dim) {
  if (idx->ndim > 1)
    return dl_fail(DL_IndexError, DL_E_SHAPE,
                   "index_copy_(): Index should have dimension 1 or 0 (got %d)", idx->ndim);
  if (src->ndim == 0 && idx->numel != 1)
    return dl_fail(DL_IndexError, DL_E_SHAPE,
                   "index_copy_(): When source is scalar, index should have one element (got %lld)",
                   (long long)idx->numel);
  if (src->ndim != self->ndim && src->ndim && self->ndim)
    return dl_fail(DL_IndexError, DL_E_SHAPE,
                   "index_copy_(): When source and destination are not scalars, their "
                   "dimensionality must match. Source dimensionality (%d), destination "
                   "dimensionality (%d)",
                   src->ndim, self->ndim);
  if (idx->dtype != DL_I64)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "index_copy_(): Expected a long tensor for index, but got %s",
                   dl_dtypes[idx->dtype].scalar);
  if (self->dtype != src->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "index_copy_(): self and source expected to have the same dtype, but got "
                   "(self) %s and (source) %s",
                   dl_dtypes[self->dtype].scalar, dl_dtypes[src->dtype].scalar);
  for (int d = 0, k = 0; src->ndim && d < self->ndim; d++) {
    if (d == dim) continue;
    if (self->size[d] != src->size[d])
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "index_copy_(): Source/destination tensor must have same slice shapes. "
                     "Destination slice shape: %lld at dimension %d and source slice shape: %lld "
                     "at dimension %d.",
                     (long long)self->size[d], k, (long long)src->size[d], k);
    k++;
  }
  if (src->ndim && idx->numel != src->size[self->ndim ? dim : 0])
    return dl_fail(DL_IndexError, DL_E_SHAPE,
                   "index_copy_(): Number of indices (%lld) should be equal to source.size(dim) "
                   "(%lld)",
                   (long long)idx->numel, (long long)src->size[self->ndim ? dim : 0]);
  return DL_OK;
}

dl_status dl_rule_index_add(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *idx = c->arg[2].t, *src = c->arg[3].t;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, self->ndim, &dim));
  bool copy = c->op == &dl_ops[DL_OP_index_copy];
  DL_TRY(copy ? copy_checks(self, idx, src, dim) : add_checks(self, idx, src, dim));
  dl_call_out_like(c, 0, self);
  return DL_OK;
}

dl_status dl_rule_index_fill(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *idx = c->arg[2].t;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, self->ndim, &dim));
  if (idx->dtype != DL_I64)
    return dl_fail(DL_IndexError, DL_E_DTYPE, "index_fill_(): Expected dtype int64 for index.");
  if (idx->ndim > 1) return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Index has to be a vector/scalar");
  if (c->arg[3].tag == DL_A_TENSOR && c->arg[3].t->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                   "%d dimension(s).", c->arg[3].t->ndim);
  dl_call_out_like(c, 0, self);
  return DL_OK;
}

/* ---- sizes that depend on the elements ------------------------------------------- */
dl_status dl_rule_nonzero(dl_call *c) {
  const dl_tensor *x = c->arg[0].t;
  int64_t count;
  DL_TRY(dl_tensor_count_nonzero(x, &count));
  dl_call_out(c, 0, DL_I64, 2, (int64_t[]){count, x->ndim});
  return DL_OK;
}

dl_status dl_rule_searchsorted(dl_call *c) {
  const dl_tensor *seq = c->arg[0].t, *v = c->in[1];
  char a[TEXT], b[TEXT];
  int n = v ? v->ndim : 0;
  if (seq->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "torch.searchsorted(): boundaries tensor should have positive dimension, but "
                   "got 0 dimension");
  if (n == 0 && seq->ndim != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "torch.searchsorted(): input value can be a scalar only when boundaries tensor "
                   "dimension is 1, but we got boundaries tensor dim(%d) and input value's dim(0) "
                   "numel(1)",
                   seq->ndim);
  if (seq->ndim != 1 &&
      (n != seq->ndim || memcmp(seq->size, v->size, (size_t)(n - 1) * sizeof *v->size)))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "torch.searchsorted(): boundaries tensor should be 1 dimension or the first "
                   "N-1 dimensions of boundaries tensor and input value tensor must match, but we "
                   "got boundaries tensor %s and input value tensor %s",
                   text_of(seq, a), text_of(v, b));
  dl_call_out(c, 0, DL_I64, n, v ? v->size : NULL);
  return DL_OK;
}
