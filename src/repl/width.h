/* width.h -- text in columns of a terminal
 *
 * For show.c, page.c and history.c. UTF-8 whatever the locale says: wide signs (Chinese, emoji)
 * take two columns, combining ones none; a byte that is no UTF-8 counts as one.
 *
 * MUST NOT know Lua, allocate. */
#ifndef DL_REPL_WIDTH_H
#define DL_REPL_WIDTH_H

#include <stddef.h>

/* Length in bytes of the sign at s[0..n), its number in *code; 0 if it is no valid UTF-8. */
size_t dl_utf8_read(const char *s, size_t n, unsigned *code);
/* Columns of a text of one line. */
size_t dl_width(const char *s, size_t n);
/* Rows that a text takes on a terminal of so many columns, its last line counted even if empty. */
size_t dl_width_rows(const char *s, size_t n, int columns);

#endif
