/* rule_matmul.c -- shapes and dtypes of the section "matrix products"
 *
 * SOURCE ATen/native/LinearAlgebra.cpp, Blas.cpp (checks and texts). */
#include "op/op.h"

static dl_status no_bool(const dl_tensor *t, const char *kernel) {
  if (t->dtype != DL_BOOL) return DL_OK;
  return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for 'Bool'", kernel);
}

static dl_status want_dim(const dl_tensor *t, int ndim, const char *text) {
  if (t->ndim == ndim) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s", text);
}

static dl_status multiplies(const dl_tensor *a, const dl_tensor *b) {
  if (a->size[1] == b->size[0]) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_SHAPE,
          "mat1 and mat2 shapes cannot be multiplied (%lldx%lld and %lldx%lld)",
          (long long)a->size[0], (long long)a->size[1], (long long)b->size[0],
          (long long)b->size[1]);
  dl_note("the columns of the first (%lld) must equal the rows of the second (%lld); x.T swaps "
          "rows and columns",
          (long long)a->size[1], (long long)b->size[0]);
  return DL_E_SHAPE;
}

static void note_dtypes(const dl_tensor *a, const dl_tensor *b) {
  dl_note(
      "products do not promote: the operands are %s and %s; convert one, for example x:to(y.dtype)",
      dl_dtypes[a->dtype].name, dl_dtypes[b->dtype].name);
}

static dl_status matrix_result(dl_call *c, const dl_tensor *a, const dl_tensor *b) {
  int64_t size[2] = {a->size[0], b->size[1]};
  dl_call_out(c, 0, (dl_dtype)a->dtype, 2, size);
  return DL_OK;
}

dl_status dl_rule_mm(dl_call *c) {
  const dl_tensor *a = c->in[0], *b = c->in[1];
  DL_TRY(want_dim(a, 2, "self must be a matrix"));
  DL_TRY(want_dim(b, 2, "mat2 must be a matrix"));
  DL_TRY(multiplies(a, b));
  if (a->dtype != b->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE,
            "expected m1 and m2 to have the same dtype, but got: %s != %s", dl_dtypes[a->dtype].cpp,
            dl_dtypes[b->dtype].cpp);
    note_dtypes(a, b);
    return DL_E_DTYPE;
  }
  DL_TRY(no_bool(a, "addmm_impl_cpu_"));
  return matrix_result(c, a, b);
}

static dl_status expands_to(const dl_tensor *t, int ndim, const int64_t *size) {
  char want[160], have[160], type[48];
  dl_sizes_str(ndim, size, want, sizeof want);
  dl_sizes_str(t->ndim, t->size, have, sizeof have);
  if (t->ndim > ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "expand(%s{%s}, size=%s): the number of sizes provided (%d) must be greater or "
                   "equal to the "
                   "number of dimensions in the tensor (%d)",
                   dl_tensor_type_name(t, type), have, want, ndim, t->ndim);
  for (int d = ndim - 1; d >= ndim - t->ndim; d--) {
    int64_t s = t->size[d - ndim + t->ndim];
    if (s != size[d] && s != 1)
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
          "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
          (long long)size[d], (long long)s, d, want, have);
  }
  return DL_OK;
}

static dl_status addmm_dtypes(const dl_tensor *self, const dl_tensor *a, const dl_tensor *b) {
  const char *first = a->dtype != b->dtype ? "mat1" : "self";
  const dl_tensor *x = a->dtype != b->dtype ? a : self;
  if (x->dtype == b->dtype) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DTYPE, "%s and mat2 must have the same dtype, but got %s and %s",
          first, dl_dtypes[x->dtype].scalar, dl_dtypes[b->dtype].scalar);
  note_dtypes(x, b);
  return DL_E_DTYPE;
}

dl_status dl_rule_addmm(dl_call *c) {
  const dl_tensor *self = c->in[0], *a = c->in[1], *b = c->in[2];
  if (a->ndim != 2 || b->ndim != 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s must be a matrix, got %d-D tensor",
                   a->ndim != 2 ? "mat1" : "mat2", a->ndim != 2 ? a->ndim : b->ndim);
  DL_TRY(multiplies(a, b));
  DL_TRY(addmm_dtypes(self, a, b));
  DL_TRY(no_bool(a, "addmm_impl_cpu_"));
  DL_TRY(matrix_result(c, a, b));
  return expands_to(self, 2, c->out[0].size);
}

static dl_status batches(dl_call *c, const dl_tensor *a, const dl_tensor *b) {
  DL_TRY(want_dim(a, 3, "batch1 must be a 3D tensor"));
  DL_TRY(want_dim(b, 3, "batch2 must be a 3D tensor"));
  if (a->size[0] != b->size[0] || a->size[2] != b->size[1])
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected size for first two dimensions of batch2 tensor to be: [%lld, %lld] but got: "
        "[%lld, %lld].",
        (long long)a->size[0], (long long)a->size[2], (long long)b->size[0], (long long)b->size[1]);
  if (a->dtype != b->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected scalar type %s but found %s",
            dl_dtypes[a->dtype].scalar, dl_dtypes[b->dtype].scalar);
    note_dtypes(a, b);
    return DL_E_DTYPE;
  }
  DL_TRY(no_bool(a, "bmm"));
  int64_t size[3] = {a->size[0], a->size[1], b->size[2]};
  dl_call_out(c, 0, (dl_dtype)a->dtype, 3, size);
  return DL_OK;
}

dl_status dl_rule_bmm(dl_call *c) { return batches(c, c->in[0], c->in[1]); }

dl_status dl_rule_baddbmm(dl_call *c) {
  const dl_tensor *self = c->in[0];
  DL_TRY(batches(c, c->in[1], c->in[2]));
  DL_TRY(expands_to(self, 3, c->out[0].size));
  if (self->dtype == c->in[1]->dtype) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DTYPE,
          "Input dtypes must be the same, got: input %s, batch1: %s, batch2: %s",
          dl_dtypes[self->dtype].cpp, dl_dtypes[c->in[1]->dtype].cpp,
          dl_dtypes[c->in[2]->dtype].cpp);
  return DL_E_DTYPE;
}

/* a (n,m) times x (m), and self (n) or broadcast to it */
static dl_status matvec(dl_call *c, const dl_tensor *self, const dl_tensor *a, const dl_tensor *x) {
  if (a->ndim != 2 || x->ndim != 1 || (self && self->ndim > 1))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "vector + matrix @ vector expected, got %d, %d, %d",
                   self ? self->ndim : 1, a->ndim, x->ndim);
  if (a->size[1] != x->size[0] || (self && self->numel != 1 && self->numel != a->size[0]))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "size mismatch, got input (%lld), mat (%lldx%lld), vec (%lld)",
                   (long long)(self ? self->numel : a->size[0]), (long long)a->size[0],
                   (long long)a->size[1], (long long)x->size[0]);
  dl_dtype s = (dl_dtype)(self ? self->dtype : x->dtype);
  if (a->dtype != x->dtype || s != x->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE,
            "addmv input tensors must have the same dtype, but got %s, %s, and %s",
            dl_dtypes[s].scalar, dl_dtypes[a->dtype].scalar, dl_dtypes[x->dtype].scalar);
    note_dtypes(a, x);
    return DL_E_DTYPE;
  }
  DL_TRY(no_bool(a, "addmv_impl_cpu"));
  dl_call_out(c, 0, (dl_dtype)a->dtype, 1, a->size);
  return DL_OK;
}

dl_status dl_rule_mv(dl_call *c) { return matvec(c, NULL, c->in[0], c->in[1]); }
dl_status dl_rule_addmv(dl_call *c) { return matvec(c, c->in[0], c->in[1], c->in[2]); }

dl_status dl_rule_dot(dl_call *c) {
  const dl_tensor *a = c->in[0], *b = c->in[1];
  if (a->ndim != 1 || b->ndim != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "1D tensors expected, but got %dD and %dD tensors",
                   a->ndim, b->ndim);
  if (a->dtype != b->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE,
            "dot : expected both vectors to have same dtype, but found %s and %s",
            dl_dtypes[a->dtype].scalar, dl_dtypes[b->dtype].scalar);
    note_dtypes(a, b);
    return DL_E_DTYPE;
  }
  if (a->numel != b->numel)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "inconsistent tensor size, expected tensor [%lld] and src [%lld] to have the "
                   "same number of "
                   "elements, but got %lld and %lld elements respectively",
                   (long long)a->numel, (long long)b->numel, (long long)a->numel,
                   (long long)b->numel);
  DL_TRY(no_bool(a, "dot"));
  dl_call_out(c, 0, (dl_dtype)a->dtype, 0, NULL);
  return DL_OK;
}
