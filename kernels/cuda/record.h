/* record.h -- what the CUDA plugin and the program say to each other
 *
 * For kernels/cuda (which fills the record in), the plugin's driver (which fills the environment
 * in) and whoever loads the plugin (which compares abi, count and hash before it calls anything).
 *
 * INVARIANT  Plain C. DL_CUDA_ABI goes up whenever a struct here, dl_kcall or dl_driver changes.
 * MUST NOT   know CUDA's headers: a stream is a void pointer. */
#ifndef DL_CUDA_RECORD_H
#define DL_CUDA_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

#include "kernel.h"

#define DL_CUDA_ABI 7

/* ---- bad values seen by a kernel ------------------------------------------------------------- */
/* id, PyTorch's file, line and kernel, PyTorch's assertion. A kernel that meets such a value notes
 * the first one in env.fault and goes on with a harmless one; the driver reads the note when it
 * waits, prints dl_cuda_fault_text and from then on answers DL_CU_ASSERT. */
#define DL_CUDA_FAULTS(X)                                                                         \
  X(INDEX, "IndexKernel.cu:94: operator()",                                                       \
    "-sizes[i] <= index && index < sizes[i] && \"index out of bounds\"")                          \
  X(SELECT, "Indexing.cu:1284: indexSelectSmallIndex", "srcIndex < srcSelectDimSize")             \
  X(INDEX_ADD, "Indexing.cu:1080: indexFuncSmallIndex", "dstIndex < dstAddDimSize")               \
  X(GATHER, "ScatterGatherKernel.cu:144: operator()",                                             \
    "idx_dim >= 0 && idx_dim < index_size && \"index out of bounds\"")                            \
  X(NLL, "Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d", "t >= 0 && t < n_classes")        \
  X(NLL2D, "NLLLoss2d.cu:106: nll_loss2d_forward_kernel", "t >= 0 && t < n_classes")              \
  X(BCE, "Loss.cu:91: operator()", "input_val >= zero && input_val <= one")                       \
  X(COIN, "DistributionTemplates.h:622: operator()", "0 <= p4 && p4 <= 1")                        \
  X(WEIGHTS, "MultinomialKernel.cu:112: binarySearchForMultinomial",                              \
    "cumdist[size - 1] > static_cast<scalar_t>(0)")                                               \
  X(BINS, "SummaryOps.cu:90: operator()", "bin >= 0")                                             \
  X(UNPOOL, "DilatedMaxPool2d.cu:164: max_pool_backward_nchw", "index >= 0 && index < input_size")

typedef enum dl_cuda_fault_code {
  DL_FAULT_NONE,
#define X(id, where, text) DL_FAULT_##id,
  DL_CUDA_FAULTS(X)
#undef X
  DL_FAULT_COUNT
} dl_cuda_fault_code;

typedef struct dl_cuda_fault {   /* in memory that host and device see; code 0: none */
  int code;
  uint32_t block[3], thread[3];
} dl_cuda_fault;

/* "…/Loss.cu:245: kernel: block: [0,0,0], thread: [3,0,0] Assertion `…` failed." into buf. */
const char *dl_cuda_fault_text(const dl_cuda_fault *f, char *buf, size_t cap);

/* ---- what kernels ask of the driver ---------------------------------------------------------- */
/* c = alpha * op(a) op(b) + beta * c in `batch` problems, row-major: c is m x n, op(a) m x k,
 * op(b) k x n; ld* are row lengths of a, b, c as stored, step_* elements from one problem to the
 * next. dtype is F16, BF16, F32 or F64; sums are kept in float32 (float64); beta 0 reads no c. */
typedef struct dl_cuda_gemm {
  uint8_t dtype;
  bool wide;                     /* c is F32 where a and b are F16 or BF16 */
  bool convolution;              /* part of one: torch.backends.cudnn.allow_tf32 decides */
  bool ta, tb;                   /* a (b) is stored as k x m (n x k) */
  int64_t m, n, k, lda, ldb, ldc, batch, step_a, step_b, step_c;
  const void *a, *b;
  void *c;
  double alpha, beta;
} dl_cuda_gemm;

typedef struct dl_cuda_env {
  /* Device memory outside the pool, 256-byte aligned, until the kernel function has returned and
   * what it launched is done; never freed by the kernel. Fails as an allocation does. */
  dl_status (*scratch)(size_t nbytes, void *stream, void **out);
  /* Copy a few bytes between host and device in the stream's order; read waits for them. */
  dl_status (*write)(void *device, const void *host, size_t nbytes, void *stream);
  dl_status (*read)(void *host, const void *device, size_t nbytes, void *stream);
  /* cuBLAS; NULL where there is none: the plain kernel runs. */
  dl_status (*gemm)(const dl_cuda_gemm *g, void *stream);
  dl_cuda_fault *fault;          /* of the current device, as the device sees it */
  int sm_count;                  /* of the current device */
} dl_cuda_env;

/* ---- the record ------------------------------------------------------------------------------ */
typedef dl_status (*dl_cuda_fn)(dl_kcall *c, void *stream);

typedef struct dl_cuda_record {
  uint32_t abi, op_count;
  uint64_t ops_hash;             /* dl_cuda_hash over id and schema of every row of ops.def */
  const dl_cuda_fn *kernels;     /* op_count of them; NULL for VIEW and COMPOSITE rows */
  dl_cuda_env *env;              /* to be filled in before the first launch */
} dl_cuda_record;

/* Why the plugin's driver did not open. */
typedef struct dl_cuda_absence {
  int code;                      /* of CUDA, or DL_CU_NO_DRIVER, DL_CU_TOO_OLD … of driver.h */
  int version;                   /* of CUDA, that this machine's driver knows; 0: not known */
  char words[256];
} dl_cuda_absence;

/* The plugin's one symbol besides its driver. */
extern __attribute__((visibility("default"))) const dl_cuda_record dl_cuda_plugin;

#ifdef __cplusplus
}
#define DL_CONSTEXPR constexpr
#else
#define DL_CONSTEXPR static inline
#endif

/* FNV-1a, going on from h. */
#define DL_CUDA_HASH_START 14695981039346656037ull
DL_CONSTEXPR uint64_t dl_cuda_hash(uint64_t h, const char *s) {
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211ull;
  return h;
}

#endif
