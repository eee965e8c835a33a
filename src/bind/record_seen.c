/* record_seen.c -- what Lua modules tell the run record of hooks and loaders
 *
 *     dlrepl._record_hook("forward", module)      a hook of it runs
 *     local epoch = dlrepl._record_epoch()        0 while no record is kept
 *     local _ <close> = dlrepl._record_wait()     a batch is waited for until it closes
 *     dlrepl._record_served(epoch, indices)       a list, a tensor, or first and count
 *
 * For nn/module_hooks.lua and utils/data/dataloader.lua; tensors' hooks report in hooks.c.
 *
 * INVARIANT  While no record is kept each call returns at once, with nothing made. */
#include "bind/record.h"

#include <string.h>

static const char *const kinds[] = {"forward_pre", "forward", "backward_pre", "backward", NULL};

/* (kind, module) */
static int l_hook(lua_State *L) {
  if (!dl_record_on()) return 0;
  const char *kind = kinds[luaL_checkoption(L, 1, NULL, kinds)];
  lua_remove(L, 1);
  dl_record_hook(kind, dl_push_module_name(L));
  return 0;
}

static int l_epoch(lua_State *L) {
  lua_pushinteger(L, dl_record_epoch());
  return 1;
}

static int l_arrived(lua_State *L) {
  (void)L;
  dl_record_wait(0);
  return 0;
}

static int l_wait(lua_State *L) {
  if (!dl_record_on()) return 0;
  lua_newuserdatauv(L, 0, 0);
  if (luaL_newmetatable(L, "dlrepl.record_wait")) {
    lua_pushcfunction(L, l_arrived);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  dl_record_wait(1);
  return 1;
}

static void served_rows(int64_t epoch, const dl_tensor *t) {
  for (int64_t i = 0; t->ndim == 1 && t->dtype == DL_I64 && t->dev.type == DL_CPU && i < t->numel;
       i++)
    dl_record_served(epoch, ((const int64_t *)t->data)[i * t->stride[0]]);
}

/* (epoch, list | tensor), (epoch, first, count) */
static int l_served(lua_State *L) {
  int64_t epoch = luaL_checkinteger(L, 1);
  if (!dl_record_on() || epoch == 0) return 0;
  dl_tensor *rows = dl_get_tensor(L, 2);
  if (rows) {
    served_rows(epoch, rows);
  } else if (lua_istable(L, 2)) {
    int64_t n = (int64_t)lua_rawlen(L, 2);
    for (int64_t i = 1; i <= n; i++) {
      if (lua_rawgeti(L, 2, i) == LUA_TNUMBER) dl_record_served(epoch, lua_tointeger(L, -1));
      lua_pop(L, 1);
    }
  } else if (lua_isnumber(L, 2)) {
    int64_t first = (int64_t)lua_tonumber(L, 2), count = luaL_optinteger(L, 3, 1);
    for (int64_t i = 0; i < count; i++) dl_record_served(epoch, first + i);
  }
  return 0;
}

void dl_record_seen_open(lua_State *L, int dlrepl) {
  static const luaL_Reg own[] = {{"_record_hook", l_hook}, {"_record_epoch", l_epoch},
                                 {"_record_wait", l_wait}, {"_record_served", l_served},
                                 {NULL, NULL}};
  dl_set_funcs(L, dlrepl, own);
}
