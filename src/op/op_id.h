/* op_id.h -- the enum of ops, expanded from ops.def */
#ifndef DL_OP_ID_H
#define DL_OP_ID_H

typedef enum dl_opid {
#define DL_OP(id, ...) DL_OP_##id,
#include "op/ops.def"
#undef DL_OP
  DL_OP_COUNT
} dl_opid;

#endif
