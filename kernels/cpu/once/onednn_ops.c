/* onednn_ops.c -- matrix products and convolutions by oneDNN
 *
 * For gemm.c, matmul.c, conv.c; see onednn.h. Work is cut here, by rows or samples, and each part
 * is one call of the library on one thread: so a part waits for nobody, the pool decides who runs
 * it, and an interrupt is seen between rounds of parts.
 *
 * INVARIANT  Parts follow from sizes and the number of threads asked for, never from who is at
 *            hand: the bits of a result do not depend on how busy the machine is.
 * MUST NOT   know ops. */
#include "cpu/once/onednn_in.h"

#include <string.h>

#ifndef DL_ONEDNN
#define DL_ONEDNN 1
#endif

#if DL_ONEDNN
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CELL = 48 };                       /* rows or columns: a multiple of the library's tiles */
#define PARALLEL_WORK (128 * 128 * 64)    /* multiply-adds: below, one thread is faster */
#define PART_WORK 1000000000              /* multiply-adds of one call, about 10 to 40 ms */
#define SHARE_WORK 40000000               /* the least of one call beyond one a thread: 0.5 ms */
#define WINDOWS 500                       /* of a convolution, at least, in one call */
#define SHARES 4                          /* calls a thread, for whoever is free */

/* ---- sgemm --------------------------------------------------------------------------------- */
/* A product cut into a grid of `down` by `across` cells, one call of the library each. */
typedef struct grid {
  int64_t m, n, k, lda, ldb, crs, down, across;
  const float *a, *b;
  float *c, alpha, beta;
  bool ta, tb, failed;
} grid;

/* Where part i of `parts` of n begins: at a multiple of the library's tiles. */
static int64_t cut(int64_t n, int64_t i, int64_t parts) {
  return i == parts ? n : n * i / parts / CELL * CELL;
}

static int64_t parts(int64_t n, int64_t most) {
  int64_t whole = n / CELL ? n / CELL : 1;
  return whole < most ? whole : most;
}

/* How many calls of the library share a work of so many multiply-adds. */
static int64_t shares(int64_t work) {
  int64_t threads = work < PARALLEL_WORK ? 1 : dl_threads();
  if (threads == 1) return 1;
  int64_t n = work / SHARE_WORK;
  if (n > threads * SHARES) n = threads * SHARES;
  return n > threads ? n : threads;
}

static void cells_run(void *ctx, int64_t lo, int64_t hi) {
  grid *g = ctx;
  int threads = dl_dnn_threads(1);
  for (int64_t i = lo; i < hi; i++) {
    int64_t y = i / g->across, x = i % g->across;
    int64_t i0 = cut(g->m, y, g->down), j0 = cut(g->n, x, g->across);
    int64_t m = cut(g->m, y + 1, g->down) - i0, n = cut(g->n, x + 1, g->across) - j0;
    const float *a = g->a + i0 * (g->ta ? 1 : g->lda), *b = g->b + j0 * (g->tb ? g->ldb : 1);
    float *c = g->c + i0 * g->crs + j0;
    if (!dl_dnn_sgemm(g->ta, g->tb, m, n, g->k, g->alpha, a, g->lda, b, g->ldb, g->beta, c, g->crs))
      continue;
#pragma omp atomic write
    g->failed = true;
  }
  dl_dnn_threads(threads);
}

/* A right factor whose rows are 4 KiB apart (or a half, or twice that) has all of them in one set
 * of the first cache, and the library's way for up to 378 rows goes down its columns: three times
 * slower than from a copy with other distances. */
typedef struct spaced { const float *from; float *to; int64_t cols, from_ld, to_ld; } spaced;

static void space_rows(void *ctx, int64_t lo, int64_t hi) {
  const spaced *s = ctx;
  for (int64_t i = lo; i < hi; i++)
    memcpy(s->to + i * s->to_ld, s->from + i * s->from_ld, (size_t)s->cols * sizeof *s->to);
}

static bool collides(const grid *g) {
  return !g->tb && g->ldb % 512 == 0 && g->m / g->down <= 378 && g->m >= 24 && g->k >= 64;
}

static void run_grid(grid *g) {
  spaced s = {g->b, NULL, g->n, g->ldb, g->n + 16};
  size_t nbytes = (size_t)(g->k * s.to_ld) * sizeof(float);
  void *mem = NULL;
  if (collides(g) && dl_scratch(nbytes, &mem) != DL_OK) dl_err_clear();
  if (mem) {
    s.to = mem;
    dl_parallel_whole(g->k, 65536 / s.to_ld + 1, space_rows, &s);
    g->b = s.to, g->ldb = s.to_ld;
  }
  dl_parallel_each(g->down * g->across, cells_run, g);
  if (mem) dl_scratch_free(mem, nbytes);
}

/* The library on its own would cut k too, and give other bits when it has fewer threads. */
bool dl_onednn_sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t ars,
                     int64_t acs, const float *b, int64_t brs, int64_t bcs, float beta, float *c,
                     int64_t crs) {
  if (!dl_dnn_load()) return false;
  bool ta = acs != 1, tb = bcs != 1;
  /* a broadcast operand has stride 0: not for sgemm */
  int64_t lda = ta ? acs : ars, ldb = tb ? bcs : brs;
  if (lda < (ta ? m : k) || ldb < (tb ? k : n) || crs < n) return false;
  grid g = {m, n, k, lda, ldb, crs, 1, 1, a, b, c, alpha, beta, ta, tb, false};
  int64_t calls = shares(m * n * k);
  int64_t *first = m >= n ? &g.down : &g.across, *second = m >= n ? &g.across : &g.down;
  *first = parts(m >= n ? m : n, calls);
  *second = parts(m >= n ? n : m, calls / *first);
  run_grid(&g);
  return !g.failed;
}

/* ---- batched products ---------------------------------------------------------------------- */
typedef struct bmm {
  dl_dtype t;                             /* of the factors; the result is float32 */
  int64_t batch, m, n, k, sa[3], sb[3], sc[3];
  const char *a, *b;
  float *c;
} bmm;

static dl_dnn_plan *bmm_plan(const bmm *g) {
  int64_t key[DL_DNN_KEY] = {0,        1,        g->t,     g->batch, g->m,     g->n,
                             g->k,     g->sa[0], g->sa[1], g->sa[2], g->sb[0], g->sb[1],
                             g->sb[2], g->sc[0], g->sc[1]};
  dl_dnn_plan *p;
  if (dl_dnn_plan_find(key, &p)) return p;
  int64_t da[3] = {g->batch, g->m, g->k}, db[3] = {g->batch, g->k, g->n};
  int64_t dc[3] = {g->batch, g->m, g->n};
  int type = g->t == DL_BF16 ? DL_DNN_BF16 : DL_DNN_F32, before = dl_dnn_threads(1);
  dl_dnn_desc user[3] = {{NULL}}, wide[3] = {{NULL}};
  dl_dnn_obj pd = NULL;
  bool ok = dl_dnn_strided(&user[0], type, 3, da, g->sa) &&
            dl_dnn_strided(&user[1], type, 3, db, g->sb) &&
            dl_dnn_strided(&user[2], DL_DNN_F32, 3, dc, g->sc);
  if (ok) pd = dl_dnn_matmul(user);
  if (ok && !pd && type == DL_DNN_BF16 && dl_dnn_forced()) {
    int64_t stride[3];
    dl_strides_contig(3, da, stride);
    ok = dl_dnn_strided(&wide[0], DL_DNN_F32, 3, da, stride);
    dl_strides_contig(3, db, stride);
    ok = ok && dl_dnn_strided(&wide[1], DL_DNN_F32, 3, db, stride) &&
         dl_dnn_strided(&wide[2], DL_DNN_F32, 3, dc, g->sc);
    if (ok) pd = dl_dnn_matmul(wide);
  }
  p = dl_dnn_plan_make(key, pd, 3, user, (int[]){DL_DNN_SRC, DL_DNN_WEI, DL_DNN_DST},
                       (int[]){1, 3, 5}, 2);
  dl_dnn_desc_free(user, 3);
  dl_dnn_desc_free(wide, 3);
  dl_dnn_threads(before);
  return p;
}

/* The i-th of n parts: some matrices of the batch or, of a single one, some rows. */
static bmm bmm_part(const bmm *g, int64_t i, int64_t n) {
  bmm p = *g;
  size_t e = dl_dtype_size(g->t);
  if (g->batch > 1) {
    int64_t from = g->batch * i / n;
    p.batch = g->batch * (i + 1) / n - from;
    p.a += (size_t)(from * g->sa[0]) * e, p.b += (size_t)(from * g->sb[0]) * e;
    p.c += from * g->sc[0];
  } else {
    int64_t from = cut(g->m, i, n);
    p.m = cut(g->m, i + 1, n) - from;
    p.a += (size_t)(from * g->sa[1]) * e;
    p.c += from * g->sc[1];
    p.sa[0] = p.m * p.k, p.sb[0] = p.k * p.n, p.sc[0] = p.m * p.n; /* never used */
  }
  return p;
}

static bool bmm_run(const bmm *g) {
  if (!dl_dnn_load()) return false;
  for (int d = 0; d < 3; d++)
    if (g->sa[d] < 1 || g->sb[d] < 1) return false;
  int64_t work = g->batch * g->m * g->n * g->k, lanes = shares(work);
  int64_t most = g->batch > 1 ? g->batch : parts(g->m, g->m);
  if (lanes > DL_DNN_LANES) lanes = DL_DNN_LANES;
  int64_t rounds = work / lanes / PART_WORK + 1, total = rounds * lanes;
  if (total > most) total = most;
  for (int64_t done = 0; done < total && !dl_cancel; done += lanes) {
    dl_dnn_lane lane[DL_DNN_LANES];
    int n = (int)(total - done < lanes ? total - done : lanes);
    for (int i = 0; i < n; i++) {
      bmm p = bmm_part(g, done + i, total);
      lane[i] = (dl_dnn_lane){bmm_plan(&p), {(void *)p.a, (void *)p.b, p.c}};
    }
    if (!dl_dnn_run(lane, n)) return false;
  }
  return true;
}

bool dl_onednn_bmm(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                   const int64_t sa[3], const float *b, const int64_t sb[3], float *c,
                   const int64_t sc[3]) {
  return bmm_run(&(bmm){DL_F32, batch, m, n, k, {sa[0], sa[1], sa[2]}, {sb[0], sb[1], sb[2]},
                        {sc[0], sc[1], sc[2]}, (const char *)a, (const char *)b, c});
}

/* ---- bfloat16 ------------------------------------------------------------------------------ */
/* Tiles (AMX) multiply bfloat16 several times faster than float32. Intel's AVX-512 instruction for
 * it does not: there float32 is the faster way; AMD's does. */
#if defined(__x86_64__)
enum { KEPT_WIDE = 7 << 5, KEPT_TILES = 3 << 17 };

/* The registers that the system keeps for a process (XCR0); 0 where it does not tell. */
static unsigned kept(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
  __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a;
}
#endif

static bool cpu_has_bf16(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d, vendor, os = kept();
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  bool tiles = (d >> 22 & 1) && (os & KEPT_TILES) == KEPT_TILES;
  bool wide = (b >> 16 & 1) && (os & KEPT_WIDE) == KEPT_WIDE;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return false;
  bool dots = wide && (a >> 5 & 1);
  if (!__get_cpuid(0, &a, &vendor, &c, &d)) return false;
  return tiles || (dots && vendor == signature_AMD_ebx);
#else
  return false;
#endif
}

bool dl_onednn_has_bf16(void) {
  static int has = -1;
  if (has < 0) has = cpu_has_bf16();
  return dl_dnn_load() && (has || dl_dnn_forced());
}

bool dl_onednn_bmm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, const dl_bf16 *a,
                        const int64_t sa[3], const dl_bf16 *b, const int64_t sb[3], float *c,
                        const int64_t sc[3]) {
  return dl_onednn_has_bf16() &&
         bmm_run(&(bmm){DL_BF16, batch, m, n, k, {sa[0], sa[1], sa[2]}, {sb[0], sb[1], sb[2]},
                        {sc[0], sc[1], sc[2]}, (const char *)a, (const char *)b, c});
}

/* ---- convolution --------------------------------------------------------------------------- */
/* What the library calls right padding makes the sizes consistent; it may be less than the left. */
static dl_dnn_geometry geometry_of(const dl_conv *s) {
  return (dl_dnn_geometry){{s->sh, s->sw}, {s->dh - 1, s->dw - 1}, {s->ph, s->pw},
                           {(s->oh - 1) * s->sh + (s->kh - 1) * s->dh + 1 - s->ih - s->ph,
                            (s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1 - s->iw - s->pw}};
}

/* Sizes of src, weight, dst and bias. */
typedef struct shapes { int dim[4]; int64_t size[4][5]; } shapes;

static shapes shapes_of(const dl_conv *s) {
  shapes h = {{4, 4, 4, 1}, {{s->n, s->ic, s->ih, s->iw},
                             {s->oc, s->ic, s->kh, s->kw},
                             {s->n, s->oc, s->oh, s->ow},
                             {s->oc}}};
  int64_t grouped[5] = {s->groups, s->oc / s->groups, s->ic / s->groups, s->kh, s->kw};
  if (s->groups > 1) h.dim[1] = 5, memcpy(h.size[1], grouped, sizeof grouped);
  return h;
}

/* The primitive for operands of a type, with whatever layout it likes; sums leave in float32. */
static dl_dnn_obj conv_pd(dl_conv_kind kind, const dl_conv *s, int type, bool bias) {
  shapes h = shapes_of(s);
  dl_dnn_geometry g = geometry_of(s);
  dl_dnn_desc d[4] = {{NULL}};
  dl_dnn_obj hint = NULL, pd = NULL;
  int64_t one = 1;
  bool ok = !bias || dl_dnn_strided(&d[3], DL_DNN_F32, 1, h.size[3], &one);
  for (int i = 0; i < 3; i++) ok = ok && dl_dnn_any(&d[i], type, h.dim[i], h.size[i]);
  if (ok && kind != DL_CONV_FWD) ok = (hint = dl_dnn_conv(DL_CONV_FWD, d, &g, NULL)) != NULL;
  if (ok && kind == DL_CONV_BWD_WEIGHTS) {
    dl_dnn_desc_free(&d[1], 1);
    ok = dl_dnn_any(&d[1], DL_DNN_F32, h.dim[1], h.size[1]);
  }
  if (ok) pd = dl_dnn_conv(kind, d, &g, hint);
  dl_dnn_pd_free(hint);
  dl_dnn_desc_free(d, 4);
  return pd;
}

static dl_dnn_plan *conv_plan(dl_conv_kind kind, dl_dtype t, const dl_conv *s, bool bias,
                              int threads) {
  static const int arg[3][4] = {{DL_DNN_SRC, DL_DNN_WEI, DL_DNN_DST, DL_DNN_BIAS},
                                {DL_DNN_DIFF_SRC, DL_DNN_WEI, DL_DNN_DIFF_DST},
                                {DL_DNN_SRC, DL_DNN_DIFF_WEI, DL_DNN_DIFF_DST}};
  static const int query[3][4] = {{1, 3, 5, 0}, {2, 3, 6}, {1, 4, 6}};
  static const int out[3] = {2, 0, 1};
  int64_t key[DL_DNN_KEY] = {1 + (int)kind, threads, s->n,  s->ic, s->ih,     s->iw, s->oc,
                             s->oh,         s->ow,   s->kh, s->kw, s->groups, s->sh, s->sw,
                             s->ph,         s->pw,   s->dh, s->dw, bias,      t};
  dl_dnn_plan *p;
  if (dl_dnn_plan_find(key, &p)) return p;
  int type = t == DL_BF16 ? DL_DNN_BF16 : DL_DNN_F32, n = 3 + bias;
  int before = dl_dnn_threads(threads);
  shapes h = shapes_of(s);
  dl_dnn_desc user[4] = {{NULL}};
  dl_dnn_obj pd = conv_pd(kind, s, type, bias);
  if (!pd && type == DL_DNN_BF16 && dl_dnn_forced()) pd = conv_pd(kind, s, DL_DNN_F32, bias);
  bool ok = true;
  for (int i = 0; i < n && ok; i++) {
    int64_t stride[5];
    bool wide = i == 3 || (i == 1 && kind == DL_CONV_BWD_WEIGHTS);
    dl_strides_contig(h.dim[i], h.size[i], stride);
    ok = dl_dnn_strided(&user[i], wide ? DL_DNN_F32 : type, h.dim[i], h.size[i], stride);
  }
  if (!ok) dl_dnn_pd_free(pd);
  p = dl_dnn_plan_make(key, ok ? pd : NULL, n, user, arg[kind], query[kind], out[kind]);
  dl_dnn_desc_free(user, 4);
  dl_dnn_threads(before);
  return p;
}

/* A convolution in parts of some samples each. */
typedef struct conv_job {
  dl_conv_kind kind;
  dl_dtype t;
  const dl_conv *s;
  char *src, *weight, *dst;
  float *bias;
  int64_t parts, done;
  int lanes, threads;                     /* side by side; of the library in each */
  float *sums;                            /* gradients of the weight, one a lane; NULL: one part */
  int64_t nweight;
} conv_job;

/* Gradients of the weight by lanes, added in their order. */
static void add_sums(void *ctx, int64_t lo, int64_t hi) {
  const conv_job *j = ctx;
  float *w = (float *)j->weight;
  for (int l = 0; l < j->lanes; l++) {
    const float *from = j->sums + l * j->nweight;
    if (l == 0 && j->done == 0) memcpy(w + lo, from + lo, (size_t)(hi - lo) * sizeof *w);
    else for (int64_t i = lo; i < hi; i++) w[i] += from[i];
  }
}

static bool conv_round(conv_job *j) {
  dl_dnn_lane lane[DL_DNN_LANES];
  const dl_conv *s = j->s;
  size_t e = dl_dtype_size(j->t);
  for (int i = 0; i < j->lanes; i++) {
    int64_t from = s->n * (j->done + i) / j->parts;
    dl_conv some = *s;
    some.n = s->n * (j->done + i + 1) / j->parts - from;
    lane[i].plan = conv_plan(j->kind, j->t, &some, j->bias != NULL, j->threads);
    lane[i].data[0] = j->src + (size_t)(from * s->ic * s->ih * s->iw) * e;
    lane[i].data[1] = j->sums ? (char *)(j->sums + i * j->nweight) : j->weight;
    lane[i].data[2] = j->dst + (size_t)(from * s->oc * s->oh * s->ow) * e;
    lane[i].data[3] = j->bias;
  }
  if (!dl_dnn_run(lane, j->lanes)) return false;
  if (j->sums) dl_parallel_whole(j->nweight, 65536, add_sums, j);
  j->done += j->lanes;
  return true;
}

static bool conv_rounds(conv_job *j) {
  int most = j->lanes;
  bool ok = true;
  while (ok && j->done < j->parts && !dl_cancel) {
    if (j->parts - j->done < most) j->lanes = (int)(j->parts - j->done);
    ok = conv_round(j);
  }
  return ok;
}

/* Each lane lays out the weight anew: worth it for so many windows. */
static int lanes_of(const dl_conv *s, int64_t work) {
  int64_t n = shares(work), most = s->n * s->oh * s->ow / WINDOWS;
  if (n > dl_threads() && n > most) n = most > dl_threads() ? most : dl_threads();
  return (int)(n < DL_DNN_LANES ? n : DL_DNN_LANES);
}

bool dl_onednn_conv(dl_conv_kind kind, dl_dtype t, const dl_conv *s, void *src, void *weight,
                    void *dst, float *bias) {
  if (t == DL_BF16 ? !dl_onednn_has_bf16() : !dl_dnn_load()) return false;
  int64_t each = s->oc * s->oh * s->ow * (s->ic / s->groups) * s->kh * s->kw;
  conv_job j = {.kind = kind, .t = t, .s = s, .src = src, .weight = weight, .dst = dst,
                .bias = bias, .lanes = 1, .threads = 1};
  if (s->n < dl_threads()) j.threads = dl_threads(); /* few images: the library cuts each */
  else j.lanes = lanes_of(s, s->n * each);
  j.parts = (s->n * each / j.lanes / PART_WORK + 1) * j.lanes;
  if (j.parts > s->n) j.parts = s->n;
  if (kind != DL_CONV_BWD_WEIGHTS || j.parts == 1) return conv_rounds(&j);
  void *sums;
  j.nweight = s->oc * (s->ic / s->groups) * s->kh * s->kw;
  size_t nbytes = (size_t)(j.lanes * j.nweight) * sizeof(float);
  if (dl_scratch(nbytes, &sums) != DL_OK) return dl_err_clear(), false;
  j.sums = sums;
  bool ok = conv_rounds(&j);
  dl_scratch_free(sums, nbytes);
  return ok;
}

#else /* built without oneDNN */

bool dl_onednn_sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t ars,
                     int64_t acs, const float *b, int64_t brs, int64_t bcs, float beta, float *c,
                     int64_t crs) { return false; }
bool dl_onednn_bmm(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                   const int64_t sa[3], const float *b, const int64_t sb[3], float *c,
                   const int64_t sc[3]) { return false; }
bool dl_onednn_has_bf16(void) { return false; }
bool dl_onednn_bmm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, const dl_bf16 *a,
                        const int64_t sa[3], const dl_bf16 *b, const int64_t sb[3], float *c,
                        const int64_t sc[3]) { return false; }
bool dl_onednn_conv(dl_conv_kind kind, dl_dtype t, const dl_conv *s, void *src, void *weight,
                    void *dst, float *bias) { return false; }

#endif
