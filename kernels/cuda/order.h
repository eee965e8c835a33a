/* order.h -- keys and their places in rising order, line by line; equal keys keep their order
 *
 * For sort.cu, count.cu and for the kernels that add up repeated indices in a fixed order.
 *
 * A key is an unsigned integer that compares as its element does, nan above all (pick.h).
 * INVARIANT  key[] and at[] are dense, `lines` x `n`; at[] counts from 0 in its own line.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_ORDER_H
#define DL_CUDA_ORDER_H

#include "block.h"

typedef struct dl_cu_order {
  int64_t lines, n, inner;       /* elements of a line are `inner` apart in x */
  int bits;                      /* of a key that may be set; above 32 the keys are uint64 */
  const void *key;
  const int32_t *at;
} dl_cu_order;

/* The lines of contiguous x along `dim` (a 0-dim view is one line of one), largest first where
 * `reversed`. Fails for lines of 2^31 elements or more. */
dl_status dl_cu_order_view(const dl_view *x, int64_t dim, bool reversed, void *stream,
                           dl_cu_order *o);
/* One line of n numbers in [0, below), which may be overwritten. */
dl_status dl_cu_order_indices(uint64_t *index, int64_t n, uint64_t below, void *stream,
                              dl_cu_order *o);

/* Where element 0 of line `i` lies in a tensor whose lines have n elements. */
static __device__ __host__ inline int64_t dl_line_at(int64_t i, int64_t inner, int64_t n) {
  return i / inner * inner * n + i % inner;
}

#endif
