/* layer_norm.cu -- layer normalisation over the last dims, and its gradient
 *
 * For table.cu. Rows of n elements, one a warp (in registers) or one a block. Gradients of weight
 * and bias are sums down the columns, in parts of the rows that a second kernel adds up.
 *
 * INVARIANT  The bits depend on sizes and the card alone. */
#include "row.h"

struct norm_call {
  const void *x, *g, *w, *b;     /* w, b: of the compute dtype; may be NULL */
  const void *mean_in, *rstd_in; /* of the compute dtype */
  void *out, *mean, *rstd;
  int64_t rows, n;
  double eps;
};

template <class C> __device__ __forceinline__ C scaled(const norm_call &p, C z, int64_t i) {
  if (p.w) z *= ((const C *)p.w)[i];
  return p.b ? z + ((const C *)p.b)[i] : z;
}

/* ---- forward --------------------------------------------------------------------------------- */
template <class V, class C, int PER> __global__ void norm_warp(norm_call p) {
  int64_t row = (int64_t)blockIdx.x * (DL_BLOCK / 32) + threadIdx.x / 32, step = gridDim.x;
  int lane = (int)threadIdx.x % 32, n = (int)p.n;
  for (; row < p.rows; row += step * (DL_BLOCK / 32)) {
    const V *x = (const V *)p.x + row * p.n;
    V *out = (V *)p.out + row * p.n;
    C v[PER], sum = 0, m2 = 0;
    DL_UNROLL for (int j = 0; j < PER; j++) {
      v[j] = lane + j * 32 < n ? dl_as<C>(x[lane + j * 32]) : (C)0;
      sum += v[j];
    }
    C mean = dl_warp_all<dl_adds>(sum) / (C)n;
    DL_UNROLL for (int j = 0; j < PER; j++)
      if (lane + j * 32 < n) m2 += (v[j] - mean) * (v[j] - mean);
    C rstd = (C)1 / dl_root_of(dl_warp_all<dl_adds>(m2) / (C)n + (C)p.eps);
    DL_UNROLL for (int j = 0; j < PER; j++)
      if (lane + j * 32 < n)
        out[lane + j * 32] = dl_to<V>(scaled(p, (v[j] - mean) * rstd, lane + j * 32));
    if (lane == 0) ((C *)p.mean)[row] = mean, ((C *)p.rstd)[row] = rstd;
  }
}

template <class V, class C> __global__ void norm_block(norm_call p) {
  DL_SHARED(C, sh, [32]);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const V *x = (const V *)p.x + row * p.n;
    V *out = (V *)p.out + row * p.n;
    C sum = 0, m2 = 0;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) sum += dl_as<C>(x[i]);
    C mean = dl_block_all<dl_adds>(sum, sh) / (C)p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
      m2 += (dl_as<C>(x[i]) - mean) * (dl_as<C>(x[i]) - mean);
    C rstd = (C)1 / dl_root_of(dl_block_all<dl_adds>(m2, sh) / (C)p.n + (C)p.eps);
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
      out[i] = dl_to<V>(scaled(p, (dl_as<C>(x[i]) - mean) * rstd, i));
    if (threadIdx.x == 0) ((C *)p.mean)[row] = mean, ((C *)p.rstd)[row] = rstd;
  }
}

template <class V, class C> static void forward(const norm_call &p, void *stream) {
  unsigned warps = dl_blocks(p.rows * 32), blocks = dl_blocks(p.rows * DL_BLOCK);
  if (p.n <= 256) DL_LAUNCH((norm_warp<V, C, 8>), warps, DL_BLOCK, 0, stream, p);
  else if (p.n <= 1024) DL_LAUNCH((norm_warp<V, C, 32>), warps, DL_BLOCK, 0, stream, p);
  else DL_LAUNCH((norm_block<V, C>), blocks, DL_BLOCK, 0, stream, p);
}

/* One call of f<V, C> by the dtype of the rows. */
#define BY_ROWS(dtype, f, ...)                                    \
  do {                                                            \
    if ((dtype) == DL_F32) f<float, float>(__VA_ARGS__);          \
    else if ((dtype) == DL_F64) f<double, double>(__VA_ARGS__);   \
    else if ((dtype) == DL_F16) f<dl_half, float>(__VA_ARGS__);   \
    else f<dl_bf16, float>(__VA_ARGS__);                          \
  } while (0)

DL_CUDA(native_layer_norm) {
  norm_call p = {};
  dl_cu_view x, w, b;
  if (c->in[0].numel == 0) return DL_OK;
  DL_TRY(dl_cu_contig(&c->in[0], c->out[0].dtype, stream, &x));
  DL_TRY(dl_cu_contig(&c->in[1], c->compute, stream, &w));
  DL_TRY(dl_cu_contig(&c->in[2], c->compute, stream, &b));
  p.x = x.v.data;
  p.w = w.v.data;
  p.b = b.v.data;
  p.out = c->out[0].data;
  p.mean = c->out[1].data;
  p.rstd = c->out[2].data;
  p.rows = c->out[1].numel;
  p.n = c->in[0].numel / p.rows;
  p.eps = dl_arg_f(&c->arg[4]);
  BY_ROWS(c->out[0].dtype, forward, p, stream);
  return DL_OK;
}

/* ---- gradient of the input ------------------------------------------------------------------- */
/* rstd (g w - mean(g w) - z mean(g w z)),  z = (x - mean) rstd */
template <class V, class C> __global__ void norm_back(norm_call p) {
  DL_SHARED(C, sh, [32]);
  const C *w = (const C *)p.w;
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    const V *x = (const V *)p.x + row * p.n, *g = (const V *)p.g + row * p.n;
    V *out = (V *)p.out + row * p.n;
    C mean = ((const C *)p.mean_in)[row], rstd = ((const C *)p.rstd_in)[row], sum = 0, dot = 0;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C gw = dl_as<C>(g[i]) * (w ? w[i] : (C)1);
      sum += gw;
      dot += gw * (dl_as<C>(x[i]) - mean);
    }
    sum = dl_block_all<dl_adds>(sum, sh) / (C)p.n;
    dot = dl_block_all<dl_adds>(dot, sh) * rstd * rstd / (C)p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C gw = dl_as<C>(g[i]) * (w ? w[i] : (C)1);
      out[i] = dl_to<V>(rstd * (gw - sum - (dl_as<C>(x[i]) - mean) * dot));
    }
  }
}
template <class V, class C> static void backward(const norm_call &p, void *stream) {
  if (p.rows * p.n == 0) return;
  DL_LAUNCH((norm_back<V, C>), dl_blocks(p.rows * DL_BLOCK), DL_BLOCK, 0, stream, p);
}

/* ---- gradients of weight and bias ------------------------------------------------------------ */
enum { COLS = 32, DEEP = 8 };    /* a block: COLS columns, DEEP rows at a time */

/* parts[part][0][i]: sum of g z over the part's rows; [1][i]: sum of g */
template <class V, class C>
__global__ void norm_columns(norm_call p, C *parts, int64_t part_rows) {
  DL_SHARED(C, sh, [2][DEEP][COLS]);
  int col = (int)threadIdx.x, deep = (int)threadIdx.y;
  int64_t i = (int64_t)blockIdx.x * COLS + col, part = blockIdx.y;
  int64_t end = (part + 1) * part_rows < p.rows ? (part + 1) * part_rows : p.rows;
  C dw = 0, db = 0;
  for (int64_t r = part * part_rows + deep; i < p.n && r < end; r += DEEP) {
    C g = dl_as<C>(((const V *)p.g)[r * p.n + i]), x = dl_as<C>(((const V *)p.x)[r * p.n + i]);
    dw += g * ((x - ((const C *)p.mean_in)[r]) * ((const C *)p.rstd_in)[r]);
    db += g;
  }
  sh[0][deep][col] = dw;
  sh[1][deep][col] = db;
  __syncthreads();
  if (deep > 1 || i >= p.n) return;
  C sum = 0;
  for (int d = 0; d < DEEP; d++) sum += sh[deep][d][col];
  parts[(part * 2 + deep) * p.n + i] = sum;
}

template <class C>
__global__ void norm_add_parts(const C *parts, int64_t count, int64_t n, void *dw, int dwt,
                               void *db, int dbt) {
  DL_EACH(i, n) {
    C w = 0, b = 0;
    for (int64_t k = 0; k < count; k++) {
      w += parts[k * 2 * n + i];
      b += parts[(k * 2 + 1) * n + i];
    }
    dl_put(dwt, dw, i, w);
    dl_put(dbt, db, i, b);
  }
}

static int64_t parts_for(int64_t rows, int64_t n) {
  int64_t tiles = (n + COLS - 1) / COLS, want = dl_cuda_environment.sm_count * 8 / (tiles + 1) + 1;
  int64_t most = (rows + 4 * DEEP - 1) / (4 * DEEP);
  return most < 1 ? 1 : want < most ? want : most;
}

template <class V, class C>
static void columns(const norm_call &p, C *parts, int64_t count, void *stream) {
  dim3 grid((unsigned)((p.n + COLS - 1) / COLS), (unsigned)count), block(COLS, DEEP);
  int64_t part_rows = (p.rows + count - 1) / count;
  DL_LAUNCH((norm_columns<V, C>), grid, block, 0, stream, p, parts, part_rows);
}

template <class C> static void sums_of(const dl_kcall *c, const norm_call &p, void *parts,
                                       int64_t count, void *stream) {
  C *at = (C *)parts;
  if (c->out[0].dtype == DL_F16) columns<dl_half>(p, (float *)parts, count, stream);
  else if (c->out[0].dtype == DL_BF16) columns<dl_bf16>(p, (float *)parts, count, stream);
  else columns<C>(p, at, count, stream);
  DL_LAUNCH_EACH(norm_add_parts<C>, p.n, stream, at, count, p.n, c->out[1].data, c->out[1].dtype,
                 c->out[2].data, c->out[2].dtype);
}

DL_CUDA(native_layer_norm_backward) {
  norm_call p = {};
  dl_cu_view v[5];
  void *parts;
  uint8_t rows = c->out[0].dtype;
  DL_TRY(dl_cu_contig(&c->in[0], rows, stream, &v[0]));
  DL_TRY(dl_cu_contig(&c->in[1], rows, stream, &v[1]));
  for (int k = 2; k < 5; k++) DL_TRY(dl_cu_contig(&c->in[k], c->compute, stream, &v[k]));
  p.g = v[0].v.data;
  p.x = v[1].v.data;
  p.mean_in = v[2].v.data;
  p.rstd_in = v[3].v.data;
  p.w = v[4].v.data;
  p.out = c->out[0].data;
  p.n = c->out[1].numel;
  p.rows = p.n ? c->in[1].numel / p.n : 0;
  if (p.n == 0) return DL_OK;
  int64_t count = parts_for(p.rows, p.n);
  size_t bytes = (size_t)(2 * count * p.n) * dl_dtypes[c->compute].size;
  DL_TRY(dl_cu_scratch(bytes, stream, &parts));
  BY_ROWS(rows, backward, p, stream);
  if (c->compute == DL_F64) sums_of<double>(c, p, parts, count, stream);
  else sums_of<float>(c, p, parts, count, stream);
  return DL_OK;
}
