/* amp_record.c -- the run record and autocast without Lua, as a judge in C uses them */
#include <string.h>

#include "grad/grad.h"
#include "op/autocast.h"
#include "op/record.h"
#include "tap.h"

static dl_tensor *ones(int64_t a, int64_t b, bool grad) {
  int64_t size[] = {a, b};
  dl_tensor *t;
  if (dl_run(DL_OP_ones, (dl_arg[]){L(size, 2)}, 1, 0, &t) != DL_OK) return NULL;
  t->requires_grad = grad;
  return t;
}

static dl_tensor *run2(dl_opid op, dl_tensor *a, dl_tensor *b) {
  dl_tensor *t = NULL;
  is_status(dl_run(op, (dl_arg[]){T(a), T(b)}, 2, 0, &t), "", "%s runs", dl_ops[op].id);
  return t;
}

static void counts(void) {
  dl_tensor *x = ones(3, 4, false), *w = ones(4, 5, true), *loss = NULL;
  is_status(dl_record_start(), "", "a record begins");
  is_status(dl_record_start(), "RuntimeError: a record is being kept already", "one at a time");
  is_status(dl_record_watch(w, "w"), "", "a parameter is watched");
  dl_tensor *y = run2(DL_OP_mm, x, w);
  is_status(dl_run(DL_OP_sum, (dl_arg[]){T(y)}, 1, 0, &loss), "", "a loss");
  is_status(dl_backward(&loss, NULL, 1, NULL, 0, (dl_backward_opts){0}, NULL), "", "backward");
  dl_tensor_release(run2(DL_OP_add, x, x));
  dl_mode |= DL_MODE_NO_GRAD;
  dl_tensor *same = NULL;
  is_status(dl_run(DL_OP_sub, (dl_arg[]){T(w), T(w->extra->grad)}, 2, DL_INPLACE, &same), "",
            "a step by hand");
  dl_mode &= ~(unsigned)DL_MODE_NO_GRAD;
  dl_record_stop();
  const dl_record *r = dl_record_get();
  is_int(r->sum[DL_OP_mm].calls, 2, "products: forward, and backward for w alone");
  is_int(r->sum[DL_OP_mm].flops, 2 * 2 * 3 * 4 * 5, "their operations");
  is_int(r->backwards, 1, "one backward");
  is_int(r->nodes_peak - r->nodes_start, 3, "mm, sum and the leaf's node lived");
  is_int(r->nparam, 1, "one parameter");
  is_int(r->param[0].changed, 1, "which changed");
  is_int(r->param[0].updates, 1, "by one update");
  is_int(r->param[0].grad, 1, "its gradient is finite");
  is_int(r->memory[0].peak_role[DL_ROLE_GRAD] >= 80, 1, "gradients were counted");
  is_int(dl_mode & DL_MODE_RECORD, 0, "afterwards nothing is recorded");
  int64_t n = r->n;
  dl_tensor_release(run2(DL_OP_add, x, x));
  is_int(r->n, n, "an op after the end is not in it");
  dl_record_free();
  ok(dl_record_get() == NULL, "the record is freed");
  dl_tensor_release(same);
  dl_tensor_release(loss);
  dl_tensor_release(y);
  dl_tensor_release(x);
  dl_tensor_release(w);
}

static void ledger(void) {
  int64_t before = dl_ledger[0][DL_ROLE_OTHER], saved = dl_ledger[0][DL_ROLE_SAVED];
  dl_tensor *x = ones(10, 10, true);
  is_int(dl_ledger[0][DL_ROLE_OTHER] - before, 400, "a fresh tensor's bytes are other");
  dl_tensor *y = run2(DL_OP_mul, x, x);
  is_int(dl_ledger[0][DL_ROLE_SAVED] - saved, 400, "kept by a node they are saved");
  dl_tensor_release(y);
  is_int(dl_ledger[0][DL_ROLE_SAVED], saved, "let go they are not");
  dl_ledger_say(x, DL_ROLE_PARAM);
  y = run2(DL_OP_mul, x, x);
  is_int(dl_ledger[0][DL_ROLE_SAVED], saved, "a parameter stays one though it is kept");
  dl_tensor_release(y);
  dl_tensor_release(x);
  is_int(dl_ledger[0][DL_ROLE_OTHER], before, "in the end nothing is left");
}

static void regions(void) {
  dl_autocast_state now = dl_autocast, before, inner;
  dl_tensor *x = ones(2, 2, false), *w = ones(2, 2, true);
  int64_t live = dl_tensors_live;
  now.on[DL_CPU] = true;
  dl_autocast_enter(&now, &before);
  dl_tensor *y = run2(DL_OP_mm, x, w);
  is_int(y->dtype, DL_BF16, "a product under autocast is bfloat16");
  dl_tensor_release(y);
  y = run2(DL_OP_add, x, w);
  is_int(y->dtype, DL_F32, "a sum is not");
  dl_tensor_release(y);
  is_int(dl_tensors_live - live, 1, "one cast weight is kept");
  now.on[DL_CPU] = false;
  dl_autocast_enter(&now, &inner);
  is_int(dl_mode & DL_MODE_AUTOCAST, 0, "a region that is off clears the mode");
  dl_autocast_leave(&inner);
  is_int((dl_mode & DL_MODE_AUTOCAST) != 0, 1, "and leaves it as it was");
  dl_autocast_leave(&before);
  is_int(dl_tensors_live, live, "with the outermost region the cast goes");
  is_int(dl_mode & DL_MODE_AUTOCAST, 0, "and the mode");
  dl_tensor_release(x);
  dl_tensor_release(w);
}

/* Every allocation refused in turn: the error comes back, the mode is as it was, nothing leaks. */
static void refused(void) {
  dl_tensor *x = ones(2, 2, false), *w = ones(2, 2, true);
  dl_autocast_state now = dl_autocast, before;
  now.on[DL_CPU] = true;
  int64_t live = dl_tensors_live, nodes = dl_nodes_live;
  int failed = 0, broken = 0;
  for (int64_t n = 1; n < 40; n++) {
    dl_tensor *y = NULL;
    dl_autocast_enter(&now, &before);
    dl_mem_refuse_at = n;
    dl_status st = dl_run(DL_OP_mm, (dl_arg[]){T(x), T(w)}, 2, 0, &y);
    bool refusal = dl_mem_refuse_at == 0;
    dl_mem_refuse_at = 0;
    broken += !(dl_mode & DL_MODE_AUTOCAST) || (st != DL_OK && y);
    failed += st != DL_OK;
    dl_tensor_release(y);
    dl_autocast_leave(&before);
    if (!refusal) break;
  }
  ok(failed > 0, "a cast product can be refused memory");
  is_int(broken, 0, "its region stays on");
  is_int(dl_tensors_live, live, "no tensor is left behind");
  is_int(dl_nodes_live, nodes, "no node either");
  dl_tensor_release(x);
  dl_tensor_release(w);
}

int main(void) {
  dl_mem_init();
  dl_op_init();
  counts();
  ledger();
  regions();
  refused();
  return tap_done();
}
