/* shape.c -- sizes, strides, broadcasting; checked arithmetic
 *
 * For everyone.
 *
 * INVARIANT  No arithmetic on sizes overflows silently.
 * MUST NOT   know tensors or memory. */
#include "base/shape.h"

#include <stdio.h>

bool dl_mul_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool dl_add_ok(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

static dl_status negative_size(int ndim, const int64_t *size, int64_t bad) {
  char text[256];
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "Trying to create tensor with negative dimension %lld: %s",
                 (long long)bad, dl_sizes_str(ndim, size, text, sizeof text));
}

dl_status dl_numel(int ndim, const int64_t *size, int64_t *out) {
  int64_t n = 1;
  bool fits = true, empty = false;
  for (int i = 0; i < ndim; i++) {
    if (size[i] < 0) return negative_size(ndim, size, size[i]);
    if (size[i] == 0) empty = true;
    else fits = !__builtin_mul_overflow(n, size[i], &n) && fits;
  }
  if (empty) n = 0;
  else if (!fits) {
    char text[256];
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "Storage size calculation overflowed with sizes=%s",
                   dl_sizes_str(ndim, size, text, sizeof text));
  }
  *out = n;
  return DL_OK;
}

void dl_strides_contig(int ndim, const int64_t *size, int64_t *stride) {
  int64_t step = 1;
  for (int i = ndim - 1; i >= 0; i--) {
    stride[i] = step;
    /* sizes around a 0 may be huge, so their product must not trap */
    if (size[i] > 1) step = (int64_t)((uint64_t)step * (uint64_t)size[i]);
  }
}

bool dl_is_contig(int ndim, const int64_t *size, const int64_t *stride) {
  int64_t step = 1;
  bool good = true;
  for (int i = ndim - 1; i >= 0; i--) {
    if (size[i] == 0) return true;
    if (size[i] == 1) continue;
    good = good && stride[i] == step;
    step = (int64_t)((uint64_t)step * (uint64_t)size[i]);
  }
  return good;
}

bool dl_is_dense(int ndim, const int64_t *size, const int64_t *stride) {
  int64_t want = 1;
  uint32_t seen = 0;
  for (int n = 0; n < ndim; n++) {
    int best = -1;
    for (int d = ndim - 1; d >= 0; d--)
      if (!(seen & (1u << d)) && (best < 0 || stride[d] < stride[best])) best = d;
    seen |= 1u << best;
    if (size[best] != 1 && stride[best] != want) return false;
    want *= size[best];
  }
  return true;
}

dl_status dl_broadcast(dl_meta *a, int nb, const int64_t *bsize) {
  int n = a->ndim > nb ? a->ndim : nb;
  int64_t out[DL_MAXDIM];
  for (int i = n - 1; i >= 0; i--) {
    int ia = i - (n - a->ndim), ib = i - (n - nb);
    int64_t sa = ia >= 0 ? a->size[ia] : 1, sb = ib >= 0 ? bsize[ib] : 1;
    if (sa != sb && sa != 1 && sb != 1)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "The size of tensor a (%lld) must match the size of tensor b (%lld) at "
                     "non-singleton dimension %d", (long long)sa, (long long)sb, i);
    out[i] = sa == 1 ? sb : sa;
  }
  a->ndim = (uint8_t)n;
  for (int i = 0; i < n; i++) a->size[i] = out[i];
  return DL_OK;
}

dl_status dl_wrap_dim(int64_t dim, int ndim, int *out) {
  int n = ndim > 0 ? ndim : 1;
  if (dim < -n || dim >= n)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "Dimension out of range (expected to be in range of [%d, %d], but got %lld)",
                   -n, n - 1, (long long)dim);
  *out = (int)(dim < 0 ? dim + n : dim);
  return DL_OK;
}

bool dl_sizes_equal(int na, const int64_t *a, int nb, const int64_t *b) {
  if (na != nb) return false;
  for (int i = 0; i < na; i++)
    if (a[i] != b[i]) return false;
  return true;
}

const char *dl_sizes_str(int n, const int64_t *size, char *buf, size_t cap) {
  size_t len = 0;
  if (cap == 0) return "";
  buf[0] = '\0';
  for (int i = 0; i <= n && len < cap; i++) {
    int k = i < n ? snprintf(buf + len, cap - len, "%s%lld", i ? ", " : "[", (long long)size[i])
                  : snprintf(buf + len, cap - len, n ? "]" : "[]");
    if (k < 0) break;
    len += (size_t)k;
  }
  return buf;
}
