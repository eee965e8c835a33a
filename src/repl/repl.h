/* repl.h -- the prompt
 *
 * For main.c. MUST NOT know how a line is run: that is the session's. */
#ifndef DL_REPL_REPL_H
#define DL_REPL_REPL_H

#include <stdbool.h>

/* Read, run and print lines until the end of input. `welcome`: say hello first. */
void dl_repl(bool welcome);

#endif
