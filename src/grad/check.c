/* check.c -- gradients against central differences
 *
 * For bind/ and tests. The function is run once with gradients for the analytical Jacobians, and
 * twice an input element without for the numerical ones.
 *
 * INVARIANT  Inputs hold their old values on return, also after a failure.
 * SOURCE     torch/autograd/gradcheck.py (slow mode). */
#include "grad/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/arg.h"
#include "tensor/devmem.h"

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

/* Element k of t, the last dim fastest, as a tensor of no dims over t's memory. */
static dl_status element(dl_tensor *t, int64_t k, dl_tensor **out) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    at += k % t->size[d] * t->stride[d];
    k /= t->size[d];
  }
  return dl_tensor_view(t, 0, NULL, NULL, at, out);
}

static double get(const dl_tensor *t, int64_t k) {
  int64_t at = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    at += k % t->size[d] * t->stride[d];
    k /= t->size[d];
  }
  return dl_elem_get_f64((dl_dtype)t->dtype,
                         t->data + at * (int64_t)dl_dtype_size((dl_dtype)t->dtype));
}

static bool counts(const dl_tensor *t) { return t->requires_grad; }

/* A Jacobian: rows are elements of the input, columns elements of the result; zeros. */
static dl_status jacobian(const dl_tensor *in, const dl_tensor *out, dl_tensor **j) {
  int64_t size[2] = {in->numel, out->numel};
  DL_TRY(dl_tensor_new(DL_DEV_CPU, DL_F64, 2, size, j));
  dl_status st = DL_OK;          /* row by row: a large one takes seconds and can be interrupted */
  for (int64_t row = 0; row < size[0] && size[1] && st == DL_OK; row++) {
    memset((*j)->data + (size_t)(row * size[1]) * sizeof(double), 0,
           (size_t)size[1] * sizeof(double));
    st = dl_poll();
  }
  if (st != DL_OK) dl_tensor_drop(j);
  return st;
}

static double *cell(dl_tensor *j, int64_t row, int64_t col) {
  return (double *)j->data + row * j->size[1] + col;
}

/* ---- analytical: one backward a result element ---------------------------------------------- */
/* Zeros and a one at element k, where y is. */
static dl_status unit(const dl_tensor *y, int64_t k, dl_tensor **out) {
  dl_tensor *seed, *there;
  DL_TRY(dl_tensor_new(DL_DEV_CPU, (dl_dtype)y->dtype, y->ndim, y->size, &seed));
  size_t esize = dl_dtype_size((dl_dtype)seed->dtype);
  memset(seed->data, 0, (size_t)seed->numel * esize);
  dl_elem_set_f64((dl_dtype)seed->dtype, seed->data + (size_t)k * esize, 1);
  *out = seed;
  if (!dl_is_gpu(y->dev)) return DL_OK;
  dl_status st = dl_tensor_new(y->dev, (dl_dtype)y->dtype, y->ndim, y->size, &there);
  if (st == DL_OK) st = dl_tensor_copy_values(there, seed, false);
  dl_tensor_release(seed);
  *out = there;
  return st;
}

static dl_status changed(void) {
  return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                 "gradcheck: the size of an input or of a result was changed while it was checked");
}

static dl_status one_column(job *w, int o, int i, int64_t col, dl_tensor *j) {
  dl_tensor *y = w->out[o], *x = w->in[i], *seed = NULL, *g = NULL, *host = NULL;
  if (y->numel != j->size[1]) return changed();
  dl_status st = unit(y, col, &seed);
  dl_backward_opts opts = {.retain_graph = true, .allow_unused = true};
  if (st == DL_OK) st = dl_backward(&y, &seed, 1, &x, 1, opts, &g);
  if (st == DL_OK && g && g->numel != j->size[0]) st = changed();
  if (st == DL_OK && g) st = dl_tensor_values(g, &host);
  for (int64_t k = 0; host && k < j->size[0]; k++) *cell(j, k, col) = get(host, k);
  dl_tensor_release(host);
  dl_tensor_release(g);
  dl_tensor_release(seed);
  return st;
}

static dl_status analytical(job *w, int o, int i, dl_tensor *j) {
  if (!dl_tensor_wants_grad(w->out[o])) return DL_OK;
  for (int64_t col = 0; col < j->size[1]; col++) DL_TRY(one_column(w, o, i, col, j));
  return DL_OK;
}

/* ---- numerical: (f(x + eps) - f(x - eps)) / (2 eps) ----------------------------------------- */
/* A result may be the input itself, which is about to get its old value back. */
static dl_status apart(dl_tensor **t) {
  dl_tensor *own = NULL;
  DL_TRY(dl_run(DL_OP_clone, (dl_arg[]){T(*t)}, 1, 0, &own));
  dl_tensor_release(*t);
  *t = own;
  return DL_OK;
}

static dl_status run_at(job *w, dl_tensor *at, double v, dl_tensor **out, int *n) {
  double old = dl_tensor_item_f(at);
  unsigned mode = dl_mode;
  *n = 0;
  DL_TRY(dl_tensor_item_set(at, v));
  dl_mode |= DL_MODE_NO_GRAD;
  dl_status st = w->fn(w->ctx, w->in, w->nin, out, n);
  for (int o = 0; o < *n && st == DL_OK; o++) st = apart(&out[o]);
  dl_mode = mode;
  dl_status back = dl_tensor_item_set(at, old);
  return st == DL_OK ? back : st;
}

/* Element k's index as Python writes a tuple: (0, 2), (1,), (). */
static char *index_str(const dl_tensor *t, int64_t k, char *buf, size_t cap) {
  size_t n = (size_t)snprintf(buf, cap, "(");
  int64_t below = t->numel;
  for (int d = 0; d < t->ndim && n + 24 < cap; d++) {
    below /= t->size[d];
    n += (size_t)snprintf(buf + n, cap - n, d ? ", %lld" : "%lld", (long long)(k / below));
    k %= below;
  }
  snprintf(buf + n, cap - n, t->ndim == 1 ? ",)" : ")");
  return buf;
}

/* Both results must look alike. */
static dl_status alike(const job *w, int i, int64_t row, const dl_tensor *up,
                       const dl_tensor *down) {
  char at[200], a[128], b[128];
  if (!dl_sizes_equal(up->ndim, up->size, down->ndim, down->size))
    return dl_fail(DL_AssertionError, DL_E_SHAPE,
                   "Expected `func` to return outputs with the same shape when inputs are "
                   "perturbed on index %s by %g, but got: shapes torch.Size(%s) and "
                   "torch.Size(%s).", index_str(w->in[i], row, at, sizeof at), w->eps,
                   dl_sizes_str(up->ndim, up->size, a, sizeof a),
                   dl_sizes_str(down->ndim, down->size, b, sizeof b));
  if (up->dtype != down->dtype)
    return dl_fail(DL_AssertionError, DL_E_DTYPE,
                   "Expected `func` to return outputs with the same dtype when inputs are "
                   "perturbed on index %s by %g, but got: dtypes torch.%s and torch.%s.",
                   index_str(w->in[i], row, at, sizeof at), w->eps, dl_dtypes[up->dtype].name,
                   dl_dtypes[down->dtype].name);
  return DL_OK;
}

static dl_status difference(const job *w, const dl_tensor *up, const dl_tensor *down, int64_t row,
                            dl_tensor *j) {
  dl_tensor *a = NULL, *b = NULL;
  dl_status st = dl_tensor_values(up, &a);
  if (st == DL_OK) st = dl_tensor_values(down, &b);
  for (int64_t c = 0; st == DL_OK && c < j->size[1]; c++)
    *cell(j, row, c) = (get(a, c) - get(b, c)) / (2 * w->eps);
  dl_tensor_release(a);
  dl_tensor_release(b);
  return st;
}

static dl_status one_row(job *w, int o, int i, int64_t row, dl_tensor *j) {
  dl_tensor *x = w->in[i], *at, *up[DL_CHECK_OUTS], *down[DL_CHECK_OUTS];
  int n_up = 0, n_down = 0;
  if (x->numel != j->size[0]) return changed();
  DL_TRY(element(x, row, &at));
  double v = dl_tensor_item_f(at);
  dl_status st = run_at(w, at, v + w->eps, up, &n_up);
  if (st == DL_OK) st = run_at(w, at, v - w->eps, down, &n_down);
  if (st == DL_OK && (o >= n_up || o >= n_down)) st = changed();
  if (st == DL_OK) st = alike(w, i, row, up[o], down[o]);
  if (st == DL_OK && up[o]->numel != j->size[1]) st = changed();
  if (st == DL_OK) st = difference(w, up[o], down[o], row, j);
  outs_free(up, n_up);
  outs_free(down, n_down);
  dl_tensor_release(at);
  return st;
}

static dl_status numerical(job *w, int o, int i, dl_tensor *j) {
  for (int64_t row = 0; row < j->size[0]; row++) DL_TRY(one_row(w, o, i, row, j));
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
