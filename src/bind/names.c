/* names.c -- the global names: torch, F, nn, optim, np, torchvision, Dataset …, dlrepl
 *
 * What is written in Lua is loaded when first used: the global table, torch, F and dlrepl each look
 * a missing name up among the modules of lua/.
 *
 * INVARIANT  The names live in a table behind _G, so that assigning to one is seen (and warned
 *            about once); a module that does not exist leaves the name nil.
 * MUST NOT   know what the modules contain. */
#include "bind/bind.h"

#include <math.h>
#include <string.h>

int dl_is_parameter(lua_State *L);
int dl_old_tensor(lua_State *L);
int dl_read_idx(lua_State *L);
void dl_helper_open(lua_State *L, int dlrepl);
void dl_record_open(lua_State *L, int dlrepl);
void dl_held_open(lua_State *L, int dlrepl);
void dl_function_helpers(lua_State *L, int dlrepl);
void dl_autocast_open(lua_State *L, int dlrepl);
void dl_describe_open(lua_State *L, int dlrepl);
void dl_media_open(lua_State *L, int dlrepl);
void dl_archive_open(lua_State *L, int dlrepl);
void dl_unpickle_open(lua_State *L, int dlrepl);

/* ---- loading -------------------------------------------------------------------------------- */
/* Push require(name), or false where there is no such file. What is loaded is found whatever a
 * program did to its globals `package` and `require`. */
static bool load_module(lua_State *L, const char *name) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, name) != LUA_TNIL) return lua_remove(L, -2), true;
  lua_pop(L, 1);
  lua_getfield(L, -1, "package");
  lua_getfield(L, -1, "searchpath");
  lua_pushstring(L, name);
  lua_getfield(L, -3, "path");
  lua_call(L, 2, 1);
  bool have = lua_isstring(L, -1);
  lua_pop(L, 3);
  if (!have) return false;
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
  return true;
}

static int no_attribute(lua_State *L, const char *module, int tbl, const char *key) {
  dl_fail(DL_AttributeError, DL_E_ARGUMENT, "module '%s' has no attribute '%s'", module, key);
  const char *near = dl_nearest(L, tbl, key);
  if (near) dl_note("did you mean '%s'?", near);
  return dl_raise(L, DL_E_ARGUMENT);
}

/* functions that a module of another name adds to torch */
static const char *const torch_homes[][2] = {
  {"save", "torch.serialization"}, {"load", "torch.serialization"}, {"autocast", "torch.amp"},
  {"compile", "torch.compiler"}, {"nn", "torch.nn"},
  {"get_autocast_dtype", "torch.amp.state"}, {"set_autocast_dtype", "torch.amp.state"},
  {"is_autocast_enabled", "torch.amp.state"}, {"set_autocast_enabled", "torch.amp.state"},
  {"is_autocast_cache_enabled", "torch.amp.state"},
  {"set_autocast_cache_enabled", "torch.amp.state"}, {"clear_autocast_cache", "torch.amp.state"},
  {"is_autocast_cpu_enabled", "torch.amp.state"}, {"get_autocast_cpu_dtype", "torch.amp.state"},
  {"get_autocast_gpu_dtype", "torch.amp.state"},
};

/* The i-th such name and its module, NULL after the last: for completion */
const char *dl_torch_home(int i, const char **module) {
  const int n = sizeof torch_homes / sizeof *torch_homes;
  *module = i < n ? torch_homes[i][1] : NULL;
  return i < n ? torch_homes[i][0] : NULL;
}

/* the loader of a table: upvalue 1 its name, "torch" */
static int l_lazy(lua_State *L) {
  const char *module = lua_tostring(L, lua_upvalueindex(1));
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  if (*key == '_') return 0;
  for (size_t i = 0; i < sizeof torch_homes / sizeof *torch_homes; i++) {
    if (strcmp(module, "torch") || strcmp(key, torch_homes[i][0])) continue;
    if (load_module(L, torch_homes[i][1])) {
      lua_pushvalue(L, 2);
      if (lua_rawget(L, 1) != LUA_TNIL) return 1;
      lua_pop(L, 1);
      if (lua_istable(L, -1) && lua_getfield(L, -1, key) != LUA_TNIL) {
        lua_pushvalue(L, 2);
        lua_pushvalue(L, -2);
        lua_rawset(L, 1);
        return 1;
      }
    }
  }
  lua_settop(L, 2);
  lua_pushfstring(L, "%s.%s", module, key);
  if (load_module(L, lua_tostring(L, -1))) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, 1) != LUA_TNIL) return 1;
    lua_pop(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, 1);
    return 1;
  }
  return no_attribute(L, module, 1, key);
}

/* A module that is loaded in parts has __dl_more(name), which loads the part of a name, or all for
 * a name that no part has; "_" asks for all. Push table[key] then; false if it is still missing. */
static bool load_more(lua_State *L) {
  const char *key = lua_tostring(L, 2);
  if (key[0] == '_' && key[1]) return false;
  lua_pushliteral(L, "__dl_more");
  if (lua_rawget(L, 1) != LUA_TFUNCTION) return lua_pop(L, 1), false;
  lua_pushvalue(L, 2);
  lua_call(L, 1, 0);
  lua_pushvalue(L, 2);
  return lua_rawget(L, 1) != LUA_TNIL;
}

/* The first missing name of nn or F loads the module that fills the table. */
static int l_fill(lua_State *L) {
  const char *module = lua_tostring(L, lua_upvalueindex(1));
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.filled");
  bool done = lua_getfield(L, -1, module) != LUA_TNIL;
  lua_settop(L, 3);
  if (!done) {
    lua_pushboolean(L, 1);
    lua_setfield(L, 3, module);
    load_module(L, module);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, 1) != LUA_TNIL) return 1;
  }
  lua_settop(L, 2);
  if (load_more(L)) return 1;
  if (*key == '_') return 0;
  return no_attribute(L, module, 1, key);
}

static void set_loader(lua_State *L, int tbl, const char *module, lua_CFunction fn) {
  tbl = lua_absindex(L, tbl);
  lua_newtable(L);
  lua_pushstring(L, module);
  lua_pushcclosure(L, fn, 1);
  lua_setfield(L, -2, "__index");
  lua_pushstring(L, "module");
  lua_setfield(L, -2, "__name");
  lua_setmetatable(L, tbl);
  lua_pushstring(L, module);
  lua_setfield(L, tbl, "__dl_module");
}

/* ---- _G ------------------------------------------------------------------------------------- */
static const char *const global_homes[][3] = {
  /* name            module                 field of it, or "" for the module */
  {"nn", "torch.nn", ""}, {"optim", "torch.optim", ""}, {"torchvision", "torchvision", ""},
  {"Dataset", "torch.utils.data", "Dataset"}, {"DataLoader", "torch.utils.data", "DataLoader"},
  {"TensorDataset", "torch.utils.data", "TensorDataset"},
  {"datasets", "torchvision.datasets", ""}, {"transforms", "torchvision.transforms", ""},
  {"help", "dlrepl.help", ""}, {"input", "dlrepl.input", ""},
};

/* _G[key] for a name that is not there: upvalue 1 is the table of our names */
static int l_global(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *key = lua_tostring(L, 2);
  for (size_t i = 0; i < sizeof global_homes / sizeof *global_homes; i++) {
    if (strcmp(key, global_homes[i][0]) || !load_module(L, global_homes[i][1])) continue;
    if (*global_homes[i][2]) lua_getfield(L, -1, global_homes[i][2]);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_rawset(L, lua_upvalueindex(1));
    return 1;
  }
  return 0;
}

/* The i-th such name, NULL after the last: for completion */
const char *dl_global_home(int i) {
  const int n = sizeof global_homes / sizeof *global_homes;
  return i < n ? global_homes[i][0] : NULL;
}

static bool is_ours(const char *key) {
  static const char *const names[] = {"torch", "F", "np", "dlrepl"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], key)) return true;
  for (size_t i = 0; i < 6; i++)
    if (!strcmp(global_homes[i][0], key)) return true;
  return false;
}

static int l_set_global(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && is_ours(lua_tostring(L, 2)) && !lua_isnil(L, 3)) {
    dl_lua = L;
    dl_warn(true, "UserWarning", "'%s' is one of dlrepl's own names; this assignment hides it",
            lua_tostring(L, 2));
  }
  lua_settop(L, 3);
  lua_rawset(L, 1);
  return 0;
}

/* ---- ipairs and table.unpack on torch's own objects, which count from 0 --------------------- */
static int l_ipairs(lua_State *L) {
  luaL_checkany(L, 1);
  if (luaL_getmetafield(L, 1, "__ipairs") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 3);
    return 3;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 3);
  return 3;
}

static int l_unpack(lua_State *L) {
  if (luaL_getmetafield(L, 1, "__ipairs") != LUA_TNIL) {
    dl_fail(DL_TypeError, DL_E_ARGUMENT, "table.unpack counts from 1, a %s from 0",
            dl_type_name(L, 1));
    dl_note(luaL_getmetafield(L, 1, "class") == LUA_TNIL
              ? "write x:unpack()" : "collect what for i, v in ipairs(x) do … end gives");
    return dl_raise(L, DL_E_ARGUMENT);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static void wrap(lua_State *L, int tbl, const char *name, lua_CFunction fn) {
  lua_getfield(L, tbl, name);
  lua_pushcclosure(L, fn, 1);
  lua_setfield(L, tbl, name);
}

/* ---- devices -------------------------------------------------------------------------------- */
static void open_devices(lua_State *L, int torch, int methods, int dlrepl) {
  lua_newtable(L);
  int cuda = lua_gettop(L);
  dl_cuda_open(L, cuda, torch, methods, dlrepl);
  dl_cudamem_open(L, cuda, dlrepl);
  dl_where_open();
  dl_scratch_open(L, dlrepl);
  dl_sim_bind_open(L, dlrepl);
  set_loader(L, cuda, "torch.cuda", l_fill);
  lua_setfield(L, torch, "cuda");
}

/* ---- open ----------------------------------------------------------------------------------- */
static void set_number(lua_State *L, int tbl, const char *key, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, tbl, key);
}

/* Functions of F that torch/nn/functional.lua writes over these ops (inplace=, padding='same' …):
 * absent at first, so that using one loads that file. */
static void leave_to_lua(lua_State *L, int f) {
  static const char *const names[] = {
    "relu", "relu6", "selu", "silu", "mish", "hardswish", "hardsigmoid", "elu", "celu",
    "leaky_relu", "hardtanh", "threshold", "softmax", "log_softmax", "softmin", "conv1d", "conv2d",
    "max_pool2d", "adaptive_avg_pool2d"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    lua_pushnil(L);
    lua_setfield(L, f, names[i]);
  }
}

static void open_torch(lua_State *L, int torch, int f) {
  leave_to_lua(L, f);
  set_number(L, torch, "pi", 3.14159265358979323846);
  set_number(L, torch, "e", 2.71828182845904523536);
  set_number(L, torch, "inf", HUGE_VAL);
  set_number(L, torch, "nan", NAN);
  lua_pushliteral(L, "2.14.1");
  lua_setfield(L, torch, "__version__");
  lua_getfield(L, torch, "nn");
  lua_pushvalue(L, f);
  lua_setfield(L, -2, "functional");
  set_loader(L, -1, "torch.nn", l_fill);
  lua_pop(L, 1);
  lua_newtable(L);
  set_loader(L, -1, "torch.utils", l_lazy);
  lua_setfield(L, torch, "utils");
  lua_getfield(L, torch, "autograd");
  set_loader(L, -1, "torch.autograd", l_lazy);
  lua_getfield(L, -1, "graph");
  set_loader(L, -1, "torch.autograd.graph", l_lazy);
  lua_pop(L, 1);
  lua_pop(L, 1);
  set_loader(L, torch, "torch", l_lazy);
  set_loader(L, f, "torch.nn.functional", l_fill);
}

static void open_globals(lua_State *L, int names) {
  lua_pushglobaltable(L);
  int g = lua_gettop(L);
  wrap(L, g, "ipairs", l_ipairs);
  lua_getglobal(L, "table");
  wrap(L, lua_gettop(L), "unpack", l_unpack);
  lua_pop(L, 1);
  if (!lua_getmetatable(L, g)) lua_newtable(L);
  lua_pushvalue(L, names);
  lua_pushcclosure(L, l_global, 1);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, names);
  lua_pushcclosure(L, l_set_global, 1);
  lua_setfield(L, -2, "__newindex");
  lua_setmetatable(L, g);
  lua_pop(L, 1);
}

/* torch.Tensor(2, 3), torch.Tensor{1, 2}: upvalue 1 is the constructor */
static int l_class_call(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_replace(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

static int l_class_tostring(lua_State *L) {
  lua_pushliteral(L, "<class 'torch.Tensor'>");
  return 1;
}

/* methods are torch.Tensor's too: torch.Tensor.add(x, y); what is put there is a method of all */
static void open_class(lua_State *L, int torch, int methods) {
  lua_newtable(L);
  lua_newtable(L);
  lua_pushvalue(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, methods);
  lua_setfield(L, -2, "__newindex");
  lua_pushinteger(L, DL_NODTYPE);
  lua_pushcclosure(L, dl_old_tensor, 1);
  lua_pushcclosure(L, l_class_call, 1);
  lua_setfield(L, -2, "__call");
  lua_pushcfunction(L, l_class_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  lua_setfield(L, torch, "Tensor");
}

int dl_bind_open(lua_State *L) {
  dl_op_init();
  dl_pace_open(L);
  luaL_checkstack(L, 40, "open");
  int top = lua_gettop(L);
  for (int i = 0; i < 7; i++) lua_newtable(L);
  int torch = top + 1, f = top + 2, linalg = top + 3, ops = top + 4, dlrepl = top + 5,
      methods = top + 6,
      names = top + 7;
  dl_metatable(L, &dl_t_tensor);
  int meta = lua_gettop(L);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.filled");
  dl_error_open(L, dlrepl);
  dl_types_open(L, torch);
  dl_ops_open(L, torch, methods, f, linalg, ops);
  dl_arith_open(L, meta);
  dl_make_open(L, torch, methods);
  dl_method_open(L, torch, methods);
  dl_special_open(L, torch, methods);
  dl_rng_open(L, torch);
  dl_hooks_open(L, torch, methods);
  dl_autograd_open(L, torch, methods);
  dl_print_open(L, torch, meta);
  dl_inplace_view_open(L, methods);
  dl_prop_open(L, methods);
  dl_np_open(L, torch, methods);
  dl_debug_open(L, dlrepl, methods);
  lua_pushvalue(L, linalg);
  lua_setfield(L, torch, "linalg");
  lua_pushvalue(L, ops);
  lua_setfield(L, dlrepl, "ops");
  lua_pushcfunction(L, dl_is_parameter);
  lua_setfield(L, dlrepl, "_is_parameter");
  lua_pushcfunction(L, dl_read_idx);
  lua_setfield(L, dlrepl, "_read_idx");
  dl_helper_open(L, dlrepl);
  dl_record_open(L, dlrepl);
  dl_held_open(L, dlrepl);
  dl_autocast_open(L, dlrepl);
  dl_function_helpers(L, dlrepl);
  dl_describe_open(L, dlrepl);
  dl_media_open(L, dlrepl);
  dl_archive_open(L, dlrepl);
  dl_unpickle_open(L, dlrepl);
  set_loader(L, dlrepl, "dlrepl", l_lazy);
  open_class(L, torch, methods);
  open_torch(L, torch, f);
  open_devices(L, torch, methods, dlrepl);
  static const char *const shown[] = {"torch", "F", "dlrepl"};
  const int where[] = {torch, f, dlrepl};
  for (int i = 0; i < 3; i++) {
    lua_pushvalue(L, where[i]);
    lua_setfield(L, names, shown[i]);
  }
  lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_pushvalue(L, torch);
  lua_setfield(L, -2, "torch");
  lua_pop(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.np");
  lua_setfield(L, names, "np");
  open_globals(L, names);
  lua_settop(L, top);
  return 0;
}
