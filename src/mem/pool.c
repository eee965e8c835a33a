/* pool.c -- PyTorch's caching allocator: round, find the best fit, split, merge
 *
 * For gpu.c. The other steps lie beside: pool_set.c (the ordered set), pool_free.c (events, giving
 * back to the driver), pool_expand.c (expandable segments), pool_oom.c (what is said when nothing
 * helps), pool_stats.c (figures), pool_conf.c (PYTORCH_CUDA_ALLOC_CONF).
 *
 * A request goes through the ladder in find_slowly: a cached block, the collector and a cached
 * block again, the driver, oversize blocks given back and the driver, everything cached given back
 * and the driver, out of memory.
 *
 * INVARIANT  What can fail comes before what changes the pool.
 * MUST NOT   know tensors or Lua. */
#include "mem/pool_int.h"

#include <string.h>

bool (*dl_pool_collect)(bool last_resort);
void (*dl_pool_pace)(dl_pool *p, int dev, int64_t bytes);
void (*dl_pool_explain)(dl_pool *p, int dev, size_t n);
void (*dl_pool_trace)(int dev, dl_pool_event what, uint64_t addr, int64_t bytes, dl_stream s);
int64_t dl_pool_refuse_at;

/* ---- records -------------------- */

dl_chunk *dl_chunk_new(dl_pool *p) {
  dl_chunk *c = p->spare;
  p->spare = NULL;
  if (!c) c = dl_block_new(sizeof *c);
  if (c) *c = (dl_chunk){.mapped = true};
  return c;
}

void dl_chunk_drop(dl_pool *p, dl_chunk *c) {
  if (p && !p->spare) p->spare = c;
  else dl_block_free(c, sizeof *c);
}

dl_status dl_pool_host_short(void) {
  dl_fail(DL_MemoryError, DL_E_OOM, "the host has no memory left to keep track of the GPU's");
  dl_note("%.1f MiB are in use on the host", (double)dl_mem.live_bytes / 1048576.0);
  return dl_err.kind;
}

/* A segment that is one chunk, without address yet; NULL when the host refuses. */
dl_segment *dl_segment_new(dl_pool *p, int64_t bytes, int part, dl_stream s, dl_chunk **first) {
  dl_segment *seg = dl_block_new(sizeof *seg);
  dl_chunk *c = seg ? dl_chunk_new(p) : NULL;
  if (!c) {
    dl_block_free(seg, sizeof *seg);
    return NULL;
  }
  *seg = (dl_segment){.pool = p, .first = c, .bytes = bytes, .part = (uint8_t)part};
  c->seg = seg;
  c->stream = s;
  c->bytes = bytes;
  seg->next = p->segments;
  if (seg->next) seg->next->prev = seg;
  p->segments = seg;
  *first = c;
  return seg;
}

/* Forget a segment of one chunk, which is in no set. */
void dl_segment_drop(dl_pool *p, dl_segment *seg) {
  if (seg->prev) seg->prev->next = seg->next;
  else p->segments = seg->next;
  if (seg->next) seg->next->prev = seg->prev;
  dl_chunk_drop(p, seg->first);
  dl_block_free(seg, sizeof *seg);
}

dl_pool *dl_pool_new(const dl_driver *drv, int dev) {
  dl_pool *p = dl_block_new(sizeof *p);
  if (!p) return NULL;
  memset(p, 0, sizeof *p);
  p->drv = drv;
  p->dev = dev;
  p->allowed = -1;
  p->fraction = 1;
  p->waiting_end = &p->waiting;
  for (int i = 0; i < DL_POOL_PARTS; i++) p->part[i].unmapped.by_address = true;
  if (dl_conf.fraction < 1) dl_pool_set_fraction(p, dl_conf.fraction);
  if (drv->props(dev, &p->props) != DL_CU_OK) memset(&p->props, 0, sizeof p->props);
  return p;
}

/* The chunks that are handed out outlive the segment; everything else of it goes. */
static void orphan(dl_pool *p, dl_segment *seg) {
  seg->pool = NULL;
  for (dl_chunk *c = seg->first, *next; c; c = next) {
    next = c->next;
    if (c->used) seg->orphans++;
    else dl_block_free(c, sizeof *c);
  }
  if (seg->orphans == 0) dl_block_free(seg, sizeof *seg);
}

void dl_pool_abandon(dl_pool *p) {
  for (dl_use *u = p->waiting, *next; u; u = next) {
    next = u->next;
    p->drv->event_free(u->event);
    dl_block_free(u, sizeof *u);
  }
  for (dl_segment *seg = p->segments, *next; seg; seg = next) {
    next = seg->next;
    orphan(p, seg);
  }
  dl_chunk *spare = p->spare;
  const dl_driver *drv = p->drv;
  int64_t allowed = p->allowed;
  double fraction = p->fraction;
  dl_props props = p->props;
  *p = (dl_pool){.drv = drv, .dev = p->dev, .spare = spare, .allowed = allowed,
                 .fraction = fraction};
  p->props = props;
  p->waiting_end = &p->waiting;
  for (int i = 0; i < DL_POOL_PARTS; i++) p->part[i].unmapped.by_address = true;
}

void dl_pool_delete(dl_pool *p) {
  if (!p) return;
  dl_pool_flush(p); /* an error here means that the device forgot it all by itself */
  dl_pool_abandon(p);
  dl_block_free(p->spare, sizeof *p->spare);
  dl_block_free(p, sizeof *p);
}

/* ---- sizes -------------------- */

static int64_t round_up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

/* The divisions in force for a size: by power of two from 1 MiB to 32 GiB. */
static int64_t divisions_for(int64_t n) {
  int log = 63 - __builtin_clzll((uint64_t)n) - 20;
  return dl_conf.roundup[log < 0 ? 0 : log > 15 ? 15 : log];
}

static int64_t round_size(int64_t n) {
  if (n < MIN_BLOCK) return MIN_BLOCK;
  int64_t d = divisions_for(n);
  if (d <= 1 || n <= MIN_BLOCK * d) return round_up(n, MIN_BLOCK);
  int64_t floor = (int64_t)1 << (63 - __builtin_clzll((uint64_t)n));
  return round_up(n, floor / d);
}

static int64_t segment_size(int64_t bytes) {
  if (bytes <= SMALL_SIZE) return SMALL_SEGMENT;
  return bytes < MIN_LARGE ? dl_conf.large_segment_size : round_up(bytes, ROUND_LARGE);
}

/* ---- finding -------------------- */

/* For best fit an expandable block is as large as it could become. */
static int64_t could_be(const dl_chunk *c) {
  return c->bytes + (c->next && !c->next->mapped ? c->next->bytes : 0);
}

static dl_chunk *fit_expandable(const dl_set *s, dl_chunk *c, dl_stream stream) {
  if (dl_conf.expandable) {
    for (dl_chunk *next; c->seg->expandable; c = next) {
      next = dl_set_after(c);
      if (!next || next->stream != stream || could_be(next) >= could_be(c)) break;
    }
    return c;
  }
  while (c && c->stream == stream && c->seg->expandable) c = dl_set_after(c);
  return c && c->stream == stream ? c : NULL;
}

/* The best fit among the free chunks; stays in its set. */
static dl_chunk *find_free(dl_pool *p, const dl_request *r) {
  const dl_set *s = &p->part[r->part].free;
  dl_chunk *c = dl_set_from(s, r->stream, r->bytes);
  if (!c || c->stream != r->stream) return NULL;
  if (c->seg->expandable) c = fit_expandable(s, c, r->stream);
  if (!c) return NULL;
  bool oversize = c->bytes >= dl_conf.max_split_size;
  if (r->bytes < dl_conf.max_split_size) return oversize ? NULL : c;
  return c->bytes - r->bytes >= dl_conf.max_non_split_rounding ? NULL : c;
}

/* The card's figures, if it did not tell them when the pool was made. */
static int know_card(dl_pool *p) {
  return p->props.total_memory ? DL_CU_OK : p->drv->props(p->dev, &p->props);
}

/* Ask the driver: a segment, or pages of an expandable one. The chunk is in its set then. */
static int grow(dl_pool *p, dl_request *r, bool retry, dl_chunk **out) {
  int known = know_card(p);
  if (known) return known;
  if (retry) p->stats.num_alloc_retries++;
  if (!r->counted) {
    r->counted = true;
    r->refused = dl_pool_refuse_at > 0 && --dl_pool_refuse_at == 0;
  }
  int64_t reserved = p->stats.reserved_bytes[DL_POOL_ALL].current;
  if (r->refused || (p->allowed >= 0 && reserved + r->segment > p->allowed)) return DL_CU_OOM;
  if (dl_conf.expandable) {
    int code = dl_expand(p, r, out);
    if (code != DL_CU_UNSUPPORTED) return code;
    dl_warn(true, "UserWarning", "expandable_segments not supported on this platform");
    dl_conf.expandable = false;
  }

  dl_chunk *c;
  dl_segment *seg = dl_segment_new(p, r->segment, r->part, r->stream, &c);
  if (!seg) {
    dl_pool_host_short();
    return DL_CU_RAISED;
  }
  void *addr;
  int code = p->drv->mem_new(p->dev, (size_t)r->segment, &addr);
  if (code) {
    dl_segment_drop(p, seg);
    return code;
  }
  seg->addr = c->addr = addr;
  dl_set_add(&p->part[r->part].free, c);
  dl_stats_up(p->stats.segment, r->part, 1);
  dl_stats_up(p->stats.reserved_bytes, r->part, r->segment);
  p->stats.num_device_alloc++;
  if (r->segment >= dl_conf.max_split_size) dl_stat_up(&p->stats.oversize_segments, 1);
  dl_pool_tell(p, DL_POOL_SEGMENT_TAKEN, addr, r->segment, r->stream);
  *out = c;
  return DL_CU_OK;
}

/* The collector may have freed a chunk that fits. */
static dl_chunk *find_collected(dl_pool *p, const dl_request *r, bool last_resort) {
  if (!dl_pool_collect || !dl_pool_collect(last_resort)) return NULL;
  return dl_pool_poll_events(p, false) ? NULL : find_free(p, r);
}

/* No cached block fits. */
static dl_status find_slowly(dl_pool *p, dl_request *r, dl_chunk **out) {
  if ((*out = find_collected(p, r, false))) return DL_OK;
  bool enough = false;
  int code = DL_CU_OK;
  if (p->allowed >= 0 && dl_conf.gc_threshold > 0) code = dl_pool_collect_old(p);
  if (!code) code = grow(p, r, false, out);
  if (code == DL_CU_OOM && (*out = find_collected(p, r, true))) return DL_OK;
  if (code == DL_CU_OOM) {
    int failed = dl_pool_release_oversize(p, r, &enough);
    code = failed ? failed : enough ? grow(p, r, false, out) : DL_CU_OOM;
  }
  if (code == DL_CU_OOM) {
    int failed = dl_pool_flush(p);
    code = failed ? failed : grow(p, r, true, out);
  }
  if (code == DL_CU_OOM) return dl_pool_out_of_memory(p, r);
  return dl_gpu_error(code);
}

/* ---- handing out -------------------- */

static bool should_split(const dl_chunk *c, const dl_request *r) {
  int64_t rest = c->bytes - r->bytes;
  if (r->part == DL_POOL_SMALL || dl_conf.expandable) return rest >= MIN_BLOCK;
  return r->bytes < dl_conf.max_split_size && rest > SMALL_SIZE;
}

/* The front of a free chunk as a chunk of its own. The rest stays in its set: mostly at its place
 * there, as nothing smaller than the request was left of it. */
static dl_chunk *split(dl_pool *p, dl_chunk *rest, int64_t bytes) {
  dl_chunk *c = dl_chunk_new(p); /* the spare one */
  dl_set *s = &p->part[rest->seg->part].free;
  dl_chunk *before = dl_set_before(rest);
  bool stays = !before || before->stream != rest->stream || before->bytes < rest->bytes - bytes;
  if (!stays) dl_set_remove(s, rest);
  c->seg = rest->seg;
  c->stream = rest->stream;
  c->addr = rest->addr;
  c->bytes = bytes;
  c->prev = rest->prev;
  c->next = rest;
  if (c->prev) c->prev->next = c;
  else c->seg->first = c;
  rest->prev = c;
  rest->addr += bytes;
  rest->bytes -= bytes;
  if (!stays) dl_set_add(s, rest);
  return c;
}

static dl_chunk *hand_out(dl_pool *p, dl_chunk *c, const dl_request *r) {
  dl_pool_stats *st = &p->stats;
  int part = r->part;
  bool was_split = dl_chunk_split(c), counts = !c->seg->expandable;
  if (should_split(c, r)) {
    c = split(p, c, r->bytes);
    if (counts && was_split) {
      dl_stats_down(st->inactive_split_bytes, part, c->bytes);
    } else if (counts) {
      dl_stats_up(st->inactive_split_bytes, part, c->next->bytes);
      dl_stats_up(st->inactive_split, part, 1);
    }
  } else {
    dl_set_remove(&p->part[part].free, c);
    if (counts && was_split) {
      dl_stats_down(st->inactive_split_bytes, part, c->bytes);
      dl_stats_down(st->inactive_split, part, 1);
    }
  }
  c->used = true;
  c->requested = r->asked;
  dl_stats_up(st->allocation, part, 1);
  dl_stats_up(st->allocated_bytes, part, c->bytes);
  dl_stats_up(st->active, part, 1);
  dl_stats_up(st->active_bytes, part, c->bytes);
  dl_stats_up(st->requested_bytes, part, r->asked);
  if (c->bytes >= dl_conf.max_split_size) dl_stat_up(&st->oversize_allocations, 1);
  dl_pool_tell(p, DL_POOL_TAKEN, c->addr, c->requested, c->stream);
  return c;
}

/* Without caching each request is the driver's, and nothing is counted. */
static dl_status alloc_direct(dl_pool *p, dl_request *r, dl_chunk **out) {
  dl_chunk *c;
  dl_segment *seg = dl_segment_new(p, r->asked, r->part, r->stream, &c);
  if (!seg) return dl_pool_host_short();
  void *addr = NULL;
  r->refused = dl_pool_refuse_at > 0 && --dl_pool_refuse_at == 0;
  int code = r->refused ? DL_CU_OOM : p->drv->mem_new(p->dev, (size_t)r->asked, &addr);
  if (code) {
    dl_segment_drop(p, seg);
    return code == DL_CU_OOM ? dl_pool_out_of_memory(p, r) : dl_gpu_error(code);
  }
  seg->direct = c->used = true;
  seg->addr = c->addr = addr;
  *out = c;
  return DL_OK;
}

dl_status dl_pool_alloc(dl_pool *p, size_t n, dl_stream s, dl_chunk **out) {
  *out = NULL;
  if (n >= (size_t)1 << 60)
    return dl_fail(DL_OutOfMemoryError, DL_E_OOM,
                   "CUDA out of memory. Tried to allocate more than 1EB memory.");
  int64_t bytes = round_size((int64_t)n);
  if (dl_pool_pace) dl_pool_pace(p, p->dev, bytes);
  if (!p->spare && !(p->spare = dl_block_new(sizeof *p->spare))) return dl_pool_host_short();
  int code = p->waiting ? dl_pool_poll_events(p, false) : DL_CU_OK;
  if (code) return dl_gpu_error(code);
  dl_request r = {.asked = (int64_t)n, .bytes = bytes, .segment = segment_size(bytes), .stream = s,
                  .part = bytes <= SMALL_SIZE ? DL_POOL_SMALL : DL_POOL_LARGE};
  if (dl_conf.no_caching) return alloc_direct(p, &r, out);
  if (p->allowed >= 0 && dl_conf.gc_threshold > 0) p->part[r.part].lookups++;
  dl_chunk *c = find_free(p, &r);
  if (!c) DL_TRY(find_slowly(p, &r, &c));
  if (!p->spare && !(p->spare = dl_block_new(sizeof *p->spare))) return dl_pool_host_short();
  *out = hand_out(p, c, &r);
  return DL_OK;
}

/* ---- taking back -------------------- */

static inline bool joins(const dl_chunk *c, const dl_chunk *n) {
  return n && dl_chunk_idle(n) && n->mapped == c->mapped;
}

int dl_chunk_settle(dl_pool *p, dl_chunk *c, int64_t *gained) {
  dl_part *part = &p->part[c->seg->part];
  dl_set *s = c->mapped ? &part->free : &part->unmapped;
  dl_chunk *prev = joins(c, c->prev) ? c->prev : NULL;
  dl_chunk *next = joins(c, c->next) ? c->next : NULL;
  *gained = (prev ? prev->bytes : 0) + (next ? next->bytes : 0);
  c->bytes += *gained;
  c->born = part->lookups;
  if (prev) {
    c->addr = prev->addr;
    c->prev = prev->prev;
    if (c->prev) c->prev->next = c;
    else c->seg->first = c;
  }
  if (next) {
    c->next = next->next;
    if (c->next) c->next->prev = c;
  }
  if (prev && next) dl_set_remove(s, prev);
  if (prev || next) dl_set_swap(s, next ? next : prev, c);
  else dl_set_add(s, c);
  if (prev) dl_chunk_drop(p, prev);
  if (next) dl_chunk_drop(p, next);
  return (prev != NULL) + (next != NULL);
}

static void free_direct(dl_chunk *c) {
  dl_segment *seg = c->seg;
  dl_pool *p = seg->pool;
  p->drv->mem_free(p->dev, seg->addr, (size_t)seg->bytes);
  dl_segment_drop(p, seg);
}

static void drop_uses(dl_chunk *c) {
  for (dl_use *u = c->uses, *next; u; u = next) {
    next = u->next;
    dl_block_free(u, sizeof *u);
  }
  c->uses = NULL;
}

void dl_pool_free(dl_chunk *c) {
  if (!c) return;
  dl_segment *seg = c->seg;
  dl_pool *p = seg->pool;
  if (!p) {
    drop_uses(c);
    dl_block_free(c, sizeof *c);
    if (--seg->orphans == 0) dl_block_free(seg, sizeof *seg);
    return;
  }
  if (seg->direct) {
    drop_uses(c);
    free_direct(c);
    return;
  }
  c->used = false;
  dl_pool_tell(p, DL_POOL_FREE_REQUESTED, c->addr, c->requested, c->stream);
  dl_stats_down(p->stats.allocation, seg->part, 1);
  dl_stats_down(p->stats.allocated_bytes, seg->part, c->bytes);
  if (c->bytes >= dl_conf.max_split_size) dl_stat_down(&p->stats.oversize_allocations, 1);
  if (c->uses) dl_pool_await(p, c);
  if (c->events == 0) dl_pool_give_back(p, c);
}

dl_status dl_pool_record_stream(dl_chunk *c, dl_stream s) {
  if (s == c->stream || !c->seg->pool) return DL_OK;
  for (dl_use *u = c->uses; u; u = u->next)
    if (u->stream == s) return DL_OK;
  dl_use *u = dl_block_new(sizeof *u);
  if (!u) return dl_pool_host_short();
  *u = (dl_use){.next = c->uses, .stream = s, .chunk = c};
  c->uses = u;
  return DL_OK;
}

void *dl_chunk_ptr(const dl_chunk *c) { return c->addr; }
size_t dl_chunk_bytes(const dl_chunk *c) { return (size_t)c->bytes; }
