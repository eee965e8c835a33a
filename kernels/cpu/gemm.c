/* gemm.c -- matrix products: own blocked code for float and double, plain loops for integers
 *
 * For matmul.c and conv.c. Large float products go to oneDNN where it is installed.
 *
 * INVARIANT  see gemm.h.
 * MUST NOT   know ops. */
#include "gemm.h"

#include <string.h>

#include "once/onednn.h"

#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
#include <immintrin.h>
#endif

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
/* multiply-adds: below, packing costs more than it saves */
#define SMALL_WORK (40 * 40 * 40)
#define PARALLEL_WORK (128 * 128 * 64)    /* multiply-adds: below, one thread is faster */
#define PARALLEL_MATVEC (256 * 1024)      /* elements of the matrix */

typedef float generic_f32 __attribute__((vector_size(16)));
typedef double generic_f64 __attribute__((vector_size(16)));

/* ---- float --------------------------------------------------------------------------------- */
#define REAL float
#define N(name) name##_f32
#if defined(__AVX512F__)
#define V __m512
#define VL 16
#define MR 12
#define VSET(x) _mm512_set1_ps(x)
#define VLOAD(p) _mm512_loadu_ps(p)
#define VSTORE(p, v) _mm512_storeu_ps(p, v)
#define VFMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define VMUL(a, b) _mm512_mul_ps(a, b)
#define VADD(a, b) _mm512_add_ps(a, b)
#elif defined(__AVX2__) && defined(__FMA__)
#define V __m256
#define VL 8
#define MR 6
#define VSET(x) _mm256_set1_ps(x)
#define VLOAD(p) _mm256_loadu_ps(p)
#define VSTORE(p, v) _mm256_storeu_ps(p, v)
#define VFMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define VMUL(a, b) _mm256_mul_ps(a, b)
#define VADD(a, b) _mm256_add_ps(a, b)
#else
static inline generic_f32 load_f32(const float *p) {
  generic_f32 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void store_f32(float *p, generic_f32 v) { memcpy(p, &v, sizeof v); }
#define V generic_f32
#define VL 4
#define MR 4
#define VSET(x) ((generic_f32){(x), (x), (x), (x)})
#define VLOAD(p) load_f32(p)
#define VSTORE(p, v) store_f32(p, v)
#define VFMA(a, b, c) ((a) * (b) + (c))
#define VMUL(a, b) ((a) * (b))
#define VADD(a, b) ((a) + (b))
#endif
#define NV 2
#define NR (NV * VL)
#include "gemm_body.h"
#undef REAL
#undef N
#undef V
#undef VL
#undef MR
#undef VSET
#undef VLOAD
#undef VSTORE
#undef VFMA
#undef VMUL
#undef VADD
#undef SMALL_PANEL
#undef KC

/* ---- double -------------------------------------------------------------------------------- */
#define REAL double
#define N(name) name##_f64
#if defined(__AVX512F__)
#define V __m512d
#define VL 8
#define MR 12
#define VSET(x) _mm512_set1_pd(x)
#define VLOAD(p) _mm512_loadu_pd(p)
#define VSTORE(p, v) _mm512_storeu_pd(p, v)
#define VFMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define VMUL(a, b) _mm512_mul_pd(a, b)
#define VADD(a, b) _mm512_add_pd(a, b)
#elif defined(__AVX2__) && defined(__FMA__)
#define V __m256d
#define VL 4
#define MR 6
#define VSET(x) _mm256_set1_pd(x)
#define VLOAD(p) _mm256_loadu_pd(p)
#define VSTORE(p, v) _mm256_storeu_pd(p, v)
#define VFMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define VMUL(a, b) _mm256_mul_pd(a, b)
#define VADD(a, b) _mm256_add_pd(a, b)
#else
static inline generic_f64 load_f64(const double *p) {
  generic_f64 v;
  memcpy(&v, p, sizeof v);
  return v;
}
static inline void store_f64(double *p, generic_f64 v) { memcpy(p, &v, sizeof v); }
#define V generic_f64
#define VL 2
#define MR 4
#define VSET(x) ((generic_f64){(x), (x)})
#define VLOAD(p) load_f64(p)
#define VSTORE(p, v) store_f64(p, v)
#define VFMA(a, b, c) ((a) * (b) + (c))
#define VMUL(a, b) ((a) * (b))
#define VADD(a, b) ((a) + (b))
#endif
#include "gemm_body.h"

/* ---- integers: sums wrap around, as PyTorch's do ------------------------------------------- */
static void one_i64(const dl_gemm *g, int64_t batch) {
  const uint64_t *a = (const uint64_t *)g->a + batch * g->abs,
                 *b = (const uint64_t *)g->b + batch * g->bbs;
  uint64_t *c = (uint64_t *)g->c + batch * g->cbs;
  uint64_t alpha = (uint64_t)(int64_t)g->alpha, beta = (uint64_t)(int64_t)g->beta;
  for (int64_t i = 0; i < g->m; i++) {
    uint64_t *row = c + i * g->crs;
    for (int64_t j = 0; j < g->n; j++) row[j] = beta ? beta * row[j] : 0;
    for (int64_t p = 0; p < g->k; p++) {
      uint64_t x = alpha * a[i * g->ars + p * g->acs];
      const uint64_t *from = b + p * g->brs;
      for (int64_t j = 0; j < g->n; j++) row[j] += x * from[j * g->bcs];
    }
  }
}

dl_status DL_K(dl_gemm_i64)(const dl_gemm *g) {
  for (int64_t i = 0; i < g->batch; i++) {
    one_i64(g, i);
    DL_TRY(dl_poll());
  }
  return DL_OK;
}

/* One call of the library looks up only when it is done, so a large product goes in by rows, 2e9
 * multiply-adds (20 to 80 ms) at a time. An interrupt leaves dl_cancel for the caller's dl_poll. */
static bool sgemm_in_pieces(const dl_gemm *g) {
  int64_t rows = (int64_t)2000000000 / (g->n * g->k) / 48 * 48;
  if (rows < 48) rows = 48;
  for (int64_t i = 0; i < g->m && !dl_cancel; i += rows) {
    int64_t m = g->m - i < rows ? g->m - i : rows;
    if (!dl_onednn_sgemm(m, g->n, g->k, (float)g->alpha, (const float *)g->a + i * g->ars, g->ars,
                         g->acs, g->b, g->brs, g->bcs, (float)g->beta, (float *)g->c + i * g->crs,
                         g->crs))
      return false;
  }
  return true;
}

/* oneDNN takes operands whose rows or columns are dense. */
static bool try_onednn(const dl_gemm *g) {
  if (g->m * g->n * g->k * g->batch < DL_ONEDNN_MIN_WORK || g->m < 2 || g->n < 2) return false;
  if (!(g->acs == 1 || g->ars == 1) || !(g->bcs == 1 || g->brs == 1)) return false;
  if (g->batch == 1) return sgemm_in_pieces(g);
  if (g->alpha != 1 || g->beta != 0) return false;
  int64_t sa[3] = {g->abs, g->ars, g->acs}, sb[3] = {g->bbs, g->brs, g->bcs},
          sc[3] = {g->cbs, g->crs, 1};
  return dl_onednn_bmm(g->batch, g->m, g->n, g->k, g->a, sa, g->b, sb, g->c, sc);
}

dl_status DL_K(dl_gemm_f32)(const dl_gemm *g) {
  if (try_onednn(g)) return dl_poll();
  return all_f32(g, false);
}

dl_status DL_K(dl_gemm_f64)(const dl_gemm *g) { return all_f64(g, false); }

dl_status DL_K(dl_gemm_run)(dl_dtype t, const dl_gemm *g) {
  return t == DL_F32   ? DL_K(dl_gemm_f32)(g)
         : t == DL_F64 ? DL_K(dl_gemm_f64)(g)
                       : DL_K(dl_gemm_i64)(g);
}

dl_status DL_K(dl_gemm_serial)(dl_dtype t, const dl_gemm *g) {
  return t == DL_F32 ? all_f32(g, true) : t == DL_F64 ? all_f64(g, true) : DL_K(dl_gemm_i64)(g);
}
