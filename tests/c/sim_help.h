/* sim_help.h -- a simulated GPU for C tests: opening it, arrays on it, calls of its kernels */
#ifndef SIM_HELP_H
#define SIM_HELP_H

#include <string.h>

#include "op/op.h"
#include "sim/sim.h"
#include "tap.h"

static const dl_driver *drv;

static inline bool open_sim(const char *card, int count, bool compute, int64_t memory) {
  dl_sim_options o = {.count = count, .compute = compute, .memory = memory};
  for (int i = 0; i < count; i++) o.card[i] = dl_card_find(card);
  return dl_sim_open(&o, &drv) == DL_OK;
}

/* A dense array; `at` is a device address, or NULL. */
typedef struct array { dl_view v; int64_t size[4], stride[4]; } array;

static inline void shape_as(array *a, uint8_t dtype, int ndim, const int64_t *size) {
  int64_t n = 1;
  for (int d = ndim - 1; d >= 0; d--) {
    a->size[d] = size[d];
    a->stride[d] = n;
    n *= size[d];
  }
  a->v = (dl_view){.dtype = dtype, .ndim = (uint8_t)ndim, .numel = n, .size = a->size,
                   .stride = a->stride};
}

static inline size_t array_bytes(const array *a) {
  return (size_t)a->v.numel * dl_dtype_size((dl_dtype)a->v.dtype);
}

static inline void array_on(array *a, int dev, uint8_t dtype, int ndim, const int64_t *size) {
  void *p;
  shape_as(a, dtype, ndim, size);
  drv->mem_new(dev, array_bytes(a), &p);
  a->v.data = p;
}

#define ARRAY(a, dev, dtype, ...)                                                                 \
  array_on(a, dev, dtype, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),              \
           (int64_t[]){__VA_ARGS__})

static inline int upload(int dev, const array *a, const void *from) {
  dl_copy c = {.dst = a->v.data, .src = from, .nbytes = array_bytes(a), .kind = DL_COPY_H2D,
               .dst_dev = dev, .src_dev = -1};
  return drv->copy(&c, 0);
}

static inline int download(int dev, const array *a, void *to) {
  dl_copy c = {.dst = to, .src = a->v.data, .nbytes = array_bytes(a), .kind = DL_COPY_D2H,
               .dst_dev = -1, .src_dev = dev};
  return drv->copy(&c, 0);
}

static inline dl_kcall call2(dl_opid op, uint8_t compute, const array *out, const array *a,
                             const array *b, const dl_arg *arg) {
  dl_kcall k;
  memset(&k, 0, sizeof k);
  k.op = op;
  k.compute = compute;
  k.nout = 1;
  k.nin = b ? 2 : 1;
  k.out[0] = out->v;
  k.in[0] = a->v;
  if (b) k.in[1] = b->v;
  k.arg = arg;
  return k;
}

#endif
