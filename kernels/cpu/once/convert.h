/* convert.h -- conversion loops, for copy.c
 *
 * INVARIANT  Any pair of dtypes converts; equal dtypes are copied. */
#ifndef DL_CONVERT_LOOPS_H
#define DL_CONVERT_LOOPS_H

#include "base/convert.h"
#include "once.h"

typedef void (*dl_convert_fn)(char *d, int64_t ds, const char *s, int64_t ss, int64_t n);

/* n elements of dtype `st` at s into dtype `dt` at d; strides count elements. */
void dl_convert(dl_dtype dt, char *d, int64_t ds, dl_dtype st, const char *s, int64_t ss,
                int64_t n);

#endif
