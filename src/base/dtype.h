/* dtype.h -- the ten element types, their names, promotion and conversions
 *
 * For everyone. The table below is the only list of dtypes in the project.
 *
 * INVARIANT  The order is bool < unsigned < signed < floating, so that
 *            category comparisons are integer comparisons.
 * MUST NOT   know tensors. */
#ifndef DL_DTYPE_H
#define DL_DTYPE_H

#include "base/error.h"

/*   id    C type     bytes  name        alias    Scalar name  C++ name        category */
#define DL_DTYPES(X)                                                                \
  X(BOOL, uint8_t,   1, "bool",     NULL,     "Bool",     "bool",          0)       \
  X(U8,   uint8_t,   1, "uint8",    NULL,     "Byte",     "unsigned char", 1)       \
  X(I8,   int8_t,    1, "int8",     NULL,     "Char",     "signed char",   1)       \
  X(I16,  int16_t,   2, "int16",    "short",  "Short",    "short int",     1)       \
  X(I32,  int32_t,   4, "int32",    "int",    "Int",      "int",           1)       \
  X(I64,  int64_t,   8, "int64",    "long",   "Long",     "long int",      1)       \
  X(F16,  dl_half,   2, "float16",  "half",   "Half",     "c10::Half",     2)       \
  X(BF16, dl_bf16,   2, "bfloat16", NULL,     "BFloat16", "c10::BFloat16", 2)       \
  X(F32,  float,     4, "float32",  "float",  "Float",    "float",         2)       \
  X(F64,  double,    8, "float64",  "double", "Double",   "double",        2)

typedef struct { uint16_t bits; } dl_half;
typedef struct { uint16_t bits; } dl_bf16;

typedef enum dl_dtype {
#define X(id, c, n, name, alias, S, cpp, cat) DL_##id,
  DL_DTYPES(X)
#undef X
  DL_DTYPE_COUNT,
  DL_NODTYPE = 255
} dl_dtype;

typedef struct dl_dtype_info {
  const char *name, *alias, *scalar, *cpp; /* "float32", "float", "Float", "float" */
  uint8_t size;                            /* bytes an element */
  uint8_t category;                        /* 0 bool, 1 integer, 2 floating */
} dl_dtype_info;

extern const dl_dtype_info dl_dtypes[DL_DTYPE_COUNT];

static inline size_t dl_dtype_size(dl_dtype d) { return dl_dtypes[d].size; }
static inline bool dl_dtype_is_float(dl_dtype d) { return d >= DL_F16 && d <= DL_F64; }
static inline bool dl_dtype_is_int(dl_dtype d) { return d >= DL_U8 && d <= DL_I64; }

/* PyTorch's promoteTypes (c10/core/ScalarType.cpp). */
dl_dtype dl_promote(dl_dtype a, dl_dtype b);
/* torch.can_cast: may a result of `from` be stored in place into `to`? */
bool dl_can_cast(dl_dtype from, dl_dtype to);

/* IEEE conversions, ties to even, subnormals kept. */
float dl_half_to_f32(dl_half h);
dl_half dl_half_from_f32(float f);
static inline float dl_bf16_to_f32(dl_bf16 b) {
  union { uint32_t u; float f; } v = {(uint32_t)b.bits << 16};
  return v.f;
}
static inline dl_bf16 dl_bf16_from_f32(float f) {
  union { float f; uint32_t u; } v = {f};
  if ((v.u & 0x7fffffffu) > 0x7f800000u) return (dl_bf16){(uint16_t)((v.u >> 16) | 64)};
  return (dl_bf16){(uint16_t)((v.u + 0x7fffu + ((v.u >> 16) & 1u)) >> 16)};
}

/* One element read as a number or stored from one; integers wrap as PyTorch's casts do. */
double dl_elem_get_f64(dl_dtype d, const void *p);
int64_t dl_elem_get_i64(dl_dtype d, const void *p);
void dl_elem_set_f64(dl_dtype d, void *p, double v);
void dl_elem_set_i64(dl_dtype d, void *p, int64_t v);

#endif
