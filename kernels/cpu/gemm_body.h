/* gemm_body.h -- the blocked product, once a floating type (included by gemm.c with REAL, V, N…)
 *
 * Small products read their operands in place; larger ones copy ("pack") them into panels that
 * the inner loop walks in order: A in panels of MR rows, B in panels of NR = NV * VL columns.
 * Source of the scheme: Goto and van de Geijn, "Anatomy of High-Performance Matrix
 * Multiplication" (2008). */

/* One tile: c (mr,cols) = beta * c + alpha * sum over p of a[.,p] * b[p,.]. mr and nv are
 * constants wherever this is inlined, so acc lives in registers. */
static inline __attribute__((always_inline)) void
N(tile)(int mr, int nv, int64_t k, const REAL *a, int64_t ars, int64_t acs, const REAL *b,
        int64_t brs, REAL alpha, REAL beta, REAL *c, int64_t crs, int cols) {
  V acc[MR][NV];
  UNROLL for (int i = 0; i < mr; i++)
    UNROLL for (int j = 0; j < nv; j++) acc[i][j] = VSET((REAL)0);
  for (int64_t p = 0; p < k; p++, a += acs, b += brs) {
    V bv[NV];
    UNROLL for (int j = 0; j < nv; j++) bv[j] = VLOAD(b + j * VL);
    UNROLL for (int i = 0; i < mr; i++) {
      V av = VSET(a[i * ars]);
      UNROLL for (int j = 0; j < nv; j++) acc[i][j] = VFMA(av, bv[j], acc[i][j]);
    }
  }
  V va = VSET(alpha), vb = VSET(beta);
  bool whole = cols >= nv * VL;
  UNROLL for (int i = 0; i < mr; i++) {
    REAL edge[NV * VL];
    REAL *to = c + i * crs, *row = whole ? to : edge;
    if (!whole && beta != 0) memcpy(edge, to, (size_t)cols * sizeof(REAL));
    UNROLL for (int j = 0; j < nv; j++) {
      V v = VMUL(va, acc[i][j]);
      if (beta != 0) v = VFMA(vb, VLOAD(row + j * VL), v);
      VSTORE(row + j * VL, v);
    }
    if (!whole) memcpy(to, edge, (size_t)cols * sizeof(REAL));
  }
}

typedef struct N(rowset) {
  int64_t k, ars, acs, brs, crs;
  REAL alpha, beta;
} N(rowset);

/* Rows 0..m of one column panel; each step has a constant number of rows. */
static inline __attribute__((always_inline)) void
N(column)(int nv, int64_t m, const N(rowset) *s, const REAL *a, const REAL *b, REAL *c, int cols) {
#define STEP(R)                                                                              \
  for (; m >= (R); m -= (R), a += (R) * s->ars, c += (R) * s->crs)                           \
    N(tile)((R), nv, s->k, a, s->ars, s->acs, b, s->brs, s->alpha, s->beta, c, s->crs, cols);
  STEP(MR)
#if MR > 8
  STEP(8)
#endif
  STEP(4)
  STEP(2)
  STEP(1)
#undef STEP
}

/* Columns j0..j0+cols of b (k rows) into a panel of `width`, zeros behind. */
static void N(pack_b)(const REAL *b, int64_t brs, int64_t bcs, int64_t k, int cols, int width,
                      REAL *to) {
  for (int64_t p = 0; p < k; p++, b += brs, to += width) {
    if (bcs == 1) memcpy(to, b, (size_t)cols * sizeof(REAL));
    else for (int j = 0; j < cols; j++) to[j] = b[j * bcs];
    for (int j = cols; j < width; j++) to[j] = 0;
  }
}

/* Rows of a into a panel (k, MR), zeros behind. */
static void N(pack_a)(const REAL *a, int64_t ars, int64_t acs, int64_t k, int rows, REAL *to) {
  for (int i = 0; i < rows; i++) {
    const REAL *from = a + i * ars;
    if (acs == 1) for (int64_t p = 0; p < k; p++) to[p * MR + i] = from[p];
    else for (int64_t p = 0; p < k; p++) to[p * MR + i] = from[p * acs];
  }
  for (int i = rows; i < MR; i++)
    for (int64_t p = 0; p < k; p++) to[p * MR + i] = 0;
}

/* ---- small products: A in place, B in place where its rows are dense ----------------------- */
#define SMALL_PANEL (8192 / (int64_t)sizeof(REAL)) /* elements; a panel of B on the stack */

static dl_status N(small)(const dl_gemm *g, const REAL *a, const REAL *b, REAL *c) {
  REAL own[SMALL_PANEL] __attribute__((aligned(64)));
  N(rowset) s = {g->k, g->ars, g->acs, 0, g->crs, (REAL)g->alpha, (REAL)g->beta};
  for (int64_t p0 = 0; p0 < g->k; p0 += s.k, s.beta = 1) {
    const REAL *ap = a + p0 * g->acs, *bp = b + p0 * g->brs;
    s.k = g->k - p0 < SMALL_PANEL / NR ? g->k - p0 : SMALL_PANEL / NR;
    for (int64_t j = 0; j < g->n; j += NR) {
      int cols = g->n - j < NR ? (int)(g->n - j) : NR;
      int nv = cols <= VL ? 1 : NV, width = nv * VL;
      const REAL *panel = bp + j * g->bcs;
      s.brs = g->brs;
      if (g->bcs != 1 || cols < width) {
        N(pack_b)(panel, g->brs, g->bcs, s.k, cols, width, own);
        panel = own;
        s.brs = width;
      }
      if (nv == 1) N(column)(1, g->m, &s, ap, panel, c + j, cols);
      else N(column)(NV, g->m, &s, ap, panel, c + j, cols);
    }
  }
  return DL_OK;
}

/* ---- matrix times vector: rows of dense dot products --------------------------------------- */
static REAL N(dot)(const REAL *x, const REAL *y, int64_t n) {
  V s0 = VSET((REAL)0), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL) {
    s0 = VFMA(VLOAD(x + i), VLOAD(y + i), s0);
    s1 = VFMA(VLOAD(x + i + VL), VLOAD(y + i + VL), s1);
    s2 = VFMA(VLOAD(x + i + 2 * VL), VLOAD(y + i + 2 * VL), s2);
    s3 = VFMA(VLOAD(x + i + 3 * VL), VLOAD(y + i + 3 * VL), s3);
  }
  for (; i + VL <= n; i += VL) s0 = VFMA(VLOAD(x + i), VLOAD(y + i), s0);
  REAL lane[VL], sum = 0;
  VSTORE(lane, VADD(VADD(s0, s1), VADD(s2, s3)));
  for (int j = 0; j < VL; j++) sum += lane[j];
  for (; i < n; i++) sum += x[i] * y[i];
  return sum;
}

typedef struct N(rows) {
  const REAL *a, *x;
  REAL *y, alpha, beta;
  int64_t k, ars, ys;
} N(rows);

static void N(rows_run)(void *ctx, int64_t lo, int64_t hi) {
  const N(rows) *r = ctx;
  for (int64_t i = lo; i < hi; i++) {
    REAL v = r->alpha * N(dot)(r->a + i * r->ars, r->x, r->k), *y = r->y + i * r->ys;
    *y = r->beta != 0 ? r->beta * *y + v : v;
  }
}

/* y (m) = beta * y + alpha * a (m,k; dense rows) @ x (k, stride xs) */
static dl_status N(matvec)(N(rows) r, int64_t m, int64_t xs, bool serial) {
  void *dense = NULL;
  size_t nbytes = (size_t)r.k * sizeof(REAL);
  if (xs != 1) {
    DL_TRY(dl_scratch(nbytes, &dense));
    for (int64_t p = 0; p < r.k; p++) ((REAL *)dense)[p] = r.x[p * xs];
    r.x = dense;
  }
  dl_status st = DL_OK;
  if (serial || m * r.k < PARALLEL_MATVEC) N(rows_run)(&r, 0, m);
  else st = dl_parallel(m, PARALLEL_MATVEC / 2 / (r.k + 1) + 1, N(rows_run), &r);
  if (dense) dl_scratch_free(dense, nbytes);
  return st;
}

/* ---- large products: everything in panels -------------------------------------------------- */
/* depth of a panel: NR * KC elements fit the first cache */
#define KC (1024 / (int64_t)sizeof(REAL))

typedef struct N(job) {
  const dl_gemm *g;
  const REAL *a, *b;          /* this depth's first column of a, first row of b */
  REAL *c, *pa, *pb, alpha, beta;
  int64_t k, na, nb;       /* depth; panels of a, of b */
  int64_t ra, rb;          /* panels of a and b in one piece of work */
} N(job);

static void N(pack_run)(void *ctx, int64_t lo, int64_t hi) {
  const N(job) *w = ctx;
  const dl_gemm *g = w->g;
  for (int64_t i = lo; i < hi; i++) {
    if (i < w->na) {
      int64_t r = g->m - i * MR;
      int rows = r < MR ? (int)r : MR;
      N(pack_a)(w->a + i * MR * g->ars, g->ars, g->acs, w->k, rows, w->pa + i * MR * w->k);
    } else {
      int64_t j = i - w->na, n = g->n - j * NR;
      N(pack_b)(w->b + j * NR * g->bcs, g->brs, g->bcs, w->k, n < NR ? (int)n : NR, NR,
                w->pb + j * NR * w->k);
    }
  }
}

static void N(one_panel)(const N(job) *w, int64_t i, int64_t j) {
  const dl_gemm *g = w->g;
  int64_t m = g->m - i * MR, n = g->n - j * NR;
  const REAL *a = w->pa + i * MR * w->k, *b = w->pb + j * NR * w->k;
  REAL *c = w->c + i * MR * g->crs + j * NR;
  int cols = n < NR ? (int)n : NR;
  if (m >= MR) N(tile)(MR, NV, w->k, a, 1, MR, b, NR, w->alpha, w->beta, c, g->crs, cols);
  else for (int r = 0; r < m; r++)
    N(tile)(1, NV, w->k, a + r, 1, MR, b, NR, w->alpha, w->beta, c + r * g->crs, g->crs, cols);
}

static void N(multiply_run)(void *ctx, int64_t lo, int64_t hi) {
  const N(job) *w = ctx;
  int64_t across = (w->nb + w->rb - 1) / w->rb;
  for (int64_t t = lo; t < hi; t++) {
    int64_t i0 = t / across * w->ra, j0 = t % across * w->rb;
    int64_t i1 = i0 + w->ra < w->na ? i0 + w->ra : w->na;
    int64_t j1 = j0 + w->rb < w->nb ? j0 + w->rb : w->nb;
    for (int64_t j = j0; j < j1; j++)
      for (int64_t i = i0; i < i1; i++) N(one_panel)(w, i, j);
  }
}

/* Pieces of work: big enough to reuse a panel, small enough that every thread has some. */
static void N(cut)(N(job) *w, int threads) {
  w->ra = w->na < 120 / MR ? w->na : 120 / MR;
  w->rb = w->nb < 512 / NR ? w->nb : 512 / NR;
  for (;;) {
    int64_t pieces = ((w->na + w->ra - 1) / w->ra) * ((w->nb + w->rb - 1) / w->rb);
    if (threads == 1 || pieces >= 4 * threads || (w->ra == 1 && w->rb == 1)) return;
    if (w->rb * NR >= w->ra * MR && w->rb > 1) w->rb = (w->rb + 1) / 2;
    else if (w->ra > 1) w->ra = (w->ra + 1) / 2;
    else w->rb = (w->rb + 1) / 2;
  }
}

static dl_status N(large)(const dl_gemm *g, const REAL *a, const REAL *b, REAL *c, bool serial) {
  N(job) w = {.g = g, .c = c, .alpha = (REAL)g->alpha, .beta = (REAL)g->beta};
  w.na = (g->m + MR - 1) / MR, w.nb = (g->n + NR - 1) / NR;
  int64_t depth = g->k < KC ? g->k : KC;
  size_t abytes = (size_t)(w.na * MR * depth) * sizeof(REAL);
  size_t nbytes = abytes + (size_t)(w.nb * NR * depth) * sizeof(REAL);
  void *mem;
  DL_TRY(dl_scratch(nbytes, &mem));
  N(cut)(&w, serial ? 1 : dl_threads());
  int64_t pieces = ((w.na + w.ra - 1) / w.ra) * ((w.nb + w.rb - 1) / w.rb);
  dl_status st = DL_OK;
  for (int64_t p = 0; p < g->k && st == DL_OK; p += depth, w.beta = 1) {
    w.k = g->k - p < depth ? g->k - p : depth;
    w.a = a + p * g->acs, w.b = b + p * g->brs;
    w.pa = mem, w.pb = (REAL *)((char *)mem + abytes);
    if (serial) {
      N(pack_run)(&w, 0, w.na + w.nb);
      N(multiply_run)(&w, 0, pieces);
    } else {
      st = dl_parallel(w.na + w.nb, 8, N(pack_run), &w);
      if (st == DL_OK) st = dl_parallel(pieces, 1, N(multiply_run), &w);
    }
  }
  dl_scratch_free(mem, nbytes);
  return st;
}

/* ---- choosing ------------------------------------------------------------------------------ */
static void N(scale_c)(const dl_gemm *g, REAL *c) {
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++)
      c[i * g->crs + j] = g->beta != 0 ? (REAL)g->beta * c[i * g->crs + j] : 0;
}

static dl_status N(one)(const dl_gemm *g, int64_t batch, bool serial) {
  const REAL *a = (const REAL *)g->a + batch * g->abs, *b = (const REAL *)g->b + batch * g->bbs;
  REAL *c = (REAL *)g->c + batch * g->cbs, alpha = (REAL)g->alpha, beta = (REAL)g->beta;
  if (g->k == 0) return N(scale_c)(g, c), DL_OK;
  if (g->n == 1 && g->acs == 1)
    return N(matvec)((N(rows)){a, b, c, alpha, beta, g->k, g->ars, g->crs}, g->m, g->brs, serial);
  if (g->m == 1 && g->brs == 1)
    return N(matvec)((N(rows)){b, a, c, alpha, beta, g->k, g->bcs, 1}, g->n, g->acs, serial);
  int64_t work = g->m * g->n * g->k;
  if (work <= SMALL_WORK || g->m <= 2) return N(small)(g, a, b, c);
  return N(large)(g, a, b, c, serial || work < PARALLEL_WORK);
}

typedef struct N(batched) { const dl_gemm *g; dl_status st; } N(batched);

static void N(batch_run)(void *ctx, int64_t lo, int64_t hi) {
  N(batched) *w = ctx;
  for (int64_t i = lo; i < hi; i++) {
    dl_status st = N(one)(w->g, i, true);
    if (st != DL_OK) w->st = st;
  }
}

static dl_status N(all)(const dl_gemm *g, bool serial) {
  if (g->m == 0 || g->n == 0 || g->batch == 0) return DL_OK;
  if (g->batch == 1) return N(one)(g, 0, serial);
  N(batched) w = {g, DL_OK};
  int64_t work = g->m * g->n * (g->k + 1);
  if (serial || work * g->batch < PARALLEL_WORK / 8) N(batch_run)(&w, 0, g->batch);
  else DL_TRY(dl_parallel(g->batch, PARALLEL_WORK / 16 / work + 1, N(batch_run), &w));
  return w.st;
}
