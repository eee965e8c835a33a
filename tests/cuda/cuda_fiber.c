/* cuda_fiber.c -- fibers run kernels as a GPU does, and catch what a GPU would not forgive; bad
 * values are noted with PyTorch's words; random numbers are Philox's */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_test.h"
#include "op/dispatch.h"
#include "philox.h"
#include "rng.h"
#include "tap.h"

void cuda_test_kernel(const char *name, unsigned order, const int *x, int *out);

static int x[64], out[4];

/* Does the kernel stop the program? What it says before that is not shown. */
static bool stops(const char *name) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(3);
    cuda_test_kernel(name, 0, x, out);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

static int sums_right(const char *name) {
  int right = 0, want = 0;
  for (int i = 0; i < 64; i++) want += x[i] = i * i % 13;
  for (unsigned order = 0; order < 4; order++) {
    cuda_test_kernel(name, order, x, out);
    right += out[0] == want;
  }
  return right;
}

static void running(void) {
  is_int(sums_right("sum"), 4, "a sum over a block is right in four orders");
  ok(sums_right("sum without barrier") < 4, "a missing barrier shows in one of four orders");
  cuda_test_kernel("votes", 2, x, out);
  ok(out[0] == 1 && out[1] == 1 && out[2] == 32 && out[3] == 7, "votes and ballots count all");
  out[0] = 0;
  cuda_test_kernel("adds", 3, x, out);
  is_int(out[0], 3 * 2016, "atomic sums over three blocks lose nothing");
  cuda_test_kernel("reads rubbish", 0, x, out);
  ok(out[0] != 0, "shared memory is not zero before it is written");
}

static void stopping(void) {
  ok(stops("part waits"), "a barrier that half a block reaches stops the program");
  ok(stops("two places"), "so does a block that waits at two barriers");
  ok(stops("half a warp"), "so does an exchange without all lanes");
  ok(stops("empty grid"), "so does an empty grid");
  ok(stops("too many threads"), "so does a block of 2,048 threads");
#ifdef DL_SAN
  ok(stops("beyond the end"), "so does a write beyond shared memory");
#else
  tap_skip("no address sanitizer in this build", "so does a write beyond shared memory");
#endif
}

/* ---- bad values ------------------------------------------------------------------------------ */
static void bad_values(void) {
  char text[512];
  dl_cuda_fault f = {DL_FAULT_NLL, {0, 0, 0}, {3, 0, 0}};
  is_str(dl_cuda_fault_text(&f, text, sizeof text),
         "/pytorch/aten/src/ATen/native/cuda/Loss.cu:245: nll_loss_forward_reduce_cuda_kernel_2d: "
         "block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.",
         "a class out of range is told in PyTorch's words");
}

/* A probability of 2: the coin notes it, the call goes on. */
static void bad_coin(void) {
  int64_t n = 40, one = 1;
  float p[40], made[40];
  dl_gen gen = {.seed = 1, .philox = true, .max_blocks = 4};
  dl_arg arg[2] = {{.tag = DL_A_NONE}, {.tag = DL_A_NONE}};
  dl_kcall k = {.op = DL_OP_bernoulli, .compute = DL_F32, .nout = 1, .nin = 1, .arg = arg,
                .gen = &gen};
  for (int i = 0; i < 40; i++) p[i] = i == 33 ? 2.0f : 0.5f;
  k.in[0] = (dl_view){(char *)p, DL_F32, 1, n, &n, &one};
  k.out[0] = (dl_view){(char *)made, DL_F32, 1, n, &n, &one};
  is_status(cuda_test_run(DL_OP_bernoulli, &k, 0), "", "a coin with probability 2 is drawn");
  is_int(cuda_test_fault()->code, DL_FAULT_COIN, "and noted");
  is_int(cuda_test_fault()->thread[0], 33 / 4, "with the thread that met it");
  is_int(gen.offset, 12, "the generator goes on by twelve, whatever the size");
}

/* ---- random numbers -------------------------------------------------------------------------- */
/* Known answers of Random123's own test (kat_vectors, philox4x32 with 10 rounds). */
static void philox(void) {
  dl_philox4 a = dl_philox(0, 0, 0);
  ok(a.x[0] == 0x6627e8d5 && a.x[1] == 0xe169c58d && a.x[2] == 0xbc57ac4c && a.x[3] == 0x9b00dbd8,
     "Philox of zeros is Random123's");
}

int main(void) {
  dl_op_init();
  cuda_test_begin();
  running();
  stopping();
  bad_values();
  bad_coin();
  philox();
  return tap_done();
}
