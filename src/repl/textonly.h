/* textonly.h -- Lua code comes in as text, never as compiled bytes
 *
 * For session.c. A forged binary chunk can crash the process, so load, loadfile, dofile and require
 * take source text only.
 *
 * MUST NOT know sessions. */
#ifndef DL_REPL_TEXTONLY_H
#define DL_REPL_TEXTONLY_H

#include <lua.h>

void dl_textonly_open(lua_State *L);

#endif
