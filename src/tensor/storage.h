/* storage.h -- the block a tensor lives in; for the files of src/tensor only
 *
 * One block holds the tensor, its storage and up to 64 bytes of data. The block outlives the
 * tensor as long as other views hold the storage, and outlives the storage's bytes as long as
 * the tensor lives.
 *
 * INVARIANT  Every storage is embedded in a block; the block goes when the tensor is dead
 *            (refs == 0) AND the storage is unused (refs == 0).
 * MUST NOT   be included outside src/tensor. */
#ifndef DL_STORAGE_H
#define DL_STORAGE_H

#include <string.h>

#include "tensor/tensor.h"

enum { DL_BLOCK_VIEW, DL_BLOCK_STORAGE, DL_BLOCK_INLINE }; /* dl_tensor.alloc_class */

#define DL_INLINE_MAX 64 /* bytes of data in the tensor's own block */

typedef struct dl_block {
  dl_tensor t;
  dl_storage st;
  char data[DL_INLINE_MAX];
} dl_block;

_Static_assert(sizeof(dl_block) <= 256, "tensor, storage and small data fit one block");

/* A tensor struct with refs 1, `nbytes` of fresh storage (or none, for views), no dims. */
dl_status dl_block_tensor(int alloc_class, dl_tensor **out);

/* The same without an error text: NULL when refused. */
static inline dl_tensor *dl_block_quick(int alloc_class) {
  static const uint16_t bytes[] = {sizeof(dl_tensor), offsetof(dl_block, data), sizeof(dl_block)};
  dl_tensor *t = dl_block_new(bytes[alloc_class]);
  if (!t) return NULL;
  memset(t, 0, offsetof(dl_tensor, dims));
  t->refs = 1;
  t->alloc_class = (uint8_t)alloc_class;
  t->short_dims = 1;
  t->size = t->dims;
  t->stride = t->dims + 4;
  if (alloc_class != DL_BLOCK_VIEW) {
    t->st = &((dl_block *)t)->st;
    memset(t->st, 0, sizeof *t->st);
    t->st->refs = 1;
    t->ver = &t->st->version;
  }
  dl_tensors_live++;
  return t;
}
/* Give t's embedded storage its bytes. */
dl_status dl_storage_fill(dl_tensor *t, size_t nbytes);
void dl_storage_release(dl_storage *st);
/* Set dtype, dims, numel, contig; on failure t is unchanged. strides NULL = row-major. */
dl_status dl_tensor_shape_set(dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride);
/* Free a tensor's struct (its references are gone already). */
void dl_block_tensor_free(dl_tensor *t);

#endif
