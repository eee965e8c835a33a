/* npy.c -- np.save and np.load: numpy's .npy files
 *
 * FORMAT    "\x93NUMPY", version, header length (2 or 4 bytes little-endian), a Python dict as
 *           text, blanks up to a multiple of 64, then the elements.
 * MUST NOT  believe the header: sizes are checked against the file before memory is asked for. */
#include "bind/np.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct { dl_dtype d; const char *descr; } codes[] = {
  {DL_BOOL, "|b1"}, {DL_U8, "|u1"}, {DL_I8, "|i1"}, {DL_I16, "<i2"}, {DL_I32, "<i4"},
  {DL_I64, "<i8"},
  {DL_F16, "<f2"}, {DL_F32, "<f4"}, {DL_F64, "<f8"}};

static dl_status io_error(const char *path) {
  int code = errno ? errno : EIO;
  return dl_fail(DL_OSError, DL_E_IO, "[Errno %d] %s: '%s'", code, strerror(code), path);
}

static dl_status bad(const char *path, const char *why) {
  return dl_fail(DL_ValueError, DL_E_IO, "%s: %s", path, why);
}

/* ---- writing -------------------------------------------------------------------------------- */
static size_t make_header(const dl_tensor *t, char *out, size_t cap) {
  const char *descr = "";
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (codes[i].d == t->dtype) descr = codes[i].descr;
  size_t n = (size_t)snprintf(out, cap, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                              descr);
  for (int i = 0; i < t->ndim; i++)
    n += (size_t)snprintf(out + n, cap - n, i ? " %lld%s" : "%lld%s", (long long)t->size[i],
                          t->ndim == 1 || i + 1 < t->ndim ? "," : "");
  n += (size_t)snprintf(out + n, cap - n, "), }");
  while ((10 + n + 1) % 64) out[n++] = ' ';
  out[n++] = '\n';
  return n;
}

static dl_status write_file(const char *path, const dl_tensor *t) {
  char head[512];
  size_t n = make_header(t, head, sizeof head);
  unsigned char start[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)n,
                             (unsigned char)(n >> 8)};
  size_t bytes = (size_t)t->numel * dl_dtype_size((dl_dtype)t->dtype);
  errno = 0;
  FILE *f = fopen(path, "wb");
  if (!f) return io_error(path);
  bool ok = fwrite(start, 1, 10, f) == 10 && fwrite(head, 1, n, f) == n &&
            (bytes == 0 || fwrite(t->data, 1, bytes, f) == bytes);
  if (fclose(f) != 0) ok = false;
  return ok ? DL_OK : io_error(path);
}

/* np.save(path, array): ".npy" is appended where it is missing */
int dl_np_save(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 4, ".npy")) path = lua_pushfstring(L, "%s.npy", path);
  dl_box *np = dl_object(L, 2, &dl_t_np), *tensor = dl_object(L, 2, &dl_t_tensor),
      *b = dl_np_shell(L);
  dl_tensor *src = np ? np->t : tensor ? tensor->t : NULL;
  if (!src) {
    if (!dl_is_list(L, 2) && lua_type(L, 2) != LUA_TNUMBER)
      return dl_type_error(L, "np.save: expected np.ndarray (got %s)", dl_type_name(L, 2));
    dl_make_read(L, 2, DL_NODTYPE, b);
    src = b->t;
  }
  if (src->dev.type != DL_CPU)
    return dl_type_error(L, "can't convert %s device type tensor to numpy. Use Tensor.cpu() to "
                         "copy the tensor to host memory first.",
                         dl_device_str(src->dev, (char[24]){0}));
  if (src->dtype == DL_BF16) return dl_type_error(L, "Got unsupported ScalarType BFloat16");
  src = dl_host_tensor(L, src);
  dl_box *flat = dl_np_shell(L);
  dl_status st = dl_run(DL_OP_contiguous, (dl_arg[]){T(src)}, 1, 0, &flat->t);
  if (st == DL_OK) st = write_file(path, flat->t);
  return st == DL_OK ? 0 : dl_raise(L, st);
}

/* ---- reading -------------------------------------------------------------------------------- */
typedef struct header { dl_dtype d; bool fortran, swap; int ndim; int64_t size[DL_MAXDIM]; } header;

static const char *after(const char *text, const char *key) {
  const char *s = strstr(text, key);
  if (!s) return NULL;
  s += strlen(key);
  while (*s == ' ' || *s == ':' || *s == '\'' || *s == '"') s++;
  return s;
}

static bool parse_descr(const char *s, header *h) {
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    if (!strncmp(s + 1, codes[i].descr + 1, 2) && strchr("<>|=", *s)) {
      h->d = codes[i].d;
      h->swap = *s == '>';
      return true;
    }
  return false;
}

static bool parse_shape(const char *s, header *h) {
  if (*s != '(') return false;
  for (s++; *s && *s != ')';) {
    char *end;
    if (isdigit((unsigned char)*s)) {
      if (h->ndim == DL_MAXDIM) return false;
      h->size[h->ndim++] = strtoll(s, &end, 10);
      s = end;
    } else if (*s++ == '-') {
      return false;
    }
  }
  return *s == ')';
}

static dl_status read_header(FILE *f, const char *path, header *h) {
  unsigned char start[12];
  char text[4096];
  memset(h, 0, sizeof *h);
  if (fread(start, 1, 10, f) != 10 || memcmp(start, "\x93NUMPY", 6))
    return bad(path, "not a .npy file");
  size_t n = start[8] | (size_t)start[9] << 8;
  if (start[6] > 1) {
    if (fread(start + 10, 1, 2, f) != 2) return bad(path, "the file ends in its header");
    n |= (size_t)start[10] << 16 | (size_t)start[11] << 24;
  }
  if (n >= sizeof text || fread(text, 1, n, f) != n) return bad(path, "bad .npy header");
  text[n] = 0;
  const char *descr = after(text, "descr'"), *order = after(text, "fortran_order'"),
      *shape = after(text, "shape'");
  if (!descr || !order || !shape) return bad(path, "bad .npy header");
  if (!parse_descr(descr, h)) return bad(path, "this element type is not supported");
  h->fortran = *order == 'T';
  return parse_shape(shape, h) ? DL_OK : bad(path, "bad shape in the .npy header");
}

static void swap_bytes(char *p, int64_t n, size_t size) {
  for (; n > 0; n--, p += size)
    for (size_t i = 0; i < size / 2; i++) {
      char c = p[i];
      p[i] = p[size - 1 - i];
      p[size - 1 - i] = c;
    }
}

static dl_status read_data(FILE *f, const char *path, header *h, dl_tensor **out) {
  int64_t size[DL_MAXDIM], n, bytes, esize = (int64_t)dl_dtype_size(h->d);
  for (int i = 0; i < h->ndim; i++) size[i] = h->size[h->fortran ? h->ndim - 1 - i : i];
  DL_TRY(dl_numel(h->ndim, size, &n));
  long at = ftell(f);
  if (!dl_mul_ok(n, esize, &bytes) || at < 0 || fseek(f, 0, SEEK_END) != 0 || ftell(f) - at < bytes)
    return bad(path, "the file is shorter than its header says");
  fseek(f, at, SEEK_SET);
  DL_TRY(dl_tensor_new(DL_DEV_CPU, h->d, h->ndim, size, out));
  if (bytes && fread((*out)->data, 1, (size_t)bytes, f) != (size_t)bytes) return io_error(path);
  if (h->swap) swap_bytes((*out)->data, n, (size_t)esize);
  return DL_OK;
}

int dl_np_load(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  header h;
  dl_box *b = dl_np_shell(L), *turned = dl_np_shell(L);
  errno = 0;
  FILE *f = fopen(path, "rb");
  if (!f) return dl_raise(L, io_error(path));
  dl_status st = read_header(f, path, &h);
  if (st == DL_OK) st = read_data(f, path, &h, &b->t);
  fclose(f);
  if (st != DL_OK) {
    dl_tensor_drop(&b->t);
    return dl_raise(L, st);
  }
  if (!h.fortran) {
    lua_pop(L, 1);
    return 1;
  }
  int64_t dims[DL_MAXDIM];
  for (int i = 0; i < h.ndim; i++) dims[i] = h.ndim - 1 - i;
  st = dl_run(DL_OP_permute, (dl_arg[]){T(b->t), L(dims, h.ndim)}, 2, 0, &turned->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}
