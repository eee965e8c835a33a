/* geometry.c -- from tensors to the views that a kernel sees
 *
 * INVARIANT  Views point into tensors that the call or the runner keeps alive.
 * SOURCE     ATen/TensorIterator.cpp (reorder_dimensions, coalesce_dimensions). */
#include "op/dispatch.h"
#include "tensor/devmem.h"

#include <string.h>

void dl_view_of(const dl_tensor *t, dl_view *v) {
  v->data = t->data;
  v->dtype = t->dtype;
  v->ndim = t->ndim;
  v->numel = t->numel;
  v->size = t->size;
  v->stride = t->stride;
}

static void absent(dl_view *v) {
  memset(v, 0, sizeof *v);
  v->dtype = DL_NODTYPE;
}

/* A number for a TN parameter: a 0-dim view of the compute dtype (or of its own kind). */
static void number_view(dl_runner *r, int k, const dl_arg *a, uint8_t compute) {
  dl_view *v = &r->k.in[k];
  absent(v);
  v->numel = 1;
  v->data = (char *)&r->slot[k];
  v->size = r->size;
  v->stride = r->stride[k];
  r->k.numbers |= 1u << k;
  if (compute == DL_F32) {
    r->slot[k].s = (float)dl_arg_f(a);
    v->dtype = DL_F32;
  } else if (compute == DL_I64 || (compute == DL_NODTYPE && a->tag != DL_A_FLOAT)) {
    r->slot[k].i = dl_arg_i(a);
    v->dtype = DL_I64;
  } else {
    r->slot[k].f = dl_arg_f(a);
    v->dtype = DL_F64;
  }
}

/* A 0-dim CPU tensor among a GPU's is a number too: its value travels with the launch. */
static void scalar_view(const dl_call *c, dl_runner *r, int k) {
  const dl_tensor *t = c->in[k];
  dl_arg a = dl_dtype_is_float((dl_dtype)t->dtype) ? F(dl_tensor_item_f(t))
                                                   : I(dl_tensor_item_i(t));
  number_view(r, k, &a, c->compute);
}

static void input_view(const dl_call *c, dl_runner *r, int k) {
  if (c->scalars >> k & 1) scalar_view(c, r, k);
  else if (c->op->kind == DL_FACTORY && c->mixed) absent(&r->k.in[k]); /* x of zeros_like(x) */
  else if (c->in[k]) dl_view_of(c->in[k], &r->k.in[k]);
  else if (c->num[k]) number_view(r, k, c->num[k], c->compute);
  else absent(&r->k.in[k]);
}

static void inputs(const dl_call *c, dl_runner *r) {
  r->k.nin = c->nin;
  for (int k = 0; k < c->nin; k++) input_view(c, r, k);
}

void dl_geometry_plain(const dl_call *c, dl_runner *r) {
  inputs(c, r);
  for (int k = 0; k < c->nout; k++) dl_view_of(r->out[k], &r->k.out[k]);
  r->k.nout = c->nout;
}

/* ---- pointwise ------------------------------------------------------------------------------- */
static void broadcast_strides(const dl_view *v, int ndim, const int64_t *size, int64_t *stride) {
  int lead = ndim - v->ndim;
  for (int d = 0; d < ndim; d++) {
    bool spread = d < lead || (v->size[d - lead] == 1 && size[d] != 1);
    stride[d] = spread ? 0 : v->stride[d - lead];
  }
}

static void swap_dims(dl_runner *r, int nview, int a, int b) {
  int64_t s = r->size[a];
  r->size[a] = r->size[b];
  r->size[b] = s;
  for (int k = 0; k < nview; k++) {
    int64_t t = r->stride[k][a];
    r->stride[k][a] = r->stride[k][b];
    r->stride[k][b] = t;
  }
}

/* Largest output stride first, so that the innermost loop walks memory in order. */
static void sort_dims(dl_runner *r, int nview, int ndim) {
  for (int i = 1; i < ndim; i++)
    for (int d = i; d > 0 && r->stride[0][d - 1] < r->stride[0][d] && r->size[d] > 1; d--)
      swap_dims(r, nview, d - 1, d);
}

static bool mergeable(const dl_runner *r, int nview, int a, int b) {
  if (r->size[a] == 1 || r->size[b] == 1) return true;
  for (int k = 0; k < nview; k++)
    if (r->stride[k][a] != r->stride[k][b] * r->size[b]) return false;
  return true;
}

static int merge_dims(dl_runner *r, int nview, int ndim) {
  int n = 0;
  for (int d = 1; d < ndim; d++) {
    if (mergeable(r, nview, n, d)) {
      bool keep_inner = r->size[d] != 1;
      r->size[n] *= r->size[d];
      if (keep_inner)
        for (int k = 0; k < nview; k++) r->stride[k][n] = r->stride[k][d];
    } else {
      n++;
      r->size[n] = r->size[d];
      for (int k = 0; k < nview; k++) r->stride[k][n] = r->stride[k][d];
    }
  }
  return ndim ? n + 1 : 0;
}

/* row 0 of r->stride is the result, row 1 + k is in[k] */
void dl_geometry_pointwise(const dl_call *c, dl_runner *r) {
  dl_tensor *out = r->out[0];
  r->k.nin = c->nin;
  r->k.nout = 1;
  dl_view_of(out, &r->k.out[0]);
  int nview = 1 + c->nin, ndim = out->ndim;
  memcpy(r->size, out->size, (size_t)ndim * sizeof *r->size);
  memcpy(r->stride[0], out->stride, (size_t)ndim * sizeof *r->size);
  for (int k = 0; k < c->nin; k++) {
    input_view(c, r, k);
    broadcast_strides(&r->k.in[k], ndim, r->size, r->stride[1 + k]);
  }
  sort_dims(r, nview, ndim);
  ndim = merge_dims(r, nview, ndim);
  for (int k = 0; k < nview; k++) {
    dl_view *v = k ? &r->k.in[k - 1] : &r->k.out[0];
    v->ndim = (uint8_t)ndim;
    v->size = r->size;
    v->stride = r->stride[k];
    if (v->data) v->numel = out->numel;
  }
}

/* ---- contiguous inputs in the compute dtype -------------------------------------------------- */
static dl_status contiguous_input(const dl_call *c, dl_runner *r, int k) {
  dl_tensor *t = c->in[k];
  bool convert = c->compute != DL_NODTYPE && dl_dtype_is_float((dl_dtype)t->dtype) &&
                 t->dtype != c->compute;
  if (t->contig && !convert) return DL_OK;
  dl_dtype dtype = convert ? (dl_dtype)c->compute : (dl_dtype)t->dtype;
  DL_TRY(dl_tensor_new(t->dev, dtype, t->ndim, t->size, &r->tmp[k]));
  dl_view from;
  dl_view_of(t, &from);
  dl_view_of(r->tmp[k], &r->k.in[k]);
  dl_copy_view(&r->k.in[k], &from);
  return DL_OK;
}

dl_status dl_geometry_contig(const dl_call *c, dl_runner *r) {
  dl_geometry_plain(c, r);
  if (r->dry) return DL_OK;
  for (int k = 0; k < c->nin; k++)
    if (c->in[k]) DL_TRY(contiguous_input(c, r, k));
  return DL_OK;
}

dl_status dl_geometry_list(const dl_call *c, dl_runner *r) {
  for (int i = 0; i < c->schema->nparam; i++) {
    if (c->schema->p[i].type != DL_P_TENSORS) continue;
    const dl_arg *a = &c->arg[i];
    if (!a->n) return DL_OK;
    r->list = dl_block_new((size_t)a->n * sizeof *r->list);
    if (!r->list) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for %d views", a->n);
    for (int j = 0; j < a->n; j++) {
      if (a->ts[j]) dl_view_of(a->ts[j], &r->list[j]);
      else absent(&r->list[j]);
    }
    r->k.list = r->list;
    r->k.nlist = a->n;
  }
  return DL_OK;
}

/* ---- results --------------------------------------------------------------------------------- */
/* The tensor whose layout the result takes, or NULL for row-major. */
static const dl_tensor *layout_of(const dl_call *c, const dl_meta *m) {
  const dl_tensor *like = NULL;
  for (int k = 0; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    if (!t || !dl_sizes_equal(t->ndim, t->size, m->ndim, m->size)) continue;
    if (t->contig) return NULL;
    if (!like) like = t;
    else if (memcmp(like->stride, t->stride, (size_t)t->ndim * sizeof *t->stride)) return NULL;
  }
  return like && dl_is_dense(like->ndim, like->size, like->stride) ? like : NULL;
}

/* A copy to the host that is not waited for must land in memory that stays in place. */
static bool lands_later(const dl_call *c) {
  if (c->op != &dl_ops[DL_OP__to_copy] || c->dev.type != DL_CPU) return false;
  return c->in[0] && dl_is_gpu(c->in[0]->dev) && dl_call_async(c);
}

/* A factory asked for memory that a GPU copies from directly. */
static bool wants_pinned(const dl_call *c) {
  const dl_schema *s = c->schema;
  if (lands_later(c)) return true;
  int last = s->nparam - 1;
  return c->op->kind == DL_FACTORY && c->dev.type == DL_CPU && c->arg[last].i &&
         c->arg[last].tag == DL_A_BOOL && !strcmp(s->p[last].name, "pin_memory");
}

dl_status dl_output_new(const dl_call *c, int k, dl_dtype dtype, dl_tensor **out) {
  const dl_meta *m = &c->out[k];
  if (wants_pinned(c)) return dl_tensor_new_pinned(m, out);
  DL_TRY(dl_tensor_new(c->dev, dtype, m->ndim, m->size, out));
  const dl_tensor *like = c->like_strides ? layout_of(c, m) : NULL;
  if (like) {
    memcpy((*out)->stride, like->stride, m->ndim * sizeof *like->stride);
    (*out)->contig = dl_is_contig(m->ndim, (*out)->size, (*out)->stride);
  }
  return DL_OK;
}
