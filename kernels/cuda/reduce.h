/* reduce.h -- folding the reduced dimensions of a view into one state an output
 *
 * For reduce_*.cu. A fold is a struct: C what it reads, S its state, first(), step(), join() and
 * finish(); `quick` where speed counts (2: and order within a pack does not). Kernels here bring
 * it the elements. A block of 256 threads folds `wide` outputs;
 * the 256 / wide threads of an output take every so many of its elements, neighbouring threads
 * neighbouring memory, and join their states in shared memory. Where outputs are few, an output's
 * elements are cut into chunks, whose states a second kernel joins.
 *
 * INVARIANT  The order of folding depends on sizes, strides and the card alone, never on timing.
 * MUST NOT   know which op it serves. */
#ifndef DL_CUDA_REDUCE_H
#define DL_CUDA_REDUCE_H

#include "block.h"

#include <type_traits>

struct red_call {
  const void *x;
  void *out[2], *parts;          /* parts: states, nchunk an output */
  uint8_t dtype, dout[2];
  bool across;                   /* neighbouring outputs lie closer than neighbouring elements */
  bool packed;                   /* an output's elements are packs of PACK neighbours */
  int wide, each;                /* log2 of the outputs of a block, of the threads of an output */
  int kind;                      /* which of its ops the fold serves */
  int64_t nout, count;           /* outputs; elements folded into each */
  int64_t chunk, nchunk;         /* elements of a chunk; chunks of an output */
  double par;                    /* a number of the op: p of a norm, divisor of a mean, … */
};
enum { RED_PACK = 4 };

/* Join the states of an output's `each` threads, which are `step` apart in sh. */
template <class F>
DL_FN typename F::S red_join(typename F::S *sh, int me, int place, int each, int step) {
  for (int half = each / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place < half) sh[me] = F::join(sh[me], sh[me + half * step]);
  }
  __syncthreads();
  return sh[me];
}

/* Elements lo, lo + step … below hi; four on their way at a time where the fold is a quick one. */
template <class F, class V>
DL_FN typename F::S red_walk(const red_call &p, const dl_geo<1> &red, const V *x, int64_t lo,
                                  int64_t hi, int step) {
  typedef typename F::C C;
  typename F::S s = F::first(), t = F::first();
  int64_t off, i = lo;
  for (; F::quick > 0 && i + 3 * step < hi; i += 4 * (int64_t)step) {
    V v[4];
    DL_UNROLL for (int j = 0; j < 4; j++) {
      red.place(i + j * step, &off);
      v[j] = x[off];
    }
    s = F::step(F::step(s, dl_as<C>(v[0]), i, p), dl_as<C>(v[2]), i + 2 * step, p);
    t = F::step(F::step(t, dl_as<C>(v[1]), i + step, p), dl_as<C>(v[3]), i + 3 * step, p);
  }
  DL_ROLLED for (; i < hi; i += step) {
    red.place(i, &off);
    s = F::step(s, dl_as<C>(x[off]), i, p);
  }
  return F::join(s, t);
}

/* The same for elements side by side: 16 bytes of float32 twice on their way. */
template <class F, class V>
DL_FN typename F::S red_packs(const red_call &p, const V *x, int64_t lo, int64_t hi, int place,
                                   int each) {
  typedef typename F::C C;
  typedef dl_pack<V, RED_PACK> pack;
  typename F::S s[RED_PACK];
  int64_t i = lo + RED_PACK * place, step = RED_PACK * each;
  DL_UNROLL for (int j = 0; j < RED_PACK; j++) s[j] = F::first();
  for (; i + step + RED_PACK <= hi; i += 2 * step) {
    pack a = *reinterpret_cast<const pack *>(x + i);
    pack b = *reinterpret_cast<const pack *>(x + i + step);
    DL_UNROLL for (int j = 0; j < RED_PACK; j++)
      s[j] = F::step(F::step(s[j], dl_as<C>(a.v[j]), i, p), dl_as<C>(b.v[j]), i, p);
  }
  if (i + RED_PACK <= hi) {
    pack a = *reinterpret_cast<const pack *>(x + i);
    DL_UNROLL for (int j = 0; j < RED_PACK; j++) s[j] = F::step(s[j], dl_as<C>(a.v[j]), i, p);
  }
  for (i = hi / RED_PACK * RED_PACK + place; i < hi; i += each)
    s[0] = F::step(s[0], dl_as<C>(x[i]), i, p);
  return F::join(F::join(s[0], s[1]), F::join(s[2], s[3]));
}

template <class F>
DL_FN typename F::S red_rest(const red_call &p, const dl_geo<1> &red, int64_t base, int64_t lo,
                                  int64_t hi, int step) {
  typename F::S s = F::first();
  DL_ROLLED for (int64_t i = lo; i < hi; i += step) {
    int64_t off;
    red.place(i, &off);
    s = F::step(s, dl_at<typename F::C>(p.dtype, p.x, base + off), i, p);
  }
  return s;
}

/* How C is stored; float is stored in two more ways. */
template <class C> struct red_own { typedef C type; };
template <> struct red_own<bool> { typedef uint8_t type; };
template <class C> struct red_dtype;
template <> struct red_dtype<bool> { enum { own = DL_BOOL }; };
template <> struct red_dtype<float> { enum { own = DL_F32 }; };
template <> struct red_dtype<double> { enum { own = DL_F64 }; };
template <> struct red_dtype<int64_t> { enum { own = DL_I64 }; };

template <class F, class V>
DL_FN typename F::S red_stored(const red_call &p, const dl_geo<1> &red,
                                                    int64_t base, int64_t lo, int64_t hi, int place,
                                                    int each) {
  const V *x = static_cast<const V *>(p.x) + base;
  if constexpr (F::quick > 1) {
    if (p.packed) return red_packs<F, V>(p, x, lo, hi, place, each);
  }
  return red_walk<F, V>(p, red, x, lo + place, hi, each);
}

template <class F>
DL_FN typename F::S red_chunk(const red_call &p, const dl_geo<1> &red, int64_t base,
                                   int64_t lo, int64_t hi, int place, int each) {
  typedef typename F::C C;
  typedef typename red_own<C>::type V;
  if (p.dtype == red_dtype<C>::own) return red_stored<F, V>(p, red, base, lo, hi, place, each);
  if constexpr (F::quick > 0) {
    if (p.dtype == DL_F16) return red_stored<F, dl_half>(p, red, base, lo, hi, place, each);
    if (p.dtype == DL_BF16) return red_stored<F, dl_bf16>(p, red, base, lo, hi, place, each);
  }
  return red_rest<F>(p, red, base, lo + place, hi, each);
}

/* blockIdx: outputs, chunk */
template <class F> __global__ void red_fold(red_call p, dl_geo<1> kept, dl_geo<1> red) {
  typedef typename F::S S;
  DL_SHARED(S, sh, [DL_BLOCK]);
  int t = (int)threadIdx.x, wide = 1 << p.wide, each = 1 << p.each;
  int col = p.across ? t & (wide - 1) : t >> p.each;
  int place = p.across ? t >> p.wide : t & (each - 1);
  int64_t chunk = blockIdx.y, k = ((int64_t)blockIdx.x << p.wide) + col, off = 0;
  int64_t lo = chunk * p.chunk, hi = lo + p.chunk < p.count ? lo + p.chunk : p.count;
  S s = F::first();
  if (k < p.nout) {
    kept.place(k, &off);
    s = red_chunk<F>(p, red, off, lo, hi, place, each);
  }
  sh[t] = s;
  s = red_join<F>(sh, t, place, each, p.across ? wide : 1);
  if (place > 0 || k >= p.nout) return;
  if (p.nchunk > 1) static_cast<S *>(p.parts)[k * p.nchunk + chunk] = s;
  else F::finish(p, k, s);
}

/* The chunks of an output, joined by one block. */
template <class F> __global__ void red_parts(red_call p) {
  typedef typename F::S S;
  DL_SHARED(S, sh, [DL_BLOCK]);
  int t = (int)threadIdx.x;
  int64_t k = blockIdx.x;
  S s = F::first();
  for (int64_t i = t; i < p.nchunk; i += DL_BLOCK)
    s = F::join(s, static_cast<const S *>(p.parts)[k * p.nchunk + i]);
  sh[t] = s;
  s = red_join<F>(sh, t, t, DL_BLOCK, 1);
  if (t == 0) F::finish(p, k, s);
}

/* ordered: F::step wants to know an element's row-major place among the reduced dims */
void red_plan(red_call *p, dl_geo<1> *kept, dl_geo<1> *red, const dl_kcall *c, bool ordered);

template <class F>
dl_status red_run(dl_kcall *c, double par, int kind, bool ordered, void *stream) {
  red_call p;
  dl_geo<1> kept, red;
  red_plan(&p, &kept, &red, c, ordered);
  if (p.nout == 0) return DL_OK;
  p.par = par;
  p.kind = kind;
  if (p.nchunk > 1)
    DL_TRY(dl_cu_scratch((size_t)(p.nout * p.nchunk) * sizeof(typename F::S), stream, &p.parts));
  dim3 grid((unsigned)(((p.nout - 1) >> p.wide) + 1), (unsigned)p.nchunk);
  DL_LAUNCH(red_fold<F>, grid, dim3(DL_BLOCK), 0, stream, p, kept, red);
  if (p.nchunk > 1) DL_LAUNCH(red_parts<F>, (unsigned)p.nout, DL_BLOCK, 0, stream, p);
  return DL_OK;
}

/* Fold by F<C>, C after the call's compute dtype. */
template <template <class> class F>
dl_status red_all(dl_kcall *c, double par, int kind, bool ordered, void *stream) {
  if (c->compute == DL_F32) return red_run<F<float>>(c, par, kind, ordered, stream);
  if (c->compute == DL_F64) return red_run<F<double>>(c, par, kind, ordered, stream);
  return red_run<F<int64_t>>(c, par, kind, ordered, stream);
}
template <template <class> class F>
dl_status red_real(dl_kcall *c, double par, int kind, void *stream) {
  if (c->compute == DL_F64) return red_run<F<double>>(c, par, kind, false, stream);
  return red_run<F<float>>(c, par, kind, false, stream);
}

/* Ends of the numbers of a type, and the map that turns their order around. */
template <class C> struct red_ends;
template <> struct red_ends<float> {
  DL_FN float low() { return -DL_INF32; }
};
template <> struct red_ends<double> {
  DL_FN double low() { return -DL_INF64; }
};
template <> struct red_ends<int64_t> {
  DL_FN int64_t low() { return -9223372036854775807LL - 1; }
};
DL_FN float red_turned(float v) { return -v; }
DL_FN double red_turned(double v) { return -v; }
DL_FN int64_t red_turned(int64_t v) { return ~v; }
DL_FN float red_size(float v) { return dl_abs32(v); }
DL_FN double red_size(double v) { return dl_abs64(v); }
DL_FN int64_t red_size(int64_t v) { return v < 0 ? (int64_t)(0 - (uint64_t)v) : v; }

DL_FN void red_put(const red_call &p, int k, int64_t i, double v) {
  dl_set(p.dout[k], p.out[k], i, v);
}
DL_FN void red_put(const red_call &p, int k, int64_t i, int64_t v) {
  dl_set(p.dout[k], p.out[k], i, v);
}
DL_FN void red_put(const red_call &p, int k, int64_t i, float v) { red_put(p, k, i, (double)v); }

/* The largest of numbers (nan above all), of numbers turned around, of their sizes. */
enum { RED_LOW = 1, RED_SIZE = 2 };
dl_status red_largest(dl_kcall *c, int kind, void *stream);

#endif
