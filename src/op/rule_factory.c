/* rule_factory.c -- shapes, dtypes and argument checks of factories, random fills and copies
 *
 * For dispatch.
 * SOURCE     ATen/native/TensorFactories.cpp, RangeFactories.cpp, DistributionTemplates.h (texts).
 * MUST NOT   allocate. */
#include <math.h>
#include <string.h>

#include "mem/gpu.h"
#include "op/view.h"

static dl_status not_implemented(const char *kernel, dl_dtype d) {
  return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'", kernel,
                 dl_dtypes[d].scalar);
}

/* ---- sizes ----------------------------------------------------------------------- */
static dl_status set_size(dl_call *c, dl_dtype dtype, int64_t n, const int64_t *size) {
  char text[256];
  for (int64_t d = 0; d < n; d++)
    if (size[d] < 0)
      return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                     "Trying to create tensor with negative dimension %lld: %s", (long long)size[d],
                     dl_sizes_str((int)(n < DL_MAXDIM ? n : DL_MAXDIM), size, text, sizeof text));
  if (n > DL_MAXDIM) {
    dl_fail(DL_RuntimeError, DL_E_UNSUPPORTED, "tensors have at most %d dimensions, but got %lld",
            DL_MAXDIM, (long long)n);
    dl_note("PyTorch allows 64; merge some dimensions");
    return DL_E_UNSUPPORTED;
  }
  int64_t numel;
  DL_TRY(dl_numel((int)n, size, &numel));
  dl_call_out(c, 0, dtype, (int)n, size);
  return DL_OK;
}

static dl_status set_sizes(dl_call *c, dl_dtype dtype, const dl_arg *a) {
  if (a->tag == DL_A_INTS) return set_size(c, dtype, a->n, a->is);
  return set_size(c, dtype, a->tag == DL_A_INT, &a->i);
}

static dl_dtype asked(const dl_call *c, dl_dtype otherwise) {
  int p = c->schema->p_dtype;
  return p >= 0 && c->arg[p].tag == DL_A_DTYPE ? (dl_dtype)c->arg[p].i : otherwise;
}

static dl_dtype default_float(void) { return (dl_dtype)dl_default_dtype; }

static dl_dtype number_dtype(const dl_arg *a) {
  return a->tag == DL_A_FLOAT ? default_float() : a->tag == DL_A_BOOL ? DL_BOOL : DL_I64;
}

/* ---- numbers into dtypes --------------------------------------------------------- */
typedef struct { double lo, hi; const char *cpp; } range;
static const range ranges[DL_DTYPE_COUNT] = {
  [DL_BOOL] = {0, 1, "bool"}, [DL_U8] = {-255, 255, "uint8_t"}, [DL_I8] = {-128, 127, "int8_t"},
  [DL_I16] = {-32768, 32767, "int16_t"}, [DL_I32] = {-2147483648., 2147483647., "int"},
  [DL_I64] = {-9223372036854775808., 9223372036854774784., "int64_t"},
  [DL_F16] = {-65504, 65504, "c10::Half"},
  [DL_BF16] = {-3.3895313892515355e38, 3.3895313892515355e38, "c10::BFloat16"},
  [DL_F32] = {-3.4028234663852886e38, 3.4028234663852886e38, "float"},
};

/* PyTorch's checked conversion of a number to the dtype it is stored in. */
dl_status dl_number_fits(const dl_arg *num, dl_dtype d) {
  double x = dl_arg_f(num);
  if (d == DL_BOOL || d == DL_F64 || (d == DL_I64 && num->tag != DL_A_FLOAT)) return DL_OK;
  bool out = dl_dtype_is_float(d) ? isfinite(x) && (x < ranges[d].lo || x > ranges[d].hi)
                                  : !(x > ranges[d].lo - 1 && x < ranges[d].hi + 1);
  if (!out) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "value cannot be converted to type %s without overflow", ranges[d].cpp);
}

/* ---- plain factories ------------------------------------------------------------- */
dl_status dl_rule_fac_size(dl_call *c) {
  return set_sizes(c, asked(c, default_float()), &c->arg[0]);
}

dl_status dl_rule_fac_full(dl_call *c) {
  DL_TRY(set_sizes(c, asked(c, number_dtype(&c->arg[1])), &c->arg[0]));
  return dl_number_fits(&c->arg[1], (dl_dtype)c->out[0].dtype);
}

dl_status dl_rule_fac_eye(dl_call *c) {
  int64_t n = c->arg[0].i, m = dl_arg_given(&c->arg[1]) ? c->arg[1].i : n;
  if (n < 0 || m < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "%c must be greater or equal to 0, got %lld",
                   n < 0 ? 'n' : 'm', (long long)(n < 0 ? n : m));
  return set_size(c, asked(c, default_float()), 2, (int64_t[]){n, m});
}

static bool integral(const dl_arg *a) { return a->tag != DL_A_FLOAT; }

/* Number of elements of start, start + step, … below end; exact for integers. */
static dl_status arange_count(const dl_arg *start, const dl_arg *end, const dl_arg *step,
                              dl_dtype d, int64_t *n) {
  double a = dl_arg_f(start), b = dl_arg_f(end), s = dl_arg_f(step);
  if (s == 0) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "step must be nonzero");
  if (!isfinite(a) || !isfinite(b))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "unsupported range: %g -> %g", a, b);
  if (s > 0 ? b < a : b > a)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "upper bound and lower bound inconsistent with step sign");
  double count;
  if (d == DL_I64 && integral(start) && integral(end) && integral(step)) {
    int64_t sgn = step->i > 0 ? 1 : -1;
    *n = (int64_t)(((__int128)end->i - start->i + step->i - sgn) / step->i);
    count = (double)*n;
  } else {
    count = ceil((b - a) / s);
    *n = count < 9.2e18 ? (int64_t)count : 0;
  }
  if (!(count >= 0 && count < 9.2e18))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "invalid size, possible overflow?");
  return DL_OK;
}

dl_status dl_rule_fac_arange(dl_call *c) {
  const dl_arg zero = I(0), one = I(1);
  bool end_only = c->op == &dl_ops[DL_OP_arange_end];
  const dl_arg *start = end_only ? &zero : &c->arg[0], *step = end_only ? &one : &c->arg[2];
  const dl_arg *end = end_only ? &c->arg[0] : &c->arg[1];
  bool ints = integral(start) && integral(end) && integral(step);
  dl_dtype d = asked(c, ints ? DL_I64 : default_float());
  int64_t n;
  DL_TRY(arange_count(start, end, step, d, &n));
  DL_TRY(set_size(c, d, 1, &n));
  return d == DL_BOOL ? not_implemented("arange_cpu", d) : DL_OK;
}

dl_status dl_rule_fac_linspace(dl_call *c) {
  int64_t n = c->arg[2].i;
  dl_dtype d = asked(c, default_float());
  if (n < 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "number of steps must be non-negative");
  DL_TRY(set_size(c, d, 1, &n));
  return d == DL_BOOL && n > 1 ? not_implemented("linspace_cpu", d) : DL_OK;
}

static void out_like(dl_call *c) {
  const dl_tensor *self = c->arg[0].t;
  dl_call_out(c, 0, asked(c, (dl_dtype)self->dtype), self->ndim, self->size);
  c->like_strides = true;
}

dl_status dl_rule_fac_like(dl_call *c);
dl_status dl_random_range(dl_dtype d, int64_t from, int64_t to);

/* ---- random factories ------------------------------------------------------------ */
static dl_status uniform_dtype(dl_dtype d) {
  return dl_dtype_is_float(d) ? DL_OK : not_implemented("check_uniform_bounds", d);
}
static dl_status normal_dtype(dl_dtype d) {
  return dl_dtype_is_float(d) ? DL_OK : not_implemented("normal_kernel_cpu", d);
}

dl_status dl_rule_fac_rand(dl_call *c) {
  DL_TRY(set_sizes(c, asked(c, default_float()), &c->arg[0]));
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  return c->op == &dl_ops[DL_OP_randn] ? normal_dtype(d) : uniform_dtype(d);
}

dl_status dl_rule_fac_like_float(dl_call *c) {
  out_like(c);
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  return c->op == &dl_ops[DL_OP_randn_like] ? normal_dtype(d) : uniform_dtype(d);
}

/* Bounds of integers that dtype d holds exactly (to - 1 must be inside). */
static int64_t int_limit(dl_dtype d, bool low) {
  static const int64_t top[DL_DTYPE_COUNT] = {
    [DL_BOOL] = 1, [DL_U8] = 255, [DL_I8] = 127, [DL_I16] = 32767, [DL_I32] = 2147483647,
    [DL_I64] = INT64_MAX, [DL_F16] = 65504, [DL_BF16] = INT64_MAX, [DL_F32] = INT64_MAX,
    [DL_F64] = INT64_MAX};
  if (!low) return top[d];
  return d == DL_BOOL || d == DL_U8 ? 0 : dl_dtype_is_float(d) ? -top[d] : -top[d] - 1;
}

dl_status dl_random_range(dl_dtype d, int64_t from, int64_t to) {
  if (from >= to)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld",
                   (long long)from, (long long)to);
  const char *cpp = dl_dtypes[d].cpp;
  if (from < int_limit(d, true) || from > int_limit(d, false))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "from is out of bounds for %s", cpp);
  if (to - 1 > int_limit(d, false) || to - 1 < int_limit(d, true))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "to - 1 is out of bounds for %s", cpp);
  return DL_OK;
}

dl_status dl_rule_fac_randint(dl_call *c) {
  bool two = c->op == &dl_ops[DL_OP_randint_low];
  int64_t low = two ? c->arg[0].i : 0, high = c->arg[two ? 1 : 0].i;
  DL_TRY(set_sizes(c, asked(c, DL_I64), &c->arg[two ? 2 : 1]));
  return dl_random_range((dl_dtype)c->out[0].dtype, low, high);
}

dl_status dl_rule_fac_like(dl_call *c) {
  out_like(c);
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  if (c->op == &dl_ops[DL_OP_full_like]) return dl_number_fits(&c->arg[1], d);
  if (c->op != &dl_ops[DL_OP_randint_like]) return DL_OK;
  bool two = dl_arg_given(&c->arg[2]);
  return dl_random_range(d, two ? c->arg[1].i : 0, two ? c->arg[2].i : c->arg[1].i);
}

dl_status dl_rule_fac_randperm(dl_call *c) {
  int64_t n = c->arg[0].i;
  dl_dtype d = asked(c, DL_I64);
  static const int64_t exact[DL_DTYPE_COUNT] = {
    [DL_F16] = 2049, [DL_BF16] = 257, [DL_F32] = 16777217, [DL_F64] = 9007199254740993};
  DL_TRY(set_size(c, d, 1, &n));
  if (d == DL_BOOL) return not_implemented("randperm", d);
  if (dl_dtype_is_float(d) && n > exact[d])
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "n cannot be greater than %lld for %s type.",
                   (long long)exact[d], dl_dtypes[d].scalar);
  const dl_arg last = I(n);
  return dl_number_fits(&last, d);
}

/* ---- in-place fills -------------------------------------------------------------- */
static dl_status in_bounds(const char *name, double x, dl_dtype d) {
  double top = d == DL_F64 ? 1.7976931348623157e308 : ranges[d].hi;
  if (x >= -top && x <= top) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "%s is out of bounds for %s", name,
                 dl_dtypes[d].cpp);
}

static dl_status uniform_args(const dl_arg *arg, dl_dtype d) {
  double from = dl_arg_f(&arg[1]), to = dl_arg_f(&arg[2]);
  DL_TRY(uniform_dtype(d));
  DL_TRY(in_bounds("from", from, d));
  DL_TRY(in_bounds("to", to, d));
  if (from > to)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "uniform_ expects to return a [from, to) range, but found from=%g > to=%g", from,
                   to);
  double top = d == DL_F64 ? 1.7976931348623157e308 : ranges[d].hi;
  if (to - from > top)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "uniform_ expects to-from <= std::numeric_limits<%s>::max(), but found to=%g "
                   "and from=%g which result in to-from to exceed the limit",
                   dl_dtypes[d].scalar, to, from);
  return DL_OK;
}

static dl_status normal_args(const dl_arg *arg, dl_dtype d) {
  double std = dl_arg_f(&arg[2]);
  if (!(std >= 0))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "normal expects std >= 0.0, but found std %g",
                   std);
  return normal_dtype(d);
}

static dl_status exponential_args(const dl_arg *arg, dl_dtype d) {
  double lambda = dl_arg_f(&arg[1]);
  if (!dl_dtype_is_float(d))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Exponential distribution is a continuous probability distribution. dtype must "
                   "be a floating point but you specified %s",
                   dl_dtypes[d].scalar);
  if (!(lambda > 0))
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "exponential_ expects lambda > 0.0, but found lambda=%g", lambda);
  return DL_OK;
}

dl_status dl_rule_inplace_float(dl_call *c) {
  dl_dtype d = (dl_dtype)c->arg[0].t->dtype;
  dl_call_out_like(c, 0, c->arg[0].t);
  if (c->op == &dl_ops[DL_OP_uniform_]) return uniform_args(c->arg, d);
  if (c->op == &dl_ops[DL_OP_normal_]) return normal_args(c->arg, d);
  return exponential_args(c->arg, d);
}

/* random_(), random_(to), random_(from, to) */
static dl_status random_args(const dl_arg *arg, dl_dtype d) {
  if (!dl_arg_given(&arg[1])) return DL_OK;
  if (!dl_arg_given(&arg[2])) return dl_random_range(d, 0, arg[1].i);
  return dl_random_range(d, arg[1].i, arg[2].i);
}

static dl_status probability(double p) {
  if (p >= 0 && p <= 1) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "bernoulli_ expects p to be in [0, 1], but got p=%g", p);
}

static dl_status bernoulli_args(dl_call *c) {
  const dl_arg *p = &c->arg[1];
  if (p->tag == DL_A_TENSOR) {
    if (!dl_dtype_is_float((dl_dtype)p->t->dtype))
      return not_implemented("bernoulli_tensor_cpu_p_", (dl_dtype)p->t->dtype);
    return dl_expand_check(p->t, c->out[0].ndim, c->out[0].size);
  }
  return probability(dl_arg_f(p));
}

static dl_status fill_args(const dl_call *c) {
  const dl_arg *v = &c->arg[1];
  if (v->tag != DL_A_TENSOR) return dl_number_fits(v, (dl_dtype)c->out[0].dtype);
  if (v->t->ndim == 0) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_SHAPE,
                 "fill_ only supports 0-dimension value tensor but got tensor with %d dimensions.",
                 v->t->ndim);
}

dl_status dl_rule_inplace_any(dl_call *c) {
  dl_call_out_like(c, 0, c->arg[0].t);
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  if (c->op == &dl_ops[DL_OP_random_]) return random_args(c->arg, d);
  if (c->op == &dl_ops[DL_OP_bernoulli_]) return bernoulli_args(c);
  if (c->op == &dl_ops[DL_OP_fill_]) return fill_args(c);
  return DL_OK;
}

/* The mask of an empty tensor has the tensor's own dtype on the CPU, as in PyTorch. */
dl_status dl_rule_native_dropout(dl_call *c) {
  const dl_tensor *x = c->in[0];
  const dl_dtype d = (dl_dtype)x->dtype;
  bool train = !dl_arg_given(&c->arg[2]) || c->arg[2].i, gpu = dl_is_gpu(c->dev);
  if (train && x->numel > 0) {
    DL_TRY(probability(1 - dl_arg_f(&c->arg[1])));
    if (!dl_dtype_is_float(d) && gpu) return not_implemented("fused_dropout", d);
    if (!dl_dtype_is_float(d))
      return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                     "result type Float can't be cast to the desired output type %s",
                     dl_dtypes[d].scalar);
  }
  dl_call_out_like(c, 0, x);
  dl_call_out(c, 1, x->numel || gpu ? DL_BOOL : d, x->ndim, x->size);
  c->like_strides = true;
  return DL_OK;
}

/* self receives src: the common shape must be self's own. */
dl_status dl_rule_inplace_copy(dl_call *c) {
  const dl_tensor *self = c->arg[0].t, *src = c->arg[1].t;
  dl_call_out_like(c, 0, self);
  return dl_broadcast(&c->out[0], src->ndim, src->size);
}

/* ---- copies ---------------------------------------------------------------------- */
dl_status dl_rule_to_copy(dl_call *c) {
  out_like(c);
  return DL_OK;
}

dl_status dl_rule_clone(dl_call *c) {
  out_like(c);
  const dl_arg *format = &c->arg[1];
  if (format->tag == DL_A_STR) c->like_strides = strcmp(format->s, "contiguous_format") != 0;
  return DL_OK;
}
