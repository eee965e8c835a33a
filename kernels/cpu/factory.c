/* factory.c -- tensors from nothing: fills, sequences, the identity; and whole copies
 *
 * For dispatch (FACTORY rows, fill_, zero_, copy_, clone, _to_copy).
 * SOURCE     ATen/native/cpu/RangeFactoriesKernel.cpp, RangeFactories.cpp: sequences equal
 *            PyTorch's AVX2 build bit for bit (its vector width shows in the last bit).
 * MUST NOT   know tensors. */
#include <math.h>

#include "walk.h"

/* ---- fills ----------------------------------------------------------------------- */
typedef struct { char *data; size_t size; uint64_t bits; } fill_job;

static void fill_run(void *ctx, int64_t lo, int64_t hi) {
  const fill_job *j = ctx;
  if (j->size == 1) memset(j->data + lo, (int)(j->bits & 0xff), (size_t)(hi - lo));
  else if (j->size == 2)
    for (int64_t i = lo; i < hi; i++) ((uint16_t *)j->data)[i] = (uint16_t)j->bits;
  else if (j->size == 4)
    for (int64_t i = lo; i < hi; i++) ((uint32_t *)j->data)[i] = (uint32_t)j->bits;
  else
    for (int64_t i = lo; i < hi; i++) ((uint64_t *)j->data)[i] = j->bits;
}

static uint64_t element_bits(const void *elem, size_t size) {
  uint64_t bits = 0;
  memcpy(&bits, elem, size); /* host order: the low bytes are the element on little endian */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  bits >>= 64 - 8 * size;
#endif
  return bits;
}

/* Every element of v becomes *elem. */
static dl_status fill_view(const dl_view *v, const void *elem) {
  size_t size = dl_view_esize(v);
  fill_job j = {v->data, size, element_bits(elem, size)};
  if (v->numel == 0) return DL_OK;
  if (dl_view_contig(v)) return dl_parallel(v->numel, 1 << 16, fill_run, &j);
  int last = v->ndim - 1;
  dl_walk w;
  dl_walk_begin(&w, v->ndim, v->size, last);
  dl_walk_add(&w, v->ndim, v->stride, last);
  for (; w.left > 0; dl_walk_next(&w)) {
    char *p = v->data + w.off[0] * (int64_t)size;
    for (int64_t i = 0; i < v->size[last]; i++, p += v->stride[last] * (int64_t)size)
      dl_elem_copy(p, elem, size);
  }
  return DL_OK;
}

static dl_status fill_number(const dl_view *v, const dl_arg *num) {
  uint64_t elem = 0;
  if (num->tag == DL_A_FLOAT) dl_elem_set_f64((dl_dtype)v->dtype, &elem, num->f);
  else dl_elem_set_i64((dl_dtype)v->dtype, &elem, num->i);
  return fill_view(v, &elem);
}

static dl_status fill_int(const dl_view *v, int64_t value) {
  const dl_arg num = I(value);
  return fill_number(v, &num);
}

DL_KERNEL(empty) { (void)c; return DL_OK; }
DL_KERNEL(empty_like) { (void)c; return DL_OK; }
DL_KERNEL(zeros) { return fill_int(&c->out[0], 0); }
DL_KERNEL(zeros_like) { return fill_int(&c->out[0], 0); }
DL_KERNEL(zero_) { return fill_int(&c->out[0], 0); }
DL_KERNEL(ones) { return fill_int(&c->out[0], 1); }
DL_KERNEL(ones_like) { return fill_int(&c->out[0], 1); }
DL_KERNEL(full) { return fill_number(&c->out[0], &c->arg[1]); }
DL_KERNEL(full_like) { return fill_number(&c->out[0], &c->arg[1]); }

DL_KERNEL(fill_) {
  if (dl_arg_is_num(&c->arg[1])) return fill_number(&c->out[0], &c->arg[1]);
  uint64_t elem = 0;
  dl_view one = {.data = (char *)&elem, .dtype = c->out[0].dtype, .numel = 1,
                 .size = c->in[1].size, .stride = c->in[1].stride};
  dl_copy_view(&one, &c->in[1]);
  return fill_view(&c->out[0], &elem);
}

/* ---- sequences ------------------------------------------------------------------- */
/* A value rounded to what dtype d can hold, as a double. */
static double held(dl_dtype d, double x) {
  uint64_t elem = 0;
  if (d == DL_F64) return x;
  if (d == DL_F32) return (float)x;
  dl_elem_set_f64(d, &elem, x);
  return dl_elem_get_f64(d, &elem);
}

/* PyTorch computes two vectors of 32 bytes at a time: each starts at its own rounded base, the rest
 * is computed one by one. */
static void arange_float(const dl_view *v, double start, double step) {
  dl_dtype d = (dl_dtype)v->dtype;
  size_t size = dl_view_esize(v);
  int64_t width = 32 / (int64_t)size, n = v->numel, vectors = n / (2 * width) * 2 * width;
  for (int64_t i = 0; i < n; i++) {
    double x;
    if (i < vectors) {
      double base = held(d, fma(step, (double)(i - i % width), start));
      x = fma((double)(i % width), step, base);
    } else {
      x = fma(step, (double)i, start);
    }
    dl_elem_set_f64(d, v->data + i * (int64_t)size, x);
  }
}

static void arange_int(const dl_view *v, int64_t start, int64_t step) {
  size_t size = dl_view_esize(v);
  if (v->dtype == DL_I64) {
    uint64_t *d = (uint64_t *)v->data;
    for (int64_t i = 0; i < v->numel; i++) d[i] = (uint64_t)start + (uint64_t)step * (uint64_t)i;
    return;
  }
  for (int64_t i = 0; i < v->numel; i++)
    dl_elem_set_i64((dl_dtype)v->dtype, v->data + i * (int64_t)size,
                    (int64_t)((uint64_t)start + (uint64_t)step * (uint64_t)i));
}

static dl_status arange_fill(dl_kcall *c, const dl_arg *start, const dl_arg *step) {
  const dl_view *v = &c->out[0];
  if (dl_dtype_is_float((dl_dtype)v->dtype)) arange_float(v, dl_arg_f(start), dl_arg_f(step));
  else arange_int(v, dl_arg_i(start), dl_arg_i(step));
  return DL_OK;
}

DL_KERNEL(arange) { return arange_fill(c, &c->arg[0], &c->arg[2]); }
DL_KERNEL(arange_end) {
  const dl_arg zero = I(0), one = I(1);
  return arange_fill(c, &zero, &one);
}

/* Ends are rounded to the dtype; the step lives in double for float64 and integers, else in
 * float. */
typedef struct { double start, end, step; int64_t n; bool narrow; } line;

static line line_of(const dl_kcall *c, bool int_step_narrow) {
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  double start = dl_arg_f(&c->arg[0]), end = dl_arg_f(&c->arg[1]);
  bool is_float = dl_dtype_is_float(d);
  line l = {.n = c->out[0].numel, .narrow = is_float ? d != DL_F64 : int_step_narrow};
  l.start = is_float ? held(d, start) : trunc(start);
  l.end = is_float ? held(d, end) : trunc(end);
  double gap = l.narrow ? (float)(l.end - l.start) : l.end - l.start;
  if (l.n > 1) l.step = gap / (double)(l.n - 1);
  if (l.narrow) l.step = (float)gap / (float)(l.n - 1);
  return l;
}

/* From the start in the first half, from the end in the second. */
static double line_at(const line *l, int64_t i, bool fused) {
  bool first = i < l->n / 2;
  double from = first ? l->start : l->end, step = first ? l->step : -l->step;
  double k = (double)(first ? i : l->n - i - 1);
  if (l->n == 1) return l->start;
  if (fused) return l->narrow ? fmaf((float)step, (float)k, (float)from) : fma(step, k, from);
  return l->narrow ? (float)from + (float)step * (float)k : from + step * k;
}

DL_KERNEL(linspace) {
  const dl_view *v = &c->out[0];
  size_t size = dl_view_esize(v);
  line l = line_of(c, false);
  if (v->dtype == DL_F32) {
    for (int64_t i = 0; i < l.n; i++) ((float *)v->data)[i] = (float)line_at(&l, i, true);
    return DL_OK;
  }
  for (int64_t i = 0; i < l.n; i++)
    dl_elem_set_f64((dl_dtype)v->dtype, v->data + i * (int64_t)size, line_at(&l, i, size > 2));
  return DL_OK;
}

DL_KERNEL(logspace) {
  const dl_view *v = &c->out[0];
  size_t size = dl_view_esize(v);
  line l = line_of(c, true);
  double base = dl_arg_f(&c->arg[3]);
  for (int64_t i = 0; i < l.n; i++)
    dl_elem_set_f64((dl_dtype)v->dtype, v->data + i * (int64_t)size,
                    pow(base, line_at(&l, i, false)));
  return DL_OK;
}

DL_KERNEL(eye) {
  const dl_view *v = &c->out[0];
  DL_TRY(fill_int(v, 0));
  int64_t n = v->size[0] < v->size[1] ? v->size[0] : v->size[1];
  size_t size = dl_view_esize(v);
  for (int64_t i = 0; i < n; i++)
    dl_elem_set_i64((dl_dtype)v->dtype, v->data + i * (v->size[1] + 1) * (int64_t)size, 1);
  return DL_OK;
}

/* ---- copies ---------------------------------------------------------------------- */
DL_KERNEL(clone) { dl_copy_view(&c->out[0], &c->in[0]); return DL_OK; }
DL_KERNEL(_to_copy) { dl_copy_view(&c->out[0], &c->in[0]); return DL_OK; }

/* src is broadcast over self. */
DL_KERNEL(copy_) {
  const dl_view *dst = &c->out[0], *src = &c->in[1];
  int64_t stride[DL_MAXDIM];
  int lead = dst->ndim - src->ndim;
  if (dst->numel == 0) return DL_OK;
  for (int d = 0; d < dst->ndim; d++)
    stride[d] = d < lead || src->size[d - lead] == 1 ? 0 : src->stride[d - lead];
  dl_view spread = {.data = src->data, .dtype = src->dtype, .ndim = dst->ndim,
                    .numel = dst->numel, .size = dst->size, .stride = stride};
  dl_copy_view(dst, &spread);
  return DL_OK;
}
