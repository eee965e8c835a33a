/* helper.c -- small functions that the modules in lua/ need and plain Lua lacks
 *
 * For lua/ only: dlrepl._isatty, dlrepl._clock.
 *
 * MUST NOT   run ops. */
#include "bind/bind.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

void dl_helper_open(lua_State *L, int dlrepl);

/* _isatty(file): does this open file stand for a terminal? */
static int l_isatty(lua_State *L) {
  luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushboolean(L, s->closef != NULL && isatty(fileno(s->f)) == 1);
  return 1;
}

/* _clock() -> seconds since some fixed moment, never going back */
static int l_clock(lua_State *L) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  lua_pushnumber(L, (double)t.tv_sec + 1e-9 * (double)t.tv_nsec);
  return 1;
}

/* Add the functions to the table dlrepl. */
void dl_helper_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {{"_isatty", l_isatty}, {"_clock", l_clock}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, funcs);
}
