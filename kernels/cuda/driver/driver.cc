/* driver.cc -- the real driver: driver.h's table over the CUDA runtime
 *
 * For src/op/plugin.c, which loads the plugin and opens this.
 *
 * INVARIANT  Every call makes its device current first; no call throws or ends the process.
 * SOURCE     CUDA runtime API; c10/cuda/CUDAFunctions.cpp. */
#include "driver.h"

#include <dlfcn.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

bool dl_cuda_tf32, dl_cuda_conv_tf32 = true;
static bool blocking;
static int devices;

/* ---- devices --------------------------------------------------------------------------------- */
static int device_count(void) { return devices; }

static int props(int dev, dl_props *out) {
  cudaDeviceProp p;
  DL_CUDA_ENTER(dev);
  int code = dl_cuda_code(dev, cudaGetDeviceProperties(&p, dev));
  if (code) return code;
  snprintf(out->name, sizeof out->name, "%.79s", p.name);
  out->major = p.major;
  out->minor = p.minor;
  out->sm_count = p.multiProcessorCount;
  out->warp_size = p.warpSize;
  out->max_threads_per_sm = p.maxThreadsPerMultiProcessor;
  out->total_memory = (int64_t)p.totalGlobalMem;
  out->l2_bytes = p.l2CacheSize;
  out->shared_per_sm = (int64_t)p.sharedMemPerMultiprocessor;
  out->shared_per_block = (int64_t)p.sharedMemPerBlock;
  out->shared_per_block_optin = (int64_t)p.sharedMemPerBlockOptin;
  out->regs_per_sm = p.regsPerMultiprocessor;
  out->bus_bits = p.memoryBusWidth;
  const unsigned char *u = (const unsigned char *)p.uuid.bytes;
  snprintf(out->uuid, sizeof out->uuid,
           "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
           u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
           u[15]);
  return DL_CU_OK;
}

static int mem_info(int dev, size_t *free_bytes, size_t *total) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_code(dev, cudaMemGetInfo(free_bytes, total));
}

static int peer_ok(int dev, int peer, bool *yes) {
  int can = 0;
  DL_CUDA_ENTER(dev);
  int code = dl_cuda_code(dev, cudaDeviceCanAccessPeer(&can, dev, peer));
  *yes = can != 0;
  return code;
}

static int reset(int dev) {
  int code = dl_cuda_there(dev);
  return code ? code : dl_cuda_forget(dev);
}

static int standing(int dev) { return dev >= 0 && dev < devices ? dl_cuda_dev[dev].error : 0; }
static const char *why(int dev) { return dev >= 0 && dev < devices ? dl_cuda_dev[dev].why : ""; }

/* ---- memory ---------------------------------------------------------------------------------- */
static int mem_new(int dev, size_t n, void **out) {
  DL_CUDA_ENTER(dev);
  int code = dl_cuda_code(dev, cudaMalloc(out, n));
  if (code == DL_CU_OOM && dl_cuda_scratch_trim(dev)) code = dl_cuda_code(dev, cudaMalloc(out, n));
  return code;
}
static int mem_free(int dev, void *p, size_t) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_waited(dev, cudaFree(p));
}
static void trim(int dev) { dl_cuda_scratch_trim(dev); }
/* ---- copies and launches --------------------------------------------------------------------- */
static int wait_for(int dev) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_waited(dev, cudaDeviceSynchronize());
}

static int copy(const dl_copy *c, dl_stream s) {
  static const cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                         cudaMemcpyDeviceToDevice, cudaMemcpyDefault};
  int dev = c->src_dev >= 0 ? c->src_dev : c->dst_dev;
  /* what is written to may still be read by what the peer has queued */
  int code = c->kind == DL_COPY_PEER ? wait_for(c->dst_dev) : DL_CU_OK;
  if (code) return code;
  DL_CUDA_ENTER(dev);
  if (c->kind == DL_COPY_PEER)
    code = dl_cuda_code(dev, cudaMemcpyPeerAsync(c->dst, c->dst_dev, c->src, c->src_dev, c->nbytes,
                                                 dl_cuda_stream(s)));
  else
    code = dl_cuda_code(dev, cudaMemcpyAsync(c->dst, c->src, c->nbytes, kinds[c->kind],
                                             dl_cuda_stream(s)));
  if (code) return code;
  /* the peer's own queue must not run ahead of what it was sent */
  if (c->kind == DL_COPY_PEER) return dl_cuda_waited(dev, cudaStreamSynchronize(dl_cuda_stream(s)));
  bool host = c->kind == DL_COPY_H2D || c->kind == DL_COPY_D2H;
  if (!host) return DL_CU_OK;
  if (c->async)
    return c->pinned ? dl_cuda_pinned_copy(c->kind == DL_COPY_H2D ? c->src : c->dst, dev, s)
                     : DL_CU_OK;
  return dl_cuda_waited(dev, cudaStreamSynchronize(dl_cuda_stream(s)));
}

static int fill(int dev, void *p, int byte, size_t n, dl_stream s) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_code(dev, cudaMemsetAsync(p, byte, n, dl_cuda_stream(s)));
}

static int launched(int dev, dl_status st, dl_stream s) {
  int code = dl_cuda_code(dev, cudaGetLastError()), refused = dl_cuda_refused();
  if (!code && st != DL_OK) code = refused ? refused : DL_CU_RAISED;
  if (code || !blocking) return code;
  return dl_cuda_waited(dev, cudaStreamSynchronize(dl_cuda_stream(s)));
}

static int run(int dev, dl_stream s, dl_kcall *k) {
  dl_cuda_fn fn = dl_cuda_plugin.kernels[k->op];
  if (!fn) return DL_CU_UNSUPPORTED;
  dl_cuda_mark mark = dl_cuda_scratch_begin(dl_cuda_stream(s));
  dl_status st = fn(k, dl_cuda_stream(s));
  dl_cuda_scratch_end(dl_cuda_stream(s), mark);
  return launched(dev, st, s);
}

static int launch(int dev, dl_stream s, dl_kcall *k) {
  DL_CUDA_ENTER(dev);
  return run(dev, s, k);
}

static int copy_view(int dev, dl_stream s, const void *dst, const void *src) {
  dl_kcall k;
  DL_CUDA_ENTER(dev);
  memset(&k, 0, sizeof k);
  k.op = DL_OP_copy_;
  k.compute = DL_NODTYPE;
  k.nout = 1;
  k.nin = 2;
  k.out[0] = k.in[0] = *(const dl_view *)dst;
  k.in[1] = *(const dl_view *)src;
  dl_arg arg[3];
  memset(arg, 0, sizeof arg);
  k.arg = arg;
  return run(dev, s, &k);
}

/* Straight to the runtime and to cuBLAS. */
static int plain(int dev, dl_stream s, void *out, const void *a, const void *b, int64_t n,
                 int dtype) {
  DL_CUDA_ENTER(dev);
  if (!b)
    return dl_cuda_code(dev, cudaMemcpyAsync(out, a, (size_t)n, cudaMemcpyDeviceToDevice,
                                             dl_cuda_stream(s)));
  dl_status st = dl_cuda_blas_plain(out, a, b, n, dtype, dl_cuda_stream(s));
  return st == DL_E_UNSUPPORTED ? DL_CU_UNSUPPORTED : st == DL_OK ? DL_CU_OK : DL_CU_RAISED;
}

/* ---- clocks ---------------------------------------------------------------------------------- */
static double host_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void set_tf32(bool matmul, bool conv) {
  dl_cuda_tf32 = matmul;
  dl_cuda_conv_tf32 = conv;
}

/* ---- opening --------------------------------------------------------------------------------- */
static bool has_driver(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (lib) dlclose(lib);
  return lib != nullptr;
}

static const dl_driver *refused(int code, const char *text, dl_cuda_absence *why) {
  why->code = code;
  snprintf(why->words, sizeof why->words, "%s", text);
  return nullptr;
}

/* CUDA's answer when it was asked for devices, as a reason. */
static const dl_driver *none(cudaError_t e, dl_cuda_absence *why) {
  char text[160];
  int runtime = 0;
  if (e == cudaSuccess || e == cudaErrorNoDevice)
    return refused(DL_CU_NO_DEVICE, "there is a driver and no GPU that it shows (nvidia-smi, "
                   "CUDA_VISIBLE_DEVICES)", why);
  if (e != cudaErrorInsufficientDriver) return refused((int)e, cudaGetErrorString(e), why);
  if (cudaDriverGetVersion(&why->version) != cudaSuccess) cudaGetLastError();
  if (!why->version && !has_driver())
    return refused(DL_CU_NO_DRIVER, "no NVIDIA driver (libcuda.so.1) was found", why);
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) cudaGetLastError();
  snprintf(text, sizeof text,
           "the NVIDIA driver is older than this plugin's CUDA: it knows %d.%d, %d.%d is needed",
           why->version / 1000, why->version % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
  return refused(DL_CU_TOO_OLD, text, why);
}

extern "C" const dl_driver *dl_cuda_open(dl_cuda_absence *absence) {
  static dl_driver d;
  int n = 0;
  cudaError_t e = cudaGetDeviceCount(&n);
  cudaGetLastError();
  if (e != cudaSuccess || n == 0) return none(e, absence);
  devices = n < DL_CUDA_DEVICES ? n : DL_CUDA_DEVICES;
  const char *block = getenv("CUDA_LAUNCH_BLOCKING");
  blocking = block && !strcmp(block, "1");
  dl_cuda_start(devices);
  d.name = "cuda";
  d.device_count = device_count, d.props = props, d.mem_info = mem_info, d.peer_ok = peer_ok;
  d.reset = reset, d.error = standing, d.why = why;
  d.mem_new = mem_new, d.mem_free = mem_free;
  d.va_new = dl_cuda_va_new, d.va_free = dl_cuda_va_free;
  d.page_map = dl_cuda_page_map, d.page_unmap = dl_cuda_page_unmap;
  d.trim = trim, d.workspace = dl_cuda_blas_workspace;
  d.pinned_new = dl_cuda_pinned_new, d.pinned_free = dl_cuda_pinned_free;
  dl_cuda_queue_rows(&d);
  d.copy = copy, d.fill = fill, d.launch = launch, d.copy_view = copy_view;
  d.plain = plain;
  d.host_us = host_us, d.busy = dl_cuda_busy, d.users = dl_cuda_users, d.set_tf32 = set_tf32;
  return &d;
}

extern "C" const char *dl_cuda_libraries(void) {
  static char text[320];
  snprintf(text, sizeof text, "%s", dl_cuda_blas_open() ? dl_cuda_blas_why : "without cuBLAS: ");
  if (!dl_cuda_blas_open()) snprintf(text + 16, sizeof text - 16, "%s", dl_cuda_blas_why);
  return text;
}
