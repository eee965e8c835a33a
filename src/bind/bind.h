/* bind.h -- the seam between the engine and Lua 5.4
 *
 * For src/bind only; the front end uses dl_bind_newstate, dl_bind_open and the
 * error and warning functions.
 *
 * FOUR PHASES  Every function that runs an op: SHELL (push the empty result), READ
 *              (may raise, owns nothing), RUN (one engine call writes into the shell, no Lua
 *              calls), RAISE (nothing is owned any more).
 * INVARIANT    A box holds exactly one reference. All our userdata begin with a dl_tag pointer,
 *              so that a check costs no stack operation.
 * MUST NOT     be included by the engine. */
#ifndef DL_BIND_H
#define DL_BIND_H

#include <lauxlib.h>
#include <lua.h>

#include "grad/grad.h"
#include "op/op.h"
#include "rng.h"

/* ---- for the front end ---------------------------------------------------------------------- */
/* A Lua state on the engine's freelists, with the standard libraries; NULL when refused. */
lua_State *dl_bind_newstate(void);
/* Create torch, F, nn, optim, np … in the global table. Called once; returns 0. */
int dl_bind_open(lua_State *L);
/* Restore grad mode and the other mode bits after a line; true if a guard was left open, with
 * its place ("file:line") in `where`. */
bool dl_bind_settle(lua_State *L, char *where, size_t cap);

/* A line, cell or script of the user's has run: graphs are told how many lines ago they were
 * made. */
void dl_held_line(void);

/* The names that are loaded when first used: the i-th, NULL after the last. */
const char *dl_global_home(int i);
/* The same for functions of torch, with the module of lua/ that holds each. */
const char *dl_torch_home(int i, const char **module);

/* ---- objects -------------------------------------------------------------------------------- */
typedef struct dl_tag_info { const char *name; size_t size; } dl_tag_info;

typedef struct dl_box {          /* a tensor in Lua */
  const dl_tag_info *tag;
  dl_tensor *t;                  /* owned; NULL while it is a shell */
  int64_t row;                   /* its place when it came out of `for row in x` */
} dl_box;

typedef struct dl_word { const dl_tag_info *tag; int64_t v; } dl_word;         /* None, dtype */
typedef struct dl_devbox { const dl_tag_info *tag; dl_device d; } dl_devbox;
typedef struct dl_genbox { const dl_tag_info *tag; dl_gen *g; dl_gen own; } dl_genbox;
typedef struct dl_nodebox { const dl_tag_info *tag; dl_node *n; } dl_nodebox;
typedef struct dl_slicebox { const dl_tag_info *tag; int64_t v[3]; uint8_t has[3]; } dl_slicebox;

extern const dl_tag_info dl_t_tensor, dl_t_none, dl_t_dtype, dl_t_device, dl_t_gen, dl_t_node,
  dl_t_slice, dl_t_np, dl_t_layout;

/* The object at index i if it is of that type, else NULL. */
static inline void *dl_object(lua_State *L, int i, const dl_tag_info *tag) {
  const dl_tag_info **p = lua_touserdata(L, i);
  if (p == NULL || lua_rawlen(L, i) != tag->size || *p != tag) return NULL;
  return (void *)p;
}
/* The object that a metamethod was called on: someone may have taken it from the metatable. */
static inline void *dl_self(lua_State *L, const dl_tag_info *tag) {
  void *p = dl_object(L, 1, tag);
  if (!p) luaL_argerror(L, 1, "called on an object of another type");
  return p;
}
static inline dl_tensor *dl_get_tensor(lua_State *L, int i) {
  dl_box *b = dl_object(L, i, &dl_t_tensor);
  return b ? b->t : NULL;
}
static inline bool dl_is_none(lua_State *L, int i) { return dl_object(L, i, &dl_t_none) != NULL; }
static inline bool dl_is_nil(lua_State *L, int i) { return lua_isnoneornil(L, i)
                                                   || dl_is_none(L, i); }

/* A fresh object of size tag->size with the metatable that was registered for the tag. */
void *dl_new_object(lua_State *L, const dl_tag_info *tag);
/* Push a metatable for the tag (made on first use: name set, registered). */
int dl_metatable(lua_State *L, const dl_tag_info *tag);
void dl_hide_metatable(lua_State *L, const char *name);
/* SHELL: push an empty tensor box. */
dl_box *dl_push_shell(lua_State *L);
/* Push the box of a tensor that lives in an engine slot: the same Lua object at each read. */
void dl_push_shared(lua_State *L, dl_tensor *t);
/* Remember the box at index i as the one Lua object of its tensor. */
void dl_share_box(lua_State *L, int i);
/* The tensor at i, or TypeError naming the function and parameter. */
dl_tensor *dl_check_tensor(lua_State *L, int i, const char *fn, const char *param);

void dl_push_none(lua_State *L);
void dl_push_dtype(lua_State *L, dl_dtype d);
void dl_push_device(lua_State *L, dl_device d);
void dl_push_size(lua_State *L, int n, const int64_t *size);     /* torch.Size */
void dl_push_tuple(lua_State *L, int n, const int64_t *size);    /* the same, printing as (2, 3) */
bool dl_is_size(lua_State *L, int i);
/* A list is an array, an empty table or a Size; keywords are a table with string keys only. */
bool dl_is_list(lua_State *L, int i);
bool dl_is_keywords(lua_State *L, int i);
/* Length and element i (from 0) of a list or Size; pushes the element. */
int64_t dl_list_len(lua_State *L, int i);
void dl_list_get(lua_State *L, int i, int64_t k);
/* A Lua number with an integral value, or a 0-dim integer tensor. */
bool dl_get_int(lua_State *L, int i, int64_t *out);
/* object or string; raises on a bad string */
bool dl_get_device(lua_State *L, int i, dl_device *out);

/* ---- errors --------------------------------------------------------------------------------- */
int dl_raise(lua_State *L, dl_status st);                  /* RAISE: dl_err (or the parked value) */
/* The same with e.operands: the tensors among arg (schema order) in words. */
int dl_raise_operands(lua_State *L, dl_status st, const dl_schema *s, const dl_arg *arg);
int dl_throw(lua_State *L, dl_class cls, dl_status kind, const char *fmt, ...) DL_PRINTF(4, 5);
#define dl_type_error(L, ...) dl_throw(L, DL_TypeError, DL_E_ARGUMENT, __VA_ARGS__)
/* The value on top of the stack becomes what the next dl_raise(DL_E_CALLBACK) raises; pops it. */
dl_status dl_park_error(lua_State *L);
/* PyTorch's name of a Lua value's type: "int", "float", "str", "Tensor", "NoneType", "list" … */
const char *dl_type_name(lua_State *L, int i);
/* A function, or what has __call. */
bool dl_is_callable(lua_State *L, int i);
/* held.c: a GPU is out of memory: the variable that keeps older passes joins the error's notes */
void dl_find_keeper(lua_State *L);
uint32_t dl_held_input(void);                            /* how many inputs have ended */
/* What the user's code calls t ("model[0].weight"); NULL when nobody of his holds it. */
const char *dl_whois(lua_State *L, const dl_tensor *t, char *out, size_t cap);
void dl_error_open(lua_State *L, int dlrepl);
/* Nearest string key of the table at `tbl` to `name`, or NULL; valid while the table lives. */
const char *dl_nearest(lua_State *L, int tbl, const char *name);
/* "file:line" of the innermost frame of the user's own code */
const char *dl_here(lua_State *L, char *buf, size_t cap);

/* ---- arguments ------------------------------------------------------------------------------ */
typedef struct dl_args {         /* one call; reading fills arg[] in schema order */
  lua_State *L;
  const char *name;              /* as the user wrote it */
  int first, n;                  /* positional arguments: stack indices first .. first+n-1 */
  int kw;                        /* index of the keyword table, 0 = none */
  bool method;                   /* argument 0 is self: not counted in messages */
  bool python;                   /* PyTorch has it in Python: Python's texts */
  dl_arg arg[DL_MAX_PARAM];
  int at[DL_MAX_PARAM];          /* stack index each came from, 0 = default */
  int out;                       /* stack index of out=, 0 = none */
  uint32_t any;                  /* bit k: parameter k takes any Lua value; see at[k] */
  int n_int, n_ts;
  int64_t ints[40];
  dl_tensor *ts[16];
} dl_args;
/* Take the arguments of the running function apart: positional from 1, keywords last. */
void dl_args_begin(lua_State *L, dl_args *a, const char *name, bool method);
/* READ by the first of n schemas that fits; its number, or raises as PyTorch words it.
 * Lists are kept in the struct or in userdata pushed on the stack. */
int dl_args_read(dl_args *a, const dl_schema *const *s, int n, bool out_ok);
/* The same for a hand-written function: one or more schema texts, parsed once. */
typedef struct dl_sig { const char *text; uint32_t any; dl_schema *parsed; } dl_sig;
int dl_args_sig(lua_State *L, dl_args *a, dl_sig *sig, int n, bool method);
/* argfail.c */
int dl_args_explain(dl_args *a, const dl_schema *const *s, int n, bool out_ok);
typedef enum { DL_FIT, DL_TOO_MANY, DL_MISSING, DL_BAD_KW, DL_TWICE, DL_BAD_TYPE,
              DL_BAD_ELEM } dl_fit;
dl_fit dl_args_try(dl_args *a, const dl_schema *s, bool out_ok, int *which, int64_t *elem);
const char *dl_param_type(const dl_param *p);
bool dl_param_named(const dl_param *p, const char *key);

/* ---- running -------------------------------------------------------------------------------- */
/* the state that runs now: for hooks, warnings and the reclaim hook */
extern lua_State *dl_lua;
/* Before a result: collect where the pacing rule says so; sets dl_lua. After: count its bytes. */
void dl_pace_slow(lua_State *L);
#define DL_PACE_BYTES (128 << 10) /* bytes of results: what dies before the next step stays in L2 */
extern int64_t dl_pace_boxes, dl_pace_bytes;
/* What Lua holds no more is given back, all of it or what died young (a quarter of a microsecond in
 * place of a hundred); false where that cannot be now. For whoever reads or reports memory, also in
 * the middle of an op. */
bool dl_collect(bool young_only);
/* Raises RuntimeError in a finalizer that runs in the middle of an op: fn would change the GPU
 * under it. dl_check_idle: also in a hook, where fn would take away what the op or backward() goes
 * on with. */
void dl_check_calm(lua_State *L, const char *fn);
void dl_check_idle(lua_State *L, const char *fn);
extern int dl_hook_depth; /* calls of the engine into Lua that have not come back */
extern bool dl_pace_always;      /* tests: a full collection before every op */
static inline void dl_pace(lua_State *L) {
  dl_lua = L;
  if (--dl_pace_boxes < 0 || dl_pace_bytes >= DL_PACE_BYTES) dl_pace_slow(L);
}
static inline void dl_pace_count(const dl_tensor *t) {
  if (t && t->st && t->st->refs == 1) dl_pace_bytes += (int64_t)t->st->nbytes;
}
void dl_pace_open(lua_State *L);
/* Run op (arguments complete, schema order) and push its results; number of results. A result that
 * is one of the arguments is pushed as that very object. */
int dl_run_push(dl_args *a, dl_opid op, unsigned flags);
/* The rows behind the function at idx, at most cap; 0 if it is no op's. */
int dl_op_group(lua_State *L, int idx, const char **name, bool *method, dl_opid *op, int cap);

/* ---- the rooms ------------------------------------------------------------------------------ */
/* Size, dtype, device, None, slice, finfo, iinfo */
void dl_types_open(lua_State *L, int torch);
void dl_ops_open(lua_State *L, int torch, int methods, int f, int linalg, int ops);
void dl_arith_open(lua_State *L, int meta);
void dl_index_open(lua_State *L, int meta, int methods);
/* tensor, as_tensor, tolist, item */
void dl_make_open(lua_State *L, int torch, int methods);
void dl_method_open(lua_State *L, int torch, int methods);       /* to, size, stride, casts … */
void dl_special_open(lua_State *L, int torch, int methods);      /* einsum, unique, where … */
void dl_rng_open(lua_State *L, int torch);
void dl_rng_cuda_open(lua_State *L, int cuda);
void dl_autograd_open(lua_State *L, int torch, int methods);
void dl_hooks_open(lua_State *L, int torch, int methods);
void dl_function_open(lua_State *L, int autograd);
void dl_modes_open(lua_State *L, int torch, int autograd);
void dl_print_open(lua_State *L, int torch, int meta);
void dl_np_open(lua_State *L, int torch, int methods);
void dl_names_open(lua_State *L, int torch, int f, int dlrepl);  /* globals and lazy modules */
void dl_cuda_open(lua_State *L, int cuda, int torch, int methods, int dlrepl);
void dl_cudamem_open(lua_State *L, int cuda, int dlrepl);       /* memory figures */
void dl_scratch_open(lua_State *L, int dlrepl);
/* Lines remembered with tensors on devices; the front end tells which chunks are dlrepl's own. */
void dl_where_open(void);
/* The user's functions that run, innermost first; chunk and function names live for ever, NULL
 * where there was no memory for them. How many there were, at most max. */
typedef struct dl_frame { const char *source, *name; int line; } dl_frame;
int dl_where_stack(dl_frame *f, int max);
void dl_snapshot_open(lua_State *L, int cuda);                  /* segments, and their history */
extern bool (*dl_own_source)(const char *source);
/* nil, None, 1, "cuda:1" or a device: the ordinal of a GPU that is there; raises. */
int dl_check_gpu(lua_State *L, int i, const char *fn);
void dl_sim_bind_open(lua_State *L, int dlrepl);
void dl_inplace_view_open(lua_State *L, int methods);
void dl_prop_open(lua_State *L, int methods);
void dl_debug_open(lua_State *L, int dlrepl, int methods);
/* property getters and setters: NULL name ends the list */
typedef struct dl_prop {
  const char *name;
  int (*get)(lua_State *L, dl_tensor *t);                /* box is at index 1; pushes one value */
  int (*set)(lua_State *L, dl_tensor *t);                /* value is at index 3 */
} dl_prop;
const dl_prop *dl_prop_at(int64_t id);

/* index.c */
int dl_getitem(lua_State *L);                            /* (x, key) on the stack */
int dl_setitem(lua_State *L);                            /* (x, key, value) */
/* make.c: a number, boolean, nested list, array or 0-dim tensors at i become a tensor in the shell;
 * want = DL_NODTYPE infers the dtype. Raises as torch.tensor does. */
void dl_make_read(lua_State *L, int i, dl_dtype want, dl_box *shell);
/* t where its elements can be read: t itself, or a copy on the CPU in a box pushed on the stack. */
dl_tensor *dl_host_tensor(lua_State *L, dl_tensor *t);
/* After reading an element: did the device lose it? Raises. */
void dl_check_read(lua_State *L, const dl_tensor *t);
int dl_push_item(lua_State *L, const dl_tensor *t, const char *p); /* one element as a Lua value */
int dl_push_tolist(lua_State *L, dl_tensor *t);
/* print.c: push the text of a tensor. prefix: "tensor(" or "array(" */
void dl_push_text(lua_State *L, dl_tensor *t);
void dl_push_body(lua_State *L, dl_tensor *t, int indent);
/* hooks.c: Lua values that engine objects own through one number */
int dl_slot_new(lua_State *L);                           /* pops the value */
void dl_slot_push(lua_State *L, int slot);
bool dl_slot_drain(lua_State *L);                        /* true if there were any */
void dl_push_node(lua_State *L, dl_node *n);
void dl_set_funcs(lua_State *L, int tbl, const luaL_Reg *r);
/* table[key] = v for the table on top of the stack; v NULL: nil */
void dl_put_int(lua_State *L, const char *key, int64_t v);
void dl_put_num(lua_State *L, const char *key, double v);
void dl_put_bool(lua_State *L, const char *key, bool v);
void dl_put_str(lua_State *L, const char *key, const char *v);

#endif
