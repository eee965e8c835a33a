/* table.c -- one kernel pointer an op, in the order of ops.def
 *
 * For src/op/op.c, which picks dl_cpu_table_base, _v3 or _v4 by CPU feature bits.
 *
 * INVARIANT  A VIEW or COMPOSITE row has no kernel; every other row names dl_cpu_<id>. */
#include "kernel.h"

#define ROW_POINTWISE(id) DL_KERNEL(id);
#define ROW_REDUCE(id) ROW_POINTWISE(id)
#define ROW_KERNEL(id) ROW_POINTWISE(id)
#define ROW_KERNELC(id) ROW_POINTWISE(id)
#define ROW_UPDATE(id) ROW_POINTWISE(id)
#define ROW_FACTORY(id) ROW_POINTWISE(id)
#define ROW_VIEW(id)
#define ROW_COMPOSITE(id)
#define DL_OP(id, kind, ...) ROW_##kind(id)
#include "op/ops.def"
#undef DL_OP

#define CELL_POINTWISE(id) &DL_K(dl_cpu_##id)
#define CELL_REDUCE(id) CELL_POINTWISE(id)
#define CELL_KERNEL(id) CELL_POINTWISE(id)
#define CELL_KERNELC(id) CELL_POINTWISE(id)
#define CELL_UPDATE(id) CELL_POINTWISE(id)
#define CELL_FACTORY(id) CELL_POINTWISE(id)
#define CELL_VIEW(id) NULL
#define CELL_COMPOSITE(id) NULL

extern const dl_kernel_fn DL_K(dl_cpu_table)[DL_OP_COUNT];
const dl_kernel_fn DL_K(dl_cpu_table)[DL_OP_COUNT] = {
#define DL_OP(id, kind, ...) [DL_OP_##id] = CELL_##kind(id),
#include "op/ops.def"
#undef DL_OP
};
