/* pointwise.cu -- how every pointwise op of the GPU meets its operands
 *
 * For pointwise_*.cu: numbers, places and alignment; which kernel runs is decided in pw.h.
 * MUST NOT   know which op it runs. */
#include "pw.h"

/* A number beside a 16-bit operand of a comparison is compared as a number of that dtype. */
static double narrowed(const dl_kcall *c, const pw_op *op, double v) {
  int d = c->in[0].dtype;
  if (!op->test || op->nin != 2 || (d != DL_F16 && d != DL_BF16)) return v;
  uint16_t bits;
  dl_elem_set_f64((dl_dtype)d, &bits, v);
  return dl_elem_get_f64((dl_dtype)d, &bits);
}

/* Fills p's operands and their strides. */
static void operands(const dl_kcall *c, const pw_op *op, pw_call *p, const int64_t **stride) {
  static const int64_t none[DL_MAXDIM] = {0};
  const dl_view *out = &c->out[0];
  *p = {};
  p->out = out->data;
  p->compute = c->compute;
  p->dout = out->dtype;
  p->n = out->numel;
  stride[0] = out->stride;
  for (int k = 0; k < 3; k++) {
    stride[1 + k] = none;
    p->din[k] = DL_NODTYPE;
    if (k >= op->nin) continue;
    if (dl_cu_on_host(c, k)) {
      p->numbers |= (uint8_t)(1u << k);
      p->given.f[k] = narrowed(c, op, dl_cu_number(c, k));
      p->given.i[k] = dl_cu_whole(c, k);
      continue;
    }
    p->in[k] = c->in[k].data;
    p->din[k] = c->in[k].dtype;
    stride[1 + k] = c->in[k].stride;
  }
}

/* ---- packs ----------------------------------------------------------------------------------- */
/* What a pack of view k of g is; -1: it is not made of packs. */
static int how(const void *data, int dtype, const dl_geo<4> &g, int k) {
  int last = g.nd - 1;
  int64_t along = g.stride[k][last];
  int kind = -1;
  if (dtype == DL_F32) kind = PW_WORDS;
  if (dtype == DL_F16 || dtype == DL_BF16) kind = PW_HALVES;
  if (dtype == DL_BOOL) kind = PW_BYTES;
  if (kind < 0) return -1;
  if (along == 0 && k > 0) return PW_STILL;
  for (int d = 0; d < last; d++)
    if (g.stride[k][d] % PW_PACK) return -1;
  return along == 1 && dl_is_aligned(data, PW_PACK * dl_dtypes[dtype].size) ? kind : -1;
}

static bool steps(pw_rows *r, int k, int dtype, const dl_geo<4> &g) {
  int64_t size = dtype == DL_NODTYPE ? 0 : dl_dtypes[dtype].size;
  for (int d = 0; d < g.nd; d++) {
    int64_t step = g.stride[k][d] * size;
    if (d == g.nd - 1) step *= PW_PACK;
    r->step[k][d] = (int32_t)step;
    if (step != (int32_t)step) return false;
  }
  return true;
}

/* Are the operands made of packs? A single row may end in a part of one, which is left out. */
static bool rows_of(pw_rows *r, const pw_call &p, const dl_geo<4> &g, int nin) {
  int last = g.nd - 1;
  int64_t n = g.nd == 1 ? p.n / PW_PACK * PW_PACK : p.n;
  if (n == 0 || g.wide || (g.nd > 1 && g.size[last] % PW_PACK)) return false;
  if (how(p.out, p.dout, g, 0) < 0 || !steps(r, 0, p.dout, g)) return false;
  for (int k = 0; k < 3; k++) {
    bool given = k >= nin || p.numbers >> k & 1;
    int kind = PW_GIVEN;
    if (!given) kind = how(p.in[k], p.din[k], g, 1 + k);
    if (kind < 0 || !steps(r, 1 + k, p.din[k], g)) return false;
    r->how[k] = (uint8_t)kind;
  }
  r->n = (uint32_t)(n / PW_PACK);
  r->nd = g.nd;
  for (int d = 0; d < g.nd; d++)
    r->div[d] = dl_div_by((uint32_t)(d == last ? n / PW_PACK : g.size[d]));
  if (g.nd > 1) r->div[last] = dl_div_by((uint32_t)(g.size[last] / PW_PACK));
  return true;
}

/* What the packs leave over: the last few elements of a single row. */
static void rest(pw_call p, int64_t from, const dl_geo<4> &g, pw_slow_launcher slow, void *stream) {
  dl_geo<4> few = g;
  few.numel = few.size[0] = p.n -= from;
  p.out = static_cast<char *>(p.out) + from * g.stride[0][0] * dl_dtypes[p.dout].size;
  for (int k = 0; k < 3; k++)
    if (p.in[k])
      p.in[k] = static_cast<const char *>(p.in[k]) +
                from * g.stride[1 + k][0] * dl_dtypes[p.din[k]].size;
  slow(p, few, stream);
}

enum { WORTH_TWO = 1 << 16 };    /* elements from which on a launch for a few left over pays */

dl_status pw_run_num(dl_kcall *c, const pw_op *op, const pw_num *num, void *stream) {
  bool real = c->compute == DL_F32 || c->compute == DL_F64;
  if (!(op->types & (real ? PW_REAL : PW_WHOLE)))
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "no %s kernel for this operation",
                   dl_dtypes[c->compute].name);
  if (c->out[0].numel == 0) return DL_OK;
  pw_call p;
  dl_geo<4> g;
  const int64_t *stride[4];
  operands(c, op, &p, stride);
  p.num = *num;
  dl_geo_make(&g, c->out[0].ndim, c->out[0].size, stride);
  pw_rows r;
  bool fits = op->fast && c->compute == DL_F32 && (p.n % PW_PACK == 0 || p.n >= WORTH_TWO) &&
              rows_of(&r, p, g, op->nin);
  if (!fits) {
    op->slow(p, g, stream);
    return DL_OK;
  }
  op->fast(p, r, stream);
  if (p.n % PW_PACK) rest(p, (int64_t)r.n * PW_PACK, g, op->slow, stream);
  return DL_OK;
}

dl_status pw_run(dl_kcall *c, const pw_op *op, void *stream) {
  pw_num num = {{0, 0, 0}, {0, 0, 0}};
  for (int i = 0; i < 3 && op->num[i] >= 0; i++) {
    const dl_arg *a = &c->arg[op->num[i]];
    num.f[i] = dl_arg_f(a);
    num.i[i] = dl_arg_i(a);
  }
  return pw_run_num(c, op, &num, stream);
}

/* ---- conversion: the op that changes nothing ------------------------------------------------- */
template <class T> struct same {
  typedef T C;
  typedef T O;
  enum { nin = 1 };
  DL_FN T of(T x, T, T, const pw_num &) { return x; }
};

dl_status dl_cu_convert(const dl_view *dst, const dl_view *src, void *stream) {
  static const pw_op op = {pw_go_fast<same<float>>,
                           pw_go_slow<same<float>, same<double>, same<int64_t>>,
                           PW_REAL | PW_WHOLE, 1, 0, {-1, -1, -1}};
  static const pw_num none = {};
  dl_kcall c = {};
  int d = src->dtype;
  c.compute = (uint8_t)(d == DL_F64 ? DL_F64 : d >= DL_F16 ? DL_F32 : DL_I64);
  c.nout = c.nin = 1;
  c.out[0] = *dst;
  c.in[0] = *src;
  return pw_run_num(&c, &op, &none, stream);
}
