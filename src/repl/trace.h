/* trace.h -- where an error came from, in the user's own lines
 *
 * For session.c. C functions and dlrepl's own modules are left out; a file's line is quoted.
 *
 * MUST NOT print. */
#ifndef DL_REPL_TRACE_H
#define DL_REPL_TRACE_H

#include <lua.h>

/* The text that was run under a chunk name that is no file ("=In[3]"), for a front end that keeps
 * it; NULL, or a NULL result: unknown. */
extern const char *(*dl_trace_text)(const char *source);

/* Push the frames of L from `level` outwards as text, one or two lines each with no line end
 * after the last; "" where nothing of the user's is left to tell. */
void dl_trace_push(lua_State *L, int level);

#endif
