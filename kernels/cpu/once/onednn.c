/* onednn.c -- oneDNN behind a few functions, both generations of its C interface
 *
 * For gemm.c, conv.c. libdnnl.so.3 or .so.2 is opened on first use; all names are looked up, so
 * that no header is needed and one build runs with either. A memory descriptor is a pointer in
 * both: to a struct of ours in 2.x, to an opaque object in 3.x.
 *
 * INVARIANT  A plan (primitive, reorders, memories) is made once a shape and thread count; data
 *            addresses are set at each run.
 * MUST NOT   know ops. */
#include "cpu/once/onednn.h"

#include "cpu/once/once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DL_ONEDNN
#define DL_ONEDNN 1
#endif

#if DL_ONEDNN
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <dlfcn.h>
#include <omp.h>

/* values of dnnl_types.h */
enum { ANY = 1, BF16 = 2, F32 = 3, FORWARD = 64, DIRECT = 1, Q_MD = 128 };
enum { CELL = 48 };                       /* rows or columns: a multiple of the library's tiles */
#define PARALLEL_WORK (128 * 128 * 64)    /* multiply-adds: below, one thread is faster */
enum { SRC = 1, DST = 17, WEI = 33, BIAS = 41, DIFF_SRC = 129, DIFF_DST = 145, DIFF_WEI = 161 };

typedef void *obj;                                      /* any handle of the library */
typedef struct exec_arg { int arg; obj memory; } exec_arg;

/* name in the library, our name, type; the second column says in which generation it exists */
#define SYMBOLS(X)                                                                           \
  X(0, engine_create, int, (obj *, int, size_t))                                             \
  X(0, stream_create, int, (obj *, obj, unsigned))                                           \
  X(0, stream_wait, int, (obj))                                                              \
  X(0, sgemm, int, (char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,    \
                    const float *, int64_t, float, float *, int64_t))                        \
  X(0, primitive_create, int, (obj *, obj))                                                  \
  X(0, primitive_execute, int, (obj, obj, int, const exec_arg *))                            \
  X(0, primitive_destroy, int, (obj))                                                        \
  X(0, primitive_desc_destroy, int, (obj))                                                   \
  X(0, primitive_desc_query_md, obj, (obj, int, int))                                        \
  X(0, reorder_primitive_desc_create, int, (obj *, obj, obj, obj, obj, obj))                 \
  X(0, memory_create, int, (obj *, obj, obj, void *))                                        \
  X(0, memory_destroy, int, (obj))                                                           \
  X(0, memory_set_data_handle, int, (obj, void *))                                           \
  X(0, memory_desc_get_size, size_t, (obj))                                                  \
  X(0, memory_desc_equal, int, (obj, obj))                                                   \
  X(2, memory_desc_init_by_strides, int, (obj, int, const int64_t *, int, const int64_t *))  \
  X(2, memory_desc_init_by_tag, int, (obj, int, const int64_t *, int, int))                  \
  X(2, primitive_desc_create, int, (obj *, obj, obj, obj, obj))                              \
  X(2, matmul_desc_init, int, (obj, obj, obj, obj, obj))                                     \
  X(2, dilated_convolution_forward_desc_init, int,                                           \
    (obj, int, int, obj, obj, obj, obj, const int64_t *, const int64_t *, const int64_t *,   \
     const int64_t *))                                                                       \
  X(2, dilated_convolution_backward_data_desc_init, int,                                     \
    (obj, int, obj, obj, obj, const int64_t *, const int64_t *, const int64_t *,             \
     const int64_t *))                                                                       \
  X(2, dilated_convolution_backward_weights_desc_init, int,                                  \
    (obj, int, obj, obj, obj, obj, const int64_t *, const int64_t *, const int64_t *,        \
     const int64_t *))                                                                       \
  X(3, memory_desc_create_with_strides, int,                                                 \
    (obj *, int, const int64_t *, int, const int64_t *))                                     \
  X(3, memory_desc_create_with_tag, int, (obj *, int, const int64_t *, int, int))            \
  X(3, memory_desc_destroy, int, (obj))                                                      \
  X(3, matmul_primitive_desc_create, int, (obj *, obj, obj, obj, obj, obj, obj))             \
  X(3, convolution_forward_primitive_desc_create, int,                                       \
    (obj *, obj, int, int, obj, obj, obj, obj, const int64_t *, const int64_t *,             \
     const int64_t *, const int64_t *, obj))                                                 \
  X(3, convolution_backward_data_primitive_desc_create, int,                                 \
    (obj *, obj, int, obj, obj, obj, const int64_t *, const int64_t *, const int64_t *,      \
     const int64_t *, obj, obj))                                                             \
  X(3, convolution_backward_weights_primitive_desc_create, int,                              \
    (obj *, obj, int, obj, obj, obj, obj, const int64_t *, const int64_t *, const int64_t *, \
     const int64_t *, obj, obj))

#define X(gen, name, ret, args) static ret (*name) args;
SYMBOLS(X)
#undef X

static int generation;       /* 2 or 3 once loaded */
static bool tried, disabled;
static obj engine, stream;
static char about[96] = "not loaded";

/* ---- init ---------------------------------------------------------------------------------- */
static bool bind_symbols(void *lib) {
#define X(gen, name, ret, args)                                                              \
  if (gen == 0 || gen == generation) {                                                       \
    *(void **)&name = dlsym(lib, "dnnl_" #name);                                             \
    if (!name) return false;                                                                 \
  }
  SYMBOLS(X)
#undef X
  return true;
}

typedef struct version_info { int major, minor, patch; } version_info;

static void no_work(void *ctx, int64_t lo, int64_t hi) {}

/* The library's regions take OpenMP's default number of threads: keep it equal to ours. */
static bool ready(void) {
  static int threads;
  if (generation == 0 || disabled) return false;
  if (threads != dl_threads()) {
    threads = dl_threads();
    omp_set_num_threads(threads);
    dl_parallel(threads, 1, no_work, NULL); /* our first region places the workers */
    dl_err_clear();
  }
  return true;
}

/* Sets generation. Debian 13 counts minor versions in the library's name: libdnnl.so.3.6. */
static void *open_library(void) {
  void *lib = NULL;
  char name[32];
  generation = 3;
  if ((lib = dlopen("libdnnl.so.3", RTLD_NOW | RTLD_LOCAL))) return lib;
  for (int minor = 20; minor >= 0 && !lib; minor--) {
    snprintf(name, sizeof name, "libdnnl.so.3.%d", minor);
    lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (lib) return lib;
  generation = 2;
  if ((lib = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL))) return lib;
  generation = 0;
  return NULL;
}

static bool load(void) {
  if (tried) return ready();
  tried = true;
  const char *env = getenv("DLREPL_ONEDNN");
  if (env && strcmp(env, "0") == 0) return strcpy(about, "switched off by DLREPL_ONEDNN=0"), false;
  void *lib = open_library();
  if (!lib) return strcpy(about, "not installed (libdnnl.so.3, libdnnl.so.2)"), false;
  if (!bind_symbols(lib) || engine_create(&engine, 1, 0) || stream_create(&stream, engine, 1))
    return generation = 0, strcpy(about, "installed, but of an unknown kind"), false;
  const version_info *(*version)(void);
  *(void **)&version = dlsym(lib, "dnnl_version");
  const version_info none = {generation, 0, 0}, *v = version ? version() : &none;
  snprintf(about, sizeof about, "%d.%d.%d", v->major, v->minor, v->patch);
  return ready();
}

/* ---- descriptors: where the two generations differ ----------------------------------------- */
/* body: the 2.x struct (696 bytes) */
typedef struct desc { obj md; _Alignas(16) char body[1024]; } desc;

static bool desc_typed(desc *d, int type, int ndim, const int64_t *size, const int64_t *stride) {
  d->md = d->body;
  return (generation == 2 ? memory_desc_init_by_strides(d->body, ndim, size, type, stride)
                          : memory_desc_create_with_strides(&d->md, ndim, size, type, stride)) == 0;
}

static bool desc_strided(desc *d, int ndim, const int64_t *size, const int64_t *stride) {
  return desc_typed(d, F32, ndim, size, stride);
}

static bool desc_any(desc *d, int ndim, const int64_t *size) {
  d->md = d->body;
  return (generation == 2 ? memory_desc_init_by_tag(d->body, ndim, size, F32, ANY)
                          : memory_desc_create_with_tag(&d->md, ndim, size, F32, ANY)) == 0;
}

static void desc_free(desc *d) {
  if (generation == 3 && d->md && d->md != d->body) memory_desc_destroy(d->md);
  d->md = NULL;
}

static obj matmul_desc(const desc d[3]) {
  obj pd = NULL;
  _Alignas(16) char op[8192];
  int bad = generation == 3
                ? matmul_primitive_desc_create(&pd, engine, d[0].md, d[1].md, NULL, d[2].md, NULL)
                : matmul_desc_init(op, d[0].md, d[1].md, NULL, d[2].md) ||
                      primitive_desc_create(&pd, op, NULL, engine, NULL);
  return bad ? NULL : pd;
}

typedef struct geometry { int64_t stride[2], dilate[2], left[2], right[2]; } geometry;

/* d: src, weights, dst and, forward only, bias (md NULL = none) */
static obj conv_desc(dl_conv_kind kind, const desc d[4], const geometry *g, obj hint) {
  obj pd = NULL, s = d[0].md, w = d[1].md, t = d[2].md, b = d[3].md;
  const int64_t *st = g->stride, *di = g->dilate, *l = g->left, *r = g->right;
  _Alignas(16) char op[16384]; /* the 2.x struct: 5976 bytes */
  int bad;
  if (generation == 3) {
    if (kind == DL_CONV_FWD)
      bad = convolution_forward_primitive_desc_create(&pd, engine, FORWARD, DIRECT, s, w, b, t, st,
                                                      di, l, r, NULL);
    else if (kind == DL_CONV_BWD_DATA)
      bad = convolution_backward_data_primitive_desc_create(&pd, engine, DIRECT, s, w, t, st, di, l,
                                                            r, hint, NULL);
    else
      bad = convolution_backward_weights_primitive_desc_create(&pd, engine, DIRECT, s, w, NULL, t,
                                                               st, di, l, r, hint, NULL);
    return bad ? NULL : pd;
  }
  if (kind == DL_CONV_FWD)
    bad = dilated_convolution_forward_desc_init(op, FORWARD, DIRECT, s, w, b, t, st, di, l, r);
  else if (kind == DL_CONV_BWD_DATA)
    bad = dilated_convolution_backward_data_desc_init(op, DIRECT, s, w, t, st, di, l, r);
  else
    bad = dilated_convolution_backward_weights_desc_init(op, DIRECT, s, w, NULL, t, st, di, l, r);
  return bad || primitive_desc_create(&pd, op, NULL, engine, hint) ? NULL : pd;
}

/* ---- plans: a primitive and its operands, kept by shape ------------------------------------ */
#define KEY 24
#define PLANS 256
typedef struct operand {
  int arg;
  bool is_out;
  obj user, lib, reorder; /* memories (ours, as the primitive wants it); reorder NULL when equal */
  size_t nbytes;          /* of the primitive's form */
} operand;
typedef struct plan {
  int64_t key[KEY];
  obj prim;
  int n;                  /* operands */
  operand op[4];
  uint64_t used;
} plan;
static plan plans[PLANS];
static int nplans;
static uint64_t tick;

static plan *plan_find(const int64_t key[KEY]) {
  for (int i = 0; i < nplans; i++)
    if (memcmp(plans[i].key, key, sizeof plans[i].key) == 0)
      return plans[i].used = ++tick, &plans[i];
  return NULL;
}

static void plan_free(plan *p) {
  for (int i = 0; i < p->n; i++) {
    if (p->op[i].user) memory_destroy(p->op[i].user);
    if (p->op[i].lib && p->op[i].lib != p->op[i].user) memory_destroy(p->op[i].lib);
    if (p->op[i].reorder) primitive_destroy(p->op[i].reorder);
  }
  if (p->prim) primitive_destroy(p->prim);
  memset(p, 0, sizeof *p);
}

/* A slot for a new plan: free, or the one unused for longest. */
static plan *plan_slot(void) {
  if (nplans < PLANS) return &plans[nplans++];
  plan *old = &plans[0];
  for (int i = 1; i < PLANS; i++)
    if (plans[i].used < old->used) old = &plans[i];
  plan_free(old);
  return old;
}

static bool operand_make(operand *o, int arg, bool is_out, const desc *user, obj pd, int query) {
  obj lib = query ? primitive_desc_query_md(pd, Q_MD + query, 0) : user->md, rpd = NULL;
  o->arg = arg, o->is_out = is_out;
  if (!lib || memory_create(&o->user, user->md, engine, NULL)) return false;
  o->lib = o->user;
  if (memory_desc_equal(user->md, lib)) return true;
  o->nbytes = memory_desc_get_size(lib);
  o->lib = NULL;
  if (memory_create(&o->lib, lib, engine, NULL)) return false;
  obj from = is_out ? lib : user->md, to = is_out ? user->md : lib;
  if (reorder_primitive_desc_create(&rpd, from, engine, to, engine, NULL)) return false;
  int bad = primitive_create(&o->reorder, rpd);
  primitive_desc_destroy(rpd);
  return !bad;
}

static bool reorder_run(const operand *o, obj from, obj to) {
  exec_arg a[2] = {{SRC, from}, {DST, to}};
  return primitive_execute(o->reorder, stream, 2, a) == 0;
}

static bool plan_run(plan *p, void *const *data) {
  exec_arg args[4];
  void *tmp[4] = {0};
  bool ok = true;
  for (int i = 0; i < p->n && ok; i++) {
    operand *o = &p->op[i];
    ok = memory_set_data_handle(o->user, data[i]) == 0;
    args[i] = (exec_arg){o->arg, o->lib};
    if (!ok || !o->reorder) continue;
    ok = dl_scratch(o->nbytes, &tmp[i]) == DL_OK;
    if (!ok) dl_err_clear();
    else ok = memory_set_data_handle(o->lib, tmp[i]) == 0 &&
              (o->is_out || reorder_run(o, o->user, o->lib));
  }
  ok = ok && primitive_execute(p->prim, stream, p->n, args) == 0;
  for (int i = 0; i < p->n && ok; i++)
    if (p->op[i].is_out && p->op[i].reorder)
      ok = reorder_run(&p->op[i], p->op[i].lib, p->op[i].user);
  ok = ok && stream_wait(stream) == 0;
  for (int i = 0; i < p->n; i++)
    if (tmp[i]) dl_scratch_free(tmp[i], p->op[i].nbytes);
  return ok;
}

/* Finish a plan of n operands from its primitive descriptor (destroyed here). */
static plan *plan_make(const int64_t key[KEY], obj pd, int n, const desc *user, const int *arg,
                       const int *query, int out) {
  if (!pd) return NULL;
  plan *p = plan_slot();
  memset(p, 0, sizeof *p);
  p->n = n;
  bool ok = primitive_create(&p->prim, pd) == 0;
  for (int i = 0; i < n && ok; i++)
    ok = operand_make(&p->op[i], arg[i], i == out, &user[i], pd, query[i]);
  primitive_desc_destroy(pd);
  if (!ok) { /* the slot stays, matching nothing */
    plan_free(p);
    return NULL;
  }
  memcpy(p->key, key, sizeof p->key);
  p->used = ++tick;
  return p;
}

/* ---- the operations ------------------------------------------------------------------------ */
/* A product cut into a grid of `down` by `across` cells, one call of the library each. */
typedef struct grid {
  int64_t m, n, k, lda, ldb, crs, down, across;
  const float *a, *b;
  float *c, alpha, beta;
  bool ta, tb, failed;
} grid;

/* Where part i of `parts` of n begins: at a multiple of the library's tiles. */
static int64_t cut(int64_t n, int64_t i, int64_t parts) {
  return i == parts ? n : n * i / parts / CELL * CELL;
}

static int64_t parts(int64_t n, int64_t most) {
  int64_t whole = n / CELL ? n / CELL : 1;
  return whole < most ? whole : most;
}

static void cells_run(void *ctx, int64_t lo, int64_t hi) {
  grid *g = ctx;
  int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  for (int64_t i = lo; i < hi; i++) {
    int64_t y = i / g->across, x = i % g->across;
    int64_t i0 = cut(g->m, y, g->down), j0 = cut(g->n, x, g->across);
    int64_t m = cut(g->m, y + 1, g->down) - i0, n = cut(g->n, x + 1, g->across) - j0;
    const float *a = g->a + i0 * (g->ta ? 1 : g->lda), *b = g->b + j0 * (g->tb ? g->ldb : 1);
    float *c = g->c + i0 * g->crs + j0;
    if (sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', m, n, g->k, g->alpha, a, g->lda, b, g->ldb,
              g->beta, c, g->crs)) g->failed = true;
  }
  omp_set_num_threads(threads);
}

/* The cells follow from sizes and the number of threads asked for, never from who is at hand: the
 * library on its own would cut k too, and give other bits when it has fewer threads. */
bool dl_onednn_sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t ars,
                     int64_t acs, const float *b, int64_t brs, int64_t bcs, float beta, float *c,
                     int64_t crs) {
  if (!load()) return false;
  bool ta = acs != 1, tb = bcs != 1;
  /* a broadcast operand has stride 0: not for sgemm */
  int64_t lda = ta ? acs : ars, ldb = tb ? bcs : brs;
  if (lda < (ta ? m : k) || ldb < (tb ? k : n) || crs < n) return false;
  grid g = {m, n, k, lda, ldb, crs, 1, 1, a, b, c, alpha, beta, ta, tb, false};
  int64_t threads = m * n * k < PARALLEL_WORK ? 1 : dl_threads();
  int64_t *first = m >= n ? &g.down : &g.across, *second = m >= n ? &g.across : &g.down;
  *first = parts(m >= n ? m : n, threads);
  *second = parts(m >= n ? n : m, threads / *first);
  dl_parallel_whole(g.down * g.across, 1, cells_run, &g);
  return !g.failed;
}

/* Factors of a type, a float32 result. */
static bool bmm(int type, int64_t batch, int64_t m, int64_t n, int64_t k, void *a,
                const int64_t sa[3], void *b, const int64_t sb[3], float *c, const int64_t sc[3]) {
  if (!load() || sa[0] < 1 || sb[0] < 1 || sa[1] < 1 || sa[2] < 1 || sb[1] < 1 || sb[2] < 1)
    return false;
  int64_t key[KEY] = {1,     dl_threads(), batch, m,     n,     k,     sa[0], sa[1],
                      sa[2], sb[0],        sb[1], sb[2], sc[0], sc[1], type};
  plan *p = plan_find(key);
  if (!p) {
    int64_t da[3] = {batch, m, k}, db[3] = {batch, k, n}, dc[3] = {batch, m, n};
    desc d[3] = {{NULL}};
    if (desc_typed(&d[0], type, 3, da, sa) && desc_typed(&d[1], type, 3, db, sb) &&
        desc_strided(&d[2], 3, dc, sc))
      p = plan_make(key, matmul_desc(d), 3, d, (int[]){SRC, WEI, DST}, (int[]){0, 0, 0}, 2);
    for (int i = 0; i < 3; i++) desc_free(&d[i]);
  }
  return p && plan_run(p, (void *[]){a, b, c});
}

bool dl_onednn_bmm(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                   const int64_t sa[3], const float *b, const int64_t sb[3], float *c,
                   const int64_t sc[3]) {
  return bmm(F32, batch, m, n, k, (void *)a, sa, (void *)b, sb, c, sc);
}

/* Tiles (AMX) multiply bfloat16 several times faster than float32. Intel's AVX-512 instruction for
 * it does not: there float32 is the faster way; AMD's does. */
bool dl_onednn_has_bf16(void) {
#if defined(__x86_64__)
  unsigned a, b, c, d, vendor;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  bool tiles = d >> 22 & 1, wide = b >> 16 & 1;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d)) return false;
  bool dots = wide && (a >> 5 & 1);
  if (!__get_cpuid(0, &a, &vendor, &c, &d)) return false;
  return tiles || (dots && vendor == signature_AMD_ebx);
#else
  return false;
#endif
}

bool dl_onednn_bmm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, const dl_bf16 *a,
                        const int64_t sa[3], const dl_bf16 *b, const int64_t sb[3], float *c,
                        const int64_t sc[3]) {
  static int has = -1;
  if (has < 0) has = dl_onednn_has_bf16();
  return has && bmm(BF16, batch, m, n, k, (void *)a, sa, (void *)b, sb, c, sc);
}

/* What the library calls right padding makes the sizes consistent; it may be less than the left. */
static geometry geometry_of(const dl_conv *s) {
  return (geometry){{s->sh, s->sw}, {s->dh - 1, s->dw - 1}, {s->ph, s->pw},
                    {(s->oh - 1) * s->sh + (s->kh - 1) * s->dh + 1 - s->ih - s->ph,
                     (s->ow - 1) * s->sw + (s->kw - 1) * s->dw + 1 - s->iw - s->pw}};
}

static plan *conv_plan(dl_conv_kind kind, const dl_conv *s, bool bias, const int64_t key[KEY]) {
  int dim[4] = {4, s->groups > 1 ? 5 : 4, 4, 1};
  int64_t ds[4] = {s->n, s->ic, s->ih, s->iw}, dd[4] = {s->n, s->oc, s->oh, s->ow}, db[1] = {s->oc};
  int64_t dw[5] = {s->groups, s->oc / s->groups, s->ic / s->groups, s->kh, s->kw}, stride[5];
  int64_t *size[4] = {ds, dim[1] == 5 ? dw : dw + 1, dd, db};
  static const int arg[3][4] = {
      {SRC, WEI, DST, BIAS}, {DIFF_SRC, WEI, DIFF_DST}, {SRC, DIFF_WEI, DIFF_DST}};
  static const int query[3][4] = {{1, 3, 5, 0}, {2, 3, 6}, {1, 4, 6}};
  static const int out[3] = {2, 0, 1};
  geometry g = geometry_of(s);
  desc any[4] = {{NULL}}, user[4] = {{NULL}};
  int n = 3 + bias;
  bool ok = true;
  for (int i = 0; i < n && ok; i++) {
    dl_strides_contig(dim[i], size[i], stride);
    ok = desc_strided(&user[i], dim[i], size[i], stride) &&
         (i == 3 ? desc_strided(&any[i], 1, db, stride) : desc_any(&any[i], dim[i], size[i]));
  }
  plan *p = NULL;
  if (ok) {
    obj hint = kind == DL_CONV_FWD ? NULL : conv_desc(DL_CONV_FWD, any, &g, NULL);
    p = plan_make(key, conv_desc(kind, any, &g, hint), n, user, arg[kind], query[kind], out[kind]);
    if (hint) primitive_desc_destroy(hint);
  }
  for (int i = 0; i < n; i++) desc_free(&any[i]), desc_free(&user[i]);
  return p;
}

bool dl_onednn_conv(dl_conv_kind kind, const dl_conv *s, float *src, float *weight, float *dst,
                    float *bias) {
  if (!load()) return false;
  int64_t key[KEY] = {2 + (int)kind, dl_threads(), s->n,  s->ic, s->ih,       s->iw, s->oc,
                      s->oh,         s->ow,        s->kh, s->kw, s->groups,   s->sh, s->sw,
                      s->ph,         s->pw,        s->dh, s->dw, bias != NULL};
  plan *p = plan_find(key);
  if (!p) p = conv_plan(kind, s, bias != NULL, key);
  return p && plan_run(p, (void *[]){src, weight, dst, bias});
}

const char *dl_onednn_version(void) { return load(), about; }
void dl_onednn_disable(bool off) { disabled = off; }

#else /* built without oneDNN */

bool dl_onednn_sgemm(int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t ars,
                     int64_t acs, const float *b, int64_t brs, int64_t bcs, float beta, float *c,
                     int64_t crs) { return false; }
bool dl_onednn_bmm(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a,
                   const int64_t sa[3], const float *b, const int64_t sb[3], float *c,
                   const int64_t sc[3]) { return false; }
bool dl_onednn_has_bf16(void) { return false; }
bool dl_onednn_bmm_bf16(int64_t batch, int64_t m, int64_t n, int64_t k, const dl_bf16 *a,
                        const int64_t sa[3], const dl_bf16 *b, const int64_t sb[3], float *c,
                        const int64_t sc[3]) { return false; }
bool dl_onednn_conv(dl_conv_kind kind, const dl_conv *s, float *src, float *weight, float *dst,
                    float *bias) { return false; }
const char *dl_onednn_version(void) { return "built with ONEDNN=0"; }
void dl_onednn_disable(bool off) {}

#endif
