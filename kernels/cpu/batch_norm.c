/* batch_norm.c -- kernels of batch normalisation, forward and gradient
 *
 * Input (n, channels, inner…), contiguous. Statistics are summed in double, a channel at a time.
 *
 *     y = (x - mean) * invstd * weight + bias
 *     running = (1 - momentum) * running + momentum * batch   (variance over n - 1)
 *
 * INVARIANT  A channel belongs to one thread: sums do not depend on the number of threads.
 * SOURCE     ATen/native/Normalization.cpp, cpu/batch_norm_kernel.cpp.
 * MUST NOT   know tensors. */
#include "kernel.h"

#include <math.h>

typedef struct norm {
  const char *x, *g, *w, *b;         /* input, gradient, weight, bias; NULL = not given */
  char *rm, *rv, *mean, *inv;        /* running and saved statistics */
  char *y, *gw, *gb;
  int64_t n, channels, inner;
  double momentum, eps;
  bool training, wide;               /* wide: double */
} norm;

static double get(const norm *j, const char *v, int64_t k) {
  return j->wide ? ((const double *)v)[k] : (double)((const float *)v)[k];
}

static void set(const norm *j, char *v, int64_t k, double x) {
  if (j->wide) ((double *)v)[k] = x;
  else ((float *)v)[k] = (float)x;
}

static void sizes(norm *j, const dl_view *x) {
  j->n = x->size[0];
  j->channels = x->ndim > 1 ? x->size[1] : 0;
  j->inner = 1;
  for (int d = 2; d < x->ndim; d++) j->inner *= x->size[d];
}

static char *given(const dl_view *v) { return v->dtype == DL_NODTYPE ? NULL : v->data; }

#define ADD_TERM(at, lane, EXPR) {                                                           \
    double x = x_[at], g = g_[at];                                                           \
    (void)x, (void)g;                                                                        \
    s_[lane] += EXPR;                                                                        \
  }

/* Sum of EXPR(x[i], g[i]) over one run of `inner` elements, in four lanes. */
#define SUM(R, i0, EXPR) do {                                                                \
    const R *x_ = (const R *)j->x + (i0), *g_ = j->g ? (const R *)j->g + (i0) : x_;          \
    double s_[4] = {0};                                                                      \
    int64_t i_ = 0;                                                                          \
    (void)g_;                                                                                \
    for (; i_ + 4 <= j->inner; i_ += 4)                                                      \
      for (int l_ = 0; l_ < 4; l_++) ADD_TERM(i_ + l_, l_, EXPR)                             \
    for (; i_ < j->inner; i_++) ADD_TERM(i_, 0, EXPR)                                        \
    sum += (s_[0] + s_[1]) + (s_[2] + s_[3]);                                                \
  } while (0)

/* The same over a whole channel. */
#define CHANNEL_SUM(name, EXPR)                                                              \
  static double name(const norm *j, int64_t c, double mean) {                                \
    double sum = 0;                                                                          \
    (void)mean;                                                                              \
    for (int64_t b = 0; b < j->n; b++) {                                                     \
      int64_t i0 = (b * j->channels + c) * j->inner;                                         \
      if (j->wide) SUM(double, i0, EXPR);                                                    \
      else SUM(float, i0, EXPR);                                                             \
    }                                                                                        \
    return sum;                                                                              \
  }
CHANNEL_SUM(sum_x, x)
CHANNEL_SUM(sum_squares, ((x - mean) * (x - mean)))
CHANNEL_SUM(sum_g, g)
CHANNEL_SUM(sum_gx, (g * (x - mean)))

/* y = p * x + q * g + r over one channel */
#define AFFINE(R)                                                                            \
  static void affine_##R(const norm *j, int64_t c, R p, R q, R r) {                          \
    for (int64_t b = 0; b < j->n; b++) {                                                     \
      int64_t i0 = (b * j->channels + c) * j->inner;                                         \
      const R *x = (const R *)j->x + i0, *g = (const R *)j->g + i0;                          \
      R *y = (R *)j->y + i0;                                                                 \
      if (j->g) for (int64_t i = 0; i < j->inner; i++) y[i] = p * x[i] + q * g[i] + r;       \
      else for (int64_t i = 0; i < j->inner; i++) y[i] = p * x[i] + r;                       \
    }                                                                                        \
  }
AFFINE(float)
AFFINE(double)

static void affine(const norm *j, int64_t c, double p, double q, double r) {
  if (j->wide) affine_double(j, c, p, q, r);
  else affine_float(j, c, (float)p, (float)q, (float)r);
}

static void update(const norm *j, int64_t c, double mean, double squares, double count) {
  double m = j->momentum;
  if (j->rm) set(j, j->rm, c, m * mean + (1 - m) * get(j, j->rm, c));
  if (j->rv) set(j, j->rv, c, m * (squares / (count - 1)) + (1 - m) * get(j, j->rv, c));
}

static void forward(void *ctx, int64_t lo, int64_t hi) {
  const norm *j = ctx;
  double count = (double)(j->n * j->inner);
  for (int64_t c = lo; c < hi; c++) {
    double mean, inv;
    if (j->training) {
      mean = sum_x(j, c, 0) / count;
      double squares = sum_squares(j, c, mean);
      inv = 1 / sqrt(squares / count + j->eps);
      update(j, c, mean, squares, count);
      set(j, j->mean, c, mean), set(j, j->inv, c, inv);
    } else {
      mean = get(j, j->rm, c);
      inv = 1 / sqrt(get(j, j->rv, c) + j->eps);
    }
    double p = inv * (j->w ? get(j, j->w, c) : 1);
    affine(j, c, p, 0, (j->b ? get(j, j->b, c) : 0) - mean * p);
  }
}

static dl_status run(norm *j, void (*fn)(void *, int64_t, int64_t)) {
  if (j->n * j->inner == 0) return DL_OK;
  return dl_parallel(j->channels, 16384 / (j->n * j->inner) + 1, fn, j);
}

/* arg: input, weight, bias, running_mean, running_var, training, momentum, eps */
DL_KERNEL(native_batch_norm) {
  norm j = {.x = c->in[0].data, .w = given(&c->in[1]), .b = given(&c->in[2]),
            .rm = given(&c->in[3]), .rv = given(&c->in[4]),
            .y = c->out[0].data, .mean = c->out[1].data, .inv = c->out[2].data,
            .training = c->arg[5].i, .momentum = dl_arg_f(&c->arg[6]), .eps = dl_arg_f(&c->arg[7]),
            .wide = c->compute == DL_F64};
  sizes(&j, &c->in[0]);
  if (j.n * j.inner == 0 && j.training)
    for (int64_t k = 0; k < j.channels; k++) set(&j, j.mean, k, 0), set(&j, j.inv, k, 0);
  return run(&j, forward);
}

/* Training: gi = invstd w (g - mean(g) - xhat mean(g xhat)); else gi = invstd w g. */
static void backward(void *ctx, int64_t lo, int64_t hi) {
  const norm *j = ctx;
  double count = (double)(j->n * j->inner);
  for (int64_t c = lo; c < hi; c++) {
    double mean = j->training ? get(j, j->mean, c) : get(j, j->rm, c);
    double inv = j->training ? get(j, j->inv, c) : 1 / sqrt(get(j, j->rv, c) + j->eps);
    double w = j->w ? get(j, j->w, c) : 1, sg = sum_g(j, c, 0), sgx = sum_gx(j, c, mean);
    set(j, j->gw, c, sgx * inv), set(j, j->gb, c, sg);
    double slope = j->training ? -sgx * inv * inv * inv * w / count : 0; /* factor of x - mean */
    affine(j, c, slope, inv * w, j->training ? -inv * w * sg / count - slope * mean : 0);
  }
}

/* arg: grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps */
DL_KERNEL(native_batch_norm_backward) {
  norm j = {.g = c->in[0].data, .x = c->in[1].data, .w = given(&c->in[2]), .rm = given(&c->in[3]),
            .rv = given(&c->in[4]), .mean = given(&c->in[5]), .inv = given(&c->in[6]),
            .y = c->out[0].data, .gw = c->out[1].data, .gb = c->out[2].data,
            .training = c->arg[7].i, .eps = dl_arg_f(&c->arg[8]), .wide = c->compute == DL_F64};
  sizes(&j, &c->in[1]);
  if (j.n * j.inner == 0)
    for (int64_t k = 0; k < j.channels; k++) set(&j, j.gw, k, 0), set(&j, j.gb, k, 0);
  return run(&j, backward);
}
