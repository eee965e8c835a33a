/* views.c -- running VIEW rows: new sizes and strides over the same storage
 *
 * INVARIANT  A view shares its base's storage and version counter; autograd knows the base.
 *            A view is an inference tensor when its base is, whatever the mode. */
#include "graph/graph.h"
#include "op/dispatch.h"

#include <string.h>

static dl_status make_views(dl_vcall *v, bool list, dl_ret *ret) {
  if (list) {
    ret->more = dl_block_new((size_t)(v->n ? v->n : 1) * sizeof *ret->more);
    if (!ret->more)
      return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for %d views", v->n);
  }
  for (int i = 0; i < v->n; i++) {
    dl_vout *o = &v->out[i];
    dl_tensor **slot = list ? &ret->more[i] : &ret->v[i];
    DL_TRY(dl_tensor_view(v->self, o->ndim, o->size, o->stride, o->offset, slot));
    ret->n = i + 1;
  }
  return DL_OK;
}

/* A node with one edge; every result is one of its outputs. */
static dl_status record(dl_call *c, dl_tensor **outs, int n) {
  dl_node *node = NULL;
  if (!dl_graph_wants(c)) return DL_OK;
  c->nout = n < DL_MAX_OUT ? n : DL_MAX_OUT;
  for (int i = 0; i < c->nout; i++) dl_call_out_like(c, i, outs[i]);
  DL_TRY(dl_graph_prepare(c, &node));
  return dl_graph_commit(c, node, outs, n);
}

static dl_status attach(dl_call *c, dl_tensor **outs, int n, bool list) {
  if ((dl_mode & DL_MODE_INFERENCE) && c->in[0]->inference) return DL_OK;
  if (c->op->grad) {
    uint8_t kind = list ? DL_VIEW_MULTI : dl_grad_enabled() ? DL_VIEW_PLAIN : DL_VIEW_NO_GRAD;
    for (int i = 0; i < n; i++) DL_TRY(dl_graph_view(c->in[0], outs[i], kind));
  }
  return record(c, outs, n);
}

dl_status dl_dispatch_view(dl_opid op, const dl_arg *arg, dl_ret *ret) {
  const dl_op *row = &dl_ops[op];
  dl_vcall v = {.arg = arg, .self = arg[0].t};
  if (!row->view)
    return dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "%s is not implemented", row->id);
  dl_call c;
  dl_call_init(&c, op, arg, 0);
  bool list = c.schema->ret_list;
  dl_status st = row->view(&v);
  if (st == DL_OK) st = make_views(&v, list, ret);
  if (st == DL_OK) st = attach(&c, list ? ret->more : ret->v, ret->n, list);
  if (st != DL_OK && ret->more && ret->n == 0) {
    dl_block_free(ret->more, (size_t)(v.n ? v.n : 1) * sizeof *ret->more);
    ret->more = NULL;
  } else if (st != DL_OK && list && ret->more) {
    for (int i = 0; i < ret->n; i++) dl_tensor_release(ret->more[i]);
    dl_block_free(ret->more, (size_t)(v.n ? v.n : 1) * sizeof *ret->more);
    ret->more = NULL;
    ret->n = 0;
  } else if (st != DL_OK) {
    dl_ret_free(ret);
  }
  if (v.out) dl_block_free(v.out, (size_t)v.cap * sizeof *v.out);
  return st;
}
