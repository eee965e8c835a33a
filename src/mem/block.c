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
#include "mem/pool.h"

#include <stdlib.h>

#define SMALL_MAX 1024 /* bytes: classes in steps of 64 up to here, then 4 a doubling */
#define CARVED_MAX 4096
#define CLASSES (SMALL_MAX / 64 + 2 + 4 * 8)

#ifdef DL_SAN

void *dl_freelist_pop(size_t n) {
  void *p = NULL;
  return dl_host_room(n) && posix_memalign(&p, 64, n) == 0 ? p : NULL;
}
void dl_freelist_push(void *p, size_t n) { (void)n; free(p); }
void dl_freelist_trim(void) {}

#else

static void *freelist[CLASSES];

/* 1..16 -> 0, ..32 -> 1, ..64 -> 2, ..128 -> 3, …, ..1024 -> 17, ..1280 -> 18, … */
static inline int class_of(size_t n) {
  if (n <= 32) return n > 16;
  if (n <= SMALL_MAX) return (int)((n + 63) / 64) + 1;
  int log = 63 - __builtin_clzll(n - 1); /* 2^log <= n-1 < 2^(log+1), log >= 10 */
  return 18 + (log - 10) * 4 + (int)(((n - 1) >> (log - 2)) & 3);
}

static inline size_t class_bytes(int c) {
  if (c < 2) return 16u << c;
  if (c <= SMALL_MAX / 64 + 1) return (size_t)(c - 1) * 64;
  int log = (c - 18) / 4 + 10, quarter = (c - 18) % 4;
  return ((size_t)1 << log) + ((size_t)(quarter + 1) << (log - 2));
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

void *dl_freelist_pop(size_t n) {
  int c = class_of(n);
  void **b = freelist[c];
  if (b) {
    freelist[c] = *b;
    dl_mem.cached_bytes -= (int64_t)class_bytes(c);
    return b;
  }
  size_t bytes = class_bytes(c);
  return bytes <= CARVED_MAX ? carve(c, bytes) : dl_system_new(bytes);
}

void dl_freelist_push(void *p, size_t n) {
  int c = class_of(n);
  *(void **)p = freelist[c];
  freelist[c] = p;
  dl_mem.cached_bytes += (int64_t)class_bytes(c);
}

void dl_freelist_trim(void) {
  for (int c = 0; c < CLASSES; c++) {
    size_t bytes = class_bytes(c);
    if (bytes <= CARVED_MAX) continue;
    while (freelist[c]) {
      void *b = freelist[c];
      freelist[c] = *(void **)b;
      dl_mem.cached_bytes -= (int64_t)bytes;
      dl_system_free(b, bytes);
    }
  }
}

#endif

void *dl_block_new(size_t n) {
  if (n > DL_BLOCK_MAX) {
    void *p = NULL;
    return dl_host_alloc(n, &p) == DL_OK ? p : NULL;
  }
  if (!dl_count_request()) return NULL;
  if (n == 0) n = 1;
  void *p = dl_pool_pop(n);
  if (p) dl_count_new(n);
  return p;
}

void dl_block_free(void *p, size_t n) {
  if (!p) return;
  if (n > DL_BLOCK_MAX) {
    dl_host_free(p, n);
    return;
  }
  if (n == 0) n = 1;
  dl_count_free(n);
  dl_freelist_push(p, n);
}
