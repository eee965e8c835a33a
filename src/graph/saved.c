/* saved.c -- what backward needs later: kept, checked, given back
 *
 * For graph/ (records) and grad/ (rules read it).
 *
 * INVARIANT  A saved result is an alias without grad_fn, so a node never holds itself; a saved
 *            input that is later changed in place, below the node that saved it, is let go.
 * SOURCE     torch/csrc/autograd/saved_variable.cpp (texts). */
#include "graph/node.h"
#include "tensor/ledger.h"

#include <stdio.h>

dl_status dl_node_freed_error(void) {
  dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
          "Trying to backward through the graph a second time (or directly access saved tensors "
          "after they "
          "have already been freed). Saved intermediate values of the graph are freed when you "
          "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
          "through the "
          "graph a second time or if you need to access saved tensors after calling backward.");
  dl_note(
      "run the forward pass again for a fresh graph, or keep this one: "
      "y:backward{retain_graph=true}");
  return DL_E_AUTOGRAD;
}

static dl_status inference_error(void) {
  return dl_fail(
      DL_RuntimeError, DL_E_AUTOGRAD,
      "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
      "inference mode in computation tracked by autograd. To work around this, you can make a "
      "clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` instead of "
      "`torch.inference_mode()`.");
}

static dl_status pack_changed_error(void) {
  return dl_fail(
      DL_RuntimeError, DL_E_AUTOGRAD,
      "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
      "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
      "Please open an issue if you need to perform in-place operations on the input to a pack "
      "hook.");
}

dl_status dl_saved_set(dl_node *n, dl_saved *s, dl_tensor *t, bool is_output, uint32_t nr) {
  *s = (dl_saved){.is_output = is_output, .out_nr = (uint8_t)nr};
  if (!t) return DL_OK;
  if (t->inference && !(dl_mode & DL_MODE_INFERENCE)) return inference_error();
  s->version = *t->ver;
  if (dl_host.pack) {
    int slot = 0;
    dl_tensor *plain;
    DL_TRY(dl_tensor_alias(t, true, &plain));
    dl_status st = dl_host.pack(plain, &slot);
    dl_tensor_release(plain);
    if (st != DL_OK) return st;
    s->packed = 1;
    s->slot = slot;
    if (*t->ver != s->version) return pack_changed_error();
    return DL_OK;
  }
  if (is_output) {
    DL_TRY(dl_tensor_alias(t, true, &s->t));
    dl_ledger_save(t);
    return DL_OK;
  }
  t->saved = 1;
  dl_ledger_save(t);
  s->t = dl_tensor_retain(t);
  return DL_OK;
}

void dl_node_free_saved(dl_node *n) {
  dl_saved *s = dl_node_saved(n);
  for (uint32_t i = 0; i < n->n_saved; i++) {
    if (s[i].packed) {
      dl_slot_free((int)s[i].slot);
    } else {
      dl_ledger_unsave(s[i].t);
      dl_tensor_release(s[i].t);
    }
    s[i].t = NULL;
    s[i].packed = 0;
  }
  n->freed = n->n_saved > 0;
}

/* ---- giving back ---------------------------------------------------------------------------- */
/* "which is output 0 of Sigmoid," or "" for a leaf */
static void describe_origin(dl_node *n, const dl_saved *s, char *buf, size_t cap) {
  char name[64];
  buf[0] = '\0';
  if (s->is_output) {
    snprintf(buf, cap, ", which is output %d of %s,", s->out_nr,
             dl_node_short_name(n, name, sizeof name));
  } else if (s->changed) {
    const char *by = s->by < DL_OP_COUNT    ? dl_ops[s->by].gradname
                     : s->by == DL_OP_COUNT ? "torch::autograd::CopySlices"
                                            : "AsStrided";
    snprintf(buf, cap, ", which is output 0 of %s,", dl_name_shorten(by, name, sizeof name));
  } else {
    dl_node *fn = NULL;
    if (dl_tensor_grad_fn(s->t, &fn) == DL_OK && fn)
      snprintf(buf, cap, ", which is output %u of %s,", (unsigned)s->t->out_nr,
               dl_node_short_name(fn, name, sizeof name));
  }
}

static dl_status version_error(dl_node *n, const dl_saved *s) {
  char type[48], sizes[200], origin[128];
  const char *hint = dl_mode & DL_MODE_ANOMALY
                         ? "Hint: the backtrace further above shows the operation that failed to "
                           "compute its gradient. The "
                           "variable in question was changed in there or anywhere later. Good luck!"
                         : "Hint: enable anomaly detection to find the operation that failed to "
                           "compute its gradient, with "
                           "torch.autograd.set_detect_anomaly(True, check_nan=False).";
  describe_origin(n, s, origin, sizeof origin);
  dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
          "one of the variables needed for gradient computation has been modified by an inplace "
          "operation: [%s %s]%s is at version %u; expected version %u instead. %s",
          dl_tensor_type_name(s->t, type),
          dl_sizes_str(s->t->ndim, s->t->size, sizes, sizeof sizes), origin, (unsigned)*s->t->ver,
          (unsigned)s->version, hint);
  dl_note("%s needs this value as it was; use the form without the underscore, or clone() first",
          dl_node_name(n));
  return DL_E_AUTOGRAD;
}

static dl_status check(dl_node *n, const dl_saved *s) {
  if (n->freed) return dl_node_freed_error();
  if (s->t && !s->packed && (s->changed || *s->t->ver != s->version)) return version_error(n, s);
  return DL_OK;
}

/* A result in the graph again: an alias that has the node as its grad_fn. */
static dl_status with_history(dl_node *n, const dl_saved *s, dl_tensor *plain, dl_tensor **out) {
  DL_TRY(dl_tensor_alias(plain, true, out));
  dl_node_attach(n, *out, s->out_nr);
  return DL_OK;
}

static dl_status unpack_hooked(dl_saved *s, dl_tensor **out) {
  if (!dl_host.unpack) return dl_fail(DL_RuntimeError, DL_E_INTERNAL, "no unpack hook");
  return dl_host.unpack((int)s->slot, out);
}

/* The edge of the input that is kept in s, or NULL. */
static const dl_edge *edge_of(const dl_node *n, const dl_saved *s) {
  if (n->kind != DL_NODE_OP) return NULL;
  uint32_t at = (uint32_t)(s - dl_node_saved(n)), mask = dl_ops[n->op].save & 0xffff;
  for (uint32_t k = 0; k < n->n_edges && mask >> k; k++) {
    if (!(mask >> k & 1)) continue;
    if (at-- == 0) return &n->edges[k];
  }
  return NULL;
}

/* What hooks gave back in the graph again, for a gradient of the gradient. Takes *t over. */
static dl_status rejoin(dl_node *n, const dl_saved *s, dl_tensor **t) {
  const dl_edge *e = s->is_output ? NULL : edge_of(n, s);
  dl_tensor *plain = *t;
  *t = NULL;
  dl_status st = DL_OK;
  if (s->is_output) st = with_history(n, s, plain, t);
  else if (!e || !e->node || plain->requires_grad) *t = dl_tensor_retain(plain);
  else if (e->node->kind == DL_NODE_ACCUM) *t = dl_tensor_retain(e->node->ext->variable);
  else if ((st = dl_tensor_alias(plain, true, t)) == DL_OK) dl_node_attach(e->node, *t, e->nr);
  dl_tensor_release(plain);
  return st;
}

dl_status dl_saved_unpack(dl_node *n, dl_saved *s, dl_tensor **out) {
  *out = NULL;
  DL_TRY(check(n, s));
  if (s->packed) {
    DL_TRY(unpack_hooked(s, out));
    return dl_grad_enabled() ? rejoin(n, s, out) : DL_OK;
  }
  if (s->is_output && s->t && dl_grad_enabled()) return with_history(n, s, s->t, out);
  *out = dl_tensor_retain(s->t);
  return DL_OK;
}

dl_status dl_saved_peek(dl_node *n, dl_saved *s, dl_tensor **out) {
  *out = NULL;
  DL_TRY(check(n, s));
  if (!s->packed && !(s->is_output && dl_grad_enabled())) *out = s->t;
  return DL_OK;
}

/* ---- cycles --------------------------------------------------------------------------------- */
typedef struct {
  dl_node **v;
  size_t n, cap;
} nodes;

static bool push(nodes *s, dl_node *n) {
  if (s->n == s->cap) {
    size_t cap = s->cap ? s->cap * 2 : 64;
    dl_node **bigger = dl_block_new(cap * sizeof *bigger);
    if (!bigger) return false;
    for (size_t i = 0; i < s->n; i++) bigger[i] = s->v[i];
    if (s->v) dl_block_free(s->v, s->cap * sizeof *s->v);
    s->v = bigger;
    s->cap = cap;
  }
  n->seen = 1;
  s->v[s->n++] = n;
  return true;
}

/* Replace a saved t by an alias that remembers only what an error must say. */
static void let_go(dl_node *n, dl_tensor *t, uint16_t by) {
  dl_saved *s = dl_node_saved(n);
  for (uint32_t i = 0; i < n->n_saved; i++) {
    dl_tensor *plain;
    if (s[i].packed || s[i].t != t || dl_tensor_alias(t, true, &plain) != DL_OK) continue;
    s[i].t = plain;
    s[i].changed = 1;
    s[i].by = by;
    dl_tensor_release(t);
  }
}

/* t was changed in place by a computation that saved t itself: without this its nodes would hold t,
 * and t its nodes, for ever. Their value of t is lost in any case. */
void dl_saved_cut(dl_node *from, dl_tensor *t, uint16_t by) {
  if (!t->saved || !from) return;
  nodes s = {NULL, 0, 0};
  bool room = push(&s, from);
  for (size_t i = 0; i < s.n && room; i++) {
    dl_node *n = s.v[i];
    let_go(n, t, by);
    for (uint32_t k = 0; k < n->n_edges && room; k++)
      if (n->edges[k].node && !n->edges[k].node->seen) room = push(&s, n->edges[k].node);
  }
  for (size_t i = 0; i < s.n; i++) s.v[i]->seen = 0;
  if (s.v) dl_block_free(s.v, s.cap * sizeof *s.v);
  t->saved = 0;
}
