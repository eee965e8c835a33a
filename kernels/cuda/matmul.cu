/* matmul.cu -- kernels of the section "matrix products": mm, bmm, mv, dot, addmm …
 *
 * For the table of CUDA kernels. Views may have any strides: gemm takes them as they are.
 * MUST NOT know tensors. */
#include "gemm.h"

/* An operand as a batch of matrices: size and stride of (batch, rows, columns). */
struct mats { const dl_view *v; int64_t size[3], stride[3]; };

static mats mats_of(const dl_view *v) {
  mats m = {v, {1, 1, 1}, {0, 0, 0}};
  for (int d = 0; d < v->ndim; d++) {
    m.size[3 - v->ndim + d] = v->size[d];
    m.stride[3 - v->ndim + d] = v->stride[d];
  }
  return m;
}

static mats column_of(const dl_view *v) {
  return {v, {1, v->size[0], 1}, {0, v->stride[0], 1}};
}

/* out (b,m,n; dense) = beta * out + alpha * x @ y */
static dl_status product(const mats &x, const mats &y, const dl_view *out, double alpha,
                         double beta, void *stream) {
  dl_cu_product g = {};
  g.batch = x.size[0], g.m = x.size[1], g.n = y.size[2], g.k = x.size[2];
  g.a = x.v->data, g.abs = x.stride[0], g.ars = x.stride[1], g.acs = x.stride[2];
  g.b = y.v->data, g.bbs = y.stride[0], g.brs = y.stride[1], g.bcs = y.stride[2];
  g.c = out->data, g.crs = g.n, g.cbs = g.m * g.n;
  g.alpha = alpha, g.beta = beta;
  g.in = x.v->dtype, g.out = out->dtype;
  return dl_cu_multiply(&g, stream);
}

DL_CUDA(mm) {
  return product(mats_of(&c->in[0]), mats_of(&c->in[1]), &c->out[0], 1, 0, stream);
}

DL_CUDA(bmm) {
  return product(mats_of(&c->in[0]), mats_of(&c->in[1]), &c->out[0], 1, 0, stream);
}

DL_CUDA(mv) {
  return product(mats_of(&c->in[0]), column_of(&c->in[1]), &c->out[0], 1, 0, stream);
}

DL_CUDA(dot) {
  return product(mats_of(&c->in[0]), column_of(&c->in[1]), &c->out[0], 1, 0, stream);
}

/* out = self, repeated over the dims it lacks or has one of */
static dl_status spread(const dl_view *self, const dl_view *out, void *stream) {
  int64_t stride[DL_MAXDIM];
  dl_view from = *self;
  for (int d = 0; d < out->ndim; d++) {
    int k = d - (out->ndim - self->ndim);
    stride[d] = k < 0 || (self->size[k] == 1 && out->size[d] != 1) ? 0 : self->stride[k];
  }
  from.ndim = out->ndim, from.size = out->size, from.stride = stride, from.numel = out->numel;
  return dl_cu_copy(out, &from, stream);
}

/* arg: self, two factors, beta, alpha; beta 0 ignores self, even its nan */
static dl_status added(dl_kcall *c, const mats &x, const mats &y, void *stream) {
  double beta = dl_arg_f(&c->arg[3]), alpha = dl_arg_f(&c->arg[4]);
  if (beta != 0) DL_TRY(spread(&c->in[0], &c->out[0], stream));
  return product(x, y, &c->out[0], alpha, beta, stream);
}

DL_CUDA(addmm) { return added(c, mats_of(&c->in[1]), mats_of(&c->in[2]), stream); }

DL_CUDA(baddbmm) { return added(c, mats_of(&c->in[1]), mats_of(&c->in[2]), stream); }

DL_CUDA(addmv) { return added(c, mats_of(&c->in[1]), column_of(&c->in[2]), stream); }
