/* pinned.cc -- host memory that CUDA copies from and to by itself
 *
 * For driver.cc's table. Pages of ours that CUDA is asked to pin, so that they outlive a context
 * that is lost. Asking takes as long as copying them would: blocks that were freed are kept for the
 * next request of about their size.
 *
 * INVARIANT  A block that a copy may still be at is neither handed out again nor freed: the last
 *            copy's event tells.
 * SOURCE     CUDA runtime API; ATen's CachingHostAllocator. */
#include "driver.h"

#include <cstdlib>

enum : size_t { PAGE = 4096, KEPT_MOST = (size_t)256 << 20 };

struct block {
  block *next;
  void *base;                    /* of dl_host_alloc */
  char *p;                       /* its first whole page */
  size_t bytes;                  /* whole pages from p on */
  int dev;                       /* of the event */
  cudaEvent_t event;             /* after the last copy; NULL: none was made */
  void *stream;                  /* that the event is on */
  bool used, lost;               /* lost: a reset has let the pages go */
};
static block *blocks;
static size_t kept;              /* bytes of those that are not used */

static block *holds(const void *at) {
  for (block *b = blocks; b; b = b->next)
    if ((const char *)at >= b->p && (const char *)at < b->p + b->bytes) return b;
  return nullptr;
}

/* ---- copies under way ------------------------------------------------------------------------ */
static bool copied(block *b) {
  if (!b->event) return true;
  cudaError_t e = cudaEventQuery(b->event);
  if (e != cudaSuccess) cudaGetLastError();
  return e != cudaErrorNotReady; /* a dead context copies no more */
}

static void drop_event(block *b) {
  if (b->event && !dl_cuda_forked && cudaEventDestroy(b->event) != cudaSuccess) cudaGetLastError();
  b->event = nullptr;
}

int dl_cuda_pinned_copy(const void *host, int dev, dl_stream s) {
  block *b = holds(host);
  void *stream = dl_cuda_stream(s);
  if (!b) return DL_CU_OK;
  if (b->event && (b->dev != dev || b->stream != stream)) { /* one event a block: rare */
    dl_cuda_code(b->dev, cudaEventSynchronize(b->event));
    if (b->dev != dev) drop_event(b);
  }
  int code = DL_CU_OK;
  if (!b->event)
    code = dl_cuda_code(dev, cudaEventCreateWithFlags(&b->event, cudaEventDisableTiming));
  if (code) {
    b->event = nullptr;
    return code;
  }
  b->dev = dev;
  b->stream = stream;
  return dl_cuda_code(dev, cudaEventRecord(b->event, (cudaStream_t)stream));
}

/* ---- blocks ---------------------------------------------------------------------------------- */
static void remove(block **at) {
  block *b = *at;
  *at = b->next;
  drop_event(b);
  if (!dl_cuda_forked && !b->lost && cudaHostUnregister(b->p) != cudaSuccess) cudaGetLastError();
  if (!b->used) kept -= b->bytes;
  dl_host_free(b->base, b->bytes + PAGE);
  free(b);
}

/* Down to `most` bytes that nobody uses. */
static void shrink(size_t most) {
  for (block **at = &blocks; *at && kept > most;) {
    if (!(*at)->used && (dl_cuda_forked || copied(*at))) remove(at);
    else at = &(*at)->next;
  }
}

static block *kept_block(size_t n) {
  for (block *b = blocks; b; b = b->next)
    if (!b->used && !b->lost && b->bytes >= n && b->bytes / 2 <= n && copied(b)) return b;
  return nullptr;
}

static int fresh(int dev, size_t n, block **out) {
  block *b = (block *)calloc(1, sizeof *b);
  if (!b) return dl_cuda_host_short();
  if (dl_host_alloc(n + PAGE, &b->base) != DL_OK) {
    shrink(0);
    if (dl_host_alloc(n + PAGE, &b->base) != DL_OK) {
      free(b);
      return DL_CU_RAISED;
    }
  }
  b->p = (char *)(((uintptr_t)b->base + PAGE - 1) / PAGE * PAGE);
  b->bytes = n;
  int code = dl_cuda_code(dev, cudaHostRegister(b->p, n, cudaHostRegisterPortable));
  if (code) {
    dl_host_free(b->base, n + PAGE);
    free(b);
    return code;
  }
  b->next = blocks;
  *out = blocks = b;
  kept += n;
  return DL_CU_OK;
}

/* ---- rows of the table ----------------------------------------------------------------------- */
int dl_cuda_pinned_new(size_t n, void **out) {
  int dev = dl_cuda_now() < 0 ? 0 : dl_cuda_now();
  size_t whole = (n + PAGE - 1) / PAGE * PAGE;
  *out = nullptr;
  DL_CUDA_ENTER(dev);
  if (whole < n || whole + PAGE < whole) return dl_cuda_host_short();
  block *b = kept_block(whole);
  int code = b ? DL_CU_OK : fresh(dev, whole, &b);
  if (code) return code;
  b->used = true;
  kept -= b->bytes;
  *out = b->p;
  return DL_CU_OK;
}

int dl_cuda_pinned_free(void *p, size_t) {
  block *b = holds(p);
  if (!b) return DL_CU_INVALID_VALUE;
  b->used = false;
  kept += b->bytes;
  shrink(b->lost || dl_cuda_forked ? 0 : (size_t)KEPT_MOST);
  return DL_CU_OK;
}

void dl_cuda_pinned_forget(int dev) {
  for (block *b = blocks; b; b = b->next) {
    b->lost = true;
    if (b->dev == dev) b->event = nullptr;
  }
  shrink(0);
}
