/* arith.c -- x + y, 2 * x, -x, #x … : the metamethods of a tensor
 *
 * The fast path of the binding: a metamethod is one C closure whose first upvalue is the metatable
 * of boxes. Two tensors go straight to dl_op2, a tensor and a number to dl_dispatch.
 *
 * MUST NOT  compute: shapes, dtypes and numbers are the engine's. */
#include "bind/bind.h"

#include <string.h>

#define META lua_upvalueindex(1)

static const struct { const char *event, *sign; dl_opid op, reverse; } binary[] = {
  {"__add", "+", DL_OP_add, DL_OP_add}, {"__sub", "-", DL_OP_sub, DL_OP_rsub},
  {"__mul", "*", DL_OP_mul, DL_OP_mul}, {"__div", "/", DL_OP_div, DL_OP_rdiv},
  {"__idiv", "//", DL_OP_floor_divide, DL_OP_rfloor_divide},
  {"__mod", "%", DL_OP_remainder, DL_OP_rremainder}, {"__pow", "^", DL_OP_pow, DL_OP_rpow},
  {"__band", "&", DL_OP_bitwise_and, DL_OP_bitwise_and},
  {"__bor", "|", DL_OP_bitwise_or, DL_OP_bitwise_or},
  {"__bxor", "~", DL_OP_bitwise_xor, DL_OP_bitwise_xor},
  {"__shl", "<<", DL_OP_bitwise_left_shift, DL_OP_COUNT},
  {"__shr", ">>", DL_OP_bitwise_right_shift, DL_OP_COUNT},
};

static dl_box *shell(lua_State *L) {
  dl_box *b = lua_newuserdatauv(L, sizeof *b, 0);
  b->tag = &dl_t_tensor;
  b->t = NULL;
  b->row = 0;
  lua_pushvalue(L, META);
  lua_setmetatable(L, -2);
  return b;
}

static int finish(lua_State *L, dl_box *b, dl_status st) {
  if (st != DL_OK) return dl_raise(L, st);
  dl_pace_count(b->t);
  return 1;
}

/* of two tensors, which the error describes */
static int finish2(lua_State *L, dl_box *b, dl_status st, int row) {
  if (st == DL_OK) return finish(L, b, st);
  const dl_arg arg[DL_MAX_PARAM] = {T(dl_get_tensor(L, 1)), T(dl_get_tensor(L, 2))};
  return dl_raise_operands(L, st, dl_op_schema(binary[row].op), arg);
}

static bool read_number(lua_State *L, int i, dl_arg *out) {
  int type = lua_type(L, i);
  if (type == LUA_TNUMBER) {
    if (lua_isinteger(L, i)) *out = I(lua_tointeger(L, i));
    else *out = F(lua_tonumber(L, i));
  } else if (type == LUA_TBOOLEAN) {
    *out = B(lua_toboolean(L, i));
  } else {
    return false;
  }
  return true;
}

static int bad_operands(lua_State *L, int row) {
  const char *sign = binary[row].sign;
  dl_fail(DL_TypeError, DL_E_ARGUMENT, "unsupported operand type(s) for %s: '%s' and '%s'",
          !strcmp(sign, "^") ? "** or pow()" : sign, dl_type_name(L, 1), dl_type_name(L, 2));
  if (*sign == '+' && (lua_type(L, 1) == LUA_TSTRING || lua_type(L, 2) == LUA_TSTRING))
    dl_note("texts are joined with ..: \"loss \" .. x:item()");
  return dl_raise(L, DL_E_ARGUMENT);
}

/* 2 << x: the number becomes a tensor of x's dtype, for ops without a reversed row */
static int shift_number(lua_State *L, int row, const dl_arg *num, dl_tensor *b) {
  dl_box *left = shell(L);
  dl_status st = dl_tensor_scalar_i((dl_dtype)b->dtype, dl_arg_i(num), &left->t);
  if (st != DL_OK) return dl_raise(L, st);
  dl_box *out = shell(L);
  return finish(L, out, dl_run(binary[row].op, (dl_arg[]){T(left->t), T(b)}, 2, 0, &out->t));
}

static int with_number(lua_State *L, int row, dl_box *a, dl_box *b) {
  dl_arg num;
  if (!read_number(L, a ? 2 : 1, &num)) return bad_operands(L, row);
  if (!a && binary[row].reverse == DL_OP_COUNT) return shift_number(L, row, &num, b->t);
  dl_box *out = shell(L);
  dl_opid op = a ? binary[row].op : binary[row].reverse;
  return finish(L, out, dl_run(op, (dl_arg[]){T(a ? a->t : b->t), num}, 2, 0, &out->t));
}

/* NULL for what is no tensor. A finalizer may bring back a box whose tensor is gone. */
static inline dl_box *operand(lua_State *L, int i) {
  dl_box *b = dl_object(L, i, &dl_t_tensor);
  if (b && !b->t) dl_type_error(L, "this tensor was freed");
  return b;
}

static inline int arith(lua_State *L, int row, bool fast) {
  dl_box *a = operand(L, 1), *b = operand(L, 2);
  dl_pace(L);
  if (!a && !b) return bad_operands(L, row);
  if (!a || !b) return with_number(L, row, a, b);
  dl_box *out = shell(L);
  if (fast) return finish2(L, out, dl_op2(binary[row].op, a->t, b->t, &out->t), row);
  dl_status st = dl_run(binary[row].op, (dl_arg[]){T(a->t), T(b->t)}, 2, 0, &out->t);
  return finish2(L, out, st, row);
}

static int l_add(lua_State *L) { return arith(L, 0, true); }
static int l_sub(lua_State *L) { return arith(L, 1, true); }
static int l_mul(lua_State *L) { return arith(L, 2, true); }
static int l_div(lua_State *L) { return arith(L, 3, true); }

static int l_binary(lua_State *L) {
  return arith(L, (int)lua_tointeger(L, lua_upvalueindex(2)), false);
}

static int l_unary(lua_State *L) {
  dl_box *a = operand(L, 1);
  if (!a) return dl_type_error(L, "bad operand type: '%s'", dl_type_name(L, 1));
  dl_pace(L);
  dl_box *out = shell(L);
  dl_opid op = (dl_opid)lua_tointeger(L, lua_upvalueindex(2));
  return finish(L, out, dl_run(op, (dl_arg[]){T(a->t)}, 1, 0, &out->t));
}

/* ---- what Lua decides by itself ------------------------------------------------------------- */
static int l_eq(lua_State *L) {
  const dl_box *a = dl_object(L, 1, &dl_t_tensor), *b = dl_object(L, 2, &dl_t_tensor);
  if (a && b && a->t == b->t) {
    lua_pushboolean(L, 1);
    return 1;
  }
  dl_fail(DL_TypeError, DL_E_ARGUMENT, "== between tensors answers only true or false in Lua");
  dl_note("element by element: x:eq(y)   same size and values: torch.equal(x, y)   same "
          "object: rawequal(x, y)");
  return dl_raise(L, DL_E_ARGUMENT);
}

static int ordered(lua_State *L, const char *sign, const char *method, const char *turned) {
  dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s between tensors answers only true or false in Lua",
          sign);
  dl_note("element by element: x:%s(y), x:%s(y); y may be a number: x[x:%s(0)]", method, turned,
          turned);
  return dl_raise(L, DL_E_ARGUMENT);
}

static int l_lt(lua_State *L) { return ordered(L, "<", "lt", "gt"); }
static int l_le(lua_State *L) { return ordered(L, "<=", "le", "ge"); }

static int l_len(lua_State *L) {
  const dl_tensor *t = dl_check_tensor(L, 1, "len", "self");
  if (t->ndim == 0) return dl_type_error(L, "len() of a 0-d tensor");
  lua_pushinteger(L, t->size[0]);
  return 1;
}

static int l_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

void dl_arith_open(lua_State *L, int meta) {
  static const lua_CFunction quick[] = {l_add, l_sub, l_mul, l_div};
  static const luaL_Reg plain[] = {{"__eq", l_eq}, {"__lt", l_lt}, {"__le", l_le}, {"__len", l_len},
                                   {"__concat", l_concat}, {NULL, NULL}};
  for (int i = 0; i < (int)(sizeof binary / sizeof *binary); i++) {
    lua_pushvalue(L, meta);
    lua_pushinteger(L, i);
    lua_pushcclosure(L, i < 4 ? quick[i] : l_binary, 2);
    lua_setfield(L, meta, binary[i].event);
  }
  static const struct { const char *event; dl_opid op; } unary[] = {
    {"__unm", DL_OP_neg}, {"__bnot", DL_OP_bitwise_not}};
  for (int i = 0; i < 2; i++) {
    lua_pushvalue(L, meta);
    lua_pushinteger(L, unary[i].op);
    lua_pushcclosure(L, l_unary, 2);
    lua_setfield(L, meta, unary[i].event);
  }
  dl_set_funcs(L, meta, plain);
}
