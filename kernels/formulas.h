/* formulas.h -- each pointwise op's scalar formula, written once
 *
 * For kernels/cpu/pointwise_*.c and every other machine's loops: they define the row macros and
 * the words below, then include this file once a dtype. A row is one text for all machines.
 *
 *   DL_PW(kind, id, n, numbers, real, whole)    floats by `real`, integers by `whole`
 *   DL_PWF(kind, id, n, numbers, real)          floats only
 *   DL_PWG(kind, id, n, numbers, test, quick, real)  floats; `quick` gives the same bits as `real`
 *                                               wherever `test` holds
 *   DL_PWI(kind, id, n, numbers, whole)         integers (int64) only
 *   DL_PWB(kind, id, n, numbers, real, whole)   result is true or false
 *
 *   kind     OP: the kernel of op `id`.  FORM: one form of an op that picks by its arguments.
 *   n        operands x, y, z
 *   numbers  NUM0, NUM1(i) …: schema positions of the numbers a, b, c
 *   words    R the dtype, K(v) a constant of it, FMA, pick, exp, log, … its functions, TOP its
 *            largest value; W(v) an integer that wraps around; NUMF(i) the i-th number as a double
 *
 * INVARIANT  No branches but selects, no libc, no includes. float32 gives equal bits everywhere. */

#define LARGER(p, q) ((((p) > (q)) | ((p) != (p))) ? (p) : (q))    /* nan wins, as in PyTorch */
#define SMALLER(p, q) ((((p) < (q)) | ((p) != (p))) ? (p) : (q))
#define MOST(p, q) ((p) > (q) ? (p) : (q))                        /* integers */
#define LEAST(p, q) ((p) < (q) ? (p) : (q))
#define PICK(bit, p, q) ((bit) ? (p) : (q))
#define SIX(v) FN(clamp)(v, K(0.0), K(6.0))

/* ---- integers: Python's and C's division; the caller has refused y == 0 ----------------- */
#ifndef DL_FORMULAS_WHOLE
#define DL_FORMULAS_WHOLE
DL_FN long long dl_neg64(long long x) { return (long long)(0 - (dl_u64)x); }
/* x / y with -x for y = -1, where the machine's division would trap on the smallest integer */
DL_FN long long dl_trunc_div64(long long x, long long y) {
  long long d = ((y == 0) | (y == -1)) ? 1 : y, q = x / d;
  return y == -1 ? dl_neg64(x) : q;
}
DL_FN long long dl_fmod64(long long x, long long y) {
  return x % (((y == 0) | (y == -1)) ? 1 : y);
}
DL_FN long long dl_mod64(long long x, long long y) {
  long long m = dl_fmod64(x, y);
  return ((m != 0) & ((m < 0) != (y < 0))) ? m + y : m;
}
DL_FN long long dl_floor_div64(long long x, long long y) {
  long long m = dl_fmod64(x, y), q = dl_trunc_div64(x, y);
  return q - ((m != 0) & ((m < 0) != (y < 0)));
}
/* x^y wrapping around; below y = 0 only 1 and -1 have an integer answer, the others give 0 */
DL_FN long long dl_pow64(long long x, long long y) {
  dl_u64 r = 1, b = (dl_u64)x, n = y < 0 ? 0 : (dl_u64)y;
  for (; n; n >>= 1, b *= b) r *= n & 1 ? b : 1;
  long long below = x == 1 ? 1 : x == -1 ? ((y & 1) ? -1 : 1) : 0;
  return y < 0 ? below : (long long)r;
}
DL_FN double dl_gap64(long long x, long long y) {
  return (double)(x > y ? (dl_u64)x - (dl_u64)y : (dl_u64)y - (dl_u64)x);
}
#endif

#ifdef R
DL_FN R FN(clamp)(R v, R low, R high) {
  R t = pick((v > low) | (v != v), v, low);
  return pick((t < high) | (t != t), t, high);
}
#endif

#ifdef DL_FORMULAS_ARITH
/* ---- arithmetic ------------------------------------------------------------------------- */
DL_PW(FORM, add_plain, 2, NUM0, x + y, W(x) + W(y))
DL_PW(FORM, add_alpha, 2, NUM1(2), FMA(a, y, x), W(x) + W(a) * W(y))
DL_PW(FORM, sub_plain, 2, NUM0, x - y, W(x) - W(y))
DL_PW(FORM, sub_alpha, 2, NUM1(2), FMA(-a, y, x), W(x) - W(a) * W(y))
DL_PW(FORM, rsub_plain, 2, NUM0, y - x, W(y) - W(x))
DL_PW(FORM, rsub_alpha, 2, NUM1(2), FMA(-a, x, y), W(y) - W(a) * W(x))
DL_PW(OP, mul, 2, NUM0, x * y, W(x) * W(y))
DL_PWF(OP, div, 2, NUM0, x / y)
DL_PWF(OP, rdiv, 2, NUM0, y / x)
DL_PW(OP, addcmul, 3, NUM1(3), FMA(a * y, z, x), W(x) + W(a) * W(y) * W(z))
DL_PWF(OP, addcdiv, 3, NUM1(3), x + a * y / z)
DL_PWF(OP, lerp, 3, NUM0,
       FMA(PICK(abs(z) < K(0.5), z, z - K(1.0)), y - x, PICK(abs(z) < K(0.5), x, y)))

DL_PW(OP, maximum, 2, NUM0, LARGER(x, y), MOST(x, y))
DL_PW(OP, minimum, 2, NUM0, SMALLER(x, y), LEAST(x, y))
DL_PW(OP, clamp_min, 2, NUM0, LARGER(x, y), MOST(x, y))
DL_PW(OP, clamp_max, 2, NUM0, SMALLER(x, y), LEAST(x, y))
DL_PW(FORM, clamp_both, 3, NUM0, FN(clamp)(x, y, z), LEAST(MOST(x, y), z))
DL_PW(OP, where, 3, NUM0, PICK(x != 0, y, z), PICK(x != 0, y, z))
DL_PW(OP, masked_fill, 3, NUM0, PICK(y != 0, z, x), PICK(y != 0, z, x))

DL_PW(OP, neg, 1, NUM0, -x, -W(x))
DL_PW(OP, abs, 1, NUM0, abs(x), PICK(x < 0, -W(x), W(x)))
DL_PW(OP, sign, 1, NUM0, K(x > 0) - K(x < 0), (x > 0) - (x < 0))
DL_PW(OP, floor, 1, NUM0, floor(x), x)
DL_PW(OP, ceil, 1, NUM0, ceil(x), x)
DL_PW(OP, trunc, 1, NUM0, trunc(x), x)
DL_PWF(OP, frac, 1, NUM0, x - trunc(x))
DL_PW(FORM, round_plain, 1, NUM0, rint(x), x)
DL_PWF(FORM, round_up, 1, NUM1(1), rint(x * a) / a)    /* a = 10^decimals */
DL_PWF(FORM, round_down, 1, NUM1(1), rint(x / a) * a)  /* a = 10^-decimals */
DL_PWF(OP, sqrt, 1, NUM0, sqrt(x))
DL_PWF(OP, rsqrt, 1, NUM0, K(1.0) / sqrt(x))
DL_PWF(OP, reciprocal, 1, NUM0, K(1.0) / x)
DL_PWF(OP, hypot, 2, NUM0, hypot(x, y))
#endif

#ifdef DL_FORMULAS_DIVIDE
/* ---- quotients and remainders: m is fmod ------------------------------------------------ */
#define OPPOSITE(p, q) (((p) < 0) != ((q) < 0))
#ifdef R
/* Python's %: m is fmod, moved to the side of q */
DL_FN R FN(to_sign)(R m, R q) { return pick((m != 0) & OPPOSITE(q, m), m + q, m); }
/* Python's float //: (x - m) / y is an integer up to rounding; y = 0 gives x / y */
DL_FN R FN(floor_div)(R x, R y, R m) {
  R d = (x - m) / y;
  d = pick((m != 0) & OPPOSITE(y, m), d - K(1.0), d);
  R f = floor(d);
  f = pick(d - f > K(0.5), f + K(1.0), f);
  f = pick(d == 0, copysign(K(0.0), x / y), f);
  return pick(y == 0, x / y, f);
}
#endif
DL_PWG(FORM, floor_divide, 2, NUM0, mod_is_near(x, y), FN(floor_div)(x, y, fmod_near(x, y)),
       FN(floor_div)(x, y, fmod(x, y)))
DL_PWG(FORM, rfloor_divide, 2, NUM0, mod_is_near(y, x), FN(floor_div)(y, x, fmod_near(y, x)),
       FN(floor_div)(y, x, fmod(y, x)))
DL_PWG(FORM, remainder, 2, NUM0, mod_is_near(x, y), FN(to_sign)(fmod_near(x, y), y), FN(to_sign)(fmod(x, y), y))
DL_PWG(FORM, rremainder, 2, NUM0, mod_is_near(y, x), FN(to_sign)(fmod_near(y, x), x),
       FN(to_sign)(fmod(y, x), x))
DL_PWG(FORM, fmod, 2, NUM0, mod_is_near(x, y), fmod_near(x, y), fmod(x, y))
DL_PWF(FORM, div_trunc, 2, NUM0, trunc(x / y))
DL_PWI(FORM, whole_floor, 2, NUM0, dl_floor_div64(x, y))
DL_PWI(FORM, whole_rfloor, 2, NUM0, dl_floor_div64(y, x))
DL_PWI(FORM, whole_trunc, 2, NUM0, dl_trunc_div64(x, y))
DL_PWI(FORM, whole_mod, 2, NUM0, dl_mod64(x, y))
DL_PWI(FORM, whole_rmod, 2, NUM0, dl_mod64(y, x))
DL_PWI(FORM, whole_fmod, 2, NUM0, dl_fmod64(x, y))
#endif

#ifdef DL_FORMULAS_TEST
/* ---- comparison, logic, bits ------------------------------------------------------------ */
DL_PWB(OP, eq, 2, NUM0, x == y, x == y)
DL_PWB(OP, ne, 2, NUM0, x != y, x != y)
DL_PWB(OP, lt, 2, NUM0, x < y, x < y)
DL_PWB(OP, le, 2, NUM0, x <= y, x <= y)
DL_PWB(OP, gt, 2, NUM0, x > y, x > y)
DL_PWB(OP, ge, 2, NUM0, x >= y, x >= y)
DL_PWB(OP, isclose, 2, NUM3(2, 3, 4),
       (x == y) | ((c != 0) & (x != x) & (y != y)) |
         ((int)(abs(x - y) <= b + abs(a * y)) & (abs(x - y) <= TOP)),
       (x == y) | (dl_gap64(x, y) <= NUMF(1) + dl_abs64(NUMF(0) * (double)y)))
DL_PWB(OP, logical_and, 2, NUM0, (x != 0) & (y != 0), (x != 0) & (y != 0))
DL_PWB(OP, logical_or, 2, NUM0, (x != 0) | (y != 0), (x != 0) | (y != 0))
DL_PWB(OP, logical_xor, 2, NUM0, (x != 0) != (y != 0), (x != 0) != (y != 0))
DL_PWB(OP, logical_not, 1, NUM0, x == 0, x == 0)
DL_PWB(OP, isnan, 1, NUM0, x != x, 0 * x)
DL_PWB(OP, isinf, 1, NUM0, (x == x) & (x - x != 0), 0 * x)
DL_PWB(OP, isfinite, 1, NUM0, x - x == 0, 0 * x + 1)
DL_PWI(OP, bitwise_and, 2, NUM0, x & y)
DL_PWI(OP, bitwise_or, 2, NUM0, x | y)
DL_PWI(OP, bitwise_xor, 2, NUM0, x ^ y)
DL_PWI(FORM, flip_bits, 1, NUM0, ~x)
DL_PWI(OP, bitwise_left_shift, 2, NUM0, PICK((y < 0) | (y > 63), 0, W(x) << (y & 63)))
DL_PWI(OP, bitwise_right_shift, 2, NUM0, x >> PICK((y < 0) | (y > 63), 63, y & 63))
#endif

#ifdef DL_FORMULAS_MATH
/* ---- elementary functions --------------------------------------------------------------- */
DL_PWF(OP, exp, 1, NUM0, exp(x))
DL_PWF(OP, exp2, 1, NUM0, exp2(x))
DL_PWF(OP, expm1, 1, NUM0, expm1(x))
DL_PWF(OP, log, 1, NUM0, log(x))
DL_PWF(OP, log2, 1, NUM0, log2(x))
DL_PWF(OP, log10, 1, NUM0, log10(x))
DL_PWF(OP, log1p, 1, NUM0, log1p(x))
DL_PWG(OP, sin, 1, NUM0, turn_is_near(x), sin_near(x), sin(x))
DL_PWG(OP, cos, 1, NUM0, turn_is_near(x), cos_near(x), cos(x))
DL_PWG(OP, tan, 1, NUM0, turn_is_near(x), tan_near(x), tan(x))
DL_PWF(OP, asin, 1, NUM0, asin(x))
DL_PWF(OP, acos, 1, NUM0, acos(x))
DL_PWF(OP, atan, 1, NUM0, atan(x))
DL_PWF(OP, atan2, 2, NUM0, atan2(x, y))
DL_PWF(OP, sinh, 1, NUM0, sinh(x))
DL_PWF(OP, cosh, 1, NUM0, cosh(x))
DL_PWF(OP, erf, 1, NUM0, erf(x))
DL_PWF(OP, sigmoid, 1, NUM0, sigmoid(x))
DL_PWF(OP, tanh, 1, NUM0, tanh(x))
DL_PW(FORM, pow_any, 2, NUM0, pow(x, y), dl_pow64(x, y))
DL_PW(FORM, rpow_any, 2, NUM0, pow(y, x), dl_pow64(y, x))
DL_PW(FORM, pow_2, 1, NUM0, x * x, W(x) * W(x))
DL_PW(FORM, pow_3, 1, NUM0, x * x * x, W(x) * W(x) * W(x))
DL_PWF(FORM, pow_half, 1, NUM0, sqrt(x))
DL_PWF(FORM, pow_minus_half, 1, NUM0, K(1.0) / sqrt(x))
DL_PWF(FORM, pow_minus_1, 1, NUM0, K(1.0) / x)
DL_PWF(FORM, pow_minus_2, 1, NUM0, K(1.0) / (x * x))
#endif

#ifdef DL_FORMULAS_ACT
/* ---- activations ------------------------------------------------------------------------ */
#define ROOT_2_PI K(0.79788456080286535588)     /* sqrt(2 / pi) */
#define ROOT_HALF_PI K(0.39894228040143267794)  /* 1 / sqrt(2 pi) */
#define GELU_IN(v) (K(2.0) * ROOT_2_PI * (v) * (K(1.0) + K(0.044715) * (v) * (v)))
#ifdef R
/* tanh(log(1 + e^v)) = n / (n + 2) with n = e^v (e^v + 2) */
DL_FN R FN(tanh_softplus)(R v) {
  R e = exp(v > K(20.0) ? K(20.0) : v), n = e * (e + K(2.0));
  return n / (n + K(2.0));
}
DL_FN R FN(mish_slope)(R v, R t) { return t + v * sigmoid(v) * (K(1.0) - t * t); }
/* s is sigmoid(GELU_IN(v)) */
DL_FN R FN(gelu_tanh_slope)(R v, R s) {
  R du = K(2.0) * ROOT_2_PI * (K(1.0) + K(0.134145) * v * v);
  return s + v * s * (K(1.0) - s) * du;
}
#endif
DL_PW(OP, relu, 1, NUM0, PICK(x < 0, 0, x), MOST(x, 0))
DL_PWF(FORM, gelu_none, 1, NUM0, x * phi(x))
DL_PWF(FORM, gelu_tanh, 1, NUM0, x * sigmoid(GELU_IN(x)))
DL_PWF(OP, silu, 1, NUM0, x * sigmoid(x))
DL_PWF(OP, mish, 1, NUM0, x * FN(tanh_softplus)(x))
DL_PWF(OP, softplus, 1, NUM2(1, 2), PICK(x * a > b, x, log1p(exp(x * a)) / a))
DL_PWF(OP, elu, 1, NUM1(1), PICK(x <= 0, expm1(x) * a, x))
DL_PWF(OP, selu, 1, NUM0, PICK(x <= 0, expm1(x) * K(1.7580993408473768599), x * K(1.0507009873554804935)))
DL_PWF(OP, celu, 1, NUM1(1), PICK(x <= 0, expm1(x * (K(1.0) / a)) * a, x))
DL_PWF(OP, leaky_relu, 1, NUM1(1), PICK(x > 0, x, x * a))
DL_PW(OP, hardtanh, 1, NUM2(1, 2), FN(clamp)(x, a, b), LEAST(MOST(x, a), b))
DL_PWF(OP, hardsigmoid, 1, NUM0, SIX(x + K(3.0)) / K(6.0))
DL_PWF(OP, hardswish, 1, NUM0, x * SIX(x + K(3.0)) / K(6.0))
DL_PWF(OP, logsigmoid, 1, NUM0, SMALLER(x, 0) - log1p(exp(-abs(x))))
DL_PW(OP, threshold, 1, NUM2(1, 2), PICK(x <= a, b, x), PICK(x <= a, b, x))

/* x is the gradient that comes in, y the saved input or result */
DL_PW(OP, relu_backward, 2, NUM0, PICK(y <= 0, 0, x), PICK(y <= 0, 0, x))
DL_PWF(OP, sigmoid_backward, 2, NUM0, x * (K(1.0) - y) * y)
DL_PWF(OP, tanh_backward, 2, NUM0, x * (K(1.0) - y * y))
DL_PWF(FORM, gelu_none_backward, 2, NUM0, x * (phi(y) + y * exp(K(-0.5) * y * y) * ROOT_HALF_PI))
DL_PWF(FORM, gelu_tanh_backward, 2, NUM0, x * FN(gelu_tanh_slope)(y, sigmoid(GELU_IN(y))))
DL_PWF(OP, silu_backward, 2, NUM0, x * sigmoid(y) * (K(1.0) + y * (K(1.0) - sigmoid(y))))
DL_PWF(OP, mish_backward, 2, NUM0, x * FN(mish_slope)(y, FN(tanh_softplus)(y)))
DL_PWF(OP, softplus_backward, 2, NUM2(2, 3), PICK(y * a > b, x, x * sigmoid(y * a)))
DL_PWF(OP, elu_backward, 2, NUM3(2, 3, 4), PICK(y <= 0, x * c * (a * b) * exp(y * c), x * b))
DL_PWF(OP, leaky_relu_backward, 2, NUM1(2), PICK(y > 0, x, x * a))
DL_PWF(OP, native_dropout_backward, 2, NUM1(2), x * y * a)
DL_PW(OP, hardtanh_backward, 2, NUM2(2, 3), PICK((y <= a) | (y >= b), 0, x), PICK((y <= a) | (y >= b), 0, x))
DL_PWF(OP, hardsigmoid_backward, 2, NUM0, PICK((y > K(-3.0)) & (y < K(3.0)), x * K(0.16666666666666666667), 0))
DL_PWF(OP, hardswish_backward, 2, NUM0, PICK(y <= K(-3.0), 0, PICK(y < K(3.0), x * (y / K(3.0) + K(0.5)), x)))
DL_PWF(OP, logsigmoid_backward, 2, NUM0, x * sigmoid(-y))
#endif

#undef LARGER
#undef SMALLER
#undef MOST
#undef LEAST
#undef PICK
#undef SIX
#undef OPPOSITE
#undef ROOT_2_PI
#undef ROOT_HALF_PI
#undef GELU_IN
