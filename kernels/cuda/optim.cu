/* optim.cu -- one optimizer step on one parameter: a single pass over its memory
 *
 * The arithmetic and its order are those of kernels/cpu/optim.c, fused multiply-adds included. The
 * parameter and its buffers change in place; 16-bit ones are worked on in float and rounded once.
 *
 * INVARIANT  Numbers given in double are rounded to the arithmetic's type before use.
 * SOURCE     torch/optim/{sgd,adam}.py; ATen/native/cuda/{fused_adam_impl,FusedSgdKernel}.cu
 * MUST NOT   know tensors. */
#include "pack.h"

#include <math.h>

enum { P, G, M, V, X, BUFS }; /* parameter, gradient, first buffer, second, largest second */

struct buffers { void *at[BUFS]; }; /* dense, same order of elements; NULL = not used */

/* ---- one element: x[] are its parameter, gradient and buffers ------------------------------- */
template <class C> __device__ C gradient(const C *x, bool maximize, C decay) {
  C g = maximize ? -x[G] : x[G];
  return decay != 0 ? dl_mad(x[P], decay, g) : g;
}

template <class C> struct sgd {
  C lr, decay, momentum, keep;   /* lr < 0; keep = 1 - dampening */
  bool buffer, nesterov, maximize, first;

  __device__ void operator()(C *x) const {
    C g = gradient(x, maximize, decay);
    if (buffer) {
      x[M] = first ? g : dl_mad(g, keep, x[M] * momentum);
      g = nesterov ? dl_mad(x[M], momentum, g) : x[M];
    }
    x[P] = dl_mad(g, lr, x[P]);
  }
};

DL_FN float root(float x) { return sqrtf(x); }
DL_FN double root(double x) { return sqrt(x); }

template <class C> struct adam {
  C decay, shrink, w1, w2, b2, eps, size, bias; /* bias = sqrt(1 - beta2^t) */
  bool decoupled, largest, maximize, near;      /* near: which of lerp's two forms */

  __device__ void operator()(C *x) const {
    C g = gradient(x, maximize, decay);
    if (decoupled) x[P] *= shrink;
    x[M] = near ? dl_mad(w1, g - x[M], x[M]) : dl_mad(w1 - 1, g - x[M], g);
    x[V] = dl_mad(w2 * g, g, x[V] * b2);
    C second = x[V];
    if (largest) second = x[X] = second > x[X] || second != second ? second : x[X];
    x[P] += size * x[M] / (root(second) / bias + eps);
  }
};

/* ---- four elements a thread, then what is left over one by one ------------------------------- */
template <class C, class S>
DL_FN void step_one(const S &step, int dtype, const buffers &b, int64_t i) {
  C x[BUFS];
  DL_UNROLL
  for (int k = 0; k < BUFS; k++) x[k] = b.at[k] ? dl_num_get(dtype, b.at[k], i, C()) : C(0);
  step(x);
  DL_UNROLL
  for (int k = 0; k < BUFS; k++)
    if (b.at[k] && k != G) dl_num_put(dtype, b.at[k], i, x[k]);
}

template <class S> DL_FN void step_four(const S &step, int dtype, const buffers &b, int64_t i) {
  dl_four raw[BUFS];
  float v[BUFS][DL_FOUR] = {};
  int size = dtype == DL_F32 ? 4 : 2;
  DL_UNROLL
  for (int k = 0; k < BUFS; k++)
    if (b.at[k]) raw[k] = dl_four_read(dtype, b.at[k], i);
  DL_UNROLL
  for (int k = 0; k < BUFS; k++)
    if (b.at[k]) dl_four_open(raw[k], dtype, v[k]);
  DL_UNROLL
  for (int e = 0; e < DL_FOUR; e++) {
    float x[BUFS];
    DL_UNROLL
    for (int k = 0; k < BUFS; k++) x[k] = v[k][e];
    step(x);
    DL_UNROLL
    for (int k = 0; k < BUFS; k++) v[k][e] = x[k];
  }
  DL_UNROLL
  for (int k = 0; k < BUFS; k++)
    if (b.at[k] && k != G) dl_four_write(static_cast<char *>(b.at[k]) + i * size, dtype, v[k]);
}

/* packs: of four elements; those after them are single. */
template <class C, class S>
__global__ void run_steps(S step, int dtype, buffers b, int64_t packs, int64_t count) {
  DL_EACH(i, count) {
    if constexpr (sizeof(C) == 4) {
      if (i < packs) {
        step_four(step, dtype, b, i * DL_FOUR);
        continue;
      }
    }
    step_one<C>(step, dtype, b, packs * DL_FOUR + i - packs);
  }
}

template <class C, class S>
static void launch(const S &step, int dtype, const buffers &b, int64_t n, void *stream) {
  bool aligned = sizeof(C) == 4;
  for (int k = 0; k < BUFS; k++)
    aligned = aligned && dl_is_aligned(b.at[k], (size_t)(DL_FOUR * dl_dtypes[dtype].size));
  int64_t packs = aligned ? n / DL_FOUR : 0, count = packs + n - packs * DL_FOUR;
  DL_LAUNCH_EACH((run_steps<C, S>), count, stream, step, dtype, b, packs, count);
}

/* ---- layout --------------------------------------------------------------------------------- */
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

/* Step on the buffers where they lie, or on row-major copies of the arithmetic's type. */
template <class C, class S>
static dl_status apply(const S &step, const dl_view *const *v, int compute, void *stream) {
  buffers b = {};
  int dtype = v[P]->dtype;
  bool direct = is_dense(v[P]);
  for (int k = 0; k < BUFS; k++) {
    if (v[k]->dtype == DL_NODTYPE) continue;
    b.at[k] = v[k]->data;
    direct = direct && v[k]->dtype == dtype && same_order(v[P], v[k]);
  }
  if (v[P]->numel == 0) return DL_OK;
  if (direct) {
    launch<C>(step, dtype, b, v[P]->numel, stream);
    return DL_OK;
  }
  dl_cu_view own[BUFS];
  for (int k = 0; k < BUFS; k++) {
    if (!b.at[k]) continue;
    DL_TRY(dl_cu_like(v[k], compute, stream, &own[k]));
    DL_TRY(dl_cu_copy(&own[k].v, v[k], stream));
    b.at[k] = own[k].v.data;
  }
  launch<C>(step, compute, b, v[P]->numel, stream);
  for (int k = 0; k < BUFS; k++)
    if (b.at[k] && k != G) DL_TRY(dl_cu_copy(v[k], &own[k].v, stream));
  return DL_OK;
}

/* ---- rows ----------------------------------------------------------------------------------- */
static const dl_view none = {nullptr, DL_NODTYPE, 0, 0, nullptr, nullptr};

template <class C> static sgd<C> sgd_of(const dl_arg *a, bool buffer) {
  sgd<C> s;
  s.lr = (C)-dl_arg_f(&a[3]), s.decay = (C)dl_arg_f(&a[4]), s.momentum = (C)dl_arg_f(&a[5]);
  s.keep = (C)(1 - dl_arg_f(&a[6]));
  s.buffer = buffer, s.nesterov = a[7].i, s.maximize = a[8].i, s.first = a[9].i;
  return s;
}

/* arg: param, grad, buf, lr, weight_decay, momentum, dampening, nesterov, maximize, first */
DL_CUDA(sgd_step) {
  const dl_view *v[BUFS] = {&c->out[0], &c->in[1], &c->in[2], &none, &none};
  bool buffer = c->in[2].dtype != DL_NODTYPE;
  if (c->out[0].dtype == DL_F64)
    return apply<double>(sgd_of<double>(c->arg, buffer), v, DL_F64, stream);
  return apply<float>(sgd_of<float>(c->arg, buffer), v, DL_F32, stream);
}

template <class C> static adam<C> adam_of(const dl_arg *a, bool largest) {
  adam<C> s;
  double lr = dl_arg_f(&a[5]), b1 = dl_arg_f(&a[6]), b2 = dl_arg_f(&a[7]), decay = dl_arg_f(&a[9]);
  double t = (double)dl_arg_i(&a[12]);
  s.eps = (C)dl_arg_f(&a[8]);
  s.decoupled = a[10].i && decay != 0, s.maximize = a[11].i, s.largest = largest;
  s.decay = a[10].i ? 0 : (C)decay, s.shrink = (C)(1 - lr * decay);
  s.w1 = (C)(1 - b1), s.w2 = (C)(1 - b2), s.b2 = (C)b2, s.near = fabs(1 - b1) < 0.5;
  s.size = (C)(-(lr / (1 - pow(b1, t)))), s.bias = (C)sqrt(1 - pow(b2, t));
  return s;
}

/* arg: param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, lr, beta1, beta2, eps, weight_decay,
 * decoupled, maximize, step */
DL_CUDA(adam_step) {
  const dl_view *v[BUFS] = {&c->out[0], &c->in[1], &c->in[2], &c->in[3], &c->in[4]};
  bool largest = c->in[4].dtype != DL_NODTYPE;
  if (c->out[0].dtype == DL_F64)
    return apply<double>(adam_of<double>(c->arg, largest), v, DL_F64, stream);
  return apply<float>(adam_of<float>(c->arg, largest), v, DL_F32, stream);
}
