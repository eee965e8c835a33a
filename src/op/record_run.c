/* record_run.c -- one op, run and written down
 *
 * For dispatch while DL_MODE_RECORD is set.
 *
 * INVARIANT  The op runs exactly as it would without a record. */
#include "graph/graph.h"
#include "op/autocast.h"
#include "op/cost.h"
#include "op/dispatch.h"
#include "op/record_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

dl_status dl_rule_optim(dl_call *c);

static uint16_t depth; /* of the op that runs: how many ops called it */

int64_t dl_rec_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- what an op was ------------------------------------------------------------------------- */
static bool alike(dl_device *first, const dl_tensor *t) {
  if (t->ndim == 0 && t->dev.type == DL_CPU) return true;
  if (first->type == DL_DEVTYPE_COUNT) *first = t->dev;
  return dl_device_same(*first, t->dev);
}

static void operand(dl_rec_op *e, const dl_tensor *t, dl_device *first, bool *one) {
  if (!t) return;
  *one = alike(first, t) && *one;
  if (e->nin == DL_REC_IN) return;
  e->in_dtype[e->nin] = t->dtype;
  e->in_dev[e->nin++] = t->dev;
}

static void result(dl_rec_op *e, const dl_tensor *t, dl_device *first, bool *one) {
  if (!t) return;
  *one = alike(first, t) && *one;
  if (e->nout == DL_REC_OUT) return;
  if (e->nout == 0) {
    e->ndim = t->ndim < DL_REC_DIMS ? t->ndim : DL_REC_DIMS;
    for (int d = 0; d < e->ndim; d++) e->size[d] = t->size[d];
  }
  e->out_dtype[e->nout] = t->dtype;
  e->out_dev[e->nout++] = t->dev;
}

static void describe_operands(dl_rec_op *e, const dl_schema *s, const dl_arg *arg,
                              dl_device *first, bool *one) {
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR) operand(e, arg[i].t, first, one);
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++)
      operand(e, arg[i].ts[j], first, one);
  }
}

static int64_t not_finite(const dl_tensor *t) {
  if (!t || !dl_dtype_is_float((dl_dtype)t->dtype)) return 0;
  char *v = dl_rec_snapshot((dl_tensor *)t);
  size_t size = dl_dtype_size((dl_dtype)t->dtype);
  int64_t n = 0;
  for (int64_t i = 0; v && i < t->numel; i++)
    n += !isfinite(dl_elem_get_f64((dl_dtype)t->dtype, v + (size_t)i * size));
  free(v);
  return n;
}

static uint8_t flags_of(dl_opid op, unsigned flags) {
  bool kernel = dl_ops[op].kind != DL_VIEW && dl_ops[op].kind != DL_COMPOSITE;
  return (uint8_t)((dl_grad_enabled() ? DL_REC_GRAD : 0) |
                   (dl_mode & DL_MODE_INFERENCE ? DL_REC_INFERENCE : 0) |
                   (dl_autocast_any() ? DL_REC_AUTOCAST : 0) |
                   (dl_rec_backward ? DL_REC_BACKWARD : 0) | (dl_rec_stepping ? DL_REC_STEP : 0) |
                   (kernel ? DL_REC_KERNEL : 0) | (flags & DL_INPLACE ? DL_REC_INPLACE : 0));
}

static void write_down(const dl_rec_op *e, int64_t ns) {
  dl_rec_sum *sum = &dl_rec->sum[e->op];
  sum->calls++;
  sum->flops += e->flops;
  sum->read += e->read;
  sum->written += e->written;
  sum->flushed += e->flushed;
  sum->overflowed += e->overflowed;
  sum->nonfinite += e->nonfinite;
  sum->ns += ns;
  dl_rec->kernels += (e->mode & DL_REC_KERNEL) != 0;
  if (dl_nodes_live > dl_rec->nodes_peak) dl_rec->nodes_peak = dl_nodes_live;
  if (dl_rec->n < DL_REC_LOG && dl_rec_grow(&dl_rec->op, &dl_rec->cap, dl_rec->n, sizeof *e))
    dl_rec->op[dl_rec->n++] = *e;
  else
    dl_rec->dropped++;
}

/* ---- the timeline --------------------------------------------------------------------------- */
static int64_t total(const dl_rec_sample *s) {
  int64_t n = 0;
  for (int d = 0; d < 2; d++)
    for (int r = 0; r < DL_ROLE_COUNT; r++) n += s->bytes[d][r];
  return n;
}

/* Full: each sample stands for twice as many ops, and of two the higher one stays. */
static void halve(dl_record *r) {
  for (int64_t i = 0; i < r->nsample / 2; i++) {
    const dl_rec_sample *a = &r->sample[2 * i], *b = a + 1;
    r->sample[i] = total(a) >= total(b) ? *a : *b;
  }
  r->nsample /= 2;
  r->stretch *= 2;
}

static void sample(dl_record *r) {
  dl_rec_sample now = {.op = r->ops};
  memcpy(now.bytes[0], dl_ledger[0], sizeof now.bytes[0]);
  memcpy(now.bytes[1], dl_ledger[DL_LEDGER_CUDA], sizeof now.bytes[1]);
  bool begins = r->ops++ % r->stretch == 0;
  if (begins && r->nsample == DL_REC_SAMPLES) halve(r);
  dl_rec_sample *last = r->nsample ? &r->sample[r->nsample - 1] : NULL;
  if (begins && now.op % r->stretch == 0) r->sample[r->nsample++] = now;
  else if (last && total(&now) > total(last)) *last = now;
}

/* ---- parameters that an in-place op changes ------------------------------------------------- */
enum { MOST = 64 };
typedef struct targets { int n; dl_tensor *t[MOST]; void *before[MOST]; } targets;

static void target(targets *g, dl_tensor *t) {
  if (!t || t->st->role != DL_ROLE_PARAM || g->n == MOST) return;
  g->t[g->n] = t;
  g->before[g->n++] = dl_rec_snapshot(t);
}

static void targets_before(targets *g, const dl_schema *s, const dl_arg *arg, unsigned flags) {
  g->n = 0;
  if (!(flags & DL_INPLACE) || s->nparam == 0) return;
  if (arg[0].tag == DL_A_TENSOR) target(g, arg[0].t);
  for (int j = 0; arg[0].tag == DL_A_TENSORS && j < arg[0].n; j++) target(g, arg[0].ts[j]);
}

static void targets_after(targets *g, bool ok, bool optimizer) {
  for (int i = 0; i < g->n; i++) {
    dl_tensor *t = g->t[i];
    dl_rec_param *p = ok ? dl_rec_param_of(t) : NULL;
    void *after = p && g->before[i] ? dl_rec_snapshot(t) : NULL;
    if (p) p->updates++;
    if (p && optimizer) dl_rec->updates++;
    if (after && !p->t) {
      if (memcmp(after, g->before[i], dl_rec_bytes(t))) p->changed = true;
      double d = dl_rec_distance((dl_dtype)t->dtype, t->numel, after, g->before[i]);
      p->delta = hypot(p->delta, d);
    }
    free(after);
    free(g->before[i]);
  }
}

/* ---- running -------------------------------------------------------------------------------- */
static bool moves(const dl_rec_op *e) {
  for (int i = 0; i < e->nin && e->nout; i++)
    if (!dl_device_same(e->in_dev[i], e->out_dev[0])) return true;
  return false;
}

static dl_rec_stage stage_of(const dl_rec_op *e) {
  if (e->op == DL_OP__to_copy && moves(e)) return DL_REC_IN_COPY;
  if (e->mode & DL_REC_BACKWARD) return DL_REC_IN_BACKWARD;
  return e->mode & DL_REC_STEP ? DL_REC_IN_STEP : DL_REC_FORWARD;
}

static void take_results(dl_rec_op *e, dl_opid op, const dl_arg *arg, const dl_ret *ret,
                         const dl_tensor *wide, dl_device *first, bool *one) {
  dl_tensor *const *out = ret->more ? ret->more : ret->v;
  for (int k = 0; k < ret->n; k++) result(e, out[k], first, one);
  dl_price p = dl_op_price(op, arg, out, ret->n);
  e->flops = p.flops;
  e->read = p.read;
  e->written = p.written;
  if (!(e->mode & DL_REC_KERNEL)) return;
  for (int k = 0; k < ret->n; k++) e->nonfinite += not_finite(out[k]);
  if (wide && ret->n) dl_rec_losses(wide, out[0], e);
}

dl_status dl_record_run(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  const dl_schema *s = dl_op_schema(op);
  dl_rec_op e = {.op = (uint16_t)op, .depth = depth, .mode = flags_of(op, flags)};
  dl_device first = {DL_DEVTYPE_COUNT, -1};
  bool one = true, optimizer = dl_rec_stepping || dl_ops[op].rule == dl_rule_optim;
  targets g;
  describe_operands(&e, s, arg, &first, &one);
  targets_before(&g, s, arg, flags);
  dl_tensor *wide = dl_rec_wide(op, arg, flags);
  int64_t t0 = dl_rec_now();
  double v0 = dl_rec_clock();
  depth++;
  dl_status st = dl_dispatch_plain(op, arg, flags, ret);
  depth--;
  int64_t ns = dl_rec_now() - t0;
  if (dl_record_on()) { /* a hook may have ended it */
    targets_after(&g, st == DL_OK, optimizer);
    if (st == DL_OK) take_results(&e, op, arg, ret, wide, &first, &one);
    if (one) e.mode |= DL_REC_ONE_DEVICE;
    if (depth == 0 && !dl_rec_loading) {
      dl_rec->ns[stage_of(&e)] += ns;
      dl_rec->virtual_us[stage_of(&e)] += dl_rec_clock() - v0;
    }
    if (dl_op_draws(op)) dl_rec->draws++;
    if (st == DL_OK) write_down(&e, ns);
    if (depth == 0) sample(dl_rec);
  } else {
    for (int i = 0; i < g.n; i++) free(g.before[i]);
  }
  dl_tensor_release(wide);
  return st;
}
