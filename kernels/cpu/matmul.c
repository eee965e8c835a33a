/* matmul.c -- kernels of the section "matrix products": mm, bmm, mv, dot, addmm
 *
 * Views may have any strides: gemm takes them as they are. Half precision is converted to float32,
 * accumulated there and rounded once; integers are summed in 64 bits.
 *
 * MUST NOT know tensors. */
#include "gemm.h"
#include "once/onednn.h"

/* An operand as a batch of matrices: size and stride of (batch, rows, columns). */
typedef struct mats { const dl_view *v; int64_t size[3], stride[3]; } mats;

static mats mats_of(const dl_view *v) {
  mats m = {v, {1, 1, 1}, {0, 0, 0}};
  for (int d = 0; d < v->ndim; d++) {
    m.size[3 - v->ndim + d] = v->size[d];
    m.stride[3 - v->ndim + d] = v->stride[d];
  }
  return m;
}

static mats column_of(const dl_view *v) {
  return (mats){v, {1, v->size[0], 1}, {0, v->stride[0], 1}};
}

static dl_dtype work_dtype(uint8_t d) {
  return d == DL_F64 ? DL_F64 : dl_dtype_is_float((dl_dtype)d) ? DL_F32 : DL_I64;
}

/* The operand's elements in dtype w: where they are, or a dense copy in *mem, which keeps the order
 * of its rows and columns: a transposed operand is copied as it lies. */
static dl_status in_dtype(mats *m, dl_dtype w, const void **data, void **mem, size_t *nbytes) {
  *data = m->v->data;
  *mem = NULL;
  if (m->v->dtype == w) return DL_OK;
  *nbytes = (size_t)m->v->numel * dl_dtype_size(w);
  DL_TRY(dl_scratch(*nbytes ? *nbytes : 1, mem));
  bool turned = m->stride[2] > m->stride[1];
  int64_t rows = m->size[1], cols = m->size[2];
  int64_t dense[3] = {rows * cols, turned ? 1 : cols, turned ? rows : 1};
  dl_view from = *m->v, to = from;
  from.ndim = to.ndim = 3, from.size = to.size = m->size;
  from.stride = m->stride, to.stride = dense;
  to.data = *mem, to.dtype = (uint8_t)w;
  dl_copy_view(&to, &from);
  for (int d = 0; d < 3; d++) m->stride[d] = dense[d];
  *data = *mem;
  return DL_OK;
}

/* ---- bfloat16 where the CPU multiplies it --------------------------------------------------- */
typedef struct rounding { dl_bf16 *to; const float *from; float alpha, beta; } rounding;

static void round_once(void *ctx, int64_t lo, int64_t hi) {
  const rounding *r = ctx;
  for (int64_t i = lo; i < hi; i++) {
    float v = r->alpha * r->from[i];
    if (r->beta != 0) v += r->beta * dl_bf16_to_f32(r->to[i]);
    r->to[i] = dl_bf16_from_f32(v);
  }
}

/* *done false: nothing was. */
static dl_status product_bf16(const mats *x, const mats *y, const dl_view *out, double alpha,
                              double beta, bool *done) {
  int64_t batch = x->size[0], m = x->size[1], k = x->size[2], n = y->size[2];
  bool both = x->v->dtype == DL_BF16 && y->v->dtype == DL_BF16 && out->dtype == DL_BF16;
  *done = false;
  if (!both || batch * m * n * k < DL_ONEDNN_MIN_WORK || !dl_onednn_has_bf16()) return DL_OK;
  int64_t sa[3] = {x->stride[0], x->stride[1], x->stride[2]};
  int64_t sb[3] = {y->stride[0], y->stride[1], y->stride[2]}, sc[3] = {m * n, n, 1};
  if (batch == 1) sa[0] = m * k, sb[0] = k * n; /* a batch of one has no stride to speak of */
  size_t nbytes = (size_t)out->numel * sizeof(float);
  void *sums;
  if (dl_scratch(nbytes, &sums) != DL_OK) return dl_err_clear(), DL_OK;
  *done = dl_onednn_bmm_bf16(batch, m, n, k, (const dl_bf16 *)x->v->data, sa,
                             (const dl_bf16 *)y->v->data, sb, sums, sc);
  rounding r = {(dl_bf16 *)out->data, sums, (float)alpha, (float)beta};
  dl_status st = *done ? dl_poll() : DL_OK;
  if (*done && st == DL_OK) st = dl_parallel(out->numel, 65536, round_once, &r);
  dl_scratch_free(sums, nbytes);
  return st;
}

/* out (b,m,n; dense) = beta * out + alpha * x @ y */
static dl_status product(mats x, mats y, const dl_view *out, double alpha, double beta) {
  bool done;
  dl_status st = product_bf16(&x, &y, out, alpha, beta, &done);
  if (done || st != DL_OK) return st;
  dl_dtype w = work_dtype(out->dtype);
  void *xm = NULL, *ym = NULL, *om = NULL;
  size_t xn = 0, yn = 0, on = (size_t)out->numel * dl_dtype_size(w);
  int64_t m = x.size[1], n = y.size[2];
  dl_gemm g = {.batch = x.size[0], .m = m, .n = n, .k = x.size[2], .alpha = alpha, .beta = beta};
  dl_view wide = *out;
  st = in_dtype(&x, w, &g.a, &xm, &xn);
  if (st == DL_OK) st = in_dtype(&y, w, &g.b, &ym, &yn);
  if (st == DL_OK && out->dtype != w) {
    st = dl_scratch(on ? on : 1, &om);
    wide.data = om, wide.dtype = (uint8_t)w;
    if (st == DL_OK && beta != 0) dl_copy_view(&wide, out);
  }
  if (st == DL_OK) {
    g.abs = x.stride[0], g.ars = x.stride[1], g.acs = x.stride[2];
    g.bbs = y.stride[0], g.brs = y.stride[1], g.bcs = y.stride[2];
    g.c = wide.data, g.crs = n, g.cbs = m * n;
    st = DL_K(dl_gemm_run)(w, &g);
  }
  if (st == DL_OK && om) dl_copy_view(out, &wide);
  if (xm) dl_scratch_free(xm, xn ? xn : 1);
  if (ym) dl_scratch_free(ym, yn ? yn : 1);
  if (om) dl_scratch_free(om, on ? on : 1);
  return st;
}

DL_KERNEL(mm) { return product(mats_of(&c->in[0]), mats_of(&c->in[1]), &c->out[0], 1, 0); }

DL_KERNEL(bmm) { return product(mats_of(&c->in[0]), mats_of(&c->in[1]), &c->out[0], 1, 0); }

DL_KERNEL(mv) { return product(mats_of(&c->in[0]), column_of(&c->in[1]), &c->out[0], 1, 0); }

DL_KERNEL(dot) {
  dl_view row = c->in[0];
  return product(mats_of(&row), column_of(&c->in[1]), &c->out[0], 1, 0);
}

/* out = self, repeated over the dims it lacks or has one of */
static void spread(const dl_view *self, const dl_view *out) {
  int64_t stride[DL_MAXDIM];
  dl_view from = *self;
  for (int d = 0; d < out->ndim; d++) {
    int k = d - (out->ndim - self->ndim);
    stride[d] = k < 0 || (self->size[k] == 1 && out->size[d] != 1) ? 0 : self->stride[k];
  }
  from.ndim = out->ndim, from.size = out->size, from.stride = stride, from.numel = out->numel;
  dl_copy_view(out, &from);
}

/* arg: self, two factors, beta, alpha; beta 0 ignores self, even its nan */
static dl_status added(dl_kcall *c, mats x, mats y) {
  double beta = dl_arg_f(&c->arg[3]), alpha = dl_arg_f(&c->arg[4]);
  if (beta != 0) spread(&c->in[0], &c->out[0]);
  return product(x, y, &c->out[0], alpha, beta);
}

DL_KERNEL(addmm) { return added(c, mats_of(&c->in[1]), mats_of(&c->in[2])); }

DL_KERNEL(baddbmm) { return added(c, mats_of(&c->in[1]), mats_of(&c->in[2])); }

DL_KERNEL(addmv) { return added(c, mats_of(&c->in[1]), column_of(&c->in[2])); }
