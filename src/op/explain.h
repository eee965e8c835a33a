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
#include "tensor/devmem.h"
#include "tensor/ledger.h"

enum { DL_HOLDERS = 64, DL_ADVICE = 8 };

/* Tensors made by one line of the user's program. */
typedef struct dl_holder {
  const char *source;            /* chunk name, NULL where nobody knows */
  const char *op;                /* of the largest of them */
  int line, count;
  uint32_t input;                /* of the session, as in dl_where */
  uint8_t role;                  /* of the largest */
  int64_t bytes, largest;        /* as the pool counts them */
  int transients;                /* how many are neither of the model nor of the optimizer */
  uint64_t first_step, last_step; /* of these: optimizer steps taken when they were made */
  int64_t old;                   /* bytes of these that are older than a step */
  int64_t saved, last_saved;     /* activations that ops of the pass under way made there */
} dl_holder;

/* A variable or table that keeps several passes alive: told by the binding, who alone can look. */
typedef struct dl_keeper {
  char path[120];                /* as the user would write it, "" = nobody */
  char place[80];                /* file:line that made the newest of it, or "" */
  int tensors;                   /* found there … */
  int graphs;                    /* … and how many separate graphs hang on them */
  int64_t bytes;                 /* that live because of it */
  int64_t retained;              /* of these: all but the newest pass */
} dl_keeper;

/* What the pass under way has made so far. */
typedef struct dl_pass {
  bool backward, step;           /* where it was; neither: going forward */
  int layers;                    /* tensors that ops made and the graph saved */
  int64_t grows, given, saved;   /* bytes; given: of these, made by no op */
  int64_t mixed, largest;        /* saved by half precision; of the largest activation */
  double rest;                   /* a whole forward pass is about so many times what was done */
} dl_pass;

typedef enum dl_verdict {
  DL_OOM_SIZE,                   /* what lives and what was asked exceed the card */
  DL_OOM_FRAGMENTATION,          /* free bytes would do, but they lie scattered */
  DL_OOM_RETENTION,              /* without what older passes left it would fit */
  DL_OOM_REFUSED,                /* there was room: the driver refused */
  DL_OOM_SEGMENT                 /* a free piece would do, but it is kept for other sizes */
} dl_verdict;
extern const char *const dl_verdict_name[]; /* "size", … */

/* What it takes: nothing, less work a step, another way of training. */
typedef enum dl_effort { DL_FREE, DL_LESS, DL_OTHER_WAY } dl_effort;
/* saves: of what lives now and was asked for; whole: of a whole step (guessed where the pass was
 * not through). */
typedef struct dl_advice { int64_t saves, whole; dl_effort effort; char text[320]; } dl_advice;

typedef struct dl_explanation {
  int64_t asked, live, capacity; /* capacity: what this process could have of the card */
  int64_t role[DL_ROLE_COUNT];
  int64_t workspace;             /* cuBLAS's; with the roles it adds up to live */
  int64_t holes, largest_hole;   /* free inside reserved segments */
  int64_t retained;              /* left by older passes, line by line or in the keeper */
  int reached, params;           /* parameters that the graph has met, of the trainable ones */
  int64_t whole;                 /* what a whole step may take: at least live + asked */
  dl_verdict verdict;
  dl_pass pass;
  dl_keeper keeper;
  int holders, advices;          /* largest first, least effort first */
  dl_holder holder[DL_HOLDERS];
  dl_advice advice[DL_ADVICE];
} dl_explanation;

/* Fills *e for a request of `asked` bytes on dev (0: nothing failed, just tell). */
void dl_explain(dl_pool *p, int dev, int64_t asked, dl_explanation *e);
/* Appends it to dl_err as notes: roles, holders, verdict, three things to try. */
void dl_explain_oom(dl_pool *p, int dev, size_t asked);
const dl_explanation *dl_last_oom(void);      /* what it said last; asked is 0 before the first */
/* The device of the out of memory that dl_err tells of, until somebody has looked for a keeper of
 * it; -1 afterwards, and after other errors. */
int dl_explain_pending(void);
/* Tells the same once more with what the binding found. */
void dl_explain_keeper(const dl_keeper *k, int dev);

/* Where the program is, told by the walk and by the optimizers: advice depends on it. */
extern int dl_phase_backward, dl_phase_step;
extern bool dl_phase_eval;     /* a model was put into evaluation last, not into training */

/* ---- between explain.c and advise.c --------------------------------------------------------- */
const char *dl_holder_place(const dl_holder *h, char *buf, size_t cap); /* "train.lua:12" */
/* Fills e->advice; worst: the line that left most in earlier steps, or NULL. */
void dl_advise(dl_explanation *e, const dl_holder *worst);

#endif
