/* autocast.c -- autocast regions for lua/torch/amp: function form, guard form, state
 *
 *     dlrepl._autocast(device_type, dtype, enabled, cache, function, …)
 *
 * Arguments are checked in Lua. A region ends with its function, however it ends, with its guard,
 * or with the line that left its guard open.
 *
 * INVARIANT  A guard restores the state it found, once. */
#include "op/autocast.h"

#include "bind/bind.h"

#include <stdio.h>
#include <string.h>

void dl_autocast_open(lua_State *L, int dlrepl);
bool dl_autocast_settle(char *where, size_t cap);

typedef struct region { dl_autocast_state before; bool open; } region;

static char first_open[200]; /* where the oldest open guard was made */

static int l_region_close(lua_State *L) {
  region *r = luaL_checkudata(L, 1, "torch.autocast");
  if (!r->open) return 0;
  r->open = false;
  dl_autocast_leave(&r->before);
  return 0;
}

static int l_region_tostring(lua_State *L) {
  lua_pushliteral(L, "<torch.amp.autocast_mode.autocast object>");
  return 1;
}

static region *push_region(lua_State *L) {
  region *r = lua_newuserdatauv(L, sizeof *r, 0);
  r->open = false;
  if (luaL_newmetatable(L, "torch.autocast")) {
    static const luaL_Reg meta[] = {{"__close", l_region_close}, {"__exit", l_region_close},
                                    {"__tostring", l_region_tostring}, {NULL, NULL}};
    dl_set_funcs(L, -1, meta);
  }
  lua_setmetatable(L, -2);
  return r;
}

static dl_devtype check_devtype(lua_State *L, int i) {
  dl_device d;
  dl_status st = dl_device_parse(luaL_checkstring(L, i), &d);
  if (st != DL_OK) dl_raise(L, st);
  return (dl_devtype)d.type;
}

static dl_dtype check_dtype(lua_State *L, int i) {
  dl_word *w = dl_object(L, i, &dl_t_dtype);
  if (!w) dl_type_error(L, "dtype must be a torch.dtype, not %s", dl_type_name(L, i));
  return (dl_dtype)w->v;
}

/* _autocast(device_type, dtype, enabled, cache, [function, …]) */
static int l_autocast(lua_State *L) {
  dl_autocast_state now = dl_autocast;
  dl_devtype d = check_devtype(L, 1);
  now.dtype[d] = (uint8_t)check_dtype(L, 2);
  now.on[d] = lua_toboolean(L, 3);
  now.cache = lua_toboolean(L, 4);
  region *r = push_region(L);
  if (dl_autocast_depth() == 0) dl_here(L, first_open, sizeof first_open);
  dl_autocast_enter(&now, &r->before);
  r->open = true;
  int at = lua_gettop(L);
  if (lua_isnoneornil(L, 5) || at == 5) return 1;
  lua_toclose(L, at);
  for (int i = 5; i < at; i++) lua_pushvalue(L, i);
  lua_call(L, at - 6, LUA_MULTRET);
  int n = lua_gettop(L) - at;
  lua_pushcfunction(L, l_region_close); /* closed now, so that results come after the restore */
  lua_pushvalue(L, at);
  lua_call(L, 1, 0);
  return n;
}

/* _autocast_state(device_type) -> on, dtype, cache enabled, depth of regions */
static int l_state(lua_State *L) {
  dl_devtype d = check_devtype(L, 1);
  lua_pushboolean(L, dl_autocast.on[d]);
  dl_push_dtype(L, (dl_dtype)dl_autocast.dtype[d]);
  lua_pushboolean(L, dl_autocast.cache);
  lua_pushinteger(L, dl_autocast_depth());
  return 4;
}

/* _autocast_set(device_type, dtype, enabled, cache): for good, till the line ends */
static int l_set(lua_State *L) {
  dl_autocast_state now = dl_autocast;
  dl_devtype d = check_devtype(L, 1);
  now.dtype[d] = (uint8_t)check_dtype(L, 2);
  now.on[d] = lua_toboolean(L, 3);
  now.cache = lua_toboolean(L, 4);
  dl_autocast_set(&now);
  return 0;
}

/* ---- functions of lua/torch/nn that PyTorch lists as ops ------------------------------------ */
static bool eligible(const dl_tensor *t) {
  return t && dl_autocast.on[t->dev.type] && dl_dtype_is_float((dl_dtype)t->dtype) &&
         t->dtype != DL_F64;
}

/* The dtype that arguments from…to run in: float32, or for "promote" the widest (16 bits, or
 * float32 where one has it); on the CPU "promote" changes nothing. */
static dl_dtype wanted(lua_State *L, const char *how, int from, int to) {
  dl_dtype widest = DL_NODTYPE;
  if (!strcmp(how, "fp32")) return DL_F32;
  for (int i = from; i <= to; i++) {
    dl_tensor *t = dl_get_tensor(L, i);
    if (!eligible(t) || t->dev.type == DL_CPU) continue;
    if (widest != DL_F32) widest = (dl_dtype)dl_autocast.dtype[t->dev.type];
    if (t->dtype == DL_F32) widest = DL_F32;
  }
  return widest;
}

static int l_off_close(lua_State *L) {
  if (dl_autocast_any()) dl_mode |= DL_MODE_AUTOCAST;
  return 0;
}

/* The function at 2 with what follows it, inside: no op is cast again. */
static int call_plain(lua_State *L) {
  int top = lua_gettop(L);
  lua_newuserdatauv(L, 0, 0);
  if (luaL_newmetatable(L, "torch.autocast_off")) {
    lua_pushcfunction(L, l_off_close);
    lua_setfield(L, -2, "__close");
  }
  lua_setmetatable(L, -2);
  lua_toclose(L, top + 1);
  dl_mode &= ~(unsigned)DL_MODE_AUTOCAST;
  for (int i = 2; i <= top; i++) lua_pushvalue(L, i);
  lua_call(L, top - 2, LUA_MULTRET);
  return lua_gettop(L) - top - 1;
}

/* _autocast_as(how, function, …): the function with its tensors cast as autocast casts them */
static int l_as(lua_State *L) {
  int n = lua_gettop(L);
  if (!(dl_mode & DL_MODE_AUTOCAST)) {
    lua_call(L, n - 2, LUA_MULTRET);
    return lua_gettop(L) - 1;
  }
  dl_dtype to = wanted(L, luaL_checkstring(L, 1), 3, n);
  for (int i = 3; i <= n; i++) {
    dl_tensor *t = dl_get_tensor(L, i);
    if (to == DL_NODTYPE || !eligible(t) || t->dtype == to) continue;
    dl_box *b = dl_push_shell(L);
    dl_status st = dl_run(DL_OP__to_copy, (dl_arg[]){T(t), DT(to)}, 2, 0, &b->t);
    if (st != DL_OK) return dl_raise(L, st);
    lua_replace(L, i);
  }
  return call_plain(L);
}

static int l_clear(lua_State *L) {
  dl_autocast_clear_cache();
  return 0;
}

/* After a line: no region is left. True if one was, with its place. */
bool dl_autocast_settle(char *where, size_t cap) {
  bool left = dl_autocast_depth() > 0;
  if (left) snprintf(where, cap, "%s", first_open);
  dl_autocast_reset();
  return left;
}

void dl_autocast_open(lua_State *L, int dlrepl) {
  static const luaL_Reg own[] = {{"_autocast", l_autocast}, {"_autocast_state", l_state},
                                 {"_autocast_set", l_set}, {"_autocast_clear", l_clear},
                                 {"_autocast_as", l_as},
                                 {NULL, NULL}};
  dl_set_funcs(L, dlrepl, own);
}
