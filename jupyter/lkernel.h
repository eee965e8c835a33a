/* lkernel.h -- the table dlrepl.kernel
 *
 * For kernel.c. Lua code that wants to show more than text finds it; at the prompt it is absent.
 *
 *     dlrepl.kernel.active                                   true
 *     dlrepl.kernel.display(bundle, metadata, id, update)    bundle: MIME type -> text or table
 *     dlrepl.kernel.clear_output(wait)
 *     dlrepl.kernel.input(prompt, password)                  a line, nil at its end
 *     dlrepl.kernel.metadata()                               of the request under way
 *     dlrepl.kernel.comm(target, data), .register_target(name, function(comm, data)): comm.c
 *
 * MUST NOT   be used by another thread than the main one. */
#ifndef DL_JUPYTER_LKERNEL_H
#define DL_JUPYTER_LKERNEL_H

#include <lua.h>

void dl_lkernel_open(lua_State *L, void *stdin_socket);

/* ---- comm.c ------------------------------------------------------------------------------- */
void dl_comm_open(lua_State *L); /* adds its functions to the table on top */

#endif
