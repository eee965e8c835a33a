/* convert.h -- runs of elements between a dtype and a compute dtype
 *
 * For kernels that compute in float, double or int64 and read or write any dtype. A run is n
 * elements with one stride (in elements). Bit tricks instead of calls, so that loops vectorise.
 *
 * MUST NOT   know shapes. */
#ifndef DL_CONVERT_H
#define DL_CONVERT_H

#include "kernel.h"
#include "math32.h"

/* float16 <-> float32, ties to even, subnormals kept; nan becomes the quiet nan of its sign */
DL_FN float dl_f32_of_half(dl_half h) {
  dl_u32 m = h.bits & 0x7fffu, wide = (m << 13) + (112u << 23);
  dl_u32 normal = m >= 0x7c00u ? wide + (112u << 23) : wide;
  dl_u32 small = dl_bits32((float)(int)m * 5.9604644775390625e-08f);
  return dl_float32((m < 0x0400u ? small : normal) | ((dl_u32)(h.bits & 0x8000u) << 16));
}
DL_FN dl_half dl_half_of_f32(float f) {
  dl_u32 u = dl_bits32(f), a = u & 0x7fffffffu;
  dl_u32 small = dl_bits32(dl_float32(a) + 0.5f) - 0x3f000000u;
  dl_u32 normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
  dl_u32 big = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
  dl_u32 r = a < 0x38800000u ? small : a < 0x47800000u ? normal : big;
  return (dl_half){(uint16_t)(r | ((u >> 16) & 0x8000u))};
}
DL_FN float dl_f32_of_bf16(dl_bf16 b) { return dl_float32((dl_u32)b.bits << 16); }
DL_FN dl_bf16 dl_bf16_of_f32(float f) {
  dl_u32 u = dl_bits32(f), nan = (u >> 16) | 64u, r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (dl_bf16){(uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? nan : r)};
}

/* dst[0..n) of the compute dtype (F32, F64, I64) from src of any dtype, stride in elements */
void DL_K(dl_run_load)(int compute, void *dst, int dtype, const void *src, int64_t stride, int64_t n);
/* dst of any dtype, with a stride, from src[0..n) of F32, F64, I64 or BOOL */
void DL_K(dl_run_store)(int dtype, void *dst, int64_t stride, int compute, const void *src, int64_t n);

#endif
