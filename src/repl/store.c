/* store.c -- files of ours that outlive a crash
 *
 * For lesson.c. See store.h.
 *
 * INVARIANT  A line that was cut by a crash is ended before the next one is written, so it can
 *            spoil no other. */
#include "repl/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "repl/judge.h"

enum { LOCK_TRIES = 300, LARGEST = 64 << 20 };

static int fail(lua_State *L, int why) {
  lua_pushnil(L);
  lua_pushstring(L, strerror(why));
  return 2;
}

static void make_folders(const char *path) {
  char dir[PATH_MAX];
  snprintf(dir, sizeof dir, "%s", path);
  for (char *p = dir + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    mkdir(dir, 0700);
    *p = '/';
  }
}

/* The lock beside the file, for at most three seconds of waiting; -1 and errno without it. */
static int take_lock(const char *path) {
  char name[PATH_MAX];
  struct timespec pause = {0, 10000000};
  make_folders(path);
  if ((size_t)snprintf(name, sizeof name, "%s.lock", path) >= sizeof name)
    return errno = ENAMETOOLONG, -1;
  int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || i == LOCK_TRIES) {
      int why = errno;
      close(fd);
      return errno = why, -1;
    }
    nanosleep(&pause, NULL);
  }
  return fd;
}

/* Does the file end within a line? */
static bool ends_open(int fd) {
  struct stat st;
  char last;
  return fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 &&
         last != '\n';
}

int dl_store_append(lua_State *L) {
  size_t n;
  const char *path = luaL_checkstring(L, 1), *line = luaL_checklstring(L, 2, &n);
  char *text = malloc(n + 2);
  if (!text) return fail(L, ENOMEM);
  text[0] = '\n';
  memcpy(text + 1, line, n);
  text[n + 1] = '\n';
  int lock = take_lock(path), why = errno;
  int fd = lock < 0 ? -1 : open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (lock >= 0) why = errno;
  bool open_end = fd >= 0 && ends_open(fd);
  bool fine = fd >= 0 && dl_fd_write(fd, text + !open_end, n + 1 + open_end) && fsync(fd) == 0;
  if (fd >= 0 && !fine) why = errno;
  if (fd >= 0) close(fd);
  if (lock >= 0) close(lock);
  free(text);
  if (!fine) return fail(L, why);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- replace ----------------------------------------------------------------------------- */

static bool read_all(int fd, char *s, size_t n) {
  while (n > 0) {
    ssize_t k = read(fd, s, n);
    if (k < 0 && errno == EINTR) continue;
    if (k == 0) errno = EIO; /* somebody cut it meanwhile */
    if (k <= 0) return false;
    s += k;
    n -= (size_t)k;
  }
  return true;
}

/* The whole text, or NULL and errno: a part of it must not replace the file. */
static char *read_file(const char *path, size_t *n) {
  struct stat st;
  char *text = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) st.st_size = 0;
  else if (!S_ISREG(st.st_mode)) errno = EISDIR;
  else if (st.st_size > LARGEST) errno = EFBIG;
  else text = malloc((size_t)st.st_size + 1);
  *n = (size_t)st.st_size;
  int why = errno;
  if (text && !read_all(fd, text, *n)) {
    why = errno;
    free(text);
    text = NULL;
  }
  if (fd >= 0) close(fd);
  errno = why;
  return text;
}

static bool replace(const char *path, const char *text, size_t n) {
  char other[PATH_MAX];
  if ((size_t)snprintf(other, sizeof other, "%s.new", path) >= sizeof other) return false;
  int fd = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool fine = fd >= 0 && dl_fd_write(fd, text, n) && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  if (fine) fine = rename(other, path) == 0;
  else unlink(other);
  char *slash = strrchr(other, '/');
  if (slash) *slash = 0;
  fd = slash ? open(other, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    fsync(fd);
    close(fd);
  }
  return fine;
}

int dl_store_rewrite(lua_State *L) {
  size_t n;
  const char *path = luaL_checkstring(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  int lock = take_lock(path);
  if (lock < 0) return fail(L, errno);
  char *old = read_file(path, &n);
  int unread = old || errno == ENOENT ? 0 : errno;
  if (unread) return close(lock), fail(L, unread);
  lua_pushlstring(L, old ? old : "", old ? n : 0);
  free(old);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK) return close(lock), lua_error(L);
  const char *text = lua_tolstring(L, -1, &n);
  bool fine = text && replace(path, text, n);
  int why = errno;
  close(lock);
  if (!fine) return fail(L, why);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- looking ----------------------------------------------------------------------------- */

int dl_store_list(lua_State *L) {
  struct dirent **name;
  int n = scandir(luaL_checkstring(L, 1), &name, NULL, alphasort);
  if (n < 0) return 0;
  lua_newtable(L);
  for (int i = 0, k = 0; i < n; i++) {
    if (name[i]->d_name[0] != '.') {
      lua_pushstring(L, name[i]->d_name);
      lua_rawseti(L, -2, ++k);
    }
    free(name[i]);
  }
  free(name);
  return 1;
}

int dl_store_stat(lua_State *L) {
  struct stat st;
  if (stat(luaL_checkstring(L, 1), &st) != 0) return 0;
  lua_pushinteger(L, st.st_size);
  lua_pushfstring(L, "%I.%I.%I.%I", (lua_Integer)st.st_mtim.tv_sec,
                  (lua_Integer)st.st_mtim.tv_nsec, (lua_Integer)st.st_size,
                  (lua_Integer)st.st_ino);
  lua_pushboolean(L, S_ISDIR(st.st_mode));
  return 3;
}

int dl_store_id(lua_State *L) {
  unsigned char b[16];
  char hex[33];
  if (getrandom(b, sizeof b, 0) != (ssize_t)sizeof b) return fail(L, errno);
  for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", b[i]);
  lua_pushlstring(L, hex, 32);
  return 1;
}
