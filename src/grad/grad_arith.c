/* grad_arith.c -- gradients of the section "pointwise: arithmetic", written in ops
 *
 * SOURCE tools/autograd/derivatives.yaml, torch/csrc/autograd/FunctionsManual.cpp. */
#include "grad/words.h"

#include <math.h>

/* t times a number, unless it is 1 */
static dl_tensor *times(dl_ex *e, dl_tensor *t, const dl_arg *by) {
  return dl_arg_f(by) == 1 ? t : EX(e, mul, T(t), *by);
}

/* The k-th operand as an argument: the number given, or the saved tensor. */
static dl_arg operand(dl_gcall *g, int k) { return dl_arg_given(ARG(k)) ? *ARG(k) : T(IN(k)); }

DL_GRAD(add) {
  GIN(0, G(0));
  GIN(1, times(E, G(0), ARG(2)));
  return DONE;
}

DL_GRAD(sub) {
  GIN(0, G(0));
  GIN(1, NEG(times(E, G(0), ARG(2))));
  return DONE;
}

DL_GRAD(rsub) {
  GIN(0, times(E, NEG(G(0)), ARG(2)));
  GIN(1, G(0));
  return DONE;
}

DL_GRAD(mul) {
  if (dl_arg_given(ARG(1))) GIN(0, EX(E, mul, T(G(0)), *ARG(1)));
  else GIN(0, MUL(G(0), IN(1)));
  GIN(1, MUL(G(0), IN(0)));
  return DONE;
}

DL_GRAD(div) {
  dl_arg by = operand(g, 1);
  GIN(0, EX(E, div, T(G(0)), by));
  GIN(1, MUL(NEG(G(0)), DIV(DIV(IN(0), IN(1)), IN(1))));
  return DONE;
}

DL_GRAD(div_mode) {
  GIN(0, DO(zeros_like, G(0)));
  GIN(1, DO(zeros_like, G(0)));
  return DONE;
}

DL_GRAD(rdiv) {
  dl_tensor *r = DO(reciprocal, IN(0));
  if (dl_arg_given(ARG(1))) GIN(0, MUL(NEG(EX(E, mul, T(G(0)), *ARG(1))), MUL(r, r)));
  GIN(1, MUL(G(0), r));
  return DONE;
}

static dl_tensor *quotient(dl_gcall *g, const char *mode) {
  return EX(E, div_mode, T(IN(0)), T(IN(1)), S(mode));
}

DL_GRAD(remainder) {
  GIN(0, G(0));
  GIN(1, MUL(NEG(G(0)), quotient(g, "floor")));
  return DONE;
}

DL_GRAD(fmod) {
  GIN(0, G(0));
  GIN(1, MUL(NEG(G(0)), quotient(g, "trunc")));
  return DONE;
}

/* ---- powers --------------------------------------------------------------------------------- */
static dl_arg minus_one(const dl_arg *n) {
  return n->tag == DL_A_FLOAT ? F(n->f - 1) : I(dl_arg_i(n) - 1);
}

static dl_tensor *pow_base_number(dl_gcall *g, const dl_arg *n) {
  if (dl_arg_f(n) == 0) return ZEROS(0);
  return MUL(G(0), EX(E, mul, T(EX(E, pow, T(IN(0)), minus_one(n))), *n));
}

static dl_tensor *pow_base_tensor(dl_gcall *g) {
  dl_tensor *x = IN(0), *n = IN(1);
  dl_tensor *slope = MUL(n, EX(E, pow, T(x), T(ADDN(n, -1))));
  return ZERO_WHERE(MUL(G(0), slope), EX(E, eq, T(n), F(0)));
}

static dl_tensor *pow_exponent(dl_gcall *g) {
  dl_tensor *flat = EX(E, logical_and, T(EX(E, eq, T(IN(0)), F(0))), T(EX(E, ge, T(IN(1)), F(0))));
  return MUL(G(0), ZERO_WHERE(MUL(OUT(0), DO(log, IN(0))), flat));
}

DL_GRAD(pow) {
  if (dl_arg_given(ARG(1))) GIN(0, pow_base_number(g, ARG(1)));
  else GIN(0, pow_base_tensor(g));
  GIN(1, pow_exponent(g));
  return DONE;
}

DL_GRAD(rpow) {
  double base = dl_arg_f(ARG(1));
  dl_tensor *slope = MULN(OUT(0), log(base));
  if (base == 0) slope = ZERO_WHERE(slope, EX(E, ge, T(IN(0)), F(0)));
  GIN(0, MUL(G(0), slope));
  return DONE;
}

DL_GRAD(atan2) {
  dl_tensor *y = IN(0);
  dl_arg x = operand(g, 1),
         xx = x.tag == DL_A_TENSOR ? T(MUL(x.t, x.t)) : F(dl_arg_f(&x) * dl_arg_f(&x));
  dl_tensor *r = DO(reciprocal, EX(E, add, T(MUL(y, y)), xx));
  GIN(0, MUL(EX(E, mul, T(G(0)), x), r));
  GIN(1, MUL(MUL(G(0), NEG(y)), r));
  return DONE;
}

DL_GRAD(hypot) {
  GIN(0, MUL(G(0), DIV(IN(0), OUT(0))));
  GIN(1, MUL(G(0), DIV(IN(1), OUT(0))));
  return DONE;
}

/* ---- the larger and the smaller ------------------------------------------------------------- */
/* What a gets of g where the larger of a and b was taken: all, half of a tie, or nothing. */
static dl_tensor *share_of_larger(dl_ex *e, dl_tensor *g, dl_tensor *a, dl_tensor *b) {
  dl_tensor *half = EX(e, where, T(EX(e, eq, T(a), T(b))), T(EX(e, div, T(g), I(2))), T(g));
  return EX(e, masked_fill, T(half), T(EX(e, lt, T(a), T(b))), F(0));
}

static dl_tensor *share_of_smaller(dl_ex *e, dl_tensor *g, dl_tensor *a, dl_tensor *b) {
  dl_tensor *half = EX(e, where, T(EX(e, eq, T(a), T(b))), T(EX(e, div, T(g), I(2))), T(g));
  return EX(e, masked_fill, T(half), T(EX(e, gt, T(a), T(b))), F(0));
}

DL_GRAD(maximum) {
  GIN(0, share_of_larger(E, G(0), IN(0), IN(1)));
  GIN(1, share_of_larger(E, G(0), IN(1), IN(0)));
  return DONE;
}

DL_GRAD(minimum) {
  GIN(0, share_of_smaller(E, G(0), IN(0), IN(1)));
  GIN(1, share_of_smaller(E, G(0), IN(1), IN(0)));
  return DONE;
}

/* A number as bound: nothing flows at the bound itself. */
DL_GRAD(clamp_min) {
  if (dl_arg_given(ARG(1))) {
    GIN(0, KEEP_WHERE(G(0), EX(E, gt, T(IN(0)), *ARG(1))));
    return DONE;
  }
  return dl_grad_maximum(g);
}

DL_GRAD(clamp_max) {
  if (dl_arg_given(ARG(1))) {
    GIN(0, KEEP_WHERE(G(0), EX(E, lt, T(IN(0)), *ARG(1))));
    return DONE;
  }
  return dl_grad_minimum(g);
}

static dl_tensor *clamp_numbers(dl_gcall *g) {
  const dl_arg *lo = ARG(1), *hi = ARG(2);
  dl_tensor *x = IN(0);
  if (dl_arg_given(lo) && dl_arg_given(hi))
    return EX(E, hardtanh_backward, T(G(0)), T(x), *lo, *hi);
  if (dl_arg_given(lo)) return KEEP_WHERE(G(0), EX(E, gt, T(x), *lo));
  return KEEP_WHERE(G(0), EX(E, lt, T(x), *hi));
}

/* With tensors as bounds: minimum(maximum(x, lo), hi), with PyTorch's ties. */
DL_GRAD(clamp) {
  if (dl_arg_given(ARG(1)) || dl_arg_given(ARG(2))) {
    GIN(0, clamp_numbers(g));
    return DONE;
  }
  dl_tensor *x = IN(0), *lo = IN(1), *hi = IN(2), *raised = lo ? EX(E, maximum, T(x), T(lo)) : x;
  dl_tensor *through = hi ? share_of_smaller(E, G(0), raised, hi) : G(0);
  if (hi) GIN(2, share_of_smaller(E, G(0), hi, raised));
  if (lo) GIN(1, share_of_larger(E, through, lo, x));
  GIN(0, lo ? share_of_larger(E, through, x, lo) : through);
  return DONE;
}

/* ---- three operands ------------------------------------------------------------------------- */
DL_GRAD(lerp) {
  const dl_arg *number = ARG(2);
  if (dl_arg_given(number)) {
    GIN(0, MULN(G(0), 1 - dl_arg_f(number)));
    GIN(1, MULN(G(0), dl_arg_f(number)));
    return DONE;
  }
  GIN(0, MUL(G(0), EX(E, rsub, T(IN(2)), I(1))));
  GIN(1, MUL(G(0), IN(2)));
  GIN(2, MUL(G(0), SUB(IN(1), IN(0))));
  return DONE;
}

DL_GRAD(addcmul) {
  GIN(0, G(0));
  GIN(1, MUL(G(0), times(E, IN(2), ARG(3))));
  GIN(2, MUL(G(0), times(E, IN(1), ARG(3))));
  return DONE;
}

DL_GRAD(addcdiv) {
  GIN(0, G(0));
  GIN(1, MUL(G(0), EX(E, rdiv, T(IN(2)), *ARG(3))));
  GIN(2, MUL(NEG(G(0)), DIV(times(E, IN(1), ARG(3)), MUL(IN(2), IN(2)))));
  return DONE;
}

DL_GRAD(where) {
  GIN(1, KEEP_WHERE(G(0), IN(0)));
  GIN(2, ZERO_WHERE(G(0), IN(0)));
  return DONE;
}

DL_GRAD(masked_fill) {
  GIN(0, ZERO_WHERE(G(0), IN(1)));
  GIN(2, KEEP_WHERE(G(0), IN(1)));
  return DONE;
}
