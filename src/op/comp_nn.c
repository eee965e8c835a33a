/* comp_nn.c -- composites of the section "neural network layers"
 *
 * SOURCE torch/nn/functional.py; ATen/native/Convolution.cpp, transformers/attention.cpp. */
#include "op/op.h"

#include <math.h>

#define STR(t, buf) dl_sizes_str((t)->ndim, (t)->size, buf, sizeof buf)

static const int64_t zero_dim = 0;

/* ---- convolution: an input without a batch gets one ---------------------------------------- */
static dl_status conv(dl_ex *e, const dl_arg *arg, int dim, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *b = dl_arg_given(&arg[2]) ? arg[2].t : NULL;
  char buf[160];
  if (x->ndim != dim + 1 && x->ndim != dim + 2)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected %dD (unbatched) or %dD (batched) input to conv%dd, but got input of size: %s",
        dim + 1, dim + 2, dim, STR(x, buf));
  bool single = x->ndim == dim + 1;
  if (single) x = EX(e, unsqueeze, T(x), I(0));
  dl_tensor *y = EX(e, convolution, T(x), arg[1], T(b), arg[3], arg[4], arg[5], arg[6]);
  if (single) y = EX(e, squeeze_dim, T(y), L(&zero_dim, 1));
  return dl_ex_return(e, y, out);
}

dl_status dl_comp_conv2d(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  return conv(e, arg, 2, out);
}
dl_status dl_comp_conv1d(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  return conv(e, arg, 1, out);
}

/* ---- pooling ------------------------------------------------------------------------------- */
dl_status dl_comp_max_pool2d(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *y = EX(e, max_pool2d_with_indices, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
  return dl_ex_return(e, y, out);
}

static dl_status adaptive_checks(const dl_tensor *x, const dl_arg *size) {
  char buf[160];
  if (size->n != 2)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "adaptive_avg_pool2d: output_size must be 2");
  if (size->is[0] < 0 || size->is[1] < 0)
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but "
        "received {%lld, %lld}",
        (long long)size->is[0], (long long)size->is[1]);
  if (x->ndim != 3 && x->ndim != 4)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got %s", STR(x, buf));
  for (int d = x->ndim - 3; d < x->ndim; d++)
    if (x->size[d] == 0 && d > 0)
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "adaptive_avg_pool2d(): Expected input to have non-zero size for non-batch dimensions, "
          "but input has sizes %s with dimension %d being empty",
          STR(x, buf), d);
  return DL_OK;
}

dl_status dl_comp_adaptive_avg_pool2d(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  static const int64_t plane[2] = {-1, -2};
  DL_TRY(adaptive_checks(arg[0].t, &arg[1]));
  bool whole = arg[1].is[0] == 1 && arg[1].is[1] == 1;
  dl_tensor *y = whole ? EX(e, mean_dim, arg[0], L(plane, 2), B(true))
                       : EX(e, _adaptive_avg_pool2d, arg[0], arg[1]);
  return dl_ex_return(e, y, out);
}

/* ---- batch norm ---------------------------------------------------------------------------- */
static dl_status enough_values(const dl_tensor *x) {
  int64_t n = x->ndim ? x->size[0] : 0;
  char buf[160];
  for (int d = 2; d < x->ndim; d++) n *= x->size[d];
  if (x->ndim < 2 || n != 1) return DL_OK;
  dl_fail(DL_ValueError, DL_E_SHAPE,
          "Expected more than 1 value per channel when training, got input size torch.Size(%s)",
          STR(x, buf));
  dl_note("one value has no variance: use a larger batch, or model:eval()");
  return DL_E_SHAPE;
}

/* The kernel keeps running statistics of its own arithmetic's type; others are updated here. */
static void update_running(dl_ex *e, const dl_arg *arg, dl_tensor *mean, dl_tensor *inv) {
  if (e->st != DL_OK) return;
  unsigned mode = dl_mode;
  double n = (double)arg[0].t->numel / (double)mean->numel, m = dl_arg_f(&arg[6]),
         eps = dl_arg_f(&arg[7]);
  dl_mode |= DL_MODE_NO_GRAD;
  dl_tensor *var = EX(e, sub, T(EX(e, pow, T(inv), I(-2))), F(eps));
  var = EX(e, mul, T(var), F(n / (n - 1)));
  dl_tensor *batch[2] = {mean, var}, *kept[2] = {arg[1].t, arg[2].t};
  for (int k = 0; k < 2; k++) {
    dl_tensor *old = EX(e, mul, T(kept[k]), F(1 - m));
    EX_(e, copy_, T(kept[k]), T(EX(e, add, T(old), T(EX(e, mul, T(batch[k]), F(m))))));
  }
  dl_mode = mode;
}

/* arg: input, running_mean, running_var, weight, bias, training, momentum, eps */
dl_status dl_comp_batch_norm(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  const dl_tensor *rm = dl_arg_given(&arg[1]) ? arg[1].t : NULL;
  const dl_tensor *rv = dl_arg_given(&arg[2]) ? arg[2].t : NULL;
  bool training = arg[5].i;
  if (training) {
    DL_TRY(enough_values(arg[0].t));
    if (!rm != !rv)
      return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                     "running_mean and running_var must either both be None or neither be None");
  }
  bool apart = training && rm &&
               (!rm->contig || !rv->contig || rm->dtype != dl_compute_for((dl_dtype)rm->dtype));
  dl_tensor *y = EX(e, native_batch_norm, arg[0], arg[3], arg[4], apart ? NIL : arg[1],
                    apart ? NIL : arg[2], arg[5], arg[6], arg[7]);
  if (apart) update_running(e, arg, e->last.v[1], e->last.v[2]);
  return dl_ex_return(e, y, out);
}

/* ---- attention ----------------------------------------------------------------------------- */
static dl_status attention_checks(const dl_tensor *q, const dl_tensor *k, const dl_tensor *v,
                                  const dl_tensor *mask, bool causal, double p) {
  if (q->dtype != k->dtype || q->dtype != v->dtype)
    return dl_fail(
        DL_RuntimeError, DL_E_DTYPE,
        "Expected query, key, and value to have the same dtype, but got query.dtype: %s key.dtype: "
        "%s and value.dtype: %s instead.",
        dl_dtypes[q->dtype].cpp, dl_dtypes[k->dtype].cpp, dl_dtypes[v->dtype].cpp);
  if (q->ndim < 2 || k->ndim < 2 || v->ndim < 2)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: %d "
        "key.dim: %d and value.dim: %d instead.",
        q->ndim, k->ndim, v->ndim);
  if (mask && mask->dtype != DL_BOOL && mask->dtype != DL_F32 && mask->dtype != q->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                   "attn_mask.dtype: %s and  query.dtype: %s instead.",
                   dl_dtypes[mask->dtype].cpp, dl_dtypes[q->dtype].cpp);
  if (p < 0 || p > 1 || p != p)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "dropout probability has to be between 0 and 1, but got %g", p);
  if (mask && causal)
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True");
  return DL_OK;
}

/* true where key j is after query i */
static dl_tensor *future(dl_ex *e, const dl_tensor *scores) {
  const int64_t *size = scores->size + scores->ndim - 2;
  dl_tensor *ones = EX(e, ones, L(size, 2), DT(DL_BOOL),
                       (dl_arg){.tag = DL_A_DEVICE, .dev = scores->dev});
  return EX(e, triu, T(ones), I(1));
}

/* Rows that may look at nothing give zeros and pass no gradient, not nan. */
static dl_tensor *masked_softmax(dl_ex *e, dl_tensor *scores, bool masked) {
  if (!masked) return EX(e, softmax, T(scores), I(-1));
  int64_t last = -1;
  dl_tensor *blind = EX(e, all, T(EX(e, eq, T(scores), F(-INFINITY))), L(&last, 1), B(true));
  dl_tensor *p = EX(e, softmax, T(EX(e, masked_fill, T(scores), T(blind), I(0))), I(-1));
  return EX(e, masked_fill, T(p), T(blind), I(0));
}

/* Heads of key and value repeated until there are as many as queries. */
static dl_status group_heads(dl_ex *e, const dl_tensor *q, dl_tensor **k, dl_tensor **v) {
  dl_tensor **kv[2] = {k, v};
  for (int i = 0; i < 2; i++) {
    dl_tensor *t = *kv[i];
    if (q->ndim < 3 || t->ndim < 3) continue;
    int64_t heads = q->size[q->ndim - 3], own = t->size[t->ndim - 3];
    if (own == 0 || heads % own)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Number of heads in key and value must divide the number of heads in query");
    if (heads != own) *kv[i] = EX(e, repeat_interleave, T(t), I(heads / own), I(t->ndim - 3));
  }
  return e->st;
}

/* arg: query (…, L, E), key (…, S, E), value (…, S, Ev), attn_mask, dropout_p, is_causal, scale,
 * enable_gqa */
dl_status dl_comp_scaled_dot_product_attention(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *q = arg[0].t, *k = arg[1].t, *v = arg[2].t,
            *mask = dl_arg_given(&arg[3]) ? arg[3].t : NULL;
  bool causal = arg[5].i;
  double p = dl_arg_f(&arg[4]), width = (double)q->size[q->ndim ? q->ndim - 1 : 0];
  DL_TRY(attention_checks(q, k, v, mask, causal, p));
  if (arg[7].i) DL_TRY(group_heads(e, q, &k, &v));
  double scale = dl_arg_given(&arg[6]) ? dl_arg_f(&arg[6]) : 1 / sqrt(width);
  dl_tensor *keys = EX(e, transpose, T(k), I(-2), I(-1));
  dl_tensor *s = EX(e, matmul, T(EX(e, mul, T(q), F(scale))), T(keys));
  if (causal && s) s = EX(e, masked_fill, T(s), T(future(e, s)), F(-INFINITY));
  if (mask && mask->dtype == DL_BOOL) {
    dl_tensor *hidden = EX(e, logical_not, T(mask));
    s = EX(e, add, T(s),
           T(EX(e, masked_fill, T(EX(e, zeros_like, T(hidden), DT(q->dtype))), T(hidden),
                F(-INFINITY))));
  } else if (mask) {
    s = EX(e, add, T(s), T(mask));
  }
  dl_tensor *w = masked_softmax(e, s, mask != NULL);
  if (p != 0) w = EX(e, dropout, T(w), F(p), B(true));
  return dl_ex_return(e, EX(e, matmul, T(w), T(v)), out);
}

/* ---- embedding ----------------------------------------------------------------------------- */
/* Rows that are used and longer than max_norm are shortened in the table itself. */
static void renorm(dl_ex *e, dl_tensor *weight, dl_tensor *index, double max, double p) {
  unsigned mode = dl_mode;
  int64_t flat = -1, dim = 1;
  dl_mode |= DL_MODE_NO_GRAD;
  dl_tensor *rows = EX(e, reshape, T(index), L(&flat, 1)), *table = EX(e, detach, T(weight));
  dl_tensor *v = EX(e, index_select, T(table), I(0), T(rows));
  dl_tensor *norm = EX(e, norm, T(v), F(p), L(&dim, 1), B(true));
  dl_tensor *factor = EX(e, mul, T(EX(e, reciprocal, T(EX(e, add, T(norm), F(1e-7))))), F(max));
  dl_tensor *one = EX(e, where, T(EX(e, gt, T(norm), F(max))), T(factor), F(1));
  EX_(e, index_copy, T(table), I(0), T(rows), T(EX(e, mul, T(v), T(one))));
  dl_mode = mode;
}

/* arg: input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse */
dl_status dl_comp_embedding(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *w = arg[1].t;
  int64_t rows = w->ndim ? w->size[0] : 0, pad = -1;
  if (dl_arg_given(&arg[2])) {
    pad = dl_arg_i(&arg[2]);
    if (pad >= rows || pad < -rows)
      return dl_fail(DL_AssertionError, DL_E_ARGUMENT, "Padding_idx must be within num_embeddings");
    if (pad < 0) pad += rows;
  }
  if (arg[5].i || arg[6].i)
    return dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "embedding: %s is not implemented",
                   arg[5].i ? "scale_grad_by_freq=True" : "sparse=True");
  if (dl_arg_given(&arg[3])) {
    EX(e, _embedding, T(w), arg[0], I(pad)); /* the same checks, before the table changes */
    renorm(e, w, arg[0].t, dl_arg_f(&arg[3]), dl_arg_f(&arg[4]));
  }
  return dl_ex_return(e, EX(e, _embedding, T(w), arg[0], I(pad)), out);
}
