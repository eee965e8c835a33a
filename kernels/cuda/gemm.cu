/* gemm.cu -- matrix products on the device
 *
 * Three ways: products with one row or one column are a pass over the matrix; others go to cuBLAS
 * if the driver has it and the operands' layout suits; the rest are computed tile by tile. A block
 * of 16 x 16 threads makes a tile of the result, each thread R x R elements of it, from slices of
 * the operands in shared memory. Kernels are made for the type of the sums, A: float, double or
 * int64; the dtypes in memory are known at run time. */
#include "gemm.h"
#include "pack.h"

enum { SIDE = 16, THREADS = DL_BLOCK, LANES = 32, ROWS = THREADS / LANES };
static_assert(SIDE * SIDE == DL_BLOCK, "a tile's threads are a block");

/* ---- elements -------------------------------------------------------------------------------- */
/* Element i of the result = alpha * sum + beta * what is there. */
template <class A> DL_FN void put(const dl_cu_product &g, int64_t i, A sum) {
  A alpha = (A)g.alpha, old = 0;
  if (g.beta != 0) old = dl_mad((A)g.beta, dl_num_get(g.out, g.c, i, A()), A(0));
  A v = dl_mad(alpha, sum, old);
  dl_num_put(g.out, g.c, i, v);
}

/* ---- tiles ---------------------------------------------------------------------------------- */
template <class A> struct alignas(16) four { A v[4]; };

/* A slice of an operand goes to shared memory: s[step along k][line]. Threads run along the
 * direction in which memory does. I: holds offsets within a slice. */
template <class I, class A, int TILE, int TK>
DL_FN void load_slice(A (&s)[TK][TILE + 4], int dtype, const void *p, int64_t at, unsigned line0,
                      int64_t lines, int64_t line_stride, int64_t k0, int64_t k,
                      int64_t k_stride) {
  bool along_k = k_stride == 1;
  int64_t from = at + line0 * line_stride + k0 * k_stride;
  int nline = lines - line0 < TILE ? (int)(lines - line0) : TILE;
  int nk = k - k0 < TK ? (int)(k - k0) : TK;
  DL_UNROLL
  for (int i = 0; i < TILE * TK / THREADS; i++) {
    int e = (int)threadIdx.x + i * THREADS;
    int q = along_k ? e % TK : e / TILE, r = along_k ? e / TK : e % TILE;
    bool inside = r < nline && q < nk;
    I off = (I)r * (I)line_stride + (I)q * (I)k_stride;
    s[q][r] = inside ? dl_num_get(dtype, p, from + off, A()) : A(0);
  }
}

/* Element i of a thread's R: four neighbours, and four more half a tile on. */
template <int TILE> __device__ int spot(int side, int i) {
  return i / 4 * (TILE / 2) + side * 4 + i % 4;
}

template <class A, int TILE, int R>
DL_FN void write_tile(const dl_cu_product &g, const A (&sum)[R][R], unsigned row0, unsigned col0,
                      int64_t z) {
  int tx = (int)threadIdx.x % SIDE, ty = (int)threadIdx.x / SIDE;
  DL_UNROLL
  for (int i = 0; i < R; i++) {
    int64_t row = row0 + (unsigned)spot<TILE>(ty, i);
    DL_UNROLL
    for (int j = 0; j < R; j++) {
      int64_t col = col0 + (unsigned)spot<TILE>(tx, j);
      if (row < g.m && col < g.n) put(g, z * g.cbs + row * g.crs + col, sum[i][j]);
    }
  }
}

template <class I, class A, int R, int TK>
__global__ void __launch_bounds__(DL_BLOCK, R / 4) tiled(dl_cu_product g, unsigned across) {
  enum { TILE = SIDE * R };
  DL_SHARED(A, as, [TK][TILE + 4]);
  DL_SHARED(A, bs, [TK][TILE + 4]);
  int tx = (int)threadIdx.x % SIDE, ty = (int)threadIdx.x / SIDE;
  unsigned down = blockIdx.x / across, right = blockIdx.x - down * across;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    A sum[R][R] = {};
    for (int64_t k0 = 0; k0 < g.k; k0 += TK) {
      load_slice<I, A, TILE, TK>(as, g.in, g.a, z * g.abs, down * TILE, g.m, g.ars, k0, g.k, g.acs);
      load_slice<I, A, TILE, TK>(bs, g.in, g.b, z * g.bbs, right * TILE, g.n, g.bcs, k0, g.k,
                                 g.brs);
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
    write_tile<A, TILE, R>(g, sum, down * TILE, right * TILE, z);
  }
}

/* ---- one row or column: (m,k) @ (k) --------------------------------------------------------- */
/* Every `step`-th product of row a and column b, from the k-th on. */
template <class A>
DL_FN A some_of(const dl_cu_product &g, int64_t a, int64_t b, int64_t k, int64_t step) {
  A sum = 0;
  DL_UNROLLED(4)
  for (; k < g.k; k += step)
    sum = dl_mad(dl_num_get(g.in, g.a, a + k * g.acs, A()),
                 dl_num_get(g.in, g.b, b + k * g.brs, A()), sum);
  return sum;
}
/* The same for packs of four neighbours. */
DL_FN float packs_of(const dl_cu_product &g, int64_t a, int64_t b, int64_t k, int64_t step) {
  float sum = 0;
  DL_UNROLLED(4)
  for (; k < g.k; k += step) {
    float x[DL_FOUR], y[DL_FOUR];
    dl_four_open(dl_four_read(g.in, g.a, a + k), g.in, x);
    dl_four_open(dl_four_read(g.in, g.b, b + k), g.in, y);
    DL_UNROLL
    for (int j = 0; j < DL_FOUR; j++) sum = dl_mad(x[j], y[j], sum);
  }
  return sum;
}

/* A warp a row, for rows that lie in memory one after another. */
template <class A> __global__ void by_rows(dl_cu_product g, bool packed) {
  int lane = (int)threadIdx.x % LANES;
  int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.x / LANES;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    int64_t a = row * g.ars + z * g.abs, b = z * g.bbs;
    A sum = 0;
    if (row < g.m) {
      if constexpr (sizeof(A) == 4)
        sum = packed ? packs_of(g, a, b, lane * DL_FOUR, LANES * DL_FOUR)
                     : some_of<A>(g, a, b, lane, LANES);
      else sum = some_of<A>(g, a, b, lane, LANES);
    }
    for (int d = LANES / 2; d > 0; d /= 2) sum = dl_plus(sum, __shfl_xor_sync(0xffffffffu, sum, d));
    if (lane == 0 && row < g.m) put(g, row * g.crs + z * g.cbs, sum);
  }
}

/* A lane a row, for columns that lie one after another; the warps share out k. */
template <class A> __global__ void by_columns(dl_cu_product g) {
  DL_SHARED(A, part, [ROWS][LANES]);
  int lane = (int)threadIdx.x % LANES, warp = (int)threadIdx.x / LANES;
  int64_t row = (int64_t)blockIdx.x * LANES + lane;
  for (int64_t z = blockIdx.z; z < g.batch; z += gridDim.z) {
    A sum = 0;
    if (row < g.m) sum = some_of<A>(g, row * g.ars + z * g.abs, z * g.bbs, warp, ROWS);
    part[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && row < g.m) {
      for (int i = 1; i < ROWS; i++) sum = dl_plus(sum, part[i][lane]);
      put(g, row * g.crs + z * g.cbs, sum);
    }
    __syncthreads();
  }
}

/* Inner products: every block sums a share, one block adds the shares. */
template <class A> __global__ void dot_parts(dl_cu_product g, A *part) {
  int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  A sum = dl_block_sum(some_of<A>(g, 0, 0, first, (int64_t)gridDim.x * blockDim.x));
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

template <class A> __global__ void dot_sum(dl_cu_product g, const A *part, int n) {
  A sum = 0;
  for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x) sum = dl_plus(sum, part[i]);
  sum = dl_block_sum(sum);
  if (threadIdx.x == 0) put(g, 0, sum);
}

/* ---- launches ------------------------------------------------------------------------------- */
static unsigned depth(int64_t batch) { return batch < 65535 ? (unsigned)batch : 65535u; }

template <class A> static dl_status dot_run(const dl_cu_product &g, void *stream) {
  int64_t want = (g.k + 4095) / 4096;
  int blocks = want < 512 ? (int)want : 512;
  void *mem;
  DL_TRY(dl_cu_scratch((size_t)blocks * sizeof(A), stream, &mem));
  A *part = static_cast<A *>(mem);
  DL_LAUNCH(dot_parts<A>, dim3(blocks), dim3(THREADS), 0, stream, g, part);
  DL_LAUNCH(dot_sum<A>, dim3(1), dim3(THREADS), 0, stream, g, (const A *)part, blocks);
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

/* Are both operands of (m,k) @ (k) made of packs along k? */
static bool is_packed(const dl_cu_product &g) {
  size_t bytes = (size_t)(DL_FOUR * dl_dtypes[g.in].size);
  return dl_is_float4(g.in) && g.acs == 1 && g.brs == 1 && g.k % DL_FOUR == 0 &&
         g.ars % DL_FOUR == 0 && g.abs % DL_FOUR == 0 && g.bbs % DL_FOUR == 0 &&
         dl_is_aligned(g.a, bytes) && dl_is_aligned(g.b, bytes);
}

template <class A> static dl_status one_column(const dl_cu_product &g, void *stream) {
  if (g.m == 1 && g.batch == 1 && g.k > 4096) return dot_run<A>(g, stream);
  if (g.ars == 1 && g.acs != 1 && g.m >= LANES) {
    dim3 grid((unsigned)((g.m + LANES - 1) / LANES), 1, depth(g.batch));
    DL_LAUNCH(by_columns<A>, grid, dim3(THREADS), 0, stream, g);
  } else {
    dim3 grid((unsigned)((g.m + ROWS - 1) / ROWS), 1, depth(g.batch));
    DL_LAUNCH(by_rows<A>, grid, dim3(THREADS), 0, stream, g, is_packed(g));
  }
  return DL_OK;
}

template <class I, class A, int R, int TK>
static dl_status tiles(const dl_cu_product &g, void *stream) {
  int64_t side = SIDE * R, across = (g.n + side - 1) / side, down = (g.m + side - 1) / side;
  if (g.m >= (int64_t)1 << 32 || g.n >= (int64_t)1 << 32)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "a product of 2^32 or more rows or columns");
  dim3 grid((unsigned)(across * down), 1, depth(g.batch));
  DL_LAUNCH((tiled<I, A, R, TK>), grid, dim3(THREADS), 0, stream, g, (unsigned)across);
  return DL_OK;
}

/* Do 32 bits hold the offsets within a slice? */
static bool is_near(const dl_cu_product &g) {
  const int64_t strides[] = {g.ars, g.acs, g.brs, g.bcs}, most = 1 << 23;
  for (int64_t s : strides)
    if (s >= most || s <= -most) return false;
  return true;
}

template <class A> static dl_status own(const dl_cu_product &g, void *stream) {
  if (g.n == 1) return one_column<A>(g, stream);
  if (g.m == 1) return one_column<A>(turned(g), stream);
  if constexpr (sizeof(A) == 4) {
    int64_t full = (int64_t)dl_cuda_environment.sm_count * 2 * 128 * 128; /* two tiles each */
    if (g.m * g.n * g.batch >= full && is_near(g)) return tiles<int, A, 8, 8>(g, stream);
  }
  return tiles<int64_t, A, 4, 16>(g, stream);
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
dl_status dl_cu_multiply(const dl_cu_product *p, void *stream) {
  const dl_cu_product &g = *p;
  dl_status st;
  if (g.m == 0 || g.n == 0 || g.batch == 0) return DL_OK;
  if (g.m > 1 && g.n > 1 && try_driver(g, stream, &st)) return st;
  if (g.in == DL_F64) return own<double>(g, stream);
  return dl_is_float4(g.in) ? own<float>(g, stream) : own<int64_t>(g, stream);
}
