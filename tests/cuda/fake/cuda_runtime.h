/* cuda_runtime.h -- a CUDA runtime of our own, on the host: the real driver without a GPU
 *
 * For kernels/cuda/driver compiled by g++ beside the kernels (fiber.h). Device memory is host
 * memory, work is done at once. The environment makes it fail as a machine would:
 *     DLREPL_FAKE_CUDA=nodriver | old | nodevice | devices=2 | memory=64 (MiB)
 *     DLREPL_FAKE_CUDA_FAULT=N   the N-th time errors are asked for there is an illegal address
 *
 * MUST NOT   be used outside tests. */
#ifndef DL_FAKE_CUDA_RUNTIME_H
#define DL_FAKE_CUDA_RUNTIME_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>

typedef int cudaError_t;
typedef void *cudaStream_t;
struct fake_event { double ms; bool recorded; };
typedef fake_event *cudaEvent_t;
enum {
  cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum { cudaHostAllocMapped = 2, cudaHostAllocPortable = 1, cudaStreamNonBlocking = 1,
       cudaEventDefault = 0, cudaEventDisableTiming = 2, cudaDevAttrMultiProcessorCount = 16 };

struct cudaDeviceProp {
  char name[256];
  struct { char bytes[16]; } uuid;
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
  int major, minor, multiProcessorCount, warpSize, maxThreadsPerMultiProcessor, l2CacheSize,
      regsPerMultiprocessor, memoryBusWidth;
};

namespace fake {

struct machine {
  int devices = 1;
  size_t memory = (size_t)4 << 30, used[16] = {0};
  cudaError_t start = cudaSuccess;
  long launches = 0, fault_at = 0;
  cudaError_t last = cudaSuccess, dead[16] = {0};
  int now = 0;
  std::map<void *, std::pair<int, size_t>> blocks;
};

inline machine &the(void) {
  static machine *m = nullptr;
  if (m) return *m;
  m = new machine;
  const char *w = getenv("DLREPL_FAKE_CUDA"), *f = getenv("DLREPL_FAKE_CUDA_FAULT");
  if (f) m->fault_at = atol(f);
  if (!w) return *m;
  if (strstr(w, "nodriver") || strstr(w, "old")) m->start = cudaErrorInsufficientDriver;
  if (strstr(w, "nodevice")) m->start = cudaErrorNoDevice;
  if (const char *p = strstr(w, "devices=")) m->devices = atoi(p + 8);
  if (const char *p = strstr(w, "memory=")) m->memory = (size_t)atol(p + 7) << 20;
  return *m;
}

inline cudaError_t say(cudaError_t e) {
  machine &m = the();
  if (m.dead[m.now]) e = m.dead[m.now];
  if (e) m.last = e;
  return e;
}

inline double ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

} // namespace fake

#define FAKE static inline cudaError_t
FAKE cudaGetDeviceCount(int *n) {
  *n = fake::the().start ? 0 : fake::the().devices;
  return fake::the().start;
}
static inline const char *cudaGetErrorString(cudaError_t e) {
  return e == 2 ? "out of memory" : e == 700 ? "an illegal memory access was encountered" : "?";
}
/* A launch is over when its errors are asked for: here the chosen one goes wrong. */
FAKE cudaGetLastError(void) {
  fake::machine &m = fake::the();
  if (m.fault_at && ++m.launches == m.fault_at) m.last = m.dead[m.now] = 700;
  cudaError_t e = m.last;
  m.last = m.dead[m.now];
  return e;
}
FAKE cudaSetDevice(int d) {
  fake::the().now = d;
  return fake::say(cudaSuccess);
}
FAKE cudaDeviceReset(void) {
  fake::machine &m = fake::the();
  m.dead[m.now] = m.last = cudaSuccess;
  for (auto i = m.blocks.begin(); i != m.blocks.end();) {
    if (i->second.first != m.now) ++i;
    else free(i->first), i = m.blocks.erase(i);
  }
  m.used[m.now] = 0;
  return cudaSuccess;
}
FAKE cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "Fake GPU");
  p->totalGlobalMem = fake::the().memory;
  p->major = 9;
  p->multiProcessorCount = 4;
  p->warpSize = 32;
  p->maxThreadsPerMultiProcessor = 2048;
  return fake::say(cudaSuccess);
}
FAKE cudaDeviceGetAttribute(int *v, int, int) {
  *v = 4;
  return fake::say(cudaSuccess);
}
FAKE cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 1;
  return fake::say(cudaSuccess);
}
FAKE cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  fake::machine &m = fake::the();
  *total = m.memory;
  *free_bytes = m.memory - m.used[m.now];
  return fake::say(cudaSuccess);
}
FAKE cudaMalloc(void **p, size_t n) {
  fake::machine &m = fake::the();
  *p = nullptr;
  if (m.dead[m.now]) return fake::say(m.dead[m.now]);
  if (n > m.memory - m.used[m.now]) return fake::say(cudaErrorMemoryAllocation);
  if (posix_memalign(p, 512, n)) return fake::say(cudaErrorMemoryAllocation);
  memset(*p, 0xa5, n < 4096 ? n : 4096);
  m.blocks[*p] = {m.now, n};
  m.used[m.now] += n;
  return cudaSuccess;
}
FAKE cudaFree(void *p) {
  fake::machine &m = fake::the();
  auto i = m.blocks.find(p);
  if (i == m.blocks.end()) return fake::say(1);
  m.used[i->second.first] -= i->second.second;
  free(p);
  m.blocks.erase(i);
  return fake::say(cudaSuccess);
}
FAKE cudaMallocAsync(void **p, size_t n, cudaStream_t) { return cudaMalloc(p, n); }
FAKE cudaFreeAsync(void *p, cudaStream_t) { return cudaFree(p); }
FAKE cudaHostAlloc(void **p, size_t n, unsigned) {
  *p = calloc(1, n ? n : 1);
  return fake::say(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}
FAKE cudaFreeHost(void *p) {
  free(p);
  return cudaSuccess;
}
FAKE cudaHostGetDevicePointer(void **d, void *h, unsigned) {
  *d = h;
  return fake::say(cudaSuccess);
}
FAKE cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) {
  *s = malloc(1);
  return fake::say(cudaSuccess);
}
FAKE cudaStreamDestroy(cudaStream_t s) {
  free(s);
  return fake::say(cudaSuccess);
}
FAKE cudaStreamQuery(cudaStream_t) { return fake::say(cudaSuccess); }
FAKE cudaStreamSynchronize(cudaStream_t) { return fake::say(cudaSuccess); }
FAKE cudaDeviceSynchronize(void) { return fake::say(cudaSuccess); }
FAKE cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return fake::say(cudaSuccess); }
FAKE cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) {
  *e = new fake_event{0, false};
  return fake::say(cudaSuccess);
}
FAKE cudaEventDestroy(cudaEvent_t e) {
  delete e;
  return cudaSuccess;
}
FAKE cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  e->ms = fake::ms();
  e->recorded = true;
  return fake::say(cudaSuccess);
}
FAKE cudaEventQuery(cudaEvent_t) { return fake::say(cudaSuccess); }
FAKE cudaEventSynchronize(cudaEvent_t) { return fake::say(cudaSuccess); }
FAKE cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) {
  *ms = (float)(b->ms - a->ms);
  return fake::say(cudaSuccess);
}
FAKE cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind, cudaStream_t) {
  cudaError_t e = fake::say(cudaSuccess);
  if (!e) memmove(d, s, n);
  return e;
}
FAKE cudaMemcpyPeerAsync(void *d, int, const void *s, int, size_t n, cudaStream_t) {
  return cudaMemcpyAsync(d, s, n, cudaMemcpyDefault, nullptr);
}
FAKE cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) {
  cudaError_t e = fake::say(cudaSuccess);
  if (!e) memset(p, v, n);
  return e;
}
#undef FAKE

#endif
