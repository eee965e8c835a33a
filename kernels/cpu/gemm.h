/* gemm.h -- matrix products for the kernels of this folder
 *
 * For matmul.c, conv.c. Operands may have any strides, so a transposed view costs nothing.
 *
 * INVARIANT  A result element is one sum over k in a fixed order: it does not depend on the
 *            alignment of the data, on the batch or on the number of threads.
 * MUST NOT   know ops. */
#ifndef DL_GEMM_H
#define DL_GEMM_H

#include "kernel.h"

/* c (m,n) = beta * c + alpha * a (m,k) @ b (k,n), `batch` times. beta 0 never reads c.
 * Strides count elements: row, column, batch. c has column stride 1. */
typedef struct dl_gemm {
  int64_t batch, m, n, k;
  const void *a, *b;
  void *c;
  int64_t ars, acs, abs;
  int64_t brs, bcs, bbs;
  int64_t crs, cbs;
  double alpha, beta;
} dl_gemm;

dl_status DL_K(dl_gemm_f32)(const dl_gemm *g);
dl_status DL_K(dl_gemm_f64)(const dl_gemm *g);
dl_status DL_K(dl_gemm_i64)(const dl_gemm *g); /* wraps around */
/* By dtype: F32, F64 or I64. */
dl_status DL_K(dl_gemm_run)(dl_dtype t, const dl_gemm *g);
/* The same on this thread alone; for callers that already run in parallel pieces. */
dl_status DL_K(dl_gemm_serial)(dl_dtype t, const dl_gemm *g);

#endif
