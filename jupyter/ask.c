/* ask.c -- questions about code: complete, inspect, is_complete
 *
 * For shell.c. The session answers, as it answers the prompt. Positions on the wire count code
 * points, here they are bytes.
 *
 * INVARIANT  No position of a client is used before it is brought into the text.
 * MUST NOT   run code of the user's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/lex.h"
#include "shell.h"

enum { INDENT = 2, INDENT_MAX = 40, SIGNATURES = 60, COLUMNS = 80 };

/* The text and the cursor of a request; false if there is none. */
static bool read_place(const dl_request *r, const char **code, size_t *len, size_t *cursor) {
  *code = dl_request_text(r, "code", len);
  if (!*code) return false;
  long long points = dl_request_int(r, "cursor_pos", (long long)*len);
  *cursor = dl_utf8_offset(*code, *len, points);
  return true;
}

static dl_packet *refuse(const dl_request *r) {
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_buf_text(&p->text, "{");
  dl_refusal_json(&p->text, "BadRequest", "the request has no text in `code`");
  dl_buf_text(&p->text, "}");
  return p;
}

/* ---- completion -------------------------------------------------------------------------- */

/* What the help knows, "(int seed) -> Generator", as the value of "signature". */
static void add_signature(dl_buf *b, const char *code, size_t start, const char *candidate) {
  dl_buf text = {0};
  dl_buf_add(&text, code, start);
  dl_buf_text(&text, candidate);
  char *help = text.bad ? NULL : dl_session_inspect(text.s, text.n, 0, 200);
  const char *line = help ? strstr(help, "\nsignature") : NULL;
  size_t n = line ? strcspn(line + 1, "\n") + 1 : 0;
  const char *open = line ? memchr(line, '(', n) : NULL;
  if (open) {
    dl_buf_text(b, ",\"signature\":");
    dl_json_string(b, open, n - (size_t)(open - line));
  }
  free(help);
  dl_buf_free(&text);
}

/* Names of kinds as the frontends have icons for them. */
static const char *icon(const char *kind) {
  static const char *const pair[][2] = {{"method", "function"}, {"word", "keyword"},
                                        {"parameter", "param"}, {"local", "instance"},
                                        {"field", "property"}, {"command", "magic"},
                                        {"file", "path"}, {"folder", "path"}};
  for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
    if (!strcmp(kind, pair[i][0])) return pair[i][1];
  return kind;
}

static void add_types(dl_buf *b, const dl_candidates *c, const char *code, size_t start,
                      size_t end) {
  for (int i = 0; i < c->n; i++) {
    const char *kind = c->v[i].kind;
    dl_buf_text(b, i ? ",{\"text\":" : "{\"text\":");
    dl_json_text(b, c->v[i].text);
    dl_buf_text(b, ",\"type\":");
    dl_json_text(b, icon(kind));
    dl_buf_form(b, ",\"start\":%zu,\"end\":%zu", start, end);
    if (c->n <= SIGNATURES && (!strcmp(kind, "function") || !strcmp(kind, "method") ||
                               !strcmp(kind, "class")))
      add_signature(b, code, c->start, c->v[i].text);
    dl_buf_text(b, "}");
  }
}

dl_packet *dl_complete(const dl_request *r) {
  const char *code;
  size_t len, cursor;
  dl_candidates c;
  if (!read_place(r, &code, &len, &cursor)) return refuse(r);
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_session_complete(code, cursor, &c);
  size_t start = dl_utf8_count(code, c.start), end = dl_utf8_count(code, cursor);
  dl_buf *b = &p->text;
  dl_buf_text(b, "{\"status\":\"ok\",\"matches\":[");
  for (int i = 0; i < c.n; i++) {
    if (i) dl_buf_text(b, ",");
    dl_json_text(b, c.v[i].text);
  }
  dl_buf_form(b, "],\"cursor_start\":%zu,\"cursor_end\":%zu,\"metadata\":{"
              "\"_jupyter_types_experimental\":[", start, end);
  add_types(b, &c, code, start, end);
  dl_buf_text(b, "]}}");
  dl_candidates_free(&c);
  return p;
}

/* ---- help -------------------------------------------------------------------------------- */

dl_packet *dl_inspect(const dl_request *r) {
  const char *code;
  size_t len, cursor;
  if (!read_place(r, &code, &len, &cursor)) return refuse(r);
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  int detail = dl_request_int(r, "detail_level", 0) > 0;
  char *text = dl_session_inspect(code, cursor, detail, COLUMNS);
  dl_buf_form(&p->text, "{\"status\":\"ok\",\"found\":%s,\"metadata\":{},\"data\":{",
              text ? "true" : "false");
  if (text) {
    dl_buf_text(&p->text, "\"text/plain\":");
    dl_json_text(&p->text, text);
  }
  dl_buf_text(&p->text, "}}");
  free(text);
  return p;
}

/* ---- is it complete? ----------------------------------------------------------------------- */

/* Blocks and brackets that are open at the end of the text. */
static int open_depth(const char *code, size_t len) {
  static const char *const open[] = {"do", "function", "repeat", "then", "(", "{", "["};
  static const char *const close[] = {"end", "until", "elseif", ")", "}", "]"};
  int depth = 0;
  dl_lexer x;
  for (dl_lex_begin(&x, code, len); x.kind != DL_TOK_END; dl_lex_next(&x)) {
    for (size_t i = 0; i < sizeof open / sizeof *open; i++) depth += dl_lex_is(&x, open[i]);
    for (size_t i = 0; i < sizeof close / sizeof *close; i++) depth -= dl_lex_is(&x, close[i]);
  }
  return depth;
}

dl_packet *dl_is_complete(const dl_request *r) {
  size_t len;
  const char *code = dl_request_text(r, "code", &len);
  if (!code) return refuse(r);
  dl_packet *p = dl_packet_reply(r, NULL);
  if (!p) return NULL;
  dl_text how = dl_session_check(code, len, "=cell");
  if (how == DL_TEXT_UNFINISHED) {
    int n = INDENT * open_depth(code, len);
    n = n < 0 ? 0 : n > INDENT_MAX ? INDENT_MAX : n;
    dl_buf_form(&p->text, "{\"status\":\"incomplete\",\"indent\":\"%*s\"}", n, "");
  } else {
    dl_buf_form(&p->text, "{\"status\":\"%s\"}",
                how == DL_TEXT_COMPLETE ? "complete" : "invalid");
  }
  return p;
}
