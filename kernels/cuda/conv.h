/* conv.h -- the sizes of a convolution, for conv.cu and conv_direct.cu
 *
 * Shapes: input (n, ic, ih, iw), weight (oc, ic/groups, kh, kw), output (n, oc, oh, ow). A 1-d
 * convolution is a 2-d one of height 1.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_CONV_H
#define DL_CUDA_CONV_H

#include "block.h"

typedef struct dl_cu_conv {
  int64_t n, ic, ih, iw, oc, oh, ow, kh, kw;
  int64_t sh, sw, ph, pw, dh, dw, groups;
  int64_t in, out;               /* channels a group */
  int64_t rows, cols;            /* in * kh * kw; oh * ow */
} dl_cu_conv;

/* One thread (or block) an element, no memory besides: for few channels a group, for integers and
 * for small work. All operands contiguous and of `dtype`. */
void dl_cu_conv_forward(const dl_cu_conv *s, int dtype, const void *x, const void *w, const void *b,
                        void *y, void *stream);
void dl_cu_conv_input(const dl_cu_conv *s, int dtype, const void *g, const void *w, void *x,
                      void *stream);
void dl_cu_conv_weight(const dl_cu_conv *s, int dtype, const void *g, const void *x, void *w,
                       void *stream);

#endif
