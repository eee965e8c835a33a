/* op.c -- the rows of ops.def as a table, and the choice of kernels for this CPU
 *
 * For dispatch, bind and tests.
 * INVARIANT  A row whose rule, gradient, view or composite is missing does not link. */
#include "op/op.h"
#include "op/plugin.h"

#include <stdlib.h>
#include <string.h>

/* prototypes: every row names its rule; kinds and the GRAD column name the rest */
#define DL_OP(id, KIND, where, schema, rule, ...) dl_status dl_rule_##rule(dl_call *c);
#include "op/ops.def"
#undef DL_OP

#define DL_G_RULE(id) dl_status dl_grad_##id(dl_gcall *g);
#define DL_G_NONE(id)
#define DL_OP(id, KIND, where, schema, rule, CAST, save, GRAD, ...) DL_G_##GRAD(id)
#include "op/ops.def"
#undef DL_OP
#undef DL_G_RULE
#undef DL_G_NONE

#define DL_B_VIEW(id) dl_status dl_view_##id(dl_vcall *v);
#define DL_B_COMPOSITE(id) dl_status dl_comp_##id(dl_ex *e, const dl_arg *arg, dl_tensor **out);
#define DL_B_POINTWISE(id)
#define DL_B_REDUCE(id)
#define DL_B_KERNEL(id)
#define DL_B_KERNELC(id)
#define DL_B_UPDATE(id)
#define DL_B_FACTORY(id)
#define DL_OP(id, KIND, ...) DL_B_##KIND(id)
#include "op/ops.def"
#undef DL_OP

dl_status dl_rule_none(dl_call *c) {
  return dl_fail(DL_RuntimeError, DL_E_INTERNAL, "%s has no rule", c->op->id);
}

#define DL_G_RULE(id) dl_grad_##id
#define DL_G_NONE(id) NULL
#define DL_V_VIEW(id) dl_view_##id
#define DL_V_COMPOSITE(id) NULL
#define DL_V_POINTWISE(id) NULL
#define DL_V_REDUCE(id) NULL
#define DL_V_KERNEL(id) NULL
#define DL_V_KERNELC(id) NULL
#define DL_V_UPDATE(id) NULL
#define DL_V_FACTORY(id) NULL
#define DL_C_VIEW(id) NULL
#define DL_C_COMPOSITE(id) dl_comp_##id
#define DL_C_POINTWISE(id) NULL
#define DL_C_REDUCE(id) NULL
#define DL_C_KERNEL(id) NULL
#define DL_C_KERNELC(id) NULL
#define DL_C_UPDATE(id) NULL
#define DL_C_FACTORY(id) NULL
#define DL_KIND_POINTWISE DL_POINTWISE
#define DL_KIND_REDUCE DL_REDUCE
#define DL_KIND_KERNEL DL_KERNEL_
#define DL_KIND_KERNELC DL_KERNELC
#define DL_KIND_UPDATE DL_UPDATE
#define DL_KIND_FACTORY DL_FACTORY
#define DL_KIND_VIEW DL_VIEW
#define DL_KIND_COMPOSITE DL_COMPOSITE
#define SI(k) DL_SAVE_IN(k)
#define SO(k) DL_SAVE_OUT(k)

const dl_op dl_ops[DL_OP_COUNT] = {
#define DL_OP(id_, KIND, where_, schema_, rule_, CAST, save_, GRAD, gname, COST, help_) \
  [DL_OP_##id_] = {.id = #id_,                                                          \
                   .where = where_,                                                     \
                   .schema_text = schema_,                                              \
                   .gradname = gname,                                                   \
                   .help = help_,                                                       \
                   .kind = DL_KIND_##KIND,                                              \
                   .cast = DL_CAST_##CAST,                                              \
                   .cost = DL_COST_##COST,                                              \
                   .save = (save_),                                                     \
                   .rule = dl_rule_##rule_,                                             \
                   .grad = DL_G_##GRAD(id_),                                            \
                   .view = DL_V_##KIND(id_),                                            \
                   .comp = DL_C_##KIND(id_)},
#include "op/ops.def"
#undef DL_OP
};

/* ---- kernel tables --------------------------------------------------------------------------- */
extern const dl_kernel_fn dl_cpu_table_base[DL_OP_COUNT];
extern const dl_kernel_fn dl_cpu_table_v3[DL_OP_COUNT];
extern const dl_kernel_fn dl_cpu_table_v4[DL_OP_COUNT];

const dl_kernel_fn *dl_cpu_kernels;
static const char *isa_name = "generic"; /* where there is one table */

/* DL_HAVE_v3, DL_HAVE_v4: the build compiled the kernels for that level. */
#ifdef DL_HAVE_v3
static bool has_v3(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi2");
}
#endif
#ifdef DL_HAVE_v4
static bool has_v4(void) {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

/* By feature bits: model numbers lie on virtual machines. */
const dl_kernel_fn *dl_op_table(int level) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
#ifdef DL_HAVE_v3
  if (level == 3 && has_v3()) return dl_cpu_table_v3;
#endif
#ifdef DL_HAVE_v4
  if (level == 4 && has_v4()) return dl_cpu_table_v4;
#endif
  return level == 1 ? dl_cpu_table_base : NULL;
}

static const char *const level_names[] = {NULL, "x86-64", NULL, "x86-64-v3", "x86-64-v4"};

/* DLREPL_ISA=base|v3 asks for less than the machine can do. */
void dl_op_init(void) {
  if (dl_cpu_kernels) return;
  const char *ask = getenv("DLREPL_ISA");
  int level = ask && !strcmp(ask, "base") ? 1 : ask && !strcmp(ask, "v3") ? 3 : 4;
  dl_mem_init();
  dl_plugin_init();
  while (!dl_op_table(level)) level--;
  dl_cpu_kernels = dl_op_table(level);
#if defined(__x86_64__)
  isa_name = level_names[level];
#endif
}

/* Rows that draw from the device's own generator, with no parameter for another. */
static const uint8_t draws_always[DL_OP_COUNT] = {
    [DL_OP_rand_like] = 1, [DL_OP_randn_like] = 1, [DL_OP_randint_like] = 1,
    [DL_OP_native_dropout] = 1};

bool dl_op_draws(dl_opid op) { return draws_always[op] || dl_op_schema(op)->p_gen >= 0; }

const char *dl_op_isa(void) {
  dl_op_init();
  return isa_name;
}
