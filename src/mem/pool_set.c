/* pool_set.c -- the pool's ordered set of chunks: a treap whose links lie in the chunks
 *
 * For pool.c and its neighbours. Adding never allocates, so giving memory back cannot fail.
 *
 * INVARIANT  In order by key; no chunk has a smaller priority than one below it.
 * MUST NOT   know what a chunk's memory is for. */
#include "mem/pool_int.h"

static inline bool less(const dl_set *s, const dl_chunk *a, const dl_chunk *b) {
  if (a->stream != b->stream) return a->stream < b->stream;
  if (!s->by_address && a->bytes != b->bytes) return a->bytes < b->bytes;
  return (uintptr_t)a->addr < (uintptr_t)b->addr;
}

static uint32_t next_priority(void) {
  static uint32_t x = 2463534242u; /* xorshift32 */
  x ^= x << 13;
  x ^= x >> 17;
  x ^= x << 5;
  return x;
}

void dl_set_add(dl_set *s, dl_chunk *c) {
  dl_chunk **at = &s->root;
  c->prio = next_priority();
  while (*at && (*at)->prio >= c->prio) at = less(s, c, *at) ? &(*at)->left : &(*at)->right;
  dl_chunk *rest = *at, **low = &c->left, **high = &c->right;
  *at = c;
  while (rest) { /* cut what was here in two, below and above c */
    if (less(s, rest, c)) {
      *low = rest;
      low = &rest->right;
      rest = rest->right;
    } else {
      *high = rest;
      high = &rest->left;
      rest = rest->left;
    }
  }
  *low = *high = NULL;
}

void dl_set_remove(dl_set *s, dl_chunk *c) {
  dl_chunk **at = &s->root, *low = c->left, *high = c->right;
  while (*at != c) at = less(s, c, *at) ? &(*at)->left : &(*at)->right;
  while (low && high) { /* sew the two halves together */
    if (low->prio > high->prio) {
      *at = low;
      at = &low->right;
      low = *at;
    } else {
      *at = high;
      at = &high->left;
      high = *at;
    }
  }
  *at = low ? low : high;
}

dl_chunk *dl_set_from(const dl_set *s, const dl_chunk *key) {
  dl_chunk *best = NULL;
  for (dl_chunk *c = s->root; c;) {
    if (less(s, c, key)) c = c->right;
    else best = c, c = c->left;
  }
  return best;
}

dl_chunk *dl_set_after(const dl_set *s, const dl_chunk *key) {
  dl_chunk *best = NULL;
  for (dl_chunk *c = s->root; c;) {
    if (less(s, key, c)) best = c, c = c->left;
    else c = c->right;
  }
  return best;
}

dl_chunk *dl_set_before(const dl_set *s, const dl_chunk *key) {
  dl_chunk *best = NULL;
  for (dl_chunk *c = s->root; c;) {
    if (less(s, c, key)) best = c, c = c->right;
    else c = c->left;
  }
  return best;
}
