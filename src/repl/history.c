/* history.c -- what was typed, in this session and the ones before
 *
 * For line.c and magic.c. See history.h. An entry is appended with one write, so that two sessions
 * never cut each other's lines; the file is shortened when it holds twice what is kept.
 *
 * INVARIANT  entry[0 .. count) are valid UTF-8 without control characters but tab and line end.
 * MUST NOT   know Lua or Readline, print. */
#include "repl/history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/width.h"

enum {
  MAX_FILE = 8 << 20,   /* bytes read, the last ones of the file */
  MAX_ENTRY = 64 << 10  /* bytes: longer ones live in memory alone */
};

static char path[PATH_MAX];
static char *entry[DL_HISTORY_MAX];
static int count;
static bool told; /* that the file cannot be written */

/* $XDG_DATA_HOME/dlrepl/history, or under ~/.local/share; the folders are made. */
static bool find_file(void) {
  const char *base = getenv("XDG_DATA_HOME"), *below = "";
  if (!base || *base != '/') {
    base = getenv("HOME");
    below = "/.local/share";
  }
  if (!base || *base != '/') return false;
  int n = snprintf(path, sizeof path, "%s%s/dlrepl/history", base, below);
  if (n <= 0 || (size_t)n >= sizeof path) return false;
  for (char *p = path + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    mkdir(path, 0700);
    *p = '/';
  }
  return true;
}

static bool is_text(const char *s, size_t n) {
  for (size_t i = 0; i < n;) {
    unsigned code;
    size_t len = dl_utf8_read(s + i, n - i, &code);
    if (!len || code == 127 || (code < 32 && code != '\t' && code != '\n')) return false;
    i += len;
  }
  return true;
}

/* Keep a copy; an entry equal to the last is not kept twice. False if nothing was kept. */
static bool keep(const char *s, size_t n) {
  if (n == 0) return false;
  if (count && strlen(entry[count - 1]) == n && !memcmp(entry[count - 1], s, n)) return false;
  char *copy = strndup(s, n);
  if (!copy) return false;
  if (count == DL_HISTORY_MAX) {
    free(entry[0]);
    memmove(entry, entry + 1, sizeof *entry * (DL_HISTORY_MAX - 1));
    count--;
  }
  entry[count++] = copy;
  return true;
}

/* The last MAX_FILE bytes of the file, ended by 0; NULL if there is no plain file to read. */
static char *read_file(size_t *len) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe of that name does not hang us */
  if (fd < 0) return NULL;
  char *buf = NULL;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
    off_t skip = st.st_size > MAX_FILE ? st.st_size - MAX_FILE : 0;
    size_t want = (size_t)(st.st_size - skip), have = 0;
    buf = malloc(want + 1);
    for (ssize_t n; buf && have < want; have += (size_t)n)
      if ((n = pread(fd, buf + have, want - have, skip + (off_t)have)) <= 0) break;
    if (buf) buf[have] = 0;
    *len = have;
  }
  close(fd);
  return buf;
}

/* The entry at s[0..n) with further lines: their tabs go. Changes s; the new length. */
static size_t drop_tabs(char *s, size_t n) {
  size_t to = 0;
  for (size_t i = 0; i < n; i++) {
    s[to++] = s[i];
    if (s[i] == '\n' && i + 1 < n && s[i + 1] == '\t') i++;
  }
  return to;
}

/* Every entry of the text is kept; how many there were. */
static int take_entries(char *text, size_t len) {
  int seen = 0;
  for (size_t at = 0, end; at < len; at = end + 1) {
    for (end = at; end < len; end++)
      if (text[end] == '\n' && !(end + 1 < len && text[end + 1] == '\t')) break;
    seen++;
    if (end - at <= MAX_ENTRY && is_text(text + at, end - at))
      keep(text + at, drop_tabs(text + at, end - at));
  }
  return seen;
}

static void print_entry(FILE *f, const char *s) {
  for (; *s; s++) {
    fputc(*s, f);
    if (*s == '\n') fputc('\t', f);
  }
  fputc('\n', f);
}

/* Write what is kept into a new file that takes the old one's place. */
static void shorten(void) {
  char other[PATH_MAX + 16];
  snprintf(other, sizeof other, "%s.%d", path, (int)getpid());
  int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  FILE *f = fdopen(fd, "w");
  if (!f) {
    close(fd);
    return;
  }
  for (int i = 0; i < count; i++)
    if (strlen(entry[i]) <= MAX_ENTRY) print_entry(f, entry[i]);
  bool bad = ferror(f) != 0;
  if (fclose(f) != 0 || bad || rename(other, path) != 0) unlink(other);
}

void dl_history_open(void (*each)(const char *entry)) {
  size_t len = 0;
  if (!find_file()) {
    path[0] = 0;
    return;
  }
  char *text = read_file(&len);
  if (text && take_entries(text, len) > 2 * DL_HISTORY_MAX) shorten();
  free(text);
  for (int i = 0; i < count; i++) each(entry[i]);
}

static bool append(const char *s) {
  char *text = NULL;
  size_t len = 0;
  FILE *f = open_memstream(&text, &len);
  if (!f) return false;
  print_entry(f, s);
  bool ok = fclose(f) == 0;
  int fd = ok ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0600) : -1;
  ok = fd >= 0 && write(fd, text, len) == (ssize_t)len;
  int why = errno;
  if (fd >= 0) close(fd);
  free(text);
  errno = why;
  return ok;
}

bool dl_history_add(const char *s) {
  s += strspn(s, " \t\r\n");
  size_t n = strlen(s);
  while (n && strchr(" \t\r\n", s[n - 1])) n--;
  if (!keep(s, n)) return true;
  if (!*path || n > MAX_ENTRY || !is_text(s, n) || append(entry[count - 1])) return true;
  bool first = !told;
  told = true;
  return !first;
}

const char *dl_history_last(int n) { return n >= 1 && n <= count ? entry[count - n] : NULL; }

const char *dl_history_file(void) { return path; }
