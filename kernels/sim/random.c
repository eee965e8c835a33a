/* random.c -- random numbers of a simulated card: those that a CUDA device of its size draws
 *
 * For launch.c. The values of n elements are drawn as the grid's threads would draw them
 * (philox.h), kept in scratch memory and then written through the view, whatever its strides.
 *
 * SOURCE     ATen/native/cuda/DistributionTemplates.h; core/TransformationHelper.h.
 * INVARIANT  The generator's offset goes on by what PyTorch's launch of that size would take.
 * MUST NOT   be asked for numbers of the CPU's generator. */
#include "state.h"

#include <math.h>

#include "philox.h"
#include "rng.h"
#include "walk.h"

typedef union value { double f; uint64_t u; } value;

typedef struct law {
  int unroll;                    /* values that one thread makes of four words: 4, or 2 wide ones */
  void (*make)(const struct law *l, const uint32_t w[4], value v[4]);
  void (*put)(const struct law *l, dl_dtype d, void *at, value v);
  double a, b;                   /* bounds, mean and std, rate, probability */
  int64_t base;
  uint64_t range;                /* 0: 2^64 */
} law;

/* ---- four words -> values -------------------------------------------------------------------- */
static void make_uniform(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  for (int i = 0; i < 4; i++) v[i].f = dl_philox_uniform(w[i]);
}
static void make_uniform64(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  for (int i = 0; i < 2; i++) v[i].f = dl_philox_uniform64(w[2 * i], w[2 * i + 1]);
}
static void make_normal(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  for (int i = 0; i < 4; i += 2) {
    float r = sqrtf(-2.0f * logf(dl_philox_uniform(w[i]))), th = dl_philox_angle(w[i + 1]);
    v[i].f = sinf(th) * r;
    v[i + 1].f = cosf(th) * r;
  }
}
static void make_normal64(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  double u = dl_philox_uniform64(w[0], w[1]), t = dl_philox_uniform64(w[2], w[3]);
  double r = sqrt(-2.0 * log(u)), th = t * 2.0 * 3.14159265358979323846;
  v[0].f = sin(th) * r;
  v[1].f = cos(th) * r;
}
static void make_word(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  for (int i = 0; i < 4; i++) v[i].u = w[i];
}
static void make_word64(const law *l, const uint32_t w[4], value v[4]) {
  (void)l;
  for (int i = 0; i < 2; i++) v[i].u = (uint64_t)w[2 * i] << 32 | w[2 * i + 1];
}

/* ---- values -> elements ---------------------------------------------------------------------- */
/* (0, 1] becomes [a, b): a result equal to b becomes a. */
static void put_uniform(const law *l, dl_dtype d, void *at, value v) {
  double x;
  if (d == DL_F64) {
    x = fma(v.f, l->b - l->a, l->a);
  } else {
    x = fmaf((float)v.f, (float)l->b - (float)l->a, (float)l->a);
  }
  dl_elem_set_f64(d, at, x);
  uint64_t end = 0;
  dl_elem_set_f64(d, &end, l->b);
  if (dl_elem_get_f64(d, at) == dl_elem_get_f64(d, &end)) dl_elem_set_f64(d, at, l->a);
}
static void put_normal(const law *l, dl_dtype d, void *at, value v) {
  double x = d == DL_F64 ? fma(v.f, l->b, l->a)
                         : (double)fmaf((float)v.f, (float)l->b, (float)l->a);
  dl_elem_set_f64(d, at, x);
}
static void put_integer(const law *l, dl_dtype d, void *at, value v) {
  uint64_t x = l->range ? v.u % l->range : v.u;
  dl_elem_set_i64(d, at, (int64_t)(x + (uint64_t)l->base));
}
static void put_coin(const law *l, dl_dtype d, void *at, value v) {
  dl_elem_set_i64(d, at, v.f < l->a);
}
static double waiting(double u, double rate, double eps) {
  double lg = u >= 1.0 - eps / 2 ? -eps / 2 : log(u);
  return -1.0 / rate * lg;
}
static void put_exponential(const law *l, dl_dtype d, void *at, value v) {
  dl_elem_set_f64(d, at, waiting(v.f, l->a, d == DL_F64 ? 0x1p-52 : 0x1p-23));
}

/* ---- the grid -------------------------------------------------------------------------------- */
/* v[0..n): what thread t of the grid leaves at t + threads * (unroll * round + i). */
static void draw(dl_gen *g, const law *l, int64_t n, value *v) {
  if (n == 0) return;
  int64_t threads = (int64_t)dl_philox_blocks(n, g->max_blocks) * DL_PHILOX_BLOCK;
  int64_t rounds = (n - 1) / (threads * l->unroll) + 1;
  for (int64_t r = 0; r < rounds; r++)
    for (int64_t t = 0; t < threads; t++) {
      int64_t first = r * threads * l->unroll + t;
      if (first >= n) break;
      dl_philox4 w = dl_philox(g->seed, (uint64_t)t, g->offset + 4 * (uint64_t)r);
      value four[4];
      l->make(l, w.x, four);
      for (int i = 0; i < l->unroll && first + i * threads < n; i++)
        v[first + i * threads] = four[i];
    }
  g->offset += 4 * (uint64_t)rounds;
}

static dl_status values(dl_kcall *c, const law *l, int64_t n, value **v) {
  void *mem;
  DL_TRY(dl_scratch((size_t)n * sizeof **v + 1, &mem));
  *v = mem;
  draw(c->gen, l, n, *v);
  return DL_OK;
}

static dl_status fill(dl_kcall *c, const law *l) {
  const dl_view *o = &c->out[0];
  value *v;
  DL_TRY(values(c, l, o->numel, &v));
  size_t es = dl_dtype_size((dl_dtype)o->dtype);
  int64_t i = 0;
  dl_walk w;
  dl_walk_begin(&w, o->ndim, o->size, -1);
  dl_walk_add(&w, o->ndim, o->stride, -1);
  for (; w.left > 0; dl_walk_next(&w))
    l->put(l, (dl_dtype)o->dtype, o->data + w.off[0] * (int64_t)es, v[i++]);
  dl_scratch_free(v, (size_t)o->numel * sizeof *v + 1);
  return DL_OK;
}

static bool wide(const dl_kcall *c) { return c->out[0].dtype == DL_F64; }

static dl_status uniform(dl_kcall *c, double a, double b) {
  law l = {wide(c) ? 2 : 4, wide(c) ? make_uniform64 : make_uniform, put_uniform, a, b, 0, 0};
  return fill(c, &l);
}
static dl_status normal(dl_kcall *c, double mean, double std) {
  law l = {wide(c) ? 2 : 4, wide(c) ? make_normal64 : make_normal, put_normal, mean, std, 0, 0};
  return fill(c, &l);
}
static dl_status integers(dl_kcall *c, int64_t from, uint64_t range) {
  bool w = range >= 1ull << 28 || range == 0;
  law l = {w ? 2 : 4, w ? make_word64 : make_word, put_integer, 0, 0, from, range};
  return fill(c, &l);
}

/* ---- the rows -------------------------------------------------------------------------------- */
#define ROW(id) static dl_status row_##id(dl_kcall *c)

ROW(rand) { return uniform(c, 0, 1); }
ROW(uniform_) { return uniform(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }
ROW(randn) { return normal(c, 0, 1); }
ROW(normal_) { return normal(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }
ROW(randint) { return integers(c, 0, (uint64_t)c->arg[0].i); }
ROW(randint_low) {
  return integers(c, c->arg[0].i, (uint64_t)c->arg[1].i - (uint64_t)c->arg[0].i);
}
ROW(randint_like) {
  bool two = dl_arg_given(&c->arg[2]);
  int64_t from = two ? c->arg[1].i : 0, to = two ? c->arg[2].i : c->arg[1].i;
  return integers(c, from, (uint64_t)to - (uint64_t)from);
}
ROW(random_) {
  static const uint64_t count[DL_DTYPE_COUNT] = {
      [DL_BOOL] = 2, [DL_U8] = 256, [DL_I8] = 128, [DL_I16] = 32768, [DL_I32] = 1ull << 31,
      [DL_I64] = 1ull << 63, [DL_F16] = (1u << 11) + 1, [DL_BF16] = (1u << 8) + 1,
      [DL_F32] = (1u << 24) + 1, [DL_F64] = (1ull << 53) + 1};
  if (!dl_arg_given(&c->arg[1])) return integers(c, 0, count[c->out[0].dtype]);
  if (!dl_arg_given(&c->arg[2])) return integers(c, 0, (uint64_t)c->arg[1].i);
  return integers(c, c->arg[1].i, (uint64_t)c->arg[2].i - (uint64_t)c->arg[1].i);
}
ROW(exponential_) {
  law l = {wide(c) ? 2 : 4, wide(c) ? make_uniform64 : make_uniform, put_exponential,
           dl_arg_f(&c->arg[1]), 0, 0, 0};
  return fill(c, &l);
}

/* An order of its own (PyTorch sorts random keys): Fisher and Yates over the words in turn. */
ROW(randperm) {
  const dl_view *o = &c->out[0];
  law l = {2, make_word64, put_integer, 0, 0, 0, 0};
  value *v;
  dl_dtype d = (dl_dtype)o->dtype;
  int64_t n = o->numel, es = (int64_t)dl_dtype_size(d);
  DL_TRY(values(c, &l, n, &v));
  for (int64_t i = 0; i < n; i++) dl_elem_set_i64(d, o->data + i * es, i);
  for (int64_t i = 0; i < n - 1; i++) {
    int64_t z = i + (int64_t)(v[i].u % (uint64_t)(n - i));
    int64_t a = dl_elem_get_i64(d, o->data + i * es), b = dl_elem_get_i64(d, o->data + z * es);
    dl_elem_set_i64(d, o->data + i * es, b);
    dl_elem_set_i64(d, o->data + z * es, a);
  }
  dl_scratch_free(v, (size_t)n * sizeof *v + 1);
  return DL_OK;
}

/* ---- coins ----------------------------------------------------------------------------------- */
static dl_status coins_tensor(dl_kcall *c, const dl_view *prob) {
  const dl_view *o = &c->out[0];
  int64_t stride[DL_MAXDIM], es = (int64_t)dl_dtype_size((dl_dtype)o->dtype),
          ps = (int64_t)dl_dtype_size((dl_dtype)prob->dtype), i = 0;
  law l = {4, make_uniform, put_coin, 0, 0, 0, 0};
  value *v;
  int lead = o->ndim - prob->ndim;
  for (int d = 0; d < o->ndim; d++)
    stride[d] = d < lead || prob->size[d - lead] == 1 ? 0 : prob->stride[d - lead];
  DL_TRY(values(c, &l, o->numel, &v));
  dl_status st = DL_OK;
  dl_walk w;
  dl_walk_begin(&w, o->ndim, o->size, -1);
  dl_walk_add(&w, o->ndim, o->stride, -1);
  dl_walk_add(&w, o->ndim, stride, -1);
  for (; w.left > 0 && st == DL_OK; dl_walk_next(&w)) {
    double p = dl_elem_get_f64((dl_dtype)prob->dtype, prob->data + w.off[1] * ps);
    if (!(p >= 0 && p <= 1)) st = dl_fail(DL_RuntimeError, DL_E_INDEX, "0 <= p4 && p4 <= 1");
    dl_elem_set_i64((dl_dtype)o->dtype, o->data + w.off[0] * es, v[i++].f <= p);
  }
  dl_scratch_free(v, (size_t)o->numel * sizeof *v + 1);
  return st;
}

ROW(bernoulli) { return coins_tensor(c, &c->in[0]); }
ROW(bernoulli_) {
  if (!dl_arg_is_num(&c->arg[1])) return coins_tensor(c, &c->in[1]);
  law l = {wide(c) ? 2 : 4, wide(c) ? make_uniform64 : make_uniform, put_coin,
           dl_arg_f(&c->arg[1]), 0, 0, 0};
  return fill(c, &l);
}

#define SAME(id, as) [DL_OP_##id] = row_##as
static const dl_kernel_fn rows[DL_OP_COUNT] = {
    SAME(rand, rand), SAME(rand_like, rand), SAME(uniform_, uniform_), SAME(randn, randn),
    SAME(randn_like, randn), SAME(normal_, normal_), SAME(randint, randint),
    SAME(randint_low, randint_low), SAME(randint_like, randint_like), SAME(random_, random_),
    SAME(randperm, randperm), SAME(bernoulli, bernoulli), SAME(bernoulli_, bernoulli_),
    SAME(exponential_, exponential_)};

dl_kernel_fn dl_sim_random(dl_opid op) { return rows[op]; }
