/* comp_loss.c -- composites of the section "losses"
 *
 * Each checks its arguments as torch.nn.functional does and calls the loss's kernel, so that the
 * result carries PyTorch's grad_fn name.
 *
 * SOURCE torch/nn/functional.py; ATen/native/LossNLL.cpp, Loss.cpp. */
#include "op/op.h"

#include <string.h>

/* ---- shared checks ------------------------------------------------------------------------- */
static bool is(const dl_arg *a, const char *word) { return strcmp(a->s, word) == 0; }

static dl_status check_reduction(const dl_arg *a) {
  if (is(a, "mean") || is(a, "sum") || is(a, "none")) return DL_OK;
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "%s is not a valid value for reduction", a->s);
  dl_note("reduction is 'mean', 'sum' or 'none'");
  return DL_E_ARGUMENT;
}

static dl_tensor *reduce(dl_ex *e, dl_tensor *t, const dl_arg *how) {
  return is(how, "mean") ? EX(e, mean, T(t)) : is(how, "sum") ? EX(e, sum, T(t)) : t;
}

static bool same_size(const dl_tensor *a, const dl_tensor *b) {
  return dl_sizes_equal(a->ndim, a->size, b->ndim, b->size);
}

/* input and target of one size: broadcast, with PyTorch's warning where they differ */
static dl_status pair(dl_ex *e, const dl_arg *arg, dl_tensor *out[2]) {
  dl_tensor *x = out[0] = arg[0].t, *t = out[1] = arg[1].t;
  if (same_size(x, t)) return DL_OK;
  char a[160], b[160];
  dl_warn(true, "UserWarning",
          "Using a target size (torch.Size(%s)) that is different to the input size "
          "(torch.Size(%s)). This will "
          "likely lead to incorrect results due to broadcasting. Please ensure they have the same "
          "size.",
          dl_sizes_str(t->ndim, t->size, b, sizeof b), dl_sizes_str(x->ndim, x->size, a, sizeof a));
  dl_meta m = {.ndim = x->ndim};
  memcpy(m.size, x->size, x->ndim * sizeof *m.size);
  DL_TRY(dl_broadcast(&m, t->ndim, t->size));
  for (int k = 0; k < 2; k++)
    if (!dl_sizes_equal(out[k]->ndim, out[k]->size, m.ndim, m.size))
      out[k] = EX(e, expand, T(out[k]), L(m.size, m.ndim));
  return e->st;
}

/* ---- regression ---------------------------------------------------------------------------- */
dl_status dl_comp_mse_loss(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *p[2];
  DL_TRY(pair(e, arg, p));
  DL_TRY(check_reduction(&arg[2]));
  return dl_ex_return(e, EX(e, _mse_loss, T(p[0]), T(p[1]), arg[2]), out);
}

static dl_tensor *absolute(dl_ex *e, dl_tensor *const p[2], const dl_arg *how) {
  return reduce(e, EX(e, abs, T(EX(e, sub, T(p[0]), T(p[1])))), how);
}

dl_status dl_comp_l1_loss(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *p[2];
  DL_TRY(pair(e, arg, p));
  DL_TRY(check_reduction(&arg[2]));
  return dl_ex_return(e, absolute(e, p, &arg[2]), out);
}

dl_status dl_comp_smooth_l1_loss(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *p[2];
  DL_TRY(pair(e, arg, p));
  DL_TRY(check_reduction(&arg[2]));
  double beta = dl_arg_f(&arg[3]);
  if (beta < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "smooth_l1_loss does not support negative values for beta.");
  if (beta == 0) return dl_ex_return(e, absolute(e, p, &arg[2]), out);
  return dl_ex_return(e, EX(e, _smooth_l1_loss, T(p[0]), T(p[1]), arg[2], F(beta)), out);
}

dl_status dl_comp_huber_loss(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *p[2];
  DL_TRY(pair(e, arg, p));
  DL_TRY(check_reduction(&arg[2]));
  double delta = dl_arg_f(&arg[3]);
  if (!(delta > 0))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "huber_loss does not support non-positive values for delta.");
  return dl_ex_return(e, EX(e, _huber_loss, T(p[0]), T(p[1]), arg[2], F(delta)), out);
}

/* ---- binary cross entropy ------------------------------------------------------------------ */
/* An optional weight in the size of t, which it must not enlarge. */
static dl_tensor *spread(dl_ex *e, const dl_arg *w, const dl_tensor *t, bool weight_first) {
  if (!dl_arg_given(w) || e->st != DL_OK) return NULL;
  if (same_size(w->t, t)) return w->t;
  const dl_tensor *a = weight_first ? w->t : t, *b = weight_first ? t : w->t;
  dl_meta m = {.ndim = a->ndim};
  memcpy(m.size, a->size, a->ndim * sizeof *m.size);
  e->st = dl_broadcast(&m, b->ndim, b->size);
  return EX(e, expand, *w, L(t->size, t->ndim));
}

/* torch.broadcast_shapes of (target, weight), as the message words it */
static dl_status weight_fits(const dl_tensor *t, const dl_tensor *w) {
  char a[160], b[160];
  for (int d = 1; w && d <= w->ndim && d <= t->ndim; d++) {
    int64_t n = w->size[w->ndim - d], m = t->size[t->ndim - d];
    if (n != 1 && m != 1 && n != m)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Attempting to broadcast a dimension of length %lld at -%d! Mismatching "
                     "argument at index 1 "
                     "had torch.Size(%s); but expected shape should be broadcastable to %s",
                     (long long)n, d, dl_sizes_str(w->ndim, w->size, a, sizeof a),
                     dl_sizes_str(t->ndim, t->size, b, sizeof b));
  }
  return DL_OK;
}

static dl_status sizes_differ(const char *fmt_class, const dl_tensor *t, const dl_tensor *x) {
  char a[160], b[160];
  return dl_fail(
      DL_ValueError, DL_E_SHAPE,
      fmt_class[0] == 'U'
          ? "Using a target size (torch.Size(%s)) that is different to the input size "
            "(torch.Size(%s)) is "
            "deprecated. Please ensure they have the same size."
          : "Target size (torch.Size(%s)) must be the same as input size (torch.Size(%s))",
      dl_sizes_str(t->ndim, t->size, a, sizeof a), dl_sizes_str(x->ndim, x->size, b, sizeof b));
}

dl_status dl_comp_binary_cross_entropy(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *t = arg[1].t;
  DL_TRY(check_reduction(&arg[3]));
  if (!same_size(x, t)) return sizes_differ("Using", t, x);
  DL_TRY(weight_fits(t, dl_arg_given(&arg[2]) ? arg[2].t : NULL));
  dl_tensor *w = spread(e, &arg[2], t, false);
  return dl_ex_return(e, EX(e, _bce_loss, T(x), T(t), T(w), arg[3]), out);
}

dl_status dl_comp_binary_cross_entropy_with_logits(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *t = arg[1].t;
  DL_TRY(check_reduction(&arg[3]));
  if (!same_size(x, t)) return sizes_differ("Target", t, x);
  dl_tensor *pw = spread(e, &arg[4], t, true), *w = spread(e, &arg[2], t, false);
  return dl_ex_return(e, EX(e, _bce_logits_loss, T(x), T(t), T(w), T(pw), arg[3]), out);
}

/* ---- kl_div: target * (log target - input), input being log-probabilities ------------------ */
static dl_tensor *kl(dl_ex *e, dl_tensor *x, dl_tensor *t, bool log_target) {
  if (log_target) return EX(e, mul, T(EX(e, exp, T(t))), T(EX(e, sub, T(t), T(x))));
  dl_tensor *zero = EX(e, eq, T(t), I(0));
  dl_tensor *entropy = EX(e, mul, T(t), T(EX(e, log, T(EX(e, masked_fill, T(t), T(zero), I(1))))));
  return EX(e, sub, T(entropy), T(EX(e, mul, T(t), T(x))));
}

dl_status dl_comp_kl_div(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *t = arg[1].t;
  bool batch = is(&arg[2], "batchmean");
  if (is(&arg[2], "mean"))
    dl_warn(true, "UserWarning",
            "reduction: 'mean' divides the total loss by both the batch size and the support "
            "size.'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.'mean' "
            "will be changed "
            "to behave the same as 'batchmean' in the next major release.");
  if (!batch) DL_TRY(check_reduction(&arg[2]));
  dl_tensor *y = kl(e, x, t, arg[3].i);
  if (batch && y) y = EX(e, div, T(EX(e, sum, T(y))), I(x->ndim ? x->size[0] : 1));
  else y = reduce(e, y, &arg[2]);
  return dl_ex_return(e, y, out);
}

/* ---- nll and cross entropy ----------------------------------------------------------------- */
/* logp (N,C), (C) or (N,C,d1…), target without the class dim */
static dl_tensor *nll(dl_ex *e, dl_tensor *logp, dl_tensor *t, const dl_arg *w, const dl_arg *how,
                      const dl_arg *ignore) {
  if (e->st != DL_OK) return NULL;
  if (logp->ndim < 1) {
    e->st = dl_fail(DL_ValueError, DL_E_SHAPE, "Expected 1 or more dimensions (got %d)",
                    logp->ndim);
    return NULL;
  }
  if (logp->ndim != 1 && (t->ndim == 0 || logp->size[0] != t->size[0])) {
    e->st = dl_fail(DL_ValueError, DL_E_SHAPE,
                    "Expected input batch_size (%lld) to match target batch_size (%lld).",
                    (long long)logp->size[0], (long long)(t->ndim ? t->size[0] : 0));
    dl_note("one target for each row of the input");
    return NULL;
  }
  if (logp->ndim <= 2) return EX(e, _nll_loss, T(logp), T(t), *w, *how, *ignore);
  if (logp->ndim == 4) return EX(e, _nll_loss2d, T(logp), T(t), *w, *how, *ignore);
  int64_t n = logp->size[0], c = logp->size[1], want[DL_MAXDIM] = {n}, inner = 1;
  for (int d = 2; d < logp->ndim; d++) inner *= want[d - 1] = logp->size[d];
  if (!dl_sizes_equal(t->ndim, t->size, logp->ndim - 1, want)) {
    char a[160], b[160];
    e->st = dl_fail(DL_RuntimeError, DL_E_SHAPE, "Expected target size %s, got %s",
                    dl_sizes_str(logp->ndim - 1, want, a, sizeof a),
                    dl_sizes_str(t->ndim, t->size, b, sizeof b));
    return NULL;
  }
  int64_t image[4] = {n, c, 1, inner}, classes[3] = {n, 1, inner};
  dl_tensor *y = EX(e, _nll_loss2d, T(EX(e, reshape, T(logp), L(image, 4))),
                    T(EX(e, reshape, T(t), L(classes, 3))), *w, *how, *ignore);
  return is(how, "none") ? EX(e, view, T(y), L(want, logp->ndim - 1)) : y;
}

dl_status dl_comp_nll_loss(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  DL_TRY(check_reduction(&arg[4]));
  return dl_ex_return(e, nll(e, arg[0].t, arg[1].t, &arg[2], &arg[4], &arg[3]), out);
}

/* weight (C) shaped to multiply (N,C,d1…) */
static dl_tensor *by_class(dl_ex *e, dl_tensor *w, const dl_tensor *x, int dim) {
  int64_t size[DL_MAXDIM];
  for (int d = 0; d < x->ndim; d++) size[d] = d == dim ? w->numel : 1;
  return EX(e, view, T(w), L(size, x->ndim));
}

static dl_status soft_checks(const dl_tensor *x, const dl_tensor *t, const dl_tensor *w, int dim,
                             const dl_arg *ignore) {
  char a[160];
  if (!dl_dtype_is_float((dl_dtype)t->dtype))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Expected floating point type for target with class probabilities, got %s",
                   dl_dtypes[t->dtype].scalar);
  if (ignore->i >= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "ignore_index is not supported for floating point target");
  if (w && (w->ndim != 1 || w->numel != x->size[dim]))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "cross_entropy: weight tensor should be defined either for all %lld classes or "
                   "no classes but "
                   "got weight tensor of shape: %s",
                   (long long)x->size[dim], dl_sizes_str(w->ndim, w->size, a, sizeof a));
  return DL_OK;
}

/* Targets are probabilities: -(sum over classes of q * w * logp), the mean over samples. */
static dl_tensor *soft_targets(dl_ex *e, const dl_arg *arg, double smooth) {
  dl_tensor *x = arg[0].t, *q = arg[1].t, *w = dl_arg_given(&arg[2]) ? arg[2].t : NULL;
  int dim = x->ndim == 1 ? 0 : 1;
  int64_t classes = x->size[dim], which = dim;
  e->st = soft_checks(x, q, w, dim, &arg[3]);
  if (e->st != DL_OK) return NULL;
  dl_tensor *logp = EX(e, log_softmax, T(x), I(dim));
  if (smooth > 0) q = EX(e, add, T(EX(e, mul, T(q), F(1 - smooth))), F(smooth / (double)classes));
  dl_tensor *y = EX(e, mul, T(logp), T(q));
  if (w) y = EX(e, mul, T(y), T(by_class(e, w, x, dim)));
  if (is(&arg[4], "none")) return EX(e, neg, T(EX(e, sum_dim, T(y), L(&which, 1))));
  y = EX(e, neg, T(EX(e, sum, T(y))));
  return is(&arg[4], "sum") ? y : EX(e, div, T(y), I(classes ? x->numel / classes : 0));
}

/* The part of label smoothing that spreads over all classes. */
static dl_tensor *smooth_part(dl_ex *e, dl_tensor *logp, const dl_arg *arg) {
  dl_tensor *t = arg[1].t, *w = dl_arg_given(&arg[2]) ? arg[2].t : NULL;
  int dim = logp->ndim == 1 ? 0 : 1;
  int64_t which = dim;
  dl_tensor *y = w ? EX(e, mul, T(logp), T(by_class(e, w, logp, dim))) : logp;
  y = EX(e, neg, T(EX(e, sum_dim, T(y), L(&which, 1))));
  dl_tensor *skip = EX(e, eq, T(t), arg[3]);
  y = EX(e, masked_fill, T(y), T(skip), I(0));
  if (is(&arg[4], "none")) return y;
  y = EX(e, sum, T(y));
  if (is(&arg[4], "sum") || e->st != DL_OK) return y;
  if (!w) return EX(e, div, T(y), T(EX(e, sum, T(EX(e, logical_not, T(skip))))));
  dl_tensor *flat = EX(e, flatten, T(EX(e, masked_fill, T(t), T(skip), I(0))));
  dl_tensor *each = EX(e, masked_fill, T(EX(e, index_select, T(w), I(0), T(flat))),
                       T(EX(e, flatten, T(skip))), I(0));
  return EX(e, div, T(y), T(EX(e, sum, T(each))));
}

dl_status dl_comp_cross_entropy(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t, *t = arg[1].t;
  double smooth = dl_arg_f(&arg[5]);
  DL_TRY(check_reduction(&arg[4]));
  if (!(smooth >= 0 && smooth <= 1))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "label_smoothing must be between 0.0 and 1.0. Got: %g", smooth);
  if (same_size(x, t)) return dl_ex_return(e, soft_targets(e, arg, smooth), out);
  int dim = x->ndim <= 1 ? 0 : 1;
  dl_tensor *logp = EX(e, log_softmax, T(x), I(dim));
  dl_tensor *y = nll(e, logp, t, &arg[2], &arg[4], &arg[3]);
  if (smooth > 0 && y) {
    dl_tensor *s = smooth_part(e, logp, arg);
    y = EX(e, add, T(EX(e, mul, T(y), F(1 - smooth))),
           T(EX(e, mul, T(s), F(smooth / (double)x->size[dim]))));
  }
  return dl_ex_return(e, y, out);
}
