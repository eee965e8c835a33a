/* index.c -- x[…] : Python's index text, tables as tuples, tensors, lists; reading and assigning
 *
 * A key becomes a row of items; the items become view ops and at most one index op, in the order
 * and with the texts of PyTorch.
 *
 * INVARIANT  Parsing raises or fills; running calls the engine only and gives a status.
 * MUST NOT   copy where PyTorch gives a view. */
#include "bind/bind.h"
#include "tensor/devmem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ITEMS 24

typedef enum { IX_INT, IX_SLICE, IX_ELLIPSIS, IX_NONE, IX_BOOL, IX_TENSOR } ix_kind;

typedef struct ix_item {
  ix_kind kind;
  uint8_t has[3];                /* start, stop, step given */
  int64_t v[3];                  /* IX_INT, IX_BOOL: v[0] */
  dl_tensor *t;                  /* borrowed; its box is on the stack */
} ix_item;

typedef struct ix_key { int n; bool single; ix_item item[MAX_ITEMS]; } ix_key;

static ix_item *add_item(lua_State *L, ix_key *k, ix_kind kind) {
  if (k->n == MAX_ITEMS)
    dl_throw(L, DL_IndexError, DL_E_INDEX, "too many indices for tensor of dimension %d",
             DL_MAXDIM);
  ix_item *it = &k->item[k->n++];
  memset(it, 0, sizeof *it);
  it->kind = kind;
  return it;
}

/* ---- text: "1:3, :, -1, [0, 2], ..." -------------------------------------------------------- */
static const char *blank(const char *s) {
  while (isspace((unsigned char)*s)) s++;
  return s;
}

static int bad_text(lua_State *L, const char *text) {
  dl_fail(DL_IndexError, DL_E_INDEX, "invalid index text \"%s\"", text);
  dl_note("as in Python: \"1:3, :, -1\", \"..., None\", \"[0, 2], ::2\"; a table is the tuple: "
          "x[{1, \"1:3\"}]");
  return dl_raise(L, DL_E_INDEX);
}

static const char *read_word(const char *s, const char *word) {
  size_t n = strlen(word);
  return !strncmp(s, word, n) && !isalnum((unsigned char)s[n]) && s[n] != '_' ? s + n : NULL;
}

static void read_list(lua_State *L, ix_key *k, int i) {
  dl_box *shell = dl_push_shell(L);
  dl_make_read(L, i, DL_NODTYPE, shell);
  if (shell->t->numel == 0) {
    dl_tensor_drop(&shell->t);
    dl_make_read(L, i, DL_I64, shell);
  }
  add_item(L, k, IX_TENSOR)->t = shell->t;
}

/* "[0, 2]", "[[0, 1], [True, False]]": pushes the table that says the same */
static const char *push_bracket(lua_State *L, const char *s, const char *all, int depth) {
  if (depth > DL_MAXDIM) bad_text(L, all);
  luaL_checkstack(L, 4, "index");
  lua_newtable(L);
  s = blank(s + 1);
  for (lua_Integer n = 1; *s != ']'; n++) {
    char *stop;
    const char *end;
    if (*s == '[') {
      s = push_bracket(L, s, all, depth + 1);
    } else if ((end = read_word(s, "True")) || (end = read_word(s, "False"))) {
      lua_pushboolean(L, *s == 'T');
      s = end;
    } else {
      lua_pushinteger(L, strtoll(s, &stop, 10));
      if (stop == s) bad_text(L, all);
      s = stop;
    }
    lua_rawseti(L, -2, n);
    s = blank(s);
    if (*s == ',') s = blank(s + 1);
    else if (*s != ']') bad_text(L, all);
  }
  return s + 1;
}

static const char *read_item(lua_State *L, ix_key *k, const char *s, const char *all) {
  const char *end;
  if (*s == '[') {
    s = push_bracket(L, s, all, 1);
    read_list(L, k, lua_gettop(L));
    return s;
  }
  if (!strncmp(s, "...", 3)) {
    add_item(L, k, IX_ELLIPSIS);
    return s + 3;
  }
  if ((end = read_word(s, "None"))) {
    add_item(L, k, IX_NONE);
    return end;
  }
  if ((end = read_word(s, "True")) || (end = read_word(s, "False"))) {
    add_item(L, k, IX_BOOL)->v[0] = *s == 'T';
    return end;
  }
  ix_item *it = add_item(L, k, IX_INT);
  int part = 0;
  for (;;) {
    s = blank(s);
    char *stop;
    long long v = strtoll(s, &stop, 10);
    if (stop != s) {
      it->has[part] = 1;
      it->v[part] = v;
      s = blank(stop);
    } else if ((end = read_word(s, "None")) && (part || *blank(end) == ':')) {
      s = blank(end);
    }
    if (*s != ':') break;
    it->kind = IX_SLICE;
    if (++part > 2) bad_text(L, all);
    s++;
  }
  if (it->kind == IX_INT && !it->has[0]) bad_text(L, all);
  return s;
}

static void read_text(lua_State *L, ix_key *k, const char *text) {
  const char *s = blank(text);
  while (*s) {
    s = blank(read_item(L, k, s, text));
    if (*s == ',') {
      k->single = false;
      s = blank(s + 1);
    } else if (*s) {
      bad_text(L, text);
    }
  }
  if (k->n == 0) bad_text(L, text);
}

/* ---- Lua values ----------------------------------------------------------------------------- */
static int bad_key(lua_State *L, int i) {
  return dl_throw(L, DL_IndexError, DL_E_INDEX,
                  "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables "
                  "are valid indices (got %s)", dl_type_name(L, i));
}

static void read_value(lua_State *L, ix_key *k, int i) {
  int64_t v;
  dl_box *np;
  dl_slicebox *sl;
  if (lua_type(L, i) == LUA_TNUMBER) {
    if (!dl_get_int(L, i, &v)) bad_key(L, i);
    ix_item *it = add_item(L, k, IX_INT);
    it->v[0] = v;
    it->has[0] = 1;
  } else if (lua_type(L, i) == LUA_TSTRING) {
    read_text(L, k, lua_tostring(L, i));
  } else if (lua_type(L, i) == LUA_TBOOLEAN) {
    add_item(L, k, IX_BOOL)->v[0] = lua_toboolean(L, i);
  } else if (dl_is_none(L, i)) {
    add_item(L, k, IX_NONE);
  } else if (dl_get_tensor(L, i)) {
    add_item(L, k, IX_TENSOR)->t = dl_get_tensor(L, i);
  } else if ((np = dl_object(L, i, &dl_t_np))) {
    add_item(L, k, IX_TENSOR)->t = np->t;
  } else if ((sl = dl_object(L, i, &dl_t_slice))) {
    ix_item *it = add_item(L, k, IX_SLICE);
    memcpy(it->v, sl->v, sizeof it->v);
    memcpy(it->has, sl->has, sizeof it->has);
  } else if (dl_is_list(L, i)) {
    read_list(L, k, i);
  } else {
    bad_key(L, i);
  }
}

static void read_key(lua_State *L, ix_key *k, int i) {
  k->n = 0;
  k->single = true;
  if (lua_istable(L, i) && dl_is_list(L, i)) {
    int64_t n = dl_list_len(L, i);
    k->single = false;
    luaL_checkstack(L, 2 * MAX_ITEMS + 8, "index");
    if (n > MAX_ITEMS) {                  /* a long list is an index list that lost its braces */
      dl_fail(DL_IndexError, DL_E_INDEX, "too many indices for tensor of dimension %d", DL_MAXDIM);
      dl_note("a table is the tuple of indices; a list of positions has its own braces: x[{{0, "
              "2, …}}]");
      dl_raise(L, DL_E_INDEX);
    }
    for (int64_t j = 0; j < n; j++) {
      dl_list_get(L, i, j);
      read_value(L, k, lua_gettop(L));    /* the value stays on the stack */
    }
  } else {
    read_value(L, k, i);
  }
}

/* ---- running -------------------------------------------------------------------------------- */
typedef struct ix_run {
  dl_ex *e;
  dl_tensor *x;                  /* borrowed from e, or the operand */
  int dim, n_index;              /* next dim of x; entries of index[] */
  bool any_tensor;
  dl_tensor *index[DL_MAXDIM + MAX_ITEMS];
} ix_run;

static dl_status too_many(const dl_tensor *x) {
  return dl_fail(DL_IndexError, DL_E_INDEX, "too many indices for tensor of dimension %d", x->ndim);
}

/* how many dims of x the key uses up */
static int used_dims(const ix_key *k) {
  int n = 0;
  for (int i = 0; i < k->n; i++) {
    const ix_item *it = &k->item[i];
    if (it->kind == IX_INT || it->kind == IX_SLICE) n++;
    bool mask = it->kind == IX_TENSOR && (it->t->dtype == DL_BOOL || it->t->dtype == DL_U8);
    if (it->kind == IX_TENSOR) n += mask ? it->t->ndim : 1;
  }
  return n;
}

/* place: which item of the tuple this is; PyTorch names it as the dimension */
static dl_status run_int(ix_run *r, const dl_tensor *orig, int place, int64_t i) {
  if (orig->ndim == 0 && i == 0)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                   "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number");
  if (orig->ndim && r->dim >= r->x->ndim) return too_many(orig);
  int64_t n = orig->ndim ? r->x->size[r->dim] : 0;
  if (i < -n || i >= n)
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "index %lld is out of bounds for dimension %d with size %lld",
                   (long long)i, place, (long long)n);
  r->x = EX(r->e, select, T(r->x), I(r->dim), I(i));
  return r->e->st;
}

static dl_status run_slice(ix_run *r, const dl_tensor *orig, const ix_item *it, bool always) {
  if (r->x->ndim == 0)
    return dl_fail(DL_IndexError, DL_E_INDEX, "slice() cannot be applied to a 0-dim tensor.");
  if (r->dim >= r->x->ndim) return too_many(orig);
  int64_t step = it->has[2] ? it->v[2] : 1, n = r->x->size[r->dim];
  if (step <= 0) return dl_fail(DL_ValueError, DL_E_INDEX, "step must be greater than zero");
  bool whole = (!it->has[0] || it->v[0] == 0) && (!it->has[1] || it->v[1] >= n) && step == 1;
  if (!whole || always)
    r->x = EX(r->e, slice, T(r->x), I(r->dim), it->has[0] ? I(it->v[0]) : NIL,
              it->has[1] ? I(it->v[1]) : NIL, I(step));
  r->dim++;
  return r->e->st;
}

static dl_status run_none(ix_run *r) {
  r->x = EX(r->e, unsqueeze, T(r->x), I(r->dim));
  r->dim++;
  return r->e->st;
}

static dl_status record_index(ix_run *r, dl_tensor *t) {
  while (r->n_index < r->dim) r->index[r->n_index++] = NULL;
  r->index[r->n_index++] = t;
  r->any_tensor = true;
  return DL_OK;
}

static dl_status run_bool(ix_run *r, bool v) {
  dl_tensor *t = NULL;
  DL_TRY(run_none(r));
  DL_TRY(dl_tensor_scalar_i(DL_BOOL, v, &t));
  t = EX(r->e, unsqueeze, T(dl_ex_keep_take(r->e, t)), I(0));
  r->dim--;
  DL_TRY(record_index(r, t));
  r->dim++;
  return r->e->st;
}

static dl_status run_tensor(ix_run *r, const dl_tensor *orig, int place, dl_tensor *t) {
  if (t->ndim == 0 && !dl_dtype_is_float((dl_dtype)t->dtype)) {
    if (dl_is_gpu(t->dev)) DL_TRY(dl_devmem_check(t));
    if (t->dtype == DL_BOOL) return run_bool(r, dl_tensor_item_i(t) != 0);
    return run_int(r, orig, place, dl_tensor_item_i(t));
  }
  if (dl_dtype_is_float((dl_dtype)t->dtype))
    return dl_fail(DL_IndexError, DL_E_INDEX,
                   "tensors used as indices must be long, int, byte or bool tensors");
  bool mask = t->dtype == DL_BOOL || t->dtype == DL_U8;
  if (r->dim + (mask ? t->ndim : 1) > r->x->ndim) return too_many(orig);
  DL_TRY(record_index(r, t));
  r->dim += mask ? t->ndim : 1;
  return DL_OK;
}

static dl_status run_item(ix_run *r, const ix_key *k, const ix_item *it, const dl_tensor *orig) {
  switch (it->kind) {
    case IX_INT: return run_int(r, orig, (int)(it - k->item), it->v[0]);
    case IX_SLICE: return run_slice(r, orig, it, k->single);
    case IX_NONE: return run_none(r);
    case IX_BOOL: return run_bool(r, it->v[0] != 0);
    case IX_TENSOR: return run_tensor(r, orig, (int)(it - k->item), it->t);
    case IX_ELLIPSIS: r->dim += orig->ndim - used_dims(k); return DL_OK;
  }
  return DL_OK;
}

static dl_status run_views(ix_run *r, const ix_key *k) {
  dl_tensor *orig = r->x;
  if (!(k->single && orig->ndim == 0) && used_dims(k) > orig->ndim) return too_many(orig);
  for (int i = 0; i < k->n; i++) DL_TRY(run_item(r, k, &k->item[i], orig));
  return r->e->st;
}

static dl_status get(dl_tensor *x, const ix_key *k, dl_tensor **out) {
  dl_ex e;
  dl_ex_begin(&e);
  ix_run r = {.e = &e, .x = x};
  dl_status st = run_views(&r, k);
  if (st == DL_OK && r.any_tensor) {
    r.x = EX(&e, index, T(r.x), TS(r.index, r.n_index));
  } else if (st == DL_OK && r.x == x) {
    r.x = EX(&e, alias, T(x));
  }
  if (e.st == DL_OK) e.st = st;
  if (e.st == DL_OK) dl_ex_return(&e, r.x, out);
  return dl_ex_end(&e);
}

int dl_getitem(lua_State *L) {
  dl_tensor *x = dl_get_tensor(L, 1);
  ix_key k;
  dl_pace(L);
  lua_settop(L, 2);
  dl_box *shell = dl_push_shell(L);
  read_key(L, &k, 2);
  dl_status st = get(x, &k, &shell->t);
  if (st != DL_OK) return dl_raise(L, st);
  dl_pace_count(shell->t);
  lua_settop(L, 3);
  return 1;
}

/* ---- assignment ----------------------------------------------------------------------------- */
/* Sizes of v without leading ones beyond what dst has, as PyTorch's setitem allows. */
static dl_tensor *strip_ones(dl_ex *e, dl_tensor *v, int ndim) {
  int first = 0;
  while (v->ndim - first > ndim && v->size[first] == 1) first++;
  return first ? EX(e, view, T(v), L(v->size + first, v->ndim - first)) : v;
}

static dl_status put(dl_ex *e, ix_run *r, dl_tensor *value) {
  dl_tensor *dst = r->x;
  if (r->any_tensor) {
    if (value->dtype != dst->dtype && (value->ndim == 0 || value->wrapped))
      value = EX(e, _to_copy, T(value), DT(dst->dtype));
    if (e->st == DL_OK) EX_(e, index_put, T(dst), TS(r->index, r->n_index), T(value));
    return e->st;
  }
  if (value->ndim == 0) {
    EX_(e, fill_, T(dst), T(value));
    return e->st;
  }
  value = strip_ones(e, value, dst->ndim);
  if (e->st == DL_OK && !dl_sizes_equal(value->ndim, value->size, dst->ndim, dst->size))
    value = EX(e, expand, T(value), L(dst->size, dst->ndim));
  if (e->st == DL_OK) EX_(e, copy_, T(dst), T(value));
  return e->st;
}

static dl_status set(dl_tensor *x, const ix_key *k, dl_tensor *value, const dl_arg *num) {
  dl_ex e;
  dl_ex_begin(&e);
  ix_run r = {.e = &e, .x = x};
  dl_status st = run_views(&r, k);
  if (st == DL_OK && !value && !r.any_tensor) {
    EX_(&e, fill_, T(r.x), *num);
  } else if (st == DL_OK) {
    dl_tensor *v = value;
    if (!v) {
      dl_dtype d = (dl_dtype)x->dtype;
      st = dl_dtype_is_float(d) ? dl_tensor_scalar_f(d, dl_arg_f(num), &v)
                                : dl_tensor_scalar_i(d, dl_arg_i(num), &v);
      if (st == DL_OK) v = dl_ex_keep_take(&e, v);
    }
    if (st == DL_OK) st = put(&e, &r, v);
  }
  if (e.st == DL_OK) e.st = st;
  return dl_ex_end(&e);
}

static bool value_number(lua_State *L, int i, dl_arg *out) {
  if (lua_type(L, i) == LUA_TBOOLEAN) *out = B(lua_toboolean(L, i));
  else if (lua_type(L, i) != LUA_TNUMBER) return false;
  else if (lua_isinteger(L, i)) *out = I(lua_tointeger(L, i));
  else *out = F(lua_tonumber(L, i));
  return true;
}

int dl_setitem(lua_State *L) {
  dl_tensor *x = dl_get_tensor(L, 1);
  ix_key k;
  dl_arg num;
  char name[48];
  dl_pace(L);
  lua_settop(L, 3);
  dl_box *np = dl_object(L, 3, &dl_t_np);
  dl_tensor *value = np ? np->t : dl_get_tensor(L, 3);
  if (!value && !value_number(L, 3, &num))
    return dl_type_error(L, "can't assign a %s to a %s", dl_type_name(L, 3),
                         dl_tensor_type_name(x, name));
  read_key(L, &k, 2);
  dl_status st = set(x, &k, value, &num);
  return st == DL_OK ? 0 : dl_raise(L, st);
}
