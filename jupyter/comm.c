/* comm.c -- comms: messages between Lua objects and a frontend's
 *
 * For shell.c and lkernel.c. Lua registers targets and gets a comm for each one that a frontend
 * opens, or opens one itself. A comm is a table: id, target, :send(data, buffers), :close(data),
 * and the functions on_msg(comm, data, buffers), on_close(comm, data) if they were set. Buffers are
 * a list of strings, bytes as they are.
 *
 * INVARIANT  A frontend that opens an unknown target is told at once that it is closed.
 * MUST NOT   run handlers except through the session. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "lkernel.h"
#include "shell.h"

static const char targets = 0, comms = 0, methods = 0; /* registry keys: tables */
static unsigned made;

static void push_table(lua_State *L, const void *key) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

/* ---- to the frontends ---------------------------------------------------------------------- */

/* Copies of the strings in the list at idx; false without memory. */
static bool add_buffers(lua_State *L, int idx, dl_packet *p) {
  int n = lua_istable(L, idx) ? (int)lua_rawlen(L, idx) : 0;
  if (!n) return true;
  p->buffer = calloc((size_t)n, sizeof *p->buffer);
  for (int i = 0; p->buffer && i < n; i++) {
    size_t len = 0;
    lua_rawgeti(L, idx, i + 1);
    const char *s = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &len) : "";
    char *copy = malloc(len + 1);
    if (copy) memcpy(copy, s, len);
    lua_pop(L, 1);
    if (!copy) return false;
    p->buffer[p->buffers++] = (dl_slice){copy, len};
  }
  return p->buffer != NULL;
}

/* Send a message of that type; the data is the Lua value at idx, 0 for none, and buffers follow it
 * on the stack. */
static void send(lua_State *L, const char *type, const char *id, const char *target, int idx) {
  static dl_buf data;
  dl_buf_restart(&data);
  if (idx && lua_istable(L, idx)) dl_json_lua(&data, L, idx);
  else dl_buf_text(&data, "{}");
  dl_capture_sync();
  dl_packet *p = dl_publish_new(type, NULL);
  if (!p) return;
  dl_buf_text(&p->text, "{\"comm_id\":");
  dl_json_text(&p->text, id);
  if (target) {
    dl_buf_text(&p->text, ",\"target_name\":");
    dl_json_text(&p->text, target);
  }
  dl_buf_text(&p->text, ",\"data\":");
  dl_buf_add(&p->text, data.s, data.n);
  dl_buf_text(&p->text, "}");
  if (idx && !add_buffers(L, idx + 1, p)) p->text.bad = true;
  dl_iopub_push(p, DL_MUST);
}

static const char *check_comm(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_getfield(L, 1, "id") != LUA_TSTRING) luaL_argerror(L, 1, "this is no comm");
  return lua_tostring(L, -1);
}

static void forget(lua_State *L, const char *id) {
  push_table(L, &comms);
  lua_pushnil(L);
  lua_setfield(L, -2, id);
  lua_pop(L, 1);
}

static int l_send(lua_State *L) {
  lua_settop(L, 3);
  send(L, "comm_msg", check_comm(L), NULL, 2);
  return 0;
}

static int l_close(lua_State *L) {
  lua_settop(L, 3);
  const char *id = check_comm(L);
  send(L, "comm_close", id, NULL, 2);
  forget(L, id);
  return 0;
}

/* ---- comms ------------------------------------------------------------------------------- */

/* Push a new comm and remember it. */
static void push_comm(lua_State *L, const char *id, const char *target) {
  lua_newtable(L);
  lua_pushstring(L, id);
  lua_setfield(L, -2, "id");
  lua_pushstring(L, target);
  lua_setfield(L, -2, "target");
  push_table(L, &methods);
  lua_setmetatable(L, -2);
  push_table(L, &comms);
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, id);
  lua_pop(L, 1);
}

/* comm(target, data, buffers): opened by us */
static int l_comm(lua_State *L) {
  char id[80];
  const char *target = luaL_checkstring(L, 1);
  lua_settop(L, 3);
  snprintf(id, sizeof id, "%s-comm-%u", dl_wire_session(), ++made);
  send(L, "comm_open", id, target, 2);
  push_comm(L, id, target);
  return 1;
}

static int l_register(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (!lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  push_table(L, &targets);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, name);
  return 0;
}

void dl_comm_open(lua_State *L) {
  static const luaL_Reg fn[] = {{"comm", l_comm}, {"register_target", l_register}, {NULL, NULL}};
  static const luaL_Reg method[] = {{"send", l_send}, {"close", l_close}, {NULL, NULL}};
  luaL_setfuncs(L, fn, 0);
  push_table(L, &methods);
  luaL_setfuncs(L, method, 0);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "comm");
  lua_setfield(L, -2, "__name");
  lua_pop(L, 1);
}

/* ---- from a frontend ------------------------------------------------------------------------- */

/* Handle the message (light userdata): may raise what a handler raises. */
static int l_event(lua_State *L) {
  const dl_request *r = lua_touserdata(L, 1);
  const char *id = dl_request_text(r, "comm_id", NULL);
  const char *target = dl_request_text(r, "target_name", NULL);
  const json_t *data = json_object_get(r->body, "data");
  bool open = !strcmp(r->type, "comm_open"), end = !strcmp(r->type, "comm_close");
  if (!id) return 0;
  push_table(L, open ? &targets : &comms);
  lua_getfield(L, -1, open ? (target ? target : "") : id);
  if (lua_isnil(L, -1)) {
    if (open) send(L, "comm_close", id, NULL, 0);
    return 0;
  }
  if (open) {
    push_comm(L, id, target);
  } else {
    if (end) forget(L, id);
    lua_getfield(L, -1, end ? "on_close" : "on_msg");
    if (!lua_isfunction(L, -1)) return 0;
    lua_insert(L, -2);
  }
  dl_json_push(L, data);
  lua_createtable(L, r->buffers, 0);
  for (int i = 0; i < r->buffers; i++) {
    lua_pushlstring(L, r->buffer[i].s, r->buffer[i].n);
    lua_rawseti(L, -2, i + 1);
  }
  lua_call(L, 3, 0);
  return 0;
}

dl_packet *dl_comm_event(const dl_request *r) {
  dl_outcome o;
  lua_State *L = dl_session_state();
  dl_capture_parent(r->header);
  lua_pushcfunction(L, l_event);
  lua_pushlightuserdata(L, (void *)r);
  dl_session_call(1, &o);
  if (o.how == DL_ENDED_OK) lua_pop(L, o.n);
  dl_session_report(&o);
  return NULL;
}

/* Add the comms whose target is as asked for. Light userdata: the request, the text. */
static int l_info(lua_State *L) {
  const dl_request *r = lua_touserdata(L, 1);
  dl_buf *b = lua_touserdata(L, 2);
  const char *only = dl_request_text(r, "target_name", NULL);
  bool first = true;
  push_table(L, &comms);
  for (lua_pushnil(L); lua_next(L, 3); lua_pop(L, 1)) {
    lua_getfield(L, -1, "target");
    const char *target = lua_tostring(L, -1);
    if (target && (!only || !strcmp(only, target))) {
      if (!first) dl_buf_text(b, ",");
      first = false;
      dl_json_text(b, lua_tostring(L, -3));
      dl_buf_text(b, ":{\"target_name\":");
      dl_json_text(b, target);
      dl_buf_text(b, "}");
    }
    lua_pop(L, 1);
  }
  return 0;
}

dl_packet *dl_comm_info(const dl_request *r) {
  dl_outcome o;
  lua_State *L = dl_session_state();
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_buf_text(&p->text, "{\"status\":\"ok\",\"comms\":{");
  lua_pushcfunction(L, l_info);
  lua_pushlightuserdata(L, (void *)r);
  lua_pushlightuserdata(L, &p->text);
  dl_session_call(2, &o);
  dl_buf_text(&p->text, "}}");
  return p;
}
