/* command.h -- the % commands that are written in Lua: %reset, %gpu
 *
 * For magic.c, whose table has their rows, and session.c.
 *
 * MUST NOT know terminals. */
#ifndef DL_REPL_COMMAND_H
#define DL_REPL_COMMAND_H

#include "repl/session.h"

/* Add dlrepl._forget(), which drops every name of the user's. */
void dl_command_open(lua_State *L);
void dl_command_reset(const char *rest, dl_outcome *o);
void dl_command_gpu(const char *rest, dl_outcome *o);

#endif
