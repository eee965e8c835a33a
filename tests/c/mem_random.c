/* mem_random.c -- random calls of the pool beside a plain model of PyTorch's allocator
 *
 * The model keeps each segment as an array of blocks, searches by looking at every one, and counts
 * the figures afresh after every step; what the pool hands out must lie at the same place. */
#include "fake_driver.h"
#include "tap.h"

#include <stdio.h>

#define MB ((int64_t)1 << 20)
enum { FREE, USED, WAITING, SEGMENTS = 600, BLOCKS = 700, HANDLES = 300 };

typedef struct block { int64_t bytes, asked, born; int state, handle; } block;
typedef struct segment {
  char *addr;
  int64_t bytes;
  int part, count;
  dl_stream stream;
  block b[BLOCKS];
} segment;

static segment *seg[SEGMENTS];
static int segs;
static int64_t reserved, retries, ooms, lookups[3], allowed, gc_at;
static struct { dl_chunk *chunk; bool live, foreign; int64_t after; } handle[HANDLES];

/* ---- the model -------------------- */

static int64_t up(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

static int64_t rounded(int64_t n) {
  int64_t floor = 1, mb = n / MB, d;
  int i = 0;
  while (mb > 1) mb /= 2, i++;
  d = dl_conf.roundup[i];
  while (floor * 2 <= n) floor *= 2;
  return d > 1 && n > 512 * d ? up(n, floor / d) : up(n, 512);
}
static int64_t segment_bytes(int64_t n) {
  return n <= MB ? 2 * MB : n < 10 * MB ? 20 * MB : up(n, 2 * MB);
}

typedef struct place { segment *s; int i; char *at; } place;

/* The smallest free block of at least n bytes, the lowest of equals. */
static bool best(int part, dl_stream stream, int64_t n, place *out) {
  int64_t least = INT64_MAX;
  *out = (place){0};
  for (int k = 0; k < segs; k++) {
    char *at = seg[k]->addr;
    if (seg[k]->part != part || seg[k]->stream != stream) continue;
    for (int i = 0; i < seg[k]->count; at += seg[k]->b[i++].bytes) {
      block *b = &seg[k]->b[i];
      if (b->state != FREE || b->bytes < n || b->bytes > least) continue;
      if (b->bytes == least && at > out->at) continue;
      least = b->bytes;
      *out = (place){seg[k], i, at};
    }
  }
  if (!out->s) return false;
  if (n < dl_conf.max_split_size) return least < dl_conf.max_split_size;
  return least < n + 20 * MB;
}

static void drop(int k) {
  reserved -= seg[k]->bytes;
  free(seg[k]);
  seg[k] = seg[--segs];
}
static bool idle(int k) { return seg[k]->count == 1 && seg[k]->b[0].state == FREE; }

static bool grow(int part, dl_stream stream, int64_t bytes, char *addr) {
  if (reserved + bytes > allowed) return false;
  segment *s = calloc(1, sizeof *s);
  s->addr = addr;
  s->bytes = bytes;
  s->part = part;
  s->stream = stream;
  s->count = 1;
  s->b[0] = (block){.bytes = bytes, .state = FREE};
  seg[segs++] = s;
  reserved += bytes;
  return true;
}

static void merge(segment *s, int i) {
  s->b[i].state = FREE;
  s->b[i].born = lookups[s->part];
  for (int j = i + 1; j >= i; j--) { /* with the next, then with the one before */
    if (j == 0 || j >= s->count || s->b[j].state != FREE || s->b[j - 1].state != FREE) continue;
    s->b[j - 1].bytes += s->b[j].bytes;
    s->b[j - 1].born = lookups[s->part];
    memmove(&s->b[j], &s->b[j + 1], (size_t)(s->count - j - 1) * sizeof(block));
    s->count--;
  }
}

static void finish_events(bool all) {
  for (int k = 0; k < segs; k++)
    for (int i = 0; i < seg[k]->count; i++) {
      block *b = &seg[k]->b[i];
      if (b->state == WAITING && (all || fake.done[5] >= handle[b->handle].after)) {
        merge(seg[k], i);
        i = -1;
      }
    }
}

static void collect_old(void) {
  int64_t target = reserved - gc_at, gone = 0;
  bool again = true;
  double total = 0;
  int n = 0;
  for (int k = 0; k < segs; k++)
    if (seg[k]->part == 2 && idle(k)) total += (double)(lookups[2] - seg[k]->b[0].born), n++;
  while (again && gone < target && n > 0) {
    double average = total / n;
    again = false;
    for (int k = 0; k < segs; k++) {
      if (seg[k]->part != 2 || !idle(k)) continue;
      double age = (double)(lookups[2] - seg[k]->b[0].born);
      if (age < average) continue;
      total -= age;
      n--;
      gone += seg[k]->bytes;
      drop(k--);
      again = true;
    }
  }
}

/* With max_split_size: the smallest oversize block that would fit, or the largest until enough. */
static bool release_oversize(dl_stream stream, int64_t n) {
  int64_t limit = dl_conf.max_split_size, gone = 0;
  if (limit == INT64_MAX) return false;
  if (n < limit) n = limit;
  int pick = -1;
  for (int k = 0; k < segs; k++)
    if (idle(k) && seg[k]->part == 2 && seg[k]->stream == stream && seg[k]->bytes >= n)
      if (pick < 0 || seg[k]->bytes < seg[pick]->bytes ||
          (seg[k]->bytes == seg[pick]->bytes && seg[k]->addr < seg[pick]->addr))
        pick = k;
  if (pick >= 0) return drop(pick), true;
  while (gone < n) {
    pick = -1;
    for (int k = 0; k < segs; k++)
      if (idle(k) && seg[k]->part == 2 && seg[k]->stream == stream && seg[k]->bytes >= limit)
        if (pick < 0 || seg[k]->bytes > seg[pick]->bytes ||
            (seg[k]->bytes == seg[pick]->bytes && seg[k]->addr > seg[pick]->addr))
          pick = k;
    if (pick < 0) break;
    gone += seg[pick]->bytes;
    drop(pick);
  }
  return gone >= n;
}

static void flush(void) {
  finish_events(true);
  for (int k = segs; k-- > 0;)
    if (idle(k)) drop(k);
}

/* Where the model expects n bytes; NULL when it is out of memory. */
static char *expect(int64_t asked, dl_stream stream, int h, char *fresh) {
  int64_t n = rounded(asked), bytes = segment_bytes(n);
  int part = n <= MB ? 1 : 2;
  place p;
  finish_events(false);
  if (gc_at) lookups[part]++;
  if (!best(part, stream, n, &p)) {
    if (gc_at && reserved > gc_at) collect_old();
    bool ok = grow(part, stream, bytes, fresh);
    if (!ok && part == 2 && release_oversize(stream, n)) ok = grow(part, stream, bytes, fresh);
    if (!ok) {
      flush();
      retries++;
      if (!grow(part, stream, bytes, fresh)) return ooms++, NULL;
    }
    p = (place){seg[segs - 1], 0, fresh};
  }
  block *b = &p.s->b[p.i];
  int64_t rest = b->bytes - n;
  if (part == 1 ? rest >= 512 : n < dl_conf.max_split_size && rest > MB) {
    memmove(b + 1, b, (size_t)(p.s->count - p.i) * sizeof *b);
    p.s->count++;
    b[1].bytes = rest;
    b->bytes = n;
  }
  b->state = USED;
  b->asked = asked;
  b->handle = h;
  return p.at;
}

static void expect_free(int h) {
  for (int k = 0; k < segs; k++)
    for (int i = 0; i < seg[k]->count; i++) {
      block *b = &seg[k]->b[i];
      if (b->state != USED || b->handle != h) continue;
      if (handle[h].foreign) b->state = WAITING, handle[h].after = fake.recorded[5] + 1;
      else merge(seg[k], i);
      return;
    }
}

/* ---- beside each other -------------------- */

typedef struct sums { int64_t n[3][9]; } sums; /* [part][figure] */

static sums count_model(void) {
  sums t = {0};
  for (int k = 0; k < segs; k++) {
    int64_t *a = t.n[0], *p = t.n[seg[k]->part];
    a[0]++, p[0]++;
    a[1] += seg[k]->bytes, p[1] += seg[k]->bytes;
    for (int i = 0; i < seg[k]->count; i++) {
      block *b = &seg[k]->b[i];
      bool split = seg[k]->count > 1, hole = b->state == FREE && split;
      int64_t add[9] = {0, 0, b->state == USED, b->state == USED ? b->bytes : 0, b->state != FREE,
                        b->state ? b->bytes : 0, hole, hole ? b->bytes : 0,
                        b->state ? b->asked : 0};
      for (int f = 2; f < 9; f++) a[f] += add[f], p[f] += add[f];
    }
  }
  return t;
}

static sums count_pool(dl_pool *pool) {
  const dl_pool_stats *s = dl_pool_figures(pool);
  const dl_stat *of[9] = {s->segment, s->reserved_bytes, s->allocation, s->allocated_bytes,
                          s->active, s->active_bytes, s->inactive_split, s->inactive_split_bytes,
                          s->requested_bytes};
  sums t;
  for (int part = 0; part < 3; part++)
    for (int f = 0; f < 9; f++) t.n[part][f] = of[f][part].current;
  return t;
}

typedef struct tiling { uint64_t segment, next; int64_t left; bool free_before; int bad; } tiling;

static void tile(void *ctx, const dl_pool_item *it) {
  tiling *t = ctx;
  if (it->segment != t->segment) {
    t->bad += t->left != 0 || it->segment < t->next || it->address != it->segment;
    *t = (tiling){it->segment, it->segment, it->segment_bytes, false, t->bad};
  }
  t->bad += it->address != t->next || (t->free_before && it->state == FREE);
  t->next += (uint64_t)it->bytes;
  t->left -= it->bytes;
  t->free_before = it->state == FREE;
}

static uint64_t seed;
static uint64_t rnd(uint64_t n) {
  seed = seed * 6364136223846793005ull + 1442695040888963407ull;
  return (seed >> 33) % n;
}
static int64_t random_size(void) {
  static const int64_t top[] = {2000, 100000, 2 * MB, 12 * MB, 70 * MB};
  return 1 + (int64_t)rnd((uint64_t)top[rnd(5)]);
}

/* One random call on both; what differed, or NULL. */
static const char *step(dl_pool *pool) {
  int h = (int)rnd(HANDLES);
  unsigned what = (unsigned)rnd(100);
  if (what == 0) {
    flush();
    dl_pool_empty_cache(pool);
  } else if (what < 4) {
    fake.done[5] = fake.recorded[5] - (int64_t)rnd(3);
  } else if (handle[h].live) {
    handle[h].live = false;
    expect_free(h);
    dl_pool_free(handle[h].chunk);
  } else if (what < 80) {
    int64_t n = random_size();
    dl_stream stream = what % 9 == 0;
    char *want = expect(n, stream, h, fake.top);
    dl_status st = dl_pool_alloc(pool, (size_t)n, stream, &handle[h].chunk);
    if ((st == DL_OK) != (want != NULL)) return "one of them was out of memory";
    if (want && dl_chunk_ptr(handle[h].chunk) != want) return "the places differ";
    handle[h].live = want != NULL;
    handle[h].foreign = want && what % 7 == 0;
    if (handle[h].foreign) dl_pool_record_stream(handle[h].chunk, 5);
  }
  sums a = count_model(), b = count_pool(pool);
  if (memcmp(&a, &b, sizeof a) != 0) return "the figures differ";
  return NULL;
}

static void run(const char *conf, double fraction, int steps, const char *name) {
  dl_pool_conf_parse(NULL);
  dl_pool_conf_parse(conf);
  dl_pool *pool = dl_pool_new(&fake_driver, 0);
  dl_pool_set_fraction(pool, fraction);
  allowed = fraction < 1 ? (int64_t)(fraction * (double)fake.total) : fake.total - fake.context;
  gc_at = dl_conf.gc_threshold > 0 ? (int64_t)(dl_conf.gc_threshold * (double)allowed) : 0;
  retries = ooms = lookups[1] = lookups[2] = 0;
  const char *bad = NULL;
  int i = 0;
  for (; i < steps && !bad; i++) {
    bad = step(pool);
    tiling t = {0};
    if (!bad && i % 16 == 0) dl_pool_walk(pool, tile, &t);
    if (!bad && (t.bad || t.left)) bad = "the blocks do not tile the segments";
  }
  const dl_pool_stats *s = dl_pool_figures(pool);
  if (!bad && s->num_alloc_retries != retries) bad = "the retries differ";
  if (!bad && s->num_ooms != ooms) bad = "the OOMs differ";
  ok(bad == NULL, "%s", name);
  if (bad) tap_diag("step %d: %s", i, bad);
  tap_diag("%d steps, %lld retries, %lld times out of memory, %d segments at the end", i,
           (long long)retries, (long long)ooms, segs);
  for (int h = 0; h < HANDLES; h++) {
    if (handle[h].live) dl_pool_free(handle[h].chunk);
    handle[h].live = false;
  }
  while (segs) drop(0);
  dl_pool_delete(pool);
  is_int(fake.used, 0, "everything goes back (%s)", conf);
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 20000;
  seed = 12345;
  run("", 1.0, steps, "random calls agree with the model");
  run("", 0.125, steps, "under a limit of 1 GiB, retries and all");
  run("max_split_size_mb:32", 0.0625, steps, "with max_split_size_mb");
  run("garbage_collection_threshold:0.5", 0.125, steps, "with garbage_collection_threshold");
  run("roundup_power2_divisions:[1:4,16:8,>:2]", 0.125, steps, "with roundup_power2_divisions");
  is_int(fake.wrong, 0, "the driver was never asked for nonsense");
  is_int(fake.events, 0, "no event is left");
  return tap_done();
}
