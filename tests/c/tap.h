/* tap.h -- tests that print TAP, one sentence a behaviour
 *
 * For the C tests. A test is a main() of checks and ends with `return tap_done();`. Each check
 * prints one line; a failing one prints both sides with file and line below it. Checks return
 * whether they passed. Output is line-buffered, so a crash loses nothing.
 *
 *     ok(t != NULL, "a fresh tensor is made");
 *     is_int(t->numel, 6, "2 x 3 has %d elements", 6);
 *     is_status(dl_wrap_dim(5, 2, &d), "IndexError: Dimension out of range…", "dim 5 of 2");
 *
 * MUST NOT know Lua. */
#ifndef TAP_H
#define TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ok(cond, ...) tap_ok(__FILE__, __LINE__, (cond), #cond, __VA_ARGS__)
#define is_int(got, want, ...) \
  tap_int(__FILE__, __LINE__, (int64_t)(got), (int64_t)(want), __VA_ARGS__)
#define is_str(got, want, ...) tap_str(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
/* |got - want| <= tol, or both nan, or the same infinity */
#define is_double(got, want, tol, ...) \
  tap_double(__FILE__, __LINE__, (got), (want), (tol), __VA_ARGS__)
/* `got` begins with `want`; a want without "…" at its end must match whole */
#define like_str(got, want, ...) tap_like(__FILE__, __LINE__, (got), (want), __VA_ARGS__)
/* The call fails with "Class: text" (or a beginning of it that ends in "…"); "" = succeeds */
#define is_status(call, want, ...) tap_status(__FILE__, __LINE__, (call), (want), __VA_ARGS__)

bool tap_ok(const char *file, int line, bool good, const char *expr, const char *name, ...)
    DL_PRINTF(5, 6);
bool tap_int(const char *file, int line, int64_t got, int64_t want, const char *name, ...)
    DL_PRINTF(5, 6);
bool tap_str(const char *file, int line, const char *got, const char *want, const char *name, ...)
    DL_PRINTF(5, 6);
bool tap_double(const char *file, int line, double got, double want, double tol, const char *name,
                ...) DL_PRINTF(6, 7);
bool tap_like(const char *file, int line, const char *got, const char *want, const char *name, ...)
    DL_PRINTF(5, 6);
bool tap_status(const char *file, int line, dl_status st, const char *want, const char *name, ...)
    DL_PRINTF(5, 6);
/* A line of explanation below the last check. */
void tap_diag(const char *fmt, ...) DL_PRINTF(1, 2);
void tap_skip(const char *reason, const char *name);
/* Prints the plan; 0 when everything passed. */
int tap_done(void);

#endif
