/* pw_tables.c -- every instruction set gives the same bits
 *
 * Runs each pointwise and reducing kernel of the x86-64 table and of the -v3 and -v4 tables (as far
 * as this CPU goes) on the same views, several shapes, and compares bytes. */
#include "op/op.h"
#include "tap.h"

#include <string.h>


enum { ROWS = 37, COLS = 75, N = ROWS * COLS };
static float fa[N], fb[N], fc[N];
static double da[N], db[N], dc[N];
static int64_t ia[N], ib[N], ic[N];

static uint64_t state = 1234567;
static uint64_t next(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void fill(void) {
  static const float odd[] = {0.0f, -0.0f, 1e-42f, 3e38f, -3e38f, 1.0f / 0.0f, -1.0f / 0.0f, 0.5f};
  for (int i = 0; i < N; i++) {
    fa[i] = i % 97 == 5 ? odd[next() % 8] : (float)(int64_t)(next() >> 40) / (1 << 21) - 4;
    fb[i] = i % 89 == 7 ? odd[next() % 8] : (float)(int64_t)(next() >> 40) / (1 << 21) - 4;
    fc[i] = (float)(int64_t)(next() >> 40) / (1 << 24);
    da[i] = (double)fa[i], db[i] = (double)fb[i], dc[i] = (double)fc[i];
    ia[i] = (int64_t)(next() % 41) - 20, ib[i] = (int64_t)(next() % 9) - 4, ic[i] = next() % 3;
    if (!ib[i]) ib[i] = 3;
  }
}

static const int64_t size2[] = {ROWS, COLS}, dense[] = {COLS, 1}, size1[] = {N}, flat[] = {1};
static const int64_t turned[] = {1, ROWS}, sparse_size[] = {ROWS, 25}, sparse[] = {COLS, 3};
typedef struct layout { const char *name; int ndim; const int64_t *size, *stride; } layout;
static const layout layouts[] = {{"flat", 1, size1, flat},
                                 {"rows", 2, size2, dense},
                                 {"turned", 2, size2, turned},
                                 {"sparse", 2, sparse_size, sparse}};

static dl_view view_of(const layout *l, void *data, dl_dtype d) {
  int64_t n = 1;
  for (int k = 0; k < l->ndim; k++) n *= l->size[k];
  return (dl_view){.data = data, .dtype = (uint8_t)d, .ndim = (uint8_t)l->ndim, .numel = n,
                   .size = l->size, .stride = l->stride};
}

static void set_args(dl_opid op, dl_arg *arg) {
  for (int i = 0; i < DL_MAX_PARAM; i++) arg[i] = F(0.75);
  if (op == DL_OP_gelu) arg[1] = S("none");
  if (op == DL_OP_gelu_backward) arg[2] = S("tanh");
  if (op == DL_OP_div_mode) arg[2] = S("floor");
  if (op == DL_OP_pow || op == DL_OP_rpow) arg[1] = NIL;
  if (op == DL_OP_round) arg[1] = I(2);
  if (op == DL_OP_norm) arg[1] = F(2);
  if (op == DL_OP_var || op == DL_OP_std) arg[2] = B(true), arg[4] = NIL;
}

static char result[2][N * 8], indices[2][N * 8];

/* 0: refused */
static bool run(dl_kernel_fn fn, dl_opid op, dl_dtype d, const layout *l, uint32_t dims, int to) {
  dl_arg arg[DL_MAX_PARAM];
  void *in[3][3] = {{fa, fb, fc}, {da, db, dc}, {ia, ib, ic}};
  int t = d == DL_F32 ? 0 : d == DL_F64 ? 1 : 2;
  dl_kcall c;
  memset(&c, 0, sizeof c);
  set_args(op, arg);
  c.op = op, c.compute = (uint8_t)d, c.arg = arg, c.dims = dims, c.nin = 3;
  for (int k = 0; k < 3; k++) c.in[k] = view_of(l, in[t][k], d);
  bool reduces = dl_ops[op].kind == DL_REDUCE;
  layout out = {"", 1, size1, flat};
  c.nout = reduces ? 2 : 1;
  c.out[0] = reduces ? view_of(&out, result[to], d) : view_of(l, result[to], d);
  c.out[1] = view_of(&out, indices[to], DL_I64);
  memset(result[to], 0, sizeof result[to]);
  memset(indices[to], 0, sizeof indices[to]);
  return fn(&c) == DL_OK;
}

static bool same(dl_dtype d) {
  if (memcmp(indices[0], indices[1], sizeof indices[0])) return false;
  for (int i = 0; i < N; i++) {
    const float *p = (const float *)result[0], *q = (const float *)result[1];
    const double *x = (const double *)result[0], *y = (const double *)result[1];
    if (d == DL_F32 && memcmp(&p[i], &q[i], 4) && !(p[i] != p[i] && q[i] != q[i])) return false;
    if (d == DL_F64 && memcmp(&x[i], &y[i], 8) && !(x[i] != x[i] && y[i] != y[i])) return false;
  }
  return d != DL_I64 || !memcmp(result[0], result[1], sizeof result[0]);
}

static void compare(const char *isa, const dl_kernel_fn *table, dl_opid op) {
  static const dl_dtype dtypes[] = {DL_F32, DL_F64, DL_I64};
  bool reduces = dl_ops[op].kind == DL_REDUCE, good = true;
  for (int t = 0; t < 3; t++)
    for (int k = 0; k < 4; k++)
      for (uint32_t dims = 1; dims < (reduces && layouts[k].ndim == 2 ? 4u : 2u); dims++) {
        if (t == 2 && (op == DL_OP_norm || op == DL_OP_var || op == DL_OP_std)) continue;
        if (!run(dl_op_table(1)[op], op, dtypes[t], &layouts[k], dims, 0)) continue;
        bool ran = run(table[op], op, dtypes[t], &layouts[k], dims, 1);
        if (ran && same(dtypes[t])) continue;
        if (good) tap_diag("%s %s %s dims %u", dl_ops[op].id, dl_dtypes[dtypes[t]].name,
                           layouts[k].name, dims);
        good = false;
      }
  ok(good, "%s has the same bits on x86-64 and %s", dl_ops[op].id, isa);
}

static void compare_all(const char *isa, const dl_kernel_fn *table) {
  for (int op = 0; op < DL_OP_COUNT; op++) {
    bool wanted = dl_ops[op].kind == DL_POINTWISE || dl_ops[op].kind == DL_REDUCE;
    if (wanted && dl_op_table(1)[op]) compare(isa, table, (dl_opid)op);
  }
}

int main(void) {
  fill();
  for (int level = 3; level <= 4; level++) {
    const char *name = level == 3 ? "x86-64-v3" : "x86-64-v4";
    if (dl_op_table(level)) compare_all(name, dl_op_table(level));
    else tap_skip("this CPU or this build has no such kernels", name);
  }
  return tap_done();
}
