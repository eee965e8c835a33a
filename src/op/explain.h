/* explain.h -- what to say when a GPU is out of memory
 *
 * For the binding, which installs dl_explain_oom as the pool's dl_pool_explain, and for whoever
 * prints reports. Reads the list of tensors on devices (devmem.h) and the ledger's roles.
 *
 * INVARIANT  Allocates nothing and changes nothing but dl_err.notes.
 * MUST NOT   know Lua. */
#ifndef DL_EXPLAIN_H
#define DL_EXPLAIN_H

#include "mem/pool.h"
#include "tensor/ledger.h"

enum { DL_HOLDERS = 64, DL_ADVICE = 8 };

/* Tensors made by one line of the user's program. */
typedef struct dl_holder {
  const char *source;            /* chunk name, NULL where nobody knows */
  const char *op;                /* of the largest of them */
  int line, count;
  uint8_t role;                  /* of the largest */
  int64_t bytes, largest;        /* as the pool counts them */
  int transients;                /* how many are neither of the model nor of the optimizer */
  uint64_t first_step, last_step; /* of these: optimizer steps taken when they were made */
  int64_t old;                   /* bytes of these that are older than a step */
  int64_t saved, last_saved;     /* activations that ops of the pass under way made there */
} dl_holder;

typedef enum dl_verdict {
  DL_OOM_SIZE,                   /* what lives and what was asked exceed the card */
  DL_OOM_FRAGMENTATION,          /* free bytes would do, but they lie scattered */
  DL_OOM_RETENTION,              /* without what older steps left it would fit */
  DL_OOM_REFUSED                 /* there was room: the driver refused */
} dl_verdict;

/* What it takes: nothing, less work a step, another way of training. */
typedef enum dl_effort { DL_FREE, DL_LESS, DL_OTHER_WAY } dl_effort;
typedef struct dl_advice { int64_t saves; dl_effort effort; char text[200]; } dl_advice;

typedef struct dl_explanation {
  int64_t asked, live, capacity; /* capacity: what this process could have of the card */
  int64_t role[DL_ROLE_COUNT];
  int64_t workspace;             /* cuBLAS's; with the roles it adds up to live */
  int64_t holes, largest_hole;   /* free inside reserved segments */
  int64_t retained;              /* left by older steps, line by line again and again */
  dl_verdict verdict;
  int holders, advices;          /* largest first, least effort first */
  dl_holder holder[DL_HOLDERS];
  dl_advice advice[DL_ADVICE];
} dl_explanation;

/* Fills *e for a request of `asked` bytes on dev (0: nothing failed, just tell). */
void dl_explain(dl_pool *p, int dev, int64_t asked, dl_explanation *e);
/* Appends it to dl_err as notes: roles, holders, verdict, three things to try. */
void dl_explain_oom(dl_pool *p, int dev, size_t asked);
const dl_explanation *dl_last_oom(void);      /* what it said last; asked is 0 before the first */

/* Where the program is, told by the walk and by the optimizers: advice depends on it. */
extern int dl_phase_backward, dl_phase_step;

#endif
