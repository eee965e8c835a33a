/* unpickle_make.c -- the names of Python's that a checkpoint may contain, and what they make
 *
 * For unpickle.c. The list is that of PyTorch's weights_only=True.
 *
 * INVARIANT  Arguments are what a file says: each is checked for its type and against the storage
 *            before a tensor is made.
 * MUST NOT   run anything of the file's. */
#include "bind/unpickle.h"

#include <stdio.h>
#include <string.h>

enum { SIZE_MAX_DIMS = 64 };

/* ---- arguments ------------------------------------------------------------------------------ */
/* Element i (from 0) of the tuple at `args`, onto Lua's stack. */
static int arg(dl_unpickler *u, const dl_global *g, int args, int i) {
  if (lua_rawgeti(u->L, args, i + 1) == LUA_TNIL)
    dl_unpickle_bad(u, "%s: argument %d is missing", g->name, i + 1);
  return lua_gettop(u->L);
}

static int wrong(dl_unpickler *u, const dl_global *g, int i) {
  return dl_unpickle_bad(u, "%s: argument %d has the wrong type", g->name, i + 1);
}

static int64_t int_arg(dl_unpickler *u, const dl_global *g, int args, int i) {
  if (!lua_isinteger(u->L, arg(u, g, args, i))) wrong(u, g, i);
  int64_t v = lua_tointeger(u->L, -1);
  lua_pop(u->L, 1);
  return v;
}

static bool bool_arg(dl_unpickler *u, const dl_global *g, int args, int i) {
  if (!lua_isboolean(u->L, arg(u, g, args, i))) wrong(u, g, i);
  bool v = lua_toboolean(u->L, -1);
  lua_pop(u->L, 1);
  return v;
}

/* A tuple of integers: how many, at most max. */
static int ints_arg(dl_unpickler *u, const dl_global *g, int args, int i, int64_t *out, int max) {
  int t = arg(u, g, args, i);
  if (!dl_unpickle_is_tuple(u, t)) wrong(u, g, i);
  lua_Unsigned n = lua_rawlen(u->L, t);
  if (n > (lua_Unsigned)max)
    return dl_throw(u->L, DL_NotImplementedError, DL_E_UNSUPPORTED, "the file holds a tensor of "
                    "%llu dimensions; dlrepl has %d at most", (unsigned long long)n, max);
  for (int k = 0; k < (int)n; k++) {
    lua_rawgeti(u->L, t, k + 1);
    if (!lua_isinteger(u->L, -1)) wrong(u, g, i);
    out[k] = lua_tointeger(u->L, -1);
    lua_pop(u->L, 1);
  }
  lua_pop(u->L, 1);
  return (int)n;
}

static const char *text_arg(dl_unpickler *u, const dl_global *g, int args, int i) {
  if (lua_type(u->L, arg(u, g, args, i)) != LUA_TSTRING) wrong(u, g, i);
  return lua_tostring(u->L, -1);
}

static bool remembered(dl_unpickler *u, int i) {
  lua_pushvalue(u->L, i);
  bool yes = lua_rawget(u->L, u->raw) != LUA_TNIL;
  lua_pop(u->L, 1);
  return yes;
}

/* ---- tensors -------------------------------------------------------------------------------- */
void dl_unpickle_storage(dl_unpickler *u, int i) {
  static const dl_global self = {.name = "persistent id"};
  lua_State *L = u->L;
  const char *kind = text_arg(u, &self, i, 0);
  if (strcmp(kind, "storage"))
    dl_unpickle_bad(u, "Only persistent_load of storage is allowed, but got %s", kind);
  const dl_global *type = lua_touserdata(L, arg(u, &self, i, 1));
  if (!lua_islightuserdata(L, -1) || !strstr(type->name, "Storage")) wrong(u, &self, 1);
  text_arg(u, &self, i, 2);
  text_arg(u, &self, i, 3);
  int64_t n = int_arg(u, &self, i, 4);
  if (n < 0) dl_unpickle_bad(u, "a storage of %lld elements", (long long)n);
  lua_getfield(L, u->env, "load");
  dl_push_dtype(L, type->dtype);
  lua_pushvalue(L, -4);
  lua_pushvalue(L, -4);
  lua_pushinteger(L, n);
  lua_call(L, 4, 1);
  const dl_tensor *t = dl_get_tensor(L, -1);
  if (!t || t->ndim != 1 || t->numel != n || t->dtype != type->dtype)
    dl_throw(L, DL_TypeError, DL_E_ARGUMENT, "a storage of %lld elements of torch.%s is wanted, "
             "not a %s", (long long)n, dl_dtypes[type->dtype].name, dl_type_name(L, -1));
}

/* _rebuild_tensor(storage, offset, size, stride) */
static dl_tensor *view_of_storage(dl_unpickler *u, const dl_global *g, int args) {
  int64_t size[DL_MAXDIM], stride[DL_MAXDIM], numel;
  int s = arg(u, g, args, 0);
  if (!dl_get_tensor(u->L, s) || !remembered(u, s)) wrong(u, g, 0);
  dl_tensor *storage = dl_get_tensor(u->L, s);
  int64_t offset = int_arg(u, g, args, 1);
  int n = ints_arg(u, g, args, 2, size, DL_MAXDIM);
  if (ints_arg(u, g, args, 3, stride, DL_MAXDIM) != n)
    dl_unpickle_bad(u, "%d sizes and another number of strides", n);
  for (int i = 0; i < n; i++)
    if (size[i] < 0)
      dl_throw(u->L, DL_RuntimeError, DL_E_SHAPE, "numel: integer multiplication overflow");
  dl_status st = dl_numel(n, size, &numel);
  if (st == DL_OK && offset < 0)
    st = dl_fail(DL_RuntimeError, DL_E_SHAPE, "Tensor: invalid storage offset %lld",
                 (long long)offset);
  if (numel == 0 && offset > storage->numel) offset = 0; /* there is nothing at any place */
  dl_pace(u->L);
  dl_box *b = dl_push_shell(u->L);
  if (st == DL_OK) st = dl_tensor_view(storage, n, size, stride, offset, &b->t);
  if (st != DL_OK) dl_raise(u->L, st);
  return b->t;
}

static int make_tensor(dl_unpickler *u, const dl_global *g, int args) {
  view_of_storage(u, g, args);
  return 1;
}

/* _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks) */
static int make_tensor_v2(dl_unpickler *u, const dl_global *g, int args) {
  bool wants = bool_arg(u, g, args, 4);
  dl_tensor *t = view_of_storage(u, g, args);
  if (wants && !dl_dtype_is_float((dl_dtype)t->dtype))
    dl_throw(u->L, DL_RuntimeError, DL_E_AUTOGRAD, "only Tensors of floating point and complex "
             "dtype can require gradients");
  t->requires_grad = wants;
  return 1;
}

/* _rebuild_tensor_v3 names its dtype: only those that have no storage class of their own. */
static int make_tensor_v3(dl_unpickler *u, const dl_global *g, int args) {
  const dl_word *d = dl_object(u->L, arg(u, g, args, 6), &dl_t_dtype);
  if (!d) wrong(u, g, 6);
  return dl_throw(u->L, DL_NotImplementedError, DL_E_UNSUPPORTED, "the file holds the bytes of a "
                  "torch.%s tensor without a storage of that type", dl_dtypes[d->v].name);
}

/* _rebuild_parameter(data, requires_grad, hooks), also with Python's attributes behind */
static int make_parameter(dl_unpickler *u, const dl_global *g, int args) {
  int data = arg(u, g, args, 0);
  if (!dl_get_tensor(u->L, data) || remembered(u, data)) wrong(u, g, 0);
  bool wants = bool_arg(u, g, args, 1);
  lua_getfield(u->L, u->env, "parameter");
  lua_pushvalue(u->L, data);
  lua_pushboolean(u->L, wants);
  lua_call(u->L, 2, 1);
  return 1;
}

/* _rebuild_from_type_v2(function, class, arguments, attributes): the attributes are Python's */
static int make_from_type(dl_unpickler *u, const dl_global *g, int args) {
  int f = arg(u, g, args, 0), type = arg(u, g, args, 1), inner = arg(u, g, args, 2);
  const dl_global *made = lua_touserdata(u->L, f), *cls = lua_touserdata(u->L, type);
  if (!lua_islightuserdata(u->L, f) || !made->make || made == g) wrong(u, g, 0);
  if (!lua_islightuserdata(u->L, type)) wrong(u, g, 1);
  if (!dl_unpickle_is_tuple(u, inner)) wrong(u, g, 2);
  if (strcmp(cls->name, "torch.Tensor") && strcmp(cls->name, "torch.nn.parameter.Parameter"))
    wrong(u, g, 1);
  return made->make(u, made, inner);
}

/* ---- values --------------------------------------------------------------------------------- */
static int make_size(dl_unpickler *u, const dl_global *g, int args) {
  int64_t size[SIZE_MAX_DIMS];
  dl_push_size(u->L, ints_arg(u, g, args, 0, size, SIZE_MAX_DIMS), size);
  return 1;
}

static int make_device(dl_unpickler *u, const dl_global *g, int args) {
  dl_device d;
  const char *type = text_arg(u, g, args, 0);
  dl_status st = dl_device_parse(type, &d);
  if (st != DL_OK) return dl_raise(u->L, st);
  if (lua_rawlen(u->L, args) > 1) {
    int64_t k = int_arg(u, g, args, 1);
    if (k < 0 || k > INT8_MAX) dl_unpickle_bad(u, "a device with index %lld", (long long)k);
    d.index = (int8_t)k;
  }
  dl_push_device(u->L, d);
  return 1;
}

/* collections.OrderedDict(), with nothing: its items follow */
static int make_ordered(dl_unpickler *u, const dl_global *g, int args) {
  if (lua_rawlen(u->L, args) != 0) wrong(u, g, 0);
  dl_unpickle_new_dict(u, true);
  return 1;
}

/* set([…]) and Counter({…}) are read as the list and the dict that they are made from. */
static int make_same(dl_unpickler *u, const dl_global *g, int args) {
  arg(u, g, args, 0);
  dl_unpickle_check_value(u, -1);
  return 1;
}

/* _codecs.encode("text", "latin1"): bytes, one a letter */
static int make_bytes(dl_unpickler *u, const dl_global *g, int args) {
  size_t n;
  if (strcmp(text_arg(u, g, args, 1), "latin1")) wrong(u, g, 1);
  text_arg(u, g, args, 0);
  const unsigned char *s = (const unsigned char *)lua_tolstring(u->L, -1, &n);
  luaL_Buffer b;
  luaL_buffinit(u->L, &b);
  for (size_t i = 0; i < n; i++) {
    if (s[i] < 0x80) {
      luaL_addchar(&b, (char)s[i]);
    } else {
      if ((s[i] != 0xc2 && s[i] != 0xc3) || i + 1 == n || (s[i + 1] & 0xc0) != 0x80)
        dl_unpickle_bad(u, "bytes with letters beyond latin1");
      luaL_addchar(&b, (char)((s[i] & 3) << 6 | (s[i + 1] & 0x3f)));
      i++;
    }
  }
  luaL_pushresult(&b);
  return 1;
}

/* ---- the list ------------------------------------------------------------------------------- */
static const dl_global globals[] = {
  {"torch._utils._rebuild_tensor_v2", make_tensor_v2},
  {"torch._utils._rebuild_tensor", make_tensor},
  {"torch._utils._rebuild_tensor_v3", make_tensor_v3},
  {"torch._utils._rebuild_parameter", make_parameter},
  {"torch._utils._rebuild_parameter_with_state", make_parameter},
  {"torch._tensor._rebuild_from_type_v2", make_from_type},
  {"torch.Tensor"}, {"torch.nn.parameter.Parameter"},
  {"collections.OrderedDict", make_ordered},
  {"collections.Counter", make_same}, {"builtins.set", make_same}, {"builtins.bytearray", make_same},
  {"_codecs.encode", make_bytes},
  {"torch.Size", make_size}, {"torch.device", make_device},
#define X(id, c, n, name, alias, S, cpp, cat) {"torch." S "Storage", NULL, DL_##id},
  DL_DTYPES(X)
#undef X
  {"torch.storage.UntypedStorage", NULL, DL_U8}, {"torch.storage.TypedStorage", NULL, DL_U8},
  {"torch._utils._rebuild_meta_tensor_no_storage", .lacking = "tensors without memory (meta)"},
  {"builtins.complex", .lacking = "complex numbers"},
  {"torch.ComplexFloatStorage", .lacking = "complex tensors"},
  {"torch.ComplexDoubleStorage", .lacking = "complex tensors"},
  {"torch.complex32", .lacking = "complex tensors"},
  {"torch.complex64", .lacking = "complex tensors"},
  {"torch.complex128", .lacking = "complex tensors"},
  {"torch.uint16", .lacking = "torch.uint16"}, {"torch.uint32", .lacking = "torch.uint32"},
  {"torch.uint64", .lacking = "torch.uint64"},
  {"torch.float8_e4m3fn", .lacking = "8-bit floats"},
  {"torch.float8_e5m2", .lacking = "8-bit floats"},
  {"torch.float8_e4m3fnuz", .lacking = "8-bit floats"},
  {"torch.float8_e5m2fnuz", .lacking = "8-bit floats"},
  {"torch.float8_e8m0fnu", .lacking = "8-bit floats"},
  {"torch.QInt8Storage", .lacking = "quantized tensors"},
  {"torch.QUInt8Storage", .lacking = "quantized tensors"},
  {"torch.QInt32Storage", .lacking = "quantized tensors"},
  {"torch._utils._rebuild_qtensor", .lacking = "quantized tensors"},
  {"torch._utils._rebuild_sparse_tensor", .lacking = "sparse tensors"},
  {"torch.serialization._get_layout", .lacking = "sparse tensors"},
  {"torch._utils._rebuild_wrapper_subclass", .lacking = "subclasses of Tensor"},
  {"torch._utils._rebuild_device_tensor_from_numpy", .lacking = "tensors of other backends"},
  {"torch._utils._rebuild_device_tensor_from_cpu_tensor", .lacking = "tensors of other backends"},
};

static bool push_dtype(dl_unpickler *u, const char *name) {
  if (strncmp(name, "torch.", 6)) return false;
  for (int d = 0; d < DL_DTYPE_COUNT; d++)
    if (!strcmp(name + 6, dl_dtypes[d].name)) return dl_push_dtype(u->L, (dl_dtype)d), true;
  return false;
}

/* Python shows what is built in without its module. */
static const char *shown(const char *name) {
  return strncmp(name, "builtins.", 9) ? name : name + 9;
}

void dl_unpickle_global(dl_unpickler *u, const char *name) {
  if (push_dtype(u, name)) return;
  for (size_t i = 0; i < sizeof globals / sizeof *globals; i++) {
    const dl_global *g = &globals[i];
    if (strcmp(g->name, name)) continue;
    if (g->lacking)
      dl_throw(u->L, DL_NotImplementedError, DL_E_UNSUPPORTED, "the file holds %s, which dlrepl "
               "does not have (%s)", g->lacking, name);
    lua_pushlightuserdata(u->L, (void *)g);
    return;
  }
  const char *s = shown(name);
  dl_unpickle_bad(u, "Unsupported global: GLOBAL %s was not an allowed global by default. Please "
                  "use `torch.serialization.add_safe_globals([%s])` or the "
                  "`torch.serialization.safe_globals([%s])` context manager to allowlist this "
                  "global if you trust this class/function.", s, s, s);
}
