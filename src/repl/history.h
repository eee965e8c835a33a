/* history.h -- what was typed, in this session and the ones before
 *
 * For line.c and magic.c. An entry is a whole input, several lines if it took several. In the file
 * ($XDG_DATA_HOME/dlrepl/history, else ~/.local/share/dlrepl/history) the further lines of an entry
 * begin with a tab.
 *
 * INVARIANT  A file that is missing, unreadable or full of other bytes costs the entries that
 *            cannot be read, nothing more; sessions side by side lose no entry of each other.
 * MUST NOT   know Lua or Readline, print. */
#ifndef DL_REPL_HISTORY_H
#define DL_REPL_HISTORY_H

#include <stdbool.h>

enum { DL_HISTORY_MAX = 5000 };

/* Read the file; each entry, oldest first, goes to `each` too. */
void dl_history_open(void (*each)(const char *entry));
/* Remember an entry, in the file at once. False, once, if the file cannot be written. */
bool dl_history_add(const char *entry);
/* The n-th entry from the end, 1 is the last; NULL if there are fewer. */
const char *dl_history_last(int n);
const char *dl_history_file(void); /* its path, "" if there is none */

#endif
