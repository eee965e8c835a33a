/* cuda_test.h -- running the kernels of kernels/cuda on fibers, from C
 *
 * For cuda_*.c; fiber.cc is behind it. */
#ifndef CUDA_TEST_H
#define CUDA_TEST_H

#include "cuda/record.h"

#ifdef __cplusplus
extern "C" {
#endif

void cuda_test_begin(void); /* fill the plugin's environment in */
/* Give kernels a plain gemm in cuBLAS' place, or none; how often it was called since start. */
void cuda_test_gemm(bool on);
unsigned long long cuda_test_gemms(void);
/* Run op's kernel. order 0: threads and blocks forward, 1: backward, others: shuffled. */
dl_status cuda_test_run(dl_opid op, dl_kcall *k, unsigned order);
/* As dl_dispatch, with the plugin's kernel; results in their final dtype. The caller frees *ret. */
struct dl_ret;
dl_status cuda_test_dispatch(dl_opid op, const dl_arg *arg, unsigned order, struct dl_ret *ret);
const dl_cuda_fault *cuda_test_fault(void);     /* of the last run; code 0: none */
/* Barriers, exchanges and atomics, launches since start. */
unsigned long long cuda_test_meetings(void);
unsigned long long cuda_test_launches(void);

#ifdef __cplusplus
}
#endif
#endif
