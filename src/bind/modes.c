/* modes.c -- no_grad, enable_grad, inference_mode, anomaly mode: function form and guard form
 *
 *     torch.no_grad(function() … end)        local _ <close> = torch.no_grad()
 *
 * INVARIANT  A guard restores the mode it found, once. What set_grad_enabled and
 *            set_detect_anomaly set stays; what a guard set ends with the line (dl_bind_settle).
 * MUST NOT   be left by an error with the mode changed: the function form marks its guard to be
 *            closed before it calls. */
#include "bind/bind.h"

#include <stdio.h>
#include <string.h>

#define GRAD_BITS (DL_MODE_NO_GRAD | DL_MODE_INFERENCE | DL_MODE_ANOMALY)

void dl_saved_hooks_push(lua_State *L, int pack, int unpack);
void dl_saved_hooks_pop(lua_State *L);
void dl_saved_hooks_clear(lua_State *L);
bool dl_autocast_settle(char *where, size_t cap);
void dl_helper_settle(lua_State *L);

#define FORBIDDEN 160
static char forbidden[FORBIDDEN]; /* why saved-tensor hooks are forbidden; "" = they are not */

typedef struct guard {
  unsigned saved;                /* the bits of GRAD_BITS before */
  unsigned base;                 /* base_mode before, for a guard that sets it */
  uint8_t open, sets, hooks;           /* hooks: saved-tensor hooks were pushed */
  uint8_t forbids;               /* saved-tensor hooks were forbidden; */
  char before[FORBIDDEN];        /* what was said to who tried, before */
} guard;

static unsigned base_mode;       /* what set_… functions asked for */
static int n_open, hooks_open;    /* hooks_open: guards of saved-tensor hooks among them */
static char first_open[200];     /* where the oldest open guard was made */

static void restore(unsigned bits) { dl_mode = (dl_mode & ~(unsigned)GRAD_BITS) | bits; }

static int l_guard_close(lua_State *L) {
  guard *g = luaL_checkudata(L, 1, "torch.guard");
  if (!g->open) return 0;
  g->open = 0;
  if (n_open > 0 && !g->sets) n_open--;
  if (g->sets) base_mode = g->base;
  restore(g->saved);
  if (g->forbids) memcpy(forbidden, g->before, sizeof forbidden);
  if (g->hooks && hooks_open > 0) {
    hooks_open--;
    dl_saved_hooks_pop(L);
  }
  return 0;
}

static guard *push_guard(lua_State *L) {
  guard *g = lua_newuserdatauv(L, sizeof *g, 0);
  memset(g, 0, sizeof *g);
  g->saved = dl_mode & GRAD_BITS;
  if (luaL_newmetatable(L, "torch.guard")) {
    static const luaL_Reg meta[] = {{"__close", l_guard_close}, {"__exit", l_guard_close},
                                    {NULL, NULL}};
    dl_set_funcs(L, -1, meta);
  }
  lua_setmetatable(L, -2);
  return g;
}

/* The guard at the top is open: a function at index fn is called with what follows it. */
static int call_in(lua_State *L, int fn) {
  if (!lua_isfunction(L, fn)) return 1;
  int at = lua_gettop(L);
  lua_toclose(L, at);
  for (int i = fn; i < at; i++) lua_pushvalue(L, i);
  lua_call(L, at - fn - 1, LUA_MULTRET);
  int n = lua_gettop(L) - at;
  lua_pushcfunction(L, l_guard_close);    /* closed now, so that results come after the restore */
  lua_pushvalue(L, at);
  lua_call(L, 1, 0);
  return n;
}

/* Open a guard with the given bits; a function at index fn is called in it. */
static int enter(lua_State *L, unsigned bits, int fn) {
  guard *g = push_guard(L);
  if (n_open == 0) dl_here(L, first_open, sizeof first_open);
  n_open++;
  g->open = 1;
  restore(bits);
  return call_in(L, fn);
}

static unsigned now(void) { return dl_mode & GRAD_BITS; }

static int l_no_grad(lua_State *L) { return enter(L, now() | DL_MODE_NO_GRAD, 1); }
static int l_enable_grad(lua_State *L) { return enter(L, now() & ~(unsigned)DL_MODE_NO_GRAD, 1); }

/* leading boolean (or {mode=…}) of inference_mode …; *fn: where a function stands */
static bool read_mode(lua_State *L, const char *name, bool dflt, bool required, int *fn) {
  *fn = 1;
  if (lua_isboolean(L, 1)) {
    *fn = 2;
    return lua_toboolean(L, 1);
  }
  if (dl_is_keywords(L, 1)) {
    *fn = 2;
    if (lua_getfield(L, 1, "mode") == LUA_TBOOLEAN) dflt = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return dflt;
  }
  if (required || (!lua_isnoneornil(L, 1) && !lua_isfunction(L, 1)))
    dl_type_error(L, "%s(): argument 'mode' must be bool, not %s", name, dl_type_name(L, 1));
  return dflt;
}

static int l_inference_mode(lua_State *L) {
  int fn;
  bool on = read_mode(L, "inference_mode", true, false, &fn);
  return enter(L, on ? now() | DL_MODE_INFERENCE : now() & ~(unsigned)DL_MODE_INFERENCE, fn);
}

/* takes effect at once and stays; as a guard or with a function it is undone */
static int set_bit(lua_State *L, unsigned bit, bool on, int fn) {
  unsigned bits = on ? now() | bit : now() & ~bit;
  if (lua_isfunction(L, fn)) return enter(L, bits, fn);
  guard *g = push_guard(L);
  g->open = g->sets = 1;
  g->base = base_mode;
  restore(bits);
  base_mode = on ? base_mode | bit : base_mode & ~bit;
  return 1;
}

static int l_set_grad_enabled(lua_State *L) {
  int fn;
  bool on = read_mode(L, "set_grad_enabled", true, true, &fn);
  return set_bit(L, DL_MODE_NO_GRAD, !on, fn);
}

static int l_set_detect_anomaly(lua_State *L) {
  int fn;
  bool on = read_mode(L, "set_detect_anomaly", true, true, &fn);
  return set_bit(L, DL_MODE_ANOMALY, on, fn);
}

static int l_detect_anomaly(lua_State *L) {
  int fn;
  read_mode(L, "detect_anomaly", true, false, &fn);
  dl_lua = L;
  dl_warn(true, "UserWarning",
          "Anomaly Detection has been enabled. This mode will increase the runtime and should only "
          "be enabled for debugging.");
  return enter(L, now() | DL_MODE_ANOMALY, fn);
}

static int l_is_grad_enabled(lua_State *L) {
  lua_pushboolean(L, dl_grad_enabled());
  return 1;
}
static int l_is_inference_mode_enabled(lua_State *L) {
  lua_pushboolean(L, (dl_mode & DL_MODE_INFERENCE) != 0);
  return 1;
}
static int l_is_anomaly_enabled(lua_State *L) {
  lua_pushboolean(L, (dl_mode & DL_MODE_ANOMALY) != 0);
  return 1;
}

static void check_hook(lua_State *L, int i, const char *name) {
  if (dl_is_callable(L, i)) return;
  if (lua_isnone(L, 2))
    dl_type_error(L, "saved_tensors_hooks.__init__() missing %s", lua_isnone(L, 1)
                  ? "2 required positional arguments: 'pack_hook' and 'unpack_hook'"
                  : "1 required positional argument: 'unpack_hook'");
  dl_type_error(L, "saved_tensors_hooks.__init__() argument '%s' (position %d) must be callable, "
                "not %s", name, i, dl_type_name(L, i));
}

/* torch.autograd.graph.saved_tensors_hooks(pack, unpack [, function]) */
static int l_saved_tensors_hooks(lua_State *L) {
  check_hook(L, 1, "pack_hook");
  check_hook(L, 2, "unpack_hook");
  if (forbidden[0]) return dl_throw(L, DL_RuntimeError, DL_E_AUTOGRAD, "%s", forbidden);
  guard *g = push_guard(L);
  dl_saved_hooks_push(L, 1, 2);
  g->open = g->hooks = 1;
  if (n_open == 0) dl_here(L, first_open, sizeof first_open);
  n_open++;
  hooks_open++;
  return call_in(L, 3);
}

/* torch.autograd.graph.disable_saved_tensors_hooks(message [, function]): who tries raises it */
static int l_disable_saved_hooks(lua_State *L) {
  if (lua_isnone(L, 1))
    return dl_type_error(L, "disable_saved_tensors_hooks() missing 1 required positional argument: "
                         "'error_message'");
  if (lua_type(L, 1) != LUA_TSTRING)
    return dl_type_error(L, "disable_saved_tensors_hooks(): argument 'error_message' (position 1) "
                         "must be str, not %s", dl_type_name(L, 1));
  const char *text = lua_tostring(L, 1);
  guard *g = push_guard(L);
  g->open = g->forbids = 1;
  memcpy(g->before, forbidden, sizeof forbidden);
  snprintf(forbidden, sizeof forbidden, "%s", *text ? text : "saved tensor hooks are disabled");
  if (n_open == 0) dl_here(L, first_open, sizeof first_open);
  n_open++;
  return call_in(L, 2);
}

bool dl_bind_settle(lua_State *L, char *where, size_t cap) {
  bool left = dl_autocast_settle(where, cap);
  if (now() != base_mode || hooks_open || forbidden[0]) {
    left = true;
    snprintf(where, cap, "%s", first_open);
  }
  dl_saved_hooks_clear(L);
  hooks_open = 0;
  forbidden[0] = 0;
  restore(base_mode);
  n_open = 0;
  dl_lua = L;
  dl_helper_settle(L);
  return left;
}

void dl_modes_open(lua_State *L, int torch, int autograd) {
  static const luaL_Reg both[] = {
    {"no_grad", l_no_grad}, {"enable_grad", l_enable_grad}, {"inference_mode", l_inference_mode},
    {"set_grad_enabled", l_set_grad_enabled}, {NULL, NULL}};
  static const luaL_Reg own[] = {
    {"is_grad_enabled", l_is_grad_enabled},
    {"is_inference_mode_enabled", l_is_inference_mode_enabled},
    {"is_anomaly_enabled", l_is_anomaly_enabled}, {NULL, NULL}};
  static const luaL_Reg grad[] = {
    {"set_detect_anomaly", l_set_detect_anomaly}, {"detect_anomaly", l_detect_anomaly},
    {NULL, NULL}};
  dl_set_funcs(L, torch, both);
  dl_set_funcs(L, torch, own);
  dl_set_funcs(L, autograd, both);
  dl_set_funcs(L, autograd, grad);
  lua_newtable(L);
  lua_pushcfunction(L, l_saved_tensors_hooks);
  lua_setfield(L, -2, "saved_tensors_hooks");
  lua_pushcfunction(L, l_disable_saved_hooks);
  lua_setfield(L, -2, "disable_saved_tensors_hooks");
  lua_setfield(L, autograd, "graph");
}
