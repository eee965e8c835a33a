/* comp_pad.c -- F.pad: constant by a kernel, the other modes by picking rows along each dim
 *
 * For dispatch (COMPOSITE row pad).
 * SOURCE     ATen/native/PadNd.cpp, ReflectionPad.cpp, ReplicationPadding.cpp (texts). */
#include "op/view.h"

#include <string.h>

typedef struct mode {
  const char *name;
  int64_t (*source)(int64_t i,
                    int64_t n); /* where place i (may lie outside [0, n)) takes its value */
} mode;

static int64_t reflect(int64_t i, int64_t n) { return i < 0 ? -i : i >= n ? 2 * n - 2 - i : i; }
static int64_t replicate(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
static int64_t circular(int64_t i, int64_t n) { return i < 0 ? i + n : i >= n ? i - n : i; }

static const mode modes[] = {{"reflect", reflect},
                             {"replicate", replicate},
                             {"circular", circular}};

static const mode *find_mode(const char *name) {
  for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
    if (!strcmp(modes[k].name, name)) return &modes[k];
  return NULL;
}

static dl_status bad_rank(int n, int ndim) {
  return dl_fail(DL_NotImplementedError, DL_E_SHAPE,
                 "Padding size %d is not supported for %dD input tensor.\nSupported combinations "
                 "for non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last "
                 "dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n  - "
                 "4D or 5D input: padding size = 6 (pads last 3 dimensions)", n, ndim);
}

/* pad = {before, after} of dim d, the k-th from the end. */
static dl_status check_dim(const mode *m, const dl_tensor *x, int d, const int64_t *pad, int k) {
  char s[160];
  int64_t n = x->size[d];
  dl_sizes_str(x->ndim, x->size, s, sizeof s);
  if (m->source == circular && (pad[0] > n || pad[1] > n))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Padding value causes wrapping around more than once.");
  if (m->source == reflect && (pad[0] >= n || pad[1] >= n))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "Argument #%d: Padding size should be less than the corresponding input "
                   "dimension, but got: padding (%lld, %lld) at dimension %d of input %s",
                   4 + 2 * k, (long long)pad[0], (long long)pad[1], d, s);
  int64_t all;
  bool fits = dl_add_ok(n, pad[0], &all) && dl_add_ok(all, pad[1], &all);
  if (!fits || all < (m->source == circular ? 0 : 1) || n == 0)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "padding (%lld, %lld) leaves nothing of dimension %d of input %s",
                   (long long)pad[0], (long long)pad[1], d, s);
  return DL_OK;
}

static int64_t positive(int64_t i) { return i > 0 ? i : 0; }

static dl_tensor *pad_dim(dl_ex *e, const mode *m, dl_tensor *x, int d, const int64_t *given) {
  int64_t pad[2] = {given[0], given[1]};
  if (m->source == circular &&
      (pad[0] < 0 || pad[1] < 0)) { /* cropped first, then wrapped around */
    x = EX(e, slice, T(x), I(d), I(positive(-pad[0])), I(x->size[d] - positive(-pad[1])));
    pad[0] = positive(pad[0]);
    pad[1] = positive(pad[1]);
    if (!x) return NULL;
  }
  int64_t n = x->size[d] + pad[0] + pad[1];
  dl_tensor *index;
  dl_status st = dl_tensor_new(DL_DEV_CPU, DL_I64, 1, &n, &index);
  if (st != DL_OK) {
    e->st = st;
    return NULL;
  }
  for (int64_t i = 0; i < n; i++) ((int64_t *)index->data)[i] = m->source(i - pad[0], x->size[d]);
  index = dl_ex_keep_take(e, index);
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = x->dev};
  if (x->dev.type != DL_CPU) index = EX(e, _to_copy, T(index), NIL, dev);
  return EX(e, index_select, T(x), I(d), T(index));
}

dl_status dl_comp_pad(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  dl_tensor *x = arg[0].t;
  int n;
  const int64_t *pad = dl_arg_ints(&arg[1], &n);
  const char *name = arg[2].s;
  if (n % 2)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Padding length must be divisible by 2");
  if (n / 2 > x->ndim)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Padding length should be less than or equal to two times the input dimension "
                   "but got padding length %d and input of dimension %d",
                   n, x->ndim);
  if (!strcmp(name, "constant"))
    return dl_ex_return(e, EX(e, constant_pad, T(x), arg[1], dl_arg_given(&arg[3]) ? arg[3] : F(0)),
                        out);
  if (dl_arg_given(&arg[3]) && arg[3].f != 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Padding mode \"%s\" doesn't take in value argument", name);
  const mode *m = find_mode(name);
  bool rank = n >= 2 && n <= 6 && (x->ndim == n / 2 + 1 || x->ndim == n / 2 + 2);
  if (!rank) return bad_rank(n, x->ndim);
  if (!m)
    return dl_fail(DL_NotImplementedError, DL_E_ARGUMENT, "Unrecognised padding mode %s", name);
  for (int k = 0; k < n / 2; k++) DL_TRY(check_dim(m, x, x->ndim - 1 - k, pad + 2 * k, k));
  for (int k = 0; k < n / 2 && x; k++) x = pad_dim(e, m, x, x->ndim - 1 - k, pad + 2 * k);
  return dl_ex_return(e, x, out);
}
