/* walk.c -- backward: gradients flow from the roots to the leaves
 *
 * For bind and tests. First every node below the roots is visited once and its incoming edges are
 * counted; then nodes run when all their gradients have come, the youngest first.
 *
 * INVARIANT  mark, deps, skip, want and grad of a node belong to the walk whose depth is in mark;
 *            they are all zero outside a walk. A walk inside a walk (from a hook) puts aside what
 *            it meets. Nothing recurses: depth of the graph costs heap, not stack.
 * SOURCE     torch/csrc/autograd/{engine,python_engine}.cpp, torch/autograd/__init__.py */
#include "grad/apply.h"
#include "op/record.h"

#include <string.h>

bool dl_anomaly_nan = true;
dl_task dl_walk_task;

typedef struct {
  dl_node **v;
  size_t n, cap;
} nodes;
typedef struct {
  dl_node *node;
  uint8_t mark, skip, want;
  uint32_t deps;
  dl_tensor *grad, **grads;
} held;
typedef struct {
  dl_edge edge;
  dl_tensor *grad;
} root; /* both owned */

typedef struct walk {
  nodes seen, ready;
  held *held;
  size_t n_held, cap_held;
  uint8_t depth;
  dl_backward_opts o;
  int n_roots, n_inputs;
  root *roots;
  dl_edge *inputs;     /* owned nodes; NULL: gradients go to the leaves */
  dl_tensor **results; /* of n_inputs, or NULL */
} walk;

static uint8_t walks; /* depth of the innermost walk */
#define MAX_WALKS 200

static dl_status no_memory(void) {
  return dl_fail(DL_RuntimeError, DL_E_OOM, "not enough memory to walk the graph");
}

static dl_status grow(void **v, size_t *cap, size_t size) {
  size_t bigger = *cap ? *cap * 2 : 64;
  void *p = dl_block_new(bigger * size);
  if (!p) return no_memory();
  if (*v) {
    memcpy(p, *v, *cap * size);
    dl_block_free(*v, *cap * size);
  }
  *v = p;
  *cap = bigger;
  return DL_OK;
}

static dl_status push(nodes *s, dl_node *n) {
  if (s->n == s->cap) DL_TRY(grow((void **)&s->v, &s->cap, sizeof *s->v));
  s->v[s->n++] = n;
  return DL_OK;
}

/* ---- the first pass: who waits for how many gradients --------------------------------------- */
static dl_status put_aside(walk *w, dl_node *n) {
  if (w->n_held == w->cap_held) DL_TRY(grow((void **)&w->held, &w->cap_held, sizeof *w->held));
  held h = {n, n->mark, n->skip, n->want, n->deps, n->grad, NULL};
  if (n->many) {
    size_t bytes = dl_node_outs(n) * sizeof *n->grads;
    h.grads = n->grads;
    n->grads = dl_block_new(bytes);
    if (!n->grads) {
      n->grads = h.grads;
      return no_memory();
    }
    memset(n->grads, 0, bytes);
  } else {
    n->grad = NULL;
  }
  w->held[w->n_held++] = h;
  return DL_OK;
}

static dl_status enter(walk *w, dl_node *n) {
  if (n->mark == w->depth) return DL_OK;
  if (w->seen.n == w->seen.cap) DL_TRY(grow((void **)&w->seen.v, &w->seen.cap, sizeof *w->seen.v));
  if (n->mark) DL_TRY(put_aside(w, n));
  n->mark = w->depth;
  n->deps = 0;
  n->skip = n->want = 0;
  w->seen.v[w->seen.n++] = n;
  return DL_OK;
}

static dl_status count(walk *w) {
  for (int i = 0; i < w->n_roots; i++) {
    DL_TRY(enter(w, w->roots[i].edge.node));
    w->roots[i].edge.node->deps++;
  }
  for (size_t i = 0; i < w->seen.n; i++) {
    dl_node *n = w->seen.v[i];
    for (uint32_t k = 0; k < n->n_edges; k++) {
      dl_node *child = n->edges[k].node;
      if (!child) continue;
      DL_TRY(enter(w, child));
      child->deps++;
    }
  }
  return DL_OK;
}

/* ---- with inputs: who lies above one of them ------------------------------------------------ */
static bool leads_somewhere(const dl_node *n) {
  for (uint32_t k = 0; k < n->n_edges; k++)
    if (n->edges[k].node && !n->edges[k].node->skip) return true;
  return false;
}

/* Depth first with a stack of its own: a node is decided after all below it. */
static dl_status decide(nodes *stack, nodes *at, dl_node *from) {
  from->seen = 1;
  DL_TRY(push(stack, from));
  DL_TRY(push(at, NULL));
  while (stack->n) {
    dl_node *n = stack->v[stack->n - 1], *child = NULL;
    uintptr_t k = (uintptr_t)at->v[at->n - 1];
    while (k < n->n_edges && (!(child = n->edges[k].node) || child->seen)) child = NULL, k++;
    at->v[at->n - 1] = (dl_node *)(k + 1);
    if (child) {
      child->seen = 1;
      DL_TRY(push(stack, child));
      DL_TRY(push(at, NULL));
      continue;
    }
    n->skip = !n->want && !leads_somewhere(n);
    stack->n--;
    at->n--;
  }
  return DL_OK;
}

static dl_status choose(walk *w) {
  nodes stack = {0}, at = {0};
  for (int i = 0; i < w->n_inputs; i++)
    if (w->inputs[i].node && w->inputs[i].node->mark == w->depth) w->inputs[i].node->want = 1;
  dl_status st = DL_OK;
  for (int i = 0; i < w->n_roots && st == DL_OK; i++)
    if (!w->roots[i].edge.node->seen) st = decide(&stack, &at, w->roots[i].edge.node);
  for (size_t i = 0; i < w->seen.n; i++) w->seen.v[i]->seen = 0;
  if (stack.v) dl_block_free(stack.v, stack.cap * sizeof *stack.v);
  if (at.v) dl_block_free(at.v, at.cap * sizeof *at.v);
  return st;
}

/* ---- the queue: youngest node first, leaves before all -------------------------------------- */
static dl_status ready_push(walk *w, dl_node *n) {
  DL_TRY(push(&w->ready, n));
  dl_node **v = w->ready.v;
  size_t i = w->ready.n - 1;
  for (; i > 0 && v[(i - 1) / 2]->seq < n->seq; i = (i - 1) / 2) v[i] = v[(i - 1) / 2];
  v[i] = n;
  return DL_OK;
}

static dl_node *ready_pop(walk *w) {
  dl_node **v = w->ready.v, *top = v[0], *last = v[--w->ready.n];
  size_t i = 0, n = w->ready.n;
  for (size_t c = 1; c < n; c = 2 * i + 1) {
    if (c + 1 < n && v[c + 1]->seq > v[c]->seq) c++;
    if (v[c]->seq <= last->seq) break;
    v[i] = v[c];
    i = c;
  }
  v[i] = last;
  return top;
}

/* Give *t (owned, taken) to the node an edge points at. */
static dl_status deliver(walk *w, const dl_node *from, uint32_t k, const dl_edge *e,
                         dl_tensor **t) {
  dl_node *n = e->node;
  if (*t) {
    dl_meta m;
    dl_node_out_meta(n, e->nr, &m);
    DL_TRY(dl_walk_fit(from, k, &m, t));
    dl_tensor *g = *t;
    *t = NULL;
    DL_TRY(dl_walk_add(n->many ? &n->grads[e->nr] : &n->grad, g));
  }
  return --n->deps == 0 ? ready_push(w, n) : DL_OK;
}

/* ---- one node ------------------------------------------------------------------------------- */
static dl_status blame(const dl_node *n) {
  const char *line =
      n->ext && n->ext->line_slot && dl_host.line ? dl_host.line(n->ext->line_slot) : NULL;
  if (line)
    dl_warn(false, "UserWarning",
            "Error detected in %s. Traceback of forward call that caused the error:\n%s",
            dl_node_name(n), line);
  else
    dl_warn(false, "UserWarning",
            "Error detected in %s. No forward pass information available. Enable detect anomaly "
            "during forward pass for more information.",
            dl_node_name(n));
  return dl_err.kind;
}

static dl_status look_for_nan(const dl_node *n, dl_tensor **gin) {
  for (uint32_t k = 0; k < n->n_edges; k++) {
    if (!gin[k]) continue;
    dl_ex e;
    dl_ex_begin(&e);
    unsigned mode = dl_mode;
    dl_mode |= DL_MODE_NO_GRAD;
    dl_tensor *found = EX(&e, any, T(EX(&e, isnan, T(gin[k]))));
    dl_mode = mode;
    bool nan = found && dl_tensor_item_i(found);
    DL_TRY(dl_ex_end(&e));
    if (nan)
      return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                     "Function '%s' returned nan values in its %uth output.", dl_node_name(n),
                     (unsigned)k);
  }
  return DL_OK;
}

static dl_status apply(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  dl_status st = dl_node_apply(n, gout, gin);
  if (!(dl_mode & DL_MODE_ANOMALY)) return st;
  if (st == DL_OK && dl_anomaly_nan) st = look_for_nan(n, gin);
  return st == DL_OK ? DL_OK : blame(n);
}

static void drop_grads(dl_node *n) {
  if (!n->many) dl_tensor_drop(&n->grad);
  else
    for (uint32_t i = 0; i < n->ext->n_out; i++) dl_tensor_drop(&n->grads[i]);
}

static void capture(walk *w, const dl_node *n, dl_tensor **gout) {
  for (int i = 0; i < w->n_inputs; i++)
    if (w->inputs[i].node == n && !w->results[i])
      w->results[i] = dl_tensor_retain(gout[w->inputs[i].nr]);
}

/* The rule, then each edge gets its share. gin is NULL throughout on entry and on return. */
static dl_status pass_on(walk *w, dl_node *n, dl_tensor **gout, bool any, dl_tensor **gin) {
  dl_status st = any ? apply(n, gout, gin) : DL_OK;
  if (st == DL_OK && !w->o.retain_graph) {
    dl_node_free_saved(n);
    if (n->ext && n->ext->fn) dl_node_free_saved(n->ext->fn);
  }
  drop_grads(n);
  for (uint32_t k = 0; k < n->n_edges; k++) {
    const dl_edge *e = &n->edges[k];
    if (st == DL_OK && e->node && !e->node->skip) st = deliver(w, n, k, e, &gin[k]);
    dl_tensor_drop(&gin[k]);
  }
  return st;
}

static dl_status run(walk *w, dl_node *n) {
  dl_tensor **gout = n->many ? n->grads : &n->grad, *few[DL_MAX_IN], **gin = few;
  bool any = false;
  if (dl_cancel) DL_TRY(dl_poll());
  for (uint32_t i = 0; i < dl_node_outs(n) && !any; i++) any = gout[i] != NULL;
  if (any) DL_TRY(dl_walk_hooks(n, gout));
  if (n->want && w->results) capture(w, n, gout);
  if (n->kind == DL_NODE_ACCUM) {
    dl_status st = any && !w->results ? dl_walk_store(n->ext->variable, &n->grad) : DL_OK;
    drop_grads(n);
    return st;
  }
  if (w->inputs && !leads_somewhere(n)) {
    drop_grads(n);
    return DL_OK;
  }
  size_t bytes = n->n_edges * sizeof *gin;
  if (n->n_edges > DL_MAX_IN && !(gin = dl_block_new(bytes))) return no_memory();
  memset(gin, 0, bytes);
  dl_status st = pass_on(w, n, gout, any, gin);
  if (gin != few) dl_block_free(gin, bytes);
  return st;
}

static dl_status run_all(walk *w) {
  DL_TRY(count(w));
  if (w->inputs) DL_TRY(choose(w));
  for (int i = 0; i < w->n_roots; i++) {
    root *r = &w->roots[i];
    if (!r->edge.node->skip) DL_TRY(deliver(w, r->edge.node, 0, &r->edge, &r->grad));
  }
  while (w->ready.n) DL_TRY(run(w, ready_pop(w)));
  return DL_OK;
}

/* ---- set-up and end ------------------------------------------------------------------------- */
static dl_status ones(dl_tensor *like, dl_tensor **out) {
  if (like->dev.type != DL_CPU) return dl_run(DL_OP_ones_like, (dl_arg[]){T(like)}, 1, 0, out);
  DL_TRY(dl_tensor_new(like->dev, (dl_dtype)like->dtype, like->ndim, like->size, out));
  dl_elem_set_f64((dl_dtype)like->dtype, (*out)->data, 1.0);
  return DL_OK;
}

static dl_status seed(dl_tensor *t, dl_tensor *given, int i, dl_tensor **out) {
  char a[200], b[200];
  if (!given && !dl_tensor_wants_grad(t)) return DL_OK;
  if (!given && t->numel != 1) {
    dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
            "grad can be implicitly created only for scalar outputs");
    dl_note("reduce it first, for example y:sum():backward(), or pass a gradient of its shape");
    return DL_E_AUTOGRAD;
  }
  if (!given) return ones(t, out);
  if (!dl_sizes_equal(given->ndim, given->size, t->ndim, t->size))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Mismatch in shape: grad_output[%d] has a shape of torch.Size(%s) and "
                   "output[%d] has a shape of torch.Size(%s).",
                   i, dl_sizes_str(given->ndim, given->size, a, sizeof a), i,
                   dl_sizes_str(t->ndim, t->size, b, sizeof b));
  *out = dl_tensor_retain(given);
  return DL_OK;
}

static dl_status set_roots(walk *w, dl_tensor *const *roots, dl_tensor *const *grads) {
  for (int i = 0; i < w->n_roots; i++)
    DL_TRY(seed(roots[i], grads ? grads[i] : NULL, i, &w->roots[i].grad));
  for (int i = 0; i < w->n_roots; i++) {
    DL_TRY(dl_gradient_edge(roots[i], &w->roots[i].edge));
    if (!w->roots[i].edge.node) {
      dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
              "element %d of tensors does not require grad and does not have a grad_fn", i);
      dl_note(
          "nothing that led to it requires gradients: torch.tensor({1.}, {requires_grad=true}) "
          "does; was it made under no_grad, or from detached data?");
      return DL_E_AUTOGRAD;
    }
  }
  return DL_OK;
}

static dl_status set_inputs(walk *w, dl_tensor *const *inputs) {
  for (int i = 0; i < w->n_inputs; i++) {
    if (!dl_tensor_wants_grad(inputs[i]))
      return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                     "One of the differentiated Tensors does not require grad");
    if (w->o.accumulate) DL_TRY(dl_tensor_retain_grad(inputs[i]));
    DL_TRY(dl_gradient_edge(inputs[i], &w->inputs[i]));
  }
  return DL_OK;
}

static dl_status check_used(walk *w) {
  for (int i = 0; i < w->n_inputs && w->results && !w->o.allow_unused; i++) {
    if (w->results[i]) continue;
    dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
            "The differentiated Tensor at index %d appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.",
            i);
    return DL_E_AUTOGRAD;
  }
  return DL_OK;
}

static void leave(walk *w) {
  for (size_t i = 0; i < w->seen.n; i++) {
    dl_node *n = w->seen.v[i];
    drop_grads(n);
    n->mark = n->skip = n->want = 0;
    n->deps = 0;
  }
  for (size_t i = 0; i < w->n_held; i++) {
    const held *h = &w->held[i];
    dl_node *n = h->node;
    if (n->many) {
      dl_block_free(n->grads, dl_node_outs(n) * sizeof *n->grads);
      n->grads = h->grads;
    } else {
      n->grad = h->grad;
    }
    n->mark = h->mark;
    n->skip = h->skip;
    n->want = h->want;
    n->deps = h->deps;
  }
  for (int i = 0; i < w->n_roots; i++) {
    dl_tensor_release(w->roots[i].grad);
    dl_node_release(w->roots[i].edge.node);
  }
  for (int i = 0; i < w->n_inputs; i++) dl_node_release(w->inputs[i].node);
  if (w->seen.v) dl_block_free(w->seen.v, w->seen.cap * sizeof *w->seen.v);
  if (w->ready.v) dl_block_free(w->ready.v, w->ready.cap * sizeof *w->ready.v);
  if (w->held) dl_block_free(w->held, w->cap_held * sizeof *w->held);
}

static dl_status walk_in_mode(walk *w) {
  unsigned mode = dl_mode;
  if (w->o.create_graph) dl_mode &= ~(unsigned)DL_MODE_NO_GRAD;
  else dl_mode |= DL_MODE_NO_GRAD;
  static uint64_t n_tasks;
  dl_task outer = dl_walk_task;
  w->depth = ++walks;
  dl_walk_task = (dl_task){++n_tasks, w->inputs != NULL};
  dl_record_backward(true);
  dl_status st = walks < MAX_WALKS
                     ? run_all(w)
                     : dl_fail(DL_RuntimeError, DL_E_AUTOGRAD, "too many nested backward calls");
  if (st == DL_OK) st = check_used(w);
  leave(w);
  walks--;
  dl_walk_task = outer;
  dl_record_backward(false);
  dl_mode = (mode & ~(unsigned)DL_MODE_RECORD) | (dl_mode & DL_MODE_RECORD);
  return st;
}

dl_status dl_backward(dl_tensor *const *roots, dl_tensor *const *grads, int nroots,
                      dl_tensor *const *inputs, int ninputs, dl_backward_opts o,
                      dl_tensor **results) {
  walk w = {.o = o, .n_roots = nroots, .n_inputs = inputs ? ninputs : 0, .results = results};
  if (inputs && ninputs == 0 && o.accumulate)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "`inputs` argument to `backward()` cannot be empty.");
  size_t rb = (size_t)nroots * sizeof *w.roots, ib = (size_t)w.n_inputs * sizeof *w.inputs;
  root one = {0};
  w.roots = nroots > 1 ? dl_block_new(rb) : &one;
  w.inputs = w.n_inputs ? dl_block_new(ib) : NULL;
  if (results && w.n_inputs) memset(results, 0, (size_t)w.n_inputs * sizeof *results);
  dl_status st = !w.roots || (w.n_inputs && !w.inputs) ? no_memory() : DL_OK;
  if (st == DL_OK) {
    memset(w.roots, 0, nroots > 1 ? rb : sizeof one);
    if (w.inputs) memset(w.inputs, 0, ib);
    st = set_roots(&w, roots, grads);
    if (st == DL_OK) st = set_inputs(&w, inputs);
    if (st == DL_OK) st = walk_in_mode(&w);
    else leave(&w);
  }
  if (nroots > 1 && w.roots) dl_block_free(w.roots, rb);
  if (w.inputs) dl_block_free(w.inputs, ib);
  for (int i = 0; i < w.n_inputs && results && st != DL_OK; i++) dl_tensor_drop(&results[i]);
  if (st == DL_OK && o.create_graph && !results)
    dl_warn(true, "UserWarning",
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and "
            "its gradient which can cause a memory leak. We recommend using autograd.grad when "
            "creating the "
            "graph to avoid this. If you have to use this function, make sure to reset the .grad "
            "fields of your parameters to None after use to break the cycle and avoid the leak.");
  return st;
}
