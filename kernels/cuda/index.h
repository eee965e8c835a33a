/* index.h -- moving or adding blocks to and from places that index tensors name
 *
 * For index.cu and embedding.cu. The index tensors of a call are broadcast together to one shape of
 * places; each place names an offset in the indexed tensor (the "far" side). The other dims of the
 * far side are split in those before the indexed ones ("outer") and those after ("block"). The near
 * side (result or values) is laid out outer x places x block.
 *
 * INVARIANT  An index out of bounds is noted as `fault` and touches no memory out of bounds.
 * MUST NOT   know ops. */
#ifndef DL_CUDA_INDEX_H
#define DL_CUDA_INDEX_H

#include "block.h"

typedef struct dl_cu_dims {
  int n;
  int64_t size[DL_MAXDIM], near[DL_MAXDIM], far[DL_MAXDIM]; /* strides in elements */
} dl_cu_dims;

typedef struct dl_cu_index {
  uint8_t dtype;                 /* of both sides */
  int n;                         /* index tensors, int64 or int32 */
  const char *index[DL_MAXDIM];
  bool is_i32[DL_MAXDIM];
  int64_t step[DL_MAXDIM][DL_MAXDIM];         /* strides of each over the dims of the places */
  int64_t length[DL_MAXDIM], far[DL_MAXDIM];  /* size and stride of the dim that each indexes */
  dl_cu_dims outer, places, block;            /* places.far is not used */
  char *near_data, *far_data;
  bool wraps;                    /* -1 is the last element */
  int fault;
  double alpha;                  /* for dl_cu_index_add */
} dl_cu_index;

/* near <- far */
dl_status dl_cu_index_pick(const dl_cu_index *x, void *stream);
/* far <- near; where a place is named twice either may win */
dl_status dl_cu_index_put(const dl_cu_index *x, void *stream);
/* far += alpha * near; repeated places are added in the order of the indices */
dl_status dl_cu_index_add(const dl_cu_index *x, void *stream);

/* in[k], a number or a 0-dim tensor, as one element of `dtype` on the device. */
dl_status dl_cu_element(const dl_kcall *c, int k, uint8_t dtype, void *stream, char **out);

/* The coordinates of v's elements that are not zero: that of dim d of the k-th goes to
 * out[k * row + d * col], k < rows. */
dl_status dl_cu_list_nonzero(const dl_view *v, int64_t *out, int64_t rows, int64_t row, int64_t col,
                             void *stream);
/* How many they are; waits for the device. */
dl_status dl_cu_count_nonzero(const dl_view *v, void *stream, int64_t *count);

#endif
