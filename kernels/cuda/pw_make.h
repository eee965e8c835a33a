/* pw_make.h -- the three readings of formulas.h: float32, float64, int64; then records and kernels
 *
 * Included at the end of each pointwise_*.cu, once. */
#define K(v) ((R)(v))

/* ---- float32: math32.h ------------------------------------------------------------------ */
#define R float
#define FN(name) name##_f32
#define TOP FLT_MAX
#define FMA(p, q, r) DL_FMA(p, q, r)
#define pick(t, p, q) dl_pick32(t, p, q)
#define abs(v) dl_abs32(v)
#define floor(v) floorf(v)
#define ceil(v) ceilf(v)
#define trunc(v) truncf(v)
#define rint(v) rintf(v)
#define sqrt(v) DL_SQRT32(v)
#define copysign(v, s) dl_copysign32(v, s)
#define exp(v) dl_exp32(v)
#define exp2(v) dl_exp2_32(v)
#define expm1(v) dl_expm1_32(v)
#define log(v) dl_log32(v)
#define log2(v) dl_log2_32(v)
#define log10(v) dl_log10_32(v)
#define log1p(v) dl_log1p32(v)
#define sin(v) dl_sin32(v)
#define cos(v) dl_cos32(v)
#define tan(v) dl_tan32(v)
#define sin_near(v) dl_sin_near(v)
#define cos_near(v) dl_cos_near(v)
#define tan_near(v) dl_tan_near(v)
#define turn_is_near(v) dl_turn_is_near(v)
#define asin(v) dl_asin32(v)
#define acos(v) dl_acos32(v)
#define atan(v) dl_atan32(v)
#define atan2(v, w) dl_atan2_32(v, w)
#define sinh(v) dl_sinh32(v)
#define cosh(v) dl_cosh32(v)
#define tanh(v) dl_tanh32(v)
#define erf(v) dl_erf32(v)
#define phi(v) dl_phi32(v)
#define sigmoid(v) dl_sigmoid32(v)
#define pow(v, w) dl_pow32(v, w)
#define hypot(v, w) dl_hypot32(v, w)
#define fmod(v, w) dl_fmod32(v, w)
#define fmod_near(v, w) dl_fmod_near(v, w)
#define mod_is_near(v, w) dl_mod_is_near(v, w)
#define DL_PW(kind, id, n, nums, real, whole) PW_FORM(id##_f32, float, float, f, n, real)
#define DL_PWF(kind, id, n, nums, real) PW_FORM(id##_f32, float, float, f, n, real)
#define DL_PWG(kind, id, n, nums, test, quick, real) \
  PW_FORM_GUARDED(id##_f32, float, f, n, test, quick, real)
#define DL_PWI(kind, id, n, nums, whole) typedef pw_none id##_f32;
#define DL_PWB(kind, id, n, nums, real, whole) PW_FORM(id##_f32, uint8_t, float, f, n, real)
#include "formulas.h"
#undef DL_PW
#undef DL_PWF
#undef DL_PWG
#undef DL_PWI
#undef DL_PWB
#undef R
#undef FN
#undef TOP
#undef FMA
#undef pick
#undef abs
#undef floor
#undef ceil
#undef trunc
#undef rint
#undef sqrt
#undef copysign
#undef exp
#undef exp2
#undef expm1
#undef log
#undef log2
#undef log10
#undef log1p
#undef sin
#undef cos
#undef tan
#undef asin
#undef acos
#undef atan
#undef atan2
#undef sinh
#undef cosh
#undef tanh
#undef erf
#undef phi
#undef sigmoid
#undef pow
#undef hypot
#undef fmod

/* ---- float64: libm ---------------------------------------------------------------------- */
#define R double
#define FN(name) name##_f64
#define TOP DBL_MAX
#define FMA(p, q, r) ((p) * (q) + (r))
#define pick(t, p, q) dl_pick64(t, p, q)
#define abs(v) dl_abs64(v)
#define sqrt(v) DL_SQRT64(v)
#define copysign(v, s) dl_copysign64(v, s)
#define phi(v) (0.5 * erfc((v) * -0.70710678118654752440))
#define sigmoid(v) pw_sigmoid64(v)
DL_FN double pw_sigmoid64(double v) {
  double z = exp(-dl_abs64(v)), s = 1.0 / (1.0 + z);
  return v < 0.0 ? z * s : s;
}
#define DL_PW(kind, id, n, nums, real, whole) PW_FORM(id##_f64, double, double, f, n, real)
#define DL_PWF(kind, id, n, nums, real) PW_FORM(id##_f64, double, double, f, n, real)
#define DL_PWG(kind, id, n, nums, test, quick, real) PW_FORM(id##_f64, double, double, f, n, real)
#define DL_PWI(kind, id, n, nums, whole) typedef pw_none id##_f64;
#define DL_PWB(kind, id, n, nums, real, whole) PW_FORM(id##_f64, uint8_t, double, f, n, real)
#include "formulas.h"
#undef DL_PW
#undef DL_PWF
#undef DL_PWG
#undef DL_PWI
#undef DL_PWB
#undef R
#undef FN
#undef TOP
#undef FMA
#undef pick
#undef abs
#undef sqrt
#undef copysign
#undef phi
#undef sigmoid

/* ---- int64 ------------------------------------------------------------------------------ */
#define W(v) ((uint64_t)(v))
#define DL_PW(kind, id, n, nums, real, whole) PW_FORM(id##_i64, int64_t, int64_t, i, n, whole)
#define DL_PWF(kind, id, n, nums, real)
#define DL_PWG(kind, id, n, nums, test, quick, real)
#define DL_PWI(kind, id, n, nums, whole) PW_FORM(id##_i64, int64_t, int64_t, i, n, whole)
#define DL_PWB(kind, id, n, nums, real, whole) PW_FORM(id##_i64, uint8_t, int64_t, i, n, whole)
#include "formulas.h"
#undef DL_PW
#undef DL_PWF
#undef DL_PWG
#undef DL_PWI
#undef DL_PWB
#undef W

/* ---- records and kernels ---------------------------------------------------------------- */
#define PW_KERNEL_OP(id) DL_CUDA(id) { return pw_run(c, &pw_##id, stream); }
#define PW_KERNEL_FORM(id)
#define PW_RECORD(kind, id, n, test, types, fast, whole, ...)                            \
  static const pw_op pw_##id = {fast, pw_go_slow<id##_f32, id##_f64, whole>, types, n, test, \
                                {__VA_ARGS__}};                                          \
  PW_KERNEL_##kind(id)
#define PW_ALL (PW_REAL | PW_WHOLE)
#define DL_PW(kind, id, n, nums, real, whole) \
  PW_RECORD(kind, id, n, 0, PW_ALL, pw_go_fast<id##_f32>, id##_i64, nums)
#define DL_PWF(kind, id, n, nums, real) \
  PW_RECORD(kind, id, n, 0, PW_REAL, pw_go_fast<id##_f32>, pw_none, nums)
#define DL_PWG(kind, id, n, nums, test, quick, real) \
  PW_RECORD(kind, id, n, 0, PW_REAL, pw_go_fast<id##_f32>, pw_none, nums)
#define DL_PWI(kind, id, n, nums, whole) \
  PW_RECORD(kind, id, n, 0, PW_WHOLE, NULL, id##_i64, nums)
#define DL_PWB(kind, id, n, nums, real, whole) \
  PW_RECORD(kind, id, n, 1, PW_ALL, pw_go_fast<id##_f32>, id##_i64, nums)
#include "formulas.h"
