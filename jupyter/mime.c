/* mime.c -- a value in the forms that a client may show
 *
 * For execute.c and lkernel.c. See mime.h. The texts are built in two buffers that stay, for a
 * user's __tostring may leave by an error at any time.
 *
 * MUST NOT   know sockets. */
#include "mime.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "repl/show.h"

enum { COLUMNS = 80, PLAIN_MAX = 4 << 20 };

static dl_buf data, metadata;
static char plain[4096]; /* the beginning of it, for the history */
static size_t plain_len;

static bool is_mime(const char *key) {
  const char *slash = strchr(key, '/');
  if (!slash || slash == key || !slash[1] || strlen(key) > 200) return false;
  for (const char *c = key; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("/!#$&-^_.+", *c)) return false;
  return !strchr(slash + 1, '/');
}

static bool is_json(const char *key) {
  size_t n = strlen(key);
  return !strcmp(key, "application/json") || (n > 5 && !strcmp(key + n - 5, "+json"));
}

/* JSON text as it is, if it is any. */
static bool add_raw(dl_buf *b, const char *s, size_t n) {
  json_error_t e;
  json_t *v = json_loadb(s, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
  if (!v) return false;
  json_decref(v);
  dl_buf_add(b, s, n);
  return true;
}

static void add_form(lua_State *L, dl_buf *b, const char *key, int v) {
  size_t n;
  if (is_json(key)) {
    const char *s = lua_type(L, v) == LUA_TSTRING ? lua_tolstring(L, v, &n) : NULL;
    if (!s || !add_raw(b, s, n)) dl_json_lua(b, L, v);
    return;
  }
  const char *s = luaL_tolstring(L, v, &n);
  if (!strcmp(key, "text/plain") && n > PLAIN_MAX) {
    dl_json_string(b, s, PLAIN_MAX);
    b->n--; /* the quote */
    dl_buf_form(b, " \\u2026 (%zu more bytes)\"", n - PLAIN_MAX);
  } else {
    dl_json_string(b, s, n);
  }
  lua_pop(L, 1);
}

dl_slice dl_mime_bundle(lua_State *L, int idx) {
  luaL_checktype(L, idx, LUA_TTABLE);
  idx = lua_absindex(L, idx);
  dl_buf_restart(&data);
  dl_buf_add(&data, "{", 1);
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "a bundle's keys are MIME types");
    const char *key = lua_tostring(L, -2);
    if (!is_mime(key)) luaL_error(L, "'%s' is no MIME type", key);
    dl_json_key(&data, key);
    add_form(L, &data, key, lua_gettop(L));
  }
  dl_buf_add(&data, "}", 1);
  return (dl_slice){data.s, data.n};
}

dl_slice dl_mime_metadata(lua_State *L, int idx) {
  dl_buf_restart(&metadata);
  if (lua_istable(L, idx)) dl_json_lua(&metadata, L, idx);
  else dl_buf_text(&metadata, "{}");
  if (metadata.n && *metadata.s != '{') { /* a list is no object */
    dl_buf_restart(&metadata);
    dl_buf_text(&metadata, "{}");
  }
  return (dl_slice){metadata.s, metadata.n};
}

/* ---- values ------------------------------------------------------------------------------ */

/* Push the text of the values at 1..n as the prompt prints them, and keep its beginning. */
static void push_text(lua_State *L, int n) {
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int i = 1; i <= n; i++) {
    if (i > 1) luaL_addchar(&b, '\n');
    dl_show_push(L, i, COLUMNS);
    luaL_addvalue(&b);
  }
  luaL_pushresult(&b);
}

static int l_require(lua_State *L) {
  lua_getglobal(L, "require");
  lua_insert(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

/* Push the function that makes forms; false if there is none. Asked for once. */
static bool push_maker(lua_State *L) {
  static const char key = 0;
  int top = lua_gettop(L);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TFUNCTION) return true;
  bool asked = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (asked) return false;
  lua_pushcfunction(L, l_require);
  lua_pushliteral(L, "dlrepl.rich");
  bool is = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_istable(L, -1) &&
            lua_getfield(L, -1, "bundle") == LUA_TFUNCTION;
  if (!is) {
    lua_settop(L, top);
    lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
    return false;
  }
  lua_remove(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
  return true;
}

/* Push the bundle and the metadata of the n values below. */
static void push_bundle(lua_State *L, int n) {
  int top = lua_gettop(L);
  if (n == 1 && push_maker(L)) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 2);
  }
  if (!lua_istable(L, top + 1)) {
    lua_settop(L, top);
    lua_newtable(L);
    lua_pushnil(L);
  }
  if (lua_getfield(L, top + 1, "text/plain") != LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  lua_pop(L, 1);
  push_text(L, n);
  lua_setfield(L, top + 1, "text/plain");
}

static void keep_plain(lua_State *L, int bundle) {
  lua_getfield(L, bundle, "text/plain");
  const char *s = luaL_tolstring(L, -1, &plain_len);
  if (plain_len > sizeof plain) plain_len = sizeof plain;
  memcpy(plain, s, plain_len);
  lua_pop(L, 2);
}

static int l_values(lua_State *L) {
  int n = lua_gettop(L);
  push_bundle(L, n);
  keep_plain(L, n + 1);
  dl_mime_metadata(L, n + 2);
  dl_mime_bundle(L, n + 1);
  if (!lua_isnil(L, 1)) {
    lua_pushvalue(L, 1);
    lua_setglobal(L, "_");
  }
  return 0;
}

bool dl_mime_values(int n, dl_outcome *o, dl_slice *d, dl_slice *m) {
  lua_State *L = dl_session_state();
  lua_pushcfunction(L, l_values);
  lua_insert(L, -(n + 1));
  dl_session_call(n, o);
  if (o->how != DL_ENDED_OK) return false;
  lua_pop(L, o->n);
  *d = (dl_slice){data.s, data.n};
  *m = (dl_slice){metadata.s, metadata.n};
  return !data.bad && !metadata.bad;
}

static int l_notes(lua_State *L) {
  lua_pushcfunction(L, l_require);
  lua_pushliteral(L, "dlrepl.rich.failure");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "notes");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  dl_buf_restart(&data);
  if (lua_istable(L, -1)) dl_mime_bundle(L, -1);
  return 0;
}

dl_slice dl_mime_notes(const char *text) {
  dl_outcome o;
  lua_State *L = dl_session_state();
  lua_pushcfunction(L, l_notes);
  lua_pushstring(L, text);
  dl_session_call(1, &o);
  return o.how == DL_ENDED_OK && !data.bad ? (dl_slice){data.s, data.n} : (dl_slice){NULL, 0};
}

dl_slice dl_mime_plain(void) { return (dl_slice){plain, plain_len}; }
