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
  bool wide;                     /* 2^31 elements or more: real divisions */
  int64_t numel, size[DL_MAXDIM];
  dl_div div[DL_MAXDIM];
  int64_t stride[N][DL_MAXDIM];

  /* off[k]: where element i (row-major) lies in view k, in elements */
  __device__ __forceinline__ void place(int64_t i, int64_t *off) const {
    DL_UNROLL for (int k = 0; k < N; k++) off[k] = 0;
    if (wide) {
      for (int d = nd - 1; d > 0; d--) {
        int64_t q = i / size[d], r = i - q * size[d];
        DL_UNROLL for (int k = 0; k < N; k++) off[k] += r * stride[k][d];
        i = q;
      }
    } else {
      uint32_t n = (uint32_t)i;
      for (int d = nd - 1; d > 0; d--) {
        uint32_t q = dl_quotient(div[d], n), r = n - q * div[d].d;
        DL_UNROLL for (int k = 0; k < N; k++) off[k] += (int64_t)r * stride[k][d];
        n = q;
      }
      i = n;
    }
    DL_UNROLL for (int k = 0; k < N; k++) off[k] += i * stride[k][0];
  }
};

template <int N> bool dl_geo_joins(const dl_geo<N> &g, int at, int64_t size, int d,
                                   const int64_t *const *stride) {
  for (int k = 0; k < N; k++)
    if (g.stride[k][at] != stride[k][d] * size) return false;
  return true;
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
  g->wide = g->numel >= (1ll << 31);
  for (int d = 0; d < g->nd; d++)
    g->div[d] = dl_div_by((uint32_t)(g->size[d] > 0 && !g->wide ? g->size[d] : 1));
}

#endif
