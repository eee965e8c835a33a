/* state.h -- the simulated machine: what the files of kernels/sim share, and nobody else sees
 *
 * One process has one machine: up to 16 cards, one host clock. Times are microseconds since it was
 * opened, in double arithmetic without fused steps, so that they are the same everywhere.
 *
 * INVARIANT  A device address is the host address with bit 62 set; behind it lies the device's
 *            arena, in pages of 2 MiB, and d->page[] says of each what it is.
 *            host_us never goes back; a queue's tail never goes back.
 * MUST NOT   know tensors or Lua. */
#ifndef DL_SIM_STATE_H
#define DL_SIM_STATE_H

#include "kernel.h"
#include "sim.h"

#define DL_SIM_MAX 16
#define DL_SIM_RUNNING 32        /* kernels of several streams that are looked at together */
#define DL_SIM_BIT ((uintptr_t)1 << 62)
#define DL_SIM_SHIFT 21
#define DL_SIM_PAGE ((size_t)1 << DL_SIM_SHIFT)

/* What a page of the arena is; one that can be used has PAGE_HAS and, once touched, PAGE_HOST. */
enum { PAGE_TAKEN = 1, PAGE_HAS = 2, PAGE_HOST = 4 };

/* A card's figures in the units of the clock: microseconds, FLOPs and bytes a microsecond. */
typedef struct dl_rates {
  double peak[DL_DTYPE_COUNT];   /* FLOPs a microsecond of matrix products in a dtype */
  double tf32, simt;             /* of fp32 products on tensor cores, and outside them */
  double bw, l2_bw, l2_bytes;
  double gemm_share, gemm_start, memory_share, conv_share, reduce_share, row_share;
  double kernel_start, launch_delay, op_host, copy_host, sync_host, malloc_host, free_host;
  double h2d_pinned, d2h_pinned, h2d_pageable, d2h_pageable, copy_start, peer;
  double sms;
  int queue;                     /* launches that a stream holds */
  bool tensor_cores;
} dl_rates;

typedef struct dl_queue {        /* a stream */
  bool used;
  double tail;                   /* when all that it was given is done */
  double *start;                 /* when each of the last rates.queue entries starts */
  int64_t count;
} dl_queue;

typedef struct dl_simdev {
  dl_props props;
  dl_rates rate;
  const dl_card *card;
  char *arena;                   /* host address, PROT_NONE where nothing was touched */
  size_t pages;
  uint8_t *page;
  int64_t bytes_used;            /* memory handed out, in whole pages */
  dl_queue *queue;
  int nqueue;
  int streams;                   /* queues in use */
  struct { double end, part; } running[DL_SIM_RUNNING]; /* kept with more than one stream */
  int nrunning;
  double h2d_free, d2h_free;     /* copy engines */
  int error;                     /* the context's standing error */
  int pending;                   /* an error that the host has not met yet */
  char why[256];                 /* the kernel's own words about it */
  int64_t refuse, refuse_times;  /* the n-th allocation from now fails, and so many in all */
  dl_sim_report report;
  double busy_until;
} dl_simdev;

typedef struct dl_simstate {
  bool open, dry, forked, blocking; /* blocking: CUDA_LAUNCH_BLOCKING=1 */
  bool tf32_matmul, tf32_conv;
  int count;
  double host_us;
  int64_t committed, budget;     /* bytes of this machine behind touched pages */
  dl_simdev dev[DL_SIM_MAX];
} dl_simstate;
extern dl_simstate dl_sim;

struct dl_event {
  dl_event *next, **at_me;       /* all events, so that closing frees those that nobody did */
  int dev;
  bool timing, recorded;
  double at;
};
void dl_sim_events_free(void);

const dl_driver *dl_sim_driver(bool dry);
double dl_card_value(const dl_card *c, const char *field);  /* NAN when unknown */
/* The device, or why not: DL_CU_ORDINAL, a standing error, DL_CU_RAISED in a forked child. */
int dl_sim_enter(int dev, dl_simdev **out);
/* The host waits until t; what arrived by then is delivered, a pending error becomes standing. */
int dl_sim_wait(dl_simdev *d, double t);
/* Put work of us microseconds on a queue, for a part of the SMs. Gives its end. */
int dl_sim_enqueue(dl_simdev *d, dl_stream s, double us, double part, double *end);
int dl_sim_queue_of(dl_simdev *d, dl_stream s, dl_queue **out);
double dl_sim_all_done(const dl_simdev *d);   /* when the device is idle */
void dl_sim_busy(dl_simdev *d, double start, double end);

/* The host bytes behind n bytes at device address p, ready to be used; DL_CU_ILLEGAL when they are
 * not this device's, DL_CU_RAISED when the host is short. In a dry run nothing is made ready. */
int dl_sim_reach(dl_simdev *d, const void *p, size_t n, char **host);
int dl_sim_arena_new(dl_simdev *d);
void dl_sim_arena_free(dl_simdev *d);
void dl_sim_arena_clear(dl_simdev *d);

/* Copies to the host that have not arrived. */
void dl_sim_deliver(void);
void dl_sim_forget_copies(int dev);           /* of a device; -1: all */
bool dl_sim_copies_pending(void);

void dl_sim_rates(const dl_card *c, dl_rates *out);
/* FLOPs, bytes, microseconds and band of a call, of a strided copy. */
dl_sim_time dl_sim_price(const dl_rates *r, const dl_kcall *k);
dl_sim_time dl_sim_copy_time(const dl_rates *r, const dl_view *to, const dl_view *from);
/* What a product's FLOPs take at the card's peak; 0 for other calls. */
double dl_sim_peak_us(const dl_rates *r, const dl_kcall *k, double flops);

/* The rows of driver.c's table, by file. */
int dl_sim_mem_info(int dev, size_t *free_bytes, size_t *total_bytes);
int dl_sim_mem_new(int dev, size_t n, void **out);
int dl_sim_mem_free(int dev, void *p, size_t n);
int dl_sim_va_new(int dev, size_t n, void **out);
int dl_sim_va_free(int dev, void *p, size_t n);
int dl_sim_page_map(int dev, void *p, size_t n);
int dl_sim_page_unmap(int dev, void *p, size_t n);
int dl_sim_pinned_new(size_t n, void **out);
int dl_sim_pinned_free(void *p, size_t n);

int dl_sim_stream_new(int dev, int priority, dl_stream *out);
int dl_sim_stream_free(int dev, dl_stream s);
int dl_sim_stream_query(int dev, dl_stream s);
int dl_sim_stream_sync(int dev, dl_stream s);
int dl_sim_stream_wait(int dev, dl_stream s, dl_event *e);
int dl_sim_device_sync(int dev);
int dl_sim_event_new(int dev, bool timing, dl_event **out);
int dl_sim_event_free(dl_event *e);
int dl_sim_event_record(dl_event *e, dl_stream s);
int dl_sim_event_query(dl_event *e);
int dl_sim_event_sync(dl_event *e);
int dl_sim_event_elapsed(dl_event *from, dl_event *to, double *ms);

int dl_sim_copy(const dl_copy *c, dl_stream s);
int dl_sim_fill(int dev, void *p, int byte, size_t n, dl_stream s);
const void *dl_sim_peek(int dev, const void *p, size_t n);
/* The card's own kernel of an op that draws random numbers; NULL for all others. */
dl_kernel_fn dl_sim_random(dl_opid op);
int dl_sim_launch(int dev, dl_stream s, dl_kcall *k);
int dl_sim_copy_view(int dev, dl_stream s, const void *dst_view, const void *src_view);

#endif
