/* conv.cu -- kernels of convolution: forward, gradient of the input, gradient of the weight
 *
 * The windows of some samples become the columns of matrices ("im2col"), one a sample, and one
 * batched product with the weights does the rest. The input's gradient is collected from its
 * columns, the weight's is added up sample by sample in a few places and then over those: no
 * atomics. Small work and few channels a group go element by element (conv_direct.cu).
 *
 * INVARIANT  Sums are made in a fixed order.
 * MUST NOT   know tensors. */
#include "conv.h"
#include "gemm.h"

DL_CUDA(sum_dim);

namespace {

enum { MOST_COLUMNS = 256 << 20, MOST_PARTS = 64 << 20 }; /* bytes of scratch */
enum { SMALL_WORK = 1 << 16 };                            /* multiply-adds */

/* ---- sizes ---------------------------------------------------------------------------------- */
/* A list of one or two ints as height and width; a missing height gets `none`. */
void pair_of(const dl_arg *a, int64_t none, int64_t *h, int64_t *w) {
  *w = a->is[a->n - 1];
  *h = a->n > 1 ? a->is[0] : none;
}

/* Sizes of the three tensors (3 or 4 dims) and the arguments from `at` on. */
dl_cu_conv conv_of(const dl_kcall *c, int at, const int64_t *x, const int64_t *w, const int64_t *y,
                   int ndim) {
  bool flat = ndim == 3;
  dl_cu_conv s = {};
  s.n = x[0], s.ic = x[1], s.ih = flat ? 1 : x[2], s.iw = x[ndim - 1];
  s.oc = y[1], s.oh = flat ? 1 : y[2], s.ow = y[ndim - 1];
  s.kh = flat ? 1 : w[2], s.kw = w[ndim - 1];
  pair_of(&c->arg[at], 1, &s.sh, &s.sw);
  pair_of(&c->arg[at + 1], 0, &s.ph, &s.pw);
  pair_of(&c->arg[at + 2], 1, &s.dh, &s.dw);
  s.groups = dl_arg_i(&c->arg[at + 3]);
  s.in = s.ic / s.groups, s.out = s.oc / s.groups;
  s.rows = s.in * s.kh * s.kw, s.cols = s.oh * s.ow;
  return s;
}

bool direct(const dl_cu_conv &s, int dtype) {
  bool thin = s.groups > 1 && (s.in < 16 || s.out < 16);
  return dtype == DL_I64 || thin || s.n * s.oc * s.cols * s.rows < SMALL_WORK;
}

/* A 1x1 window over everything is the image itself. */
bool plain(const dl_cu_conv &s) {
  return s.kh == 1 && s.kw == 1 && s.sh == 1 && s.sw == 1 && s.ph == 0 && s.pw == 0;
}

/* ---- windows as columns --------------------------------------------------------------------- */
struct windows {
  dl_cu_conv s;
  dl_over by_cols, by_rows, by_area, by_kw, by_ow; /* forth: columns' elements */
  dl_over by_iw, by_ih, by_in;                     /* back: the image's */
};

windows windows_of(const dl_cu_conv &s, int64_t samples) {
  int64_t most = samples * s.rows * s.cols, image = samples * s.in * s.ih * s.iw;
  most = most > image ? most : image;
  return {s, dl_over_by(s.cols, most), dl_over_by(s.rows, most), dl_over_by(s.kh * s.kw, most),
          dl_over_by(s.kw, most), dl_over_by(s.ow, most), dl_over_by(s.iw, most),
          dl_over_by(s.ih, most), dl_over_by(s.in, most)};
}

/* image: the group's first channel of the first sample; column [sample][row][col] */
template <class T> __global__ void to_columns(windows v, const T *image, T *column, int64_t count) {
  const dl_cu_conv &s = v.s;
  DL_EACH(i, count) {
    int64_t line = v.by_cols.of(i), col = i - line * s.cols, n = v.by_rows.of(line);
    int64_t row = line - n * s.rows, c = v.by_area.of(row), k = row - c * s.kh * s.kw;
    int64_t ky = v.by_kw.of(k), kx = k - ky * s.kw, oy = v.by_ow.of(col), ox = col - oy * s.ow;
    int64_t iy = oy * s.sh - s.ph + ky * s.dh, ix = ox * s.sw - s.pw + kx * s.dw;
    bool inside = iy >= 0 && iy < s.ih && ix >= 0 && ix < s.iw;
    column[i] = inside ? image[((n * s.ic + c) * s.ih + iy) * s.iw + ix] : T();
  }
}

/* The transpose: each place of the image adds up the columns' elements that came from it. */
template <class T, class P>
__global__ void from_columns(windows v, const P *column, T *image, int64_t count) {
  typedef typename dl_wide<T>::type C;
  const dl_cu_conv &s = v.s;
  DL_EACH(i, count) {
    int64_t line = v.by_iw.of(i), ix = i - line * s.iw, plane = v.by_ih.of(line);
    int64_t iy = line - plane * s.ih, n = v.by_in.of(plane), c = plane - n * s.in;
    C sum = 0;
    for (int64_t ky = 0; ky < s.kh; ky++) {
      int64_t y = iy + s.ph - ky * s.dh, oy = y / s.sh;
      if (y < 0 || oy * s.sh != y || oy >= s.oh) continue;
      for (int64_t kx = 0; kx < s.kw; kx++) {
        int64_t x = ix + s.pw - kx * s.dw, ox = x / s.sw;
        if (x < 0 || ox * s.sw != x || ox >= s.ow) continue;
        int64_t row = (c * s.kh + ky) * s.kw + kx;
        sum += dl_as<C>(column[(n * s.rows + row) * s.cols + oy * s.ow + ox]);
      }
    }
    image[((n * s.ic + c) * s.ih + iy) * s.iw + ix] = dl_to<T>(sum);
  }
}

/* ---- one group of some samples -------------------------------------------------------------- */
struct work {
  dl_cu_conv s;
  int dtype, wide;               /* of the operands; of sums that are rounded later */
  int64_t es;
  char *x, *w, *y;               /* input, weight, output (or their gradients) */
  char *column, *part;           /* scratch; part: sums of the weight's gradient */
  int64_t samples, parts;        /* samples at once; places where samples are added up */
  void *stream;
};

char *x_at(const work &k, int64_t n, int64_t g) {
  return k.x + (n * k.s.ic + g * k.s.in) * k.s.ih * k.s.iw * k.es;
}
char *y_at(const work &k, int64_t n, int64_t g) {
  return k.y + (n * k.s.oc + g * k.s.out) * k.s.cols * k.es;
}
char *w_at(const work &k, int64_t g) { return k.w + g * k.s.out * k.s.rows * k.es; }

/* The columns of `count` samples from n on: made in scratch, or the image itself. */
const void *columns_of(const work &k, int64_t n, int64_t g, int64_t count) {
  if (plain(k.s)) return x_at(k, n, g);
  int64_t all = count * k.s.rows * k.s.cols;
  windows v = windows_of(k.s, count);
  DL_BY_SIZE(k.dtype, DL_LAUNCH_EACH(to_columns<T>, all, k.stream, v,
                                     reinterpret_cast<const T *>(x_at(k, n, g)),
                                     reinterpret_cast<T *>(k.column), all));
  return k.column;
}

int64_t column_step(const work &k) {
  return plain(k.s) ? k.s.ic * k.s.cols : k.s.rows * k.s.cols;
}

dl_cu_product product_of(const work &k, int64_t count) {
  dl_cu_product p = {};
  p.batch = count, p.alpha = 1;
  p.in = p.out = (uint8_t)k.dtype;
  p.convolution = true;
  return p;
}

/* y (out,cols) = w (out,rows) @ columns (rows,cols), on top of the bias if there is one */
dl_status forward_part(const work &k, int64_t n, int64_t g, int64_t count, bool bias) {
  dl_cu_product p = product_of(k, count);
  p.m = k.s.out, p.n = k.s.cols, p.k = k.s.rows, p.beta = bias;
  p.a = w_at(k, g), p.ars = k.s.rows, p.acs = 1;
  p.b = columns_of(k, n, g, count), p.brs = k.s.cols, p.bcs = 1, p.bbs = column_step(k);
  p.c = y_at(k, n, g), p.crs = k.s.cols, p.cbs = k.s.oc * k.s.cols;
  return dl_cu_multiply(&p, k.stream);
}

/* columns (rows,cols) = w' (rows,out) @ y (out,cols), then back to the image */
dl_status input_part(const work &k, int64_t n, int64_t g, int64_t count) {
  dl_cu_product p = product_of(k, count);
  p.m = k.s.rows, p.n = k.s.cols, p.k = k.s.out;
  p.a = w_at(k, g), p.ars = 1, p.acs = k.s.rows;
  p.b = y_at(k, n, g), p.brs = k.s.cols, p.bcs = 1, p.bbs = k.s.oc * k.s.cols;
  p.c = plain(k.s) ? x_at(k, n, g) : k.column, p.crs = k.s.cols, p.cbs = column_step(k);
  if (plain(k.s)) return dl_cu_multiply(&p, k.stream);
  p.out = (uint8_t)k.wide;
  DL_TRY(dl_cu_multiply(&p, k.stream));
  int64_t all = count * k.s.in * k.s.ih * k.s.iw;
  windows v = windows_of(k.s, count);
  DL_BY_FLOAT(k.dtype, typedef typename dl_wide<T>::type P;
              DL_LAUNCH_EACH((from_columns<T, P>), all, k.stream, v,
                             reinterpret_cast<const P *>(k.column),
                             reinterpret_cast<T *>(x_at(k, n, g)), all));
  return DL_OK;
}

/* part (out,rows) += y (out,cols) @ columns' (cols,rows), each sample in its place */
dl_status weight_part(const work &k, int64_t n, int64_t g, int64_t count) {
  const char *column = static_cast<const char *>(columns_of(k, n, g, count));
  for (int64_t i = 0; i < count; i += k.parts) {
    dl_cu_product p = product_of(k, count - i < k.parts ? count - i : k.parts);
    p.m = k.s.out, p.n = k.s.rows, p.k = k.s.cols, p.beta = n + i > 0;
    p.a = y_at(k, n + i, g), p.ars = k.s.cols, p.acs = 1, p.abs = k.s.oc * k.s.cols;
    p.b = column + i * column_step(k) * k.es, p.brs = 1, p.bcs = k.s.cols, p.bbs = column_step(k);
    p.c = k.part, p.crs = k.s.rows, p.cbs = k.s.out * k.s.rows;
    p.out = (uint8_t)k.wide;
    DL_TRY(dl_cu_multiply(&p, k.stream));
  }
  return DL_OK;
}

/* The weight's gradient is the sum of the parts, as sum_dim makes it. */
dl_status add_weight(const work &k, int64_t g) {
  int64_t n = k.s.out * k.s.rows, size[2] = {k.parts, n}, stride[2] = {n, 1};
  dl_kcall c = {};
  c.compute = (uint8_t)k.wide;
  c.nout = c.nin = 1;
  c.dims = 1;
  c.in[0] = {k.part, (uint8_t)k.wide, 2, k.parts * n, size, stride};
  c.out[0] = {w_at(k, g), (uint8_t)k.dtype, 1, n, size + 1, stride + 1};
  return dl_cuda_sum_dim(&c, k.stream);
}

/* ---- all of it ------------------------------------------------------------------------------ */
work work_of(const dl_cu_conv &s, int dtype, const void *x, const void *w, const void *y,
             void *stream) {
  work k = {};
  k.s = s, k.dtype = dtype, k.wide = dtype == DL_F64 ? DL_F64 : DL_F32, k.stream = stream;
  k.es = dl_dtypes[dtype].size;
  k.x = static_cast<char *>(const_cast<void *>(x));
  k.w = static_cast<char *>(const_cast<void *>(w));
  k.y = static_cast<char *>(const_cast<void *>(y));
  return k;
}

/* Scratch for the columns of as many samples as fit, and for the sums of a weight's gradient. */
dl_status room(work *k, bool weight) {
  void *mem;
  int64_t one = k->s.rows * k->s.cols * (int64_t)dl_dtypes[weight ? k->dtype : k->wide].size;
  k->samples = MOST_COLUMNS / (one ? one : 1) + 1;
  if (plain(k->s) || k->samples > k->s.n) k->samples = k->s.n;
  if (!plain(k->s)) {
    DL_TRY(dl_cu_scratch((size_t)(k->samples * one), k->stream, &mem));
    k->column = static_cast<char *>(mem);
  }
  if (!weight) return DL_OK;
  int64_t size = k->s.out * k->s.rows * (int64_t)dl_dtypes[k->wide].size;
  k->parts = MOST_PARTS / (size ? size : 1) + 1;
  if (k->parts > k->samples) k->parts = k->samples;
  DL_TRY(dl_cu_scratch((size_t)(k->parts * size), k->stream, &mem));
  k->part = static_cast<char *>(mem);
  return DL_OK;
}

/* y = the bias, a channel at a time */
dl_status put_bias(const dl_cu_conv &s, const dl_view *b, const dl_view *y, void *stream) {
  int64_t size[3] = {s.n, s.oc, s.cols}, from[3] = {0, b->stride[0], 0};
  int64_t to[3] = {s.oc * s.cols, s.cols, 1};
  dl_view dst = *y, src = *b;
  dst.ndim = src.ndim = 3, dst.size = src.size = size, src.numel = y->numel;
  dst.stride = to, src.stride = from;
  return dl_cu_copy(&dst, &src, stream);
}

/* Nothing to add up: the result is zero. */
bool is_empty(const dl_view *out, int64_t reduced, void *stream, dl_status *st) {
  *st = DL_OK;
  if (reduced == 0) *st = dl_cu_zero(out->data, out->numel * dl_cu_esize(out), stream);
  return reduced == 0 || out->numel == 0;
}

} /* namespace */

/* arg: input, weight, bias, stride, padding, dilation, groups */
DL_CUDA(convolution) {
  dl_cu_view x, w, b;
  const dl_view *y = &c->out[0];
  bool bias = c->in[2].dtype != DL_NODTYPE;
  dl_status st;
  DL_TRY(dl_cu_contig(&c->in[0], y->dtype, stream, &x));
  DL_TRY(dl_cu_contig(&c->in[1], y->dtype, stream, &w));
  DL_TRY(dl_cu_contig(&c->in[2], y->dtype, stream, &b));
  dl_cu_conv s = conv_of(c, 3, x.v.size, w.v.size, y->size, x.v.ndim);
  if (y->numel == 0) return DL_OK;
  if (is_empty(y, x.v.numel * w.v.numel, stream, &st))
    return st == DL_OK && bias ? put_bias(s, &b.v, y, stream) : st;
  if (direct(s, y->dtype)) {
    const void *add = bias ? b.v.data : nullptr;
    dl_cu_conv_forward(&s, y->dtype, x.v.data, w.v.data, add, y->data, stream);
    return DL_OK;
  }
  work k = work_of(s, y->dtype, x.v.data, w.v.data, y->data, stream);
  k.wide = k.dtype; /* columns are copies here */
  DL_TRY(room(&k, false));
  if (bias) DL_TRY(put_bias(s, &b.v, y, stream));
  for (int64_t n = 0; n < s.n; n += k.samples)
    for (int64_t g = 0; g < s.groups; g++)
      DL_TRY(forward_part(k, n, g, s.n - n < k.samples ? s.n - n : k.samples, bias));
  return DL_OK;
}

/* arg: grad, weight, input_size, stride, padding, dilation, groups */
DL_CUDA(conv_grad_input) {
  dl_cu_view g, w;
  const dl_view *out = &c->out[0];
  dl_status st;
  DL_TRY(dl_cu_contig(&c->in[0], out->dtype, stream, &g));
  DL_TRY(dl_cu_contig(&c->in[1], out->dtype, stream, &w));
  dl_cu_conv s = conv_of(c, 3, out->size, w.v.size, g.v.size, g.v.ndim);
  if (is_empty(out, g.v.numel * w.v.numel, stream, &st)) return st;
  if (direct(s, out->dtype)) {
    dl_cu_conv_input(&s, out->dtype, g.v.data, w.v.data, out->data, stream);
    return DL_OK;
  }
  work k = work_of(s, out->dtype, out->data, w.v.data, g.v.data, stream);
  DL_TRY(room(&k, false));
  for (int64_t n = 0; n < s.n; n += k.samples)
    for (int64_t i = 0; i < s.groups; i++)
      DL_TRY(input_part(k, n, i, s.n - n < k.samples ? s.n - n : k.samples));
  return DL_OK;
}

/* arg: grad, input, weight_size, stride, padding, dilation, groups */
DL_CUDA(conv_grad_weight) {
  dl_cu_view g, x;
  const dl_view *out = &c->out[0];
  dl_status st;
  DL_TRY(dl_cu_contig(&c->in[0], out->dtype, stream, &g));
  DL_TRY(dl_cu_contig(&c->in[1], out->dtype, stream, &x));
  dl_cu_conv s = conv_of(c, 3, x.v.size, out->size, g.v.size, g.v.ndim);
  if (is_empty(out, g.v.numel * x.v.numel, stream, &st)) return st;
  if (direct(s, out->dtype)) {
    dl_cu_conv_weight(&s, out->dtype, g.v.data, x.v.data, out->data, stream);
    return DL_OK;
  }
  work k = work_of(s, out->dtype, x.v.data, out->data, g.v.data, stream);
  DL_TRY(room(&k, true));
  for (int64_t i = 0; i < s.groups; i++) {
    for (int64_t n = 0; n < s.n; n += k.samples)
      DL_TRY(weight_part(k, n, i, s.n - n < k.samples ? s.n - n : k.samples));
    DL_TRY(add_weight(k, i));
  }
  return DL_OK;
}
