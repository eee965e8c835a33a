/* tab.c -- Tab at the prompt: the session's candidates for Readline
 *
 * For line.c and repl.c. Readline cuts its own word out of the line; the candidates are fitted to
 * it. The arrays handed over are Readline's to free.
 *
 * INVARIANT  Either every symbol was found, or Tab is left alone.
 * MUST NOT   decide what a candidate is: that is the session's. */
#include "repl/tab.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "repl/session.h"

static struct {
  char **line;
  int *append, *over;
  const char **breaks, **quotes;
  char **(**complete)(const char *, int, int);
  int (*bind)(const char *variable, const char *value);
} rl;

static const char *before;
static size_t before_len;

void dl_tab_before(const char *text, size_t len) {
  before = text;
  before_len = text ? len : 0;
}

/* The lines before and the line up to the cursor; *shift is where the line begins. */
static char *whole_text(int end, size_t *shift) {
  char *text = malloc(before_len + (size_t)end + 2);
  if (!text) return NULL;
  if (before_len) memcpy(text, before, before_len);
  *shift = before_len;
  if (before_len) text[(*shift)++] = '\n';
  memcpy(text + *shift, *rl.line, (size_t)end);
  text[*shift + (size_t)end] = 0;
  return text;
}

/* One candidate as Readline's word: what precedes it within the word is kept. */
static char *fitted(const char *line, size_t word, size_t start, const char *text) {
  if (start < word) return strdup(text + (word - start));
  size_t keep = start - word, n = strlen(text);
  char *s = malloc(keep + n + 1);
  if (!s) return NULL;
  memcpy(s, line + word, keep);
  memcpy(s + keep, text, n + 1);
  return s;
}

static size_t common(const char *a, const char *b) {
  size_t n = 0;
  while (a[n] && a[n] == b[n]) n++;
  return n;
}

/* Readline's array: what all have in common, then each, then NULL. */
static char **to_array(const dl_candidates *c, const char *line, size_t word, size_t start) {
  char **out = calloc((size_t)c->n + 2, sizeof *out);
  if (!out) return NULL;
  int n = 0;
  for (int i = 0; i < c->n; i++)
    if ((out[n + 1] = fitted(line, word, start, c->v[i].text)) != NULL) n++;
  if (!n) return free(out), NULL;
  size_t same = strlen(out[1]);
  for (int i = 2; i <= n; i++) {
    size_t k = common(out[1], out[i]);
    if (k < same) same = k;
  }
  out[0] = strndup(out[1], same);
  if (out[0]) return out;
  for (int i = 1; i <= n; i++) free(out[i]);
  return free(out), NULL;
}

static int ending(const dl_candidates *c) {
  if (c->n != 1) return 0;
  if (!strcmp(c->v[0].kind, "parameter")) return '=';
  return !strcmp(c->v[0].kind, "word") ? ' ' : 0;
}

static char **complete(const char *word, int begin, int end) {
  dl_candidates c;
  size_t shift;
  (void)word;
  *rl.over = 1; /* no file names of Readline's own */
  char *text = whole_text(end, &shift);
  if (!text) return NULL;
  dl_session_complete(text, shift + (size_t)end, &c);
  char **out = NULL;
  if (c.n && c.start >= shift) out = to_array(&c, *rl.line, (size_t)begin, c.start - shift);
  *rl.append = ending(&c);
  dl_candidates_free(&c);
  free(text);
  return out;
}

void dl_tab_open(void *lib) {
  static const struct { const char *name; void *slot; } rows[] = {
      {"rl_line_buffer", &rl.line},
      {"rl_completion_append_character", &rl.append},
      {"rl_attempted_completion_over", &rl.over},
      {"rl_completer_word_break_characters", &rl.breaks},
      {"rl_completer_quote_characters", &rl.quotes},
      {"rl_attempted_completion_function", &rl.complete},
      {"rl_variable_bind", &rl.bind}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    void *p = dlsym(lib, rows[i].name);
    if (!p) return;
    memcpy(rows[i].slot, &p, sizeof p);
  }
  *rl.breaks = " \t\n\"'`@$><=;|&{}()[].,:#+-*/^%~?";
  *rl.quotes = NULL;
  rl.bind("completion-query-items", "-1"); /* a list is shown at once: no question, no pages */
  rl.bind("page-completions", "off");
  rl.bind("show-all-if-ambiguous", "on");
  *rl.complete = complete;
}
