/* graph.h -- nodes and saved tensors: what dispatch records and grad/ walks
 *
 * For op/ (records) and grad/ (walks). A node stores an op's name, numbers, saved tensors and
 * edges; it never runs an op.
 *
 * INVARIANT  A saved result never holds its own node (no reference cycles): it is kept as an
 *            alias without grad_fn and gets grad_fn back when unpacked.
 *            Freeing is iterative: a chain of 100,000 nodes does not recurse.
 * MUST NOT   know Lua; Lua values hang on slots (ints) that the binding made. */
#ifndef DL_GRAPH_H
#define DL_GRAPH_H

#include "op/op.h"

typedef struct dl_edge { dl_node *node; uint32_t nr; } dl_edge; /* node owned */

typedef struct dl_saved {
  dl_tensor *t;                  /* owned; for results an alias without grad_fn; NULL = not saved */
  uint32_t version;              /* *t->ver when saved */
  uint16_t out_nr;
  uint8_t is_output;
  uint8_t slot_packed;           /* saved-tensor hooks: `slot` holds the packed Lua value */
  int slot;
} dl_saved;

typedef enum { DL_NODE_OP, DL_NODE_ACCUM, DL_NODE_COPYSLICES, DL_NODE_CUSTOM, DL_NODE_ASSTRIDED } dl_node_kind;

struct dl_node {
  int32_t refs;
  uint8_t kind;
  uint8_t n_edges, n_saved, n_out;     /* n_out > 255: see outs */
  uint16_t op;                         /* dl_opid for DL_NODE_OP */
  uint16_t n_args;
  uint8_t freed;                       /* saved tensors are gone */
  uint8_t inplace;
  uint64_t seq;                        /* creation order: backward goes from high to low */
  dl_edge *edges;                      /* one a tensor input (edge.node NULL = needs no gradient) */
  dl_saved *saved;                     /* inputs then outputs, by the op's save mask */
  dl_arg *args;                        /* schema order; numbers and copied lists, tensors as NONE */
  dl_meta *in_meta;                    /* n_edges entries, or NULL: like out_meta */
  dl_meta out_meta[1];                 /* of result 0; others in out_more */
  dl_meta *out_more;
  dl_tensor *variable;                 /* ACCUM: the leaf, borrowed (the leaf clears it) */
  void *ext;                           /* CUSTOM, COPYSLICES: dl_node_ext */
  int hooks;                           /* slot of hooks on this node's results, 0 = none */
  int line_slot;                       /* anomaly mode: where it was made */
  size_t block;                        /* bytes of the node's block */
};

/* Custom functions (torch.autograd.Function, checkpoint): a callback instead of a rule. */
typedef struct dl_node_ext {
  dl_status (*apply)(dl_node *n, dl_tensor **gout, dl_tensor **gin); /* gin owned by caller */
  void (*free_fn)(dl_node *n);
  const char *name;              /* "MulBackward0" form; owned by ext */
  int slot;
  /* COPYSLICES: */
  dl_node *fn;
  dl_meta base_meta, view_meta;
  int64_t base_stride[DL_MAXDIM], view_stride[DL_MAXDIM], view_offset;
} dl_node_ext;

/* Should this call be recorded? Then make the node, save what the row says, and hang it on the results.
 * Called by dispatch after the kernel ran. For in-place calls rebases history (views: CopySlices). */
bool dl_graph_wants(const dl_call *c);
dl_status dl_graph_check_inplace(dl_tensor *self);  /* leaf, view of leaf, multi-view … before any write */
dl_status dl_graph_prepare(const dl_call *c, dl_node **node);          /* before the kernel: saves inputs */
dl_status dl_graph_commit(const dl_call *c, dl_node *node, dl_tensor *const *outs, int nout); /* after */
/* A view result: remembers its base so that in-place writes are tracked. */
dl_status dl_graph_view(dl_tensor *base, dl_tensor *view, uint8_t view_kind);

dl_node *dl_node_new(dl_node_kind kind, int n_edges, int n_saved);     /* refs 1, or NULL */
void dl_node_release(dl_node *n);
static inline dl_node *dl_node_retain(dl_node *n) { if (n) n->refs++; return n; }
const char *dl_node_name(const dl_node *n);            /* "MulBackward0" */
/* Where t's gradient flows: its grad_fn, or its AccumulateGrad (made on demand); node owned. */
dl_status dl_gradient_edge(dl_tensor *t, dl_edge *out);
/* grad_fn of t, regenerated for a view whose base was modified in place. Borrowed. */
dl_status dl_tensor_grad_fn(dl_tensor *t, dl_node **out);
/* Unpack with version check; owned. */
dl_status dl_saved_unpack(dl_node *n, dl_saved *s, dl_tensor **out);
void dl_node_free_saved(dl_node *n);
extern int64_t dl_nodes_live;

#endif
