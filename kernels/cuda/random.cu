/* random.cu -- tensors of random numbers, drawn as PyTorch draws them on a CUDA device
 *
 * For table.cu. Thread t of the grid makes four numbers (two wide ones) of each Philox word group;
 * number i of round r is element t + threads * (per * r + i), in row-major order.
 *
 * SOURCE     ATen/native/cuda/DistributionTemplates.h; curand_uniform.h, curand_normal.h.
 * INVARIANT  The numbers follow from (seed, offset, n, the card); the offset goes on by what
 *            PyTorch's launch of that size takes. */
#include "geo.h"
#include "order.h"

struct law {
  double a, b;                   /* bounds, mean and std, rate, probability */
  int64_t base;
  uint64_t range;                /* of integers; 0: 2^64 */
  const void *prob;              /* probabilities, one an element */
  int dprob;
  dl_cuda_fault *fault;
};

struct draw_call { void *out; int dtype; uint64_t seed, offset; law l; };

/* ---- words -> numbers: N of them from four words --------------------------------------------- */
struct uniforms {
  typedef float V;
  enum { N = 4 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    DL_UNROLL for (int i = 0; i < 4; i++) v[i] = dl_philox_uniform(w.x[i]);
  }
};
struct wide_uniforms {
  typedef double V;
  enum { N = 2 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    DL_UNROLL for (int i = 0; i < 2; i++) v[i] = dl_philox_uniform64(w.x[2 * i], w.x[2 * i + 1]);
  }
};

DL_FN void sine_and_cosine(float x, float *s, float *k) {
#ifdef __CUDA_ARCH__
  __sincosf(x, s, k);            /* as cuRAND */
#else
  *s = sinf(x);
  *k = cosf(x);
#endif
}
DL_FN void sine_and_cosine_of_turns(double t, double *s, double *k) {
#ifdef __CUDA_ARCH__
  sincospi(2.0 * t, s, k);
#else
  *s = sin(t * 2.0 * 3.14159265358979323846);
  *k = cos(t * 2.0 * 3.14159265358979323846);
#endif
}

struct normals {
  typedef float V;
  enum { N = 4 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    DL_UNROLL for (int i = 0; i < 4; i += 2) {
      float s, k, r = DL_SQRT32(-2.0f * logf(dl_philox_uniform(w.x[i])));
      sine_and_cosine(dl_philox_angle(w.x[i + 1]), &s, &k);
      v[i] = s * r;
      v[i + 1] = k * r;
    }
  }
};
struct wide_normals {
  typedef double V;
  enum { N = 2 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    double u = dl_philox_uniform64(w.x[0], w.x[1]), t = dl_philox_uniform64(w.x[2], w.x[3]);
    double s, k, r = DL_SQRT64(-2.0 * log(u));
    sine_and_cosine_of_turns(t, &s, &k);
    v[0] = s * r;
    v[1] = k * r;
  }
};
struct words {
  typedef uint64_t V;
  enum { N = 4 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    DL_UNROLL for (int i = 0; i < 4; i++) v[i] = w.x[i];
  }
};
struct wide_words {
  typedef uint64_t V;
  enum { N = 2 };
  static __device__ void make(const dl_philox4 &w, V *v) {
    DL_UNROLL for (int i = 0; i < 2; i++) v[i] = (uint64_t)w.x[2 * i] << 32 | w.x[2 * i + 1];
  }
};

/* ---- numbers -> elements --------------------------------------------------------------------- */
DL_FN float scaled(float v, double by, double from) { return DL_FMA(v, (float)by, (float)from); }
DL_FN double scaled(double v, double by, double from) { return fma(v, by, from); }
DL_FN float gap(float, const law &l) { return (float)l.b - (float)l.a; }
DL_FN double gap(double, const law &l) { return l.b - l.a; }

/* (0, 1] becomes [a, b): a result equal to b becomes a. */
struct put_uniform {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v, int64_t) {
    dl_put(p.dtype, p.out, i, scaled(v, gap(v, p.l), p.l.a));
    V got = dl_get<V>(p.dtype, p.out, i);
    if (got == rounded(p.dtype, (V)p.l.b)) dl_put(p.dtype, p.out, i, (V)p.l.a);
  }
  template <class V> static __device__ V rounded(int dtype, V v) {
    uint64_t room = 0;
    dl_put(dtype, &room, 0, v);
    return dl_get<V>(dtype, &room, 0);
  }
};
struct put_normal {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v, int64_t) {
    dl_put(p.dtype, p.out, i, scaled(v, p.l.b, p.l.a));
  }
};
struct put_integer {
  static __device__ void at(const draw_call &p, int64_t i, uint64_t v, int64_t) {
    uint64_t x = p.l.range ? v % p.l.range : v;
    dl_put(p.dtype, p.out, i, (int64_t)(x + (uint64_t)p.l.base));
  }
};
struct put_coin {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v, int64_t) {
    dl_put(p.dtype, p.out, i, (int64_t)((double)v < p.l.a));
  }
};
struct put_coin_each {           /* j: where the element's own probability is */
  static __device__ void at(const draw_call &p, int64_t i, float v, int64_t j) {
    double own = dl_get<double>(p.l.dprob, p.l.prob, j);
    if (!(own >= 0 && own <= 1)) dl_fault(p.l.fault, DL_FAULT_COIN);
    dl_put(p.dtype, p.out, i, (int64_t)((double)v <= own));
  }
};
struct put_waiting {
  static __device__ double waiting(double u, double rate, double eps) {
    return -1.0 / rate * (u >= 1.0 - eps / 2 ? -eps / 2 : log(u));
  }
  static __device__ void at(const draw_call &p, int64_t i, float v, int64_t) {
    dl_put(p.dtype, p.out, i, waiting((double)v, p.l.a, 1.1920928955078125e-07)); /* 2^-23 */
  }
  static __device__ void at(const draw_call &p, int64_t i, double v, int64_t) {
    dl_put(p.dtype, p.out, i, waiting(v, p.l.a, 2.2204460492503131e-16)); /* 2^-52 */
  }
};

/* ---- the grid -------------------------------------------------------------------------------- */
template <class M, class P> __global__ void draw(draw_call p, dl_geo<2> g) {
  int64_t threads = (int64_t)gridDim.x * DL_PHILOX_BLOCK;
  int64_t t = (int64_t)blockIdx.x * DL_PHILOX_BLOCK + threadIdx.x;
  for (int64_t r = 0; t + r * threads * M::N < g.numel; r++) {
    typename M::V v[M::N];
    M::make(dl_philox(p.seed, (uint64_t)t, p.offset + 4 * (uint64_t)r), v);
    DL_UNROLL for (int i = 0; i < M::N; i++) {
      int64_t li = t + threads * (r * M::N + i), off[2];
      if (li >= g.numel) continue;
      g.place(li, off);
      P::at(p, off[0], v[i], off[1]);
    }
  }
}

/* Fill `out` by law l; prob's strides are those of the probabilities, spread over out. */
template <class M, class P>
static void fill(dl_gen *gen, const dl_view *out, const law &l, const int64_t *prob, void *stream) {
  static const int64_t none[DL_MAXDIM] = {0};
  draw_call p = {out->data, out->dtype, gen->seed, gen->offset, l};
  const int64_t *stride[2] = {out->stride, prob ? prob : none};
  dl_geo<2> g;
  if (out->numel == 0) return;
  dl_geo_make(&g, out->ndim, out->size, stride);
  uint32_t blocks = dl_philox_blocks(g.numel, gen->max_blocks);
  int64_t round = (int64_t)blocks * DL_PHILOX_BLOCK * M::N;
  DL_LAUNCH((draw<M, P>), blocks, DL_PHILOX_BLOCK, 0, stream, p, g);
  gen->offset += 4 * (uint64_t)((g.numel - 1) / round + 1);
}

/* ---- rows: real numbers ---------------------------------------------------------------------- */
static bool wide(const dl_kcall *c) { return c->out[0].dtype == DL_F64; }

template <class M, class W, class P>
static dl_status real(dl_kcall *c, double a, double b, void *stream) {
  law l = {a, b, 0, 0, NULL, 0, NULL};
  if (wide(c)) fill<W, P>(c->gen, &c->out[0], l, NULL, stream);
  else fill<M, P>(c->gen, &c->out[0], l, NULL, stream);
  return DL_OK;
}
static dl_status uniform(dl_kcall *c, double a, double b, void *stream) {
  return real<uniforms, wide_uniforms, put_uniform>(c, a, b, stream);
}
static dl_status normal(dl_kcall *c, double mean, double std, void *stream) {
  return real<normals, wide_normals, put_normal>(c, mean, std, stream);
}
DL_CUDA(rand) { return uniform(c, 0, 1, stream); }
DL_CUDA(rand_like) { return uniform(c, 0, 1, stream); }
DL_CUDA(uniform_) { return uniform(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2]), stream); }
DL_CUDA(randn) { return normal(c, 0, 1, stream); }
DL_CUDA(randn_like) { return normal(c, 0, 1, stream); }
DL_CUDA(normal_) { return normal(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2]), stream); }
DL_CUDA(exponential_) {
  return real<uniforms, wide_uniforms, put_waiting>(c, dl_arg_f(&c->arg[1]), 0, stream);
}

/* ---- rows: integers -------------------------------------------------------------------------- */
static dl_status integers(dl_kcall *c, int64_t from, uint64_t range, void *stream) {
  law l = {0, 0, from, range, NULL, 0, NULL};
  if (range >= 1ull << 28 || range == 0)
    fill<wide_words, put_integer>(c->gen, &c->out[0], l, NULL, stream);
  else fill<words, put_integer>(c->gen, &c->out[0], l, NULL, stream);
  return DL_OK;
}
static dl_status between(dl_kcall *c, int64_t from, int64_t to, void *stream) {
  return integers(c, from, (uint64_t)to - (uint64_t)from, stream);
}
DL_CUDA(randint) { return between(c, 0, c->arg[0].i, stream); }
DL_CUDA(randint_low) { return between(c, c->arg[0].i, c->arg[1].i, stream); }
DL_CUDA(randint_like) {
  if (!dl_arg_given(&c->arg[2])) return between(c, 0, c->arg[1].i, stream);
  return between(c, c->arg[1].i, c->arg[2].i, stream);
}

/* Without bounds: every integer that the dtype holds exactly. */
static uint64_t count_of(int dtype) {
  static const struct { uint8_t dtype; uint64_t count; } rows[] = {
      {DL_BOOL, 2}, {DL_U8, 256}, {DL_I8, 128}, {DL_I16, 32768}, {DL_I32, 1ull << 31},
      {DL_I64, 1ull << 63}, {DL_F16, (1u << 11) + 1}, {DL_BF16, (1u << 8) + 1},
      {DL_F32, (1u << 24) + 1}, {DL_F64, (1ull << 53) + 1}};
  for (const auto &r : rows)
    if (r.dtype == dtype) return r.count;
  return 2;
}
DL_CUDA(random_) {
  if (!dl_arg_given(&c->arg[1])) return integers(c, 0, count_of(c->out[0].dtype), stream);
  if (!dl_arg_given(&c->arg[2])) return between(c, 0, c->arg[1].i, stream);
  return between(c, c->arg[1].i, c->arg[2].i, stream);
}

/* ---- rows: coins ----------------------------------------------------------------------------- */
static dl_status coin_each(dl_kcall *c, const dl_view *prob, void *stream) {
  const dl_view *out = &c->out[0];
  int64_t stride[DL_MAXDIM];
  law l = {0, 0, 0, 0, prob->data, prob->dtype, dl_cuda_environment.fault};
  int lead = out->ndim - prob->ndim;
  for (int d = 0; d < out->ndim; d++)
    stride[d] = d < lead || prob->size[d - lead] == 1 ? 0 : prob->stride[d - lead];
  fill<uniforms, put_coin_each>(c->gen, out, l, stride, stream);
  return DL_OK;
}
DL_CUDA(bernoulli) { return coin_each(c, &c->in[0], stream); }
DL_CUDA(bernoulli_) {
  if (!dl_cu_on_host(c, 1)) return coin_each(c, &c->in[1], stream);
  return real<uniforms, wide_uniforms, put_coin>(c, dl_cu_number(c, 1), 0, stream);
}

/* ---- a random order: the places of random keys in rising order ------------------------------- */
static __global__ void put_places(const int32_t *at, void *out, int dtype, int64_t n) {
  DL_EACH(i, n) dl_put(dtype, out, i, (int64_t)at[i]);
}

DL_CUDA(randperm) {
  const uint64_t below = 1ull << 56; /* of a key: equal ones are rare, and keep their order */
  const dl_view *out = &c->out[0];
  law l = {0, 0, 0, below, NULL, 0, NULL};
  dl_cu_view keys;
  dl_cu_order o;
  if (out->numel == 0) return DL_OK;
  DL_TRY(dl_cu_like(out, DL_I64, stream, &keys));
  fill<wide_words, put_integer>(c->gen, &keys.v, l, NULL, stream);
  DL_TRY(dl_cu_order_indices((uint64_t *)keys.v.data, out->numel, below, stream, &o));
  DL_LAUNCH_EACH(put_places, out->numel, stream, o.at, out->data, out->dtype, out->numel);
  return DL_OK;
}
