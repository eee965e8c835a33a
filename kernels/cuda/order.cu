/* order.cu -- see order.h
 *
 * Lines of up to SHORT keys: a block each, a bitonic network in shared memory over pairs of (key,
 * place), which no two entries share. Longer ones: four bits of the key at a time from the low end;
 * each pass counts digits tile by tile, adds the counts up, and moves every tile's keys, put in
 * order of their digit in shared memory, to where the sums say.
 *
 * MUST NOT   know ops. */
#include "order.h"

namespace {

enum { SHORT = 1024, DIGITS = 16, EACH = 8, TILE = DL_BLOCK * EACH };

/* ---- keys ----------------------------------------------------------------------------------- */
template <class U> __device__ U float_key(U u, U infinity) {
  const U sign = (U)((U)1 << (8 * sizeof(U) - 1));
  if ((U)(u & (U)~sign) > infinity) return (U)~(U)0;
  if (u == sign) u = 0;
  return u & sign ? (U)~u : (U)(u | sign);
}
DL_FN uint32_t key_of(float x) { return float_key<uint32_t>(dl_bits32(x), 0x7f800000u); }
DL_FN uint64_t key_of(double x) { return float_key<uint64_t>(dl_bits64(x), 0x7ff0000000000000ull); }
DL_FN uint32_t key_of(dl_half x) { return float_key<uint16_t>(x.bits, 0x7c00u); }
DL_FN uint32_t key_of(dl_bf16 x) { return float_key<uint16_t>(x.bits, 0x7f80u); }
DL_FN uint32_t key_of(uint8_t x) { return x; }
DL_FN uint32_t key_of(int8_t x) { return (uint8_t)x ^ 0x80u; }
DL_FN uint32_t key_of(int16_t x) { return (uint16_t)x ^ 0x8000u; }
DL_FN uint32_t key_of(int32_t x) { return (uint32_t)x ^ 0x80000000u; }
DL_FN uint64_t key_of(int64_t x) { return (uint64_t)x ^ 0x8000000000000000ull; }

template <class T, class K>
__global__ void make_keys(const T *x, K *key, int64_t n, int64_t inner, int64_t count, K flip) {
  DL_EACH(i, count) key[i] = key_of(x[dl_line_at(i / n, inner, n) + i % n * inner]) ^ flip;
}

/* ---- short lines ---------------------------------------------------------------------------- */
template <class K> __global__ void sort_short(K *key, int32_t *at, int n, int room) {
  DL_SHARED(K, k, [SHORT]);
  DL_SHARED(int32_t, p, [SHORT]);
  key += (int64_t)blockIdx.x * n;
  at += (int64_t)blockIdx.x * n;
  for (int i = (int)threadIdx.x; i < room; i += (int)blockDim.x) {
    k[i] = i < n ? key[i] : (K)~(K)0;
    p[i] = i;
  }
  for (int run = 2; run <= room; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = (int)threadIdx.x; i < room / 2; i += (int)blockDim.x) {
        int a = i / step * 2 * step + i % step, b = a + step;
        bool after = k[a] > k[b] || (k[a] == k[b] && p[a] > p[b]);
        if (after != ((a & run) != 0)) {
          K key_a = k[a];
          int32_t at_a = p[a];
          k[a] = k[b], k[b] = key_a;
          p[a] = p[b], p[b] = at_a;
        }
      }
    }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) key[i] = k[i], at[i] = p[i];
}

/* ---- long lines ----------------------------------------------------------------------------- */
/* count[line][digit][tile]; a block counts one tile. */
template <class K>
__global__ void count_digits(const K *key, int32_t *count, int64_t n, int64_t tiles, int shift) {
  DL_SHARED(int32_t, sum, [DIGITS]);
  int64_t line = blockIdx.x / tiles, tile = blockIdx.x % tiles;
  if (threadIdx.x < DIGITS) sum[threadIdx.x] = 0;
  __syncthreads();
  for (int i = 0; i < EACH; i++) {
    int64_t j = tile * TILE + i * DL_BLOCK + threadIdx.x;
    if (j < n) atomicAdd(&sum[key[line * n + j] >> shift & (DIGITS - 1)], 1);
  }
  __syncthreads();
  if (threadIdx.x < DIGITS) count[(line * DIGITS + threadIdx.x) * tiles + tile] = sum[threadIdx.x];
}

/* Each of a line's counts becomes the sum of those before it; a block a line. */
__global__ void add_counts(int32_t *count, int64_t entries) {
  enum { SOME = 16 };
  int32_t *c = count + blockIdx.x * entries;
  int carry = 0, total;
  for (int64_t first = 0; first < entries; first += DL_BLOCK * SOME) {
    int64_t mine = first + (int64_t)threadIdx.x * SOME;
    int v[SOME], sum = 0;
    for (int i = 0; i < SOME; i++) sum += v[i] = mine + i < entries ? c[mine + i] : 0;
    int before = carry + dl_block_before(sum, &total);
    for (int i = 0; i < SOME; i++) {
      if (mine + i < entries) c[mine + i] = before;
      before += v[i];
    }
    carry += total;
  }
}

/* Turn n[digit][thread] into the number of entries of the tile before it. */
DL_FN void place_in_tile(uint16_t (&n)[DIGITS][DL_BLOCK]) {
  uint16_t *mine = &n[0][0] + threadIdx.x * DIGITS;
  int sum = 0, total;
  for (int i = 0; i < DIGITS; i++) sum += mine[i];
  int before = dl_block_before(sum, &total);
  for (int i = 0; i < DIGITS; i++) {
    int v = mine[i];
    mine[i] = (uint16_t)before;
    before += v;
  }
  __syncthreads();
}

template <class K>
__global__ void move_digits(const K *key, const int32_t *at, K *to_key, int32_t *to_at,
                            const int32_t *count, int64_t n, int64_t tiles, int shift) {
  DL_SHARED(K, k, [TILE]);
  DL_SHARED(int32_t, p, [TILE]);
  DL_SHARED(uint16_t, spot, [DIGITS][DL_BLOCK]);
  DL_SHARED(int32_t, start, [DIGITS]); /* where the tile's digit goes, less its first spot */
  int t = (int)threadIdx.x;
  int64_t line = blockIdx.x / tiles, tile = blockIdx.x % tiles, first = tile * TILE + t * EACH;
  int64_t row = line * n, left = n - tile * TILE;
  K own[EACH];
  for (int d = 0; d < DIGITS; d++) spot[d][t] = 0;
  for (int i = 0; i < EACH; i++) {
    own[i] = first + i < n ? key[row + first + i] : 0;
    if (first + i < n) spot[own[i] >> shift & (DIGITS - 1)][t]++;
  }
  __syncthreads();
  place_in_tile(spot);
  if (t < DIGITS) start[t] = count[(line * DIGITS + t) * tiles + tile] - spot[t][0];
  __syncthreads();
  for (int i = 0; i < EACH; i++) {
    if (first + i >= n) break;
    int s = spot[own[i] >> shift & (DIGITS - 1)][t]++;
    k[s] = own[i];
    p[s] = at ? at[row + first + i] : (int32_t)(first + i);
  }
  __syncthreads();
  for (int j = t; j < TILE && j < left; j += DL_BLOCK) {
    int64_t to = row + start[k[j] >> shift & (DIGITS - 1)] + j;
    to_key[to] = k[j];
    to_at[to] = p[j];
  }
}

/* ---- launches ------------------------------------------------------------------------------- */
template <class K> dl_status sort_long(dl_cu_order *o, K *key, void *stream) {
  int64_t tiles = (o->n + TILE - 1) / TILE, all = o->lines * o->n;
  int32_t *count, *at[2];
  K *keys[2] = {key, nullptr};
  void *mem;
  DL_TRY(dl_cu_scratch((size_t)(o->lines * DIGITS * tiles) * sizeof *count, stream, &mem));
  count = static_cast<int32_t *>(mem);
  DL_TRY(dl_cu_scratch((size_t)all * sizeof(K), stream, &mem));
  keys[1] = static_cast<K *>(mem);
  DL_TRY(dl_cu_scratch((size_t)all * 2 * sizeof **at, stream, &mem));
  at[0] = static_cast<int32_t *>(mem);
  at[1] = at[0] + all;
  unsigned blocks = (unsigned)(o->lines * tiles);
  int from = 0;
  for (int shift = 0; shift < o->bits; shift += 4, from = !from) {
    DL_LAUNCH(count_digits<K>, blocks, DL_BLOCK, 0, stream, keys[from], count, o->n, tiles, shift);
    DL_LAUNCH(add_counts, (unsigned)o->lines, DL_BLOCK, 0, stream, count, DIGITS * tiles);
    DL_LAUNCH(move_digits<K>, blocks, DL_BLOCK, 0, stream, keys[from], shift ? at[from] : nullptr,
              keys[!from], at[!from], count, o->n, tiles, shift);
  }
  o->key = keys[from];
  o->at = at[from];
  return DL_OK;
}

template <class K> dl_status sort_keys(dl_cu_order *o, K *key, void *stream) {
  if (o->n >= (int64_t)1 << 31 || o->lines * ((o->n + TILE - 1) / TILE) >= (int64_t)1 << 31)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "sort: 2^31 or more elements along a dimension");
  if (o->n > SHORT) return sort_long(o, key, stream);
  void *at;
  int room = 1;
  while (room < o->n) room *= 2;
  DL_TRY(dl_cu_scratch((size_t)(o->lines * o->n) * sizeof(int32_t), stream, &at));
  o->key = key;
  o->at = static_cast<int32_t *>(at);
  if (o->lines * o->n == 0) return DL_OK;
  DL_LAUNCH(sort_short<K>, (unsigned)o->lines, room < 64 ? 32 : room < 512 ? room / 2 : DL_BLOCK, 0,
            stream, key, static_cast<int32_t *>(at), (int)o->n, room);
  return DL_OK;
}

template <class T, class K>
dl_status order_as(const dl_view *x, bool reversed, void *stream, dl_cu_order *o) {
  void *key;
  int64_t count = o->lines * o->n;
  o->bits = 8 * (int)sizeof(T);
  DL_TRY(dl_cu_scratch((size_t)count * sizeof(K), stream, &key));
  K flip = reversed ? (K)((K)~(K)0 >> (8 * sizeof(K) - (size_t)o->bits)) : (K)0;
  DL_LAUNCH_EACH((make_keys<T, K>), count, stream, reinterpret_cast<const T *>(x->data),
                 static_cast<K *>(key), o->n, o->inner, count, flip);
  return sort_keys<K>(o, static_cast<K *>(key), stream);
}

} /* namespace */

dl_status dl_cu_order_view(const dl_view *x, int64_t dim, bool reversed, void *stream,
                           dl_cu_order *o) {
  int d = (int)(dim < 0 ? dim + x->ndim : dim);
  *o = {};
  o->n = x->ndim ? x->size[d] : 1;
  o->inner = 1;
  for (int k = d + 1; k < x->ndim; k++) o->inner *= x->size[k];
  o->lines = o->n ? x->numel / o->n : 0;
  if (x->numel == 0) return DL_OK;
  DL_BY_DTYPE(x->dtype, return (order_as<T, decltype(key_of(T()))>(x, reversed, stream, o)));
}

dl_status dl_cu_order_indices(uint64_t *index, int64_t n, uint64_t below, void *stream,
                              dl_cu_order *o) {
  *o = {1, n, 1, 33, nullptr, nullptr};
  while (o->bits < 64 && below >> o->bits) o->bits++;
  if (below >> 32 == 0) {
    o->bits = 1;
    while (below >> o->bits) o->bits++;
  }
  return sort_keys<uint64_t>(o, index, stream);
}
