/* scratch.c -- bytes on a GPU that are held for a while: what PyTorch's optimizers take for a step
 *
 * For lua/torch/optim. dlrepl._scratch(list, copies) reserves, for each tensor of the list that is
 * on a GPU, that many blocks of its size, and returns an object to be closed; nil where no tensor
 * is on one.
 *
 *     local scratch <close> = core.scratch(params, 1)
 *
 * INVARIANT  Closed or collected, it holds nothing.
 * MUST NOT   hold a tensor. */
#include "bind/bind.h"
#include "mem/gpu.h"
#include "mem/pool.h"

typedef struct scratch {
  const dl_tag_info *tag;
  int64_t n;
  dl_chunk **chunk;
  size_t bytes;                  /* of the list itself */
} scratch;

static const dl_tag_info t_scratch = {"dlrepl.scratch", sizeof(scratch)};

static int l_close(lua_State *L) {
  scratch *s = dl_self(L, &t_scratch);
  while (s->n > 0) dl_pool_free(s->chunk[--s->n]);
  if (s->chunk) dl_host_free(s->chunk, s->bytes);
  s->chunk = NULL;
  return 0;
}

static dl_status take(scratch *s, const dl_tensor *t) {
  size_t bytes = (size_t)t->numel * dl_dtype_size((dl_dtype)t->dtype);
  int dev = t->dev.index;
  dl_pool *p = bytes ? dl_gpu_pool(dev) : NULL;
  if (!p) return DL_OK;
  DL_TRY(dl_pool_alloc(p, bytes, dl_gpu_stream(dev), &s->chunk[s->n]));
  s->n++;
  return DL_OK;
}

static dl_status take_all(lua_State *L, scratch *s, int64_t count, int64_t copies) {
  void *list;
  s->bytes = (size_t)(count * copies) * sizeof *s->chunk;
  DL_TRY(dl_host_alloc(s->bytes, &list));
  s->chunk = list;
  for (int64_t i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    const dl_tensor *t = dl_get_tensor(L, -1);
    for (int64_t k = 0; t && dl_is_gpu(t->dev) && k < copies; k++) DL_TRY(take(s, t));
    lua_pop(L, 1);
  }
  return DL_OK;
}

/* One parameter at a time would do with the largest of the list. */
static void advise(lua_State *L, int64_t count, int64_t copies) {
  int64_t all = 0, largest = 0;
  char text[32];
  for (int64_t i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    const dl_tensor *t = dl_get_tensor(L, -1);
    int64_t bytes = t ? t->numel * (int64_t)dl_dtype_size((dl_dtype)t->dtype) : 0;
    all += bytes;
    if (bytes > largest) largest = bytes;
    lua_pop(L, 1);
  }
  if (all > largest)
    dl_note("or: {foreach=false} for the optimizer: one parameter at a time, not a copy of all "
            "(saves %s)", dl_bytes_str(copies * (all - largest), text));
}

static int l_scratch(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  int64_t count = (int64_t)lua_rawlen(L, 1), copies = luaL_optinteger(L, 2, 1);
  lua_rawgeti(L, 1, 1);
  const dl_tensor *first = dl_get_tensor(L, -1);
  if (copies < 1 || copies > 8 || !first || !dl_is_gpu(first->dev)) return 0;
  scratch *s = dl_new_object(L, &t_scratch);
  dl_status st = take_all(L, s, count, copies);
  if (st == DL_OK) return 1;
  while (s->n > 0) dl_pool_free(s->chunk[--s->n]);
  if (st == DL_E_OOM) advise(L, count, copies);
  return dl_raise(L, st);
}

void dl_scratch_open(lua_State *L, int dlrepl) {
  static const luaL_Reg meta[] = {{"__close", l_close}, {"__gc", l_close}, {NULL, NULL}};
  dl_metatable(L, &t_scratch);
  dl_set_funcs(L, -1, meta);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_scratch);
  lua_setfield(L, dlrepl, "_scratch");
}
