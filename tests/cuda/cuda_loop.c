/* cuda_loop.c -- every CUDA kernel, on fibers, against the CPU's
 *
 * Arguments: names of rows to try; none = all. Each recipe runs as written and with sizes of one,
 * about 31, 33 and 257 (those of more.def as written only); on contiguous and on strided tensors;
 * in every dtype. A kernel whose
 * threads meet (barriers, exchanges, atomics) runs in four orders. FULL=1: all combinations, else a
 * sample. Results of pointwise kernels must be equal to the last bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_test.h"
#include "recipe.h"
#include "rng.h"
#include "tap.h"

#define MOST_ELEMENTS 150000  /* of the largest tensor of a call */
#define SAMPLE_ELEMENTS 20000 /* … that grew, where not all is tried */

static const recipe more[] = {
#define R(id, args, flags) {DL_OP_##id, args, flags},
#include "more.def"
#undef R
};

static bool in_more(const recipe *r) {
  return r >= more && r < more + sizeof more / sizeof *more;
}

static bool full;
static char name[256];

/* ---- comparing ------------------------------------------------------------------------------- */
/* Room for sums in another order, relative and absolute; pointwise kernels get none. */
static double tolerance(dl_opid op, int dtype) {
  if (dl_ops[op].kind == DL_POINTWISE || !dl_dtype_is_float((dl_dtype)dtype)) return 0;
  return dtype == DL_F64 ? 1e-9 : dtype == DL_F32 ? 5e-5 : dtype == DL_F16 ? 4e-3 : 3e-2;
}

static bool near(double a, double b, double tol) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tol * (1 + fabs(b));
}

static bool same(const dl_tensor *a, const dl_tensor *b, double tol, const char *how) {
  if (a->dtype != b->dtype || !dl_sizes_equal(a->ndim, a->size, b->ndim, b->size)) {
    tap_diag("%s: dtype or sizes differ", how);
    return false;
  }
  for (int64_t i = 0; i < a->numel; i++) {
    double x = recipe_value(a, i), y = recipe_value(b, i);
    if (near(x, y, tol)) continue;
    tap_diag("%s: element %lld of %lld: %.17g, on the CPU %.17g", how, (long long)i,
             (long long)a->numel, x, y);
    return false;
  }
  return true;
}

/* ties: which of equal elements the second result names is the device's choice. */
static bool same_results(dl_opid op, const dl_ret *a, const dl_ret *b, bool exact, bool ties,
                         const char *how) {
  if (a->n != b->n) {
    tap_diag("%s: %d results against %d", how, a->n, b->n);
    return false;
  }
  for (int k = 0; k < a->n; k++)
    if (!(ties && k == 1) &&
        !same(a->v[k], b->v[k], exact ? 0 : tolerance(op, a->v[k]->dtype), how))
      return false;
  return true;
}

/* ---- one combination ------------------------------------------------------------------------- */
typedef struct tally { int ran, skipped; bool good; } tally;

static const char *describe(recipe_how h, unsigned order) {
  static char text[96];
  char empty[32] = "";
  if (h.empty) snprintf(empty, sizeof empty, " %d made 0", (int)h.empty);
  snprintf(text, sizeof text, "%s%s%s%s grow %d order %u",
           h.dtype == DL_NODTYPE ? "plain" : dl_dtypes[h.dtype].name, h.strided ? " strided" : "",
           h.single ? " ones" : "", empty, h.grow, order);
  return text;
}

/* The CPU's results for this combination; false where it refuses. */
static bool on_cpu(const recipe *r, recipe_how h, recipe_args *a, dl_ret *want) {
  memset(want, 0, sizeof *want);
  if (!recipe_build(r, h, a)) return false;
  dl_gen_seed(&dl_gen_cpu, 1);
  return dl_dispatch(r->op, a->arg, 0, want) == DL_OK;
}

/* The arguments end as those of the other run: changed in the same way, or not at all. A KERNELC
 * kernel of the CPU sees copies of what is strided or of 16 bits: what it changes there is lost. */
static bool same_arguments(dl_opid op, const recipe_args *a, const recipe_args *b, bool exact,
                           const char *how) {
  bool copies = a->how.strided || a->how.dtype == DL_F16 || a->how.dtype == DL_BF16;
  if (dl_ops[op].kind == DL_KERNELC && copies) return true;
  for (int k = 0; k < a->nown; k++)
    if (!same(a->own[k], b->own[k], exact ? 0 : tolerance(op, a->own[k]->dtype), how)) {
      tap_diag("that is argument tensor %d", k);
      return false;
    }
  return true;
}

/* with: the arguments of the run that gave `want` */
static bool in_order(const recipe *r, recipe_how h, unsigned order, const recipe_args *with,
                     const dl_ret *want, bool exact) {
  recipe_args a;
  dl_ret got = {0};
  const char *how = describe(h, order);
  bool good = recipe_build(r, h, &a);
  if (good && cuda_test_dispatch(r->op, a.arg, order, &got) != DL_OK) {
    tap_diag("%s: %s", how, dl_err.message);
    good = false;
  }
  if (good && cuda_test_fault()->code) {
    char text[512];
    tap_diag("%s: %s", how, dl_cuda_fault_text(cuda_test_fault(), text, sizeof text));
    good = false;
  }
  bool ties = recipe_flag(r, 'k') && (h.grow > 100 || in_more(r)); /* where values repeat */
  good = good && same_results(r->op, &got, want, exact, ties, how);
  good = good && same_arguments(r->op, &a, with, exact, how);
  dl_ret_free(&got);
  recipe_free(&a);
  return good;
}

/* Random results are compared between orders only. */
static bool random_orders(const recipe *r, recipe_how h) {
  recipe_args a;
  dl_ret first = {0};
  bool good = recipe_build(r, h, &a) && cuda_test_dispatch(r->op, a.arg, 0, &first) == DL_OK;
  if (!good) tap_diag("%s: %s", describe(h, 0), dl_err.message);
  bool empty = strstr(dl_ops[r->op].id, "empty") != NULL;
  for (unsigned order = 1; good && !empty && order < 4; order++)
    good = in_order(r, h, order, &a, &first, true);
  dl_ret_free(&first);
  recipe_free(&a);
  return good;
}

/* The scaler's rows are flagged for changing their arguments; their values are no chance. */
static bool is_random(const recipe *r) {
  return recipe_flag(r, 'r') && strncmp(dl_ops[r->op].id, "_amp", 4) != 0;
}

static void combination(const recipe *r, recipe_how h, bool orders, tally *t) {
  recipe_args a;
  dl_ret want;
  if (!on_cpu(r, h, &a, &want)) {
    t->skipped++;
  } else if (is_random(r)) {
    t->good = random_orders(r, h) && t->good;
    t->ran++;
  } else {
    unsigned long long before = cuda_test_meetings();
    t->good = in_order(r, h, 0, &a, &want, false) && t->good;
    bool meets = cuda_test_meetings() != before;
    for (unsigned order = 1; meets && orders && order < 4; order++)
      t->good = in_order(r, h, order, &a, &want, false) && t->good;
    t->ran++;
  }
  dl_ret_free(&want);
  recipe_free(&a);
}

/* ---- all combinations of a recipe ------------------------------------------------------------ */
/* Elements of the largest tensor when sizes grow. */
static double largest(const recipe *r, int grow) {
  double most = 0;
  for (const char *p = r->args; (p = strchr(p, '[')) != NULL;) {
    double n = 1;
    for (p++; *p && *p != ']';) {
      char *end;
      double v = strtod(p, &end);
      n *= grow && v > 1 ? v * grow + 1 : v;
      p = *end == ',' ? end + 1 : end;
    }
    most = n > most ? n : most;
  }
  return most;
}

/* The sample: as written in every dtype, but strided in three; ones in float32; 31 strided, 33 in
 * three dtypes, 257 in float32 (a quarter of the large ones); what more.def has in float32 both
 * ways and in two more dtypes. */
static bool sampled(const recipe *r, dl_dtype d, int grow, bool strided, bool single) {
  bool few = d == DL_BF16 || d == DL_I64;
  if (full) return true;
  if (in_more(r)) return d == DL_F32 || (few && !strided);
  if (grow == 0) return single ? d == DL_F32 : !strided || few || d == DL_F32;
  bool turn = dl_ops[r->op].kind == DL_POINTWISE && (r - recipes) % 4 == 0;
  if (!turn && largest(r, grow) > SAMPLE_ELEMENTS) return false;
  if (grow == 10) return d == DL_F32 && strided;
  if (grow == 16) return d == DL_F32 ? !strided : few && strided;
  return d == DL_F32 && !strided;
}

static void one_size(const recipe *r, int grow, bool single, tally *t) {
  if (largest(r, grow) > MOST_ELEMENTS) return;
  for (int d = 0; d < DL_DTYPE_COUNT; d++)
    for (int strided = 0; strided < 2; strided++) {
      if (strided && recipe_flag(r, 'l')) continue;
      if (recipe_flag(r, 'h') && grow && (d == DL_F16 || d == DL_BF16)) continue;
      if (!sampled(r, (dl_dtype)d, grow, strided, single)) continue;
      recipe_how h = RECIPE_PLAIN;
      h.dtype = (dl_dtype)d;
      h.strided = strided;
      h.grow = grow;
      h.single = single;
      combination(r, h, full || ((grow == 16 || in_more(r)) && d == DL_F32 && !strided), t);
    }
}

/* Each size of the recipe made 0 in turn. */
static void empties(const recipe *r, tally *t) {
  int64_t sizes[8];
  int n = recipe_sizes(r, sizes);
  for (int i = 0; i < n; i++) {
    recipe_how h = RECIPE_PLAIN;
    h.dtype = DL_F32;
    h.empty = sizes[i];
    combination(r, h, false, t);
  }
}

static void one(const recipe *r) {
  static const int grow[] = {0, 10, 16, 128};
  tally t = {0, 0, true};
  for (int i = 0; i < (in_more(r) ? 1 : 4); i++) one_size(r, grow[i], false, &t);
  bool sized = strchr(r->args, '(') != NULL; /* lists of sizes would not agree with ones */
  if (!in_more(r) && !sized) one_size(r, 0, true, &t);
  empties(r, &t);
  ok(t.good && t.ran > 0, "%s gives the CPU's numbers (%d ways)", name, t.ran);
}

/* ---- rows ------------------------------------------------------------------------------------ */
static bool has_kernel(dl_opid op) {
  return dl_ops[op].kind != DL_VIEW && dl_ops[op].kind != DL_COMPOSITE;
}

static void every_row_has_a_kernel(void) {
  int want = 0, have = 0;
  for (int op = 0; op < DL_OP_COUNT; op++) {
    if (!has_kernel((dl_opid)op)) continue;
    want++;
    have += dl_cuda_plugin.kernels[op] != NULL;
    if (!dl_cuda_plugin.kernels[op]) tap_diag("no CUDA kernel: %s", dl_ops[op].id);
  }
  is_int(have, want, "every op that has a kernel on the CPU has one for CUDA");
}

static void the_record_fits(void) {
  uint64_t h = DL_CUDA_HASH_START;
  for (int op = 0; op < DL_OP_COUNT; op++)
    h = dl_cuda_hash(dl_cuda_hash(h, dl_ops[op].id), dl_ops[op].schema_text);
  ok(dl_cuda_plugin.abi == DL_CUDA_ABI && dl_cuda_plugin.op_count == DL_OP_COUNT,
     "the plugin's record names its version and its %d ops", DL_OP_COUNT);
  ok(dl_cuda_plugin.ops_hash == h, "the record's hash is that of the program's table of ops");
}

/* products: the rows that ask the driver for matrix products, with one that makes them. */
static bool wanted(const recipe *r, int argc, char **argv, bool products) {
  int cost = dl_ops[r->op].cost;
  return recipe_wanted(r, argc, argv) && dl_cuda_plugin.kernels[r->op] &&
         (!products || cost == DL_COST_MM || cost == DL_COST_CONV);
}

static void every(int argc, char **argv, bool products) {
  int64_t tensors = dl_tensors_live;
  int count = recipe_count + (int)(sizeof more / sizeof *more);
  cuda_test_gemm(products);
  for (int i = 0; i < count; i++) {
    const recipe *r = i < recipe_count ? &recipes[i] : &more[i - recipe_count];
    if (!wanted(r, argc, argv, products)) continue;
    recipe_name(r, name, sizeof name - 32);
    if (products) strcat(name, " by the driver's products");
    one(r);
    if (dl_tensors_live != tensors) {
      is_int(dl_tensors_live, tensors, "%s leaves no tensor behind", name);
      tensors = dl_tensors_live;
    }
  }
}

int main(int argc, char **argv) {
  full = getenv("FULL") != NULL && getenv("FULL")[0] == '1';
  dl_op_init();
  cuda_test_begin();
  dl_mode |= DL_MODE_NO_GRAD;
  if (argc < 2) {
    the_record_fits();
    every_row_has_a_kernel();
  }
  every(argc, argv, false);
  every(argc, argv, true);
  return tap_done();
}
