/* pointwise.c -- how every pointwise op meets its operands
 *
 * For pointwise_*.c. Operands that lie in memory as the loop wants them (compute dtype,
 * contiguous) are used in place; anything else passes through tiles of TILE elements that stay in
 * L1: loaded with dtype conversion and strides, computed, stored.
 *
 * INVARIANT  Element i of the result is written after element i of every operand was read.
 *            The bits of a result do not depend on tiles, threads or strides.
 * MUST NOT   know which op it runs. */
#include "once/convert.h"
#include "pw.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#include <string.h>

enum { TILE = 512, STREAM_BYTES = 40000000 }; /* results above STREAM_BYTES pass round the cache */

typedef enum { DIRECT, NUMBER, GATHERED } reach; /* how an operand comes to the loop */

typedef struct job {
  pw_loop loop;
  const pw_num *num;
  int nin;
  uint8_t compute, made;         /* dtype of operands, of the loop's result */
  uint8_t in_reach[3], out_reach, stream;
  uint8_t narrow;                /* F16, BF16: a number is compared as such; else NODTYPE */
  dl_view in[3], out;
} job;

static bool flat(const dl_view *v) {
  if (v->ndim == 0) return true;
  if (v->ndim == 1) return v->stride[0] == 1 || v->size[0] == 1;
  int64_t want = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    if (v->size[d] != 1 && v->stride[d] != want) return false;
    want *= v->size[d];
  }
  return true;
}

static bool constant(const dl_view *v) {
  for (int d = 0; d < v->ndim; d++)
    if (v->stride[d] != 0 && v->size[d] != 1) return false;
  return true;
}

/* ---- tiles ------------------------------------------------------------------------------ */
/* Walks elements [at, at + n) of a view in row-major order as runs along the last dimension. */
typedef struct walk { int64_t idx[DL_MAXDIM], offset; } walk;

static void walk_to(walk *w, const dl_view *v, int64_t at) {
  w->offset = 0;
  for (int d = v->ndim - 1; d >= 0; d--) {
    w->idx[d] = at % v->size[d];
    at /= v->size[d];
    w->offset += w->idx[d] * v->stride[d];
  }
}

static int64_t walk_run(const walk *w, const dl_view *v, int64_t left) {
  int last = v->ndim - 1;
  int64_t run = last < 0 ? 1 : v->size[last] - w->idx[last];
  return run < left ? run : left;
}

static void walk_on(walk *w, const dl_view *v, int64_t run) {
  int d = v->ndim - 1;
  if (d < 0) return;
  w->idx[d] += run;
  w->offset += run * v->stride[d];
  for (; d > 0 && w->idx[d] == v->size[d]; d--) {
    w->offset += v->stride[d - 1] - w->idx[d] * v->stride[d];
    w->idx[d] = 0;
    w->idx[d - 1]++;
  }
}

static void gather(const job *j, const dl_view *v, int64_t at, int64_t n, char *tile) {
  size_t es = dl_dtypes[v->dtype].size, cs = dl_dtypes[j->compute].size;
  int64_t stride = v->ndim ? v->stride[v->ndim - 1] : 0;
  walk w;
  walk_to(&w, v, at);
  for (int64_t i = 0, run; i < n; i += run) {
    run = walk_run(&w, v, n - i);
    dl_convert(j->compute, tile + i * (int64_t)cs, 1, v->dtype, v->data + w.offset * (int64_t)es,
               stride, run);
    walk_on(&w, v, run);
  }
}

static void scatter(const job *j, int64_t at, int64_t n, const char *tile) {
  const dl_view *v = &j->out;
  size_t es = dl_dtypes[v->dtype].size, ms = dl_dtypes[j->made].size;
  int64_t stride = v->ndim ? v->stride[v->ndim - 1] : 0;
  walk w;
  walk_to(&w, v, at);
  for (int64_t i = 0, run; i < n; i += run) {
    run = walk_run(&w, v, n - i);
    dl_convert(v->dtype, v->data + w.offset * (int64_t)es, stride, j->made, tile + i * (int64_t)ms,
               1, run);
    walk_on(&w, v, run);
  }
}

/* Copy a tile to a large result without reading its cache lines first. */
static void stream(char *dst, const char *tile, size_t bytes) {
#if defined(__SSE2__)
  size_t head = (size_t)(-(uintptr_t)dst & 15), i;
  if (head > bytes) head = bytes;
  memcpy(dst, tile, head);
  for (i = head; i + 16 <= bytes; i += 16)
    _mm_stream_si128((__m128i *)(dst + i), _mm_loadu_si128((const __m128i *)(tile + i)));
  memcpy(dst + i, tile + i, bytes - i);
#else
  memcpy(dst, tile, bytes);
#endif
}

/* ---- a piece of the work ---------------------------------------------------------------- */
static bool all_direct(const job *j) {
  for (int k = 0; k < j->nin; k++)
    if (j->in_reach[k] != DIRECT) return false;
  return j->out_reach == DIRECT && !j->stream;
}

static void piece_direct(const job *j, int64_t lo, int64_t hi) {
  const void *in[3] = {0};
  size_t cs = dl_dtypes[j->compute].size;
  for (int k = 0; k < j->nin; k++) in[k] = j->in[k].data + lo * (int64_t)cs;
  j->loop(j->out.data + lo * (int64_t)dl_dtypes[j->made].size, in, hi - lo, j->num);
}

typedef union tile {
  double f64[TILE];
  int64_t i64[TILE];
  float f32[TILE];
  char bytes[TILE * 8];
} tile;

static void fill_number(const job *j, int k, int64_t n, tile *t) {
  gather(j, &j->in[k], 0, 1, t->bytes);
  if (j->narrow != DL_NODTYPE) {
    uint16_t half;
    dl_convert(j->narrow, (char *)&half, 1, j->compute, t->bytes, 1, 1);
    dl_convert(j->compute, t->bytes, 1, j->narrow, (const char *)&half, 1, 1);
  }
  size_t cs = dl_dtypes[j->compute].size;
  if (cs == 4) for (int64_t i = 1; i < n; i++) t->f32[i] = t->f32[0];
  else for (int64_t i = 1; i < n; i++) t->i64[i] = t->i64[0];
}

static void piece(void *ctx, int64_t lo, int64_t hi) {
  const job *j = ctx;
  if (all_direct(j)) {
    piece_direct(j, lo, hi);
    return;
  }
  _Alignas(64) tile in[3], made;
  const void *at[3] = {0};
  size_t cs = dl_dtypes[j->compute].size, ms = dl_dtypes[j->made].size;
  for (int k = 0; k < j->nin; k++)
    if (j->in_reach[k] == NUMBER) fill_number(j, k, hi - lo < TILE ? hi - lo : TILE, &in[k]);
  for (int64_t i = lo; i < hi; i += TILE) {
    int64_t n = hi - i < TILE ? hi - i : TILE;
    for (int k = 0; k < j->nin; k++) {
      if (j->in_reach[k] == GATHERED) gather(j, &j->in[k], i, n, in[k].bytes);
      at[k] = j->in_reach[k] == DIRECT ? j->in[k].data + i * (int64_t)cs : in[k].bytes;
    }
    char *to = j->out.data + i * (int64_t)ms;
    bool direct = j->out_reach == DIRECT && !j->stream;
    j->loop(direct ? to : made.bytes, at, n, j->num);
    if (j->stream) stream(to, made.bytes, (size_t)n * ms);
    else if (!direct) scatter(j, i, n, made.bytes);
  }
#if defined(__SSE2__)
  if (j->stream) _mm_sfence();
#endif
}

/* ---- the call --------------------------------------------------------------------------- */
static void reach_operands(job *j, const dl_kcall *c, const pw_op *op) {
  bool half = c->in[0].dtype == DL_F16 || c->in[0].dtype == DL_BF16;
  bool number = op->test && op->nin == 2 && dl_arg_is_num(&c->arg[1]);
  j->narrow = half && number ? c->in[0].dtype : DL_NODTYPE;
  for (int k = 0; k < op->nin; k++) {
    const dl_view *v = &c->in[k];
    j->in[k] = *v;
    bool ready = v->dtype == j->compute;
    j->in_reach[k] = constant(v) ? NUMBER : ready && flat(v) ? DIRECT : GATHERED;
    if (j->in_reach[k] == NUMBER && j->out.numel == 1 && ready && j->narrow == DL_NODTYPE)
      j->in_reach[k] = DIRECT;
  }
  j->out_reach = j->out.dtype == j->made && flat(&j->out) ? DIRECT : GATHERED;
  int64_t bytes = j->out.numel * (int64_t)dl_dtypes[j->made].size;
  j->stream = j->out_reach == DIRECT && bytes > STREAM_BYTES;
}

static bool is_run(const dl_view *v, uint8_t dtype, int64_t n) {
  return v->dtype == dtype && v->ndim == 1 && v->numel == n && v->stride[0] == 1;
}

/* Short and nothing to bring about: every small op of whole tensors ends here. */
static bool run_short(dl_kcall *c, const pw_op *op, pw_loop loop, const pw_num *num) {
  int64_t n = c->out[0].numel;
  const void *in[3] = {0};
  if (n > op->grain || !is_run(&c->out[0], op->test ? DL_BOOL : c->compute, n)) return false;
  for (int k = 0; k < op->nin; k++) {
    if (!is_run(&c->in[k], c->compute, n)) return false;
    in[k] = c->in[k].data;
  }
  loop(c->out[0].data, in, n, num);
  return true;
}

dl_status DL_K(dl_pw_run_num)(dl_kcall *c, const pw_op *op, const pw_num *num) {
  job j;
  j.compute = c->compute;
  j.loop = c->compute == DL_F32 ? op->f32 : c->compute == DL_F64 ? op->f64 : op->i64;
  if (j.loop && run_short(c, op, j.loop, num)) return DL_OK;
  if (!j.loop)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "no %s kernel for this operation",
                   dl_dtypes[c->compute].name);
  j.num = num;
  j.nin = op->nin;
  j.made = op->test ? DL_BOOL : c->compute;
  j.out = c->out[0];
  int64_t n = j.out.numel;
  if (n == 0) return DL_OK;
  reach_operands(&j, c, op);
  if (n <= op->grain) {
    piece(&j, 0, n);
    return DL_OK;
  }
  return dl_parallel(n, op->grain, piece, &j);
}

dl_status DL_K(dl_pw_run)(dl_kcall *c, const pw_op *op) {
  pw_num num = {{0, 0, 0}, {0, 0, 0}};
  for (int i = 0; i < 3 && op->num[i] >= 0; i++) {
    const dl_arg *a = &c->arg[op->num[i]];
    num.f[i] = dl_arg_f(a);
    num.i[i] = dl_arg_i(a);
  }
  return DL_K(dl_pw_run_num)(c, op, &num);
}

dl_status DL_K(dl_pw_refuse_zero)(dl_kcall *c, int k) {
  job j = {.compute = DL_I64};
  const dl_view *v = &c->in[k];
  int64_t buf[TILE];
  int64_t n = constant(v) ? (c->out[0].numel > 0) : c->out[0].numel;
  for (int64_t i = 0; i < n; i += TILE) {
    int64_t m = n - i < TILE ? n - i : TILE, zeros = 0;
    gather(&j, v, i, m, (char *)buf);
    for (int64_t q = 0; q < m; q++) zeros += buf[q] == 0;
    if (zeros) return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "ZeroDivisionError");
  }
  return DL_OK;
}
