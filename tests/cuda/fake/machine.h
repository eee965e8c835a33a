/* machine.h -- a machine with GPUs that the tests can break: what the fake runtime stands on
 *
 * For cuda_runtime.h and virtual.h beside it. The environment says what it is like:
 *     DLREPL_FAKE_CUDA       nodriver | old | nodevice | devices=2 | memory=64 (MiB) | broken=3
 *                            (the error that counting devices gives) | novirtual | noordered
 *     DLREPL_FAKE_CUDA_FAIL  cuMemMap:3=2,cudaMalloc:*=2: the third call of cuMemMap gives
 *                            error 2, every call of cudaMalloc does; one that kills stands
 *     DLREPL_FAKE_CUDA_OTHER a file: MiB of the cards that another process has taken by now
 *     DLREPL_FAKE_CUDA_ASTRAY  a kernel may go where nothing is (ops_gpu --fault)
 *     DLREPL_FAKE_CUDA_LOG   a file: how often each function was called, and what was left over
 *
 * MUST NOT   be used outside tests. */
#ifndef DL_FAKE_MACHINE_H
#define DL_FAKE_MACHINE_H

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "fiber.h"
#undef warpSize                  /* the kernels'; here it is a member of cudaDeviceProp */

typedef int cudaError_t;
enum {
  cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2,
  cudaErrorInsufficientDriver = 35, cudaErrorNoDevice = 100, cudaErrorInvalidDevice = 101,
  cudaErrorNotSupported = 801
};

namespace fake {

enum { MAX_DEVICES = 16 };

struct failure {
  std::string function;
  long nth;                      /* 0: every one */
  int error;
};
struct piece { int dev; size_t bytes; };
struct backing { int dev; size_t bytes; int uses; }; /* what cuMemCreate made */
struct mapping { size_t bytes; unsigned long long handle; };

struct machine {
  int devices = 1;
  size_t memory = (size_t)4 << 30, used[MAX_DEVICES] = {0}, idle[MAX_DEVICES] = {0};
  uint64_t keep = 0;             /* bytes that stay idle in the ordered allocator */
  cudaError_t start = cudaSuccess, last = cudaSuccess, dead[MAX_DEVICES] = {0};
  bool virtual_memory = true, ordered = true;
  int now = 0, made_by = 0;
  const char *other = nullptr, *log = nullptr;
  std::vector<failure> failures;
  std::map<std::string, long> calls;
  std::map<void *, piece> blocks, ordered_blocks;
  std::map<char *, size_t> ranges;
  std::map<char *, mapping> mapped;
  std::map<unsigned long long, backing> handles;
  unsigned long long next_handle = 1;
  std::map<void *, int> host, pinned; /* by cudaHostAlloc, by cudaHostRegister */
  int driver = 0;                /* CUDA's version that an old one knows */
  std::map<void *, int> events, streams;
  long wrong = 0;
};

inline machine &the(void);

inline void write_log(void) {
  machine &m = the();
  if (m.made_by != getpid()) return; /* a child that was forked off has its own */
  FILE *f = m.log ? fopen(m.log, "w") : nullptr;
  if (!f) return;
  for (auto &c : m.calls) fprintf(f, "%s %ld\n", c.first.c_str(), c.second);
  fprintf(f, "launches %llu\n", (unsigned long long)fiber::launches);
  fprintf(f, "left blocks %zu ordered %zu ranges %zu pages %zu handles %zu\n", m.blocks.size(),
          m.ordered_blocks.size(), m.ranges.size(), m.mapped.size(), m.handles.size());
  fprintf(f, "left events %zu streams %zu pinned %zu\nwrong %ld\n", m.events.size(),
          m.streams.size(), m.pinned.size(), m.wrong);
  fclose(f);
}

/* "name:nth=error,…" */
inline void read_failures(machine *m, const char *text) {
  char name[64], nth[16];
  int error, n;
  for (; text && sscanf(text, "%63[^:]:%15[^=]=%d%n", name, nth, &error, &n) == 3; text += n) {
    m->failures.push_back({name, *nth == '*' ? 0 : atol(nth), error});
    n += text[n] == ',';
  }
}

/* A kernel that goes where nothing is kills its context, and its host goes on: so it does here, if
 * the place is one that a test has chosen for that (ops_gpu --fault). */
inline void astray(int, siginfo_t *info, void *) {
  char *at = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)4095);
  if ((uintptr_t)at < 0x10000000 || (uintptr_t)at >= 0x11000000 ||
      mmap(at, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at)
    signal(SIGSEGV, SIG_DFL);
  the().dead[the().now] = the().last = 700;
}

inline machine &the(void) {
  static machine *m = nullptr;
  if (m) return *m;
  m = new machine;
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = astray;
  act.sa_flags = SA_SIGINFO;
  if (getenv("DLREPL_FAKE_CUDA_ASTRAY")) sigaction(SIGSEGV, &act, nullptr);
  m->made_by = getpid();
  const char *w = getenv("DLREPL_FAKE_CUDA");
  read_failures(m, getenv("DLREPL_FAKE_CUDA_FAIL"));
  m->other = getenv("DLREPL_FAKE_CUDA_OTHER");
  m->log = getenv("DLREPL_FAKE_CUDA_LOG");
  if (m->log) atexit(write_log);
  if (!w) return *m;
  if (strstr(w, "nodriver") || strstr(w, "old")) m->start = cudaErrorInsufficientDriver;
  if (strstr(w, "old")) m->driver = 11040;
  if (strstr(w, "nodevice")) m->start = cudaErrorNoDevice;
  if (const char *p = strstr(w, "broken=")) m->start = atoi(p + 7);
  if (const char *p = strstr(w, "devices=")) m->devices = atoi(p + 8);
  if (const char *p = strstr(w, "memory=")) m->memory = (size_t)atol(p + 7) << 20;
  m->virtual_memory = !strstr(w, "novirtual");
  m->ordered = !strstr(w, "noordered");
  return *m;
}

inline bool kills(int e) {
  return (e >= 700 && e <= 721 && e != 701 && e != 704 && e != 705) || e == 46 || e == 214 ||
         e == 220 || e == 999;
}

/* A call by name: its error, if the tests want one. A child must not ask CUDA anything. */
inline cudaError_t call(const char *name) {
  machine &m = the();
  long nth = ++m.calls[name];
  if (m.made_by != getpid()) {
    fprintf(stderr, "fake CUDA: %s was called in a forked child\n", name);
    _exit(86);
  }
  for (auto &f : m.failures) {
    if (f.function != name || (f.nth && f.nth != nth)) continue;
    if (kills(f.error)) m.dead[m.now] = f.error;
    return f.error;
  }
  return cudaSuccess;
}

inline cudaError_t say(cudaError_t e) {
  machine &m = the();
  if (m.dead[m.now]) e = m.dead[m.now];
  if (e) m.last = e;
  return e;
}

inline size_t taken_by_others(void) {
  FILE *f = the().other ? fopen(the().other, "r") : nullptr;
  long mib = 0;
  if (f && fscanf(f, "%ld", &mib) != 1) mib = 0;
  if (f) fclose(f);
  return (size_t)mib << 20;
}

inline size_t room(int dev) {
  machine &m = the();
  size_t taken = m.used[dev] + m.idle[dev] + taken_by_others();
  return taken < m.memory ? m.memory - taken : 0;
}

/* What a test of ours has done wrong with CUDA. */
inline cudaError_t misuse(const char *what) {
  the().wrong++;
  fprintf(stderr, "fake CUDA: %s\n", what);
  return cudaErrorInvalidValue;
}

} // namespace fake

#endif
