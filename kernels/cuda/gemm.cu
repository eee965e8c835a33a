/* gemm.cu -- matrix products on the device
 *
 * Three ways: products with one row or one column are a pass over the matrix; others go to cuBLAS
 * if the driver has it and the operands' layout suits; the rest are computed tile by tile. A block
 * of 16 x 16 threads makes a tile of the result, each thread R x R elements of it, from slices of
 * the operands in shared memory. */
#include "gemm.h"

enum { SIDE = 16, THREADS = DL_BLOCK, LANES = 32, ROWS = THREADS / LANES };
static_assert(SIDE * SIDE == DL_BLOCK, "a tile's threads are a block");

/* ---- tiles ---------------------------------------------------------------------------------- */
template <class A> struct alignas(16) four { A v[4]; };

/* A slice of an operand goes to shared memory as float, double or int64: s[step along k][line].
 * Threads run along the direction in which memory does. */
template <class T, class A, int TILE, int TK>
__device__ void load_slice(A (&s)[TK][TILE + 4], const T *p, int64_t line0, int64_t lines,
                           int64_t line_stride, int64_t k0, int64_t k, int64_t k_stride) {
  bool along_k = k_stride == 1;
  for (int i = 0; i < TILE * TK / THREADS; i++) {
    int e = (int)threadIdx.x + i * THREADS;
    int q = along_k ? e % TK : e / TILE, r = along_k ? e / TK : e % TILE;
    bool inside = line0 + r < lines && k0 + q < k;
    s[q][r] = inside ? dl_as<A>(p[(line0 + r) * line_stride + (k0 + q) * k_stride]) : A(0);
  }
}

/* Element i of a thread's R: four neighbours, and four more half a tile on. */
template <int TILE> __device__ int spot(int side, int i) {
  return i / 4 * (TILE / 2) + side * 4 + i % 4;
}

template <class T, class O, class A, int TILE, int R>
__device__ void write_tile(const dl_cu_product &g, const A (&sum)[R][R], int64_t row0, int64_t col0,
                           int64_t z) {
  int tx = (int)threadIdx.x % SIDE, ty = (int)threadIdx.x / SIDE;
  O *c = static_cast<O *>(g.c) + z * g.cbs;
  A alpha = (A)g.alpha, beta = (A)g.beta;
  DL_UNROLL
  for (int i = 0; i < R; i++) {
    int64_t row = row0 + spot<TILE>(ty, i);
    DL_UNROLL
    for (int j = 0; j < R; j++) {
      int64_t col = col0 + spot<TILE>(tx, j);
      if (row >= g.m || col >= g.n) continue;
      O *to = c + row * g.crs + col;
      A v = dl_mad(alpha, sum[i][j], g.beta != 0 ? dl_mad(beta, dl_as<A>(*to), A(0)) : A(0));
      *to = dl_to<O>(v);
    }
  }
}

template <class T, class O, class A, int R, int TK>
__global__ void __launch_bounds__(DL_BLOCK) tiled(dl_cu_product g, int64_t across) {
  enum { TILE = SIDE * R };
  DL_SHARED(A, as, [TK][TILE + 4]);
  DL_SHARED(A, bs, [TK][TILE + 4]);
  int tx = (int)threadIdx.x % SIDE, ty = (int)threadIdx.x / SIDE;
  int64_t row0 = blockIdx.x / across * TILE, col0 = blockIdx.x % across * TILE;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    const T *a = static_cast<const T *>(g.a) + z * g.abs;
    const T *b = static_cast<const T *>(g.b) + z * g.bbs;
    A sum[R][R] = {};
    for (int64_t k0 = 0; k0 < g.k; k0 += TK) {
      load_slice<T, A, TILE, TK>(as, a, row0, g.m, g.ars, k0, g.k, g.acs);
      load_slice<T, A, TILE, TK>(bs, b, col0, g.n, g.bcs, k0, g.k, g.brs);
      __syncthreads();
      DL_ROLLED
      for (int q = 0; q < TK; q++) {
        four<A> x[R / 4], y[R / 4];
        DL_UNROLL
        for (int i = 0; i < R / 4; i++) {
          x[i] = *reinterpret_cast<const four<A> *>(&as[q][spot<TILE>(ty, 4 * i)]);
          y[i] = *reinterpret_cast<const four<A> *>(&bs[q][spot<TILE>(tx, 4 * i)]);
        }
        DL_UNROLL
        for (int i = 0; i < R; i++)
          DL_UNROLL
          for (int j = 0; j < R; j++)
            sum[i][j] = dl_mad(x[i / 4].v[i % 4], y[j / 4].v[j % 4], sum[i][j]);
      }
      __syncthreads();
    }
    write_tile<T, O, A, TILE, R>(g, sum, row0, col0, z);
  }
}

/* ---- one row or column: (m,k) @ (k) --------------------------------------------------------- */
template <class O, class A>
__device__ void write_one(const dl_cu_product &g, int64_t row, int64_t z, A sum) {
  O *to = static_cast<O *>(g.c) + row * g.crs + z * g.cbs;
  A v = dl_mad((A)g.alpha, sum, g.beta != 0 ? dl_mad((A)g.beta, dl_as<A>(*to), A(0)) : A(0));
  *to = dl_to<O>(v);
}

/* A warp a row, for rows that lie in memory one after another. */
template <class T, class O, class A> __global__ void by_rows(dl_cu_product g) {
  int lane = (int)threadIdx.x % LANES;
  int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / LANES;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    const T *a = static_cast<const T *>(g.a) + row * g.ars + z * g.abs;
    const T *b = static_cast<const T *>(g.b) + z * g.bbs;
    A sum = 0;
    if (row < g.m)
      for (int64_t k = lane; k < g.k; k += LANES)
        sum = dl_mad(dl_as<A>(a[k * g.acs]), dl_as<A>(b[k * g.brs]), sum);
    for (int d = LANES / 2; d > 0; d /= 2) sum = dl_plus(sum, __shfl_xor_sync(0xffffffffu, sum, d));
    if (lane == 0 && row < g.m) write_one<O, A>(g, row, z, sum);
  }
}

/* A lane a row, for columns that lie one after another; the warps share out k. */
template <class T, class O, class A> __global__ void by_columns(dl_cu_product g) {
  DL_SHARED(A, part, [ROWS][LANES]);
  int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
  int64_t row = (int64_t)blockIdx.x * LANES + lane;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    const T *a = static_cast<const T *>(g.a) + row * g.ars + z * g.abs;
    const T *b = static_cast<const T *>(g.b) + z * g.bbs;
    A sum = 0;
    if (row < g.m)
      for (int64_t k = warp; k < g.k; k += ROWS)
        sum = dl_mad(dl_as<A>(a[k * g.acs]), dl_as<A>(b[k * g.brs]), sum);
    part[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && row < g.m) {
      for (int i = 1; i < ROWS; i++) sum = dl_plus(sum, part[i][lane]);
      write_one<O, A>(g, row, z, sum);
    }
    __syncthreads();
  }
}

/* Inner products: every block sums a share, one block adds the shares. */
template <class T, class A> __global__ void dot_parts(dl_cu_product g, A *part) {
  const T *a = static_cast<const T *>(g.a), *b = static_cast<const T *>(g.b);
  A sum = 0;
  for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < g.k;
       k += (int64_t)gridDim.x * blockDim.x)

        sum = dl_mad(dl_as<A>(a[k * g.acs]), dl_as<A>(b[k * g.brs]), sum);
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

template <class O, class A> __global__ void dot_sum(dl_cu_product g, const A *part, int n) {
  A sum = 0;
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) sum = dl_plus(sum, part[i]);
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) write_one<O, A>(g, 0, 0, sum);
}

/* ---- launches ------------------------------------------------------------------------------- */
static unsigned depth(int64_t batch) { return batch < 65535 ? (unsigned)batch : 65535u; }

template <class T, class O, class A>
static dl_status dot_run(const dl_cu_product &g, void *stream) {
  int64_t want = (g.k + 4095) / 4096;
  int blocks = want < 512 ? (int)want : 512;
  void *part;
  DL_TRY(dl_cu_scratch((size_t)blocks * sizeof(A), stream, &part));
  DL_LAUNCH((dot_parts<T, A>), dim3(blocks), dim3(THREADS), 0, stream, g, (A *)part);
  DL_LAUNCH((dot_sum<O, A>), dim3(1), dim3(THREADS), 0, stream, g, (const A *)part, blocks);
  return DL_OK;
}

/* A product with one row is one with one column of the transposed operands. */
static dl_cu_product turned(const dl_cu_product &g) {
  dl_cu_product t = g;
  t.m = g.n, t.n = g.m;
  t.a = g.b, t.ars = g.bcs, t.acs = g.brs, t.abs = g.bbs;
  t.b = g.a, t.brs = g.acs, t.bcs = g.ars, t.bbs = g.abs;
  t.crs = 1;
  return t;
}

template <class T, class O, class A>
static dl_status one_column(const dl_cu_product &g, void *stream) {
  if (g.m == 1 && g.batch == 1 && g.k > 4096) return dot_run<T, O, A>(g, stream);
  if (g.ars == 1 && g.acs != 1 && g.m >= LANES) {
    dim3 grid((unsigned)((g.m + LANES - 1) / LANES), 1, depth(g.batch));
    DL_LAUNCH((by_columns<T, O, A>), grid, dim3(THREADS), 0, stream, g);
  } else {
    dim3 grid((unsigned)((g.m + ROWS - 1) / ROWS), 1, depth(g.batch));
    DL_LAUNCH((by_rows<T, O, A>), grid, dim3(THREADS), 0, stream, g);
  }
  return DL_OK;
}

template <class T, class O, class A, int R, int TK>
static dl_status tiles(const dl_cu_product &g, void *stream) {
  int64_t side = SIDE * R, across = (g.n + side - 1) / side, down = (g.m + side - 1) / side;
  dim3 grid((unsigned)(across * down), 1, depth(g.batch));
  DL_LAUNCH((tiled<T, O, A, R, TK>), grid, dim3(THREADS), 0, stream, g, across);
  return DL_OK;
}

template <class T, class O, class A> static dl_status own(const dl_cu_product &g, void *stream) {
  if (g.n == 1) return one_column<T, O, A>(g, stream);
  if (g.m == 1) return one_column<T, O, A>(turned(g), stream);
  if constexpr (sizeof(A) == 4)
    if (g.m * g.n * g.batch >= 256 * 128 * 128) return tiles<T, O, A, 8, 8>(g, stream);
  return tiles<T, O, A, 4, 16>(g, stream);
}

/* ---- the driver's gemm ---------------------------------------------------------------------- */
/* A stored row-major operand has dense rows, or dense columns (then it is `turned`); its row
 * length. False where it is neither. */
static bool stored(int64_t rows, int64_t cols, int64_t rs, int64_t cs, bool *turned, int64_t *ld) {
  *turned = !(cols == 1 || cs == 1) || (rows > 1 && rs < cols);
  if (!*turned) {
    *ld = rows == 1 ? cols : rs;
    return true;
  }
  *ld = cols == 1 ? rows : cs;
  return (rows == 1 || rs == 1) && *ld >= rows;
}

/* False where there is no cuBLAS, where it does not take the operands, or where it does not start
 * and has taken itself away. */
static bool try_driver(const dl_cu_product &g, void *stream, dl_status *st) {
  dl_cuda_gemm p = {};
  if (!dl_cuda_environment.gemm || g.k == 0) return false;
  if (!dl_dtype_is_float((dl_dtype)g.in)) return false;
  if (!stored(g.m, g.k, g.ars, g.acs, &p.ta, &p.lda)) return false;
  if (!stored(g.k, g.n, g.brs, g.bcs, &p.tb, &p.ldb)) return false;
  p.dtype = g.in;
  p.wide = g.out != g.in;
  p.convolution = g.convolution;
  p.m = g.m, p.n = g.n, p.k = g.k, p.ldc = g.crs, p.batch = g.batch;
  p.a = g.a, p.b = g.b, p.c = g.c;
  p.step_a = g.abs, p.step_b = g.bbs, p.step_c = g.cbs;
  p.alpha = g.alpha, p.beta = g.beta;
  *st = dl_cuda_environment.gemm(&p, stream);
  return dl_cuda_environment.gemm != NULL;
}

/* ---- by dtype ------------------------------------------------------------------------------- */
template <class T> static dl_status half_run(const dl_cu_product &g, void *stream) {
  return g.out == DL_F32 ? own<T, float, float>(g, stream) : own<T, T, float>(g, stream);
}

dl_status dl_cu_multiply(const dl_cu_product *p, void *stream) {
  const dl_cu_product &g = *p;
  dl_status st;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return DL_OK;
  if (g.m > 1 && g.n > 1 && try_driver(g, stream, &st)) return st;
  switch (g.in) {
    case DL_F32: return own<float, float, float>(g, stream);
    case DL_F64: return own<double, double, double>(g, stream);
    case DL_F16: return half_run<dl_half>(g, stream);
    case DL_BF16: return half_run<dl_bf16>(g, stream);
    case DL_I64: return own<int64_t, int64_t, int64_t>(g, stream);
    case DL_I32: return own<int32_t, int32_t, int64_t>(g, stream);
    case DL_I16: return own<int16_t, int16_t, int64_t>(g, stream);
    case DL_I8: return own<int8_t, int8_t, int64_t>(g, stream);
    default: return own<uint8_t, uint8_t, int64_t>(g, stream);
  }
}
