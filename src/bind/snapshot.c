/* snapshot.c -- what a GPU's pool holds, block by block, and what it did, event by event
 *
 * For lua/torch/cuda/memory.lua: memory_snapshot, _record_memory_history, _snapshot. The history is
 * a ring: the newest events stay. Who frees is not asked for: it is the collector, mostly.
 *
 * INVARIANT  While no history is kept nothing is remembered and a pool calls nobody.
 * MUST NOT   change a pool. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "tensor/devmem.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FRAMES = 4 };

static void push_frame(lua_State *L, const char *source, const char *name, int line) {
  lua_createtable(L, 0, 3);
  dl_put_str(L, "filename", *source == '@' || *source == '=' ? source + 1 : source);
  dl_put_str(L, "name", name);
  dl_put_int(L, "line", line);
}

/* ---- segments ------------------------------------------------------------------------------- */
typedef struct picture { dl_pool_item *item; int n, cap; } picture;

static void count_item(void *ctx, const dl_pool_item *it) {
  (void)it;
  ((picture *)ctx)->n++;
}
static void keep_item(void *ctx, const dl_pool_item *it) {
  picture *p = ctx;
  if (p->n < p->cap) p->item[p->n++] = *it;
}

/* A list of the one line that made a tensor; `of` as the name where nobody knows a function's. */
static void push_line(lua_State *L, const dl_where *w, const char *of) {
  lua_createtable(L, 1, 0);
  if (!w->source) return;
  push_frame(L, w->source, of ? of : "", w->line);
  lua_rawseti(L, -2, 1);
}

/* What a device's tensors lie on, by address. Copies: pushing anything may collect a tensor. */
typedef struct made { uint64_t addr; dl_where where; const char *op; } made;
typedef struct maker { made *at; size_t n; } maker;

static int by_address(const void *a, const void *b) {
  uint64_t x = ((const made *)a)->addr, y = ((const made *)b)->addr;
  return (x > y) - (x < y);
}

/* Pushes the memory of what it gives. */
static maker push_made(lua_State *L, int dev) {
  size_t cap = 0;
  maker k = {NULL, 0};
  for (dl_devmem *m = dl_devmem_first; m; m = m->next) cap++;
  k.at = lua_newuserdatauv(L, cap * sizeof *k.at + 1, 0);
  for (dl_devmem *m = dl_devmem_first; m && k.n < cap; m = m->next) {
    if (m->st->dev.index != dev || !dl_devmem_lives(m)) continue;
    k.at[k.n++] = (made){(uint64_t)(uintptr_t)dl_chunk_ptr(m->chunk), m->where, m->op};
  }
  if (k.n) qsort(k.at, k.n, sizeof *k.at, by_address);
  return k;
}

static void push_block(lua_State *L, const dl_pool_item *it, const maker *k) {
  static const char *const state[] = {"inactive", "active_allocated", "active_awaiting_free"};
  static const made nobody;
  made key = {.addr = it->address};
  const made *m = it->state == 1 && k->n
                      ? bsearch(&key, k->at, k->n, sizeof key, by_address) : NULL;
  if (!m) m = &nobody;
  lua_createtable(L, 0, 5);
  dl_put_int(L, "address", (int64_t)it->address);
  dl_put_int(L, "size", it->bytes);
  dl_put_int(L, "requested_size", it->requested);
  dl_put_str(L, "state", state[it->state]);
  push_line(L, &m->where, m->op);
  lua_setfield(L, -2, "frames");
}

/* The segment whose blocks begin at item i; returns where the next begins. */
static int push_segment(lua_State *L, const picture *p, int i, int dev, const maker *k) {
  const dl_pool_item *head = &p->item[i];
  int64_t sum[3] = {0, 0, 0};   /* allocated, active, requested */
  int n = 0;
  lua_createtable(L, 0, 12);
  lua_newtable(L);
  for (; i < p->n && p->item[i].segment == head->segment; i++) {
    const dl_pool_item *it = &p->item[i];
    if (it->state == 1) sum[0] += it->bytes;
    if (it->state) sum[1] += it->bytes, sum[2] += it->requested;
    push_block(L, it, k);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "blocks");
  dl_put_int(L, "device", dev);
  dl_put_int(L, "address", (int64_t)head->segment);
  dl_put_int(L, "total_size", head->segment_bytes);
  dl_put_int(L, "allocated_size", sum[0]);
  dl_put_int(L, "active_size", sum[1]);
  dl_put_int(L, "requested_size", sum[2]);
  dl_put_int(L, "stream", head->stream);
  dl_put_str(L, "segment_type", head->small ? "small" : "large");
  lua_pushboolean(L, head->expandable);
  lua_setfield(L, -2, "is_expandable");
  lua_newtable(L);
  lua_setfield(L, -2, "frames");
  return i;
}

/* _segments() -> list of all devices' segments with their blocks, by address */
static int l_segments(lua_State *L) {
  int at = 0;
  lua_newtable(L);
  dl_lua = L;
  if (dl_gpu) dl_collect(false);
  for (int dev = 0; dev < dl_gpu_count(); dev++) {
    picture p = {0};
    dl_pool *pool = dl_gpu_pool(dev);
    if (!pool) continue;
    dl_pool_walk(pool, count_item, &p);
    p.cap = p.n;
    p.n = 0;
    p.item = lua_newuserdatauv(L, (size_t)p.cap * sizeof *p.item + 1, 0);
    dl_pool_walk(pool, keep_item, &p);
    maker made = push_made(L, dev);
    int top = lua_gettop(L);
    for (int i = 0; i < p.n;) {
      i = push_segment(L, &p, i, dev, &made);
      lua_rawseti(L, top - 2, ++at);
    }
    lua_pop(L, 2);
  }
  return 1;
}

/* ---- history -------------------------------------------------------------------------------- */
typedef struct event {
  uint64_t addr;
  int64_t bytes, us;
  dl_stream stream;
  uint8_t what, dev, frames;
  dl_frame frame[FRAMES];
} event;

static struct {
  event *at;
  int64_t n, cap, most, next;    /* next: where the ring goes on once n is most */
  bool stacks;
} history;

/* Where the next event goes: a new place, or the oldest one's; NULL without memory for any. */
static event *place(void) {
  if (history.n < history.most && history.n == history.cap) {
    int64_t cap = history.cap ? 2 * history.cap : 1024;
    if (cap > history.most) cap = history.most;
    event *bigger = realloc(history.at, (size_t)cap * sizeof *bigger);
    if (bigger) history.at = bigger, history.cap = cap;
    else history.most = history.n;
  }
  if (history.n < history.most) return &history.at[history.n++];
  if (history.most == 0) return NULL;
  if (history.next >= history.most) history.next = 0;
  return &history.at[history.next++];
}

static void keep(int dev, dl_pool_event what, uint64_t addr, int64_t bytes, dl_stream s) {
  event *e = place();
  struct timespec t;
  bool frees = what == DL_POOL_FREE_REQUESTED || what == DL_POOL_FREE_COMPLETED ||
               what == DL_POOL_SEGMENT_FREED || what == DL_POOL_UNMAPPED;
  if (!e) return;
  clock_gettime(CLOCK_REALTIME, &t);
  *e = (event){.addr = addr, .bytes = bytes, .stream = s, .what = (uint8_t)what,
               .dev = (uint8_t)dev, .us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000};
  if (history.stacks && !frees) e->frames = (uint8_t)dl_where_stack(e->frame, FRAMES);
}

static void forget(void) {
  free(history.at);
  history.at = NULL;
  history.n = history.cap = history.next = 0;
}

static void turn(int64_t from, int64_t to) {
  for (; from < --to; from++) {
    event e = history.at[from];
    history.at[from] = history.at[to];
    history.at[to] = e;
  }
}

/* The ring gets another length: the oldest comes first again, and goes first. */
static void resize(int64_t most) {
  int64_t n = history.n, over = n > most ? n - most : 0;
  if (history.next) turn(0, history.next), turn(history.next, n), turn(0, n);
  if (over) memmove(history.at, history.at + over, (size_t)(n - over) * sizeof *history.at);
  history.n = n - over;
  history.next = 0;
  history.most = most;
}

/* _history(on, stacks, most, clear) */
static int l_history(lua_State *L) {
  bool on = lua_toboolean(L, 1);
  int64_t most = luaL_checkinteger(L, 3);
  if (on && !dl_gpu) dl_check_gpu(L, 5, "_record_memory_history");
  if (!on || lua_toboolean(L, 4)) forget();
  history.stacks = lua_toboolean(L, 2);
  resize(most);
  dl_pool_trace = on ? keep : NULL;
  return 0;
}

static void push_event(lua_State *L, const event *e) {
  static const char *const action[] = {
      "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
      "segment_unmap", "oom", "snapshot"};
  lua_createtable(L, 0, 6);
  dl_put_str(L, "action", action[e->what]);
  dl_put_int(L, e->what == DL_POOL_OUT_OF_MEMORY ? "device_free" : "addr", (int64_t)e->addr);
  dl_put_int(L, "size", e->bytes);
  dl_put_int(L, "stream", e->stream);
  dl_put_int(L, "time_us", e->us);
  lua_createtable(L, e->frames, 0);
  for (int i = 0; i < e->frames; i++) {
    const dl_frame *f = &e->frame[i];
    push_frame(L, f->source ? f->source : "?", f->name ? f->name : "?", f->line);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "frames");
}

/* _traces() -> {events of device 0, of device 1, …}, oldest first */
static int l_traces(lua_State *L) {
  int devices = dl_gpu_count();
  lua_createtable(L, devices, 0);
  if (dl_pool_trace)
    for (int dev = 0; dev < devices; dev++) keep(dev, DL_POOL_SNAPSHOT, 0, 0, 0);
  for (int dev = 0; dev < devices; dev++) {
    int64_t from = history.n == history.most ? history.next : 0;
    int at = 0;
    lua_newtable(L);
    for (int64_t i = 0; i < history.n; i++) {
      const event *e = &history.at[(from + i) % history.n];
      if (e->dev != dev) continue;
      push_event(L, e);
      lua_rawseti(L, -2, ++at);
    }
    lua_rawseti(L, -2, dev + 1);
  }
  return 1;
}

void dl_snapshot_open(lua_State *L, int cuda) {
  static const luaL_Reg fn[] = {{"_segments", l_segments}, {"_history", l_history},
                                {"_traces", l_traces}, {NULL, NULL}};
  dl_set_funcs(L, cuda, fn);
}
