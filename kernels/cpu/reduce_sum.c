/* reduce_sum.c -- sum and mean, added up as PyTorch adds them up
 *
 * For table.c. Floats are summed in a cascade of four levels, so that the error grows with the
 * logarithm of the length and the bits are PyTorch's: eight float lanes (four for double), four
 * rows at a time, a level's sum moving up every 2^power rows. Half and bfloat16 are summed in
 * float, integers in int64.
 *
 * SOURCE     ATen/native/cpu/SumKernel.cpp, TensorIteratorReduce.cpp (algorithm), as they run with
 *            AVX2 on two threads.
 * INVARIANT  The bits depend on sizes and strides alone. */
#include "reduce.h"

#include <string.h>

enum {
  LEVELS = 4,
  ROWS = 4,
  HALVED = 32768,                /* a sum of all elements above this is the sum of two halves */
  LONG = 262144                  /* a row of this length is summed by all threads */
};

static int level_power(int64_t size) {
  int log = 0;
  while (log < 62 && (INT64_C(1) << log) < size) log++;
  return log / LEVELS > 4 ? log / LEVELS : 4;
}

/* ---- the cascade over vectors of V lanes (V a plain number: one lane) ------------------- */
/* climb: rows i = lo .. hi of four vectors each, at p + i * row + k * col, into four levels of
 * partial sums. `lo` is a multiple of the top level's step, and so is `hi` unless it is the end.
 * rows: the four column sums of `size` rows.  row_sum: the sum of one long row of vectors. */
#define CASCADE(t, T, V, LOAD)                                                      \
  static void climb_##t(const T *p, int64_t row, int64_t col, int64_t lo, int64_t hi, int power, \
                        V acc[LEVELS][ROWS]) {                                      \
    const int64_t step = INT64_C(1) << power, mask = step - 1;                      \
    int64_t i = lo;                                                                 \
    while (i + step <= hi) {                                                        \
      V s0 = acc[0][0], s1 = acc[0][1], s2 = acc[0][2], s3 = acc[0][3];             \
      for (int64_t end = i + step; i < end; i++) {                                  \
        const T *q = p + i * row;                                                   \
        s0 += LOAD(q);                                                              \
        s1 += LOAD(q + col);                                                        \
        s2 += LOAD(q + 2 * col);                                                    \
        s3 += LOAD(q + 3 * col);                                                    \
      }                                                                             \
      acc[0][0] = s0, acc[0][1] = s1, acc[0][2] = s2, acc[0][3] = s3;               \
      for (int l = 1; l < LEVELS; l++) {                                            \
        for (int k = 0; k < ROWS; k++) {                                            \
          acc[l][k] += acc[l - 1][k];                                               \
          acc[l - 1][k] = (V){0};                                                   \
        }                                                                           \
        if (i & (mask << (l * power))) break;                                       \
      }                                                                             \
    }                                                                               \
    for (; i < hi; i++)                                                             \
      for (int k = 0; k < ROWS; k++) acc[0][k] += LOAD(p + i * row + k * col);      \
  }                                                                                 \
  static void settle_##t(V acc[LEVELS][ROWS]) {                                     \
    for (int k = 0; k < ROWS; k++)                                                  \
      for (int l = 1; l < LEVELS; l++) acc[0][k] += acc[l][k];                      \
  }                                                                                 \
  static void row_end_##t(const T *p, int64_t stride, int64_t size, V acc[LEVELS][ROWS], V *out) { \
    V *s = acc[0];                                                                  \
    settle_##t(acc);                                                                \
    for (int64_t i = size / ROWS * ROWS; i < size; i++) s[0] += LOAD(p + i * stride); \
    *out = s[0] + s[1] + s[2] + s[3];                                               \
  }                                                                                 \
  static void row_sum_##t(const T *p, int64_t stride, int64_t size, V *out) {       \
    V acc[LEVELS][ROWS];                                                            \
    memset(acc, 0, sizeof acc);                                                     \
    climb_##t(p, stride * ROWS, stride, 0, size / ROWS, level_power(size / ROWS), acc); \
    row_end_##t(p, stride, size, acc, out);                                         \
  }

typedef float v8f __attribute__((vector_size(32)));
typedef double v4d __attribute__((vector_size(32)));
#define LOAD_8F(q) __extension__({ v8f v_; memcpy(&v_, (q), sizeof v_); v_; })
#define LOAD_4D(q) __extension__({ v4d v_; memcpy(&v_, (q), sizeof v_); v_; })
#define LOAD_1(q) (*(q))
CASCADE(v8f, float, v8f, LOAD_8F)
CASCADE(v4d, double, v4d, LOAD_4D)
CASCADE(f32, float, float, LOAD_1)
CASCADE(f64, double, double, LOAD_1)

/* A run along the reduced dimension, and a block of neighbouring outputs. */
#define FLOAT_SUM(t, T, v, V, W)                                                    \
  static T lanes_##t(const V *acc, const T *rest, int64_t n) {                      \
    T sum = 0;                                                                      \
    for (int64_t i = 0; i < n; i++) sum += rest[i];                                 \
    for (int l = 0; l < W; l++) sum += (*acc)[l];                                   \
    return sum;                                                                     \
  }                                                                                 \
  static void sum_row_##t(const red_job *j, void *a, void *b, const void *q, int64_t stride, \
                          int64_t n, int64_t at, int64_t done) {                    \
    const T *p = q;                                                                 \
    T one;                                                                          \
    V acc;                                                                          \
    if (stride != 1 || n < W) {                                                     \
      row_sum_##t(p, stride, n, &one);                                              \
      *(T *)a += one;                                                               \
    } else {                                                                        \
      row_sum_##v(p, W, n / W, &acc);                                               \
      *(T *)a += lanes_##t(&acc, p + n / W * W, n % W);                             \
    }                                                                               \
  }                                                                                 \
  static void sum_cols_##t(const red_job *j, void *a, void *b, const void *q, int64_t rs, \
                           int64_t nr, int64_t n, int64_t at, int64_t done) {       \
    const T *p = q;                                                                 \
    T *s = a, one;                                                                  \
    V acc[LEVELS][ROWS], wide;                                                      \
    int64_t i = 0;                                                                  \
    for (; i + ROWS * W <= n; i += ROWS * W) {                                      \
      memset(acc, 0, sizeof acc);                                                   \
      climb_##v(p + i, rs, W, 0, nr, level_power(nr), acc);                         \
      settle_##v(acc);                                                              \
      for (int l = 0; l < ROWS * W; l++) s[i + l] += acc[0][l / W][l % W];          \
    }                                                                               \
    for (; j->ksize[j->nk - 1] < W && i + ROWS <= n; i += ROWS) {                   \
      T few[LEVELS][ROWS] = {{0}};                                                  \
      climb_##t(p + i, rs, 1, 0, nr, level_power(nr), few);                         \
      settle_##t(few);                                                              \
      for (int l = 0; l < ROWS; l++) s[i + l] += few[0][l];                         \
    }                                                                               \
    for (; i + W <= n; i += W) {                                                    \
      row_sum_##v(p + i, rs, nr, &wide);                                            \
      for (int l = 0; l < W; l++) s[i + l] += wide[l];                              \
    }                                                                               \
    for (; i < n; i++) {                                                            \
      row_sum_##t(p + i, rs, nr, &one);                                             \
      s[i] += one;                                                                  \
    }                                                                               \
  }                                                                                 \
  static void sum_start_##t(void *a, void *b, int64_t n) { memset(a, 0, (size_t)n * sizeof(T)); } \
  static void sum_merge_##t(void *a, void *b, const void *a2, const void *b2, int64_t n1, \
                            int64_t n2) {                                           \
    *(T *)a += *(const T *)a2;                                                      \
  }                                                                                 \
  /* One long row on all threads: the top level's blocks, each climbed on its own. */ \
  typedef struct long_##t { const T *p; int64_t rows; int power; V (*top)[ROWS]; } long_##t; \
  static void climb_blocks_##t(void *ctx, int64_t lo, int64_t hi) {                 \
    const long_##t *r = ctx;                                                        \
    V acc[LEVELS][ROWS];                                                            \
    for (int64_t i = lo; i < hi; i++) {                                             \
      int64_t first = i << (3 * r->power), end = (i + 1) << (3 * r->power);         \
      memset(acc, 0, sizeof acc);                                                   \
      climb_##v(r->p, ROWS * W, W, first, end, r->power, acc);                      \
      memcpy(r->top[i], acc[LEVELS - 1], sizeof r->top[i]);                         \
    }                                                                               \
  }                                                                                 \
  static dl_status long_sum_##t(const T *p, int64_t n, T *out) {                    \
    long_##t r = {p, n / W / ROWS, level_power(n / W / ROWS), NULL};                \
    int64_t blocks = r.rows >> (3 * r.power);                                       \
    size_t bytes = (size_t)(blocks + 1) * sizeof *r.top;                            \
    void *top;                                                                      \
    V acc[LEVELS][ROWS], wide;                                                      \
    DL_TRY(dl_scratch(bytes, &top));                                                \
    r.top = top;                                                                    \
    dl_status st = dl_parallel(blocks, 1, climb_blocks_##t, &r);                    \
    memset(acc, 0, sizeof acc);                                                     \
    for (int64_t i = 0; st == DL_OK && i < blocks; i++)                             \
      for (int k = 0; k < ROWS; k++) acc[LEVELS - 1][k] += r.top[i][k];             \
    dl_scratch_free(top, bytes);                                                    \
    climb_##v(p, ROWS * W, W, blocks << (3 * r.power), r.rows, r.power, acc);       \
    row_end_##v(p, W, n / W, acc, &wide);                                           \
    *out = lanes_##t(&wide, p + n / W * W, n % W);                                  \
    return st;                                                                      \
  }
FLOAT_SUM(f32, float, v8f, v8f, 8)
FLOAT_SUM(f64, double, v4d, v4d, 4)

/* ---- integers: any order gives the same ------------------------------------------------------ */
static void sum_start_i64(void *a, void *b, int64_t n) { memset(a, 0, (size_t)n * 8); }
static void sum_row_i64(const red_job *j, void *a, void *b, const void *v, int64_t stride,
                        int64_t n, int64_t at, int64_t done) {
  const int64_t *p = v;
  uint64_t s = *(uint64_t *)a;
  if (stride == 1) for (int64_t i = 0; i < n; i++) s += (uint64_t)p[i];
  else for (int64_t i = 0; i < n; i++) s += (uint64_t)p[i * stride];
  *(uint64_t *)a = s;
}
static void sum_cols_i64(const red_job *j, void *a, void *b, const void *v, int64_t rs, int64_t nr,
                         int64_t n, int64_t at, int64_t done) {
  uint64_t *restrict s = a;
  for (int64_t r = 0; r < nr; r++) {
    const uint64_t *restrict p = (const uint64_t *)v + r * rs;
    for (int64_t i = 0; i < n; i++) s[i] += p[i];
  }
}
static void sum_merge_i64(void *a, void *b, const void *a2, const void *b2, int64_t n1,
                          int64_t n2) {
  *(uint64_t *)a += *(const uint64_t *)a2;
}

/* ---- results: par is 1 for a sum, the number of elements for a mean -------------------------- */
static void finish_sum_f32(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  const float *s = a, by = (float)j->par;
  for (int64_t i = 0; i < n; i++) {
    float v = j->par == 1.0 ? s[i] : s[i] / by;
    DL_K(dl_reduce_store)(j, 0, DL_F32, &v, k + i, 1);
  }
}
static void finish_sum_f64(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  const double *s = a;
  for (int64_t i = 0; i < n; i++) {
    double v = s[i] / j->par;
    DL_K(dl_reduce_store)(j, 0, DL_F64, &v, k + i, 1);
  }
}
static void finish_sum_i64(const red_job *j, const void *a, const void *b, int64_t k, int64_t n) {
  DL_K(dl_reduce_store)(j, 0, DL_I64, a, k, n);
}

#define RECORD(t, T) \
  {sizeof(T), 0, false, sum_start_##t, sum_row_##t, sum_cols_##t, sum_merge_##t, finish_sum_##t}
static const red_fold sums[3] = {RECORD(f32, float), RECORD(f64, double), RECORD(i64, int64_t)};

static dl_status sum_one(const red_job *j, int64_t off, int64_t n, bool wide, double *out) {
  float f = 0;
  if (wide) return long_sum_f64((const double *)j->data + off, n, out);
  DL_TRY(long_sum_f32((const float *)j->data + off, n, &f));
  *out = (double)f;
  return DL_OK;
}

/* Few and long contiguous rows: each by all threads. */
static dl_status long_rows(const red_job *j, bool wide) {
  for (int64_t k = 0; k < j->nout; k++) {
    int64_t off = 0, at = k, half = j->nout == 1 ? (j->count + 1) / 2 : j->count;
    double a, b = 0;
    for (int i = j->nk - 1; i >= 0; at /= j->ksize[i--]) off += at % j->ksize[i] * j->kstride[i];
    DL_TRY(sum_one(j, off, half, wide, &a));
    if (half < j->count) DL_TRY(sum_one(j, off + half, j->count - half, wide, &b));
    float f = (float)a + (float)b;
    double d = a + b;
    (wide ? finish_sum_f64 : finish_sum_f32)(j, wide ? (void *)&d : (void *)&f, NULL, k, 1);
  }
  return DL_OK;
}

static dl_status total(dl_kcall *c, bool mean) {
  int t = c->compute == DL_F32 ? 0 : c->compute == DL_F64 ? 1 : 2;
  red_job j;
  DL_K(dl_reduce_plan)(&j, c, false);
  j.par = mean ? (double)j.count : 1.0;
  bool direct = t < 2 && j.dtype == c->compute && j.nr == 1 && j.rstride[0] == 1;
  bool alone = j.nout == 1 && j.count > HALVED, few = j.nout < 16 && j.count >= LONG;
  if (direct && (alone || few)) return long_rows(&j, t == 1);
  return DL_K(dl_reduce)(c, &sums[t], c->compute, j.par);
}
DL_KERNEL(sum) { return total(c, false); }
DL_KERNEL(sum_dim) { return total(c, false); }
DL_KERNEL(mean) { return total(c, true); }
DL_KERNEL(mean_dim) { return total(c, true); }
