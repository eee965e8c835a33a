/* sim.c -- dlrepl.simulate: a simulated GPU where there is none
 *
 * For the binding. Options are read here, cards come from kernels/sim.
 *
 * INVARIANT  A failed call leaves the device that was there.
 * MUST NOT   compute times; the driver does. */
#include "sim/sim.h"

#include <stdio.h>
#include <string.h>

#include "bind/bind.h"
#include "mem/gpu.h"
#include "tensor/devmem.h"

static const dl_card *card_named(lua_State *L, const char *name) {
  const dl_card *c = dl_card_find(name);
  if (c) return c;
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "there is no card '%s'", name);
  char all[400] = "";
  for (int i = 0; dl_card_at(i); i++)
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "",
             dl_card_name(dl_card_at(i)));
  dl_note("the cards are %s", all);
  dl_raise(L, DL_E_ARGUMENT);
  return NULL;
}

static int64_t int_field(lua_State *L, const char *key, int64_t dflt, int64_t least) {
  int64_t v = dflt;
  if (lua_getfield(L, 1, key) != LUA_TNIL && (!dl_get_int(L, -1, &v) || v < least))
    dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "simulate(): %s must be an integer of at least %lld",
             key, (long long)least);
  lua_pop(L, 1);
  return v;
}

static bool bool_field(lua_State *L, const char *key, bool dflt) {
  bool v = lua_getfield(L, 1, key) == LUA_TNIL ? dflt : lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

static void stop(void) {
  dl_gpu_close();
  dl_sim_close();
  dl_mode &= ~(unsigned)DL_MODE_DRY;
}

/* simulate("t4"), simulate{card="a100-80", count=2, compute=false, memory=…, device="mps"},
 * simulate(false) */
static int l_simulate(lua_State *L) {
  dl_sim_options o = {.count = 1, .compute = true};
  const char *name = "t4", *device = "cuda";
  if (lua_isboolean(L, 1) && !lua_toboolean(L, 1)) {
    if (dl_gpu && dl_gpu->simulated) stop();
    return 0;
  }
  if (lua_istable(L, 1)) {
    if (lua_getfield(L, 1, "card") != LUA_TNIL) name = luaL_checkstring(L, -1);
    if (lua_getfield(L, 1, "device") != LUA_TNIL) device = luaL_checkstring(L, -1);
    o.count = (int)int_field(L, "count", 1, 1);
    o.memory = int_field(L, "memory", 0, 1);
    o.compute = bool_field(L, "compute", true);
  } else if (!lua_isnoneornil(L, 1)) {
    name = luaL_checkstring(L, 1);
  }
  if (o.count > 16)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "simulate(): count must be at most 16");
  for (int i = 0; i < o.count; i++) o.card[i] = card_named(L, name);
  if (dl_devmem_first) lua_gc(L, LUA_GCCOLLECT);
  if (dl_gpu) stop();
  const dl_driver *drv;
  dl_status st = dl_sim_open(&o, &drv);
  if (st == DL_OK) st = dl_gpu_open(drv, strcmp(device, "mps") ? DL_CUDA : DL_MPS);
  if (st != DL_OK) return dl_raise(L, st);
  if (!o.compute) dl_mode |= DL_MODE_DRY;
  return 0;
}

void dl_sim_bind_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {{"simulate", l_simulate}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, funcs);
}
