/* sim_memory.c -- the simulated card's memory: capacity, addresses, budget, faults, launches */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_help.h"

/* ---- memory ---- */
static void capacity(void) {
  dl_props p;
  size_t free_bytes, total;
  ok(open_sim("t4", 1, true, 0), "a T4 opens");
  is_int(drv->props(0, &p), 0, "it has properties");
  is_str(p.name, "Tesla T4 [SIMULATED]", "its name says that it is simulated");
  is_int(p.major * 10 + p.minor, 75, "compute capability 7.5");
  is_int(drv->mem_info(0, &free_bytes, &total), 0, "mem_info");
  is_int(total, p.total_memory, "the total is what CUDA reports");
  is_int(total - free_bytes, 450ll << 20, "the context takes 450 MiB");
  void *a, *b;
  is_int(drv->mem_new(0, 100, &a), 0, "100 bytes");
  drv->mem_info(0, &free_bytes, &total);
  is_int(total - free_bytes, (450ll + 2) << 20, "take a page of 2 MiB");
  ok((uintptr_t)a >> 62 & 1, "a device address has bit 62 set");
  is_int(drv->mem_new(0, (size_t)20 << 30, &b), DL_CU_OOM, "20 GiB are too much for it");
  ok(b == NULL, "and give no address");
  is_int(drv->mem_free(0, a, 100), 0, "memory goes back");
  is_int(drv->mem_new(0, 5 << 20, &b), 0, "the next request");
  ok(a == b, "gets the lowest free address");
  is_int(drv->mem_free(0, (char *)b + 512, 512), DL_CU_INVALID_VALUE, "half a block is not freed");
  drv->mem_free(0, b, 5 << 20);
  dl_sim_close();
}

static void reserved_not_touched(void) {
  int64_t lent = dl_mem.lent_bytes;
  void *p;
  ok(open_sim("b200", 2, true, 0), "two B200 open on any machine");
  is_int(drv->mem_new(1, (size_t)170 << 30, &p), 0, "170 GiB of the second are given");
  is_int(dl_mem.lent_bytes, lent, "and cost the host nothing");
  char *at = (char *)p + ((size_t)100 << 30);
  float x = 2.5f, y = 0;
  dl_copy c = {.dst = at, .src = &x, .nbytes = 4, .kind = DL_COPY_H2D, .dst_dev = 1, .src_dev = -1};
  is_int(drv->copy(&c, 0), 0, "four bytes go in the middle");
  is_int(dl_mem.lent_bytes - lent, 2 << 20, "which costs a page");
  dl_copy back = {.dst = &y, .src = at, .nbytes = 4, .kind = DL_COPY_D2H, .dst_dev = -1,
                  .src_dev = 1};
  is_int(drv->copy(&back, 0), 0, "and come back");
  is_double(y, 2.5, 0, "as they were");
  c.dst_dev = 0;
  is_int(drv->copy(&c, 0), DL_CU_INVALID_VALUE, "they are not the other card's");
  drv->mem_free(1, p, (size_t)170 << 30);
  is_int(dl_mem.lent_bytes, lent, "freed memory is given back to the host");
  dl_sim_close();
}

static void host_budget(void) {
  dl_sim_options o = {.card = {dl_card_find("t4")}, .count = 1, .compute = true,
                      .host_budget = 4 << 20};
  void *p;
  is_status(dl_sim_open(&o, &drv), "", "a budget of 4 MiB");
  drv->mem_new(0, 64 << 20, &p);
  is_int(drv->fill(0, p, 1, 4 << 20, 0), 0, "4 MiB of values fit");
  is_int(drv->fill(0, (char *)p + (4 << 20), 1, 2 << 20, 0), DL_CU_RAISED, "2 MiB more do not");
  ok(strstr(dl_err.message, "the host is short") && strstr(dl_err.message, "use compute=false"),
     "the error says what to do: %.60s…", dl_err.message);
  is_int(drv->error(0), 0, "and the device is well");
  dl_sim_close();
}

static void address_ranges(void) {
  void *va;
  size_t free0, free1, total;
  open_sim("t4", 1, true, 0);
  drv->mem_info(0, &free0, &total);
  is_int(drv->va_new(0, (size_t)16 << 30, &va), 0, "16 GiB of addresses");
  drv->mem_info(0, &free1, &total);
  is_int(free1, free0, "take no memory");
  is_int(drv->page_map(0, va, 20 << 20), 0, "20 MiB behind their beginning");
  is_int(drv->page_map(0, va, 2 << 20), DL_CU_INVALID_VALUE, "not twice");
  drv->mem_info(0, &free1, &total);
  is_int(free0 - free1, 20 << 20, "take 20 MiB");
  is_int(drv->fill(0, (char *)va + (18 << 20), 7, 2 << 20, 0), 0, "what is mapped can be used");
  is_int(drv->fill(0, (char *)va + (20 << 20), 7, 1, 0), DL_CU_INVALID_VALUE, "the rest cannot");
  is_int(drv->page_unmap(0, va, 20 << 20), 0, "unmapped");
  drv->mem_info(0, &free1, &total);
  is_int(free1, free0, "the memory is back");
  is_int(drv->va_free(0, va, (size_t)16 << 30), 0, "and the addresses");
  dl_sim_close();
}

static void faults(void) {
  void *p, *q;
  open_sim("t4", 1, true, 0);
  dl_sim_refuse(0, 2, 1);
  is_int(drv->mem_new(0, 512, &p), 0, "the first allocation is served");
  is_int(drv->mem_new(0, 512, &q), DL_CU_OOM, "the second is refused, as asked");
  is_int(drv->mem_new(0, 512, &q), 0, "the third is served");
  dl_sim_lose(0);
  is_int(drv->mem_new(0, 512, &q), DL_CU_LOST, "a lost device gives nothing");
  is_int(drv->device_sync(0), DL_CU_LOST, "and says so to everybody");
  is_int(drv->reset(0), 0, "until it is reset");
  is_int(drv->mem_new(0, 512, &q), 0, "it works again");
  ok(p == q, "from a clean slate");
  dl_sim_close();
}

static void bad_options(void) {
  dl_sim_options o = {.card = {dl_card_find("t4")}, .count = 1, .compute = true};
  o.memory = 1;
  is_status(dl_sim_open(&o, &drv), "ValueError: a simulated card has at least 8 MiB…",
            "a card of one byte is refused");
  o.memory = INT64_MAX;
  is_status(dl_sim_open(&o, &drv), "ValueError: a simulated card has at most 8192 GiB…",
            "and one beyond all sense");
  o.memory = 0;
  o.count = 17;
  is_status(dl_sim_open(&o, &drv), "ValueError: 1 to 16 GPUs can be simulated, not 17",
            "17 GPUs are too many");
  o.count = 0;
  is_status(dl_sim_open(&o, &drv), "ValueError: 1 to 16 GPUs can be simulated, not 0",
            "and none too few");
  o.count = 1;
  is_status(dl_sim_open(&o, &drv), "", "one is right");
  const dl_driver *second;
  is_status(dl_sim_open(&o, &second), "RuntimeError: a GPU is simulated already", "not twice");
  size_t f, t;
  is_int(drv->mem_info(1, &f, &t), DL_CU_ORDINAL, "GPU 1 of one is no device");
  is_int(drv->mem_info(-1, &f, &t), DL_CU_ORDINAL, "nor is GPU -1");
  dl_sim_close();
  is_int(drv->mem_info(0, &f, &t), DL_CU_NO_DEVICE, "closed, there is none");
}

static void fork_while_open(void) {
  open_sim("t4", 1, true, 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    void *p;
    int e = drv->mem_new(0, 512, &p);
    bool told = e == DL_CU_RAISED &&
                strncmp(dl_err.message, "Cannot re-initialize CUDA in forked subprocess.", 47) == 0;
    _exit(told ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  is_int(status, 0, "a forked child gets PyTorch's error");
  void *p;
  is_int(drv->mem_new(0, 512, &p), 0, "the parent goes on");
  dl_sim_close();
}

int main(void) {
  dl_op_init();
  capacity();
  reserved_not_touched();
  host_budget();
  address_ranges();
  faults();
  bad_options();
  fork_while_open();
  return tap_done();
}
