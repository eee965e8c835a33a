/* nll.cu -- kernels of nll_loss: one log-probability picked a target
 *
 * self (N, C, inner), target (N, inner), weight (C). Few targets are one block's work. Else every
 * block adds up its share of the picked values and of their weights, one block adds the shares.
 *
 * INVARIANT  A target out of bounds is noted and counts as ignored.
 * SOURCE     ATen/native/cuda/Loss.cu, NLLLoss2d.cu.
 * MUST NOT   know tensors. */
#include "block.h"

#include <string.h>

namespace {

enum { SHARES = 1024, ALONE = 8 }; /* shares at most; targets a thread before there are several */

struct nll {
  int64_t n, classes, inner, ignore;
  int target_dtype, weight_dtype, fault_code;
  const void *target, *weight;   /* weight: NULL = ones */
  dl_cuda_fault *fault;
};

/* The class of target i, -1 where ignored. */
__device__ inline int64_t class_at(const nll &j, int64_t i) {
  int64_t k = dl_get<int64_t>(j.target_dtype, j.target, i);
  if (k == j.ignore) return -1;
  if (k >= 0 && k < j.classes) return k;
  dl_fault(j.fault, j.fault_code);
  return -1;
}

__device__ inline double weight_of(const nll &j, int64_t k) {
  return j.weight ? dl_get<double>(j.weight_dtype, j.weight, k) : 1.0;
}

/* What becomes of the sums: `mean`, of the values kept one by one (then none), or neither. */
struct result { int dtype; void *out, *total; bool mean, kept; };

DL_FN void write_sums(const result &r, double sum, double total) {
  if (!r.kept) dl_put(r.dtype, r.out, 0, r.mean ? sum / total : sum);
  dl_put(r.dtype, r.total, 0, r.kept ? 0.0 : total);
}

/* part[block] = (values, weights); NULL for a single block, which writes the result */
__global__ void pick_all(nll j, int dtype, const void *self, result r, double *part) {
  double sum = 0, total = 0;
  DL_EACH(i, j.n * j.inner) {
    int64_t b = j.inner == 1 ? i : i / j.inner, k = class_at(j, i), at = i - b * j.inner;
    double w = k < 0 ? 0 : weight_of(j, k), l = 0;
    if (k >= 0) l = -w * dl_real_at(dtype, self, (b * j.classes + k) * j.inner + at);
    if (r.kept) dl_set(r.dtype, r.out, i, l);
    sum += l;
    total += w;
  }
  sum = dl_block_sum(sum);
  total = dl_block_sum(total);
  if (threadIdx.x > 0) return;
  if (part) part[2 * blockIdx.x] = sum, part[2 * blockIdx.x + 1] = total;
  else write_sums(r, sum, total);
}

__global__ void add_shares(const double *part, int n, result r) {
  double sum = 0, total = 0;
  for (int i = (int)threadIdx.x; i < n; i += DL_BLOCK) sum += part[2 * i], total += part[2 * i + 1];
  sum = dl_block_sum(sum);
  total = dl_block_sum(total);
  if (threadIdx.x == 0) write_sums(r, sum, total);
}

/* out is zeroed; scale: NULL = 1, else the number that divides */
__global__ void put_all(nll j, int g_dtype, const void *g, bool each, int scale_dtype,
                        const void *scale, int dtype, void *out) {
  double by = scale ? 1 / dl_get<double>(scale_dtype, scale, 0) : 1;
  DL_EACH(i, j.n * j.inner) {
    int64_t b = i / j.inner, k = class_at(j, i);
    if (k < 0) continue;
    double up = dl_get<double>(g_dtype, g, each ? i : 0);
    dl_put(dtype, out, (b * j.classes + k) * j.inner + i % j.inner, -weight_of(j, k) * up * by);
  }
}

/* inner is whatever follows the class dim; a 1-d self is one sample */
void sizes(nll *j, int ndim, const int64_t *size) {
  int at = ndim == 1 ? 0 : 1;
  j->n = ndim == 1 ? 1 : size[0];
  j->classes = size[at];
  j->inner = 1;
  for (int d = at + 1; d < ndim; d++) j->inner *= size[d];
}

dl_status operands(dl_kcall *c, nll *j, int64_t ignore, void *stream) {
  dl_cu_view t, w;
  DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &t));
  DL_TRY(dl_cu_contig(&c->in[2], DL_NODTYPE, stream, &w));
  j->ignore = ignore;
  j->target_dtype = t.v.dtype, j->target = t.v.data;
  j->weight_dtype = w.v.dtype, j->weight = w.v.dtype == DL_NODTYPE ? nullptr : w.v.data;
  j->fault = dl_cuda_environment.fault;
  return DL_OK;
}

dl_status forward(dl_kcall *c, int fault_code, void *stream) {
  dl_cu_view x;
  nll j = {};
  void *part = nullptr;
  const dl_view *out = &c->out[0];
  const char *how = c->arg[3].s;
  bool kept = strcmp(how, "none") == 0;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  DL_TRY(operands(c, &j, dl_arg_i(&c->arg[4]), stream));
  sizes(&j, x.v.ndim, x.v.size);
  j.fault_code = fault_code;
  result r = {out->dtype, out->data, c->out[1].data, strcmp(how, "mean") == 0, kept};
  unsigned blocks = dl_blocks(j.n * j.inner, ALONE);
  if (blocks > SHARES) blocks = SHARES;
  if (blocks > 1) DL_TRY(dl_cu_scratch(2 * blocks * sizeof(double), stream, &part));
  double *sums = static_cast<double *>(part);
  DL_LAUNCH(pick_all, blocks, DL_BLOCK, 0, stream, j, (int)x.v.dtype, x.v.data, r, sums);
  if (blocks > 1) DL_LAUNCH(add_shares, 1, DL_BLOCK, 0, stream, sums, (int)blocks, r);
  return DL_OK;
}

} /* namespace */

DL_CUDA(_nll_loss) { return forward(c, DL_FAULT_NLL, stream); }
DL_CUDA(_nll_loss2d) { return forward(c, DL_FAULT_NLL2D, stream); }

/* arg: grad (target's shape, or a number), target, weight, total_weight, input_size, reduction,
 * ignore_index */
DL_CUDA(nll_loss_backward) {
  dl_cu_view g;
  nll j = {};
  const dl_view *out = &c->out[0], *total = &c->in[3];
  const char *how = c->arg[5].s;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &g));
  DL_TRY(operands(c, &j, dl_arg_i(&c->arg[6]), stream));
  sizes(&j, out->ndim, out->size);
  j.fault_code = j.inner > 1 ? DL_FAULT_NLL2D : DL_FAULT_NLL;
  DL_TRY(dl_cu_zero(out->data, out->numel * dl_cu_esize(out), stream));
  DL_LAUNCH_EACH(put_all, j.n * j.inner, stream, j, (int)g.v.dtype, g.v.data,
                 strcmp(how, "none") == 0, (int)total->dtype,
                 strcmp(how, "mean") == 0 ? total->data : nullptr, (int)out->dtype, out->data);
  return DL_OK;
}
