/* virtual_memory.h -- ranges of addresses and memory behind them, as CUDA's driver hands them out
 *
 * For cuda_runtime.h, at its end. Ranges are pages without access; mapped and opened they are the
 * host's memory. What CUDA forbids is an error here, told on stderr and counted: half a piece
 * unmapped, a range freed with memory behind it, sizes that are no multiple of the granularity.
 *
 * MUST NOT   be used outside tests. */
#include "driver/virtual.h"

enum cudaDriverEntryPointQueryResult {
  cudaDriverEntryPointSuccess, cudaDriverEntryPointSymbolNotFound
};
enum { cudaEnableDefault = 0 };

namespace fake {

enum : size_t { GRAIN = (size_t)2 << 20 };
typedef unsigned long long word;

inline char *place(word at) { return (char *)(uintptr_t)at; }

inline int cuDeviceGet(int *out, int ordinal) {
  *out = ordinal;
  return call(__func__);
}
inline int cuDeviceGetAttribute(int *out, int, int) {
  *out = the().virtual_memory;
  return call(__func__);
}
inline int cuMemGetAllocationGranularity(size_t *out, const dl_cuda_kind *k, int) {
  *out = GRAIN;
  return k->type == DL_CUDA_PINNED ? call(__func__) : misuse("granularity of an unknown kind");
}

inline int cuMemAddressReserve(word *out, size_t n, size_t, word, word) {
  int fail = call(__func__);
  if (fail) return fail;
  if (n % GRAIN || !n) return misuse("a range of no whole pages");
  char *p = (char *)mmap(nullptr, n + GRAIN, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return cudaErrorMemoryAllocation;
  size_t lead = (GRAIN - (uintptr_t)p % GRAIN) % GRAIN;
  if (lead) munmap(p, lead);
  munmap(p + lead + n, GRAIN - lead);
  the().ranges[p + lead] = n;
  *out = (word)(uintptr_t)(p + lead);
  return 0;
}

inline int cuMemAddressFree(word at, size_t n) {
  machine &m = the();
  int fail = call(__func__);
  if (fail) return fail;
  auto r = m.ranges.find(place(at));
  if (r == m.ranges.end() || r->second != n) return misuse("a range is freed that is none");
  auto inside = m.mapped.lower_bound(place(at));
  if (inside != m.mapped.end() && inside->first < place(at) + n)
    return misuse("a range is freed with memory behind it");
  munmap(place(at), n);
  m.ranges.erase(r);
  return 0;
}

inline int cuMemCreate(word *out, size_t n, const dl_cuda_kind *k, word) {
  machine &m = the();
  int fail = call(__func__), dev = k->where.id;
  if (fail) return fail;
  if (n % GRAIN || !n || k->type != DL_CUDA_PINNED || k->where.type != DL_CUDA_ON_DEVICE)
    return misuse("memory of no whole pages, or nowhere");
  if (n > room(dev)) return cudaErrorMemoryAllocation;
  m.used[dev] += n;
  m.handles[m.next_handle] = {dev, n, 1};
  *out = m.next_handle++;
  return 0;
}

inline void let_go(word h) {
  machine &m = the();
  auto b = m.handles.find(h);
  if (--b->second.uses > 0) return;
  m.used[b->second.dev] -= b->second.bytes;
  m.handles.erase(b);
}

inline int cuMemRelease(word h) {
  int fail = call(__func__);
  if (!the().handles.count(h)) return misuse("a handle is released that is none");
  let_go(h);                     /* even so: only the word of it is wrong */
  return fail;
}

inline int cuMemMap(word at, size_t n, size_t, word h, word) {
  machine &m = the();
  int fail = call(__func__);
  if (fail) return fail;
  auto b = m.handles.find(h);
  auto r = m.ranges.upper_bound(place(at));
  if (b == m.handles.end() || b->second.bytes != n || r == m.ranges.begin())
    return misuse("memory is mapped that is none, or nowhere");
  --r;
  auto next = m.mapped.lower_bound(place(at));
  if (place(at) + n > r->first + r->second || at % GRAIN ||
      (next != m.mapped.end() && next->first < place(at) + n))
    return misuse("memory is mapped where no range is, or where there is some");
  b->second.uses++;
  m.mapped[place(at)] = {n, h};
  return 0;
}

inline int cuMemUnmap(word at, size_t n) {
  machine &m = the();
  int fail = call(__func__);
  if (fail) return fail;
  auto i = m.mapped.find(place(at));
  if (i == m.mapped.end() || i->second.bytes != n) return misuse("no whole piece is unmapped");
  mmap(place(at), n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  word h = i->second.handle;
  m.mapped.erase(i);
  let_go(h);
  return 0;
}

inline int cuMemSetAccess(word at, size_t n, const dl_cuda_access *a, size_t count) {
  int fail = call(__func__);
  if (fail) return fail;
  if (!the().mapped.count(place(at)) || count != 1 || a->may != DL_CUDA_READ_WRITE)
    return misuse("access to what is not mapped");
  return mprotect(place(at), n, PROT_READ | PROT_WRITE) ? cudaErrorMemoryAllocation : 0;
}

} // namespace fake

FAKE cudaGetDriverEntryPointByVersion(const char *name, void **fn, unsigned, unsigned long long,
                                      cudaDriverEntryPointQueryResult *how) {
  FAKE_CALL();
#define ENTRY(f) if (!strcmp(name, #f)) *fn = (void *)&fake::f
  *fn = nullptr;
  ENTRY(cuDeviceGet);
  ENTRY(cuDeviceGetAttribute);
  ENTRY(cuMemGetAllocationGranularity);
  ENTRY(cuMemAddressReserve);
  ENTRY(cuMemAddressFree);
  ENTRY(cuMemCreate);
  ENTRY(cuMemRelease);
  ENTRY(cuMemMap);
  ENTRY(cuMemUnmap);
  ENTRY(cuMemSetAccess);
#undef ENTRY
  *how = *fn ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
