/* help.c -- what gradient rules read and write
 *
 * For src/grad/grad_*.c, through the words of rule.h.
 *
 * INVARIANT  After a failure every function here yields NULL and the evaluation stays failed.
 * MUST NOT   know which op it serves. */
#include "grad/grad.h"

#include <string.h>

static dl_tensor *unpacked(dl_gcall *g, dl_saved *s) {
  if (g->ex.st != DL_OK) return NULL;
  dl_tensor *t;
  g->ex.st = dl_saved_peek(g->node, s, &t);
  if (t || g->ex.st != DL_OK) return t;
  g->ex.st = dl_saved_unpack(g->node, s, &t);
  return dl_ex_keep_take(&g->ex, t);
}

static dl_tensor *not_saved(dl_gcall *g, const char *what, int k) {
  if (g->ex.st == DL_OK)
    g->ex.st = dl_fail(DL_RuntimeError, DL_E_INTERNAL, "the row of %s does not save %s %d",
                       dl_ops[g->node->op].id, what, k);
  return NULL;
}

dl_tensor *dl_g_in(dl_gcall *g, int k) {
  uint32_t save = dl_ops[g->node->op].save;
  if (!(save & DL_SAVE_IN(k))) return not_saved(g, "input", k);
  return unpacked(g, dl_node_saved(g->node) + dl_bits(save & (DL_SAVE_IN(k) - 1)));
}

dl_tensor *dl_g_out(dl_gcall *g, int k) {
  uint32_t save = dl_ops[g->node->op].save;
  if (!(save & DL_SAVE_OUT(k))) return not_saved(g, "result", k);
  return unpacked(g, dl_node_saved(g->node) + dl_bits(save & (DL_SAVE_OUT(k) - 1)));
}

dl_tensor *const *dl_g_list(dl_gcall *g, int *n) {
  uint32_t save = dl_ops[g->node->op].save;
  int first = dl_bits(save);
  *n = g->node->n_saved - first;
  if (*n > DL_MAXDIM) *n = DL_MAXDIM;
  for (int i = 0; i < *n; i++) g->list[i] = unpacked(g, dl_node_saved(g->node) + first + i);
  return g->list;
}

const dl_meta *dl_g_meta(dl_gcall *g, int k) {
  dl_meta *m = &g->meta[k < DL_MAX_IN ? k : DL_MAX_IN];
  dl_node_in_meta(g->node, (uint32_t)k, m);
  return m;
}

void dl_g_set(dl_gcall *g, int k, dl_tensor *t) {
  if (g->ex.st != DL_OK) return;
  dl_tensor_release(g->gin[k]);
  g->gin[k] = dl_tensor_retain(t);
}

dl_tensor *dl_g_zeros(dl_gcall *g, int k) {
  const dl_meta *m = dl_g_meta(g, k);
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = g->gout[0]->dev};
  return EX(&g->ex, zeros, L(m->size, m->ndim), DT(m->dtype), dev);
}

dl_tensor *dl_ex_sum_to(dl_ex *e, dl_tensor *t, int ndim, const int64_t *size) {
  if (!t || dl_sizes_equal(t->ndim, t->size, ndim, size)) return t;
  int64_t dims[DL_MAXDIM];
  int lead = t->ndim - ndim, n = 0;
  for (int d = 0; d < t->ndim; d++)
    if (d < lead || (size[d - lead] == 1 && t->size[d] != 1)) dims[n++] = d;
  bool keep = n > lead;
  dl_tensor *s = n ? EX(e, sum_dim, T(t), L(dims, n), B(keep)) : t;
  return keep && lead ? EX(e, view, T(s), L(size, ndim)) : s;
}
