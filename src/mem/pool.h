/* pool.h -- PyTorch's caching allocator, one a device
 *
 * For gpu.c (which owns the pools) and the binding of torch.cuda's figures. Blocks of a multiple of
 * 512 bytes come from segments of 2 MiB, 20 MiB or more, best fit, split and merged; memory goes
 * back to the driver only when it is short or when asked. Source: CUDACachingAllocator.cpp,
 * native backend.
 *
 * INVARIANT  The blocks of a segment tile it; a free block has no free neighbour; the figures are
 *            those of PyTorch after the same calls.
 * MUST NOT   know tensors or Lua. */
#ifndef DL_POOL_H
#define DL_POOL_H

#include "mem/driver.h"

typedef struct dl_pool dl_pool;
typedef struct dl_chunk dl_chunk;  /* a block of device memory, handed out or free */

typedef struct dl_stat { int64_t current, peak, allocated, freed; } dl_stat;
enum { DL_POOL_ALL, DL_POOL_SMALL, DL_POOL_LARGE, DL_POOL_PARTS };
/* The statistics of torch.cuda.memory_stats, in its order. Bytes or counts. */
typedef struct dl_pool_stats {
  dl_stat allocation[3], segment[3], active[3], inactive_split[3];
  dl_stat allocated_bytes[3], reserved_bytes[3], active_bytes[3], inactive_split_bytes[3],
      requested_bytes[3];
  dl_stat oversize_allocations, oversize_segments;
  int64_t num_alloc_retries, num_ooms, num_sync_all_streams, num_device_alloc, num_device_free;
  int64_t max_split_size;        /* bytes; -1 when unlimited */
} dl_pool_stats;

/* The options of PYTORCH_CUDA_ALLOC_CONF; process wide. */
typedef struct dl_pool_conf {
  int64_t max_split_size;        /* bytes; INT64_MAX when unlimited */
  int64_t max_non_split_rounding, large_segment_size; /* bytes */
  double gc_threshold;           /* 0: off */
  int32_t roundup[64];           /* divisions by power of two of the size in MiB; 0: off */
  double fraction;               /* per_process_memory_fraction of every device; 1: all */
  bool expandable, no_caching;
} dl_pool_conf;
extern dl_pool_conf dl_conf;
/* Parse "key:value,…" with PyTorch's errors; on failure dl_conf is unchanged. As there, the options
 * max_split_size_mb, roundup_power2_divisions and garbage_collection_threshold go back to their
 * defaults first and the others stay. NULL: all defaults. */
dl_status dl_pool_conf_parse(const char *text);
/* The same from the environment: PYTORCH_ALLOC_CONF or PYTORCH_CUDA_ALLOC_CONF, once a process. */
dl_status dl_pool_conf_env(void);

/* An empty pool; NULL where the host has no memory for it. */
dl_pool *dl_pool_new(const dl_driver *drv, int dev);
/* Forget all of it without asking the driver: after the device was reset. Chunks handed out stay
 * valid to free. */
void dl_pool_abandon(dl_pool *p);
void dl_pool_delete(dl_pool *p);   /* gives segments back; no chunk may be handed out */

/* n > 0 bytes for use on stream s. OutOfMemoryError with PyTorch's text after the ladder: cached
 * block, driver, dl_pool_collect, cached block again, flush, driver. */
dl_status dl_pool_alloc(dl_pool *p, size_t n, dl_stream s, dl_chunk **out);
/* The same error for n bytes that somebody else wanted of the device. */
dl_status dl_pool_refuse(dl_pool *p, size_t n);
void dl_pool_free(dl_chunk *c);
void *dl_chunk_ptr(const dl_chunk *c);
size_t dl_chunk_bytes(const dl_chunk *c);    /* what it takes from the pool */
/* The chunk is used on s too: freed, it waits for what s has queued by then. */
dl_status dl_pool_record_stream(dl_chunk *c, dl_stream s);

/* format_size: "512 bytes", "1.50 KiB", "34.00 MiB", "79.25 GiB". Returns buf. */
const char *dl_bytes_str(int64_t n, char buf[32]);

/* What torch.cuda's functions of these names do; figures are good until the pool changes. */
dl_status dl_pool_empty_cache(dl_pool *p);
const dl_pool_stats *dl_pool_figures(dl_pool *p);
void dl_pool_reset_peak(dl_pool *p);
void dl_pool_reset_accumulated(dl_pool *p);
/* fraction 0..1 of the card; allowed = (size_t)(fraction * total). 1 lifts the limit again. */
dl_status dl_pool_set_fraction(dl_pool *p, double fraction);
double dl_pool_fraction(const dl_pool *p);
/* Largest free block and free bytes inside segments, for telling fragmentation from size. */
void dl_pool_free_space(dl_pool *p, int64_t *largest, int64_t *total);
/* What this process could have of the device: reserved now and free, within the limit. */
int64_t dl_pool_capacity(dl_pool *p);
/* Walk segments and their blocks in address order (snapshot, plots). */
typedef struct dl_pool_item {
  uint64_t segment, address;
  int64_t segment_bytes, bytes, requested;
  dl_stream stream;
  uint8_t state;                 /* 0 free, 1 handed out, 2 waiting for a stream */
  bool small, expandable;
} dl_pool_item;
void dl_pool_walk(dl_pool *p, void (*fn)(void *ctx, const dl_pool_item *it), void *ctx);

/* Set by the binding: collect Lua's garbage before the driver is asked for a new segment
 * (last_resort false) or because it has no more (true). True if it ran: the pool looks again. */
extern bool (*dl_pool_collect)(bool last_resort);
/* Set by the binding: called before each request with the bytes it will take. May free chunks. */
extern void (*dl_pool_pace)(dl_pool *p, int dev, int64_t bytes);
/* Called with the failed request (bytes) once the error text stands in dl_err: adds notes. */
extern void (*dl_pool_explain)(dl_pool *p, int dev, size_t n);
/* What a pool did, while somebody keeps its history; NULL otherwise. Bytes are the request's for
 * chunks and for out of memory, whose address is what the driver says is free. */
typedef enum dl_pool_event {
  DL_POOL_TAKEN,
  DL_POOL_FREE_REQUESTED,
  DL_POOL_FREE_COMPLETED,
  DL_POOL_SEGMENT_TAKEN,
  DL_POOL_SEGMENT_FREED,
  DL_POOL_MAPPED,
  DL_POOL_UNMAPPED,
  DL_POOL_OUT_OF_MEMORY,
  DL_POOL_SNAPSHOT               /* never a pool's: somebody looked */
} dl_pool_event;
extern void (*dl_pool_trace)(int dev, dl_pool_event what, uint64_t addr, int64_t bytes,
                             dl_stream s);
/* Test hook: the n-th request from now that reaches the driver, with its retries, finds it out of
 * memory (0: none). */
extern int64_t dl_pool_refuse_at;

#endif
