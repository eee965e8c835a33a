/* ops_loop.c -- every row of ops.def: dtypes, layouts, empty sizes, in-place and out= forms
 *
 * Arguments: names of rows to try; none = all. A row without a recipe fails. */
#include <math.h>
#include <string.h>

#include "recipe.h"
#include "rng.h"
#include "tap.h"

#define MANY 64
static char name[256];

static dl_status call(const recipe *r, recipe_args *a, unsigned flags, dl_ret *ret) {
  dl_gen_seed(&dl_gen_cpu, 1);
  return dl_dispatch(r->op, a->arg, flags, ret);
}

/* Build and call; what went wrong is in dl_err. The caller frees both. */
static dl_status build_and_call(const recipe *r, recipe_how how, recipe_args *a, dl_ret *ret) {
  memset(ret, 0, sizeof *ret);
  if (!recipe_build(r, how, a)) return dl_err.kind;
  return call(r, a, 0, ret);
}

/* ---- comparing -------------------- */

static bool near(double a, double b, double tol) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= tol * (1 + fabs(b));
}

/* A sane tensor: contig, numel and data agree with its sizes. */
static bool sane(const dl_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->ndim; i++) n *= t->size[i];
  return t->dtype < DL_DTYPE_COUNT && t->numel == n && (n == 0 || t->data != NULL) &&
         t->contig == dl_is_contig(t->ndim, t->size, t->stride);
}

static bool all_sane(const dl_ret *ret) {
  dl_tensor *v[MANY];
  int n = recipe_results(ret, v, MANY);
  for (int k = 0; k < n; k++)
    if (!v[k] || !sane(v[k])) return false;
  return true;
}

/* Values beyond `limit` are skipped: they do not fit the smaller dtype. */
static bool same(const dl_tensor *a, const dl_tensor *b, double tol, double limit) {
  if (!dl_sizes_equal(a->ndim, a->size, b->ndim, b->size)) {
    tap_diag("%d dims against %d, or other sizes", a->ndim, b->ndim);
    return false;
  }
  for (int64_t i = 0; i < a->numel; i++) {
    double x = recipe_value(a, i), y = recipe_value(b, i);
    if (fabs(y) <= limit && !near(x, y, tol)) {
      tap_diag("element %lld: %.17g against %.17g", (long long)i, x, y);
      return false;
    }
  }
  return true;
}

static bool same_results(const dl_ret *a, const dl_ret *b, double tol, double limit) {
  dl_tensor *x[MANY], *y[MANY];
  int n = recipe_results(a, x, MANY);
  if (n != recipe_results(b, y, MANY)) return false;
  for (int k = 0; k < n; k++)
    if (!same(x[k], y[k], tol, limit)) return false;
  return true;
}

/* ---- the checks -------------------- */

static bool runs(const recipe *r) {
  recipe_args a;
  dl_ret ret;
  dl_status st = build_and_call(r, RECIPE_PLAIN, &a, &ret);
  bool good = is_status(st, "", "%s runs", name);
  if (good) good = ok(all_sane(&ret), "%s gives sane results", name);
  dl_ret_free(&ret);
  recipe_free(&a);
  return good;
}

static double tolerance(dl_dtype d) {
  return d == DL_F32 ? 5e-5 : d == DL_F16 ? 2e-2 : d == DL_BF16 ? 1e-1 : 1e-4;
}

/* Largest value that the arithmetic of small integers may reach without wrapping. */
static double largest(dl_dtype d) {
  return d == DL_I8 ? 100 : d == DL_U8 || d == DL_BOOL ? -1 : dl_dtype_is_float(d) ? 1e30 : 30000;
}

/* With dtype d the op gives what the wide dtype gives on the same values, or fails cleanly. */
static bool dtype_agrees(const recipe *r, dl_dtype d) {
  recipe_args a, b;
  dl_ret got, want;
  recipe_how how = RECIPE_PLAIN, wide = RECIPE_PLAIN;
  how.dtype = d;
  wide.dtype = dl_dtype_is_float(d) ? DL_F64 : DL_I64;
  wide.rounded = dl_dtype_is_float(d) ? d : DL_NODTYPE;
  bool good = true;
  dl_status st = build_and_call(r, how, &a, &got);
  if (st != DL_OK) {
    good = recipe_clean_failure();
    if (!good) tap_diag("%s: %s", dl_dtypes[d].name, dl_err.message);
  } else if (!all_sane(&got)) {
    good = false;
    tap_diag("%s: a result is not sane", dl_dtypes[d].name);
  } else if (!recipe_flag(r, 'r') && !recipe_flag(r, 'v')) {
    if (build_and_call(r, wide, &b, &want) == DL_OK)
      good = same_results(&got, &want, tolerance(d), largest(d));
    if (!good) tap_diag("%s differs from %s", dl_dtypes[d].name, dl_dtypes[wide.dtype].name);
    dl_ret_free(&want);
    recipe_free(&b);
  }
  dl_ret_free(&got);
  recipe_free(&a);
  return good;
}

static void dtypes(const recipe *r) {
  bool good = true;
  for (int d = 0; d < DL_DTYPE_COUNT; d++) good = dtype_agrees(r, (dl_dtype)d) && good;
  ok(good, "%s in every dtype gives the same values or a clean error", name);
}

static void layouts(const recipe *r) {
  recipe_args a, b;
  dl_ret got, want;
  recipe_how how = RECIPE_PLAIN;
  how.strided = true;
  dl_status st = build_and_call(r, RECIPE_PLAIN, &a, &want);
  if (st == DL_OK) st = build_and_call(r, how, &b, &got);
  if (is_status(st, "", "%s takes non-contiguous inputs", name))
    ok(same_results(&got, &want, 1e-9, 1e300), "%s gives the same for them", name);
  dl_ret_free(&got);
  dl_ret_free(&want);
  recipe_free(&a);
  recipe_free(&b);
}

static void empties(const recipe *r) {
  int64_t sizes[8];
  int n = recipe_sizes(r, sizes);
  bool good = true;
  for (int i = 0; i < 2 * n; i++) {
    recipe_args a;
    dl_ret ret;
    recipe_how how = RECIPE_PLAIN;
    how.empty = sizes[i / 2];
    how.dtype = i % 2 ? DL_F16 : DL_NODTYPE;
    dl_status st = build_and_call(r, how, &a, &ret);
    bool fine = st == DL_OK ? all_sane(&ret) : recipe_clean_failure();
    if (!fine) tap_diag("size %lld made 0: %s", (long long)how.empty, dl_err.message);
    good = good && fine;
    dl_ret_free(&ret);
    recipe_free(&a);
  }
  ok(good, "%s takes empty sizes or says why not", name);
}

/* x:op_() leaves in x what x:op() returns; checked where the result fits x. */
static void in_place(const recipe *r, bool strided) {
  recipe_args a, b;
  dl_ret out, in;
  recipe_how how = RECIPE_PLAIN;
  how.strided = strided;
  bool run = build_and_call(r, how, &a, &out) == DL_OK && recipe_build(r, how, &b);
  dl_tensor *self = b.arg[0].t, *y = out.n ? out.v[0] : NULL;
  if (run && y && y->dtype == self->dtype &&
      dl_sizes_equal(y->ndim, y->size, self->ndim, self->size)) {
    uint32_t version = *self->ver;
    dl_status st = call(r, &b, DL_INPLACE, &in);
    const char *kind = strided ? "a strided tensor" : "a tensor";
    if (is_status(st, "", "%s works in place on %s", name, kind)) {
      ok(in.v[0] == self && same(self, y, 1e-12, 1e300), "%s in place gives the same", name);
      ok(*self->ver != version, "%s in place counts a version", name);
    }
    dl_ret_free(&in);
  }
  dl_ret_free(&out);
  recipe_free(&a);
  recipe_free(&b);
}

/* out= into an empty tensor (which is resized) and into one of the right size. */
static void out_form(const recipe *r) {
  recipe_args a;
  dl_ret want;
  dl_tensor *dst = NULL;
  int64_t zero = 0;
  dl_status st = build_and_call(r, RECIPE_PLAIN, &a, &want);
  if (st == DL_OK) st = dl_tensor_new(DL_DEV_CPU, want.v[0]->dtype, 1, &zero, &dst);
  for (int round = 0; st == DL_OK && round < 2; round++) {
    if (round == 1) memset(dst->data, 0, (size_t)dst->numel * dl_dtype_size(dst->dtype));
    dl_gen_seed(&dl_gen_cpu, 1);
    st = dl_dispatch_out(r->op, a.arg, &dst, 1);
    if (is_status(st, "", "%s writes into %s", name, round ? "a tensor" : "an empty tensor"))
      ok(same(dst, want.v[0], 1e-12, 1e300), "%s gives the same there", name);
  }
  dl_tensor_release(dst);
  dl_ret_free(&want);
  recipe_free(&a);
}

static void every_row_has_a_recipe(void) {
  for (int op = 0; op < DL_OP_COUNT; op++) {
    bool found = false;
    for (int i = 0; i < recipe_count; i++) found = found || (int)recipes[i].op == op;
    if (!found) ok(found, "%s has a recipe", dl_ops[op].id);
  }
  ok(recipe_count >= DL_OP_COUNT, "there is a recipe for each row of ops.def");
}

static bool only_in_place(const recipe *r) {
  const char *s = dl_op_schema(r->op)->name;
  return s[strlen(s) - 1] == '_';
}

static void one(const recipe *r) {
  const dl_op *op = &dl_ops[r->op];
  if (!runs(r)) return;
  dtypes(r);
  empties(r);
  if (recipe_flag(r, 'r')) return;
  if (!recipe_flag(r, 'l')) layouts(r);
  if (strchr(op->where, 'i') && !only_in_place(r)) {
    in_place(r, false);
    in_place(r, true);
  }
  if (strchr(op->where, 'o')) out_form(r);
}

int main(int argc, char **argv) {
  dl_op_init();
  if (argc < 2) every_row_has_a_recipe();
  int64_t tensors = dl_tensors_live;
  for (int i = 0; i < recipe_count; i++) {
    if (!recipe_wanted(&recipes[i], argc, argv)) continue;
    recipe_name(&recipes[i], name, sizeof name);
    one(&recipes[i]);
    if (dl_tensors_live != tensors) {
      is_int(dl_tensors_live, tensors, "%s leaves no tensor behind", name);
      tensors = dl_tensors_live;
    }
  }
  return tap_done();
}
