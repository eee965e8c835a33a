/* repl.c -- the prompt
 *
 * For main.c. A chunk that ends too early is continued on the next line.
 *
 * INVARIANT  `chunk` holds the lines of the unfinished chunk; what was typed is in the history
 *            before it runs.
 * MUST NOT   know how a line is run: that is the session's. */
#include "repl/repl.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mem/gpu.h"
#include "repl/history.h"
#include "repl/line.h"
#include "repl/magic.h"
#include "repl/page.h"
#include "repl/session.h"
#include "repl/tab.h"
#include "repl/term.h"

enum { GRACE_MS = 1000 };

static const char hello[] =
    "dlrepl " DL_VERSION " -- PyTorch's names and habits, in Lua. %s.\n"
    "\n"
    "  x = torch.randn(2, 3)          a line prints its value: try x, then x:sum()\n"
    "  w = torch.ones(3, {requires_grad=true})\n"
    "  x:matmul(w):sum():backward()   methods take a colon, properties a dot: w.grad\n"
    "  for i = 1, 3 do print(i) end   Lua 5.4: lists count from 1, tensors from 0\n"
    "\n"
    "help() tells where things are, ?torch.sum about one of them; Tab completes.\n"
    "%%help lists the %% commands, :lesson the lessons. Ctrl-C stops, Ctrl-D leaves.\n";

static const char short_hello[] =
    "dlrepl " DL_VERSION ": PyTorch in Lua. %s.\n"
    "Try x = torch.randn(2, 3), then x,\n"
    "then x:sum(). Ctrl-D leaves.\n";

/* What computes: the CPU, or the first GPU's name, which says so where it is simulated. */
static void greet(void) {
  dl_props p;
  const char *what = dl_gpu && dl_gpu->props(0, &p) == DL_CU_OK ? p.name : "CPU";
  if (dl_term_columns() < 80) printf(short_hello, what);
  else printf(hello, what);
}

static struct {
  char *text;      /* the lines so far, joined by line ends */
  size_t len;
} chunk;
static bool terminal;
static int64_t stopped_at; /* ms, when a run was last stopped by Ctrl-C */

static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void note(const char *text, const char *more) {
  printf("%snote: %s%s%s\n", dl_term_on(DL_ROLE_NOTE, 1), text, more, dl_term_off(1));
}

/* Append a line to the chunk; false without memory (the chunk is dropped). */
static bool grow(const char *line, size_t n) {
  char *more = realloc(chunk.text, chunk.len + n + 2);
  if (!more) return chunk.len = 0, false;
  if (chunk.len) more[chunk.len++] = '\n';
  memcpy(more + chunk.len, line, n);
  chunk.len += n;
  more[chunk.len] = 0;
  chunk.text = more;
  return true;
}

static void remember(const char *text) {
  if (!dl_line_remember(text))
    note("the history of this session is not kept; cannot write ", dl_history_file());
}

/* True if it ran to its end. */
static bool run_text(const char *text, size_t len) {
  dl_outcome o;
  dl_session_line(text, len, "=stdin", &o);
  if (o.how == DL_ENDED_INTERRUPT) stopped_at = now_ms();
  if (o.how == DL_ENDED_OK && o.n > 0) dl_session_show(o.n, dl_term_columns(), &o);
  dl_session_report(&o);
  dl_magic_note_line(text, len);
  char *next = dl_magic_take_next();
  if (next) dl_line_begin_with(next);
  free(next);
  return o.how == DL_ENDED_OK;
}

static bool is_blank(const char *text, size_t len) {
  return len == strlen(text) && text[strspn(text, " \t\r\n")] == 0;
}

/* One line; a chunk that is complete now is run. False after an error. */
static bool feed(const char *line, size_t len, bool keep) {
  if (!chunk.len && is_blank(line, len)) return true;
  if (!grow(line, len)) return false;
  if (dl_session_check(chunk.text, chunk.len, "=stdin") == DL_TEXT_UNFINISHED) return true;
  if (keep) remember(chunk.text);
  size_t n = chunk.len;
  chunk.len = 0;
  return run_text(chunk.text, n);
}

/* ---- pasted lines ------------------------------------------------------------------------ */

static size_t prompt_length(const char *line) {
  return !strncmp(line, "> ", 2) ? 2 : !strncmp(line, "... ", 4) ? 4 : 0;
}

/* A session copied from a page: keep what follows the prompts, drop the answers. Changes text. */
static size_t strip_prompts(char *text, size_t len) {
  size_t to = 0;
  if (prompt_length(text) != 2) return len;
  for (char *at = text, *end = text + len; at < end;) {
    char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at), skip = prompt_length(at);
    char *after = at + n + 1;
    if (skip) {
      if (to) text[to++] = '\n';
      memmove(text + to, at + skip, n - skip);
      to += n - skip;
    }
    at = after;
  }
  text[to] = 0;
  return to;
}

/* Several lines at once: one chunk if they are one, else one after the other up to an error. */
static void feed_block(char *text, size_t len) {
  len = strip_prompts(text, len);
  remember(text);
  if (!memchr(text, '\n', len) || dl_session_check(text, len, "=stdin") == DL_TEXT_COMPLETE) {
    feed(text, len, false);
    return;
  }
  bool well = true;
  for (char *at = text, *end = text + len; well && at <= end;) {
    char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t n = (size_t)((stop ? stop : end) - at);
    at[n] = 0;
    well = feed(at, n, false);
    at += n + 1;
  }
}

static bool is_block(const char *text, size_t len) {
  return !chunk.len && (memchr(text, '\n', len) || prompt_length(text) == 2);
}

/* ---- the loop ---------------------------------------------------------------------------- */

/* Ctrl-C: true if it means to leave, the second one in a row at an empty prompt. Presses that were
 * meant for what has just stopped do not count. */
static bool interrupted(const char *begun, bool *armed) {
  bool empty = !chunk.len && is_blank(begun, strlen(begun));
  if (!empty && grow(begun, strlen(begun))) remember(chunk.text);
  chunk.len = 0;
  if (!empty || now_ms() - stopped_at < GRACE_MS) return *armed = false;
  if (*armed) return true;
  note("once more, or Ctrl-D, leaves", "");
  *armed = true;
  return false;
}

/* The input is over: true if the prompt is too. On a terminal an unfinished chunk is given up. */
static bool ended(void) {
  if (!chunk.len) return true;
  if (!terminal) {
    run_text(chunk.text, chunk.len); /* fails with the compiler's words */
    return true;
  }
  remember(chunk.text);
  chunk.len = 0;
  fputc('\n', stdout);
  return false;
}

void dl_repl(bool welcome) {
  char *line;
  size_t len;
  bool armed = false, over = false;
  terminal = isatty(0) && isatty(1);
  dl_line_open(terminal);
  if (terminal) dl_session_print = dl_page;
  if (welcome && terminal) greet();
  while (!over) {
    dl_tab_before(chunk.text, chunk.len);
    dl_line how = dl_line_read(chunk.len ? "... " : "> ", &line, &len);
    if (how == DL_LINE_END) {
      over = ended();
    } else if (how == DL_LINE_INTERRUPT) {
      over = interrupted(line ? line : "", &armed);
    } else {
      armed = false;
      if (is_block(line, len)) feed_block(line, len);
      else feed(line, len, true);
    }
    free(line);
  }
  if (terminal) fputc('\n', stdout);
  free(chunk.text);
  chunk.text = NULL;
  chunk.len = 0;
}
