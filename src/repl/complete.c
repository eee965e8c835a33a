/* complete.c -- what could stand at the cursor
 *
 * For session.c. The text is cut into tokens; what stands before the unfinished word decides: a
 * path and a dot or colon (names of that value), an open `{` of a call (names of parameters), an
 * open quote (files), else globals, locals and words of Lua.
 *
 * INVARIANT  Candidates begin with the text between *start and the cursor.
 * MUST NOT   run a user's code: values are looked at by path.c only. */
#include "repl/complete.h"

#include "repl/magic.h"

#include <ctype.h>
#include <dirent.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bind/bind.h"
#include "repl/lex.h"
#include "repl/path.h"

enum { MAX_TOKENS = 4096, MAX_FILES = 2000 };

typedef struct token { size_t at, n; dl_tok kind; } token;

typedef struct scene {         /* the last tokens before the cursor */
  const char *text;
  size_t len;
  int n;
  token tok[MAX_TOKENS];
} scene;

static bool is(const scene *s, int i, const char *what) {
  size_t n = strlen(what);
  return i >= 0 && i < s->n && s->tok[i].n == n && s->tok[i].kind != DL_TOK_STRING &&
         !memcmp(s->text + s->tok[i].at, what, n);
}

static void read_tokens(scene *s, const char *text, size_t len) {
  dl_lexer x;
  s->text = text;
  s->len = len;
  s->n = 0;
  for (dl_lex_begin(&x, text, len); x.kind != DL_TOK_END; dl_lex_next(&x)) {
    if (s->n == MAX_TOKENS) { /* far back tokens are of no use */
      memmove(s->tok, s->tok + MAX_TOKENS / 2, sizeof(token) * (MAX_TOKENS / 2));
      s->n = MAX_TOKENS / 2;
    }
    s->tok[s->n++] = (token){x.at, x.n, x.kind};
  }
}

/* Is token i a string whose quote is not closed? */
static bool is_open_string(const scene *s, int i) {
  if (i < 0 || s->tok[i].kind != DL_TOK_STRING) return false;
  if (s->tok[i].at + s->tok[i].n != s->len) return false;
  const char *t = s->text + s->tok[i].at;
  size_t n = s->tok[i].n, escapes = 0;
  if (*t == '[') return t[n - 1] != ']';
  if (n == 1 || t[n - 1] != *t) return t[n - 1] != '\n';
  while (escapes + 2 < n && t[n - 2 - escapes] == '\\') escapes++;
  return escapes % 2 == 1;
}

static bool in_comment(const scene *s) {
  size_t from = s->n ? s->tok[s->n - 1].at + s->tok[s->n - 1].n : 0;
  for (size_t i = from; i + 1 < s->len; i++)
    if (s->text[i] == '-' && s->text[i + 1] == '-')
      return s->text[s->len - 1] != '\n' && !memchr(s->text + i, '\n', s->len - i);
  return false;
}

/* Index of the bracket that closes at i, walking back; -1 if there is none. */
static int opening(const scene *s, int i) {
  int depth = 0;
  for (; i >= 0; i--) {
    if (is(s, i, ")") || is(s, i, "}") || is(s, i, "]")) depth++;
    if ((is(s, i, "(") || is(s, i, "{") || is(s, i, "[")) && --depth == 0) return i;
  }
  return -1;
}

/* Can a value's text end in token i? */
static bool ends_value(const scene *s, int i) {
  return i >= 0 && (s->tok[i].kind == DL_TOK_NAME || s->tok[i].kind == DL_TOK_STRING ||
                    is(s, i, ")") || is(s, i, "]") || is(s, i, "}"));
}

/* First token of the path that ends in token `last`, or -1. */
static int path_begin(const scene *s, int last) {
  int i = last;
  while (ends_value(s, i)) {
    if (s->tok[i].kind == DL_TOK_NAME) {
      if (!is(s, i - 1, ".") && !is(s, i - 1, ":")) return i;
      i -= 2;
      continue;
    }
    if (s->tok[i].kind == DL_TOK_STRING) {
      if (!ends_value(s, i - 1)) return i;
      i--;
      continue;
    }
    int open = opening(s, i);
    if (open < 0) return -1;
    if (is(s, open, "(") && !ends_value(s, open - 1)) return open == i - 2 ? open : -1;
    i = open - 1;
  }
  return -1;
}

static bool push_path(lua_State *L, const scene *s, int first, int last) {
  size_t at = s->tok[first].at, end = s->tok[last].at + s->tok[last].n;
  return dl_path_push(L, s->text + at, end - at);
}

/* ---- kinds of candidates ------------------------------------------------------------------- */

static void put(lua_State *L, int into, const char *name, const char *kind) {
  lua_pushstring(L, kind);
  lua_setfield(L, into, name);
}

static void add_words(lua_State *L, int into) {
  static const char *const words[] = {
      "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if",
      "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) put(L, into, words[i], "word");
}

/* Files that begin with text[start .. cursor); *start moves behind the last slash. */
static void add_files(lua_State *L, int into, const char *text, size_t cursor, size_t *start) {
  char folder[1024];
  size_t from = *start;
  for (size_t i = from; i < cursor; i++)
    if (text[i] == '/') *start = i + 1;
  size_t n = *start - from, home = 0;
  const char *base = getenv("HOME");
  if (n >= 2 && text[from] == '~' && text[from + 1] == '/' && base)
    home = (size_t)snprintf(folder, sizeof folder, "%s", base);
  if (home + n + 2 >= sizeof folder) return;
  snprintf(folder + home, sizeof folder - home, "%.*s", (int)(n - (home > 0)),
           text + from + (home > 0));
  DIR *dir = opendir(*folder ? folder : ".");
  struct dirent *e;
  for (int k = 0; dir && k < MAX_FILES && (e = readdir(dir)) != NULL; k++) {
    char path[1400], name[300];
    struct stat st;
    if (*e->d_name == '.' && (*start == cursor || text[*start] != '.')) continue;
    snprintf(path, sizeof path, "%s%s", folder, e->d_name);
    bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    snprintf(name, sizeof name, "%s%s", e->d_name, is_dir ? "/" : "");
    put(L, into, name, is_dir ? "folder" : "file");
  }
  if (dir) closedir(dir);
}

static void add_parameter(lua_State *L, int into, const char *name) {
  char shown[24];
  snprintf(shown, sizeof shown, "%s", name);
  static const char *const words[] = {"end", "repeat", "not", "in", "or", "and"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(words[i], shown)) shown[0] = (char)(shown[0] - 'a' + 'A');
  put(L, into, shown, "parameter");
}

/* Parameters of an op, from its schema. */
static bool add_op_parameters(lua_State *L, int into, int fn) {
  dl_opid op[8];
  bool method;
  const char *name;
  int n = dl_op_group(L, fn, &name, &method, op, 8);
  for (int i = 0; i < n; i++) {
    const dl_schema *s = dl_op_schema(op[i]);
    for (int k = method; k < s->nparam; k++) add_parameter(L, into, s->p[k].name);
    if (!method && strchr(dl_ops[op[i]].where, 'o')) add_parameter(L, into, "out");
  }
  return n > 0;
}

/* Parameters of what is written in Lua, or by hand: help knows their signatures. */
static void add_other_parameters(lua_State *L, int into, int fn, const char *path, size_t n) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "dlrepl.help");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "parameters");
  lua_pushvalue(L, fn);
  lua_pushlstring(L, path, n);
  lua_call(L, 2, 1);
  for (int i = 1; lua_istable(L, -1) && lua_rawgeti(L, -1, i) == LUA_TSTRING; i++) {
    add_parameter(L, into, lua_tostring(L, -1));
    lua_pop(L, 1);
  }
}

/* Is token i the `{` of keywords of a call? Then the callee's last token, else -1. */
static int callee_of(const scene *s, int brace) {
  if (ends_value(s, brace - 1)) return brace - 1;
  if (!is(s, brace - 1, "(") && !is(s, brace - 1, ",")) return -1;
  int depth = 0;
  for (int i = brace - 1; i >= 0; i--) {
    if (is(s, i, ")") || is(s, i, "}") || is(s, i, "]")) depth++;
    if (!is(s, i, "(") && !is(s, i, "{") && !is(s, i, "[")) continue;
    if (depth-- > 0) continue;
    return is(s, i, "(") && ends_value(s, i - 1) ? i - 1 : -1;
  }
  return -1;
}

/* The innermost bracket that is open before token `end` (exclusive), or -1. */
static int innermost(const scene *s, int end) {
  int depth = 0;
  for (int i = end - 1; i >= 0; i--) {
    if (is(s, i, ")") || is(s, i, "}") || is(s, i, "]")) depth++;
    if ((is(s, i, "(") || is(s, i, "{") || is(s, i, "[")) && depth-- == 0) return i;
  }
  return -1;
}

static void add_keywords(lua_State *L, const scene *s, int word, int into) {
  int brace = innermost(s, word), last, first;
  if (!is(s, brace, "{")) return;
  if (brace != word - 1 && !is(s, word - 1, ",") && !is(s, word - 1, ";")) return;
  if ((last = callee_of(s, brace)) < 0 || (first = path_begin(s, last)) < 0) return;
  if (!push_path(L, s, first, last)) return;
  int fn = lua_gettop(L);
  size_t at = s->tok[first].at, end = s->tok[last].at + s->tok[last].n;
  if (!add_op_parameters(L, into, fn)) add_other_parameters(L, into, fn, s->text + at, end - at);
  lua_settop(L, fn - 1);
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Drop what does not begin with the word; methods after a dot only where nothing else fits. */
static void filter(lua_State *L, int into, const char *word, size_t n, bool dot) {
  bool others = false;
  for (int pass = 0; pass < 2; pass++) {
    for (lua_pushnil(L); lua_next(L, into); lua_pop(L, 1)) {
      const char *name = lua_tostring(L, -2);
      bool fits = !strncmp(name, word, n) && strlen(name) >= n;
      bool is_method = !strcmp(lua_tostring(L, -1), "method");
      if (pass == 0) others = others || (fits && !is_method);
      else if (!fits || (dot && is_method && others)) {
        lua_pushvalue(L, -2);
        lua_pushnil(L);
        lua_rawset(L, into);
      }
    }
  }
}

static void add_at_word(lua_State *L, const scene *s, int word, int into, bool hidden) {
  bool dot = is(s, word - 1, "."), colon = is(s, word - 1, ":");
  if (!dot && !colon) {
    add_keywords(L, s, word, into);
    bool any = (lua_pushnil(L), lua_next(L, into));
    if (any) {
      lua_pop(L, 2);
      return;
    }
    dl_path_names(L, 0, 0, hidden, into);
    if (word < s->n) add_words(L, into);
    return;
  }
  int first = path_begin(s, word - 2);
  if (first < 0 || !push_path(L, s, first, word - 2)) return;
  dl_path_names(L, lua_gettop(L), dot ? '.' : ':', hidden, into);
  lua_pop(L, 1);
}

/* ---- lines that begin with % or : ----------------------------------------------------------- */
static void add_commands(lua_State *L, int into, const char *prefix) {
  int n;
  const dl_magic *m = dl_magic_table(&n);
  for (int i = 0; i < n; i++) {
    if (*prefix && m[i].lesson != (*prefix == ':') && strcmp(m[i].name, "help")) continue;
    put(L, into, lua_pushfstring(L, "%s%s", prefix, m[i].name), "command");
    lua_settop(L, into);
  }
}

static dl_magic_arg argument_of(const char *name, size_t len) {
  int n;
  const dl_magic *m = dl_magic_table(&n);
  for (int i = 0; i < n; i++)
    if (strlen(m[i].name) == len && !memcmp(m[i].name, name, len)) return m[i].arg;
  return DL_MAGIC_NOTHING;
}

/* Names of commands, then what the command takes. Returns where code begins, or 0: all is said. */
static size_t add_command(lua_State *L, int into, const char *text, size_t cursor, size_t *start) {
  size_t word = 1;
  *start = 0;
  while (word < cursor && (text[word] == '_' || isalpha((unsigned char)text[word]))) word++;
  if (word == cursor) return add_commands(L, into, *text == ':' ? ":" : "%"), 0;
  const char *below = memchr(text, '\n', cursor); /* a cell: the lines below a command are code */
  if (below) return (size_t)(below + 1 - text);
  dl_magic_arg arg = argument_of(text + 1, word - 1);
  if (arg == DL_MAGIC_CODE) return word;
  for (*start = cursor; *start > word + 1 && !isspace((unsigned char)text[*start - 1]);) --*start;
  if (arg == DL_MAGIC_FILE) add_files(L, into, text, cursor, start);
  if (arg == DL_MAGIC_COMMAND) add_commands(L, into, "");
  return 0;
}

void dl_complete_push(lua_State *L, const char *text, size_t cursor, size_t *start) {
  luaL_checkstack(L, 60, "completion");
  lua_newtable(L);
  int into = lua_gettop(L);
  *start = cursor;
  if (cursor && (*text == '%' || (*text == ':' && text[cursor > 1] != ':'))) {
    size_t code = add_command(L, into, text, cursor, start);
    if (code) {
      lua_settop(L, into - 1);
      dl_complete_push(L, text + code, cursor - code, start);
      *start += code;
    } else {
      filter(L, into, text + *start, cursor - *start, false);
      lua_settop(L, into);
    }
    return;
  }
  scene *s = lua_newuserdatauv(L, sizeof *s, 0);
  read_tokens(s, text, cursor);
  int last = s->n - 1;
  bool dot = false;
  if (is_open_string(s, last)) {
    *start = s->tok[last].at + 1;
    add_files(L, into, text, cursor, start);
  } else if (!in_comment(s)) {
    bool word = last >= 0 && s->tok[last].at + s->tok[last].n == cursor &&
                (s->tok[last].kind == DL_TOK_NAME || s->tok[last].kind == DL_TOK_WORD);
    int at = word ? last : s->n;
    if (word) *start = s->tok[last].at;
    dot = is(s, at - 1, ".");
    if (word || last < 0 || s->tok[last].kind != DL_TOK_NUMBER ||
        s->tok[last].at + s->tok[last].n != cursor)
      add_at_word(L, s, at, into, word && text[*start] == '_');
  }
  filter(L, into, text + *start, cursor - *start, dot);
  lua_settop(L, into);
}

size_t dl_complete_path(const char *text, size_t len, size_t cursor, size_t *at) {
  static scene s;
  size_t end = cursor < len ? cursor : len;
  while (end < len && (text[end] == '_' || isalnum((unsigned char)text[end]))) end++;
  read_tokens(&s, text, end);
  int last = s.n - 1, first;
  while (last >= 0 && s.tok[last].kind != DL_TOK_NAME) /* inside a call: its function */
    last = is(&s, last, "(") || is(&s, last, "{") ? last - 1 : innermost(&s, last + 1) - 1;
  if (last < 0 || (first = path_begin(&s, last)) < 0) return 0;
  *at = s.tok[first].at;
  return s.tok[last].at + s.tok[last].n - *at;
}
