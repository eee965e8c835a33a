/* pack.h -- four neighbours of a tensor at a time: float32, float16, bfloat16 or truth values
 *
 * For kernels that compute in float32 and learn the dtype at run time: reading, opening and writing
 * are three steps, so that all reads of a thread are on their way before the first is waited for.
 *
 * INVARIANT  A pack is aligned to its size: 16 bytes of words, 8 of halves, 4 of bytes. */
#ifndef DL_CUDA_PACK_H
#define DL_CUDA_PACK_H

#include "block.h"

enum { DL_FOUR = 4 };
/* As it lies in memory: four words, or two of halves, or one of bytes. */
typedef dl_pack<uint32_t, DL_FOUR> dl_four;

static inline bool dl_is_float4(int dtype) {
  return dtype == DL_F32 || dtype == DL_F16 || dtype == DL_BF16;
}

DL_FN dl_four dl_four_words(const void *p) { return *static_cast<const dl_four *>(p); }
DL_FN dl_four dl_four_halves(const void *p) {
  dl_pack<uint32_t, 2> two = *static_cast<const dl_pack<uint32_t, 2> *>(p);
  dl_four b = {{two.v[0], two.v[1], 0, 0}};
  return b;
}
/* Elements i to i + 3 of p, a float dtype of those. */
DL_FN dl_four dl_four_read(int dtype, const void *p, int64_t i) {
  return dtype == DL_F32 ? dl_four_words(static_cast<const float *>(p) + i)
                         : dl_four_halves(static_cast<const uint16_t *>(p) + i);
}

DL_FN dl_half dl_four_half(const dl_four &b, int j) {
  return {(uint16_t)(b.v[j / 2] >> j % 2 * 16)};
}
DL_FN dl_bf16 dl_four_brain(const dl_four &b, int j) {
  return {(uint16_t)(b.v[j / 2] >> j % 2 * 16)};
}
DL_FN void dl_four_open(const dl_four &b, int dtype, float *v) {
  if (dtype == DL_F32) {
    DL_UNROLL for (int j = 0; j < DL_FOUR; j++) v[j] = dl_float32(b.v[j]);
  } else if (dtype == DL_F16) {
    DL_UNROLL for (int j = 0; j < DL_FOUR; j++) v[j] = dl_half_up(dl_four_half(b, j));
  } else if (dtype == DL_BF16) {
    DL_UNROLL for (int j = 0; j < DL_FOUR; j++) v[j] = dl_brain_up(dl_four_brain(b, j));
  } else {
    DL_UNROLL for (int j = 0; j < DL_FOUR; j++) v[j] = (b.v[0] >> 8 * j & 255) != 0;
  }
}

DL_FN void dl_four_write(void *to, int dtype, const float *v) {
  if (dtype == DL_F32) {
    dl_four b;
    DL_UNROLL for (int j = 0; j < DL_FOUR; j++) b.v[j] = dl_bits32(v[j]);
    *static_cast<dl_four *>(to) = b;
    return;
  }
  dl_pack<uint32_t, 2> two;
  DL_UNROLL for (int j = 0; j < 2; j++) {
    float low = v[2 * j], high = v[2 * j + 1];
    two.v[j] = dtype == DL_F16 ? dl_half_down(low).bits | (uint32_t)dl_half_down(high).bits << 16
                               : dl_brain_down(low).bits | (uint32_t)dl_brain_down(high).bits << 16;
  }
  *static_cast<dl_pack<uint32_t, 2> *>(to) = two;
}

/* ---- one element ----------------------------------------------------------------------------- */
DL_FN float dl_float_at(int dtype, const void *p, int64_t i) {
  if (dtype == DL_F32) return static_cast<const float *>(p)[i];
  uint16_t bits = static_cast<const uint16_t *>(p)[i];
  return dtype == DL_F16 ? dl_half_up({bits}) : dl_brain_up({bits});
}
DL_FN void dl_float_put(int dtype, void *p, int64_t i, float v) {
  if (dtype == DL_F32) static_cast<float *>(p)[i] = v;
  else if (dtype == DL_F16) static_cast<dl_half *>(p)[i] = dl_half_down(v);
  else static_cast<dl_bf16 *>(p)[i] = dl_brain_down(v);
}
/* The same for kernels whose compute type is a parameter: double is float64's own, int64_t serves
 * all integers. */
DL_FN float dl_num_get(int dtype, const void *p, int64_t i, float) {
  return dl_float_at(dtype, p, i);
}
DL_FN double dl_num_get(int, const void *p, int64_t i, double) {
  return static_cast<const double *>(p)[i];
}
DL_FN int64_t dl_num_get(int dtype, const void *p, int64_t i, int64_t) {
  return dl_whole_at(dtype, p, i);
}
DL_FN void dl_num_put(int dtype, void *p, int64_t i, float v) { dl_float_put(dtype, p, i, v); }
DL_FN void dl_num_put(int, void *p, int64_t i, double v) { static_cast<double *>(p)[i] = v; }
DL_FN void dl_num_put(int dtype, void *p, int64_t i, int64_t v) { dl_set(dtype, p, i, v); }
/* The compute type of a dtype: run `…` with C named after it. */
#define DL_BY_NUMBER(dtype, ...)                                       \
  do {                                                                 \
    if ((dtype) == DL_F64) { typedef double C; __VA_ARGS__; }          \
    else if ((dtype) >= DL_F16) { typedef float C; __VA_ARGS__; }      \
    else { typedef int64_t C; __VA_ARGS__; }                           \
  } while (0)

#endif
