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

static dl_status folds(const dl_tensor *dst) {
  if (!dl_tensor_self_overlap(dst)) return DL_OK;
  return dl_fail(
      DL_RuntimeError, DL_E_ARGUMENT,
      "unsupported operation: more than one element of the written-to tensor refers to a "
      "single memory location. Please clone() the tensor before performing the operation.");
}

static dl_status meeting(void) {
  return dl_fail(
      DL_RuntimeError, DL_E_ARGUMENT,
      "unsupported operation: some elements of the input tensor and the written-to tensor "
      "refer to a single memory location. Please clone() the tensor before performing the "
      "operation.");
}

static dl_status meets(const dl_tensor *t, const dl_tensor *dst) {
  bool apart = !t || t == dst || t->st != dst->st || same_view(t, dst);
  return apart || !dl_tensor_overlap(t, dst) ? DL_OK : meeting();
}

/* first and last byte that a view may touch */
static void reach(const dl_tensor *t, const char **first, const char **last) {
  int64_t span = 0;
  for (int i = 0; i < t->ndim; i++) span += (t->size[i] - 1) * t->stride[i];
  *first = t->data;
  *last = t->data + (span + 1) * (int64_t)dl_dtype_size((dl_dtype)t->dtype) - 1;
}

/* An index that changed under the kernel would point anywhere: no common stretch at all. */
static dl_status meets_index(const dl_tensor *index, const dl_tensor *dst) {
  const char *a, *a_last, *b, *b_last;
  if (!index || index->st != dst->st || !index->numel || !dst->numel) return DL_OK;
  if (index->dtype == DL_BOOL || index->dtype == DL_U8) return DL_OK;  /* read before the write */
  reach(index, &a, &a_last);
  reach(dst, &b, &b_last);
  return a <= b_last && b <= a_last ? meeting() : DL_OK;
}

static dl_status overlaps(const dl_call *c, const dl_tensor *self) {
  if (!strchr(c->op->where, 'e')) DL_TRY(folds(self));
  for (int k = 0; k < c->nin; k++) DL_TRY(meets(c->in[k], self));
  for (int i = 1; i < c->schema->nparam; i++) {
    const dl_arg *a = &c->arg[i];
    if (strncmp(c->schema->p[i].name, "ind", 3)) continue;      /* index, indices */
    if (a->tag == DL_A_TENSOR) DL_TRY(meets_index(a->t, self));
    for (int j = 0; a->tag == DL_A_TENSORS && j < a->n; j++) DL_TRY(meets_index(a->ts[j], self));
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

/* The result goes through memory of its own, so this refuses what PyTorch refuses, no more. */
static dl_status out_overlaps(const dl_schema *s, const dl_arg *arg, const dl_tensor *dst) {
  DL_TRY(folds(dst));
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR) DL_TRY(meets(arg[i].t, dst));
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++)
      DL_TRY(meets(arg[i].ts[j], dst));
  }
  return DL_OK;
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
  DL_TRY(dl_tensor_copy_values(dst, src, false));
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
  for (int k = 0; k < ndst; k++) DL_TRY(out_overlaps(s, arg, dst[k]));
  dl_ret r;
  unsigned autocast = dl_mode & DL_MODE_AUTOCAST; /* out= forms are not autocast */
  dl_mode &= ~(unsigned)DL_MODE_AUTOCAST;
  dl_status st = dl_dispatch(op, arg, 0, &r);
  dl_mode |= autocast;
  if (st != DL_OK) return st;
  for (int k = 0; k < ndst && k < r.n && st == DL_OK; k++) st = write_out(dst[k], r.v[k]);
  dl_ret_free(&r);
  return st;
}
