/* comp_random.c -- random ops that are made of others: normal, dropout, dropout2d
 *
 * For dispatch (COMPOSITE rows of "factories and random numbers").
 * SOURCE     ATen/native/Distributions.cpp, Dropout.cpp, torch/nn/functional.py: the draws come in
 *            PyTorch's order, so masks agree bit for bit. */
#include "mem/gpu.h"
#include "op/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMP(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out)
#define RETURN(expr) return dl_ex_return(e, (expr), out)

/* ---- normal ---------------------------------------------------------------------- */
static dl_status negative_std(dl_ex *e, const dl_arg *std) {
  if (std->tag != DL_A_TENSOR || std->t->numel == 0) return DL_OK;
  dl_tensor *bad = EX(e, any, T(EX(e, lt, *std, I(0))));
  if (!bad || !dl_tensor_item_i(bad)) return e->st;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "normal expects all elements of std >= 0.0");
}

/* Standard normal numbers, then scaled and shifted by tensors. */
static dl_tensor *scaled(dl_ex *e, const dl_arg *mean, const dl_arg *std, const dl_arg *gen) {
  dl_tensor *m = mean->tag == DL_A_TENSOR ? mean->t : NULL, *s = std->t;
  dl_tensor *like = m ? m : s;
  dl_meta shape = {.ndim = like->ndim};
  memcpy(shape.size, like->size, (size_t)like->ndim * sizeof *like->size);
  if (m) e->st = dl_broadcast(&shape, s->ndim, s->size);
  dl_tensor *x = EX(e, empty, L(shape.size, shape.ndim), DT(like->dtype), DEV(like));
  x = EX_(e, normal_, T(x), F(0), F(1), *gen);
  return EX_(e, add, T(EX_(e, mul, T(x), T(s))), *mean);
}

COMP(normal) {
  dl_arg mean = arg[0], std = arg[1], gen = arg[3];
  if (mean.tag == DL_A_TENSOR) mean = T(EX(e, detach, mean));
  if (std.tag == DL_A_TENSOR) std = T(EX(e, detach, std));
  if (e->st != DL_OK) return e->st;
  if (mean.tag != DL_A_TENSOR && std.tag != DL_A_TENSOR && !dl_arg_given(&arg[2]))
    return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                   "normal() missing 1 required positional arguments: \"size\"");
  DL_TRY(negative_std(e, &std));
  if (std.tag == DL_A_TENSOR) RETURN(scaled(e, &mean, &std, &gen));
  if (mean.tag == DL_A_TENSOR) {
    dl_tensor *t = mean.t, *x = EX(e, empty, L(t->size, t->ndim), DT(t->dtype), DEV(t));
    RETURN(EX_(e, add, T(EX_(e, normal_, T(x), F(0), F(dl_arg_f(&std)), gen)), mean));
  }
  RETURN(EX_(e, normal_, T(EX(e, empty, arg[2])), F(dl_arg_f(&mean)), F(dl_arg_f(&std)), gen));
}

/* ---- dropout --------------------------------------------------------------------- */
/* The number as Python writes it: the shortest text that reads back as p, with a point. */
static dl_status bad_probability(double p) {
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, p);
    if (strtod(text, NULL) == p) break;
  }
  bool whole = !strpbrk(text, ".en");
  return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                 "dropout probability has to be between 0 and 1, but got %s%s", text,
                 whole ? ".0" : "");
}

static dl_tensor *times(dl_ex *e, dl_tensor *x, dl_tensor *by, bool inplace) {
  return inplace ? EX_(e, mul, T(x), T(by)) : EX(e, mul, T(x), T(by));
}

/* x times a mask of 0 and 1/(1-p); `channels`: one coin a channel (dims 0 and 1). CUDA has a kernel
 * for the plain form. */
static dl_status drop(dl_ex *e, const dl_arg *arg, bool channels, dl_tensor **out) {
  dl_tensor *x = arg[0].t;
  double p = arg[1].f;
  bool training = arg[2].i, inplace = arg[3].i;
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = x->dev};
  if (!(p >= 0 && p <= 1))
    return bad_probability(p);
  if (p == 0 || !training || x->numel == 0) RETURN(x);
  if (p == 1) RETURN(times(e, x, EX(e, zeros, L(NULL, 0), DT(x->dtype), dev), inplace));
  if (channels && x->ndim < 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Feature dropout requires at least 2 dimensions in the input");
  if (!channels && !inplace && x->dev.type == DL_CUDA)
    RETURN(EX(e, native_dropout, T(x), F(p), B(true)));
  dl_tensor *noise;
  if (channels) {
    int64_t size[DL_MAXDIM];
    for (int d = 0; d < x->ndim; d++) size[d] = d < 2 ? x->size[d] : 1;
    noise = EX(e, empty, L(size, x->ndim), DT(x->dtype), dev);
  } else {
    noise = EX(e, empty_like, T(x));
  }
  noise = EX_(e, div, T(EX_(e, bernoulli_, T(noise), F(1 - p))), F(1 - p));
  RETURN(times(e, x, noise, inplace));
}

COMP(dropout) { return drop(e, arg, false, out); }

COMP(dropout2d) {
  int n = arg[0].t->ndim;
  if (n != 3 && n != 4)
    dl_warn(true, "UserWarning",
            "dropout2d: Received a %d-D input to dropout2d, which is deprecated and will result "
            "in an error in a future release. To retain the behavior and silence this warning, "
            "please use dropout instead. Note that dropout2d exists to provide channel-wise "
            "dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional "
            "batch dimension (i.e. 3D or 4D inputs).",
            n);
  return drop(e, arg, true, out);
}
