/* driver.h -- the real driver: what its files share
 *
 * For the .cc files of this folder. The CUDA runtime comes from <cuda_runtime.h>; the tests put one
 * of their own in its place.
 *
 * INVARIANT  The current device is device[now]; dl_cuda_environment describes it.
 * MUST NOT   be seen by a kernel. */
#ifndef DL_CUDA_DRIVER_H
#define DL_CUDA_DRIVER_H

#include <cuda_runtime.h>

#include "record.h"
extern "C" {
#include "mem/driver.h"
}

#define DL_CUDA_DEVICES 16

struct dl_cuda_device {
  bool touched;
  bool ordered;                  /* has cudaMallocAsync */
  int error;                     /* the context's standing error */
  dl_cuda_fault *fault;          /* host memory that kernels write to */
  dl_cuda_fault *fault_there;    /* the same as the device sees it */
  int sm_count;
  void *blas;                    /* cuBLAS's handle; NULL before its first use */
  void *blas_stream;             /* the one the handle was last given */
  bool blas_placed;              /* the handle has a stream, and that stream's workspace */
  char why[512];                 /* what a kernel said of a bad value */
};
extern dl_cuda_device dl_cuda_dev[DL_CUDA_DEVICES];
extern bool dl_cuda_tf32, dl_cuda_conv_tf32;

/* runtime.cc: make dev current; 0 or why not, PyTorch's error in a forked child. */
int dl_cuda_enter(int dev);
#define DL_CUDA_ENTER(dev)         \
  do {                             \
    int code_ = dl_cuda_enter(dev); \
    if (code_) return code_;       \
  } while (0)
/* A device there is, in a process that may ask for it; else why not. */
int dl_cuda_there(int dev);
void dl_cuda_start(int devices);  /* so many there are */
extern bool dl_cuda_forked;       /* this process is a child of the one that started CUDA */
/* A CUDA result as driver.h counts it; an error that kills the context stands from now on. */
int dl_cuda_code(int dev, cudaError_t e);
/* Has a kernel noted a bad value? Looked at whenever the host waits. */
int dl_cuda_look(int dev);
int dl_cuda_now(void);           /* the current device */
/* After waiting: an error of the runtime, or a bad value that a kernel noted. */
int dl_cuda_waited(int dev, cudaError_t e);
static inline cudaStream_t dl_cuda_stream(dl_stream s) { return (cudaStream_t)(intptr_t)s; }
int dl_cuda_forget(int dev);     /* a fresh context, or the error that stays */
/* What a kernel asked for and did not get, in this launch: a CUDA error, told once. */
int dl_cuda_refused(void);
dl_status dl_cuda_refuse(int code);
int dl_cuda_host_short(void);    /* MemoryError: no memory on the host for the driver's lists */

/* queue.cc: rows of driver.h; forget frees what is ours of a lost device's events. */
void dl_cuda_queue_rows(dl_driver *d);
void dl_cuda_events_forget(int dev);

/* range.cc: rows of driver.h; forget gives back all that a device's ranges hold. */
int dl_cuda_va_new(int dev, size_t n, void **out);
int dl_cuda_va_free(int dev, void *p, size_t n);
int dl_cuda_page_map(int dev, void *p, size_t n);
int dl_cuda_page_unmap(int dev, void *p, size_t n);
void dl_cuda_ranges_forget(int dev);

/* pinned.cc: rows of driver.h; a copy that the host does not wait for is at pinned memory. */
int dl_cuda_pinned_new(size_t n, void **out);
int dl_cuda_pinned_free(void *p, size_t n);
int dl_cuda_pinned_copy(const void *host, int dev, dl_stream s);
void dl_cuda_pinned_forget(int dev);

/* nvml.cc: rows of driver.h that nvidia-smi's library answers. */
int dl_cuda_busy(int dev, double *kernel_us, double *elapsed_us);
int dl_cuda_users(int dev, dl_gpu_user *out, int most);

/* scratch.cc: what kernels of a launch ask for lies between begin and end. */
struct dl_cuda_mark { size_t apart, used; };
dl_cuda_mark dl_cuda_scratch_begin(void *stream);
void dl_cuda_scratch_end(void *stream, dl_cuda_mark mark);
dl_status dl_cuda_scratch(size_t nbytes, void *stream, void **out);
bool dl_cuda_scratch_trim(int dev);            /* what is idle, back to CUDA; was there any? */
void dl_cuda_scratch_leave(int dev, void *stream); /* the stream is going */
void dl_cuda_scratch_forget(int dev);

/* blas.cc: load cuBLAS; NULL, with the reason in dl_cuda_blas_why, where there is none. */
dl_status dl_cuda_gemm_run(const dl_cuda_gemm *g, void *stream);
bool dl_cuda_blas_open(void);
/* c = a b, as a program would call cuBLAS itself. DL_E_UNSUPPORTED: there is none. */
dl_status dl_cuda_blas_plain(void *c, const void *a, const void *b, int64_t n, int dtype,
                             void *stream);
extern char dl_cuda_blas_why[256];
void dl_cuda_blas_forget(int dev);
/* Where cuBLAS works in on that stream; NULL: in memory of its own. */
void dl_cuda_blas_workspace(int dev, dl_stream s, void *p, size_t n);

extern "C" {
/* The plugin's second symbol: opens the runtime. NULL: *why tells the reason. */
__attribute__((visibility("default"))) const dl_driver *dl_cuda_open(dl_cuda_absence *why);
/* Which cuBLAS is in use, or why none is. */
__attribute__((visibility("default"))) const char *dl_cuda_libraries(void);
}

#endif
