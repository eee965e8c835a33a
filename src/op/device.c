/* device.c -- are the operands of a call where they must be? and what PyTorch says when not
 *
 * For dispatch.c. PyTorch has three checkers with three texts: TensorIterator's (pointwise ops),
 * the one that torchgen writes around each kernel, and convolution's own.
 *
 * INVARIANT  A call that passes here has all views on c->dev, but for numbers (0-dim CPU operands
 *            of pointwise ops), and but for the ops that cross devices by design.
 * SOURCE     ATen/TensorIterator.cpp (compute_types), core/adaption.cpp, native/Convolution.cpp,
 *            torchgen/dest/register_dispatch_key.py (method names). */
#include "mem/gpu.h"
#include "op/dispatch.h"

#include <stdio.h>
#include <string.h>

/* ---- names of PyTorch's wrappers ------------------------------------------------------------- */
/* Structured kernels have their own name; all others are wrapper_CUDA__<name>. Where PyTorch's
 * argument has another name than ours, it is given. */
static const struct wrapper { int op; const char *method, *ours, *theirs; } wrappers[] = {
    {DL_OP_mm, "mm", 0, 0}, {DL_OP_addmm, "addmm", 0, 0}, {DL_OP_bmm, "bmm", 0, 0},
    {DL_OP_baddbmm, "baddbmm", 0, 0}, {DL_OP_addmv, "addmv_out", 0, 0},
    {DL_OP_mv, "addmv_out", "self", "mat"}, {DL_OP_cat, "cat", 0, 0},
    {DL_OP_stack, "cat", 0, 0}, {DL_OP_gather, "gather", 0, 0}, {DL_OP_topk, "topk", 0, 0},
    {DL_OP_index_add, "index_add", 0, 0}, {DL_OP_index_copy, "index_copy", 0, 0},
    {DL_OP__nll_loss, "nll_loss_forward", 0, 0}, {DL_OP__nll_loss2d, "_nll_loss2d_forward", 0, 0},
    {DL_OP_nll_loss_backward, "nll_loss_backward", "grad", "grad_output"},
    {DL_OP__embedding, "_index_select", "indices", "index"},
    {DL_OP_embedding_backward, "_embedding_dense_backward", "grad", "grad_output"},
    {DL_OP_native_batch_norm, "_cudnn_batch_norm", 0, 0},
    {DL_OP_max_pool2d_backward, "max_pool2d_with_indices_backward", "grad", "grad_output"},
    {DL_OP_avg_pool2d_backward, "avg_pool2d_backward", "grad", "grad_output"},
    {DL_OP__softmax_backward, "_softmax_backward_data", "grad", "grad_output"},
    {DL_OP__log_softmax_backward, "_log_softmax_backward_data", "grad", "grad_output"},
    {DL_OP__bce_loss, "_binary_cross_entropy", 0, 0},
    {DL_OP_searchsorted, "Tensor_searchsorted", 0, 0}, {DL_OP_bincount, "_bincount", 0, 0}};

/* Ops that TensorIterator runs in PyTorch though they are no POINTWISE rows here. */
static const int iterated[] = {DL_OP__mse_loss, DL_OP__smooth_l1_loss, DL_OP__huber_loss,
                               DL_OP__bce_logits_loss};

static const struct wrapper *wrapper_of(dl_opid op) {
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
    if (wrappers[i].op == (int)op) return &wrappers[i];
  return NULL;
}

static bool is_iterated(const dl_op *row) {
  if (row->kind == DL_POINTWISE) return true;
  for (size_t i = 0; i < sizeof iterated / sizeof *iterated; i++)
    if (row == &dl_ops[iterated[i]]) return true;
  return false;
}

/* ---- texts ----------------------------------------------------------------------------------- */
static void how_to_fix(dl_device where) {
  char d[24];
  dl_note("move one of them first, for example x = x:to(\"%s\")", dl_device_str(where, d));
}

static dl_status two_devices(dl_device common, dl_device other) {
  char a[24], b[24];
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "Expected all tensors to be on the same device, but found at least two devices, %s and "
          "%s!", dl_device_str(common, a), dl_device_str(other, b));
  how_to_fix(common);
  return DL_E_DEVICE;
}

static dl_status wrong_argument(const dl_call *c, const char *arg, dl_device is, dl_device common) {
  const struct wrapper *w = wrapper_of((dl_opid)(c->op - dl_ops));
  char a[24], b[24], method[64];
  if (w && w->ours && !strcmp(w->ours, arg)) arg = w->theirs;
  snprintf(method, sizeof method, "wrapper_CUDA_%s%s", w ? "" : "_", w ? w->method
                                                                       : c->schema->name);
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "Expected all tensors to be on the same device, but got %s is on %s, different from "
          "other tensors on %s (when checking argument in method %s)",
          arg, dl_device_str(is, a), dl_device_str(common, b), method);
  how_to_fix(dl_is_gpu(is) ? is : common);
  return DL_E_DEVICE;
}

/* ---- TensorIterator -------------------------------------------------------------------------- */
static dl_status check_iterator(dl_call *c) {
  dl_device common = DL_DEV_CPU;
  int scalars = 0;
  for (int k = 0; k < c->nin && common.type == DL_CPU; k++)
    if (c->in[k]) common = c->in[k]->dev;
  c->dev = common;
  for (int k = 0; k < c->nin; k++) {
    const dl_tensor *t = c->in[k];
    if (!t || dl_device_same(t->dev, common)) continue;
    bool scalar = t->dev.type == DL_CPU && t->ndim == 0 && !(c->inplace && k == 0);
    if (!scalar) return two_devices(common, t->dev);
    c->scalars |= (uint16_t)(1u << k);
    if (++scalars > 1)
      return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                     "Trying to pass too many CPU scalars to non-CPU kernel!");
  }
  return DL_OK;
}

/* ---- torchgen's wrappers: schema order, the first tensor decides ----------------------------- */
typedef struct order { dl_device common; bool known; } order;

static bool differs(order *o, const dl_tensor *t) {
  if (!t) return false;
  if (!o->known) {
    o->common = t->dev;
    o->known = true;
  }
  return !dl_device_same(t->dev, o->common);
}

static dl_status check_wrapper(dl_call *c) {
  order o = {DL_DEV_CPU, false};
  for (int i = 0; i < c->schema->nparam; i++) {
    const dl_arg *a = &c->arg[i];
    const char *name = c->schema->p[i].name;
    if (a->tag == DL_A_TENSOR && differs(&o, a->t))
      return wrong_argument(c, name, a->t->dev, o.common);
    for (int j = 0; a->tag == DL_A_TENSORS && j < a->n; j++)
      if (differs(&o, a->ts[j])) return wrong_argument(c, name, a->ts[j]->dev, o.common);
  }
  c->dev = o.common;
  return DL_OK;
}

/* ---- convolution ----------------------------------------------------------------------------- */
static dl_status check_convolution(dl_call *c) {
  const dl_tensor *x = c->in[0], *w = c->in[1], *b = c->in[2];
  char tx[48], tw[48];
  const char *which = "weight";
  if (dl_device_same(x->dev, w->dev)) {
    if (!b || dl_device_same(x->dev, b->dev)) return DL_OK;
    which = "bias";
    w = b;
  }
  bool host = x->dev.type == DL_CPU;
  dl_fail(DL_RuntimeError, DL_E_DEVICE, "Input type (%s) and %s type (%s) should be the same%s%s%s",
          dl_tensor_type_name(x, tx), which, dl_tensor_type_name(w, tw),
          host ? " or input should be a MKLDNN tensor and " : "", host ? which : "",
          host ? " is a dense tensor" : "");
  how_to_fix(host ? w->dev : x->dev);
  return DL_E_DEVICE;
}

/* ---- the funnel ------------------------------------------------------------------------------ */
static dl_status check_mask(dl_call *c) {
  char a[24], b[24];
  const dl_tensor *x = c->in[0], *mask = c->in[1];
  if (dl_device_same(x->dev, mask->dev)) return check_iterator(c);
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "expected self and mask to be on the same device, but got mask on %s and self on %s",
          dl_device_str(mask->dev, a), dl_device_str(x->dev, b));
  how_to_fix(x->dev);
  return DL_E_DEVICE;
}

/* copy_ and _to_copy go from device to device: that is what they are for. */
static dl_status crosses(dl_call *c) {
  if (c->schema->p_device < 0) c->dev = c->in[0]->dev;
  return DL_OK;
}

/* fill_ and index_fill take their value from either side. */
static dl_status check_value(dl_call *c) {
  dl_device self = c->in[0]->dev;
  int last = c->nin - 1;
  bool apart = c->in[last] && !dl_device_same(c->in[last]->dev, self);
  if (apart && c->in[last]->ndim == 0) c->scalars |= (uint16_t)(1u << last);
  else if (apart) return check_wrapper(c);
  c->dev = self;
  return DL_OK;
}

static const struct { int op; dl_status (*check)(dl_call *c); } special[] = {
    {DL_OP_convolution, check_convolution}, {DL_OP_masked_fill, check_mask},
    {DL_OP_copy_, crosses}, {DL_OP_fill_, check_value}};

dl_status dl_call_place(dl_call *c) {
  if (c->mixed && c->schema->p_device < 0) {
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
      if (c->op == &dl_ops[special[i].op]) {
        DL_TRY(special[i].check(c));
        return dl_gpu_resolve(&c->dev);
      }
    if (is_iterated(c->op)) DL_TRY(check_iterator(c));
    else DL_TRY(check_wrapper(c));
  }
  return c->dev.type == DL_CPU && c->dev.index <= 0 ? DL_OK : dl_gpu_resolve(&c->dev);
}

/* ---- indices that may stay behind ------------------------------------------------------------ */
/* x[i] with x on a GPU takes index tensors from the CPU: they are moved silently. */
static bool takes_indices(dl_opid op) {
  return op == DL_OP_index || op == DL_OP_index_put;
}

static dl_status refuse_index(const dl_tensor *self) {
  char d[24];
  dl_fail(DL_RuntimeError, DL_E_DEVICE,
          "indices should be either on cpu or on the same device as the indexed tensor (%s)",
          dl_device_str(self->dev, d));
  dl_note("bring the index to the tensor: x[i:to(\"%s\")], or the tensor to the index", d);
  return DL_E_DEVICE;
}

static dl_status move_list(dl_ex *e, const dl_tensor *self, const dl_arg *list, dl_tensor **to) {
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = self->dev};
  for (int j = 0; j < list->n; j++) {
    to[j] = list->ts[j];
    if (!to[j] || dl_device_same(to[j]->dev, self->dev)) continue;
    if (to[j]->dev.type != DL_CPU) return refuse_index(self);
    to[j] = EX(e, _to_copy, T(to[j]), NIL, dev);
    if (!to[j]) return e->st;
  }
  return DL_OK;
}

/* A value of one element (x[i] = 0-dim CPU tensor) comes along too. */
static dl_status move_value(dl_ex *e, const dl_tensor *self, dl_arg *value) {
  dl_tensor *t = value->tag == DL_A_TENSOR ? value->t : NULL;
  if (!t || t->ndim || t->dev.type != DL_CPU || self->dev.type == DL_CPU) return DL_OK;
  const dl_arg dev = {.tag = DL_A_DEVICE, .dev = self->dev};
  *value = T(EX(e, _to_copy, T(t), NIL, dev));
  return e->st;
}

bool dl_call_leaves_indices(dl_opid op, const dl_arg *arg) {
  if (!takes_indices(op) || arg[0].tag != DL_A_TENSOR) return false;
  for (int j = 0; j < arg[1].n; j++)
    if (arg[1].ts[j] && !dl_device_same(arg[1].ts[j]->dev, arg[0].t->dev)) return true;
  return op == DL_OP_index_put && arg[2].tag == DL_A_TENSOR && arg[2].t->ndim == 0 &&
         !dl_device_same(arg[2].t->dev, arg[0].t->dev) && arg[2].t->dev.type == DL_CPU;
}

dl_status dl_dispatch_moved(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  dl_tensor *moved[DL_MAXDIM] = {NULL};
  dl_arg a[DL_MAX_PARAM];
  const dl_schema *s = dl_op_schema(op);
  if (arg[1].n > DL_MAXDIM) return dl_dispatch_plain(op, arg, flags, ret);
  memcpy(a, arg, (size_t)s->nparam * sizeof *a);
  dl_ex e;
  dl_ex_begin(&e);
  dl_status st = move_list(&e, arg[0].t, &arg[1], moved);
  a[1].ts = moved;
  if (st == DL_OK && op == DL_OP_index_put) st = move_value(&e, arg[0].t, &a[2]);
  if (st == DL_OK) st = dl_dispatch_plain(op, a, flags, ret);
  dl_status end = dl_ex_end(&e);
  return st != DL_OK ? st : end;
}
