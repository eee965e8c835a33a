/* shape.h -- sizes, strides, broadcasting; checked arithmetic
 *
 * INVARIANT  At most DL_MAXDIM dimensions; strides count elements, not bytes.
 * MUST NOT   know tensors or memory. */
#ifndef DL_SHAPE_H
#define DL_SHAPE_H

#include "base/dtype.h"

#define DL_MAXDIM 8

/* Shape and type of a result that does not exist yet. */
typedef struct dl_meta {
  uint8_t dtype, ndim;
  int64_t size[DL_MAXDIM];
} dl_meta;

/* Product of sizes. Overflow of int64 fails as PyTorch: "Storage size calculation overflowed …". */
dl_status dl_numel(int ndim, const int64_t *size, int64_t *out);
/* Row-major strides (PyTorch: a size-0 or size-1 dim counts as 1 for its neighbours). */
void dl_strides_contig(int ndim, const int64_t *size, int64_t *stride);
bool dl_is_contig(int ndim, const int64_t *size, const int64_t *stride);
/* Some permutation of row-major, without holes? */
bool dl_is_dense(int ndim, const int64_t *size, const int64_t *stride);
/* Broadcast b onto a in place (a becomes the common shape), PyTorch's text on mismatch. */
dl_status dl_broadcast(dl_meta *a, int nb, const int64_t *bsize);
/* Wrap a negative dim; IndexError "Dimension out of range …" (0-dim counts as 1-dim). */
dl_status dl_wrap_dim(int64_t dim, int ndim, int *out);
bool dl_sizes_equal(int na, const int64_t *a, int nb, const int64_t *b);
/* "[2, 3]" into buf; returns buf. */
const char *dl_sizes_str(int n, const int64_t *size, char *buf, size_t cap);
/* Checked a*b and a+b for byte counts; false on overflow. */
bool dl_mul_ok(int64_t a, int64_t b, int64_t *out);
bool dl_add_ok(int64_t a, int64_t b, int64_t *out);

#endif
