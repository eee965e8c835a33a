/* ops_paths.c -- every row on large inputs: each kernel table and number of threads agrees
 *
 * The plain x86-64 kernels on one thread are the reference. Pointwise rows must be equal bit for
 * bit on every path; the others may differ by rounding in the order of their sums.
 * Arguments: names of rows to try; none = all. */
#include <math.h>
#include <string.h>

#include "recipe.h"
#include "rng.h"
#include "tap.h"


#define MANY 64

typedef struct path { const char *name; const dl_kernel_fn *table; int threads; } path;
static path paths[8];
static int path_count;

static void add_path(const char *name, const dl_kernel_fn *table) {
  paths[path_count++] = (path){name, table, 1};
  paths[path_count++] = (path){name, table, 2};
}

/* Only the tables that this CPU can run. */
static void find_paths(void) {
  static const char *const name[] = {NULL, "x86-64", NULL, "x86-64-v3", "x86-64-v4"};
  for (int level = 1; level <= 4; level++)
    if (dl_op_table(level)) add_path(name[level], dl_op_table(level));
}

static dl_status run(const recipe *r, recipe_args *a, const path *p, dl_ret *ret) {
  memset(ret, 0, sizeof *ret);
  dl_cpu_kernels = p->table;
  dl_set_threads(p->threads);
  dl_gen_seed(&dl_gen_cpu, 1);
  return dl_dispatch(r->op, a->arg, 0, ret);
}

/* About 100,000 elements a tensor; small ones for products, whose cost is cubic. */
static int growth(const recipe *r) {
  if (dl_ops[r->op].cost == DL_COST_CONV) return 2;
  if (dl_ops[r->op].cost == DL_COST_MM) return 20;
  int most = 0;
  for (const char *p = r->args; (p = strchr(p, '[')) != NULL; p++) {
    int ndim = 1;
    for (const char *q = p; *q != ']'; q++) ndim += *q == ',';
    if (ndim > most) most = ndim;
  }
  return most <= 1 ? 300 : most == 2 ? 100 : most == 3 ? 15 : 5;
}

static bool agree(const dl_tensor *a, const dl_tensor *b, double tol) {
  if (a->dtype != b->dtype || !dl_sizes_equal(a->ndim, a->size, b->ndim, b->size)) return false;
  size_t bytes = (size_t)a->numel * dl_dtype_size((dl_dtype)a->dtype);
  if (bytes == 0 || (a->contig && b->contig && memcmp(a->data, b->data, bytes) == 0)) return true;
  for (int64_t i = 0; i < a->numel; i++) {
    double x = recipe_value(a, i), y = recipe_value(b, i);
    if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= tol * (1 + fabs(y))) continue;
    tap_diag("element %lld: %.9g against %.9g", (long long)i, x, y);
    return false;
  }
  return true;
}

static bool results_agree(const dl_ret *a, const dl_ret *b, double tol) {
  dl_tensor *x[MANY], *y[MANY];
  int n = recipe_results(a, x, MANY);
  if (n != recipe_results(b, y, MANY)) return false;
  for (int k = 0; k < n; k++)
    if (!agree(x[k], y[k], tol)) return false;
  return true;
}

static void one(const recipe *r, dl_dtype dtype, bool strided) {
  char name[256];
  recipe_args a;
  dl_ret want, got;
  recipe_how how = RECIPE_PLAIN;
  how.dtype = dtype;
  how.strided = strided;
  how.grow = growth(r);
  recipe_name(r, name, sizeof name);
  if (recipe_build(r, how, &a) && run(r, &a, &paths[0], &want) == DL_OK) {
    bool good = true, exact = dl_ops[r->op].kind == DL_POINTWISE;
    double tol = exact ? 0 : dtype == DL_F32 ? 1e-4 : dtype == DL_F64 ? 1e-10 : 2e-2;
    for (int k = 1; k < path_count; k++) {
      bool fine = run(r, &a, &paths[k], &got) == DL_OK && results_agree(&got, &want, tol);
      if (!fine) tap_diag("%s on %d threads differs", paths[k].name, paths[k].threads);
      good = good && fine;
      dl_ret_free(&got);
    }
    ok(good, "large %s %s%s is the same on every path", dl_dtypes[dtype].name, name,
       strided ? ", strided," : "");
    dl_ret_free(&want);
  }
  recipe_free(&a);
}

int main(int argc, char **argv) {
  dl_op_init();
  dl_mem.cap_bytes = (int64_t)512 << 20; /* a recipe that grows too far is refused, and skipped */
  find_paths();
  for (int i = 0; i < recipe_count; i++) {
    const recipe *r = &recipes[i];
    if (!recipe_wanted(r, argc, argv)) continue;
    bool writes = dl_ops[r->op].kind == DL_UPDATE || strcmp(dl_ops[r->op].id, "empty") == 0 ||
                  strcmp(dl_ops[r->op].id, "empty_like") == 0;
    if (writes) continue;
    one(r, DL_F32, false);
    one(r, DL_F32, true);
    one(r, DL_BF16, false);
  }
  ok(true, "nothing else to try");
  return tap_done();
}
