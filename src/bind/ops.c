/* ops.c -- every row of ops.def as Lua functions and methods
 *
 * A group is the rows of one name that one table shows (torch.max, x:max, x:add_): one C closure,
 * whose upvalue is the group. Which tables show a row is the row's `where`.
 *
 * INVARIANT  Groups are made once a process and never change; rows keep their order in ops.def.
 * MUST NOT   know any single op. */
#include "bind/bind.h"

#include <string.h>

#define MAX_ROWS 4
#define MAX_GROUPS 900

typedef struct group {
  char name[40];
  uint8_t n, method, out_ok, python;
  unsigned flags;
  dl_opid op[MAX_ROWS];
} group;

static group groups[MAX_GROUPS];
static int n_groups;

/* ---- running -------------------------------------------------------------------------------- */
static int raise_op(dl_args *a, dl_opid op, dl_status st) {
  return dl_raise_operands(a->L, st, dl_op_schema(op), a->arg);
}

/* The stack index of the argument that is tensor t, or 0. */
static int argument_of(const dl_args *a, const dl_schema *s, const dl_tensor *t) {
  for (int k = 0; k < s->nparam; k++)
    if (a->at[k] && a->arg[k].tag == DL_A_TENSOR && a->arg[k].t == t) return a->at[k];
  return 0;
}

static void store(dl_args *a, const dl_schema *s, int slot, dl_tensor *t) {
  int same = argument_of(a, s, t);
  if (same) {
    dl_tensor_release(t);
    lua_pushvalue(a->L, same);
    lua_replace(a->L, slot);
  } else {
    dl_pace_count(t);
    ((dl_box *)lua_touserdata(a->L, slot))->t = t;
    if (t->requires_grad && !t->grad_fn) dl_share_box(a->L, slot); /* a leaf has one Lua object */
  }
}

/* A result list of unknown length waits in a userdata until each tensor has its box. */
typedef struct list_box { dl_ret ret; } list_box;

static int l_list_gc(lua_State *L) {
  list_box *b = lua_touserdata(L, 1);
  dl_ret_free(&b->ret);
  return 0;
}

static list_box *push_list_box(lua_State *L) {
  list_box *b = lua_newuserdatauv(L, sizeof *b, 0);
  memset(b, 0, sizeof *b);
  if (luaL_newmetatable(L, "dl.list")) {
    lua_pushcfunction(L, l_list_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return b;
}

static int run_list(dl_args *a, dl_opid op, unsigned flags) {
  lua_State *L = a->L;
  list_box *b = push_list_box(L);
  dl_status st = dl_dispatch(op, a->arg, flags, &b->ret);
  if (st != DL_OK) return raise_op(a, op, st);
  int n = b->ret.n;
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    dl_box *box = dl_push_shell(L);
    dl_tensor **from = b->ret.more ? b->ret.more : b->ret.v;
    box->t = from[i];
    from[i] = NULL;
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int run_out(dl_args *a, dl_opid op) {
  lua_State *L = a->L;
  dl_tensor *dst[DL_MAX_OUT];
  int n = 0, nret = dl_op_schema(op)->nret;
  if (dl_get_tensor(L, a->out)) {
    dst[n++] = dl_get_tensor(L, a->out);
    lua_pushvalue(L, a->out);
  } else if (dl_is_list(L, a->out)) {
    for (; n < nret && n < dl_list_len(L, a->out); n++) {
      dl_list_get(L, a->out, n);
      dst[n] = dl_get_tensor(L, -1);
      if (!dst[n]) return dl_type_error(L, "%s(): argument 'out' must be tuple of Tensors",
                                        a->name);
    }
  }
  if (n != nret)
    return dl_type_error(L, "%s(): argument 'out' must be Tensor, not %s", a->name,
                         dl_type_name(L, a->out));
  dl_status st = dl_dispatch_out(op, a->arg, dst, n);
  return st == DL_OK ? n : raise_op(a, op, st);
}

int dl_run_push(dl_args *a, dl_opid op, unsigned flags) {
  lua_State *L = a->L;
  const dl_schema *s = dl_op_schema(op);
  dl_pace(L);
  if (a->out) return run_out(a, op);
  if (s->ret_list) return run_list(a, op, flags);
  int base = lua_gettop(L) + 1;
  for (int k = 0; k < s->nret; k++) dl_push_shell(L);           /* SHELL */
  dl_ret ret;
  dl_status st = dl_dispatch(op, a->arg, flags, &ret);          /* RUN */
  if (st != DL_OK) return raise_op(a, op, st);                  /* RAISE */
  for (int k = 0; k < ret.n; k++) store(a, s, base + k, ret.v[k]);
  return ret.n;
}

static int l_op(lua_State *L) {
  const group *g = lua_touserdata(L, lua_upvalueindex(1));
  dl_args a;
  const dl_schema *s[MAX_ROWS];
  for (int i = 0; i < g->n; i++) s[i] = dl_op_schema(g->op[i]);
  dl_args_begin(L, &a, g->name, g->method);
  a.python = g->python;
  int i = dl_args_read(&a, s, g->n, g->out_ok);                 /* READ */
  return dl_run_push(&a, g->op[i], g->flags);
}

int dl_op_group(lua_State *L, int idx, const char **name, bool *method, dl_opid *op, int cap) {
  if (lua_tocfunction(L, idx) != l_op || !lua_getupvalue(L, idx, 1)) return 0;
  const group *g = lua_touserdata(L, -1);
  lua_pop(L, 1);
  *name = g->name;
  *method = g->method;
  int n = g->n < cap ? g->n : cap;
  memcpy(op, g->op, (size_t)n * sizeof *op);
  return n;
}

/* ---- showing -------------------------------------------------------------------------------- */
static void base_name(const char *schema, char out[40]) {
  size_t n = strcspn(schema, ".(");
  if (n > 38) n = 38;
  memcpy(out, schema, n);
  out[n] = 0;
}

static group *group_of(lua_State *L, int tbl, const char *name, bool method, unsigned flags) {
  lua_getfield(L, tbl, name);
  group *g = NULL;
  if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1)) {
    g = lua_touserdata(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  if (g || n_groups == MAX_GROUPS) return g;
  g = &groups[n_groups++];
  strcpy(g->name, name);
  g->n = 0;
  g->method = method;
  g->flags = flags;
  lua_pushlightuserdata(L, g);
  lua_pushcclosure(L, l_op, 1);
  lua_setfield(L, tbl, name);
  return g;
}

static void show(lua_State *L, int tbl, dl_opid op, bool method, unsigned flags) {
  char name[40];
  base_name(dl_ops[op].schema_text, name);
  if (flags & DL_INPLACE) strcat(name, "_");
  group *g = group_of(L, tbl, name, method, flags);
  if (!g || g->n == MAX_ROWS) return;
  g->op[g->n++] = op;
  if (strchr(dl_ops[op].where, 'o') && !(flags & DL_INPLACE) && !method) g->out_ok = 1;
}

static bool shown_in(dl_opid op, char letter) { return strchr(dl_ops[op].where, letter) != NULL; }

/* F's functions that PyTorch writes in C; the others complain in Python's words. */
static bool is_builtin(const char *name) {
  static const char *const names[] = {
    "linear", "conv1d", "conv2d", "gelu", "logsigmoid", "softplus", "one_hot", "avg_pool2d",
    "prelu",
    "scaled_dot_product_attention", "cosine_similarity", "pairwise_distance"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

static void show_function(lua_State *L, int f, dl_opid op) {
  show(L, f, op, false, 0);
  char name[40];
  base_name(dl_ops[op].schema_text, name);
  group *g = group_of(L, f, name, false, 0);
  if (g) g->python = !is_builtin(name);
}

void dl_ops_open(lua_State *L, int torch, int methods, int f, int linalg, int ops) {
  n_groups = 0;
  for (int op = 0; op < DL_OP_COUNT; op++) {
    if (shown_in(op, 't')) show(L, torch, op, false, 0);
    if (shown_in(op, 'm')) show(L, methods, op, true, 0);
    if (shown_in(op, 'i')) show(L, methods, op, true, DL_INPLACE);
    if (shown_in(op, 'f')) show_function(L, f, op);
    if (shown_in(op, 'l')) show(L, linalg, op, false, 0);
    show(L, ops, op, false, 0);
    /* dlrepl.ops.sgd_step_ */
    if (dl_ops[op].kind == DL_UPDATE) show(L, ops, op, false, DL_INPLACE);
  }
}
