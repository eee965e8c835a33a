/* mime.h -- a value in the forms that a client may show
 *
 * For execute.c and lkernel.c. lua/dlrepl/rich makes the forms; without it there is the prompt's
 * text.
 *
 * INVARIANT  A bundle has text/plain; keys are type/subtype without parameters.
 * MUST NOT   know sockets. */
#ifndef DL_JUPYTER_MIME_H
#define DL_JUPYTER_MIME_H

#include "json.h"
#include "repl/session.h"

/* The JSON of the bundle and of its metadata for the n values on top of the stack (popped); sets
 * `_`. False: o tells. The texts are borrowed until the next call of any function here. */
bool dl_mime_values(int n, dl_outcome *o, dl_slice *data, dl_slice *metadata);
/* The text/plain of the last bundle made from values. */
dl_slice dl_mime_plain(void);
/* The bundle of the lines below the first of an error's text; empty where there are none. */
dl_slice dl_mime_notes(const char *text);
/* The table of forms at idx; raises if it is none. */
dl_slice dl_mime_bundle(lua_State *L, int idx);
/* Metadata at idx, nil or a table. */
dl_slice dl_mime_metadata(lua_State *L, int idx);

#endif
