/* fast.c -- x + y in nanoseconds
 *
 * Two contiguous CPU float32 tensors of one shape, no special mode: straight to the kernel.
 * Anything else takes dl_dispatch, which gives the same result.
 *
 * INVARIANT  Same bytes, same graph, same errors as the slow path. */
#include "graph/graph.h"
#include "op/op.h"

static inline bool plain(const dl_tensor *a, const dl_tensor *b) {
  return a->dtype == DL_F32 && b->dtype == DL_F32 && a->contig && b->contig &&
         a->dev.type == DL_CPU && b->dev.type == DL_CPU && a->numel == b->numel && !a->wrapped &&
         !b->wrapped && dl_sizes_equal(a->ndim, a->size, b->ndim, b->size);
}

static void flat(const dl_tensor *t, const int64_t *size, const int64_t *stride, dl_view *v) {
  v->data = t->data;
  v->dtype = DL_F32;
  v->ndim = 1;
  v->numel = t->numel;
  v->size = size;
  v->stride = stride;
}

static dl_status slow(dl_opid op, dl_tensor *a, dl_tensor *b, dl_tensor **out) {
  return dl_run(op, (dl_arg[]){T(a), T(b)}, 2, 0, out);
}

static dl_status compute(dl_opid op, const dl_arg *arg, dl_tensor *out) {
  static const int64_t one = 1;
  dl_kcall k;
  k.op = op;
  k.compute = DL_F32;
  k.nin = 2;
  k.nout = 1;
  k.nlist = 0;
  k.arg = arg;
  flat(arg[0].t, &out->numel, &one, &k.in[0]);
  flat(arg[1].t, &out->numel, &one, &k.in[1]);
  flat(out, &out->numel, &one, &k.out[0]);
  return dl_cpu_kernels[op](&k);
}

dl_status dl_op2(dl_opid op, dl_tensor *a, dl_tensor *b, dl_tensor **out) {
  /* autocast keeps these four as they are, on every device */
  bool special = dl_cancel || (dl_mode & ~(unsigned)(DL_MODE_NO_GRAD | DL_MODE_AUTOCAST));
  if (special || !plain(a, b)) return slow(op, a, b, out);
  const dl_arg arg[3] = {T(a), T(b), I(1)};
  DL_TRY(dl_tensor_new(a->dev, DL_F32, a->ndim, a->size, out));
  dl_status st = compute(op, arg, *out);
  bool grad = !(dl_mode & DL_MODE_NO_GRAD) && (dl_tensor_wants_grad(a) || dl_tensor_wants_grad(b));
  if (st == DL_OK && grad) st = dl_graph_record2(op, a, b, *out);
  if (st != DL_OK) dl_tensor_drop(out);
  return st;
}
