/* range.cc -- expandable segments: ranges of addresses, and memory behind some of their pages
 *
 * For driver.cc's table. CUDA's virtual memory functions belong to the driver's library, which
 * nothing here is linked with: the runtime is asked for them when the first range is wanted. Where
 * they are missing, or the card has none, the rows say DL_CU_UNSUPPORTED and the pool takes whole
 * segments.
 *
 * INVARIANT  A handle lives no longer than the call that maps it: the mapping keeps the memory. A
 *            call that fails on the way has given back what it took.
 * SOURCE     CUDA driver API, "Virtual Memory Management"; ExpandableSegment in
 *            c10/cuda/CUDACachingAllocator.cpp. */
#include "driver.h"

#include <cstdlib>
#include <cstring>

#include "virtual.h"

static struct {
  bool looked, found;
  int (*device)(int *, int);
  int (*attribute)(int *, int, int);
  int (*granularity)(size_t *, const dl_cuda_kind *, int);
  int (*reserve)(dl_cuda_address *, size_t, size_t, dl_cuda_address, unsigned long long);
  int (*forget)(dl_cuda_address, size_t);
  int (*create)(dl_cuda_handle *, size_t, const dl_cuda_kind *, unsigned long long);
  int (*release)(dl_cuda_handle);
  int (*map)(dl_cuda_address, size_t, size_t, dl_cuda_handle, unsigned long long);
  int (*unmap)(dl_cuda_address, size_t);
  int (*access)(dl_cuda_address, size_t, const dl_cuda_access *, size_t);
} cu;

/* ---- finding them ---------------------------------------------------------------------------- */
enum { SINCE = 10020 };          /* CUDA 10.2 */

static bool entry(const char *name, void *to) {
  void *fn = nullptr;
  cudaDriverEntryPointQueryResult how = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  cudaError_t e = cudaGetDriverEntryPointByVersion(name, &fn, SINCE, cudaEnableDefault, &how);
#else
  cudaError_t e = cudaGetDriverEntryPoint(name, &fn, cudaEnableDefault, &how);
#endif
  if (e != cudaSuccess) cudaGetLastError();
  if (e != cudaSuccess || how != cudaDriverEntryPointSuccess || !fn) return false;
  memcpy(to, &fn, sizeof fn);
  return true;
}

static bool look(void) {
  if (cu.looked) return cu.found;
  cu.looked = true;
  cu.found = entry("cuDeviceGet", &cu.device) && entry("cuDeviceGetAttribute", &cu.attribute) &&
             entry("cuMemGetAllocationGranularity", &cu.granularity) &&
             entry("cuMemAddressReserve", &cu.reserve) &&
             entry("cuMemAddressFree", &cu.forget) && entry("cuMemCreate", &cu.create) &&
             entry("cuMemRelease", &cu.release) && entry("cuMemMap", &cu.map) &&
             entry("cuMemUnmap", &cu.unmap) && entry("cuMemSetAccess", &cu.access);
  return cu.found;
}

static dl_cuda_kind kind_on(int dev) {
  dl_cuda_kind k;
  memset(&k, 0, sizeof k);
  k.type = DL_CUDA_PINNED;
  k.where.type = DL_CUDA_ON_DEVICE;
  k.where.id = dev;
  return k;
}

/* The smallest page of dev, in bytes; 0: it has no virtual memory management. */
static size_t page_of(int dev) {
  static struct { bool asked; size_t bytes; } known[DL_CUDA_DEVICES];
  if (known[dev].asked) return known[dev].bytes;
  int device = 0, has = 0;
  size_t n = 0;
  dl_cuda_kind k = kind_on(dev);
  bool ok = look() && cu.device(&device, dev) == 0 &&
            cu.attribute(&has, DL_CUDA_HAS_VIRTUAL_MEMORY, device) == 0 && has &&
            cu.granularity(&n, &k, DL_CUDA_SMALLEST) == 0;
  known[dev].asked = true;
  return known[dev].bytes = ok ? n : 0;
}

/* ---- what is mapped where -------------------------------------------------------------------- */
enum : uint8_t { NOTHING, STARTS, GOES_ON };

struct range {
  range *next;
  int dev;
  dl_cuda_address at;
  size_t bytes, page;
  uint8_t has[];                 /* of each page: where the pieces that were mapped begin */
};
static range *ranges;

static range **find(int dev, dl_cuda_address at, size_t n) {
  for (range **r = &ranges; *r; r = &(*r)->next)
    if ((*r)->dev == dev && n > 0 && n <= (*r)->bytes && at >= (*r)->at &&
        at - (*r)->at <= (*r)->bytes - n)
      return r;
  return nullptr;
}

static void mark(range *r, dl_cuda_address at, size_t n, bool mapped) {
  size_t first = (at - r->at) / r->page, count = n / r->page;
  memset(r->has + first, mapped ? GOES_ON : NOTHING, count);
  if (mapped) r->has[first] = STARTS;
}

/* CUDA takes a piece back only whole. */
static int unmap_all(range *r) {
  int code = 0;
  for (size_t i = 0, end, count = r->bytes / r->page; i < count; i = end) {
    end = i + 1;
    if (r->has[i] != STARTS) continue;
    while (end < count && r->has[end] == GOES_ON) end++;
    int failed = cu.unmap(r->at + i * r->page, (end - i) * r->page);
    if (failed) code = failed;
  }
  memset(r->has, NOTHING, r->bytes / r->page);
  return code;
}

static int drop(range **at) {
  range *r = *at;
  int code = unmap_all(r), failed = cu.forget(r->at, r->bytes);
  *at = r->next;
  free(r);
  return failed ? failed : code;
}

void dl_cuda_ranges_forget(int dev) {
  for (range **r = &ranges; *r;) {
    if ((*r)->dev == dev) drop(r);
    else r = &(*r)->next;
  }
}

/* ---- rows of the table ----------------------------------------------------------------------- */
static int told(int dev, int code) { return dl_cuda_code(dev, (cudaError_t)code); }

int dl_cuda_va_new(int dev, size_t n, void **out) {
  DL_CUDA_ENTER(dev);
  size_t page = page_of(dev);
  *out = nullptr;
  if (!page || n % page) return DL_CU_UNSUPPORTED;
  range *r = (range *)calloc(1, sizeof *r + n / page);
  if (!r) return dl_cuda_host_short();
  r->dev = dev, r->bytes = n, r->page = page;
  int code = cu.reserve(&r->at, n, 0, 0, 0);
  if (code) {
    free(r);
    return told(dev, code);
  }
  r->next = ranges;
  ranges = r;
  *out = (void *)(uintptr_t)r->at;
  return DL_CU_OK;
}

int dl_cuda_va_free(int dev, void *p, size_t n) {
  DL_CUDA_ENTER(dev);
  range **r = find(dev, (dl_cuda_address)(uintptr_t)p, n);
  return r ? told(dev, drop(r)) : DL_CU_INVALID_VALUE;
}

/* Memory of its own behind [at, at + n); the handle's share goes at once. */
static int back(int dev, dl_cuda_address at, size_t n) {
  dl_cuda_kind k = kind_on(dev);
  dl_cuda_handle h = 0;
  int code = cu.create(&h, n, &k, 0);
  if (code) return code;
  code = cu.map(at, n, 0, h, 0);
  int failed = cu.release(h);
  if (!code && failed) cu.unmap(at, n);
  return code ? code : failed;
}

int dl_cuda_page_map(int dev, void *p, size_t n) {
  DL_CUDA_ENTER(dev);
  dl_cuda_address at = (dl_cuda_address)(uintptr_t)p;
  range **r = find(dev, at, n);
  if (!r) return DL_CU_INVALID_VALUE;
  if (n % (*r)->page || (at - (*r)->at) % (*r)->page) return DL_CU_UNSUPPORTED;
  int code = back(dev, at, n);
  if (code == DL_CU_OOM && dl_cuda_scratch_trim(dev)) code = back(dev, at, n);
  if (code) return told(dev, code);
  dl_cuda_access may = {{DL_CUDA_ON_DEVICE, dev}, DL_CUDA_READ_WRITE};
  code = cu.access(at, n, &may, 1);
  if (code) cu.unmap(at, n);
  else mark(*r, at, n, true);
  return told(dev, code);
}

/* Unlike cudaFree, cuMemUnmap need not wait: what is queued may still use the page. */
int dl_cuda_page_unmap(int dev, void *p, size_t n) {
  DL_CUDA_ENTER(dev);
  dl_cuda_address at = (dl_cuda_address)(uintptr_t)p;
  range **r = find(dev, at, n);
  if (!r || (*r)->has[(at - (*r)->at) / (*r)->page] != STARTS) return DL_CU_INVALID_VALUE;
  int waited = dl_cuda_code(dev, cudaDeviceSynchronize());
  int code = cu.unmap(at, n);
  if (!code) mark(*r, at, n, false);
  return waited ? waited : told(dev, code);
}
