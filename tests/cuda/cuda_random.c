/* cuda_random.c -- CUDA kernels draw the numbers that a simulated card of the same size draws,
 * leave the generator where it leaves it, and spread them as their laws say */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda_test.h"
#include "op/dispatch.h"
#include "philox.h"
#include "rng.h"
#include "tap.h"

dl_kernel_fn dl_sim_random(dl_opid op); /* kernels/sim */

enum { MOST = 5000 };
static char room[2][MOST * 8];

typedef struct law {
  dl_opid op;
  dl_dtype dtype;
  const char *name;
  dl_arg arg[4];
  double prob;                   /* bernoulli_: the number given for p; < 0: none */
  double tol;
} law;

#define LAW(id, d, words, tol, ...) {DL_OP_##id, DL_##d, words, {__VA_ARGS__}, -1, tol}
static const law laws[] = {
    LAW(rand, F32, "rand", 0, NIL),
    LAW(rand, F64, "rand in float64", 0, NIL),
    LAW(rand, BF16, "rand in bfloat16", 0, NIL),
    LAW(uniform_, F16, "uniform_(-2, 3) in float16", 0, NIL, F(-2), F(3)),
    LAW(randn, F32, "randn", 1e-6, NIL),
    LAW(randn, F64, "randn in float64", 1e-12, NIL),
    LAW(normal_, F32, "normal_(5, 0.1)", 1e-6, NIL, F(5), F(0.1)),
    LAW(randint, I64, "randint(1000)", 0, I(1000)),
    LAW(randint_low, I32, "randint(-7, 9) in int32", 0, I(-7), I(9)),
    LAW(randint, I64, "randint(2^40)", 0, I(1ll << 40)),
    LAW(random_, U8, "random_() in uint8", 0, NIL, NIL, NIL),
    LAW(random_, I32, "random_() in int32", 0, NIL, NIL, NIL),
    LAW(random_, I64, "random_() in int64", 0, NIL, NIL, NIL),
    LAW(exponential_, F32, "exponential_(2)", 1e-6, NIL, F(2)),
    LAW(uniform_, BF16, "uniform_(-0.1, 0.1) in bfloat16", 0, NIL, F(-0.1), F(0.1)),
    LAW(exponential_, F64, "exponential_(0.5) in float64", 1e-12, NIL, F(0.5)),
    LAW(randperm, I64, "randperm", 0, I(0)),
    {DL_OP_bernoulli_, DL_F32, "bernoulli_(0.3)", {NIL, F(0.3)}, 0.3, 0},
};

/* n numbers by law l into room[which]; the generator ends in *gen. */
static dl_status draw(const law *l, int64_t n, int which, unsigned order, dl_gen *gen) {
  static const int64_t one = 1;
  double p = l->prob;
  dl_kcall k = {.op = l->op, .compute = DL_F32, .nout = 1, .nin = 2, .arg = l->arg, .gen = gen};
  k.out[0] = (dl_view){room[which], l->dtype, 1, n, &n, &one};
  k.in[0] = k.out[0];
  k.in[1] = (dl_view){(char *)&p, p < 0 ? DL_NODTYPE : DL_F64, 0, 1, NULL, NULL};
  k.numbers = p < 0 ? 0 : 2;
  *gen = (dl_gen){.seed = 77, .offset = 12, .philox = true, .max_blocks = 3};
  memset(room[which], 0xa5, sizeof room[which]);
  return which ? dl_sim_random(l->op)(&k) : cuda_test_run(l->op, &k, order);
}

static bool equal(const law *l, int64_t n) {
  size_t size = dl_dtype_size(l->dtype);
  for (int64_t i = 0; i < n; i++) {
    double a = dl_elem_get_f64(l->dtype, room[0] + (size_t)i * size);
    double b = dl_elem_get_f64(l->dtype, room[1] + (size_t)i * size);
    if (fabs(a - b) <= l->tol * (1 + fabs(b))) continue;
    tap_diag("number %lld of %lld: %.17g, simulated %.17g", (long long)i, (long long)n, a, b);
    return false;
  }
  return true;
}

static void same_numbers(const law *l) {
  static const int64_t sizes[] = {1, 31, 257, 768, 769, MOST};
  bool good = true, goes_on = true;
  for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    static dl_gen a, b;
    good = draw(l, sizes[i], 0, i % 4, &a) == DL_OK && good;
    good = draw(l, sizes[i], 1, 0, &b) == DL_OK && good;
    good = equal(l, sizes[i]) && good;
    goes_on = goes_on && a.offset == b.offset && a.offset > 12;
  }
  ok(good, "%s draws the simulated card's numbers", l->name);
  ok(goes_on, "%s leaves the generator where the simulated card leaves it", l->name);
}

/* ---- dropout --------------------------------------------------------------------------------- */
/* Of n elements of dtype d in two rows, or in two columns, the first of them `from` elements after
 * an address that all vectors like: values and mask into result[which] and mask[which]. */
static char source[(MOST + 16) * 8] __attribute__((aligned(64)));
static char result[2][MOST * 8] __attribute__((aligned(64)));
static char mask[2][MOST] __attribute__((aligned(64)));

typedef struct way { dl_dtype dtype; int64_t from; bool columns; const char *name; } way;

static dl_status drop(const way *h, int64_t n, int which, unsigned order, dl_gen *gen) {
  const dl_arg arg[] = {NIL, F(0.3), B(true)};
  int64_t es = (int64_t)dl_dtype_size(h->dtype), size[2] = {2, n / 2}, rows[2] = {n / 2, 1},
          columns[2] = {1, 2};
  if (n % 2) size[0] = 1, size[1] = n, rows[0] = n;
  const int64_t *stride = h->columns && n % 2 == 0 ? columns : rows;
  dl_kcall k = {.op = DL_OP_native_dropout, .nout = 2, .nin = 1, .arg = arg, .gen = gen};
  k.in[0] = (dl_view){source + h->from * es, (uint8_t)h->dtype, 2, n, size, stride};
  k.out[0] = (dl_view){result[which], (uint8_t)h->dtype, 2, n, size, stride};
  k.out[1] = (dl_view){mask[which], DL_BOOL, 2, n, size, stride};
  for (int64_t i = 0; i < n; i++)
    dl_elem_set_f64(h->dtype, source + (h->from + i) * es, (double)(i % 19) - 9);
  memset(result[which], 0xa5, sizeof result[which]);
  memset(mask[which], 0xa5, sizeof mask[which]);
  *gen = (dl_gen){.seed = 77, .offset = 12, .philox = true, .max_blocks = 2};
  return which ? dl_sim_random(DL_OP_native_dropout)(&k) : cuda_test_run(k.op, &k, order);
}

static void same_drops(void) {
  static const way ways[] = {
      {DL_F32, 0, false, "float32"}, {DL_F64, 0, false, "float64"}, {DL_F16, 0, false, "float16"},
      {DL_BF16, 0, false, "bfloat16"}, {DL_F32, 1, false, "float32 off by one"},
      {DL_F16, 2, false, "float16 off by two"}, {DL_F16, 4, false, "float16 off by four"},
      {DL_F32, 0, true, "columns of float32"}, {DL_F16, 2, true, "columns of float16"}};
  static const int64_t sizes[] = {1, 2, 12, 250, 1024, 2052, 4098, 4992, MOST - 1};
  for (unsigned w = 0; w < sizeof ways / sizeof *ways; w++) {
    bool good = true, goes_on = true;
    size_t es = dl_dtype_size(ways[w].dtype);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      static dl_gen a, b;
      size_t n = (size_t)sizes[i];
      good = drop(&ways[w], sizes[i], 0, i % 4, &a) == DL_OK && good;
      good = drop(&ways[w], sizes[i], 1, 0, &b) == DL_OK && good;
      good = good && !memcmp(result[0], result[1], n * es) && !memcmp(mask[0], mask[1], n);
      if (!good) tap_diag("%s, %lld elements", ways[w].name, (long long)sizes[i]);
      goes_on = goes_on && a.offset == b.offset && a.offset > 12;
    }
    ok(good && goes_on, "dropout of %s is the simulated card's, to the bit", ways[w].name);
  }
}

/* ---- laws ------------------------------------------------------------------------------------ */
static void moments(dl_opid op, double mean, double variance) {
  law l = {op, DL_F32, "", {NIL, NIL, NIL, NIL}, -1, 0};
  double sum = 0, square = 0;
  static dl_gen gen;
  draw(&l, MOST, 0, 0, &gen);
  for (int i = 0; i < MOST; i++) {
    double v = ((float *)room[0])[i];
    sum += v;
    square += v * v;
  }
  sum /= MOST;
  is_double(sum, mean, 0.05, "%s has the mean of its law", dl_ops[op].id);
  is_double(square / MOST - sum * sum, variance, 0.06, "and its variance");
}

static void permutation(void) {
  static bool seen[MOST];
  int found = 0, moved = 0;
  law l = LAW(randperm, I64, "randperm", 0, I(MOST));
  static dl_gen gen;
  draw(&l, MOST, 0, 2, &gen);
  for (int i = 0; i < MOST; i++) {
    int64_t v = ((int64_t *)room[0])[i];
    found += v >= 0 && v < MOST && !seen[v];
    if (v >= 0 && v < MOST) seen[v] = true;
    moved += v != i;
  }
  is_int(found, MOST, "randperm holds each number once");
  ok(moved > MOST - 20, "and hardly any in its place");
}

int main(void) {
  dl_op_init();
  cuda_test_begin();
  for (unsigned i = 0; i < sizeof laws / sizeof *laws; i++) same_numbers(&laws[i]);
  same_drops();
  moments(DL_OP_rand, 0.5, 1.0 / 12);
  moments(DL_OP_randn, 0, 1);
  permutation();
  return tap_done();
}
