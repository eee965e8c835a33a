/* grad_nn.c -- gradients of convolution, pooling, batch norm and embedding, written in ops
 *
 * Convolution and its two gradients are linear in each operand, so each is the gradient of the
 * others; pooling and its gradient likewise. */
#include "grad/rule.h"

/* sum over all dims but the second */
static dl_tensor *sum_channels(dl_ex *e, dl_tensor *t) {
  int64_t dims[DL_MAXDIM];
  int n = 0;
  if (!t) return NULL;
  for (int d = 0; d < t->ndim; d++)
    if (d != 1) dims[n++] = d;
  return EX(e, sum_dim, T(t), L(dims, n));
}

/* ---- convolution: ARG 3..6 are stride, padding, dilation, groups --------------------------- */
DL_GRAD(convolution) {
  const dl_meta *x = META(0), *w = META(1);
  GIN(0, EX(E, conv_grad_input, T(G(0)), T(IN(1)), L(x->size, x->ndim), *ARG(3), *ARG(4), *ARG(5),
            *ARG(6)));
  GIN(1, EX(E, conv_grad_weight, T(G(0)), T(IN(0)), L(w->size, w->ndim), *ARG(3), *ARG(4), *ARG(5),
            *ARG(6)));
  GIN(2, sum_channels(E, G(0)));
  return DONE;
}

/* inputs: grad, weight; G has the shape of the convolution's input */
DL_GRAD(conv_grad_input) {
  const dl_meta *w = META(1);
  GIN(0, EX(E, convolution, T(G(0)), T(IN(1)), NIL, *ARG(3), *ARG(4), *ARG(5), *ARG(6)));
  GIN(1, EX(E, conv_grad_weight, T(IN(0)), T(G(0)), L(w->size, w->ndim), *ARG(3), *ARG(4), *ARG(5),
            *ARG(6)));
  return DONE;
}

/* inputs: grad, input; G has the shape of the weight */
DL_GRAD(conv_grad_weight) {
  const dl_meta *x = META(1);
  GIN(0, EX(E, convolution, T(IN(1)), T(G(0)), NIL, *ARG(3), *ARG(4), *ARG(5), *ARG(6)));
  GIN(1, EX(E, conv_grad_input, T(IN(0)), T(G(0)), L(x->size, x->ndim), *ARG(3), *ARG(4), *ARG(5),
            *ARG(6)));
  return DONE;
}

/* ---- pooling ------------------------------------------------------------------------------- */
DL_GRAD(max_pool2d_with_indices) {
  const dl_meta *x = META(0);
  if (G(0)) GIN(0, EX(E, max_pool2d_backward, T(G(0)), T(OUT(1)), L(x->size, x->ndim)));
  return DONE;
}

/* The elements that the indices name. */
DL_GRAD(max_pool2d_backward) {
  dl_tensor *index = IN(1);
  if (!index) return DONE;
  dl_tensor *flat = EX(E, flatten, T(G(0)), I(-2)), *at = EX(E, flatten, T(index), I(-2));
  dl_tensor *picked = EX(E, gather, T(flat), I(-1), T(at));
  GIN(0, EX(E, view, T(picked), L(index->size, index->ndim)));
  return DONE;
}

DL_GRAD(avg_pool2d) {
  const dl_meta *x = META(0);
  dl_arg stride = ARG(2)->n ? *ARG(2) : *ARG(1);
  GIN(0, EX(E, avg_pool2d_backward, T(G(0)), L(x->size, x->ndim), *ARG(1), stride, *ARG(3), *ARG(4),
            *ARG(5), *ARG(6)));
  return DONE;
}

DL_GRAD(avg_pool2d_backward) {
  GIN(0, EX(E, avg_pool2d, T(G(0)), *ARG(2), *ARG(3), *ARG(4), *ARG(5), *ARG(6), *ARG(7)));
  return DONE;
}

DL_GRAD(_adaptive_avg_pool2d) {
  const dl_meta *x = META(0);
  GIN(0, EX(E, _adaptive_avg_pool2d_backward, T(G(0)), L(x->size, x->ndim)));
  return DONE;
}

DL_GRAD(_adaptive_avg_pool2d_backward) {
  const dl_meta *small = META(0);
  GIN(0, EX(E, _adaptive_avg_pool2d, T(G(0)), L(small->size + small->ndim - 2, 2)));
  return DONE;
}

/* ---- batch norm ---------------------------------------------------------------------------- */
/* A channel vector shaped to broadcast over the input. */
static dl_tensor *spread(dl_ex *e, dl_tensor *v, int ndim) {
  int64_t size[DL_MAXDIM];
  if (!v) return NULL;
  for (int d = 0; d < ndim; d++) size[d] = d == 1 ? v->numel : 1;
  return EX(e, view, T(v), L(size, ndim));
}

static dl_tensor *mean_channels(dl_ex *e, dl_tensor *t) {
  if (!t) return NULL;
  int64_t n = t->numel / (t->size[1] ? t->size[1] : 1);
  return spread(e, EX(e, div, T(sum_channels(e, t)), I(n)), t->ndim);
}

/* The same gradient in ops that record themselves: for create_graph. */
static dl_status batch_norm_in_ops(dl_gcall *g) {
  dl_tensor *x = IN(0), *w = IN(1);
  bool training = ARG(5)->i;
  if (!x) return DONE;
  dl_tensor *mean = training ? mean_channels(E, x) : spread(E, IN(3), x->ndim);
  dl_tensor *away = EX(E, sub, T(x), T(mean));
  dl_tensor *var = training ? mean_channels(E, EX(E, mul, T(away), T(away)))
                            : spread(E, IN(4), x->ndim);
  dl_tensor *inv = EX(E, rsqrt, T(EX(E, add, T(var), *ARG(7))));
  dl_tensor *hat = EX(E, mul, T(away), T(inv));
  GIN(1, sum_channels(E, EX(E, mul, T(G(0)), T(hat))));
  GIN(2, sum_channels(E, G(0)));
  if (!NEED(0)) return DONE;
  dl_tensor *up = w ? EX(E, mul, T(G(0)), T(spread(E, w, x->ndim))) : G(0);
  if (training) {
    dl_tensor *along = EX(E, mul, T(hat), T(mean_channels(E, EX(E, mul, T(up), T(hat)))));
    up = EX(E, sub, T(EX(E, sub, T(up), T(mean_channels(E, up)))), T(along));
  }
  GIN(0, EX(E, mul, T(up), T(inv)));
  return DONE;
}

/* inputs: input, weight, bias, running_mean, running_var; results: output, mean, invstd */
DL_GRAD(native_batch_norm) {
  if (!G(0)) return DONE;
  if (dl_grad_enabled()) return batch_norm_in_ops(g);
  dl_tensor *gi = EX(E, native_batch_norm_backward, T(G(0)), T(IN(0)), T(IN(1)), T(IN(3)), T(IN(4)),
                     T(OUT(1)), T(OUT(2)), *ARG(5), *ARG(7));
  dl_tensor *gw = gi ? E->last.v[1] : NULL, *gb = gi ? E->last.v[2] : NULL;
  GIN(0, gi);
  GIN(1, gw);
  GIN(2, gb);
  return DONE;
}

/* ---- embedding: ARG 2 is padding_idx ------------------------------------------------------- */
DL_GRAD(_embedding) {
  GIN(0, EX(E, embedding_backward, T(G(0)), T(IN(1)), I(META(0)->size[0]), *ARG(2)));
  return DONE;
}

DL_GRAD(embedding_backward) {
  dl_tensor *index = IN(1), *rows = EX(E, _embedding, T(G(0)), T(index), *ARG(3));
  if (dl_arg_i(ARG(3)) >= 0) {
    dl_tensor *skip = EX(E, unsqueeze, T(EX(E, eq, T(index), *ARG(3))), I(-1));
    rows = EX(E, masked_fill, T(rows), T(skip), I(0));
  }
  GIN(0, rows);
  return DONE;
}
