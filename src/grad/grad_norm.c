/* grad_norm.c -- gradients of layer_norm, once and twice, written in ops
 *
 * Rows of n elements (the normalised dims): z = (x - mean) r, y = z w + b, r = 1/sqrt(var + eps).
 */
#include "grad/rule.h"

DL_GRAD(native_layer_norm) {
  if (!G(0)) return DONE;
  dl_tensor *dx = EX(E, native_layer_norm_backward, T(G(0)), T(IN(0)), T(OUT(1)), T(OUT(2)),
                     T(IN(1)), I(ARG(1)->n));
  if (!dx) return DONE;
  dl_tensor *dw = E->last.v[1], *db = E->last.v[2];
  GIN(0, dx);
  GIN(1, dw);
  GIN(2, db);
  return DONE;
}

/* everything of the second derivative as (rows, n); means and r as (rows, 1) */
typedef struct rows {
  int64_t size[2], one[2];
  dl_tensor *g, *h, *z, *r, *w;  /* incoming gradient, g w, normalised x, 1/std, weight or NULL */
} rows;

static dl_tensor *mean_of(dl_gcall *g, dl_tensor *a, dl_tensor *b) {
  int64_t last = 1;
  dl_tensor *t = b ? EX(E, mul, T(a), T(b)) : a;
  return EX(E, mean_dim, T(t), L(&last, 1), B(true));
}
static dl_tensor *times(dl_gcall *g, dl_tensor *a, dl_tensor *b) { return EX(E, mul, T(a), T(b)); }
static dl_tensor *less(dl_gcall *g, dl_tensor *a, dl_tensor *b) { return EX(E, sub, T(a), T(b)); }
static dl_tensor *plus(dl_gcall *g, dl_tensor *a, dl_tensor *b) {
  return !a ? b : !b ? a : EX(E, add, T(a), T(b));
}
/* v - mean(v) - z mean(v z): what changes of x along v leave of z */
static dl_tensor *project(dl_gcall *g, const rows *q, dl_tensor *v) {
  dl_tensor *t = less(g, v, mean_of(g, v, NULL));
  return less(g, t, times(g, q->z, mean_of(g, v, q->z)));
}

static void rows_of(dl_gcall *g, rows *q) {
  dl_tensor *x = IN(1), *mean = IN(2), *r = IN(3), *w = IN(4);
  if (!x || !mean || !r || mean->numel == 0) return;
  q->size[0] = q->one[0] = mean->numel;
  q->size[1] = x->numel / mean->numel;
  q->one[1] = 1;
  q->g = EX(E, reshape, T(IN(0)), L(q->size, 2));
  q->r = EX(E, reshape, T(r), L(q->one, 2));
  dl_tensor *flat = EX(E, reshape, T(x), L(q->size, 2));
  q->z = times(g, less(g, flat, EX(E, reshape, T(mean), L(q->one, 2))), q->r);
  q->w = w ? EX(E, reshape, T(w), L(&q->size[1], 1)) : NULL;
  q->h = q->w ? times(g, q->g, q->w) : q->g;
}

/* The part through x of  sum a dx + sum p g z:  z moves by r project(.), r by -r^2 z / n. */
static dl_tensor *through_x(dl_gcall *g, const rows *q, dl_tensor *a, dl_tensor *p) {
  dl_tensor *u = p ? times(g, p, q->g) : NULL, *tail = NULL;
  if (a) {
    dl_tensor *az = mean_of(g, a, q->z), *hz = mean_of(g, q->h, q->z);
    dl_tensor *both = EX(E, add, T(times(g, a, hz)), T(times(g, q->h, az)));
    u = plus(g, u, EX(E, neg, T(times(g, q->r, both))));
    dl_tensor *k =
        less(g, mean_of(g, a, q->h), times(g, mean_of(g, a, NULL), mean_of(g, q->h, NULL)));
    k = less(g, k, times(g, az, hz));
    tail = times(g, times(g, times(g, q->r, q->r), q->z), k);
  }
  dl_tensor *t = times(g, q->r, project(g, q, u));
  return tail ? less(g, t, tail) : t;
}

/* Results dx, dw, db of native_layer_norm_backward(g, x, mean, r, w); mean and r depend on x. */
DL_GRAD(native_layer_norm_backward) {
  rows q = {0};
  rows_of(g, &q);
  if (E->st != DL_OK || !q.g) return DONE;
  dl_tensor *a = G(0) ? EX(E, reshape, T(G(0)), L(q.size, 2)) : NULL;
  dl_tensor *p = G(1) ? EX(E, reshape, T(G(1)), L(&q.size[1], 1)) : NULL;
  dl_tensor *b = G(2) ? EX(E, reshape, T(G(2)), L(&q.size[1], 1)) : NULL;
  dl_tensor *ra = a ? times(g, q.r, project(g, &q, a)) : NULL;
  const dl_meta *m = META(1);
  if (NEED(0) && (a || p || b)) {
    dl_tensor *t = ra && q.w ? times(g, ra, q.w) : ra;
    t = plus(g, t, p ? times(g, p, q.z) : NULL);
    t = plus(g, t, b ? EX(E, expand, T(b), L(q.size, 2)) : NULL);
    GIN(0, EX(E, reshape, T(t), L(m->size, m->ndim)));
  }
  if (NEED(1) && (a || p)) {
    dl_tensor *t = through_x(g, &q, a, p);
    m = META(1);
    GIN(1, EX(E, reshape, T(t), L(m->size, m->ndim)));
  }
  if (NEED(4) && ra) {
    int64_t first = 0;
    m = META(4);
    dl_tensor *t = EX(E, sum_dim, T(times(g, q.g, ra)), L(&first, 1));
    GIN(4, EX(E, reshape, T(t), L(m->size, m->ndim)));
  }
  return DONE;
}
