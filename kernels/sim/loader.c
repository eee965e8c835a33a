/* loader.c -- a data loader in virtual time: workers, one pinning thread, batches in order
 *
 * For DataLoader's cost on a simulated GPU and for predictions. Discrete events, one batch at a
 * time: batch i is the work of worker i mod W, which has 2 W batches in hand; one thread pins what
 * arrives; the consumer takes batches in their order.
 *
 * INVARIANT  Times never go back; without workers the consumer does the work itself.
 * SOURCE     torch/utils/data/dataloader.py: _MultiProcessingDataLoaderIter, prefetch_factor 2. */
#include "state.h"

#include <string.h>

static double later(double a, double b) { return a > b ? a : b; }

void dl_sim_feed_start(dl_sim_feed *f, double now) {
  if (f->workers > DL_SIM_WORKERS) f->workers = DL_SIM_WORKERS;
  if (f->workers < 0) f->workers = 0;
  if (f->prefetch < 1) f->prefetch = 2;
  f->pin_free = now;
  f->batch = 0;
  for (int w = 0; w < DL_SIM_WORKERS; w++) f->free_at[w] = now + f->start_us;
  for (int i = 0; i < DL_SIM_TAKEN; i++) f->taken[i] = now;
}

double dl_sim_feed_next(dl_sim_feed *f, double now) {
  int64_t i = f->batch++;
  if (f->workers == 0) {
    now += f->item_us * (double)f->items + f->pin_us;
    return now;
  }
  int w = (int)(i % f->workers);
  int64_t ahead = (int64_t)f->workers * f->prefetch;
  if (ahead > DL_SIM_TAKEN) ahead = DL_SIM_TAKEN;
  double asked = i >= ahead ? f->taken[(i - ahead) % DL_SIM_TAKEN] : 0;
  double made = later(f->free_at[w], asked) + f->item_us * (double)f->items;
  f->free_at[w] = made;
  f->pin_free = later(f->pin_free, made) + f->pin_us;
  now = later(now, f->pin_free);
  f->taken[i % DL_SIM_TAKEN] = now;
  return now;
}

double dl_sim_loader_us(const dl_sim_feed *options, int64_t batches, double step_us) {
  dl_sim_feed f = *options;
  double now = 0;
  dl_sim_feed_start(&f, 0);
  for (int64_t i = 0; i < batches; i++) now = dl_sim_feed_next(&f, now) + step_us;
  return now;
}
