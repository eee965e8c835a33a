/* multinomial.cu -- drawing classes by weight, with the numbers that PyTorch draws on a GPU
 *
 * Without replacement (or one sample) each class gets weight / exponential draw and the largest
 * win; with replacement a uniform number is looked up in the cumulated weights.
 *
 * SOURCE     ATen/native/Distributions.cpp (multinomial_out), cuda/MultinomialKernel.cu,
 *            core/TransformationHelper.h (exponential).
 * MUST NOT   know tensors. */
#include "order.h"

namespace {

/* ---- checks: the caller waits for them, as PyTorch does ------------------------------------- */
enum { BAD_WEIGHT = 1, NO_WEIGHT = 2 };

/* A block a row: flags |= what is wrong with it. */
__global__ void check_rows(int dtype, const void *x, int64_t n, int *flags) {
  double sum = 0;
  bool bad = false;
  for (int64_t k = threadIdx.x; k < n; k += DL_BLOCK) {
    double p = dl_get<double>(dtype, x, blockIdx.x * n + k);
    bad = bad || !(p >= 0) || p - p != 0;
    sum += p;
  }
  if (bad) atomicOr(flags, BAD_WEIGHT);
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0 && !(sum > 0)) atomicOr(flags, NO_WEIGHT);
}

dl_status no_weight() {
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "invalid multinomial distribution (sum of probabilities <= 0)");
}

dl_status check(const dl_view *x, int64_t rows, int64_t n, void *stream) {
  void *mem;
  int flags = 0;
  DL_TRY(dl_cu_scratch(sizeof flags, stream, &mem));
  DL_TRY(dl_cu_zero(mem, sizeof flags, stream));
  DL_LAUNCH(check_rows, (unsigned)rows, DL_BLOCK, 0, stream, (int)x->dtype, x->data, n, (int *)mem);
  DL_TRY(dl_cuda_environment.read(&flags, mem, sizeof flags, stream));
  if (flags & BAD_WEIGHT)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "probability tensor contains either `inf`, `nan` or element < 0");
  return flags & NO_WEIGHT ? no_weight() : DL_OK;
}

/* ---- a race: weight / exponential draw ------------------------------------------------------ */
/* Element i of a launch of `threads` threads, each drawing four words at a time. */
struct draws { uint64_t seed, offset; int64_t threads; };

DL_FN float uniform(const draws &d, int64_t i, float) {
  int64_t k = i / d.threads;
  dl_philox4 w = dl_philox(d.seed, (uint64_t)(i % d.threads), d.offset + 4 * (uint64_t)(k / 4));
  return dl_philox_uniform(w.x[k % 4]);
}
DL_FN double uniform(const draws &d, int64_t i, double) {
  int64_t k = i / d.threads;
  dl_philox4 w = dl_philox(d.seed, (uint64_t)(i % d.threads), d.offset + 4 * (uint64_t)(k / 2));
  return dl_philox_uniform64(w.x[2 * (k % 2)], w.x[2 * (k % 2) + 1]);
}
/* u in (0, 1]; the result is never 0 */
DL_FN float exponential(float u) {
  const float half = 5.9604644775390625e-08f;
#ifdef __CUDA_ARCH__
  return u >= 1 - half ? half : -__logf(u); /* as PyTorch */
#else
  return u >= 1 - half ? half : -logf(u);
#endif
}
DL_FN double exponential(double u) {
  const double half = 1.1102230246251565e-16;
  return u >= 1 - half ? half : -log(u);
}

template <class T> __global__ void race(const T *weight, draws d, int64_t count, T *out) {
  typedef typename dl_wide<T>::type C;
  DL_EACH(i, count) {
    T q = dl_to<T>(exponential(uniform(d, i, C())));
    out[i] = dl_to<T>(dl_as<C>(weight[i]) / dl_as<C>(q));
  }
}

__global__ void write_winners(dl_cu_order o, int64_t samples, int64_t count, int64_t *out) {
  DL_EACH(i, count) out[i] = o.at[i / samples * o.n + i % samples];
}

dl_status by_race(dl_kcall *c, const dl_view *x, int64_t samples, void *stream) {
  dl_gen *gen = c->gen;
  dl_cu_view speed;
  dl_cu_order o;
  int64_t count = c->out[0].numel;
  uint32_t blocks = dl_philox_blocks(x->numel, gen->max_blocks);
  draws d = {gen->seed, gen->offset, (int64_t)blocks * DL_PHILOX_BLOCK};
  int64_t each = d.threads * (x->dtype == DL_F64 ? 2 : 4);
  gen->offset += (uint64_t)((x->numel - 1) / each + 1) * 4;
  DL_TRY(dl_cu_like(x, x->dtype, stream, &speed));
  DL_BY_FLOAT(x->dtype, DL_LAUNCH_EACH(race<T>, x->numel, stream,
                                       reinterpret_cast<const T *>(x->data), d, x->numel,
                                       reinterpret_cast<T *>(speed.v.data)));
  DL_TRY(dl_cu_order_view(&speed.v, -1, true, stream, &o));
  DL_LAUNCH_EACH(write_winners, count, stream, o, samples, count,
                 reinterpret_cast<int64_t *>(c->out[0].data));
  return DL_OK;
}

/* ---- a look-up in cumulated weights --------------------------------------------------------- */
/* A block a row: upto[k] = the share of classes 0 to k; each thread sums one run of classes. */
template <class C>
__global__ void cumulate(int dtype, const void *x, int64_t n, C *upto, dl_cuda_fault *fault) {
  DL_SHARED(double, part, [DL_BLOCK]);
  int64_t each = (n + DL_BLOCK - 1) / DL_BLOCK, from = threadIdx.x * each, row = blockIdx.x * n;
  double sum = 0, before = 0, total = 0;
  for (int64_t k = from; k < from + each && k < n; k++) {
    double p = dl_get<double>(dtype, x, row + k);
    if (!(p >= 0)) dl_fault(fault, DL_FAULT_WEIGHTS);
    sum += p;
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned i = 0; i < DL_BLOCK; i++) {
    if (i == threadIdx.x) before = total;
    total += part[i];
  }
  if (threadIdx.x == 0 && !(total > 0)) dl_fault(fault, DL_FAULT_WEIGHTS);
  for (int64_t k = from; k < from + each && k < n; k++) {
    before += dl_get<double>(dtype, x, row + k);
    upto[row + k] = (C)(before / total);
  }
}

struct lookup {
  uint64_t seed, offset;
  int64_t n, samples, across, down; /* classes; PyTorch's launch: threads across, blocks down */
  int dtype;
  const void *x;
};

template <class C> __global__ void look_up(lookup s, const C *upto, int64_t count, int64_t *out) {
  DL_EACH(i, count) {
    int64_t row = i / s.samples, lo = 0, hi = s.n;
    uint64_t thread = (uint64_t)(row % s.down * s.across + i % s.samples);
    dl_philox4 w = dl_philox(s.seed, thread, s.offset + 4 * (uint64_t)(row / s.down));
    C u = (C)dl_philox_uniform(w.x[0]);
    while (lo < hi) {
      int64_t mid = lo + (hi - lo) / 2;
      if (upto[row * s.n + mid] < u) lo = mid + 1;
      else hi = mid;
    }
    if (lo == s.n) lo = s.n - 1;
    while (lo >= 1 && !(dl_get<double>(s.dtype, s.x, row * s.n + lo) > 0)) lo--;
    out[i] = lo;
  }
}

template <class C>
dl_status by_lookup(dl_kcall *c, const dl_view *x, int64_t rows, int64_t samples, void *stream) {
  dl_gen *gen = c->gen;
  void *mem;
  int64_t n = x->size[x->ndim - 1], count = c->out[0].numel, down = rows < 65535 ? rows : 65535;
  lookup s = {gen->seed, gen->offset, n, samples, (samples + 127) / 128 * 128, down, x->dtype,
              x->data};
  gen->offset += (uint64_t)((rows + down - 1) / down) * 4;
  DL_TRY(dl_cu_scratch((size_t)x->numel * sizeof(C), stream, &mem));
  C *upto = static_cast<C *>(mem);
  DL_LAUNCH(cumulate<C>, (unsigned)rows, DL_BLOCK, 0, stream, (int)x->dtype, x->data, n, upto,
            dl_cuda_environment.fault);
  DL_LAUNCH_EACH(look_up<C>, count, stream, s, (const C *)upto, count,
                 reinterpret_cast<int64_t *>(c->out[0].data));
  return DL_OK;
}

} /* namespace */

DL_CUDA(multinomial) {
  dl_cu_view x;
  int64_t samples = c->arg[1].i;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  int64_t n = x.v.size[x.v.ndim - 1], rows = x.v.ndim == 2 ? x.v.size[0] : 1;
  if (rows == 0) return DL_OK;
  if (n == 0) return no_weight();
  if (c->arg[2].i && samples > 1) {
    DL_BY_REAL(x.v.dtype, return by_lookup<C>(c, &x.v, rows, samples, stream));
  }
  DL_TRY(check(&x.v, rows, n, stream));
  return by_race(c, &x.v, samples, stream);
}
