/* cost.h -- what an op costs: floating point operations and bytes, by its row's cost rule
 *
 * For the run record, the profiler and the simulated clock. Counted as the textbook counts: a
 * multiply-add is two operations, an element read or written once is its size in bytes.
 *
 * MUST NOT   know kernels. */
#ifndef DL_COST_H
#define DL_COST_H

#include "op/op.h"

typedef struct dl_price {
  int64_t flops;
  int64_t read, written; /* bytes */
} dl_price;

/* arg: schema order; out: the nout results (NULL entries are free). Composites and views cost 0. */
dl_price dl_op_price(dl_opid op, const dl_arg *arg, dl_tensor *const *out, int nout);

#endif
