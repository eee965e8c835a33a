/* graph.h -- nodes and saved tensors: what dispatch records and grad/ walks
 *
 * For op/ (records), grad/ (walks) and bind/ (grad_fn, hooks, custom functions). A node stores an
 * op's name, numbers, saved tensors and edges; backward is not known here.
 *
 * INVARIANT  A saved result never holds its own node (no reference cycles): it is kept as an
 *            alias without grad_fn and gets grad_fn back when unpacked.
 *            An edge's node knows shape and dtype of what flows into it, so a node stores the metas
 *            of its inputs only where there is no edge.
 *            Freeing is iterative: a chain of 100,000 nodes does not recurse.
 * MUST NOT   know Lua; Lua values hang on slots (ints) that the binding made. */
#ifndef DL_GRAPH_H
#define DL_GRAPH_H

#include "op/op.h"

typedef struct dl_edge {
  dl_node *node;
  uint32_t nr;
} dl_edge; /* node owned; NULL = no gradient */

typedef struct dl_saved {
  union {
    dl_tensor *t;
    int64_t slot;
  };                /* owned; for results an alias without grad_fn; NULL = nothing */
  uint32_t version; /* *t->ver when saved */
  uint8_t out_nr;   /* which result this is */
  uint8_t is_output : 1;
  uint8_t packed : 1;  /* saved-tensor hooks: `slot` holds the packed Lua value */
  uint8_t changed : 1; /* was modified in place: `by` names the op, the value is gone */
  uint16_t by;         /* dl_opid, DL_OP_COUNT = CopySlices, DL_OP_COUNT + 1 = AsStrided */
} dl_saved;

typedef enum {
  DL_NODE_OP,
  DL_NODE_ACCUM,
  DL_NODE_COPYSLICES,
  DL_NODE_CUSTOM,
  DL_NODE_ASSTRIDED
} dl_node_kind;

typedef struct dl_hook dl_hook;
typedef struct dl_node_ext dl_node_ext;

/* One block: node, edges, saved, args, the args' lists and strings, metas. Add and mul of tensors
 * with up to three dims take 128 bytes. */
struct dl_node {
  int32_t refs;
  uint8_t kind;
  uint8_t freed : 1; /* saved tensors are gone */
  uint8_t inplace : 1;
  uint8_t many : 1;     /* more than one result: ext->outs, and grad is an array */
  uint8_t own_args : 1; /* else the arguments are the schema's defaults */
  uint8_t seen : 1;     /* visited by a search, 0 outside one */
  uint8_t fresh : 1;    /* by the part of it under way */
  uint8_t skip : 1;     /* walk: no wanted input lies below */
  uint8_t want : 1;     /* walk: a gradient was asked for here */
  uint8_t n_args;
  uint8_t mark;     /* walk: depth of the walk that holds this node, 0 = none */
  uint16_t op;      /* dl_opid for DL_NODE_OP */
  uint16_t meta_at; /* offset of the metas in the block, in units of 8 bytes */
  uint32_t n_edges;
  uint64_t seq;  /* creation order: backward goes from high to low */
  uint32_t deps; /* walk: edges into this node not yet delivered */
  uint16_t n_saved;
  uint16_t units; /* bytes of the block / 64 */
  union {
    dl_tensor *grad, **grads;
    struct dl_node *next;
  };                /* walk: gradients so far; when dying: list */
  dl_node_ext *ext; /* what few nodes have, or NULL */
  dl_edge edges[];  /* one a tensor input */
};

/* Rarely needed state of a node, made on demand. */
struct dl_node_ext {
  dl_hook *hooks;      /* hooks and retain_grad of this node's results */
  int line_slot;       /* anomaly mode: where the node was made; 0 = unknown */
  uint32_t n_out;      /* when node->many */
  dl_meta *out_meta;   /* when node->many: n_out entries */
  dl_tensor *variable; /* ACCUM: the leaf, owned (the leaf knows this node weakly) */
  /* CUSTOM: */
  dl_status (*apply)(dl_node *n, dl_tensor **gout,
                     dl_tensor **gin); /* gin: n_edges entries, owned by caller */
  void (*free_fn)(dl_node *n);         /* called once, before the node goes; may be NULL */
  char *name;                          /* "MyFnBackward", a block of its own */
  int slot;                            /* the binding's value */
  /* COPYSLICES and ASSTRIDED: */
  struct dl_lay *lay; /* how the view lies in its base */
  dl_node *fn;        /* COPYSLICES: the in-place op's own node, owned */
};

typedef struct dl_lay {
  dl_meta base, view;
  int64_t base_stride[DL_MAXDIM], view_stride[DL_MAXDIM];
  int64_t offset; /* elements, from the base's element 0 to the view's */
} dl_lay;

static inline int dl_bits(uint32_t v) { /* how many are set; masks here have few */
  int n = 0;
  for (; v; v &= v - 1) n++;
  return n;
}
static inline dl_saved *dl_node_saved(const dl_node *n) {
  return (dl_saved *)(n->edges + n->n_edges);
}
static inline uint32_t dl_node_outs(const dl_node *n) { return n->many ? n->ext->n_out : 1; }
const dl_arg *dl_node_args(const dl_node *n); /* schema order; tensors as NONE */
/* Shape and dtype of result `nr`. For ACCUM those of the leaf. */
void dl_node_out_meta(const dl_node *n, uint32_t nr, dl_meta *m);
/* Shape and dtype of tensor input k: any with an edge, and floating ones without. */
void dl_node_in_meta(const dl_node *n, uint32_t k, dl_meta *m);

/* ---- recording (dispatch) ---------------------------------------------------------------------
 * Edges are the tensor parameters in schema order (absent or a number: node NULL), then the
 * elements of a Tensor[] parameter. The row's save mask counts the same way; a Tensor?[] parameter
 * (indices) has no edges and is always saved, see dl_g_list. */
bool dl_graph_wants(const dl_call *c);
/* Leaf, view of a leaf, multi-view, no_grad view: PyTorch's errors, before any write. */
dl_status dl_graph_check_inplace(dl_tensor *self);
dl_status dl_graph_prepare(const dl_call *c, dl_node **node); /* before the kernel: saves inputs */
/* After the kernel: hang the node on the results. Takes `node` over, also on failure. */
dl_status dl_graph_commit(const dl_call *c, dl_node *node, dl_tensor *const *outs, int nout);
/* prepare + commit for a pointwise op of two tensors with default arguments and out's own shape. */
dl_status dl_graph_record2(dl_opid op, dl_tensor *a, dl_tensor *b, dl_tensor *out);
/* A view result: remembers its base so that in-place writes are tracked. */
dl_status dl_graph_view(dl_tensor *base, dl_tensor *view, uint8_t view_kind);

/* ---- nodes ---------------------------------------------------------------------------------- */
void dl_node_release(dl_node *n);
static inline dl_node *dl_node_retain(dl_node *n) {
  if (n) n->refs++;
  return n;
}
const char *dl_node_name(const dl_node *n); /* "MulBackward0" */
/* "Mul" as 2.14's errors name it; returns buf. */
const char *dl_node_short_name(const dl_node *n, char *buf, size_t cap);
dl_status dl_node_extra(dl_node *n); /* makes n->ext */
dl_status dl_saved_set(dl_node *n, dl_saved *s, dl_tensor *t, bool is_output, uint32_t nr);
/* Unpack with version check; owned; NULL where nothing was saved. */
dl_status dl_saved_unpack(dl_node *n, dl_saved *s, dl_tensor **out);
/* The same while the node lives and no hooks are on: borrowed, no count is touched. */
dl_status dl_saved_peek(dl_node *n, dl_saved *s, dl_tensor **out);
void dl_node_free_saved(dl_node *n);
dl_status dl_node_freed_error(void); /* "Trying to backward through the graph a second time" */
extern int64_t dl_nodes_live;

/* Custom functions (torch.autograd.Function, checkpoint): a callback instead of a rule.
 *   dl_node_custom(...); dl_node_set_edge(n, k, input k) for each input; dl_saved_set(n, …);
 *   after the user's forward: dl_node_set_results(n, outs, nout); then release n. */
dl_status dl_node_custom(const char *name, uint32_t n_edges, uint32_t n_saved,
                         dl_status (*apply)(dl_node *, dl_tensor **gout, dl_tensor **gin),
                         void (*free_fn)(dl_node *), int slot, dl_node **out);
dl_status dl_node_set_edge(dl_node *n, uint32_t k, dl_tensor *input); /* NULL or no grad: no edge */
/* outs[i] NULL or of an integer dtype: takes part without gradient. dirty (or NULL): outs[i] is an
 * input that was changed in place. An untouched input must be passed as an alias. */
dl_status dl_node_set_results(dl_node *n, dl_tensor *const *outs, const bool *dirty, uint32_t nout);

/* ---- tensors in the graph ------------------------------------------------------------------- */
/* grad_fn of t, regenerated for a view whose base was modified in place. Borrowed, may be NULL. */
dl_status dl_tensor_grad_fn(dl_tensor *t, dl_node **out);
/* Where t's gradient flows: its grad_fn, or its AccumulateGrad (made on demand). Owned, or NULL. */
dl_status dl_gradient_edge(dl_tensor *t, dl_edge *out);
/* requires_grad as PyTorch computes it: a view follows its base. */
static inline bool dl_tensor_wants_grad(const dl_tensor *t) {
  return t->requires_grad || (t->extra && t->extra->base && t->extra->base->requires_grad);
}
dl_status dl_tensor_set_requires_grad(dl_tensor *t, bool on); /* with PyTorch's errors */
dl_status dl_tensor_retain_grad(dl_tensor *t);
dl_status dl_tensor_detach_(dl_tensor *t);
/* The int that holds t's hooks slot (0 = none yet): in the leaf, or in its grad_fn, so that hooks
 * outlive the tensor. The pointer is good until the graph changes. */
dl_status dl_tensor_hook_slot(dl_tensor *t, int **slot);
/* tensor/ calls it when a tensor that retains grad dies. */
void dl_tensor_forget_retained(dl_tensor *t);

struct dl_hook {
  dl_hook *next;
  uint32_t nr;       /* which result */
  int slot;          /* user hooks, 0 = none */
  dl_tensor *retain; /* retain_grad: the result itself, weak; NULL = no */
};

/* What the host language provides (set by bind/; all NULL in C tests). */
typedef struct dl_grad_host {
  dl_status (*tensor_hooks)(int slot, dl_tensor *grad,
                            dl_tensor **replaced); /* owned, or NULL = keep */
  dl_status (*post_hooks)(int slot, dl_tensor *leaf);
  /* saved-tensor hooks: pack is non-NULL only while such hooks are active */
  dl_status (*pack)(dl_tensor *t, int *slot);
  dl_status (*unpack)(int slot, dl_tensor **out);
  const char *(*line)(int slot); /* anomaly mode */
  int (*here)(void);             /* makes a line slot */
  void (*release)(int slot);
} dl_grad_host;
extern dl_grad_host dl_host;

#endif
