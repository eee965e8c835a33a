/* mem_pool.c -- the pool's rules against worked examples of PyTorch's allocator, to the byte */
#include "fake_driver.h"
#include "tap.h"

#include <stdio.h>

#define MB ((int64_t)1 << 20)

static dl_pool *pool;

static dl_chunk *get(int64_t n) {
  dl_chunk *c = NULL;
  if (dl_pool_alloc(pool, (size_t)n, 0, &c) != DL_OK)
    tap_diag("%lld: %s", (long long)n, dl_err.message);
  return c;
}

/* A fresh pool with these options. */
static void start(const char *conf) {
  dl_pool_delete(pool);
  dl_pool_conf_parse(NULL);
  if (conf) dl_pool_conf_parse(conf);
  pool = dl_pool_new(&fake_driver, 0);
}

/* allocated | reserved | active | inactive_split count/bytes | segments, as the examples have it */
static void is_now(int64_t allocated, int64_t reserved, int64_t active, int64_t holes,
                   int64_t hole_bytes, int64_t segments, const char *name) {
  const dl_pool_stats *s = dl_pool_figures(pool);
  char got[200], want[200];
  snprintf(got, sizeof got, "%lld | %lld | %lld | %lld/%lld | %lld",
           (long long)s->allocated_bytes[0].current, (long long)s->reserved_bytes[0].current,
           (long long)s->active_bytes[0].current, (long long)s->inactive_split[0].current,
           (long long)s->inactive_split_bytes[0].current, (long long)s->segment[0].current);
  snprintf(want, sizeof want, "%lld | %lld | %lld | %lld/%lld | %lld", (long long)allocated,
           (long long)reserved, (long long)active, (long long)holes, (long long)hole_bytes,
           (long long)segments);
  is_str(got, want, "%s", name);
}
/* The same where nothing waits for a stream: active is what is allocated. */
#define IS(alloc, reserved, holes, hole_bytes, segments, name) \
  is_now(alloc, reserved, alloc, holes, hole_bytes, segments, name)

static void one_float(void) {
  start(NULL);
  dl_chunk *a = get(4);
  IS(512, 2097152, 1, 2096640, 1, "one float takes 512 bytes of a 2 MiB segment");
  dl_chunk *b = get(1000);
  IS(1536, 2097152, 1, 2095616, 1, "1000 bytes take 1024");
  is_int(dl_pool_figures(pool)->requested_bytes[0].current, 1004, "1004 bytes were asked for");
  dl_pool_free(a);
  IS(1024, 2097152, 2, 2096128, 1, "freeing the first leaves a hole before the second");
  dl_pool_free(b);
  IS(0, 2097152, 0, 0, 1, "freeing the second joins all three; the segment stays");
  ok(dl_pool_empty_cache(pool) == DL_OK, "empty_cache runs");
  IS(0, 0, 0, 0, 0, "and gives the segment back");
  is_int(dl_pool_figures(pool)->allocated_bytes[0].peak, 1536, "the peak of allocated stays");
  is_int(dl_pool_figures(pool)->reserved_bytes[0].peak, 2097152, "the peak of reserved stays");
}

static void small_merging(void) {
  start(NULL);
  dl_chunk *a = get(512 << 10), *b = get(512 << 10), *c = get(512 << 10);
  IS(1572864, 2097152, 1, 524288, 1, "three halves of a MiB");
  void *hole = dl_chunk_ptr(b);
  dl_pool_free(b);
  IS(1048576, 2097152, 2, 1048576, 1, "freeing the middle one makes a second hole");
  dl_chunk *d = get(256 << 10);
  ok(dl_chunk_ptr(d) == hole, "of two equal holes the lower one serves");
  IS(1310720, 2097152, 2, 786432, 1, "and is split");
  dl_pool_free(a);
  IS(786432, 2097152, 3, 1310720, 1, "freeing the first makes a third hole");
  dl_pool_free(d);
  IS(524288, 2097152, 2, 1572864, 1, "freeing between two holes joins them");
  dl_pool_free(c);
  IS(0, 2097152, 0, 0, 1, "freeing the last joins everything");
}

static void large_segment(void) {
  start(NULL);
  dl_chunk *a = get(5 * MB);
  IS(5242880, 20971520, 1, 15728640, 1, "5 MiB come from a 20 MiB segment");
  dl_chunk *b = get(9 * MB);
  IS(14680064, 20971520, 1, 6291456, 1, "9 MiB more fit there");
  dl_chunk *c = get(5242881);
  IS(20971520, 20971520, 0, 0, 1, "a rest of at most 1 MiB is handed out with the block");
  is_int(dl_pool_figures(pool)->requested_bytes[0].current, 19922945, "what was asked is exact");
  dl_chunk *d = get(3 * MB);
  IS(24117248, 41943040, 1, 17825792, 2, "3 MiB more need a second segment");
  dl_pool_free(a);
  IS(18874368, 41943040, 2, 23068672, 2, "freeing the first leaves a hole");
  dl_pool_free(b);
  IS(9437184, 41943040, 2, 32505856, 2, "freeing the second widens it");
  dl_chunk *e = get(14 * MB);
  IS(24117248, 41943040, 1, 17825792, 2, "14 MiB take the exact fit, not the larger rest");
  dl_pool_free(c), dl_pool_free(d), dl_pool_free(e);
}

static void small_rest(void) {
  start(NULL);
  dl_chunk *a = get(20447232);
  IS(20971520, 20971520, 0, 0, 1, "a rest of half a MiB is not split off");
  dl_pool_free(a);
  a = get(18 * MB);
  IS(18874368, 20971520, 1, 2097152, 1, "a rest of 2 MiB is");
  dl_pool_free(a);
  a = get(1048577);
  IS(1049088, 20971520, 1, 19922432, 1, "a byte above 1 MiB comes from the large part");
  dl_pool_empty_cache(pool);
  IS(1049088, 20971520, 1, 19922432, 1, "empty_cache keeps a segment that is partly used");
  dl_pool_free(a);
  dl_pool_empty_cache(pool);
  IS(0, 0, 0, 0, 0, "and gives it back once it is free");
}

static void cap_and_oom(void) {
  fake.total = 1024 * MB, fake.context = 100 * MB;
  start(NULL);
  dl_pool_set_fraction(pool, 64.0 / 1024);
  dl_chunk *c[5];
  for (int i = 0; i < 4; i++) c[i] = get(16 * MB);
  IS(67108864, 67108864, 0, 0, 4, "four times 16 MiB fill the 64 MiB allowed");
  dl_pool_free(c[0]), dl_pool_free(c[2]);
  IS(33554432, 67108864, 0, 0, 4, "two are freed and stay cached");
  c[4] = get(32 * MB);
  IS(67108864, 67108864, 0, 0, 3, "32 MiB fit after the cache is given back");
  const dl_pool_stats *s = dl_pool_figures(pool);
  is_int(s->num_alloc_retries, 1, "one retry");
  is_int(s->num_device_alloc, 5, "five segments were asked for");
  is_int(s->num_device_free, 2, "two went back");
  dl_pool_free(c[3]);
  dl_chunk *none = c[0];
  is_status(dl_pool_alloc(pool, 34 * MB, 0, &none),
            "OutOfMemoryError: CUDA out of memory. Tried to allocate 34.00 MiB. GPU 0 has a total "
            "capacity of 1024.00 MiB of which 876.00 MiB is free. Including non-PyTorch memory, "
            "this process has 148.00 MiB memory in use. 64.00 MiB allowed; Of the allocated memory "
            "48.00 MiB is allocated by PyTorch, and 0 bytes is reserved by PyTorch but "
            "unallocated. If reserved but unallocated memory is large try setting "
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See "
            "documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/"
            "cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)",
            "34 MiB do not fit: PyTorch's text, whole");
  ok(none == NULL, "nothing was handed out");
  IS(50331648, 50331648, 0, 0, 2, "the cache was given back and what lives lives on");
  is_int(s->num_alloc_retries, 2, "a second retry");
  is_int(s->num_ooms, 1, "one out of memory");
  dl_pool_set_fraction(pool, 1.0);
  dl_chunk *big = get(34 * MB);
  ok(big != NULL, "fraction 1 lifts the limit");
  dl_pool_free(big), dl_pool_free(c[1]), dl_pool_free(c[4]);
}

static void max_split(void) {
  fake.total = (int64_t)8 << 30;
  start("max_split_size_mb:32");
  dl_pool_free(get(100 * MB));
  IS(0, 104857600, 0, 0, 1, "max_split_size_mb:32: a block of 100 MiB is cached");
  dl_chunk *a = get(20 * MB);
  IS(20971520, 125829120, 0, 0, 2, "20 MiB do not break it: it is oversize");
  dl_chunk *b = get(40 * MB);
  IS(62914560, 167772160, 0, 0, 3, "40 MiB do not take it: 60 MiB would be lost");
  is_int(dl_pool_figures(pool)->oversize_allocations.current, 1, "one oversize allocation lives");
  is_int(dl_pool_figures(pool)->oversize_segments.current, 2, "in two oversize segments");
  dl_pool_free(a), dl_pool_free(b);
  a = get(85 * MB);
  IS(104857600, 167772160, 0, 0, 3, "85 MiB take it whole");
  is_int(dl_pool_figures(pool)->requested_bytes[0].current, 89128960, "85 MiB were asked for");
  is_int(dl_pool_figures(pool)->max_split_size, 32 * MB, "max_split_size is told");
  dl_pool_free(a);
  a = get(80 * MB);
  IS(83886080, 251658240, 0, 0, 4, "80 MiB do not: 20 MiB would be lost");
  dl_pool_free(a);
}

static void linear_layer(void) {
  start(NULL);
  dl_chunk *w = get(40000), *b = get(40), *x = get(4000);
  dl_chunk *work = get(8519680), *y = get(40), *t = get(40);
  dl_pool_free(y); /* X @ W, before the bias is added */
  IS(8565248, 23068672, 3, 14503424, 2, "the snapshot of a linear layer on a real card");
  dl_pool_free(w), dl_pool_free(b), dl_pool_free(x), dl_pool_free(t), dl_pool_free(work);
}

static void expandable(void) {
  start("expandable_segments:True");
  dl_chunk *a = get(4);
  IS(512, 2 * MB, 0, 0, 0, "expandable: a float maps one page of 2 MiB");
  dl_chunk *b = get(5 * MB);
  IS(512 + 5 * MB, 22 * MB, 0, 0, 0, "5 MiB map one page of 20 MiB");
  dl_chunk *c = get(25 * MB);
  IS(31457792, 44040192, 0, 0, 0, "25 MiB use the 15 left and map one page more");
  ok((char *)dl_chunk_ptr(c) == (char *)dl_chunk_ptr(b) + 5 * MB, "right behind the 5 MiB");
  dl_pool_free(b);
  dl_pool_empty_cache(pool);
  IS(512 + 25 * MB, 44040192, 0, 0, 0, "no page is wholly free: nothing goes back");
  dl_pool_free(c);
  dl_pool_empty_cache(pool);
  IS(512, 2097152, 0, 0, 0, "then both large pages do");
  dl_pool_free(a);
  dl_pool_empty_cache(pool);
  IS(0, 0, 0, 0, 0, "at last the small one");
  is_int(fake.count, 0, "and the ranges of addresses");
}

static char warning[200];
static void hear(const char *category, const char *text) {
  snprintf(warning, sizeof warning, "%s: %s", category, text);
}

static void not_expandable(void) {
  start("expandable_segments:True");
  void (*sink)(const char *, const char *) = dl_warn_sink;
  dl_warn_sink = hear;
  fake.no_ranges = true;
  dl_chunk *a = get(4);
  IS(512, 2 * MB, 1, 2 * MB - 512, 1, "a driver without ranges of addresses gives a whole segment");
  is_str(warning, "UserWarning: expandable_segments not supported on this platform",
         "and a warning says so");
  dl_pool_free(a);
  dl_pool_empty_cache(pool);
  IS(0, 0, 0, 0, 0, "which goes back");
  fake.no_ranges = false;
  dl_warn_sink = sink;
}

int main(void) {
  one_float();
  small_merging();
  large_segment();
  small_rest();
  cap_and_oom();
  max_split();
  linear_layer();
  expandable();
  not_expandable();
  dl_pool_delete(pool);
  dl_pool_conf_parse(NULL);
  is_int(fake.used, 0, "the driver has everything back");
  is_int(fake.wrong, 0, "and was never asked for nonsense");
  return tap_done();
}
