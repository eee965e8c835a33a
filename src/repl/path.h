/* path.h -- what a dotted path stands for, and which names it has, without running anything
 *
 * For complete.c and session.c: `model.fc.weight`, `x:sum`, `model[0]`, `torch.ones(3):sum`. Only
 * raw fields, tables behind __index and our own lazily loaded modules are looked at, so a user's
 * metamethod never runs.
 *
 * INVARIANT  A path that cannot be followed is unknown, never an error.
 * MUST NOT   call a function of the user's. */
#ifndef DL_REPL_PATH_H
#define DL_REPL_PATH_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* Push the value that text[0 .. len) names; false and nothing pushed if it is unknown. May raise
 * (a module of ours that does not load), so call it protected. */
bool dl_path_push(lua_State *L, const char *text, size_t len);

/* Add the names of the value at idx to the table at `into`: name -> kind ("method", "property",
 * "module", "class", "function", "field"). after: '.', ':' or 0 for the names of no value, that is
 * globals, locals and modules. hidden: names that begin with '_' too. */
void dl_path_names(lua_State *L, int idx, char after, bool hidden, int into);

#endif
