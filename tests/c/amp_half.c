/* amp_half.c -- all 65,536 patterns of float16 and bfloat16 through the loops that tensors use
 *
 * The scalar conversions are held against their definition here and in base_dtype.c; the copy and
 * the kernels of each instruction set are held against the scalar ones. */
#include <math.h>
#include <string.h>

#include "graph/graph.h"
#include "kernel.h"
#include "op/op.h"
#include "tap.h"

enum { N = 65536 };
static uint16_t bits[N], out[N];
static float wide[3 * N];
static uint16_t narrow[3 * N];

static const struct { dl_dtype d; const char *name; } types[] = {{DL_F16, "float16"},
                                                                 {DL_BF16, "bfloat16"}};

static float up(dl_dtype d, uint16_t b) {
  return d == DL_F16 ? dl_half_to_f32((dl_half){b}) : dl_bf16_to_f32((dl_bf16){b});
}
static uint16_t down(dl_dtype d, float f) {
  return d == DL_F16 ? dl_half_from_f32(f).bits : dl_bf16_from_f32(f).bits;
}

static dl_view flat(void *data, dl_dtype d, const int64_t *n) {
  static const int64_t one = 1;
  return (dl_view){.data = data, .dtype = (uint8_t)d, .ndim = 1, .numel = *n, .size = n,
                   .stride = &one};
}

/* bfloat16 is the upper half of a float: nearest, ties to even, subnormals kept. */
static void brain_rounding(void) {
  int wrong = 0;
  for (int i = 0; i < 0x7f7f; i++) {
    float a = up(DL_BF16, (uint16_t)i), b = up(DL_BF16, (uint16_t)(i + 1));
    float mid = (float)(((double)a + b) / 2);
    uint16_t even = (uint16_t)(i & 1 ? i + 1 : i);
    wrong += down(DL_BF16, mid) != even;
    wrong += down(DL_BF16, nextafterf(mid, INFINITY)) != i + 1;
    wrong += down(DL_BF16, nextafterf(mid, -INFINITY)) != i;
    wrong += down(DL_BF16, -mid) != (even | 0x8000);
  }
  is_int(wrong, 0, "bfloat16: between all neighbours the nearer wins, halfway the even one");
  is_int(down(DL_BF16, 3.4e38f), 0x7f80, "beyond the largest bfloat16 lies infinity");
  is_int(isnan(up(DL_BF16, down(DL_BF16, NAN))), 1, "a nan stays one");
}

static void copies(dl_dtype d, const char *name) {
  int64_t n = N, n3 = 3 * N;
  int wrong = 0;
  for (int i = 0; i < N; i++) bits[i] = (uint16_t)i;
  dl_view from = flat(bits, d, &n), to = flat(wide, DL_F32, &n);
  dl_copy_view(&to, &from);
  for (int i = 0; i < N; i++) {
    float want = up(d, bits[i]);
    wrong += isnan(want) ? !isnan(wide[i]) : memcmp(&want, &wide[i], 4) != 0;
  }
  is_int(wrong, 0, "%s: the copy widens every pattern as the definition does", name);
  for (int i = 0; i < N; i++) {
    float a = up(d, bits[i]);
    wide[3 * i] = a;
    wide[3 * i + 1] = isfinite(a) ? nextafterf(a, INFINITY) : a;
    wide[3 * i + 2] = isfinite(a) ? (float)(((double)a + up(d, (uint16_t)(i ^ 1))) / 2) : a;
  }
  dl_view w = flat(wide, DL_F32, &n3), s = flat(narrow, d, &n3);
  dl_copy_view(&s, &w);
  wrong = 0;
  for (int i = 0; i < 3 * N; i++) {
    uint16_t want = down(d, wide[i]);
    wrong += isnan(wide[i]) ? !isnan(up(d, narrow[i])) : narrow[i] != want;
  }
  is_int(wrong, 0, "%s: it rounds every value, neighbour and midpoint alike", name);
}

/* x * 1 is x, bit for bit, in every build of the kernels. */
static void kernels(dl_dtype d, const char *name, int level) {
  const dl_kernel_fn *table = dl_op_table(level);
  if (!table) {
    ok(true, "%s: x86-64 level %d # skip this machine or build lacks it", name, level);
    return;
  }
  int64_t n = N;
  static const int64_t zero = 0;
  float one = 1;
  int wrong = 0;
  dl_kcall k = {.op = DL_OP_mul, .compute = DL_F32, .nin = 2, .nout = 1};
  k.in[0] = flat(bits, d, &n);
  k.in[1] = flat(&one, DL_F32, &n);
  k.in[1].stride = &zero;
  k.out[0] = flat(out, d, &n);
  if (!is_status(table[DL_OP_mul](&k), "", "%s: a product runs at level %d", name, level)) return;
  for (int i = 0; i < N; i++)
    wrong += isnan(up(d, bits[i])) ? !isnan(up(d, out[i])) : out[i] != bits[i];
  is_int(wrong, 0, "%s: times one every pattern stays, at level %d", name, level);
}

int main(void) {
  static const int levels[] = {1, 3, 4};
  dl_mem_init();
  dl_op_init();
  brain_rounding();
  for (size_t t = 0; t < 2; t++) {
    copies(types[t].d, types[t].name);
    for (int i = 0; i < N; i++) bits[i] = (uint16_t)i;
    for (size_t l = 0; l < 3; l++) kernels(types[t].d, types[t].name, levels[l]);
  }
  return tap_done();
}
