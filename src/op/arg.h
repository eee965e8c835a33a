/* arg.h -- an op's arguments: one tagged value a schema parameter
 *
 * Shared by dispatch, rules, gradient rules, kernels (which may read numbers, never tensors).
 * Values are borrowed for the length of the call. */
#ifndef DL_ARG_H
#define DL_ARG_H

#include "base/shape.h"
#include "mem/mem.h"

typedef struct dl_tensor dl_tensor;
typedef struct dl_gen dl_gen;

typedef enum dl_tag {
  DL_A_NONE, DL_A_TENSOR, DL_A_INT, DL_A_FLOAT, DL_A_BOOL, DL_A_INTS, DL_A_TENSORS,
  DL_A_STR, DL_A_DTYPE, DL_A_DEVICE, DL_A_GEN
} dl_tag;

typedef struct dl_arg {
  uint8_t tag;
  int32_t n;                    /* length of ints / tensors */
  union {
    int64_t i;                  /* INT, BOOL, DTYPE */
    double f;                   /* FLOAT */
    dl_tensor *t;
    dl_tensor *const *ts;       /* an element may be NULL where the schema says Tensor?[] */
    const int64_t *is;
    const char *s;
    dl_device dev;
    dl_gen *gen;
  };
} dl_arg;

/* A tensor argument, NONE for NULL. A function, so that T(EX(…)) runs its op once. */
static inline dl_arg dl_arg_tensor(dl_tensor *t) {
  return (dl_arg){.tag = t ? DL_A_TENSOR : DL_A_NONE, .t = t};
}

/* Short makers for calls from C: EX(e, add, T(x), F(2.0)) */
#define T(x)      dl_arg_tensor(x)
#define I(x)      ((dl_arg){.tag = DL_A_INT, .i = (x)})
#define F(x)      ((dl_arg){.tag = DL_A_FLOAT, .f = (x)})
#define B(x)      ((dl_arg){.tag = DL_A_BOOL, .i = (x) ? 1 : 0})
#define S(x)      ((dl_arg){.tag = (x) ? DL_A_STR : DL_A_NONE, .s = (x)})
#define DT(x)     ((dl_arg){.tag = DL_A_DTYPE, .i = (x)})
#define L(v, len) ((dl_arg){.tag = DL_A_INTS, .n = (len), .is = (v)})
#define TS(v, len) ((dl_arg){.tag = DL_A_TENSORS, .n = (len), .ts = (v)})
#define DEV(t)    ((dl_arg){.tag = DL_A_DEVICE, .dev = (t)->dev}) /* the device of tensor t */
#define NIL       ((dl_arg){.tag = DL_A_NONE})

static inline bool dl_arg_given(const dl_arg *a) { return a->tag != DL_A_NONE; }
static inline bool dl_arg_is_num(const dl_arg *a) {
  return a->tag >= DL_A_INT && a->tag <= DL_A_BOOL;
}
static inline double dl_arg_f(const dl_arg *a) {
  return a->tag == DL_A_FLOAT ? a->f : (double)a->i;
}
static inline int64_t dl_arg_i(const dl_arg *a) {
  return a->tag == DL_A_FLOAT ? (int64_t)a->f : a->i;
}

#endif
