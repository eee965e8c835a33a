/* gather.c -- picking and writing along one dim by an index of the same rank; searchsorted
 *
 * For dispatch: gather, scatter, scatter_add, searchsorted.
 * INVARIANT  scatter checks every index before the first element is written. */
#include "rows.h"

/* A view of at least one dim; 0-dim views count as one element. */
typedef struct lane { int64_t size[DL_MAXDIM], stride[DL_MAXDIM]; char *data; size_t es; } lane;

static lane lane_of(const dl_view *v) {
  lane l = {.size = {1},
            .stride = {1},
            .data = v->data,
            .es = v->dtype == DL_NODTYPE ? 0 : dl_view_esize(v)};
  for (int d = 0; d < v->ndim; d++) {
    l.size[d] = v->size[d];
    l.stride[d] = v->stride[d];
  }
  return l;
}

static int rank_of(const dl_view *idx) { return idx->ndim ? idx->ndim : 1; }

static dl_status out_of_bounds(int64_t i, int dim, int64_t n) {
  return dl_fail(DL_RuntimeError, DL_E_INDEX,
                 "index %lld is out of bounds for dimension %d with size %lld", (long long)i, dim,
                 (long long)n);
}

static dl_status check_all(const dl_view *idx, int dim, int64_t n) {
  int last = idx->ndim - 1;
  int64_t inner = idx->ndim ? idx->size[last] : 1, step = idx->ndim ? idx->stride[last] : 0;
  dl_walk w;
  dl_walk_begin(&w, idx->ndim, idx->size, last);
  dl_walk_add(&w, idx->ndim, idx->stride, last);
  for (; w.left > 0; dl_walk_next(&w)) {
    for (int64_t k = 0; k < inner; k++) {
      int64_t i = dl_index_at(idx, w.off[0] + k * step);
      if (i < 0 || i >= n) return out_of_bounds(i, dim, n);
    }
  }
  return DL_OK;
}

typedef struct job {
  const dl_view *idx;
  lane i, near, far;             /* near has the index's shape, far is picked from or written to */
  int nd, dim;
  enum { PICK, PUT, ADD } what;
  dl_dtype dtype;
} job;

/* The common line: int64 indices, elements of 4 or 8 bytes, no sum. */
#define LINE(type)                                                                   \
  for (int64_t k = 0; k < n; k++) {                                                  \
    type *a = (type *)near + k * ns, *b = (type *)far + i[k * is] * fs;              \
    if (pick) *a = *b;                                                               \
    else *b = *a;                                                                    \
  }

static bool plain_line(const job *j, const dl_walk *w, int64_t n) {
  int64_t is = j->i.stride[j->dim], ns = j->near.stride[j->dim], fs = j->far.stride[j->dim];
  int64_t es = (int64_t)dl_dtype_size(j->dtype);
  const int64_t *i = (const int64_t *)j->idx->data + w->off[0];
  char *near = j->near.data + w->off[1] * es, *far = j->far.data + w->off[2] * es;
  bool pick = j->what == PICK;
  if (j->what == ADD && j->dtype == DL_F32) {
    for (int64_t k = 0; k < n; k++) ((float *)far)[i[k * is] * fs] += ((float *)near)[k * ns];
    return true;
  }
  if (j->what == ADD || es < 4) return false;
  if (es == 4) LINE(uint32_t)
  else LINE(uint64_t)
  return true;
}

/* Lines [lo, hi): all positions of the index's shape but `dim`. */
static void run_lines(void *ctx, int64_t lo, int64_t hi) {
  const job *j = ctx;
  int64_t n = j->i.size[j->dim], es = (int64_t)dl_dtype_size(j->dtype);
  dl_walk w;
  dl_walk_begin(&w, j->nd, j->i.size, j->dim);
  dl_walk_add(&w, j->nd, j->i.stride, j->dim);
  dl_walk_add(&w, j->nd, j->near.stride, j->dim);
  dl_walk_add(&w, j->nd, j->far.stride, j->dim);
  for (dl_walk_seek(&w, lo, hi - lo); w.left > 0; dl_walk_next(&w)) {
    if (j->idx->dtype == DL_I64 && plain_line(j, &w, n)) continue;
    for (int64_t k = 0; k < n; k++) {
      int64_t at = dl_index_at(j->idx, w.off[0] + k * j->i.stride[j->dim]);
      char *near = j->near.data + (w.off[1] + k * j->near.stride[j->dim]) * es;
      char *far = j->far.data + (w.off[2] + at * j->far.stride[j->dim]) * es;
      if (j->what == PICK) dl_elem_copy(near, far, (size_t)es);
      else if (j->what == PUT) dl_elem_copy(far, near, (size_t)es);
      else dl_row_add(j->dtype, far, 1, near, 1, 1, 1, 1);
    }
  }
}

static dl_status run(job *j, const dl_view *far) {
  if (j->idx->numel == 0) return DL_OK;
  j->nd = rank_of(j->idx);
  j->i = lane_of(j->idx);
  j->far = lane_of(far);
  j->dtype = (dl_dtype)far->dtype;
  DL_TRY(check_all(j->idx, j->dim, j->far.size[j->dim]));
  int64_t lines = j->idx->numel / j->i.size[j->dim], n = j->i.size[j->dim];
  int64_t grain = n >= 8192 ? 1 : 8192 / n;
  if (j->what == PICK) return dl_parallel(lines, grain, run_lines, j);
  for (int64_t lo = 0; lo < lines; lo += grain * 64) { /* one thread: the last write wins */
    run_lines(j, lo, lo + grain * 64 < lines ? lo + grain * 64 : lines);
    DL_TRY(dl_poll());
  }
  return DL_OK;
}

static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

DL_KERNEL(gather) {
  job j = {.idx = &c->in[1], .dim = wrapped(c->arg[1].i, c->in[0].ndim), .what = PICK};
  j.near = lane_of(&c->out[0]);
  return run(&j, &c->in[0]);
}

static dl_status write_lines(dl_kcall *c, const dl_view *src, bool add) {
  job j = {.idx = &c->in[1], .dim = wrapped(c->arg[1].i, c->out[0].ndim), .what = add ? ADD : PUT};
  j.near = lane_of(src);
  return run(&j, &c->out[0]);
}

/* A number (or a 0-dim tensor of another dtype) is converted once and read with stride 0. */
DL_KERNEL(scatter) {
  const dl_view *src = &c->in[2];
  if (!dl_arg_is_num(&c->arg[3]) && src->dtype == c->out[0].dtype)
    return write_lines(c, src, false);
  uint64_t elem = 0;
  const int64_t still[DL_MAXDIM] = {0};
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  if (dl_dtype_is_float((dl_dtype)src->dtype))
    dl_elem_set_f64(d, &elem, dl_elem_get_f64((dl_dtype)src->dtype, src->data));
  else dl_elem_set_i64(d, &elem, dl_elem_get_i64((dl_dtype)src->dtype, src->data));
  dl_view one = {.data = (char *)&elem,
                 .dtype = (uint8_t)d,
                 .ndim = c->in[1].ndim,
                 .numel = c->in[1].numel,
                 .size = c->in[1].size,
                 .stride = still};
  return write_lines(c, &one, false);
}

DL_KERNEL(scatter_add) { return write_lines(c, &c->in[2], true); }

/* ---- searchsorted ---------------------------------------------------------------- */
typedef struct {
  const dl_view *seq, *val;
  int64_t n, per;
  bool right, exact;
  int64_t *out;
} search;

static bool goes_right(const search *s, int64_t mid, int64_t v) {
  const char *a = s->seq->data + (size_t)mid * dl_view_esize(s->seq);
  const char *b = s->val->data + (size_t)v * dl_view_esize(s->val);
  dl_dtype ta = (dl_dtype)s->seq->dtype, tb = (dl_dtype)s->val->dtype;
  if (s->exact) {
    int64_t x = dl_elem_get_i64(ta, a), y = dl_elem_get_i64(tb, b);
    return s->right ? !(x > y) : !(x >= y);
  }
  double x = dl_elem_get_f64(ta, a), y = dl_elem_get_f64(tb, b);
  return s->right ? !(x > y) : !(x >= y);
}

static void search_run(void *ctx, int64_t lo, int64_t hi) {
  const search *s = ctx;
  for (int64_t i = lo; i < hi; i++) {
    int64_t row = s->per ? i / s->per * s->n : 0, a = row, b = row + s->n;
    while (a < b) {
      int64_t mid = a + (b - a) / 2;
      if (goes_right(s, mid, i)) a = mid + 1;
      else b = mid;
    }
    s->out[i] = a - row;
  }
}

/* Rows of the sequence go with rows of the values; a 1-dim sequence serves all values. */
DL_KERNEL(searchsorted) {
  const dl_view *seq = &c->in[0], *val = &c->in[1];
  search s = {.seq = seq,
              .val = val,
              .n = seq->size[seq->ndim - 1],
              .right = c->arg[2].i,
              .exact = !dl_dtype_is_float((dl_dtype)seq->dtype) &&
                       !dl_dtype_is_float((dl_dtype)val->dtype),
              .out = (int64_t *)c->out[0].data};
  if (seq->ndim > 1) s.per = val->size[val->ndim - 1];
  return dl_parallel(c->out[0].numel, 1024, search_run, &s);
}
