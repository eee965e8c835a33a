/* softmax.cu -- softmax and log_softmax along a dimension, and their gradients
 *
 * For table.cu. A contiguous line goes to a warp, which keeps it in registers, or to a block, which
 * reads it again from the cache; lines that lie side by side go to a thread each. Numbers are read
 * and written in the tensor's dtype, computed in float32 (float64). */
#include "row.h"

#include <string.h>

DL_FN float lowest(float) { return -DL_INF32; }
DL_FN double lowest(double) { return -DL_INF64; }

/* What is done with a line: forward a is the input; backward a is the gradient, b the result.
 * Two numbers are gathered along the line, then each element follows from them. */
template <class C> struct soft {
  enum { backward = 0 };
  static __device__ __forceinline__ C more(C x, C, C top) { return dl_exp_of(x - top); }
  static __device__ __forceinline__ C sum(C s) { return s; }
  static __device__ __forceinline__ C out(C x, C, C top, C sum) { return dl_exp_of(x - top) / sum; }
};
template <class C> struct log_soft : soft<C> {
  static __device__ __forceinline__ C sum(C s) { return dl_log_of(s); }
  static __device__ __forceinline__ C out(C x, C, C top, C sum) { return x - top - sum; }
};
template <class C> struct soft_back {
  enum { backward = 1 };
  static __device__ __forceinline__ C more(C g, C y, C) { return g * y; }
  static __device__ __forceinline__ C sum(C s) { return s; }
  static __device__ __forceinline__ C out(C g, C y, C, C sum) { return (g - sum) * y; }
};
template <class C> struct log_back : soft_back<C> {
  static __device__ __forceinline__ C more(C g, C, C) { return g; }
  static __device__ __forceinline__ C out(C g, C y, C, C sum) { return g - dl_exp_of(y) * sum; }
};

struct soft_call { const void *a, *b; void *out; int64_t outer, n, inner; };

/* ---- a line a warp: at most 32 * PER elements ------------------------------------------------ */
template <class V, class C, class K, int PER> __global__ void soft_warp(soft_call p) {
  int64_t row = (int64_t)blockIdx.x * (DL_BLOCK / 32) + threadIdx.x / 32, step = gridDim.x;
  int lane = (int)threadIdx.x % 32, n = (int)p.n;
  for (; row < p.outer; row += step * (DL_BLOCK / 32)) {
    const V *a = (const V *)p.a + row * p.n, *b = (const V *)p.b + row * p.n;
    V *out = (V *)p.out + row * p.n;
    C x[PER], y[PER], top = lowest(C()), sum = 0;
    DL_UNROLL for (int j = 0; j < PER; j++) {
      int i = lane + j * 32;
      x[j] = i < n ? dl_as<C>(a[i]) : lowest(C());
      y[j] = K::backward && i < n ? dl_as<C>(b[i]) : (C)0;
      if (!K::backward) top = dl_larger::of(top, x[j]);
    }
    if (!K::backward) top = dl_warp_all<dl_larger>(top);
    DL_UNROLL for (int j = 0; j < PER; j++)
      if (lane + j * 32 < n) sum += K::more(x[j], y[j], top);
    sum = K::sum(dl_warp_all<dl_adds>(sum));
    DL_UNROLL for (int j = 0; j < PER; j++)
      if (lane + j * 32 < n) out[lane + j * 32] = dl_to<V>(K::out(x[j], y[j], top, sum));
  }
}

/* ---- a line a block -------------------------------------------------------------------------- */
template <class V, class C, class K> __global__ void soft_block(soft_call p) {
  DL_SHARED(C, sh, [32]);
  for (int64_t row = blockIdx.x; row < p.outer; row += gridDim.x) {
    const V *a = (const V *)p.a + row * p.n, *b = (const V *)p.b + row * p.n;
    V *out = (V *)p.out + row * p.n;
    C top = lowest(C()), sum = 0;
    if (!K::backward) {
      for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
        top = dl_larger::of(top, dl_as<C>(a[i]));
      top = dl_block_all<dl_larger>(top, sh);
    }
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
      sum += K::more(dl_as<C>(a[i]), K::backward ? dl_as<C>(b[i]) : (C)0, top);
    sum = K::sum(dl_block_all<dl_adds>(sum, sh));
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
      out[i] = dl_to<V>(K::out(dl_as<C>(a[i]), K::backward ? dl_as<C>(b[i]) : (C)0, top, sum));
  }
}

/* ---- lines side by side ---------------------------------------------------------------------- */
template <class V, class C, class K> __global__ void soft_thread(soft_call p) {
  DL_EACH(line, p.outer * p.inner) {
    int64_t at = line / p.inner * p.n * p.inner + line % p.inner;
    const V *a = (const V *)p.a + at, *b = (const V *)p.b + at;
    V *out = (V *)p.out + at;
    C top = lowest(C()), sum = 0;
    for (int64_t i = 0; !K::backward && i < p.n; i++)
      top = dl_larger::of(top, dl_as<C>(a[i * p.inner]));
    for (int64_t i = 0; i < p.n; i++)
      sum += K::more(dl_as<C>(a[i * p.inner]), K::backward ? dl_as<C>(b[i * p.inner]) : (C)0, top);
    sum = K::sum(sum);
    for (int64_t i = 0; i < p.n; i++)
      out[i * p.inner] = dl_to<V>(K::out(
          dl_as<C>(a[i * p.inner]), K::backward ? dl_as<C>(b[i * p.inner]) : (C)0, top, sum));
  }
}

template <class V, class C, class K> static void lines(const soft_call &p, void *stream) {
  unsigned warps = dl_blocks(p.outer * 32), blocks = dl_blocks(p.outer * DL_BLOCK);
  if (p.inner > 1) DL_LAUNCH_EACH((soft_thread<V, C, K>), p.outer * p.inner, stream, p);
  else if (p.n <= 256) DL_LAUNCH((soft_warp<V, C, K, 8>), warps, DL_BLOCK, 0, stream, p);
  else if (p.n <= 1024) DL_LAUNCH((soft_warp<V, C, K, 32>), warps, DL_BLOCK, 0, stream, p);
  else DL_LAUNCH((soft_block<V, C, K>), blocks, DL_BLOCK, 0, stream, p);
}

template <template <class> class K> static dl_status run(dl_kcall *c, int dim_at, void *stream) {
  const dl_view *out = &c->out[0];
  int64_t dim = dl_arg_i(&c->arg[dim_at]), at = dim < 0 ? dim + out->ndim : dim;
  soft_call p = {NULL, NULL, out->data, 1, 1, 1};
  dl_cu_view a, b;
  if (out->numel == 0) return DL_OK;
  for (int d = 0; d < out->ndim; d++)
    *(d < at ? &p.outer : d == at ? &p.n : &p.inner) *= out->size[d];
  DL_TRY(dl_cu_contig(&c->in[0], out->dtype, stream, &a));
  p.a = p.b = a.v.data;
  if (dim_at == 2) {
    DL_TRY(dl_cu_contig(&c->in[1], out->dtype, stream, &b));
    p.b = b.v.data;
  }
  if (out->dtype == DL_F32) lines<float, float, K<float>>(p, stream);
  else if (out->dtype == DL_F64) lines<double, double, K<double>>(p, stream);
  else if (out->dtype == DL_F16) lines<dl_half, float, K<float>>(p, stream);
  else lines<dl_bf16, float, K<float>>(p, stream);
  return DL_OK;
}
DL_CUDA(_softmax) { return run<soft>(c, 1, stream); }
DL_CUDA(_log_softmax) { return run<log_soft>(c, 1, stream); }
DL_CUDA(_softmax_backward) { return run<soft_back>(c, 2, stream); }
DL_CUDA(_log_softmax_backward) { return run<log_back>(c, 2, stream); }
