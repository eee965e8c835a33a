/* debug.c -- dlrepl.debug: what tests need to see and to force, and the clock
 *
 * For tests/ and for whoever hunts a leak: counts of what is alive, allocations refused on demand,
 * the collector forced in every binding call, a smaller machine.
 * MUST NOT  be needed by any feature. */
#include <time.h>

#include "bind/bind.h"

/* dlrepl.clock(): seconds of a monotonic clock, for measuring */
static int l_clock(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (lua_Number)t.tv_sec + 1e-9 * (lua_Number)t.tv_nsec);
  return 1;
}

/* live() -> tensors, graph nodes, bytes of tensor data and engine blocks that something still
 * holds. Hooks of a dead tensor wait in a queue and may hold tensors themselves, hence several
 * rounds. */
static int l_live(lua_State *L) {
  for (int round = 0; round < 3; round++) {
    lua_gc(L, LUA_GCCOLLECT);
    dl_slot_drain(L);
  }
  lua_gc(L, LUA_GCCOLLECT);
  lua_pushinteger(L, dl_tensors_live);
  lua_pushinteger(L, dl_nodes_live);
  lua_pushinteger(L, dl_mem.live_bytes);
  return 3;
}

/* bytes() -> tensor data and engine blocks handed out at this moment, dead boxes included */
static int l_bytes(lua_State *L) {
  lua_pushinteger(L, dl_mem.live_bytes);
  return 1;
}

/* refuse(n): the n-th allocation from now fails; refuse(0) stops. Is it still to come? */
static int l_refuse(lua_State *L) {
  lua_pushboolean(L, dl_mem_refuse_at > 0);
  dl_mem_refuse_at = luaL_optinteger(L, 1, 0);
  return 1;
}

/* requests() -> how many allocations were asked for since start */
static int l_requests(lua_State *L) {
  lua_pushinteger(L, dl_mem.allocs);
  return 1;
}

/* host_cap(bytes): behave as on a machine that can give that much */
static int l_host_cap(lua_State *L) {
  lua_pushinteger(L, dl_mem.cap_bytes);
  if (!lua_isnoneornil(L, 1)) dl_mem.cap_bytes = luaL_checkinteger(L, 1);
  return 1;
}

/* collect_always(bool): a full collection before every op that is called from Lua */
static int l_collect_always(lua_State *L) {
  dl_pace_always = lua_toboolean(L, 1);
  dl_pace_boxes = 0;
  return 0;
}

/* methods() -> sorted names of all tensor methods */
static int l_methods(lua_State *L) {
  int methods = lua_upvalueindex(1);
  lua_newtable(L);
  lua_pushnil(L);
  while (lua_next(L, methods)) {
    if (lua_isfunction(L, -1)) {
      lua_pushvalue(L, -2);
      lua_rawseti(L, -4, (lua_Integer)lua_rawlen(L, -4) + 1);
    }
    lua_pop(L, 1);
  }
  lua_getglobal(L, "table");
  lua_getfield(L, -1, "sort");
  lua_pushvalue(L, -3);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
  return 1;
}

void dl_debug_open(lua_State *L, int dlrepl, int methods) {
  static const luaL_Reg fn[] = {
    {"live", l_live}, {"bytes", l_bytes}, {"refuse", l_refuse}, {"requests", l_requests}, {"host_cap", l_host_cap},
    {"collect_always", l_collect_always}, {NULL, NULL},
  };
  lua_pushcfunction(L, l_clock);
  lua_setfield(L, dlrepl, "clock");
  lua_newtable(L);
  dl_set_funcs(L, lua_gettop(L), fn);
  lua_pushvalue(L, methods);
  lua_pushcclosure(L, l_methods, 1);
  lua_setfield(L, -2, "methods");
  lua_setfield(L, dlrepl, "debug");
}
