/* special.c -- functions whose arguments the generic form cannot express
 *
 * MUST NOT  compute. */
#include "bind/bind.h"

void dl_special_open(lua_State *L, int torch, int methods) {
  (void)L;
  (void)torch;
  (void)methods;
}
