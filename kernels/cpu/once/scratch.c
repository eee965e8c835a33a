/* scratch.c -- working memory for kernels, from the one pool
 *
 * INVARIANT  Threads of a parallel region may ask at the same time; the rest of the engine
 *            allocates from the main thread alone.
 * MUST NOT   keep memory. */
#include "once.h"

#include <omp.h>

dl_status dl_scratch(size_t nbytes, void **out) {
  if (!omp_in_parallel()) return dl_host_alloc(nbytes, out);
  dl_status st;
#pragma omp critical(dl_scratch)
  st = dl_host_alloc(nbytes, out);
  return st;
}

void dl_scratch_free(void *p, size_t nbytes) {
  if (!omp_in_parallel()) {
    dl_host_free(p, nbytes);
    return;
  }
#pragma omp critical(dl_scratch)
  dl_host_free(p, nbytes);
}
