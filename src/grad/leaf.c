/* leaf.c -- where gradients end: hooks, retain_grad, and .grad of leaves
 *
 * For the walk.
 *
 * INVARIANT  A leaf's .grad is its old value or its new one, never something between.
 * SOURCE     torch/csrc/autograd/functions/accumulate_grad.h (when a buffer may be taken). */
#include "grad/apply.h"
#include "tensor/ledger.h"

static dl_status run_hooks(int slot, dl_tensor **g) {
  dl_tensor *with = NULL;
  if (!slot || !*g || !dl_host.tensor_hooks) return DL_OK;
  DL_TRY(dl_host.tensor_hooks(slot, *g, &with));
  if (!with) return DL_OK;
  dl_tensor_release(*g);
  *g = with;
  return DL_OK;
}

static dl_status contiguous_copy(dl_tensor *g, dl_tensor **out) {
  return dl_run(g->contig ? DL_OP_clone : DL_OP_contiguous, (dl_arg[]){T(g)}, 1, 0, out);
}

static dl_status keep_copy(dl_tensor *t, dl_tensor *g) {
  dl_tensor *fresh;
  if (t->extra->grad) DL_TRY(dl_op2(DL_OP_add, t->extra->grad, g, &fresh));
  else DL_TRY(contiguous_copy(g, &fresh));
  dl_tensor_release(t->extra->grad);
  t->extra->grad = fresh;
  return DL_OK;
}

dl_status dl_walk_hooks(dl_node *n, dl_tensor **gout) {
  if (n->kind == DL_NODE_ACCUM) {
    const dl_extra *x = n->ext->variable->extra;
    return run_hooks(x->hooks, &gout[0]);
  }
  if (!n->ext) return DL_OK;
  for (dl_hook *h = n->ext->hooks; h; h = h->next) {
    DL_TRY(run_hooks(h->slot, &gout[h->nr]));
    if (h->retain && gout[h->nr]) DL_TRY(keep_copy(h->retain, gout[h->nr]));
  }
  return DL_OK;
}

/* May the leaf own this very tensor? Nobody else sees it but, where it is a view, the tensor it was
 * made of, which lives for its sake alone; and it holds no larger storage. */
static bool may_take(const dl_tensor *g) {
  const dl_tensor *base = g->extra ? g->extra->base : NULL;
  int32_t known = 1 + (base && base->refs == 1 && base->st == g->st);
  return !dl_grad_enabled() && g->refs == 1 && g->st->refs == known && g->contig &&
         !g->requires_grad &&
         (size_t)g->numel * dl_dtype_size((dl_dtype)g->dtype) == g->st->nbytes;
}

static dl_tensor *take(dl_tensor **g) {
  dl_tensor *t = *g;
  *g = NULL;
  if (t->extra && t->extra->base) {
    t->extra->view_kind = DL_VIEW_PLAIN;
    dl_tensor_drop(&t->extra->base);
  }
  return t;
}

dl_status dl_walk_store(dl_tensor *leaf, dl_tensor **g) {
  dl_extra *x = leaf->extra;
  dl_tensor *fresh = NULL;
  if (!x->grad && may_take(*g)) {
    x->grad = take(g);
  } else if (!x->grad) {
    DL_TRY(contiguous_copy(*g, &x->grad));
  } else if (!dl_grad_enabled()) {
    DL_TRY(dl_run(DL_OP_add, (dl_arg[]){T(x->grad), T(*g)}, 2, DL_INPLACE, &fresh));
    dl_tensor_release(fresh);
  } else {
    DL_TRY(dl_op2(DL_OP_add, x->grad, *g, &fresh));
    dl_tensor_release(x->grad);
    x->grad = fresh;
  }
  dl_ledger_grad(x->grad);
  if (leaf->st->role != DL_ROLE_PARAM && leaf->st->role != DL_ROLE_BATCH)
    dl_ledger_move(leaf->st, DL_ROLE_PARAM);
  return x->post_hooks && dl_host.post_hooks ? dl_host.post_hooks(x->post_hooks, leaf) : DL_OK;
}
