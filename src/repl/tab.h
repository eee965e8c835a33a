/* tab.h -- Tab at the prompt: the session's candidates for Readline
 *
 * For line.c, which has Readline, and repl.c, which has the lines before this one.
 *
 * MUST NOT   decide what a candidate is: that is the session's. */
#ifndef DL_REPL_TAB_H
#define DL_REPL_TAB_H

#include <stddef.h>

/* Take Tab over; lib is Readline's handle. Does nothing where a symbol is missing. */
void dl_tab_open(void *lib);
/* The lines before the one that is typed; borrowed until the next call. NULL: none. */
void dl_tab_before(const char *text, size_t len);

#endif
