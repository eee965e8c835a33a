/* scan.cu -- cumsum, cumprod
 *
 * For table.cu. Floats run in double and are rounded once an element, integers in int64. A line
 * along the last dim goes to a block, in chunks where lines are few: the chunks' totals first, then
 * what lies before each chunk, then the elements. Lines side by side go to a thread each.
 *
 * INVARIANT  The bits depend on sizes and the card alone. */
#include "row.h"

enum { EACH = 4, TILE = DL_BLOCK * EACH }; /* a block's elements at a time */

struct scan_call {
  const void *x;
  void *out;
  int dx, dout;
  int64_t outer, n, inner, chunk, nchunk;
};

struct by_sum {
  template <class A> static __device__ __forceinline__ A first() { return 0; }
  template <class A> static __device__ __forceinline__ A of(A a, A b) { return a + b; }
};
struct by_product {
  template <class A> static __device__ __forceinline__ A first() { return 1; }
  template <class A> static __device__ __forceinline__ A of(A a, A b) { return a * b; }
};

/* What an element is read as (C) and what is carried (A). */
DL_FN double carried(float v) { return (double)v; }
DL_FN double carried(double v) { return v; }
DL_FN int64_t carried(int64_t v) { return v; }
DL_FN float released(double v, float) { return (float)v; }
DL_FN double released(double v, double) { return v; }
DL_FN int64_t released(int64_t v, int64_t) { return v; }

/* ---- lines side by side ---------------------------------------------------------------------- */
template <class C, class A, class J> __global__ void scan_thread(scan_call p) {
  DL_EACH(line, p.outer * p.inner) {
    int64_t at = line / p.inner * p.n * p.inner + line % p.inner;
    A acc = J::template first<A>();
    for (int64_t i = 0; i < p.n; i++, at += p.inner) {
      acc = J::of(acc, carried(dl_get<C>(p.dx, p.x, at)));
      dl_put(p.dout, p.out, at, released(acc, C()));
    }
  }
}

/* ---- a chunk of a line a block --------------------------------------------------------------- */
/* The join of the values of the threads before this one; *all: that of the block. */
template <class A, class J> __device__ A scan_before(A v, A *sh, A *all) {
  int t = (int)threadIdx.x;
  sh[t] = v;
  for (int d = 1; d < DL_BLOCK; d *= 2) {
    __syncthreads();
    A left = t >= d ? sh[t - d] : J::template first<A>();
    __syncthreads();
    sh[t] = J::of(left, sh[t]);
  }
  __syncthreads();
  *all = sh[DL_BLOCK - 1];
  A before = t ? sh[t - 1] : J::template first<A>();
  __syncthreads();
  return before;
}

/* ONLY_TOTAL: totals[line * nchunk + chunk] becomes the chunk's join. Else the elements are
 * written, going on from totals, which holds the join of all chunks before. */
template <class C, class A, class J, int ONLY_TOTAL>
__global__ void scan_block(scan_call p, A *totals) {
  DL_SHARED(A, sh, [DL_BLOCK]);
  for (int64_t b = blockIdx.x; b < p.outer * p.nchunk; b += gridDim.x) {
    int64_t row = b / p.nchunk * p.n, lo = b % p.nchunk * p.chunk;
    int64_t hi = lo + p.chunk < p.n ? lo + p.chunk : p.n;
    A carry = !ONLY_TOTAL && p.nchunk > 1 ? totals[b] : J::template first<A>();
    for (int64_t i = lo; i < hi; i += TILE) {
      int64_t mine = i + (int64_t)threadIdx.x * EACH;
      A v[EACH], acc = J::template first<A>(), all;
      DL_UNROLL for (int k = 0; k < EACH; k++) {
        if (mine + k < hi) acc = J::of(acc, carried(dl_get<C>(p.dx, p.x, row + mine + k)));
        v[k] = acc;
      }
      A before = J::of(carry, scan_before<A, J>(acc, sh, &all));
      carry = J::of(carry, all);
      DL_UNROLL for (int k = 0; k < EACH; k++)
        if (!ONLY_TOTAL && mine + k < hi)
          dl_put(p.dout, p.out, row + mine + k, released(J::of(before, v[k]), C()));
    }
    if (ONLY_TOTAL && threadIdx.x == 0) totals[b] = carry;
  }
}

/* Each chunk's total becomes the join of those before it. */
template <class A, class J> __global__ void scan_totals(A *totals, int64_t lines, int64_t nchunk) {
  DL_EACH(line, lines) {
    A acc = J::template first<A>();
    for (int64_t k = 0; k < nchunk; k++) {
      A mine = totals[line * nchunk + k];
      totals[line * nchunk + k] = acc;
      acc = J::of(acc, mine);
    }
  }
}

template <class C, class A, class J> static dl_status scan(scan_call p, void *stream) {
  if (p.inner > 1) {
    DL_LAUNCH_EACH((scan_thread<C, A, J>), p.outer * p.inner, stream, p);
    return DL_OK;
  }
  int64_t want = dl_cuda_environment.sm_count * 4 / p.outer, most = p.n / (4 * TILE);
  p.nchunk = want < most ? want : most;
  if (p.nchunk < 1) p.nchunk = 1;
  p.chunk = (p.n + p.nchunk - 1) / p.nchunk;
  unsigned blocks = dl_blocks(p.outer * p.nchunk * DL_BLOCK);
  void *totals = NULL;
  if (p.nchunk > 1) {
    DL_TRY(dl_cu_scratch((size_t)(p.outer * p.nchunk) * sizeof(A), stream, &totals));
    DL_LAUNCH((scan_block<C, A, J, 1>), blocks, DL_BLOCK, 0, stream, p, (A *)totals);
    DL_LAUNCH_EACH((scan_totals<A, J>), p.outer, stream, (A *)totals, p.outer, p.nchunk);
  }
  DL_LAUNCH((scan_block<C, A, J, 0>), blocks, DL_BLOCK, 0, stream, p, (A *)totals);
  return DL_OK;
}

template <class J> static dl_status run(dl_kcall *c, void *stream) {
  const dl_view *out = &c->out[0];
  scan_call p = {NULL, out->data, 0, out->dtype, 1, 1, 1, 0, 1};
  dl_cu_view x;
  int64_t dim = dl_arg_i(&c->arg[1]), at = dim < 0 ? dim + out->ndim : dim;
  if (out->numel == 0) return DL_OK;
  for (int d = 0; d < out->ndim; d++)
    *(d < at ? &p.outer : d == at ? &p.n : &p.inner) *= out->size[d];
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  p.x = x.v.data;
  p.dx = x.v.dtype;
  if (c->compute == DL_F32) return scan<float, double, J>(p, stream);
  if (c->compute == DL_F64) return scan<double, double, J>(p, stream);
  return scan<int64_t, int64_t, J>(p, stream);
}
DL_CUDA(cumsum) { return run<by_sum>(c, stream); }
DL_CUDA(cumprod) { return run<by_product>(c, stream); }
