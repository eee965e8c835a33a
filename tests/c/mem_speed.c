/* mem_speed.c -- what a cached block of GPU memory costs: told, and never judged by the clock
 *
 * For `make bench`. The best of five measurements of each case, in processor time. */
#include "fake_driver.h"
#include "tap.h"

#include <time.h>

enum { LIVE = 1000, CALLS = 20000, TIMES = 5 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double one_pair(dl_pool *p, size_t bytes) {
  double start = now_ns();
  for (int i = 0; i < CALLS; i++) {
    dl_chunk *c;
    if (dl_pool_alloc(p, bytes, 0, &c) != DL_OK) return 0;
    dl_pool_free(c);
  }
  return (now_ns() - start) / CALLS;
}

static double best(dl_pool *p, size_t bytes) {
  double least = 1e9;
  for (int i = 0; i < TIMES; i++) {
    double ns = one_pair(p, bytes);
    if (ns < least) least = ns;
  }
  return least;
}

int main(void) {
  static const size_t sizes[] = {512, 100000, 4 << 20};
  dl_chunk *live[LIVE];
  dl_pool *p = dl_pool_new(&fake_driver, 0);
  for (int i = 0; i < LIVE; i++)
    dl_pool_alloc(p, (size_t)(i * 7919 % 100 + 1) * 1000, 0, &live[i]);
  for (int i = 0; i < LIVE; i += 2) dl_pool_free(live[i]);
  bool good = true;
  for (int i = 0; i < 3; i++) {
    double ns = best(p, sizes[i]);
    good = good && ns > 0;
    tap_diag("malloc and free of %zu bytes beside %d live blocks: %.0f ns", sizes[i], LIVE / 2, ns);
  }
  ok(good, "cached blocks are handed out and taken back");
  for (int i = 1; i < LIVE; i += 2) dl_pool_free(live[i]);
  dl_pool_delete(p);
  return tap_done();
}
