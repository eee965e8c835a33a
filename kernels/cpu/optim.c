/* optim.c -- one optimizer step on one parameter: a single pass over its memory
 *
 * The arithmetic and its order are those of torch.optim's one-tensor functions, fused multiply-adds
 * included, so that a run gives PyTorch's losses. The parameter and its buffers change in place.
 *
 * INVARIANT  Numbers given in double are rounded to the parameter's type before use.
 * SOURCE     torch/optim/{sgd,adam}.py; ATen/native/cpu/{BinaryOps,Lerp,PointwiseOps}Kernel.cpp
 * MUST NOT   know tensors. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define GRAIN 65536 /* elements: below, one thread */
#define BLOCK 512   /* elements worked on at a time: they stay in the first cache */

/* Where the CPU multiplies and adds in one rounding, PyTorch's builds do so too. */
#if defined(__FMA__) || defined(__aarch64__)
#define FMA_float(a, b, c) __builtin_fmaf(a, b, c)
#define FMA_double(a, b, c) __builtin_fma(a, b, c)
#else
#define FMA_float(a, b, c) ((a) * (b) + (c))
#define FMA_double(a, b, c) ((a) * (b) + (c))
#endif
#define SQRT_float(x) __builtin_sqrtf(x)
#define SQRT_double(x) __builtin_sqrt(x)

enum { P, G, M, V, X, BUFS }; /* parameter, gradient, first buffer, second, largest second */

typedef struct step {
  void *at[BUFS]; /* dense, same order of elements; NULL = not used */
  double lr, decay, b1, b2, eps, bias1, bias2;
  bool nesterov, maximize, first, decoupled;
} step;

/* g = gradient, with sign and L2 penalty */
#define GRADIENT(R)                                                                          \
  const R *from = (const R *)s->at[G] + i0;                                                  \
  R g[BLOCK], *p = (R *)s->at[P] + i0;                                                       \
  if (s->maximize) for (int i = 0; i < n; i++) g[i] = -from[i];                              \
  else memcpy(g, from, (size_t)n * sizeof(R));                                               \
  if (decay != 0) for (int i = 0; i < n; i++) g[i] = FMA_##R(p[i], decay, g[i]);

#define SGD(R)                                                                               \
  static void sgd_##R(void *ctx, int64_t lo, int64_t hi) {                                   \
    const step *s = ctx;                                                                     \
    const R lr = (R)-s->lr, decay = (R)s->decay, mom = (R)s->b1, keep = (R)s->b2;            \
    for (int64_t i0 = lo; i0 < hi; i0 += BLOCK) {                                            \
      int n = hi - i0 < BLOCK ? (int)(hi - i0) : BLOCK;                                      \
      GRADIENT(R)                                                                            \
      if (s->at[M]) {                                                                        \
        R *m = (R *)s->at[M] + i0;                                                           \
        if (s->first) memcpy(m, g, (size_t)n * sizeof(R));                                   \
        else for (int i = 0; i < n; i++) m[i] = FMA_##R(g[i], keep, m[i] * mom);             \
        if (s->nesterov) for (int i = 0; i < n; i++) g[i] = FMA_##R(m[i], mom, g[i]);        \
        else memcpy(g, m, (size_t)n * sizeof(R));                                            \
      }                                                                                      \
      for (int i = 0; i < n; i++) p[i] = FMA_##R(g[i], lr, p[i]);                            \
    }                                                                                        \
  }
SGD(float)
SGD(double)

#define ADAM(R)                                                                              \
  static void adam_##R(void *ctx, int64_t lo, int64_t hi) {                                  \
    const step *s = ctx;                                                                     \
    const R decay = s->decoupled ? 0 : (R)s->decay, b2 = (R)s->b2, eps = (R)s->eps;          \
    const R shrink = (R)(1 - s->lr * s->decay), w1 = (R)(1 - s->b1), w2 = (R)(1 - s->b2);    \
    const R size = (R)(-(s->lr / s->bias1)), root = (R)sqrt(s->bias2);                       \
    const bool near = fabs(1 - s->b1) < 0.5; /* lerp's two forms */                          \
    for (int64_t i0 = lo; i0 < hi; i0 += BLOCK) {                                            \
      int n = hi - i0 < BLOCK ? (int)(hi - i0) : BLOCK;                                      \
      GRADIENT(R)                                                                            \
      R *m = (R *)s->at[M] + i0, *v = (R *)s->at[V] + i0;                                    \
      if (s->decoupled && s->decay != 0) for (int i = 0; i < n; i++) p[i] *= shrink;         \
      if (near) for (int i = 0; i < n; i++) m[i] = FMA_##R(w1, g[i] - m[i], m[i]);           \
      else for (int i = 0; i < n; i++) m[i] = FMA_##R(w1 - 1, g[i] - m[i], g[i]);            \
      for (int i = 0; i < n; i++) v[i] = FMA_##R(w2 * g[i], g[i], v[i] * b2);                \
      const R *second = v;                                                                   \
      if (s->at[X]) {                                                                        \
        R *x = (R *)s->at[X] + i0;                                                           \
        for (int i = 0; i < n; i++) x[i] = v[i] > x[i] || v[i] != v[i] ? v[i] : x[i];        \
        second = x;                                                                          \
      }                                                                                      \
      for (int i = 0; i < n; i++) {                                                          \
        R denom = SQRT_##R(second[i]) / root + eps;                                          \
        p[i] += size * m[i] / denom;                                                         \
      }                                                                                      \
    }                                                                                        \
  }
ADAM(float)
ADAM(double)

/* ---- layout -------------------------------------------------------------------------------- */
/* Do a and b lie in memory in the same dense order? */
static bool same_order(const dl_view *a, const dl_view *b) {
  for (int d = 0; d < a->ndim; d++)
    if (a->size[d] != 1 && a->stride[d] != b->stride[d]) return false;
  return true;
}

static bool is_dense(const dl_view *v) {
  int64_t span = 1;
  for (int d = 0; d < v->ndim; d++) {
    if (v->stride[d] < 0) return false;
    span += (v->size[d] - 1) * v->stride[d];
  }
  return span == v->numel; /* no holes; and views of parameters never overlap themselves */
}

typedef struct buffers {
  dl_view v[BUFS], own[BUFS]; /* as given; as the loop sees it */
  void *mem[BUFS];
  int64_t stride[DL_MAXDIM];
  size_t nbytes;
} buffers;

/* Row-major copies in the working type, for layouts and types the loop does not take. */
static dl_status gather(buffers *b, step *s, dl_dtype w) {
  dl_strides_contig(b->v[P].ndim, b->v[P].size, b->stride);
  b->nbytes = (size_t)b->v[P].numel * dl_dtype_size(w);
  for (int k = 0; k < BUFS; k++) {
    if (b->v[k].dtype == DL_NODTYPE) continue;
    DL_TRY(dl_scratch(b->nbytes, &b->mem[k]));
    b->own[k] = b->v[k];
    b->own[k].data = b->mem[k], b->own[k].dtype = (uint8_t)w, b->own[k].stride = b->stride;
    dl_copy_view(&b->own[k], &b->v[k]);
    s->at[k] = b->mem[k];
  }
  return DL_OK;
}

static void scatter(buffers *b, bool ok) {
  for (int k = 0; k < BUFS; k++) {
    if (!b->mem[k]) continue;
    if (ok && k != G) dl_copy_view(&b->v[k], &b->own[k]);
    dl_scratch_free(b->mem[k], b->nbytes);
  }
}

typedef void (*loop)(void *ctx, int64_t lo, int64_t hi);

static dl_status run(buffers *b, step *s, loop f32, loop f64) {
  const dl_view *p = &b->v[P];
  if (p->numel == 0) return DL_OK;
  dl_dtype w = p->dtype == DL_F64 ? DL_F64 : DL_F32;
  bool direct = is_dense(p);
  for (int k = 0; k < BUFS; k++) {
    if (b->v[k].dtype == DL_NODTYPE) continue;
    s->at[k] = b->v[k].data;
    direct = direct && b->v[k].dtype == w && same_order(p, &b->v[k]);
  }
  dl_status st = direct ? DL_OK : gather(b, s, w);
  if (st == DL_OK) st = dl_parallel(p->numel, GRAIN, w == DL_F64 ? f64 : f32, s);
  if (!direct) scatter(b, st == DL_OK);
  return st;
}

/* arg: param, grad, buf, lr, weight_decay, momentum, dampening, nesterov, maximize, first */
DL_KERNEL(sgd_step) {
  const dl_arg *a = c->arg;
  dl_view none = {.dtype = DL_NODTYPE};
  buffers b = {.v = {c->out[0], c->in[1], c->in[2], none, none}};
  step s = {.lr = dl_arg_f(&a[3]), .decay = dl_arg_f(&a[4]), .b1 = dl_arg_f(&a[5]),
            .b2 = 1 - dl_arg_f(&a[6]), .nesterov = a[7].i, .maximize = a[8].i, .first = a[9].i};
  return run(&b, &s, sgd_float, sgd_double);
}

/* arg: param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, lr, beta1, beta2, eps, weight_decay,
 * decoupled, maximize, step */
DL_KERNEL(adam_step) {
  const dl_arg *a = c->arg;
  buffers b = {.v = {c->out[0], c->in[1], c->in[2], c->in[3], c->in[4]}};
  step s = {.lr = dl_arg_f(&a[5]),
            .b1 = dl_arg_f(&a[6]),
            .b2 = dl_arg_f(&a[7]),
            .eps = dl_arg_f(&a[8]),
            .decay = dl_arg_f(&a[9]),
            .decoupled = a[10].i,
            .maximize = a[11].i};
  double t = (double)dl_arg_i(&a[12]);
  s.bias1 = 1 - pow(s.b1, t), s.bias2 = 1 - pow(s.b2, t);
  return run(&b, &s, adam_float, adam_double);
}
