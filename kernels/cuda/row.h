/* row.h -- rows held by the threads of a warp or a block, and what they find out together
 *
 * For softmax and norms. A row of float32's arithmetic of up to DL_ROW_MOST elements is read once:
 * it is spread over `lanes` threads, DL_ROW_EACH elements each, and stays in registers. Blocks are
 * (lanes, rows): one warp a row in blocks of DL_BLOCK threads, or a row a block.
 *
 * INVARIANT  Results depend on the values and their places alone. Called by whole warps or whole
 *            blocks, or not at all. */
#ifndef DL_CUDA_ROW_H
#define DL_CUDA_ROW_H

#include "pack.h"

/* How two threads' numbers become one; none: what changes no number. */
struct dl_adds {
  template <class C> DL_FN C none() { return 0; }
  template <class C> DL_FN C of(C a, C b) { return a + b; }
};
struct dl_larger {               /* nan wins */
  template <class C> DL_FN C none() { return (C)-DL_INF64; }
  template <class C> DL_FN C of(C a, C b) { return ((a > b) | (a != a)) ? a : b; }
};

template <class J, class C> __device__ __forceinline__ C dl_warp_all(C v) {
  DL_UNROLL for (int d = 16; d > 0; d /= 2) v = J::of(v, __shfl_xor_sync(0xffffffffu, v, d));
  return v;
}

/* sh: room for 32 numbers; a barrier lies before and after the writes to it. */
template <class J, class C> __device__ __forceinline__ C dl_block_all(C v, C *sh) {
  int warps = (int)blockDim.x / 32, me = (int)threadIdx.x;
  v = dl_warp_all<J>(v);
  __syncthreads();
  if (me % 32 == 0) sh[me / 32] = v;
  __syncthreads();
  return dl_warp_all<J>(me % 32 < warps ? sh[me % 32] : J::template none<C>());
}

#ifdef __CUDA_ARCH__
DL_FN float dl_exp_of(float v) { return expf(v); } /* shorter, and right to 2 ulp as well */
#else
DL_FN float dl_exp_of(float v) { return dl_exp32(v); }
#endif
DL_FN double dl_exp_of(double v) { return exp(v); }
DL_FN float dl_log_of(float v) { return dl_log32(v); }
DL_FN double dl_log_of(double v) { return log(v); }
DL_FN float dl_root_of(float v) { return DL_SQRT32(v); }
DL_FN double dl_root_of(double v) { return DL_SQRT64(v); }

/* ---- a row in registers ---------------------------------------------------------------------- */
enum { DL_ROW_EACH = 8, DL_ROW_MOST = DL_ROW_EACH * 1024 };

struct dl_row_plan {
  int n, lanes;                  /* elements of a row; threads of a row: a multiple of 32 */
  bool packed;                   /* rows are made of packs, on both sides */
};
/* For rows of n <= DL_ROW_MOST elements; data: what must be aligned for packs, of `dtype`. */
static inline dl_row_plan dl_row_plan_of(int64_t n, int dtype, const void *a, const void *b,
                                         const void *c) {
  size_t bytes = (size_t)(DL_FOUR * dl_dtypes[dtype].size);
  dl_row_plan r = {(int)n, (int)((n + 32 * DL_ROW_EACH - 1) / (32 * DL_ROW_EACH) * 32), false};
  r.packed = n % DL_FOUR == 0 && dl_is_aligned(a, bytes) && dl_is_aligned(b, bytes) &&
             dl_is_aligned(c, bytes);
  return r;
}
static inline dim3 dl_row_block(const dl_row_plan &r) {
  return dim3((unsigned)r.lanes, r.lanes == 32 ? DL_BLOCK / 32 : 1);
}
static inline unsigned dl_row_grid(const dl_row_plan &r, int64_t rows) {
  return (unsigned)(r.lanes == 32 ? (rows + DL_BLOCK / 32 - 1) / (DL_BLOCK / 32) : rows);
}
/* Which row this thread helps to hold. */
DL_FN int64_t dl_row_mine() { return (int64_t)blockIdx.x * blockDim.y + threadIdx.y; }

/* The place of the j-th element of this thread in its row. */
DL_FN int dl_row_at(const dl_row_plan &r, int j) {
  int t = (int)threadIdx.x;
  return r.packed ? (j / DL_FOUR * r.lanes + t) * DL_FOUR + j % DL_FOUR : j * r.lanes + t;
}
/* This thread's elements of the row that starts at element `from` of p; `absent` beyond its end. */
DL_FN void dl_row_read(const dl_row_plan &r, int dtype, const void *p, int64_t from, float absent,
                       float *v) {
  if (r.packed) {
    dl_four raw[DL_ROW_EACH / DL_FOUR];
    DL_UNROLL for (int h = 0; h < DL_ROW_EACH / DL_FOUR; h++) {
      int at = dl_row_at(r, h * DL_FOUR);
      if (at < r.n) raw[h] = dl_four_read(dtype, p, from + at);
    }
    DL_UNROLL for (int h = 0; h < DL_ROW_EACH / DL_FOUR; h++) {
      DL_UNROLL for (int j = 0; j < DL_FOUR; j++) v[h * DL_FOUR + j] = absent;
      if (dl_row_at(r, h * DL_FOUR) < r.n) dl_four_open(raw[h], dtype, v + h * DL_FOUR);
    }
    return;
  }
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) {
    int at = dl_row_at(r, j);
    v[j] = at < r.n ? dl_float_at(dtype, p, from + at) : absent;
  }
}
DL_FN void dl_row_write(const dl_row_plan &r, int dtype, void *p, int64_t from, const float *v) {
  if (r.packed) {
    int size = dtype == DL_F32 ? 4 : 2;
    DL_UNROLL for (int h = 0; h < DL_ROW_EACH / DL_FOUR; h++) {
      int at = dl_row_at(r, h * DL_FOUR);
      if (at < r.n)
        dl_four_write(static_cast<char *>(p) + (from + at) * size, dtype, v + h * DL_FOUR);
    }
    return;
  }
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) {
    int at = dl_row_at(r, j);
    if (at < r.n) dl_float_put(dtype, p, from + at, v[j]);
  }
}
/* The join of v over a row's threads, in each of them; sh: room for 32 numbers. */
template <class J> DL_FN float dl_row_all(const dl_row_plan &r, float v, float *sh) {
  return r.lanes == 32 ? dl_warp_all<J>(v) : dl_block_all<J>(v, sh);
}
#endif
