/* rows.h -- moving and adding rows of elements
 *
 * For the index and gather kernels. A row is `n` elements, `stride` elements apart.
 * MUST NOT  know where rows lie. */
#ifndef DL_ROWS_H
#define DL_ROWS_H

#include <math.h>

#include "walk.h"

static inline void dl_row_copy(size_t es, char *d, int64_t ds, const char *s, int64_t ss,
                               int64_t n) {
  if (ds == 1 && ss == 1) {
    memcpy(d, s, (size_t)n * es);
    return;
  }
  for (int64_t i = 0; i < n; i++, d += ds * (int64_t)es, s += ss * (int64_t)es)
    dl_elem_copy(d, s, es);
}

#define DL_ROW_ADD(type, expr)                                                  \
  for (int64_t i = 0; i < n;                                                    \
       i++, d += ds * (int64_t)sizeof(type), s += ss * (int64_t)sizeof(type)) { \
    type a = *(const type *)d, b = *(const type *)s;                            \
    *(type *)d = (type)(expr);                                                  \
  }

/* d += alpha * s; 16-bit floats add in float and round each time, bool adds as or. */
static inline void dl_row_add(dl_dtype t, char *d, int64_t ds, const char *s, int64_t ss, int64_t n,
                              double alpha, int64_t times) {
  int64_t es = (int64_t)dl_dtype_size(t);
  float f = (float)alpha;
  switch (t) {
    case DL_F32:
      if (f == 1) DL_ROW_ADD(float, a + b)
      else DL_ROW_ADD(float, fmaf(b, f, a))
      return;
    case DL_F64: DL_ROW_ADD(double, fma(b, alpha, a)) return;
    case DL_F16: case DL_BF16:
      for (int64_t i = 0; i < n; i++, d += ds * es, s += ss * es)
        dl_elem_set_f64(t, d, (float)dl_elem_get_f64(t, d) + f * (float)dl_elem_get_f64(t, s));
      return;
    case DL_I64: DL_ROW_ADD(uint64_t, a + b * (uint64_t)times) return;
    case DL_BOOL: DL_ROW_ADD(uint8_t, a | (b && times)) return;
    default:
      for (int64_t i = 0; i < n; i++, d += ds * es, s += ss * es)
        dl_elem_set_i64(t, d, dl_elem_get_i64(t, d) + times * dl_elem_get_i64(t, s));
  }
}

/* Join neighbouring dims that both operands step over evenly; returns the new number of dims (>=
 * 1). */
static inline int dl_merge_dims(int nd, int64_t *size, int64_t *a, int64_t *b) {
  int n = 0;
  for (int d = 0; d < nd; d++) {
    if (size[d] == 1) continue;
    if (n && a[n - 1] == a[d] * size[d] && b[n - 1] == b[d] * size[d]) {
      size[n - 1] *= size[d];
    } else {
      size[n++] = size[d];
    }
    a[n - 1] = a[d];
    b[n - 1] = b[d];
  }
  if (n == 0) {
    size[0] = 1;
    a[0] = b[0] = 1;
    n = 1;
  }
  return n;
}

/* An index element of dtype int64 or int32. */
static inline int64_t dl_index_at(const dl_view *v, int64_t off) {
  return v->dtype == DL_I32 ? ((const int32_t *)v->data)[off] : ((const int64_t *)v->data)[off];
}

#endif
