/* line.h -- one line from a person, with editing and history where Readline is there
 *
 * For repl.c. Readline is loaded when first needed; without it, and where standard input is no
 * terminal, lines are read plainly.
 *
 * MUST NOT know Lua. */
#ifndef DL_REPL_LINE_H
#define DL_REPL_LINE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum dl_line { DL_LINE_TEXT, DL_LINE_END, DL_LINE_INTERRUPT } dl_line;

/* Get ready; loads Readline and the history if a terminal is there. */
void dl_line_open(bool terminal);
/* Read a line without its end into *text (owned by the caller, free()); it may hold any byte, and
 * line ends where several lines were pasted or recalled. After an interrupt: what was begun. */
dl_line dl_line_read(const char *prompt, char **text, size_t *len);
/* Remember an input of one or more lines, in memory and at once in the history file. False, once,
 * if the file cannot be written. */
bool dl_line_remember(const char *text);
/* The next line begins with this text, ready to be edited. */
void dl_line_begin_with(const char *text);

#endif
