/* reduce.h -- folding the reduced dimensions of a view into one state an output
 *
 * For reduce_*.c. A fold is a handful of functions over states; reduce.c brings it the elements:
 * runs along a reduced dimension (`row`), or rows of neighbouring outputs (`cols`), converted to
 * the compute dtype where need be, in parallel.
 *
 * INVARIANT  The order in which elements are folded depends on sizes and strides alone, never on
 * the number of threads. MUST NOT   know which op it serves. */
#ifndef DL_REDUCE_H
#define DL_REDUCE_H

#include "kernel.h"
#include "math32.h"

typedef struct red_job red_job;

/* A state is two parallel arrays, a[] and b[], one entry an output (b may have size 0). */
typedef struct red_fold {
  size_t asize, bsize;           /* bytes an entry */
  bool ordered;                  /* elements come in row-major order of the reduced dims */
  void (*start)(void *a, void *b, int64_t n);
  /* n elements `stride` apart into one state; `at`: reduced index of the first, `done`: how many
   * elements this state has seen */
  void (*row)(const red_job *j, void *a, void *b, const void *p, int64_t stride, int64_t n,
              int64_t at, int64_t done);
  /* nr rows `rs` apart of n contiguous elements into n states */
  void (*cols)(const red_job *j, void *a, void *b, const void *p, int64_t rs, int64_t nr, int64_t n,
               int64_t at, int64_t done);
  /* fold the state (a2, b2) of n2 later elements into (a, b) of n1 */
  void (*merge)(void *a, void *b, const void *a2, const void *b2, int64_t n1, int64_t n2);
  /* results k .. k+n from n states of `count` elements */
  void (*finish)(const red_job *j, const void *a, const void *b, int64_t k, int64_t n);
} red_fold;

struct red_job {
  const dl_kcall *c;
  const red_fold *fold;
  int compute;                   /* dtype the fold reads */
  double par;                    /* a number of the op: p of a norm, correction of a variance */
  const char *data;
  int dtype;
  int nk, nr;                    /* kept and reduced dims after merging, row-major */
  int64_t ksize[DL_MAXDIM], kstride[DL_MAXDIM], rsize[DL_MAXDIM], rstride[DL_MAXDIM];
  int64_t nout, count;           /* outputs; elements folded into each */
  int64_t width;                 /* outputs handled together (1: rows) */
  int64_t chunk, nchunk;         /* reduced elements a piece of work; pieces */
  char *parts;                   /* states of the pieces, nchunk > 1 */
};

/* Fold in[0] of the call over c->dims. */
dl_status DL_K(dl_reduce)(dl_kcall *c, const red_fold *fold, int compute, double par);
/* The job alone: merged dims, for kernels with loops of their own. */
void DL_K(dl_reduce_plan)(red_job *j, const dl_kcall *c, bool ordered);
/* Store n numbers of dtype `from` as results k.. of out[o] (contiguous). */
void DL_K(dl_reduce_store)(const red_job *j, int o, int from, const void *v, int64_t k, int64_t n);

#endif
