/* rule_sort.c -- shapes and checks of sort, topk, median, kthvalue, unique, bincount, histc and of
 * the random ops that look at probabilities
 *
 * For dispatch.
 * SOURCE     ATen/native/Sorting.cpp, SummaryOps.cpp, Histogram.cpp, Distributions.cpp (texts). */
#include "op/view.h"
#include "tensor/devmem.h"
#include "pick.h"

#include <math.h>
#include <string.h>

static dl_status not_implemented(const char *kernel, dl_dtype d) {
  return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'", kernel,
                 dl_dtypes[d].scalar);
}

/* Results 0 (values) and 1 (indices) of self's shape, with size n at dim; n < 0 drops the dim. */
static void pair(dl_call *c, const dl_tensor *x, int dim, int64_t n) {
  dl_call_out_like(c, 0, x);
  dl_meta *m = &c->out[0];
  if (x->ndim && n >= 0) m->size[dim] = n;
  if (x->ndim && n < 0) {
    m->ndim--;
    memmove(m->size + dim, m->size + dim + 1, (size_t)(m->ndim - dim) * sizeof *m->size);
  }
  dl_call_out(c, 1, DL_I64, m->ndim, m->size);
}

static dl_status not_empty(const char *name, const dl_tensor *x, int dim) {
  if (x->ndim == 0 || x->size[dim] != 0) return DL_OK;
  return dl_fail(DL_IndexError, DL_E_SHAPE,
                 "%s(): Expected reduction dim %d to have non-zero size.", name, dim);
}

dl_status dl_rule_sort(dl_call *c) {
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, c->in[0]->ndim, &dim));
  pair(c, c->in[0], dim, c->in[0]->ndim ? c->in[0]->size[dim] : 1);
  return DL_OK;
}

dl_status dl_rule_topk(dl_call *c) {
  const dl_tensor *x = c->in[0];
  int64_t k = c->arg[1].i;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[2].i, x->ndim, &dim));
  if (k < 0 || k > (x->ndim ? x->size[dim] : 1))
    return dl_fail(DL_RuntimeError, DL_E_INDEX, "selected index k out of range");
  if (x->dtype == DL_BOOL)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "topk does not support bool dtypes on CPU");
  pair(c, x, dim, k);
  return DL_OK;
}

dl_status dl_rule_kthvalue(dl_call *c) {
  const dl_tensor *x = c->in[0];
  int64_t k = c->arg[1].i;
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[2].i, x->ndim, &dim));
  DL_TRY(not_empty("kthvalue", x, dim));
  if (k < 1 || k > (x->ndim ? x->size[dim] : 1))
    return dl_fail(DL_RuntimeError, DL_E_INDEX,
                   "kthvalue(): selected number k out of range for dimension %d", dim);
  if (x->dtype == DL_BOOL) return not_implemented("kthvalue_cpu", DL_BOOL);
  pair(c, x, dim, c->arg[3].i ? 1 : -1);
  return DL_OK;
}

dl_status dl_rule_median_dim(dl_call *c) {
  const dl_tensor *x = c->in[0];
  int dim;
  DL_TRY(dl_wrap_dim(c->arg[1].i, x->ndim, &dim));
  DL_TRY(not_empty("median", x, dim));
  if (x->dtype == DL_BOOL) return not_implemented("median_out", DL_BOOL);
  pair(c, x, dim, c->arg[2].i ? 1 : -1);
  return DL_OK;
}

dl_status dl_rule_median(dl_call *c) {
  if (c->in[0]->dtype == DL_BOOL) return not_implemented("median_cpu", DL_BOOL);
  dl_call_out(c, 0, (dl_dtype)c->in[0]->dtype, 0, NULL);
  return DL_OK;
}

/* ---- unique ---------------------------------------------------------------------- */
/* Number of distinct elements: each nan is one of its own. */
static dl_status count_distinct(const dl_tensor *x, int64_t *count) {
  dl_dtype d = (dl_dtype)x->dtype;
  uint64_t nan = d == DL_F64 ? UINT64_MAX : UINT32_MAX;
  size_t bytes = (size_t)x->numel * 2 * sizeof(dl_pick);
  int64_t n = 0;
  void *mem;
  DL_TRY(dl_host_alloc(bytes ? bytes : 1, &mem));
  dl_pick *v = mem;
  dl_walk w;
  dl_walk_begin(&w, x->ndim, x->size, -1);
  dl_walk_add(&w, x->ndim, x->stride, -1);
  for (; w.left > 0; dl_walk_next(&w))
    v[n++].key = dl_key(d, x->data + w.off[0] * (int64_t)dl_dtype_size(d));
  dl_pick_sort(v, v + n, n);
  *count = 0;
  for (int64_t i = 0; i < n; i++)
    *count += i == 0 || v[i].key != v[i - 1].key || (dl_dtype_is_float(d) && v[i].key == nan);
  dl_host_free(mem, bytes ? bytes : 1);
  return DL_OK;
}

dl_status dl_rule_unique(dl_call *c) {
  const dl_tensor *x = c->in[0];
  dl_tensor *values;
  int64_t n;
  DL_TRY(dl_tensor_values(x, &values));
  dl_status st = count_distinct(values, &n);
  dl_tensor_release(values);
  DL_TRY(st);
  dl_call_out(c, 0, (dl_dtype)x->dtype, 1, &n);
  dl_call_out(c, 1, DL_I64, x->ndim, x->size);
  dl_call_out(c, 2, DL_I64, 1, &n);
  return DL_OK;
}

/* ---- counting -------------------------------------------------------------------- */
dl_status dl_rule_bincount(dl_call *c) {
  const dl_tensor *x = c->in[0], *w = c->in[1];
  int64_t least = c->arg[2].i, top = -1;
  size_t es = dl_dtype_size((dl_dtype)x->dtype);
  if (!dl_dtype_is_int((dl_dtype)x->dtype))
    return not_implemented("bincount_cpu", (dl_dtype)x->dtype);
  if (least < 0) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "minlength should be >= 0");
  bool ok = x->ndim == 1;
  dl_tensor *h;
  DL_TRY(dl_tensor_values(x, &h));
  for (int64_t i = 0; ok && i < h->numel; i++) {
    int64_t v = dl_elem_get_i64((dl_dtype)h->dtype, h->data + i * h->stride[0] * (int64_t)es);
    ok = v >= 0;
    if (v > top) top = v;
  }
  dl_tensor_release(h);
  if (!ok)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "bincount only supports 1-d non-negative integral inputs.");
  if (w && (w->ndim != 1 || w->size[0] != x->size[0]))
    return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                   "weights should be 1-d and have the same length as input");
  int64_t n = top == INT64_MAX ? top : top + 1 > least ? top + 1 : least;
  dl_dtype d = !w || x->numel == 0 ? DL_I64 : w->dtype == DL_F32 ? DL_F32 : DL_F64;
  dl_call_out(c, 0, d, 1, &n);
  return DL_OK;
}

dl_status dl_rule_histc(dl_call *c) {
  const dl_tensor *x = c->in[0];
  int64_t bins = c->arg[1].i;
  if (bins <= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "torch.histogram(): bins must be > 0, but got %lld for dimension 0",
                   (long long)bins);
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return not_implemented("histogram_cpu", (dl_dtype)x->dtype);
  if (dl_arg_f(&c->arg[2]) > dl_arg_f(&c->arg[3]))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "torch.histc: max must be larger than min");
  dl_call_out(c, 0, (dl_dtype)x->dtype, 1, &bins);
  return DL_OK;
}

/* ---- probabilities --------------------------------------------------------------- */
dl_status dl_rule_bernoulli(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (!dl_dtype_is_float(d)) return not_implemented("bernoulli_tensor_cpu_p_", d);
  dl_call_out_like(c, 0, c->in[0]);
  return DL_OK;
}

dl_status dl_rule_multinomial(dl_call *c) {
  const dl_tensor *x = c->in[0];
  int64_t n = c->arg[1].i;
  if (!dl_dtype_is_float((dl_dtype)x->dtype))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "multinomial only supports floating-point dtypes for input, got: %s",
                   dl_dtypes[x->dtype].scalar);
  if (x->ndim == 0 || x->ndim > 2)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "prob_dist must be 1 or 2 dim");
  if (n <= 0) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "cannot sample n_sample <= 0 samples");
  int64_t classes = x->size[x->ndim - 1];
  if (!c->arg[2].i && n > classes)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  dl_call_out(c, 0, DL_I64, x->ndim, x->size);
  c->out[0].size[x->ndim - 1] = n;
  c->compute = x->dtype == DL_F64 ? DL_F64 : DL_F32;
  return DL_OK;
}
