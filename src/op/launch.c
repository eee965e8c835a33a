/* launch.c -- running a call's kernel on a GPU, between devices, or not at all (dry run)
 *
 * For dispatch.c.
 *
 * INVARIANT  The code above has allocated everything; a launch that fails leaves the results
 *            without meaning, and the caller drops them.
 * MUST NOT   know which driver it is. */
#include "op/dispatch.h"
#include "op/workspace.h"
#include "rng.h"
#include "tensor/devmem.h"

#include <string.h>

/* ---- generators ------------------------------------------------------------------------------ */
static dl_gen gpu_gens[DL_GPU_MAX];
static uint32_t gens_epoch;

/* The numbers depend on how many blocks the card holds: 0 as long as it has not told. */
static int gen_start(dl_gen *g, int dev) {
  dl_props p;
  memset(&p, 0, sizeof p);
  g->philox = true;
  int code = dl_gpu->props(dev, &p), blocks = p.sm_count * (p.max_threads_per_sm / 256);
  if (!code) g->max_blocks = blocks > 0 ? (uint32_t)blocks : 1;
  return code;
}

/* A new driver may be another card: its generators start where manual_seed left the CPU's. */
dl_gen *dl_gen_of(dl_device d) {
  if (!dl_is_gpu(d) || !dl_gpu) return &dl_gen_cpu;
  if (gens_epoch != dl_gpu_epoch) {
    for (int i = 0; i < DL_GPU_MAX; i++) {
      uint64_t seed = gpu_gens[i].philox ? gpu_gens[i].seed : dl_gen_cpu.seed;
      uint64_t offset = gpu_gens[i].philox ? gpu_gens[i].offset : 0;
      gpu_gens[i] = (dl_gen){.seed = seed, .offset = offset, .next = 624};
    }
    gens_epoch = dl_gpu_epoch;
  }
  dl_gen *g = &gpu_gens[d.index < 0 ? dl_gpu_current() : d.index];
  if (!g->max_blocks) gen_start(g, d.index < 0 ? dl_gpu_current() : d.index);
  return g;
}

dl_status dl_gen_ready(dl_gen *g, dl_device d) {
  return g->philox && !g->max_blocks ? dl_gpu_error(gen_start(g, d.index)) : DL_OK;
}

/* ---- dry runs -------------------------------------------------------------------------------- */
/* Up to here a CPU result is computed all the same: indices, samplers, labels and counters of a
 * program that trains without numbers have some. */
#define SMALL ((int64_t)1 << 20) /* bytes */

static bool is_large(const dl_call *c) {
  for (int k = 0; k < c->nout; k++) {
    int64_t n = (int64_t)dl_dtype_size((dl_dtype)c->out[k].dtype);
    for (int i = 0; i < c->out[k].ndim; i++)
      if (!dl_mul_ok(n, c->out[k].size[i], &n)) return true;
    if (n > SMALL) return true;
  }
  return false;
}

static inline bool hollow(const dl_tensor *t, bool dry) {
  return t->st->numberless || (dry && dl_is_gpu(t->dev));
}

bool dl_call_dry(const dl_call *c) {
  bool dry = dl_gpu && dl_gpu->dry;
  for (int k = 0; k < c->nin; k++)
    if (c->in[k] && hollow(c->in[k], dry)) return true;
  for (int i = 0; i < c->schema->nparam; i++)
    for (int j = 0; c->arg[i].tag == DL_A_TENSORS && j < c->arg[i].n; j++) {
      const dl_tensor *t = c->arg[i].ts[j];
      if (t && hollow(t, dry)) return true;
    }
  return dry && (dl_is_gpu(c->dev) || is_large(c));
}

static void mark_dry(const dl_call *c, dl_runner *r) {
  for (int k = 0; k < c->nout; k++) r->out[k]->st->numberless = 1;
}

/* ---- launch ---------------------------------------------------------------------------------- */
dl_status dl_call_alive(const dl_call *c) {
  for (int k = 0; k < c->nin; k++)
    if (c->in[k] && dl_is_gpu(c->in[k]->dev)) DL_TRY(dl_devmem_check(c->in[k]));
  for (int i = 0; i < c->schema->nparam; i++)
    for (int j = 0; c->arg[i].tag == DL_A_TENSORS && j < c->arg[i].n; j++)
      if (c->arg[i].ts[j] && dl_is_gpu(c->arg[i].ts[j]->dev))
        DL_TRY(dl_devmem_check(c->arg[i].ts[j]));
  return DL_OK;
}

static dl_status launch(dl_opid op, const dl_call *c, dl_runner *r) {
  int dev = c->dev.index;
  DL_TRY(dl_gpu_well(dev));
  DL_TRY(dl_call_generator(c, r));
  DL_TRY(dl_workspace(op, c));
  return dl_gpu_error(dl_gpu->launch(dev, dl_gpu_stream(dev), &r->k));
}

/* ---- between devices ------------------------------------------------------------------------- */
bool dl_call_async(const dl_call *c) {
  for (int i = 0; i < c->schema->nparam; i++)
    if (!strcmp(c->schema->p[i].name, "non_blocking")) return c->arg[i].i != 0;
  return false;
}

/* A number from the host goes with a launch and not as a copy; one write, one version. */
static dl_status fill(dl_tensor *dst, const dl_tensor *src) {
  dl_arg v = dl_dtype_is_float((dl_dtype)src->dtype) ? F(dl_tensor_item_f(src))
                                                     : I(dl_tensor_item_i(src));
  unsigned mode = dl_mode;
  uint32_t version = *dst->ver;
  dl_tensor *out;
  dl_mode |= DL_MODE_NO_GRAD;
  dl_status st = dl_run(DL_OP_fill_, (dl_arg[]){T(dst), v}, 2, 0, &out);
  dl_mode = mode;
  *dst->ver = version;
  if (st == DL_OK) dl_tensor_release(out);
  return st;
}

/* copy_(self, src) and _to_copy(self): the last tensor goes into the result, spread over it. */
static dl_status cross(const dl_call *c, dl_runner *r) {
  dl_tensor *src = c->in[c->nin - 1], *dst = r->out[0], *wide;
  if (c->inplace && src->ndim == 0 && src->dev.type == DL_CPU) return fill(dst, src);
  int64_t stride[DL_MAXDIM];
  int lead = dst->ndim - src->ndim;
  for (int d = 0; d < dst->ndim; d++)
    stride[d] = d < lead || src->size[d - lead] == 1 ? 0 : src->stride[d - lead];
  DL_TRY(dl_tensor_view(src, dst->ndim, dst->size, stride, 0, &wide));
  if (src->ndim == dst->ndim && dl_sizes_equal(src->ndim, src->size, dst->ndim, dst->size)) {
    dl_tensor_release(wide);
    wide = dl_tensor_retain(src);
  }
  dl_status st = dl_tensor_copy_values(dst, wide, dl_call_async(c));
  dl_tensor_release(wide);
  return st;
}

dl_status dl_run_device(dl_opid op, const dl_call *c, dl_runner *r) {
  const dl_tensor *last = c->nin ? c->in[c->nin - 1] : NULL;
  if (r->dry) mark_dry(c, r);
  bool copies = op == DL_OP_copy_ || op == DL_OP__to_copy;
  if (copies && !dl_device_same(last->dev, c->dev)) return cross(c, r);
  if (dl_is_gpu(c->dev)) return launch(op, c, r);
  DL_TRY(dl_call_generator(c, r));
  return r->dry ? DL_OK : dl_cpu_kernels[op](&r->k);
}
