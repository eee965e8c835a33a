/* record_wide.c -- which values a 16-bit result lost: the same op, once more, in float32
 *
 * Every 16-bit kernel computes in float32 and rounds once, so the op on widened operands gives what
 * stood there before rounding. A value not zero that became zero was flushed; a finite one that
 * became infinite overflowed.
 *
 * INVARIANT  Operands are copies: an op that writes into one changes nothing of the program's. No
 *            byte, node, random number or kernel of it is counted. */
#include "graph/graph.h"
#include "op/dispatch.h"
#include "op/record_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool narrow(int64_t d) { return d == DL_F16 || d == DL_BF16; }

static bool has_narrow(const dl_schema *s, const dl_arg *arg) {
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR && narrow(arg[i].t->dtype)) return true;
    if (arg[i].tag == DL_A_DTYPE && narrow(arg[i].i)) return true;
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++)
      if (arg[i].ts[j] && narrow(arg[i].ts[j]->dtype)) return true;
  }
  return narrow(dl_default_dtype);
}

static bool all_readable(const dl_schema *s, const dl_arg *arg) {
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR && !dl_rec_can_read(arg[i].t)) return false;
    for (int j = 0; arg[i].tag == DL_A_TENSORS && j < arg[i].n; j++)
      if (arg[i].ts[j] && !dl_rec_can_read(arg[i].ts[j])) return false;
  }
  return true;
}

/* A simulated GPU's tensor on the host, row by row. */
static dl_tensor *from_device(dl_ex *e, dl_tensor *t) {
  dl_tensor *h = NULL;
  void *bytes = dl_rec_snapshot(t);
  if (e->st == DL_OK)
    e->st = dl_tensor_new(DL_DEV_CPU, (dl_dtype)t->dtype, t->ndim, t->size, &h);
  if (h && bytes) memcpy(h->data, bytes, dl_rec_bytes(t));
  free(bytes);
  return dl_ex_keep_take(e, h);
}

/* A copy of t, in float32 if it has 16 bits; integers are never written by such ops: shared. */
static dl_tensor *widened(dl_ex *e, dl_tensor *t) {
  if (t && t->dev.type != DL_CPU) t = from_device(e, t);
  if (!t || !dl_dtype_is_float((dl_dtype)t->dtype)) return t;
  return EX(e, _to_copy, T(t), DT(narrow(t->dtype) ? DL_F32 : t->dtype));
}

static dl_arg widened_list(dl_ex *e, const dl_arg *a, dl_tensor **room, int cap) {
  if (a->n > cap) {
    e->st = DL_E_INTERNAL;
    return *a;
  }
  for (int j = 0; j < a->n; j++) room[j] = widened(e, a->ts[j]);
  return TS(room, a->n);
}

static dl_tensor *run_wide(dl_opid op, const dl_schema *s, const dl_arg *arg, unsigned flags) {
  enum { MOST = 64 };
  dl_arg wide[DL_MAX_PARAM];
  dl_tensor *room[MOST], *out = NULL;
  dl_ret r = {0};
  dl_ex e;
  dl_ex_begin(&e);
  for (int i = 0; i < s->nparam && e.st == DL_OK; i++) {
    wide[i] = arg[i];
    if (arg[i].tag == DL_A_TENSOR) wide[i].t = widened(&e, arg[i].t);
    else if (arg[i].tag == DL_A_TENSORS) wide[i] = widened_list(&e, &arg[i], room, MOST);
    else if (arg[i].tag == DL_A_DTYPE && narrow(arg[i].i)) wide[i].i = DL_F32;
    else if (arg[i].tag == DL_A_DEVICE) wide[i].dev = DL_DEV_CPU;
  }
  if (e.st == DL_OK && dl_dispatch_plain(op, wide, flags, &r) == DL_OK && r.n && !r.more)
    out = dl_tensor_retain(r.v[0]);
  dl_ret_free(&r);
  dl_ex_end(&e);
  return out;
}

dl_tensor *dl_rec_wide(dl_opid op, const dl_arg *arg, unsigned flags) {
  const dl_op *row = &dl_ops[op];
  const dl_schema *s = dl_op_schema(op);
  if (row->kind == DL_VIEW || row->kind == DL_COMPOSITE || dl_op_draws(op) || s->ret_list ||
      !has_narrow(s, arg) || !all_readable(s, arg))
    return NULL;
  unsigned mode = dl_mode;
  uint8_t dflt = dl_default_dtype;
  void (*watch)(int) = dl_ledger_watch;
  const dl_recorder *recording = dl_recording;
  dl_error err = dl_err;
  dl_mode = DL_MODE_NO_GRAD;
  if (narrow(dflt)) dl_default_dtype = DL_F32;
  dl_ledger_watch = NULL;
  dl_recording = NULL;
  dl_tensor *out = run_wide(op, s, arg, flags);
  if (!out && dl_err.kind == DL_E_INTERRUPT) dl_cancel = 1; /* the op itself shall see it */
  dl_mode = mode;
  dl_default_dtype = dflt;
  dl_ledger_watch = watch;
  dl_recording = recording;
  dl_err = err;
  return out;
}

void dl_rec_losses(const dl_tensor *wide, const dl_tensor *t, dl_rec_op *e) {
  if (!narrow(t->dtype) || wide->dtype != DL_F32) return;
  dl_tensor *w = (dl_tensor *)wide;
  float *a = dl_rec_snapshot(w);
  char *b = dl_rec_snapshot((dl_tensor *)t);
  for (int64_t i = 0; a && b && wide->numel == t->numel && i < t->numel; i++) {
    double was = a[i], is = dl_elem_get_f64((dl_dtype)t->dtype, b + 2 * i);
    e->flushed += was != 0 && is == 0;
    e->overflowed += isfinite(was) && isinf(is);
  }
  free(a);
  free(b);
}
