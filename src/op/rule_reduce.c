/* rule_reduce.c -- shapes and dtypes of the section "reductions", and of layer_norm
 *
 * For ops.def. Each op's dim, keepdim and dtype stand at its own places in the schema: one table
 * says where.
 *
 * SOURCE ATen/native/ReduceOps.cpp, TensorCompare.cpp, SoftMax.cpp, layer_norm.cpp,
 *        LinearAlgebra.cpp (checks and texts). */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* schema positions; 0 = the op has none */
/* literal: an empty list of dims reduces none (elsewhere all) */
typedef struct places { uint8_t dim, keepdim, dtype; const char *name; bool literal; } places;
static const places places_of[DL_OP_COUNT] = {
  [DL_OP_sum] = {0, 0, 1, "sum"},           [DL_OP_sum_dim] = {1, 2, 3, "sum"},
  [DL_OP_mean] = {0, 0, 1, "mean"},         [DL_OP_mean_dim] = {1, 2, 3, "mean"},
  [DL_OP_prod] = {0, 0, 1, "prod"},         [DL_OP_prod_dim] = {1, 2, 3, "prod"},
  [DL_OP_amax] = {1, 2, 0, "amax"},         [DL_OP_amin] = {1, 2, 0, "amin"},
  [DL_OP_max] = {0, 0, 0, "max"},           [DL_OP_min] = {0, 0, 0, "min"},
  [DL_OP_max_dim] = {1, 2, 0, "max"},       [DL_OP_min_dim] = {1, 2, 0, "min"},
  [DL_OP_argmax] = {1, 2, 0, "argmax"},     [DL_OP_argmin] = {1, 2, 0, "argmin"},
  [DL_OP_all] = {1, 2, 0, "all", true},     [DL_OP_any] = {1, 2, 0, "any", true},
  [DL_OP_var] = {1, 3, 0, "var"},           [DL_OP_std] = {1, 3, 0, "std"},
  [DL_OP_norm] = {2, 3, 4, "norm"},
};

static const places *where(const dl_call *c) { return &places_of[c->op - dl_ops]; }

/* The dims reduced, and the shape of result 0 with dtype d. */
static dl_status reduced(dl_call *c, dl_dtype d) {
  const places *p = where(c);
  const dl_tensor *x = c->in[0];
  static const dl_arg everything = {.tag = DL_A_NONE};
  const dl_arg *dim = p->dim ? &c->arg[p->dim] : &everything;
  DL_TRY(dl_dims_mask(dim, x->ndim, &c->dims));
  if (p->literal && dim->tag == DL_A_INTS && dim->n == 0) c->dims = 0;
  c->out[0].dtype = (uint8_t)d;
  dl_reduce_meta(x, c->dims, p->keepdim && c->arg[p->keepdim].i, &c->out[0]);
  c->nout = 1;
  return DL_OK;
}

static bool dims_given(const dl_call *c) {
  const places *p = where(c);
  const dl_arg *a = p->dim ? &c->arg[p->dim] : NULL;
  return a && a->tag != DL_A_NONE && !(a->tag == DL_A_INTS && a->n == 0);
}

static bool given_dtype(const dl_call *c, dl_dtype *d) {
  const places *p = where(c);
  if (!p->dtype || !dl_arg_given(&c->arg[p->dtype])) return false;
  *d = (dl_dtype)c->arg[p->dtype].i;
  return true;
}

/* ---- sums ------------------------------------------------------------------------------------ */
dl_status dl_rule_reduce_sum(dl_call *c) {
  dl_dtype x = (dl_dtype)c->in[0]->dtype, d = dl_dtype_is_float(x) ? x : DL_I64;
  given_dtype(c, &d);
  c->compute = dl_compute_for(d);
  return reduced(c, d);
}

dl_status dl_rule_reduce_mean(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  bool given = given_dtype(c, &d);
  if (!dl_dtype_is_float(d)) {
    dl_fail(
        DL_NotImplementedError, DL_E_DTYPE,
        "mean(): could not infer output dtype. %s dtype must be either a floating point or complex "
        "dtype. Got: %s",
        given ? "Optional" : "Input", dl_dtypes[d].scalar);
    dl_note("convert first, x:float():mean(), or ask for a dtype: x:mean{dtype=torch.float32}");
    return DL_E_DTYPE;
  }
  c->compute = dl_compute_for(d);
  return reduced(c, d);
}

/* ---- extremes: an empty set has none --------------------------------------------------------- */
static dl_status some_elements(const dl_call *c, dl_class whole_class, const char *advice) {
  const dl_tensor *x = c->in[0];
  const char *name = where(c)->name;
  if (x->numel) return DL_OK;
  if (!dims_given(c))
    return dl_fail(whole_class, DL_E_SHAPE,
                   "%s(): Expected reduction dim to be specified for input.numel() == 0.%s", name,
                   advice);
  for (int d = 0; d < x->ndim; d++)
    if ((c->dims & (1u << d)) && x->size[d] == 0)
      return dl_fail(DL_IndexError, DL_E_SHAPE,
                     "%s(): Expected reduction dim %d to have non-zero size.", name, d);
  return DL_OK;
}

dl_status dl_rule_reduce_same(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  c->compute = dl_compute_for(d);
  DL_TRY(reduced(c, d));
  return some_elements(c, DL_RuntimeError, " Specify the reduction dim with the 'dim' argument.");
}

dl_status dl_rule_reduce_minmax(dl_call *c) {
  DL_TRY(dl_rule_reduce_same(c));
  dl_call_out(c, 1, DL_I64, c->out[0].ndim, c->out[0].size);
  return DL_OK;
}

dl_status dl_rule_reduce_arg(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (d == DL_BOOL)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "%s(): does not support bool input",
                   where(c)->name);
  c->compute = dl_compute_for(d);
  DL_TRY(reduced(c, DL_I64));
  return some_elements(c, DL_IndexError, "");
}

dl_status dl_rule_reduce_bool(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  c->compute = dl_compute_for(d);
  return reduced(c, d == DL_U8 ? DL_U8 : DL_BOOL);
}

/* ---- variance and norms ---------------------------------------------------------------------- */
static double reduced_count(const dl_call *c) {
  double n = 1;
  for (int d = 0; d < c->in[0]->ndim; d++)
    if (c->dims & (1u << d)) n *= (double)c->in[0]->size[d];
  return n;
}

dl_status dl_rule_reduce_var(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "std and var only support floating point and complex dtypes");
  c->compute = dl_compute_for(d);
  DL_TRY(reduced(c, d));
  double correction = dl_arg_given(&c->arg[4]) ? dl_arg_f(&c->arg[4]) : (double)c->arg[2].i;
  if (reduced_count(c) - correction <= 0)
    dl_warn(
        true, "UserWarning",
        "%s(): degrees of freedom is <= 0. Correction should be strictly less than the reduction "
        "factor (input numel divided by output numel).",
        where(c)->name);
  return DL_OK;
}

/* inf, -inf and negative norms of nothing */
static dl_status norm_of_some(const dl_call *c, double p) {
  const dl_tensor *x = c->in[0];
  if (x->numel || (p >= 0 && !isinf(p))) return DL_OK;
  if (!dims_given(c))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "linalg.vector_norm cannot compute the %g norm on an empty tensor because the "
                   "operation does not have an identity", p);
  for (int d = 0; d < x->ndim; d++)
    if ((c->dims & (1u << d)) && x->size[d] == 0)
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "linalg.vector_norm cannot compute the %g norm on the dimension %dbecause this "
          "dimension is empty and the operation does not have an identity",
          p, d);
  return DL_OK;
}

dl_status dl_rule_reduce_norm(dl_call *c) {
  dl_dtype x = (dl_dtype)c->in[0]->dtype, d = x;
  if (!dl_dtype_is_float(x))
    return dl_fail(
        DL_NotImplementedError, DL_E_DTYPE,
        "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s",
        dl_dtypes[x].scalar);
  if (given_dtype(c, &d) && dl_promote(x, d) != d)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "linalg.vector_norm: the dtype of the input (%s) should be convertible without "
                   "narrowing to the specified dtype (%s)",
                   dl_dtypes[x].scalar, dl_dtypes[d].scalar);
  c->compute = dl_compute_for(d);
  DL_TRY(reduced(c, d));
  return norm_of_some(c, dl_arg_given(&c->arg[1]) ? dl_arg_f(&c->arg[1]) : 2.0);
}

/* ---- along a dim: the shape stays ------------------------------------------------------------ */
dl_status dl_rule_scan(dl_call *c) {
  const dl_tensor *x = c->in[0];
  dl_dtype d = dl_dtype_is_float((dl_dtype)x->dtype) ? (dl_dtype)x->dtype : DL_I64;
  int dim;
  DL_TRY(dl_wrap_dim(dl_arg_i(&c->arg[1]), x->ndim, &dim));
  if (dl_arg_given(&c->arg[2])) d = (dl_dtype)c->arg[2].i;
  dl_call_out(c, 0, d, x->ndim, x->size);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

dl_status dl_rule_softmax(dl_call *c) {
  const dl_tensor *x = c->in[0];
  dl_dtype d = (dl_dtype)x->dtype;
  bool log = c->op - dl_ops == DL_OP__log_softmax;
  int dim;
  DL_TRY(dl_wrap_dim(dl_arg_i(&c->arg[1]), x->ndim, &dim));
  if (!dl_dtype_is_float(d)) {
    dl_fail(DL_NotImplementedError, DL_E_DTYPE,
            "\"%ssoftmax_%skernel_impl\" not implemented for '%s'", log ? "log_" : "",
            dim >= x->ndim - 1 ? "lastdim_" : "", dl_dtypes[d].scalar);
    dl_note("softmax works on floating dtypes: x:float()");
    return DL_E_DTYPE;
  }
  dl_call_out_like(c, 0, x);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

dl_status dl_rule_same_as_0(dl_call *c);

/* grad and output have one shape; dim is one of theirs. */
dl_status dl_rule_softmax_bwd(dl_call *c) {
  const dl_tensor *g = c->in[0], *y = c->in[1];
  int dim;
  DL_TRY(dl_wrap_dim(dl_arg_i(&c->arg[2]), g->ndim, &dim));
  if (!dl_sizes_equal(g->ndim, g->size, y->ndim, y->size)) {
    char a[160], b[160];
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Expected grad of size %s, but got %s",
                   dl_sizes_str(y->ndim, y->size, a, sizeof a),
                   dl_sizes_str(g->ndim, g->size, b, sizeof b));
  }
  return dl_rule_same_as_0(c);
}

/* Contiguous kernels of this rule compute in floats alone. */
dl_status dl_rule_same_as_0(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  for (int k = 0; c->op->kind == DL_KERNELC && k < c->nin; k++)
    if (!dl_dtype_is_float((dl_dtype)c->in[k]->dtype))
      return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'",
                     c->op->id, dl_dtypes[c->in[k]->dtype].scalar);
  dl_call_out_like(c, 0, c->in[0]);
  if (dl_dtype_is_float(d)) c->compute = dl_compute_for(d);
  return DL_OK;
}

/* ---- layer_norm: (*, normalized_shape) ------------------------------------------------------- */
static dl_status same_shape(const dl_tensor *t, const char *name, const dl_arg *shape) {
  char a[160], b[160];
  if (!t || dl_sizes_equal(t->ndim, t->size, shape->n, shape->is)) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
                 "normalized_shape = %s", name, name, dl_sizes_str(t->ndim, t->size, a, sizeof a),
                 dl_sizes_str(shape->n, shape->is, b, sizeof b));
}

static dl_status normalized_dims(const dl_tensor *x, const dl_arg *shape) {
  int n = shape->n, lead = x->ndim - n;
  if (n < 1)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
        "one element, but got normalized_shape = []");
  if (lead >= 0 && dl_sizes_equal(n, x->size + lead, n, shape->is)) return DL_OK;
  char a[160], b[160];
  dl_sizes_str(n, shape->is, a, sizeof a);
  return dl_fail(
      DL_RuntimeError, DL_E_SHAPE,
      "Given normalized_shape=%s, expected input with shape [*, %s, but got input of size%s", a,
      a + 1, dl_sizes_str(x->ndim, x->size, b, sizeof b));
}

static dl_status parameter_dtype(const dl_call *c, int k) {
  dl_dtype x = (dl_dtype)c->in[0]->dtype;
  const dl_tensor *t = c->in[k];
  if (!t || t->dtype == x || (x <= DL_BF16 && t->dtype == DL_F32)) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                 "mixed dtype (CPU): expect parameter to have scalar type of Float");
}

dl_status dl_rule_native_layer_norm(dl_call *c) {
  const dl_tensor *x = c->in[0];
  const dl_arg *shape = &c->arg[1];
  DL_TRY(same_shape(c->in[1], "weight", shape));
  DL_TRY(same_shape(c->in[2], "bias", shape));
  DL_TRY(normalized_dims(x, shape));
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"LayerNormKernelImpl\" not implemented for '%s'", dl_dtypes[x->dtype].scalar);
  DL_TRY(parameter_dtype(c, 1));
  DL_TRY(parameter_dtype(c, 2));
  dl_call_out_like(c, 0, x);
  c->compute = dl_compute_for((dl_dtype)x->dtype);
  int64_t stat[DL_MAXDIM];       /* statistics keep the compute dtype: backward reads them */
  for (int d = 0; d < x->ndim; d++) stat[d] = d < x->ndim - shape->n ? x->size[d] : 1;
  dl_call_out(c, 1, (dl_dtype)c->compute, x->ndim, stat);
  dl_call_out(c, 2, (dl_dtype)c->compute, x->ndim, stat);
  return DL_OK;
}

/* The kernel trusts this: gradient like the input, statistics a row, weight like a row. */
static bool layer_norm_fits(const dl_call *c, int64_t inner) {
  const dl_tensor *g = c->in[0], *x = c->in[1], *w = c->in[4];
  int64_t row = 1;
  if (inner < 1 || inner > x->ndim || !dl_dtype_is_float((dl_dtype)x->dtype)) return false;
  if (!dl_sizes_equal(g->ndim, g->size, x->ndim, x->size)) return false;
  for (int64_t d = x->ndim - inner; d < x->ndim; d++) row *= x->size[d];
  return c->in[2]->numel * row == x->numel && c->in[3]->numel * row == x->numel &&
         (!w || w->numel == row);
}

dl_status dl_rule_native_layer_norm_bwd(dl_call *c) {
  const dl_tensor *x = c->in[1], *w = c->in[4];
  int inner = (int)dl_arg_i(&c->arg[5]);
  if (!layer_norm_fits(c, dl_arg_i(&c->arg[5])))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: the gradient does not fit the sizes given",
                   c->op->id);
  dl_dtype d = w ? (dl_dtype)w->dtype : (dl_dtype)x->dtype;
  dl_call_out_like(c, 0, x);
  dl_call_out(c, 1, d, inner, x->size + x->ndim - inner);
  dl_call_out(c, 2, d, inner, x->size + x->ndim - inner);
  c->compute = dl_compute_for((dl_dtype)x->dtype);
  return DL_OK;
}
