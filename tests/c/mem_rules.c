/* mem_rules.c -- the pool besides its worked examples: options, streams, limits, failures */
#include "fake_driver.h"
#include "tap.h"

#include <stdio.h>

#define MB ((int64_t)1 << 20)

static dl_pool *pool;

static void start(const char *conf) {
  dl_pool_delete(pool);
  dl_pool_conf_parse(NULL);
  if (conf) dl_pool_conf_parse(conf);
  pool = dl_pool_new(&fake_driver, 0);
}
static dl_chunk *get_on(int64_t n, dl_stream s) {
  dl_chunk *c = NULL;
  dl_pool_alloc(pool, (size_t)n, s, &c);
  return c;
}
static dl_chunk *get(int64_t n) { return get_on(n, 0); }
static int64_t allocated(void) { return dl_pool_figures(pool)->allocated_bytes[0].current; }
static int64_t reserved(void) { return dl_pool_figures(pool)->reserved_bytes[0].current; }
static int64_t active(void) { return dl_pool_figures(pool)->active_bytes[0].current; }

/* ---- PYTORCH_CUDA_ALLOC_CONF -------------------- */

static void options(void) {
  static const char *const good[] = {
      "", "max_split_size_mb:20", " max_split_size_mb : 128 , garbage_collection_threshold:0.8",
      "expandable_segments:True,", "roundup_power2_divisions:[]", "backend:native",
      "large_segment_size_mb:32", "max_split_size_mb:32x", "release_lock_on_cudamalloc:True",
      "per_process_memory_fraction:0.5", "pinned_num_register_threads:8"};
  static const struct { const char *text, *error; } bad[] = {
      {"foo:1", "ValueError: Unrecognized key 'foo' in Accelerator allocator config."},
      {"max_split_size_mb=32",
       "ValueError: Unrecognized key 'max_split_size_mb=32' in Accelerator allocator config."},
      {",", "ValueError: Unrecognized key ',' in Accelerator allocator config."},
      {"max_split_size_mb:10",
       "ValueError: CachingAllocator option max_split_size_mb too small, must be >= 20"},
      {"max_split_size_mb:30,large_segment_size_mb:32",
       "ValueError: CachingAllocator option max_split_size_mb too small, must be >= 32"},
      {"max_non_split_rounding_mb:10",
       "ValueError: CachingAllocator option max_non_split_rounding_mb too small, must be >= 20"},
      {"large_segment_size_mb:10",
       "ValueError: CachingAllocator option large_segment_size_mb must be > 10 MB"},
      {"max_split_size_mb:abc", "ValueError: stoull"},
      {"max_split_size_mb:99999999999999999999", "IndexError: stoull"},
      {"garbage_collection_threshold:x", "ValueError: stod"},
      {"garbage_collection_threshold:1.5",
       "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)"},
      {"roundup_power2_divisions:3",
       "ValueError: For roundups, the divisions has to be power of 2 "},
      {"roundup_power2_divisions:[256:3]",
       "ValueError: For roundups, the divisions has to be power of 2 or 0 to disable roundup "},
      {"roundup_power2_divisions:[250:2]",
       "ValueError: For roundups, the intervals have to be power of 2 "},
      {"roundup_power2_divisions:[256:2",
       "ValueError: Error parsing CachingAllocator::AllocatorConfig settings, expected ]"},
      {"expandable_segments:true",
       "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'true'"},
      {"expandable_segments:", "ValueError: Error, expecting expandable_segments value"},
      {"expandable_segments", "ValueError: Error, expecting expandable_segments value"},
      {"backend:foo", "ValueError: Unknown allocator backend, options are native and "
                      "cudaMallocAsync"},
      {"backend:cudaMallocAsync", "RuntimeError: backend:cudaMallocAsync is not available"},
      {"pinned_num_register_threads:3",
       "ValueError: Number of register threads has to be power of 2, got 3"},
      {"per_process_memory_fraction:2",
       "ValueError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    dl_pool_conf_parse(NULL);
    is_status(dl_pool_conf_parse(good[i]), "", "\"%s\" is understood", good[i]);
  }
  dl_pool_conf_parse(NULL);
  dl_pool_conf_parse("max_split_size_mb:40,roundup_power2_divisions:[256:1,512:2,1024:4,>:8]");
  dl_pool_conf before = dl_conf;
  int changed = 0;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    is_status(dl_pool_conf_parse(bad[i].text), bad[i].error, "\"%s\" is refused", bad[i].text);
    changed += memcmp(&before, &dl_conf, sizeof before) != 0;
  }
  is_int(changed, 0, "a refused text changes nothing");
  int got[5] = {dl_conf.roundup[0], dl_conf.roundup[8], dl_conf.roundup[9], dl_conf.roundup[10],
                dl_conf.roundup[15]};
  int want[5] = {1, 1, 2, 4, 8};
  ok(memcmp(got, want, sizeof got) == 0, "intervals of roundup_power2_divisions");
  dl_pool_conf_parse("expandable_segments:True");
  ok(dl_conf.max_split_size == INT64_MAX, "an option that is not named goes to its default");
  dl_pool_conf_parse("max_split_size_mb:64");
  ok(dl_conf.expandable, "but expandable_segments stays, as in PyTorch");
}

static void roundup(void) {
  start("roundup_power2_divisions:4");
  dl_chunk *c = get(1200);
  is_int(allocated(), 1536, "sizes up to 512 x divisions round to 512 as ever");
  dl_pool_free(c);
  c = get(5000);
  is_int(allocated(), 5120, "5000 bytes round to a quarter step of 4096");
  dl_pool_free(c);
  c = get(4096);
  is_int(allocated(), 4096, "a power of two stays");
  dl_pool_free(c);
}

/* ---- streams -------------------- */

static void streams(void) {
  start(NULL);
  dl_chunk *a = get(1000);
  void *place = dl_chunk_ptr(a);
  dl_chunk *b = get_on(1000, 1);
  is_int(reserved(), 4 * MB, "each stream has its own segments");
  is_status(dl_pool_record_stream(a, 0), "", "its own stream need not be recorded");
  dl_pool_record_stream(a, 1);
  dl_pool_record_stream(a, 1);
  dl_pool_record_stream(a, 2);
  dl_pool_free(a);
  is_int(fake.events, 2, "freed, it waits for an event on each stream that used it");
  is_int(allocated(), 1024, "it is not allocated any more");
  is_int(active(), 2048, "but active");
  is_int(dl_pool_figures(pool)->requested_bytes[0].current, 2000, "and still requested");
  dl_chunk *c = get(1000);
  ok(dl_chunk_ptr(c) != place, "meanwhile its place is not handed out");
  dl_pool_free(c);
  fake.done[1] = fake.recorded[1];
  c = get(1000);
  ok(dl_chunk_ptr(c) != place, "one event of two is not enough");
  dl_pool_free(c);
  fake.done[2] = fake.recorded[2];
  c = get(1000);
  ok(dl_chunk_ptr(c) == place, "after both it is handed out again");
  is_int(fake.events, 0, "the events are gone");
  is_int(active(), 2048, "and active is allocated again");
  dl_pool_record_stream(c, 2);
  dl_pool_free(c);
  dl_pool_free(b);
  dl_pool_empty_cache(pool);
  is_int(reserved(), 0, "empty_cache waits for the streams");
}

/* ---- out of memory -------------------- */

static dl_chunk *kept;
static int collected;
static bool drop_kept(bool last_resort) {
  collected++;
  dl_pool_free(kept);
  kept = NULL;
  return true;
}
static size_t explained;
static void explain(dl_pool *p, int dev, size_t n) {
  explained = n;
  dl_note("%zu bytes more than there are", n);
}

static void ladder(void) {
  fake.total = 600 * MB, fake.context = 500 * MB;
  start(NULL);
  kept = get(40 * MB);
  dl_pool_collect = drop_kept;
  dl_chunk *a = get(40 * MB);
  ok(a && collected == 1, "the collector runs before a new segment");
  is_int(reserved(), 40 * MB, "and what it frees serves the request");
  dl_chunk *c;
  dl_pool_explain = explain;
  dl_status st = dl_pool_alloc(pool, 80 * MB, 0, &c);
  is_int(st, DL_E_OOM, "80 MiB beside 40 of 100 are too much");
  is_int(collected, 3, "the collector ran once more as the last resort");
  is_int(explained, 80 * MB, "the failed request is explained");
  is_str(dl_err.notes, "83886080 bytes more than there are", "in the notes");
  dl_pool_collect = NULL;
  dl_pool_explain = NULL;
  is_status(dl_pool_alloc(pool, (size_t)1 << 60, 0, &c),
            "OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
            "an exabyte");
  is_status(dl_pool_alloc(pool, SIZE_MAX, 0, &c),
            "OutOfMemoryError: CUDA out of memory. Tried to allocate more than 1EB memory.",
            "all there is");
  is_status(dl_pool_alloc(pool, ((size_t)1 << 60) - 1, 0, &c),
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 1073741824.00 GiB. GPU 0 …",
            "a byte less than an exabyte");
  dl_pool_free(a);
  a = get(70 * MB);
  is_int(reserved(), 70 * MB, "what is cached goes back to make room");
  dl_pool_free(a);
}

static void fragmentation(void) {
  fake.total = 600 * MB, fake.context = 500 * MB;
  start(NULL);
  dl_chunk *c[10], *big;
  for (int i = 0; i < 10; i++) c[i] = get(10 * MB - 512);
  for (int i = 0; i < 10; i += 2) dl_pool_free(c[i]);
  int64_t largest, total;
  is_status(dl_pool_alloc(pool, 60 * MB, 0, &big),
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 60.00 MiB. GPU 0 has a total "
            "capacity of 600.00 MiB of which 0 bytes is free. Including non-PyTorch memory, this "
            "process has 600.00 MiB memory in use. Of the allocated memory 50.00 MiB is allocated "
            "by PyTorch, and 50.00 MiB is reserved by PyTorch but unallocated. …",
            "holes between live blocks do not go back to the driver");
  dl_pool_free_space(pool, &largest, &total);
  is_int(largest, 10485248, "the largest hole is told");
  is_int(total, 52426240, "and their sum");
  for (int i = 1; i < 10; i += 2) dl_pool_free(c[i]);
  big = get(60 * MB);
  ok(big != NULL, "with the holes joined there is room");
  dl_pool_free(big);
}

static void refusals(void) {
  fake.total = (int64_t)8 << 30, fake.context = 0;
  start(NULL);
  dl_chunk *a = get(30 * MB), *b;
  dl_pool_refuse_at = 2;
  dl_chunk *c = get(30 * MB);
  ok(c != NULL, "the first request that reaches the driver is served");
  dl_pool_free(get(1000));
  is_int(dl_pool_refuse_at, 0, "the second is refused, as asked");
  is_int(dl_pool_figures(pool)->num_ooms, 1, "with its retry");
  ok(dl_pool_alloc(pool, 1000, 0, &b) == DL_OK, "the next is served again");
  dl_pool_free(b);
  int failed = 0, host = 0;
  for (int i = 1; i < 12; i++) {
    dl_pool_empty_cache(pool);
    dl_mem_refuse_at = i;
    if (dl_pool_alloc(pool, (size_t)3 * MB, 0, &b) != DL_OK) {
      failed++;
      host += dl_err.cls == DL_MemoryError;
    } else {
      dl_pool_free(b);
    }
    dl_mem_refuse_at = 0;
  }
  ok(failed > 0 && failed == host, "a host without memory is told apart from the GPU's");
  is_int(allocated(), 60 * MB, "and nothing is lost by it");
  fake.broken = DL_CU_ASSERT;
  is_status(dl_pool_alloc(pool, 1000, 0, &b), "AcceleratorError: CUDA error: …",
            "another error of the driver is passed on at once");
  is_int(dl_pool_figures(pool)->num_ooms, 1, "it is not out of memory");
  fake.broken = 0;
  dl_pool_free(a), dl_pool_free(c);
}

static void lost_device(void) {
  start(NULL);
  dl_chunk *a = get(1000), *b = get(30 * MB), *c = get(2000);
  dl_pool_record_stream(a, 3);
  dl_pool_record_stream(c, 3);
  dl_pool_free(c);
  dl_pool_abandon(pool);
  fake.used = 0, fake.count = 0;
  is_int(reserved(), 0, "an abandoned pool is empty");
  dl_chunk *d = get(5000);
  is_int(allocated(), 5120, "and serves again");
  dl_pool_free(a), dl_pool_free(b);
  is_int(allocated(), 5120, "blocks of before are freed without a trace");
  dl_pool_free(d);
}

static void limits(void) {
  fake.total = 1000 * MB;
  start(NULL);
  is_status(dl_pool_set_fraction(pool, 1.5),
            "ValueError: Invalid fraction value: 1.5. Allowed range: 0~1", "a fraction above 1");
  is_status(dl_pool_set_fraction(pool, 0.0 / 0.0), "ValueError: Invalid fraction value: …", "nan");
  dl_pool_set_fraction(pool, 0);
  dl_chunk *c;
  is_status(dl_pool_alloc(pool, 1, 0, &c), "OutOfMemoryError: …", "nothing is allowed");
  ok(strstr(dl_err.message, " in use. 0 bytes allowed; Of the") != NULL, "and the text says so");
  start("per_process_memory_fraction:0.01");
  is_double(dl_pool_fraction(pool), 0.01, 0, "the fraction may come with the options");
  ok(get(20 * MB) == NULL, "and holds");
  dl_conf.fraction = 1;
  start(NULL);
  dl_conf.no_caching = true;
  c = get(1000);
  is_int(fake.used, 1000, "without caching the driver is asked for just the bytes");
  is_int(allocated() + reserved(), 0, "and nothing is counted");
  dl_pool_free(c);
  is_int(fake.used, 0, "freed, they go back at once");
  dl_conf.no_caching = false;
}

static void sizes(void) {
  static const struct { int64_t n; const char *text; } row[] = {
      {0, "0 bytes"}, {1024, "1024 bytes"}, {1025, "1.00 KiB"}, {MB, "1024.00 KiB"},
      {MB + 1, "1.00 MiB"}, {1024 * MB, "1024.00 MiB"}, {1024 * MB + 1, "1.00 GiB"},
      {85 * 1024 * MB / 10, "8.50 GiB"}};
  char buf[32];
  for (size_t i = 0; i < sizeof row / sizeof *row; i++)
    is_str(dl_bytes_str(row[i].n, buf), row[i].text, "%lld bytes in words", (long long)row[i].n);
}

/* ---- expandable segments, at random -------------------- */

typedef struct told { int64_t mapped, used; uint64_t next; int bad; } told;
static void tell(void *ctx, const dl_pool_item *it) {
  told *t = ctx;
  t->bad += it->address < t->next || !it->expandable;
  t->next = it->address + (uint64_t)it->bytes;
  t->mapped += it->bytes;
  t->used += it->state == 1 ? it->bytes : 0;
}

static void expandable(void) {
  enum { N = 60 };
  dl_chunk *c[N] = {0};
  uint64_t x = 88172645463325252ull;
  int bad = 0, ooms = 0;
  fake.total = 900 * MB, fake.context = 100 * MB;
  start("expandable_segments:True");
  for (int i = 0; i < 20000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    int k = (int)(x % N);
    if (c[k]) dl_pool_free(c[k]), c[k] = NULL;
    else if (!(c[k] = get_on(1 + (int64_t)(x >> 20) % (i % 3 ? 40 * MB : 300000), i % 2))) ooms++;
    if (i % 50 == 0) dl_pool_empty_cache(pool);
    told t = {0};
    dl_pool_walk(pool, tell, &t);
    bad += t.bad || t.mapped != reserved() || t.used != allocated() || fake.used != reserved();
  }
  ok(bad == 0, "expandable segments at random: figures, blocks and the driver agree");
  ok(ooms > 0, "out of memory among them: %d times", ooms);
  for (int k = 0; k < N; k++)
    if (c[k]) dl_pool_free(c[k]);
  dl_pool_empty_cache(pool);
  is_int(fake.used, 0, "and all pages go back");
}

/* The textbook case: holes of 10 MiB, then 60 MiB. */
static void expandable_helps(void) {
  fake.total = 600 * MB, fake.context = 500 * MB;
  start("expandable_segments:True");
  dl_chunk *c[10];
  for (int i = 0; i < 10; i++) c[i] = get(10 * MB);
  for (int i = 0; i < 10; i++)
    if (i / 2 % 2 == 0) dl_pool_free(c[i]);
  dl_chunk *big = get(60 * MB);
  ok(big != NULL, "expandable segments: pages of holes serve a large block elsewhere");
  dl_pool_free(big);
  for (int i = 0; i < 10; i++)
    if (i / 2 % 2 == 1) dl_pool_free(c[i]);
}

int main(void) {
  options();
  roundup();
  streams();
  ladder();
  fragmentation();
  refusals();
  lost_device();
  limits();
  sizes();
  expandable();
  expandable_helps();
  dl_pool_delete(pool);
  dl_pool_conf_parse(NULL);
  is_int(fake.count, 0, "the driver has everything back");
  is_int(fake.wrong, 0, "and was never asked for nonsense");
  is_int(fake.events, 0, "no event is left");
  is_int(dl_mem.live_blocks, 0, "nor a block of the host");
  return tap_done();
}
