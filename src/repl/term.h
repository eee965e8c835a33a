/* term.h -- the terminal: its size, its settings, colours by role
 *
 * For line.c, page.c, repl.c and session.c (colours alone). The settings found at the start are put
 * back at every end, a crash included.
 *
 * INVARIANT  Where the stream is no terminal, with NO_COLOR, on a dumb terminal and after
 *            dl_term_plain, colours are empty strings.
 * MUST NOT   know Lua or Readline. */
#ifndef DL_REPL_TERM_H
#define DL_REPL_TERM_H

#include <stdbool.h>

typedef enum dl_role {
  DL_ROLE_PROMPT,  /* "> " and "... " */
  DL_ROLE_ERROR,   /* the class of an error */
  DL_ROLE_NOTE,    /* what dlrepl says by itself */
  DL_ROLE_TRACE,   /* places in the user's files */
  DL_ROLES
} dl_role;

/* --plain: no colours, no pager. Before anything is printed. */
void dl_term_plain(void);
/* May this terminal be written to with more than lines of text? (It is no dumb or plain one.) */
bool dl_term_is_rich(void);
/* The codes that begin and end a role on file descriptor 1 or 2; "" where there are no colours. */
const char *dl_term_on(dl_role role, int fd);
const char *dl_term_off(int fd);

int dl_term_columns(void); /* 80 where there is no terminal */
int dl_term_rows(void);    /* 24 where there is none */

/* Remember the settings of standard input and put them back when the process ends: by exit, or by a
 * signal that would kill it (fatal ones are taken here, the others are for line.c). */
void dl_term_guard(void);
/* Put them back now; async-signal-safe. */
void dl_term_restore(void);
/* Line editing has changed the terminal (or has put it back). */
void dl_term_editing(bool on);
/* Read single keys without echo; false if standard input is no terminal. */
bool dl_term_keys(bool on);

#endif
