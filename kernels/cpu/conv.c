/* conv.c -- kernels of convolution: forward, gradient of the input, gradient of the weight
 *
 * Large float32 ones go to oneDNN, and bfloat16 ones where the CPU multiplies it; elsewhere these
 * are computed on float32 copies and rounded once. Own code: the windows of one sample become the
 * columns of a matrix ("im2col"), and the product with the weights does the rest. A 1-d convolution
 * is a 2-d one of height 1.
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
  int64_t nout;          /* elements of what is written */
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

/* ---- a whole convolution ------------------------------------------------------------------- */
static int64_t multiply_adds(const dl_conv *s) {
  return s->n * s->oc * s->oh * s->ow * (s->ic / s->groups) * s->kh * s->kw;
}

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

/* Of one dtype with arithmetic of its own; bias NULL: none. */
static dl_status run(work *k, const char *bias) {
  int64_t n = multiply_adds(&k->s);
  if (n >= ONEDNN_WORK && k->t == DL_F32 &&
      dl_onednn_conv(k->kind, k->t, &k->s, k->x, k->w, k->y, (float *)bias))
    return dl_poll();
  if (n) DL_TRY(own(k));
  else memset(k->kind == DL_CONV_FWD ? k->y : k->kind == DL_CONV_BWD_DATA ? k->x : k->w, 0,
              (size_t)k->nout * dl_dtype_size(k->t)); /* sums of nothing */
  if (!bias) return DL_OK;
  bias_add j = {bias, k->y, k->s.oc, k->s.oh * k->s.ow, k->t};
  return dl_parallel(k->s.n * k->s.oc, 65536 / (j.area + 1) + 1, bias_run, &j);
}

/* ---- bfloat16 ------------------------------------------------------------------------------ */
/* A float32 copy of a dense view, or room for one, at *room, which moves on. */
static char *widened(const dl_view *v, bool copy, char **room) {
  dl_view wide = *v;
  wide.data = *room;
  wide.dtype = DL_F32;
  if (copy) dl_copy_view(&wide, v);
  *room += (size_t)v->numel * sizeof(float);
  return wide.data;
}

static void narrowed(const dl_view *out, char *from) {
  dl_view wide = *out;
  wide.data = from;
  wide.dtype = DL_F32;
  dl_copy_view(out, &wide);
}

/* On float32 copies; v: input, weight, output. */
static dl_status run_wide(work k, const dl_view *const v[3], const dl_view *bias) {
  int out = k.kind == DL_CONV_FWD ? 2 : k.kind == DL_CONV_BWD_DATA ? 0 : 1;
  size_t nbytes = (size_t)(v[0]->numel + v[1]->numel + v[2]->numel + (bias ? bias->numel : 0)) *
                  sizeof(float);
  void *mem;
  DL_TRY(dl_scratch(nbytes, &mem));
  char *room = mem, *copy[3];
  for (int i = 0; i < 3; i++) copy[i] = widened(v[i], i != out, &room);
  k.t = DL_F32;
  k.x = copy[0], k.w = copy[1], k.y = copy[2];
  dl_status st = run(&k, bias ? widened(bias, true, &room) : NULL);
  if (st == DL_OK) narrowed(v[out], copy[out]);
  dl_scratch_free(mem, nbytes);
  return st;
}

/* By the library's own bfloat16, which has the bias and the weight's gradient in float32. *done
 * false: nothing was. */
static dl_status run_bf16(work k, const dl_view *const v[3], const dl_view *bias, bool *done) {
  const dl_view *wide = k.kind == DL_CONV_BWD_WEIGHTS ? v[1] : bias;
  size_t nbytes = wide ? (size_t)wide->numel * sizeof(float) : 0;
  void *mem = NULL;
  *done = false;
  if (multiply_adds(&k.s) < ONEDNN_WORK || !dl_onednn_has_bf16()) return DL_OK;
  if (wide && dl_scratch(nbytes, &mem) != DL_OK) return dl_err_clear(), DL_OK;
  char *room = mem, *f32 = wide ? widened(wide, wide == bias, &room) : NULL;
  if (wide == v[1]) k.w = f32;
  *done = dl_onednn_conv(k.kind, k.t, &k.s, k.x, k.w, k.y, wide == v[1] ? NULL : (float *)f32);
  dl_status st = *done ? dl_poll() : DL_OK;
  if (*done && st == DL_OK && wide == v[1]) narrowed(v[1], f32);
  if (wide) dl_scratch_free(mem, nbytes);
  return st;
}

/* Input, weight, output, or their gradients; bias NULL: none */
static dl_status convolve(dl_conv_kind kind, const dl_conv *s, const dl_view *x, const dl_view *w,
                          const dl_view *y, const dl_view *bias) {
  const dl_view *v[3] = {x, w, y};
  const dl_view *out = kind == DL_CONV_FWD ? y : kind == DL_CONV_BWD_DATA ? x : w;
  work k = {*s, kind, (dl_dtype)out->dtype, x->data, w->data, y->data, .nout = out->numel};
  if (out->numel == 0) return DL_OK;
  if (k.t != DL_BF16) return run(&k, bias ? bias->data : NULL);
  bool done;
  dl_status st = run_bf16(k, v, bias, &done);
  return done || st != DL_OK ? st : run_wide(k, v, bias);
}

/* ---- the three kernels --------------------------------------------------------------------- */
DL_KERNEL(convolution) {
  const dl_view *x = &c->in[0], *w = &c->in[1], *b = &c->in[2], *y = &c->out[0];
  dl_conv s = conv_of(c, 3, x->size, w->size, y->size, x->ndim);
  return convolve(DL_CONV_FWD, &s, x, w, y, b->dtype == DL_NODTYPE ? NULL : b);
}

/* arg: grad, weight, input_size, stride, padding, dilation, groups */
DL_KERNEL(conv_grad_input) {
  const dl_view *g = &c->in[0], *w = &c->in[1], *out = &c->out[0];
  dl_conv s = conv_of(c, 3, out->size, w->size, g->size, g->ndim);
  return convolve(DL_CONV_BWD_DATA, &s, out, w, g, NULL);
}

/* arg: grad, input, weight_size, stride, padding, dilation, groups */
DL_KERNEL(conv_grad_weight) {
  const dl_view *g = &c->in[0], *x = &c->in[1], *out = &c->out[0];
  dl_conv s = conv_of(c, 3, x->size, out->size, g->size, g->ndim);
  return convolve(DL_CONV_BWD_WEIGHTS, &s, x, out, g, NULL);
}
