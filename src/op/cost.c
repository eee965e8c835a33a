/* cost.c -- what an op costs, from its row's cost rule
 *
 * See cost.h. */
#include "op/cost.h"

static int64_t bytes_of(const dl_tensor *t) {
  return t ? t->numel * (int64_t)dl_dtype_size((dl_dtype)t->dtype) : 0;
}

static const dl_tensor *tensor_at(const dl_arg *arg, const dl_schema *s, int k) {
  return k < s->nparam && arg[k].tag == DL_A_TENSOR ? arg[k].t : NULL;
}

static int64_t bytes_read(const dl_arg *arg, const dl_schema *s) {
  int64_t n = 0;
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR) n += bytes_of(arg[i].t);
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++) n += bytes_of(arg[i].ts[j]);
  }
  return n;
}

/* Length of the sums of a matrix product: the last size of the left factor, which is argument 0, or
 * 1 where argument 0 is added (addmm). */
static int64_t matrix_flops(const dl_arg *arg, const dl_schema *s, const dl_tensor *out) {
  const dl_tensor *third = tensor_at(arg, s, 2), *a = tensor_at(arg, s, third ? 1 : 0);
  int64_t k = a && a->ndim ? a->size[a->ndim - 1] : 1;
  return 2 * k * (out ? out->numel : 0);
}

/* Two operations a weight of one output channel, for each output element. Backward: the gradient
 * stands where the output stood, so the same products are counted. */
static int64_t conv_flops(dl_opid op, const dl_arg *arg, const dl_schema *s,
                          const dl_tensor *out) {
  const dl_tensor *a = tensor_at(arg, s, 0), *b = tensor_at(arg, s, 1);
  const dl_tensor *weight = op == DL_OP_conv_grad_weight ? out : b;
  const dl_tensor *result = op == DL_OP_convolution ? out : a;
  if (!weight || !result || weight->ndim == 0 || weight->size[0] == 0) return 0;
  return 2 * result->numel * (weight->numel / weight->size[0]);
}

dl_price dl_op_price(dl_opid op, const dl_arg *arg, dl_tensor *const *out, int nout) {
  const dl_op *row = &dl_ops[op];
  const dl_schema *s = dl_op_schema(op);
  dl_price p = {0};
  if (row->kind == DL_COMPOSITE || row->kind == DL_VIEW || row->cost == DL_COST_NONE) return p;
  const dl_tensor *first = nout ? out[0] : NULL, *in = tensor_at(arg, s, 0);
  p.read = row->kind == DL_FACTORY ? 0 : bytes_read(arg, s);
  for (int k = 0; k < nout; k++) p.written += bytes_of(out[k]);
  switch ((dl_cost)row->cost) {
    case DL_COST_ELEM: p.flops = first ? first->numel : 0; break;
    case DL_COST_REDUCE: p.flops = in ? in->numel : 0; break;
    case DL_COST_MM: p.flops = matrix_flops(arg, s, first); break;
    case DL_COST_CONV: p.flops = conv_flops(op, arg, s, first); break;
    default: break;
  }
  return p;
}
