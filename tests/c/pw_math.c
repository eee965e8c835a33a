/* pw_math.c -- float32 elementary functions against libm's double ones
 *
 * Every function of kernels/math32.h over special values, its own range and random bit patterns;
 * the error is in units of the last place of the right answer, subnormals counted as they are. */
#include "math32.h"
#include "tap.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 200000 };
static const float special[] = {0.0f,          -0.0f,
                                1.0f,          -1.0f,
                                INFINITY,      -INFINITY,
                                NAN,           1e-45f,
                                -1e-45f,       1.17549435e-38f,
                                3.4028235e38f, -3.4028235e38f,
                                0.5f,          -0.5f,
                                2.0f,          -2.0f,
                                3.0f,          -3.0f,
                                88.7f,         89.0f,
                                -87.4f,        -103.9f,
                                -104.1f,       1e-20f,
                                16777216.0f,   -16777217.0f,
                                1e10f,         4.05f,
                                0.92f,         0.6f,
                                128.0f,        -126.0f,
                                -149.0f,       2.5f};
enum { SPECIALS = sizeof special / sizeof *special };

static uint64_t state = 88172645463325252ull;
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}
static float bits(void) { return dl_float32((dl_u32)next()); }
static float between(float a, float b) {
  return a + (b - a) * (float)((double)(next() >> 40) * 0x1p-24);
}

/* Distance of `got` from `want` in units of want's last place; huge for a wrong kind of answer. */
static double ulps(float got, double want) {
  float near = (float)want;
  int e;
  if (isnan(want)) return isnan(got) ? 0 : 1e9;
  if (isinf(near)) return got == near || fabsf(got) > 3.4e38f ? 0 : 1e9;
  if (isinf(got) || isnan(got)) return 1e9;
  if (want == 0) return got == 0 && !signbit(got) == !signbit(want) ? 0 : 1e9;
  frexp(want, &e);
  return fabs((double)got - want) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

typedef struct one {
  const char *name;
  float (*fn)(float);
  double (*want)(double);
  float lo, hi;
  double bound; /* ulp */
} one;

static double sigmoid(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
#define WRAP(f) static float f##_(float x) { return dl_##f##32(x); }
WRAP(exp) WRAP(sigmoid) WRAP(tanh) WRAP(log) WRAP(log1p) WRAP(erf) WRAP(sin) WRAP(cos) WRAP(tan)
WRAP(asin) WRAP(acos) WRAP(atan) WRAP(sinh) WRAP(cosh)
static float expm1_(float x) { return dl_expm1_32(x); }
static float exp2_(float x) { return dl_exp2_32(x); }
static float log2_(float x) { return dl_log2_32(x); }
static float log10_(float x) { return dl_log10_32(x); }

static const one ones[] = {
  {"exp", exp_, exp, -110, 95, 1.1},       {"expm1", expm1_, expm1, -2, 2, 1.4},
  {"exp2", exp2_, exp2, -155, 130, 1.0},   {"sigmoid", sigmoid_, sigmoid, -110, 110, 2.6},
  {"tanh", tanh_, tanh, -10, 10, 1.5},     {"log", log_, log, 0, 3, 1.0},
  {"log2", log2_, log2, 0.3f, 3, 1.2},     {"log10", log10_, log10, 0.1f, 11, 1.1},
  {"log1p", log1p_, log1p, -1, 3, 1.0},    {"erf", erf_, erf, -4.5f, 4.5f, 1.2},
  {"sin", sin_, sin, -100, 100, 0.51},     {"cos", cos_, cos, -100, 100, 0.51},
  {"tan", tan_, tan, -100, 100, 0.51},     {"asin", asin_, asin, -1, 1, 0.51},
  {"acos", acos_, acos, -1, 1, 0.51},      {"atan", atan_, atan, -5, 5, 0.51},
  {"sinh", sinh_, sinh, -91, 91, 0.51},    {"cosh", cosh_, cosh, -91, 91, 0.51},
};

static void check_one(const one *f) {
  double worst = 0;
  float at = 0;
  for (int i = 0; i < SAMPLES; i++) {
    float x = i < SPECIALS ? special[i] : i & 1 ? between(f->lo, f->hi) : bits();
    double u = ulps(f->fn(x), f->want((double)x));
    if (u > worst) worst = u, at = x;
  }
  if (!ok(worst <= f->bound, "%s is within %.2f ulp", f->name, f->bound))
    tap_diag("%.3f ulp at %a", worst, (double)at);
}

typedef struct two {
  const char *name;
  float (*fn)(float, float);
  double (*want)(double, double);
  double bound;
} two;
static float pow_(float x, float y) { return dl_pow32(x, y); }
static float atan2_(float x, float y) { return dl_atan2_32(x, y); }
static float hypot_(float x, float y) { return dl_hypot32(x, y); }
static float fmod_(float x, float y) { return dl_fmod32(x, y); }
static const two twos[] = {{"pow", pow_, pow, 0.51},
                           {"atan2", atan2_, atan2, 0.51},
                           {"hypot", hypot_, hypot, 0.51},
                           {"fmod", fmod_, fmod, 0}};

static void check_two(const two *f) {
  double worst = 0;
  float ax = 0, ay = 0;
  for (int i = 0; i < SAMPLES; i++) {
    bool listed = i < SPECIALS * SPECIALS;
    float x = listed ? special[i / SPECIALS] : i & 1 ? between(-9, 9) : bits();
    float y = listed ? special[i % SPECIALS] : i & 2 ? between(-9, 9) : bits();
    double u = ulps(f->fn(x, y), f->want((double)x, (double)y));
    if (u > worst) worst = u, ax = x, ay = y;
  }
  if (!ok(worst <= f->bound, "%s is within %.2f ulp", f->name, f->bound))
    tap_diag("%.3f ulp at %a, %a", worst, (double)ax, (double)ay);
}

static void check_phi(void) {
  double worst = 0;
  for (int i = 0; i < SAMPLES; i++) {
    float x = between(-12, 12);
    double want = 0.5 * erfc(-(double)x * 0.70710678118654752440);
    double gap = fabs((double)dl_phi32(x) - want);
    if (gap > worst) worst = gap;
  }
  ok(worst < 1e-7, "the normal distribution function is within 1e-7 of erfc's");
}

static void check_fma(void) {
  int bad = 0;
  for (int i = 0; i < SAMPLES; i++) {
    float a = bits(), b = bits(), c = bits();
    if (i & 1) a = between(-2, 2), b = between(-2, 2), c = i & 2 ? -a * b : between(-1e-7f, 1e-7f);
    float got = dl_fma_odd(a, b, c), want = fmaf(a, b, c);
    bad += isnan(want) ? !isnan(got) : dl_bits32(got) != dl_bits32(want);
  }
  is_int(bad, 0, "multiply-add without the instruction has the instruction's bits");
}

static void check_guards(void) {
  int bad = 0;
  for (int i = 0; i < SAMPLES; i++) {
    float x = bits(), y = bits();
    if (dl_turn_is_near(x)) bad += dl_bits32(dl_sin_near(x)) != dl_bits32(dl_sin32(x));
    if (dl_mod_is_near(x, y)) {
      float p = dl_fmod_near(x, y), q = dl_fmod32(x, y);
      bad += !(isnan(p) && isnan(q)) && dl_bits32(p) != dl_bits32(q);
    }
  }
  is_int(bad, 0, "the quick forms of sin and fmod have the full forms' bits");
}

int main(void) {
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) check_one(&ones[i]);
  for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) check_two(&twos[i]);
  check_phi();
  check_fma();
  check_guards();
  return tap_done();
}
