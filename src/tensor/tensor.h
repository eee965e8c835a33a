/* tensor.h -- a tensor: storage + view + autograd slot
 *
 * For op/, graph/, grad/, bind/.
 *
 * OWNERSHIP  Reference counted. `_new`, `_alias`, `_view` return an owned reference;
 *            arguments are borrowed unless the name ends in `_take`;
 *            dl_tensor_release(NULL) is a no-op.
 * INVARIANT  data points inside st->data (or is NULL when numel is 0); `contig` is true iff
 *            size/stride are row-major contiguous; a tensor with grad_fn requires grad.
 * MUST NOT   know ops or Lua (`lua` is a number the binding keeps). */
#ifndef DL_TENSOR_H
#define DL_TENSOR_H

#include "base/shape.h"
#include "mem/mem.h"

typedef struct dl_node dl_node;

typedef struct dl_storage {
  int32_t refs;
  uint32_t version;              /* bumped by each in-place write through any view */
  dl_device dev;
  uint8_t inline_data;           /* data lives in the tensor's own block */
  uint8_t pinned : 1;
  uint8_t reached : 1, frozen : 1; /* of a parameter: some graph leads here; it wants no gradient */
  uint8_t role;                  /* dl_role: what the bytes are for, see ledger.h */
  uint8_t numberless;            /* dry run: a size without values; its bytes are never touched */
  uint16_t saves;                /* how many graph nodes keep them; sticks at 65535 */
  void *data;
  size_t nbytes;
  void (*free_fn)(void *ctx);    /* foreign memory (np.array): called instead of dl_host_free */
  void *free_ctx;
} dl_storage;

typedef struct dl_tensor dl_tensor;

/* Rarely used autograd state, made on demand (dl_tensor_extra). */
typedef struct dl_extra {
  dl_tensor *grad;               /* .grad, owned */
  dl_tensor *base;               /* differentiable view of base (owned), or NULL */
  dl_node *accum;                /* leaf's AccumulateGrad node, weak (it owns the leaf) */
  uint32_t own_version;          /* counter of a `.data` alias, see ver */
  uint32_t attr_version;         /* version at which a view's grad_fn was made */
  uint8_t retains_grad;
  uint8_t view_kind;             /* DL_VIEW_…: how the view was created (in-place rules) */
  int hooks;                     /* binding slot of tensor hooks, 0 = none */
  int post_hooks;                /* binding slot of post-accumulate hooks */
  dl_tensor *ver_owner;          /* view of a `.data` alias: the alias that counts (owned) */
} dl_extra;

enum { DL_VIEW_PLAIN, DL_VIEW_MULTI, DL_VIEW_NO_GRAD, DL_VIEW_CUSTOM, DL_VIEW_INFERENCE };

struct dl_tensor {
  int32_t refs;
  uint8_t dtype, ndim;
  uint8_t contig : 1;
  uint8_t requires_grad : 1;     /* set on leaves by the user, on results by dispatch */
  uint8_t inference : 1;
  uint8_t is_param : 1;          /* nn.Parameter: prints as one */
  uint8_t boxed : 1;             /* the binding's weak table knows this tensor */
  uint8_t wrapped : 1;           /* a Lua number in tensor's clothing (promotion priority) */
  uint8_t short_dims : 1;        /* size/stride point at dims[] below */
  uint8_t saved : 1;             /* graph/: some node keeps this very tensor for backward */
  uint8_t alloc_class;
  dl_device dev;
  uint32_t out_nr;               /* which output of grad_fn this is */
  int64_t numel;
  char *data;                    /* address of element 0 of this view */
  int64_t *size, *stride;
  dl_storage *st;
  uint32_t *ver;                 /* &st->version, or &extra->own_version for .data aliases */
  dl_node *grad_fn;              /* owned; NULL for leaves */
  dl_extra *extra;               /* owned, may be NULL */
  int64_t dims[8];               /* size[0..3], stride[0..3] when ndim <= 4 */
};

/* A fresh, uninitialised, contiguous tensor. */
dl_status dl_tensor_new(dl_device dev, dl_dtype dtype, int ndim, const int64_t *size,
                        dl_tensor **out);
dl_status dl_tensor_new_meta(dl_device dev, const dl_meta *m, dl_tensor **out);
/* A view of t's storage: stride in elements, `offset` in elements from t's element 0.
 * No autograd is attached here; version counter is shared. */
dl_status dl_tensor_view(dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                         int64_t offset, dl_tensor **out);
/* The same view again without autograd (detach). share_version=false gives `.data`. */
dl_status dl_tensor_alias(dl_tensor *t, bool share_version, dl_tensor **out);
/* Tensor over memory somebody else owns; fn(ctx) is called when the last view dies. */
dl_status dl_tensor_from_memory(void *data, size_t nbytes, dl_dtype dtype, int ndim,
                                const int64_t *size, const int64_t *stride,
                                void (*fn)(void *), void *ctx, dl_tensor **out);
/* A 0-dim tensor holding a number. */
dl_status dl_tensor_scalar_f(dl_dtype dtype, double v, dl_tensor **out);
dl_status dl_tensor_scalar_i(dl_dtype dtype, int64_t v, dl_tensor **out);

static inline dl_tensor *dl_tensor_retain(dl_tensor *t) { if (t) t->refs++; return t; }
void dl_tensor_free_(dl_tensor *t);
static inline void dl_tensor_release(dl_tensor *t) {
  if (t && --t->refs == 0) dl_tensor_free_(t);
}
static inline void dl_tensor_drop(dl_tensor **t) {
  dl_tensor *x = *t;
  *t = NULL;
  dl_tensor_release(x);
}

dl_extra *dl_tensor_extra(dl_tensor *t);   /* made on demand; NULL and dl_err set when refused */
static inline bool dl_tensor_is_leaf(const dl_tensor *t) { return t->grad_fn == NULL; }
static inline bool dl_tensor_needs_grad(const dl_tensor *t) { return t->requires_grad; }
static inline void dl_tensor_bump(dl_tensor *t) { ++*t->ver; }
/* Take over src's storage, sizes and strides (x.data = y, out= resizing, module:to). */
dl_status dl_tensor_set_data(dl_tensor *t, dl_tensor *src);
/* Do two views touch a common byte? Does one view write an element twice? */
bool dl_tensor_overlap(const dl_tensor *a, const dl_tensor *b);
bool dl_tensor_self_overlap(const dl_tensor *a);

/* The first element as a number; on a GPU this waits for it. A lost device gives 0 and leaves its
 * error in dl_err (dl_gpu_well tells): who can fail asks first. */
double dl_tensor_item_f(const dl_tensor *t);
int64_t dl_tensor_item_i(const dl_tensor *t);
/* Write the first element. */
dl_status dl_tensor_item_set(dl_tensor *t, double v);

/* "torch.FloatTensor" as errors name it. */
const char *dl_tensor_type_name(const dl_tensor *t, char buf[48]);

extern int64_t dl_tensors_live; /* for leak tests */
/* set by graph/: releases a node reference; tensor/ must not know more about nodes */
extern void (*dl_node_release_fn)(dl_node *n);
/* set by graph/: a tensor that retains its gradient dies; its node must forget it */
extern void (*dl_retained_forget_fn)(dl_tensor *t);
/* set by bind/: queues hook slots of a dying tensor */
extern void (*dl_slot_release_fn)(int slot);

#endif
