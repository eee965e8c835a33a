/* input.c -- standard input is the client's: input_request
 *
 * For shell.c. stdin of this process becomes a stream whose lines are asked for on the stdin
 * channel, so that io.read, io.lines and C's own functions all work; Lua's are wrapped, for what
 * cannot be asked for is an error and not the end of a file.
 *
 * INVARIANT  Only an answer that came after its question is taken. An interrupt ends the wait.
 * MUST NOT   be used by another thread. */
#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"
#include "capture.h"
#include "repl/interrupt.h"
#include "shell.h"
#include "zmqlib.h"

enum { SLICE_MS = 20 };

typedef enum answer { LINE, END, STOPPED, REFUSED } answer;

static void *channel;
static const dl_request *asker;  /* NULL: nobody can be asked */
static bool refused;             /* since the last read of Lua's began */
static dl_buf line;              /* of the stream */
static size_t line_at;

void dl_input_allow(const dl_request *r) {
  asker = r && dl_request_flag(r, "allow_stdin", false) ? r : NULL;
  dl_buf_free(&line);
  line_at = 0;
}

/* ---- the question ------------------------------------------------------------------------ */

static void drop_old_answers(void) {
  for (dl_mail *m; (m = dl_mail_receive(channel)) != NULL;) dl_mail_free(m);
}

static void send_question(const char *prompt, bool password, dl_buf *id) {
  dl_packet *p = dl_publish_new("input_request", NULL);
  if (!p) return;
  const char *from = strstr(p->text.s, "\"msg_id\":\"") + strlen("\"msg_id\":\"");
  dl_buf_add(id, from, strcspn(from, "\""));
  dl_buf_text(&p->text, "{\"prompt\":");
  dl_json_text(&p->text, prompt);
  dl_buf_form(&p->text, ",\"password\":%s}", password ? "true" : "false");
  dl_mail_send(channel, asker, p);
}

/* Is this an answer to another question? Some clients do not say to which. */
static bool is_other(const dl_request *r, const dl_buf *id) {
  json_error_t e;
  json_t *parent = json_loadb(r->parent.s, r->parent.n, 0, &e);
  const char *to = json_string_value(json_object_get(parent, "msg_id"));
  bool other = to && id->s && strcmp(to, id->s) != 0;
  json_decref(parent);
  return other;
}

/* Take the message if it is the answer. */
static bool take(dl_mail *m, const dl_buf *id, dl_buf *text, answer *how) {
  dl_request r;
  if (!dl_mail_read(m, "stdin", &r)) return false;
  size_t n;
  const char *s = dl_request_text(&r, "value", &n);
  bool is = !strcmp(r.type, "input_reply") && s && !is_other(&r, id);
  if (is) {
    *how = n == 1 && *s == 4 ? END : LINE; /* Ctrl-D */
    dl_buf_add(text, s, n);
  }
  dl_request_free(&r);
  return is;
}

/* One line of the client's, without its end. */
static answer ask(const char *prompt, bool password, dl_buf *text) {
  dl_buf id = {0};
  answer how = STOPPED;
  bool done = false;
  if (!asker) return REFUSED;
  dl_capture_sync();
  drop_old_answers();
  send_question(prompt, password, &id);
  while (!done && !dl_interrupt_pending() && !dl_kernel_is_closing()) {
    zmq_pollitem_t p = {.socket = channel, .events = ZMQ_POLLIN};
    dl_zmq.poll(&p, 1, SLICE_MS);
    dl_mail *m = dl_mail_receive(channel);
    if (m) done = take(m, &id, text, &how);
    dl_mail_free(m);
  }
  dl_buf_free(&id);
  return how;
}

/* ---- the stream -------------------------------------------------------------------------- */

static ssize_t read_stream(void *unused, char *buf, size_t n) {
  (void)unused;
  if (line_at == line.n) {
    dl_buf_free(&line);
    line_at = 0;
    answer how = ask("", false, &line);
    if (how == END) return dl_buf_free(&line), 0;
    if (how != LINE) {
      refused = how == REFUSED;
      errno = how == REFUSED ? ENOTSUP : EINTR;
      return -1;
    }
    dl_buf_add(&line, "\n", 1);
  }
  size_t part = line.n - line_at < n ? line.n - line_at : n;
  memcpy(buf, line.s + line_at, part);
  line_at += part;
  return (ssize_t)part;
}

/* ---- Lua --------------------------------------------------------------------------------- */

static int refuse(lua_State *L) {
  refused = false;
  dl_status st = dl_fail(DL_RuntimeError, DL_E_IO, "input was asked for, but this client of the "
                         "kernel has no way to ask for it");
  dl_note("run the cell in a notebook or console, or put the value into the cell");
  return dl_raise(L, st);
}

/* A function that reads. Upvalue: the original. */
static int checked(lua_State *L) {
  refused = false;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  if (refused) return refuse(L);
  if (status != LUA_OK) return lua_error(L);
  return lua_gettop(L);
}

/* A function whose first result reads. */
static int checked_lines(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  if (!lua_isfunction(L, 1)) return lua_gettop(L);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, checked, 1);
  lua_replace(L, 1);
  return lua_gettop(L);
}

/* input(prompt, password) -> a line, or nil at the end of the input */
static int l_input(lua_State *L) {
  const char *prompt = luaL_optstring(L, 1, "");
  bool password = lua_toboolean(L, 2);
  dl_buf text = {0};
  answer how = ask(prompt, password, &text);
  if (how == REFUSED) return refuse(L);
  if (how != LINE) dl_buf_free(&text);
  if (how == STOPPED) return 0; /* the hook raises what is to be said */
  if (how == END) return lua_pushnil(L), 1;
  char *copy = lua_newuserdatauv(L, text.n + 1, 0);
  if (text.n) memcpy(copy, text.s, text.n);
  size_t n = text.n;
  dl_buf_free(&text);
  lua_pushlstring(L, copy, n);
  return 1;
}

static void wrap(lua_State *L, const char *field, lua_CFunction with) {
  lua_getfield(L, -1, field);
  lua_pushcclosure(L, with, 1);
  lua_setfield(L, -2, field);
}

/* Before Lua starts: it keeps what stdin is then. */
void dl_input_stream(void) {
  FILE *f = fopencookie(NULL, "r", (cookie_io_functions_t){.read = read_stream});
  if (f) stdin = f;
}

void dl_input_open(lua_State *L, void *stdin_socket) {
  channel = stdin_socket;
  lua_getglobal(L, "io");
  wrap(L, "read", checked);
  wrap(L, "lines", checked_lines);
  lua_pop(L, 1);
  luaL_getmetatable(L, LUA_FILEHANDLE);
  lua_getfield(L, -1, "__index");
  wrap(L, "read", checked);
  wrap(L, "lines", checked_lines);
  lua_pop(L, 2);
  lua_getglobal(L, "dlrepl");
  lua_getfield(L, -1, "kernel");
  lua_pushcfunction(L, l_input);
  lua_setfield(L, -2, "input");
  lua_pop(L, 2);
}
