/* reduce_extreme.cu -- max, min, argmax, argmin
 *
 * For table.cu. nan wins; of equal elements the first. */
#include "reduce.h"

template <class T> struct max_fold {
  typedef T C;
  typedef T S;
  static __device__ __forceinline__ S first() { return red_ends<T>::low(); }
  static __device__ __forceinline__ S join(S a, S b) { return ((a > b) | (a != a)) ? a : b; }
  static __device__ __forceinline__ S step(S s, C x, int64_t, double) { return join(s, x); }
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    dl_put(p.dout[0], p.out[0], k, s);
  }
};
template <class T> struct min_fold : max_fold<T> {
  static __device__ __forceinline__ T first() { return red_ends<T>::high(); }
  static __device__ __forceinline__ T join(T a, T b) { return ((a < b) | (a != a)) ? a : b; }
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) { return join(s, x); }
};
DL_CUDA(max) { return red_all<max_fold>(c, 0.0, false, stream); }
DL_CUDA(amax) { return red_all<max_fold>(c, 0.0, false, stream); }
DL_CUDA(min) { return red_all<min_fold>(c, 0.0, false, stream); }
DL_CUDA(amin) { return red_all<min_fold>(c, 0.0, false, stream); }

/* ---- and where it is ------------------------------------------------------------------------- */
template <class T> struct placed { T v; int64_t at; };

template <class T> struct over {
  static __device__ __forceinline__ T first() { return red_ends<T>::low(); }
  static __device__ __forceinline__ bool beats(T a, T b) { return a > b; }
};
template <class T> struct under {
  static __device__ __forceinline__ T first() { return red_ends<T>::high(); }
  static __device__ __forceinline__ bool beats(T a, T b) { return a < b; }
};

/* Is (v, at) a better answer than s? */
template <class T, class O>
__device__ __forceinline__ bool better(T v, int64_t at, const placed<T> &s) {
  bool nv = v != v, ns = s.v != s.v;
  if (nv != ns) return nv;
  if (nv || v == s.v) return at < s.at;
  return O::beats(v, s.v);
}

template <class T, class O> struct where_fold {
  typedef T C;
  typedef placed<T> S;
  static __device__ __forceinline__ S first() { return {O::first(), 0}; }
  static __device__ __forceinline__ S step(S s, C x, int64_t at, double) {
    if (better<T, O>(x, at, s)) s = {x, at};
    return s;
  }
  static __device__ __forceinline__ S join(S a, S b) { return better<T, O>(b.v, b.at, a) ? b : a; }
  /* with two results the value is the first of them */
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    if (p.dout[1] == DL_NODTYPE) {
      dl_put(p.dout[0], p.out[0], k, s.at);
      return;
    }
    dl_put(p.dout[0], p.out[0], k, s.v);
    dl_put(p.dout[1], p.out[1], k, s.at);
  }
};
template <class T> struct argmax_fold : where_fold<T, over<T>> {};
template <class T> struct argmin_fold : where_fold<T, under<T>> {};
DL_CUDA(argmax) { return red_all<argmax_fold>(c, 0.0, true, stream); }
DL_CUDA(argmin) { return red_all<argmin_fold>(c, 0.0, true, stream); }
DL_CUDA(max_dim) { return red_all<argmax_fold>(c, 0.0, true, stream); }
DL_CUDA(min_dim) { return red_all<argmin_fold>(c, 0.0, true, stream); }
