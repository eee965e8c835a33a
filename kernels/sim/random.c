/* random.c -- random numbers of a simulated card: those that a CUDA device of its size draws
 *
 * For launch.c. The values of n elements are drawn as the grid's threads would draw them
 * (philox.h), kept in scratch memory and then written through the view, whatever its strides.
 *
 * SOURCE     ATen/native/cuda/DistributionTemplates.h, Dropout.cu; core/TransformationHelper.h.
 * INVARIANT  The generator's offset goes on by what PyTorch's launch of that size would take.
 * MUST NOT   be asked for numbers of the CPU's generator. */
#include "state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
static double held(dl_dtype d, double v) {
  uint64_t room = 0;
  dl_elem_set_f64(d, &room, v);
  return dl_elem_get_f64(d, &room);
}
/* (0, 1] becomes [a, b): a result equal to b becomes a. Bounds and gap are numbers of the dtype. */
static void put_uniform(const law *l, dl_dtype d, void *at, value v) {
  double a = held(d, l->a), b = held(d, l->b), gap = held(d, b - a);
  double x = d == DL_F64 ? fma(v.f, gap, a) : (double)fmaf((float)v.f, (float)gap, (float)a);
  dl_elem_set_f64(d, at, x);
  if (dl_elem_get_f64(d, at) == b) dl_elem_set_f64(d, at, a);
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
  dl_elem_set_i64(d, at, v.f < (d == DL_F64 ? l->a : (double)(float)l->a));
}
/* u is in (0, 1]: near 1 the logarithm is half an epsilon, so that the result is never 0 */
static void put_exponential(const law *l, dl_dtype d, void *at, value v) {
  float u = (float)v.f, lg = u >= 1.0f - 0x1p-24f ? -0x1p-24f : logf(u);
  double wide = v.f >= 1.0 - 0x1p-53 ? -0x1p-53 : log(v.f);
  dl_elem_set_f64(d, at, d == DL_F64 ? -1.0 / l->a * wide : (double)(-1.0f / (float)l->a * lg));
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
static dl_status integers(dl_kcall *c, int64_t from, uint64_t range, bool w) {
  law l = {w ? 2 : 4, w ? make_word64 : make_word, put_integer, 0, 0, from, range};
  return fill(c, &l);
}

static dl_status between(dl_kcall *c, int64_t from, int64_t to) {
  uint64_t range = (uint64_t)to - (uint64_t)from;
  return integers(c, from, range, range >= 1ull << 28 || range == 0);
}

/* ---- the rows -------------------------------------------------------------------------------- */
#define ROW(id) static dl_status row_##id(dl_kcall *c)

ROW(rand) { return uniform(c, 0, 1); }
ROW(uniform_) { return uniform(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }
ROW(randn) { return normal(c, 0, 1); }
ROW(normal_) { return normal(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }
ROW(randint) { return between(c, 0, c->arg[0].i); }
ROW(randint_low) { return between(c, c->arg[0].i, c->arg[1].i); }
ROW(randint_like) {
  bool two = dl_arg_given(&c->arg[2]);
  return between(c, two ? c->arg[1].i : 0, two ? c->arg[2].i : c->arg[1].i);
}
ROW(random_) {
  static const uint64_t count[DL_DTYPE_COUNT] = {
      [DL_BOOL] = 2, [DL_U8] = 256, [DL_I8] = 128, [DL_I16] = 32768, [DL_I32] = 1ull << 31,
      [DL_I64] = 1ull << 63, [DL_F16] = (1u << 11) + 1, [DL_BF16] = (1u << 8) + 1,
      [DL_F32] = (1u << 24) + 1, [DL_F64] = (1ull << 53) + 1};
  int d = c->out[0].dtype;
  if (!dl_arg_given(&c->arg[1]))
    return integers(c, 0, count[d], d == DL_I64 || d == DL_F64);
  if (!dl_arg_given(&c->arg[2])) return between(c, 0, c->arg[1].i);
  return between(c, c->arg[1].i, c->arg[2].i);
}
ROW(exponential_) {
  law l = {wide(c) ? 2 : 4, wide(c) ? make_uniform64 : make_uniform, put_exponential,
           dl_arg_f(&c->arg[1]), 0, 0, 0};
  return fill(c, &l);
}

/* ---- a random order: the places of random keys in rising order ------------------------------- */
typedef struct key { uint64_t bits; int64_t at; } key;

static int by_key(const void *a, const void *b) {
  const key *p = a, *q = b;
  if (p->bits != q->bits) return p->bits < q->bits ? -1 : 1;
  return p->at < q->at ? -1 : p->at > q->at;
}

/* Equal keys, from k[first] on: their places are shuffled by words that thread `first` draws. */
static int64_t shuffle_run(const dl_gen *g, key *k, int64_t first, int64_t n) {
  int64_t size = 1;
  while (first + size < n && k[first + size].bits == k[first].bits) size++;
  for (int64_t i = size - 1, j = 0; i > 0; i--, j++) {
    uint32_t w = dl_philox_word(g->seed, (uint64_t)first, g->offset, (uint64_t)j);
    key *a = &k[first + i], *b = &k[first + w % (uint32_t)(i + 1)];
    int64_t at = a->at;
    a->at = b->at, b->at = at;
  }
  return size;
}

ROW(randperm) {
  const dl_view *o = &c->out[0];
  law l = {2, make_word64, put_integer, 0, 0, 0, 0};
  value *v;
  dl_dtype d = (dl_dtype)o->dtype;
  int64_t n = o->numel, es = (int64_t)dl_dtype_size(d);
  if (n == 0) return DL_OK;
  int bits = dl_philox_key_bits(n);
  uint64_t range = bits <= 32 ? UINT32_MAX : UINT64_MAX; /* PyTorch's random_(lowest, highest) */
  uint64_t base = bits <= 32 ? (uint64_t)INT32_MIN : (uint64_t)INT64_MIN;
  void *mem;
  DL_TRY(dl_scratch((size_t)n * sizeof(key), &mem));
  dl_status st = values(c, &l, n, &v);
  key *k = mem;
  for (int64_t i = 0; st == DL_OK && i < n; i++)
    k[i] = (key){(v[i].u % range + base) & (UINT64_MAX >> (64 - bits)), i};
  if (st == DL_OK) {
    qsort(k, (size_t)n, sizeof *k, by_key);
    for (int64_t i = 0; i < n; i += shuffle_run(c->gen, k, i, n)) {}
    for (int64_t i = 0; i < n; i++) dl_elem_set_i64(d, o->data + i * es, k[i].at);
    c->gen->offset += ((uint64_t)n + 3) / 4 * 4;
    dl_scratch_free(v, (size_t)n * sizeof *v + 1);
  }
  dl_scratch_free(mem, (size_t)n * sizeof(key));
  return st;
}

/* ---- coins ----------------------------------------------------------------------------------- */
/* Probabilities of their own: thread t has the elements 4 t to 4 t + 3 and draws once; the offset
 * goes on by PyTorch's ten, rounded up to fours. */
static dl_status coins_tensor(dl_kcall *c, const dl_view *prob) {
  const dl_view *o = &c->out[0];
  int64_t stride[DL_MAXDIM], es = (int64_t)dl_dtype_size((dl_dtype)o->dtype),
          ps = (int64_t)dl_dtype_size((dl_dtype)prob->dtype), i = 0;
  int lead = o->ndim - prob->ndim;
  for (int d = 0; d < o->ndim; d++)
    stride[d] = d < lead || prob->size[d - lead] == 1 ? 0 : prob->stride[d - lead];
  dl_status st = DL_OK;
  dl_walk w;
  dl_walk_begin(&w, o->ndim, o->size, -1);
  dl_walk_add(&w, o->ndim, o->stride, -1);
  dl_walk_add(&w, o->ndim, stride, -1);
  for (; w.left > 0 && st == DL_OK; dl_walk_next(&w), i++) {
    double p = dl_elem_get_f64((dl_dtype)prob->dtype, prob->data + w.off[1] * ps);
    if (o->dtype != DL_F64) p = (double)(float)p;
    if (!(p >= 0 && p <= 1)) st = dl_fail(DL_RuntimeError, DL_E_INDEX, "0 <= p4 && p4 <= 1");
    uint32_t word = dl_philox_word(c->gen->seed, (uint64_t)i / 4, c->gen->offset, (uint64_t)i % 4);
    dl_elem_set_i64((dl_dtype)o->dtype, o->data + w.off[0] * es, dl_philox_uniform(word) <= p);
  }
  c->gen->offset += 12;
  return st;
}

ROW(bernoulli) { return coins_tensor(c, &c->in[0]); }
ROW(bernoulli_) {
  if (!dl_arg_is_num(&c->arg[1])) return coins_tensor(c, &c->in[1]);
  law l = {wide(c) ? 2 : 4, wide(c) ? make_uniform64 : make_uniform, put_coin,
           dl_arg_f(&c->arg[1]), 0, 0, 0};
  return fill(c, &l);
}

/* ---- dropout --------------------------------------------------------------------------------- */
/* v[0..n), packs of neighbours at once; the offset goes on as if they were drawn one by one. */
static void draw_packs(dl_gen *g, int pack, int64_t n, value *v) {
  uint32_t blocks = dl_philox_blocks(n, g->max_blocks);
  int64_t threads = (int64_t)blocks * DL_PHILOX_BLOCK;
  for (int64_t k = 0; k < n / pack; k++)
    for (int j = 0; j < pack; j += 4) {
      dl_philox4 w = dl_dropping_draw(g->seed, g->offset, k % threads, k / threads, pack, j / 4);
      for (int i = 0; i < 4 && j + i < pack; i++)
        v[k * pack + j + i].f = dl_philox_uniform(w.x[i]);
    }
  g->offset += dl_philox_advance(n, blocks);
}

static void drop(dl_dropping d, dl_dtype dtype, const char *x, char *y, char *kept, double u) {
  double in = dl_elem_get_f64(dtype, x), on = u < d.keep;
  double out = dtype == DL_F64 ? in * on * d.scale
                               : (double)((float)in * (float)on * (float)d.scale);
  dl_elem_set_f64(dtype, y, out);
  *kept = u < d.keep;
}

/* input, result, mask */
static void walk_three(dl_walk *w, const dl_kcall *c) {
  const dl_view *x = &c->in[0];
  dl_walk_begin(w, x->ndim, x->size, -1);
  dl_walk_add(w, x->ndim, x->stride, -1);
  dl_walk_add(w, x->ndim, c->out[0].stride, -1);
  dl_walk_add(w, x->ndim, c->out[1].stride, -1);
}

/* Nothing is drawn where all stays, or nothing. */
static dl_status settled(dl_kcall *c, bool stays) {
  size_t es = dl_dtype_size((dl_dtype)c->in[0].dtype);
  static const char zero[8];
  dl_walk w;
  for (walk_three(&w, c); w.left > 0; dl_walk_next(&w)) {
    const char *x = c->in[0].data + w.off[0] * (int64_t)es;
    dl_elem_copy(c->out[0].data + w.off[1] * (int64_t)es, stays ? x : zero, es);
    c->out[1].data[w.off[2]] = stays;
  }
  return DL_OK;
}

/* arg: input, p, train; results: the values, the mask */
ROW(native_dropout) {
  const dl_view *x = &c->in[0];
  bool train = !dl_arg_given(&c->arg[2]) || c->arg[2].i;
  double p = dl_arg_f(&c->arg[1]);
  int64_t es = (int64_t)dl_dtype_size((dl_dtype)x->dtype), n = x->numel, i = 0;
  law l = {.unroll = 4, .make = make_uniform};
  value *v;
  void *mem;
  if (n == 0) return DL_OK;
  if (!train || p == 1) return settled(c, !train);
  dl_dropping d = dl_dropping_of(p, x->dtype == DL_F64);
  int pack = dl_is_dense(x->ndim, x->size, x->stride) ? dl_dropping_pack(x->data, n, (int)es) : 1;
  DL_TRY(dl_scratch((size_t)n * sizeof *v, &mem));
  v = mem;
  if (pack > 1) draw_packs(c->gen, pack, n, v);
  else draw(c->gen, &l, n, v);
  dl_walk w;
  for (walk_three(&w, c); w.left > 0; dl_walk_next(&w), i++)
    drop(d, (dl_dtype)x->dtype, x->data + w.off[0] * es, c->out[0].data + w.off[1] * es,
         c->out[1].data + w.off[2], v[pack > 1 ? w.off[0] : i].f);
  dl_scratch_free(mem, (size_t)n * sizeof *v);
  return DL_OK;
}

#define SAME(id, as) [DL_OP_##id] = row_##as
static const dl_kernel_fn rows[DL_OP_COUNT] = {
    SAME(rand, rand), SAME(rand_like, rand), SAME(uniform_, uniform_), SAME(randn, randn),
    SAME(randn_like, randn), SAME(normal_, normal_), SAME(randint, randint),
    SAME(randint_low, randint_low), SAME(randint_like, randint_like), SAME(random_, random_),
    SAME(randperm, randperm), SAME(bernoulli, bernoulli), SAME(bernoulli_, bernoulli_),
    SAME(exponential_, exponential_), SAME(native_dropout, native_dropout)};

dl_kernel_fn dl_sim_random(dl_opid op) { return rows[op]; }
