/* pool.c -- kernels of max_pool2d, avg_pool2d, adaptive_avg_pool2d and their gradients
 *
 * Each works on planes (h, w): the leading dims do not matter. Inputs are contiguous.
 *
 * INVARIANT  An index is the place of the largest element in its own plane, counted row by row.
 * SOURCE     ATen/native/cpu/{MaxPool,AvgPool,AdaptiveAvgPool}Kernel.cpp (nan and divisor rules).
 * MUST NOT   know tensors. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define PIECE 16384 /* elements of the larger plane in one piece of work */

typedef struct plane {
  int64_t h, w, oh, ow;            /* large side, small side */
  int64_t k[2], s[2], p[2], d[2];
  bool count_pad, adaptive;
  int64_t divisor;                 /* 0 = by the window */
  char *in, *out;                  /* what is read, what is written */
  int64_t *index;
} plane;

static void two(const dl_arg *a, int64_t out[2]) { out[0] = a->is[0], out[1] = a->is[a->n - 1]; }

static void sizes(plane *j, const dl_view *large, const dl_view *small) {
  j->h = large->size[large->ndim - 2], j->w = large->size[large->ndim - 1];
  j->oh = small->size[small->ndim - 2], j->ow = small->size[small->ndim - 1];
}

typedef void (*loop)(void *ctx, int64_t lo, int64_t hi);
typedef struct type_loops { loop of[DL_DTYPE_COUNT]; } type_loops;

static dl_status run(plane *j, const type_loops *f, const dl_view *large, const dl_view *small) {
  sizes(j, large, small);
  int64_t area = j->h * j->w;
  if (small->numel == 0 && j->out == large->data && large->numel)
    memset(j->out, 0, (size_t)large->numel * dl_dtype_size((dl_dtype)large->dtype));
  if (small->numel == 0 || large->numel == 0) return DL_OK;
  return dl_parallel(large->numel / area, PIECE / (area + 1) + 1, f->of[large->dtype], j);
}

/* ---- max ----------------------------------------------------------------------------------- */
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* First place of a window inside the input, in steps of the dilation. */
static int64_t first_inside(int64_t start, int64_t d) {
  return start >= 0 ? start : start + (-start + d - 1) / d * d;
}

#define MAX_POOL(R, LOWEST)                                                                     \
  /* windows of 2x2 side by side: no edges, no branches */                                   \
  static void max_quads_##R(const plane *j, const R *x, R *y, int64_t *index) {              \
    for (int64_t oy = 0; oy < j->oh; oy++) {                                                 \
      const R *a = x + 2 * oy * j->w, *b = a + j->w;                                         \
      int64_t at = 2 * oy * j->w;                                                            \
      for (int64_t ox = 0; ox < j->ow; ox++, at += 2) {                                      \
        R best = a[2 * ox], v = a[2 * ox + 1];                                               \
        int64_t k = at;                                                                      \
        bool more = v > best || v != v;                                                      \
        best = more ? v : best, k = more ? at + 1 : k;                                       \
        v = b[2 * ox], more = v > best || v != v;                                            \
        best = more ? v : best, k = more ? at + j->w : k;                                    \
        v = b[2 * ox + 1], more = v > best || v != v;                                        \
        best = more ? v : best, k = more ? at + j->w + 1 : k;                                \
        y[oy * j->ow + ox] = best, index[oy * j->ow + ox] = k;                               \
      }                                                                                      \
    }                                                                                        \
  }                                                                                          \
  static void max_window_##R(const plane *j, const R *x, int64_t oy, int64_t ox, R *y,       \
                             int64_t *at) {                                                  \
    int64_t y0 = oy * j->s[0] - j->p[0], x0 = ox * j->s[1] - j->p[1];                        \
    int64_t y1 = smaller(y0 + (j->k[0] - 1) * j->d[0] + 1, j->h);                            \
    int64_t x1 = smaller(x0 + (j->k[1] - 1) * j->d[1] + 1, j->w);                            \
    y0 = first_inside(y0, j->d[0]), x0 = first_inside(x0, j->d[1]);                          \
    bool empty = y0 >= y1 || x0 >= x1; /* a wide dilation can step over the whole input */   \
    int64_t k = empty ? 0 : y0 * j->w + x0;                                                  \
    R best = empty ? LOWEST : x[k];                                                          \
    for (int64_t r = y0; r < y1; r += j->d[0])                                               \
      for (int64_t q = x0; q < x1; q += j->d[1]) {                                           \
        R v = x[r * j->w + q];                                                               \
        if (v > best || v != v) best = v, k = r * j->w + q;                                  \
      }                                                                                      \
    *y = best, *at = k;                                                                      \
  }                                                                                          \
  static void max_pool_##R(void *ctx, int64_t lo, int64_t hi) {                              \
    const plane *j = ctx;                                                                    \
    bool quads = j->k[0] == 2 && j->k[1] == 2 && j->s[0] == 2 && j->s[1] == 2 && j->p[0] == 0 && \
                 j->p[1] == 0 && j->d[0] == 1 && j->d[1] == 1 && 2 * j->oh <= j->h &&        \
                 2 * j->ow <= j->w;                                                          \
    for (int64_t i = lo; i < hi; i++) {                                                      \
      const R *x = (const R *)j->in + i * j->h * j->w;                                       \
      R *y = (R *)j->out + i * j->oh * j->ow;                                                \
      int64_t *index = j->index + i * j->oh * j->ow;                                         \
      if (quads) max_quads_##R(j, x, y, index);                                              \
      else for (int64_t o = 0; o < j->oh * j->ow; o++)                                       \
        max_window_##R(j, x, o / j->ow, o % j->ow, y + o, index + o);                        \
    }                                                                                        \
  }
MAX_POOL(float, -INFINITY)
MAX_POOL(double, -INFINITY)
MAX_POOL(uint8_t, 0)
MAX_POOL(int8_t, INT8_MIN)
MAX_POOL(int16_t, INT16_MIN)
MAX_POOL(int32_t, INT32_MIN)
MAX_POOL(int64_t, INT64_MIN)

DL_KERNEL(max_pool2d_with_indices) {
  static const type_loops f = {{[DL_F32] = max_pool_float, [DL_F64] = max_pool_double,
    [DL_U8] = max_pool_uint8_t, [DL_I8] = max_pool_int8_t, [DL_I16] = max_pool_int16_t,
    [DL_I32] = max_pool_int32_t, [DL_I64] = max_pool_int64_t}};
  plane j = {.in = c->in[0].data, .out = c->out[0].data, .index = (int64_t *)c->out[1].data};
  two(&c->arg[1], j.k), two(c->arg[2].n ? &c->arg[2] : &c->arg[1], j.s);
  two(&c->arg[3], j.p), two(&c->arg[4], j.d);
  return run(&j, &f, &c->in[0], &c->out[0]);
}

#define MAX_BACK(R)                                                                          \
  static void max_back_##R(void *ctx, int64_t lo, int64_t hi) {                              \
    const plane *j = ctx;                                                                    \
    int64_t large = j->h * j->w, small = j->oh * j->ow;                                      \
    memset((R *)j->out + lo * large, 0, (size_t)((hi - lo) * large) * sizeof(R));            \
    for (int64_t i = lo; i < hi; i++) {                                                      \
      const R *g = (const R *)j->in + i * small;                                             \
      const int64_t *index = j->index + i * small;                                           \
      R *to = (R *)j->out + i * large;                                                       \
      for (int64_t o = 0; o < small; o++) to[index[o]] += g[o];                              \
    }                                                                                        \
  }
MAX_BACK(float)
MAX_BACK(double)

/* arg: grad, indices, input_size */
DL_KERNEL(max_pool2d_backward) {
  static const type_loops f = {{[DL_F32] = max_back_float, [DL_F64] = max_back_double}};
  plane j = {.in = c->in[0].data, .out = c->out[0].data, .index = (int64_t *)c->in[1].data};
  sizes(&j, &c->out[0], &c->in[0]);
  for (int64_t i = 0; i < c->in[1].numel; i++)
    if (j.index[i] < 0 || j.index[i] >= j.h * j.w)
      return dl_fail(DL_IndexError, DL_E_INDEX, "max_pool2d_backward: index %lld is out of range",
                     (long long)j.index[i]);
  return run(&j, &f, &c->out[0], &c->in[0]);
}

/* ---- mean ---------------------------------------------------------------------------------- */
typedef struct window { int64_t y0, y1, x0, x1, divisor; } window;

static window mean_window(const plane *j, int64_t oy, int64_t ox) {
  if (j->adaptive) {
    window v = {oy * j->h / j->oh, ((oy + 1) * j->h + j->oh - 1) / j->oh,
                ox * j->w / j->ow, ((ox + 1) * j->w + j->ow - 1) / j->ow, 0};
    v.divisor = (v.y1 - v.y0) * (v.x1 - v.x0);
    return v;
  }
  window v = {oy * j->s[0] - j->p[0], 0, ox * j->s[1] - j->p[1], 0, 0};
  v.y1 = smaller(v.y0 + j->k[0], j->h + j->p[0]), v.x1 = smaller(v.x0 + j->k[1], j->w + j->p[1]);
  int64_t padded = (v.y1 - v.y0) * (v.x1 - v.x0);
  v.y0 = v.y0 < 0 ? 0 : v.y0, v.x0 = v.x0 < 0 ? 0 : v.x0;
  v.y1 = smaller(v.y1, j->h), v.x1 = smaller(v.x1, j->w);
  int64_t inside = v.y1 > v.y0 && v.x1 > v.x0 ? (v.y1 - v.y0) * (v.x1 - v.x0) : 0;
  v.divisor = j->divisor ? j->divisor : j->count_pad ? padded : inside;
  if (!inside) v.divisor = 1; /* nothing to add: 0 */
  return v;
}

#define MEAN_POOL(R)                                                                         \
  static void mean_##R(void *ctx, int64_t lo, int64_t hi) {                                  \
    const plane *j = ctx;                                                                    \
    for (int64_t i = lo; i < hi; i++)                                                        \
      for (int64_t o = 0; o < j->oh * j->ow; o++) {                                          \
        const R *x = (const R *)j->in + i * j->h * j->w;                                     \
        window v = mean_window(j, o / j->ow, o % j->ow);                                     \
        R sum = 0;                                                                           \
        for (int64_t r = v.y0; r < v.y1; r++)                                                \
          for (int64_t q = v.x0; q < v.x1; q++) sum += x[r * j->w + q];                      \
        ((R *)j->out)[i * j->oh * j->ow + o] = sum / (R)v.divisor;                           \
      }                                                                                      \
  }
MEAN_POOL(float)
MEAN_POOL(double)
MEAN_POOL(int64_t)

#define MEAN_BACK(R)                                                                         \
  static void mean_back_##R(void *ctx, int64_t lo, int64_t hi) {                             \
    const plane *j = ctx;                                                                    \
    int64_t large = j->h * j->w;                                                             \
    memset((R *)j->out + lo * large, 0, (size_t)((hi - lo) * large) * sizeof(R));            \
    for (int64_t i = lo; i < hi; i++)                                                        \
      for (int64_t o = 0; o < j->oh * j->ow; o++) {                                          \
        R *to = (R *)j->out + i * large;                                                     \
        window v = mean_window(j, o / j->ow, o % j->ow);                                     \
        R g = ((const R *)j->in)[i * j->oh * j->ow + o] / (R)v.divisor;                      \
        for (int64_t r = v.y0; r < v.y1; r++)                                                \
          for (int64_t q = v.x0; q < v.x1; q++) to[r * j->w + q] += g;                       \
      }                                                                                      \
  }
MEAN_BACK(float)
MEAN_BACK(double)

static const type_loops mean_loops = {
    {[DL_F32] = mean_float, [DL_F64] = mean_double, [DL_I64] = mean_int64_t}};
static const type_loops mean_back_loops = {
    {[DL_F32] = mean_back_float, [DL_F64] = mean_back_double}};

/* a: kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override */
static plane mean_plane(const dl_arg *a, const dl_view *in, const dl_view *out) {
  plane j = {.in = in->data, .out = out->data, .count_pad = a[4].i};
  two(&a[0], j.k), two(a[1].n ? &a[1] : &a[0], j.s), two(&a[2], j.p);
  if (dl_arg_given(&a[5])) j.divisor = dl_arg_i(&a[5]);
  return j;
}

DL_KERNEL(avg_pool2d) {
  plane j = mean_plane(&c->arg[1], &c->in[0], &c->out[0]);
  return run(&j, &mean_loops, &c->in[0], &c->out[0]);
}

/* arg: grad, input_size, then as above */
DL_KERNEL(avg_pool2d_backward) {
  plane j = mean_plane(&c->arg[2], &c->in[0], &c->out[0]);
  return run(&j, &mean_back_loops, &c->out[0], &c->in[0]);
}

DL_KERNEL(_adaptive_avg_pool2d) {
  plane j = {.in = c->in[0].data, .out = c->out[0].data, .adaptive = true};
  return run(&j, &mean_loops, &c->in[0], &c->out[0]);
}

DL_KERNEL(_adaptive_avg_pool2d_backward) {
  plane j = {.in = c->in[0].data, .out = c->out[0].data, .adaptive = true};
  return run(&j, &mean_back_loops, &c->out[0], &c->in[0]);
}
