/* reduce.h -- folding the reduced dimensions of a view into one state an output
 *
 * For reduce_*.cu. A fold is a struct: C what it reads, S its state, first(), step(), join() and
 * finish(); the kernels here bring it the elements. A block of 256 threads folds `wide` outputs;
 * the 256 / wide threads of an output take every so many of its elements, neighbouring threads
 * neighbouring memory, and join their states in shared memory. Where outputs are few, an output's
 * elements are cut into chunks, whose states a second kernel joins.
 *
 * INVARIANT  The order of folding depends on sizes, strides and the card alone, never on timing.
 * MUST NOT   know which op it serves. */
#ifndef DL_CUDA_REDUCE_H
#define DL_CUDA_REDUCE_H

#include "geo.h"

struct red_call {
  const void *x;
  void *out[2], *parts;          /* parts: states, nchunk an output */
  uint8_t dtype, dout[2];
  bool across;                   /* neighbouring outputs lie closer than neighbouring elements */
  int wide;                      /* outputs a block; a power of two */
  int64_t nout, count;           /* outputs; elements folded into each */
  int64_t chunk, nchunk;         /* elements of a chunk; chunks of an output */
  double par;                    /* a number of the op: p of a norm, divisor of a mean, … */
};

/* Join the states of an output's `each` threads, which are `step` apart in sh. */
template <class F>
__device__ typename F::S red_join(typename F::S *sh, int me, int place, int each, int step) {
  for (int half = each / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place < half) sh[me] = F::join(sh[me], sh[me + half * step]);
  }
  __syncthreads();
  return sh[me];
}

template <class F>
__device__ typename F::S red_walk(const red_call &p, const dl_geo<1> &red, int64_t base, int64_t lo,
                                  int64_t hi, int step) {
  typedef typename F::C C;
  typename F::S s = F::first(), t = F::first();
  int64_t off[4], i = lo;
  for (; i + 3 * step < hi; i += 4 * (int64_t)step) {
    C v[4];
    DL_UNROLL for (int j = 0; j < 4; j++) {
      red.place(i + j * step, off + j);
      v[j] = dl_get<C>(p.dtype, p.x, base + off[j]);
    }
    s = F::step(F::step(s, v[0], i, p.par), v[2], i + 2 * step, p.par);
    t = F::step(F::step(t, v[1], i + step, p.par), v[3], i + 3 * step, p.par);
  }
  for (; i < hi; i += step) {
    red.place(i, off);
    s = F::step(s, dl_get<C>(p.dtype, p.x, base + off[0]), i, p.par);
  }
  return F::join(s, t);
}

template <class F> __global__ void red_fold(red_call p, dl_geo<1> kept, dl_geo<1> red) {
  typedef typename F::S S;
  DL_SHARED(S, sh, [DL_BLOCK]);
  int each = DL_BLOCK / p.wide, t = (int)threadIdx.x;
  int col = p.across ? t % p.wide : t / each, place = p.across ? t / p.wide : t % each;
  int64_t blocks = (p.nout + p.wide - 1) / p.wide * p.nchunk;
  for (int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
    int64_t chunk = b % p.nchunk, k = b / p.nchunk * p.wide + col, off[1];
    int64_t lo = chunk * p.chunk, hi = lo + p.chunk < p.count ? lo + p.chunk : p.count;
    S s = F::first();
    if (k < p.nout) {
      kept.place(k, off);
      s = red_walk<F>(p, red, off[0], lo + place, hi, each);
    }
    sh[t] = s;
    s = red_join<F>(sh, t, place, each, p.across ? p.wide : 1);
    if (place == 0 && k < p.nout) {
      if (p.nchunk > 1) ((S *)p.parts)[k * p.nchunk + chunk] = s;
      else F::finish(p, k, s);
    }
    __syncthreads();
  }
}

/* The chunks of an output, joined by one block. */
template <class F> __global__ void red_parts(red_call p) {
  typedef typename F::S S;
  DL_SHARED(S, sh, [DL_BLOCK]);
  int t = (int)threadIdx.x;
  for (int64_t k = blockIdx.x; k < p.nout; k += gridDim.x) {
    S s = F::first();
    for (int64_t i = t; i < p.nchunk; i += DL_BLOCK)
      s = F::join(s, ((const S *)p.parts)[k * p.nchunk + i]);
    sh[t] = s;
    s = red_join<F>(sh, t, t, DL_BLOCK, 1);
    if (t == 0) F::finish(p, k, s);
    __syncthreads();
  }
}

/* ordered: F::step wants to know an element's row-major place among the reduced dims */
void red_plan(red_call *p, dl_geo<1> *kept, dl_geo<1> *red, const dl_kcall *c, bool ordered);

template <class F> dl_status red_run(dl_kcall *c, double par, bool ordered, void *stream) {
  red_call p;
  dl_geo<1> kept, red;
  red_plan(&p, &kept, &red, c, ordered);
  if (p.nout == 0) return DL_OK;
  p.par = par;
  if (p.nchunk > 1)
    DL_TRY(dl_cu_scratch((size_t)(p.nout * p.nchunk) * sizeof(typename F::S), stream, &p.parts));
  int64_t blocks = (p.nout + p.wide - 1) / p.wide * p.nchunk;
  DL_LAUNCH(red_fold<F>, dl_blocks(blocks * DL_BLOCK), DL_BLOCK, 0, stream, p, kept, red);
  if (p.nchunk > 1)
    DL_LAUNCH(red_parts<F>, dl_blocks(p.nout * DL_BLOCK), DL_BLOCK, 0, stream, p);
  return DL_OK;
}

/* Fold by F<C>, C after the call's compute dtype. */
template <template <class> class F>
dl_status red_all(dl_kcall *c, double par, bool ordered, void *stream) {
  if (c->compute == DL_F32) return red_run<F<float>>(c, par, ordered, stream);
  if (c->compute == DL_F64) return red_run<F<double>>(c, par, ordered, stream);
  return red_run<F<int64_t>>(c, par, ordered, stream);
}
template <template <class> class F>
dl_status red_real(dl_kcall *c, double par, void *stream) {
  if (c->compute == DL_F64) return red_run<F<double>>(c, par, false, stream);
  return red_run<F<float>>(c, par, false, stream);
}

template <class C> struct red_ends;
template <> struct red_ends<float> {
  static __device__ __forceinline__ float low() { return -DL_INF32; }
  static __device__ __forceinline__ float high() { return DL_INF32; }
};
template <> struct red_ends<double> {
  static __device__ __forceinline__ double low() { return -DL_INF64; }
  static __device__ __forceinline__ double high() { return DL_INF64; }
};
template <> struct red_ends<int64_t> {
  static __device__ __forceinline__ int64_t low() { return -9223372036854775807LL - 1; }
  static __device__ __forceinline__ int64_t high() { return 9223372036854775807LL; }
};

#endif
