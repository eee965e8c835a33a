/* loss.cu -- kernels of the pair losses: mse, smooth_l1, huber, binary cross entropy
 *
 * A pair loss is a formula of (prediction, target), then kept, summed or averaged in the same pass:
 * every block adds up its share, one block adds the shares.
 *
 * INVARIANT  Sums are made in double, in an order that depends on the number of elements alone.
 * MUST NOT   know tensors. */
#include "block.h"

#include <math.h>
#include <string.h>

namespace {

enum { SHARES = 1024 };

/* ---- formulas: x prediction, t target, w and pw optional weights ---------------------------- */
template <class C> struct operands { C x, t, w, pw; };

DL_FN float log_of(float x) { return logf(x); }
DL_FN double log_of(double x) { return log(x); }
DL_FN float log1p_of(float x) { return log1pf(x); }
DL_FN double log1p_of(double x) { return log1p(x); }
DL_FN float exp_of(float x) { return expf(x); }
DL_FN double exp_of(double x) { return exp(x); }
template <class C> __device__ C abs_of(C x) { return x < 0 ? -x : x; }
/* nan stays */
template <class C> __device__ C at_least(C x, C least) { return x < least ? least : x; }

struct mse {
  template <class C> __device__ C of(const operands<C> &v, C, dl_cuda_fault *) const {
    C d = v.x - v.t;
    return d * d;
  }
};

struct smooth_l1 {
  template <class C> __device__ C of(const operands<C> &v, C p, dl_cuda_fault *) const {
    C d = v.x - v.t, a = abs_of(d);
    return a < p ? (C)0.5 * d * d / p : a - (C)0.5 * p;
  }
};

struct huber {
  template <class C> __device__ C of(const operands<C> &v, C p, dl_cuda_fault *) const {
    C d = v.x - v.t, a = abs_of(d);
    return a <= p ? (C)0.5 * d * d : p * (a - (C)0.5 * p);
  }
};

/* Logarithms are cut at -100, so that a wrong certainty costs a finite loss. */
struct bce {
  template <class C> __device__ C of(const operands<C> &v, C, dl_cuda_fault *fault) const {
    if (!(v.x >= 0 && v.x <= 1)) dl_fault(fault, DL_FAULT_BCE);
    return ((v.t - 1) * at_least(log1p_of(-v.x), (C)-100) -
            v.t * at_least(log_of(v.x), (C)-100)) * v.w;
  }
};

struct bce_logits {
  template <class C> __device__ C of(const operands<C> &v, C, dl_cuda_fault *) const {
    C soft = log1p_of(exp_of(-abs_of(v.x))) + (v.x < 0 ? -v.x : (C)0);
    return ((1 - v.t) * v.x + ((v.pw - 1) * v.t + 1) * soft) * v.w;
  }
};

/* ---- the pass ------------------------------------------------------------------------------- */
struct pair {
  const void *x, *t, *w, *pw;    /* all of one dtype; w, pw: NULL = 1 */
  double p;
  int64_t n;
  int out_dtype;
  void *out;                     /* kept: every element */
  double *part;                  /* summed: one a block */
  dl_cuda_fault *fault;
};

template <class T, class C> __device__ C one(const void *p, int64_t i) {
  return p ? dl_as<C>(static_cast<const T *>(p)[i]) : C(1);
}

template <class T, class L> __global__ void loss_all(pair j, L loss) {
  typedef typename dl_wide<T>::type C;
  double sum = 0;
  DL_EACH(i, j.n) {
    operands<C> v = {one<T, C>(j.x, i), one<T, C>(j.t, i), one<T, C>(j.w, i), one<T, C>(j.pw, i)};
    C l = loss.of(v, (C)j.p, j.fault);
    if (j.out) dl_put(j.out_dtype, j.out, i, l);
    else sum += (double)l;
  }
  if (!j.part) return;
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) j.part[blockIdx.x] = sum;
}

__global__ void add_shares(const double *part, int n, double divide, int dtype, void *out) {
  double sum = 0;
  for (int i = (int)threadIdx.x; i < n; i += DL_BLOCK) sum += part[i];
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) dl_put(dtype, out, 0, sum / divide);
}

/* Operands of the result's dtype are taken as they are, others in the arithmetic's. */
dl_status gather(dl_kcall *c, pair *j, int nin, void *stream, uint8_t *dtype) {
  const void **to[4] = {&j->x, &j->t, &j->w, &j->pw};
  bool same = true;
  for (int k = 0; k < nin; k++)
    same = same && (c->in[k].dtype == DL_NODTYPE || c->in[k].dtype == c->out[0].dtype);
  *dtype = same ? c->out[0].dtype : c->compute;
  for (int k = 0; k < nin; k++) {
    dl_cu_view v;
    if (c->in[k].dtype == DL_NODTYPE) continue;
    DL_TRY(dl_cu_contig(&c->in[k], *dtype, stream, &v));
    *to[k] = v.v.data;
  }
  return DL_OK;
}

template <class T, class L>
void launch(const pair &j, const L &loss, unsigned blocks, void *stream) {
  DL_LAUNCH((loss_all<T, L>), blocks, DL_BLOCK, 0, stream, j, loss);
}

template <class L>
dl_status run(dl_kcall *c, const L &loss, int nin, double p, const dl_arg *reduction,
              void *stream) {
  const dl_view *out = &c->out[0];
  bool keep = strcmp(reduction->s, "none") == 0, mean = strcmp(reduction->s, "mean") == 0;
  uint8_t dtype;
  pair j = {};
  DL_TRY(gather(c, &j, nin, stream, &dtype));
  j.p = p, j.n = c->in[0].numel, j.out_dtype = out->dtype, j.fault = dl_cuda_environment.fault;
  unsigned blocks = dl_blocks(j.n, keep ? 1 : 8);
  if (keep) {
    j.out = out->data;
    if (j.n == 0) return DL_OK;
  } else {
    void *part;
    if (blocks > SHARES) blocks = SHARES;
    DL_TRY(dl_cu_scratch(blocks * sizeof(double), stream, &part));
    j.part = static_cast<double *>(part);
  }
  DL_BY_FLOAT(dtype, launch<T>(j, loss, blocks, stream));
  if (!keep)
    DL_LAUNCH(add_shares, 1, DL_BLOCK, 0, stream, j.part, (int)blocks, mean ? (double)j.n : 1.0,
              (int)out->dtype, out->data);
  return DL_OK;
}

} /* namespace */

DL_CUDA(_mse_loss) { return run(c, mse(), 2, 0, &c->arg[2], stream); }

DL_CUDA(_smooth_l1_loss) {
  return run(c, smooth_l1(), 2, dl_arg_f(&c->arg[3]), &c->arg[2], stream);
}

DL_CUDA(_huber_loss) { return run(c, huber(), 2, dl_arg_f(&c->arg[3]), &c->arg[2], stream); }

DL_CUDA(_bce_loss) { return run(c, bce(), 3, 0, &c->arg[3], stream); }

DL_CUDA(_bce_logits_loss) { return run(c, bce_logits(), 4, 0, &c->arg[4], stream); }
