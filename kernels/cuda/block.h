/* block.h -- small words that many kernels use: stores by type, multiply-add, sums over a block
 *
 * For the kernels that name their element type as a template parameter.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_BLOCK_H
#define DL_CUDA_BLOCK_H

#include "geo.h"

/* ---- stores: dl_to<T>(v) is v as an element of type T; integers wrap ------------------------ */
template <class T> struct dl_writer {
  template <class V> static __device__ __forceinline__ T of(V v) { return (T)v; }
};
template <> struct dl_writer<dl_half> {
  template <class V> static __device__ __forceinline__ dl_half of(V v) {
    return dl_half_down((float)v);
  }
  static __device__ __forceinline__ dl_half of(dl_half v) { return v; }
};
template <> struct dl_writer<dl_bf16> {
  template <class V> static __device__ __forceinline__ dl_bf16 of(V v) {
    return dl_brain_down((float)v);
  }
  static __device__ __forceinline__ dl_bf16 of(dl_bf16 v) { return v; }
};
template <class T, class V> __device__ __forceinline__ T dl_to(V v) { return dl_writer<T>::of(v); }

/* ---- a * b + c: once rounded on the device; integers wrap ----------------------------------- */
#ifdef __CUDACC__
DL_FN float dl_mad(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DL_FN double dl_mad(double a, double b, double c) { return __fma_rn(a, b, c); }
#else
static inline float dl_mad(float a, float b, float c) { return a * b + c; }
static inline double dl_mad(double a, double b, double c) { return a * b + c; }
#endif
DL_FN int64_t dl_mad(int64_t a, int64_t b, int64_t c) {
  return (int64_t)((uint64_t)a * (uint64_t)b + (uint64_t)c);
}
DL_FN int64_t dl_plus(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
DL_FN float dl_plus(float a, float b) { return a + b; }
DL_FN double dl_plus(double a, double b) { return a + b; }

/* N neighbouring elements moved at once, and how many fit in 16 bytes. */
template <class T, int N> struct alignas(sizeof(T) * N) dl_pack { T v[N]; };
template <class T> struct dl_per16 { enum { N = 16 / sizeof(T) }; };
static inline bool dl_is_aligned(const void *p, size_t nbytes) {
  return (uintptr_t)p % nbytes == 0;
}

/* i / n for 0 <= i < `largest`, n known on the host */
struct dl_over {
  int64_t n;
  dl_div by;
  bool wide;
  __device__ int64_t of(int64_t i) const { return wide ? i / n : dl_quotient(by, (uint32_t)i); }
};
static inline dl_over dl_over_by(int64_t n, int64_t largest) {
  bool wide = largest >= (int64_t)1 << 31;
  return {n, dl_div_by((uint32_t)(n > 0 && !wide ? n : 1)), wide};
}

/* ---- by dtype: run `…` with T named after the element type ---------------------------------- */
#define DL_BY_FLOAT(dtype, ...)                                       \
  do {                                                                \
    switch (dtype) {                                                  \
      case DL_F16: { typedef dl_half T; __VA_ARGS__; } break;         \
      case DL_BF16: { typedef dl_bf16 T; __VA_ARGS__; } break;        \
      case DL_F64: { typedef double T; __VA_ARGS__; } break;          \
      default: { typedef float T; __VA_ARGS__; }                      \
    }                                                                 \
  } while (0)
/* T an unsigned integer of the element's size: for kernels that only move elements. */
#define DL_BY_SIZE(dtype, ...)                                        \
  do {                                                                \
    switch (dl_dtypes[dtype].size) {                                  \
      case 1: { typedef uint8_t T; __VA_ARGS__; } break;              \
      case 2: { typedef uint16_t T; __VA_ARGS__; } break;             \
      case 4: { typedef uint32_t T; __VA_ARGS__; } break;             \
      default: { typedef uint64_t T; __VA_ARGS__; }                   \
    }                                                                 \
  } while (0)
#define DL_BY_DTYPE(dtype, ...)                                       \
  do {                                                                \
    switch (dtype) {                                                  \
      case DL_BOOL: case DL_U8: { typedef uint8_t T; __VA_ARGS__; } break; \
      case DL_I8: { typedef int8_t T; __VA_ARGS__; } break;           \
      case DL_I16: { typedef int16_t T; __VA_ARGS__; } break;         \
      case DL_I32: { typedef int32_t T; __VA_ARGS__; } break;         \
      case DL_I64: { typedef int64_t T; __VA_ARGS__; } break;         \
      default: DL_BY_FLOAT(dtype, __VA_ARGS__);                       \
    }                                                                 \
  } while (0)

/* The type in which elements of type T are added up. */
template <class T> struct dl_wide { typedef int64_t type; };
template <> struct dl_wide<float> { typedef float type; };
template <> struct dl_wide<double> { typedef double type; };
template <> struct dl_wide<dl_half> { typedef float type; };
template <> struct dl_wide<dl_bf16> { typedef float type; };

/* ---- sums over a block of DL_BLOCK threads -------------------------------------------------- */
/* The sum of v over the block, in thread 0 (the others get partial sums). All threads call it. */
template <class A> __device__ A dl_block_sum(A v) {
  DL_SHARED(A, part, [DL_BLOCK / 32]);
  for (int d = 16; d > 0; d /= 2) v = dl_plus(v, __shfl_down_sync(0xffffffffu, v, d));
  __syncthreads();
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 1; i < DL_BLOCK / 32; i++) v = dl_plus(v, part[i]);
  return v;
}

/* The sum of v over the threads before this one; *total is that over the block. All call it. */
DL_FN int dl_block_before(int v, int *total) {
  DL_SHARED(int, part, [DL_BLOCK / 32]);
  int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, sum = v, before = 0;
  for (int d = 1; d < 32; d *= 2) {
    int w = __shfl_up_sync(0xffffffffu, sum, d);
    if (lane >= d) sum += w;
  }
  __syncthreads();
  if (lane == 31) part[warp] = sum;
  __syncthreads();
  *total = 0;
  for (int i = 0; i < DL_BLOCK / 32; i++) {
    if (i == warp) before = *total;
    *total += part[i];
  }
  return before + sum - v;
}

#endif
