/* random.c -- tensors of random numbers, equal to PyTorch's CPU numbers bit for bit
 *
 * For dispatch. The generator draws serially; only the Box-Muller transform is wide.
 * SOURCE     ATen/native/cpu/DistributionTemplates.h, avx_mathfun.h (Cephes polynomials),
 *            native/cpu/UnaryOpsKernel.cpp (MKL bernoulli).
 * INVARIANT  One draw per element, in memory order of the result. */
#include <math.h>
#include <stdlib.h>

#include "rng.h"
#include "walk.h"

typedef struct { double a, b; uint64_t range; int64_t base; } params;
/* Fill n elements, `stride` bytes apart. */
typedef void (*row_fn)(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n, int64_t stride);

/* ---- rows in memory order -------------------------------------------------------- */
static dl_status each_row(dl_kcall *c, row_fn row, const params *p) {
  const dl_view *v = &c->out[0];
  int64_t size[DL_MAXDIM], stride[DL_MAXDIM], es = (int64_t)dl_view_esize(v), budget = 1 << 20;
  int n = v->ndim;
  if (v->numel == 0) return DL_OK;
  if (dl_view_contig(v)) { /* one row, polled now and then */
    for (int64_t i = 0; i < v->numel; i += budget) {
      int64_t m = v->numel - i < budget ? v->numel - i : budget;
      row(c->gen, p, (dl_dtype)v->dtype, v->data + i * es, m, es);
      DL_TRY(dl_poll());
    }
    return DL_OK;
  }
  for (int d = 0; d < n; d++) { /* insertion sort: largest stride first */
    int k = d;
    for (; k > 0 && stride[k - 1] < v->stride[d]; k--) {
      stride[k] = stride[k - 1];
      size[k] = size[k - 1];
    }
    stride[k] = v->stride[d];
    size[k] = v->size[d];
  }
  dl_walk w;
  dl_walk_begin(&w, n, size, n - 1);
  dl_walk_add(&w, n, stride, n - 1);
  for (; w.left > 0; dl_walk_next(&w))
    row(c->gen, p, (dl_dtype)v->dtype, v->data + w.off[0] * es, size[n - 1], stride[n - 1] * es);
  return DL_OK;
}

/* ---- uniform --------------------------------------------------------------------- */
static void uniform_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n,
                        int64_t stride) {
  float a = (float)p->a, b = (float)p->b, width = b - a;
  uint64_t end = 0;
  if (d == DL_F64) {
    for (int64_t i = 0; i < n; i++, at += stride)
      *(double *)at = fma(dl_gen_uniform64(g), p->b - p->a, p->a);
  } else if (d == DL_F32 && stride == sizeof(float)) {
    dl_gen_uniforms32(g, (float *)at, n);
    if (a != 0 || b != 1)
      for (int64_t i = 0; i < n; i++) ((float *)at)[i] = fmaf(((float *)at)[i], width, a);
  } else if (d == DL_F32) {
    for (int64_t i = 0; i < n; i++, at += stride)
      *(float *)at = fmaf(dl_gen_uniform32(g), width, a);
  } else { /* 16 bits: a value that rounds up to the excluded end becomes the start */
    dl_elem_set_f64(d, &end, b);
    double top = dl_elem_get_f64(d, &end);
    for (int64_t i = 0; i < n; i++, at += stride) {
      dl_elem_set_f64(d, at, fmaf(dl_gen_uniform32(g), width, a));
      if (dl_elem_get_f64(d, at) >= top) dl_elem_set_f64(d, at, a);
    }
  }
}

static dl_status uniform(dl_kcall *c, double a, double b) {
  const params p = {.a = a, .b = b};
  return each_row(c, uniform_row, &p);
}

DL_KERNEL(rand) { return uniform(c, 0, 1); }
DL_KERNEL(rand_like) { return uniform(c, 0, 1); }
DL_KERNEL(uniform_) { return uniform(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }

/* ---- normal: one by one ---------------------------------------------------------- */
static void normal_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n,
                       int64_t stride) {
  for (int64_t i = 0; i < n; i++, at += stride)
    dl_elem_set_f64(d, at, fma(dl_gen_normal(g), p->b, p->a));
}

/* ---- normal: sixteen at a time --------------------------------------------------- */
/* -log(x) is never needed below 2^-24; constants are Cephes' logf. */
static inline float wide_log(float x) {
  union { float f; uint32_t u; } v = {x};
  float e = (float)((int32_t)(v.u >> 23) - 126);
  v.u = (v.u & 0x007fffffu) | 0x3f000000u;
  float m = v.f;
  bool low = m < 0.707106781186547524f;
  float t = m - 1.0f;
  t = low ? t + m : t;
  e = low ? e - 1.0f : e;
  float z = t * t, y = 7.0376836292e-2f;
  y = fmaf(y, t, -1.1514610310e-1f);
  y = fmaf(y, t, 1.1676998740e-1f);
  y = fmaf(y, t, -1.2420140846e-1f);
  y = fmaf(y, t, 1.4249322787e-1f);
  y = fmaf(y, t, -1.6668057665e-1f);
  y = fmaf(y, t, 2.0000714765e-1f);
  y = fmaf(y, t, -2.4999993993e-1f);
  y = fmaf(y, t, 3.3333331174e-1f);
  y = y * t;
  y = fmaf(y, z, e * -2.12194440e-4f);
  y = fmaf(-z, 0.5f, y);
  return fmaf(e, 0.693359375f, t + y);
}

static inline void wide_sincos(float x, float *sin_out, float *cos_out) {
  int32_t j = ((int32_t)(x * 1.27323954473516f) + 1) & ~1;
  float y = (float)j;
  x = fmaf(y, -0.78515625f, x);
  x = fmaf(y, -2.4187564849853515625e-4f, x);
  x = fmaf(y, -3.77489497744594108e-8f, x);
  float z = x * x, p = 2.443315711809948e-5f, q = -1.9515295891e-4f;
  p = fmaf(p, z, -1.388731625493765e-3f);
  p = fmaf(p, z, 4.166664568298827e-2f);
  p = p * z;
  p = fmaf(p, z, -(z * 0.5f)) + 1.0f;
  q = fmaf(q, z, 8.3321608736e-3f);
  q = fmaf(q, z, -1.6666654611e-1f);
  q = q * z;
  q = fmaf(q, x, x);
  float s = j & 2 ? p : q, k = j & 2 ? q : p;
  *sin_out = j & 4 ? -s : s;
  *cos_out = ~(j - 2) & 4 ? -k : k;
}

static void normal16_f32(float *d, float std, float mean) {
  for (int j = 0; j < 8; j++) {
    float s, k, r = sqrtf(-2.0f * wide_log(1.0f - d[j]));
    wide_sincos(6.2831853071795864769f * d[j + 8], &s, &k);
    d[j] = fmaf(r * k, std, mean);
    d[j + 8] = fmaf(r * s, std, mean);
  }
}

static void normal16_f64(double *d, double std, double mean) {
  for (int j = 0; j < 8; j++) {
    double r = sqrt(-2.0 * log(1.0 - d[j])), th = 2.0 * 3.14159265358979323846 * d[j + 8];
    d[j] = fma(r * cos(th), std, mean);
    d[j + 8] = fma(r * sin(th), std, mean);
  }
}

static void draw_f64(dl_gen *g, double *d, int64_t n) {
  for (int64_t i = 0; i < n; i++) d[i] = dl_gen_uniform64(g);
}

/* `first` uniforms, then the transform of whole blocks; a ragged end draws its 16 again. */
#define NORMAL_FILL(name, type, draw, step)                                          \
  static void name(dl_gen *g, type *d, int64_t n, int64_t first, type std, type mean) { \
    draw(g, d, first);                                                               \
    for (int64_t i = 0; i + 15 < n; i += 16) step(d + i, std, mean);                 \
    if (n % 16 == 0) return;                                                         \
    d += n - 16;                                                                     \
    draw(g, d, 16);                                                                  \
    step(d, std, mean);                                                              \
  }
NORMAL_FILL(fill_f32, float, dl_gen_uniforms32, normal16_f32)
NORMAL_FILL(fill_f64, double, draw_f64, normal16_f64)

static dl_status normal_narrow(dl_kcall *c, double mean, double std) {
  const dl_view *v = &c->out[0];
  void *buf;
  DL_TRY(dl_scratch((size_t)v->numel * sizeof(float), &buf));
  /* 16-bit results are drawn block by block: the ragged end has no uniforms of its own */
  fill_f32(c->gen, buf, v->numel, v->numel / 16 * 16, (float)std, (float)mean);
  dl_view from = *v;
  from.data = buf;
  from.dtype = DL_F32;
  dl_copy_view(v, &from);
  dl_scratch_free(buf, (size_t)v->numel * sizeof(float));
  return DL_OK;
}

static dl_status normal(dl_kcall *c, double mean, double std) {
  const dl_view *v = &c->out[0];
  const params p = {.a = mean, .b = std};
  if (v->numel < 16 || !dl_view_contig(v)) return each_row(c, normal_row, &p);
  if (v->dtype == DL_F32)
    fill_f32(c->gen, (float *)v->data, v->numel, v->numel, (float)std, (float)mean);
  else if (v->dtype == DL_F64) fill_f64(c->gen, (double *)v->data, v->numel, v->numel, std, mean);
  else return normal_narrow(c, mean, std);
  return DL_OK;
}

DL_KERNEL(randn) { return normal(c, 0, 1); }
DL_KERNEL(randn_like) { return normal(c, 0, 1); }
DL_KERNEL(normal_) { return normal(c, dl_arg_f(&c->arg[1]), dl_arg_f(&c->arg[2])); }

/* ---- integers -------------------------------------------------------------------- */
/* range 0 stands for 2^64 */
static void integer_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n,
                        int64_t stride) {
  bool wide = p->range >= 1ull << 28 || p->range == 0;
  for (int64_t i = 0; i < n; i++, at += stride) {
    uint64_t x = wide ? dl_gen_u64(g) : dl_gen_u32(g);
    if (p->range) x %= p->range;
    dl_elem_set_i64(d, at, (int64_t)(x + (uint64_t)p->base));
  }
}

/* A floating dtype may not hold the largest wanted integer: the range shrinks until it does. */
static void fit_range(dl_dtype d, int64_t *from, int64_t *to) {
  static const int digits[DL_DTYPE_COUNT] =
      {[DL_F16] = 11, [DL_BF16] = 8, [DL_F32] = 24, [DL_F64] = 53};
  uint64_t elem = 0;
  if (!digits[d]) return;
  int64_t last = *to - 1, next = *from + 1;
  dl_elem_set_i64(d, &elem, last);
  if (dl_elem_get_f64(d, &elem) >= (double)*to && last)
    *to -= 1ll << (63 - __builtin_clzll((unsigned long long)llabs(last)) - digits[d] + 1);
  dl_elem_set_i64(d, &elem, next);
  if (dl_elem_get_f64(d, &elem) < (double)*from && next)
    *from = dl_elem_get_i64(d, &elem) +
            (1ll << (63 - __builtin_clzll((unsigned long long)llabs(next)) - digits[d] + 1));
}

static dl_status integers(dl_kcall *c, int64_t from, int64_t to) {
  fit_range((dl_dtype)c->out[0].dtype, &from, &to);
  const params p = {.base = from, .range = (uint64_t)to - (uint64_t)from};
  return each_row(c, integer_row, &p);
}

DL_KERNEL(randint) { return integers(c, 0, c->arg[0].i); }
DL_KERNEL(randint_low) { return integers(c, c->arg[0].i, c->arg[1].i); }
DL_KERNEL(randint_like) {
  bool two = dl_arg_given(&c->arg[2]);
  return integers(c, two ? c->arg[1].i : 0, two ? c->arg[2].i : c->arg[1].i);
}

/* random_() without bounds: every integer the dtype holds exactly. */
static void any_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n, int64_t stride) {
  static const uint64_t count[DL_DTYPE_COUNT] = {
    [DL_BOOL] = 2, [DL_U8] = 256, [DL_I8] = 128, [DL_I16] = 32768, [DL_I32] = 1ull << 31,
    [DL_I64] = 1ull << 63, [DL_F16] = (1u << 11) + 1, [DL_BF16] = (1u << 8) + 1,
    [DL_F32] = (1u << 24) + 1, [DL_F64] = (1ull << 53) + 1};
  bool wide = d == DL_I64 || d == DL_F64;
  (void)p;
  for (int64_t i = 0; i < n; i++, at += stride)
    dl_elem_set_i64(d, at, (int64_t)((wide ? dl_gen_u64(g) : dl_gen_u32(g)) % count[d]));
}

DL_KERNEL(random_) {
  if (!dl_arg_given(&c->arg[1])) return each_row(c, any_row, NULL);
  if (!dl_arg_given(&c->arg[2])) return integers(c, 0, c->arg[1].i);
  return integers(c, c->arg[1].i, c->arg[2].i);
}

static void permute_i64(dl_gen *g, int64_t *d, int64_t n) {
  for (int64_t i = 0; i < n; i++) d[i] = i;
  for (int64_t i = 0; i < n - 1; i++) {
    int64_t z = i + dl_gen_u32(g) % (uint32_t)(n - i), t = d[i];
    d[i] = d[z];
    d[z] = t;
  }
}

DL_KERNEL(randperm) {
  const dl_view *v = &c->out[0];
  int64_t n = v->numel, es = (int64_t)dl_view_esize(v);
  bool wide = n >= UINT32_MAX / 20;
  if (v->dtype == DL_I64 && !wide) {
    permute_i64(c->gen, (int64_t *)v->data, n);
    return DL_OK;
  }
  for (int64_t i = 0; i < n; i++) dl_elem_set_i64((dl_dtype)v->dtype, v->data + i * es, i);
  for (int64_t i = 0; i < n - 1; i++) {
    int64_t z = (int64_t)((wide ? dl_gen_u64(c->gen) : dl_gen_u32(c->gen)) % (uint64_t)(n - i));
    char *a = v->data + i * es, *b = v->data + (i + z) * es, t[8];
    memcpy(t, a, (size_t)es);
    memmove(a, b, (size_t)es);
    memcpy(b, t, (size_t)es);
  }
  return DL_OK;
}

/* ---- coins ----------------------------------------------------------------------- */
static void coin_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n, int64_t stride) {
  for (int64_t i = 0; i < n; i++, at += stride)
    dl_elem_set_i64(d, at, dl_gen_uniform64(g) < p->a);
}

/* As wheels built with MKL: one draw seeds MKL's multiplicative generator modulo 2^31 - 1. */
static void coins_mkl(dl_gen *g, const dl_view *v, double p) {
  const uint64_t m = 2147483647u;
  uint64_t x = dl_gen_u32(g) % m;
  int64_t es = (int64_t)dl_view_esize(v);
  dl_walk w;
  if (x == 0) x = 1;
  dl_walk_begin(&w, v->ndim, v->size, -1);
  dl_walk_add(&w, v->ndim, v->stride, -1);
  for (; w.left > 0; dl_walk_next(&w)) {
    dl_elem_set_i64((dl_dtype)v->dtype, v->data + w.off[0] * es, (double)x / (double)m < p);
    x = 1132489760u * x % m;
  }
}

/* One probability for all elements of the result. */
static dl_status coins(dl_kcall *c, double prob) {
  const params p = {.a = prob};
  if (!dl_gen_mkl) return each_row(c, coin_row, &p);
  coins_mkl(c->gen, &c->out[0], prob);
  return DL_OK;
}

static void sure_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n, int64_t stride) {
  (void)g, (void)p;
  for (int64_t i = 0; i < n; i++, at += stride) dl_elem_set_i64(d, at, 1);
}

static dl_status bad_probability(void) {
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                 "message be improved?  If so, please report an enhancement request to PyTorch.)");
}

/* One coin an element, each with its own probability; probabilities are broadcast over out. */
static dl_status coins_tensor(dl_kcall *c, const dl_view *prob) {
  const dl_view *v = &c->out[0];
  int64_t stride[DL_MAXDIM], es = (int64_t)dl_view_esize(v), ps = (int64_t)dl_view_esize(prob);
  int lead = v->ndim - prob->ndim;
  for (int d = 0; d < v->ndim; d++)
    stride[d] = d < lead || prob->size[d - lead] == 1 ? 0 : prob->stride[d - lead];
  dl_walk w;
  dl_walk_begin(&w, v->ndim, v->size, -1);
  dl_walk_add(&w, v->ndim, v->stride, -1);
  dl_walk_add(&w, v->ndim, stride, -1);
  for (; w.left > 0; dl_walk_next(&w)) {
    double p = dl_elem_get_f64((dl_dtype)prob->dtype, prob->data + w.off[1] * ps);
    if (!(p >= 0 && p <= 1)) return bad_probability();
    double u = prob->dtype == DL_F64 ? dl_gen_uniform64(c->gen) : dl_gen_uniform32(c->gen);
    dl_elem_set_i64((dl_dtype)v->dtype, v->data + w.off[0] * es, u < p);
  }
  return DL_OK;
}

DL_KERNEL(bernoulli) { return coins_tensor(c, &c->in[0]); }

DL_KERNEL(bernoulli_) {
  if (!dl_arg_is_num(&c->arg[1])) return coins_tensor(c, &c->in[1]);
  return coins(c, dl_arg_f(&c->arg[1]));
}

/* ---- dropout --------------------------------------------------------------------- */
static double dropped(dl_dtype d, double x, double kept, double scale) {
  return d == DL_F64 ? x * kept * scale : (double)((float)x * (float)kept * (float)scale);
}

/* arg: input, p, train; results: the values, the mask */
DL_KERNEL(native_dropout) {
  const dl_view *x = &c->in[0], *y = &c->out[0], *mask = &c->out[1];
  double p = dl_arg_f(&c->arg[1]), scale = p == 1 ? 0 : 1 / (1 - p);
  dl_kcall m = {.gen = c->gen, .nout = 1};
  m.out[0] = *mask;
  if (x->numel == 0) return DL_OK;
  if (dl_arg_given(&c->arg[2]) && !c->arg[2].i) {
    dl_copy_view(y, x);
    return each_row(&m, sure_row, NULL);
  }
  DL_TRY(coins(&m, 1 - p));
  int64_t es = (int64_t)dl_view_esize(x);
  dl_walk w;
  dl_walk_begin(&w, x->ndim, x->size, -1);
  dl_walk_add(&w, x->ndim, x->stride, -1);
  dl_walk_add(&w, x->ndim, y->stride, -1);
  dl_walk_add(&w, x->ndim, mask->stride, -1);
  for (; w.left > 0; dl_walk_next(&w)) {
    double v = dl_elem_get_f64((dl_dtype)x->dtype, x->data + w.off[0] * es);
    v = dropped((dl_dtype)x->dtype, v, mask->data[w.off[2]] != 0, scale);
    dl_elem_set_f64((dl_dtype)y->dtype, y->data + w.off[1] * es, v);
  }
  return DL_OK;
}

/* ---- waiting times --------------------------------------------------------------- */
static void exponential_row(dl_gen *g, const params *p, dl_dtype d, char *at, int64_t n,
                            int64_t stride) {
  for (int64_t i = 0; i < n; i++, at += stride)
    dl_elem_set_f64(d, at, -1.0 / p->a * log1p(-dl_gen_uniform64(g)));
}

DL_KERNEL(exponential_) {
  const params p = {.a = dl_arg_f(&c->arg[1])};
  return each_row(c, exponential_row, &p);
}
