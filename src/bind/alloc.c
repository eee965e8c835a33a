/* alloc.c -- Lua's memory comes from the engine's freelists
 *
 * For dl_bind_newstate. Finalised boxes scattered by malloc made bound ops three times slower
 * and erratic; on size-class freelists the cost is flat.
 *
 * INVARIANT  Blocks up to SMALL bytes are the engine's, larger ones malloc's; the size that Lua
 *            passes back says which. Lua may not be refused when it shrinks a block.
 * MUST NOT   collect: Lua runs its own emergency collection when we refuse. */
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "bind/bind.h"

#define SMALL (256u * 1024u)     /* bytes: what dl_block_new serves */

static int64_t large_bytes;      /* handed out by malloc now */

static bool refused(size_t nbytes) {
  return dl_mem.cap_bytes > 0 &&
         dl_mem.live_bytes + large_bytes + (int64_t)nbytes > dl_mem.cap_bytes;
}

static void *take(size_t n) {
  if (n <= SMALL) return dl_block_new(n);
  if (n > (size_t)PTRDIFF_MAX || refused(n)) return NULL;
  void *p = malloc(n);
  if (p) large_bytes += (int64_t)n;
  return p;
}

static void give(void *p, size_t n) {
  if (n <= SMALL) {
    dl_block_free(p, n);
  } else {
    large_bytes -= (int64_t)n;
    free(p);
  }
}

static void *resize_large(void *p, size_t osize, size_t nsize) {
  if (nsize > osize && (nsize > (size_t)PTRDIFF_MAX || refused(nsize - osize))) return NULL;
  void *q = realloc(p, nsize);
  if (q) large_bytes += (int64_t)nsize - (int64_t)osize;
  return q;
}

static void *lua_alloc(void *ud, void *p, size_t osize, size_t nsize) {
  (void)ud;
  if (p == NULL) return nsize ? take(nsize) : NULL;
  if (nsize == 0) {
    give(p, osize);
    return NULL;
  }
  if (osize > SMALL && nsize > SMALL) return resize_large(p, osize, nsize);
  void *q = take(nsize);
  if (q == NULL) return nsize <= osize ? p : NULL; /* a block too large for its class is harmless */
  memcpy(q, p, osize < nsize ? osize : nsize);
  give(p, osize);
  return q;
}

lua_State *dl_bind_newstate(void) {
  dl_mem_init();
  lua_State *L = lua_newstate(lua_alloc, NULL);
  if (L) luaL_openlibs(L);
  return L;
}
