/* gpu.c -- the open driver, its pools, current devices and streams, and what its errors say
 *
 * For tensor/, op/, bind/. See gpu.h.
 *
 * INVARIANT  dl_gpu is NULL or an open driver; pools[d] exists iff device d was touched since.
 * SOURCE     c10/cuda/CUDAFunctions.cpp, CUDAException.cpp, CUDAMiscFunctions.cpp (texts).
 * MUST NOT   know tensors or Lua. */
#include "mem/gpu.h"
#include "mem/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const dl_driver *dl_gpu;
uint8_t dl_gpu_type = DL_CUDA;
const char *dl_gpu_absent;
int dl_gpu_absent_code;
const dl_driver *(*dl_gpu_find)(void);
uint32_t dl_gpu_epoch = 1, dl_gpu_epochs[DL_GPU_MAX];
uint8_t dl_gpu_tf32 = DL_TF32_CONV;
int dl_gpu_sync_debug;

static dl_pool *pools[DL_GPU_MAX];
static dl_stream streams[DL_GPU_MAX];
static int current;

/* ---- texts ----------------------------------------------------------------------------------- */
static const struct { int code; const char *name, *text; } errors[] = {
    {DL_CU_INVALID_VALUE, "cudaErrorInvalidValue", "invalid argument"},
    {DL_CU_OOM, "cudaErrorMemoryAllocation", "out of memory"},
    {DL_CU_NO_DEVICE, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {DL_CU_ORDINAL, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {DL_CU_NOT_READY, "cudaErrorNotReady", "device not ready"},
    {DL_CU_LOST, "cudaErrorDevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {DL_CU_ILLEGAL, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {DL_CU_ASSERT, "cudaErrorAssert", "device-side assert triggered"},
    {DL_CU_LAUNCH_FAILED, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {DL_CU_UNSUPPORTED, "cudaErrorNotSupported", "operation not supported"},
    {DL_CU_UNKNOWN, "cudaErrorUnknown", "unknown error"}};

static dl_status no_driver(int code) {
  if (code == DL_CU_NO_DRIVER)
    return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                   "Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
                   "GPU and installed a driver from "
                   "http://www.nvidia.com/Download/index.aspx");
  return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                 "The NVIDIA driver on your system is too old. Please update your GPU driver by "
                 "downloading and installing a new version from the URL: "
                 "http://www.nvidia.com/Download/index.aspx Alternatively, go to: "
                 "https://pytorch.org to install a PyTorch version that has been compiled with "
                 "your version of the CUDA driver.");
}

/* What the kernel that failed said itself, where the driver knows. */
static void kernel_words(int code) {
  for (int d = 0; dl_gpu && dl_gpu->why && d < dl_gpu_count(); d++)
    if (dl_gpu->error(d) == code && dl_gpu->why(d)[0])
      dl_note("the kernel on device %d said: %s", d, dl_gpu->why(d));
}

static void notes_of(int code) {
  kernel_words(code);
  if (code == DL_CU_ORDINAL)
    dl_note("there %s %d device%s here: %s:0%s", dl_gpu_count() == 1 ? "is" : "are",
            dl_gpu_count(), dl_gpu_count() == 1 ? "" : "s", dl_gpu_type == DL_MPS ? "mps" : "cuda",
            dl_gpu_count() > 1 ? " and so on" : "");
  else if (code == DL_CU_ASSERT)
    dl_note("an earlier operation on the GPU was given a bad index or label; the context is lost, "
            "as in PyTorch. dlrepl.reset_device() starts afresh (a script in PyTorch must be "
            "restarted); run the step on the CPU to see which line it was");
  else if (code == DL_CU_ILLEGAL || code == DL_CU_LAUNCH_FAILED || code == DL_CU_LOST)
    dl_note("the context is lost, as in PyTorch; dlrepl.reset_device() starts afresh, tensors on "
            "the device are gone, those on the CPU are not");
}

/* CUDA_LAUNCH_BLOCKING=1 runs each launch to its end, so that errors name their own line. */
static bool blocking(void) {
  const char *v = getenv("CUDA_LAUNCH_BLOCKING");
  return v && !strcmp(v, "1");
}

dl_status dl_gpu_error(int code) {
  if (code == DL_CU_OK) return DL_OK;
  if (code == DL_CU_RAISED) return dl_err.kind;
  if (code == DL_CU_NO_DRIVER || code == DL_CU_TOO_OLD) return no_driver(code);
  const char *name = "cudaErrorUnknown", *text = "unknown error";
  for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
    if (errors[i].code == code) name = errors[i].name, text = errors[i].text;
  char help[256];
  if (code == DL_CU_ORDINAL)
    snprintf(help, sizeof help, "GPU device may be out of range, do you have enough GPUs?");
  else
    snprintf(help, sizeof help,
             "Search for `%s' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
             "group__CUDART__TYPES.html for more information.", name);
  dl_fail(DL_AcceleratorError, DL_E_DEVICE, "CUDA error: %s\n%s\n%sCompile with "
          "`TORCH_USE_CUDA_DSA` to enable device-side assertions.\n", text, help,
          blocking() ? "" : "CUDA kernel errors might be asynchronously reported at some other API "
          "call, so the stacktrace below might be incorrect.\n"
          "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n");
  notes_of(code);
  return DL_E_DEVICE;
}

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

static dl_status absent(void) {
  int code = dl_gpu_absent ? dl_gpu_absent_code : 0;
  if (code == DL_CU_NO_DEVICE)
    dl_fail(DL_RuntimeError, DL_E_DEVICE, "No CUDA GPUs are available");
  else if (code == DL_CU_NO_DRIVER || code == DL_CU_TOO_OLD) no_driver(code);
  else if (code) dl_gpu_error(code);
  else dl_fail(DL_AssertionError, DL_E_DEVICE, "Torch not compiled with CUDA enabled");
  if (dl_gpu_absent) dl_note("%s", dl_gpu_absent);
  dl_note("dlrepl.simulate(\"t4\") gives a simulated GPU to practise on; "
          "dlrepl.cards() lists them");
  return dl_err.kind;
}

dl_status dl_gpu_set_current(int dev) {
  dl_gpu_look();
  if (!dl_gpu) return absent();
  if (dev < 0 || dev >= dl_gpu_count()) return dl_gpu_error(DL_CU_ORDINAL);
  current = dev;
  return DL_OK;
}

dl_status dl_gpu_resolve(dl_device *d) {
  if (!dl_is_gpu(*d)) return dl_device_check(*d);
  dl_gpu_look();
  if (!dl_gpu && d->type == DL_CUDA) return absent();
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
dl_status dl_gpu_well(int dev) { return dl_gpu ? dl_gpu_error(dl_gpu->error(dev)) : absent(); }

dl_status dl_gpu_sync(int dev) {
  if (!dl_gpu) return absent();
  dl_record_sync("synchronize");
  return dl_gpu_error(dl_gpu->device_sync(dev));
}

dl_status dl_gpu_reset(int dev) {
  if (!dl_gpu) return absent();
  if (dev < 0 || dev >= dl_gpu_count()) return dl_gpu_error(DL_CU_ORDINAL);
  if (pools[dev]) drop_pool(dev);
  streams[dev] = 0;
  new_epoch(dev, dev);
  return dl_gpu_error(dl_gpu->reset(dev));
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
  if (!dl_gpu) return absent();
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
