/* capture.h -- what a cell prints, as stream messages
 *
 * For kernel.c, execute.c and everything that publishes. stdout and stderr of this process become
 * streams that come here directly; descriptors 1 and 2, which child processes and libraries write
 * to, become pipes that a thread reads. Before each piece the pipes are emptied, so all pieces are
 * in the order in which they were written, whichever way they took.
 *
 * INVARIANT  Text waits at most 50 ms or 64 KiB. After dl_capture_sync everything written before is
 *            published. A cell's text is at most DL_CAPTURE_MAX; then one notice, then nothing.
 * MUST NOT   know Lua. */
#ifndef DL_JUPYTER_CAPTURE_H
#define DL_JUPYTER_CAPTURE_H

#include "json.h"

enum { DL_CAPTURE_MAX = 16 << 20 };

/* Redirect; before Lua starts, which keeps what stdout is then. */
bool dl_capture_open(void);
bool dl_capture_start(void);             /* the thread */
/* From now on text belongs to this request; the count begins anew. */
void dl_capture_parent(dl_slice header);
void dl_capture_sync(void);
void dl_capture_stop(void);

/* The terminal or log that standard error was, for the kernel's own words. */
int dl_capture_log(void);

#endif
