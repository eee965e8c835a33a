/* show.c -- a value as the prompt prints it
 *
 * For session.c. See show.h. A table's elements are first turned into texts, then laid out: on one
 * line if they fit, short ones filled into lines, else one a line.
 *
 * INVARIANT  Each function pushes exactly one string, and pops nothing below it.
 * MUST NOT   print. */
#include "repl/show.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "repl/width.h"

enum {
  MAX_DEPTH = 4,
  MAX_LENGTH = 100,     /* elements of one table */
  MAX_TOTAL = 1000,     /* elements of one value, over all tables */
  MAX_KEYS = 10000,     /* keys looked at before sorting */
  MAX_STRING = 2000,    /* bytes */
  SHORT = 24            /* a text this long may share a line with others */
};

typedef struct show {
  lua_State *L;
  int path;             /* stack index: set of the tables being shown */
  int columns;
  int left;             /* of MAX_TOTAL */
} show;

static void push_value(show *s, int idx, int depth, int column);

static void push_quoted(lua_State *L, int idx) {
  size_t len;
  const char *t = lua_tolstring(L, idx, &len);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '"');
  for (size_t i = 0; i < len && i < MAX_STRING; i++) {
    unsigned char c = (unsigned char)t[i];
    unsigned sign;
    char code[8];
    static const char from[] = "\n\t\r\"\\", to[] = "ntr\"\\";
    const char *at = c ? strchr(from, c) : NULL;
    if (at) {
      luaL_addchar(&b, '\\');
      luaL_addchar(&b, to[at - from]);
    } else if (c < 32 || c == 127 || !dl_utf8_read(t + i, len - i, &sign)) {
      lua_Integer v = c;
      code[0] = '\\';
      code[1] = (char)('0' + v / 100);
      code[2] = (char)('0' + v / 10 % 10);
      code[3] = (char)('0' + v % 10);
      luaL_addlstring(&b, code, 4);
    } else {
      size_t n = dl_utf8_read(t + i, len - i, &sign);
      luaL_addlstring(&b, t + i, n);
      i += n - 1;
    }
  }
  luaL_addchar(&b, '"');
  luaL_pushresult(&b);
  if (len <= MAX_STRING) return;
  lua_pushfstring(L, "... (%I bytes)", (LUAI_UACINT)len);
  lua_concat(L, 2);
}

static int own_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  return 1;
}

/* Push what tostring says. Within a table a value whose __tostring fails does not hide others. */
static void push_own_text(lua_State *L, int idx, int depth) {
  if (depth == 0) {
    luaL_tolstring(L, idx, NULL);
    return;
  }
  idx = lua_absindex(L, idx);
  lua_pushcfunction(L, own_text);
  lua_pushvalue(L, idx);
  if (lua_pcall(L, 1, 1, 0) == LUA_OK) return;
  lua_pushcfunction(L, own_text); /* of the error */
  lua_insert(L, -2);
  bool told = lua_pcall(L, 1, 1, 0) == LUA_OK;
  const char *why = told ? lua_tostring(L, -1) : "";
  lua_pushlstring(L, why, strcspn(why, "\n"));
  lua_pushfstring(L, "<%s whose text fails%s%s>", luaL_typename(L, idx), *why ? ": " : "",
                  lua_tostring(L, -1));
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* ---- keys -------------------------------------------------------------------------------- */

typedef struct key {
  int type;             /* LUA_TNUMBER < LUA_TSTRING < others */
  lua_Number number;
  const char *text;     /* anchored by the list of keys */
  int at;               /* place in that list */
} key;

static int by_key(const void *a, const void *b) {
  const key *x = a, *y = b;
  if (x->type != y->type) return x->type < y->type ? -1 : 1;
  if (x->type == LUA_TNUMBER) return x->number < y->number ? -1 : x->number > y->number;
  if (x->type == LUA_TSTRING) return strcmp(x->text, y->text);
  return x->at - y->at;
}

static int rank(int type) {
  return type == LUA_TNUMBER || type == LUA_TSTRING ? type : LUA_TSTRING + 1;
}

/* Is the key on top one of the list part 1..n? */
static bool in_list(lua_State *L, lua_Integer n) {
  return lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= n;
}

/* Push the list of keys outside 1..n (at most MAX_KEYS), then a block of them in order. */
static key *push_keys(lua_State *L, int t, lua_Integer n, int *count, int *more) {
  lua_newtable(L);
  int list = lua_gettop(L), have = 0;
  *more = 0;
  for (lua_pushnil(L); lua_next(L, t);) {
    lua_pop(L, 1);
    if (in_list(L, n)) continue;
    if (have == MAX_KEYS) {
      (*more)++;
      continue;
    }
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, ++have);
  }
  key *k = lua_newuserdatauv(L, sizeof(key) * (size_t)(have + 1), 0);
  for (int i = 0; i < have; i++) {
    int type = lua_rawgeti(L, list, i + 1);
    k[i] = (key){.type = rank(type), .at = i + 1};
    if (type == LUA_TNUMBER) k[i].number = lua_tonumber(L, -1);
    if (type == LUA_TSTRING) k[i].text = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  qsort(k, (size_t)have, sizeof *k, by_key);
  *count = have;
  return k;
}

static bool is_identifier(const char *t, size_t len) {
  if (len == 0 || isdigit((unsigned char)t[0])) return false;
  for (size_t i = 0; i < len; i++)
    if (!isalnum((unsigned char)t[i]) && t[i] != '_') return false;
  return true;
}

/* Push "name = " for the key at idx. */
static void push_key(show *s, int idx) {
  lua_State *L = s->L;
  size_t len;
  if (lua_type(L, idx) == LUA_TSTRING) {
    const char *t = lua_tolstring(L, idx, &len);
    if (is_identifier(t, len)) {
      lua_pushfstring(L, "%s = ", t);
      return;
    }
  }
  lua_pushliteral(L, "[");
  if (lua_type(L, idx) == LUA_TSTRING) push_quoted(L, idx);
  else push_own_text(L, idx, 1);
  lua_pushliteral(L, "] = ");
  lua_concat(L, 3);
}

/* ---- layout ------------------------------------------------------------------------------ */

static void add_indent(luaL_Buffer *b, int n) {
  for (int i = 0; i < n; i++) luaL_addchar(b, ' ');
}

typedef enum layout { ONE_LINE, FILLED, ONE_EACH } layout;

/* The list of n texts at idx. */
static layout choose(show *s, int idx, int n, int column) {
  size_t total = 2, longest = 0;
  for (int i = 1; i <= n; i++) {
    size_t len;
    lua_rawgeti(s->L, idx, i);
    const char *t = lua_tolstring(s->L, -1, &len);
    if (memchr(t, '\n', len)) {
      lua_pop(s->L, 1);
      return ONE_EACH;
    }
    len = dl_width(t, len);
    lua_pop(s->L, 1);
    total += len + 2;
    if (len > longest) longest = len;
  }
  if ((int)total + column <= s->columns) return ONE_LINE;
  return longest <= SHORT ? FILLED : ONE_EACH;
}

static void push_laid_out(show *s, int texts, int n, int column) {
  lua_State *L = s->L;
  layout how = choose(s, texts, n, column);
  int at = column + 1;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addchar(&b, '{');
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, texts, i);
    int len = (int)dl_width(lua_tostring(L, -1), lua_rawlen(L, -1));
    bool wrap = how == ONE_EACH || (how == FILLED && at + len + 2 > s->columns);
    if (i > 1) {
      lua_pushstring(L, wrap ? "," : ", ");
      lua_insert(L, -2);
      lua_concat(L, 2);
      at += 2;
    }
    if (wrap && i > 1) { /* the line break goes between the comma and the text */
      const char *t = lua_tostring(L, -1);
      luaL_Buffer line;
      luaL_buffinit(L, &line);
      luaL_addlstring(&line, t, 1);
      luaL_addchar(&line, '\n');
      add_indent(&line, column + 1);
      luaL_addstring(&line, t + 1);
      luaL_pushresult(&line);
      lua_remove(L, -2);
      at = column + 1;
    }
    luaL_addvalue(&b);
    at += len;
  }
  luaL_addchar(&b, '}');
  luaL_pushresult(&b);
}

/* ---- values ------------------------------------------------------------------------------ */

/* Move later lines of the text on top right by `column` blanks. */
static void shift_lines(lua_State *L, int column) {
  size_t len;
  const char *t = lua_tolstring(L, -1, &len);
  if (column == 0 || !memchr(t, '\n', len)) return;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (size_t i = 0; i < len; i++) {
    luaL_addchar(&b, t[i]);
    if (t[i] == '\n') add_indent(&b, column);
  }
  luaL_pushresult(&b);
  lua_remove(L, -2);
}

/* Push key text (at kidx, 0 for none) .. value text, for the value on top; replaces the value. */
static void element(show *s, int kidx, int depth, int column) {
  lua_State *L = s->L;
  int v = lua_gettop(L);
  if (kidx) push_key(s, kidx);
  else lua_pushliteral(L, "");
  int key_len = (int)dl_width(lua_tostring(L, -1), lua_rawlen(L, -1));
  push_value(s, v, depth, column + key_len);
  lua_concat(L, 2);
  lua_replace(L, v);
}

static int list_part(show *s, int t, int texts, int depth, int column, lua_Integer n) {
  int have = 0;
  for (lua_Integer i = 1; i <= n && have < MAX_LENGTH && s->left > 0; i++, s->left--) {
    lua_rawgeti(s->L, t, i);
    element(s, 0, depth + 1, column + 1);
    lua_rawseti(s->L, texts, ++have);
  }
  return have;
}

static int named_part(show *s, int t, int texts, int depth, int column, lua_Integer n, int have,
                      lua_Integer *missed) {
  lua_State *L = s->L;
  int count, more, shown = 0, top = lua_gettop(L);
  key *k = push_keys(L, t, n, &count, &more);
  while (shown < count && have < MAX_LENGTH && s->left > 0) {
    lua_rawgeti(L, top + 1, k[shown].at);
    lua_pushvalue(L, -1);
    lua_rawget(L, t);
    element(s, lua_gettop(L) - 1, depth + 1, column + 1);
    lua_rawseti(L, texts, ++have);
    lua_pop(L, 1);
    shown++;
    s->left--;
  }
  *missed += count - shown + more;
  lua_settop(L, top);
  return have;
}

static void push_table(show *s, int t, int depth, int column) {
  lua_State *L = s->L;
  luaL_checkstack(L, 40, "value too deep");
  lua_pushvalue(L, t);
  if (lua_rawget(L, s->path) != LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushliteral(L, "<cycle>");
    return;
  }
  lua_pop(L, 1);
  if (depth >= MAX_DEPTH) {
    lua_pushnil(L);
    bool empty = !lua_next(L, t);
    if (!empty) lua_pop(L, 2);
    lua_pushstring(L, empty ? "{}" : "{...}");
    return;
  }
  lua_pushvalue(L, t);
  lua_pushboolean(L, 1);
  lua_rawset(L, s->path);
  lua_newtable(L);
  int texts = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, t);
  int have = list_part(s, t, texts, depth, column, n);
  lua_Integer missed = n - have;
  have = named_part(s, t, texts, depth, column, n, have, &missed);
  if (missed > 0) {
    lua_pushfstring(L, "... (%I more)", (LUAI_UACINT)missed);
    lua_rawseti(L, texts, ++have);
  }
  push_laid_out(s, texts, have, column);
  lua_replace(L, texts);
  lua_settop(L, texts);
  lua_pushvalue(L, t);
  lua_pushnil(L);
  lua_rawset(L, s->path);
}

static bool has_text(lua_State *L, int idx) {
  if (luaL_getmetafield(L, idx, "__tostring") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

static void push_value(show *s, int idx, int depth, int column) {
  lua_State *L = s->L;
  switch (lua_type(L, idx)) {
    case LUA_TSTRING:
      push_quoted(L, idx);
      return;
    case LUA_TTABLE:
      if (has_text(L, idx)) break;
      push_table(s, idx, depth, column);
      return;
    case LUA_TFUNCTION:
      if (depth > 0) {
        lua_pushliteral(L, "function");
        return;
      }
      break;
    default: break;
  }
  push_own_text(L, idx, depth);
  shift_lines(L, column);
}

void dl_show_push(lua_State *L, int idx, int columns) {
  show s = {.L = L, .columns = columns < 20 ? 20 : columns, .left = MAX_TOTAL};
  idx = lua_absindex(L, idx);
  lua_newtable(L);
  s.path = lua_gettop(L);
  push_value(&s, idx, 0, 0);
  lua_remove(L, s.path);
}

static int text(lua_State *L) {
  luaL_checkany(L, 1);
  dl_show_push(L, 1, (int)luaL_checkinteger(L, 2));
  return 1;
}

void dl_show_open(lua_State *L) {
  lua_getglobal(L, "dlrepl");
  lua_pushcfunction(L, text);
  lua_setfield(L, -2, "_text");
  lua_pop(L, 1);
}
