/* view.c -- tensors that share a storage; do they overlap?
 *
 * For op/, graph/, bind/.
 *
 * INVARIANT  A view keeps its storage alive and writes no byte outside it; views and detached
 *            aliases share one version counter, `.data` aliases have their own.
 * MUST NOT   know ops or Lua. */
#include "tensor/ledger.h"
#include "tensor/storage.h"

#include <string.h>

/* PyTorch's text of setStorage, given by as_strided. */
static dl_status out_of_bounds(const dl_tensor *t, int ndim, const int64_t *size,
                               const int64_t *stride, int64_t offset, int64_t need) {
  char a[256], b[256];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %zu "
                 "requiring a storage size of %lld are out of bounds for storage of size %zu",
                 dl_sizes_str(ndim, size, a, sizeof a), dl_sizes_str(ndim, stride, b, sizeof b),
                 (long long)offset, dl_dtype_size((dl_dtype)t->dtype), (long long)need,
                 t->st->nbytes);
}

/* Elements from the first to one past the last; overflow gives false. */
static bool extent(int ndim, const int64_t *size, const int64_t *stride, int64_t *out) {
  int64_t last = 0, step;
  for (int i = 0; i < ndim; i++) {
    if (size[i] == 0) return *out = 0, true;
    if (size[i] == 1) continue;
    if (!dl_mul_ok(size[i] - 1, stride[i], &step)) return false;
    if (!dl_add_ok(last, step, &last)) return false;
  }
  return dl_add_ok(last, 1, out);
}

static int64_t offset_of(const dl_tensor *t) {
  return t->data ? (t->data - (char *)t->st->data) / (int64_t)dl_dtype_size((dl_dtype)t->dtype) : 0;
}

/* The quick answer for views of ordinary size: yes, or "look again". */
static bool surely_inside(const dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                          int64_t offset) {
  int64_t last = 0, bits = offset, esize = (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  for (int i = 0; i < ndim; i++) {
    bits |= size[i] | stride[i];
    last = (int64_t)((uint64_t)last + (uint64_t)(size[i] - 1) * (uint64_t)stride[i]);
    if (size[i] == 0) return false;
  }
  if ((bits & ~(int64_t)0xfffffff) != 0 || !t->data) return false;
  int64_t start = (t->data - (char *)t->st->data) + offset * esize;
  return start + (last + 1) * esize <= (int64_t)t->st->nbytes;
}

static dl_status check_bounds(const dl_tensor *t, int ndim, const int64_t *size,
                              const int64_t *stride, int64_t offset) {
  int64_t start = offset_of(t), n, esize = (int64_t)dl_dtype_size((dl_dtype)t->dtype), need;
  char text[256];
  for (int i = 0; i < ndim; i++)
    if (stride[i] < 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "as_strided: Negative strides are not supported at the moment, got strides: "
                     "%s", dl_sizes_str(ndim, stride, text, sizeof text));
  bool sane = dl_add_ok(start, offset, &start);
  if (sane && start < 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Tensor: invalid storage offset %lld",
                   (long long)start);
  sane = sane && extent(ndim, size, stride, &n);
  if (sane && n == 0) return DL_OK;
  sane = sane && dl_add_ok(start, n, &need) && dl_mul_ok(need, esize, &need);
  if (sane && (size_t)need <= t->st->nbytes) return DL_OK;
  return out_of_bounds(t, ndim, size, stride, start, sane ? need : INT64_MAX);
}

/* `v` counts versions with `t`: through the storage, or through the alias that owns a counter. */
static dl_status share_version(dl_tensor *v, dl_tensor *t) {
  if (t->ver == &t->st->version) {
    v->ver = t->ver;
    return DL_OK;
  }
  dl_extra *x = dl_tensor_extra(v);
  if (!x) return dl_err.kind;
  x->ver_owner = dl_tensor_retain(t->extra->ver_owner ? t->extra->ver_owner : t);
  v->ver = &x->ver_owner->extra->own_version;
  return DL_OK;
}

static dl_status own_version(dl_tensor *t, uint32_t start) {
  dl_extra *x = dl_tensor_extra(t);
  if (!x) return dl_err.kind;
  x->own_version = start;
  t->ver = &x->own_version;
  return DL_OK;
}

static void inherit(dl_tensor *v, const dl_tensor *t) {
  v->dtype = t->dtype;
  v->dev = t->dev;
  v->inference = t->inference;
  v->st = t->st;
  v->st->refs++;
}

dl_status dl_tensor_view(dl_tensor *t, int ndim, const int64_t *size, const int64_t *stride,
                         int64_t offset, dl_tensor **out) {
  dl_tensor *v;
  *out = NULL;
  if (!surely_inside(t, ndim, size, stride, offset))
    DL_TRY(check_bounds(t, ndim, size, stride, offset));
  DL_TRY(dl_block_tensor(DL_BLOCK_VIEW, &v));
  dl_status st = dl_tensor_shape_set(v, ndim, size, stride);
  inherit(v, t);
  if (st == DL_OK) st = share_version(v, t);
  if (st != DL_OK) {
    dl_tensor_release(v);
    return st;
  }
  uintptr_t bytes = (uintptr_t)offset * dl_dtype_size((dl_dtype)t->dtype);
  v->data = t->data ? (char *)((uintptr_t)t->data + bytes) : NULL; /* empty: it may be anywhere */
  *out = v;
  return DL_OK;
}

dl_status dl_tensor_alias(dl_tensor *t, bool share, dl_tensor **out) {
  dl_tensor *v;
  *out = NULL;
  DL_TRY(dl_block_tensor(DL_BLOCK_VIEW, &v));
  dl_status st = dl_tensor_shape_set(v, t->ndim, t->size, t->stride);
  inherit(v, t);
  if (st == DL_OK) st = share ? share_version(v, t) : own_version(v, 0);
  if (st != DL_OK) {
    dl_tensor_release(v);
    return st;
  }
  v->data = t->data;
  *out = v;
  return DL_OK;
}

dl_status dl_tensor_set_data(dl_tensor *t, dl_tensor *src) {
  if (t == src) return DL_OK;
  if (t->ver == &t->st->version) DL_TRY(own_version(t, *t->ver));
  DL_TRY(dl_tensor_shape_set(t, src->ndim, src->size, src->stride));
  dl_storage *old = t->st;
  if (old->role == DL_ROLE_PARAM && src->st->role == DL_ROLE_OTHER)
    dl_ledger_move(src->st, DL_ROLE_PARAM);
  if (t->is_param) src->st->frozen = !t->requires_grad;
  src->st->refs++;
  t->st = src->st;
  t->data = src->data;
  t->dtype = src->dtype;
  t->dev = src->dev;
  dl_storage_release(old);
  return DL_OK;
}

/* ---- overlap -------------------- */

/* Does the view touch each byte between its first and its last exactly once, in any order? */
static bool dense(const dl_tensor *t) {
  if (t->contig) return true;
  int perm[DL_MAXDIM], n = 0;
  for (int i = 0; i < t->ndim; i++) {
    if (t->size[i] == 1) continue;
    int j = n++;
    for (; j > 0 && t->stride[perm[j - 1]] > t->stride[i]; j--) perm[j] = perm[j - 1];
    perm[j] = i;
  }
  int64_t step = 1;
  for (int k = 0; k < n; k++) {
    if (t->stride[perm[k]] != step) return false;
    step *= t->size[perm[k]];
  }
  return true;
}

/* As PyTorch decides it: a view with gaps counts as disjoint, because telling costs too much. */
bool dl_tensor_overlap(const dl_tensor *a, const dl_tensor *b) {
  if (a == b) return true;
  if (a->st != b->st || a->numel == 0 || b->numel == 0) return false;
  if (!dense(a) || !dense(b)) return false;
  const char *a_end = a->data + a->numel * (int64_t)dl_dtype_size((dl_dtype)a->dtype);
  const char *b_end = b->data + b->numel * (int64_t)dl_dtype_size((dl_dtype)b->dtype);
  return a->data < b_end && b->data < a_end;
}

bool dl_tensor_self_overlap(const dl_tensor *a) {
  if (a->numel == 0 || a->contig) return false;
  for (int i = 0; i < a->ndim; i++)
    if (a->size[i] > 1 && a->stride[i] == 0) return true;
  return false;
}
