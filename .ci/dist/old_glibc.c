/* old_glibc.c -- what newer C libraries rename, under the names of glibc 2.35
 *
 * For .ci/dist.sh, which links it into what `make dist` packs: a program built on a newer system
 * then runs on an older one. Compiled without _GNU_SOURCE, so that the names called here are plain.
 *
 * INVARIANT  Every function does what the one it stands for does, but for C23's 0b prefix.
 * SOURCE     glibc 2.38 NEWS: C23's strtol family and fmod without errno. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN long __isoc23_strtol(const char *s, char **end, int base) { return strtol(s, end, base); }
HIDDEN unsigned long __isoc23_strtoul(const char *s, char **end, int base) {
  return strtoul(s, end, base);
}
HIDDEN long long __isoc23_strtoll(const char *s, char **end, int base) {
  return strtoll(s, end, base);
}
HIDDEN unsigned long long __isoc23_strtoull(const char *s, char **end, int base) {
  return strtoull(s, end, base);
}
HIDDEN intmax_t __isoc23_strtoimax(const char *s, char **end, int base) {
  return strtoimax(s, end, base);
}
HIDDEN uintmax_t __isoc23_strtoumax(const char *s, char **end, int base) {
  return strtoumax(s, end, base);
}
HIDDEN int __isoc23_vsscanf(const char *s, const char *fmt, va_list ap) {
  return vsscanf(s, fmt, ap);
}
HIDDEN int __isoc23_vfscanf(FILE *f, const char *fmt, va_list ap) { return vfscanf(f, fmt, ap); }
HIDDEN int __isoc23_sscanf(const char *s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vsscanf(s, fmt, ap);
  va_end(ap);
  return n;
}
HIDDEN int __isoc23_fscanf(FILE *f, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  int n = vfscanf(f, fmt, ap);
  va_end(ap);
  return n;
}

/* Since 2.38 there are two versions of these, and the linker takes the newer. */
#ifdef __x86_64__
double dl_old_fmod(double x, double y);
float dl_old_fmodf(float x, float y);
__asm__(".symver dl_old_fmod,fmod@GLIBC_2.2.5");
__asm__(".symver dl_old_fmodf,fmodf@GLIBC_2.2.5");
HIDDEN double fmod(double x, double y) { return dl_old_fmod(x, y); }
HIDDEN float fmodf(float x, float y) { return dl_old_fmodf(x, y); }
#endif
