/* ask.h -- `?torch.add`, `x:sum?`: a line that asks for help
 *
 * For session.c.
 *
 * MUST NOT   run a user's code to find out what is meant. */
#ifndef DL_REPL_ASK_H
#define DL_REPL_ASK_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Does the line ask? Then push a function of no arguments that prints the answer. */
bool dl_ask_push(lua_State *L, const char *text, size_t len);

/* Add dlrepl._complete, _inspect and _is_complete, with which Lua programs try the session. */
void dl_ask_open(lua_State *L);

#endif
