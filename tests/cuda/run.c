/* run.c -- a call of an op with the plugin's kernel, see cuda_test.h */
#include <string.h>

#include "cuda_test.h"
#include "op/dispatch.h"
#include "rng.h"

static bool ends_in_place(const dl_call *c) {
  const char *s = c->schema->name;
  return s[strlen(s) - 1] == '_';
}

static dl_status results(const dl_call *c, dl_runner *r) {
  for (int k = 0; k < c->nout; k++) {
    if (k == 0 && c->inplace) {
      r->out[0] = dl_tensor_retain(c->arg[0].t);
      continue;
    }
    DL_TRY(dl_output_new(c, k, (dl_dtype)c->out[k].dtype, &r->out[k]));
    dl_tensor *t = r->out[k];
    if (t->numel) memset(t->data, 0xa5, (size_t)t->numel * dl_dtype_size((dl_dtype)t->dtype));
    if (c->op->kind != DL_UPDATE || k) continue;
    dl_view to, from;
    dl_view_of(t, &to);
    dl_view_of(c->arg[0].t, &from);
    dl_copy_view(&to, &from);
  }
  return DL_OK;
}

static dl_status steps(const dl_call *c, dl_runner *r, dl_gen *gen, unsigned order) {
  DL_TRY(results(c, r));
  if (c->op->kind == DL_POINTWISE) {
    dl_geometry_pointwise(c, r);
  } else {
    DL_TRY(dl_geometry_list(c, r));
    dl_geometry_plain(c, r);
  }
  r->k.op = (dl_opid)(c->op - dl_ops);
  r->k.compute = c->compute;
  r->k.arg = c->arg;
  r->k.dims = c->dims;
  r->k.gen = gen;
  return cuda_test_run(r->k.op, &r->k, order);
}

dl_status cuda_test_dispatch(dl_opid op, const dl_arg *arg, unsigned order, dl_ret *ret) {
  static dl_gen gen;
  dl_call c;
  dl_runner r;
  memset(&r, 0, sizeof r);
  ret->n = 0;
  ret->more = NULL;
  dl_gen_seed(&gen, 7);
  gen.philox = true;
  gen.offset = 8;
  gen.max_blocks = 2;
  dl_call_init(&c, op, arg, 0);
  c.inplace = ends_in_place(&c);
  DL_TRY(c.op->rule(&c));
  dl_status st = steps(&c, &r, &gen, order);
  for (int k = 0; k < c.nout; k++) {
    if (st == DL_OK) ret->v[ret->n++] = r.out[k];
    else dl_tensor_release(r.out[k]);
  }
  if (r.list) dl_block_free(r.list, (size_t)r.k.nlist * sizeof *r.list);
  return st;
}
