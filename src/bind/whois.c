/* whois.c -- what the user's code calls a tensor: a local, an upvalue, a global, a field of one
 *
 * For errors that name operands. The innermost functions of the user's own are searched first, then
 * globals; in tables (modules, lists) a few levels deep, in modules without their inner names, so
 * that a layer's weight is `model[0].weight`.
 *
 * INVARIANT  Nothing is called and nothing is made: raw reads only, in a bounded number.
 * MUST NOT   decide what is wrong with the tensor. */
#include "bind/bind.h"
#include "tensor/devmem.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH = 4, FRAMES = 3, BUDGET = 20000, PATH = 120 };

typedef struct hunt {
  const dl_tensor *t;
  char path[PATH];
  int left;                      /* values that may still be looked at */
  int limit;                     /* steps that a name may have now: short names are found first */
} hunt;

/* The tensor itself, or a view of the same bytes and size made on the way (weight.T is weight). */
static bool is_it(lua_State *L, int i, const hunt *h) {
  dl_box *b = dl_object(L, i, &dl_t_tensor);
  return b && b->t && (b->t == h->t || (b->t->st == h->t->st && b->t->numel == h->t->numel));
}

static bool is_name(const char *s) {
  if (!isalpha((unsigned char)*s) && *s != '_') return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

/* Append ".key" or "[key]"; false where the key says nothing or is too long. The tables that a
 * module keeps its parts in add nothing. */
static bool step(lua_State *L, int key, hunt *h, size_t at) {
  size_t room = PATH - at;
  int n = -1;
  if (lua_type(L, key) == LUA_TSTRING) {
    const char *s = lua_tostring(L, key);
    if (!strcmp(s, "_parameters") || !strcmp(s, "_modules") || !strcmp(s, "_buffers")) return true;
    if (*s == '_' && s[1] == '_') return false;
    if (is_name(s)) n = snprintf(h->path + at, room, ".%s", s);
    else if (isdigit((unsigned char)*s)) n = snprintf(h->path + at, room, "[%s]", s);
  } else if (lua_isinteger(L, key)) {
    n = snprintf(h->path + at, room, "[%lld]", (long long)lua_tointeger(L, key));
  }
  return n > 0 && (size_t)n < room;
}

static bool look(lua_State *L, int i, hunt *h, int depth);

/* Fields whose value is the tensor come before fields of fields. */
static bool look_inside(lua_State *L, int tbl, hunt *h, int depth, bool deeper) {
  size_t at = strlen(h->path);
  if (!lua_checkstack(L, 8)) return false;
  for (lua_pushnil(L); h->left > 0 && lua_next(L, tbl); lua_pop(L, 1)) {
    h->left--;
    bool candidate = deeper ? lua_type(L, -1) == LUA_TTABLE : is_it(L, -1, h);
    if (!candidate || !step(L, -2, h, at)) {
      h->path[at] = 0;
      continue;
    }
    if (!deeper || look(L, lua_gettop(L), h, depth + (h->path[at] != 0))) {
      lua_pop(L, 2);
      return true;
    }
    h->path[at] = 0;
  }
  return false;
}

static bool look(lua_State *L, int i, hunt *h, int depth) {
  if (is_it(L, i, h)) return true;
  if (lua_type(L, i) != LUA_TTABLE || depth > h->limit) return false;
  int top = lua_gettop(L);
  bool found = look_inside(L, i, h, depth, false);
  lua_settop(L, top);
  if (!found) found = look_inside(L, i, h, depth, true);
  lua_settop(L, top);
  return found;
}

/* The value on top of the stack, called `name`; pops it. */
static bool called(lua_State *L, const char *name, hunt *h) {
  snprintf(h->path, PATH, "%s", name);
  bool found = *name != '(' && strcmp(name, "_G") && look(L, lua_gettop(L), h, 0);
  lua_pop(L, 1);
  return found;
}

/* Locals, the latest first (it may hide an older one of its name), then upvalues. */
static bool in_frame(lua_State *L, lua_Debug *ar, hunt *h) {
  int n = 0;
  while (lua_getlocal(L, ar, n + 1)) {
    lua_pop(L, 1);
    n++;
  }
  for (; n > 0; n--) {
    const char *name = lua_getlocal(L, ar, n);
    if (name && called(L, name, h)) return true;
  }
  lua_getinfo(L, "f", ar);
  int fn = lua_gettop(L);
  const char *name;
  bool found = false;
  for (int k = 1; !found && (name = lua_getupvalue(L, fn, k)); k++) {
    if (!strcmp(name, "_ENV")) lua_pop(L, 1);
    else found = called(L, name, h);
  }
  lua_settop(L, fn - 1);
  return found;
}

/* Names that stand for nothing of the user's: _ is the prompt's last value. */
static bool passed_over(const char *name) {
  return !strcmp(name, "_G") || !strcmp(name, "_") || !strcmp(name, "package");
}

/* Is the table on top one of our own (torch, nn …), or a class? */
static bool is_ours(lua_State *L) {
  if (luaL_getmetafield(L, -1, "__name") == LUA_TNIL) return false;
  const char *name = lua_tostring(L, -1);
  bool ours = name && (!strcmp(name, "module") || !strcmp(name, "type"));
  lua_pop(L, 1);
  return ours;
}

static bool in_globals(lua_State *L, hunt *h) {
  lua_pushglobaltable(L);
  int g = lua_gettop(L);
  bool found = false;
  for (int deeper = 0; deeper < 2 && !found; deeper++)
    for (lua_pushnil(L); !found && h->left > 0 && lua_next(L, g); lua_pop(L, 1)) {
      h->left--;
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      const char *name = lua_tostring(L, -2);
      if (passed_over(name)) continue;
      if (lua_type(L, -1) == LUA_TTABLE && (!deeper || is_ours(L))) continue;
      lua_pushvalue(L, -1);
      found = called(L, name, h);
      if (found) break;
    }
  lua_settop(L, g - 1);
  return found;
}

const char *dl_whois(lua_State *L, const dl_tensor *t, char *out, size_t cap) {
  hunt h = {.t = t, .left = BUDGET};
  lua_Debug ar;
  int top = lua_gettop(L), seen = 0;
  bool found = false;
  if (!lua_checkstack(L, 40)) return NULL;
  for (int level = 0; !found && seen < FRAMES && level < 200 && lua_getstack(L, level, &ar);
       level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what == 'C' || (dl_own_source && dl_own_source(ar.source))) continue;
    seen++;
    for (h.limit = 0; !found && h.limit < DEPTH; h.limit++) found = in_frame(L, &ar, &h);
    lua_settop(L, top);
  }
  for (h.limit = 0; !found && h.limit < DEPTH; h.limit++) found = in_globals(L, &h);
  lua_settop(L, top);
  if (!found) return NULL;
  snprintf(out, cap, "%s", h.path);
  return out;
}
