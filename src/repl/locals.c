/* locals.c -- a line of a session, compiled so that its top-level locals outlive it
 *
 * For session.c. The text `local n = 1` becomes, on the same line,
 *
 *     local __dl_keep,__dl_values,m =... return function(...) local n = 1 __dl_keep(function()
 *       return n end,'n'); end
 *
 * where m is an earlier local that the text mentions, and a last expression e becomes
 * `return __dl_values(e)` (a bare `return e` would be a tail call, which hides the line). The
 * registry's set of cells maps a name to a Lua closure that has the variable as an upvalue;
 * constants folded by the compiler have none and get a closure of their own.
 *
 * INVARIANT  cells[name] = {closure, fixed}; a fixed variable is never assigned, so its value may
 *            be copied, every other one is joined.
 * MUST NOT   run the user's text. */
#include "repl/locals.h"

#include <lauxlib.h>
#include <string.h>

#include "repl/chunk.h"
#include "repl/lex.h"

static const char cells_key = 0;

static void push_cells(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &cells_key); }

void dl_locals_open(lua_State *L) {
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &cells_key);
}

/* Upvalue of this name in the function at `fn`; 0 if it has none. Pushes nothing. */
static int upvalue_at(lua_State *L, int fn, const char *name) {
  const char *have;
  for (int i = 1; (have = lua_getupvalue(L, fn, i)) != NULL; i++) {
    lua_pop(L, 1);
    if (!strcmp(have, name)) return i;
  }
  return 0;
}

/* Replace the value on top by a Lua closure that returns it (its first upvalue). */
static void box_value(lua_State *L) {
  static const char box[] = "local v=... return function() return v end";
  if (luaL_loadbufferx(L, box, sizeof box - 1, "=box", "t") != LUA_OK) lua_error(L);
  lua_insert(L, -2);
  lua_call(L, 1, 1);
}

/* cells[name] = {closure, fixed}, for the n-th value in a row of values that starts at index 3. */
static void keep_one(lua_State *L, const char *name, size_t len, int nth) {
  bool fixed = name[len - 1] == '!';
  name = lua_pushlstring(L, name, len - fixed);
  lua_createtable(L, 2, 0);
  if (upvalue_at(L, 1, name)) {
    lua_pushvalue(L, 1);
  } else {
    lua_pushvalue(L, 2 + nth);
    box_value(L);
  }
  lua_rawseti(L, -2, 1);
  lua_pushboolean(L, fixed);
  lua_rawseti(L, -2, 2);
  lua_rawset(L, -3);
}

/* __dl_keep(closure, "name name! …"): the locals that closure returns, in order; '!' marks a fixed
 * one. (One string, for a line may declare as many locals as there are registers.) */
static int keep(lua_State *L) {
  lua_settop(L, 2);
  luaL_checkstack(L, DL_CHUNK_NAMES + 10, "too many locals");
  lua_pushvalue(L, 1);
  lua_call(L, 0, LUA_MULTRET);
  push_cells(L);
  const char *at = lua_tostring(L, 2);
  for (int nth = 1; *at; nth++) {
    size_t len = strcspn(at, " ");
    keep_one(L, at, len, nth);
    at += len + (at[len] == ' ');
  }
  return 0;
}

static int values(lua_State *L) { return lua_gettop(L); }

/* ---- text -------------------------------------------------------------------------------- */

typedef struct edit {
  luaL_Buffer *b;       /* NULL while only looking for the last value */
  const char *text;
  size_t done;          /* bytes of text already copied */
  size_t value_at, value_end; /* the last statement, if it is an expression */
  bool has_value;
} edit;

static void find_value(void *ctx, const dl_stat *st) {
  edit *e = ctx;
  e->has_value = st->kind == DL_STAT_VALUE;
  e->value_at = st->begin;
  e->value_end = st->end;
}

static bool is_underscore(const char *text, const dl_stat *st, int i) {
  return st->name[i].n == 1 && text[st->name[i].at] == '_';
}

static void add_names(edit *e, const dl_stat *st, char between, bool mark_fixed) {
  for (int i = 0, n = 0; i < st->names; i++) {
    if (is_underscore(e->text, st, i)) continue; /* `_` is the session's last value */
    if (n++) luaL_addchar(e->b, between);
    luaL_addlstring(e->b, e->text + st->name[i].at, st->name[i].n);
    if (mark_fixed && st->name[i].fixed) luaL_addchar(e->b, '!');
  }
}

static int kept_names(const char *text, const dl_stat *st) {
  int n = 0;
  for (int i = 0; i < st->names; i++) n += !is_underscore(text, st, i);
  return n;
}

static void add_keeps(void *ctx, const dl_stat *st) {
  edit *e = ctx;
  if (st->kind != DL_STAT_LOCAL || !kept_names(e->text, st)) return;
  luaL_addlstring(e->b, e->text + e->done, st->end - e->done);
  e->done = st->end;
  luaL_addstring(e->b, " __dl_keep(function() return ");
  add_names(e, st, ',', false);
  luaL_addstring(e->b, " end,'");
  add_names(e, st, ' ', true);
  luaL_addstring(e->b, "');");
}

/* Push `text` with `before` and `after` put around its last expression. */
static void push_around(lua_State *L, const edit *e, size_t len, const char *before,
                        const char *after) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, e->text, e->value_at);
  luaL_addstring(&b, before);
  luaL_addlstring(&b, e->text + e->value_at, e->value_end - e->value_at);
  luaL_addstring(&b, after);
  luaL_addlstring(&b, e->text + e->value_end, len - e->value_end);
  luaL_pushresult(&b);
}

/* Push a table used as a list: the earlier locals that `text` mentions. */
static int push_mentioned(lua_State *L, const char *text, size_t len) {
  dl_lexer x;
  int n = 0;
  lua_newtable(L);
  lua_newtable(L); /* seen */
  push_cells(L);
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; dl_lex_next(&x)) {
    if (x.kind != DL_TOK_NAME) continue;
    lua_pushlstring(L, text + x.at, x.n);
    lua_pushvalue(L, -1);
    bool known = lua_rawget(L, -3) != LUA_TNIL;
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    bool seen = lua_rawget(L, -4) != LUA_TNIL;
    lua_pop(L, 1);
    if (known && !seen) {
      lua_pushvalue(L, -1);
      lua_rawseti(L, -5, ++n);
      lua_pushboolean(L, 1);
      lua_rawset(L, -4);
    } else {
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 2);
  return n;
}

/* With the list of n names on top and cells below it: is the i-th fixed? Pushes the closure too. */
static bool push_cell(lua_State *L, int cells, const char *name) {
  lua_getfield(L, cells, name);
  lua_rawgeti(L, -1, 2);
  bool fixed = lua_toboolean(L, -1);
  lua_pop(L, 1);
  lua_rawgeti(L, -1, 1);
  lua_remove(L, -2);
  return fixed;
}

/* Push the whole text that is compiled. `names` lists n earlier locals. */
static void push_wrapped(lua_State *L, const char *text, size_t len, int cells, int names, int n) {
  luaL_Buffer b;
  edit e = {.b = &b, .text = text};
  luaL_buffinit(L, &b);
  luaL_addstring(&b, "local __dl_keep,__dl_values");
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, names, i);
    const char *name = lua_tostring(L, -1);
    bool fixed = push_cell(L, cells, name);
    lua_pop(L, 2);
    luaL_addchar(&b, ',');
    luaL_addstring(&b, name); /* anchored by the list */
    luaL_addstring(&b, fixed ? "<const>" : "");
  }
  luaL_addstring(&b, " =... return function(...) ");
  dl_chunk_scan(text, len, add_keeps, &e);
  luaL_addlstring(&b, text + e.done, len - e.done);
  luaL_addstring(&b, "\n end");
  luaL_pushresult(&b);
}

bool dl_locals_push(lua_State *L, const char *name) {
  push_cells(L);
  if (lua_getfield(L, -1, name) != LUA_TTABLE) return lua_pop(L, 2), false;
  lua_rawgeti(L, -1, 1);
  int at = upvalue_at(L, lua_gettop(L), name);
  lua_getupvalue(L, -1, at ? at : 1);
  lua_insert(L, -4);
  lua_pop(L, 3);
  return true;
}

void dl_locals_push_names(lua_State *L) { push_cells(L); }

/* Call the wrapper on top with the earlier locals' values; join the result to their variables. */
static void bind_locals(lua_State *L, int cells, int names, int n) {
  luaL_checkstack(L, n + 8, "too many locals");
  lua_pushcfunction(L, keep);
  lua_pushcfunction(L, values);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, names, i);
    const char *name = lua_tostring(L, -1);
    push_cell(L, cells, name);
    int at = upvalue_at(L, lua_gettop(L), name);
    lua_getupvalue(L, -1, at ? at : 1);
    lua_replace(L, -3);
    lua_pop(L, 1);
  }
  lua_call(L, n + 2, 1);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, names, i);
    const char *name = lua_tostring(L, -1);
    int mine = upvalue_at(L, lua_gettop(L) - 1, name);
    bool fixed = push_cell(L, cells, name);
    int theirs = upvalue_at(L, lua_gettop(L), name);
    if (mine && theirs && !fixed) lua_upvaluejoin(L, -3, mine, -1, theirs);
    lua_pop(L, 2);
  }
}

static int compile_wrapped(lua_State *L, const char *text, size_t len, const char *name) {
  int base = lua_gettop(L);
  push_cells(L);
  int n = push_mentioned(L, text, len);
  push_wrapped(L, text, len, base + 1, base + 2, n);
  size_t size;
  const char *whole = lua_tolstring(L, -1, &size);
  int status = luaL_loadbufferx(L, whole, size, name, "t");
  if (status == LUA_OK) bind_locals(L, base + 1, base + 2, n);
  lua_replace(L, base + 1);
  lua_settop(L, base + 1);
  return status;
}

/* ---- which reading of the text ----------------------------------------------------------- */

static bool ends_early(lua_State *L) {
  static const char mark[] = "near <eof>";
  size_t len;
  const char *msg = lua_tolstring(L, -1, &len);
  return msg && len >= sizeof mark - 1 && !strcmp(msg + len - (sizeof mark - 1), mark);
}

/* Does text compile by itself? Leaves nothing, or the message on failure. */
static bool is_chunk(lua_State *L, const char *text, size_t len, const char *name,
                     bool *unfinished) {
  int status = luaL_loadbufferx(L, text, len, name, "t");
  if (status == LUA_OK) return lua_pop(L, 1), true;
  if (status == LUA_ERRSYNTAX && ends_early(L)) *unfinished = true;
  return false;
}

/* Compile the text so that its last expression is returned; false if it cannot be read so. */
static bool compile_value(lua_State *L, const edit *e, size_t len, const char *name,
                          bool *unfinished, int *status) {
  size_t size;
  push_around(L, e, len, "return ", "");
  const char *with = lua_tolstring(L, -1, &size);
  if (!is_chunk(L, with, size, name, unfinished)) return false;
  push_around(L, e, len, "return __dl_values(", ")");
  with = lua_tolstring(L, -1, &size);
  *status = compile_wrapped(L, with, size, name);
  return true;
}

int dl_locals_compile(lua_State *L, const char *text, size_t len, const char *name,
                      bool *unfinished) {
  edit e = {.text = text};
  int base = lua_gettop(L), status = LUA_ERRSYNTAX;
  *unfinished = false;
  bool plain = is_chunk(L, text, len, name, unfinished); /* its message is the one that is told */
  if (plain) lua_pushnil(L);
  if (len == 0 || text[0] != LUA_SIGNATURE[0]) dl_chunk_scan(text, len, find_value, &e);
  bool value = e.has_value && compile_value(L, &e, len, name, unfinished, &status);
  if (value || plain) {
    *unfinished = false;
    if (!value) status = compile_wrapped(L, text, len, name);
    lua_replace(L, base + 1);
  }
  lua_settop(L, base + 1);
  return status;
}
