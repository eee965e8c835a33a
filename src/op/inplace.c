/* inplace.c -- may the result be written where arg 0 lives? and the out= form
 *
 * INVARIANT  Nothing has been changed when a check here fails.
 * SOURCE     ATen/TensorIterator.cpp, ATen/MemoryOverlap.cpp, native/Resize.cpp (texts). */
#include "graph/graph.h"
#include "op/dispatch.h"

#include <string.h>

static dl_status shape_fits(const dl_tensor *self, const dl_meta *m) {
  if (dl_sizes_equal(self->ndim, self->size, m->ndim, m->size)) return DL_OK;
  char a[160], b[160];
  dl_fail(DL_RuntimeError, DL_E_SHAPE, "output with shape %s doesn't match the broadcast shape %s",
          dl_sizes_str(self->ndim, self->size, a, sizeof a),
          dl_sizes_str(m->ndim, m->size, b, sizeof b));
  dl_note(
      "an in-place op cannot grow the tensor it writes to; use the form without the underscore");
  return DL_E_SHAPE;
}

static dl_status dtype_fits(const dl_tensor *self, dl_dtype result) {
  if (dl_can_cast(result, (dl_dtype)self->dtype)) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DTYPE, "result type %s can't be cast to the desired output type %s",
          dl_dtypes[result].scalar, dl_dtypes[self->dtype].scalar);
  dl_note("in-place ops never change a dtype; convert first, for example x = x:float()");
  return DL_E_DTYPE;
}

static bool same_view(const dl_tensor *a, const dl_tensor *b) {
  return a->data == b->data && a->dtype == b->dtype &&
         dl_sizes_equal(a->ndim, a->size, b->ndim, b->size) &&
         dl_sizes_equal(a->ndim, a->stride, b->ndim, b->stride);
}

static dl_status overlaps(const dl_call *c, const dl_tensor *self) {
  if (dl_tensor_self_overlap(self))
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "unsupported operation: more than one element of the written-to tensor refers to a "
        "single memory location. Please clone() the tensor before performing the operation.");
  for (int k = 0; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    if (t && t != self && t->st == self->st && !same_view(t, self) && dl_tensor_overlap(t, self))
      return dl_fail(
          DL_RuntimeError, DL_E_ARGUMENT,
          "unsupported operation: some elements of the input tensor and the written-to tensor "
          "refer to a single memory location. Please clone() the tensor before performing the "
          "operation.");
  }
  return DL_OK;
}

dl_status dl_inplace_check(const dl_call *c) {
  const dl_tensor *self = c->arg[0].t;
  if (self->inference && !(dl_mode & DL_MODE_INFERENCE))
    return dl_fail(
        DL_RuntimeError, DL_E_AUTOGRAD,
        "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a "
        "clone to get a normal tensor before doing inplace update.See "
        "https://github.com/pytorch/rfcs/pull/17 for more details.");
  DL_TRY(shape_fits(self, &c->out[0]));
  DL_TRY(dtype_fits(self, (dl_dtype)c->out[0].dtype));
  return overlaps(c, self);
}

/* ---- out= ------------------------------------------------------------------------------------ */
static bool any_grad(const dl_schema *s, const dl_arg *arg) {
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR && arg[i].t->requires_grad) return true;
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++)
      if (arg[i].ts[j] && arg[i].ts[j]->requires_grad) return true;
  }
  return false;
}

static dl_status resize_out(dl_tensor *dst, const dl_tensor *src) {
  if (dl_sizes_equal(dst->ndim, dst->size, src->ndim, src->size)) return DL_OK;
  if (dst->numel) {
    char a[160], b[160];
    dl_warn(true, "UserWarning",
            "An output with one or more elements was resized since it had shape %s, which does not "
            "match "
            "the required output shape %s. This behavior is deprecated, and in a future PyTorch "
            "release "
            "outputs will not be resized unless they have zero elements. You can explicitly reuse "
            "an out "
            "tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
            dl_sizes_str(dst->ndim, dst->size, a, sizeof a),
            dl_sizes_str(src->ndim, src->size, b, sizeof b));
  }
  dl_tensor *fresh;
  DL_TRY(dl_tensor_new(dst->dev, (dl_dtype)dst->dtype, src->ndim, src->size, &fresh));
  dl_status st = dl_tensor_set_data(dst, fresh);
  dl_tensor_release(fresh);
  return st;
}

static dl_status write_out(dl_tensor *dst, const dl_tensor *src) {
  DL_TRY(dtype_fits(dst, (dl_dtype)src->dtype));
  DL_TRY(resize_out(dst, src));
  dl_view to, from;
  dl_view_of(dst, &to);
  dl_view_of(src, &from);
  dl_copy_view(&to, &from);
  dl_tensor_bump(dst);
  return DL_OK;
}

dl_status dl_dispatch_out(dl_opid op, const dl_arg *arg, dl_tensor *const *dst, int ndst) {
  const dl_schema *s = dl_op_schema(op);
  bool grad = dl_grad_enabled() && any_grad(s, arg);
  for (int k = 0; k < ndst; k++) grad = grad || (dl_grad_enabled() && dst[k]->requires_grad);
  if (grad)
    return dl_fail(
        DL_RuntimeError, DL_E_AUTOGRAD,
        "%s(): functions with out=... arguments don't support automatic differentiation, but one "
        "of the arguments requires grad.",
        s->name);
  dl_ret r;
  DL_TRY(dl_dispatch(op, arg, 0, &r));
  dl_status st = DL_OK;
  for (int k = 0; k < ndst && k < r.n && st == DL_OK; k++) st = write_out(dst[k], r.v[k]);
  dl_ret_free(&r);
  return st;
}
