/* io_zip.c -- archives are written and read back, also where 64 bits are needed; damage is told */
#include "io/zip.h"

#include <stdlib.h>
#include <string.h>

#include "mem/mem.h"
#include "tap.h"

enum { ROUNDS = 4000 };

static FILE *write_archive(int64_t limit) {
  static const char text[] = "some bytes";
  char name[32];
  dl_zipw *w = NULL;
  FILE *f = tmpfile();
  bool good = f && dl_zipw_new(f, "root", &w) == DL_OK;
  if (good && limit) dl_zipw_set_limit(w, limit);
  for (int i = 0; good && i < 20; i++) {
    snprintf(name, sizeof name, "data/%d", i);
    good = dl_zipw_add(w, name, text, i % 11) == DL_OK;
  }
  good = good && dl_zipw_finish(w) == DL_OK;
  dl_zipw_free(w);
  ok(good, "an archive of 20 records is written");
  rewind(f);
  return f;
}

static bool same(dl_zip *z, int i) {
  char name[32], got[16] = "";
  snprintf(name, sizeof name, "data/%d", i);
  const dl_zip_record *r = dl_zip_find(z, name);
  return r && r->size == i % 11 && (r->data % DL_ZIP_ALIGN == 0) &&
         dl_zip_read(z, r, name, got) == DL_OK && !memcmp(got, "some bytes", (size_t)r->size);
}

static void read_back(FILE *f, const char *what) {
  dl_zip *z = NULL;
  is_int(dl_zip_open(f, &z), DL_OK, "%s: it is opened", what);
  int good = 0;
  for (int i = 0; z && i < 20; i++) good += same(z, i);
  is_int(good, 20, "%s: each record is found, aligned, and has its bytes", what);
  ok(z && !dl_zip_find(z, "data/20") && !dl_zip_find(z, "") && !dl_zip_find(z, "root/data/1"),
     "%s: nothing else is found", what);
  dl_zip_free(z);
}

/* Opens what is in bytes[0..n) and reads every record; true if all was well. */
static bool try_all(const unsigned char *bytes, size_t n) {
  FILE *f = tmpfile();
  dl_zip *z = NULL;
  char got[64];
  fwrite(bytes, 1, n, f);
  rewind(f);
  bool good = dl_zip_open(f, &z) == DL_OK;
  for (int i = 0; good && i < 20; i++) {
    char name[32];
    snprintf(name, sizeof name, "data/%d", i);
    const dl_zip_record *r = dl_zip_find(z, name);
    good = r && r->size <= (int64_t)sizeof got && dl_zip_read(z, r, name, got) == DL_OK;
  }
  dl_zip_free(z);
  fclose(f);
  return good;
}

static size_t contents(FILE *f, unsigned char *out, size_t cap) {
  rewind(f);
  return fread(out, 1, cap, f);
}

static void damage(FILE *f) {
  static unsigned char whole[1 << 14], cut[1 << 14];
  size_t n = contents(f, whole, sizeof whole);
  int survived = 0, told = 0;
  for (size_t k = 0; k < n; k += 3) {
    told += !try_all(whole, k);
    survived++;
  }
  is_int(told, survived, "cut at any place it is refused");
  srand(1);
  int64_t live = dl_mem.live_bytes;
  for (int k = 0; k < ROUNDS; k++) {
    memcpy(cut, whole, n);
    for (int m = rand() % 4; m >= 0; m--) cut[(size_t)rand() % n] = (unsigned char)(rand() % 256);
    try_all(cut, n);
  }
  is_int(dl_mem.live_bytes, live, "%d archives with odd bytes leave nothing behind", ROUNDS);
}

static void refuse(FILE *f) {
  int64_t live = dl_mem.live_bytes, k = 1;
  dl_zip *z = NULL;
  for (; k < 100; k++) {
    rewind(f);
    dl_mem_refuse_at = k;
    dl_status st = dl_zip_open(f, &z);
    dl_mem_refuse_at = 0;
    if (st == DL_OK) break;
  }
  dl_zip_free(z);
  ok(k > 3 && k < 100, "opened with each of %d allocations refused", (int)k - 1);
  is_int(dl_mem.live_bytes, live, "nothing is left behind then");
}

int main(void) {
  dl_mem_init();
  FILE *f = write_archive(0);
  read_back(f, "plain");
  damage(f);
  refuse(f);
  fclose(f);
  f = write_archive(100);
  read_back(f, "with 64-bit fields from 100 bytes on");
  damage(f);
  fclose(f);
  f = write_archive(1);
  read_back(f, "with 64-bit fields everywhere");
  fclose(f);
  return tap_done();
}
