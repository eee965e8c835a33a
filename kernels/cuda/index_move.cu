/* index_move.cu -- see index.h
 *
 * MUST NOT know ops. */
#include "index.h"

#include "geo.h"
#include "order.h"

namespace {

/* ---- one thread an element (or 16 bytes) of the near side ----------------------------------- */
/* Up to K index tensors. Geometry: views 0 near, 1 far, 2 + k index tensor k. */
template <int K> struct table {
  dl_geo<2 + K> geo;
  int n, fault_code;
  bool wraps, is_i32[K];
  const char *index[K];
  int64_t length[K], far[K];
  dl_cuda_fault *fault;
};

/* The index, counted from 0; -1 where it is out of bounds. */
template <int K> __device__ int64_t index_of(const table<K> &t, int k, int64_t off) {
  int64_t i = t.is_i32[k] ? reinterpret_cast<const int32_t *>(t.index[k])[off]
                          : reinterpret_cast<const int64_t *>(t.index[k])[off];
  if (t.wraps && i < 0) i += t.length[k];
  if (i >= 0 && i < t.length[k]) return i;
  dl_fault(t.fault, t.fault_code);
  return -1;
}

/* The far offset of an element; -1 where an index is out of bounds. */
template <int K> __device__ int64_t far_of(const table<K> &t, const int64_t *off) {
  int64_t far = off[1];
  for (int k = 0; k < K; k++) {
    if (k >= t.n) break;
    int64_t i = index_of(t, k, off[2 + k]);
    if (i < 0) return -1;
    far += i * t.far[k];
  }
  return far;
}

/* near <- far, or the other way */
template <class W, int K> __global__ void move_each(table<K> t, W *near, W *far, bool put) {
  DL_EACH(i, t.geo.numel) {
    int64_t off[2 + K];
    t.geo.place(i, off);
    int64_t at = far_of(t, off);
    if (at < 0) continue;
    if (put) far[at] = near[off[0]];
    else near[off[0]] = far[at];
  }
}

/* ---- the table of a call -------------------------------------------------------------------- */
/* All dims in the near side's order: outer, places, block. */
struct joined { int nd; int64_t size[3 * DL_MAXDIM], stride[2 + DL_MAXDIM][3 * DL_MAXDIM]; };

void add_dims(joined *j, const dl_cu_dims *d, const dl_cu_index *x, bool places) {
  for (int i = 0; i < d->n; i++, j->nd++) {
    j->size[j->nd] = d->size[i];
    j->stride[0][j->nd] = d->near[i];
    j->stride[1][j->nd] = places ? 0 : d->far[i];
    for (int k = 0; k < x->n; k++) j->stride[2 + k][j->nd] = places ? x->step[k][i] : 0;
  }
}

/* Can `many` elements be moved as one? */
bool widens(const dl_cu_index *x, const joined *j, int64_t many, int64_t bytes) {
  int last = j->nd - 1;
  bool good = last >= 0 && j->stride[0][last] == 1 && j->stride[1][last] == 1 &&
              j->size[last] % many == 0 && dl_is_aligned(x->near_data, (size_t)bytes) &&
              dl_is_aligned(x->far_data, (size_t)bytes);
  for (int k = 0; good && k < x->n; k++)
    good = j->stride[2 + k][last] == 0 && x->far[k] % many == 0;
  for (int d = 0; good && d < last; d++)
    good = j->stride[0][d] % many == 0 && j->stride[1][d] % many == 0;
  return good;
}

/* Bytes that one thread moves: 16, or less where the layout asks. The dims count those. */
int64_t widen(dl_cu_index *x, joined *j) {
  int64_t es = dl_dtypes[x->dtype].size, bytes = 16;
  while (bytes > es && !widens(x, j, bytes / es, bytes)) bytes /= 2;
  int64_t many = bytes / es;
  if (many == 1) return bytes;
  j->size[j->nd - 1] /= many;
  for (int d = 0; d < j->nd - 1; d++) j->stride[0][d] /= many, j->stride[1][d] /= many;
  for (int k = 0; k < x->n; k++) x->far[k] /= many;
  return bytes;
}

template <int K> void table_of(table<K> *t, const dl_cu_index *x, const joined *j) {
  const int64_t *stride[2 + K], none[3 * DL_MAXDIM] = {0};
  for (int k = 0; k < 2 + K; k++) stride[k] = k < 2 + x->n ? j->stride[k] : none;
  dl_geo_make(&t->geo, j->nd, j->size, stride);
  t->n = x->n;
  t->fault_code = x->fault;
  t->wraps = x->wraps;
  t->fault = dl_cuda_environment.fault;
  for (int k = 0; k < x->n; k++) {
    t->is_i32[k] = x->is_i32[k];
    t->index[k] = x->index[k];
    t->length[k] = x->length[k];
    t->far[k] = x->far[k];
  }
}

template <class W, int K>
void move_as(const dl_cu_index *x, const joined *j, bool put, void *stream) {
  table<K> t;
  table_of(&t, x, j);
  W *near = reinterpret_cast<W *>(x->near_data), *far = reinterpret_cast<W *>(x->far_data);
  DL_LAUNCH_EACH((move_each<W, K>), t.geo.numel, stream, t, near, far, put);
}

template <class W> void move_words(const dl_cu_index *x, const joined *j, bool put, void *stream) {
  if (x->n <= 1) move_as<W, 1>(x, j, put, stream);
  else move_as<W, DL_MAXDIM>(x, j, put, stream);
}

dl_status move_all(const dl_cu_index *given, bool put, void *stream) {
  dl_cu_index x = *given;
  joined j;
  j.nd = 0;
  add_dims(&j, &x.outer, &x, false);
  add_dims(&j, &x.places, &x, true);
  add_dims(&j, &x.block, &x, false);
  switch (widen(&x, &j)) {
    case 1: move_words<uint8_t>(&x, &j, put, stream); break;
    case 2: move_words<uint16_t>(&x, &j, put, stream); break;
    case 4: move_words<uint32_t>(&x, &j, put, stream); break;
    case 8: move_words<uint64_t>(&x, &j, put, stream); break;
    default: move_words<dl_pack<uint64_t, 2>>(&x, &j, put, stream);
  }
  return DL_OK;
}

/* ---- adding, place by place ----------------------------------------------------------------- */
/* rank[p]: the place as one number, row-major over the indexed dims; `none` where out of bounds. */
__global__ void rank_places(table<DL_MAXDIM> t, uint64_t none, uint64_t *rank) {
  DL_EACH(i, t.geo.numel) {
    int64_t off[2 + DL_MAXDIM];
    uint64_t sum = 0;
    t.geo.place(i, off);
    for (int k = 0; k < t.n; k++) {
      int64_t at = index_of(t, k, off[2 + k]);
      sum = at < 0 || sum == none ? none : sum * (uint64_t)t.length[k] + (uint64_t)at;
    }
    rank[i] = sum;
  }
}

struct adder {
  dl_cu_order order;             /* of the ranks */
  dl_geo<1> places;              /* near */
  dl_geo<2> rest;                /* near, far: outer x block */
  int n;
  int64_t length[DL_MAXDIM], far[DL_MAXDIM];
  uint64_t none;
  double alpha;
  bool is_bool;
};

__device__ inline int64_t far_of_rank(const adder &a, uint64_t rank) {
  int64_t far = 0;
  for (int k = a.n - 1; k >= 0; k--) {
    far += (int64_t)(rank % (uint64_t)a.length[k]) * a.far[k];
    rank /= (uint64_t)a.length[k];
  }
  return far;
}

template <class T> __device__ T plus_times(T a, T b, const adder &s) {
  int64_t times = (int64_t)s.alpha;
  if (s.is_bool) return dl_to<T>(dl_as<int64_t>(a) != 0 || (dl_as<int64_t>(b) != 0 && times != 0));
  return dl_to<T>(dl_mad(dl_as<int64_t>(b), times, dl_as<int64_t>(a)));
}
DL_FN float plus_times(float a, float b, const adder &s) { return dl_mad(b, (float)s.alpha, a); }
DL_FN double plus_times(double a, double b, const adder &s) { return dl_mad(b, s.alpha, a); }
DL_FN dl_half plus_times(dl_half a, dl_half b, const adder &s) {
  return dl_half_down(dl_half_up(a) + (float)s.alpha * dl_half_up(b));
}
DL_FN dl_bf16 plus_times(dl_bf16 a, dl_bf16 b, const adder &s) {
  return dl_brain_down(dl_brain_up(a) + (float)s.alpha * dl_brain_up(b));
}

/* A thread adds all of one place's repetitions to one of its elements. */
template <class T> __global__ void add_all(adder a, const T *near, T *far, int64_t count) {
  const uint64_t *rank = static_cast<const uint64_t *>(a.order.key);
  DL_EACH(i, count) {
    int64_t p = i / a.rest.numel, off[2], place;
    uint64_t r = rank[p];
    if (r == a.none || (p > 0 && rank[p - 1] == r)) continue;
    a.rest.place(i % a.rest.numel, off);
    T *to = far + off[1] + far_of_rank(a, r), sum = *to;
    for (; p < a.order.n && rank[p] == r; p++) {
      a.places.place(a.order.at[p], &place);
      sum = plus_times(sum, near[off[0] + place], a);
    }
    *to = sum;
  }
}

dl_status ranks_of(const dl_cu_index *x, adder *a, void *stream) {
  table<DL_MAXDIM> t;
  joined j;
  void *rank;
  j.nd = 0;
  add_dims(&j, &x->places, x, true);
  table_of(&t, x, &j);
  DL_TRY(dl_cu_scratch((size_t)t.geo.numel * sizeof(uint64_t), stream, &rank));
  a->none = 1;
  for (int k = 0; k < x->n; k++) a->none *= (uint64_t)x->length[k];
  DL_LAUNCH_EACH(rank_places, t.geo.numel, stream, t, a->none, static_cast<uint64_t *>(rank));
  return dl_cu_order_indices(static_cast<uint64_t *>(rank), t.geo.numel, a->none, stream,
                             &a->order);
}

} /* namespace */

dl_status dl_cu_index_pick(const dl_cu_index *x, void *stream) {
  return move_all(x, false, stream);
}

dl_status dl_cu_index_put(const dl_cu_index *x, void *stream) {
  return move_all(x, true, stream);
}

dl_status dl_cu_index_add(const dl_cu_index *x, void *stream) {
  adder a;
  joined rest;
  const int64_t *stride[2] = {rest.stride[0], rest.stride[1]}, *near = x->places.near;
  rest.nd = 0;
  add_dims(&rest, &x->outer, x, false);
  add_dims(&rest, &x->block, x, false);
  dl_geo_make(&a.rest, rest.nd, rest.size, stride);
  dl_geo_make(&a.places, x->places.n, x->places.size, &near);
  int64_t count = a.rest.numel * a.places.numel;
  if (count == 0) return DL_OK;
  DL_TRY(ranks_of(x, &a, stream));
  a.n = x->n;
  for (int k = 0; k < x->n; k++) a.length[k] = x->length[k], a.far[k] = x->far[k];
  a.alpha = x->alpha;
  a.is_bool = x->dtype == DL_BOOL;
  DL_BY_DTYPE(x->dtype, DL_LAUNCH_EACH(add_all<T>, count, stream, a,
                                       reinterpret_cast<const T *>(x->near_data),
                                       reinterpret_cast<T *>(x->far_data), count));
  return DL_OK;
}
