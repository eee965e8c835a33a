/* table.cu -- the plugin's record: one kernel pointer an op, in the order of ops.def
 *
 * For whoever loads the plugin, and for tests/cuda.
 *
 * INVARIANT  A VIEW or COMPOSITE row has no kernel; every other row names dl_cuda_<id>, and without
 *            it nothing links. */
#include "cuda.h"

#include <stdio.h>

#define ROW_POINTWISE(id) DL_CUDA(id);
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

#define CELL_POINTWISE(id) &dl_cuda_##id
#define CELL_REDUCE(id) CELL_POINTWISE(id)
#define CELL_KERNEL(id) CELL_POINTWISE(id)
#define CELL_KERNELC(id) CELL_POINTWISE(id)
#define CELL_UPDATE(id) CELL_POINTWISE(id)
#define CELL_FACTORY(id) CELL_POINTWISE(id)
#define CELL_VIEW(id) NULL
#define CELL_COMPOSITE(id) NULL

static const dl_cuda_fn kernels[DL_OP_COUNT] = {
#define DL_OP(id, kind, ...) CELL_##kind(id),
#include "op/ops.def"
#undef DL_OP
};

static constexpr uint64_t hash_of_ops() {
  uint64_t h = DL_CUDA_HASH_START;
#define DL_OP(id, kind, where, schema, ...) h = dl_cuda_hash(dl_cuda_hash(h, #id), schema);
#include "op/ops.def"
#undef DL_OP
  return h;
}

dl_cuda_env dl_cuda_environment;
const dl_cuda_record dl_cuda_plugin = {DL_CUDA_ABI, DL_OP_COUNT, hash_of_ops(), kernels,
                                       &dl_cuda_environment};

/* ---- bad values in words --------------------------------------------------------------------- */
static const struct { const char *where, *text; } faults[DL_FAULT_COUNT] = {
    {"", ""},
#define X(id, where, text) {where, text},
    DL_CUDA_FAULTS(X)
#undef X
};

const char *dl_cuda_fault_text(const dl_cuda_fault *f, char *buf, size_t cap) {
  int k = f->code > 0 && f->code < DL_FAULT_COUNT ? f->code : 0;
  snprintf(buf, cap,
           "/pytorch/aten/src/ATen/native/cuda/%s: block: [%u,%u,%u], thread: [%u,%u,%u] "
           "Assertion `%s` failed.",
           faults[k].where, f->block[0], f->block[1], f->block[2], f->thread[0], f->thread[1],
           f->thread[2], faults[k].text);
  return buf;
}
