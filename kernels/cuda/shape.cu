/* shape.cu -- kernels that lay elements out anew: cat, stack, repeat, flip, roll, tril, padding …
 *
 * For table.cu. Nearly all is the one strided copy applied to parts of the result.
 * MUST NOT   know what the elements mean (but for the sum in as_strided_backward). */
#include "geo.h"
#include "order.h"

#include <string.h>

static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

static const int64_t *ints(const dl_arg *a, int *n) {
  *n = a->tag == DL_A_INTS ? a->n : a->tag == DL_A_INT ? 1 : 0;
  return a->tag == DL_A_INTS ? a->is : &a->i;
}

/* The part of v that begins `off` elements on, with sizes and strides of its own. */
static dl_view part_of(const dl_view *v, int64_t off, int ndim, const int64_t *size,
                       const int64_t *stride) {
  dl_view p = *v;
  p.data = v->data ? v->data + off * dl_cu_esize(v) : NULL;
  p.ndim = (uint8_t)ndim;
  p.numel = 1;
  for (int d = 0; d < ndim; d++) p.numel *= size[d];
  p.size = size;
  p.stride = stride;
  return p;
}

static __global__ void put_number(void *out, int dtype, int64_t n, double v) {
  DL_EACH(i, n) dl_put(dtype, out, i, v);
}
/* Every element of a contiguous view becomes v. */
static void fill(const dl_view *out, double v, void *stream) {
  if (v == 0) dl_cu_zero(out->data, out->numel * dl_cu_esize(out), stream);
  else DL_LAUNCH_EACH(put_number, out->numel, stream, out->data, out->dtype, out->numel, v);
}

/* ---- joining --------------------------------------------------------------------------------- */
DL_CUDA(cat) {
  const dl_view *out = &c->out[0];
  int dim = wrapped(c->arg[1].i, out->ndim);
  int64_t at = 0;
  for (int k = 0; k < c->nlist; k++) {
    const dl_view *x = &c->list[k];
    if (x->numel == 0) continue;
    dl_view part = part_of(out, at * out->stride[dim], x->ndim, x->size, out->stride);
    DL_TRY(dl_cu_copy(&part, x, stream));
    at += x->size[dim];
  }
  return DL_OK;
}

DL_CUDA(stack) {
  const dl_view *out = &c->out[0];
  int dim = wrapped(c->arg[1].i, out->ndim);
  int64_t stride[DL_MAXDIM];
  for (int d = 0, k = 0; d < out->ndim; d++)
    if (d != dim) stride[k++] = out->stride[d];
  for (int k = 0; k < c->nlist; k++) {
    const dl_view *x = &c->list[k];
    dl_view part = part_of(out, k * out->stride[dim], x->ndim, x->size, stride);
    DL_TRY(dl_cu_copy(&part, x, stream));
  }
  return DL_OK;
}

/* ---- one element of the result, one of the source -------------------------------------------- */
/* Element p along dim d of the result is element (p + shift[d]) mod from[d] of the source. */
struct turn_call {
  void *out;
  const void *x;
  int nd;
  int64_t n, size[DL_MAXDIM], shift[DL_MAXDIM], from[DL_MAXDIM], stride[DL_MAXDIM];
};

template <class W> __global__ void take_turned(turn_call p) {
  DL_EACH(i, p.n) {
    int64_t rest = i, at = 0;
    for (int d = p.nd - 1; d >= 0; d--) {
      int64_t k = rest % p.size[d] + p.shift[d];
      rest /= p.size[d];
      at += k % p.from[d] * p.stride[d];
    }
    ((W *)p.out)[i] = ((const W *)p.x)[at];
  }
}

static void turn(const dl_view *out, turn_call *p, void *stream) {
  p->out = out->data;
  p->n = out->numel;
  DL_BY_SIZE(out->dtype, DL_LAUNCH_EACH(take_turned<T>, p->n, stream, *p));
}

DL_CUDA(repeat) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  turn_call p = {};
  int lead = out->ndim - x->ndim;
  p.x = x->data;
  p.nd = out->ndim;
  for (int d = 0; d < out->ndim; d++) {
    p.size[d] = out->size[d];
    p.from[d] = d < lead ? 1 : x->size[d - lead];
    p.stride[d] = d < lead ? 0 : x->stride[d - lead];
  }
  turn(out, &p, stream);
  return DL_OK;
}

static int64_t modulo(int64_t a, int64_t n) { return n ? (a % n + n) % n : 0; }

DL_CUDA(roll) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int n, m;
  const int64_t *by = ints(&c->arg[1], &n), *dims = ints(&c->arg[2], &m);
  turn_call p = {};
  dl_cu_view flat;
  if (x->numel == 0) return DL_OK;
  p.x = x->data;
  p.nd = x->ndim;
  for (int d = 0; d < x->ndim; d++) {
    p.size[d] = p.from[d] = x->size[d];
    p.stride[d] = x->stride[d];
  }
  for (int k = 0; k < m; k++) {
    int d = wrapped(dims[k], x->ndim);
    p.shift[d] = modulo(p.shift[d] - by[k], p.size[d]);
  }
  if (m == 0) {                  /* as if the tensor were flat */
    DL_TRY(dl_cu_contig(x, DL_NODTYPE, stream, &flat));
    p.x = flat.v.data;
    p.nd = 1;
    p.size[0] = p.from[0] = x->numel;
    p.stride[0] = 1;
    p.shift[0] = modulo(-by[0], x->numel);
  }
  turn(out, &p, stream);
  return DL_OK;
}

DL_CUDA(flip) {
  const dl_view *x = &c->in[0];
  int64_t stride[DL_MAXDIM], start = 0;
  if (x->numel == 0) return DL_OK;
  for (int d = 0; d < x->ndim; d++) {
    bool back = c->dims & (1u << d);
    stride[d] = back ? -x->stride[d] : x->stride[d];
    if (back) start += (x->size[d] - 1) * x->stride[d];
  }
  dl_view from = part_of(x, start, x->ndim, x->size, stride);
  return dl_cu_copy(&c->out[0], &from, stream);
}

/* ---- triangles and diagonals ----------------------------------------------------------------- */
template <class W>
__global__ void keep_triangle(W *out, const W *x, dl_geo<2> g, int64_t rows, int64_t cols,
                              int64_t diagonal, bool lower) {
  DL_EACH(i, g.numel) {
    int64_t col = i % cols, row = i / cols % rows, off[2];
    bool keep = lower ? col - row <= diagonal : col - row >= diagonal;
    g.place(i, off);
    out[off[0]] = keep ? x[off[1]] : (W)0;
  }
}
static dl_status triangle(dl_kcall *c, bool lower, void *stream) {
  const dl_view *x = &c->in[0], *out = &c->out[0];
  int n = x->ndim;
  dl_geo<2> g;
  const int64_t *stride[2] = {out->stride, x->stride};
  if (x->numel == 0) return DL_OK;
  dl_geo_make(&g, n, x->size, stride);
  DL_BY_SIZE(x->dtype, DL_LAUNCH_EACH(keep_triangle<T>, x->numel, stream, (T *)out->data,
                                      (const T *)x->data, g, x->size[n - 2], x->size[n - 1],
                                      c->arg[1].i, lower));
  return DL_OK;
}
DL_CUDA(tril) { return triangle(c, true, stream); }
DL_CUDA(triu) { return triangle(c, false, stream); }

DL_CUDA(diag_embed) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int64_t off = c->arg[1].i, stride[DL_MAXDIM];
  int a = wrapped(c->arg[2].i, out->ndim), b = wrapped(c->arg[3].i, out->ndim), n = 0;
  fill(out, 0, stream);
  for (int d = 0; d < out->ndim; d++)
    if (d != a && d != b) stride[n++] = out->stride[d];
  stride[n] = out->stride[a] + out->stride[b];
  int64_t start = off >= 0 ? off * out->stride[b] : -off * out->stride[a];
  dl_view part = part_of(out, x->numel ? start : 0, x->ndim, x->size, stride);
  return dl_cu_copy(&part, x, stream);
}

/* ---- padding --------------------------------------------------------------------------------- */
/* Negative padding crops. */
DL_CUDA(constant_pad) {
  const dl_view *out = &c->out[0], *x = &c->in[0];
  int n;
  const int64_t *pad = ints(&c->arg[1], &n);
  int64_t size[DL_MAXDIM], to = 0, from = 0;
  if (out->numel == 0) return DL_OK;
  fill(out, dl_arg_f(&c->arg[2]), stream);
  for (int d = 0; d < x->ndim; d++) {
    int k = x->ndim - 1 - d;
    int64_t before = 2 * k < n ? pad[2 * k] : 0, after = 2 * k < n ? pad[2 * k + 1] : 0;
    size[d] = x->size[d] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
    if (size[d] <= 0) return DL_OK;
    to += (before > 0 ? before : 0) * out->stride[d];
    from += (before < 0 ? -before : 0) * x->stride[d];
  }
  dl_view dst = part_of(out, to, x->ndim, size, out->stride);
  dl_view src = part_of(x, from, x->ndim, size, x->stride);
  return dl_cu_copy(&dst, &src, stream);
}

/* ---- backwards of views ---------------------------------------------------------------------- */
DL_CUDA(select_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int dim = wrapped(c->arg[2].i, out->ndim);
  int64_t i = c->arg[3].i, stride[DL_MAXDIM];
  fill(out, 0, stream);
  if (g->numel == 0) return DL_OK;
  for (int d = 0, k = 0; d < out->ndim; d++)
    if (d != dim) stride[k++] = out->stride[d];
  if (i < 0) i += out->size[dim];
  dl_view part = part_of(out, i * out->stride[dim], g->ndim, g->size, stride);
  return dl_cu_copy(&part, g, stream);
}

DL_CUDA(slice_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int dim = wrapped(c->arg[2].i, out->ndim);
  int64_t start = c->arg[3].i, stride[DL_MAXDIM];
  fill(out, 0, stream);
  if (g->numel == 0) return DL_OK;
  memcpy(stride, out->stride, (size_t)out->ndim * sizeof *stride);
  stride[dim] *= c->arg[5].i;
  if (start < 0) start += out->size[dim];
  if (start < 0) start = 0;
  dl_view part = part_of(out, start * out->stride[dim], g->ndim, g->size, stride);
  return dl_cu_copy(&part, g, stream);
}

static __device__ __forceinline__ int64_t key_at(const dl_cu_order &o, int64_t i) {
  return (int64_t)((const uint64_t *)o.key)[i];
}
/* Which element of the base each element of the view lies on; `numel` for those outside. */
static __global__ void view_places(uint64_t *place, dl_geo<1> v, int64_t offset, int64_t numel) {
  DL_EACH(i, v.numel) {
    int64_t off[1];
    v.place(i, off);
    int64_t at = offset + off[0];
    place[i] = (uint64_t)(at < 0 || at >= numel ? numel : at);
  }
}
/* The elements of the view in order of their places: the first on a place adds up all on it, in
 * the view's order. */
template <class C>
__global__ void add_runs(void *out, int dtype, int64_t numel, const void *g, int gtype,
                         dl_geo<1> places, dl_cu_order o) {
  DL_EACH(i, o.n) {
    int64_t at = key_at(o, i), off[1];
    if (at == numel || (i > 0 && key_at(o, i - 1) == at)) continue;
    C sum = 0;
    for (int64_t k = i; k < o.n && key_at(o, k) == at; k++) {
      places.place(o.at[k], off);
      dl_put(dtype, out, at, sum + dl_get<C>(gtype, g, off[0]));
      sum = dl_get<C>(dtype, out, at);
    }
  }
}

/* Places of the strided view may coincide: their gradients add up, each sum rounded. */
DL_CUDA(as_strided_backward) {
  const dl_view *out = &c->out[0], *g = &c->in[0];
  int n, m;
  const int64_t *size = ints(&c->arg[2], &n), *stride = ints(&c->arg[3], &m);
  dl_geo<1> view, from;
  dl_cu_order o;
  void *places;
  fill(out, 0, stream);
  if (g->numel == 0) return DL_OK;
  dl_geo_make(&view, n, size, &stride);
  dl_geo_make(&from, n, size, &g->stride);
  DL_TRY(dl_cu_scratch((size_t)g->numel * sizeof(uint64_t), stream, &places));
  DL_LAUNCH_EACH(view_places, g->numel, stream, (uint64_t *)places, view, c->arg[4].i, out->numel);
  DL_TRY(dl_cu_order_indices((uint64_t *)places, g->numel, (uint64_t)out->numel + 1, stream, &o));
  if (out->dtype == DL_F64)
    DL_LAUNCH_EACH(add_runs<double>, g->numel, stream, out->data, out->dtype, out->numel, g->data,
                   g->dtype, from, o);
  else
    DL_LAUNCH_EACH(add_runs<float>, g->numel, stream, out->data, out->dtype, out->numel, g->data,
                   g->dtype, from, o);
  return DL_OK;
}
