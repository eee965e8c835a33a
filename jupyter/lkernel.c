/* lkernel.c -- the table dlrepl.kernel, and what a cell finds changed
 *
 * For kernel.c. See lkernel.h. os.exit does not end the kernel, os.execute and io.popen write
 * what was printed before, and can be interrupted.
 *
 * INVARIANT  What was printed before a display is published before it.
 * MUST NOT   be used by another thread than the main one. */
#include "lkernel.h"

#include <lauxlib.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bind/bind.h"
#include "capture.h"
#include "mime.h"
#include "repl/interrupt.h"
#include "shell.h"

enum { PATIENCE = 50 }; /* times 10 ms that an interrupted child may take to end */

extern char **environ;

/* display(bundle, metadata, display_id, update) */
static int l_display(lua_State *L) {
  size_t n = 0;
  const char *id = luaL_optlstring(L, 3, NULL, &n);
  bool update = lua_toboolean(L, 4);
  if (update && !id) return luaL_argerror(L, 3, "an update needs the id of what it replaces");
  dl_slice data = dl_mime_bundle(L, 1), metadata = dl_mime_metadata(L, 2);
  dl_capture_sync();
  dl_packet *p = dl_publish_new(update ? "update_display_data" : "display_data", NULL);
  if (!p) return 0;
  dl_buf_text(&p->text, "{\"data\":");
  dl_buf_add(&p->text, data.s, data.n);
  dl_buf_text(&p->text, ",\"metadata\":");
  dl_buf_add(&p->text, metadata.s, metadata.n);
  dl_buf_text(&p->text, ",\"transient\":{");
  if (id) {
    dl_buf_text(&p->text, "\"display_id\":");
    dl_json_string(&p->text, id, n);
  }
  dl_buf_text(&p->text, "}}");
  dl_iopub_push(p, DL_MAY);
  return 0;
}

/* clear_output(wait): wait until there is something new */
static int l_clear_output(lua_State *L) {
  bool wait = lua_toboolean(L, 1);
  dl_capture_sync();
  dl_packet *p = dl_publish_new("clear_output", NULL);
  if (!p) return 0;
  dl_buf_form(&p->text, "{\"wait\":%s}", wait ? "true" : "false");
  dl_iopub_push(p, DL_MUST);
  return 0;
}

/* metadata(): of the request under way, cellId among others */
static int l_metadata(lua_State *L) {
  const dl_request *r = dl_shell_request();
  json_error_t e;
  json_t *v = r ? json_loadb(r->metadata.s, r->metadata.n, JSON_ALLOW_NUL, &e) : NULL;
  if (v) dl_json_push(L, v);
  else lua_newtable(L);
  json_decref(v);
  return 1;
}

/* ---- os and io --------------------------------------------------------------------------- */

static int l_exit(lua_State *L) {
  dl_status st = dl_fail(DL_RuntimeError, DL_E_UNSUPPORTED, "os.exit does not end the kernel");
  dl_note("the notebook's menu does: Kernel, Shut Down or Restart");
  return dl_raise(L, st);
}

/* Wait for the child; what is interrupted is told so, and ended if it does not listen. */
static int wait_for(pid_t child) {
  int status = 0, fd = (int)syscall(SYS_pidfd_open, child, 0), told = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    bool stop = dl_interrupt_pending() || dl_kernel_is_closing();
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (stop && told++ == 0) kill(child, SIGINT);
    if (told > PATIENCE) kill(child, SIGKILL);
    poll(&p, fd >= 0, stop || fd < 0 ? 10 : 100); /* a signal ends it */
  }
  if (fd >= 0) close(fd);
  return status;
}

/* os.execute(command): as Lua's, but the output comes in order and an interrupt reaches it */
static int l_execute(lua_State *L) {
  const char *command = luaL_optstring(L, 1, NULL);
  char *argv[] = {"sh", "-c", (char *)command, NULL};
  posix_spawnattr_t attr;
  sigset_t none, all;
  pid_t child;
  if (!command) return lua_pushboolean(L, 1), 1;
  dl_capture_sync();
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_init(&attr);
  posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigmask(&attr, &none);
  posix_spawnattr_setsigdefault(&attr, &all);
  int st = posix_spawn(&child, "/bin/sh", NULL, &attr, argv, environ);
  posix_spawnattr_destroy(&attr);
  if (st != 0) return luaL_fileresult(L, 0, NULL);
  return luaL_execresult(L, wait_for(child));
}

/* io.popen(…). Upvalue: the original. */
static int l_popen(lua_State *L) {
  dl_capture_sync();
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static void change_libraries(lua_State *L) {
  static const luaL_Reg os[] = {{"exit", l_exit}, {"execute", l_execute}, {NULL, NULL}};
  lua_getglobal(L, "os");
  luaL_setfuncs(L, os, 0);
  lua_getglobal(L, "io");
  lua_getfield(L, -1, "popen");
  lua_pushcclosure(L, l_popen, 1);
  lua_setfield(L, -2, "popen");
  lua_pop(L, 2);
}

void dl_lkernel_open(lua_State *L, void *stdin_socket) {
  static const luaL_Reg fn[] = {{"display", l_display}, {"clear_output", l_clear_output},
                                {"metadata", l_metadata}, {NULL, NULL}};
  lua_getglobal(L, "dlrepl");
  luaL_newlib(L, fn);
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "active");
  dl_comm_open(L);
  lua_setfield(L, -2, "kernel");
  lua_pop(L, 1);
  lua_newtable(L);
  lua_setglobal(L, "arg");
  change_libraries(L);
  dl_input_open(L, stdin_socket);
}
