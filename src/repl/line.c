/* line.c -- one line from a person, with editing and history where Readline is there
 *
 * For repl.c. Readline is driven through its callback interface: we wait for input ourselves, so an
 * interrupt at the prompt simply drops the line.
 *
 * INVARIANT  Either every function of Readline in `rl` was found, or none is used.
 * MUST NOT   know Lua. */
#include "repl/line.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "repl/interrupt.h"

enum { HISTORY_LINES = 5000 };

static struct {
  void (*handler_install)(const char *prompt, void (*take)(char *line));
  void (*handler_remove)(void);
  void (*read_char)(void);
  void (*free_line_state)(void);
  void (*callback_sigcleanup)(void);
  void (*add_history)(const char *line);
  int (*read_history)(const char *file);
  int (*append_history)(int n, const char *file);
  void (*stifle_history)(int n);
  int (*history_truncate_file)(const char *file, int lines);
  void (*deprep_terminal)(void);
  void (*prep_terminal)(int meta);
  int (*forced_update_display)(void);
  int *catch_signals;
  char **readline_name;
} rl;

static bool terminal, have_rl;
static char history[PATH_MAX];
static char *got_line;
static bool got_any;

/* ---- the library ------------------------------------------------------------------------- */

static bool load_readline(void) {
  static const struct { const char *name; void *slot; } rows[] = {
      {"rl_callback_handler_install", &rl.handler_install},
      {"rl_callback_handler_remove", &rl.handler_remove},
      {"rl_callback_read_char", &rl.read_char},
      {"rl_free_line_state", &rl.free_line_state},
      {"rl_callback_sigcleanup", &rl.callback_sigcleanup},
      {"add_history", &rl.add_history},
      {"read_history", &rl.read_history},
      {"append_history", &rl.append_history},
      {"stifle_history", &rl.stifle_history},
      {"history_truncate_file", &rl.history_truncate_file},
      {"rl_deprep_terminal", &rl.deprep_terminal},
      {"rl_prep_terminal", &rl.prep_terminal},
      {"rl_forced_update_display", &rl.forced_update_display},
      {"rl_catch_signals", &rl.catch_signals},
      {"rl_readline_name", &rl.readline_name}};
  const char *wish = getenv("DLREPL_READLINE");
  if (wish && !strcmp(wish, "0")) return false;
  void *lib = dlopen("libreadline.so.8", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return false;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *p = dlsym(lib, rows[i].name);
    if (!p) return false;
    memcpy(rows[i].slot, &p, sizeof p);
  }
  *rl.catch_signals = 0;
  *rl.readline_name = "dlrepl";
  return true;
}

/* $XDG_DATA_HOME/dlrepl/history, or under ~/.local/share; the folders are made. */
static bool find_history(void) {
  const char *base = getenv("XDG_DATA_HOME"), *below = "";
  if (!base || *base != '/') {
    base = getenv("HOME");
    below = "/.local/share";
  }
  if (!base || !*base) return false;
  int n = snprintf(history, sizeof history, "%s%s/dlrepl/history", base, below);
  if (n <= 0 || (size_t)n >= sizeof history) return false;
  for (char *p = history + 1; (p = strchr(p, '/')) != NULL; p++) {
    *p = 0;
    mkdir(history, 0700);
    *p = '/';
  }
  return true;
}

static void open_history(void) {
  if (!find_history()) {
    history[0] = 0;
    return;
  }
  rl.stifle_history(HISTORY_LINES);
  rl.read_history(history);
  FILE *f = fopen(history, "a"); /* append_history needs the file to exist */
  if (!f) history[0] = 0;
  else fclose(f);
}

/* ---- reading ----------------------------------------------------------------------------- */

static void take_line(char *line) {
  got_line = line;
  got_any = true;
  rl.handler_remove();
}

/* Ctrl-Z, hang-up and termination: at the prompt the terminal is put back first. */
static const int leaving[] = {SIGTSTP, SIGTERM, SIGHUP};
enum { N_LEAVING = sizeof leaving / sizeof *leaving };
static volatile sig_atomic_t waiting, caught;

static void act_on(int sig) {
  struct sigaction ours, standard = {.sa_handler = SIG_DFL};
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, sig);
  sigaction(sig, &standard, &ours);
  raise(sig);
  sigprocmask(SIG_UNBLOCK, &only, NULL); /* here it ends, or stops until SIGCONT */
  sigaction(sig, &ours, NULL);
}

static void on_leaving(int sig) {
  if (waiting) caught = sig;
  else act_on(sig);
}

static void leave_and_return(void) {
  int sig = caught;
  caught = 0;
  if (have_rl) rl.deprep_terminal();
  act_on(sig);
  if (!have_rl) return;
  rl.prep_terminal(1);
  rl.forced_update_display();
}

static void take_signals(void) {
  struct sigaction sa = {.sa_handler = on_leaving, .sa_flags = SA_RESTART};
  sigemptyset(&sa.sa_mask);
  for (int i = 0; i < N_LEAVING; i++) sigaction(leaving[i], &sa, NULL);
}

void dl_line_open(bool on_terminal) {
  terminal = on_terminal;
  have_rl = terminal && load_readline();
  if (terminal) take_signals();
  if (have_rl) open_history();
  else if (terminal) setvbuf(stdin, NULL, _IONBF, 0); /* wait_input sees no read-ahead */
}

/* Wait until there is something to read; false after an interrupt. Signals are let in only inside
 * ppoll, so that none can slip by between the look at the flags and the wait. */
static bool wait_input(void) {
  struct pollfd in = {.fd = 0, .events = POLLIN};
  sigset_t block, before;
  bool stopped, ready = false;
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  for (int i = 0; i < N_LEAVING; i++) sigaddset(&block, leaving[i]);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  while (!(stopped = dl_interrupt_idle_taken()) && !ready) {
    waiting = 1;
    int n = ppoll(&in, 1, NULL, &before);
    waiting = 0;
    ready = n > 0 || (n < 0 && errno != EINTR);
    if (caught) leave_and_return();
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !stopped;
}

static dl_line drop_line(void) {
  fputs("^C\n", stdout);
  fflush(stdout);
  return DL_LINE_INTERRUPT;
}

static dl_line read_edited(const char *prompt, char **text) {
  got_any = false;
  rl.handler_install(prompt, take_line);
  while (!got_any) {
    if (wait_input()) {
      rl.read_char();
      continue;
    }
    rl.free_line_state();
    rl.callback_sigcleanup();
    rl.handler_remove();
    return drop_line();
  }
  *text = got_line;
  return got_line ? DL_LINE_TEXT : DL_LINE_END;
}

static dl_line read_plain(const char *prompt, char **text) {
  size_t cap = 0;
  *text = NULL;
  if (terminal) {
    fputs(prompt, stdout);
    fflush(stdout);
    if (!wait_input()) return drop_line();
  }
  ssize_t n = getline(text, &cap, stdin);
  if (n < 0) {
    free(*text);
    *text = NULL;
    clearerr(stdin);
    return DL_LINE_END;
  }
  if (n > 0 && (*text)[n - 1] == '\n') (*text)[n - 1] = 0;
  return DL_LINE_TEXT;
}

dl_line dl_line_read(const char *prompt, char **text) {
  dl_interrupt_idle_taken();
  return have_rl ? read_edited(prompt, text) : read_plain(prompt, text);
}

void dl_line_remember(const char *text) {
  if (!have_rl || !*text) return;
  rl.add_history(text);
  if (*history) rl.append_history(1, history);
}

int dl_line_columns(void) {
  struct winsize w;
  if (ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return w.ws_col;
  return 80;
}
