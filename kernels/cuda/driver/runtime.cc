/* runtime.cc -- CUDA contexts: which device is current, what its errors mean, what kernels ask for
 *
 * INVARIANT  An error that kills a context is returned by every later call for that device until
 *            reset, as the runtime itself does; a bad value that a kernel noted counts as one.
 * SOURCE     CUDA runtime API, "Error handling"; c10/cuda/CUDAException.cpp. */
#include "driver.h"

#include <pthread.h>

#include <cstdio>
#include <cstring>

dl_cuda_device dl_cuda_dev[DL_CUDA_DEVICES];
bool dl_cuda_forked;
static int now = -1, devices, refused;

int dl_cuda_now(void) { return now; }

static void mark_child(void) { dl_cuda_forked = true; }
void dl_cuda_start(int n) {
  devices = n;
  pthread_atfork(nullptr, nullptr, mark_child);
}

/* ---- errors ---------------------------------------------------------------------------------- */
/* Errors after which a context answers nothing else: of kernels, of the card, of the driver. */
static bool kills(int code) {
  static const short all[] = {DL_CU_ILLEGAL, DL_CU_ASSERT, DL_CU_LAUNCH_FAILED, DL_CU_TIMEOUT, 709,
                              714, 715, 716, 717, 718, 721, DL_CU_LOST, DL_CU_ECC, 220, 226,
                              DL_CU_UNKNOWN, 4};
  for (short k : all)
    if (k == code) return true;
  return false;
}

int dl_cuda_code(int dev, cudaError_t e) {
  if (e == cudaSuccess) return DL_CU_OK;
  int code = (int)e;
  cudaGetLastError(); /* ours is told once, also "not ready"; standing ones come again */
  if (dev >= 0 && kills(code) && !dl_cuda_dev[dev].error) dl_cuda_dev[dev].error = code;
  return code;
}

/* PyTorch's words; CUDA itself would fail in ways nobody understands. */
static int in_child(void) {
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
          "must use the 'spawn' start method");
  dl_note("this process was forked off one that uses the GPU; start it afresh");
  return DL_CU_RAISED;
}

int dl_cuda_there(int dev) {
  if (dl_cuda_forked) return in_child();
  return dev < 0 || dev >= devices ? DL_CU_ORDINAL : DL_CU_OK;
}

int dl_cuda_host_short(void) {
  dl_fail(DL_MemoryError, DL_E_OOM, "the host has no memory left to keep track of the GPU's");
  return DL_CU_RAISED;
}

/* ---- what kernels ask for -------------------------------------------------------------------- */
dl_status dl_cuda_refuse(int code) {
  refused = code;
  return dl_fail(DL_RuntimeError, DL_E_DEVICE, "CUDA error: %s",
                 cudaGetErrorString((cudaError_t)code));
}

int dl_cuda_refused(void) {
  int code = refused;
  refused = 0;
  return code;
}

static dl_status write_bytes(void *device, const void *host, size_t n, void *stream) {
  int code = dl_cuda_code(now, cudaMemcpyAsync(device, host, n, cudaMemcpyHostToDevice,
                                               (cudaStream_t)stream));
  return code ? dl_cuda_refuse(code) : DL_OK;
}

static dl_status read_bytes(void *host, const void *device, size_t n, void *stream) {
  int code = dl_cuda_code(now, cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost,
                                               (cudaStream_t)stream));
  if (!code) code = dl_cuda_code(now, cudaStreamSynchronize((cudaStream_t)stream));
  return code ? dl_cuda_refuse(code) : DL_OK;
}

/* ---- contexts -------------------------------------------------------------------------------- */
/* What kernels had and gave back stays with CUDA for the next one, up to a thirty-second of the
 * card; trim gives it back before anybody is refused memory. */
static cudaError_t keep_scratch(int dev, dl_cuda_device *d, size_t total) {
  const size_t most = (size_t)512 << 20;
  int has = 0;
  uint64_t keep = total / 32 < most ? total / 32 : most;
  cudaMemPool_t pool;
  cudaError_t e = cudaDeviceGetAttribute(&has, cudaDevAttrMemoryPoolsSupported, dev);
  d->ordered = e == cudaSuccess && has;
  if (e == cudaSuccess && has) e = cudaDeviceGetDefaultMemPool(&pool, dev);
  if (e == cudaSuccess && has)
    e = cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep);
  return e;
}

static int touch(dl_cuda_device *d, int dev) {
  size_t free_bytes = 0, total = 0;
  int sms = 0;
  cudaError_t e = cudaSuccess;
  if (!d->fault) e = cudaHostAlloc((void **)&d->fault, sizeof *d->fault, cudaHostAllocMapped);
  if (e == cudaSuccess) {
    memset(d->fault, 0, sizeof *d->fault);
    e = cudaHostGetDevicePointer((void **)&d->fault_there, d->fault, 0);
  }
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
  if (e == cudaSuccess) e = cudaMemGetInfo(&free_bytes, &total);
  if (e == cudaSuccess) e = keep_scratch(dev, d, total);
  d->sm_count = sms;
  d->touched = e == cudaSuccess;
  return dl_cuda_code(dev, e);
}

/* What kernels find in their environment: it follows the current device. */
static void describe(const dl_cuda_device *d) {
  dl_cuda_env *env = dl_cuda_plugin.env;
  env->fault = d->fault_there;
  env->sm_count = d->sm_count;
  env->scratch = dl_cuda_scratch;
  env->write = write_bytes;
  env->read = read_bytes;
  env->gemm = dl_cuda_blas_open() ? dl_cuda_gemm_run : nullptr;
}

int dl_cuda_enter(int dev) {
  int code = dl_cuda_there(dev);
  if (code) return code;
  dl_cuda_device *d = &dl_cuda_dev[dev];
  if (d->error) return d->error;
  if (now == dev) return DL_CU_OK;
  code = dl_cuda_code(dev, cudaSetDevice(dev));
  if (!code && !d->touched) code = touch(d, dev);
  now = code ? -1 : dev;
  if (!code) describe(d);
  return code;
}

int dl_cuda_look(int dev) {
  dl_cuda_device *d = &dl_cuda_dev[dev];
  if (d->error || !d->touched || !d->fault->code) return d->error;
  dl_cuda_fault_text(d->fault, d->why, sizeof d->why);
  fprintf(stderr, "%s\n", d->why);
  d->error = DL_CU_ASSERT;
  return d->error;
}

int dl_cuda_waited(int dev, cudaError_t e) {
  int code = dl_cuda_code(dev, e);
  return code ? code : dl_cuda_look(dev);
}

/* A context that a kernel has killed may stay dead for the rest of the process: then its error
 * stands. */
int dl_cuda_forget(int dev) {
  dl_cuda_device *d = &dl_cuda_dev[dev];
  dl_cuda_blas_forget(dev);
  dl_cuda_scratch_forget(dev);
  dl_cuda_events_forget(dev);
  *d = dl_cuda_device();
  now = -1;
  if (cudaSetDevice(dev) != cudaSuccess) cudaGetLastError();
  cudaError_t e = cudaDeviceReset();
  cudaGetLastError();
  dl_cuda_ranges_forget(dev);
  dl_cuda_pinned_forget(dev);
  if (e == cudaSuccess) e = cudaSetDevice(dev);
  if (e == cudaSuccess) e = cudaFree(nullptr); /* a new context, if there can be one */
  return dl_cuda_code(dev, e);
}
