/* autograd.c -- backward, torch.autograd.grad, detach_, retain_grad
 *
 * MUST NOT  know rules or nodes: grad/ walks. */
#include "bind/bind.h"

#include <string.h>

int dl_l_gradcheck(lua_State *L);

/* A list of tensors that a walk needs; lives in a userdata so that a failed read leaks nothing. */
typedef struct tensor_list { int n; dl_tensor **v; } tensor_list;

/* One tensor, or a list (a nil or None entry is NULL if `holes`). Anchored on the stack. */
static tensor_list read_list(lua_State *L, int i, const char *fn, const char *param, bool holes) {
  tensor_list l = {0, NULL};
  if (i == 0 || dl_is_nil(L, i)) return l;
  if (!dl_is_list(L, i)) {
    l.v = lua_newuserdatauv(L, sizeof *l.v, 0);
    l.v[0] = dl_get_tensor(L, i);
    l.n = 1;
    if (!l.v[0])
      dl_type_error(L, "%s(): argument '%s' must be Tensor or list of Tensors, not %s", fn, param,
                    dl_type_name(L, i));
    return l;
  }
  int64_t n = dl_list_len(L, i);
  l.v = lua_newuserdatauv(L, (size_t)(n ? n : 1) * sizeof *l.v, 0);
  l.n = (int)n;
  for (int64_t k = 0; k < n; k++) {
    dl_list_get(L, i, k);
    l.v[k] = dl_get_tensor(L, -1);
    if (!l.v[k] && !(holes && dl_is_nil(L, -1)))
      dl_type_error(L, "%s(): argument '%s' must be a list of Tensors, but found element of "
                       "type %s at pos %d",
                    fn, param, dl_type_name(L, -1), (int)k);
    lua_pop(L, 1);
  }
  return l;
}

/* gradients as long as the roots: missing ones are NULL */
static dl_tensor **pad(lua_State *L, tensor_list g, int n) {
  dl_tensor **v = lua_newuserdatauv(L, (size_t)(n ? n : 1) * sizeof *v, 0);
  for (int i = 0; i < n; i++) v[i] = i < g.n ? g.v[i] : NULL;
  return v;
}

static void warn_create_graph(lua_State *L) {
  dl_lua = L;
  dl_warn(true, "UserWarning",
          "Using backward() with create_graph=True will create a reference cycle between the "
          "parameter and its gradient which can cause a memory leak. We recommend using "
          "autograd.grad when creating the graph to avoid this. If you have to use this function, "
          "make sure to reset the .grad fields of your parameters to None after use to break the "
          "cycle and avoid the leak.");
}

/* roots, gradients, options in a: grad at 1, retain at 2, create at 3, inputs at 4 */
static int run_backward(lua_State *L, dl_args *a, tensor_list roots, const char *fn) {
  tensor_list grads = read_list(L, a->at[1], fn, "gradient", true);
  tensor_list inputs = read_list(L, a->at[4], fn, "inputs", false);
  if (a->at[4] && inputs.v && inputs.n == 0)
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "`inputs` argument to `backward()` cannot be empty.");
  dl_tensor **seed = pad(L, grads, roots.n);
  dl_backward_opts o = {.create_graph = a->arg[3].i, .accumulate = inputs.n > 0,
                        .allow_unused = true};
  o.retain_graph = a->arg[2].tag == DL_A_BOOL ? a->arg[2].i : o.create_graph;
  if (o.create_graph) warn_create_graph(L);
  dl_pace(L);
  dl_status st = dl_backward(roots.v, seed, roots.n, inputs.n ? inputs.v : NULL, inputs.n, o, NULL);
  dl_slot_drain(L);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

static int l_backward(lua_State *L) {
  static dl_sig sig = {"backward(Tensor self, Tensor? gradient=None, bool? retain_graph=None, "
                       "bool create_graph=False, Tensor[]? inputs=None) -> Tensor", 2 | 16, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  tensor_list root = read_list(L, 1, "backward", "self", false);
  return run_backward(L, &a, root, "backward");
}

static int l_autograd_backward(lua_State *L) {
  static dl_sig sig = {"backward(Tensor[] tensors, Tensor[]? grad_tensors=None, bool? "
                       "retain_graph=None, "
                       "bool create_graph=False, Tensor[]? inputs=None) -> Tensor", 1 | 2 | 16,
                       NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  tensor_list roots = read_list(L, a.at[0], "backward", "tensors", false);
  return run_backward(L, &a, roots, "backward");
}

/* ---- torch.autograd.grad -------------------------------------------------------------------- */
/* Results wait in a userdata that releases what was not handed out. */
typedef struct results { int n; dl_tensor *v[]; } results;

static int l_results_gc(lua_State *L) {
  results *r = lua_touserdata(L, 1);
  for (int i = 0; i < r->n; i++) dl_tensor_drop(&r->v[i]);
  return 0;
}

static results *push_results(lua_State *L, int n) {
  results *r = lua_newuserdatauv(L, sizeof *r + (size_t)n * sizeof *r->v, 0);
  memset(r, 0, sizeof *r + (size_t)n * sizeof *r->v);
  r->n = n;
  if (luaL_newmetatable(L, "dl.results")) {
    lua_pushcfunction(L, l_results_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return r;
}

static void hand_out(lua_State *L, dl_tensor **from, dl_tensor *like, bool zeros) {
  if (!*from && !zeros) {
    lua_pushnil(L);
    return;
  }
  dl_box *b = dl_push_shell(L);
  b->t = *from;
  *from = NULL;
  if (b->t) return;
  dl_status st = dl_run(DL_OP_zeros_like, (dl_arg[]){T(like)}, 1, 0, &b->t);
  if (st != DL_OK) dl_raise(L, st);
}

enum { OUTPUTS, INPUTS, GRAD_OUTPUTS, RETAIN, CREATE, BATCHED, ALLOW, MATERIALIZE };

static int l_grad(lua_State *L) {
  static dl_sig sig = {"grad(Tensor[] outputs, Tensor[] inputs, Tensor[]? grad_outputs=None, "
                       "bool? retain_graph=None, bool create_graph=False, bool "
                       "is_grads_batched=False, bool? allow_unused=None, bool "
                       "materialize_grads=False) -> Tensor", 7, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  tensor_list out = read_list(L, a.at[OUTPUTS], "grad", "outputs", false);
  tensor_list in = read_list(L, a.at[INPUTS], "grad", "inputs", false);
  tensor_list seed = read_list(L, a.at[GRAD_OUTPUTS], "grad", "grad_outputs", true);
  if (in.n == 0) return dl_throw(L, DL_ValueError, DL_E_AUTOGRAD,
                                 "grad requires non-empty inputs.");
  bool zeros = a.arg[MATERIALIZE].i;
  dl_backward_opts o = {.create_graph = a.arg[CREATE].i};
  o.allow_unused = zeros || (a.arg[ALLOW].tag == DL_A_BOOL && a.arg[ALLOW].i);
  o.retain_graph = a.arg[RETAIN].tag == DL_A_BOOL ? a.arg[RETAIN].i : o.create_graph;
  dl_tensor **grads = pad(L, seed, out.n);
  dl_pace(L);
  results *r = push_results(L, in.n);
  dl_status st = dl_backward(out.v, grads, out.n, in.v, in.n, o, r->v);
  dl_slot_drain(L);
  if (st != DL_OK) return dl_raise(L, st);
  luaL_checkstack(L, in.n + 4, "grad");
  for (int i = 0; i < in.n; i++) hand_out(L, &r->v[i], in.v[i], zeros);
  return in.n;
}

/* ---- methods -------------------------------------------------------------------------------- */
static int l_retain_grad(lua_State *L) {
  dl_status st = dl_tensor_retain_grad(dl_check_tensor(L, 1, "retain_grad", "self"));
  return st == DL_OK ? 0 : dl_raise(L, st);
}

static int l_detach_(lua_State *L) {
  dl_status st = dl_tensor_detach_(dl_check_tensor(L, 1, "detach_", "self"));
  lua_settop(L, 1);
  return st == DL_OK ? 1 : dl_raise(L, st);
}

void dl_autograd_open(lua_State *L, int torch, int methods) {
  static const luaL_Reg meth[] = {
    {"backward", l_backward}, {"retain_grad", l_retain_grad}, {"detach_", l_detach_}, {NULL, NULL}};
  static const luaL_Reg funcs[] = {
    {"backward", l_autograd_backward}, {"grad", l_grad}, {"gradcheck", dl_l_gradcheck},
    {NULL, NULL}};
  dl_set_funcs(L, methods, meth);
  lua_newtable(L);
  dl_set_funcs(L, -1, funcs);
  lua_pushvalue(L, -1);
  lua_setfield(L, torch, "autograd");
  int autograd = lua_gettop(L);
  dl_modes_open(L, torch, autograd);
  dl_function_open(L, autograd);
  lua_pop(L, 1);
}
