/* cublas.c -- a cuBLAS of the tests: the functions that the plugin looks up, plainly written
 *
 * Made into a library by tests/cuda/driver/blas.t and named by DLREPL_CUBLAS. Products are as the
 * library's manual defines them: column-major, with lengths of columns. DLREPL_FAKE_CUBLAS breaks
 * it: version=11 | create=1 (status of every cublasCreate) | once=3 (of the first) | gemm=13;
 * DLREPL_FAKE_CUBLAS_LOG is a file for how often each was called. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14, COMPUTE_F64 = 70 };
static long creates, streams, workspaces, gemms, tf32s;
static size_t workspace_bytes;

static int wish(const char *name, int otherwise) {
  const char *w = getenv("DLREPL_FAKE_CUBLAS"), *p = w ? strstr(w, name) : NULL;
  return p ? atoi(p + strlen(name)) : otherwise;
}

int cublasGetProperty(int which, int *v) {
  *v = which == 0 ? wish("version=", 13) : 2;
  return 0;
}
int cublasCreate_v2(void **h) {
  *h = &gemms;
  int status = creates++ ? 0 : wish("once=", 0);
  return status ? status : wish("create=", 0);
}
int cublasDestroy_v2(void *h) { return 0; }
int cublasSetStream_v2(void *h, void *stream) {
  streams++;
  workspace_bytes = 0;
  return 0;
}
int cublasSetWorkspace_v2(void *h, void *p, size_t n) {
  workspaces++;
  workspace_bytes = n;
  memset(p, 0x5a, n < 4096 ? n : 4096); /* it is ours to write to */
  return 0;
}

__attribute__((destructor)) static void tell(void) {
  const char *to = getenv("DLREPL_FAKE_CUBLAS_LOG");
  FILE *f = to ? fopen(to, "w") : NULL;
  if (!f) return;
  fprintf(f, "creates %ld\nstreams %ld\nworkspaces %ld\n", creates, streams, workspaces);
  fprintf(f, "workspace_bytes %zu\ngemms %ld\ntf32s %ld\n", workspace_bytes, gemms, tf32s);
  fclose(f);
}

/* ---- numbers --------------------------------------------------------------------------------- */
static float from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static double half(uint16_t h) {
  uint32_t exp = h >> 10 & 31, part = h & 1023;
  double v = exp == 0 ? part / 16777216.0 : from_bits((exp + 112) << 23 | part << 13);
  if (exp == 31) v = from_bits(0x7f800000u | part << 13);
  return h & 0x8000 ? -v : v;
}
/* The nearest of the halves beside v, even where two are as near. */
static uint16_t to_half(float v) {
  uint16_t lo = 0, hi = 0x7c00, sign = v < 0 ? 0x8000 : 0;
  double a = v < 0 ? -v : v;
  if (a != a) return 0x7e00;
  while (hi - lo > 1) {
    uint16_t mid = (uint16_t)((lo + hi) / 2);
    if (half(mid) <= a) lo = mid;
    else hi = mid;
  }
  double up = hi == 0x7c00 ? 65536 : half(hi), down = half(lo);
  int above = a - down > up - a || (a - down == up - a && (lo & 1));
  return sign | (above ? hi : lo);
}
static double get(int type, const void *p, long long i) {
  uint32_t u;
  if (type == F64) return ((const double *)p)[i];
  if (type == F32) return ((const float *)p)[i];
  if (type == F16) return half(((const uint16_t *)p)[i]);
  u = (uint32_t)((const uint16_t *)p)[i] << 16;
  return from_bits(u);
}
static void put(int type, void *p, long long i, double v) {
  float f = (float)v;
  uint32_t u;
  if (type == F64) ((double *)p)[i] = v;
  else if (type == F32) ((float *)p)[i] = f;
  else if (type == F16) ((uint16_t *)p)[i] = to_half(f);
  else {
    memcpy(&u, &f, 4);
    ((uint16_t *)p)[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
}

int cublasGemmStridedBatchedEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha,
                               const void *a, int atype, int lda, long long step_a, const void *b,
                               int btype, int ldb, long long step_b, const void *beta, void *c,
                               int ctype, int ldc, long long step_c, int batch, int compute,
                               int algo) {
  int status = wish("gemm=", 0);
  gemms++;
  tf32s += compute == 77;
  if (status) return status;
  if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return 7;
  int wide = compute == COMPUTE_F64;
  double al = wide ? *(const double *)alpha : *(const float *)alpha;
  double be = wide ? *(const double *)beta : *(const float *)beta;
  for (long long z = 0; z < batch; z++)
    for (long long j = 0; j < n; j++)
      for (long long i = 0; i < m; i++) {
        double sum = 0;
        for (long long q = 0; q < k; q++)
          sum += get(atype, a, z * step_a + (ta ? q + i * lda : i + q * lda)) *
                 get(btype, b, z * step_b + (tb ? j + q * ldb : q + j * ldb));
        long long at = z * step_c + i + j * ldc;
        put(ctype, c, at, al * sum + (be ? be * get(ctype, c, at) : 0));
      }
  return 0;
}

int cublasGemmEx(void *h, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                 int atype, int lda, const void *b, int btype, int ldb, const void *beta, void *c,
                 int ctype, int ldc, int compute, int algo) {
  return cublasGemmStridedBatchedEx(h, ta, tb, m, n, k, alpha, a, atype, lda, 0, b, btype, ldb, 0,
                                    beta, c, ctype, ldc, 0, 1, compute, algo);
}
