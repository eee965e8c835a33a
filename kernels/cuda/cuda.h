/* cuda.h -- the subset of CUDA C++ that kernels/cuda is written in, and what every kernel shares
 *
 * For the .cu files here, which nvcc compiles into the plugin and g++ (fiber.h) into the tests.
 *
 * CONTRACT   DL_CUDA(id) { … } defines the kernel of row id: extern "C" dl_status
 *            dl_cuda_<id>(dl_kcall *c, void *stream), with device addresses in the views. It queues
 *            work on the stream and does not wait. POINTWISE views are broadcast and merged as on
 *            the CPU. KERNEL and KERNELC views come as they are: any strides, any dtype, results in
 *            their final dtype; where a kernel wants contiguous operands of one dtype it asks
 *            dl_cu_contig. UPDATE results hold argument 0 already. Operands whose bit is set in
 *            c->numbers (numbers given for a tensor) lie in host memory: dl_cu_number reads them.
 * SUBSET     launches by DL_LAUNCH, shared memory by DL_SHARED; __syncthreads and its votes,
 *            warp exchanges with the full mask by whole warps, atomics on 4- and 8-byte types;
 *            no libraries in kernels, at most 48 KB of static shared memory; PTX in dl_half_up and
 *            its kin alone.
 * INVARIANT  Compiled with --fmad=false: a product and a sum are fused by DL_FMA alone.
 * MUST NOT   free scratch, keep state between calls, or read device memory on the host but by
 *            dl_cuda_env.read. */
#ifndef DL_CUDA_H
#define DL_CUDA_H

#ifdef __CUDACC__
#include <cuda_runtime.h>
#include <math.h>
#define DL_LAUNCH(k, grid, block, shared, stream, ...) \
  k<<<(grid), (block), (shared), (cudaStream_t)(stream)>>>(__VA_ARGS__)
#define DL_SHARED(T, name, dims) __shared__ T name dims
#define DL_SHARED_DYNAMIC(T, name)                             \
  extern __shared__ __align__(16) unsigned char name##_raw[];  \
  T *name = reinterpret_cast<T *>(name##_raw)
#define DL_UNROLL _Pragma("unroll")
#define DL_UNROLLED(n) _Pragma(DL_STR(unroll n))
#define DL_STR(s) #s
#define DL_ROLLED _Pragma("unroll 1")  /* less code, fewer registers */
#define DL_APART static __device__ __noinline__  /* compiled once a file, for rare ways */
#define DL_FN static __device__ __forceinline__
#define DL_HD __host__ __device__
#define DL_TABLE static __device__ const
#define DL_FMA(a, b, c) __fmaf_rn(a, b, c)
#define DL_SQRT32(x) __fsqrt_rn(x)
#define DL_SQRT64(x) __dsqrt_rn(x)
#else
#include "fiber.h"
#define DL_UNROLL
#define DL_UNROLLED(n)
#define DL_ROLLED
#define DL_APART static __attribute__((noinline, unused))
#define DL_FN static inline __attribute__((unused))  /* not all inline: g++ is quicker */
#endif

#include "record.h"

/* arg.h's short makers of arguments would stand in a template's way. */
#undef T
#undef I
#undef F
#undef B
#undef S
#undef DT
#undef L
#undef TS
#undef NIL
#undef DEV

#include "math32.h"
#include "philox.h"
extern "C" {
#include "rng.h"
}

#define DL_CUDA(id) extern "C" dl_status dl_cuda_##id(dl_kcall *c, void *stream)

extern "C" dl_cuda_env dl_cuda_environment;

/* ---- work of one thread an element ----------------------------------------------------------- */
enum { DL_BLOCK = 256 };

/* Blocks of DL_BLOCK threads for n elements, `each` of them a thread; at least one. */
static inline unsigned dl_blocks(int64_t n, int64_t each = 1) {
  const int64_t most = 1 << 20;
  int64_t b = (n + DL_BLOCK * each - 1) / (DL_BLOCK * each);
  return (unsigned)(b < 1 ? 1 : b > most ? most : b);
}
/* for (i of this thread's elements of [0, n)) */
#define DL_EACH(i, n)                                                                             \
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, dl_end_ = (n); i < dl_end_;    \
       i += (int64_t)gridDim.x * blockDim.x)
/* Launch k(…) for n elements; nothing at all for none. */
#define DL_LAUNCH_EACH(k, n, stream, ...)                                                         \
  do {                                                                                            \
    if ((n) > 0) DL_LAUNCH(k, dl_blocks(n), DL_BLOCK, 0, stream, __VA_ARGS__);                    \
  } while (0)

/* ---- bad values ------------------------------------------------------------------------------ */
/* Note the first bad value. f: dl_cuda_environment.fault, handed to the kernel as an argument. */
DL_FN void dl_fault(dl_cuda_fault *f, int code) {
  if (atomicCAS(&f->code, 0, code) != 0) return;
  f->block[0] = blockIdx.x, f->block[1] = blockIdx.y, f->block[2] = blockIdx.z;
  f->thread[0] = threadIdx.x, f->thread[1] = threadIdx.y, f->thread[2] = threadIdx.z;
}

/* ---- numbers --------------------------------------------------------------------------------- */
DL_FN float dl_brain_up(dl_bf16 b) { return dl_float32((dl_u32)b.bits << 16); }
/* One instruction each on a GPU; they differ in the bits of a nan. */
#ifdef __CUDA_ARCH__
DL_FN float dl_half_up(dl_half h) {
  float v;
  asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(h.bits));
  return v;
}
DL_FN dl_half dl_half_down(float v) {
  dl_half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(v));
  return h;
}
#else
DL_FN float dl_half_up(dl_half h) {
  dl_u32 w = (dl_u32)h.bits << 16, sign = w & 0x80000000u, two = w + w;
  float normal = dl_float32((two >> 4) + (0xe0u << 23)) * 1.92592994438723585306e-34f; /* 2^-112 */
  float small = dl_float32((two >> 17) | (126u << 23)) - 0.5f;
  return dl_float32(sign | (two < (1u << 27) ? dl_bits32(small) : dl_bits32(normal)));
}
DL_FN dl_half dl_half_down(float v) {
  dl_u32 w = dl_bits32(v), two = w + w, sign = w & 0x80000000u, bias = two & 0xff000000u;
  float base = (dl_float32(w & 0x7fffffffu) * 5.19229685853482762853e33f) * /* 2^112 */
               7.70371977754894341222e-34f;                                 /* 2^-110 */
  if (bias < 0x71000000u) bias = 0x71000000u;
  base = dl_float32((bias >> 1) + 0x07800000u) + base;
  dl_u32 bits = dl_bits32(base), r = ((bits >> 13) & 0x7c00u) + (bits & 0x0fffu);
  dl_half h;
  h.bits = (uint16_t)((sign >> 16) | (two > 0xff000000u ? 0x7e00u : r));
  return h;
}
#endif
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
DL_FN dl_bf16 dl_brain_down(float v) {
  dl_bf16 b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(v));
  return b;
}
#else
DL_FN dl_bf16 dl_brain_down(float v) {
  dl_u32 u = dl_bits32(v);
  dl_bf16 b;
  b.bits = (uint16_t)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 64u
                                                      : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  return b;
}
#endif
/* Truncation with x86's answer where the value does not fit (base/convert.h). */
template <class R> __device__ __forceinline__ int64_t dl_whole64(R v) {
  return v >= (R)-9223372036854775808.0 && v < (R)9223372036854775808.0
             ? (int64_t)v : (int64_t)(-9223372036854775807LL - 1);
}
DL_FN int32_t dl_whole32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : (int32_t)(-2147483647 - 1);
}

/* dl_as<C>(v): a stored number in the compute type C (float, double, int64_t). */
template <class C> struct dl_reader {
  template <class V> static __device__ __forceinline__ C of(V v) { return (C)v; }
  static __device__ __forceinline__ C of(dl_half v) { return (C)dl_half_up(v); }
  static __device__ __forceinline__ C of(dl_bf16 v) { return (C)dl_brain_up(v); }
};
template <> struct dl_reader<int64_t> {
  template <class V> static __device__ __forceinline__ int64_t of(V v) { return (int64_t)v; }
  static __device__ __forceinline__ int64_t of(float v) { return dl_whole64(v); }
  static __device__ __forceinline__ int64_t of(double v) { return dl_whole64(v); }
  static __device__ __forceinline__ int64_t of(dl_half v) { return dl_whole64(dl_half_up(v)); }
  static __device__ __forceinline__ int64_t of(dl_bf16 v) { return dl_whole64(dl_brain_up(v)); }
};
template <class C, class V> __device__ __forceinline__ C dl_as(V v) { return dl_reader<C>::of(v); }

/* Element i of p, whose dtype is known at run time, in the compute type C. */
template <class C> __device__ __forceinline__ C dl_get(int dtype, const void *p, int64_t i) {
  switch (dtype) {
    case DL_BOOL: return (C)(((const uint8_t *)p)[i] != 0);
    case DL_U8: return (C)((const uint8_t *)p)[i];
    case DL_I8: return (C)((const int8_t *)p)[i];
    case DL_I16: return (C)((const int16_t *)p)[i];
    case DL_I32: return (C)((const int32_t *)p)[i];
    case DL_I64: return (C)((const int64_t *)p)[i];
    case DL_F16: return dl_as<C>(((const dl_half *)p)[i]);
    case DL_BF16: return dl_as<C>(((const dl_bf16 *)p)[i]);
    case DL_F32: return dl_as<C>(((const float *)p)[i]);
    default: return dl_as<C>(((const double *)p)[i]);
  }
}

/* dl_put: store v as element i of p; integers wrap as PyTorch's casts do. */
DL_FN void dl_put(int dtype, void *p, int64_t i, int64_t v) {
  switch (dtype) {
    case DL_BOOL: ((uint8_t *)p)[i] = v != 0; break;
    case DL_U8: ((uint8_t *)p)[i] = (uint8_t)v; break;
    case DL_I8: ((int8_t *)p)[i] = (int8_t)(uint8_t)v; break;
    case DL_I16: ((int16_t *)p)[i] = (int16_t)(uint16_t)v; break;
    case DL_I32: ((int32_t *)p)[i] = (int32_t)(uint32_t)v; break;
    case DL_I64: ((int64_t *)p)[i] = v; break;
    case DL_F16: ((dl_half *)p)[i] = dl_half_down((float)v); break;
    case DL_BF16: ((dl_bf16 *)p)[i] = dl_brain_down((float)v); break;
    case DL_F32: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = (double)v;
  }
}
template <class R>
__device__ __forceinline__ void dl_put_real(int dtype, void *p, int64_t i, R v) {
  switch (dtype) {
    case DL_BOOL: ((uint8_t *)p)[i] = v != 0; break;
    case DL_U8: ((uint8_t *)p)[i] = (uint8_t)dl_whole64(v); break;
    case DL_I8: case DL_I16: case DL_I32:
      dl_put(dtype, p, i, (int64_t)dl_whole32((double)v));
      break;
    case DL_I64: ((int64_t *)p)[i] = dl_whole64(v); break;
    case DL_F16: ((dl_half *)p)[i] = dl_half_down((float)v); break;
    case DL_BF16: ((dl_bf16 *)p)[i] = dl_brain_down((float)v); break;
    case DL_F32: ((float *)p)[i] = (float)v; break;
    default: ((double *)p)[i] = (double)v;
  }
}
DL_FN void dl_put(int dtype, void *p, int64_t i, float v) { dl_put_real(dtype, p, i, v); }
DL_FN void dl_put(int dtype, void *p, int64_t i, double v) { dl_put_real(dtype, p, i, v); }

/* The same compiled once a file, for ways where speed is not asked for. Through double, which holds
 * all but int64 exactly. */
DL_APART double dl_real_at(int dtype, const void *p, int64_t i) {
  return dl_get<double>(dtype, p, i);
}
DL_APART int64_t dl_whole_at(int dtype, const void *p, int64_t i) {
  return dl_get<int64_t>(dtype, p, i);
}
DL_APART void dl_set(int dtype, void *p, int64_t i, double v) { dl_put(dtype, p, i, v); }
DL_APART void dl_set(int dtype, void *p, int64_t i, int64_t v) { dl_put(dtype, p, i, v); }

template <class C> __device__ __forceinline__ C dl_at(int dtype, const void *p, int64_t i) {
  return dtype == DL_I64 ? (C)static_cast<const int64_t *>(p)[i] : (C)dl_real_at(dtype, p, i);
}
template <> __device__ __forceinline__ int64_t dl_at(int dtype, const void *p, int64_t i) {
  return dl_whole_at(dtype, p, i);
}

/* Run `…` with C named after the compute dtype: DL_F32, DL_F64, else DL_I64. */
#define DL_BY_COMPUTE(dtype, ...)                                     \
  do {                                                                \
    if ((dtype) == DL_F32) { typedef float C; __VA_ARGS__; }          \
    else if ((dtype) == DL_F64) { typedef double C; __VA_ARGS__; }    \
    else { typedef int64_t C; __VA_ARGS__; }                          \
  } while (0)
/* Floating ones alone. */
#define DL_BY_REAL(dtype, ...)                                        \
  do {                                                                \
    if ((dtype) == DL_F64) { typedef double C; __VA_ARGS__; }         \
    else { typedef float C; __VA_ARGS__; }                            \
  } while (0)

/* ---- operands in host memory ----------------------------------------------------------------- */
static inline bool dl_cu_on_host(const dl_kcall *c, int k) { return c->numbers >> k & 1; }
/* The number in[k], in[k] being on the host. */
static inline double dl_cu_number(const dl_kcall *c, int k) {
  return dl_elem_get_f64((dl_dtype)c->in[k].dtype, c->in[k].data);
}
static inline int64_t dl_cu_whole(const dl_kcall *c, int k) {
  return dl_elem_get_i64((dl_dtype)c->in[k].dtype, c->in[k].data);
}

/* ---- views on the host side ------------------------------------------------------------------ */
static inline int64_t dl_cu_esize(const dl_view *v) { return dl_dtypes[v->dtype].size; }
static inline bool dl_cu_is_contig(const dl_view *v) {
  int64_t want = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    if (v->size[d] != 1 && v->stride[d] != want && v->numel > 0) return false;
    want *= v->size[d];
  }
  return true;
}

/* A view with strides of its own, for contiguous copies. */
struct dl_cu_view {
  dl_view v;
  int64_t stride[DL_MAXDIM];
};

/* d[0..nbytes) = s[0..nbytes), apart or the same; p[0..nbytes) = 0. Errors show afterwards. */
static inline void dl_cu_move(void *d, const void *s, int64_t nbytes, void *stream) {
#ifdef __CUDACC__
  if (d != s)
    (void)cudaMemcpyAsync(d, s, (size_t)nbytes, cudaMemcpyDeviceToDevice, (cudaStream_t)stream);
#else
  (void)stream;
  if (d != s) memcpy(d, s, (size_t)nbytes);
#endif
}
static inline dl_status dl_cu_zero(void *p, int64_t nbytes, void *stream) {
#ifdef __CUDACC__
  if (nbytes > 0) (void)cudaMemsetAsync(p, 0, (size_t)nbytes, (cudaStream_t)stream);
#else
  (void)stream;
  if (nbytes > 0) memset(p, 0, (size_t)nbytes);
#endif
  return DL_OK;
}

/* dst = src, strided, with conversion; equal sizes. */
dl_status dl_cu_copy(const dl_view *dst, const dl_view *src, void *stream);
/* A contiguous view of `dtype` (DL_NODTYPE: any) with v's values: v itself where it will do, else a
 * copy in scratch. */
dl_status dl_cu_contig(const dl_view *v, int dtype, void *stream, dl_cu_view *out);
/* Room in scratch of v's sizes, contiguous, of `dtype`. */
dl_status dl_cu_like(const dl_view *v, int dtype, void *stream, dl_cu_view *out);
static inline dl_status dl_cu_scratch(size_t nbytes, void *stream, void **out) {
  return dl_cuda_environment.scratch(nbytes ? nbytes : 1, stream, out);
}

#endif
