/* layer_norm.c -- layer normalisation over the last dims, and its gradient
 *
 * For table.c. Rows of n elements, contiguous, of the compute dtype (KERNELC). A row's sums are
 * taken in LANES interleaved lanes over BLOCK elements, the blocks' sums in double.
 *
 * INVARIANT  The bits depend on sizes alone: gradients of weight and bias are summed in PARTS
 *            groups of rows, whatever the threads. */
#include "kernel.h"
#include "math32.h"

#include <math.h>
#include <string.h>

enum { LANES = 16, BLOCK = 4096, PARTS = 16, GRAIN = 16384 };

typedef struct norm_job {
  int64_t rows, n, part_rows;
  double eps;
  const void *x, *g, *w, *b;     /* w, b may be NULL */
  const void *mean_in, *rstd_in;
  void *out, *mean, *rstd;
  void *dw, *db;                 /* PARTS rows of n */
} norm_job;

/* sum over i < n of EXPR */
#define BLOCK_SUM(T, var, EXPR)                                                     \
  double var = 0;                                                                   \
  for (int64_t b0 = 0; b0 < n; b0 += BLOCK) {                                       \
    int64_t e0 = b0 + BLOCK < n ? b0 + BLOCK : n, i0 = b0;                          \
    T lane[LANES] = {0}, rest = 0;                                                  \
    for (; i0 + LANES <= e0; i0 += LANES)                                           \
      for (int q = 0; q < LANES; q++) {                                             \
        const int64_t i = i0 + q;                                                   \
        lane[q] += (EXPR);                                                          \
      }                                                                             \
    for (int64_t i = i0; i < e0; i++) rest += (EXPR);                               \
    for (int q = 0; q < LANES; q++) rest += lane[q];                                \
    var += (double)rest;                                                            \
  }

#define LAYER_NORM(t, T)                                                            \
  static void forward_row_##t(const norm_job *j, int64_t r) {                       \
    const int64_t n = j->n;                                                         \
    const T *x = (const T *)j->x + r * n, *w = j->w, *b = j->b;                     \
    T *out = (T *)j->out + r * n;                                                   \
    BLOCK_SUM(T, sum, x[i]);                                                        \
    const T mean = (T)(sum / (double)n);                                            \
    BLOCK_SUM(T, m2, (x[i] - mean) * (x[i] - mean));                                \
    const T rstd = (T)(1.0 / sqrt(m2 / (double)n + j->eps));                        \
    ((T *)j->mean)[r] = mean;                                                       \
    ((T *)j->rstd)[r] = rstd;                                                       \
    if (w && b) for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd * w[i] + b[i]; \
    else if (w) for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd * w[i]; \
    else if (b) for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd + b[i]; \
    else for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * rstd;             \
  }                                                                                 \
  static void forward_##t(void *ctx, int64_t lo, int64_t hi) {                      \
    for (int64_t r = lo; r < hi; r++) forward_row_##t(ctx, r);                      \
  }                                                                                 \
  /* dx = rstd (g w - mean(g w) - z mean(g w z)),  z = (x - mean) rstd */           \
  static void backward_row_##t(const norm_job *j, int64_t r, T *dw, T *db) {        \
    const int64_t n = j->n;                                                         \
    const T *x = (const T *)j->x + r * n, *g = (const T *)j->g + r * n, *w = j->w;  \
    const T mean = ((const T *)j->mean_in)[r], rstd = ((const T *)j->rstd_in)[r];   \
    T *out = (T *)j->out + r * n;                                                   \
    for (int64_t i = 0; i < n; i++) out[i] = w ? g[i] * w[i] : g[i];                \
    BLOCK_SUM(T, sum, out[i]);                                                      \
    BLOCK_SUM(T, dot, out[i] * (x[i] - mean));                                      \
    const T a = (T)(sum / (double)n), b = (T)(dot * (double)rstd * (double)rstd / (double)n); \
    for (int64_t i = 0; i < n; i++) out[i] = rstd * (out[i] - a - (x[i] - mean) * b); \
    for (int64_t i = 0; i < n; i++) dw[i] += g[i] * ((x[i] - mean) * rstd);         \
    for (int64_t i = 0; i < n; i++) db[i] += g[i];                                  \
  }                                                                                 \
  static void backward_##t(void *ctx, int64_t lo, int64_t hi) {                     \
    const norm_job *j = ctx;                                                        \
    for (int64_t p = lo; p < hi; p++) {                                             \
      int64_t end = (p + 1) * j->part_rows;                                         \
      T *dw = (T *)j->dw + p * j->n, *db = (T *)j->db + p * j->n;                   \
      memset(dw, 0, (size_t)j->n * sizeof(T));                                      \
      memset(db, 0, (size_t)j->n * sizeof(T));                                      \
      for (int64_t r = p * j->part_rows; r < end && r < j->rows; r++)               \
        backward_row_##t(j, r, dw, db);                                             \
    }                                                                               \
  }                                                                                 \
  static void add_parts_##t(const T *parts, int64_t count, int64_t n, T *out) {     \
    memset(out, 0, (size_t)n * sizeof(T));                                          \
    for (int64_t p = 0; p < count; p++)                                             \
      for (int64_t i = 0; i < n; i++) out[i] += parts[p * n + i];                   \
  }
LAYER_NORM(f32, float)
LAYER_NORM(f64, double)

DL_KERNEL(native_layer_norm) {
  norm_job j = {.eps = dl_arg_f(&c->arg[4]), .x = c->in[0].data, .w = c->in[1].data,
                .b = c->in[2].data, .out = c->out[0].data, .mean = c->out[1].data,
                .rstd = c->out[2].data};
  if (c->in[0].numel == 0) return DL_OK;
  j.rows = c->out[1].numel;
  j.n = c->in[0].numel / j.rows;
  return dl_parallel(j.rows, GRAIN / j.n + 1, c->compute == DL_F64 ? forward_f64 : forward_f32, &j);
}

static void add_parts(const dl_kcall *c, const norm_job *j, int64_t count) {
  if (c->compute == DL_F64) {
    add_parts_f64(j->dw, count, j->n, (double *)c->out[1].data);
    add_parts_f64(j->db, count, j->n, (double *)c->out[2].data);
  } else {
    add_parts_f32(j->dw, count, j->n, (float *)c->out[1].data);
    add_parts_f32(j->db, count, j->n, (float *)c->out[2].data);
  }
}

DL_KERNEL(native_layer_norm_backward) {
  norm_job j = {.g = c->in[0].data, .x = c->in[1].data, .mean_in = c->in[2].data,
                .rstd_in = c->in[3].data, .w = c->in[4].data, .out = c->out[0].data};
  j.n = c->out[1].numel;
  j.rows = j.n ? c->in[1].numel / j.n : 0;
  int64_t parts = j.rows * j.n > 4 * GRAIN ? PARTS : 1;
  j.part_rows = (j.rows + parts - 1) / parts;
  size_t bytes = (size_t)(2 * parts * j.n) * dl_dtypes[c->compute].size;
  void *sums;
  DL_TRY(dl_scratch(bytes + 64, &sums));
  j.dw = sums;
  j.db = (char *)sums + bytes / 2;
  dl_status st = dl_parallel(parts, 1, c->compute == DL_F64 ? backward_f64 : backward_f32, &j);
  if (st == DL_OK) add_parts(c, &j, parts);
  dl_scratch_free(sums, bytes + 64);
  return st;
}
