/* iopub.c -- everything the kernel tells all its clients goes out here, in one order
 *
 * For every thread. See iopub.h. A content is given to libzmq without a copy, with a function that
 * is called when the last client has it: so we know what is under way.
 *
 * INVARIANT  `pending` is the bytes of all packets that were pushed and are not gone.
 * MUST NOT   know Lua. */
#include "iopub.h"

#include <errno.h>
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

#include "zmqlib.h"

enum { PATIENCE_MS = 500 }; /* without a byte that leaves */

static struct {
  pthread_mutex_t lock;
  dl_packet *first, **last;
  bool closing;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &queue.first};
static atomic_size_t pending;
static atomic_uint lost;      /* packets left out since the last word on it */
static atomic_bool stuck;     /* nobody reads: do not wait again until there is room */
static int wake = -1;
static void *socket_;
static pthread_t thread;

/* ---- any thread ---------------------------------------------------------------------------- */

static size_t weight(const dl_packet *p) { return p->text.n + sizeof *p; }

static void queue_packet(dl_packet *p) {
  uint64_t one = 1;
  p->next = NULL;
  atomic_fetch_add(&pending, weight(p));
  pthread_mutex_lock(&queue.lock);
  bool was_empty = queue.first == NULL;
  *queue.last = p;
  queue.last = &p->next;
  pthread_mutex_unlock(&queue.lock);
  if (!was_empty) return;
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
}

static void tell_loss(void) {
  unsigned n = atomic_exchange(&lost, 0);
  if (!n) return;
  char text[200];
  dl_packet *p = dl_packet_new("stream", (dl_slice){"{}", 2}, NULL);
  if (!p) return;
  snprintf(text, sizeof text, "dlrepl: %u outputs were left out: clients read too slowly\n", n);
  dl_buf_text(&p->text, "{\"name\":\"stderr\",\"text\":");
  dl_json_text(&p->text, text);
  dl_buf_text(&p->text, "}");
  if (dl_packet_sign(p)) queue_packet(p);
}

static void sleep_ms(void) {
  struct timespec t = {.tv_nsec = 1000000};
  nanosleep(&t, NULL);
}

static bool has_room(size_t n) {
  size_t now = atomic_load(&pending);
  return !now || now + n <= DL_IOPUB_BACKLOG;
}

/* Wait while clients read; false if they have stopped. */
static bool wait_for_room(size_t n) {
  size_t least = atomic_load(&pending);
  for (int idle = 0; !has_room(n); idle++) {
    if (idle >= PATIENCE_MS) atomic_store(&stuck, true);
    if (atomic_load(&stuck)) return false;
    sleep_ms();
    size_t now = atomic_load(&pending);
    if (now < least) {
      least = now;
      idle = 0;
    }
  }
  atomic_store(&stuck, false);
  return true;
}

void dl_iopub_push(dl_packet *p, dl_weight w) {
  if (!p) return;
  bool full = w == DL_MAY ? !wait_for_room(p->text.n) : !has_room(p->text.n);
  if (w == DL_MAY && full) {
    dl_packet_free(p);
    atomic_fetch_add(&lost, 1);
    return;
  }
  if (!dl_packet_sign(p)) return;
  if (!full) tell_loss();
  queue_packet(p);
}

void dl_iopub_status(const char *state, dl_slice parent) {
  dl_packet *p = dl_packet_new("status", parent, NULL);
  if (!p) return;
  dl_buf_form(&p->text, "{\"execution_state\":\"%s\"}", state);
  dl_iopub_push(p, DL_MUST);
}

void dl_iopub_drain(int ms) {
  for (; atomic_load(&pending) && ms > 0; ms--) sleep_ms();
}

/* ---- the thread ---------------------------------------------------------------------------- */

static void send_bytes(const char *s, size_t n, bool more) {
  while (dl_zmq.send(socket_, s, n, more ? ZMQ_SNDMORE : 0) < 0 && errno == EINTR)
    continue;
}

/* libzmq is through with a content. */
static void gone(void *data, void *packet) {
  dl_packet *p = packet;
  (void)data;
  atomic_fetch_sub(&pending, weight(p));
  dl_packet_free(p);
}

/* The content itself is lent; it brings the packet along, to be freed. */
static void send_content(dl_packet *p) {
  zmq_msg_t m;
  dl_slice s = dl_packet_frame(p, 3);
  if (dl_zmq.msg_init_data(&m, (void *)s.s, s.n, gone, p) != 0) {
    send_bytes("{}", 2, false);
    gone(NULL, p);
    return;
  }
  while (dl_zmq.msg_send(&m, socket_, 0) < 0) {
    if (errno == EINTR) continue;
    dl_zmq.msg_close(&m);
    return;
  }
}

/* Buffers follow the content, which then is copied. */
static void send_with_buffers(dl_packet *p) {
  dl_slice s = dl_packet_frame(p, 3);
  send_bytes(s.s, s.n, true);
  for (int i = 0; i < p->buffers; i++)
    send_bytes(p->buffer[i].s, p->buffer[i].n, i + 1 < p->buffers);
  gone(NULL, p);
}

static void send_packet(dl_packet *p) {
  send_bytes(p->topic, strlen(p->topic), true);
  send_bytes("<IDS|MSG>", 9, true);
  send_bytes(p->signature, strlen(p->signature), true);
  for (int i = 0; i < 3; i++) {
    dl_slice s = dl_packet_frame(p, i);
    send_bytes(s.s, s.n, true);
  }
  if (p->buffers) send_with_buffers(p);
  else send_content(p);
}

/* Somebody subscribes: tell them that they are heard from now on. */
static void welcome(const char *subscription, size_t n) {
  dl_packet *p = dl_packet_new("iopub_welcome", (dl_slice){"{}", 2}, NULL);
  if (!p) return;
  snprintf(p->topic, sizeof p->topic, "%.*s", (int)n, subscription);
  dl_buf_text(&p->text, "{\"subscription\":");
  dl_json_string(&p->text, subscription, n);
  dl_buf_text(&p->text, "}");
  if (!dl_packet_sign(p)) return;
  atomic_fetch_add(&pending, weight(p));
  send_packet(p);
}

static void read_subscriptions(void) {
  for (;;) {
    zmq_msg_t m;
    dl_zmq.msg_init(&m);
    int n = dl_zmq.msg_recv(&m, socket_, ZMQ_DONTWAIT);
    const char *s = dl_zmq.msg_data(&m);
    if (n >= 1 && s[0] == 1) welcome(s + 1, (size_t)n - 1);
    dl_zmq.msg_close(&m);
    if (n < 0 && errno != EINTR) return;
  }
}

/* Send what is queued; false when it is over. */
static bool send_queued(void) {
  pthread_mutex_lock(&queue.lock);
  dl_packet *p = queue.first;
  bool over = queue.closing;
  queue.first = NULL;
  queue.last = &queue.first;
  pthread_mutex_unlock(&queue.lock);
  while (p) {
    dl_packet *next = p->next;
    send_packet(p);
    p = next;
  }
  return !over;
}

static void *serve(void *unused) {
  uint64_t count;
  (void)unused;
  for (;;) {
    zmq_pollitem_t item[2] = {{.socket = socket_, .events = ZMQ_POLLIN},
                              {.fd = wake, .events = ZMQ_POLLIN}};
    if (dl_zmq.poll(item, 2, -1) < 0 && errno != EINTR) break;
    if (item[1].revents && read(wake, &count, sizeof count) < 0 && errno != EAGAIN) break;
    if (item[0].revents) read_subscriptions();
    if (!send_queued()) break;
  }
  dl_zmq.close(socket_);
  return NULL;
}

bool dl_iopub_start(void *xpub) {
  socket_ = xpub;
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return wake >= 0 && pthread_create(&thread, NULL, serve, NULL) == 0;
}

void dl_iopub_stop(void) {
  uint64_t one = 1;
  pthread_mutex_lock(&queue.lock);
  queue.closing = true;
  pthread_mutex_unlock(&queue.lock);
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
  pthread_join(thread, NULL);
  close(wake);
}
