/* node.h -- making nodes, for the C files of src/graph only */
#ifndef DL_GRAPH_NODE_H
#define DL_GRAPH_NODE_H

#include "graph/graph.h"

/* What a node's block must hold. */
typedef struct dl_node_spec {
  dl_node_kind kind;
  uint32_t n_edges, n_saved;
  const dl_arg *arg; /* to be copied, n_args of them, or NULL: the schema's defaults */
  int n_args;
  const dl_meta *out;    /* shape and dtype of result 0, or NULL */
  int n_in;              /* inputs without an edge whose metas are kept … */
  const uint32_t *in_at; /* … which they are … */
  dl_tensor *const *in;  /* … and the tensors */
} dl_node_spec;

dl_status dl_node_make(const dl_node_spec *s, dl_node **out); /* refs 1, no edges, nothing saved */
extern uint64_t dl_node_seq;
static inline void dl_node_stamp(dl_node *n) { n->seq = ++dl_node_seq; }
const char *dl_name_shorten(const char *name, char *buf, size_t cap); /* "MulBackward0" -> "Mul" */
void dl_slot_free(int slot);                                          /* 0 is no slot */
/* The node has n results; shapes and dtypes are read from outs. */
dl_status dl_node_set_many(dl_node *n, dl_tensor *const *outs, uint32_t n_out);

/* Hang result `nr` of n on t. */
void dl_node_attach(dl_node *n, dl_tensor *t, uint32_t nr);
/* t was changed in place by n: its history is n's now (a view: its base's, by CopySlices). */
dl_status dl_rebase(dl_tensor *t, dl_node *n, uint32_t nr);
dl_status dl_rebase_reserve(
    dl_tensor *t, dl_node *n); /* what dl_rebase of a view will need, ahead of the write */
dl_status dl_rebase_check(dl_tensor *t); /* is the view of a kind that may be written to? */
/* Nodes that saved t let go of it: t now hangs below them. */
void dl_saved_cut(dl_node *from, dl_tensor *t, uint16_t by);

#endif
