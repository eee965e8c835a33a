/* repl.c -- the prompt
 *
 * For main.c. A chunk that ends too early is continued on the next line.
 *
 * INVARIANT  `chunk` holds the lines of the unfinished chunk, joined by line ends.
 * MUST NOT   know how a line is run: that is the session's. */
#include "repl/repl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "repl/line.h"
#include "repl/session.h"

static const char hello[] =
    "dlrepl " DL_VERSION " -- PyTorch's names and habits, in Lua. CPU.\n"
    "\n"
    "  x = torch.randn(2, 3)            an expression prints its value: try x, then x:sum()\n"
    "  w = torch.ones(3, {requires_grad=true})\n"
    "  (x:matmul(w)):sum():backward()   methods take a colon, properties a dot: w.grad\n"
    "  for i = 1, 3 do print(i) end     the rest is Lua 5.4; lists count from 1, tensors from 0\n"
    "\n"
    "Ctrl-C stops what runs, Ctrl-D leaves.\n";

/* Append a line to the chunk; false without memory (the chunk is dropped). */
static bool grow(char **chunk, size_t *len, const char *line) {
  size_t n = strlen(line);
  char *more = realloc(*chunk, *len + n + 2);
  if (!more) return false;
  if (*len) more[(*len)++] = '\n';
  memcpy(more + *len, line, n + 1);
  *len += n;
  *chunk = more;
  return true;
}

/* Run the chunk. True if it is over, false if it wants more lines. */
static bool run_chunk(const char *text, size_t len) {
  dl_outcome o;
  dl_session_line(text, len, "=stdin", &o);
  if (o.how == DL_ENDED_UNFINISHED) return false;
  if (o.how == DL_ENDED_OK && o.n > 0) {
    char guard[sizeof o.guard];
    memcpy(guard, o.guard, sizeof guard);
    dl_session_show(o.n, dl_line_columns(), &o);
    if (*guard) memcpy(o.guard, guard, sizeof guard);
  }
  dl_session_report(&o);
  return true;
}

static bool is_blank(const char *text) { return text[strspn(text, " \t\r\n")] == 0; }

void dl_repl(bool welcome) {
  bool terminal = isatty(0) && isatty(1);
  char *chunk = NULL, *line;
  size_t len = 0;
  dl_line_open(terminal);
  if (welcome && terminal) fputs(hello, stdout);
  for (;;) {
    dl_line how = dl_line_read(len ? "... " : "> ", &line);
    if (how == DL_LINE_INTERRUPT) len = 0;
    if (how == DL_LINE_END) break;
    if (how != DL_LINE_TEXT) continue;
    dl_line_remember(line);
    if ((len || !is_blank(line)) && (!grow(&chunk, &len, line) || run_chunk(chunk, len))) len = 0;
    free(line);
  }
  if (len) { /* the input ended inside a chunk: say so as the compiler does */
    dl_outcome o;
    dl_session_line(chunk, len, "=stdin", &o);
    dl_session_report(&o);
  }
  if (terminal) fputc('\n', stdout);
  free(chunk);
}
