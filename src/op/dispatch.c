/* dispatch.c -- the one way in: check, shape, allocate, run, record
 *
 * Every tensor operation of the program passes dl_dispatch. Which op it is never matters here:
 * the row's kind picks the path, the row's functions do the rest.
 *
 * INVARIANT  All results and temporaries exist before the first byte of an input changes.
 *            On failure nothing is left behind and *ret is empty.
 * MUST NOT   know Lua; contain a switch over ops. */
#include "graph/graph.h"
#include "mem/gpu.h"
#include "op/dispatch.h"
#include "tensor/devmem.h"
#include "rng.h"

#include <string.h>

unsigned dl_mode;
uint8_t dl_default_dtype = DL_F32;
dl_device dl_default_device = {DL_CPU, -1};

void dl_ret_free(dl_ret *r) {
  for (int i = 0; i < r->n; i++) dl_tensor_release(r->more ? r->more[i] : r->v[i]);
  if (r->more) dl_block_free(r->more, (size_t)(r->n ? r->n : 1) * sizeof *r->more);
  r->more = NULL;
  r->n = 0;
}

/* ---- the call -------------------------------------------------------------------------------- */
static inline void see_device(dl_call *c, const dl_tensor *t) {
  if (c->dev.type == DL_DEVTYPE_COUNT) c->dev = t->dev;
  else if (!dl_device_same(c->dev, t->dev)) c->mixed = true;
}

static void take_input(dl_call *c, const dl_arg *a) {
  dl_tensor *t = a->tag == DL_A_TENSOR ? a->t : NULL;
  if (t) see_device(c, t);
  c->num[c->nin] = !t && a->tag != DL_A_NONE ? a : NULL;
  c->in[c->nin++] = t;
}

void dl_call_init(dl_call *c, dl_opid op, const dl_arg *arg, unsigned flags) {
  const dl_schema *s = dl_op_schema(op);
  c->op = &dl_ops[op];
  c->schema = s;
  c->arg = arg;
  c->nin = c->nout = 0;
  c->inplace = flags & DL_INPLACE;
  c->mixed = false;
  c->scalars = 0;
  c->like_strides = c->op->kind == DL_POINTWISE;
  c->compute = DL_NODTYPE;
  c->dims = 0;
  c->dev = (dl_device){DL_DEVTYPE_COUNT, -1};
  c->out[0].dtype = DL_NODTYPE;
  for (int i = 0; i < s->nparam; i++) {
    if (s->p[i].type <= DL_P_TN) take_input(c, &arg[i]);
    else if (s->p[i].type == DL_P_TENSORS)
      for (int j = 0; j < arg[i].n; j++)
        if (arg[i].ts[j]) see_device(c, arg[i].ts[j]);
  }
  if (s->p_device >= 0 && arg[s->p_device].tag == DL_A_DEVICE) {
    c->mixed = c->nin && !dl_device_same(c->dev, arg[s->p_device].dev);
    c->dev = arg[s->p_device].dev;
  }
  if (c->dev.type == DL_DEVTYPE_COUNT)
    c->dev = s->p_device >= 0 ? dl_default_device : DL_DEV_CPU;
}

/* ---- results --------------------------------------------------------------------------------- */
/* What the kernel writes into: arg 0 itself, or fresh tensors (in the compute dtype for KERNELC).
 */
static bool writes_self(const dl_call *c) {
  return c->inplace && (c->op->kind == DL_POINTWISE || c->op->kind == DL_UPDATE);
}

static dl_dtype work_dtype(const dl_call *c, int k) {
  dl_dtype d = (dl_dtype)c->out[k].dtype;
  bool rounds = c->op->kind == DL_KERNELC && !dl_is_gpu(c->dev) && c->compute != DL_NODTYPE &&
                dl_dtype_is_float(d);
  return rounds ? (dl_dtype)c->compute : d;
}

static dl_status allocate(const dl_call *c, dl_runner *r) {
  if (writes_self(c)) {
    r->out[0] = dl_tensor_retain(c->arg[0].t);
    return DL_OK;
  }
  dl_status st = DL_OK;
  dl_devmem_op = c->schema->name;
  for (int k = 0; k < c->nout && st == DL_OK; k++)
    st = dl_output_new(c, k, work_dtype(c, k), &r->out[k]);
  dl_devmem_op = NULL;
  DL_TRY(st);
  if (c->op->kind == DL_UPDATE) return dl_tensor_copy_values(r->out[0], c->arg[0].t, false);
  return DL_OK;
}

/* After the kernel: round to the result dtype, or move into arg 0. */
static dl_status deliver(const dl_call *c, dl_runner *r, dl_ret *ret) {
  for (int k = 0; k < c->nout; k++) {
    dl_tensor *t = r->out[k];
    if (c->inplace && k == 0 && !writes_self(c)) {
      DL_TRY(dl_tensor_copy_values(c->arg[0].t, t, false));
      ret->v[k] = dl_tensor_retain(c->arg[0].t);
    } else if (t != c->arg[0].t && t->dtype != c->out[k].dtype) {
      DL_TRY(dl_tensor_new(t->dev, (dl_dtype)c->out[k].dtype, t->ndim, t->size, &ret->v[k]));
      ret->n = k + 1;
      DL_TRY(dl_tensor_copy_values(ret->v[k], t, false));
    } else {
      ret->v[k] = dl_tensor_retain(t);
    }
    ret->n = k + 1;
    if (dl_mode & DL_MODE_INFERENCE) ret->v[k]->inference = !c->inplace || ret->v[k]->inference;
  }
  return DL_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */
static dl_status geometry(const dl_call *c, dl_runner *r) {
  if (c->op->kind == DL_POINTWISE) {
    dl_geometry_pointwise(c, r);
    return DL_OK;
  }
  DL_TRY(dl_geometry_list(c, r));
  if (c->op->kind == DL_KERNELC && !dl_is_gpu(c->dev)) return dl_geometry_contig(c, r);
  dl_geometry_plain(c, r);
  return DL_OK;
}

dl_status dl_call_generator(const dl_call *c, dl_runner *r) {
  int g = c->schema->p_gen;
  r->k.gen = g >= 0 && c->arg[g].tag == DL_A_GEN ? c->arg[g].gen : dl_gen_of(c->dev);
  if (g < 0 && !dl_op_draws((dl_opid)(c->op - dl_ops))) return DL_OK;
  if (r->k.gen->philox == dl_is_gpu(c->dev)) return dl_gen_ready(r->k.gen, c->dev);
  return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                 "Expected a '%s' device type for generator but found '%s'",
                 dl_is_gpu(c->dev) ? "cuda" : "cpu", dl_is_gpu(c->dev) ? "cpu" : "cuda");
}

static dl_status run_kernel(dl_opid op, const dl_call *c, dl_runner *r) {
  r->k.op = op;
  r->k.compute = c->compute;
  r->k.arg = c->arg;
  r->k.dims = c->dims;
  if (dl_is_gpu(c->dev) || c->mixed || (dl_mode & DL_MODE_DRY)) return dl_run_device(op, c, r);
  DL_TRY(dl_call_generator(c, r));
  return dl_cpu_kernels[op](&r->k);
}

static void runner_free(dl_runner *r) {
  for (int k = 0; k < DL_MAX_OUT; k++) dl_tensor_release(r->out[k]);
  for (int k = 0; k < DL_MAX_IN; k++) dl_tensor_release(r->tmp[k]);
  if (r->list) dl_block_free(r->list, (size_t)r->k.nlist * sizeof *r->list);
}

static void runner_init(dl_runner *r) {
  r->k.nin = r->k.nout = r->k.nlist = 0;
  r->k.numbers = 0;
  r->k.list = NULL;
  r->list = NULL;
  memset(r->out, 0, sizeof r->out);
  memset(r->tmp, 0, sizeof r->tmp);
}

static dl_status wants_float(const dl_call *c) {
  int p = c->schema->p_requires_grad;
  if (p >= 0 && c->arg[p].i && !dl_dtype_is_float((dl_dtype)c->out[0].dtype))
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "Only Tensors of floating point and complex dtype can require gradients");
  return DL_OK;
}

/* In-place ops change arg 0 only after everything that can fail for lack of memory is done. */
static dl_status run_steps(dl_opid op, dl_call *c, dl_runner *r, dl_ret *ret, dl_node **node) {
  r->dry = (dl_mode & DL_MODE_DRY) && dl_call_dry(c);
  dl_devmem_hollow = r->dry;
  dl_status st = allocate(c, r);
  if (st == DL_OK) st = geometry(c, r);
  dl_devmem_hollow = false;
  DL_TRY(st);
  bool wants = dl_graph_wants(c);
  if (wants) DL_TRY(dl_graph_prepare(c, node));
  DL_TRY(run_kernel(op, c, r));
  if (c->inplace) dl_tensor_bump(c->arg[0].t);
  dl_devmem_hollow = r->dry;
  st = deliver(c, r, ret);
  dl_devmem_hollow = false;
  DL_TRY(st);
  int p = c->schema->p_requires_grad;
  if (p >= 0 && c->arg[p].i) ret->v[0]->requires_grad = 1;
  if (!wants) return DL_OK;
  dl_node *n = *node;
  *node = NULL;
  return dl_graph_commit(c, n, ret->v, ret->n);
}

static dl_status run_rule(dl_call *c) {
  if (!c->op->rule)
    return dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "%s is not implemented", c->op->id);
  if (dl_is_gpu(c->dev) || c->mixed) DL_TRY(dl_call_alive(c));
  DL_TRY(dl_call_place(c));
  DL_TRY(c->op->rule(c));
  DL_TRY(wants_float(c));
  if (!c->inplace) return DL_OK;
  DL_TRY(dl_inplace_check(c));
  return dl_graph_check_inplace(c->arg[0].t);
}

static dl_status dispatch_kernel(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  dl_call c;
  dl_runner r;
  dl_node *node = NULL;
  dl_call_init(&c, op, arg, flags);
  DL_TRY(run_rule(&c));
  runner_init(&r);
  dl_status st = run_steps(op, &c, &r, ret, &node);
  runner_free(&r);
  if (node) dl_node_release(node);
  if (st != DL_OK) dl_ret_free(ret);
  return st;
}

/* ---- composites ------------------------------------------------------------------------------ */
static dl_status composite_list(const dl_op *row, const dl_schema *s, const dl_arg *arg,
                                dl_ret *ret) {
  int n = 0;
  for (int i = 0; i < s->nparam && !n; i++)
    if (s->p[i].type == DL_P_TENSORS) n = arg[i].n;
  size_t bytes = (size_t)(n ? n : 1) * sizeof *ret->more;
  ret->more = dl_block_new(bytes);
  if (!ret->more) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for %d results", n);
  memset(ret->more, 0, bytes);
  ret->n = n;
  dl_ex e;
  dl_ex_begin(&e);
  dl_status st = row->comp(&e, arg, ret->more);
  if (e.st == DL_OK) e.st = st;
  st = dl_ex_end(&e);
  if (st != DL_OK) dl_ret_free(ret);
  return st;
}

static dl_status composite(const dl_op *row, const dl_schema *s, const dl_arg *arg, unsigned flags,
                           dl_ret *ret) {
  dl_ex e;
  dl_ex_begin(&e);
  memset(ret->v, 0, sizeof ret->v);
  ret->n = s->nret;
  dl_status st = row->comp(&e, arg, ret->v);
  if (e.st == DL_OK) e.st = st;
  if (e.st == DL_OK && (flags & DL_INPLACE)) {
    EX_(&e, copy_, T(arg[0].t), T(ret->v[0]));
    if (e.st == DL_OK) {
      dl_tensor_release(ret->v[0]);
      ret->v[0] = dl_tensor_retain(arg[0].t);
    }
  }
  st = dl_ex_end(&e);
  if (st != DL_OK) dl_ret_free(ret);
  return st;
}

/* ---- the funnel ------------------------------------------------------------------------------ */
static bool inplace_only(const dl_schema *s) {
  size_t n = strlen(s->name);
  return n && s->name[n - 1] == '_';
}

unsigned dl_dispatch_flags(dl_opid op, unsigned flags) {
  return inplace_only(dl_op_schema(op)) ? flags | DL_INPLACE : flags;
}

dl_status dl_dispatch_plain(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  const dl_op *row = &dl_ops[op];
  const dl_schema *s = dl_op_schema(op);
  dl_status st;
  ret->n = 0;
  ret->more = NULL;
  if (dl_cancel) DL_TRY(dl_poll());
  if (dl_gpu && dl_call_leaves_indices(op, arg)) return dl_dispatch_moved(op, arg, flags, ret);
  if (inplace_only(s)) flags |= DL_INPLACE;
  if (row->kind == DL_COMPOSITE && !row->comp)
    st = dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "%s is not implemented", row->id);
  else if (row->kind == DL_COMPOSITE)
    st = s->ret_list ? composite_list(row, s, arg, ret) : composite(row, s, arg, flags, ret);
  else if (row->kind == DL_VIEW) st = dl_dispatch_view(op, arg, ret);
  else st = dispatch_kernel(op, arg, flags, ret);
  if (st != DL_OK && !dl_err.op) dl_err.op = s->name;
  return st;
}

dl_status dl_dispatch(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  if (dl_mode & (DL_MODE_AUTOCAST | DL_MODE_RECORD)) return dl_dispatch_moded(op, arg, flags, ret);
  return dl_dispatch_plain(op, arg, flags, ret);
}
