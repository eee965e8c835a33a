/* kernel.h -- what a kernel sees: views and numbers
 *
 * For kernels/cpu, kernels/sim, kernels/cuda. A kernel never sees a tensor, a graph or Lua.
 *
 * CONTRACT   out[] is allocated and has the shapes the op's rule gave. in[k] is the k-th tensor
 *            parameter of the schema (an absent optional one has data == NULL and ndim 0;
 *            test dtype == DL_NODTYPE). Elements of a Tensor[] parameter are in list[0..nlist).
 *            A number given for a TN parameter arrives as a 0-dim view of the compute dtype.
 *            POINTWISE: all views have the result's dims (broadcast dims have stride 0) and
 *            dims are merged where possible; `compute` is F32, F64 or I64.
 *            KERNELC: all views contiguous; floating ones have dtype `compute` (F32 or F64).
 *            (On a GPU the driver gets KERNELC views as they are, results in their final dtype.)
 *            Strides count elements. Sizes may be 0. A kernel that runs long calls dl_poll.
 * ERRORS     A kernel returns a status, having called dl_fail (bad index …).
 * BUILD      kernels/cpu files are compiled three times (x86-64, -v3, -v4); name every
 *            non-static function through DL_K(name). */
#ifndef DL_KERNEL_H
#define DL_KERNEL_H

#include "op/arg.h"
#include "op/op_id.h"

typedef struct dl_view {
  char *data;
  uint8_t dtype, ndim;
  int64_t numel;
  const int64_t *size, *stride;
} dl_view;

#define DL_MAX_IN 8
#define DL_MAX_OUT 4

typedef struct dl_kcall {
  dl_opid op;
  uint8_t compute;               /* dtype of the arithmetic, or DL_NODTYPE */
  int nout, nin, nlist;
  dl_view out[DL_MAX_OUT], in[DL_MAX_IN];
  const dl_view *list;
  const dl_arg *arg;             /* schema order; read numbers, strings, int lists only */
  uint32_t dims;                 /* REDUCE: bit d set = dimension d of in[0] is reduced */
  uint32_t numbers;              /* bit k: in[k] is a number (0-dim, data on the HOST, also where
                                  * the other views are a GPU's) */
  dl_gen *gen;                   /* ops that draw random numbers */
} dl_kcall;

typedef dl_status (*dl_kernel_fn)(dl_kcall *c);
extern const dl_kernel_fn *dl_cpu_kernels; /* picked by dl_op_init */

/* Each ISA build of kernels/cpu exports one table. */
#ifndef DL_ISA
#define DL_ISA base
#endif
#define DL_CAT2(a, b) a##_##b
#define DL_CAT(a, b) DL_CAT2(a, b)
#define DL_K(name) DL_CAT(name, DL_ISA)      /* dl_cpu_add -> dl_cpu_add_v3 */
#define DL_KERNEL(id) dl_status DL_K(dl_cpu_##id)(dl_kcall *c)

/* Threads: run fn(ctx, begin, end) over [0, n) in pieces of at least `grain` elements, on the one
 * OpenMP pool; pieces are small enough that an interrupt is seen within 50 ms. */
dl_status dl_parallel(int64_t n, int64_t grain, void (*fn)(void *ctx, int64_t lo, int64_t hi),
                      void *ctx);
int dl_threads(void);
int dl_threads_now(void);         /* that a region would get: 1 while others use the CPUs */
void dl_set_threads(int n);

/* Strided copy with dtype conversion; sizes equal. The one conversion loop of the project. */
void dl_copy_view(const dl_view *dst, const dl_view *src);

/* Scratch memory for kernels (released by the caller). */
dl_status dl_scratch(size_t nbytes, void **out);
void dl_scratch_free(void *p, size_t nbytes);

#endif
