/* spawn.c -- the judge as its parent sees it
 *
 * For lesson.c. See spawn.h. */
#include "repl/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "repl/interrupt.h"
#include "repl/judge.h"

static const char type_name[] = "dlrepl.judge";

typedef struct judge {
  pid_t pid;      /* 0: closed */
  int to, from;
} judge;

static void close_judge(judge *j) {
  if (!j->pid) return;
  close(j->to);
  close(j->from);
  kill(-j->pid, SIGKILL);
  kill(j->pid, SIGKILL);
  while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR) continue;
  j->pid = 0;
}

static judge *self(lua_State *L) { return luaL_checkudata(L, 1, type_name); }

static int l_close(lua_State *L) {
  close_judge(self(L));
  return 0;
}

static int fail(lua_State *L, judge *j, const char *why) {
  close_judge(j);
  lua_pushnil(L);
  lua_pushstring(L, why);
  return 2;
}

/* judge:ask(text, seconds) */
static int l_ask(lua_State *L) {
  judge *j = self(L);
  size_t len;
  uint32_t n;
  bool late = false;
  const char *text = luaL_checklstring(L, 2, &len);
  int64_t ms = (int64_t)(1000 * luaL_checknumber(L, 3));
  if (!j->pid || len > DL_FRAME_MAX) return fail(L, j, "gone");
  void (*was)(int) = signal(SIGPIPE, SIG_IGN);
  bool sent = dl_frame_write(j->to, text, (uint32_t)len);
  signal(SIGPIPE, was);
  if (!sent) return fail(L, j, "gone");
  char *reply = dl_frame_read(j->from, ms, &n, dl_interrupt_pending, &late);
  if (!reply) return fail(L, j, late ? "time" : dl_interrupt_pending() ? "interrupt" : "gone");
  lua_pushlstring(L, reply, n);
  free(reply);
  return 1;
}

/* Numbers above those that the child is to have, so that dup2 there tramples on nothing. */
static int high(int fd) {
  int up = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  return up;
}

static int start(judge *j, int in, int out) {
  extern char **environ;
  char *const argv[] = {"dlrepl", "--judge", NULL};
  posix_spawn_file_actions_t fa;
  posix_spawnattr_t at;
  sigset_t usual, none;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (int s = 1; s < 32; s++)
    if (s != SIGKILL && s != SIGSTOP) sigaddset(&usual, s);
  posix_spawn_file_actions_init(&fa);
  posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
  if (!getenv("DLREPL_JUDGE_LOG"))
    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&fa, in, DL_JUDGE_IN);
  posix_spawn_file_actions_adddup2(&fa, out, DL_JUDGE_OUT);
  posix_spawnattr_init(&at);
  posix_spawnattr_setpgroup(&at, 0);
  posix_spawnattr_setsigmask(&at, &none);
  posix_spawnattr_setsigdefault(&at, &usual);
  posix_spawnattr_setflags(
      &at, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  int failed = posix_spawn(&j->pid, "/proc/self/exe", &fa, &at, argv, environ);
  posix_spawn_file_actions_destroy(&fa);
  posix_spawnattr_destroy(&at);
  return failed;
}

static void open_type(lua_State *L) {
  static const luaL_Reg fn[] = {{"ask", l_ask}, {"close", l_close}, {"__gc", l_close},
                                {"__close", l_close}, {NULL, NULL}};
  if (luaL_newmetatable(L, type_name)) {
    luaL_setfuncs(L, fn, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
  }
  lua_setmetatable(L, -2);
}

int dl_spawn_judge(lua_State *L) {
  int a[2], b[2];
  judge *j = lua_newuserdatauv(L, sizeof *j, 0);
  memset(j, 0, sizeof *j);
  open_type(L);
  if (pipe2(a, O_CLOEXEC) != 0) return luaL_error(L, "no pipe for the judge");
  if (pipe2(b, O_CLOEXEC) != 0) {
    close(a[0]);
    close(a[1]);
    return luaL_error(L, "no pipe for the judge");
  }
  int in = high(a[0]), out = high(b[1]);
  int failed = start(j, in, out);
  close(in);
  close(out);
  j->to = a[1];
  j->from = b[0];
  if (!failed) return 1;
  close(j->to);
  close(j->from);
  j->pid = 0;
  return luaL_error(L, "the judge could not be started: %s", strerror(failed));
}
