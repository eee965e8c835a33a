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
/* Run op's kernel. order 0: threads and blocks forward, 1: backward, others: shuffled. */
dl_status cuda_test_run(dl_opid op, dl_kcall *k, unsigned order);
const dl_cuda_fault *cuda_test_fault(void);     /* of the last run; code 0: none */
/* Barriers, exchanges and atomics, launches since start. */
unsigned long long cuda_test_meetings(void);
unsigned long long cuda_test_launches(void);

#ifdef __cplusplus
}
#endif
#endif
