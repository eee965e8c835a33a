/* sort.cu -- order along a dim: sort, topk, median, kthvalue, unique
 *
 * All read off the sorted lines that order.h gives. Equal elements keep the order they lie in,
 * where the CPU's topk and kthvalue leave it to their selection.
 *
 * SOURCE     ATen/native/cuda/Sorting.cu (nan rules).
 * MUST NOT   decide the order of equal elements: order.h does. */
#include "order.h"

namespace {

/* Which entries of a sorted line are written: k from `first`; median: the first nan if there is
 * one, else entry `first`. */
struct pick { int64_t k, first; bool median; };

/* The first entry whose key is that of nan; n where there is none. */
template <class K> __device__ int64_t first_nan(const K *key, int64_t n, K nan) {
  int64_t lo = 0, hi = n;
  while (lo < hi) {
    int64_t mid = (lo + hi) / 2;
    if (key[mid] < nan) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

template <class K> __device__ int64_t start_of(const dl_cu_order &o, int64_t line, pick p, K nan) {
  if (!p.median || nan == 0) return p.first;
  int64_t at = first_nan(static_cast<const K *>(o.key) + line * o.n, o.n, nan);
  return at < o.n ? at : p.first;
}

/* Element i of the result: values are copied, so that -0 and nan come out as they went in. */
template <class T, class K>
__global__ void write_picked(dl_cu_order o, pick p, const T *x, T *value, int64_t *index, K nan,
                             int64_t count) {
  DL_EACH(i, count) {
    int64_t line = i / (p.k * o.inner) * o.inner + i % o.inner, r = i / o.inner % p.k;
    int32_t at = o.at[line * o.n + start_of(o, line, p, nan) + r];
    value[i] = x[dl_line_at(line, o.inner, o.n) + at * o.inner];
    if (index) index[i] = at;
  }
}

template <class T, class K>
void write_as(const dl_cu_order &o, pick p, const dl_view *x, const dl_view *value, int64_t *index,
              void *stream) {
  K nan = dl_dtype_is_float((dl_dtype)x->dtype) ? (K)((K)~(K)0 >> (8 * sizeof(K) - (size_t)o.bits))
                                                : (K)0;
  int64_t count = o.lines * p.k;
  DL_LAUNCH_EACH((write_picked<T, K>), count, stream, o, p, reinterpret_cast<const T *>(x->data),
                 reinterpret_cast<T *>(value->data), index, nan, count);
}

/* Sort the lines of in[0] along `dim`, then write the picked entries. */
dl_status picked(dl_kcall *c, int64_t dim, bool reversed, pick p, void *stream) {
  dl_cu_view x;
  dl_cu_order o;
  if (c->out[0].numel == 0) return DL_OK;
  DL_TRY(dl_cu_contig(&c->in[0], DL_NODTYPE, stream, &x));
  DL_TRY(dl_cu_order_view(&x.v, dim, reversed, stream, &o));
  if (p.k < 0) p.k = o.n;
  if (p.median) p.first = (o.n - 1) / 2;
  int64_t *index = c->nout > 1 ? reinterpret_cast<int64_t *>(c->out[1].data) : nullptr;
  DL_BY_SIZE(x.v.dtype, auto write = o.bits > 32 ? write_as<T, uint64_t> : write_as<T, uint32_t>;
             write(o, p, &x.v, &c->out[0], index, stream));
  return DL_OK;
}

} /* namespace */

DL_CUDA(sort) { return picked(c, c->arg[1].i, c->arg[2].i, {-1, 0, false}, stream); }

/* a 0-dim tensor gives itself whatever k is */
DL_CUDA(topk) {
  int64_t k = c->in[0].ndim ? c->arg[1].i : 1;
  return picked(c, c->arg[2].i, c->arg[3].i, {k, 0, false}, stream);
}

DL_CUDA(kthvalue) { return picked(c, c->arg[2].i, false, {1, c->arg[1].i - 1, false}, stream); }

DL_CUDA(median_dim) { return picked(c, c->arg[1].i, false, {1, 0, true}, stream); }

/* ---- median of all -------------------------------------------------------------------------- */
namespace {

__global__ void put_empty(int dtype, void *out) {
  if (dtype >= DL_F16) dl_put(dtype, out, 0, (float)DL_NAN32);
  else dl_put(dtype, out, 0, (int64_t)(-9223372036854775807LL - 1));
}

/* in[0] as one line */
dl_status flat(const dl_view *x, void *stream, dl_cu_view *out) {
  static const int64_t one = 1;
  DL_TRY(dl_cu_contig(x, DL_NODTYPE, stream, out));
  out->v.ndim = 1;
  out->v.size = &x->numel;
  out->v.stride = &one;
  return DL_OK;
}

} /* namespace */

DL_CUDA(median) {
  dl_cu_view x;
  DL_TRY(flat(&c->in[0], stream, &x));
  if (x.v.numel == 0) {
    DL_LAUNCH(put_empty, 1, 1, 0, stream, c->out[0].dtype, c->out[0].data);
    return DL_OK;
  }
  dl_kcall one = *c;
  one.in[0] = x.v;
  return picked(&one, 0, false, {1, 0, true}, stream);
}

/* ---- unique --------------------------------------------------------------------------------- */
namespace {

enum { EACH = 8, TILE = DL_BLOCK * EACH };

/* Does a new group begin at entry i? Each nan is a group of its own. */
template <class K> __device__ bool begins(const K *key, int64_t i, K nan) {
  return i == 0 || key[i] != key[i - 1] || (nan != 0 && key[i] == nan);
}

template <class K> __global__ void count_groups(const K *key, int64_t n, K nan, int32_t *count) {
  int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * EACH;
  int sum = 0, total;
  for (int k = 0; k < EACH; k++) sum += first + k < n && begins(key, first + k, nan);
  dl_block_before(sum, &total);
  if (threadIdx.x == 0) count[blockIdx.x] = total;
}

/* count[] becomes the number of groups before each tile. */
__global__ void add_groups(int32_t *count, int64_t tiles) {
  int carry = 0, total;
  for (int64_t first = 0; first < tiles; first += DL_BLOCK) {
    int64_t i = first + threadIdx.x;
    int v = i < tiles ? count[i] : 0, before = dl_block_before(v, &total);
    if (i < tiles) count[i] = carry + before;
    carry += total;
  }
}

/* start[group] = its first entry; value and inverse as torch.unique gives them. */
template <class T, class K>
__global__ void write_groups(dl_cu_order o, const T *x, const K *key, K nan, const int32_t *before,
                             T *value, int64_t *inverse, int64_t *start) {
  int64_t first = (int64_t)blockIdx.x * TILE + threadIdx.x * EACH;
  int sum = 0, total;
  for (int k = 0; k < EACH; k++) sum += first + k < o.n && begins(key, first + k, nan);
  int64_t group = (int64_t)before[blockIdx.x] + dl_block_before(sum, &total) - 1;
  for (int k = 0; k < EACH && first + k < o.n; k++) {
    int64_t i = first + k;
    if (begins(key, i, nan)) {
      group++;
      value[group] = x[o.at[i]];
      start[group] = i;
    }
    inverse[o.at[i]] = group;
  }
}

/* counts[] holds each group's start. */
__global__ void starts_to_counts(const int64_t *start, int64_t groups, int64_t n, int64_t *count) {
  DL_EACH(i, groups) count[i] = (i + 1 < groups ? start[i + 1] : n) - start[i];
}

template <class T, class K> dl_status unique_as(dl_kcall *c, const dl_view *x, const dl_cu_order &o,
                                                void *stream) {
  K nan = dl_dtype_is_float((dl_dtype)x->dtype) ? (K)((K)~(K)0 >> (8 * sizeof(K) - (size_t)o.bits))
                                                : (K)0;
  int64_t tiles = (o.n + TILE - 1) / TILE, groups = c->out[0].numel;
  const K *key = static_cast<const K *>(o.key);
  void *count, *start;
  DL_TRY(dl_cu_scratch((size_t)tiles * sizeof(int32_t), stream, &count));
  DL_TRY(dl_cu_scratch((size_t)groups * sizeof(int64_t), stream, &start));
  DL_LAUNCH(count_groups<K>, (unsigned)tiles, DL_BLOCK, 0, stream, key, o.n, nan, (int32_t *)count);
  DL_LAUNCH(add_groups, 1, DL_BLOCK, 0, stream, (int32_t *)count, tiles);
  DL_LAUNCH((write_groups<T, K>), (unsigned)tiles, DL_BLOCK, 0, stream, o,
            reinterpret_cast<const T *>(x->data), key, nan, (const int32_t *)count,
            reinterpret_cast<T *>(c->out[0].data), reinterpret_cast<int64_t *>(c->out[1].data),
            (int64_t *)start);
  DL_LAUNCH_EACH(starts_to_counts, groups, stream, (const int64_t *)start, groups, o.n,
                 reinterpret_cast<int64_t *>(c->out[2].data));
  return DL_OK;
}

} /* namespace */

/* The rule has counted: out[0] has one element a group. */
DL_CUDA(unique) {
  dl_cu_view x;
  dl_cu_order o;
  if (c->in[0].numel == 0) return DL_OK;
  DL_TRY(flat(&c->in[0], stream, &x));
  DL_TRY(dl_cu_order_view(&x.v, 0, false, stream, &o));
  DL_BY_SIZE(x.v.dtype, return o.bits > 32 ? unique_as<T, uint64_t>(c, &x.v, o, stream)
                                           : unique_as<T, uint32_t>(c, &x.v, o, stream));
}
