/* driver.c -- the simulated driver: opening it, what a card says of itself, and the table
 *
 * For gpu.c through driver.h, and for the binding through sim.h.
 *
 * INVARIANT  One simulated machine at a time. A child that was forked off gets PyTorch's error.
 * MUST NOT   pretend: every name ends in [SIMULATED]. */
#include "state.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dl_simstate dl_sim;

/* ---- entering ---- */
void dl_sim_adopt(void) { dl_sim.forked = false; }

static void mark_child(void) {
  if (dl_sim.open) dl_sim.forked = true;
}

static int forked_error(void) {
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you "
          "must use the 'spawn' start method");
  dl_note("this process was forked off one that had the simulated GPU open; start it afresh");
  return DL_CU_RAISED;
}

int dl_sim_enter(int dev, dl_simdev **out) {
  if (dl_sim.forked) return forked_error();
  if (!dl_sim.open) return DL_CU_NO_DEVICE;
  if (dev < 0 || dev >= dl_sim.count) return DL_CU_ORDINAL;
  *out = &dl_sim.dev[dev];
  return (*out)->error;
}

/* ---- figures into rates ---- */
static double value(const dl_card *c, const char *field, double otherwise) {
  double v = dl_card_value(c, field);
  return isnan(v) ? otherwise : v;
}

/* 1 GB/s is 1e3 bytes a microsecond, 1 TFLOP/s is 1e6 FLOPs a microsecond. */
static void copy_rates(const dl_card *c, dl_rates *r) {
  r->h2d_pinned = value(c, "h2d_pinned", 12) * 1e3;
  r->d2h_pinned = value(c, "d2h_pinned", r->h2d_pinned / 1e3) * 1e3;
  r->h2d_pageable = value(c, "h2d_pageable", r->h2d_pinned * 0.65 / 1e3) * 1e3;
  r->d2h_pageable = value(c, "d2h_pageable", r->d2h_pinned * 0.4 / 1e3) * 1e3;
  r->copy_start = value(c, "copy_start", 10);
  r->peer = value(c, "nvlink", 0) / 2 * value(c, "peer_share", 0.8) * 1e3;
}

void dl_sim_rates(const dl_card *c, dl_rates *r) {
  memset(r, 0, sizeof *r);
  r->simt = value(c, "fp32", 1) * 1e6;
  r->tf32 = value(c, "cc", 0) >= 8 ? value(c, "tf32", 0) * 1e6 : 0;
  for (int d = 0; d < DL_DTYPE_COUNT; d++) r->peak[d] = r->simt;
  r->peak[DL_F64] = value(c, "fp64", value(c, "fp32", 1) / 32) * 1e6;
  r->peak[DL_F16] = value(c, "fp16", value(c, "fp32", 1)) * 1e6;
  r->peak[DL_BF16] = value(c, "bf16", value(c, "fp32", 1)) * 1e6;
  r->tensor_cores = !isnan(dl_card_value(c, "fp16"));
  r->bw = value(c, "bandwidth", 100) * 1e3;
  r->l2_bw = value(c, "l2_bandwidth", value(c, "bandwidth", 100)) * 1e3;
  r->l2_bytes = value(c, "l2", 1) * 1e6;
  r->gemm_share = value(c, "gemm_share", 1);
  r->gemm_start = value(c, "gemm_start", 0);
  r->memory_share = value(c, "memory_share", 1);
  r->conv_share = value(c, "conv_share", 1);
  r->reduce_share = value(c, "reduce_share", 1);
  r->row_share = value(c, "row_share", 1);
  r->kernel_start = value(c, "kernel_start", 2);
  r->launch_delay = value(c, "launch_delay", 2);
  r->op_host = value(c, "op_host", 10);
  r->copy_host = value(c, "copy_host", 5);
  r->sync_host = value(c, "sync_host", 5);
  r->malloc_host = value(c, "malloc_host", 100);
  r->free_host = value(c, "free_host", 50);
  r->sms = value(c, "sm_count", 1);
  r->queue = (int)value(c, "queue", 1024);
  copy_rates(c, r);
}

static void fill_props(const dl_card *c, const dl_sim_options *o, int dev, dl_props *p) {
  double cc = value(c, "cc", 7.5);
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "%.66s [SIMULATED]", dl_card_title(c));
  p->major = (int)cc;
  p->minor = (int)(cc * 10 + 0.5) - p->major * 10;
  p->sm_count = (int)value(c, "sm_count", 1);
  p->warp_size = 32;
  p->max_threads_per_sm = (int)value(c, "threads_per_sm", 1024);
  p->total_memory = o->memory ? o->memory : (int64_t)value(c, "memory", 0);
  p->context_bytes = (int64_t)(value(c, "context", 0) * 1048576.0);
  p->l2_bytes = (int64_t)(value(c, "l2", 0) * 1048576.0);
  p->shared_per_sm = (int64_t)value(c, "shared_per_sm", 64) * 1024;
  p->shared_per_block = 48 * 1024;
  p->shared_per_block_optin = (int64_t)value(c, "shared_per_block", 48) * 1024;
  p->regs_per_sm = (int64_t)value(c, "registers_per_sm", 65536);
  p->clock_khz = (int)(value(c, "clock", 0) * 1000);
  p->memory_clock_khz = (int)(value(c, "memory_clock", 0) * 1000);
  p->bus_bits = (int)value(c, "bus", 0);
  snprintf(p->uuid, sizeof p->uuid, "51510000-0000-4000-8000-%012d", dev);
}

/* ---- opening and closing ---- */
#define LEAST_BYTES ((int64_t)8 << 20) /* of a card: a context and a small and a large segment */

dl_status dl_sim_lint(const dl_sim_options *o) {
  if (o->count < 1 || o->count > DL_SIM_MAX)
    return dl_fail(DL_ValueError, DL_E_ARGUMENT, "1 to %d GPUs can be simulated, not %d",
                   DL_SIM_MAX, o->count);
  if (o->memory < 0 || (o->memory && o->memory < LEAST_BYTES))
    return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                   "a simulated card has at least %lld MiB of memory, not %lld bytes",
                   (long long)(LEAST_BYTES >> 20), (long long)o->memory);
  if (o->memory > (int64_t)1 << 43)
    return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                   "a simulated card has at most 8192 GiB of memory, not %lld bytes",
                   (long long)o->memory);
  for (int i = 0; i < o->count; i++) {
    if (!o->card[i]) return dl_fail(DL_ValueError, DL_E_ARGUMENT, "GPU %d has no card", i);
    DL_TRY(dl_card_lint(o->card[i]));
  }
  return DL_OK;
}

static dl_status open_device(const dl_sim_options *o, int i) {
  dl_simdev *d = &dl_sim.dev[i];
  dl_stream zero;
  memset(d, 0, sizeof *d);
  d->card = o->card[i];
  fill_props(d->card, o, i, &d->props);
  if (o->memory && d->props.context_bytes > o->memory / 4) d->props.context_bytes = 0;
  dl_sim_rates(d->card, &d->rate);
  if (o->host_us_per_op > 0) d->rate.op_host = o->host_us_per_op;
  if (dl_sim_arena_new(d) != DL_CU_OK) return dl_err.kind;
  return dl_sim_stream_new(i, 0, &zero) == DL_CU_OK ? DL_OK : dl_err.kind;
}

static int64_t room(void) {
  if (!dl_mem.cap_bytes) dl_mem_init();
  return dl_mem.cap_bytes;
}

dl_status dl_sim_open(const dl_sim_options *o, const dl_driver **out) {
  static bool hooked;
  *out = NULL;
  if (dl_sim.open) {
    dl_fail(DL_RuntimeError, DL_E_DEVICE, "a GPU is simulated already");
    dl_note("dlrepl.simulate(false) ends it");
    return dl_err.kind;
  }
  DL_TRY(dl_sim_lint(o));
  if (!hooked) hooked = pthread_atfork(NULL, NULL, mark_child) == 0;
  const char *block = getenv("CUDA_LAUNCH_BLOCKING");
  dl_sim = (dl_simstate){.open = true, .dry = !o->compute, .count = o->count, .tf32_conv = true};
  dl_sim.blocking = block && strcmp(block, "1") == 0;
  dl_sim.budget = o->host_budget > 0 && o->host_budget < room() ? o->host_budget : room();
  for (int i = 0; i < o->count; i++) {
    dl_status st = open_device(o, i);
    if (st == DL_OK) continue;
    dl_sim_close();
    return st;
  }
  *out = dl_sim_driver(dl_sim.dry);
  return DL_OK;
}

static void free_queues(dl_simdev *d) {
  for (int i = 0; i < d->nqueue; i++) free(d->queue[i].start);
  free(d->queue);
  d->queue = NULL;
  d->nqueue = 0;
}

void dl_sim_close(void) {
  dl_sim_forget_copies(-1);
  dl_sim_events_free();
  for (int i = 0; i < dl_sim.count; i++) {
    dl_sim_arena_free(&dl_sim.dev[i]);
    free_queues(&dl_sim.dev[i]);
  }
  dl_sim.open = false;
  dl_sim.count = 0;
}

/* ---- what a device says ---- */
static int device_count(void) { return dl_sim.open ? dl_sim.count : 0; }

static int props(int dev, dl_props *out) {
  if (dev < 0 || dev >= device_count()) return DL_CU_ORDINAL;
  *out = dl_sim.dev[dev].props;
  return DL_CU_OK;
}

static int peer_ok(int dev, int peer, bool *yes) {
  if (dev < 0 || dev >= device_count() || peer < 0 || peer >= device_count()) return DL_CU_ORDINAL;
  *yes = dev != peer;
  return DL_CU_OK;
}

static int error(int dev) {
  return dev >= 0 && dev < device_count() ? dl_sim.dev[dev].error : DL_CU_ORDINAL;
}

static const char *why(int dev) {
  return dev >= 0 && dev < device_count() && dl_sim.dev[dev].error ? dl_sim.dev[dev].why : "";
}

/* A fresh context: memory, streams and what was under way are gone; the clock goes on. */
static int reset(int dev) {
  if (dl_sim.forked) return forked_error();
  if (dev < 0 || dev >= device_count()) return DL_CU_ORDINAL;
  dl_simdev *d = &dl_sim.dev[dev];
  dl_sim_forget_copies(dev);
  dl_sim_arena_clear(d);
  d->error = d->pending = d->nrunning = 0;
  d->streams = 1;
  d->why[0] = '\0';
  for (int i = 0; i < d->nqueue; i++) {
    d->queue[i].tail = dl_sim.host_us;
    d->queue[i].count = 0;
    d->queue[i].used = i == 0;
  }
  d->h2d_free = d->d2h_free = dl_sim.host_us;
  return DL_CU_OK;
}

static double host_us(void) { return dl_sim.host_us; }

int dl_sim_look(int dev, dl_sim_report *out) {
  if (dev < 0 || dev >= device_count()) return DL_CU_ORDINAL;
  const dl_simdev *d = &dl_sim.dev[dev];
  double done = dl_sim_all_done(d);
  *out = d->report;
  out->elapsed_us = done > dl_sim.host_us ? done : dl_sim.host_us;
  return DL_CU_OK;
}

static int busy(int dev, double *kernel_us, double *elapsed_us) {
  dl_sim_report r;
  int e = dl_sim_look(dev, &r);
  if (e) return e;
  *kernel_us = r.busy_us;
  *elapsed_us = r.elapsed_us;
  return DL_CU_OK;
}

static void set_tf32(bool matmul, bool conv) {
  dl_sim.tf32_matmul = matmul;
  dl_sim.tf32_conv = conv;
}

/* ---- faults on demand ---- */
void dl_sim_refuse(int dev, int64_t nth, int64_t times) {
  if (dev < 0 || dev >= device_count()) return;
  dl_sim.dev[dev].refuse = nth > 0 ? nth : 0;
  dl_sim.dev[dev].refuse_times = times;
}

void dl_sim_lose(int dev) {
  if (dev < 0 || dev >= device_count()) return;
  dl_sim.dev[dev].error = DL_CU_LOST;
  snprintf(dl_sim.dev[dev].why, sizeof dl_sim.dev[dev].why, "the device fell off the bus");
}

/* ---- the table ---- */
#define TABLE(is_dry)                                                                             \
  {                                                                                               \
    .name = "sim", .simulated = true, .dry = is_dry, .device_count = device_count,                \
    .props = props, .mem_info = dl_sim_mem_info, .peer_ok = peer_ok, .reset = reset,              \
    .error = error, .mem_new = dl_sim_mem_new, .mem_free = dl_sim_mem_free,                       \
    .va_new = dl_sim_va_new, .va_free = dl_sim_va_free, .page_map = dl_sim_page_map,              \
    .page_unmap = dl_sim_page_unmap, .pinned_new = dl_sim_pinned_new,                             \
    .pinned_free = dl_sim_pinned_free, .stream_new = dl_sim_stream_new,                           \
    .stream_free = dl_sim_stream_free, .stream_query = dl_sim_stream_query,                       \
    .stream_sync = dl_sim_stream_sync, .stream_wait = dl_sim_stream_wait,                         \
    .device_sync = dl_sim_device_sync, .event_new = dl_sim_event_new,                             \
    .event_free = dl_sim_event_free, .event_record = dl_sim_event_record,                         \
    .event_query = dl_sim_event_query, .event_sync = dl_sim_event_sync,                           \
    .event_elapsed = dl_sim_event_elapsed, .copy = dl_sim_copy, .fill = dl_sim_fill,              \
    .launch = dl_sim_launch, .copy_view = dl_sim_copy_view, .host_us = host_us, .busy = busy,     \
    .set_tf32 = set_tf32, .why = why, .peek = dl_sim_peek                                         \
  }

const dl_driver *dl_sim_driver(bool dry) {
  static const dl_driver with_values = TABLE(false), without = TABLE(true);
  return dry ? &without : &with_values;
}
