/* view.c -- views in the graph, and what a write in place does to history
 *
 * For dispatch (records) and bind (grad_fn, hooks). A view of a tensor knows its root base. When a
 * view is written to, the base gets a CopySlices node, and the grad_fn of every view of it is made
 * anew, as AsStrided of the base, the next time it is asked for.
 *
 * INVARIANT  extra->base is never itself a view; extra->attr_version is the version at which
 *            t->grad_fn was right.
 * SOURCE     torch/csrc/autograd/{variable.cpp,VariableTypeUtils.h} (rules and texts). */
#include "graph/node.h"

#include <stdio.h>
#include <string.h>

static dl_tensor *base_of(const dl_tensor *t) { return t->extra ? t->extra->base : NULL; }

dl_status dl_graph_view(dl_tensor *base, dl_tensor *view, uint8_t view_kind) {
  if (!dl_dtype_is_float((dl_dtype)view->dtype)) return DL_OK;
  dl_extra *x = dl_tensor_extra(view);
  if (!x) return dl_err.kind;
  dl_tensor *root = base_of(base);
  uint8_t off = dl_mode & DL_MODE_INFERENCE ? DL_VIEW_INFERENCE : DL_VIEW_NO_GRAD;
  uint8_t kind = dl_grad_enabled() ? view_kind : off;
  if (root && kind == DL_VIEW_PLAIN) kind = base->extra->view_kind;
  dl_tensor_release(x->base);
  x->base = dl_tensor_retain(root ? root : base);
  x->view_kind = kind;
  x->attr_version = *view->ver;
  return DL_OK;
}

/* ---- may this view be written to? ----------------------------------------------------------- */
static const char *const kind_advice[] = {
    [DL_VIEW_PLAIN] = "",
    [DL_VIEW_MULTI] =
        " This view is the output of a function that returns multiple views. Such functions do "
        "not allow the output views to be modified inplace. You should replace the inplace "
        "operation by an out-of-place one.",
    [DL_VIEW_NO_GRAD] =
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the "
        "no_grad block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked).",
    [DL_VIEW_INFERENCE] =
        " Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the "
        "inference_mode block (if you don't want the inplace to be tracked) or both outside (if "
        "you want the inplace to be tracked).",
    [DL_VIEW_CUSTOM] =
        " This view was created inside a custom Function (or because an input was returned "
        "as-is) and the autograd logic to handle view+inplace would override the custom "
        "backward associated with the custom Function, leading to incorrect gradients. This "
        "behavior is forbidden. You can fix this by cloning the output of the custom Function."};

/* indirect: not t itself but its base (or another view of it) was written to */
static dl_status check_kind(const dl_tensor *t, bool indirect) {
  uint8_t kind = t->extra->view_kind;
  if (kind == DL_VIEW_PLAIN) return DL_OK;
  const char *what = indirect ? "its base or another view of its base has been" : "is being";
  char name[64];
  const char *fn = t->grad_fn ? dl_node_short_name(t->grad_fn, name, sizeof name) : "";
  const char *mode = kind == DL_VIEW_INFERENCE ? "inference mode" : "no_grad mode";
  const char *outside =
      kind == DL_VIEW_INFERENCE ? "in normal mode" : "with grad mode enabled";
  if (t->grad_fn && kind != DL_VIEW_NO_GRAD && kind != DL_VIEW_INFERENCE)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "Output %u of %s is a view and %s modified inplace.%s", (unsigned)t->out_nr,
                   fn, what, kind_advice[kind]);
  if (t->grad_fn)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "Output %u of %s is a view of a view which was created in %s and %s "
                   "modified inplace %s.%s",
                   (unsigned)t->out_nr, fn, mode, what, outside, kind_advice[kind]);
  return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                 "A view was created in %s and %s modified inplace %s.%s", mode, what, outside,
                 kind_advice[kind]);
}

dl_status dl_rebase_check(dl_tensor *t) { return base_of(t) ? check_kind(t, false) : DL_OK; }

dl_status dl_graph_check_inplace(dl_tensor *self) {
  if (!dl_tensor_wants_grad(self) || !dl_grad_enabled()) return DL_OK;
  dl_tensor *base = base_of(self);
  dl_status st = DL_OK;
  if (base) {
    DL_TRY(check_kind(self, false));
    if (!base->grad_fn)
      st = dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "a view of a leaf Variable that requires grad is being used in an in-place "
                   "operation.");
  } else if (!self->grad_fn) {
    st = dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                 "a leaf Variable that requires grad is being used in an in-place operation.");
  }
  if (st != DL_OK)
    dl_note(
        "change values of a parameter inside torch.no_grad(function() … end), or use the op "
        "without the underscore");
  return st;
}

/* ---- nodes of views ------------------------------------------------------------------------- */
static void meta_of(const dl_tensor *t, dl_meta *m, int64_t *stride) {
  m->dtype = t->dtype;
  m->ndim = t->ndim;
  for (int i = 0; i < t->ndim; i++) {
    m->size[i] = t->size[i];
    stride[i] = t->stride[i];
  }
}

/* A node that knows how `view` lies in `base`; its edge 0 is the base's. */
static dl_status view_node(dl_node_kind kind, uint32_t n_edges, dl_tensor *base,
                           const dl_tensor *view, dl_node **out) {
  dl_node_spec spec = {.kind = kind, .n_edges = n_edges};
  dl_node *n;
  DL_TRY(dl_node_make(&spec, &n));
  dl_status st = dl_node_extra(n);
  if (st == DL_OK && !(n->ext->lay = dl_block_new(sizeof *n->ext->lay)))
    st = dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  if (st == DL_OK) st = dl_gradient_edge(base, &n->edges[0]);
  if (st != DL_OK) {
    dl_node_release(n);
    return st;
  }
  dl_lay *lay = n->ext->lay;
  meta_of(base, &lay->base, lay->base_stride);
  meta_of(view, &lay->view, lay->view_stride);
  lay->offset = view->data && base->data
                    ? (view->data - base->data) / (int64_t)dl_dtype_size((dl_dtype)view->dtype)
                    : 0;
  dl_node_stamp(n);
  *out = n;
  return DL_OK;
}

/* ---- retain_grad and hooks ------------------------------------------------------------------ */
static dl_hook *hook_find(dl_node *n, uint32_t nr) {
  dl_hook *h = n->ext ? n->ext->hooks : NULL;
  while (h && h->nr != nr) h = h->next;
  return h;
}

static dl_status hook_get(dl_node *n, uint32_t nr, dl_hook **out) {
  *out = hook_find(n, nr);
  if (*out) return DL_OK;
  DL_TRY(dl_node_extra(n));
  dl_hook *h = dl_block_new(sizeof *h);
  if (!h) return dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a hook");
  *h = (dl_hook){.next = n->ext->hooks, .nr = nr};
  *out = n->ext->hooks = h;
  return DL_OK;
}

void dl_tensor_forget_retained(dl_tensor *t) {
  dl_hook *h = t->grad_fn && t->grad_fn->ext ? t->grad_fn->ext->hooks : NULL;
  for (; h; h = h->next)
    if (h->retain == t) h->retain = NULL;
}

dl_status dl_tensor_retain_grad(dl_tensor *t) {
  if (!dl_tensor_wants_grad(t))
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "can't retain_grad on Tensor that has requires_grad=False");
  dl_node *fn;
  dl_hook *h;
  DL_TRY(dl_tensor_grad_fn(t, &fn));
  if (!fn) return DL_OK;
  dl_extra *x = dl_tensor_extra(t);
  if (!x) return dl_err.kind;
  DL_TRY(hook_get(fn, t->out_nr, &h));
  h->retain = t;
  x->retains_grad = 1;
  return DL_OK;
}

dl_status dl_tensor_hook_slot(dl_tensor *t, int **slot) {
  if (!dl_tensor_wants_grad(t))
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "cannot register a hook on a tensor that doesn't require gradient");
  dl_node *fn;
  dl_hook *h;
  DL_TRY(dl_tensor_grad_fn(t, &fn));
  if (fn) {
    DL_TRY(hook_get(fn, t->out_nr, &h));
    *slot = &h->slot;
    return DL_OK;
  }
  dl_extra *x = dl_tensor_extra(t);
  if (!x) return dl_err.kind;
  *slot = &x->hooks;
  return DL_OK;
}

/* ---- grad_fn -------------------------------------------------------------------------------- */
void dl_node_attach(dl_node *n, dl_tensor *t, uint32_t nr) {
  dl_node *old = t->grad_fn;
  bool retains = t->extra && t->extra->retains_grad;
  if (retains) dl_tensor_forget_retained(t);
  t->grad_fn = dl_node_retain(n);
  t->out_nr = nr;
  t->requires_grad = 1;
  if (t->extra) t->extra->attr_version = *t->ver;
  dl_hook *h;
  if (retains && hook_get(n, nr, &h) == DL_OK) h->retain = t;
  dl_node_release(old);
}

dl_status dl_tensor_grad_fn(dl_tensor *t, dl_node **out) {
  *out = t->grad_fn;
  dl_tensor *base = base_of(t);
  if (!base || t->extra->attr_version == *t->ver) return DL_OK;
  if (!t->grad_fn && !base->requires_grad) return DL_OK;
  DL_TRY(check_kind(t, true));
  dl_node *n;
  DL_TRY(view_node(DL_NODE_ASSTRIDED, 1, base, t, &n));
  dl_node_attach(n, t, 0);
  dl_saved_cut(n, t, DL_OP_COUNT + 1);
  dl_node_release(n);
  *out = t->grad_fn;
  return DL_OK;
}

static dl_status accumulator(dl_tensor *leaf, dl_node **out) {
  dl_extra *x = dl_tensor_extra(leaf);
  if (!x) return dl_err.kind;
  *out = dl_node_retain(x->accum);
  if (*out) return DL_OK;
  dl_node_spec spec = {.kind = DL_NODE_ACCUM};
  dl_node *n;
  DL_TRY(dl_node_make(&spec, &n));
  if (dl_node_extra(n) != DL_OK) {
    dl_node_release(n);
    return dl_err.kind;
  }
  n->ext->variable = dl_tensor_retain(leaf);
  leaf->st->reached = 1;
  n->seq = UINT64_MAX;
  *out = x->accum = n;
  return DL_OK;
}

dl_status dl_gradient_edge(dl_tensor *t, dl_edge *out) {
  dl_node *fn = t->grad_fn;
  *out = (dl_edge){NULL, 0};
  if (t->extra && t->extra->base) DL_TRY(dl_tensor_grad_fn(t, &fn));
  if (fn) *out = (dl_edge){dl_node_retain(fn), t->out_nr};
  else if (t->requires_grad) return accumulator(t, &out->node);
  return DL_OK;
}

/* ---- history after a write in place --------------------------------------------------------- */
dl_status dl_rebase_reserve(dl_tensor *t, dl_node *n) {
  dl_tensor *base = base_of(t);
  if (!base) return DL_OK;
  dl_node *slices;
  DL_TRY(dl_node_extra(n));
  DL_TRY(view_node(DL_NODE_COPYSLICES, n->n_edges, base, t, &slices));
  for (uint32_t k = 1; k < n->n_edges; k++)
    slices->edges[k] = (dl_edge){dl_node_retain(n->edges[k].node), n->edges[k].nr};
  n->ext->fn = slices;
  return DL_OK;
}

dl_status dl_rebase(dl_tensor *t, dl_node *n, uint32_t nr) {
  dl_tensor *base = base_of(t);
  uint16_t by = n->kind == DL_NODE_OP ? n->op : DL_OP_COUNT;
  if (!base) {
    dl_node_attach(n, t, nr);
    dl_saved_cut(n, t, by);
    return DL_OK;
  }
  dl_node *slices = n->ext->fn, *fn;
  n->ext->fn = NULL;
  slices->ext->fn = dl_node_retain(n);
  dl_node_stamp(slices);
  dl_node_attach(slices, base, 0);
  dl_saved_cut(slices, base, DL_OP_COUNT);
  dl_node_release(slices);
  t->requires_grad = 1;
  return dl_tensor_grad_fn(t, &fn);
}

/* ---- flags of tensors ----------------------------------------------------------------------- */
dl_status dl_tensor_set_requires_grad(dl_tensor *t, bool on) {
  if (t->grad_fn && !on)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "you can only change requires_grad flags of leaf variables. If you want to use "
                   "a computed "
                   "variable in a subgraph that doesn't require differentiation use var_no_grad = "
                   "var.detach().");
  if (on && !dl_dtype_is_float((dl_dtype)t->dtype))
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "Only Tensors of floating point and complex dtype can require gradients");
  if (on && t->inference && !(dl_mode & DL_MODE_INFERENCE))
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                   "allowed.");
  t->requires_grad = on;
  if (t->is_param) t->st->frozen = !on;
  return DL_OK;
}

dl_status dl_tensor_detach_(dl_tensor *t) {
  if (base_of(t))
    return dl_fail(
        DL_RuntimeError, DL_E_AUTOGRAD,
        "Can't detach views in-place. Use detach() instead. If you are using "
        "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as True, "
        "gradients are views of DDP buckets, and hence detach_() cannot be called on these "
        "gradients. To fix this error, please refer to the Optimizer.zero_grad() function in "
        "torch/optim/optimizer.py as the solution.");
  if (t->extra && t->extra->retains_grad) dl_tensor_forget_retained(t);
  dl_node *old = t->grad_fn;
  t->grad_fn = NULL;
  t->out_nr = 0;
  t->requires_grad = 0;
  dl_node_release(old);
  return DL_OK;
}

/* tensor/ must not know nodes: it calls back. */
__attribute__((constructor)) static void introduce(void) {
  dl_node_release_fn = dl_node_release;
  dl_retained_forget_fn = dl_tensor_forget_retained;
}
