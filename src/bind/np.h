/* np.h -- what np.c, npy.c and npprint.c share */
#ifndef DL_NP_H
#define DL_NP_H

#include "bind/bind.h"

dl_box *dl_np_shell(lua_State *L);                            /* an empty array on the stack */
dl_tensor *dl_np_check(lua_State *L, int i, const char *fn);  /* array at i, or TypeError */
dl_dtype dl_np_dtype(lua_State *L, int i);
int dl_np_read(lua_State *L);
int dl_np_load(lua_State *L);                                 /* np.load(path) */
int dl_np_save(lua_State *L);                                 /* np.save(path, array) */
void dl_np_push_text(lua_State *L, dl_tensor *t);             /* as numpy's str() */

#endif
