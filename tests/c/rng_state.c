/* rng_state.c -- the generator: PyTorch's streams, and its state as bytes */
#include <string.h>

#include "rng.h"
#include "tap.h"

static void streams(void) {
  dl_gen g = {0};
  dl_gen_seed(&g, 0);
  is_double(dl_gen_uniform32(&g), 0.4962565899, 1e-9, "seed 0: the first float");
  is_double(dl_gen_uniform32(&g), 0.7682217956, 1e-9, "seed 0: the second float");
  dl_gen_seed(&g, 1ull << 32);
  is_double(dl_gen_uniform32(&g), 0.4962565899, 1e-9, "only the low 32 bits of a seed matter");
  dl_gen_seed(&g, 42);
  is_double(dl_gen_normal(&g), 0.33669036626815796, 1e-7, "seed 42: the first normal");
  ok(g.has_normal, "the second of the pair waits");
  is_double(dl_gen_normal(&g), 0.12880940735340118, 1e-7, "seed 42: the second normal");
  ok(!g.has_normal, "and is used up");
}

static void bulk(void) {
  dl_gen a = {0}, b = {0};
  float out[1500];
  int wrong = 0;
  dl_gen_seed(&a, 5);
  dl_gen_seed(&b, 5);
  dl_gen_u32(&a);
  dl_gen_u32(&b);
  dl_gen_uniforms32(&a, out, 1500);
  for (int i = 0; i < 1500; i++) wrong += out[i] != dl_gen_uniform32(&b);
  is_int(wrong, 0, "many at once are the same as one by one");
  is_int(dl_gen_u32(&a), dl_gen_u32(&b), "and leave the generator in the same place");
}

/* What PyTorch's get_rng_state() holds: left at byte 8, next at byte 16. */
static void saved(void) {
  dl_gen g = {0}, h = {0};
  uint8_t s[DL_GEN_STATE_BYTES];
  int32_t left;
  uint64_t next;
  const struct { int draws, left, next; } want[] = {
    {0, 1, 0}, {1, 624, 1}, {622, 2, 623}, {1, 1, 624}, {1, 624, 1}};
  dl_gen_seed(&g, 5);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < want[i].draws; k++) dl_gen_u32(&g);
    dl_gen_save(&g, s);
    memcpy(&left, s + 8, sizeof left);
    memcpy(&next, s + 16, sizeof next);
    is_int(left, want[i].left, "words left, step %d", i);
    is_int(next, want[i].next, "next word, step %d", i);
    is_status(dl_gen_load(&h, s, sizeof s), "", "the state loads, step %d", i);
    dl_gen copy = g;
    is_int(dl_gen_u32(&h), dl_gen_u32(&copy), "and goes on alike, step %d", i);
  }
  is_status(dl_gen_load(&h, s, 10),
            "RuntimeError: Expected a CPUGeneratorImplState of size 5056 but found the input RNG "
            "state size to be 10", "a state of the wrong size");
  memset(s, 0, sizeof s);
  is_status(dl_gen_load(&h, s, sizeof s), "RuntimeError: Invalid mt19937 state", "an empty state");
}

int main(void) {
  streams();
  bulk();
  saved();
  return tap_done();
}
