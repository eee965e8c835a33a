/* function.c -- torch.autograd.Function: forward and backward written in Lua
 *
 *     local Cube = torch.autograd.Function:class("Cube")
 *     function Cube.forward(ctx, x) ctx:save_for_backward(x); return x * x * x end
 *     function Cube.backward(ctx, g) local x = ctx.saved_tensors[1]; return g * 3 * x * x end
 *     y = Cube.apply(x)
 *
 * INVARIANT  The node's slot owns the ctx table; saved tensors belong to the node (version check,
 *            no cycle through an output), ctx reads them while its backward runs.
 * MUST NOT   record what forward does: it runs without gradient. */
#include "bind/bind.h"

#include <stdio.h>
#include <string.h>

static const char ctx_key = 0;

dl_status dl_protected(lua_CFunction fn, void *ud);
void dl_function_helpers(lua_State *L, int dlrepl);

/* ---- backward ------------------------------------------------------------------------------- */
typedef struct back_call { dl_node *n; dl_tensor **gout, **gin; } back_call;

/* The device of the first gradient that came. */
static dl_arg device_of(const back_call *c) {
  for (uint32_t k = 0; k < dl_node_outs(c->n); k++)
    if (c->gout[k]) return DEV(c->gout[k]);
  return NIL;
}

static void push_grad(lua_State *L, const back_call *c, uint32_t k, bool zeros) {
  dl_tensor *g = c->gout[k];
  if (!g && !zeros) {
    lua_pushnil(L);
    return;
  }
  dl_box *b = dl_push_shell(L);
  if (g) {
    b->t = dl_tensor_retain(g);
    return;
  }
  dl_meta m;
  dl_node_out_meta(c->n, k, &m);
  dl_arg v[] = {L(m.size, m.ndim), DT(m.dtype), device_of(c)};
  dl_status st = dl_run(DL_OP_zeros, v, 3, 0, &b->t);
  if (st != DL_OK) dl_raise(L, st);
}

static void push_function_name(lua_State *L, int ctx) {
  lua_getfield(L, ctx, "_name");
}

/* results first … top of backward become gin; None, nil and surplus Nones are no gradient */
static void take_results(lua_State *L, back_call *c, int ctx, int first) {
  int n = lua_gettop(L) - first + 1, want = (int)c->n->n_edges;
  while (n > want && dl_is_nil(L, first + n - 1)) n--;
  push_function_name(L, ctx);
  const char *name = lua_tostring(L, -1);
  if (n != want && !(n == 0 && want == 0))
    dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
             "function %s returned an incorrect number of gradients (expected %d, got %d)", name,
             want, n);
  for (int k = 0; k < want; k++) {
    if (dl_is_nil(L, first + k)) continue;
    dl_tensor *t = dl_get_tensor(L, first + k);
    if (!t)
      dl_type_error(L, "expected Variable or None (got %s)", dl_type_name(L, first + k));
    if (c->n->edges[k].node) c->gin[k] = dl_tensor_retain(t);
  }
}

static int call_backward(lua_State *L) {
  back_call *c = lua_touserdata(L, 1);
  dl_slot_push(L, c->n->ext->slot);
  int ctx = lua_gettop(L);
  lua_pushlightuserdata(L, c->n);
  lua_setfield(L, ctx, "_node");          /* ctx.saved_tensors unpacks from it */
  lua_getfield(L, ctx, "_materialize");
  bool zeros = lua_toboolean(L, -1);
  lua_getfield(L, ctx, "_class");
  lua_getfield(L, -1, "backward");
  if (!lua_isfunction(L, -1))
    return dl_throw(L, DL_NotImplementedError, DL_E_AUTOGRAD,
                    "You must implement either the backward or vjp method for your custom "
                    "autograd.Function to use it with backward mode AD.");
  lua_pushvalue(L, ctx);
  uint32_t n = dl_node_outs(c->n);
  luaL_checkstack(L, (int)n + 8, "backward");
  for (uint32_t k = 0; k < n; k++) push_grad(L, c, k, zeros);
  int first = lua_gettop(L) - (int)n - 1;
  lua_call(L, (int)n + 1, LUA_MULTRET);
  take_results(L, c, ctx, first);
  lua_pushnil(L);
  lua_setfield(L, ctx, "_node");
  return 0;
}

static dl_status apply_backward(dl_node *n, dl_tensor **gout, dl_tensor **gin) {
  back_call c = {n, gout, gin};
  return dl_protected(call_backward, &c);
}

static void free_slot(dl_node *n) {
  dl_host.release(n->ext->slot);
  n->ext->slot = 0;
}

/* ---- ctx ------------------------------------------------------------------------------------ */
static void keep_list(lua_State *L, const char *field) {
  int n = lua_gettop(L);
  lua_createtable(L, n - 1, 0);
  for (int i = 2; i <= n; i++) {
    if (!dl_get_tensor(L, i) && !dl_is_nil(L, i))
      dl_type_error(L, "save_for_backward can only save variables, but argument %d is of type %s",
                    i - 2,
                    dl_type_name(L, i));
    if (dl_get_tensor(L, i)) {
      dl_share_box(L, i);
      lua_pushvalue(L, i);
    } else {
      dl_push_none(L);
    }
    lua_rawseti(L, -2, i - 1);
  }
  lua_setfield(L, 1, field);
}

static int l_save_for_backward(lua_State *L) {
  keep_list(L, "_saved");
  return 0;
}
static int l_mark_dirty(lua_State *L) {
  keep_list(L, "_dirty");
  return 0;
}
static int l_mark_non_differentiable(lua_State *L) {
  keep_list(L, "_plain");
  return 0;
}
static int l_set_materialize_grads(lua_State *L) {
  lua_pushboolean(L, lua_toboolean(L, 2));
  lua_setfield(L, 1, "_materialize");
  return 0;
}

static int push_saved(lua_State *L) {
  lua_getfield(L, 1, "_node");
  dl_node *n = lua_touserdata(L, -1);
  if (!n) {                               /* inside forward: the list itself */
    if (lua_getfield(L, 1, "_saved") == LUA_TNIL) lua_newtable(L);
    return 1;
  }
  if (n->freed) return dl_raise(L, dl_node_freed_error());
  lua_createtable(L, n->n_saved, 0);
  for (int k = 0; k < n->n_saved; k++) {
    dl_tensor *t = NULL;
    dl_box *b = dl_push_shell(L);
    dl_status st = dl_saved_unpack(n, &dl_node_saved(n)[k], &b->t);
    if (st != DL_OK) return dl_raise(L, st);
    t = b->t;
    if (!t) {
      lua_pop(L, 1);
      dl_push_none(L);
    } else if (t->boxed) {
      dl_push_shared(L, t);
      lua_remove(L, -2);
    }
    lua_rawseti(L, -2, k + 1);
  }
  return 1;
}

/* _unpack_saved(ctx, result of its apply) -> the saved tensors, outside of backward */
static int l_unpack_saved(lua_State *L) {
  dl_tensor *t = dl_check_tensor(L, 2, "_unpack_saved", "result");
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushlightuserdata(L, t->grad_fn);
  lua_setfield(L, 1, "_node");
  push_saved(L);
  lua_pushnil(L);
  lua_setfield(L, 1, "_node");
  return 1;
}

/* _graph_task() -> the number of the backward that runs (0: none), whether it has `inputs` */
static int l_graph_task(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)dl_walk_task.id);
  lua_pushboolean(L, dl_walk_task.inputs);
  return 2;
}

static int l_ctx_index(lua_State *L) {
  static const luaL_Reg methods[] = {
    {"save_for_backward", l_save_for_backward}, {"mark_dirty", l_mark_dirty},
    {"mark_non_differentiable", l_mark_non_differentiable},
    {"set_materialize_grads", l_set_materialize_grads}, {NULL, NULL}};
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  if (!strcmp(key, "saved_tensors")) return push_saved(L);
  for (const luaL_Reg *r = methods; r->name; r++)
    if (!strcmp(r->name, key)) {
      lua_pushcfunction(L, r->func);
      return 1;
    }
  return 0;
}

/* ---- forward -------------------------------------------------------------------------------- */
/* Is the tensor at i in the list ctx[field]? */
static bool listed(lua_State *L, int ctx, const char *field, const dl_tensor *t) {
  bool found = false;
  if (lua_getfield(L, ctx, field) == LUA_TTABLE) {
    int n = (int)lua_rawlen(L, -1);
    for (int i = 1; i <= n && !found; i++) {
      lua_rawgeti(L, -1, i);
      found = dl_get_tensor(L, -1) == t;
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  return found;
}

static bool is_input(lua_State *L, const dl_tensor *t, int first, int n) {
  for (int i = first; i < first + n; i++)
    if (dl_get_tensor(L, i) == t) return true;
  return false;
}

static int output_number(lua_State *L, const dl_tensor *t, int first, int n) {
  for (int i = 0; i < n; i++)
    if (dl_get_tensor(L, first + i) == t) return i;
  return -1;
}

/* inputs at in … in+nin-1, results at out … out+nout-1 */
typedef struct fn_call { int ctx, in, nin, out, nout; } fn_call;

static void save_tensors(lua_State *L, const fn_call *c, dl_node *node) {
  if (lua_getfield(L, c->ctx, "_saved") == LUA_TTABLE) {
    for (int k = 0; k < node->n_saved; k++) {
      lua_rawgeti(L, -1, k + 1);
      dl_tensor *t = dl_get_tensor(L, -1);
      int nr = t ? output_number(L, t, c->out, c->nout) : -1;
      bool input = t && is_input(L, t, c->in, c->nin);
      dl_status st = !t ? DL_OK
                        : dl_saved_set(node, &dl_node_saved(node)[k], t, nr >= 0 && !input,
                                       (uint32_t)(nr < 0 ? 0 : nr));
      if (st != DL_OK) dl_raise(L, st);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  lua_pushnil(L);
  lua_setfield(L, c->ctx, "_saved");
}

static int saved_count(lua_State *L, int ctx) {
  int n = lua_getfield(L, ctx, "_saved") == LUA_TTABLE ? (int)lua_rawlen(L, -1) : 0;
  lua_pop(L, 1);
  return n;
}

static void make_node(lua_State *L, const fn_call *c) {
  char name[128];
  lua_getfield(L, c->ctx, "_name");
  snprintf(name, sizeof name, "%s", lua_tostring(L, -1));
  lua_pop(L, 1);
  dl_nodebox *nb = dl_new_object(L, &dl_t_node);
  lua_pushvalue(L, c->ctx);
  int slot = dl_slot_new(L);
  dl_status st = dl_node_custom(name, (uint32_t)c->nin, (uint32_t)saved_count(L, c->ctx),
                                apply_backward,
                                free_slot, slot, &nb->n);
  if (st != DL_OK) {
    dl_host.release(slot);
    dl_raise(L, st);
  }
  for (int k = 0; k < c->nin; k++) {
    st = dl_node_set_edge(nb->n, (uint32_t)k, dl_get_tensor(L, c->in + k));
    if (st != DL_OK) dl_raise(L, st);
  }
  dl_tensor **outs = lua_newuserdatauv(L, (size_t)(c->nout + 1) * sizeof *outs, 0);
  bool *dirty = lua_newuserdatauv(L, (size_t)(c->nout + 1) * sizeof *dirty, 0);
  for (int k = 0; k < c->nout; k++) {
    int at = c->out + k;
    dl_tensor *t = dl_get_tensor(L, at);
    dirty[k] = t && listed(L, c->ctx, "_dirty", t);
    bool plain = t && listed(L, c->ctx, "_plain", t);
    if (t && !dirty[k] && is_input(L, t, c->in, c->nin)) {
      dl_box *alias = dl_push_shell(L);
      st = dl_tensor_alias(t, true, &alias->t);
      if (st != DL_OK) dl_raise(L, st);
      t = alias->t;
      lua_replace(L, at);
    }
    outs[k] = plain ? NULL : t;
  }
  save_tensors(L, c, nb->n);
  st = dl_node_set_results(nb->n, outs, dirty, (uint32_t)c->nout);
  if (st != DL_OK) dl_raise(L, st);
}

static bool any_wants_grad(lua_State *L, int first, int n) {
  for (int i = first; i < first + n; i++) {
    dl_tensor *t = dl_get_tensor(L, i);
    if (t && dl_tensor_wants_grad(t)) return true;
  }
  return false;
}

static void push_ctx(lua_State *L, int class, int in, int nin) {
  lua_newtable(L);
  lua_pushvalue(L, class);
  lua_setfield(L, -2, "_class");
  lua_getfield(L, class, "__name__");
  lua_pushfstring(L, "%sBackward", lua_tostring(L, -1) ? lua_tostring(L, -1) : "Function");
  lua_remove(L, -2);
  lua_setfield(L, -2, "_name");
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "_materialize");
  lua_createtable(L, nin, 0);
  for (int i = 0; i < nin; i++) {
    dl_tensor *t = dl_get_tensor(L, in + i);
    lua_pushboolean(L, t && dl_tensor_wants_grad(t));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "needs_input_grad");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &ctx_key);
  lua_setmetatable(L, -2);
}

/* F.apply(…): upvalue 1 is the class; F:apply(…) hands it over as well */
static int l_apply(lua_State *L) {
  int class = lua_upvalueindex(1);
  if (lua_rawequal(L, 1, class)) lua_remove(L, 1);
  fn_call c = {.in = 1, .nin = lua_gettop(L)};
  luaL_checkstack(L, 2 * c.nin + 32, "apply");
  bool record = dl_grad_enabled() && any_wants_grad(L, 1, c.nin);
  push_ctx(L, class, 1, c.nin);
  c.ctx = lua_gettop(L);
  lua_getglobal(L, "torch");
  lua_getfield(L, -1, "no_grad");
  lua_remove(L, -2);
  int call = lua_gettop(L);
  lua_getfield(L, class, "forward");
  if (!lua_isfunction(L, -1))
    return dl_throw(L, DL_NotImplementedError, DL_E_AUTOGRAD,
                    "You must implement the forward function for custom autograd.Function.");
  lua_pushvalue(L, c.ctx);
  for (int i = 1; i <= c.nin; i++) lua_pushvalue(L, i);
  lua_call(L, c.nin + 2, LUA_MULTRET);
  c.out = call;
  c.nout = lua_gettop(L) - call + 1;
  luaL_checkstack(L, c.nout + 16, "apply");
  if (record) {
    make_node(L, &c);
    lua_settop(L, c.out + c.nout - 1);
  }
  return c.nout;
}

/* ---- classes -------------------------------------------------------------------------------- */
static int l_class_tostring(lua_State *L) {
  lua_getfield(L, 1, "__name__");
  lua_pushfstring(L, "<class '__main__.%s'>", lua_tostring(L, -1));
  return 1;
}

static int l_class(lua_State *L) {
  if (!lua_istable(L, 1) || lua_type(L, 2) != LUA_TSTRING)
    return dl_type_error(L, "class() takes a name: torch.autograd.Function:class(\"Mine\")");
  lua_settop(L, 2);
  lua_newtable(L);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "__name__");
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_apply, 1);
  lua_setfield(L, -2, "apply");
  lua_newtable(L);
  lua_pushvalue(L, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_class_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_setmetatable(L, -2);
  return 1;
}

void dl_function_open(lua_State *L, int autograd) {
  lua_newtable(L);
  lua_pushcfunction(L, l_ctx_index);
  lua_setfield(L, -2, "__index");
  lua_pushliteral(L, "FunctionCtx");
  lua_setfield(L, -2, "__name");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &ctx_key);
  lua_newtable(L);
  lua_pushcfunction(L, l_class);
  lua_setfield(L, -2, "class");
  lua_setfield(L, autograd, "Function");
}

/* What lua/torch/utils/checkpoint needs. */
void dl_function_helpers(lua_State *L, int dlrepl) {
  static const luaL_Reg own[] = {
    {"_unpack_saved", l_unpack_saved}, {"_graph_task", l_graph_task}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, own);
}
