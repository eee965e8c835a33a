/* error.c -- failures and warnings as Lua sees them
 *
 * A failure is a table {class, message, kind, op, operands, notes, traceback} whose tostring begins
 * with PyTorch's line. Raised by dl_raise from dl_err, by dl_throw from a text, and by Lua code
 * through dlrepl.error{…} or dlrepl.raise{…}.
 *
 * INVARIANT  Operands are described in words: a caught error keeps no tensor alive.
 * MUST NOT   be called while the caller owns anything: it jumps. */
#include "bind/bind.h"
#include "tensor/devmem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char error_key = 0, parked_key = 0;

/* ---- building ------------------------------------------------------------------------------- */
static void set_str(lua_State *L, const char *key, const char *v) {
  if (v == NULL || *v == 0) return;
  lua_pushstring(L, v);
  lua_setfield(L, -2, key);
}

static void set_notes(lua_State *L, const char *notes) {
  lua_newtable(L);
  for (int i = 1; *notes; i++) {
    size_t n = strcspn(notes, "\n");
    lua_pushlstring(L, notes, n);
    lua_rawseti(L, -2, i);
    notes += n + (notes[n] == '\n');
  }
  lua_setfield(L, -2, "notes");
}

/* the error table on top gets its metatable and the traceback of now */
static void finish(lua_State *L) {
  luaL_traceback(L, L, NULL, 1);
  lua_setfield(L, -2, "traceback");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_setmetatable(L, -2);
}

static void push_error(lua_State *L) {
  lua_createtable(L, 0, 7);
  set_str(L, "class", dl_class_name(dl_err.cls));
  lua_pushstring(L, dl_err.message);
  lua_setfield(L, -2, "message");
  set_str(L, "kind", dl_kind_name(dl_err.kind));
  set_str(L, "op", dl_err.op);
  set_notes(L, dl_err.notes);
  finish(L);
}

int dl_raise(lua_State *L, dl_status st) {
  luaL_checkstack(L, 8, "error");
  if (st == DL_E_CALLBACK && lua_rawgetp(L, LUA_REGISTRYINDEX, &parked_key) != LUA_TBOOLEAN) {
    lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &parked_key);
    return lua_error(L);
  }
  dl_find_keeper(L);
  push_error(L);
  return lua_error(L);
}

/* ", made at file:line" of what lives on a GPU: the CPU's tensors do not remember. */
static void where_made(const dl_tensor *t, char *out, size_t cap) {
  const dl_devmem *m = dl_is_gpu(t->dev) ? dl_devmem_of(t->st) : NULL;
  if (!m || !m->where.line || !m->where.source) return;
  const char *s = m->where.source;
  snprintf(out, cap, ", made at %s:%d", *s == '@' || *s == '=' ? s + 1 : s, m->where.line);
}

/* One operand in words, pushed; its name in the user's code, if it has one, in `name`. */
static void push_operand(lua_State *L, const char *param, const dl_tensor *t, char *name,
                         size_t cap) {
  char size[128], dev[24], made[160] = "";
  const char *whose = dl_whois(L, t, name, cap);
  if (!whose) *name = 0;
  where_made(t, made, sizeof made);
  lua_pushfstring(L, "%s%s%s%s: torch.%s %s on %s%s", param, whose ? " (" : "", name,
                  whose ? ")" : "", dl_dtypes[t->dtype].name,
                  dl_sizes_str(t->ndim, t->size, size, sizeof size), dl_device_str(t->dev, dev),
                  made);
}

/* Operands on two devices: the one that stayed on the CPU goes to the GPU that another is on. */
typedef struct mover {
  dl_device to;
  char name[128];                /* what the user calls it */
  const char *param;             /* what the op calls it, where the user has no name for it */
  bool named, gpu, module;
} mover;

static void see(mover *m, const dl_tensor *t, const char *name, const char *param) {
  if (dl_is_gpu(t->dev)) {
    m->to = t->dev;
    m->gpu = true;
  } else if (*name && !m->named) {
    snprintf(m->name, sizeof m->name, "%s", name);
    m->named = true;
    m->module = t->is_param && strpbrk(m->name, ".[");
    if (m->module) *strpbrk(m->name, ".[") = 0;   /* not a weight moves but its model */
  } else if (!m->param) {
    m->param = param;
  }
}

/* The tensors of the call in words: an error shows which operand is which. */
static void set_operands(lua_State *L, const dl_schema *s, const dl_arg *arg, mover *m) {
  char name[128];
  int n = 0;
  lua_newtable(L);
  for (int k = 0; k < s->nparam; k++) {
    bool list = arg[k].tag == DL_A_TENSORS;
    int count = arg[k].tag == DL_A_TENSOR ? 1 : list ? arg[k].n : 0;
    for (int j = 0; j < count && j < 16; j++) {
      const dl_tensor *t = list ? arg[k].ts[j] : arg[k].t;
      if (!t) continue;
      push_operand(L, s->p[k].name, t, name, sizeof name);
      lua_rawseti(L, -2, ++n);
      see(m, t, name, s->p[k].name);
    }
  }
  lua_setfield(L, -2, "operands");
}

/* In place of "move one of them": the very line. */
static void set_move(lua_State *L, const mover *m) {
  char dev[24];
  if (!m->gpu || (!m->named && !m->param)) return;
  if (lua_getfield(L, -1, "notes") == LUA_TTABLE) {
    dl_device_str(m->to, dev);
    if (!m->named) lua_pushfstring(L, "move `%s` first, with :to(\"%s\")", m->param, dev);
    else if (m->module) lua_pushfstring(L, "move the model first: %s:to(\"%s\")", m->name, dev);
    else lua_pushfstring(L, "move it first: %s = %s:to(\"%s\")", m->name, m->name, dev);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2));
  }
  lua_pop(L, 1);
}

int dl_raise_operands(lua_State *L, dl_status st, const dl_schema *s, const dl_arg *arg) {
  bool shown = st == DL_E_SHAPE || st == DL_E_DTYPE || st == DL_E_DEVICE;
  if (!shown) return dl_raise(L, st);
  luaL_checkstack(L, 16, "error");
  mover m = {.named = false};
  push_error(L);
  set_operands(L, s, arg, &m);
  if (st == DL_E_DEVICE && strstr(dl_err.message, "same device")) set_move(L, &m);
  return lua_error(L);
}

int dl_throw(lua_State *L, dl_class cls, dl_status kind, const char *fmt, ...) {
  char text[DL_MESSAGE_MAX];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return dl_raise(L, dl_fail(cls, kind, "%s", text));
}

dl_status dl_park_error(lua_State *L) {
  /* false marks an empty slot: error(false) becomes a text */
  if (lua_isboolean(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "error(boolean)");
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parked_key);
  return dl_fail(DL_RuntimeError, DL_E_CALLBACK, "a Lua callback failed");
}

/* ---- reading -------------------------------------------------------------------------------- */
/* push "\n  line" for each string of err[key]; how many were pushed */
static int push_lines(lua_State *L, int err, const char *key) {
  if (lua_getfield(L, err, key) != LUA_TTABLE) {
    lua_pop(L, 1);
    return 0;
  }
  int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
  if (n > 20) n = 20;
  luaL_checkstack(L, n + 4, "error lines");
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    const char *text = lua_tostring(L, -1);
    lua_pushfstring(L, "\n  %s", text ? text : "");
    lua_remove(L, -2);
  }
  lua_remove(L, list);
  return n;
}

static int l_tostring(lua_State *L) {
  lua_settop(L, 1);
  lua_getfield(L, 1, "class");
  lua_getfield(L, 1, "message");
  const char *text = lua_tostring(L, -1);
  if (text && *text) {
    lua_pushliteral(L, ": ");
    lua_insert(L, -2);
  }
  push_lines(L, 1, "operands");
  push_lines(L, 1, "notes");
  lua_concat(L, lua_gettop(L) - 1);
  return 1;
}

static int l_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

/* dlrepl.error{class=, message=, kind=, notes=} or dlrepl.error(class, message) -> error value */
static int l_error(lua_State *L) {
  if (lua_isstring(L, 1)) {
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "class");
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "message");
  } else {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
  }
  static const char *const dflt[][2] = {
    {"class", "RuntimeError"}, {"message", ""}, {"kind", "argument"}};
  for (int i = 0; i < 3; i++) {
    if (lua_getfield(L, -1, dflt[i][0]) == LUA_TNIL) {
      lua_pushstring(L, dflt[i][1]);
      lua_setfield(L, -3, dflt[i][0]);
    }
    lua_pop(L, 1);
  }
  if (lua_getfield(L, -1, "notes") == LUA_TSTRING) {
    set_notes(L, "");
    lua_pop(L, 1);
    lua_getfield(L, -1, "notes");
    lua_createtable(L, 1, 0);
    lua_insert(L, -2);
    lua_rawseti(L, -2, 1);
    lua_setfield(L, -2, "notes");
  } else {
    lua_pop(L, 1);
  }
  finish(L);
  return 1;
}

static int l_raise(lua_State *L) {
  l_error(L);
  return lua_error(L);
}

/* ---- names ---------------------------------------------------------------------------------- */
const char *dl_type_name(lua_State *L, int i) {
  switch (lua_type(L, i)) {
    case LUA_TNONE:
    case LUA_TNIL: return "NoneType";
    case LUA_TBOOLEAN: return "bool";
    case LUA_TNUMBER: return lua_isinteger(L, i) ? "int" : "float";
    case LUA_TSTRING: return "str";
    case LUA_TFUNCTION: return "function";
    case LUA_TTABLE:
      if (dl_is_size(L, i)) return "torch.Size";
      if (dl_is_list(L, i)) return "list";
      if (luaL_getmetafield(L, i, "__name") == LUA_TSTRING) {
        const char *s = lua_tostring(L, -1);
        lua_pop(L, 1); /* stays alive in the metatable */
        return s;
      }
      return dl_is_keywords(L, i) ? "dict" : "table";
    case LUA_TUSERDATA: {
      dl_box *b = dl_object(L, i, &dl_t_tensor);
      if (b) return b->t && b->t->is_param ? "Parameter" : "Tensor";
      if (luaL_getmetafield(L, i, "__name") == LUA_TSTRING) {
        const char *s = lua_tostring(L, -1);
        lua_pop(L, 1);
        return s;
      }
      return "userdata";
    }
    default: return luaL_typename(L, i);
  }
}

static int distance(const char *a, const char *b) {
  int la = (int)strlen(a), lb = (int)strlen(b);
  if (la > 40 || lb > 40 || la - lb > 3 || lb - la > 3) return 99;
  int d[42][42];
  for (int i = 0; i <= la; i++) d[i][0] = i;
  for (int j = 0; j <= lb; j++) d[0][j] = j;
  for (int i = 1; i <= la; i++)
    for (int j = 1; j <= lb; j++) {
      int c = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      if (d[i - 1][j] + 1 < c) c = d[i - 1][j] + 1;
      if (d[i][j - 1] + 1 < c) c = d[i][j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < c)
        c = d[i - 2][j - 2] + 1;
      d[i][j] = c;
    }
  return d[la][lb];
}

const char *dl_nearest(lua_State *L, int tbl, const char *name) {
  tbl = lua_absindex(L, tbl);
  const char *best = NULL;
  int limit = strlen(name) <= 4 ? 1 : strlen(name) <= 6 ? 2 : 3, least = limit + 1;
  for (lua_pushnil(L); lua_next(L, tbl); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING) continue;
    const char *key = lua_tostring(L, -2);
    int d = distance(name, key);
    if (d < least || (d == least && best && strcmp(key, best) < 0)) {
      least = d;
      best = key;
    }
  }
  return best;
}

/* The user's line; where there is none, the innermost of ours. */
const char *dl_here(lua_State *L, char *buf, size_t cap) {
  lua_Debug ar;
  bool any = false;
  snprintf(buf, cap, "?");
  for (int level = 0; L && lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || ar.currentline <= 0) continue;
    bool ours = dl_own_source && dl_own_source(ar.source);
    if (!ours || !any) snprintf(buf, cap, "%s:%d", ar.short_src, ar.currentline);
    any = true;
    if (!ours) break;
  }
  return buf;
}

static void warn_line(const char *category, const char *text) {
  char place[256];
  fflush(stdout);
  fprintf(stderr, "%s: %s: %s\n", dl_here(dl_lua, place, sizeof place), category, text);
}

/* dlrepl.warn(text [, category]) */
static int l_warn(lua_State *L) {
  dl_lua = L;
  dl_warn(false, luaL_optstring(L, 2, "UserWarning"), "%s", luaL_checkstring(L, 1));
  return 0;
}

void dl_error_open(lua_State *L, int dlrepl) {
  static const luaL_Reg meta[] = {{"__tostring", l_tostring}, {"__concat", l_concat}, {NULL, NULL}};
  static const luaL_Reg funcs[] = {
    {"error", l_error}, {"raise", l_raise}, {"warn", l_warn}, {NULL, NULL}};
  lua_newtable(L);
  dl_set_funcs(L, -1, meta);
  lua_pushliteral(L, "dlrepl.error");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &error_key);
  dl_set_funcs(L, dlrepl, funcs);
  lua_pushboolean(L, 0);                  /* the key exists: parking an error never allocates */
  lua_rawsetp(L, LUA_REGISTRYINDEX, &parked_key);
  if (dl_warn_sink == NULL) dl_warn_sink = warn_line;
}
