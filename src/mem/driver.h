/* driver.h -- what a GPU can be asked: one table of functions, two that fill it in
 *
 * For src/mem (pool.c, gpu.c), kernels/sim (the simulated driver) and the CUDA plugin (the real
 * one). The engine above talks to gpu.h and cannot tell the two apart.
 *
 * CONTRACT   Functions return a CUDA error number, 0 when all is well; gpu.c turns it into
 *            PyTorch's text. An error that kills the context (DL_CU_ASSERT …) is returned by every
 *            later call for that device until reset(). Addresses are the device's own: only the
 *            driver may look behind them. A stream is a number, 0 the default stream of a device.
 *            Times are microseconds of the driver's clock (the simulated one has its own).
 * MUST NOT   know tensors, ops beyond their number, or Lua. */
#ifndef DL_DRIVER_H
#define DL_DRIVER_H

#include "mem/mem.h"

struct dl_kcall;

/* CUDA's error numbers, those that matter here. */
enum {
  DL_CU_OK = 0, DL_CU_INVALID_VALUE = 1, DL_CU_OOM = 2, DL_CU_NO_DRIVER = 35,
  DL_CU_TOO_OLD = 36, DL_CU_NO_DEVICE = 100, DL_CU_ORDINAL = 101, DL_CU_NOT_READY = 600,
  DL_CU_ILLEGAL = 700, DL_CU_ASSERT = 710, DL_CU_LAUNCH_FAILED = 719, DL_CU_UNSUPPORTED = 801,
  DL_CU_LOST = 46, DL_CU_NO_CODE = 209, DL_CU_ECC = 214, DL_CU_TIMEOUT = 702,
  DL_CU_UNKNOWN = 999,
  DL_CU_RAISED = -1 /* a host-side error: dl_err is set already, the device is well */
};

typedef struct dl_props {
  char name[80];                 /* a simulated one ends in " [SIMULATED]" */
  int major, minor;              /* compute capability */
  int sm_count, warp_size, max_threads_per_sm;
  int64_t total_memory;          /* bytes, as CUDA reports it */
  int64_t l2_bytes, shared_per_sm, shared_per_block, shared_per_block_optin; /* bytes */
  int64_t regs_per_sm;
  int clock_khz, memory_clock_khz, bus_bits;
  char uuid[40];
  int64_t context_bytes;         /* what the process's context takes; not the pool's */
} dl_props;

enum { DL_COPY_H2D, DL_COPY_D2H, DL_COPY_D2D, DL_COPY_PEER };

typedef struct dl_copy {
  void *dst;
  const void *src;
  size_t nbytes;
  int kind;                      /* DL_COPY_… */
  int dst_dev, src_dev;          /* -1: the host */
  bool pinned;                   /* the host side is pinned memory */
  bool async;                    /* do not wait for the end */
} dl_copy;

typedef struct dl_gpu_user {
  int64_t pid, nbytes;
} dl_gpu_user;

typedef int64_t dl_stream;       /* 0: the default stream */
typedef struct dl_event dl_event;

typedef struct dl_driver {
  const char *name;              /* "sim" or "cuda" */
  bool simulated;
  bool dry;                      /* compute=false: launches keep the clock and touch no bytes */

  int (*device_count)(void);
  int (*props)(int dev, dl_props *out);
  int (*mem_info)(int dev, size_t *free_bytes, size_t *total_bytes);
  int (*peer_ok)(int dev, int peer, bool *yes);
  int (*reset)(int dev);         /* a fresh context; everything on the device is gone */
  int (*error)(int dev);         /* the context's standing error, 0 when well; costs nothing */

  int (*mem_new)(int dev, size_t nbytes, void **out);            /* cudaMalloc */
  int (*mem_free)(int dev, void *p, size_t nbytes);              /* cudaFree: device sync */
  int (*va_new)(int dev, size_t nbytes, void **out);             /* address range without memory */
  int (*va_free)(int dev, void *p, size_t nbytes);
  int (*page_map)(int dev, void *p, size_t nbytes);              /* memory behind part of a range */
  int (*page_unmap)(int dev, void *p, size_t nbytes);
  int (*pinned_new)(size_t nbytes, void **out);                  /* host memory */
  int (*pinned_free)(void *p, size_t nbytes);

  int (*stream_new)(int dev, int priority, dl_stream *out);
  int (*stream_free)(int dev, dl_stream s);
  int (*stream_query)(int dev, dl_stream s);                     /* 0 or DL_CU_NOT_READY */
  int (*stream_sync)(int dev, dl_stream s);
  int (*stream_wait)(int dev, dl_stream s, dl_event *e);
  int (*device_sync)(int dev);
  int (*event_new)(int dev, bool timing, dl_event **out);
  int (*event_free)(dl_event *e);
  int (*event_record)(dl_event *e, dl_stream s);
  int (*event_query)(dl_event *e);
  int (*event_sync)(dl_event *e);
  int (*event_elapsed)(dl_event *from, dl_event *to, double *ms);

  int (*copy)(const dl_copy *c, dl_stream s);
  int (*fill)(int dev, void *p, int byte, size_t nbytes, dl_stream s);
  /* Run op's kernel. Views as kernel.h says, device addresses, KERNELC rows as they are (the
   * driver makes the contiguous copies in the compute dtype that such a kernel wants). */
  int (*launch)(int dev, dl_stream s, struct dl_kcall *k);
  /* Strided copy with conversion on the device; sizes equal (dl_view pointers of kernel.h). */
  int (*copy_view)(int dev, dl_stream s, const void *dst_view, const void *src_view);

  double (*host_us)(void);                                       /* the host's clock */
  int (*busy)(int dev, double *kernel_us, double *elapsed_us);   /* for utilisation */
  /* May fp32 products run in tf32 (torch.backends.*.allow_tf32)? NULL: they never do. */
  void (*set_tf32)(bool matmul, bool conv);
  /* The failed kernel's own words about error(dev), "" when there are none. NULL: never any. */
  const char *(*why)(int dev);
  /* Queue what CUDA's own libraries do for the same work, no kernel of ours: a copy of n bytes
   * (b NULL), or out = a b of square row-major matrices with side n. For comparison only.
   * DL_CU_UNSUPPORTED: there is no such library. NULL: nobody has one. */
  int (*plain)(int dev, dl_stream s, void *out, const void *a, const void *b, int64_t n, int dtype);
  /* Processes that use dev and their bytes of it, at most `most`; how many, -1: not known. NULL:
   * nobody but this one, with the pool's bytes and the context's. */
  int (*users)(int dev, dl_gpu_user *out, int most);
  /* Memory that the driver's own needs left idle goes back to the card. NULL: there is none. */
  void (*trim)(int dev);
  /* Products on stream s work in these bytes of the pool's; p NULL: no longer. NULL: none do. */
  void (*workspace)(int dev, dl_stream s, void *p, size_t nbytes);
  /* The same bytes where the host reads them at once, without a copy or the clock knowing of it;
   * NULL: not these bytes. Raises nothing. NULL: never. */
  const void *(*peek)(int dev, const void *p, size_t nbytes);
} dl_driver;

/* For a driver that finds no memory for a need of its own: what the pool of dev keeps in store goes
 * back to the card; was there any? Then, if it is still short, OutOfMemoryError of nbytes. */
bool dl_driver_make_room(int dev);
dl_status dl_driver_out_of_memory(int dev, size_t nbytes);

#endif
