/* view_split.c -- views of several results: split, chunk, unbind
 *
 * For dispatch (VIEW rows that give Tensor[]).
 * SOURCE     ATen/native/TensorShape.cpp (texts and order of checks). */
#include "op/view.h"

#include <string.h>

static dl_status push_piece(dl_vcall *v, int d, int64_t start, int64_t length) {
  const dl_tensor *t = v->self;
  dl_vout o = {.ndim = t->ndim, .offset = start * t->stride[d]};
  memcpy(o.size, t->size, (size_t)t->ndim * sizeof *o.size);
  memcpy(o.stride, t->stride, (size_t)t->ndim * sizeof *o.stride);
  o.size[d] = length;
  return dl_vcall_push(v, &o);
}

static dl_status has_dims(const dl_tensor *t, const char *name) {
  if (t->ndim) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s expects at least a 1-dimensional tensor", name);
}

/* Pieces of `piece` elements, the last one shorter; one empty piece of an empty dim. */
static dl_status push_equal(dl_vcall *v, int d, int64_t piece) {
  int64_t n = v->self->size[d], at = 0;
  do {
    int64_t length = n - at < piece ? n - at : piece;
    DL_TRY(push_piece(v, d, at, length));
    at += length;
  } while (at < n);
  return DL_OK;
}

dl_status dl_view_split(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int64_t piece = v->arg[1].i;
  int d;
  DL_TRY(has_dims(t, "split"));
  if (piece < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "split expects split_size be non-negative, but got split_size=%lld",
                   (long long)piece);
  DL_TRY(dl_wrap_dim(v->arg[2].i, t->ndim, &d));
  if (piece == 0 && t->size[d] != 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "split_size can only be 0 if dimension size is 0, but got dimension size of "
                   "%lld",
                   (long long)t->size[d]);
  return push_equal(v, d, piece);
}

dl_status dl_view_split_sizes(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int n, d;
  const int64_t *sizes = dl_arg_ints(&v->arg[1], &n);
  char text[512];
  int64_t sum = 0, at = 0;
  DL_TRY(has_dims(t, "split"));
  DL_TRY(dl_wrap_dim(v->arg[2].i, t->ndim, &d));
  dl_sizes_str(n, sizes, text, sizeof text);
  for (int k = 0; k < n; k++) {
    if (sizes[k] < 0)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "split_with_sizes expects split_sizes have only non-negative entries, but "
                     "got split_sizes=%s", text);
    if (!dl_add_ok(sum, sizes[k], &sum)) sum = -1;
    if (sum < 0) break;
  }
  if (sum != t->size[d])
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's "
                   "size at dimension %d), but got split_sizes=%s",
                   (long long)t->size[d], d, text);
  for (int k = 0; k < n; at += sizes[k++]) DL_TRY(push_piece(v, d, at, sizes[k]));
  return DL_OK;
}

dl_status dl_view_chunk(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int64_t chunks = v->arg[1].i;
  int d;
  DL_TRY(has_dims(t, "chunk"));
  if (chunks <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "chunk expects `chunks` to be greater than 0, got: %lld", (long long)chunks);
  DL_TRY(dl_wrap_dim(v->arg[2].i, t->ndim, &d));
  int64_t n = t->size[d];
  if (n > 0) return push_equal(v, d, n / chunks + (n % chunks != 0));
  for (int64_t k = 0; k < chunks; k++) DL_TRY(push_piece(v, d, 0, 0));
  return DL_OK;
}

dl_status dl_view_unbind(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int d;
  if (t->ndim == 0)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "Dimension specified as %lld but tensor has no dimensions",
                   (long long)v->arg[1].i);
  DL_TRY(dl_wrap_dim(v->arg[1].i, t->ndim, &d));
  for (int64_t i = 0; i < t->size[d]; i++) {
    dl_vout o = {.ndim = t->ndim - 1, .offset = i * t->stride[d]};
    for (int k = 0, n = 0; k < t->ndim; k++) {
      if (k == d) continue;
      o.size[n] = t->size[k];
      o.stride[n++] = t->stride[k];
    }
    DL_TRY(dl_vcall_push(v, &o));
  }
  return DL_OK;
}
