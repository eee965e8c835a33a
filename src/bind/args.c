/* args.c -- reads the arguments of a call by its schema
 *
 * Positional arguments, one trailing table of keywords, None, integral floats, lists, Size. The
 * same reader serves the ops of ops.def and the hand-written functions, which state a schema text
 * too.
 *
 * INVARIANT  Reading owns nothing: what needs memory is userdata anchored on the Lua stack.
 * MUST NOT   decide what a call means; that is dispatch's business. */
#include "bind/bind.h"

#include <stdlib.h>
#include <string.h>

/* ---- taking the call apart ------------------------------------------------------------------ */
static int raise_mixed(lua_State *L, const char *name) {
  dl_fail(DL_TypeError, DL_E_ARGUMENT,
          "%s(): values and keywords stand in one table", name);
  dl_note("keywords travel in a table of their own: %s({2, 3}, {dtype=torch.float64})", name);
  return dl_raise(L, DL_E_ARGUMENT);
}

bool dl_is_keywords(lua_State *L, int i) {
  if (!lua_istable(L, i) || lua_rawlen(L, i) > 0) return false;
  if (lua_getmetatable(L, i)) {
    lua_pop(L, 1);
    return false;
  }
  i = lua_absindex(L, i);
  lua_pushnil(L);
  if (!lua_next(L, i)) return false;
  bool yes = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return yes;
}

static bool is_mixed(lua_State *L, int i) {
  if (!lua_istable(L, i)) return false;
  lua_Unsigned n = lua_rawlen(L, i);
  if (n == 0 || lua_getmetatable(L, i)) {
    if (n) lua_pop(L, 1);
    return false;
  }
  lua_pushinteger(L, (lua_Integer)n);
  if (!lua_next(L, i)) return false;
  bool yes = lua_type(L, -2) == LUA_TSTRING;
  lua_pop(L, 2);
  return yes;
}

void dl_args_begin(lua_State *L, dl_args *a, const char *name, bool method) {
  int top = lua_gettop(L);
  luaL_checkstack(L, 2 * DL_MAX_PARAM + 16, name);
  while (top > (method ? 1 : 0) && lua_isnil(L, top)) top--;
  a->L = L;
  a->name = name;
  a->first = 1;
  a->n = top;
  a->kw = 0;
  a->method = method;
  a->python = false;
  a->any = 0;
  if (top > 0 && lua_type(L, top) == LUA_TTABLE) {
    if (dl_is_keywords(L, top)) {
      a->kw = top;
      a->n--;
    } else if (is_mixed(L, top)) {
      raise_mixed(L, name);
    }
  }
}

/* ---- single values -------------------------------------------------------------------------- */
static const dl_tensor *plain_scalar(lua_State *L, int i) {
  const dl_tensor *t = dl_get_tensor(L, i);
  return t && t->ndim == 0 && !t->requires_grad ? t : NULL;
}

bool dl_get_int(lua_State *L, int i, int64_t *out) {
  int ok;
  if (lua_type(L, i) == LUA_TNUMBER) {
    *out = lua_tointegerx(L, i, &ok);
    return ok;
  }
  const dl_tensor *t = plain_scalar(L, i);
  if (!t || !dl_dtype_is_int((dl_dtype)t->dtype)) return false;
  *out = dl_tensor_item_i(t);
  dl_check_read(L, t);
  return true;
}

static bool get_num(lua_State *L, int i, dl_arg *out) {
  int type = lua_type(L, i);
  if (type == LUA_TNUMBER) {
    if (lua_isinteger(L, i)) *out = I(lua_tointeger(L, i));
    else *out = F(lua_tonumber(L, i));
    return true;
  }
  if (type == LUA_TBOOLEAN) {
    *out = B(lua_toboolean(L, i));
    return true;
  }
  const dl_tensor *t = plain_scalar(L, i);
  if (!t) return false;
  if (dl_dtype_is_float((dl_dtype)t->dtype)) *out = F(dl_tensor_item_f(t));
  else *out = I(dl_tensor_item_i(t));
  dl_check_read(L, t);
  return true;
}

static bool get_float(lua_State *L, int i, dl_arg *out) {
  if (lua_type(L, i) == LUA_TBOOLEAN || !get_num(L, i, out)) return false;
  *out = F(dl_arg_f(out));
  return true;
}

static bool get_bool(lua_State *L, int i, dl_arg *out) {
  if (lua_type(L, i) != LUA_TBOOLEAN) return false;
  *out = B(lua_toboolean(L, i));
  return true;
}

static bool get_str(lua_State *L, int i, dl_arg *out) {
  if (lua_type(L, i) != LUA_TSTRING) return false;
  *out = S(lua_tostring(L, i));
  return true;
}

static bool get_dtype(lua_State *L, int i, dl_arg *out) {
  const dl_word *w = dl_object(L, i, &dl_t_dtype);
  if (!w) return false;
  *out = DT(w->v);
  return true;
}

bool dl_get_device(lua_State *L, int i, dl_device *out) {
  const dl_devbox *d = dl_object(L, i, &dl_t_device);
  if (d) {
    *out = d->d;
  } else if (lua_type(L, i) == LUA_TSTRING) {
    dl_status st = dl_device_parse(lua_tostring(L, i), out);
    if (st != DL_OK) dl_raise(L, st);
  } else if (lua_isinteger(L, i)) {
    *out = (dl_device){DL_CUDA, (int8_t)lua_tointeger(L, i)};
  } else {
    return false;
  }
  return true;
}

static bool get_device(lua_State *L, int i, dl_arg *out) {
  dl_device d;
  if (!dl_get_device(L, i, &d)) return false;
  *out = (dl_arg){.tag = DL_A_DEVICE, .dev = d};
  return true;
}

static bool get_gen(lua_State *L, int i, dl_arg *out) {
  dl_genbox *g = dl_object(L, i, &dl_t_gen);
  if (!g) return false;
  *out = (dl_arg){.tag = DL_A_GEN, .gen = g->g};
  return true;
}

static bool get_tensor(lua_State *L, int i, dl_arg *out) {
  dl_tensor *t = dl_get_tensor(L, i);
  if (!t) return false;
  *out = T(t);
  return true;
}

static bool get_tn(lua_State *L, int i, dl_arg *out) {
  return get_tensor(L, i, out) || get_num(L, i, out);
}

static bool get_int(lua_State *L, int i, dl_arg *out) {
  int64_t v;
  if (!dl_get_int(L, i, &v)) return false;
  *out = I(v);
  return true;
}

/* ---- lists ---------------------------------------------------------------------------------- */
bool dl_is_list(lua_State *L, int i) {
  if (!lua_istable(L, i)) return false;
  if (dl_is_size(L, i) || lua_rawlen(L, i) > 0) return true;
  i = lua_absindex(L, i);
  lua_pushnil(L);
  if (!lua_next(L, i)) return true;
  lua_pop(L, 2);
  return false;
}

int64_t dl_list_len(lua_State *L, int i) {
  if (!dl_is_size(L, i)) return (int64_t)lua_rawlen(L, i);
  lua_len(L, i);
  int64_t n = lua_tointeger(L, -1);
  lua_pop(L, 1);
  return n;
}

void dl_list_get(lua_State *L, int i, int64_t k) {
  lua_rawgeti(L, i, dl_is_size(L, i) ? k : k + 1);
}

/* room for n words, in the struct or in userdata on the stack */
static int64_t *int_room(dl_args *a, int64_t n) {
  if (a->n_int + n <= (int64_t)(sizeof a->ints / sizeof *a->ints)) {
    int64_t *p = a->ints + a->n_int;
    a->n_int += (int)n;
    return p;
  }
  return lua_newuserdatauv(a->L, (size_t)n * sizeof(int64_t), 0);
}

static dl_tensor **tensor_room(dl_args *a, int64_t n) {
  if (a->n_ts + n <= (int64_t)(sizeof a->ts / sizeof *a->ts)) {
    dl_tensor **p = a->ts + a->n_ts;
    a->n_ts += (int)n;
    return p;
  }
  return lua_newuserdatauv(a->L, (size_t)n * sizeof(dl_tensor *), 0);
}

static dl_fit get_ints(dl_args *a, const dl_param *p, int i, dl_arg *out, int64_t *elem) {
  lua_State *L = a->L;
  int64_t one;
  if (dl_get_int(L, i, &one) && strcmp(p->name, "size") != 0) {
    int n = p->repeat ? p->repeat : 1;
    int64_t *v = int_room(a, n);
    for (int k = 0; k < n; k++) v[k] = one;
    *out = L(v, n);
    return DL_FIT;
  }
  if (!dl_is_list(L, i)) return DL_BAD_TYPE;
  int64_t n = dl_list_len(L, i);
  if (p->repeat > 1 && n == 1) {          /* {3} stands for {3, 3} as 3 does */
    dl_list_get(L, i, 0);
    int first = lua_gettop(L);
    dl_fit fit = get_ints(a, p, first, out, elem);
    lua_remove(L, first);
    return fit;
  }
  int64_t *v = int_room(a, n ? n : 1);
  for (int64_t k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    bool ok = dl_get_int(L, -1, &v[k]);
    if (!ok) {
      *elem = k;
      return DL_BAD_ELEM;
    }
    lua_pop(L, 1);
  }
  *out = L(v, (int32_t)n);
  return DL_FIT;
}

static dl_fit get_tensors(dl_args *a, const dl_param *p, int i, dl_arg *out, int64_t *elem) {
  lua_State *L = a->L;
  if (!dl_is_list(L, i)) return DL_BAD_TYPE;
  int64_t n = dl_list_len(L, i);
  dl_tensor **v = tensor_room(a, n ? n : 1);
  for (int64_t k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    v[k] = dl_get_tensor(L, -1);
    if (!v[k] && !(p->elem_optional && dl_is_nil(L, -1))) {
      *elem = k;
      return DL_BAD_ELEM;
    }
    lua_pop(L, 1);
  }
  *out = TS(v, (int32_t)n);
  return DL_FIT;
}

/* ---- one parameter -------------------------------------------------------------------------- */
typedef bool (*reader)(lua_State *, int, dl_arg *);
static const reader readers[] = {
  [DL_P_TENSOR] = get_tensor, [DL_P_TN] = get_tn, [DL_P_NUM] = get_num, [DL_P_INT] = get_int,
  [DL_P_FLOAT] = get_float, [DL_P_BOOL] = get_bool, [DL_P_STR] = get_str, [DL_P_DTYPE] = get_dtype,
  [DL_P_DEVICE] = get_device, [DL_P_GEN] = get_gen,
};

/* torch.add(2, x): a number where self is a tensor, in functions whose other operand may be one */
static bool number_as_self(dl_args *a, const dl_schema *s, int k, int i, dl_arg *out) {
  dl_arg num;
  if (k != 0 || a->method || s->nparam < 2 || s->p[1].type != DL_P_TN ||
      lua_type(a->L, i) != LUA_TNUMBER || !get_num(a->L, i, &num))
    return false;
  dl_box *b = dl_push_shell(a->L);
  dl_status st = num.tag == DL_A_INT ? dl_tensor_scalar_i(DL_I64, num.i, &b->t)
                                     : dl_tensor_scalar_f(dl_default_dtype, num.f, &b->t);
  if (st != DL_OK) dl_raise(a->L, st);
  b->t->wrapped = 1;
  *out = T(b->t);
  return true;
}

static dl_fit read_param(dl_args *a, const dl_schema *s, int k, int i, int64_t *elem) {
  const dl_param *p = &s->p[k];
  dl_arg *out = &a->arg[k];
  *elem = -1;
  if (a->any & (1u << k)) {
    *out = NIL;
    return DL_FIT;
  }
  if (dl_is_none(a->L, i)) {
    *out = NIL;
    return p->optional ? DL_FIT : DL_BAD_TYPE;
  }
  if (p->type == DL_P_INTS) return get_ints(a, p, i, out, elem);
  if (p->type == DL_P_TENSORS) return get_tensors(a, p, i, out, elem);
  if (readers[p->type](a->L, i, out) || number_as_self(a, s, k, i, out)) return DL_FIT;
  return DL_BAD_TYPE;
}

/* ---- a whole call --------------------------------------------------------------------------- */
static bool takes_rest(dl_args *a, const dl_param *p, int i) {
  int64_t v;
  return p->varargs && dl_get_int(a->L, i, &v);
}

static dl_fit read_rest(dl_args *a, int k, int i, int last, int *which, int64_t *elem) {
  int64_t n = last - i + 1, *v = int_room(a, n);
  for (int64_t j = 0; j < n; j++)
    if (!dl_get_int(a->L, i + (int)j, &v[j])) {
      *which = k;
      *elem = j;
      lua_pushvalue(a->L, i + (int)j);
      return DL_BAD_ELEM;
    }
  a->arg[k] = L(v, (int32_t)n);
  a->at[k] = i;
  return DL_FIT;
}

static dl_fit read_positional(dl_args *a, const dl_schema *s, int *which, int64_t *elem) {
  int last = a->first + a->n - 1, i = a->first, k = 0;
  for (; i <= last && k < s->npos; i++, k++) {
    if (takes_rest(a, &s->p[k], i)) return read_rest(a, k, i, last, which, elem);
    if (lua_isnil(a->L, i)) {             /* nil stands for the default, or for None */
      a->arg[k] = NIL;
      a->at[k] = s->p[k].optional && !s->p[k].has_default ? i : 0;
      continue;
    }
    a->at[k] = i;
    *which = k;
    dl_fit fit = read_param(a, s, k, i, elem);
    if (fit != DL_FIT) return fit;
  }
  return i <= last ? DL_TOO_MANY : DL_FIT;
}

static const char *const aliases[][2] = {
  {"self", "input"}, {"input", "self"}, {"dim", "axis"}, {"keepdim", "keepdims"}, {"end", "End"},
};

bool dl_param_named(const dl_param *p, const char *key) {
  if (!strcmp(p->name, key)) return true;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (!strcmp(p->name, aliases[i][0]) && !strcmp(key, aliases[i][1])) return true;
  return false;
}

static int find_param(const dl_schema *s, const char *key) {
  for (int k = 0; k < s->nparam; k++)
    if (dl_param_named(&s->p[k], key)) return k;
  return -1;
}

static dl_fit read_keyword(dl_args *a, const dl_schema *s, int i, bool out_ok, int *which,
                           int64_t *elem) {
  lua_State *L = a->L;
  if (lua_type(L, i - 1) != LUA_TSTRING) return DL_BAD_KW;
  const char *key = lua_tostring(L, i - 1);
  int k = find_param(s, key);
  if (k < 0 && out_ok && !strcmp(key, "out")) {
    if (!dl_is_nil(L, i)) a->out = i;
    return DL_FIT;
  }
  if (k < 0) return DL_BAD_KW;
  *which = k;
  if (a->at[k]) return DL_TWICE;
  a->at[k] = i;
  return read_param(a, s, k, i, elem);
}

/* values stay on the stack, so that lists and strings live until the op has run */
static dl_fit read_keywords(dl_args *a, const dl_schema *s, bool out_ok, int *which,
                            int64_t *elem) {
  lua_State *L = a->L;
  lua_pushnil(L);
  while (lua_next(L, a->kw)) {
    luaL_checkstack(L, 8, "keywords");
    int value = lua_gettop(L);
    dl_fit fit = read_keyword(a, s, value, out_ok, which, elem);
    if (fit != DL_FIT) return fit;
    lua_pushvalue(L, value - 1);          /* lua_next pops this copy of the key */
  }
  return DL_FIT;
}

static dl_fit fill_defaults(dl_args *a, const dl_schema *s, int *which) {
  for (int k = 0; k < s->nparam; k++) {
    if (a->at[k]) continue;
    const dl_param *p = &s->p[k];
    if (!p->has_default) {
      *which = k;
      return DL_MISSING;
    }
    a->arg[k] = p->dflt;
  }
  return DL_FIT;
}

dl_fit dl_args_try(dl_args *a, const dl_schema *s, bool out_ok, int *which, int64_t *elem) {
  memset(a->at, 0, sizeof a->at);
  a->out = a->n_int = a->n_ts = 0;
  *which = -1;
  *elem = -1;
  dl_fit fit = read_positional(a, s, which, elem);
  if (fit == DL_FIT && a->kw) fit = read_keywords(a, s, out_ok, which, elem);
  return fit == DL_FIT ? fill_defaults(a, s, which) : fit;
}

int dl_args_read(dl_args *a, const dl_schema *const *s, int n, bool out_ok) {
  int top = lua_gettop(a->L), which;
  int64_t elem;
  for (int i = 0; i < n; i++) {
    if (dl_args_try(a, s[i], out_ok, &which, &elem) == DL_FIT) return i;
    lua_settop(a->L, top);
  }
  return dl_args_explain(a, s, n, out_ok);
}

int dl_args_sig(lua_State *L, dl_args *a, dl_sig *sig, int n, bool method) {
  const dl_schema *s[8];
  for (int i = 0; i < n; i++) {
    if (!sig[i].parsed) {
      sig[i].parsed = calloc(1, sizeof *sig[i].parsed);
      if (!sig[i].parsed) luaL_error(L, "not enough memory");
      dl_schema_parse(sig[i].text, sig[i].parsed);
    }
    s[i] = sig[i].parsed;
  }
  dl_args_begin(L, a, s[0]->name, method);
  a->any = sig[0].any;
  return dl_args_read(a, s, n, false);
}
