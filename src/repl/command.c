/* command.c -- the % commands that are written in Lua: %reset, %gpu
 *
 * For magic.c. See command.h. What follows the command's name is handed to the function of that
 * name in lua/dlrepl/command.lua, which prints or fails as any code of a line does.
 *
 * MUST NOT   know terminals. */
#include "repl/command.h"

#include <lauxlib.h>
#include <string.h>

#include "repl/locals.h"
#include "repl/magic.h"

/* _forget(): the session's locals, and the globals that were not there at the start */
static int l_forget(lua_State *L) {
  lua_settop(L, 0);
  dl_locals_open(L);
  dl_magic_push_base(L);
  lua_pushglobaltable(L);
  for (lua_pushnil(L); lua_next(L, 2);) {
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    bool is_users = lua_rawget(L, 1) == LUA_TNIL;
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING && !strcmp(lua_tostring(L, -1), "arg")) continue;
    if (!is_users) continue;
    lua_pushvalue(L, -1);
    lua_pushnil(L);
    lua_rawset(L, 2);
  }
  lua_gc(L, LUA_GCCOLLECT);
  return 0;
}

/* _session_locals() -> the locals of earlier lines, by name */
static int l_session_locals(lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  dl_locals_push_names(L);
  for (lua_pushnil(L); lua_next(L, 2);) {
    lua_pop(L, 1);
    const char *name = lua_tostring(L, -1);
    if (dl_locals_push(L, name)) lua_setfield(L, 1, name);
  }
  lua_settop(L, 1);
  return 1;
}

void dl_command_open(lua_State *L) {
  lua_getglobal(L, "dlrepl");
  lua_pushcfunction(L, l_session_locals);
  lua_setfield(L, -2, "_session_locals");
  lua_pushcfunction(L, l_forget);
  lua_setfield(L, -2, "_forget");
  lua_pop(L, 1);
}

static int call(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "dlrepl.command");
  lua_call(L, 1, 1);
  lua_pushvalue(L, 1);
  lua_gettable(L, -2);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 0);
  return 0;
}

static void run(const char *name, const char *rest, dl_outcome *o) {
  lua_State *L = dl_session_state();
  lua_pushcfunction(L, call);
  lua_pushstring(L, name);
  lua_pushstring(L, rest);
  dl_session_call(2, o);
}

void dl_command_reset(const char *rest, dl_outcome *o) { run("reset", rest, o); }
void dl_command_gpu(const char *rest, dl_outcome *o) { run("gpu", rest, o); }
