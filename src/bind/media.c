/* media.c -- PNG images, base64, and which graph node is which
 *
 * For lua/dlrepl/rich: dlrepl._png, _base64, _node_id. Plain Lua could do all of it, a hundred
 * times slower.
 * FORMAT     PNG: www.w3.org/TR/png-3; base64: RFC 4648. Compression and CRC are zlib's.
 *
 * MUST NOT   know what an image shows, or run ops. */
#include "bind/bind.h"

#include <string.h>
#include <zlib.h>

enum { PNG_MOST = 1 << 26 }; /* bytes of pixels */

void dl_media_open(lua_State *L, int dlrepl);

/* _base64(string) -> string, on one line */
static int l_base64(lua_State *L) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  size_t n;
  const unsigned char *s = (const unsigned char *)luaL_checklstring(L, 1, &n);
  luaL_Buffer b;
  char *out = luaL_buffinitsize(L, &b, (n + 2) / 3 * 4);
  for (size_t i = 0; i < n; i += 3) {
    size_t have = n - i < 3 ? n - i : 3;
    unsigned v = (unsigned)s[i] << 16 | (have > 1 ? (unsigned)s[i + 1] << 8 : 0) |
                 (have > 2 ? s[i + 2] : 0);
    *out++ = digits[v >> 18];
    *out++ = digits[v >> 12 & 63];
    *out++ = have > 1 ? digits[v >> 6 & 63] : '=';
    *out++ = have > 2 ? digits[v & 63] : '=';
  }
  luaL_pushresultsize(&b, (n + 2) / 3 * 4);
  return 1;
}

/* ---- PNG ------------------------------------------------------------------------------------ */

static void put32(unsigned char *p, uint32_t v) {
  for (int i = 0; i < 4; i++) p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* Append a chunk: length, name, data, CRC. */
static void add_chunk(luaL_Buffer *b, const char *name, const unsigned char *data, size_t n) {
  unsigned char word[4];
  uLong crc = crc32(crc32(0, (const Bytef *)name, 4), data, (uInt)n);
  put32(word, (uint32_t)n);
  luaL_addlstring(b, (const char *)word, 4);
  luaL_addlstring(b, name, 4);
  luaL_addlstring(b, (const char *)data, n);
  put32(word, (uint32_t)crc);
  luaL_addlstring(b, (const char *)word, 4);
}

static void check_pixels(lua_State *L, const dl_tensor *t) {
  int64_t channels = t->ndim == 3 ? t->size[2] : 1;
  bool shaped = (t->ndim == 2 || t->ndim == 3) && (channels == 1 || channels == 3) && t->numel;
  if (!shaped || t->dtype != DL_U8 || t->dev.type != DL_CPU || !t->contig)
    dl_type_error(L, "_png() expects contiguous uint8 pixels [h, w] or [h, w, 1 or 3] on the CPU");
  if (t->numel > PNG_MOST || t->size[0] > PNG_MOST / 2)
    dl_throw(L, DL_ValueError, DL_E_ARGUMENT, "_png(): an image of %lld values is too large",
             (long long)t->numel);
}

/* _png(pixels) -> the bytes of a PNG file, nil where a dry run has none. pixels: contiguous uint8
 * [h, w] or [h, w, 1 or 3]. */
static int l_png(lua_State *L) {
  const dl_tensor *t = dl_check_tensor(L, 1, "_png", "pixels");
  check_pixels(L, t);
  if (t->st->numberless) return 0;
  bool colour = t->ndim == 3 && t->size[2] == 3;
  size_t h = (size_t)t->size[0], row = (size_t)t->numel / h;
  uLong raw_len = (uLong)(h * (row + 1)), len = compressBound(raw_len);
  unsigned char *raw = lua_newuserdatauv(L, raw_len, 0), *z = lua_newuserdatauv(L, len, 0);
  for (size_t y = 0; y < h; y++) { /* each row begins with its filter: 0, none */
    raw[y * (row + 1)] = 0;
    memcpy(raw + y * (row + 1) + 1, t->data + y * row, row);
  }
  if (compress2(z, &len, raw, raw_len, 6) != Z_OK)
    return dl_throw(L, DL_RuntimeError, DL_E_OOM, "_png(): out of memory");
  unsigned char head[13] = {0};
  put32(head, (uint32_t)t->size[1]);
  put32(head + 4, (uint32_t)h);
  head[8] = 8;
  head[9] = colour ? 2 : 0;
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  luaL_addlstring(&b, "\x89PNG\r\n\x1a\n", 8);
  add_chunk(&b, "IHDR", head, sizeof head);
  add_chunk(&b, "IDAT", z, len);
  add_chunk(&b, "IEND", head, 0);
  luaL_pushresult(&b);
  return 1;
}

/* _node_id(grad_fn) -> a value that is the same for the same node, for use as a key; the shape of
 * the node's (first) result, "[2, 3]" */
static int l_node_id(lua_State *L) {
  dl_nodebox *b = dl_object(L, 1, &dl_t_node);
  if (!b || !b->n) return dl_type_error(L, "expected a grad_fn, not %s", dl_type_name(L, 1));
  dl_meta m;
  char size[128];
  dl_node_out_meta(b->n, 0, &m);
  lua_pushlightuserdata(L, b->n);
  lua_pushstring(L, dl_sizes_str(m.ndim, m.size, size, sizeof size));
  return 2;
}

/* Add the functions to the table dlrepl. */
void dl_media_open(lua_State *L, int dlrepl) {
  static const luaL_Reg funcs[] = {
    {"_base64", l_base64}, {"_png", l_png}, {"_node_id", l_node_id}, {NULL, NULL}};
  dl_set_funcs(L, dlrepl, funcs);
}
