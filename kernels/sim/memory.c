/* memory.c -- a simulated card's memory: an arena of reserved pages, given a host's when touched
 *
 * For driver.c's table and launch.c. A 24 GB card costs a laptop nothing until numbers are put into
 * it: the arena is address space without memory, and a page of 2 MiB gets some when a kernel or a
 * copy first uses it, inside a budget.
 *
 * INVARIANT  bytes_used counts the pages with PAGE_HAS, dl_sim.committed those with PAGE_HOST.
 *            The lowest free range serves, so that addresses are the same from run to run.
 * MUST NOT   touch a page before the budget has said yes. */
#include "state.h"

#include <string.h>
#include <sys/mman.h>

#define ARENA_TIMES 16 /* a device's addresses, in its capacity: expandable segments want many */

static size_t pages_of(size_t n) {
  return n > SIZE_MAX - DL_SIM_PAGE ? SIZE_MAX >> DL_SIM_SHIFT
                                    : (n + DL_SIM_PAGE - 1) >> DL_SIM_SHIFT;
}
static void *device_ptr(const dl_simdev *d, size_t page) {
  return (void *)((uintptr_t)(d->arena + (page << DL_SIM_SHIFT)) | DL_SIM_BIT);
}

/* ---- the arena ---- */
static char *reserve(size_t n) {
  char *p = mmap(NULL, n + DL_SIM_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                 0);
  if (p == MAP_FAILED) return NULL;
  size_t lead = (DL_SIM_PAGE - (uintptr_t)p % DL_SIM_PAGE) % DL_SIM_PAGE;
  if (lead) munmap(p, lead);
  munmap(p + lead + n, DL_SIM_PAGE - lead);
  return p + lead;
}

int dl_sim_arena_new(dl_simdev *d) {
  size_t whole = pages_of((size_t)d->props.total_memory), pages = whole * ARENA_TIMES;
  for (; pages >= whole; pages /= 2) {
    d->arena = reserve(pages << DL_SIM_SHIFT);
    if (!d->arena) continue;
    d->page = mmap(NULL, pages, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    d->pages = pages;
    if (d->page != MAP_FAILED) return DL_CU_OK;
    munmap(d->arena, pages << DL_SIM_SHIFT);
  }
  d->arena = NULL;
  d->page = NULL;
  dl_fail(DL_RuntimeError, DL_E_OOM, "there is no address space for a simulated card of %.2f GiB",
          (double)d->props.total_memory / 1073741824.0);
  dl_note("lift the limit on address space (ulimit -v), or name a smaller card");
  return DL_CU_RAISED;
}

void dl_sim_arena_free(dl_simdev *d) {
  if (!d->arena) return;
  dl_sim_arena_clear(d);
  munmap(d->arena, d->pages << DL_SIM_SHIFT);
  munmap(d->page, d->pages);
  d->arena = NULL;
  d->page = NULL;
}

/* ---- memory of this machine behind pages ---- */
static void uncommit(dl_simdev *d, size_t first, size_t n) {
  for (size_t i = first; i < first + n;) {
    if (!(d->page[i] & PAGE_HOST)) {
      i++;
      continue;
    }
    size_t end = i;
    for (; end < first + n && d->page[end] & PAGE_HOST; end++) d->page[end] &= (uint8_t)~PAGE_HOST;
    char *p = d->arena + (i << DL_SIM_SHIFT);
    size_t bytes = (end - i) << DL_SIM_SHIFT;
    mmap(p, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    dl_sim.committed -= (int64_t)bytes;
    dl_mem.lent_bytes -= (int64_t)bytes;
    i = end;
  }
}

void dl_sim_arena_clear(dl_simdev *d) {
  size_t last = 0;
  for (size_t i = 0, left = (size_t)d->bytes_used >> DL_SIM_SHIFT; i < d->pages && left; i++)
    if (d->page[i] & PAGE_HAS) {
      last = i + 1;
      left--;
    }
  uncommit(d, 0, last);
  for (size_t i = 0; i < d->pages; i++)
    if (d->page[i]) d->page[i] = 0;
  d->bytes_used = 0;
}

static int host_short(const dl_simdev *d, size_t n) {
  dl_fail(DL_RuntimeError, DL_E_OOM,
          "the host is short: the values of this tensor on the simulated %s need %.1f MiB of this "
          "machine, use compute=false",
          d->props.name, (double)n / 1048576.0);
  if ((int64_t)n > dl_sim.budget - dl_sim.committed)
    dl_note("%.1f MiB of this machine hold simulated GPU memory, %.1f MiB is the most that may",
            (double)dl_sim.committed / 1048576.0, (double)dl_sim.budget / 1048576.0);
  else
    dl_note("%.1f MiB of this machine hold simulated GPU memory; tensors on the CPU or other "
            "programs take the rest",
            (double)dl_sim.committed / 1048576.0);
  dl_note("dlrepl.simulate{card=…, compute=false} keeps shapes, memory and time, without values");
  return DL_CU_RAISED;
}

static int commit(dl_simdev *d, size_t first, size_t end) {
  for (size_t i = first; i < end;) {
    if (!(d->page[i] & PAGE_HAS)) return DL_CU_ILLEGAL;
    if (d->page[i] & PAGE_HOST) {
      i++;
      continue;
    }
    size_t stop = i;
    while (stop < end && (d->page[stop] & (PAGE_HAS | PAGE_HOST)) == PAGE_HAS) stop++;
    size_t bytes = (stop - i) << DL_SIM_SHIFT;
    if ((int64_t)bytes > dl_sim.budget - dl_sim.committed || !dl_host_room(bytes))
      return host_short(d, bytes);
    if (mprotect(d->arena + (i << DL_SIM_SHIFT), bytes, PROT_READ | PROT_WRITE) != 0)
      return host_short(d, bytes);
    for (; i < stop; i++) d->page[i] |= PAGE_HOST;
    dl_sim.committed += (int64_t)bytes;
    dl_mem.lent_bytes += (int64_t)bytes;
  }
  return DL_CU_OK;
}

static bool all_have(const dl_simdev *d, size_t first, size_t end, uint8_t bits) {
  for (size_t i = first; i < end; i++)
    if ((d->page[i] & bits) != bits) return false;
  return true;
}

int dl_sim_reach(dl_simdev *d, const void *p, size_t n, char **host) {
  uintptr_t at = ((uintptr_t)p ^ DL_SIM_BIT) - (uintptr_t)d->arena;
  size_t bytes = d->pages << DL_SIM_SHIFT;
  *host = (char *)((uintptr_t)p ^ DL_SIM_BIT);
  if (at >= bytes || n > bytes - at) return DL_CU_ILLEGAL;
  if (n == 0) return DL_CU_OK;
  size_t first = at >> DL_SIM_SHIFT, end = ((at + n - 1) >> DL_SIM_SHIFT) + 1;
  if (dl_sim.dry) return all_have(d, first, end, PAGE_HAS) ? DL_CU_OK : DL_CU_ILLEGAL;
  if (all_have(d, first, end, PAGE_HAS | PAGE_HOST)) return DL_CU_OK;
  return commit(d, first, end);
}

/* ---- pages of the arena ---- */
/* The lowest run of n pages that nobody has. */
static bool find_free(const dl_simdev *d, size_t n, size_t *out) {
  size_t run = 0;
  for (size_t i = 0; i < d->pages; i++) {
    run = d->page[i] ? 0 : run + 1;
    if (run == n) {
      *out = i + 1 - n;
      return true;
    }
  }
  return false;
}

static int64_t bytes_free(const dl_simdev *d) {
  return d->props.total_memory - d->props.context_bytes - d->bytes_used;
}

static void give(dl_simdev *d, size_t first, size_t n) {
  for (size_t i = first; i < first + n; i++) d->page[i] |= PAGE_HAS;
  d->bytes_used += (int64_t)(n << DL_SIM_SHIFT);
}

static void take_back(dl_simdev *d, size_t first, size_t n) {
  uncommit(d, first, n);
  for (size_t i = first; i < first + n; i++) {
    if (d->page[i] & PAGE_HAS) d->bytes_used -= (int64_t)DL_SIM_PAGE;
    d->page[i] &= (uint8_t)~PAGE_HAS;
  }
}

/* Page number of a device address that lies on a page boundary, with n bytes inside the arena. */
static bool page_at(const dl_simdev *d, const void *p, size_t n, size_t *first, size_t *count) {
  uintptr_t at = ((uintptr_t)p ^ DL_SIM_BIT) - (uintptr_t)d->arena;
  *first = at >> DL_SIM_SHIFT;
  *count = pages_of(n);
  return at % DL_SIM_PAGE == 0 && *first < d->pages && *count <= d->pages - *first;
}

static bool refused(dl_simdev *d) {
  if (d->refuse == 0 || --d->refuse > 0) return false;
  d->refuse = --d->refuse_times > 0 ? 1 : 0;
  return true;
}

/* ---- the driver's rows ---- */
int dl_sim_mem_info(int dev, size_t *free_bytes, size_t *total_bytes) {
  dl_simdev *d;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  int64_t f = bytes_free(d);
  *free_bytes = f > 0 ? (size_t)f : 0;
  *total_bytes = (size_t)d->props.total_memory;
  return DL_CU_OK;
}

int dl_sim_mem_new(int dev, size_t n, void **out) {
  dl_simdev *d;
  size_t first, pages = pages_of(n);
  int e = dl_sim_enter(dev, &d);
  *out = NULL;
  if (e) return e;
  dl_sim.host_us += d->rate.malloc_host;
  d->report.mallocs++;
  if (n == 0) return DL_CU_OK;
  if (refused(d) || pages > (size_t)(d->props.total_memory >> DL_SIM_SHIFT) ||
      (int64_t)(pages << DL_SIM_SHIFT) > bytes_free(d) || !find_free(d, pages, &first))
    return DL_CU_OOM;
  for (size_t i = first; i < first + pages; i++) d->page[i] = PAGE_TAKEN;
  give(d, first, pages);
  *out = device_ptr(d, first);
  return DL_CU_OK;
}

int dl_sim_mem_free(int dev, void *p, size_t n) {
  dl_simdev *d;
  size_t first, pages;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  if (!p) return DL_CU_OK;
  if (!page_at(d, p, n, &first, &pages) || !all_have(d, first, first + pages, PAGE_HAS))
    return DL_CU_INVALID_VALUE;
  e = dl_sim_wait(d, dl_sim_all_done(d));
  dl_sim.host_us += d->rate.free_host;
  d->report.frees++;
  take_back(d, first, pages);
  memset(d->page + first, 0, pages);
  return e;
}

int dl_sim_va_new(int dev, size_t n, void **out) {
  dl_simdev *d;
  size_t first, pages = pages_of(n);
  int e = dl_sim_enter(dev, &d);
  *out = NULL;
  if (e) return e;
  if (n == 0) return DL_CU_INVALID_VALUE;
  if (!find_free(d, pages, &first)) return DL_CU_OOM;
  memset(d->page + first, PAGE_TAKEN, pages);
  *out = device_ptr(d, first);
  return DL_CU_OK;
}

int dl_sim_va_free(int dev, void *p, size_t n) {
  dl_simdev *d;
  size_t first, pages;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  if (!page_at(d, p, n, &first, &pages)) return DL_CU_INVALID_VALUE;
  take_back(d, first, pages);
  memset(d->page + first, 0, pages);
  return DL_CU_OK;
}

int dl_sim_page_map(int dev, void *p, size_t n) {
  dl_simdev *d;
  size_t first, pages;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  if (!page_at(d, p, n, &first, &pages)) return DL_CU_INVALID_VALUE;
  for (size_t i = first; i < first + pages; i++)
    if (d->page[i] != PAGE_TAKEN) return DL_CU_INVALID_VALUE;
  dl_sim.host_us += d->rate.malloc_host;
  d->report.mallocs++;
  if (refused(d) || (int64_t)(pages << DL_SIM_SHIFT) > bytes_free(d)) return DL_CU_OOM;
  give(d, first, pages);
  return DL_CU_OK;
}

int dl_sim_page_unmap(int dev, void *p, size_t n) {
  dl_simdev *d;
  size_t first, pages;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  if (!page_at(d, p, n, &first, &pages) || !all_have(d, first, first + pages, PAGE_HAS))
    return DL_CU_INVALID_VALUE;
  e = dl_sim_wait(d, dl_sim_all_done(d));
  dl_sim.host_us += d->rate.free_host;
  d->report.frees++;
  take_back(d, first, pages);
  return e;
}

int dl_sim_pinned_new(size_t n, void **out) {
  dl_simdev *d;
  int e = dl_sim_enter(0, &d);
  *out = NULL;
  if (e) return e;
  if (dl_host_alloc(n, out) != DL_OK) return DL_CU_RAISED;
  dl_sim.host_us += d->rate.malloc_host;
  return DL_CU_OK;
}
