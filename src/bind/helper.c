/* helper.c -- small functions that the modules in lua/ need and plain Lua lacks
 *
 * For lua/ only: dlrepl._isatty, _columns, _utf8, _at_settle.
 *
 * MUST NOT   run ops. */
#include "bind/bind.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, FEWEST_COLUMNS = 10, MOST_COLUMNS = 1000 };

void dl_helper_open(lua_State *L, int dlrepl);
void dl_helper_settle(lua_State *L);

static FILE *open_file(lua_State *L) {
  luaL_Stream *s = luaL_testudata(L, 1, LUA_FILEHANDLE);
  return s && s->closef ? s->f : NULL;
}

/* _isatty(file): does this open file stand for a terminal? Anything else is none. */
static int l_isatty(lua_State *L) {
  FILE *f = open_file(L);
  lua_pushboolean(L, f && isatty(fileno(f)) == 1);
  return 1;
}

/* _columns(file): how wide the terminal behind a file is; else what COLUMNS says; else 80. */
static int l_columns(lua_State *L) {
  FILE *f = open_file(L);
  const char *said = getenv("COLUMNS");
  struct winsize size = {0};
  long n = 0;
  if (f && ioctl(fileno(f), TIOCGWINSZ, &size) == 0) n = size.ws_col;
  if (n <= 0 && said) n = strtol(said, NULL, 10);
  if (n <= 0) n = COLUMNS;
  if (n < FEWEST_COLUMNS) n = FEWEST_COLUMNS;
  lua_pushinteger(L, n > MOST_COLUMNS ? MOST_COLUMNS : n);
  return 1;
}

/* _utf8(): does the locale write UTF-8? */
static int l_utf8(lua_State *L) {
  lua_pushboolean(L, strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
  return 1;
}

/* _at_settle(function or nil): called once, when the line, cell or script that runs has ended. */
static const char settle_key = 0;

static int l_at_settle(lua_State *L) {
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &settle_key);
  return 0;
}

void dl_helper_settle(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &settle_key) == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_pushnil(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &settle_key);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) lua_pop(L, 1); /* a terminal that is gone: nothing to tidy */
}

/* Add the functions to the table dlrepl. */
void dl_helper_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {
    {"_isatty", l_isatty}, {"_columns", l_columns}, {"_utf8", l_utf8},
    {"_at_settle", l_at_settle}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, funcs);
}
