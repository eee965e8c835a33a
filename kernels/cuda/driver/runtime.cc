/* runtime.cc -- CUDA contexts: which device is current, what its errors mean, what kernels ask for
 *
 * INVARIANT  An error that kills a context is returned by every later call for that device until
 *            reset, as the runtime itself does; a bad value that a kernel noted counts as one.
 * SOURCE     CUDA runtime API, "Error handling"; c10/cuda/CUDAException.cpp. */
#include "driver.h"

#include <cstdio>
#include <cstring>
#include <vector>

dl_cuda_device dl_cuda_dev[DL_CUDA_DEVICES];
static int now = -1;

int dl_cuda_now(void) { return now; }

/* Errors after which a context answers nothing else. */
static bool kills(int code) {
  return code == DL_CU_ILLEGAL || code == DL_CU_ASSERT || code == DL_CU_LAUNCH_FAILED ||
         code == 214 /* uncorrectable ECC */ || code == 702 /* timeout */ || code == 715 ||
         code == 716 || code == 717 || code == 718 || code == DL_CU_LOST;
}

int dl_cuda_code(int dev, cudaError_t e) {
  if (e == cudaSuccess) return DL_CU_OK;
  int code = (int)e;
  if (code != DL_CU_NOT_READY) cudaGetLastError(); /* ours is told once; standing ones come again */
  if (dev >= 0 && kills(code) && !dl_cuda_dev[dev].error) dl_cuda_dev[dev].error = code;
  return code;
}

/* ---- what kernels ask for -------------------------------------------------------------------- */
static std::vector<void *> scratches; /* of the launch that runs */

static dl_status refuse(int code) {
  return dl_fail(DL_RuntimeError, code == DL_CU_OOM ? DL_E_OOM : DL_E_DEVICE,
                 "CUDA error: %s", cudaGetErrorString((cudaError_t)code));
}

static dl_status scratch(size_t nbytes, void *stream, void **out) {
  int code = dl_cuda_code(now, cudaMallocAsync(out, nbytes ? nbytes : 1, (cudaStream_t)stream));
  if (code) return refuse(code);
  scratches.push_back(*out);
  return DL_OK;
}

static dl_status write_bytes(void *device, const void *host, size_t n, void *stream) {
  int code = dl_cuda_code(now, cudaMemcpyAsync(device, host, n, cudaMemcpyHostToDevice,
                                               (cudaStream_t)stream));
  return code ? refuse(code) : DL_OK;
}

static dl_status read_bytes(void *host, const void *device, size_t n, void *stream) {
  int code = dl_cuda_code(now, cudaMemcpyAsync(host, device, n, cudaMemcpyDeviceToHost,
                                               (cudaStream_t)stream));
  if (!code) code = dl_cuda_code(now, cudaStreamSynchronize((cudaStream_t)stream));
  return code ? refuse(code) : DL_OK;
}

void dl_cuda_scratch_end(dl_stream s) {
  for (void *p : scratches) cudaFreeAsync(p, (cudaStream_t)s);
  scratches.clear();
}

/* ---- contexts -------------------------------------------------------------------------------- */
static int touch(dl_cuda_device *d, int dev) {
  size_t free_bytes = 0, total = 0;
  int sms = 0;
  cudaError_t e = cudaHostAlloc((void **)&d->fault, sizeof *d->fault, cudaHostAllocMapped);
  if (e == cudaSuccess) {
    memset(d->fault, 0, sizeof *d->fault);
    e = cudaHostGetDevicePointer((void **)&d->fault_there, d->fault, 0);
  }
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
  if (e == cudaSuccess) e = cudaMemGetInfo(&free_bytes, &total);
  d->sm_count = sms;
  d->context_bytes = (int64_t)(total - free_bytes);
  d->touched = e == cudaSuccess;
  return dl_cuda_code(dev, e);
}

int dl_cuda_enter(int dev) {
  dl_cuda_device *d = &dl_cuda_dev[dev];
  if (d->error) return d->error;
  if (now != dev) {
    int code = dl_cuda_code(dev, cudaSetDevice(dev));
    if (code) return code;
    now = dev;
  }
  if (!d->touched) {
    int code = touch(d, dev);
    if (code) return code;
  }
  dl_cuda_plugin.env->fault = d->fault_there;
  dl_cuda_plugin.env->sm_count = d->sm_count;
  dl_cuda_plugin.env->scratch = scratch;
  dl_cuda_plugin.env->write = write_bytes;
  dl_cuda_plugin.env->read = read_bytes;
  dl_cuda_plugin.env->gemm = dl_cuda_blas_open() ? dl_cuda_gemm_run : nullptr;
  return DL_CU_OK;
}

int dl_cuda_look(int dev) {
  dl_cuda_device *d = &dl_cuda_dev[dev];
  if (d->error || !d->touched || !d->fault->code) return d->error;
  dl_cuda_fault_text(d->fault, d->why, sizeof d->why);
  fprintf(stderr, "%s\n", d->why);
  d->error = DL_CU_ASSERT;
  return d->error;
}

int dl_cuda_forget(int dev) {
  dl_cuda_device *d = &dl_cuda_dev[dev];
  dl_cuda_blas_forget(dev);
  *d = dl_cuda_device();
  now = -1;
  if (cudaSetDevice(dev) != cudaSuccess) cudaGetLastError();
  cudaError_t e = cudaDeviceReset();
  cudaGetLastError();
  return e == cudaSuccess ? DL_CU_OK : (int)e;
}
