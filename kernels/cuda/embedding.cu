/* embedding.cu -- kernels of embedding: rows picked by number, and the gradient added back
 *
 * MUST NOT know tensors. */
#include "index.h"
#include "order.h"

/* arg: weight (rows, cols), indices, padding_idx */
DL_CUDA(_embedding) {
  const dl_view *w = &c->in[0], *idx = &c->in[1], *out = &c->out[0];
  dl_cu_index x = {};
  x.dtype = w->dtype;
  x.n = 1;
  x.index[0] = idx->data;
  x.is_i32[0] = idx->dtype == DL_I32;
  x.length[0] = w->size[0];
  x.far[0] = w->stride[0];
  x.far_data = w->data;
  x.near_data = out->data;
  x.fault = DL_FAULT_SELECT;
  x.places.n = idx->ndim;
  for (int d = 0; d < idx->ndim; d++) {
    x.step[0][d] = idx->stride[d];
    x.places.size[d] = idx->size[d];
    x.places.near[d] = out->stride[d];
  }
  x.block.n = 1;
  x.block.size[0] = w->size[1];
  x.block.near[0] = out->stride[idx->ndim];
  x.block.far[0] = w->stride[1];
  return dl_cu_index_pick(&x, stream);
}

namespace {

/* The row of each index; `rows` where it is the padding's or out of bounds. */
__global__ void rows_of(int dtype, const void *index, int64_t n, int64_t rows, int64_t skip,
                        dl_cuda_fault *fault, uint64_t *row) {
  DL_EACH(i, n) {
    int64_t k = dl_get<int64_t>(dtype, index, i);
    bool inside = k >= 0 && k < rows;
    if (!inside) dl_fault(fault, DL_FAULT_SELECT);
    row[i] = (uint64_t)(inside && k != skip ? k : rows);
  }
}

/* A thread adds up one column of one row's gradients, in the order of the indices. */
template <class T>
__global__ void add_rows(dl_cu_order o, const T *g, int64_t rows, int64_t cols, T *out) {
  typedef typename dl_wide<T>::type C;
  const uint64_t *row = static_cast<const uint64_t *>(o.key);
  DL_EACH(i, o.n * cols) {
    int64_t p = i / cols, q = i % cols;
    uint64_t r = row[p];
    if (r == (uint64_t)rows || (p > 0 && row[p - 1] == r)) continue;
    C sum = 0;
    for (; p < o.n && row[p] == r; p++) sum += dl_as<C>(g[o.at[p] * cols + q]);
    out[(int64_t)r * cols + q] = dl_to<T>(sum);
  }
}

} /* namespace */

/* arg: grad (…, cols), indices, num_weights, padding_idx */
DL_CUDA(embedding_backward) {
  const dl_view *out = &c->out[0];
  int64_t skip = dl_arg_i(&c->arg[3]), rows = out->size[0], cols = out->size[1];
  dl_cu_view g, idx;
  dl_cu_order o;
  void *row;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &g));
  DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &idx));
  int64_t n = idx.v.numel;
  DL_TRY(dl_cu_zero(out->data, out->numel * dl_cu_esize(out), stream));
  if (n * cols == 0) return DL_OK;
  DL_TRY(dl_cu_scratch((size_t)n * sizeof(uint64_t), stream, &row));
  uint64_t *at = static_cast<uint64_t *>(row);
  DL_LAUNCH_EACH(rows_of, n, stream, (int)idx.v.dtype, idx.v.data, n, rows, skip,
                 dl_cuda_environment.fault, at);
  DL_TRY(dl_cu_order_indices(at, n, (uint64_t)rows, stream, &o));
  DL_BY_FLOAT(out->dtype, DL_LAUNCH_EACH(add_rows<T>, n * cols, stream, o,
                                         reinterpret_cast<const T *>(g.v.data), rows, cols,
                                         reinterpret_cast<T *>(out->data)));
  return DL_OK;
}
