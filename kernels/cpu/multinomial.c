/* multinomial.c -- drawing classes by weight
 *
 * For dispatch. Without replacement (or one sample) each class gets weight / exponential draw and
 * the largest win; with replacement a uniform number is looked up in the cumulated weights.
 * SOURCE     ATen/native/Distributions.cpp, cpu/MultinomialKernel.cpp. */
#include <math.h>

#include "pick.h"
#include "rng.h"

typedef struct bag { dl_kcall *c; int64_t rows, n, samples; dl_dtype d; size_t es; } bag;

static double weight(const bag *b, int64_t row, int64_t k) {
  return dl_elem_get_f64(b->d, b->c->in[0].data + (size_t)(row * b->n + k) * b->es);
}

static dl_status check(const bag *b) {
  for (int64_t i = 0; i < b->rows * b->n; i++) {
    double p = weight(b, 0, i);
    if (!(p >= 0) || isinf(p))
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "probability tensor contains either `inf`, `nan` or element < 0");
  }
  for (int64_t r = 0; r < b->rows; r++) {
    double sum = 0;
    for (int64_t k = 0; k < b->n; k++) sum += weight(b, r, k);
    if (!(sum > 0))
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "invalid multinomial distribution (sum of probabilities <= 0)");
  }
  return DL_OK;
}

/* All draws come first, in memory order, as exponential_ makes them. */
static double race(const bag *b, double p) {
  double q = -log1p(-dl_gen_uniform64(b->c->gen));
  return b->d == DL_F32 ? (double)((float)p / (float)q) : p / q;
}

static void by_race(const bag *b, dl_pick *v) {
  int64_t *out = (int64_t *)b->c->out[0].data;
  for (int64_t r = 0; r < b->rows; r++) {
    for (int64_t k = 0; k < b->n; k++) {
      double x = race(b, weight(b, r, k));
      v[k] = (dl_pick){~dl_key(DL_F64, &x), k};
    }
    if (b->samples == 1) { /* argmax: the first of equals */
      int64_t best = 0;
      for (int64_t k = 1; k < b->n; k++)
        if (v[k].key < v[best].key) best = k;
      out[r] = best;
      continue;
    }
    dl_pick_top(v, b->samples, b->n, true);
    for (int64_t s = 0; s < b->samples; s++) out[r * b->samples + s] = v[s].at;
  }
}

static double rounded(const bag *b, double x) { return b->d == DL_F32 ? (double)(float)x : x; }

static void by_lookup(const bag *b, double *upto) {
  int64_t *out = (int64_t *)b->c->out[0].data;
  for (int64_t r = 0; r < b->rows; r++) {
    double sum = 0;
    for (int64_t k = 0; k < b->n; k++) upto[k] = sum = rounded(b, sum + weight(b, r, k));
    for (int64_t k = 0; k < b->n; k++) upto[k] = rounded(b, upto[k] / sum);
    upto[b->n - 1] = 1;
    for (int64_t s = 0; s < b->samples; s++) {
      double u = dl_gen_uniform64(b->c->gen);
      int64_t lo = 0, hi = b->n;
      while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (upto[mid] < u) lo = mid + 1;
        else hi = mid;
      }
      out[r * b->samples + s] = lo;
    }
  }
}

DL_KERNEL(multinomial) {
  const dl_view *x = &c->in[0];
  bag b = {.c = c, .n = x->size[x->ndim - 1], .samples = c->arg[1].i, .d = (dl_dtype)x->dtype,
           .es = dl_view_esize(x), .rows = x->ndim == 2 ? x->size[0] : 1};
  void *mem;
  if (b.rows == 0) return DL_OK;
  DL_TRY(check(&b));
  DL_TRY(dl_scratch((size_t)b.n * sizeof(dl_pick) + 1, &mem));
  if (c->arg[2].i && b.samples > 1) by_lookup(&b, mem);
  else by_race(&b, mem);
  dl_scratch_free(mem, (size_t)b.n * sizeof(dl_pick) + 1);
  return DL_OK;
}
