/* devcopy.c -- values from tensor to tensor, wherever they are
 *
 * For dispatch, inplace and views of src/op. On one device a strided, converting copy; between
 * devices whole bytes travel, and what must be converted or laid out is so on the source's side
 * going to a GPU, on the CPU coming back, as in PyTorch.
 *
 * INVARIANT  Sizes are equal; a failure leaves dst as it was or partly written, nothing else.
 * SOURCE     ATen/native/cuda/Copy.cu (copy_kernel_cuda). */
#include "op/dispatch.h"
#include "tensor/devmem.h"
#include "walk.h"

static dl_status same_device(dl_tensor *dst, const dl_tensor *src) {
  dl_view to, from;
  if (!dl_is_gpu(dst->dev) && src->st->numberless) return DL_OK;
  dl_view_of(dst, &to);
  dl_view_of(src, &from);
  if (!dl_is_gpu(dst->dev)) {
    dl_copy_view(&to, &from);
    return DL_OK;
  }
  DL_TRY(dl_gpu_well(dst->dev.index));
  return dl_gpu_error(dl_gpu->copy_view(dst->dev.index, dl_gpu_stream(dst->dev.index), &to, &from));
}

/* t, or a contiguous copy of it in dtype on its own device. Owned. */
static dl_status packed(const dl_tensor *t, dl_dtype dtype, dl_tensor **out) {
  if (t->contig && t->dtype == dtype) {
    *out = dl_tensor_retain((dl_tensor *)t);
    return DL_OK;
  }
  dl_devmem_hollow = t->st->numberless;
  dl_status st = dl_tensor_new(t->dev, dtype, t->ndim, t->size, out);
  dl_devmem_hollow = false;
  DL_TRY(st);
  st = same_device(*out, t);
  if (st != DL_OK) dl_tensor_drop(out);
  return st;
}

static dl_status bytes(dl_tensor *dst, const dl_tensor *src, bool async) {
  if (src->st->numberless && !dl_gpu->dry) return DL_OK; /* left from a dry run */
  bool pinned = (dl_is_gpu(dst->dev) ? src->st : dst->st)->pinned;
  return dl_gpu_copy(dst->data, dst->dev, src->data, src->dev,
                     (size_t)dst->numel * dl_dtype_size((dl_dtype)dst->dtype), pinned, async,
                     src->st->role);
}

static dl_status between(dl_tensor *dst, const dl_tensor *src, bool async) {
  dl_dtype travels = dl_is_gpu(dst->dev) ? (dl_dtype)dst->dtype : (dl_dtype)src->dtype;
  dl_tensor *from, *to = NULL;
  DL_TRY(packed(src, travels, &from));
  dl_status st = DL_OK;
  if (dst->contig && dst->dtype == travels) to = dl_tensor_retain(dst);
  else {
    dl_devmem_hollow = src->st->numberless;
    st = dl_tensor_new(dst->dev, travels, dst->ndim, dst->size, &to);
    dl_devmem_hollow = false;
  }
  if (st == DL_OK) st = bytes(to, from, async && to == dst);
  if (st == DL_OK && to != dst) st = same_device(dst, to);
  dl_tensor_release(from);
  dl_tensor_release(to);
  return st;
}

dl_status dl_tensor_copy_values(dl_tensor *dst, const dl_tensor *src, bool async) {
  if (!dst->numel) return DL_OK;
  if (dl_is_gpu(src->dev)) DL_TRY(dl_devmem_check(src));
  if (dl_is_gpu(dst->dev)) DL_TRY(dl_devmem_check(dst));
  if (src->st->numberless) dst->st->numberless = 1;
  bool host = !dl_is_gpu(dst->dev) && !dl_is_gpu(src->dev);
  if (dst->st->numberless && (host || !dl_gpu->dry)) return DL_OK;
  if (dl_device_same(dst->dev, src->dev)) return same_device(dst, src);
  if (dl_is_gpu(src->dev)) DL_TRY(dl_gpu_well(src->dev.index));
  if (dl_is_gpu(dst->dev)) DL_TRY(dl_gpu_well(dst->dev.index));
  return between(dst, src, async);
}

dl_status dl_tensor_count_nonzero(const dl_tensor *t, int64_t *count) {
  dl_tensor *host;
  dl_view v;
  DL_TRY(dl_tensor_values(t, &host));
  dl_view_of(host, &v);
  *count = dl_view_count_nonzero(&v);
  dl_tensor_release(host);
  return DL_OK;
}
