/* path.c -- what a dotted path stands for, and which names it has, without running anything
 *
 * For complete.c and session.c. See path.h.
 *
 * INVARIANT  Every step leaves exactly one value, nil where the path ends.
 * MUST NOT   call a function of the user's. */
#include "repl/path.h"

#include <dirent.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bind/bind.h"
#include "repl/lex.h"
#include "repl/locals.h"
#include "repl/tree.h"

enum { DEPTH = 12 }; /* of chains of __index */

/* Push a raw field; its type. The table may be anything. */
static int raw_field(lua_State *L, int idx, const char *name) {
  idx = lua_absindex(L, idx);
  if (!lua_istable(L, idx)) return lua_pushnil(L), LUA_TNIL;
  lua_pushstring(L, name);
  return lua_rawget(L, idx);
}

/* Push the field of the metatable, or nil. */
static int meta_field(lua_State *L, int idx, const char *name) {
  if (!lua_getmetatable(L, idx)) return lua_pushnil(L), LUA_TNIL;
  int type = raw_field(L, -1, name);
  lua_remove(L, -2);
  return type;
}

/* Push the table that answers for missing names: __index, or the first upvalue of a C function
 * there. */
static bool push_behind(lua_State *L, int idx) {
  int type = meta_field(L, idx, "__index");
  if (type == LUA_TTABLE) return true;
  if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1)) {
    lua_remove(L, -2);
    if (lua_istable(L, -1)) return true;
  }
  lua_pop(L, 1);
  return false;
}

/* Push the class of an instance made by lua/: a module, an optimizer, a data set. */
static bool push_class(lua_State *L, int idx) {
  static const char *const keys[] = {"module_class", "optimizer_class", "class"};
  if (!lua_istable(L, idx)) return false;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (meta_field(L, idx, keys[i]) == LUA_TTABLE) return true;
    lua_pop(L, 1);
  }
  return false;
}

static bool is_class(lua_State *L, int idx) {
  bool yes = raw_field(L, idx, "__name__") == LUA_TSTRING;
  lua_pop(L, 1);
  return yes;
}

/* Is it one of our modules that loads its names when they are used? */
static bool is_loader(lua_State *L, int idx) {
  bool yes = raw_field(L, idx, "__dl_module") == LUA_TSTRING;
  lua_pop(L, 1);
  if (yes) {
    meta_field(L, idx, "__index");
    yes = lua_iscfunction(L, -1);
    lua_pop(L, 1);
  }
  return yes;
}

static void push_methods(lua_State *L) {
  dl_metatable(L, &dl_t_tensor);
  raw_field(L, -1, "__index");
  lua_getupvalue(L, -1, 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* ---- one step ------------------------------------------------------------------------------ */

/* Replace the value on top by the next table that answers for it; false at the end of the chain. */
static bool push_next(lua_State *L) {
  int here = lua_gettop(L);
  if (!push_class(L, here) && !push_behind(L, here) &&
      raw_field(L, here, "__base__") != LUA_TTABLE)
    return lua_pop(L, 1), false;
  lua_remove(L, here);
  return true;
}

/* Replace the value on top by what the chain of __index says about the name. */
static void chain_step(lua_State *L, const char *name) {
  for (int depth = 0; depth < DEPTH; depth++) {
    if (raw_field(L, -1, name) != LUA_TNIL) {
      lua_remove(L, -2);
      return;
    }
    lua_pop(L, 1);
    if (!push_next(L)) break;
  }
  lua_pushnil(L);
  lua_replace(L, -2);
}

/* A property of a tensor: only those that neither compute nor warn. */
static void tensor_step(lua_State *L, const char *name) {
  static const char *const plain[] = {"shape", "dtype", "device", "data", "layout", "grad_fn"};
  const dl_tensor *t = dl_get_tensor(L, -1);
  bool safe = !strcmp(name, "grad") && t && t->requires_grad && !t->grad_fn;
  safe = safe || (!strcmp(name, "T") && t && t->ndim == 2);
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) safe = safe || !strcmp(name, plain[i]);
  push_methods(L);
  if (raw_field(L, -1, name) == LUA_TNUMBER && safe && t) {
    lua_pop(L, 2);
    lua_getfield(L, -1, name);
  } else {
    if (lua_isnumber(L, -1)) lua_pushnil(L), lua_replace(L, -2);
    lua_remove(L, -2);
  }
  lua_remove(L, -2);
}

/* A parameter, a buffer or a child of a module. */
static bool module_step(lua_State *L, const char *name) {
  static const char *const homes[] = {"_modules", "_parameters", "_buffers"};
  for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
    raw_field(L, -1, homes[i]);
    if (raw_field(L, -1, name) != LUA_TNIL) {
      lua_replace(L, -3);
      lua_pop(L, 1);
      return true;
    }
    lua_pop(L, 2);
  }
  return false;
}

static void step(lua_State *L, const char *name) {
  if (dl_object(L, -1, &dl_t_tensor)) {
    tensor_step(L, name);
  } else if (lua_istable(L, -1) && is_loader(L, -1)) {
    lua_getfield(L, -1, name);
    lua_remove(L, -2);
  } else if (!module_step(L, name)) {
    chain_step(L, name);
  }
}

/* A name that begins a path: a local of the session, a global, a module of ours. */
static void first_step(lua_State *L, const char *name) {
  if (dl_locals_push(L, name)) return;
  lua_pushglobaltable(L);
  meta_field(L, -1, "__index");
  bool ours = lua_iscfunction(L, -1);
  lua_pop(L, 1);
  if (ours) lua_getfield(L, -1, name);
  else raw_field(L, -1, name);
  lua_remove(L, -2);
}

/* Replace the value on top by its element under the number or quoted string token. */
static void index_step(lua_State *L, const dl_lexer *x) {
  char text[64] = "";
  if (x->n < sizeof text) memcpy(text, x->text + x->at, x->n), text[x->n] = 0;
  if (x->kind == DL_TOK_STRING && *text && *text != '[') {
    text[strlen(text) - 1] = 0;
    step(L, text + 1);
  } else if (x->kind == DL_TOK_NUMBER && lua_istable(L, -1) && !module_step(L, text)) {
    lua_rawgeti(L, -1, atoll(text));
    lua_remove(L, -2);
  } else if (dl_object(L, -1, &dl_t_tensor)) {
    return; /* an element of a tensor is a tensor */
  } else if (x->kind != DL_TOK_NUMBER) {
    lua_pushnil(L);
    lua_replace(L, -2);
  }
}

/* Skip what stands between brackets; the current token opens one. */
static void skip_brackets(dl_lexer *x) {
  int depth = 0;
  do {
    if (dl_lex_is(x, "(") || dl_lex_is(x, "{") || dl_lex_is(x, "[")) depth++;
    if (dl_lex_is(x, ")") || dl_lex_is(x, "}") || dl_lex_is(x, "]")) depth--;
    dl_lex_next(x);
  } while (depth > 0 && x->kind != DL_TOK_END);
}

/* A call was made of the value on top: replace it by something with the names of its result. */
static void call_step(lua_State *L) {
  const char *name;
  bool method;
  dl_opid op[1];
  if (dl_op_group(L, lua_gettop(L), &name, &method, op, 1)) push_methods(L);
  else if (is_class(L, lua_gettop(L))) return; /* an instance has the names of its class */
  else if (push_class(L, lua_gettop(L))) lua_pop(L, 1), push_methods(L); /* a layer's result */
  else lua_pushnil(L);
  lua_replace(L, -2);
}

/* One suffix of the path; false where it is none. */
static bool suffix(lua_State *L, dl_lexer *x) {
  if (dl_lex_is(x, ".") || dl_lex_is(x, ":")) {
    dl_lex_next(x);
    if (x->kind != DL_TOK_NAME) return false;
    lua_pushlstring(L, x->text + x->at, x->n);
    lua_insert(L, -2);
    step(L, lua_tostring(L, -2));
    lua_remove(L, -2);
    dl_lex_next(x);
  } else if (dl_lex_is(x, "(") || dl_lex_is(x, "{") || x->kind == DL_TOK_STRING) {
    call_step(L);
    if (x->kind == DL_TOK_STRING) dl_lex_next(x);
    else skip_brackets(x);
  } else if (dl_lex_is(x, "[")) {
    dl_lex_next(x);
    index_step(L, x);
    dl_lex_next(x);
    if (!dl_lex_is(x, "]")) return false;
    dl_lex_next(x);
  } else {
    return false;
  }
  return true;
}

bool dl_path_push(lua_State *L, const char *text, size_t len) {
  dl_lexer x;
  int top = lua_gettop(L);
  luaL_checkstack(L, 40, "path");
  dl_lex_begin(&x, text, len);
  bool bracket = dl_lex_is(&x, "("); /* ("x"):rep */
  if (bracket) dl_lex_next(&x);
  if (x.kind == DL_TOK_STRING) {
    lua_pushliteral(L, "");
  } else if (x.kind == DL_TOK_NAME) {
    lua_pushlstring(L, text + x.at, x.n);
    first_step(L, lua_tostring(L, -1));
    lua_remove(L, -2);
  } else {
    return false;
  }
  dl_lex_next(&x);
  if (bracket && dl_lex_is(&x, ")")) dl_lex_next(&x);
  while (x.kind != DL_TOK_END && !lua_isnil(L, -1) && suffix(L, &x)) continue;
  if (x.kind == DL_TOK_END && !lua_isnil(L, -1)) return lua_gettop(L) == top + 1;
  lua_settop(L, top);
  return false;
}

/* ---- names --------------------------------------------------------------------------------- */

typedef struct names {
  int into;
  char after;
  bool hidden, object; /* an object's functions are methods */
} names;

static const char *kind_of(lua_State *L, int idx, bool object) {
  if (lua_isfunction(L, idx)) return object ? "method" : "function";
  if (lua_istable(L, idx) && is_class(L, idx)) return "class";
  if (push_class(L, lua_absindex(L, idx))) return lua_pop(L, 1), "module";
  if (lua_istable(L, idx) && is_loader(L, idx)) return "module";
  return "field";
}

static void add(lua_State *L, const names *o, const char *name, const char *kind) {
  if (*name == '_' && (!o->hidden || name[1] == '_')) return;
  if (o->after == ':' && strcmp(kind, "method") && strcmp(kind, "function")) return;
  if (raw_field(L, o->into, name) == LUA_TNIL) {
    lua_pushstring(L, name);
    lua_pushstring(L, kind);
    lua_rawset(L, o->into);
  }
  lua_pop(L, 1);
}

/* The string keys of a table. Numbers among a tensor's methods are its properties. */
static void add_keys(lua_State *L, const names *o, int idx, bool tensor) {
  idx = lua_absindex(L, idx);
  luaL_checkstack(L, 12, "names");
  for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const char *kind = tensor && lua_isnumber(L, -1) ? "property" : kind_of(L, -1, o->object);
    const char *name = lua_tostring(L, -2);
    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
          strlen(name) && (*name < '0' || *name > '9'))
      add(L, o, name, kind);
  }
}

static void add_chain(lua_State *L, const names *o, int idx) {
  lua_pushvalue(L, idx);
  for (int depth = 0; depth < DEPTH; depth++) {
    if (lua_istable(L, -1)) add_keys(L, o, -1, false);
    if (!push_next(L)) break;
  }
  lua_pop(L, 1);
}

static void add_children(lua_State *L, const names *o, int idx) {
  static const char *const homes[] = {"_modules", "_parameters", "_buffers"};
  for (int i = 0; i < 3; i++) {
    if (raw_field(L, idx, homes[i]) == LUA_TTABLE) add_keys(L, o, -1, false);
    lua_pop(L, 1);
  }
}

/* The path of lua/<module>.lua if there is such a file; dots are folders. */
static bool module_file(const char *module, char *path, size_t cap) {
  char below[128];
  if (snprintf(below, sizeof below, "lua/%s", module) >= (int)sizeof below - 4) return false;
  for (char *p = below; (p = strchr(p, '.')) != NULL;) *p = '/';
  strcat(below, ".lua");
  return dl_tree_path(below, path, cap) && access(path, R_OK) == 0;
}

/* torch.save and others, which are loaded when they are first used */
static void add_torch_homes(lua_State *L, const names *o) {
  const char *module, *name;
  char path[1024];
  for (int i = 0; (name = dl_torch_home(i, &module)) != NULL; i++)
    if (strcmp(name, "nn") && module_file(module, path, sizeof path)) add(L, o, name, "function");
}

/* The files below lua/<module>, which are loaded when their name is first used. */
static void add_files(lua_State *L, const names *o, const char *module) {
  char below[128], path[1024];
  if (snprintf(below, sizeof below, "lua/%s", module) >= (int)sizeof below) return;
  for (char *p = below; (p = strchr(p, '.')) != NULL;) *p = '/';
  DIR *dir = dl_tree_path(below, path, sizeof path) ? opendir(path) : NULL;
  for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
    char name[64];
    size_t n = strcspn(e->d_name, ".");
    if (n == 0 || n >= sizeof name || (e->d_name[n] && strcmp(e->d_name + n, ".lua"))) continue;
    memcpy(name, e->d_name, n);
    name[n] = 0;
    add(L, o, name, "module");
  }
  if (dir) closedir(dir);
}

static void add_loader(lua_State *L, const names *o, int idx) {
  static const char *const ours[] = {"doctor", "progress", "plot", "show", "help"};
  raw_field(L, idx, "__dl_module");
  const char *module = lua_tostring(L, -1);
  if (!strcmp(module, "torch.nn") || !strcmp(module, "torch.nn.functional")) {
    lua_getfield(L, idx, "_"); /* fills the table */
    lua_pop(L, 1);
  } else if (!strcmp(module, "dlrepl")) {
    char path[1024], whole[64];
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
      snprintf(whole, sizeof whole, "dlrepl.%s", ours[i]);
      if (module_file(whole, path, sizeof path)) add(L, o, ours[i], "function");
    }
  } else {
    add_files(L, o, module);
    if (!strcmp(module, "torch")) add_torch_homes(L, o);
  }
  lua_pop(L, 1);
  add_keys(L, o, idx, false);
}

static void add_globals(lua_State *L, names *o) {
  dl_locals_push_names(L);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    if (lua_type(L, -2) == LUA_TSTRING) add(L, o, lua_tostring(L, -2), "local");
  lua_pop(L, 1);
  for (int i = 0; dl_global_home(i); i++) {
    const char *name = dl_global_home(i);
    bool upper = *name >= 'A' && *name <= 'Z';
    add(L, o, name, upper ? "class" : !strcmp(name, "help") ? "function" : "module");
  }
  lua_pushglobaltable(L);
  add_chain(L, o, lua_gettop(L));
  lua_pop(L, 1);
}

void dl_path_names(lua_State *L, int idx, char after, bool hidden, int into) {
  names o = {.into = lua_absindex(L, into), .after = after, .hidden = hidden};
  int top = lua_gettop(L);
  luaL_checkstack(L, 60, "names");
  if (after) idx = lua_absindex(L, idx);
  push_methods(L);
  bool methods = after && lua_rawequal(L, -1, idx);
  if (!after) {
    add_globals(L, &o);
  } else if (methods || dl_object(L, idx, &dl_t_tensor)) {
    o.object = true;
    add_keys(L, &o, top + 1, true);
  } else if (lua_istable(L, idx) && is_loader(L, idx)) {
    add_loader(L, &o, idx);
  } else {
    if (push_class(L, idx)) o.object = true;
    o.object = o.object || !lua_istable(L, idx);
    add_children(L, &o, idx);
    add_chain(L, &o, idx);
  }
  lua_settop(L, top);
}
