/* gradcheck.c -- torch.autograd.gradcheck(f, inputs): f is a Lua function
 *
 * MUST NOT  compute Jacobians: grad/check.c does. */
#include "grad/check.h"

#include <string.h>

#include "bind/bind.h"

dl_status dl_protected(lua_CFunction fn, void *ud);

typedef struct run {
  int slot;                      /* {f, inputs …} */
  dl_tensor **out;
  int *nout;
} run;

static int call_f(lua_State *L) {
  run *r = lua_touserdata(L, 1);
  dl_slot_push(L, r->slot);
  int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
  luaL_checkstack(L, n + 8, "gradcheck");
  for (int i = 1; i <= n; i++) lua_rawgeti(L, list, i);
  lua_call(L, n - 1, LUA_MULTRET);
  for (int i = list + 1; i <= lua_gettop(L) && *r->nout < DL_CHECK_OUTS; i++) {
    dl_tensor *t = dl_get_tensor(L, i);
    if (t && dl_dtype_is_float((dl_dtype)t->dtype)) r->out[(*r->nout)++] = dl_tensor_retain(t);
  }
  return 0;
}

static dl_status run_f(void *ctx, dl_tensor *const *in, int nin, dl_tensor **out, int *nout) {
  (void)in;                      /* the Lua objects of the slot are these very tensors */
  (void)nin;
  run r = *(run *)ctx;
  r.out = out;
  r.nout = nout;
  *nout = 0;
  return dl_protected(call_f, &r);
}

/* Push {f, inputs …}; tensors among the inputs into in (a userdata below it). */
static dl_tensor **gather(lua_State *L, int f, int inputs, int *nin) {
  bool list = dl_is_list(L, inputs);
  int n = list ? (int)dl_list_len(L, inputs) : 1;
  dl_tensor **in = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *in, 0);
  lua_createtable(L, n + 1, 0);
  lua_pushvalue(L, f);
  lua_rawseti(L, -2, 1);
  *nin = 0;
  for (int i = 0; i < n; i++) {
    if (list) dl_list_get(L, inputs, i);
    else lua_pushvalue(L, inputs);
    if (dl_get_tensor(L, -1)) in[(*nin)++] = dl_get_tensor(L, -1);
    lua_rawseti(L, -2, i + 2);
  }
  return in;
}

static void check_inputs(lua_State *L, dl_tensor **in, int n) {
  bool any = false;
  dl_lua = L;
  for (int i = 0; i < n; i++) {
    if (!in[i]->requires_grad) continue;
    any = true;
    if (in[i]->dtype != DL_F64)
      dl_warn(true, "UserWarning",
              "Input #%d requires gradient and is not a double precision floating point or "
              "complex. This check will likely fail if all the inputs are not of double precision "
              "floating point or complex. ", i);
  }
  if (!any)
    dl_throw(L, DL_ValueError, DL_E_AUTOGRAD,
             "gradcheck expects at least one input tensor to require gradient, but none of the "
             "them have requires_grad=True.");
}

static int mismatch(lua_State *L, const dl_check *c, bool raise) {
  dl_box *n = dl_push_shell(L), *a = dl_push_shell(L);
  n->t = c->numerical;
  a->t = c->analytical;
  if (!raise) {
    lua_pushboolean(L, 0);
    return 1;
  }
  dl_push_text(L, n->t);
  dl_push_text(L, a->t);
  return dl_throw(L, DL_GradcheckError, DL_E_AUTOGRAD,
                  "Jacobian mismatch for output %d with respect to input "
                  "%d,\nnumerical:%s\nanalytical:%s\n",
                  c->out, c->in, lua_tostring(L, -2), lua_tostring(L, -1));
}

int dl_l_gradcheck(lua_State *L) {
  static dl_sig sig = {"gradcheck(Tensor func, Tensor inputs, *, float eps=1e-06, float "
                       "atol=1e-05, "
                       "float rtol=0.001, bool raise_exception=True, float nondet_tol=0.0) -> "
                       "bool", 3, NULL};
  dl_args a;
  int nin;
  bool good = true;
  dl_args_sig(L, &a, &sig, 1, false);
  if (!lua_isfunction(L, a.at[0]))
    return dl_type_error(L, "gradcheck(): argument 'func' must be a function, not %s",
                         dl_type_name(L, a.at[0]));
  dl_tensor **in = gather(L, a.at[0], a.at[1], &nin);
  check_inputs(L, in, nin);
  dl_pace(L);
  run r = {.slot = dl_slot_new(L)};
  dl_check c = {.eps = a.arg[2].f, .atol = a.arg[3].f, .rtol = a.arg[4].f};
  dl_status st = dl_gradcheck(run_f, &r, in, nin, &c, &good);
  dl_host.release(r.slot);
  if (st != DL_OK) return dl_raise(L, st);
  if (!good) return mismatch(L, &c, a.arg[5].i);
  lua_pushboolean(L, 1);
  return 1;
}
