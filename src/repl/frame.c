/* frame.c -- texts with their length, through a pipe
 *
 * For judge.c and spawn.c. See judge.h.
 *
 * MUST NOT   know Lua. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "repl/judge.h"

enum { HEAD = 4, SLICE_MS = 100 }; /* a stop is seen within a slice, whoever had the signal */

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool dl_fd_write(int fd, const void *p, size_t n) {
  const char *at = p;
  while (n > 0) {
    ssize_t k = write(fd, at, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    at += k;
    n -= (size_t)k;
  }
  return true;
}

bool dl_frame_write(int fd, const char *text, uint32_t n) {
  unsigned char head[HEAD] = {(unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16),
                              (unsigned char)(n >> 24)};
  return dl_fd_write(fd, head, HEAD) && dl_fd_write(fd, text, n);
}

/* True when there is something to read (or the end) before `end`, in ms; end < 0: no limit. */
static bool wait_for(int fd, int64_t end, bool (*stop)(void), bool *timed_out) {
  struct pollfd p = {.fd = fd, .events = POLLIN};
  for (;;) {
    int64_t left = end < 0 ? SLICE_MS : end - now_ms();
    if (left <= 0) return *timed_out = true, false;
    int k = poll(&p, 1, left < SLICE_MS ? (int)left : SLICE_MS);
    if (stop && stop()) return false;
    if (k > 0) return true;
    if (k < 0 && errno != EINTR) return false;
  }
}

static bool read_all(int fd, void *p, size_t n, int64_t end, bool (*stop)(void), bool *timed_out) {
  char *at = p;
  while (n > 0) {
    if (!wait_for(fd, end, stop, timed_out)) return false;
    ssize_t k = read(fd, at, n);
    if (k < 0 && errno == EINTR) continue;
    if (k <= 0) return false;
    at += k;
    n -= (size_t)k;
  }
  return true;
}

char *dl_frame_read(int fd, int64_t ms, uint32_t *n, bool (*stop)(void), bool *timed_out) {
  unsigned char head[HEAD];
  int64_t end = ms < 0 ? -1 : now_ms() + ms;
  *timed_out = false;
  if (!read_all(fd, head, HEAD, end, stop, timed_out)) return NULL;
  *n = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
  if (*n > DL_FRAME_MAX) return NULL;
  char *text = malloc((size_t)*n + 1);
  if (text && read_all(fd, text, *n, end, stop, timed_out)) return text[*n] = 0, text;
  free(text);
  return NULL;
}
