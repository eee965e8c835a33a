/* pool_free.c -- the way back: waiting for streams, merging, segments given back to the driver
 *
 * For pool.c. Functions return the driver's error; what was given back before it stays given back.
 *
 * INVARIANT  Only segments that are one free chunk go back to the driver whole.
 * MUST NOT   know tensors or Lua. */
#include "mem/pool_int.h"

void dl_pool_give_back(dl_pool *p, dl_chunk *c) {
  int part = c->seg->part;
  dl_pool_tell(p, DL_POOL_FREE_COMPLETED, c->addr, c->requested, c->stream);
  int64_t bytes = c->bytes, gained;
  int joined = dl_chunk_settle(p, c, &gained);
  if (!c->seg->expandable) {
    bool split = dl_chunk_split(c);
    dl_stats_move(p->stats.inactive_split, part, split - joined);
    dl_stats_move(p->stats.inactive_split_bytes, part, (split ? c->bytes : 0) - gained);
  }
  dl_stats_down(p->stats.active, part, 1);
  dl_stats_down(p->stats.active_bytes, part, bytes);
  dl_stats_down(p->stats.requested_bytes, part, c->requested);
}

/* ---- events -------------------- */

void dl_pool_await(dl_pool *p, dl_chunk *c) {
  for (dl_use *u = c->uses, *next; u; u = next) {
    next = u->next;
    u->next = NULL;
    if (p->drv->event_new(p->dev, false, &u->event) != DL_CU_OK) {
      p->drv->stream_sync(p->dev, u->stream); /* no event to be had: wait at once */
      dl_block_free(u, sizeof *u);
      continue;
    }
    p->drv->event_record(u->event, u->stream);
    *p->waiting_end = u;
    p->waiting_end = &u->next;
    c->events++;
  }
  c->uses = NULL;
}

int dl_pool_poll_events(dl_pool *p, bool wait) {
  for (dl_use **at = &p->waiting; *at;) {
    dl_use *u = *at;
    int code = wait ? p->drv->event_sync(u->event) : p->drv->event_query(u->event);
    if (code == DL_CU_NOT_READY) {
      at = &u->next;
      continue;
    }
    if (code) return code;
    *at = u->next;
    if (!*at) p->waiting_end = at;
    p->drv->event_free(u->event);
    if (--u->chunk->events == 0) dl_pool_give_back(p, u->chunk);
    dl_block_free(u, sizeof *u);
  }
  return DL_CU_OK;
}

/* ---- segments -------------------- */

int dl_segment_release(dl_pool *p, dl_chunk *c) {
  dl_segment *seg = c->seg;
  int64_t bytes = seg->bytes;
  int code = p->drv->mem_free(p->dev, seg->addr, (size_t)bytes);
  if (code) return code;
  dl_pool_tell(p, DL_POOL_SEGMENT_FREED, seg->addr, bytes, c->stream);
  p->stats.num_device_free++;
  dl_stats_down(p->stats.segment, seg->part, 1);
  dl_stats_down(p->stats.reserved_bytes, seg->part, bytes);
  if (bytes >= dl_conf.max_split_size) dl_stat_down(&p->stats.oversize_segments, 1);
  dl_set_remove(&p->part[seg->part].free, c);
  dl_segment_drop(p, seg);
  return DL_CU_OK;
}

static inline bool whole(const dl_chunk *c) { return !dl_chunk_split(c) && !c->seg->expandable; }

static int release_part(dl_pool *p, int part) {
  const dl_set *s = &p->part[part].free;
  for (dl_chunk *c = dl_set_first(s), *next; c; c = next) {
    next = dl_set_after(c);
    int code = whole(c) ? dl_segment_release(p, c) : DL_CU_OK;
    if (code) return code;
  }
  return dl_unexpand(p, part);
}

int dl_pool_flush(dl_pool *p) {
  p->stats.num_sync_all_streams++;
  int code = dl_pool_poll_events(p, true);
  if (!code) code = release_part(p, DL_POOL_LARGE);
  if (!code) code = release_part(p, DL_POOL_SMALL);
  return code;
}

dl_status dl_pool_empty_cache(dl_pool *p) {
  int code = dl_pool_flush(p);
  if (p->drv->trim) p->drv->trim(p->dev);
  return dl_gpu_error(code);
}

/* With max_split_size: an oversize block that would fit but was vetoed, or the largest ones until
 * they make up the request. */
int dl_pool_release_oversize(dl_pool *p, const dl_request *r, bool *enough) {
  int64_t limit = dl_conf.max_split_size;
  *enough = false;
  if (limit == INT64_MAX) return DL_CU_OK;
  const dl_set *s = &p->part[r->part].free;
  int64_t want = r->bytes < limit ? limit : r->bytes;
  dl_chunk *c = dl_set_from(s, r->stream, want);
  if (c && c->stream == r->stream && whole(c)) {
    *enough = true;
    return dl_segment_release(p, c);
  }
  int64_t released = 0;
  c = c ? dl_set_before(c) : dl_set_last(s);
  while (c && released < want && c->stream == r->stream && c->bytes >= limit) {
    dl_chunk *smaller = dl_set_before(c);
    int64_t bytes = c->bytes;
    if (whole(c)) {
      int code = dl_segment_release(p, c);
      if (code) return code;
      released += bytes;
    }
    c = smaller;
  }
  *enough = released >= want;
  return DL_CU_OK;
}

/* ---- garbage_collection_threshold -------------------- */

static int64_t age(const dl_pool *p, const dl_chunk *c) {
  return p->part[DL_POOL_LARGE].lookups - c->born;
}

/* Release large segments at least as old as the average, until reserved bytes are back at the
 * threshold or none qualifies. */
int dl_pool_collect_old(dl_pool *p) {
  int64_t threshold = (int64_t)(dl_conf.gc_threshold * (double)p->allowed);
  int64_t target = p->stats.reserved_bytes[DL_POOL_ALL].current - threshold;
  const dl_set *s = &p->part[DL_POOL_LARGE].free;
  double total = 0;
  int64_t count = 0, reclaimed = 0;
  for (dl_chunk *c = dl_set_first(s); target > 0 && c; c = dl_set_after(c))
    if (!dl_chunk_split(c)) total += (double)age(p, c), count++;
  for (bool freed = true; freed && reclaimed < target && count > 0;) {
    double average = total / (double)count;
    freed = false;
    for (dl_chunk *c = dl_set_first(s), *next; c; c = next) {
      next = dl_set_after(c);
      if (!whole(c) || (double)age(p, c) < average) continue;
      int64_t bytes = c->bytes;
      total -= (double)age(p, c);
      count--;
      int code = dl_segment_release(p, c);
      if (code) return code;
      reclaimed += bytes;
      freed = true;
    }
  }
  return DL_CU_OK;
}
