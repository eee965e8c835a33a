/* onednn_in.h -- between onednn.c (the library) and onednn_ops.c (products, convolutions) only
 *
 * INVARIANT  A plan is a primitive with its reorders, made once a key. It runs on the number of
 *            threads it was made for, in working memory that its caller brings.
 * MUST NOT   know ops. */
#ifndef DL_ONEDNN_IN_H
#define DL_ONEDNN_IN_H

#include "cpu/once/onednn.h"
#include "cpu/once/once.h"

typedef void *dl_dnn_obj;                               /* any handle of the library */

/* A memory descriptor is a pointer in both generations: to a struct of ours (696 bytes) in 2.x, to
 * an opaque object in 3.x. */
typedef struct dl_dnn_desc { dl_dnn_obj md; _Alignas(16) char body[1024]; } dl_dnn_desc;

/* values of dnnl_types.h */
enum { DL_DNN_BF16 = 2, DL_DNN_F32 = 3 };
enum { DL_DNN_SRC = 1, DL_DNN_DST = 17, DL_DNN_WEI = 33, DL_DNN_BIAS = 41,
       DL_DNN_DIFF_SRC = 129, DL_DNN_DIFF_DST = 145, DL_DNN_DIFF_WEI = 161 };

bool dl_dnn_load(void);                                 /* false: not to be used */
bool dl_dnn_forced(void);                               /* DLREPL_ONEDNN=bf16 */
int dl_dnn_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

/* ---- descriptors ----------------------------------------------------------------------------- */
bool dl_dnn_strided(dl_dnn_desc *d, int type, int ndim, const int64_t *size,
                    const int64_t *stride);
bool dl_dnn_any(dl_dnn_desc *d, int type, int ndim, const int64_t *size);
void dl_dnn_desc_free(dl_dnn_desc *d, int n);
dl_dnn_obj dl_dnn_matmul(const dl_dnn_desc d[3]);
typedef struct dl_dnn_geometry { int64_t stride[2], dilate[2], left[2], right[2]; } dl_dnn_geometry;
/* d: src, weights, dst and, forward only, bias (md NULL = none) */
dl_dnn_obj dl_dnn_conv(dl_conv_kind kind, const dl_dnn_desc d[4], const dl_dnn_geometry *g,
                       dl_dnn_obj hint);
void dl_dnn_pd_free(dl_dnn_obj pd);

/* ---- plans ----------------------------------------------------------------------------------- */
#define DL_DNN_KEY 24
typedef struct dl_dnn_plan dl_dnn_plan;
/* A plan by its key, *p NULL where the library refused it before; false: never asked. */
bool dl_dnn_plan_find(const int64_t key[DL_DNN_KEY], dl_dnn_plan **p);
/* Of n operands, the one at `out` written; user: their forms; query: which descriptor of pd says
 * how the primitive wants each (1 src, 3 weights, 5 dst, + 1 gradients; 0: as it is). pd is
 * destroyed here; NULL gives NULL, and so does a later find. */
dl_dnn_plan *dl_dnn_plan_make(const int64_t key[DL_DNN_KEY], dl_dnn_obj pd, int n,
                              const dl_dnn_desc *user, const int *arg, const int *query, int out);

/* What one thread does: a plan of its own and the addresses of its operands. */
typedef struct dl_dnn_lane { dl_dnn_plan *plan; void *data[4]; } dl_dnn_lane;
#define DL_DNN_LANES 64
/* How many threads the library uses when this thread calls it; returns what was set before. */
int dl_dnn_threads(int n);
/* n lanes side by side, each on as many threads as its plan was made for: key[1]. */
bool dl_dnn_run(dl_dnn_lane *lane, int n);

#endif
