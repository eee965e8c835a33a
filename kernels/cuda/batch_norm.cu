/* batch_norm.cu -- kernels of batch normalisation, forward and gradient
 *
 * Input (n, channels, inner…). Three steps: blocks sum shares of a channel, a thread a channel
 * makes of them the statistics and the factors of an affine map, and one pass applies that.
 *
 *     y = (x - mean) * invstd * weight + bias
 *     running = (1 - momentum) * running + momentum * batch   (variance over n - 1)
 *
 * INVARIANT  Shares are added in a fixed order, in double.
 * SOURCE     ATen/native/cuda/Normalization.cuh.
 * MUST NOT   know tensors. */
#include "pack.h"

#include <math.h>

namespace {

enum { LANES = 32, ROWS = DL_BLOCK / LANES };

struct job {
  int64_t n, channels, inner;
  int shares;                    /* blocks a channel */
  int dtype;                     /* of x, g and the result */
  const void *x, *g;             /* g: NULL = forward */
  double *part;                  /* [channel][share][2] */
  dl_over by_inner, by_channels; /* of an element's number */
};

/* One number a channel: its dtype is known at run time; NULL = not given. */
struct vec {
  int dtype;
  void *p;
  template <class C> __device__ C get(int64_t c, C absent) const {
    return p ? dl_get<C>(dtype, p, c) : absent;
  }
  template <class C> __device__ void put(int64_t c, C v) const {
    if (p) dl_put(dtype, p, c, v);
  }
};

/* ---- sums: of d and d * d, or of g and g * d, where d = x - centre -------------------------- */
template <class C> struct sums { C a, b; };

template <class C> DL_FN void add_element(sums<C> *s, const job &j, int64_t at, C centre) {
  C d = dl_num_get(j.dtype, j.x, at, C()) - centre;
  C g = j.g ? dl_num_get(j.dtype, j.g, at, C()) : d;
  s->a += g;
  s->b = dl_mad(g, d, s->b);
}

/* Forward: the channel's first element, near enough to the mean that nothing cancels. */
template <class C> DL_FN C centre_of(const job &j, const vec &mean, int64_t c) {
  return j.g ? mean.get<C>(c, 0) : dl_num_get(j.dtype, j.x, c * j.inner, C());
}

/* blockIdx: share, channel */
template <class C> __global__ void sum_planes(job j, vec mean) {
  int64_t each = j.n * j.inner, from = each * blockIdx.x / j.shares;
  int64_t to = each * (blockIdx.x + 1) / j.shares;
  for (int64_t c = blockIdx.y; c < j.channels; c += gridDim.y) {
    C centre = centre_of<C>(j, mean, c);
    sums<C> s = {0, 0};
    for (int64_t e = from + threadIdx.x; e < to; e += DL_BLOCK) {
      int64_t b = j.by_inner.of(e);
      add_element(&s, j, (b * j.channels + c) * j.inner + (e - b * j.inner), centre);
    }
    double a = dl_block_sum((double)s.a), q = dl_block_sum((double)s.b);
    double *part = j.part + (c * j.shares + blockIdx.x) * 2;
    if (threadIdx.x == 0) part[0] = a, part[1] = q;
  }
}

/* inner = 1: lanes take channels, warps take samples; blockIdx: share, 32 channels */
template <class C> __global__ void sum_columns(job j, vec mean) {
  DL_SHARED(double, part, [2 * ROWS][LANES]);
  int lane = (int)threadIdx.x % LANES, row = (int)threadIdx.x / LANES;
  int64_t from = j.n * blockIdx.x / j.shares, to = j.n * (blockIdx.x + 1) / j.shares;
  int64_t c0 = (int64_t)blockIdx.y * LANES;
  for (; c0 < j.channels; c0 += (int64_t)gridDim.y * LANES) {
    int64_t c = c0 + lane;
    sums<C> s = {0, 0};
    if (c < j.channels) {
      C centre = centre_of<C>(j, mean, c);
      for (int64_t b = from + row; b < to; b += ROWS)
        add_element(&s, j, b * j.channels + c, centre);
    }
    part[row][lane] = (double)s.a;
    part[ROWS + row][lane] = (double)s.b;
    __syncthreads();
    if (row < 2 && c < j.channels) {
      double sum = 0;
      for (int i = 0; i < ROWS; i++) sum += part[row * ROWS + i][lane];
      j.part[(c * j.shares + blockIdx.x) * 2 + row] = sum;
    }
    __syncthreads();
  }
}

/* ---- a thread a channel --------------------------------------------------------------------- */
DL_FN double share_sum(const job &j, int64_t c, int which) {
  double sum = 0;
  for (int s = 0; s < j.shares; s++) sum += j.part[(c * j.shares + s) * 2 + which];
  return sum;
}

struct stats { vec w, b, rm, rv, mean, inv; double momentum, eps; bool training; };

/* y = p x + q g + r */
template <class C> struct affine { C *p, *q, *r; };

template <class C> __global__ void finish(job j, stats s, affine<C> f) {
  double count = (double)(j.n * j.inner), m = s.momentum;
  DL_EACH(c, j.channels) {
    double mean = s.rm.get<double>(c, 0), inv = 1 / sqrt(s.rv.get<double>(c, 0) + s.eps);
    if (s.training) {
      double a = share_sum(j, c, 0), squares = share_sum(j, c, 1) - a * a / count;
      mean = (double)centre_of<C>(j, s.mean, c) + a / count;
      squares = squares < 0 ? 0 : squares;
      inv = 1 / sqrt(squares / count + s.eps);
      s.rm.put(c, m * mean + (1 - m) * s.rm.get<double>(c, 0));
      s.rv.put(c, m * (squares / (count - 1)) + (1 - m) * s.rv.get<double>(c, 0));
      s.mean.put(c, mean);
      s.inv.put(c, inv);
    }
    double p = inv * s.w.get<double>(c, 1);
    f.p[c] = (C)p;
    f.r[c] = (C)(s.b.get<double>(c, 0) - mean * p);
  }
}

/* Training: gi = invstd w (g - mean(g) - xhat mean(g xhat)); else gi = invstd w g. */
template <class C> __global__ void finish_back(job j, stats s, vec gw, vec gb, affine<C> f) {
  double count = (double)(j.n * j.inner);
  DL_EACH(c, j.channels) {
    double mean = s.mean.get<double>(c, 0), inv = s.inv.get<double>(c, 0);
    if (!s.training) inv = 1 / sqrt(inv + s.eps);
    double w = s.w.get<double>(c, 1), sg = share_sum(j, c, 0), sgx = share_sum(j, c, 1);
    double slope = s.training ? -sgx * inv * inv * inv * w / count : 0;
    gw.put(c, sgx * inv);
    gb.put(c, sg);
    f.p[c] = (C)slope;
    f.q[c] = (C)(inv * w);
    f.r[c] = (C)(s.training ? -inv * w * sg / count - slope * mean : 0);
  }
}

/* ---- the pass over all ---------------------------------------------------------------------- */
template <class C> DL_FN C mapped(const job &j, const affine<C> &f, int64_t c, C x, C g) {
  C v = f.p[c] * x;
  if (j.g) v += f.q[c] * g;
  return v + f.r[c];
}
template <class C> __global__ void apply(job j, affine<C> f, void *y, int64_t count) {
  DL_EACH(i, count) {
    int64_t plane = j.by_inner.of(i), c = plane - j.by_channels.of(plane) * j.channels;
    C x = dl_num_get(j.dtype, j.x, i, C()), g = j.g ? dl_num_get(j.dtype, j.g, i, C()) : C(0);
    dl_num_put(j.dtype, y, i, mapped(j, f, c, x, g));
  }
}
/* Four neighbours of one channel at a time. */
__global__ void apply_packs(job j, affine<float> f, char *y, int64_t packs) {
  int size = j.dtype == DL_F32 ? 4 : 2;
  DL_EACH(i, packs) {
    int64_t at = i * DL_FOUR, plane = j.by_inner.of(at);
    int64_t c = plane - j.by_channels.of(plane) * j.channels;
    dl_four raw[2] = {};
    float x[DL_FOUR], g[DL_FOUR];
    raw[0] = dl_four_read(j.dtype, j.x, at);
    if (j.g) raw[1] = dl_four_read(j.dtype, j.g, at);
    dl_four_open(raw[0], j.dtype, x);
    dl_four_open(raw[1], j.dtype, g);
    DL_UNROLL
    for (int e = 0; e < DL_FOUR; e++) x[e] = mapped(j, f, c, x[e], g[e]);
    dl_four_write(y + at * size, j.dtype, x);
  }
}

template <class C> void apply_all(const job &j, const affine<C> &f, char *y, void *stream) {
  int64_t count = j.n * j.channels * j.inner;
  if constexpr (sizeof(C) == 4) {
    size_t bytes = (size_t)(DL_FOUR * dl_dtypes[j.dtype].size);
    if (j.inner % DL_FOUR == 0 && dl_is_aligned(j.x, bytes) && dl_is_aligned(j.g, bytes) &&
        dl_is_aligned(y, bytes)) {
      DL_LAUNCH_EACH(apply_packs, count / DL_FOUR, stream, j, f, y, count / DL_FOUR);
      return;
    }
  }
  DL_LAUNCH_EACH(apply<C>, count, stream, j, f, y, count);
}

template <class C> void sum_all(const job &j, vec mean, void *stream) {
  int64_t tall = j.inner == 1 ? (j.channels + LANES - 1) / LANES : j.channels;
  dim3 grid((unsigned)j.shares, (unsigned)(tall < 65535 ? tall : 65535));
  if (j.inner == 1) DL_LAUNCH(sum_columns<C>, grid, DL_BLOCK, 0, stream, j, mean);
  else DL_LAUNCH(sum_planes<C>, grid, DL_BLOCK, 0, stream, j, mean);
}

/* ---- the host's side ------------------------------------------------------------------------ */
job job_of(const dl_view *x) {
  job j = {};
  j.n = x->size[0];
  j.channels = x->ndim > 1 ? x->size[1] : 0;
  j.inner = 1;
  for (int d = 2; d < x->ndim; d++) j.inner *= x->size[d];
  j.by_inner = dl_over_by(j.inner, x->numel);
  j.by_channels = dl_over_by(j.channels, x->numel);
  int64_t most = j.n * j.inner / 1024 + 1;
  int64_t want = 2048 / (j.inner == 1 ? j.channels / LANES + 1 : j.channels + 1) + 1;
  j.shares = (int)(want < most ? want : most);
  j.x = x->data;
  j.dtype = x->dtype;
  return j;
}

template <class C> dl_status room(job *j, affine<C> *f, void *stream) {
  void *mem;
  DL_TRY(dl_cu_scratch((size_t)(j->channels * 3) * sizeof(C), stream, &mem));
  f->p = static_cast<C *>(mem);
  f->q = f->p + j->channels;
  f->r = f->q + j->channels;
  DL_TRY(dl_cu_scratch((size_t)(j->channels * j->shares * 2) * sizeof(double), stream, &mem));
  j->part = static_cast<double *>(mem);
  return DL_OK;
}

template <class C> dl_status forward(job j, const stats &s, const dl_view *y, void *stream) {
  affine<C> f;
  DL_TRY(room(&j, &f, stream));
  if (s.training) sum_all<C>(j, s.mean, stream);
  DL_LAUNCH_EACH(finish<C>, j.channels, stream, j, s, f);
  apply_all(j, f, y->data, stream);
  return DL_OK;
}

template <class C>
dl_status backward(job j, const stats &s, vec gw, vec gb, const dl_view *y, void *stream) {
  affine<C> f;
  DL_TRY(room(&j, &f, stream));
  sum_all<C>(j, s.mean, stream);
  DL_LAUNCH_EACH(finish_back<C>, j.channels, stream, j, s, gw, gb, f);
  apply_all(j, f, y->data, stream);
  return DL_OK;
}

vec vec_of(const dl_view *v) { return {v->dtype, v->dtype == DL_NODTYPE ? nullptr : v->data}; }

dl_status dense(const dl_view *v, void *stream, dl_cu_view *room, vec *out) {
  DL_TRY(dl_cu_contig(v, DL_NODTYPE, stream, room));
  *out = vec_of(&room->v);
  return DL_OK;
}

} /* namespace */

/* arg: input, weight, bias, running_mean, running_var, training, momentum, eps */
DL_CUDA(native_batch_norm) {
  dl_cu_view x, v[4];
  stats s = {};
  vec *const to[4] = {&s.w, &s.b, &s.rm, &s.rv};
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  for (int k = 0; k < 4; k++) DL_TRY(dense(&c->in[1 + k], stream, &v[k], to[k]));
  s.training = c->arg[5].i, s.momentum = dl_arg_f(&c->arg[6]), s.eps = dl_arg_f(&c->arg[7]);
  if (s.training) s.mean = vec_of(&c->out[1]), s.inv = vec_of(&c->out[2]);
  job j = job_of(&x.v);
  if (x.v.numel == 0) {
    for (int k = 1; k < 3; k++)
      DL_TRY(dl_cu_zero(c->out[k].data, c->out[k].numel * dl_cu_esize(&c->out[k]), stream));
    return DL_OK;
  }
  DL_BY_REAL(x.v.dtype, DL_TRY(forward<C>(j, s, &c->out[0], stream)));
  for (int k = 2; k < 4 && s.training; k++)
    if (v[k].v.data != c->in[1 + k].data) DL_TRY(dl_cu_copy(&c->in[1 + k], &v[k].v, stream));
  return DL_OK;
}

/* arg: grad, input, weight, running_mean, running_var, save_mean, save_invstd, training, eps */
DL_CUDA(native_batch_norm_backward) {
  dl_cu_view g, x, w, mean, inv;
  stats s = {};
  s.training = c->arg[7].i, s.eps = dl_arg_f(&c->arg[8]);
  int first = s.training ? 5 : 3; /* without training inv holds the running variance */
  DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &x));
  DL_TRY(dl_cu_contig(&c->in[0], x.v.dtype, stream, &g));
  DL_TRY(dense(&c->in[2], stream, &w, &s.w));
  DL_TRY(dense(&c->in[first], stream, &mean, &s.mean));
  DL_TRY(dense(&c->in[first + 1], stream, &inv, &s.inv));
  vec gw = vec_of(&c->out[1]), gb = vec_of(&c->out[2]);
  if (x.v.numel == 0) {
    DL_TRY(dl_cu_zero(gw.p, c->out[1].numel * dl_cu_esize(&c->out[1]), stream));
    return dl_cu_zero(gb.p, c->out[2].numel * dl_cu_esize(&c->out[2]), stream);
  }
  job j = job_of(&x.v);
  j.g = g.v.data;
  DL_BY_REAL(x.v.dtype, DL_TRY(backward<C>(j, s, gw, gb, &c->out[0], stream)));
  return DL_OK;
}
