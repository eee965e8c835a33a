/* width.c -- text in columns of a terminal
 *
 * For show.c, page.c and history.c. See width.h. Ranges after Unicode 15's EastAsianWidth and
 * general categories Mn, Me and Cf, as far as terminals agree on them.
 *
 * MUST NOT know Lua, allocate. */
#include "repl/width.h"

typedef struct range { unsigned from, to; } range;

static const range none[] = {
    {0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},   {0x64b, 0x65f},
    {0x6d6, 0x6dc},   {0x900, 0x902},   {0x93c, 0x93c},   {0x941, 0x948},   {0xe31, 0xe31},
    {0xe34, 0xe3a},   {0xe47, 0xe4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f},
    {0x202a, 0x202e}, {0x2060, 0x2064}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff}, {0xe0100, 0xe01ef}};
static const range wide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26a1, 0x26a1},   {0x26bd, 0x26be},
    {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},   {0x274c, 0x274c},
    {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},
    {0xa000, 0xa4cf},   {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f004, 0x1f004},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320}, {0x1f32d, 0x1f335},
    {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393}, {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3},
    {0x1f3e0, 0x1f3f0}, {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e}, {0x1f550, 0x1f567},
    {0x1f595, 0x1f596}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f6d0, 0x1f6ff},
    {0x1f7e0, 0x1f7eb}, {0x1f90c, 0x1f9ff}, {0x1fa70, 0x1faff}, {0x20000, 0x3fffd}};

static int is_in(const range *r, size_t n, unsigned code) {
  size_t low = 0;
  while (low < n) {
    size_t middle = low + (n - low) / 2;
    if (code < r[middle].from) n = middle;
    else if (code > r[middle].to) low = middle + 1;
    else return 1;
  }
  return 0;
}

size_t dl_utf8_read(const char *s, size_t n, unsigned *code) {
  static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  unsigned char c = n ? (unsigned char)*s : 0;
  size_t len = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3
                            : c >= 0xf0 && c < 0xf5 ? 4 : 0;
  if (n == 0 || len == 0 || len > n) return 0;
  unsigned v = len == 1 ? c : c & (0xffu >> (len + 1));
  for (size_t i = 1; i < len; i++) {
    if (((unsigned char)s[i] & 0xc0) != 0x80) return 0;
    v = v << 6 | ((unsigned char)s[i] & 0x3f);
  }
  if (v < least[len] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff)) return 0;
  *code = v;
  return len;
}

static size_t one(const char *s, size_t n, size_t *columns) {
  unsigned code;
  size_t len = dl_utf8_read(s, n, &code);
  if (len > 1 && is_in(none, sizeof none / sizeof *none, code)) *columns = 0;
  else *columns = len > 1 && is_in(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
  return len ? len : 1;
}

size_t dl_width(const char *s, size_t n) {
  size_t all = 0, c;
  for (size_t i = 0; i < n; all += c) i += one(s + i, n - i, &c);
  return all;
}

size_t dl_width_rows(const char *s, size_t n, int columns) {
  size_t rows = 1, at = 0, limit = columns > 0 ? (size_t)columns : 80, c;
  for (size_t i = 0; i < n;) {
    if (s[i] == '\n') {
      rows++;
      at = 0;
      i++;
      continue;
    }
    i += one(s + i, n - i, &c);
    if (at + c > limit) {
      rows++;
      at = 0;
    }
    at += c;
  }
  return rows;
}
