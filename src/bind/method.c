/* method.c -- methods and functions that read a tensor's description or convert it
 *
 * size, stride, to, casts, requires_grad_, equal, allclose, promote_types, defaults, threads …:
 * what the generic form of ops.c cannot express. Each states its schema and is read by the same
 * reader.
 *
 * MUST NOT  touch elements; ops do. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "tensor/devmem.h"
#include "tensor/ledger.h"

#include <string.h>

/* names.c shows these under other names */
int dl_is_parameter(lua_State *L);
int dl_old_tensor(lua_State *L);

static dl_tensor *self(lua_State *L, const char *fn) { return dl_check_tensor(L, 1, fn, "self"); }

/* ---- description ---------------------------------------------------------------------------- */
static int pick_dim(lua_State *L, int n, const int64_t *v, int i) {
  int64_t d;
  int at;
  if (!dl_get_int(L, i, &d))
    return dl_type_error(L, "argument 'dim' must be int, not %s", dl_type_name(L, i));
  dl_status st = dl_wrap_dim(d, n, &at);
  if (st == DL_OK && n == 0)
    st = dl_fail(DL_IndexError, DL_E_INDEX,
                 "dimension specified as %lld but tensor has no dimensions",
                 (long long)d);
  if (st != DL_OK) return dl_raise(L, st);
  lua_pushinteger(L, v[at]);
  return 1;
}

/* the dim of x:size(1) or x:size{dim=1}: stack index of the value, 0 if there is none */
static int dim_argument(lua_State *L) {
  if (dl_is_nil(L, 2)) return 0;
  if (!dl_is_keywords(L, 2)) return 2;
  return lua_getfield(L, 2, "dim") == LUA_TNIL ? 0 : lua_gettop(L);
}

static int l_size(lua_State *L) {
  dl_tensor *t = self(L, "size");
  int i = dim_argument(L);
  if (i) return pick_dim(L, t->ndim, t->size, i);
  dl_push_size(L, t->ndim, t->size);
  return 1;
}

static int l_stride(lua_State *L) {
  dl_tensor *t = self(L, "stride");
  int i = dim_argument(L);
  if (i) return pick_dim(L, t->ndim, t->stride, i);
  lua_createtable(L, t->ndim, 0);
  for (int d = 0; d < t->ndim; d++) {
    lua_pushinteger(L, t->stride[d]);
    lua_rawseti(L, -2, d + 1);
  }
  return 1;
}

static int l_dim(lua_State *L) {
  lua_pushinteger(L, self(L, "dim")->ndim);
  return 1;
}
static int l_numel(lua_State *L) {
  lua_pushinteger(L, self(L, "numel")->numel);
  return 1;
}
static int l_element_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)dl_dtype_size((dl_dtype)self(L, "element_size")->dtype));
  return 1;
}
static int l_storage_offset(lua_State *L) {
  dl_tensor *t = self(L, "storage_offset");
  int64_t bytes = t->data ? t->data - (char *)t->st->data : 0;
  lua_pushinteger(L, bytes / (int64_t)dl_dtype_size((dl_dtype)t->dtype));
  return 1;
}
static int l_data_ptr(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(intptr_t)self(L, "data_ptr")->data);
  return 1;
}
static int l_is_contiguous(lua_State *L) {
  lua_pushboolean(L, self(L, "is_contiguous")->contig);
  return 1;
}
static int l_is_floating_point(lua_State *L) {
  lua_pushboolean(L, dl_dtype_is_float((dl_dtype)self(L, "is_floating_point")->dtype));
  return 1;
}
static int l_is_complex(lua_State *L) {
  self(L, "is_complex");
  lua_pushboolean(L, 0);
  return 1;
}
static int l_is_inference(lua_State *L) {
  lua_pushboolean(L, self(L, "is_inference")->inference);
  return 1;
}
static int l_is_pinned(lua_State *L) {
  lua_pushboolean(L, self(L, "is_pinned")->st->pinned);
  return 1;
}
static int l_get_device(lua_State *L) {
  dl_tensor *t = self(L, "get_device");
  lua_pushinteger(L, t->dev.type == DL_CPU ? -1 : t->dev.index);
  return 1;
}
static int l_is_set_to(lua_State *L) {
  lua_pushboolean(L, self(L, "is_set_to")->data == dl_check_tensor(L, 2, "is_set_to",
      "tensor")->data);
  return 1;
}
static int l_is_same_size(lua_State *L) {
  dl_tensor *a = self(L, "is_same_size"), *b = dl_check_tensor(L, 2, "is_same_size", "other");
  lua_pushboolean(L, dl_sizes_equal(a->ndim, a->size, b->ndim, b->size));
  return 1;
}

static int l_is_tensor(lua_State *L) {
  lua_pushboolean(L, dl_get_tensor(L, 1) != NULL);
  return 1;
}
int dl_is_parameter(lua_State *L) {
  dl_tensor *t = dl_get_tensor(L, 1);
  lua_pushboolean(L, t && t->is_param);
  return 1;
}

/* ---- conversion ----------------------------------------------------------------------------- */
/* x itself when nothing changes, else a copy with the new dtype and device. x is at index 1. */
static int convert(lua_State *L, dl_tensor *x, const dl_arg *dtype, const dl_arg *device,
                   bool non_blocking, bool copy) {
  dl_arg to = *device;
  dl_status st = to.tag == DL_A_DEVICE ? dl_gpu_resolve(&to.dev) : DL_OK;
  if (st != DL_OK) return dl_raise(L, st);
  device = &to;
  bool same = (dtype->tag != DL_A_DTYPE || dtype->i == x->dtype) &&
              (device->tag != DL_A_DEVICE || dl_device_same(device->dev, x->dev));
  if (same && !copy) {
    lua_pushvalue(L, 1);
    return 1;
  }
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_arg v[] = {T(x), *dtype, *device, B(non_blocking)};
  st = dl_run(DL_OP__to_copy, v, 4, 0, &b->t);
  if (st != DL_OK) return dl_raise(L, st);
  if (x->st->role == DL_ROLE_BATCH) dl_ledger_say(b->t, DL_ROLE_BATCH);
  dl_pace_count(b->t);
  return 1;
}

static int l_to(lua_State *L) {
  static dl_sig sigs[] = {
    {"to(Tensor self, device? device=None, dtype? dtype=None, bool non_blocking=False, "
     "bool copy=False) -> Tensor", 0, NULL},
    {"to.dtype(Tensor self, dtype dtype, bool non_blocking=False, bool copy=False) -> Tensor", 0,
     NULL},
    {"to.other(Tensor self, Tensor other, bool non_blocking=False, bool copy=False) -> Tensor", 0,
     NULL}};
  dl_args a;
  int form = dl_args_sig(L, &a, sigs, 3, true);
  dl_tensor *x = a.arg[0].t;
  if (form == 0) return convert(L, x, &a.arg[2], &a.arg[1], a.arg[3].i, a.arg[4].i);
  if (form == 1) return convert(L, x, &a.arg[1], &NIL, a.arg[2].i, a.arg[3].i);
  dl_tensor *other = a.arg[1].t;
  dl_arg dev = {.tag = DL_A_DEVICE, .dev = other->dev};
  return convert(L, x, &DT(other->dtype), &dev, a.arg[2].i, a.arg[3].i);
}

static int l_cast(lua_State *L) {
  dl_dtype d = (dl_dtype)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = dl_dtypes[d].alias ? dl_dtypes[d].alias : dl_dtypes[d].name;
  return convert(L, self(L, name), &DT(d), &NIL, false, false);
}

static int l_cpu(lua_State *L) {
  dl_arg dev = {.tag = DL_A_DEVICE, .dev = DL_DEV_CPU};
  return convert(L, self(L, "cpu"), &NIL, &dev, false, false);
}

static int l_cuda(lua_State *L) {
  static dl_sig sig = {"cuda(Tensor self, device? device=None, bool non_blocking=False) -> Tensor",
                       0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  dl_arg dev = {.tag = DL_A_DEVICE, .dev = {DL_CUDA, -1}};
  if (a.arg[1].tag == DL_A_DEVICE) dev = a.arg[1];
  if (!dl_is_gpu(dev.dev))
    return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "Invalid device, must be cuda device");
  return convert(L, a.arg[0].t, &NIL, &dev, a.arg[2].i, false);
}

static dl_dtype dtype_of_type_name(const char *s) {
  char name[48];
  for (int d = 0; d < DL_DTYPE_COUNT; d++) {
    strcpy(name, "torch.");
    strcat(strcat(name, dl_dtypes[d].scalar), "Tensor");
    if (!strcmp(name, s)) return (dl_dtype)d;
  }
  return DL_NODTYPE;
}

static int l_type(lua_State *L) {
  dl_tensor *t = self(L, "type");
  if (dl_is_nil(L, 2)) {
    char name[48];
    lua_pushstring(L, dl_tensor_type_name(t, name));
    return 1;
  }
  const dl_word *w = dl_object(L, 2, &dl_t_dtype);
  dl_dtype d = w ? (dl_dtype)w->v : lua_type(L, 2) == LUA_TSTRING
      ? dtype_of_type_name(lua_tostring(L, 2))
                                                                 : DL_NODTYPE;
  if (d == DL_NODTYPE)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "invalid type: '%s'",
                    luaL_tolstring(L, 2, NULL));
  return convert(L, t, &DT(d), &NIL, false, false);
}

static int l_type_as(lua_State *L) {
  dl_tensor *t = self(L, "type_as"), *other = dl_check_tensor(L, 2, "type_as", "other");
  return convert(L, t, &DT(other->dtype), &NIL, false, false);
}

static int l_pin_memory(lua_State *L) {
  dl_tensor *t = self(L, "pin_memory");
  char name[48];
  if (dl_is_gpu(t->dev))
    return dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
                    "cannot pin '%s' only dense CPU tensors can be pinned",
                    dl_tensor_type_name(t, name));
  if (t->st->pinned) {
    lua_settop(L, 1);
    return 1;
  }
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_meta m = {.dtype = t->dtype, .ndim = t->ndim};
  memcpy(m.size, t->size, (size_t)t->ndim * sizeof *t->size);
  dl_status st = dl_tensor_new_pinned(&m, &b->t);
  if (st == DL_OK) st = dl_tensor_copy_values(b->t, t, false);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

/* ---- new_zeros and kin: dtype and device of x ----------------------------------------------- */
static int make_like(lua_State *L, dl_sig *sig, dl_opid op, int n_before) {
  dl_args a;
  dl_args_sig(L, &a, sig, 1, true);
  dl_tensor *x = a.arg[0].t;
  const dl_schema *s = sig->parsed;
  dl_arg dtype = a.arg[s->p_dtype], device = a.arg[s->p_device];
  if (dtype.tag == DL_A_NONE) dtype = DT(x->dtype);
  if (device.tag == DL_A_NONE) device = (dl_arg){.tag = DL_A_DEVICE, .dev = x->dev};
  dl_arg v[8];
  for (int i = 0; i < n_before; i++) v[i] = a.arg[i + 1];
  v[n_before] = dtype;
  v[n_before + 1] = device;
  v[n_before + 2] = a.arg[s->p_requires_grad];
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_run(op, v, n_before + 3, 0, &b->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

#define NEW_OPTIONS "*, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor"
static int l_new_zeros(lua_State *L) {
  static dl_sig sig = {"new_zeros(Tensor self, int[...] size, " NEW_OPTIONS, 0, NULL};
  return make_like(L, &sig, DL_OP_zeros, 1);
}
static int l_new_ones(lua_State *L) {
  static dl_sig sig = {"new_ones(Tensor self, int[...] size, " NEW_OPTIONS, 0, NULL};
  return make_like(L, &sig, DL_OP_ones, 1);
}
static int l_new_empty(lua_State *L) {
  static dl_sig sig = {"new_empty(Tensor self, int[...] size, " NEW_OPTIONS, 0, NULL};
  return make_like(L, &sig, DL_OP_empty, 1);
}
static int l_new_full(lua_State *L) {
  static dl_sig sig = {"new_full(Tensor self, int[] size, Num fill_value, " NEW_OPTIONS, 0, NULL};
  return make_like(L, &sig, DL_OP_full, 2);
}

static int l_new_tensor(lua_State *L) {
  static dl_sig sig = {"new_tensor(Tensor self, Tensor data, " NEW_OPTIONS, 2, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  dl_box *b = dl_push_shell(L);
  dl_make_read(L, a.at[1], a.arg[2].tag == DL_A_DTYPE ? (dl_dtype)a.arg[2].i
               : (dl_dtype)a.arg[0].t->dtype, b);
  b->t->requires_grad = a.arg[4].i && dl_dtype_is_float((dl_dtype)b->t->dtype);
  return 1;
}

/* torch.FloatTensor{1, 2}, torch.LongTensor(2, 3): the old constructors */
int dl_old_tensor(lua_State *L) {
  dl_dtype d = (dl_dtype)lua_tointeger(L, lua_upvalueindex(1));
  if (d == DL_NODTYPE) d = (dl_dtype)dl_default_dtype;
  int n = lua_gettop(L);
  dl_box *b;
  if (n == 1 && (dl_is_list(L, 1) || dl_get_tensor(L, 1) || dl_object(L, 1, &dl_t_np))
      && !dl_is_size(L, 1)) {
    b = dl_push_shell(L);
    dl_make_read(L, 1, d, b);
    return 1;
  }
  static dl_sig sig = {"new(int[...] size=[]) -> Tensor", 0, NULL};
  static const int64_t zero = 0;
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  b = dl_push_shell(L);
  dl_status st = dl_run(DL_OP_empty, (dl_arg[]){n ? a.arg[0] : L(&zero, 1), DT(d)}, 2, 0, &b->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

/* ---- comparison to one boolean -------------------------------------------------------------- */
static int answer(lua_State *L, dl_status st, dl_box *b) {
  if (st != DL_OK) return dl_raise(L, st);
  lua_pushboolean(L, dl_tensor_item_i(b->t) != 0);
  dl_check_read(L, b->t);
  return 1;
}

static int l_equal(lua_State *L) {
  static dl_sig sig = {"equal(Tensor input, Tensor other) -> bool", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  dl_box *b = dl_push_shell(L);
  return answer(L, dl_run(DL_OP_equal, a.arg, 2, 0, &b->t), b);
}

static int l_allclose(lua_State *L) {
  static dl_sig sig = {"allclose(Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, "
                       "bool equal_nan=False) -> bool", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  dl_box *b = dl_push_shell(L);
  dl_ex e;
  dl_ex_begin(&e);
  if (a.arg[0].t->dtype != a.arg[1].t->dtype)
    e.st = dl_fail(DL_RuntimeError, DL_E_DTYPE, "%s did not match %s",
                   dl_dtypes[a.arg[0].t->dtype].scalar,
                   dl_dtypes[a.arg[1].t->dtype].scalar);
  dl_tensor *close = e.st == DL_OK ? dl_ex_call(&e, DL_OP_isclose, a.arg, 5, 0) : NULL;
  if (close) dl_ex_return(&e, EX(&e, all, T(close)), &b->t);
  return answer(L, dl_ex_end(&e), b);
}

/* ---- dtypes --------------------------------------------------------------------------------- */
static dl_dtype check_dtype(lua_State *L, int i, const char *fn, const char *param) {
  const dl_word *w = dl_object(L, i, &dl_t_dtype);
  if (!w)
    dl_type_error(L, "%s(): argument '%s' (position %d) must be torch.dtype, not %s", fn, param, i,
                  dl_type_name(L, i));
  return (dl_dtype)w->v;
}

static int l_promote_types(lua_State *L) {
  dl_dtype a = check_dtype(L, 1, "promote_types", "type1"),
      b = check_dtype(L, 2, "promote_types", "type2");
  dl_push_dtype(L, dl_promote(a, b));
  return 1;
}

static int l_can_cast(lua_State *L) {
  dl_dtype a = check_dtype(L, 1, "can_cast", "from_"), b = check_dtype(L, 2, "can_cast", "to");
  lua_pushboolean(L, dl_can_cast(a, b));
  return 1;
}

static int l_result_type(lua_State *L) {
  static dl_sig sig = {"result_type(TN tensor1, TN tensor2) -> dtype", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  dl_call c = {0};
  for (int i = 0; i < 2; i++) {
    c.in[i] = a.arg[i].tag == DL_A_TENSOR ? a.arg[i].t : NULL;
    c.num[i] = c.in[i] ? NULL : &a.arg[i];
  }
  c.nin = 2;
  dl_push_dtype(L, dl_result_type(&c));
  return 1;
}

static int l_get_default_dtype(lua_State *L) {
  dl_push_dtype(L, (dl_dtype)dl_default_dtype);
  return 1;
}

static int l_set_default_dtype(lua_State *L) {
  dl_dtype d = check_dtype(L, 1, "set_default_dtype", "d");
  if (!dl_dtype_is_float(d))
    return dl_type_error(L, "only floating-point types are supported as the default type");
  dl_default_dtype = d;
  return 0;
}

/* ---- settings ------------------------------------------------------------------------------- */
static int l_get_num_threads(lua_State *L) {
  lua_pushinteger(L, dl_threads());
  return 1;
}

static int l_set_num_threads(lua_State *L) {
  int64_t n;
  if (!dl_get_int(L, 1, &n))
    return dl_type_error(L, "set_num_threads expects an int, but got %s", dl_type_name(L, 1));
  if (n <= 0) return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT,
                              "set_num_threads expects a positive integer");
  dl_set_threads(n > 1024 ? 1024 : (int)n);
  return 0;
}

/* ---- requires_grad_, Parameter -------------------------------------------------------------- */
static int l_requires_grad_(lua_State *L) {
  static dl_sig sig = {"requires_grad_(Tensor self, bool requires_grad=True) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  lua_settop(L, 1);
  lua_pushboolean(L, (int)a.arg[1].i);
  lua_setfield(L, 1, "requires_grad");
  return 1;
}

/* nn.Parameter(data, requires_grad=True): a leaf over the same memory, marked as a parameter */
static int l_parameter(lua_State *L) {
  static dl_sig sig = {"Parameter(Tensor? data=None, bool requires_grad=True) -> Tensor", 0, NULL};
  static const int64_t zero = 0;
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  dl_box *b = dl_push_shell(L);
  dl_status st = a.arg[0].tag == DL_A_TENSOR
                   ? dl_tensor_alias(a.arg[0].t, true, &b->t)
                   : dl_tensor_new(DL_DEV_CPU, (dl_dtype)dl_default_dtype, 1, &zero, &b->t);
  if (st != DL_OK) return dl_raise(L, st);
  if (a.arg[1].i && !dl_dtype_is_float((dl_dtype)b->t->dtype))
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "Only Tensors of floating point and complex dtype can require gradients");
  b->t->is_param = 1;
  dl_ledger_say(b->t, DL_ROLE_PARAM);
  b->t->requires_grad = a.arg[1].i != 0;
  b->t->st->frozen = !b->t->requires_grad;
  dl_share_box(L, -1);
  return 1;
}

static const luaL_Reg method_list[] = {
  {"size", l_size}, {"stride", l_stride}, {"dim", l_dim}, {"ndimension", l_dim}, {"numel", l_numel},
  {"nelement", l_numel}, {"element_size", l_element_size}, {"storage_offset", l_storage_offset},
  {"data_ptr", l_data_ptr}, {"is_contiguous", l_is_contiguous},
  {"is_floating_point", l_is_floating_point}, {"is_complex", l_is_complex},
  {"is_inference", l_is_inference}, {"is_pinned", l_is_pinned}, {"get_device", l_get_device},
  {"is_set_to", l_is_set_to}, {"is_same_size", l_is_same_size}, {"to", l_to}, {"cpu", l_cpu},
  {"cuda", l_cuda}, {"type", l_type}, {"type_as", l_type_as}, {"pin_memory", l_pin_memory},
  {"new_zeros", l_new_zeros}, {"new_ones", l_new_ones}, {"new_empty", l_new_empty},
  {"new_full", l_new_full}, {"new_tensor", l_new_tensor}, {"equal", l_equal},
  {"allclose", l_allclose}, {"requires_grad_", l_requires_grad_}, {NULL, NULL}};

static const luaL_Reg function_list[] = {
  {"is_tensor", l_is_tensor}, {"numel", l_numel}, {"is_floating_point", l_is_floating_point},
  {"is_complex", l_is_complex}, {"equal", l_equal}, {"allclose", l_allclose},
  {"promote_types", l_promote_types}, {"can_cast", l_can_cast}, {"result_type", l_result_type},
  {"get_default_dtype", l_get_default_dtype}, {"set_default_dtype", l_set_default_dtype},
  {"get_num_threads", l_get_num_threads}, {"set_num_threads", l_set_num_threads}, {NULL, NULL}};

void dl_method_open(lua_State *L, int torch, int methods) {
  dl_set_funcs(L, methods, method_list);
  dl_set_funcs(L, torch, function_list);
  for (int d = 0; d < DL_DTYPE_COUNT; d++) {
    char name[48];
    lua_pushinteger(L, d);
    lua_pushcclosure(L, l_cast, 1);
    lua_setfield(L, methods, dl_dtypes[d].alias ? dl_dtypes[d].alias : dl_dtypes[d].name);
    lua_pushinteger(L, d);
    lua_pushcclosure(L, dl_old_tensor, 1);
    strcat(strcpy(name, dl_dtypes[d].scalar), "Tensor");
    lua_setfield(L, torch, name);
  }
  static const struct { const char *name; dl_dtype d; } bytes[] = {
    {"byte", DL_U8}, {"char", DL_I8}};
  for (int i = 0; i < 2; i++) {
    lua_pushinteger(L, bytes[i].d);
    lua_pushcclosure(L, l_cast, 1);
    lua_setfield(L, methods, bytes[i].name);
  }
  lua_newtable(L);                        /* torch.nn: filled by lua/torch/nn.lua on first use */
  lua_pushcfunction(L, l_parameter);
  lua_setfield(L, -2, "Parameter");
  lua_setfield(L, torch, "nn");
}

