/* rule_pw.c -- shapes and dtypes of the pointwise sections
 *
 * For ops.def. A result has the broadcast shape of the operands; its dtype is the promoted one,
 * bool for tests, floating for true functions. What a dtype forbids is a table, by op.
 *
 * SOURCE ATen/native/BinaryOps.cpp, UnaryOps.cpp, TensorCompare.cpp, Activation.cpp, Lerp.cpp and
 *        the AT_DISPATCH names of their CPU kernels (texts). */
#include "mem/gpu.h"
#include "op/op.h"

#include <math.h>
#include <string.h>

static dl_opid op_of(const dl_call *c) { return (dl_opid)(c->op - dl_ops); }

/* ---- "name" not implemented for 'Dtype' ------------------------------------------------- */
enum { NO_BOOL = 1, NO_INT = 2, NO_FLOAT = 4 };
typedef struct refusal { uint16_t op; uint8_t what; const char *kernel; } refusal;

static const refusal refusals[] = {
  {DL_OP_floor_divide, NO_BOOL, "div_floor_cpu"},
  {DL_OP_rfloor_divide, NO_BOOL, "div_floor_cpu"},
  {DL_OP_remainder, NO_BOOL, "remainder_cpu"},
  {DL_OP_rremainder, NO_BOOL, "remainder_cpu"},
  {DL_OP_fmod, NO_BOOL, "fmod_cpu"},
  {DL_OP_pow, NO_BOOL, "pow"},
  {DL_OP_abs, NO_BOOL, "abs_cpu"},
  {DL_OP_floor, NO_BOOL, "floor_vml_cpu"},
  {DL_OP_ceil, NO_BOOL, "ceil_vml_cpu"},
  {DL_OP_round, NO_BOOL, "round_vml_cpu"},
  {DL_OP_trunc, NO_BOOL, "trunc_vml_cpu"},
  {DL_OP_clamp, NO_BOOL, "clamp_cpu"},
  {DL_OP_clamp_min, NO_BOOL, "clamp_min_cpu"},
  {DL_OP_clamp_max, NO_BOOL, "clamp_max_cpu"},
  {DL_OP_frac, NO_BOOL | NO_INT, "frac_cpu"},
  {DL_OP_hypot, NO_BOOL | NO_INT, "hypot_cpu"},
  {DL_OP_bitwise_and, NO_FLOAT, "bitwise_and_cpu"},
  {DL_OP_bitwise_or, NO_FLOAT, "bitwise_or_cpu"},
  {DL_OP_bitwise_xor, NO_FLOAT, "bitwise_xor_cpu"},
  {DL_OP_bitwise_not, NO_FLOAT, "bitwise_not_cpu"},
  {DL_OP_bitwise_left_shift, NO_FLOAT | NO_BOOL, "lshift_cpu"},
  {DL_OP_bitwise_right_shift, NO_FLOAT | NO_BOOL, "rshift_cpu"},
  {DL_OP_gelu, NO_BOOL | NO_INT, "GeluKernelImpl"},
  {DL_OP_gelu_backward, NO_BOOL | NO_INT, "GeluBackwardKernelImpl"},
  {DL_OP_silu, NO_BOOL | NO_INT, "silu_cpu"},
  {DL_OP_silu_backward, NO_BOOL | NO_INT, "silu_backward_cpu"},
  {DL_OP_mish, NO_BOOL | NO_INT, "mish_cpu"},
  {DL_OP_mish_backward, NO_BOOL | NO_INT, "mish_backward_cpu"},
  {DL_OP_softplus, NO_BOOL | NO_INT, "softplus_cpu"},
  {DL_OP_softplus_backward, NO_BOOL | NO_INT, "softplus_backward_cpu"},
  {DL_OP_elu, NO_BOOL | NO_INT, "elu_cpu"},
  {DL_OP_selu, NO_BOOL | NO_INT, "elu_cpu"},
  {DL_OP_celu, NO_BOOL | NO_INT, "elu_cpu"},
  {DL_OP_elu_backward, NO_BOOL | NO_INT, "elu_backward_cpu"},
  {DL_OP_leaky_relu, NO_BOOL | NO_INT, "leaky_relu_cpu"},
  {DL_OP_leaky_relu_backward, NO_BOOL | NO_INT, "leaky_relu_backward_cpu"},
  {DL_OP_hardsigmoid, NO_BOOL | NO_INT, "hardsigmoid_cpu"},
  {DL_OP_hardsigmoid_backward, NO_BOOL | NO_INT, "hardsigmoid_backward_cpu"},
  {DL_OP_hardswish, NO_BOOL | NO_INT, "hardswish_cpu"},
  {DL_OP_hardswish_backward, NO_BOOL | NO_INT, "hardswish_backward_cpu"},
  {DL_OP_logsigmoid, NO_BOOL | NO_INT, "log_sigmoid_cpu"},
  {DL_OP_logsigmoid_backward, NO_BOOL | NO_INT, "log_sigmoid_backward_cpu"},
  {DL_OP_sigmoid_backward, NO_BOOL | NO_INT, "sigmoid_backward_cpu"},
  {DL_OP_tanh_backward, NO_BOOL | NO_INT, "tanh_backward_cpu"},
  {DL_OP_relu_backward, NO_BOOL, "threshold_cpu"},
  {DL_OP_threshold, NO_BOOL, "threshold_cpu"},
};

static dl_status not_implemented(const char *kernel, dl_dtype d) {
  dl_fail(DL_NotImplementedError, DL_E_DTYPE, "\"%s\" not implemented for '%s'", kernel,
          dl_dtypes[d].scalar);
  if (d == DL_BOOL) dl_note("a bool tensor counts as numbers after :int() or :float()");
  else if (dl_dtype_is_int(d)) dl_note("convert first: x:float()");
  return DL_E_DTYPE;
}

static dl_status refuse(const dl_call *c, dl_dtype d) {
  int what = d == DL_BOOL ? NO_BOOL : dl_dtype_is_int(d) ? NO_INT : NO_FLOAT;
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    if (refusals[i].op == op_of(c) && (refusals[i].what & what))
      return not_implemented(refusals[i].kernel, d);
  return DL_OK;
}

/* Result 0: dtype d in the broadcast shape; arithmetic where d's arithmetic happens. */
static dl_status shaped(dl_call *c, dl_dtype d) {
  DL_TRY(refuse(c, d));
  c->out[0].dtype = (uint8_t)d;
  c->compute = dl_compute_for(d);
  return dl_call_broadcast(c);
}

static dl_dtype floating(dl_dtype d) {
  return dl_dtype_is_float(d) ? d : (dl_dtype)dl_default_dtype;
}

static bool whole(dl_dtype d) { return !dl_dtype_is_float(d); }
static bool given_bool(const dl_call *c, int k) {
  return c->in[k] ? c->in[k]->dtype == DL_BOOL : c->num[k] && c->num[k]->tag == DL_A_BOOL;
}

/* ---- arithmetic ------------------------------------------------------------------------- */
static dl_status alpha_fits(const dl_call *c, dl_dtype d) {
  dl_opid op = op_of(c);
  if (op != DL_OP_add && op != DL_OP_sub && op != DL_OP_rsub) return DL_OK;
  const dl_arg *alpha = &c->arg[2];
  if (alpha->tag == DL_A_BOOL && d != DL_BOOL)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Boolean alpha only supported for Boolean results.");
  if (alpha->tag == DL_A_FLOAT && whole(d))
    return dl_fail(
        DL_RuntimeError, DL_E_DTYPE,
        "For integral input tensors, argument alpha must not be a floating point number.");
  return DL_OK;
}

dl_status dl_rule_pw_arith(dl_call *c) {
  dl_dtype d = dl_result_type(c);
  DL_TRY(alpha_fits(c, d));
  if (op_of(c) == DL_OP_round && whole(d) && dl_arg_i(&c->arg[1]) != 0)
    return not_implemented("round_cpu", d);
  return shaped(c, d);
}

dl_status dl_rule_pw_sub(dl_call *c) {
  bool a = given_bool(c, 0), b = given_bool(c, 1);
  if (a && b)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "Subtraction, the `-` operator, with two bool tensors is not supported. Use the "
                   "`^` or `logical_xor()` operator instead.");
  if (a || b)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE,
                   "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                   "trying to invert a mask, use the `~` or `logical_not()` operator instead.");
  return dl_rule_pw_arith(c);
}

dl_status dl_rule_pw_neg(dl_call *c) {
  if (given_bool(c, 0))
    return dl_fail(
        DL_NotImplementedError, DL_E_DTYPE,
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying "
        "to invert a mask, use the `~` or `logical_not()` operator instead.");
  return shaped(c, dl_result_type(c));
}

static dl_status addcdiv_fits(const dl_call *c) {
  if (!whole((dl_dtype)c->in[1]->dtype) || !whole((dl_dtype)c->in[2]->dtype)) return DL_OK;
  return dl_fail(
      DL_RuntimeError, DL_E_DTYPE,
      "Integer division with addcdiv is no longer supported, and in a future  release "
      "addcdiv will perform a true division of tensor1 and tensor2. The historic addcdiv "
      "behavior can be implemented as (input + value * torch.trunc(tensor1 / "
      "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / "
      "tensor2) for float inputs. The future addcdiv behavior is just the latter "
      "implementation: (input + value * tensor1 / tensor2), for all dtypes.");
}

dl_status dl_rule_pw_float(dl_call *c) {
  dl_dtype d = dl_result_type(c);
  DL_TRY(refuse(c, d));
  if (op_of(c) == DL_OP_addcdiv) DL_TRY(addcdiv_fits(c));
  return shaped(c, floating(d));
}

dl_status dl_rule_pw_div_mode(dl_call *c) {
  const char *mode = c->arg[2].s;
  dl_dtype d = dl_result_type(c);
  bool floors = !strcmp(mode, "floor");
  if (!floors && strcmp(mode, "trunc") != 0)
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'", mode);
  if (d == DL_BOOL) return not_implemented(floors ? "div_floor_cpu" : "div_trunc_cpu", d);
  return shaped(c, d);
}

dl_status dl_rule_pw_pow(dl_call *c) {
  dl_dtype d = dl_result_type(c);
  const dl_arg *e = c->num[1];
  if (op_of(c) == DL_OP_pow && e && whole(d) && dl_arg_i(e) < 0)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "Integers to negative integer powers are not allowed.");
  return shaped(c, d);
}

dl_status dl_rule_pw_lerp(dl_call *c) {
  static const char *const word[] = {NULL, "end", "weight"};
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  for (int k = 1; k < 3; k++)
    if (c->in[k] && c->in[k]->dtype != d)
      return dl_fail(DL_RuntimeError, DL_E_DTYPE, "expected dtype %s for `%s` but got dtype %s",
                     dl_dtypes[d].cpp, word[k], dl_dtypes[c->in[k]->dtype].cpp);
  if (whole(d)) return not_implemented(c->in[2] ? "lerp_kernel_tensor" : "lerp_kernel_scalar", d);
  return shaped(c, d);
}

/* ---- choosing -------------------------------------------------------------------------------- */
dl_status dl_rule_pw_clamp(dl_call *c) {
  if (!c->in[1] && !c->num[1] && !c->in[2] && !c->num[2])
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "torch.clamp: At least one of 'min' or 'max' must not be None");
  return shaped(c, dl_result_type(c));
}

dl_status dl_rule_pw_where(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (d == DL_U8)
    dl_warn(
        true, "UserWarning",
        "where received a uint8 condition tensor. This behavior is deprecated and will be removed "
        "in a future version of PyTorch. Use a boolean condition instead.");
  else if (d != DL_BOOL)
    return dl_fail(
        DL_RuntimeError, DL_E_DTYPE,
        "where expected condition to be a boolean tensor, but got a tensor with dtype %s",
        dl_dtypes[d].scalar);
  dl_call values = *c;             /* the condition has no say in the dtype */
  values.in[0] = NULL;
  return shaped(c, dl_result_type(&values));
}

static bool number_fits(const dl_arg *a, dl_dtype d) {
  static const double top[DL_DTYPE_COUNT] = {
    [DL_U8] = 255, [DL_I8] = 127, [DL_I16] = 32767, [DL_I32] = 2147483647.0,
    [DL_I64] = 9223372036854775808.0, [DL_F16] = 65504, [DL_BF16] = 3.3895313892515355e38,
    [DL_F32] = 3.4028234663852886e38};
  double v = dl_arg_f(a), low = d == DL_U8 ? 255 : whole(d) ? top[d] + 1 : top[d];
  if (d == DL_BOOL || d == DL_F64) return true;
  if (!isfinite(v)) return !whole(d);
  return v <= top[d] && v >= -low;
}

dl_status dl_rule_pw_masked_fill(dl_call *c) {
  dl_dtype d = (dl_dtype)c->in[0]->dtype;
  if (c->in[1]->dtype != DL_BOOL)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "masked_fill_ only supports boolean masks, but got mask with dtype %s",
                   dl_dtypes[c->in[1]->dtype].cpp);
  if (c->in[2] && c->in[2]->ndim)
    return dl_fail(
        DL_RuntimeError, DL_E_SHAPE,
        "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with %d "
        "dimension(s).",
        c->in[2]->ndim);
  if (c->num[2] && !number_fits(c->num[2], d))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE,
                   "value cannot be converted to type %s without overflow",
                   d == DL_I64   ? "int64_t"
                   : d == DL_I32 ? "int"
                                 : dl_dtypes[d].cpp);
  return shaped(c, d);
}

/* A GPU's kernel reads truth values. */
dl_status dl_rule_pw_dropout(dl_call *c) {
  const dl_tensor *mask = c->in[1];
  if (dl_is_gpu(c->dev) && mask->dtype != DL_BOOL)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "Mask should be Bool Scalar Type%s",
                   dl_dtypes[mask->dtype].scalar);
  return shaped(c, floating(dl_result_type(c)));
}

/* ---- tests and bits -------------------------------------------------------------------------- */
dl_status dl_rule_pw_cmp(dl_call *c) {
  dl_dtype d = dl_result_type(c);
  if (op_of(c) == DL_OP_isclose && c->in[0]->dtype != c->in[1]->dtype)
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "%s did not match %s",
                   dl_dtypes[c->in[0]->dtype].scalar, dl_dtypes[c->in[1]->dtype].scalar);
  DL_TRY(shaped(c, d));
  c->out[0].dtype = DL_BOOL;
  return DL_OK;
}

dl_status dl_rule_pw_bits(dl_call *c) { return shaped(c, dl_result_type(c)); }

/* ---- activations ----------------------------------------------------------------------------- */
dl_status dl_rule_pw_relu(dl_call *c) {
  if (c->in[0]->dtype == DL_BOOL)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "Boolean inputs not supported for relu");
  return shaped(c, (dl_dtype)c->in[0]->dtype);
}

static dl_status gelu_mode(const dl_call *c, int k) {
  const char *s = c->arg[k].s;
  if (!strcmp(s, "none") || !strcmp(s, "tanh")) return DL_OK;
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "approximate argument must be either none or tanh.");
}

dl_status dl_rule_pw_act(dl_call *c) {
  dl_opid op = op_of(c);
  dl_dtype d = dl_result_type(c);
  if (op == DL_OP_gelu) DL_TRY(gelu_mode(c, 1));
  if (op == DL_OP_gelu_backward) DL_TRY(gelu_mode(c, 2));
  if (op == DL_OP_hardtanh && d == DL_BOOL)
    return dl_fail(DL_NotImplementedError, DL_E_DTYPE, "Bool inputs not supported for hardtanh");
  if (op == DL_OP_celu && dl_arg_f(&c->arg[1]) == 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return shaped(c, d);
}
