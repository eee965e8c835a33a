/* record_in.h -- between record.c, record_run.c, record_seen.c, record_wide.c */
#ifndef DL_RECORD_IN_H
#define DL_RECORD_IN_H

#include "op/record.h"

extern dl_record *dl_rec;
extern int dl_rec_backward, dl_rec_stepping;
extern int dl_rec_loading;         /* loaders whose batch is waited for, one within the other */
int64_t dl_rec_now(void);          /* nanoseconds, monotonic */

/* Room for entry n of a list from malloc; `list` is the address of the pointer. */
bool dl_rec_grow(void *list, int64_t *cap, int64_t n, size_t size);
dl_rec_param *dl_rec_param_of(const dl_tensor *t); /* made on demand; NULL: no memory */
size_t dl_rec_bytes(const dl_tensor *t);
bool dl_rec_can_read(const dl_tensor *t);          /* without waiting for a device */
void *dl_rec_snapshot(dl_tensor *t);               /* from malloc */
/* Norm of a - b; b NULL = 0. */
double dl_rec_distance(dl_dtype d, int64_t n, const char *a, const char *b);

double dl_rec_clock(void); /* microseconds of a simulated GPU's host clock, 0 without one */

/* What op gives when nothing is rounded to 16 bits: its first result in float32, or NULL where that
 * cannot be told. Changes nothing, counts nothing. Owned. */
dl_tensor *dl_rec_wide(dl_opid op, const dl_arg *arg, unsigned flags);
/* How many values rounding took away: into e. narrow: the result itself. */
void dl_rec_losses(const dl_tensor *wide, const dl_tensor *narrow, dl_rec_op *e);

#endif
