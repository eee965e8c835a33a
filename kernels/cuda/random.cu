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
  double a, b, gap;              /* bounds and b - a; mean and std; rate; probability */
  int64_t base;
  uint64_t range, mask;          /* of integers; range 0: 2^64; mask: what is kept of a key */
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

/* (0, 1] becomes [a, b): a result equal to b becomes a. Bounds and gap are numbers of the dtype. */
struct put_uniform {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v) {
    dl_put(p.dtype, p.out, i, scaled(v, p.l.gap, p.l.a));
    if (dl_get<double>(p.dtype, p.out, i) == p.l.b) dl_put(p.dtype, p.out, i, p.l.a);
  }
};
struct put_normal {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v) {
    dl_put(p.dtype, p.out, i, scaled(v, p.l.b, p.l.a));
  }
};
struct put_integer {
  static __device__ void at(const draw_call &p, int64_t i, uint64_t v) {
    uint64_t x = p.l.range ? v % p.l.range : v;
    dl_put(p.dtype, p.out, i, (int64_t)(x + (uint64_t)p.l.base));
  }
};
struct put_key {
  static __device__ void at(const draw_call &p, int64_t i, uint64_t v) {
    static_cast<uint64_t *>(p.out)[i] = (v % p.l.range + (uint64_t)p.l.base) & p.l.mask;
  }
};
struct put_coin {
  template <class V> static __device__ void at(const draw_call &p, int64_t i, V v) {
    dl_put(p.dtype, p.out, i, (int64_t)(v < (V)p.l.a));
  }
};
DL_FN float quick_log(float u) {
#ifdef __CUDA_ARCH__
  return __logf(u);              /* as PyTorch */
#else
  return logf(u);
#endif
}
/* u is in (0, 1]: near 1 the logarithm is half an epsilon, so that the result is never 0 */
struct put_waiting {
  static __device__ void at(const draw_call &p, int64_t i, float u) {
    const float half = 5.9604644775390625e-08f; /* 2^-24 */
    dl_put(p.dtype, p.out, i, -1.0f / (float)p.l.a * (u >= 1.0f - half ? -half : quick_log(u)));
  }
  static __device__ void at(const draw_call &p, int64_t i, double u) {
    const double half = 1.1102230246251565e-16; /* 2^-53 */
    dl_put(p.dtype, p.out, i, -1.0 / p.l.a * (u >= 1.0 - half ? -half : log(u)));
  }
};

/* ---- the grid -------------------------------------------------------------------------------- */
template <class M, class P> __global__ void draw(draw_call p, dl_geo<1> g) {
  int64_t threads = (int64_t)gridDim.x * DL_PHILOX_BLOCK;
  int64_t t = (int64_t)blockIdx.x * DL_PHILOX_BLOCK + threadIdx.x;
  for (int64_t r = 0; t + r * threads * M::N < g.numel; r++) {
    typename M::V v[M::N];
    M::make(dl_philox(p.seed, (uint64_t)t, p.offset + 4 * (uint64_t)r), v);
    DL_UNROLL for (int i = 0; i < M::N; i++) {
      int64_t li = t + threads * (r * M::N + i), off[1];
      if (li >= g.numel) continue;
      g.place(li, off);
      P::at(p, off[0], v[i]);
    }
  }
}

/* Fill `out` by law l. */
template <class M, class P>
static void fill(dl_gen *gen, const dl_view *out, const law &l, void *stream) {
  draw_call p = {out->data, out->dtype, gen->seed, gen->offset, l};
  dl_geo<1> g;
  if (out->numel == 0) return;
  dl_geo_make(&g, out->ndim, out->size, &out->stride);
  uint32_t blocks = dl_philox_blocks(g.numel, gen->max_blocks);
  int64_t round = (int64_t)blocks * DL_PHILOX_BLOCK * M::N;
  DL_LAUNCH((draw<M, P>), blocks, DL_PHILOX_BLOCK, 0, stream, p, g);
  gen->offset += 4 * (uint64_t)((g.numel - 1) / round + 1);
}

/* ---- rows: real numbers ---------------------------------------------------------------------- */
static bool wide(const dl_kcall *c) { return c->out[0].dtype == DL_F64; }

template <class M, class W, class P>
static dl_status real(dl_kcall *c, const law &l, void *stream) {
  if (wide(c)) fill<W, P>(c->gen, &c->out[0], l, stream);
  else fill<M, P>(c->gen, &c->out[0], l, stream);
  return DL_OK;
}
/* The nearest number of a dtype. */
static double held(int dtype, double v) {
  uint64_t room = 0;
  dl_elem_set_f64((dl_dtype)dtype, &room, v);
  return dl_elem_get_f64((dl_dtype)dtype, &room);
}
static dl_status uniform(dl_kcall *c, double a, double b, void *stream) {
  law l = {};
  int d = c->out[0].dtype;
  l.a = held(d, a), l.b = held(d, b), l.gap = held(d, l.b - l.a);
  return real<uniforms, wide_uniforms, put_uniform>(c, l, stream);
}
static dl_status normal(dl_kcall *c, double mean, double std, void *stream) {
  law l = {};
  l.a = mean, l.b = std;
  return real<normals, wide_normals, put_normal>(c, l, stream);
}
DL_CUDA(rand) { return uniform(c, 0, 1, stream); }
DL_CUDA(rand_like) { return uniform(c, 0, 1, stream); }
DL_CUDA(uniform_) { return uniform(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2]), stream); }
DL_CUDA(randn) { return normal(c, 0, 1, stream); }
DL_CUDA(randn_like) { return normal(c, 0, 1, stream); }
DL_CUDA(normal_) { return normal(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2]), stream); }
DL_CUDA(exponential_) {
  law l = {};
  l.a = dl_arg_f(&c->arg[1]);
  return real<uniforms, wide_uniforms, put_waiting>(c, l, stream);
}

/* ---- rows: integers -------------------------------------------------------------------------- */
static dl_status integers(dl_kcall *c, int64_t from, uint64_t range, bool is_wide, void *stream) {
  law l = {};
  l.base = from, l.range = range;
  if (is_wide) fill<wide_words, put_integer>(c->gen, &c->out[0], l, stream);
  else fill<words, put_integer>(c->gen, &c->out[0], l, stream);
  return DL_OK;
}
static dl_status between(dl_kcall *c, int64_t from, int64_t to, void *stream) {
  uint64_t range = (uint64_t)to - (uint64_t)from;
  return integers(c, from, range, range >= 1ull << 28 || range == 0, stream);
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
  int d = c->out[0].dtype;
  if (!dl_arg_given(&c->arg[1]))
    return integers(c, 0, count_of(d), d == DL_I64 || d == DL_F64, stream);
  if (!dl_arg_given(&c->arg[2])) return between(c, 0, c->arg[1].i, stream);
  return between(c, c->arg[1].i, c->arg[2].i, stream);
}

/* ---- rows: coins ----------------------------------------------------------------------------- */
struct coin_call {
  void *out;
  const void *prob;
  int dtype, dprob;
  uint64_t seed, offset;
  dl_cuda_fault *fault;
};

/* Probabilities of their own: thread t has the elements 4 t to 4 t + 3 and draws once. */
static __global__ void coin_each(coin_call p, dl_geo<2> g, int64_t threads) {
  DL_EACH(t, threads) {
    dl_philox4 w = dl_philox(p.seed, (uint64_t)t, p.offset);
    DL_UNROLL for (int j = 0; j < 4; j++) {
      int64_t i = 4 * t + j, off[2];
      if (i >= g.numel) continue;
      g.place(i, off);
      double own = dl_real_at(p.dprob, p.prob, off[1]);
      if (p.dtype != DL_F64) own = (double)(float)own;
      if (!(own >= 0 && own <= 1)) dl_fault(p.fault, DL_FAULT_COIN);
      dl_set(p.dtype, p.out, off[0], (int64_t)((double)dl_philox_uniform(w.x[j]) <= own));
    }
  }
}

static dl_status coins(dl_kcall *c, const dl_view *prob, void *stream) {
  enum { THREADS = 512, ADVANCE = 12 }; /* PyTorch's block; its ten, rounded up to fours */
  const dl_view *out = &c->out[0];
  dl_gen *gen = c->gen;
  int64_t stride[DL_MAXDIM], threads = (out->numel + 3) / 4;
  coin_call p = {out->data, prob->data, out->dtype, prob->dtype, gen->seed, gen->offset,
                 dl_cuda_environment.fault};
  const int64_t *strides[2] = {out->stride, stride};
  int lead = out->ndim - prob->ndim;
  dl_geo<2> g;
  for (int d = 0; d < out->ndim; d++)
    stride[d] = d < lead || prob->size[d - lead] == 1 ? 0 : prob->stride[d - lead];
  gen->offset += ADVANCE;
  if (out->numel == 0) return DL_OK;
  dl_geo_make(&g, out->ndim, out->size, strides);
  DL_LAUNCH(coin_each, dl_blocks(threads, THREADS / DL_BLOCK), THREADS, 0, stream, p, g, threads);
  return DL_OK;
}
DL_CUDA(bernoulli) { return coins(c, &c->in[0], stream); }
DL_CUDA(bernoulli_) {
  if (!dl_cu_on_host(c, 1)) return coins(c, &c->in[1], stream);
  law l = {};
  l.a = dl_cu_number(c, 1);
  return real<uniforms, wide_uniforms, put_coin>(c, l, stream);
}

/* ---- a random order: the places of random keys in rising order ------------------------------- */
static __global__ void put_places(const int32_t *at, void *out, int dtype, int64_t n) {
  DL_EACH(i, n) dl_set(dtype, out, i, (int64_t)at[i]);
}
/* The first thread of a run of equal keys shuffles its places. */
static __global__ void shuffle_runs(const uint64_t *key, int32_t *at, int64_t n, uint64_t seed,
                                    uint64_t offset) {
  DL_EACH(i, n - 1) {
    int64_t size = 1;
    if (key[i] != key[i + 1] || (i > 0 && key[i - 1] == key[i])) continue;
    while (i + size < n && key[i + size] == key[i]) size++;
    for (int64_t k = size - 1, j = 0; k > 0; k--, j++) {
      int64_t r = dl_philox_word(seed, (uint64_t)i, offset, (uint64_t)j) % (uint32_t)(k + 1);
      int32_t swapped = at[i + k];
      at[i + k] = at[i + r], at[i + r] = swapped;
    }
  }
}

DL_CUDA(randperm) {
  const dl_view *out = &c->out[0];
  int64_t n = out->numel;
  dl_gen *gen = c->gen;
  dl_cu_view keys;
  dl_cu_order o;
  law l = {};
  if (n == 0) return DL_OK;
  int bits = dl_philox_key_bits(n);
  l.range = bits <= 32 ? 0xffffffffull : ~0ull; /* PyTorch's random_(lowest, highest) */
  l.base = bits <= 32 ? -2147483647LL - 1 : -9223372036854775807LL - 1;
  l.mask = ~0ull >> (64 - bits);
  DL_TRY(dl_cu_like(out, DL_I64, stream, &keys));
  fill<wide_words, put_key>(gen, &keys.v, l, stream);
  DL_TRY(dl_cu_order_indices(reinterpret_cast<uint64_t *>(keys.v.data), n, l.mask, stream, &o));
  if (n > 1)
    DL_LAUNCH_EACH(shuffle_runs, n - 1, stream, static_cast<const uint64_t *>(o.key),
                   const_cast<int32_t *>(o.at), n, gen->seed, gen->offset);
  gen->offset += ((uint64_t)n + 3) / 4 * 4;
  DL_LAUNCH_EACH(put_places, n, stream, o.at, out->data, out->dtype, n);
  return DL_OK;
}
