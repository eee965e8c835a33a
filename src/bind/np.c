/* np.c -- np: a small CPU array type that shares memory with tensors
 *
 * An array is a box of its own kind around a tensor without gradient: np.array, element and slice
 * access, simple arithmetic, x:numpy(), torch.from_numpy. Files: npy.c. Text: npprint.c.
 *
 * INVARIANT  Memory is the tensor's, so both sides see each other's writes.
 * MUST NOT   record gradients. */
#include "bind/bind.h"
#include "bind/np.h"

#include <string.h>

const dl_tag_info dl_t_npdtype = {"numpy.dtype", sizeof(dl_word)};

/* ---- boxes ---------------------------------------------------------------------------------- */
dl_box *dl_np_shell(lua_State *L) { return dl_new_object(L, &dl_t_np); }

dl_tensor *dl_np_check(lua_State *L, int i, const char *fn) {
  dl_box *b = dl_object(L, i, &dl_t_np);
  if (!b || !b->t) dl_type_error(L, "%s: expected np.ndarray (got %s)", fn, dl_type_name(L, i));
  return b->t;
}

static dl_tensor *self(lua_State *L) { return dl_np_check(L, 1, "np"); }

static int finish(lua_State *L, dl_status st) { return st == DL_OK ? 1 : dl_raise(L, st); }

/* Arrays are on the CPU and hold numbers, wherever and however tensors are made by default. */
static int run(lua_State *L, dl_opid op, const dl_arg *v, int n) {
  dl_pace(L);
  dl_box *b = dl_np_shell(L);
  unsigned mode = dl_mode;
  dl_device where = dl_default_device;
  dl_mode = (dl_mode | DL_MODE_NO_GRAD) & ~(unsigned)DL_MODE_DRY;
  dl_default_device = DL_DEV_CPU;
  dl_status st = dl_run(op, v, n, 0, &b->t);
  dl_default_device = where;
  dl_mode = mode;
  return finish(L, st);
}

/* numpy dtype object, torch dtype or name at i; NODTYPE for nil */
dl_dtype dl_np_dtype(lua_State *L, int i) {
  if (dl_is_nil(L, i)) return DL_NODTYPE;
  dl_word *w = dl_object(L, i, &dl_t_npdtype);
  if (!w) w = dl_object(L, i, &dl_t_dtype);
  if (w) return (dl_dtype)w->v;
  if (lua_type(L, i) == LUA_TSTRING) {
    for (int d = 0; d < DL_DTYPE_COUNT; d++)
      if (d != DL_BF16 && !strcmp(lua_tostring(L, i), dl_dtypes[d].name)) return (dl_dtype)d;
    dl_type_error(L, "data type '%s' not understood", lua_tostring(L, i));
  }
  dl_type_error(L, "Cannot interpret '%s' as a data type", dl_type_name(L, i));
  return DL_NODTYPE;
}

/* {dtype=…} or a dtype itself at i */
static dl_dtype dtype_option(lua_State *L, int i) {
  if (!dl_is_keywords(L, i)) return dl_np_dtype(L, i);
  lua_getfield(L, i, "dtype");
  dl_dtype d = dl_np_dtype(L, lua_gettop(L));
  lua_pop(L, 1);
  return d;
}

/* ---- making --------------------------------------------------------------------------------- */
static int l_array(lua_State *L) {
  lua_settop(L, 2);
  dl_dtype want = dtype_option(L, 2);
  dl_np_shell(L);
  uint8_t dflt = dl_default_dtype;
  dl_default_dtype = DL_F64;              /* numpy's floats are doubles; make_read infers by this */
  lua_pushcfunction(L, dl_np_read);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 3);
  lua_pushinteger(L, want);
  int status = lua_pcall(L, 3, 0, 0);
  dl_default_dtype = dflt;
  if (status != LUA_OK) return lua_error(L);
  return 1;
}

int dl_np_read(lua_State *L) {
  dl_make_read(L, 1, (dl_dtype)lua_tointeger(L, 3), dl_object(L, 2, &dl_t_np));
  return 0;
}

static int read_size(lua_State *L, int i, int64_t size[DL_MAXDIM]) {
  int64_t one;
  if (dl_get_int(L, i, &one)) {
    size[0] = one;
    return 1;
  }
  if (!dl_is_list(L, i) || dl_list_len(L, i) > DL_MAXDIM)
    dl_type_error(L, "expected a size of at most %d ints, not %s", DL_MAXDIM, dl_type_name(L, i));
  int n = (int)dl_list_len(L, i);
  for (int k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    if (!dl_get_int(L, -1, &size[k]))
      dl_type_error(L, "'%s' object cannot be interpreted as an integer", dl_type_name(L, -1));
    lua_pop(L, 1);
  }
  return n;
}

static int filled(lua_State *L, dl_opid op) {
  int64_t size[DL_MAXDIM];
  int n = read_size(L, 1, size);
  dl_dtype d = dtype_option(L, 2);
  return run(L, op, (dl_arg[]){L(size, n), DT(d == DL_NODTYPE ? DL_F64 : d)}, 2);
}
static int l_zeros(lua_State *L) { return filled(L, DL_OP_zeros); }
static int l_ones(lua_State *L) { return filled(L, DL_OP_ones); }

static dl_arg number(lua_State *L, int i) {
  if (lua_isinteger(L, i)) return I(lua_tointeger(L, i));
  return F(luaL_checknumber(L, i));
}

static int l_arange(lua_State *L) {
  int n = lua_gettop(L);
  dl_dtype d = DL_NODTYPE;
  if (n && dl_is_keywords(L, n)) d = dtype_option(L, n--);
  dl_arg v[4] = {I(0), I(0), I(1), NIL};
  if (n < 1 || n > 3) return dl_type_error(L, "arange() requires stop to be specified.");
  if (n == 1) v[1] = number(L, 1);
  for (int i = 0; n > 1 && i < n; i++) v[i] = number(L, i + 1);
  bool real = v[0].tag == DL_A_FLOAT || v[1].tag == DL_A_FLOAT || v[2].tag == DL_A_FLOAT;
  v[3] = DT(d != DL_NODTYPE ? d : real ? DL_F64 : DL_I64);
  return run(L, DL_OP_arange, v, 4);
}

static int l_linspace(lua_State *L) {
  int64_t n = 50;
  dl_arg a = F(luaL_checknumber(L, 1)), b = F(luaL_checknumber(L, 2));
  if (!dl_is_nil(L, 3) && !dl_get_int(L, 3, &n))
    return dl_type_error(L, "linspace: num must be an int");
  return run(L, DL_OP_linspace, (dl_arg[]){a, b, I(n), DT(DL_F64)}, 4);
}

/* ---- reading and writing elements ----------------------------------------------------------- */
static const luaL_Reg methods[];

static int push_shape(lua_State *L, const dl_tensor *t) {
  dl_push_tuple(L, t->ndim, t->size);
  return 1;
}

static int push_npdtype(lua_State *L, dl_dtype d) {
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.npdtypes");
  lua_rawgeti(L, -1, d);
  return 1;
}

static int transposed(lua_State *L, dl_tensor *t) {
  int64_t dims[DL_MAXDIM];
  for (int i = 0; i < t->ndim; i++) dims[i] = t->ndim - 1 - i;
  return run(L, DL_OP_permute, (dl_arg[]){T(t), L(dims, t->ndim)}, 2);
}

static int property(lua_State *L, dl_tensor *t, const char *key) {
  if (!strcmp(key, "shape")) return push_shape(L, t);
  if (!strcmp(key, "ndim")) return lua_pushinteger(L, t->ndim), 1;
  if (!strcmp(key, "size")) return lua_pushinteger(L, t->numel), 1;
  if (!strcmp(key, "dtype")) return push_npdtype(L, (dl_dtype)t->dtype);
  if (!strcmp(key, "T")) return transposed(L, t);
  if (!strcmp(key, "itemsize")) return lua_pushinteger(L, dl_dtypes[t->dtype].size), 1;
  for (const luaL_Reg *r = methods; r->name; r++)
    if (!strcmp(r->name, key)) return lua_pushcfunction(L, r->func), 1;
  return 0;
}

static bool is_name(const char *s) {
  return (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z' && strcmp(s, "None")) || *s == '_';
}

/* the index runs on a tensor box over the same memory; the result becomes an array or a number */
static int with_tensor(lua_State *L, lua_CFunction fn, int nargs) {
  dl_tensor *t = self(L);
  dl_box *b = dl_push_shell(L);
  b->t = dl_tensor_retain(t);
  lua_replace(L, 1);
  lua_settop(L, nargs);
  lua_pushcfunction(L, fn);
  lua_insert(L, 1);
  lua_call(L, nargs, 1);
  return 1;
}

static int l_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && is_name(lua_tostring(L, 2))) {
    const char *key = lua_tostring(L, 2);
    if (property(L, self(L), key)) return 1;
    return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT,
                    "'numpy.ndarray' object has no attribute '%s'", key);
  }
  with_tensor(L, dl_getitem, 2);
  dl_tensor *t = dl_get_tensor(L, -1);
  if (t->ndim == 0) {
    t = dl_host_tensor(L, t);
    return dl_push_item(L, t, t->data);
  }
  dl_box *b = dl_np_shell(L);
  b->t = dl_tensor_retain(t);
  return 1;
}

static int l_newindex(lua_State *L) {
  with_tensor(L, dl_setitem, 3);
  return 0;
}

static int l_len(lua_State *L) {
  dl_tensor *t = self(L);
  if (t->ndim == 0) return dl_type_error(L, "len() of unsized object");
  lua_pushinteger(L, t->size[0]);
  return 1;
}

/* ---- methods -------------------------------------------------------------------------------- */
static int l_tolist(lua_State *L) { return dl_push_tolist(L, self(L)); }
static int l_copy(lua_State *L) { return run(L, DL_OP_clone, (dl_arg[]){T(self(L))}, 1); }

static int l_item(lua_State *L) {
  dl_tensor *t = self(L);
  if (t->numel != 1)
    return dl_throw(L, DL_ValueError, DL_E_SHAPE,
                    "can only convert an array of size 1 to a Python scalar");
  t = dl_host_tensor(L, t);
  return dl_push_item(L, t, t->data);
}

static int l_astype(lua_State *L) {
  dl_dtype d = dl_np_dtype(L, 2);
  return run(L, DL_OP__to_copy, (dl_arg[]){T(self(L)), d == DL_NODTYPE ? NIL : DT(d)}, 2);
}

static int l_reshape(lua_State *L) {
  int64_t size[DL_MAXDIM];
  int n = 0, top = lua_gettop(L);
  if (top == 2) n = read_size(L, 2, size);
  else
    for (; n < top - 1 && n < DL_MAXDIM; n++)
      if (!dl_get_int(L, n + 2, &size[n]))
        return dl_type_error(L, "'%s' object cannot be interpreted as an integer",
                             dl_type_name(L, n + 2));
  return run(L, DL_OP_reshape, (dl_arg[]){T(self(L)), L(size, n)}, 2);
}

static int l_flatten(lua_State *L) {
  static const int64_t flat = -1;
  run(L, DL_OP_reshape, (dl_arg[]){T(self(L)), L(&flat, 1)}, 2);
  return run(L, DL_OP_clone, (dl_arg[]){T(dl_np_check(L, -1, "flatten"))}, 1);
}

/* sum, mean, max, min over everything give a number; with an axis an array */
static int reduce(lua_State *L, dl_opid op, bool real) {
  dl_tensor *t = self(L);
  int64_t axis;
  int i = 2;
  if (dl_is_keywords(L, 2)) {
    lua_getfield(L, 2, "axis");
    i = lua_gettop(L);
  }
  bool has = dl_get_int(L, i, &axis);
  if (real && !dl_dtype_is_float((dl_dtype)t->dtype)) {
    run(L, DL_OP__to_copy, (dl_arg[]){T(t), DT(DL_F64)}, 2);
    t = dl_np_check(L, -1, "mean");
  }
  int64_t all[DL_MAXDIM];
  for (int k = 0; k < t->ndim; k++) all[k] = k;
  run(L, op, (dl_arg[]){T(t), has ? L(&axis, 1) : L(all, t->ndim)}, 2);
  t = dl_np_check(L, -1, "reduce");
  return t->ndim ? 1 : dl_push_item(L, t, t->data);
}
static int l_sum(lua_State *L) { return reduce(L, DL_OP_sum_dim, false); }
static int l_mean(lua_State *L) { return reduce(L, DL_OP_mean_dim, true); }
static int l_max(lua_State *L) { return reduce(L, DL_OP_amax, false); }
static int l_min(lua_State *L) { return reduce(L, DL_OP_amin, false); }

static const luaL_Reg methods[] = {
  {"tolist", l_tolist}, {"item", l_item}, {"copy", l_copy}, {"astype", l_astype},
  {"reshape", l_reshape},
  {"flatten", l_flatten}, {"sum", l_sum}, {"mean", l_mean}, {"max", l_max}, {"min", l_min},
  {NULL, NULL}};

/* ---- arithmetic; where numpy promotes otherwise: ints with a float or by / give float64 ----- */
static const struct { const char *event; dl_opid op, reverse; } binary[] = {
  {"__add", DL_OP_add, DL_OP_add}, {"__sub", DL_OP_sub, DL_OP_rsub},
  {"__mul", DL_OP_mul, DL_OP_mul},
  {"__div", DL_OP_div, DL_OP_rdiv}, {"__pow", DL_OP_pow, DL_OP_rpow},
  {"__mod", DL_OP_remainder, DL_OP_rremainder},
  {"__idiv", DL_OP_floor_divide, DL_OP_rfloor_divide}};

/* the array at i as float64 if it holds integers */
static dl_tensor *as_double(lua_State *L, int i) {
  dl_tensor *t = dl_np_check(L, i, "arithmetic");
  if (dl_dtype_is_float((dl_dtype)t->dtype)) return t;
  run(L, DL_OP__to_copy, (dl_arg[]){T(t), DT(DL_F64)}, 2);
  return dl_np_check(L, -1, "arithmetic");
}

static int l_binary(lua_State *L) {
  int row = (int)lua_tointeger(L, lua_upvalueindex(1));
  dl_box *a = dl_object(L, 1, &dl_t_np), *b = dl_object(L, 2, &dl_t_np);
  bool real = binary[row].op == DL_OP_div;
  for (int i = 1; i <= 2; i++) {
    if (i == 1 ? a != NULL : b != NULL) {
      dl_np_check(L, i, "arithmetic");
      continue;
    }
    if (lua_type(L, i) != LUA_TNUMBER || (!a && !b))
      return dl_type_error(L, "unsupported operand type(s): '%s' and '%s'", dl_type_name(L, 1),
                           dl_type_name(L, 2));
    real = real || !lua_isinteger(L, i);
  }
  luaL_checkstack(L, 8, "np");
  dl_tensor *x = !a ? NULL : real ? as_double(L, 1) : a->t, *y = !b ? NULL : real ? as_double(L, 2)
      : b->t;
  if (x && y) return run(L, binary[row].op, (dl_arg[]){T(x), T(y)}, 2);
  if (x) return run(L, binary[row].op, (dl_arg[]){T(x), number(L, 2)}, 2);
  return run(L, binary[row].reverse, (dl_arg[]){T(y), number(L, 1)}, 2);
}

static int l_unm(lua_State *L) { return run(L, DL_OP_neg, (dl_arg[]){T(self(L))}, 1); }

static int l_gc(lua_State *L) {
  dl_box *b = dl_self(L, &dl_t_np);
  dl_tensor_drop(&b->t);
  return 0;
}

static int l_tostring(lua_State *L) {
  dl_np_push_text(L, dl_host_tensor(L, self(L)));
  return 1;
}

/* ---- to and from torch ---------------------------------------------------------------------- */
static int l_from_numpy(lua_State *L) {
  dl_box *a = dl_object(L, 1, &dl_t_np);
  if (!a) return dl_type_error(L, "expected np.ndarray (got %s)", dl_type_name(L, 1));
  dl_box *b = dl_push_shell(L);
  return finish(L, dl_tensor_alias(a->t, true, &b->t));
}

static int l_numpy(lua_State *L) {
  static dl_sig sig = {"numpy(Tensor self, *, bool force=False) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  dl_tensor *t = a.arg[0].t;
  char dev[24];
  if (t->dev.type != DL_CPU && !a.arg[1].i)
    return dl_type_error(L,
                         "can't convert %s device type tensor to numpy. Use Tensor.cpu() to "
                         "copy the tensor to "
                         "host memory first.", dl_device_str(t->dev, dev));
  if (dl_tensor_wants_grad(t) && dl_grad_enabled() && !a.arg[1].i)
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "Can't call numpy() on Tensor that requires grad. Use "
                    "tensor.detach().numpy() instead.");
  if (t->dtype == DL_BF16) return dl_type_error(L, "Got unsupported ScalarType BFloat16");
  t = dl_host_tensor(L, t);
  dl_box *b = dl_np_shell(L);
  return finish(L, dl_tensor_alias(t, true, &b->t));
}

/* ---- open ----------------------------------------------------------------------------------- */
static int l_npdtype_tostring(lua_State *L) {
  const dl_word *w = dl_self(L, &dl_t_npdtype);
  lua_pushstring(L, dl_dtypes[w->v].name);
  return 1;
}

static void open_dtypes(lua_State *L, int np) {
  dl_metatable(L, &dl_t_npdtype);
  lua_pushcfunction(L, l_npdtype_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  lua_newtable(L);
  for (int d = 0; d < DL_DTYPE_COUNT; d++) {
    dl_word *w = dl_new_object(L, &dl_t_npdtype);
    w->v = d;
    if (d != DL_BF16) {
      lua_pushvalue(L, -1);
      lua_setfield(L, np, d == DL_BOOL ? "bool_" : dl_dtypes[d].name);
    }
    lua_rawseti(L, -2, d);
  }
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.npdtypes");
}

void dl_np_open(lua_State *L, int torch, int tensor_methods) {
  static const luaL_Reg funcs[] = {
    {"array", l_array}, {"asarray", l_array}, {"zeros", l_zeros}, {"ones", l_ones},
    {"arange", l_arange},
    {"linspace", l_linspace}, {"load", dl_np_load}, {"save", dl_np_save}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
    {"__index", l_index}, {"__newindex", l_newindex}, {"__len", l_len}, {"__unm", l_unm},
    {"__gc", l_gc},
    {"__tostring", l_tostring}, {NULL, NULL}};
  lua_newtable(L);
  int np = lua_gettop(L);
  dl_set_funcs(L, np, funcs);
  open_dtypes(L, np);
  dl_metatable(L, &dl_t_np);
  dl_set_funcs(L, -1, meta);
  for (int i = 0; i < (int)(sizeof binary / sizeof *binary); i++) {
    lua_pushinteger(L, i);
    lua_pushcclosure(L, l_binary, 1);
    lua_setfield(L, -2, binary[i].event);
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, l_from_numpy);
  lua_setfield(L, torch, "from_numpy");
  lua_pushcfunction(L, l_numpy);
  lua_setfield(L, tensor_methods, "numpy");
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.np");
}
