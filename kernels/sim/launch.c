/* launch.c -- a kernel on the simulated GPU: its place in time, then the CPU's kernel at once
 *
 * For driver.c's table. What the kernel writes is what a GPU would: results rounded to their dtype
 * after each op, sums in float32, tf32 operands cut to ten bits where that is on.
 *
 * INVARIANT  A kernel reads and writes memory of its own device only; anything else is an illegal
 *            address, found before a byte is touched. The call is as it was when we return.
 * MUST NOT   let a kernel that met a bad index return an error at once: the host meets it later. */
#include "state.h"

#include <stdio.h>
#include <string.h>

/* KERNELC rows want contiguous operands in the compute dtype. */
#define C_POINTWISE 0
#define C_REDUCE 0
#define C_KERNEL 0
#define C_KERNELC 1
#define C_UPDATE 0
#define C_FACTORY 0
#define C_VIEW 0
#define C_COMPOSITE 0
static const uint8_t wants_contiguous[DL_OP_COUNT] = {
#define DL_OP(id, kind, ...) [DL_OP_##id] = C_##kind,
#include "op/ops.def"
#undef DL_OP
};

/* Operands that tensor cores round, bit k for in[k]: matrices, not biases or vectors. */
static const uint8_t tf32_matmul[DL_OP_COUNT] = {
    [DL_OP_mm] = 3, [DL_OP_bmm] = 3, [DL_OP_addmm] = 6, [DL_OP_baddbmm] = 6};
static const uint8_t tf32_conv[DL_OP_COUNT] = {
    [DL_OP_convolution] = 3, [DL_OP_conv_grad_input] = 3, [DL_OP_conv_grad_weight] = 3};

/* ---- addresses ---- */
static size_t span_bytes(const dl_view *v) {
  int64_t last = 0;
  for (int d = 0; d < v->ndim; d++) last += (v->size[d] - 1) * v->stride[d];
  return (size_t)(last + 1) * dl_dtype_size((dl_dtype)v->dtype);
}

static bool absent(const dl_view *v) {
  return v->dtype == DL_NODTYPE || v->numel == 0 || !v->data;
}

/* The views of a call in one order: results, inputs, list. */
static dl_view *view_at(dl_kcall *k, int i) {
  if (i < k->nout) return &k->out[i];
  i -= k->nout;
  return i < k->nin ? &k->in[i] : (dl_view *)&k->list[i - k->nin];
}

static void turn(dl_view *v) { v->data = (char *)((uintptr_t)v->data ^ DL_SIM_BIT); }

/* Numbers that came with the call lie on the host. */
static bool is_number(const dl_kcall *k, int i) {
  return i >= k->nout && i < k->nout + k->nin && k->numbers & 1u << (i - k->nout);
}

/* May the kernel use all that it names? */
static int check(dl_simdev *d, dl_kcall *k) {
  int n = k->nout + k->nin + k->nlist;
  for (int i = 0; i < n; i++) {
    dl_view *v = view_at(k, i);
    char *host;
    if (absent(v) || is_number(k, i)) continue;
    int e = dl_sim_reach(d, v->data, span_bytes(v), &host);
    if (e) return e;
  }
  return DL_CU_OK;
}

/* Device addresses into the host's, or back. */
static void turn_all(dl_kcall *k) {
  int n = k->nout + k->nin + k->nlist;
  for (int i = 0; i < n; i++) {
    dl_view *v = view_at(k, i);
    if (!absent(v) && !is_number(k, i)) turn(v);
  }
}

/* ---- operands as a kernel wants them ---- */
typedef struct copies {
  dl_kcall k;
  struct { void *p; size_t n; } block[DL_MAX_IN + DL_MAX_OUT];
  int nblock;
  int64_t stride[DL_MAX_IN + DL_MAX_OUT][DL_MAXDIM];
} copies;

static bool is_contiguous(const dl_view *v) {
  int64_t want = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    if (v->size[d] != 1 && v->stride[d] != want) return false;
    want *= v->size[d];
  }
  return true;
}

/* Give v contiguous memory of its own, of dtype. */
static dl_status own(copies *c, dl_view *v, uint8_t dtype) {
  int b = c->nblock;
  size_t bytes = (size_t)v->numel * dl_dtype_size((dl_dtype)dtype);
  DL_TRY(dl_scratch(bytes, &c->block[b].p));
  c->block[b].n = bytes;
  c->nblock++;
  int64_t step = 1;
  for (int d = v->ndim - 1; d >= 0; d--) {
    c->stride[b][d] = step;
    step *= v->size[d];
  }
  v->data = c->block[b].p;
  v->dtype = dtype;
  v->stride = c->stride[b];
  return DL_OK;
}

static uint8_t work_dtype(const dl_kcall *k, const dl_view *v) {
  bool converts = k->compute != DL_NODTYPE && dl_dtype_is_float((dl_dtype)v->dtype);
  return converts ? k->compute : v->dtype;
}

static dl_status own_all(copies *c, const dl_kcall *k) {
  for (int i = 0; i < k->nin; i++) {
    dl_view *v = &c->k.in[i];
    if (absent(v) || (is_contiguous(v) && work_dtype(k, v) == v->dtype)) continue;
    DL_TRY(own(c, v, work_dtype(k, v)));
    dl_copy_view(v, &k->in[i]);
  }
  for (int i = 0; i < k->nout; i++) {
    dl_view *v = &c->k.out[i];
    if (absent(v) || (is_contiguous(v) && work_dtype(k, v) == v->dtype)) continue;
    DL_TRY(own(c, v, work_dtype(k, v)));
  }
  return DL_OK;
}

/* To ten bits of mantissa, halves away from zero (cvt.rna.tf32.f32); inf and nan stay. */
static void round_tf32(uint32_t *u, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if ((u[i] & 0x7f800000u) != 0x7f800000u) u[i] = (u[i] + 0x1000u) & 0xffffe000u;
}

static dl_status round_operands(copies *c, const dl_kcall *k, uint8_t which) {
  for (int i = 0; i < k->nin; i++) {
    dl_view *v = &c->k.in[i];
    if (!(which & 1u << i) || v->dtype != DL_F32 || absent(v)) continue;
    if (v->data == k->in[i].data) {
      DL_TRY(own(c, v, DL_F32));
      dl_copy_view(v, &k->in[i]);
    }
    round_tf32((uint32_t *)v->data, v->numel);
  }
  return DL_OK;
}

/* Random numbers are the card's own; all else the CPU's kernels compute. */
static dl_kernel_fn kernel_of(dl_opid op) {
  dl_kernel_fn own = dl_sim_random(op);
  return own ? own : dl_cpu_kernels[op];
}

static dl_status run_copies(const dl_kcall *k, uint8_t rounded, bool contiguous) {
  copies c;
  c.k = *k;
  c.nblock = 0;
  dl_status st = contiguous ? own_all(&c, k) : DL_OK;
  if (st == DL_OK && rounded) st = round_operands(&c, k, rounded);
  if (st == DL_OK) st = kernel_of(k->op)(&c.k);
  for (int i = 0; i < k->nout && st == DL_OK; i++)
    if (c.k.out[i].data != k->out[i].data) dl_copy_view(&k->out[i], &c.k.out[i]);
  for (int i = 0; i < c.nblock; i++) dl_scratch_free(c.block[i].p, c.block[i].n);
  return st;
}

static uint8_t rounds(const dl_simdev *d, const dl_kcall *k) {
  uint8_t which = (dl_sim.tf32_matmul ? tf32_matmul[k->op] : 0) |
                  (dl_sim.tf32_conv ? tf32_conv[k->op] : 0);
  return which && d->rate.tf32 > 0 && k->nout && k->out[0].dtype == DL_F32 ? which : 0;
}

static dl_status run(const dl_simdev *d, dl_kcall *k) {
  uint8_t rounded = rounds(d, k);
  if (!rounded && !wants_contiguous[k->op]) return kernel_of(k->op)(k);
  return run_copies(k, rounded, wants_contiguous[k->op]);
}

/* ---- launching ---- */
static void poison(dl_simdev *d, int error, const char *why) {
  if (d->pending) return;
  d->pending = error;
  snprintf(d->why, sizeof d->why, "%.255s", why);
}

static void count(dl_simdev *d, dl_sim_time t) {
  dl_sim_report *p = &d->report;
  p->kernels++;
  p->flops += t.flops;
  p->bytes += t.bytes;
  p->low_us += t.us / (1 + t.band);
  p->high_us += t.us * (1 + t.band);
}

static int settle(dl_simdev *d, double end) {
  return dl_sim.blocking ? dl_sim_wait(d, end) : DL_CU_OK;
}

static int execute(dl_simdev *d, dl_kcall *k) {
  int e = check(d, k);
  if (e == DL_CU_ILLEGAL) {
    poison(d, DL_CU_ILLEGAL, "");
    return DL_CU_OK;
  }
  if (e || dl_sim.dry) return e;
  turn_all(k);
  dl_status st = run(d, k);
  turn_all(k);
  if (st == DL_OK) return DL_CU_OK;
  if (st != DL_E_INDEX) return DL_CU_RAISED;
  poison(d, DL_CU_ASSERT, dl_err.message);
  dl_err_clear();
  return DL_CU_OK;
}

/* What PyTorch answers with memory alone: no kernel, and no byte is touched. */
static const uint8_t launches_nothing[DL_OP_COUNT] = {[DL_OP_empty] = 1, [DL_OP_empty_like] = 1};

int dl_sim_launch(int dev, dl_stream s, dl_kcall *k) {
  dl_simdev *d;
  double end;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  if (launches_nothing[k->op]) {
    dl_sim.host_us += d->rate.op_host;
    return DL_CU_OK;
  }
  dl_sim_time t = dl_sim_price(&d->rate, k);
  dl_sim.host_us += d->rate.op_host;
  e = dl_sim_enqueue(d, s, t.us, t.part, &end);
  if (e) return e;
  count(d, t);
  d->report.peak_us += dl_sim_peak_us(&d->rate, k, t.flops);
  if (!d->pending) e = execute(d, k);
  return e ? e : settle(d, end);
}

int dl_sim_copy_view(int dev, dl_stream s, const void *dst_view, const void *src_view) {
  dl_view to = *(const dl_view *)dst_view, from = *(const dl_view *)src_view;
  dl_simdev *d;
  double end;
  char *host;
  int e = dl_sim_enter(dev, &d);
  if (e) return e;
  dl_sim_time t = dl_sim_copy_time(&d->rate, &to, &from);
  dl_sim.host_us += d->rate.op_host;
  e = dl_sim_enqueue(d, s, t.us, t.part, &end);
  if (e) return e;
  count(d, t);
  if (d->pending || to.numel == 0) return settle(d, end);
  e = dl_sim_reach(d, to.data, span_bytes(&to), &host);
  if (!e) e = dl_sim_reach(d, from.data, span_bytes(&from), &host);
  if (e == DL_CU_ILLEGAL) {
    poison(d, DL_CU_ILLEGAL, "");
    return settle(d, end);
  }
  if (e) return e;
  if (dl_sim.dry) return settle(d, end);
  turn(&to);
  turn(&from);
  dl_copy_view(&to, &from);
  return settle(d, end);
}
