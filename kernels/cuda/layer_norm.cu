/* layer_norm.cu -- layer normalisation over the last dims, and its gradient
 *
 * For table.cu. Rows of n elements are held in registers by a warp or a block (row.h); longer ones
 * and float64's go to a block, which reads them again from the cache. Gradients of weight and bias
 * are sums down the columns, in parts of the rows that a second kernel adds up.
 *
 * INVARIANT  The bits depend on sizes and the card alone. */
#include "row.h"

struct norm_call {
  const void *x, *g, *w, *b;     /* w, b: of the compute dtype; may be NULL */
  const void *mean_in, *rstd_in; /* of the compute dtype */
  void *out, *mean, *rstd;
  int dtype;                     /* of x, g and out */
  int64_t rows, n;
  double eps;
};

template <class C> DL_FN C factor(const norm_call &p, int64_t i) {
  return p.w ? static_cast<const C *>(p.w)[i] : (C)1;
}
template <class C> DL_FN C offset(const norm_call &p, int64_t i) {
  return p.b ? static_cast<const C *>(p.b)[i] : (C)0;
}
/* This thread's part of the vector w; `absent` where there is none. */
DL_FN void vector_read(const dl_row_plan &r, const void *w, float absent, float *v) {
  if (w) {
    dl_row_read(r, DL_F32, w, 0, absent, v);
    return;
  }
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) v[j] = absent;
}

/* ---- forward --------------------------------------------------------------------------------- */
static __global__ void __launch_bounds__(1024) norm_held(norm_call p, dl_row_plan r) {
  DL_SHARED(float, sh, [32]);
  int64_t row = dl_row_mine();
  float v[DL_ROW_EACH], w[DL_ROW_EACH], sum = 0, m2 = 0;
  if (row >= p.rows) return;
  dl_row_read(r, p.dtype, p.x, row * r.n, 0.0f, v);
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) sum += v[j];
  float mean = dl_row_all<dl_adds>(r, sum, sh) / (float)r.n;
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) {
    v[j] -= mean;
    m2 += dl_row_at(r, j) < r.n ? v[j] * v[j] : 0.0f;
  }
  float rstd = dl_row_all<dl_adds>(r, m2, sh) / (float)r.n + (float)p.eps;
  rstd = 1.0f / dl_root_of(rstd);
  vector_read(r, p.w, 1.0f, w);
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) v[j] = v[j] * rstd * w[j];
  if (p.b) {
    vector_read(r, p.b, 0.0f, w);
    DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) v[j] += w[j];
  }
  dl_row_write(r, p.dtype, p.out, row * r.n, v);
  if (threadIdx.x > 0) return;
  static_cast<float *>(p.mean)[row] = mean;
  static_cast<float *>(p.rstd)[row] = rstd;
}

template <class C> __global__ void norm_block(norm_call p) {
  DL_SHARED(C, sh, [32]);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    int64_t at = row * p.n;
    C sum = 0, m2 = 0;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK)
      sum += dl_num_get(p.dtype, p.x, at + i, C());
    C mean = dl_block_all<dl_adds>(sum, sh) / (C)p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C gap = dl_num_get(p.dtype, p.x, at + i, C()) - mean;
      m2 += gap * gap;
    }
    C rstd = (C)1 / dl_root_of(dl_block_all<dl_adds>(m2, sh) / (C)p.n + (C)p.eps);
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C z = (dl_num_get(p.dtype, p.x, at + i, C()) - mean) * rstd;
      dl_num_put(p.dtype, p.out, at + i, z * factor<C>(p, i) + offset<C>(p, i));
    }
    if (threadIdx.x > 0) continue;
    static_cast<C *>(p.mean)[row] = mean;
    static_cast<C *>(p.rstd)[row] = rstd;
  }
}

/* Can rows stay in registers? How. */
static bool is_held(const norm_call &p, dl_row_plan *r) {
  if (p.dtype == DL_F64 || p.n > DL_ROW_MOST) return false;
  *r = dl_row_plan_of(p.n, p.dtype, p.x, p.g, p.out);
  r->packed = r->packed && dl_is_aligned(p.w, 16) && dl_is_aligned(p.b, 16);
  return true;
}
static void forward(const norm_call &p, void *stream) {
  unsigned blocks = dl_blocks(p.rows * DL_BLOCK);
  dl_row_plan r;
  if (is_held(p, &r))
    DL_LAUNCH(norm_held, dl_row_grid(r, p.rows), dl_row_block(r), 0, stream, p, r);
  else if (p.dtype == DL_F64) DL_LAUNCH(norm_block<double>, blocks, DL_BLOCK, 0, stream, p);
  else DL_LAUNCH(norm_block<float>, blocks, DL_BLOCK, 0, stream, p);
}

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
  p.dtype = c->out[0].dtype;
  forward(p, stream);
  return DL_OK;
}

/* ---- gradient of the input ------------------------------------------------------------------- */
/* rstd (g w - mean(g w) - z mean(g w z)),  z = (x - mean) rstd */
static __global__ void __launch_bounds__(1024) back_held(norm_call p, dl_row_plan r) {
  DL_SHARED(float, sh, [32]);
  int64_t row = dl_row_mine();
  float x[DL_ROW_EACH], g[DL_ROW_EACH], w[DL_ROW_EACH], sum = 0, dot = 0;
  if (row >= p.rows) return;
  float mean = static_cast<const float *>(p.mean_in)[row];
  float rstd = static_cast<const float *>(p.rstd_in)[row];
  dl_row_read(r, p.dtype, p.x, row * r.n, 0.0f, x);
  dl_row_read(r, p.dtype, p.g, row * r.n, 0.0f, g);
  vector_read(r, p.w, 1.0f, w);
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) {
    x[j] -= mean;
    g[j] *= w[j];
    sum += g[j];
    dot += g[j] * x[j];
  }
  sum = dl_row_all<dl_adds>(r, sum, sh) / (float)r.n;
  dot = dl_row_all<dl_adds>(r, dot, sh) * rstd * rstd / (float)r.n;
  DL_UNROLL for (int j = 0; j < DL_ROW_EACH; j++) x[j] = rstd * (g[j] - sum - x[j] * dot);
  dl_row_write(r, p.dtype, p.out, row * r.n, x);
}

template <class C> __global__ void back_block(norm_call p) {
  DL_SHARED(C, sh, [32]);
  for (int64_t row = blockIdx.x; row < p.rows; row += gridDim.x) {
    int64_t at = row * p.n;
    C mean = static_cast<const C *>(p.mean_in)[row], sum = 0, dot = 0;
    C rstd = static_cast<const C *>(p.rstd_in)[row];
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C gw = dl_num_get(p.dtype, p.g, at + i, C()) * factor<C>(p, i);
      sum += gw;
      dot += gw * (dl_num_get(p.dtype, p.x, at + i, C()) - mean);
    }
    sum = dl_block_all<dl_adds>(sum, sh) / (C)p.n;
    dot = dl_block_all<dl_adds>(dot, sh) * rstd * rstd / (C)p.n;
    for (int64_t i = threadIdx.x; i < p.n; i += DL_BLOCK) {
      C gw = dl_num_get(p.dtype, p.g, at + i, C()) * factor<C>(p, i);
      C gap = dl_num_get(p.dtype, p.x, at + i, C()) - mean;
      dl_num_put(p.dtype, p.out, at + i, rstd * (gw - sum - gap * dot));
    }
  }
}
static void backward(const norm_call &p, void *stream) {
  unsigned blocks = dl_blocks(p.rows * DL_BLOCK);
  dl_row_plan r;
  if (p.rows * p.n == 0) return;
  if (is_held(p, &r))
    DL_LAUNCH(back_held, dl_row_grid(r, p.rows), dl_row_block(r), 0, stream, p, r);
  else if (p.dtype == DL_F64) DL_LAUNCH(back_block<double>, blocks, DL_BLOCK, 0, stream, p);
  else DL_LAUNCH(back_block<float>, blocks, DL_BLOCK, 0, stream, p);
}

/* ---- gradients of weight and bias ------------------------------------------------------------ */
enum { COLS = 32, DEEP = 8 };    /* a block: COLS columns, DEEP rows at a time */

/* parts[part][0][i]: sum of g z over the part's rows; [1][i]: sum of g */
template <class C>
__global__ void norm_columns(norm_call p, C *parts, int64_t part_rows) {
  DL_SHARED(C, sh, [2][DEEP][COLS]);
  int col = (int)threadIdx.x, deep = (int)threadIdx.y;
  int64_t i = (int64_t)blockIdx.x * COLS + col, part = blockIdx.y;
  int64_t end = (part + 1) * part_rows < p.rows ? (part + 1) * part_rows : p.rows;
  C dw = 0, db = 0;
  DL_UNROLLED(4)
  for (int64_t r = part * part_rows + deep; r < (i < p.n ? end : 0); r += DEEP) {
    C g = dl_num_get(p.dtype, p.g, r * p.n + i, C());
    C x = dl_num_get(p.dtype, p.x, r * p.n + i, C());
    dw += g * ((x - static_cast<const C *>(p.mean_in)[r]) * static_cast<const C *>(p.rstd_in)[r]);
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

template <class C>
static void sums_of(const dl_kcall *c, const norm_call &p, C *parts, int64_t count, void *stream) {
  dim3 grid((unsigned)((p.n + COLS - 1) / COLS), (unsigned)count), block(COLS, DEEP);
  int64_t part_rows = (p.rows + count - 1) / count;
  DL_LAUNCH(norm_columns<C>, grid, block, 0, stream, p, parts, part_rows);
  DL_LAUNCH_EACH(norm_add_parts<C>, p.n, stream, parts, count, p.n, c->out[1].data, c->out[1].dtype,
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
  p.dtype = rows;
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
  backward(p, stream);
  if (c->compute == DL_F64) sums_of(c, p, static_cast<double *>(parts), count, stream);
  else sums_of(c, p, static_cast<float *>(parts), count, stream);
  return DL_OK;
}
