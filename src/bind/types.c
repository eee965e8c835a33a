/* types.c -- torch.Size, dtype, device, None, slice, finfo, iinfo
 *
 * dtype and device objects are made once each, so that == and table keys compare by value.
 * A Size is a table holding entries 0 … n-1 raw: it equals a plain list of the same numbers, and
 * reading past its end raises.
 *
 * MUST NOT  know tensors. */
#include "bind/bind.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char size_key = 0, tuple_key = 0, dtype_key = 0, device_key = 0, none_key = 0;

/* ---- None ----------------------------------------------------------------------------------- */
void dl_push_none(lua_State *L) { lua_rawgetp(L, LUA_REGISTRYINDEX, &none_key); }

static int l_none_tostring(lua_State *L) {
  lua_pushliteral(L, "None");
  return 1;
}

static void open_none(lua_State *L) {
  dl_metatable(L, &dl_t_none);
  lua_pushcfunction(L, l_none_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  dl_new_object(L, &dl_t_none);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &none_key);
  lua_setglobal(L, "None");
}

/* ---- Size ----------------------------------------------------------------------------------- */
static void push_sizes(lua_State *L, int n, const int64_t *size, const void *meta) {
  lua_createtable(L, n, n ? 1 : 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, size[i]);
    lua_rawseti(L, -2, i);
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, meta);
  lua_setmetatable(L, -2);
}

void dl_push_size(lua_State *L, int n, const int64_t *size) { push_sizes(L, n, size, &size_key); }
void dl_push_tuple(lua_State *L, int n, const int64_t *size) { push_sizes(L, n, size, &tuple_key); }

bool dl_is_size(lua_State *L, int i) {
  if (!lua_istable(L, i) || !lua_getmetatable(L, i)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &size_key);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &tuple_key);
  bool yes = lua_rawequal(L, -1, -3) || lua_rawequal(L, -2, -3);
  lua_pop(L, 3);
  return yes;
}

static lua_Integer size_len(lua_State *L, int i) {
  if (!lua_istable(L, i)) {
    dl_fail(DL_TypeError, DL_E_ARGUMENT, "unbound method of torch.Size needs a Size, not %s",
            dl_type_name(L, i));
    dl_note("a method is called with a colon: x.shape:numel()");
    return dl_raise(L, DL_E_ARGUMENT);
  }
  lua_Integer n = (lua_Integer)lua_rawlen(L, i); /* counts entries 1 … n-1 */
  if (n) return n + 1;
  bool any = lua_rawgeti(L, i, 0) != LUA_TNIL;
  lua_pop(L, 1);
  return any ? 1 : 0;
}

static int l_size_len(lua_State *L) {
  lua_pushinteger(L, size_len(L, 1));
  return 1;
}

static int l_size_numel(lua_State *L) {
  lua_Integer n = size_len(L, 1), p = 1;
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i);
    p *= lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  lua_pushinteger(L, p);
  return 1;
}

static int l_size_unpack(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  int n = (int)size_len(L, 1);
  luaL_checkstack(L, n, "unpack");
  for (int i = 0; i < n; i++) lua_rawgeti(L, 1, i);
  return n;
}

static int l_size_tolist(lua_State *L) {
  lua_Integer n = size_len(L, 1);
  lua_createtable(L, (int)n, 0);
  for (lua_Integer i = 0; i < n; i++) {
    lua_rawgeti(L, 1, i);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* size["1:"], size[":-1"]: Python's slice of a tuple, without a step */
static int slice_text(lua_State *L, const char *s) {
  int64_t n = size_len(L, 1), at[2] = {0, n}, v[64];
  for (int k = 0; k < 2; k++) {
    char *end;
    long long i = strtoll(s, &end, 10);
    if (end != s) at[k] = i < 0 ? i + n : i;
    at[k] = at[k] < 0 ? 0 : at[k] > n ? n : at[k];
    s = end + strspn(end, " ");
    if (*s == ':' && k == 0) s++;
  }
  if (*s) return dl_throw(L, DL_IndexError, DL_E_INDEX,
                          "a Size takes an index or a slice like \"1:\"");
  int count = 0;
  for (int64_t i = at[0]; i < at[1] && count < 64; i++) {
    lua_rawgeti(L, 1, i);
    v[count++] = lua_tointeger(L, -1);
    lua_pop(L, 1);
  }
  dl_push_size(L, count, v);
  return 1;
}

static int l_size_add(lua_State *L) {
  int64_t v[64];
  int n = 0;
  for (int side = 1; side <= 2; side++) {
    if (!dl_is_list(L, side))
      return dl_type_error(L, "can only concatenate tuple (not \"%s\") to tuple",
                           dl_type_name(L, side));
    for (int64_t k = 0; k < dl_list_len(L, side) && n < 64; k++) {
      dl_list_get(L, side, k);
      if (dl_get_int(L, -1, &v[n])) n++;
      lua_pop(L, 1);
    }
  }
  dl_push_size(L, n, v);
  return 1;
}

static int l_size_index(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"numel", l_size_numel}, {"unpack", l_size_unpack}, {"tolist", l_size_tolist}, {NULL, NULL}};
  int64_t k;
  if (dl_get_int(L, 2, &k)) {
    lua_Integer n = size_len(L, 1);
    if (k < 0) k += n;
    if (k < 0 || k >= n) {
      dl_fail(DL_IndexError, DL_E_INDEX, "tuple index out of range");
      dl_note("a Size counts from 0 to %lld; all entries at once: size:unpack()", (long long)n - 1);
      return dl_raise(L, DL_E_INDEX);
    }
    lua_rawgeti(L, 1, k);
    return 1;
  }
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (const luaL_Reg *r = methods; r->name; r++)
    if (!strcmp(r->name, name)) {
      lua_pushcfunction(L, r->func);
      return 1;
    }
  if (strchr(name, ':')) return slice_text(L, name);
  return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT, "'torch.Size' object has no attribute '%s'",
                  name);
}

static int l_size_newindex(lua_State *L) {
  return dl_type_error(L, "'torch.Size' object does not support item assignment");
}

static int l_size_eq(lua_State *L) {
  bool same = dl_is_list(L, 1) && dl_is_list(L, 2) && dl_list_len(L, 1) == dl_list_len(L, 2);
  for (int64_t i = 0; same && i < dl_list_len(L, 1); i++) {
    dl_list_get(L, 1, i);
    dl_list_get(L, 2, i);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  lua_pushboolean(L, same);
  return 1;
}

static int push_between(lua_State *L, const char *open, const char *close) {
  luaL_Buffer b;
  lua_Integer n = size_len(L, 1);
  luaL_buffinit(L, &b);
  luaL_addstring(&b, open);
  for (lua_Integer i = 0; i < n; i++) {
    if (i) luaL_addstring(&b, ", ");
    lua_rawgeti(L, 1, i);
    luaL_tolstring(L, -1, NULL);
    lua_remove(L, -2);
    luaL_addvalue(&b);
  }
  luaL_addstring(&b, close);
  luaL_pushresult(&b);
  return 1;
}

static int l_size_tostring(lua_State *L) { return push_between(L, "torch.Size([", "])"); }
static int l_tuple_tostring(lua_State *L) {
  return push_between(L, "(", size_len(L, 1) == 1 ? ",)" : ")");
}

static int l_concat_text(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static int l_size_next(lua_State *L) {
  lua_Integer i = lua_isnoneornil(L, 2) ? 0 : luaL_checkinteger(L, 2) + 1;
  if (i >= size_len(L, 1)) return 0;
  lua_pushinteger(L, i);
  lua_rawgeti(L, 1, i);
  return 2;
}

static int l_size_pairs(lua_State *L) {
  lua_pushcfunction(L, l_size_next);
  lua_pushvalue(L, 1);
  return 2;
}

/* torch.Size{2, 3} */
static int l_size_new(lua_State *L) {
  int64_t v[64];
  if (!dl_is_list(L, 1) || dl_list_len(L, 1) > 64)
    return dl_type_error(L, "torch.Size() takes a list of at most 64 sizes, not %s",
                         dl_type_name(L, 1));
  int n = (int)dl_list_len(L, 1);
  for (int i = 0; i < n; i++) {
    dl_list_get(L, 1, i);
    if (!dl_get_int(L, -1, &v[i]))
      return dl_type_error(L, "torch.Size() takes an iterable of 'int' (item %d is '%s')", i,
                           dl_type_name(L, -1));
    lua_pop(L, 1);
  }
  dl_push_size(L, n, v);
  return 1;
}

static void open_size(lua_State *L, int torch) {
  static const luaL_Reg meta[] = {
    {"__len", l_size_len}, {"__index", l_size_index}, {"__newindex", l_size_newindex},
    {"__eq", l_size_eq}, {"__tostring", l_size_tostring}, {"__concat", l_concat_text},
    {"__add", l_size_add}, {"__pairs", l_size_pairs}, {"__ipairs", l_size_pairs}, {NULL, NULL}};
  for (int tuple = 0; tuple < 2; tuple++) {
    lua_newtable(L);
    dl_set_funcs(L, -1, meta);
    if (tuple) {
      lua_pushcfunction(L, l_tuple_tostring); /* the shape of an array */
      lua_setfield(L, -2, "__tostring");
    }
    dl_hide_metatable(L, tuple ? "tuple" : "torch.Size");
    lua_rawsetp(L, LUA_REGISTRYINDEX, tuple ? &tuple_key : &size_key);
  }
  lua_pushcfunction(L, l_size_new);
  lua_setfield(L, torch, "Size");
}

/* ---- dtype ---------------------------------------------------------------------------------- */
void dl_push_dtype(lua_State *L, dl_dtype d) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &dtype_key);
  lua_rawgeti(L, -1, d);
  lua_remove(L, -2);
}

static int l_dtype_tostring(lua_State *L) {
  const dl_word *w = dl_self(L, &dl_t_dtype);
  lua_pushfstring(L, "torch.%s", dl_dtypes[w->v].name);
  return 1;
}

static int l_dtype_index(lua_State *L) {
  const dl_word *w = dl_self(L, &dl_t_dtype);
  const char *key = luaL_checkstring(L, 2);
  if (!strcmp(key, "itemsize")) lua_pushinteger(L, dl_dtypes[w->v].size);
  else if (!strcmp(key, "is_floating_point")) lua_pushboolean(L, dl_dtype_is_float((dl_dtype)w->v));
  else if (!strcmp(key, "is_complex")) lua_pushboolean(L, 0);
  else if (!strcmp(key, "is_signed")) lua_pushboolean(L, w->v != DL_BOOL && w->v != DL_U8);
  else return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT,
                       "'torch.dtype' object has no attribute '%s'", key);
  return 1;
}

static void open_dtype(lua_State *L, int torch) {
  dl_metatable(L, &dl_t_dtype);
  static const luaL_Reg meta[] = {
    {"__tostring", l_dtype_tostring}, {"__index", l_dtype_index}, {"__concat", l_concat_text},
    {NULL, NULL}};
  dl_set_funcs(L, -1, meta);
  lua_pop(L, 1);
  lua_newtable(L);
  for (int d = 0; d < DL_DTYPE_COUNT; d++) {
    dl_word *w = dl_new_object(L, &dl_t_dtype);
    w->v = d;
    lua_pushvalue(L, -1);
    lua_setfield(L, torch, dl_dtypes[d].name);
    if (dl_dtypes[d].alias) {
      lua_pushvalue(L, -1);
      lua_setfield(L, torch, dl_dtypes[d].alias);
    }
    lua_rawseti(L, -2, d);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &dtype_key);
}

/* ---- device --------------------------------------------------------------------------------- */
void dl_push_device(lua_State *L, dl_device d) {
  lua_Integer id = (lua_Integer)d.type * 256 + (uint8_t)d.index;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &device_key);
  if (lua_rawgeti(L, -1, id) == LUA_TNIL) {
    lua_pop(L, 1);
    dl_devbox *b = dl_new_object(L, &dl_t_device);
    b->d = d;
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, id);
  }
  lua_remove(L, -2);
}

static int l_device_tostring(lua_State *L) {
  const dl_devbox *b = dl_self(L, &dl_t_device);
  char buf[24];
  lua_pushstring(L, dl_device_str(b->d, buf));
  return 1;
}

static int l_device_index(lua_State *L) {
  const dl_devbox *b = dl_self(L, &dl_t_device);
  const char *key = luaL_checkstring(L, 2);
  char buf[24];
  if (!strcmp(key, "type")) {
    dl_device_str((dl_device){b->d.type, -1}, buf);
    lua_pushlstring(L, buf, strcspn(buf, ":"));
  } else if (!strcmp(key, "index")) {
    if (b->d.index < 0) lua_pushnil(L);
    else lua_pushinteger(L, b->d.index);
  } else {
    return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT,
                    "'torch.device' object has no attribute '%s'", key);
  }
  return 1;
}

/* torch.device("cuda:1"), torch.device("cuda", 1) */
static int l_device_new(lua_State *L) {
  dl_device d;
  int64_t index;
  if (!dl_get_device(L, 1, &d))
    return dl_type_error(L, "device(): argument 'type' must be str, not %s", dl_type_name(L, 1));
  if (dl_get_int(L, 2, &index)) {
    if (lua_type(L, 1) == LUA_TSTRING && d.index >= 0)
      return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "type (string) must not include an index "
                      "because index was passed explicitly: %s", lua_tostring(L, 1));
    if (index < 0 || index > 127)
      return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "Device index must not be negative");
    d.index = (int8_t)index;
  } else if (!dl_is_nil(L, 2)) {
    return dl_type_error(L, "device(): argument 'index' must be int, not %s", dl_type_name(L, 2));
  }
  dl_push_device(L, d);
  return 1;
}

static void open_device(lua_State *L, int torch) {
  dl_metatable(L, &dl_t_device);
  static const luaL_Reg meta[] = {
    {"__tostring", l_device_tostring}, {"__index", l_device_index}, {"__concat", l_concat_text},
    {NULL, NULL}};
  dl_set_funcs(L, -1, meta);
  lua_pop(L, 1);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &device_key);
  lua_pushcfunction(L, l_device_new);
  lua_setfield(L, torch, "device");
}

/* ---- slice(start, stop, step) --------------------------------------------------------------- */
static int l_slice(lua_State *L) {
  int n = lua_gettop(L);
  dl_slicebox *s = dl_new_object(L, &dl_t_slice);
  for (int i = 0; i < 3; i++) {
    int from = n == 1 ? (i == 1 ? 1 : 0) : i + 1; /* slice(stop) as in Python */
    if (from == 0 || from > n || dl_is_nil(L, from)) continue;
    if (!dl_get_int(L, from, &s->v[i]))
      return dl_type_error(L, "slice indices must be integers or None or have an __index__ method");
    s->has[i] = 1;
  }
  return 1;
}

/* ---- finfo, iinfo --------------------------------------------------------------------------- */
typedef struct { dl_dtype d; double resolution, max, eps, tiny; } finfo_row;
static const finfo_row finfos[] = {
  {DL_F16, 1e-3, 65504.0, 0x1p-10, 0x1p-14},
  {DL_BF16, 1e-2, 3.3895313892515355e38, 0x1p-7, 0x1p-126},
  {DL_F32, 1e-6, FLT_MAX, FLT_EPSILON, FLT_MIN},
  {DL_F64, 1e-15, DBL_MAX, DBL_EPSILON, DBL_MIN},
};

static int l_info_tostring(lua_State *L) {
  lua_getfield(L, 1, "_text");
  return 1;
}

static void finish_info(lua_State *L, dl_dtype d) {
  lua_pushinteger(L, 8 * (lua_Integer)dl_dtypes[d].size);
  lua_setfield(L, -2, "bits");
  lua_pushstring(L, dl_dtypes[d].name);
  lua_setfield(L, -2, "dtype");
  if (luaL_newmetatable(L, "torch.info")) {
    lua_pushcfunction(L, l_info_tostring);
    lua_setfield(L, -2, "__tostring");
  }
  lua_setmetatable(L, -2);
}

static const dl_word *check_type(lua_State *L, const char *fn, bool required) {
  const dl_word *w = dl_object(L, 1, &dl_t_dtype);
  if (lua_isnone(L, 1) && required)
    dl_type_error(L, "%s() missing 1 required positional arguments: \"type\"", fn);
  if (!w && !lua_isnone(L, 1))
    dl_type_error(L, "%s(): argument 'type' (position 1) must be torch.dtype, not %s", fn,
                  dl_type_name(L, 1));
  return w;
}

static int l_finfo(lua_State *L) {
  const dl_word *w = check_type(L, "finfo", false);
  dl_dtype d = w ? (dl_dtype)w->v : (dl_dtype)dl_default_dtype;
  for (size_t i = 0; i < sizeof finfos / sizeof *finfos; i++) {
    const finfo_row *f = &finfos[i];
    if (f->d != d) continue;
    const struct { const char *key; double v; } fields[] = {
      {"resolution", f->resolution}, {"min", -f->max}, {"max", f->max}, {"eps", f->eps},
      {"smallest_normal", f->tiny}, {"tiny", f->tiny}};
    lua_newtable(L);
    char num[64], text[512] = "finfo(";
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
      lua_pushnumber(L, fields[k].v);
      lua_setfield(L, -2, fields[k].key);
      snprintf(num, sizeof num, "%s=%g, ", fields[k].key, fields[k].v);
      strcat(text, num);
    }
    lua_pushfstring(L, "%sdtype=%s)", text, dl_dtypes[d].name);
    lua_setfield(L, -2, "_text");
    finish_info(L, d);
    return 1;
  }
  return dl_type_error(L,
                       "torch.finfo() requires a floating point input type. Use torch.iinfo to "
                       "handle 'torch.finfo'");
}

static int l_iinfo(lua_State *L) {
  const dl_word *w = check_type(L, "iinfo", true);
  if (w->v == DL_BOOL) return dl_type_error(L, "torch.bool is not supported by torch.iinfo");
  if (!dl_dtype_is_int((dl_dtype)w->v))
    return dl_type_error(L,
                         "torch.iinfo() requires an integer input type. Use torch.finfo to "
                         "handle 'torch.iinfo'");
  dl_dtype d = (dl_dtype)w->v;
  int bits = 8 * dl_dtypes[d].size - (d == DL_U8 ? 0 : 1);
  int64_t max = bits == 63 ? INT64_MAX : ((int64_t)1 << bits) - 1, min = d == DL_U8 ? 0 : -max - 1;
  lua_newtable(L);
  lua_pushinteger(L, max);
  lua_setfield(L, -2, "max");
  lua_pushinteger(L, min);
  lua_setfield(L, -2, "min");
  char text[128];
  snprintf(text, sizeof text, "iinfo(min=%g, max=%g, dtype=%s)", (double)min, (double)max,
           dl_dtypes[d].name);
  lua_pushstring(L, text);
  lua_setfield(L, -2, "_text");
  finish_info(L, d);
  return 1;
}

void dl_types_open(lua_State *L, int torch) {
  open_none(L);
  open_size(L, torch);
  open_dtype(L, torch);
  open_device(L, torch);
  dl_metatable(L, &dl_t_slice);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_slice);
  lua_setglobal(L, "slice");
  static const luaL_Reg funcs[] = {{"finfo", l_finfo}, {"iinfo", l_iinfo}, {NULL, NULL}};
  dl_set_funcs(L, torch, funcs);
}
