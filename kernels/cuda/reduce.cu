/* reduce.cu -- the plan of a reduction; sum, mean, prod, all, any, norm, var, std
 *
 * For table.cu; reduce.h has the kernels. Floats are added in the compute dtype by many threads,
 * each a few, so that the error grows slowly. */
#include "reduce.h"

/* ---- the plan -------------------------------------------------------------------------------- */
static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* Kept dims as they are; reduced dims by falling stride, where the fold does not mind the order. */
static void split_dims(const dl_view *v, uint32_t mask, bool ordered, dl_geo<1> *kept,
                       dl_geo<1> *red) {
  int64_t ksize[DL_MAXDIM], kstride[DL_MAXDIM], rsize[DL_MAXDIM], rstride[DL_MAXDIM];
  int nk = 0, nr = 0;
  for (int d = 0; d < v->ndim; d++) {
    if (!(mask & (1u << d))) {
      ksize[nk] = v->size[d];
      kstride[nk++] = v->stride[d];
      continue;
    }
    int k = nr++;
    for (; !ordered && k > 0 && magnitude(rstride[k - 1]) < magnitude(v->stride[d]); k--) {
      rsize[k] = rsize[k - 1];
      rstride[k] = rstride[k - 1];
    }
    rsize[k] = v->size[d];
    rstride[k] = v->stride[d];
  }
  const int64_t *ks = kstride, *rs = rstride;
  dl_geo_make(kept, nk, ksize, &ks);
  dl_geo_make(red, nr, rsize, &rs);
}

/* Threads an output: enough that each has about four elements. */
static int threads_for(int64_t count) {
  int each = 8;
  while (each < DL_BLOCK && each * 4 < count) each *= 2;
  return each;
}

void red_plan(red_call *p, dl_geo<1> *kept, dl_geo<1> *red, const dl_kcall *c, bool ordered) {
  enum { ACROSS = 32, CHUNK = 2048, WAVES = 8 };
  const dl_view *v = &c->in[0];
  split_dims(v, c->dims, ordered, kept, red);
  p->x = v->data;
  p->dtype = v->dtype;
  for (int k = 0; k < 2; k++) {
    p->out[k] = k < c->nout ? c->out[k].data : NULL;
    p->dout[k] = k < c->nout ? c->out[k].dtype : (uint8_t)DL_NODTYPE;
  }
  p->nout = kept->numel;
  p->count = red->numel;
  int64_t ks = kept->stride[0][kept->nd - 1], rs = red->stride[0][red->nd - 1];
  p->across = kept->size[kept->nd - 1] >= 4 && red->numel > 1 && magnitude(ks) < magnitude(rs);
  p->wide = p->across ? ACROSS : DL_BLOCK / threads_for(p->count);
  int64_t blocks = (p->nout + p->wide - 1) / p->wide, want = dl_cuda_environment.sm_count * WAVES;
  p->nchunk = blocks && blocks < want ? (want + blocks - 1) / blocks : 1;
  if (p->nchunk > p->count / CHUNK) p->nchunk = p->count / CHUNK;
  if (p->nchunk < 1) p->nchunk = 1;
  p->chunk = (p->count + p->nchunk - 1) / p->nchunk;
  p->parts = NULL;
}

/* ---- sums and products ----------------------------------------------------------------------- */
/* par: 1 for a sum, the number of elements for a mean */
template <class T> struct sum_fold {
  typedef T C;
  typedef T S;
  static __device__ __forceinline__ S first() { return 0; }
  static __device__ __forceinline__ S step(S s, C x, int64_t, double) { return s + x; }
  static __device__ __forceinline__ S join(S a, S b) { return a + b; }
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    dl_put(p.dout[0], p.out[0], k, p.par == 1.0 ? s : (S)(s / (S)p.par));
  }
};
template <class T> struct prod_fold {
  typedef T C;
  typedef T S;
  static __device__ __forceinline__ S first() { return 1; }
  static __device__ __forceinline__ S step(S s, C x, int64_t, double) { return s * x; }
  static __device__ __forceinline__ S join(S a, S b) { return a * b; }
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    dl_put(p.dout[0], p.out[0], k, s);
  }
};

static double reduced_count(const dl_kcall *c) {
  double n = 1;
  for (int d = 0; d < c->in[0].ndim; d++)
    if (c->dims & (1u << d)) n *= (double)c->in[0].size[d];
  return n;
}
DL_CUDA(sum) { return red_all<sum_fold>(c, 1.0, false, stream); }
DL_CUDA(sum_dim) { return red_all<sum_fold>(c, 1.0, false, stream); }
DL_CUDA(mean) { return red_real<sum_fold>(c, reduced_count(c), stream); }
DL_CUDA(mean_dim) { return red_real<sum_fold>(c, reduced_count(c), stream); }
DL_CUDA(prod) { return red_all<prod_fold>(c, 0.0, false, stream); }
DL_CUDA(prod_dim) { return red_all<prod_fold>(c, 0.0, false, stream); }

/* ---- all, any -------------------------------------------------------------------------------- */
template <class T> struct all_fold {
  typedef T C;
  typedef int S;
  static __device__ __forceinline__ S first() { return 1; }
  static __device__ __forceinline__ S step(S s, C x, int64_t, double) { return s & (x != 0); }
  static __device__ __forceinline__ S join(S a, S b) { return a & b; }
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    dl_put(p.dout[0], p.out[0], k, (int64_t)s);
  }
};
template <class T> struct any_fold : all_fold<T> {
  static __device__ __forceinline__ int first() { return 0; }
  static __device__ __forceinline__ int step(int s, T x, int64_t, double) { return s | (x != 0); }
  static __device__ __forceinline__ int join(int a, int b) { return a | b; }
};
DL_CUDA(all) { return red_all<all_fold>(c, 0.0, false, stream); }
DL_CUDA(any) { return red_all<any_fold>(c, 0.0, false, stream); }

/* ---- norms ----------------------------------------------------------------------------------- */
DL_FN float size_of(float x) { return dl_abs32(x); }
DL_FN double size_of(double x) { return dl_abs64(x); }
DL_FN float power(float x, float y) { return dl_pow32(x, y); }
DL_FN double power(double x, double y) { return pow(x, y); }
DL_FN float root(float x) { return DL_SQRT32(x); }
DL_FN double root(double x) { return DL_SQRT64(x); }

template <class T> struct norm1_fold : sum_fold<T> {
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) { return s + size_of(x); }
  static __device__ void finish(const red_call &p, int64_t k, T s) {
    dl_put(p.dout[0], p.out[0], k, s);
  }
};
template <class T> struct norm0_fold : norm1_fold<T> {
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) {
    return s + (T)(x != 0 ? 1 : 0);
  }
};
template <class T> struct norm2_fold : sum_fold<T> {
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) { return s + x * x; }
  static __device__ void finish(const red_call &p, int64_t k, T s) {
    dl_put(p.dout[0], p.out[0], k, root(s));
  }
};
template <class T> struct normp_fold : sum_fold<T> {
  static __device__ __forceinline__ T step(T s, T x, int64_t, double par) {
    return s + power(size_of(x), (T)par);
  }
  static __device__ void finish(const red_call &p, int64_t k, T s) {
    dl_put(p.dout[0], p.out[0], k, power(s, (T)(1.0 / p.par)));
  }
};
/* nan wins */
template <class T> struct norm_high_fold : norm1_fold<T> {
  static __device__ __forceinline__ T join(T a, T b) { return ((a > b) | (a != a)) ? a : b; }
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) {
    return join(s, size_of(x));
  }
};
template <class T> struct norm_low_fold : norm1_fold<T> {
  static __device__ __forceinline__ T first() { return red_ends<T>::high(); }
  static __device__ __forceinline__ T join(T a, T b) { return ((a < b) | (a != a)) ? a : b; }
  static __device__ __forceinline__ T step(T s, T x, int64_t, double) {
    return join(s, size_of(x));
  }
};

DL_CUDA(norm) {
  double p = dl_arg_given(&c->arg[1]) ? dl_arg_f(&c->arg[1]) : 2.0;
  if (p == 2.0) return red_real<norm2_fold>(c, p, stream);
  if (p == 1.0) return red_real<norm1_fold>(c, p, stream);
  if (p == 0.0) return red_real<norm0_fold>(c, p, stream);
  if (p - p == 0.0) return red_real<normp_fold>(c, p, stream);
  if (p > 0) return red_real<norm_high_fold>(c, p, stream);
  return red_real<norm_low_fold>(c, p, stream);
}

/* ---- variance: number, mean, sum of squared distances from it (Welford; Chan's join) --------- */
template <class T> struct spread { T n, mean, m2; };
/* par: what is subtracted from the number of elements */
template <class T> struct var_fold {
  typedef T C;
  typedef spread<T> S;
  static __device__ __forceinline__ S first() { return {0, 0, 0}; }
  static __device__ __forceinline__ S step(S s, C x, int64_t, double) {
    T n = s.n + 1, gap = x - s.mean, mean = s.mean + gap / n;
    return {n, mean, s.m2 + gap * (x - mean)};
  }
  static __device__ __forceinline__ S join(S a, S b) {
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    T n = a.n + b.n, gap = b.mean - a.mean, share = b.n / n;
    return {n, a.mean + gap * share, a.m2 + b.m2 + gap * gap * a.n * share};
  }
  static __device__ __forceinline__ T variance(const red_call &p, S s) {
    T free = (T)((double)p.count - p.par);
    return s.m2 / (free > 0 ? free : (T)0);
  }
  static __device__ void finish(const red_call &p, int64_t k, S s) {
    dl_put(p.dout[0], p.out[0], k, variance(p, s));
  }
};
template <class T> struct std_fold : var_fold<T> {
  static __device__ void finish(const red_call &p, int64_t k, spread<T> s) {
    dl_put(p.dout[0], p.out[0], k, root(var_fold<T>::variance(p, s)));
  }
};

static double correction(const dl_kcall *c) {
  return dl_arg_given(&c->arg[4]) ? dl_arg_f(&c->arg[4]) : c->arg[2].i ? 1.0 : 0.0;
}
DL_CUDA(var) { return red_real<var_fold>(c, correction(c), stream); }
DL_CUDA(std) { return red_real<std_fold>(c, correction(c), stream); }
