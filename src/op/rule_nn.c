/* rule_nn.c -- shapes and dtypes of pooling, batch normalisation and embedding
 *
 * SOURCE ATen/native/Pool.h, AdaptiveAveragePooling.cpp, Normalization.cpp, Embedding.cpp. */
#include "op/op.h"

#include <string.h>

#define STR(t, buf) dl_sizes_str((t)->ndim, (t)->size, buf, sizeof buf)

static dl_status bad(const char *text) { return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s", text); }

static dl_status no_kernel(const char *name, dl_dtype d) {
  return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'", name,
                 dl_dtypes[d].scalar);
}

/* ---- pooling ------------------------------------------------------------------------------- */
typedef struct pool { int64_t k[2], s[2], p[2], d[2], out[2]; bool ceil; } pool;

static dl_status two(const dl_arg *a, const char *text, int64_t out[2]) {
  if (a->n != 1 && a->n != 2) return bad(text);
  out[0] = a->is[0], out[1] = a->is[a->n - 1];
  return DL_OK;
}

/* Floor (or ceiling) division; the last window must begin inside the input or its left padding. */
static int64_t windows(int64_t in, const pool *p, int i) {
  int64_t room = in + 2 * p->p[i] - p->d[i] * (p->k[i] - 1) - 1 + (p->ceil ? p->s[i] - 1 : 0);
  int64_t n = (room >= 0 ? room / p->s[i] : -((-room + p->s[i] - 1) / p->s[i])) + 1;
  if (p->ceil && (n - 1) * p->s[i] >= in + p->p[i]) n--;
  return n;
}

static dl_status check_pool(const dl_tensor *x, pool *p, const char *too_few) {
  int64_t *k = p->k, *s = p->s, *d = p->d;
  char buf[160];
  if (s[0] == 0 || s[1] == 0) return bad("stride should not be zero");
  for (int i = 0; i < 2; i++) {
    if (p->p[i] < 0)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "pad must be non-negative, but got pad: %lld",
                     (long long)p->p[i]);
    if (d[i] > 0 && p->p[i] > ((k[i] - 1) * d[i] + 1) / 2)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "pad should be at most half of effective kernel size, but got pad=%lld, "
                     "kernel_size=%lld and "
                     "dilation=%lld",
                     (long long)p->p[i], (long long)k[i], (long long)d[i]);
  }
  if (k[0] <= 0 || k[1] <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "kernel size should be greater than zero, but got kH: %lld kW: %lld",
                   (long long)k[0], (long long)k[1]);
  if (s[0] < 0 || s[1] < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "stride should be greater than zero, but got dH: %lld dW: %lld", (long long)s[0],
                   (long long)s[1]);
  if (d[0] <= 0 || d[1] <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "dilation should be greater than zero, but got dilationH: %lld dilationW: %lld",
                   (long long)d[0], (long long)d[1]);
  if (x->ndim != 3 && x->ndim != 4) return bad(too_few);
  int n = x->ndim;
  if (!x->size[n - 1] || !x->size[n - 2] || !x->size[n - 3])
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for "
                   "input, but got:%s",
                   STR(x, buf));
  for (int i = 0; i < 2; i++) p->out[i] = windows(x->size[n - 2 + i], p, i);
  if (p->out[0] < 1 || p->out[1] < 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Given input size: (%lldx%lldx%lld). Calculated output size: (%lldx%lldx%lld). "
                   "Output size is "
                   "too small",
                   (long long)x->size[n - 3], (long long)x->size[n - 2], (long long)x->size[n - 1],
                   (long long)x->size[n - 3], (long long)p->out[0], (long long)p->out[1]);
  return DL_OK;
}

static void pool_out(dl_call *c, int k, dl_dtype d, const int64_t out[2]) {
  const dl_tensor *x = c->in[0];
  int64_t size[4];
  memcpy(size, x->size, x->ndim * sizeof *size);
  size[x->ndim - 2] = out[0], size[x->ndim - 1] = out[1];
  dl_call_out(c, k, d, x->ndim, size);
}

#define ONE_OR_TWO(op, what) #op ": " what " must either be a single int, or a tuple of two ints"
#define STRIDE_TEXT(op) #op ": stride must either be omitted, a single int, or a tuple of two ints"

/* arg: self, kernel_size, stride, padding, dilation, ceil_mode */
dl_status dl_rule_max_pool2d(dl_call *c) {
  const dl_arg *a = c->arg;
  pool p = {.ceil = a[5].i};
  DL_TRY(two(&a[1], ONE_OR_TWO(max_pool2d, "kernel_size"), p.k));
  DL_TRY(a[2].n ? two(&a[2], STRIDE_TEXT(max_pool2d), p.s) : two(&a[1], "", p.s));
  DL_TRY(two(&a[3], ONE_OR_TWO(max_pool2d, "padding"), p.p));
  DL_TRY(two(&a[4], ONE_OR_TWO(max_pool2d, "dilation"), p.d));
  DL_TRY(check_pool(c->in[0], &p, "non-empty 3D or 4D (batch mode) tensor expected for input"));
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (d == DL_BOOL) return no_kernel("max_pool2d", d);
  pool_out(c, 0, d, p.out);
  pool_out(c, 1, DL_I64, p.out);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

/* The gradient of a pool: (C,H,W) or (N,C,H,W) as the list says, leading sizes those of grad. */
static dl_status sized_like(dl_call *c, const dl_arg *size) {
  const dl_tensor *g = c->in[0];
  dl_dtype d = (dl_dtype)g->dtype;
  char buf[160];
  bool fits = size->n == g->ndim && (g->ndim == 3 || g->ndim == 4);
  for (int i = 0; fits && i < g->ndim; i++)
    fits = size->is[i] >= 0 && (i >= g->ndim - 2 || size->is[i] == g->size[i]);
  if (!fits)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: no such input has a gradient of size %s",
                   c->op->id, STR(g, buf));
  if (!dl_dtype_is_float(d)) return no_kernel(c->op->id, d);
  dl_call_out(c, 0, d, size->n, size->is);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

dl_status dl_rule_max_pool2d_bwd(dl_call *c) {
  const dl_tensor *g = c->in[0], *at = c->in[1];
  if (at->dtype != DL_I64 || !dl_sizes_equal(g->ndim, g->size, at->ndim, at->size))
    return bad("max_pool2d_backward: indices must be int64 and of the size of grad");
  return sized_like(c, &c->arg[2]);
}

/* arg: input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override */
dl_status dl_rule_avg_pool2d(dl_call *c) {
  const dl_arg *a = c->arg;
  const dl_tensor *x = c->in[0];
  dl_dtype d = (dl_dtype)x->dtype;
  pool p = {.d = {1, 1}, .ceil = a[4].i};
  DL_TRY(two(&a[1], ONE_OR_TWO(avg_pool2d, "kernel_size"), p.k));
  DL_TRY(a[2].n ? two(&a[2], STRIDE_TEXT(avg_pool2d), p.s) : two(&a[1], "", p.s));
  DL_TRY(two(&a[3], ONE_OR_TWO(avg_pool2d, "padding"), p.p));
  if (dl_arg_given(&a[6]) && dl_arg_i(&a[6]) == 0) return bad("divisor must be not zero");
  if (x->ndim < 3)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "Dimension out of range (expected to be in range of [%d, %d], but got -3)",
                   x->ndim ? -x->ndim : -1, x->ndim ? x->ndim - 1 : 0);
  DL_TRY(check_pool(x, &p, "non-empty 2D or 3D (batch mode) tensor expected for input"));
  if (!dl_dtype_is_float(d) && d != DL_I64) return no_kernel("avg_pool2d", d);
  pool_out(c, 0, d, p.out);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

dl_status dl_rule_avg_pool2d_bwd(dl_call *c) {
  for (int i = 2; i <= 4; i++)
    if (c->arg[i].n != 1 && c->arg[i].n != 2) return bad("avg_pool2d_backward: lists of two ints");
  return sized_like(c, &c->arg[1]);
}

dl_status dl_rule_adaptive_avg_pool2d(dl_call *c) {
  const dl_tensor *x = c->in[0];
  dl_dtype d = (dl_dtype)x->dtype;
  const dl_arg *size = &c->arg[1];
  char buf[160];
  if ((x->ndim != 3 && x->ndim != 4) || size->n != 2 || size->is[0] < 0 || size->is[1] < 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got %s", STR(x, buf));
  for (int i = x->ndim - 2; i < x->ndim; i++)
    if (x->size[i] == 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch "
                     "dimensions, but input has sizes %s with dimension %d being empty",
                     STR(x, buf), i);
  if (!dl_dtype_is_float(d)) return no_kernel("adaptive_avg_pool2d", d);
  pool_out(c, 0, d, c->arg[1].is);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

dl_status dl_rule_adaptive_avg_pool2d_bwd(dl_call *c) { return sized_like(c, &c->arg[1]); }

/* ---- batch norm ---------------------------------------------------------------------------- */
static dl_status channel_vector(const dl_tensor *t, const char *name, int64_t channels) {
  if (!t || t->numel == channels) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s should contain %lld elements not %lld", name,
                 (long long)channels, (long long)t->numel);
}

/* All of one dtype; half precision may have float32 parameters. */
static dl_status norm_dtypes(const dl_call *c, dl_dtype d) {
  dl_dtype p = DL_NODTYPE;
  for (int k = 1; k <= 4; k++) {
    if (!c->in[k]) continue;
    dl_dtype t = (dl_dtype)c->in[k]->dtype;
    if (p != DL_NODTYPE && t != p)
      return dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected scalar type %s but found %s",
                     dl_dtypes[d].scalar, dl_dtypes[t == d ? p : t].scalar);
    p = t;
  }
  if (p == DL_NODTYPE || p == d) return DL_OK;
  if (d == DL_F64)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "mixed dtype (CPU): all inputs must share same datatype.");
  if (p != DL_F32)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "mixed dtype (CPU): expect parameter to have scalar type of Float");
  return DL_OK;
}

/* arg: input, weight, bias, running_mean, running_var, training, momentum, eps */
dl_status dl_rule_native_batch_norm(dl_call *c) {
  const dl_tensor *x = c->in[0];
  dl_dtype d = (dl_dtype)x->dtype;
  int64_t channels = x->ndim > 1 ? x->size[1] : 0;
  bool training = c->arg[5].i;
  if (!training && !c->in[3]) return bad("running_mean must be defined in evaluation mode");
  if (!training && !c->in[4]) return bad("running_var must be defined in evaluation mode");
  DL_TRY(channel_vector(c->in[3], "running_mean", channels));
  DL_TRY(channel_vector(c->in[4], "running_var", channels));
  DL_TRY(channel_vector(c->in[1], "weight", channels));
  DL_TRY(channel_vector(c->in[2], "bias", channels));
  if (!dl_dtype_is_float(d)) return no_kernel("batch_norm", d);
  DL_TRY(norm_dtypes(c, d));
  c->compute = dl_compute_for(d);
  dl_call_out(c, 0, d, x->ndim, x->size);
  int64_t kept = training ? channels : 0;
  for (int k = 1; k <= 2; k++) dl_call_out(c, k, (dl_dtype)c->compute, 1, &kept);
  return DL_OK;
}

/* arg: grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps */
/* The kernel trusts this: gradient like the input, one number a channel in what is used. */
static bool batch_norm_fits(const dl_call *c, int64_t channels) {
  const dl_tensor *g = c->in[0], *x = c->in[1];
  int first = c->arg[7].i ? 5 : 3; /* the statistics that are used: saved or running */
  if (x->ndim < 2 || !dl_dtype_is_float((dl_dtype)x->dtype)) return false;
  if (!dl_sizes_equal(g->ndim, g->size, x->ndim, x->size)) return false;
  if (c->in[2] && c->in[2]->numel != channels) return false;
  for (int k = first; k < first + 2; k++)
    if (!c->in[k] || c->in[k]->numel != channels) return false;
  return true;
}

dl_status dl_rule_native_batch_norm_bwd(dl_call *c) {
  const dl_tensor *x = c->in[1], *w = c->in[2];
  int64_t channels = x->ndim > 1 ? x->size[1] : 0;
  if (!batch_norm_fits(c, channels))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s: the gradient does not fit the sizes given",
                   c->op->id);
  dl_dtype p = w ? (dl_dtype)w->dtype : (dl_dtype)x->dtype;
  c->compute = dl_compute_for((dl_dtype)x->dtype);
  dl_call_out_like(c, 0, x);
  for (int k = 1; k <= 2; k++) dl_call_out(c, k, p, 1, &channels);
  return DL_OK;
}

/* ---- embedding ----------------------------------------------------------------------------- */
static dl_status indices_dtype(const dl_tensor *t) {
  char buf[48];
  if (t->dtype == DL_I64 || t->dtype == DL_I32) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DTYPE,
          "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
          "Long, Int; but got "
          "%s instead (while checking arguments for embedding)",
          dl_tensor_type_name(t, buf));
  dl_note("indices are row numbers: input:long()");
  return DL_E_DTYPE;
}

dl_status dl_rule_embedding(dl_call *c) {
  const dl_tensor *w = c->in[0], *i = c->in[1];
  if (w->ndim != 2) return bad("'weight' must be 2-D");
  DL_TRY(indices_dtype(i));
  if (i->ndim >= DL_MAXDIM)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "embedding: the result would have more than %d dimensions", DL_MAXDIM);
  int64_t size[DL_MAXDIM];
  if (i->ndim) memcpy(size, i->size, i->ndim * sizeof *size);
  size[i->ndim] = w->size[1];
  dl_call_out(c, 0, (dl_dtype)w->dtype, i->ndim + 1, size);
  return DL_OK;
}

/* arg: grad, indices, num_weights, padding_idx */
dl_status dl_rule_embedding_bwd(dl_call *c) {
  const dl_tensor *g = c->in[0];
  if (!dl_dtype_is_float((dl_dtype)g->dtype))
    return no_kernel("embedding_backward", (dl_dtype)g->dtype);
  int64_t size[2] = {dl_arg_i(&c->arg[2]), g->size[g->ndim - 1]};
  dl_call_out(c, 0, (dl_dtype)g->dtype, 2, size);
  c->compute = dl_compute_for((dl_dtype)g->dtype);
  return DL_OK;
}
