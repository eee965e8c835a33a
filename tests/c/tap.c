/* tap.c -- see tap.h */
#include "tap.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int count, failed;

/* The TAP line; '#' would begin a directive, so it is escaped. */
static bool report(const char *file, int line, bool good, const char *fmt, va_list ap) {
  char name[512];
  if (count++ == 0) setvbuf(stdout, NULL, _IOLBF, 0);
  if (!good) failed++;
  vsnprintf(name, sizeof name, fmt, ap);
  printf("%s %d - ", good ? "ok" : "not ok", count);
  for (const char *p = name; *p; p++) printf("%s%c", *p == '#' ? "\\" : "", *p == '\n' ? ' ' : *p);
  printf("\n");
  if (!good) printf("#   at %s:%d\n", file, line);
  return good;
}

#define REPORT(good)                                                                \
  do {                                                                              \
    va_list ap;                                                                     \
    va_start(ap, name);                                                             \
    report(file, line, (good), name, ap);                                           \
    va_end(ap);                                                                     \
  } while (0)

/* "# label: text", every line of the text behind a '#'. */
static void side(const char *label, const char *text) {
  printf("#   %s: ", label);
  for (const char *p = text ? text : "NULL"; *p; p++) {
    putchar(*p);
    if (*p == '\n') printf("#         ");
  }
  printf("\n");
}

bool tap_ok(const char *file, int line, bool good, const char *expr, const char *name, ...) {
  REPORT(good);
  if (!good) side("false", expr);
  return good;
}

bool tap_int(const char *file, int line, int64_t got, int64_t want, const char *name, ...) {
  bool good = got == want;
  REPORT(good);
  if (!good) printf("#    got: %lld\n#   want: %lld\n", (long long)got, (long long)want);
  return good;
}

bool tap_str(const char *file, int line, const char *got, const char *want, const char *name, ...) {
  bool good = got && want ? strcmp(got, want) == 0 : got == want;
  REPORT(good);
  if (!good) side(" got", got), side("want", want);
  return good;
}

bool tap_double(const char *file, int line, double got, double want, double tol, const char *name,
                ...) {
  bool good = (isnan(got) && isnan(want)) || got == want || fabs(got - want) <= tol;
  REPORT(good);
  if (!good) printf("#    got: %.17g\n#   want: %.17g within %g\n", got, want, tol);
  return good;
}

static bool begins(const char *got, const char *want) {
  static const char more[] = "…";
  size_t n = strlen(want), m = sizeof more - 1;
  if (n >= m && strcmp(want + n - m, more) == 0) return strncmp(got, want, n - m) == 0;
  return strcmp(got, want) == 0;
}

bool tap_like(const char *file, int line, const char *got, const char *want, const char *name,
              ...) {
  bool good = got && begins(got, want);
  REPORT(good);
  if (!good) side(" got", got), side("want", want);
  return good;
}

bool tap_status(const char *file, int line, dl_status st, const char *want, const char *name,
                ...) {
  char got[DL_MESSAGE_MAX + 64] = "";
  if (st != DL_OK)
    snprintf(got, sizeof got, "%s: %s", dl_class_name(dl_err.cls), dl_err.message);
  bool good = begins(got, want);
  REPORT(good);
  if (!good) side(" got", got), side("want", want);
  return good;
}

void tap_diag(const char *fmt, ...) {
  char text[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  printf("#   %s\n", text);
}

void tap_skip(const char *reason, const char *name) {
  if (count++ == 0) setvbuf(stdout, NULL, _IOLBF, 0);
  printf("ok %d - %s # SKIP %s\n", count, name, reason);
}

int tap_done(void) {
  printf("1..%d\n", count);
  if (failed) fprintf(stderr, "%d of %d failed\n", failed, count);
  return failed ? 1 : 0;
}
