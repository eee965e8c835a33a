/* copy.c -- bytes between host and simulated device, and when they arrive
 *
 * For driver.c's table. Pinned copies go through an engine of their own beside the kernels;
 * pageable ones are staged by the host, which waits.
 *
 * INVARIANT  What an asynchronous copy to the host brings is not there before a synchronisation
 *            that covers it: until then the destination is full of 0xff (nan, -1, true).
 *            A range that is freed is written to no more.
 * MUST NOT   follow a pointer that the caller did not call a host pointer. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

typedef struct arrival {
  struct arrival *next;
  int dev;
  double at;
  char *dst;
  size_t n;
  char bytes[];
} arrival;
static arrival *arrivals, **arrivals_end = &arrivals;

static double later(double a, double b) { return a > b ? a : b; }
static bool of_host(const void *p) { return !((uintptr_t)p & DL_SIM_BIT); }

/* ---- what is under way ---- */
bool dl_sim_copies_pending(void) { return arrivals != NULL; }

static void remove_arrivals(bool (*which)(const arrival *, const void *, size_t), const void *p,
                            size_t n, bool write) {
  arrival **at = &arrivals;
  while (*at) {
    arrival *a = *at;
    if (!which(a, p, n)) {
      at = &a->next;
      continue;
    }
    *at = a->next;
    if (write) memcpy(a->dst, a->bytes, a->n);
    free(a);
  }
  arrivals_end = at;
}

static bool is_due(const arrival *a, const void *p, size_t n) { return a->at <= dl_sim.host_us; }
/* n: the device + 1, 0 for all */
static bool is_of(const arrival *a, const void *p, size_t n) {
  return n == 0 || a->dev == (int)n - 1;
}
static bool is_in(const arrival *a, const void *p, size_t n) {
  return a->dst < (const char *)p + n && (const char *)p < a->dst + a->n;
}

void dl_sim_deliver(void) { remove_arrivals(is_due, NULL, 0, true); }
void dl_sim_forget_copies(int dev) { remove_arrivals(is_of, NULL, (size_t)(dev + 1), false); }

int dl_sim_pinned_free(void *p, size_t n) {
  remove_arrivals(is_in, p, n, false);
  dl_host_free(p, n);
  return DL_CU_OK;
}

static int arrive_later(int dev, void *dst, const char *src, size_t n, double at) {
  arrival *a = n < SIZE_MAX - sizeof *a && dl_host_room(n) ? malloc(sizeof *a + n) : NULL;
  if (!a) {
    dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a copy of %zu bytes to the host", n);
    return DL_CU_RAISED;
  }
  *a = (arrival){.dev = dev, .at = at, .dst = dst, .n = n};
  memcpy(a->bytes, src, n);
  memset(dst, 0xff, n);
  *arrivals_end = a;
  arrivals_end = &a->next;
  return DL_CU_OK;
}

/* ---- time ---- */
static double rate_of(const dl_rates *r, const dl_copy *c) {
  if (c->kind == DL_COPY_H2D) return c->pinned ? r->h2d_pinned : r->h2d_pageable;
  return c->pinned ? r->d2h_pinned : r->d2h_pageable;
}

static void count(dl_simdev *d, const dl_copy *c, double us) {
  d->report.copies++;
  d->report.copy_us += us;
  if (c->kind == DL_COPY_H2D) d->report.h2d_bytes += (double)c->nbytes;
  else d->report.d2h_bytes += (double)c->nbytes;
}

/* The copy's place on its stream and engine; gives its end. */
static double place(dl_simdev *d, const dl_copy *c, dl_queue *q) {
  double us = d->rate.copy_start + (double)c->nbytes / rate_of(&d->rate, c);
  double *engine = c->kind == DL_COPY_H2D ? &d->h2d_free : &d->d2h_free;
  dl_sim.host_us += d->rate.copy_host;
  q->tail = later(later(dl_sim.host_us, q->tail), *engine) + us;
  *engine = q->tail;
  count(d, c, us);
  return q->tail;
}

/* ---- kinds ---- */
static int host_copy(const dl_copy *c, dl_stream s) {
  bool down = c->kind == DL_COPY_D2H;
  void *host = down ? c->dst : (void *)c->src;
  dl_simdev *d;
  dl_queue *q;
  char *dev_bytes;
  int e = dl_sim_enter(down ? c->src_dev : c->dst_dev, &d);
  if (!e) e = dl_sim_queue_of(d, s, &q);
  if (e) return e;
  if (!of_host(host)) return DL_CU_INVALID_VALUE;
  e = dl_sim_reach(d, down ? c->src : c->dst, c->nbytes, &dev_bytes);
  if (e) return e == DL_CU_ILLEGAL ? DL_CU_INVALID_VALUE : e;
  double end = place(d, c, q);
  bool wait = !c->async || !c->pinned;
  if (d->pending) return wait ? dl_sim_wait(d, end) : DL_CU_OK;
  if (!wait && down && !dl_sim.dry)
    return arrive_later(c->src_dev, host, dev_bytes, c->nbytes, end);
  if (!dl_sim.dry) memcpy(down ? host : dev_bytes, down ? dev_bytes : host, c->nbytes);
  if (!wait) return DL_CU_OK;
  d->report.syncs++;
  dl_sim.host_us += d->rate.sync_host;
  return dl_sim_wait(d, end);
}

/* Between two places of one device, or of two: over NVLink where both have it, else the host. */
static double device_us(const dl_simdev *to, const dl_simdev *from, size_t n) {
  const dl_rates *a = &to->rate, *b = &from->rate;
  if (to == from) return a->kernel_start + 2.0 * (double)n / (a->bw * a->memory_share);
  if (a->peer > 0 && b->peer > 0)
    return a->copy_start + (double)n / (a->peer < b->peer ? a->peer : b->peer);
  double up = a->h2d_pinned, down = b->d2h_pinned;
  return a->copy_start + (double)n / (up < down ? up : down);
}

static int device_copy(const dl_copy *c, dl_stream s) {
  dl_simdev *to, *from;
  char *dst, *src;
  double end;
  int e = dl_sim_enter(c->dst_dev, &to);
  if (!e) e = dl_sim_enter(c->src_dev, &from);
  if (!e) e = dl_sim_reach(to, c->dst, c->nbytes, &dst);
  if (!e) e = dl_sim_reach(from, c->src, c->nbytes, &src);
  if (e) return e == DL_CU_ILLEGAL ? DL_CU_INVALID_VALUE : e;
  double us = device_us(to, from, c->nbytes);
  dl_sim.host_us += from->rate.copy_host;
  e = dl_sim_enqueue(from, s, us, 0, &end);
  if (e) return e;
  from->report.copies++;
  from->report.copy_us += us;
  if (!dl_sim.dry && !to->pending && !from->pending) memmove(dst, src, c->nbytes);
  return c->async ? DL_CU_OK : dl_sim_wait(from, end);
}

int dl_sim_copy(const dl_copy *c, dl_stream s) {
  if (c->kind == DL_COPY_H2D || c->kind == DL_COPY_D2H) return host_copy(c, s);
  return device_copy(c, s);
}

/* Pages that nobody has touched get memory, as they would from a kernel. */
const void *dl_sim_peek(int dev, const void *p, size_t n) {
  dl_error kept = dl_err;
  dl_simdev *d;
  char *host;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = dl_sim_reach(d, p, n, &host);
  if (!e && !dl_sim.dry) return host;
  dl_err = kept;
  return NULL;
}

int dl_sim_fill(int dev, void *p, int byte, size_t n, dl_stream s) {
  dl_simdev *d;
  char *host;
  double end;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = dl_sim_reach(d, p, n, &host);
  if (e) return e == DL_CU_ILLEGAL ? DL_CU_INVALID_VALUE : e;
  dl_sim.host_us += d->rate.op_host;
  e = dl_sim_enqueue(d, s, d->rate.kernel_start + (double)n / (d->rate.bw * d->rate.memory_share),
                     1, &end);
  if (e) return e;
  d->report.kernels++;
  d->report.bytes += (double)n;
  if (!dl_sim.dry && !d->pending) memset(host, byte, n);
  return DL_CU_OK;
}
