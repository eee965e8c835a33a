/* doctor.h -- facts about this machine and this program, for `dlrepl doctor`
 *
 * For session.c. The words are in lua/dlrepl/doctor.lua.
 *
 * MUST NOT   change anything. */
#ifndef DL_REPL_DOCTOR_H
#define DL_REPL_DOCTOR_H

#include <lua.h>

/* Add dlrepl._facts(): a table of what was found. */
void dl_doctor_open(lua_State *L);

#endif
