/* onednn.h -- large matrix products and convolutions by oneDNN, where it is installed
 *
 * For gemm.c, matmul.c, conv.c. Each function answers false when the library is absent, switched
 * off (DLREPL_ONEDNN=0, or built with ONEDNN=0) or cannot do it: the caller then uses its own code.
 *
 * INVARIANT  Called from the main thread only. A refused call has written nothing that counts; an
 *            interrupted one neither: dl_cancel is left for the caller's dl_poll.
 * MUST NOT   know ops. */
#ifndef DL_ONEDNN_H
#define DL_ONEDNN_H

#include "kernel.h"

#define DL_ONEDNN_MIN_WORK (112 * 112 * 112) /* multiply-adds: below, our own code is as fast */

/* c (m,n) = beta c + alpha a @ b; of a's two strides one is 1, and of b's. */
bool dl_onednn_sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t ars,
                     int64_t acs, const float *b, int64_t brs, int64_t bcs, float beta, float *c,
                     int64_t crs);
/* c[i] = a[i] @ b[i]; strides of (batch, row, column) in elements. */
bool dl_onednn_bmm(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                   const int64_t sa[3], const float *b, const int64_t sb[3], float *c,
                   const int64_t sc[3]);

/* The same for bfloat16 factors, summed in float32; false where no instruction of this CPU
 * multiplies bfloat16 faster than float32. DLREPL_ONEDNN=bf16 (for tests) goes this way on any CPU:
 * where the library has no bfloat16 arithmetic, it converts on its way in and out, slowly. */
bool dl_onednn_bmm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, const dl_bf16 *a,
                        const int64_t sa[3], const dl_bf16 *b, const int64_t sb[3], float *c,
                        const int64_t sc[3]);
bool dl_onednn_has_bf16(void);

/* A convolution of (n, ic, ih, iw) by (oc, ic/groups, kh, kw) into (n, oc, oh, ow), all dense. */
typedef struct dl_conv {
  int64_t n, ic, ih, iw, oc, oh, ow, kh, kw, groups;
  int64_t sh, sw, ph, pw, dh, dw; /* stride, padding, dilation (1 = none) */
} dl_conv;
typedef enum { DL_CONV_FWD, DL_CONV_BWD_DATA, DL_CONV_BWD_WEIGHTS } dl_conv_kind;
/* FWD writes dst (bias: NULL = none); BWD_DATA writes src; BWD_WEIGHTS writes weight. t: float32 or
 * bfloat16, summed in float32 and rounded once; the weight's gradient is float32 in both. */
bool dl_onednn_conv(dl_conv_kind kind, dl_dtype t, const dl_conv *s, void *src, void *weight,
                    void *dst, float *bias);

/* "2.6.3", or why it is not used. Loads the library. */
const char *dl_onednn_version(void);
/* For tests and bench: use our own code from now on (true), or oneDNN again. */
void dl_onednn_disable(bool off);

#endif
