/* argfail.c -- why a call does not fit, in PyTorch's words
 *
 * For args.c, when no schema fits. With one signature that could take this many arguments the text
 * is about the argument at fault; with several it is the list of all of them.
 *
 * MUST NOT  own anything: it ends in a raise. */
#include "bind/bind.h"

#include <stdio.h>
#include <string.h>

typedef struct { char *p; size_t n, cap; } text;

static void add(text *t, const char *fmt, ...) DL_PRINTF(2, 3);
#include <stdarg.h>
static void add(text *t, const char *fmt, ...) {
  if (t->n + 1 >= t->cap) return;
  va_list ap;
  va_start(ap, fmt);
  int w = vsnprintf(t->p + t->n, t->cap - t->n, fmt, ap);
  va_end(ap);
  if (w > 0) t->n = t->n + (size_t)w < t->cap ? t->n + (size_t)w : t->cap - 1;
}

const char *dl_param_type(const dl_param *p) {
  static const char *const names[] = {
    [DL_P_TENSOR] = "Tensor", [DL_P_TN] = "Tensor", [DL_P_TENSORS] = "tuple of Tensors",
    [DL_P_NUM] = "Number", [DL_P_INT] = "int", [DL_P_INTS] = "tuple of ints",
    [DL_P_FLOAT] = "float",
    [DL_P_BOOL] = "bool", [DL_P_STR] = "str", [DL_P_DTYPE] = "torch.dtype",
    [DL_P_DEVICE] = "torch.device", [DL_P_GEN] = "torch.Generator"};
  return names[p->type];
}

static const char *shown(const dl_args *a, const dl_param *p) {
  return !a->method && !strcmp(p->name, "self") ? "input" : p->name;
}

static int skip_self(const dl_args *a) { return a->method ? 1 : 0; }

/* ---- signatures ----------------------------------------------------------------------------- */
static void add_default(text *t, const dl_arg *d) {
  switch (d->tag) {
    case DL_A_NONE: add(t, " = None"); break;
    case DL_A_BOOL: add(t, " = %s", d->i ? "True" : "False"); break;
    case DL_A_INT: add(t, " = %lld", (long long)d->i); break;
    case DL_A_FLOAT: add(t, " = %g", d->f); break;
    case DL_A_STR: add(t, " = '%s'", d->s); break;
    case DL_A_INTS:
      if (d->n == 0) add(t, " = None");
      else add(t, " = %lld", (long long)d->is[0]);
      break;
    default: break;
  }
}

static void add_signature(text *t, const dl_args *a, const dl_schema *s, bool out_ok) {
  bool star = false, first = true;
  add(t, "(");
  for (int k = skip_self(a); k < s->nparam; k++) {
    const dl_param *p = &s->p[k];
    if (!first) add(t, ", ");
    if (p->kwonly && !star) add(t, "*, ");
    star = star || p->kwonly;
    add(t, "%s %s", dl_param_type(p), shown(a, p));
    if (p->has_default) add_default(t, &p->dflt);
    first = false;
  }
  if (out_ok) add(t, "%s%sTensor out = None", first ? "" : ", ", star ? "" : "*, ");
  add(t, ")");
}

static void add_params(text *t, const dl_args *a, const dl_schema *s, bool out_ok) {
  for (int k = skip_self(a); k < s->nparam; k++)
    add(t, "%s%s", t->n ? ", " : "", shown(a, &s->p[k]));
  if (out_ok) add(t, "%sout", t->n ? ", " : "");
}

/* ---- what was given ------------------------------------------------------------------------- */
static void add_type(text *t, lua_State *L, int i) {
  if (lua_istable(L, i) && dl_is_list(L, i) && !dl_is_size(L, i)) {
    int64_t n = dl_list_len(L, i);
    add(t, "list of [");
    for (int64_t k = 0; k < n && k < 10; k++) {
      dl_list_get(L, i, k);
      add(t, "%s%s", k ? ", " : "", dl_type_name(L, -1));
      lua_pop(L, 1);
    }
    add(t, "%s]", n > 10 ? ", ..." : "");
  } else {
    add(t, "%s", dl_type_name(L, i));
  }
}

/* matched (or NULL): which positional arguments have the type the option shows */
static void add_given(text *t, dl_args *a, const bool *matched) {
  lua_State *L = a->L;
  int n = 0;
  add(t, "(");
  for (int i = a->first + skip_self(a); i < a->first + a->n; i++, n++) {
    bool wrong = matched && !matched[i - a->first];
    add(t, n ? ", %s" : "%s", wrong ? "!" : "");
    add_type(t, L, i);
    add(t, "%s", wrong ? "!" : "");
  }
  /* PyTorch leaves the last comma where only keywords stand */
  bool alone = n == 0;
  if (a->kw)
    for (lua_pushnil(L); lua_next(L, a->kw); lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING) continue;
      add(t, "%s%s=", alone ? "" : ", ", lua_tostring(L, -2));
      add_type(t, L, lua_gettop(L));
      if (alone) add(t, ", ");
    }
  add(t, ")");
}

static int count_keywords(dl_args *a) {
  int n = 0;
  if (a->kw)
    for (lua_pushnil(a->L); lua_next(a->L, a->kw); lua_pop(a->L, 1)) n++;
  return n;
}

static bool plausible(const dl_args *a, const dl_schema *s, int given, bool out_ok) {
  int least = 0;
  for (int k = skip_self(a); k < s->nparam; k++)
    if (!s->p[k].has_default) least++;
  for (int k = 0; k < s->nparam; k++)
    if (s->p[k].varargs) return given >= least || given == 0;
  return given >= least && given <= s->nparam - skip_self(a) + (out_ok ? 1 : 0);
}

/* ---- why one of several does not fit -------------------------------------------------------- */
static bool shows_type(dl_args *a, const dl_param *p, int i) {
  const char *name = dl_type_name(a->L, i), *want = dl_param_type(p);
  if (!strcmp(name, "Parameter")) name = "Tensor";
  return !strcmp(name, want)
      || (!strcmp(want, "Number") && (!strcmp(name, "int") || !strcmp(name, "float")));
}

/* what the option's text lists, the star counted as PyTorch's parser counts it */
static int listed(const dl_args *a, const dl_schema *s, bool out_ok) {
  int n = s->nparam - skip_self(a) + (out_ok ? 1 : 0);
  bool star = out_ok || s->npos < s->nparam;
  n += star ? 1 : 0;
  return n ? n : 1;
}

static bool add_wrong_keywords(text *t, dl_args *a, const dl_schema *s, bool out_ok) {
  lua_State *L = a->L;
  int n = 0;
  if (!a->kw) return false;
  for (lua_pushnil(L); lua_next(L, a->kw); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    bool known = out_ok && !strcmp(key, "out");
    for (int k = 0; k < s->nparam; k++) known = known || dl_param_named(&s->p[k], key);
    if (known) continue;
    add(t, n++ ? ", %s" : "\n      didn't match because some of the keywords were incorrect: %s",
        key);
  }
  return n > 0;
}

static void add_reason(text *t, dl_args *a, const dl_schema *s, bool out_ok, int given) {
  bool matched[DL_MAX_PARAM + 1] = {false};
  if (given != listed(a, s, out_ok) || add_wrong_keywords(t, a, s, out_ok)) return;
  for (int i = 0; i < a->n && i < s->npos; i++) matched[i] = shows_type(a, &s->p[i], a->first + i);
  add(t, "\n      didn't match because some of the arguments have invalid types: ");
  add_given(t, a, matched);
}

/* ---- one signature -------------------------------------------------------------------------- */
static dl_status too_many(const dl_args *a, const dl_schema *s) {
  int given = a->n - skip_self(a), most = s->npos - skip_self(a), least = 0;
  if (a->method && s->nparam == 1)
    return dl_fail(DL_TypeError, DL_E_ARGUMENT, "TensorBase.%s() takes no arguments (%d given)",
                   a->name,
                   given);
  for (int k = skip_self(a); k < s->npos; k++)
    if (!s->p[k].has_default) least++;
  if (least != most)
    return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                   "%s() takes from %d to %d positional arguments but %d were given", a->name,
                   least,
                   most, given);
  return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                 "%s() takes %d positional argument%s but %d %s given", a->name, most,
                 most == 1 ? "" : "s", given, given == 1 ? "was" : "were");
}

static dl_status missing(const dl_args *a, const dl_schema *s) {
  char buf[256] = "";
  text t = {buf, 0, sizeof buf};
  int n = 0;
  for (int k = 0; k < s->nparam; k++)
    if (!a->at[k] && !s->p[k].has_default) {
      add(&t, a->python ? "%s'%s'" : "%s\"%s\"", n ? ", " : "", shown(a, &s->p[k]));
      n++;
    }
  if (a->python)
    return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                   "%s() missing %d required positional argument%s: %s",
                   a->name, n, n == 1 ? "" : "s", buf);
  return dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s() missing %d required positional argument%s: %s",
                 a->name, n, n == 1 ? "s" : "", buf); /* PyTorch has the plural this way round */
}

static dl_status bad_type(dl_args *a, const dl_schema *s, int k, int64_t elem) {
  const dl_param *p = &s->p[k];
  lua_State *L = a->L;
  char place[32] = "";
  int pos = 0;
  for (int i = a->first + skip_self(a); i < a->first + a->n; i++)
    if (i - a->first == k) pos = k + 1 - skip_self(a);
  if (pos) snprintf(place, sizeof place, " (position %d)", pos);
  if (elem >= 0 && p->type == DL_P_TENSORS)
    return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                   "expected Tensor as element %lld in argument %d, but got %s",
                   (long long)elem, k - skip_self(a), dl_type_name(L, -1));
  if (elem >= 0)
    return dl_fail(DL_TypeError, DL_E_ARGUMENT,
                   "%s(): argument '%s' failed to unpack the object at pos %lld with error \"type "
                   "must be %s,but got %s\"",
                   a->name, shown(a, p), (long long)elem + 1, dl_param_type(p),
                   dl_type_name(L, -1));
  int i = a->at[k];
  return dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s(): argument '%s'%s must be %s, not %s", a->name,
                 shown(a, p), place, dl_param_type(p), dl_type_name(L, i));
}

static const char *bad_key(dl_args *a, const dl_schema *s, bool out_ok) {
  lua_State *L = a->L;
  for (lua_pushnil(L); lua_next(L, a->kw); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : NULL;
    bool known = key && out_ok && !strcmp(key, "out");
    for (int k = 0; key && k < s->nparam; k++) known = known || dl_param_named(&s->p[k], key);
    if (!known) {
      lua_pop(L, 2);
      return key ? key : "?";             /* alive in the keyword table */
    }
  }
  return "?";
}

static void note_params(dl_args *a, const dl_schema *s, bool out_ok) {
  char buf[512] = "";
  text t = {buf, 0, sizeof buf};
  add_params(&t, a, s, out_ok);
  dl_note("parameters: %s", *buf ? buf : "none");
}

/* As in x.add_(y), where y is taken for the tensor. */
static bool called_with_dot(lua_State *L) {
  lua_Debug ar;
  return lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && !strcmp(ar.namewhat, "field");
}

/* A dot where a colon belongs, or the other way round? */
static void note_slip(dl_args *a) {
  lua_State *L = a->L;
  if (a->method && (!dl_get_tensor(L, a->first) || called_with_dot(L))) {
    dl_note("a method is called with a colon: x:%s(…)", a->name);
  } else if (!a->method && a->n > 0 && lua_istable(L, a->first)) {
    lua_getfield(L, a->first, "__dl_module");
    if (lua_isstring(L, -1))
      dl_note("a function of a module is called with a dot: %s.%s(…)", lua_tostring(L, -1),
              a->name);
    lua_pop(L, 1);
  }
}

static int explain_one(dl_args *a, const dl_schema *s, bool out_ok) {
  int which;
  int64_t elem;
  dl_fit fit = dl_args_try(a, s, out_ok, &which, &elem);
  switch (fit) {
    case DL_TOO_MANY: too_many(a, s); break;
    case DL_MISSING: missing(a, s); break;
    case DL_BAD_KW:
      dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s() got an unexpected keyword argument '%s'", a->name,
              bad_key(a, s, out_ok));
      break;
    case DL_TWICE:
      dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s() got multiple values for argument '%s'", a->name,
              shown(a, &s->p[which]));
      break;
    default: bad_type(a, s, which, elem); break;
  }
  note_slip(a);
  if (fit == DL_TOO_MANY || fit == DL_BAD_KW) note_params(a, s, out_ok);
  return dl_raise(a->L, DL_E_ARGUMENT);
}

int dl_args_explain(dl_args *a, const dl_schema *const *s, int n, bool out_ok) {
  int given = a->n - skip_self(a) + count_keywords(a), fits = 0, last = 0;
  for (int i = 0; i < n; i++)
    if (plausible(a, s[i], given, out_ok)) {
      fits++;
      last = i;
    }
  if (n == 1 || fits == 1 || (a->method && !dl_get_tensor(a->L, a->first)))
    return explain_one(a, s[last], out_ok);
  char buf[DL_MESSAGE_MAX] = "";
  text t = {buf, 0, sizeof buf};
  add(&t, "%s() received an invalid combination of arguments - got ", a->name);
  add_given(&t, a, NULL);
  add(&t, ", but expected one of:");
  for (int i = 0; i < n; i++) {
    add(&t, "\n * ");
    add_signature(&t, a, s[i], out_ok);
    if (a->n <= DL_MAX_PARAM) add_reason(&t, a, s[i], out_ok, given);
  }
  dl_fail(DL_TypeError, DL_E_ARGUMENT, "%s", buf);
  note_slip(a);
  return dl_raise(a->L, DL_E_ARGUMENT);
}
