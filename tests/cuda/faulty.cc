/* faulty.cc -- kernels with the mistakes that fibers are there to catch
 *
 * For cuda_fiber.c. Each is a sum or an exchange over one block of 64 threads. */
#include "cuda.h"
#include "cuda_test.h"

static __global__ void sum_all(const int *x, int *out, int with_barrier) {
  DL_SHARED(int, s, [64]);
  int t = (int)threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (t < d) s[t] += s[t + d];
    if (with_barrier) __syncthreads();
  }
  __syncthreads();
  if (t == 0) *out = s[0];
}

static __global__ void part_waits(int *out) {
  if (threadIdx.x < 32) __syncthreads();
  *out = 1;
}
static __global__ void two_places(int *out) {
  if (threadIdx.x < 32) __syncthreads();
  else
    __syncthreads();
  *out = 1;
}
static __global__ void half_a_warp(int *out) {
  if (threadIdx.x % 32 < 16) *out = __shfl_xor_sync(0xffffffffu, 1, 1);
}
static __global__ void reads_rubbish(int *out) {
  DL_SHARED(int, s, [64]);
  out[0] = s[threadIdx.x];
}
static __global__ void beyond_the_end(int *out) {
  DL_SHARED(int, s, [64]);
  s[threadIdx.x + 1] = 1;
  out[0] = s[1];
}
static __global__ void votes(int *out) {
  int any = (int)__syncthreads_or(threadIdx.x == 40);
  int all = (int)__syncthreads_and(threadIdx.x < 64);
  int count = (int)__syncthreads_count(threadIdx.x % 2);
  unsigned bits = __ballot_sync(0xffffffffu, threadIdx.x % 32 < 3);
  if (threadIdx.x == 5) out[0] = any, out[1] = all, out[2] = count, out[3] = (int)bits;
}
static __global__ void adds(int *out) { atomicAdd(out, (int)threadIdx.x); }

extern "C" void cuda_test_kernel(const char *name, unsigned order, const int *x, int *out) {
  fiber::order = order;
  if (!strcmp(name, "sum")) DL_LAUNCH(sum_all, 1, 64, 0, nullptr, x, out, 1);
  if (!strcmp(name, "sum without barrier")) DL_LAUNCH(sum_all, 1, 64, 0, nullptr, x, out, 0);
  if (!strcmp(name, "part waits")) DL_LAUNCH(part_waits, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "two places")) DL_LAUNCH(two_places, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "half a warp")) DL_LAUNCH(half_a_warp, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "reads rubbish")) DL_LAUNCH(reads_rubbish, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "beyond the end")) DL_LAUNCH(beyond_the_end, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "votes")) DL_LAUNCH(votes, 1, 64, 0, nullptr, out);
  if (!strcmp(name, "adds")) DL_LAUNCH(adds, 3, 64, 0, nullptr, out);
  if (!strcmp(name, "empty grid")) DL_LAUNCH(adds, 0, 64, 0, nullptr, out);
  if (!strcmp(name, "too many threads")) DL_LAUNCH(adds, 1, 2048, 0, nullptr, out);
}
