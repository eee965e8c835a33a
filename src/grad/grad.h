/* grad.h -- backward: the walk, and how gradient rules are written
 *
 * For grad/ and bind/. A rule is a function in ops over the saved values:
 *
 *     DL_GRAD(tanh) { GIN(0, EX(E, tanh_backward, T(G(0)), T(OUT(0)))); return DONE; }
 *
 * The walk reduces a gradient to its input's shape (broadcasting) and casts it to the input's
 * dtype, so rules need not. With create_graph the same rules record themselves.
 *
 * MUST NOT know Lua: hooks and custom functions are called through dl_host. */
#ifndef DL_GRAD_H
#define DL_GRAD_H

#include "graph/graph.h"

struct dl_gcall {
  dl_ex ex;
  dl_node *node;
  const dl_arg *arg; /* the op's arguments; tensors are NONE, numbers are there */
  dl_tensor **gout;  /* gradients of the results; NULL = zero */
  int ngout;
  dl_tensor **gin;             /* results of the rule: n_edges entries, owned by the caller */
  dl_meta meta[DL_MAX_IN + 1]; /* filled by dl_g_meta */
  dl_tensor *list[DL_MAXDIM];  /* filled by dl_g_list */
};

dl_tensor *dl_g_in(dl_gcall *g, int k);
dl_tensor *dl_g_out(dl_gcall *g, int k);
/* Shape and dtype of tensor input k (elements of a Tensor[] follow the tensor parameters). From k
 * = 8 on the pointer is good until the next call. */
const dl_meta *dl_g_meta(dl_gcall *g, int k);
/* The tensors of a Tensor?[] parameter (indices); elements may be NULL. */
dl_tensor *const *dl_g_list(dl_gcall *g, int *n);
void dl_g_set(dl_gcall *g, int k, dl_tensor *t); /* t: temporary of the evaluation, or gout */
/* sum t over broadcast dims down to `size` */
dl_tensor *dl_ex_sum_to(dl_ex *e, dl_tensor *t, int ndim, const int64_t *size);
/* zeros in the shape, dtype and on the device of t (as tensor input k has them) */
dl_tensor *dl_g_zeros(dl_gcall *g, int k);

/* tensor:backward / torch.autograd.grad. roots[i] gets seed grads[i] (NULL: 1 for a scalar).
 * inputs == NULL: accumulate into leaves' .grad. Else: results[i] owned (NULL where unused) and
 * .grad untouched, or with `accumulate` (and results NULL) into the .grad of these inputs only. */
typedef struct dl_backward_opts {
  bool retain_graph, create_graph, allow_unused, accumulate;
} dl_backward_opts;
dl_status dl_backward(dl_tensor *const *roots, dl_tensor *const *grads, int nroots,
                      dl_tensor *const *inputs, int ninputs, dl_backward_opts o,
                      dl_tensor **results);

/* The backward that runs: a number of its own (0: none), and whether it was given `inputs`. */
typedef struct dl_task { uint64_t id; bool inputs; } dl_task;
extern dl_task dl_walk_task;

extern bool dl_anomaly_nan; /* anomaly mode looks for nan (check_nan=True) */

#endif
