/* copy.c -- the one strided copy of the project
 *
 * For every kernel that moves elements. Dims are sorted by the destination's strides and merged;
 * then a copy is a memcpy, rows, or a blocked transpose, on all threads when it is large.
 *
 * INVARIANT  Views have equal sizes; they do not overlap unless they are the same view.
 * MUST NOT   fail: it allocates nothing and waits for no interrupt. */
#include "convert.h"

#include <string.h>

#define GRAIN 32768 /* elements of a piece: about 10 us */
#define TILE 32     /* elements on a side of a transposed tile */

typedef struct plan {
  int n;                         /* dims after merging; the last is the inner one */
  int64_t size[DL_MAXDIM];
  int64_t d[DL_MAXDIM], s[DL_MAXDIM]; /* strides of destination and source in elements */
  char *dst;
  const char *src;
  dl_dtype dt, st;
  int64_t dsize, ssize;          /* bytes an element */
  int across;                    /* dim along which the source is contiguous, or -1 */
} plan;

/* ---- planning -------------------- */

static bool outer_first(const plan *p, int64_t d, int64_t s, int k) {
  return d > p->d[k] || (d == p->d[k] && s > p->s[k]);
}

/* Insert a dim so that the destination's strides fall. */
static void add_dim(plan *p, int64_t size, int64_t d, int64_t s) {
  int k = p->n++;
  for (; k > 0 && outer_first(p, d, s, k - 1); k--) {
    p->size[k] = p->size[k - 1];
    p->d[k] = p->d[k - 1];
    p->s[k] = p->s[k - 1];
  }
  p->size[k] = size;
  p->d[k] = d;
  p->s[k] = s;
}

/* Neighbours that both views step over evenly become one dim. */
static void merge_dims(plan *p) {
  int k = 0;
  for (int i = 1; i < p->n; i++) {
    if (p->d[k] == p->d[i] * p->size[i] && p->s[k] == p->s[i] * p->size[i]) {
      p->size[k] *= p->size[i];
    } else {
      k++;
      p->size[k] = p->size[i];
    }
    p->d[k] = p->d[i];
    p->s[k] = p->s[i];
  }
  if (p->n > 0) p->n = k + 1;
}

static void make_plan(plan *p, const dl_view *dst, const dl_view *src) {
  p->n = 0;
  p->dst = dst->data;
  p->src = src->data;
  p->dt = (dl_dtype)dst->dtype;
  p->st = (dl_dtype)src->dtype;
  p->dsize = (int64_t)dl_dtype_size(p->dt);
  p->ssize = (int64_t)dl_dtype_size(p->st);
  for (int i = 0; i < dst->ndim; i++)
    if (dst->size[i] != 1) add_dim(p, dst->size[i], dst->stride[i], src->stride[i]);
  merge_dims(p);
  if (p->n == 0) add_dim(p, 1, 1, 1);
  p->across = -1;
  for (int i = 0; i < p->n - 1; i++)
    if (p->s[i] == 1) p->across = i;
}

/* ---- rows -------------------- */

#define MOVE(type)                                                                  \
  static void move_##type(char *dp, int64_t ds, const char *sp, int64_t ss,         \
                          int64_t n) {                                              \
    type *d = (type *)dp;                                                           \
    const type *s = (const type *)sp;                                               \
    if (ds == 1 && ss == 0) {                                                       \
      type v = *s;                                                                  \
      for (int64_t i = 0; i < n; i++) d[i] = v;                                     \
    } else {                                                                        \
      for (int64_t i = 0; i < n; i++) d[i * ds] = s[i * ss];                        \
    }                                                                               \
  }
MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

static void copy_row(const plan *p, char *d, const char *s, int64_t n) {
  int64_t ds = p->d[p->n - 1], ss = p->s[p->n - 1];
  if (p->dt != p->st) dl_convert(p->dt, d, ds, p->st, s, ss, n);
  else if (ds == 1 && ss == 1) memcpy(d, s, (size_t)(n * p->dsize));
  else if (p->dsize == 4) move_uint32_t(d, ds, s, ss, n);
  else if (p->dsize == 8) move_uint64_t(d, ds, s, ss, n);
  else if (p->dsize == 2) move_uint16_t(d, ds, s, ss, n);
  else move_uint8_t(d, ds, s, ss, n);
}

/* Elements [lo, hi) in the plan's order, row by row. */
static void copy_piece(void *ctx, int64_t lo, int64_t hi) {
  const plan *p = ctx;
  int inner = p->n - 1;
  int64_t at[DL_MAXDIM], rest = lo, d = 0, s = 0;
  for (int i = inner; i >= 0; i--) {
    at[i] = rest % p->size[i];
    rest /= p->size[i];
    d += at[i] * p->d[i];
    s += at[i] * p->s[i];
  }
  while (lo < hi) {
    int64_t n = p->size[inner] - at[inner];
    if (n > hi - lo) n = hi - lo;
    copy_row(p, p->dst + d * p->dsize, p->src + s * p->ssize, n);
    lo += n;
    d -= at[inner] * p->d[inner];
    s -= at[inner] * p->s[inner];
    at[inner] = 0;
    for (int i = inner - 1; i >= 0; i--) {
      d += p->d[i];
      s += p->s[i];
      if (++at[i] < p->size[i]) break;
      d -= p->size[i] * p->d[i];
      s -= p->size[i] * p->s[i];
      at[i] = 0;
    }
  }
}

/* ---- transposes -------------------- */

/* A tile is first read row by row into a buffer: the source's rows are often a power of two apart
 * and would push each other out of the cache before they are used up. */
#define TURN(type)                                                                  \
  static void turn_##type(type *d, int64_t ds, const type *buf, int64_t na, int64_t nb) { \
    for (int64_t a = 0; a < na; a++)                                                \
      for (int64_t b = 0; b < nb; b++) d[a * ds + b] = buf[b * TILE + a];           \
  }
TURN(uint8_t)
TURN(uint16_t)
TURN(uint32_t)
TURN(uint64_t)

typedef uint32_t four __attribute__((vector_size(16)));
#define LOAD4(p) ({ four v_; memcpy(&v_, (p), 16); v_; })
#define STORE4(p, v) ({ four v_ = (v); memcpy((p), &v_, 16); })

/* A whole tile of 4-byte elements, 4 x 4 at a time in registers. */
static void turn_whole(uint32_t *d, int64_t ds, const uint32_t *buf) {
  for (int a = 0; a < TILE; a += 4)
    for (int b = 0; b < TILE; b += 4) {
      const uint32_t *s = buf + b * TILE + a;
      uint32_t *t = d + a * ds + b;
      four r0 = LOAD4(s), r1 = LOAD4(s + TILE), r2 = LOAD4(s + 2 * TILE), r3 = LOAD4(s + 3 * TILE);
      four lo01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
      four hi01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
      four lo23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
      four hi23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
      STORE4(t, __builtin_shufflevector(lo01, lo23, 0, 1, 4, 5));
      STORE4(t + ds, __builtin_shufflevector(lo01, lo23, 2, 3, 6, 7));
      STORE4(t + 2 * ds, __builtin_shufflevector(hi01, hi23, 0, 1, 4, 5));
      STORE4(t + 3 * ds, __builtin_shufflevector(hi01, hi23, 2, 3, 6, 7));
    }
}

/* One tile: d[a * ds + b] = s[a + b * ss], converted on the way in. */
static void turn_tile(const plan *p, char *d, const char *s, int64_t na, int64_t nb) {
  int64_t ds = p->d[p->across], ss = p->s[p->n - 1];
  _Alignas(64) char buf[TILE * TILE * 8];
  for (int64_t b = 0; b < nb; b++) {
    char *row = buf + b * TILE * p->dsize;
    const char *from = s + b * ss * p->ssize;
    if (p->dt == p->st) memcpy(row, from, (size_t)(na * p->dsize));
    else dl_convert(p->dt, row, 1, p->st, from, 1, na);
  }
  if (p->dsize == 4 && na == TILE && nb == TILE) turn_whole((void *)d, ds, (void *)buf);
  else if (p->dsize == 4) turn_uint32_t((void *)d, ds, (void *)buf, na, nb);
  else if (p->dsize == 8) turn_uint64_t((void *)d, ds, (void *)buf, na, nb);
  else if (p->dsize == 2) turn_uint16_t((void *)d, ds, (void *)buf, na, nb);
  else turn_uint8_t((void *)d, ds, (void *)buf, na, nb);
}

static int64_t tiles(int64_t n) { return (n + TILE - 1) / TILE; }

/* Tiles [lo, hi), counted over the outer dims, then down the source, then along the destination. */
static void turn_piece(void *ctx, int64_t lo, int64_t hi) {
  const plan *p = ctx;
  int inner = p->n - 1, across = p->across;
  int64_t nb = tiles(p->size[inner]), na = tiles(p->size[across]);
  for (int64_t t = lo; t < hi; t++) {
    int64_t b = t % nb * TILE, a = t / nb % na * TILE, rest = t / nb / na;
    int64_t d = a * p->d[across] + b, s = a + b * p->s[inner];
    for (int i = inner - 1; i >= 0; i--) {
      if (i == across) continue;
      d += rest % p->size[i] * p->d[i];
      s += rest % p->size[i] * p->s[i];
      rest /= p->size[i];
    }
    int64_t wa = p->size[across] - a, wb = p->size[inner] - b;
    turn_tile(p, p->dst + d * p->dsize, p->src + s * p->ssize, wa < TILE ? wa : TILE,
              wb < TILE ? wb : TILE);
  }
}

static bool is_transpose(const plan *p) {
  int inner = p->n - 1;
  return p->across >= 0 && p->d[inner] == 1 && p->s[inner] > 1 &&
         p->size[inner] >= 8 && p->size[p->across] >= 8;
}

void dl_copy_view(const dl_view *dst, const dl_view *src) {
  if (dst->numel == 0) return;
  plan p;
  make_plan(&p, dst, src);
  if (!is_transpose(&p)) {
    dl_parallel_whole(dst->numel, GRAIN, copy_piece, &p);
    return;
  }
  int64_t count = tiles(p.size[p.n - 1]) * tiles(p.size[p.across]);
  for (int i = 0; i < p.n - 1; i++)
    if (i != p.across) count *= p.size[i];
  dl_parallel_whole(count, GRAIN / (TILE * TILE), turn_piece, &p);
}
