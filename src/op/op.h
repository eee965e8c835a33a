/* op.h -- ops: their rows, their schemas, and the one way to run them
 *
 * For grad/, bind/, tests. Kernels see arg.h, op_id.h and kernel.h only.
 *
 * INVARIANT  Every tensor operation of the program goes through dl_dispatch.
 *            All results are allocated before the first byte is changed.
 * MUST NOT   know Lua. */
#ifndef DL_OP_H
#define DL_OP_H

#include "kernel.h"
#include "op/op_id.h"
#include "tensor/tensor.h"

/* ---- schema --------------------------------------------------------------------------------- */
typedef enum dl_ptype {
  DL_P_TENSOR,
  DL_P_TN,
  DL_P_TENSORS,
  DL_P_NUM,
  DL_P_INT,
  DL_P_INTS,
  DL_P_FLOAT,
  DL_P_BOOL,
  DL_P_STR,
  DL_P_DTYPE,
  DL_P_DEVICE,
  DL_P_GEN
} dl_ptype;

#define DL_MAX_PARAM 16
typedef struct dl_param {
  char name[20];
  uint8_t type;
  uint8_t optional : 1;          /* may be None */
  uint8_t has_default : 1;
  uint8_t kwonly : 1;
  uint8_t varargs : 1;           /* int[...] */
  uint8_t elem_optional : 1;     /* Tensor?[] */
  uint8_t repeat;                /* int[2]: one int stands for 2 */
  dl_arg dflt;
} dl_param;

typedef struct dl_schema {
  char name[36];                 /* up to the dot: what the user calls */
  char overload[16];
  uint8_t nparam, npos, nret;
  uint8_t ret_list;              /* -> Tensor[] */
  int8_t p_dtype, p_device, p_requires_grad, p_gen; /* index of such a parameter or -1 */
  dl_param p[DL_MAX_PARAM];
  char ret_name[DL_MAX_OUT][20];
} dl_schema;

/* ---- rows ------------------------------------------------------------------------------------ */
typedef enum {
  DL_POINTWISE,
  DL_REDUCE,
  DL_KERNEL_,
  DL_KERNELC,
  DL_UPDATE,
  DL_FACTORY,
  DL_VIEW,
  DL_COMPOSITE
} dl_kind;
typedef enum {
  DL_CAST_LOW,
  DL_CAST_FP32,
  DL_CAST_FP32SET,
  DL_CAST_PROMOTE,
  DL_CAST_KEEP,
  DL_CAST_BAN
} dl_cast;
typedef enum {
  DL_COST_ELEM,
  DL_COST_REDUCE,
  DL_COST_MM,
  DL_COST_CONV,
  DL_COST_COPY,
  DL_COST_NONE
} dl_cost;

typedef struct dl_call dl_call;
typedef struct dl_gcall dl_gcall;
typedef struct dl_ex dl_ex;
typedef struct dl_vcall dl_vcall;

typedef struct dl_op {
  const char *id, *where, *schema_text, *gradname, *help;
  uint8_t kind, cast, cost;
  uint32_t save;                 /* bits 0..15 inputs, 16..31 outputs */
  dl_status (*rule)(dl_call *);
  dl_status (*grad)(dl_gcall *); /* NULL: not differentiable */
  dl_status (*view)(dl_vcall *); /* VIEW */
  /* COMPOSITE; results are owned by the caller. For -> Tensor[] rows there are as many results as
   * the first Tensor[] argument has elements. */
  dl_status (*comp)(dl_ex *, const dl_arg *arg, dl_tensor **out);
} dl_op;

extern const dl_op dl_ops[DL_OP_COUNT];
const dl_schema *dl_op_schema(dl_opid op);         /* parsed on first use, kept */
/* Does a call of op take random numbers? */
bool dl_op_draws(dl_opid op);
/* Parse a well-formed schema string into *out (zeroed by the caller): also for hand-written
 * functions. */
void dl_schema_parse(const char *text, dl_schema *out);
#define DL_SAVE_IN(k) (1u << (k))
#define DL_SAVE_OUT(k) (1u << (16 + (k)))

/* ---- rules: shapes and dtypes of results ----------------------------------------------------- */
struct dl_call {
  const dl_op *op;
  const dl_schema *schema;
  const dl_arg *arg;             /* schema order, defaults filled */
  int nin;                       /* tensor parameters, flattened in schema order … */
  dl_tensor *in[DL_MAX_IN];      /* … NULL where absent or where a number was given */
  const dl_arg *num[DL_MAX_IN];  /* the number given for a TN parameter, else NULL */
  bool inplace;                  /* x:add_(…): result must fit arg 0 */
  bool mixed;                    /* not all tensors are on one device */
  uint16_t scalars;              /* bit k: in[k] is a 0-dim CPU tensor among a GPU's */
  bool like_strides;             /* result keeps the layout of dense inputs; preset for POINTWISE */
  /* filled by the rule: */
  int nout;
  dl_meta out[DL_MAX_OUT];
  uint8_t compute;               /* see kernel.h; DL_NODTYPE if the kernel does not care */
  uint32_t dims;
  dl_device dev;                 /* preset to the common device of the inputs */
};
typedef dl_status (*dl_rule_fn)(dl_call *);

/* Result dtype of mixed operands (dimensioned > 0-dim > number) (ATen result_type). */
dl_dtype dl_result_type(const dl_call *c);
/* Where the arithmetic of dtype d happens: F64, F32 or I64. */
static inline uint8_t dl_compute_for(dl_dtype d) {
  return d == DL_F64 ? DL_F64 : d >= DL_F16 ? DL_F32 : DL_I64;
}
/* out[k] has the shape and dtype of tensor t. */
void dl_call_out_like(dl_call *c, int k, const dl_tensor *t);
void dl_call_out(dl_call *c, int k, dl_dtype dtype, int ndim, const int64_t *size);
/* Broadcast all tensor inputs into out[0] (sizes only). */
dl_status dl_call_broadcast(dl_call *c);
/* ints parameter -> mask of dims of a tensor with ndim dims; empty or None = all.
 * "dim 0 appears multiple times in the list of dims". */
dl_status dl_dims_mask(const dl_arg *dims, int ndim, uint32_t *mask);
/* out sizes after reducing `mask`, with or without keepdim. */
void dl_reduce_meta(const dl_tensor *x, uint32_t mask, bool keepdim, dl_meta *out);

/* ---- views ----------------------------------------------------------------------------------- */
/* dl_view_<id> appends one dl_vout a result. Default kind: PLAIN (one result) or MULTI (lists). */
typedef struct dl_vout { int ndim; int64_t size[DL_MAXDIM], stride[DL_MAXDIM], offset; } dl_vout;
struct dl_vcall {
  const dl_arg *arg;
  dl_tensor *self;               /* arg[0].t */
  int n, cap;
  dl_vout *out;
};
dl_status dl_vcall_push(dl_vcall *v, const dl_vout *o);

/* ---- running --------------------------------------------------------------------------------- */
typedef struct dl_ret {
  int n;
  dl_tensor *v[DL_MAX_OUT];      /* owned */
  dl_tensor **more;              /* owned array of n owned tensors, for -> Tensor[] (v unused) */
} dl_ret;
void dl_ret_free(dl_ret *r);

enum { DL_INPLACE = 1 };
/* Run op on schema-ordered, complete arguments. On failure *ret is empty. Steps: mode word,
 * autocast, device check, rule, allocation, kernel, record. With DL_INPLACE the result is written
 * into arg[0]. */
dl_status dl_dispatch(dl_opid op, const dl_arg *arg, unsigned flags, dl_ret *ret);
/* The same with the first n arguments given; the rest take their defaults. One result. */
dl_status dl_run(dl_opid op, const dl_arg *arg, int n, unsigned flags, dl_tensor **out);
/* out= form: resizes and fills dst with the result of op. */
dl_status dl_dispatch_out(dl_opid op, const dl_arg *arg, dl_tensor *const *dst, int ndst);
/* dst = src, of the same sizes, across devices and dtypes; no autograd, no version. */
dl_status dl_tensor_copy_values(dl_tensor *dst, const dl_tensor *src, bool async);
/* How many elements are not zero; waits for a GPU. */
dl_status dl_tensor_count_nonzero(const dl_tensor *t, int64_t *count);
/* The default generator of device d: MT19937 on the CPU, Philox on a GPU. */
dl_gen *dl_gen_of(dl_device d);
/* Before g draws on d: what it must know of the card. */
dl_status dl_gen_ready(dl_gen *g, dl_device d);
/* add, sub, mul, div of two tensors: the path that costs nanoseconds. */
dl_status dl_op2(dl_opid op, dl_tensor *a, dl_tensor *b, dl_tensor **out);

/* ---- expressions: ops written in ops --------------------------------------------------------- */
/* An evaluation owns every temporary until dl_ex_end; after a failure each step yields NULL, so
 * a rule or composite is written without error checks:
 *     dl_tensor *y = EX(e, mul, T(g), T(EX(e, exp, T(x))));
 *     return dl_ex_return(e, y, &out[0]);                                                       */
struct dl_ex {
  dl_status st;
  int n, cap;
  dl_tensor **tmp;
  dl_tensor *first[24];
  dl_ret last;                   /* further results of the last call: ex->last.v[1] (borrowed) */
};
void dl_ex_begin(dl_ex *e);
dl_status dl_ex_end(dl_ex *e); /* releases temporaries; returns st */
dl_tensor *dl_ex_call(dl_ex *e, dl_opid op, const dl_arg *arg, int n, unsigned flags);
dl_tensor *dl_ex_keep_take(dl_ex *e, dl_tensor *t);               /* give ownership of t to e */
/* Hand a temporary (or an argument) out as an owned result. NULL y gives e->st. */
dl_status dl_ex_return(dl_ex *e, dl_tensor *y, dl_tensor **out);
#define DL_ARGN(...) ((int)(sizeof((dl_arg[]){__VA_ARGS__}) / sizeof(dl_arg)))
#define EX(e, id, ...) dl_ex_call((e), DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), 0)
#define EX_(e, id, ...) \
  dl_ex_call((e), DL_OP_##id, (dl_arg[]){__VA_ARGS__}, DL_ARGN(__VA_ARGS__), DL_INPLACE)

/* ---- modes ----------------------------------------------------------------------------------- */
enum {
  DL_MODE_NO_GRAD = 1, DL_MODE_INFERENCE = 2, DL_MODE_AUTOCAST = 4, DL_MODE_RECORD = 8,
  DL_MODE_PROFILE = 16, DL_MODE_ANOMALY = 32, DL_MODE_SIM = 64, DL_MODE_DRY = 128
};
extern unsigned dl_mode;         /* one word, tested once an op; 0 = plain eager with grad */
extern dl_device dl_default_device; /* the CPU unless torch.set_default_device */
extern uint8_t dl_default_dtype; /* F32 unless torch.set_default_dtype */
static inline bool dl_grad_enabled(void) {
  return !(dl_mode & (DL_MODE_NO_GRAD | DL_MODE_INFERENCE));
}

void dl_op_init(void);           /* picks the kernel tables by CPU features; idempotent */
const char *dl_op_isa(void);     /* "x86-64-v4" … for doctor and bench */
/* The kernels for x86-64 level 1, 3 or 4; NULL where the build or this CPU lacks them. */
const dl_kernel_fn *dl_op_table(int level);

#endif
