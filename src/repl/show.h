/* show.h -- a value as the prompt prints it
 *
 * For session.c. What has a text of its own (tensors, modules, sizes) prints it; strings are
 * quoted; a plain table prints its contents, with limits in depth, length and total size.
 *
 * INVARIANT  Ends on any value, cyclic ones too, after at most a few thousand elements.
 * MUST NOT   print: the text is left on the stack. */
#ifndef DL_REPL_SHOW_H
#define DL_REPL_SHOW_H

#include <lua.h>

/* Add dlrepl._text(value, columns) -> the text below, for lua/. */
void dl_show_open(lua_State *L);
/* Push the text of the value at idx. May raise (a user's __tostring). `columns`: wrap there. */
void dl_show_push(lua_State *L, int idx, int columns);

#endif
