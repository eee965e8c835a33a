/* session.h -- the one way in for everything a person types
 *
 * For main.c and repl.c, and for every other front end: compile a piece of Lua, run it
 * protected and interruptible, keep its locals, settle the modes it left, describe its failure.
 *
 * INVARIANT  One session a process. After every call the Lua stack holds only the values the call
 *            is said to leave, no mode is left over and no interrupt is pending.
 * MUST NOT   know terminals. */
#ifndef DL_REPL_SESSION_H
#define DL_REPL_SESSION_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#define DL_VERSION "0.1.0"

typedef enum dl_ended {
  DL_ENDED_OK,          /* n values are on the stack */
  DL_ENDED_ERROR,
  DL_ENDED_INTERRUPT,   /* stopped by Ctrl-C */
  DL_ENDED_UNFINISHED   /* more lines could complete the text; nothing was run */
} dl_ended;

typedef struct dl_outcome {
  dl_ended how;
  int n;                /* values left on the stack, OK only */
  const char *error;    /* PyTorch's line and our notes; valid until the next call; "" when OK */
  const char *trace;    /* the user's frames, "" where there are none */
  char kind[24];        /* the error's stable word ("device_mismatch", "syntax"), or "" */
  char guard[256];      /* "file:line" of a mode that was left on and has been restored, or "" */
  char slip[160];       /* a word on what is right Lua and probably not meant, or "" */
} dl_outcome;

typedef enum dl_text { DL_TEXT_COMPLETE, DL_TEXT_UNFINISHED, DL_TEXT_WRONG } dl_text;

/* Start the engine and Lua with everything in place. NULL when there is no memory for it. */
lua_State *dl_session_open(void);
void dl_session_close(void);
/* Simulate the GPU that DLREPL_GPU names ("sim:t4"); false after an error, which is reported. */
bool dl_session_gpu(void);

/* Is the text a line or cell that can run? Nothing is run. */
dl_text dl_session_check(const char *text, size_t len, const char *name);
/* A line or cell: its top-level locals stay, its last expression's values are left on the stack. */
void dl_session_line(const char *text, size_t len, const char *name, dl_outcome *o);
/* A program, with n arguments on top of the stack (popped). file NULL: read standard input. */
void dl_session_file(const char *file, int nargs, dl_outcome *o);
/* A function of ours with its n arguments on top of the stack, run as a line is. */
void dl_session_call(int nargs, dl_outcome *o);
/* Print the n values on top of the stack as the prompt does, set `_`, pop them. The outcome is the
 * line's; its notes are kept. */
void dl_session_show(int n, int columns, dl_outcome *o);
/* Where values go; NULL: straight to standard output. */
extern void (*dl_session_print)(const char *text, size_t len);
/* The error text, its trace and the word on a guard, to standard error. */
void dl_session_report(const dl_outcome *o);

/* ---- questions: nothing of the user's runs ------------------------------------------------- */
typedef struct dl_candidate {
  char *text;
  char kind[12];        /* function method class module property field parameter local word file */
} dl_candidate;
typedef struct dl_candidates {
  size_t start;         /* they replace text[start .. cursor) */
  int n;
  dl_candidate *v;      /* in order of the alphabet */
} dl_candidates;

/* What could stand at the cursor, a byte offset. Free with the function below. */
void dl_session_complete(const char *text, size_t cursor, dl_candidates *c);
void dl_candidates_free(dl_candidates *c);
/* Help on what stands at the cursor (in the brackets of a call: on its function), wrapped for
 * `columns`; the caller frees it. NULL where nothing is known. detail: 0 the signature and a line,
 * 1 all of it. */
char *dl_session_inspect(const char *text, size_t cursor, int detail, int columns);

/* For ask.c: the session's Lua, NULL before it is open. */
lua_State *dl_session_state(void);

#endif
