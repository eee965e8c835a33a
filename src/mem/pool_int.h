/* pool_int.h -- what the files of the pool share: its records, its ordered set, its steps
 *
 * For src/mem/pool*.c only. A segment is one piece of memory from the driver; its chunks tile it,
 * linked in address order. Free chunks are also in an ordered set by stream, size, address: the
 * first that is large enough is the best fit. An expandable segment is a range of addresses with
 * memory behind some pages of it; a chunk without memory is "unmapped" and in a set by address.
 *
 * INVARIANT  A chunk is in a set exactly when it is not used and waits for no event.
 * MUST NOT   be included by anyone else. */
#ifndef DL_POOL_INT_H
#define DL_POOL_INT_H

#include "mem/gpu.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)
enum { MIN_BLOCK = 512 };             /* bytes; every size is a multiple */
#define SMALL_SIZE (1 * MIB)          /* requests up to here come from the small part */
#define SMALL_SEGMENT (2 * MIB)
#define MIN_LARGE (10 * MIB)          /* from here on a request has a segment of its own size */
#define ROUND_LARGE (2 * MIB)

typedef struct dl_segment dl_segment;

/* A stream that uses a chunk; once the chunk is freed, an event on that stream to wait for. */
typedef struct dl_use {
  struct dl_use *next;
  dl_stream stream;
  dl_event *event;
  dl_chunk *chunk;
} dl_use;

struct dl_chunk {
  dl_chunk *up, *left, *right;        /* in its set */
  dl_chunk *prev, *next;              /* neighbours in the segment */
  dl_segment *seg;
  dl_stream stream;
  char *addr;
  int64_t bytes, requested;
  dl_use *uses;                       /* other streams, while handed out */
  int64_t born;                       /* look-ups in its part when it became free */
  uint32_t prio;                      /* the set is a treap: a heap by this */
  int32_t events;                     /* still to wait for */
  bool used, mapped;
};

struct dl_segment {
  dl_pool *pool;                      /* NULL: abandoned, chunks are only to be freed */
  dl_segment *prev, *next;            /* the pool's segments, in no order */
  dl_chunk *first;
  char *addr;
  int64_t bytes, page;                /* page: of an expandable one */
  int64_t orphans;                    /* chunks still handed out when it was abandoned */
  uint8_t part;                       /* DL_POOL_SMALL or DL_POOL_LARGE */
  bool expandable, direct;            /* direct: no caching, counted nowhere */
};

typedef struct dl_set {
  dl_chunk *root;
  bool by_address;                    /* stream, address; else stream, size, address */
} dl_set;

typedef struct dl_part {
  dl_set free, unmapped;
  int64_t lookups;                    /* counted while garbage collection by age is on */
} dl_part;

struct dl_pool {
  const dl_driver *drv;
  int dev;
  dl_props props;
  dl_part part[DL_POOL_PARTS];        /* [DL_POOL_ALL] unused */
  dl_segment *segments;
  dl_use *waiting, **waiting_end;     /* events of freed chunks, oldest first */
  dl_chunk *spare;                    /* so that a split never fails half-way */
  int64_t allowed;                    /* bytes; -1 without a limit */
  double fraction;
  dl_pool_stats stats;
};

typedef struct dl_request {
  int64_t asked, bytes, segment;      /* bytes: rounded; segment: what the driver would be asked */
  dl_stream stream;
  uint8_t part;
  bool counted, refused;              /* by dl_pool_refuse_at */
} dl_request;

static inline void dl_pool_tell(const dl_pool *p, dl_pool_event what, const void *addr,
                                int64_t bytes, dl_stream s) {
  if (dl_pool_trace) dl_pool_trace(p->dev, what, (uint64_t)(uintptr_t)addr, bytes, s);
}

/* pool_set.c */
void dl_set_add(dl_set *s, dl_chunk *c);
void dl_set_remove(dl_set *s, dl_chunk *c);
/* `now` for `old`, which is in the set: in its place where the order allows. */
void dl_set_swap(dl_set *s, dl_chunk *old, dl_chunk *now);
/* The first of a stream with at least so many bytes, or what comes after. */
dl_chunk *dl_set_from(const dl_set *s, dl_stream stream, int64_t bytes);
dl_chunk *dl_set_first(const dl_set *s);
dl_chunk *dl_set_last(const dl_set *s);
dl_chunk *dl_set_after(const dl_chunk *c);                     /* of a chunk in the set */
dl_chunk *dl_set_before(const dl_chunk *c);

/* pool.c */
static inline bool dl_chunk_idle(const dl_chunk *c) { return !c->used && c->events == 0; }
static inline bool dl_chunk_split(const dl_chunk *c) { return c->prev || c->next; }
dl_chunk *dl_chunk_new(dl_pool *p);            /* the spare one or a fresh one; NULL when refused */
void dl_chunk_drop(dl_pool *p, dl_chunk *c);
/* An idle chunk in no set takes in its neighbours that are idle and as mapped as it is, and goes to
 * its set. How many it took in, and their bytes. */
int dl_chunk_settle(dl_pool *p, dl_chunk *c, int64_t *gained);
dl_segment *dl_segment_new(dl_pool *p, int64_t bytes, int part, dl_stream s, dl_chunk **first);
void dl_segment_drop(dl_pool *p, dl_segment *seg);
dl_status dl_pool_host_short(void);

/* pool_free.c: going back to the driver. All return the driver's error. */
int dl_segment_release(dl_pool *p, dl_chunk *c);
int dl_pool_flush(dl_pool *p);
int dl_pool_collect_old(dl_pool *p);           /* garbage_collection_threshold */
int dl_pool_release_oversize(dl_pool *p, const dl_request *r, bool *enough);
int dl_pool_poll_events(dl_pool *p, bool wait);
void dl_pool_await(dl_pool *p, dl_chunk *c);   /* an event for each stream that uses c */
void dl_pool_give_back(dl_pool *p, dl_chunk *c); /* c is free now: merge, and into the set */

/* pool_expand.c */
int dl_expand(dl_pool *p, const dl_request *r, dl_chunk **out);
int dl_unexpand(dl_pool *p, int part);         /* unmap what lies in free chunks */

/* pool_oom.c */
dl_status dl_pool_out_of_memory(dl_pool *p, const dl_request *r);

/* pool_stats.c */
static inline void dl_stat_up(dl_stat *s, int64_t n) {
  s->current += n;
  s->allocated += n;
  if (s->current > s->peak) s->peak = s->current;
}
static inline void dl_stat_down(dl_stat *s, int64_t n) {
  s->current -= n;
  s->freed += n;
}
/* In the whole and in one part. */
static inline void dl_stats_up(dl_stat s[3], int part, int64_t n) {
  dl_stat_up(&s[DL_POOL_ALL], n);
  dl_stat_up(&s[part], n);
}
static inline void dl_stats_down(dl_stat s[3], int part, int64_t n) {
  dl_stat_down(&s[DL_POOL_ALL], n);
  dl_stat_down(&s[part], n);
}
static inline void dl_stats_move(dl_stat s[3], int part, int64_t n) {
  if (n > 0) dl_stats_up(s, part, n);
  if (n < 0) dl_stats_down(s, part, -n);
}

#endif
