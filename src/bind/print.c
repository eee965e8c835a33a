/* print.c -- a tensor as text, to the character as PyTorch's _tensor_str writes it
 *
 * Also set_printoptions. Reads elements through strides: a large tensor is summarised without
 * being copied, only the shown elements are ever formatted.
 *
 * MUST NOT  run ops: printing leaves no trace in graph, profile or memory. */
#include "bind/bind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct options {
  int precision;
  double threshold;
  int64_t edge;
  int linewidth;
  int sci;                       /* -1 choose, 0 never, 1 always */
} options;
static options opt = {4, 1000, 3, 80, -1};

typedef struct printer {
  lua_State *L;
  luaL_Buffer b;
  const dl_tensor *t;
  bool summarize, is_float, int_mode, sci;
  int width;
  int line;                      /* characters on the current line so far */
} printer;

static void put(printer *p, const char *s) {
  const char *nl = strrchr(s, '\n');
  p->line = nl ? (int)strlen(nl + 1) : p->line + (int)strlen(s);
  luaL_addstring(&p->b, s);
}

/* ---- elements ------------------------------------------------------------------------------- */
static void number_text(const printer *p, double v, char *buf, size_t cap) {
  if (isnan(v)) snprintf(buf, cap, "nan");
  else if (isinf(v)) snprintf(buf, cap, v < 0 ? "-inf" : "inf");
  else if (p->sci) snprintf(buf, cap, "%.*e", opt.precision, v);
  else if (p->int_mode) snprintf(buf, cap, "%.0f.", v);
  else snprintf(buf, cap, "%.*f", opt.precision, v);
}

static void elem_text(const printer *p, const char *e, char *buf, size_t cap) {
  dl_dtype d = (dl_dtype)p->t->dtype;
  if (p->is_float) number_text(p, dl_elem_get_f64(d, e), buf, cap);
  else if (d == DL_BOOL) snprintf(buf, cap, *e ? "True" : "False");
  else snprintf(buf, cap, "%lld", (long long)dl_elem_get_i64(d, e));
}

static void put_elem(printer *p, const char *e) {
  char buf[400], padded[800];
  elem_text(p, e, buf, sizeof buf);
  snprintf(padded, sizeof padded, "%*s", p->width, buf);
  put(p, padded);
}

/* Calls fn for each element that will be shown. */
typedef struct walk walk;
struct walk {
  void (*fn)(walk *w, const char *e);
  printer *p;
  double min, max;               /* of the non-zero finite magnitudes, of which there are n */
  int64_t n;
  bool ints;
  int width;
};

static void visit(walk *w, int dim, const char *e) {
  const dl_tensor *t = w->p->t;
  if (dim == t->ndim) {
    w->fn(w, e);
    return;
  }
  int64_t n = t->size[dim], step = t->stride[dim] * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  bool cut = w->p->summarize && n > 2 * opt.edge;
  for (int64_t i = 0; i < n; i++) {
    if (cut && i == opt.edge) i = n - opt.edge;
    visit(w, dim + 1, e + i * step);
  }
}

static void scan_float(walk *w, const char *e) {
  double v = fabs(dl_elem_get_f64((dl_dtype)w->p->t->dtype, e));
  if (!isfinite(v) || v == 0) return;
  if (w->n++ == 0 || v < w->min) w->min = v;
  if (v > w->max) w->max = v;
  if (v != ceil(v)) w->ints = false;
}

static void scan_width(walk *w, const char *e) {
  char buf[400];
  if (w->p->is_float && !isfinite(dl_elem_get_f64((dl_dtype)w->p->t->dtype, e))) return;
  if (w->p->is_float && dl_elem_get_f64((dl_dtype)w->p->t->dtype, e) == 0) return;
  elem_text(w->p, e, buf, sizeof buf);
  int n = (int)strlen(buf);
  if (n > w->width) w->width = n;
}

static void choose_format(printer *p) {
  walk w = {.fn = scan_float, .p = p, .ints = true, .width = 1};
  p->int_mode = p->sci = false;
  if (p->is_float) {
    visit(&w, 0, p->t->data);
    p->int_mode = w.ints;
    if (w.n) p->sci = w.max / w.min > 1000 || w.max > 1e8 || w.min < 1e-4;
    if (w.n && opt.sci >= 0) p->sci = opt.sci == 1;
  }
  w.fn = scan_width;
  visit(&w, 0, p->t->data);
  p->width = w.width;
}

/* ---- rows ----------------------------------------------------------------------------------- */
static void new_line(printer *p, int lines, int indent) {
  for (int i = 0; i < lines; i++) put(p, "\n");
  for (int i = 0; i < indent; i++) put(p, " ");
}

static void put_vector(printer *p, const char *e, int indent) {
  const dl_tensor *t = p->t;
  int64_t n = t->size[t->ndim - 1];
  int64_t step = t->stride[t->ndim - 1] * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  int per_line = (opt.linewidth - indent) / (p->width + 2);
  if (per_line < 1) per_line = 1;
  bool cut = p->summarize && n > 2 * opt.edge;
  put(p, "[");
  int64_t shown = 0;
  for (int64_t i = 0; i < n; i++, shown++) {
    if (shown) {
      put(p, ",");
      if (shown % per_line == 0) new_line(p, 1, indent + 1);
      else put(p, " ");
    }
    if (cut && i == opt.edge) {
      put(p, " ...");
      i = n - opt.edge - 1;
    } else {
      put_elem(p, e + i * step);
    }
  }
  put(p, "]");
}

static void put_level(printer *p, int dim, const char *e, int indent) {
  const dl_tensor *t = p->t;
  if (dim == t->ndim) {
    put_elem(p, e);
    return;
  }
  if (dim == t->ndim - 1) {
    put_vector(p, e, indent);
    return;
  }
  int64_t n = t->size[dim], step = t->stride[dim] * (int64_t)dl_dtype_size((dl_dtype)t->dtype);
  bool cut = p->summarize && n > 2 * opt.edge;
  put(p, "[");
  for (int64_t i = 0; i < n; i++) {
    if (i) {
      put(p, ",");
      new_line(p, t->ndim - dim - 1, indent + 1);
    }
    if (cut && i == opt.edge) {
      put(p, "...");
      i = n - opt.edge - 1;
    } else {
      put_level(p, dim + 1, e + i * step, indent + 1);
    }
  }
  put(p, "]");
}

static void printer_init(printer *p, lua_State *L, const dl_tensor *t) {
  memset(p, 0, sizeof *p);
  p->L = L;
  p->t = t;
  p->is_float = dl_dtype_is_float((dl_dtype)t->dtype);
  p->summarize = (double)t->numel > opt.threshold;
  luaL_buffinit(L, &p->b);
}

static void put_body(printer *p, int indent) {
  if (p->t->numel == 0) {
    put(p, "[]");
    return;
  }
  choose_format(p);
  put_level(p, 0, p->t->data, indent);
}

/* The text, and not the copy on the host that it was read from. */
static void push_text_only(printer *p, int top) {
  luaL_pushresult(&p->b);
  lua_rotate(p->L, top + 1, 1);
  lua_settop(p->L, top + 1);
}

void dl_push_body(lua_State *L, dl_tensor *t, int indent) {
  printer p;
  int top = lua_gettop(L);
  printer_init(&p, L, dl_host_tensor(L, t));
  put_body(&p, indent);
  push_text_only(&p, top);
}

/* ---- suffixes ------------------------------------------------------------------------------- */
typedef struct suffix { int n; char text[4][160]; } suffix;

static void collect(dl_tensor *t, suffix *s) {
  char buf[128];
  if (t->dev.type != DL_CPU)
    snprintf(s->text[s->n++], 160, "device='%s'", dl_device_str(t->dev, (char[24]){0}));
  if (t->numel == 0) {
    dl_sizes_str(t->ndim, t->size, buf, sizeof buf);
    if (t->ndim != 1)
      snprintf(s->text[s->n++], 160, "size=(%.*s)", (int)strlen(buf) - 2, buf + 1);
    if (t->dtype != dl_default_dtype)
      snprintf(s->text[s->n++], 160, "dtype=torch.%s", dl_dtypes[t->dtype].name);
  } else if (t->dtype != dl_default_dtype && t->dtype != DL_I64 && t->dtype != DL_BOOL) {
    snprintf(s->text[s->n++], 160, "dtype=torch.%s", dl_dtypes[t->dtype].name);
  }
  dl_node *fn = NULL;
  if (dl_tensor_grad_fn(t, &fn) == DL_OK && fn)
    snprintf(s->text[s->n++], 160, "grad_fn=<%s>", dl_node_name(fn));
  else if (dl_tensor_wants_grad(t)) snprintf(s->text[s->n++], 160, "requires_grad=True");
}

void dl_push_text(lua_State *L, dl_tensor *t) {
  suffix s = {0};
  collect(t, &s);
  printer p;
  int top = lua_gettop(L);
  printer_init(&p, L, dl_host_tensor(L, t));
  if (t->is_param) put(&p, "Parameter containing:\n");
  put(&p, "tensor(");
  p.line = 7;
  put_body(&p, 7);
  int used = p.line + 2;                  /* PyTorch counts two more than the last line has */
  for (int i = 0; i < s.n; i++) {
    int len = (int)strlen(s.text[i]);
    put(&p, ",");
    if (used + len + 2 > opt.linewidth) {
      new_line(&p, 1, 7);
      used = 7 + len;
    } else {
      put(&p, " ");
      used += len + 2;
    }
    put(&p, s.text[i]);
  }
  put(&p, ")");
  push_text_only(&p, top);
}

static int l_tostring(lua_State *L) {
  dl_box *b = dl_self(L, &dl_t_tensor);
  if (!b->t) {
    lua_pushliteral(L, "tensor(freed)");
    return 1;
  }
  dl_push_text(L, b->t);
  return 1;
}

/* ---- options -------------------------------------------------------------------------------- */
static int l_set_printoptions(lua_State *L) {
  static dl_sig sig = {"set_printoptions(int? precision=None, float? threshold=None, int? "
                       "edgeitems=None, "
                       "int? linewidth=None, str? profile=None, bool? sci_mode=None) -> Tensor", 0,
                       NULL};
  dl_args a;
  dl_args_sig(L, &a, &sig, 1, false);
  if (a.arg[4].tag == DL_A_STR) {
    const char *name = a.arg[4].s;
    if (!strcmp(name, "default")) opt = (options){4, 1000, 3, 80, -1};
    else if (!strcmp(name, "short")) opt = (options){2, 1000, 2, 80, -1};
    else if (!strcmp(name, "full")) opt = (options){4, INFINITY, 3, 80, -1};
    else return dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "profile must be default, short or full");
  }
  if (dl_arg_given(&a.arg[0])) opt.precision = (int)(a.arg[0].i < 0 ? 0 : a.arg[0].i > 60 ? 60
                                                     : a.arg[0].i);
  if (dl_arg_given(&a.arg[1])) opt.threshold = a.arg[1].f;
  if (dl_arg_given(&a.arg[2])) opt.edge = a.arg[2].i < 1 ? 1 : a.arg[2].i;
  if (dl_arg_given(&a.arg[3])) opt.linewidth = (int)(a.arg[3].i < 1 ? 1 : a.arg[3].i > 100000
                                                     ? 100000 : a.arg[3].i);
  opt.sci = dl_arg_given(&a.arg[5]) ? (int)a.arg[5].i : -1;
  return 0;
}

void dl_print_open(lua_State *L, int torch, int meta) {
  lua_pushcfunction(L, l_set_printoptions);
  lua_setfield(L, torch, "set_printoptions");
  lua_pushcfunction(L, l_tostring);
  lua_setfield(L, meta, "__tostring");
}
