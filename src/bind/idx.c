/* idx.c -- reads an idx file (MNIST, Fashion-MNIST), plain or gzip, into a uint8 tensor
 *
 * For lua/torchvision/datasets.lua. zlib reads both forms.
 *
 * FORMAT    two zero bytes, 8 (unsigned byte), number of dims, each dim as 4 bytes big-endian, data.
 * MUST NOT  believe the header: the data must be there. */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "bind/bind.h"

#define MAX_BYTES (1ll << 33)    /* no idx file in the world is larger */

typedef struct file { gzFile f; const char *path; } file;

static dl_status bad(const file *z, const char *why) {
  return dl_fail(DL_RuntimeError, DL_E_IO, "%s: %s", z->path, why);
}

static dl_status read_header(file *z, int *ndim, int64_t size[DL_MAXDIM]) {
  unsigned char head[4], word[4];
  if (gzread(z->f, head, 4) != 4 || head[0] || head[1] || head[2] != 8 || head[3] > DL_MAXDIM)
    return bad(z, "not an idx file of unsigned bytes");
  *ndim = head[3];
  for (int i = 0; i < *ndim; i++) {
    if (gzread(z->f, word, 4) != 4) return bad(z, "the file ends in its header");
    size[i] = (int64_t)word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3];
  }
  return DL_OK;
}

static dl_status read_file(file *z, dl_tensor **out) {
  int ndim;
  int64_t size[DL_MAXDIM], n;
  DL_TRY(read_header(z, &ndim, size));
  DL_TRY(dl_numel(ndim, size, &n));
  if (n > MAX_BYTES) return bad(z, "the header asks for too many bytes");
  DL_TRY(dl_tensor_new(DL_DEV_CPU, DL_U8, ndim, size, out));
  for (int64_t at = 0; at < n;) {
    unsigned want = n - at > 1 << 20 ? 1u << 20 : (unsigned)(n - at);
    int got = gzread(z->f, (*out)->data + at, want);
    if (got <= 0) return bad(z, "the file is shorter than its header says");
    at += got;
  }
  return DL_OK;
}

/* dlrepl._read_idx(path) -> uint8 tensor */
int dl_read_idx(lua_State *L) {
  file z = {NULL, luaL_checkstring(L, 1)};
  dl_box *b = dl_push_shell(L);
  z.f = gzopen(z.path, "rb");
  if (!z.f)
    return dl_throw(L, DL_OSError, DL_E_IO, "[Errno 2] No such file or directory: '%s'", z.path);
  dl_status st = read_file(&z, &b->t);
  gzclose(z.f);
  if (st != DL_OK) dl_tensor_drop(&b->t);
  return st == DL_OK ? 1 : dl_raise(L, st);
}
