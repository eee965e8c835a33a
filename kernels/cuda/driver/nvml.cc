/* nvml.cc -- what nvidia-smi knows: how busy a card is, and who uses it
 *
 * For driver.cc's table. The library is the driver's; it is looked for when first asked. It counts
 * cards by itself, so that a card is named by its place on the bus.
 *
 * SOURCE     NVML API reference; reportProcessMemoryInfo in c10/cuda/CUDACachingAllocator.cpp. */
#include "driver.h"

#include <dlfcn.h>

#include <cstring>

struct rates { unsigned gpu, memory; };
struct process {                 /* nvmlProcessInfo_v2_t */
  unsigned pid;
  unsigned long long nbytes;
  unsigned instance, compute;
};

static struct {
  bool looked, found;
  int (*init)(void);
  int (*card)(const char *, void **);
  int (*rates_of)(void *, rates *);
  int (*processes)(void *, unsigned *, process *);
} nvml;

static bool look(void) {
  if (nvml.looked) return nvml.found;
  nvml.looked = true;
  void *lib = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!lib) return false;
  *(void **)&nvml.init = dlsym(lib, "nvmlInit_v2");
  *(void **)&nvml.card = dlsym(lib, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&nvml.rates_of = dlsym(lib, "nvmlDeviceGetUtilizationRates");
  *(void **)&nvml.processes = dlsym(lib, "nvmlDeviceGetComputeRunningProcesses_v3");
  nvml.found = nvml.init && nvml.card && nvml.init() == 0;
  return nvml.found;
}

static void *card_of(int dev) {
  char place[32] = "";
  void *card = nullptr;
  if (!look() || dl_cuda_code(dev, cudaDeviceGetPCIBusId(place, sizeof place, dev))) return nullptr;
  return nvml.card(place, &card) == 0 ? card : nullptr;
}

int dl_cuda_busy(int dev, double *kernel_us, double *elapsed_us) {
  rates r = {0, 0};
  *kernel_us = *elapsed_us = 0;
  DL_CUDA_ENTER(dev);
  void *card = card_of(dev);
  if (!card || !nvml.rates_of || nvml.rates_of(card, &r)) return DL_CU_UNSUPPORTED;
  *kernel_us = r.gpu;
  *elapsed_us = 100;
  return DL_CU_OK;
}

/* Where a card is shared in parts, NVML gives no bytes: such a process is left out. */
int dl_cuda_users(int dev, dl_gpu_user *out, int most) {
  enum { MANY = 64 };
  process p[MANY];
  unsigned n = MANY;
  int count = 0;
  if (dl_cuda_enter(dev)) return -1;
  void *card = card_of(dev);
  if (!card || !nvml.processes || nvml.processes(card, &n, p)) return -1;
  for (unsigned i = 0; i < n && i < MANY && count < most; i++) {
    if (p[i].nbytes == ~0ull) continue;
    out[count].pid = p[i].pid;
    out[count++].nbytes = (int64_t)p[i].nbytes;
  }
  return count;
}
