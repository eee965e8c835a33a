/* cuda_faults.c -- values that a kernel cannot take: noted as PyTorch's assertion, nothing touched
 *
 * Each case is a recipe whose tensor `arg` gets one bad element. The address sanitizer watches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda_test.h"
#include "recipe.h"
#include "tap.h"

typedef struct bad { recipe r; int arg; double value; int code; } bad;

#define CASE(id, args, arg, value, code) {{DL_OP_##id, args, ""}, arg, value, DL_FAULT_##code},
static const bad cases[] = {
  CASE(index, "f[3,4] {i[2]<3}", 1, 3, INDEX)
  CASE(index, "f[3,4] {i[2]<3}", 1, -4, INDEX)
  CASE(index, "f[3,4] {i[2]<3 i[2]<4}", 1, 1e15, INDEX)
  CASE(index_put, "f[3,4] {i[2]<3} f[4]", 1, -9, INDEX)
  CASE(index_put, "f[3,4] {i[5]<3} f[5,4] T", 1, 3, INDEX)
  CASE(index_select, "f[3,4] 1 i[3]<4", 2, 4, SELECT)
  CASE(index_select, "f[3,4] 0 i[3]<3", 2, -1, SELECT)
  CASE(index_add, "f[3,4] 0 i[4]<3 f[4,4]", 2, 3, INDEX_ADD)
  CASE(index_copy, "f[3,4] 0 i[2]<3 f[2,4]", 2, 3, INDEX)
  CASE(index_fill, "f[3,4] 1 i[2]<4 0.5", 2, 4, INDEX)
  CASE(gather, "f[3,4] 1 i[3,2]<4", 2, 4, GATHER)
  CASE(gather, "f[3,4] 1 i[3,2]<4", 2, -1, GATHER)
  CASE(scatter, "f[3,4] 1 i[3,1]<4 f[3,1]", 2, 4, GATHER)
  CASE(scatter_add, "f[3,4] 1 i[3,5]<4 f[3,5]", 2, -1, GATHER)
  CASE(_embedding, "f[4,3] i[2,2]<4", 1, 4, SELECT)
  CASE(embedding_backward, "f[2,2,3] i[2,2]<4 4", 1, -1, SELECT)
  CASE(_nll_loss, "f[3,4] i[3]<4 _ 'mean' -100", 1, 4, NLL)
  CASE(_nll_loss, "f[3,4] i[3]<4 n[4] 'none' -100", 1, -1, NLL)
  CASE(_nll_loss2d, "f[2,3,2,2] i[2,2,2]<3 n[3] 'sum' -100", 1, 3, NLL2D)
  CASE(nll_loss_backward, "f[] i[3]<4 _ n[] (3,4) 'sum' -100", 1, 77, NLL)
  CASE(max_pool2d_backward, "f[1,1,2,2] i[1,1,2,2]<16 (1,1,4,4)", 1, 16, UNPOOL)
  CASE(max_pool2d_backward, "f[1,1,2,2] i[1,1,2,2]<16 (1,1,4,4)", 1, -1, UNPOOL)
  CASE(_bce_loss, "q[2,3] q[2,3] _ 'mean'", 0, 1.5, BCE)
  CASE(_bce_loss, "q[2,3] q[2,3] _ 'none'", 0, NAN, BCE)
  CASE(histc, "p[8] 4 0 0", 0, INFINITY, BINS)
  CASE(multinomial, "n[2,3] 2 T", 0, -1, WEIGHTS)
  CASE(multinomial, "n[2,3] 2 T", 0, NAN, WEIGHTS)
};

/* Put the bad value into the second element of the case's tensor. */
static void spoil(const bad *b, recipe_args *a) {
  dl_arg *v = &a->arg[b->arg];
  dl_tensor *t = v->tag == DL_A_TENSORS ? v->ts[0] : v->t;
  char *p = recipe_element(t, t->numel > 1 ? 1 : 0);
  if (dl_dtype_is_float((dl_dtype)t->dtype)) dl_elem_set_f64((dl_dtype)t->dtype, p, b->value);
  else dl_elem_set_i64((dl_dtype)t->dtype, p, (int64_t)b->value);
}

static void one(const bad *b, unsigned order) {
  recipe_args a;
  dl_ret ret = {0};
  char name[160], text[512];
  recipe_name(&b->r, name, sizeof name);
  if (!recipe_build(&b->r, RECIPE_PLAIN, &a)) return;
  spoil(b, &a);
  dl_status st = cuda_test_dispatch(b->r.op, a.arg, order, &ret);
  int code = st == DL_OK ? cuda_test_fault()->code : -1;
  if (!ok(code == b->code, "%s notes %g, threads in order %u", name, b->value, order))
    tap_diag("wanted %d, got %d: %s", b->code, code,
             st == DL_OK ? dl_cuda_fault_text(cuda_test_fault(), text, sizeof text)
                         : dl_err.message);
  dl_ret_free(&ret);
  recipe_free(&a);
}

/* What PyTorch asks of the weights before it draws without replacement. */
static void weights_are_refused(void) {
  const bad b = {{DL_OP_multinomial, "n[2,3] 2", ""}, 0, -1, 0};
  recipe_args a;
  dl_ret ret = {0};
  recipe_build(&b.r, RECIPE_PLAIN, &a);
  spoil(&b, &a);
  dl_status st = cuda_test_dispatch(b.r.op, a.arg, 0, &ret);
  is_status(st, "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
            "multinomial without replacement refuses a weight below 0");
  memset(a.arg[0].t->data, 0, a.arg[0].t->st->nbytes);
  st = cuda_test_dispatch(b.r.op, a.arg, 0, &ret);
  is_status(st, "RuntimeError: invalid multinomial distribution (sum of probabilities <= 0)",
            "multinomial without replacement refuses weights that are all 0");
  recipe_free(&a);
}

static void words(void) {
  dl_cuda_fault f = {DL_FAULT_NLL, {1, 0, 0}, {3, 0, 0}};
  char text[512];
  is_str(dl_cuda_fault_text(&f, text, sizeof text),
         "/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d: "
         "block: [1,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.",
         "a target out of bounds is worded as PyTorch words it");
}

int main(void) {
  dl_op_init();
  cuda_test_begin();
  dl_mode |= DL_MODE_NO_GRAD;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (unsigned order = 0; order < 4; order += 3) one(&cases[i], order);
  weights_are_refused();
  words();
  return tap_done();
}
