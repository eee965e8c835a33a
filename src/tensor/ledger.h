/* ledger.h -- bytes of tensor data by what they are for, on each device
 *
 * For tensor/ (counts), graph/, grad/, op/, bind/ (say what a storage is for), the run record.
 *
 * A storage begins as OTHER. Whoever learns more says so: nn.Parameter, the walk (gradients and the
 * leaves they belong to), the optimizers' rows, the DataLoader. Between these and OTHER stands
 * SAVED: nobody said more, and some graph node keeps it for backward.
 *
 * INVARIANT  dl_ledger[slot][role] is the sum of nbytes of living storages of that device and role.
 * MUST NOT   cost more than two additions an allocation while nobody watches. */
#ifndef DL_LEDGER_H
#define DL_LEDGER_H

#include "tensor/tensor.h"

typedef enum dl_role {
  DL_ROLE_OTHER,
  DL_ROLE_PARAM,
  DL_ROLE_GRAD,
  DL_ROLE_STATE, /* of an optimizer */
  DL_ROLE_SAVED,
  DL_ROLE_BATCH,
  DL_ROLE_COUNT
} dl_role;

enum { DL_LEDGER_CUDA = 1, DL_LEDGER_MPS = 17, DL_LEDGER_META = 18, DL_LEDGER_SLOTS = 19 };

extern int64_t dl_ledger[DL_LEDGER_SLOTS][DL_ROLE_COUNT];
extern void (*dl_ledger_watch)(int slot); /* called when a slot grew or shifted; NULL = off */
extern const char *const dl_role_name[DL_ROLE_COUNT]; /* "parameter", "gradient", … */

static inline int dl_ledger_slot(dl_device d) {
  if (d.type == DL_CPU) return 0;
  if (d.type == DL_CUDA) return DL_LEDGER_CUDA + (d.index & 15);
  return d.type == DL_MPS ? DL_LEDGER_MPS : DL_LEDGER_META;
}

static inline void dl_ledger_new(const dl_storage *st) {
  int slot = dl_ledger_slot(st->dev);
  dl_ledger[slot][st->role] += (int64_t)st->nbytes;
  if (dl_ledger_watch) dl_ledger_watch(slot);
}
static inline void dl_ledger_gone(const dl_storage *st) {
  dl_ledger[dl_ledger_slot(st->dev)][st->role] -= (int64_t)st->nbytes;
}

/* The storage's bytes are counted under another role from now on. */
void dl_ledger_move(dl_storage *st, dl_role role);
/* t's storage is for this. GRAD and SAVED never displace what somebody said before. */
static inline void dl_ledger_say(const dl_tensor *t, dl_role role) {
  if (t && t->st && t->st->role != role) dl_ledger_move(t->st, role);
}
static inline void dl_ledger_grad(const dl_tensor *t) {
  if (t && (t->st->role == DL_ROLE_OTHER || t->st->role == DL_ROLE_SAVED))
    dl_ledger_move(t->st, DL_ROLE_GRAD);
}
/* A graph node keeps t, lets it go. */
static inline void dl_ledger_save(const dl_tensor *t) {
  if (t->st->saves < UINT16_MAX) t->st->saves++;
  if (t->st->role == DL_ROLE_OTHER) dl_ledger_move(t->st, DL_ROLE_SAVED);
}
static inline void dl_ledger_unsave(const dl_tensor *t) {
  if (!t || t->st->saves == UINT16_MAX || t->st->saves == 0) return;
  if (--t->st->saves == 0 && t->st->role == DL_ROLE_SAVED) dl_ledger_move(t->st, DL_ROLE_OTHER);
}

#endif
