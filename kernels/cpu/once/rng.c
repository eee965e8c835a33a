/* rng.c -- PyTorch's CPU generator: MT19937, uniforms, the scalar normal, its saved state
 *
 * For kernels/cpu/random.c and the binding (manual_seed, get_rng_state).
 * SOURCE     ATen/core/MT19937RNGEngine.h, ATen/CPUGeneratorImpl.cpp: equal bit for bit.
 * INVARIANT  Only the low 32 bits of a seed reach the engine. */
#include "philox.h"
#include "rng.h"

#include <math.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define FRESH \
  625 /* dl_gen.next right after seeding; differs from 624 (used up) in the saved state only */

dl_gen dl_gen_cpu;
bool dl_gen_mkl;

/* A program that never calls manual_seed gets other numbers at each start. */
__attribute__((constructor)) static void seed_from_entropy(void) {
  uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
    seed = (uint64_t)time(NULL) * 2654435761u ^ (uint64_t)getpid();
  dl_gen_seed(&dl_gen_cpu, seed & ((1ull << 53) - 1));
}

void dl_gen_seed(dl_gen *g, uint64_t seed) {
  g->seed = seed;
  g->mt[0] = (uint32_t)seed;
  for (uint32_t j = 1; j < 624; j++)
    g->mt[j] = 1812433253u * (g->mt[j - 1] ^ (g->mt[j - 1] >> 30)) + j;
  g->next = FRESH;
  g->has_normal = false;
  g->normal = 0;
}

static uint32_t twist(uint32_t u, uint32_t v) {
  return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ ((v & 1u) ? 0x9908b0dfu : 0u);
}

/* A GPU's generator asked for words in a row (multinomial): those of one thread, in order. */
static void refill_philox(dl_gen *g) {
  for (int j = 0; j < 624; j += 4, g->offset += 4) {
    dl_philox4 w = dl_philox(g->seed, 0, g->offset);
    memcpy(g->mt + j, w.x, sizeof w.x);
  }
  g->next = 0;
}

static void refill(dl_gen *g) {
  uint32_t *m = g->mt;
  if (g->philox) {
    refill_philox(g);
    return;
  }
  int j = 0;
  for (; j < 624 - 397; j++) m[j] = m[j + 397] ^ twist(m[j], m[j + 1]);
  for (; j < 623; j++) m[j] = m[j + 397 - 624] ^ twist(m[j], m[j + 1]);
  m[623] = m[396] ^ twist(m[623], m[0]);
  g->next = 0;
}

static inline uint32_t temper(uint32_t y) {
  y ^= y >> 11;
  y ^= (y << 7) & 0x9d2c5680u;
  y ^= (y << 15) & 0xefc60000u;
  return y ^ (y >> 18);
}

uint32_t dl_gen_u32(dl_gen *g) {
  if (g->next >= 624) refill(g);
  return temper(g->mt[g->next++]);
}

uint64_t dl_gen_u64(dl_gen *g) {
  uint64_t high = dl_gen_u32(g);
  return high << 32 | dl_gen_u32(g);
}

double dl_gen_uniform64(dl_gen *g) {
  return (double)(dl_gen_u64(g) & ((1ull << 53) - 1)) * 0x1p-53;
}

float dl_gen_uniform32(dl_gen *g) { return (float)(dl_gen_u32(g) & 0xffffffu) * 0x1p-24f; }

void dl_gen_uniforms32(dl_gen *g, float *out, int64_t n) {
  while (n > 0) {
    if (g->next >= 624) refill(g);
    int64_t m = 624 - g->next < n ? 624 - g->next : n;
    const uint32_t *w = g->mt + g->next;
    for (int64_t i = 0; i < m; i++) out[i] = (float)(int32_t)(temper(w[i]) & 0xffffffu) * 0x1p-24f;
    g->next += (int)m;
    out += m;
    n -= m;
  }
}

/* Box-Muller; the second value of a pair waits for the next call. */
double dl_gen_normal(dl_gen *g) {
  if (g->has_normal) {
    g->has_normal = false;
    return g->normal;
  }
  double u1 = dl_gen_uniform64(g), u2 = dl_gen_uniform64(g);
  double r = sqrt(-2.0 * log1p(-u2)), th = 2.0 * 3.14159265358979323846 * u1;
  g->normal = r * sin(th);
  g->has_normal = true;
  return r * cos(th);
}

/* PyTorch's state: the legacy Torch7 record of 5048 bytes (seed, left, seeded, next, 624 words of 8
 * bytes, the cached double normal), then a float normal and whether it is valid. */
typedef struct { uint64_t seed; int32_t left, seeded; uint64_t next, state[624];
                 double normal_x, normal_y, normal_rho; int32_t normal_is_valid, pad; } legacy;
typedef struct { legacy l; float float_normal; uint8_t float_valid, pad[3]; } record;
_Static_assert(sizeof(record) == DL_GEN_STATE_BYTES, "get_rng_state() has 5056 bytes");

void dl_gen_save(const dl_gen *g, uint8_t out[DL_GEN_STATE_BYTES]) {
  record r;
  memset(&r, 0, sizeof r);
  r.l.seed = g->seed;
  r.l.left = g->next == FRESH ? 1 : 625 - g->next;
  r.l.seeded = 1;
  r.l.next = g->next == FRESH ? 0 : (uint64_t)g->next;
  for (int j = 0; j < 624; j++) r.l.state[j] = g->mt[j];
  r.l.normal_is_valid = g->has_normal;
  r.l.normal_y = g->has_normal ? g->normal : 0;
  memcpy(out, &r, sizeof r);
}

dl_status dl_gen_load(dl_gen *g, const uint8_t *in, size_t n) {
  record r;
  if (n != sizeof r)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "Expected a CPUGeneratorImplState of size %zu but found the input RNG state "
                   "size to be %zu",
                   sizeof r, n);
  memcpy(&r, in, sizeof r);
  if (!r.l.seeded || r.l.next > 624 || r.l.left < 1 || r.l.left > 624)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Invalid mt19937 state");
  g->seed = r.l.seed;
  for (int j = 0; j < 624; j++) g->mt[j] = (uint32_t)r.l.state[j];
  g->next = r.l.left == 1 && r.l.next == 0 ? FRESH : (int)r.l.next;
  g->has_normal = r.l.normal_is_valid != 0;
  g->normal = r.l.normal_y;
  return DL_OK;
}
