/* hooks.c -- Lua values that engine objects own, tensor hooks, grad_fn objects
 *
 * A slot is an int in a registry table. The engine may drop one at any moment (a node dies in the
 * middle of an op), so dropped slots are queued and freed at the binding's next entry.
 *
 * INVARIANT  Every call from the engine into Lua goes through dl_protected: an error comes back as
 *            a status and is raised again by the binding function that started the walk.
 * MUST NOT   hold a tensor from a slot unless the user's function does. */
#include "bind/bind.h"
#include "op/record.h"

#include <stdlib.h>
#include <string.h>

static const char slots_key = 0, handle_key = 0;

/* ---- slots ---------------------------------------------------------------------------------- */
static int *dropped;
static int n_dropped, cap_dropped;

int dl_slot_new(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &slots_key);
  lua_insert(L, -2);
  int slot = luaL_ref(L, -2);
  lua_pop(L, 1);
  return slot;
}

void dl_slot_push(lua_State *L, int slot) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &slots_key);
  lua_rawgeti(L, -1, slot);
  lua_remove(L, -2);
}

static void slot_release(int slot) {
  if (slot == 0) return;
  if (n_dropped == cap_dropped) {
    int cap = cap_dropped ? 2 * cap_dropped : 64;
    int *bigger = realloc(dropped, (size_t)cap * sizeof *bigger);
    if (!bigger) return;                  /* the value stays in its slot: lost, not dangling */
    dropped = bigger;
    cap_dropped = cap;
  }
  dropped[n_dropped++] = slot;
  dl_pace_boxes = 0;                      /* the next op drains the queue */
}

bool dl_slot_drain(lua_State *L) {
  if (n_dropped == 0) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &slots_key);
  while (n_dropped > 0) luaL_unref(L, -1, dropped[--n_dropped]);
  lua_pop(L, 1);
  return true;
}

dl_status dl_protected(lua_CFunction fn, void *ud) {
  lua_State *L = dl_lua;
  if (!L || !lua_checkstack(L, 8))
    return dl_fail(DL_RuntimeError, DL_E_INTERNAL, "no room on the Lua stack for a callback");
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, ud);
  dl_hook_depth++;
  int status = lua_pcall(L, 1, 0, 0);
  dl_hook_depth--;
  dl_lua = L;
  return status == LUA_OK ? DL_OK : dl_park_error(L);
}

/* ---- tensor hooks: a slot holds a list of {id, function}, `st` = the tensor's memory --------- */
typedef struct hook_call { int slot; dl_tensor *t, *replaced; } hook_call;

/* For the run record: hooks of this list run, n of them. */
static void note_hooks(lua_State *L, const char *kind, int slot, int n) {
  if (!dl_record_on()) return;
  dl_slot_push(L, slot);
  if (lua_istable(L, -1)) lua_getfield(L, -1, "st");
  const char *name = dl_record_name(lua_touserdata(L, -1));
  for (int i = 0; i < n; i++) dl_record_hook(kind, name);
}

/* the functions of the list, copied: a hook may remove hooks */
static int push_functions(lua_State *L, int slot) {
  dl_slot_push(L, slot);
  int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
  lua_createtable(L, n, 0);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawgeti(L, -1, 2);
    lua_rawseti(L, -3, i);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return n;
}

static void push_box(lua_State *L, dl_tensor *t) {
  if (t->boxed) {
    dl_push_shared(L, t);
    return;
  }
  dl_box *b = dl_push_shell(L);
  b->t = dl_tensor_retain(t);
}

/* A gradient keeps its dtype and its size, whatever a hook makes of it. */
static int check_result(lua_State *L, const dl_tensor *was, const dl_tensor *now) {
  char a[48], b[48];
  if (now->dtype != was->dtype)
    return dl_throw(L, DL_RuntimeError, DL_E_DTYPE,
                    "hook '<lambda>' has changed the type of value (was %s got %s)",
                    dl_tensor_type_name(was, a), dl_tensor_type_name(now, b));
  if (!dl_sizes_equal(was->ndim, was->size, now->ndim, now->size))
    return dl_throw(L, DL_RuntimeError, DL_E_SHAPE,
                    "hook '<lambda>' has changed the size of value");
  return 0;
}

static int call_tensor_hooks(lua_State *L) {
  hook_call *c = lua_touserdata(L, 1);
  int n = push_functions(L, c->slot), list = lua_gettop(L);
  note_hooks(L, "tensor", c->slot, n);
  push_box(L, c->t);
  int now = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_pushvalue(L, now);
    lua_call(L, 1, 1);
    if (dl_is_nil(L, -1)) {
      lua_pop(L, 1);
    } else if (dl_get_tensor(L, -1)) {
      check_result(L, c->t, dl_get_tensor(L, -1));
      lua_replace(L, now);
    } else {
      return dl_type_error(L, "expected Variable, but hook returned '%s'", dl_type_name(L, -1));
    }
  }
  dl_tensor *t = dl_get_tensor(L, now);
  if (t != c->t) c->replaced = dl_tensor_retain(t);
  return 0;
}

static dl_status host_tensor_hooks(int slot, dl_tensor *grad, dl_tensor **replaced) {
  hook_call c = {slot, grad, NULL};
  dl_status st = dl_protected(call_tensor_hooks, &c);
  *replaced = c.replaced;
  return st;
}

static int call_post_hooks(lua_State *L) {
  hook_call *c = lua_touserdata(L, 1);
  int n = push_functions(L, c->slot), list = lua_gettop(L);
  note_hooks(L, "post_accumulate_grad", c->slot, n);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    dl_push_shared(L, c->t);
    lua_call(L, 1, 0);
  }
  return 0;
}

static dl_status host_post_hooks(int slot, dl_tensor *leaf) {
  hook_call c = {slot, leaf, NULL};
  return dl_protected(call_post_hooks, &c);
}

/* handle:remove() */
static int l_handle_remove(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_rawgeti(L, 1, 1);                   /* the list of hooks */
  lua_rawgeti(L, 1, 2);                   /* our id */
  if (!lua_istable(L, -2)) return 0;
  int list = lua_gettop(L) - 1, n = (int)lua_rawlen(L, list);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, -1, 1);
    bool ours = lua_rawequal(L, -1, list + 1);
    lua_pop(L, 2);
    if (!ours) continue;
    for (int k = i; k < n; k++) {
      lua_rawgeti(L, list, k + 1);
      lua_rawseti(L, list, k);
    }
    lua_pushnil(L);
    lua_rawseti(L, list, n);
    break;
  }
  return 0;
}

static int l_handle_tostring(lua_State *L) {
  lua_pushliteral(L, "<torch.utils.hooks.RemovableHandle object>");
  return 1;
}

static void push_handle(lua_State *L, int list, lua_Integer id) {
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, list);
  lua_rawseti(L, -2, 1);
  lua_pushinteger(L, id);
  lua_rawseti(L, -2, 2);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &handle_key);
  lua_setmetatable(L, -2);
}

/* append function at `fn` to the hooks of *slot (made on demand) of t; pushes the handle */
static int add_hook(lua_State *L, int *slot, int fn, const dl_tensor *t) {
  static lua_Integer next_id;
  if (*slot == 0) {
    lua_newtable(L);
    lua_pushlightuserdata(L, t->st);
    lua_setfield(L, -2, "st");
    *slot = dl_slot_new(L);
  }
  dl_slot_push(L, *slot);
  int list = lua_gettop(L);
  lua_createtable(L, 2, 0);
  lua_pushinteger(L, ++next_id);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, fn);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
  push_handle(L, list, next_id);
  return 1;
}

static void check_callable(lua_State *L, int i, const char *fn) {
  if (dl_is_callable(L, i)) return;
  dl_type_error(L, "%s(): argument 'hook' must be callable, not %s", fn, dl_type_name(L, i));
}

static int l_register_hook(lua_State *L) {
  dl_tensor *t = dl_check_tensor(L, 1, "register_hook", "self");
  check_callable(L, 2, "register_hook");
  if (!dl_tensor_wants_grad(t))
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "cannot register a hook on a tensor that doesn't require gradient");
  dl_share_box(L, 1);
  int *slot, fresh = 0;
  dl_status st = dl_tensor_hook_slot(t, &slot);
  if (st != DL_OK) return dl_raise(L, st);
  if (*slot) return add_hook(L, slot, 2, t);
  add_hook(L, &fresh, 2, t);                /* may raise: the engine's slot is set afterwards */
  st = dl_tensor_hook_slot(t, &slot);
  if (st != DL_OK) return dl_raise(L, st);
  *slot = fresh;
  return 1;
}

static int l_register_post(lua_State *L) {
  dl_tensor *t = dl_check_tensor(L, 1, "register_post_accumulate_grad_hook", "self");
  check_callable(L, 2, "register_post_accumulate_grad_hook");
  if (!t->requires_grad)
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "cannot register a hook on a tensor that doesn't require gradient");
  if (t->grad_fn)
    return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD,
                    "post accumulate grad hooks cannot be registered on non-leaf tensors");
  dl_extra *e = dl_tensor_extra(t);
  if (!e) return dl_raise(L, DL_E_OOM);
  dl_share_box(L, 1);
  return add_hook(L, &e->post_hooks, 2, t);
}

/* ---- grad_fn objects ------------------------------------------------------------------------ */
void dl_push_node(lua_State *L, dl_node *n) {
  if (!n) {
    lua_pushnil(L);
    return;
  }
  dl_nodebox *b = dl_new_object(L, &dl_t_node);
  b->n = dl_node_retain(n);
}

static int l_node_gc(lua_State *L) {
  dl_nodebox *b = dl_self(L, &dl_t_node);
  dl_node *n = b->n;
  b->n = NULL;
  if (n) dl_node_release(n);
  return 0;
}

static dl_node *check_node(lua_State *L) {
  dl_nodebox *b = dl_object(L, 1, &dl_t_node);
  if (!b || !b->n) dl_type_error(L, "expected a grad_fn, not %s", dl_type_name(L, 1));
  return b->n;
}

static int l_node_name(lua_State *L) {
  lua_pushstring(L, dl_node_name(check_node(L)));
  return 1;
}

static int l_node_tostring(lua_State *L) {
  lua_pushfstring(L, "<%s object>", dl_node_name(check_node(L)));
  return 1;
}

static int l_node_eq(lua_State *L) {
  dl_nodebox *a = dl_object(L, 1, &dl_t_node), *b = dl_object(L, 2, &dl_t_node);
  lua_pushboolean(L, a && b && a->n == b->n);
  return 1;
}

static int push_next(lua_State *L, const dl_node *n) {
  lua_createtable(L, (int)n->n_edges, 0);
  for (uint32_t k = 0; k < n->n_edges; k++) {
    lua_createtable(L, 2, 0);
    if (n->edges[k].node) dl_push_node(L, n->edges[k].node);
    else dl_push_none(L);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, n->edges[k].nr);
    lua_rawseti(L, -2, 2);
    lua_rawseti(L, -2, (lua_Integer)k + 1);
  }
  return 1;
}

static int l_node_index(lua_State *L) {
  dl_node *n = check_node(L);
  const char *key = luaL_checkstring(L, 2);
  if (!strcmp(key, "name")) {
    lua_pushcfunction(L, l_node_name);
    return 1;
  }
  if (!strcmp(key, "next_functions")) return push_next(L, n);
  if (!strcmp(key, "variable") && n->kind == DL_NODE_ACCUM && n->ext) {
    dl_push_shared(L, n->ext->variable);
    return 1;
  }
  return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT, "'%s' object has no attribute '%s'",
                  dl_node_name(n), key);
}

/* ---- anomaly mode: where an op was called --------------------------------------------------- */
static int keep_place(lua_State *L) {
  int *slot = lua_touserdata(L, 1);
  luaL_traceback(L, L, NULL, 1);
  *slot = dl_slot_new(L);
  return 0;
}

static int host_here(void) {
  int slot = 0;
  return dl_protected(keep_place, &slot) == DL_OK ? slot : 0;
}

static const char *host_line(int slot) {
  lua_State *L = dl_lua;
  if (!L || !slot || !lua_checkstack(L, 4)) return NULL;
  dl_slot_push(L, slot);
  const char *s = lua_tostring(L, -1);    /* alive in its slot */
  lua_pop(L, 1);
  return s;
}

/* ---- saved-tensor hooks: a stack of {pack, unpack} ------------------------------------------ */
typedef struct pack_call { dl_tensor *t; int slot; } pack_call;

static int call_pack(lua_State *L) {
  pack_call *c = lua_touserdata(L, 1);
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.saved_hooks");
  lua_rawgeti(L, -1, (lua_Integer)lua_rawlen(L, -1));
  lua_rawgeti(L, -1, 1);
  push_box(L, c->t);
  lua_call(L, 1, 1);
  lua_createtable(L, 2, 0);               /* {unpack, packed} */
  lua_rawgeti(L, -3, 2);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, 2);
  c->slot = dl_slot_new(L);
  return 0;
}

static dl_status host_pack(dl_tensor *t, int *slot) {
  dl_record_hook("pack", "");
  pack_call c = {t, 0};
  dl_host.pack = NULL;                    /* ops inside the hook are not packed themselves */
  dl_status st = dl_protected(call_pack, &c);
  dl_host.pack = host_pack;
  *slot = c.slot;
  return st;
}

static int call_unpack(lua_State *L) {
  pack_call *c = lua_touserdata(L, 1);
  dl_slot_push(L, c->slot);
  lua_rawgeti(L, -1, 1);
  lua_rawgeti(L, -2, 2);
  lua_call(L, 1, 1);
  dl_tensor *t = dl_get_tensor(L, -1);
  if (!t)
    return dl_type_error(L,
                         "Output of saved tensor unpack_hook expected to be a Tensor but got "
                         "result of "
                         "type %s", dl_type_name(L, -1));
  c->t = dl_tensor_retain(t);
  return 0;
}

static dl_status host_unpack(int slot, dl_tensor **out) {
  dl_record_hook("unpack", "");
  pack_call c = {NULL, slot};
  dl_status st = dl_protected(call_unpack, &c);
  *out = c.t;
  return st;
}

/* push_saved_hooks(pack, unpack) / pop_saved_hooks(): the guard of modes.c pairs them */
void dl_saved_hooks_push(lua_State *L, int pack, int unpack) {
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.saved_hooks");
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, pack);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, unpack);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
  dl_host.pack = host_pack;
}

void dl_saved_hooks_pop(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.saved_hooks");
  lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
  lua_pushnil(L);
  lua_rawseti(L, -2, n);
  lua_pop(L, 1);
  if (n <= 1) dl_host.pack = NULL;
}

/* No hooks are left: after a line that left their guard open. */
void dl_saved_hooks_clear(lua_State *L) {
  if (!dl_host.pack) return;
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.saved_hooks");
  dl_host.pack = NULL;
}

void dl_hooks_open(lua_State *L, int torch, int methods) {
  (void)torch;
  static const luaL_Reg node_meta[] = {{"__gc", l_node_gc}, {"__index", l_node_index},
                                       {"__tostring", l_node_tostring}, {"__eq", l_node_eq},
                                       {NULL, NULL}};
  static const luaL_Reg meth[] = {{"register_hook", l_register_hook},
                                  {"register_post_accumulate_grad_hook", l_register_post},
                                  {NULL, NULL}};
  n_dropped = 0;
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &slots_key);
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.saved_hooks");
  lua_newtable(L);
  static const luaL_Reg handle[] = {{"remove", l_handle_remove}, {"__close", l_handle_remove},
                                    {"__tostring", l_handle_tostring}, {NULL, NULL}};
  dl_set_funcs(L, -1, handle);
  lua_pushvalue(L, -1);
  lua_setfield(L, -2, "__index");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &handle_key);
  dl_metatable(L, &dl_t_node);
  dl_set_funcs(L, -1, node_meta);
  lua_pop(L, 1);
  dl_set_funcs(L, methods, meth);
  dl_host.tensor_hooks = host_tensor_hooks;
  dl_host.post_hooks = host_post_hooks;
  dl_host.unpack = host_unpack;
  dl_host.line = host_line;
  dl_host.here = host_here;
  dl_host.release = slot_release;
  dl_slot_release_fn = slot_release;
}
