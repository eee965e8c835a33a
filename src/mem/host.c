/* host.c -- tensor data: the large-block cache, the machine's limits, the statistics
 *
 * A fresh 40 MB block costs its page faults (2.4 GB/s); a reused one does not (26 GB/s). So large
 * blocks are kept when freed, up to a limit, and from 2 MiB up they ask for huge pages.
 *
 * INVARIANT  A request that the machine cannot serve is refused before a byte is touched.
 * MUST NOT   know tensors. */
#include "mem/hostpool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

dl_mem_stats dl_mem;
bool (*dl_reclaim)(void);
int64_t dl_mem_refuse_at;

#define KEPT_MAX 64 /* large blocks kept for reuse */
static struct { void *p; size_t n; } kept[KEPT_MAX];
static int kept_count;
static size_t kept_bytes;
static int64_t system_bytes; /* taken from the system and not given back */

#define LOOK_FROM ((size_t)64 << 20) /* bytes: from here a request also asks what is free now */

/* ---- limits -------------------- */

/* First number in a file; -1 when there is none ("max"). */
static int64_t read_number(const char *path) {
  FILE *f = fopen(path, "re");
  if (!f) return -1;
  long long v = -1;
  if (fscanf(f, "%lld", &v) != 1) v = -1;
  fclose(f);
  return v;
}

static int64_t least(int64_t a, int64_t b) { return b > 0 && (a <= 0 || b < a) ? b : a; }

/* The tightest limit on the way from our own cgroup to the root; 0 = none. */
static int64_t cgroup_limit(void) {
  char line[512], path[1024];
  int64_t limit = 0;
  FILE *f = fopen("/proc/self/cgroup", "re");
  if (!f) return 0;
  while (fgets(line, sizeof line, f)) {
    bool v2 = strncmp(line, "0::", 3) == 0;
    char *memory = strstr(line, ":memory:");
    if (!v2 && !memory) continue;
    char *dir = v2 ? line + 3 : memory + 8;
    dir[strcspn(dir, "\n")] = '\0';
    for (;;) {
      snprintf(path, sizeof path, "/sys/fs/cgroup%s%s/%s", v2 ? "" : "/memory", dir,
               v2 ? "memory.max" : "memory.limit_in_bytes");
      int64_t v = read_number(path);
      if (v < INT64_MAX / 2) limit = least(limit, v);
      char *slash = strrchr(dir, '/');
      if (!slash || dir[0] == '\0') break;
      *slash = '\0';
    }
  }
  fclose(f);
  return limit;
}

/* What the machine could still give without swapping, in bytes; -1 when unknown. */
static int64_t available_now(void) {
  char line[128];
  long long kb = -1;
  FILE *f = fopen("/proc/meminfo", "re");
  if (!f) return -1;
  while (kb < 0 && fgets(line, sizeof line, f))
    if (sscanf(line, "MemAvailable: %lld kB", &kb) != 1) kb = -1;
  fclose(f);
  return kb < 0 ? -1 : (int64_t)kb * 1024;
}

/* A sixteenth of the machine, at least 64 MiB and at most 1 GiB, is left to everybody else. */
static int64_t margin(int64_t total) {
  int64_t m = total / 16;
  if (m < (int64_t)64 << 20) m = (int64_t)64 << 20;
  if (m > (int64_t)1 << 30) m = (int64_t)1 << 30;
  return m < total / 2 ? m : total / 2;
}

void dl_mem_init(void) {
  if (dl_mem.cap_bytes) return;
  int64_t total = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  total = least(total, cgroup_limit());
  struct rlimit lim;
  if (getrlimit(RLIMIT_AS, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY)
    total = least(total, (int64_t)lim.rlim_cur);
  if (total <= 0) total = (int64_t)2 << 30;
  dl_mem.cap_bytes = total - margin(total);
}

bool dl_host_room(size_t n) {
  if (!dl_mem.cap_bytes) dl_mem_init();
  if (n > (size_t)dl_mem.cap_bytes) return false;
  if ((int64_t)n > dl_mem.cap_bytes - system_bytes - dl_mem.lent_bytes) return false;
  if (n < LOOK_FROM) return true;
  int64_t free_now = available_now();
  return free_now < 0 || (int64_t)n <= free_now - margin(free_now) / 4;
}

/* ---- large blocks -------------------- */

/* Rounded so that nearly equal sizes share blocks: 64 KiB steps, then huge pages. */
static size_t large_bytes(size_t n) {
  size_t step = n >= DL_HUGE ? DL_HUGE : (size_t)64 << 10;
  return n > SIZE_MAX - step ? n : (n + step - 1) / step * step;
}

void *dl_system_new(size_t n) {
  if (!dl_host_room(n)) return NULL;
  void *p = NULL;
  if (posix_memalign(&p, n >= DL_HUGE ? DL_HUGE : 64, n) != 0) return NULL;
#ifdef MADV_HUGEPAGE
  if (n >= DL_HUGE) madvise(p, n, MADV_HUGEPAGE);
#endif
  system_bytes += (int64_t)n;
  return p;
}

void dl_system_free(void *p, size_t n) {
  system_bytes -= (int64_t)n;
  free(p);
}

static void *kept_take(int i) {
  void *p = kept[i].p;
  kept_bytes -= kept[i].n;
  dl_mem.cached_bytes -= (int64_t)kept[i].n;
  kept[i] = kept[--kept_count];
  return p;
}

#ifdef DL_SAN
static void *large_pop(size_t n) { return dl_system_new(large_bytes(n)); }
static void large_push(void *p, size_t n) { dl_system_free(p, large_bytes(n)); }
#else

static void *large_pop(size_t n) {
  size_t bytes = large_bytes(n);
  for (int i = kept_count - 1; i >= 0; i--)
    if (kept[i].n == bytes) return kept_take(i);
  return dl_system_new(bytes);
}

/* At most an eighth of the machine is kept idle; an old block makes room. */
static void large_push(void *p, size_t n) {
  size_t bytes = large_bytes(n), limit = (size_t)(dl_mem.cap_bytes / 8);
  if (bytes > limit) {
    dl_system_free(p, bytes);
    return;
  }
  while (kept_count == KEPT_MAX || (kept_count && kept_bytes + bytes > limit)) {
    size_t gone = kept[0].n;
    dl_system_free(kept_take(0), gone);
  }
  kept[kept_count].p = p;
  kept[kept_count++].n = bytes;
  kept_bytes += bytes;
  dl_mem.cached_bytes += (int64_t)bytes;
}
#endif

void dl_mem_trim(void) {
  while (kept_count) {
    size_t n = kept[kept_count - 1].n;
    dl_system_free(kept_take(kept_count - 1), n);
  }
  dl_freelist_trim();
}

void dl_make_room(void) {
  if (dl_reclaim) dl_reclaim();
  dl_mem_trim();
}

static dl_status refuse(size_t n) {
  dl_fail(DL_RuntimeError, DL_E_OOM,
          "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate "
          "memory: you tried to allocate %llu bytes. Error code 12 (Cannot allocate memory)",
          (unsigned long long)n);
  dl_note("%.1f MiB are in use here and %.1f MiB is the most that may be",
          (double)dl_mem.live_bytes / 1048576.0, (double)dl_mem.cap_bytes / 1048576.0);
  return dl_err.kind;
}

static void *large_new(size_t n) {
  if (!dl_count_request()) return NULL;
  void *p = large_pop(n);
  if (!p) {
    dl_make_room();
    p = large_pop(n);
  }
  if (p) dl_count_new(n);
  return p;
}

dl_status dl_host_alloc(size_t n, void **out) {
  *out = n <= DL_BLOCK_MAX ? dl_block_new(n) : large_new(n);
  return *out ? DL_OK : refuse(n);
}

void dl_host_free(void *p, size_t n) {
  if (n <= DL_BLOCK_MAX) {
    dl_block_free(p, n);
  } else if (p) {
    dl_count_free(n);
    large_push(p, n);
  }
}
