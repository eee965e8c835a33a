/* dropout.cu -- dropout and its mask in one launch, dropped where PyTorch drops on a CUDA device
 *
 * For table.cu. A thread takes packs of neighbours (dl_dropping_pack), or elements a grid apart.
 *
 * SOURCE     ATen/native/cuda/Dropout.cu; the gradient is a pointwise row.
 * INVARIANT  The mask follows from (seed, offset, n, dtype, alignment, the card); the offset goes
 *            on by what PyTorch's launch takes, whatever the packs. */
#include "block.h"
#include "geo.h"

struct drop_call {
  const void *x;
  void *y;
  uint8_t *mask;
  uint64_t seed, offset;
  dl_dropping d;
};

template <class T, class C>
__device__ __forceinline__ T drop(const drop_call &p, T x, float u, uint8_t *kept) {
  bool on = u < (C)p.d.keep;
  *kept = on;
  return dl_to<T>(dl_as<C>(x) * (C)on * (C)p.d.scale);
}

/* All n elements lie one after the other. */
template <class T, class C, int N>
__global__ void __launch_bounds__(DL_PHILOX_BLOCK) drop_packs(drop_call p, int64_t n) {
  int64_t threads = (int64_t)gridDim.x * DL_PHILOX_BLOCK;
  int64_t t = (int64_t)blockIdx.x * DL_PHILOX_BLOCK + threadIdx.x;
  for (int64_t r = 0; (t + r * threads) * N < n; r++) {
    int64_t at = t + r * threads;
    dl_pack<T, N> x = static_cast<const dl_pack<T, N> *>(p.x)[at], y;
    dl_pack<uint8_t, N> mask;
    DL_UNROLL for (int j = 0; j < N; j += 4) {
      dl_philox4 w = dl_dropping_draw(p.seed, p.offset, t, r, N, j / 4);
      DL_UNROLL for (int i = j; i < j + 4 && i < N; i++)
        y.v[i] = drop<T, C>(p, x.v[i], dl_philox_uniform(w.x[i - j]), &mask.v[i]);
    }
    static_cast<dl_pack<T, N> *>(p.y)[at] = y;
    reinterpret_cast<dl_pack<uint8_t, N> *>(p.mask)[at] = mask;
  }
}

/* Views: input, result, mask. */
template <class T, class C>
__global__ void __launch_bounds__(DL_PHILOX_BLOCK) drop_each(drop_call p, dl_geo<3> g) {
  int64_t threads = (int64_t)gridDim.x * DL_PHILOX_BLOCK;
  int64_t t = (int64_t)blockIdx.x * DL_PHILOX_BLOCK + threadIdx.x;
  for (int64_t r = 0; t + r * threads * 4 < g.numel; r++) {
    dl_philox4 w = dl_dropping_draw(p.seed, p.offset, t, r, 1, 0);
    DL_UNROLL for (int i = 0; i < 4; i++) {
      int64_t at = t + threads * (r * 4 + i), off[3];
      if (at >= g.numel) continue;
      g.place(at, off);
      static_cast<T *>(p.y)[off[1]] = drop<T, C>(p, static_cast<const T *>(p.x)[off[0]],
                                                 dl_philox_uniform(w.x[i]), &p.mask[off[2]]);
    }
  }
}

/* Nothing is drawn where all stays, or nothing. */
template <class T> __global__ void settled(drop_call p, dl_geo<3> g, bool stays) {
  DL_EACH(i, g.numel) {
    int64_t off[3];
    g.place(i, off);
    static_cast<T *>(p.y)[off[1]] = stays ? static_cast<const T *>(p.x)[off[0]] : T(0);
    p.mask[off[2]] = stays;
  }
}

static void places(const dl_kcall *c, dl_geo<3> *g) {
  const dl_view *x = &c->in[0];
  const int64_t *strides[3] = {x->stride, c->out[0].stride, c->out[1].stride};
  dl_geo_make(g, x->ndim, x->size, strides);
}

template <class T>
static void launch(const drop_call &p, const dl_kcall *c, int pack, unsigned blocks,
                   void *stream) {
  typedef typename dl_wide<T>::type C;
  enum { MOST = dl_per16<T>::N, HALF = MOST / 2, QUARTER = MOST > 4 ? MOST / 4 : HALF };
  const int64_t n = c->in[0].numel;
  dl_geo<3> g;
  if (pack == MOST) {
    DL_LAUNCH((drop_packs<T, C, MOST>), blocks, DL_PHILOX_BLOCK, 0, stream, p, n);
  } else if (pack > 1 && pack == HALF) {
    DL_LAUNCH((drop_packs<T, C, HALF>), blocks, DL_PHILOX_BLOCK, 0, stream, p, n);
  } else if (pack > 1) {
    DL_LAUNCH((drop_packs<T, C, QUARTER>), blocks, DL_PHILOX_BLOCK, 0, stream, p, n);
  } else {
    places(c, &g);
    DL_LAUNCH((drop_each<T, C>), blocks, DL_PHILOX_BLOCK, 0, stream, p, g);
  }
}

/* arg: input, p, train; results: the values, the mask */
DL_CUDA(native_dropout) {
  const dl_view *x = &c->in[0];
  dl_gen *gen = c->gen;
  const double p = dl_arg_f(&c->arg[1]);
  bool train = !dl_arg_given(&c->arg[2]) || c->arg[2].i;
  int pack = 1;
  dl_geo<3> g;
  drop_call call = {x->data, c->out[0].data, reinterpret_cast<uint8_t *>(c->out[1].data),
                    gen->seed, gen->offset, dl_dropping_of(p, x->dtype == DL_F64)};
  if (x->numel == 0) return DL_OK;
  if (!train || p == 1) {
    places(c, &g);
    DL_BY_SIZE(x->dtype, DL_LAUNCH_EACH(settled<T>, x->numel, stream, call, g, !train));
    return DL_OK;
  }
  if (dl_is_dense(x->ndim, x->size, x->stride))
    pack = dl_dropping_pack(x->data, x->numel, (int)dl_cu_esize(x));
  unsigned blocks = dl_philox_blocks(x->numel, gen->max_blocks);
  DL_BY_FLOAT(x->dtype, launch<T>(call, c, pack, blocks, stream));
  gen->offset += dl_philox_advance(x->numel, blocks);
  return DL_OK;
}
