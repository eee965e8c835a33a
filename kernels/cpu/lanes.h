/* lanes.h -- how many interleaved partial results a row is folded in
 *
 * For reduce_fold.c and softmax.c. LANES is large enough for gcc to keep the loop over lanes, which
 * it then vectorises; shorter rows use the smallest power of two that holds them. */
#ifndef DL_LANES_H
#define DL_LANES_H

#include <stdint.h>

enum { LANES = 64 };

static inline int lanes_for(int64_t n) {
  int w = 1;
  while (w < LANES && w < n) w *= 2;
  return w;
}

#endif
