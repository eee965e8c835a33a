/* autocast.h -- torch.autocast: which dtype an op runs in, decided on the way into dispatch
 *
 * For dispatch, bind/ (regions) and the run record.
 *
 * A region sets, for one device type, on or off and a 16-bit dtype. While any is on,
 * DL_MODE_AUTOCAST is set and every op passes dl_dispatch_moded: its class (the CAST column of
 * ops.def for GPUs, a short list of differences for the CPU) tells what becomes of its floating
 * operands.
 *
 * INVARIANT  DL_MODE_AUTOCAST is set if and only if some device type is on, but inside an op whose
 *            operands were cast: what such an op calls is not cast again.
 * MUST NOT   know Lua. */
#ifndef DL_AUTOCAST_H
#define DL_AUTOCAST_H

#include "op/op.h"

typedef struct dl_autocast_state {
  bool on[DL_DEVTYPE_COUNT];
  uint8_t dtype[DL_DEVTYPE_COUNT]; /* F16 or BF16 */
  bool cache;                      /* casts of leaf parameters are kept till the region ends */
} dl_autocast_state;

extern dl_autocast_state dl_autocast; /* read only; at first: all off, cuda F16, cpu BF16 */

/* Enter a region: *before is what dl_autocast_leave restores. Leaving the outermost region drops
 * the cache. */
void dl_autocast_enter(const dl_autocast_state *now, dl_autocast_state *before);
void dl_autocast_leave(const dl_autocast_state *before);
/* Change the state for good (torch.set_autocast_enabled). */
void dl_autocast_set(const dl_autocast_state *now);
void dl_autocast_clear_cache(void);
int dl_autocast_depth(void);
/* Out of all regions, to the state before the outermost: after a line that left some open. */
void dl_autocast_reset(void);
bool dl_autocast_any(void);
/* The class of an op's row on a device type. */
dl_cast dl_autocast_class(dl_opid op, dl_devtype dev);

#endif
