/* idx.c -- reads idx files (MNIST, Fashion-MNIST), plain or gzip, into a uint8 tensor
 *
 * For lua/torchvision. The format: two zero bytes, a type byte (8 = unsigned byte), the number of
 * dimensions, each size as a big-endian 32-bit number, then the elements row by row.
 * SOURCE       http://yann.lecun.com/exdb/mnist (layout), zlib.h.
 *
 * INVARIANT    Nothing large is allocated before the header's sizes were held against the length
 *              of the file; a file that lies ends in a clear error.
 * MUST NOT     know datasets. */
#include "bind/bind.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define IDX_RATIO 1032      /* deflate's best compression: bytes out for a byte in */
#define IDX_PIECE (1 << 24) /* bytes a read, so that an interrupt is seen */

int dl_read_idx(lua_State *L);

typedef struct idx_file {
  const char *path;
  gzFile f;
  int64_t bytes;            /* length on disk */
  int ndim;
  int64_t size[DL_MAXDIM], numel;
} idx_file;

static dl_status idx_bad(const idx_file *x, const char *what) {
  dl_status st = dl_fail(DL_ValueError, DL_E_IO, "%s: %s", x->path, what);
  dl_note("an idx file begins with the bytes 0 0 8 and its number of dimensions");
  return st;
}

static dl_status idx_short(const idx_file *x) {
  int code = Z_OK;
  const char *text = gzerror(x->f, &code);
  if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) {
    dl_status st = dl_fail(DL_OSError, DL_E_IO, "%s: %s", x->path,
                           code == Z_ERRNO ? strerror(errno) : text);
    dl_note("the compressed data is damaged: fetch the file again");
    return st;
  }
  dl_status st = dl_fail(DL_ValueError, DL_E_IO, "%s: the file ends early", x->path);
  dl_note("the file is truncated: fetch it again");
  return st;
}

static dl_status idx_open(idx_file *x) {
  struct stat info;
  bool there = stat(x->path, &info) == 0;
  if (there && !S_ISDIR(info.st_mode)) x->f = gzopen(x->path, "rb");
  if (x->f == NULL) {
    int code = errno ? errno : EISDIR;
    return dl_fail(DL_OSError, DL_E_IO, "[Errno %d] %s: '%s'", code, strerror(code), x->path);
  }
  x->bytes = (int64_t)info.st_size;
  return DL_OK;
}

static dl_status idx_header(idx_file *x) {
  unsigned char head[4], word[4];
  size_t len = strlen(x->path);
  int got = gzread(x->f, head, 4);
  if (got == 4 && len > 3 && strcmp(x->path + len - 3, ".gz") == 0 && gzdirect(x->f))
    return dl_fail(DL_OSError, DL_E_IO, "%s: not a gzip file", x->path);
  if (got != 4) return idx_short(x);
  if (head[0] || head[1]) return idx_bad(x, "not an idx file (wrong magic number)");
  if (head[2] != 8) return idx_bad(x, "only unsigned bytes (type 8) are read");
  if (head[3] < 1 || head[3] > DL_MAXDIM)
    return idx_bad(x, "the number of dimensions is not 1 to 8");
  x->ndim = head[3];
  for (int i = 0; i < x->ndim; i++) {
    if (gzread(x->f, word, 4) != 4) return idx_short(x);
    x->size[i] = (int64_t)word[0] << 24 | (int64_t)word[1] << 16 | (int64_t)word[2] << 8 | word[3];
  }
  bool fits = dl_numel(x->ndim, x->size, &x->numel) == DL_OK;
  int64_t most = gzdirect(x->f) ? x->bytes - 4 - 4 * x->ndim : x->bytes * IDX_RATIO;
  return fits && x->numel <= most
             ? DL_OK
             : idx_bad(x, "the sizes in the header do not fit the length of the file");
}

static dl_status idx_body(idx_file *x, char *to) {
  for (int64_t done = 0; done < x->numel;) {
    int64_t want = x->numel - done < IDX_PIECE ? x->numel - done : IDX_PIECE;
    int got = gzread(x->f, to + done, (unsigned)want);
    if (got <= 0) return idx_short(x);
    done += got;
    DL_TRY(dl_poll());
  }
  if (gzgetc(x->f) >= 0) return idx_bad(x, "there are more bytes than the header's sizes say");
  int code = Z_OK;
  gzerror(x->f, &code);
  return code == Z_OK || code == Z_STREAM_END ? DL_OK : idx_short(x);
}

/* *out is owned by the caller: a contiguous uint8 tensor on the CPU. */
static dl_status idx_read(const char *path, dl_tensor **out) {
  idx_file x = {.path = path};
  dl_tensor *t = NULL;
  errno = 0;
  dl_status st = idx_open(&x);
  if (st == DL_OK) st = idx_header(&x);
  if (st == DL_OK) st = dl_tensor_new(DL_DEV_CPU, DL_U8, x.ndim, x.size, &t);
  if (st == DL_OK) st = idx_body(&x, t->data);
  if (x.f) gzclose(x.f);
  if (st != DL_OK) dl_tensor_release(t);
  else *out = t;
  return st;
}

/* dlrepl._read_idx(path) -> uint8 tensor */
int dl_read_idx(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  dl_pace(L);
  dl_box *box = dl_push_shell(L);
  dl_status st = idx_read(path, &box->t);
  if (st != DL_OK) return dl_raise(L, st);
  dl_pace_count(box->t);
  return 1;
}
