/* loss.c -- kernels of the section "losses"
 *
 * A pair loss is a formula of (prediction, target), then kept, summed or averaged in the same pass.
 * nll_loss picks one log-probability a target. Inputs are contiguous, float or double.
 *
 * INVARIANT  Sums are made in pieces of CHUNK elements and added in double: the same result for
 *            any number of threads.
 * MUST NOT   know tensors. */
#include "kernel.h"

#include <math.h>
#include <string.h>

#define CHUNK 4096 /* elements */

typedef enum { KEEP_ALL, MEAN, SUM } reduction;

static reduction reduction_of(const dl_arg *a) {
  return strcmp(a->s, "mean") == 0 ? MEAN : strcmp(a->s, "sum") == 0 ? SUM : KEEP_ALL;
}

static const void *given(const dl_view *v) { return v->dtype == DL_NODTYPE ? NULL : v->data; }

/* ---- formulas: d = x - t, a = |d|, p = the number (beta, delta) ---------------------------- */
#define MSE(R)       (d * d)
#define SMOOTH_L1(R) (a < p ? (R)0.5 * d * d / p : a - (R)0.5 * p)
#define HUBER(R)     (a <= p ? (R)0.5 * d * d : p * (a - (R)0.5 * p))

typedef struct pair pair;
typedef void (*fill)(pair *j, int64_t at, int64_t n, void *to); /* elements at … at+n */

struct pair {
  const void *x, *t, *w, *pw; /* w, pw: optional weights, one an element */
  void *out;                  /* KEEP_ALL */
  double *part;               /* MEAN, SUM: one a chunk */
  double p;
  int64_t n;
  fill f32, f64;
  bool wide;                  /* double */
  int bad;                    /* bce: an input outside [0, 1] */
};

#define SUM_OF(R)                                                                      \
  static double sum_##R(const R *v, int64_t n) {                                       \
    double s[8] = {0};                                                                 \
    int64_t i = 0;                                                                     \
    for (; i + 8 <= n; i += 8)                                                         \
      for (int l = 0; l < 8; l++) s[l] += (double)v[i + l];                            \
    for (; i < n; i++) s[0] += (double)v[i];                                           \
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));          \
  }
SUM_OF(float)
SUM_OF(double)

#define OPERANDS(R)                                                                    \
  const R *x = (const R *)j->x + at, *t = (const R *)j->t + at;                        \
  const R *w = j->w ? (const R *)j->w + at : NULL, *pw = j->pw ? (const R *)j->pw + at : NULL; \
  const R p = (R)j->p;                                                                 \
  R *v = to;                                                                           \
  (void)w, (void)pw, (void)p;

#define DIFFERENCE(name, R, ABS, formula)                                              \
  static void name##_##R(pair *j, int64_t at, int64_t n, void *to) {                   \
    OPERANDS(R)                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                  \
      R d = x[i] - t[i], a = ABS(d);                                                   \
      (void)a;                                                                         \
      v[i] = formula(R);                                                               \
    }                                                                                  \
  }
DIFFERENCE(mse, float, fabsf, MSE)
DIFFERENCE(mse, double, fabs, MSE)
DIFFERENCE(smooth_l1, float, fabsf, SMOOTH_L1)
DIFFERENCE(smooth_l1, double, fabs, SMOOTH_L1)
DIFFERENCE(huber, float, fabsf, HUBER)
DIFFERENCE(huber, double, fabs, HUBER)

/* Logarithms are cut at -100, so that a wrong certainty costs a finite loss. */
#define BCE(R, LOG, LOG1P, MAX)                                                        \
  static void bce_##R(pair *j, int64_t at, int64_t n, void *to) {                      \
    OPERANDS(R)                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                  \
      if (!(x[i] >= 0 && x[i] <= 1)) j->bad = 1;                                       \
      R l = (t[i] - 1) * MAX(LOG1P(-x[i]), (R)-100) - t[i] * MAX(LOG(x[i]), (R)-100);  \
      v[i] = w ? l * w[i] : l;                                                         \
    }                                                                                  \
  }
BCE(float, logf, log1pf, fmaxf)
BCE(double, log, log1p, fmax)

#define BCE_LOGITS(R, EXP, LOG1P, ABS)                                                 \
  static void bce_logits_##R(pair *j, int64_t at, int64_t n, void *to) {               \
    OPERANDS(R)                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                  \
      R soft = LOG1P(EXP(-ABS(x[i]))) + (x[i] < 0 ? -x[i] : 0);                        \
      R k = pw ? (pw[i] - 1) * t[i] + 1 : 1;                                           \
      R l = (1 - t[i]) * x[i] + k * soft;                                              \
      v[i] = w ? l * w[i] : l;                                                         \
    }                                                                                  \
  }
BCE_LOGITS(float, expf, log1pf, fabsf)
BCE_LOGITS(double, exp, log1p, fabs)

static void put(const dl_view *v, double x) { dl_elem_set_f64((dl_dtype)v->dtype, v->data, x); }

static void chunks_run(void *ctx, int64_t lo, int64_t hi) {
  pair *j = ctx;
  double own[CHUNK];
  for (int64_t k = lo; k < hi; k++) {
    int64_t at = k * CHUNK, n = j->n - at < CHUNK ? j->n - at : CHUNK;
    char *to = j->out ? (char *)j->out + at * (j->wide ? 8 : 4) : (char *)own;
    (j->wide ? j->f64 : j->f32)(j, at, n, to);
    if (j->part) j->part[k] = j->wide ? sum_double(own, n) : sum_float((const float *)own, n);
  }
}

static dl_status run_pair(dl_kcall *c, reduction how, pair *j) {
  j->x = c->in[0].data, j->t = c->in[1].data, j->n = c->in[0].numel, j->wide = c->compute == DL_F64;
  int64_t chunks = (j->n + CHUNK - 1) / CHUNK;
  size_t nbytes = (size_t)(chunks + 1) * sizeof(double);
  void *part = NULL;
  if (how == KEEP_ALL) j->out = c->out[0].data;
  else DL_TRY(dl_scratch(nbytes, &part));
  j->part = part;
  dl_status st = dl_parallel(chunks, 8, chunks_run, j);
  if (how != KEEP_ALL) {
    double sum = 0;
    for (int64_t k = 0; k < chunks && st == DL_OK; k++) sum += j->part[k];
    put(&c->out[0], how == MEAN ? sum / (double)j->n : sum);
    dl_scratch_free(part, nbytes);
  }
  return st;
}

DL_KERNEL(_mse_loss) {
  pair j = {.f32 = mse_float, .f64 = mse_double};
  return run_pair(c, reduction_of(&c->arg[2]), &j);
}

DL_KERNEL(_smooth_l1_loss) {
  pair j = {.f32 = smooth_l1_float, .f64 = smooth_l1_double, .p = dl_arg_f(&c->arg[3])};
  return run_pair(c, reduction_of(&c->arg[2]), &j);
}

DL_KERNEL(_huber_loss) {
  pair j = {.f32 = huber_float, .f64 = huber_double, .p = dl_arg_f(&c->arg[3])};
  return run_pair(c, reduction_of(&c->arg[2]), &j);
}

DL_KERNEL(_bce_loss) {
  pair j = {.f32 = bce_float, .f64 = bce_double, .w = given(&c->in[2])};
  DL_TRY(run_pair(c, reduction_of(&c->arg[3]), &j));
  if (!j.bad) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "all elements of input should be between 0 and 1");
}

DL_KERNEL(_bce_logits_loss) {
  pair j = {.f32 = bce_logits_float,
            .f64 = bce_logits_double,
            .w = given(&c->in[2]),
            .pw = given(&c->in[3])};
  return run_pair(c, reduction_of(&c->arg[4]), &j);
}

/* ---- nll: self (N, C, inner), target (N, inner), weight (C) -------------------------------- */
typedef struct nll {
  const dl_view *self, *target, *weight; /* weight: NULL = ones */
  int64_t n, classes, inner, ignore;
  reduction how;
} nll;

/* inner is whatever follows the class dim; a 1-d self is one sample */
static void nll_sizes(nll *j, int ndim, const int64_t *size) {
  int at = ndim == 1 ? 0 : 1;
  j->n = ndim == 1 ? 1 : size[0];
  j->classes = size[at];
  j->inner = 1;
  for (int d = at + 1; d < ndim; d++) j->inner *= size[d];
}

/* The class of target i, -1 where ignored. */
static dl_status class_at(const nll *j, int64_t i, int64_t *out) {
  const dl_view *t = j->target;
  int64_t k = t->dtype == DL_I64 ? ((const int64_t *)t->data)[i] : ((const uint8_t *)t->data)[i];
  *out = k == j->ignore ? -1 : k;
  if (k == j->ignore || (k >= 0 && k < j->classes)) return DL_OK;
  dl_fail(DL_IndexError, DL_E_INDEX, "Target %lld is out of bounds.", (long long)k);
  dl_note("the input has %lld classes, so a target is 0 to %lld", (long long)j->classes,
          (long long)j->classes - 1);
  return DL_E_INDEX;
}

static double weight_of(const nll *j, int64_t k) {
  return j->weight ? dl_elem_get_f64((dl_dtype)j->weight->dtype,
                                     j->weight->data +
                                         k * (int64_t)dl_dtype_size((dl_dtype)j->weight->dtype))
                   : 1.0;
}

static double score(const dl_view *v, int64_t i) {
  return v->dtype == DL_F64 ? ((const double *)v->data)[i] : (double)((const float *)v->data)[i];
}

static void score_set(const dl_view *v, int64_t i, double x) {
  if (v->dtype == DL_F64) ((double *)v->data)[i] = x;
  else ((float *)v->data)[i] = (float)x;
}

static dl_status nll_forward(dl_kcall *c) {
  nll j = {&c->in[0], &c->in[1], c->in[2].dtype == DL_NODTYPE ? NULL : &c->in[2]};
  j.how = reduction_of(&c->arg[3]), j.ignore = dl_arg_i(&c->arg[4]);
  nll_sizes(&j, c->in[0].ndim, c->in[0].size);
  double sum = 0, total = 0;
  for (int64_t b = 0; b < j.n; b++)
    for (int64_t s = 0; s < j.inner; s++) {
      int64_t k, i = b * j.inner + s;
      DL_TRY(class_at(&j, i, &k));
      double w = k < 0 ? 0 : weight_of(&j, k);
      double l = k < 0 ? 0 : -w * score(j.self, (b * j.classes + k) * j.inner + s);
      if (j.how == KEEP_ALL) score_set(&c->out[0], i, l);
      sum += l, total += w;
    }
  if (j.how != KEEP_ALL) put(&c->out[0], j.how == MEAN ? sum / total : sum);
  put(&c->out[1], j.how == KEEP_ALL ? 0 : total);
  return DL_OK;
}

DL_KERNEL(_nll_loss) { return nll_forward(c); }
DL_KERNEL(_nll_loss2d) { return nll_forward(c); }

/* grad (target's shape, or a number), target, weight, total_weight */
DL_KERNEL(nll_loss_backward) {
  nll j = {NULL, &c->in[1], c->in[2].dtype == DL_NODTYPE ? NULL : &c->in[2]};
  const dl_view *g = &c->in[0], *out = &c->out[0];
  j.how = reduction_of(&c->arg[5]), j.ignore = dl_arg_i(&c->arg[6]);
  nll_sizes(&j, out->ndim, out->size);
  memset(out->data, 0, (size_t)out->numel * dl_dtype_size((dl_dtype)out->dtype));
  double scale = j.how == MEAN ? 1 / dl_elem_get_f64((dl_dtype)c->in[3].dtype, c->in[3].data) : 1;
  for (int64_t b = 0; b < j.n; b++)
    for (int64_t s = 0; s < j.inner; s++) {
      int64_t k, i = b * j.inner + s;
      DL_TRY(class_at(&j, i, &k));
      if (k < 0) continue;
      double up = score(g, j.how == KEEP_ALL ? i : 0);
      score_set(out, (b * j.classes + k) * j.inner + s, -weight_of(&j, k) * up * scale);
    }
  return DL_OK;
}
