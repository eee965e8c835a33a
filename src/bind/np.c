/* np.c -- np: a small CPU array type that shares memory with tensors
 *
 * MUST NOT  know gradients. */
#include "bind/bind.h"

void dl_np_open(lua_State *L, int torch, int methods) {
  (void)methods;
  lua_newtable(L);
  lua_setfield(L, torch, "_np");
}
