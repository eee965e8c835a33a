/* fiber.cc -- what the tests give kernels in place of a GPU's driver
 *
 * For cuda_*.c: the switch of stacks, scratch memory with an end that the address sanitizer sees,
 * and the words that start kernels in another order. */
#include "cuda.h"
#include "cuda_test.h"

#if defined(__x86_64__)
__asm__(".text\n.globl dl_fiber_switch\n.type dl_fiber_switch,@function\n"
        "dl_fiber_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size dl_fiber_switch,.-dl_fiber_switch\n");
#endif

static std::vector<void *> scratches;
static dl_cuda_fault fault;

static dl_status scratch(size_t nbytes, void *, void **out) {
  *out = malloc(nbytes);
  if (!*out) return dl_fail(DL_MemoryError, DL_E_OOM, "no scratch of %zu bytes", nbytes);
  memset(*out, 0xa5, nbytes);
  scratches.push_back(*out);
  return DL_OK;
}
static dl_status move(void *dst, const void *src, size_t nbytes, void *) {
  memcpy(dst, src, nbytes);
  return DL_OK;
}

/* ---- a gemm ---------------------------------------------------------------------------------- */
static unsigned long long gemms;

static double element(dl_dtype d, const void *p, int64_t i) {
  return dl_elem_get_f64(d, (const char *)p + i * (int64_t)dl_dtype_size(d));
}

static dl_status gemm(const dl_cuda_gemm *g, void *) {
  dl_dtype in = (dl_dtype)g->dtype, out = g->wide ? DL_F32 : in;
  gemms++;
  for (int64_t z = 0; z < g->batch; z++)
    for (int64_t i = 0; i < g->m; i++)
      for (int64_t j = 0; j < g->n; j++) {
        char *c = (char *)g->c + (z * g->step_c + i * g->ldc + j) * (int64_t)dl_dtype_size(out);
        double sum = 0;
        for (int64_t k = 0; k < g->k; k++)
          sum += element(in, g->a, z * g->step_a + (g->ta ? k * g->lda + i : i * g->lda + k)) *
                 element(in, g->b, z * g->step_b + (g->tb ? j * g->ldb + k : k * g->ldb + j));
        sum = g->alpha * sum + (g->beta != 0 ? g->beta * dl_elem_get_f64(out, c) : 0);
        dl_elem_set_f64(out, c, sum);
      }
  return DL_OK;
}

extern "C" void cuda_test_gemm(bool on) { dl_cuda_environment.gemm = on ? gemm : nullptr; }
extern "C" unsigned long long cuda_test_gemms(void) { return gemms; }

extern "C" void cuda_test_begin(void) {
  dl_cuda_environment.scratch = scratch;
  dl_cuda_environment.write = move;
  dl_cuda_environment.read = move;
  dl_cuda_environment.gemm = nullptr;
  dl_cuda_environment.fault = &fault;
  dl_cuda_environment.sm_count = 2;
}

extern "C" dl_status cuda_test_run(dl_opid op, dl_kcall *k, unsigned order) {
  fiber::order = order;
  fault = dl_cuda_fault();
  dl_status st = dl_cuda_plugin.kernels[op](k, nullptr);
  for (void *p : scratches) free(p);
  scratches.clear();
  return st;
}

extern "C" const dl_cuda_fault *cuda_test_fault(void) { return &fault; }
extern "C" unsigned long long cuda_test_meetings(void) { return fiber::barriers + fiber::atomics; }
extern "C" unsigned long long cuda_test_launches(void) { return fiber::launches; }
