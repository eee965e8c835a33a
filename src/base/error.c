/* error.c -- the one error record, warnings, and the interrupt flag
 *
 * For every C file. Nothing here allocates: an error must be reportable when memory is gone.
 *
 * INVARIANT  dl_err.message and dl_err.notes always end in a zero inside their arrays and are
 *            never cut inside a UTF-8 character.
 * MUST NOT   know Lua, print, abort. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

dl_error dl_err;
volatile int dl_cancel;
void (*dl_warn_sink)(const char *category, const char *text);

static const char *const kind_names[DL_E_COUNT] = {
    "ok",
#define X(id, word) word,
    DL_KINDS(X)
#undef X
};

static const char *const class_names[DL_CLASS_COUNT] = {
#define X(id) #id,
    DL_CLASSES(X)
#undef X
};

const char *dl_kind_name(dl_status kind) {
  return (unsigned)kind < DL_E_COUNT ? kind_names[kind] : "internal";
}

const char *dl_class_name(dl_class cls) {
  return (unsigned)cls < DL_CLASS_COUNT ? class_names[cls] : "RuntimeError";
}

/* Print into buf; text that does not fit ends in "..." after a whole character. */
static void print_cut(char *buf, size_t cap, const char *fmt, va_list ap) {
  int n = vsnprintf(buf, cap, fmt, ap);
  if (n < 0) buf[0] = '\0';
  if (n < (int)cap) return;
  size_t end = cap - 4;
  while (end > 0 && ((unsigned char)buf[end] & 0xc0) == 0x80) end--;
  memcpy(buf + end, "...", 4);
}

dl_status dl_fail(dl_class cls, dl_status kind, const char *fmt, ...) {
  char text[DL_MESSAGE_MAX]; /* an argument may point into dl_err itself */
  va_list ap;
  va_start(ap, fmt);
  print_cut(text, sizeof text, fmt, ap);
  va_end(ap);
  dl_err.kind = kind == DL_OK ? DL_E_INTERNAL : kind;
  dl_err.cls = cls;
  dl_err.op = NULL;
  memcpy(dl_err.message, text, strlen(text) + 1);
  dl_err.notes[0] = '\0';
  return dl_err.kind;
}

void dl_note(const char *fmt, ...) {
  size_t len = strlen(dl_err.notes), left = sizeof dl_err.notes - len;
  if (left < 8) return;
  if (len > 0) dl_err.notes[len++] = '\n', left--;
  va_list ap;
  va_start(ap, fmt);
  print_cut(dl_err.notes + len, left, fmt, ap);
  va_end(ap);
}

void dl_err_clear(void) {
  dl_err.kind = DL_OK;
  dl_err.op = NULL;
  dl_err.message[0] = dl_err.notes[0] = '\0';
}

dl_status dl_poll(void) {
  if (!dl_cancel) return DL_OK;
  dl_cancel = 0;
  return dl_fail(DL_KeyboardInterrupt, DL_E_INTERRUPT, "%s", "");
}

/* Texts shown already, as hashes. When the table is full a text may be shown again. */
static bool seen_before(const char *text) {
  static uint64_t seen[256];
  static int count;
  uint64_t h = 14695981039346656037ull; /* FNV-1a */
  for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211ull;
  for (int i = 0; i < count; i++)
    if (seen[i] == h) return true;
  if (count < 256) seen[count++] = h;
  return false;
}

void dl_warn(bool once, const char *category, const char *fmt, ...) {
  char text[DL_MESSAGE_MAX];
  va_list ap;
  va_start(ap, fmt);
  print_cut(text, sizeof text, fmt, ap);
  va_end(ap);
  if (!dl_warn_sink || (once && seen_before(text))) return;
  dl_warn_sink(category, text);
}
