/* line.c -- one line from a person, with editing and history where Readline is there
 *
 * For repl.c. Readline gets its keys from us: we wait for input ourselves, so an interrupt at the
 * prompt simply drops the line. (Its callback interface is not used: in 8.2 keys that come fast
 * after a search end the process.)
 *
 * INVARIANT  Either every function of Readline in `rl` was found, or none is used.
 * MUST NOT   know Lua. */
#include "repl/line.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/history.h"
#include "repl/interrupt.h"
#include "repl/tab.h"
#include "repl/term.h"

static struct {
  char *(*readline)(const char *prompt);
  void (*add_history)(const char *line);
  void (*stifle_history)(int n);
  void (*deprep_terminal)(void);
  void (*prep_terminal)(int meta);
  int (*forced_update_display)(void);
  void (*resize_terminal)(void);
  void (*reset_screen_size)(void);
  int (*insert_text)(const char *text);
  void (*replace_line)(const char *text, int clear_undo);
  int (**getc_function)(FILE *);
  int (**startup_hook)(void);
  int (*variable_bind)(const char *name, const char *value);
  char **line_buffer;
  int *catch_signals, *catch_sigwinch;
  char **readline_name;
} rl;

static bool terminal, have_rl;
static char *next_text, *begun; /* begun: the line that an interrupt cut short */
static volatile sig_atomic_t waiting, editing, caught, resized;

/* ---- the library ------------------------------------------------------------------------- */

static bool load_readline(void) {
  static const struct { const char *name; void *slot; } rows[] = {
      {"readline", &rl.readline},
      {"add_history", &rl.add_history},
      {"stifle_history", &rl.stifle_history},
      {"rl_deprep_terminal", &rl.deprep_terminal},
      {"rl_prep_terminal", &rl.prep_terminal},
      {"rl_forced_update_display", &rl.forced_update_display},
      {"rl_resize_terminal", &rl.resize_terminal},
      {"rl_reset_screen_size", &rl.reset_screen_size},
      {"rl_insert_text", &rl.insert_text},
      {"rl_replace_line", &rl.replace_line},
      {"rl_getc_function", &rl.getc_function},
      {"rl_startup_hook", &rl.startup_hook},
      {"rl_variable_bind", &rl.variable_bind},
      {"rl_line_buffer", &rl.line_buffer},
      {"rl_catch_signals", &rl.catch_signals},
      {"rl_catch_sigwinch", &rl.catch_sigwinch},
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
  *rl.catch_signals = *rl.catch_sigwinch = 0;
  *rl.readline_name = "dlrepl";
  dl_tab_open(lib);
  return true;
}

/* ---- reading ----------------------------------------------------------------------------- */

static void set_editing(bool on) {
  editing = on;
  dl_term_editing(on);
}

/* Ctrl-Z, Ctrl-\\, hang-up and termination: at the prompt the terminal is put back first. */
static const int leaving[] = {SIGTSTP, SIGTERM, SIGHUP, SIGQUIT};
enum { N_LEAVING = sizeof leaving / sizeof *leaving };

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
  if (waiting || (editing && sig == SIGTSTP)) {
    caught = sig;
    return;
  }
  dl_term_restore(); /* Readline may be in the middle of a key, or of a paste that never ends */
  act_on(sig);
}

static void leave_and_return(void) {
  int sig = caught;
  caught = 0;
  if (have_rl) rl.deprep_terminal();
  set_editing(false);
  act_on(sig);
  if (!have_rl) return;
  rl.prep_terminal(1);
  set_editing(true);
  rl.forced_update_display();
}

static void on_resize(int sig) { resized = 1; }

static void take_signals(void) {
  struct sigaction sa = {.sa_handler = on_leaving, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigemptyset(&sa.sa_mask);
  for (int i = 0; i < N_LEAVING; i++) {
    struct sigaction was;
    if (sigaction(leaving[i], NULL, &was) == 0 && was.sa_handler == SIG_IGN) continue; /* nohup */
    sigaction(leaving[i], &sa, NULL);
  }
  sa.sa_handler = on_resize;
  sigaction(SIGWINCH, &sa, NULL);
}

static void remember_edited(const char *entry) { rl.add_history(entry); }
static void remember_nowhere(const char *entry) { (void)entry; }

void dl_line_open(bool on_terminal) {
  terminal = on_terminal;
  have_rl = terminal && load_readline();
  if (!terminal) return;
  dl_term_guard();
  take_signals();
  if (have_rl) {
    rl.stifle_history(DL_HISTORY_MAX);
    if (!dl_term_is_rich()) rl.variable_bind("enable-bracketed-paste", "off");
  } else {
    setvbuf(stdin, NULL, _IONBF, 0); /* wait_input sees no read-ahead */
  }
  dl_history_open(have_rl ? remember_edited : remember_nowhere);
}

/* Wait until there is something to read; false after an interrupt. Signals are let in only inside
 * ppoll, so that none can slip by between the look at the flags and the wait. */
static bool wait_input(void) {
  struct pollfd in = {.fd = 0, .events = POLLIN};
  sigset_t block, before;
  bool stopped, ready = false;
  sigemptyset(&block);
  sigaddset(&block, SIGINT);
  sigaddset(&block, SIGWINCH);
  for (int i = 0; i < N_LEAVING; i++) sigaddset(&block, leaving[i]);
  pthread_sigmask(SIG_BLOCK, &block, &before);
  while (!(stopped = dl_interrupt_idle_taken()) && !ready) {
    if (caught) leave_and_return();
    waiting = 1;
    int n = ppoll(&in, 1, NULL, &before);
    ready = n > 0 || (n < 0 && errno != EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL); /* where a key was there, ppoll lets none in */
    pthread_sigmask(SIG_BLOCK, &block, NULL);
    waiting = 0;
    if (caught) leave_and_return();
    if (resized && have_rl) rl.resize_terminal();
    resized = 0;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !stopped;
}

/* The line that was begun is handed over all the same, so that nothing typed is lost. */
static dl_line drop_line(const char *line, char **text, size_t *len) {
  *text = strdup(line);
  *len = *text ? strlen(*text) : 0;
  return DL_LINE_INTERRUPT;
}

/* Readline's way to a key. After an interrupt there are no more keys: whatever it is in the middle
 * of (a search, an Esc, a paste) ends, and so does the line. */
static int next_key(FILE *in) {
  unsigned char c;
  ssize_t n = 0;
  (void)in;
  if (!begun && !wait_input()) {
    begun = strdup(*rl.line_buffer);
    fputs("^C", stdout);
    fflush(stdout);
  }
  if (begun) {
    rl.replace_line("", 1);
    return EOF;
  }
  while ((n = read(0, &c, 1)) < 0 && errno == EINTR) continue;
  return n == 1 ? c : EOF;
}

static int insert_next(void) {
  if (next_text) rl.insert_text(next_text);
  free(next_text);
  next_text = NULL;
  return 0;
}

static dl_line read_edited(const char *prompt, char **text, size_t *len) {
  static bool started; /* before, Readline does not know a size that could change */
  char shown[64];      /* Readline is told which bytes take no column */
  const char *on = dl_term_on(DL_ROLE_PROMPT, 1), *off = dl_term_off(1);
  if (*on) snprintf(shown, sizeof shown, "\001%s\002%s\001%s\002", on, prompt, off);
  else snprintf(shown, sizeof shown, "%s", prompt);
  if (resized && started) rl.reset_screen_size();
  started = true;
  resized = 0;
  *rl.getc_function = next_key;
  *rl.startup_hook = insert_next;
  set_editing(true);
  char *line = rl.readline(shown);
  set_editing(false);
  if (begun) {
    free(line);
    if (!dl_term_is_rich()) fputc('\n', stdout); /* else Readline has ended the line */
    dl_line how = drop_line(begun, text, len);
    free(begun);
    begun = NULL;
    return how;
  }
  *text = line;
  *len = line ? strlen(line) : 0;
  return line ? DL_LINE_TEXT : DL_LINE_END;
}

static dl_line read_plain(const char *prompt, char **text, size_t *len) {
  size_t cap = 0;
  *text = NULL;
  if (terminal) {
    printf("%s%s%s", dl_term_on(DL_ROLE_PROMPT, 1), prompt, dl_term_off(1));
    fflush(stdout);
    if (!wait_input()) {
      puts("^C");
      return drop_line("", text, len);
    }
  }
  ssize_t n = getline(text, &cap, stdin);
  if (n < 0) {
    free(*text);
    *text = NULL;
    clearerr(stdin);
    return DL_LINE_END;
  }
  if (n > 0 && (*text)[n - 1] == '\n') (*text)[--n] = 0;
  *len = (size_t)n;
  return DL_LINE_TEXT;
}

dl_line dl_line_read(const char *prompt, char **text, size_t *len) {
  dl_interrupt_idle_taken();
  *text = NULL;
  *len = 0;
  return have_rl ? read_edited(prompt, text, len) : read_plain(prompt, text, len);
}

bool dl_line_remember(const char *text) {
  if (!terminal || text[strspn(text, " \t\r\n")] == 0) return true;
  if (have_rl) rl.add_history(text);
  return dl_history_add(text);
}

void dl_line_begin_with(const char *text) {
  free(next_text);
  next_text = have_rl ? strdup(text) : NULL;
}
