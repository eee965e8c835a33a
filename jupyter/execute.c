/* execute.c -- execute_request: a cell
 *
 * For shell.c. The cell runs as a line of the prompt does; what differs is where its value, its
 * output and its failure go.
 *
 * INVARIANT  One reply a request. The count goes up for cells that the history keeps, and for no
 *            others. The error on iopub is the reply's, but for the notes, which follow it folded.
 * MUST NOT   run Lua except through the session. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "mime.h"
#include "repl/magic.h"
#include "shell.h"

enum { CODE_MAX = 16 << 20 };

static int count;
static dl_buf pages; /* what help and other long texts showed, for the payload */

int dl_execution_count(void) { return count; }

/* ---- failures ---------------------------------------------------------------------------- */

/* The class before the first colon of a failure's text: "RuntimeError"; its length, 0 if none. */
static size_t class_length(const char *text) {
  size_t n = 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_' || text[n] == '.') n++;
  bool ends = text[n] == ':' || !text[n] || text[n] == '\n';
  return ends && isupper((unsigned char)*text) ? n : 0;
}

static void add_lines(dl_buf *b, const char *text, const char *colour) {
  while (*text) {
    size_t n = strcspn(text, "\n");
    dl_buf line = {0};
    dl_buf_form(&line, "\033[%sm", colour);
    dl_buf_add(&line, text, n);
    dl_buf_text(&line, "\033[0m");
    dl_buf_text(b, ",");
    dl_json_string(b, line.s, line.n);
    dl_buf_free(&line);
    text += n + (text[n] == '\n');
  }
}

/* Lua says where it stopped; whether it did so before running anything, the compiler knows. */
static const char *other_class(const dl_outcome *o, const char *code, size_t len) {
  if (o->how == DL_ENDED_UNFINISHED) return "SyntaxError";
  if (*o->trace) return "Error";
  return dl_session_check(code, len, "=cell") == DL_TEXT_COMPLETE ? "Error" : "SyntaxError";
}

void dl_error_json(dl_buf *b, const dl_outcome *o, const char *code, size_t len, bool notes) {
  const char *text = o->error;
  size_t n = class_length(text), first = strcspn(text, "\n");
  const char *other = n ? "" : other_class(o, code, len), *value = text + n;
  size_t value_n = first - n;
  if (n && *value == ':') value++, value_n--;
  while (value_n && *value == ' ') value++, value_n--;
  dl_buf_text(b, "\"ename\":");
  if (n) dl_json_string(b, text, n);
  else dl_json_text(b, other);
  dl_buf_text(b, ",\"evalue\":");
  dl_json_string(b, value, value_n);
  dl_buf line = {0};
  dl_buf_text(&line, "\033[1;31m");
  if (n) dl_buf_add(&line, text, n);
  else dl_buf_text(&line, other);
  dl_buf_text(&line, "\033[0m");
  if (value_n) dl_buf_text(&line, ": ");
  dl_buf_add(&line, value, value_n);
  dl_buf_text(b, ",\"traceback\":[");
  dl_json_string(b, line.s, line.n);
  dl_buf_free(&line);
  if (text[first] && notes) add_lines(b, text + first + 1, "36");
  add_lines(b, o->trace, "2");
  dl_buf_text(b, "]");
}

void dl_refusal_json(dl_buf *b, const char *ename, const char *evalue) {
  dl_buf_form(b, "\"status\":\"error\",\"ename\":\"%s\",\"evalue\":", ename);
  dl_json_text(b, evalue);
  dl_buf_text(b, ",\"traceback\":[");
  dl_json_text(b, evalue);
  dl_buf_text(b, "]");
}

/* ---- what a cell leaves ---------------------------------------------------------------------- */

static bool has_reader; /* of pages: somebody sits at this client */

/* Long text that the prompt would show screen by screen: it goes into a pane of its own, or, where
 * a program runs the notebook, under the cell. */
static void keep_page(const char *text, size_t len) {
  if (!has_reader) {
    fwrite(text, 1, len, stdout);
    return;
  }
  if (pages.n) dl_buf_text(&pages, "\n");
  dl_buf_add(&pages, text, len);
}

static void add_payload(dl_buf *b) {
  char *next = dl_magic_take_next();
  dl_buf_text(b, "\"payload\":[");
  if (pages.n) {
    dl_buf_text(b, "{\"source\":\"page\",\"start\":0,\"data\":{\"text/plain\":");
    dl_json_string(b, pages.s, pages.n);
    dl_buf_text(b, "}}");
  }
  if (next) {
    if (pages.n) dl_buf_text(b, ",");
    dl_buf_text(b, "{\"source\":\"set_next_input\",\"replace\":false,\"text\":");
    dl_json_text(b, next);
    dl_buf_text(b, "}");
  }
  dl_buf_text(b, "]");
  free(next);
  dl_buf_free(&pages);
}

/* The value of an expression, or its failure, as one entry of user_expressions. */
static void add_expression(dl_buf *b, const char *code, size_t len) {
  dl_outcome o;
  dl_slice data, metadata;
  dl_session_line(code, len, "=expression", &o);
  bool fine = o.how == DL_ENDED_OK;
  if (fine) fine = dl_mime_values(o.n, &o, &data, &metadata);
  if (fine) {
    dl_buf_text(b, "{\"status\":\"ok\",\"data\":");
    dl_buf_add(b, data.s, data.n);
    dl_buf_text(b, ",\"metadata\":");
    dl_buf_add(b, metadata.s, metadata.n);
  } else {
    dl_buf_text(b, "{\"status\":\"error\",");
    dl_error_json(b, &o, code, len, true);
  }
  dl_buf_text(b, "}");
}

static void add_expressions(dl_buf *b, const json_t *list) {
  const char *key;
  json_t *code;
  bool first = true;
  dl_buf_text(b, "\"user_expressions\":{");
  json_object_foreach((json_t *)list, key, code) {
    if (!first) dl_buf_text(b, ",");
    first = false;
    dl_json_text(b, key);
    dl_buf_text(b, ":");
    const char *s = json_string_value(code);
    add_expression(b, s ? s : "", json_string_length(code));
  }
  dl_buf_text(b, "}");
}

/* ---- the cell ------------------------------------------------------------------------------ */

typedef struct cell {
  const char *code;
  size_t len;
  bool silent, store, stop;
} cell;

static void publish_input(const cell *c) {
  dl_packet *p = dl_publish_new("execute_input", NULL);
  if (!p) return;
  dl_buf_text(&p->text, "{\"code\":");
  dl_json_string(&p->text, c->code, c->len);
  dl_buf_form(&p->text, ",\"execution_count\":%d}", count);
  dl_iopub_push(p, DL_MUST);
}

static void publish_value(dl_slice data, dl_slice metadata) {
  dl_packet *p = dl_publish_new("execute_result", NULL);
  dl_capture_sync();
  if (!p) return;
  dl_buf_form(&p->text, "{\"execution_count\":%d,\"data\":", count);
  dl_buf_add(&p->text, data.s, data.n);
  dl_buf_text(&p->text, ",\"metadata\":");
  dl_buf_add(&p->text, metadata.s, metadata.n);
  dl_buf_text(&p->text, "}");
  dl_iopub_push(p, DL_MAY);
}

/* Words on what was not asked for: a mode that was left on, a probable slip. */
static void tell_notes(const dl_outcome *o) {
  dl_outcome notes = *o;
  notes.how = DL_ENDED_OK;
  dl_session_report(&notes);
}

/* Run it and publish its value; true if all is well. */
static bool run(const cell *c, dl_outcome *o) {
  char name[40];
  dl_slice data, metadata;
  snprintf(name, sizeof name, "=In[%d]", count);
  dl_session_line(c->code, c->len, name, o);
  tell_notes(o);
  if (o->how != DL_ENDED_OK) return false;
  if (o->n == 0) return true;
  if (c->silent) {
    lua_settop(dl_session_state(), -o->n - 1);
    return true;
  }
  if (!dl_mime_values(o->n, o, &data, &metadata)) return false;
  publish_value(data, metadata);
  if (c->store) {
    dl_slice plain = dl_mime_plain();
    dl_past_output(count, plain.s, plain.n);
  }
  return true;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The lines of ours below the error, folded: a display of its own. */
static void publish_notes(dl_slice notes) {
  dl_packet *p = notes.n ? dl_publish_new("display_data", NULL) : NULL;
  if (!p) return;
  dl_buf_text(&p->text, "{\"data\":");
  dl_buf_add(&p->text, notes.s, notes.n);
  dl_buf_text(&p->text, ",\"metadata\":{},\"transient\":{}}");
  dl_iopub_push(p, DL_MAY);
}

/* On iopub: the traceback, and the notes where they can be folded. */
static void publish_error(const cell *c, const dl_outcome *o) {
  dl_slice notes = {NULL, 0};
  if (!c->silent && strchr(o->error, '\n')) notes = dl_mime_notes(o->error);
  dl_capture_sync();
  dl_packet *p = dl_publish_new("error", NULL);
  if (p) {
    dl_buf_text(&p->text, "{");
    dl_error_json(&p->text, o, c->code, c->len, notes.n == 0);
    dl_buf_text(&p->text, "}");
    dl_iopub_push(p, DL_MUST);
  }
  publish_notes(notes);
}

/* On iopub, in the reply, and for the requests behind it. */
static dl_packet *fail(const dl_request *r, const cell *c, const dl_outcome *from, double began) {
  dl_outcome o = *from;
  double took = o.how == DL_ENDED_INTERRUPT ? 1 : seconds() - began;
  char *text = strdup(o.error), *trace = strdup(o.trace); /* they live until the next run */
  o.error = text ? text : "";
  o.trace = trace ? trace : "";
  publish_error(c, &o);
  if (c->stop) dl_shell_abort(took);
  dl_packet *p = dl_packet_reply(r, NULL);
  if (p) {
    dl_buf_form(&p->text, "{\"status\":\"error\",\"execution_count\":%d,", count);
    dl_error_json(&p->text, &o, c->code, c->len, true);
    dl_buf_text(&p->text, ",");
    add_payload(&p->text);
    dl_buf_text(&p->text, ",\"user_expressions\":{}}");
  }
  free(text);
  free(trace);
  return p;
}

static dl_packet *succeed(const dl_request *r) {
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_buf_form(&p->text, "{\"status\":\"ok\",\"execution_count\":%d,", count);
  add_expressions(&p->text, json_object_get(r->body, "user_expressions"));
  dl_buf_text(&p->text, ",");
  add_payload(&p->text);
  dl_buf_text(&p->text, "}");
  return p;
}

static bool is_blank(const cell *c) {
  for (size_t i = 0; i < c->len; i++)
    if (!isspace((unsigned char)c->code[i])) return false;
  return true;
}

dl_packet *dl_execute(const dl_request *r) {
  cell c;
  dl_outcome o = {.error = "", .trace = ""};
  c.code = dl_request_text(r, "code", &c.len);
  c.silent = dl_request_flag(r, "silent", false);
  c.store = dl_request_flag(r, "store_history", !c.silent) && !c.silent;
  c.stop = dl_request_flag(r, "stop_on_error", true);
  if (!c.code) c.code = "";
  dl_capture_parent(r->header);
  bool typed = dl_request_flag(r, "allow_stdin", false); /* no program can be asked */
  dl_session_print = keep_page;
  has_reader = typed;
  if (c.store && !is_blank(&c)) dl_past_add(++count, c.code, c.len, typed);
  if (!c.silent) publish_input(&c);
  dl_input_allow(r);
  double began = seconds();
  bool fine = true;
  if (c.len > CODE_MAX) {
    o.how = DL_ENDED_ERROR;
    o.error = "ValueError: a cell of more than 16 MiB is not run";
    fine = false;
  } else if (!is_blank(&c)) {
    fine = run(&c, &o);
    dl_magic_note_line(c.code, c.len);
  }
  dl_packet *reply = fine ? succeed(r) : fail(r, &c, &o, began);
  dl_input_allow(NULL);
  return reply;
}
