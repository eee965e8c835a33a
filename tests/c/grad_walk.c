/* grad_walk.c -- backward: order, accumulation, depth, hooks, errors */
#include "grad_help.h"

#include <stdio.h>
#include <string.h>

static void accumulates(void) {
  dl_tensor *x = VEC(true, 1, 2, 3), *y = RUN(mul, T(x), T(x)), *s = RUN(sum, T(y));
  is_str(name_of(y), "MulBackward0", "a product remembers that it is one");
  ok(backward(s, true) == DL_OK, "backward from a scalar needs no gradient");
  is_double(at(grad(x), 2), 6, 1e-6, "the gradient of x * x at 3 is 6");
  ok(backward(s, false) == DL_OK, "a retained graph can be walked again");
  is_double(at(grad(x), 2), 12, 1e-6, "a second backward adds to .grad");
  is_status(backward(s, false), "RuntimeError: Trying to backward through the graph a second time…",
            "a third fails: the saved values were freed");
  is_double(at(grad(x), 2), 12, 1e-6, "and .grad is as before");
  drop(s), drop(y), drop(x);
}

static void nothing_saved(void) {
  dl_tensor *x = VEC(true, 1, 2), *y = RUN(add, T(x), I(1)), *s = RUN(sum, T(y));
  ok(backward(s, false) == DL_OK && backward(s, false) == DL_OK,
     "(x + 1):sum() saves nothing, so it can be walked twice");
  is_double(at(grad(x), 0), 2, 0, "and both count");
  drop(s), drop(y), drop(x);
}

static void shared_paths(void) {
  dl_tensor *x = VEC(true, 2, 3), *a = RUN(mul, T(x), F(2)), *b = RUN(mul, T(a), T(x));
  dl_tensor *c = RUN(add, T(a), T(b)), *s = RUN(sum, T(c));
  ok(backward(s, false) == DL_OK, "a value used twice gets both gradients before it passes them "
                                  "on");
  is_double(at(grad(x), 0), 10, 1e-6, "2x + 2x^2 has slope 2 + 4x: 10 at 2");
  is_double(at(grad(x), 1), 14, 1e-6, "and 14 at 3");
  drop(s), drop(c), drop(b), drop(a), drop(x);
}

static void broadcasting(void) {
  dl_tensor *x = VEC(true, 1, 2, 3), *w = VEC(true, 5), *y = RUN(mul, T(x), T(w)),
            *s = RUN(sum, T(y));
  ok(backward(s, false) == DL_OK, "backward through a broadcast product");
  is_int(grad(w)->numel, 1, "the gradient of the broadcast operand has its own shape");
  is_double(at(grad(w), 0), 6, 1e-6, "and is the sum over what it was spread over");
  drop(s), drop(y), drop(w), drop(x);
}

static void given_seeds(void) {
  dl_tensor *x = VEC(true, 1, 2), *y = RUN(mul, T(x), F(3)), *g = VEC(false, 10, 20),
            *bad = VEC(false, 1, 2, 3);
  is_status(backward(y, false),
            "RuntimeError: grad can be implicitly created only for scalar outputs",
            "a vector has no implicit gradient");
  is_status(dl_backward(&y, &bad, 1, NULL, 0, (dl_backward_opts){0}, NULL),
            "RuntimeError: Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and "
            "output[0] has a shape of torch.Size([2]).",
            "a seed of another shape is refused");
  ok(dl_backward(&y, &g, 1, NULL, 0, (dl_backward_opts){0}, NULL) == DL_OK,
     "a seed of its shape is taken");
  is_double(at(grad(x), 1), 60, 1e-5, "and scales the gradient");
  is_status(backward(g, false),
            "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
            "backward from plain data is refused");
  drop(bad), drop(g), drop(y), drop(x);
}

static void chain_of(int n) {
  dl_tensor *x = VEC(true, 1), *y = dl_tensor_retain(x);
  for (int i = 0; i < n; i++) {
    dl_tensor *next = RUN(add, T(y), F(1));
    drop(y);
    y = next;
  }
  is_int(dl_nodes_live, n + 1, "%d adds and one leaf are %d nodes", n, n + 1);
  ok(backward(y, false) == DL_OK, "a chain of %d ops goes backward", n);
  is_double(at(grad(x), 0), 1, 0, "its gradient is 1");
  drop(y);
  is_int(dl_nodes_live, 0, "and is freed whole, without recursion");
  drop(x);
}

static void asking_for_grads(void) {
  dl_tensor *x = VEC(true, 3), *w = VEC(true, 4), *z = VEC(true, 1);
  dl_tensor *y = RUN(mul, T(x), T(w)), *g = grad_of(y, x, false);
  is_double(at(g, 0), 4, 0, "autograd.grad answers the gradient");
  ok(!grad(x) && !grad(w), "and leaves every .grad alone");
  drop(g), drop(y);
  y = RUN(mul, T(x), T(w));
  ok(!grad_of(y, z, false), "an input that was not used is an error");
  is_str(dl_err.message,
         "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
         "allow_unused=True if this is the desired behavior.",
         "and says so");
  dl_tensor *in[2] = {x, z}, *out[2];
  drop(y), y = RUN(mul, T(x), T(w));
  ok(dl_backward(&y, NULL, 1, in, 2, (dl_backward_opts){.allow_unused = true}, out) == DL_OK,
     "unless allow_unused");
  ok(out[0] && !out[1], "then its gradient is absent");
  drop(out[0]), drop(z), drop(y);
  z = VEC(false, 1), y = RUN(mul, T(x), T(w));
  ok(!grad_of(y, z, false), "an input without requires_grad is an error");
  is_str(dl_err.message, "One of the differentiated Tensors does not require grad", "and says so");
  drop(y);
  y = RUN(mul, T(x), T(w));
  dl_tensor *y2 = RUN(mul, T(y), T(y)), *only[1] = {x};
  ok(dl_backward(&y2, NULL, 1, only, 1, (dl_backward_opts){.accumulate = true}, NULL) == DL_OK,
     "backward(inputs={x}) accumulates");
  ok(grad(x) && !grad(w), "into x alone");
  is_double(at(grad(x), 0), 96, 1e-4, "2 x w^2 = 96");
  drop(y2), drop(y), drop(z), drop(w), drop(x);
}

static void twice(void) {
  dl_tensor *x = VEC(true, 2), *y = RUN(pow, T(x), I(3)), *g = grad_of(y, x, true);
  is_double(at(g, 0), 12, 1e-5, "the slope of x^3 at 2 is 12");
  dl_tensor *gg = grad_of(g, x, true);
  is_double(at(gg, 0), 12, 1e-5, "its second derivative is 12");
  dl_tensor *ggg = grad_of(gg, x, false);
  is_double(at(ggg, 0), 6, 1e-5, "its third is 6");
  drop(ggg), drop(gg), drop(g), drop(y), drop(x);
}

/* ---- hooks ---------------------------------------------------------------------------------- */
static char trail[64];

static dl_status tensor_hook(int slot, dl_tensor *g, dl_tensor **with) {
  size_t n = strlen(trail);
  snprintf(trail + n, sizeof trail - n, "%d ", slot);
  if (slot == 3) return dl_run(DL_OP_mul, (dl_arg[]){T(g), F(10)}, 2, 0, with);
  if (slot == 9) return dl_fail(DL_RuntimeError, DL_E_CALLBACK, "a hook failed");
  return DL_OK;
}

static dl_status post_hook(int slot, dl_tensor *leaf) {
  size_t n = strlen(trail);
  snprintf(trail + n, sizeof trail - n, "post%d=%g ", slot, at(grad(leaf), 0));
  return DL_OK;
}

static dl_status nested_hook(int slot, dl_tensor *g, dl_tensor **with) {
  unsigned mode = dl_mode;
  dl_mode &= ~(unsigned)DL_MODE_NO_GRAD;
  dl_tensor *x = VEC(true, 5), *y = RUN(mul, T(x), T(x));
  dl_mode = mode;
  dl_status st = backward(y, false);
  is_double(at(grad(x), 0), 10, 1e-6, "a hook may run a backward of its own");
  drop(y), drop(x);
  return st;
}

static void set_slot(dl_tensor *t, int v) {
  int *slot = NULL;
  if (dl_tensor_hook_slot(t, &slot) == DL_OK) *slot = v;
}

static void hooks(void) {
  dl_host.tensor_hooks = tensor_hook;
  dl_host.post_hooks = post_hook;
  dl_tensor *x = VEC(true, 1, 1), *y = RUN(mul, T(x), F(2)), *s = RUN(sum, T(y));
  set_slot(x, 1), set_slot(y, 2);
  x->extra->post_hooks = 7;
  ok(dl_tensor_retain_grad(y) == DL_OK && dl_tensor_retain_grad(x) == DL_OK,
     "retain_grad is accepted");
  trail[0] = '\0';
  ok(backward(s, true) == DL_OK, "backward with hooks");
  is_str(trail, "2 1 post7=2 ", "y's hook runs first, then x's, then x's post hook");
  is_double(at(grad(y), 1), 1, 0, "y kept its gradient");
  drop(y);
  trail[0] = '\0';
  ok(backward(s, true) == DL_OK, "backward after y was let go");
  is_str(trail, "2 1 post7=4 ", "the hook outlives the tensor");
  set_slot(x, 3);
  ok(backward(s, true) == DL_OK, "backward with a hook that replaces");
  is_double(at(grad(x), 0), 24, 0, "the replaced gradient is what .grad gets");
  set_slot(x, 9);
  is_status(backward(s, true), "RuntimeError: a hook failed", "a failing hook fails backward");
  is_double(at(grad(x), 0), 24, 0, "and .grad is as before");
  drop(s), drop(x);
  is_int(dl_nodes_live, 0, "nothing of the graph is left");
  x = VEC(true, 1), y = RUN(mul, T(x), F(2));
  dl_host.tensor_hooks = nested_hook;
  set_slot(y, 1);
  ok(backward(y, false) == DL_OK, "the outer backward goes on after the inner one");
  is_double(at(grad(x), 0), 2, 0, "with its own gradient");
  drop(y), drop(x);
  dl_host.tensor_hooks = NULL;
  dl_host.post_hooks = NULL;
}

static void anomaly(void) {
  dl_tensor *x = VEC(true, 0), *r = RUN(sqrt, T(x)), *z = RUN(mul, T(r), F(0)), *s = RUN(sum, T(z));
  dl_mode |= DL_MODE_ANOMALY;
  is_status(backward(s, false),
            "RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.",
            "anomaly mode names the function that made a nan");
  dl_mode &= ~(unsigned)DL_MODE_ANOMALY;
  drop(s), drop(z), drop(r), drop(x);
}

static void refused(void) {
  dl_tensor *x = VEC(true, 1, 2), *w = VEC(true, 3, 4), *y = RUN(mul, T(x), T(w)),
            *s = RUN(sum, T(y));
  int64_t tensors = dl_tensors_live, nodes = dl_nodes_live;
  int failed = 0;
  for (int k = 1; k < 200; k++) {
    dl_tensor *in[2] = {x, w}, *out[2];
    dl_mem_refuse_at = k;
    dl_status st = dl_backward(&s, NULL, 1, in, 2,
                               (dl_backward_opts){.create_graph = true, .retain_graph = true}, out);
    dl_mem_refuse_at = 0;
    if (st == DL_OK) {
      drop(out[0]), drop(out[1]);
      break;
    }
    failed++;
    if (dl_tensors_live != tensors || dl_nodes_live != nodes) break;
  }
  ok(failed > 3, "a refused allocation fails backward (%d places)", failed);
  is_int(dl_tensors_live, tensors, "no tensor is left behind");
  is_int(dl_nodes_live, nodes, "and no node");
  drop(s), drop(y), drop(w), drop(x);
}

int main(void) {
  dl_op_init();
  int64_t tensors = dl_tensors_live;
  accumulates();
  nothing_saved();
  shared_paths();
  broadcasting();
  given_seeds();
  chain_of(100000);
  asking_for_grads();
  twice();
  hooks();
  anomaly();
  refused();
  is_int(dl_tensors_live, tensors, "every tensor was let go");
  is_int(dl_nodes_live, 0, "every node was let go");
  return tap_done();
}
