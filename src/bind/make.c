/* make.c -- Lua values into tensors and back: torch.tensor, as_tensor, item, tolist
 *
 * INVARIANT  The result lives in its box before the first value is read, so that a bad value deep
 *            in a list leaks nothing. Depth is bounded by the shape: a cyclic list ends in an
 *            error.
 * MUST NOT   promote by itself: dl_promote does. */
#include "bind/bind.h"
#include "tensor/devmem.h"

#include <math.h>
#include <string.h>

typedef struct shape { int ndim; int64_t size[DL_MAXDIM]; } shape;

/* ---- shape and dtype ------------------------------------------------------------------------ */
/* Follow the first elements down, as PyTorch does. */
static void read_shape(lua_State *L, int i, shape *s) {
  int top = lua_gettop(L);
  s->ndim = 0;
  lua_pushvalue(L, i);
  while (dl_is_list(L, -1)) {
    if (s->ndim == DL_MAXDIM)
      dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "too many dimensions 'list'");
    luaL_checkstack(L, 4, "nested list");
    int64_t n = dl_list_len(L, -1);
    s->size[s->ndim++] = n;
    if (n == 0) break;
    dl_list_get(L, lua_gettop(L), 0);
  }
  if (s->ndim && lua_type(L, -1) == LUA_TSTRING)
    dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "too many dimensions 'str'");
  lua_settop(L, top);
}

static const dl_tensor *one_element(lua_State *L, int i) {
  const dl_tensor *t = dl_get_tensor(L, i);
  if (t && t->numel != 1)
    dl_throw(L, DL_ValueError, DL_E_ARGUMENT,
             "only one element tensors can be converted to Python scalars");
  return t;
}

static dl_dtype scalar_dtype(lua_State *L, int i) {
  const dl_tensor *t = one_element(L, i);
  if (t) return (dl_dtype)t->dtype;
  switch (lua_type(L, i)) {
    case LUA_TNUMBER: return lua_isinteger(L, i) ? DL_I64 : (dl_dtype)dl_default_dtype;
    case LUA_TBOOLEAN: return DL_BOOL;
    default: break;
  }
  const char *name = dl_type_name(L, i);
  dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Could not infer dtype of %s", name);
  if (!strcmp(name, "dict")) dl_note("a list counts from 1 and has no string keys");
  dl_raise(L, DL_E_ARGUMENT);
  return DL_NODTYPE;
}

static int not_scalar(lua_State *L) {
  return dl_type_error(L, "'list' object cannot be interpreted as an integer");
}

static dl_dtype infer(lua_State *L, int i, int depth, int ndim) {
  if (depth == ndim) {
    if (dl_is_list(L, i) && !dl_get_tensor(L, i)) not_scalar(L);
    return scalar_dtype(L, i);
  }
  if (!dl_is_list(L, i)) dl_type_error(L, "not a sequence");
  luaL_checkstack(L, 4, "nested list");
  dl_dtype d = DL_NODTYPE;
  int64_t n = dl_list_len(L, i);
  for (int64_t k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    dl_dtype e = infer(L, lua_gettop(L), depth + 1, ndim);
    if (e != DL_NODTYPE) d = d == DL_NODTYPE ? e : dl_promote(d, e);
    lua_pop(L, 1);
  }
  return d;
}

/* ---- filling -------------------------------------------------------------------------------- */
static bool int_fits(dl_dtype d, int64_t v) {
  if (d == DL_I64 || d == DL_BOOL || !dl_dtype_is_int(d)) return true;
  int bits = 8 * dl_dtypes[d].size;
  if (d == DL_U8) return v >= -255 && v <= 255; /* negative values wrap, as in PyTorch */
  return v >= -((int64_t)1 << (bits - 1)) && v < ((int64_t)1 << (bits - 1));
}

static void store_float(lua_State *L, dl_dtype d, char *p, double v) {
  if (dl_dtype_is_int(d)) {
    bool ok = v > -0x1p63 && v < 0x1p63 && int_fits(d, (int64_t)v);
    if (!ok)
      dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT,
               "value cannot be converted to type %s without overflow", dl_dtypes[d].name);
    dl_elem_set_i64(d, p, (int64_t)v);
  } else {
    dl_elem_set_f64(d, p, v);
  }
}

static void store_int(lua_State *L, dl_dtype d, char *p, int64_t v) {
  if (!int_fits(d, v))
    dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT,
             "value cannot be converted to type %s without overflow", dl_dtypes[d].name);
  dl_elem_set_i64(d, p, v);
}

static void store_scalar(lua_State *L, int i, dl_dtype d, char *p) {
  const dl_tensor *t;
  if (lua_type(L, i) == LUA_TNUMBER) {
    if (lua_isinteger(L, i)) store_int(L, d, p, lua_tointeger(L, i));
    else store_float(L, d, p, lua_tonumber(L, i));
  } else if (lua_type(L, i) == LUA_TBOOLEAN) {
    store_int(L, d, p, lua_toboolean(L, i));
  } else if ((t = one_element(L, i)) != NULL) {
    if (dl_dtype_is_float((dl_dtype)t->dtype)) store_float(L, d, p, dl_tensor_item_f(t));
    else store_int(L, d, p, dl_tensor_item_i(t));
    dl_check_read(L, t);
  } else if (dl_is_list(L, i)) {
    not_scalar(L);
  } else {
    dl_type_error(L, "must be real number, not %s", dl_type_name(L, i));
  }
}

static char *fill(lua_State *L, int i, dl_dtype d, const shape *s, int depth, char *p) {
  if (depth == s->ndim) {
    store_scalar(L, i, d, p);
    return p + dl_dtype_size(d);
  }
  if (!dl_is_list(L, i)) dl_type_error(L, "not a sequence");
  luaL_checkstack(L, 4, "nested list");
  int64_t n = dl_list_len(L, i);
  if (n != s->size[depth])
    dl_throw(L, DL_ValueError, DL_E_SHAPE, "expected sequence of length %lld at dim %d (got %lld)",
             (long long)s->size[depth], depth, (long long)n);
  for (int64_t k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    p = fill(L, lua_gettop(L), d, s, depth + 1, p);
    lua_pop(L, 1);
  }
  return p;
}

static int not_data(lua_State *L, int i) {
  if (lua_type(L, i) == LUA_TSTRING) return dl_type_error(L, "new(): invalid data type 'str'");
  return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "Could not infer dtype of %s",
                  dl_type_name(L, i));
}

void dl_make_read(lua_State *L, int i, dl_dtype want, dl_box *shell) {
  i = lua_absindex(L, i);
  dl_box *np = dl_object(L, i, &dl_t_np);
  dl_tensor *src = np ? np->t : dl_get_tensor(L, i);
  if (src) {
    dl_arg dt = want == DL_NODTYPE ? NIL : DT(want);
    dl_arg v[] = {T(src), dt};
    unsigned mode = dl_mode;
    dl_mode |= DL_MODE_NO_GRAD;
    dl_status st = dl_run(DL_OP__to_copy, v, 2, 0, &shell->t);
    dl_mode = mode;
    if (st != DL_OK) dl_raise(L, st);
    return;
  }
  shape s;
  read_shape(L, i, &s);
  if (s.ndim == 0 && lua_type(L, i) != LUA_TNUMBER && lua_type(L, i) != LUA_TBOOLEAN)
    not_data(L, i);
  dl_dtype d = want == DL_NODTYPE ? infer(L, i, 0, s.ndim) : want;
  if (d == DL_NODTYPE) d = (dl_dtype)dl_default_dtype;
  dl_pace(L);
  dl_status st = dl_tensor_new(DL_DEV_CPU, d, s.ndim, s.size, &shell->t);
  if (st != DL_OK) dl_raise(L, st);
  dl_pace_count(shell->t);
  if (shell->t->numel) fill(L, i, d, &s, 0, shell->t->data);
  else infer(L, i, 0, s.ndim);
}

/* ---- torch.tensor, torch.as_tensor ---------------------------------------------------------- */
#define DATA_OPTIONS "dtype? dtype=None, device? device=None, bool requires_grad=False"
enum { DATA, DTYPE, DEVICE, REQUIRES_GRAD, PIN };

static void to_device(lua_State *L, dl_box *b, const dl_arg *device) {
  if (device->tag != DL_A_DEVICE || dl_device_same(b->t->dev, device->dev)) return;
  dl_box *moved = dl_push_shell(L);
  dl_arg v[] = {T(b->t), NIL, *device};
  dl_status st = dl_run(DL_OP__to_copy, v, 3, 0, &moved->t);
  if (st != DL_OK) dl_raise(L, st);
  dl_tensor *t = b->t;
  b->t = moved->t;
  moved->t = t;
  lua_pop(L, 1);
}

static void set_requires_grad(lua_State *L, dl_box *b, const dl_arg *want) {
  if (!want->i) return;
  if (!dl_dtype_is_float((dl_dtype)b->t->dtype))
    dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
             "Only Tensors of floating point and complex dtype can require gradients");
  b->t->requires_grad = 1;
  dl_share_box(L, -1);
}

static void warn_copy(lua_State *L, int i) {
  if (!dl_get_tensor(L, i)) return;
  dl_lua = L;
  dl_warn(true, "UserWarning",
          "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() "
          "or sourceTensor.detach().clone().requires_grad_(True), rather than "
          "torch.tensor(sourceTensor).");
}

/* An array at i is read as its tensor. */
static dl_tensor *source(lua_State *L, int i) {
  dl_box *np = dl_object(L, i, &dl_t_np);
  return np ? np->t : dl_get_tensor(L, i);
}

static void to_pinned(lua_State *L, dl_box *b) {
  dl_tensor *plain = b->t, *to;
  dl_meta m = {.dtype = plain->dtype, .ndim = plain->ndim};
  memcpy(m.size, plain->size, (size_t)plain->ndim * sizeof *plain->size);
  dl_status st = dl_tensor_new_pinned(&m, &to);
  if (st == DL_OK) st = dl_tensor_copy_values(to, plain, false);
  if (st != DL_OK) dl_raise(L, st);
  dl_tensor_release(plain);
  b->t = to;
}

static int make(lua_State *L, dl_args *a, bool pin) {
  const dl_arg *dt = &a->arg[DTYPE];
  dl_box *shell = dl_push_shell(L);
  dl_make_read(L, a->at[DATA], dt->tag == DL_A_DTYPE ? (dl_dtype)dt->i : DL_NODTYPE, shell);
  if (a->arg[DEVICE].tag != DL_A_DEVICE && dl_is_gpu(dl_default_device))
    a->arg[DEVICE] = (dl_arg){.tag = DL_A_DEVICE, .dev = dl_default_device};
  to_device(L, shell, &a->arg[DEVICE]);
  if (pin) to_pinned(L, shell);
  set_requires_grad(L, shell, &a->arg[REQUIRES_GRAD]);
  return 1;
}

static int l_tensor(lua_State *L) {
  static dl_sig sig = {"tensor(Tensor data, *, " DATA_OPTIONS ", bool pin_memory=False) -> Tensor",
                       1, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  warn_copy(L, a.at[DATA]);
  return make(L, &a, a.arg[PIN].i && a.arg[DEVICE].tag != DL_A_DEVICE);
}

/* Shares memory with a tensor or array of the wanted dtype; copies otherwise. */
static int l_as_tensor(lua_State *L) {
  static dl_sig sig = {"as_tensor(Tensor data, dtype? dtype=None, device? device=None, "
                       "bool requires_grad=False) -> Tensor", 1, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  dl_tensor *t = source(L, a.at[DATA]);
  if (!t) return make(L, &a, false);
  dl_arg v[] = {T(t), a.arg[DTYPE], a.arg[DEVICE]};
  bool same = (v[1].tag == DL_A_NONE || v[1].i == t->dtype) &&
              (v[2].tag == DL_A_NONE || dl_device_same(v[2].dev, t->dev));
  if (same && dl_get_tensor(L, a.at[DATA])) {
    lua_pushvalue(L, a.at[DATA]);
    return 1;
  }
  dl_box *shell = dl_push_shell(L);
  dl_status st = same ? dl_tensor_alias(t, true, &shell->t)
      : dl_run(DL_OP__to_copy, v, 3, 0, &shell->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

void dl_check_read(lua_State *L, const dl_tensor *t) {
  if (!dl_is_gpu(t->dev)) return;
  dl_status st = dl_devmem_check(t);
  if (st == DL_OK) st = dl_gpu_well(t->dev.index);
  if (st != DL_OK) dl_raise(L, st);
}

/* ---- elements as Lua values ----------------------------------------------------------------- */
dl_tensor *dl_host_tensor(lua_State *L, dl_tensor *t) {
  if (t->dev.type == DL_CPU && !t->st->numberless) return t;
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_tensor_on_host(t, &b->t);
  if (st != DL_OK) dl_raise(L, st);
  return b->t;
}

int dl_push_item(lua_State *L, const dl_tensor *t, const char *p) {
  dl_dtype d = (dl_dtype)t->dtype;
  if (d == DL_BOOL) lua_pushboolean(L, *p != 0);
  else if (dl_dtype_is_int(d)) lua_pushinteger(L, dl_elem_get_i64(d, p));
  else lua_pushnumber(L, dl_elem_get_f64(d, p));
  return 1;
}

static int l_item(lua_State *L) {
  const dl_tensor *t = dl_check_tensor(L, 1, "item", "self");
  if (t->numel != 1)
    return dl_throw(L, DL_RuntimeError, DL_E_SHAPE,
                    "a Tensor with %lld elements cannot be converted to Scalar",
                    (long long)t->numel);
  t = dl_host_tensor(L, (dl_tensor *)t);
  return dl_push_item(L, t, t->data);
}

static void push_level(lua_State *L, const dl_tensor *t, int dim, const char *p) {
  if (dim == t->ndim) {
    dl_push_item(L, t, p);
    return;
  }
  luaL_checkstack(L, 4, "tolist");
  int64_t n = t->size[dim], step = t->stride[dim] * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
  for (int64_t k = 0; k < n; k++) {
    push_level(L, t, dim + 1, p + k * step);
    lua_rawseti(L, -2, k + 1);
  }
}

/* A Lua value in a table takes 16 bytes. What can not fit is refused before the machine swaps. */
static void check_list_fits(lua_State *L, const dl_tensor *t) {
  int64_t bytes;
  if (dl_mul_ok(t->numel, 16, &bytes) && dl_host_room((size_t)bytes)) return;
  dl_throw(L, DL_MemoryError, DL_E_OOM, "a list of %lld numbers does not fit in memory",
           (long long)t->numel);
}

int dl_push_tolist(lua_State *L, dl_tensor *t) {
  check_list_fits(L, t);
  t = dl_host_tensor(L, t);
  push_level(L, t, 0, t->data);
  return 1;
}

static int l_tolist(lua_State *L) {
  return dl_push_tolist(L, dl_check_tensor(L, 1, "tolist", "self"));
}

void dl_make_open(lua_State *L, int torch, int methods) {
  static const luaL_Reg funcs[] = {{"tensor", l_tensor}, {"as_tensor", l_as_tensor}, {NULL, NULL}};
  static const luaL_Reg meth[] = {{"item", l_item}, {"tolist", l_tolist}, {NULL, NULL}};
  dl_set_funcs(L, torch, funcs);
  dl_set_funcs(L, methods, meth);
}
