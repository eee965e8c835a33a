/* sim.h -- the simulated GPU: cards, and the driver that stands for them
 *
 * For the binding (dlrepl.simulate) and tests. Everything else reaches it through driver.h.
 *
 * INVARIANT  Same program, same card: the same microseconds, bytes and errors, on any machine.
 * MUST NOT   know tensors or Lua. */
#ifndef DL_SIM_H
#define DL_SIM_H

#include "mem/driver.h"

/* One figure of a card, with where it comes from. */
typedef struct dl_figure {
  const char *field, *unit, *kind, *source, *date, *confidence; /* kind: spec, measured … */
  double value;                  /* NAN: unknown */
} dl_figure;
typedef struct dl_card dl_card;  /* a profile: a name and its figures */

const dl_card *dl_card_find(const char *name);       /* "t4", "a100-80" …; NULL: none */
const dl_card *dl_card_at(int i);                    /* NULL past the end */
const char *dl_card_name(const dl_card *c);          /* "t4" */
const char *dl_card_title(const dl_card *c);         /* "Tesla T4" */
const dl_figure *dl_card_figure(const dl_card *c, const char *field);
const dl_figure *dl_card_figure_at(const dl_card *c, int i);
/* A copy to change: base NULL starts from nothing. Owned; freed when simulation ends or by
 * dl_card_free. An unknown field, a wrong unit or an absurd value is an error. */
dl_status dl_card_copy(const dl_card *base, const char *name, const char *title, dl_card **out);
dl_status dl_card_set(dl_card *c, const dl_figure *f);
void dl_card_free(dl_card *c);
/* The checks of a profile against itself (dense peaks, bf16 in {fp16, none} …). */
dl_status dl_card_lint(const dl_card *c);

typedef struct dl_sim_options {
  const dl_card *card[16];
  int count;                     /* 1..16 GPUs */
  bool compute;                  /* false: dry run */
  int64_t memory;                /* bytes of each card, 0: the card's own */
  int64_t host_budget;           /* bytes of this machine for values, 0: what it can give */
  double host_us_per_op;         /* 0: the card file's */
} dl_sim_options;
/* Whether such a simulation could be opened; opens nothing. */
dl_status dl_sim_lint(const dl_sim_options *o);
/* Open the simulated driver. One at a time: close first. */
dl_status dl_sim_open(const dl_sim_options *o, const dl_driver **out);
void dl_sim_close(void);
/* Faults on demand: the n-th mem_new or page_map from now fails and so many after it (the ladder to
 * out of memory asks more than once); 0: none. The device falls off the bus. */
void dl_sim_refuse(int dev, int64_t nth, int64_t times);
void dl_sim_lose(int dev);
/* The host did something that took us microseconds (data loading, sleep). */
void dl_sim_host_work(double us);
/* A process that was forked off one with the driver open gets PyTorch's error from every call. For
 * one of one thread whose children are meant to go on where it was (the judge): what was
 * simulated is plain memory of this process, so its copy is whole. */
void dl_sim_adopt(void);

/* What a device has done since it was opened. Utilisation as nvidia-smi means it is
 * busy_us / elapsed_us; MFU is peak_us / elapsed_us. Microseconds, FLOPs, bytes, counts. */
typedef struct dl_sim_report {
  double elapsed_us, busy_us;    /* busy: some kernel ran */
  double peak_us;                /* what the same FLOPs take at the card's peak */
  double copy_us, wait_us;       /* copies under way; the host waiting for the device */
  double flops, bytes, h2d_bytes, d2h_bytes;
  double low_us, high_us;        /* the kernels' time with each error band taken low and high */
  int64_t kernels, copies, syncs, mallocs, frees;
} dl_sim_report;
int dl_sim_look(int dev, dl_sim_report *out);        /* a CUDA error number */

/* A data loader in virtual time. Set the first group, start, then ask for batch after batch: the
 * answer is when the consumer, at `now`, has it. Microseconds. */
enum { DL_SIM_WORKERS = 64, DL_SIM_TAKEN = 256 };
typedef struct dl_sim_feed {
  int workers;                   /* 0: the consumer loads */
  int prefetch;                  /* batches in hand a worker; 0: 2 */
  int64_t items;                 /* of a batch */
  double item_us, pin_us;        /* of an item; of pinning a batch */
  double start_us;               /* until the workers are there */
  double free_at[DL_SIM_WORKERS], taken[DL_SIM_TAKEN], pin_free;
  int64_t batch;
} dl_sim_feed;
#define DL_SIM_WORKERS_START 310000.0 /* us, fitted on the published sweep (docs) */
void dl_sim_feed_start(dl_sim_feed *f, double now);
double dl_sim_feed_next(dl_sim_feed *f, double now);
/* The whole run: so many batches, each followed by a step of step_us. */
double dl_sim_loader_us(const dl_sim_feed *f, int64_t batches, double step_us);

/* How far off a predicted time may honestly be, by what a kernel does: it lies between
 * us / (1 + band) and us * (1 + band). */
enum { DL_BAND_PRODUCT, DL_BAND_ELEMENT, DL_BAND_ROWS, DL_BAND_CONV, DL_BAND_START,
       DL_BAND_COUNT };
typedef struct dl_sim_band { const char *of; double band; } dl_sim_band;
extern const dl_sim_band dl_sim_bands[DL_BAND_COUNT];

/* What the clock says of an op, for tables and predictions: FLOPs, bytes moved, microseconds on the
 * device, and the band around it that is honest (0.15 = plus or minus 15 %). */
typedef struct dl_sim_time {
  double flops, bytes, us, band;
  double part; /* of the SMs that it keeps busy: what is left runs other streams */
} dl_sim_time;
dl_sim_time dl_sim_cost(const dl_card *c, const struct dl_kcall *k);

#endif
