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

/* The link that leads to c. */
static inline dl_chunk **link_to(dl_set *s, const dl_chunk *c) {
  if (!c->up) return &s->root;
  return c->up->left == c ? &c->up->left : &c->up->right;
}

/* Hang c, or nothing, below `up` by this link. */
static inline void hang(dl_chunk **at, dl_chunk *c, dl_chunk *up) {
  *at = c;
  if (c) c->up = up;
}

void dl_set_add(dl_set *s, dl_chunk *c) {
  dl_chunk **at = &s->root, *up = NULL;
  c->prio = next_priority();
  while (*at && (*at)->prio >= c->prio) {
    up = *at;
    at = less(s, c, up) ? &up->left : &up->right;
  }
  dl_chunk *rest = *at, **low = &c->left, **high = &c->right, *low_up = c, *high_up = c;
  hang(at, c, up);
  while (rest) { /* cut what was here in two, below and above c */
    if (less(s, rest, c)) {
      hang(low, rest, low_up);
      low_up = rest;
      rest = *(low = &rest->right);
    } else {
      hang(high, rest, high_up);
      high_up = rest;
      rest = *(high = &rest->left);
    }
  }
  *low = *high = NULL;
}

void dl_set_remove(dl_set *s, dl_chunk *c) {
  dl_chunk **at = link_to(s, c), *up = c->up, *low = c->left, *high = c->right;
  while (low && high) { /* sew the two halves together */
    if (low->prio > high->prio) {
      hang(at, low, up);
      up = low;
      low = *(at = &low->right);
    } else {
      hang(at, high, up);
      up = high;
      high = *(at = &high->left);
    }
  }
  hang(at, low ? low : high, up);
}

void dl_set_swap(dl_set *s, dl_chunk *old, dl_chunk *now) {
  dl_chunk *before = dl_set_before(old), *after = dl_set_after(old);
  if ((before && !less(s, before, now)) || (after && !less(s, now, after))) {
    dl_set_remove(s, old);
    dl_set_add(s, now);
    return;
  }
  now->prio = old->prio;
  hang(link_to(s, old), now, old->up);
  hang(&now->left, old->left, now);
  hang(&now->right, old->right, now);
}

dl_chunk *dl_set_from(const dl_set *s, dl_stream stream, int64_t bytes) {
  dl_chunk *best = NULL;
  if (s->by_address) bytes = 0;
  for (dl_chunk *c = s->root; c;) {
    if (c->stream < stream || (c->stream == stream && c->bytes < bytes)) c = c->right;
    else best = c, c = c->left;
  }
  return best;
}

dl_chunk *dl_set_first(const dl_set *s) {
  dl_chunk *c = s->root;
  while (c && c->left) c = c->left;
  return c;
}

dl_chunk *dl_set_last(const dl_set *s) {
  dl_chunk *c = s->root;
  while (c && c->right) c = c->right;
  return c;
}

dl_chunk *dl_set_after(const dl_chunk *c) {
  if (c->right)
    for (c = c->right;; c = c->left)
      if (!c->left) return (dl_chunk *)c;
  while (c->up && c->up->right == c) c = c->up;
  return c->up;
}

dl_chunk *dl_set_before(const dl_chunk *c) {
  if (c->left)
    for (c = c->left;; c = c->right)
      if (!c->right) return (dl_chunk *)c;
  while (c->up && c->up->left == c) c = c->up;
  return c->up;
}
