/* base_memory.c -- the pool: reuse, alignment, counting, refusal, the machine's limit */
#include <string.h>

#include "mem/mem.h"
#include "tap.h"

static void blocks(void) {
  static const size_t sizes[] = {1, 16, 17, 32, 33, 64, 65, 144, 256, 1000, 1024, 1025, 1280, 1281,
                                 4096, 4097, 65536, 200000, 262144, 262145, 3000000};
  int n = sizeof sizes / sizeof *sizes, crooked = 0, mixed = 0;
  char *p[32];
  dl_mem_stats before = dl_mem;
  for (int i = 0; i < n; i++) {
    p[i] = dl_block_new(sizes[i]);
    crooked += sizes[i] >= 64 && (uintptr_t)p[i] % 64 != 0;
    memset(p[i], i, sizes[i]);
  }
  for (int i = 0; i < n; i++)
    for (size_t k = 0; k < sizes[i]; k++) mixed += p[i][k] != i;
  is_int(crooked, 0, "blocks of 64 bytes and more lie on 64-byte boundaries");
  is_int(mixed, 0, "blocks do not overlap");
  is_int(dl_mem.live_blocks - before.live_blocks, n, "live blocks are counted");
  for (int i = 0; i < n; i++) dl_block_free(p[i], sizes[i]);
  is_int(dl_mem.live_bytes, before.live_bytes, "live bytes return to where they were");
  ok(dl_mem.peak_bytes >= before.live_bytes + 3000000, "the peak stays");
  dl_block_free(NULL, 10);
  is_int(dl_mem.live_bytes, before.live_bytes, "freeing NULL does nothing");
}

static void reuse(void) {
#ifndef DL_SAN
  void *a = dl_block_new(100);
  dl_block_free(a, 100);
  ok(dl_block_new(120) == a, "a freed block serves the next request of its class");
  dl_block_free(a, 120);
  void *big, *again;
  dl_host_alloc(5 << 20, &big);
  ok((uintptr_t)big % (2 << 20) == 0, "5 MiB lie on a huge page");
  dl_host_free(big, 5 << 20);
  ok(dl_mem.cached_bytes >= 5 << 20, "a large block is kept");
  dl_host_alloc((5 << 20) + 1000, &again);
  ok(again == big, "and serves a nearly equal request");
  dl_host_free(again, (5 << 20) + 1000);
  int64_t cached = dl_mem.cached_bytes;
  dl_mem_trim();
  ok(dl_mem.cached_bytes <= cached - (5 << 20), "trimming gives it back");
#else
  tap_skip("every block is malloc's here", "blocks are reused");
#endif
}

static void refusal(void) {
  void *p;
  dl_mem_refuse_at = 2;
  void *first = dl_block_new(10);
  ok(first != NULL, "the first request is served");
  ok(dl_block_new(10) == NULL, "the second is refused, as asked");
  is_int(dl_mem_refuse_at, 0, "and the hook is spent");
  dl_block_free(first, 10);
  dl_mem_refuse_at = 1;
  is_status(dl_host_alloc(1000, &p),
            "RuntimeError: [enforce fail at alloc_cpu.cpp…", "data is refused in PyTorch's words");
  ok(p == NULL, "a refused request gives NULL");
}

static int reclaimed;
static bool reclaim(void) { return reclaimed++ == 0; }

static void limit(void) {
  void *p;
  dl_mem_init();
  ok(dl_mem.cap_bytes > 0, "the machine has a limit");
  int64_t live = dl_mem.live_bytes;
  dl_reclaim = reclaim;
  is_status(dl_host_alloc((size_t)1 << 50, &p), "RuntimeError: [enforce fail at alloc_cpu.cpp…",
            "a petabyte is refused");
  is_int(reclaimed, 1, "after the collector was asked once");
  ok(strstr(dl_err.message, "you tried to allocate 1125899906842624 bytes. Error code 12 (Cannot "
                            "allocate memory)") != NULL, "and the size is named");
  is_status(dl_host_alloc(SIZE_MAX, &p), "RuntimeError: …", "the largest size is refused");
  dl_reclaim = NULL;
  int64_t cap = dl_mem.cap_bytes;
  dl_mem.cap_bytes = 64 << 20;
  is_status(dl_host_alloc(100 << 20, &p), "RuntimeError: …", "the cap holds");
  dl_mem.cap_bytes = cap;
  is_int(dl_mem.live_bytes, live, "refusals change nothing");
}

int main(void) {
  blocks();
  reuse();
  refusal();
  limit();
  return tap_done();
}
