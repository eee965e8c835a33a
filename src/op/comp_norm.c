/* comp_norm.c -- layer_norm, rms_norm, group_norm, normalize and distances, written in ops
 *
 * SOURCE ATen/native/layer_norm.cpp, group_norm.cpp, Distance.cpp; torch/nn/functional.py (texts).
 */
#include "op/op.h"

#include <string.h>

#define DL_COMP(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out)

DL_COMP(layer_norm) {
  dl_tensor *y = EX(e, native_layer_norm, arg[0], arg[1], arg[2], arg[3], arg[4]);
  return dl_ex_return(e, y, out);
}

/* ---- rms_norm: x / sqrt(mean(x^2) + eps) * weight over the last dims -------------------- */
static dl_status rms_fits(const dl_tensor *x, const dl_arg *shape, const dl_tensor *w) {
  char a[160], b[160];
  int n = shape->n, lead = x->ndim - n;
  dl_sizes_str(n, shape->is, a, sizeof a);
  if (n < 1)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
        "one element, but got normalized_shape = []");
  if (w && !dl_sizes_equal(w->ndim, w->size, n, shape->is))
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape %s "
        "and normalized_shape = %s",
        dl_sizes_str(w->ndim, w->size, b, sizeof b), a);
  if (lead < 0 || !dl_sizes_equal(n, x->size + lead, n, shape->is))
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Given normalized_shape=%s, expected input with shape [*%s, but got input of size%s", a,
        a + 1, dl_sizes_str(x->ndim, x->size, b, sizeof b));
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"rms_norm\" not implemented for '%s'",
                   dl_dtypes[x->dtype].scalar);
  return DL_OK;
}

static double epsilon(int dtype) {
  return dtype == DL_F64 ? 2.2204460492503131e-16 : dtype == DL_F16 ? 0.0009765625
         : dtype == DL_BF16 ? 0.0078125 : 1.1920928955078125e-07;
}

DL_COMP(rms_norm) {
  dl_tensor *x = arg[0].t, *w = arg[2].tag == DL_A_TENSOR ? arg[2].t : NULL;
  DL_TRY(rms_fits(x, &arg[1], w));
  int64_t dims[DL_MAXDIM];
  int n = arg[1].n;
  for (int d = 0; d < n; d++) dims[d] = x->ndim - n + d;
  double eps = dl_arg_given(&arg[3]) ? dl_arg_f(&arg[3]) : epsilon(x->dtype);
  bool half = x->dtype != DL_F32 && x->dtype != DL_F64;
  dl_tensor *up = half ? EX(e, _to_copy, T(x), DT(DL_F32)) : x;
  dl_tensor *mean = EX(e, mean_dim, T(EX(e, pow, T(up), I(2))), L(dims, n), B(true));
  dl_tensor *y = EX(e, mul, T(up), T(EX(e, rsqrt, T(EX(e, add, T(mean), F(eps))))));
  if (w) y = EX(e, mul, T(y), T(w));
  if (y && y->dtype != x->dtype) y = EX(e, _to_copy, T(y), DT(x->dtype));
  return dl_ex_return(e, y, out);
}

/* ---- group_norm: (N, C, *) as N * groups rows ------------------------------------------------ */
static dl_status affine_fits(const dl_tensor *t, const char *name, const dl_tensor *x) {
  char a[160], b[160];
  if (!t || (t->ndim == 1 && t->size[0] == x->size[1])) return DL_OK;
  return dl_fail(
      DL_RuntimeError, DL_E_SHAPE,
      "Expected %s to be a vector of size equal to the number of channels in input, but got %s "
      "of shape %s and input of shape %s",
      name, name, dl_sizes_str(t->ndim, t->size, a, sizeof a),
      dl_sizes_str(x->ndim, x->size, b, sizeof b));
}

static dl_status group_fits(const dl_tensor *x, int64_t groups) {
  char a[160];
  if (x->ndim < 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Expected at least 2 dimensions for input tensor but received %d", x->ndim);
  if (groups <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Expected num groups to be greater than 0, got %lld", (long long)groups);
  int64_t per = x->size[0] * x->size[1] / groups;
  for (int d = 2; d < x->ndim; d++) per *= x->size[d];
  if (per == 1)
    return dl_fail(DL_ValueError, DL_E_SHAPE,
                   "Expected more than 1 value per channel when training, got input size %s",
                   dl_sizes_str(x->ndim, x->size, a, sizeof a));
  if (x->size[1] % groups)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected number of channels in input to be divisible by num_groups, but got input of "
        "shape %s and num_groups=%lld",
        dl_sizes_str(x->ndim, x->size, a, sizeof a), (long long)groups);
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"GroupNormKernelImpl\" not implemented for '%s'", dl_dtypes[x->dtype].scalar);
  return DL_OK;
}

DL_COMP(group_norm) {
  dl_tensor *x = arg[0].t, *w = arg[2].tag == DL_A_TENSOR ? arg[2].t : NULL;
  dl_tensor *b = arg[3].tag == DL_A_TENSOR ? arg[3].t : NULL;
  int64_t groups = dl_arg_i(&arg[1]), channel[DL_MAXDIM];
  DL_TRY(group_fits(x, groups));
  DL_TRY(affine_fits(w, "weight", x));
  DL_TRY(affine_fits(b, "bias", x));
  if (x->numel == 0) return dl_ex_return(e, EX(e, clone, T(x)), out);
  int64_t rows[2] = {x->size[0] * groups, x->numel / (x->size[0] * groups)};
  for (int d = 0; d < x->ndim; d++) channel[d] = d == 1 ? x->size[1] : 1;
  dl_tensor *flat = EX(e, reshape, T(x), L(rows, 2));
  dl_tensor *y = EX(e, native_layer_norm, T(flat), L(&rows[1], 1), NIL, NIL, arg[4]);
  y = EX(e, reshape, T(y), L(x->size, x->ndim));
  if (w) y = EX(e, mul, T(y), T(EX(e, reshape, T(w), L(channel, x->ndim))));
  if (b) y = EX(e, add, T(y), T(EX(e, reshape, T(b), L(channel, x->ndim))));
  return dl_ex_return(e, y, out);
}

/* ---- norms along a dim ----------------------------------------------------------------------- */
DL_COMP(normalize) {
  dl_tensor *size = EX(e, norm, arg[0], arg[1], L(&arg[2].i, 1), B(true));
  return dl_ex_return(e, EX(e, div, arg[0], T(EX(e, clamp_min, T(size), arg[3]))), out);
}

static dl_tensor *of_dtype(dl_ex *e, dl_tensor *t, dl_dtype d) {
  return t->dtype == d ? t : EX(e, _to_copy, T(t), DT(d));
}

/* x / max(|x|, eps) along dim */
static dl_tensor *unit(dl_ex *e, dl_tensor *x, const dl_arg *dim, const dl_arg *eps) {
  dl_tensor *size = EX(e, norm, T(x), I(2), L(&dim->i, 1), B(true));
  return EX(e, div, T(x), T(EX(e, clamp_min, T(size), *eps)));
}

DL_COMP(cosine_similarity) {
  dl_tensor *a = arg[0].t, *b = arg[1].t;
  dl_dtype d = dl_promote((dl_dtype)a->dtype, (dl_dtype)b->dtype);
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "expected common dtype to be floating point, yet common dtype is %s",
                   dl_dtypes[d].scalar);
  dl_meta m = {.ndim = a->ndim};
  memcpy(m.size, a->size, a->ndim * sizeof *m.size);
  DL_TRY(dl_broadcast(&m, b->ndim, b->size));
  a = EX(e, expand, T(of_dtype(e, a, d)), L(m.size, m.ndim));
  b = EX(e, expand, T(of_dtype(e, b, d)), L(m.size, m.ndim));
  dl_tensor *each = EX(e, mul, T(unit(e, a, &arg[2], &arg[3])), T(unit(e, b, &arg[2], &arg[3])));
  return dl_ex_return(e, EX(e, sum_dim, T(each), L(&arg[2].i, 1)), out);
}

DL_COMP(pairwise_distance) {
  int64_t last = -1;
  dl_tensor *gap = EX(e, add, T(EX(e, sub, arg[0], arg[1])), arg[3]);
  return dl_ex_return(e, EX(e, norm, T(gap), arg[2], L(&last, 1), arg[4]), out);
}
