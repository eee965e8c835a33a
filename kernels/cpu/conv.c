/* conv.c -- kernels of convolution: forward, gradient of the input, gradient of the weight
 *
 * Large float32 ones go to oneDNN. Own code: the windows of one sample become the columns of a
 * matrix ("im2col"), and the product with the weights does the rest. A 1-d convolution is a 2-d
 * one of height 1.
 *
 * Shapes: input (n, ic, ih, iw), weight (oc, ic/groups, kh, kw), output (n, oc, oh, ow).
 * MUST NOT know tensors. */
#include "gemm.h"

#include <string.h>

#include "once/onednn.h"

#define ONEDNN_WORK (1 << 18) /* multiply-adds: below, our own code is as fast */

/* A list of one or two ints as height and width; a missing height gets `none`. */
static void pair_of(const dl_arg *a, int64_t none, int64_t *h, int64_t *w) {
  *w = a->is[a->n - 1];
  *h = a->n > 1 ? a->is[0] : none;
}

/* Sizes of the three tensors (3 or 4 dims) and the arguments from `at` on. */
static dl_conv conv_of(const dl_kcall *c, int at, const int64_t *x, const int64_t *w,
                       const int64_t *y, int ndim) {
  bool flat = ndim == 3;
  dl_conv s = {x[0], x[1], flat ? 1 : x[2], x[ndim - 1], y[1], flat ? 1 : y[2], y[ndim - 1],
               flat ? 1 : w[2], w[ndim - 1]};
  pair_of(&c->arg[at], 1, &s.sh, &s.sw);
  pair_of(&c->arg[at + 1], 0, &s.ph, &s.pw);
  pair_of(&c->arg[at + 2], 1, &s.dh, &s.dw);
  s.groups = dl_arg_i(&c->arg[at + 3]);
  return s;
}

/* ---- windows as columns -------------------------------------------------------------------- */
typedef struct windows {
  const dl_conv *s;
  void *image, *column; /* (channels, ih, iw), (channels*kh*kw, oh*ow) */
} windows;

/* first and last+1 output position whose input lies inside */
static void inside(int64_t in, int64_t out, int64_t off, int64_t stride, int64_t *lo, int64_t *hi) {
  *lo = off >= 0 ? 0 : (-off + stride - 1) / stride;
  *hi = in - off > 0 ? (in - off + stride - 1) / stride : 0;
  if (*hi > out) *hi = out;
  if (*lo > *hi) *lo = *hi;
}

/* row r of the matrix: channel, ky, kx */
#define ROW(s, r)                                                                            \
  int64_t area = (s)->kh * (s)->kw, ch = (r) / area, ky = (r) % area / (s)->kw;              \
  int64_t kx = (r) % (s)->kw, oy = ky * (s)->dh - (s)->ph, ox = kx * (s)->dw - (s)->pw;      \
  int64_t y0, y1, x0, x1;                                                                    \
  inside((s)->ih, (s)->oh, oy, (s)->sh, &y0, &y1);                                           \
  inside((s)->iw, (s)->ow, ox, (s)->sw, &x0, &x1);

#define IM2COL(R)                                                                            \
  static void im2col_##R(void *ctx, int64_t lo, int64_t hi) {                                \
    const windows *v = ctx;                                                                  \
    const dl_conv *s = v->s;                                                                 \
    for (int64_t r = lo; r < hi; r++) {                                                      \
      ROW(s, r)                                                                              \
      R *to = (R *)v->column + r * s->oh * s->ow;                                            \
      const R *from = (const R *)v->image + ch * s->ih * s->iw;                              \
      if (y0 > 0 || y1 < s->oh || x0 > 0 || x1 < s->ow)                                      \
        memset(to, 0, (size_t)(s->oh * s->ow) * sizeof(R));                                  \
      for (int64_t y = y0; y < y1; y++) {                                                    \
        const R *row = from + (y * s->sh + oy) * s->iw + ox;                                 \
        R *out = to + y * s->ow;                                                             \
        if (s->sw == 1) memcpy(out + x0, row + x0, (size_t)(x1 - x0) * sizeof(R));           \
        else for (int64_t x = x0; x < x1; x++) out[x] = row[x * s->sw];                      \
      }                                                                                      \
    }                                                                                        \
  }
IM2COL(uint32_t)
IM2COL(uint64_t)

/* The transpose: columns added back where they came from; lo..hi are channels. */
#define COL2IM(R)                                                                            \
  static void col2im_##R(void *ctx, int64_t lo, int64_t hi) {                                \
    const windows *v = ctx;                                                                  \
    const dl_conv *s = v->s;                                                                 \
    int64_t each = s->kh * s->kw;                                                            \
    memset((R *)v->image + lo * s->ih * s->iw, 0,                                            \
           (size_t)((hi - lo) * s->ih * s->iw) * sizeof(R));                                 \
    for (int64_t r = lo * each; r < hi * each; r++) {                                        \
      ROW(s, r)                                                                              \
      const R *from = (const R *)v->column + r * s->oh * s->ow;                              \
      R *to = (R *)v->image + ch * s->ih * s->iw;                                            \
      for (int64_t y = y0; y < y1; y++) {                                                    \
        R *row = to + (y * s->sh + oy) * s->iw + ox;                                         \
        for (int64_t x = x0; x < x1; x++) row[x * s->sw] += from[y * s->ow + x];             \
      }                                                                                      \
    }                                                                                        \
  }
COL2IM(float)
COL2IM(double)

/* ---- one group of one sample --------------------------------------------------------------- */
typedef struct work {
  dl_conv s;
  dl_conv_kind kind;
  dl_dtype t;
  char *x, *w, *y;       /* input, weight, output (or their gradients) */
  void *column;
  int64_t rows, cols;    /* of the column matrix */
  int64_t in, out;       /* channels a group */
} work;

/* A 1x1 window over everything is the image itself. */
static bool plain(const dl_conv *s) {
  return s->kh == 1 && s->kw == 1 && s->sh == 1 && s->sw == 1 && s->ph == 0 && s->pw == 0;
}

static dl_status to_columns(const work *k, char *image) {
  windows v = {&k->s, image, k->column};
  return dl_parallel(k->rows, 65536 / (k->cols + 1) + 1,
                     dl_dtype_size(k->t) == 4 ? im2col_uint32_t : im2col_uint64_t, &v);
}

static dl_status from_columns(const work *k, char *image) {
  windows v = {&k->s, image, k->column};
  return dl_parallel(k->in, 65536 / (k->s.kh * k->s.kw * k->cols + 1) + 1,
                     k->t == DL_F64 ? col2im_double : col2im_float, &v);
}

static dl_status group(const work *k, int64_t n, int64_t g) {
  size_t e = dl_dtype_size(k->t);
  int64_t m = k->out, r = k->rows, l = k->cols;
  char *x = k->x + (size_t)((n * k->s.ic + g * k->in) * k->s.ih * k->s.iw) * e;
  char *y = k->y + (size_t)((n * k->s.oc + g * k->out) * l) * e;
  char *w = k->w + (size_t)(g * m * r) * e;
  bool is_plain = plain(&k->s);
  char *col = is_plain ? x : k->column;
  if (k->kind != DL_CONV_BWD_DATA && !is_plain) DL_TRY(to_columns(k, x));
  dl_gemm p = {.batch = 1, .alpha = 1};
  if (k->kind == DL_CONV_FWD) { /* y (m,l) = w (m,r) @ col (r,l) */
    p.m = m, p.n = l, p.k = r, p.a = w, p.ars = r, p.acs = 1, p.b = col, p.brs = l, p.bcs = 1;
    p.c = y, p.crs = l;
  } else if (k->kind == DL_CONV_BWD_DATA) { /* col (r,l) = w' (r,m) @ y (m,l) */
    p.m = r, p.n = l, p.k = m, p.a = w, p.ars = 1, p.acs = r, p.b = y, p.brs = l, p.bcs = 1;
    p.c = col, p.crs = l;
  } else { /* w (m,r) += y (m,l) @ col' (l,r) */
    p.m = m, p.n = r, p.k = l, p.a = y, p.ars = l, p.acs = 1, p.b = col, p.brs = 1, p.bcs = l;
    p.c = w, p.crs = r, p.beta = n > 0;
  }
  DL_TRY(DL_K(dl_gemm_run)(k->t, &p));
  return k->kind == DL_CONV_BWD_DATA && !is_plain ? from_columns(k, x) : DL_OK;
}

static dl_status own(work *k) {
  k->in = k->s.ic / k->s.groups, k->out = k->s.oc / k->s.groups;
  k->rows = k->in * k->s.kh * k->s.kw, k->cols = k->s.oh * k->s.ow;
  size_t nbytes = (size_t)(k->rows * k->cols + 1) * dl_dtype_size(k->t);
  DL_TRY(dl_scratch(nbytes, &k->column));
  dl_status st = DL_OK;
  for (int64_t n = 0; n < k->s.n && st == DL_OK; n++)
    for (int64_t g = 0; g < k->s.groups && st == DL_OK; g++) st = group(k, n, g);
  dl_scratch_free(k->column, nbytes);
  return st;
}

static bool worth_onednn(const work *k) {
  const dl_conv *s = &k->s;
  return k->t == DL_F32 &&
         s->n * s->oc * s->oh * s->ow * (s->ic / s->groups) * s->kh * s->kw >= ONEDNN_WORK;
}

/* ---- the three kernels --------------------------------------------------------------------- */
typedef struct bias_add { const char *bias; char *y; int64_t channels, area; dl_dtype t; } bias_add;

#define ADD_BIAS(R)                                                                          \
  for (int64_t i = lo; i < hi; i++) {                                                        \
    R b = ((const R *)j->bias)[i % j->channels], *y = (R *)j->y + i * j->area;               \
    for (int64_t p = 0; p < j->area; p++) y[p] += b;                                         \
  }

static void bias_run(void *ctx, int64_t lo, int64_t hi) {
  const bias_add *j = ctx;
  if (j->t == DL_F32) { ADD_BIAS(float) }
  else if (j->t == DL_F64) { ADD_BIAS(double) }
  else { ADD_BIAS(int64_t) }
}

static bool is_empty(const dl_view *out, dl_dtype t, int64_t reduced) {
  if (reduced == 0 && out->numel) memset(out->data, 0, (size_t)out->numel * dl_dtype_size(t));
  return reduced == 0 || out->numel == 0;
}

DL_KERNEL(convolution) {
  const dl_view *x = &c->in[0], *w = &c->in[1], *b = &c->in[2], *y = &c->out[0];
  work k = {conv_of(c, 3, x->size, w->size, y->size, x->ndim), DL_CONV_FWD, (dl_dtype)y->dtype,
            x->data, w->data, y->data};
  bool bias = b->dtype != DL_NODTYPE;
  if (y->numel == 0) return DL_OK;
  if (!is_empty(y, k.t, x->numel * w->numel)) {
    if (worth_onednn(&k) && dl_onednn_conv(k.kind, &k.s, (float *)k.x, (float *)k.w, (float *)k.y,
                                           bias ? (float *)b->data : NULL)) return dl_poll();
    DL_TRY(own(&k));
  }
  if (!bias) return DL_OK;
  bias_add j = {b->data, y->data, k.s.oc, k.s.oh * k.s.ow, k.t};
  return dl_parallel(k.s.n * k.s.oc, 65536 / (j.area + 1) + 1, bias_run, &j);
}

/* arg: grad, weight, input_size, stride, padding, dilation, groups */
DL_KERNEL(conv_grad_input) {
  const dl_view *g = &c->in[0], *w = &c->in[1], *out = &c->out[0];
  dl_conv s = conv_of(c, 3, out->size, w->size, g->size, g->ndim);
  work k = {s, DL_CONV_BWD_DATA, (dl_dtype)out->dtype, out->data, w->data, g->data};
  if (is_empty(out, k.t, g->numel * w->numel)) return DL_OK;
  if (worth_onednn(&k) &&
      dl_onednn_conv(k.kind, &k.s, (float *)k.x, (float *)k.w, (float *)k.y, NULL))
    return dl_poll();
  return own(&k);
}

/* arg: grad, input, weight_size, stride, padding, dilation, groups */
DL_KERNEL(conv_grad_weight) {
  const dl_view *g = &c->in[0], *x = &c->in[1], *out = &c->out[0];
  dl_conv s = conv_of(c, 3, x->size, out->size, g->size, g->ndim);
  work k = {s, DL_CONV_BWD_WEIGHTS, (dl_dtype)out->dtype, x->data, out->data, g->data};
  if (is_empty(out, k.t, g->numel * x->numel)) return DL_OK;
  if (worth_onednn(&k) &&
      dl_onednn_conv(k.kind, &k.s, (float *)k.x, (float *)k.w, (float *)k.y, NULL))
    return dl_poll();
  return own(&k);
}
