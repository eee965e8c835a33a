/* reduce_fold.c -- prod, max, min, all, any, norm, var, std, argmax, argmin
 *
 * For table.c. nan wins in max and min; the first of equal elements wins in argmax. Products are
 * taken in the compute dtype, norms and variances in double.
 *
 * INVARIANT  A row of neighbouring elements is folded in LANES interleaved states, merged by
 *            halves: the same bits on every instruction set. */
#include "lanes.h"
#include "reduce.h"

#include <float.h>
#include <math.h>

/* ---- one number a state ---------------------------------------------------------------------- */
/* STEP(acc, x): the state after element x; JOIN(acc, more): after the elements of another state */
#define FOLD(name, T, A, FIRST, STEP, JOIN)                                         \
  static void name##_start(void *a, void *b, int64_t n) {                           \
    A *s = a;                                                                       \
    for (int64_t i = 0; i < n; i++) s[i] = FIRST;                                   \
  }                                                                                 \
  static void name##_row(const red_job *j, void *a, void *b, const void *v, int64_t stride, \
                         int64_t n, int64_t at, int64_t done) {                     \
    const T *p = v;                                                                 \
    const double par = j->par;                                                      \
    A acc = *(A *)a, lane[LANES];                                                   \
    int64_t i = 0;                                                                  \
    if (stride == 1 && n >= 4) {                                                    \
      int w = lanes_for(n);                                                         \
      for (int l = 0; l < w; l++) lane[l] = FIRST;                                  \
      for (; i + LANES <= n; i += LANES)                                            \
        for (int l = 0; l < LANES; l++) lane[l] = STEP(lane[l], p[i + l]);          \
      for (int l = 0; l < n - i; l++) lane[l] = STEP(lane[l], p[i + l]);            \
      for (i = n, w /= 2; w > 0; w /= 2)                                            \
        for (int l = 0; l < w; l++) lane[l] = JOIN(lane[l], lane[l + w]);           \
      acc = JOIN(acc, lane[0]);                                                     \
    }                                                                               \
    for (; i < n; i++) acc = STEP(acc, p[i * stride]);                              \
    *(A *)a = acc;                                                                  \
    (void)par;                                                                      \
  }                                                                                 \
  static void name##_cols(const red_job *j, void *a, void *b, const void *v, int64_t rs, \
                          int64_t nr, int64_t n, int64_t at, int64_t done) {        \
    const double par = j->par;                                                      \
    A *restrict s = a;                                                              \
    for (int64_t r = 0; r < nr; r++) {                                              \
      const T *restrict p = (const T *)v + r * rs;                                  \
      for (int64_t i = 0; i < n; i++) s[i] = STEP(s[i], p[i]);                      \
    }                                                                               \
    (void)par;                                                                      \
  }                                                                                 \
  static void name##_merge(void *a, void *b, const void *a2, const void *b2, int64_t n1, \
                           int64_t n2) {                                            \
    *(A *)a = JOIN(*(A *)a, *(const A *)a2);                                        \
  }
#define RECORD(name, A, finish) \
  {sizeof(A), 0, false, name##_start, name##_row, name##_cols, name##_merge, finish}

#define TIMES(s, x) ((s) * (x))
#define WRAP_TIMES(s, x) (int64_t)((uint64_t)(s) * (uint64_t)(x))
#define LARGER(s, x) (((int)((x) > (s)) | ((x) != (x))) ? (x) : (s))
#define SMALLER(s, x) (((int)((x) < (s)) | ((x) != (x))) ? (x) : (s))
#define MOST(s, x) ((x) > (s) ? (x) : (s))
#define LEAST(s, x) ((x) < (s) ? (x) : (s))
#define ALL(s, x) ((s) & ((x) != 0))
#define ANY(s, x) ((s) | ((x) != 0))

FOLD(prod_f32, float, float, 1.0f, TIMES, TIMES)
FOLD(prod_f64, double, double, 1.0, TIMES, TIMES)
FOLD(prod_i64, int64_t, int64_t, 1, WRAP_TIMES, WRAP_TIMES)
FOLD(max_f32, float, float, -INFINITY, LARGER, LARGER)
FOLD(max_f64, double, double, -INFINITY, LARGER, LARGER)
FOLD(max_i64, int64_t, int64_t, INT64_MIN, MOST, MOST)
FOLD(min_f32, float, float, INFINITY, SMALLER, SMALLER)
FOLD(min_f64, double, double, INFINITY, SMALLER, SMALLER)
FOLD(min_i64, int64_t, int64_t, INT64_MAX, LEAST, LEAST)
FOLD(all_f32, float, uint8_t, 1, ALL, ALL)
FOLD(all_f64, double, uint8_t, 1, ALL, ALL)
FOLD(all_i64, int64_t, uint8_t, 1, ALL, ALL)
FOLD(any_f32, float, uint8_t, 0, ANY, ANY)
FOLD(any_f64, double, uint8_t, 0, ANY, ANY)
FOLD(any_i64, int64_t, uint8_t, 0, ANY, ANY)

/* the state is the result */
static void finish_f32(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_F32, a, k, n);
}
static void finish_f64(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_F64, a, k, n);
}
static void finish_i64(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_I64, a, k, n);
}
static void finish_bool(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_BOOL, a, k, n);
}

static int slot(int compute) { return compute == DL_F32 ? 0 : compute == DL_F64 ? 1 : 2; }

#define TRIPLE(op)                                                                  \
  static const red_fold op##_folds[3] = {RECORD(op##_f32, float, finish_f32),       \
                                         RECORD(op##_f64, double, finish_f64),      \
                                         RECORD(op##_i64, int64_t, finish_i64)};
#define TRIPLE_BOOL(op)                                                             \
  static const red_fold op##_folds[3] = {RECORD(op##_f32, uint8_t, finish_bool),    \
                                         RECORD(op##_f64, uint8_t, finish_bool),    \
                                         RECORD(op##_i64, uint8_t, finish_bool)};
TRIPLE(prod)
TRIPLE(max)
TRIPLE(min)
TRIPLE_BOOL(all)
TRIPLE_BOOL(any)
#define KERNEL(id, folds) \
  DL_KERNEL(id) { return DL_K(dl_reduce)(c, &folds[slot(c->compute)], c->compute, 0.0); }
KERNEL(prod, prod_folds)
KERNEL(prod_dim, prod_folds)
KERNEL(max, max_folds)
KERNEL(amax, max_folds)
KERNEL(min, min_folds)
KERNEL(amin, min_folds)
KERNEL(all, all_folds)
KERNEL(any, any_folds)

/* ---- norms, in double ------------------------------------------------------------------------ */
#define ABS(x) dl_abs64((double)(x))
#define SQUARES(s, x) ((s) + (double)(x) * (double)(x))
#define SIZES(s, x) ((s) + ABS(x))
#define COUNTS(s, x) ((s) + ((x) != 0 ? 1.0 : 0.0))
#define POWERS(s, x) ((s) + pow(ABS(x), par))
#define TOP(s, x) LARGER(s, ABS(x))
#define BOTTOM(s, x) SMALLER(s, ABS(x))
#define PLUS(s, x) ((s) + (x))
#define NORMS(T, t)                                                                 \
  FOLD(norm2_##t, T, double, 0.0, SQUARES, PLUS)                                    \
  FOLD(norm1_##t, T, double, 0.0, SIZES, PLUS)                                      \
  FOLD(norm0_##t, T, double, 0.0, COUNTS, PLUS)                                     \
  FOLD(normp_##t, T, double, 0.0, POWERS, PLUS)                                     \
  FOLD(norminf_##t, T, double, 0.0, TOP, LARGER)                                    \
  FOLD(normlow_##t, T, double, INFINITY, BOTTOM, SMALLER)
NORMS(float, f32)
NORMS(double, f64)

static void finish_root(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  const double *s = a;
  for (int64_t i = 0; i < n; i++) {
    double r = j->par == 2.0 ? sqrt(s[i]) : pow(s[i], 1.0 / j->par);
    DL_K(dl_reduce_store)(j, 0, DL_F64, &r, k + i, 1);
  }
}

#define NORM_ROW(t)                                                                 \
  {RECORD(norm2_##t, double, finish_root), RECORD(norm1_##t, double, finish_f64),   \
   RECORD(norm0_##t, double, finish_f64), RECORD(normp_##t, double, finish_root),   \
   RECORD(norminf_##t, double, finish_f64), RECORD(normlow_##t, double, finish_f64)}
static const red_fold norm_folds[2][6] = {NORM_ROW(f32), NORM_ROW(f64)};

DL_KERNEL(norm) {
  double p = dl_arg_given(&c->arg[1]) ? dl_arg_f(&c->arg[1]) : 2.0;
  int form = p == 2.0 ? 0 : p == 1.0 ? 1 : p == 0.0 ? 2 : !isinf(p) ? 3 : p > 0 ? 4 : 5;
  return DL_K(dl_reduce)(c, &norm_folds[slot(c->compute)][form], c->compute, p);
}

/* ---- variance: a = mean, b = sum of squared distances from it, in double (Chan's merge) ------ */
static void var_start(void *a, void *b, int64_t n) {
  double *mean = a, *m2 = b;
  for (int64_t i = 0; i < n; i++) mean[i] = m2[i] = 0.0;
}

static void var_merge(void *a, void *b, const void *a2, const void *b2, int64_t n1, int64_t n2) {
  double *mean = a, *m2 = b, gap = *(const double *)a2 - *mean;
  double all = (double)n1 + (double)n2, share = (double)n2 / all;
  *m2 += *(const double *)b2 + gap * gap * (double)n1 * share;
  *mean = n1 ? *mean + gap * share : *(const double *)a2;
}

enum { VAR_TILE = 2048, VAR_LANES = 16 };
#define VARIANCE(t, T)                                                              \
  static double var_sum_##t(const T *p, int64_t stride, int64_t n) {                \
    double lane[VAR_LANES] = {0}, sum = 0.0;                                            \
    int64_t i = 0;                                                                  \
    if (stride == 1)                                                                \
      for (; i + VAR_LANES <= n; i += VAR_LANES)                                            \
        for (int l = 0; l < VAR_LANES; l++) lane[l] += (double)p[i + l];                \
    for (; i < n; i++) sum += (double)p[i * stride];                                \
    for (int l = 0; l < VAR_LANES; l++) sum += lane[l];                                 \
    return sum;                                                                     \
  }                                                                                 \
  static double var_spread_##t(const T *p, int64_t stride, int64_t n, double mean) { \
    double lane[VAR_LANES] = {0}, sum = 0.0;                                            \
    int64_t i = 0;                                                                  \
    if (stride == 1)                                                                \
      for (; i + VAR_LANES <= n; i += VAR_LANES)                                            \
        for (int l = 0; l < VAR_LANES; l++) {                                           \
          double d = (double)p[i + l] - mean;                                       \
          lane[l] += d * d;                                                         \
        }                                                                           \
    for (; i < n; i++) sum += ((double)p[i * stride] - mean) * ((double)p[i * stride] - mean); \
    for (int l = 0; l < VAR_LANES; l++) sum += lane[l];                                 \
    return sum;                                                                     \
  }                                                                                 \
  static void var_row_##t(const red_job *j, void *a, void *b, const void *v, int64_t stride, \
                          int64_t n, int64_t at, int64_t done) {                    \
    const T *p = v;                                                                 \
    for (int64_t i = 0; i < n; i += VAR_TILE) {                                     \
      int64_t m = n - i < VAR_TILE ? n - i : VAR_TILE;                              \
      double mean = var_sum_##t(p + i * stride, stride, m) / (double)m;             \
      double m2 = var_spread_##t(p + i * stride, stride, m, mean);                  \
      var_merge(a, b, &mean, &m2, done + i, m);                                     \
    }                                                                               \
  }                                                                                 \
  static void var_cols_##t(const red_job *j, void *a, void *b, const void *v, int64_t rs, \
                           int64_t nr, int64_t n, int64_t at, int64_t done) {       \
    double *restrict mean = a, *restrict m2 = b;                                    \
    for (int64_t r = 0; r < nr; r++) {                                              \
      const T *restrict p = (const T *)v + r * rs;                                  \
      double share = 1.0 / (double)(done + r + 1);                                  \
      for (int64_t i = 0; i < n; i++) {                                             \
        double gap = (double)p[i] - mean[i];                                        \
        mean[i] += gap * share;                                                     \
        m2[i] += gap * ((double)p[i] - mean[i]);                                    \
      }                                                                             \
    }                                                                               \
  }
VARIANCE(f32, float)
VARIANCE(f64, double)

static double variance(const red_job *j, double m2) {
  double free = (double)j->count - j->par;
  return m2 / (free > 0 ? free : 0.0);
}
static void finish_var(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double v = variance(j, ((const double *)b)[i]);
    DL_K(dl_reduce_store)(j, 0, DL_F64, &v, k + i, 1);
  }
}
static void finish_std(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double v = sqrt(variance(j, ((const double *)b)[i]));
    DL_K(dl_reduce_store)(j, 0, DL_F64, &v, k + i, 1);
  }
}

#define VAR_RECORD(t, finish) \
  {sizeof(double), sizeof(double), false, var_start, var_row_##t, var_cols_##t, var_merge, finish}
static const red_fold var_folds[2] = {VAR_RECORD(f32, finish_var), VAR_RECORD(f64, finish_var)};
static const red_fold std_folds[2] = {VAR_RECORD(f32, finish_std), VAR_RECORD(f64, finish_std)};

static double correction(const dl_kcall *c) {
  return dl_arg_given(&c->arg[4]) ? dl_arg_f(&c->arg[4]) : c->arg[2].i ? 1.0 : 0.0;
}
DL_KERNEL(var) { return DL_K(dl_reduce)(c, &var_folds[slot(c->compute)], c->compute, correction(c)); }
DL_KERNEL(std) { return DL_K(dl_reduce)(c, &std_folds[slot(c->compute)], c->compute, correction(c)); }

/* ---- where the extreme is: a = value, b = index ---------------------------------------------- */
enum { ARG_TILE = 2048 };
/* BETTER(x, s): x beats the state s; the first nan beats everything */
#define OVER(x, s) ((int)((x) > (s)) | ((int)((x) != (x)) & ((s) == (s))))
#define UNDER(x, s) ((int)((x) < (s)) | ((int)((x) != (x)) & ((s) == (s))))
#define WHERE(name, T, FIRST, BETTER, PICK)                                         \
  static void name##_start(void *a, void *b, int64_t n) {                           \
    for (int64_t i = 0; i < n; i++) {                                               \
      ((T *)a)[i] = FIRST;                                                          \
      ((int64_t *)b)[i] = 0;                                                        \
    }                                                                               \
  }                                                                                 \
  static void name##_row(const red_job *j, void *a, void *b, const void *v, int64_t stride, \
                         int64_t n, int64_t at, int64_t done) {                     \
    T *best = a;                                                                    \
    for (int64_t lo = 0; lo < n; lo += ARG_TILE) {                                  \
      const T *p = (const T *)v + lo * stride;                                      \
      int64_t m = n - lo < ARG_TILE ? n - lo : ARG_TILE, i = 0;                     \
      T top = FIRST;                                                                \
      PICK##_row(j, &top, NULL, p, stride, m, 0, 0);                                \
      if (!BETTER(top, *best)) continue;                                            \
      while (p[i * stride] != top && (top == top || p[i * stride] == p[i * stride])) i++; \
      *best = top;                                                                  \
      *(int64_t *)b = at + lo + i;                                                  \
    }                                                                               \
  }                                                                                 \
  static void name##_cols(const red_job *j, void *a, void *b, const void *v, int64_t rs, \
                          int64_t nr, int64_t n, int64_t at, int64_t done) {        \
    T *restrict best = a;                                                           \
    int64_t *restrict where = b;                                                    \
    for (int64_t r = 0; r < nr; r++) {                                              \
      const T *restrict p = (const T *)v + r * rs;                                  \
      for (int64_t i = 0; i < n; i++) {                                             \
        bool new = BETTER(p[i], best[i]);                                           \
        where[i] = new ? at + r : where[i];                                         \
        best[i] = new ? p[i] : best[i];                                             \
      }                                                                             \
    }                                                                               \
  }                                                                                 \
  static void name##_merge(void *a, void *b, const void *a2, const void *b2, int64_t n1, \
                           int64_t n2) {                                            \
    if (!BETTER(*(const T *)a2, *(T *)a)) return;                                   \
    *(T *)a = *(const T *)a2;                                                       \
    *(int64_t *)b = *(const int64_t *)b2;                                           \
  }
WHERE(argmax_f32, float, -INFINITY, OVER, max_f32)
WHERE(argmax_f64, double, -INFINITY, OVER, max_f64)
WHERE(argmax_i64, int64_t, INT64_MIN, OVER, max_i64)
WHERE(argmin_f32, float, INFINITY, UNDER, min_f32)
WHERE(argmin_f64, double, INFINITY, UNDER, min_f64)
WHERE(argmin_i64, int64_t, INT64_MAX, UNDER, min_i64)

static void finish_index(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_I64, b, k, n);
}
static void finish_both(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, j->compute, a, k, n);
  DL_K(dl_reduce_store)(j, 1, DL_I64, b, k, n);
}
#define WHERE_RECORD(name, T, finish) \
  {sizeof(T), 8, true, name##_start, name##_row, name##_cols, name##_merge, finish}
#define WHERE_TRIPLE(table, op, finish)                                             \
  static const red_fold table[3] = {WHERE_RECORD(op##_f32, float, finish),          \
                                    WHERE_RECORD(op##_f64, double, finish),         \
                                    WHERE_RECORD(op##_i64, int64_t, finish)};
WHERE_TRIPLE(argmax_folds, argmax, finish_index)
WHERE_TRIPLE(argmin_folds, argmin, finish_index)
WHERE_TRIPLE(max_dim_folds, argmax, finish_both)
WHERE_TRIPLE(min_dim_folds, argmin, finish_both)
KERNEL(argmax, argmax_folds)
KERNEL(argmin, argmin_folds)
KERNEL(max_dim, max_dim_folds)
KERNEL(min_dim, min_dim_folds)
