/* hints.h -- other habits, answered with the Lua spelling
 *
 * For session.c. A person who comes from Python types `x += 1` or `for i in range(3):`; Lua's
 * message says where it stopped, the hint says what to write.
 *
 * INVARIANT  Only called for text that failed, so a hint is never in the way of what works.
 * MUST NOT   know Lua states, allocate. */
#ifndef DL_REPL_HINTS_H
#define DL_REPL_HINTS_H

#include <stdbool.h>
#include <stddef.h>

/* For text that does not compile, with Lua's message: a hint of one line into buf, or "". */
void dl_hint_syntax(const char *text, size_t len, const char *message, char *buf, size_t cap);
/* Is the last line surely no beginning of Lua (`while x:`), although more lines could complete it
 * by the letter? */
bool dl_hint_is_foreign(const char *text, size_t len);
/* For an error at run time whose message is Lua's own: a hint, or NULL. */
const char *dl_hint_runtime(const char *message);

#endif
