/* storage.c -- the block a tensor lives in, and the bytes it points at
 *
 * For src/tensor. See storage.h for who keeps what alive.
 *
 * INVARIANT  st->refs counts the tensors whose `st` it is.
 * MUST NOT   know ops, nodes or Lua. */
#include "tensor/devmem.h"
#include "tensor/storage.h"

#include "tensor/ledger.h"

#include <string.h>
#include <sys/mman.h>

static size_t block_bytes(int alloc_class) {
  static const uint16_t bytes[] = {sizeof(dl_tensor), offsetof(dl_block, data), sizeof(dl_block)};
  return bytes[alloc_class];
}

dl_status dl_block_tensor(int alloc_class, dl_tensor **out) {
  *out = dl_block_quick(alloc_class);
  if (*out) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_OOM,
                 "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't "
                 "allocate memory: you tried to allocate %zu bytes. Error code 12 (Cannot allocate "
                 "memory)", block_bytes(alloc_class));
}

/* ---- sizes without numbers ------------------------------------------------------------------- */
#define RANGE_MIN ((size_t)1 << 20) /* bytes from which addresses are reserved, and nothing else */

static void range_free(void *ctx) {
  dl_storage *st = ctx;
  munmap(st->data, st->nbytes);
}

/* Whoever reads them all the same reads zeros. */
static dl_status hollow_bytes(dl_storage *st, size_t nbytes) {
  st->numberless = 1;
  if (nbytes >= RANGE_MIN) {
    void *p = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED) {
      st->data = p;
      st->free_fn = range_free;
      st->free_ctx = st;
      return DL_OK;
    }
  }
  DL_TRY(dl_host_alloc(nbytes, &st->data));
  memset(st->data, 0, nbytes);
  return DL_OK;
}

dl_status dl_storage_fill(dl_tensor *t, size_t nbytes) {
  dl_storage *st = t->st;
  if (t->alloc_class == DL_BLOCK_INLINE) {
    st->inline_data = 1;
    st->data = ((dl_block *)t)->data;
    if (dl_devmem_hollow) {
      st->numberless = 1;
      memset(st->data, 0, DL_INLINE_MAX);
    }
  } else if (nbytes > 0 && dl_is_gpu(st->dev)) {
    DL_TRY(dl_devmem_new(st, nbytes));
  } else if (nbytes > 0 && dl_devmem_hollow) {
    DL_TRY(hollow_bytes(st, nbytes));
  } else if (nbytes > 0) {
    DL_TRY(dl_host_alloc(nbytes, &st->data));
  }
  st->nbytes = nbytes;
  dl_ledger_new(st);
  t->data = st->data;
  return DL_OK;
}

static dl_tensor *owner_of(dl_storage *st) {
  return (dl_tensor *)((char *)st - offsetof(dl_block, st));
}

void dl_storage_release(dl_storage *st) {
  if (!st || --st->refs > 0) return;
  dl_ledger_gone(st);
  if (dl_is_gpu(st->dev)) dl_devmem_free(st);
  else if (st->free_fn) st->free_fn(st->free_ctx);
  else if (!st->inline_data && st->data) dl_host_free(st->data, st->nbytes);
  st->data = NULL;
  dl_tensor *t = owner_of(st);
  if (t->refs == 0) dl_block_free(t, block_bytes(t->alloc_class));
}

void dl_block_tensor_free(dl_tensor *t) {
  dl_storage *st = t->st;
  if (!t->short_dims) dl_block_free(t->size, 2 * (size_t)t->ndim * sizeof(int64_t));
  dl_tensors_live--;
  if (t->alloc_class == DL_BLOCK_VIEW) {
    dl_block_free(t, block_bytes(DL_BLOCK_VIEW));
    dl_storage_release(st);
    return;
  }
  dl_storage *own = &((dl_block *)t)->st;
  if (st != own) { /* set_data took the tensor elsewhere; its own storage may be free already */
    if (own->refs == 0) dl_block_free(t, block_bytes(t->alloc_class));
    dl_storage_release(st);
    return;
  }
  dl_storage_release(st);
}

/* Where sizes and strides live: in the tensor up to four dims, else in a block of their own. */
static dl_status dims_room(int ndim, dl_tensor *t, int64_t **dims) {
  *dims = t->dims;
  if (ndim <= 4) return DL_OK;
  if (ndim > DL_MAXDIM) {
    dl_fail(DL_RuntimeError, DL_E_SHAPE, "tensors of %d dimensions are not supported", ndim);
    dl_note("a tensor has at most %d dimensions here", DL_MAXDIM);
    return dl_err.kind;
  }
  *dims = dl_block_new(2 * (size_t)ndim * sizeof(int64_t));
  return *dims ? DL_OK : dl_fail(DL_RuntimeError, DL_E_OOM, "out of memory for a tensor's sizes");
}

/* elements; times eight bytes it fits an int64 */
#define DL_FAR ((int64_t)1 << 56)

dl_status dl_tensor_shape_set(dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride) {
  int64_t numel, *dims, s[2 * DL_MAXDIM]; /* size and stride may be t's own */
  DL_TRY(dl_numel(ndim, size, &numel));
  DL_TRY(dims_room(ndim, t, &dims));
  int half = ndim <= 4 ? 4 : ndim;
  for (int i = 0; i < ndim; i++) s[i] = size[i];
  if (!stride) dl_strides_contig(ndim, s, s + DL_MAXDIM);
  for (int i = 0; stride && i < ndim; i++) {       /* a lone element's stride is never walked: */
    bool far = size[i] < 2 && (stride[i] > DL_FAR || stride[i] < -DL_FAR);
    s[DL_MAXDIM + i] = far ? 1 : stride[i];         /* it may not overflow when multiplied */
  }
  if (!t->short_dims) dl_block_free(t->size, 2 * (size_t)t->ndim * sizeof(int64_t));
  t->short_dims = ndim <= 4;
  t->ndim = (uint8_t)ndim;
  t->size = dims;
  t->stride = dims + half;
  for (int i = 0; i < ndim; i++) {
    t->size[i] = s[i];
    t->stride[i] = s[DL_MAXDIM + i];
  }
  t->numel = numel;
  t->contig = !stride || dl_is_contig(ndim, t->size, t->stride);
  return DL_OK;
}
