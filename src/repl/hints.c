/* hints.c -- other habits, answered with the Lua spelling
 *
 * For session.c. See hints.h. A row is a pattern over the tokens of the line that failed:
 *
 *     ^ $     first token, end of the line        N S  a name (or word), a string
 *     *       any tokens, as few as fit           !x   the next token is not x
 *     else    this token (\* is a star)
 *
 * N and * are captured; $1 … in the answer stand for them, $-1 for "one less than".
 *
 * INVARIANT  Rows are tried in order, the first that fits answers; at most MAX_TOKENS tokens count.
 * MUST NOT   know Lua states, allocate. */
#include "repl/hints.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repl/lex.h"

enum { MAX_TOKENS = 200, MAX_CAPTURES = 6 };

typedef struct row {
  const char *pattern, *answer;
  bool foreign; /* sure enough to say so at once instead of waiting for more lines */
} row;

#define NO_IMPORT "nothing needs importing: torch, nn, F, optim, np and torchvision are here; " \
                  "a file of yours: local m = require \"m\""
#define PCALL "local ok, err = pcall(function() … end)"
#define IN_ONE_TABLE "keyword arguments travel in one table at the end: "

static const row rows[] = {
  {"^ import *", NO_IMPORT, true},
  {"^ from * import", NO_IMPORT, true},
  {"^ def N ( * )", "function $1($2) … end", true},
  {"^ class N ( * )", "local $1 = $2:class(\"$1\"), then function $1:init(…) … end and function $1:forward(x) … end", true},
  {"^ class N", "local $1 = nn.Module:class(\"$1\") for a module; a plain object is a table: $1 = {}", true},
  {"^ for N in range ( N )", "for $1 = 0, $-2 do … end", true},
  {"^ for N in range ( N , N )", "for $1 = $2, $-3 do … end", true},
  {"^ for N in range ( N , N , N )", "for $1 = $2, $-3, $4 do … end", true},
  {"^ for N in range ( * ) :", "for $1 = 0, $2 - 1 do … end", true},
  {"^ for N , ( * ) in enumerate ( * ) :", "for $1, $2 in $3:enumerate() do … end, from 0", true},
  {"^ for N , * in enumerate ( * ) :", "for $1, $2 in $3:enumerate() do … end, from 0; a plain list: ipairs($3), from 1", true},
  {"^ for * in * : $", "for $1 in $2 do … end", true},
  {"^ for * in zip ( *", "for i, a in ipairs(A) do local b = B[i] … end", true},
  {"^ for * in * : print ( * )", "for $1 in $2 do print($3) end", true},
  {"^ while * : break", "while $1 do break end", true},
  {"^ while True : *", "while true do … end", true},
  {"^ while * : $", "while $1 do … end", true},
  {"^ if * : $", "if $1 then … end", true},
  {"^ if * : return *", "if $1 then return $2 end", true},
  {"^ if * : print ( * )", "if $1 then print($2) end", true},
  {"^ if * : break", "if $1 then break end", true},
  {"^ if * : continue", "if $1 then goto continue end, with ::continue:: before the end", true},
  {"^ elif * :", "elseif $1 then", true},
  {"^ else :", "else, without a colon; the block ends with end", true},
  {"N : N $", "a method takes brackets: $1:$2(); a property a dot: $1.$2", true},
  {"else if * then", "elseif $1 then", false},
  {"^ with * as * :", "$1, with a function of one argument at the end: function($2) … end", true},
  {"^ with * ( ) : *", "$1(function() … end), or local _ <close> = $1()", true},
  {"^ with * ( * ) : *", "$1($2, function() … end), or local _ <close> = $1($2)", true},
  {"^ try", PCALL, true},
  {"^ except", PCALL, true},
  {"^ finally", PCALL " and what follows it", true},
  {"^ raise N ( * )", "error($2)", true},
  {"^ raise", "error(…)", true},
  {"^ del *", "$1 = nil", true},
  {"^ assert * == ( * )", "assert($1 == {$2})", false},
  {"^ assert !( *", "a call takes brackets: assert($1)", false},
  {"^ print !( *", "a call takes brackets: print($1)", false},
  {"^ N + = *", "$1 = $1 + $2; a tensor in place: $1:add_($2)", false},
  {"^ * + = *", "$1 = $1 + $2; a tensor in place: $1:add_($2)", false},
  {"^ * - = *", "$1 = $1 - $2; a tensor in place: $1:sub_($2)", false},
  {"^ * \\* = *", "$1 = $1 * $2; a tensor in place: $1:mul_($2)", false},
  {"^ * / = *", "$1 = $1 / $2; a tensor in place: $1:div_($2)", false},
  {"^ * + + $", "$1 = $1 + 1", false},
  {"lambda * : *", "function($1) return $2 end", true},
  {"N is not None", "$1 ~= nil (None as an argument reads back as nil)", true},
  {"N is None", "$1 == nil (None as an argument reads back as nil)", true},
  {"is not", "identity is rawequal(a, b): not rawequal(a, b)", false},
  {"N is N", "$1 == $2; for two tensors rawequal($1, $2)", false},
  {"^ * = * if * else *", "$1 = $3 and $2 or $4, where the middle one is neither nil nor false", false},
  {"* if * else *", "$2 and $1 or $3, where the middle one is neither nil nor false", false},
  {"! =", "not equal is ~=; element by element x:ne(y)", false},
  {"\\* \\*", "a power is ^: x ^ 2", false},
  {"^ @ *", "a decorator is a call: f = $1(f)", false},
  {"N @ N", "$1:matmul($2)", false},
  {"@", "x @ y is x:matmul(y)", false},
  {"& &", "a and b", false},
  {"| |", "a or b", false},
  {"^ ! *", "os.execute(\"$1\") runs a command of the system", false},
  {"! N", "not $1", false},
  {"{ S :", "a table's keys: {a = 1}, or {[\"a b\"] = 1}", false},
  {"S S", "text of several lines stands in [[ … ]]", false},
  {"N not in N", "$2[$1] == nil, for a table with such keys", false},
  {"if N in N", "$2[$1] ~= nil, for a table with such keys", false},
  {"numel ( ) for N in", "a loop: n = 0; for p in model:parameters() do n = n + p:numel() end; n", false},
  {"[ * for N in", "a loop: t = {}; for $2 in … do t[#t + 1] = $1 end", false},
  {"== ( N ,", "a tuple is a list in braces: x.shape == {3, 4}", false},
  {"( ( N ,", "a tuple is a list in braces: {3, 4}", false},
  {", ( N ,", "a tuple is a list in braces: {3, 4}", false},
  {"= [", "a list stands in braces: {1, 2, 3}; so does a list of lists", false},
  {"( [", "a list stands in braces: {1, 2, 3}; so does a list of lists", false},
  {", [", "a list stands in braces: {1, 2, 3}; so does a list of lists", false},
  {"return [", "a list stands in braces: {1, 2, 3}; so does a list of lists", false},
  {"^ [", "a list stands in braces: {1, 2, 3}; so does a list of lists", false},
  {"^ N = N = *", "one after the other: $1, $2 = $3, $3", false},
  {"#", "a comment begins with --", false}};

typedef struct line {
  const char *text;
  int n;
  struct { size_t at, len; dl_tok kind; } tok[MAX_TOKENS];
  struct { int from, to; } got[MAX_CAPTURES]; /* tokens [from, to) */
} line;

/* ---- tokens ------------------------------------------------------------------------------ */

static void read_line(line *l, const char *text, size_t len) {
  dl_lexer x;
  l->text = text;
  l->n = 0;
  dl_lex_begin(&x, text, len);
  for (; x.kind != DL_TOK_END && l->n < MAX_TOKENS; dl_lex_next(&x)) {
    l->tok[l->n].at = x.at;
    l->tok[l->n].len = x.n;
    l->tok[l->n++].kind = x.kind;
  }
}

static bool same(const line *l, int i, const char *word, size_t n) {
  return i < l->n && l->tok[i].len == n && !memcmp(l->text + l->tok[i].at, word, n);
}

static bool is(const line *l, int i, const char *word) { return same(l, i, word, strlen(word)); }

static bool is_name(const line *l, int i) {
  if (i < 0 || i >= l->n) return false;
  return l->tok[i].kind == DL_TOK_NAME || l->tok[i].kind == DL_TOK_WORD ||
         l->tok[i].kind == DL_TOK_NUMBER;
}

/* Does the rest of the pattern fit from token i on? `got` captures are set so far. */
static bool fits(line *l, const char *p, int i, int got) {
  p += strspn(p, " ");
  size_t n = strcspn(p, " ");
  if (n == 0) return true;
  const char *rest = p + n;
  if (n == 1 && *p == '$') return i == l->n;
  if (n == 1 && *p == '*') {
    bool last = rest[strspn(rest, " ")] == 0;
    for (int end = last ? l->n : i; end <= l->n; end++) {
      l->got[got].from = i;
      l->got[got].to = end;
      if (fits(l, rest, end, got + 1)) return true;
    }
    return false;
  }
  if (n == 2 && *p == '!') return !same(l, i, p + 1, 1) && i < l->n && fits(l, rest, i, got);
  if (n == 1 && *p == 'N') {
    l->got[got].from = i;
    l->got[got].to = i + 1;
    return is_name(l, i) && fits(l, rest, i + 1, got + 1);
  }
  if (n == 1 && *p == 'S')
    return i < l->n && l->tok[i].kind == DL_TOK_STRING && fits(l, rest, i + 1, got);
  if (*p == '\\') return same(l, i, p + 1, n - 1) && fits(l, rest, i + 1, got);
  return same(l, i, p, n) && fits(l, rest, i + 1, got);
}

static bool row_fits(line *l, const row *r) {
  if (r->pattern[0] == '^') return fits(l, r->pattern + 1, 0, 0);
  if (r->pattern[0] == '*') return fits(l, r->pattern, 0, 0);
  for (int i = 0; i < l->n; i++)
    if (fits(l, r->pattern, i, 0)) return true;
  return false;
}

/* ---- answers ----------------------------------------------------------------------------- */

typedef struct out { char *at, *end; } out;

static void put(out *o, const char *s, size_t n) {
  if ((size_t)(o->end - o->at) <= n) n = (size_t)(o->end - o->at) - 1;
  memcpy(o->at, s, n);
  o->at += n;
  *o->at = 0;
}

/* The tokens as they were typed, but for Python's truth values. */
static void put_tokens(out *o, const line *l, int from, int to) {
  for (int i = from; i < to; i++) {
    const char *s = l->text + l->tok[i].at;
    if (i > from) {
      const char *before = l->text + l->tok[i - 1].at + l->tok[i - 1].len;
      put(o, before, (size_t)(s - before));
    }
    if (is(l, i, "True")) put(o, "true", 4);
    else if (is(l, i, "False")) put(o, "false", 5);
    else put(o, s, l->tok[i].len);
  }
}

static void put_capture(out *o, const line *l, int k, bool less) {
  int from = l->got[k].from, to = l->got[k].to;
  if (from >= to) return;
  const char *s = l->text + l->tok[from].at;
  size_t n = l->tok[to - 1].at + l->tok[to - 1].len - l->tok[from].at;
  if (n > 60) {
    put(o, "…", strlen("…"));
  } else if (less && strspn(s, "0123456789") == n && n < 10) {
    char number[16];
    int len = snprintf(number, sizeof number, "%ld", strtol(s, NULL, 10) - 1);
    put(o, number, (size_t)len);
  } else {
    put_tokens(o, l, from, to);
    if (less) put(o, " - 1", 4);
  }
}

static void put_answer(out *o, const line *l, const char *answer) {
  for (; *answer; answer++) {
    bool less = answer[0] == '$' && answer[1] == '-';
    if (*answer == '$' && isdigit((unsigned char)answer[1 + less])) {
      put_capture(o, l, answer[1 + less] - '1', less);
      answer += 1 + less;
    } else {
      put(o, answer, 1);
    }
  }
}

/* ---- what no pattern can say ----------------------------------------------------------------- */

/* x.repeat, {end=5}: a word of Lua used as a name. */
static bool word_as_name(const line *l, out *o) {
  for (int i = 1; i < l->n; i++) {
    if (l->tok[i].kind != DL_TOK_WORD) continue;
    const char *w = l->text + l->tok[i].at;
    int n = (int)l->tok[i].len, room = (int)(o->end - o->at);
    bool touches = l->tok[i - 1].at + l->tok[i - 1].len == l->tok[i].at; /* not so in `else: end` */
    bool member = is(l, i - 1, ".") || (is(l, i - 1, ":") && touches);
    bool key = is(l, i + 1, "=") && (is(l, i - 1, "{") || is(l, i - 1, ",") || is(l, i - 1, "("));
    if (!member && !key) continue;
    if (member && is(l, i + 1, "=")) continue;
    const char *form = member ? "%.*s is a word of Lua: write %s%c%.*s, with a capital"
                              : "%.*s is a word of Lua: as a keyword write {%s%c%.*s=…}";
    const char *before = !member ? "" : is(l, i + 1, "(") ? "x:" : "x.";
    snprintf(o->at, (size_t)room, form, n, w, before, toupper((unsigned char)*w), n - 1, w + 1);
    return true;
  }
  return false;
}

/* The bracket that closes the one at token i, or -1. */
static int closing(const line *l, int i) {
  int depth = 0;
  for (; i < l->n; i++) {
    if (is(l, i, "(") || is(l, i, "[") || is(l, i, "{")) depth++;
    if ((is(l, i, ")") || is(l, i, "]") || is(l, i, "}")) && --depth == 0) return i;
  }
  return -1;
}

/* x[1:3], x[0, 1], x[..., None] */
static bool sliced(line *l, out *o) {
  for (int i = 1; i < l->n; i++) {
    int end = is(l, i, "[") ? closing(l, i) : -1;
    bool parts = false, ranges = false;
    if (end < 0 || !(is_name(l, i - 1) || is(l, i - 1, "]") || is(l, i - 1, ")"))) continue;
    for (int k = i + 1; k < end; k++) {
      if (is(l, k, ":") || is(l, k, "::") || is(l, k, "...")) ranges = true;
      if (is(l, k, ",")) parts = true;
    }
    if (!parts && !ranges) continue;
    l->got[0].from = i - 1, l->got[0].to = i;
    l->got[1].from = i + 1, l->got[1].to = end;
    put_answer(o, l, ranges ? "such an index is a string: $1[\"$2\"]; with variables "
                              "$1[{slice(a, b), i}]"
                            : "an index of several parts is a table: $1[{$2}]");
    return true;
  }
  return false;
}

/* f(x, dim=1) */
static bool keyword_call(line *l, out *o) {
  for (int i = 2; i + 1 < l->n; i++) {
    if (!is(l, i + 1, "=") || !is_name(l, i) || !(is(l, i - 1, ",") || is(l, i - 1, "("))) continue;
    int end = i + 2, depth = 0;
    for (; end < l->n; end++) {
      if (is(l, end, "(") || is(l, end, "[") || is(l, end, "{")) depth++;
      if (is(l, end, ")") || is(l, end, "]") || is(l, end, "}"))
        if (--depth < 0) break;
    }
    l->got[0].from = i, l->got[0].to = end;
    put_answer(o, l, is(l, i - 1, "(") ? IN_ONE_TABLE "{$1}" : IN_ONE_TABLE "…, {$1})");
    return true;
  }
  return false;
}

static bool odd_sign(const char *text, size_t len, out *o) {
  static const struct { const char *sign, *answer; } odd[] = {
      {"\u201c", "quotes are plain ones: \"text\""}, {"\u201d", "quotes are plain ones: \"text\""},
      {"\u2018", "quotes are plain ones: 'text'"},   {"\u2019", "quotes are plain ones: 'text'"},
      {"\u2212", "the minus here is another sign: type a plain -"},
      {"\u00d7", "a product is *"}, {"\u00a0", "a blank here is no plain blank: type it anew"}};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
    if (!memmem(text, len, odd[i].sign, strlen(odd[i].sign))) continue;
    put(o, odd[i].answer, strlen(odd[i].answer));
    return true;
  }
  return false;
}

/* ---- the entrances ----------------------------------------------------------------------- */

/* The line that the message "name:3: …" speaks of; the last one if it speaks of the end. */
static void cut_line(const char **text, size_t *len, const char *message) {
  const char *at = *text, *end = at + *len, *stop;
  long n = 1;
  for (const char *c = message; (c = strchr(c, ':')) != NULL; c++) {
    char *after;
    n = strtol(c + 1, &after, 10);
    if (after > c + 1 && *after == ':') break;
    n = 1;
  }
  if (strstr(message, "near <eof>")) n = 1L << 30;
  while (n-- > 1 && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL && stop + 1 < end)
    at = stop + 1;
  stop = memchr(at, '\n', (size_t)(end - at));
  *text = at;
  *len = (size_t)((stop ? stop : end) - at);
}

void dl_hint_syntax(const char *text, size_t len, const char *message, char *buf, size_t cap) {
  line l;
  out o = {buf, buf + cap};
  *buf = 0;
  cut_line(&text, &len, message);
  if (len > 2000) len = 2000;
  read_line(&l, text, len);
  if (odd_sign(text, len, &o) || word_as_name(&l, &o)) return;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].pattern[0] == '{' && (sliced(&l, &o) || keyword_call(&l, &o))) return;
    if (row_fits(&l, &rows[i])) {
      put_answer(&o, &l, rows[i].answer);
      return;
    }
  }
}

bool dl_hint_is_foreign(const char *text, size_t len) {
  line l;
  cut_line(&text, &len, "near <eof>");
  if (len > 2000) return false;
  read_line(&l, text, len);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].foreign && l.n > 1 && row_fits(&l, &rows[i])) return true;
  return false;
}

/* ---- at run time ------------------------------------------------------------------------- */

static const struct { const char *mark, *answer; } missing[] = {
  {"call a nil value (global 'len')", "a length is #x"},
  {"call a nil value (global 'range')", "for i = 0, n - 1 do … end; a tensor: torch.arange(n)"},
  {"call a nil value (global 'str')", "tostring(x)"},
  {"call a nil value (global 'int')", "math.tointeger(x), or x // 1; a tensor: x:item()"},
  {"call a nil value (global 'float')", "tonumber(x); a tensor: x:item()"},
  {"call a nil value (global 'list')", "a list is a table: {1, 2, 3}; a tensor: x:tolist()"},
  {"call a nil value (global 'dict')", "a table: {a = 1}"},
  {"call a nil value (global 'tuple')", "a table: {1, 2}"},
  {"call a nil value (global 'enumerate')", "x:enumerate(), from 0; a plain list: ipairs(t), from 1"},
  {"call a nil value (global 'zip')", "for i, a in ipairs(A) do local b = B[i] … end"},
  {"call a nil value (global 'isinstance')", "type(x) == \"table\"; a tensor: torch.is_tensor(x)"},
  {"call a nil value (global 'abs')", "math.abs(x); a tensor: x:abs()"},
  {"call a nil value (global 'min')", "math.min(a, b); a tensor: x:min()"},
  {"call a nil value (global 'max')", "math.max(a, b); a tensor: x:max()"},
  {"call a nil value (global 'sum')", "a loop, or a tensor: torch.tensor(t):sum()"},
  {"call a nil value (global 'round')", "math.floor(x + 0.5); a tensor: x:round()"},
  {"call a nil value (global 'sorted')", "table.sort(t), in place; a tensor: x:sort()"},
  {"call a nil value (global 'input')", "io.read()"},
  {"call a nil value (global 'open')", "io.open(name)"},
  {"call a nil value (global 'dir')", "%who lists your names; a table prints its fields"},
  {"call a nil value (global 'vars')", "%who lists your names; a table prints its fields"},
  {"call a nil value (global 'super')", "the parent's set-up runs by itself; a class of yours: Parent.init(self, …)"},
  {"call a nil value (global 'f')", "f\"…\" is string.format(\"%d\", n), or \"text \" .. n"},
  {"call a nil value (global 'r')", "r\"…\" is [[…]]"},
  {"call a nil value (method 'append')", "t[#t + 1] = v, or table.insert(t, v)"},
  {"call a nil value (method 'items')", "for k, v in pairs(t) do … end"},
  {"call a nil value (method 'keys')", "for k in pairs(t) do … end"},
  {"call a nil value (method 'values')", "for _, v in pairs(t) do … end"},
  {"call a nil value (field 'append')", "t[#t + 1] = v, or table.insert(t, v)"},
  {"call a nil value (method 'strip')", "s:match(\"^%s*(.-)%s*$\")"},
  {"call a nil value (method 'split')", "for part in s:gmatch(\"[^,]+\") do … end"},
  {"call a nil value (method 'join')", "table.concat(t, \", \")"},
  {"index a nil value (global 'plt')", "dlrepl.plot draws in text"},
  {"call a nil value (global 'tqdm')", "for x, y in dlrepl.progress(loader) do … end"},
  {"index a nil value (field 'random')", "torch.rand, torch.randn, torch.randint"},
  {"index a nil value (global 'time')", "dlrepl.clock() is in seconds; %time and %timeit measure a line"},
  {"get length of a nil value (global", "a comment begins with --; #x is a length"},
  {"index a nil value (local 'self')", "a method is called with a colon: net:eval(), opt:step()"},
  {"index a nil value (global 'self')", "a method is defined with a colon: function Net:init(…)"},
  {"table index is nil", "the index is nil; a method is called with a colon: net:parameters()"},
  {"'for iterator' (table expected, got nil)", "what is walked is nil; a method is called with a colon: net:state_dict()"},
  {"yield across a C-call", "where a function yields, a mode is held by local _ <close> = torch.no_grad()"},
  {"stack overflow", "a function calls itself without end"},
  {"call a torch.Size value", "a property takes no brackets: x.shape"},
  {"call a torch.dtype value", "a property takes no brackets: x.dtype"},
  {"number expected, got Tensor", "a tensor's number is x:item()"},
  {"call a table value (field 'checkpoint')", "the module's function: torch.utils.checkpoint.checkpoint(f, x, {use_reentrant=false})"},
  {"attempt to mod a 'string'", "string.format(\"%.3f\", n)"},
  {"attempt to add a 'string'", "texts are joined with ..: \"a\" .. \"b\""},
  {"arithmetic on a string value", "texts are joined with ..: \"a\" .. \"b\""}};

const char *dl_hint_runtime(const char *message) {
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    if (strstr(message, missing[i].mark)) return missing[i].answer;
  return NULL;
}
