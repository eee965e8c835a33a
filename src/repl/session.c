/* session.c -- the one way in for everything a person types
 *
 * For main.c, repl.c and every other front end. See session.h.
 *
 * INVARIANT  Lua runs only inside run(): busy, protected, settled afterwards.
 * MUST NOT   know terminals, but for the colours of what it reports. */
#include "repl/session.h"

#include <ctype.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bind/bind.h"
#include "repl/ask.h"
#include "repl/command.h"
#include "repl/doctor.h"
#include "repl/hints.h"
#include "repl/interrupt.h"
#include "repl/lesson.h"
#include "repl/locals.h"
#include "repl/magic.h"
#include "repl/show.h"
#include "repl/slips.h"
#include "repl/term.h"
#include "repl/textonly.h"
#include "repl/trace.h"
#include "repl/tree.h"

static lua_State *L;
static const char trace_key = 0, error_key = 0;

/* ---- failures ---------------------------------------------------------------------------- */

/* Message handler: the value stays as it is, the trace is kept beside it. */
static int on_error(lua_State *l) {
  lua_settop(l, 1);
  if (dl_interrupt_pending()) lua_sethook(l, NULL, 0, 0);
  dl_trace_push(l, 1);
  lua_rawsetp(l, LUA_REGISTRYINDEX, &trace_key);
  return 1;
}

/* Text that did not compile, for the hint that is told with the error; NULL outside. */
static const char *failed_text;
static size_t failed_len;

/* "/usr/share/dlrepl/…/linear.lua:34: stack overflow": Lua's message from a file of ours says
 * nothing to the user. What he did, for two that he can bring about; else NULL. */
static const char *meant(const char *text) {
  char source[500] = "@";
  const char *end = strchr(text, ':');
  if (!end || end - text > 490) return NULL;
  memcpy(source + 1, text, (size_t)(end - text));
  source[1 + (end - text)] = 0;
  if (!dl_tree_owns(source)) return NULL;
  if (strstr(end, "stack overflow")) return "RecursionError: maximum recursion depth exceeded";
  if (strstr(end, "a nil value (local 'self')"))
    return "TypeError: a method was called without its object\n"
           "  a method is called with a colon: net:forward(x), or net(x)";
  return NULL;
}

static int describe(lua_State *l) {
  if (lua_type(l, 1) == LUA_TTABLE && luaL_getmetafield(l, 1, "__tostring") == LUA_TNIL) {
    dl_show_push(l, 1, 80);
    lua_pushliteral(l, "error value: ");
    lua_insert(l, -2);
    lua_concat(l, 2);
    return 1;
  }
  luaL_tolstring(l, 1, NULL);
  if (lua_type(l, 1) != LUA_TSTRING) return 1;
  char hint[400];
  const char *said = meant(lua_tostring(l, -1));
  if (said) {
    lua_pushstring(l, said);
    return 1;
  }
  const char *text = lua_tostring(l, -1), *runtime = dl_hint_runtime(text);
  snprintf(hint, sizeof hint, "%s", runtime ? runtime : "");
  if (failed_text) dl_hint_syntax(failed_text, failed_len, text, hint, sizeof hint);
  lua_pushfstring(l, *hint ? "%s\n  in Lua: %s" : "%s%s", text, hint);
  return 1;
}

/* Where an error would end the process, memory that is full to the cap gives a few bytes more. */
static int64_t uncap(void) {
  int64_t cap = dl_mem.cap_bytes;
  dl_mem.cap_bytes = INT64_MAX;
  return cap;
}

/* The word of the error value on top; none of its metamethods runs. */
static void note_kind(dl_outcome *o, int status) {
  if (status == LUA_ERRSYNTAX) strcpy(o->kind, "syntax");
  if (lua_type(L, -1) != LUA_TTABLE) return;
  lua_pushliteral(L, "kind");
  if (lua_rawget(L, -2) == LUA_TSTRING)
    snprintf(o->kind, sizeof o->kind, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
}

/* The error value is on top: pop it and fill the outcome's texts. */
static void fail(dl_outcome *o, int status, bool interrupted) {
  o->how = interrupted ? DL_ENDED_INTERRUPT : DL_ENDED_ERROR;
  o->error = o->trace = "";
  int64_t cap = uncap();
  note_kind(o, status);
  if (interrupted) {
    lua_pop(L, 1);
    lua_pushliteral(L, "KeyboardInterrupt");
  } else {
    lua_pushcfunction(L, describe);
    lua_insert(L, -2);
    dl_mem.cap_bytes = cap;
    int described = lua_pcall(L, 1, 1, 0);
    cap = uncap();
    if (described != LUA_OK) {
      lua_pop(L, 1);
      lua_pushliteral(L, "an error whose text could not be made");
    }
  }
  if (status == LUA_ERRMEM) {
    lua_pop(L, 1);
    lua_pushliteral(L, "MemoryError: Lua is out of memory");
  }
  if (lua_type(L, -1) == LUA_TSTRING) o->error = lua_tostring(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &error_key); /* anchors the text */
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &trace_key) == LUA_TSTRING) o->trace = lua_tostring(L, -1);
  lua_pop(L, 1);
  dl_mem.cap_bytes = cap;
}

static void begin(dl_outcome *o) {
  memset(o, 0, sizeof *o);
  o->error = o->trace = "";
  int64_t cap = uncap();
  lua_pushliteral(L, "");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &trace_key);
  dl_mem.cap_bytes = cap;
}

/* Call the function under n arguments on top of the stack; leave its results, none on failure. */
static void run(int n, dl_outcome *o) {
  int base = lua_gettop(L) - n;
  lua_pushcfunction(L, on_error);
  lua_insert(L, base);
  dl_interrupt_enter(L);
  int status = lua_pcall(L, n, LUA_MULTRET, base);
  bool interrupted = dl_interrupt_leave() && status != LUA_OK;
  if (status == LUA_OK) o->n = lua_gettop(L) - base;
  else fail(o, status, interrupted);
  lua_remove(L, base);
  if (!dl_bind_settle(L, o->guard, sizeof o->guard)) o->guard[0] = 0;
}

/* ---- running ----------------------------------------------------------------------------- */

typedef struct request {
  const char *text, *name;
  size_t len;
  bool unfinished;
} request;

static int compile(lua_State *l) {
  request *r = lua_touserdata(l, 1);
  lua_settop(l, 0);
  if (dl_locals_compile(l, r->text, r->len, r->name, &r->unfinished) == LUA_OK) return 1;
  if (r->unfinished && dl_hint_is_foreign(r->text, r->len)) r->unfinished = false;
  return lua_error(l);
}

dl_text dl_session_check(const char *text, size_t len, const char *name) {
  const char *code;
  if (dl_magic_is(text, len, &code)) {
    if (!code) return DL_TEXT_COMPLETE;
    len -= (size_t)(code - text);
    text = code;
  }
  request r = {.text = text, .len = len, .name = name};
  if (dl_ask_push(L, text, len)) return lua_pop(L, 1), DL_TEXT_COMPLETE;
  lua_pushcfunction(L, compile);
  lua_pushlightuserdata(L, &r);
  int status = lua_pcall(L, 1, 1, 0);
  lua_pop(L, 1);
  if (status == LUA_OK) return DL_TEXT_COMPLETE;
  return r.unfinished ? DL_TEXT_UNFINISHED : DL_TEXT_WRONG;
}

static bool is_known(const char *name, size_t n) {
  char copy[100];
  snprintf(copy, sizeof copy, "%.*s", (int)n, name);
  if (!dl_locals_push(L, copy)) {
    lua_pushglobaltable(L);
    lua_pushstring(L, copy);
    lua_rawget(L, -2);
    lua_remove(L, -2);
  }
  bool known = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return known;
}

void dl_session_line(const char *text, size_t len, const char *name, dl_outcome *o) {
  request r = {.text = text, .len = len, .name = name};
  const char *code;
  if (dl_magic_is(text, len, &code)) {
    dl_magic_run(text, len, o);
    return;
  }
  begin(o);
  if (dl_ask_push(L, text, len)) {
    run(0, o);
    return;
  }
  lua_pushcfunction(L, compile);
  lua_pushlightuserdata(L, &r);
  int status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_OK) {
    dl_slip_find(text, len, is_known, o->slip, sizeof o->slip);
    run(0, o);
    dl_held_line();
    if (o->how == DL_ENDED_OK) dl_lesson_note_line(text, len);
    return;
  }
  failed_text = text;
  failed_len = len;
  fail(o, status, false);
  failed_text = NULL;
  if (r.unfinished) o->how = DL_ENDED_UNFINISHED;
}

/* The text of a program that did not compile; NULL if it cannot be read again. */
static char *read_whole(const char *file, size_t *len) {
  enum { LARGEST = 1 << 22 };
  struct stat st;
  if (stat(file, &st) != 0 || !S_ISREG(st.st_mode)) return NULL;
  FILE *f = fopen(file, "r");
  char *text = f ? malloc(LARGEST) : NULL;
  if (text) *len = fread(text, 1, LARGEST, f);
  if (f) fclose(f);
  return text;
}

void dl_session_file(const char *file, int nargs, dl_outcome *o) {
  begin(o);
  int status = luaL_loadfilex(L, file, "t");
  lua_insert(L, -(nargs + 1));
  if (status == LUA_OK) {
    run(nargs, o);
    return;
  }
  lua_pop(L, nargs);
  char *text = file && status == LUA_ERRSYNTAX ? read_whole(file, &failed_len) : NULL;
  failed_text = text;
  fail(o, status, false);
  failed_text = NULL;
  free(text);
}

void dl_session_call(int nargs, dl_outcome *o) {
  begin(o);
  run(nargs, o);
}

bool dl_session_gpu(void) {
  static const char code[] = "return require('dlrepl.sim').word(...)";
  const char *word = getenv("DLREPL_GPU");
  dl_outcome o;
  if (!word || !*word) return true;
  if (luaL_loadbufferx(L, code, sizeof code - 1, "=dlrepl", "t") != LUA_OK) return false;
  lua_pushstring(L, word);
  dl_session_call(1, &o);
  lua_pop(L, o.n);
  dl_session_report(&o);
  return o.how == DL_ENDED_OK;
}

void (*dl_session_print)(const char *text, size_t len);

/* Print the arguments, the first is the columns; `_` becomes the first value that is not nil. */
static int show(lua_State *l) {
  int columns = (int)lua_tointeger(l, 1), n = lua_gettop(l);
  size_t len;
  luaL_Buffer b;
  luaL_buffinit(l, &b);
  for (int i = 2; i <= n; i++) {
    dl_show_push(l, i, columns);
    luaL_addvalue(&b);
    luaL_addchar(&b, '\n');
  }
  luaL_pushresult(&b);
  const char *text = lua_tolstring(l, -1, &len);
  if (dl_session_print) dl_session_print(text, len);
  else fwrite(text, 1, len, stdout);
  if (n >= 2 && !lua_isnil(l, 2)) {
    lua_pushvalue(l, 2);
    lua_setglobal(l, "_");
  }
  return 0;
}

void dl_session_show(int n, int columns, dl_outcome *o) {
  dl_outcome line = *o;
  begin(o);
  lua_pushcfunction(L, show);
  lua_insert(L, -(n + 1));
  lua_pushinteger(L, columns);
  lua_insert(L, -(n + 1));
  run(n + 1, o);
  lua_pop(L, o->n);
  o->n = 0;
  if (!*o->guard) memcpy(o->guard, line.guard, sizeof o->guard);
  memcpy(o->slip, line.slip, sizeof o->slip);
  fflush(stdout);
}

/* "RuntimeError: text" and the notes under it, each part in its colour. */
static void print_error(const char *text) {
  size_t first = strcspn(text, "\n"), name = strcspn(text, ":\n ");
  bool has_class = text[name] != ' ' && isupper((unsigned char)*text) && name <= first;
  if (!has_class) name = 0;
  fprintf(stderr, "%s%.*s%s%.*s\n", name ? dl_term_on(DL_ROLE_ERROR, 2) : "", (int)name, text,
          name ? dl_term_off(2) : "", (int)(first - name), text + name);
  if (!text[first]) return;
  fprintf(stderr, "%s%s%s\n", dl_term_on(DL_ROLE_NOTE, 2), text + first + 1, dl_term_off(2));
}

void dl_session_report(const dl_outcome *o) {
  const char *off = dl_term_off(2);
  fflush(stdout);
  if (o->how != DL_ENDED_OK) {
    print_error(o->error);
    if (*o->trace) fprintf(stderr, "%s%s%s\n", dl_term_on(DL_ROLE_TRACE, 2), o->trace, off);
  }
  if (*o->slip)
    fprintf(stderr, "%snote: %s%s\n", dl_term_on(DL_ROLE_NOTE, 2), o->slip, off);
  if (!*o->guard) return;
  fprintf(stderr, "%snote: a mode set at %s was still on; it has been restored%s\n",
          dl_term_on(DL_ROLE_NOTE, 2), o->guard, off);
}

/* ---- start and end ----------------------------------------------------------------------- */

static void set_path(void) {
  if (!*dl_tree_root()) return;
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "path");
  lua_pushfstring(L, "%s/lua/?.lua;%s/lua/?/init.lua;%s", dl_tree_root(), dl_tree_root(),
                  lua_tostring(L, -1));
  lua_setfield(L, -3, "path");
  lua_pop(L, 2);
}

/* PyTorch prints "file:line: UserWarning: text". */
static void on_warning(const char *category, const char *text) {
  char where[256];
  fflush(stdout);
  const char *place = dl_lua ? dl_here(dl_lua, where, sizeof where) : NULL;
  if (place && *place) fprintf(stderr, "%s: %s: %s\n", place, category, text);
  else fprintf(stderr, "%s: %s\n", category, text);
}

static int open_all(lua_State *l) {
  dl_textonly_open(l);
  dl_interrupt_open(l);
  dl_locals_open(l);
  set_path();
  dl_bind_open(l);
  dl_doctor_open(l);
  dl_ask_open(l);
  dl_show_open(l);
  dl_command_open(l);
  dl_magic_open(l);
  dl_lesson_open(l);
  return 0;
}

lua_State *dl_session_open(void) {
  dl_outcome o;
  dl_tree_open();
  dl_own_source = dl_tree_owns;
  L = dl_bind_newstate();
  if (!L) return NULL;
  dl_warn_sink = on_warning;
  begin(&o);
  lua_pushcfunction(L, open_all);
  run(0, &o);
  if (o.how == DL_ENDED_OK) return L;
  dl_session_report(&o);
  dl_session_close();
  return NULL;
}

lua_State *dl_session_state(void) { return L; }

void dl_session_close(void) {
  if (L) lua_close(L);
  L = NULL;
}
