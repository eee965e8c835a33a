/* philox.h -- the random numbers of a CUDA device: Philox4x32-10 as cuRAND and PyTorch use it
 *
 * For kernels/cuda and kernels/sim: plain C that nvcc compiles too. Thread t of a grid of
 * blocks * 256 threads draws four words at a time from (seed, subsequence t, offset); element
 * t + threads * i takes component i (PyTorch's distribution_elementwise_grid_stride_kernel).
 *
 * SOURCE     Salmon et al. 2011; ATen/native/cuda/DistributionTemplates.h; curand_uniform.h.
 * INVARIANT  The numbers follow from (seed, offset, n, card), whoever runs this. */
#ifndef DL_PHILOX_H
#define DL_PHILOX_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef DL_HD /* cuda.h makes it __host__ __device__ */
#define DL_HD
#endif

#define DL_PHILOX_BLOCK 256 /* threads of a block */

typedef struct dl_philox4 { uint32_t x[4]; } dl_philox4;

/* The four words of counter (offset / 4, subsequence) under the key `seed`. */
static inline DL_HD dl_philox4 dl_philox(uint64_t seed, uint64_t subsequence, uint64_t offset) {
  uint64_t at = offset / 4;
  dl_philox4 c = {{(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)subsequence,
                   (uint32_t)(subsequence >> 32)}};
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c.x[0], p1 = (uint64_t)0xCD9E8D57u * c.x[2];
    dl_philox4 d = {{(uint32_t)(p1 >> 32) ^ c.x[1] ^ k0, (uint32_t)p1,
                     (uint32_t)(p0 >> 32) ^ c.x[3] ^ k1, (uint32_t)p0}};
    c = d;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

/* (0, 1] */
static inline DL_HD float dl_philox_uniform(uint32_t w) {
  return (float)w * 2.3283064e-10f + (2.3283064e-10f / 2.0f);
}
/* (0, 1] with 53 bits of two words */
static inline DL_HD double dl_philox_uniform64(uint32_t a, uint32_t b) {
  uint64_t z = (uint64_t)a ^ ((uint64_t)b << 21);
  return (double)z * 1.1102230246251565e-16 + 1.1102230246251565e-16 / 2.0;
}
/* The angle of a Box-Muller pair from its second word, in radians, (0, 2 pi]. Rounded once, as nvcc
 * compiles cuRAND's sum in PyTorch. */
static inline DL_HD float dl_philox_angle(uint32_t w) {
  const float turn = 2.3283064e-10f * 6.2831855f;
  return fmaf((float)w, turn, turn / 2.0f);
}

/* Blocks that a launch over n elements uses on a card that holds max_blocks. */
static inline DL_HD uint32_t dl_philox_blocks(int64_t n, uint32_t max_blocks) {
  int64_t want = (n + DL_PHILOX_BLOCK - 1) / DL_PHILOX_BLOCK;
  return (uint32_t)(want < (int64_t)max_blocks ? want : (int64_t)max_blocks);
}
/* randperm sorts by random keys; with so many bits one permutation in ten has equal ones, which are
 * shuffled afterwards (ATen/native/cuda/Randperm.cu). */
static inline int dl_philox_key_bits(int64_t n) {
  double x = (double)n, bits = ceil(log2(x - (6 * x * x + 1) / (log(0.9) * 12)));
  return bits < 64 ? (int)bits : 64;
}
/* The j-th word that thread t draws one by one. */
static inline DL_HD uint32_t dl_philox_word(uint64_t seed, uint64_t t, uint64_t offset,
                                            uint64_t j) {
  dl_philox4 w = dl_philox(seed, t, offset + j / 4 * 4);
  return w.x[j % 4];
}

/* By how much such a launch advances the offset. */
static inline DL_HD uint64_t dl_philox_advance(int64_t n, uint32_t blocks) {
  return (uint64_t)((n - 1) / ((int64_t)DL_PHILOX_BLOCK * blocks * 4) + 1) * 4;
}

/* ---- dropout (ATen/native/cuda/Dropout.cu) --------------------------------------------------- */
/* Where u of an element is below `keep` it stays, times `scale`. */
typedef struct dl_dropping { double keep, scale; } dl_dropping;

/* 0 <= p < 1. wide: in float64, else in float32. */
static inline dl_dropping dl_dropping_of(double p, bool wide) {
  dl_dropping d = {1 - p, 0};
  if (!wide) d.keep = (double)(float)d.keep;
  d.scale = wide ? 1 / d.keep : (double)(float)(1 / d.keep);
  return d;
}

/* How many neighbours a thread takes at once: as many as 16 bytes hold, fewer if the address or the
 * number of elements do not divide. Then threads go by memory; with 1 they go by row-major order,
 * as in the other random kernels. */
static inline int dl_dropping_pack(const void *at, int64_t n, int size) {
  int k = 16 / size;
  while (k > 1 && ((uintptr_t)at % (unsigned)(k * size) || n % k)) k /= 2;
  return k;
}
/* The words for quad q of the pack that thread t takes in round r. Packs of two use half of a draw
 * and pass the end of what the launch reserves: PyTorch's do. */
static inline DL_HD dl_philox4 dl_dropping_draw(uint64_t seed, uint64_t offset, int64_t t,
                                                int64_t r, int pack, int q) {
  int quads = (pack + 3) / 4;
  return dl_philox(seed, (uint64_t)t, offset + 4 * (uint64_t)(r * quads + q));
}

#endif
