/* unpickle.c -- the data of a pickle, and nothing that could act
 *
 * For torch.load: dlrepl._unpickle(bytes, env). The instructions are those that PyTorch reads with
 * weights_only=True; nothing is looked up or called but what unpickle_make.c lists.
 *
 * INVARIANT  Every value lies in a table of Lua's; each instruction checks what it takes before it
 *            takes it. What only means something to the machine (a class, a storage) never gets
 *            into a list or dict, and so not to the user.
 * MUST NOT   own anything: every error jumps. */
#include "bind/unpickle.h"

#include <math.h>
#include <string.h>

enum { NAME_BYTES = 256, POLL_OPS = 1 << 14 };

void dl_unpickle_open(lua_State *L, int dlrepl);

/* ---- the stack ------------------------------------------------------------------------------ */
static void need(dl_unpickler *u, lua_Integer n) {
  if (u->n - u->floor < n) dl_unpickle_bad(u, "pop from empty list");
}

static const unsigned char *take(dl_unpickler *u, uint64_t n) {
  if ((uint64_t)(u->end - u->p) < n) dl_unpickle_bad(u, "pickle data was truncated");
  const unsigned char *p = u->p;
  u->p += n;
  return p;
}

static uint64_t number(dl_unpickler *u, int bytes) {
  const unsigned char *p = take(u, (uint64_t)bytes);
  uint64_t v = 0;
  for (int i = bytes - 1; i >= 0; i--) v = v << 8 | p[i];
  return v;
}

/* The value on Lua's stack goes onto the pickle's. */
static void push(dl_unpickler *u) { lua_rawseti(u->L, u->stack, ++u->n); }

/* Onto Lua's stack: the k-th from the top, 0 the topmost. */
static void peek(dl_unpickler *u, lua_Integer k) {
  need(u, k + 1);
  lua_rawgeti(u->L, u->stack, u->n - k);
}

static void pop(dl_unpickler *u) {
  peek(u, 0);
  u->n--;
}

static void mark(dl_unpickler *u) {
  lua_pushinteger(u->L, u->floor);
  lua_rawseti(u->L, u->marks, ++u->n_marks);
  u->floor = u->n;
}

/* Values above the innermost mark, which closes; the first is at *first of the stack. */
static lua_Integer pop_mark(dl_unpickler *u, lua_Integer *first) {
  if (u->n_marks == 0) dl_unpickle_bad(u, "pop from empty list");
  lua_Integer n = u->n - u->floor;
  *first = u->floor + 1;
  u->n = u->floor;
  lua_rawgeti(u->L, u->marks, u->n_marks--);
  u->floor = lua_tointeger(u->L, -1);
  lua_pop(u->L, 1);
  return n;
}

/* ---- instructions: collections -------------------------------------------------------------- */
static void op_empty_list(dl_unpickler *u) {
  lua_newtable(u->L);
  lua_pushvalue(u->L, u->list_meta);
  lua_setmetatable(u->L, -2);
  push(u);
}

void dl_unpickle_new_dict(dl_unpickler *u, bool ordered) {
  lua_getfield(u->L, u->env, ordered ? "ordered" : "dict");
  lua_call(u->L, 0, 1);
}

static void op_empty_dict(dl_unpickler *u) {
  dl_unpickle_new_dict(u, false);
  push(u);
}

/* n values from `first` on become a tuple on Lua's stack. */
static void make_tuple(dl_unpickler *u, lua_Integer first, lua_Integer n) {
  bool raw = false;
  lua_createtable(u->L, n < 8 ? (int)n : 8, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(u->L, u->stack, first + i - 1);
    raw |= dl_unpickle_is_raw(u, -1);
    lua_rawseti(u->L, -2, i);
  }
  lua_pushvalue(u->L, u->tuple_meta);
  lua_setmetatable(u->L, -2);
  if (!raw) return;
  lua_pushvalue(u->L, -1);
  lua_pushboolean(u->L, 1);
  lua_rawset(u->L, u->raw);
}

static void short_tuple(dl_unpickler *u, lua_Integer n) {
  need(u, n);
  u->n -= n;
  make_tuple(u, u->n + 1, n);
  push(u);
}
static void op_tuple0(dl_unpickler *u) { short_tuple(u, 0); }
static void op_tuple1(dl_unpickler *u) { short_tuple(u, 1); }
static void op_tuple2(dl_unpickler *u) { short_tuple(u, 2); }
static void op_tuple3(dl_unpickler *u) { short_tuple(u, 3); }
static void op_tuple(dl_unpickler *u) {
  lua_Integer first, n = pop_mark(u, &first);
  make_tuple(u, first, n);
  push(u);
}

static void extend(dl_unpickler *u, lua_Integer first, lua_Integer n, const char *verb) {
  peek(u, 0);
  if (!dl_unpickle_has_meta(u, -1, u->list_meta))
    dl_unpickle_bad(u, "Can only %s lists, but got <class '%s'>", verb, dl_unpickle_type(u));
  lua_Integer at = (lua_Integer)lua_rawlen(u->L, -1);
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(u->L, u->stack, first + i);
    dl_unpickle_check_value(u, -1);
    lua_rawseti(u->L, -2, ++at);
  }
  lua_pop(u->L, 1);
}

static void op_append(dl_unpickler *u) {
  need(u, 2);
  u->n--;
  extend(u, u->n + 1, 1, "append to");
}
static void op_appends(dl_unpickler *u) {
  lua_Integer first, n = pop_mark(u, &first);
  extend(u, first, n, "extend");
}

static void set_items(dl_unpickler *u, lua_Integer first, lua_Integer n, const char *op) {
  lua_State *L = u->L;
  peek(u, 0);
  if (!dl_unpickle_has_meta(u, -1, u->dict_meta))
    dl_unpickle_bad(u, "Can only %s for dict, collections.OrderedDict, collections.Counter, but "
                    "got <class '%s'>", op, dl_unpickle_type(u));
  if (n % 2) dl_unpickle_bad(u, "list index out of range");
  for (lua_Integer i = 0; i < n; i += 2) {
    lua_rawgeti(L, u->stack, first + i);
    lua_rawgeti(L, u->stack, first + i + 1);
    dl_unpickle_check_value(u, -1);
    dl_unpickle_check_value(u, -2);
    if (lua_type(L, -2) == LUA_TNUMBER && isnan(lua_tonumber(L, -2)))
      dl_unpickle_bad(u, "nan is the key of a dict, which no table of Lua can have");
    lua_settable(L, -3);
  }
  lua_pop(L, 1);
}

static void op_setitem(dl_unpickler *u) {
  need(u, 3);
  u->n -= 2;
  set_items(u, u->n + 1, 2, "SETITEM");
}
static void op_setitems(dl_unpickler *u) {
  lua_Integer first, n = pop_mark(u, &first);
  set_items(u, first, n, "SETITEMS");
}

/* ---- instructions: plain values ------------------------------------------------------------- */
static void op_none(dl_unpickler *u) {
  dl_push_none(u->L);
  push(u);
}
static void push_bool(dl_unpickler *u, int v) {
  lua_pushboolean(u->L, v);
  push(u);
}
static void op_true(dl_unpickler *u) { push_bool(u, 1); }
static void op_false(dl_unpickler *u) { push_bool(u, 0); }
static void push_int(dl_unpickler *u, int64_t v) {
  lua_pushinteger(u->L, v);
  push(u);
}
static void op_int(dl_unpickler *u) { push_int(u, (int32_t)(uint32_t)number(u, 4)); }
static void op_int1(dl_unpickler *u) { push_int(u, (int64_t)number(u, 1)); }
static void op_int2(dl_unpickler *u) { push_int(u, (int64_t)number(u, 2)); }

static void op_float(dl_unpickler *u) {
  const unsigned char *p = take(u, 8);
  union { uint64_t u; double f; } v = {0};
  for (int i = 0; i < 8; i++) v.u = v.u << 8 | p[i];
  lua_pushnumber(u->L, v.f);
  push(u);
}

/* An integer of any length, little-endian. What 64 bits do not hold becomes a float, as a literal
 * of that length in Lua does. */
static void op_long(dl_unpickler *u) {
  int n = (int)number(u, 1);
  const unsigned char *p = take(u, (uint64_t)n);
  bool minus = n && p[n - 1] & 0x80;
  uint64_t v = minus ? UINT64_MAX : 0;
  double f = minus ? -1 : 0;
  bool fits = true;
  for (int i = n - 1; i >= 0; i--) {
    if (i >= 8) fits &= p[i] == (minus ? 0xff : 0);
    else v = v << 8 | p[i];
    f = f * 256 + p[i];
  }
  if (n >= 8 && (p[7] & 0x80) != (minus ? 0x80 : 0)) fits = false;
  if (fits) {
    push_int(u, (int64_t)v);
    return;
  }
  dl_warn(true, "UserWarning", "the file holds an integer of more than 64 bits: read as a float");
  lua_pushnumber(u->L, f);
  push(u);
}

static void push_text(dl_unpickler *u, uint64_t n) {
  const unsigned char *p = take(u, n);
  lua_pushlstring(u->L, (const char *)p, (size_t)n);
  push(u);
}
static void op_text(dl_unpickler *u) { push_text(u, number(u, 4)); }
static void op_short_text(dl_unpickler *u) { push_text(u, number(u, 1)); }

/* ---- instructions: memory of what was made -------------------------------------------------- */
static void get(dl_unpickler *u, lua_Integer i) {
  if (lua_rawgeti(u->L, u->memo, i) == LUA_TNIL)
    dl_unpickle_bad(u, "value %lld is asked for and was never remembered", (long long)i);
  push(u);
}
static void op_get(dl_unpickler *u) { get(u, (lua_Integer)number(u, 1)); }
static void op_long_get(dl_unpickler *u) { get(u, (lua_Integer)number(u, 4)); }
static void put(dl_unpickler *u, lua_Integer i) {
  peek(u, 0);
  lua_rawseti(u->L, u->memo, i);
}
static void op_put(dl_unpickler *u) { put(u, (lua_Integer)number(u, 1)); }
static void op_long_put(dl_unpickler *u) { put(u, (lua_Integer)number(u, 4)); }

/* ---- instructions: names, and what they make ------------------------------------------------ */
/* A line of the pickle as a string on Lua's stack. */
static const char *line(dl_unpickler *u) {
  size_t room = (size_t)(u->end - u->p);
  const unsigned char *nl = memchr(u->p, '\n', room < NAME_BYTES ? room : NAME_BYTES);
  if (!nl) dl_unpickle_bad(u, "pickle data was truncated");
  size_t n = (size_t)(nl - u->p);
  for (size_t i = 0; i < n; i++)
    if (u->p[i] < ' ' || u->p[i] > '~') dl_unpickle_bad(u, "a name with odd characters");
  const char *s = lua_pushlstring(u->L, (const char *)u->p, n);
  u->p = nl + 1;
  return s;
}

static void op_global(dl_unpickler *u) {
  static const char *const blocked[] = {"sys", "os", "posix", "nt"};
  const char *module = line(u), *name = line(u);
  if (!strcmp(module, "__builtin__")) module = "builtins"; /* as Python 2 called it */
  for (int i = 0; i < 4; i++)
    if (!strcmp(module, blocked[i]))
      dl_unpickle_bad(u, "Trying to load unsupported GLOBAL %s.%s whose module %s is blocked.",
                      module, name, module);
  const char *full = lua_pushfstring(u->L, "%s.%s", module, name);
  dl_unpickle_global(u, full);
  push(u);
  lua_pop(u->L, 3);
}

static void op_reduce(dl_unpickler *u) {
  pop(u);
  peek(u, 0);
  int args = lua_gettop(u->L) - 1;
  const dl_global *g = lua_touserdata(u->L, -1);
  if (!lua_islightuserdata(u->L, -1) || !g->make)
    dl_unpickle_bad(u, "Trying to call reduce for unrecognized function %s",
                    lua_islightuserdata(u->L, -1) ? g->name : dl_unpickle_type(u));
  if (!dl_unpickle_is_tuple(u, args)) dl_unpickle_bad(u, "argument after * must be an iterable");
  g->make(u, g, args);
  u->n--;
  push(u);
  lua_settop(u->L, args - 1);
}

static void op_newobj(dl_unpickler *u) {
  need(u, 2);
  peek(u, 1);
  dl_unpickle_bad(u, "Can only create new object for nn.Parameter or classes allowlisted via "
                  "`add_safe_globals` but got %s",
                  lua_islightuserdata(u->L, -1) ? ((dl_global *)lua_touserdata(u->L, -1))->name
                                                : luaL_tolstring(u->L, -1, NULL));
}

/* What an OrderedDict carries besides its items (a state_dict's _metadata: versions of layers)
 * has no use here. */
static void op_build(dl_unpickler *u) {
  need(u, 2);
  u->n--;
  peek(u, 0);
  if (!dl_unpickle_has_meta(u, -1, u->dict_meta))
    dl_unpickle_bad(u, "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                    "`add_safe_globals`, but got <class '%s'>", dl_unpickle_type(u));
  lua_pop(u->L, 1);
}

static void op_persistent(dl_unpickler *u) {
  pop(u);
  if (!dl_unpickle_is_tuple(u, -1))
    dl_unpickle_bad(u, "persistent_load id must be tuple or int, but got <class '%s'>",
                    dl_unpickle_type(u));
  int id = lua_gettop(u->L);
  dl_unpickle_storage(u, id);
  lua_pushvalue(u->L, -1);
  lua_pushboolean(u->L, 1);
  lua_rawset(u->L, u->raw);
  push(u);
  lua_settop(u->L, id - 1);
}

static void op_proto(dl_unpickler *u) {
  int v = (int)number(u, 1);
  if (v != 2)
    dl_warn(true, "UserWarning", "Detected pickle protocol %d in the checkpoint, which was not the "
            "default pickle protocol used by `torch.load` (2). The weights_only Unpickler might "
            "not support all instructions implemented by this protocol, please file an issue for "
            "adding support if you encounter this.", v);
}

/* ---- running -------------------------------------------------------------------------------- */
static void (*const ops[256])(dl_unpickler *u) = {
  [0x80] = op_proto, ['c'] = op_global, ['R'] = op_reduce, [0x81] = op_newobj, ['b'] = op_build,
  ['a'] = op_append, ['e'] = op_appends, ['s'] = op_setitem, ['u'] = op_setitems, ['('] = mark,
  ['t'] = op_tuple, [')'] = op_tuple0, [0x85] = op_tuple1, [0x86] = op_tuple2, [0x87] = op_tuple3,
  ['N'] = op_none, [0x88] = op_true, [0x89] = op_false, [']'] = op_empty_list,
  ['}'] = op_empty_dict, ['J'] = op_int, ['K'] = op_int1, ['M'] = op_int2, ['G'] = op_float,
  [0x8a] = op_long, ['X'] = op_text, ['U'] = op_short_text, ['Q'] = op_persistent, ['h'] = op_get,
  ['j'] = op_long_get, ['q'] = op_put, ['r'] = op_long_put,
};

static void run(dl_unpickler *u) {
  for (unsigned k = 1;; k++) {
    int c = *take(u, 1);
    if (c == '.') break;
    if (!ops[c]) dl_unpickle_bad(u, "Unsupported operand %d", c);
    ops[c](u);
    if (k % POLL_OPS == 0) {
      dl_status st = dl_poll();
      if (st != DL_OK) dl_raise(u->L, st);
    }
  }
  pop(u);
  dl_unpickle_check_value(u, -1);
}

static int field(lua_State *L, int env, const char *key, int type) {
  if (lua_getfield(L, env, key) != type) luaL_argerror(L, env, key);
  return lua_gettop(L);
}

/* _unpickle(bytes, {dict=, ordered=, load=, tuple_meta=, list_meta=, dict_meta=}) -> value
 * dict() and ordered() make tables that keep the order of their keys; load(dtype, key, location,
 * numel) gives a storage as a tensor of one dimension. */
static int l_unpickle(lua_State *L) {
  size_t n;
  const char *s = luaL_checklstring(L, 1, &n);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checkstack(L, 40, "unpickle");
  lua_settop(L, 2);
  dl_unpickler u = {.L = L, .p = (const unsigned char *)s, .end = (const unsigned char *)s + n,
                    .env = 2};
  int *tables[] = {&u.stack, &u.memo, &u.marks, &u.raw};
  for (int i = 0; i < 4; i++) {
    lua_newtable(L);
    *tables[i] = lua_gettop(L);
  }
  u.tuple_meta = field(L, 2, "tuple_meta", LUA_TTABLE);
  u.list_meta = field(L, 2, "list_meta", LUA_TTABLE);
  u.dict_meta = field(L, 2, "dict_meta", LUA_TTABLE);
  run(&u);
  return 1;
}

void dl_unpickle_open(lua_State *L, int dlrepl) {
  lua_pushcfunction(L, l_unpickle);
  lua_setfield(L, dlrepl, "_unpickle");
}
