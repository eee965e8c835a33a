/* kernel.c -- the Jupyter kernel: start and end
 *
 * For main.c. See jupyter.h. Order at the start: connection file, descriptors, sockets, threads,
 * Lua; so control and heartbeat answer before Lua is ready. At the end: the last words leave, then
 * the threads, the sockets, Lua.
 *
 * INVARIANT  SIGINT never ends the process; a second kernel on the same ports can start at once.
 * MUST NOT   run Lua. */
#include "jupyter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capture.h"
#include "conn.h"
#include "iopub.h"
#include "lkernel.h"
#include "repl/interrupt.h"
#include "repl/session.h"
#include "shell.h"
#include "spec.h"
#include "zmqlib.h"

enum { EXIT_USAGE = 2, LINGER_MS = 1000, LAST_WORDS_MS = 300 };

static dl_conn conn;
static void *context, *heart_context, *sock[DL_PORTS];
static pthread_t main_thread;
static atomic_bool closing;
static int wake = -1;

static const char usage[] =
    "usage: dlrepl kernel -f FILE                 run as a Jupyter kernel (Jupyter does this)\n"
    "       dlrepl kernel install [--user | --sys-prefix | --prefix DIR] [--name NAME]\n"
    "                                             make the kernel known to Jupyter\n"
    "       dlrepl kernel uninstall [NAME]        and unknown again\n"
    "       dlrepl kernel list                    where it is installed\n";

/* ---- what other threads ask for ------------------------------------------------------------- */

bool dl_kernel_is_closing(void) { return atomic_load(&closing); }

int dl_kernel_wake(void) { return wake; }

void dl_kernel_close(void) {
  uint64_t one = 1;
  atomic_store(&closing, true);
  ssize_t ignored = write(wake, &one, sizeof one);
  (void)ignored;
  pthread_kill(main_thread, SIGINT);
}

void dl_kernel_interrupt(void) {
  if (getpgrp() == getpid()) kill(0, SIGINT); /* children that a cell started, too */
  else pthread_kill(main_thread, SIGINT);
}

void dl_kernel_shutdown(void *socket, const dl_request *r) {
  bool restart = dl_request_flag(r, "restart", false);
  dl_packet *reply = dl_packet_reply(r, NULL), *told = dl_packet_new("shutdown_reply", r->header,
                                                                     NULL);
  dl_packet *both[2] = {reply, told};
  for (int i = 0; i < 2; i++)
    if (both[i]) dl_buf_form(&both[i]->text, "{\"status\":\"ok\",\"restart\":%s}",
                             restart ? "true" : "false");
  dl_mail_send(socket, r, reply);
  dl_iopub_push(told, DL_MUST);
  dl_kernel_close();
}

void dl_kernel_info(dl_buf *b) {
  dl_buf_text(b, "{\"status\":\"ok\",\"protocol_version\":\"" DL_PROTOCOL "\","
                 "\"implementation\":\"dlrepl\",\"implementation_version\":\"" DL_VERSION "\","
                 "\"language_info\":{\"name\":\"lua\",\"version\":\"" LUA_VERSION_MAJOR
                 "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE "\",\"mimetype\":\"text/x-lua\","
                 "\"file_extension\":\".lua\",\"pygments_lexer\":\"lua\","
                 "\"codemirror_mode\":\"lua\"},");
  dl_buf_text(b, "\"banner\":\"dlrepl " DL_VERSION " -- PyTorch's names and habits, in Lua.\\n"
                 "help() tells where things are, ?torch.sum about one of them; %help lists the "
                 "% commands.\",\"help_links\":[{\"text\":\"Lua 5.4 manual\","
                 "\"url\":\"https://www.lua.org/manual/5.4/\"},{\"text\":\"PyTorch documentation\","
                 "\"url\":\"https://docs.pytorch.org/docs/stable/\"}],"
                 "\"supported_features\":[],\"debugger\":false}");
}

/* ---- sockets ----------------------------------------------------------------------------- */

static void set(void *s, int option, int value) {
  dl_zmq.setsockopt(s, option, &value, sizeof value);
}

static void set_curve(void *s) {
  if (!*conn.curve_secret) return;
  set(s, ZMQ_CURVE_SERVER, 1);
  dl_zmq.setsockopt(s, ZMQ_CURVE_PUBLICKEY, conn.curve_public, 41);
  dl_zmq.setsockopt(s, ZMQ_CURVE_SECRETKEY, conn.curve_secret, 41);
}

/* What a client can make us hold without being known: its messages that nobody has read yet. */
static void limit(void *s, dl_port p) {
  static const int64_t largest[DL_PORTS] = {
      [DL_SHELL] = 128 << 20, [DL_CONTROL] = 16 << 20, [DL_STDIN] = 1 << 20,
      [DL_IOPUB] = 1 << 16, [DL_HEART] = 1 << 16};
  dl_zmq.setsockopt(s, ZMQ_MAXMSGSIZE, &largest[p], sizeof largest[p]);
  if (p == DL_STDIN) set(s, ZMQ_RCVHWM, 16); /* read only while input is asked for */
}

/* A socket of this type, bound to its address; false after a line in the log. */
static bool open_socket(dl_port p, int type) {
  char address[300];
  dl_conn_address(&conn, p, address, sizeof address);
  void *s = sock[p] = dl_zmq.socket(p == DL_HEART ? heart_context : context, type);
  if (!s) return dl_kernel_log("no socket: %s", dl_zmq.strerror(errno)), false;
  set(s, ZMQ_LINGER, LINGER_MS);
  if (strchr(conn.ip, ':')) set(s, ZMQ_IPV6, 1);
  limit(s, p);
  if (type == ZMQ_ROUTER && p != DL_HEART) set(s, ZMQ_ROUTER_HANDOVER, 1);
  if (type == ZMQ_XPUB) {
    set(s, ZMQ_SNDHWM, 0); /* never drop behind our back: iopub.c counts */
    set(s, ZMQ_XPUB_VERBOSE, 1);
  }
  set_curve(s);
  if (dl_zmq.bind(s, address) == 0) return true;
  dl_kernel_log("cannot listen on %s (%s): %s", address, dl_port_name(p),
                dl_zmq.strerror(errno));
  return false;
}

static bool open_sockets(void) {
  context = dl_zmq.ctx_new();
  heart_context = dl_zmq.ctx_new();
  return context && heart_context && open_socket(DL_SHELL, ZMQ_ROUTER) &&
         open_socket(DL_IOPUB, ZMQ_XPUB) && open_socket(DL_STDIN, ZMQ_ROUTER) &&
         open_socket(DL_CONTROL, ZMQ_ROUTER) && open_socket(DL_HEART, ZMQ_ROUTER);
}

/* ---- signals ----------------------------------------------------------------------------- */

/* A crash: one line in the log, no word to clients, whose sockets may be broken. */
static void on_crash(int sig) {
  static const char word[] = "dlrepl kernel: crashed\n";
  ssize_t ignored = write(dl_capture_log(), word, sizeof word - 1);
  (void)ignored;
  _exit(128 + sig);
}

static void take_signals(void) {
  signal(SIGPIPE, SIG_IGN);
  dl_interrupt_install(true);
#ifndef DL_SAN
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  struct sigaction sa = {.sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND};
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &sa, NULL);
#else
  (void)on_crash;
#endif
}

/* The threads take no signals: those are the main thread's. */
static bool start_threads(void) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool fine = dl_iopub_start(sock[DL_IOPUB]) && dl_capture_start() &&
              dl_control_start(sock[DL_CONTROL]) && dl_heart_start(sock[DL_HEART]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return fine;
}

/* ---- start and end ----------------------------------------------------------------------- */

/* The signal that ends a busy cell at a shutdown may come now. */
static void end_context(void *c) {
  while (dl_zmq.ctx_term(c) < 0 && errno == EINTR) continue;
}

static void stop_threads(void) {
  dl_capture_stop();
  dl_iopub_drain(LAST_WORDS_MS);
  dl_control_stop();
  dl_iopub_stop();
  dl_zmq.close(sock[DL_SHELL]);
  dl_zmq.close(sock[DL_STDIN]);
  dl_heart_stop(heart_context);
  end_context(context);
  end_context(heart_context);
}

static int run(const char *file) {
  const char *why;
  main_thread = pthread_self();
  take_signals();
  if (!dl_conn_read(file, &conn)) return EXIT_USAGE;
  if (!dl_zmq_load(&why)) {
    fprintf(stderr, "dlrepl kernel: libzmq is needed (Debian: libzmq5): %s\n", why);
    return EXIT_USAGE;
  }
  dl_wire_key(conn.key, conn.key_len);
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0 || !dl_capture_open()) {
    dl_kernel_log("cannot redirect the output: %s", strerror(errno));
    return EXIT_USAGE;
  }
  if (!open_sockets()) return EXIT_USAGE;
  if (!start_threads()) {
    dl_kernel_log("cannot start threads: %s", strerror(errno));
    return EXIT_USAGE;
  }
  dl_iopub_status("starting", (dl_slice){"{}", 2});
  dl_input_stream();
  lua_State *L = dl_session_open();
  if (L) {
    dl_lkernel_open(L, sock[DL_STDIN]);
    dl_session_gpu();
    dl_shell_serve(sock[DL_SHELL], dl_conn_is_local(&conn));
  } else {
    dl_kernel_log("could not start Lua");
  }
  stop_threads();
  dl_session_close();
  return L ? 0 : 1;
}

int dl_kernel_main(int argc, char **argv) {
  const char *file = NULL;
  if (argc < 1 || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
    fputs(usage, argc < 1 ? stderr : stdout);
    return argc < 1 ? EXIT_USAGE : 0;
  }
  if (!strcmp(argv[0], "-f") && argc == 2) file = argv[1];
  else if (!strncmp(argv[0], "-f", 2) && argv[0][2] && argc == 1) file = argv[0] + 2;
  if (file) return run(file);
  int st = dl_spec_main(argc, argv);
  if (st >= 0) return st;
  fprintf(stderr, "dlrepl kernel: not understood\n%s", usage);
  return EXIT_USAGE;
}
