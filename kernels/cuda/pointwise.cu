/* pointwise.cu -- how every pointwise op of the GPU meets its operands
 *
 * For pointwise_*.cu: numbers, places and alignment; which kernel runs is decided in pw.h.
 * MUST NOT   know which op it runs. */
#include "pw.h"

static bool aligned(const dl_view *v) {
  int64_t bytes = dl_cu_esize(v) * PW_VEC;
  return (uintptr_t)v->data % (uintptr_t)(bytes > 16 ? 16 : bytes) == 0 && dl_cu_is_contig(v);
}

/* A number beside a 16-bit operand of a comparison is compared as a number of that dtype. */
static double narrowed(const dl_kcall *c, const pw_op *op, double v) {
  int d = c->in[0].dtype;
  if (!op->test || op->nin != 2 || (d != DL_F16 && d != DL_BF16)) return v;
  uint16_t bits;
  dl_elem_set_f64((dl_dtype)d, &bits, v);
  return dl_elem_get_f64((dl_dtype)d, &bits);
}

/* Fills p's operands; returns whether all are dense. */
static bool operands(const dl_kcall *c, const pw_op *op, pw_call *p, const int64_t **stride) {
  static const int64_t none[DL_MAXDIM] = {0};
  const dl_view *out = &c->out[0];
  bool dense = aligned(out);
  p->out = out->data;
  p->dout = out->dtype;
  p->n = out->numel;
  p->numbers = 0;
  stride[0] = out->stride;
  for (int k = 0; k < 3; k++) {
    const dl_view *v = &c->in[k];
    stride[1 + k] = none;
    p->in[k] = NULL;
    p->din[k] = DL_NODTYPE;
    if (k >= op->nin) continue;
    if (dl_cu_on_host(c, k)) {
      p->numbers |= (uint8_t)(1u << k);
      p->given.f[k] = narrowed(c, op, dl_cu_number(c, k));
      p->given.i[k] = dl_cu_whole(c, k);
      continue;
    }
    p->in[k] = v->data;
    p->din[k] = v->dtype;
    stride[1 + k] = v->stride;
    dense = dense && aligned(v);
  }
  return dense;
}

dl_status pw_run_num(dl_kcall *c, const pw_op *op, const pw_num *num, void *stream) {
  pw_launcher go = c->compute == DL_F32 ? op->f32 : c->compute == DL_F64 ? op->f64 : op->i64;
  if (!go)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "no %s kernel for this operation",
                   dl_dtypes[c->compute].name);
  if (c->out[0].numel == 0) return DL_OK;
  pw_call p;
  dl_geo<4> g;
  const int64_t *stride[4];
  p.num = *num;
  bool dense = operands(c, op, &p, stride);
  dl_geo_make(&g, c->out[0].ndim, c->out[0].size, stride);
  if (dense) g.nd = -g.nd;
  go(p, &g, stream);
  return DL_OK;
}

dl_status pw_run(dl_kcall *c, const pw_op *op, void *stream) {
  pw_num num = {{0, 0, 0}, {0, 0, 0}};
  for (int i = 0; i < 3 && op->num[i] >= 0; i++) {
    const dl_arg *a = &c->arg[op->num[i]];
    num.f[i] = dl_arg_f(a);
    num.i[i] = dl_arg_i(a);
  }
  return pw_run_num(c, op, &num, stream);
}
