/* geo.h -- from the number of an element to its place in up to N views of one shape
 *
 * For kernels that walk strided views: built on the host, handed to the kernel by value.
 *
 * INVARIANT  Neighbouring dims that all views step over evenly are one dim; at least one dim. */
#ifndef DL_GEO_H
#define DL_GEO_H

#include "cuda.h"

/* Division of n < 2^31 by a constant through one multiplication (Granlund and Montgomery). */
struct dl_div { uint32_t d, m, shift; };
static inline dl_div dl_div_by(uint32_t d) {
  uint32_t s = 0;
  while (s < 32 && (1ull << s) < d) s++;
  return {d, (uint32_t)(((1ull << 32) * ((1ull << s) - d)) / d + 1), s};
}
DL_FN uint32_t dl_quotient(dl_div by, uint32_t n) { return (__umulhi(n, by.m) + n) >> by.shift; }

template <int N> struct dl_geo {
  int nd;
  bool wide;                     /* 2^31 elements or more, fewer than 2^53 */
  int64_t numel, size[DL_MAXDIM];
  dl_div div[DL_MAXDIM];         /* shift: WIDE where a division is made in double */
  double part[DL_MAXDIM];        /* 1 / size */
  int64_t stride[N][DL_MAXDIM];

  enum { WIDE = 64 };
  __device__ __forceinline__ int64_t over(int64_t n, int d) const {
    if (div[d].shift != WIDE) return dl_quotient(div[d], (uint32_t)n);
    int64_t q = (int64_t)((double)n * part[d]), r = n - q * size[d];
    return r < 0 ? q - 1 : r >= size[d] ? q + 1 : q;
  }
  /* A loop of one round would cost the one around it its DL_ROLLED. */
  __device__ __forceinline__ void add(int64_t r, int d, int64_t *off) const {
    if constexpr (N == 1) off[0] += r * stride[0][d];
    else DL_UNROLL for (int k = 0; k < N; k++) off[k] += r * stride[k][d];
  }
  /* off[k]: where element i (row-major) lies in view k, in elements */
  __device__ __forceinline__ void place(int64_t i, int64_t *off) const {
    DL_UNROLL for (int k = 0; k < N; k++) off[k] = 0;
    DL_ROLLED for (int d = nd - 1; d > 0; d--) {
      int64_t q = over(i, d);
      add(i - q * size[d], d, off);
      i = q;
    }
    add(i, 0, off);
  }
};

template <int N> bool dl_geo_joins(const dl_geo<N> &g, int at, int64_t size, int d,
                                   const int64_t *const *stride) {
  for (int k = 0; k < N; k++)
    if (g.stride[k][at] != stride[k][d] * size) return false;
  return true;
}

template <int N> void dl_geo_ready(dl_geo<N> *g) {
  g->wide = g->numel >= (1ll << 31);
  for (int d = 0; d < g->nd; d++) {
    int64_t n = g->size[d] > 0 ? g->size[d] : 1;
    g->div[d] = g->wide ? dl_div{1, 0, dl_geo<N>::WIDE} : dl_div_by((uint32_t)n);
    g->part[d] = 1.0 / (double)n;
  }
}

/* Views k of `ndim` sizes with strides stride[k]. */
template <int N> void dl_geo_make(dl_geo<N> *g, int ndim, const int64_t *size,
                                  const int64_t *const *stride) {
  g->nd = 0;
  g->numel = 1;
  for (int d = 0; d < ndim; d++) {
    g->numel *= size[d];
    if (size[d] == 1) continue;
    if (g->nd && dl_geo_joins(*g, g->nd - 1, size[d], d, stride)) g->size[g->nd - 1] *= size[d];
    else g->size[g->nd++] = size[d];
    for (int k = 0; k < N; k++) g->stride[k][g->nd - 1] = stride[k][d];
  }
  if (g->nd == 0) {
    g->nd = 1;
    g->size[0] = 1;
    for (int k = 0; k < N; k++) g->stride[k][0] = 0;
  }
  dl_geo_ready(g);
}

#endif
