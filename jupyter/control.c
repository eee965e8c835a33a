/* control.c -- the threads that answer while Lua runs: control and heartbeat
 *
 * For kernel.c. Control also watches the process that started us: when it is gone, so are we, in
 * the middle of whatever runs.
 *
 * INVARIANT  Nothing here waits for the main thread, except for the end of a shutdown.
 * MUST NOT   know Lua. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "iopub.h"
#include "jupyter.h"
#include "zmqlib.h"

enum { PARENT_POLL_MS = 500, LAST_WORDS_MS = 1000, EXIT_ORPHAN = 1 };

static void *control, *heart;
static pthread_t control_thread, heart_thread;
static int wake = -1;

/* ---- requests ---------------------------------------------------------------------------- */

static void kernel_info(const dl_request *r, dl_buf *content) { dl_kernel_info(content); }

static void interrupt(const dl_request *r, dl_buf *content) {
  dl_kernel_interrupt();
  dl_buf_text(content, "{\"status\":\"ok\"}");
}

/* For the widget that shows what a kernel uses. */
static void usage(const dl_request *r, dl_buf *content) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  long ms = (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
            (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
  dl_buf_form(content, "{\"status\":\"ok\",\"pid\":%ld,\"kernel_cpu_seconds\":%ld.%03ld,",
              (long)getpid(), ms / 1000, ms % 1000);
  dl_buf_form(content, "\"kernel_memory\":%ld}", u.ru_maxrss * 1024L);
}

static const struct {
  const char *type;
  void (*answer)(const dl_request *r, dl_buf *content);
} table[] = {{"kernel_info_request", kernel_info},
             {"interrupt_request", interrupt},
             {"usage_request", usage}};

static void answer(const dl_request *r) {
  if (!strcmp(r->type, "shutdown_request")) {
    dl_kernel_shutdown(control, r);
    return;
  }
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strcmp(r->type, table[i].type)) continue;
    dl_packet *p = dl_packet_reply(r, NULL);
    if (!p) return;
    table[i].answer(r, &p->text);
    dl_mail_send(control, r, p);
    return;
  }
  dl_kernel_log("a %s on control is not known here", r->type);
}

static void serve_one(dl_mail *m) {
  dl_request r;
  if (!dl_mail_read(m, "control", &r)) return;
  dl_iopub_status("busy", r.header);
  answer(&r);
  dl_iopub_status("idle", r.header);
  dl_request_free(&r);
}

/* ---- the parent -------------------------------------------------------------------------- */

static pid_t parent, first_parent;

/* A descriptor that becomes readable when the launcher ends; -1 where there is none. */
static int watch_parent(void) {
  const char *s = getenv("JPY_PARENT_PID");
  long pid = s ? strtol(s, NULL, 10) : 0;
  parent = pid > 1 ? (pid_t)pid : 0;
  first_parent = getppid();
  return parent ? (int)syscall(SYS_pidfd_open, parent, 0) : -1;
}

/* Its process was there at the start and has gone, or we have been handed to another one. */
static bool is_orphan(int fd, bool ended) {
  if (!parent) return false;
  if (ended) return true;
  if (fd < 0 && first_parent != parent) return getppid() == 1 && first_parent != 1;
  return first_parent == parent && getppid() != parent;
}

/* At once, and with what a cell has started. */
static void leave_orphan(void) {
  signal(SIGTERM, SIG_IGN);
  if (getpgrp() == getpid()) kill(0, SIGTERM);
  _exit(EXIT_ORPHAN);
}

/* ---- threads ----------------------------------------------------------------------------- */

/* The main thread may be deep in a long operation; after a second we leave without it. */
static void wait_for_main(void) {
  struct pollfd p = {.fd = wake, .events = POLLIN};
  if (poll(&p, 1, LAST_WORDS_MS) > 0) return;
  _exit(0);
}

static void *serve_control(void *unused) {
  int fd = watch_parent();
  (void)unused;
  while (!dl_kernel_is_closing()) {
    zmq_pollitem_t item[3] = {{.socket = control, .events = ZMQ_POLLIN},
                              {.fd = wake, .events = ZMQ_POLLIN},
                              {.fd = fd, .events = ZMQ_POLLIN}};
    dl_zmq.poll(item, fd < 0 ? 2 : 3, parent ? PARENT_POLL_MS : -1);
    if (is_orphan(fd, fd >= 0 && item[2].revents)) leave_orphan();
    dl_mail *m;
    while (!dl_kernel_is_closing() && (m = dl_mail_receive(control)) != NULL) {
      serve_one(m);
      dl_mail_free(m);
    }
    if (item[1].revents) break;
  }
  wait_for_main();
  dl_zmq.close(control);
  if (fd >= 0) close(fd);
  return NULL;
}

bool dl_control_start(void *socket) {
  control = socket;
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return wake >= 0 && pthread_create(&control_thread, NULL, serve_control, NULL) == 0;
}

void dl_control_stop(void) {
  uint64_t one = 1;
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
  pthread_join(control_thread, NULL);
  close(wake);
}

static void *serve_heart(void *unused) {
  (void)unused;
  while (dl_zmq.proxy(heart, heart, NULL) < 0 && errno == EINTR) continue;
  dl_zmq.close(heart);
  return NULL;
}

bool dl_heart_start(void *socket) {
  heart = socket;
  return pthread_create(&heart_thread, NULL, serve_heart, NULL) == 0;
}

void dl_heart_stop(void *context) {
  dl_zmq.ctx_shutdown(context);
  pthread_join(heart_thread, NULL);
}
