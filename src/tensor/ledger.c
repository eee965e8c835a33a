/* ledger.c -- bytes of tensor data by what they are for
 *
 * See ledger.h. MUST NOT know ops, nodes or Lua. */
#include "tensor/ledger.h"

int64_t dl_ledger[DL_LEDGER_SLOTS][DL_ROLE_COUNT];
void (*dl_ledger_watch)(int slot);
const char *const dl_role_name[DL_ROLE_COUNT] = {
    "other", "parameter", "gradient", "optimizer state", "saved activation", "batch"};

void dl_ledger_move(dl_storage *st, dl_role role) {
  int slot = dl_ledger_slot(st->dev);
  dl_ledger[slot][st->role] -= (int64_t)st->nbytes;
  st->role = (uint8_t)role;
  dl_ledger[slot][role] += (int64_t)st->nbytes;
  if (dl_ledger_watch) dl_ledger_watch(slot);
}
