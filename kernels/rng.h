/* rng.h -- PyTorch's generators: MT19937 with a cached normal on the CPU, Philox on a GPU
 *
 * SOURCE ATen/core/MT19937RNGEngine.h, CPUGeneratorImpl.cpp; numbers equal bit for bit. */
#ifndef DL_RNG_H
#define DL_RNG_H

#include "base/error.h"

typedef struct dl_gen {
  uint32_t mt[624];
  int next;                      /* index of the next word; 624 = refill */
  uint64_t seed;                 /* as given (initial_seed) */
  bool has_normal;
  double normal;                 /* second value of the last scalar pair */
  /* A GPU's generator (see philox.h): seed and offset alone are its state. */
  bool philox;
  uint64_t offset;               /* numbers drawn by each thread so far; a multiple of 4 */
  uint32_t max_blocks;           /* of 256 threads that the card holds at once */
} dl_gen;

#define DL_GEN_DEFAULT_SEED 67280421310721ull
extern dl_gen dl_gen_cpu;        /* the default generator; seeded from entropy at start */
extern bool dl_gen_mkl;          /* dropout masks as PyTorch's wheels with MKL draw them */

/* Start anew, as PyTorch's CPU does. A new generator must be all zeros before: what makes it a
 * GPU's is left as it is. */
void dl_gen_seed(dl_gen *g, uint64_t seed);
uint32_t dl_gen_u32(dl_gen *g);
uint64_t dl_gen_u64(dl_gen *g);
double dl_gen_uniform64(dl_gen *g); /* [0,1) with 53 bits */
float dl_gen_uniform32(dl_gen *g);  /* [0,1) with 24 bits */
/* n values of dl_gen_uniform32, in order, several at a time. */
void dl_gen_uniforms32(dl_gen *g, float *out, int64_t n);
double dl_gen_normal(dl_gen *g);    /* scalar path, cached second value */
#define DL_GEN_STATE_BYTES 5056     /* the size of PyTorch's get_rng_state() */
void dl_gen_save(const dl_gen *g, uint8_t out[DL_GEN_STATE_BYTES]);
dl_status dl_gen_load(dl_gen *g, const uint8_t *in, size_t n);

#endif
