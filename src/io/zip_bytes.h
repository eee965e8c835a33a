/* zip_bytes.h -- numbers of a zip file, little-endian; for the files of src/io only */
#ifndef DL_ZIP_BYTES_H
#define DL_ZIP_BYTES_H

#include <stdint.h>

enum {
  ZIP_LOCAL = 0x04034b50, ZIP_CENTRAL = 0x02014b50, ZIP_END = 0x06054b50,
  ZIP_END64 = 0x06064b50, ZIP_LOCATOR = 0x07064b50, ZIP_SUMS = 0x08074b50,
};
enum {                           /* bytes of each, without names and extra fields */
  ZIP_LOCAL_BYTES = 30, ZIP_CENTRAL_BYTES = 46, ZIP_END_BYTES = 22, ZIP_END64_BYTES = 56,
  ZIP_LOCATOR_BYTES = 20,
};
#define ZIP_PIECE ((size_t)1 << 22) /* bytes moved between two looks for an interrupt */

static inline uint16_t zip_get16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t zip_get32(const unsigned char *p) {
  return (uint32_t)zip_get16(p) | (uint32_t)zip_get16(p + 2) << 16;
}
static inline uint64_t zip_get64(const unsigned char *p) {
  return (uint64_t)zip_get32(p) | (uint64_t)zip_get32(p + 4) << 32;
}
static inline unsigned char *zip_put(unsigned char *p, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) *p++ = (unsigned char)(v >> 8 * i);
  return p;
}

#endif
