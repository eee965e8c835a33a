/* cost.c -- how long a kernel takes on a card: FLOPs and bytes, over what the card can do
 *
 * For launch.c and for predictions. FLOPs and bytes come from the call's views and the COST column
 * of ops.def; the rates from the card's figures. Fixed part + the slower of arithmetic and memory.
 *
 * INVARIANT  Longer arrays never take less time; no path needs a number that the card lacks. Only
 *            sums, products, quotients and square roots: the same everywhere.
 * SOURCE     The three-parameter roofline fitted on microsoft/vidur's measurements (cards.def);
 *            alignment factors from published throughput of SwiGLU widths on one H100. */
#include "state.h"

#include <math.h>

enum { COST_ELEM, COST_REDUCE, COST_MM, COST_CONV, COST_COPY, COST_NONE };
enum { KIND_POINTWISE, KIND_REDUCE, KIND_KERNEL, KIND_KERNELC, KIND_UPDATE, KIND_FACTORY,
       KIND_VIEW, KIND_COMPOSITE };
static const struct { uint8_t kind, cost; } rows[DL_OP_COUNT] = {
#define DL_OP(id, kind, where, schema, rule, cast, save, grad, gradname, cost, help) \
  [DL_OP_##id] = {KIND_##kind, COST_##cost},
#include "op/ops.def"
#undef DL_OP
};

const dl_sim_band dl_sim_bands[DL_BAND_COUNT] = {
    [DL_BAND_PRODUCT] = {"products", 0.15},
    [DL_BAND_ELEMENT] = {"elementwise", 0.20},
    [DL_BAND_ROWS] = {"sums and norms", 0.30},
    [DL_BAND_CONV] = {"convolutions", 0.30},
    [DL_BAND_START] = {"what is mostly launch overhead", 1.00}};
#define BAND(of) dl_sim_bands[DL_BAND_##of].band

/* gemm_share was fitted on shapes that lose some of their last wave too, so only waves that are
 * emptier than this cost more; sums that are split over SMs cost a little for adding up. */
#define WAVE_SHARE 0.85
#define SPLIT_SHARE 0.95

static double more(double a, double b) { return a > b ? a : b; }
static double less(double a, double b) { return a < b ? a : b; }

/* ---- bytes ---- */
/* Bytes of the distinct elements of a view: a dimension of stride 0 is read once. */
static double view_bytes(const dl_view *v) {
  if (v->dtype == DL_NODTYPE || !v->data) return 0;
  double n = (double)dl_dtype_size((dl_dtype)v->dtype);
  for (int d = 0; d < v->ndim; d++)
    if (v->stride[d] != 0) n *= (double)v->size[d];
  return v->numel ? n : 0;
}

/* Reads and writes of a parameter's size in one step of an optimizer, as PyTorch's foreach kernels
 * make them: one kernel a line of the formula, over all parameters. Momentum: in[2] is there. */
#define ADAM_PASSES 18
#define SGD_PASSES 3
#define MOMENTUM_PASSES 8

static double optimizer_passes(const dl_kcall *k) {
  if (k->op == DL_OP_adam_step) return ADAM_PASSES;
  if (k->op != DL_OP_sgd_step) return 0;
  return k->nin > 2 && k->in[2].dtype != DL_NODTYPE ? MOMENTUM_PASSES : SGD_PASSES;
}

static double call_bytes(const dl_kcall *k) {
  double out = 0, in = 0;
  bool picks = rows[k->op].cost == COST_COPY;
  double passes = optimizer_passes(k);
  if (passes > 0) return passes * view_bytes(&k->out[0]);
  for (int i = 0; i < k->nout; i++) out += view_bytes(&k->out[i]);
  int first = k->op == DL_OP_copy_; /* what is written over is not read */
  for (int i = first; i < k->nin; i++) {
    double b = view_bytes(&k->in[i]);
    in += picks ? less(b, out) : b; /* a row of a table is read, not the table */
  }
  for (int i = 0; i < k->nlist; i++) in += view_bytes(&k->list[i]);
  return in + out;
}

/* Data below half of L2 stays there; above all of it nothing does. */
static double memory_us(const dl_rates *r, double bytes, double share) {
  double dram = r->bw * share, hit = 2 - 2 * bytes / r->l2_bytes;
  hit = hit > 1 ? 1 : hit < 0 ? 0 : hit;
  return bytes * (hit / more(r->l2_bw * share / r->memory_share, dram) + (1 - hit) / dram);
}

/* ---- matrix products ---- */
static double product_peak(const dl_rates *r, uint8_t dtype, bool tf32) {
  if (dtype == DL_F32 && tf32 && r->tf32 > 0) return r->tf32;
  return r->peak[dtype];
}

static bool on_tensor_cores(const dl_rates *r, uint8_t dtype, bool tf32) {
  if (!r->tensor_cores) return false;
  return dtype == DL_F16 || (dtype == DL_BF16 && r->peak[DL_BF16] > r->simt) ||
         (dtype == DL_F32 && tf32 && r->tf32 > 0);
}

static double alignment(int64_t n) { return n % 32 == 0 ? 1.0 : n % 8 == 0 ? 0.9 : 0.68; }

/* batch products of (m,k) x (k,n) */
typedef struct shape { int64_t batch, m, n, k; } shape;

/* Of the SMs, by tiles of 128 x 128. */
static double part_of(double sms, shape s) {
  double tiles = (double)s.batch * (double)((s.m + 127) / 128) * (double)((s.n + 127) / 128);
  return less(1, tiles / sms);
}

static double waves_of(double sms, shape s) {
  static const struct { int m, n; double share; } tile[] = {
      {256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.97}, {128, 64, 0.86}, {64, 64, 0.72}};
  double best = 0;
  for (size_t i = 0; i < sizeof tile / sizeof *tile; i++) {
    int64_t down = (s.m + tile[i].m - 1) / tile[i].m, along = (s.n + tile[i].n - 1) / tile[i].n;
    double whole = (double)down * tile[i].m * (double)along * tile[i].n;
    double filled = (double)s.m * (double)s.n / whole * tile[i].share;
    for (int split = 1; split == 1 || (split <= 8 && s.k / split >= 256); split *= 2) {
      double tiles = (double)s.batch * (double)down * (double)along * split;
      double wave = (double)(int64_t)((tiles + sms - 1) / sms);
      best = more(best, filled * (split > 1 ? SPLIT_SHARE : 1) * tiles / (wave * sms));
    }
  }
  return best;
}

/* The share of the SMs' time that is used when tiles run in waves, with the best of a few tile
 * shapes and splits of the sums. Shapes repeat from step to step, so the last ones are kept. */
static double waves(double sms, shape s) {
  static struct { double sms; shape s; double share; } kept[256];
  uint64_t h = (uint64_t)s.m * 0x9e3779b97f4a7c15u + (uint64_t)s.n * 0xc2b2ae3d27d4eb4fu +
               (uint64_t)s.k * 0x165667b19e3779f9u + (uint64_t)s.batch;
  int at = (int)(h >> 56);
  shape *o = &kept[at].s;
  if (kept[at].sms == sms && o->m == s.m && o->n == s.n && o->k == s.k && o->batch == s.batch)
    return kept[at].share;
  kept[at].sms = sms;
  kept[at].s = s;
  return kept[at].share = waves_of(sms, s);
}

static shape product_of(const dl_kcall *k) {
  const dl_view *a = &k->in[0], *o = &k->out[0];
  if (k->nin > 2 && k->in[1].dtype != DL_NODTYPE) a = &k->in[1];
  shape s = {1, 1, 1, 1};
  if (a->ndim > 0) s.k = a->size[a->ndim - 1];
  if (a->ndim > 1) s.m = a->size[a->ndim - 2];
  if (o->ndim > 1) s.n = o->size[o->ndim - 1];
  if (a->ndim > 2) s.batch = a->size[0];
  return s;
}

/* Arithmetic and memory overlap, but not wholly where both take long: the 4-norm of the two. */
static double overlapped(double a, double b) {
  double top = more(a, b), r = top > 0 ? less(a, b) / top : 0;
  return top * sqrt(sqrt(1 + r * r * r * r));
}

static dl_sim_time gemm(const dl_rates *r, const dl_kcall *k) {
  shape s = product_of(k);
  uint8_t dtype = k->out[0].dtype;
  bool tf32 = dl_sim.tf32_matmul && s.n > 1 && s.m > 1;
  dl_sim_time t = {.bytes = call_bytes(k), .band = BAND(PRODUCT), .part = part_of(r->sms, s)};
  t.flops = 2 * (double)s.batch * (double)s.m * (double)s.n * (double)s.k;
  double speed = product_peak(r, dtype, tf32) * r->gemm_share;
  if (on_tensor_cores(r, dtype, tf32)) speed *= less(alignment(s.n), alignment(s.k));
  double share = t.flops > 0 ? less(1, waves(r->sms, s) / WAVE_SHARE) : 1;
  t.us = overlapped(t.flops / (speed * share), memory_us(r, t.bytes, r->memory_share)) +
         r->gemm_start;
  return t;
}

/* The weight's elements behind one output, from whichever of the three calls this is. */
static dl_sim_time conv(const dl_rates *r, const dl_kcall *k) {
  const dl_view *weight = k->op == DL_OP_conv_grad_weight ? &k->out[0] : &k->in[1];
  const dl_view *image = k->op == DL_OP_convolution ? &k->out[0] : &k->in[0];
  uint8_t dtype = k->out[0].dtype;
  dl_sim_time t = {
      .bytes = call_bytes(k), .band = BAND(CONV), .part = 1, .flops = 2 * (double)image->numel};
  for (int d = 1; d < weight->ndim; d++) t.flops *= (double)weight->size[d];
  double speed = product_peak(r, dtype, dl_sim.tf32_conv) * r->conv_share;
  t.us = t.flops / speed + memory_us(r, t.bytes, r->memory_share) + r->gemm_start;
  return t;
}

/* ---- everything else ---- */
/* 4 elements a thread, 2048 threads an SM. */
static double part_of_elements(const dl_rates *r, const dl_kcall *k) {
  double n = k->nout ? (double)k->out[0].numel : 0;
  if (k->nin && (double)k->in[0].numel > n) n = (double)k->in[0].numel;
  return less(1, n / (8192 * r->sms));
}

static dl_sim_time rows_(const dl_rates *r, const dl_kcall *k) {
  bool whole = rows[k->op].kind == KIND_REDUCE;
  dl_sim_time t = {.bytes = call_bytes(k), .band = BAND(ROWS), .part = part_of_elements(r, k)};
  t.flops = k->nin ? (double)k->in[0].numel : 0;
  t.us = memory_us(r, t.bytes, whole ? r->reduce_share : r->row_share) + r->kernel_start;
  if (whole && k->out[0].numel == 1 && t.flops > 4096) t.us += r->kernel_start;
  return t;
}

static dl_sim_time elementwise(const dl_rates *r, const dl_kcall *k) {
  dl_sim_time t = {.bytes = call_bytes(k), .band = BAND(ELEMENT), .part = part_of_elements(r, k)};
  if (rows[k->op].cost == COST_ELEM && k->nout) t.flops = (double)k->out[0].numel;
  t.us = memory_us(r, t.bytes, r->memory_share) + r->kernel_start;
  return t;
}

dl_sim_time dl_sim_price(const dl_rates *r, const dl_kcall *k) {
  dl_sim_time t;
  double start = r->kernel_start;
  switch (rows[k->op].cost) {
    case COST_MM: t = gemm(r, k); start = r->gemm_start; break;
    case COST_CONV: t = conv(r, k); start = r->gemm_start; break;
    case COST_REDUCE: t = rows_(r, k); break;
    case COST_NONE: return (dl_sim_time){0};
    default: t = elementwise(r, k);
  }
  if (start > t.us / 2) t.band = BAND(START);
  return t;
}

dl_sim_time dl_sim_copy_time(const dl_rates *r, const dl_view *to, const dl_view *from) {
  dl_sim_time t = {.bytes = view_bytes(to) + view_bytes(from), .band = BAND(ELEMENT), .part = 1};
  t.us = memory_us(r, t.bytes, r->memory_share) + r->kernel_start;
  if (r->kernel_start > t.us / 2) t.band = BAND(START);
  return t;
}

double dl_sim_peak_us(const dl_rates *r, const dl_kcall *k, double flops) {
  bool conv = rows[k->op].cost == COST_CONV;
  if (!conv && rows[k->op].cost != COST_MM) return 0;
  return flops / product_peak(r, k->out[0].dtype, conv ? dl_sim.tf32_conv : dl_sim.tf32_matmul);
}

dl_sim_time dl_sim_cost(const dl_card *c, const dl_kcall *k) {
  dl_rates r;
  dl_sim_rates(c, &r);
  return dl_sim_price(&r, k);
}
