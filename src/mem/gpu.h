/* gpu.h -- the GPU path: one way to devices of type cuda (and mps), whatever drives them
 *
 * For tensor/, op/, bind/. Holds the open driver, a pool a device, the current device and its
 * current stream, and turns a driver's error numbers into PyTorch's texts.
 *
 * INVARIANT  Every byte on a device comes from its pool; the driver is reached through here only.
 * MUST NOT   know tensors or Lua. */
#ifndef DL_GPU_H
#define DL_GPU_H

#include "mem/pool.h"

#define DL_GPU_MAX 16

/* The open driver, NULL when there is none. Its devices are of type dl_gpu_type. */
extern const dl_driver *dl_gpu;
extern uint8_t dl_gpu_type;      /* DL_CUDA, or DL_MPS for a simulated Apple device */
/* Why there is none: set by whoever looked for a plugin. NULL: this build has no plugin. */
extern const char *dl_gpu_absent;

extern int dl_gpu_absent_code;   /* DL_CU_NO_DRIVER …, 0 where the plugin itself is at fault */
extern int dl_gpu_absent_version; /* of CUDA, that a driver knows which is too old; 0: not known */
/* Asked once, when a GPU is first wanted and none is open: a driver to open, or NULL. */
extern const dl_driver *(*dl_gpu_find)(void);
void dl_gpu_look(void);

/* Take a driver into use; the one before must be closed. */
dl_status dl_gpu_open(const dl_driver *drv, dl_devtype type);
/* Forget the driver; the binding resets the default device. Tensors that still live on its
 * devices keep their shapes and raise. */
void dl_gpu_close(void);
int dl_gpu_count(void);
int dl_gpu_current(void);        /* the current device */
dl_status dl_gpu_set_current(int dev);
/* cuda -> cuda:current; "invalid device ordinal" where there is no such device. */
dl_status dl_gpu_resolve(dl_device *d);
static inline bool dl_is_gpu(dl_device d) { return d.type == DL_CUDA || d.type == DL_MPS; }

dl_stream dl_gpu_stream(int dev);                  /* the current stream of dev */
void dl_gpu_set_stream(int dev, dl_stream s);
dl_pool *dl_gpu_pool(int dev);                     /* NULL when no driver is open */

/* 0 -> DL_OK; else AcceleratorError with CUDA's text, and our note. */
dl_status dl_gpu_error(int code);
/* The error of whoever wants a GPU where there is none. */
dl_status dl_gpu_none(void);
/* The standing error of dev, as a status: what a lost context says to every call. */
dl_status dl_gpu_well(int dev);
dl_status dl_gpu_sync(int dev);                    /* torch.cuda.synchronize */
/* Start afresh after an error that kills the context; live tensors of dev lose their bytes. */
dl_status dl_gpu_reset(int dev);
extern uint32_t dl_gpu_epoch;    /* goes up with each open, close and reset */
/* The one since which a device has kept what it holds: a reset of another does not touch it. */
extern uint32_t dl_gpu_epochs[DL_GPU_MAX];

/* What float32 products may round their inputs to (torch.backends.*.allow_tf32). */
enum { DL_TF32_MATMUL = 1, DL_TF32_CONV = 2 };
extern uint8_t dl_gpu_tf32;
void dl_gpu_set_tf32(uint8_t bits);
/* torch.cuda.set_sync_debug_mode: 0 silent, 1 warn, 2 raise when the host waits for a copy. */
extern int dl_gpu_sync_debug;

/* Copy bytes between host and devices on the current stream(s); waits unless async. The run record
 * is told, with the bytes' role. */
dl_status dl_gpu_copy(void *dst, dl_device dst_dev, const void *src, dl_device src_dev,
                      size_t nbytes, bool pinned, bool async, int role);

#endif
