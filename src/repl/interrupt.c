/* interrupt.c -- Ctrl-C: stop what runs, keep the session
 *
 * For session.c and line.c. See interrupt.h. Hooks belong to one lua_State each, so the coroutine
 * functions note who runs now, and hand a pending request to the resumer when a coroutine returns.
 *
 * INVARIANT  `running` is the innermost state that executes while the session is busy, else NULL.
 * MUST NOT   allocate or lock in the signal handler. */
#include "repl/interrupt.h"

#include <lauxlib.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "bind/bind.h"
#include "repl/tree.h"

static lua_State *volatile running;
static volatile sig_atomic_t pending;    /* requests since enter */
static volatile sig_atomic_t idle_taken; /* SIGINT while nothing ran */
static volatile int64_t first_request;   /* ms, monotonic */
static pthread_t main_thread;
static bool stays; /* whatever cannot be stopped */

enum {
  LIBRARY_GRACE = 20000, /* instructions a function of ours may still run, to tidy up */
  GIVE_UP_MS = 1000      /* a third request this long after the first leaves the process */
};
static int grace;

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool in_library(lua_State *L, lua_Debug *ar) {
  return lua_getinfo(L, "S", ar) && dl_tree_owns(ar->source);
}

static void hook(lua_State *L, lua_Debug *ar) {
  if (!pending) {
    lua_sethook(L, NULL, 0, 0); /* inherited from a coroutine made while a request was pending */
    return;
  }
  if (grace > 0 && in_library(L, ar)) {
    grace--;
    return;
  }
  dl_cancel = 0;
  dl_raise(L, dl_fail(DL_KeyboardInterrupt, DL_E_INTERRUPT, "%s", ""));
}

static void set_hook(lua_State *L) { lua_sethook(L, hook, LUA_MASKCOUNT, 1); }

static void give_up(void) {
  static const char word[] = "\ndlrepl: this could not be stopped; leaving\n";
  ssize_t ignored = write(2, word, sizeof word - 1);
  (void)ignored;
  _exit(130);
}

void dl_interrupt_request(void) {
  lua_State *L = running;
  if (!L) {
    idle_taken = 1;
    return;
  }
  if (!pending) first_request = now_ms();
  pending = pending + 1;
  if (!stays && pending >= 3 && now_ms() - first_request > GIVE_UP_MS) give_up();
  dl_cancel = 1;
  set_hook(L);
}

static void on_sigint(int sig) {
  if (pthread_equal(pthread_self(), main_thread)) dl_interrupt_request();
  else pthread_kill(main_thread, sig);
}

/* The handler has a stack of its own: machine code that a library makes at run time may keep data
 * below the stack pointer, out of the red zone, where a signal's frame would overwrite it. */
static void own_stack(void) {
  static char stack[65536];
  stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&s, NULL);
}

void dl_interrupt_install(bool restart) {
  struct sigaction sa;
  own_stack();
  memset(&sa, 0, sizeof sa);
  sa.sa_handler = on_sigint;
  sa.sa_flags = SA_ONSTACK | (restart ? SA_RESTART : 0);
  sigemptyset(&sa.sa_mask);
  main_thread = pthread_self();
  stays = restart;
  sigaction(SIGINT, &sa, NULL);
}

void dl_interrupt_enter(lua_State *L) {
  pending = 0;
  dl_cancel = 0;
  grace = LIBRARY_GRACE;
  running = L;
}

bool dl_interrupt_leave(void) {
  lua_State *L = running;
  running = NULL;
  bool was = pending != 0;
  pending = 0;
  dl_cancel = 0;
  if (was) lua_sethook(L, NULL, 0, 0);
  return was;
}

bool dl_interrupt_pending(void) { return pending != 0; }

bool dl_interrupt_idle_taken(void) {
  bool was = idle_taken != 0;
  idle_taken = 0;
  return was;
}

/* ---- coroutines -------------------------------------------------------------------------- */

static lua_State *check_co(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  if (!co) luaL_typeerror(L, 1, "coroutine");
  return co;
}

/* Resume co with the n values on top of L. Number of results, or -1 with the error on top of L. */
static int resume(lua_State *L, lua_State *co, int n) {
  int got;
  if (!lua_checkstack(co, n)) {
    lua_pushliteral(L, "too many arguments to resume");
    return -1;
  }
  lua_xmove(L, co, n);
  lua_State *resumer = running;
  running = co;
  if (pending) set_hook(co);
  int status = lua_resume(co, L, n, &got);
  running = resumer;
  if (pending && resumer) set_hook(resumer);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_xmove(co, L, 1);
    return -1;
  }
  if (!lua_checkstack(L, got + 1)) {
    lua_pop(co, got);
    lua_pushliteral(L, "too many results to resume");
    return -1;
  }
  lua_xmove(co, L, got);
  return got;
}

static int co_resume(lua_State *L) {
  lua_State *co = check_co(L);
  int n = resume(L, co, lua_gettop(L) - 1);
  lua_pushboolean(L, n >= 0);
  lua_insert(L, n < 0 ? -2 : -(n + 1));
  return n < 0 ? 2 : n + 1;
}

/* Run the pending closes of co; its error, if any, goes on top of L. */
static int reset(lua_State *L, lua_State *co) {
  lua_State *caller = running;
  running = co;
  int status = lua_resetthread(co);
  running = caller;
  if (pending && caller) set_hook(caller);
  if (status != LUA_OK) lua_xmove(co, L, 1);
  return status;
}

static int wrapped(lua_State *L) {
  lua_State *co = lua_tothread(L, lua_upvalueindex(1));
  int n = resume(L, co, lua_gettop(L));
  if (n >= 0) return n;
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) { /* died of an error: close its variables */
    lua_pop(L, 1);
    reset(L, co);
  }
  if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  return lua_error(L);
}

static int co_wrap(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_State *co = lua_newthread(L);
  lua_pushvalue(L, 1);
  lua_xmove(L, co, 1);
  lua_pushcclosure(L, wrapped, 1);
  return 1;
}

static const char *co_state(lua_State *L, lua_State *co) {
  lua_Debug ar;
  if (L == co) return "running";
  if (lua_status(co) == LUA_YIELD) return "suspended";
  if (lua_status(co) != LUA_OK) return "dead";
  if (lua_getstack(co, 0, &ar)) return "normal";
  return lua_gettop(co) ? "suspended" : "dead";
}

static int co_close(lua_State *L) {
  lua_State *co = check_co(L);
  const char *state = co_state(L, co);
  if (*state != 's' && *state != 'd') return luaL_error(L, "cannot close a %s coroutine", state);
  int status = reset(L, co);
  lua_pushboolean(L, status == LUA_OK);
  if (status == LUA_OK) return 1;
  lua_insert(L, -2);
  return 2;
}

/* ---- xpcall ------------------------------------------------------------------------------ */

/* A handler runs with hooks off when the hook itself raised: one that loops could never be stopped.
 * So an interrupt passes it by. Upvalue: the user's handler. */
static int guarded_handler(lua_State *L) {
  if (pending) return 1;
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int xpcall_done(lua_State *L, int status, lua_KContext below) {
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L) - (int)below;
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* xpcall(f, handler, ...) */
static int l_xpcall(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_pushvalue(L, 2);
  lua_pushcclosure(L, guarded_handler, 1);
  lua_replace(L, 2);
  lua_pushboolean(L, 1);
  lua_pushvalue(L, 1);
  lua_rotate(L, 3, 2); /* f, handler, true, f, arguments */
  int status = lua_pcallk(L, lua_gettop(L) - 4, LUA_MULTRET, 2, 2, xpcall_done);
  return xpcall_done(L, status, 2);
}

void dl_interrupt_open(lua_State *L) {
  static const luaL_Reg f[] = {
      {"resume", co_resume}, {"wrap", co_wrap}, {"close", co_close}, {NULL, NULL}};
  lua_getglobal(L, "coroutine");
  luaL_setfuncs(L, f, 0);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_xpcall);
  lua_setglobal(L, "xpcall");
}
