/* prop.c -- x.name, x[i], x.grad = g : __index and __newindex of a tensor, and iteration
 *
 * One lookup in the table of methods decides: a function is a method, an integer is the number of a
 * property, nothing means an index (an identifier that is neither is an error with a suggestion).
 *
 * MUST NOT  run ops itself. */
#include "bind/bind.h"
#include "tensor/ledger.h"

#include <ctype.h>
#include <string.h>

#define METHODS lua_upvalueindex(1)
#define MAX_UNBOUND 64           /* rows; beyond it each row is a select of its own */

/* ---- getters -------------------------------------------------------------------------------- */
static int get_shape(lua_State *L, dl_tensor *t) {
  dl_push_size(L, t->ndim, t->size);
  return 1;
}
static int get_dtype(lua_State *L, dl_tensor *t) {
  dl_push_dtype(L, (dl_dtype)t->dtype);
  return 1;
}
static int get_device(lua_State *L, dl_tensor *t) {
  dl_push_device(L, t->dev);
  return 1;
}
static int get_ndim(lua_State *L, dl_tensor *t) {
  lua_pushinteger(L, t->ndim);
  return 1;
}
static int push_bool(lua_State *L, bool v) {
  lua_pushboolean(L, v);
  return 1;
}
static int get_is_leaf(lua_State *L, dl_tensor *t) {
  dl_node *fn; /* a view gets one when its base enters the graph */
  return push_bool(L, dl_tensor_grad_fn(t, &fn) != DL_OK || !fn);
}
static int get_requires_grad(lua_State *L, dl_tensor *t) {
  return push_bool(L, dl_tensor_wants_grad(t));
}
static int get_is_cuda(lua_State *L, dl_tensor *t) { return push_bool(L, t->dev.type == DL_CUDA); }
static int get_is_mps(lua_State *L, dl_tensor *t) { return push_bool(L, t->dev.type == DL_MPS); }
static int get_is_cpu(lua_State *L, dl_tensor *t) { return push_bool(L, t->dev.type == DL_CPU); }
static int get_false(lua_State *L, dl_tensor *t) {
  (void)t;
  return push_bool(L, false);
}
static int get_retains_grad(lua_State *L, dl_tensor *t) {
  return push_bool(L, t->extra && t->extra->retains_grad && t->grad_fn);
}
static int get_itemsize(lua_State *L, dl_tensor *t) {
  lua_pushinteger(L, (lua_Integer)dl_dtype_size((dl_dtype)t->dtype));
  return 1;
}
static int get_nbytes(lua_State *L, dl_tensor *t) {
  lua_pushinteger(L, t->numel * (lua_Integer)dl_dtype_size((dl_dtype)t->dtype));
  return 1;
}
static int get_version(lua_State *L, dl_tensor *t) {
  if (t->inference)
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "Inference tensors do not track version counter.");
  lua_pushinteger(L, *t->ver);
  return 1;
}
static int get_output_nr(lua_State *L, dl_tensor *t) {
  lua_pushinteger(L, t->out_nr);
  return 1;
}

static int get_grad(lua_State *L, dl_tensor *t) {
  dl_tensor *g = t->extra ? t->extra->grad : NULL;
  if (!g && t->grad_fn && !(t->extra && t->extra->retains_grad)) {
    dl_lua = L;
    dl_warn(true, "UserWarning",
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its "
            ".grad attribute won't be populated during autograd.backward(). If you indeed want the "
            ".grad field to be populated for a non-leaf Tensor, use .retain_grad() on the non-leaf "
            "Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf "
            "Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more informations.");
  }
  dl_push_shared(L, g);
  return 1;
}

static int get_grad_fn(lua_State *L, dl_tensor *t) {
  dl_node *n = NULL;
  dl_status st = dl_tensor_grad_fn(t, &n);
  if (st != DL_OK) return dl_raise(L, st);
  dl_push_node(L, n);
  return 1;
}

static int get_data(lua_State *L, dl_tensor *t) {
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_tensor_alias(t, false, &b->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

static int get_base(lua_State *L, dl_tensor *t) {
  dl_push_shared(L, t->extra ? t->extra->base : NULL);
  return 1;
}

static int run_view(lua_State *L, dl_opid op, const dl_arg *v, int n) {
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_run(op, v, n, 0, &b->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

static int get_T(lua_State *L, dl_tensor *t) {
  int64_t dims[DL_MAXDIM];
  if (t->ndim != 2) {
    dl_lua = L;
    if (t->ndim != 0)
      dl_warn(true, "UserWarning",
              "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is "
              "deprecated and it will throw an error in a future release. Consider `x.mT` to "
              "transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to "
              "reverse the dimensions of a tensor.");
  }
  for (int i = 0; i < t->ndim; i++) dims[i] = t->ndim - 1 - i;
  return run_view(L, DL_OP_permute, (dl_arg[]){T(t), L(dims, t->ndim)}, 2);
}

static int get_mT(lua_State *L, dl_tensor *t) {
  if (t->ndim < 2)
    return dl_throw(L, DL_RuntimeError, DL_E_SHAPE,
                    "tensor.mT is only supported on matrices or batches of matrices. Got %d-D "
                    "tensor.",
                    t->ndim);
  return run_view(L, DL_OP_transpose, (dl_arg[]){T(t), I(-2), I(-1)}, 3);
}

static int get_layout(lua_State *L, dl_tensor *t) {
  (void)t;
  lua_pushliteral(L, "torch.strided");
  return 1;
}

static int get_names(lua_State *L, dl_tensor *t) {
  lua_createtable(L, t->ndim, 0);
  for (int i = 1; i <= t->ndim; i++) {
    dl_push_none(L);
    lua_rawseti(L, -2, i);
  }
  return 1;
}

static int get_name(lua_State *L, dl_tensor *t) {
  (void)t;
  lua_pushnil(L);
  return 1;
}

/* ---- setters -------------------------------------------------------------------------------- */
static int other_device(lua_State *L, const dl_tensor *g, const dl_tensor *t) {
  char a[24], b[24];
  dl_device at = {g->dev.type, -1}, is = {t->dev.type, -1};
  if (g->dev.type != t->dev.type)
    return dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
                    "attempting to assign a gradient with device type '%s' to a tensor with device "
                    "type '%s'. Please ensure that the gradient and the tensor are on the same "
                    "device", dl_device_str(at, a), dl_device_str(is, b));
  return dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
                  "attempting to assign a gradient located on device with index '%d' to a tensor "
                  "located on device with index '%d'. Please ensure that the gradient and the "
                  "tensor are on the same device", g->dev.index, t->dev.index);
}

static int set_grad(lua_State *L, dl_tensor *t) {
  dl_tensor *g = dl_get_tensor(L, 3);
  if (!g && !dl_is_nil(L, 3))
    return dl_type_error(L, "assigned grad expected to be a Tensor or None but got grad of type %s",
                         dl_type_name(L, 3));
  if (g == t) return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                              "can't assign Variable as its own grad");
  if (g && !dl_sizes_equal(g->ndim, g->size, t->ndim, t->size)) {
    char a[128], b[128];
    return dl_throw(L, DL_RuntimeError, DL_E_SHAPE,
                    "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please "
                    "ensure that the gradient and the tensor are the same size",
                    dl_sizes_str(g->ndim, g->size, a, sizeof a),
                    dl_sizes_str(t->ndim, t->size, b, sizeof b));
  }
  if (g && g->dtype != t->dtype)
    return dl_throw(L, DL_RuntimeError, DL_E_DTYPE,
                    "attempting to assign a gradient with dtype '%s' to a tensor with dtype '%s'. "
                    "Please ensure that the gradient and the tensor have the same dtype",
                    dl_dtypes[g->dtype].cpp, dl_dtypes[t->dtype].cpp);
  if (g && !dl_device_same(g->dev, t->dev)) return other_device(L, g, t);
  if (!g && !t->extra) return 0;
  dl_extra *e = dl_tensor_extra(t);
  if (!e) return dl_raise(L, DL_E_OOM);
  if (g) dl_share_box(L, 3);
  dl_tensor *old = e->grad;
  e->grad = dl_tensor_retain(g);
  dl_ledger_grad(g);
  dl_tensor_release(old);
  return 0;
}

static int set_data(lua_State *L, dl_tensor *t) {
  dl_tensor *src = dl_get_tensor(L, 3);
  if (!src) return dl_type_error(L, "Variable data has to be a tensor, but got %s",
                                 dl_type_name(L, 3));
  if (t->requires_grad && !dl_dtype_is_float((dl_dtype)src->dtype))
    return dl_throw(L, DL_RuntimeError, DL_E_DTYPE,
                    "data set to a tensor that requires gradients must be floating point or "
                    "complex dtype");
  dl_status st = dl_tensor_set_data(t, src);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

static int set_requires_grad(lua_State *L, dl_tensor *t) {
  if (!lua_isboolean(L, 3))
    return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "requires_grad must be a bool");
  dl_status st = dl_tensor_set_requires_grad(t, lua_toboolean(L, 3));
  if (st == DL_OK) dl_share_box(L, 1);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

static const dl_prop props[] = {
  {"shape", get_shape, NULL}, {"dtype", get_dtype, NULL}, {"device", get_device, NULL},
  {"ndim", get_ndim, NULL}, {"grad", get_grad, set_grad}, {"grad_fn", get_grad_fn, NULL},
  {"is_leaf", get_is_leaf, NULL}, {"requires_grad", get_requires_grad, set_requires_grad},
  {"data", get_data, set_data}, {"T", get_T, NULL}, {"mT", get_mT, NULL},
  {"is_cuda", get_is_cuda, NULL}, {"is_mps", get_is_mps, NULL}, {"is_cpu", get_is_cpu, NULL},
  {"is_sparse", get_false, NULL}, {"is_quantized", get_false, NULL}, {"is_meta", get_false, NULL},
  {"itemsize", get_itemsize, NULL}, {"nbytes", get_nbytes, NULL}, {"_version", get_version, NULL},
  {"retains_grad", get_retains_grad, NULL}, {"output_nr", get_output_nr, NULL},
  {"_base", get_base, NULL}, {"layout", get_layout, NULL}, {"names", get_names, NULL},
  {"name", get_name, NULL}, {NULL, NULL, NULL}};

/* ---- __index, __newindex -------------------------------------------------------------------- */
static bool is_identifier(const char *s) {
  if (!isalpha((unsigned char)*s) && *s != '_') return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return true;
}

/* net.forward(x): the method's own `self` is the tensor that was handed in. */
static bool is_self(lua_State *L) {
  lua_Debug ar;
  const char *local = lua_getstack(L, 1, &ar) ? lua_getlocal(L, &ar, 1) : NULL;
  if (!local) return false;
  bool is = !strcmp(local, "self") && lua_rawequal(L, -1, 1);
  lua_pop(L, 1);
  return is;
}

static int no_attribute(lua_State *L, const char *name) {
  dl_fail(DL_AttributeError, DL_E_ARGUMENT, "'Tensor' object has no attribute '%s'", name);
  if (is_self(L)) {
    dl_note("a method is called with a colon: net:forward(x), or net(x); with a dot `self` is x");
    return dl_raise(L, DL_E_ARGUMENT);
  }
  const char *near = dl_nearest(L, METHODS, name);
  if (near) dl_note("did you mean '%s'?", near);
  if (!strcmp(name, "repeat") || !strcmp(name, "end"))
    dl_note("a word of Lua is spelled Repeat, End");
  return dl_raise(L, DL_E_ARGUMENT);
}

static int l_index(lua_State *L) {
  dl_lua = L;
  if (lua_type(L, 2) == LUA_TSTRING) {
    lua_pushvalue(L, 2);
    int kind = lua_rawget(L, METHODS);
    if (kind == LUA_TFUNCTION) return 1;
    dl_box *b = dl_object(L, 1, &dl_t_tensor);
    if (kind == LUA_TNUMBER && (!b || !b->t)) return dl_type_error(L, "this tensor was freed");
    if (kind == LUA_TNUMBER) return props[lua_tointeger(L, -1)].get(L, b->t);
    const char *name = lua_tostring(L, 2);
    if (kind != LUA_TNIL) return 1;
    if (is_identifier(name) && strcmp(name, "None") && strcmp(name, "True")
        && strcmp(name, "False"))
      return no_attribute(L, name);
    lua_settop(L, 2);
  }
  if (!dl_get_tensor(L, 1)) return dl_type_error(L, "this tensor was freed");
  return dl_getitem(L);
}

static int l_newindex(lua_State *L) {
  dl_lua = L;
  if (!dl_get_tensor(L, 1)) return dl_type_error(L, "this tensor was freed");
  if (lua_type(L, 2) == LUA_TSTRING && is_identifier(lua_tostring(L, 2)) &&
      strcmp(lua_tostring(L, 2), "None")) {
    const char *name = lua_tostring(L, 2);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, METHODS) != LUA_TNUMBER) {
      dl_fail(DL_AttributeError, DL_E_ARGUMENT, "'Tensor' object has no attribute '%s'", name);
      const char *near = dl_nearest(L, METHODS, name);
      if (near) dl_note("did you mean '%s'?", near);
      dl_note("a tensor in Lua carries no attributes of your own; keep them in a table keyed "
              "by it");
      return dl_raise(L, DL_E_ARGUMENT);
    }
    const dl_prop *p = &props[lua_tointeger(L, -1)];
    lua_settop(L, 3);
    if (p->set) return p->set(L, dl_get_tensor(L, 1));
    return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT,
                    "attribute '%s' of 'torch._C.TensorBase' objects is not writable", name);
  }
  return dl_setitem(L);
}

/* ---- for row in x do … ---------------------------------------------------------------------- */
/* In a graph a row is a result of unbind, as in PyTorch. */
static dl_status unbound_row(dl_tensor *x, int64_t i, dl_tensor **out) {
  dl_ret ret;
  DL_TRY(dl_dispatch(DL_OP_unbind, (dl_arg[]){T(x), I(0)}, 0, &ret));
  dl_tensor **rows = ret.more ? ret.more : ret.v;
  *out = dl_tensor_retain(rows[i]);
  dl_ret_free(&ret);
  return DL_OK;
}

/* The position follows the control value: each row's box knows its place. */
static int next_row(lua_State *L, dl_tensor *x, int64_t i) {
  if (x->ndim == 0) return dl_type_error(L, "iteration over a 0-d tensor");
  if (i >= x->size[0]) return 0;
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_tensor_wants_grad(x) && dl_grad_enabled() && x->size[0] <= MAX_UNBOUND
                   ? unbound_row(x, i, &b->t)
                   : dl_run(DL_OP_select, (dl_arg[]){T(x), I(0), I(i)}, 3, 0, &b->t);
  if (st != DL_OK) return dl_raise(L, st);
  b->row = i;
  return 1;
}

static int l_call(lua_State *L) {
  dl_tensor *x = dl_get_tensor(L, 1);
  dl_box *row = dl_object(L, 3, &dl_t_tensor);
  if (!x || !lua_isnil(L, 2) || lua_gettop(L) != 3 || (!row && !lua_isnil(L, 3))) {
    dl_fail(DL_TypeError, DL_E_ARGUMENT, "'Tensor' object is not callable");
    dl_note("a property takes no brackets: x.T; a method is called with a colon: x:sum()");
    return dl_raise(L, DL_E_ARGUMENT);
  }
  return next_row(L, x, row ? row->row + 1 : 0);
}

static int l_enumerate_next(lua_State *L) {
  int64_t i = lua_isnil(L, 2) ? 0 : lua_tointeger(L, 2) + 1;
  lua_pushinteger(L, i);
  dl_tensor *x = dl_get_tensor(L, lua_upvalueindex(1));
  if (!x) return dl_type_error(L, "this tensor was freed");
  return next_row(L, x, i) ? 2 : 0;
}

static int l_enumerate(lua_State *L) {
  dl_check_tensor(L, 1, "enumerate", "self");
  lua_settop(L, 1);
  lua_pushcclosure(L, l_enumerate_next, 1);
  return 1;
}

void dl_prop_open(lua_State *L, int methods) {
  for (int i = 0; props[i].name; i++) {
    lua_pushinteger(L, i);
    lua_setfield(L, methods, props[i].name);
  }
  dl_metatable(L, &dl_t_tensor);
  static const struct { const char *event; lua_CFunction fn; } meta[] = {
    {"__index", l_index}, {"__newindex", l_newindex}, {"__call", l_call},
    {"__ipairs", l_enumerate}};
  for (size_t i = 0; i < sizeof meta / sizeof *meta; i++) {
    lua_pushvalue(L, methods);
    lua_pushcclosure(L, meta[i].fn, 1);
    lua_setfield(L, -2, meta[i].event);
  }
  lua_pop(L, 1);
  lua_pushcfunction(L, l_enumerate);
  lua_setfield(L, methods, "enumerate");
}
