/* rule_amp.c -- shapes and dtypes of the section "the gradient scaler"
 *
 * SOURCE ATen/native/cuda/AmpKernels.cu (checks and texts). */
#include "op/op.h"

static dl_status one_float(const dl_tensor *t, const char *name) {
  if (t->numel != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "%s must be a 1-element tensor.", name);
  if (!dl_dtype_is_float((dl_dtype)t->dtype))
    return dl_fail(DL_RuntimeError, DL_E_DTYPE, "%s must be a float tensor.", name);
  return DL_OK;
}

dl_status dl_rule_amp_unscale(dl_call *c) {
  const dl_arg *grads = &c->arg[1];
  DL_TRY(one_float(c->in[0], "found_inf"));
  DL_TRY(one_float(c->in[1], "inv_scale"));
  for (int j = 0; j < grads->n; j++) {
    const dl_tensor *g = grads->ts[j];
    if (!dl_dtype_is_float((dl_dtype)g->dtype))
      return dl_fail(DL_RuntimeError, DL_E_DTYPE, "a gradient is floating, got %s",
                     dl_dtypes[g->dtype].name);
    if (!dl_device_same(g->dev, c->dev))
      return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                     "scaled_grads must be on the device of found_inf");
  }
  for (int j = 0; j < grads->n; j++) dl_tensor_bump(grads->ts[j]);
  dl_call_out_like(c, 0, c->in[0]);
  c->compute = dl_compute_for((dl_dtype)c->in[0]->dtype);
  return DL_OK;
}

dl_status dl_rule_amp_update(dl_call *c) {
  DL_TRY(one_float(c->in[0], "current_scale"));
  DL_TRY(one_float(c->in[2], "found_inf"));
  if (c->in[1]->numel != 1)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "growth_tracker must be a 1-element tensor.");
  dl_tensor_bump(c->in[1]);
  dl_call_out_like(c, 0, c->in[0]);
  c->compute = dl_compute_for((dl_dtype)c->in[0]->dtype);
  return DL_OK;
}
