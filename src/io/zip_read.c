/* zip_read.c -- an archive taken apart, however it lies
 *
 * For torch.load.
 *
 * INVARIANT  Of an open archive every record lies inside the file, before the directory, apart from
 *            all others, and has a name of its own.
 * MUST NOT   take memory by what the file claims: the directory is as long as the file holds. */
#include "io/zip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "io/zip_bytes.h"
#include "mem/mem.h"

#define DIR_MAX ((int64_t)256 << 20) /* bytes of a directory: five million records */
enum { TAIL = ZIP_END_BYTES + 65535 };  /* the end and the longest comment behind it */

struct dl_zip {
  FILE *f;
  int64_t base, length;          /* where it begins in f; its bytes */
  int64_t dir_at, dir_bytes, records;
  unsigned char *dir;
  dl_zip_record *rec;            /* by name */
  size_t root_bytes;             /* of the folder, with its slash */
};

/* ---- errors --------------------------------------------------------------------------------- */
#define TORN " This is an internal miniz error. If you are seeing this error, there is a " \
  "high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was " \
  "not saved properly, was transferred incorrectly, or the file was modified after saving."

static dl_status bad(const char *what, const char *detail) {
  dl_status st = dl_fail(DL_RuntimeError, DL_E_IO, "PytorchStreamReader failed reading zip "
                         "archive: %s." TORN, what);
  if (detail) dl_note("%s", detail);
  return st;
}

static dl_status damaged(const char *detail) {
  return bad("invalid header or archive is corrupted", detail);
}

dl_status dl_zip_missing(const char *name) {
  return dl_fail(DL_RuntimeError, DL_E_IO, "PytorchStreamReader failed locating file %s: file not "
                 "found." TORN, name);
}

static dl_status unread(const char *name, const char *what, const char *detail) {
  dl_status st = dl_fail(DL_RuntimeError, DL_E_IO, "PytorchStreamReader failed reading file %s: "
                         "%s." TORN, name, what);
  if (detail) dl_note("%s", detail);
  return st;
}

/* ---- the parts of the file ------------------------------------------------------------------ */
/* n bytes at a place inside the archive; false where the file ends before. */
static bool read_at(dl_zip *z, int64_t at, void *out, int64_t n) {
  if (at < 0 || n < 0 || at > z->length - n) return false;
  return fseeko(z->f, (off_t)(z->base + at), SEEK_SET) == 0 &&
         fread(out, 1, (size_t)n, z->f) == (size_t)n;
}

static dl_status measure(dl_zip *z) {
  errno = 0;
  off_t base = ftello(z->f);
  off_t end = base >= 0 && fseeko(z->f, 0, SEEK_END) == 0 ? ftello(z->f) : -1;
  if (end < base || base < 0) {
    dl_status st = dl_fail(DL_OSError, DL_E_IO, "You can only torch.load from a file that is "
                           "seekable. Please pre-load the data into a buffer like io.BytesIO and "
                           "try to load from it instead.");
    if (errno) dl_note("%s", strerror(errno));
    return st;
  }
  z->base = base;
  z->length = end - base;
  return DL_OK;
}

/* Where the last of the 22 bytes with the right mark and comment begin, or -1. */
static int64_t find_end(dl_zip *z, unsigned char *tail) {
  int64_t n = z->length < TAIL ? z->length : TAIL;
  if (!read_at(z, z->length - n, tail, n)) return -1;
  for (int64_t i = n - ZIP_END_BYTES; i >= 0; i--)
    if (zip_get32(tail + i) == ZIP_END && i + ZIP_END_BYTES + zip_get16(tail + i + 20) <= n) {
      memmove(tail, tail + i, ZIP_END_BYTES);
      return z->length - n + i;
    }
  return -1;
}

/* The directory's place by the 64-bit end, where there is one. */
static dl_status read_end64(dl_zip *z, int64_t end_at) {
  unsigned char l[ZIP_LOCATOR_BYTES], e[ZIP_END64_BYTES];
  if (!read_at(z, end_at - ZIP_LOCATOR_BYTES, l, sizeof l) || zip_get32(l) != ZIP_LOCATOR)
    return DL_OK;
  uint64_t at = zip_get64(l + 8);
  if (at > (uint64_t)end_at || !read_at(z, (int64_t)at, e, sizeof e) || zip_get32(e) != ZIP_END64)
    return damaged("its zip64 end is not where it should be");
  z->records = (int64_t)zip_get64(e + 32);
  z->dir_bytes = (int64_t)zip_get64(e + 40);
  z->dir_at = (int64_t)zip_get64(e + 48);
  return DL_OK;
}

static dl_status read_end(dl_zip *z) {
  unsigned char *tail;
  DL_TRY(dl_host_alloc(TAIL, (void **)&tail));
  int64_t at = find_end(z, tail);
  if (at >= 0) {
    z->records = zip_get16(tail + 10);
    z->dir_bytes = zip_get32(tail + 12);
    z->dir_at = zip_get32(tail + 16);
  }
  dl_host_free(tail, TAIL);
  if (at < 0) return bad("failed finding central directory", "the file is cut short");
  DL_TRY(read_end64(z, at));
  bool inside = z->dir_at >= 0 && z->dir_bytes >= 0 && z->dir_bytes <= at &&
                z->dir_at <= at - z->dir_bytes;
  if (!inside) return damaged("its directory is said to lie outside the file");
  if (z->dir_bytes > DIR_MAX) return damaged("its directory is longer than 256 MiB");
  if (z->records < 0 || z->records > z->dir_bytes / ZIP_CENTRAL_BYTES)
    return damaged("its directory has fewer records than it says");
  return DL_OK;
}

/* ---- records -------------------------------------------------------------------------------- */
/* Size and place from the zip64 field, for those that 32 bits do not hold. */
static bool widen(const unsigned char *p, const unsigned char *end, uint64_t *full,
                  uint64_t *packed, uint64_t *head) {
  uint64_t *want[] = {full, packed, head};
  for (; end - p >= 4; p += 4 + zip_get16(p + 2)) {
    const unsigned char *v = p + 4, *stop = v + zip_get16(p + 2);
    if (stop > end) return false;
    if (zip_get16(p) != 1) continue;
    for (int i = 0; i < 3; i++) {
      if (*want[i] != UINT32_MAX) continue;
      if (stop - v < 8) return false;
      *want[i] = zip_get64(v);
      v += 8;
    }
    return true;
  }
  return true;
}

/* The record's entry at p; its bytes, or 0 and an error. */
static size_t read_entry(dl_zip *z, const unsigned char *p, const unsigned char *end,
                         dl_zip_record *r) {
  if (end - p < ZIP_CENTRAL_BYTES || zip_get32(p) != ZIP_CENTRAL)
    return damaged("its directory is damaged"), 0;
  size_t name = zip_get16(p + 28), extra = zip_get16(p + 30),
         all = ZIP_CENTRAL_BYTES + name + extra + zip_get16(p + 32);
  if ((size_t)(end - p) < all) return damaged("its directory is damaged"), 0;
  uint64_t packed = zip_get32(p + 20), full = zip_get32(p + 24), head = zip_get32(p + 42);
  const unsigned char *field = p + ZIP_CENTRAL_BYTES + name;
  if (!widen(field, field + extra, &full, &packed, &head))
    return damaged("a zip64 field is too short"), 0;
  if (zip_get16(p + 8) & 1) return bad("unsupported encryption", NULL), 0;
  if (zip_get16(p + 10) == 0 && full != packed)
    return damaged("a record has two sizes"), 0;
  if (packed > (uint64_t)z->dir_at || head > (uint64_t)z->dir_at)
    return damaged("a record is said to lie outside the file"), 0;
  *r = (dl_zip_record){.name = (const char *)p + ZIP_CENTRAL_BYTES, .name_bytes = (uint16_t)name,
                       .crc = zip_get32(p + 16), .packed = zip_get16(p + 10) != 0,
                       .head = (int64_t)head, .size = (int64_t)packed};
  return all;
}

/* Where the data begins, by the record's own head. */
static dl_status read_head(dl_zip *z, dl_zip_record *r) {
  unsigned char h[ZIP_LOCAL_BYTES];
  if (!read_at(z, r->head, h, sizeof h) || zip_get32(h) != ZIP_LOCAL)
    return damaged("a record is not where the directory says");
  if (zip_get16(h + 26) != r->name_bytes || (zip_get16(h + 8) != 0) != r->packed)
    return damaged("a record and the directory differ");
  r->data = r->head + ZIP_LOCAL_BYTES + zip_get16(h + 26) + zip_get16(h + 28);
  if (r->data > z->dir_at - r->size) return damaged("a record is said to lie outside the file");
  return DL_OK;
}

static int by_place(const void *a, const void *b) {
  const dl_zip_record *x = a, *y = b;
  return x->head < y->head ? -1 : x->head > y->head;
}

static int compare_names(const char *a, size_t na, const char *b, size_t nb) {
  int c = memcmp(a, b, na < nb ? na : nb);
  return c ? c : na < nb ? -1 : na > nb;
}

static int by_name(const void *a, const void *b) {
  const dl_zip_record *x = a, *y = b;
  return compare_names(x->name, x->name_bytes, y->name, y->name_bytes);
}

static dl_status check_apart(dl_zip *z) {
  size_t n = (size_t)z->records;
  qsort(z->rec, n, sizeof *z->rec, by_place);
  for (size_t i = 1; i < n; i++)
    if (z->rec[i].head < z->rec[i - 1].data + z->rec[i - 1].size)
      return damaged("two records overlap");
  qsort(z->rec, n, sizeof *z->rec, by_name);
  for (size_t i = 1; i < n; i++)
    if (by_name(&z->rec[i - 1], &z->rec[i]) == 0) return damaged("two records have one name");
  return DL_OK;
}

static dl_status read_directory(dl_zip *z) {
  if (z->records == 0) return bad("failed finding central directory", "the archive is empty");
  DL_TRY(dl_host_alloc((size_t)z->dir_bytes, (void **)&z->dir));
  DL_TRY(dl_host_alloc((size_t)z->records * sizeof *z->rec, (void **)&z->rec));
  if (!read_at(z, z->dir_at, z->dir, z->dir_bytes)) return damaged("its directory cannot be read");
  const unsigned char *p = z->dir, *end = z->dir + z->dir_bytes;
  for (int64_t i = 0; i < z->records; i++) {
    size_t n = read_entry(z, p, end, &z->rec[i]);
    if (n == 0) return DL_E_IO;
    DL_TRY(read_head(z, &z->rec[i]));
    if (i % 4096 == 0) DL_TRY(dl_poll());
    p += n;
  }
  const char *slash = memchr(z->rec[0].name, '/', z->rec[0].name_bytes);
  if (!slash) return damaged("its records are in no folder");
  z->root_bytes = (size_t)(slash - z->rec[0].name) + 1;
  return check_apart(z);
}

/* ---- for others ----------------------------------------------------------------------------- */
dl_status dl_zip_open(FILE *f, dl_zip **out) {
  dl_zip *z = dl_block_new(sizeof *z);
  if (!z) return dl_fail(DL_MemoryError, DL_E_OOM, "no memory to read an archive");
  *z = (dl_zip){.f = f};
  dl_status st = measure(z);
  if (st == DL_OK) st = read_end(z);
  if (st == DL_OK) st = read_directory(z);
  if (st != DL_OK) dl_zip_free(z);
  else *out = z;
  return st;
}

void dl_zip_free(dl_zip *z) {
  if (!z) return;
  if (z->dir) dl_host_free(z->dir, (size_t)z->dir_bytes);
  if (z->rec) dl_host_free(z->rec, (size_t)z->records * sizeof *z->rec);
  dl_block_free(z, sizeof *z);
}

/* All records of an archive share its folder, which is that of the first. */
const dl_zip_record *dl_zip_find(const dl_zip *z, const char *name) {
  int64_t lo = 0, hi = z->records;
  const char *root = (const char *)z->dir + ZIP_CENTRAL_BYTES;
  char full[512];
  size_t n = z->root_bytes + strlen(name);
  if (n > sizeof full) return NULL;
  memcpy(full, root, z->root_bytes);
  memcpy(full + z->root_bytes, name, n - z->root_bytes);
  while (lo < hi) {
    int64_t mid = lo + (hi - lo) / 2;
    const dl_zip_record *r = &z->rec[mid];
    int c = compare_names(full, n, r->name, r->name_bytes);
    if (c == 0) return r;
    if (c < 0) hi = mid;
    else lo = mid + 1;
  }
  return NULL;
}

dl_status dl_zip_read(dl_zip *z, const dl_zip_record *r, const char *name, void *out) {
  char *p = out;
  uLong sum = crc32(0, NULL, 0);
  if (r->packed) {
    dl_status st = unread(name, "unsupported method", "the record is compressed: torch.save stores "
                          "them as they are");
    dl_note("in Python: torch.save(torch.load(f), f) writes the file anew");
    return st;
  }
  errno = 0;
  if (fseeko(z->f, (off_t)(z->base + r->data), SEEK_SET) != 0)
    return unread(name, "file seek failed", strerror(errno));
  for (int64_t left = r->size; left > 0;) {
    size_t n = (uint64_t)left < ZIP_PIECE ? (size_t)left : ZIP_PIECE;
    if (fread(p, 1, n, z->f) != n)
      return unread(name, "file read failed", errno ? strerror(errno) : "the file ends early");
    sum = crc32(sum, (const Bytef *)p, (uInt)n);
    DL_TRY(dl_poll());
    p += n;
    left -= (int64_t)n;
  }
  if ((uint32_t)sum != r->crc)
    return unread(name, "CRC-32 check failed", "bytes of the file have changed since it was saved");
  return DL_OK;
}
