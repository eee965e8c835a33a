/* amp_gemm.c -- bfloat16 products: the same numbers with the CPU's own instructions and without
 *
 * DLREPL_ONEDNN=bf16 sends them the library's way on any CPU; see once/onednn.h. */
#include <math.h>
#include <stdlib.h>

#include "cpu/once/onednn.h"
#include "op/op.h"
#include "tap.h"

static dl_tensor *pattern(int64_t rows, int64_t cols, int seed) {
  int64_t size[] = {rows, cols};
  dl_tensor *t;
  if (dl_tensor_new(DL_DEV_CPU, DL_BF16, 2, size, &t) != DL_OK) return NULL;
  dl_bf16 *v = (dl_bf16 *)t->data;
  for (int64_t i = 0; i < rows * cols; i++)
    v[i] = dl_bf16_from_f32((float)((i * 7919 + seed) % 257 - 128) / 64);
  return t;
}

/* |a - b| in units of bfloat16's last place */
static double apart(const dl_tensor *a, const dl_tensor *b) {
  double worst = 0;
  for (int64_t i = 0; i < a->numel; i++) {
    double x = dl_elem_get_f64(DL_BF16, a->data + 2 * i);
    double y = dl_elem_get_f64(DL_BF16, b->data + 2 * i);
    double unit = ldexp(fmax(fabs(x), 1), -7);
    worst = fmax(worst, fabs(x - y) / unit);
  }
  return worst;
}

static void both(const char *what, dl_opid op, const dl_arg *arg, int n) {
  dl_tensor *own = NULL, *lib = NULL;
  dl_onednn_disable(true);
  is_status(dl_run(op, arg, n, 0, &own), "", "%s by our own code", what);
  dl_onednn_disable(false);
  is_status(dl_run(op, arg, n, 0, &lib), "", "%s by the library", what);
  if (own && lib) ok(apart(own, lib) <= 1, "%s: at most one unit of the last place apart", what);
  dl_tensor_release(own);
  dl_tensor_release(lib);
}

/* `count` matrices of the rows of one */
static dl_tensor *batch_of(dl_tensor *t, int64_t count) {
  int64_t size[] = {count, t->size[0] / count, t->size[1]};
  dl_tensor *v;
  return dl_run(DL_OP_view, (dl_arg[]){T(t), L(size, 3)}, 2, 0, &v) == DL_OK ? v : NULL;
}

static void batches(void) {
  dl_tensor *a = pattern(5 * 60, 70, 5), *b = pattern(5 * 90, 70, 6), *c = pattern(60, 90, 7), *bt;
  dl_tensor *x = batch_of(a, 5), *y = batch_of(b, 5);
  is_status(dl_run(DL_OP_transpose, (dl_arg[]){T(y), I(1), I(2)}, 3, 0, &bt), "", "a view");
  both("five products", DL_OP_bmm, (dl_arg[]){T(x), T(bt)}, 2);
  both("five products and a sum", DL_OP_baddbmm, (dl_arg[]){T(c), T(x), T(bt)}, 3);
  dl_tensor *all[] = {a, b, c, x, y, bt};
  for (int i = 0; i < 6; i++) dl_tensor_release(all[i]);
}

/* Each allocation refused in turn: an error or the right result. */
static void refused(dl_tensor *a, dl_tensor *b) {
  dl_tensor *right, *out = NULL;
  if (dl_run(DL_OP_mm, (dl_arg[]){T(a), T(b)}, 2, 0, &right) != DL_OK) exit(1);
  int64_t bytes = dl_mem.live_bytes, n = 0, done = 0;
  bool good = true, reached = true;
  for (; good && reached && n < 100; n++) {
    dl_mem_refuse_at = n + 1;
    dl_status st = dl_run(DL_OP_mm, (dl_arg[]){T(a), T(b)}, 2, 0, &out);
    reached = dl_mem_refuse_at == 0;
    dl_mem_refuse_at = 0;
    if (st == DL_OK) good = apart(right, out) <= 1, done++;
    else good = dl_err.kind == DL_E_OOM;
    dl_tensor_release(out);
    out = NULL;
    dl_err_clear();
    good = good && dl_mem.live_bytes == bytes;
  }
  ok(good && done > 0 && n < 100, "%d allocations refused in turn: an error or the same", (int)n);
  dl_tensor_release(right);
}

int main(void) {
  setenv("DLREPL_ONEDNN", "bf16", 0);
  dl_mem_init();
  dl_op_init();
  tap_diag("oneDNN %s; this CPU %s bfloat16", dl_onednn_version(),
           dl_onednn_has_bf16() ? "multiplies" : "has no fast way to multiply");
  dl_tensor *a = pattern(160, 192, 1), *b = pattern(192, 130, 2), *bias = pattern(1, 130, 3), *bt;
  both("a product", DL_OP_mm, (dl_arg[]){T(a), T(b)}, 2);
  both("a product with a bias", DL_OP_addmm, (dl_arg[]){T(bias), T(a), T(b)}, 3);
  dl_tensor *w = pattern(130, 192, 4);
  is_status(dl_run(DL_OP_t, (dl_arg[]){T(w)}, 1, 0, &bt), "", "a transposed weight");
  both("a product with a transposed factor", DL_OP_mm, (dl_arg[]){T(a), T(bt)}, 2);
  dl_tensor_release(bt);
  dl_tensor_release(w);
  batches();
  refused(a, b);
  dl_tensor_release(bias);
  dl_tensor_release(b);
  dl_tensor_release(a);
  return tap_done();
}
