/* grad_unary.c -- gradients of the section "pointwise: one operand", written in ops
 *
 * SOURCE tools/autograd/derivatives.yaml. Subgradients: abs'(0) = 0, steps have slope 0. */
#include "grad/words.h"

#include <math.h>

#define LN2 0.6931471805599453
#define LN10 2.302585092994046
#define TWO_OVER_ROOT_PI 1.1283791670955126

#define FLAT(id)                                                                    \
  DL_GRAD(id) {                                                                     \
    GIN(0, DO(zeros_like, G(0)));                                                   \
    return DONE;                                                                    \
  }
FLAT(sign)
FLAT(floor)
FLAT(ceil)
FLAT(round)
FLAT(trunc)

/* The gradient is g times or over something: one line a rule. */
#define SLOPE(id, expr)                                                             \
  DL_GRAD(id) {                                                                     \
    GIN(0, expr);                                                                   \
    return DONE;                                                                    \
  }
SLOPE(neg, NEG(G(0)))
SLOPE(abs, MUL(G(0), DO(sign, IN(0))))
SLOPE(frac, G(0))
SLOPE(sqrt, DIV(G(0), MULN(OUT(0), 2)))
SLOPE(rsqrt, MUL(MULN(G(0), -0.5), EX(E, pow, T(OUT(0)), I(3))))
SLOPE(reciprocal, MUL(NEG(G(0)), MUL(OUT(0), OUT(0))))
SLOPE(exp, MUL(G(0), OUT(0)))
SLOPE(exp2, MULN(MUL(G(0), OUT(0)), LN2))
SLOPE(expm1, MUL(G(0), ADDN(OUT(0), 1)))
SLOPE(log, DIV(G(0), IN(0)))
SLOPE(log2, DIV(G(0), MULN(IN(0), LN2)))
SLOPE(log10, DIV(G(0), MULN(IN(0), LN10)))
SLOPE(log1p, DIV(G(0), ADDN(IN(0), 1)))
SLOPE(sin, MUL(G(0), DO(cos, IN(0))))
SLOPE(cos, MUL(G(0), NEG(DO(sin, IN(0)))))
SLOPE(tan, MUL(G(0), ADDN(EX(E, pow, T(OUT(0)), I(2)), 1)))
SLOPE(sinh, MUL(G(0), DO(cosh, IN(0))))
SLOPE(cosh, MUL(G(0), DO(sinh, IN(0))))
SLOPE(atan, DIV(G(0), ADDN(MUL(IN(0), IN(0)), 1)))
SLOPE(erf, MUL(MULN(DO(exp, NEG(EX(E, pow, T(IN(0)), I(2)))), TWO_OVER_ROOT_PI), G(0)))

/* 1 / sqrt(1 - x^2) */
static dl_tensor *arc_slope(dl_gcall *g) { return DO(rsqrt, ADDN(MUL(NEG(IN(0)), IN(0)), 1)); }

SLOPE(asin, MUL(G(0), arc_slope(g)))
SLOPE(acos, MUL(G(0), NEG(arc_slope(g))))
