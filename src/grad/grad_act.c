/* grad_act.c -- gradients of the sections "pointwise: activations" and "backwards", written in ops
 *
 * First derivatives have kernels (rows <id>_backward); their own gradients are the formulas here.
 *
 * SOURCE tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp. */
#include "grad/words.h"

#include <math.h>

/* ---- first derivatives: one kernel each ----------------------------------------------------- */
#define BY_KERNEL(id, ...)      \
  DL_GRAD(id) {                 \
    GIN(0, EX(E, __VA_ARGS__)); \
    return DONE;                \
  }
BY_KERNEL(relu, relu_backward, T(G(0)), T(OUT(0)))
BY_KERNEL(sigmoid, sigmoid_backward, T(G(0)), T(OUT(0)))
BY_KERNEL(tanh, tanh_backward, T(G(0)), T(OUT(0)))
BY_KERNEL(gelu, gelu_backward, T(G(0)), T(IN(0)), *ARG(1))
BY_KERNEL(silu, silu_backward, T(G(0)), T(IN(0)))
BY_KERNEL(mish, mish_backward, T(G(0)), T(IN(0)))
BY_KERNEL(softplus, softplus_backward, T(G(0)), T(IN(0)), *ARG(1), *ARG(2))
BY_KERNEL(elu, elu_backward, T(G(0)), T(IN(0)), *ARG(1), I(1), I(1))
BY_KERNEL(selu, elu_backward, T(G(0)), T(IN(0)), F(1.6732632423543772848), F(1.0507009873554804935),
          I(1))
BY_KERNEL(celu, elu_backward, T(G(0)), T(IN(0)), *ARG(1), I(1), F(1 / dl_arg_f(ARG(1))))
BY_KERNEL(leaky_relu, leaky_relu_backward, T(G(0)), T(IN(0)), *ARG(1))
BY_KERNEL(hardtanh, hardtanh_backward, T(G(0)), T(IN(0)), *ARG(1), *ARG(2))
BY_KERNEL(hardsigmoid, hardsigmoid_backward, T(G(0)), T(IN(0)))
BY_KERNEL(hardswish, hardswish_backward, T(G(0)), T(IN(0)))
BY_KERNEL(logsigmoid, logsigmoid_backward, T(G(0)), T(IN(0)))

DL_GRAD(threshold) {
  GIN(0, ZERO_WHERE(G(0), EX(E, le, T(IN(0)), *ARG(1))));
  return DONE;
}

/* ---- second derivatives --------------------------------------------------------------------- *
 * The row is <id>_backward(grad, saved): input 0 takes the same kernel, input 1 the curvature.   */
#define ZERO_CURVE(id, ...)                           \
  DL_GRAD(id) {                                       \
    GIN(0, EX(E, id, T(G(0)), T(IN(1)) __VA_ARGS__)); \
    GIN(1, ZEROS(1));                                 \
    return DONE;                                      \
  }
ZERO_CURVE(relu_backward)
ZERO_CURVE(leaky_relu_backward, , *ARG(2))
ZERO_CURVE(hardtanh_backward, , *ARG(2), *ARG(3))
ZERO_CURVE(hardsigmoid_backward)

#define CURVE(id, expr, ...)                          \
  DL_GRAD(id) {                                       \
    GIN(0, EX(E, id, T(G(0)), T(IN(1)) __VA_ARGS__)); \
    GIN(1, expr);                                     \
    return DONE;                                      \
  }

/* incoming times first gradient: every curvature has this factor */
#define BOTH MUL(G(0), IN(0))

CURVE(sigmoid_backward, MUL(BOTH, ADDN(MULN(IN(1), -2), 1)))
CURVE(tanh_backward, MUL(G(0), MUL(MULN(IN(1), -2), IN(0))))

static dl_tensor *hardswish_curve(dl_gcall *g) {
  dl_tensor *x = IN(1);
  dl_tensor *inside = EX(E, logical_and, T(EX(E, gt, T(x), F(-3))), T(EX(E, lt, T(x), F(3))));
  return KEEP_WHERE(DIVN(BOTH, 3), inside);
}
CURVE(hardswish_backward, hardswish_curve(g))

static dl_tensor *logsigmoid_curve(dl_gcall *g) {
  dl_tensor *z = DO(sigmoid, IN(1));
  return MUL(MUL(BOTH, ADDN(z, -1)), z);
}
CURVE(logsigmoid_backward, logsigmoid_curve(g))

/* s (1 - s) (2 + x - 2 x s) */
static dl_tensor *silu_curve(dl_gcall *g) {
  dl_tensor *x = IN(1), *s = DO(sigmoid, x), *one_s = EX(E, rsub, T(s), I(1));
  dl_tensor *tail = ADDN(MUL(x, ADDN(MULN(s, -2), 1)), 2);
  return MUL(BOTH, MUL(MUL(s, one_s), tail));
}
CURVE(silu_backward, silu_curve(g))

/* t = tanh(softplus(x)), s = sigmoid(x): s (1 - t^2) (2 + x (1 - s - 2 t s)) */
static dl_tensor *mish_curve(dl_gcall *g) {
  dl_tensor *x = IN(1), *s = DO(sigmoid, x), *t = DO(tanh, DO(softplus, x));
  dl_tensor *flat = EX(E, rsub, T(MUL(t, t)), I(1));
  dl_tensor *inner = EX(E, rsub, T(ADD(s, MULN(MUL(t, s), 2))), I(1));
  return MUL(BOTH, MUL(MUL(s, flat), ADDN(MUL(x, inner), 2)));
}
CURVE(mish_backward, mish_curve(g))

static dl_tensor *softplus_curve(dl_gcall *g) {
  dl_tensor *x = EX(E, mul, T(IN(1)), *ARG(2));
  dl_tensor *bend = EX(E, sigmoid_backward, T(BOTH), T(DO(sigmoid, x)));
  return EX(E, mul, T(KEEP_WHERE(bend, EX(E, lt, T(x), *ARG(3)))), *ARG(2));
}
CURVE(softplus_backward, softplus_curve(g), , *ARG(2), *ARG(3))

static dl_tensor *elu_curve(dl_gcall *g) {
  dl_tensor *scaled = EX(E, mul, T(BOTH), *ARG(4));
  dl_tensor *bend = EX(E, elu_backward, T(scaled), T(IN(1)), *ARG(2), *ARG(3), *ARG(4));
  return KEEP_WHERE(bend, EX(E, lt, T(IN(1)), F(0)));
}
CURVE(elu_backward, elu_curve(g), , *ARG(2), *ARG(3), *ARG(4))

/* phi(x) (2 - x^2) */
static dl_tensor *gelu_curve_erf(dl_gcall *g) {
  dl_tensor *x = IN(1), *xx = MUL(x, x);
  dl_tensor *density = MULN(DO(exp, MULN(xx, -0.5)), 0.3989422804014327);
  return MUL(BOTH, MUL(density, EX(E, rsub, T(xx), I(2))));
}

/* t = tanh(u), u = k (x + c x^3): (1 - t^2) (u' + x u'' / 2 - x t u'^2) */
static dl_tensor *gelu_curve_tanh(dl_gcall *g) {
  const double k = 0.7978845608028654, c = 0.044715;
  dl_tensor *x = IN(1), *xx = MUL(x, x);
  dl_tensor *t = DO(tanh, MUL(x, ADDN(MULN(xx, k * c), k)));
  dl_tensor *du = ADDN(MULN(xx, 3 * k * c), k), *half_ddu_x = MULN(xx, 3 * k * c);
  dl_tensor *inner = SUB(ADD(du, half_ddu_x), MUL(MUL(x, t), MUL(du, du)));
  return MUL(BOTH, MUL(EX(E, rsub, T(MUL(t, t)), I(1)), inner));
}

static dl_tensor *gelu_curve(dl_gcall *g) {
  const dl_arg *form = ARG(2);
  return form->tag == DL_A_STR && form->s[0] == 't' ? gelu_curve_tanh(g) : gelu_curve_erf(g);
}
CURVE(gelu_backward, gelu_curve(g), , *ARG(2))
