/* npprint.c -- an array as text, as numpy's str() writes it
 *
 * Shortest digits that read back the same, at most eight after the point, columns aligned.
 *
 * MUST NOT  run ops. */
#include "bind/np.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDGE 3
#define THRESHOLD 1000
#define LINE 75                  /* characters a line, numpy's linewidth */
#define PRECISION 8

typedef struct style {
  const dl_tensor *t;
  bool cut, sci, real;
  int left, right, width;        /* digits before and after the point; width of a column */
} style;

/* Shortest %.*e digits that read back as v (as float where the dtype is narrower). */
static int digits_of(const style *s, double v) {
  char buf[64];
  for (int n = 0; n < 17; n++) {
    snprintf(buf, sizeof buf, "%.*e", n, v);
    double back = strtod(buf, NULL);
    if (s->t->dtype == DL_F64 ? back == v : (float)back == (float)v) return n;
  }
  return 17;
}

/* Fraction digits in positional form, at most PRECISION. */
static int fraction_of(const style *s, double v) {
  if (v == 0) return 0;
  int n = digits_of(s, v) - (int)floor(log10(fabs(v)));
  return n < 0 ? 0 : n > PRECISION ? PRECISION : n;
}

static void trim(char *buf) {
  char *end = buf + strlen(buf);
  while (end > buf && end[-1] == '0') *--end = 0;
}

static void text_of(const style *s, const char *e, char *buf, size_t cap) {
  dl_dtype d = (dl_dtype)s->t->dtype;
  if (d == DL_BOOL) snprintf(buf, cap, *e ? "True" : "False");
  else if (!s->real) snprintf(buf, cap, "%lld", (long long)dl_elem_get_i64(d, e));
  else {
    double v = dl_elem_get_f64(d, e);
    if (isnan(v)) snprintf(buf, cap, "nan");
    else if (isinf(v)) snprintf(buf, cap, v < 0 ? "-inf" : "inf");
    else if (s->sci) snprintf(buf, cap, "%#.*e", s->right, v);
    else {
      int own = fraction_of(s, v);        /* digits past the shortest are not the number's */
      snprintf(buf, cap, "%#.*f", own < s->right ? own : s->right, v);
      trim(buf);
    }
  }
}

/* ---- two passes: measure, write ------------------------------------------------------------- */
typedef void (*visitor)(style *s, const char *e, void *ud);

static void each(style *s, int dim, const char *e, visitor fn, void *ud) {
  if (dim == s->t->ndim) {
    fn(s, e, ud);
    return;
  }
  int64_t n = s->t->size[dim], step = s->t->stride[dim] * dl_dtypes[s->t->dtype].size;
  for (int64_t i = 0; i < n; i++) {
    if (s->cut && n > 2 * EDGE && i == EDGE) i = n - EDGE;
    each(s, dim + 1, e + i * step, fn, ud);
  }
}

typedef struct range { double min, max; int64_t n; int frac, digits; } range;

static void measure(style *s, const char *e, void *ud) {
  range *r = ud;
  double v = fabs(dl_elem_get_f64((dl_dtype)s->t->dtype, e));
  if (!isfinite(v)) return;
  int f = fraction_of(s, v), g = digits_of(s, v);
  if (f > r->frac) r->frac = f;
  if (g > r->digits) r->digits = g;
  if (v == 0) return;
  if (r->n++ == 0 || v < r->min) r->min = v;
  if (v > r->max) r->max = v;
}

static void widen(style *s, const char *e, void *ud) {
  char buf[400];
  (void)ud;
  text_of(s, e, buf, sizeof buf);
  const char *dot = s->real && !s->sci ? strchr(buf, '.') : NULL;
  int left = dot ? (int)(dot - buf) : (int)strlen(buf);
  if (dot && left > s->left) s->left = left;
  if (!dot && left > s->width) s->width = left;
}

static void choose(style *s) {
  range r = {0};
  if (s->real) {
    each(s, 0, s->t->data, measure, &r);
    s->sci = r.n && (r.max >= 1e16 || r.min < 1e-4 || r.max / r.min > 1000);
    s->right = s->sci ? (r.digits > PRECISION ? PRECISION : r.digits) : r.frac;
  }
  each(s, 0, s->t->data, widen, NULL);
  if (s->real && !s->sci && s->left) {
    int w = s->left + 1 + s->right;
    if (w > s->width) s->width = w;
  }
}

static void put_elem(style *s, luaL_Buffer *b, const char *e) {
  char buf[400], out[900];
  text_of(s, e, buf, sizeof buf);
  const char *dot = s->real && !s->sci ? strchr(buf, '.') : NULL;
  int pad = dot ? s->right - (int)strlen(dot + 1) : 0; /* numpy fills the fraction with blanks */
  snprintf(out, sizeof out, "%*s%*s", s->width - (pad > 0 ? pad : 0), buf, pad > 0 ? pad : 0, "");
  luaL_addstring(b, out);
}

static void put_row(style *s, luaL_Buffer *b, const char *e, int indent) {
  const dl_tensor *t = s->t;
  int64_t n = t->size[t->ndim - 1], step = t->stride[t->ndim - 1] * dl_dtypes[t->dtype].size;
  int used = indent;
  luaL_addchar(b, '[');
  for (int64_t i = 0; i < n; i++) {
    bool dots = s->cut && n > 2 * EDGE && i == EDGE;
    int w = dots ? 3 : s->width;
    if (i && used + 1 + w > LINE) {
      luaL_addchar(b, '\n');
      for (int k = 0; k < indent; k++) luaL_addchar(b, ' ');
      used = indent;
    } else if (i) {
      luaL_addchar(b, ' ');
      used++;
    }
    used += w;
    if (dots) {
      luaL_addstring(b, "...");
      i = n - EDGE - 1;
    } else {
      put_elem(s, b, e + i * step);
    }
  }
  luaL_addchar(b, ']');
}

static void put_level(style *s, luaL_Buffer *b, int dim, const char *e, int indent) {
  const dl_tensor *t = s->t;
  if (dim >= t->ndim - 1) {
    put_row(s, b, e, indent);
    return;
  }
  int64_t n = t->size[dim], step = t->stride[dim] * dl_dtypes[t->dtype].size;
  luaL_addchar(b, '[');
  for (int64_t i = 0; i < n; i++) {
    if (i) {
      for (int k = dim; k < t->ndim - 1; k++) luaL_addchar(b, '\n');
      for (int k = 0; k < indent; k++) luaL_addchar(b, ' ');
    }
    if (s->cut && n > 2 * EDGE && i == EDGE) {
      luaL_addstring(b, "...");
      i = n - EDGE - 1;
    } else {
      put_level(s, b, dim + 1, e + i * step, indent + 1);
    }
  }
  luaL_addchar(b, ']');
}

void dl_np_push_text(lua_State *L, dl_tensor *t) {
  style s = {.t = t, .cut = t->numel > THRESHOLD, .real = dl_dtype_is_float((dl_dtype)t->dtype)};
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  if (t->numel == 0) {
    luaL_addstring(&b, "[]");
  } else if (t->ndim == 0) {
    char buf[400];
    s.right = s.real ? fraction_of(&s, dl_elem_get_f64((dl_dtype)t->dtype, t->data)) : 0;
    text_of(&s, t->data, buf, sizeof buf);
    luaL_addstring(&b, buf);
    if (s.real && buf[strlen(buf) - 1] == '.') luaL_addchar(&b, '0');
  } else {
    choose(&s);
    put_level(&s, &b, 0, t->data, 1);
  }
  luaL_pushresult(&b);
}
