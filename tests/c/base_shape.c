/* base_shape.c -- sizes, strides, broadcasting, devices, errors, warnings */
#include <string.h>

#include "base/shape.h"
#include "mem/mem.h"
#include "tap.h"

#define SIZES(...) (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[]){__VA_ARGS__}

static void numel(void) {
  int64_t n;
  is_status(dl_numel(SIZES(2, 3), &n), "", "2 x 3 has a number of elements");
  is_int(n, 6, "2 x 3 has 6 elements");
  dl_numel(0, NULL, &n);
  is_int(n, 1, "a 0-dim tensor has one element");
  is_status(dl_numel(SIZES(1ll << 62, 0, 1ll << 62), &n), "", "a zero size hides an overflow");
  is_int(n, 0, "and the tensor is empty");
  is_status(dl_numel(SIZES(1ll << 32, 1ll << 32), &n),
            "RuntimeError: Storage size calculation overflowed with sizes=[4294967296, 4294967296]",
            "2^64 elements overflow");
  is_status(dl_numel(SIZES(2, -1), &n),
            "RuntimeError: Trying to create tensor with negative dimension -1: [2, -1]",
            "a negative size");
}

static void strides(void) {
  int64_t s[3];
  dl_strides_contig(SIZES(2, 3, 4), s);
  ok(s[0] == 12 && s[1] == 4 && s[2] == 1, "2 x 3 x 4 is row-major");
  dl_strides_contig(SIZES(2, 0, 4), s);
  ok(s[0] == 4 && s[1] == 4 && s[2] == 1, "a size of 0 counts as 1 for its neighbours");
  ok(dl_is_contig(2, (int64_t[]){1, 3}, (int64_t[]){77, 1}), "the stride of a size-1 dim is free");
  ok(!dl_is_contig(2, (int64_t[]){2, 3}, (int64_t[]){1, 2}), "a transpose is not contiguous");
  ok(dl_is_contig(2, (int64_t[]){0, 3}, (int64_t[]){1, 2}), "an empty tensor is contiguous");
}

static void broadcast(void) {
  dl_meta m = {.ndim = 2, .size = {2, 1}};
  is_status(dl_broadcast(&m, SIZES(4, 1, 3)), "", "2 x 1 with 4 x 1 x 3");
  ok(m.ndim == 3 && m.size[0] == 4 && m.size[1] == 2 && m.size[2] == 3, "gives 4 x 2 x 3");
  m = (dl_meta){.ndim = 2, .size = {2, 3}};
  is_status(dl_broadcast(&m, SIZES(4, 3)),
            "RuntimeError: The size of tensor a (2) must match the size of tensor b (4) at "
            "non-singleton dimension 0", "2 x 3 with 4 x 3");
  m = (dl_meta){.ndim = 2, .size = {2, 3}};
  is_status(dl_broadcast(&m, SIZES(5, 4)),
            "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at "
            "non-singleton dimension 1", "the last mismatch is reported");
  m = (dl_meta){.ndim = 1, .size = {1}};
  is_status(dl_broadcast(&m, SIZES(0)), "", "1 with 0");
  is_int(m.size[0], 0, "gives 0");
}

static void dims(void) {
  int d;
  dl_wrap_dim(-1, 3, &d);
  is_int(d, 2, "dim -1 of 3 is 2");
  is_status(dl_wrap_dim(5, 2, &d),
            "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got 5)",
            "dim 5 of 2");
  is_status(dl_wrap_dim(1, 0, &d),
            "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 1)",
            "dim 1 of a 0-dim tensor");
  char text[16];
  is_str(dl_sizes_str(SIZES(2, 3), text, sizeof text), "[2, 3]", "sizes as text");
  is_str(dl_sizes_str(0, NULL, text, sizeof text), "[]", "no sizes as text");
  is_int(strlen(dl_sizes_str(SIZES(111111, 222222, 333333), text, sizeof text)), 15, "text is cut");
}

static void devices(void) {
  dl_device d;
  char text[24];
  is_status(dl_device_parse("cuda:1", &d), "", "cuda:1 is a device");
  is_str(dl_device_str(d, text), "cuda:1", "and prints as it is written");
  is_status(dl_device_check(d), "AssertionError: Torch not compiled with CUDA enabled",
            "which this build has not");
  is_status(dl_device_parse("cuda:x", &d), "RuntimeError: Invalid device string: 'cuda:x'",
            "cuda:x");
  is_status(dl_device_parse("cuda:-1", &d), "RuntimeError: Invalid device string: 'cuda:-1'",
            "cuda:-1");
  is_status(dl_device_parse("gpu", &d),
            "RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, "
            "hip, ve, fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone "
            "device type at start of device string: gpu", "gpu is no device type");
  dl_device_parse("cpu", &d);
  is_status(dl_device_check(d), "", "the cpu is here");
  ok(dl_device_same(d, (dl_device){DL_CPU, 0}), "cpu and cpu:0 are the same");
}

static int warnings;
static void count_warning(const char *category, const char *text) { warnings += category && text; }

static void errors(void) {
  char big[5000];
  memset(big, 'x', sizeof big);
  big[4999] = '\0';
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "%s", big);
  is_int(strlen(dl_err.message), DL_MESSAGE_MAX - 1, "a long message is cut to the record");
  dl_note("first");
  dl_note("second");
  is_str(dl_err.notes, "first\nsecond", "notes stand on lines of their own");
  for (int i = 0; i < 100; i++) dl_note("%s", big);
  ok(strlen(dl_err.notes) < DL_MESSAGE_MAX, "a hundred long notes do not overrun the record");
  dl_fail(DL_RuntimeError, DL_E_SHAPE, "again: %.10s", dl_err.message);
  is_str(dl_err.message, "again: xxxxxxxxxx", "a message may quote the last one");
  is_str(dl_err.notes, "", "a new failure starts without notes");
  is_str(dl_kind_name(DL_E_OOM), "out_of_memory", "kinds have their word");
  is_str(dl_class_name(DL_LinAlgError), "LinAlgError", "classes have their name");
  dl_cancel = 1;
  is_status(dl_poll(), "KeyboardInterrupt: ", "an interrupt is seen once");
  is_status(dl_poll(), "", "and only once");
  dl_warn_sink = count_warning;
  dl_warn(true, "UserWarning", "the same %d", 1);
  dl_warn(true, "UserWarning", "the same %d", 1);
  dl_warn(true, "UserWarning", "the same %d", 2);
  dl_warn(false, "UserWarning", "the same %d", 1);
  is_int(warnings, 3, "a warning shown once is not shown again unless asked");
}

int main(void) {
  numel();
  strides();
  broadcast();
  dims();
  devices();
  errors();
  return tap_done();
}
