/* textonly.c -- Lua code comes in as text, never as compiled bytes
 *
 * For session.c. The standard functions are kept and called with mode "t".
 *
 * MUST NOT know sessions. */
#include "repl/textonly.h"

#include <lauxlib.h>
#include <string.h>

/* load and loadfile. Upvalues: the original, and which argument is the mode. */
static int with_text_mode(lua_State *L) {
  int at = (int)lua_tointeger(L, lua_upvalueindex(2));
  if (lua_gettop(L) < at) lua_settop(L, at);
  if (!strchr(luaL_optstring(L, at, "t"), 't')) {
    luaL_pushfail(L);
    lua_pushliteral(L, "binary chunks are not loaded here (mode must contain 't')");
    return 2;
  }
  lua_pushliteral(L, "t");
  lua_replace(L, at);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int dofile_done(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  return lua_gettop(L) - 1;
}

static int text_dofile(lua_State *L) {
  const char *file = luaL_optstring(L, 1, NULL);
  lua_settop(L, 1);
  if (luaL_loadfilex(L, file, "t") != LUA_OK) return lua_error(L);
  lua_callk(L, 0, LUA_MULTRET, 0, dofile_done);
  return dofile_done(L, LUA_OK, 0);
}

/* package.searchers[2]. Upvalue: package. */
static int search_text(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_getfield(L, lua_upvalueindex(1), "searchpath");
  lua_pushvalue(L, 1);
  lua_getfield(L, lua_upvalueindex(1), "path");
  lua_call(L, 2, 2);
  if (lua_isnil(L, -2)) return 1;
  lua_pop(L, 1);
  const char *file = lua_tostring(L, -1);
  if (luaL_loadfilex(L, file, "t") != LUA_OK)
    return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, file,
                      lua_tostring(L, -1));
  lua_pushvalue(L, -2);
  return 2;
}

static void wrap(lua_State *L, const char *name, int mode_at) {
  lua_getglobal(L, name);
  lua_pushinteger(L, mode_at);
  lua_pushcclosure(L, with_text_mode, 2);
  lua_setglobal(L, name);
}

void dl_textonly_open(lua_State *L) {
  wrap(L, "load", 3);
  wrap(L, "loadfile", 2);
  lua_pushcfunction(L, text_dofile);
  lua_setglobal(L, "dofile");
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "searchers");
  lua_pushvalue(L, -2);
  lua_pushcclosure(L, search_text, 1);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}
