/* base_copy.c -- the strided copy against one element at a time, and the threads under it */
#include <math.h>
#include <string.h>

#include "kernel.h"
#include "tap.h"

static uint64_t state = 1;
static uint64_t random_below(uint64_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (state >> 33) % n;
}

#define ROOM 60000 /* elements behind each view */
static char src_room[ROOM * 8], dst_room[ROOM * 8], want_room[ROOM * 8];

static void fill(dl_dtype d) {
  for (int i = 0; i < ROOM; i++)
    dl_elem_set_f64(d, src_room + (size_t)i * dl_dtype_size(d), (double)random_below(100) - 20);
}

/* Random sizes, strides of a random permutation of dims with gaps; returns numel. */
static int64_t random_view(dl_view *v, int64_t *size, int64_t *stride, bool gaps, bool expand) {
  int perm[DL_MAXDIM];
  for (int i = 0; i < v->ndim; i++) {
    perm[i] = i;
    int j = (int)random_below((uint64_t)i + 1);
    perm[i] = perm[j];
    perm[j] = i;
  }
  int64_t step = 1;
  for (int i = 0; i < v->ndim; i++) {
    int d = perm[i];
    stride[d] = step;
    step *= size[d] + (gaps && random_below(3) == 0);
    if (expand && random_below(4) == 0) stride[d] = 0;
  }
  v->size = size;
  v->stride = stride;
  v->numel = 1;
  for (int i = 0; i < v->ndim; i++) v->numel *= size[i];
  return v->numel;
}

static void copy_slowly(const dl_view *d, const dl_view *s, char *dst) {
  for (int64_t i = 0; i < d->numel; i++) {
    int64_t rest = i, di = 0, si = 0;
    for (int k = d->ndim - 1; k >= 0; k--) {
      di += rest % d->size[k] * d->stride[k];
      si += rest % d->size[k] * s->stride[k];
      rest /= d->size[k];
    }
    char *to = dst + di * (int64_t)dl_dtype_size((dl_dtype)d->dtype);
    const char *from = s->data + si * (int64_t)dl_dtype_size((dl_dtype)s->dtype);
    if (dl_dtype_is_float((dl_dtype)s->dtype))
      dl_elem_set_f64((dl_dtype)d->dtype, to, dl_elem_get_f64((dl_dtype)s->dtype, from));
    else
      dl_elem_set_i64((dl_dtype)d->dtype, to, dl_elem_get_i64((dl_dtype)s->dtype, from));
  }
}

static bool copy_agrees(dl_dtype dt, dl_dtype st) {
  int64_t size[DL_MAXDIM], ds[DL_MAXDIM], ss[DL_MAXDIM];
  dl_view d = {.data = dst_room, .dtype = (uint8_t)dt};
  dl_view s = {.data = src_room, .dtype = (uint8_t)st};
  d.ndim = s.ndim = (uint8_t)random_below(5);
  static const int64_t most[] = {0, 3000, 150, 24, 10};
  for (int i = 0; i < d.ndim; i++) size[i] = 1 + (int64_t)random_below((uint64_t)most[d.ndim]);
  random_view(&d, size, ds, true, false);
  random_view(&s, size, ss, true, true);
  memset(dst_room, 0x55, sizeof dst_room);
  memset(want_room, 0x55, sizeof want_room);
  copy_slowly(&d, &s, want_room);
  dl_copy_view(&d, &s);
  return memcmp(dst_room, want_room, sizeof dst_room) == 0;
}

static void copies(void) {
  for (int st = 0; st < DL_DTYPE_COUNT; st++) {
    fill((dl_dtype)st);
    int wrong = 0;
    for (int dt = 0; dt < DL_DTYPE_COUNT; dt++)
      for (int k = 0; k < 12; k++) wrong += !copy_agrees((dl_dtype)dt, (dl_dtype)st);
    is_int(wrong, 0, "copies from %s agree with the slow copy", dl_dtypes[st].name);
  }
}

static dl_view row(void *data, dl_dtype d, const int64_t *n) {
  static const int64_t one = 1;
  return (dl_view){data, (uint8_t)d, 1, *n, n, &one};
}

static void half_by_hardware(void) {
  static dl_half all[65536], back[65536];
  static float f[65536];
  int64_t n = 65536;
  for (int i = 0; i < 65536; i++) all[i].bits = (uint16_t)i;
  dl_view h = row(all, DL_F16, &n), v = row(f, DL_F32, &n), b = row(back, DL_F16, &n);
  dl_copy_view(&v, &h);
  dl_copy_view(&b, &v);
  int up = 0, down = 0;
  for (int i = 0; i < 65536; i++) {
    float want = dl_half_to_f32(all[i]);
    up += memcmp(&want, &f[i], 4) != 0 && !(isnan(want) && isnan(f[i]));
    down += all[i].bits != back[i].bits && !isnan(want);
  }
  is_int(up, 0, "65536 halves in a row read as one by one");
  is_int(down, 0, "and are written as one by one");
}

static void large_transpose(void) {
  enum { N = 700, M = 513 };
  static float a[N * M], b[N * M];
  for (int i = 0; i < N * M; i++) a[i] = (float)i;
  int64_t size[] = {M, N}, turned[] = {1, M}, rows[] = {N, 1};
  dl_view s = {(char *)a, DL_F32, 2, N * M, size, turned};
  dl_view d = {(char *)b, DL_F32, 2, N * M, size, rows};
  dl_copy_view(&d, &s);
  int wrong = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) wrong += b[i * N + j] != a[j * M + i];
  is_int(wrong, 0, "a 700 x 513 transpose on all threads");
}

/* ---- threads -------------------- */

static unsigned char visits[1000003];
static int64_t crooked;
static void visit(void *ctx, int64_t lo, int64_t hi) {
  int64_t grain = *(int64_t *)ctx;
  if (lo % grain != 0) __atomic_fetch_add(&crooked, 1, __ATOMIC_RELAXED);
  for (int64_t i = lo; i < hi; i++) visits[i]++;
}
static void interrupt(void *ctx, int64_t lo, int64_t hi) {
  (void)ctx, (void)lo, (void)hi;
  dl_cancel = 1;
}

static void threads(void) {
  int64_t n = sizeof visits;
  for (int k = 1; k <= 3; k++) {
    dl_set_threads(k);
    is_int(dl_threads(), k, "%d threads can be set", k);
    int64_t grain = k == 1 ? 7 : 1000, wrong = 0;
    memset(visits, 0, sizeof visits);
    crooked = 0;
    is_status(dl_parallel(n, grain, visit, &grain), "", "a loop of a million on %d threads", k);
    for (int64_t i = 0; i < n; i++) wrong += visits[i] != 1;
    is_int(wrong, 0, "visits every element once");
    is_int(crooked, 0, "in pieces that begin at multiples of the grain");
  }
  is_status(dl_parallel(100000000, 1, interrupt, NULL), "KeyboardInterrupt: ",
            "an interrupt ends a long loop");
  is_status(dl_parallel(0, 1, interrupt, NULL), "", "an empty loop does nothing");
  dl_cancel = 0;
  void *p;
  is_status(dl_scratch(100000, &p), "", "scratch memory is given");
  dl_scratch_free(p, 100000);
  is_int(dl_mem.live_bytes, 0, "and given back");
}

int main(void) {
  copies();
  half_by_hardware();
  large_transpose();
  threads();
  return tap_done();
}
