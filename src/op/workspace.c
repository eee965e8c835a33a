/* workspace.c -- cuBLAS's workspaces: taken from the pool at the first product, kept ever after
 *
 * For launch.c. PyTorch gives cuBLAS memory from its allocator, once a stream of a device; a
 * product with a bias of one dimension goes through cuBLASLt, which has a smaller one beside it.
 *
 *     compute capability   cuBLAS                       cuBLASLt
 *     9.0                  32 MiB                       1 MiB
 *     all others           8519680 (:4096:2:16:8)       1 MiB
 *
 * CUBLAS_WORKSPACE_CONFIG (":KiB:count…") and CUBLASLT_WORKSPACE_SIZE (KiB) change them.
 *
 * INVARIANT  One of each a stream and device, from its own pool.
 * SOURCE     aten/src/ATen/cuda/CublasHandlePool.cpp, native/cuda/Blas.cpp (main, 2026).
 * MUST NOT   know what a driver does with them. */
#include "op/workspace.h"

#include <stdlib.h>
#include <string.h>

#include "mem/gpu.h"

enum { SLOTS = 64, LT_BYTES = 1 << 20 };

/* Which ops call cuBLAS. */
static const uint8_t calls_blas[DL_OP_COUNT] = {
    [DL_OP_mm] = 1, [DL_OP_bmm] = 1, [DL_OP_mv] = 1, [DL_OP_dot] = 1,
    [DL_OP_addmm] = 1, [DL_OP_baddbmm] = 1, [DL_OP_addmv] = 1};

static struct slot {
  dl_chunk *chunk[2];            /* cuBLAS, cuBLASLt */
  dl_stream stream;
  uint32_t epoch;                /* 0: unused */
  int dev;
} slots[SLOTS];

/* The bytes are the driver's to work in, where it does. */
static void tell(const struct slot *s, bool gone) {
  bool lives = s->epoch && dl_gpu && s->epoch == dl_gpu_epochs[s->dev];
  const dl_chunk *c = s->chunk[0];
  if (lives && c && dl_gpu->workspace)
    dl_gpu->workspace(s->dev, s->stream, gone ? NULL : dl_chunk_ptr(c), dl_chunk_bytes(c));
}

static void drop(struct slot *s) {
  tell(s, true);
  dl_pool_free(s->chunk[0]);
  dl_pool_free(s->chunk[1]);
  *s = (struct slot){.epoch = 0};
}

void dl_workspace_clear(void) {
  for (int i = 0; i < SLOTS; i++) drop(&slots[i]);
}

int64_t dl_workspace_bytes(int dev) {
  int64_t n = 0;
  for (int i = 0; i < SLOTS; i++) {
    const struct slot *s = &slots[i];
    if (s->dev != dev || s->epoch != dl_gpu_epochs[dev]) continue;
    for (int k = 0; k < 2; k++) n += s->chunk[k] ? (int64_t)dl_chunk_bytes(s->chunk[k]) : 0;
  }
  return n;
}

/* The slot of a stream, fresh if it has none; NULL when all are taken. */
static struct slot *slot_of(int dev, dl_stream stream) {
  struct slot *unused = NULL;
  for (int i = 0; i < SLOTS; i++) {
    struct slot *s = &slots[i];
    /* of a device that was reset or is gone */
    if (s->epoch && s->epoch != dl_gpu_epochs[s->dev]) drop(s);
    if (!s->epoch) unused = s;
    else if (s->dev == dev && s->stream == stream) return s;
  }
  if (unused)
    *unused = (struct slot){.dev = dev, .stream = stream, .epoch = dl_gpu_epochs[dev]};
  return unused;
}

/* ":4096:2:16:8" is 2 pieces of 4096 KiB and 8 of 16; 0 when it makes no sense. */
static size_t parse_config(const char *text) {
  size_t total = 0;
  while (text && *text == ':') {
    char *end;
    size_t kib = strtoull(text + 1, &end, 10);
    if (*end != ':') break;
    total += kib * strtoull(end + 1, &end, 10) << 10;
    text = end;
  }
  return total;
}

static size_t blas_bytes(int dev) {
  static size_t configured = SIZE_MAX;
  if (configured == SIZE_MAX) configured = parse_config(getenv("CUBLAS_WORKSPACE_CONFIG"));
  if (configured) return configured;
  dl_props p;
  memset(&p, 0, sizeof p);
  dl_gpu->props(dev, &p);
  return p.major == 9 && p.minor == 0 ? (size_t)32 << 20 : 8519680;
}

static size_t lt_bytes(int dev) {
  const char *v = getenv("CUBLASLT_WORKSPACE_SIZE");
  size_t n = v ? strtoull(v, NULL, 10) << 10 : LT_BYTES, most = blas_bytes(dev);
  return n < most ? n : most;
}

/* addmm(bias, x, w) with a plain vector as bias. */
static bool goes_through_lt(dl_opid op, const dl_call *c) {
  if (op != DL_OP_addmm) return false;
  const dl_tensor *bias = c->in[0], *w = c->in[2];
  const dl_arg *beta = &c->arg[3];
  bool one = beta->tag == DL_A_FLOAT ? beta->f == 1 : beta->i == 1;
  return bias && bias->ndim == 1 && bias->contig && one && w->size[0] > 1 && w->size[1] > 1;
}

static dl_status fill(struct slot *s, int which, size_t bytes) {
  if (s->chunk[which] || bytes == 0) return DL_OK;
  return dl_pool_alloc(dl_gpu_pool(s->dev), bytes, s->stream, &s->chunk[which]);
}

dl_status dl_workspace(dl_opid op, const dl_call *c) {
  if (!calls_blas[op] || dl_gpu_type != DL_CUDA) return DL_OK;
  int dev = c->dev.index;
  struct slot *s = slot_of(dev, dl_gpu_stream(dev));
  if (!s) return DL_OK;
  if (!s->chunk[0]) {
    DL_TRY(fill(s, 0, blas_bytes(dev)));
    tell(s, false);
  }
  if (s->chunk[1] || !goes_through_lt(op, c)) return DL_OK;
  return fill(s, 1, lt_bytes(dev));
}
