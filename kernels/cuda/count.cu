/* count.cu -- counting and looking up: bincount, histc, searchsorted, nonzero
 *
 * Counts are integers until they are written, so that they do not depend on the order of the
 * threads; weighted ones are sums of floats in any order, as PyTorch's are.
 *
 * SOURCE     ATen/native/cuda/SummaryOps.cu, Bucketization.cu (which side a tie falls on).
 * MUST NOT   know tensors. */
#include "geo.h"
#include "index.h"

namespace {

typedef unsigned long long count_t;

enum { NEAR = 2048 }; /* bins that a block keeps in shared memory */

dl_status zeroed(int64_t n, void *stream, count_t **out) {
  void *mem;
  DL_TRY(dl_cu_scratch((size_t)n * sizeof **out, stream, &mem));
  *out = static_cast<count_t *>(mem);
  return dl_cu_zero(mem, n * (int64_t)sizeof **out, stream);
}

__global__ void write_counts(const count_t *count, int64_t n, int dtype, void *out) {
  DL_EACH(i, n) dl_put(dtype, out, i, (int64_t)count[i]);
}

/* Add a block's own counts to those of all. */
__device__ void share(const uint32_t *own, int64_t bins, count_t *count) {
  for (int64_t b = threadIdx.x; b < bins; b += blockDim.x)
    if (own[b]) atomicAdd(&count[b], (count_t)own[b]);
}

/* B::of(x): the bin of a value, or -1. A block's share of the values is counted near by where the
 * bins fit there. */
template <class B> __global__ void count_bins(B bin, int64_t n, int64_t bins, count_t *count) {
  DL_SHARED(uint32_t, own, [NEAR]);
  bool near = bins <= NEAR;
  for (int64_t b = threadIdx.x; near && b < bins; b += blockDim.x) own[b] = 0;
  __syncthreads();
  DL_EACH(i, n) {
    int64_t b = bin.of(i);
    if (b < 0) continue;
    if (near) atomicAdd(&own[b], 1u);
    else atomicAdd(&count[b], (count_t)1);
  }
  __syncthreads();
  if (near) share(own, bins, count);
}

template <class B>
dl_status count_all(const B &bin, int64_t n, const dl_view *out, void *stream) {
  count_t *count;
  DL_TRY(zeroed(out->numel, stream, &count));
  if (n > 0)
    DL_LAUNCH(count_bins<B>, dl_blocks(n, 16), DL_BLOCK, 0, stream, bin, n, out->numel, count);
  DL_LAUNCH_EACH(write_counts, out->numel, stream, count, out->numel, (int)out->dtype, out->data);
  return DL_OK;
}

/* ---- bincount ------------------------------------------------------------------------------- */
template <class T> struct whole_bins {
  const T *x;
  int64_t bins;
  dl_cuda_fault *fault;
  __device__ int64_t of(int64_t i) const {
    int64_t b = x[i];
    if (b >= 0 && b < bins) return b;
    dl_fault(fault, DL_FAULT_BINS);
    return -1;
  }
};

template <class T, class C>
__global__ void add_weights(whole_bins<T> bin, int wt, const void *w, int64_t n, C *out) {
  DL_EACH(i, n) {
    int64_t b = bin.of(i);
    if (b >= 0) atomicAdd(&out[b], dl_get<C>(wt, w, i));
  }
}

template <class T>
dl_status bincount_as(dl_kcall *c, const dl_view *x, const dl_view *w, void *stream) {
  const dl_view *out = &c->out[0];
  whole_bins<T> bin = {reinterpret_cast<const T *>(x->data), out->numel, dl_cuda_environment.fault};
  if (out->dtype == DL_I64) return count_all(bin, x->numel, out, stream);
  DL_TRY(dl_cu_zero(out->data, out->numel * dl_cu_esize(out), stream));
  DL_BY_REAL(out->dtype, DL_LAUNCH_EACH((add_weights<T, C>), x->numel, stream, bin, (int)w->dtype,
                                        w->data, x->numel, reinterpret_cast<C *>(out->data)));
  return DL_OK;
}

/* ---- histc: the range is the arguments' or the data's --------------------------------------- */
/* nan stays */
DL_FN void widen_range(double *r, double lo, double hi) {
  if (lo < r[0] || lo != lo) r[0] = lo;
  if (hi > r[1] || hi != hi) r[1] = hi;
}

/* The range of all threads' r, by thread 0. */
DL_FN void block_range(const double *r, double *out) {
  DL_SHARED(double, all, [2 * DL_BLOCK]);
  int t = (int)threadIdx.x;
  all[2 * t] = r[0], all[2 * t + 1] = r[1];
  for (int half = DL_BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (t < half) widen_range(&all[2 * t], all[2 * (t + half)], all[2 * (t + half) + 1]);
  }
  if (t == 0) out[0] = all[0], out[1] = all[1];
}

/* Each block's share of x; then one block over those. */
__global__ void ranges(int dtype, const void *x, int64_t n, double *part) {
  double first = dl_get<double>(dtype, x, 0), r[2] = {first, first};
  DL_EACH(i, n) {
    double v = dl_get<double>(dtype, x, i);
    widen_range(r, v, v);
  }
  block_range(r, part + 2 * blockIdx.x);
}

__global__ void one_range(const double *part, int blocks, double *range, dl_cuda_fault *fault) {
  double r[2] = {part[0], part[1]};
  for (int i = (int)threadIdx.x; i < blocks; i += DL_BLOCK)
    widen_range(r, part[2 * i], part[2 * i + 1]);
  block_range(r, range);
  if (threadIdx.x) return;
  if (range[0] - range[0] != 0 || range[1] - range[1] != 0) {
    dl_fault(fault, DL_FAULT_BINS);
    range[0] = 0, range[1] = 1;
  }
  if (range[0] == range[1]) range[0] -= 1, range[1] += 1;
}

struct even_bins {
  int dtype;
  const void *x;
  double lo, hi;
  const double *range;           /* lo and hi on the device, or NULL */
  int64_t bins;

  __device__ int64_t of(int64_t i) const {
    double a = range ? range[0] : lo, b = range ? range[1] : hi, v = dl_get<double>(dtype, x, i);
    if (!(v >= a && v <= b)) return -1;
    int64_t k = dtype == DL_F32 ? (int64_t)((float)(v - a) * (float)bins / (float)(b - a))
                                : (int64_t)((v - a) * (double)bins / (b - a));
    return k < bins ? k : bins - 1;
  }
};

dl_status data_range(even_bins *bin, int64_t n, void *stream) {
  unsigned blocks = dl_blocks(n, 64);
  void *part;
  if (blocks > 1024) blocks = 1024;
  DL_TRY(dl_cu_scratch(sizeof(double) * 2 * (blocks + 1), stream, &part));
  double *all = static_cast<double *>(part), *range = all + 2 * blocks;
  DL_LAUNCH(ranges, blocks, DL_BLOCK, 0, stream, bin->dtype, bin->x, n, all);
  DL_LAUNCH(one_range, 1, DL_BLOCK, 0, stream, all, (int)blocks, range, dl_cuda_environment.fault);
  bin->range = range;
  return DL_OK;
}

/* ---- searchsorted --------------------------------------------------------------------------- */
struct search {
  const char *seq, *val;
  int seq_dtype, val_dtype;
  int64_t n, per;                /* of a row of seq; of a row of val, 0 = one row serves all */
  bool right, on_host;
  double real;                   /* val, where it is a number */
  int64_t whole;
};

template <class C> __device__ C searched(const search &s, int64_t i);
template <> __device__ double searched<double>(const search &s, int64_t i) {
  return s.on_host ? s.real : dl_get<double>(s.val_dtype, s.val, i);
}
template <> __device__ int64_t searched<int64_t>(const search &s, int64_t i) {
  return s.on_host ? s.whole : dl_get<int64_t>(s.val_dtype, s.val, i);
}

template <class C> __global__ void search_all(search s, int64_t n, int64_t *out) {
  DL_EACH(i, n) {
    int64_t row = s.per ? i / s.per * s.n : 0, lo = row, hi = row + s.n;
    C v = searched<C>(s, i);
    while (lo < hi) {
      int64_t mid = lo + (hi - lo) / 2;
      C at = dl_get<C>(s.seq_dtype, s.seq, mid);
      if (s.right ? !(at > v) : !(at >= v)) lo = mid + 1;
      else hi = mid;
    }
    out[i] = lo - row;
  }
}

/* ---- nonzero -------------------------------------------------------------------------------- */
enum { EACH = 8, TILE = DL_BLOCK * EACH };

/* Is the element not zero? -0.0 is zero, nan is not. */
template <class T> __device__ bool is_set(const T *x, int64_t at, bool is_float) {
  return (T)(x[at] << (is_float ? 1 : 0)) != 0;
}

template <class T>
__global__ void count_set(const T *x, dl_geo<1> g, bool is_float, int32_t *count) {
  int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * EACH, off;
  int sum = 0, total;
  for (int64_t i = first; i < first + EACH && i < g.numel; i++) {
    g.place(i, &off);
    sum += is_set(x, off, is_float);
  }
  dl_block_before(sum, &total);
  if (threadIdx.x == 0) count[blockIdx.x] = total;
}

/* before[] = the counts of the tiles before each, and of all; one block. */
__global__ void add_tiles(const int32_t *count, int64_t *before, int64_t tiles) {
  int64_t carry = 0;
  int total;
  for (int64_t first = 0; first < tiles; first += DL_BLOCK) {
    int64_t i = first + threadIdx.x;
    int sum = dl_block_before(i < tiles ? count[i] : 0, &total);
    if (i < tiles) before[i] = carry + sum;
    carry += total;
  }
  if (threadIdx.x == 0) before[tiles] = carry;
}

struct shape { int nd; int64_t size[DL_MAXDIM]; };

/* What dl_cu_list_nonzero says of out, rows, row and col. */
struct listing { int64_t *out, rows, row, col; };

template <class T>
__global__ void list_set(const T *x, dl_geo<1> g, bool is_float, const int64_t *before, shape s,
                         listing to) {
  int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * EACH, off;
  int sum = 0, total;
  for (int64_t i = first; i < first + EACH && i < g.numel; i++) {
    g.place(i, &off);
    sum += is_set(x, off, is_float);
  }
  int64_t r = before[blockIdx.x] + dl_block_before(sum, &total);
  for (int64_t i = first; i < first + EACH && i < g.numel; i++) {
    g.place(i, &off);
    if (!is_set(x, off, is_float)) continue;
    int64_t rest = i;
    for (int d = s.nd - 1; d >= 0 && r < to.rows; d--) {
      to.out[r * to.row + d * to.col] = rest % s.size[d];
      rest /= s.size[d];
    }
    r++;
  }
}

/* before[tiles] is the number of all. */
template <class T>
dl_status count_as(const dl_view *x, const dl_geo<1> &g, int64_t **before, void *stream) {
  int64_t tiles = (x->numel + TILE - 1) / TILE;
  bool is_float = dl_dtype_is_float((dl_dtype)x->dtype);
  void *count, *sums;
  DL_TRY(dl_cu_scratch((size_t)tiles * sizeof(int32_t), stream, &count));
  DL_TRY(dl_cu_scratch((size_t)(tiles + 1) * sizeof(int64_t), stream, &sums));
  *before = static_cast<int64_t *>(sums);
  if (tiles)
    DL_LAUNCH(count_set<T>, (unsigned)tiles, DL_BLOCK, 0, stream,
              reinterpret_cast<const T *>(x->data), g, is_float, static_cast<int32_t *>(count));
  DL_LAUNCH(add_tiles, 1, DL_BLOCK, 0, stream, static_cast<const int32_t *>(count), *before, tiles);
  return DL_OK;
}

template <class T> dl_status list_as(const dl_view *x, const listing &to, void *stream) {
  int64_t tiles = (x->numel + TILE - 1) / TILE, *before;
  dl_geo<1> g;
  shape s = {x->ndim, {}};
  for (int d = 0; d < x->ndim; d++) s.size[d] = x->size[d];
  dl_geo_make(&g, x->ndim, x->size, &x->stride);
  DL_TRY(count_as<T>(x, g, &before, stream));
  DL_LAUNCH(list_set<T>, (unsigned)tiles, DL_BLOCK, 0, stream, reinterpret_cast<const T *>(x->data),
            g, dl_dtype_is_float((dl_dtype)x->dtype), before, s, to);
  return DL_OK;
}

} /* namespace */

dl_status dl_cu_list_nonzero(const dl_view *v, int64_t *out, int64_t rows, int64_t row, int64_t col,
                             void *stream) {
  listing to = {out, rows, row, col};
  if (rows == 0) return DL_OK;
  DL_BY_SIZE(v->dtype, return list_as<T>(v, to, stream));
}

dl_status dl_cu_count_nonzero(const dl_view *v, void *stream, int64_t *count) {
  int64_t *before;
  dl_geo<1> g;
  dl_geo_make(&g, v->ndim, v->size, &v->stride);
  DL_BY_SIZE(v->dtype, DL_TRY(count_as<T>(v, g, &before, stream)));
  return dl_cuda_environment.read(count, before + (v->numel + TILE - 1) / TILE, sizeof *count,
                                  stream);
}

/* ---- rows ----------------------------------------------------------------------------------- */
DL_CUDA(bincount) {
  dl_cu_view x, w;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &w));
  switch (x.v.dtype) {
    case DL_I8: return bincount_as<int8_t>(c, &x.v, &w.v, stream);
    case DL_I16: return bincount_as<int16_t>(c, &x.v, &w.v, stream);
    case DL_I32: return bincount_as<int32_t>(c, &x.v, &w.v, stream);
    case DL_I64: return bincount_as<int64_t>(c, &x.v, &w.v, stream);
    default: return bincount_as<uint8_t>(c, &x.v, &w.v, stream);
  }
}

DL_CUDA(histc) {
  dl_cu_view x;
  double lo = dl_arg_f(&c->arg[2]), hi = dl_arg_f(&c->arg[3]);
  if (lo - lo != 0 || hi - hi != 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "torch.histc: range of [%g, %g] is not finite",
                   lo, hi);
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  even_bins bin = {x.v.dtype, x.v.data, lo, hi, nullptr, c->out[0].numel};
  if (lo == hi && x.v.numel > 0) DL_TRY(data_range(&bin, x.v.numel, stream));
  return count_all(bin, x.v.numel, &c->out[0], stream);
}

DL_CUDA(searchsorted) {
  dl_cu_view seq, val;
  bool number = dl_cu_on_host(c, 1);
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &seq));
  val.v = c->in[1];
  if (!number) DL_TRY(dl_cu_contig(&c->in[1], DL_NODTYPE, stream, &val));
  search s = {seq.v.data, val.v.data, seq.v.dtype, val.v.dtype, seq.v.size[seq.v.ndim - 1], 0,
              c->arg[2].i != 0, number, 0, 0};
  if (number) s.real = dl_cu_number(c, 1), s.whole = dl_cu_whole(c, 1);
  if (seq.v.ndim > 1) s.per = val.v.size[val.v.ndim - 1];
  int64_t n = c->out[0].numel, *out = reinterpret_cast<int64_t *>(c->out[0].data);
  bool exact = !dl_dtype_is_float((dl_dtype)seq.v.dtype) &&
               !dl_dtype_is_float((dl_dtype)val.v.dtype);
  if (exact) DL_LAUNCH_EACH(search_all<int64_t>, n, stream, s, n, out);
  else DL_LAUNCH_EACH(search_all<double>, n, stream, s, n, out);
  return DL_OK;
}

/* The rule has counted: out[0] has one row an element that is not zero. */
DL_CUDA(nonzero) {
  const dl_view *x = &c->in[0], *out = &c->out[0];
  int64_t *rows = reinterpret_cast<int64_t *>(out->data);
  return dl_cu_list_nonzero(x, rows, out->numel ? out->size[0] : 0, x->ndim, 1, stream);
}
