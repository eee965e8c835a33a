/* ask.c -- questions to a session: candidates, help
 *
 * For session.h's users. The texts of help are in lua/dlrepl/help, loaded when first asked for.
 *
 * INVARIANT  Every call is protected and leaves the Lua stack as it was.
 * MUST NOT   print, except for a line that asks for help. */
#include "repl/ask.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "repl/complete.h"
#include "repl/lex.h"
#include "repl/path.h"
#include "repl/pytorch.h"
#include "repl/session.h"

typedef struct question {
  const char *text;
  size_t len, start;
  int detail, columns;
} question;

/* Run fn(question) protected and without a word; its result is left on the stack, or nothing. */
static bool ask(lua_State *L, lua_CFunction fn, question *q) {
  void (*sink)(const char *, const char *) = dl_warn_sink;
  dl_warn_sink = NULL;
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, q);
  bool fine = lua_pcall(L, 1, 1, 0) == LUA_OK;
  dl_warn_sink = sink;
  if (!fine) lua_pop(L, 1);
  return fine;
}

/* ---- candidates ---------------------------------------------------------------------------- */

static int l_complete(lua_State *L) {
  question *q = lua_touserdata(L, 1);
  dl_complete_push(L, q->text, q->len, &q->start);
  return 1;
}

static int by_text(const void *a, const void *b) {
  return strcmp(((const dl_candidate *)a)->text, ((const dl_candidate *)b)->text);
}

/* Copy the table name -> kind on top of the stack; stops early without memory. */
static void copy_candidates(lua_State *L, dl_candidates *c) {
  int cap = 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    if (c->n == cap) {
      int more = cap ? 2 * cap : 64;
      dl_candidate *v = realloc(c->v, (size_t)more * sizeof *v);
      if (!v) return lua_pop(L, 2);
      c->v = v;
      cap = more;
    }
    dl_candidate *one = &c->v[c->n];
    one->text = strdup(lua_tostring(L, -2));
    if (!one->text) return lua_pop(L, 2);
    strncpy(one->kind, lua_tostring(L, -1), sizeof one->kind - 1);
    one->kind[sizeof one->kind - 1] = 0;
    c->n++;
  }
}

void dl_session_complete(const char *text, size_t cursor, dl_candidates *c) {
  lua_State *L = dl_session_state();
  question q = {.text = text, .len = cursor};
  memset(c, 0, sizeof *c);
  c->start = cursor;
  if (!L || !ask(L, l_complete, &q)) return;
  c->start = q.start;
  copy_candidates(L, c);
  lua_pop(L, 1);
  if (c->n) qsort(c->v, (size_t)c->n, sizeof *c->v, by_text);
}

void dl_candidates_free(dl_candidates *c) {
  for (int i = 0; i < c->n; i++) free(c->v[i].text);
  free(c->v);
  memset(c, 0, sizeof *c);
}

/* ---- help ---------------------------------------------------------------------------------- */

/* Push dlrepl.help's function of this name. */
static void push_help(lua_State *L, const char *name) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "dlrepl.help");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

static int l_path(lua_State *L) {
  size_t n;
  const char *path = lua_tolstring(L, 1, &n);
  if (!n || !dl_path_push(L, path, n)) lua_pushnil(L);
  return 1;
}

/* Push the value of the path at idx, nil where it is unknown or a module of ours does not load. */
static void push_value(lua_State *L, int idx) {
  idx = lua_absindex(L, idx);
  lua_pushcfunction(L, l_path);
  lua_pushvalue(L, idx);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  lua_pop(L, 1);
  lua_pushnil(L);
}

static int l_inspect(lua_State *L) {
  question *q = lua_touserdata(L, 1);
  size_t at, n = dl_complete_path(q->text, strlen(q->text), q->len, &at);
  if (!n) return lua_pushnil(L), 1;
  push_help(L, "inspect");
  lua_pushlstring(L, q->text + at, n);
  push_value(L, -1);
  lua_pushinteger(L, q->detail);
  lua_pushinteger(L, q->columns);
  lua_call(L, 4, 1);
  return 1;
}

char *dl_session_inspect(const char *text, size_t cursor, int detail, int columns) {
  lua_State *L = dl_session_state();
  question q = {.text = text, .len = cursor, .detail = detail, .columns = columns};
  if (!L || !ask(L, l_inspect, &q)) return NULL;
  const char *s = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  char *copy = s ? strdup(s) : NULL;
  lua_pop(L, 1);
  return copy;
}

/* help.show(path, value): upvalue 1 is the path */
static int l_show(lua_State *L) {
  push_help(L, "show");
  lua_pushvalue(L, lua_upvalueindex(1));
  push_value(L, -1);
  lua_call(L, 2, 0);
  return 0;
}

bool dl_ask_push(lua_State *L, const char *text, size_t len) {
  while (len && isspace((unsigned char)text[len - 1])) len--;
  while (len && isspace((unsigned char)*text)) text++, len--;
  if (!len || len > 1000) return false;
  dl_lexer x;
  bool asks = *text == '?', last = asks;
  for (dl_lex_begin(&x, text, len); !asks && x.kind != DL_TOK_END; dl_lex_next(&x))
    last = x.n == 1 && text[x.at] == '?' && x.at == len - 1;
  if (!asks && !last) return false;
  while (len && *text == '?') text++, len--;
  while (len && text[len - 1] == '?') len--;
  while (len && isspace((unsigned char)*text)) text++, len--;
  while (len && isspace((unsigned char)text[len - 1])) len--;
  lua_pushlstring(L, text, len);
  lua_pushcclosure(L, l_show, 1);
  return true;
}

/* ---- for Lua ------------------------------------------------------------------------------ */

/* _complete(text): the byte offset they replace from, a list of names, a table name -> kind */
static int l_test_complete(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  dl_candidates c;
  dl_session_complete(text, len, &c);
  lua_pushinteger(L, (lua_Integer)c.start);
  lua_newtable(L);
  lua_newtable(L);
  for (int i = 0; i < c.n; i++) {
    lua_pushstring(L, c.v[i].text);
    lua_rawseti(L, -3, i + 1);
    lua_pushstring(L, c.v[i].kind);
    lua_setfield(L, -2, c.v[i].text);
  }
  dl_candidates_free(&c);
  return 3;
}

/* _inspect(text, detail, columns): the help on what stands at the end of text, or nil */
static int l_test_inspect(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  char *s = dl_session_inspect(text, len, (int)luaL_optinteger(L, 2, 1),
                               (int)luaL_optinteger(L, 3, 80));
  lua_pushstring(L, s);
  free(s);
  return 1;
}

/* _is_complete(text): "complete", "incomplete" or "invalid" */
static int l_test_is_complete(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  dl_text how = dl_session_check(text, len, "=stdin");
  lua_pushstring(L, how == DL_TEXT_COMPLETE ? "complete"
                    : how == DL_TEXT_UNFINISHED ? "incomplete" : "invalid");
  return 1;
}

/* _page(text): shown where values are shown, screen by screen if it is long */
static int l_show_text(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  if (dl_session_print) dl_session_print(text, len);
  else fwrite(text, 1, len, stdout);
  return 0;
}

/* _pytorch(text): the PyTorch spelling of Lua text, for help pages */
static int l_pytorch(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len);
  char *s = dl_pytorch_spelling(text, len);
  lua_pushstring(L, s);
  free(s);
  return 1;
}

void dl_ask_open(lua_State *L) {
  static const luaL_Reg fn[] = {{"_complete", l_test_complete}, {"_inspect", l_test_inspect},
                                {"_page", l_show_text},
                                {"_is_complete", l_test_is_complete}, {"_pytorch", l_pytorch},
                                {NULL, NULL}};
  lua_getglobal(L, "dlrepl");
  luaL_setfuncs(L, fn, 0);
  lua_pop(L, 1);
}
