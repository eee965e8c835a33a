/* pw.h -- pointwise kernels made from kernels/formulas.h
 *
 * For pointwise_*.cu only: each names the part of formulas.h it wants (DL_FORMULAS_…) and includes
 * pw_make.h, which makes for each row a function a dtype, a pw_op record and, for OP rows, the
 * kernel. Two kernels a function: `flat` for contiguous aligned operands of common dtypes, four
 * elements a thread; `any` for the rest.
 *
 * INVARIANT  A thread reads its elements of all operands before it writes them: a result may lie on
 *            an operand. float32 results equal the CPU's bit for bit. */
#ifndef DL_CUDA_PW_H
#define DL_CUDA_PW_H

#include "geo.h"

#include <float.h>

struct pw_num { double f[3]; int64_t i[3]; };  /* the numbers a, b, c */

struct pw_call {
  void *out;
  const void *in[3];
  uint8_t dout, din[3];
  uint8_t numbers;               /* bit k: operand k is the number given.f[k], given.i[k] */
  int64_t n;
  pw_num num, given;
};

/* geo: where the operands lie; nd negative: all are contiguous and aligned. */
typedef void (*pw_launcher)(const pw_call &p, const dl_geo<4> *geo, void *stream);

struct pw_op {
  pw_launcher f32, f64, i64;     /* NULL: the rule lets no such dtype through */
  uint8_t nin, test;             /* test: the result is a byte, 0 or 1 */
  int8_t num[3];                 /* schema positions of a, b, c; -1 = none */
};

dl_status pw_run(dl_kcall *c, const pw_op *op, void *stream);
/* The same with the numbers given instead of read from the arguments. */
dl_status pw_run_num(dl_kcall *c, const pw_op *op, const pw_num *num, void *stream);

enum { PW_VEC = 4 };             /* elements of a thread of the flat kernel */

DL_FN float pw_given(const pw_call &p, int k, float) { return (float)p.given.f[k]; }
DL_FN double pw_given(const pw_call &p, int k, double) { return p.given.f[k]; }
DL_FN int64_t pw_given(const pw_call &p, int k, int64_t) { return p.given.i[k]; }

/* ---- four elements at a time ----------------------------------------------------------------- */
template <class V> struct alignas(sizeof(V) * PW_VEC > 16 ? 16 : sizeof(V) * PW_VEC) pw_four {
  V v[PW_VEC];
};

template <class V, class C>
__device__ __forceinline__ void pw_read(const void *p, int64_t i, int m, C *to) {
  if (m == PW_VEC) {
    pw_four<V> four = *(const pw_four<V> *)((const V *)p + i);
    DL_UNROLL for (int j = 0; j < PW_VEC; j++) to[j] = dl_as<C>(four.v[j]);
  } else {
    const V *from = (const V *)p + i;
    DL_UNROLL for (int j = 0; j < PW_VEC; j++) to[j] = dl_as<C>(from[j < m ? j : 0]);
  }
}
template <class C>
__device__ __forceinline__ void pw_read_bool(const void *p, int64_t i, int m, C *to) {
  pw_read<uint8_t>(p, i, m, to);
  DL_UNROLL for (int j = 0; j < PW_VEC; j++) to[j] = (C)(to[j] != 0);
}

template <class C> struct pw_mem;
template <> struct pw_mem<float> {
  static bool knows(int d) { return d == DL_F32 || d == DL_F16 || d == DL_BF16 || d == DL_BOOL; }
  static __device__ __forceinline__ void read(int d, const void *p, int64_t i, int m, float *to) {
    if (d == DL_F32) pw_read<float>(p, i, m, to);
    else if (d == DL_F16) pw_read<dl_half>(p, i, m, to);
    else if (d == DL_BF16) pw_read<dl_bf16>(p, i, m, to);
    else pw_read_bool(p, i, m, to);
  }
};
template <> struct pw_mem<double> {
  static bool knows(int d) { return d == DL_F64 || d == DL_BOOL; }
  static __device__ __forceinline__ void read(int d, const void *p, int64_t i, int m, double *to) {
    if (d == DL_F64) pw_read<double>(p, i, m, to);
    else pw_read_bool(p, i, m, to);
  }
};
template <> struct pw_mem<int64_t> {
  static bool knows(int d) { return d == DL_I64 || d == DL_I32 || d == DL_U8 || d == DL_BOOL; }
  static __device__ __forceinline__ void read(int d, const void *p, int64_t i, int m, int64_t *to) {
    if (d == DL_I64) pw_read<int64_t>(p, i, m, to);
    else if (d == DL_I32) pw_read<int32_t>(p, i, m, to);
    else if (d == DL_U8) pw_read<uint8_t>(p, i, m, to);
    else pw_read_bool(p, i, m, to);
  }
};

DL_FN void pw_keep(float v, float *to) { *to = v; }
DL_FN void pw_keep(float v, dl_half *to) { *to = dl_half_down(v); }
DL_FN void pw_keep(float v, dl_bf16 *to) { *to = dl_brain_down(v); }
DL_FN void pw_keep(double v, double *to) { *to = v; }
DL_FN void pw_keep(int64_t v, int64_t *to) { *to = v; }
DL_FN void pw_keep(int64_t v, int32_t *to) { *to = (int32_t)(uint32_t)v; }
DL_FN void pw_keep(int64_t v, uint8_t *to) { *to = (uint8_t)v; }
DL_FN void pw_keep(uint8_t v, uint8_t *to) { *to = v; }

template <class V, class O>
__device__ __forceinline__ void pw_write(void *p, int64_t i, int m, const O *from) {
  pw_four<V> four;
  DL_UNROLL for (int j = 0; j < PW_VEC; j++) pw_keep(from[j], &four.v[j]);
  if (m == PW_VEC) {
    *(pw_four<V> *)((V *)p + i) = four;
    return;
  }
  DL_UNROLL for (int j = 0; j < PW_VEC; j++)
    if (j < m) ((V *)p)[i + j] = four.v[j];
}
DL_FN void pw_write_as(int d, void *p, int64_t i, int m, const float *from) {
  if (d == DL_F32) pw_write<float>(p, i, m, from);
  else if (d == DL_F16) pw_write<dl_half>(p, i, m, from);
  else pw_write<dl_bf16>(p, i, m, from);
}
DL_FN void pw_write_as(int, void *p, int64_t i, int m, const double *from) {
  pw_write<double>(p, i, m, from);
}
DL_FN void pw_write_as(int d, void *p, int64_t i, int m, const int64_t *from) {
  if (d == DL_I64) pw_write<int64_t>(p, i, m, from);
  else if (d == DL_I32) pw_write<int32_t>(p, i, m, from);
  else pw_write<uint8_t>(p, i, m, from);
}
DL_FN void pw_write_as(int, void *p, int64_t i, int m, const uint8_t *from) {
  pw_write<uint8_t>(p, i, m, from);
}
/* Dtypes of results that pw_write_as knows: of kernels that compute C, and of tests. */
template <class C> bool pw_writes(int d, const C *) { return d != DL_BOOL && pw_mem<C>::knows(d); }
inline bool pw_writes(int d, const uint8_t *) { return d == DL_BOOL; }

/* ---- the two kernels ------------------------------------------------------------------------- */
/* F: C the compute type, O the result's, nin, and of(x, y, z, num) */
template <class F> __global__ void pw_flat(pw_call p) {
  typedef typename F::C C;
  int64_t i = ((int64_t)blockIdx.x * DL_BLOCK + threadIdx.x) * PW_VEC;
  if (i >= p.n) return;
  int m = p.n - i < PW_VEC ? (int)(p.n - i) : PW_VEC;
  C v[3][PW_VEC];
  DL_UNROLL for (int k = 0; k < F::nin; k++) {
    if (p.numbers >> k & 1) for (int j = 0; j < PW_VEC; j++) v[k][j] = pw_given(p, k, C());
    else pw_mem<C>::read(p.din[k], p.in[k], i, m, v[k]);
  }
  typename F::O r[PW_VEC];
  DL_UNROLL for (int j = 0; j < PW_VEC; j++)
    r[j] = F::of(v[0][j], v[F::nin > 1][j], v[F::nin > 2 ? 2 : 0][j], p.num);
  pw_write_as(p.dout, p.out, i, m, r);
}

template <class F> __global__ void pw_any(pw_call p, dl_geo<4> g) {
  typedef typename F::C C;
  DL_EACH(i, p.n) {
    int64_t off[4];
    C v[3];
    g.place(i, off);
    DL_UNROLL for (int k = 0; k < F::nin; k++)
      v[k] = p.numbers >> k & 1 ? pw_given(p, k, C()) : dl_get<C>(p.din[k], p.in[k], off[1 + k]);
    typename F::O r = F::of(v[0], v[F::nin > 1], v[F::nin > 2 ? 2 : 0], p.num);
    if (sizeof(r) == 1) dl_put(p.dout, p.out, off[0], (int64_t)r);
    else dl_put(p.dout, p.out, off[0], (C)r);
  }
}

template <class F> bool pw_fits_flat(const pw_call &p) {
  if (!pw_writes(p.dout, (const typename F::O *)0)) return false;
  for (int k = 0; k < F::nin; k++)
    if (!(p.numbers >> k & 1) && !pw_mem<typename F::C>::knows(p.din[k])) return false;
  return true;
}
template <class F> void pw_launch(const pw_call &p, const dl_geo<4> *g, void *stream) {
  bool dense = g->nd < 0;
  unsigned blocks = (unsigned)((p.n + DL_BLOCK * PW_VEC - 1) / (DL_BLOCK * PW_VEC));
  if (dense && pw_fits_flat<F>(p)) {
    DL_LAUNCH(pw_flat<F>, blocks, DL_BLOCK, 0, stream, p);
    return;
  }
  dl_geo<4> places = *g;
  if (dense) places.nd = -places.nd;
  DL_LAUNCH_EACH(pw_any<F>, p.n, stream, p, places);
}

/* ---- words of the readings ------------------------------------------------------------------- */
#define NUM0 -1, -1, -1
#define NUM1(i) i, -1, -1
#define NUM2(i, j) i, j, -1
#define NUM3(i, j, k) i, j, k
#define NUMF(i) (num.f[i])

#define PW_HEAD(T, field)                                                       \
  const T a = (T)num.field[0], b = (T)num.field[1], c = (T)num.field[2];        \
  (void)a, (void)b, (void)c, (void)y, (void)z;

#define PW_FORM(name, TO, T, field, n, expr)                                    \
  struct name {                                                                 \
    typedef T C;                                                                \
    typedef TO O;                                                               \
    enum { nin = n };                                                           \
    static __device__ __forceinline__ TO of(T x, T y, T z, const pw_num &num) { \
      PW_HEAD(T, field) return (TO)(expr);                                      \
    }                                                                           \
  };
#define PW_FORM_GUARDED(name, T, field, n, test, quick, expr)                   \
  struct name {                                                                 \
    typedef T C;                                                                \
    typedef T O;                                                                \
    enum { nin = n };                                                           \
    static __device__ __forceinline__ T of(T x, T y, T z, const pw_num &num) {  \
      PW_HEAD(T, field) if (test) return (T)(quick);                            \
      return (T)(expr);                                                         \
    }                                                                           \
  };

#endif
