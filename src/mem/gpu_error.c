/* gpu_error.c -- what a GPU's errors say: PyTorch's texts, and what to do
 *
 * For gpu.c and whoever got an error number from the driver.
 *
 * INVARIANT  The first lines are PyTorch's; notes are ours.
 * SOURCE     c10/cuda/CUDAFunctions.cpp, CUDAException.cpp, CUDAMiscFunctions.cpp; CUDA runtime API
 *            (names and texts of errors).
 * MUST NOT   know tensors or Lua. */
#include "mem/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to do: where the program is at fault, the card, its driver; ANY: see the text. */
enum { ANY, BAD_INDEX, KERNEL, CARD, NO_CODE, SET_UP };

static const struct row { int code, kind; const char *name, *text; } errors[] = {
    {DL_CU_INVALID_VALUE, ANY, "InvalidValue", "invalid argument"},
    {DL_CU_OOM, ANY, "MemoryAllocation", "out of memory"},
    {3, SET_UP, "InitializationError", "initialization error"},
    {4, CARD, "CudartUnloading", "driver shutting down"},
    {9, ANY, "InvalidConfiguration", "invalid configuration argument"},
    {DL_CU_LOST, CARD, "DevicesUnavailable", "CUDA-capable device(s) is/are busy or unavailable"},
    {98, NO_CODE, "InvalidDeviceFunction", "invalid device function"},
    {DL_CU_NO_DEVICE, ANY, "NoDevice", "no CUDA-capable device is detected"},
    {DL_CU_ORDINAL, ANY, "InvalidDevice", "invalid device ordinal"},
    {DL_CU_NO_CODE, NO_CODE, "NoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {DL_CU_ECC, CARD, "ECCUncorrectable", "uncorrectable ECC error encountered"},
    {220, CARD, "NvlinkUncorrectable", "uncorrectable NVLink error detected during the execution"},
    {222, NO_CODE, "UnsupportedPtxVersion",
     "the provided PTX was compiled with an unsupported toolchain."},
    {226, CARD, "Contained", "Invalid access of peer GPU memory over nvlink or a hardware error"},
    {304, SET_UP, "OperatingSystem", "OS call failed or operation not supported on this OS"},
    {400, ANY, "InvalidResourceHandle", "invalid resource handle"},
    {DL_CU_NOT_READY, ANY, "NotReady", "device not ready"},
    {DL_CU_ILLEGAL, KERNEL, "IllegalAddress", "an illegal memory access was encountered"},
    {701, ANY, "LaunchOutOfResources", "too many resources requested for launch"},
    {DL_CU_TIMEOUT, KERNEL, "LaunchTimeout", "the launch timed out and was terminated"},
    {709, CARD, "ContextIsDestroyed", "context is destroyed"},
    {DL_CU_ASSERT, BAD_INDEX, "Assert", "device-side assert triggered"},
    {714, KERNEL, "HardwareStackError", "hardware stack error"},
    {715, KERNEL, "IllegalInstruction", "an illegal instruction was encountered"},
    {716, KERNEL, "MisalignedAddress", "misaligned address"},
    {717, KERNEL, "InvalidAddressSpace", "operation not supported on global/shared address space"},
    {718, KERNEL, "InvalidPc", "invalid program counter"},
    {DL_CU_LAUNCH_FAILED, KERNEL, "LaunchFailure", "unspecified launch failure"},
    {800, SET_UP, "NotPermitted", "operation not permitted"},
    {DL_CU_UNSUPPORTED, ANY, "NotSupported", "operation not supported"},
    {802, SET_UP, "SystemNotReady", "system not yet initialized"},
    {803, SET_UP, "SystemDriverMismatch",
     "system has unsupported display driver / cuda driver combination"},
    {804, SET_UP, "CompatNotSupportedOnDevice",
     "forward compatibility was attempted on non supported HW"},
    {DL_CU_UNKNOWN, CARD, "Unknown", "unknown error"}};

static const struct row *row_of(int code) {
  const size_t n = sizeof errors / sizeof *errors;
  for (size_t i = 0; i < n; i++)
    if (errors[i].code == code) return &errors[i];
  return &errors[n - 1];
}

/* ---- notes ----------------------------------------------------------------------------------- */
/* What the kernel that failed said itself, where the driver knows. */
static void kernel_words(int code) {
  for (int d = 0; dl_gpu && dl_gpu->why && d < dl_gpu_count(); d++)
    if (dl_gpu->error(d) == code && dl_gpu->why(d)[0])
      dl_note("the kernel on device %d said: %s", d, dl_gpu->why(d));
}

static void note_ordinal(void) {
  int n = dl_gpu_count();
  dl_note("there %s %d device%s here: %s:0%s", n == 1 ? "is" : "are", n, n == 1 ? "" : "s",
          dl_gpu_type == DL_MPS ? "mps" : "cuda", n > 1 ? " and so on" : "");
}

static const char *const advice[] = {
    [BAD_INDEX] = "an earlier operation on the GPU was given a bad index or label; the context is "
                  "lost, as in PyTorch. dlrepl.reset_device() starts afresh (a script in PyTorch "
                  "must be restarted); run the step on the CPU to see which line it was",
    [KERNEL] = "the context is lost, as in PyTorch; dlrepl.reset_device() starts afresh, tensors "
               "on the device are gone, those on the CPU are not",
    [CARD] = "the context is lost, as in PyTorch; dlrepl.reset_device() starts afresh, tensors on "
             "the device are gone, those on the CPU are not. If it comes again the card or its "
             "driver has a fault (nvidia-smi, dmesg): device=\"cpu\" goes on without it",
    [NO_CODE] = "the plugin has no code for this card: build it here with make cuda, or with "
                "ARCHS of its compute capability",
    [SET_UP] = "the driver and this system do not go together: nvidia-smi says more; after an "
               "update of the driver restart the machine"};

static void notes_of(const struct row *e) {
  kernel_words(e->code);
  if (e->code == DL_CU_ORDINAL) note_ordinal();
  else if (e->kind != ANY) dl_note("%s", advice[e->kind]);
}

/* ---- errors of a device ---------------------------------------------------------------------- */
/* CUDA_LAUNCH_BLOCKING=1 runs each launch to its end, so that errors name their own line. */
static bool blocking(void) {
  const char *v = getenv("CUDA_LAUNCH_BLOCKING");
  return v && !strcmp(v, "1");
}

static dl_status no_driver(int code) {
  char found[48] = "";
  if (code == DL_CU_NO_DRIVER)
    return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                   "Found no NVIDIA driver on your system. Please check that you have an NVIDIA "
                   "GPU and installed a driver from "
                   "http://www.nvidia.com/Download/index.aspx");
  if (dl_gpu_absent_version)
    snprintf(found, sizeof found, " (found version %d)", dl_gpu_absent_version);
  return dl_fail(DL_RuntimeError, DL_E_DEVICE,
                 "The NVIDIA driver on your system is too old%s. Please update your GPU driver by "
                 "downloading and installing a new version from the URL: "
                 "http://www.nvidia.com/Download/index.aspx Alternatively, go to: "
                 "https://pytorch.org to install a PyTorch version that has been compiled with "
                 "your version of the CUDA driver.", found);
}

dl_status dl_gpu_error(int code) {
  if (code == DL_CU_OK) return DL_OK;
  if (code == DL_CU_RAISED) return dl_err.kind;
  if (code == DL_CU_NO_DRIVER || code == DL_CU_TOO_OLD) return no_driver(code);
  const struct row *e = row_of(code);
  char help[256];
  if (code == DL_CU_ORDINAL)
    snprintf(help, sizeof help, "GPU device may be out of range, do you have enough GPUs?");
  else
    snprintf(help, sizeof help,
             "Search for `cudaError%s' in https://docs.nvidia.com/cuda/cuda-runtime-api/"
             "group__CUDART__TYPES.html for more information.", e->name);
  dl_fail(DL_AcceleratorError, DL_E_DEVICE, "CUDA error: %s\n%s\n%sCompile with "
          "`TORCH_USE_CUDA_DSA` to enable device-side assertions.\n", e->text, help,
          blocking() ? "" : "CUDA kernel errors might be asynchronously reported at some other API "
          "call, so the stacktrace below might be incorrect.\n"
          "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n");
  if (code != e->code) dl_note("CUDA's number of this error is %d", code);
  notes_of(e);
  return DL_E_DEVICE;
}

/* ---- no device ------------------------------------------------------------------------------- */
/* As PyTorch's count of devices words what CUDA answered it. */
static void cannot_count(int code) {
  const struct row *e = row_of(code);
  if (code == 3)
    dl_fail(DL_RuntimeError, DL_E_DEVICE,
            "CUDA driver initialization failed, you might not have a CUDA gpu.");
  else if (code == DL_CU_UNKNOWN)
    dl_fail(DL_RuntimeError, DL_E_DEVICE,
            "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. "
            "changing env variable CUDA_VISIBLE_DEVICES after program start. Setting the available "
            "devices to be zero.");
  else
    dl_fail(DL_RuntimeError, DL_E_DEVICE,
            "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before "
            "calling NumCudaDevices() that might have already set an error? Error %d: %s", code,
            e->code == code ? e->text : dl_gpu_absent);
  if (e->kind != ANY && e->kind != CARD) dl_note("%s", advice[e->kind]);
}

dl_status dl_gpu_none(void) {
  if (dl_gpu && dl_gpu_type != DL_CUDA) {
    dl_fail(DL_AssertionError, DL_E_DEVICE, "Torch not compiled with CUDA enabled");
    dl_note("the GPU here is \"mps\"");
    return dl_err.kind;
  }
  int code = dl_gpu_absent ? dl_gpu_absent_code : 0;
  if (code == DL_CU_NO_DEVICE)
    dl_fail(DL_RuntimeError, DL_E_DEVICE, "No CUDA GPUs are available");
  else if (code == DL_CU_NO_DRIVER || code == DL_CU_TOO_OLD) no_driver(code);
  else if (code) cannot_count(code);
  else dl_fail(DL_AssertionError, DL_E_DEVICE, "Torch not compiled with CUDA enabled");
  if (dl_gpu_absent) dl_note("%s", dl_gpu_absent);
  dl_note("dlrepl.simulate(\"t4\") gives a simulated GPU to practise on; "
          "dlrepl.cards() lists them");
  return dl_err.kind;
}
