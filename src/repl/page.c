/* page.c -- long text a screen at a time
 *
 * For repl.c and help. See page.h. What was shown stays on the screen.
 *
 * INVARIANT  The terminal's settings after a call are those before it; an interrupt ends the text.
 * MUST NOT   know Lua. */
#include "repl/page.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/interrupt.h"
#include "repl/term.h"
#include "repl/width.h"

/* Through the user's own program. False if it cannot be started. */
static bool through_program(const char *text, size_t len) {
  const char *program = getenv("PAGER");
  if (!program || !*program) return false;
  setenv("LESS", "FRX", 0); /* short text and colours pass as they are */
  fflush(stdout);
  FILE *f = popen(program, "w");
  if (!f) return false;
  struct sigaction ignore = {.sa_handler = SIG_IGN}, before; /* Ctrl-C is the program's */
  sigaction(SIGINT, &ignore, &before);
  fwrite(text, 1, len, f);
  int status = pclose(f);
  sigaction(SIGINT, &before, NULL);
  return status != 127 << 8; /* the shell did not find it */
}

/* Bytes of the text that fill so many rows, whole lines (at least one). */
static size_t screenful(const char *text, size_t len, int rows, int columns) {
  size_t at = 0;
  for (int used = 0; at < len;) {
    const char *stop = memchr(text + at, '\n', len - at);
    size_t n = stop ? (size_t)(stop - text) - at : len - at;
    used += (int)dl_width_rows(text + at, n, columns);
    if (at && used > rows) break;
    at += n + (stop != NULL);
  }
  return at;
}

/* Rows to go on by; 0 to stop. */
static int ask(int rows) {
  char key = 0;
  ssize_t n;
  printf("%s-- more: space, Enter, q --%s", dl_term_on(DL_ROLE_NOTE, 1), dl_term_off(1));
  fflush(stdout);
  do n = read(0, &key, 1);
  while (n < 0 && errno == EINTR && !dl_interrupt_pending());
  fputs("\r\033[K", stdout);
  if (n <= 0 || key == 'q' || key == 'Q' || key == 3 || key == 4) return 0;
  return key == '\n' || key == '\r' || key == 'j' ? 1 : rows;
}

static void by_ourselves(const char *text, size_t len) {
  int rows = dl_term_rows() - 1, step = rows;
  size_t at = 0;
  while (at < len && step > 0) {
    size_t n = screenful(text + at, len - at, step, dl_term_columns());
    fwrite(text + at, 1, n, stdout);
    at += n;
    if (at < len) step = ask(rows);
  }
}

void dl_page(const char *text, size_t len) {
  bool fits = dl_width_rows(text, len, dl_term_columns()) <= (size_t)dl_term_rows();
  if (fits || !isatty(0) || !isatty(1) || !dl_term_is_rich()) {
    fwrite(text, 1, len, stdout);
  } else if (!through_program(text, len)) {
    bool keys = dl_term_keys(true);
    if (keys) by_ourselves(text, len);
    else fwrite(text, 1, len, stdout);
    if (keys) dl_term_keys(false);
  }
  fflush(stdout);
}
