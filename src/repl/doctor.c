/* doctor.c -- facts about this machine and this program, for `dlrepl doctor`
 *
 * For lua/dlrepl/doctor.lua, which puts them into words.
 *
 * MUST NOT   change anything: libraries that are opened to be looked at are closed again. */
#include "repl/doctor.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bind/bind.h"
#include "op/plugin.h"
#include "repl/session.h"
#include "repl/tree.h"

const char *dl_onednn_version(void);

static void text(lua_State *L, const char *key, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, key);
}

static void number(lua_State *L, const char *key, long long value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, key);
}

static void yes(lua_State *L, const char *key, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, key);
}

/* The name the kernel gives the processor. */
static void cpu_name(lua_State *L) {
  char line[512];
  FILE *f = fopen("/proc/cpuinfo", "r");
  while (f && fgets(line, sizeof line, f)) {
    char *at = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !at) continue;
    at += 1 + strspn(at + 1, " ");
    at[strcspn(at, "\n")] = 0;
    text(L, "cpu", at);
    break;
  }
  if (f) fclose(f);
}

static void readline(lua_State *L) {
  const char *wish = getenv("DLREPL_READLINE");
  yes(L, "readline_off", wish && !strcmp(wish, "0"));
  void *lib = dlopen("libreadline.so.8", RTLD_NOW | RTLD_LOCAL);
  const char **version = lib ? dlsym(lib, "rl_library_version") : NULL;
  if (version) text(L, "readline", *version);
  if (lib) dlclose(lib);
}

static void terminal(lua_State *L) {
  struct winsize w;
  yes(L, "stdin_terminal", isatty(0));
  yes(L, "stdout_terminal", isatty(1));
  if (ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) {
    number(L, "columns", w.ws_col);
    number(L, "rows", w.ws_row);
  }
  text(L, "term", getenv("TERM"));
  text(L, "charset", nl_langinfo(CODESET));
  yes(L, "no_color", getenv("NO_COLOR") && *getenv("NO_COLOR"));
}

/* _facts(): what was found, nil for what was not */
static int l_facts(lua_State *L) {
  char file[1024];
  lua_createtable(L, 0, 32);
  text(L, "version", DL_VERSION);
  text(L, "isa", dl_op_isa());
  number(L, "threads", dl_threads());
  number(L, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
  number(L, "memory", (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  if (!dl_mem.cap_bytes) dl_mem_init();
  number(L, "cap", dl_mem.cap_bytes);
  text(L, "onednn", dl_onednn_version());
  text(L, "cuda", dl_plugin_state());
  text(L, "cuda_file", dl_plugin_path());
  text(L, "libc", gnu_get_libc_version());
  text(L, "root", dl_tree_root());
  ssize_t n = readlink("/proc/self/exe", file, sizeof file - 1);
  if (n > 0) {
    file[n] = 0;
    text(L, "program", file);
  }
  yes(L, "nvidia", access("/dev/nvidiactl", F_OK) == 0);
  number(L, "ops", DL_OP_COUNT);
  cpu_name(L);
  readline(L);
  terminal(L);
  return 1;
}

void dl_doctor_open(lua_State *L) {
  lua_getglobal(L, "dlrepl");
  lua_pushcfunction(L, l_facts);
  lua_setfield(L, -2, "_facts");
  lua_pop(L, 1);
}
