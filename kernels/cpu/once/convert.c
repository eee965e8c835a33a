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

#ifdef __x86_64__
/* The CPU's own instructions: same rounding, half to ten times the speed. Return how many were
 * done. */
#define F16C __attribute__((target("avx,f16c")))
#define AVX2 __attribute__((target("avx2")))
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
AVX2 static int64_t bf16_up16(float *d, const dl_bf16 *s, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k += 8) {
      __m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(s + i + k)));
      _mm256_storeu_si256((__m256i *)(d + i + k), _mm256_slli_epi32(v, 16));
    }
  return i;
}
/* dl_bf16_from_f32 of eight: in the lower half of each */
AVX2 static inline __m256i bf16_of(__m256 f) {
  __m256i u = _mm256_castps_si256(f), top = _mm256_srli_epi32(u, 16);
  __m256i odd = _mm256_and_si256(top, _mm256_set1_epi32(1));
  __m256i near = _mm256_add_epi32(_mm256_add_epi32(u, odd), _mm256_set1_epi32(0x7fff));
  __m256i nan = _mm256_or_si256(top, _mm256_set1_epi32(64));
  __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(f, f, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(_mm256_srli_epi32(near, 16), nan, is_nan);
}
AVX2 static int64_t bf16_down16(dl_bf16 *d, const float *s, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    __m256i a = bf16_of(_mm256_loadu_ps(s + i)), b = bf16_of(_mm256_loadu_ps(s + i + 8));
    __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8);
    _mm256_storeu_si256((__m256i *)(d + i), both);
  }
  return i;
}
/* clang 14 cannot ask for f16c; every CPU with AVX2 has it. */
static bool has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
#define NONE(name, to, from) \
  static int64_t name(to *d, const from *s, int64_t n) { return (void)d, (void)s, n * 0; }
NONE(half_up8, float, dl_half)
NONE(half_down8, dl_half, float)
NONE(bf16_up16, float, dl_bf16)
NONE(bf16_down16, dl_bf16, float)
static bool has_avx2(void) { return false; }
#endif

#define THROUGH(name, D, S, lanes, one)                                             \
  static void name(char *dp, int64_t ds, const char *sp, int64_t ss, int64_t n) {   \
    D *d = (D *)dp;                                                                 \
    const S *s = (const S *)sp;                                                     \
    int64_t i = ds == 1 && ss == 1 && has_avx2() ? lanes(d, s, n) : 0;              \
    if (ds == 1 && ss == 1)                                                         \
      for (; i < n; i++) d[i] = one(s[i]);                                          \
    else                                                                            \
      for (; i < n; i++) d[i * ds] = one(s[i * ss]);                                \
  }
THROUGH(F16_to_F32, float, dl_half, half_up8, dl_half_to_f32)
THROUGH(F32_to_F16, dl_half, float, half_down8, dl_half_from_f32)
THROUGH(BF16_to_F32, float, dl_bf16, bf16_up16, dl_bf16_to_f32)
THROUGH(F32_to_BF16, dl_bf16, float, bf16_down16, dl_bf16_from_f32)

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
