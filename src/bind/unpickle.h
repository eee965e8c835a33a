/* unpickle.h -- what unpickle.c and unpickle_make.c share */
#ifndef DL_UNPICKLE_H
#define DL_UNPICKLE_H

#include "bind/bind.h"

/* The machine that runs a pickle. Its values lie in tables of Lua, so that nothing leaks. */
typedef struct dl_unpickler {
  lua_State *L;
  const unsigned char *p, *end;
  int stack, memo, marks, env, raw; /* where those tables are */
  int tuple_meta, list_meta, dict_meta;
  lua_Integer n, n_marks;        /* values on the pickle's stack; open marks */
  lua_Integer floor;             /* values below the innermost mark */
} dl_unpickler;

/* A name of Python's that may appear: what GLOBAL pushes, and what REDUCE makes of it. */
typedef struct dl_global {
  const char *name;              /* "torch._utils._rebuild_tensor_v2" */
  int (*make)(dl_unpickler *u, const struct dl_global *g, int args); /* pushes one value */
  dl_dtype dtype;                /* of a storage's class */
  const char *lacking;           /* why dlrepl has no such thing, else NULL */
} dl_global;

/* Raises UnpicklingError with PyTorch's words around it. */
int dl_unpickle_bad(dl_unpickler *u, const char *fmt, ...) DL_PRINTF(2, 3);
/* Is it a class, a storage or a tuple with one of them? */
bool dl_unpickle_is_raw(dl_unpickler *u, int i);
/* Has the table at i the metatable at `meta`? */
bool dl_unpickle_has_meta(dl_unpickler *u, int i, int meta);
/* Python's name of the type of the value on top. */
const char *dl_unpickle_type(dl_unpickler *u);
/* Raises for what can only be called or passed on, and is no value. */
void dl_unpickle_check_value(dl_unpickler *u, int i);
bool dl_unpickle_is_tuple(dl_unpickler *u, int i);
/* Push what "module.name" stands for. */
void dl_unpickle_global(dl_unpickler *u, const char *name);
/* Pushes the tensor of one dimension that a persistent id (a tuple at i) names. */
void dl_unpickle_storage(dl_unpickler *u, int i);
void dl_unpickle_new_dict(dl_unpickler *u, bool ordered);

#endif
