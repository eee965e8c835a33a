/* magic.c -- the commands that begin with % or :
 *
 * For session.c. See magic.h. A command fails as a line does: with an outcome that holds the text.
 *
 * INVARIANT  Every row has a help line; user code runs through the session alone.
 * MUST NOT   know terminals. */
#include "repl/magic.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "repl/command.h"
#include "repl/history.h"
#include "repl/lesson.h"
#include "repl/locals.h"
#include "repl/pytorch.h"
#include "repl/show.h"
#include "repl/timeit.h"
#include "repl/width.h"

enum { LOAD_DEFAULT = 10, WHO_WIDTH = 60, MAX_ARGS = 32 };

static const char base_key = 0;
static char *last_line, *next_input;

static bool is_mark(char c) { return c == '%' || c == ':'; }

static void refuse(dl_outcome *o, const char *form, ...) {
  static char text[400];
  va_list args;
  va_start(args, form);
  vsnprintf(text, sizeof text, form, args);
  va_end(args);
  memset(o, 0, sizeof *o);
  o->how = DL_ENDED_ERROR;
  o->error = text;
  o->trace = "";
}

static void succeed(dl_outcome *o) {
  memset(o, 0, sizeof *o);
  o->error = o->trace = "";
}

/* ---- %time ------------------------------------------------------------------------------- */

static double seconds(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void add_time(const char *before, double s, const char *after) {
  static const struct { double least, times; const char *unit; } units[] = {
      {1, 1, "s"}, {1e-3, 1e3, "ms"}, {1e-6, 1e6, "us"}, {0, 1e9, "ns"}};
  int u = 0;
  while (s < units[u].least) u++;
  printf("%s%.3g %s%s", before, s * units[u].times, units[u].unit, after);
}

static void run_time(const char *rest, dl_outcome *o) {
  struct rusage a, b;
  struct timespec t0, t1;
  getrusage(RUSAGE_SELF, &a);
  clock_gettime(CLOCK_MONOTONIC, &t0);
  dl_session_line(rest, strlen(rest), "=stdin", o);
  clock_gettime(CLOCK_MONOTONIC, &t1);
  getrusage(RUSAGE_SELF, &b);
  double user = seconds(b.ru_utime) - seconds(a.ru_utime);
  double sys = seconds(b.ru_stime) - seconds(a.ru_stime);
  if (o->how != DL_ENDED_OK) return;
  add_time("CPU times: user ", user, ", ");
  add_time("sys: ", sys, ", ");
  add_time("total: ", user + sys, "\n");
  double wall = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
  add_time("Wall time: ", wall, "\n");
}

/* ---- %timeit ------------------------------------------------------------------------------ */

/* -n N and -r R in front; false if one has no number. */
static bool read_counts(const char **rest, long *runs, long *repeats) {
  while (!strncmp(*rest, "-n", 2) || !strncmp(*rest, "-r", 2)) {
    char *end;
    long n = strtol(*rest + 2, &end, 10);
    if (end == *rest + 2 || n < 1 || n > 1000000000) return false;
    *((*rest)[1] == 'n' ? runs : repeats) = n;
    *rest = end + strspn(end, " \t");
  }
  return true;
}

/* A function of the code on the stack: its value is returned if it has one. */
static void push_code(const char *code, dl_outcome *o) {
  static const char *const form[] = {"return function() return %s\nend",
                                     "return function() %s\nend"};
  size_t cap = strlen(code) + 40;
  char *text = malloc(cap);
  if (!text) return refuse(o, "MemoryError: out of memory");
  for (int i = 0; i < 2; i++) {
    snprintf(text, cap, form[i], code);
    if (dl_session_check(text, strlen(text), "=stdin") == DL_TEXT_COMPLETE) break;
  }
  dl_session_line(text, strlen(text), "=stdin", o);
  free(text);
}

static void run_timeit(const char *rest, dl_outcome *o) {
  long runs = 0, repeats = 0;
  if (!read_counts(&rest, &runs, &repeats)) return refuse(o, "-n and -r are followed by a number");
  if (!*rest) return refuse(o, "what shall be timed? %%timeit x:matmul(y)");
  push_code(rest, o);
  if (o->how != DL_ENDED_OK || o->n != 1) return;
  lua_State *L = dl_session_state();
  lua_pushcfunction(L, dl_timeit);
  lua_insert(L, -2);
  lua_pushstring(L, rest);
  lua_pushinteger(L, runs);
  lua_pushinteger(L, repeats);
  dl_session_call(4, o);
  if (o->how != DL_ENDED_OK) return;
  printf("%s\n", lua_tostring(L, -1));
  lua_pop(L, o->n);
  o->n = 0;
}

/* ---- %who -------------------------------------------------------------------------------- */

void dl_magic_open(lua_State *L) {
  lua_newtable(L);
  lua_pushglobaltable(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    lua_pushvalue(L, -2);
    lua_pushboolean(L, 1);
    lua_rawset(L, -6);
  }
  lua_pop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &base_key);
}

void dl_magic_push_base(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &base_key); }

/* Add the string keys of the table at t to the list at `list`, but for those in `without`. */
static int add_names(lua_State *L, int t, int list, int without, int have) {
  for (lua_pushnil(L); lua_next(L, t);) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING) continue;
    const char *name = lua_tostring(L, -1);
    lua_pushvalue(L, -1);
    bool known = without && lua_rawget(L, without) != LUA_TNIL;
    lua_pop(L, 1);
    if (known || !strcmp(name, "_") || !strcmp(name, "arg")) continue;
    lua_pushvalue(L, -1);
    lua_rawseti(L, list, ++have);
  }
  return have;
}

/* Push one line about the value on top: a tensor's shape, dtype and device, a value's text. */
static void describe(lua_State *L) {
  int v = lua_gettop(L);
  const char *kind = luaL_typename(L, v);
  if (luaL_testudata(L, v, "torch.Tensor") || !strcmp(kind, "userdata")) {
    lua_getglobal(L, "torch");
    lua_getfield(L, -1, "is_tensor");
    lua_pushvalue(L, v);
    lua_call(L, 1, 1);
    if (lua_toboolean(L, -1)) {
      static const char *const field[] = {"shape", "dtype", "device"};
      lua_pushliteral(L, "Tensor");
      for (int i = 0; i < 3; i++) {
        lua_pushliteral(L, " ");
        lua_getfield(L, v, field[i]);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        lua_concat(L, 3);
      }
      return;
    }
  }
  dl_show_push(L, v, WHO_WIDTH);
  const char *text = lua_tostring(L, -1);
  size_t n = strcspn(text, "\n");
  bool cut = text[n] || n > WHO_WIDTH;
  if (n > WHO_WIDTH) n = WHO_WIDTH;
  while (n && ((unsigned char)text[n] & 0xc0) == 0x80) n--; /* not within a sign */
  lua_pushlstring(L, text, n);
  lua_pushstring(L, cut ? " …" : "");
  lua_concat(L, 2);
}

static int who(lua_State *L) {
  lua_settop(L, 0);
  lua_newtable(L);
  dl_magic_push_base(L);
  lua_pushglobaltable(L);
  dl_locals_push_names(L);
  int locals = add_names(L, 4, 1, 0, 0), all = add_names(L, 3, 1, 2, locals);
  size_t longest = 0, n;
  for (int i = 1; i <= all; i++) {
    lua_rawgeti(L, 1, i);
    n = lua_rawlen(L, -1);
    if (n > longest && n <= 24) longest = n;
    lua_pop(L, 1);
  }
  if (!all) puts("no names of yours yet");
  for (int i = 1; i <= all; i++) {
    lua_rawgeti(L, 1, i);
    const char *name = lua_tostring(L, -1);
    if (i > locals || !dl_locals_push(L, name)) {
      lua_pushvalue(L, -1);
      lua_rawget(L, 3);
    }
    describe(L);
    printf("%-*s  %s%s\n", (int)longest, name, i <= locals ? "local " : "", lua_tostring(L, -1));
    lua_settop(L, 4);
  }
  return 0;
}

static void run_who(const char *rest, dl_outcome *o) {
  (void)rest;
  lua_pushcfunction(dl_session_state(), who);
  dl_session_call(0, o);
}

/* ---- %run, %load_history, %pytorch ----------------------------------------------------------- */

/* The next word of *rest, quotes dropped, into word; false if there is none (or it is too long). */
static bool next_word(const char **rest, char *word, size_t cap) {
  const char *s = *rest + strspn(*rest, " \t\r\n");
  char quote = *s == '"' || *s == '\'' ? *s++ : 0;
  size_t n = quote ? strcspn(s, quote == '"' ? "\"" : "'") : strcspn(s, " \t\r\n");
  if ((n == 0 && !quote) || n >= cap) return false;
  memcpy(word, s, n);
  word[n] = 0;
  *rest = s + n + (quote && s[n]);
  return true;
}

static void run_file(const char *rest, dl_outcome *o) {
  lua_State *L = dl_session_state();
  char file[4096], word[4096], whole[8192];
  int n = 0;
  if (!next_word(&rest, file, sizeof file)) return refuse(o, "which file? %%run train.lua ARGS");
  const char *home = getenv("HOME");
  bool at_home = !strncmp(file, "~/", 2) && home;
  snprintf(whole, sizeof whole, "%s%s", at_home ? home : "", file + at_home);
  for (; n < MAX_ARGS && next_word(&rest, word, sizeof word); n++) lua_pushstring(L, word);
  dl_session_file(whole, n, o);
}

static void run_load(const char *rest, dl_outcome *o) {
  char *end;
  long n = *rest ? strtol(rest, &end, 10) : LOAD_DEFAULT;
  if (n < 1 || (*rest && end[strspn(end, " \t\r\n")]))
    return refuse(o, "how many inputs? %%load_history 3");
  const char *picked[DL_HISTORY_MAX], *s;
  int have = 0;
  for (int i = 1; have < n && have < DL_HISTORY_MAX && (s = dl_history_last(i)) != NULL; i++)
    if (!is_mark(*s) && *s != '?') picked[have++] = s;
  if (!have) return refuse(o, "no history: it is kept at a terminal");
  char *text = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&text, &len);
  if (!f) return refuse(o, "MemoryError: out of memory");
  for (int i = have - 1; i >= 0; i--) fprintf(f, "%s%s", picked[i], i ? "\n" : "");
  fclose(f);
  free(next_input);
  next_input = text;
  succeed(o);
}

char *dl_magic_take_next(void) {
  char *text = next_input;
  next_input = NULL;
  return text;
}

void dl_magic_note_line(const char *text, size_t len) {
  const char *code;
  char first = text[strspn(text, " \t\r\n")];
  bool skip = first == '?' || dl_magic_is(text, len, &code) || len > 1 << 16;
  char *copy = skip ? NULL : strndup(text, len);
  if (!copy) return;
  free(last_line);
  last_line = copy;
}

static void run_pytorch(const char *rest, dl_outcome *o) {
  const char *code = *rest ? rest : last_line;
  if (!code) return refuse(o, "no line was run yet; or %%pytorch CODE");
  dl_text how = dl_session_check(code, strlen(code), "=stdin");
  if (how == DL_TEXT_UNFINISHED) return refuse(o, "this line is not finished");
  if (how == DL_TEXT_WRONG) return dl_session_line(code, strlen(code), "=stdin", o); /* says why */
  char *text = dl_pytorch_spelling(code, strlen(code));
  if (!text) return refuse(o, "this line has no spelling that could be found");
  printf("%s\n", text);
  free(text);
  succeed(o);
}

/* ---- %help ------------------------------------------------------------------------------- */

static void run_help(const char *rest, dl_outcome *o);

#define TIMEIT_MORE "Without counts: as many runs as fit into 0.2 s; told in PyTorch's form."

static const dl_magic table[] = {
  {"time", "CODE", "run CODE once and tell how long it took", "Its value prints as ever.", DL_MAGIC_CODE, run_time},
  {"timeit", "[-n RUNS] [-r MEASUREMENTS] CODE", "measure CODE as torch.utils.benchmark does", TIMEIT_MORE, DL_MAGIC_CODE, run_timeit},
  {"who", "", "list your names: locals of the session, then globals", "", DL_MAGIC_NOTHING, run_who},
  {"run", "FILE [ARGS]", "run a program in this session; its globals stay", "", DL_MAGIC_FILE, run_file},
  {"load_history", "[N]", "put the last N inputs (10) on the next line, ready to be edited", "", DL_MAGIC_NUMBER, run_load},
  {"pytorch", "[CODE]", "print the PyTorch spelling of CODE, or of the last line", "", DL_MAGIC_CODE, run_pytorch},
  {"reset", "[-f]", "forget every name of yours, locals and globals", "Asks first, but for -f.", DL_MAGIC_NOTHING, dl_command_reset},
  {"gpu", "[sim:CARD]", "tell what the GPUs are, or simulate one: %gpu sim:t4", "", DL_MAGIC_NOTHING, dl_command_gpu},
#define DL_LESSON_ROW(name, usage, help, more, arg) \
  {#name, usage, help, more, arg, dl_lesson_run_##name, true},
  DL_LESSON_COMMANDS(DL_LESSON_ROW)
#undef DL_LESSON_ROW
  {"help", "[NAME]", "list these commands, or tell about one", "", DL_MAGIC_COMMAND, run_help}};
enum { N_MAGIC = sizeof table / sizeof *table };

const dl_magic *dl_magic_table(int *n) {
  *n = N_MAGIC;
  return table;
}

/* The row of that name; of two, the one that is told with this sign. */
static const dl_magic *find(const char *name, size_t n, char mark) {
  const dl_magic *found = NULL;
  for (int i = 0; i < N_MAGIC; i++) {
    if (strlen(table[i].name) != n || memcmp(table[i].name, name, n)) continue;
    if (!found || table[i].lesson == (mark == ':')) found = &table[i];
  }
  return found;
}

/* Letters that differ, at best: Levenshtein's distance of short words. */
static int distance(const char *a, size_t na, const char *b, size_t nb) {
  int row[33];
  if (na > 32 || nb > 32) return 99;
  for (size_t j = 0; j <= nb; j++) row[j] = (int)j;
  for (size_t i = 1; i <= na; i++) {
    int corner = row[0];
    row[0] = (int)i;
    for (size_t j = 1; j <= nb; j++) {
      int above = row[j], best = corner + (a[i - 1] != b[j - 1]);
      if (above + 1 < best) best = above + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      corner = above;
      row[j] = best;
    }
  }
  return row[nb];
}

static void refuse_unknown(const char *name, size_t n, dl_outcome *o) {
  const dl_magic *near = NULL;
  int least = n < 4 ? 2 : 3;
  for (int i = 0; i < N_MAGIC; i++) {
    int d = distance(name, n, table[i].name, strlen(table[i].name));
    bool begins = n > 1 && !strncmp(table[i].name, name, n);
    if (begins) d = 0;
    if (d >= least) continue;
    least = d;
    near = &table[i];
  }
  char mark = name[-1];
  if (near) {
    refuse(o, "no command is called %c%.*s; did you mean %c%s?", mark, (int)n, name, mark,
           near->name);
    return;
  }
  refuse(o, "no command is called %c%.*s; %chelp lists them", mark, (int)n, name, mark);
}

static void run_help(const char *rest, dl_outcome *o) {
  char asked[64], mark = is_mark(*rest) ? *rest++ : 0;
  size_t n = strcspn(rest, " \t\r\n");
  snprintf(asked, sizeof asked, "%%%.*s", (int)n, rest);
  const dl_magic *m = n ? find(rest, n, mark) : NULL;
  if (n && !m) return refuse_unknown(asked + 1, strlen(asked + 1), o);
  for (int i = 0; i < N_MAGIC; i++) {
    if (m && (mark ? m != &table[i] : strcmp(m->name, table[i].name))) continue;
    printf("%c%s%s%s\n    %s\n", table[i].lesson ? ':' : '%', table[i].name,
           *table[i].usage ? " " : "", table[i].usage, table[i].help);
    if (m && *m->more) printf("    %s\n", m->more);
  }
  succeed(o);
}

/* ---- the line ---------------------------------------------------------------------------- */

static size_t name_length(const char *s) {
  size_t n = 0;
  while (isalnum((unsigned char)s[n]) || s[n] == '_') n++;
  return n;
}

bool dl_magic_is(const char *text, size_t len, const char **code) {
  const char *s = text + strspn(text, " \t\r\n");
  *code = NULL;
  if (strlen(text) != len || !is_mark(*s) || !isalpha((unsigned char)s[1])) return false;
  size_t n = name_length(++s);
  const dl_magic *m = find(s, n, s[-1]);
  s += n + strspn(s + n, " \t");
  if (m && m->run == run_time && *s) *code = s;
  return true;
}

void dl_magic_run(const char *text, size_t len, dl_outcome *o) {
  char *copy = strndup(text, len);
  if (!copy) return refuse(o, "MemoryError: out of memory");
  char *s = copy + strspn(copy, " \t\r\n") + 1, *end = copy + strlen(copy);
  size_t n = name_length(s);
  const dl_magic *m = find(s, n, s[-1]);
  while (end > s && isspace((unsigned char)end[-1])) *--end = 0;
  if (m) m->run(s + n + strspn(s + n, " \t\r\n"), o);
  else refuse_unknown(s, n, o);
  fflush(stdout);
  free(copy);
}
