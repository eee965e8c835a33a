/* softmax.c -- softmax, log_softmax and their gradients along any dimension
 *
 * For table.c. Views are contiguous and of the compute dtype (KERNELC). Lines side by side are
 * taken BAND at a time, a single line in LANES interleaved lanes, joined by halves.
 *
 * INVARIANT  The bits depend on sizes alone. */
#include "lanes.h"
#include "lines.h"
#include "math32.h"

#include <math.h>

typedef struct soft_job {
  lines l;
  const void *x, *y;             /* input; or gradient and result */
  void *out;
} soft_job;

static inline float exp_f32(float v) { return dl_exp32(v); }
static inline float log_f32(float v) { return dl_log32(v); }
static inline double exp_f64(double v) { return exp(v); }
static inline double log_f64(double v) { return log(v); }

/* nan is left out: it comes back through the sum */
#define LARGER(a, b) ((b) > (a) ? (b) : (a))
/* Fold n elements of a line: each is EXPR of i, JOIN combines. */
#define LANE_FOLD(T, var, FIRST, JOIN, EXPR)                                        \
  T var;                                                                            \
  do {                                                                              \
    T lane[LANES];                                                                  \
    int w_ = lanes_for(n);                                                          \
    int64_t i0 = 0;                                                                 \
    for (int q = 0; q < w_; q++) lane[q] = FIRST;                                   \
    for (; i0 + LANES <= n; i0 += LANES)                                            \
      for (int q = 0; q < LANES; q++) {                                             \
        const int64_t i = i0 + q;                                                   \
        lane[q] = JOIN(lane[q], (EXPR));                                            \
      }                                                                             \
    for (int q = 0; q < n - i0; q++) {                                              \
      const int64_t i = i0 + q;                                                     \
      lane[q] = JOIN(lane[q], (EXPR));                                              \
    }                                                                               \
    for (w_ /= 2; w_ > 0; w_ /= 2)                                                  \
      for (int q = 0; q < w_; q++) lane[q] = JOIN(lane[q], lane[q + w_]);           \
    var = lane[0];                                                                  \
  } while (0)
#define PLUS(a, b) ((a) + (b))

#define SOFTMAX(t, T)                                                                              \
  static void soft_line_##t(const T *x, T *out, int64_t n) {                                       \
    LANE_FOLD(T, top, -INFINITY, LARGER, x[i]);                                                    \
    for (int64_t i = 0; i < n; i++) out[i] = exp_##t(x[i] - top);                                  \
    LANE_FOLD(T, sum, 0, PLUS, out[i]);                                                            \
    for (int64_t i = 0; i < n; i++) out[i] = out[i] / sum;                                         \
  }                                                                                                \
  static void log_line_##t(const T *x, T *out, int64_t n) {                                        \
    LANE_FOLD(T, top, -INFINITY, LARGER, x[i]);                                                    \
    LANE_FOLD(T, sum, 0, PLUS, exp_##t(x[i] - top));                                               \
    T by = log_##t(sum);                                                                           \
    for (int64_t i = 0; i < n; i++) out[i] = x[i] - top - by;                                      \
  }                                                                                                \
  /* `top` and `sum` of w lines side by side, rows `s` apart */                                    \
  static void band_sums_##t(const T *x, int64_t n, int64_t s, int64_t w, T *top, T *sum) {         \
    for (int64_t k = 0; k < w; k++) top[k] = -INFINITY, sum[k] = 0;                                \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) top[k] = LARGER(top[k], x[r * s + k]);                       \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) sum[k] += exp_##t(x[r * s + k] - top[k]);                    \
  }                                                                                                \
  static void soft_band_##t(const T *x, T *out, int64_t n, int64_t s, int64_t w) {                 \
    T top[BAND], sum[BAND];                                                                        \
    band_sums_##t(x, n, s, w, top, sum);                                                           \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) out[r * s + k] = exp_##t(x[r * s + k] - top[k]) / sum[k];    \
  }                                                                                                \
  static void log_band_##t(const T *x, T *out, int64_t n, int64_t s, int64_t w) {                  \
    T top[BAND], sum[BAND];                                                                        \
    band_sums_##t(x, n, s, w, top, sum);                                                           \
    for (int64_t k = 0; k < w; k++) sum[k] = log_##t(sum[k]);                                      \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) out[r * s + k] = x[r * s + k] - top[k] - sum[k];             \
  }                                                                                                \
  /* gradients: g comes in, y is the result */                                                     \
  static void soft_back_line_##t(const T *g, const T *y, T *out, int64_t n) {                      \
    LANE_FOLD(T, dot, 0, PLUS, g[i] * y[i]);                                                       \
    for (int64_t i = 0; i < n; i++) out[i] = (g[i] - dot) * y[i];                                  \
  }                                                                                                \
  static void log_back_line_##t(const T *g, const T *y, T *out, int64_t n) {                       \
    LANE_FOLD(T, sum, 0, PLUS, g[i]);                                                              \
    for (int64_t i = 0; i < n; i++) out[i] = g[i] - exp_##t(y[i]) * sum;                           \
  }                                                                                                \
  static void soft_back_band_##t(const T *g, const T *y, T *out, int64_t n, int64_t s,             \
                                 int64_t w) {                                                      \
    T dot[BAND] = {0};                                                                             \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) dot[k] += g[r * s + k] * y[r * s + k];                       \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) out[r * s + k] = (g[r * s + k] - dot[k]) * y[r * s + k];     \
  }                                                                                                \
  static void log_back_band_##t(const T *g, const T *y, T *out, int64_t n, int64_t s, int64_t w) { \
    T sum[BAND] = {0};                                                                             \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++) sum[k] += g[r * s + k];                                      \
    for (int64_t r = 0; r < n; r++)                                                                \
      for (int64_t k = 0; k < w; k++)                                                              \
        out[r * s + k] = g[r * s + k] - exp_##t(y[r * s + k]) * sum[k];                            \
  }                                                                                                \
  FORWARD(soft, t, T)                                                                              \
  FORWARD(log, t, T)                                                                               \
  BACKWARD(soft, t, T)                                                                             \
  BACKWARD(log, t, T)
#define FORWARD(kind, t, T)                                                         \
  static void kind##_pieces_##t(void *ctx, int64_t lo, int64_t hi) {                \
    const soft_job *j = ctx;                                                        \
    for (int64_t i = lo; i < hi; i++) {                                             \
      int64_t w, at = lines_piece(&j->l, i, &w);                                    \
      const T *x = (const T *)j->x + at;                                            \
      T *out = (T *)j->out + at;                                                    \
      if (j->l.inner == 1) kind##_line_##t(x, out, j->l.n);                         \
      else kind##_band_##t(x, out, j->l.n, j->l.inner, w);                          \
    }                                                                               \
  }
#define BACKWARD(kind, t, T)                                                        \
  static void kind##_back_pieces_##t(void *ctx, int64_t lo, int64_t hi) {           \
    const soft_job *j = ctx;                                                        \
    for (int64_t i = lo; i < hi; i++) {                                             \
      int64_t w, at = lines_piece(&j->l, i, &w);                                    \
      const T *g = (const T *)j->x + at, *y = (const T *)j->y + at;                 \
      T *out = (T *)j->out + at;                                                    \
      if (j->l.inner == 1) kind##_back_line_##t(g, y, out, j->l.n);                 \
      else kind##_back_band_##t(g, y, out, j->l.n, j->l.inner, w);                  \
    }                                                                               \
  }
SOFTMAX(f32, float)
SOFTMAX(f64, double)

typedef void (*soft_fn)(void *ctx, int64_t lo, int64_t hi);
static dl_status run(dl_kcall *c, int dim_at, soft_fn f32, soft_fn f64) {
  soft_job j = {lines_of(&c->out[0], dl_arg_i(&c->arg[dim_at])), c->in[0].data, c->in[1].data,
                c->out[0].data};
  if (c->out[0].numel == 0) return DL_OK;
  return dl_parallel(lines_pieces(&j.l), lines_grain(&j.l), c->compute == DL_F64 ? f64 : f32, &j);
}
DL_KERNEL(_softmax) { return run(c, 1, soft_pieces_f32, soft_pieces_f64); }
DL_KERNEL(_log_softmax) { return run(c, 1, log_pieces_f32, log_pieces_f64); }
DL_KERNEL(_softmax_backward) { return run(c, 2, soft_back_pieces_f32, soft_back_pieces_f64); }
DL_KERNEL(_log_softmax_backward) { return run(c, 2, log_back_pieces_f32, log_back_pieces_f64); }
