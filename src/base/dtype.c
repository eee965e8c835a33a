/* dtype.c -- the dtype table, promotion, half precision, single elements
 *
 * For everyone.
 *
 * INVARIANT  promote[a][b] == promote[b][a]; conversions round to nearest, ties to even.
 * MUST NOT   know tensors. */
#include "base/convert.h"

#include <string.h>

const dl_dtype_info dl_dtypes[DL_DTYPE_COUNT] = {
#define X(id, c, n, name, alias, S, cpp, cat) {name, alias, S, cpp, n, cat},
    DL_DTYPES(X)
#undef X
};

/* PyTorch's promoteTypes; the rows and columns are in the order of DL_DTYPES. */
#define b_ DL_BOOL
#define u1 DL_U8
#define i1 DL_I8
#define i2 DL_I16
#define i4 DL_I32
#define i8 DL_I64
#define f2 DL_F16
#define bf DL_BF16
#define f4 DL_F32
#define f8 DL_F64
static const uint8_t promote[DL_DTYPE_COUNT][DL_DTYPE_COUNT] = {
    /*       bool u8  i8  i16 i32 i64 f16 bf  f32 f64 */
    /* bool */ {b_, u1, i1, i2, i4, i8, f2, bf, f4, f8},
    /* u8   */ {u1, u1, i2, i2, i4, i8, f2, bf, f4, f8},
    /* i8   */ {i1, i2, i1, i2, i4, i8, f2, bf, f4, f8},
    /* i16  */ {i2, i2, i2, i2, i4, i8, f2, bf, f4, f8},
    /* i32  */ {i4, i4, i4, i4, i4, i8, f2, bf, f4, f8},
    /* i64  */ {i8, i8, i8, i8, i8, i8, f2, bf, f4, f8},
    /* f16  */ {f2, f2, f2, f2, f2, f2, f2, f4, f4, f8},
    /* bf16 */ {bf, bf, bf, bf, bf, bf, f4, bf, f4, f8},
    /* f32  */ {f4, f4, f4, f4, f4, f4, f4, f4, f4, f8},
    /* f64  */ {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8},
};
#undef b_
#undef u1
#undef i1
#undef i2
#undef i4
#undef i8
#undef f2
#undef bf
#undef f4
#undef f8

dl_dtype dl_promote(dl_dtype a, dl_dtype b) { return (dl_dtype)promote[a][b]; }

bool dl_can_cast(dl_dtype from, dl_dtype to) {
  return dl_dtypes[from].category <= dl_dtypes[to].category;
}

static inline float f32_from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, sizeof f);
  return f;
}
static inline uint32_t f32_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  return u;
}

/* The exponent is moved by shifting and one exact multiplication (normal numbers, inf, nan) or
 * one exact subtraction (subnormals): no branch on the bits, no table. */
float dl_half_to_f32(dl_half h) {
  uint32_t w = (uint32_t)h.bits << 16, sign = w & 0x80000000u, two_w = w + w;
  float normal = f32_from_bits((two_w >> 4) + (0xE0u << 23)) * 0x1.0p-112f;
  float subnormal = f32_from_bits((two_w >> 17) | (126u << 23)) - 0.5f;
  uint32_t bits = two_w < (1u << 27) ? f32_bits(subnormal) : f32_bits(normal);
  return f32_from_bits(sign | bits);
}

/* Adding a power of two of the right size lets the adder round to half's 11 bits. */
dl_half dl_half_from_f32(float f) {
  uint32_t w = f32_bits(f), shl1 = w + w, sign = w & 0x80000000u;
  if (shl1 > 0xFF000000u) return (dl_half){(uint16_t)((sign >> 16) | 0x7E00u)};
  float base = (f32_from_bits(w & 0x7fffffffu) * 0x1.0p+112f) * 0x1.0p-110f;
  uint32_t bias = shl1 & 0xFF000000u;
  if (bias < 0x71000000u) bias = 0x71000000u;
  base = f32_from_bits((bias >> 1) + 0x07800000u) + base;
  uint32_t bits = f32_bits(base);
  return (dl_half){(uint16_t)((sign >> 16) | (((bits >> 13) & 0x7C00u) + (bits & 0x0FFFu)))};
}

double dl_elem_get_f64(dl_dtype d, const void *p) {
  switch (d) {
    case DL_F16: return dl_half_to_f32(*(const dl_half *)p);
    case DL_BF16: return dl_bf16_to_f32(*(const dl_bf16 *)p);
    case DL_F32: return *(const float *)p;
    case DL_F64: return *(const double *)p;
    default: return (double)dl_elem_get_i64(d, p);
  }
}

int64_t dl_elem_get_i64(dl_dtype d, const void *p) {
  switch (d) {
    case DL_BOOL: return *(const uint8_t *)p != 0;
    case DL_U8: return *(const uint8_t *)p;
    case DL_I8: return *(const int8_t *)p;
    case DL_I16: return *(const int16_t *)p;
    case DL_I32: return *(const int32_t *)p;
    case DL_I64: return *(const int64_t *)p;
    default: return dl_f64_to_i64(dl_elem_get_f64(d, p));
  }
}

void dl_elem_set_f64(dl_dtype d, void *p, double v) {
  switch (d) {
    case DL_BOOL: *(uint8_t *)p = v != 0; break;
    case DL_F16: *(dl_half *)p = dl_half_from_f64(v); break;
    case DL_BF16: *(dl_bf16 *)p = dl_bf16_from_f64(v); break;
    case DL_F32: *(float *)p = (float)v; break;
    case DL_F64: *(double *)p = v; break;
    case DL_I64: *(int64_t *)p = dl_f64_to_i64(v); break;
    case DL_U8: *(uint8_t *)p = dl_f64_to_u8(v); break;
    default: dl_elem_set_i64(d, p, dl_f64_to_i32(v));
  }
}

void dl_elem_set_i64(dl_dtype d, void *p, int64_t v) {
  switch (d) {
    case DL_BOOL: *(uint8_t *)p = v != 0; break;
    case DL_U8: *(uint8_t *)p = (uint8_t)v; break;
    case DL_I8: *(int8_t *)p = (int8_t)(uint8_t)v; break;
    case DL_I16: *(int16_t *)p = (int16_t)(uint16_t)v; break;
    case DL_I32: *(int32_t *)p = (int32_t)(uint32_t)v; break;
    case DL_I64: *(int64_t *)p = v; break;
    case DL_F32: *(float *)p = (float)v; break;
    case DL_F64: *(double *)p = (double)v; break;
    default: dl_elem_set_f64(d, p, (double)(float)v);
  }
}
