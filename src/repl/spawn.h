/* spawn.h -- the judge as its parent sees it
 *
 * For lesson.c. judge() -> an object with ask(text, seconds), which sends a request and returns the
 * reply, or nil and why there is none ("time", "gone", "interrupt"); it is then closed.
 *
 * INVARIANT  A closed or collected judge's whole process group is gone.
 * MUST NOT   fork the session: OpenMP's threads would not survive; the judge is a fresh program. */
#ifndef DL_REPL_SPAWN_H
#define DL_REPL_SPAWN_H

#include <lua.h>

/* spawn() -> an object with ask(text, seconds) -> the reply, or nil and "time", "interrupt" or
 * "gone" (it is closed then); and close(). Raises where no process is to be had. */
int dl_spawn_judge(lua_State *L);

#endif
