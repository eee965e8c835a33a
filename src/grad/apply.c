/* apply.c -- one node backward: by rule, by callback, or through a view
 *
 * For the walk.
 *
 * INVARIANT  Rules run in ops, so with gradients enabled they record themselves.
 * SOURCE     torch/csrc/autograd: engine.cpp (validate_outputs), functions/tensor.cpp. */
#include "grad/apply.h"
#include "mem/gpu.h"

#include <string.h>

/* ---- gradients fit their input -------------------------------------------------------------- */
static bool expandable(const dl_tensor *t, const dl_meta *m) {
  int lead = t->ndim - m->ndim;
  if (lead < 0) return false;
  for (int d = 0; d < m->ndim; d++)
    if (m->size[d] != t->size[d + lead] && m->size[d] != 1) return false;
  return true;
}

static dl_status bad_shape(const dl_node *from, uint32_t k, const dl_meta *m, const dl_tensor *t) {
  char got[200], want[200];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "Function %s returned an invalid gradient at index %u - got %s but expected shape "
                 "compatible with %s",
                 dl_node_name(from), (unsigned)k, dl_sizes_str(t->ndim, t->size, got, sizeof got),
                 dl_sizes_str(m->ndim, m->size, want, sizeof want));
}

static dl_status replace(dl_ex *e, dl_tensor *with, dl_tensor **t) {
  dl_tensor *fresh = NULL;
  if (e->st == DL_OK) dl_ex_return(e, with, &fresh);
  dl_status st = dl_ex_end(e);
  if (st != DL_OK) return st;
  dl_tensor_release(*t);
  *t = fresh;
  return DL_OK;
}

dl_status dl_walk_fit(const dl_node *from, uint32_t k, const dl_meta *m, dl_tensor **t) {
  dl_tensor *g = *t;
  bool shaped = dl_sizes_equal(g->ndim, g->size, m->ndim, m->size);
  if (shaped && g->dtype == m->dtype) return DL_OK;
  if (!shaped && !expandable(g, m)) return bad_shape(from, k, m, g);
  dl_ex e;
  dl_ex_begin(&e);
  if (!shaped) g = dl_ex_sum_to(&e, g, m->ndim, m->size);
  if (g && g->dtype != m->dtype) g = EX(&e, _to_copy, T(g), DT(m->dtype));
  return replace(&e, g, t);
}

#define IN_PLACE_FROM 4096 /* elements: below, a fresh result is cheaper than an in-place op */

static bool ours_alone(const dl_tensor *t) {
  return t->refs == 1 && t->st->refs == 1 && t->contig && !t->requires_grad;
}

dl_status dl_walk_add(dl_tensor **sum, dl_tensor *t) {
  if (!t) return DL_OK;
  if (!*sum) {
    *sum = t;
    return DL_OK;
  }
  dl_tensor *out = NULL;
  dl_status st;
  if ((*sum)->numel >= IN_PLACE_FROM && !dl_grad_enabled() && ours_alone(*sum))
    st = dl_run(DL_OP_add, (dl_arg[]){T(*sum), T(t)}, 2, DL_INPLACE, &out);
  else st = dl_op2(DL_OP_add, *sum, t, &out);
  dl_tensor_release(t);
  if (st != DL_OK) return st;
  dl_tensor_release(*sum);
  *sum = out;
  return DL_OK;
}

/* A gradient goes back to the device its operand was on: a copy between devices, or a 0-dim CPU
 * operand among a GPU's. (The first parameters of a schema are its tensors, in the edges'
 * order.) */
static dl_status bring_home(const dl_node *n, const dl_arg *arg, dl_tensor **gin) {
  const dl_schema *s = dl_op_schema((dl_opid)n->op);
  uint32_t k = 0;
  for (int i = 0; i < s->nparam && k < n->n_edges; i++) {
    if (s->p[i].type > DL_P_TN) continue;
    dl_tensor *g = gin[k];
    if (g && arg[i].tag == DL_A_NONE && !dl_device_same(g->dev, arg[i].dev)) {
      dl_ex e;
      const dl_arg dev = {.tag = DL_A_DEVICE, .dev = arg[i].dev};
      dl_ex_begin(&e);
      DL_TRY(replace(&e, EX(&e, _to_copy, T(g), NIL, dev), &gin[k]));
    }
    k++;
  }
  return DL_OK;
}

/* ---- rules ---------------------------------------------------------------------------------- */
static dl_status by_rule(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  dl_gcall g;
  dl_ex_begin(&g.ex);
  g.node = n;
  g.arg = dl_node_args(n);
  g.gout = gout;
  g.ngout = (int)dl_node_outs(n);
  g.gin = gin;
  dl_status st = dl_ops[n->op].grad(&g);
  if (g.ex.st == DL_OK) g.ex.st = st;
  st = dl_ex_end(&g.ex);
  if (st == DL_OK && dl_gpu && n->own_args) st = bring_home(n, g.arg, gin);
  return st;
}

/* ---- views ---------------------------------------------------------------------------------- */
static bool is_contig(const dl_meta *m, const int64_t *stride) {
  return dl_is_contig(m->ndim, m->size, stride);
}

/* Elements between the first and one past the last of a strided tensor. */
static int64_t extent(const dl_meta *m, const int64_t *stride) {
  int64_t last = 0;
  for (int d = 0; d < m->ndim; d++) {
    if (m->size[d] == 0) return 0;
    last += (m->size[d] - 1) * stride[d];
  }
  return last + 1;
}

/* An uninitialised tensor laid out as the base is. */
static dl_tensor *like_base(dl_ex *e, const dl_lay *lay, const dl_tensor *g) {
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = g->dev};
  const dl_meta *b = &lay->base;
  if (is_contig(b, lay->base_stride)) return EX(e, empty, L(b->size, b->ndim), DT(g->dtype), dev);
  int64_t n = extent(b, lay->base_stride);
  dl_tensor *flat = EX(e, empty, L(&n, 1), DT(g->dtype), dev);
  return EX(e, as_strided, T(flat), L(b->size, b->ndim), L(lay->base_stride, b->ndim), I(0));
}

static dl_status by_strides(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  const dl_lay *lay = n->ext->lay;
  const dl_meta *b = &lay->base, *v = &lay->view;
  dl_ex e;
  dl_ex_begin(&e);
  dl_arg size = L(v->size, v->ndim), stride = L(lay->view_stride, v->ndim);
  dl_tensor *g;
  if (is_contig(b, lay->base_stride)) {
    g = EX(&e, as_strided_backward, T(gout[0]), L(b->size, b->ndim), size, stride, I(lay->offset));
  } else {
    int64_t flat = extent(b, lay->base_stride);
    g = EX(&e, as_strided_backward, T(gout[0]), L(&flat, 1), size, stride, I(lay->offset));
    g = EX(&e, as_strided, T(g), L(b->size, b->ndim), L(lay->base_stride, b->ndim), I(0));
  }
  return replace(&e, g, &gin[0]);
}

/* The base's gradient is gout, but in the written part it is what the in-place op makes of it. */
static dl_status by_slices(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  const dl_lay *lay = n->ext->lay;
  const dl_meta *v = &lay->view;
  dl_ex e;
  dl_ex_begin(&e);
  dl_tensor *whole = like_base(&e, lay, gout[0]);
  EX_(&e, copy_, T(whole), T(gout[0]));
  dl_tensor *slice = EX(&e, as_strided, T(whole), L(v->size, v->ndim), L(lay->view_stride, v->ndim),
                        I(lay->offset));
  dl_tensor *g = EX(&e, clone, T(slice));
  if (e.st == DL_OK) e.st = dl_node_apply(n->ext->fn, &g, gin);
  if (e.st == DL_OK && n->edges[0].node) {
    if (gin[0]) EX_(&e, copy_, T(slice), T(gin[0]));
    else EX_(&e, zero_, T(slice));
    return replace(&e, whole, &gin[0]);
  }
  dl_tensor_drop(&gin[0]);
  return dl_ex_end(&e);
}

dl_status dl_node_apply(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  switch (n->kind) {
    case DL_NODE_OP: return by_rule(n, gout, gin);
    case DL_NODE_CUSTOM: return n->ext->apply(n, gout, gin);
    case DL_NODE_COPYSLICES: return by_slices(n, gout, gin);
    case DL_NODE_ASSTRIDED: return by_strides(n, gout, gin);
    default: return dl_fail(DL_RuntimeError, DL_E_INTERNAL, "%s has no backward", dl_node_name(n));
  }
}
