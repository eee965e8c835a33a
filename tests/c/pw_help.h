/* pw_help.h -- tensors from numbers and numbers from tensors, for tests/c/pw_*.c */
#ifndef PW_HELP_H
#define PW_HELP_H

#include "op/op.h"
#include "tap.h"

#include <math.h>
#include <string.h>

#define SIZE(...) ((int64_t[]){__VA_ARGS__}), (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8)
#define NUMS(...) ((double[]){__VA_ARGS__}), (int)(sizeof((double[]){__VA_ARGS__}) / 8)

/* A contiguous tensor of the given size; values repeat. Owned. */
static inline dl_tensor *make(dl_dtype d, const int64_t *size, int ndim, const double *v, int n) {
  dl_tensor *t = NULL;
  if (dl_tensor_new(DL_DEV_CPU, d, ndim, size, &t) != DL_OK) return NULL;
  for (int64_t i = 0; i < t->numel; i++)
    dl_elem_set_f64(d, t->data + i * (int64_t)dl_dtype_size(d), v[i % n]);
  return t;
}
static inline dl_tensor *vec_of(dl_dtype d, const double *v, int n) {
  return make(d, (int64_t[]){n}, 1, v, n);
}
#define VEC(d, ...) vec_of(d, NUMS(__VA_ARGS__))

/* Element i in row-major order, whatever the strides. */
static inline double at(const dl_tensor *t, int64_t i) {
  int64_t off = 0;
  for (int d = t->ndim - 1; d >= 0; d--) {
    off += i % t->size[d] * t->stride[d];
    i /= t->size[d];
  }
  return dl_elem_get_f64((dl_dtype)t->dtype,
                         t->data + off * (int64_t)dl_dtype_size((dl_dtype)t->dtype));
}

/* One op, the first n arguments given; NULL and dl_err on failure. Owned. */
static inline dl_tensor *run_op(dl_opid op, const dl_arg *arg, int n, unsigned flags) {
  dl_tensor *out = NULL;
  return dl_run(op, arg, n, flags, &out) == DL_OK ? out : NULL;
}
#define RUN(id, ...) run_op(DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), 0)
#define RUN_(id, ...) run_op(DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), DL_INPLACE)

/* The dtype and all elements of t; releases t. */
static inline void is_tensor(dl_tensor *t, dl_dtype d, const double *v, int n, double tol,
                             const char *name) {
  if (!t) {
    tap_ok(__FILE__, __LINE__, false, dl_err.message, "%s", name);
    return;
  }
  bool good = t->dtype == d && t->numel == n;
  int64_t bad = -1;
  for (int64_t i = 0; good && i < n; i++) {
    double x = at(t, i), w = v[i];
    bool same = isnan(w) ? isnan(x) : x == w || fabs(x - w) <= tol * (1 + fabs(w));
    if (!same) good = false, bad = i;
  }
  if (!tap_ok(__FILE__, __LINE__, good, "values", "%s", name)) {
    tap_diag("%s of %lld elements", dl_dtypes[t->dtype].name, (long long)t->numel);
    if (bad >= 0) tap_diag("element %lld: %.9g, wanted %.9g", (long long)bad, at(t, bad), v[bad]);
  }
  dl_tensor_release(t);
}
/* The op fails with "Class: text…" */
#define refuses(want, name, id, ...)                                                           \
  do {                                                                                         \
    dl_tensor *t_ = NULL;                                                                      \
    is_status(dl_run(DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), 0, &t_), want, \
              "%s", name);                                                                     \
    dl_tensor_release(t_);                                                                     \
  } while (0)

#endif
