/* box.c -- userdata: tensor boxes, their identity, and when the collector runs
 *
 * For all of src/bind.
 *
 * INVARIANT  A box owns one reference of its tensor. Tensors whose `boxed` bit is set are looked up
 *            in a table with weak values, so that an engine slot (.grad, a hook's argument) reads
 *            as the same Lua object each time. The table drops a box before its finalizer runs.
 * MUST NOT   free tensors any other way than by releasing that one reference. */
#include "bind/bind.h"

#include <string.h>

const dl_tag_info dl_t_tensor = {"Tensor", sizeof(dl_box)};
const dl_tag_info dl_t_np = {"numpy.ndarray", sizeof(dl_box)};
const dl_tag_info dl_t_none = {"NoneType", sizeof(dl_word)};
const dl_tag_info dl_t_dtype = {"torch.dtype", sizeof(dl_word)};
const dl_tag_info dl_t_layout = {"torch.layout", sizeof(dl_word)};
const dl_tag_info dl_t_device = {"torch.device", sizeof(dl_devbox)};
const dl_tag_info dl_t_gen = {"torch._C.Generator", sizeof(dl_genbox)};
const dl_tag_info dl_t_node = {"Node", sizeof(dl_nodebox)};
const dl_tag_info dl_t_slice = {"slice", sizeof(dl_slicebox)};

static const char shared_key = 0; /* its address: registry key of the weak table */

lua_State *dl_lua;
int64_t dl_pace_boxes, dl_pace_bytes;

void *dl_new_object(lua_State *L, const dl_tag_info *tag) {
  dl_lua = L;
  const dl_tag_info **p = lua_newuserdatauv(L, tag->size, 0);
  memset((void *)p, 0, tag->size);
  *p = tag;
  lua_rawgetp(L, LUA_REGISTRYINDEX, tag);
  lua_setmetatable(L, -2);
  return (void *)p;
}

/* The metatable on top is named. Metamethods trust their first argument, so Lua code that asks for
 * the metatable sees the name and what the object can do, but no function. */
void dl_hide_metatable(lua_State *L, const char *name) {
  static const char *const abilities[] = {"__len", "__call", "__tostring"};
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  lua_createtable(L, 0, 4);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  for (int i = 0; i < 3; i++) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, abilities[i]);
  }
  lua_setfield(L, -2, "__metatable");
}

int dl_metatable(lua_State *L, const dl_tag_info *tag) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, tag) == LUA_TTABLE) return 0;
  lua_pop(L, 1);
  lua_newtable(L);
  dl_hide_metatable(L, tag->name);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, tag);
  return 1;
}

bool dl_is_callable(lua_State *L, int i) {
  if (lua_isfunction(L, i)) return true;
  if (luaL_getmetafield(L, i, "__call") == LUA_TNIL) return false;
  lua_pop(L, 1);
  return true;
}

dl_box *dl_push_shell(lua_State *L) { return dl_new_object(L, &dl_t_tensor); }

static void push_shared_table(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &shared_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &shared_key);
}

void dl_share_box(lua_State *L, int i) {
  i = lua_absindex(L, i);
  dl_box *b = dl_object(L, i, &dl_t_tensor);
  if (b == NULL || b->t == NULL) return;
  push_shared_table(L);
  lua_pushvalue(L, i);
  lua_rawsetp(L, -2, b->t);
  lua_pop(L, 1);
  b->t->boxed = 1;
}

void dl_push_shared(lua_State *L, dl_tensor *t) {
  if (t == NULL) {
    lua_pushnil(L);
    return;
  }
  if (t->boxed) {
    push_shared_table(L);
    lua_rawgetp(L, -1, t);
    lua_remove(L, -2);
    dl_box *b = dl_object(L, -1, &dl_t_tensor);
    if (b && b->t == t) return;
    lua_pop(L, 1);
  }
  dl_box *b = dl_push_shell(L);
  b->t = dl_tensor_retain(t);
  dl_share_box(L, -1);
}

dl_tensor *dl_check_tensor(lua_State *L, int i, const char *fn, const char *param) {
  dl_tensor *t = dl_get_tensor(L, i);
  dl_lua = L;
  if (t) return t;
  dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s(): argument '%s' (position %d) must be Tensor, not %s",
          fn, param, i, dl_type_name(L, i));
  if (i == 1 && !strcmp(param, "self")) dl_note("a method is called with a colon: x:%s(…)", fn);
  dl_raise(L, DL_E_ARGUMENT);
  return NULL;
}

static int l_gc(lua_State *L) {
  dl_box *b = dl_object(L, 1, &dl_t_tensor);
  if (b) dl_tensor_drop(&b->t);
  return 0;
}

/* ---- pacing --------------------------------------------------------------------------------- */
#define STEP_BOXES 2000
#define GROWTH_BYTES (32ll << 20)

static int64_t full_at = GROWTH_BYTES; /* live bytes at which everything is collected */
static bool reclaiming;
bool dl_pace_always;

static void full_collect(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT);
  int64_t half = dl_mem.live_bytes / 2;
  full_at = dl_mem.live_bytes + (half > GROWTH_BYTES ? half : GROWTH_BYTES);
}

/* Lua's collector sees 24 bytes a tensor, so it is driven from here: a minor step every
 * STEP_BOXES boxes or DL_PACE_BYTES of results, a full one on growth. */
void dl_pace_slow(lua_State *L) {
  if (reclaiming) {                       /* a user's finalizer, in the middle of an op */
    dl_pace_boxes = -1;
    dl_throw(L, DL_RuntimeError, DL_E_OOM, "no op can run in a finalizer while memory is short");
  }
  dl_pace_boxes = dl_pace_always ? 0 : STEP_BOXES;
  dl_pace_bytes = 0;
  dl_slot_drain(L);
  if (dl_pace_always || dl_mem.live_bytes > full_at) full_collect(L);
  else lua_gc(L, LUA_GCSTEP, 0);
}

/* What a graph node held in Lua is garbage only once the node is gone: hence the second round. */
bool dl_collect(bool young_only) {
  lua_State *L = dl_lua;
  if (L == NULL || reclaiming || !lua_checkstack(L, 4)) return false;
  int64_t boxes = dl_pace_boxes;
  reclaiming = true;
  dl_pace_boxes = -1;                     /* an op in a finalizer is seen, and refused */
  if (young_only) lua_gc(L, LUA_GCSTEP, 0);
  else full_collect(L);
  if (dl_slot_drain(L) && !young_only) full_collect(L);
  dl_pace_boxes = young_only ? boxes : 0;
  reclaiming = false;
  return true;
}

void dl_check_calm(lua_State *L, const char *fn) {
  if (reclaiming)
    dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
             "%s() cannot run in a finalizer in the middle of an op", fn);
}

int dl_hook_depth;

void dl_check_idle(lua_State *L, const char *fn) {
  dl_check_calm(L, fn);
  if (dl_hook_depth > 0)
    dl_throw(L, DL_RuntimeError, DL_E_DEVICE,
             "%s() cannot run in a hook in the middle of an op or of backward()", fn);
}

/* The engine is short of memory: finalizers of dead boxes give theirs back. */
static bool reclaim(void) {
  int64_t before = dl_mem.live_bytes;
  return dl_collect(false) && dl_mem.live_bytes < before;
}

void dl_pace_open(lua_State *L) {
  dl_lua = L;
  dl_pace_boxes = STEP_BOXES;
  lua_gc(L, LUA_GCGEN, 0, 0);
  dl_reclaim = reclaim;
  dl_metatable(L, &dl_t_tensor);
  lua_pushcfunction(L, l_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
}

/* ---- tables --------------------------------------------------------------------------------- */
void dl_put_int(lua_State *L, const char *key, int64_t v) {
  lua_pushinteger(L, v);
  lua_setfield(L, -2, key);
}

void dl_put_num(lua_State *L, const char *key, double v) {
  lua_pushnumber(L, v);
  lua_setfield(L, -2, key);
}

void dl_put_bool(lua_State *L, const char *key, bool v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, key);
}

void dl_put_str(lua_State *L, const char *key, const char *v) {
  lua_pushstring(L, v);
  lua_setfield(L, -2, key);
}

void dl_set_funcs(lua_State *L, int tbl, const luaL_Reg *r) {
  tbl = lua_absindex(L, tbl);
  for (; r->name; r++) {
    lua_pushcfunction(L, r->func);
    lua_setfield(L, tbl, r->name);
  }
}
