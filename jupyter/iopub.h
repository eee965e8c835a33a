/* iopub.h -- everything the kernel tells all its clients goes out here, in one order
 *
 * For every thread. One queue, one thread that owns the XPUB socket. Packets leave in the order in
 * which they were pushed, whoever pushed them.
 *
 * INVARIANT  What waits (here and in libzmq for clients that read slowly) is counted; above
 *            DL_IOPUB_BACKLOG whoever has output waits while clients read on; where they do not,
 *            output is left out and the loss is told. Status messages are never left out.
 * MUST NOT   know Lua. */
#ifndef DL_JUPYTER_IOPUB_H
#define DL_JUPYTER_IOPUB_H

#include "wire.h"

enum { DL_IOPUB_BACKLOG = 64 << 20 };

typedef enum dl_weight {
  DL_MUST,   /* status, input, error: always sent */
  DL_MAY     /* output: left out when nobody keeps up */
} dl_weight;

bool dl_iopub_start(void *xpub); /* takes the socket */
/* Sign and queue; takes p (NULL is passed over). */
void dl_iopub_push(dl_packet *p, dl_weight w);
/* "busy" or "idle" */
void dl_iopub_status(const char *state, dl_slice parent);
/* Wait until everything has left this process, so many milliseconds at most. */
void dl_iopub_drain(int ms);
void dl_iopub_stop(void);        /* ends the thread, closes the socket */

#endif
