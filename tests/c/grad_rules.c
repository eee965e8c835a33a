/* grad_rules.c -- the gradients at kinks, ties and zeros, where formulas alone do not decide
 *
 * Central differences (ops_grad) check every row at smooth points; here are PyTorch's choices at
 * the others. */
#include "grad_help.h"

#include <math.h>
#include <string.h>

/* The gradient of sum(op(x, …)) for x is `want`. Takes y. */
static void slope(const char *what, dl_tensor *x, dl_tensor *y, int n, const double *want) {
  dl_tensor *s = y ? RUN(sum, T(y)) : NULL, *g = s ? grad_of(s, x, false) : NULL;
  if (!g) ok(false, "%s: %s", what, dl_err.message);
  for (int i = 0; g && i < n; i++) is_double(at(g, i), want[i], 1e-5, "%s, element %d", what, i);
  drop(g), drop(s), drop(y);
}
#define SLOPE(what, x, y, ...)                                               \
  slope(what, x, y, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), \
        (double[]){__VA_ARGS__})

static void kinks(void) {
  dl_tensor *x = VEC(true, -1, 0, 0.5f, 1, 2);
  SLOPE("relu has slope 0 at 0", x, RUN(relu, T(x)), 0, 0, 1, 1, 1);
  SLOPE("abs has slope 0 at 0", x, RUN(abs, T(x)), -1, 0, 1, 1, 1);
  SLOPE("clamp passes nothing at its bounds", x, RUN(clamp, T(x), I(0), I(1)), 0, 0, 1, 0, 0);
  SLOPE("clamp with one bound", x, RUN(clamp, T(x), I(0)), 0, 0, 1, 1, 1);
  SLOPE("clamp_min passes nothing at its bound", x, RUN(clamp_min, T(x), I(0)), 0, 0, 1, 1, 1);
  SLOPE("clamp_max likewise", x, RUN(clamp_max, T(x), I(1)), 1, 1, 1, 0, 0);
  SLOPE("hardtanh has slope 0 at its bounds", x, RUN(hardtanh, T(x), I(0), I(1)), 0, 0, 1, 0, 0);
  SLOPE("threshold passes what lies above", x, RUN(threshold, T(x), F(0.5), I(9)), 0, 0, 0, 1, 1);
  SLOPE("leaky_relu takes the slope at 0", x, RUN(leaky_relu, T(x)), 0.01, 0.01, 1, 1, 1);
  SLOPE("floor is flat", x, RUN(floor, T(x)), 0, 0, 0, 0, 0);
  SLOPE("sign is flat", x, RUN(sign, T(x)), 0, 0, 0, 0, 0);
  drop(x);
}

static void ties(void) {
  dl_tensor *x = VEC(true, -1, 0, 0.5f, 1, 2), *lo = VEC(true, 0), *hi = VEC(true, 1);
  SLOPE("clamp by tensors gives half at a bound", x, RUN(clamp, T(x), T(lo), T(hi)), 0, 0.5, 1, 0.5,
        0);
  SLOPE("and the other half to the lower bound", lo, RUN(clamp, T(x), T(lo), T(hi)), 1.5);
  SLOPE("and to the upper", hi, RUN(clamp, T(x), T(lo), T(hi)), 1.5);
  SLOPE("where bounds cross the upper wins", hi, RUN(clamp, T(x), T(hi), T(lo)), 0);
  SLOPE("maximum shares a tie", x, RUN(maximum, T(x), T(lo)), 0, 0.5, 1, 1, 1);
  SLOPE("minimum shares a tie", x, RUN(minimum, T(x), T(hi)), 1, 1, 1, 0.5, 0);
  drop(hi), drop(lo), drop(x);
  x = VEC(true, 3, 3, 1);
  SLOPE("max of all shares among equals", x, RUN(max, T(x)), 0.5, 0.5, 0);
  SLOPE("amax too", x, RUN(amax, T(x)), 0.5, 0.5, 0);
  SLOPE("max along a dim takes the one it names", x, RUN(max_dim, T(x), I(0)), 1, 0, 0);
  drop(x);
  x = VEC(true, 1, 2, 2, 2, 3);
  SLOPE("median of all shares among equals", x, RUN(median, T(x)), 0, 1 / 3.0, 1 / 3.0, 1 / 3.0, 0);
  drop(x);
  x = VEC(true, 1, NAN, NAN);
  SLOPE("max shares among nans", x, RUN(max, T(x)), 0, 0.5, 0.5);
  drop(x);
}

static void zeros(void) {
  dl_tensor *x = VEC(true, 0, 3, 2), *z = VEC(true, 0, 0, 5), *e = VEC(true, 0, 0, 2);
  SLOPE("prod with one zero", x, RUN(prod, T(x)), 6, 0, 0);
  SLOPE("prod with two zeros", z, RUN(prod, T(z)), 0, 0, 0);
  SLOPE("cumprod past a zero", x, RUN(cumprod, T(x), I(0)), 1 + 3 + 6, 0, 0);
  SLOPE("x^0 is flat even at 0", x, RUN(pow, T(x), I(0)), 0, 0, 0);
  SLOPE("the base of 0^0 has slope 0", z, RUN(pow, T(z), T(e)), 0, 0, 10);
  SLOPE("the exponent of 0^0 too", e, RUN(pow, T(z), T(e)), 0, 0, 25 * log(5));
  drop(e), drop(z), drop(x);
  x = VEC(true, 0, 0);
  SLOPE("the norm of zeros has slope 0", x, RUN(norm, T(x)), 0, 0);
  SLOPE("std of equal numbers has slope 0", x, RUN(std, T(x)), 0, 0);
  drop(x);
  x = VEC(true, 4);
  SLOPE("var of one number is nan", x, RUN(var, T(x)), NAN);
  drop(x);
}

static void broadcast_and_cast(void) {
  dl_tensor *x = VEC(true, 1, 2), *d = RUN(_to_copy, T(x), DT(DL_F64)), *y = RUN(mul, T(d), F(3));
  dl_tensor *s = RUN(sum, T(y)), *g = grad_of(s, x, false);
  is_int(g ? g->dtype : -1, DL_F32, "a gradient has its leaf's dtype");
  is_double(at(g, 1), 3, 0, "and value");
  drop(g), drop(s), drop(y), drop(d), drop(x);
}

static void names(void) {
  dl_tensor *x = VEC(true, 1, 2), *w = VEC(true, 2, 3), *y;
#define NAME(want, ...) \
  y = RUN(__VA_ARGS__), is_str(name_of(y), want, "grad_fn is %s", want), drop(y)
  NAME("AddBackward0", add, T(x), I(1));
  NAME("PowBackward0", pow, T(x), I(2));
  NAME("PowBackward1", pow, T(x), T(w));
  NAME("RemainderBackward1", remainder, T(x), T(w));
  NAME("ClampBackward1", clamp, T(x), NIL, I(1));
  NAME("ClampBackward0", clamp, T(x), T(w));
  NAME("LerpBackward0", lerp, T(x), T(w), F(0.5));
  NAME("LerpBackward1", lerp, T(x), T(w), T(w));
  NAME("SumBackward1", sum_dim, T(x), L(((int64_t[]){0}), 1));
  NAME("MaxBackward0", max_dim, T(x), I(0));
  NAME("LinalgVectorNormBackward0", norm, T(x));
  drop(w), drop(x);
}

/* The rows and the recorder must agree on what a save mask counts. */
static void masks(void) {
  int bad = 0;
  for (int op = 0; op < DL_OP_COUNT; op++) {
    const dl_schema *s = dl_op_schema((dl_opid)op);
    int in = 0;
    for (int i = 0; i < s->nparam; i++) in += s->p[i].type <= DL_P_TN;
    uint32_t save = dl_ops[op].save;
    if ((save & 0xffff) >> in || save >> 16 >> s->nret) bad++, tap_diag("%s", dl_ops[op].id);
  }
  is_int(bad, 0, "every row saves only tensor parameters and results that it has");
}

/* An op that stands for two: node sizes decide what a live graph costs. */
static void size(void) {
  dl_tensor *x = VEC(true, 1, 2), *w = VEC(true, 2, 3), *y = RUN(mul, T(x), T(w));
  is_int(y->grad_fn->units * 64, 128, "a product's node takes 128 bytes");
  drop(y), drop(w), drop(x);
}

int main(void) {
  dl_op_init();
  int64_t tensors = dl_tensors_live;
  kinks();
  ties();
  zeros();
  broadcast_and_cast();
  names();
  masks();
  size();
  is_int(dl_tensors_live, tensors, "every tensor was let go");
  is_int(dl_nodes_live, 0, "every node was let go");
  return tap_done();
}
