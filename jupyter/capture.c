/* capture.c -- what a cell prints, as stream messages
 *
 * For kernel.c, execute.c and everything that publishes. See capture.h.
 *
 * INVARIANT  All state is held under `lock`; text of one stream is published before text of the
 *            other is taken.
 * MUST NOT   know Lua. */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "iopub.h"
#include "repl/width.h"

enum { PIECE = 64 << 10, WAIT_MS = 50 };
enum { OUT, ERR, STREAMS };

static const char *const name[STREAMS] = {"stdout", "stderr"};

static struct {
  pthread_mutex_t lock;
  dl_buf text;             /* waits to be published */
  int stream;              /* whose text it is */
  int64_t since;           /* ms, when the first byte of it came */
  size_t taken;            /* bytes of this cell so far */
  bool told;               /* that there was too much */
  char *parent;
  size_t parent_len;
} now = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int pipe_[STREAMS] = {-1, -1}, log_fd = 2, wake = -1;
static atomic_bool closing, open_;
static pthread_t thread;

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* ---- under the lock ---------------------------------------------------------------------- */

/* Bytes at the end that begin a sign whose rest has not come yet. */
static size_t unfinished(const char *s, size_t n) {
  for (size_t back = 1; back <= 3 && back <= n; back++) {
    unsigned char c = (unsigned char)s[n - back];
    if ((c & 0xc0) == 0x80) continue;
    size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return want > back ? back : 0;
  }
  return 0;
}

static void publish(int stream, const char *s, size_t n) {
  dl_slice parent = now.parent ? (dl_slice){now.parent, now.parent_len} : (dl_slice){"{}", 2};
  dl_packet *p = dl_packet_new("stream", parent, NULL);
  if (!p) return;
  snprintf(p->topic, sizeof p->topic, "stream.%s", name[stream]);
  dl_buf_form(&p->text, "{\"name\":\"%s\",\"text\":", name[stream]);
  dl_json_string(&p->text, s, n);
  dl_buf_add(&p->text, "}", 1);
  dl_iopub_push(p, DL_MAY);
}

/* all: what may be half a sign too */
static void flush(bool all) {
  size_t rest = all ? 0 : unfinished(now.text.s, now.text.n), n = now.text.n - rest;
  if (n) {
    publish(now.stream, now.text.s, n);
    memmove(now.text.s, now.text.s + n, rest);
    now.text.n = rest;
  }
  now.since = now_ms();
  if (now.text.bad || now.text.cap > 4 * PIECE) dl_buf_free(&now.text);
}

static void take(int stream, const char *s, size_t n) {
  if (now.stream != stream) flush(true);
  now.stream = stream;
  if (now.taken + n > DL_CAPTURE_MAX) {
    static const char word[] = "dlrepl: the cell has printed more than 16 MiB; "
                               "the rest is left out\n";
    n = DL_CAPTURE_MAX - now.taken;
    if (!now.told) {
      dl_buf_add(&now.text, s, n);
      flush(true);
      publish(ERR, word, sizeof word - 1);
      now.told = true;
    }
    now.taken = DL_CAPTURE_MAX;
    return;
  }
  now.taken += n;
  if (!now.text.n) {
    uint64_t one = 1;
    now.since = now_ms();
    ssize_t ignored = write(wake, &one, sizeof one);
    (void)ignored;
  }
  while (n) {
    size_t room = PIECE > now.text.n ? PIECE - now.text.n : 1, part = n < room ? n : room;
    dl_buf_add(&now.text, s, part);
    if (now.text.n >= PIECE || now.text.bad) flush(false);
    s += part;
    n -= part;
  }
}

/* Everything that is in the pipes now: each holds PIECE at most, so two reads do. */
static void empty_pipes(void) {
  static char piece[PIECE];
  struct pollfd p[STREAMS] = {{.fd = pipe_[OUT], .events = POLLIN},
                              {.fd = pipe_[ERR], .events = POLLIN}};
  if (poll(p, STREAMS, 0) <= 0) return;
  for (int i = 0; i < STREAMS; i++) {
    if (!p[i].revents) continue;
    for (int again = 0; again < 2; again++) {
      ssize_t n = read(pipe_[i], piece, sizeof piece);
      if (n > 0) take(i, piece, (size_t)n);
      if (n < (ssize_t)sizeof piece && !(n < 0 && errno == EINTR)) break;
    }
  }
}

/* ---- stdio ------------------------------------------------------------------------------- */

static ssize_t from_stdio(int stream, const char *s, size_t n) {
  if (!open_) return (ssize_t)n;
  pthread_mutex_lock(&now.lock);
  empty_pipes();
  take(stream, s, n);
  pthread_mutex_unlock(&now.lock);
  return (ssize_t)n;
}

static ssize_t write_out(void *unused, const char *s, size_t n) {
  (void)unused;
  return from_stdio(OUT, s, n);
}

static ssize_t write_err(void *unused, const char *s, size_t n) {
  (void)unused;
  return from_stdio(ERR, s, n);
}

static FILE *stream_to(cookie_write_function_t *fn) {
  FILE *f = fopencookie(NULL, "w", (cookie_io_functions_t){.write = fn});
  if (f) setvbuf(f, NULL, _IONBF, 0);
  return f;
}

/* Descriptor fd becomes the end of a pipe whose other end is returned; -1 if that fails. */
static int redirect(int fd) {
  int end[2];
  if (pipe2(end, O_CLOEXEC) != 0) return -1;
  fcntl(end[0], F_SETFL, O_NONBLOCK);
  int got = dup2(end[1], fd); /* the copy outlives exec: children write there */
  close(end[1]);
  return got == fd ? end[0] : -1;
}

bool dl_capture_open(void) {
  fflush(NULL);
  setvbuf(stdout, NULL, _IONBF, 0); /* C++ keeps this one: what it writes is in the pipe at once */
  log_fd = fcntl(2, F_DUPFD_CLOEXEC, 3);
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  FILE *out = stream_to(write_out), *err = stream_to(write_err);
  if (log_fd < 0 || wake < 0 || !out || !err) return false;
  for (int i = 0; i < STREAMS; i++)
    if ((pipe_[i] = redirect(i + 1)) < 0) return false;
  stdout = out;
  stderr = err;
  open_ = true;
  return true;
}

int dl_capture_log(void) { return log_fd; }

/* ---- the thread ---------------------------------------------------------------------------- */

/* Milliseconds until waiting text is due; -1 if there is none. */
static int due(void) {
  if (!now.text.n) return -1;
  int64_t left = now.since + WAIT_MS - now_ms();
  return left < 0 ? 0 : (int)left;
}

static void *serve(void *unused) {
  int wait = -1;
  uint64_t count;
  (void)unused;
  while (!closing) {
    struct pollfd p[STREAMS + 1] = {{.fd = pipe_[OUT], .events = POLLIN},
                                    {.fd = pipe_[ERR], .events = POLLIN},
                                    {.fd = wake, .events = POLLIN}};
    poll(p, STREAMS + 1, wait);
    if (p[STREAMS].revents && read(wake, &count, sizeof count) < 0 && errno != EAGAIN) break;
    pthread_mutex_lock(&now.lock);
    empty_pipes();
    if (due() == 0) flush(false);
    wait = due();
    pthread_mutex_unlock(&now.lock);
  }
  return NULL;
}

bool dl_capture_start(void) { return pthread_create(&thread, NULL, serve, NULL) == 0; }

void dl_capture_sync(void) {
  fflush(stdout);
  pthread_mutex_lock(&now.lock);
  empty_pipes();
  flush(true);
  pthread_mutex_unlock(&now.lock);
}

void dl_capture_parent(dl_slice header) {
  pthread_mutex_lock(&now.lock);
  flush(true);
  char *copy = header.n ? realloc(now.parent, header.n) : NULL;
  if (copy) {
    memcpy(copy, header.s, header.n);
    now.parent = copy;
    now.parent_len = header.n;
  }
  now.taken = 0;
  now.told = false;
  pthread_mutex_unlock(&now.lock);
}

void dl_capture_stop(void) {
  uint64_t one = 1;
  dl_capture_sync();
  closing = true;
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
  pthread_join(thread, NULL);
  open_ = false;
  dup2(log_fd, 1);
  dup2(log_fd, 2);
  for (int i = 0; i < STREAMS; i++) close(pipe_[i]);
  dl_buf_free(&now.text);
  free(now.parent);
  now.parent = NULL;
}
