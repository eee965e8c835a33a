/* describe.c -- the rows of ops.def as help and completion read them
 *
 * For lua/dlrepl/help.lua: dlrepl._rows() and dlrepl._rows_of(function).
 *
 * MUST NOT   run ops. */
#include "bind/bind.h"

void dl_describe_open(lua_State *L, int dlrepl);

static void push_row(lua_State *L, dl_opid op) {
  static const char *const grads[] = {"no", "yes"};
  bool grad = dl_ops[op].grad != NULL || dl_ops[op].kind == DL_COMPOSITE; /* that of its steps */
  const struct { const char *key, *text; } fields[] = {
    {"id", dl_ops[op].id}, {"where", dl_ops[op].where}, {"schema", dl_ops[op].schema_text},
    {"help", dl_ops[op].help}, {"grad", grads[grad]}};
  lua_createtable(L, 0, 5);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    lua_pushstring(L, fields[i].text);
    lua_setfield(L, -2, fields[i].key);
  }
}

/* _rows(): every row, in order: {id =, where =, schema =, help =, grad = "yes" or "no"} */
static int l_rows(lua_State *L) {
  lua_createtable(L, DL_OP_COUNT, 0);
  for (int op = 0; op < DL_OP_COUNT; op++) {
    push_row(L, op);
    lua_rawseti(L, -2, op + 1);
  }
  return 1;
}

/* _rows_of(function): name, is it a method, list of rows; nothing if it is not an op's */
static int l_rows_of(lua_State *L) {
  dl_opid op[8];
  bool method;
  const char *name;
  int n = dl_op_group(L, 1, &name, &method, op, 8);
  if (!n) return 0;
  lua_pushstring(L, name);
  lua_pushboolean(L, method);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_row(L, op[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 3;
}

void dl_describe_open(lua_State *L, int dlrepl) {
  static const luaL_Reg fn[] = {
    {"_rows", l_rows}, {"_rows_of", l_rows_of}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, fn);
}
