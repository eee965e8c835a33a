/* sort.c -- order along a dim: sort, topk, median, kthvalue, unique; counting: bincount, histc
 *
 * For dispatch (KERNELC rows: inputs are contiguous). A line is the n elements of one position of
 * the other dims, `inner` elements apart.
 * MUST NOT   decide the order of equal elements: pick.h does. */
#include <math.h>

#include "pick.h"

typedef struct lines {
  const dl_view *x;
  int64_t n, inner, count;       /* elements a line, their distance, number of lines */
  size_t es;
  dl_pick *v, *tmp;              /* n entries each */
} lines;

static dl_status lines_begin(lines *l, const dl_view *x, int64_t dim) {
  int d = (int)(dim < 0 ? dim + x->ndim : dim);
  *l = (lines){.x = x, .n = x->ndim ? x->size[d] : 1, .inner = 1, .es = dl_view_esize(x)};
  for (int k = d + 1; k < x->ndim; k++) l->inner *= x->size[k];
  l->count = l->n ? x->numel / l->n : 0;
  void *mem;
  DL_TRY(dl_scratch((size_t)l->n * 2 * sizeof *l->v + 1, &mem));
  l->v = mem;
  l->tmp = l->v + l->n;
  return DL_OK;
}

static void lines_end(lines *l) { dl_scratch_free(l->v, (size_t)l->n * 2 * sizeof *l->v + 1); }

/* Offset of line i in a tensor whose lines have n elements. */
static int64_t line_at(const lines *l, int64_t i, int64_t n) {
  return i / l->inner * l->inner * n + i % l->inner;
}

static void line_read(const lines *l, int64_t i, bool reversed) {
  const char *p = l->x->data + (size_t)line_at(l, i, l->n) * l->es;
  dl_pick_read(l->v, (dl_dtype)l->x->dtype, p, l->inner * (int64_t)l->es, l->n, reversed);
}

/* Write entries v[0..k) of line i: values and where they came from. */
static void line_write(const lines *l, dl_kcall *c, int64_t i, const dl_pick *v, int64_t k) {
  int64_t from = line_at(l, i, l->n), to = line_at(l, i, k);
  for (int64_t j = 0; j < k; j++) {
    int64_t d = to + j * l->inner;
    dl_elem_copy(c->out[0].data + (size_t)d * l->es,
                 l->x->data + (size_t)(from + v[j].at * l->inner) * l->es, l->es);
    ((int64_t *)c->out[1].data)[d] = v[j].at;
  }
}

typedef int64_t (*line_fn)(const lines *l, const dl_arg *arg, const dl_pick **from);

/* Each line is read, ordered by fn and written; fn says how many entries from where. */
static dl_status each_line(dl_kcall *c, int64_t dim, bool reversed, line_fn fn) {
  lines l;
  dl_status st;
  DL_TRY(lines_begin(&l, &c->in[0], dim));
  for (int64_t i = 0; i < l.count; i++) {
    const dl_pick *from = l.v;
    line_read(&l, i, reversed);
    int64_t k = fn(&l, c->arg, &from);
    line_write(&l, c, i, from, k);
    if ((i & 63) == 63 && (st = dl_poll()) != DL_OK) {
      lines_end(&l);
      return st;
    }
  }
  lines_end(&l);
  return DL_OK;
}

/* ---- sort, topk, kthvalue, median ------------------------------------------------ */
static int64_t sort_line(const lines *l, const dl_arg *arg, const dl_pick **from) {
  (void)arg;
  (void)from;
  dl_pick_sort(l->v, l->tmp, l->n);
  return l->n;
}

DL_KERNEL(sort) { return each_line(c, c->arg[1].i, c->arg[2].i, sort_line); }

static int64_t top_line(const lines *l, const dl_arg *arg, const dl_pick **from) {
  (void)from;
  int64_t k = l->x->ndim ? arg[1].i : 1; /* a 0-dim tensor gives itself whatever k is */
  dl_pick_top(l->v, k, l->n, arg[4].i);
  return k;
}

DL_KERNEL(topk) {
  if (c->out[0].numel == 0) return DL_OK;
  return each_line(c, c->arg[2].i, c->arg[3].i, top_line);
}

static int64_t kth_line(const lines *l, const dl_arg *arg, const dl_pick **from) {
  dl_pick_quick(l->v, arg[1].i - 1, l->n);
  *from = l->v + (arg[1].i - 1);
  return 1;
}

DL_KERNEL(kthvalue) { return each_line(c, c->arg[2].i, false, kth_line); }

static bool is_nan_key(dl_dtype d, uint64_t key) {
  return dl_dtype_is_float(d) && key == (d == DL_F64 ? UINT64_MAX : UINT32_MAX);
}

/* The lower median, of equals the one that a stable sort puts there; the first nan where there
 * is one. */
static int64_t median_line(const lines *l, const dl_arg *arg, const dl_pick **from) {
  (void)arg;
  for (int64_t j = 0; j < l->n; j++)
    if (is_nan_key((dl_dtype)l->x->dtype, l->v[j].key)) {
      *from = l->v + j;
      return 1;
    }
  dl_pick_sort(l->v, l->tmp, l->n);
  *from = l->v + (l->n - 1) / 2;
  return 1;
}

DL_KERNEL(median_dim) { return each_line(c, c->arg[1].i, false, median_line); }

DL_KERNEL(median) {
  const dl_view *x = &c->in[0], *out = &c->out[0];
  const int64_t one = 1;
  if (x->numel == 0) {
    if (dl_dtype_is_float((dl_dtype)out->dtype))
      dl_elem_set_f64((dl_dtype)out->dtype, out->data, (double)NAN);
    else dl_elem_set_i64((dl_dtype)out->dtype, out->data, INT64_MIN);
    return DL_OK;
  }
  dl_view flat = {.data = x->data,
                  .dtype = x->dtype,
                  .ndim = 1,
                  .numel = x->numel,
                  .size = &x->numel,
                  .stride = &one};
  lines l;
  const dl_pick *at;
  DL_TRY(lines_begin(&l, &flat, 0));
  line_read(&l, 0, false);
  median_line(&l, NULL, &at);
  dl_elem_copy(out->data, x->data + (size_t)at->at * l.es, l.es);
  lines_end(&l);
  return DL_OK;
}

/* ---- unique ---------------------------------------------------------------------- */
DL_KERNEL(unique) {
  const dl_view *x = &c->in[0];
  const int64_t one = 1;
  int64_t *inverse = (int64_t *)c->out[1].data, *counts = (int64_t *)c->out[2].data, k = -1;
  dl_view flat = {.data = x->data,
                  .dtype = x->dtype,
                  .ndim = 1,
                  .numel = x->numel,
                  .size = &x->numel,
                  .stride = &one};
  lines l;
  if (x->numel == 0) return DL_OK;
  DL_TRY(lines_begin(&l, &flat, 0));
  line_read(&l, 0, false);
  dl_pick_sort(l.v, l.tmp, l.n);
  for (int64_t i = 0; i < l.n; i++) {
    bool fresh =
        i == 0 || l.v[i].key != l.v[i - 1].key || is_nan_key((dl_dtype)x->dtype, l.v[i].key);
    if (fresh) {
      k++;
      dl_elem_copy(c->out[0].data + (size_t)k * l.es, x->data + (size_t)l.v[i].at * l.es, l.es);
      counts[k] = 0;
    }
    counts[k]++;
    inverse[l.v[i].at] = k;
  }
  lines_end(&l);
  return DL_OK;
}

/* ---- counting -------------------------------------------------------------------- */
DL_KERNEL(bincount) {
  const dl_view *x = &c->in[0], *w = &c->in[1], *out = &c->out[0];
  size_t es = dl_view_esize(x), oes = dl_view_esize(out);
  memset(out->data ? out->data : (char *)&es, 0, out->data ? (size_t)out->numel * oes : 0);
  for (int64_t i = 0; i < x->numel; i++) {
    int64_t b = dl_elem_get_i64((dl_dtype)x->dtype, x->data + (size_t)i * es);
    char *p = out->data + (size_t)b * oes;
    if (out->dtype == DL_I64) ++*(int64_t *)p;
    else
      dl_elem_set_f64((dl_dtype)out->dtype, p,
                      dl_elem_get_f64((dl_dtype)out->dtype, p) +
                          dl_elem_get_f64((dl_dtype)w->dtype,
                                          w->data + (size_t)i * dl_view_esize(w)));
  }
  return DL_OK;
}

static void data_range(const dl_view *x, double *lo, double *hi) {
  size_t es = dl_view_esize(x);
  for (int64_t i = 0; i < x->numel; i++) {
    double v = dl_elem_get_f64((dl_dtype)x->dtype, x->data + (size_t)i * es);
    if (i == 0 || v < *lo || v != v) *lo = v;
    if (i == 0 || v > *hi || v != v) *hi = v;
    if (v != v) return;
  }
}

DL_KERNEL(histc) {
  const dl_view *x = &c->in[0], *out = &c->out[0];
  double lo = dl_arg_f(&c->arg[2]), hi = dl_arg_f(&c->arg[3]), bins = (double)out->numel;
  size_t es = dl_view_esize(x), oes = dl_view_esize(out);
  if (lo == hi) data_range(x, &lo, &hi);
  if (lo - lo != 0 || hi - hi != 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "torch.histc: range of [%g, %g] is not finite",
                   lo, hi);
  if (lo == hi) {
    lo -= 1;
    hi += 1;
  }
  memset(out->data, 0, (size_t)out->numel * oes);
  for (int64_t i = 0; i < x->numel; i++) {
    double v = dl_elem_get_f64((dl_dtype)x->dtype, x->data + (size_t)i * es);
    if (!(v >= lo && v <= hi)) continue;
    int64_t b = x->dtype == DL_F32
                    ? (int64_t)((float)((float)(v - lo) * (float)bins) / (float)(hi - lo))
                    : (int64_t)((v - lo) * bins / (hi - lo));
    if (b >= out->numel) b = out->numel - 1;
    char *p = out->data + (size_t)b * oes;
    dl_elem_set_f64((dl_dtype)out->dtype, p, dl_elem_get_f64((dl_dtype)out->dtype, p) + 1);
  }
  return DL_OK;
}
