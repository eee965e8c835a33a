/* convert.c -- n elements of one dtype into n of another, with any strides
 *
 * For copy.c. Half and bfloat16 pass through float in pieces that stay in L1, as in PyTorch,
 * where every conversion from or to them goes through float.
 *
 * INVARIANT  Strides count elements; source and destination do not overlap unless equal.
 * MUST NOT   know shapes. */
#include "convert.h"

#include <string.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3") /* these loops exist to be vectorised */
#endif

#define PIECE 512 /* elements of the float buffer: 2 KiB */

/* What a source element is worth: int32, int64, float or double … */
#define GET_BOOL(x) ((int32_t)((x) != 0))
#define GET_U8(x) ((int32_t)(x))
#define GET_I8(x) ((int32_t)(x))
#define GET_I16(x) ((int32_t)(x))
#define GET_I32(x) (x)
#define GET_I64(x) (x)
#define GET_F32(x) (x)
#define GET_F64(x) (x)
/* … and how each is stored. */
#define WRAP(to, x)                                                                 \
  _Generic((x), int32_t: (to)(uint32_t)(x), int64_t: (to)(uint64_t)(x),            \
           float: (to)dl_f32_to_i32((float)(x)),                                    \
           double: (to)dl_f64_to_i32((double)(x)))
#define PUT_BOOL(x) ((uint8_t)((x) != 0))
#define PUT_U8(x)                                                                   \
  _Generic((x), int32_t: (uint8_t)(uint32_t)(x), int64_t: (uint8_t)(uint64_t)(x),  \
           float: dl_f32_to_u8((float)(x)), double: dl_f64_to_u8((double)(x)))
#define PUT_I8(x) WRAP(int8_t, x)
#define PUT_I16(x) WRAP(int16_t, x)
#define PUT_I32(x) WRAP(int32_t, x)
#define PUT_I64(x)                                                                  \
  _Generic((x), int32_t: (int64_t)(x), int64_t: (x),                                \
           float: dl_f32_to_i64((float)(x)), double: dl_f64_to_i64((double)(x)))
#define PUT_F32(x) ((float)(x))
#define PUT_F64(x) ((double)(x))

#define LOOP(D, dt, S, stype)                                                       \
  static void S##_to_##D(char *dp, int64_t ds, const char *sp, int64_t ss,          \
                         int64_t n) {                                               \
    dt *d = (dt *)dp;                                                               \
    const stype *s = (const stype *)sp;                                             \
    if (ds == 1 && ss == 1)                                                         \
      for (int64_t i = 0; i < n; i++) d[i] = PUT_##D(GET_##S(s[i]));                \
    else                                                                            \
      for (int64_t i = 0; i < n; i++) d[i * ds] = PUT_##D(GET_##S(s[i * ss]));      \
  }
#define LOOPS_INTO(D, dt)                                                           \
  LOOP(D, dt, BOOL, uint8_t) LOOP(D, dt, U8, uint8_t) LOOP(D, dt, I8, int8_t)       \
  LOOP(D, dt, I16, int16_t) LOOP(D, dt, I32, int32_t) LOOP(D, dt, I64, int64_t)     \
  LOOP(D, dt, F32, float) LOOP(D, dt, F64, double)
LOOPS_INTO(BOOL, uint8_t)
LOOPS_INTO(U8, uint8_t)
LOOPS_INTO(I8, int8_t)
LOOPS_INTO(I16, int16_t)
LOOPS_INTO(I32, int32_t)
LOOPS_INTO(I64, int64_t)
LOOPS_INTO(F32, float)
LOOPS_INTO(F64, double)

/* ---- half and bfloat16 to and from float -------------------- */

static void BF16_to_F32(char *dp, int64_t ds, const char *sp, int64_t ss, int64_t n) {
  float *d = (float *)dp;
  const dl_bf16 *s = (const dl_bf16 *)sp;
  if (ds == 1 && ss == 1)
    for (int64_t i = 0; i < n; i++) d[i] = dl_bf16_to_f32(s[i]);
  else
    for (int64_t i = 0; i < n; i++) d[i * ds] = dl_bf16_to_f32(s[i * ss]);
}

static void F32_to_BF16(char *dp, int64_t ds, const char *sp, int64_t ss, int64_t n) {
  dl_bf16 *d = (dl_bf16 *)dp;
  const float *s = (const float *)sp;
  if (ds == 1 && ss == 1)
    for (int64_t i = 0; i < n; i++) d[i] = dl_bf16_from_f32(s[i]);
  else
    for (int64_t i = 0; i < n; i++) d[i * ds] = dl_bf16_from_f32(s[i * ss]);
}

#ifdef __x86_64__
/* The CPU's own instructions: same rounding, ten times the speed. Return how many were done. */
#define F16C __attribute__((target("avx,f16c")))
F16C static int64_t half_up8(float *d, const dl_half *s, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(d + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(s + i))));
  return i;
}
F16C static int64_t half_down8(dl_half *d, const float *s, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128((__m128i *)(d + i), _mm256_cvtps_ph(_mm256_loadu_ps(s + i), 0));
  return i;
}
/* clang 14 cannot ask for f16c; every CPU with AVX2 has it. */
static bool has_f16c(void) { return __builtin_cpu_supports("avx2"); }
#else
static int64_t half_up8(float *d, const dl_half *s, int64_t n) {
  return (void)d, (void)s, n * 0;
}
static int64_t half_down8(dl_half *d, const float *s, int64_t n) {
  return (void)d, (void)s, n * 0;
}
static bool has_f16c(void) { return false; }
#endif

static void F16_to_F32(char *dp, int64_t ds, const char *sp, int64_t ss, int64_t n) {
  float *d = (float *)dp;
  const dl_half *s = (const dl_half *)sp;
  int64_t i = ds == 1 && ss == 1 && has_f16c() ? half_up8(d, s, n) : 0;
  for (; i < n; i++) d[i * ds] = dl_half_to_f32(s[i * ss]);
}

static void F32_to_F16(char *dp, int64_t ds, const char *sp, int64_t ss, int64_t n) {
  dl_half *d = (dl_half *)dp;
  const float *s = (const float *)sp;
  int64_t i = ds == 1 && ss == 1 && has_f16c() ? half_down8(d, s, n) : 0;
  for (; i < n; i++) d[i * ds] = dl_half_from_f32(s[i * ss]);
}

/* ---- the table -------------------- */

#define ROW(D)                                                                      \
  [DL_##D] = {[DL_BOOL] = BOOL_to_##D, [DL_U8] = U8_to_##D, [DL_I8] = I8_to_##D,    \
              [DL_I16] = I16_to_##D, [DL_I32] = I32_to_##D, [DL_I64] = I64_to_##D,  \
              [DL_F32] = F32_to_##D, [DL_F64] = F64_to_##D}
static const dl_convert_fn table[DL_DTYPE_COUNT][DL_DTYPE_COUNT] = {
    ROW(BOOL), ROW(U8), ROW(I8), ROW(I16), ROW(I32), ROW(I64),
    [DL_F32] = {[DL_BOOL] = BOOL_to_F32, [DL_U8] = U8_to_F32, [DL_I8] = I8_to_F32,
                [DL_I16] = I16_to_F32, [DL_I32] = I32_to_F32, [DL_I64] = I64_to_F32,
                [DL_F16] = F16_to_F32, [DL_BF16] = BF16_to_F32, [DL_F32] = F32_to_F32,
                [DL_F64] = F64_to_F32},
    ROW(F64),
    [DL_F16] = {[DL_F32] = F32_to_F16},
    [DL_BF16] = {[DL_F32] = F32_to_BF16},
};

void dl_convert(dl_dtype dt, char *d, int64_t ds, dl_dtype st, const char *s, int64_t ss,
                int64_t n) {
  dl_convert_fn direct = table[dt][st];
  if (direct) {
    direct(d, ds, s, ss, n);
    return;
  }
  float mid[PIECE];
  dl_convert_fn up = table[DL_F32][st], down = table[dt][DL_F32];
  int64_t dstep = ds * (int64_t)dl_dtype_size(dt), sstep = ss * (int64_t)dl_dtype_size(st);
  for (int64_t i = 0; i < n; i += PIECE) {
    int64_t m = n - i < PIECE ? n - i : PIECE;
    up((char *)mid, 1, s + i * sstep, ss, m);
    down(d + i * dstep, ds, (const char *)mid, 1, m);
  }
}
