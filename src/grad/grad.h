/* grad.h -- backward: the walk, and how gradient rules are written
 *
 * For grad/ and bind/. A rule is a function in ops over the saved values:
 *
 *     DL_GRAD(tanh) { GIN(0, EX(E, tanh_backward, T(G(0)), T(OUT(0)))); return DONE; }
 *
 * The walk reduces a gradient to its input's shape (broadcasting, POINTWISE rows only) and casts it
 * to the input's dtype, so rules need not. With create_graph the same rules record themselves.
 *
 * MUST NOT know Lua: hooks and custom functions are called through dl_grad_host. */
#ifndef DL_GRAD_H
#define DL_GRAD_H

#include "graph/graph.h"

struct dl_gcall {
  dl_ex ex;
  dl_node *node;
  const dl_arg *arg;             /* the op's arguments; tensors are NONE, numbers are there */
  dl_tensor **gout;              /* gradients of the results; NULL = zero */
  int ngout;
  dl_tensor *gin[DL_MAX_IN];     /* owned results of the rule, by tensor input */
  dl_tensor **gin_list;          /* for a Tensor[] parameter: n_edges owned entries */
};

dl_tensor *dl_g_in(dl_gcall *g, int k);
dl_tensor *dl_g_out(dl_gcall *g, int k);
const dl_meta *dl_g_meta(dl_gcall *g, int k);
void dl_g_set(dl_gcall *g, int k, dl_tensor *t); /* t: temporary of the evaluation, or gout */
/* sum g over broadcast dims down to `size` */
dl_tensor *dl_ex_sum_to(dl_ex *e, dl_tensor *t, int ndim, const int64_t *size);

/* tensor:backward / torch.autograd.grad. roots[i] gets seed grads[i] (NULL: 1 for a scalar).
 * inputs == NULL: accumulate into leaves' .grad. Else: results[i] owned (NULL where unused), .grad untouched. */
typedef struct dl_backward_opts {
  bool retain_graph, create_graph, allow_unused, accumulate; /* accumulate with inputs: backward(inputs=) */
} dl_backward_opts;
dl_status dl_backward(dl_tensor *const *roots, dl_tensor *const *grads, int nroots,
                      dl_tensor *const *inputs, int ninputs, dl_backward_opts o, dl_tensor **results);

#endif
