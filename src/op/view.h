/* view.h -- shape arithmetic that views and shape composites share
 *
 * For src/op/{view,view_split,comp_shape}.c and src/grad.
 * MUST NOT  allocate. */
#ifndef DL_VIEW_H
#define DL_VIEW_H

#include "op/op.h"

/* Replace a -1 in shape[0..n) by the size that makes `numel` elements; out has n entries.
 * SOURCE ATen/InferSize.h (texts). */
dl_status dl_infer_size(const dl_arg *shape, int64_t numel, int64_t *out, int *n);
/* Strides that show t with another size without copying; false if there are none.
 * SOURCE ATen/TensorUtils.cpp: computeStride. */
bool dl_view_strides(const dl_tensor *t, int n, const int64_t *size, int64_t *stride);
/* An int or int list as (pointer, length). */
static inline const int64_t *dl_arg_ints(const dl_arg *a, int *n) {
  *n = a->tag == DL_A_INTS ? a->n : a->tag == DL_A_INT ? 1 : 0;
  return a->tag == DL_A_INTS ? a->is : &a->i;
}
/* May t be shown with this size? The error of expand. */
dl_status dl_expand_check(const dl_tensor *t, int n, const int64_t *size);
dl_status dl_dim_count(int n); /* fails when n exceeds DL_MAXDIM */

#endif
