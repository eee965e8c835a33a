/* amp_conv.c -- convolutions by the library and by our own code: bfloat16, float32, all gradients
 *
 * DLREPL_ONEDNN=bf16 sends bfloat16 the library's way on any CPU; see once/onednn.h. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "cpu/once/onednn.h"
#include "op/op.h"
#include "tap.h"

typedef struct shape {
  const char *what;
  int64_t n, ic, ih, iw, oc, kh, kw, sh, sw, ph, pw, dh, dw, groups;
  bool flat;                              /* 1-d: ih and kh are 1 and left away */
} shape;

static const shape shapes[] = {
  {"a 3x3 window", 5, 8, 12, 12, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, false},
  {"a 1x1 window", 6, 16, 14, 14, 16, 1, 1, 1, 1, 0, 0, 1, 1, 1, false},
  {"a 5x2 window, no padding", 3, 7, 13, 18, 9, 5, 2, 1, 1, 0, 0, 1, 1, 1, false},
  {"strides 2 and 3", 4, 6, 31, 29, 12, 3, 3, 2, 3, 1, 0, 1, 1, 1, false},
  {"dilation 2 and 3", 3, 8, 20, 21, 8, 3, 3, 1, 1, 2, 3, 2, 3, 1, false},
  {"4 groups", 4, 16, 16, 16, 24, 3, 3, 1, 1, 1, 1, 1, 1, 4, false},
  {"depthwise", 4, 24, 22, 22, 24, 5, 5, 1, 1, 2, 2, 1, 1, 24, false},
  {"rows left over by the stride", 3, 6, 24, 17, 10, 4, 3, 3, 2, 1, 1, 1, 1, 1, false},
  {"one image", 1, 12, 28, 28, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, false},
  {"1-d, stride 2, padding 3", 7, 16, 1, 130, 24, 1, 7, 1, 2, 0, 3, 1, 1, 1, true},
  {"small, below the library's work", 2, 3, 6, 6, 4, 3, 3, 1, 1, 1, 1, 1, 1, 1, false},
};

static dl_tensor *pattern(dl_dtype t, int ndim, const int64_t *size, int seed) {
  dl_tensor *x;
  if (dl_tensor_new(DL_DEV_CPU, t, ndim, size, &x) != DL_OK) exit(1);
  for (int64_t i = 0; i < x->numel; i++) {
    float v = (float)((i * 7919 + seed) % 257 - 128) / 512;
    if (t == DL_BF16) ((dl_bf16 *)x->data)[i] = dl_bf16_from_f32(v);
    else ((float *)x->data)[i] = v;
  }
  return x;
}

/* sizes of the input, the weight and the output, and the lists of arguments */
typedef struct sizes {
  int ndim;
  int64_t x[4], w[4], y[4], stride[2], padding[2], dilation[2];
} sizes;

static int64_t out_size(int64_t in, int64_t k, int64_t s, int64_t p, int64_t d) {
  return (in + 2 * p - d * (k - 1) - 1) / s + 1;
}

static sizes sizes_of(const shape *s) {
  int64_t oh = out_size(s->ih, s->kh, s->sh, s->ph, s->dh);
  int64_t ow = out_size(s->iw, s->kw, s->sw, s->pw, s->dw);
  if (s->flat)
    return (sizes){3, {s->n, s->ic, s->iw}, {s->oc, s->ic / s->groups, s->kw}, {s->n, s->oc, ow},
                   {s->sw}, {s->pw}, {s->dw}};
  return (sizes){4, {s->n, s->ic, s->ih, s->iw}, {s->oc, s->ic / s->groups, s->kh, s->kw},
                 {s->n, s->oc, oh, ow}, {s->sh, s->sw}, {s->ph, s->pw}, {s->dh, s->dw}};
}

typedef enum { FORWARD, WITH_BIAS, OF_INPUT, OF_WEIGHT, KINDS } kind;
static const char *const name[KINDS] = {"", " and a bias", ", gradient of the input",
                                        ", gradient of the weight"};

/* The two operands and the bias of a kind; released by the caller. */
static void operands(dl_dtype t, const shape *s, kind k, dl_tensor *in[3]) {
  sizes z = sizes_of(s);
  in[0] = pattern(t, z.ndim, k == FORWARD || k == WITH_BIAS ? z.x : z.y, 1);
  in[1] = pattern(t, z.ndim, k == OF_WEIGHT ? z.x : z.w, 2);
  in[2] = k == WITH_BIAS ? pattern(t, 1, &s->oc, 3) : NULL;
}

static dl_status run(const shape *s, kind k, dl_tensor *const in[3], dl_tensor **out) {
  static const dl_opid op[KINDS] = {DL_OP_convolution, DL_OP_convolution, DL_OP_conv_grad_input,
                                    DL_OP_conv_grad_weight};
  sizes z = sizes_of(s);
  int n = z.ndim - 2;
  dl_arg third = k == OF_INPUT ? L(z.x, z.ndim) : k == OF_WEIGHT ? L(z.w, z.ndim)
                 : in[2]       ? T(in[2])
                               : NIL;
  dl_arg arg[] = {T(in[0]), T(in[1]), third, L(z.stride, n), L(z.padding, n), L(z.dilation, n),
                  I(s->groups)};
  *out = NULL;
  return dl_run(op[k], arg, 7, 0, out);
}

/* The largest |a - b|, in units of the last place of the larger, or of `floor`. */
static double apart(const dl_tensor *a, const dl_tensor *b, double floor) {
  dl_dtype t = (dl_dtype)a->dtype;
  size_t e = dl_dtype_size(t);
  double worst = 0, unit = t == DL_BF16 ? ldexp(1, -7) : ldexp(1, -23);
  for (int64_t i = 0; i < a->numel; i++) {
    double x = dl_elem_get_f64(t, a->data + (size_t)i * e);
    double y = dl_elem_get_f64(t, b->data + (size_t)i * e);
    worst = fmax(worst, fabs(x - y) / (unit * fmax(fabs(x), floor)));
  }
  return worst;
}

/* Sums of some hundred terms below 1/16: rounding once may fall on either side of a tie. */
static void compare(dl_dtype t, const shape *s, kind k) {
  dl_tensor *in[3], *own, *lib;
  operands(t, s, k, in);
  dl_onednn_disable(true);
  dl_status a = run(s, k, in, &own);
  dl_onednn_disable(false);
  dl_status b = run(s, k, in, &lib);
  double far = a == DL_OK && b == DL_OK ? apart(own, lib, 1) : INFINITY;
  ok(far <= (t == DL_BF16 ? 1.0 : 64.0), "%s: %s%s, the same by the library", dl_dtypes[t].name,
     s->what, name[k]);
  if (far > 1 && t == DL_BF16) tap_diag("%g units of the last place apart", far);
  for (int i = 0; i < 3; i++) dl_tensor_release(in[i]);
  dl_tensor_release(own);
  dl_tensor_release(lib);
}

/* ---- bits ------------------------------------------------------------------------------------ */
static void same_at_any_hand(void) {
  const shape *s = &shapes[0];
  for (int k = 0; k < KINDS; k++) {
    dl_tensor *in[3], *first, *again;
    operands(DL_F32, s, k, in);
    dl_status a = run(s, k, in, &first), b = run(s, k, in, &again);
    ok(a == DL_OK && b == DL_OK &&
           !memcmp(first->data, again->data, (size_t)first->numel * sizeof(float)),
       "the same bits a second time%s", name[k]);
    for (int i = 0; i < 3; i++) dl_tensor_release(in[i]);
    dl_tensor_release(first);
    dl_tensor_release(again);
  }
}

/* ---- views, empty batches -------------------------------------------------------------------- */
static void strided(void) {
  const shape *s = &shapes[0];
  sizes z = sizes_of(s);
  int64_t turned[4] = {z.x[3], z.x[2], z.x[1], z.x[0]};
  dl_tensor *in[3] = {NULL, pattern(DL_BF16, 4, z.w, 2), NULL};
  dl_tensor *base = pattern(DL_BF16, 4, turned, 5), *view, *dense, *a, *b;
  int64_t order[4] = {3, 2, 1, 0};
  is_status(dl_run(DL_OP_permute, (dl_arg[]){T(base), L(order, 4)}, 2, 0, &view), "", "a view");
  is_status(dl_run(DL_OP_contiguous, (dl_arg[]){T(view)}, 1, 0, &dense), "", "its copy");
  in[0] = view;
  is_status(run(s, FORWARD, in, &a), "", "a convolution of a view");
  in[0] = dense;
  is_status(run(s, FORWARD, in, &b), "", "and of its dense copy");
  ok(a && b && !memcmp(a->data, b->data, (size_t)a->numel * 2), "are equal bit for bit");
  dl_tensor *all[] = {view, dense, base, in[1], a, b};
  for (int i = 0; i < 6; i++) dl_tensor_release(all[i]);
}

static void empty(void) {
  shape s = shapes[0];
  s.n = 0;
  for (int k = 0; k < KINDS; k++) {
    dl_tensor *in[3], *out;
    operands(DL_BF16, &s, k, in);
    is_status(run(&s, k, in, &out), "", "an empty batch%s", name[k]);
    double sum = 0;
    for (int64_t i = 0; out && i < out->numel; i++)
      sum += fabs(dl_elem_get_f64(DL_BF16, out->data + 2 * i));
    is_double(sum, 0, 0, "adds nothing");
    for (int i = 0; i < 3; i++) dl_tensor_release(in[i]);
    dl_tensor_release(out);
  }
}

/* ---- refusals, interrupts -------------------------------------------------------------------- */
/* Each allocation refused in turn: an error or the right result, and nothing left behind. */
static void refused(kind k) {
  const shape *s = &shapes[0];
  dl_tensor *in[3], *right, *out = NULL;
  operands(DL_BF16, s, k, in);
  if (run(s, k, in, &right) != DL_OK) exit(1);
  int64_t live = dl_tensors_live, bytes = dl_mem.live_bytes, n = 0, done = 0;
  bool good = true;
  dl_status st = DL_E_OOM;
  for (; good && n < 100; n++) {
    dl_mem_refuse_at = n + 1;
    st = run(s, k, in, &out);
    bool was_reached = dl_mem_refuse_at == 0 || st != DL_OK;
    dl_mem_refuse_at = 0;
    if (st == DL_OK) good = apart(right, out, 1) <= 1, done++;
    else good = dl_err.kind == DL_E_OOM;
    dl_tensor_release(out);
    out = NULL;
    dl_err_clear();
    good = good && dl_tensors_live == live && dl_mem.live_bytes == bytes;
    if (!was_reached) break;
  }
  ok(good && done > 0 && n < 100, "%d allocations refused in turn%s: an error or the same result",
     (int)n, name[k]);
  for (int i = 0; i < 3; i++) dl_tensor_release(in[i]);
  dl_tensor_release(right);
}

static void on_alarm(int sig) {
  (void)sig;
  dl_cancel = 1;
}

/* Some seconds of work: the alarm comes long before its end. */
static void interrupted(dl_dtype t, kind k) {
  shape s = {"", 512, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, 1, 1, 1, false};
  struct itimerval soon = {{0, 0}, {0, 15000}};
  dl_tensor *in[3], *out;
  operands(t, &s, k, in);
  int64_t live = dl_tensors_live, bytes = dl_mem.live_bytes;
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &soon, NULL);
  is_status(run(&s, k, in, &out), "KeyboardInterrupt…", "%s%s: an interrupt ends it",
            dl_dtypes[t].name, name[k]);
  ok(dl_tensors_live == live && dl_mem.live_bytes == bytes, "and leaves nothing behind");
  dl_err_clear();
  for (int i = 0; i < 3; i++) dl_tensor_release(in[i]);
  dl_tensor_release(out);
}

int main(void) {
  setenv("DLREPL_ONEDNN", "bf16", 0);
  dl_mem_init();
  dl_op_init();
  tap_diag("oneDNN %s", dl_onednn_version());
  int64_t live = dl_tensors_live;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < KINDS; k++) {
      compare(DL_BF16, &shapes[i], k);
      compare(DL_F32, &shapes[i], k);
    }
  same_at_any_hand();
  strided();
  empty();
  for (int k = 0; k < KINDS; k++) refused(k);
  for (int k = 0; k < KINDS; k += 1 + (k == 0)) interrupted(DL_F32, k);
  is_int(dl_tensors_live, live, "no tensor is left");
  return tap_done();
}
