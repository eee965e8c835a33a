/* recorder.c -- where the run record hangs itself in
 *
 * See recorder.h. MUST NOT know what is recorded. */
#include "mem/recorder.h"

const dl_recorder *dl_recording;
