/* embedding.c -- kernels of embedding: rows picked by number, and the gradient added back
 *
 * MUST NOT know tensors. */
#include "kernel.h"

#include <string.h>

static int64_t index_at(const dl_view *v, int64_t i) {
  return v->dtype == DL_I64 ? ((const int64_t *)v->data)[i] : ((const int32_t *)v->data)[i];
}

static dl_status check(const dl_view *dense, int64_t rows) {
  for (int64_t i = 0; i < dense->numel; i++) {
    int64_t k = index_at(dense, i);
    if (k >= 0 && k < rows) continue;
    dl_fail(DL_IndexError, DL_E_INDEX, "index out of range in self");
    dl_note("index %lld; the table has %lld rows, 0 to %lld", (long long)k, (long long)rows,
            (long long)rows - 1);
    return DL_E_INDEX;
  }
  return DL_OK;
}

typedef struct pick { const dl_view *w, *index; char *out; int64_t cols, size; } pick;

static void pick_run(void *ctx, int64_t lo, int64_t hi) {
  const pick *j = ctx;
  int64_t row = j->w->stride[0] * j->size, col = j->w->stride[1] * j->size,
          bytes = j->cols * j->size;
  for (int64_t i = lo; i < hi; i++) {
    const char *from = j->w->data + index_at(j->index, i) * row;
    char *to = j->out + i * bytes;
    if (col == j->size || j->cols == 1) memcpy(to, from, (size_t)bytes);
    else
      for (int64_t k = 0; k < j->cols; k++)
        memcpy(to + k * j->size, from + k * col, (size_t)j->size);
  }
}

/* arg: weight (rows, cols), indices, padding_idx */
DL_KERNEL(_embedding) {
  const dl_view *w = &c->in[0];
  dl_view dense = c->in[1];
  int64_t stride[DL_MAXDIM];
  size_t nbytes = (size_t)(dense.numel + 1) * dl_dtype_size((dl_dtype)dense.dtype);
  void *mem;
  DL_TRY(dl_scratch(nbytes, &mem));
  dl_strides_contig(dense.ndim, dense.size, stride);
  dense.data = mem, dense.stride = stride;
  dl_copy_view(&dense, &c->in[1]);
  pick j = {w, &dense, c->out[0].data, w->size[1], (int64_t)dl_dtype_size((dl_dtype)w->dtype)};
  dl_status st = check(&dense, w->size[0]);
  if (st == DL_OK) st = dl_parallel(dense.numel, 16384 / (j.cols + 1) + 1, pick_run, &j);
  dl_scratch_free(mem, nbytes);
  return st;
}

#define ADD_ROWS(R)                                                                          \
  for (int64_t i = 0; i < index->numel; i++) {                                               \
    int64_t k = index_at(index, i);                                                          \
    if (k == skip) continue;                                                                 \
    R *to = (R *)out->data + k * cols;                                                       \
    const R *from = (const R *)g->data + i * cols;                                           \
    for (int64_t q = 0; q < cols; q++) to[q] += from[q];                                     \
  }

/* arg: grad (…, cols), indices, num_weights, padding_idx */
DL_KERNEL(embedding_backward) {
  const dl_view *g = &c->in[0], *index = &c->in[1], *out = &c->out[0];
  int64_t skip = dl_arg_i(&c->arg[3]), cols = out->size[1];
  DL_TRY(check(index, out->size[0]));
  memset(out->data, 0, (size_t)out->numel * dl_dtype_size((dl_dtype)out->dtype));
  if (out->dtype == DL_F64) { ADD_ROWS(double) }
  else { ADD_ROWS(float) }
  return DL_OK;
}
