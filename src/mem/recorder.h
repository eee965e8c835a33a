/* recorder.h -- what the device layer tells the run record
 *
 * For mem/ and whoever drives devices: copies, synchronisations, kernel launches, refused
 * allocations. While no record is kept each of these is one test of a pointer.
 *
 * MUST NOT   know what the record makes of it (src/op/record.c). */
#ifndef DL_RECORDER_H
#define DL_RECORDER_H

#include "mem/mem.h"

typedef struct dl_recorder {
  void (*copy)(dl_device from, dl_device to, int64_t bytes, int role);
  void (*sync)(const char *why);
  void (*kernel)(dl_device dev, int64_t n);
  void (*oom)(dl_device dev, int64_t bytes);
} dl_recorder;
extern const dl_recorder *dl_recording; /* NULL = nobody records */

/* role: what the bytes are for, a dl_role of tensor/ledger.h; 0 where unknown. */
static inline void dl_record_copy(dl_device from, dl_device to, int64_t bytes, int role) {
  if (dl_recording) dl_recording->copy(from, to, bytes, role);
}
/* The host waited for a device; why: a literal such as "item" or "synchronize". */
static inline void dl_record_sync(const char *why) {
  if (dl_recording) dl_recording->sync(why);
}
/* n more kernels than the one that each op counts as (0 for none at all: -1). */
static inline void dl_record_kernel(dl_device dev, int64_t n) {
  if (dl_recording) dl_recording->kernel(dev, n);
}
static inline void dl_record_oom(dl_device dev, int64_t bytes) {
  if (dl_recording) dl_recording->oom(dev, bytes);
}

#endif
