/* row.h -- what the threads of a warp or a block find out together about a row
 *
 * For kernels that give a row to a warp or to a block, and need the answer in every thread.
 *
 * INVARIANT  Results depend on the values and their places alone. Called by whole warps or whole
 *            blocks, or not at all. */
#ifndef DL_CUDA_ROW_H
#define DL_CUDA_ROW_H

#include "block.h"

/* How two threads' numbers become one. */
struct dl_adds {
  template <class C> static __device__ __forceinline__ C of(C a, C b) { return a + b; }
};
struct dl_larger {               /* nan wins */
  template <class C> static __device__ __forceinline__ C of(C a, C b) {
    return ((a > b) | (a != a)) ? a : b;
  }
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
  v = sh[0];
  for (int w = 1; w < warps; w++) v = J::of(v, sh[w]);
  return v;
}

DL_FN float dl_exp_of(float v) { return dl_exp32(v); }
DL_FN double dl_exp_of(double v) { return exp(v); }
DL_FN float dl_log_of(float v) { return dl_log32(v); }
DL_FN double dl_log_of(double v) { return log(v); }
DL_FN float dl_root_of(float v) { return DL_SQRT32(v); }
DL_FN double dl_root_of(double v) { return DL_SQRT64(v); }

#endif
