/* copy.cu -- the one strided copy of the GPU, and what is made of it
 *
 * For every kernel that wants contiguous operands (dl_cu_contig), and the rows that copy.
 *
 * INVARIANT  Views have equal sizes; they do not overlap unless they are the same view. */
#include "pw.h"

#include <string.h>

/* ---- equal dtypes: words of the element's size ----------------------------------------------- */
template <class W> __global__ void copy_words(W *d, const W *s, dl_geo<2> g) {
  DL_EACH(i, g.numel) {
    int64_t off[2];
    g.place(i, off);
    d[off[0]] = s[off[1]];
  }
}

/* Both run over the same dims, but the source's unit stride lies across: through shared memory. */
enum { TILE = 32, ROWS = 8 };
template <class W>
__global__ void copy_turned(W *d, const W *s, int64_t na, int64_t nb, int64_t da, int64_t sb,
                            int64_t batch, int64_t dstep, int64_t sstep) {
  DL_SHARED(W, tile, [TILE][TILE + 1]);
  for (int64_t z = blockIdx.z; z < batch; z += gridDim.z) {
    int64_t a0 = (int64_t)blockIdx.x * TILE, b0 = (int64_t)blockIdx.y * TILE;
    for (; b0 < nb; b0 += (int64_t)gridDim.y * TILE) {
      for (int r = threadIdx.y; r < TILE; r += ROWS)
        if (a0 + threadIdx.x < na && b0 + r < nb)
          tile[r][threadIdx.x] = s[z * sstep + a0 + threadIdx.x + (b0 + r) * sb];
      __syncthreads();
      for (int r = threadIdx.y; r < TILE; r += ROWS)
        if (a0 + r < na && b0 + threadIdx.x < nb)
          d[z * dstep + (a0 + r) * da + b0 + threadIdx.x] = tile[threadIdx.x][r];
      __syncthreads();
    }
  }
}

/* A plain or batched transpose: d[z][a][b] = s[z][b][a]. */
template <class W> static bool turned(W *d, const W *s, const dl_geo<2> &g, void *stream) {
  int a = g.nd - 2, b = g.nd - 1;
  bool good = g.nd >= 2 && g.nd <= 3 && g.stride[0][b] == 1 && g.stride[1][a] == 1 &&
              g.size[a] >= 8 && g.size[b] >= 8;
  if (!good) return false;
  int64_t batch = g.nd == 3 ? g.size[0] : 1, nb = (g.size[b] + TILE - 1) / TILE;
  dim3 grid((unsigned)((g.size[a] + TILE - 1) / TILE), (unsigned)(nb < 65535 ? nb : 65535),
            (unsigned)(batch < 65535 ? batch : 65535));
  DL_LAUNCH(copy_turned<W>, grid, dim3(TILE, ROWS), 0, stream, d, s, g.size[a], g.size[b],
            g.stride[0][a], g.stride[1][b], batch, g.stride[0][0], g.stride[1][0]);
  return true;
}

template <class W> static void move(void *dp, const void *sp, const dl_geo<2> &g, void *stream) {
  W *d = static_cast<W *>(dp);
  const W *s = static_cast<const W *>(sp);
  if constexpr (sizeof(W) <= 8) {
    if (turned(d, s, g, stream)) return;
  }
  DL_LAUNCH_EACH(copy_words<W>, g.numel, stream, d, s, g);
}

/* Words of 16 bytes, or as long as the layout allows, in place of elements of `bytes` bytes. */
static int64_t widen(dl_geo<2> *g, const void *d, const void *s, int64_t bytes) {
  int last = g->nd - 1;
  for (; bytes < 16; bytes *= 2) {
    bool good = g->size[last] % 2 == 0 && dl_is_aligned(d, (size_t)bytes * 2) &&
                dl_is_aligned(s, (size_t)bytes * 2);
    for (int k = 0; k < 2; k++) {
      good = good && g->stride[k][last] == 1;
      for (int i = 0; i < last; i++) good = good && g->stride[k][i] % 2 == 0;
    }
    if (!good) break;
    g->size[last] /= 2, g->numel /= 2;
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < last; i++) g->stride[k][i] /= 2;
  }
  dl_geo_ready(g);
  return bytes;
}

/* ---- the copy -------------------------------------------------------------------------------- */
/* Dims by falling stride of the destination, so that neighbouring threads write neighbours. */
static void sorted_geo(dl_geo<2> *g, const dl_view *dst, const dl_view *src) {
  int64_t size[DL_MAXDIM], d[DL_MAXDIM], s[DL_MAXDIM];
  int n = 0;
  for (int i = 0; i < dst->ndim; i++) {
    int k = n++;
    for (; k > 0 && (dst->stride[i] > d[k - 1] ||
                     (dst->stride[i] == d[k - 1] && src->stride[i] > s[k - 1])); k--) {
      size[k] = size[k - 1];
      d[k] = d[k - 1];
      s[k] = s[k - 1];
    }
    size[k] = dst->size[i];
    d[k] = dst->stride[i];
    s[k] = src->stride[i];
  }
  const int64_t *stride[2] = {d, s};
  dl_geo_make(g, n, size, stride);
}

dl_status dl_cu_copy(const dl_view *dst, const dl_view *src, void *stream) {
  if (dst->numel == 0) return DL_OK;
  if (dst->dtype != src->dtype) return dl_cu_convert(dst, src, stream);
  dl_geo<2> g;
  sorted_geo(&g, dst, src);
  if (g.nd == 1 && g.stride[0][0] == 1 && g.stride[1][0] == 1) {
    dl_cu_move(dst->data, src->data, g.numel * dl_cu_esize(dst), stream);
    return DL_OK;
  }
  switch (widen(&g, dst->data, src->data, dl_cu_esize(dst))) {
    case 1: move<uint8_t>(dst->data, src->data, g, stream); break;
    case 2: move<uint16_t>(dst->data, src->data, g, stream); break;
    case 4: move<uint32_t>(dst->data, src->data, g, stream); break;
    case 8: move<uint64_t>(dst->data, src->data, g, stream); break;
    default: move<dl_pack<uint64_t, 2>>(dst->data, src->data, g, stream);
  }
  return DL_OK;
}

dl_status dl_cu_like(const dl_view *v, int dtype, void *stream, dl_cu_view *out) {
  out->v = *v;
  out->v.dtype = (uint8_t)dtype;
  int64_t step = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    out->stride[d] = step;
    step *= v->size[d];
  }
  out->v.stride = out->stride;
  void *p;
  DL_TRY(dl_cu_scratch((size_t)(v->numel * dl_cu_esize(&out->v)), stream, &p));
  out->v.data = (char *)p;
  return DL_OK;
}

dl_status dl_cu_contig(const dl_view *v, int dtype, void *stream, dl_cu_view *out) {
  bool same = dtype == DL_NODTYPE || dtype == v->dtype;
  if (!v->data || (same && dl_cu_is_contig(v))) {
    out->v = *v;
    return DL_OK;
  }
  DL_TRY(dl_cu_like(v, same ? v->dtype : dtype, stream, out));
  return dl_cu_copy(&out->v, v, stream);
}

/* ---- rows ------------------------------------------------------------------------------------ */
DL_CUDA(clone) { return dl_cu_copy(&c->out[0], &c->in[0], stream); }
DL_CUDA(_to_copy) { return dl_cu_copy(&c->out[0], &c->in[0], stream); }
DL_CUDA(copy_) {
  const dl_view *dst = &c->out[0], *src = &c->in[1];
  int64_t stride[DL_MAXDIM];
  int lead = dst->ndim - src->ndim;
  for (int d = 0; d < dst->ndim; d++)
    stride[d] = d < lead || src->size[d - lead] == 1 ? 0 : src->stride[d - lead];
  dl_view spread = *src;
  spread.ndim = dst->ndim;
  spread.numel = dst->numel;
  spread.size = dst->size;
  spread.stride = stride;
  return dl_cu_copy(dst, &spread, stream);
}
