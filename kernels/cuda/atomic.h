/* atomic.h -- adding to an element that several threads may add to, for every element type
 *
 * For kernels whose sums PyTorch leaves to the order of the threads as well.
 *
 * INVARIANT  1- and 2-byte elements lie in allocations whose length is a multiple of 4 bytes.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_ATOMIC_H
#define DL_CUDA_ATOMIC_H

#include "block.h"

/* old + v; what is true stays true; 16-bit floats are added in float and rounded each time */
template <class T> __device__ __forceinline__ T dl_sum_of(T old, T v, bool is_bool) {
  typedef typename dl_wide<T>::type C;
  if (is_bool) return dl_to<T>(dl_as<C>(old) != 0 || dl_as<C>(v) != 0 ? C(1) : C(0));
  return dl_to<T>(dl_plus(dl_as<C>(old), dl_as<C>(v)));
}

#ifdef __CUDACC__
template <class T> union dl_word_part { uint32_t word; T part[4 / sizeof(T)]; };

template <class T> __device__ void dl_atomic_plus(T *p, T v, bool is_bool) {
  unsigned at = (unsigned)((uintptr_t)p & 3) / sizeof(T);
  unsigned *word = reinterpret_cast<unsigned *>((uintptr_t)p & ~(uintptr_t)3), old = *word, was;
  do {
    dl_word_part<T> w;
    w.word = was = old;
    for (unsigned i = 0; i < 4 / sizeof(T); i++)
      if (i == at) w.part[i] = dl_sum_of(w.part[i], v, is_bool);
    old = atomicCAS(word, was, w.word);
  } while (old != was);
}
DL_FN void dl_atomic_plus(float *p, float v, bool) { atomicAdd(p, v); }
DL_FN void dl_atomic_plus(double *p, double v, bool) { atomicAdd(p, v); }
DL_FN void dl_atomic_plus(int32_t *p, int32_t v, bool) { atomicAdd(p, v); }
DL_FN void dl_atomic_plus(int64_t *p, int64_t v, bool) {
  atomicAdd(reinterpret_cast<unsigned long long *>(p), (unsigned long long)v);
}
#else
template <class T> void dl_atomic_plus(T *p, T v, bool is_bool) {
  fiber::change(p, [v, is_bool](T old) { return dl_sum_of(old, v, is_bool); });
}
#endif

#endif
