/* gather.cu -- picking and writing along one dim by an index of the same rank
 *
 * For the rows gather, scatter, scatter_add. A thread takes one element of the index. Where an
 * index stands twice, either value may win (scatter) or the order of the sum is open (scatter_add),
 * as in PyTorch.
 *
 * SOURCE     ATen/native/cuda/ScatterGatherKernel.cu. */
#include "atomic.h"
#include "geo.h"
#include "index.h"

namespace {

/* Views of the index's shape: 0 index, 1 near, 2 far without the dim that is picked along. */
struct along {
  dl_geo<3> geo;
  const char *index;
  bool is_i32, is_bool;
  int64_t length, step;          /* of the far side along the dim */
  dl_cuda_fault *fault;
};

/* The far offset; -1 where the index is out of bounds. */
__device__ inline int64_t far_of(const along &a, const int64_t *off) {
  int64_t i = a.is_i32 ? reinterpret_cast<const int32_t *>(a.index)[off[0]]
                       : reinterpret_cast<const int64_t *>(a.index)[off[0]];
  if (i >= 0 && i < a.length) return off[2] + i * a.step;
  dl_fault(a.fault, DL_FAULT_GATHER);
  return -1;
}

template <class T> __global__ void pick_along(along a, T *near, const T *far) {
  DL_EACH(i, a.geo.numel) {
    int64_t off[3];
    a.geo.place(i, off);
    int64_t at = far_of(a, off);
    if (at >= 0) near[off[1]] = far[at];
  }
}

template <class T> __global__ void put_along(along a, const T *near, T *far) {
  DL_EACH(i, a.geo.numel) {
    int64_t off[3];
    a.geo.place(i, off);
    int64_t at = far_of(a, off);
    if (at >= 0) far[at] = near[off[1]];
  }
}

template <class T> __global__ void add_along(along a, const T *near, T *far) {
  DL_EACH(i, a.geo.numel) {
    int64_t off[3];
    a.geo.place(i, off);
    int64_t at = far_of(a, off);
    if (at >= 0) dl_atomic_plus(&far[at], near[off[1]], a.is_bool);
  }
}

/* 0-dim views count as one element of one dim. */
along along_of(const dl_kcall *c, const dl_view *near, const dl_view *far) {
  const dl_view *idx = &c->in[1];
  int64_t at = c->arg[1].i, none[DL_MAXDIM] = {0}, rest[DL_MAXDIM] = {0};
  int dim = (int)(at < 0 ? at + (far->ndim ? far->ndim : 1) : at);
  along a;
  for (int d = 0; d < idx->ndim && d < far->ndim; d++) rest[d] = d == dim ? 0 : far->stride[d];
  const int64_t *stride[3] = {idx->stride, near->ndim ? near->stride : none, rest};
  dl_geo_make(&a.geo, idx->ndim, idx->size, stride);
  a.index = idx->data;
  a.is_i32 = idx->dtype == DL_I32;
  a.is_bool = far->dtype == DL_BOOL;
  a.length = far->ndim ? far->size[dim] : 1;
  a.step = far->ndim ? far->stride[dim] : 0;
  a.fault = dl_cuda_environment.fault;
  return a;
}

void put(const dl_kcall *c, const dl_view *src, void *stream) {
  const dl_view *out = &c->out[0];
  along a = along_of(c, src, out);
  DL_BY_SIZE(out->dtype, DL_LAUNCH_EACH(put_along<T>, a.geo.numel, stream, a,
                                        reinterpret_cast<const T *>(src->data),
                                        reinterpret_cast<T *>(out->data)));
}

} /* namespace */

DL_CUDA(gather) {
  const dl_view *out = &c->out[0], *self = &c->in[0];
  if (out->numel == 0) return DL_OK;
  along a = along_of(c, out, self);
  DL_BY_SIZE(self->dtype, DL_LAUNCH_EACH(pick_along<T>, a.geo.numel, stream, a,
                                         reinterpret_cast<T *>(out->data),
                                         reinterpret_cast<const T *>(self->data)));
  return DL_OK;
}

/* A number (or a 0-dim tensor of another dtype) is converted once and read with stride 0. */
DL_CUDA(scatter) {
  static const int64_t still[DL_MAXDIM] = {0};
  dl_view src = c->in[2];
  if (c->in[1].numel == 0) return DL_OK;
  if (dl_cu_on_host(c, 2) || src.dtype != c->out[0].dtype) {
    DL_TRY(dl_cu_element(c, 2, c->out[0].dtype, stream, &src.data));
    src.ndim = c->in[1].ndim;
    src.stride = still;
  }
  put(c, &src, stream);
  return DL_OK;
}

DL_CUDA(scatter_add) {
  const dl_view *out = &c->out[0], *src = &c->in[2];
  if (c->in[1].numel == 0) return DL_OK;
  along a = along_of(c, src, out);
  DL_BY_DTYPE(out->dtype, DL_LAUNCH_EACH(add_along<T>, a.geo.numel, stream, a,
                                         reinterpret_cast<const T *>(src->data),
                                         reinterpret_cast<T *>(out->data)));
  return DL_OK;
}
