/* chunk.h -- the top-level statements of a piece of Lua text
 *
 * For locals.c: where does each statement begin and end, and which names does a `local` declare?
 * Only tokens are looked at; whether the text is Lua at all is for Lua's compiler to say.
 *
 * INVARIANT  For text that compiles, statements are reported exactly as Lua's grammar cuts them.
 * MUST NOT   know Lua states, allocate. */
#ifndef DL_REPL_CHUNK_H
#define DL_REPL_CHUNK_H

#include <stdbool.h>
#include <stddef.h>

#define DL_CHUNK_NAMES 200 /* Lua's own limit of locals in a function */

typedef enum dl_stat_kind {
  DL_STAT_VALUE,  /* an expression: a call, or something that is no statement at all, as `x + 2` */
  DL_STAT_LOCAL,
  DL_STAT_OTHER
} dl_stat_kind;

typedef struct dl_stat {
  dl_stat_kind kind;
  size_t begin, end;                       /* bytes text[begin .. end) */
  int names;                               /* of a LOCAL */
  struct { size_t at, n; bool fixed; } name[DL_CHUNK_NAMES]; /* fixed: <const> or <close> */
} dl_stat;

/* Call `each` for every top-level statement, in order. */
void dl_chunk_scan(const char *text, size_t len, void (*each)(void *ctx, const dl_stat *st),
                   void *ctx);

#endif
