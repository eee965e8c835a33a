/* pw.h -- pointwise kernels made from kernels/formulas.h
 *
 * For pointwise_*.cu only: each names the part of formulas.h it wants (DL_FORMULAS_…) and includes
 * pw_make.h, which makes for each row a function a dtype, a pw_op record and, for OP rows, the
 * kernel. Two kernels a row: `fast` for float32's arithmetic on rows of neighbours, packs of four
 * elements at a time; `slow` for every other type and layout, an element a thread.
 *
 * INVARIANT  A thread reads its elements of all operands before it writes them: a result may lie on
 *            an operand. float32 results equal the CPU's bit for bit. */
#ifndef DL_CUDA_PW_H
#define DL_CUDA_PW_H

#include "pack.h"

#include <float.h>

struct pw_num { double f[3]; int64_t i[3]; };  /* the numbers a, b, c */

struct pw_call {
  void *out;
  const void *in[3];
  uint8_t compute, dout, din[3];
  uint8_t numbers;               /* bit k: operand k is the number given.f[k], given.i[k] */
  int64_t n;                     /* elements */
  pw_num num, given;
};

/* Where the packs of four neighbours of the fast kernel lie. */
struct pw_rows {
  uint32_t n;                    /* packs, fewer than 2^31 */
  int nd;
  dl_div div[DL_MAXDIM];         /* by sizes in packs */
  int32_t step[4][DL_MAXDIM];    /* in bytes, of the result and of the operands */
  uint8_t how[3];                /* PW_WORDS …: what an operand's pack is */
};
enum { PW_WORDS, PW_HALVES, PW_BYTES, PW_STILL, PW_GIVEN }; /* STILL: one element for all */

typedef void (*pw_fast_launcher)(const pw_call &p, const pw_rows &rows, void *stream);
typedef void (*pw_slow_launcher)(const pw_call &p, const dl_geo<4> &geo, void *stream);

struct pw_op {
  pw_fast_launcher fast;         /* NULL for integers' rows */
  pw_slow_launcher slow;
  uint8_t types;                 /* bits PW_REAL, PW_WHOLE: what the rule lets through */
  uint8_t nin, test;             /* test: the result is a byte, 0 or 1 */
  int8_t num[3];                 /* schema positions of a, b, c; -1 = none */
};
enum { PW_REAL = 1, PW_WHOLE = 2 };

dl_status pw_run(dl_kcall *c, const pw_op *op, void *stream);
/* The same with the numbers given instead of read from the arguments. */
dl_status pw_run_num(dl_kcall *c, const pw_op *op, const pw_num *num, void *stream);

/* dst = src, between dtypes; equal sizes. Through float32 from the short floats, through double or
 * int64 from the others: as the CPU does. */
dl_status dl_cu_convert(const dl_view *dst, const dl_view *src, void *stream);

DL_FN float pw_given(const pw_call &p, int k, float) { return (float)p.given.f[k]; }
DL_FN double pw_given(const pw_call &p, int k, double) { return p.given.f[k]; }
DL_FN int64_t pw_given(const pw_call &p, int k, int64_t) { return p.given.i[k]; }

/* ---- the fast kernel ------------------------------------------------------------------------- */
/* Elements of a pack, packs of a thread (all read before the first is worked on: bytes on their way
 * are what fills the memory's bus). */
enum { PW_PACK = DL_FOUR, PW_EACH = 2 };

DL_FN dl_four pw_fetch(const char *from, int how, int dtype) {
  if (how == PW_WORDS) return dl_four_words(from);
  if (how == PW_HALVES) return dl_four_halves(from);
  dl_four b = {};
  if (how == PW_BYTES) {
    b.v[0] = *reinterpret_cast<const uint32_t *>(from);
    return b;
  }
  uint32_t w = dtype == DL_F32    ? *reinterpret_cast<const uint32_t *>(from)
               : dtype == DL_BOOL ? *reinterpret_cast<const uint8_t *>(from) * 0x1010101u
                                  : *reinterpret_cast<const uint16_t *>(from) * 0x10001u;
  b.v[0] = b.v[1] = b.v[2] = b.v[3] = w;
  return b;
}

DL_FN void pw_store(char *to, int dtype, const float *v) { dl_four_write(to, dtype, v); }
DL_FN void pw_store(char *to, int, const uint8_t *v) {
  uint32_t four = 0;
  DL_UNROLL for (int j = 0; j < PW_PACK; j++) four |= (uint32_t)v[j] << 8 * j;
  *reinterpret_cast<uint32_t *>(to) = four;
}

/* off[k]: where pack i lies in view k, in bytes */
DL_FN void pw_place(const pw_rows &r, uint32_t i, int64_t *off) {
  DL_UNROLL for (int k = 0; k < 4; k++) off[k] = 0;
  DL_ROLLED for (int d = r.nd - 1; d > 0; d--) {
    uint32_t q = dl_quotient(r.div[d], i), at = i - q * r.div[d].d;
    DL_UNROLL for (int k = 0; k < 4; k++) off[k] += (int64_t)(int32_t)at * r.step[k][d];
    i = q;
  }
  DL_UNROLL for (int k = 0; k < 4; k++) off[k] += (int64_t)(int32_t)i * r.step[k][0];
}

/* A pack's elements are worked on side by side; for a long formula one after another (the next one
 * moves to the front), so that its code is there once. */
template <class F> struct pw_long { enum { is = 0 }; };
#define PW_LONG(id)  \
  struct id##_f32;   \
  template <> struct pw_long<id##_f32> { enum { is = 1 }; };

template <class F>
DL_FN void pw_four(const pw_call &p, float (&v)[3][PW_PACK], typename F::O *r) {
  if constexpr (!pw_long<F>::is) {
    DL_UNROLL for (int j = 0; j < PW_PACK; j++) r[j] = F::of(v[0][j], v[1][j], v[2][j], p.num);
  } else {
    DL_ROLLED for (int i = 0; i < PW_PACK; i++) {
      typename F::O next = F::of(v[0][0], v[1][0], v[2][0], p.num);
      DL_UNROLL for (int j = 0; j < PW_PACK - 1; j++) {
        DL_UNROLL for (int k = 0; k < F::nin; k++) v[k][j] = v[k][j + 1];
        r[j] = r[j + 1];
      }
      r[PW_PACK - 1] = next;
    }
  }
}

/* F: C the compute type, O the result's, nin, and of(x, y, z, num) */
template <class F> __global__ void __launch_bounds__(DL_BLOCK) pw_fast(pw_call p, pw_rows r) {
  uint32_t first = blockIdx.x * (DL_BLOCK * PW_EACH) + threadIdx.x;
  dl_four raw[F::nin][PW_EACH];
  char *to[PW_EACH];
  DL_UNROLL for (int h = 0; h < PW_EACH; h++) {
    uint32_t i = first + h * DL_BLOCK;
    int64_t off[4];
    if (i >= r.n) continue;
    pw_place(r, i, off);
    to[h] = static_cast<char *>(p.out) + off[0];
    DL_UNROLL for (int k = 0; k < F::nin; k++)
      if (r.how[k] != PW_GIVEN)
        raw[k][h] = pw_fetch(static_cast<const char *>(p.in[k]) + off[1 + k], r.how[k], p.din[k]);
  }
  DL_ROLLED for (int h = 0; h < PW_EACH && first + h * DL_BLOCK < r.n; h++) {
    float v[3][PW_PACK] = {};
    typename F::O made[PW_PACK] = {};
    DL_UNROLL for (int k = 0; k < F::nin; k++) {
      if (r.how[k] == PW_GIVEN)
        DL_UNROLL for (int j = 0; j < PW_PACK; j++) v[k][j] = pw_given(p, k, 0.0f);
      else dl_four_open(raw[k][0], p.din[k], v[k]);
      DL_UNROLL for (int j = 1; j < PW_EACH; j++) raw[k][j - 1] = raw[k][j];
    }
    pw_four<F>(p, v, made);
    pw_store(to[0], p.dout, made);
    DL_UNROLL for (int j = 1; j < PW_EACH; j++) to[j - 1] = to[j];
  }
}
template <class F> void pw_go_fast(const pw_call &p, const pw_rows &r, void *stream) {
  const uint32_t most = DL_BLOCK * PW_EACH;
  DL_LAUNCH(pw_fast<F>, (r.n + most - 1) / most, DL_BLOCK, 0, stream, p, r);
}

/* ---- the slow kernel ------------------------------------------------------------------------- */
template <class C> struct pw_type;
template <> struct pw_type<float> { enum { own = DL_F32 }; };
template <> struct pw_type<double> { enum { own = DL_F64 }; };
template <> struct pw_type<int64_t> { enum { own = DL_I64 }; };

DL_FN void pw_keep(int dtype, void *p, int64_t i, uint8_t v) {
  if (dtype == DL_BOOL) static_cast<uint8_t *>(p)[i] = v;
  else dl_set(dtype, p, i, (int64_t)v);
}
DL_FN void pw_keep(int dtype, void *p, int64_t i, float v) {
  if (dtype == DL_F32) static_cast<float *>(p)[i] = v;
  else dl_set(dtype, p, i, (double)v);
}
DL_FN void pw_keep(int dtype, void *p, int64_t i, double v) { dl_set(dtype, p, i, v); }
DL_FN void pw_keep(int dtype, void *p, int64_t i, int64_t v) { dl_set(dtype, p, i, v); }

template <class F>
__device__ __forceinline__ void pw_one(const pw_call &p, const int64_t *off) {
  typedef typename F::C C;
  C v[3] = {};
  DL_UNROLL for (int k = 0; k < F::nin; k++) {
    const void *from = p.in[k];
    if (p.numbers >> k & 1) v[k] = pw_given(p, k, C());
    else if (p.din[k] == pw_type<C>::own) v[k] = static_cast<const C *>(from)[off[1 + k]];
    else v[k] = dl_at<C>(p.din[k], from, off[1 + k]);
  }
  pw_keep(p.dout, p.out, off[0], F::of(v[0], v[1], v[2], p.num));
}
struct pw_none {};               /* no formula for the dtype */
template <> __device__ __forceinline__ void pw_one<pw_none>(const pw_call &, const int64_t *) {}

/* S, D, W: the formulas for float, double, int64_t */
template <class S, class D, class W> __global__ void pw_slow(pw_call p, dl_geo<4> g) {
  DL_EACH(i, p.n) {
    int64_t off[4];
    g.place(i, off);
    if (p.compute == DL_F32) pw_one<S>(p, off);
    else if (p.compute == DL_F64) pw_one<D>(p, off);
    else pw_one<W>(p, off);
  }
}
template <class S, class D, class W>
void pw_go_slow(const pw_call &p, const dl_geo<4> &g, void *stream) {
  DL_LAUNCH_EACH((pw_slow<S, D, W>), p.n, stream, p, g);
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
