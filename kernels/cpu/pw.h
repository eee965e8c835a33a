/* pw.h -- loops over contiguous runs, made from kernels/formulas.h
 *
 * For kernels/cpu/pointwise_*.c only: each defines which part of formulas.h it wants
 * (DL_FORMULAS_…) and PW_GRAIN, then includes this file, which makes for each row a loop a dtype, a
 * pw_op record and, for OP rows, the kernel.
 *
 * INVARIANT  A loop reads element i of each operand before it writes element i of the result, so
 *            a result may lie on an operand.
 * MUST NOT   know strides or other dtypes: pointwise.c brings operands into tiles. */
#ifndef DL_PW_H
#define DL_PW_H

#include "kernel.h"
#include "math32.h"

#include <float.h>
#include <math.h>

typedef struct pw_num { double f[3]; int64_t i[3]; } pw_num; /* the numbers a, b, c */
typedef void (*pw_loop)(void *out, const void *const *in, int64_t n, const pw_num *num);

typedef struct pw_op {
  pw_loop f32, f64, i64;         /* NULL: the rule lets no such dtype through */
  uint8_t nin, test;             /* test: the result is a byte, 0 or 1 */
  int8_t num[3];                 /* schema positions of a, b, c; -1 = none */
  int32_t grain;                 /* elements worth a thread's while */
} pw_op;

/* Run `op` over the call's views: dtypes, strides, threads. */
dl_status DL_K(dl_pw_run)(dl_kcall *c, const pw_op *op);
/* The same with the numbers given instead of read from the arguments. */
dl_status DL_K(dl_pw_run_num)(dl_kcall *c, const pw_op *op, const pw_num *num);
/* RuntimeError "ZeroDivisionError" if an integer divisor in[k] holds a zero. */
dl_status DL_K(dl_pw_refuse_zero)(dl_kcall *c, int k);

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* a loop that stays scalar is still right */
#define PW_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define PW_IVDEP _Pragma("GCC ivdep")
#endif

#define NUM0 -1, -1, -1
#define NUM1(i) i, -1, -1
#define NUM2(i, j) i, j, -1
#define NUM3(i, j, k) i, j, k
#define NUMF(i) (num->f[i])

#define PW_IN1(T) const T *px = in[0];
#define PW_IN2(T) PW_IN1(T) const T *py = in[1];
#define PW_IN3(T) PW_IN2(T) const T *pz = in[2];
#define PW_GET1(T) const T x = px[i];
#define PW_GET2(T) PW_GET1(T) const T y = py[i];
#define PW_GET3(T) PW_GET2(T) const T z = pz[i];
#define PW_HEAD(T, field)                                                           \
  const T a = (T)num->field[0], b = (T)num->field[1], c = (T)num->field[2];         \
  (void)a, (void)b, (void)c;

#define PW_LOOP(name, TO, T, field, nin, expr)                                      \
  static void name(void *out, const void *const *in, int64_t n, const pw_num *num) { \
    TO *to = out;                                                                   \
    PW_IN##nin(T) PW_HEAD(T, field)                                                 \
    PW_IVDEP for (int64_t i = 0; i < n; i++) { PW_GET##nin(T) to[i] = (TO)(expr); } \
  }
/* Blocks whose operands all pass the test take the quick form. */
#define PW_BLOCK 256
#define PW_LOOP_GUARDED(name, T, field, nin, test, quick, expr)                     \
  PW_LOOP(name##_quick, T, T, field, nin, quick)                                    \
  PW_LOOP(name##_full, T, T, field, nin, expr)                                      \
  static int name##_passes(const void *const *in, int64_t n) {                      \
    PW_IN##nin(T) int ok = 1;                                                       \
    for (int64_t i = 0; i < n; i++) { PW_GET##nin(T) ok &= (test); }                \
    return ok;                                                                      \
  }                                                                                 \
  static void name(void *out, const void *const *in, int64_t n, const pw_num *num) { \
    for (int64_t i = 0; i < n; i += PW_BLOCK) {                                     \
      int64_t m = n - i < PW_BLOCK ? n - i : PW_BLOCK;                              \
      const void *at[3] = {0};                                                      \
      for (int k = 0; k < nin; k++) at[k] = (const T *)in[k] + i;                   \
      (name##_passes(at, m) ? name##_quick : name##_full)((T *)out + i, at, m, num); \
    }                                                                               \
  }

#endif
