/* ops_refuse.c -- every row, forward and backward, with each allocation refused in turn
 *
 * After each refusal nothing may be left: tensors, nodes and bytes are back where they were.
 * Arguments: names of rows to try; none = all. */
#include <string.h>

#include "grad/grad.h"
#include "recipe.h"
#include "rng.h"
#include "tap.h"

#define MANY 64
#define MOST 2000 /* allocations of one call */

typedef struct level { int64_t tensors, nodes, bytes; } level;

static level now(void) { return (level){dl_tensors_live, dl_nodes_live, dl_mem.live_bytes}; }

static bool same_level(level a, level b) {
  return a.tensors == b.tensors && a.nodes == b.nodes && a.bytes == b.bytes;
}

static dl_status backward(recipe_args *a, const dl_ret *ret) {
  dl_tensor *v[MANY], *root[MANY], *g[MANY] = {0};
  int n = recipe_results(ret, v, MANY), m = 0;
  for (int k = 0; k < n; k++)
    if (v[k]->requires_grad && v[k]->grad_fn) root[m++] = v[k];
  if (m == 0) return DL_OK;
  dl_tensor *seed[MANY] = {0};
  dl_status st = DL_OK;
  for (int k = 0; st == DL_OK && k < m; k++) {
    st = dl_tensor_new(DL_DEV_CPU, root[k]->dtype, root[k]->ndim, root[k]->size, &seed[k]);
    if (st == DL_OK) memset(seed[k]->data, 0, seed[k]->st->nbytes);
  }
  dl_backward_opts o = {.allow_unused = true, .create_graph = true};
  if (st == DL_OK) st = dl_backward(root, seed, m, a->var, a->nvar, o, g);
  for (int k = 0; k < m; k++) dl_tensor_release(seed[k]);
  for (int k = 0; k < a->nvar; k++) dl_tensor_release(g[k]);
  return st;
}

/* One attempt with the n-th allocation refused; 0 = none. */
static dl_status attempt(const recipe *r, recipe_args *a, int64_t n) {
  dl_ret ret = {0}, copy = {0};
  dl_arg arg[DL_MAX_PARAM];
  const dl_schema *sc = dl_op_schema(r->op);
  memcpy(arg, a->arg, sizeof arg);
  dl_gen_seed(&dl_gen_cpu, 1);
  dl_err_clear();
  dl_mem_refuse_at = n;
  dl_status st = DL_OK;
  if (sc->name[strlen(sc->name) - 1] == '_') {
    st = dl_dispatch(DL_OP_clone, arg, 0, &copy);
    if (st == DL_OK) arg[0] = T(copy.v[0]);
  }
  if (st == DL_OK) st = dl_dispatch(r->op, arg, 0, &ret);
  if (st == DL_OK) st = backward(a, &ret);
  dl_mem_refuse_at = 0;
  dl_ret_free(&ret);
  dl_ret_free(&copy);
  return st;
}

static void one(const recipe *r) {
  char name[256];
  recipe_args a;
  recipe_how how = RECIPE_PLAIN;
  how.grad = !recipe_flag(r, 'g');
  recipe_name(r, name, sizeof name);
  if (!recipe_build(r, how, &a) || attempt(r, &a, 0) != DL_OK) { /* ops_loop reports these */
    recipe_free(&a);
    return;
  }
  level before = now();
  attempt(r, &a, 0);
  bool good = same_level(now(), before);
  if (!good) tap_diag("left behind without any refusal");
  int64_t n = 0;
  dl_status st = DL_E_OOM;
  while (good && st != DL_OK && ++n < MOST) {
    st = attempt(r, &a, n);
    level after = now();
    good = same_level(after, before) && (st == DL_OK || dl_err.kind == DL_E_OOM);
    if (!good)
      tap_diag("refused at %lld: %lld tensors, %lld nodes, %lld bytes left; %s: %s", (long long)n,
               (long long)(after.tensors - before.tensors), (long long)(after.nodes - before.nodes),
               (long long)(after.bytes - before.bytes), dl_kind_name(st), dl_err.message);
  }
  ok(good && n < MOST, "%s survives each refused allocation", name);
  recipe_free(&a);
}

int main(int argc, char **argv) {
  dl_op_init();
  for (int i = 0; i < recipe_count; i++)
    if (recipe_wanted(&recipes[i], argc, argv)) one(&recipes[i]);
  ok(true, "nothing else to try");
  return tap_done();
}
