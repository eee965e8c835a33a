/* rule_conv.c -- shapes and dtypes of convolution and its gradients
 *
 * One and two spatial dims. The texts are PyTorch's, in PyTorch's order of checking.
 *
 * SOURCE ATen/native/Convolution.cpp (check_shape_forward, _convolution), ConvUtils.h. */
#include "op/op.h"

#include <stdio.h>
#include <string.h>

#define STR(t, buf) dl_sizes_str((t)->ndim, (t)->size, buf, sizeof buf)

static dl_status shape_error(const char *text) {
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s", text);
}

/* The int list of one argument, one value repeated where one is given. */
static dl_status spatial(const dl_arg *a, const char *name, int dim, int64_t out[2]) {
  if (a->n != 1 && a->n != dim) {
    char buf[160];
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "expected %s to be a single integer value or a list of %d values to match the convolution "
        "dimensions, but got %s=%s",
        name, dim, name, dl_sizes_str(a->n, a->is, buf, sizeof buf));
  }
  for (int d = 0; d < dim; d++) out[d] = a->is[a->n == 1 ? 0 : d];
  return DL_OK;
}

typedef struct params { int64_t stride[2], padding[2], dilation[2], groups; int dim; } params;

static bool any_below(const int64_t *v, int n, int64_t least) {
  for (int d = 0; d < n; d++)
    if (v[d] < least) return true;
  return false;
}

static dl_status read_params(const dl_arg *arg, int dim, params *p) {
  char buf[160];
  p->dim = dim;
  p->groups = dl_arg_i(&arg[3]);
  if (p->groups <= 0) return shape_error("non-positive groups is not supported");
  DL_TRY(spatial(&arg[0], "stride", dim, p->stride));
  DL_TRY(spatial(&arg[1], "padding", dim, p->padding));
  DL_TRY(spatial(&arg[2], "dilation", dim, p->dilation));
  if (any_below(p->padding, dim, 0)) return shape_error("negative padding is not supported");
  if (any_below(p->stride, dim, 1)) return shape_error("non-positive stride is not supported");
  if (any_below(p->dilation, dim, 1))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "dilation should be greater than zero, but got %s",
                   dl_sizes_str(dim, p->dilation, buf, sizeof buf));
  return DL_OK;
}

static dl_status check_channels(const dl_tensor *x, const dl_tensor *w, const dl_tensor *b,
                                const params *p) {
  char bx[160], bw[160];
  long long g = p->groups;
  if (w->ndim != x->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Expected %d-dimensional input for %d-dimensional weight %s, but got "
                   "%d-dimensional input of "
                   "size %s instead",
                   w->ndim, w->ndim, STR(w, bw), x->ndim, STR(x, bx));
  if (w->size[0] < g)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Given groups=%lld, expected weight to be at least %lld at dimension 0, but got "
                   "weight of size "
                   "%s instead",
                   g, g, STR(w, bw));
  if (w->size[0] % g)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but "
                   "got weight of "
                   "size [%s] instead",
                   g, g, STR(w, bw));
  if (x->size[1] != w->size[1] * g) {
    dl_fail(DL_RuntimeError, DL_E_SHAPE,
            "Given groups=%lld, weight of size %s, expected input%s to have %lld channels, but got "
            "%lld channels "
            "instead",
            g, STR(w, bw), STR(x, bx), (long long)(w->size[1] * g), (long long)x->size[1]);
    dl_note("channels are dim 1 of a batch (N, C, H, W), dim 0 of one image (C, H, W)");
    return DL_E_SHAPE;
  }
  if (b && (b->ndim != 1 || b->size[0] != w->size[0]))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Given weight of size %s, expected bias to be 1-dimensional with %lld elements, "
                   "but got bias of "
                   "size %s instead",
                   STR(w, bw), (long long)w->size[0], STR(b, bx));
  return DL_OK;
}

/* "(2 x 3)" */
static const char *times_str(int n, const int64_t *v, char *buf, size_t cap) {
  if (n == 1) snprintf(buf, cap, "(%lld)", (long long)v[0]);
  else snprintf(buf, cap, "(%lld x %lld)", (long long)v[0], (long long)v[1]);
  return buf;
}

/* elements a window may span, so that sums of a few stay in an int64 */
#define DL_WIDEST ((int64_t)1 << 60)

static dl_status check_window(const dl_tensor *x, const dl_tensor *w, const params *p) {
  int64_t in[2], kernel[2];
  char a[64], b[64], s[160];
  bool fits = true, zero = false;
  for (int d = 0; d < p->dim; d++) {
    int64_t last = w->size[2 + d] - 1;
    if (!dl_mul_ok(2, p->padding[d], &in[d]) || in[d] > DL_WIDEST ||
        x->size[2 + d] > DL_WIDEST || !dl_mul_ok(p->dilation[d], last, &kernel[d]) ||
        kernel[d] > DL_WIDEST)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "convolution: padding or dilation is too large");
    in[d] += x->size[2 + d];
    kernel[d]++;
    fits = fits && in[d] >= kernel[d];
    zero = zero || w->size[2 + d] == 0;
  }
  if (!fits)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Calculated padded input size per channel: %s. Kernel size: %s. Kernel size "
                   "can't be greater "
                   "than actual input size",
                   times_str(p->dim, in, a, sizeof a), times_str(p->dim, kernel, b, sizeof b));
  if (zero)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "kernel size should be greater than zero, but got kernel_height: %lld kernel_width: %lld",
        (long long)(p->dim > 1 ? w->size[2] : 1), (long long)w->size[1 + p->dim]);
  if (x->numel == 0 && x->size[0] && x->size[1])
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Only zero batch or zero channel inputs are supported, but got input shape: %s",
                   STR(x, s));
  return DL_OK;
}

static dl_status check_dtypes(const dl_tensor *x, const dl_tensor *w, const dl_tensor *b) {
  if (b && b->dtype != x->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE, "Input type (%s) and bias type (%s) should be the same",
            dl_dtypes[x->dtype].cpp, dl_dtypes[b->dtype].cpp);
    dl_note("convert the input: x:to(weight.dtype)");
    return DL_E_DTYPE;
  }
  if (w->dtype != x->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected scalar type %s but found %s",
            dl_dtypes[x->dtype].scalar, dl_dtypes[w->dtype].scalar);
    dl_note("input is %s, weight is %s; convert one", dl_dtypes[x->dtype].name,
            dl_dtypes[w->dtype].name);
    return DL_E_DTYPE;
  }
  if (!dl_dtype_is_float((dl_dtype)x->dtype) && x->dtype != DL_I64)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"slow_conv2d_cpu\" not implemented for '%s'", dl_dtypes[x->dtype].scalar);
  return DL_OK;
}

/* bfloat16 stays as it is for the CPU's kernels: some CPUs multiply it. */
static uint8_t computes_in(const dl_call *c, dl_dtype d) {
  return d == DL_BF16 && c->dev.type == DL_CPU ? DL_NODTYPE : dl_compute_for(d);
}

/* arg: input, weight, bias, stride, padding, dilation, groups */
dl_status dl_rule_convolution(dl_call *c) {
  const dl_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
  params p;
  if (w->ndim < 3) return shape_error("weight should have at least three dimensions");
  DL_TRY(read_params(&c->arg[3], w->ndim - 2, &p));
  if (w->ndim > 4)
    return dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED,
                   "convolution over %d dims is not implemented", w->ndim - 2);
  DL_TRY(check_channels(x, w, b, &p));
  DL_TRY(check_window(x, w, &p));
  DL_TRY(check_dtypes(x, w, b));
  int64_t size[4] = {x->size[0], w->size[0]};
  for (int d = 0; d < p.dim; d++)
    size[2 + d] = (x->size[2 + d] + 2 * p.padding[d] - p.dilation[d] * (w->size[2 + d] - 1) - 1) /
                      p.stride[d] +
                  1;
  dl_call_out(c, 0, (dl_dtype)x->dtype, 2 + p.dim, size);
  c->compute = computes_in(c, (dl_dtype)x->dtype);
  return DL_OK;
}

/* Is g the result's size of a convolution of x with w? The kernels trust this check. */
static bool geometry_fits(const dl_tensor *g, const int64_t *x, const int64_t *w, const params *p) {
  bool fits = g->size[0] == x[0] && g->size[1] == w[0] && w[0] % p->groups == 0 &&
              x[1] == w[1] * p->groups;
  for (int d = 2; fits && d < p->dim + 2; d++) {
    int64_t left = x[d] + 2 * p->padding[d - 2] - p->dilation[d - 2] * (w[d] - 1) - 1;
    fits = x[d] >= 0 && w[d] >= 1 && left >= 0 && g->size[d] == left / p->stride[d - 2] + 1;
  }
  return fits;
}

/* Gradients have the size that was given; in[1] is the other operand of the convolution. */
static dl_status given_size(dl_call *c, bool weight) {
  const dl_tensor *g = c->in[0], *other = c->in[1];
  const int64_t *size = c->arg[2].is;
  dl_dtype d = (dl_dtype)g->dtype;
  params p;
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'", c->op->id,
                   dl_dtypes[d].scalar);
  int n = g->ndim;
  bool fits = n >= 3 && n <= 4 && other->ndim == n && c->arg[2].n == n && other->dtype == d;
  if (fits) DL_TRY(read_params(&c->arg[3], n - 2, &p));
  fits = fits && (weight ? geometry_fits(g, other->size, size, &p)
                         : geometry_fits(g, size, other->size, &p));
  if (!fits)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: the gradient does not fit the sizes given",
                   c->op->id);
  dl_call_out(c, 0, d, c->arg[2].n, c->arg[2].is);
  c->compute = computes_in(c, d);
  return DL_OK;
}

dl_status dl_rule_conv_grad_input(dl_call *c) { return given_size(c, false); }
dl_status dl_rule_conv_grad_weight(dl_call *c) { return given_size(c, true); }
