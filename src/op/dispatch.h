/* dispatch.h -- the parts of dispatch, for src/op/{dispatch,geometry,inplace,views}.c only */
#ifndef DL_DISPATCH_H
#define DL_DISPATCH_H

#include "op/op.h"

/* Everything one kernel run needs besides the call: shapes in stack storage, temporaries. */
typedef struct dl_runner {
  dl_kcall k;
  int64_t size[DL_MAXDIM];                                   /* common dims of a POINTWISE call */
  int64_t stride[DL_MAX_IN + DL_MAX_OUT][DL_MAXDIM];
  union { double f; float s; int64_t i; } slot[DL_MAX_IN];   /* numbers given for TN parameters */
  dl_tensor *out[DL_MAX_OUT];                                /* owned: what the kernel writes */
  dl_tensor *tmp[DL_MAX_IN];                                 /* owned: converted inputs */
  dl_view *list;                                             /* owned block of k.nlist views */
  bool dry;                                                  /* no numbers are computed */
} dl_runner;

/* dl_dispatch without a look at autocast and the run record; what dl_dispatch does while either is
 * on (autocast.c); the flags with DL_INPLACE added where the op's name ends in '_'. */
dl_status dl_dispatch_plain(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret);
dl_status dl_dispatch_moded(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret);
unsigned dl_dispatch_flags(dl_opid op, unsigned flags);

void dl_call_init(dl_call *c, dl_opid op, const dl_arg *arg, unsigned flags);
/* POINTWISE: broadcast strides, dims sorted by the result's layout and merged. */
void dl_geometry_pointwise(const dl_call *c, dl_runner *r);
void dl_geometry_plain(const dl_call *c, dl_runner *r);
/* KERNELC: contiguous copies in call.compute. */
dl_status dl_geometry_contig(const dl_call *c, dl_runner *r);
dl_status dl_geometry_list(const dl_call *c, dl_runner *r);
void dl_view_of(const dl_tensor *t, dl_view *v);
/* Was the call made with non_blocking=true? */
bool dl_call_async(const dl_call *c);
/* A fresh result for out[k], laid out like the dense inputs where the call asks for it. */
dl_status dl_output_new(const dl_call *c, int k, dl_dtype dtype, dl_tensor **out);

/* Are the operands where they must be? Sets c->dev; PyTorch's text for this op when not. */
dl_status dl_call_place(dl_call *c);
/* x[i] of a GPU with an index on the CPU: moved, then dispatched. */
bool dl_call_leaves_indices(dl_opid op, const dl_arg *arg);
dl_status dl_dispatch_moved(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret);

/* The kernel of a call that is not all on the CPU: launched, or a copy between devices; in a dry
 * run neither, where an operand has no numbers. */
bool dl_call_dry(const dl_call *c);
/* Have all operands on GPUs still got their bytes? */
dl_status dl_call_alive(const dl_call *c);
dl_status dl_run_device(dl_opid op, const dl_call *c, dl_runner *r);
dl_status dl_call_generator(const dl_call *c, dl_runner *r);

/* In-place: does the rule's result fit into arg 0 (shape, dtype, overlap)? */
dl_status dl_inplace_check(const dl_call *c);
dl_status dl_dispatch_view(dl_opid op, const dl_arg *arg, dl_ret *ret);

#endif
