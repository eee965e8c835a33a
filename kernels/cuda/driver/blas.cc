/* blas.cc -- cuBLAS, found at run time: matrix products on tensor cores
 *
 * For runtime.cc. Versions 12 and 13 share what is used here. DLREPL_CUBLAS names it, or 0: none;
 * else it is looked for in the loader's path, CUDA's folder, pip's and conda's, also beside the
 * python3 of PATH. Without it, or where it does not start, the plain tiled kernels run, and the
 * reason is told.
 *
 * INVARIANT  Sums of 16-bit operands are kept in float32; tf32 only where the program allows it. A
 *            handle works in the pool's workspace of the stream, where there is one.
 * SOURCE     cuBLAS library, cublasGemmStridedBatchedEx (row-major products are the column-major
 *            products of the transposes, in the other order). */
#include "driver.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

/* Constants of cublas_api.h and library_types.h. */
enum { OP_N = 0, OP_T = 1, R_32F = 0, R_64F = 1, R_16F = 2, R_16BF = 14 };
enum { COMPUTE_32F = 68, COMPUTE_64F = 70, COMPUTE_32F_FAST_TF32 = 77, ALGO_DEFAULT = -1 };

typedef int (*create_fn)(void **);
typedef int (*destroy_fn)(void *);
typedef int (*stream_fn)(void *, void *);
typedef int (*property_fn)(int, int *);
typedef int (*workspace_fn)(void *, void *, size_t);
typedef int (*plain_fn)(void *, int, int, int, int, int, const void *, const void *, int, int,
                        const void *, int, int, const void *, void *, int, int, int, int);
typedef int (*gemm_fn)(void *, int, int, int, int, int, const void *, const void *, int, int,
                       long long, const void *, int, int, long long, const void *, void *, int,
                       int, long long, int, int, int);

static struct {
  bool looked;
  create_fn create;
  destroy_fn destroy;
  stream_fn stream;
  workspace_fn workspace;        /* NULL: it has none */
  gemm_fn gemm;
  plain_fn plain;                /* NULL: it has none; nobody computes with it */
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

/* Where CUDA, pip or conda put it into `root`, a folder with bin and lib. */
static void *open_below(const char *root) {
  static const char *const places[] = {
      "%s/lib/python3*/*-packages/nvidia/cu*/lib/libcublas.so.1[23]", "%s/lib64/libcublas.so.1[23]",
      "%s/lib/libcublas.so.1[23]"};
  char pattern[512];
  void *lib = nullptr;
  for (size_t i = 0; i < sizeof places / sizeof *places && !lib; i++)
    if (snprintf(pattern, sizeof pattern, places[i], root) < (int)sizeof pattern)
      lib = open_glob(pattern);
  return lib;
}

/* Below each folder of PATH that has a python3. */
static void *open_beside_python(void) {
  const char *path = getenv("PATH");
  void *lib = nullptr;
  for (size_t n; path && *path && !lib; path += n + (path[n] == ':')) {
    char program[400];
    n = strcspn(path, ":");
    int end = snprintf(program, sizeof program, "%.*s/python3", (int)n, path);
    if (n == 0 || end >= (int)sizeof program || access(program, X_OK) != 0) continue;
    memcpy(program + n + 1, "..", 3);
    lib = open_below(program);
  }
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
  void *lib = nullptr;
  if (wish && *wish) return open_at(wish); /* that one or none */
  for (size_t i = 0; i < sizeof names / sizeof *names && !lib; i++) lib = open_at(names[i]);
  for (size_t i = 0; i < sizeof places / sizeof *places && !lib; i++) lib = open_glob(places[i]);
  const char *root[] = {getenv("CUDA_HOME"), getenv("VIRTUAL_ENV"), getenv("CONDA_PREFIX")};
  const char *home = getenv("HOME");
  for (size_t i = 0; i < sizeof root / sizeof *root && !lib; i++)
    if (root[i] && *root[i]) lib = open_below(root[i]);
  if (!lib) lib = open_beside_python();
  char local[400];
  if (!lib && home && snprintf(local, sizeof local, "%s/.local", home) < (int)sizeof local)
    lib = open_below(local);
  return lib;
}

enum { MAJOR = 0, MINOR = 1, OLDEST = 12, NEWEST = 13 };

static bool no(const char *fmt, int n) {
  snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why, fmt, n);
  blas.gemm = nullptr;
  return false;
}

/* The functions of a library that was found; are they all there, of a version that is known? */
static bool take(void *lib) {
  property_fn property = (property_fn)dlsym(lib, "cublasGetProperty");
  int major = 0, minor = 0;
  if (!property || property(MAJOR, &major) || property(MINOR, &minor))
    return no("the cuBLAS found does not tell its version", 0);
  if (major < OLDEST) return no("the cuBLAS found is version %d: 12 or 13 is needed", major);
  if (major > NEWEST) return no("the cuBLAS found is version %d: 12 and 13 are known", major);
  blas.create = (create_fn)dlsym(lib, "cublasCreate_v2");
  blas.destroy = (destroy_fn)dlsym(lib, "cublasDestroy_v2");
  blas.stream = (stream_fn)dlsym(lib, "cublasSetStream_v2");
  blas.workspace = (workspace_fn)dlsym(lib, "cublasSetWorkspace_v2");
  blas.plain = (plain_fn)dlsym(lib, "cublasGemmEx");
  blas.gemm = (gemm_fn)dlsym(lib, "cublasGemmStridedBatchedEx");
  if (!blas.create || !blas.destroy || !blas.stream || !blas.gemm)
    return no("the cuBLAS found lacks functions that are needed", 0);
  snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why, "cuBLAS %d.%d", major, minor);
  return true;
}

bool dl_cuda_blas_open(void) {
  if (blas.looked) return blas.gemm != nullptr;
  blas.looked = true;
  const char *wish = getenv("DLREPL_CUBLAS");
  if (wish && !strcmp(wish, "0")) return no("turned off by DLREPL_CUBLAS=0", 0);
  void *lib = find();
  if (lib) return take(lib);
  const char *why = wish && *wish ? dlerror() : nullptr;
  if (why)
    snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why, "%s (DLREPL_CUBLAS)", why);
  else
    no("libcublas.so.12 or .13 was not found (DLREPL_CUBLAS may name it; pip install "
       "nvidia-cublas)", 0);
  return false;
}

/* ---- handles --------------------------------------------------------------------------------- */
static const char *name_of(int status) {
  static const struct { int code; const char *name; } all[] = {
      {1, "NOT_INITIALIZED"}, {3, "ALLOC_FAILED"}, {7, "INVALID_VALUE"}, {8, "ARCH_MISMATCH"},
      {11, "MAPPING_ERROR"}, {13, "EXECUTION_FAILED"}, {14, "INTERNAL_ERROR"},
      {15, "NOT_SUPPORTED"}, {16, "LICENSE_ERROR"}};
  for (auto &e : all)
    if (e.code == status) return e.name;
  return "INTERNAL_ERROR";
}

static dl_status failed(int status, const char *call) {
  return dl_fail(DL_RuntimeError, DL_E_DEVICE, "CUDA error: CUBLAS_STATUS_%s when calling `%s`",
                 name_of(status), call);
}

enum { PLACES = 64 };
static struct place { int dev; void *stream, *p; size_t n; } places[PLACES];

static struct place *place_of(int dev, void *stream, bool unused) {
  struct place *empty = nullptr;
  for (struct place &x : places) {
    if (x.p && x.dev == dev && x.stream == stream) return &x;
    if (!x.p) empty = &x;
  }
  return unused ? empty : nullptr;
}

void dl_cuda_blas_workspace(int dev, dl_stream s, void *p, size_t n) {
  void *stream = (void *)(intptr_t)s;
  struct place *x = place_of(dev, stream, p != nullptr);
  if (x) *x = {dev, stream, p, n};
  dl_cuda_dev[dev].blas_placed = false;
}

/* A library that does not start takes itself away: the plain kernels run from now on. Making room
 * runs finalizers, which may leave another device current. */
static dl_status start(dl_cuda_device *d) {
  int dev = dl_cuda_now(), status = blas.create(&d->blas);
  if (status == 3) {
    bool room = dl_driver_make_room(dev);
    int code = dl_cuda_enter(dev);
    if (code) return dl_cuda_refuse(code);
    if (room) status = blas.create(&d->blas);
  }
  if (!status) return DL_OK;
  d->blas = nullptr;
  failed(status, "cublasCreate(handle)");
  if (status == 3) {
    dl_note("the card has no room left for cuBLAS itself: free some tensors first");
    return dl_err.kind;
  }
  dl_warn(true, "UserWarning", "cuBLAS does not start (CUBLAS_STATUS_%s): matrix products go on "
          "with plain kernels, which are slower", name_of(status));
  snprintf(dl_cuda_blas_why, sizeof dl_cuda_blas_why, "cuBLAS does not start (CUBLAS_STATUS_%s)",
           name_of(status));
  blas.gemm = nullptr;
  dl_cuda_plugin.env->gemm = nullptr;
  return dl_err.kind;
}

/* Setting a stream takes the workspace away: both are set, and only when the stream changes. */
static dl_status handle(void *stream, void **out) {
  dl_cuda_device *d = &dl_cuda_dev[dl_cuda_now()];
  if (!d->blas) DL_TRY(start(d));
  *out = d->blas;
  if (d->blas_placed && d->blas_stream == stream) return DL_OK;
  int status = blas.stream(d->blas, stream);
  if (status) return failed(status, "cublasSetStream(handle, stream)");
  struct place *x = place_of(dl_cuda_now(), stream, false);
  if (x && blas.workspace) blas.workspace(d->blas, x->p, x->n);
  d->blas_stream = stream;
  d->blas_placed = true;
  return DL_OK;
}

void dl_cuda_blas_forget(int dev) {
  if (dl_cuda_dev[dev].blas && blas.destroy) blas.destroy(dl_cuda_dev[dev].blas);
  dl_cuda_dev[dev].blas = nullptr;
  for (struct place &x : places)
    if (x.dev == dev) x.p = nullptr;
}

/* ---- products -------------------------------------------------------------------------------- */
static int type_of(uint8_t dtype) {
  return dtype == DL_F16 ? R_16F : dtype == DL_BF16 ? R_16BF : dtype == DL_F64 ? R_64F : R_32F;
}

/* cuBLAS counts in 32 bits. */
static dl_status too_long(const dl_cuda_gemm *g) {
  const struct { const char *name; int64_t n; } all[] = {
      {"m", g->m}, {"n", g->n}, {"k", g->k}, {"lda", g->lda}, {"ldb", g->ldb}, {"ldc", g->ldc},
      {"batch", g->batch}};
  for (auto &x : all)
    if (x.n > INT32_MAX)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "at::cuda::blas::gemm argument %s must be non-negative and less than "
                     "2147483647 but got %lld", x.name, (long long)x.n);
  return DL_OK;
}

dl_status dl_cuda_gemm_run(const dl_cuda_gemm *g, void *stream) {
  void *h = nullptr;
  DL_TRY(too_long(g));
  DL_TRY(handle(stream, &h));
  float af = (float)g->alpha, bf = (float)g->beta;
  bool wide = g->dtype == DL_F64;
  int in = type_of(g->dtype), out = g->wide ? R_32F : in;
  bool tf32 = g->dtype == DL_F32 && (g->convolution ? dl_cuda_conv_tf32 : dl_cuda_tf32);
  int compute = wide ? COMPUTE_64F : tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
  const void *alpha = wide ? (const void *)&g->alpha : &af;
  const void *beta = wide ? (const void *)&g->beta : &bf;
  int status = blas.gemm(h, g->tb ? OP_T : OP_N, g->ta ? OP_T : OP_N, (int)g->n, (int)g->m,
                         (int)g->k, alpha, g->b, in, (int)g->ldb, g->step_b, g->a, in, (int)g->lda,
                         g->step_a, beta, g->c, out, (int)g->ldc, g->step_c, (int)g->batch, compute,
                         ALGO_DEFAULT);
  return status ? failed(status, "cublasGemmStridedBatchedEx") : DL_OK;
}

dl_status dl_cuda_blas_plain(void *c, const void *a, const void *b, int64_t n, int dtype,
                             void *stream) {
  void *h = nullptr;
  float one = 1, zero = 0;
  if (!dl_cuda_blas_open() || !blas.plain || dtype == DL_F64 || n > INT32_MAX)
    return DL_E_UNSUPPORTED;
  DL_TRY(handle(stream, &h));
  int type = type_of((uint8_t)dtype), side = (int)n;
  int compute = dtype == DL_F32 && dl_cuda_tf32 ? COMPUTE_32F_FAST_TF32 : COMPUTE_32F;
  int status = blas.plain(h, OP_N, OP_N, side, side, side, &one, b, type, side, a, type, side,
                          &zero, c, type, side, compute, ALGO_DEFAULT);
  return status ? failed(status, "cublasGemmEx") : DL_OK;
}
