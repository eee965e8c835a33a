/* devmem.h -- the bytes of tensors on a GPU: who holds how much, since which line
 *
 * For src/tensor (storage.c makes them), and for whoever explains memory: the ledger, the run
 * record, reports.
 *
 * INVARIANT  Every storage on a GPU with bytes is in the list, oldest first; its chunk is the
 *            pool's until the storage goes.
 * MUST NOT   know ops, nodes or Lua. */
#ifndef DL_DEVMEM_H
#define DL_DEVMEM_H

#include "mem/gpu.h"
#include "tensor/tensor.h"

/* Where in the user's code something was made: a chunk's name (interned) and a line, 0 unknown; in
 * which input of the session, as at the prompt each is line 1. */
typedef struct dl_where { const char *source; int line; uint32_t input; } dl_where;
/* Set by the binding; fills *w, allocates nothing. NULL: nobody knows. */
extern void (*dl_where_fn)(dl_where *w);

typedef struct dl_devmem {
  struct dl_devmem *prev, *next;
  dl_chunk *chunk;
  dl_storage *st;
  size_t nbytes;                 /* asked for; the chunk takes more */
  dl_where where;
  uint64_t born;                 /* dl_devmem_clock when it was made */
  uint64_t step;                 /* optimizer steps taken by then */
  uint32_t epoch;                /* its device's then; an older one has lost its bytes */
  const char *op;                /* PyTorch's name of the op that made it, or NULL */
} dl_devmem;

extern dl_devmem *dl_devmem_first, *dl_devmem_last;
extern uint64_t dl_devmem_clock; /* allocations so far */
extern uint64_t dl_devmem_steps; /* optimizer steps so far: told by the optimizer's ops */
extern const char *dl_devmem_op; /* what is being computed, set by dispatch */

/* Bytes on device dev for st, on the device's current stream. */
dl_status dl_devmem_new(dl_storage *st, size_t nbytes);
void dl_devmem_free(dl_storage *st);
/* Does the device still hold m? */
static inline bool dl_devmem_lives(const dl_devmem *m) {
  return m->epoch == dl_gpu_epochs[m->st->dev.index];
}
static inline dl_devmem *dl_devmem_of(const dl_storage *st) { return st->free_ctx; }
/* Have the bytes behind t been lost (device reset, simulation ended)? Says so if they have. */
dl_status dl_devmem_check(const dl_tensor *t);
/* The tensor is used on stream s too (Tensor.record_stream). */
dl_status dl_devmem_record_stream(const dl_tensor *t, dl_stream s);

/* ---- dry runs -------------------------------------------------------------------------------- */
/* While set, tensors made on the CPU are sizes without numbers: numberless, and of large ones no
 * byte is touched. */
extern bool dl_devmem_hollow;

/* ---- pinned memory --------------------------------------------------------------------------- */
/* A contiguous CPU tensor of m's size and dtype in memory that a GPU copies from directly. */
dl_status dl_tensor_new_pinned(const dl_meta *m, dl_tensor **out);

/* ---- between host and device ----------------------------------------------------------------- */
/* Where the host can read t's elements as t's strides say, without waiting for a device; NULL:
 * nowhere, there are none, or a dry run has none. */
const char *dl_tensor_peek(const dl_tensor *t);
/* A CPU tensor with t's values: t itself (retained) where it is one, else a copy in t's layout,
 * waiting for the device. */
dl_status dl_tensor_on_host(const dl_tensor *t, dl_tensor **out);
/* The same for who needs true values: a dry run's tensor is refused. */
dl_status dl_tensor_values(const dl_tensor *t, dl_tensor **out);

#endif
