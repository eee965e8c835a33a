/* call.c -- helpers that shape and dtype rules share
 *
 * For src/op/rule_*.c.
 * MUST NOT  allocate. */
#include "op/op.h"

#include <string.h>

/* Result dtype by priority: dimensioned tensors, then 0-dim tensors, then numbers; a lower level
 * counts only when its category is higher (ATen, result_type). */
typedef struct { dl_dtype dim, zero, num; } levels;

static void level_add(dl_dtype *slot, dl_dtype d) {
  *slot = *slot == DL_NODTYPE ? d : dl_promote(*slot, d);
}

static int category(dl_dtype d) { return d == DL_NODTYPE ? -1 : dl_dtypes[d].category; }

static dl_dtype combine(dl_dtype high, dl_dtype low) {
  if (high == DL_NODTYPE) return low;
  return category(low) > category(high) ? dl_promote(high, low) : high;
}

static dl_dtype number_dtype(const dl_arg *a) {
  return a->tag == DL_A_FLOAT ? (dl_dtype)dl_default_dtype : a->tag == DL_A_BOOL ? DL_BOOL : DL_I64;
}

dl_dtype dl_result_type(const dl_call *c) {
  levels l = {DL_NODTYPE, DL_NODTYPE, DL_NODTYPE};
  for (int k = 0; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    if (t && t->wrapped) level_add(&l.num, dl_dtype_is_float((dl_dtype)t->dtype)
                                             ? (dl_dtype)dl_default_dtype : (dl_dtype)t->dtype);
    else if (t) level_add(t->ndim ? &l.dim : &l.zero, (dl_dtype)t->dtype);
    else if (c->num[k]) level_add(&l.num, number_dtype(c->num[k]));
  }
  return combine(combine(l.dim, l.zero), l.num);
}

void dl_call_out(dl_call *c, int k, dl_dtype dtype, int ndim, const int64_t *size) {
  dl_meta *m = &c->out[k];
  m->dtype = (uint8_t)dtype;
  m->ndim = (uint8_t)ndim;
  if (ndim) memmove(m->size, size, (size_t)ndim * sizeof *size);
  if (c->nout <= k) c->nout = k + 1;
}

void dl_call_out_like(dl_call *c, int k, const dl_tensor *t) {
  dl_call_out(c, k, (dl_dtype)t->dtype, t->ndim, t->size);
}

dl_status dl_call_broadcast(dl_call *c) {
  bool first = true;
  for (int k = 0; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    if (!t) continue;
    if (first) dl_call_out(c, 0, (dl_dtype)c->out[0].dtype, t->ndim, t->size);
    else DL_TRY(dl_broadcast(&c->out[0], t->ndim, t->size));
    first = false;
  }
  if (first) dl_call_out(c, 0, (dl_dtype)c->out[0].dtype, 0, NULL);
  return DL_OK;
}

dl_status dl_dims_mask(const dl_arg *dims, int ndim, uint32_t *mask) {
  *mask = 0;
  if (dims->tag == DL_A_NONE || (dims->tag == DL_A_INTS && dims->n == 0)) {
    *mask = ndim ? (1u << ndim) - 1 : 1u;
    return DL_OK;
  }
  const int64_t *v = dims->tag == DL_A_INTS ? dims->is : &dims->i;
  int n = dims->tag == DL_A_INTS ? dims->n : 1;
  for (int k = 0; k < n; k++) {
    int d;
    DL_TRY(dl_wrap_dim(v[k], ndim, &d));
    if (*mask & (1u << d))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "dim %d appears multiple times in the list of dims", d);
    *mask |= 1u << d;
  }
  return DL_OK;
}

void dl_reduce_meta(const dl_tensor *x, uint32_t mask, bool keepdim, dl_meta *out) {
  int n = 0;
  for (int d = 0; d < x->ndim; d++) {
    if (!(mask & (1u << d))) out->size[n++] = x->size[d];
    else if (keepdim) out->size[n++] = 1;
  }
  out->ndim = (uint8_t)n;
}

dl_status dl_vcall_push(dl_vcall *v, const dl_vout *o) {
  if (v->n == v->cap) {
    int cap = v->cap ? v->cap * 2 : 4;
    dl_vout *bigger = dl_block_new((size_t)cap * sizeof *bigger);
    if (!bigger) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for %d views", cap);
    if (v->n) memcpy(bigger, v->out, (size_t)v->n * sizeof *bigger);
    if (v->out) dl_block_free(v->out, (size_t)v->cap * sizeof *v->out);
    v->out = bigger;
    v->cap = cap;
  }
  v->out[v->n++] = *o;
  return DL_OK;
}
