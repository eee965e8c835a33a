/* block.c -- small blocks from size-class freelists: about 2 ns a block
 *
 * For tensor structs, graph nodes, small tensor data and Lua's own allocator.
 * Up to 4 KiB a block is carved from a slab and stays ours; above, it is a block of its own
 * that dl_mem_trim gives back. With DL_SAN every block is malloc's, so that ASan sees each
 * use after free.
 *
 * INVARIANT  A block of class c has class_bytes(c) bytes, all multiples of 64 from 64 bytes up,
 *            and lies on a 64-byte boundary.
 * MUST NOT   know what the blocks hold. */
#include "mem/hostpool.h"

#include <stdlib.h>

#define SMALL_MAX 1024 /* bytes: classes in steps of 64 up to here, then 4 a doubling */
#define CARVED_MAX 4096
#define CLASSES (SMALL_MAX / 64 + 2 + 4 * 8)

#ifdef DL_SAN

static void *take(size_t n) {
  void *p = NULL;
  return dl_host_room(n) && posix_memalign(&p, 64, n) == 0 ? p : NULL;
}
static void *take_fresh(size_t n) { return take(n); }
static void give(void *p, size_t n) { (void)n, free(p); }
void dl_freelist_trim(void) {}

#else

static void *freelist[CLASSES];
static uint32_t class_size[CLASSES]; /* bytes; filled by the first carving */

/* 1..16 -> 0, ..32 -> 1, ..64 -> 2, ..128 -> 3, …, ..1024 -> 17, ..1280 -> 18, … */
static inline int class_of(size_t n) {
  if (n <= 32) return n > 16;
  if (n <= SMALL_MAX) return (int)((n + 63) / 64) + 1;
  int log = 63 - __builtin_clzll(n - 1); /* 2^log <= n-1 < 2^(log+1), log >= 10 */
  return 18 + (log - 10) * 4 + (int)(((n - 1) >> (log - 2)) & 3);
}

static uint32_t class_bytes(int c) {
  if (c < 2) return 16u << c;
  if (c <= SMALL_MAX / 64 + 1) return (uint32_t)(c - 1) * 64;
  int log = (c - 18) / 4 + 10, quarter = (c - 18) % 4;
  return (1u << log) + ((uint32_t)(quarter + 1) << (log - 2));
}

/* Cut a new slab into blocks of class c; the list gets them in address order. */
static void *carve(int c, size_t bytes) {
  char *slab = dl_system_new(DL_SLAB);
  if (!slab) return NULL;
  size_t count = DL_SLAB / bytes;
  for (size_t i = count; i-- > 1;) {
    void **b = (void **)(slab + i * bytes);
    *b = freelist[c];
    freelist[c] = b;
  }
  dl_mem.cached_bytes += (int64_t)((count - 1) * bytes);
  return slab;
}

static inline void *take(size_t n) {
  int c = class_of(n);
  void **b = freelist[c];
  if (!b) return NULL;
  freelist[c] = *b;
  dl_mem.cached_bytes -= class_size[c];
  return b;
}

static void *take_fresh(size_t n) {
  if (!class_size[0])
    for (int c = 0; c < CLASSES; c++) class_size[c] = class_bytes(c);
  int c = class_of(n);
  return class_size[c] <= CARVED_MAX ? carve(c, class_size[c]) : dl_system_new(class_size[c]);
}

static inline void give(void *p, size_t n) {
  int c = class_of(n);
  *(void **)p = freelist[c];
  freelist[c] = p;
  dl_mem.cached_bytes += class_size[c];
}

void dl_freelist_trim(void) {
  for (int c = 0; c < CLASSES; c++) {
    while (class_size[c] > CARVED_MAX && freelist[c]) {
      void *b = freelist[c];
      freelist[c] = *(void **)b;
      dl_mem.cached_bytes -= class_size[c];
      dl_system_free(b, class_size[c]);
    }
  }
}

#endif

/* The list is empty, or a request is to be refused: rare. */
static void *new_slowly(size_t n) {
  if (!dl_count_request()) return NULL;
  void *p = take(n);
  if (!p) p = take_fresh(n);
  if (!p) {
    dl_make_room();
    p = take_fresh(n);
  }
  if (p) dl_count_new(n);
  return p;
}

void *dl_block_new(size_t n) {
  if (n == 0) n = 1;
  if (n <= DL_BLOCK_MAX && dl_mem_refuse_at == 0) {
    void *p = take(n);
    if (p) {
      dl_mem.allocs++;
      dl_count_new(n);
      return p;
    }
  } else if (n > DL_BLOCK_MAX) {
    void *p;
    return dl_host_alloc(n, &p) == DL_OK ? p : NULL;
  }
  return new_slowly(n);
}

void dl_block_free(void *p, size_t n) {
  if (!p) return;
  if (n > DL_BLOCK_MAX) {
    dl_host_free(p, n);
    return;
  }
  if (n == 0) n = 1;
  dl_count_free(n);
  give(p, n);
}
