/* locals.h -- a line of a session, compiled so that its top-level locals outlive it
 *
 * For session.c. Each `local` of a line stays an ordinary Lua local: after its statement the line
 * hands a closure over it to the session, and a later line that mentions the name is compiled
 * inside a function whose upvalue of that name is joined to the same variable. So closures,
 * shadowing, <const> and assignment mean exactly what they mean within one chunk.
 *
 * INVARIANT  Line numbers of the user's text are kept; nothing global is written.
 * MUST NOT   run the user's text. */
#ifndef DL_REPL_LOCALS_H
#define DL_REPL_LOCALS_H

#include <lua.h>
#include <stdbool.h>

/* Make the (empty) set of locals. Leaves nothing on the stack. */
void dl_locals_open(lua_State *L);

/* Compile `text` and push a function of no arguments, or an error message. If the text ends in an
 * expression, the function returns its values. Returns Lua's status; *unfinished says whether more
 * lines could complete the text. `name` is a chunk name ("=stdin"). Raises only for want of
 * memory. */
int dl_locals_compile(lua_State *L, const char *text, size_t len, const char *name,
                      bool *unfinished);

/* Push the value of a session's local; false (and nothing pushed) if there is none of that name. */
bool dl_locals_push(lua_State *L, const char *name);
/* Push the table whose keys are the names of all session's locals. */
void dl_locals_push_names(lua_State *L);

#endif
