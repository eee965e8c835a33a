/* pytorch.c -- the PyTorch spelling of Lua text
 *
 * For magic.c. See pytorch.h. Tokens are written one after the other, each turned round by what
 * stands beside it; statements are cut by chunk.c.
 *
 * INVARIANT  A range [i, j) of tokens is written whole; nesting deeper than MAX_DEPTH is left out.
 * MUST NOT   know Lua states. */
#include "repl/pytorch.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/chunk.h"
#include "repl/lex.h"

enum { MAX_DEPTH = 60 };

typedef struct token { size_t at, n; dl_tok kind; } token;

typedef struct py {
  const char *text;
  token *t;
  int n;
  FILE *f;
  int indent, depth;
  bool fresh;  /* the current line is still empty */
} py;

static void block(py *p, int i, int j);
static void expr(py *p, int i, int j);

/* ---- tokens ------------------------------------------------------------------------------ */

static bool is(const py *p, int i, const char *what) {
  if (i < 0 || i >= p->n || p->t[i].kind == DL_TOK_STRING) return false;
  return p->t[i].n == strlen(what) && !memcmp(p->text + p->t[i].at, what, p->t[i].n);
}

static bool is_name(const py *p, int i) {
  return i >= 0 && i < p->n && p->t[i].kind == DL_TOK_NAME;
}

static bool is_string(const py *p, int i) {
  return i >= 0 && i < p->n && p->t[i].kind == DL_TOK_STRING;
}

/* Does an operand end at token i, so that what follows is a call, an index or an operator? */
static bool is_operand(const py *p, int i, int from) {
  return i >= from && (is_name(p, i) || is(p, i, ")") || is(p, i, "]") || is(p, i, "}") ||
                       is_string(p, i));
}

static int step(const py *p, int i) {
  static const char *const open[] = {"(", "[", "{", "do", "if", "function", "repeat"};
  static const char *const close[] = {")", "]", "}", "end", "until"};
  for (size_t k = 0; k < sizeof open / sizeof *open; k++)
    if (is(p, i, open[k])) return 1;
  for (size_t k = 0; k < sizeof close / sizeof *close; k++)
    if (is(p, i, close[k])) return -1;
  return 0;
}

/* The first token from i on that is one of the words and not nested; j if there is none. */
static int find(const py *p, int i, int j, const char *a, const char *b, const char *c) {
  for (int depth = 0; i < j; i++) {
    if (depth == 0 && (is(p, i, a) || (b && is(p, i, b)) || (c && is(p, i, c)))) return i;
    depth += step(p, i);
  }
  return j;
}

/* The token that closes what token i opens; j if none does. */
static int closing(const py *p, int i, int j) {
  for (int depth = 0; i < j; i++)
    if ((depth += step(p, i)) == 0) return i;
  return j;
}

static void newline(py *p) {
  if (!p->fresh) fputc('\n', p->f);
  p->fresh = true;
}

static void put(py *p, const char *s) {
  if (p->fresh) fprintf(p->f, "%*s", 4 * p->indent, "");
  p->fresh = false;
  fputs(s, p->f);
}

static void put_bytes(py *p, const char *s, size_t n) {
  put(p, "");
  fwrite(s, 1, n, p->f);
}

/* What stands between two tokens: blanks stay, comments change their sign. */
static void put_gap(py *p, int i) {
  size_t from = p->t[i - 1].at + p->t[i - 1].n, to = p->t[i].at;
  const char *s = p->text + from;
  if (memmem(s, to - from, "--", 2)) put(p, " ");
  else put_bytes(p, s, to - from);
}

/* Repeat, End, …: the capital form of a word of Lua. */
static bool is_capital_word(const char *s, size_t n) {
  static const char *const words[] = {"Repeat", "End", "Not", "And", "Or", "In", "If", "For"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strlen(words[i]) == n && !memcmp(words[i], s, n)) return true;
  return false;
}

static void put_word(py *p, int i) {
  static const char *const pairs[][2] = {
      {"nil", "None"},     {"true", "True"},  {"false", "False"}, {"tostring", "str"},
      {"tonumber", "float"}, {"~=", "!="},    {"^", "**"},        {"..", "+"}};
  const char *s = p->text + p->t[i].at;
  size_t n = p->t[i].n;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    if (is(p, i, pairs[k][0])) return put(p, pairs[k][1]);
  bool member = is(p, i - 1, ".") || is(p, i - 1, ":") || is(p, i + 1, "=");
  if (member && is_capital_word(s, n)) {
    char low[2] = {(char)tolower((unsigned char)*s), 0};
    put(p, low);
    put_bytes(p, s + 1, n - 1);
  } else if (is_string(p, i) && *s == '[') {
    size_t skip = strcspn(s + 1, "[") + 2;
    put(p, "\"\"\"");
    if (n > 2 * skip) put_bytes(p, s + skip, n - 2 * skip);
    put(p, "\"\"\"");
  } else {
    put_bytes(p, s, n);
  }
}

/* ---- expressions ------------------------------------------------------------------------- */

static bool is_keyed(const py *p, int i) { return is_name(p, i) && is(p, i + 1, "="); }

/* The entries of a table, as `name=value`. */
static void keywords(py *p, int i, int j) {
  for (int end; i < j; i = end + 1) {
    end = find(p, i, j, ",", ";", NULL);
    put_word(p, i);
    put(p, "=");
    expr(p, i + 2, end);
    if (end + 1 < j) put(p, ", ");
  }
}

static void dict(py *p, int i, int j) {
  put(p, "{");
  for (int end, nth = 0; i < j; i = end + 1) {
    end = find(p, i, j, ",", ";", NULL);
    if (is_keyed(p, i)) {
      put(p, "\"");
      put_word(p, i);
      put(p, "\": ");
      expr(p, i + 2, end);
    } else if (is(p, i, "[")) {
      int close = closing(p, i, end);
      expr(p, i + 1, close);
      put(p, ": ");
      expr(p, close + 2, end);
    } else {
      char number[24];
      snprintf(number, sizeof number, "%d: ", nth++);
      put(p, number);
      expr(p, i, end);
    }
    if (end + 1 < j) put(p, ", ");
  }
  put(p, "}");
}

/* The inside of a table constructor. */
static void table(py *p, int i, int j) {
  bool keyed = false;
  for (int k = i; k < j; k = find(p, k, j, ",", ";", NULL) + 1)
    keyed = keyed || is_keyed(p, k) || (is(p, k, "[") && is(p, closing(p, k, j) + 1, "="));
  if (keyed) return dict(p, i, j);
  put(p, "[");
  expr(p, i, j);
  put(p, "]");
}

/* The inside of a call's brackets. */
static void arguments(py *p, int i, int j) {
  put(p, "(");
  for (int end; i < j; i = end + 1) {
    end = find(p, i, j, ",", NULL, NULL);
    if (end == j && is(p, i, "{") && is_keyed(p, i + 1)) keywords(p, i + 1, end - 1);
    else expr(p, i, end);
    if (end < j) put(p, ", ");
  }
  put(p, ")");
}

/* x["1:3, 0"], x[{i, j}], x[i] */
static void subscript(py *p, int i, int j) {
  const char *s = i < j ? p->text + p->t[i].at : "";
  put(p, "[");
  if (j == i + 1 && is_string(p, i) && (*s == '"' || *s == '\'') && p->t[i].n > 2 &&
      !(isalpha((unsigned char)s[1]) && s[1] != 'N'))
    put_bytes(p, s + 1, p->t[i].n - 2);
  else if (is(p, i, "{") && closing(p, i, j) == j - 1) expr(p, i + 1, j - 1);
  else expr(p, i, j);
  put(p, "]");
}

/* After `#`: the end of the operand it counts. */
static int operand_end(const py *p, int i, int j) {
  if (step(p, i) > 0) i = closing(p, i, j);
  for (i++; i < j;) {
    if (is(p, i, ".") || is(p, i, ":")) i += 2;
    else if (is(p, i, "(") || is(p, i, "[") || is(p, i, "{")) i = closing(p, i, j) + 1;
    else break;
  }
  return i < j ? i : j;
}

/* function(a) return e end */
static void lambda(py *p, int i, int end) {
  int args = closing(p, i + 1, end);
  put(p, args > i + 2 ? "lambda " : "lambda");
  expr(p, i + 2, args);
  put(p, ": ");
  if (is(p, args + 1, "return")) expr(p, args + 2, end);
  else put(p, "...");
}

/* One token, or a bracket with what it holds; the next one. `from`: where the expression began. */
static int piece(py *p, int i, int j, int from) {
  bool after = is_operand(p, i - 1, from);
  int close = step(p, i) > 0 ? closing(p, i, j) : i;
  if (is(p, i, "(")) {
    if (after) return arguments(p, i + 1, close), close + 1;
    put(p, "(");
    expr(p, i + 1, close);
    return put(p, ")"), close + 1;
  }
  if (is(p, i, "{")) {
    if (after) return arguments(p, i, close + 1), close + 1;
    return table(p, i + 1, close), close + 1;
  }
  if (is(p, i, "[")) return subscript(p, i + 1, close), close + 1;
  if (is(p, i, "function")) return lambda(p, i, close), close + 1;
  if (is(p, i, "#")) {
    int end = operand_end(p, i + 1, j);
    put(p, "len(");
    expr(p, i + 1, end);
    return put(p, ")"), end;
  }
  if (is(p, i, ":")) return put(p, "."), i + 1;
  if (is(p, i, "~") && after) return put(p, "^"), i + 1;
  if (is_string(p, i) && after) return arguments(p, i, i + 1), i + 1;
  return put_word(p, i), i + 1;
}

static void expr(py *p, int i, int j) {
  if (++p->depth > MAX_DEPTH) {
    put(p, "...");
    p->depth--;
    return;
  }
  for (int k = i; k < j;) {
    bool call = is(p, k, "(") || is(p, k, "{") || is(p, k, "[") || is_string(p, k);
    if (k > i && !(call && is_operand(p, k - 1, i))) put_gap(p, k);
    k = piece(p, k, j, i);
  }
  p->depth--;
}

/* ---- statements -------------------------------------------------------------------------- */

static void body(py *p, int i, int j) {
  newline(p);
  p->indent++;
  if (i < j && p->depth < MAX_DEPTH) block(p, i, j);
  else put(p, i < j ? "..." : "pass");
  newline(p);
  p->indent--;
}

/* function a.b:c(args) … end, from the word on */
static void definition(py *p, int i, int j) {
  int open = find(p, i + 1, j, "(", NULL, NULL), args = closing(p, open, j);
  bool method = is(p, open - 2, ":"), init = method && is(p, open - 1, "init");
  put(p, "def ");
  if (init) put(p, "__init__");
  else if (method && is(p, open - 1, "len")) put(p, "__len__");
  else if (method && is(p, open - 1, "getitem")) put(p, "__getitem__");
  else put_word(p, open - 1);
  put(p, method ? args > open + 1 ? "(self, " : "(self" : "(");
  expr(p, open + 1, args);
  put(p, "):");
  if (method) {
    put(p, "  # in class ");
    put_word(p, open - 3);
  }
  if (init) {
    newline(p);
    p->indent++;
    put(p, "super().__init__()");
    p->indent--;
  }
  body(p, args + 1, j - 1);
}

/* The end of range(): one more than Lua's last value. */
static void range_end(py *p, int i, int j) {
  if (j == i + 1 && p->t[i].kind == DL_TOK_NUMBER && p->t[i].n < 10) {
    char number[24];
    snprintf(number, sizeof number, "%ld", strtol(p->text + p->t[i].at, NULL, 10) + 1);
    put(p, number);
  } else if (j > i + 2 && is(p, j - 2, "-") && is(p, j - 1, "1")) {
    expr(p, i, j - 2);
  } else {
    expr(p, i, j);
    put(p, " + 1");
  }
}

static void counted_loop(py *p, int i, int head) {
  int first = find(p, i + 3, head, ",", NULL, NULL);
  int last = find(p, first + 1, head, ",", NULL, NULL);
  put_word(p, i + 1);
  put(p, " in range(");
  if (!(first == i + 4 && is(p, i + 3, "0")) || last < head) {
    expr(p, i + 3, first);
    put(p, ", ");
  }
  range_end(p, first + 1, last);
  if (last < head) {
    put(p, ", ");
    expr(p, last + 1, head);
  }
  put(p, ")");
}

static void walked_loop(py *p, int i, int head) {
  int in = find(p, i, head, "in", NULL, NULL), end = head;
  bool counts = end - in > 5 && is(p, end - 3, "enumerate") && is(p, end - 4, ":");
  bool several = find(p, i + 3, in, ",", NULL, NULL) < in;
  expr(p, i + 1, counts && several ? i + 2 : in);
  if (counts && several) {
    put(p, ", (");
    expr(p, i + 3, in);
    put(p, ")");
  }
  put(p, " in ");
  if (counts) {
    put(p, "enumerate(");
    expr(p, in + 1, end - 4);
    put(p, ")");
  } else if (is(p, in + 1, "ipairs")) {
    put(p, "enumerate");
    expr(p, in + 2, end);
  } else if (is(p, in + 1, "pairs") && is(p, in + 2, "(")) {
    expr(p, in + 3, end - 1);
    put(p, ".items()");
  } else {
    expr(p, in + 1, end);
  }
}

static void condition(py *p, int i, int j) {
  for (const char *word = "if "; i < j;) {
    if (is(p, i, "else")) {
      put(p, "else:");
      body(p, i + 1, j - 1);
      return;
    }
    int then = find(p, i + 1, j, "then", NULL, NULL);
    int next = find(p, then + 1, j - 1, "elseif", "else", NULL);
    put(p, word);
    expr(p, i + 1, then);
    put(p, ":");
    body(p, then + 1, next);
    if (next >= j - 1) return;
    i = next;
    word = "elif ";
  }
}

/* torch.no_grad(function() … end) as a statement */
static bool with_block(py *p, int i, int j) {
  int open = find(p, i, j, "(", NULL, NULL);
  if (open >= j || closing(p, open, j) != j - 1 || !is(p, j - 2, "end")) return false;
  int fn = find(p, open + 1, j - 1, "function", NULL, NULL);
  if (fn >= j - 1 || closing(p, fn, j - 1) != j - 2) return false;
  int args = closing(p, fn + 1, j);
  put(p, "with ");
  expr(p, i, open);
  arguments(p, open + 1, fn > open + 1 ? fn - 1 : fn);
  if (args > fn + 2) {
    put(p, " as ");
    expr(p, fn + 2, args);
  }
  put(p, ":");
  body(p, args + 1, j - 2);
  return true;
}

/* Net = nn.Module:class("Net") */
static bool class_of(py *p, int i, int j) {
  if (j - i < 8 || !is(p, i + 1, "=")) return false;
  if (!is(p, j - 4, "class") || !is_string(p, j - 2)) return false;
  put(p, "class ");
  put_word(p, i);
  put(p, "(");
  expr(p, i + 2, j - 5);
  put(p, "):");
  body(p, j, j);
  return true;
}

/* a, b <const> = values, after `local` or without it */
static void assignment(py *p, int i, int j) {
  int equals = find(p, i, j, "=", NULL, NULL);
  if (class_of(p, i, j) || with_block(p, i, j)) return;
  if (equals < j && is(p, equals + 1, "function") && closing(p, equals + 1, j) == j - 1 &&
      equals == i + 1 && !is(p, closing(p, equals + 2, j) + 1, "return")) {
    int args = closing(p, equals + 2, j);
    put(p, "def ");
    put_word(p, i);
    arguments(p, equals + 3, args);
    put(p, ":");
    body(p, args + 1, j - 1);
    return;
  }
  expr(p, i, j);
}

static void local(py *p, int i, int j) {
  int equals = find(p, i, j, "=", NULL, NULL);
  bool attributes = false;
  for (int k = i; k < equals; k++) attributes = attributes || is(p, k, "<");
  if (equals == j || attributes) {
    for (int k = i; k < equals; k++) {
      if (is(p, k, "<")) k += 2;
      else if (is(p, k, ",")) put(p, ", ");
      else put_word(p, k);
    }
    put(p, " = ");
    if (equals == j) put(p, "None");
    else expr(p, equals + 1, j);
  } else {
    assignment(p, i, j);
  }
}

static void loop(py *p, int i, int j) {
  int head = find(p, i, j, "do", NULL, NULL);
  put(p, is(p, i, "for") ? "for " : "while ");
  if (is(p, i, "while")) expr(p, i + 1, head);
  else if (is(p, i + 2, "=")) counted_loop(p, i, head);
  else walked_loop(p, i, head);
  put(p, ":");
  body(p, head + 1, j - 1);
}

static void until(py *p, int i, int j) {
  int end = closing(p, i, j);
  put(p, "while True:");
  body(p, i + 1, end);
  p->indent++;
  put(p, "if ");
  expr(p, end + 1, j);
  put(p, ": break");
  p->indent--;
}

static void statement(py *p, int i, int j) {
  p->depth++;
  newline(p);
  if (is(p, i, "local") && is(p, i + 1, "function")) definition(p, i + 1, j);
  else if (is(p, i, "local")) local(p, i + 1, j);
  else if (is(p, i, "function") && !is(p, i + 1, "(")) definition(p, i, j);
  else if (is(p, i, "for") || is(p, i, "while")) loop(p, i, j);
  else if (is(p, i, "if")) condition(p, i, j);
  else if (is(p, i, "repeat")) until(p, i, j);
  else if (is(p, i, "do")) block(p, i + 1, j - 1);
  else if (is(p, i, "return")) put(p, j > i + 1 ? "return " : "return"), expr(p, i + 1, j);
  else assignment(p, i, j);
  p->depth--;
}

typedef struct cut { py *p; size_t base; int i, j; } cut;

static void each_statement(void *ctx, const dl_stat *st) {
  cut *c = ctx;
  size_t from = c->base + st->begin, to = c->base + st->end;
  while (c->i < c->j && c->p->t[c->i].at < from) c->i++;
  int end = c->i;
  while (end < c->j && c->p->t[end].at < to) end++;
  while (end > c->i && is(c->p, end - 1, ";")) end--;
  if (end > c->i) statement(c->p, c->i, end);
  c->i = end;
}

static void block(py *p, int i, int j) {
  if (i >= j) return;
  size_t from = p->t[i].at, to = p->t[j - 1].at + p->t[j - 1].n;
  cut c = {p, from, i, j};
  dl_chunk_scan(p->text + from, to - from, each_statement, &c);
}

char *dl_pytorch_spelling(const char *text, size_t len) {
  py p = {.text = text, .fresh = true};
  dl_lexer x;
  char *out = NULL;
  size_t size = 0;
  p.t = malloc(sizeof *p.t * (len + 1));
  p.f = p.t ? open_memstream(&out, &size) : NULL;
  if (!p.f) return free(p.t), NULL;
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; dl_lex_next(&x))
    p.t[p.n++] = (token){x.at, x.n, x.kind};
  block(&p, 0, p.n);
  fclose(p.f);
  free(p.t);
  while (out && size && out[size - 1] == '\n') out[--size] = 0;
  return out;
}
