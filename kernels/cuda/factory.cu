/* factory.cu -- tensors from nothing: fills, sequences, the identity
 *
 * For table.cu. Sequences are computed in double (float32's in linspace as PyTorch does), element
 * by element. */
#include "geo.h"

#include <string.h>

/* ---- fills ----------------------------------------------------------------------------------- */
template <class W> __global__ void fill_words(W *d, W v, dl_geo<1> g) {
  DL_EACH(i, g.numel) {
    int64_t off[1];
    g.place(i, off);
    d[off[0]] = v;
  }
}
struct alignas(16) sixteen { uint64_t a, b; };
static __global__ void fill_flat(sixteen *d, sixteen v, int64_t n) { DL_EACH(i, n) d[i] = v; }

template <class W> static void fill_as(const dl_view *v, const void *elem, void *stream) {
  W w, *d = (W *)v->data;
  memcpy(&w, elem, sizeof w);
  dl_geo<1> g;
  dl_geo_make(&g, v->ndim, v->size, &v->stride);
  int64_t whole = 0, many = 16 / (int64_t)sizeof w;
  if (dl_cu_is_contig(v) && (uintptr_t)d % 16 == 0) {
    sixteen pattern;
    for (int64_t i = 0; i < many; i++) memcpy((W *)&pattern + i, &w, sizeof w);
    whole = v->numel / many;
    DL_LAUNCH_EACH(fill_flat, whole, stream, (sixteen *)d, pattern, whole);
    g.nd = 1;
    g.stride[0][0] = 1;
    g.size[0] = g.numel = v->numel - whole * many;
  }
  DL_LAUNCH_EACH(fill_words<W>, g.numel, stream, d + whole * many, w, g);
}

/* Every element of v becomes *elem, a number of v's dtype. */
static dl_status fill(const dl_view *v, const void *elem, void *stream) {
  static const uint64_t zero = 0;
  int64_t size = dl_cu_esize(v);
  if (v->numel == 0) return DL_OK;
  if (dl_cu_is_contig(v) && memcmp(elem, &zero, (size_t)size) == 0)
    return dl_cu_zero(v->data, v->numel * size, stream);
  if (size == 1) fill_as<uint8_t>(v, elem, stream);
  else if (size == 2) fill_as<uint16_t>(v, elem, stream);
  else if (size == 4) fill_as<uint32_t>(v, elem, stream);
  else fill_as<uint64_t>(v, elem, stream);
  return DL_OK;
}
static dl_status fill_number(const dl_view *v, const dl_arg *num, void *stream) {
  uint64_t elem = 0;
  if (num->tag == DL_A_FLOAT) dl_elem_set_f64((dl_dtype)v->dtype, &elem, num->f);
  else dl_elem_set_i64((dl_dtype)v->dtype, &elem, num->i);
  return fill(v, &elem, stream);
}
static dl_status fill_whole(const dl_view *v, int64_t value, void *stream) {
  uint64_t elem = 0;
  dl_elem_set_i64((dl_dtype)v->dtype, &elem, value);
  return fill(v, &elem, stream);
}

DL_CUDA(empty) { return DL_OK; }
DL_CUDA(empty_like) { return DL_OK; }
DL_CUDA(zeros) { return fill_whole(&c->out[0], 0, stream); }
DL_CUDA(zeros_like) { return fill_whole(&c->out[0], 0, stream); }
DL_CUDA(zero_) { return fill_whole(&c->out[0], 0, stream); }
DL_CUDA(ones) { return fill_whole(&c->out[0], 1, stream); }
DL_CUDA(ones_like) { return fill_whole(&c->out[0], 1, stream); }
DL_CUDA(full) { return fill_number(&c->out[0], &c->arg[1], stream); }
DL_CUDA(full_like) { return fill_number(&c->out[0], &c->arg[1], stream); }

DL_CUDA(fill_) {
  static const int64_t none[DL_MAXDIM] = {0};
  const dl_view *out = &c->out[0], *x = &c->in[1];
  if (dl_arg_is_num(&c->arg[1])) return fill_number(out, &c->arg[1], stream);
  uint64_t elem = 0;
  if (dl_cu_on_host(c, 1)) {
    if (x->dtype >= DL_F16) dl_elem_set_f64((dl_dtype)out->dtype, &elem, dl_cu_number(c, 1));
    else dl_elem_set_i64((dl_dtype)out->dtype, &elem, dl_cu_whole(c, 1));
    return fill(out, &elem, stream);
  }
  dl_view spread = *out;
  spread.data = x->data;
  spread.dtype = x->dtype;
  spread.stride = none;
  return dl_cu_copy(out, &spread, stream);
}

/* ---- sequences ------------------------------------------------------------------------------- */
static __global__ void count_whole(void *out, int dtype, int64_t n, int64_t start, int64_t step) {
  DL_EACH(i, n) dl_put(dtype, out, i, (int64_t)((uint64_t)start + (uint64_t)step * (uint64_t)i));
}
static __global__ void count_real(void *out, int dtype, int64_t n, double start, double step) {
  DL_EACH(i, n) dl_put(dtype, out, i, fma(step, (double)i, start));
}

static dl_status count(dl_kcall *c, const dl_arg *start, const dl_arg *step, void *stream) {
  const dl_view *v = &c->out[0];
  if (v->dtype >= DL_F16)
    DL_LAUNCH_EACH(count_real, v->numel, stream, v->data, v->dtype, v->numel,
                   start ? dl_arg_f(start) : 0.0, step ? dl_arg_f(step) : 1.0);
  else
    DL_LAUNCH_EACH(count_whole, v->numel, stream, v->data, v->dtype, v->numel,
                   start ? dl_arg_i(start) : 0, step ? dl_arg_i(step) : 1);
  return DL_OK;
}
DL_CUDA(arange) { return count(c, &c->arg[0], &c->arg[2], stream); }
DL_CUDA(arange_end) { return count(c, NULL, NULL, stream); }

/* Ends are rounded to the dtype; the step lives in double for float64 and integers, else in float.
 */
struct line { double start, end, step; int64_t n; bool narrow; };

static double held(int dtype, double x) {
  uint64_t elem = 0;
  dl_elem_set_f64((dl_dtype)dtype, &elem, x);
  return dl_elem_get_f64((dl_dtype)dtype, &elem);
}

static line line_of(const dl_kcall *c, bool int_step_narrow) {
  int d = c->out[0].dtype;
  double start = dl_arg_f(&c->arg[0]), end = dl_arg_f(&c->arg[1]);
  bool is_float = d >= DL_F16;
  line l = {0, 0, 0, c->out[0].numel, is_float ? d != DL_F64 : int_step_narrow};
  l.start = is_float ? held(d, start) : trunc(start);
  l.end = is_float ? held(d, end) : trunc(end);
  double gap = l.narrow ? (float)(l.end - l.start) : l.end - l.start;
  if (l.n > 1) l.step = gap / (double)(l.n - 1);
  if (l.n > 1 && l.narrow) l.step = (float)gap / (float)(l.n - 1);
  return l;
}

/* From the start in the first half, from the end in the second. */
DL_FN double line_at(const line &l, int64_t i, bool fused) {
  bool first = i < l.n / 2;
  double from = first ? l.start : l.end, step = first ? l.step : -l.step;
  double k = (double)(first ? i : l.n - i - 1);
  if (l.n == 1) return l.start;
  if (fused) return l.narrow ? DL_FMA((float)step, (float)k, (float)from) : fma(step, k, from);
  return l.narrow ? (float)from + (float)step * (float)k : from + step * k;
}

/* powers: base to the line's numbers instead of the numbers */
static __global__ void put_line(void *out, int dtype, line l, bool powers, double base,
                                bool fused) {
  DL_EACH(i, l.n) {
    double x = line_at(l, i, fused);
    dl_put(dtype, out, i, powers ? pow(base, x) : x);
  }
}
DL_CUDA(linspace) {
  const dl_view *v = &c->out[0];
  line l = line_of(c, false);
  DL_LAUNCH_EACH(put_line, l.n, stream, v->data, v->dtype, l, false, 0.0, dl_cu_esize(v) > 2);
  return DL_OK;
}
DL_CUDA(logspace) {
  const dl_view *v = &c->out[0];
  line l = line_of(c, true);
  DL_LAUNCH_EACH(put_line, l.n, stream, v->data, v->dtype, l, true, dl_arg_f(&c->arg[3]), false);
  return DL_OK;
}

static __global__ void put_eye(void *out, int dtype, int64_t rows, int64_t cols) {
  DL_EACH(i, rows * cols) dl_put(dtype, out, i, (int64_t)(i / cols == i % cols));
}
DL_CUDA(eye) {
  const dl_view *v = &c->out[0];
  DL_LAUNCH_EACH(put_eye, v->numel, stream, v->data, v->dtype, v->size[0], v->size[1]);
  return DL_OK;
}
