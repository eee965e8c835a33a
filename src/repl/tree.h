/* tree.h -- where dlrepl's own files are
 *
 * For session.c, main.c, trace.c, interrupt.c. The tree is found from the executable, so that a
 * checkout, an installed copy and a moved folder all work: the folder of the executable, the
 * share/dlrepl beside it, or the one above (build-asan/).
 *
 * INVARIANT  dl_tree_root() is absolute and never changes after dl_tree_open.
 * MUST NOT   know Lua. */
#ifndef DL_REPL_TREE_H
#define DL_REPL_TREE_H

#include <stdbool.h>
#include <stddef.h>

/* Look for the tree; false if there is none (the engine still works, the Lua modules do not). */
bool dl_tree_open(void);
const char *dl_tree_root(void);        /* "/home/me/dlrepl", or "" */
/* "<root>/<below>" into buf; false if it does not fit. */
bool dl_tree_path(const char *below, char *buf, size_t cap);
/* Is this Lua chunk name ("@file") one of our own modules? */
bool dl_tree_owns(const char *source);

#endif
