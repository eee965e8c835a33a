/* base_dtype.c -- promotion, casts, half precision, single elements */
#include <math.h>
#include <string.h>

#include "base/convert.h"
#include "tap.h"

/* Half by the definition of IEEE 754: sign, 5 bits of exponent, 10 of fraction. */
static double half_by_definition(uint16_t h) {
  int e = h >> 10 & 31, f = h & 1023;
  double v = e == 31 ? (f ? NAN : INFINITY) : e ? ldexp(1024 + f, e - 25) : ldexp(f, -24);
  return h & 0x8000 ? -v : v;
}

static void half_patterns(void) {
  int wrong = 0, back = 0, nan_lost = 0;
  for (int i = 0; i < 65536; i++) {
    dl_half h = {(uint16_t)i};
    double want = half_by_definition((uint16_t)i);
    float got = dl_half_to_f32(h);
    if (isnan(want) ? !isnan(got) : got != want || !signbit(got) != !signbit(want)) wrong++;
    dl_half again = dl_half_from_f32(got);
    if (isnan(want)) nan_lost += !isnan(dl_half_to_f32(again));
    else back += again.bits != h.bits;
  }
  is_int(wrong, 0, "all 65536 half patterns read as IEEE 754 defines them");
  is_int(back, 0, "every half survives the way to float and back");
  is_int(nan_lost, 0, "every half nan stays a nan");
}

/* Ties to even: halfway between neighbours goes to the even one, a hair beside it to the nearer. */
static void half_rounding(void) {
  int wrong = 0;
  for (int i = 0; i < 0x7bff; i++) {
    float a = dl_half_to_f32((dl_half){(uint16_t)i});
    float b = dl_half_to_f32((dl_half){(uint16_t)(i + 1)});
    float mid = (float)(((double)a + b) / 2); /* exact: half has 11 bits */
    uint16_t even = (uint16_t)(i & 1 ? i + 1 : i);
    if (dl_half_from_f32(mid).bits != even) wrong++;
    if (dl_half_from_f32(nextafterf(mid, 1e9f)).bits != i + 1) wrong++;
    if (dl_half_from_f32(nextafterf(mid, -1.f)).bits != i) wrong++;
    if (dl_half_from_f32(-mid).bits != (even | 0x8000)) wrong++;
  }
  is_int(wrong, 0, "float to half rounds to nearest, ties to even, subnormals included");
  is_int(dl_half_from_f32(65519.f).bits, 0x7bff, "65519 rounds to the largest half");
  is_int(dl_half_from_f32(65520.f).bits, 0x7c00, "65520 rounds to infinity");
  is_int(dl_half_from_f32(-1e30f).bits, 0xfc00, "-1e30 becomes -infinity");
}

static void bf16_patterns(void) {
  int wrong = 0, tie = 0;
  for (int i = 0; i < 65536; i++) {
    float f = dl_bf16_to_f32((dl_bf16){(uint16_t)i});
    uint16_t again = dl_bf16_from_f32(f).bits;
    if (isnan(f)) wrong += !isnan(dl_bf16_to_f32((dl_bf16){again}));
    else wrong += again != i;
  }
  for (uint32_t i = 0; i < 0x7f80; i++) {
    uint32_t u = i << 16 | 0x8000;
    float f;
    memcpy(&f, &u, 4);
    tie += dl_bf16_from_f32(f).bits != (i & 1 ? i + 1 : i);
  }
  is_int(wrong, 0, "every bfloat16 survives the way to float and back");
  is_int(tie, 0, "float to bfloat16 breaks ties to even");
}

static void promotion(void) {
  static const struct { dl_dtype a, b, want; } row[] = {
      {DL_BOOL, DL_U8, DL_U8}, {DL_U8, DL_I8, DL_I16}, {DL_U8, DL_I16, DL_I16},
      {DL_U8, DL_I32, DL_I32}, {DL_I8, DL_I64, DL_I64}, {DL_I64, DL_F16, DL_F16},
      {DL_F16, DL_BF16, DL_F32}, {DL_BF16, DL_F32, DL_F32}, {DL_F16, DL_F64, DL_F64},
      {DL_BOOL, DL_BF16, DL_BF16}, {DL_I32, DL_F32, DL_F32}, {DL_BOOL, DL_BOOL, DL_BOOL}};
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    is_str(dl_dtypes[dl_promote(row[i].a, row[i].b)].name, dl_dtypes[row[i].want].name,
           "%s with %s promotes", dl_dtypes[row[i].a].name, dl_dtypes[row[i].b].name);
  int unlike = 0, idle = 0;
  for (int a = 0; a < DL_DTYPE_COUNT; a++)
    for (int b = 0; b < DL_DTYPE_COUNT; b++) {
      dl_dtype p = dl_promote((dl_dtype)a, (dl_dtype)b);
      unlike += p != dl_promote((dl_dtype)b, (dl_dtype)a);
      unlike += dl_dtypes[p].category < dl_dtypes[a].category;
      idle += a == b && (int)p != a;
    }
  is_int(unlike, 0, "promotion is symmetric and never lowers the category");
  is_int(idle, 0, "a dtype with itself stays");
  ok(!dl_can_cast(DL_F32, DL_I64), "float may not be stored into int in place");
  ok(dl_can_cast(DL_I64, DL_I8), "int64 may be stored into int8 in place");
  ok(!dl_can_cast(DL_I8, DL_BOOL), "int may not be stored into bool in place");
  ok(dl_can_cast(DL_F64, DL_F16), "float64 may be stored into float16 in place");
}

static void elements(void) {
  char room[8];
  for (int d = 0; d < DL_DTYPE_COUNT; d++) {
    dl_elem_set_f64((dl_dtype)d, room, 1);
    is_double(dl_elem_get_f64((dl_dtype)d, room), 1, 0, "%s holds 1 as a double",
              dl_dtypes[d].name);
    dl_elem_set_i64((dl_dtype)d, room, 1);
    is_int(dl_elem_get_i64((dl_dtype)d, room), 1, "%s holds 1 as an integer", dl_dtypes[d].name);
  }
  dl_elem_set_i64(DL_U8, room, 300);
  is_int(dl_elem_get_i64(DL_U8, room), 44, "300 wraps to 44 in uint8");
  dl_elem_set_f64(DL_I64, room, -2.9);
  is_int(dl_elem_get_i64(DL_I64, room), -2, "-2.9 is truncated to -2 in int64");
  dl_elem_set_f64(DL_U8, room, -1);
  is_int(dl_elem_get_i64(DL_U8, room), 255, "-1.0 wraps to 255 in uint8");
  dl_elem_set_f64(DL_U8, room, 4294967297.0);
  is_int(dl_elem_get_i64(DL_U8, room), 1, "2^32 + 1 wraps to 1 in uint8, by way of int64");
  dl_elem_set_f64(DL_I16, room, 4294967297.0);
  is_int(dl_elem_get_i64(DL_I16, room), 0, "but to 0 in int16, by way of int32");
  is_int(dl_f64_to_i64(NAN), INT64_MIN, "nan becomes the smallest int64");
  is_int(dl_f64_to_i64(1e300), INT64_MIN, "1e300 becomes the smallest int64");
  is_int(dl_f64_to_i32(-INFINITY), INT32_MIN, "-inf becomes the smallest int32");
  is_int(dl_f32_to_i32(2147483520.f), 2147483520, "the largest float below 2^31 fits int32");
}

int main(void) {
  half_patterns();
  half_rounding();
  bf16_patterns();
  promotion();
  elements();
  return tap_done();
}
