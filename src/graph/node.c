/* node.c -- a graph node: one block, its parts, its name, its end
 *
 * For src/graph. The block holds node, edges, saved tensors, arguments, the lists and strings the
 * arguments point at, then metas: for result 0 a head word and the sizes; for each kept input a
 * head word, its place, and the sizes. Sizes are 32-bit words, or 64-bit ones where `wide` says so.
 *
 * INVARIANT  Every block is a whole number of 64-byte units; a zero head word ends the metas.
 * MUST NOT   know Lua. */
#include "graph/node.h"

#include <stdio.h>
#include <string.h>

int64_t dl_nodes_live;
uint64_t dl_node_seq;
dl_grad_host dl_host;

#define UNIT 64 /* bytes */
enum { HEAD_NDIM = 8, HEAD_WIDE = 1 << 16, HEAD_SET = 1 << 17 };

/* ---- metas ---------------------------------------------------------------------------------- */
static bool is_wide(int ndim, const int64_t *size) {
  for (int i = 0; i < ndim; i++)
    if (size[i] > UINT32_MAX) return true;
  return false;
}

static size_t meta_words(int ndim, const int64_t *size) {
  return 1 + (size_t)ndim * (is_wide(ndim, size) ? 2 : 1);
}

static uint32_t *sizes_put(uint32_t *w, int ndim, const int64_t *size, bool wide) {
  for (int i = 0; i < ndim; i++) {
    *w++ = (uint32_t)size[i];
    if (wide) *w++ = (uint32_t)((uint64_t)size[i] >> 32);
  }
  return w;
}

static uint32_t meta_head(uint8_t dtype, int ndim, bool wide) {
  return dtype | (uint32_t)ndim << HEAD_NDIM | (wide ? HEAD_WIDE : 0) | HEAD_SET;
}

static int head_words(uint32_t head) {
  return (int)((head >> HEAD_NDIM) & 255) * (head & HEAD_WIDE ? 2 : 1);
}

static void meta_get(uint32_t head, const uint32_t *w, dl_meta *m) {
  m->dtype = (uint8_t)head;
  m->ndim = (uint8_t)(head >> HEAD_NDIM);
  for (int i = 0; i < m->ndim; i++) {
    m->size[i] = *w++;
    if (head & HEAD_WIDE) m->size[i] |= (int64_t)*w++ << 32;
  }
}

static const uint32_t *metas_of(const dl_node *n) {
  return (const uint32_t *)((const char *)n + (size_t)n->meta_at * 8);
}

static void meta_of_tensor(const dl_tensor *t, dl_meta *m) {
  m->dtype = t->dtype;
  m->ndim = t->ndim;
  if (t->ndim) memcpy(m->size, t->size, t->ndim * sizeof *m->size);
}

void dl_node_out_meta(const dl_node *n, uint32_t nr, dl_meta *m) {
  if (n->kind == DL_NODE_ACCUM) meta_of_tensor(n->ext->variable, m);
  else if (n->kind == DL_NODE_COPYSLICES) *m = n->ext->lay->base;
  else if (n->kind == DL_NODE_ASSTRIDED) *m = n->ext->lay->view;
  else if (n->many) *m = n->ext->out_meta[nr];
  else meta_get(metas_of(n)[0], metas_of(n) + 1, m);
}

void dl_node_in_meta(const dl_node *n, uint32_t k, dl_meta *m) {
  const dl_edge *e = &n->edges[k];
  if (e->node) {
    dl_node_out_meta(e->node, e->nr, m);
    return;
  }
  const uint32_t *w = metas_of(n),
                 *end = (const uint32_t *)((const char *)n + (size_t)n->units * UNIT);
  for (w += 1 + head_words(w[0]); w < end && *w; w += 2 + head_words(w[0]))
    if (w[1] == k) {
      meta_get(w[0], w + 2, m);
      return;
    }
  dl_node_out_meta(n, 0, m);
}

/* ---- arguments ------------------------------------------------------------------------------ */
static size_t round8(size_t n) { return (n + 7) & ~(size_t)7; }

static size_t arg_tail(const dl_arg *a) {
  if (a->tag == DL_A_INTS) return (size_t)a->n * sizeof *a->is;
  if (a->tag == DL_A_STR) return round8(strlen(a->s) + 1);
  return 0;
}

/* Copy one argument; lists and strings go to *tail. Of tensors only the device is kept, of
 * generators nothing. */
static void arg_put(dl_arg *to, const dl_arg *a, char **tail) {
  *to = *a;
  size_t bytes = arg_tail(a);
  switch (a->tag) {
    case DL_A_TENSOR: *to = (dl_arg){.tag = DL_A_NONE, .dev = a->t->dev}; break;
    case DL_A_GEN: to->tag = DL_A_NONE; break;
    case DL_A_TENSORS: to->ts = NULL; break;
    case DL_A_INTS:
      if (bytes) memcpy(*tail, a->is, bytes);
      to->is = (const int64_t *)*tail;
      break;
    case DL_A_STR:
      memcpy(*tail, a->s, strlen(a->s) + 1);
      to->s = *tail;
      break;
    default: break;
  }
  *tail += bytes;
}

static dl_arg *args_at(const dl_node *n) { return (dl_arg *)(dl_node_saved(n) + n->n_saved); }

const dl_arg *dl_node_args(const dl_node *n) {
  static dl_arg defaults[DL_OP_COUNT][DL_MAX_PARAM];
  static bool made[DL_OP_COUNT];
  if (n->own_args) return args_at(n);
  dl_arg *row = defaults[n->op];
  if (!made[n->op]) {
    const dl_schema *s = dl_op_schema((dl_opid)n->op);
    for (int i = 0; i < s->nparam; i++) row[i] = s->p[i].type <= DL_P_TN ? NIL : s->p[i].dflt;
    made[n->op] = true;
  }
  return row;
}

/* ---- making --------------------------------------------------------------------------------- */
static size_t spec_head(const dl_node_spec *s) {
  size_t bytes = sizeof(dl_node) + s->n_edges * sizeof(dl_edge) + s->n_saved * sizeof(dl_saved);
  bytes += (size_t)s->n_args * sizeof(dl_arg);
  for (int i = 0; i < s->n_args; i++) bytes += arg_tail(&s->arg[i]);
  return bytes;
}

static size_t spec_metas(const dl_node_spec *s) {
  size_t words = s->out ? meta_words(s->out->ndim, s->out->size) : 1;
  for (int i = 0; i < s->n_in; i++) words += 1 + meta_words(s->in[i]->ndim, s->in[i]->size);
  return words * 4;
}

static void metas_put(dl_node *n, const dl_node_spec *s) {
  uint32_t *w = (uint32_t *)((char *)n + (size_t)n->meta_at * 8);
  const dl_meta *m = s->out;
  bool wide = m && is_wide(m->ndim, m->size);
  *w++ = m ? meta_head(m->dtype, m->ndim, wide) : 0;
  if (m) w = sizes_put(w, m->ndim, m->size, wide);
  for (int i = 0; i < s->n_in; i++) {
    const dl_tensor *t = s->in[i];
    wide = is_wide(t->ndim, t->size);
    *w++ = meta_head(t->dtype, t->ndim, wide);
    *w++ = s->in_at[i];
    w = sizes_put(w, t->ndim, t->size, wide);
  }
  uint32_t *end = (uint32_t *)((char *)n + (size_t)n->units * UNIT);
  if (w < end) *w = 0;
}

dl_status dl_node_make(const dl_node_spec *s, dl_node **out) {
  size_t head = spec_head(s), bytes = head + spec_metas(s), units = (bytes + UNIT - 1) / UNIT;
  *out = NULL;
  if (units > UINT16_MAX || head / 8 > UINT16_MAX || s->n_saved > UINT16_MAX)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD, "one op cannot record %u inputs",
                   (unsigned)s->n_edges);
  dl_node *n = dl_block_new(units * UNIT);
  if (!n) return dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  memset(n, 0, sizeof *n + s->n_edges * sizeof(dl_edge) + s->n_saved * sizeof(dl_saved));
  n->refs = 1;
  n->kind = (uint8_t)s->kind;
  n->n_edges = s->n_edges;
  n->n_saved = (uint16_t)s->n_saved;
  n->n_args = (uint8_t)s->n_args;
  n->own_args = s->arg != NULL;
  n->meta_at = (uint16_t)(head / 8);
  n->units = (uint16_t)units;
  dl_arg *args = args_at(n);
  char *tail = (char *)(args + s->n_args);
  for (int i = 0; i < s->n_args; i++) arg_put(&args[i], &s->arg[i], &tail);
  metas_put(n, s);
  dl_nodes_live++;
  *out = n;
  return DL_OK;
}

dl_status dl_node_extra(dl_node *n) {
  if (n->ext) return DL_OK;
  n->ext = dl_block_new(sizeof *n->ext);
  if (!n->ext) return dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  memset(n->ext, 0, sizeof *n->ext);
  return DL_OK;
}

dl_status dl_node_set_many(dl_node *n, dl_tensor *const *outs, uint32_t n_out) {
  DL_TRY(dl_node_extra(n));
  size_t grads = n_out * sizeof *n->grads, metas = n_out * sizeof *n->ext->out_meta;
  dl_tensor **g = dl_block_new(grads);
  dl_meta *m = dl_block_new(metas);
  if (!g || !m) {
    dl_block_free(g, grads);
    dl_block_free(m, metas);
    return dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory for a graph node");
  }
  memset(g, 0, grads);
  memset(m, 0, metas);
  for (uint32_t i = 0; i < n_out; i++)
    if (outs[i]) meta_of_tensor(outs[i], &m[i]);
  n->many = 1;
  n->grads = g;
  n->ext->n_out = n_out;
  n->ext->out_meta = m;
  return DL_OK;
}

/* ---- the end -------------------------------------------------------------------------------- */
void dl_slot_free(int slot) {
  if (slot && dl_host.release) dl_host.release(slot);
  else if (slot && dl_slot_release_fn) dl_slot_release_fn(slot);
}

static void ext_free(dl_node *n) {
  dl_node_ext *x = n->ext;
  if (n->kind == DL_NODE_CUSTOM && x->free_fn) x->free_fn(n);
  while (x->hooks) {
    dl_hook *h = x->hooks;
    x->hooks = h->next;
    dl_slot_free(h->slot);
    dl_block_free(h, sizeof *h);
  }
  dl_slot_free(x->line_slot);
  if (x->out_meta) dl_block_free(x->out_meta, x->n_out * sizeof *x->out_meta);
  if (x->name) dl_block_free(x->name, strlen(x->name) + 1);
  if (x->lay) dl_block_free(x->lay, sizeof *x->lay);
  if (x->variable) {
    x->variable->extra->accum = NULL;
    x->variable->st->reached = 0;
    dl_tensor_release(x->variable);
  }
  dl_node_release(x->fn);
  dl_block_free(x, sizeof *x);
}

static void node_free(dl_node *n) {
  dl_node_free_saved(n);
  for (uint32_t k = 0; k < n->n_edges; k++) dl_node_release(n->edges[k].node);
  if (n->ext) ext_free(n);
  dl_nodes_live--;
  dl_block_free(n, (size_t)n->units * UNIT);
}

/* Gradients are never held outside a walk, and a walk keeps its nodes: only the array is freed. */
void dl_node_release(dl_node *n) {
  static dl_node *dying;
  static bool busy;
  if (!n || --n->refs > 0) return;
  if (n->many) dl_block_free(n->grads, n->ext->n_out * sizeof *n->grads);
  n->next = dying;
  dying = n;
  if (busy) return;
  busy = true;
  while (dying) {
    n = dying;
    dying = n->next;
    node_free(n);
  }
  busy = false;
}

/* ---- names ---------------------------------------------------------------------------------- */
/* PyTorch numbers the overloads of a name; here one row serves a number and a tensor operand. */
static const struct {
  uint16_t op;
  const char *with_tensor;
} overloads[] = {{DL_OP_pow, "PowBackward1"},
                 {DL_OP_remainder, "RemainderBackward1"},
                 {DL_OP_fmod, "FmodBackward1"},
                 {DL_OP_clamp, "ClampBackward0"},
                 {DL_OP_clamp_min, "ClampMinBackward1"},
                 {DL_OP_clamp_max, "ClampMaxBackward1"},
                 {DL_OP_lerp, "LerpBackward1"},
                 {DL_OP_masked_fill, "MaskedFillBackward1"},
                 {DL_OP_rsub, "RsubBackward0"},
                 {DL_OP_fill_, "FillBackward3"}};

static bool has_number(const dl_node *n) {
  const dl_schema *s = dl_op_schema((dl_opid)n->op);
  const dl_arg *a = dl_node_args(n);
  for (int i = 0; i < s->nparam; i++)
    if (s->p[i].type == DL_P_TN && dl_arg_given(&a[i])) return true;
  return false;
}

static const char *op_name(const dl_node *n) {
  for (size_t i = 0; i < sizeof overloads / sizeof *overloads; i++)
    if (overloads[i].op == n->op && !has_number(n)) return overloads[i].with_tensor;
  return dl_ops[n->op].gradname;
}

const char *dl_node_name(const dl_node *n) {
  switch (n->kind) {
    case DL_NODE_ACCUM: return "AccumulateGrad";
    case DL_NODE_COPYSLICES: return "CopySlices";
    case DL_NODE_ASSTRIDED: return "AsStridedBackward0";
    case DL_NODE_CUSTOM: return n->ext->name;
    default: return op_name(n);
  }
}

const char *dl_name_shorten(const char *name, char *buf, size_t cap) {
  snprintf(buf, cap, "%s", name);
  char *b = strstr(buf, "Backward");
  if (b && b[8] >= '0' && b[8] <= '9') *b = '\0';
  return buf;
}

const char *dl_node_short_name(const dl_node *n, char *buf, size_t cap) {
  if (n->kind == DL_NODE_COPYSLICES) return "torch::autograd::CopySlices";
  return dl_name_shorten(dl_node_name(n), buf, cap);
}
