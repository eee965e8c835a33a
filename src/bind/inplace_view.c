/* inplace_view.c -- x:unsqueeze_(0), x:squeeze_(), x:t_(), x:transpose_(0, 1)
 *
 * The tensor takes over the sizes and strides of its own view.
 *
 * MUST NOT  be used inside a graph: there the method without the underscore says the same. */
#include "bind/bind.h"

#include <string.h>

static dl_status refuse(const dl_tensor *t, const char *name) {
  if (!t->grad_fn)
    return dl_fail(DL_RuntimeError, DL_E_AUTOGRAD,
                   "a leaf Variable that requires grad is being used in an in-place operation.");
  dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED,
          "%s on a tensor that is part of a graph is not implemented", name);
  dl_note("write x = x:%.*s(…)", (int)(strlen(name) - 1), name);
  return DL_E_UNSUPPORTED;
}

static int take_view(lua_State *L, dl_args *a, dl_opid op, int n) {
  dl_tensor *t = a->arg[0].t;
  dl_box *view = dl_push_shell(L);
  dl_status st = dl_tensor_wants_grad(t) && dl_grad_enabled() ? refuse(t, a->name) : DL_OK;
  if (st == DL_OK) st = dl_run(op, a->arg, n, 0, &view->t);
  if (st == DL_OK) st = dl_tensor_set_data(t, view->t);
  if (st != DL_OK) return dl_raise(L, st);
  dl_tensor_bump(t);
  lua_pushvalue(L, a->at[0]);
  return 1;
}

static int l_unsqueeze_(lua_State *L) {
  static dl_sig sig = {"unsqueeze_(Tensor self, int dim) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  return take_view(L, &a, DL_OP_unsqueeze, 2);
}

static int l_squeeze_(lua_State *L) {
  static dl_sig sigs[] = {{"squeeze_(Tensor self) -> Tensor", 0, NULL},
                          {"squeeze_.dim(Tensor self, int[] dim) -> Tensor", 0, NULL}};
  dl_args a;
  int form = dl_args_sig(L, &a, sigs, 2, true);
  return take_view(L, &a, form ? DL_OP_squeeze_dim : DL_OP_squeeze, form + 1);
}

static int l_t_(lua_State *L) {
  static dl_sig sig = {"t_(Tensor self) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  return take_view(L, &a, DL_OP_t, 1);
}

static int l_transpose_(lua_State *L) {
  static dl_sig sig = {"transpose_(Tensor self, int dim0, int dim1) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, true);
  return take_view(L, &a, DL_OP_transpose, 3);
}

/* Memory of another process is not shared here: the tensor itself, as on a device. */
static int l_share_memory_(lua_State *L) {
  dl_check_tensor(L, 1, "share_memory_", "self");
  lua_settop(L, 1);
  return 1;
}

void dl_inplace_view_open(lua_State *L, int methods) {
  static const luaL_Reg meth[] = {
    {"unsqueeze_", l_unsqueeze_}, {"squeeze_", l_squeeze_}, {"t_", l_t_},
    {"transpose_", l_transpose_}, {"share_memory_", l_share_memory_}, {NULL, NULL}};
  dl_set_funcs(L, methods, meth);
}
