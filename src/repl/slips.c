/* slips.c -- what is right Lua and probably not meant
 *
 * For session.c. See slips.h. A condition is looked at from the word that opens it (`if`, `not`, …)
 * over one operand: names, dots, brackets. If the operand ends in a call of a tensor method and no
 * operator follows, the condition is a tensor, which is always true.
 *
 * INVARIANT  Every loop consumes a token.
 * MUST NOT   know Lua states, allocate. */
#include "repl/slips.h"

#include <stdio.h>
#include <string.h>

#include "op/op.h"
#include "repl/lex.h"

/* Methods that texts and files have too, or that answer with a boolean. */
static bool is_shared_name(const char *s, size_t n) {
  static const char *const shared[] = {"equal", "sub", "byte", "char", "find", "close", "size",
                                       "item",  "type", "allclose"};
  for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
    if (strlen(shared[i]) == n && !memcmp(shared[i], s, n)) return true;
  return false;
}

static bool gives_tensor(const char *s, size_t n) {
  if (is_shared_name(s, n)) return false;
  if (n > 1 && s[n - 1] == '_') n--; /* in place */
  for (int i = 0; i < DL_OP_COUNT; i++) {
    const char *t = dl_ops[i].schema_text;
    size_t len = strcspn(t, ".(");
    if (len == n && !memcmp(t, s, n) && strchr(dl_ops[i].where, 'm')) return true;
  }
  return false;
}

static void skip_brackets(dl_lexer *x) {
  int depth = 0;
  do {
    if (dl_lex_is(x, "(") || dl_lex_is(x, "[") || dl_lex_is(x, "{")) depth++;
    if (dl_lex_is(x, ")") || dl_lex_is(x, "]") || dl_lex_is(x, "}")) depth--;
    dl_lex_next(x);
  } while (depth > 0 && x->kind != DL_TOK_END);
}

/* After the operand: does the condition end here, or go on with `and`, `or`? */
static bool is_over(const dl_lexer *x) {
  static const char *const ends[] = {"then", "do", "and", "or", ")", ",", "end", "}", "]"};
  if (x->kind == DL_TOK_END || x->kind == DL_TOK_NAME) return true;
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (dl_lex_is(x, ends[i])) return true;
  return false;
}

/* From the first token of an operand; if it ends in x:method(…), the method's place. */
static bool ends_in_method(dl_lexer x, size_t *at, size_t *n) {
  bool method = false;
  while (dl_lex_is(&x, "not")) dl_lex_next(&x);
  if (dl_lex_is(&x, "(")) skip_brackets(&x);
  else if (x.kind == DL_TOK_NAME) dl_lex_next(&x);
  else return false;
  for (;;) {
    if (dl_lex_is(&x, ":") || dl_lex_is(&x, ".")) {
      bool colon = dl_lex_is(&x, ":");
      dl_lex_next(&x);
      *at = x.at;
      *n = x.n;
      dl_lex_next(&x);
      method = colon;
    } else if (dl_lex_is(&x, "(") || dl_lex_is(&x, "{")) {
      skip_brackets(&x);
      if (!method) *n = 0;
    } else if (dl_lex_is(&x, "[")) {
      skip_brackets(&x);
      method = false;
    } else {
      break;
    }
  }
  return method && *n > 0 && is_over(&x);
}

static bool opens_condition(const dl_lexer *x) {
  static const char *const words[] = {"if", "elseif", "while", "until", "and", "or", "not"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (dl_lex_is(x, words[i])) return true;
  return false;
}

/* The operand before `and` or `or` needs no word in front: `x:any() and 1`. */
static bool opens_statement(const dl_lexer *x, bool first) {
  return first || dl_lex_is(x, "=") || dl_lex_is(x, "return") || dl_lex_is(x, "(") ||
         dl_lex_is(x, ",");
}

static bool joined_by_word(dl_lexer x) {
  int depth = 0;
  for (; x.kind != DL_TOK_END; dl_lex_next(&x)) {
    if (dl_lex_is(&x, "(") || dl_lex_is(&x, "{") || dl_lex_is(&x, "[")) depth++;
    if (dl_lex_is(&x, ")") || dl_lex_is(&x, "}") || dl_lex_is(&x, "]")) depth--;
    if (depth < 0) return false;
    if (depth == 0 && (dl_lex_is(&x, "and") || dl_lex_is(&x, "or"))) return true;
    if (depth == 0 && !(x.kind == DL_TOK_NAME || dl_lex_is(&x, ":") || dl_lex_is(&x, ".") ||
                        dl_lex_is(&x, ")") || dl_lex_is(&x, "}") || dl_lex_is(&x, "]")))
      return false;
  }
  return false;
}

static bool tensor_condition(const char *text, size_t len, char *buf, size_t cap) {
  dl_lexer x;
  size_t at = 0, n = 0;
  bool first = true;
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; first = false) {
    dl_lexer operand = x;
    bool condition = opens_condition(&x), statement = opens_statement(&x, first);
    if (condition || (statement && !first)) dl_lex_next(&operand);
    if (condition || (statement && joined_by_word(operand))) {
      if (ends_in_method(operand, &at, &n) && gives_tensor(text + at, n)) {
        snprintf(buf, cap, "a tensor is always true in Lua, whatever it holds: "
                 "write x:%.*s(…):item()", (int)n, text + at);
        return true;
      }
    }
    dl_lex_next(&x);
  }
  return false;
}

/* [[1, 2], [3, 4]] is a text in Lua. */
static bool list_as_text(const char *text, size_t len, char *buf, size_t cap) {
  dl_lexer x;
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; dl_lex_next(&x)) {
    const char *s = text + x.at;
    if (x.kind != DL_TOK_STRING || x.n < 5 || memcmp(s, "[[", 2) || x.n > 2000) continue;
    size_t digits = 0, other = 0;
    for (size_t i = 2; i + 2 < x.n; i++) {
      if (strchr("0123456789.-+e", s[i])) digits++;
      else if (!strchr("[], \n\t", s[i])) other++;
    }
    if (!digits || other || !memchr(s, ',', x.n)) continue;
    snprintf(buf, cap, "[[…]] is a text in Lua; a list of lists is {{1, 2}, {3, 4}}");
    return true;
  }
  return false;
}

static bool is_field_or_key(const dl_lexer *x, bool after_dot) {
  dl_lexer next = *x;
  dl_lex_next(&next);
  return after_dot || dl_lex_is(&next, "=");
}

static bool foreign_name(const char *text, size_t len, bool (*known)(const char *, size_t),
                         char *buf, size_t cap) {
  static const struct { const char *name, *answer; } rows[] = {
      {"True", "True has no value here: Lua's is true"},
      {"False", "False has no value here: Lua's is false"},
      {"exit", "Ctrl-D, or os.exit(), leaves"},
      {"quit", "Ctrl-D, or os.exit(), leaves"}};
  dl_lexer x;
  bool dot = false;
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; dl_lex_next(&x)) {
    for (size_t i = 0; x.kind == DL_TOK_NAME && i < sizeof rows / sizeof *rows; i++) {
      if (strlen(rows[i].name) != x.n || memcmp(rows[i].name, text + x.at, x.n)) continue;
      if (is_field_or_key(&x, dot) || known(text + x.at, x.n)) continue;
      if (i >= 2 && len > x.n + 4) continue; /* alone on its line */
      snprintf(buf, cap, "%s", rows[i].answer);
      return true;
    }
    dot = dl_lex_is(&x, ".") || dl_lex_is(&x, ":");
  }
  return false;
}

bool dl_slip_find(const char *text, size_t len, bool (*known)(const char *name, size_t n),
                  char *buf, size_t cap) {
  if (len > 20000) len = 20000;
  return tensor_condition(text, len, buf, cap) || list_as_text(text, len, buf, cap) ||
         foreign_name(text, len, known, buf, cap);
}
