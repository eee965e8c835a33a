/* schema.c -- PyTorch's schema strings, parsed once
 *
 * "name.overload(Type name=default, *, …) -> Type": the argument reader, keyword names, defaults,
 * help and completion all come from the result.
 *
 * INVARIANT  ops.def is ours, so a string that does not parse is a bug: it ends in an internal
 *            error that a test over all rows would show. */
#include "op/op.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static dl_schema *parsed[DL_OP_COUNT];
static const int64_t ones8[DL_MAXDIM] = {1, 1, 1, 1, 1, 1, 1, 1};
static const int64_t zeros8[DL_MAXDIM];

static const struct { const char *word; uint8_t type; } types[] = {
  {"Tensor", DL_P_TENSOR}, {"TN", DL_P_TN}, {"Num", DL_P_NUM}, {"int", DL_P_INT},
  {"float", DL_P_FLOAT}, {"bool", DL_P_BOOL}, {"str", DL_P_STR}, {"dtype", DL_P_DTYPE},
  {"device", DL_P_DEVICE}, {"Gen", DL_P_GEN},
};

static const char *skip(const char *s) {
  while (*s == ' ' || *s == ',') s++;
  return s;
}

static const char *word(const char *s, char *buf, size_t cap) {
  size_t n = 0;
  while (isalnum((unsigned char)*s) || *s == '_') {
    if (n + 1 < cap) buf[n++] = *s;
    s++;
  }
  buf[n] = 0;
  return s;
}

/* "?", "[]", "[2]", "[...]" after a type word */
static const char *suffix(const char *s, dl_param *p) {
  for (;;) {
    if (*s == '?') {
      if (s[1] == '[') p->elem_optional = 1;
      else p->optional = 1;
      s++;
    } else if (*s == '[') {
      p->type = p->type == DL_P_TENSOR ? DL_P_TENSORS : DL_P_INTS;
      if (isdigit((unsigned char)s[1])) p->repeat = (uint8_t)(s[1] - '0');
      if (s[1] == '.') p->varargs = 1;
      s = strchr(s, ']') + 1;
    } else {
      return s;
    }
  }
}

static const char *number(const char *s, dl_param *p) {
  char *end_i, *end_f;
  long long i = strtoll(s, &end_i, 10);
  double f = strtod(s, &end_f);
  if (p->type == DL_P_INTS) {
    p->dflt = L(i ? ones8 : zeros8, p->repeat ? p->repeat : 1);
  } else if (end_f > end_i || p->type == DL_P_FLOAT) {
    p->dflt = F(f);
  } else {
    p->dflt = I(i);
  }
  return end_f > end_i ? end_f : end_i;
}

static const char *dflt(const char *s, dl_param *p) {
  p->has_default = 1;
  if (*s == '\'') {
    const char *end = strchr(s + 1, '\'');
    char *text = calloc(1, (size_t)(end - s));
    if (text) memcpy(text, s + 1, (size_t)(end - s - 1));
    p->dflt = S(text);
    return end + 1;
  }
  if (*s == '[') {
    p->dflt = L(zeros8, 0);
    return strchr(s, ']') + 1;
  }
  if (isdigit((unsigned char)*s) || *s == '-') return number(s, p);
  char w[16];
  s = word(s, w, sizeof w);
  if (!strcmp(w, "None")) {
    p->optional = 1;
    p->dflt = NIL;
  } else {
    p->dflt = B(!strcmp(w, "True"));
  }
  return s;
}

static const char *param(const char *s, dl_schema *out, bool kwonly) {
  dl_param *p = &out->p[out->nparam++];
  char w[24];
  s = word(s, w, sizeof w);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (!strcmp(w, types[i].word)) p->type = types[i].type;
  s = skip(suffix(s, p));
  s = word(s, p->name, sizeof p->name);
  p->kwonly = kwonly;
  if (!kwonly) out->npos = out->nparam;
  if (*s == '=') s = dflt(s + 1, p);
  return skip(s);
}

static void returns(const char *s, dl_schema *out) {
  s = strstr(s, "->") + 2;
  s = skip(s);
  if (*s != '(') {
    out->nret = 1;
    out->ret_list = strncmp(s, "Tensor[]", 8) == 0;
    return;
  }
  s++;
  while (*s && *s != ')') {
    char w[24];
    s = word(s, w, sizeof w);
    bool named = *s == ' ';
    s = skip(s);
    if (named) s = skip(word(s, out->ret_name[out->nret], 20));
    out->nret++;
  }
}

static void special(dl_schema *out) {
  out->p_dtype = out->p_device = out->p_requires_grad = out->p_gen = -1;
  for (int i = 0; i < out->nparam; i++) {
    if (out->p[i].type == DL_P_DTYPE) out->p_dtype = (int8_t)i;
    if (out->p[i].type == DL_P_DEVICE) out->p_device = (int8_t)i;
    if (out->p[i].type == DL_P_GEN) out->p_gen = (int8_t)i;
    if (!strcmp(out->p[i].name, "requires_grad")) out->p_requires_grad = (int8_t)i;
  }
}

void dl_schema_parse(const char *s, dl_schema *out) {
  s = word(s, out->name, sizeof out->name);
  if (*s == '.') s = word(s + 1, out->overload, sizeof out->overload);
  s = skip(s + 1);
  bool kwonly = false;
  while (*s && *s != ')') {
    if (*s == '*') {
      kwonly = true;
      s = skip(s + 1);
    } else {
      s = param(s, out, kwonly);
    }
  }
  returns(s, out);
  special(out);
}

const dl_schema *dl_op_schema(dl_opid op) {
  static dl_schema none;
  if (!parsed[op]) {
    dl_schema *s = calloc(1, sizeof *s);
    if (!s) return &none;
    dl_schema_parse(dl_ops[op].schema_text, s);
    parsed[op] = s;
  }
  return parsed[op];
}
