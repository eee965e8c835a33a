/* rule_loss.c -- shapes and dtypes of the sections "losses" and "optimizer steps"
 *
 * SOURCE ATen/native/LossNLL.cpp, LossNLL2d.cpp, Loss.cpp (checks and texts). */
#include "op/op.h"
#include "tensor/ledger.h"

#include <string.h>

/* ---- pair losses: the result has the inputs' shape, or is one number ----------------------- */
static void pair_out(dl_call *c, dl_dtype d, const char *reduction) {
  const dl_tensor *x = c->in[0];
  if (strcmp(reduction, "none") == 0) dl_call_out(c, 0, d, x->ndim, x->size);
  else dl_call_out(c, 0, d, 0, NULL);
  c->compute = dl_compute_for(d);
}

dl_status dl_rule_pair_loss(dl_call *c) {
  dl_dtype d = dl_promote((dl_dtype)c->in[0]->dtype, (dl_dtype)c->in[1]->dtype);
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s_cpu\" not implemented for '%s'",
                   strstr(c->op->id, "mse")     ? "mse"
                   : strstr(c->op->id, "huber") ? "huber"
                                                : "smooth_l1",
                   dl_dtypes[d].scalar);
  pair_out(c, d, c->arg[2].s);
  return DL_OK;
}

dl_status dl_rule_bce_loss(dl_call *c) {
  const dl_tensor *x = c->in[0], *t = c->in[1];
  const dl_arg *last = &c->arg[c->schema->nparam - 1];
  if (x->dtype == t->dtype && !dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"binary_cross_entropy\" not implemented for '%s'", dl_dtypes[x->dtype].scalar);
  if (x->dtype != t->dtype) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE, "Found dtype %s but expected %s",
            dl_dtypes[t->dtype].scalar, dl_dtypes[x->dtype].scalar);
    dl_note("targets of binary cross entropy are floating, as the input: target:to(input.dtype)");
    return DL_E_DTYPE;
  }
  pair_out(c, (dl_dtype)x->dtype, last->s);
  return DL_OK;
}

/* With logits the terms promote like any arithmetic, and the target is changed in place. */
dl_status dl_rule_bce_logits_loss(dl_call *c) {
  dl_dtype d = dl_result_type(c), t = (dl_dtype)c->in[1]->dtype;
  if (!dl_dtype_is_float((dl_dtype)c->in[0]->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"log_sigmoid_cpu\" not implemented for '%s'",
                   dl_dtypes[c->in[0]->dtype].scalar);
  if (!dl_dtype_is_float(t)) {
    dl_fail(DL_RuntimeError, DL_E_DTYPE,
            "result type %s can't be cast to the desired output type %s", dl_dtypes[d].scalar,
            dl_dtypes[t].scalar);
    dl_note("targets are floating: target:to(input.dtype)");
    return DL_E_DTYPE;
  }
  pair_out(c, d, c->arg[4].s);
  return DL_OK;
}

/* ---- nll ----------------------------------------------------------------------------------- */
static dl_status size_mismatch(int spatial, const dl_tensor *x, const dl_tensor *t) {
  char a[160], b[160];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 !spatial ? "size mismatch (got input: %s, target: %s)"
                          : "size mismatch (got input: %s , target: %s",
                 dl_sizes_str(x->ndim, x->size, a, sizeof a),
                 dl_sizes_str(t->ndim, t->size, b, sizeof b));
}

static dl_status nll_target(const dl_tensor *t) {
  if (t->dtype == DL_I64 || t->dtype == DL_U8) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected target dtype to be Long or Byte, but got %s",
          dl_dtypes[t->dtype].scalar);
  dl_note("targets are class numbers: target:long()");
  return DL_E_DTYPE;
}

static dl_status nll_weight(const dl_tensor *x, const dl_tensor *w) {
  int64_t classes = x->size[x->ndim == 1 ? 0 : 1];
  char a[160];
  if (!w) return DL_OK;
  if (w->ndim != 1 || w->numel != classes)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "weight tensor should be defined either for all %lld classes or no classes but got weight "
        "tensor of shape: %s",
        (long long)classes, dl_sizes_str(w->ndim, w->size, a, sizeof a));
  if (w->dtype != x->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected scalar type %s but found %s",
                   dl_dtypes[x->dtype].scalar, dl_dtypes[w->dtype].scalar);
  return DL_OK;
}

static dl_status nll_out(dl_call *c) {
  const dl_tensor *x = c->in[0], *t = c->in[1];
  DL_TRY(nll_target(t));
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'",
                   x->ndim > 2 ? "nll_loss2d_forward_out_frame" : "nll_loss_out_frame",
                   dl_dtypes[x->dtype].scalar);
  DL_TRY(nll_weight(x, c->in[2]));
  pair_out(c, (dl_dtype)x->dtype, c->arg[3].s);
  if (strcmp(c->arg[3].s, "none") == 0) dl_call_out(c, 0, (dl_dtype)x->dtype, t->ndim, t->size);
  dl_call_out(c, 1, (dl_dtype)x->dtype, 0, NULL);
  return DL_OK;
}

dl_status dl_rule_nll_loss(dl_call *c) {
  const dl_tensor *x = c->in[0], *t = c->in[1];
  if (x->ndim < 1 || x->ndim > 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "input tensor should be 1D or 2D");
  if (t->ndim > 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "0D or 1D target tensor expected, multi-target not supported");
  if (x->ndim == 1 && t->numel != 1)
    return dl_fail(DL_ValueError, DL_E_SHAPE,
                   "For 1D input, 1D target must have size 1, but got target size: %lld",
                   (long long)t->numel);
  if (x->ndim == 2 && x->size[0] != (t->ndim ? t->size[0] : 1)) return size_mismatch(0, x, t);
  return nll_out(c);
}

dl_status dl_rule_nll_loss2d(dl_call *c) {
  const dl_tensor *x = c->in[0], *t = c->in[1];
  if (t->ndim != 3)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "only batches of spatial targets supported (3D tensors) but got targets of dimension: %d",
        t->ndim);
  if (x->ndim != 4)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "only batches of spatial inputs supported (4D tensors), but got input of dimension: %d",
        x->ndim);
  if (x->size[0] != t->size[0] || x->size[2] != t->size[1] || x->size[3] != t->size[2])
    return size_mismatch(1, x, t);
  return nll_out(c);
}

/* The kernel walks target and weight by input_size: (C), (N,C) or (N,C,H,W). */
static bool nll_sizes_agree(const dl_call *c) {
  const dl_arg *size = &c->arg[4];
  const dl_tensor *grad = c->in[0], *target = c->in[1], *weight = c->in[2], *total = c->in[3];
  int64_t numel;
  if (size->n < 1 || dl_numel(size->n, size->is, &numel) != DL_OK) return false;
  int64_t classes = size->is[size->n == 1 ? 0 : 1];
  int64_t rows = classes ? numel / classes : 0;
  return target->numel == rows && (grad->numel == 1 || grad->numel == rows) &&
         (!weight || weight->numel == classes) && total->numel == 1;
}

dl_status dl_rule_nll_loss_bwd(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "\"nll_loss_backward_out_frame\" not implemented for '%s'", dl_dtypes[d].scalar);
  if (!nll_sizes_agree(c))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "nll_loss_backward: target, weight and grad do not fit input_size");
  dl_call_out(c, 0, d, c->arg[4].n, c->arg[4].is);
  c->compute = dl_compute_for(d);
  return DL_OK;
}

/* ---- optimizer steps: the result is the parameter ------------------------------------------ */
dl_status dl_rule_optim(dl_call *c) {
  const dl_tensor *p = c->in[0];
  if (!dl_dtype_is_float((dl_dtype)p->dtype))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "a parameter is floating, got %s",
                   dl_dtypes[p->dtype].name);
  for (int k = 1; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    char a[160], b[160];
    if (t && !dl_sizes_equal(p->ndim, p->size, t->ndim, t->size))
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "The size of the parameter %s must match the size of its gradient and state %s",
          dl_sizes_str(p->ndim, p->size, a, sizeof a), dl_sizes_str(t->ndim, t->size, b, sizeof b));
  }
  dl_ledger_say(p, DL_ROLE_PARAM);
  for (int k = 2; k < c->nin; k++) dl_ledger_say(c->in[k], DL_ROLE_STATE);
  dl_call_out_like(c, 0, p);
  c->compute = dl_compute_for((dl_dtype)p->dtype);
  return DL_OK;
}
