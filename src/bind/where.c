/* where.c -- where the program is: the innermost line that is the user's own
 *
 * For tensors on devices, which remember the line that made them. Frames of dlrepl's own modules
 * and of C functions are passed over. Chunk names are copied: they outlive their chunk.
 *
 * INVARIANT  Allocates nothing in Lua; where memory is short a line is unknown, never wrong.
 * MUST NOT   know what the place is for. */
#include "bind/bind.h"
#include "tensor/devmem.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES = 1024, NAME_MAX_LEN = 200, DEEP = 200 };

bool (*dl_own_source)(const char *source);

static char *names[NAMES];       /* open addressing; never shrinks */
static int n_names;

static const char *interned(const char *s) {
  size_t len = strnlen(s, NAME_MAX_LEN);
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < len; i++) h = (h ^ (unsigned char)s[i]) * 16777619u;
  uint32_t k = h % NAMES;
  for (; names[k]; k = (k + 1) % NAMES)
    if (!strncmp(names[k], s, len) && !names[k][len]) return names[k];
  if (n_names > NAMES / 2) return NULL;
  char *copy = malloc(len + 1);
  if (!copy) return NULL;
  memcpy(copy, s, len);
  copy[len] = '\0';
  n_names++;
  return names[k] = copy;
}

int dl_where_stack(dl_frame *f, int max) {
  lua_State *L = dl_lua;
  lua_Debug ar;
  int n = 0;
  for (int level = 0; L && n < max && level < DEEP && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what == 'C' || (dl_own_source && dl_own_source(ar.source))) continue;
    lua_getinfo(L, "nl", &ar);
    const char *name = *ar.what == 'm' ? "<module>" : ar.name ? ar.name : "function";
    f[n++] = (dl_frame){interned(ar.source), interned(name), ar.currentline};
  }
  return n;
}

static void where(dl_where *w) {
  lua_State *L = dl_lua;
  lua_Debug ar;
  for (int level = 0; L && level < DEEP && lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "S", &ar);
    if (*ar.what == 'C' || (dl_own_source && dl_own_source(ar.source))) continue;
    lua_getinfo(L, "l", &ar);
    w->source = interned(ar.source);
    w->line = w->source ? ar.currentline : 0;
    w->input = dl_held_input();
    return;
  }
}

void dl_where_open(void) { dl_where_fn = where; }
