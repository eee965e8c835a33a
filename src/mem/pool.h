/* pool.h -- between block.c (freelists) and host.c (large blocks, limits); nobody else
 *
 * INVARIANT  Only these functions change dl_mem. */
#ifndef DL_POOL_H
#define DL_POOL_H

#include "mem/mem.h"

#define DL_BLOCK_MAX ((size_t)256 << 10) /* bytes: larger requests go to the large-block cache */
#define DL_HUGE ((size_t)2 << 20)        /* bytes of a huge page */
#define DL_SLAB ((size_t)64 << 10)       /* bytes carved into small blocks at a time */

/* May n more bytes be taken from the system? Never touches memory. */
bool dl_host_room(size_t n);
/* 64-byte aligned memory from the system; NULL when there is no room. Not counted in dl_mem. */
void *dl_system_new(size_t n);
void dl_system_free(void *p, size_t n);
/* Every request passes here; false when the test hook refuses it. */
bool dl_count_request(void);
void dl_count_new(size_t n);
void dl_count_free(size_t n);
/* An uncounted block of any size; when short it asks the reclaim hook, once, and trims. */
void *dl_pool_pop(size_t n);
/* The uncounted halves of dl_block_new and dl_block_free. */
void *dl_freelist_pop(size_t n);
void dl_freelist_push(void *p, size_t n);
void dl_freelist_trim(void);

#endif
