/* pw_ops.c -- pointwise ops through dispatch: values, dtypes, strides, edges, texts */
#include "pw_help.h"

static const double inf = INFINITY, nan_ = NAN;

static void integers(void) {
  dl_tensor *u = VEC(DL_U8, 200, 100, 3), *v = VEC(DL_U8, 100, 100, 255);
  is_tensor(RUN(add, T(u), T(v)), DL_U8, NUMS(44, 200, 2), 0, "uint8 addition wraps around");
  is_tensor(RUN(neg, T(u)), DL_U8, NUMS(56, 156, 253), 0, "uint8 negation wraps around");
  dl_tensor *a = VEC(DL_I64, 7, -7, 7, -7), *b = VEC(DL_I64, 2, 2, -2, -2);
  is_tensor(RUN(floor_divide, T(a), T(b)), DL_I64, NUMS(3, -4, -4, 3), 0, "// floors integers");
  is_tensor(RUN(div_mode, T(a), T(b), S("trunc")), DL_I64, NUMS(3, -3, -3, 3), 0, "trunc cuts");
  is_tensor(RUN(remainder, T(a), T(b)), DL_I64, NUMS(1, 1, -1, -1), 0, "% has the divisor's sign");
  is_tensor(RUN(fmod, T(a), T(b)), DL_I64, NUMS(1, -1, 1, -1), 0, "fmod has the dividend's sign");
  is_tensor(RUN(div, T(a), T(b)), DL_F32, NUMS(3.5, -3.5, -3.5, 3.5), 0,
            "/ of integers is float32");
  is_tensor(RUN(pow, T(b), I(5)), DL_I64, NUMS(32, 32, -32, -32), 0,
            "an integer power is an integer");
  dl_tensor *e = VEC(DL_I64, -1, -1, -3, -2), *p = VEC(DL_I64, 2, 1, -1, -1);
  is_tensor(RUN(pow, T(p), T(e)), DL_I64, NUMS(0, 1, -1, 1), 0, "negative powers of 1 and -1");
  is_tensor(RUN(bitwise_left_shift, T(p), I(70)), DL_I64, NUMS(0, 0, 0, 0), 0,
            "a shift by 70 clears");
  is_tensor(RUN(bitwise_right_shift, T(e), I(70)), DL_I64, NUMS(-1, -1, -1, -1), 0,
            ">> keeps the sign");
  refuses("RuntimeError: ZeroDivisionError", "integer // 0", floor_divide, T(a), I(0));
  refuses("RuntimeError: ZeroDivisionError", "integer % 0", remainder, T(a), I(0));
  refuses("RuntimeError: Integers to negative integer powers are not allowed.", "2 ^ -1", pow, T(a),
          I(-1));
  dl_tensor *low = NULL;
  dl_tensor_scalar_i(DL_I64, INT64_MIN, &low);
  is_tensor(RUN(floor_divide, T(low), I(-1)), DL_I64, NUMS(-9223372036854775808.0), 0,
            "the smallest integer // -1 wraps around");
  dl_tensor *all[] = {u, v, a, b, e, p, low};
  for (int i = 0; i < 7; i++) dl_tensor_release(all[i]);
}

static void floats(void) {
  dl_tensor *a = VEC(DL_F32, 5, -5, 5, 1, 0), *b = VEC(DL_F32, 3, 3, -inf, 0, 0);
  is_tensor(RUN(remainder, T(a), T(b)), DL_F32, NUMS(2, 1, -inf, nan_, nan_), 0, "float %");
  is_tensor(RUN(floor_divide, T(a), T(b)), DL_F32, NUMS(1, -2, -1, inf, nan_), 0, "float //");
  is_tensor(RUN(sign, T(b)), DL_F32, NUMS(1, 1, -1, 0, 0), 0, "sign");
  dl_tensor *n = VEC(DL_F32, nan_, 1, nan_, 2, -3);
  is_tensor(RUN(maximum, T(n), T(a)), DL_F32, NUMS(nan_, 1, nan_, 2, 0), 0, "nan wins in maximum");
  is_tensor(RUN(clamp, T(n), F(0), F(1.5)), DL_F32, NUMS(nan_, 1, nan_, 1.5, 0), 0,
            "nan survives clamp");
  is_tensor(RUN(clamp, T(n), NIL, F(1)), DL_F32, NUMS(nan_, 1, nan_, 1, -3), 0,
            "clamp without min");
  is_tensor(RUN(relu, T(n)), DL_F32, NUMS(nan_, 1, nan_, 2, 0), 0, "relu keeps nan");
  is_tensor(RUN(isnan, T(n)), DL_BOOL, NUMS(1, 0, 1, 0, 0), 0, "isnan");
  is_tensor(RUN(isfinite, T(b)), DL_BOOL, NUMS(1, 1, 0, 1, 1), 0, "isfinite");
  is_tensor(RUN(isclose, T(n), T(n), F(0), F(0), B(true)), DL_BOOL, NUMS(1, 1, 1, 1, 1), 0,
            "isclose with equal_nan");
  dl_tensor *r = VEC(DL_F32, 0.5, 1.5, 2.5, -0.5, 1.25);
  is_tensor(RUN(round, T(r)), DL_F32, NUMS(0, 2, 2, -0.0, 1), 0, "halves round to even");
  is_tensor(RUN(round, T(r), I(1)), DL_F32, NUMS(0.5, 1.5, 2.5, -0.5, 1.2), 1e-7,
            "round to decimals");
  is_tensor(RUN(pow, T(r), F(2)), DL_F32, NUMS(0.25, 2.25, 6.25, 0.25, 1.5625), 0,
            "x ^ 2 is x * x");
  is_tensor(RUN(lerp, T(a), T(r), F(0.5)), DL_F32, NUMS(2.75, -1.75, 3.75, 0.25, 0.625), 1e-7,
            "lerp");
  is_tensor(RUN(addcmul, T(a), T(r), T(r), F(2)), DL_F32, NUMS(5.5, -0.5, 17.5, 1.5, 3.125), 1e-7,
            "addcmul");
  dl_tensor *all[] = {a, b, n, r};
  for (int i = 0; i < 4; i++) dl_tensor_release(all[i]);
}

static void dtypes(void) {
  dl_tensor *h = VEC(DL_F16, 1, 2, 0.1), *f = VEC(DL_F32, 1, 2, 3), *i = VEC(DL_I32, 1, 2, 3);
  dl_tensor *t = VEC(DL_BOOL, 1, 0, 1), *d = VEC(DL_F64, 1, 2, 3), *bf = VEC(DL_BF16, 1, 2, 3);
  is_tensor(RUN(add, T(h), T(f)), DL_F32, NUMS(2, 4, 3.1), 1e-3, "half + float is float");
  is_tensor(RUN(mul, T(h), T(bf)), DL_F32, NUMS(1, 4, 0.3), 1e-3, "half * bfloat16 is float");
  is_tensor(RUN(add, T(i), F(0.5)), DL_F32, NUMS(1.5, 2.5, 3.5), 0, "int + 0.5 is float");
  is_tensor(RUN(add, T(t), T(t)), DL_BOOL, NUMS(1, 0, 1), 0, "bool + bool is or");
  is_tensor(RUN(add, T(t), I(1)), DL_I64, NUMS(2, 1, 2), 0, "bool + 1 is int64");
  is_tensor(RUN(exp, T(i)), DL_F32, NUMS(exp(1), exp(2), exp(3)), 1e-6, "exp of int is float32");
  is_tensor(RUN(exp, T(d)), DL_F64, NUMS(exp(1), exp(2), exp(3)), 1e-15, "exp of double is double");
  is_tensor(RUN(eq, T(h), F(0.1)), DL_BOOL, NUMS(0, 0, 1), 0, "half(0.1) == 0.1, as in PyTorch");
  is_tensor(RUN(where, T(t), T(i), F(0.5)), DL_F32, NUMS(1, 0.5, 3), 0,
            "where promotes its values");
  is_tensor(RUN(masked_fill, T(i), T(t), F(1.5)), DL_I32, NUMS(1, 2, 1), 0,
            "masked_fill keeps the dtype");
  is_tensor(RUN(bitwise_not, T(t)), DL_BOOL, NUMS(0, 1, 0), 0, "~true is false");
  is_tensor(RUN_(eq, T(f), I(2)), DL_F32, NUMS(0, 1, 0), 0, "eq_ writes 0 and 1 into floats");
  is_tensor(RUN_(add, T(h), T(d)), DL_F16, NUMS(2, 4, 3.1), 2e-3, "in place keeps half");
  dl_tensor *all[] = {h, f, i, t, d, bf};
  for (int k = 0; k < 6; k++) dl_tensor_release(all[k]);
}

/* x.t() * row + column over a strided view, against plain loops */
static void strides(void) {
  static double v[4096];
  for (int i = 0; i < 4096; i++) v[i] = (i * 37 % 101) / 8.0 - 6;
  for (int type = 0; type < 3; type++) {
    dl_dtype d = type == 0 ? DL_F32 : type == 1 ? DL_F16 : DL_F64;
    dl_tensor *x = make(d, SIZE(61, 59), v, 4096), *y = make(d, SIZE(61), v + 100, 61);
    dl_tensor *xt = RUN(t, T(x)), *half = RUN(slice, T(xt), I(0), I(1), I(59), I(2));
    dl_tensor *s = RUN(add, T(half), T(y)), *g = RUN(gelu, T(half));
    bool good = s && g && s->size[0] == 29 && s->size[1] == 61;
    double tol = d == DL_F16 ? 1e-2 : 1e-6;
    for (int64_t i = 0; good && i < s->numel; i++) {
      double a = at(x, i % 61 * 59 + i / 61 * 2 + 1), b = at(y, i % 61);
      double want = 0.5 * a * erfc(-a * 0.70710678118654752440);
      if (fabs(at(s, i) - (a + b)) > tol * 10 || fabs(at(g, i) - want) > tol * 8) good = false;
    }
    ok(good, "%s: broadcasting over a strided transpose", dl_dtypes[d].name);
    dl_tensor *all[] = {x, y, xt, half, s, g};
    for (int k = 0; k < 6; k++) dl_tensor_release(all[k]);
  }
}

static void in_place(void) {
  dl_tensor *x = VEC(DL_F32, 1, 2, 3, 4, 5, 6), *m = RUN(view, T(x), L(((int64_t[]){2, 3}), 2));
  dl_tensor *mt = RUN(t, T(m));
  dl_tensor_release(RUN_(mul, T(mt), T(mt)));
  is_tensor(RUN(clone, T(x)), DL_F32, NUMS(1, 4, 9, 16, 25, 36), 0, "x *= x through a transpose");
  dl_tensor *row = VEC(DL_F32, 10, 20);
  dl_tensor_release(RUN_(add, T(mt), T(row)));
  is_tensor(RUN(clone, T(x)), DL_F32, NUMS(11, 14, 19, 36, 45, 56), 0, "a row added in place");
  refuses("RuntimeError: The size of tensor a (3) must match the size of tensor b (2) at "
          "non-singleton dimension 1", "sizes that do not match", add, T(m), T(row));
  dl_tensor *all[] = {x, m, mt, row};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
}

static void texts(void) {
  dl_tensor *t = VEC(DL_BOOL, 1, 0), *i = VEC(DL_I64, 1, 2), *f = VEC(DL_F32, 1, 2),
            *h = VEC(DL_F16, 1, 2);
  refuses(
      "NotImplementedError: Subtraction, the `-` operator, with two bool tensors is not supported. "
      "Use the `^` or `logical_xor()` operator instead.",
      "bool - bool", sub, T(t), T(t));
  refuses(
      "NotImplementedError: Negation, the `-` operator, on a bool tensor is not supported. If you "
      "are trying to invert a mask, use the `~` or `logical_not()` operator instead.",
      "-bool", neg, T(t));
  refuses("NotImplementedError: \"GeluKernelImpl\" not implemented for 'Long'", "gelu of int", gelu,
          T(i));
  refuses("NotImplementedError: \"floor_vml_cpu\" not implemented for 'Bool'", "floor of bool",
          floor, T(t));
  refuses("NotImplementedError: \"bitwise_and_cpu\" not implemented for 'Float'", "float & 1",
          bitwise_and, T(f), I(1));
  refuses("RuntimeError: torch.clamp: At least one of 'min' or 'max' must not be None", "clamp()",
          clamp, T(f));
  refuses("RuntimeError: div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
          "found 'x'",
          "an unknown rounding_mode", div_mode, T(f), T(f), S("x"));
  refuses(
      "RuntimeError: where expected condition to be a boolean tensor, but got a tensor with dtype "
      "Float",
      "a float condition", where, T(f), T(f), T(f));
  refuses(
      "RuntimeError: masked_fill_ only supports boolean masks, but got mask with dtype long int",
      "an int mask", masked_fill, T(f), T(i), I(0));
  refuses("RuntimeError: value cannot be converted to type c10::Half without overflow",
          "-1e9 into half", masked_fill, T(h), T(t), F(-1e9));
  refuses("RuntimeError: For integral input tensors, argument alpha must not be a floating point "
          "number.",
          "alpha=0.5 for ints", add, T(i), T(i), F(0.5));
  refuses("RuntimeError: Boolean alpha only supported for Boolean results.", "alpha=True", add,
          T(i), T(i), B(true));
  refuses("RuntimeError: expected dtype float for `end` but got dtype c10::Half",
          "lerp of two dtypes", lerp, T(f), T(h), F(0.5));
  refuses("RuntimeError: Integer division with addcdiv is no longer supported…", "addcdiv of ints",
          addcdiv, T(i), T(i), T(i));
  dl_tensor *all[] = {t, i, f, h};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
}

/* Pieces of a large op on any number of threads give the same bytes. */
static void threads(void) {
  int64_t n = 300001;
  dl_tensor *x = NULL, *one = NULL, *many = NULL;
  dl_tensor_new(DL_DEV_CPU, DL_F32, 1, &n, &x);
  for (int64_t i = 0; i < n; i++) ((float *)x->data)[i] = (float)(i % 1000) / 100 - 5;
  dl_set_threads(1);
  one = RUN(tanh, T(x));
  dl_set_threads(4);
  many = RUN(tanh, T(x));
  ok(one && many && !memcmp(one->data, many->data, (size_t)n * 4),
     "four threads change no bit of tanh");
  dl_tensor *all[] = {x, one, many};
  for (int k = 0; k < 3; k++) dl_tensor_release(all[k]);
}

int main(void) {
  dl_mem_init();
  dl_op_init();
  integers();
  floats();
  dtypes();
  strides();
  in_place();
  texts();
  threads();
  is_int(dl_tensors_live, 0, "nothing leaks");
  return tap_done();
}
