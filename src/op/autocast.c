/* autocast.c -- operands cast to the dtype an op's class asks for, and the cache of cast weights
 *
 * See autocast.h. PyTorch's lists: the CAST column is its list for GPUs; cpu_class below names
 * where its list for CPUs differs.
 *
 * SOURCE     ATen/autocast_mode.{h,cpp} (classes, eligibility, promotion, cache) */
#include "op/autocast.h"

#include <string.h>

#include "graph/graph.h"
#include "op/dispatch.h"
#include "op/record.h"

dl_autocast_state dl_autocast = {
    .dtype = {[DL_CPU] = DL_BF16, [DL_CUDA] = DL_F16, [DL_MPS] = DL_F16, [DL_META] = DL_BF16},
    .cache = true};
static int depth;
static dl_autocast_state base; /* outside of all regions */

bool dl_autocast_any(void) {
  bool any = false;
  for (int d = 0; d < DL_DEVTYPE_COUNT; d++) any |= dl_autocast.on[d];
  return any;
}

int dl_autocast_depth(void) { return depth; }

void dl_autocast_set(const dl_autocast_state *now) {
  dl_autocast = *now;
  dl_mode &= ~(unsigned)DL_MODE_AUTOCAST;
  if (dl_autocast_any()) dl_mode |= DL_MODE_AUTOCAST;
}

void dl_autocast_enter(const dl_autocast_state *now, dl_autocast_state *before) {
  *before = dl_autocast;
  if (depth++ == 0) base = *before;
  dl_autocast_set(now);
}

void dl_autocast_leave(const dl_autocast_state *before) {
  if (depth > 0 && --depth == 0) dl_autocast_clear_cache();
  dl_autocast_set(before);
}

void dl_autocast_reset(void) {
  if (depth == 0) return;
  depth = 0;
  dl_autocast_clear_cache();
  dl_autocast_set(&base);
}

/* ---- classes -------------------------------------------------------------------------------- */
#define ALSO(c) (DL_CAST_##c + 1)
/* Where the CPU's class is not the rule "LOW stays LOW, anything else is KEEP". */
static const uint8_t cpu_class[DL_OP_COUNT] = {
    [DL_OP_mv] = ALSO(KEEP),
    [DL_OP_addmv] = ALSO(KEEP),
    [DL_OP_einsum] = ALSO(KEEP),
    [DL_OP_prod] = ALSO(FP32),
    [DL_OP_prod_dim] = ALSO(FP32),
    [DL_OP_trace] = ALSO(FP32),
    [DL_OP_cross_entropy] = ALSO(FP32),
    [DL_OP__nll_loss] = ALSO(FP32),
    [DL_OP__nll_loss2d] = ALSO(FP32),
    [DL_OP_mse_loss] = ALSO(FP32),
    [DL_OP_l1_loss] = ALSO(FP32),
    [DL_OP_smooth_l1_loss] = ALSO(FP32),
    [DL_OP_huber_loss] = ALSO(FP32),
    [DL_OP_binary_cross_entropy] = ALSO(FP32),
    [DL_OP_binary_cross_entropy_with_logits] = ALSO(FP32),
    [DL_OP_kl_div] = ALSO(FP32),
    [DL_OP_cat] = ALSO(PROMOTE),
    [DL_OP_stack] = ALSO(PROMOTE),
    [DL_OP_index_copy] = ALSO(PROMOTE),
    [DL_OP_pad] = ALSO(KEEP), /* but see class_of */
};

/* Composites here that are one op to PyTorch: what they call is not cast. */
static const bool whole[DL_OP_COUNT] = {[DL_OP_trace] = true};

dl_cast dl_autocast_class(dl_opid op, dl_devtype dev) {
  dl_cast gpu = (dl_cast)dl_ops[op].cast;
  if (dev != DL_CPU) return gpu;
  if (cpu_class[op]) return (dl_cast)(cpu_class[op] - 1);
  return gpu == DL_CAST_LOW ? DL_CAST_LOW : DL_CAST_KEEP;
}

/* ---- the cache ------------------------------------------------------------------------------ */
/* Open addressing by the leaf's address; never more than half full. Both tensors are owned: a leaf
 * that died could leave its address to another. */
typedef struct cached { dl_tensor *leaf, *cast; } cached;
static cached *cache;
static size_t n_cached, cap_cache;

static size_t place_of(const cached *v, size_t cap, const dl_tensor *leaf) {
  size_t i = ((uintptr_t)leaf >> 6) * 2654435761u & (cap - 1);
  while (v[i].leaf && v[i].leaf != leaf) i = (i + 1) & (cap - 1);
  return i;
}

static bool cache_grow(void) {
  size_t cap = cap_cache ? cap_cache * 2 : 64;
  cached *v = dl_block_new(cap * sizeof *v);
  if (!v) return false;
  memset(v, 0, cap * sizeof *v);
  for (size_t i = 0; i < cap_cache; i++)
    if (cache[i].leaf) v[place_of(v, cap, cache[i].leaf)] = cache[i];
  if (cache) dl_block_free(cache, cap_cache * sizeof *cache);
  cache = v;
  cap_cache = cap;
  return true;
}

static dl_tensor *cache_find(const dl_tensor *leaf) {
  return n_cached ? cache[place_of(cache, cap_cache, leaf)].cast : NULL;
}

/* Without memory for it nothing is kept: the next use casts again. */
static void cache_put(dl_tensor *leaf, dl_tensor *cast) {
  if (2 * (n_cached + 1) > cap_cache && !cache_grow()) return;
  cached *c = &cache[place_of(cache, cap_cache, leaf)];
  dl_tensor *old = c->cast;
  if (!c->leaf) c->leaf = dl_tensor_retain(leaf), n_cached++;
  c->cast = dl_tensor_retain(cast);
  dl_tensor_release(old); /* one made without gradients */
}

void dl_autocast_clear_cache(void) {
  cached *old = cache;
  size_t cap = cap_cache;
  cache = NULL;
  n_cached = cap_cache = 0; /* letting go may run a hook, which may cast again */
  for (size_t i = 0; i < cap; i++) {
    dl_tensor_release(old[i].leaf);
    dl_tensor_release(old[i].cast);
  }
  if (old) dl_block_free(old, cap * sizeof *old);
}

/* ---- casting -------------------------------------------------------------------------------- */
typedef struct caster {
  dl_ex ex;
  dl_devtype dev;
  dl_dtype low, to;
  dl_arg arg[DL_MAX_PARAM];
} caster;

static bool eligible(const caster *c, const dl_tensor *t) {
  return t && (dl_devtype)t->dev.type == c->dev && dl_dtype_is_float((dl_dtype)t->dtype) &&
         t->dtype != DL_F64;
}

static bool cachable(const caster *c, const dl_tensor *t) {
  return dl_autocast.cache && c->to == c->low && t->dtype == DL_F32 && t->requires_grad &&
         !t->grad_fn && !(t->extra && t->extra->base);
}

static dl_tensor *cast(caster *c, dl_tensor *t) {
  if (!t || (dl_dtype)t->dtype == c->to || !eligible(c, t)) return t;
  bool keep = cachable(c, t);
  dl_tensor *kept = keep ? cache_find(t) : NULL;
  if (kept && (kept->requires_grad || !dl_grad_enabled()))
    return dl_ex_keep_take(&c->ex, dl_tensor_retain(kept));
  dl_tensor *y = EX(&c->ex, _to_copy, T(t), DT(c->to));
  if (keep && y) cache_put(t, y);
  return y;
}

static void cast_list(caster *c, dl_arg *a) {
  bool any = false;
  for (int j = 0; j < a->n && !any; j++)
    any = eligible(c, a->ts[j]) && (dl_dtype)a->ts[j]->dtype != c->to;
  if (!any) return;
  dl_tensor **v = dl_block_new((size_t)a->n * sizeof *v);
  if (!v) {
    c->ex.st = dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory to cast %d tensors", a->n);
    return;
  }
  for (int j = 0; j < a->n; j++) v[j] = cast(c, a->ts[j]);
  a->ts = v;
}

static void cast_all(caster *c, const dl_schema *s) {
  for (int i = 0; i < s->nparam && c->ex.st == DL_OK; i++) {
    if (c->arg[i].tag == DL_A_TENSOR) c->arg[i].t = cast(c, c->arg[i].t);
    else if (c->arg[i].tag == DL_A_TENSORS) cast_list(c, &c->arg[i]);
  }
}

static void free_lists(caster *c, const dl_schema *s, const dl_arg *arg) {
  for (int i = 0; i < s->nparam; i++)
    if (arg[i].tag == DL_A_TENSORS && c->arg[i].ts != arg[i].ts)
      dl_block_free((void *)c->arg[i].ts, (size_t)arg[i].n * sizeof *arg[i].ts);
}

/* PROMOTE: the 16-bit dtype of the region, or float32 where any operand has it. */
static dl_status widen(caster *c, const dl_tensor *t) {
  if (!eligible(c, t) || t->dtype == c->to) return DL_OK;
  if (t->dtype == DL_F32 || (c->to == DL_F32 && t->dtype == c->low)) {
    c->to = DL_F32;
    return DL_OK;
  }
  if (c->to == DL_F32) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                 "Unexpected floating ScalarType in at::autocast::prioritize");
}

static dl_status widest(caster *c, const dl_schema *s) {
  c->to = c->low;
  for (int i = 0; i < s->nparam; i++) {
    if (c->arg[i].tag == DL_A_TENSOR) DL_TRY(widen(c, c->arg[i].t));
    for (int j = 0; c->arg[i].tag == DL_A_TENSORS && j < c->arg[i].n; j++)
      DL_TRY(widen(c, c->arg[i].ts[j]));
  }
  return DL_OK;
}

/* FP32SET: where no dtype was asked for, float32 is. */
static void ask_fp32(caster *c, const dl_schema *s) {
  int p = s->p_dtype;
  if (p < 0) {
    c->to = DL_F32;
    cast_all(c, s);
  } else if (c->arg[p].tag == DL_A_NONE && eligible(c, c->arg[0].t)) {
    c->arg[p] = DT(DL_F32);
  }
}

static dl_status banned(void) {
  return dl_fail(
      DL_RuntimeError, DL_E_DTYPE,
      "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
      "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
      "In this case, combine the two layers using torch.nn.functional.binary_cross_entropy_with_"
      "logits\nor torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits "
      "are\nsafe to autocast.");
}

static dl_status prepare(caster *c, dl_cast class, const dl_schema *s) {
  switch (class) {
    case DL_CAST_LOW: c->to = c->low; break;
    case DL_CAST_FP32: c->to = DL_F32; break;
    case DL_CAST_FP32SET: ask_fp32(c, s); return c->ex.st;
    case DL_CAST_PROMOTE: DL_TRY(widest(c, s)); break;
    case DL_CAST_BAN: return banned();
    default: return DL_OK;
  }
  cast_all(c, s);
  return c->ex.st;
}

/* ---- the way in ----------------------------------------------------------------------------- */
static dl_status next(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  return dl_mode & DL_MODE_RECORD ? dl_record_run(op, arg, flags, ret)
                                  : dl_dispatch_plain(op, arg, flags, ret);
}

/* The operands, looked over once. */
typedef struct operands {
  dl_devtype dev;     /* of the first tensor that is not on the CPU, else the CPU */
  bool lists;
  uint32_t dtypes;    /* bit d: a tensor has dtype d */
} operands;

static void see(operands *o, const dl_tensor *t) {
  o->dtypes |= 1u << t->dtype;
  if (o->dev == DL_CPU) o->dev = (dl_devtype)t->dev.type;
}

static operands look_over(const dl_schema *s, const dl_arg *arg) {
  operands o = {DL_CPU, false, 0};
  for (int i = 0; i < s->nparam; i++) {
    if (arg[i].tag == DL_A_TENSOR) see(&o, arg[i].t);
    if (arg[i].tag != DL_A_TENSORS) continue;
    o.lists = true;
    for (int j = 0; j < arg[i].n; j++)
      if (arg[i].ts[j]) see(&o, arg[i].ts[j]);
  }
  return o;
}

/* F.pad is to PyTorch an op a mode; those that repeat the border are on the CPU's float32 list. */
static dl_cast class_of(dl_opid op, dl_devtype dev, const dl_arg *arg) {
  if (op == DL_OP_pad && dev == DL_CPU && arg[2].tag == DL_A_STR && arg[2].s[0] == 'r')
    return DL_CAST_FP32;
  return dl_autocast_class(op, dev);
}

static dl_status run_as_is(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  dl_mode &= ~(unsigned)DL_MODE_AUTOCAST;
  dl_status st = next(op, arg, flags, ret);
  if (dl_autocast_any()) dl_mode |= DL_MODE_AUTOCAST;
  return st;
}

static dl_status run_cast(dl_cast class, const operands *o, const dl_schema *s, dl_opid op,
                          const dl_arg *arg, unsigned flags, dl_ret *ret) {
  caster c; /* field by field: it is large, and this is on the way of every product */
  c.dev = o->dev;
  c.low = c.to = (dl_dtype)dl_autocast.dtype[o->dev];
  dl_ex_begin(&c.ex);
  dl_mode &= ~(unsigned)DL_MODE_AUTOCAST;
  bool plain = class == DL_CAST_LOW && !o->lists;
  for (int i = 0; i < s->nparam; i++) {
    c.arg[i] = arg[i];
    if (plain && arg[i].tag == DL_A_TENSOR && arg[i].t->dtype != c.to && c.ex.st == DL_OK)
      c.arg[i].t = cast(&c, arg[i].t);
  }
  dl_status st = plain ? c.ex.st : prepare(&c, class, s);
  if (st == DL_OK) st = next(op, c.arg, flags, ret);
  if (o->lists) free_lists(&c, s, arg);
  dl_ex_end(&c.ex);
  if (dl_autocast_any()) dl_mode |= DL_MODE_AUTOCAST;
  if (st != DL_OK && !dl_err.op) dl_err.op = s->name;
  return st;
}

/* An op's own in-place form by its name is no concern of autocast: its row is KEEP. */
static bool never_cast(dl_opid op, unsigned flags) {
  return !(dl_mode & DL_MODE_AUTOCAST) || (flags & DL_INPLACE) ||
         (dl_ops[op].cast == DL_CAST_KEEP && !cpu_class[op]);
}

dl_status dl_dispatch_moded(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret) {
  ret->n = 0;
  ret->more = NULL;
  if (dl_mode & DL_MODE_RECORD) flags = dl_dispatch_flags(op, flags);
  if (never_cast(op, flags)) return next(op, arg, flags, ret);
  const dl_schema *s = dl_op_schema(op);
  operands o = look_over(s, arg);
  dl_cast class = dl_autocast.on[o.dev] ? class_of(op, o.dev, arg) : DL_CAST_KEEP;
  if (class == DL_CAST_KEEP && !whole[op]) return next(op, arg, flags, ret);
  if (class == DL_CAST_LOW && !o.lists && o.dtypes == 1u << dl_autocast.dtype[o.dev])
    return run_as_is(op, arg, flags, ret); /* nothing to cast, nothing to own */
  return run_cast(class, &o, s, op, arg, flags, ret);
}
