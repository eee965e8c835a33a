/* onednn.c -- oneDNN's library: found, bound, described, run; both generations of its C interface
 *
 * For onednn_ops.c. libdnnl.so.3 or .so.2 is opened on first use; all names are looked up, so that
 * no header is needed and one build runs with either.
 *
 * INVARIANT  A plan (primitive, reorders, memories) is made once a key, on the main thread; data
 *            addresses are set at each run. It allocates nothing itself when it runs.
 * MUST NOT   know ops. */
#include "cpu/once/onednn_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef DL_ONEDNN
#define DL_ONEDNN 1
#endif

#if DL_ONEDNN
#include <dlfcn.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* values of dnnl_types.h */
enum { ANY = 1, FORWARD = 64, DIRECT = 1, Q_MD = 128, Q_SCRATCH = 136, BY_USER = 1 };
enum { SCRATCHPAD = 80 };

typedef dl_dnn_obj obj;
typedef dl_dnn_desc desc;
typedef dl_dnn_plan plan;
typedef struct exec_arg { int arg; obj memory; } exec_arg;

/* name in the library, our name, type; the second column says in which generation it exists */
#define SYMBOLS(X)                                                                           \
  X(0, engine_create, int, (obj *, int, size_t))                                             \
  X(0, stream_create, int, (obj *, obj, unsigned))                                           \
  X(0, stream_wait, int, (obj))                                                              \
  X(0, sgemm, int, (char, char, int64_t, int64_t, int64_t, float, const float *, int64_t,    \
                    const float *, int64_t, float, float *, int64_t))                        \
  X(0, primitive_attr_create, int, (obj *))                                                  \
  X(0, primitive_attr_set_scratchpad_mode, int, (obj, int))                                  \
  X(0, primitive_create, int, (obj *, obj))                                                  \
  X(0, primitive_execute, int, (obj, obj, int, const exec_arg *))                            \
  X(0, primitive_destroy, int, (obj))                                                        \
  X(0, primitive_desc_destroy, int, (obj))                                                   \
  X(0, primitive_desc_query_md, obj, (obj, int, int))                                        \
  X(0, reorder_primitive_desc_create, int, (obj *, obj, obj, obj, obj, obj))                 \
  X(0, memory_create, int, (obj *, obj, obj, void *))                                        \
  X(0, memory_destroy, int, (obj))                                                           \
  X(0, memory_set_data_handle, int, (obj, void *))                                           \
  X(0, memory_get_memory_desc, int, (obj, obj *))                                            \
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
static bool tried, disabled, forced;
static obj engine, stream, ours;  /* ours: attributes of every primitive */
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

/* Where address space is limited (ulimit -v): is some left? The library throws a C++ exception
 * through us, or crashes, when it cannot have what it needs for itself. */
static bool has_room(void) {
  struct rlimit lim;
  if (getrlimit(RLIMIT_AS, &lim) || lim.rlim_cur == RLIM_INFINITY) return true;
  size_t room = (size_t)32 << 20;
  void *p = mmap(NULL, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p != MAP_FAILED && !munmap(p, room);
}

/* The library's regions take OpenMP's default number of threads: keep it equal to ours. */
static bool ready(void) {
  static int threads;
  if (generation == 0 || disabled || !has_room()) return false;
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

/* Working memory is the caller's: the library's own is one a thread, made for the thread that makes
 * the primitive and not for the one that runs it. */
static bool make_objects(void) {
  return !engine_create(&engine, 1, 0) && !stream_create(&stream, engine, 1) &&
         !primitive_attr_create(&ours) && !primitive_attr_set_scratchpad_mode(ours, BY_USER);
}

bool dl_dnn_load(void) {
  if (tried) return ready();
  tried = true;
  const char *env = getenv("DLREPL_ONEDNN");
  if (env && strcmp(env, "0") == 0) return strcpy(about, "switched off by DLREPL_ONEDNN=0"), false;
  forced = env && strcmp(env, "bf16") == 0;
  void *lib = open_library();
  if (!lib) return strcpy(about, "not installed (libdnnl.so.3, libdnnl.so.2)"), false;
  if (!bind_symbols(lib) || !make_objects())
    return generation = 0, strcpy(about, "installed, but of an unknown kind"), false;
  const version_info *(*version)(void);
  *(void **)&version = dlsym(lib, "dnnl_version");
  const version_info none = {generation, 0, 0}, *v = version ? version() : &none;
  snprintf(about, sizeof about, "%d.%d.%d", v->major, v->minor, v->patch);
  return ready();
}

bool dl_dnn_forced(void) { return forced; }

int dl_dnn_threads(int n) {
  int before = omp_get_max_threads();
  omp_set_num_threads(n ? n : dl_threads());
  return before;
}

int dl_dnn_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                 int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
  return sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* ---- descriptors: where the two generations differ ----------------------------------------- */
bool dl_dnn_strided(desc *d, int type, int ndim, const int64_t *size, const int64_t *stride) {
  d->md = d->body;
  return (generation == 2 ? memory_desc_init_by_strides(d->body, ndim, size, type, stride)
                          : memory_desc_create_with_strides(&d->md, ndim, size, type, stride)) == 0;
}

bool dl_dnn_any(desc *d, int type, int ndim, const int64_t *size) {
  d->md = d->body;
  return (generation == 2 ? memory_desc_init_by_tag(d->body, ndim, size, type, ANY)
                          : memory_desc_create_with_tag(&d->md, ndim, size, type, ANY)) == 0;
}

void dl_dnn_desc_free(desc *d, int n) {
  for (int i = 0; i < n; i++) {
    if (generation == 3 && d[i].md && d[i].md != d[i].body) memory_desc_destroy(d[i].md);
    d[i].md = NULL;
  }
}

obj dl_dnn_matmul(const desc d[3]) {
  obj pd = NULL;
  _Alignas(16) char op[8192];
  int bad = generation == 3
                ? matmul_primitive_desc_create(&pd, engine, d[0].md, d[1].md, NULL, d[2].md, ours)
                : matmul_desc_init(op, d[0].md, d[1].md, NULL, d[2].md) ||
                      primitive_desc_create(&pd, op, ours, engine, NULL);
  return bad ? NULL : pd;
}

obj dl_dnn_conv(dl_conv_kind kind, const desc d[4], const dl_dnn_geometry *g, obj hint) {
  obj pd = NULL, s = d[0].md, w = d[1].md, t = d[2].md, b = d[3].md;
  const int64_t *st = g->stride, *di = g->dilate, *l = g->left, *r = g->right;
  _Alignas(16) char op[16384]; /* the 2.x struct: 5976 bytes */
  int bad;
  if (generation == 3) {
    if (kind == DL_CONV_FWD)
      bad = convolution_forward_primitive_desc_create(&pd, engine, FORWARD, DIRECT, s, w, b, t, st,
                                                      di, l, r, ours);
    else if (kind == DL_CONV_BWD_DATA)
      bad = convolution_backward_data_primitive_desc_create(&pd, engine, DIRECT, s, w, t, st, di, l,
                                                            r, hint, ours);
    else
      bad = convolution_backward_weights_primitive_desc_create(&pd, engine, DIRECT, s, w, NULL, t,
                                                               st, di, l, r, hint, ours);
    return bad ? NULL : pd;
  }
  if (kind == DL_CONV_FWD)
    bad = dilated_convolution_forward_desc_init(op, FORWARD, DIRECT, s, w, b, t, st, di, l, r);
  else if (kind == DL_CONV_BWD_DATA)
    bad = dilated_convolution_backward_data_desc_init(op, DIRECT, s, w, t, st, di, l, r);
  else
    bad = dilated_convolution_backward_weights_desc_init(op, DIRECT, s, w, NULL, t, st, di, l, r);
  return bad || primitive_desc_create(&pd, op, ours, engine, hint) ? NULL : pd;
}

void dl_dnn_pd_free(obj pd) {
  if (pd) primitive_desc_destroy(pd);
}

/* ---- plans: a primitive and its operands, kept by shape ------------------------------------ */
#define PLANS 256
#define MOST 4                         /* operands; [MOST] of `prim` is the operation itself */
/* A lane's memories: operands as the caller has them and as the primitive wants them (equal where
 * nothing is reordered); working memory of each primitive. */
typedef struct set { obj user[MOST], lib[MOST], scratch[MOST + 1]; } set;
struct dl_dnn_plan {
  int64_t key[DL_DNN_KEY];
  obj prim[MOST + 1];                  /* reorders (NULL: none), the operation (NULL: refused) */
  int n, out, arg[MOST];               /* operands; which is written */
  size_t form[MOST], scratch, nbytes;  /* of a lane: reordered operands, then scratch; all */
  set *set[DL_DNN_LANES];              /* made when first used */
  uint64_t used;
};
static plan plans[PLANS];
static int nplans;
static uint64_t tick;

bool dl_dnn_plan_find(const int64_t key[DL_DNN_KEY], plan **p) {
  for (int i = 0; i < nplans; i++) {
    if (memcmp(plans[i].key, key, sizeof plans[i].key)) continue;
    plans[i].used = ++tick;
    *p = plans[i].prim[MOST] ? &plans[i] : NULL;
    return true;
  }
  return false;
}

static void set_free(set *s) {
  if (!s) return;
  for (int i = 0; i < MOST; i++) {
    if (s->lib[i] && s->lib[i] != s->user[i]) memory_destroy(s->lib[i]);
    if (s->user[i]) memory_destroy(s->user[i]);
  }
  for (int i = 0; i <= MOST; i++)
    if (s->scratch[i]) memory_destroy(s->scratch[i]);
  free(s);
}

static void plan_free(plan *p) {
  for (int i = 0; i < DL_DNN_LANES; i++) set_free(p->set[i]);
  for (int i = 0; i <= MOST; i++)
    if (p->prim[i]) primitive_destroy(p->prim[i]);
  memset(p, 0, sizeof *p);
}

/* A slot for a new plan: free, or the one unused for longest. */
static plan *plan_slot(void) {
  plan *old = &plans[0];
  if (nplans < PLANS) return memset(&plans[nplans], 0, sizeof *old), &plans[nplans++];
  for (int i = 1; i < PLANS; i++)
    if (plans[i].used < old->used) old = &plans[i];
  plan_free(old);
  return old;
}

/* Primitive i from its descriptor (destroyed here), with a memory for what it needs to work. */
static bool prim_make(plan *p, int i, obj pd) {
  obj md = primitive_desc_query_md(pd, Q_SCRATCH, 0);
  size_t need = md ? memory_desc_get_size(md) : 0;
  bool ok = !primitive_create(&p->prim[i], pd);
  if (ok && need) ok = !memory_create(&p->set[0]->scratch[i], md, engine, NULL);
  primitive_desc_destroy(pd);
  if (need > p->scratch) p->scratch = need;
  return ok;
}

static bool operand_make(plan *p, int i, const desc *user, obj pd, int query) {
  obj lib = query ? primitive_desc_query_md(pd, Q_MD + query, 0) : user->md, rpd = NULL;
  set *s = p->set[0];
  if (!lib || memory_create(&s->user[i], user->md, engine, NULL)) return false;
  s->lib[i] = s->user[i];
  if (memory_desc_equal(user->md, lib)) return true;
  p->form[i] = (memory_desc_get_size(lib) + 63) / 64 * 64;
  s->lib[i] = NULL;
  if (memory_create(&s->lib[i], lib, engine, NULL)) return false;
  obj from = i == p->out ? lib : user->md, to = i == p->out ? user->md : lib;
  return !reorder_primitive_desc_create(&rpd, from, engine, to, engine, ours) &&
         prim_make(p, i, rpd);
}

plan *dl_dnn_plan_make(const int64_t key[DL_DNN_KEY], obj pd, int n, const desc *user,
                       const int *arg, const int *query, int out) {
  plan *p = plan_slot();
  memcpy(p->key, key, sizeof p->key);
  p->used = ++tick;
  p->n = n, p->out = out;
  p->set[0] = calloc(1, sizeof *p->set[0]);
  bool ok = pd && p->set[0];
  for (int i = 0; i < n && ok; i++) {
    p->arg[i] = arg[i];
    ok = operand_make(p, i, &user[i], pd, query[i]);
    p->nbytes += p->form[i];
  }
  if (ok) ok = prim_make(p, MOST, pd);
  else dl_dnn_pd_free(pd);
  p->nbytes += (p->scratch + 63) / 64 * 64;
  if (ok) return p;
  plan_free(p); /* the slot stays and says that it was refused */
  memcpy(p->key, key, sizeof p->key);
  p->used = ++tick;
  return NULL;
}

static bool same_again(obj like, obj *out) {
  obj md;
  return !memory_get_memory_desc(like, &md) && !memory_create(out, md, engine, NULL);
}

/* The memories of lane k; NULL: no memory for them. */
static set *set_of(plan *p, int k) {
  if (p->set[k]) return p->set[k];
  const set *first = p->set[0];
  set *s = calloc(1, sizeof *s);
  bool ok = s != NULL;
  for (int i = 0; i < p->n && ok; i++) {
    ok = same_again(first->user[i], &s->user[i]);
    s->lib[i] = s->user[i];
    if (!ok || first->lib[i] == first->user[i]) continue;
    s->lib[i] = NULL;
    ok = same_again(first->lib[i], &s->lib[i]);
  }
  for (int i = 0; i <= MOST && ok; i++)
    if (first->scratch[i]) ok = same_again(first->scratch[i], &s->scratch[i]);
  if (ok) return p->set[k] = s;
  set_free(s);
  return NULL;
}

/* ---- running ------------------------------------------------------------------------------- */
static bool execute(const plan *p, const set *s, int i, exec_arg *arg, int n, char *scratch) {
  if (s->scratch[i]) {
    if (memory_set_data_handle(s->scratch[i], scratch)) return false;
    arg[n++] = (exec_arg){SCRATCHPAD, s->scratch[i]};
  }
  return primitive_execute(p->prim[i], stream, n, arg) == 0;
}

static bool reorder(const plan *p, const set *s, int i, obj from, obj to, char *scratch) {
  exec_arg a[3] = {{DL_DNN_SRC, from}, {DL_DNN_DST, to}};
  return execute(p, s, i, a, 2, scratch);
}

static bool lane_run(const plan *p, const set *s, void *const *data, char *mem) {
  exec_arg args[MOST + 1];
  char *scratch = mem + (p->nbytes - (p->scratch + 63) / 64 * 64);
  bool ok = true;
  for (int i = 0; i < p->n && ok; mem += p->form[i++]) {
    ok = memory_set_data_handle(s->user[i], data[i]) == 0;
    args[i] = (exec_arg){p->arg[i], s->lib[i]};
    if (!ok || !p->prim[i]) continue;
    ok = memory_set_data_handle(s->lib[i], mem) == 0 &&
         (i == p->out || reorder(p, s, i, s->user[i], s->lib[i], scratch));
  }
  ok = ok && execute(p, s, MOST, args, p->n, scratch);
  int o = p->out;
  if (ok && p->prim[o]) ok = reorder(p, s, o, s->lib[o], s->user[o], scratch);
  return ok && stream_wait(stream) == 0;
}

typedef struct lanes { dl_dnn_lane *lane; char *mem; int64_t threads; bool failed; } lanes;

static void lanes_run(void *ctx, int64_t lo, int64_t hi) {
  lanes *l = ctx;
  int before = dl_dnn_threads((int)l->threads);
  char *mem = l->mem;
  for (int64_t i = 0; i < lo; i++) mem += l->lane[i].plan->nbytes;
  for (int64_t i = lo; i < hi; mem += l->lane[i++].plan->nbytes) {
    const plan *p = l->lane[i].plan;
    if (lane_run(p, p->set[i], l->lane[i].data, mem)) continue;
#pragma omp atomic write
    l->failed = true;
  }
  dl_dnn_threads(before);
}

bool dl_dnn_run(dl_dnn_lane *lane, int n) {
  size_t nbytes = 0;
  void *mem = NULL;
  for (int i = 0; i < n; i++) {
    if (!lane[i].plan || !set_of(lane[i].plan, i)) return false;
    nbytes += lane[i].plan->nbytes;
  }
  if (nbytes && dl_scratch(nbytes, &mem) != DL_OK) return dl_err_clear(), false;
  lanes l = {lane, mem, lane[0].plan->key[1], false};
  dl_parallel_each(n, lanes_run, &l);
  if (nbytes) dl_scratch_free(mem, nbytes);
  return !l.failed;
}

const char *dl_onednn_version(void) { return dl_dnn_load(), about; }
void dl_onednn_disable(bool off) { disabled = off; }

#else /* built without oneDNN */
const char *dl_onednn_version(void) { return "built with ONEDNN=0"; }
void dl_onednn_disable(bool off) {}

#endif
