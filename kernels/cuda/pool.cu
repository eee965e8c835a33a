/* pool.cu -- kernels of max_pool2d, avg_pool2d, adaptive_avg_pool2d and their gradients
 *
 * Each works on planes (h, w): the leading dims do not matter. A thread takes one element of the
 * result; the gradient of a mean is collected from the windows that hold the element, in their
 * order, so that it needs no atomics. The gradient of a maximum goes where the index says: sums in
 * any order where windows overlap, as in PyTorch.
 *
 * INVARIANT  An index is the place of the largest element in its own plane, counted row by row.
 * SOURCE     ATen/native/cuda/{DilatedMaxPool2d,AveragePool2d,AdaptiveAveragePooling}.cu.
 * MUST NOT   know tensors. */
#include "pack.h"

namespace {

struct plane {
  int64_t h, w, oh, ow;          /* large side, small side */
  int64_t k[2], s[2], p[2], d[2];
  bool count_pad, adaptive;
  int64_t divisor;               /* 0 = by the window */
  dl_over by_w, by_h;            /* of the side that the threads run over */
};

void two(const dl_arg *a, int64_t out[2]) { out[0] = a->is[0], out[1] = a->is[a->n - 1]; }

void sizes(plane *j, const dl_view *large, const dl_view *small, bool over_large) {
  j->h = large->size[large->ndim - 2], j->w = large->size[large->ndim - 1];
  j->oh = small->size[small->ndim - 2], j->ow = small->size[small->ndim - 1];
  int64_t n = over_large ? large->numel : small->numel;
  j->by_w = dl_over_by(over_large ? j->w : j->ow, n);
  j->by_h = dl_over_by(over_large ? j->h : j->oh, n);
}

/* Element i of a side: its plane, row and column. */
struct spot { int64_t plane, y, x; };

DL_FN spot spot_of(const plane &j, int64_t i) {
  int64_t row = j.by_w.of(i), plane = j.by_h.of(row);
  return {plane, row - plane * j.by_h.n, i - row * j.by_w.n};
}

DL_FN int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
DL_FN int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- max ------------------------------------------------------------------------------------ */
/* First place of a window inside the input, in steps of the dilation. */
DL_FN int64_t first_inside(int64_t start, int64_t d) {
  return start >= 0 ? start : start + (-start + d - 1) / d * d;
}

/* A wide dilation can step over the whole input: then the result is `least`, index 0. */
template <class C>
__global__ void max_pool(plane j, int64_t n, int dtype, const void *x, void *y, int64_t *index,
                         C least) {
  DL_EACH(i, n) {
    spot o = spot_of(j, i);
    int64_t y0 = o.y * j.s[0] - j.p[0], x0 = o.x * j.s[1] - j.p[1];
    int64_t y1 = smaller(y0 + (j.k[0] - 1) * j.d[0] + 1, j.h);
    int64_t x1 = smaller(x0 + (j.k[1] - 1) * j.d[1] + 1, j.w);
    y0 = first_inside(y0, j.d[0]), x0 = first_inside(x0, j.d[1]);
    bool empty = y0 >= y1 || x0 >= x1;
    int64_t in = o.plane * j.h * j.w;
    int64_t at = empty ? 0 : y0 * j.w + x0;
    C best = empty ? least : dl_num_get(dtype, x, in + at, C());
    for (int64_t r = y0; r < y1; r += j.d[0])
      for (int64_t q = x0; q < x1; q += j.d[1]) {
        C v = dl_num_get(dtype, x, in + r * j.w + q, C());
        if (v > best || v != v) best = v, at = r * j.w + q;
      }
    dl_num_put(dtype, y, i, best);
    index[i] = at;
  }
}

/* The least number of a dtype. */
double least_of(int dtype) {
  if (dl_dtype_is_float((dl_dtype)dtype)) return -INFINITY;
  return dtype == DL_U8 || dtype == DL_BOOL ? 0 : -ldexp(1, 8 * dl_dtypes[dtype].size - 1);
}

template <class C>
__global__ void max_back(plane j, int64_t n, int dtype, const void *g, const int64_t *index, C *out,
                         dl_cuda_fault *fault) {
  DL_EACH(i, n) {
    int64_t at = index[i], area = j.h * j.w;
    if (at < 0 || at >= area) dl_fault(fault, DL_FAULT_UNPOOL);
    else atomicAdd(&out[spot_of(j, i).plane * area + at], dl_num_get(dtype, g, i, C()));
  }
}


/* ---- mean ----------------------------------------------------------------------------------- */
struct window { int64_t y0, y1, x0, x1, divisor; };

DL_FN window mean_window(const plane &j, int64_t oy, int64_t ox) {
  if (j.adaptive) {
    window v = {oy * j.h / j.oh, ((oy + 1) * j.h + j.oh - 1) / j.oh,
                ox * j.w / j.ow, ((ox + 1) * j.w + j.ow - 1) / j.ow, 0};
    v.divisor = (v.y1 - v.y0) * (v.x1 - v.x0);
    return v;
  }
  window v = {oy * j.s[0] - j.p[0], 0, ox * j.s[1] - j.p[1], 0, 0};
  v.y1 = smaller(v.y0 + j.k[0], j.h + j.p[0]), v.x1 = smaller(v.x0 + j.k[1], j.w + j.p[1]);
  int64_t padded = (v.y1 - v.y0) * (v.x1 - v.x0);
  v.y0 = larger(v.y0, 0), v.x0 = larger(v.x0, 0);
  v.y1 = smaller(v.y1, j.h), v.x1 = smaller(v.x1, j.w);
  int64_t inside = v.y1 > v.y0 && v.x1 > v.x0 ? (v.y1 - v.y0) * (v.x1 - v.x0) : 0;
  v.divisor = j.divisor ? j.divisor : j.count_pad ? padded : inside;
  if (!inside) v.divisor = 1; /* nothing to add: 0 */
  return v;
}

template <class C>
__global__ void mean(plane j, int64_t n, int dtype, const void *x, void *y) {
  DL_EACH(i, n) {
    spot o = spot_of(j, i);
    window v = mean_window(j, o.y, o.x);
    int64_t in = o.plane * j.h * j.w;
    C sum = 0;
    for (int64_t r = v.y0; r < v.y1; r++)
      for (int64_t q = v.x0; q < v.x1; q++)
        sum = dl_plus(sum, dl_num_get(dtype, x, in + r * j.w + q, C()));
    dl_num_put(dtype, y, i, sum / (C)v.divisor);
  }
}

/* The windows that hold place `at` of a dim: [lo, hi). */
struct windows { int64_t lo, hi; };

DL_FN windows holding(const plane &j, int dim, int64_t at) {
  int64_t large = dim ? j.w : j.h, small = dim ? j.ow : j.oh;
  if (j.adaptive) return {at * small / large, ((at + 1) * small + large - 1) / large};
  int64_t first = at + j.p[dim] - j.k[dim], last = (at + j.p[dim]) / j.s[dim];
  return {first < 0 ? 0 : first / j.s[dim] + 1, smaller(last + 1, small)};
}

template <class C>
__global__ void mean_back(plane j, int64_t n, int dtype, const void *g, void *out) {
  DL_EACH(i, n) {
    spot o = spot_of(j, i);
    windows ys = holding(j, 0, o.y), xs = holding(j, 1, o.x);
    int64_t from = o.plane * j.oh * j.ow;
    C sum = 0;
    for (int64_t oy = ys.lo; oy < ys.hi; oy++)
      for (int64_t ox = xs.lo; ox < xs.hi; ox++)
        sum += dl_num_get(dtype, g, from + oy * j.ow + ox, C()) /
               (C)mean_window(j, oy, ox).divisor;
    dl_num_put(dtype, out, i, sum);
  }
}

dl_status mean_run(dl_kcall *c, plane j, void *stream) {
  dl_cu_view x;
  const dl_view *y = &c->out[0];
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  sizes(&j, &x.v, y, false);
  DL_BY_NUMBER(y->dtype, DL_LAUNCH_EACH(mean<C>, y->numel, stream, j, y->numel, (int)y->dtype,
                                        (const void *)x.v.data, (void *)y->data));
  return DL_OK;
}

dl_status mean_back_run(dl_kcall *c, plane j, void *stream) {
  dl_cu_view g;
  const dl_view *out = &c->out[0];
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &g));
  sizes(&j, out, &g.v, true);
  DL_BY_REAL(out->dtype, DL_LAUNCH_EACH(mean_back<C>, out->numel, stream, j, out->numel,
                                        (int)out->dtype, (const void *)g.v.data,
                                        (void *)out->data));
  return DL_OK;
}

/* a: kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override */
plane mean_plane(const dl_arg *a) {
  plane j = {};
  two(&a[0], j.k), two(a[1].n ? &a[1] : &a[0], j.s), two(&a[2], j.p);
  j.count_pad = a[4].i;
  if (dl_arg_given(&a[5])) j.divisor = dl_arg_i(&a[5]);
  return j;
}

plane adaptive_plane() {
  plane j = {};
  j.adaptive = true;
  return j;
}

} /* namespace */

/* ---- rows ----------------------------------------------------------------------------------- */
DL_CUDA(max_pool2d_with_indices) {
  dl_cu_view x;
  plane j = {};
  const dl_view *y = &c->out[0], *at = &c->out[1];
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  sizes(&j, &x.v, y, false);
  two(&c->arg[1], j.k), two(c->arg[2].n ? &c->arg[2] : &c->arg[1], j.s);
  two(&c->arg[3], j.p), two(&c->arg[4], j.d);
  DL_BY_NUMBER(y->dtype, DL_LAUNCH_EACH(max_pool<C>, y->numel, stream, j, y->numel, (int)y->dtype,
                                        (const void *)x.v.data, (void *)y->data,
                                        reinterpret_cast<int64_t *>(at->data),
                                        (C)least_of(y->dtype)));
  return DL_OK;
}

/* arg: grad, indices, input_size; 16-bit floats are added up in float */
DL_CUDA(max_pool2d_backward) {
  dl_cu_view g, at, sum;
  plane j = {};
  const dl_view *out = &c->out[0];
  bool narrow = out->dtype != DL_F32 && out->dtype != DL_F64;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &g));
  DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &at));
  sum.v = *out;
  if (narrow) DL_TRY(dl_cu_like(out, DL_F32, stream, &sum));
  sizes(&j, out, &g.v, false);
  DL_TRY(dl_cu_zero(sum.v.data, sum.v.numel * dl_cu_esize(&sum.v), stream));
  DL_BY_REAL(out->dtype,
             DL_LAUNCH_EACH(max_back<C>, g.v.numel, stream, j, g.v.numel, (int)out->dtype,
                            (const void *)g.v.data, reinterpret_cast<int64_t *>(at.v.data),
                            reinterpret_cast<C *>(sum.v.data), dl_cuda_environment.fault));
  return narrow ? dl_cu_copy(out, &sum.v, stream) : DL_OK;
}

DL_CUDA(avg_pool2d) { return mean_run(c, mean_plane(&c->arg[1]), stream); }

/* arg: grad, input_size, then as above */
DL_CUDA(avg_pool2d_backward) { return mean_back_run(c, mean_plane(&c->arg[2]), stream); }

DL_CUDA(_adaptive_avg_pool2d) { return mean_run(c, adaptive_plane(), stream); }

DL_CUDA(_adaptive_avg_pool2d_backward) { return mean_back_run(c, adaptive_plane(), stream); }
