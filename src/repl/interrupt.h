/* interrupt.h -- Ctrl-C: stop what runs, keep the session
 *
 * For session.c and line.c. A request sets dl_cancel (long ops poll it) and a count hook on the
 * coroutine that runs; the hook raises KeyboardInterrupt at every instruction until the session is
 * left, so no pcall can swallow it. Outside a run nothing is hooked, so running code pays nothing.
 *
 * INVARIANT  Between dl_interrupt_leave and the next _enter no request is pending.
 * MUST NOT   be called from another thread, except dl_interrupt_request. */
#ifndef DL_REPL_INTERRUPT_H
#define DL_REPL_INTERRUPT_H

#include <lua.h>
#include <stdbool.h>

/* Replace coroutine.resume, wrap and close by versions that know which coroutine runs. */
void dl_interrupt_open(lua_State *L);
/* Take SIGINT, on the calling thread. restart: system calls go on after the signal (SA_RESTART),
 * and code that cannot be stopped is not left by ending the process: a front end has its own
 * way. */
void dl_interrupt_install(bool restart);
/* Ask the running code to stop; async-signal-safe. */
void dl_interrupt_request(void);

void dl_interrupt_enter(lua_State *L);
bool dl_interrupt_leave(void);   /* was there a request since enter? Clears it and the hook */
bool dl_interrupt_pending(void);
/* At the prompt: was SIGINT received since the last call? */
bool dl_interrupt_idle_taken(void);

#endif
