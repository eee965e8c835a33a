/* record.c -- dlrepl.debug.record(function, options): the run record as a plain Lua table
 *
 *     local r = dlrepl.debug.record(function() step(model, x, y) end, {watch=model})
 *     r.kernels   r.flops   r.copies.h2d.count   r.optimizer.taken   r.memory.cpu.peak
 *
 * For lessons, tests and dlrepl.report(). The table is a copy: the record itself stays in C, where
 * a judge reads it with dl_record_get.
 *
 * INVARIANT  The function runs protected: the record ends however it ends. */
#include "bind/record.h"

#include <stdio.h>
#include <string.h>

void dl_record_open(lua_State *L, int dlrepl);

/* ---- watching ------------------------------------------------------------------------------- */
/* the tensor on top of the stack under a name; pops it */
static void watch_one(lua_State *L, const char *name) {
  dl_tensor *t = dl_get_tensor(L, -1);
  if (!t) dl_type_error(L, "record(): watch takes a module or a list of tensors, not %s",
                        dl_type_name(L, -1));
  dl_status st = dl_record_watch(t, name);
  if (st != DL_OK) dl_raise(L, st);
  lua_pop(L, 1);
}

/* dl.record_names: the modules of the model at the top of the stack by their paths */
static void name_modules(lua_State *L) {
  lua_newtable(L);
  lua_getfield(L, -2, "named_modules");
  lua_pushvalue(L, -3);
  lua_call(L, 1, 1);
  int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, -1, 2);
    lua_rawgeti(L, -2, 1);
    lua_rawset(L, list - 1);
    lua_settop(L, list);
  }
  lua_pop(L, 1);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.record_names");
}

/* What model:method() names, the model being at 1. */
static void watch_named(lua_State *L, const char *method, bool buffers) {
  lua_getfield(L, 1, method);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    dl_tensor *t = dl_get_tensor(L, -1);
    if (t) watch_one(L, lua_tostring(L, -2) ? lua_tostring(L, -2) : "");
    if (t && buffers) dl_record_watch_buffer(t);
    lua_settop(L, list);
  }
}

/* watch: a module (its named parameters), or a table of tensors */
static int read_watch(lua_State *L) {
  char name[32];
  if (luaL_getmetafield(L, 1, "module_class") != LUA_TNIL) {
    lua_settop(L, 1);
    name_modules(L);
    watch_named(L, "named_parameters", false);
    watch_named(L, "named_buffers", true);
    return 0;
  }
  if (!lua_istable(L, 1))
    return dl_type_error(L, "record(): watch takes a module or a list of tensors, not %s",
                         dl_type_name(L, 1));
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    if (lua_type(L, -2) == LUA_TSTRING) snprintf(name, sizeof name, "%s", lua_tostring(L, -2));
    else snprintf(name, sizeof name, "%d", (int)lua_tointeger(L, -2));
    watch_one(L, name);
  }
  return 0;
}

/* The module at 1 by its path in the watched model, else by its class. Pushes the text. */
const char *dl_push_module_name(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.record_names");
  if (lua_istable(L, -1)) {
    lua_pushvalue(L, 1);
    if (lua_rawget(L, -2) == LUA_TSTRING && lua_rawlen(L, -1) > 0) {
      lua_remove(L, -2);
      return lua_tostring(L, -1);
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  luaL_getmetafield(L, 1, "__name");
  return lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "Module";
}

/* torch.nn.class makes each call of a module through this while a record is kept: (call, self) */
static int l_module(lua_State *L) {
  int n = lua_gettop(L);
  lua_pushvalue(L, 1);
  lua_remove(L, 1); /* self, …, call */
  lua_getfield(L, 1, "training");
  bool training = lua_toboolean(L, -1);
  int64_t at = dl_record_module(dl_push_module_name(L), training);
  lua_settop(L, n);
  lua_insert(L, 1);
  lua_call(L, n - 1, LUA_MULTRET);
  dl_record_module_end(at);
  return lua_gettop(L);
}

static void set_module_watch(lua_State *L, bool on) {
  lua_pushnil(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.record_names");
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "torch.nn.class");
  lua_remove(L, -2);
  if (lua_isnil(L, -1)) { /* the global require may be another's, as in a judge */
    lua_pop(L, 1);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "torch.nn.class");
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) return lua_pop(L, 1);
  }
  if (lua_istable(L, -1)) {
    if (on) lua_pushcfunction(L, l_module);
    else lua_pushnil(L);
    lua_setfield(L, -2, "watch");
  }
  lua_pop(L, 1);
}

/* ---- record(function, {watch=…, exact=…}) --------------------------------------------------- */
/* What is dead goes, so that what is counted lives. */
static void collect(lua_State *L) {
  for (int round = 0; round < 2; round++) {
    lua_gc(L, LUA_GCCOLLECT);
    dl_slot_drain(L);
  }
}

/* Pushes options.watch, nil without options. */
static bool read_options(lua_State *L) {
  if (!lua_istable(L, 2)) return lua_pushnil(L), false;
  lua_getfield(L, 2, "exact");
  bool exact = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_getfield(L, 2, "watch");
  return exact;
}

/* The record; where the function failed, r.error is what it raised. r.results: what it returned.
 * exact: dead boxes are collected before every op, so that peaks hold only what was reachable. */
static int l_record(lua_State *L) {
  if (!lua_isfunction(L, 1))
    return dl_type_error(L, "record() takes a function, but got %s", dl_type_name(L, 1));
  lua_settop(L, 2);
  bool exact = read_options(L), before = dl_pace_always;
  set_module_watch(L, true);
  collect(L);
  dl_status st = dl_record_start();
  if (st != DL_OK) return dl_raise(L, st);
  if (!lua_isnil(L, 3)) {
    lua_pushcfunction(L, read_watch);
    lua_pushvalue(L, 3);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
      dl_record_free();
      set_module_watch(L, false);
      return lua_error(L);
    }
  }
  lua_settop(L, 2);
  lua_pushvalue(L, 1);
  dl_pace_always = exact || before;
  if (exact) dl_pace_boxes = 0;
  int status = lua_pcall(L, 0, LUA_MULTRET, 0), n = lua_gettop(L) - 2;
  dl_pace_always = before;
  dl_lua = L;
  collect(L);
  dl_record_stop();
  set_module_watch(L, false);
  lua_createtable(L, n, 0);
  lua_insert(L, 3);
  for (int i = n; i >= 1; i--) lua_rawseti(L, 3, i);
  dl_push_record(L, dl_record_get());
  if (status != LUA_OK) {
    lua_rawgeti(L, 3, 1);
    lua_setfield(L, -2, "error");
  } else {
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "results");
  }
  dl_record_free();
  return 1;
}

/* ---- what Lua modules report ---------------------------------------------------------------- */
/* (1, optimizer) a step begins, (0) it ends, (-1) it was skipped */
static int l_step(lua_State *L) {
  dl_record_step((int)luaL_checkinteger(L, 1));
  if (!dl_record_on() || !lua_istable(L, 2)) return 0;
  lua_getfield(L, 2, "param_groups");
  int groups = lua_gettop(L), n = lua_istable(L, groups) ? (int)lua_rawlen(L, groups) : 0;
  for (int i = 1; i <= n; i++) {
    double lr = 0;
    lua_rawgeti(L, groups, i);
    if (lua_istable(L, -1)) lua_getfield(L, -1, "lr");
    dl_tensor *t = dl_get_tensor(L, -1);
    if (t) dl_record_peek(t, &lr);
    else lr = lua_tonumber(L, -1);
    dl_record_lr(lr);
    lua_settop(L, groups);
  }
  return 0;
}

/* the scaler's scale, a 0-dim tensor */
static int l_scale(lua_State *L) {
  dl_tensor *t = dl_get_tensor(L, 1);
  double v;
  if (t && dl_record_on() && dl_record_peek(t, &v)) dl_record_scale(v);
  return 0;
}

static void mark(lua_State *L, int i, dl_role role, int depth) {
  dl_tensor *t = dl_get_tensor(L, i);
  if (t && t->st->role == DL_ROLE_OTHER) dl_ledger_say(t, role);
  if (!lua_istable(L, i) || depth == 0 || !lua_checkstack(L, 4)) return;
  i = lua_absindex(L, i);
  lua_pushnil(L);
  while (lua_next(L, i)) {
    mark(L, -1, role, depth - 1);
    lua_pop(L, 1);
  }
}

/* _batch(…): the values themselves; the tensors among and in them are a batch */
static int l_batch(lua_State *L) {
  int n = lua_gettop(L);
  if (n > 0 && !lua_isnil(L, 1)) dl_record_batch();
  for (int i = 1; i <= n; i++) mark(L, i, DL_ROLE_BATCH, 3);
  return n;
}

/* _state(tensor): belongs to an optimizer */
static int l_state(lua_State *L) {
  dl_ledger_say(dl_get_tensor(L, 1), DL_ROLE_STATE);
  return 0;
}

/* ledger() -> {cpu = {parameter = bytes, …}, …}: what is alive now, dead boxes included */
static int l_ledger(lua_State *L) {
  char buf[24];
  lua_newtable(L);
  for (int s = 0; s < DL_LEDGER_SLOTS; s++) {
    if (s > 0 && dl_roles_total(dl_ledger[s]) == 0) continue;
    dl_put_roles(L, dl_slot_name(s, buf), dl_ledger[s]);
  }
  return 1;
}

/* role(tensor) -> what its bytes are for */
static int l_role(lua_State *L) {
  lua_pushstring(L, dl_role_name[dl_check_tensor(L, 1, "role", "tensor")->st->role]);
  return 1;
}

/* debug.record, debug.ledger, debug.role; dlrepl._record_step, _record_scale, _batch, _state */
void dl_record_open(lua_State *L, int dlrepl) {
  static const luaL_Reg own[] = {{"_record_step", l_step}, {"_record_scale", l_scale},
                                 {"_batch", l_batch}, {"_state", l_state}, {NULL, NULL}};
  static const luaL_Reg debug[] = {
    {"record", l_record}, {"ledger", l_ledger}, {"role", l_role}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, own);
  dl_record_seen_open(L, dlrepl);
  lua_getfield(L, dlrepl, "debug");
  dl_set_funcs(L, -1, debug);
  lua_pop(L, 1);
}
