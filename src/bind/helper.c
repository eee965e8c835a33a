/* helper.c -- a small function that the modules in lua/ need and plain Lua lacks
 *
 * For lua/ only: dlrepl._isatty.
 *
 * MUST NOT   run ops. */
#include "bind/bind.h"

#include <stdio.h>
#include <unistd.h>

void dl_helper_open(lua_State *L, int dlrepl);

/* _isatty(file): does this open file stand for a terminal? */
static int l_isatty(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushboolean(L, s->closef != NULL && isatty(fileno(s->f)) == 1);
  return 1;
}

/* Add the function to the table dlrepl. */
void dl_helper_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {{"_isatty", l_isatty}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, funcs);
}
