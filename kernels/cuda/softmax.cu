/* softmax.cu -- softmax and log_softmax along a dimension, and their gradients
 *
 * For table.cu. A contiguous line is held in registers by a warp or a block (row.h); longer ones
 * and float64's go to a block, which reads them again from the cache; lines that lie side by side
 * go to a thread each. Numbers are read and written in the tensor's dtype, computed in float32
 * (float64). */
#include "row.h"

#include <string.h>

template <class C> DL_FN C lowest() { return dl_larger::none<C>(); }

/* What is done with a line: forward x is the input; backward x is the gradient, y the result.
 * term() is summed along the line and may leave in x what out() wants of it. */
template <class C> struct soft {
  enum { backward = 0 };
  DL_FN C term(C &x, C, C top) { return x = dl_exp_of(x - top); }
  DL_FN C sum(C s) { return (C)1 / s; }
  DL_FN C out(C x, C, C s) { return x * s; }
};
template <class C> struct log_soft {
  enum { backward = 0 };
  DL_FN C term(C &x, C, C top) {
    x -= top;
    return dl_exp_of(x);
  }
  DL_FN C sum(C s) { return dl_log_of(s); }
  DL_FN C out(C x, C, C s) { return x - s; }
};
template <class C> struct soft_back {
  enum { backward = 1 };
  DL_FN C term(C &g, C y, C) { return g * y; }
  DL_FN C sum(C s) { return s; }
  DL_FN C out(C g, C y, C s) { return (g - s) * y; }
};
template <class C> struct log_back {
  enum { backward = 1 };
  DL_FN C term(C &g, C, C) { return g; }
  DL_FN C sum(C s) { return s; }
  DL_FN C out(C g, C y, C s) { return g - dl_exp_of(y) * s; }
};

struct soft_call { const void *a, *b; void *out; int dtype; int64_t outer, n, inner; };

/* ---- a line in registers --------------------------------------------------------------------- */
template <class K> __global__ void __launch_bounds__(1024) soft_held(soft_call p, dl_row_plan r) {
  DL_SHARED(float, sh, [32]);
  int64_t row = dl_row_mine();
  float x[DL_ROW_EACH], y[DL_ROW_EACH] = {}, top = lowest<float>(), sum = 0;
  if (row >= p.outer) return;
  dl_row_read(r, p.dtype, p.a, row * r.n, lowest<float>(), x);
  if (K::backward) dl_row_read(r, p.dtype, p.b, row * r.n, 0.0f, y);
  if (!K::backward) {
    DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) top = dl_larger::of(top, x[j]);
    top = dl_row_all<dl_larger>(r, top, sh);
  }
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) {
    float term = K::term(x[j], y[j], top);
    sum += dl_row_at(r, j) < r.n ? term : 0.0f;
  }
  sum = K::sum(dl_row_all<dl_adds>(r, sum, sh));
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) x[j] = K::out(x[j], y[j], sum);
  dl_row_write(r, p.dtype, p.out, row * r.n, x);
}

/* ---- any line: n elements `step` apart, every `each`-th of them ------------------------------ */
template <class C, class K> struct line {
  const soft_call &p;
  int64_t at, step;
  __device__ __forceinline__ C x(int64_t i) const {
    return dl_num_get(p.dtype, p.a, at + i * step, C());
  }
  __device__ __forceinline__ C y(int64_t i) const {
    return K::backward ? dl_num_get(p.dtype, p.b, at + i * step, C()) : (C)0;
  }
  __device__ __forceinline__ C top(int64_t i, int64_t each) const {
    C top = lowest<C>();
    for (; !K::backward && i < p.n; i += each) top = dl_larger::of(top, x(i));
    return top;
  }
  __device__ __forceinline__ C sum(int64_t i, int64_t each, C top) const {
    C sum = 0;
    for (; i < p.n; i += each) {
      C v = x(i);
      sum += K::term(v, y(i), top);
    }
    return sum;
  }
  __device__ __forceinline__ void write(int64_t i, int64_t each, C top, C sum) const {
    for (; i < p.n; i += each) {
      C v = x(i), w = y(i);
      K::term(v, w, top);
      dl_num_put(p.dtype, p.out, at + i * step, K::out(v, w, sum));
    }
  }
};

template <class C, class K> __global__ void soft_block(soft_call p) {
  DL_SHARED(C, sh, [32]);
  for (int64_t row = blockIdx.x; row < p.outer; row += gridDim.x) {
    line<C, K> l = {p, row * p.n, 1};
    C top = dl_block_all<dl_larger>(l.top(threadIdx.x, DL_BLOCK), sh);
    C sum = K::sum(dl_block_all<dl_adds>(l.sum(threadIdx.x, DL_BLOCK, top), sh));
    l.write(threadIdx.x, DL_BLOCK, top, sum);
  }
}
template <class C, class K> __global__ void soft_thread(soft_call p) {
  DL_EACH(i, p.outer * p.inner) {
    line<C, K> l = {p, i / p.inner * p.n * p.inner + i % p.inner, p.inner};
    C top = l.top(0, 1);
    l.write(0, 1, top, K::sum(l.sum(0, 1, top)));
  }
}

template <class C, class K> static void long_lines(const soft_call &p, void *stream) {
  if (p.inner > 1) DL_LAUNCH_EACH((soft_thread<C, K>), p.outer * p.inner, stream, p);
  else DL_LAUNCH((soft_block<C, K>), dl_blocks(p.outer * DL_BLOCK), DL_BLOCK, 0, stream, p);
}
template <template <class> class K> static void lines(const soft_call &p, void *stream) {
  if (p.dtype == DL_F64) {
    long_lines<double, K<double>>(p, stream);
  } else if (p.inner > 1 || p.n > DL_ROW_MOST) {
    long_lines<float, K<float>>(p, stream);
  } else {
    dl_row_plan r = dl_row_plan_of(p.n, p.dtype, p.a, p.b, p.out);
    DL_LAUNCH(soft_held<K<float>>, dl_row_grid(r, p.outer), dl_row_block(r), 0, stream, p, r);
  }
}

template <template <class> class K> static dl_status run(dl_kcall *c, int dim_at, void *stream) {
  const dl_view *out = &c->out[0];
  int64_t dim = dl_arg_i(&c->arg[dim_at]), at = dim < 0 ? dim + out->ndim : dim;
  soft_call p = {NULL, NULL, out->data, out->dtype, 1, 1, 1};
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
  lines<K>(p, stream);
  return DL_OK;
}
DL_CUDA(_softmax) { return run<soft>(c, 1, stream); }
DL_CUDA(_log_softmax) { return run<log_soft>(c, 1, stream); }
DL_CUDA(_softmax_backward) { return run<soft_back>(c, 2, stream); }
DL_CUDA(_log_softmax_backward) { return run<log_back>(c, 2, stream); }
