/* json.c -- text that grows, and JSON in it
 *
 * For jupyter/ only. See json.h.
 *
 * MUST NOT   know messages. */
#include "json.h"

#include <lauxlib.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/width.h"

enum { DEEPEST = 100, KEEP = 1 << 20 };

static bool reserve(dl_buf *b, size_t more) {
  if (b->bad) return false;
  if (b->cap - b->n > more) return true;
  size_t cap = b->cap ? b->cap : 256;
  while (cap - b->n <= more) {
    if (cap > (size_t)-1 / 2) return b->bad = true, false;
    cap *= 2;
  }
  char *s = realloc(b->s, cap);
  if (!s) return b->bad = true, false;
  b->s = s;
  b->cap = cap;
  return true;
}

void dl_buf_add(dl_buf *b, const char *s, size_t n) {
  if (!n || !reserve(b, n)) return;
  memcpy(b->s + b->n, s, n);
  b->n += n;
  b->s[b->n] = 0;
}

void dl_buf_text(dl_buf *b, const char *s) { dl_buf_add(b, s, strlen(s)); }

void dl_buf_form(dl_buf *b, const char *form, ...) {
  char text[600];
  va_list args;
  va_start(args, form);
  int n = vsnprintf(text, sizeof text, form, args);
  va_end(args);
  if (n > 0) dl_buf_add(b, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

void dl_buf_free(dl_buf *b) {
  free(b->s);
  memset(b, 0, sizeof *b);
}

void dl_buf_restart(dl_buf *b) {
  if (b->cap > KEEP || b->bad) dl_buf_free(b);
  b->n = 0;
}

/* How many bytes from s on can stand in a JSON string as they are. */
static size_t plain(const char *s, size_t n) {
  size_t i = 0;
  while (i < n) {
    unsigned char c = (unsigned char)s[i];
    if (c >= 0x80) {
      unsigned code;
      size_t len = dl_utf8_read(s + i, n - i, &code);
      if (!len) return i;
      i += len;
    } else if (c < 32 || c == '"' || c == '\\' || c == 127) {
      return i;
    } else {
      i++;
    }
  }
  return i;
}

/* The byte at s, which cannot stand there. */
static void add_escape(dl_buf *b, unsigned char c) {
  static const char from[] = "\n\t\r\"\\", *const to[] = {"\\n", "\\t", "\\r", "\\\"", "\\\\"};
  const char *at = c ? strchr(from, c) : NULL;
  if (at) dl_buf_text(b, to[at - from]);
  else if (c >= 0x80) dl_buf_text(b, "\xef\xbf\xbd");
  else dl_buf_form(b, "\\u%04x", c);
}

void dl_json_string(dl_buf *b, const char *s, size_t n) {
  dl_buf_add(b, "\"", 1);
  for (size_t i = 0; i < n && !b->bad;) {
    size_t fine = plain(s + i, n - i);
    dl_buf_add(b, s + i, fine);
    i += fine;
    if (i < n) add_escape(b, (unsigned char)s[i++]);
  }
  dl_buf_add(b, "\"", 1);
}

void dl_json_text(dl_buf *b, const char *s) { dl_json_string(b, s, strlen(s)); }

void dl_json_key(dl_buf *b, const char *key) {
  if (b->n && b->s[b->n - 1] != '{') dl_buf_add(b, ",", 1);
  dl_json_text(b, key);
  dl_buf_add(b, ":", 1);
}

/* ---- Lua values -------------------------------------------------------------------------- */

static void add_number(dl_buf *b, lua_State *L, int idx) {
  if (lua_isinteger(L, idx)) {
    dl_buf_form(b, "%lld", (long long)lua_tointeger(L, idx));
    return;
  }
  double x = lua_tonumber(L, idx);
  char text[40];
  snprintf(text, sizeof text, "%.17g", isfinite(x) ? x : 0);
  char *point = text + strspn(text, "0123456789-");
  if (*point && *point != 'e') *point = '.'; /* whatever the locale's is */
  dl_buf_text(b, isfinite(x) ? text : "null");
}

static void add_value(dl_buf *b, lua_State *L, int idx, int depth);

static void add_array(dl_buf *b, lua_State *L, int t, lua_Integer n, int depth) {
  dl_buf_add(b, "[", 1);
  for (lua_Integer i = 1; i <= n; i++) {
    if (i > 1) dl_buf_add(b, ",", 1);
    lua_rawgeti(L, t, i);
    add_value(b, L, lua_gettop(L), depth);
    lua_pop(L, 1);
  }
  dl_buf_add(b, "]", 1);
}

static void add_object(dl_buf *b, lua_State *L, int t, int depth) {
  bool first = true;
  dl_buf_add(b, "{", 1);
  for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
    size_t n;
    lua_pushvalue(L, -2);
    const char *key = lua_tolstring(L, -1, &n);
    if (key) {
      if (!first) dl_buf_add(b, ",", 1);
      first = false;
      dl_json_string(b, key, n);
      dl_buf_add(b, ":", 1);
      add_value(b, L, lua_gettop(L) - 1, depth);
    }
    lua_pop(L, 1);
  }
  dl_buf_add(b, "}", 1);
}

static void add_value(dl_buf *b, lua_State *L, int idx, int depth) {
  size_t n;
  const char *s;
  luaL_checkstack(L, 8, "JSON");
  switch (lua_type(L, idx)) {
    case LUA_TBOOLEAN: dl_buf_text(b, lua_toboolean(L, idx) ? "true" : "false"); return;
    case LUA_TNUMBER: add_number(b, L, idx); return;
    case LUA_TSTRING:
      s = lua_tolstring(L, idx, &n);
      dl_json_string(b, s, n);
      return;
    case LUA_TTABLE:
      if (depth == DEEPEST) luaL_error(L, "JSON: tables nested deeper than %d", DEEPEST);
      lua_Integer len = (lua_Integer)lua_rawlen(L, idx);
      if (len > 0) add_array(b, L, idx, len, depth + 1);
      else add_object(b, L, idx, depth + 1);
      return;
    default: dl_buf_text(b, "null");
  }
}

void dl_json_lua(dl_buf *b, lua_State *L, int idx) { add_value(b, L, lua_absindex(L, idx), 0); }

void dl_json_push(lua_State *L, const json_t *v) {
  const char *key;
  json_t *item;
  size_t i;
  luaL_checkstack(L, 4, "JSON");
  switch (v ? json_typeof(v) : JSON_NULL) {
    case JSON_OBJECT:
      lua_newtable(L);
      json_object_foreach((json_t *)v, key, item) {
        dl_json_push(L, item);
        lua_setfield(L, -2, key);
      }
      return;
    case JSON_ARRAY:
      lua_newtable(L);
      json_array_foreach(v, i, item) {
        dl_json_push(L, item);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
      }
      return;
    case JSON_STRING: lua_pushlstring(L, json_string_value(v), json_string_length(v)); return;
    case JSON_INTEGER: lua_pushinteger(L, json_integer_value(v)); return;
    case JSON_REAL: lua_pushnumber(L, json_real_value(v)); return;
    case JSON_TRUE:
    case JSON_FALSE: lua_pushboolean(L, json_is_true(v)); return;
    default: lua_pushnil(L);
  }
}

/* ---- code points ------------------------------------------------------------------------- */

static size_t step(const char *s, size_t n) {
  unsigned code;
  size_t len = dl_utf8_read(s, n, &code);
  return len ? len : 1;
}

size_t dl_utf8_offset(const char *s, size_t n, long long points) {
  size_t at = 0;
  for (; at < n && points > 0; points--) at += step(s + at, n - at);
  return at;
}

size_t dl_utf8_count(const char *s, size_t n) {
  size_t points = 0;
  for (size_t at = 0; at < n; points++) at += step(s + at, n - at);
  return points;
}
