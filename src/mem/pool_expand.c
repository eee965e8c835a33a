/* pool_expand.c -- expandable segments: one long range of addresses, memory behind it page by page
 *
 * For pool.c. A range serves one stream and one part and is an eighth longer than the device's
 * memory; pages are 2 MiB (small part) or the size of a large segment. The driver is asked for one
 * page at a time, because what was mapped in one call must be unmapped in one.
 *
 * INVARIANT  A border between mapped and unmapped chunks lies on a page's border.
 * MUST NOT   know tensors or Lua. */
#include "mem/pool_int.h"

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* Cut `bytes` off the front of c with a record made beforehand; the front keeps being c. */
static dl_chunk *cut(dl_chunk *c, int64_t bytes, dl_chunk *rest) {
  rest->seg = c->seg;
  rest->stream = c->stream;
  rest->mapped = c->mapped;
  rest->addr = c->addr + bytes;
  rest->bytes = c->bytes - bytes;
  rest->prev = c;
  rest->next = c->next;
  if (rest->next) rest->next->prev = rest;
  c->next = rest;
  c->bytes = bytes;
  return rest;
}

static int map_pages(dl_pool *p, char *at, int64_t bytes, int64_t page) {
  for (int64_t done = 0; done < bytes; done += page) {
    int code = p->drv->page_map(p->dev, at + done, (size_t)page);
    if (!code) continue;
    while (done > 0) p->drv->page_unmap(p->dev, at + (done -= page), (size_t)page);
    return code;
  }
  return DL_CU_OK;
}

/* Memory behind the first `want` bytes of an unmapped chunk; it becomes free, and takes in its
 * free neighbours. */
static int map(dl_pool *p, dl_chunk *c, int64_t want) {
  dl_part *part = &p->part[c->seg->part];
  int64_t bytes = round_up(want, c->seg->page);
  dl_chunk *rest = bytes < c->bytes ? dl_chunk_new(p) : NULL;
  if (bytes < c->bytes && !rest) {
    dl_pool_host_short();
    return DL_CU_RAISED;
  }
  int code = map_pages(p, c->addr, bytes, c->seg->page);
  if (code) {
    if (rest) dl_chunk_drop(p, rest);
    return code;
  }
  dl_set_remove(&part->unmapped, c);
  if (rest) dl_set_add(&part->unmapped, cut(c, bytes, rest));
  c->mapped = true;
  dl_pool_tell(p, DL_POOL_MAPPED, c->addr, bytes, c->stream);
  int64_t gained;
  dl_chunk_settle(p, c, &gained);
  dl_stats_up(p->stats.reserved_bytes, c->seg->part, bytes);
  p->stats.num_device_alloc++;
  return DL_CU_OK;
}

/* Free and unmapped chunks from c on make up `bytes`? */
static bool has_room(const dl_chunk *c, int64_t bytes) {
  for (; c && dl_chunk_idle(c) && bytes > 0; c = c->next) bytes -= c->bytes;
  return bytes <= 0;
}

static int new_range(dl_pool *p, const dl_request *r, dl_chunk **out) {
  int64_t page = r->part == DL_POOL_SMALL ? SMALL_SEGMENT : dl_conf.large_segment_size;
  int64_t total = p->props.total_memory, bytes = round_up(total + total / 8, page);
  void *addr;
  dl_segment *seg = dl_segment_new(p, bytes, r->part, r->stream, out);
  if (!seg) {
    dl_pool_host_short();
    return DL_CU_RAISED;
  }
  int code = p->drv->va_new(p->dev, (size_t)bytes, &addr);
  if (code) {
    dl_segment_drop(p, seg);
    return code;
  }
  seg->expandable = true;
  seg->page = page;
  seg->addr = (*out)->addr = addr;
  (*out)->mapped = false;
  dl_set_add(&p->part[r->part].unmapped, *out);
  return DL_CU_OK;
}

/* The lowest place of the stream's ranges that can hold the request: a free chunk with unmapped
 * room behind it, or unmapped room. */
static int find_place(dl_pool *p, const dl_request *r, dl_chunk **out) {
  const dl_set *s = &p->part[r->part].unmapped;
  dl_chunk *c = dl_set_from(s, r->stream, 0);
  for (; c && c->stream == r->stream; c = dl_set_after(c)) {
    dl_chunk *from = c->prev && dl_chunk_idle(c->prev) ? c->prev : c;
    if (!has_room(from, r->bytes)) continue;
    *out = from;
    return DL_CU_OK;
  }
  return new_range(p, r, out);
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int dl_expand(dl_pool *p, const dl_request *r, dl_chunk **out) {
  dl_chunk *c;
  int code = find_place(p, r, &c);
  if (!code && !c->mapped) code = map(p, c, least(c->bytes, r->bytes));
  while (!code && c->bytes < r->bytes) { /* what follows a free chunk is unmapped */
    dl_chunk *next = c->next;
    code = map(p, next, least(r->bytes - c->bytes, next->bytes));
    if (!code) c = next; /* it took in c */
  }
  if (!code) *out = c;
  return code;
}

/* Unmap the pages that lie wholly inside a free chunk. */
static int unmap(dl_pool *p, dl_chunk *c) {
  dl_segment *seg = c->seg;
  dl_part *part = &p->part[seg->part];
  int64_t from = round_up(c->addr - seg->addr, seg->page), start = c->addr - seg->addr;
  int64_t to = (start + c->bytes) / seg->page * seg->page;
  if (from >= to) return DL_CU_OK;
  dl_chunk *middle = from > start ? dl_chunk_new(p) : c;
  dl_chunk *tail = to < start + c->bytes ? dl_chunk_new(p) : c;
  if (!middle || !tail) { /* the host is short: they stay mapped */
    if (middle && middle != c) dl_chunk_drop(p, middle);
    if (tail && tail != c) dl_chunk_drop(p, tail);
    return DL_CU_OK;
  }
  dl_set_remove(&part->free, c);
  if (tail != c) dl_set_add(&part->free, cut(c, to - start, tail));
  if (middle != c) {
    cut(c, from - start, middle);
    dl_set_add(&part->free, c);
  }
  int code = DL_CU_OK;
  for (int64_t at = from; at < to; at += seg->page) {
    int failed = p->drv->page_unmap(p->dev, seg->addr + at, (size_t)seg->page);
    if (failed) code = failed;
  }
  middle->mapped = false;
  int64_t gained;
  dl_chunk_settle(p, middle, &gained);
  dl_pool_tell(p, DL_POOL_UNMAPPED, seg->addr + from, to - from, middle->stream);
  dl_stats_down(p->stats.reserved_bytes, seg->part, to - from);
  p->stats.num_device_free++;
  return code;
}

static int release_range(dl_pool *p, dl_segment *seg) {
  dl_chunk *c = seg->first;
  if (c->next || c->mapped) return DL_CU_OK;
  dl_set_remove(&p->part[seg->part].unmapped, c);
  int code = p->drv->va_free(p->dev, seg->addr, (size_t)seg->bytes);
  dl_segment_drop(p, seg);
  return code;
}

int dl_unexpand(dl_pool *p, int part) {
  for (dl_segment *seg = p->segments, *next; seg; seg = next) {
    next = seg->next;
    if (!seg->expandable || seg->part != part) continue;
    for (dl_chunk *c = seg->first; c; c = c->next) {
      int code = dl_chunk_idle(c) && c->mapped ? unmap(p, c) : DL_CU_OK;
      if (code) return code;
    }
    int code = release_range(p, seg);
    if (code) return code;
  }
  return DL_CU_OK;
}
