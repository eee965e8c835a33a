/* grad_inplace.c -- writes in place under autograd: versions, views, history, errors */
#include "grad_help.h"

#define HINT                                                                                    \
  " Hint: enable anomaly detection to find the operation that failed to compute its gradient, " \
  "with torch.autograd.set_detect_anomaly(True, check_nan=False)."
#define CHANGED                                                                  \
  "RuntimeError: one of the variables needed for gradient computation has been " \
  "modified by an inplace operation: "

static void versions(void) {
  dl_tensor *x = VEC(true, 1, 2, 3), *y = RUN(sigmoid, T(x)), *s = RUN(sum, T(y));
  drop(RUN_(add, T(y), F(1)));
  is_status(backward(s, false),
            CHANGED
            "[torch.FloatTensor [3]], which is output 0 of Sigmoid, is at version 1; "
            "expected version 0 instead." HINT,
            "sigmoid saves its result, so changing that is caught");
  drop(s), drop(y);
  y = RUN(mul, T(x), F(2)), drop(RUN_(add, T(y), F(1))), s = RUN(sum, T(y));
  is_str(name_of(y), "AddBackward0", "after y:add_(1) the last op of y is an add");
  ok(backward(s, false) == DL_OK, "mul by a number saves no tensor, so y:add_(1) is legal");
  is_double(at(grad(x), 0), 2, 0, "and the gradient flows through both");
  drop(s), drop(y), drop(x);
  dl_tensor *w = VEC(false, 1, 2, 3);
  x = VEC(true, 1, 2, 3), y = RUN(mul, T(x), T(w));
  drop(RUN_(add, T(w), F(1)));
  s = RUN(sum, T(y));
  is_status(backward(s, false),
            CHANGED "[torch.FloatTensor [3]] is at version 1; expected version 0 instead." HINT,
            "a changed leaf has no function to name");
  drop(s), drop(y), drop(w), drop(x);
}

static void unneeded(void) {
  dl_tensor *x = VEC(true, 1, 2), *w = VEC(false, 3, 4), *h = RUN(mul, T(x), F(1)),
            *y = RUN(mul, T(h), T(w));
  drop(RUN_(zero_, T(h)));
  dl_tensor *s = RUN(sum, T(y));
  ok(backward(s, false) == DL_OK, "mul does not keep the operand whose partner needs no gradient");
  is_double(at(grad(x), 1), 4, 0, "so changing it later is legal");
  drop(s), drop(y), drop(h), drop(w), drop(x);
}

static void own_value(void) {
  dl_tensor *x = VEC(true, 3), *w = VEC(true, 4), *h = RUN(mul, T(x), F(1));
  drop(RUN_(mul, T(h), T(w)));
  ok(backward(h, false) == DL_OK, "h:mul_(w) keeps a copy of the h it destroys");
  is_double(at(grad(w), 0), 3, 0, "the gradient of w is the old h");
  is_double(at(grad(x), 0), 4, 0, "the gradient of x is w");
  drop(h), drop(w), drop(x);
}

static void cycles(void) {
  int64_t nodes = dl_nodes_live, tensors = dl_tensors_live;
  dl_tensor *w = VEC(true, 1, 2), *h = VEC(false, 3, 4), *y = RUN(mul, T(h), T(w));
  drop(RUN_(add, T(h), T(y)));
  drop(y);
  dl_tensor *s = RUN(sum, T(h));
  is_status(backward(s, false),
            CHANGED
            "[torch.FloatTensor [2]], which is output 0 of Add, is at version 1; "
            "expected version 0 instead." HINT,
            "h:add_(h * w) loses the h that mul saved");
  drop(s), drop(h), drop(w);
  is_int(dl_nodes_live, nodes, "a tensor saved by its own history does not hold itself: nodes");
  is_int(dl_tensors_live, tensors, "and tensors");
}

static void leaves(void) {
  const char *leaf =
      "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.";
  const char *view =
      "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place "
      "operation.";
  dl_tensor *x = VEC(true, 1, 2, 3), *out;
  is_status(dl_run(DL_OP_add, (dl_arg[]){T(x), F(1)}, 2, DL_INPLACE, &out), leaf,
            "x:add_ on a leaf");
  is_double(at(x, 0), 1, 0, "has not written");
  dl_tensor *v = RUN(slice, T(x), I(0), I(0), I(2));
  is_status(dl_run(DL_OP_add, (dl_arg[]){T(v), F(1)}, 2, DL_INPLACE, &out), view,
            "a view of a leaf likewise");
  dl_mode |= DL_MODE_NO_GRAD;
  ok(dl_run(DL_OP_add, (dl_arg[]){T(x), F(1)}, 2, DL_INPLACE, &out) == DL_OK,
     "under no_grad a leaf may change");
  drop(out);
  dl_tensor *u = RUN(slice, T(x), I(0), I(0), I(2));
  dl_mode &= ~(unsigned)DL_MODE_NO_GRAD;
  is_int(*x->ver, 1, "and counts a version");
  is_status(dl_run(DL_OP_add, (dl_arg[]){T(u), F(1)}, 2, DL_INPLACE, &out),
            "RuntimeError: A view was created in no_grad mode and is being modified inplace with "
            "grad mode enabled. "
            "Given that this use case is ambiguous and error-prone, it is forbidden. You can "
            "clarify your code by "
            "moving both the view and the inplace either both inside the no_grad block (if you "
            "don't want the "
            "inplace to be tracked) or both outside (if you want the inplace to be tracked).",
            "a view made under no_grad may not change outside");
  drop(u), drop(v), drop(x);
}

static void multi_views(void) {
  dl_tensor *x = VEC(true, 1, 2), *y = RUN(mul, T(x), F(2)), *out;
  dl_ret r;
  ok(dl_dispatch(DL_OP_unbind, (dl_arg[]){T(y), I(0)}, 0, &r) == DL_OK && r.n == 2,
     "unbind gives two views");
  is_status(dl_run(DL_OP_add, (dl_arg[]){T(r.more[0]), F(1)}, 2, DL_INPLACE, &out),
            "RuntimeError: Output 0 of Unbind is a view and is being modified inplace. This view "
            "is the output of "
            "a function that returns multiple views. Such functions do not allow the output views "
            "to be modified "
            "inplace. You should replace the inplace operation by an out-of-place one.",
            "one of several views may not be changed");
  dl_ret_free(&r);
  drop(y), drop(x);
}

static void view_writes(void) {
  dl_tensor *x = VEC(true, 1, 2, 3), *y = RUN(mul, T(x), F(2)),
            *v = RUN(slice, T(y), I(0), I(0), I(2));
  dl_tensor *other = RUN(slice, T(y), I(0), I(1), I(3));
  is_str(name_of(v), "SliceBackward0", "a view has its own function");
  drop(RUN_(mul, T(v), F(10)));
  is_str(name_of(y), "CopySlices", "after v:mul_(10) the base has CopySlices");
  is_str(name_of(v), "AsStridedBackward0", "and the view is a strided part of it");
  is_str(name_of(other), "AsStridedBackward0", "another view of it likewise");
  dl_tensor *s = RUN(sum, T(y));
  ok(backward(s, true) == DL_OK, "backward through the written view");
  is_double(at(grad(x), 0), 20, 0, "what lay in the view was scaled");
  is_double(at(grad(x), 2), 2, 0, "the rest was not");
  dl_tensor_drop(&x->extra->grad);
  dl_tensor *t = RUN(sum, T(other));
  ok(backward(t, true) == DL_OK, "backward through the other view");
  is_double(at(grad(x), 0), 0, 0, "it does not see the first element");
  is_double(at(grad(x), 1), 20, 0, "it sees the written second");
  is_double(at(grad(x), 2), 2, 0, "and the third");
  drop(t), drop(s), drop(other), drop(v), drop(y), drop(x);
}

/* a = zeros(3); a[0] = w: the assignment makes a part of the graph */
static void assignment(void) {
  dl_tensor *a = VEC(false, 0, 0, 0), *w = VEC(true, 5), *v = RUN(slice, T(a), I(0), I(0), I(1));
  drop(RUN_(copy_, T(v), T(w)));
  ok(a->requires_grad, "writing a tracked value into a view makes the base tracked");
  is_str(name_of(a), "CopySlices", "by CopySlices");
  dl_tensor *sq = RUN(mul, T(a), T(a)), *s = RUN(sum, T(sq));
  ok(backward(s, false) == DL_OK, "backward through the assignment");
  is_double(at(grad(w), 0), 10, 0, "reaches the value: 2 * 5");
  drop(s), drop(sq), drop(v), drop(w), drop(a);
}

/* A view made before its base entered the graph follows it. */
static void late_view(void) {
  dl_tensor *b = VEC(false, 1, 2, 3), *v = RUN(slice, T(b), I(0), I(0), I(2));
  dl_tensor *w = VEC(true, 4, 5, 6), *other = VEC(false, 10, 20), *y = NULL, *s;
  drop(RUN_(mul, T(b), T(w)));
  ok(dl_tensor_wants_grad(v), "a view requires grad when its base came to");
  is_str(name_of(v), "AsStridedBackward0", "as a strided part of it");
  dl_op2(DL_OP_mul, v, other, &y);
  s = RUN(sum, T(y));
  ok(backward(s, false) == DL_OK, "backward from the view");
  is_double(at(grad(w), 1), 40, 0, "reaches what the base was multiplied by: 2 * 20");
  is_double(at(grad(w), 2), 0, 0, "and nothing outside the view");
  drop(s), drop(y), drop(other), drop(w), drop(v), drop(b);
}

static void strided_base(void) {
  float v[6] = {1, 2, 3, 4, 5, 6};
  dl_tensor *flat = vec(6, v, true), *m = RUN(view, T(flat), L(((int64_t[]){2, 3}), 2)),
            *tr = RUN(t, T(m));
  dl_tensor *y = RUN(mul, T(tr), F(1)), *row = RUN(select, T(y), I(0), I(1));
  drop(RUN_(mul, T(row), F(3)));
  dl_tensor *s = RUN(sum, T(y));
  ok(backward(s, false) == DL_OK, "backward through a write to a row of a transposed result");
  is_double(at(grad(flat), 1), 3, 0, "element (1, 0) was tripled");
  is_double(at(grad(flat), 4), 3, 0, "element (1, 1) too");
  is_double(at(grad(flat), 0), 1, 0, "others were not");
  drop(s), drop(row), drop(y), drop(tr), drop(m), drop(flat);
}

static void second_order(void) {
  dl_tensor *x = VEC(true, 2, 3), *y = RUN(mul, T(x), F(1)),
            *v = RUN(slice, T(y), I(0), I(0), I(1));
  drop(RUN_(pow, T(v), I(3)));
  dl_tensor *s = RUN(sum, T(y)), *g = grad_of(s, x, true);
  is_double(at(g, 0), 12, 1e-4, "the slope of x[0]^3 written through a view");
  dl_tensor *gs = g ? RUN(sum, T(g)) : NULL, *gg = gs ? grad_of(gs, x, false) : NULL;
  is_double(at(gg, 0), 12, 1e-4, "and its second derivative");
  is_double(at(gg, 1), 0, 0, "the untouched element has none");
  drop(gg), drop(gs), drop(g), drop(s), drop(v), drop(y), drop(x);
}

static void retained(void) {
  dl_tensor *x = VEC(true, 1), *y = RUN(mul, T(x), F(1));
  ok(dl_tensor_retain_grad(y) == DL_OK, "retain_grad before a write in place");
  drop(RUN_(mul, T(y), F(3)));
  ok(backward(y, false) == DL_OK, "backward from the written tensor");
  is_double(at(grad(y), 0), 1, 0, "the kept gradient is that of the new value");
  is_double(at(grad(x), 0), 3, 0, "the leaf's goes through the write");
  drop(y), drop(x);
}

int main(void) {
  dl_op_init();
  int64_t tensors = dl_tensors_live;
  versions();
  unneeded();
  own_value();
  cycles();
  leaves();
  multi_views();
  view_writes();
  assignment();
  late_view();
  strided_base();
  second_order();
  retained();
  is_int(dl_tensors_live, tensors, "every tensor was let go");
  is_int(dl_nodes_live, 0, "every node was let go");
  return tap_done();
}
