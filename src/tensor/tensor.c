/* tensor.c -- making tensors and letting them go
 *
 * For op/, graph/, grad/, bind/.
 *
 * INVARIANT  Letting go does not recurse: a tensor that dies while another is dying waits in a
 *            list, so a graph of any depth is freed with a flat stack.
 * MUST NOT   know ops or Lua. */
#include "mem/gpu.h"
#include "tensor/devmem.h"
#include "tensor/storage.h"

#include "tensor/ledger.h"

#include <string.h>

int64_t dl_tensors_live;
void (*dl_node_release_fn)(dl_node *n);
void (*dl_retained_forget_fn)(dl_tensor *t);
void (*dl_slot_release_fn)(int slot);

/* Bytes of `numel` elements; overflow fails as PyTorch words it. */
static dl_status bytes_of(dl_dtype dtype, int ndim, const int64_t *size, int64_t *nbytes) {
  int64_t numel;
  DL_TRY(dl_numel(ndim, size, &numel));
  if (dl_mul_ok(numel, (int64_t)dl_dtype_size(dtype), nbytes)) return DL_OK;
  char text[256];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Storage size calculation overflowed with sizes=%s",
                 dl_sizes_str(ndim, size, text, sizeof text));
}

/* Nearly every result: at most four dims below 2^14, so that nothing overflows. */
static bool is_common(dl_device dev, int ndim, const int64_t *size) {
  int64_t bits = 0;
  if (ndim > 4 || dev.type != DL_CPU || dev.index > 0) return false;
  for (int i = 0; i < ndim; i++) bits |= size[i];
  return (bits & ~(int64_t)0x3fff) == 0;
}

static dl_status new_common(dl_device dev, dl_dtype dtype, int ndim, const int64_t *size,
                            dl_tensor **out) {
  int64_t n = 1, step = 1;
  for (int i = 0; i < ndim; i++) n *= size[i];
  int64_t nbytes = n * (int64_t)dl_dtype_size(dtype);
  dl_tensor *t;
  DL_TRY(dl_block_tensor(nbytes <= DL_INLINE_MAX ? DL_BLOCK_INLINE : DL_BLOCK_STORAGE, &t));
  dl_storage *st = t->st;
  if (nbytes <= DL_INLINE_MAX) {
    st->inline_data = 1;
    st->data = ((dl_block *)t)->data;
  } else if (dl_host_alloc((size_t)nbytes, &st->data) != DL_OK) {
    dl_tensor_release(t);
    return dl_err.kind;
  }
  st->nbytes = (size_t)nbytes;
  st->dev = t->dev = dev;
  dl_ledger_new(st);
  t->data = st->data;
  t->dtype = (uint8_t)dtype;
  t->ndim = (uint8_t)ndim;
  t->numel = n;
  t->contig = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    t->dims[i] = size[i];
    t->dims[i + 4] = step;
    step *= size[i] ? size[i] : 1;
  }
  *out = t;
  return DL_OK;
}

dl_status dl_tensor_new(dl_device dev, dl_dtype dtype, int ndim, const int64_t *size,
                        dl_tensor **out) {
  int64_t nbytes;
  dl_tensor *t;
  *out = NULL;
  if (is_common(dev, ndim, size) && !dl_devmem_hollow)
    return new_common(dev, dtype, ndim, size, out);
  if (dev.type != DL_CPU) DL_TRY(dl_gpu_resolve(&dev));
  DL_TRY(bytes_of(dtype, ndim, size, &nbytes));
  int cls = nbytes <= DL_INLINE_MAX && !dl_is_gpu(dev) ? DL_BLOCK_INLINE : DL_BLOCK_STORAGE;
  DL_TRY(dl_block_tensor(cls, &t));
  t->dtype = (uint8_t)dtype;
  t->dev = t->st->dev = dev;
  dl_status st = dl_tensor_shape_set(t, ndim, size, NULL);
  if (st == DL_OK) st = dl_storage_fill(t, (size_t)nbytes);
  if (st != DL_OK) {
    dl_tensor_release(t);
    return st;
  }
  *out = t;
  return DL_OK;
}

dl_status dl_tensor_new_meta(dl_device dev, const dl_meta *m, dl_tensor **out) {
  return dl_tensor_new(dev, (dl_dtype)m->dtype, m->ndim, m->size, out);
}

dl_status dl_tensor_scalar_f(dl_dtype dtype, double v, dl_tensor **out) {
  DL_TRY(dl_tensor_new(DL_DEV_CPU, dtype, 0, NULL, out));
  dl_elem_set_f64(dtype, (*out)->data, v);
  return DL_OK;
}

dl_status dl_tensor_scalar_i(dl_dtype dtype, int64_t v, dl_tensor **out) {
  DL_TRY(dl_tensor_new(DL_DEV_CPU, dtype, 0, NULL, out));
  dl_elem_set_i64(dtype, (*out)->data, v);
  return DL_OK;
}

static void nothing_to_free(void *ctx) { (void)ctx; }

dl_status dl_tensor_from_memory(void *data, size_t nbytes, dl_dtype dtype, int ndim,
                                const int64_t *size, const int64_t *stride, void (*fn)(void *),
                                void *ctx, dl_tensor **out) {
  dl_tensor *t;
  *out = NULL;
  DL_TRY(dl_block_tensor(DL_BLOCK_STORAGE, &t));
  dl_status st = dl_tensor_shape_set(t, ndim, size, stride);
  if (st != DL_OK) {
    dl_tensor_release(t);
    return st;
  }
  t->dtype = (uint8_t)dtype;
  t->dev = t->st->dev = DL_DEV_CPU;
  t->data = t->st->data = data;
  t->st->nbytes = nbytes;
  dl_ledger_new(t->st);
  t->st->free_fn = fn ? fn : nothing_to_free;
  t->st->free_ctx = ctx;
  *out = t;
  return DL_OK;
}

/* ---- letting go -------------------- */

static void extra_free(dl_tensor *t) {
  dl_extra *x = t->extra;
  if (!x) return;
  t->extra = NULL;
  if (dl_slot_release_fn) {
    if (x->hooks) dl_slot_release_fn(x->hooks);
    if (x->post_hooks) dl_slot_release_fn(x->post_hooks);
  }
  dl_tensor_release(x->grad);
  dl_tensor_release(x->base);
  dl_tensor_release(x->ver_owner);
  dl_block_free(x, sizeof *x);
}

static void let_go(dl_tensor *t) {
  if (t->extra && t->extra->retains_grad && dl_retained_forget_fn) dl_retained_forget_fn(t);
  dl_node *n = t->grad_fn;
  t->grad_fn = NULL;
  if (n && dl_node_release_fn) dl_node_release_fn(n);
  extra_free(t);
  dl_block_tensor_free(t);
}

void dl_tensor_free_(dl_tensor *t) {
  static dl_tensor *waiting; /* linked through `data`, which a dead tensor has no use for */
  static bool busy;
  if (!t->grad_fn && !t->extra) {
    dl_block_tensor_free(t);
    return;
  }
  t->data = (char *)waiting;
  waiting = t;
  if (busy) return;
  busy = true;
  while (waiting) {
    dl_tensor *next = waiting;
    waiting = (dl_tensor *)next->data;
    let_go(next);
  }
  busy = false;
}

dl_extra *dl_tensor_extra(dl_tensor *t) {
  if (t->extra) return t->extra;
  dl_extra *x = dl_block_new(sizeof *x);
  if (!x) {
    dl_fail(DL_RuntimeError, DL_E_OOM, "out of memory for a tensor's autograd state");
    return NULL;
  }
  memset(x, 0, sizeof *x);
  return t->extra = x;
}

const char *dl_tensor_type_name(const dl_tensor *t, char buf[48]) {
  static const char *const space[] = {"", "cuda.", "mps.", "meta."};
  strcpy(buf, "torch.");
  strcat(buf, space[t->dev.type]);
  strcat(buf, dl_dtypes[t->dtype].scalar);
  return strcat(buf, "Tensor");
}
