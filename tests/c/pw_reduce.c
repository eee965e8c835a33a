/* pw_reduce.c -- reductions over every subset of dims and several layouts, against plain loops
 *
 * Also: exact sums as PyTorch rounds them, ties, nan, empty inputs, dtypes, thread counts. */
#include "pw_help.h"

enum { DIMS = 3 };
static double values[97];

/* ---- the plain way ---------------------------------------------------------------------- */
typedef struct plain {
  double sum, sum2, sum1, prod, top, low, first;
  int64_t n, argmax, argmin;
} plain;

static void plain_add(plain *p, double x) {
  if (!p->n || x > p->top) p->top = x, p->argmax = p->n;
  if (!p->n || x < p->low) p->low = x, p->argmin = p->n;
  p->sum += x, p->sum2 += x * x, p->sum1 += fabs(x), p->prod *= x, p->n++;
}

/* Fold x over the masked dims; out[k] in row-major order of the kept dims. */
static int fold(const dl_tensor *x, uint32_t mask, plain *out) {
  int64_t kept = 1;
  for (int d = 0; d < x->ndim; d++)
    if (!(mask & (1u << d))) kept *= x->size[d];
  for (int64_t k = 0; k < kept; k++) out[k] = (plain){.prod = 1};
  for (int64_t i = 0; i < x->numel; i++) {
    int64_t rest = i, k = 0, scale = 1;
    for (int d = x->ndim - 1; d >= 0; d--) {
      int64_t idx = rest % x->size[d];
      rest /= x->size[d];
      if (mask & (1u << d)) continue;
      k += idx * scale;
      scale *= x->size[d];
    }
    plain_add(&out[k], at(x, i));
  }
  return (int)kept;
}

static double spread(const plain *p) {
  return (p->sum2 - p->sum * p->sum / (double)p->n) / (double)(p->n - 1);
}

/* ---- every subset of dims --------------------------------------------------------------- */
static bool agree(dl_tensor *t, const plain *p, int n, double (*want)(const plain *), double tol) {
  bool good = t && t->numel == n;
  for (int k = 0; good && k < n; k++) {
    double w = want(&p[k]), x = at(t, k);
    good = (isnan(w) && isnan(x)) || fabs(x - w) <= tol * (1 + fabs(w));
    if (!good) tap_diag("result %d: %.9g, wanted %.9g", k, x, w);
  }
  dl_tensor_release(t);
  return good;
}

static double w_sum(const plain *p) { return p->sum; }
static double w_mean(const plain *p) { return p->sum / (double)p->n; }
static double w_top(const plain *p) { return p->top; }
static double w_low(const plain *p) { return p->low; }
static double w_var(const plain *p) { return spread(p); }
static double w_std(const plain *p) { return sqrt(spread(p)); }
static double w_norm2(const plain *p) { return sqrt(p->sum2); }
static double w_norm1(const plain *p) { return p->sum1; }
static double w_max_abs(const plain *p) { return fmax(fabs(p->top), fabs(p->low)); }
static double w_all(const plain *p) { return p->prod != 0; }
static double w_argmax(const plain *p) { return (double)p->argmax; }
static double w_argmin(const plain *p) { return (double)p->argmin; }
static double w_prod(const plain *p) { return p->prod; }

static void subset(dl_tensor *x, uint32_t mask, const char *name) {
  static plain p[4096];
  int64_t dims[DIMS];
  int nd = 0, n = fold(x, mask, p);
  for (int d = 0; d < x->ndim; d++)
    if (mask & (1u << d)) dims[nd++] = d;
  double tol = x->dtype == DL_F16 ? 2e-3 : x->dtype == DL_F32 ? 2e-5 : 1e-12;
  const dl_arg L_ = L(dims, nd);
  bool good = agree(RUN(sum_dim, T(x), L_), p, n, w_sum, tol);
  good &= agree(RUN(amax, T(x), L_, B(true)), p, n, w_top, 0);
  good &= agree(RUN(amin, T(x), L_), p, n, w_low, 0);
  good &= agree(RUN(all, T(x), L_), p, n, w_all, 0);
  if (dl_dtype_is_float((dl_dtype)x->dtype)) {
    good &= agree(RUN(mean_dim, T(x), L_, B(true)), p, n, w_mean, tol);
    good &= agree(RUN(var, T(x), L_), p, n, w_var, tol * 10);
    good &= agree(RUN(std, T(x), L_), p, n, w_std, tol * 10);
    good &= agree(RUN(norm, T(x), F(2), L_), p, n, w_norm2, tol);
    good &= agree(RUN(norm, T(x), F(1), L_), p, n, w_norm1, tol);
    good &= agree(RUN(norm, T(x), F(INFINITY), L_), p, n, w_max_abs, tol);
  }
  if (nd == 1) {
    good &= agree(RUN(argmax, T(x), I(dims[0])), p, n, w_argmax, 0);
    good &= agree(RUN(argmin, T(x), I(dims[0]), B(true)), p, n, w_argmin, 0);
    good &= agree(RUN(max_dim, T(x), I(dims[0])), p, n, w_top, 0);
    if (dl_dtype_is_float((dl_dtype)x->dtype) && x->dtype != DL_F16 && p->n < 8)
      good &= agree(RUN(prod_dim, T(x), I(dims[0])), p, n, w_prod, tol * 10);
  }
  ok(good, "%s %s over dims mask %u", dl_dtypes[x->dtype].name, name, mask);
}

static void layouts(dl_dtype d, const int64_t *size) {
  dl_tensor *x = make(d, size, DIMS, values, 97);
  dl_tensor *turned = RUN(permute, T(x), L(((int64_t[]){2, 0, 1}), 3));
  dl_tensor *thin = RUN(slice, T(x), I(2), I(1), NIL, I(2));
  for (uint32_t mask = 1; mask < 8; mask++) {
    subset(x, mask, "contiguous");
    subset(turned, mask, "permuted");
    subset(thin, mask, "every second");
  }
  dl_tensor *all[] = {x, turned, thin};
  for (int k = 0; k < 3; k++) dl_tensor_release(all[k]);
}

/* ---- exact sums ------------------------------------------------------------------------- */
static dl_tensor *full(int64_t n, float v) {
  dl_tensor *t = NULL;
  dl_tensor_new(DL_DEV_CPU, DL_F32, 1, &n, &t);
  for (int64_t i = 0; i < n; i++) ((float *)t->data)[i] = v;
  return t;
}

static void exact(void) {
  dl_tensor *x = full(10000000, 0.1f), *ones = full(1 << 25, 1.0f);
  is_tensor(RUN(sum, T(x)), DL_F32, NUMS(999999.5625), 0, "full(1e7, 0.1).sum() is 999999.5625");
  is_tensor(RUN(sum, T(ones)), DL_F32, NUMS(33554432), 0, "ones(2^25).sum() is exact");
  dl_tensor_release(x);
  dl_tensor_release(ones);
  dl_tensor *h = make(DL_F16, SIZE(10000), NUMS(1)), *tenth = make(DL_F16, SIZE(4096), NUMS(0.1));
  is_tensor(RUN(sum, T(h)), DL_F16, NUMS(10000), 0, "10,000 halves are summed in float");
  is_tensor(RUN(sum, T(tenth)), DL_F16, NUMS(409.5), 0, "half full(4096, 0.1).sum() is 409.5");
  dl_tensor_release(h);
  dl_tensor_release(tenth);
}

static void special(void) {
  dl_tensor *ties = VEC(DL_F32, 3, 5, 5, 1), *nans = VEC(DL_F32, 1, NAN, 7, NAN);
  is_tensor(RUN(argmax, T(ties)), DL_I64, NUMS(1), 0, "the first of two largest");
  is_tensor(RUN(argmax, T(nans)), DL_I64, NUMS(1), 0, "the first nan is the largest");
  is_tensor(RUN(argmin, T(nans)), DL_I64, NUMS(1), 0, "the first nan is the smallest");
  is_tensor(RUN(max, T(nans)), DL_F32, NUMS(NAN), 0, "max of nan is nan");
  is_tensor(RUN(amin, T(nans)), DL_F32, NUMS(NAN), 0, "amin of nan is nan");
  dl_tensor *i8 = VEC(DL_I8, 100, 100, 100), *t = VEC(DL_BOOL, 1, 1, 0), *u = VEC(DL_U8, 1, 0);
  is_tensor(RUN(sum, T(i8)), DL_I64, NUMS(300), 0, "sum of int8 is int64");
  is_tensor(RUN(sum, T(t)), DL_I64, NUMS(2), 0, "sum of bool counts");
  is_tensor(RUN(prod, T(i8)), DL_I64, NUMS(1e6), 0, "prod of int8 is int64");
  is_tensor(RUN(sum, T(i8), DT(DL_F32)), DL_F32, NUMS(300), 0, "sum{dtype=float32}");
  is_tensor(RUN(all, T(u)), DL_U8, NUMS(0), 0, "all of uint8 is uint8");
  is_tensor(RUN(any, T(t)), DL_BOOL, NUMS(1), 0, "any of bool");
  is_tensor(RUN(norm, T(ties), F(0)), DL_F32, NUMS(4), 0, "the 0-norm counts");
  is_tensor(RUN(norm, T(ties), F(3)), DL_F32, NUMS(cbrt(278)), 1e-6, "the 3-norm");
  is_tensor(RUN(norm, T(ties), F(-INFINITY)), DL_F32, NUMS(1), 0, "the -inf-norm is the smallest");
  dl_tensor *low = VEC(DL_F32, -INFINITY, -INFINITY);
  is_tensor(RUN(argmax, T(low)), DL_I64, NUMS(0), 0, "argmax of -inf");
  is_tensor(RUN(cumsum, T(i8), I(0)), DL_I64, NUMS(100, 200, 300), 0, "cumsum of int8 is int64");
  is_tensor(RUN(cumprod, T(ties), I(0)), DL_F32, NUMS(3, 15, 75, 75), 0, "cumprod");
  is_tensor(RUN(count_nonzero, T(nans)), DL_I64, NUMS(4), 0, "nan is not zero");
  dl_tensor *all[] = {ties, nans, i8, t, u, low};
  for (int k = 0; k < 6; k++) dl_tensor_release(all[k]);
}

static void empty(void) {
  dl_tensor *e = make(DL_F32, SIZE(0), NUMS(0)), *m = make(DL_F32, SIZE(0, 3), NUMS(0));
  is_tensor(RUN(sum, T(e)), DL_F32, NUMS(0), 0, "sum of nothing is 0");
  is_tensor(RUN(prod, T(e)), DL_F32, NUMS(1), 0, "prod of nothing is 1");
  is_tensor(RUN(mean, T(e)), DL_F32, NUMS(NAN), 0, "mean of nothing is nan");
  is_tensor(RUN(all, T(e)), DL_BOOL, NUMS(1), 0, "all of nothing is true");
  is_tensor(RUN(sum_dim, T(m), L(((int64_t[]){0}), 1)), DL_F32, NUMS(0, 0, 0), 0,
            "sum over an empty dim");
  refuses(
      "RuntimeError: max(): Expected reduction dim to be specified for input.numel() == 0. Specify "
      "the reduction dim with the 'dim' argument.",
      "max of nothing", max, T(e));
  refuses("IndexError: argmax(): Expected reduction dim to be specified for input.numel() == 0.",
          "argmax of nothing", argmax, T(e));
  refuses("IndexError: amax(): Expected reduction dim 0 to have non-zero size.",
          "amax over an empty dim", amax, T(m), L(((int64_t[]){0}), 1));
  refuses(
      "RuntimeError: linalg.vector_norm cannot compute the inf norm on an empty tensor because the "
      "operation does not have an identity",
      "inf-norm of nothing", norm, T(e), F(INFINITY));
  dl_tensor *i = VEC(DL_I64, 1, 2);
  refuses("NotImplementedError: mean(): could not infer output dtype. Input dtype must be either a "
          "floating point or complex dtype. Got: Long", "mean of ints", mean, T(i));
  refuses("NotImplementedError: std and var only support floating point and complex dtypes",
          "var of ints", var, T(i));
  refuses("IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 5)",
          "sum over dim 5", sum_dim, T(i), L(((int64_t[]){5}), 1));
  refuses("RuntimeError: dim 0 appears multiple times in the list of dims", "a dim twice", sum_dim,
          T(i), L(((int64_t[]){0, 0}), 2));
  dl_tensor *all[] = {e, m, i};
  for (int k = 0; k < 3; k++) dl_tensor_release(all[k]);
}

/* ---- any number of threads -------------------------------------------------------------- */
static bool same(dl_tensor *a, dl_tensor *b) {
  bool good = a && b && a->numel == b->numel &&
              !memcmp(a->data, b->data, (size_t)a->numel * dl_dtype_size((dl_dtype)a->dtype));
  dl_tensor_release(a);
  dl_tensor_release(b);
  return good;
}
#define THREADS(name, id, ...)                                                       \
  do {                                                                               \
    dl_set_threads(1);                                                               \
    dl_tensor *one_ = RUN(id, __VA_ARGS__);                                          \
    dl_set_threads(3);                                                               \
    ok(same(one_, RUN(id, __VA_ARGS__)), "three threads change no bit of %s", name); \
  } while (0)

static void threads(void) {
  int64_t n = 600011, inner = 1, size[2] = {200, 3000};
  dl_tensor *x = NULL;
  dl_tensor_new(DL_DEV_CPU, DL_F32, 1, &n, &x);
  for (int64_t i = 0; i < n; i++) ((float *)x->data)[i] = (float)(i * 7919 % 10007) / 1000 - 5;
  dl_tensor *part = RUN(slice, T(x), I(0), I(0), I(600000), I(1)),
            *m = RUN(view, T(part), L(size, 2));
  int64_t outer = 0;
  THREADS("a long sum", sum, T(x));
  THREADS("a long norm", norm, T(x));
  THREADS("a long variance", var, T(x));
  THREADS("a long argmax", argmax, T(x));
  THREADS("row sums", sum_dim, T(m), L(&inner, 1));
  THREADS("column sums", sum_dim, T(m), L(&outer, 1));
  THREADS("column variances", var, T(m), L(&outer, 1));
  THREADS("softmax of rows", _softmax, T(m), I(1));
  THREADS("softmax of columns", _softmax, T(m), I(0));
  THREADS("cumsum of columns", cumsum, T(m), I(0));
  dl_tensor *all[] = {x, part, m};
  for (int k = 0; k < 3; k++) dl_tensor_release(all[k]);
}

int main(void) {
  dl_mem_init();
  dl_op_init();
  for (int i = 0; i < 97; i++) values[i] = (i * 41 % 97) / 4.0 - 11;
  static const dl_dtype dtypes[] = {DL_F32, DL_F64, DL_I64, DL_I32, DL_F16};
  for (int k = 0; k < 5; k++) {
    layouts(dtypes[k], (int64_t[]){3, 5, 7});
    layouts(dtypes[k], (int64_t[]){4, 1, 70});
  }
  layouts(DL_F32, (int64_t[]){2, 300, 6});
  exact();
  special();
  empty();
  threads();
  is_int(dl_tensors_live, 0, "nothing leaks");
  return tap_done();
}
