/* term.c -- the terminal: its size, its settings, colours by role
 *
 * For line.c, page.c, repl.c and session.c. See term.h.
 *
 * INVARIANT  What runs in a signal handler calls async-signal-safe functions alone.
 * MUST NOT   know Lua or Readline. */
#include "repl/term.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static volatile sig_atomic_t saved, editing;
static bool plain;

/* ---- colours ----------------------------------------------------------------------------- */

void dl_term_plain(void) { plain = true; }

bool dl_term_is_rich(void) {
  const char *kind = getenv("TERM");
  return !plain && kind && *kind && strcmp(kind, "dumb") != 0;
}

static bool has_colour(int fd) {
  static signed char known[3] = {-1, -1, -1};
  if (known[fd] < 0) {
    const char *no = getenv("NO_COLOR");
    known[fd] = isatty(fd) && dl_term_is_rich() && !(no && *no);
  }
  return known[fd];
}

const char *dl_term_on(dl_role role, int fd) {
  static const char *const code[DL_ROLES] = {"\033[32m", "\033[1;31m", "\033[36m", "\033[2m"};
  return has_colour(fd) ? code[role] : "";
}

const char *dl_term_off(int fd) { return has_colour(fd) ? "\033[0m" : ""; }

/* ---- size -------------------------------------------------------------------------------- */

int dl_term_columns(void) {
  struct winsize w;
  return ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
}

int dl_term_rows(void) {
  struct winsize w;
  return ioctl(1, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 ? w.ws_row : 24;
}

/* ---- settings ---------------------------------------------------------------------------- */

void dl_term_editing(bool on) { editing = on; }

void dl_term_restore(void) {
  static const char end_paste[] = "\033[?2004l";
  sigset_t stop, old;
  if (!saved) return;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTTOU); /* a process in the background may put them back too */
  sigprocmask(SIG_BLOCK, &stop, &old);
  tcsetattr(0, TCSANOW, &before);
  sigprocmask(SIG_SETMASK, &old, NULL);
  if (editing && saved > 1 && write(1, end_paste, sizeof end_paste - 1) < 0) return;
}

#ifdef DL_SAN                       /* the sanitizer reports crashes itself */
static void guard_crashes(void) {}
#else
/* Fatal: the handler is gone by SA_RESETHAND, so the signal kills when it is raised again. */
static void on_crash(int sig) {
  dl_term_restore();
  raise(sig);
}

static void guard_crashes(void) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
  static char stack[1 << 16]; /* an overflowing stack cannot take its own signal */
  stack_t st = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)};
  sigemptyset(&sa.sa_mask);
  sigaltstack(&st, NULL);
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) sigaction(fatal[i], &sa, NULL);
}
#endif

void dl_term_guard(void) {
  if (saved || tcgetattr(0, &before) != 0) return;
  saved = dl_term_is_rich() ? 2 : 1;
  atexit(dl_term_restore);
  guard_crashes();
}

bool dl_term_keys(bool on) {
  static struct termios was;
  if (!on) return tcsetattr(0, TCSADRAIN, &was) == 0;
  if (tcgetattr(0, &was) != 0) return false;
  struct termios keys = was;
  keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  keys.c_cc[VMIN] = 1;
  keys.c_cc[VTIME] = 0;
  return tcsetattr(0, TCSADRAIN, &keys) == 0;
}
