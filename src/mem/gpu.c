/* gpu.c -- the open driver, its pools, current devices and streams
 *
 * For tensor/, op/, bind/. See gpu.h; what errors say is gpu_error.c.
 *
 * INVARIANT  dl_gpu is NULL or an open driver; pools[d] exists iff device d was touched since.
 * SOURCE     c10/cuda/CUDAFunctions.cpp.
 * MUST NOT   know tensors or Lua. */
#include "mem/gpu.h"
#include "mem/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const dl_driver *dl_gpu;
uint8_t dl_gpu_type = DL_CUDA;
const char *dl_gpu_absent;
int dl_gpu_absent_code, dl_gpu_absent_version;
const dl_driver *(*dl_gpu_find)(void);
uint32_t dl_gpu_epoch = 1, dl_gpu_epochs[DL_GPU_MAX];
uint8_t dl_gpu_tf32 = DL_TF32_CONV;
int dl_gpu_sync_debug;

static dl_pool *pools[DL_GPU_MAX];
static dl_stream streams[DL_GPU_MAX];
static int current;

/* ---- the driver ------------------------------------------------------------------------------ */
/* Tensors that still live keep their chunks, which lead nowhere then. */
static void drop_pool(int dev) {
  dl_pool_abandon(pools[dev]);
  dl_pool_delete(pools[dev]);
  pools[dev] = NULL;
}

/* All that the device held until now is gone. */
static void new_epoch(int first, int last) {
  dl_gpu_epoch++;
  for (int d = first; d <= last; d++) dl_gpu_epochs[d] = dl_gpu_epoch;
}

dl_status dl_gpu_open(const dl_driver *drv, dl_devtype type) {
  if (dl_gpu) dl_gpu_close();
  int n = drv->device_count();
  if (n <= 0) return dl_fail(DL_RuntimeError, DL_E_DEVICE, "No CUDA GPUs are available");
  DL_TRY(dl_pool_conf_env());
  dl_gpu = drv;
  dl_gpu_type = (uint8_t)type;
  new_epoch(0, DL_GPU_MAX - 1);
  current = 0;
  memset(streams, 0, sizeof streams);
  dl_gpu_set_tf32(dl_gpu_tf32);
  return DL_OK;
}

void dl_gpu_close(void) {
  for (int d = 0; d < DL_GPU_MAX; d++) {
    if (pools[d]) drop_pool(d);
  }
  dl_gpu = NULL;
  new_epoch(0, DL_GPU_MAX - 1);
}

void dl_gpu_look(void) {
  static bool looked;
  if (dl_gpu || looked || !dl_gpu_find) return;
  looked = true;
  const dl_driver *d = dl_gpu_find();
  if (!d || dl_gpu_open(d, DL_CUDA) == DL_OK) return;
  static char why[300]; /* such as an option of the allocator that does not exist */
  snprintf(why, sizeof why, "the GPU was not opened: %.270s", dl_err.message);
  dl_gpu_absent = why;
  dl_err_clear();
}

int dl_gpu_count(void) {
  dl_gpu_look();
  int n = dl_gpu ? dl_gpu->device_count() : 0;
  return n > DL_GPU_MAX ? DL_GPU_MAX : n;
}

int dl_gpu_current(void) { return current; }

dl_status dl_gpu_set_current(int dev) {
  dl_gpu_look();
  if (!dl_gpu) return dl_gpu_none();
  if (dev < 0 || dev >= dl_gpu_count()) return dl_gpu_error(DL_CU_ORDINAL);
  current = dev;
  return DL_OK;
}

dl_status dl_gpu_resolve(dl_device *d) {
  if (!dl_is_gpu(*d)) return dl_device_check(*d);
  dl_gpu_look();
  if (d->type == DL_CUDA && (!dl_gpu || dl_gpu_type != DL_CUDA)) return dl_gpu_none();
  if (!dl_gpu || d->type != dl_gpu_type) return dl_device_check(*d);
  if (d->index < 0) d->index = (int8_t)current;
  if (d->index >= dl_gpu_count()) return dl_gpu_error(DL_CU_ORDINAL);
  return DL_OK;
}

dl_stream dl_gpu_stream(int dev) { return streams[dev]; }
void dl_gpu_set_stream(int dev, dl_stream s) { streams[dev] = s; }

dl_pool *dl_gpu_pool(int dev) {
  if (!dl_gpu || dev < 0 || dev >= dl_gpu_count()) return NULL;
  if (!pools[dev]) pools[dev] = dl_pool_new(dl_gpu, dev);
  return pools[dev];
}

void dl_gpu_set_tf32(uint8_t bits) {
  dl_gpu_tf32 = bits;
  if (dl_gpu) dl_gpu->set_tf32(bits & DL_TF32_MATMUL, bits & DL_TF32_CONV);
}

/* ---- what a driver asks of its pools --------------------------------------------------------- */
bool dl_driver_make_room(int dev) {
  if (!dl_gpu || !pools[dev]) return false;
  if (dl_pool_collect) dl_pool_collect(true);
  const dl_stat *reserved = &dl_pool_figures(pools[dev])->reserved_bytes[DL_POOL_ALL];
  int64_t before = reserved->current;
  return dl_pool_empty_cache(pools[dev]) == DL_OK && reserved->current < before;
}

dl_status dl_driver_out_of_memory(int dev, size_t nbytes) {
  dl_pool *p = dl_gpu_pool(dev);
  if (p) return dl_pool_refuse(p, nbytes);
  return dl_fail(DL_OutOfMemoryError, DL_E_OOM, "CUDA error: out of memory");
}

/* ---- contexts -------------------------------------------------------------------------------- */
dl_status dl_gpu_well(int dev) { return dl_gpu ? dl_gpu_error(dl_gpu->error(dev)) : dl_gpu_none(); }

dl_status dl_gpu_sync(int dev) {
  if (!dl_gpu) return dl_gpu_none();
  dl_record_sync("synchronize");
  return dl_gpu_error(dl_gpu->device_sync(dev));
}

dl_status dl_gpu_reset(int dev) {
  if (!dl_gpu) return dl_gpu_none();
  if (dev < 0 || dev >= dl_gpu_count()) return dl_gpu_error(DL_CU_ORDINAL);
  if (pools[dev]) drop_pool(dev);
  streams[dev] = 0;
  new_epoch(dev, dev);
  dl_status st = dl_gpu_error(dl_gpu->reset(dev));
  if (st != DL_OK)
    dl_note("the card did not come back: it is lost to this process. What is on the CPU is well; "
            "another start of dlrepl may find the card again");
  return st;
}

/* ---- copies ---------------------------------------------------------------------------------- */
static int kind_of(dl_device dst, dl_device src) {
  if (!dl_is_gpu(src)) return DL_COPY_H2D;
  if (!dl_is_gpu(dst)) return DL_COPY_D2H;
  return dst.index == src.index ? DL_COPY_D2D : DL_COPY_PEER;
}

static dl_status waiting(void) {
  if (dl_gpu_sync_debug == 2)
    return dl_fail(DL_RuntimeError, DL_E_DEVICE, "called a synchronizing CUDA operation");
  dl_warn(false, "UserWarning", "called a synchronizing CUDA operation");
  return DL_OK;
}

dl_status dl_gpu_copy(void *dst, dl_device dst_dev, const void *src, dl_device src_dev,
                      size_t nbytes, bool pinned, bool async, int role) {
  if (!nbytes) return DL_OK;
  if (!dl_gpu) return dl_gpu_none();
  dl_copy c = {.dst = dst, .src = src, .nbytes = nbytes, .kind = kind_of(dst_dev, src_dev),
               .dst_dev = dl_is_gpu(dst_dev) ? dst_dev.index : -1,
               .src_dev = dl_is_gpu(src_dev) ? src_dev.index : -1, .pinned = pinned,
               .async = async};
  bool waits = !async && (c.kind == DL_COPY_D2H || c.kind == DL_COPY_H2D);
  if (waits && dl_gpu_sync_debug) DL_TRY(waiting());
  dl_record_copy(src_dev, dst_dev, (int64_t)nbytes, role);
  if (waits) dl_record_sync(c.kind == DL_COPY_D2H ? "copy to the host" : "copy to the device");
  int dev = c.src_dev >= 0 ? c.src_dev : c.dst_dev;
  return dl_gpu_error(dl_gpu->copy(&c, streams[dev]));
}
