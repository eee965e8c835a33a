/* ex.c -- expressions: ops written in ops
 *
 * An evaluation owns every temporary until dl_ex_end and remembers the first failure; after it
 * each step yields NULL. So rules and composites read like formulas. */
#include "op/op.h"

#include <string.h>

void dl_ex_begin(dl_ex *e) {
  e->st = DL_OK;
  e->n = 0;
  e->cap = (int)(sizeof e->first / sizeof *e->first);
  e->tmp = e->first;
  e->last.n = 0;
  e->last.more = NULL;
}

dl_status dl_ex_end(dl_ex *e) {
  for (int i = 0; i < e->n; i++) dl_tensor_release(e->tmp[i]);
  if (e->tmp != e->first) dl_block_free(e->tmp, (size_t)e->cap * sizeof *e->tmp);
  e->n = 0;
  e->tmp = e->first;
  return e->st;
}

static bool grow(dl_ex *e) {
  int cap = e->cap * 2;
  dl_tensor **bigger = dl_block_new((size_t)cap * sizeof *bigger);
  if (!bigger) return false;
  memcpy(bigger, e->tmp, (size_t)e->n * sizeof *bigger);
  if (e->tmp != e->first) dl_block_free(e->tmp, (size_t)e->cap * sizeof *e->tmp);
  e->tmp = bigger;
  e->cap = cap;
  return true;
}

dl_tensor *dl_ex_keep_take(dl_ex *e, dl_tensor *t) {
  if (!t) return NULL;
  if (e->n == e->cap && !grow(e)) {
    dl_tensor_release(t);
    e->st = dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for temporaries");
    return NULL;
  }
  return e->tmp[e->n++] = t;
}

/* Arguments made from a failed step are NULL tensors with tag NONE: once failed, stay failed. */
static void keep_all(dl_ex *e, dl_ret *r, bool list) {
  for (int i = 0; i < r->n; i++) {
    dl_tensor *t = list ? r->more[i] : r->v[i];
    dl_tensor *kept = dl_ex_keep_take(e, t);
    if (!list) e->last.v[i] = kept;
  }
  e->last.n = r->n;
}

dl_tensor *dl_ex_call(dl_ex *e, dl_opid op, const dl_arg *arg, int n, unsigned flags) {
  if (e->st != DL_OK) return NULL;
  const dl_schema *s = dl_op_schema(op);
  dl_arg full[DL_MAX_PARAM];
  memcpy(full, arg, (size_t)n * sizeof *full);
  for (int i = n; i < s->nparam; i++) full[i] = s->p[i].dflt;
  dl_ret r;
  e->st = dl_dispatch(op, full, flags, &r);
  if (e->st != DL_OK) return NULL;
  keep_all(e, &r, s->ret_list);
  dl_tensor *first = s->ret_list ? (r.n ? r.more[0] : NULL) : r.v[0];
  if (r.more) dl_block_free(r.more, (size_t)(r.n ? r.n : 1) * sizeof *r.more);
  return e->st == DL_OK ? first : NULL;
}

dl_status dl_ex_return(dl_ex *e, dl_tensor *y, dl_tensor **out) {
  if (e->st == DL_OK && !y)
    e->st = dl_fail(DL_RuntimeError, DL_E_INTERNAL, "an expression ended without a value");
  *out = e->st == DL_OK ? dl_tensor_retain(y) : NULL;
  return e->st;
}

dl_status dl_run(dl_opid op, const dl_arg *arg, int n, unsigned flags, dl_tensor **out) {
  dl_ex e;
  dl_ex_begin(&e);
  *out = dl_tensor_retain(dl_ex_call(&e, op, arg, n, flags));
  return dl_ex_end(&e);
}
