/* sim.c -- the simulated GPU for Lua: opening and closing it, its cards, its clock, its faults
 *
 * For lua/dlrepl/sim.lua, which reads the user's words; here are plain tables. dlrepl.debug.sim is
 * for tests and lessons.
 *
 * INVARIANT  Cards that make no sense leave what was open before as it is.
 * MUST NOT   decide what a card is. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "sim/sim.h"
#include "tensor/devmem.h"

#include <math.h>
#include <string.h>

typedef struct cards { dl_card *c[DL_GPU_MAX]; int n; } cards;
static cards own;                /* made for the simulation that runs */
static cards fresh;              /* for the one that is being read */
static const dl_driver *real;    /* the driver that a simulation stands before */

static void free_cards(cards *s) {
  while (s->n) dl_card_free(s->c[--s->n]);
}

/* ---- reading ---- */
static const char *text_at(lua_State *L, int tbl, const char *key) {
  lua_getfield(L, tbl, key);
  const char *s = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 1); /* the table keeps it */
  return s;
}

static double number_at(lua_State *L, int tbl, const char *key, double otherwise) {
  lua_getfield(L, tbl, key);
  double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
  lua_pop(L, 1);
  return v;
}

/* The same within 0 .. most; nan is 0. */
static double bounded_at(lua_State *L, int tbl, const char *key, double otherwise, double most) {
  double v = number_at(L, tbl, key, otherwise);
  return v > most ? most : v > 0 ? v : 0;
}

static int64_t bytes_at(lua_State *L, int tbl, const char *key) {
  lua_getfield(L, tbl, key);
  int64_t v = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
  lua_pop(L, 1);
  return v;
}

static dl_status no_card(const char *name) {
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "there is no card '%s'", name);
  dl_note("dlrepl.cards() lists them");
  return dl_err.kind;
}

/* {base=, name=, title=, figures={{field=, value=, unit=, …}, …}} -> a card of ours */
static dl_status made_card(lua_State *L, int tbl, const dl_card **out) {
  const char *base = text_at(L, tbl, "base");
  const dl_card *from = base ? dl_card_find(base) : NULL;
  dl_card *c;
  if (base && !from) return no_card(base);
  DL_TRY(dl_card_copy(from, text_at(L, tbl, "name"), text_at(L, tbl, "title"), &c));
  fresh.c[fresh.n++] = c;
  *out = c;
  lua_getfield(L, tbl, "figures");
  int figures = lua_gettop(L);
  for (int i = 1, n = (int)lua_rawlen(L, figures); i <= n; i++) {
    lua_rawgeti(L, figures, i);
    int at = lua_gettop(L);
    if (!lua_istable(L, at) || !text_at(L, at, "field"))
      return dl_fail(DL_ValueError, DL_E_ARGUMENT, "figure %d of a card names no field", i);
    dl_figure f = {.field = text_at(L, at, "field"), .unit = text_at(L, at, "unit"),
                   .kind = text_at(L, at, "kind"), .source = text_at(L, at, "source"),
                   .date = text_at(L, at, "date"), .confidence = text_at(L, at, "confidence"),
                   .value = number_at(L, at, "value", NAN)};
    DL_TRY(dl_card_set(c, &f));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return DL_OK;
}

static dl_status read_cards(lua_State *L, dl_sim_options *o) {
  lua_getfield(L, 1, "cards");
  int cards = lua_gettop(L);
  if (!lua_istable(L, cards))
    return dl_fail(DL_TypeError, DL_E_ARGUMENT, "cards are a list of names or tables");
  int64_t n = (int64_t)lua_rawlen(L, cards);
  if (n < 1 || n > DL_GPU_MAX)
    return dl_fail(DL_ValueError, DL_E_ARGUMENT, "1 to %d GPUs can be simulated, not %lld",
                   DL_GPU_MAX, (long long)n);
  for (o->count = 0; o->count < n; o->count++) {
    lua_rawgeti(L, cards, o->count + 1);
    const dl_card **c = &o->card[o->count];
    if (lua_type(L, -1) == LUA_TTABLE) {
      DL_TRY(made_card(L, lua_gettop(L), c));
    } else if (!lua_isstring(L, -1)) {
      return dl_fail(DL_TypeError, DL_E_ARGUMENT, "a card is a name or a table");
    } else {
      *c = dl_card_find(lua_tostring(L, -1));
      if (!*c) return no_card(lua_tostring(L, -1));
    }
    DL_TRY(dl_card_lint(*c));
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
  return DL_OK;
}

/* ---- opening and closing ---- */
/* _sim_live() -> how many tensors' data are on a GPU, their bytes, "file:line" of the oldest */
static int l_live(lua_State *L) {
  int64_t n = 0, bytes = 0;
  const dl_devmem *oldest = NULL;
  for (int round = 0; round < 3; round++) {
    lua_gc(L, LUA_GCCOLLECT);
    dl_slot_drain(L);
  }
  for (const dl_devmem *m = dl_devmem_first; m; m = m->next) {
    if (!dl_devmem_lives(m)) continue;
    if (!oldest) oldest = m;
    bytes += (int64_t)m->nbytes;
    n++;
  }
  lua_pushinteger(L, n);
  lua_pushinteger(L, bytes);
  if (oldest && oldest->where.line)
    lua_pushfstring(L, "%s:%d", oldest->where.source, oldest->where.line);
  else lua_pushnil(L);
  return 3;
}

/* The mode of dry runs stays on after one: its tensors on the CPU are known to hold no numbers. */
static void shut(void) {
  if (!dl_gpu) return;
  bool simulated = dl_gpu->simulated;
  if (!simulated) real = dl_gpu;
  dl_gpu_close();
  if (simulated) dl_sim_close();
  dl_default_device = DL_DEV_CPU;
  free_cards(&own);
}

static int l_open(lua_State *L) {
  dl_sim_options o = {.count = 0};
  const dl_driver *drv;
  luaL_checktype(L, 1, LUA_TTABLE);
  dl_check_idle(L, "simulate");
  lua_settop(L, 1);
  free_cards(&fresh);
  o.memory = bytes_at(L, 1, "memory");
  o.host_budget = bytes_at(L, 1, "host");
  o.host_us_per_op = number_at(L, 1, "host_us_per_op", 0);
  lua_getfield(L, 1, "compute");
  o.compute = lua_isnil(L, -1) || lua_toboolean(L, -1);
  lua_getfield(L, 1, "mps");
  bool mps = lua_toboolean(L, -1);
  dl_status st = read_cards(L, &o);
  if (st == DL_OK) st = dl_sim_lint(&o);
  if (st != DL_OK) {
    free_cards(&fresh);
    return dl_raise(L, st);
  }
  shut();
  own = fresh;
  fresh.n = 0;
  st = dl_sim_open(&o, &drv);
  if (st == DL_OK) {
    st = dl_gpu_open(drv, mps ? DL_MPS : DL_CUDA);
    if (st != DL_OK) dl_sim_close();
  }
  if (st == DL_OK) {
    if (!o.compute) dl_mode |= DL_MODE_DRY;
    return 0;
  }
  free_cards(&own);
  return dl_raise(L, st);
}

static int l_close(lua_State *L) {
  dl_check_idle(L, "simulate");
  if (!dl_gpu || !dl_gpu->simulated) return 0;
  shut();
  if (!real) return 0;
  dl_status st = dl_gpu_open(real, DL_CUDA);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

/* ---- cards ---- */
/* A whole number is an integer to Lua. */
static void push_plain(lua_State *L, double v) {
  lua_Integer i;
  if (lua_numbertointeger(v, &i) && (double)i == v) lua_pushinteger(L, i);
  else lua_pushnumber(L, v);
}

static void push_figure(lua_State *L, const dl_figure *f) {
  lua_createtable(L, 0, 7);
  dl_put_str(L, "field", f->field);
  dl_put_str(L, "unit", f->unit);
  dl_put_str(L, "kind", f->kind);
  dl_put_str(L, "source", f->source);
  dl_put_str(L, "date", f->date);
  dl_put_str(L, "confidence", f->confidence);
  if (isnan(f->value)) return;
  push_plain(L, f->value);
  lua_setfield(L, -2, "value");
}

static void push_card(lua_State *L, const dl_card *c) {
  lua_createtable(L, 0, 3);
  dl_put_str(L, "name", dl_card_name(c));
  dl_put_str(L, "title", dl_card_title(c));
  lua_newtable(L);
  const dl_figure *f;
  for (int i = 0; (f = dl_card_figure_at(c, i)); i++) {
    push_figure(L, f);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "figures");
}

/* _sim_cards() -> a list of {name=, title=, figures=}; _sim_cards(name) -> one, nil if none */
static int l_cards(lua_State *L) {
  const dl_card *c;
  if (!lua_isnoneornil(L, 1)) {
    c = dl_card_find(luaL_checkstring(L, 1));
    if (!c) return 0;
    push_card(L, c);
    return 1;
  }
  lua_newtable(L);
  for (int i = 0; (c = dl_card_at(i)); i++) {
    push_card(L, c);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* ---- the clock ---- */
static void set_bands(lua_State *L) {
  lua_createtable(L, DL_BAND_COUNT, 0);
  for (int i = 0; i < DL_BAND_COUNT; i++) {
    lua_createtable(L, 0, 2);
    dl_put_str(L, "of", dl_sim_bands[i].of);
    dl_put_num(L, "band", dl_sim_bands[i].band);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "bands");
}

/* _sim_report(device) -> what it has done, nil when nothing is simulated */
static int l_report(lua_State *L) {
  dl_sim_report r;
  if (!dl_gpu || !dl_gpu->simulated) return 0;
  int dev = dl_check_gpu(L, 1, "gpu");
  if (dl_sim_look(dev, &r)) return 0;
  const struct { const char *key; double v; } figures[] = {
      {"elapsed_us", r.elapsed_us}, {"busy_us", r.busy_us}, {"peak_us", r.peak_us},
      {"copy_us", r.copy_us}, {"wait_us", r.wait_us}, {"flops", r.flops}, {"bytes", r.bytes},
      {"h2d_bytes", r.h2d_bytes}, {"d2h_bytes", r.d2h_bytes}, {"low_us", r.low_us},
      {"high_us", r.high_us}, {"host_us", dl_gpu->host_us()}};
  lua_newtable(L);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    dl_put_num(L, figures[i].key, figures[i].v);
  dl_put_int(L, "kernels", r.kernels);
  dl_put_int(L, "copies", r.copies);
  dl_put_int(L, "syncs", r.syncs);
  dl_put_int(L, "mallocs", r.mallocs);
  dl_put_int(L, "frees", r.frees);
  dl_props p = {0};
  dl_gpu->props(dev, &p);
  dl_put_int(L, "memory", p.total_memory);
  dl_put_int(L, "context", p.context_bytes);
  set_bands(L);
  lua_pushboolean(L, dl_gpu->dry);
  lua_setfield(L, -2, "dry");
  lua_pushinteger(L, dev);
  lua_setfield(L, -2, "device");
  return 1;
}

#define MOST_US 1e12 /* eleven days: nothing that somebody waits for takes longer */

/* _sim_work(us): the host was busy for so long; gives the host's clock in microseconds, or nil */
static int l_work(lua_State *L) {
  if (!dl_gpu || !dl_gpu->simulated) return 0;
  double us = luaL_optnumber(L, 1, 0);
  if (us > 0 && us < MOST_US) dl_sim_host_work(us);
  lua_pushnumber(L, dl_gpu->host_us());
  return 1;
}

/* ---- a loader's time ---- */
typedef struct feedbox { const dl_tag_info *tag; dl_sim_feed f; } feedbox;
static const dl_tag_info t_feed = {"dlrepl.feed", sizeof(feedbox)};

static feedbox *new_feed(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  feedbox *b = dl_new_object(L, &t_feed);
  b->f = (dl_sim_feed){.workers = (int)bounded_at(L, 1, "workers", 0, DL_SIM_WORKERS),
                       .prefetch = (int)bounded_at(L, 1, "prefetch", 0, 1000),
                       .items = (int64_t)bounded_at(L, 1, "items", 1, 1e9),
                       .item_us = bounded_at(L, 1, "item_us", 0, MOST_US),
                       .pin_us = bounded_at(L, 1, "pin_us", 0, MOST_US),
                       .start_us = bounded_at(L, 1, "start_us", 0, MOST_US)};
  return b;
}

/* _sim_feed{workers=, items=, item_us=, …} -> a function that gives the next batch at the host's
 * clock (moved on to when it is there) */
static int l_feed_next(lua_State *L) {
  feedbox *b = dl_object(L, lua_upvalueindex(1), &t_feed);
  if (!b || !dl_gpu || !dl_gpu->simulated) return 0;
  double now = dl_gpu->host_us(), then = dl_sim_feed_next(&b->f, now);
  dl_sim_host_work(then - now);
  lua_pushnumber(L, then - now);
  return 1;
}

static int l_feed(lua_State *L) {
  feedbox *b = new_feed(L);
  dl_sim_feed_start(&b->f, dl_gpu && dl_gpu->simulated ? dl_gpu->host_us() : 0);
  lua_pushcclosure(L, l_feed_next, 1);
  return 1;
}

/* _sim_loader({workers=, items=, item_us=, …}, batches, step_us) -> microseconds of the whole run
 */
static int l_loader(lua_State *L) {
  int64_t batches = luaL_checkinteger(L, 2);
  luaL_argcheck(L, batches >= 0 && batches <= 10000000, 2, "0 to 10,000,000 batches");
  double step = luaL_checknumber(L, 3);
  lua_pushnumber(L, dl_sim_loader_us(&new_feed(L)->f, batches, step));
  return 1;
}

/* ---- faults ---- */
/* debug.sim{refuse=n, times=1, lose=true, device=0} */
static int l_faults(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (!dl_gpu || !dl_gpu->simulated)
    return dl_throw(L, DL_RuntimeError, DL_E_DEVICE, "no GPU is simulated");
  lua_getfield(L, 1, "device");
  int dev = lua_isnil(L, -1) ? dl_gpu_current() : dl_check_gpu(L, lua_gettop(L), "sim");
  lua_getfield(L, 1, "refuse");
  int64_t times = (int64_t)number_at(L, 1, "times", 1);
  if (!lua_isnil(L, -1)) dl_sim_refuse(dev, luaL_checkinteger(L, -1), times);
  lua_getfield(L, 1, "lose");
  if (lua_toboolean(L, -1)) dl_sim_lose(dev);
  return 0;
}

void dl_sim_bind_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {
      {"_sim_open", l_open}, {"_sim_close", l_close}, {"_sim_live", l_live},
      {"_sim_cards", l_cards}, {"_sim_report", l_report}, {"_sim_work", l_work},
      {"_sim_feed", l_feed}, {"_sim_loader", l_loader}, {NULL, NULL}};
  dl_metatable(L, &t_feed);
  lua_pop(L, 1);
  lua_pushvalue(L, dlrepl);
  luaL_setfuncs(L, funcs, 0);
  lua_getfield(L, -1, "debug");
  lua_pushcfunction(L, l_faults);
  lua_setfield(L, -2, "sim");
  lua_pop(L, 2);
}
