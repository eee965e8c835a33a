/* json.h -- text that grows, and JSON in it
 *
 * For jupyter/ only. Written by hand: what goes out is built once, in order. What comes in is read
 * by jansson.
 *
 * INVARIANT  What dl_json_* add is valid JSON in valid UTF-8, whatever the input: an invalid byte
 *            becomes U+FFFD, infinities and nan become null.
 *            After a refused allocation `bad` is set and nothing more is added.
 * MUST NOT   know messages. */
#ifndef DL_JUPYTER_JSON_H
#define DL_JUPYTER_JSON_H

#include <jansson.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct dl_buf { char *s; size_t n, cap; bool bad; } dl_buf;
typedef struct dl_slice { const char *s; size_t n; } dl_slice;

void dl_buf_add(dl_buf *b, const char *s, size_t n);
void dl_buf_text(dl_buf *b, const char *s);
void dl_buf_form(dl_buf *b, const char *form, ...) __attribute__((format(printf, 2, 3)));
void dl_buf_free(dl_buf *b);    /* as if new */
void dl_buf_restart(dl_buf *b); /* empty, but a moderate memory is kept */

/* A string in quotes. */
void dl_json_string(dl_buf *b, const char *s, size_t n);
void dl_json_text(dl_buf *b, const char *s);
/* "key": with a comma before it unless it comes first in its object. */
void dl_json_key(dl_buf *b, const char *key);
/* The Lua value at idx: a table with keys 1..n is an array, an empty one an object, None and what
 * JSON has no form for null. Raises on tables nested deeper than 100. */
void dl_json_lua(dl_buf *b, lua_State *L, int idx);

/* Push a value that was read: an object becomes a table, null becomes nil. */
void dl_json_push(lua_State *L, const json_t *v);

/* The bytes that the first `points` code points take; past the end: all of them. Counts each
 * invalid byte as one. */
size_t dl_utf8_offset(const char *s, size_t n, long long points);
/* And back: how many code points the first n bytes are. */
size_t dl_utf8_count(const char *s, size_t n);

#endif
