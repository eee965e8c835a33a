/* lex.c -- Lua's tokens, as far as a prompt needs them
 *
 * For chunk.c. See lex.h.
 *
 * INVARIANT  Every call of dl_lex_next consumes at least one byte or reports DL_TOK_END.
 * MUST NOT   know Lua states, allocate. */
#include "repl/lex.h"

#include <ctype.h>
#include <string.h>

static const char *const keywords[] = {
    "and",   "break",  "do",       "else", "elseif", "end",    "false", "for",
    "in",    "if",     "function", "goto", "local",  "nil",    "not",   "or",
    "until", "repeat", "return",   "then", "true",   "while"};

static const char *const signs[] = {"...", "..", "==", "~=", "<=", ">=", "<<", ">>", "//", "::"};

static int peek(const dl_lexer *x, size_t ahead) {
  return x->pos + ahead < x->len ? (unsigned char)x->text[x->pos + ahead] : -1;
}

/* Level of a long bracket that opens at pos ("[[" is 0, "[=[" is 1), or -1. */
static int long_level(const dl_lexer *x) {
  size_t i = 1;
  if (peek(x, 0) != '[') return -1;
  while (peek(x, i) == '=') i++;
  return peek(x, i) == '[' ? (int)(i - 1) : -1;
}

static void skip_long(dl_lexer *x, int level) {
  x->pos += (size_t)level + 2;
  while (x->pos < x->len) {
    if (x->text[x->pos++] != ']') continue;
    size_t n = 0;
    while (peek(x, n) == '=') n++;
    if ((int)n == level && peek(x, n) == ']') {
      x->pos += n + 1;
      return;
    }
  }
}

static void skip_space(dl_lexer *x) {
  for (;;) {
    while (x->pos < x->len && isspace((unsigned char)x->text[x->pos])) x->pos++;
    if (peek(x, 0) != '-' || peek(x, 1) != '-') return;
    x->pos += 2;
    int level = long_level(x);
    if (level >= 0) skip_long(x, level);
    else
      while (x->pos < x->len && x->text[x->pos] != '\n') x->pos++;
  }
}

static void skip_quoted(dl_lexer *x) {
  char quote = x->text[x->pos++];
  while (x->pos < x->len) {
    char c = x->text[x->pos++];
    if (c == quote || c == '\n') return;
    if (c != '\\' || x->pos >= x->len) continue;
    if (x->text[x->pos++] != 'z') continue;
    while (x->pos < x->len && isspace((unsigned char)x->text[x->pos])) x->pos++;
  }
}

static void skip_number(dl_lexer *x) {
  bool hex = peek(x, 0) == '0' && (peek(x, 1) | 32) == 'x';
  for (x->pos++; x->pos < x->len; x->pos++) {
    int c = peek(x, 0), before = x->text[x->pos - 1] | 32;
    if (isalnum(c) || c == '.' || c == '_') continue;
    if ((c == '+' || c == '-') && before == (hex ? 'p' : 'e')) continue;
    return;
  }
}

static dl_tok name_or_word(dl_lexer *x) {
  while (isalnum(peek(x, 0)) || peek(x, 0) == '_') x->pos++;
  size_t n = x->pos - x->at;
  for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
    if (strlen(keywords[i]) == n && !memcmp(keywords[i], x->text + x->at, n)) return DL_TOK_WORD;
  return DL_TOK_NAME;
}

static void skip_sign(dl_lexer *x) {
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    size_t n = strlen(signs[i]);
    if (x->pos + n > x->len || memcmp(signs[i], x->text + x->pos, n)) continue;
    x->pos += n;
    return;
  }
  x->pos++;
}

static dl_tok read_token(dl_lexer *x) {
  int c = peek(x, 0), level;
  if (c < 0) return DL_TOK_END;
  if (isalpha(c) || c == '_') return name_or_word(x);
  if (isdigit(c) || (c == '.' && isdigit(peek(x, 1)))) return skip_number(x), DL_TOK_NUMBER;
  if (c == '"' || c == '\'') return skip_quoted(x), DL_TOK_STRING;
  if ((level = long_level(x)) >= 0) return skip_long(x, level), DL_TOK_STRING;
  return skip_sign(x), DL_TOK_SIGN;
}

void dl_lex_next(dl_lexer *x) {
  skip_space(x);
  x->at = x->pos;
  x->kind = read_token(x);
  x->n = x->pos - x->at;
}

void dl_lex_begin(dl_lexer *x, const char *text, size_t len) {
  *x = (dl_lexer){.text = text, .len = len};
  dl_lex_next(x);
}

bool dl_lex_is(const dl_lexer *x, const char *what) {
  size_t n = strlen(what);
  return (x->kind == DL_TOK_WORD || x->kind == DL_TOK_SIGN) && x->n == n &&
         !memcmp(x->text + x->at, what, n);
}
