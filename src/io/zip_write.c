/* zip_write.c -- an archive written from its beginning to its end, nothing twice
 *
 * For torch.save. Sums are known only when the data went out, so they follow it; a pipe will do.
 *
 * INVARIANT  `at` is how many bytes went out; the directory in memory has an entry for each record.
 * MUST NOT   seek. */
#include "io/zip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "io/zip_bytes.h"
#include "mem/mem.h"

enum { ROOT_MAX = 255, FULL_MAX = ROOT_MAX + 64, FLAG_SUMS = 8, FLAG_UTF8 = 0x800 };

struct dl_zipw {
  FILE *f;
  int64_t at, limit, records;
  unsigned char *dir;            /* the directory so far */
  size_t dir_bytes, dir_cap;
  uint64_t names, contents;      /* see dl_zipw_sums */
  char root[ROOT_MAX + 1];
};

dl_status dl_zipw_new(FILE *f, const char *root, dl_zipw **out) {
  dl_zipw *w = dl_block_new(sizeof *w);
  if (!w) return dl_fail(DL_MemoryError, DL_E_OOM, "no memory to write an archive");
  *w = (dl_zipw){.f = f, .limit = UINT32_MAX};
  size_t n = strlen(root);
  if (n > ROOT_MAX)              /* cut between two letters */
    for (n = ROOT_MAX; n && (root[n] & 0xc0) == 0x80;) n--;
  memcpy(w->root, root, n);
  *out = w;
  return DL_OK;
}

void dl_zipw_free(dl_zipw *w) {
  if (!w) return;
  if (w->dir) dl_host_free(w->dir, w->dir_cap);
  dl_block_free(w, sizeof *w);
}

void dl_zipw_set_limit(dl_zipw *w, int64_t limit) { w->limit = limit; }

void dl_zipw_sums(const dl_zipw *w, uint64_t *names, uint64_t *contents) {
  *names = w->names;
  *contents = w->contents;
}

static dl_status write_failed(const char *name) {
  int code = errno;
  dl_status st = dl_fail(DL_RuntimeError, DL_E_IO, "PytorchStreamWriter failed writing file %s: "
                         "file write failed", name);
  if (code) dl_note("%s", strerror(code));
  return st;
}

static dl_status put(dl_zipw *w, const char *name, const void *p, size_t n) {
  if (n && fwrite(p, 1, n, w->f) != n) return write_failed(name);
  w->at += (int64_t)n;
  return DL_OK;
}

/* Room for n more bytes of the directory. */
static dl_status reserve(dl_zipw *w, size_t n) {
  if (w->dir_bytes + n <= w->dir_cap) return DL_OK;
  size_t cap = 2 * (w->dir_cap + n);
  void *p;
  DL_TRY(dl_host_alloc(cap, &p));
  if (w->dir) {
    memcpy(p, w->dir, w->dir_bytes);
    dl_host_free(w->dir, w->dir_cap);
  }
  w->dir = p;
  w->dir_cap = cap;
  return DL_OK;
}

/* Size and place where 32 bits do not hold them. */
static unsigned char *wide_field(const dl_zipw *w, unsigned char *p, int64_t size, int64_t head) {
  unsigned char *start = p;
  p = zip_put(zip_put(p, 1, 2), 0, 2);
  if (size >= w->limit) p = zip_put(zip_put(p, (uint64_t)size, 8), (uint64_t)size, 8);
  if (head >= w->limit) p = zip_put(p, (uint64_t)head, 8);
  if (p == start + 4) return start;
  zip_put(start + 2, (uint64_t)(p - start - 4), 2);
  return p;
}

/* A field of blanks, so that the data begins where it may. */
static unsigned char *padding(unsigned char *p, int64_t data_at) {
  int blanks = (int)(-(data_at + 4) & (DL_ZIP_ALIGN - 1));
  *p++ = 'F';
  *p++ = 'B';
  p = zip_put(p, (uint64_t)blanks, 2);
  memset(p, 'Z', (size_t)blanks);
  return p + blanks;
}

static dl_status put_head(dl_zipw *w, const char *name, const char *full, int64_t size) {
  unsigned char h[ZIP_LOCAL_BYTES + FULL_MAX + 32 + 4 + DL_ZIP_ALIGN], *p = h;
  size_t n = strlen(full);
  p = zip_put(zip_put(p, ZIP_LOCAL, 4), 0, 2);
  p = zip_put(p, size ? FLAG_UTF8 | FLAG_SUMS : FLAG_UTF8, 2);
  memset(p, 0, 18);              /* stored, no date; sum and sizes come later */
  p = zip_put(p + 18, n, 2);
  unsigned char *extra_bytes = p;
  memcpy(p + 2, full, n);
  unsigned char *extra = p + 2 + n;
  p = wide_field(w, extra, size, w->at);
  p = padding(p, w->at + (p - h));
  zip_put(extra_bytes, (uint64_t)(p - extra), 2);
  return put(w, name, h, (size_t)(p - h));
}

static dl_status put_data(dl_zipw *w, const char *name, const char *p, int64_t size,
                          uint32_t *crc) {
  uLong sum = crc32(0, NULL, 0);
  while (size > 0) {
    size_t n = (uint64_t)size < ZIP_PIECE ? (size_t)size : ZIP_PIECE;
    sum = crc32(sum, (const Bytef *)p, (uInt)n);
    DL_TRY(put(w, name, p, n));
    DL_TRY(dl_poll());
    p += n;
    size -= (int64_t)n;
  }
  *crc = (uint32_t)sum;
  return DL_OK;
}

static dl_status put_sums(dl_zipw *w, const char *name, uint32_t crc, int64_t size, bool wide) {
  unsigned char h[24], *p = h;
  int bytes = wide ? 8 : 4;
  p = zip_put(zip_put(p, ZIP_SUMS, 4), crc, 4);
  p = zip_put(zip_put(p, (uint64_t)size, bytes), (uint64_t)size, bytes);
  return put(w, name, h, (size_t)(p - h));
}

static void list(dl_zipw *w, const char *full, uint32_t crc, int64_t size, int64_t head) {
  unsigned char *start = w->dir + w->dir_bytes, *p = start;
  size_t n = strlen(full);
  uint64_t size32 = size >= w->limit ? UINT32_MAX : (uint64_t)size;
  p = zip_put(zip_put(zip_put(p, ZIP_CENTRAL, 4), 0, 2), 0, 2);
  p = zip_put(p, size ? FLAG_UTF8 | FLAG_SUMS : FLAG_UTF8, 2);
  p = zip_put(zip_put(p, 0, 6), crc, 4);
  p = zip_put(zip_put(p, size32, 4), size32, 4);
  p = zip_put(p, n, 2);
  unsigned char *extra_bytes = p;
  memset(p, 0, 12);
  p = zip_put(p + 12, head >= w->limit ? UINT32_MAX : (uint64_t)head, 4);
  memcpy(p, full, n);
  unsigned char *extra = p + n;
  p = wide_field(w, extra, size, head);
  zip_put(extra_bytes, (uint64_t)(p - extra), 2);
  w->dir_bytes += (size_t)(p - start);
  w->records++;
  for (const char *c = full; *c; c++) w->names = w->names * 0x100000001b3u + (unsigned char)*c;
  w->contents = w->contents * 0x100000001b3u + crc;
}

dl_status dl_zipw_add(dl_zipw *w, const char *name, const void *data, int64_t size) {
  char full[FULL_MAX + 1];
  uint32_t crc = 0;
  int64_t head = w->at;
  snprintf(full, sizeof full, "%s/%s", w->root, name);
  errno = 0;
  DL_TRY(reserve(w, ZIP_CENTRAL_BYTES + sizeof full + 32));
  DL_TRY(put_head(w, name, full, size));
  DL_TRY(put_data(w, name, data, size, &crc));
  if (size) DL_TRY(put_sums(w, name, crc, size, size >= w->limit || head >= w->limit));
  list(w, full, crc, size, head);
  return DL_OK;
}

dl_status dl_zipw_finish(dl_zipw *w) {
  unsigned char h[ZIP_END64_BYTES + ZIP_LOCATOR_BYTES + ZIP_END_BYTES], *p = h;
  int64_t dir_at = w->at;
  uint64_t n = (uint64_t)w->records, n16 = n > 0xffff ? 0xffff : n;
  errno = 0;
  DL_TRY(put(w, "central directory", w->dir, w->dir_bytes));
  int64_t end_at = w->at;
  p = zip_put(zip_put(zip_put(zip_put(p, ZIP_END64, 4), 44, 8), 0x031e, 2), 45, 2);
  p = zip_put(zip_put(zip_put(p, 0, 8), n, 8), n, 8);
  p = zip_put(zip_put(p, w->dir_bytes, 8), (uint64_t)dir_at, 8);
  p = zip_put(zip_put(zip_put(zip_put(p, ZIP_LOCATOR, 4), 0, 4), (uint64_t)end_at, 8), 1, 4);
  p = zip_put(zip_put(zip_put(zip_put(p, ZIP_END, 4), 0, 4), n16, 2), n16, 2);
  p = zip_put(p, w->dir_bytes >= UINT32_MAX ? UINT32_MAX : w->dir_bytes, 4);
  p = zip_put(zip_put(p, dir_at >= w->limit ? UINT32_MAX : (uint64_t)dir_at, 4), 0, 2);
  DL_TRY(put(w, "central directory", h, (size_t)(p - h)));
  return fflush(w->f) == 0 ? DL_OK : write_failed("central directory");
}
