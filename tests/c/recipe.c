/* recipe.c -- see recipe.h */
#include "recipe.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const recipe recipes[] = {
#define R(id, args, flags) {DL_OP_##id, args, flags},
#include "recipes.def"
#undef R
};
const int recipe_count = sizeof recipes / sizeof *recipes;

static uint64_t next(recipe_args *a) {
  a->random = a->random * 6364136223846793005u + 1442695040888963407u;
  return a->random >> 33;
}

static double uniform(recipe_args *a, double lo, double hi) {
  return lo + (hi - lo) * ((double)(next(a) % 100003) + 0.5) / 100003;
}

/* ---- elements -------------------- */

char *recipe_element(const dl_tensor *t, int64_t i) {
  int64_t at = 0;
  for (int k = t->ndim - 1; k >= 0; k--) {
    at += i % t->size[k] * t->stride[k];
    i /= t->size[k];
  }
  return t->data + at * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
}

double recipe_value(const dl_tensor *t, int64_t i) {
  return dl_elem_get_f64((dl_dtype)t->dtype, recipe_element(t, i));
}

/* The k-th value of a tensor of this kind; `order` is the place of the element in a shuffle. */
static double float_value(recipe_args *a, char kind, int64_t k, int64_t order) {
  double v;
  switch (kind) {
    case 'p': case 'n': return uniform(a, 0.5, 2);
    case 'u': return uniform(a, -0.9, 0.9);
    case 'q': return uniform(a, 0.1, 0.9);
    case 'd': return (double)(order + 1) * 0.25 - 1.5;
    case 's': return (double)k * 0.5 - 1;
    default: v = uniform(a, -2, 2); return v < 0 ? v - 0.05 : v + 0.05;
  }
}

static double int_value(recipe_args *a, char kind, int64_t k, int64_t order) {
  return kind == 'd' ? (double)order + 1 : kind == 's' ? (double)k : 1 + (double)(next(a) % 4);
}

static void fill(recipe_args *a, dl_tensor *t, char kind, int64_t below) {
  int64_t order[256], n = t->numel < 256 ? t->numel : 256;
  for (int64_t i = 0; i < n; i++) {
    int64_t j = (int64_t)(next(a) % (uint64_t)(i + 1));
    order[i] = order[j];
    order[j] = i;
  }
  uint64_t first = next(a);
  dl_dtype d = (dl_dtype)t->dtype;
  for (int64_t i = 0; i < t->numel; i++) {
    char *p = recipe_element(t, i), room[8];
    double v = kind == 'i'   ? (double)((first + (uint64_t)i) % (uint64_t)below)
               : kind == 'b' ? (double)(next(a) % 2)
               : kind == 'j' ? (double)(next(a) % 6)
               : dl_dtype_is_float(d) ? float_value(a, kind, i, order[i % 256])
                                      : int_value(a, kind, i, order[i % 256]);
    if (a->how.rounded != DL_NODTYPE && dl_dtype_is_float(d)) {
      dl_elem_set_f64(a->how.rounded, room, v);
      v = dl_elem_get_f64(a->how.rounded, room);
    }
    dl_elem_set_f64(d, p, v);
  }
}

/* A window of a larger tensor whose dims run backwards in memory, every other element used. */
static dl_status strided_new(dl_dtype d, int ndim, const int64_t *size, dl_tensor **out) {
  int64_t room[DL_MAXDIM + 1], stride[DL_MAXDIM], step = 2;
  dl_tensor *base;
  for (int i = 0; i < ndim; i++) {
    room[ndim - 1 - i] = size[i];
    stride[i] = step;
    step *= size[i] ? size[i] : 1;
  }
  room[ndim] = 2;
  DL_TRY(dl_tensor_new(DL_DEV_CPU, d, ndim + 1, room, &base));
  memset(base->data, 0, base->st->nbytes);
  dl_status st = dl_tensor_view(base, ndim, size, stride, base->numel ? 1 : 0, out);
  dl_tensor_release(base);
  return st;
}

/* ---- parsing -------------------- */

static bool bad(const char *at) {
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "recipe makes no sense at \"%.20s\"", at);
  return false;
}

static const char *skip(const char *p) {
  while (*p == ' ') p++;
  return p;
}

static dl_dtype dtype_for(const recipe_args *a, char kind) {
  dl_dtype d = a->how.dtype;
  if (kind == 'i') return DL_I64;
  if (kind == 'b') return DL_BOOL;
  if (kind == 'j') return d == DL_NODTYPE || dl_dtype_is_float(d) ? DL_I64 : d;
  return d == DL_NODTYPE ? DL_F64 : d;
}

/* "f[2,3]<4" */
static const char *parse_tensor(recipe_args *a, const char *p, dl_tensor **out) {
  char kind = *p++;
  int64_t size[DL_MAXDIM], below = 1;
  int ndim = 0;
  if (*p++ != '[') return NULL;
  while (*p != ']') {
    char *end;
    size[ndim] = strtoll(p, &end, 10);
    if (end == p || ndim == DL_MAXDIM) return NULL;
    if (a->how.empty && size[ndim] == a->how.empty) size[ndim] = 0;
    if (a->how.grow && size[ndim] > 1) size[ndim] = size[ndim] * a->how.grow + 1;
    if (a->how.single) size[ndim] = 1;
    ndim++;
    p = *end == ',' ? end + 1 : end;
  }
  p++;
  if (*p == '<') below = strtoll(p + 1, (char **)&p, 10);
  dl_dtype d = dtype_for(a, kind);
  dl_status st = a->how.strided ? strided_new(d, ndim, size, out)
                                : dl_tensor_new(DL_DEV_CPU, d, ndim, size, out);
  if (st != DL_OK) return NULL;
  a->own[a->nown++] = *out;
  fill(a, *out, kind, below);
  if (strchr("fpuqds", kind) && dl_dtype_is_float(d)) {
    a->var[a->nvar++] = *out;
    (*out)->requires_grad = a->how.grad;
  }
  return p;
}

static const char *parse_ints(recipe_args *a, const char *p, dl_arg *v) {
  *v = L(a->ints + a->nints, 0);
  for (p++; *p != ')';) {
    char *end;
    a->ints[a->nints++] = strtoll(p, &end, 10);
    if (end == p) return NULL;
    v->n++;
    p = *end == ',' ? end + 1 : end;
  }
  return p + 1;
}

static const char *parse_list(recipe_args *a, const char *p, dl_arg *v) {
  *v = TS(a->list + a->nlist, 0);
  for (p = skip(p + 1); p && *p != '}'; p = p ? skip(p) : NULL) {
    dl_tensor *t = NULL;
    p = *p == '_' ? p + 1 : parse_tensor(a, p, &t);
    a->list[a->nlist++] = t;
    v->n++;
  }
  return p ? p + 1 : NULL;
}

static const char *parse_word(recipe_args *a, const char *p, dl_arg *v) {
  char *text = a->text[a->ntext];
  size_t n = *p == '\'' ? strcspn(p + 1, "'") : strcspn(p + 1, " ");
  if (n >= sizeof a->text[0]) return NULL;
  memcpy(text, p + 1, n);
  text[n] = '\0';
  if (*p == '\'') {
    a->ntext++;
    *v = S(text);
    return p + n + 2;
  }
  for (int d = 0; d < DL_DTYPE_COUNT; d++)
    if (strcmp(dl_dtypes[d].name, text) == 0) *v = DT(d);
  return v->tag == DL_A_DTYPE ? p + n + 1 : NULL;
}

static const char *parse_number(const char *p, bool as_float, dl_arg *v) {
  char *end;
  size_t n = strcspn(p, " ");
  double f = strtod(p, &end);
  if (end == p || end != p + n) return NULL;
  bool whole = memchr(p, '.', n) == NULL && memchr(p, 'e', n) == NULL;
  if (whole && !as_float) *v = I((int64_t)f);
  else *v = F(f);
  return end;
}

static const char *parse_value(recipe_args *a, const char *p, const dl_param *param, dl_arg *v) {
  *v = NIL;
  if (*p == '(') return parse_ints(a, p, v);
  if (*p == '{') return parse_list(a, p, v);
  if (*p == '\'' || *p == ':') return parse_word(a, p, v);
  if (*p == '_') return p + 1;
  if (*p == 'T' || *p == 'F') {
    *v = B(*p == 'T');
    return p + 1;
  }
  if (islower((unsigned char)*p)) {
    dl_tensor *t = NULL;
    p = parse_tensor(a, p, &t);
    *v = T(t);
    return p;
  }
  return parse_number(p, param->type == DL_P_FLOAT, v);
}

/* "name=": the parameter of that name, or the next one in order. */
static const char *which(const char *p, const dl_schema *s, int *k) {
  size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  if (p[n] != '=') {
    ++*k;
    return p;
  }
  for (int i = 0; i < s->nparam; i++)
    if (strlen(s->p[i].name) == n && strncmp(s->p[i].name, p, n) == 0) return *k = i, p + n + 1;
  return NULL;
}

bool recipe_build(const recipe *r, recipe_how how, recipe_args *a) {
  const dl_schema *s = dl_op_schema(r->op);
  memset(a, 0, sizeof *a);
  a->how = how;
  a->random = 12345 + (uint64_t)r->op;
  for (int i = 0; i < s->nparam; i++) a->arg[i] = s->p[i].has_default ? s->p[i].dflt : NIL;
  int k = -1;
  for (const char *p = skip(r->args); *p; p = skip(p)) {
    const char *start = p;
    p = which(p, s, &k);
    if (!p || k >= s->nparam) return bad(start);
    p = parse_value(a, p, &s->p[k], &a->arg[k]);
    if (!p || (*p && *p != ' ')) return bad(start);
  }
  for (int i = 0; i < s->nparam; i++)
    if (a->arg[i].tag == DL_A_NONE && !s->p[i].optional && !s->p[i].has_default)
      return bad(s->p[i].name);
  return true;
}

void recipe_free(recipe_args *a) {
  while (a->nown) dl_tensor_release(a->own[--a->nown]);
  a->nvar = 0;
}

bool recipe_flag(const recipe *r, char flag) { return strchr(r->flags, flag) != NULL; }

int recipe_sizes(const recipe *r, int64_t out[8]) {
  int n = 0;
  for (const char *p = r->args; (p = strchr(p, '[')) != NULL;) {
    for (p++; *p != ']';) {
      char *end;
      int64_t v = strtoll(p, &end, 10);
      bool known = v == 0;
      for (int i = 0; i < n; i++) known = known || out[i] == v;
      if (!known && n < 8) out[n++] = v;
      p = *end == ',' ? end + 1 : end;
    }
  }
  return n;
}

const char *recipe_name(const recipe *r, char *buf, size_t cap) {
  snprintf(buf, cap, "%s(%s)", dl_ops[r->op].id, r->args);
  return buf;
}

bool recipe_wanted(const recipe *r, int argc, char **argv) {
  if (argc < 2) return true;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], dl_ops[r->op].id) == 0) return true;
  return false;
}

int recipe_results(const dl_ret *ret, dl_tensor **out, int cap) {
  int n = ret->n < cap ? ret->n : cap;
  for (int i = 0; i < n; i++) out[i] = ret->more ? ret->more[i] : ret->v[i];
  return n;
}

bool recipe_clean_failure(void) {
  return dl_err.kind != DL_OK && dl_err.kind != DL_E_INTERNAL && dl_err.message[0] != '\0';
}
