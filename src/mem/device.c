/* device.c -- names of devices, and whether this build has them
 *
 * For tensor/, op/, bind/.
 *
 * INVARIANT  The texts are PyTorch's.
 * MUST NOT   know tensors. */
#include "mem/gpu.h"

#include <stdio.h>
#include <string.h>

static const char *const type_names[DL_DEVTYPE_COUNT] = {"cpu", "cuda", "mps", "meta"};

/* Types that PyTorch knows, so that a typing error is told from a device we lack. */
static const char *const other_types[] = {
    "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "hpu", "mtia", "privateuseone"};

static dl_status bad_string(const char *s) {
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Invalid device string: '%s'", s);
}

/* "7" -> 7: digits only, no leading zero. */
static bool parse_index(const char *p, int *out) {
  if (p[0] == '\0' || (p[0] == '0' && p[1] != '\0')) return false;
  int v = 0;
  for (; *p; p++) {
    if (*p < '0' || *p > '9' || v > 99) return false;
    v = v * 10 + (*p - '0');
  }
  *out = v;
  return v <= 127;
}

static dl_status unknown_type(const char *s, size_t len) {
  for (size_t i = 0; i < sizeof other_types / sizeof *other_types; i++)
    if (strlen(other_types[i]) == len && strncmp(s, other_types[i], len) == 0) {
      dl_fail(DL_RuntimeError, DL_E_DEVICE, "PyTorch is not linked with support for %s devices",
              other_types[i]);
      dl_note("dlrepl knows the devices cpu, cuda and mps");
      return dl_err.kind;
    }
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                 "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, "
                 "fpga, maia, xla, lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type "
                 "at start of device string: %.*s", (int)len, s);
}

dl_status dl_device_parse(const char *s, dl_device *out) {
  size_t len = strcspn(s, ":");
  if (len == 0) {
    if (s[0] == '\0')
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "Device string must not be empty");
    return bad_string(s);
  }
  for (int t = 0; t < DL_DEVTYPE_COUNT; t++) {
    if (strlen(type_names[t]) != len || strncmp(s, type_names[t], len) != 0) continue;
    int index = -1;
    if (s[len] == ':' && !parse_index(s + len + 1, &index)) return bad_string(s);
    *out = (dl_device){(int8_t)t, (int8_t)index};
    return DL_OK;
  }
  return unknown_type(s, len);
}

dl_status dl_device_check(dl_device d) {
  switch (d.type) {
    case DL_CPU:
      if (d.index <= 0) return DL_OK;
      return dl_fail(DL_RuntimeError, DL_E_DEVICE, "CPU device index must be -1 or zero, got %d",
                     d.index);
    case DL_CUDA: {
      dl_device r = d;
      return dl_gpu_resolve(&r);
    }
    case DL_MPS:
      if (dl_gpu && dl_gpu_type == DL_MPS)
        return d.index <= 0 ? DL_OK : dl_gpu_error(DL_CU_ORDINAL);
      return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                     "PyTorch is not linked with support for mps devices");
    default:
      dl_fail(DL_NotImplementedError, DL_E_UNSUPPORTED, "there are no meta tensors here");
      dl_note("sizes without memory: dlrepl.simulate{card=\"t4\", compute=false}, then "
              "device=\"cuda\"");
      return dl_err.kind;
  }
}

const char *dl_device_str(dl_device d, char buf[24]) {
  const char *name = (unsigned)d.type < DL_DEVTYPE_COUNT ? type_names[d.type] : "?";
  if (d.index < 0) snprintf(buf, 24, "%s", name);
  else snprintf(buf, 24, "%s:%d", name, d.index);
  return buf;
}
