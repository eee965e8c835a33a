/* pw_norm.c -- softmax, layer_norm and kin against plain loops; gradients of gradients */
#include "pw_help.h"

#include "grad/grad.h"

static double values[97];

/* ---- softmax along any dim -------------------------------------------------------------- */
static double exact_softmax(const dl_tensor *x, int dim, int64_t i, bool log_) {
  int64_t inner = 1, n = x->size[dim];
  for (int d = dim + 1; d < x->ndim; d++) inner *= x->size[d];
  int64_t base = i / (n * inner) * n * inner + i % inner;
  double top = -INFINITY, sum = 0;
  for (int64_t r = 0; r < n; r++) top = fmax(top, at(x, base + r * inner));
  for (int64_t r = 0; r < n; r++) sum += exp(at(x, base + r * inner) - top);
  double v = at(x, i) - top;
  return log_ ? v - log(sum) : exp(v) / sum;
}

static void softmaxes(dl_dtype d, const int64_t *size, double tol) {
  dl_tensor *x = make(d, size, 3, values, 97),
            *t = RUN(permute, T(x), L(((int64_t[]){1, 2, 0}), 3));
  for (int dim = 0; dim < 3; dim++) {
    dl_tensor *y = RUN(softmax, T(t), I(dim)), *z = RUN(log_softmax, T(t), I(dim - 3));
    bool good = y && z;
    for (int64_t i = 0; good && i < y->numel; i++) {
      double p = exact_softmax(t, dim, i, false), q = exact_softmax(t, dim, i, true);
      good = fabs(at(y, i) - p) <= tol && fabs(at(z, i) - q) <= tol * (1 + fabs(q));
    }
    ok(good, "softmax and log_softmax of %s along dim %d", dl_dtypes[d].name, dim);
    dl_tensor_release(y);
    dl_tensor_release(z);
  }
  dl_tensor_release(x);
  dl_tensor_release(t);
}

static void edges(void) {
  dl_tensor *x = VEC(DL_F32, -INFINITY, 0, 0), *low = VEC(DL_F32, -INFINITY, -INFINITY);
  is_tensor(RUN(softmax, T(x), I(0)), DL_F32, NUMS(0, 0.5, 0.5), 1e-7, "-inf has no weight");
  is_tensor(RUN(softmax, T(low), I(0)), DL_F32, NUMS(NAN, NAN), 0,
            "softmax of nothing but -inf is nan");
  is_tensor(RUN(logsumexp, T(low), L(((int64_t[]){0}), 1)), DL_F32, NUMS(-INFINITY), 0,
            "logsumexp of -inf");
  dl_tensor *big = VEC(DL_F32, 1000, 1000), *i = VEC(DL_I64, 1, 2);
  is_tensor(RUN(logsumexp, T(big), L(((int64_t[]){0}), 1)), DL_F32, NUMS(1000 + log(2)), 1e-7,
            "logsumexp does not overflow");
  is_tensor(RUN(softmax, T(big), I(0), DT(DL_F64)), DL_F64, NUMS(0.5, 0.5), 0,
            "softmax{dtype=float64}");
  refuses("NotImplementedError: \"softmax_lastdim_kernel_impl\" not implemented for 'Long'",
          "softmax of ints", softmax, T(i), I(0));
  refuses("IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)",
          "softmax over dim 1 of a vector", softmax, T(x), I(1));
  dl_tensor *all[] = {x, low, big, i};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
}

/* ---- layer_norm ------------------------------------------------------------------------- */
static void layer_norms(dl_dtype d, double tol) {
  int64_t n = 35, shape[2] = {5, 7};
  dl_tensor *x = make(d, SIZE(3, 5, 7), values, 97);
  dl_tensor *w = make(d, shape, 2, values + 40, 35), *b = make(d, shape, 2, values + 20, 35);
  dl_tensor *y = RUN(layer_norm, T(x), L(shape, 2), T(w), T(b));
  bool good = y != NULL;
  for (int64_t r = 0; good && r < 3; r++) {
    double mean = 0, var = 0;
    for (int64_t i = 0; i < n; i++) mean += at(x, r * n + i) / (double)n;
    for (int64_t i = 0; i < n; i++) var += pow(at(x, r * n + i) - mean, 2) / (double)n;
    for (int64_t i = 0; i < n; i++) {
      double want = (at(x, r * n + i) - mean) / sqrt(var + 1e-5) * at(w, i) + at(b, i);
      if (fabs(at(y, r * n + i) - want) > tol * (1 + fabs(want))) good = false;
    }
  }
  ok(good, "layer_norm of %s over the last two dims", dl_dtypes[d].name);
  refuses("RuntimeError: Given normalized_shape=[4], expected input with shape [*, 4], but got "
          "input of "
          "size[3, 5, 7]",
          "normalized_shape that does not fit", layer_norm, T(x), L(((int64_t[]){4}), 1));
  refuses("RuntimeError: Expected weight to be of same shape as normalized_shape, but got weight "
          "of shape "
          "[5, 7] and normalized_shape = [7]",
          "weight of another shape", layer_norm, T(x), L(((int64_t[]){7}), 1), T(w));
  dl_tensor *all[] = {x, w, b, y};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
}

/* sum(c * layer_norm(x)^2): its gradient by x, recorded */
static dl_tensor *slope(dl_tensor *x, dl_tensor *w, dl_tensor *c) {
  int64_t n = x->size[1];
  dl_tensor *y = RUN(layer_norm, T(x), L(&n, 1), T(w), NIL), *y2 = RUN(mul, T(y), T(y));
  dl_tensor *z = RUN(mul, T(y2), T(c)), *s = RUN(sum, T(z)), *g = NULL;
  dl_backward_opts o = {.retain_graph = true, .create_graph = true};
  if (s) dl_backward(&s, NULL, 1, &x, 1, o, &g);
  dl_tensor *all[] = {y, y2, z, s};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
  return g;
}

static double along(dl_tensor *x, dl_tensor *w, dl_tensor *c, dl_tensor *v) {
  dl_tensor *g = slope(x, w, c), *p = RUN(mul, T(g), T(v)), *s = RUN(sum, T(p));
  double r = s ? at(s, 0) : NAN;
  dl_tensor *all[] = {g, p, s};
  for (int k = 0; k < 3; k++) dl_tensor_release(all[k]);
  return r;
}

static double nudged(dl_tensor *of, int64_t i, double by, dl_tensor *x, dl_tensor *w, dl_tensor *c,
                     dl_tensor *v) {
  double *p = (double *)of->data + i, was = *p;
  *p = was + by;
  double r = along(x, w, c, v);
  *p = was;
  return r;
}

static void twice(void) {
  dl_tensor *x = make(DL_F64, SIZE(3, 5), values, 97), *w = make(DL_F64, SIZE(5), values + 3, 7);
  dl_tensor *c = make(DL_F64, SIZE(3, 5), values + 11, 50),
            *v = make(DL_F64, SIZE(3, 5), values + 30, 40);
  x->requires_grad = w->requires_grad = 1;
  dl_tensor *g = slope(x, w, c), *p = RUN(mul, T(g), T(v)), *s = RUN(sum, T(p));
  dl_tensor *in[2] = {x, w}, *second[2] = {NULL, NULL};
  if (s) dl_backward(&s, NULL, 1, in, 2, (dl_backward_opts){0}, second);
  for (int k = 0; k < 2; k++) {
    bool good = second[k] != NULL;
    for (int64_t i = 0; good && i < in[k]->numel; i++) {
      double h = 1e-5, up = nudged(in[k], i, h, x, w, c, v),
             down = nudged(in[k], i, -h, x, w, c, v);
      double want = (up - down) / (2 * h), got = at(second[k], i);
      good = fabs(got - want) <= 1e-5 * (1 + fabs(want));
      if (!good) tap_diag("element %lld: %.9g, differences say %.9g", (long long)i, got, want);
    }
    ok(good, "the second derivative of layer_norm by its %s", k ? "weight" : "input");
  }
  dl_tensor *all[] = {x, w, c, v, g, p, s, second[0], second[1]};
  for (int k = 0; k < 9; k++) dl_tensor_release(all[k]);
}

/* ---- composites ------------------------------------------------------------------------- */
static void composites(void) {
  dl_tensor *x = make(DL_F32, SIZE(1, 3), NUMS(1, 2, 3)),
            *y = make(DL_F32, SIZE(1, 3), NUMS(2, 3, -1));
  int64_t three = 3;
  is_tensor(RUN(rms_norm, T(x), L(&three, 1)), DL_F32, NUMS(0.46291, 0.92582, 1.38873), 1e-5,
            "rms_norm");
  is_tensor(RUN(normalize, T(x)), DL_F32, NUMS(0.267261, 0.534522, 0.801784), 1e-6, "normalize");
  is_tensor(RUN(cosine_similarity, T(x), T(y)), DL_F32, NUMS(5 / sqrt(14 * 14)), 1e-6,
            "cosine_similarity");
  is_tensor(RUN(pairwise_distance, T(x), T(y)), DL_F32, NUMS(sqrt(18)), 1e-5, "pairwise_distance");
  is_tensor(RUN(softsign, T(y)), DL_F32, NUMS(2 / 3.0, 0.75, -0.5), 1e-7, "softsign");
  is_tensor(RUN(relu6, T(x)), DL_F32, NUMS(1, 2, 3), 0, "relu6");
  is_tensor(RUN(equal, T(x), T(y)), DL_BOOL, NUMS(0), 0, "equal says no");
  is_tensor(RUN(equal, T(x), T(x)), DL_BOOL, NUMS(1), 0, "equal says yes");
  dl_tensor *four = make(DL_F32, SIZE(2, 4), values, 8), *slopes = VEC(DL_F32, 0.25, 0.5, 1, 2);
  is_tensor(RUN(glu, T(four), I(0)), DL_F32,
            NUMS(at(four, 0) / (1 + exp(-at(four, 4))), at(four, 1) / (1 + exp(-at(four, 5))),
                 at(four, 2) / (1 + exp(-at(four, 6))), at(four, 3) / (1 + exp(-at(four, 7)))),
            1e-6, "glu");
  refuses("RuntimeError: Halving dimension must be even, but dimension 1 is size 3", "glu of 3",
          glu, T(x));
  refuses("RuntimeError: Mismatch of parameter numbers and input channel size. Found parameter "
          "numbers = 4 "
          "and channel size = 3.",
          "prelu with too many slopes", prelu, T(x), T(slopes));
  refuses("RuntimeError: Expected number of channels in input to be divisible by num_groups, but "
          "got input "
          "of shape [2, 4] and num_groups=3",
          "group_norm of 4 channels in 3 groups", group_norm, T(four), I(3));
  is_tensor(RUN(group_norm, T(four), I(2)), DL_F32,
            NUMS(-1, 1, 1, -1, 1, -1, -1, 1), 1e-3, "group_norm of pairs is -1 and 1");
  dl_tensor *all[] = {x, y, four, slopes};
  for (int k = 0; k < 4; k++) dl_tensor_release(all[k]);
}

int main(void) {
  dl_mem_init();
  dl_op_init();
  for (int i = 0; i < 97; i++) values[i] = (i * 41 % 97) / 16.0 - 3;
  softmaxes(DL_F32, (int64_t[]){3, 5, 7}, 1e-6);
  softmaxes(DL_F32, (int64_t[]){2, 70, 33}, 1e-6);
  softmaxes(DL_F64, (int64_t[]){3, 5, 7}, 1e-14);
  softmaxes(DL_BF16, (int64_t[]){3, 5, 7}, 1e-2);
  edges();
  layer_norms(DL_F32, 1e-5);
  layer_norms(DL_F64, 1e-13);
  layer_norms(DL_F16, 1e-2);
  twice();
  composites();
  is_int(dl_tensors_live, 0, "nothing leaks");
  return tap_done();
}
