/* shell.h -- the main thread: requests on shell, one after the other
 *
 * For the files that answer them. A handler returns the reply, or NULL where there is none.
 *
 * MUST NOT   be used by another thread. */
#ifndef DL_JUPYTER_SHELL_H
#define DL_JUPYTER_SHELL_H

#include "iopub.h"
#include "jupyter.h"
#include "repl/session.h"

typedef dl_packet *dl_handler(const dl_request *r);

dl_handler dl_execute, dl_complete, dl_inspect, dl_is_complete, dl_history, dl_comm_info,
    dl_comm_event;

/* A message for iopub that belongs to the request under way. */
dl_packet *dl_publish_new(const char *type, const char *metadata);
/* After an error: requests to execute that were sent before now will be answered "aborted".
 * seconds: how long the cell ran, for what was sent along with it may still be under way. */
void dl_shell_abort(double seconds);

/* ---- execute.c ----------------------------------------------------------------------------- */
int dl_execution_count(void);
/* "ename":…,"evalue":…,"traceback":[…] of the failure of this code, with our own lines or not. */
void dl_error_json(dl_buf *b, const dl_outcome *o, const char *code, size_t len, bool notes);
/* "status":"error" and the same for a text. */
void dl_refusal_json(dl_buf *b, const char *ename, const char *evalue);

/* ---- past.c: what was executed --------------------------------------------------------------- */
void dl_past_open(void);
/* typed: by a person, so that it goes into the history that outlives the session. */
void dl_past_add(int line, const char *code, size_t len, bool typed);
void dl_past_output(int line, const char *text, size_t len); /* of the last one, if it is that */

/* ---- input.c: standard input is the client's ------------------------------------------------ */
void dl_input_stream(void);   /* stdin; before Lua starts */
void dl_input_open(lua_State *L, void *stdin_socket);
/* Requests may be asked for; NULL: not any more. */
void dl_input_allow(const dl_request *r);

#endif
