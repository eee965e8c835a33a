/* tree.c -- where dlrepl's own files are
 *
 * For session.c, main.c, trace.c, interrupt.c. See tree.h.
 *
 * INVARIANT  dl_tree_root() is absolute and never changes after dl_tree_open.
 * MUST NOT   know Lua. */
#include "repl/tree.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[PATH_MAX];
static char modules[PATH_MAX]; /* "@<root>/lua/" */

static bool is_dir(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool dl_tree_path(const char *below, char *buf, size_t cap) {
  int n = snprintf(buf, cap, "%s/%s", root, below);
  return n > 0 && (size_t)n < cap;
}

static bool try_root(const char *dir) {
  char mark[PATH_MAX];
  if (strlen(dir) + 1 > sizeof root) return false;
  strcpy(root, dir);
  if (!dl_tree_path("lua/dlrepl", mark, sizeof mark) || !is_dir(mark)) return root[0] = 0, false;
  int n = snprintf(modules, sizeof modules, "@%s/lua/", root);
  return n > 0 && (size_t)n < sizeof modules;
}

static bool try_beside(char *exe, const char *tail) {
  char dir[PATH_MAX];
  int n = snprintf(dir, sizeof dir, "%s%s", exe, tail);
  return n > 0 && (size_t)n < sizeof dir && try_root(dir);
}

static bool cut_last(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) *slash = 0;
  return slash != NULL;
}

bool dl_tree_open(void) {
  char exe[PATH_MAX];
  ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (n <= 0) return false;
  exe[n] = 0;
  if (!cut_last(exe)) return false;
  if (try_beside(exe, "")) return true;   /* a checkout */
  if (!cut_last(exe)) return false;
  return try_beside(exe, "/share/dlrepl") /* installed */
         || try_beside(exe, "");          /* build-asan/ in a checkout */
}

const char *dl_tree_root(void) { return root; }

bool dl_tree_owns(const char *source) {
  return modules[0] && !strncmp(source, modules, strlen(modules));
}
