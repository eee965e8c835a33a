/* mail.c -- messages on a socket
 *
 * For the threads that own a ROUTER. See jupyter.h.
 *
 * INVARIANT  A message is received whole, or freed whole.
 * MUST NOT   know Lua. */
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "jupyter.h"
#include "zmqlib.h"

enum { MAX_FRAMES = 128, TOLD_DROPS = 20 };

struct dl_mail {
  int n;                /* frames; 0 where there were more than MAX_FRAMES */
  zmq_msg_t frame[MAX_FRAMES];
};

static atomic_uint dropped;

void dl_kernel_log(const char *form, ...) {
  char text[400];
  va_list args;
  va_start(args, form);
  vsnprintf(text, sizeof text, form, args);
  va_end(args);
  dprintf(dl_capture_log(), "dlrepl kernel: %s\n", text);
}

static void close_frames(dl_mail *m) {
  for (int i = 0; i < m->n; i++) dl_zmq.msg_close(&m->frame[i]);
  m->n = 0;
}

void dl_mail_free(dl_mail *m) {
  if (m) close_frames(m);
  free(m);
}

/* One frame; -1 if there is none now. */
static int receive(void *socket, zmq_msg_t *f) {
  int n;
  dl_zmq.msg_init(f);
  do {
    n = dl_zmq.msg_recv(f, socket, ZMQ_DONTWAIT);
  } while (n < 0 && errno == EINTR);
  return n;
}

dl_mail *dl_mail_receive(void *socket) {
  zmq_msg_t f;
  bool more, whole = true;
  if (receive(socket, &f) < 0) return NULL;
  dl_mail *m = malloc(sizeof *m);
  if (m) m->n = 0;
  do {
    more = dl_zmq.msg_more(&f);
    if (m && m->n < MAX_FRAMES) {
      m->frame[m->n++] = f;
    } else {
      dl_zmq.msg_close(&f);
      whole = false;
    }
  } while (more && receive(socket, &f) >= 0);
  if (m && !whole) close_frames(m); /* then it has no delimiter, and is dropped as such */
  return m;
}

bool dl_mail_read(dl_mail *m, const char *channel, dl_request *r) {
  static _Thread_local dl_slice part[MAX_FRAMES];
  for (int i = 0; i < m->n; i++)
    part[i] = (dl_slice){dl_zmq.msg_data(&m->frame[i]), dl_zmq.msg_size(&m->frame[i])};
  dl_fault f = dl_wire_read(part, m->n, r);
  if (!f) return true;
  unsigned count = atomic_fetch_add(&dropped, 1) + 1;
  if (count <= TOLD_DROPS || count % 1000 == 0)
    dl_kernel_log("a message on %s was dropped: %s (%u so far)", channel, dl_fault_name(f), count);
  return false;
}

static void send_part(void *socket, dl_slice s, bool more) {
  while (dl_zmq.send(socket, s.s, s.n, more ? ZMQ_SNDMORE : 0) < 0 && errno == EINTR)
    continue;
}

void dl_mail_send(void *socket, const dl_request *to, dl_packet *p) {
  if (!dl_packet_sign(p)) return;
  for (int i = 0; i < to->ids; i++) send_part(socket, to->id[i], true);
  send_part(socket, (dl_slice){"<IDS|MSG>", 9}, true);
  send_part(socket, (dl_slice){p->signature, strlen(p->signature)}, true);
  for (int i = 0; i < 4; i++) send_part(socket, dl_packet_frame(p, i), i < 3);
  dl_packet_free(p);
}
