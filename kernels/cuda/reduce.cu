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

enum { BLOCK_LOG = 8, ACROSS_LOG = 5, LEAST_LOG = 3 };
static_assert(1 << BLOCK_LOG == DL_BLOCK, "a block's threads");

/* log2 of the threads of an output: enough that each has about four elements. */
static int threads_for(int64_t count) {
  int each = LEAST_LOG;
  while (each < BLOCK_LOG && ((int64_t)4 << each) < count) each++;
  return each;
}

/* Do the elements of each output lie side by side, in packs? */
static bool is_packed(const dl_view *v, const dl_geo<1> &kept, const dl_geo<1> &red) {
  int64_t size = dl_cu_esize(v);
  bool good = red.nd == 1 && red.stride[0][0] == 1 && size <= 4 &&
              dl_is_aligned(v->data, (size_t)(RED_PACK * size));
  for (int d = 0; d < kept.nd; d++)
    good = good && (kept.size[d] == 1 || kept.stride[0][d] % RED_PACK == 0);
  return good;
}

/* Cut the elements of an output so that the card is full; a thread keeps some work. */
static void cut(red_call *p) {
  enum { WAVES = 8, LEAST = 8, LEAST_ACROSS = 32, MOST = 65535 };
  int64_t blocks = ((p->nout - 1) >> p->wide) + 1, want = dl_cuda_environment.sm_count * WAVES;
  int64_t least = (int64_t)(p->across ? LEAST_ACROSS : LEAST) << p->each;
  p->nchunk = blocks < want ? (want + blocks - 1) / blocks : 1;
  if (p->nchunk > p->count / least) p->nchunk = p->count / least;
  if (p->nchunk > MOST) p->nchunk = MOST;
  if (p->nchunk < 1) p->nchunk = 1;
  p->chunk = (p->count + p->nchunk - 1) / p->nchunk;
  p->chunk = (p->chunk + RED_PACK - 1) / RED_PACK * RED_PACK;
  if (p->chunk > 0) p->nchunk = (p->count + p->chunk - 1) / p->chunk;
  if (p->nchunk < 1) p->nchunk = 1;
}

void red_plan(red_call *p, dl_geo<1> *kept, dl_geo<1> *red, const dl_kcall *c, bool ordered) {
  const dl_view *v = &c->in[0];
  split_dims(v, c->dims, ordered, kept, red);
  *p = {};
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
  p->wide = p->across ? ACROSS_LOG : BLOCK_LOG - threads_for(p->count);
  p->each = BLOCK_LOG - p->wide;
  p->packed = !p->across && is_packed(v, *kept, *red);
  if (p->nout > 0) cut(p);
}

/* ---- sums and products ----------------------------------------------------------------------- */
/* par: 1 for a sum, the number of elements for a mean */
template <class T> struct sum_fold {
  typedef T C;
  typedef T S;
  enum { quick = std::is_same<T, float>::value ? 2 : 0 };
  DL_FN S first() { return 0; }
  DL_FN S step(S s, C x, int64_t, const red_call &) { return s + x; }
  DL_FN S join(S a, S b) { return a + b; }
  DL_FN void finish(const red_call &p, int64_t k, S s) {
    red_put(p, 0, k, p.par == 1.0 ? s : (S)(s / (S)p.par));
  }
};
template <class T> struct prod_fold {
  typedef T C;
  typedef T S;
  enum { quick = 0 };
  DL_FN S first() { return 1; }
  DL_FN S step(S s, C x, int64_t, const red_call &) { return s * x; }
  DL_FN S join(S a, S b) { return a * b; }
  DL_FN void finish(const red_call &p, int64_t k, S s) { red_put(p, 0, k, s); }
};

static double reduced_count(const dl_kcall *c) {
  double n = 1;
  for (int d = 0; d < c->in[0].ndim; d++)
    if (c->dims & (1u << d)) n *= (double)c->in[0].size[d];
  return n;
}
DL_CUDA(sum) { return red_all<sum_fold>(c, 1.0, 0, false, stream); }
DL_CUDA(sum_dim) { return red_all<sum_fold>(c, 1.0, 0, false, stream); }
DL_CUDA(mean) { return red_real<sum_fold>(c, reduced_count(c), 0, stream); }
DL_CUDA(mean_dim) { return red_real<sum_fold>(c, reduced_count(c), 0, stream); }
DL_CUDA(prod) { return red_all<prod_fold>(c, 0.0, 0, false, stream); }
DL_CUDA(prod_dim) { return red_all<prod_fold>(c, 0.0, 0, false, stream); }

/* ---- all, any: any is not (all not) ---------------------------------------------------------- */
struct logic_fold {
  typedef bool C;
  typedef int S;
  enum { quick = 0, ANY = 1 };
  DL_FN S first() { return 1; }
  DL_FN S step(S s, C x, int64_t, const red_call &p) {
    return s & (x != (p.kind == ANY));
  }
  DL_FN S join(S a, S b) { return a & b; }
  DL_FN void finish(const red_call &p, int64_t k, S s) {
    red_put(p, 0, k, (int64_t)(s != (p.kind == ANY)));
  }
};
DL_CUDA(all) { return red_run<logic_fold>(c, 0.0, 0, false, stream); }
DL_CUDA(any) { return red_run<logic_fold>(c, 0.0, logic_fold::ANY, false, stream); }

/* ---- norms ----------------------------------------------------------------------------------- */
DL_FN float power(float x, float y) { return dl_pow32(x, y); }
DL_FN double power(double x, double y) { return pow(x, y); }
DL_FN float root(float x) { return DL_SQRT32(x); }
DL_FN double root(double x) { return DL_SQRT64(x); }

template <class T> struct norm2_fold : sum_fold<T> {
  DL_FN T step(T s, T x, int64_t, const red_call &) { return s + x * x; }
  DL_FN void finish(const red_call &p, int64_t k, T s) { red_put(p, 0, k, root(s)); }
};
/* par: p, which is finite */
template <class T> struct norm_fold : sum_fold<T> {
  enum { quick = 0 };
  DL_FN T step(T s, T x, int64_t, const red_call &p) {
    if (p.par == 0.0) return s + (T)(x != 0 ? 1 : 0);
    return s + (p.par == 1.0 ? red_size(x) : power(red_size(x), (T)p.par));
  }
  DL_FN void finish(const red_call &p, int64_t k, T s) {
    bool plain = p.par == 0.0 || p.par == 1.0;
    red_put(p, 0, k, plain ? s : power(s, (T)(1.0 / p.par)));
  }
};

DL_CUDA(norm) {
  double p = dl_arg_given(&c->arg[1]) ? dl_arg_f(&c->arg[1]) : 2.0;
  if (p == 2.0) return red_real<norm2_fold>(c, p, 0, stream);
  if (p - p == 0.0) return red_real<norm_fold>(c, p, 0, stream);
  return red_largest(c, p > 0 ? RED_SIZE : RED_SIZE | RED_LOW, stream);
}

/* ---- variance: number, mean, sum of squared distances from it (Welford; Chan's join) --------- */
template <class T> struct spread { T n, mean, m2; };
/* par: what is subtracted from the number of elements; kind: whether the root is asked for */
template <class T> struct var_fold {
  typedef T C;
  typedef spread<T> S;
  enum { quick = 0 };
  DL_FN S first() { return {0, 0, 0}; }
  DL_FN S step(S s, C x, int64_t, const red_call &) {
    T n = s.n + 1, gap = x - s.mean, mean = s.mean + gap / n;
    return {n, mean, s.m2 + gap * (x - mean)};
  }
  DL_FN S join(S a, S b) {
    if (b.n == 0) return a;
    if (a.n == 0) return b;
    T n = a.n + b.n, gap = b.mean - a.mean, share = b.n / n;
    return {n, a.mean + gap * share, a.m2 + b.m2 + gap * gap * a.n * share};
  }
  DL_FN void finish(const red_call &p, int64_t k, S s) {
    T free = (T)((double)p.count - p.par), v = s.m2 / (free > 0 ? free : (T)0);
    red_put(p, 0, k, p.kind ? root(v) : v);
  }
};

static double correction(const dl_kcall *c) {
  return dl_arg_given(&c->arg[4]) ? dl_arg_f(&c->arg[4]) : c->arg[2].i ? 1.0 : 0.0;
}
DL_CUDA(var) { return red_real<var_fold>(c, correction(c), 0, stream); }
DL_CUDA(std) { return red_real<var_fold>(c, correction(c), 1, stream); }
