/* lex.h -- Lua's tokens, as far as a prompt needs them
 *
 * For chunk.c (top-level locals) and session.c (is the input finished?). Works on text that Lua's
 * own compiler judges afterwards, so an odd byte is simply a token of one byte.
 *
 * INVARIANT  Tokens tile the text in order; never reads past `len`.
 * MUST NOT   know Lua states, allocate. */
#ifndef DL_REPL_LEX_H
#define DL_REPL_LEX_H

#include <stdbool.h>
#include <stddef.h>

typedef enum dl_tok {
  DL_TOK_END,     /* end of text */
  DL_TOK_NAME,    /* identifier that is no keyword */
  DL_TOK_WORD,    /* keyword */
  DL_TOK_NUMBER,
  DL_TOK_STRING,  /* quoted or long */
  DL_TOK_SIGN     /* operator or punctuation, the longest that fits */
} dl_tok;

typedef struct dl_lexer {
  const char *text;
  size_t len, pos;          /* pos: first byte after the current token */
  size_t at, n;             /* the current token: text[at .. at+n) */
  dl_tok kind;
} dl_lexer;

void dl_lex_begin(dl_lexer *x, const char *text, size_t len); /* reads the first token */
void dl_lex_next(dl_lexer *x);
/* Is the current token exactly this keyword or sign? */
bool dl_lex_is(const dl_lexer *x, const char *what);

#endif
