/* comp_pw.c -- composites of the pointwise sections and of the reductions
 *
 * Each is written in ops, so that its gradient follows by itself.
 *
 * SOURCE ATen/native/Activation.cpp, ReduceOps.cpp, SoftMax.cpp, GatedLinearUnit.cpp (texts). */
#include "op/op.h"

#define DL_COMP(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out)

/* ---- activations ------------------------------------------------------------------------ */
DL_COMP(square) { return dl_ex_return(e, EX(e, pow, arg[0], I(2)), out); }
DL_COMP(relu6) { return dl_ex_return(e, EX(e, hardtanh, arg[0], I(0), I(6)), out); }

DL_COMP(softsign) {
  dl_tensor *below = EX(e, add, T(EX(e, abs, arg[0])), I(1));
  return dl_ex_return(e, EX(e, div, arg[0], T(below)), out);
}

DL_COMP(tanhshrink) {
  return dl_ex_return(e, EX(e, sub, arg[0], T(EX(e, tanh, arg[0]))), out);
}

static dl_status prelu_fits(const dl_tensor *x, const dl_tensor *w) {
  int64_t channels = x->ndim < 2 ? 1 : x->size[1];
  if (x->dtype != w->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "prelu: Type promoting not supported. Got %s and %s", dl_dtypes[x->dtype].scalar,
                   dl_dtypes[w->dtype].scalar);
  if (w->numel != 1 && x->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Not allow zero-dim input tensor.");
  if (w->ndim > 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                   w->ndim);
  if (w->numel != 1 && w->numel != channels)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld "
        "and channel size = %lld.",
        (long long)w->numel, (long long)channels);
  return DL_OK;
}

/* weight (C) along dim 1 of x (N, C, *); one number for all otherwise */
DL_COMP(prelu) {
  dl_tensor *x = arg[0].t, *w = arg[1].t;
  DL_TRY(prelu_fits(x, w));
  int64_t size[DL_MAXDIM];
  for (int d = 0; d < x->ndim; d++) size[d] = d == 1 ? w->numel : 1;
  w = EX(e, reshape, T(w), L(size, x->ndim));
  dl_tensor *kept = EX(e, gt, T(x), I(0));
  return dl_ex_return(e, EX(e, where, T(kept), T(x), T(EX(e, mul, T(x), T(w)))), out);
}

DL_COMP(glu) {
  dl_tensor *x = arg[0].t;
  int dim;
  if (x->ndim == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "glu does not support scalars because halving size must be even");
  DL_TRY(dl_wrap_dim(dl_arg_i(&arg[1]), x->ndim, &dim));
  if (x->size[dim] % 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Halving dimension must be even, but dimension %d is size %lld", dim,
                   (long long)x->size[dim]);
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"glu_cpu\" not implemented for '%s'",
                   dl_dtypes[x->dtype].scalar);
  int64_t half = x->size[dim] / 2;
  dl_tensor *a = EX(e, slice, T(x), I(dim), I(0), I(half), I(1));
  dl_tensor *b = EX(e, slice, T(x), I(dim), I(half), I(2 * half), I(1));
  return dl_ex_return(e, EX(e, mul, T(a), T(EX(e, sigmoid, T(b)))), out);
}

/* ---- reductions ------------------------------------------------------------------------------ */
DL_COMP(max_other) { return dl_ex_return(e, EX(e, maximum, arg[0], arg[1]), out); }
DL_COMP(min_other) { return dl_ex_return(e, EX(e, minimum, arg[0], arg[1]), out); }

/* m + log(sum(exp(x - m))) with m the largest element, a constant to autograd; m = 0 where infinite
 */
DL_COMP(logsumexp) {
  dl_tensor *x = arg[0].t;
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    x = EX(e, _to_copy, T(x), DT(dl_default_dtype));
  if (!x) return e->st;
  if (x->numel == 0)
    return dl_ex_return(e, EX(e, log, T(EX(e, sum_dim, T(EX(e, exp, T(x))), arg[1], arg[2]))), out);
  dl_tensor *m = EX(e, amax, T(EX(e, detach, T(x))), arg[1], B(true));
  m = EX(e, masked_fill, T(m), T(EX(e, isinf, T(m))), I(0));
  dl_tensor *sum = EX(e, sum_dim, T(EX(e, exp, T(EX(e, sub, T(x), T(m))))), arg[1], arg[2]);
  if (!sum) return e->st;
  dl_tensor *flat = EX(e, reshape, T(m), L(sum->size, sum->ndim));
  return dl_ex_return(e, EX(e, add, T(EX(e, log, T(sum))), T(flat)), out);
}

DL_COMP(count_nonzero) {
  dl_tensor *on = EX(e, ne, arg[0], I(0));
  if (!dl_arg_given(&arg[1])) return dl_ex_return(e, EX(e, sum, T(on)), out);
  return dl_ex_return(e, EX(e, sum_dim, T(on), arg[1], B(false)), out);
}

static dl_tensor *as_dtype(dl_ex *e, dl_tensor *x, const dl_arg *dtype) {
  if (!dl_arg_given(dtype) || !x || dtype->i == x->dtype) return x;
  return EX(e, _to_copy, T(x), *dtype);
}

DL_COMP(softmax) {
  dl_tensor *x = as_dtype(e, arg[0].t, &arg[2]);
  return dl_ex_return(e, EX(e, _softmax, T(x), arg[1]), out);
}
DL_COMP(log_softmax) {
  dl_tensor *x = as_dtype(e, arg[0].t, &arg[2]);
  return dl_ex_return(e, EX(e, _log_softmax, T(x), arg[1]), out);
}
DL_COMP(softmin) {
  dl_tensor *x = as_dtype(e, EX(e, neg, arg[0]), &arg[2]);
  return dl_ex_return(e, EX(e, _softmax, T(x), arg[1]), out);
}

DL_COMP(equal) {
  const dl_tensor *a = arg[0].t, *b = arg[1].t;
  if (!dl_sizes_equal(a->ndim, a->size, b->ndim, b->size))
    return dl_tensor_scalar_i(DL_BOOL, 0, out);
  return dl_ex_return(e, EX(e, all, T(EX(e, eq, arg[0], arg[1]))), out);
}
