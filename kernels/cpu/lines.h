/* lines.h -- a contiguous tensor as lines along one dimension
 *
 * For scan.c and softmax.c: size n along `dim`, `outer` blocks before it, `inner` lines side by
 * side. A piece of work is BAND neighbouring lines of one block (or one line where inner is 1). */
#ifndef DL_LINES_H
#define DL_LINES_H

#include "kernel.h"

enum { BAND = 64, LINE_GRAIN = 16384 /* elements worth a thread's while */ };

typedef struct lines {
  int64_t outer, n, inner, bands; /* bands: pieces a block */
} lines;

static inline lines lines_of(const dl_view *v, int64_t dim) {
  lines l = {1, 1, 1, 1};
  int64_t at = dim < 0 ? dim + v->ndim : dim;
  for (int d = 0; d < v->ndim; d++) {
    if (d < at) l.outer *= v->size[d];
    else if (d == at) l.n = v->size[d];
    else l.inner *= v->size[d];
  }
  l.bands = (l.inner + BAND - 1) / BAND;
  return l;
}

/* Piece i: element offset of its first line; *w lines. */
static inline int64_t lines_piece(const lines *l, int64_t i, int64_t *w) {
  int64_t o = i / l->bands, first = i % l->bands * BAND, left = l->inner - first;
  *w = left < BAND ? left : BAND;
  return o * l->n * l->inner + first;
}

static inline int64_t lines_pieces(const lines *l) { return l->outer * l->bands; }
static inline int64_t lines_grain(const lines *l) {
  int64_t cost = l->n * (l->inner < BAND ? l->inner : BAND);
  return LINE_GRAIN / (cost + 1) + 1;
}

#endif
