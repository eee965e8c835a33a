/* math32.h -- float32 elementary functions, equal bit for bit on every machine
 *
 * For formulas.h and for kernels that need exp, log, tanh … of a float (softmax, attention).
 * Plain C that gcc vectorises: no includes, no branches but selects, no libc. Frequent functions
 * (exp, log, tanh, erf) work in float with an explicit fused multiply-add; rare ones (sin, pow,
 * atan …) work in double without any, and are right to the last bit nearly always.
 *
 * INVARIANT  The same argument gives the same bits on x86-64, -v3, -v4, ARM and CUDA. Compile with
 *            -ffp-contract=off. Error at most 2 ulp (tests/c/pw_math.c holds each to its bound).
 * SOURCE     Own minimax fits (Lawson's iteration on 400 Chebyshev nodes, coefficients rounded one
 *            after another); reductions after Cody and Waite, and Payne and Hanek. */
#ifndef DL_MATH32_H
#define DL_MATH32_H

#ifndef DL_FN
#define DL_FN static inline __attribute__((always_inline, unused))
#endif
#ifndef DL_TABLE
#define DL_TABLE static const
#endif

typedef unsigned int dl_u32;
typedef unsigned long long dl_u64;
typedef union { float f; dl_u32 u; } dl_pun32;
typedef union { double f; dl_u64 u; } dl_pun64;

DL_FN dl_u32 dl_bits32(float x) { dl_pun32 p; p.f = x; return p.u; }
DL_FN float dl_float32(dl_u32 u) { dl_pun32 p; p.u = u; return p.f; }
DL_FN dl_u64 dl_bits64(double x) { dl_pun64 p; p.f = x; return p.u; }
DL_FN double dl_float64(dl_u64 u) { dl_pun64 p; p.u = u; return p.f; }

#define DL_INF32 dl_float32(0x7f800000u)
#define DL_NAN32 dl_float32(0x7fc00000u)
#define DL_INF64 dl_float64(0x7ff0000000000000ull)

/* a * b + c rounded once. Without the instruction: the product is exact in double; the sum is
 * rounded to odd (its last bit set when inexact), which makes the second rounding harmless. */
#ifndef DL_FMA
#if defined(__FP_FAST_FMAF) || defined(__FMA__) || defined(__aarch64__)
#define DL_FMA(a, b, c) __builtin_fmaf(a, b, c)
#else
#define DL_FMA(a, b, c) dl_fma_odd(a, b, c)
#endif
#endif
DL_FN float dl_fma_odd(float a, float b, float c) {
  double p = (double)a * (double)b, q = (double)c, s = p + q, t = s - p;
  double e = (p - (s - t)) + (q - t), size = dl_float64(dl_bits64(e) & 0x7fffffffffffffffull);
  dl_u64 u = dl_bits64(s), inexact = dl_bits64(size > 0.0 ? 1.0 : 0.0) >> 52;
  dl_u64 towards_zero = (dl_bits64(e) ^ u) >> 63, step = 1 - (towards_zero << 1);
  return (float)dl_float64(u + (step & (0 - (inexact & ~u & 1))));
}

/* test ? p : q by masks, where a chain of selects would tempt the compiler into branches */
DL_FN float dl_pick32(int test, float p, float q) {
  dl_u32 m = 0u - (dl_u32)test;
  return dl_float32((dl_bits32(p) & m) | (dl_bits32(q) & ~m));
}
DL_FN double dl_pick64(int test, double p, double q) {
  dl_u64 m = 0ull - (dl_u64)test;
  return dl_float64((dl_bits64(p) & m) | (dl_bits64(q) & ~m));
}

#ifndef DL_SQRT32
#define DL_SQRT32(x) __builtin_sqrtf(x)
#define DL_SQRT64(x) __builtin_sqrt(x)
#endif
DL_FN float dl_abs32(float x) { return dl_float32(dl_bits32(x) & 0x7fffffffu); }
DL_FN double dl_abs64(double x) { return dl_float64(dl_bits64(x) & 0x7fffffffffffffffull); }
/* magnitude of x, sign of s */
DL_FN float dl_copysign32(float x, float s) {
  return dl_float32((dl_bits32(x) & 0x7fffffffu) | (dl_bits32(s) & 0x80000000u));
}
DL_FN double dl_copysign64(double x, double s) {
  dl_u64 sign = dl_bits64(s) & 0x8000000000000000ull;
  return dl_float64((dl_bits64(x) & 0x7fffffffffffffffull) | sign);
}

/* 2^k for k in [-126, 127] */
DL_FN float dl_pow2i(int k) { return dl_float32((dl_u32)(k + 127) << 23); }
/* p * 2^k for k in [-152, 130]: two steps, so that overflow and subnormals round once */
DL_FN float dl_scale32(float p, int k) {
  int h = k >> 1;
  return p * dl_pow2i(h) * dl_pow2i(k - h);
}
#define DL_ROUND32 12582912.0f            /* 1.5 * 2^23: adding it rounds to the nearest integer */
#define DL_ROUND64 6755399441055744.0     /* 1.5 * 2^52 */

/* ---- exponentials ----------------------------------------------------------------------- */
/* x = k ln2 + r with |r| <= ln2/2; *k as an integer */
DL_FN float dl_exp_reduce(float x, int *k) {
  float t = DL_FMA(x, 1.44269502f, DL_ROUND32), n = t - DL_ROUND32;
  *k = (int)(dl_bits32(t) - 0x4b400000u);
  return DL_FMA(n, 1.90465421e-9f, DL_FMA(n, -0.693147182f, x));
}
/* e^r for |r| <= ln2/2 */
DL_FN float dl_exp_poly(float r) {
  float q = DL_FMA(0.00138204382f, r, 0.00836868118f);
  q = DL_FMA(q, r, 0.0416682698f);
  q = DL_FMA(q, r, 0.166665211f);
  q = DL_FMA(q, r, 0.49999994f);
  return DL_FMA(r * r, q, r) + 1.0f;
}
DL_FN float dl_exp32(float x) {
  int k;
  float c = x > 89.0f ? 89.0f : x;
  c = dl_pick32(c < -104.0f, -104.0f, c);
  float r = dl_exp_reduce(c, &k);
  return dl_scale32(dl_exp_poly(r), k);
}
/* the same bits for |x| <= 87, where one step of scaling will do */
DL_FN float dl_exp_mid32(float x) {
  int k;
  float r = dl_exp_reduce(x, &k);
  return dl_exp_poly(r) * dl_pow2i(k);
}
DL_FN float dl_expm1_32(float x) {
  int k;
  float c = x > 89.0f ? 89.0f : x;
  c = c < -18.0f ? -18.0f : c;
  float r = dl_exp_reduce(c, &k);
  float q = DL_FMA(0.000199442613f, r, 0.00139326788f);
  q = DL_FMA(q, r, 0.00833320804f);
  q = DL_FMA(q, r, 0.0416664891f);
  q = DL_FMA(q, r, 0.166666672f);
  q = DL_FMA(q, r, 0.5f);
  float p = DL_FMA(r * r, q, r), half = dl_pow2i(k - 1);
  float far = DL_FMA(p, half, half - 0.5f) * 2.0f;
  p = x == 0.0f ? x : p;
  return k == 0 ? p : far;
}
DL_FN float dl_exp2_32(float x) {
  float c = x > 129.0f ? 129.0f : x;
  c = c < -151.0f ? -151.0f : c;
  float t = c + DL_ROUND32, r = c - (t - DL_ROUND32);
  float q = DL_FMA(1.46735129e-05f, r, 0.000154518581f);
  q = DL_FMA(q, r, 0.00133366592f);
  q = DL_FMA(q, r, 0.00961808767f);
  q = DL_FMA(q, r, 0.0555040613f);
  q = DL_FMA(q, r, 0.240226507f);
  q = DL_FMA(q, r, 0.693147182f);
  return dl_scale32(DL_FMA(q, r, 1.0f), (int)(dl_bits32(t) - 0x4b400000u));
}
/* 1 / (1 + e^-x), without cancellation or overflow on either side */
DL_FN float dl_sigmoid32(float x) {
  float z = dl_exp32(-dl_abs32(x)), s = 1.0f / (1.0f + z);
  return x < 0.0f ? z * s : s;
}
DL_FN float dl_tanh32(float x) {
  float a = dl_abs32(x), s = x * x;
  float p = DL_FMA(0.0021842136f, s, -0.00822064187f);
  p = DL_FMA(p, s, 0.0217174701f);
  p = DL_FMA(p, s, -0.0539496951f);
  p = DL_FMA(p, s, 0.133332282f);
  p = DL_FMA(p, s, -0.333333313f);
  float near = DL_FMA(p * s, a, a);
  float far = 1.0f - 2.0f / (dl_exp_mid32(a > 40.0f ? 80.0f : a + a) + 1.0f);
  return dl_copysign32(a < 0.6f ? near : far, x);
}

/* ---- logarithms ------------------------------------------------------------------------- */
/* x = 2^k (1 + f), f in [-0.293, 0.415]: returns log(1 + f) - f, and f, k */
DL_FN float dl_log_core(float x, float *f, float *k) {
  int tiny = x < 1.17549435e-38f;
  dl_u32 u = dl_bits32(tiny ? x * 16777216.0f : x) - 0x3f3504f3u;
  float g = dl_float32((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f, s = g * g;
  *k = (float)(((int)u >> 23) - (tiny ? 24 : 0));
  *f = g;
  float p = DL_FMA(0.0674953982f, g, -0.116701849f);
  p = DL_FMA(p, g, 0.118834719f);
  p = DL_FMA(p, g, -0.124062084f);
  p = DL_FMA(p, g, 0.142203629f);
  p = DL_FMA(p, g, -0.166679904f);
  p = DL_FMA(p, g, 0.200020716f);
  p = DL_FMA(p, g, -0.250000089f);
  p = DL_FMA(p, g, 0.333333135f);
  return DL_FMA(-0.5f, s, p * (g * s));
}
/* what a logarithm gives outside (0, inf) */
DL_FN float dl_log_edges(float x, float inside) {
  float low = x == 0.0f ? -DL_INF32 : x < 0.0f ? DL_NAN32 : x;
  return x > 0.0f ? (x < DL_INF32 ? inside : x) : low;
}
DL_FN float dl_log32(float x) {
  float f, k, t = dl_log_core(x, &f, &k);
  return dl_log_edges(x, DL_FMA(k, 0.693147182f, f + DL_FMA(k, -1.90465421e-9f, t)));
}
/* log(1+f) in base b as k*hi + f*hi + (small terms) */
DL_FN float dl_log2_32(float x) {
  float f, k, t = dl_log_core(x, &f, &k);
  float low = DL_FMA(f, 1.92596299e-08f, t * 1.44269502f);
  float head = f * 1.44269502f, rest = DL_FMA(f, 1.44269502f, -head) + low;
  float sum = k + head, gone = (k - (sum - (sum - k))) + (head - (sum - k));
  return dl_log_edges(x, sum + (gone + rest));
}
DL_FN float dl_log10_32(float x) {
  float f, k, t = dl_log_core(x, &f, &k);
  float low = DL_FMA(f, -1.01030501e-08f, t * 0.434294492f);
  float head = k * 0.30103001f;
  low = DL_FMA(k, -1.43209889e-08f, DL_FMA(k, 0.30103001f, -head) + low);
  float b = f * 0.434294492f, sum = head + b, bb = sum - head;
  float gone = (head - (sum - bb)) + (b - bb);
  return dl_log_edges(x, sum + (gone + (DL_FMA(f, 0.434294492f, -b) + low)));
}
DL_FN float dl_log1p32(float x) {
  float u = 1.0f + x, c = (u - 1.0f) - x;
  float f, k, t = dl_log_core(u, &f, &k);
  float fix = -c / u;
  float inside = DL_FMA(k, 0.693147182f, f + (DL_FMA(k, -1.90465421e-9f, t) + fix));
  inside = u == 1.0f ? x : inside;
  return dl_log_edges(u, inside);
}

/* ---- error function --------------------------------------------------------------------- */
/* erf(a) for a in [0, 0.92] through *near; erfc(a) above; returns erfc (0 above 4.05) */
DL_FN float dl_erf_parts(float a, float *near) {
  float s = a * a;
  float p = DL_FMA(7.96726963e-05f, s, -0.000804343377f);
  p = DL_FMA(p, s, 0.00519192591f);
  p = DL_FMA(p, s, -0.0268555842f);
  p = DL_FMA(p, s, 0.112836242f);
  p = DL_FMA(p, s, -0.376126289f);
  p = DL_FMA(p, s, 0.128379166f);
  *near = DL_FMA(p, a, a);
  float q = DL_FMA(-1.69982668e-05f, a, 0.00037980979f);
  q = DL_FMA(q, a, -0.00387098431f);
  q = DL_FMA(q, a, 0.0242404528f);
  q = DL_FMA(q, a, -0.106795155f);
  q = DL_FMA(q, a, -0.634796381f);
  q = DL_FMA(q, a, -1.12875628f);
  q = DL_FMA(q, a, 1.00364732e-05f);
  return a > 4.05f ? 0.0f : dl_exp_mid32(q);
}
DL_FN float dl_erf32(float x) {
  float a = dl_abs32(x), near, c = dl_erf_parts(a, &near);
  return dl_copysign32(a < 0.92f ? near : 1.0f - c, x);
}
/* The normal distribution function (1 + erf(x / sqrt 2)) / 2, without cancellation below 0:
 * within 1e-7, relative 2e-6. Below 0 it is 2^(a q - 1) with a = |x|; 0 from -5.9 on. */
DL_FN float dl_phi32(float x) {
  float a = dl_abs32(x);
  float s = a * a; /* even and odd powers apart: two short chains */
  float odd = DL_FMA(-2.35774706e-08f, s, -9.63196271e-06f);
  float even = DL_FMA(7.28837904e-07f, s, 6.90666857e-05f);
  odd = DL_FMA(odd, s, -0.000255734136f);
  even = DL_FMA(even, s, -4.61336422e-05f);
  odd = DL_FMA(odd, s, 0.00699857995f);
  even = DL_FMA(even, s, -0.0524727106f);
  odd = DL_FMA(odd, s, -0.459211826f);
  even = DL_FMA(even, s, -1.15110505f);
  float q = DL_FMA(odd, a, even);
  float t = DL_FMA(q, a, DL_ROUND32), r = DL_FMA(q, a, DL_ROUND32 - t), z = r * r;
  odd = DL_FMA(0.000669540314f, z, 0.0277517997f);
  even = DL_FMA(7.66323064e-05f, z, 0.00480925292f);
  odd = DL_FMA(odd, z, 0.346573591f);
  even = DL_FMA(even, z, 0.120113239f);
  float p = DL_FMA(even, z, DL_FMA(odd, r, 0.5f));
  float c = dl_float32(dl_bits32(p) + (dl_bits32(t) << 23));
  c = a > 5.9f ? 0.0f : c;
  return x < 0.0f ? c : 1.0f - c;
}

/* ---- in double: powers ------------------------------------------------------------------ */
/* log2 of a float's magnitude a > 0 */
DL_FN double dl_log2_64(double a) {
  dl_u64 u = dl_bits64(a) - 0x3fe6a09e667f3bcdull + 0x3ff0000000000000ull;
  double k = dl_float64((u >> 52) | 0x4330000000000000ull) - 4503599627371519.0; /* 2^52 + 1023 */
  double m = dl_float64((u & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
  double s = (m - 1.0) / (m + 1.0), z = s * s;
  double p = z * 0.16819981444157936 + 0.18123629819951084;
  p = p * z + 0.22223372059427304;
  p = p * z + 0.2857141712479635;
  p = p * z + 0.40000000052302342;
  p = p * z + 0.6666666666658716;
  return (2.0 * s + s * z * p) * 1.4426950408889634 + k;
}
DL_FN double dl_exp2_64(double x) {
  double c = x > 200.0 ? 200.0 : x;
  c = c < -200.0 ? -200.0 : c;
  double t = c + DL_ROUND64, r = c - (t - DL_ROUND64);
  double q = r * 1.0210929872749913e-07 + 1.3258554888254287e-06;
  q = q * r + 1.5252645253669359e-05;
  q = q * r + 0.00015403439848936956;
  q = q * r + 0.0013333558250957537;
  q = q * r + 0.0096181291826313003;
  q = q * r + 0.055504108664324446;
  q = q * r + 0.24022650695716968;
  q = q * r + 0.69314718055995139;
  return (q * r + 1.0) * dl_float64((dl_bits64(t) + 1023) << 52);
}
/* C's powf, edges included */
DL_FN float dl_pow32(float x, float y) {
  double a = (double)dl_abs32(x), e = (double)y, w = dl_abs64(e);
  double l = dl_log2_64(a);
  l = a == 0.0 ? -DL_INF64 : a < DL_INF64 ? l : a;
  float r = (float)dl_exp2_64(e * l);
  double half = 0.5 * w, near = half + DL_ROUND64 - DL_ROUND64;
  double whole = w + DL_ROUND64 - DL_ROUND64;
  int big = w >= 16777216.0, integer = big | (whole == w), odd = (!big) & integer & (near != half);
  int negative = (dl_bits32(x) >> 31) & 1;
  r = (negative & odd) ? -r : r;
  r = (negative & (!integer) & (a > 0.0) & (a < DL_INF64)) ? DL_NAN32 : r;
  r = ((a == 1.0) & (w == DL_INF64)) ? 1.0f : r;
  return ((y == 0.0f) | (x == 1.0f)) ? 1.0f : r;
}
DL_FN float dl_sinh32(float x) {
  double a = (double)dl_abs32(x), z = a * a, e = dl_exp2_64(a * 1.4426950408889634);
  double p = z * 2.5530304838465575e-08 + 2.7552053407355568e-06;
  p = p * z + 0.0001984129612519803;
  p = p * z + 0.0083333332761096751;
  p = p * z + 0.16666666667071153;
  double r = a < 1.0 ? a + a * z * p : 0.5 * (e - 1.0 / e);
  return dl_copysign32((float)r, x);
}
DL_FN float dl_cosh32(float x) {
  double e = dl_exp2_64((double)dl_abs32(x) * 1.4426950408889634);
  return (float)(0.5 * (e + 1.0 / e));
}
DL_FN float dl_hypot32(float x, float y) {
  double a = (double)x, b = (double)y;
  float r = (float)DL_SQRT64(a * a + b * b);
  return ((int)(dl_abs32(x) == DL_INF32) | (dl_abs32(y) == DL_INF32)) ? DL_INF32 : r;
}

/* ---- in double: circular functions ------------------------------------------------------ */
DL_FN double dl_sin_poly(double r) {
  double s = r * r;
  double p = s * -2.4760758072693292e-08 + 2.7555345650031269e-06;
  p = p * s - 0.00019841263767201279;
  p = p * s + 0.0083333333251721393;
  p = p * s - 0.16666666666631053;
  return r * (1.0 + s * p);
}
DL_FN double dl_cos_poly(double r) {
  double s = r * r;
  double p = s * 2.0646998927555907e-09 - 2.7555555785904402e-07;
  p = p * s + 2.4801580910033576e-05;
  p = p * s - 0.0013888888878136215;
  p = p * s + 0.04166666666660121;
  return 1.0 - 0.5 * s + s * s * p;
}
/* |x| <= 2^20: x = q pi/2 + r, |r| <= pi/4; q modulo 4 */
DL_FN double dl_turn_near(float x, dl_u32 *q) {
  double d = (double)x, t = d * 0.63661977236758138 + DL_ROUND64, n = t - DL_ROUND64;
  *q = (dl_u32)dl_bits64(t) & 3;
  return d - n * 1.5707963267341256 - n * 6.0771005065061922e-11;
}
DL_TABLE dl_u32 dl_two_over_pi[10] = {
  0,           0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
  0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au,
};
/* |x| > 2^20: the 96 bits of 2/pi that matter for x modulo a full turn, times x's 24 bits */
DL_FN double dl_turn_far(float x, dl_u32 *q) {
  dl_u32 u = dl_bits32(x), m = (u & 0x007fffffu) | 0x00800000u;
  dl_u32 skip = ((u >> 23) & 255u) - 120u; /* exponent of the last bit, + 30 */
  dl_u32 j = skip >> 5, sh = skip & 31u;
  j = j > 6u ? 0u : j;                     /* inf, nan, small x: any value will do */
  dl_u64 w0 = dl_two_over_pi[j], w1 = dl_two_over_pi[j + 1], w2 = dl_two_over_pi[j + 2];
  dl_u64 w3 = dl_two_over_pi[j + 3];
  dl_u64 a = (((w0 << 32) | w1) << sh) >> 32, b = (((w1 << 32) | w2) << sh) >> 32;
  dl_u64 c = (((w2 << 32) | w3) << sh) >> 32;
  dl_u64 mid = m * b + ((m * c) >> 32), h = ((m * a) << 32) + mid;
  dl_u64 n = (h + (1ull << 61)) >> 62;
  long long frac = (long long)(h - (n << 62));
  double r = (double)frac * 3.4061215800304457e-19; /* pi/2 * 2^-62 */
  int negative = (int)(u >> 31);
  *q = (dl_u32)(negative ? 0 - n : n) & 3;
  return negative ? -r : r;
}
DL_FN float dl_sin_of(double r, dl_u32 q) {
  double v = q & 1 ? dl_cos_poly(r) : dl_sin_poly(r);
  return (float)(q & 2 ? -v : v);
}
DL_FN float dl_tan_of(double r, dl_u32 q) {
  double s = dl_sin_poly(r), c = dl_cos_poly(r);
  return (float)((q & 1 ? -c : s) / (q & 1 ? s : c));
}
#define DL_TURN_LIMIT 1048576.0f /* 2^20 radians */
DL_FN int dl_turn_is_near(float x) { return dl_abs32(x) <= DL_TURN_LIMIT; }
DL_FN float dl_sin_near(float x) {
  dl_u32 q;
  double r = dl_turn_near(x, &q);
  return dl_sin_of(r, q);
}
DL_FN float dl_cos_near(float x) {
  dl_u32 q;
  double r = dl_turn_near(x, &q);
  return dl_sin_of(r, q + 1);
}
DL_FN float dl_tan_near(float x) {
  dl_u32 q;
  double r = dl_turn_near(x, &q);
  return dl_tan_of(r, q);
}
DL_FN double dl_turn(float x, dl_u32 *q) {
  dl_u32 qn, qf;
  double n = dl_turn_near(x, &qn), f = dl_turn_far(x, &qf);
  int near = dl_turn_is_near(x);
  *q = near ? qn : qf;
  return near ? n : f + (double)(x - x); /* inf and nan give nan */
}
DL_FN float dl_sin32(float x) {
  dl_u32 q;
  double r = dl_turn(x, &q);
  return dl_sin_of(r, q);
}
DL_FN float dl_cos32(float x) {
  dl_u32 q;
  double r = dl_turn(x, &q);
  return dl_sin_of(r, q + 1);
}
DL_FN float dl_tan32(float x) {
  dl_u32 q;
  double r = dl_turn(x, &q);
  return dl_tan_of(r, q);
}

/* ---- in double: inverse functions ------------------------------------------------------- */
DL_FN double dl_asin_64(double x) {
  double a = dl_abs64(x), z = a > 0.5 ? 0.5 * (1.0 - a) : a * a, b = a > 0.5 ? DL_SQRT64(z) : a;
  double p = z * 0.031975353843853568 - 0.0028753029964214078;
  p = p * z + 0.018637908817742927;
  p = p * z + 0.016475956227123386;
  p = p * z + 0.022471552859754069;
  p = p * z + 0.030375213504220063;
  p = p * z + 0.04464311332610061;
  p = p * z + 0.074999995238060488;
  p = p * z + 0.16666666669708488;
  double r = b + b * z * p;
  return dl_copysign64(a > 0.5 ? 1.5707963267948966 - 2.0 * r : r, x);
}
DL_FN float dl_asin32(float x) { return (float)dl_asin_64((double)x); }
DL_FN float dl_acos32(float x) { return (float)(1.5707963267948966 - dl_asin_64((double)x)); }
/* atan(q) for |q| <= tan(pi/8) */
DL_FN double dl_atan_poly(double q) {
  double s = q * q;
  double p = s * -0.037957106312946083 + 0.069931666716013724;
  p = p * s - 0.089972931255276514;
  p = p * s + 0.11104055649597973;
  p = p * s - 0.14285426613662547;
  p = p * s + 0.19999994405804747;
  p = p * s - 0.33333333296428969;
  return q + q * s * p;
}
/* the angle of the point (x, y) in [-pi, pi]: folded into the first eighth, then out again */
DL_FN float dl_atan2_32(float fy, float fx) {
  double y = dl_abs64((double)fy), x = dl_abs64((double)fx);
  double num = y > x ? x : y, den = y > x ? y : x;
  int mid = num > den * 0.41421356237309503;
  double q = (mid ? num - den : num) / (mid ? num + den : den);
  q = den == 0.0 ? 0.0 : num == DL_INF64 ? 0.0 : q; /* (0,0) and the infinite diagonal */
  double r = dl_atan_poly(q) + ((mid | (num == DL_INF64)) ? 0.78539816339744831 : 0.0);
  r = y > x ? 1.5707963267948966 - r : r;
  r = dl_bits32(fx) >> 31 ? 3.1415926535897931 - r : r;
  float out = dl_copysign32((float)r, fy);
  return ((fx != fx) | (fy != fy)) ? DL_NAN32 : out;
}
DL_FN float dl_atan32(float x) {
  double a = dl_abs64((double)x);
  double q = (a - 1.0) / (a + 1.0), far = -1.0 / a;
  int small = a < 0.41421356237309503, big = a > 2.4142135623730950;
  double from = dl_pick64(big, 1.5707963267948966, dl_pick64(small, 0.0, 0.78539816339744831));
  double in = dl_pick64(big, far, dl_pick64(small, a, q));
  return dl_copysign32((float)(from + dl_atan_poly(in)), x);
}

/* ---- remainders: exact, as C's fmodf ---------------------------------------------------- */
/* r - n y with n = nearest(r / y), moved into [0, y); exact while r / y < 2^28 */
DL_FN double dl_mod_step(double r, double y) {
  double n = r / y + DL_ROUND64 - DL_ROUND64, t = r - n * y;
  return t < 0.0 ? t + y : t;
}
DL_FN float dl_mod_edges(float x, float y, double r) {
  float m = dl_copysign32((float)r, x), b = dl_abs32(y);
  m = dl_pick32((int)(b == DL_INF32) & (dl_abs32(x) < DL_INF32), x, m);
  return dl_pick32((b == 0.0f) | (b != b) | (x - x != 0.0f), DL_NAN32, m);
}
DL_FN int dl_mod_is_near(float x, float y) { return dl_abs32(x) <= dl_abs32(y) * 67108864.0f; }
DL_FN float dl_fmod_near(float x, float y) {
  return dl_mod_edges(x, y, dl_mod_step((double)dl_abs32(x), (double)dl_abs32(y)));
}
DL_FN float dl_fmod32(float x, float y) {
  double r = (double)dl_abs32(x), b = (double)dl_abs32(y);
  r = dl_mod_step(r, b * 7.2370055773322621e75);  /* 2^252 */
  r = dl_mod_step(r, b * 2.6959946667150640e67);  /* 2^224 */
  r = dl_mod_step(r, b * 1.0043362776618689e59);  /* 2^196 */
  r = dl_mod_step(r, b * 3.7414441915671115e50);  /* 2^168 */
  r = dl_mod_step(r, b * 1.3937965749081639e42);  /* 2^140 */
  r = dl_mod_step(r, b * 5.1922968585348276e33);  /* 2^112 */
  r = dl_mod_step(r, b * 1.9342813113834067e25);  /* 2^84 */
  r = dl_mod_step(r, b * 7.2057594037927936e16);  /* 2^56 */
  r = dl_mod_step(r, b * 268435456.0);            /* 2^28 */
  return dl_mod_edges(x, y, dl_mod_step(r, b));
}

#endif
