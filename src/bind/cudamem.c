/* cudamem.c -- torch.cuda's memory figures, and when Lua's garbage is collected for them
 *
 * For lua/torch/cuda/memory.lua, which makes tables and text of them. Python frees a tensor when
 * its last name goes; Lua frees it at the next collection. So that the figures mean what they mean
 * in PyTorch, garbage is collected when a figure is read, before the pool grows, and before an
 * allocation would set a new peak.
 *
 * INVARIANT  Without a GPU the figures are 0, as in PyTorch; what changes something raises.
 * MUST NOT   know tensors. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "op/explain.h"
#include "op/workspace.h"

#include <stdlib.h>
#include <string.h>

/* A full collection costs 100 to 200 microseconds, so a program has a purse: each allocation puts
 * a coin in and one for each 64 KiB, each collection for a peak's sake takes PRICE out. Programs of
 * lesson size never empty it, and their peaks are exact; those of long loops of small tensors may
 * hold what a loop left in 64 allocations. */
enum { PRICE = 64, PURSE = 1000 * PRICE };

static bool exact;               /* dlrepl.exact_memory: collect before each allocation */
static int coins = PURSE;

/* ---- collecting ----------------------------------------------------------------------------- */
static bool collect(bool last_resort) { return dl_collect(false); }

/* Before a request of so many bytes: would garbage show in a peak? */
static void pace(dl_pool *p, int dev, int64_t bytes) {
  const dl_stat *a = &dl_pool_figures(p)->allocated_bytes[0];
  (void)dev;
  if (!exact) {
    coins += 1 + (int)(bytes >> 20 ? PRICE : bytes >> 16);
    if (coins > PURSE) coins = PURSE;
    if (a->current + bytes <= a->peak) return;
    dl_collect(true);
    if (a->current + bytes <= a->peak || coins < PRICE) return;
    coins -= PRICE;
  }
  dl_collect(false);
}

/* exact_memory([on]) -> was it on? */
static int l_exact_memory(lua_State *L) {
  lua_pushboolean(L, exact);
  if (!lua_isnoneornil(L, 1)) {
    if (!lua_isboolean(L, 1))
      return dl_type_error(L, "exact_memory(): argument 'on' must be bool, not %s",
                           dl_type_name(L, 1));
    exact = lua_toboolean(L, 1);
  }
  return 1;
}

/* ---- devices -------------------------------------------------------------------------------- */
/* The pool of the device at i (nil: the current one) for reading figures; NULL without a GPU. */
static dl_pool *figures_of(lua_State *L, int i, const char *fn) {
  if (!dl_gpu) return NULL;
  dl_lua = L;
  int dev = dl_check_gpu(L, i, fn);
  dl_collect(false);
  dl_pool *p = dl_gpu_pool(dev);
  if (!p) dl_throw(L, DL_MemoryError, DL_E_OOM, "the host has no memory left for a GPU's pool");
  return p;
}
/* The same where there must be one. */
static dl_pool *pool_of(lua_State *L, int i, const char *fn) {
  if (!dl_gpu) dl_check_gpu(L, i, fn);
  return figures_of(L, i, fn);
}
static void must(lua_State *L, dl_status st) {
  if (st != DL_OK) dl_raise(L, st);
}

static int push_figure(lua_State *L, const char *fn, size_t stat, size_t field) {
  dl_pool *p = figures_of(L, 1, fn);
  const char *s = p ? (const char *)dl_pool_figures(p) : NULL;
  lua_pushinteger(L, s ? *(const int64_t *)(s + stat + field) : 0);
  return 1;
}
#define FIGURE(name, stat, field)                                                              \
  static int l_##name(lua_State *L) {                                                          \
    return push_figure(L, #name, offsetof(dl_pool_stats, stat), offsetof(dl_stat, field));     \
  }
FIGURE(memory_allocated, allocated_bytes, current)
FIGURE(max_memory_allocated, allocated_bytes, peak)
FIGURE(memory_reserved, reserved_bytes, current)
FIGURE(max_memory_reserved, reserved_bytes, peak)

/* ---- all statistics ------------------------------------------------------------------------- */
static void put_stat(lua_State *L, const char *k, const dl_stat *s) {
  lua_createtable(L, 0, 4);
  dl_put_int(L, "current", s->current);
  dl_put_int(L, "peak", s->peak);
  dl_put_int(L, "allocated", s->allocated);
  dl_put_int(L, "freed", s->freed);
  lua_setfield(L, -2, k);
}

static void put_parts(lua_State *L, const char *k, const dl_stat s[3]) {
  static const char *const part[] = {"all", "small_pool", "large_pool"};
  lua_createtable(L, 0, 3);
  for (int i = 0; i < 3; i++) put_stat(L, part[i], &s[i]);
  lua_setfield(L, -2, k);
}

/* _stats(device) -> memory_stats_as_nested_dict; nil without a GPU */
static int l_stats(lua_State *L) {
  dl_pool *p = figures_of(L, 1, "memory_stats");
  if (!p) return 0;
  const dl_pool_stats *s = dl_pool_figures(p);
  lua_createtable(L, 0, 20);
  put_parts(L, "allocation", s->allocation);
  put_parts(L, "segment", s->segment);
  put_parts(L, "active", s->active);
  put_parts(L, "inactive_split", s->inactive_split);
  put_parts(L, "allocated_bytes", s->allocated_bytes);
  put_parts(L, "reserved_bytes", s->reserved_bytes);
  put_parts(L, "active_bytes", s->active_bytes);
  put_parts(L, "inactive_split_bytes", s->inactive_split_bytes);
  put_parts(L, "requested_bytes", s->requested_bytes);
  put_stat(L, "oversize_allocations", &s->oversize_allocations);
  put_stat(L, "oversize_segments", &s->oversize_segments);
  dl_put_int(L, "num_alloc_retries", s->num_alloc_retries);
  dl_put_int(L, "num_ooms", s->num_ooms);
  dl_put_int(L, "num_sync_all_streams", s->num_sync_all_streams);
  dl_put_int(L, "num_device_alloc", s->num_device_alloc);
  dl_put_int(L, "num_device_free", s->num_device_free);
  dl_put_int(L, "max_split_size", s->max_split_size);
  return 1;
}

static int l_reset_peak(lua_State *L) {
  dl_pool_reset_peak(pool_of(L, 1, "reset_peak_memory_stats"));
  return 0;
}
static int l_reset_accumulated(lua_State *L) {
  dl_pool_reset_accumulated(pool_of(L, 1, "reset_accumulated_memory_stats"));
  return 0;
}

static int l_empty_cache(lua_State *L) {
  dl_lua = L;
  if (dl_gpu) dl_collect(false);
  for (int dev = 0; dev < dl_gpu_count(); dev++) {
    dl_pool *p = dl_gpu_pool(dev);
    if (p) must(L, dl_pool_empty_cache(p));
  }
  return 0;
}

/* mem_get_info(device) -> free, total: the whole card's, other programs included */
static int l_mem_get_info(lua_State *L) {
  int dev = dl_check_gpu(L, 1, "mem_get_info");
  size_t free_now = 0, total = 0;
  dl_lua = L;
  dl_collect(false);
  must(L, dl_gpu_error(dl_gpu->mem_info(dev, &free_now, &total)));
  lua_pushinteger(L, (lua_Integer)free_now);
  lua_pushinteger(L, (lua_Integer)total);
  return 2;
}

/* ---- limits and options --------------------------------------------------------------------- */
static int l_set_fraction(lua_State *L) {
  if (lua_type(L, 1) != LUA_TNUMBER || lua_isinteger(L, 1)) {
    dl_check_gpu(L, 2, "set_per_process_memory_fraction");
    return dl_type_error(L, "Invalid type for fraction argument, must be `float`");
  }
  dl_pool *p = pool_of(L, 2, "set_per_process_memory_fraction");
  must(L, dl_pool_set_fraction(p, lua_tonumber(L, 1)));
  return 0;
}
static int l_get_fraction(lua_State *L) {
  lua_pushnumber(L, dl_pool_fraction(pool_of(L, 1, "get_per_process_memory_fraction")));
  return 1;
}

static int l_set_settings(lua_State *L) {
  if (lua_type(L, 1) != LUA_TSTRING)
    return dl_type_error(L, "_set_allocator_settings(): argument 'env' (position 1) must be str, "
                         "not %s", dl_type_name(L, 1));
  must(L, dl_pool_conf_parse(lua_tostring(L, 1)));
  return 0;
}

/* _settings() -> what the allocator's options are, as PyTorch's snapshot has them */
static int l_settings(lua_State *L) {
  static const char *const mb[] = {"1", "2", "4", "8", "16", "32", "64", "128", "256", "512",
                                   "1024", "2048", "4096", "8192", "16384", "32768"};
  bool limited = dl_conf.max_split_size != INT64_MAX;
  lua_newtable(L);
  dl_put_int(L, "max_split_size", limited ? dl_conf.max_split_size : -1);
  lua_pushnumber(L, dl_conf.gc_threshold);
  lua_setfield(L, -2, "garbage_collection_threshold");
  lua_pushboolean(L, dl_conf.expandable);
  lua_setfield(L, -2, "expandable_segments");
  lua_newtable(L);
  for (int i = 0; i < 16; i++) dl_put_int(L, mb[i], dl_conf.roundup[i]);
  lua_setfield(L, -2, "roundup_power2_divisions");
  return 1;
}

/* ---- out of memory --------------------------------------------------------------------------- */
/* last_oom() -> what the last out of memory was explained with, or nil: {asked =, live =,
 * capacity =, holes =, largest_hole =, retained =, whole =, workspace =, why = "size" …,
 * keeper = "losses" or nil,
 * roles = {parameter = bytes, …},
 * holders = {{source =, line =, op =, role =, count =, bytes =}, …},
 * advice = {{saves =, whole =, text =}, …}} */
static void put_holders(lua_State *L, const dl_explanation *e) {
  lua_createtable(L, e->holders, 0);
  for (int i = 0; i < e->holders; i++) {
    const dl_holder *h = &e->holder[i];
    lua_createtable(L, 0, 6);
    dl_put_str(L, "source", h->source);
    dl_put_str(L, "op", h->op);
    dl_put_str(L, "role", dl_role_name[h->role]);
    dl_put_int(L, "line", h->line);
    dl_put_int(L, "count", h->count);
    dl_put_int(L, "bytes", h->bytes);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "holders");
}

static int l_last_oom(lua_State *L) {
  const dl_explanation *e = dl_last_oom();
  if (e->asked == 0) return 0;
  lua_createtable(L, 0, 10);
  dl_put_int(L, "asked", e->asked);
  dl_put_int(L, "live", e->live);
  dl_put_int(L, "capacity", e->capacity);
  dl_put_int(L, "holes", e->holes);
  dl_put_int(L, "largest_hole", e->largest_hole);
  dl_put_int(L, "retained", e->retained);
  dl_put_int(L, "whole", e->whole);
  dl_put_str(L, "keeper", *e->keeper.path ? e->keeper.path : NULL);
  dl_put_int(L, "workspace", e->workspace);
  dl_put_str(L, "why", dl_verdict_name[e->verdict]);
  lua_createtable(L, 0, DL_ROLE_COUNT);
  for (int r = 0; r < DL_ROLE_COUNT; r++) dl_put_int(L, dl_role_name[r], e->role[r]);
  lua_setfield(L, -2, "roles");
  put_holders(L, e);
  lua_createtable(L, e->advices, 0);
  for (int i = 0; i < e->advices; i++) {
    lua_createtable(L, 0, 2);
    dl_put_int(L, "saves", e->advice[i].saves);
    dl_put_int(L, "whole", e->advice[i].whole);
    dl_put_str(L, "text", e->advice[i].text);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "advice");
  return 1;
}

/* _evaluating(on): a model was put into evaluation, or into training */
static int l_evaluating(lua_State *L) {
  dl_phase_eval = lua_toboolean(L, 1);
  return 0;
}

static int l_clear_workspaces(lua_State *L) {
  (void)L;
  dl_workspace_clear();
  return 0;
}

/* refuse_device(n): the n-th request that reaches the driver finds it out of memory (0: none);
 * true if an earlier request for that was never met. With no_caching every request does. */
static int l_refuse_device(lua_State *L) {
  lua_pushboolean(L, dl_pool_refuse_at > 0);
  dl_pool_refuse_at = luaL_optinteger(L, 1, 0);
  if (lua_isboolean(L, 2)) dl_conf.no_caching = lua_toboolean(L, 2);
  return 1;
}

void dl_cudamem_open(lua_State *L, int cuda, int dlrepl) {
  static const luaL_Reg fn[] = {
      {"memory_allocated", l_memory_allocated}, {"max_memory_allocated", l_max_memory_allocated},
      {"memory_reserved", l_memory_reserved}, {"max_memory_reserved", l_max_memory_reserved},
      {"reset_peak_memory_stats", l_reset_peak},
      {"reset_accumulated_memory_stats", l_reset_accumulated}, {"empty_cache", l_empty_cache},
      {"mem_get_info", l_mem_get_info}, {"set_per_process_memory_fraction", l_set_fraction},
      {"get_per_process_memory_fraction", l_get_fraction}, {"_stats", l_stats},
      {"_settings", l_settings},
      {"_set_allocator_settings", l_set_settings},
      {"_clear_cublas_workspaces", l_clear_workspaces}, {NULL, NULL}};
  dl_set_funcs(L, cuda, fn);
  dl_snapshot_open(L, cuda);
  lua_pushcfunction(L, l_exact_memory);
  lua_setfield(L, dlrepl, "exact_memory");
  lua_pushcfunction(L, l_evaluating);
  lua_setfield(L, dlrepl, "_evaluating");
  lua_getfield(L, dlrepl, "debug");
  lua_pushcfunction(L, l_refuse_device);
  lua_setfield(L, -2, "refuse_device");
  lua_pushcfunction(L, l_last_oom);
  lua_setfield(L, -2, "last_oom");
  lua_pop(L, 1);
  dl_pool_collect = collect;
  dl_pool_pace = pace;
  dl_pool_explain = dl_explain_oom;
}
