/* index.cu -- picking and writing slices by index tensors
 *
 * For the rows index, index_put, index_select, index_add, index_copy, index_fill. Each is described
 * as index.h has it; a mask becomes the index vectors of its elements that are not zero first.
 *
 * SOURCE     ATen/native/cuda/{IndexKernel,Indexing}.cu (what is sorted, what may race). */
#include "index.h"

#include <string.h>

/* ---- subscripts: several index tensors, some of them masks ---------------------------------- */
typedef struct subscript {
  int n;                         /* index tensors, one an indexed dim */
  dl_view idx[DL_MAXDIM];
  int dim[DL_MAXDIM];
  int64_t length[DL_MAXDIM];     /* sizes of those made from masks */
  int nb;                        /* common shape */
  int64_t shape[DL_MAXDIM];
} subscript;

static const int64_t one_stride = 1;

/* A mask of m dims becomes m index vectors. */
static dl_status expand_mask(subscript *s, const dl_view *mask, int dim, void *stream) {
  int64_t count;
  void *mem;
  DL_TRY(dl_cu_count_nonzero(mask, stream, &count));
  DL_TRY(dl_cu_scratch((size_t)(count * mask->ndim) * sizeof(int64_t), stream, &mem));
  int64_t *at = static_cast<int64_t *>(mem);
  DL_TRY(dl_cu_list_nonzero(mask, at, count, 1, count, stream));
  for (int d = 0; d < mask->ndim; d++, s->n++) {
    s->length[s->n] = count;
    s->dim[s->n] = dim + d;
    s->idx[s->n] = {reinterpret_cast<char *>(at + d * count), DL_I64, 1, count, &s->length[s->n],
                    &one_stride};
  }
  return DL_OK;
}

static void join_shape(subscript *s, const dl_view *v) {
  int grow = v->ndim - s->nb;
  if (grow > 0) {
    memmove(s->shape + grow, s->shape, (size_t)s->nb * sizeof *s->shape);
    for (int d = 0; d < grow; d++) s->shape[d] = 1;
    s->nb = v->ndim;
  }
  for (int d = 0; d < v->ndim; d++) {
    int64_t *have = &s->shape[s->nb - v->ndim + d];
    if (*have == 1) *have = v->size[d];
  }
}

static dl_status read_subscript(subscript *s, const dl_view *list, int n, void *stream) {
  int dim = 0;
  s->n = s->nb = 0;
  for (int k = 0; k < n; k++) {
    const dl_view *v = &list[k];
    if (v->dtype == DL_NODTYPE) {
      dim++;
    } else if (v->dtype == DL_BOOL || v->dtype == DL_U8) {
      DL_TRY(expand_mask(s, v, dim, stream));
      dim += v->ndim;
    } else {
      s->idx[s->n] = *v;
      s->dim[s->n++] = dim++;
    }
  }
  for (int k = 0; k < s->n; k++) join_shape(s, &s->idx[k]);
  return DL_OK;
}

/* ---- from a subscript to dims --------------------------------------------------------------- */
static void add_index(dl_cu_index *x, const dl_view *idx, int nb, int64_t length, int64_t far) {
  int k = x->n++, lead = nb - idx->ndim;
  x->index[k] = idx->data;
  x->is_i32[k] = idx->dtype == DL_I32;
  x->length[k] = length;
  x->far[k] = far;
  for (int d = 0; d < nb; d++)
    x->step[k][d] = d < lead || idx->size[d - lead] == 1 ? 0 : idx->stride[d - lead];
}

static void add_dim(dl_cu_dims *d, int64_t size, int64_t near, int64_t far) {
  d->size[d->n] = size;
  d->near[d->n] = near;
  d->far[d->n++] = far;
}

/* Split the far dims around the indexed ones; near strides follow the result's layout (places come
 * first when the indexed dims are not neighbours). */
static void split_dims(dl_cu_index *x, const subscript *s, const dl_view *far,
                       const int64_t *near_stride) {
  bool joined = true;
  uint32_t indexed = 0;
  for (int k = 1; k < s->n; k++) joined = joined && s->dim[k] == s->dim[k - 1] + 1;
  int before = joined && s->n ? s->dim[0] : 0, r = 0;
  for (int k = 0; k < s->n; k++) indexed |= 1u << s->dim[k];
  for (int d = 0; d < far->ndim; d++) {
    if (indexed & (1u << d)) continue;
    int near_dim = r < before ? r : r + s->nb;
    r++;
    dl_cu_dims *part = d < before ? &x->outer : &x->block;
    add_dim(part, far->size[d], near_stride[near_dim], far->stride[d]);
  }
  for (int d = 0; d < s->nb; d++) add_dim(&x->places, s->shape[d], near_stride[before + d], 0);
}

static dl_status subscript_of(dl_cu_index *x, dl_kcall *c, const dl_view *far,
                              const int64_t *near_stride, void *stream) {
  subscript s;
  int64_t places = 1;
  DL_TRY(read_subscript(&s, c->list, c->nlist, stream));
  for (int d = 0; d < s.nb; d++) places *= s.shape[d];
  for (int k = 0; k < s.n; k++) {
    if (far->size[s.dim[k]] == 0 && places)
      return dl_fail(DL_IndexError, DL_E_INDEX, "index is out of bounds for dimension with size 0");
    add_index(x, &s.idx[k], s.nb, far->size[s.dim[k]], far->stride[s.dim[k]]);
  }
  split_dims(x, &s, far, near_stride);
  x->dtype = far->dtype;
  x->wraps = true;
  x->fault = DL_FAULT_INDEX;
  return DL_OK;
}

DL_CUDA(index) {
  dl_cu_index x = {};
  x.far_data = c->in[0].data;
  x.near_data = c->out[0].data;
  DL_TRY(subscript_of(&x, c, &c->in[0], c->out[0].stride, stream));
  return c->out[0].numel ? dl_cu_index_pick(&x, stream) : DL_OK;
}

/* c->dims holds the number of dims of the indexed result. */
DL_CUDA(index_put) {
  dl_view v = c->in[1];
  int nd = (int)c->dims;
  int64_t stride[DL_MAXDIM];
  dl_cu_index x = {};
  if (v.numel == 0 || c->out[0].numel == 0) return DL_OK;
  /* leading dims of size 1 beyond the result's own change nothing */
  while (v.ndim > nd) v.ndim--, v.size++, v.stride++;
  for (int d = 0; d < nd; d++) {
    int k = d - (nd - v.ndim);
    stride[d] = k < 0 || v.size[k] == 1 ? 0 : v.stride[k];
  }
  x.far_data = c->out[0].data;
  x.near_data = v.data;
  x.alpha = 1;
  DL_TRY(subscript_of(&x, c, &c->out[0], stride, stream));
  return c->arg[3].i ? dl_cu_index_add(&x, stream) : dl_cu_index_put(&x, stream);
}

/* ---- one index vector along one dim --------------------------------------------------------- */
static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

/* near has far's shape but for size[dim] = number of indices; 0-dim views count as one row. */
static void vector_of(dl_cu_index *x, const dl_view *far, const dl_view *idx, int64_t at,
                      const int64_t *near_stride) {
  int dim = wrapped(at, far->ndim);
  x->dtype = far->dtype;
  for (int d = 0; d < far->ndim; d++)
    if (d != dim)
      add_dim(d < dim ? &x->outer : &x->block, far->size[d], near_stride[d], far->stride[d]);
  add_index(x, idx, idx->ndim, far->ndim ? far->size[dim] : 1, far->ndim ? far->stride[dim] : 1);
  add_dim(&x->places, idx->numel, far->ndim ? near_stride[dim] : 1, 0);
  if (idx->ndim == 0) x->step[0][0] = 0;
}

DL_CUDA(index_select) {
  const dl_view *self = &c->in[0];
  dl_cu_index x = {};
  x.far_data = self->data;
  x.near_data = c->out[0].data;
  x.fault = DL_FAULT_SELECT;
  vector_of(&x, self, &c->in[1], c->arg[1].i, c->out[0].stride);
  return dl_cu_index_pick(&x, stream);
}

/* source's strides for the dims of out; a 0-dim source is one element */
static void write_rows(dl_cu_index *x, dl_kcall *c, int fault) {
  static const int64_t still[DL_MAXDIM] = {0};
  const dl_view *out = &c->out[0], *source = &c->in[2];
  x->far_data = out->data;
  x->near_data = source->data;
  x->fault = fault;
  vector_of(x, out, &c->in[1], c->arg[1].i, source->ndim ? source->stride : still);
}

DL_CUDA(index_add) {
  dl_cu_index x = {};
  x.alpha = dl_arg_f(&c->arg[4]);
  write_rows(&x, c, DL_FAULT_INDEX_ADD);
  return dl_cu_index_add(&x, stream);
}

DL_CUDA(index_copy) {
  dl_cu_index x = {};
  write_rows(&x, c, DL_FAULT_INDEX);
  return dl_cu_index_put(&x, stream);
}

dl_status dl_cu_element(const dl_kcall *c, int k, uint8_t dtype, void *stream, char **out) {
  void *mem;
  DL_TRY(dl_cu_scratch(16, stream, &mem));
  *out = static_cast<char *>(mem);
  if (!dl_cu_on_host(c, k)) {
    dl_view to = c->in[k];
    to.data = *out;
    to.dtype = dtype;
    return dl_cu_copy(&to, &c->in[k], stream);
  }
  uint64_t elem = 0;
  if (dl_dtype_is_float((dl_dtype)c->in[k].dtype))
    dl_elem_set_f64((dl_dtype)dtype, &elem, dl_cu_number(c, k));
  else dl_elem_set_i64((dl_dtype)dtype, &elem, dl_cu_whole(c, k));
  return dl_cuda_environment.write(*out, &elem, sizeof elem, stream);
}

DL_CUDA(index_fill) {
  static const int64_t still[DL_MAXDIM] = {0};
  const dl_view *out = &c->out[0];
  dl_cu_index x = {};
  x.far_data = out->data;
  x.wraps = true;
  x.fault = DL_FAULT_INDEX;
  DL_TRY(dl_cu_element(c, 2, out->dtype, stream, &x.near_data));
  vector_of(&x, out, &c->in[1], c->arg[1].i, still);
  return dl_cu_index_put(&x, stream);
}
