/* grad_loss.c -- gradients of the section "losses", written in ops
 *
 * MEAN losses divide by the number of elements; g is a number then, and broadcasts. */
#include "grad/rule.h"

#include <string.h>

static bool mean(const dl_arg *how) { return strcmp(how->s, "mean") == 0; }

static int64_t count(const dl_meta *m) {
  int64_t n = 1;
  for (int d = 0; d < m->ndim; d++) n *= m->size[d];
  return n;
}

/* The loss's gradient, divided by the number of elements for a mean, times `by`. */
static dl_tensor *scaled(dl_gcall *g, const dl_arg *how, double by) {
  if (mean(how)) by /= (double)count(META(0));
  return by == 1 ? G(0) : EX(E, mul, T(G(0)), F(by));
}

/* Losses of the difference: one gradient, its negative for the target. */
static dl_status both(dl_gcall *g, dl_tensor *d) {
  GIN(0, d);
  GIN(1, EX(E, neg, T(d)));
  return DONE;
}

static dl_tensor *difference(dl_gcall *g) { return EX(E, sub, T(IN(0)), T(IN(1))); }

DL_GRAD(_mse_loss) { return both(g, EX(E, mul, T(difference(g)), T(scaled(g, ARG(2), 2)))); }

DL_GRAD(_smooth_l1_loss) {
  double beta = dl_arg_f(ARG(3));
  dl_tensor *slope = EX(E, clamp, T(EX(E, div, T(difference(g)), F(beta))), I(-1), I(1));
  return both(g, EX(E, mul, T(slope), T(scaled(g, ARG(2), 1))));
}

DL_GRAD(_huber_loss) {
  double delta = dl_arg_f(ARG(3));
  dl_tensor *slope = EX(E, clamp, T(difference(g)), F(-delta), F(delta));
  return both(g, EX(E, mul, T(slope), T(scaled(g, ARG(2), 1))));
}

static dl_tensor *weighted(dl_gcall *g, dl_tensor *t, dl_tensor *w) {
  return w ? EX(E, mul, T(t), T(w)) : t;
}

DL_GRAD(_bce_loss) {
  dl_tensor *x = IN(0), *t = IN(1), *up = weighted(g, scaled(g, ARG(3), 1), IN(2));
  if (NEED(0)) {
    dl_tensor *one_less = EX(E, rsub, T(x), I(1));
    dl_tensor *var = EX(E, clamp_min, T(EX(E, mul, T(one_less), T(x))), F(1e-12));
    GIN(0, EX(E, mul, T(EX(E, div, T(EX(E, sub, T(x), T(t))), T(var))), T(up)));
  }
  if (NEED(1)) {
    dl_tensor *no = EX(E, log, T(EX(E, rsub, T(x), I(1)))), *yes = EX(E, log, T(x));
    GIN(1, EX(E, mul, T(EX(E, sub, T(no), T(yes))), T(up)));
  }
  return DONE;
}

DL_GRAD(_bce_logits_loss) {
  dl_tensor *x = IN(0), *t = IN(1), *pw = IN(3);
  dl_tensor *up = weighted(g, scaled(g, ARG(4), 1), IN(2));
  if (NEED(0)) {
    dl_tensor *s = EX(E, sigmoid, T(x)), *pt = t;
    if (pw) { /* (pw t + 1 - t) sigmoid(x) - pw t */
      pt = EX(E, mul, T(pw), T(t));
      s = EX(E, mul, T(EX(E, sub, T(EX(E, add, T(pt), I(1))), T(t))), T(s));
    }
    GIN(0, EX(E, mul, T(EX(E, sub, T(s), T(pt))), T(up)));
  }
  if (NEED(1)) {
    dl_tensor *d = EX(E, neg, T(x));
    if (pw) {
      dl_tensor *yes = EX(E, mul, T(pw), T(EX(E, logsigmoid, T(x))));
      d = EX(E, sub, T(EX(E, logsigmoid, T(d))), T(yes));
    }
    GIN(1, EX(E, mul, T(d), T(up)));
  }
  return DONE;
}

/* ---- nll ----------------------------------------------------------------------------------- */
static dl_status nll(dl_gcall *g) {
  const dl_meta *m = META(0);
  dl_tensor *w = IN(2);
  if (G(0))
    GIN(0, EX(E, nll_loss_backward, T(G(0)), T(IN(1)), T(w), T(OUT(1)), L(m->size, m->ndim),
              *ARG(3), *ARG(4)));
  return DONE;
}

DL_GRAD(_nll_loss) { return nll(g); }
DL_GRAD(_nll_loss2d) { return nll(g); }

/* It is linear in grad: pick the same elements from the incoming gradient. */
DL_GRAD(nll_loss_backward) {
  dl_tensor *w = IN(2);
  if (!G(0)) return DONE;
  if (ARG(4)->n == 4) GIN(0, EX(E, _nll_loss2d, T(G(0)), T(IN(1)), T(w), *ARG(5), *ARG(6)));
  else GIN(0, EX(E, _nll_loss, T(G(0)), T(IN(1)), T(w), *ARG(5), *ARG(6)));
  return DONE;
}
