/* sim_launch.c -- kernels on the simulated GPU: numbers, foreign addresses, sticky errors */
#include <stdlib.h>

#include "sim_help.h"

static const dl_arg add_args[] = {NIL, NIL, {.tag = DL_A_INT, .i = 1}};

static void numbers(void) {
  float x[4] = {1, 2, 3, 4}, y[4] = {10, 20, 30, 40}, z[4] = {0};
  array a, b, c;
  open_sim("t4", 1, true, 0);
  ARRAY(&a, 0, DL_F32, 4);
  ARRAY(&b, 0, DL_F32, 4);
  ARRAY(&c, 0, DL_F32, 4);
  upload(0, &a, x);
  upload(0, &b, y);
  dl_kcall k = call2(DL_OP_add, DL_F32, &c, &a, &b, add_args), before = k;
  is_int(drv->launch(0, 0, &k), 0, "add runs");
  ok(memcmp(&k, &before, sizeof k) == 0, "the call is as it was");
  download(0, &c, z);
  is_double(z[0] + z[3], 55, 0, "and has added");
  float number = 0.5f;
  int64_t one[1] = {4}, zero[1] = {0};
  k.in[1] = (dl_view){.data = (char *)&number, .dtype = DL_F32, .ndim = 1, .numel = 4, .size = one,
                      .stride = zero};
  k.numbers = 2;
  is_int(drv->launch(0, 0, &k), 0, "a number given with the call may lie on the host");
  download(0, &c, z);
  is_double(z[1], 2.5, 0, "and is used");
  is_int(drv->device_sync(0), 0, "no error is left");
  dl_sim_close();
}

static float half_of(uint16_t bits) { return dl_half_to_f32((dl_half){bits}); }

/* mm, native_layer_norm and friends see float32; what is stored is rounded to the result's dtype.
 */
static void low_precision(void) {
  uint16_t ones[64], out[4];
  array a, b, c;
  for (int i = 0; i < 64; i++) ones[i] = dl_half_from_f32(i % 16 ? 0.25f : 2048.0f).bits;
  open_sim("t4", 1, true, 0);
  ARRAY(&a, 0, DL_F16, 2, 32);
  ARRAY(&b, 0, DL_F16, 32, 2);
  ARRAY(&c, 0, DL_F16, 2, 2);
  upload(0, &a, ones);
  upload(0, &b, ones);
  dl_kcall k = call2(DL_OP_mm, DL_NODTYPE, &c, &a, &b, NULL);
  is_int(drv->launch(0, 0, &k), 0, "mm of halves runs");
  download(0, &c, out);
  float sum = 0;
  for (int i = 0; i < 32; i++) sum += half_of(ones[i]) * half_of(ones[2 * i]);
  is_double(half_of(out[0]), half_of(dl_half_from_f32(sum).bits), 0,
            "sums are kept in float32 and rounded once");
  uint16_t big[1] = {dl_half_from_f32(60000).bits}, twice[1];
  array p, q;
  ARRAY(&p, 0, DL_F16, 1);
  ARRAY(&q, 0, DL_F16, 1);
  upload(0, &p, big);
  k = call2(DL_OP_add, DL_F32, &q, &p, &p, add_args);
  drv->launch(0, 0, &k);
  download(0, &q, twice);
  is_int(twice[0], 0x7c00, "60000 + 60000 is inf in float16");
  dl_sim_close();
}

static void tf32(void) {
  float x = 1.0f + 1.0f / 4096, y = 1, z;
  array a, b, c;
  open_sim("a100-40", 1, true, 0);
  ARRAY(&a, 0, DL_F32, 1, 1);
  ARRAY(&b, 0, DL_F32, 1, 1);
  ARRAY(&c, 0, DL_F32, 1, 1);
  upload(0, &a, &x);
  upload(0, &b, &y);
  dl_kcall k = call2(DL_OP_mm, DL_NODTYPE, &c, &a, &b, NULL);
  drv->launch(0, 0, &k);
  download(0, &c, &z);
  is_double(z, x, 0, "matrix products are exact unless tf32 is allowed");
  drv->set_tf32(true, true);
  drv->launch(0, 0, &k);
  download(0, &c, &z);
  is_double(z, 1, 0, "with it, operands have ten bits");
  dl_sim_close();
  open_sim("t4", 1, true, 0);
  drv->set_tf32(true, true);
  ARRAY(&a, 0, DL_F32, 1, 1);
  ARRAY(&c, 0, DL_F32, 1, 1);
  upload(0, &a, &x);
  k = call2(DL_OP_mm, DL_NODTYPE, &c, &a, &a, NULL);
  drv->launch(0, 0, &k);
  download(0, &c, &z);
  is_double(z, (double)(float)(x * x), 0, "a T4 has no tf32");
  dl_sim_close();
}

/* KERNELC rows get contiguous operands, whatever the views are. */
static void strided(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, z[6];
  array a, c;
  dl_arg arg[] = {NIL, {.tag = DL_A_INT, .i = 1}, NIL};
  open_sim("t4", 1, true, 0);
  ARRAY(&a, 0, DL_F32, 2, 3);
  ARRAY(&c, 0, DL_F32, 3, 2);
  upload(0, &a, x);
  int64_t size[2] = {3, 2}, stride[2] = {1, 3};
  dl_kcall k = call2(DL_OP_cumsum, DL_F32, &c, &a, NULL, arg);
  k.in[0].size = size;
  k.in[0].stride = stride;
  is_int(drv->launch(0, 0, &k), 0, "cumsum of a transposed view");
  download(0, &c, z);
  is_double(z[0] + 10 * z[1] + 100 * z[5], 1 + 10 * 5 + 100 * 9, 0, "sums along its rows");
  dl_sim_close();
}

static void foreign_addresses(void) {
  float host[4] = {0};
  array a, b, c;
  open_sim("t4", 2, true, 0);
  ARRAY(&a, 0, DL_F32, 4);
  ARRAY(&b, 1, DL_F32, 4);
  ARRAY(&c, 0, DL_F32, 4);
  dl_kcall k = call2(DL_OP_add, DL_F32, &c, &a, &b, add_args);
  is_int(drv->launch(0, 0, &k), 0, "a launch with the other card's memory returns");
  is_int(drv->error(0), 0, "nobody knows yet");
  is_int(drv->device_sync(0), DL_CU_ILLEGAL, "the next synchronisation says illegal address");
  is_int(drv->launch(0, 0, &k), DL_CU_ILLEGAL, "and every launch after it");
  is_int(drv->device_sync(1), 0, "the other card is well");
  is_int(drv->reset(0), 0, "a reset");
  is_int(drv->device_sync(0), 0, "cures it");
  ARRAY(&a, 0, DL_F32, 4);
  ARRAY(&c, 0, DL_F32, 4);
  k = call2(DL_OP_add, DL_F32, &c, &a, &a, add_args);
  k.in[1].data = (char *)host;
  drv->launch(0, 0, &k);
  is_int(drv->stream_sync(0, 0), DL_CU_ILLEGAL, "a host pointer is an illegal address too");
  dl_sim_close();
}

static void device_side_assert(void) {
  float table[6] = {0}, out[2];
  int64_t at[1] = {7};
  array w, i, o;
  dl_arg arg[] = {NIL, NIL, {.tag = DL_A_INT, .i = -1}};
  open_sim("t4", 1, true, 0);
  ARRAY(&w, 0, DL_F32, 3, 2);
  ARRAY(&i, 0, DL_I64, 1);
  ARRAY(&o, 0, DL_F32, 1, 2);
  upload(0, &w, table);
  upload(0, &i, at);
  dl_kcall k = call2(DL_OP__embedding, DL_NODTYPE, &o, &w, &i, arg);
  is_int(drv->launch(0, 0, &k), 0, "an index out of range: the launch returns");
  is_str(dl_err.message, "", "and leaves no error of ours behind");
  is_int(drv->launch(0, 0, &k), 0, "so does the next");
  is_int(download(0, &o, out), DL_CU_ASSERT, "a copy to the host meets the assert");
  ok(strlen(drv->why(0)) > 0, "and can say what the kernel said: %s", drv->why(0));
  void *p;
  is_int(drv->mem_new(0, 512, &p), DL_CU_ASSERT, "nothing works any more");
  drv->reset(0);
  is_str(drv->why(0), "", "until a reset");
  dl_sim_close();
}

static void blocking(void) {
  array a, c;
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  open_sim("t4", 1, true, 0);
  unsetenv("CUDA_LAUNCH_BLOCKING");
  ARRAY(&a, 0, DL_F32, 4);
  ARRAY(&c, 0, DL_F32, 4);
  dl_kcall k = call2(DL_OP_add, DL_F32, &c, &a, &a, add_args);
  double t = drv->host_us();
  is_int(drv->launch(0, 0, &k), 0, "CUDA_LAUNCH_BLOCKING=1: a good launch is well");
  ok(drv->host_us() > t + 12, "and the host waits for its end");
  k.in[1].data = NULL;
  k.in[1].data = (char *)&k;
  is_int(drv->launch(0, 0, &k), DL_CU_ILLEGAL, "a bad one says so at once");
  dl_sim_close();
}

static void dry(void) {
  int64_t lent = dl_mem.lent_bytes;
  array a, c;
  open_sim("b200", 1, false, 0);
  ok(drv->dry, "a dry driver says that it is");
  ARRAY(&a, 0, DL_F32, 100000, 100000);
  ARRAY(&c, 0, DL_F32, 100000, 100000);
  dl_kcall k = call2(DL_OP_add, DL_F32, &c, &a, &a, add_args);
  double t = drv->host_us();
  is_int(drv->launch(0, 0, &k), 0, "40 GB are added to 40 GB");
  is_int(dl_mem.lent_bytes, lent, "without a byte touched");
  is_int(drv->device_sync(0), 0, "it ends");
  ok(drv->host_us() - t > 10000, "and took its time: %.0f us", drv->host_us() - t);
  k.in[1].data = (char *)&k;
  drv->launch(0, 0, &k);
  is_int(drv->device_sync(0), DL_CU_ILLEGAL, "a host pointer is found in a dry run too");
  dl_sim_close();
}

int main(void) {
  dl_op_init();
  numbers();
  low_precision();
  tf32();
  strided();
  foreign_addresses();
  device_side_assert();
  blocking();
  dry();
  return tap_done();
}
