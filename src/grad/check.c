/* check.c -- gradients against central differences
 *
 * For bind/ and tests. The function is run once with gradients for the analytical Jacobians, and
 * twice an input element without for the numerical ones.
 *
 * INVARIANT  Inputs hold their old values on return, also after a failure.
 * SOURCE     torch/autograd/gradcheck.py (slow mode). */
#include "grad/check.h"

#include <math.h>
#include <string.h>

typedef struct job {
  dl_check_fn fn;
  void *ctx;
  dl_tensor *const *in;
  int nin, nout;
  dl_tensor *out[DL_CHECK_OUTS];
  double eps;
} job;

static void outs_free(dl_tensor **out, int n) {
  for (int o = 0; o < n; o++) dl_tensor_release(out[o]);
}

static char *element(const dl_tensor *t, int64_t k) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    at += k % t->size[d] * t->stride[d];
    k /= t->size[d];
  }
  return t->data + at * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
}

static double get(const dl_tensor *t, int64_t k) {
  return dl_elem_get_f64((dl_dtype)t->dtype, element(t, k));
}

static bool counts(const dl_tensor *t) { return t->requires_grad; }

/* A Jacobian: rows are elements of the input, columns elements of the result; zeros. */
static dl_status jacobian(const dl_tensor *in, const dl_tensor *out, dl_tensor **j) {
  int64_t size[2] = {in->numel, out->numel};
  DL_TRY(dl_tensor_new(DL_DEV_CPU, DL_F64, 2, size, j));
  if ((*j)->numel) memset((*j)->data, 0, (size_t)(*j)->numel * sizeof(double));
  return DL_OK;
}

static double *cell(dl_tensor *j, int64_t row, int64_t col) {
  return (double *)j->data + row * j->size[1] + col;
}

/* ---- analytical: one backward a result element ---------------------------------------------- */
static dl_status one_column(job *w, int o, int i, int64_t col, dl_tensor *j) {
  dl_tensor *y = w->out[o], *x = w->in[i], *seed, *g = NULL;
  DL_TRY(dl_tensor_new(y->dev, (dl_dtype)y->dtype, y->ndim, y->size, &seed));
  memset(seed->data, 0, (size_t)seed->numel * dl_dtype_size((dl_dtype)seed->dtype));
  dl_elem_set_f64((dl_dtype)seed->dtype, element(seed, col), 1);
  dl_backward_opts opts = {.retain_graph = true, .allow_unused = true};
  dl_status st = dl_backward(&y, &seed, 1, &x, 1, opts, &g);
  for (int64_t k = 0; g && st == DL_OK && k < x->numel; k++) *cell(j, k, col) = get(g, k);
  dl_tensor_release(g);
  dl_tensor_release(seed);
  return st;
}

static dl_status analytical(job *w, int o, int i, dl_tensor *j) {
  if (!dl_tensor_wants_grad(w->out[o])) return DL_OK;
  for (int64_t col = 0; col < w->out[o]->numel; col++) DL_TRY(one_column(w, o, i, col, j));
  return DL_OK;
}

/* ---- numerical: (f(x + eps) - f(x - eps)) / (2 eps) ----------------------------------------- */
static dl_status run_at(job *w, char *at, dl_dtype d, double v, dl_tensor **out, int *n) {
  double old = dl_elem_get_f64(d, at);
  unsigned mode = dl_mode;
  dl_elem_set_f64(d, at, v);
  dl_mode |= DL_MODE_NO_GRAD;
  *n = 0;
  dl_status st = w->fn(w->ctx, w->in, w->nin, out, n);
  dl_mode = mode;
  dl_elem_set_f64(d, at, old);
  return st;
}

static dl_status one_row(job *w, int o, int i, int64_t row, dl_tensor *j) {
  dl_tensor *x = w->in[i], *up[DL_CHECK_OUTS], *down[DL_CHECK_OUTS];
  dl_dtype d = (dl_dtype)x->dtype;
  double v = get(x, row);
  int n_up, n_down = 0;
  dl_status st = run_at(w, element(x, row), d, v + w->eps, up, &n_up);
  if (st == DL_OK) st = run_at(w, element(x, row), d, v - w->eps, down, &n_down);
  for (int64_t c = 0; st == DL_OK && o < n_up && o < n_down && c < j->size[1]; c++)
    *cell(j, row, c) = (get(up[o], c) - get(down[o], c)) / (2 * w->eps);
  outs_free(up, n_up);
  outs_free(down, n_down);
  return st;
}

static dl_status numerical(job *w, int o, int i, dl_tensor *j) {
  for (int64_t row = 0; row < w->in[i]->numel; row++) DL_TRY(one_row(w, o, i, row, j));
  return DL_OK;
}

/* ---- the comparison ------------------------------------------------------------------------- */
static bool close_to(const dl_tensor *a, const dl_tensor *n, const dl_check *c) {
  for (int64_t k = 0; k < a->numel; k++)
    if (!(fabs(get(a, k) - get(n, k)) <= c->atol + c->rtol * fabs(get(n, k)))) return false;
  return true;
}

static dl_status compare(job *w, int o, int i, dl_check *c, bool *good) {
  dl_tensor *a = NULL, *n = NULL;
  dl_status st = jacobian(w->in[i], w->out[o], &a);
  if (st == DL_OK) st = jacobian(w->in[i], w->out[o], &n);
  if (st == DL_OK) st = analytical(w, o, i, a);
  if (st == DL_OK) st = numerical(w, o, i, n);
  if (st == DL_OK && !close_to(a, n, c)) {
    *good = false;
    c->out = o;
    c->in = i;
    c->numerical = n;
    c->analytical = a;
    return DL_OK;
  }
  dl_tensor_release(a);
  dl_tensor_release(n);
  return st;
}

static dl_status check_inputs(dl_tensor *const *in, int nin) {
  bool any = false;
  for (int i = 0; i < nin; i++) {
    if (!counts(in[i])) continue;
    any = true;
    if (in[i]->dtype != DL_F64)
      dl_warn(false, "UserWarning",
              "Input #%d requires gradient and is not a double precision floating point or "
              "complex. "
              "This check will likely fail if all the inputs are not of double precision floating "
              "point or complex. ",
              i);
  }
  if (any) return DL_OK;
  return dl_fail(DL_ValueError, DL_E_AUTOGRAD,
                 "gradcheck expects at least one input tensor to require gradient, but none of the "
                 "them have requires_grad=True.");
}

dl_status dl_gradcheck(dl_check_fn fn, void *ctx, dl_tensor *const *in, int nin, dl_check *c,
                       bool *good) {
  job w = {.fn = fn, .ctx = ctx, .in = in, .nin = nin, .eps = c->eps};
  *good = true;
  c->numerical = c->analytical = NULL;
  DL_TRY(check_inputs(in, nin));
  dl_status st = fn(ctx, in, nin, w.out, &w.nout);
  for (int o = 0; o < w.nout && st == DL_OK; o++)
    for (int i = 0; i < nin && st == DL_OK && *good; i++)
      if (counts(in[i])) st = compare(&w, o, i, c, good);
  outs_free(w.out, w.nout);
  return st;
}
