/* rng.c -- torch.Generator, manual_seed and the state of the default generator
 *
 * MUST NOT  draw numbers: kernels do. */
#include "bind/bind.h"
#include "mem/gpu.h"

#include <string.h>
#include <unistd.h>

#include <sys/random.h>

static dl_genbox *check_gen(lua_State *L, const char *fn) {
  dl_genbox *g = dl_object(L, 1, &dl_t_gen);
  if (!g) dl_type_error(L, "%s(): argument 'self' must be torch.Generator, not %s", fn,
                        dl_type_name(L, 1));
  return g;
}

static uint64_t check_seed(lua_State *L, int i) {
  int64_t v;
  if (dl_get_int(L, i, &v)) return (uint64_t)v;
  dl_type_error(L, "manual_seed expected a long, but got %s", dl_type_name(L, i));
  return 0;
}

static uint64_t entropy(void) {
  uint64_t v = 0;
  if (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v)
    v = (uint64_t)getpid() * 0x9e3779b97f4a7c15ull;
  return v & 0x1fffffffffffffull;         /* 53 bits, as PyTorch's seed() */
}

static int push_seed(lua_State *L, uint64_t seed) {
  lua_pushinteger(L, (lua_Integer)seed);
  return 1;
}

/* A GPU's generator has a seed and an offset; the CPU's is seeded word by word. */
static void set_seed(dl_gen *g, uint64_t seed) {
  if (!g->philox) dl_gen_seed(g, seed);
  g->seed = seed;
  g->offset = 0;
  if (g->philox) g->next = 624;
}

static void seed_gpus(uint64_t seed) {
  for (int d = 0; d < dl_gpu_count(); d++)
    set_seed(dl_gen_of((dl_device){(int8_t)dl_gpu_type, (int8_t)d}), seed);
}

/* ---- state as a uint8 tensor ---------------------------------------------------------------- */
/* A GPU's: seed and offset, 16 bytes. */
static int push_state(lua_State *L, const dl_gen *g) {
  int64_t n = g->philox ? 16 : DL_GEN_STATE_BYTES;
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_tensor_new(DL_DEV_CPU, DL_U8, 1, &n, &b->t);
  if (st != DL_OK) return dl_raise(L, st);
  if (g->philox) {
    memcpy(b->t->data, &g->seed, 8);
    memcpy(b->t->data + 8, &g->offset, 8);
    return 1;
  }
  dl_gen_save(g, (uint8_t *)b->t->data);
  return 1;
}

static int load_state(lua_State *L, dl_gen *g, int i) {
  dl_tensor *t = dl_get_tensor(L, i);
  if (!t) return dl_type_error(L, "expected a torch.ByteTensor, but got %s", dl_type_name(L, i));
  if (t->dtype != DL_U8 || !t->contig || t->dev.type != DL_CPU)
    return dl_type_error(L, "RNG state must be a torch.ByteTensor");
  if (g->philox) {
    if (t->numel != 16)
      return dl_throw(L, DL_RuntimeError, DL_E_ARGUMENT, "RNG state is wrong size");
    memcpy(&g->seed, t->data, 8);
    memcpy(&g->offset, t->data + 8, 8);
    return 0;
  }
  dl_status st = dl_gen_load(g, (const uint8_t *)t->data, (size_t)t->numel);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

/* ---- torch.Generator ------------------------------------------------------------------------ */
static int l_generator(lua_State *L) {
  dl_device d = DL_DEV_CPU;
  if (!dl_is_nil(L, 1)) {
    int i = 1;
    if (dl_is_keywords(L, 1)) {
      lua_getfield(L, 1, "device");
      i = lua_gettop(L);
    }
    if (!dl_is_nil(L, i) && !dl_get_device(L, i, &d))
      return dl_type_error(L, "Generator(): argument 'device' must be torch.device, not %s",
                           dl_type_name(L, i));
    dl_status st = dl_gpu_resolve(&d);
    if (st != DL_OK) return dl_raise(L, st);
  }
  dl_genbox *g = dl_new_object(L, &dl_t_gen);
  g->g = &g->own;
  if (dl_is_gpu(d)) *g->g = (dl_gen){.philox = true, .max_blocks = dl_gen_of(d)->max_blocks};
  set_seed(g->g, DL_GEN_DEFAULT_SEED);
  return 1;
}

static int l_gen_manual_seed(lua_State *L) {
  dl_genbox *g = check_gen(L, "manual_seed");
  set_seed(g->g, check_seed(L, 2));
  lua_settop(L, 1);
  return 1;
}
static int l_gen_seed(lua_State *L) {
  dl_genbox *g = check_gen(L, "seed");
  set_seed(g->g, entropy());
  return push_seed(L, g->g->seed);
}
static int l_gen_initial_seed(lua_State *L) {
  return push_seed(L, check_gen(L, "initial_seed")->g->seed);
}
static int l_gen_get_state(lua_State *L) { return push_state(L, check_gen(L, "get_state")->g); }
static int l_gen_set_state(lua_State *L) {
  load_state(L, check_gen(L, "set_state")->g, 2);
  lua_settop(L, 1);
  return 1;
}

static int l_gen_index(lua_State *L) {
  const char *key = luaL_checkstring(L, 2);
  if (!strcmp(key, "device")) {
    const dl_genbox *g = dl_self(L, &dl_t_gen);
    dl_push_device(L, g->g->philox ? (dl_device){(int8_t)dl_gpu_type, 0} : DL_DEV_CPU);
    return 1;
  }
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  return dl_throw(L, DL_AttributeError, DL_E_ARGUMENT,
                  "'torch._C.Generator' object has no attribute '%s'", key);
}

static int l_gen_tostring(lua_State *L) {
  lua_pushfstring(L, "<torch._C.Generator object at %p>", lua_touserdata(L, 1));
  return 1;
}

/* ---- the default generator ------------------------------------------------------------------ */
static int push_default(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, "dl.default_generator");
  return 1;
}
static int l_manual_seed(lua_State *L) {
  dl_gen_seed(&dl_gen_cpu, check_seed(L, 1));
  seed_gpus(dl_gen_cpu.seed);
  return push_default(L);
}
static int l_seed(lua_State *L) {
  dl_gen_seed(&dl_gen_cpu, entropy());
  seed_gpus(dl_gen_cpu.seed);
  return push_seed(L, dl_gen_cpu.seed);
}
static int l_initial_seed(lua_State *L) { return push_seed(L, dl_gen_cpu.seed); }
static int l_get_rng_state(lua_State *L) { return push_state(L, &dl_gen_cpu); }
static int l_set_rng_state(lua_State *L) { return load_state(L, &dl_gen_cpu, 1); }

/* ---- torch.cuda's --------------------------------------------------------------------------- */
static dl_gen *gpu_gen(lua_State *L, int i, const char *fn) {
  return dl_gen_of((dl_device){(int8_t)dl_gpu_type, (int8_t)dl_check_gpu(L, i, fn)});
}
/* Before there is a device, PyTorch keeps the seed for when there is one: ours starts from the
 * CPU's seed then, so nothing need be kept. */
static int l_cuda_manual_seed(lua_State *L) {
  uint64_t seed = check_seed(L, 1);
  if (dl_gpu) set_seed(gpu_gen(L, 2, "manual_seed"), seed);
  return 0;
}
static int l_cuda_manual_seed_all(lua_State *L) {
  seed_gpus(check_seed(L, 1));
  return 0;
}
static int l_cuda_seed(lua_State *L) {
  if (dl_gpu) set_seed(gpu_gen(L, 1, "seed"), entropy());
  return 0;
}
static int l_cuda_initial_seed(lua_State *L) {
  return push_seed(L, gpu_gen(L, 1, "initial_seed")->seed);
}
static int l_cuda_get_rng_state(lua_State *L) {
  return push_state(L, gpu_gen(L, 1, "get_rng_state"));
}
static int l_cuda_set_rng_state(lua_State *L) {
  return load_state(L, gpu_gen(L, 2, "set_rng_state"), 1);
}

void dl_rng_cuda_open(lua_State *L, int cuda) {
  static const luaL_Reg funcs[] = {
      {"manual_seed", l_cuda_manual_seed}, {"manual_seed_all", l_cuda_manual_seed_all},
      {"seed", l_cuda_seed}, {"seed_all", l_cuda_seed}, {"initial_seed", l_cuda_initial_seed},
      {"get_rng_state", l_cuda_get_rng_state}, {"set_rng_state", l_cuda_set_rng_state},
      {NULL, NULL}};
  dl_set_funcs(L, cuda, funcs);
}

void dl_rng_open(lua_State *L, int torch) {
  static const luaL_Reg methods[] = {
    {"manual_seed", l_gen_manual_seed}, {"seed", l_gen_seed}, {"initial_seed", l_gen_initial_seed},
    {"get_state", l_gen_get_state}, {"set_state", l_gen_set_state}, {NULL, NULL}};
  static const luaL_Reg funcs[] = {
    {"Generator", l_generator}, {"manual_seed", l_manual_seed}, {"seed", l_seed},
    {"initial_seed", l_initial_seed}, {"get_rng_state", l_get_rng_state},
    {"set_rng_state", l_set_rng_state}, {NULL, NULL}};
  dl_metatable(L, &dl_t_gen);
  lua_newtable(L);
  dl_set_funcs(L, -1, methods);
  lua_pushcclosure(L, l_gen_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, l_gen_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pop(L, 1);
  dl_set_funcs(L, torch, funcs);
  dl_genbox *g = dl_new_object(L, &dl_t_gen);
  g->g = &dl_gen_cpu;
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, "dl.default_generator");
  lua_setfield(L, torch, "default_generator");
}
