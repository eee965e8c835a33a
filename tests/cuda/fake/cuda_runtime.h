/* cuda_runtime.h -- a CUDA runtime of our own, on the host: the real driver without a GPU
 *
 * For kernels/cuda/driver compiled by g++ beside the kernels (fiber.h). Device memory is host
 * memory, work is done at once; machine.h says how to make it fail as a machine would.
 *
 * MUST NOT   be used outside tests. */
#ifndef DL_FAKE_CUDA_RUNTIME_H
#define DL_FAKE_CUDA_RUNTIME_H

#include <ctime>

#include "machine.h"

#define CUDART_VERSION 13000

typedef void *cudaStream_t;
typedef int cudaMemPool_t;
enum { cudaErrorNotReady = 600 };
struct fake_event { double ms; };
typedef fake_event *cudaEvent_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum { cudaHostAllocMapped = 2, cudaHostRegisterPortable = 1, cudaStreamNonBlocking = 1,
       cudaEventDefault = 0, cudaEventDisableTiming = 2, cudaDevAttrMultiProcessorCount = 16,
       cudaDevAttrMemoryPoolsSupported = 115, cudaMemPoolAttrReleaseThreshold = 4,
       cudaMemPoolAttrReservedMemCurrent = 5 };

struct cudaDeviceProp {
  char name[256];
  struct { char bytes[16]; } uuid;
  size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
  int major, minor, multiProcessorCount, warpSize, maxThreadsPerMultiProcessor, l2CacheSize,
      regsPerMultiprocessor, memoryBusWidth;
};

namespace fake {

inline double ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

inline cudaError_t take(void **p, size_t n, std::map<void *, piece> *list) {
  machine &m = the();
  *p = nullptr;
  if (m.dead[m.now]) return m.dead[m.now];
  if (n > room(m.now) || posix_memalign(p, 512, n)) return cudaErrorMemoryAllocation;
  memset(*p, 0xa5, n < 4096 ? n : 4096);
  (*list)[*p] = {m.now, n};
  m.used[m.now] += n;
  return cudaSuccess;
}

inline cudaError_t give_back(void *p, std::map<void *, piece> *list, piece *was) {
  auto i = list->find(p);
  if (i == list->end()) return misuse("memory is freed that is none, or twice");
  *was = i->second;
  the().used[was->dev] -= was->bytes;
  free(p);
  list->erase(i);
  return cudaSuccess;
}

/* What lies idle in the ordered allocator beyond `keep` goes when the host waits. */
inline void settle(uint64_t keep) {
  machine &m = the();
  if (m.idle[m.now] > keep) m.idle[m.now] = keep;
}

} // namespace fake

#define FAKE static inline cudaError_t
/* The error that was asked for, else that of a dead context. */
#define FAKE_CALL()                                   \
  do {                                                \
    cudaError_t fail_ = fake::say(fake::call(__func__)); \
    if (fail_) return fail_;                          \
  } while (0)

/* ---- devices --------------------------------------------------------------------------------- */
FAKE cudaGetDeviceCount(int *n) {
  *n = fake::the().start ? 0 : fake::the().devices;
  return fake::the().start;
}
FAKE cudaDriverGetVersion(int *v) {
  *v = fake::the().start == cudaErrorInsufficientDriver ? fake::the().driver : 13000;
  return cudaSuccess;
}
FAKE cudaRuntimeGetVersion(int *v) {
  *v = CUDART_VERSION;
  return cudaSuccess;
}
static inline const char *cudaGetErrorString(cudaError_t e) {
  return e == 2 ? "out of memory" : e == 3 ? "initialization error"
       : e == 700 ? "an illegal memory access was encountered" : "?";
}
FAKE cudaGetLastError(void) {
  fake::machine &m = fake::the();
  cudaError_t wanted = fake::call(__func__);
  if (wanted) m.last = wanted;
  cudaError_t e = m.last;
  m.last = m.dead[m.now];
  return e;
}
FAKE cudaSetDevice(int d) {
  fake::the().now = d;
  FAKE_CALL();
  return cudaSuccess;
}
FAKE cudaDeviceReset(void) {
  fake::machine &m = fake::the();
  cudaError_t fail = fake::call(__func__);
  if (fail) return fail;
  m.dead[m.now] = m.last = cudaSuccess;
  for (auto *list : {&m.blocks, &m.ordered_blocks})
    for (auto i = list->begin(); i != list->end();) {
      if (i->second.dev != m.now) ++i;
      else {
        m.used[m.now] -= i->second.bytes;
        free(i->first);
        i = list->erase(i);
      }
    }
  m.idle[m.now] = 0;
  for (auto *list : {&m.host, &m.pinned, &m.events, &m.streams})
    for (auto i = list->begin(); i != list->end();) {
      if (i->second == m.now && list != &m.pinned) free(i->first);
      i = i->second == m.now ? list->erase(i) : std::next(i);
    }
  return cudaSuccess;
}
FAKE cudaGetDeviceProperties(cudaDeviceProp *p, int) {
  FAKE_CALL();
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "Fake GPU");
  p->totalGlobalMem = fake::the().memory;
  p->major = 9;
  p->multiProcessorCount = 4;
  p->warpSize = 32;
  p->maxThreadsPerMultiProcessor = 2048;
  return cudaSuccess;
}
FAKE cudaDeviceGetAttribute(int *v, int which, int) {
  FAKE_CALL();
  *v = which == cudaDevAttrMemoryPoolsSupported ? fake::the().ordered : 4;
  return cudaSuccess;
}
FAKE cudaDeviceGetPCIBusId(char *to, int n, int dev) {
  FAKE_CALL();
  snprintf(to, (size_t)n, "0000:%02x:00.0", dev + 1);
  return cudaSuccess;
}
FAKE cudaDeviceCanAccessPeer(int *can, int, int) {
  FAKE_CALL();
  *can = 1;
  return cudaSuccess;
}

/* ---- memory ---------------------------------------------------------------------------------- */
FAKE cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  FAKE_CALL();
  *total = fake::the().memory;
  *free_bytes = fake::room(fake::the().now);
  return cudaSuccess;
}
FAKE cudaMalloc(void **p, size_t n) {
  *p = nullptr;
  FAKE_CALL();
  return fake::say(fake::take(p, n, &fake::the().blocks));
}
FAKE cudaFree(void *p) {
  fake::piece was;
  FAKE_CALL();
  return p ? fake::say(fake::give_back(p, &fake::the().blocks, &was)) : cudaSuccess;
}
FAKE cudaMallocAsync(void **p, size_t n, cudaStream_t) {
  fake::machine &m = fake::the();
  *p = nullptr;
  FAKE_CALL();
  if (!m.ordered) return fake::say(cudaErrorNotSupported);
  size_t had = m.idle[m.now], reused = n < had ? n : had;
  m.idle[m.now] -= reused;
  cudaError_t e = fake::take(p, n, &m.ordered_blocks);
  if (e) m.idle[m.now] = had;
  return fake::say(e);
}
FAKE cudaFreeAsync(void *p, cudaStream_t) {
  fake::piece was;
  FAKE_CALL();
  cudaError_t e = fake::give_back(p, &fake::the().ordered_blocks, &was);
  if (!e) fake::the().idle[was.dev] += was.bytes;
  return fake::say(e);
}
FAKE cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int dev) {
  FAKE_CALL();
  *pool = dev;
  return cudaSuccess;
}
FAKE cudaMemPoolSetAttribute(cudaMemPool_t, int, void *v) {
  FAKE_CALL();
  fake::the().keep = *(uint64_t *)v;
  return cudaSuccess;
}
FAKE cudaMemPoolGetAttribute(cudaMemPool_t pool, int, void *v) {
  fake::machine &m = fake::the();
  FAKE_CALL();
  uint64_t n = m.idle[pool];
  for (auto &b : m.ordered_blocks)
    if (b.second.dev == pool) n += b.second.bytes;
  memcpy(v, &n, sizeof n);
  return cudaSuccess;
}
FAKE cudaMemPoolTrimTo(cudaMemPool_t, size_t keep) {
  FAKE_CALL();
  fake::settle(keep);
  return cudaSuccess;
}
FAKE cudaHostAlloc(void **p, size_t n, unsigned) {
  *p = nullptr;
  FAKE_CALL();
  *p = calloc(1, n ? n : 1);
  if (!*p) return fake::say(cudaErrorMemoryAllocation);
  fake::the().host[*p] = fake::the().now;
  return cudaSuccess;
}
FAKE cudaHostRegister(void *p, size_t, unsigned) {
  FAKE_CALL();
  bool fresh = fake::the().pinned.emplace(p, fake::the().now).second;
  return fresh ? cudaSuccess : fake::misuse("it is pinned already");
}
FAKE cudaHostUnregister(void *p) {
  FAKE_CALL();
  return fake::say(fake::the().pinned.erase(p) ? cudaSuccess : 713);
}
FAKE cudaHostGetDevicePointer(void **d, void *h, unsigned) {
  FAKE_CALL();
  *d = h;
  return cudaSuccess;
}

/* ---- streams and events ---------------------------------------------------------------------- */
FAKE cudaStreamCreateWithPriority(cudaStream_t *s, unsigned, int) {
  FAKE_CALL();
  *s = malloc(1);
  fake::the().streams[*s] = fake::the().now;
  return cudaSuccess;
}
FAKE cudaStreamDestroy(cudaStream_t s) {
  FAKE_CALL();
  if (!fake::the().streams.erase(s)) return fake::misuse("a stream is destroyed that is none");
  free(s);
  return cudaSuccess;
}
FAKE cudaStreamQuery(cudaStream_t) {
  FAKE_CALL();
  return cudaSuccess;
}
FAKE cudaStreamSynchronize(cudaStream_t) {
  FAKE_CALL();
  fake::settle(fake::the().keep);
  return cudaSuccess;
}
FAKE cudaDeviceSynchronize(void) {
  FAKE_CALL();
  fake::settle(fake::the().keep);
  return cudaSuccess;
}
FAKE cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) {
  FAKE_CALL();
  return cudaSuccess;
}
FAKE cudaEventCreateWithFlags(cudaEvent_t *e, unsigned) {
  FAKE_CALL();
  *e = (fake_event *)calloc(1, sizeof **e);
  fake::the().events[*e] = fake::the().now;
  return cudaSuccess;
}
FAKE cudaEventDestroy(cudaEvent_t e) {
  cudaError_t fail = fake::call(__func__);
  if (!fake::the().events.erase(e)) return fake::misuse("an event is destroyed that is none");
  free(e);
  return fail;
}
FAKE cudaEventRecord(cudaEvent_t e, cudaStream_t) {
  FAKE_CALL();
  e->ms = fake::ms();
  return cudaSuccess;
}
FAKE cudaEventQuery(cudaEvent_t) {
  FAKE_CALL();
  return cudaSuccess;
}
FAKE cudaEventSynchronize(cudaEvent_t) {
  FAKE_CALL();
  return cudaSuccess;
}
FAKE cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) {
  FAKE_CALL();
  *ms = (float)(b->ms - a->ms);
  return cudaSuccess;
}

/* ---- copies ---------------------------------------------------------------------------------- */
FAKE cudaMemcpyAsync(void *d, const void *s, size_t n, cudaMemcpyKind, cudaStream_t) {
  FAKE_CALL();
  memmove(d, s, n);
  return cudaSuccess;
}
FAKE cudaMemcpyPeerAsync(void *d, int, const void *s, int, size_t n, cudaStream_t) {
  FAKE_CALL();
  memmove(d, s, n);
  return cudaSuccess;
}
FAKE cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t) {
  FAKE_CALL();
  memset(p, v, n);
  return cudaSuccess;
}

#include "virtual_memory.h"
#undef FAKE
#undef FAKE_CALL

#endif
