/* ops_gpu.c -- every row of ops.def on a GPU: the CPU's results, gradients and errors
 *
 * Each recipe is called twice, on the CPU and with all its tensors on a simulated card, in several
 * dtypes and layouts. Both run the same kernels, so results are compared bit for bit.
 * Arguments: names of rows to try; none = all. Before them --cuda: the GPU of this machine, whose
 * results may differ by rounding (tests/gpu/run); --fault: an illegal address on it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "grad/grad.h"
#include "mem/gpu.h"
#include "op/plugin.h"
#include "recipe.h"
#include "rng.h"
#include "sim/sim.h"
#include "tap.h"
#include "tensor/devmem.h"

#define MANY 64
static char name[256];
static const dl_device gpu = {DL_CUDA, 0};
static bool real;             /* a GPU, not a simulated one */

static bool open_card(void) {
  if (real) return dl_gpu_look(), dl_gpu != NULL;
  dl_sim_options o = {.count = 1, .compute = true, .card = {dl_card_find("t4")}};
  const dl_driver *drv;
  return dl_sim_open(&o, &drv) == DL_OK && dl_gpu_open(drv, DL_CUDA) == DL_OK;
}

/* The same tensor on the card, with the same strides, a leaf that requires grad as t does. */
static dl_tensor *moved(const dl_tensor *t) {
  dl_tensor *flat, *out = NULL;
  int64_t span = t->numel ? 1 : 0;
  for (int d = 0; t->numel && d < t->ndim; d++) span += (t->size[d] - 1) * t->stride[d];
  if (dl_tensor_new(gpu, (dl_dtype)t->dtype, 1, &span, &flat) != DL_OK) return NULL;
  size_t bytes = (size_t)span * dl_dtype_size((dl_dtype)t->dtype);
  dl_status st = dl_gpu_copy(flat->data, gpu, t->data, DL_DEV_CPU, bytes, false, false, 0);
  if (st == DL_OK) st = dl_tensor_view(flat, t->ndim, t->size, t->stride, 0, &out);
  if (st == DL_OK) out->requires_grad = t->requires_grad;
  dl_tensor_release(flat);
  return out;
}

/* a's tensors, and those in its lists, replaced by their twins on the card. */
static bool move_args(const recipe *r, recipe_args *a) {
  const dl_schema *s = dl_op_schema(r->op);
  int nvar = 0;
  for (int i = 0; i < s->nparam; i++) {
    dl_arg *g = &a->arg[i];
    int n = g->tag == DL_A_TENSOR ? 1 : g->tag == DL_A_TENSORS ? g->n : 0;
    dl_tensor **slot = g->tag == DL_A_TENSOR ? &g->t : (dl_tensor **)g->ts;
    for (int j = 0; j < n; j++) {
      if (!slot[j]) continue;
      dl_tensor *t = moved(slot[j]);
      if (!t) return false;
      for (int k = 0; k < a->nown; k++)
        if (a->own[k] == slot[j]) {
          dl_tensor_release(a->own[k]);
          a->own[k] = t;
          break;
        }
      slot[j] = t;
      if (t->requires_grad && nvar < 16) a->var[nvar++] = t;
    }
  }
  a->nvar = nvar;
  return true;
}

/* ---- comparing ------------------------------------------------------------------------------- */
/* Room for another order of sums and another exp(), relative and absolute. */
static double tolerance(int dtype) {
  if (!real || !dl_dtype_is_float((dl_dtype)dtype)) return 0;
  return dtype == DL_F64 ? 1e-9 : dtype == DL_F32 ? 5e-5 : dtype == DL_F16 ? 4e-3 : 3e-2;
}

static bool same(const dl_tensor *want, const dl_tensor *got) {
  dl_tensor *h;
  if (!got || got->dev.type != DL_CUDA) {
    tap_diag("the result is not on the card");
    return false;
  }
  if (want->dtype != got->dtype || !dl_sizes_equal(want->ndim, want->size, got->ndim, got->size) ||
      dl_tensor_on_host(got, &h) != DL_OK) {
    tap_diag("another dtype or size, or unreadable: %s", dl_err.message);
    return false;
  }
  bool good = true;
  size_t es = dl_dtype_size((dl_dtype)want->dtype);
  double room = tolerance(want->dtype);
  for (int64_t i = 0; good && i < want->numel; i++) {
    good = memcmp(recipe_element(want, i), recipe_element(h, i), es) == 0;
    double x = recipe_value(want, i), y = recipe_value(h, i);
    good = good || (x != x && y != y) || fabs(x - y) <= room * (1 + fabs(x));
    if (!good) tap_diag("element %lld: %.17g on the CPU, %.17g on the card", (long long)i, x, y);
  }
  dl_tensor_release(h);
  return good;
}

/* ties: which of equal elements the second result names is the device's choice. */
static bool same_all(const dl_ret *want, const dl_ret *got, bool ties) {
  dl_tensor *x[MANY], *y[MANY];
  int n = recipe_results(want, x, MANY);
  if (n != recipe_results(got, y, MANY)) return false;
  for (int k = 0; k < n; k++)
    if (!(ties && k == 1) && !same(x[k], y[k])) return false;
  return true;
}

/* ---- gradients ------------------------------------------------------------------------------- */
/* The sum of the first result's gradient goes back; `.grad` of each variable is compared. */
static dl_status back(const dl_ret *r) {
  dl_tensor *y[MANY];
  int n = recipe_results(r, y, MANY);
  for (int k = 0; k < n; k++) {
    if (!dl_tensor_wants_grad(y[k])) continue;
    dl_tensor *sum;
    DL_TRY(dl_run(DL_OP_sum, (dl_arg[]){T(y[k])}, 1, 0, &sum));
    dl_status st = dl_backward(&sum, NULL, 1, NULL, 0, (dl_backward_opts){0}, NULL);
    dl_tensor_release(sum);
    return st;
  }
  return DL_OK;
}

static bool same_grads(const recipe_args *a, const recipe_args *b) {
  for (int k = 0; k < a->nvar && k < b->nvar; k++) {
    dl_tensor *g = a->var[k]->extra ? a->var[k]->extra->grad : NULL;
    dl_tensor *h = b->var[k]->extra ? b->var[k]->extra->grad : NULL;
    if (!g != !h) {
      tap_diag("variable %d has a gradient on one of them only", k);
      return false;
    }
    if (g && !same(g, h)) return false;
  }
  return true;
}

/* Rows without tensors are told where to go. */
static void place(const recipe *r, recipe_args *a) {
  int p = dl_op_schema(r->op)->p_device;
  if (p >= 0 && a->arg[0].tag != DL_A_TENSOR)
    a->arg[p] = ((dl_arg){.tag = DL_A_DEVICE, .dev = gpu});
}

/* ---- one way of calling ---------------------------------------------------------------------- */
static bool agrees(const recipe *r, recipe_how how, const char *what) {
  recipe_args a, b;
  dl_ret want = {0}, got = {0};
  bool good = recipe_build(r, how, &a) && recipe_build(r, how, &b) && move_args(r, &b);
  if (!good) tap_diag("%s: not built: %s", what, dl_err.message);
  place(r, &b);
  dl_gen_seed(&dl_gen_cpu, 1);
  dl_status st = good ? dl_dispatch(r->op, a.arg, 0, &want) : DL_OK;
  char said[DL_MESSAGE_MAX];
  snprintf(said, sizeof said, "%s", st == DL_OK ? "" : dl_err.message);
  dl_gen_seed(&dl_gen_cpu, 1);
  dl_status sg = good ? dl_dispatch(r->op, b.arg, 0, &got) : DL_OK;
  if (good && st != sg) {
    tap_diag("%s: '%s' on the CPU, '%s' on the card", what, said,
             sg == DL_OK ? "" : dl_err.message);
    good = false;
  } else if (good && st == DL_OK && !recipe_flag(r, 'r')) {
    good = same_all(&want, &got, real && recipe_flag(r, 'k'));
    if (good && how.grad) {
      good = back(&want) == back(&got) && same_grads(&a, &b);
      if (!good) tap_diag("%s", dl_err.message);
    }
    if (!good) tap_diag("%s differs", what);
  }
  dl_ret_free(&want);
  dl_ret_free(&got);
  recipe_free(&a);
  recipe_free(&b);
  return good;
}

static void try(const recipe *r) {
  static const dl_dtype dtypes[] = {DL_F32, DL_F16, DL_BF16, DL_I64, DL_I32, DL_U8, DL_BOOL};
  recipe_name(r, name, sizeof name);
  bool good = true;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes && good; i++) {
    recipe_how how = RECIPE_PLAIN;
    how.dtype = dtypes[i];
    good = agrees(r, how, dl_dtypes[dtypes[i]].name);
    how.strided = true;
    if (!recipe_flag(r, 'l')) good = good && agrees(r, how, "strided");
  }
  ok(good, "%s gives on a %s card what it gives on the CPU", name, real ? "real" : "simulated");
  if (recipe_flag(r, 'r') || recipe_flag(r, 'g')) return;
  recipe_how how = RECIPE_PLAIN;
  how.dtype = DL_F32;
  how.grad = true;
  ok(agrees(r, how, "gradient"), "%s has the same gradients there", name);
}

/* ---- an illegal address ---------------------------------------------------------------------- */
/* A tensor that says that its bytes are where nothing is (fake/machine.h knows the place). */
static dl_status astray(void) {
  int64_t n = 1000;
  dl_tensor *t, *u = NULL;
  DL_TRY(dl_tensor_new(gpu, DL_F32, 1, &n, &t));
  void *data = t->data;
  t->data = (void *)(uintptr_t)0x10000000;
  dl_status st = dl_run(DL_OP_relu, (dl_arg[]){T(t)}, 1, 0, &u);
  if (st == DL_OK) st = dl_gpu_sync(0);
  t->data = data;
  dl_tensor_release(t);
  dl_tensor_release(u);
  return st;
}

static int fault(void) {
  static const char says[] =
      "AcceleratorError: CUDA error: an illegal memory access was encountered…";
  int64_t n = 3;
  dl_tensor *t = NULL;
  is_status(astray(), says, "an illegal address is found when the host waits");
  is_status(dl_gpu_sync(0), says, "the error stays");
  is_status(dl_tensor_new(DL_DEV_CPU, DL_F32, 1, &n, &t), "", "the CPU is well");
  dl_tensor_release(t);
  return tap_done();
}

int main(int argc, char **argv) {
  bool broken = argc > 1 && !strcmp(argv[1], "--fault");
  real = broken || (argc > 1 && !strcmp(argv[1], "--cuda"));
  if (real) argc--, argv++;
  dl_op_init();
  if (real && !open_card()) {
    printf("1..0 # SKIP no GPU: %s\n", dl_plugin_state());
    return 0;
  }
  if (broken) return fault();
  if (!ok(open_card(), "a %s card opens", real ? "real" : "simulated")) return tap_done();
  int64_t live = dl_tensors_live;
  for (int i = 0; i < recipe_count; i++)
    if (recipe_wanted(&recipes[i], argc, argv)) try(&recipes[i]);
  dl_gpu_sync(0);
  is_int(dl_tensors_live, live, "no tensor is left");
  ok(dl_devmem_first == NULL, "no tensor's bytes are left on the card");
  return tap_done();
}
