/* magic.h -- the commands that begin with % or :
 *
 * For session.c, which hands such lines over, and for completion and help. One table for every
 * front end: what a command prints goes to standard output, values it leaves are the line's.
 *
 * Either sign begins any of them; % is how the general ones are told, : those of a lesson.
 *
 * MUST NOT know terminals. */
#ifndef DL_REPL_MAGIC_H
#define DL_REPL_MAGIC_H

#include "repl/session.h"

typedef enum dl_magic_arg {
  DL_MAGIC_NOTHING,
  DL_MAGIC_CODE,     /* completes as code */
  DL_MAGIC_FILE,     /* completes as a file name */
  DL_MAGIC_NUMBER,
  DL_MAGIC_COMMAND   /* the name of a % command */
} dl_magic_arg;

typedef struct dl_magic {
  const char *name;  /* without the sign */
  const char *usage; /* what may follow it */
  const char *help;  /* one line */
  const char *more;  /* further lines, "" if there are none */
  dl_magic_arg arg;
  void (*run)(const char *rest, dl_outcome *o);
  bool lesson;       /* told with : */
} dl_magic;

/* All of them, in the order of %help; *n: how many. */
const dl_magic *dl_magic_table(int *n);
/* Does the text begin with % or : and a letter? Then rest: the code that it runs, or NULL. */
bool dl_magic_is(const char *text, size_t len, const char **code);
void dl_magic_run(const char *text, size_t len, dl_outcome *o);
/* Note which globals there are before the user has any. */
void dl_magic_open(lua_State *L);
/* Push the set of those. */
void dl_magic_push_base(lua_State *L);
/* Remember a line of code, for %pytorch. */
void dl_magic_note_line(const char *text, size_t len);
/* What the next input shall begin with (%load_history), or NULL; the caller frees it. */
char *dl_magic_take_next(void);

#endif
