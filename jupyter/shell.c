/* shell.c -- the main thread: requests on shell, one after the other
 *
 * For kernel.c. See shell.h. What has arrived is moved into a queue of our own, so that after an
 * error the requests behind it can be told from those sent later.
 *
 * INVARIANT  A request in the queue is answered or its sender's message was never valid.
 * MUST NOT   block while a request waits. */
#include "shell.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "zmqlib.h"

enum { QUIET_MS = 3, GRACE_MS = 20, LATE_MS = 1000, MAX_QUEUE = 10000 };

typedef struct item {
  struct item *next;
  dl_mail *mail;
  bool abort;
} item;

static void *shell;
static item *first, **last = &first;
static int queued;
static const dl_request *current;
static bool same_clock;       /* the clients' dates can be compared with ours */
static double failed_from, failed_until; /* dates, seconds since 1970: see is_late */

const dl_request *dl_shell_request(void) { return current; }

dl_slice dl_shell_parent(void) { return current ? current->header : (dl_slice){"{}", 2}; }

dl_packet *dl_publish_new(const char *type, const char *metadata) {
  return dl_packet_new(type, dl_shell_parent(), metadata);
}

/* ---- the queue --------------------------------------------------------------------------- */

/* Move what has arrived into the queue; how many. */
static int fetch(void) {
  int n = 0;
  dl_mail *m;
  while (queued < MAX_QUEUE && (m = dl_mail_receive(shell)) != NULL) {
    item *it = calloc(1, sizeof *it);
    if (!it) {
      dl_mail_free(m);
      break;
    }
    it->mail = m;
    *last = it;
    last = &it->next;
    queued++;
    n++;
  }
  return n;
}

static void wait_ms(int ms) {
  zmq_pollitem_t p[2] = {{.socket = shell, .events = ZMQ_POLLIN},
                         {.fd = dl_kernel_wake(), .events = ZMQ_POLLIN}};
  dl_zmq.poll(p, 2, ms);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void dl_shell_abort(double seconds) {
  double end = now() + 1e-3 * GRACE_MS;
  fetch();
  while (seconds < 1e-3 * GRACE_MS && now() < end) {
    wait_ms(QUIET_MS);
    if (!fetch()) break;
  }
  for (item *it = first; it; it = it->next) it->abort = true;
  failed_from = current ? dl_request_date(current) : 0;
  failed_until = now();
}

/* ---- answers ----------------------------------------------------------------------------- */

static dl_packet *kernel_info(const dl_request *r) {
  dl_packet *p = dl_packet_reply(r, NULL);
  if (p) dl_kernel_info(&p->text);
  return p;
}

/* shutdown_request on shell is deprecated and honoured. */
static dl_packet *shutdown(const dl_request *r) {
  dl_kernel_shutdown(shell, r);
  return NULL;
}

static const struct {
  const char *type;
  dl_handler *answer;
} table[] = {{"execute_request", dl_execute},         {"complete_request", dl_complete},
             {"inspect_request", dl_inspect},         {"is_complete_request", dl_is_complete},
             {"history_request", dl_history},         {"kernel_info_request", kernel_info},
             {"comm_info_request", dl_comm_info},     {"comm_open", dl_comm_event},
             {"comm_msg", dl_comm_event},             {"comm_close", dl_comm_event},
             {"shutdown_request", shutdown}};

static dl_packet *abort_reply(const dl_request *r) {
  dl_packet *p = dl_packet_reply(r, NULL);
  if (p) dl_buf_form(&p->text, "{\"status\":\"aborted\",\"execution_count\":%d}",
                     dl_execution_count());
  return p;
}

/* A signed message whose content cannot be read. */
static dl_packet *refuse(const dl_request *r) {
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_buf_text(&p->text, "{");
  dl_refusal_json(&p->text, "BadRequest", r->bad);
  dl_buf_form(&p->text, ",\"execution_count\":%d}", dl_execution_count());
  return p;
}

/* Was it sent between the request that failed and its reply, and is it only just here? A clock that
 * is wrong gives dates that fail one of these. */
static bool is_late(const dl_request *r) {
  if (!same_clock || !failed_from || now() > failed_until + 1e-3 * LATE_MS) return false;
  double date = dl_request_date(r);
  return date >= failed_from && date < failed_until;
}

static bool is_aborted(const dl_request *r, const item *it) {
  return !strcmp(r->type, "execute_request") && (it->abort || is_late(r));
}

static dl_packet *answer(const dl_request *r, const item *it) {
  if (is_aborted(r, it)) return abort_reply(r);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (strcmp(r->type, table[i].type)) continue;
    bool event = !strncmp(r->type, "comm_", 5) && table[i].answer == dl_comm_event;
    if (!r->body) return event ? NULL : refuse(r);
    return table[i].answer(r);
  }
  dl_kernel_log("a %s on shell is not known here", r->type);
  return NULL;
}

static void serve(const item *it) {
  dl_request r;
  if (!dl_mail_read(it->mail, "shell", &r)) return;
  current = &r;
  dl_iopub_status("busy", r.header);
  dl_packet *reply = answer(&r, it);
  dl_capture_sync();
  dl_mail_send(shell, &r, reply);
  dl_iopub_status("idle", r.header);
  current = NULL;
  dl_request_free(&r);
}

void dl_shell_serve(void *socket, bool comparable) {
  shell = socket;
  same_clock = comparable;
  dl_past_open();
  while (!dl_kernel_is_closing()) {
    fetch();
    item *it = first;
    if (!it) {
      wait_ms(-1);
      continue;
    }
    first = it->next;
    if (!first) last = &first;
    queued--;
    serve(it);
    dl_mail_free(it->mail);
    free(it);
  }
  while (first) {
    item *it = first;
    first = it->next;
    dl_mail_free(it->mail);
    free(it);
  }
}
