/* hostpool.h -- between block.c (freelists) and host.c (large blocks, limits); nobody else
 *
 * INVARIANT  Only these functions change dl_mem. */
#ifndef DL_HOSTPOOL_H
#define DL_HOSTPOOL_H

#include "mem/mem.h"

#define DL_BLOCK_MAX ((size_t)256 << 10) /* bytes: larger requests go to the large-block cache */
#define DL_HUGE ((size_t)2 << 20)        /* bytes of a huge page */
#define DL_SLAB ((size_t)64 << 10)       /* bytes carved into small blocks at a time */

/* 64-byte aligned memory from the system; NULL when there is no room. Not counted in dl_mem. */
void *dl_system_new(size_t n);
void dl_system_free(void *p, size_t n);
/* Make room when a request found none: ask the reclaim hook, once, and give back what is cached. */
void dl_make_room(void);
void dl_freelist_trim(void);

/* Every request passes here; false when the test hook refuses it. */
static inline bool dl_count_request(void) {
  dl_mem.allocs++;
  return dl_mem_refuse_at == 0 || --dl_mem_refuse_at != 0;
}

static inline void dl_count_new(size_t n) {
  dl_mem.live_bytes += (int64_t)n;
  dl_mem.live_blocks++;
  if (dl_mem.live_bytes > dl_mem.peak_bytes) dl_mem.peak_bytes = dl_mem.live_bytes;
}

static inline void dl_count_free(size_t n) {
  dl_mem.live_bytes -= (int64_t)n;
  dl_mem.live_blocks--;
}

#endif
