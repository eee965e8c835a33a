/* unpickle_value.c -- what the values of a pickle are, and how its errors read
 *
 * For unpickle.c and unpickle_make.c.
 *
 * INVARIANT  What is raw (a class, a storage, a tuple with one in it) means something to the
 *            machine only.
 * MUST NOT   change the machine. */
#include "bind/unpickle.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- errors --------------------------------------------------------------------------------- */
#define UNSAFE "In PyTorch 2.6, we changed the default value of the `weights_only` argument in "   \
  "`torch.load` from `False` to `True`. Re-running `torch.load` with `weights_only` set to "       \
  "`False` will likely succeed, but it can result in arbitrary code execution. Do it only if you " \
  "got the file from a trusted source."
#define DOCS "\n\nCheck the documentation of torch.load to learn more about types accepted " \
  "by default with weights_only https://pytorch.org/docs/stable/generated/torch.load.html."

int dl_unpickle_bad(dl_unpickler *u, const char *fmt, ...) {
  char why[512];
  va_list v;
  va_start(v, fmt);
  vsnprintf(why, sizeof why, fmt, v);
  va_end(v);
  bool global = strstr(why, "was not an allowed global by default");
  if (global) {
    dl_fail(DL_UnpicklingError, DL_E_IO, "Weights only load failed. This file can still be loaded, "
            "to do so you have two options, \033[1mdo those steps only if you trust the source of "
            "the checkpoint\033[0m. \n\t(1) " UNSAFE "\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error "
            "message.\n\tWeightsUnpickler error: %s" DOCS, why);
    dl_note("dlrepl reads data alone: in Python, save what is in the object (model.state_dict(), "
            "x.tolist()) in place of the object");
  } else if (strstr(why, "is blocked")) {
    dl_fail(DL_UnpicklingError, DL_E_IO, "Weights only load failed. " UNSAFE "\n\n\n%s" DOCS, why);
    dl_note("this file tries to run commands: delete it");
  } else {
    dl_fail(DL_UnpicklingError, DL_E_IO, "Weights only load failed. " UNSAFE "\nPlease file an "
            "issue with the following so that we can make `weights_only=True` compatible with your "
            "use case: WeightsUnpickler error: \n\n%s" DOCS, why);
    dl_note("the file is damaged, or was not made by torch.save");
  }
  return dl_raise(u->L, DL_E_IO);
}

/* ---- kinds of values ------------------------------------------------------------------------ */
bool dl_unpickle_is_raw(dl_unpickler *u, int i) {
  if (lua_islightuserdata(u->L, i)) return true;
  if (!lua_istable(u->L, i) && !lua_isuserdata(u->L, i)) return false;
  lua_pushvalue(u->L, i);
  bool yes = lua_rawget(u->L, u->raw) != LUA_TNIL;
  lua_pop(u->L, 1);
  return yes;
}

void dl_unpickle_check_value(dl_unpickler *u, int i) {
  if (!dl_unpickle_is_raw(u, i)) return;
  const dl_global *g = lua_touserdata(u->L, i);
  if (lua_islightuserdata(u->L, i))
    dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "the file holds the class or function %s "
            "itself; dlrepl reads data alone", g->name);
  else
    dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "the file holds a bare storage; dlrepl reads "
            "tensors");
  dl_raise(u->L, DL_E_UNSUPPORTED);
}

bool dl_unpickle_has_meta(dl_unpickler *u, int i, int meta) {
  if (!lua_istable(u->L, i) || !lua_getmetatable(u->L, i)) return false;
  bool yes = lua_rawequal(u->L, -1, meta);
  lua_pop(u->L, 1);
  return yes;
}

bool dl_unpickle_is_tuple(dl_unpickler *u, int i) {
  return dl_unpickle_has_meta(u, i, u->tuple_meta);
}

const char *dl_unpickle_type(dl_unpickler *u) {
  if (dl_unpickle_has_meta(u, -1, u->tuple_meta)) return "tuple";
  if (dl_unpickle_has_meta(u, -1, u->dict_meta)) return "dict";
  if (dl_unpickle_has_meta(u, -1, u->list_meta)) return "list";
  return lua_islightuserdata(u->L, -1) ? "type" : dl_type_name(u->L, -1);
}
