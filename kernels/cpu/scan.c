/* scan.c -- cumsum, cumprod
 *
 * For table.c. Floats run in double and are rounded once an element, as PyTorch's do; integers run
 * in int64. Views are contiguous (KERNELC). */
#include "lines.h"
#include "once/convert.h"

typedef struct scan_job {
  lines l;
  const dl_view *in, *out;
} scan_job;

/* The band's elements of row r, converted, in place in the result. */
static void bring(const scan_job *j, int64_t at, int64_t w) {
  const dl_view *i = j->in, *o = j->out;
  dl_convert(o->dtype, o->data + at * (int64_t)dl_dtypes[o->dtype].size, 1, i->dtype,
             i->data + at * (int64_t)dl_dtypes[i->dtype].size, 1, w);
}

#define ADD(s, x) ((s) + (x))
#define TIMES(s, x) ((s) * (x))
#define SCAN(name, T, A, FIRST, STEP)                                               \
  static void name##_line(const scan_job *j, int64_t base) {                        \
    T *out = (T *)j->out->data + base;                                              \
    const T *in = (const T *)j->in->data + base;                                    \
    A acc = FIRST;                                                                  \
    if (j->in->dtype != j->out->dtype) {                                            \
      bring(j, base, j->l.n);                                                       \
      in = out;                                                                     \
    }                                                                               \
    for (int64_t r = 0; r < j->l.n; r++) {                                          \
      acc = STEP(acc, (A)in[r]);                                                    \
      out[r] = (T)acc;                                                              \
    }                                                                               \
  }                                                                                 \
  static void name(void *ctx, int64_t lo, int64_t hi) {                             \
    const scan_job *j = ctx;                                                        \
    for (int64_t i = lo; i < hi; i++) {                                             \
      int64_t w, base = lines_piece(&j->l, i, &w);                                  \
      if (j->l.inner == 1) {                                                        \
        name##_line(j, base);                                                       \
        continue;                                                                   \
      }                                                                             \
      A acc[BAND];                                                                  \
      for (int64_t k = 0; k < w; k++) acc[k] = FIRST;                               \
      for (int64_t r = 0; r < j->l.n; r++) {                                        \
        int64_t at = base + r * j->l.inner;                                         \
        bring(j, at, w);                                                            \
        T *p = (T *)j->out->data + at;                                              \
        for (int64_t k = 0; k < w; k++) {                                           \
          acc[k] = STEP(acc[k], (A)p[k]);                                           \
          p[k] = (T)acc[k];                                                         \
        }                                                                           \
      }                                                                             \
    }                                                                               \
  }
SCAN(sum_f32, float, double, 0, ADD)
SCAN(sum_f64, double, double, 0, ADD)
SCAN(sum_i64, int64_t, uint64_t, 0, ADD)
SCAN(prod_f32, float, double, 1, TIMES)
SCAN(prod_f64, double, double, 1, TIMES)
SCAN(prod_i64, int64_t, uint64_t, 1, TIMES)

typedef void (*scan_fn)(void *ctx, int64_t lo, int64_t hi);
static const scan_fn scans[2][3] = {{sum_f32, sum_f64, sum_i64}, {prod_f32, prod_f64, prod_i64}};

static dl_status scan(dl_kcall *c, int op) {
  scan_job j = {lines_of(&c->in[0], dl_arg_i(&c->arg[1])), &c->in[0], &c->out[0]};
  if (j.out->numel == 0) return DL_OK;
  int t = j.out->dtype == DL_F32 ? 0 : j.out->dtype == DL_F64 ? 1 : 2;
  return dl_parallel(lines_pieces(&j.l), lines_grain(&j.l), scans[op][t], &j);
}
DL_KERNEL(cumsum) { return scan(c, 0); }
DL_KERNEL(cumprod) { return scan(c, 1); }
