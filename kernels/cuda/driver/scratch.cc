/* scratch.cc -- device memory that kernels need while they run, outside the pool
 *
 * For driver.cc and runtime.cc. A stream keeps a small arena from its first such need on, so that
 * most launches ask CUDA for nothing; what is larger comes from CUDA's stream-ordered allocator for
 * the one launch. When the card is short the pool's cached blocks are given back first, and the
 * other way round (trim).
 *
 * INVARIANT  What a launch was given is not given again before its work on the stream is done: work
 *            of one stream is done in order, and an arena belongs to one stream.
 * MUST NOT   throw: lists grow by realloc. */
#include "driver.h"

#include <cstdlib>

enum : size_t { ARENA = 2 << 20, ARENAS = 64, ALIGN = 256 };

struct arena {
  int dev;
  void *stream;
  char *base;                    /* NULL: the card had no room, or it was given back */
  size_t used;                   /* by the launches that are being queued */
  bool taken;                    /* the slot is a stream's */
};
static arena arenas[ARENAS];

/* Of the launches that are being queued, what is no arena's. */
static struct { void **p; size_t n, cap; } apart;

/* ---- from CUDA and back ---------------------------------------------------------------------- */
static int get(size_t n, void *stream, void **out) {
  int dev = dl_cuda_now();
  cudaError_t e = dl_cuda_dev[dev].ordered ? cudaMallocAsync(out, n, (cudaStream_t)stream)
                                           : cudaMalloc(out, n);
  return dl_cuda_code(dev, e);
}

static void put(int dev, void *p, void *stream) {
  cudaError_t e = dl_cuda_dev[dev].ordered ? cudaFreeAsync(p, (cudaStream_t)stream) : cudaFree(p);
  dl_cuda_code(dev, e);
}

/* n bytes, whatever that takes. */
static dl_status get_surely(size_t n, void *stream, void **out) {
  int dev = dl_cuda_now(), code = get(n, stream, out);
  if (code == DL_CU_OOM && dl_cuda_scratch_trim(dev)) code = get(n, stream, out);
  if (code == DL_CU_OOM) { /* finalizers, which may leave another device current */
    bool room = dl_driver_make_room(dev);
    int back = dl_cuda_enter(dev);
    if (back || room) code = back ? back : get(n, stream, out);
  }
  if (code == DL_CU_OOM) return dl_driver_out_of_memory(dev, n);
  return code ? dl_cuda_refuse(code) : DL_OK;
}

/* ---- arenas ---------------------------------------------------------------------------------- */
static arena *arena_of(void *stream) {
  static arena *last = arenas;
  int dev = dl_cuda_now();
  arena *unused = nullptr;
  if (last->taken && last->dev == dev && last->stream == stream) return last;
  for (arena &a : arenas) {
    if (a.taken && a.dev == dev && a.stream == stream) return last = &a;
    if (!a.taken) unused = &a;
  }
  if (unused) *unused = {dev, stream, nullptr, 0, true};
  return unused;
}

/* n bytes of the stream's arena; NULL where they do not fit. */
static char *from_arena(size_t n, void *stream) {
  arena *a = n <= ARENA ? arena_of(stream) : nullptr;
  void *p = nullptr;
  if (a && !a->base && get(ARENA, stream, &p) == DL_CU_OK) a->base = (char *)p;
  if (!a || !a->base || n > ARENA - a->used) return nullptr;
  a->used += n;
  return a->base + a->used - n;
}

/* ---- what kernels see ------------------------------------------------------------------------ */
static bool room_in_list(void) {
  if (apart.n < apart.cap) return true;
  size_t cap = apart.cap ? 2 * apart.cap : 16;
  void **p = (void **)realloc(apart.p, cap * sizeof *p);
  if (!p) return false;
  apart.p = p;
  apart.cap = cap;
  return true;
}

dl_status dl_cuda_scratch(size_t nbytes, void *stream, void **out) {
  size_t n = (nbytes + ALIGN - 1) / ALIGN * ALIGN;
  *out = from_arena(n ? n : (size_t)ALIGN, stream);
  if (*out) return DL_OK;
  if (n < nbytes) return dl_driver_out_of_memory(dl_cuda_now(), nbytes);
  if (!room_in_list()) {
    dl_cuda_host_short();
    return dl_err.kind;
  }
  dl_status st = get_surely(n ? n : (size_t)ALIGN, stream, out);
  if (st == DL_OK) apart.p[apart.n++] = *out;
  return st;
}

/* One launch may be queued inside another: while the pool makes room, Lua's finalizers run. */
dl_cuda_mark dl_cuda_scratch_begin(void *stream) {
  arena *a = arena_of(stream);
  return {apart.n, a ? a->used : 0};
}

void dl_cuda_scratch_end(void *stream, dl_cuda_mark mark) {
  arena *a = arena_of(stream);
  if (a) a->used = mark.used;
  while (apart.n > mark.apart) put(dl_cuda_now(), apart.p[--apart.n], stream);
}

/* ---- giving back ----------------------------------------------------------------------------- */
/* CUDA keeps what was freed for the next need; all of it goes. */
static bool trim_ordered(int dev) {
  cudaMemPool_t pool;
  uint64_t before = 0, after = 0;
  if (!dl_cuda_dev[dev].ordered || cudaDeviceGetDefaultMemPool(&pool, dev) != cudaSuccess ||
      cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &before) != cudaSuccess)
    return false;
  if (before == 0 || cudaDeviceSynchronize() != cudaSuccess) return false;
  bool good = cudaMemPoolTrimTo(pool, 0) == cudaSuccess &&
              cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &after) ==
                  cudaSuccess;
  return good && after < before;
}

bool dl_cuda_scratch_trim(int dev) {
  bool any = false;
  if (dl_cuda_enter(dev)) return false;
  for (arena &a : arenas) {
    if (!a.taken || a.dev != dev || !a.base || a.used) continue;
    put(dev, a.base, a.stream);
    a.base = nullptr;
    any = true;
  }
  any = trim_ordered(dev) || any;
  cudaGetLastError();
  return any;
}

void dl_cuda_scratch_leave(int dev, void *stream) {
  for (arena &a : arenas) {
    if (!a.taken || a.dev != dev || a.stream != stream) continue;
    if (a.base) put(dev, a.base, stream);
    a = arena();
  }
}

void dl_cuda_scratch_forget(int dev) {
  for (arena &a : arenas)
    if (a.taken && a.dev == dev) a = arena();
}
