/* driver.h -- the real driver: what its files share
 *
 * For driver.cc, blas.cc and runtime.cc of this folder. The CUDA runtime comes from
 * <cuda_runtime.h>; the tests put one of their own in its place.
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
  int error;                     /* the context's standing error */
  dl_cuda_fault *fault;          /* host memory that kernels write to */
  dl_cuda_fault *fault_there;    /* the same as the device sees it */
  int sm_count;
  int64_t context_bytes;         /* in use on the card when we came */
  void *blas;                    /* cuBLAS's handle; NULL before its first use */
  char why[512];                 /* what a kernel said of a bad value */
};
extern dl_cuda_device dl_cuda_dev[DL_CUDA_DEVICES];
extern bool dl_cuda_tf32, dl_cuda_conv_tf32;

/* runtime.cc: make dev current; 0 or why not. */
int dl_cuda_enter(int dev);
/* A CUDA result as driver.h counts it; an error that kills the context stands from now on. */
int dl_cuda_code(int dev, cudaError_t e);
/* Has a kernel noted a bad value? Looked at whenever the host waits. */
int dl_cuda_look(int dev);
int dl_cuda_now(void);           /* the current device */

/* blas.cc: load cuBLAS; NULL, with the reason in dl_cuda_blas_why, where there is none. */
dl_status dl_cuda_gemm_run(const dl_cuda_gemm *g, void *stream);
bool dl_cuda_blas_open(void);
extern char dl_cuda_blas_why[256];
void dl_cuda_blas_forget(int dev);

extern "C" {
/* The plugin's second symbol: opens the runtime. NULL with *why one of DL_CU_… and words. */
__attribute__((visibility("default"))) const dl_driver *dl_cuda_open(int *code, char *words,
                                                                     size_t cap);
/* Which cuBLAS is in use, or why none is. */
__attribute__((visibility("default"))) const char *dl_cuda_libraries(void);
}

#endif
