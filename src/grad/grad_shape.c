/* grad_shape.c -- gradients of views and of ops that lay elements out anew
 *
 * SOURCE  tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp of PyTorch. */
#include "grad/rule.h"
#include "op/view.h"

#include <string.h>

static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

static dl_tensor *sized(dl_ex *e, dl_tensor *t, const dl_meta *m) {
  return EX(e, reshape, T(t), L(m->size, m->ndim));
}

/* Zeros of shape m, of g's dtype, where g lives. */
static dl_tensor *zeros(dl_ex *e, const dl_meta *m, dl_tensor *g) {
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = g->dev};
  return EX(e, zeros, L(m->size, m->ndim), DT(g->dtype), dev);
}

/* ---- views ----------------------------------------------------------------------- */
#define RESIZED(id) DL_GRAD(id) { GIN(0, sized(E, G(0), META(0))); return DONE; }
RESIZED(view)
RESIZED(_unsafe_view)
RESIZED(alias)
RESIZED(squeeze)
RESIZED(squeeze_dim)
RESIZED(unsqueeze)

DL_GRAD(permute) {
  int n;
  const int64_t *dims = dl_arg_ints(ARG(1), &n);
  int64_t back[DL_MAXDIM];
  for (int k = 0; k < n; k++) back[wrapped(dims[k], n)] = k;
  GIN(0, EX(E, permute, T(G(0)), L(back, n)));
  return DONE;
}

DL_GRAD(transpose) { GIN(0, EX(E, transpose, T(G(0)), *ARG(1), *ARG(2))); return DONE; }
DL_GRAD(t) { GIN(0, EX(E, t, T(G(0)))); return DONE; }

DL_GRAD(expand) {
  const dl_meta *m = META(0);
  GIN(0, dl_ex_sum_to(E, G(0), m->ndim, m->size));
  return DONE;
}

DL_GRAD(select) {
  const dl_meta *m = META(0);
  GIN(0, EX(E, select_backward, T(G(0)), L(m->size, m->ndim), *ARG(1), *ARG(2)));
  return DONE;
}

DL_GRAD(slice) {
  const dl_meta *m = META(0);
  int64_t n = m->size[wrapped(ARG(1)->i, m->ndim)];
  dl_arg start = dl_arg_given(ARG(2)) ? *ARG(2) : I(0), end = dl_arg_given(ARG(3)) ? *ARG(3) : I(n);
  GIN(0, EX(E, slice_backward, T(G(0)), L(m->size, m->ndim), *ARG(1), start, end, *ARG(4)));
  return DONE;
}

DL_GRAD(diagonal) {
  dl_tensor *z = zeros(E, META(0), G(0));
  EX_(E, copy_, T(EX(E, diagonal, T(z), *ARG(1), *ARG(2), *ARG(3))), T(G(0)));
  GIN(0, z);
  return DONE;
}

/* Windows overlap: each element of the dim gathers what its windows got. */
DL_GRAD(unfold) {
  const dl_meta *m = META(0);
  dl_tensor *grad = G(0);
  if (m->ndim == 0) {
    GIN(0, EX(E, sum, T(grad)));
    return DONE;
  }
  int d = wrapped(ARG(1)->i, m->ndim);
  dl_tensor *at = EX(E, arange_end, I(m->size[d]), NIL, DEV(grad));
  dl_tensor *place = EX(E, unfold, T(at), I(0), *ARG(2), *ARG(3));
  dl_tensor *flat = EX(E, flatten, T(EX(E, movedim, T(grad), I(-1), I(d + 1))), I(d), I(d + 1));
  GIN(0, EX(E, index_add, T(zeros(E, m, grad)), I(d), T(EX(E, flatten, T(place))), T(flat)));
  return DONE;
}

DL_GRAD(as_strided) {
  const dl_meta *m = META(0);
  dl_arg offset = dl_arg_given(ARG(3)) ? *ARG(3) : I(0);
  GIN(0, EX(E, as_strided_backward, T(G(0)), L(m->size, m->ndim), *ARG(1), *ARG(2), offset));
  return DONE;
}

/* ---- several results ------------------------------------------------------------- */
/* The gradients of all results, zeros where a result was not used; a block of g->ngout, or NULL. */
static dl_tensor **all_gradients(dl_gcall *g) {
  dl_tensor **t = dl_block_new((size_t)g->ngout * sizeof *t), *like = NULL;
  if (!t) {
    g->ex.st = dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for %d gradients", g->ngout);
    return NULL;
  }
  for (int k = 0; k < g->ngout; k++)
    if (G(k)) like = G(k);
  for (int k = 0; k < g->ngout; k++) {
    dl_meta m;
    dl_node_out_meta(g->node, (uint32_t)k, &m);
    t[k] = G(k) ? G(k) : zeros(E, &m, like);
  }
  return t;
}

static dl_status joined(dl_gcall *g, dl_opid how, dl_arg dim) {
  dl_tensor **t = NEED(0) ? all_gradients(g) : NULL;
  if (!t) return DONE;
  if (DONE == DL_OK) GIN(0, dl_ex_call(E, how, (dl_arg[]){TS(t, g->ngout), dim}, 2, 0));
  dl_block_free(t, (size_t)g->ngout * sizeof *t);
  return DONE;
}

DL_GRAD(split) { return joined(g, DL_OP_cat, *ARG(2)); }
DL_GRAD(split_sizes) { return joined(g, DL_OP_cat, *ARG(2)); }
DL_GRAD(chunk) { return joined(g, DL_OP_cat, *ARG(2)); }
DL_GRAD(unbind) { return joined(g, DL_OP_stack, *ARG(1)); }

/* ---- joins ----------------------------------------------------------------------- */
DL_GRAD(cat) {
  dl_tensor *grad = G(0);
  int dim = wrapped(ARG(1)->i, grad->ndim);
  int64_t at = 0;
  for (uint32_t k = 0; k < g->node->n_edges; k++) {
    const dl_meta *m = META((int)k);
    bool skipped = m->ndim == 1 && m->size[0] == 0 && grad->ndim != 1;
    int64_t n = skipped ? 0 : m->size[dim];
    if (NEED(k)) {
      dl_tensor *part =
          skipped ? zeros(E, m, grad) : EX(E, slice, T(grad), I(dim), I(at), I(at + n));
      dl_g_set(g, (int)k, part);
    }
    at += n;
  }
  return DONE;
}

DL_GRAD(stack) {
  for (uint32_t k = 0; k < g->node->n_edges; k++)
    if (NEED(k)) dl_g_set(g, (int)k, EX(E, select, T(G(0)), *ARG(1), I(k)));
  return DONE;
}

/* ---- copies in another order ----------------------------------------------------- */
/* Fold each repeated dim (times x size) back onto its size, one dim after the other. */
DL_GRAD(repeat) {
  const dl_meta *m = META(0);
  int n;
  const int64_t *times = dl_arg_ints(ARG(1), &n);
  dl_tensor *t = G(0);
  if (t->numel == 0 && NEED(0)) {
    GIN(0, zeros(E, m, t));
    return DONE;
  }
  for (int d = 0; d < n && t; d++) {
    int64_t before = 1, after = 1, old = d < n - m->ndim ? 1 : m->size[d - (n - m->ndim)];
    for (int k = 0; k < d; k++) before *= k < n - m->ndim ? 1 : m->size[k - (n - m->ndim)];
    for (int k = d + 1; k < n; k++)
      after *= times[k] * (k < n - m->ndim ? 1 : m->size[k - (n - m->ndim)]);
    const int64_t split[4] = {before, times[d], old, after}, one = 1;
    if (times[d] != 1) t = EX(E, sum_dim, T(EX(E, reshape, T(t), L(split, 4))), L(&one, 1));
  }
  GIN(0, sized(E, t, m));
  return DONE;
}

DL_GRAD(flip) { GIN(0, EX(E, flip, T(G(0)), *ARG(1))); return DONE; }

DL_GRAD(roll) {
  int n;
  const int64_t *by = dl_arg_ints(ARG(1), &n);
  int64_t back[DL_MAXDIM];
  for (int k = 0; k < n && k < DL_MAXDIM; k++) back[k] = (int64_t)(0 - (uint64_t)by[k]);
  GIN(0, EX(E, roll, T(G(0)), L(back, n), *ARG(2)));
  return DONE;
}

DL_GRAD(tril) { GIN(0, EX(E, tril, T(G(0)), *ARG(1))); return DONE; }
DL_GRAD(triu) { GIN(0, EX(E, triu, T(G(0)), *ARG(1))); return DONE; }

DL_GRAD(diag_embed) {
  GIN(0, EX(E, diagonal, T(G(0)), *ARG(1), *ARG(2), *ARG(3)));
  return DONE;
}

DL_GRAD(constant_pad) {
  int n;
  const int64_t *pad = dl_arg_ints(ARG(1), &n);
  int64_t back[2 * DL_MAXDIM];
  for (int k = 0; k < n; k++) back[k] = -pad[k];
  GIN(0, EX(E, constant_pad, T(G(0)), L(back, n), F(0)));
  return DONE;
}

/* ---- backwards of views ---------------------------------------------------------- */
DL_GRAD(select_backward) { GIN(0, EX(E, select, T(G(0)), *ARG(2), *ARG(3))); return DONE; }

DL_GRAD(slice_backward) {
  GIN(0, EX(E, slice, T(G(0)), *ARG(2), *ARG(3), *ARG(4), *ARG(5)));
  return DONE;
}

DL_GRAD(as_strided_backward) {
  GIN(0, EX(E, as_strided, T(EX(E, contiguous, T(G(0)))), *ARG(2), *ARG(3), *ARG(4)));
  return DONE;
}
