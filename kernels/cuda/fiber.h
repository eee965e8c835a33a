/* fiber.h -- CUDA's words for g++: kernels run on the CPU, block by block, thread by thread
 *
 * For the .cu files here where nvcc is not the compiler (tests/cuda). Each thread of a block runs
 * on a fiber; it leaves it only at a barrier or a warp exchange, so that kernels without those cost
 * a function call a thread. Blocks follow one another; blocks and threads start in the order that
 * fiber::order names: 0 forward, 1 backward, others shuffled.
 *
 * INVARIANT  Shared memory is fresh from malloc, filled with rubbish, for each block: a read before
 *            a write, a bound overrun and a missing __syncthreads show as wrong numbers or as
 *            reports of the address sanitizer.
 *            What a GPU would hang on or leave undefined stops the program with both places named:
 *            barriers that part of a block skips, warp exchanges without all 32 lanes.
 * MUST NOT   know dlrepl. */
#ifndef DL_FIBER_H
#define DL_FIBER_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define warpSize 32

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};
typedef void *cudaStream_t;

namespace fiber {

enum { STACK = 128 << 10, WARP = 32, MAX_THREADS = 1024, MAX_SHARED = 48 << 10, MAX_GRID = 65535 };
enum state : uint8_t { NEW, READY, AT_BLOCK, AT_WARP, DONE };

/* ---- switching stacks ------------------------------------------------------------------------ */
struct context {
#if defined(__x86_64__)
  void *sp = nullptr;
#else
  ucontext_t u;
#endif
  void *fake = nullptr;          /* the address sanitizer's own record of a stack */
  const void *bottom = nullptr;
  size_t size = 0;
};
#if defined(__x86_64__)
extern "C" void dl_fiber_switch(void **save, void *to);
#endif

inline void go(context &from, context &to) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&from.fake, to.bottom, to.size);
#endif
#if defined(__x86_64__)
  dl_fiber_switch(&from.sp, to.sp);
#else
  swapcontext(&from.u, &to.u);
#endif
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
}

/* ---- a block --------------------------------------------------------------------------------- */
struct worker { context c; char *stack; };
struct thread {
  uint3 id;
  unsigned lin;
  state st;
  worker *on;
  const char *site;              /* where it waits */
};
struct warp { uint32_t arrived, live; uint64_t slot[2][WARP]; int parity; };
struct shared_part { const void *key; char *mem; size_t size; };

struct block {
  dim3 grid, dim;
  uint3 id;
  unsigned n = 0, next = 0, waiting = 0, done = 0;
  std::vector<thread> t;
  std::vector<unsigned> order;   /* in which threads start */
  std::vector<warp> w;
  std::vector<worker *> idle;
  std::vector<shared_part> shared;
  size_t dynamic = 0, shared_bytes = 0;
  void (*call)(void *) = nullptr;
  void *fn = nullptr;
  context sched;
  uint32_t votes[3] = {0, 0, 0}; /* or, and, count of the last __syncthreads_… */
};

inline block &now = *new block; /* never destroyed: its fibers' stacks stay reachable */
inline thread *self;
inline unsigned order;           /* which order threads and blocks start in */
inline uint64_t launches, barriers, atomics, switches; /* since start */

[[noreturn]] inline void stop(const char *what, const char *a, const char *b) {
  fprintf(stderr, "fiber: %s: %s%s%s\n", what, a, b ? " and " : "", b ? b : "");
  abort();
}

inline void run_threads() {
  block &b = now;
  while (b.next < b.n) {
    worker *me = self->on;
    thread &x = b.t[b.order[b.next++]];
    x.on = me;
    x.st = READY;
    self = &x;
    b.call(b.fn);
    self->st = DONE;
    b.done++;
    b.w[self->lin / WARP].live &= ~(1u << (self->lin % WARP));
  }
}

inline void worker_main() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &now.sched.bottom, &now.sched.size);
#endif
  for (;;) {
    run_threads();
    worker *me = self->on;
    now.idle.push_back(me);
    go(me->c, now.sched);
  }
}

inline worker *worker_new() {
  worker *w = new worker;
  w->stack = static_cast<char *>(aligned_alloc(64, STACK));
  w->c.bottom = w->stack;
  w->c.size = STACK;
#if defined(__x86_64__)
  void **sp = reinterpret_cast<void **>(w->stack + STACK);
  *--sp = nullptr;
  *--sp = reinterpret_cast<void *>(&worker_main);
  for (int i = 0; i < 6; i++) *--sp = nullptr;
  w->c.sp = sp;
#else
  getcontext(&w->c.u);
  w->c.u.uc_stack.ss_sp = w->stack;
  w->c.u.uc_stack.ss_size = STACK;
  w->c.u.uc_link = nullptr;
  makecontext(&w->c.u, worker_main, 0);
#endif
  return w;
}

inline void park(state st, const char *site) {
  thread *me = self;
  me->st = st;
  me->site = site;
  switches++;
  go(me->on->c, now.sched);
  self = me;
}

/* ---- barriers and warp exchanges ------------------------------------------------------------- */
inline void sync_block(const char *site) {
  barriers++;
  now.waiting++;
  park(AT_BLOCK, site);
}

inline unsigned lane() { return self->lin % WARP; }

/* A vote's result is that of the barrier all have reached; the second barrier keeps the next vote
 * from overtaking a reader. */
inline unsigned vote(unsigned bit, int which, const char *site) {
  static unsigned any, count;
  if (now.waiting == 0) any = 0, count = 0;
  any |= bit != 0;
  count += bit != 0;
  sync_block(site);
  unsigned r = which == 0 ? any : which == 1 ? count == now.n - now.done : count;
  sync_block(site);
  return r;
}

inline void sync_warp(uint32_t mask, const char *site) {
  warp &w = now.w[self->lin / WARP];
  barriers++;
  if (mask != 0xffffffffu || w.live != 0xffffffffu)
    stop("a warp exchange without all 32 lanes", site, nullptr);
  w.arrived |= 1u << lane();
  if (w.arrived != 0xffffffffu) {
    park(AT_WARP, site);
    return;
  }
  for (unsigned i = 0; i < WARP; i++) {
    thread &o = now.t[self->lin / WARP * WARP + i];
    if (o.st != AT_WARP) continue;
    if (strcmp(o.site, site)) stop("lanes of one warp at different exchanges", o.site, site);
    o.st = READY;
  }
  w.arrived = 0;
  w.parity ^= 1;
}

template <class T> T exchange(uint32_t mask, T v, int from, const char *site) {
  static_assert(sizeof(T) <= 8, "an exchange moves at most 8 bytes");
  warp &w = now.w[self->lin / WARP];
  int p = w.parity;
  memcpy(&w.slot[p][lane()], &v, sizeof v);
  sync_warp(mask, site);
  if (from >= 0 && from < WARP) memcpy(&v, &w.slot[p][from], sizeof v);
  return v;
}

inline uint32_t ballot(uint32_t mask, int bit, const char *site) {
  warp &w = now.w[self->lin / WARP];
  int p = w.parity;
  w.slot[p][lane()] = bit != 0;
  sync_warp(mask, site);
  uint32_t r = 0;
  for (unsigned i = 0; i < WARP; i++) r |= (uint32_t)(w.slot[p][i] & 1) << i;
  return r;
}

/* ---- shared memory --------------------------------------------------------------------------- */
inline void *shared(const void *key, size_t size) {
  for (auto &s : now.shared)
    if (s.key == key) return s.mem;
  char *mem = static_cast<char *>(malloc(size ? size : 1));
  memset(mem, 0xa5, size);
  now.shared.push_back({key, mem, size});
  now.shared_bytes += size;
  if (now.shared_bytes > MAX_SHARED) stop("over 48 KB of shared memory", "launch", nullptr);
  return mem;
}

/* ---- running --------------------------------------------------------------------------------- */
inline void shuffle(std::vector<unsigned> &v, uint64_t seed) {
  if (order == 1) std::reverse(v.begin(), v.end());
  uint64_t s = (seed + order) * 0x9E3779B97F4A7C15ull | 1;
  for (size_t i = v.size(); order > 1 && i > 1; i--) {
    s ^= s << 13, s ^= s >> 7, s ^= s << 17;
    std::swap(v[i - 1], v[s % i]);
  }
}

inline bool release_block() {
  block &b = now;
  const char *first = nullptr;
  if (!b.waiting || b.waiting + b.done != b.n) return false;
  for (auto &x : b.t) {
    if (x.st != AT_BLOCK) continue;
    if (first && strcmp(first, x.site)) stop("threads at different barriers", first, x.site);
    first = x.site;
    x.st = READY;
  }
  if (b.done) stop("a barrier that part of a block has left behind", first, nullptr);
  b.waiting = 0;
  return true;
}

inline void begin_block() {
  block &b = now;
  b.next = b.waiting = b.done = 0;
  b.t.resize(b.n);
  b.order.resize(b.n);
  b.w.assign((b.n + WARP - 1) / WARP, warp());
  for (unsigned i = 0; i < b.n; i++) {
    uint3 id = {i % b.dim.x, i / b.dim.x % b.dim.y, i / (b.dim.x * b.dim.y)};
    b.t[i] = {id, i, NEW, nullptr, nullptr};
    b.order[i] = i;
    b.w[i / WARP].live |= 1u << (i % WARP);
  }
  if (order) shuffle(b.order, b.id.x + 77u);
}

inline void run_block() {
  block &b = now;
  begin_block();
  while (b.done < b.n) {
    bool moved = false;
    while (b.next < b.n) {
      worker *w = b.idle.empty() ? worker_new() : b.idle.back();
      if (!b.idle.empty()) b.idle.pop_back();
      thread first = {};
      first.on = w;
      self = &first;
      go(b.sched, w->c);
      moved = true;
    }
    for (unsigned i = 0; i < b.n; i++) {
      thread &x = b.t[b.order[i]];
      if (x.st != READY || !x.on) continue;
      self = &x;
      go(b.sched, x.on->c);
      moved = true;
    }
    moved = release_block() || moved;
    if (!moved) stop("a barrier or exchange that not all threads reach", "launch", nullptr);
  }
  for (auto &s : b.shared) free(s.mem);
  b.shared.clear();
  b.shared_bytes = 0;
}

inline void check_shape(dim3 grid, dim3 dim, size_t dynamic) {
  uint64_t threads = (uint64_t)dim.x * dim.y * dim.z;
  bool good = threads >= 1 && threads <= MAX_THREADS && dim.z <= 64 && grid.x >= 1 &&
              grid.y >= 1 && grid.z >= 1 && grid.x <= 0x7fffffffu && grid.y <= MAX_GRID &&
              grid.z <= MAX_GRID && dynamic <= MAX_SHARED;
  if (!good) stop("CUDA error: invalid configuration argument", "launch", nullptr);
}

inline void launch_all(dim3 grid, dim3 dim, size_t dynamic, void (*call)(void *), void *fn) {
  check_shape(grid, dim, dynamic);
  block &b = now;
  b.grid = grid;
  b.dim = dim;
  b.n = dim.x * dim.y * dim.z;
  b.dynamic = dynamic;
  b.fn = fn;
  b.call = call;
  launches++;
  std::vector<unsigned> at((size_t)grid.x * grid.y * grid.z);
  for (size_t i = 0; i < at.size(); i++) at[i] = (unsigned)i;
  if (order) shuffle(at, 1);
  for (unsigned i : at) {
    b.id = {i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y};
    run_block();
  }
}

template <class F> inline void launch(dim3 grid, dim3 dim, size_t dynamic, F fn) {
  launch_all(grid, dim, dynamic, [](void *p) { (*static_cast<F *>(p))(); }, &fn);
}

/* ---- atomics --------------------------------------------------------------------------------- */
/* One OS thread runs everything: a plain change is atomic. */
template <class T, class F> T change(T *p, F f) {
  T old = *p;
  *p = f(old);
  atomics++;
  return old;
}

} /* namespace fiber */

#define DL_FIBER_STR2(x) #x
#define DL_FIBER_STR(x) DL_FIBER_STR2(x)
#define DL_SITE __FILE__ ":" DL_FIBER_STR(__LINE__)

#define threadIdx (fiber::self->id)
#define blockIdx (fiber::now.id)
#define blockDim (fiber::now.dim)
#define gridDim (fiber::now.grid)
#define __syncthreads() fiber::sync_block(DL_SITE)
#define __syncthreads_or(b) fiber::vote(b, 0, DL_SITE)
#define __syncthreads_and(b) fiber::vote(b, 1, DL_SITE)
#define __syncthreads_count(b) fiber::vote(b, 2, DL_SITE)
#define __syncwarp() fiber::sync_warp(0xffffffffu, DL_SITE)
#define __shfl_sync(m, v, s) fiber::exchange(m, v, (int)(s), DL_SITE)
#define __shfl_down_sync(m, v, d) fiber::exchange(m, v, (int)fiber::lane() + (int)(d), DL_SITE)
#define __shfl_up_sync(m, v, d) fiber::exchange(m, v, (int)fiber::lane() - (int)(d), DL_SITE)
#define __shfl_xor_sync(m, v, x) \
  fiber::exchange(m, v, (int)(fiber::lane() ^ (unsigned)(x)), DL_SITE)
#define __ballot_sync(m, b) fiber::ballot(m, b, DL_SITE)
#define __any_sync(m, b) (fiber::ballot(m, b, DL_SITE) != 0)
#define __all_sync(m, b) (fiber::ballot(m, b, DL_SITE) == 0xffffffffu)
#define __threadfence() ((void)0)

template <class T> T atomicAdd(T *p, std::common_type_t<T> v) {
  return fiber::change(p, [v](T o) { return (T)(o + v); });
}
template <class T> T atomicMax(T *p, std::common_type_t<T> v) {
  return fiber::change(p, [v](T o) { return o > v ? o : v; });
}
template <class T> T atomicMin(T *p, std::common_type_t<T> v) {
  return fiber::change(p, [v](T o) { return o < v ? o : v; });
}
template <class T> T atomicOr(T *p, std::common_type_t<T> v) {
  return fiber::change(p, [v](T o) { return (T)(o | v); });
}
template <class T> T atomicExch(T *p, std::common_type_t<T> v) {
  return fiber::change(p, [v](T) { return v; });
}
template <class T> T atomicCAS(T *p, std::common_type_t<T> was, std::common_type_t<T> v) {
  return fiber::change(p, [was, v](T o) { return o == was ? v : o; });
}

inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __clz(int v) { return v ? __builtin_clz((unsigned)v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll((unsigned long long)v) : 64; }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
template <class T> T __ldg(const T *p) { return *p; }

#define DL_LAUNCH(k, grid, block, shared, stream, ...)                                        \
  fiber::launch((grid), (block), (shared), [=] { k(__VA_ARGS__); })
#define DL_SHARED(T, name, dims)                                                              \
  static char name##_key;                                                                     \
  typedef T name##_type dims;                                                                 \
  name##_type &name = *static_cast<name##_type *>(fiber::shared(&name##_key, sizeof(name##_type)))
#define DL_SHARED_DYNAMIC(T, name)                                                            \
  static char name##_key;                                                                     \
  T *name = static_cast<T *>(fiber::shared(&name##_key, fiber::now.dynamic))

#endif
