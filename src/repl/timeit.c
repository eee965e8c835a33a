/* timeit.c -- how long a function takes, as torch.utils.benchmark measures and prints it
 *
 * For magic.c. The steps are those of Timer.blocked_autorange: runs a measurement grow by tens
 * until the clock's own time is lost in them, then measurements are taken until 0.2 s are full.
 *
 * MUST NOT print. */
#include "repl/timeit.h"

#include <lauxlib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel.h"

enum { MAX_MEASUREMENTS = 20000 };
static const double MIN_RUN_TIME = 0.2; /* s */
static const double CLOCK_TIME = 5e-8;  /* s, of one look at the clock */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double measure(lua_State *L, lua_Integer runs) {
  double begin = now();
  for (lua_Integer i = 0; i < runs; i++) {
    lua_pushvalue(L, 1);
    lua_call(L, 0, 0);
  }
  return now() - begin;
}

static lua_Integer choose_runs(lua_State *L) {
  for (lua_Integer runs = 1;; runs *= 10) {
    double t = measure(L, runs);
    if (CLOCK_TIME / t <= 1e-4 && t >= MIN_RUN_TIME / 1000) return runs;
    if (t > MIN_RUN_TIME) return runs;
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(const double *t, int n, double q) {
  double at = q * (n - 1);
  int low = (int)at;
  return low + 1 < n ? t[low] + (at - low) * (t[low + 1] - t[low]) : t[low];
}

/* Add the text, a "%f" form with doubles. */
static void add(luaL_Buffer *b, const char *form, double x) {
  char text[80];
  luaL_addlstring(b, text, (size_t)snprintf(text, sizeof text, form, x));
}

static void add_numbers(luaL_Buffer *b, const double *t, int n) {
  static const char *const name[] = {"ns", "us", "ms", "s"};
  double median = quantile(t, n, 0.5), low = quantile(t, n, 0.25), high = quantile(t, n, 0.75);
  int u = (int)floor(log10(median) / 3) + 3;
  if (u < 0) u = 0;
  if (u > 3) u = 3;
  double scale = pow(1000, 3 - u);
  luaL_addstring(b, n > 1 ? "  Median: " : "  ");
  add(b, "%.2f ", median * scale);
  luaL_addstring(b, name[u]);
  if (n < 4) return;
  add(b, "\n  IQR:    %.2f ", (high - low) * scale);
  luaL_addstring(b, name[u]);
  add(b, " (%.2f to ", low * scale);
  add(b, "%.2f)", high * scale);
}

static void add_warning(luaL_Buffer *b, const double *t, int n) {
  double spread = (quantile(t, n, 0.75) - quantile(t, n, 0.25)) / quantile(t, n, 0.5);
  if (!(spread >= 0.1)) return;
  add(b, "\n  WARNING: Interquartile range is %.1f%% of the median measurement.\n", spread * 100);
  luaL_addstring(b, spread >= 0.25 ? "           This suggests significant environmental influence."
                                   : "           This could indicate system fluctuation.");
}

int dl_timeit(lua_State *L) {
  lua_Integer runs = lua_tointeger(L, 3), limit = lua_tointeger(L, 4);
  lua_settop(L, 2);
  double *t = lua_newuserdatauv(L, sizeof *t * MAX_MEASUREMENTS, 0), total = 0;
  int n = 0;
  measure(L, 1); /* the first run builds what later ones find */
  if (!runs) runs = choose_runs(L);
  while (n < MAX_MEASUREMENTS && (limit ? n < limit : n == 0 || total < MIN_RUN_TIME)) {
    double took = measure(L, runs);
    total += took;
    t[n++] = took / (double)runs;
  }
  qsort(t, (size_t)n, sizeof *t, by_value);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "<torch.utils.benchmark.utils.common.Measurement object at %p>\n%s\n", t,
                  lua_tostring(L, 2));
  luaL_addvalue(&b);
  add_numbers(&b, t, n);
  lua_pushfstring(L, "\n  %d measurement%s, %I runs %s %d thread%s", n, n > 1 ? "s" : "",
                  (LUAI_UACINT)runs, n > 1 ? "per measurement," : ",", dl_threads(),
                  dl_threads() > 1 ? "s" : "");
  luaL_addvalue(&b);
  add_warning(&b, t, n);
  luaL_pushresult(&b);
  return 1;
}
