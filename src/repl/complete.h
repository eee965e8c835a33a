/* complete.h -- what could stand at the cursor
 *
 * For session.c, which hands it to the prompt and to every other front end.
 *
 * INVARIANT  Runs no code of the user's, prints nothing, leaves the Lua stack as it was.
 * MUST NOT   know terminals. */
#ifndef DL_REPL_COMPLETE_H
#define DL_REPL_COMPLETE_H

#include <lua.h>

#include "repl/session.h"

/* Push a table name -> kind of all candidates for text[0 .. cursor); *start is the first byte that
 * they replace. May raise: call it protected. */
void dl_complete_push(lua_State *L, const char *text, size_t cursor, size_t *start);

/* The path around or before the cursor, for help: text[*at .. *at + length). */
size_t dl_complete_path(const char *text, size_t len, size_t cursor, size_t *at);

#endif
