/* recipe.h -- recipes.def as calls: builds the arguments of an op from a line of text
 *
 * For ops_loop.c, ops_grad.c, ops_refuse.c. The same recipe gives the same values whatever the
 * dtype and layout, so that results can be compared.
 *
 * MUST NOT know Lua. */
#ifndef RECIPE_H
#define RECIPE_H

#include "op/op.h"

typedef struct recipe {
  dl_opid op;
  const char *args, *flags;
} recipe;

extern const recipe recipes[];
extern const int recipe_count;

typedef struct recipe_how {
  dl_dtype dtype;      /* of f p u q d s n tensors (j: when it is an integer); NODTYPE = float64 */
  dl_dtype rounded;    /* values are first rounded to this dtype; NODTYPE = not */
  bool strided;        /* tensors are transposed windows of larger ones */
  int64_t empty;       /* this size becomes 0 everywhere; 0 = none */
  bool grad;           /* tensors that may, require grad */
  int grow;            /* a size n > 1 becomes n * grow + 1; 0 = as written */
  bool single;         /* every size becomes 1 */
} recipe_how;

#define RECIPE_PLAIN ((recipe_how){DL_NODTYPE, DL_NODTYPE, false, 0, false, 0, false})

typedef struct recipe_args {
  dl_arg arg[DL_MAX_PARAM];
  dl_tensor *own[64];            /* everything to be released */
  dl_tensor *var[16];            /* tensors that may require grad, borrowed */
  int nown, nvar;
  int64_t ints[64];
  dl_tensor *list[32];
  char text[4][40];
  int nints, nlist, ntext;
  uint64_t random;
  recipe_how how;
} recipe_args;

/* False (with dl_err set) when the text makes no sense; the args may be freed in either case. */
bool recipe_build(const recipe *r, recipe_how how, recipe_args *a);
void recipe_free(recipe_args *a);
bool recipe_flag(const recipe *r, char flag);
/* Sizes that occur in the recipe's tensors, each once; returns how many (at most 8). */
int recipe_sizes(const recipe *r, int64_t out[8]);
/* "add(f[2,3] f[3])", cut to the buffer. */
const char *recipe_name(const recipe *r, char *buf, size_t cap);
/* Does the command line ask for this row? No names = all. */
bool recipe_wanted(const recipe *r, int argc, char **argv);

/* All results of a call in one list, whatever its shape. */
int recipe_results(const dl_ret *ret, dl_tensor **out, int cap);
/* Element i of t in row-major order. */
double recipe_value(const dl_tensor *t, int64_t i);
char *recipe_element(const dl_tensor *t, int64_t i);
/* A clean failure has a class of its own and says something. */
bool recipe_clean_failure(void);

#endif
