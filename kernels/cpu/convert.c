/* convert.c -- the loops of convert.h, one a pair of dtypes
 *
 * Floats to integers cut off the fraction, as C casts do; to bool, everything but 0 is true. */
#include "convert.h"

typedef void (*run_fn)(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n);

#define FROM_BOOL(v) ((v) != 0)
#define FROM_U8(v) (v)
#define FROM_I8(v) (v)
#define FROM_I16(v) (v)
#define FROM_I32(v) (v)
#define FROM_I64(v) (v)
#define FROM_F16(v) dl_f32_of_half(v)
#define FROM_BF16(v) dl_f32_of_bf16(v)
#define FROM_F32(v) (v)
#define FROM_F64(v) (v)
#define TO_BOOL(v) (uint8_t)((v) != 0)
#define TO_U8(v) (uint8_t)(int64_t)(v)
#define TO_I8(v) (int8_t)(int64_t)(v)
#define TO_I16(v) (int16_t)(int64_t)(v)
#define TO_I32(v) (int32_t)(int64_t)(v)
#define TO_I64(v) (int64_t)(v)
#define TO_F16(v) dl_half_of_f32((float)(v))
#define TO_BF16(v) dl_bf16_of_f32((float)(v))
#define TO_F32(v) (float)(v)
#define TO_F64(v) (double)(v)

/* The unit-stride copy of each loop is the one that vectorises. */
#define RUN(to, from, TT, FT)                                                       \
  static void from##_to_##to(void *dst, int64_t ds, const void *src, int64_t ss, int64_t n) { \
    TT *restrict d = dst;                                                           \
    const FT *restrict s = src;                                                     \
    if (ds == 1 && ss == 1)                                                         \
      for (int64_t i = 0; i < n; i++) d[i] = TO_##to(FROM_##from(s[i]));            \
    else                                                                            \
      for (int64_t i = 0; i < n; i++) d[i * ds] = TO_##to(FROM_##from(s[i * ss]));  \
  }
#define X(id, ctype, bytes, name, alias, S, cpp, cat)                               \
  RUN(F32, id, float, ctype)                                                        \
  RUN(F64, id, double, ctype)                                                       \
  RUN(I64, id, int64_t, ctype)
DL_DTYPES(X)
#undef X
/* what is not made above: from F32, F64, I64, BOOL to the others */
#define OTHERS(M) M(BOOL, uint8_t) M(U8, uint8_t) M(I8, int8_t) M(I16, int16_t) M(I32, int32_t) \
  M(F16, dl_half) M(BF16, dl_bf16)
#define FROM_COMPUTE(to, TT) RUN(to, F32, TT, float) RUN(to, F64, TT, double) RUN(to, I64, TT, int64_t)
OTHERS(FROM_COMPUTE)
#define BOOL_TO(to, TT) RUN(to, BOOL, TT, uint8_t)
OTHERS(BOOL_TO)

static const run_fn loads[3][DL_DTYPE_COUNT] = {
#define X(id, ctype, bytes, name, alias, S, cpp, cat) id##_to_F32,
  {DL_DTYPES(X)},
#undef X
#define X(id, ctype, bytes, name, alias, S, cpp, cat) id##_to_F64,
  {DL_DTYPES(X)},
#undef X
#define X(id, ctype, bytes, name, alias, S, cpp, cat) id##_to_I64,
  {DL_DTYPES(X)},
#undef X
};
static const run_fn stores[4][DL_DTYPE_COUNT] = {
#define X(id, ctype, bytes, name, alias, S, cpp, cat) F32_to_##id,
  {DL_DTYPES(X)},
#undef X
#define X(id, ctype, bytes, name, alias, S, cpp, cat) F64_to_##id,
  {DL_DTYPES(X)},
#undef X
#define X(id, ctype, bytes, name, alias, S, cpp, cat) I64_to_##id,
  {DL_DTYPES(X)},
#undef X
#define X(id, ctype, bytes, name, alias, S, cpp, cat) BOOL_to_##id,
  {DL_DTYPES(X)},
#undef X
};

static int row_of(int compute) {
  return compute == DL_F32 ? 0 : compute == DL_F64 ? 1 : compute == DL_I64 ? 2 : 3;
}

void DL_K(dl_run_load)(int compute, void *dst, int dtype, const void *src, int64_t stride, int64_t n) {
  loads[row_of(compute)][dtype](dst, 1, src, stride, n);
}
void DL_K(dl_run_store)(int dtype, void *dst, int64_t stride, int compute, const void *src, int64_t n) {
  stores[row_of(compute)][dtype](dst, stride, src, 1, n);
}
