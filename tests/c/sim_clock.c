/* sim_clock.c -- the virtual clock: golden times, streams, copies, back-pressure, determinism */
#include <math.h>

#include "sim_help.h"

/* T4: op 10 us on the host, 2 us to start, 2.61 us a kernel, 320 GB/s of which 0.88. */
static void golden(void) {
  array a;
  open_sim("t4", 1, false, 0);
  is_double(drv->host_us(), 0, 0, "the clock begins at 0");
  ARRAY(&a, 0, DL_F32, 16);
  is_double(drv->host_us(), 100, 0, "cudaMalloc takes the host 100 us");
  dl_kcall k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
  drv->launch(0, 0, &k);
  is_double(drv->host_us(), 110, 1e-9, "a launch takes it 10 us");
  drv->device_sync(0);
  is_double(drv->host_us(), 115, 0.2,
            "the kernel has ended before the synchronisation's 5 us have");
  ARRAY(&a, 0, DL_F32, 4096, 4096);
  k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
  double t = drv->host_us();
  drv->launch(0, 0, &k);
  drv->device_sync(0);
  is_double(drv->host_us() - t, 10 + 2 + 2.61 + 2 * 67108864.0 / (320e3 * 0.88), 0.01,
            "a large kernel is waited for: bytes over bandwidth");
  dl_sim_close();
}

static double four_gemms(bool two_streams) {
  array a;
  dl_stream s = 0;
  open_sim("a100-80", 1, false, 0);
  ARRAY(&a, 0, DL_F16, 4096, 4096);
  if (two_streams) drv->stream_new(0, 0, &s);
  dl_kcall k = call2(DL_OP_mm, DL_NODTYPE, &a, &a, &a, NULL);
  double t = drv->host_us();
  for (int i = 0; i < 4; i++) drv->launch(0, i % 2 ? s : 0, &k);
  drv->device_sync(0);
  t = drv->host_us() - t;
  dl_sim_close();
  return t;
}

static void streams(void) {
  dl_stream s, other;
  dl_event *e;
  array a;
  open_sim("t4", 1, false, 0);
  is_int(drv->stream_new(0, 0, &s), 0, "a stream");
  ok(s != 0, "is not the default one");
  ARRAY(&a, 0, DL_F32, 4096, 4096);
  dl_kcall k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
  drv->launch(0, s, &k);
  is_int(drv->stream_query(0, 0), 0, "the default stream does not wait for it");
  is_int(drv->stream_query(0, s), DL_CU_NOT_READY, "it is not ready");
  drv->event_new(0, false, &e);
  drv->event_record(e, s);
  is_int(drv->event_query(e), DL_CU_NOT_READY, "nor is an event behind it");
  drv->stream_wait(0, 0, e);
  is_int(drv->stream_query(0, 0), DL_CU_NOT_READY,
         "a stream that waits for the event is not either");
  is_int(drv->stream_sync(0, 0), 0, "after its synchronisation");
  is_int(drv->event_query(e), 0, "the event has happened");
  int polls = 0;
  drv->launch(0, s, &k);
  while (drv->stream_query(0, s) == DL_CU_NOT_READY) polls++;
  ok(polls > 100, "polling takes host time, so a loop of queries ends (%d of them)", polls);
  is_int(drv->stream_free(0, s), 0, "a stream is freed");
  is_int(drv->launch(0, s, &k), DL_CU_INVALID_VALUE, "and takes no launches");
  is_int(drv->stream_new(0, 0, &other), 0, "its number serves again");
  is_int(drv->stream_free(0, 0), DL_CU_INVALID_VALUE, "the default stream stays");
  dl_sim_close();
  double one = four_gemms(false), two = four_gemms(true);
  ok(two > 0.95 * one, "two streams share the SMs: %.0f us beside %.0f", two, one);
}

static void events(void) {
  dl_event *a, *b;
  double ms = -1;
  array x;
  open_sim("t4", 1, false, 0);
  ARRAY(&x, 0, DL_F32, 4096, 4096);
  dl_kcall k = call2(DL_OP_relu, DL_F32, &x, &x, NULL, NULL);
  drv->event_new(0, true, &a);
  drv->event_new(0, true, &b);
  is_int(drv->event_elapsed(a, b, &ms), DL_CU_INVALID_VALUE, "events that nobody recorded");
  drv->event_record(a, 0);
  drv->launch(0, 0, &k);
  drv->event_record(b, 0);
  is_int(drv->event_elapsed(a, b, &ms), DL_CU_NOT_READY, "no time before they have happened");
  drv->event_sync(b);
  is_int(drv->event_elapsed(a, b, &ms), 0, "then");
  is_double(ms, (7.0 + 2.61 + 2 * 67108864.0 / (320e3 * 0.88)) / 1e3, 0.01,
            "the time between is the kernel's");
  drv->event_free(a);
  dl_sim_close();
  ok(true, "an event that nobody freed goes with the machine");
}

static double copy_us(bool pinned, bool async, double *host_only) {
  static char buffer[16 << 20];
  array a;
  open_sim("4090", 1, false, 0);
  ARRAY(&a, 0, DL_U8, 16 << 20);
  double t = drv->host_us();
  dl_copy c = {.dst = a.v.data, .src = buffer, .nbytes = sizeof buffer, .kind = DL_COPY_H2D,
               .dst_dev = 0, .src_dev = -1, .pinned = pinned, .async = async};
  drv->copy(&c, 0);
  *host_only = drv->host_us() - t;
  drv->device_sync(0);
  t = drv->host_us() - t;
  dl_sim_close();
  return t;
}

static void copies(void) {
  double host, pinned = copy_us(true, true, &host);
  is_double(host, 5, 1e-9, "a pinned copy that need not be waited for costs the host 5 us");
  is_double(16.0 * 1048576 / pinned / 1e3, 23.9, 0.5, "and goes at 23.9 GB/s on a 4090 (measured)");
  double blocking = copy_us(true, false, &host);
  ok(host > pinned - 10, "waited for, the host waits: %.0f of %.0f us", host, blocking);
  double pageable = copy_us(false, true, &host);
  ok(pageable > 1.2 * pinned, "pageable is slower: %.0f us", pageable);
  ok(host > 0.95 * pageable, "and non_blocking buys nothing without pinning");
}

static void copy_overlaps(void) {
  array a, x;
  dl_stream s;
  static char buffer[16 << 20];
  double t[2];
  for (int two = 0; two < 2; two++) {
    open_sim("4090", 1, false, 0);
    ARRAY(&a, 0, DL_U8, 16 << 20);
    ARRAY(&x, 0, DL_F16, 8192, 8192);
    drv->stream_new(0, 0, &s);
    dl_kcall k = call2(DL_OP_mm, DL_NODTYPE, &x, &x, &x, NULL);
    t[two] = drv->host_us();
    drv->launch(0, 0, &k);
    dl_copy c = {.dst = a.v.data, .src = buffer, .nbytes = sizeof buffer, .kind = DL_COPY_H2D,
                 .dst_dev = 0, .src_dev = -1, .pinned = true, .async = true};
    drv->copy(&c, two ? s : 0);
    drv->device_sync(0);
    t[two] = drv->host_us() - t[two];
    dl_sim_close();
  }
  ok(t[1] < t[0] - 600,
     "a pinned copy on a stream of its own hides behind a product: %.0f, %.0f us", t[1], t[0]);
}

static void late_arrival(void) {
  float x[4] = {1, 2, 3, 4};
  void *pinned;
  array a;
  open_sim("t4", 1, true, 0);
  ARRAY(&a, 0, DL_F32, 4);
  upload(0, &a, x);
  drv->pinned_new(16, &pinned);
  float *y = pinned;
  dl_copy c = {.dst = y, .src = a.v.data, .nbytes = 16, .kind = DL_COPY_D2H, .dst_dev = -1,
               .src_dev = 0, .pinned = true, .async = true};
  is_int(drv->copy(&c, 0), 0, "a copy to pinned memory that nobody waits for");
  ok(isnan(y[0]) && isnan(y[3]), "leaves nan there");
  drv->stream_sync(0, 0);
  is_double(y[3], 4, 0, "until a synchronisation");
  drv->copy(&c, 0);
  drv->pinned_free(pinned, 16);
  is_int(drv->device_sync(0), 0, "what is freed meanwhile is written to no more");
  dl_sim_close();
}

static void back_pressure(void) {
  array a;
  dl_sim_options o = {.card = {dl_card_find("t4")}, .count = 1, .host_us_per_op = 1};
  dl_sim_open(&o, &drv);
  ARRAY(&a, 0, DL_F32, 4096, 1024);
  dl_kcall k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
  double t = drv->host_us();
  for (int i = 0; i < 1024; i++) drv->launch(0, 0, &k);
  is_double(drv->host_us() - t, 1024, 1e-6,
            "1024 launches are taken as fast as the host makes them");
  for (int i = 0; i < 100; i++) drv->launch(0, 0, &k);
  ok(drv->host_us() - t > 1124 + 5000, "after that each waits for the oldest to start: %.0f us",
     drv->host_us() - t);
  dl_sim_close();
}

static void utilisation(void) {
  array a;
  double busy, all;
  dl_sim_report r;
  open_sim("a100-80", 1, false, 0);
  ARRAY(&a, 0, DL_F16, 64, 64);
  dl_kcall k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
  for (int i = 0; i < 1000; i++) drv->launch(0, 0, &k);
  drv->device_sync(0);
  drv->busy(0, &busy, &all);
  ok(busy / all < 0.3, "small kernels leave the GPU idle: %.0f %%", 100 * busy / all);
  ARRAY(&a, 0, DL_F16, 8192, 8192);
  k = call2(DL_OP_mm, DL_NODTYPE, &a, &a, &a, NULL);
  for (int i = 0; i < 200; i++) drv->launch(0, 0, &k);
  drv->device_sync(0);
  dl_sim_look(0, &r);
  ok(r.busy_us / r.elapsed_us > 0.95, "products fill it: %.0f %%", 100 * r.busy_us / r.elapsed_us);
  ok(r.peak_us / r.elapsed_us < 0.75, "at %.0f %% of its peak (MFU)",
     100 * r.peak_us / r.elapsed_us);
  ok(r.low_us < r.busy_us && r.busy_us < r.high_us, "the bands lie around the kernels' time");
  dl_sim_close();
}

static double program(const char *card) {
  array a, b;
  open_sim(card, 2, false, 0);
  ARRAY(&a, 0, DL_F32, 1000, 1000);
  ARRAY(&b, 1, DL_F32, 1000, 1000);
  dl_kcall k = call2(DL_OP_mm, DL_NODTYPE, &a, &a, &a, NULL);
  for (int i = 0; i < 100; i++) drv->launch(0, 0, &k);
  dl_copy c = {.dst = b.v.data, .src = a.v.data, .nbytes = array_bytes(&a), .kind = DL_COPY_PEER,
               .dst_dev = 1, .src_dev = 0};
  drv->copy(&c, 0);
  dl_sim_host_work(123.25);
  drv->device_sync(0);
  double t = drv->host_us();
  dl_sim_close();
  return t;
}

static void deterministic(void) {
  double first = program("a100-80"), again = program("a100-80");
  ok(first == again, "the same program takes the same microseconds: %.17g, %.17g", first, again);
  ok(program("t4") > first, "a T4 takes longer than an A100");
  ok(program("4090") != first, "and a 4090 another time");
}

/* More is never faster: rows of a product, bytes of a sum. */
static void monotone(void) {
  const dl_card *c = dl_card_find("a100-80");
  int falls = 0;
  double last = 0;
  for (int64_t n = 256; n < 40000000; n += n / 16) {
    array a;
    shape_as(&a, DL_F32, 1, &n);
    a.v.data = (char *)&a;
    dl_kcall k = call2(DL_OP_relu, DL_F32, &a, &a, NULL, NULL);
    double us = dl_sim_cost(c, &k).us;
    falls += us < last;
    last = us;
  }
  is_int(falls, 0, "a longer array never takes less time");
}

int main(void) {
  dl_op_init();
  golden();
  streams();
  events();
  copies();
  copy_overlaps();
  late_arrival();
  back_pressure();
  utilisation();
  deterministic();
  monotone();
  return tap_done();
}
