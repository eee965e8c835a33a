/* pool_oom.c -- out of memory: PyTorch's text, and who adds to it
 *
 * For pool.c, at the foot of the ladder. Allocates nothing.
 *
 * INVARIANT  The figures are those after the cache was flushed, as in PyTorch.
 * MUST NOT   know tensors or Lua; what holds the memory is told by dl_pool_explain. */
#include "mem/pool_int.h"

#include <stdio.h>
#include <unistd.h>

const char *dl_bytes_str(int64_t n, char buf[32]) {
  if (n <= KIB) snprintf(buf, 32, "%lld bytes", (long long)n);
  else if (n <= MIB) snprintf(buf, 32, "%.2f KiB", (double)n / (double)KIB);
  else if (n <= 1024 * MIB) snprintf(buf, 32, "%.2f MiB", (double)n / (double)MIB);
  else snprintf(buf, 32, "%.2f GiB", (double)n / (double)(1024 * MIB));
  return buf;
}

/* As MPSAllocator.mm words it: there is one limit and no word of fragmentation. */
static void fail_on_mps(dl_pool *p, const dl_request *r, int64_t allowed) {
  char mine[32], other[32], most[32], want[32];
  dl_fail(DL_RuntimeError, DL_E_OOM,
          "MPS backend out of memory (MPS allocated: %s, other allocations: %s, max allowed: %s). "
          "Tried to allocate %s on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to "
          "disable upper limit for memory allocations (may cause system failure).",
          dl_bytes_str(p->stats.reserved_bytes[DL_POOL_ALL].current, mine),
          dl_bytes_str(p->props.context_bytes, other), dl_bytes_str(allowed, most),
          dl_bytes_str(r->bytes, want));
}

/* One sentence a process that uses the card, where that is known. Returns buf. */
static const char *users(dl_pool *p, char *buf, size_t cap) {
  dl_gpu_user u[8];
  char size[32];
  int64_t reserved = p->stats.reserved_bytes[DL_POOL_ALL].current;
  int n = p->drv->users ? p->drv->users(p->dev, u, 8) : 1;
  if (!p->drv->users) u[0] = (dl_gpu_user){getpid(), reserved + p->props.context_bytes};
  *buf = 0;
  for (int i = 0, at = 0; i < n && (size_t)at < cap; i++) {
    char who[32] = "Including non-PyTorch memory, ";
    bool mine = u[i].pid == getpid();
    if (!mine) snprintf(who, sizeof who, "Process %lld", (long long)u[i].pid);
    at += snprintf(buf + at, cap - (size_t)at, "%s%s has %s memory in use. ", who,
                   mine ? "this process" : "", dl_bytes_str(u[i].nbytes, size));
  }
  return buf;
}

static void fail_on_cuda(dl_pool *p, const dl_request *r, int64_t total, int64_t free_now) {
  char want[32], total_s[32], free_s[32], allowed[32], used[32], idle[32], who[640];
  int64_t reserved = p->stats.reserved_bytes[DL_POOL_ALL].current;
  int64_t live = p->stats.allocated_bytes[DL_POOL_ALL].current;
  bool limited = p->allowed >= 0;
  if (limited) dl_bytes_str(p->allowed, allowed);
  dl_fail(DL_OutOfMemoryError, DL_E_OOM,
          "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s "
          "is free. %s%s%sOf the allocated memory %s is allocated by PyTorch, and %s is reserved "
          "by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
          "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
          "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
          "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
          dl_bytes_str(r->segment, want), p->dev, dl_bytes_str(total, total_s),
          dl_bytes_str(free_now, free_s),
          users(p, who, sizeof who), limited ? allowed : "", limited ? " allowed; " : "",
          dl_bytes_str(live, used), dl_bytes_str(reserved - live, idle));
}

/* A card that others fill is not helped by smaller tensors here. */
static void tell_of_others(dl_pool *p, int64_t total, int64_t free_now) {
  char size[32];
  int64_t mine = p->stats.reserved_bytes[DL_POOL_ALL].current + p->props.context_bytes;
  int64_t others = total - free_now - mine;
  if (p->drv->simulated || others <= total / 8) return;
  dl_note("%s of the card are not this program's tensors: other processes hold them (nvidia-smi "
          "lists those), and CUDA itself", dl_bytes_str(others, size));
}

dl_status dl_pool_out_of_memory(dl_pool *p, const dl_request *r) {
  size_t free_now = 0, total = 0;
  p->stats.num_ooms++;
  if (p->drv->mem_info(p->dev, &free_now, &total) != DL_CU_OK)
    total = (size_t)p->props.total_memory;
  if (dl_gpu_type == DL_MPS)
    fail_on_mps(p, r, p->allowed >= 0 ? p->allowed : (int64_t)total);
  else
    fail_on_cuda(p, r, (int64_t)total, (int64_t)free_now);
  tell_of_others(p, (int64_t)total, (int64_t)free_now);
  dl_pool_tell(p, DL_POOL_OUT_OF_MEMORY, (void *)(uintptr_t)free_now, r->asked, r->stream);
  if (p->drv->simulated)
    dl_note("this GPU is simulated: %s%s", p->props.name, p->props.context_bytes ? "" :
            ", so small that no CUDA context is charged (a real one takes some 450 MiB)");
  if (r->refused) dl_note("this allocation was refused on purpose");
  if (dl_pool_explain) dl_pool_explain(p, p->dev, (size_t)r->asked);
  return dl_err.kind;
}

dl_status dl_pool_refuse(dl_pool *p, size_t n) {
  dl_request r = {.asked = (int64_t)n, .bytes = (int64_t)n, .segment = (int64_t)n};
  return dl_pool_out_of_memory(p, &r);
}
