/* slips.h -- what is right Lua and probably not meant
 *
 * For session.c: a line that runs and silently does something else than the same line in PyTorch.
 *
 * INVARIANT  Says at most one thing a line.
 * MUST NOT   know Lua states, allocate. */
#ifndef DL_REPL_SLIPS_H
#define DL_REPL_SLIPS_H

#include <stdbool.h>
#include <stddef.h>

/* A word on the first slip of the text into buf; false if there is none. `known` says whether a
 * name has a value in the session. */
bool dl_slip_find(const char *text, size_t len, bool (*known)(const char *name, size_t n),
                  char *buf, size_t cap);

#endif
