/* special.c -- functions whose arguments or results the generic form cannot express
 *
 * einsum's varargs, where(condition), nonzero(as_tuple), unique's options, meshgrid, tensordot …,
 * and PyTorch's second names of functions.
 *
 * MUST NOT  compute: each ends in ops. */
#include "bind/bind.h"

#include <string.h>

/* ---- helpers -------------------------------------------------------------------------------- */
/* Tensors at stack first … last, or the elements of one list, in a userdata on the stack. */
static dl_tensor **gather(lua_State *L, int first, int last, const char *fn, int *n) {
  bool list = last == first && dl_is_list(L, first);
  *n = list ? (int)dl_list_len(L, first) : last - first + 1;
  if (*n < 0) *n = 0;
  luaL_checkstack(L, 8, fn);
  dl_tensor **v = lua_newuserdatauv(L, (size_t)(*n ? *n : 1) * sizeof *v, 0);
  for (int i = 0; i < *n; i++) {
    if (list) dl_list_get(L, first, i);
    else lua_pushvalue(L, first + i);
    v[i] = dl_get_tensor(L, -1);
    if (!v[i])
      dl_type_error(L, "%s(): argument 'tensors' (position %d) must be Tensor, not %s", fn,
                    list ? 1 : i + 1, dl_type_name(L, -1));
    lua_pop(L, 1);
  }
  return v;
}

static int run1(lua_State *L, dl_opid op, const dl_arg *v, int n) {
  dl_pace(L);
  dl_box *b = dl_push_shell(L);
  dl_status st = dl_run(op, v, n, 0, &b->t);
  if (st != DL_OK) return dl_raise(L, st);
  dl_pace_count(b->t);
  return 1;
}

/* Move the results of e into fresh boxes: several tensors made by one expression. */
static int raise_end(lua_State *L, dl_ex *e) { return dl_raise(L, dl_ex_end(e)); }

/* ---- einsum --------------------------------------------------------------------------------- */
static int l_einsum(lua_State *L) {
  int n, top = lua_gettop(L);
  if (lua_type(L, 1) != LUA_TSTRING || top < 2)
    return dl_throw(L, DL_ValueError, DL_E_ARGUMENT,
                    "einsum(): must specify the equation string and at least one operand, or at "
                    "least one operand and its subscripts list");
  dl_tensor **v = gather(L, 2, top, "einsum", &n);
  return run1(L, DL_OP_einsum, (dl_arg[]){S(lua_tostring(L, 1)), TS(v, n)}, 2);
}

/* ---- nonzero, where ------------------------------------------------------------------------- */
/* One index vector a dimension, as multiple results. */
static int nonzero_tuple(lua_State *L, dl_tensor *x) {
  dl_pace(L);
  int n = x->ndim ? x->ndim : 1, base = lua_gettop(L);
  luaL_checkstack(L, n + 4, "nonzero");
  for (int i = 0; i < n; i++) dl_push_shell(L);
  dl_ex e;
  dl_ex_begin(&e);
  dl_tensor *from = x->ndim ? x : EX(&e, unsqueeze, T(x), I(0));
  dl_tensor *all = from ? EX(&e, nonzero, T(from)) : NULL;
  for (int i = 0; i < n && e.st == DL_OK; i++) {
    dl_box *b = lua_touserdata(L, base + 1 + i);
    dl_ex_return(&e, EX(&e, select, T(all), I(1), I(i)), &b->t);
  }
  dl_status st = dl_ex_end(&e);
  return st == DL_OK ? n : dl_raise(L, st);
}

static int read_nonzero(lua_State *L, bool method) {
  static dl_sig sig = {"nonzero(Tensor input, *, bool as_tuple=False) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, method);
  return a.arg[1].i ? nonzero_tuple(L, a.arg[0].t) : run1(L, DL_OP_nonzero, a.arg, 1);
}
static int l_nonzero(lua_State *L) { return read_nonzero(L, false); }
static int l_nonzero_method(lua_State *L) { return read_nonzero(L, true); }

/* torch.where(condition) is nonzero(as_tuple); with more it is the op, upvalue 1 */
static int l_where(lua_State *L) {
  dl_tensor *x = lua_gettop(L) == 1 ? dl_get_tensor(L, 1) : NULL;
  if (x) return nonzero_tuple(L, x);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* x:where(condition, other): self stands second in the op, upvalue 1 */
static int l_where_method(lua_State *L) {
  if (lua_gettop(L) >= 2) {
    lua_pushvalue(L, 2);
    lua_remove(L, 2);
    lua_insert(L, 1);
  }
  return l_where(L);
}

/* ---- unique --------------------------------------------------------------------------------- */
/* output, then inverse and counts where asked for */
static int read_unique(lua_State *L, bool method) {
  static dl_sig sig = {"unique(Tensor input, bool sorted=True, bool return_inverse=False, "
                       "bool return_counts=False, int? dim=None) -> Tensor", 0, NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, method);
  dl_tensor *x = a.arg[0].t;
  bool inverse = a.arg[2].i, counts = a.arg[3].i;
  if (dl_arg_given(&a.arg[4]) && x->ndim != 1)
    return dl_throw(L, DL_NotImplementedError, DL_E_UNSUPPORTED,
                    "unique() along a dim is not implemented");
  dl_pace(L);
  dl_box *b[3];
  for (int i = 0; i < 3; i++) b[i] = dl_push_shell(L);
  dl_ret ret;
  dl_status st = dl_dispatch(DL_OP_unique, a.arg, 0, &ret);
  if (st != DL_OK) return dl_raise(L, st);
  for (int i = 0; i < 3 && i < ret.n; i++) b[i]->t = ret.v[i];
  if (!counts) lua_remove(L, -1);
  if (!inverse) lua_remove(L, counts ? -2 : -1);
  return 1 + inverse + counts;
}
static int l_unique(lua_State *L) { return read_unique(L, false); }
static int l_unique_method(lua_State *L) { return read_unique(L, true); }

/* ---- several tensors in, several out -------------------------------------------------------- */
static int l_meshgrid(lua_State *L) {
  int last = lua_gettop(L), n;
  const char *indexing = NULL;
  if (last && dl_is_keywords(L, last)) {
    lua_getfield(L, last, "indexing");
    indexing = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    last--;
  }
  dl_lua = L;
  if (!indexing)
    dl_warn(true, "UserWarning",
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.");
  dl_tensor **v = gather(L, 1, last, "meshgrid", &n);
  luaL_checkstack(L, n + 8, "meshgrid");
  int base = lua_gettop(L);
  for (int i = 0; i < n; i++) dl_push_shell(L);
  dl_ret ret;
  dl_status st = dl_dispatch(DL_OP_meshgrid, (dl_arg[]){TS(v, n), S(indexing ? indexing : "ij")},
                             0, &ret);
  if (st != DL_OK) return dl_raise(L, st);
  for (int i = 0; i < n && i < ret.n; i++) {
    dl_tensor **from = ret.more ? ret.more : ret.v;
    ((dl_box *)lua_touserdata(L, base + 1 + i))->t = from[i];
    from[i] = NULL;
  }
  dl_ret_free(&ret);
  return n;
}

static int l_broadcast_tensors(lua_State *L) {
  int n;
  dl_tensor **v = gather(L, 1, lua_gettop(L), "broadcast_tensors", &n);
  luaL_checkstack(L, n + 8, "broadcast_tensors");
  int base = lua_gettop(L);
  for (int i = 0; i < n; i++) dl_push_shell(L);
  dl_meta m = {0};
  dl_ex e;
  dl_ex_begin(&e);
  for (int i = 0; i < n && e.st == DL_OK; i++) e.st = dl_broadcast(&m, v[i]->ndim, v[i]->size);
  for (int i = 0; i < n && e.st == DL_OK; i++) {
    dl_box *b = lua_touserdata(L, base + 1 + i);
    dl_ex_return(&e, EX(&e, expand, T(v[i]), L(m.size, m.ndim)), &b->t);
  }
  dl_status st = dl_ex_end(&e);
  return st == DL_OK ? n : dl_raise(L, st);
}

/* ---- tensordot ------------------------------------------------------------------------------ */
typedef struct dot_dims { int n[2]; int64_t v[2][DL_MAXDIM]; } dot_dims;

/* element `side` of the pair at i: an int or a list of ints */
static void read_side(lua_State *L, int i, int side, dot_dims *d) {
  dl_list_get(L, i, side);
  int at = lua_gettop(L);
  bool list = dl_is_list(L, at);
  int64_t n = list ? dl_list_len(L, at) : 1;
  for (int64_t k = 0; k < n && k < DL_MAXDIM; k++) {
    if (list) dl_list_get(L, at, k);
    else lua_pushvalue(L, at);
    if (!dl_get_int(L, -1, &d->v[side][d->n[side]++]))
      dl_type_error(L, "tensordot expects dims to be int or lists of int");
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* dims: how many trailing and leading dims, or a pair of lists */
static void read_dot_dims(lua_State *L, int i, dot_dims *d) {
  int64_t count = 2;
  d->n[0] = d->n[1] = 0;
  if (i && dl_is_list(L, i) && dl_list_len(L, i) == 2) {
    read_side(L, i, 0, d);
    read_side(L, i, 1, d);
    return;
  }
  if (i && !dl_get_int(L, i, &count))
    dl_type_error(L, "tensordot expects dims to be int or lists of int");
  if (count < 0)
    dl_throw(L, DL_RuntimeError, DL_E_SHAPE, "tensordot expects dims >= 0, but got dims=%lld",
             (long long)count);
  if (count > DL_MAXDIM) count = DL_MAXDIM;
  for (int k = 0; k < count; k++) {
    d->v[0][d->n[0]++] = k - count;
    d->v[1][d->n[1]++] = k;
  }
}

static int l_tensordot(lua_State *L) {
  static dl_sig sig = {"tensordot(Tensor a, Tensor b, int dims=2) -> Tensor", 4, NULL};
  dl_args a;
  dot_dims d;
  dl_args_sig(L, &a, &sig, 1, false);
  read_dot_dims(L, a.at[2], &d);
  dl_arg v[] = {a.arg[0], a.arg[1], L(d.v[0], d.n[0]), L(d.v[1], d.n[1])};
  return run1(L, DL_OP_tensordot, v, 4);
}

/* ---- stacking by rows, columns -------------------------------------------------------------- */
static int stack_along(lua_State *L, const char *fn, int at_least, int dim) {
  int n;
  dl_tensor **v = gather(L, 1, lua_gettop(L), fn, &n);
  dl_box *b = dl_push_shell(L);
  dl_ex e;
  dl_ex_begin(&e);
  for (int i = 0; i < n && e.st == DL_OK; i++)
    while (v[i] && v[i]->ndim < at_least) v[i] = EX(&e, unsqueeze, T(v[i]), I(0));
  if (e.st != DL_OK) return raise_end(L, &e);
  int d = dim == 1 && n && v[0]->ndim == 1 ? 0 : dim;
  dl_ex_return(&e, EX(&e, cat, TS(v, n), I(d)), &b->t);
  dl_status st = dl_ex_end(&e);
  return st == DL_OK ? 1 : dl_raise(L, st);
}
static int l_hstack(lua_State *L) { return stack_along(L, "hstack", 1, 1); }
static int l_vstack(lua_State *L) { return stack_along(L, "vstack", 2, 0); }

/* ---- second names --------------------------------------------------------------------------- */
static const char *const aliases[][2] = {
  {"concat", "cat"}, {"concatenate", "cat"}, {"multiply", "mul"}, {"divide", "div"},
  {"true_divide", "div"},
  {"subtract", "sub"}, {"negative", "neg"}, {"absolute", "abs"}, {"greater", "gt"},
  {"greater_equal", "ge"},
  {"less", "lt"}, {"less_equal", "le"}, {"not_equal", "ne"}, {"clip", "clamp"},
  {"swapaxes", "transpose"},
  {"swapdims", "transpose"}, {"moveaxis", "movedim"}, {"fix", "trunc"}, {"arcsin", "asin"},
  {"arccos", "acos"}, {"arctan", "atan"}, {"arctan2", "atan2"}, {"row_stack", "vstack"},
};

static void add_aliases(lua_State *L, int tbl, bool inplace) {
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
    char from[24], to[24];
    strcat(strcpy(from, aliases[i][1]), inplace ? "_" : "");
    strcat(strcpy(to, aliases[i][0]), inplace ? "_" : "");
    lua_pushstring(L, from);
    if (lua_rawget(L, tbl) != LUA_TNIL) lua_setfield(L, tbl, to);
    else lua_pop(L, 1);
  }
}

void dl_special_open(lua_State *L, int torch, int methods) {
  static const luaL_Reg funcs[] = {
    {"einsum", l_einsum}, {"nonzero", l_nonzero}, {"unique", l_unique}, {"meshgrid", l_meshgrid},
    {"broadcast_tensors", l_broadcast_tensors}, {"tensordot", l_tensordot}, {"hstack", l_hstack},
    {"vstack", l_vstack}, {NULL, NULL}};
  static const luaL_Reg meth[] = {{"nonzero", l_nonzero_method}, {"unique", l_unique_method},
                                  {NULL, NULL}};
  dl_set_funcs(L, torch, funcs);
  dl_set_funcs(L, methods, meth);
  lua_getfield(L, torch, "where");
  lua_pushvalue(L, -1);
  lua_pushcclosure(L, l_where_method, 1);
  lua_setfield(L, methods, "where");
  lua_pushcclosure(L, l_where, 1);
  lua_setfield(L, torch, "where");
  add_aliases(L, torch, false);
  add_aliases(L, methods, false);
  add_aliases(L, methods, true);
}
