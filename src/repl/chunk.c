/* chunk.c -- the top-level statements of a piece of Lua text
 *
 * For locals.c. An expression ends where the next token can neither join two operands nor follow an
 * operand (a call's arguments, an index); Lua's grammar has no other rule, line ends mean nothing.
 *
 * INVARIANT  Every loop consumes a token or stops; nesting is counted, not recursed.
 * MUST NOT   know Lua states, allocate. */
#include "repl/chunk.h"

#include <string.h>

#include "repl/lex.h"

typedef struct scan {
  dl_lexer x;
  size_t end; /* first byte after the last token consumed */
  dl_stat st;
} scan;

static bool at_end(const scan *s) { return s->x.kind == DL_TOK_END; }
static bool is(const scan *s, const char *what) { return dl_lex_is(&s->x, what); }

static void take(scan *s) {
  s->end = s->x.pos;
  dl_lex_next(&s->x);
}

static bool is_any(const scan *s, const char *const *list) {
  for (; *list; list++)
    if (is(s, *list)) return true;
  return false;
}

/* +1 for a word that opens a block, -1 for one that closes it. `while` and `for` open with their
 * `do`, `elseif` and `else` neither open nor close. */
static int block_step(const scan *s) {
  static const char *const open[] = {"do", "if", "function", "repeat", NULL};
  static const char *const close[] = {"end", "until", NULL};
  return is_any(s, open) ? 1 : is_any(s, close) ? -1 : 0;
}

/* From the word that opens a block past the word that closes it. */
static void skip_block(scan *s) {
  int depth = 0;
  do {
    depth += block_step(s);
    take(s);
  } while (depth > 0 && !at_end(s));
}

/* From `while` or `for` up to the `do` of its own (functions in its header have theirs). */
static void skip_header(scan *s) {
  int depth = 0;
  while (!at_end(s) && !(depth == 0 && is(s, "do"))) {
    depth += block_step(s);
    take(s);
  }
}

static void skip_brackets(scan *s) {
  static const char *const open[] = {"(", "[", "{", NULL};
  static const char *const close[] = {")", "]", "}", NULL};
  int depth = 0;
  do {
    depth += is_any(s, open) ? 1 : is_any(s, close) ? -1 : 0;
    take(s);
  } while (depth > 0 && !at_end(s));
}

typedef enum place { WANT, VALUE, PREFIX, DONE } place;
/* WANT    an operand must come
 * VALUE   after an operand that nothing can be applied to (a number, a table, a function)
 * PREFIX  after one that can be called or indexed (a name, brackets, a call) */

static place skip_operand(scan *s) {
  static const char *const unary[] = {"-", "not", "#", "~", NULL};
  static const char *const literal[] = {"nil", "true", "false", "...", NULL};
  if (is(s, "function")) return skip_block(s), VALUE;
  if (is(s, "{")) return skip_brackets(s), VALUE;
  if (is(s, "(")) return skip_brackets(s), PREFIX;
  if (is_any(s, unary)) return take(s), WANT;
  if (s->x.kind == DL_TOK_NAME) return take(s), PREFIX;
  if (s->x.kind == DL_TOK_NUMBER || s->x.kind == DL_TOK_STRING || is_any(s, literal))
    return take(s), VALUE;
  return DONE;
}

static place skip_suffix(scan *s) {
  static const char *const open[] = {"(", "[", "{", NULL};
  if (is_any(s, open)) return skip_brackets(s), PREFIX;
  if (s->x.kind == DL_TOK_STRING) return take(s), PREFIX;
  if (!is(s, ".") && !is(s, ":")) return DONE;
  take(s);
  if (!at_end(s)) take(s); /* the name; a keyword there is Lua's to refuse */
  return PREFIX;
}

/* Expressions joined by operators, commas and, at the top of a statement, `=`.
 * True if an `=` was seen. */
static bool skip_exprs(scan *s) {
  static const char *const binary[] = {"+",  "-",  "*",  "/",  "//", "%",  "^", "&", "|", "~",
                                       "<<", ">>", "..", "==", "~=", "<=", "<", ">", ">=", "and",
                                       "or", ",",  "=",  NULL};
  bool assigns = false;
  for (place p = WANT; p != DONE && !at_end(s);) {
    if (p == WANT) {
      p = skip_operand(s);
      continue;
    }
    if (is_any(s, binary)) {
      assigns = assigns || is(s, "=");
      take(s);
      p = WANT;
    } else {
      p = p == PREFIX ? skip_suffix(s) : DONE;
    }
  }
  return assigns;
}

static void note_name(scan *s) {
  int i = s->st.names;
  if (i == DL_CHUNK_NAMES) return;
  s->st.name[i].at = s->x.at;
  s->st.name[i].n = s->x.n;
  s->st.name[i].fixed = false;
  s->st.names++;
}

/* After the word `local`. */
static void skip_local(scan *s) {
  s->st.kind = DL_STAT_LOCAL;
  if (is(s, "function")) {
    dl_lexer ahead = s->x;
    dl_lex_next(&ahead);
    dl_lexer here = s->x;
    s->x = ahead;
    note_name(s);
    s->x = here;
    skip_block(s);
    return;
  }
  while (s->x.kind == DL_TOK_NAME) {
    note_name(s);
    take(s);
    if (is(s, "<")) {
      s->st.name[s->st.names - 1].fixed = true;
      for (int i = 0; i < 3 && !at_end(s); i++) take(s);
    }
    if (!is(s, ",")) break;
    take(s);
  }
  if (!is(s, "=")) return;
  take(s);
  skip_exprs(s);
}

static void skip_statement(scan *s) {
  static const char *const blocks[] = {"do", "if", "function", NULL};
  if (is(s, "local")) {
    take(s);
    skip_local(s);
  } else if (is(s, "while") || is(s, "for")) {
    skip_header(s);
    skip_block(s);
  } else if (is(s, "repeat")) {
    skip_block(s);
    skip_exprs(s);
  } else if (is_any(s, blocks)) {
    skip_block(s);
  } else if (is(s, "return")) {
    take(s);
    skip_exprs(s);
  } else if (is(s, "goto") || is(s, "::")) {
    for (int n = is(s, "::") ? 3 : 2; n > 0 && !at_end(s); n--) take(s);
  } else {
    size_t before = s->x.at;
    s->st.kind = skip_exprs(s) ? DL_STAT_OTHER : DL_STAT_VALUE;
    if (s->x.at == before) { /* `;`, `break`, or what Lua will refuse */
      s->st.kind = DL_STAT_OTHER;
      take(s);
    }
  }
}

void dl_chunk_scan(const char *text, size_t len, void (*each)(void *ctx, const dl_stat *st),
                   void *ctx) {
  scan s;
  s.end = 0;
  dl_lex_begin(&s.x, text, len);
  while (!at_end(&s)) {
    s.st.kind = DL_STAT_OTHER;
    s.st.names = 0;
    s.st.begin = s.x.at;
    skip_statement(&s);
    s.st.end = s.end;
    if (s.st.end > s.st.begin + 1 || text[s.st.begin] != ';') each(ctx, &s.st);
  }
}
