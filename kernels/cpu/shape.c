/* shape.c -- kernels that lay elements out anew: cat, stack, repeat, flip, roll, tril, padding …
 *
 * For dispatch. Nearly all is the one strided copy applied to parts of the result.
 * MUST NOT   know what the elements mean (but for the sum in as_strided_backward). */
#include "rows.h"

static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

static const int64_t *ints(const dl_arg *a, int *n) {
  *n = a->tag == DL_A_INTS ? a->n : a->tag == DL_A_INT ? 1 : 0;
  return a->tag == DL_A_INTS ? a->is : &a->i;
}

static void zero(const dl_view *contiguous) {
  if (contiguous->numel)
    memset(contiguous->data, 0, (size_t)contiguous->numel * dl_view_esize(contiguous));
}

/* ---- joining --------------------------------------------------------------------- */
DL_KERNEL(cat) {
  const dl_view *out = &c->out[0];
  int dim = wrapped(c->arg[1].i, out->ndim);
  int64_t at = 0;
  for (int k = 0; k < c->nlist; k++) {
    const dl_view *x = &c->list[k];
    if (x->numel == 0) continue;
    dl_view part = dl_view_part(out, at * out->stride[dim], x->ndim, x->size, out->stride);
    dl_copy_view(&part, x);
    at += x->size[dim];
  }
  return DL_OK;
}

DL_KERNEL(stack) {
  const dl_view *out = &c->out[0];
  int dim = wrapped(c->arg[1].i, out->ndim);
  int64_t stride[DL_MAXDIM];
  for (int d = 0, k = 0; d < out->ndim; d++)
    if (d != dim) stride[k++] = out->stride[d];
  for (int k = 0; k < c->nlist; k++) {
    const dl_view *x = &c->list[k];
    dl_view part = dl_view_part(out, k * out->stride[dim], x->ndim, x->size, stride);
    dl_copy_view(&part, x);
  }
  return DL_OK;
}

/* One copy for each combination of repeats; a dim of size 1 is repeated inside the copy (stride
 * 0). */
DL_KERNEL(repeat) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int n, lead = out->ndim - x->ndim;
  const int64_t *repeats = ints(&c->arg[1], &n);
  int64_t size[DL_MAXDIM], step[DL_MAXDIM], stride[DL_MAXDIM], times[DL_MAXDIM];
  if (out->numel == 0) return DL_OK;
  for (int d = 0; d < n; d++) {
    int64_t old = d < lead ? 1 : x->size[d - lead];
    size[d] = old == 1 ? repeats[d] : old;
    times[d] = old == 1 ? 1 : repeats[d];
    stride[d] = old == 1 ? 0 : x->stride[d - lead];
    step[d] = size[d] * out->stride[d];
  }
  dl_walk w;
  dl_walk_begin(&w, n, times, -1);
  dl_walk_add(&w, n, step, -1);
  dl_view from = dl_view_part(x, 0, n, size, stride);
  for (; w.left > 0; dl_walk_next(&w)) {
    dl_view part = dl_view_part(out, w.off[0], n, size, out->stride);
    dl_copy_view(&part, &from);
  }
  return DL_OK;
}

/* ---- reordering ------------------------------------------------------------------ */
DL_KERNEL(flip) {
  const dl_view *x = &c->in[0];
  int64_t stride[DL_MAXDIM], start = 0;
  if (x->numel == 0) return DL_OK;
  for (int d = 0; d < x->ndim; d++) {
    bool turn = c->dims & (1u << d);
    stride[d] = turn ? -x->stride[d] : x->stride[d];
    if (turn) start += (x->size[d] - 1) * x->stride[d];
  }
  dl_view from = dl_view_part(x, start, x->ndim, x->size, stride);
  dl_copy_view(&c->out[0], &from);
  return DL_OK;
}

/* The result is cut at shift[d] along each rolled dim: 2^k blocks, each one copy. */
static void roll_blocks(const dl_view *out, const dl_view *x, int d, const int64_t *shift,
                        int64_t *size, int64_t to, int64_t from) {
  if (d == x->ndim) {
    dl_view dst = dl_view_part(out, to, d, size, out->stride),
            src = dl_view_part(x, from, d, size, x->stride);
    dl_copy_view(&dst, &src);
    return;
  }
  int64_t n = x->size[d], s = shift[d];
  size[d] = n - s;
  if (size[d]) roll_blocks(out, x, d + 1, shift, size, to + s * out->stride[d], from);
  size[d] = s;
  if (s) roll_blocks(out, x, d + 1, shift, size, to, from + (n - s) * x->stride[d]);
}

static int64_t modulo(int64_t a, int64_t n) { return n ? (a % n + n) % n : 0; }

/* Without dims the tensor is rolled as if flat. */
static dl_status roll_flat(dl_kcall *c, int64_t by) {
  const dl_view *x = &c->in[0];
  size_t es = dl_view_esize(x);
  int64_t n = x->numel, s = modulo(by, n);
  void *buf;
  DL_TRY(dl_scratch((size_t)n * es, &buf));
  int64_t stride[DL_MAXDIM];
  dl_strides_contig(x->ndim, x->size, stride);
  dl_view flat = {.data = buf,
                  .dtype = x->dtype,
                  .ndim = x->ndim,
                  .numel = n,
                  .size = x->size,
                  .stride = stride};
  dl_copy_view(&flat, x);
  memcpy(c->out[0].data + (size_t)s * es, buf, (size_t)(n - s) * es);
  memcpy(c->out[0].data, (char *)buf + (size_t)(n - s) * es, (size_t)s * es);
  dl_scratch_free(buf, (size_t)n * es);
  return DL_OK;
}

DL_KERNEL(roll) {
  const dl_view *x = &c->in[0];
  int n, m;
  const int64_t *by = ints(&c->arg[1], &n), *dims = ints(&c->arg[2], &m);
  int64_t shift[DL_MAXDIM] = {0}, size[DL_MAXDIM];
  if (x->numel == 0) return DL_OK;
  if (m == 0) return roll_flat(c, by[0]);
  for (int k = 0; k < m; k++) {
    int d = wrapped(dims[k], x->ndim);
    shift[d] = modulo(shift[d] + modulo(by[k], x->size[d]), x->size[d]);
  }
  roll_blocks(&c->out[0], x, 0, shift, size, 0, 0);
  return DL_OK;
}

/* ---- triangles and diagonals ----------------------------------------------------- */
static int64_t between(int64_t i, int64_t lo, int64_t hi) { return i < lo ? lo : i > hi ? hi : i; }

/* A row keeps columns [from, to). */
static dl_status triangle(dl_kcall *c, bool lower) {
  const dl_view *x = &c->in[0], *out = &c->out[0];
  int n = x->ndim, rows = n - 2, cols = n - 1;
  int64_t width = x->size[cols], k = between(c->arg[1].i, -x->size[rows] - 1, width);
  size_t es = dl_view_esize(x);
  dl_walk w;
  dl_walk_begin(&w, n, x->size, cols);
  dl_walk_add(&w, n, out->stride, cols);
  dl_walk_add(&w, n, x->stride, cols);
  for (; w.left > 0 && width; dl_walk_next(&w)) {
    int64_t cut = w.at[rows] + k + (lower ? 1 : 0), ds = out->stride[cols], ss = x->stride[cols];
    cut = cut < 0 ? 0 : cut > width ? width : cut;
    int64_t from = lower ? 0 : cut, to = lower ? cut : width;
    char *d = out->data + w.off[0] * (int64_t)es;
    const char *s = x->data + w.off[1] * (int64_t)es;
    if (d != s)
      dl_row_copy(es, d + from * ds * (int64_t)es, ds, s + from * ss * (int64_t)es, ss, to - from);
    for (int64_t i = 0; i < from; i++) memset(d + i * ds * (int64_t)es, 0, es);
    for (int64_t i = to; i < width; i++) memset(d + i * ds * (int64_t)es, 0, es);
  }
  return DL_OK;
}

DL_KERNEL(tril) { return triangle(c, true); }
DL_KERNEL(triu) { return triangle(c, false); }

DL_KERNEL(diag_embed) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int64_t off = c->arg[1].i, stride[DL_MAXDIM];
  int a = wrapped(c->arg[2].i, out->ndim), b = wrapped(c->arg[3].i, out->ndim), n = 0;
  zero(out);
  for (int d = 0; d < out->ndim; d++)
    if (d != a && d != b) stride[n++] = out->stride[d];
  stride[n] = out->stride[a] + out->stride[b];
  int64_t start = off >= 0 ? off * out->stride[b] : -off * out->stride[a];
  dl_view part = dl_view_part(out, x->numel ? start : 0, x->ndim, x->size, stride);
  dl_copy_view(&part, x);
  return DL_OK;
}

/* ---- padding --------------------------------------------------------------------- */
static void fill_all(const dl_view *out, double value) {
  uint64_t elem = 0;
  int64_t none[DL_MAXDIM] = {0};
  dl_elem_set_f64((dl_dtype)out->dtype, &elem, value);
  dl_view one = {.data = (char *)&elem, .dtype = out->dtype, .ndim = out->ndim, .numel = out->numel,
                 .size = out->size, .stride = none};
  dl_copy_view(out, &one);
}

/* Negative padding crops. */
DL_KERNEL(constant_pad) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int n;
  const int64_t *pad = ints(&c->arg[1], &n);
  int64_t size[DL_MAXDIM], to = 0, from = 0;
  if (out->numel == 0) return DL_OK;
  fill_all(out, dl_arg_f(&c->arg[2]));
  for (int d = 0; d < x->ndim; d++) {
    int k = x->ndim - 1 - d;
    int64_t before = 2 * k < n ? pad[2 * k] : 0, after = 2 * k < n ? pad[2 * k + 1] : 0;
    size[d] = x->size[d] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    if (size[d] <= 0) return DL_OK;
    to += (before > 0 ? before : 0) * out->stride[d];
    from += (before < 0 ? -before : 0) * x->stride[d];
  }
  dl_view dst = dl_view_part(out, to, x->ndim, size, out->stride);
  dl_view src = dl_view_part(x, from, x->ndim, size, x->stride);
  dl_copy_view(&dst, &src);
  return DL_OK;
}

/* ---- backwards of views ---------------------------------------------------------- */
DL_KERNEL(select_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int dim = wrapped(c->arg[2].i, out->ndim);
  int64_t i = c->arg[3].i, stride[DL_MAXDIM];
  zero(out);
  if (g->numel == 0) return DL_OK;
  for (int d = 0, k = 0; d < out->ndim; d++)
    if (d != dim) stride[k++] = out->stride[d];
  if (i < 0) i += out->size[dim];
  dl_view part = dl_view_part(out, i * out->stride[dim], g->ndim, g->size, stride);
  dl_copy_view(&part, g);
  return DL_OK;
}

DL_KERNEL(slice_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int dim = wrapped(c->arg[2].i, out->ndim);
  int64_t start = c->arg[3].i, stride[DL_MAXDIM];
  zero(out);
  if (g->numel == 0) return DL_OK;
  memcpy(stride, out->stride, (size_t)out->ndim * sizeof *stride);
  stride[dim] *= c->arg[5].i;
  if (start < 0) start += out->size[dim];
  if (start < 0) start = 0;
  dl_view part = dl_view_part(out, start * out->stride[dim], g->ndim, g->size, stride);
  dl_copy_view(&part, g);
  return DL_OK;
}

/* Places of the strided view may coincide: their gradients add up. */
DL_KERNEL(as_strided_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int n, m;
  const int64_t *size = ints(&c->arg[2], &n), *stride = ints(&c->arg[3], &m);
  int64_t offset = c->arg[4].i, es = (int64_t)dl_view_esize(out);
  dl_dtype d = (dl_dtype)out->dtype;
  zero(out);
  dl_walk w;
  dl_walk_begin(&w, n, size, -1);
  dl_walk_add(&w, n, stride, -1);
  dl_walk_add(&w, n, g->stride, -1);
  for (; w.left > 0; dl_walk_next(&w)) {
    int64_t at = offset + w.off[0];
    if (at < 0 || at >= out->numel) continue; /* outside this base: nothing to give */
    char *p = out->data + at * es;
    double sum =
        dl_elem_get_f64(d, p) + dl_elem_get_f64((dl_dtype)g->dtype, g->data + w.off[1] * es);
    dl_elem_set_f64(d, p, sum);
  }
  return DL_OK;
}
