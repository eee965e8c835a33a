/* reduce.c -- brings elements to a fold: dims, dtypes, threads
 *
 * For reduce_*.c, see reduce.h. */
#include "reduce.h"

#include "once/convert.h"

enum {
  TILE = 1024,     /* elements converted at a time */
  WIDTH = 128,     /* neighbouring outputs folded together */
  GRAIN = 32768,   /* elements worth a thread's while */
  CHUNK = 65536    /* elements of one output folded by one piece of work */
};

/* ---- the plan -------------------------------------------------------------------------------- */
static void push(int *n, int64_t *size, int64_t *stride, int64_t sz, int64_t st) {
  if (sz == 1) return;
  if (*n && stride[*n - 1] == sz * st) {
    size[*n - 1] *= sz;
    stride[*n - 1] = st;
    return;
  }
  size[*n] = sz;
  stride[*n] = st;
  ++*n;
}

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

/* Reduced dims by falling stride, where the fold does not mind the order. */
static void order_reduced(const dl_view *v, uint32_t mask, bool ordered, int *dims, int *n) {
  *n = 0;
  for (int d = 0; d < v->ndim; d++) {
    if (!(mask & (1u << d))) continue;
    int k = (*n)++;
    for (; !ordered && k > 0 && magnitude(v->stride[dims[k - 1]]) < magnitude(v->stride[d]); k--)
      dims[k] = dims[k - 1];
    dims[k] = d;
  }
}

void DL_K(dl_reduce_plan)(red_job *j, const dl_kcall *c, bool ordered) {
  const dl_view *v = &c->in[0];
  int dims[DL_MAXDIM], n;
  j->c = c;
  j->data = v->data;
  j->dtype = v->dtype;
  j->nk = j->nr = 0;
  j->nout = j->count = 1;
  order_reduced(v, c->dims, ordered, dims, &n);
  for (int i = 0; i < n; i++) {
    push(&j->nr, j->rsize, j->rstride, v->size[dims[i]], v->stride[dims[i]]);
    j->count *= v->size[dims[i]];
  }
  for (int d = 0; d < v->ndim; d++) {
    if (c->dims & (1u << d)) continue;
    push(&j->nk, j->ksize, j->kstride, v->size[d], v->stride[d]);
    j->nout *= v->size[d];
  }
}

void DL_K(dl_reduce_store)(const red_job *j, int o, int from, const void *v, int64_t k, int64_t n) {
  const dl_view *out = &j->c->out[o];
  dl_convert(out->dtype, out->data + k * (int64_t)dl_dtypes[out->dtype].size, 1, from, v, 1, n);
}

/* ---- walking --------------------------------------------------------------------------------- */
static int64_t offset_of(int n, const int64_t *size, const int64_t *stride, int64_t at) {
  int64_t off = 0;
  for (int d = n - 1; d >= 0; d--) {
    off += at % size[d] * stride[d];
    at /= size[d];
  }
  return off;
}

/* Run starting at reduced index `at`: its length, at most `left`, and its offset. */
static int64_t run_at(const red_job *j, int64_t at, int64_t left, int64_t *off, int64_t *stride) {
  int last = j->nr - 1;
  *off = offset_of(j->nr, j->rsize, j->rstride, at);
  *stride = last < 0 ? 1 : j->rstride[last];
  int64_t run = last < 0 ? 1 : j->rsize[last] - at % j->rsize[last];
  return run < left ? run : left;
}

static const char *element(const red_job *j, int64_t off) {
  return j->data + off * (int64_t)dl_dtypes[j->dtype].size;
}

static void fold_row(const red_job *j, void *a, void *b, int64_t base, int64_t lo, int64_t hi) {
  double tile[TILE];
  int64_t off, stride, run;
  for (int64_t at = lo; at < hi; at += run) {
    run = run_at(j, at, hi - at, &off, &stride);
    const char *p = element(j, base + off);
    if (j->dtype == j->compute) {
      j->fold->row(j, a, b, p, stride, run, at, at - lo);
      continue;
    }
    if (run > TILE) run = TILE;
    dl_convert(j->compute, (char *)tile, 1, j->dtype, p, stride, run);
    j->fold->row(j, a, b, tile, 1, run, at, at - lo);
  }
}

/* n neighbouring outputs, `ks` apart in the input */
static void fold_cols(const red_job *j, void *a, void *b, int64_t base, int64_t ks, int64_t n,
                      int64_t lo, int64_t hi) {
  double tile[TILE];
  int64_t off, stride, run;
  for (int64_t at = lo; at < hi; at += run) {
    run = run_at(j, at, hi - at, &off, &stride);
    if (j->dtype == j->compute && ks == 1) {
      j->fold->cols(j, a, b, element(j, base + off), stride, run, n, at, at - lo);
      continue;
    }
    int64_t fit = TILE / n, es = (int64_t)dl_dtypes[j->compute].size;
    if (run > fit) run = fit;
    for (int64_t r = 0; r < run; r++)
      dl_convert(j->compute, (char *)tile + r * n * es, 1, j->dtype,
                 element(j, base + off + r * stride), ks, n);
    j->fold->cols(j, a, b, tile, n, run, n, at, at - lo);
  }
}

/* ---- pieces of work: (block of outputs, chunk of the reduced elements) ----------------------- */
static int64_t inner_kept(const red_job *j) { return j->nk ? j->ksize[j->nk - 1] : 1; }

static int64_t blocks_in_row(const red_job *j) {
  return (inner_kept(j) + j->width - 1) / j->width;
}

static int64_t block_count(const red_job *j) {
  return j->width == 1 ? j->nout : j->nout / inner_kept(j) * blocks_in_row(j);
}

/* First output of block i, and how many it has. */
static int64_t block_begin(const red_job *j, int64_t i, int64_t *n) {
  *n = 1;
  if (j->width == 1) return i;
  int64_t in_row = blocks_in_row(j), row = i / in_row, col = i % in_row * j->width;
  int64_t left = inner_kept(j) - col;
  *n = left < j->width ? left : j->width;
  return row * inner_kept(j) + col;
}

static char *part_a(const red_job *j, int64_t k, int64_t chunk) {
  return j->parts + (size_t)(chunk * j->nout + k) * j->fold->asize;
}
static char *part_b(const red_job *j, int64_t k, int64_t chunk) {
  size_t all = (size_t)(j->nout * j->nchunk) * j->fold->asize;
  return j->parts + (all + 7) / 8 * 8 + (size_t)(chunk * j->nout + k) * j->fold->bsize;
}

static void fold_block(const red_job *j, int64_t block, int64_t chunk) {
  double sa[WIDTH], sb[WIDTH];
  int64_t n, k = block_begin(j, block, &n), lo = chunk * j->chunk, hi = lo + j->chunk;
  if (hi > j->count) hi = j->count;
  int64_t base = offset_of(j->nk, j->ksize, j->kstride, k);
  bool whole = j->nchunk == 1;
  void *a = whole ? (void *)sa : part_a(j, k, chunk), *b = whole ? (void *)sb : part_b(j, k, chunk);
  j->fold->start(a, b, n);
  if (j->width == 1) fold_row(j, a, b, base, lo, hi);
  else fold_cols(j, a, b, base, j->kstride[j->nk - 1], n, lo, hi);
  if (whole) j->fold->finish(j, a, b, k, n);
}

static void pieces(void *ctx, int64_t lo, int64_t hi) {
  const red_job *j = ctx;
  for (int64_t i = lo; i < hi; i++) fold_block(j, i / j->nchunk, i % j->nchunk);
}

static void merge_parts(const red_job *j) {
  for (int64_t k = 0; k < j->nout; k++) {
    for (int64_t i = 1; i < j->nchunk; i++) {
      int64_t left = j->count - i * j->chunk, n2 = left < j->chunk ? left : j->chunk;
      j->fold->merge(part_a(j, k, 0), part_b(j, k, 0), part_a(j, k, i), part_b(j, k, i),
                     i * j->chunk, n2);
    }
    j->fold->finish(j, part_a(j, k, 0), part_b(j, k, 0), k, 1);
  }
}

/* ---- the call --------------------------------------------------------------------------- */
/* Rows of neighbouring outputs when those lie closer together than what is reduced. */
static int64_t choose_width(const red_job *j) {
  if (!j->nk || !j->nr) return 1;
  int64_t ks = magnitude(j->kstride[j->nk - 1]), rs = magnitude(j->rstride[j->nr - 1]);
  return ks < rs && inner_kept(j) >= 4 ? WIDTH : 1;
}

dl_status DL_K(dl_reduce)(dl_kcall *c, const red_fold *fold, int compute, double par) {
  red_job j = {.fold = fold, .compute = compute, .par = par};
  DL_K(dl_reduce_plan)(&j, c, fold->ordered);
  if (j.nout == 0) return DL_OK;
  j.width = choose_width(&j);
  j.chunk = j.count > 0 ? j.count : 1;
  j.nchunk = 1;
  int64_t blocks = block_count(&j), cost = j.count * (j.width == 1 ? 1 : j.width);
  if (j.count >= 4 * CHUNK && blocks < 16) {
    j.chunk = CHUNK;
    j.nchunk = (j.count + CHUNK - 1) / CHUNK;
    cost = CHUNK;
  }
  if (j.nchunk == 1) return dl_parallel(blocks, GRAIN / (cost + 1) + 1, pieces, &j);
  size_t bytes = (size_t)(j.nout * j.nchunk) * (fold->asize + fold->bsize) + 8;
  void *parts;
  DL_TRY(dl_scratch(bytes, &parts));
  j.parts = parts;
  dl_status st = dl_parallel(blocks * j.nchunk, 1, pieces, &j);
  if (st == DL_OK) merge_parts(&j);
  dl_scratch_free(parts, bytes);
  return st;
}
