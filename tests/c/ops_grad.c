/* ops_grad.c -- every differentiable row: first and second derivatives against central differences
 *
 * As PyTorch's gradcheck and gradgradcheck: eps 1e-6, atol 1e-5, rtol 1e-3, in float64. The
 * results are weighted with random numbers and summed, so that one scalar is compared.
 * Arguments: names of rows to try; none = all. */
#include <math.h>
#include <string.h>

#include "grad/grad.h"
#include "recipe.h"
#include "rng.h"
#include "tap.h"

#define EPS 1e-6
#define ATOL 1e-5
#define RTOL 1e-3
#define MANY 64

typedef struct list { dl_tensor *v[MANY]; int n; } list;

/* One function of its variables: the op (order 0), or its gradient (order 1). */
typedef struct subject {
  const recipe *r;
  recipe_args a;
  list vars;                     /* borrowed from a, then seeds */
  list seeds;                    /* owned: weights of the op's results */
  uint64_t random;
  char name[256];
} subject;

static void list_free(list *l) {
  while (l->n) dl_tensor_release(l->v[--l->n]);
}

static double uniform(subject *s) {
  s->random = s->random * 6364136223846793005u + 1442695040888963407u;
  return (double)(s->random >> 40) / (1 << 23) - 1;
}

/* A float64 tensor of random weights shaped like t. */
static dl_tensor *weights_like(subject *s, const dl_tensor *t) {
  dl_tensor *w = NULL;
  dl_tensor_new(DL_DEV_CPU, DL_F64, t->ndim, t->size, &w);
  for (int64_t i = 0; w && i < w->numel; i++) ((double *)w->data)[i] = uniform(s);
  return w;
}

static bool counts(const dl_tensor *t) { return t->dtype == DL_F64; }

/* Ops that work in place get a copy of the variable. */
static dl_status run_op(subject *s, list *out) {
  dl_ret ret, copy = {0};
  dl_arg arg[DL_MAX_PARAM];
  const dl_schema *sc = dl_op_schema(s->r->op);
  memcpy(arg, s->a.arg, sizeof arg);
  out->n = 0;
  dl_gen_seed(&dl_gen_cpu, 1);
  if (sc->name[strlen(sc->name) - 1] == '_') {
    DL_TRY(dl_dispatch(DL_OP_clone, arg, 0, &copy));
    arg[0] = T(copy.v[0]);
  }
  dl_status st = dl_dispatch(s->r->op, arg, 0, &ret);
  if (st == DL_OK) {
    dl_tensor *v[MANY];
    int n = recipe_results(&ret, v, MANY);
    if (recipe_flag(s->r, 'o')) n = 1;
    for (int k = 0; k < n; k++)
      if (counts(v[k])) out->v[out->n++] = dl_tensor_retain(v[k]);
    dl_ret_free(&ret);
  }
  dl_ret_free(&copy);
  return st;
}

/* Roots that require grad, with their weights. */
static int roots_of(const list *out, const list *w, dl_tensor **root, dl_tensor **seed) {
  int n = 0;
  for (int k = 0; k < out->n; k++)
    if (out->v[k]->requires_grad) {
      root[n] = out->v[k];
      seed[n++] = w->v[k];
    }
  return n;
}

/* The op's gradient for its variables, weighted by the seeds. */
static dl_status run_grad(subject *s, bool create_graph, list *out) {
  list y;
  dl_tensor *root[MANY], *seed[MANY], *g[MANY] = {0};
  out->n = 0;
  DL_TRY(run_op(s, &y));
  int n = roots_of(&y, &s->seeds, root, seed);
  dl_backward_opts o = {.create_graph = create_graph, .retain_graph = create_graph,
                        .allow_unused = true};
  dl_status st = n ? dl_backward(root, seed, n, s->a.var, s->a.nvar, o, g) : DL_OK;
  for (int k = 0; k < s->a.nvar; k++)
    if (g[k]) out->v[out->n++] = g[k];
  list_free(&y);
  return st;
}

static dl_status evaluate(subject *s, int order, bool record, list *out) {
  unsigned mode = dl_mode;
  if (order == 0 && !record) dl_mode |= DL_MODE_NO_GRAD;
  dl_status st = order == 0 ? run_op(s, out) : run_grad(s, record, out);
  dl_mode = mode;
  return st;
}

static double weighted(const list *out, const list *w) {
  double sum = 0;
  for (int k = 0; k < out->n; k++)
    for (int64_t i = 0; i < out->v[k]->numel; i++)
      sum += recipe_value(out->v[k], i) * ((double *)w->v[k]->data)[i];
  return sum;
}

/* The sum with one element changed; it is taken before the change is undone, as results may be
 * views of the variable. */
static bool value_at(subject *s, int order, const list *w, double *p, double x, double *out) {
  list y = {.n = 0};
  double old = *p;
  *p = x;
  bool fine = evaluate(s, order, false, &y) == DL_OK;
  if (fine) *out = weighted(&y, w);
  *p = old;
  list_free(&y);
  return fine;
}

/* Compare the gradient of variable `t` element by element. */
static bool agrees(subject *s, int order, const list *w, dl_tensor *t, const dl_tensor *grad,
                   int which) {
  if (grad && !dl_sizes_equal(grad->ndim, grad->size, t->ndim, t->size)) {
    tap_diag("the gradient of variable %d has another shape", which);
    return false;
  }
  for (int64_t i = 0; i < t->numel; i++) {
    double *p = (double *)recipe_element(t, i), x = *p, up, down;
    if (!value_at(s, order, w, p, x + EPS, &up) || !value_at(s, order, w, p, x - EPS, &down)) {
      tap_diag("%s", dl_err.message);
      return false;
    }
    double want = (up - down) / (2 * EPS), got = grad ? recipe_value(grad, i) : 0;
    if (fabs(got - want) <= ATOL + RTOL * fabs(want)) continue;
    tap_diag("variable %d element %lld: gradient %.9g, by differences %.9g", which, (long long)i,
             got, want);
    return false;
  }
  return true;
}

/* Gradient of sum(weights * outputs) for every variable, against differences. */
static bool check_order(subject *s, int order) {
  list out, w = {.n = 0};
  dl_tensor *root[MANY], *seed[MANY], *g[MANY] = {0};
  dl_status st = evaluate(s, order, true, &out);
  for (int k = 0; st == DL_OK && k < out.n; k++) w.v[w.n++] = weights_like(s, out.v[k]);
  int n = st == DL_OK ? roots_of(&out, &w, root, seed) : 0;
  dl_backward_opts o = {.allow_unused = true};
  if (n) st = dl_backward(root, seed, n, s->vars.v, s->vars.n, o, g);
  list_free(&out);
  bool good = is_status(st, "", "%s has %s", s->name, order ? "second derivatives" : "a gradient");
  if (good) {
    for (int k = 0; good && k < s->vars.n; k++) good = agrees(s, order, &w, s->vars.v[k], g[k], k);
    ok(good, "%s: %s as differences give %s", s->name,
       order ? "second derivatives are" : "the gradient is", order ? "them" : "it");
  }
  for (int k = 0; k < s->vars.n; k++) dl_tensor_release(g[k]);
  list_free(&w);
  return good;
}

/* Weights for the op's results; they are variables of the second order. */
static bool make_seeds(subject *s) {
  list y;
  if (evaluate(s, 0, false, &y) != DL_OK) {
    list_free(&y);
    return false;
  }
  for (int k = 0; k < y.n; k++) {
    dl_tensor *w = weights_like(s, y.v[k]);
    w->requires_grad = 1;
    s->seeds.v[s->seeds.n++] = w;
  }
  list_free(&y);
  return true;
}

static void one(const recipe *r, bool strided) {
  subject s = {.r = r, .random = 7};
  recipe_how how = RECIPE_PLAIN;
  how.grad = true;
  how.strided = strided;
  recipe_name(r, s.name, sizeof s.name - 20);
  if (strided) strcat(s.name, ", strided");
  if (recipe_build(r, how, &s.a) && s.a.nvar > 0) {
    for (int k = 0; k < s.a.nvar; k++) s.vars.v[s.vars.n++] = s.a.var[k];
    if (check_order(&s, 0) && !recipe_flag(r, '1') && !strided && make_seeds(&s)) {
      for (int k = 0; k < s.seeds.n; k++) s.vars.v[s.vars.n++] = s.seeds.v[k];
      check_order(&s, 1);
    }
  }
  list_free(&s.seeds);
  recipe_free(&s.a);
}

static bool differentiable(const recipe *r) {
  const dl_op *op = &dl_ops[r->op];
  return (op->grad || op->kind == DL_COMPOSITE) && !recipe_flag(r, 'r') && !recipe_flag(r, 'g');
}

int main(int argc, char **argv) {
  dl_op_init();
  for (int i = 0; i < recipe_count; i++) {
    if (!recipe_wanted(&recipes[i], argc, argv) || !differentiable(&recipes[i])) continue;
    int64_t tensors = dl_tensors_live, nodes = dl_nodes_live;
    one(&recipes[i], false);
    if (!recipe_flag(&recipes[i], 'l')) one(&recipes[i], true);
    if (dl_tensors_live != tensors || dl_nodes_live != nodes)
      ok(false, "%s leaves %lld tensors and %lld nodes behind", dl_ops[recipes[i].op].id,
         (long long)(dl_tensors_live - tensors), (long long)(dl_nodes_live - nodes));
  }
  ok(true, "nothing else to try");
  return tap_done();
}
