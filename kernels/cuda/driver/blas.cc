/* blas.cc -- cuBLAS, found at run time: matrix products on tensor cores
 *
 * For runtime.cc. Versions 12 and 13 share what is used here. Looked for in DLREPL_CUBLAS, the
 * loader's path, CUDA's folder and pip's; DLREPL_CUBLAS=0 leaves it alone. Without it the plain
 * tiled kernels run.
 *
 * INVARIANT  Sums of 16-bit operands are kept in float32; tf32 only where the program allows it.
 * SOURCE     cuBLAS library, cublasGemmStridedBatchedEx (row-major products are the column-major
 *            products of the transposes, in the other order). */
#include "driver.h"

#include <dlfcn.h>
#include <glob.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

/* Constants of cublas_api.h and library_types.h. */
enum { OP_N = 0, OP_T = 1, R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77, ALGO_DEFAULT = -1 };

typedef int (*create_fn)(void **);
typedef int (*destroy_fn)(void *);
typedef int (*stream_fn)(void *, void *);
typedef int (*version_fn)(void *, int *);
typedef int (*gemm_fn)(void *, int, int, int, int, int, const void *, const void *, int, int,
                       long long, const void *, int, int, long long, const void *, void *, int,
                       int, long long, int, int, int);

static struct {
  bool looked;
  create_fn create;
  destroy_fn destroy;
  stream_fn stream;
  version_fn version;
  gemm_fn gemm;
} blas;
char dl_cuda_blas_why[256];

/* ---- finding it ------------------------------------------------------------------------------ */
static void *open_at(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL); }

static void *open_glob(const char *pattern) {
  glob_t g;
  void *lib = nullptr;
  if (glob(pattern, 0, nullptr, &g) == 0)
    for (size_t i = 0; i < g.gl_pathc && !lib; i++) lib = open_at(g.gl_pathv[i]);
  globfree(&g);
  return lib;
}

static void *find(void) {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12"};
  static const char *const places[] = {
      "/usr/local/cuda*/lib64/libcublas.so.1[23]",
      "/usr/local/cuda*/targets/*/lib/libcublas.so.1[23]",
      "/usr/lib/python3*/*-packages/nvidia/cu*/lib/libcublas.so.1[23]",
      "/usr/local/lib/python3*/*-packages/nvidia/cu*/lib/libcublas.so.1[23]",
      "/opt/*/lib/python3*/site-packages/nvidia/cu*/lib/libcublas.so.1[23]"};
  const char *wish = getenv("DLREPL_CUBLAS");
  void *lib = wish && *wish ? open_at(wish) : nullptr;
  for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) lib = open_at(names[i]);
  for (size_t i = 0; i < sizeof places / sizeof *places && !lib; i++) lib = open_glob(places[i]);
  const char *env = getenv("VIRTUAL_ENV");
  char pattern[512];
  snprintf(pattern, sizeof pattern,
           "%s/lib/python3*/site-packages/nvidia/cu*/lib/libcublas.so.1[23]", env ? env : "");
  return lib ? lib : env && *env ? open_glob(pattern) : nullptr;
}

bool dl_cuda_blas_open(void) {
  if (blas.looked) return blas.gemm != nullptr;
  blas.looked = true;
  const char *wish = getenv("DLREPL_CUBLAS");
  if (wish && !strcmp(wish, "0")) {
    snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why, "turned off by DLREPL_CUBLAS=0");
    return false;
  }
  void *lib = find();
  if (!lib) {
    snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why,
             "libcublas.so.12 or .13 was not found (DLREPL_CUBLAS may name it)");
    return false;
  }
  blas.create = (create_fn)dlsym(lib, "cublasCreate_v2");
  blas.destroy = (destroy_fn)dlsym(lib, "cublasDestroy_v2");
  blas.stream = (stream_fn)dlsym(lib, "cublasSetStream_v2");
  blas.version = (version_fn)dlsym(lib, "cublasGetVersion_v2");
  gemm_fn gemm = (gemm_fn)dlsym(lib, "cublasGemmStridedBatchedEx");
  if (blas.create && blas.destroy && blas.stream && gemm) blas.gemm = gemm;
  snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why,
           blas.gemm ? "cuBLAS found" : "the cuBLAS found lacks functions that are needed");
  return blas.gemm != nullptr;
}

static dl_status failed(int status) {
  return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                 "CUDA error: CUBLAS_STATUS_%s when calling `cublasGemmStridedBatchedEx`",
                 status == 3    ? "ALLOC_FAILED"
                 : status == 7  ? "INVALID_VALUE"
                 : status == 8  ? "ARCH_MISMATCH"
                 : status == 13 ? "EXECUTION_FAILED"
                 : status == 15 ? "NOT_SUPPORTED"
                                : "INTERNAL_ERROR");
}

static dl_status handle(void **out) {
  dl_cuda_device *d = &dl_cuda_dev[dl_cuda_now()];
  if (!d->blas) {
    int status = blas.create(&d->blas);
    if (status) return failed(status);
  }
  *out = d->blas;
  return DL_OK;
}

void dl_cuda_blas_forget(int dev) {
  if (dl_cuda_dev[dev].blas && blas.destroy) blas.destroy(dl_cuda_dev[dev].blas);
  dl_cuda_dev[dev].blas = nullptr;
}

/* ---- products -------------------------------------------------------------------------------- */
static int type_of(uint8_t dtype) {
  return dtype == DL_F16 ? R_16F : dtype == DL_BF16 ? R_16BF : dtype == DL_F64 ? R_64F : R_32F;
}

dl_status dl_cuda_gemm_run(const dl_cuda_gemm *g, void *stream) {
  void *h = nullptr;
  DL_TRY(handle(&h));
  int status = blas.stream(h, stream);
  if (status) return failed(status);
  float af = (float)g->alpha, bf = (float)g->beta;
  bool wide = g->dtype == DL_F64;
  int in = type_of(g->dtype), out = g->wide ? R_32F : in;
  bool tf32 = g->dtype == DL_F32 && (g->convolution ? dl_cuda_conv_tf32 : dl_cuda_tf32);
  int compute = wide ? COMPUTE_64F : tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
  const void *alpha = wide ? (const void *)&g->alpha : &af;
  const void *beta = wide ? (const void *)&g->beta : &bf;
  status = blas.gemm(h, g->tb ? OP_T : OP_N, g->ta ? OP_T : OP_N, (int)g->n, (int)g->m, (int)g->k,
                     alpha, g->b, in, (int)g->ldb, g->step_b, g->a, in, (int)g->lda, g->step_a,
                     beta, g->c, out, (int)g->ldc, g->step_c, (int)g->batch, compute, ALGO_DEFAULT);
  return status ? failed(status) : DL_OK;
}
