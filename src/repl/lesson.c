/* lesson.c -- lessons at the prompt and in cells
 *
 * For magic.c, session.c and main.c. See lesson.h. A command is a call of
 * dlrepl.lesson.command(name, rest). Where that returns a text, the text is run as a line of the
 * session and the module's `after` is called with what became of it, which may return the next.
 *
 * INVARIANT  Only lines that ran to their end are kept, in order, and none that a lesson ran.
 * MUST NOT   know what a lesson is. */
#include "repl/lesson.h"

#include <fcntl.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/interrupt.h"
#include "repl/spawn.h"
#include "repl/store.h"
#include "repl/term.h"
#include "repl/tree.h"

enum { MOST_LINES = 1000, MOST_BYTES = 1 << 20 };

static struct { char *text; size_t len; } lines[MOST_LINES];
static int n_lines;
static size_t n_bytes;
static bool keeping, showing; /* a step is open; a lesson's own code runs */

/* ---- the lines of the step ----------------------------------------------------------------- */

static void drop_lines(void) {
  while (n_lines > 0) free(lines[--n_lines].text);
  n_bytes = 0;
}

void dl_lesson_note_line(const char *text, size_t len) {
  if (!keeping || showing || n_lines == MOST_LINES || n_bytes + len > MOST_BYTES) return;
  char *copy = malloc(len + 1);
  if (!copy) return;
  memcpy(copy, text, len);
  copy[len] = 0;
  lines[n_lines].text = copy;
  lines[n_lines++].len = len;
  n_bytes += len;
}

/* keep(yes): from now on lines are kept, or not; those there were stay */
static int l_keep(lua_State *L) {
  keeping = lua_toboolean(L, 1);
  return 0;
}

/* lines() -> the list of texts */
static int l_lines(lua_State *L) {
  lua_createtable(L, n_lines, 0);
  for (int i = 0; i < n_lines; i++) {
    lua_pushlstring(L, lines[i].text, lines[i].len);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int l_clear(lua_State *L) {
  (void)L;
  drop_lines();
  return 0;
}

/* ---- the machine --------------------------------------------------------------------------- */

/* sleep(seconds) -> was it slept to its end, with no Ctrl-C? */
static int l_sleep(lua_State *L) {
  int ms = (int)(1000 * luaL_checknumber(L, 1));
  for (; ms > 0 && !dl_interrupt_pending(); ms -= 50) poll(NULL, 0, ms < 50 ? ms : 50);
  lua_pushboolean(L, !dl_interrupt_pending());
  return 1;
}

static int l_columns(lua_State *L) {
  lua_pushinteger(L, dl_term_columns());
  return 1;
}

/* root() -> the folder that holds lua/ and lessons/ */
static int l_root(lua_State *L) {
  lua_pushstring(L, dl_tree_root());
  return 1;
}

/* exe() -> the path of this program */
static int l_exe(lua_State *L) {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  lua_pushlstring(L, path, n > 0 ? (size_t)n : 0);
  return 1;
}

/* tint(role) -> the codes that begin and end it on standard output, "" where there are none */
static int l_tint(lua_State *L) {
  static const char *const names[] = {"prompt", "error", "note", "trace", NULL};
  lua_pushstring(L, dl_term_on((dl_role)luaL_checkoption(L, 1, "note", names), 1));
  lua_pushstring(L, dl_term_off(1));
  return 2;
}

/* check(text) -> "complete", "unfinished" or "wrong": is it Lua? Nothing is run. */
static int l_check(lua_State *L) {
  static const char *const names[] = {"complete", "unfinished", "wrong"};
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  lua_pushstring(L, names[dl_session_check(text, n, "=answer")]);
  return 1;
}

void dl_lesson_open(lua_State *L) {
  static const luaL_Reg fn[] = {
      {"keep", l_keep},     {"lines", l_lines},           {"clear", l_clear},
      {"sleep", l_sleep},   {"columns", l_columns},       {"root", l_root},     {"exe", l_exe},
      {"tint", l_tint},     {"check", l_check},           {"judge", dl_spawn_judge},
      {"append", dl_store_append}, {"rewrite", dl_store_rewrite}, {"list", dl_store_list},
      {"stat", dl_store_stat},     {"id", dl_store_id},           {NULL, NULL}};
  lua_getglobal(L, "dlrepl");
  luaL_newlib(L, fn);
  lua_setfield(L, -2, "_lesson");
  lua_pop(L, 1);
}

/* ---- commands ------------------------------------------------------------------------------ */

/* The function `field` of the module, before the n arguments on top of the stack. */
static void push_module(lua_State *L, const char *field, int n) {
  lua_pushfstring(L, "return require('dlrepl.lesson.command').%s(...)", field);
  const char *code = lua_tostring(L, -1);
  if (luaL_loadbufferx(L, code, strlen(code), "=lesson", "t") != LUA_OK) lua_error(L);
  lua_remove(L, -2);
  lua_insert(L, -(n + 1));
}

/* What the text prints goes nowhere; a saved standard output, or -1. */
static int hush(void) {
  fflush(stdout);
  int saved = fcntl(1, F_DUPFD_CLOEXEC, 10), none = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (saved >= 0 && none >= 0) dup2(none, 1);
  if (none >= 0) close(none);
  return saved;
}

static void unhush(int saved) {
  fflush(stdout);
  if (saved < 0) return;
  dup2(saved, 1);
  close(saved);
}

static void run_quietly(const char *text, size_t len, dl_outcome *o) {
  lua_State *L = dl_session_state();
  int saved = hush();
  dl_session_line(text, len, "=stdin", o);
  lua_pop(L, o->n);
  o->n = 0;
  unhush(saved);
}

/* As a line at the prompt; its values are lines of the lesson's own text, paged by nobody. */
static void run_aloud(const char *text, size_t len, dl_outcome *o) {
  void (*page)(const char *, size_t) = dl_session_print;
  dl_session_line(text, len, "=stdin", o);
  dl_session_print = NULL;
  if (o->how == DL_ENDED_OK && o->n > 0) dl_session_show(o->n, dl_term_columns(), o);
  dl_session_print = page;
  dl_session_report(o);
}

/* Run the text on the stack as a line: {text} is shown with its values, {text, true} quiet. */
static void run_text(lua_State *L, dl_outcome *o) {
  size_t len;
  bool quiet = o->n == 2 && lua_toboolean(L, -1);
  const char *text = lua_tolstring(L, -o->n, &len);
  char *copy = malloc(len + 1);
  if (copy) memcpy(copy, text, len + 1);
  lua_pop(L, o->n);
  o->n = 0;
  if (!copy) return;
  showing = true;
  (quiet ? run_quietly : run_aloud)(copy, len, o);
  showing = false;
  free(copy);
}

void dl_lesson_command(const char *name, const char *rest, dl_outcome *o) {
  lua_State *L = dl_session_state();
  lua_pushstring(L, name);
  lua_pushstring(L, rest);
  push_module(L, "run", 2);
  dl_session_call(2, o);
  while (o->how == DL_ENDED_OK && o->n > 0 && lua_type(L, -o->n) == LUA_TSTRING) {
    run_text(L, o);
    if (o->how == DL_ENDED_INTERRUPT) break;
    lua_pushboolean(L, o->how == DL_ENDED_OK);
    lua_pushstring(L, o->kind);
    lua_pushstring(L, o->error);
    push_module(L, "after", 3);
    dl_session_call(3, o);
  }
  lua_pop(L, o->n);
  o->n = 0;
}

#define DL_LESSON_DEFINE(name, usage, help, more, arg) \
  void dl_lesson_run_##name(const char *rest, dl_outcome *o) { dl_lesson_command(#name, rest, o); }
DL_LESSON_COMMANDS(DL_LESSON_DEFINE)
