/* zip.h -- the archives that torch.save writes: zip files whose records are stored as they are
 *
 * For bind/. A record is found by its name inside the archive ("data/0"); the folder before it,
 * the archive's own name, is whatever the file says.
 *
 * FORMAT     PKWARE's APPNOTE.TXT 6.3 with zip64; laid out as PyTorch lays it out (records begin
 *            at multiples of 64, sizes and sums behind the data), byte for byte.
 * OWNERSHIP  FILE pointers are borrowed; what _open and _new give is the caller's until _free.
 * ERRORS     PyTorch's texts, what is wrong in detail as a note. A file is never believed: each
 *            number is held against the length of the file before it is used.
 * MUST NOT   know tensors, pickles or Lua. */
#ifndef DL_ZIP_H
#define DL_ZIP_H

#include <stdio.h>

#include "base/error.h"

#define DL_ZIP_ALIGN 64        /* bytes: where a record may begin */

/* ---- reading -------------------------------------------------------------------------------- */
typedef struct dl_zip dl_zip;
typedef struct dl_zip_record {
  const char *name;              /* with its folder; not ended by a zero */
  uint16_t name_bytes;
  uint32_t crc;
  bool packed;                   /* compressed: there, but not to be read */
  int64_t head, data, size;      /* from the beginning of the archive; bytes there */
} dl_zip_record;

/* The archive from the present place of f to its end. */
dl_status dl_zip_open(FILE *f, dl_zip **out);
void dl_zip_free(dl_zip *z);
/* NULL where there is none of that name. */
const dl_zip_record *dl_zip_find(const dl_zip *z, const char *name);
/* "PytorchStreamReader failed locating file …": what to fail with where there must be one. */
dl_status dl_zip_missing(const char *name);
/* The whole record into r->size bytes at out. Its sum is checked, an interrupt is seen. */
dl_status dl_zip_read(dl_zip *z, const dl_zip_record *r, const char *name, void *out);

/* ---- writing -------------------------------------------------------------------------------- */
typedef struct dl_zipw dl_zipw;

/* root: the folder of all records. */
dl_status dl_zipw_new(FILE *f, const char *root, dl_zipw **out);
void dl_zipw_free(dl_zipw *w);
dl_status dl_zipw_add(dl_zipw *w, const char *name, const void *data, int64_t size);
/* A number for the names and one for the contents so far: the same for the same records. */
void dl_zipw_sums(const dl_zipw *w, uint64_t *names, uint64_t *contents);
/* The directory at the end. Nothing can be added then. */
dl_status dl_zipw_finish(dl_zipw *w);
/* For tests: sizes and places from here on are written with 64 bits; 4 GiB - 1 otherwise. */
void dl_zipw_set_limit(dl_zipw *w, int64_t limit);

#endif
