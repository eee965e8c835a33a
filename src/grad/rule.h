/* rule.h -- the short words gradient rules are written in (src/grad/grad_*.c only) */
#ifndef DL_RULE_H
#define DL_RULE_H

#include "grad/grad.h"

#define DL_GRAD(id) dl_status dl_grad_##id(dl_gcall *g)
#define E    (&g->ex)
#define G(k) (g->gout[k])                    /* may be NULL only when the op has several results */
#define IN(k)  dl_g_in(g, k)                 /* saved input, NULL (and failed) if it was changed */
#define OUT(k) dl_g_out(g, k)
#define ARG(i) (&g->arg[i])
#define NEED(k) (g->node->edges[k].node && !g->node->edges[k].node->skip)
#define META(k) dl_g_meta(g, k)              /* dl_meta* of tensor input k */
#define INDICES(n) dl_g_list(g, n)           /* saved Tensor?[] parameter */
#define GIN(k, expr) do { if (NEED(k)) dl_g_set(g, k, (expr)); } while (0)
#define DONE (g->ex.st)

#endif
