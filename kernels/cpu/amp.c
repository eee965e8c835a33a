/* amp.c -- what the gradient scaler asks of a device: unscale and check in one pass, adapt
 * the scale
 *
 * INVARIANT  A gradient is read once and written once; the answer stays on the device.
 * SOURCE     ATen/native/cuda/AmpKernels.cu: the value is tested before it is multiplied, a factor
 *            of exactly 1 leaves it alone, a scale grows only while it stays finite.
 * MUST NOT   know tensors. */
#include "kernel.h"

#include <math.h>

#define GRAIN 65536 /* elements: below, one thread */

typedef struct pass { char *data; float inv; int bad; } pass;

#define REAL(name, V, C, UP, DOWN)                                                           \
  static void unscale_##name(void *ctx, int64_t lo, int64_t hi) {                            \
    pass *p = ctx;                                                                           \
    V *g = (V *)p->data;                                                                     \
    const C inv = p->inv;                                                                    \
    int bad = 0;                                                                             \
    for (int64_t i = lo; i < hi; i++) {                                                      \
      C v = UP(g[i]);                                                                        \
      bad |= !(v - v == 0); /* inf and nan */                                                \
      g[i] = DOWN(inv == 1 ? v : v * inv);                                                   \
    }                                                                                        \
    if (bad) __atomic_store_n(&p->bad, 1, __ATOMIC_RELAXED);                                 \
  }
#define SAME(x) (x)
REAL(f32, float, float, SAME, SAME)
REAL(f64, double, double, SAME, SAME)
REAL(half, dl_half, float, dl_half_to_f32, dl_half_from_f32)
REAL(brain, dl_bf16, float, dl_bf16_to_f32, dl_bf16_from_f32)

static void dense(pass *p, dl_dtype d, int64_t n, dl_status *st) {
  void (*const loop[])(void *, int64_t, int64_t) = {
      [DL_F16] = unscale_half, [DL_BF16] = unscale_brain, [DL_F32] = unscale_f32,
      [DL_F64] = unscale_f64};
  *st = dl_parallel(n, GRAIN, loop[d], p);
}

static bool is_dense(const dl_view *v) {
  int64_t want = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    if (v->size[d] != 1 && v->stride[d] != want) return false;
    want *= v->size[d];
  }
  return true;
}

/* Any other layout goes through a row-major copy. */
static dl_status one(pass *p, const dl_view *v) {
  dl_status st = DL_OK;
  int64_t stride[DL_MAXDIM];
  size_t nbytes = (size_t)v->numel * dl_dtype_size((dl_dtype)v->dtype);
  p->data = v->data;
  if (is_dense(v)) {
    dense(p, (dl_dtype)v->dtype, v->numel, &st);
    return st;
  }
  dl_view copy = *v;
  void *mem;
  DL_TRY(dl_scratch(nbytes ? nbytes : 1, &mem));
  dl_strides_contig(v->ndim, v->size, stride);
  copy.data = p->data = mem;
  copy.stride = stride;
  dl_copy_view(&copy, v);
  dense(p, (dl_dtype)v->dtype, v->numel, &st);
  if (st == DL_OK) dl_copy_view(v, &copy);
  dl_scratch_free(mem, nbytes ? nbytes : 1);
  return st;
}

/* arg: found_inf (the result: 1 if any value is not finite, else as it was), grads, inv_scale */
DL_KERNEL(_amp_unscale_) {
  pass p = {.inv = (float)dl_elem_get_f64((dl_dtype)c->in[1].dtype, c->in[1].data)};
  for (int k = 0; k < c->nlist; k++)
    if (c->list[k].numel) DL_TRY(one(&p, &c->list[k]));
  if (p.bad) dl_elem_set_f64((dl_dtype)c->out[0].dtype, c->out[0].data, 1);
  return DL_OK;
}

/* arg: scale (the result), growth_tracker (changed too), found_inf, growth, backoff, interval */
DL_KERNEL(_amp_update_scale_) {
  const dl_view *tracker = &c->in[1], *found = &c->in[2];
  dl_dtype d = (dl_dtype)c->out[0].dtype, t = (dl_dtype)tracker->dtype;
  double scale = dl_elem_get_f64(d, c->out[0].data);
  int64_t good = dl_elem_get_i64(t, tracker->data) + 1;
  if (dl_elem_get_f64((dl_dtype)found->dtype, found->data) != 0) {
    scale *= dl_arg_f(&c->arg[4]);
    good = 0;
  } else if (good == dl_arg_i(&c->arg[5])) {
    float grown = (float)(scale * dl_arg_f(&c->arg[3]));
    if (isfinite(grown)) scale = grown;
    good = 0;
  }
  dl_elem_set_f64(d, c->out[0].data, scale);
  dl_elem_set_i64(t, tracker->data, good);
  return DL_OK;
}
