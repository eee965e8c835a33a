/* store.h -- files of ours that outlive a crash
 *
 * For lesson.c: a line is appended whole and is on the disk when append returns; a file is replaced
 * in one step; two sessions take turns by a lock beside the file.
 *
 * MUST NOT   know what the lines say. */
#ifndef DL_REPL_STORE_H
#define DL_REPL_STORE_H

#include <lua.h>

int dl_store_append(lua_State *L);  /* append(path, line) -> true, or nil and why */
/* rewrite(path, fn) -> true, or nil and why: fn gets the text and returns the new one */
int dl_store_rewrite(lua_State *L);
int dl_store_list(lua_State *L);    /* list(folder) -> sorted names, nil where there is none */
int dl_store_stat(lua_State *L);    /* stat(path) -> bytes, a text that changes on save, is it a
                                     * folder? nil where there is none */
int dl_store_id(lua_State *L);      /* id() -> 32 random hex digits */

#endif
