/* past.c -- what was executed: history_request
 *
 * For shell.c and execute.c. This session's cells, numbered as they were; the cells of sessions
 * before stand in the prompt's history, and count as session 1 here, this one as session 2.
 *
 * INVARIANT  Entries are in order, the oldest first; at most PAST_MAX and PAST_BYTES are kept, and
 *            none that is larger than ENTRY_MAX.
 * MUST NOT   know Lua. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/history.h"
#include "repl/trace.h"
#include "shell.h"

enum { PAST_MAX = 5000, PAST_BYTES = 16 << 20, ENTRY_MAX = 256 << 10, OUTPUT_MAX = 4096 };
enum { BEFORE = 1, NOW = 2 }; /* sessions */

typedef struct entry {
  int session, line;
  char *code, *output; /* output NULL: none */
} entry;

static struct {
  entry *v;
  int n, cap;
  size_t bytes;
  bool read;   /* the file of sessions before */
} past;

static void forget(entry *e) {
  free(e->code);
  free(e->output);
}

static void drop_oldest(void) {
  past.bytes -= strlen(past.v[0].code);
  forget(&past.v[0]);
  memmove(past.v, past.v + 1, sizeof *past.v * (size_t)(--past.n));
}

static void keep(int session, int line, const char *code, size_t len) {
  if (len > ENTRY_MAX) return;
  while (past.n && (past.n == PAST_MAX || past.bytes + len > PAST_BYTES)) drop_oldest();
  if (past.n == past.cap) {
    int cap = past.cap ? 2 * past.cap : 64;
    entry *v = realloc(past.v, sizeof *v * (size_t)cap);
    if (!v) return;
    past.v = v;
    past.cap = cap;
  }
  char *copy = malloc(len + 1);
  if (!copy) return;
  memcpy(copy, code, len);
  copy[len] = 0;
  past.v[past.n++] = (entry){session, line, copy, NULL};
  past.bytes += strlen(copy);
}

static int lines_before;
static void keep_before(const char *text) { keep(BEFORE, ++lines_before, text, strlen(text)); }

/* The file is read when it is first needed; what this session kept comes after it. */
static void read_file(void) {
  if (past.read) return;
  past.read = true;
  int n = past.n;
  entry *mine = past.v;
  past.v = NULL;
  past.n = past.cap = 0;
  past.bytes = 0;
  dl_history_open(keep_before);
  for (int i = 0; i < n; i++) {
    int had = past.n;
    keep(NOW, mine[i].line, mine[i].code, strlen(mine[i].code));
    if (past.n > had) {
      past.v[past.n - 1].output = mine[i].output;
      mine[i].output = NULL;
    }
    forget(&mine[i]);
  }
  free(mine);
}

void dl_past_add(int line, const char *code, size_t len, bool typed) {
  if (typed) read_file();
  keep(NOW, line, code, len);
  if (typed && len <= ENTRY_MAX && !memchr(code, 0, len)) dl_history_add(code);
}

void dl_past_output(int line, const char *text, size_t len) {
  entry *e = past.n ? &past.v[past.n - 1] : NULL;
  if (!e || e->session != NOW || e->line != line) return;
  free(e->output);
  e->output = strndup(text, len < OUTPUT_MAX ? len : OUTPUT_MAX);
}

/* The text of a cell by its chunk name, "=In[3]"; NULL if it is not kept. */
static const char *text_of(const char *source) {
  int line;
  if (sscanf(source, "=In[%d]", &line) != 1) return NULL;
  for (int i = past.n - 1; i >= 0 && past.v[i].session == NOW; i--)
    if (past.v[i].line == line) return past.v[i].code;
  return NULL;
}

void dl_past_open(void) { dl_trace_text = text_of; }

/* ---- the request --------------------------------------------------------------------------- */

typedef struct query {
  bool output, raw, unique;
  const char *pattern;
  long long session, start, stop; /* of a range; stop is exclusive */
} query;

static bool fits(const query *q, const entry *e) {
  if (q->pattern) return fnmatch(q->pattern, e->code, 0) == 0;
  return e->session == q->session && e->line >= q->start && e->line < q->stop;
}

/* Does a later entry have the same text? Then this one is not told where each counts once. */
static bool comes_again(const query *q, int i) {
  for (int k = i + 1; k < past.n; k++)
    if (!strcmp(past.v[k].code, past.v[i].code) && fits(q, &past.v[k])) return true;
  return false;
}

static void add_entry(dl_buf *b, const query *q, const entry *e, bool first) {
  dl_buf_form(b, "%s[%d,%d,", first ? "" : ",", e->session, e->line);
  if (q->output) dl_buf_text(b, "[");
  dl_json_text(b, e->code);
  if (q->output) {
    dl_buf_text(b, ",");
    if (e->output) dl_json_text(b, e->output);
    else dl_buf_text(b, "null");
    dl_buf_text(b, "]");
  }
  dl_buf_text(b, "]");
}

/* All that fit, but no more than the last n (n < 0: all). */
static void add_fitting(dl_buf *b, const query *q, long long n) {
  bool *told = calloc((size_t)past.n + 1, sizeof *told), first = true;
  if (!told) return;
  for (int i = past.n - 1; i >= 0 && n != 0; i--) {
    if (!fits(q, &past.v[i]) || (q->unique && comes_again(q, i))) continue;
    told[i] = true;
    n--;
  }
  for (int i = 0; i < past.n; i++) {
    if (!told[i]) continue;
    add_entry(b, q, &past.v[i], first);
    first = false;
  }
  free(told);
}

dl_packet *dl_history(const dl_request *r) {
  const char *how = dl_request_text(r, "hist_access_type", NULL);
  query q = {.output = dl_request_flag(r, "output", false),
             .unique = dl_request_flag(r, "unique", false)};
  long long n = -1;
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  read_file();
  if (how && !strcmp(how, "range")) {
    q.session = dl_request_int(r, "session", 0);
    if (q.session <= 0) q.session += NOW;
    q.start = dl_request_int(r, "start", 0);
    q.stop = dl_request_int(r, "stop", 1LL << 31);
  } else {
    q.pattern = how && !strcmp(how, "search") ? dl_request_text(r, "pattern", NULL) : NULL;
    if (!q.pattern) q.pattern = "*";
    n = dl_request_int(r, "n", how && !strcmp(how, "tail") ? 10 : -1);
  }
  dl_buf_text(&p->text, "{\"status\":\"ok\",\"history\":[");
  add_fitting(&p->text, &q, n);
  dl_buf_text(&p->text, "]}");
  return p;
}
