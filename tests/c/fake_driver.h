/* fake_driver.h -- a GPU that only keeps account: for tests of the pool
 *
 * Addresses are never touched. Every call is checked against what was handed out before; wrong ones
 * count in `wrong`. Streams finish when the test says so. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H

#include <stdlib.h>
#include <string.h>

#include "mem/pool.h"

enum { FAKE_MAX = 4096 };

static struct {
  int64_t total, context;             /* bytes */
  int64_t used;                       /* by mem_new and page_map */
  struct { char *p; int64_t n; } live[FAKE_MAX];   /* segments, ranges, pages */
  int count;
  char *top;                          /* the next address */
  int64_t done[8];                    /* per stream: events up to here have happened */
  int64_t recorded[8];
  int events, wrong, calls, broken;   /* broken: an error that every call returns */
  bool no_ranges;                     /* of addresses without memory */
} fake = {.total = (int64_t)8 << 30, .context = (int64_t)500 << 20, .top = (char *)0x700000000000};

struct dl_event { dl_stream s; int64_t at; };

static int fake_find(const void *p, int64_t n) {
  for (int i = 0; i < fake.count; i++)
    if (fake.live[i].p == p && fake.live[i].n == n) return i;
  return -1;
}
static void fake_note(char *p, int64_t n) {
  if (fake.count == FAKE_MAX) abort();
  fake.live[fake.count].p = p;
  fake.live[fake.count++].n = n;
}
static int fake_forget(void *p, size_t n) {
  int i = fake_find(p, (int64_t)n);
  if (i < 0) fake.wrong++;
  else fake.live[i] = fake.live[--fake.count];
  return 0;
}
static int fake_props(int dev, dl_props *out) {
  memset(out, 0, sizeof *out);
  strcpy(out->name, "Paper GPU");
  out->total_memory = fake.total;
  out->context_bytes = fake.context;
  return 0;
}
static int fake_info(int dev, size_t *free_bytes, size_t *total) {
  *total = (size_t)fake.total;
  *free_bytes = (size_t)(fake.total - fake.context - fake.used);
  return fake.broken;
}
static int fake_room(int64_t n) {
  fake.calls++;
  if (fake.broken) return fake.broken;
  return fake.used + n > fake.total - fake.context ? DL_CU_OOM : 0;
}
static int fake_new(int dev, size_t n, void **out) {
  int code = fake_room((int64_t)n);
  if (code) return code;
  *out = fake.top;
  fake.top += (n + ((size_t)2 << 20) - 1) >> 21 << 21;
  fake.used += (int64_t)n;
  fake_note(*out, (int64_t)n);
  return 0;
}
static int fake_free(int dev, void *p, size_t n) {
  if (fake.broken) return fake.broken;
  fake.used -= (int64_t)n;
  return fake_forget(p, n);
}
static int fake_va_new(int dev, size_t n, void **out) {
  if (fake.no_ranges) return DL_CU_UNSUPPORTED;
  *out = fake.top;
  fake.top += n;
  fake_note(*out, (int64_t)n);
  return fake.broken;
}
static int fake_va_free(int dev, void *p, size_t n) { return fake_forget(p, n); }
static int fake_map(int dev, void *p, size_t n) {
  int code = fake_room((int64_t)n);
  if (code) return code;
  fake.used += (int64_t)n;
  fake_note(p, (int64_t)n);
  return 0;
}
static int fake_event_new(int dev, bool timing, dl_event **out) {
  *out = calloc(1, sizeof **out);
  fake.events++;
  return 0;
}
static int fake_event_free(dl_event *e) {
  free(e);
  fake.events--;
  return 0;
}
static int fake_record(dl_event *e, dl_stream s) {
  e->s = s;
  e->at = ++fake.recorded[s];
  return 0;
}
static int fake_query(dl_event *e) {
  if (fake.broken) return fake.broken;
  return fake.done[e->s] >= e->at ? 0 : DL_CU_NOT_READY;
}
static int fake_event_sync(dl_event *e) {
  if (fake.done[e->s] < e->at) fake.done[e->s] = e->at;
  return fake.broken;
}
static int fake_stream_sync(int dev, dl_stream s) { return fake.broken; }

static const dl_driver fake_driver = {
    .name = "paper", .props = fake_props, .mem_info = fake_info, .mem_new = fake_new,
    .mem_free = fake_free, .va_new = fake_va_new, .va_free = fake_va_free, .page_map = fake_map,
    .page_unmap = fake_free, .event_new = fake_event_new, .event_free = fake_event_free,
    .event_record = fake_record, .event_query = fake_query, .event_sync = fake_event_sync,
    .stream_sync = fake_stream_sync,
};

#endif
