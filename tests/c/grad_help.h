/* grad_help.h -- short ways to make tensors and run ops, for tests/c/grad_*.c */
#ifndef GRAD_HELP_H
#define GRAD_HELP_H

#include "grad/grad.h"
#include "tap.h"

/* A float32 vector; `leaf` says whether it requires grad. */
static inline dl_tensor *vec(int n, const float *v, bool leaf) {
  dl_tensor *t = NULL;
  int64_t size[1] = {n};
  if (dl_tensor_new(DL_DEV_CPU, DL_F32, 1, size, &t) != DL_OK) return NULL;
  for (int i = 0; i < n; i++) ((float *)t->data)[i] = v[i];
  t->requires_grad = leaf;
  return t;
}
#define VEC(leaf, ...) \
  vec((int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), (float[]){__VA_ARGS__}, leaf)

/* One op with the first n arguments; NULL and dl_err on failure. Owned. */
static inline dl_tensor *run(dl_opid op, const dl_arg *arg, int n, unsigned flags) {
  dl_tensor *out = NULL;
  return dl_run(op, arg, n, flags, &out) == DL_OK ? out : NULL;
}
#define RUN(id, ...) run(DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), 0)
#define RUN_(id, ...) run(DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), DL_INPLACE)

static inline dl_status backward(dl_tensor *y, bool retain) {
  return dl_backward(&y, NULL, 1, NULL, 0, (dl_backward_opts){.retain_graph = retain}, NULL);
}

/* torch.autograd.grad(y, x); owned, NULL and dl_err on failure. */
static inline dl_tensor *grad_of(dl_tensor *y, dl_tensor *x, bool create) {
  dl_tensor *g = NULL;
  dl_backward_opts o = {.retain_graph = create, .create_graph = create};
  return dl_backward(&y, NULL, 1, &x, 1, o, &g) == DL_OK ? g : NULL;
}

static inline dl_tensor *grad(dl_tensor *x) { return x->extra ? x->extra->grad : NULL; }

static inline double at(const dl_tensor *t, int64_t i) {
  return t && t->contig && i < t->numel
             ? dl_elem_get_f64((dl_dtype)t->dtype,
                               t->data + i * (int64_t)dl_dtype_size((dl_dtype)t->dtype))
             : 1e99;
}

static inline const char *name_of(dl_tensor *t) {
  dl_node *n = NULL;
  if (!t || dl_tensor_grad_fn(t, &n) != DL_OK) return dl_err.message;
  return n ? dl_node_name(n) : "none";
}

static inline void drop(dl_tensor *t) { dl_tensor_release(t); }

#endif
