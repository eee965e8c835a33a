/* conv_direct.cu -- convolution element by element, see conv.h
 *
 * MUST NOT know ops. */
#include "conv.h"

namespace {

/* A number taken apart: i = (a * nb + b) * nc + c, and so on. */
struct splits { dl_over by[4]; };

splits splits_of(int64_t n1, int64_t n2, int64_t n3, int64_t total) {
  return {{dl_over_by(n1, total), dl_over_by(n2, total), dl_over_by(n3, total),
           dl_over_by(1, total)}};
}

/* at[0..4): outermost first */
__device__ inline void take_apart(const splits &s, int64_t i, int64_t *at) {
  for (int d = 3; d > 0; d--) {
    int64_t q = s.by[d - 1].of(i);
    at[d] = i - q * s.by[d - 1].n;
    i = q;
  }
  at[0] = i;
}

template <class T>
__global__ void forward(dl_cu_conv s, splits p, const T *x, const T *w, const T *b, T *y,
                        int64_t count) {
  typedef typename dl_wide<T>::type C;
  DL_EACH(i, count) {
    int64_t at[4];
    take_apart(p, i, at); /* sample, channel, row, column */
    int64_t group = at[1] / s.out, y0 = at[2] * s.sh - s.ph, x0 = at[3] * s.sw - s.pw;
    const T *in = x + (at[0] * s.ic + group * s.in) * s.ih * s.iw, *k = w + at[1] * s.rows;
    C sum = 0;
    for (int64_t c = 0; c < s.in; c++, in += s.ih * s.iw)
      for (int64_t r = 0; r < s.kh; r++)
        for (int64_t q = 0; q < s.kw; q++, k++) {
          int64_t iy = y0 + r * s.dh, ix = x0 + q * s.dw;
          if (iy < 0 || iy >= s.ih || ix < 0 || ix >= s.iw) continue;
          sum = dl_mad(dl_as<C>(in[iy * s.iw + ix]), dl_as<C>(*k), sum);
        }
    y[i] = dl_to<T>(b ? dl_plus(sum, dl_as<C>(b[at[1]])) : sum);
  }
}

/* The output position whose window has input position `at` at its step `k`, or -1. */
DL_FN int64_t output_of(int64_t at, int64_t k, int64_t stride, int64_t pad, int64_t dilation,
                        int64_t out) {
  int64_t o = at + pad - k * dilation;
  if (o < 0 || o % stride) return -1;
  return o / stride < out ? o / stride : -1;
}

template <class T>
__global__ void to_input(dl_cu_conv s, splits p, const T *g, const T *w, T *x, int64_t count) {
  typedef typename dl_wide<T>::type C;
  DL_EACH(i, count) {
    int64_t at[4];
    take_apart(p, i, at);
    int64_t group = at[1] / s.in, c = at[1] - group * s.in;
    const T *from = g + (at[0] * s.oc + group * s.out) * s.cols;
    C sum = 0;
    for (int64_t r = 0; r < s.kh; r++) {
      int64_t oy = output_of(at[2], r, s.sh, s.ph, s.dh, s.oh);
      for (int64_t q = 0; oy >= 0 && q < s.kw; q++) {
        int64_t ox = output_of(at[3], q, s.sw, s.pw, s.dw, s.ow);
        if (ox < 0) continue;
        const T *k = w + group * s.out * s.rows + (c * s.kh + r) * s.kw + q;
        for (int64_t o = 0; o < s.out; o++)
          sum = dl_mad(dl_as<C>(from[o * s.cols + oy * s.ow + ox]), dl_as<C>(k[o * s.rows]), sum);
      }
    }
    x[i] = dl_to<T>(sum);
  }
}

/* A block an element of the weight: its threads share out the positions of the output. */
template <class T>
__global__ void to_weight(dl_cu_conv s, dl_over by_cols, dl_over by_ow, const T *g, const T *x,
                          T *w) {
  typedef typename dl_wide<T>::type C;
  int64_t o = blockIdx.x / s.rows, r = blockIdx.x % s.rows, area = s.kh * s.kw;
  int64_t c = o / s.out * s.in + r / area, ky = r % area / s.kw, kx = r % s.kw;
  C sum = 0;
  for (int64_t i = threadIdx.x; i < s.n * s.cols; i += DL_BLOCK) {
    int64_t n = by_cols.of(i), at = i - n * s.cols, oy = by_ow.of(at), ox = at - oy * s.ow;
    int64_t iy = oy * s.sh - s.ph + ky * s.dh, ix = ox * s.sw - s.pw + kx * s.dw;
    if (iy < 0 || iy >= s.ih || ix < 0 || ix >= s.iw) continue;
    sum = dl_mad(dl_as<C>(g[(n * s.oc + o) * s.cols + at]),
                 dl_as<C>(x[((n * s.ic + c) * s.ih + iy) * s.iw + ix]), sum);
  }
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) w[blockIdx.x] = dl_to<T>(sum);
}

template <class T> const T *as(const void *p) { return static_cast<const T *>(p); }

} /* namespace */

#define BY_TYPE(dtype, ...)                                           \
  do {                                                                \
    if ((dtype) == DL_I64) { typedef int64_t T; __VA_ARGS__; }        \
    else DL_BY_FLOAT(dtype, __VA_ARGS__);                             \
  } while (0)

void dl_cu_conv_forward(const dl_cu_conv *s, int dtype, const void *x, const void *w, const void *b,
                        void *y, void *stream) {
  int64_t count = s->n * s->oc * s->cols;
  splits p = splits_of(s->oc, s->oh, s->ow, count);
  BY_TYPE(dtype, DL_LAUNCH_EACH(forward<T>, count, stream, *s, p, as<T>(x), as<T>(w), as<T>(b),
                                static_cast<T *>(y), count));
}

void dl_cu_conv_input(const dl_cu_conv *s, int dtype, const void *g, const void *w, void *x,
                      void *stream) {
  int64_t count = s->n * s->ic * s->ih * s->iw;
  splits p = splits_of(s->ic, s->ih, s->iw, count);
  BY_TYPE(dtype, DL_LAUNCH_EACH(to_input<T>, count, stream, *s, p, as<T>(g), as<T>(w),
                                static_cast<T *>(x), count));
}

void dl_cu_conv_weight(const dl_cu_conv *s, int dtype, const void *g, const void *x, void *w,
                       void *stream) {
  unsigned blocks = (unsigned)(s->oc * s->rows);
  dl_over by_cols = dl_over_by(s->cols, s->n * s->cols), by_ow = dl_over_by(s->ow, s->cols);
  BY_TYPE(dtype, DL_LAUNCH(to_weight<T>, blocks, DL_BLOCK, 0, stream, *s, by_cols, by_ow, as<T>(g),
                           as<T>(x), static_cast<T *>(w)));
}
