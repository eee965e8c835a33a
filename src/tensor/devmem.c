/* devmem.c -- the bytes of tensors on a GPU, and the way back to the host
 *
 * For src/tensor/storage.c, op/, bind/. See devmem.h.
 *
 * INVARIANT  A chunk is freed once, also after its device was reset.
 * MUST NOT   know ops, nodes or Lua. */
#include "mem/recorder.h"
#include "tensor/devmem.h"

#include <math.h>
#include <string.h>

dl_devmem *dl_devmem_first, *dl_devmem_last;
uint64_t dl_devmem_clock, dl_devmem_steps;
const char *dl_devmem_op;
bool dl_devmem_hollow;
void (*dl_where_fn)(dl_where *w);

static void link_last(dl_devmem *m) {
  m->prev = dl_devmem_last;
  m->next = NULL;
  if (dl_devmem_last) dl_devmem_last->next = m;
  else dl_devmem_first = m;
  dl_devmem_last = m;
}

static void unlink_one(dl_devmem *m) {
  if (m->prev) m->prev->next = m->next;
  else dl_devmem_first = m->next;
  if (m->next) m->next->prev = m->prev;
  else dl_devmem_last = m->prev;
}

dl_status dl_devmem_new(dl_storage *st, size_t nbytes) {
  int dev = st->dev.index;
  dl_devmem *m = dl_block_new(sizeof *m);
  if (!m) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory on the host for a tensor");
  memset(m, 0, sizeof *m);
  dl_status s = dl_gpu_well(dev);
  if (s == DL_OK) s = dl_pool_alloc(dl_gpu_pool(dev), nbytes, dl_gpu_stream(dev), &m->chunk);
  if (s != DL_OK) {
    if (s == DL_E_OOM) dl_record_oom(st->dev, (int64_t)nbytes);
    dl_block_free(m, sizeof *m);
    return s;
  }
  m->st = st;
  m->nbytes = nbytes;
  m->born = ++dl_devmem_clock;
  m->step = dl_devmem_steps;
  m->epoch = dl_gpu_epochs[dev];
  m->op = dl_devmem_op;
  if (dl_where_fn) dl_where_fn(&m->where);
  link_last(m);
  st->data = dl_chunk_ptr(m->chunk);
  st->free_ctx = m;
  return DL_OK;
}

void dl_devmem_free(dl_storage *st) {
  dl_devmem *m = st->free_ctx;
  st->free_ctx = NULL;
  if (!m) return;
  unlink_one(m);
  dl_pool_free(m->chunk);
  dl_block_free(m, sizeof *m);
}

dl_status dl_devmem_check(const dl_tensor *t) {
  const dl_devmem *m = dl_devmem_of(t->st);
  if (!m || dl_devmem_lives(m)) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_DEVICE, "this tensor's memory on %s is gone",
          dl_device_str(t->dev, (char[24]){0}));
  dl_note("the device was reset, or another one chosen, after it was made; make it again");
  return DL_E_DEVICE;
}

dl_status dl_devmem_record_stream(const dl_tensor *t, dl_stream s) {
  DL_TRY(dl_devmem_check(t));
  dl_devmem *m = dl_devmem_of(t->st);
  return m ? dl_pool_record_stream(m->chunk, s) : DL_OK;
}

/* ---- pinned memory --------------------------------------------------------------------------- */
typedef struct pinned { const dl_driver *drv; void *p; size_t n; } pinned;

static void unpin(void *ctx) {
  pinned *x = ctx;
  x->drv->pinned_free(x->p, x->n);
  dl_block_free(x, sizeof *x);
}

static dl_status no_accelerator(void) {
  dl_fail(DL_RuntimeError, DL_E_DEVICE, "Cannot access accelerator device when none is available.");
  dl_note("dlrepl.simulate(\"t4\") gives a simulated one");
  return DL_E_DEVICE;
}

dl_status dl_tensor_new_pinned(const dl_meta *m, dl_tensor **out) {
  int64_t numel;
  *out = NULL;
  dl_gpu_look();
  if (!dl_gpu) return no_accelerator();
  DL_TRY(dl_numel(m->ndim, m->size, &numel));
  size_t n = (size_t)numel * dl_dtype_size((dl_dtype)m->dtype);
  if (!n) return dl_tensor_new_meta(DL_DEV_CPU, m, out);
  pinned *x = dl_block_new(sizeof *x);
  if (!x) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory to pin a tensor");
  *x = (pinned){dl_gpu, NULL, n};
  dl_status st = dl_gpu_error(dl_gpu->pinned_new(n, &x->p));
  if (st != DL_OK) {
    dl_block_free(x, sizeof *x);
    return st;
  }
  st = dl_tensor_from_memory(x->p, n, (dl_dtype)m->dtype, m->ndim, m->size, NULL, unpin, x, out);
  if (st != DL_OK) unpin(x);
  else (*out)->st->pinned = 1;
  return st;
}

/* ---- back to the host ------------------------------------------------------------------------ */
/* First and one past the last byte that a view with elements may touch. */
static void reach(const dl_tensor *t, char **first, size_t *nbytes) {
  int64_t span = 1;
  for (int i = 0; i < t->ndim; i++) span += (t->size[i] - 1) * t->stride[i];
  *first = t->data;
  *nbytes = (size_t)span * dl_dtype_size((dl_dtype)t->dtype);
}

const char *dl_tensor_peek(const dl_tensor *t) {
  if (t->st->numberless) return NULL;
  if (!dl_is_gpu(t->dev)) return t->data;
  const dl_devmem *m = t->numel ? dl_devmem_of(t->st) : NULL;
  if (!dl_gpu || !dl_gpu->peek || !m || !dl_devmem_lives(m)) return NULL;
  char *first;
  size_t nbytes;
  reach(t, &first, &nbytes);
  return dl_gpu->peek(t->dev.index, first, nbytes);
}

/* A dry run's result: nan, or 0 where the dtype has no nan; one element, seen as all of them. */
static dl_status no_numbers(const dl_tensor *t, dl_tensor **out) {
  static const int64_t still[DL_MAXDIM];
  int64_t one = 1;
  dl_tensor *flat;
  DL_TRY(dl_tensor_new(DL_DEV_CPU, (dl_dtype)t->dtype, 1, &one, &flat));
  bool real = dl_dtype_is_float((dl_dtype)t->dtype);
  dl_elem_set_f64((dl_dtype)t->dtype, flat->data, real ? (double)NAN : 0);
  dl_status st = dl_tensor_view(flat, t->ndim, t->size, still, 0, out);
  dl_tensor_release(flat);
  dl_warn(true, "UserWarning", "this run computes no values (compute=false): nan stands for them");
  return st;
}

/* The stretch of bytes the view walks, copied as it lies; then the same walk over the copy. */
dl_status dl_tensor_on_host(const dl_tensor *t, dl_tensor **out) {
  *out = NULL;
  if (!dl_is_gpu(t->dev)) {
    if (t->st->numberless) return no_numbers(t, out);
    *out = dl_tensor_retain((dl_tensor *)t);
    return DL_OK;
  }
  DL_TRY(dl_devmem_check(t));
  DL_TRY(dl_gpu_well(t->dev.index));
  if (!t->numel) return dl_tensor_new(DL_DEV_CPU, (dl_dtype)t->dtype, t->ndim, t->size, out);
  char *first;
  size_t nbytes;
  reach(t, &first, &nbytes);
  if (t->st->numberless) {         /* left by a dry run, if the GPU of today computes */
    char nowhere;
    if (dl_gpu->dry)
      DL_TRY(dl_gpu_copy(&nowhere, DL_DEV_CPU, first, t->dev, nbytes, false, false, t->st->role));
    return no_numbers(t, out);
  }
  int64_t n = (int64_t)(nbytes / dl_dtype_size((dl_dtype)t->dtype));
  dl_tensor *flat;
  DL_TRY(dl_tensor_new(DL_DEV_CPU, (dl_dtype)t->dtype, 1, &n, &flat));
  dl_status st = dl_gpu_copy(flat->data, DL_DEV_CPU, first, t->dev, nbytes, false, false,
                             t->st->role);
  if (st == DL_OK) st = dl_tensor_view(flat, t->ndim, t->size, t->stride, 0, out);
  dl_tensor_release(flat);
  return st;
}

dl_status dl_tensor_values(const dl_tensor *t, dl_tensor **out) {
  *out = NULL;
  if (!t->st->numberless) return dl_tensor_on_host(t, out);
  dl_fail(DL_RuntimeError, DL_E_UNSUPPORTED, "the result's size depends on values, and a dry run "
          "has none");
  dl_note("simulate with compute=true, or give the size yourself (a slice in place of a mask)");
  return DL_E_UNSUPPORTED;
}

static dl_status one_element(const dl_tensor *t, void *out) {
  DL_TRY(dl_devmem_check(t));
  DL_TRY(dl_gpu_well(t->dev.index));
  return dl_gpu_copy(out, DL_DEV_CPU, t->data, t->dev, dl_dtype_size((dl_dtype)t->dtype), false,
                     false, t->st->role);
}

double dl_tensor_item_f(const dl_tensor *t) {
  int64_t slot = 0;
  if (t->st->numberless) return dl_dtype_is_float((dl_dtype)t->dtype) ? (double)NAN : 0;
  if (!dl_is_gpu(t->dev)) return dl_elem_get_f64((dl_dtype)t->dtype, t->data);
  return one_element(t, &slot) == DL_OK ? dl_elem_get_f64((dl_dtype)t->dtype, &slot) : 0;
}

int64_t dl_tensor_item_i(const dl_tensor *t) {
  int64_t slot = 0;
  if (t->st->numberless) return 0;
  if (!dl_is_gpu(t->dev)) return dl_elem_get_i64((dl_dtype)t->dtype, t->data);
  return one_element(t, &slot) == DL_OK ? dl_elem_get_i64((dl_dtype)t->dtype, &slot) : 0;
}

dl_status dl_tensor_item_set(dl_tensor *t, double v) {
  int64_t slot = 0;
  if (!dl_is_gpu(t->dev)) {
    dl_elem_set_f64((dl_dtype)t->dtype, t->data, v);
    return DL_OK;
  }
  dl_elem_set_f64((dl_dtype)t->dtype, &slot, v);
  DL_TRY(dl_gpu_well(t->dev.index));
  return dl_gpu_copy(t->data, t->dev, &slot, DL_DEV_CPU, dl_dtype_size((dl_dtype)t->dtype), false,
                     false, t->st->role);
}
