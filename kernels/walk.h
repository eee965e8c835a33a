/* walk.h -- visiting strided views element by element, in row-major order
 *
 * For kernels that move data (shape, index, factory, sort, random). A walk goes over
 * the positions of one shape and keeps, for up to four views of that shape, the offset
 * (in elements) of the current position. One dimension may be left out, so that the
 * kernel runs along it in an inner loop.
 *
 * INVARIANT  off[k] = sum over the walked dimensions of at[d] * stride[k][d].
 * MUST NOT   know what the elements mean. */
#ifndef DL_WALK_H
#define DL_WALK_H

#include <string.h>

#include "kernel.h"

#define DL_WALK_MAX 4

typedef struct dl_walk {
  int nd, nv;
  int64_t left;                  /* positions still to visit; the loop ends at 0 */
  int64_t size[DL_MAXDIM], at[DL_MAXDIM];
  int64_t stride[DL_WALK_MAX][DL_MAXDIM], off[DL_WALK_MAX];
} dl_walk;

/* Walk over `size` without dimension `skip` (-1: all dimensions). */
static inline void dl_walk_begin(dl_walk *w, int nd, const int64_t *size, int skip) {
  memset(w, 0, sizeof *w);
  w->left = 1;
  for (int d = 0; d < nd; d++) {
    if (d == skip) continue;
    w->size[w->nd++] = size[d];
    w->left *= size[d];
  }
}

/* Add a view of the walked shape (same nd and skip as in dl_walk_begin). */
static inline void dl_walk_add(dl_walk *w, int nd, const int64_t *stride, int skip) {
  int k = w->nv++, n = 0;
  for (int d = 0; d < nd; d++)
    if (d != skip) w->stride[k][n++] = stride[d];
}

/* Jump to position `p` counted in row-major order; `n` positions remain from there. */
static inline void dl_walk_seek(dl_walk *w, int64_t p, int64_t n) {
  w->left = n;
  for (int k = 0; k < w->nv; k++) w->off[k] = 0;
  for (int d = w->nd - 1; d >= 0; d--) {
    int64_t s = w->size[d] > 0 ? w->size[d] : 1;
    w->at[d] = p % s;
    p /= s;
    for (int k = 0; k < w->nv; k++) w->off[k] += w->at[d] * w->stride[k][d];
  }
}

static inline void dl_walk_next(dl_walk *w) {
  w->left--;
  for (int d = w->nd - 1; d >= 0; d--) {
    for (int k = 0; k < w->nv; k++) w->off[k] += w->stride[k][d];
    if (++w->at[d] < w->size[d]) return;
    for (int k = 0; k < w->nv; k++) w->off[k] -= w->at[d] * w->stride[k][d];
    w->at[d] = 0;
  }
}

static inline bool dl_view_contig(const dl_view *v) {
  return dl_is_contig(v->ndim, v->size, v->stride);
}
static inline size_t dl_view_esize(const dl_view *v) { return dl_dtype_size((dl_dtype)v->dtype); }

/* Copy one element of `size` bytes (1, 2, 4 or 8). */
static inline void dl_elem_copy(void *dst, const void *src, size_t size) {
  switch (size) {
    case 1: *(uint8_t *)dst = *(const uint8_t *)src; break;
    case 2: *(uint16_t *)dst = *(const uint16_t *)src; break;
    case 4: *(uint32_t *)dst = *(const uint32_t *)src; break;
    default: *(uint64_t *)dst = *(const uint64_t *)src;
  }
}

/* Is the element at p different from zero? -0.0 is zero, nan is not. */
static inline bool dl_elem_nonzero(const void *p, size_t size, bool is_float) {
  switch (size) {
    case 1: return *(const uint8_t *)p != 0;
    case 2: return (uint16_t)(*(const uint16_t *)p << is_float) != 0;
    case 4: return (uint32_t)(*(const uint32_t *)p << is_float) != 0;
    default: return (*(const uint64_t *)p << is_float) != 0;
  }
}

/* Elements of v that are not zero. */
static inline int64_t dl_view_count_nonzero(const dl_view *v) {
  bool is_float = dl_dtype_is_float((dl_dtype)v->dtype);
  size_t size = dl_view_esize(v);
  int64_t n = 0;
  if (dl_view_contig(v)) {
    for (int64_t i = 0; i < v->numel; i++)
      n += dl_elem_nonzero(v->data + (size_t)i * size, size, is_float);
    return n;
  }
  dl_walk w;
  dl_walk_begin(&w, v->ndim, v->size, -1);
  dl_walk_add(&w, v->ndim, v->stride, -1);
  for (; w.left > 0; dl_walk_next(&w))
    n += dl_elem_nonzero(v->data + w.off[0] * (int64_t)size, size, is_float);
  return n;
}

/* A part of a view: dims in `size`/`stride` are the caller's arrays, `off` in elements. */
static inline dl_view dl_view_part(const dl_view *v, int64_t off, int ndim, const int64_t *size,
                                   const int64_t *stride) {
  int64_t n = 1;
  for (int d = 0; d < ndim; d++) n *= size[d];
  return (dl_view){.data = v->data ? v->data + off * (int64_t)dl_view_esize(v) : NULL,
                   .dtype = v->dtype, .ndim = (uint8_t)ndim, .numel = n, .size = size,
                   .stride = stride};
}

#endif
