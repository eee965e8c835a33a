/* convert.h -- one number from one C type to another, with PyTorch's wrap-around
 *
 * For dtype.c, the copy loop, and kernels that convert in passing. C leaves a float that does
 * not fit an integer undefined; PyTorch shows what x86 does, so that is spelt out here.
 *
 * INVARIANT  No function here has undefined behaviour for any input, nan and inf included.
 * MUST NOT   know dtypes at run time: that is the caller's table. */
#ifndef DL_CONVERT_H
#define DL_CONVERT_H

#include "base/dtype.h"

/* Truncate; out of range and nan give the smallest int64 (cvttsd2si). */
static inline int64_t dl_f64_to_i64(double v) {
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : INT64_MIN;
}
/* Truncate; out of range and nan give the smallest int32 (cvttss2si). */
static inline int32_t dl_f64_to_i32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}
static inline int64_t dl_f32_to_i64(float v) {
  return v >= -9223372036854775808.0f && v < 9223372036854775808.0f ? (int64_t)v : INT64_MIN;
}
static inline int32_t dl_f32_to_i32(float v) {
  return v >= -2147483648.0f && v < 2147483648.0f ? (int32_t)v : INT32_MIN;
}
/* uint8 goes through int64 in PyTorch, the other small integers through int32. */
static inline uint8_t dl_f64_to_u8(double v) { return (uint8_t)dl_f64_to_i64(v); }
static inline uint8_t dl_f32_to_u8(float v) { return (uint8_t)dl_f32_to_i64(v); }
/* double -> half and bfloat16 go through float, as PyTorch's c10::Half(double) does. */
static inline dl_half dl_half_from_f64(double v) { return dl_half_from_f32((float)v); }
static inline dl_bf16 dl_bf16_from_f64(double v) { return dl_bf16_from_f32((float)v); }

#endif
