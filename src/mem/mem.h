/* mem.h -- devices, and where bytes come from
 *
 * For tensor/, graph/, op/, bind/. Small blocks come from size-class freelists
 * (2 ns), large ones from a cache of reusable blocks with huge pages; every byte
 * on the host is counted here, and refused here before the machine is in danger.
 *
 * INVARIANT  live bytes = sum of blocks handed out; a refused request changes nothing.
 * MUST NOT   know tensors or Lua (the reclaim hook is a bare function pointer). */
#ifndef DL_MEM_H
#define DL_MEM_H

#include "base/dtype.h"

typedef enum { DL_CPU, DL_CUDA, DL_MPS, DL_META, DL_DEVTYPE_COUNT } dl_devtype;
typedef struct dl_device { int8_t type, index; } dl_device; /* cpu has index -1 or 0 */

#define DL_DEV_CPU ((dl_device){DL_CPU, -1})
static inline bool dl_device_same(dl_device a, dl_device b) {
  return a.type == b.type && (a.type == DL_CPU || a.index == b.index);
}
/* Parse "cpu", "cuda", "cuda:1" with PyTorch's errors. */
dl_status dl_device_parse(const char *s, dl_device *out);
/* Is there such a device here? ("Torch not compiled with CUDA enabled" …) */
dl_status dl_device_check(dl_device d);
const char *dl_device_str(dl_device d, char buf[24]);

/* Blocks of 1..256 KiB from freelists; 64-byte aligned from 64 bytes up. NULL when refused.
 * The caller remembers the size. The engine's small structs come from here too. */
void *dl_block_new(size_t nbytes);
void dl_block_free(void *p, size_t nbytes);
/* Tensor data of any size, 64-byte aligned; asks the reclaim hook once before refusing.
 * Fails with MemoryError-like RuntimeError as PyTorch's DefaultCPUAllocator words it. */
dl_status dl_host_alloc(size_t nbytes, void **out);
void dl_host_free(void *p, size_t nbytes);

typedef struct dl_mem_stats {
  int64_t live_bytes, live_blocks; /* handed out now */
  int64_t cached_bytes;            /* kept for reuse */
  int64_t peak_bytes;
  int64_t cap_bytes;               /* what the machine (cgroup too) can give */
  int64_t allocs;                  /* requests since start, refused ones included */
  int64_t lent_bytes;              /* behind a simulated GPU's memory; not in live_bytes */
} dl_mem_stats;
extern dl_mem_stats dl_mem;

/* Called (if set) when memory is short: frees what the collector can; true if it ran. */
extern bool (*dl_reclaim)(void);
/* Test hook: refuse the n-th request from now (0 = never). */
extern int64_t dl_mem_refuse_at;
/* May n more bytes be taken from the system? Never touches memory. */
bool dl_host_room(size_t n);
void dl_mem_trim(void); /* give cached blocks back to the system */
void dl_mem_init(void); /* reads the machine's limits; called once */

#endif
