/* apply.h -- running one node backward, for src/grad/{walk,apply,leaf}.c only */
#ifndef DL_GRAD_APPLY_H
#define DL_GRAD_APPLY_H

#include "grad/grad.h"

/* gout: as many as the node has results, borrowed, NULL = zero, not all NULL.
 * gin: n_edges entries, NULL on entry; what is filled belongs to the caller, also on failure. */
dl_status dl_node_apply(dl_node *n, dl_tensor **gout, dl_tensor **gin);
/* Bring *t (owned, replaced) to the shape and dtype of m, or fail as PyTorch words it. */
dl_status dl_walk_fit(const dl_node *from, uint32_t k, const dl_meta *m, dl_tensor **t);
/* *sum += t; takes t. In place where nobody else can see *sum. */
dl_status dl_walk_add(dl_tensor **sum, dl_tensor *t);
/* Hooks of result gradients and of leaves, retain_grad; may replace gradients in place. */
dl_status dl_walk_hooks(dl_node *n, dl_tensor **gout);
/* AccumulateGrad: *g (owned, may be taken) goes into leaf's .grad; post hooks. */
dl_status dl_walk_store(dl_tensor *leaf, dl_tensor **g);

#endif
