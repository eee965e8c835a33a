/* timeit.h -- how long a function takes, as torch.utils.benchmark measures and prints it
 *
 * For magic.c. MUST NOT print. */
#ifndef DL_REPL_TIMEIT_H
#define DL_REPL_TIMEIT_H

#include <lua.h>

/* dl_timeit(f, label, runs, measurements) -> text. runs, measurements 0: chosen so that the whole
 * takes 0.2 s (PyTorch's Timer.blocked_autorange). Raises what f raises. */
int dl_timeit(lua_State *L);

#endif
