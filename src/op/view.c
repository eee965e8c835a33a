/* view.c -- views of one result: size, stride and offset of each
 *
 * For dispatch (VIEW rows).
 * SOURCE     ATen/native/TensorShape.cpp (texts and order of checks).
 * MUST NOT   allocate or touch data. */
#include "op/view.h"

#include <string.h>

#define TEXT 160 /* bytes of "[2, 3]" */

static const char *sizes_text(const dl_tensor *t, char *buf) {
  return dl_sizes_str(t->ndim, t->size, buf, TEXT);
}

static void same(const dl_tensor *t, dl_vout *o) {
  o->ndim = t->ndim;
  o->offset = 0;
  memcpy(o->size, t->size, (size_t)t->ndim * sizeof *o->size);
  memcpy(o->stride, t->stride, (size_t)t->ndim * sizeof *o->stride);
}

static void drop_dim(dl_vout *o, int d) {
  size_t n = (size_t)(--o->ndim - d) * sizeof *o->size;
  memmove(o->size + d, o->size + d + 1, n);
  memmove(o->stride + d, o->stride + d + 1, n);
}

dl_status dl_dim_count(int n) {
  if (n <= DL_MAXDIM) return DL_OK;
  dl_fail(DL_RuntimeError, DL_E_UNSUPPORTED, "tensors have at most %d dimensions, but got %d",
          DL_MAXDIM, n);
  dl_note("PyTorch allows 64; merge some dimensions");
  return DL_E_UNSUPPORTED;
}

/* ---- view ------------------------------------------------------------------------ */
static dl_status bad_shape(int n, const int64_t *shape, int64_t numel) {
  char s[TEXT];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE, "shape '%s' is invalid for input of size %lld",
                 dl_sizes_str(n, shape, s, sizeof s), (long long)numel);
}

static dl_status infer(int n, const int64_t *shape, int free, int64_t known, int64_t numel,
                       int64_t *out) {
  char s[TEXT];
  if (known == 0 && numel == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "cannot reshape tensor of 0 elements into shape %s because the unspecified "
                   "dimension size -1 can be any value and is ambiguous",
                   dl_sizes_str(n, shape, s, sizeof s));
  if (known == 0 || numel % known) return bad_shape(n, shape, numel);
  out[free] = numel / known;
  return DL_OK;
}

dl_status dl_infer_size(const dl_arg *arg, int64_t numel, int64_t *out, int *count) {
  int n, free = -1;
  const int64_t *shape = dl_arg_ints(arg, &n);
  int64_t known = 1;
  char s[TEXT];
  DL_TRY(dl_dim_count(n));
  for (int d = 0; d < n; d++) {
    out[d] = shape[d];
    if (shape[d] == -1 && free >= 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "only one dimension can be inferred");
    if (shape[d] == -1) free = d;
    else if (shape[d] < 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "invalid shape dimension %lld at index %d of shape %s", (long long)shape[d], d,
                     dl_sizes_str(n, shape, s, sizeof s));
    else if (!dl_mul_ok(known, shape[d], &known)) return bad_shape(n, shape, numel);
  }
  *count = n;
  if (free >= 0) return infer(n, shape, free, known, numel, out);
  return known == numel ? DL_OK : bad_shape(n, shape, numel);
}

bool dl_view_strides(const dl_tensor *t, int n, const int64_t *size, int64_t *stride) {
  int v = n - 1;
  if (t->numel == 0 && dl_sizes_equal(t->ndim, t->size, n, size)) {
    memcpy(stride, t->stride, (size_t)n * sizeof *stride);
    return true;
  }
  if (t->numel == 0 || t->ndim == 0) {
    dl_strides_contig(n, size, stride);
    return true;
  }
  int64_t base = t->stride[t->ndim - 1], have = 1, made = 1;
  for (int d = t->ndim - 1; d >= 0; d--) {
    have *= t->size[d];
    bool seam = d == 0 || (t->size[d - 1] != 1 && t->stride[d - 1] != have * base);
    if (!seam) continue;
    for (; v >= 0 && (made < have || size[v] == 1); v--) {
      stride[v] = made * base;
      made *= size[v];
    }
    if (made != have) return false;
    if (d > 0) {
      base = t->stride[d - 1];
      have = made = 1;
    }
  }
  return v == -1;
}

static dl_status incompatible(void) {
  dl_fail(DL_RuntimeError, DL_E_SHAPE,
          "view size is not compatible with input tensor's size and stride (at least one "
          "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  dl_note("x:reshape(…) copies when it must; x:contiguous():view(…) always works");
  return DL_E_SHAPE;
}

dl_status dl_view_view(dl_vcall *v) {
  dl_vout o = {.offset = 0};
  DL_TRY(dl_infer_size(&v->arg[1], v->self->numel, o.size, &o.ndim));
  if (!dl_view_strides(v->self, o.ndim, o.size, o.stride)) return incompatible();
  return dl_vcall_push(v, &o);
}

dl_status dl_view__unsafe_view(dl_vcall *v) { return dl_view_view(v); }

/* ---- order of dimensions --------------------------------------------------------- */
dl_status dl_view_permute(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int n;
  const int64_t *dims = dl_arg_ints(&v->arg[1], &n);
  dl_vout o = {.ndim = t->ndim};
  uint32_t seen = 0;
  if (n != t->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "permute(sparse_coo): number of dimensions in the tensor input does not match "
                   "the length of the desired ordering of dimensions i.e. input.dim() = %d is not "
                   "equal to len(dims) = %d",
                   t->ndim, n);
  for (int k = 0; k < n; k++) {
    int d;
    DL_TRY(dl_wrap_dim(dims[k], n, &d));
    if (seen & (1u << d))
      return dl_fail(DL_RuntimeError, DL_E_SHAPE, "permute(): duplicate dims are not allowed.");
    seen |= 1u << d;
    o.size[k] = t->size[d];
    o.stride[k] = t->stride[d];
  }
  return dl_vcall_push(v, &o);
}

static dl_status push_swapped(dl_vcall *v, int a, int b) {
  dl_vout o;
  same(v->self, &o);
  if (v->self->ndim) {
    o.size[a] = v->self->size[b];
    o.size[b] = v->self->size[a];
    o.stride[a] = v->self->stride[b];
    o.stride[b] = v->self->stride[a];
  }
  return dl_vcall_push(v, &o);
}

dl_status dl_view_transpose(dl_vcall *v) {
  int a, b;
  DL_TRY(dl_wrap_dim(v->arg[1].i, v->self->ndim, &a));
  DL_TRY(dl_wrap_dim(v->arg[2].i, v->self->ndim, &b));
  return push_swapped(v, a, b);
}

dl_status dl_view_t(dl_vcall *v) {
  int n = v->self->ndim;
  if (n > 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "t() expects a tensor with <= 2 dimensions, but self is %dD", n);
  return push_swapped(v, 0, n == 2 ? 1 : 0);
}

/* ---- expand ---------------------------------------------------------------------- */
static dl_status expand_dim(const dl_tensor *t, int n, const int64_t *want, int d, dl_vout *o) {
  int old = d - (n - t->ndim);
  int64_t have = old >= 0 ? t->size[old] : 1, target = want[d];
  if (target == -1 && old < 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                   "dimension %d",
                   d);
  if (target == -1) target = have;
  if (have != target && have != 1) {
    char a[TEXT], b[TEXT];
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "The expanded size of the tensor (%lld) must match the existing size (%lld) at "
                   "non-singleton dimension %d.  Target sizes: %s.  Tensor sizes: %s",
                   (long long)target, (long long)have, d, dl_sizes_str(n, want, a, sizeof a),
                   sizes_text(t, b));
  }
  if (target < 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Trying to create tensor with negative dimension %lld: %s", (long long)target,
                   dl_sizes_str(n, want, (char[TEXT]){0}, TEXT));
  o->size[d] = target;
  o->stride[d] = old >= 0 && have == target ? t->stride[old] : 0;
  return DL_OK;
}

dl_status dl_expand_check(const dl_tensor *t, int n, const int64_t *size) {
  dl_vout o;
  for (int d = n - 1; d >= 0 && n >= t->ndim; d--) DL_TRY(expand_dim(t, n, size, d, &o));
  return DL_OK;
}

dl_status dl_view_expand(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int n;
  const int64_t *want = dl_arg_ints(&v->arg[1], &n);
  char type[48], a[TEXT], b[TEXT];
  DL_TRY(dl_dim_count(n));
  if (n < t->ndim)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "expand(%s{%s}, size=%s): the number of sizes provided (%d) must be greater or "
                   "equal to the number of dimensions in the tensor (%d)",
                   dl_tensor_type_name(t, type), sizes_text(t, a),
                   dl_sizes_str(n, want, b, sizeof b), n, t->ndim);
  dl_vout o = {.ndim = n};
  for (int d = 0; d < n; d++) DL_TRY(expand_dim(t, n, want, d, &o));
  for (int d = n - t->ndim - 1; d >= 0 && t->ndim; d--) /* as PyTorch reports strides of new dims */
    o.stride[d] = o.size[d] == 1 ? o.size[d + 1] * o.stride[d + 1] : 0;
  int64_t numel;
  DL_TRY(dl_numel(n, o.size, &numel));
  return dl_vcall_push(v, &o);
}

/* ---- dimensions of size 1 -------------------------------------------------------- */
static dl_status push_squeezed(dl_vcall *v, uint32_t mask) {
  dl_vout o;
  same(v->self, &o);
  for (int d = v->self->ndim - 1; d >= 0; d--)
    if ((mask & (1u << d)) && v->self->size[d] == 1) drop_dim(&o, d);
  return dl_vcall_push(v, &o);
}

dl_status dl_view_squeeze(dl_vcall *v) { return push_squeezed(v, ~0u); }

dl_status dl_view_squeeze_dim(dl_vcall *v) {
  uint32_t mask = 0;
  if (v->arg[1].tag != DL_A_INTS || v->arg[1].n)
    DL_TRY(dl_dims_mask(&v->arg[1], v->self->ndim, &mask));
  return push_squeezed(v, mask);
}

dl_status dl_view_unsqueeze(dl_vcall *v) {
  const dl_tensor *t = v->self;
  dl_vout o;
  int d;
  DL_TRY(dl_wrap_dim(v->arg[1].i, t->ndim + 1, &d));
  DL_TRY(dl_dim_count(t->ndim + 1));
  same(t, &o);
  size_t n = (size_t)(o.ndim++ - d) * sizeof *o.size;
  memmove(o.size + d + 1, o.size + d, n);
  memmove(o.stride + d + 1, o.stride + d, n);
  o.size[d] = 1;
  o.stride[d] = d < t->ndim ? t->size[d] * t->stride[d] : 1;
  return dl_vcall_push(v, &o);
}

/* ---- parts ----------------------------------------------------------------------- */
dl_status dl_view_select(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int64_t i = v->arg[2].i;
  int d;
  char s[TEXT];
  if (t->ndim == 0)
    return dl_fail(DL_IndexError, DL_E_INDEX, "select() cannot be applied to a 0-dim tensor.");
  DL_TRY(dl_wrap_dim(v->arg[1].i, t->ndim, &d));
  if (i < -t->size[d] || i >= t->size[d])
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "select(): index %lld out of range for tensor of size %s at dimension %d",
                   (long long)i, sizes_text(t, s), d);
  dl_vout o;
  same(t, &o);
  o.offset = (i < 0 ? i + t->size[d] : i) * t->stride[d];
  drop_dim(&o, d);
  return dl_vcall_push(v, &o);
}

static int64_t clamp(int64_t i, int64_t lo, int64_t hi) { return i < lo ? lo : i > hi ? hi : i; }

dl_status dl_view_slice(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int d;
  if (t->ndim == 0)
    return dl_fail(DL_IndexError, DL_E_INDEX, "slice() cannot be applied to a 0-dim tensor.");
  DL_TRY(dl_wrap_dim(v->arg[1].i, t->ndim, &d));
  int64_t n = t->size[d], step = v->arg[4].i;
  if (step <= 0) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "slice step must be positive");
  int64_t start = dl_arg_given(&v->arg[2]) ? v->arg[2].i : 0;
  int64_t end = dl_arg_given(&v->arg[3]) ? v->arg[3].i : n;
  start = clamp(start < 0 ? start + n : start, 0, n);
  end = clamp(end < 0 ? end + n : end, start, n);
  dl_vout o;
  same(t, &o);
  o.offset = start * t->stride[d];
  o.size[d] = (end - start) / step + ((end - start) % step != 0);
  if (!dl_mul_ok(t->stride[d], step, &o.stride[d])) o.stride[d] = t->stride[d];
  return dl_vcall_push(v, &o);
}

dl_status dl_view_diagonal(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int64_t off = v->arg[1].i;
  int a, b;
  DL_TRY(dl_wrap_dim(v->arg[2].i, t->ndim, &a));
  DL_TRY(dl_wrap_dim(v->arg[3].i, t->ndim, &b));
  if (a == b)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "diagonal dimensions cannot be identical %lld, %lld", (long long)v->arg[2].i,
                   (long long)v->arg[3].i);
  int64_t rows = t->size[a], cols = t->size[b];
  off = clamp(off, -rows, cols);
  rows = off >= 0 ? rows : rows + off;
  cols = off >= 0 ? cols - off : cols;
  int64_t len = rows < cols ? rows : cols;
  dl_vout o;
  same(t, &o);
  if (len > 0) o.offset = off >= 0 ? off * t->stride[b] : -off * t->stride[a];
  drop_dim(&o, a > b ? a : b);
  drop_dim(&o, a > b ? b : a);
  o.size[o.ndim] = len > 0 ? len : 0;
  o.stride[o.ndim++] = t->stride[a] + t->stride[b];
  return dl_vcall_push(v, &o);
}

dl_status dl_view_unfold(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int64_t size = v->arg[2].i, step = v->arg[3].i;
  int d;
  DL_TRY(dl_wrap_dim(v->arg[1].i, t->ndim, &d));
  DL_TRY(dl_dim_count(t->ndim + 1));
  int64_t most = t->ndim ? t->size[d] : 1;
  if (size < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "size is %lld but must be >= 0",
                   (long long)size);
  if (size > most)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "maximum size for tensor at dimension %d is %lld but size is %lld", d,
                   (long long)most, (long long)size);
  if (step <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "step is %lld but must be > 0", (long long)step);
  dl_vout o;
  same(t, &o);
  if (t->ndim) {
    o.size[d] = (t->size[d] - size) / step + 1;
    if (!dl_mul_ok(t->stride[d], step, &o.stride[d])) o.stride[d] = t->stride[d];
  }
  o.size[o.ndim] = size;
  o.stride[o.ndim++] = t->ndim ? t->stride[d] : 1;
  return dl_vcall_push(v, &o);
}

/* ---- as_strided ------------------------------------------------------------------ */
static dl_status strides_fit(const dl_tensor *t, const dl_vout *o, int64_t offset) {
  char a[TEXT], b[TEXT];
  int64_t last = 0, bytes, item = (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  bool empty = false, ok = true;
  dl_sizes_str(o->ndim, o->size, a, sizeof a);
  dl_sizes_str(o->ndim, o->stride, b, sizeof b);
  for (int d = 0; d < o->ndim; d++) {
    int64_t reach;
    if (o->stride[d] < 0)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "as_strided: Negative strides are not supported at the moment, got strides: "
                     "%s",
                     b);
    empty = empty || o->size[d] == 0;
    ok = ok && o->size[d] >= 0 && dl_mul_ok(o->size[d] - 1, o->stride[d], &reach) &&
         dl_add_ok(last, reach, &last);
  }
  if (offset < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Tensor: invalid storage offset %lld",
                   (long long)offset);
  if (empty && ok) return DL_OK;
  ok = ok && dl_add_ok(last, offset, &last) && dl_add_ok(last, 1, &last) &&
       dl_mul_ok(last, item, &bytes);
  if (!ok)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Storage size calculation overflowed with sizes=%s and strides=%s", a, b);
  if ((size_t)bytes <= t->st->nbytes) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "setStorage: sizes %s, strides %s, storage offset %lld, and itemsize %lld "
                 "requiring a storage size of %lld are out of bounds for storage of size %zu",
                 a, b, (long long)offset, (long long)item, (long long)bytes, t->st->nbytes);
}

static int64_t storage_offset(const dl_tensor *t) {
  if (!t->data || !t->st->data) return 0;
  return (t->data - (char *)t->st->data) / (int64_t)dl_dtype_size((dl_dtype)t->dtype);
}

dl_status dl_view_as_strided(dl_vcall *v) {
  const dl_tensor *t = v->self;
  int n, m;
  const int64_t *size = dl_arg_ints(&v->arg[1], &n), *stride = dl_arg_ints(&v->arg[2], &m);
  if (n != m)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "mismatch in length of strides and shape");
  DL_TRY(dl_dim_count(n));
  int64_t own = storage_offset(t), offset = dl_arg_given(&v->arg[3]) ? v->arg[3].i : own;
  dl_vout o = {.ndim = n};
  memcpy(o.size, size, (size_t)n * sizeof *size);
  memcpy(o.stride, stride, (size_t)n * sizeof *stride);
  DL_TRY(strides_fit(t, &o, offset));
  o.offset = offset - own;
  return dl_vcall_push(v, &o);
}

/* ---- the same again -------------------------------------------------------------- */
dl_status dl_view_alias(dl_vcall *v) {
  dl_vout o;
  same(v->self, &o);
  return dl_vcall_push(v, &o);
}

dl_status dl_view_detach(dl_vcall *v) { return dl_view_alias(v); }
