/* gemm.h -- matrix products on the device: the driver's gemm (cuBLAS), a tiled kernel elsewhere
 *
 * For matmul.cu and conv.cu. Operands may have any strides, so a transposed view costs nothing.
 *
 * INVARIANT  The tiled kernel's result element is one sum over k in a fixed order.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_GEMM_H
#define DL_CUDA_GEMM_H

#include "block.h"

/* c (m,n) = alpha * a (m,k) @ b (k,n) + beta * c, `batch` times. beta 0 never reads c. Strides
 * count elements: row, column, batch. c has column stride 1. a and b have dtype `in`, c has `out`:
 * `in` itself, or F32 for 16-bit floats. Sums are made in float, double or int64. */
typedef struct dl_cu_product {
  int64_t batch, m, n, k;
  const void *a, *b;
  void *c;
  int64_t ars, acs, abs;
  int64_t brs, bcs, bbs;
  int64_t crs, cbs;
  double alpha, beta;
  uint8_t in, out;
  bool convolution;              /* see dl_cuda_gemm */
} dl_cu_product;

dl_status dl_cu_multiply(const dl_cu_product *g, void *stream);

#endif
