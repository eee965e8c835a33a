/* judge.c -- the process that judges answers to lessons: dlrepl --judge
 *
 * For main.c. See judge.h. Lua sees what is here as one table that it is handed, so that nothing of
 * it is a global: requests and replies, a fork with a time limit, a budget of instructions and
 * bytes, the session's way to run a piece of text, and the exchange of the global table.
 *
 * INVARIANT  A child ends by itself only with _exit, after one frame to its parent.
 * MUST NOT   start a thread: a fork would lose it. */
#include "repl/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/bind.h"
#include "repl/locals.h"
#include "repl/session.h"

void dl_set_threads(int n);
void dl_sim_adopt(void);

enum { COUNT = 10000 };            /* instructions from one look at the budget to the next */

static int child_fd = -1;          /* where this child's verdict goes; -1 in the parent */
static long long budget;           /* instructions left */
enum { PHASE = 32 };
static char no_phase[PHASE];
static char *phase = no_phase;     /* who spends them: in a page that parent and child share */

/* ---- the budget -------------------------------------------------------------------------- */

static void on_count(lua_State *L, lua_Debug *ar) {
  (void)ar;
  budget -= COUNT;
  if (budget > 0) return;
  char text[100];
  if (child_fd < 0) luaL_error(L, "too many instructions"); /* code that was accepted before */
  int n = snprintf(text, sizeof text, "{\"limit\": \"instructions\", \"phase\": \"%s\"}", phase);
  dl_frame_write(child_fd, text, (uint32_t)n);
  _exit(0);
}

/* limit(instructions, bytes, phase): from now on; 0 takes a limit away */
static int l_limit(lua_State *L) {
  static int64_t machine;
  lua_Integer n = luaL_checkinteger(L, 1), bytes = luaL_checkinteger(L, 2);
  snprintf(phase, PHASE, "%s", luaL_optstring(L, 3, ""));
  if (!machine) machine = dl_mem.cap_bytes;
  int64_t cap = dl_mem.live_bytes + dl_mem.lent_bytes + bytes;
  dl_mem.cap_bytes = bytes > 0 && cap < machine ? cap : machine;
  budget = n;
  lua_sethook(L, n > 0 ? on_count : NULL, n > 0 ? LUA_MASKCOUNT : 0, COUNT);
  return 0;
}

/* ---- children ---------------------------------------------------------------------------- */

static const char child_type[] = "dlrepl.child";

typedef struct child {
  pid_t pid;   /* 0: it is gone */
  int fd;
  char *phase;
} child;

/* Whatever a library function would open: this process opens no file any more, nor starts one. */
static void close_the_doors(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_NOFILE, &none);
  setrlimit(RLIMIT_NPROC, &none);
  setrlimit(RLIMIT_CORE, &none);
}

/* doors(open): whether this process opens files and starts programs. Closed while earlier code runs
 * here; to be opened again, hence the soft limits only. */
static int l_doors(lua_State *L) {
  static const int what[] = {RLIMIT_NOFILE, RLIMIT_NPROC};
  for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
    struct rlimit r;
    if (getrlimit(what[i], &r) != 0) continue;
    r.rlim_cur = lua_toboolean(L, 1) ? r.rlim_max : 0;
    setrlimit(what[i], &r);
  }
  return 0;
}

/* In the child: call the function at 1 and send the text that it returns. */
static void serve_child(lua_State *L, int fd, char *page) {
  size_t n;
  child_fd = fd;
  phase = page;
  dl_sim_adopt();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_the_doors();
  lua_settop(L, 1);
  bool fine = lua_pcall(L, 0, 1, 0) == LUA_OK;
  lua_sethook(L, NULL, 0, 0);
  const char *text = luaL_tolstring(L, -1, &n);
  if (!fine) lua_pushfstring(L, "!%s", text);
  text = lua_tolstring(L, -1, &n);
  dl_frame_write(fd, text, (uint32_t)n);
  _exit(0);
}

/* The child ends, by force if it has not yet; its exit status. */
static int end_child(child *c) {
  int status = 0;
  kill(c->pid, SIGKILL);
  while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
  close(c->fd);
  munmap(c->phase, PHASE);
  c->pid = 0;
  return status;
}

static int l_drop(lua_State *L) {
  child *c = luaL_checkudata(L, 1, child_type);
  if (c->pid) end_child(c);
  return 0;
}

static child *push_child(lua_State *L) {
  static const luaL_Reg fn[] = {{"__gc", l_drop}, {NULL, NULL}};
  child *c = lua_newuserdatauv(L, sizeof *c, 0);
  memset(c, 0, sizeof *c);
  if (luaL_newmetatable(L, child_type)) luaL_setfuncs(L, fn, 0);
  lua_setmetatable(L, -2);
  return c;
}

/* start(function) -> a process of its own that calls it; nil if there is none to be had */
static int l_start(lua_State *L) {
  int p[2];
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  child *c = push_child(L);
  if (pipe2(p, O_CLOEXEC) != 0) return 0;
  char *page = mmap(NULL, PHASE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  pid_t pid = page == MAP_FAILED ? -1 : fork();
  if (pid == 0) {
    close(p[0]);
    serve_child(L, p[1], page);
  }
  close(p[1]);
  if (pid > 0) {
    *c = (child){.pid = pid, .fd = p[0], .phase = page};
    return 1;
  }
  close(p[0]);
  if (page != MAP_FAILED) munmap(page, PHASE);
  return 0;
}

static int push_why(lua_State *L, bool late, int status, const char *where) {
  lua_pushnil(L);
  if (late) lua_pushliteral(L, "time");
  else if (WIFSIGNALED(status)) lua_pushfstring(L, "signal %d", WTERMSIG(status));
  else lua_pushfstring(L, "exit %d", WEXITSTATUS(status));
  lua_pushstring(L, where);
  return 3;
}

/* wait(child, seconds) -> the text that its function returned; or nil, why not ("time",
 * "signal 11", "exit 1") and the phase it was in. The child is gone then. */
static int l_wait(lua_State *L) {
  child *c = luaL_checkudata(L, 1, child_type);
  bool late = false;
  uint32_t n = 0;
  char where[PHASE];
  if (!c->pid) return luaL_argerror(L, 1, "it is gone");
  char *text = dl_frame_read(c->fd, (int64_t)(1000 * luaL_checknumber(L, 2)), &n, NULL, &late);
  snprintf(where, sizeof where, "%s", c->phase);
  if (!text && !late) waitid(P_PID, (id_t)c->pid, &(siginfo_t){0}, WEXITED | WNOWAIT);
  int status = end_child(c);
  if (!text) return push_why(L, late, status, where);
  lua_pushlstring(L, text, n);
  free(text);
  return 1;
}

/* ---- requests ---------------------------------------------------------------------------- */

/* read() -> the next request, nil after the last */
static int l_read(lua_State *L) {
  uint32_t n;
  bool late;
  char *text = dl_frame_read(DL_JUDGE_IN, -1, &n, NULL, &late);
  if (!text) return lua_pushnil(L), 1;
  lua_pushlstring(L, text, n);
  free(text);
  return 1;
}

static int l_write(lua_State *L) {
  size_t n;
  const char *text = luaL_checklstring(L, 1, &n);
  lua_pushboolean(L, dl_frame_write(DL_JUDGE_OUT, text, (uint32_t)n));
  return 1;
}

/* ---- running ----------------------------------------------------------------------------- */

/* Push what became of a run: true, or false, the error's kind and its text. */
static int push_outcome(lua_State *L, const dl_outcome *o) {
  lua_pushboolean(L, o->how == DL_ENDED_OK);
  if (o->how == DL_ENDED_OK) return 1;
  lua_pushstring(L, o->how == DL_ENDED_UNFINISHED ? "syntax" : *o->kind ? o->kind : "lua");
  lua_pushstring(L, o->error);
  return 3;
}

/* line(text, name) -> true; or false, kind, text of the error. As a line at the prompt. */
static int l_line(lua_State *L) {
  size_t n;
  dl_outcome o = {.how = DL_ENDED_ERROR, .kind = "syntax"};
  const char *text = luaL_checklstring(L, 1, &n), *name = luaL_optstring(L, 2, "=answer");
  if (strchr("%:?", text[strspn(text, " \t\r\n")]) && n > 0) {
    o.error = "a command (% : ?) is no part of an answer";
    return push_outcome(L, &o);
  }
  dl_session_line(text, n, name, &o);
  lua_pop(L, o.n);
  return push_outcome(L, &o);
}

/* call(function, ...) -> true and its results; or false, kind, text */
static int l_call(lua_State *L) {
  dl_outcome o;
  dl_session_call(lua_gettop(L) - 1, &o);
  if (o.how != DL_ENDED_OK) return push_outcome(L, &o);
  lua_pushboolean(L, 1);
  lua_insert(L, -(o.n + 1));
  return o.n + 1;
}

/* get(name) -> the value of a local or a global of the answer's */
static int l_get(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  if (dl_locals_push(L, name)) return 1;
  lua_pushglobaltable(L);
  lua_pushvalue(L, 1);
  lua_rawget(L, -2);
  return 1;
}

/* globals(table): code that is compiled from now on has it for its global table */
static int l_globals(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_rawseti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
  return 0;
}

static void close_others(void) {
  long most = sysconf(_SC_OPEN_MAX);
  for (int fd = DL_JUDGE_OUT + 1; fd < (most > 1024 || most < 0 ? 1024 : most); fd++) close(fd);
}

static int serve(lua_State *L) {
  static const luaL_Reg fn[] = {
      {"limit", l_limit}, {"start", l_start}, {"wait", l_wait}, {"drop", l_drop},
      {"read", l_read},   {"write", l_write}, {"line", l_line}, {"call", l_call},
      {"globals", l_globals}, {"get", l_get}, {"doors", l_doors}, {NULL, NULL}};
  lua_getglobal(L, "require");
  lua_pushliteral(L, "dlrepl.lesson.judge");
  lua_call(L, 1, 1);
  luaL_newlib(L, fn);
  lua_call(L, 1, 0);
  return 0;
}

int dl_judge_main(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  close_others();
  unsetenv("DLREPL_GPU");
  dl_set_threads(1);
  lua_State *L = dl_session_open();
  if (!L) return 1;
  lua_pushcfunction(L, serve);
  if (lua_pcall(L, 0, 0, 0) == LUA_OK) return 0;
  fprintf(stderr, "dlrepl --judge: %s\n", luaL_tolstring(L, -1, NULL));
  return 1;
}
