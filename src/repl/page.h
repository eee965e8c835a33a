/* page.h -- long text a screen at a time
 *
 * For repl.c and help. Only on a terminal, and only what does not fit: through $PAGER where it is
 * set, else by itself (space, Enter, q).
 *
 * MUST NOT know Lua. */
#ifndef DL_REPL_PAGE_H
#define DL_REPL_PAGE_H

#include <stddef.h>

/* Print the text to standard output. */
void dl_page(const char *text, size_t len);

#endif
