/* clock.c -- two clocks: what the host has done, and what each stream has still to do
 *
 * For driver.c's table, launch.c and copy.c. A launch costs the host a little and puts work at the
 * end of a stream; only a synchronisation makes the host wait for it.
 *
 * INVARIANT  Nothing here looks at a real clock.
 * SOURCE     The queue model of CUDA's programming guide: in-order streams, events, back-pressure
 *            when a stream holds as many launches as it can. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

#define QUERY_US 1.0 /* host time of asking whether something is done */

static double later(double a, double b) { return a > b ? a : b; }

/* ---- queues ---- */
int dl_sim_queue_of(dl_simdev *d, dl_stream s, dl_queue **out) {
  if (s < 0 || s >= d->nqueue || !d->queue[s].used) return DL_CU_INVALID_VALUE;
  *out = &d->queue[s];
  return DL_CU_OK;
}

double dl_sim_all_done(const dl_simdev *d) {
  double t = 0;
  for (int i = 0; i < d->nqueue; i++)
    if (d->queue[i].used) t = later(t, d->queue[i].tail);
  return t;
}

static bool ring_of(dl_simdev *d, dl_queue *q) {
  if (q->start) return true;
  q->start = calloc((size_t)d->rate.queue, sizeof *q->start);
  q->count = 0;
  return q->start != NULL;
}

/* A stream holds so many launches: the host waits until the oldest has started. */
static void press_back(dl_simdev *d, dl_queue *q, double start) {
  if (!ring_of(d, q)) return;
  double *oldest = &q->start[q->count++ % d->rate.queue];
  if (q->count > d->rate.queue && *oldest > dl_sim.host_us) {
    d->report.wait_us += *oldest - dl_sim.host_us;
    dl_sim.host_us = *oldest;
  }
  *oldest = start;
}

/* Kernels' time as a union: a moment when two run counts once. */
void dl_sim_busy(dl_simdev *d, double start, double end) {
  double from = later(start, d->busy_until);
  if (end <= from) return;
  d->report.busy_us += end - from;
  d->busy_until = end;
}

/* Kernels of several streams run beside each other as far as the SMs go: from `start` on, the first
 * moment when enough of them are idle. */
static double sms_idle(dl_simdev *d, double start, double part) {
  for (;;) {
    double used = 0, next = 0;
    for (int i = 0; i < d->nrunning; i++) {
      if (d->running[i].end <= start) continue;
      used += d->running[i].part;
      if (next == 0 || d->running[i].end < next) next = d->running[i].end;
    }
    if (next == 0 || used + part <= 1.0 + 1e-9) return start;
    start = next;
  }
}

static void keep_running(dl_simdev *d, double end, double part) {
  int n = 0, first = 0;
  for (int i = 0; i < d->nrunning; i++)
    if (d->running[i].end > dl_sim.host_us) d->running[n++] = d->running[i];
  for (int i = 1; i < n; i++)
    if (d->running[i].end < d->running[first].end) first = i;
  d->nrunning = n < DL_SIM_RUNNING ? n + 1 : n;
  int at = n < DL_SIM_RUNNING ? n : first;
  d->running[at].end = end;
  d->running[at].part = part;
}

int dl_sim_enqueue(dl_simdev *d, dl_stream s, double us, double part, double *end) {
  dl_queue *q;
  int e = dl_sim_queue_of(d, s, &q);
  if (e) return e;
  double start = later(dl_sim.host_us + d->rate.launch_delay, q->tail);
  if (d->streams > 1) {
    start = sms_idle(d, start, part);
    keep_running(d, start + us, part);
  }
  q->tail = start + us;
  *end = q->tail;
  press_back(d, q, start);
  dl_sim_busy(d, start, q->tail);
  return DL_CU_OK;
}

int dl_sim_wait(dl_simdev *d, double t) {
  if (t > dl_sim.host_us) {
    d->report.wait_us += t - dl_sim.host_us;
    dl_sim.host_us = t;
  }
  if (dl_sim_copies_pending()) dl_sim_deliver();
  if (d->pending && !d->error) d->error = d->pending;
  return d->error;
}

void dl_sim_host_work(double us) {
  if (us > 0) dl_sim.host_us += us;
}

/* ---- streams ---- */
static int grow(dl_simdev *d) {
  int n = d->nqueue ? d->nqueue * 2 : 8;
  dl_queue *q = realloc(d->queue, (size_t)n * sizeof *q);
  if (!q) {
    dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a stream");
    return DL_CU_RAISED;
  }
  memset(q + d->nqueue, 0, (size_t)(n - d->nqueue) * sizeof *q);
  d->queue = q;
  d->nqueue = n;
  return DL_CU_OK;
}

int dl_sim_stream_new(int dev, int priority, dl_stream *out) {
  dl_simdev *d;
  int i = 0, e = dl_sim_enter(dev, &d);
  if (e) return e;
  while (i < d->nqueue && d->queue[i].used) i++;
  if (i == d->nqueue && (e = grow(d)) != 0) return e;
  d->streams++;
  d->queue[i] = (dl_queue){.used = true, .tail = dl_sim.host_us, .start = d->queue[i].start};
  *out = i;
  return DL_CU_OK;
}

int dl_sim_stream_free(int dev, dl_stream s) {
  dl_simdev *d;
  dl_queue *q;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = s == 0 ? DL_CU_INVALID_VALUE : dl_sim_queue_of(d, s, &q);
  if (e) return e;
  q->used = false;
  d->streams--;
  return DL_CU_OK;
}

static int done_by_now(double t) {
  dl_sim.host_us += QUERY_US;
  if (t > dl_sim.host_us) return DL_CU_NOT_READY;
  if (dl_sim_copies_pending()) dl_sim_deliver();
  return DL_CU_OK;
}

int dl_sim_stream_query(int dev, dl_stream s) {
  dl_simdev *d;
  dl_queue *q;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = dl_sim_queue_of(d, s, &q);
  if (!e) e = done_by_now(q->tail);
  return e ? e : dl_sim_wait(d, 0);
}

int dl_sim_stream_sync(int dev, dl_stream s) {
  dl_simdev *d;
  dl_queue *q;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = dl_sim_queue_of(d, s, &q);
  if (e) return e;
  dl_sim.host_us += d->rate.sync_host;
  d->report.syncs++;
  return dl_sim_wait(d, q->tail);
}

int dl_sim_device_sync(int dev) {
  dl_simdev *d;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  dl_sim.host_us += d->rate.sync_host;
  d->report.syncs++;
  return dl_sim_wait(d, dl_sim_all_done(d));
}

int dl_sim_stream_wait(int dev, dl_stream s, dl_event *ev) {
  dl_simdev *d;
  dl_queue *q;
  int e = dl_sim_enter(dev, &d);
  if (!e) e = dl_sim_queue_of(d, s, &q);
  if (e) return e;
  if (ev->recorded) q->tail = later(q->tail, ev->at);
  return DL_CU_OK;
}

/* ---- events ---- */
static dl_event *events;

void dl_sim_events_free(void) {
  while (events) dl_sim_event_free(events);
}

int dl_sim_event_new(int dev, bool timing, dl_event **out) {
  dl_simdev *d;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  *out = calloc(1, sizeof **out);
  if (!*out) {
    dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for an event");
    return DL_CU_RAISED;
  }
  (*out)->dev = dev;
  (*out)->timing = timing;
  (*out)->next = events;
  (*out)->at_me = &events;
  if (events) events->at_me = &(*out)->next;
  events = *out;
  return DL_CU_OK;
}

int dl_sim_event_free(dl_event *e) {
  *e->at_me = e->next;
  if (e->next) e->next->at_me = e->at_me;
  free(e);
  return DL_CU_OK;
}

int dl_sim_event_record(dl_event *ev, dl_stream s) {
  dl_simdev *d;
  dl_queue *q;
  int e = dl_sim_enter(ev->dev, &d);
  if (!e) e = dl_sim_queue_of(d, s, &q);
  if (e) return e;
  dl_sim.host_us += QUERY_US;
  ev->at = later(dl_sim.host_us + d->rate.launch_delay, q->tail);
  q->tail = ev->at;
  ev->recorded = true;
  return DL_CU_OK;
}

int dl_sim_event_query(dl_event *ev) {
  dl_simdev *d;
  int e = dl_sim_enter(ev->dev, &d);
  if (e || !ev->recorded) return e;
  e = done_by_now(ev->at);
  return e ? e : dl_sim_wait(d, 0);
}

int dl_sim_event_sync(dl_event *ev) {
  dl_simdev *d;
  int e = dl_sim_enter(ev->dev, &d);
  if (e || !ev->recorded) return e;
  dl_sim.host_us += d->rate.sync_host;
  d->report.syncs++;
  return dl_sim_wait(d, ev->at);
}

int dl_sim_event_elapsed(dl_event *from, dl_event *to, double *ms) {
  dl_simdev *d;
  int e = dl_sim_enter(from->dev, &d);
  if (e) return e;
  if (!from->timing || !to->timing || !from->recorded || !to->recorded || from->dev != to->dev)
    return DL_CU_INVALID_VALUE;
  if (later(from->at, to->at) > dl_sim.host_us) return DL_CU_NOT_READY;
  *ms = (to->at - from->at) / 1e3;
  return DL_CU_OK;
}
