/* once.h -- what the files of kernels/cpu/once share; nobody else includes it
 *
 * INVARIANT  These files are compiled once, for the plainest CPU. */
#ifndef DL_ONCE_H
#define DL_ONCE_H

#include "kernel.h"

typedef void (*dl_piece_fn)(void *ctx, int64_t lo, int64_t hi);

/* dl_parallel for work that must finish once begun: an interrupt waits. */
void dl_parallel_whole(int64_t n, int64_t grain, dl_piece_fn fn, void *ctx);
/* The same for n large pieces: whoever is free takes the next one, so a thread that lost its CPU
 * holds up one piece and not its share. */
void dl_parallel_each(int64_t n, dl_piece_fn fn, void *ctx);

#endif
