/* record.c -- what dispatch does for autograd: make a node, save, hang it on the results
 *
 * For dispatch and for custom functions.
 *
 * INVARIANT  Whatever can be refused for lack of memory is asked for before the kernel writes, but
 *            for a saved result's alias. A saved input is kept only if some gradient needs it.
 * SOURCE     tools/autograd/gen_variable_type.py (guard_for: which saved inputs are needed). */
#include "graph/node.h"

#include <string.h>

/* Saved input k is needed only if one of these edges is there; 0 = always. From the formulas: the
 * gradient of mul's self reads other, and the other way round. */
static const uint8_t needed_by[DL_OP_COUNT][3] = {
    [DL_OP_mul] = {2, 1},      [DL_OP_mm] = {2, 1},         [DL_OP_bmm] = {2, 1},
    [DL_OP_mv] = {2, 1},       [DL_OP_dot] = {2, 1},        [DL_OP_div] = {2, 0},
    [DL_OP_addmm] = {0, 4, 2}, [DL_OP_addcmul] = {0, 4, 2}, [DL_OP_addcdiv] = {0, 4, 0},
    [DL_OP_lerp] = {4, 4, 3}};

static bool is_list(const dl_call *c, int i) { return c->schema->p[i].type == DL_P_TENSORS; }

/* Few rows have a Tensor[] parameter: the others need not look at each parameter. */
static bool has_list(const dl_call *c) {
  enum { UNKNOWN, NO, YES };
  static uint8_t known[DL_OP_COUNT];
  uint8_t *k = &known[c->op - dl_ops];
  if (*k == UNKNOWN) {
    *k = NO;
    for (int i = 0; i < c->schema->nparam; i++)
      if (is_list(c, i)) *k = YES;
  }
  return *k == YES;
}

static bool is_index_list(const dl_call *c, int i) {
  return is_list(c, i) && c->schema->p[i].elem_optional;
}

static bool any_float(const dl_call *c) {
  for (int k = 0; k < c->nout; k++)
    if (dl_dtype_is_float((dl_dtype)c->out[k].dtype)) return true;
  return c->nout == 0;
}

bool dl_graph_wants(const dl_call *c) {
  if (!dl_grad_enabled() || !c->op->grad) return false;
  bool wants = false;
  for (int k = 0; k < c->nin && !wants; k++) wants = c->in[k] && dl_tensor_wants_grad(c->in[k]);
  for (int i = 0; has_list(c) && i < c->schema->nparam && !wants; i++)
    for (int j = 0; is_list(c, i) && j < c->arg[i].n && !wants; j++)
      wants = c->arg[i].ts[j] && dl_tensor_wants_grad(c->arg[i].ts[j]);
  return wants && any_float(c);
}

/* ---- before the kernel ---------------------------------------------------------------------- */
static bool same_number(const dl_arg *a, const dl_arg *b) {
  if (a->tag != b->tag) return false;
  switch (a->tag) {
    case DL_A_NONE: return true;
    case DL_A_INT:
    case DL_A_BOOL:
    case DL_A_DTYPE: return a->i == b->i;
    case DL_A_FLOAT: return a->f == b->f;
    case DL_A_STR: return a->s == b->s || !strcmp(a->s, b->s);
    default: return false;
  }
}

static bool all_default(const dl_call *c) {
  if (c->mixed) return false; /* backward asks where each operand was */
  for (int i = 0; i < c->schema->nparam; i++) {
    const dl_param *p = &c->schema->p[i];
    if (p->type == DL_P_TENSORS) return false;
    if (p->type <= DL_P_TN) {
      if (c->arg[i].tag != DL_A_TENSOR && c->arg[i].tag != DL_A_NONE) return false;
    } else if (p->type != DL_P_GEN && !same_number(&c->arg[i], &p->dflt)) {
      return false;
    }
  }
  return true;
}

/* Number of edges and of saved slots a call needs. */
static void count(const dl_call *c, dl_node_spec *s) {
  s->n_edges = (uint32_t)c->nin;
  s->n_saved = (uint32_t)dl_bits(c->op->save);
  for (int i = 0; has_list(c) && i < c->schema->nparam; i++) {
    if (is_index_list(c, i)) s->n_saved += (uint32_t)c->arg[i].n;
    else if (is_list(c, i)) s->n_edges += (uint32_t)c->arg[i].n;
  }
}

static dl_tensor *const *edge_list(const dl_call *c) {
  for (int i = 0; has_list(c) && i < c->schema->nparam; i++)
    if (is_list(c, i) && !is_index_list(c, i)) return c->arg[i].ts;
  return NULL;
}

static bool like_out(const dl_call *c, const dl_tensor *t) {
  return c->nout && t->dtype == c->out[0].dtype &&
         dl_sizes_equal(t->ndim, t->size, c->out[0].ndim, c->out[0].size);
}

/* Floating inputs and elements of a list that get no edge and differ from result 0: a rule may ask
 * for their shape (cat does for every element). */
static bool keeps_meta(const dl_call *c, const dl_tensor *t, uint32_t k) {
  bool asked = t && (dl_dtype_is_float((dl_dtype)t->dtype) || k >= (uint32_t)c->nin);
  return asked && !dl_tensor_wants_grad(t) && !like_out(c, t);
}

static dl_tensor *edge_tensor(const dl_call *c, dl_tensor *const *list, uint32_t k) {
  return k < (uint32_t)c->nin ? c->in[k] : list[k - (uint32_t)c->nin];
}

static dl_status make(const dl_call *c, dl_node **out) {
  dl_node_spec s = {.kind = DL_NODE_OP, .out = c->nout ? &c->out[0] : NULL};
  count(c, &s);
  dl_tensor *const *list = edge_list(c);
  uint32_t at_few[16], *at = at_few;
  dl_tensor *in_few[16], **in = in_few;
  if (s.n_edges > 16) {
    at = dl_block_new(s.n_edges * sizeof *at);
    in = dl_block_new(s.n_edges * sizeof *in);
  }
  dl_status st = DL_OK;
  if (!at || !in) st = dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  for (uint32_t k = 0; k < s.n_edges && st == DL_OK; k++) {
    dl_tensor *t = edge_tensor(c, list, k);
    if (!keeps_meta(c, t, k)) continue;
    at[s.n_in] = k;
    in[s.n_in++] = t;
  }
  s.in_at = at;
  s.in = in;
  if (!all_default(c)) {
    s.arg = c->arg;
    s.n_args = c->schema->nparam;
  }
  if (st == DL_OK) st = dl_node_make(&s, out);
  if (at != at_few) dl_block_free(at, s.n_edges * sizeof *at);
  if (in != in_few) dl_block_free(in, s.n_edges * sizeof *in);
  return st;
}

static dl_status link(const dl_call *c, dl_node *n) {
  dl_tensor *const *list = edge_list(c);
  for (uint32_t k = 0; k < n->n_edges; k++) {
    dl_tensor *t = edge_tensor(c, list, k);
    if (t) DL_TRY(dl_gradient_edge(t, &n->edges[k]));
  }
  dl_node_stamp(n);
  return DL_OK;
}

static bool is_needed(const dl_node *n, int k) {
  unsigned by = k < 3 ? needed_by[n->op][k] : 0;
  for (uint32_t e = 0; e < 3 && e < n->n_edges; e++)
    if ((by >> e & 1) && n->edges[e].node) return true;
  return by == 0;
}

/* An in-place op destroys the value it saves: keep a copy. */
static dl_status save_input(const dl_call *c, dl_node *n, dl_saved *s, int k) {
  dl_tensor *t = c->in[k], *copy = NULL;
  if (!t || !is_needed(n, k)) return DL_OK;
  if (!c->inplace || k != 0) return dl_saved_set(n, s, t, false, 0);
  DL_TRY(dl_run(DL_OP_clone, (dl_arg[]){T(t)}, 1, 0, &copy));
  dl_status st = dl_saved_set(n, s, copy, false, 0);
  dl_tensor_release(copy);
  return st;
}

static dl_status save_inputs(const dl_call *c, dl_node *n) {
  dl_saved *s = dl_node_saved(n);
  for (int k = 0; k < c->nin; k++)
    if (c->op->save & DL_SAVE_IN(k)) DL_TRY(save_input(c, n, s++, k));
  s += dl_bits(c->op->save >> 16);
  for (int i = 0; has_list(c) && i < c->schema->nparam; i++)
    for (int j = 0; is_index_list(c, i) && j < c->arg[i].n; j++)
      DL_TRY(dl_saved_set(n, s++, c->arg[i].ts[j], false, 0));
  return DL_OK;
}

static dl_status note_line(dl_node *n) {
  if (!(dl_mode & DL_MODE_ANOMALY) || !dl_host.here) return DL_OK;
  DL_TRY(dl_node_extra(n));
  n->ext->line_slot = dl_host.here();
  return DL_OK;
}

dl_status dl_graph_prepare(const dl_call *c, dl_node **node) {
  dl_node *n;
  *node = NULL;
  if (c->inplace) DL_TRY(dl_rebase_check(c->arg[0].t));
  DL_TRY(make(c, &n));
  n->op = (uint16_t)(c->op - dl_ops);
  n->inplace = c->inplace;
  dl_status st = link(c, n);
  if (st == DL_OK) st = save_inputs(c, n);
  if (st == DL_OK) st = note_line(n);
  if (st == DL_OK && c->inplace) st = dl_rebase_reserve(c->arg[0].t, n);
  if (st == DL_OK) *node = n;
  else dl_node_release(n);
  return st;
}

/* ---- after it ------------------------------------------------------------------------------- */
static dl_status save_outputs(const dl_op *op, dl_node *n, dl_tensor *const *outs, int nout) {
  dl_saved *s = dl_node_saved(n) + dl_bits(op->save & 0xffff);
  for (int k = 0; k < nout && k < 16; k++)
    if (op->save & DL_SAVE_OUT(k)) DL_TRY(dl_saved_set(n, s++, outs[k], true, (uint32_t)k));
  return DL_OK;
}

static dl_status hang(dl_node *n, bool inplace, dl_tensor *const *outs, int nout) {
  if (inplace) DL_TRY(dl_rebase(outs[0], n, 0));
  for (int k = inplace; k < nout; k++)
    if (outs[k] && dl_dtype_is_float((dl_dtype)outs[k]->dtype))
      dl_node_attach(n, outs[k], (uint32_t)k);
  return DL_OK;
}

dl_status dl_graph_commit(const dl_call *c, dl_node *n, dl_tensor *const *outs, int nout) {
  dl_status st = nout > 1 ? dl_node_set_many(n, outs, (uint32_t)nout) : DL_OK;
  if (st == DL_OK && c->op->save >> 16) st = save_outputs(c->op, n, outs, nout);
  if (st == DL_OK) st = hang(n, c->inplace, outs, nout);
  dl_node_release(n);
  return st;
}

dl_status dl_graph_record2(dl_opid op, dl_tensor *a, dl_tensor *b, dl_tensor *out) {
  uint32_t save = dl_ops[op].save;
  dl_meta m = {.dtype = out->dtype, .ndim = out->ndim};
  if (out->ndim) memcpy(m.size, out->size, out->ndim * sizeof *m.size);
  dl_node_spec s = {
      .kind = DL_NODE_OP, .n_edges = 2, .out = &m, .n_saved = (uint32_t)dl_bits(save)};
  dl_node *n;
  DL_TRY(dl_node_make(&s, &n));
  n->op = (uint16_t)op;
  dl_status st = dl_gradient_edge(a, &n->edges[0]);
  if (st == DL_OK) st = dl_gradient_edge(b, &n->edges[1]);
  dl_node_stamp(n);
  dl_saved *slot = dl_node_saved(n);
  if (st == DL_OK && (save & DL_SAVE_IN(0)) && is_needed(n, 0))
    st = dl_saved_set(n, &slot[0], a, false, 0);
  if (st == DL_OK && (save & DL_SAVE_IN(1)) && is_needed(n, 1))
    st = dl_saved_set(n, &slot[1], b, false, 0);
  if (st == DL_OK) st = note_line(n);
  if (st == DL_OK) dl_node_attach(n, out, 0);
  dl_node_release(n);
  return st;
}

/* ---- custom functions ----------------------------------------------------------------------- */
dl_status dl_node_custom(const char *name, uint32_t n_edges, uint32_t n_saved,
                         dl_status (*apply)(dl_node *, dl_tensor **, dl_tensor **),
                         void (*free_fn)(dl_node *), int slot, dl_node **out) {
  dl_node_spec s = {.kind = DL_NODE_CUSTOM, .n_edges = n_edges, .n_saved = n_saved};
  dl_node *n;
  *out = NULL;
  DL_TRY(dl_node_make(&s, &n));
  size_t bytes = strlen(name) + 1;
  dl_status st = dl_node_extra(n);
  char *copy = st == DL_OK ? dl_block_new(bytes) : NULL;
  if (st == DL_OK && !copy)
    st = dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  if (st == DL_OK) {
    memcpy(copy, name, bytes);
    n->ext->name = copy;
    st = note_line(n);
  }
  if (st != DL_OK) {
    dl_node_release(n);
    return st;
  }
  n->ext->apply = apply;
  n->ext->free_fn = free_fn;
  n->ext->slot = slot;
  dl_node_stamp(n);
  *out = n;
  return DL_OK;
}

dl_status dl_node_set_edge(dl_node *n, uint32_t k, dl_tensor *input) {
  if (!input) return DL_OK;
  DL_TRY(dl_gradient_edge(input, &n->edges[k]));
  dl_node_stamp(n);
  return DL_OK;
}

static dl_status set_dirty(dl_node *n, dl_tensor *t, uint32_t k) {
  if (t->extra && t->extra->base)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "%s changed a view in place; clone() it first, or change its base",
                   dl_node_name(n));
  if (!t->grad_fn && t->requires_grad)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "a leaf Variable that requires grad has been used in an in-place operation.");
  return dl_rebase(t, n, k);
}

dl_status dl_node_set_results(dl_node *n, dl_tensor *const *outs, const bool *dirty,
                              uint32_t nout) {
  DL_TRY(dl_node_set_many(n, outs, nout));
  for (uint32_t k = 0; k < nout; k++) {
    dl_tensor *t = outs[k];
    if (!t || !dl_dtype_is_float((dl_dtype)t->dtype)) continue;
    if (dirty && dirty[k]) {
      DL_TRY(set_dirty(n, t, k));
      continue;
    }
    dl_node_attach(n, t, k);
    if (t->extra && t->extra->base) t->extra->view_kind = DL_VIEW_CUSTOM;
  }
  return DL_OK;
}
