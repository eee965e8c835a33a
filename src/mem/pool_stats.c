/* pool_stats.c -- what the pool says about itself: figures, limits, a walk over its chunks
 *
 * For the binding of torch.cuda's memory figures.
 *
 * INVARIANT  Reading changes nothing.
 * MUST NOT   know tensors or Lua. */
#include "mem/pool_int.h"

/* The dl_stat records stand together at the head of dl_pool_stats. */
enum { STATS = (int)(offsetof(dl_pool_stats, num_alloc_retries) / sizeof(dl_stat)) };

static dl_stat *stats_of(dl_pool *p) { return (dl_stat *)&p->stats; }

const dl_pool_stats *dl_pool_figures(dl_pool *p) {
  int64_t m = dl_conf.max_split_size;
  p->stats.max_split_size = m == INT64_MAX ? -1 : m;
  return &p->stats;
}

void dl_pool_reset_peak(dl_pool *p) {
  dl_stat *s = stats_of(p);
  for (int i = 0; i < STATS; i++) s[i].peak = s[i].current;
}

void dl_pool_reset_accumulated(dl_pool *p) {
  dl_stat *s = stats_of(p);
  for (int i = 0; i < STATS; i++) s[i].allocated = s[i].freed = 0;
  p->stats.num_alloc_retries = p->stats.num_ooms = 0;
  p->stats.num_sync_all_streams = p->stats.num_device_alloc = p->stats.num_device_free = 0;
}

dl_status dl_pool_set_fraction(dl_pool *p, double f) {
  if (!(f >= 0 && f <= 1))
    return dl_fail(DL_ValueError, DL_E_ARGUMENT, "Invalid fraction value: %g. Allowed range: 0~1",
                   f);
  size_t free_now, total;
  int code = p->drv->mem_info(p->dev, &free_now, &total);
  if (code) return dl_gpu_error(code);
  p->fraction = f;
  p->allowed = f < 1 ? (int64_t)(f * (double)total) : -1;
  return DL_OK;
}

double dl_pool_fraction(const dl_pool *p) { return p->fraction; }

void dl_pool_free_space(dl_pool *p, int64_t *largest, int64_t *total) {
  *largest = *total = 0;
  for (int part = DL_POOL_SMALL; part <= DL_POOL_LARGE; part++) {
    const dl_set *s = &p->part[part].free;
    for (dl_chunk *c = dl_set_first(s); c; c = dl_set_after(c)) {
      *total += c->bytes;
      if (c->bytes > *largest) *largest = c->bytes;
    }
  }
}

int64_t dl_pool_capacity(dl_pool *p) {
  size_t free_now = 0, total = 0;
  if (p->drv->mem_info(p->dev, &free_now, &total) != DL_CU_OK) free_now = 0;
  int64_t n = p->stats.reserved_bytes[DL_POOL_ALL].current + (int64_t)free_now;
  return p->allowed >= 0 && p->allowed < n ? p->allowed : n;
}

/* ---- walking -------------------- */

static dl_segment *next_segment(const dl_pool *p, const char *after) {
  dl_segment *best = NULL;
  for (dl_segment *seg = p->segments; seg; seg = seg->next) {
    if (seg->direct || (uintptr_t)seg->addr <= (uintptr_t)after) continue;
    if (!best || (uintptr_t)seg->addr < (uintptr_t)best->addr) best = seg;
  }
  return best;
}

/* In an expandable segment each run of mapped chunks is told as a segment of its own. */
static int64_t run_bytes(const dl_chunk *c) {
  int64_t n = 0;
  for (; c && c->mapped; c = c->next) n += c->bytes;
  return n;
}

typedef void item_fn(void *ctx, const dl_pool_item *it);

static void walk_segment(dl_segment *seg, item_fn *fn, void *ctx) {
  dl_pool_item it = {.small = seg->part == DL_POOL_SMALL, .expandable = seg->expandable};
  for (dl_chunk *c = seg->first; c; c = c->next) {
    if (!c->mapped) continue;
    if (!c->prev || !c->prev->mapped) {
      it.segment = (uint64_t)(uintptr_t)c->addr;
      it.segment_bytes = run_bytes(c);
    }
    it.address = (uint64_t)(uintptr_t)c->addr;
    it.bytes = c->bytes;
    it.state = c->used ? 1 : c->events ? 2 : 0;
    it.requested = it.state ? c->requested : 0;
    it.stream = c->stream;
    fn(ctx, &it);
  }
}

void dl_pool_walk(dl_pool *p, void (*fn)(void *ctx, const dl_pool_item *it), void *ctx) {
  dl_segment *seg = next_segment(p, NULL);
  for (; seg; seg = next_segment(p, seg->addr)) walk_segment(seg, fn, ctx);
}
