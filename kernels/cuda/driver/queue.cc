/* queue.cc -- streams and events of the real driver
 *
 * For driver.cc's table.
 *
 * INVARIANT  Events are known by device: a context that is reset takes CUDA's part along, and
 *            ours is freed then. */
#include "driver.h"

#include <cstdlib>

/* ---- streams --------------------------------------------------------------------------------- */
static int stream_new(int dev, int priority, dl_stream *out) {
  cudaStream_t s = nullptr;
  DL_CUDA_ENTER(dev);
  int code = dl_cuda_code(dev, cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, priority));
  *out = code ? 0 : (dl_stream)(intptr_t)s;
  return code;
}
static int stream_free(int dev, dl_stream s) {
  DL_CUDA_ENTER(dev);
  dl_cuda_scratch_leave(dev, dl_cuda_stream(s));
  dl_cuda_blas_workspace(dev, s, nullptr, 0);
  return dl_cuda_code(dev, cudaStreamDestroy(dl_cuda_stream(s)));
}
static int stream_query(int dev, dl_stream s) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_waited(dev, cudaStreamQuery(dl_cuda_stream(s)));
}
static int stream_sync(int dev, dl_stream s) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_waited(dev, cudaStreamSynchronize(dl_cuda_stream(s)));
}
static int device_sync(int dev) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_waited(dev, cudaDeviceSynchronize());
}

/* ---- events ---------------------------------------------------------------------------------- */
struct dl_event {
  int dev;
  cudaEvent_t e;
  dl_event *prev, *next;
};
static dl_event *first;

static void forget(dl_event *e) {
  if (e->prev) e->prev->next = e->next;
  else first = e->next;
  if (e->next) e->next->prev = e->prev;
  free(e);
}

void dl_cuda_events_forget(int dev) {
  for (dl_event *e = first, *next; e; e = next) {
    next = e->next;
    if (e->dev == dev) forget(e);
  }
}

static int stream_wait(int dev, dl_stream s, dl_event *e) {
  DL_CUDA_ENTER(dev);
  return dl_cuda_code(dev, cudaStreamWaitEvent(dl_cuda_stream(s), e->e, 0));
}
static int event_new(int dev, bool timing, dl_event **out) {
  *out = nullptr;
  DL_CUDA_ENTER(dev);
  dl_event *e = (dl_event *)calloc(1, sizeof *e);
  if (!e) return dl_cuda_host_short();
  e->dev = dev;
  unsigned flags = timing ? cudaEventDefault : cudaEventDisableTiming;
  int code = dl_cuda_code(dev, cudaEventCreateWithFlags(&e->e, flags));
  if (code) {
    free(e);
    return code;
  }
  e->next = first;
  if (first) first->prev = e;
  *out = first = e;
  return DL_CU_OK;
}
static int event_free(dl_event *e) {
  if (!dl_cuda_forked && cudaEventDestroy(e->e) != cudaSuccess) cudaGetLastError();
  forget(e);
  return DL_CU_OK;
}
static int event_record(dl_event *e, dl_stream s) {
  DL_CUDA_ENTER(e->dev);
  return dl_cuda_code(e->dev, cudaEventRecord(e->e, dl_cuda_stream(s)));
}
static int event_query(dl_event *e) {
  DL_CUDA_ENTER(e->dev);
  return dl_cuda_waited(e->dev, cudaEventQuery(e->e));
}
static int event_sync(dl_event *e) {
  DL_CUDA_ENTER(e->dev);
  return dl_cuda_waited(e->dev, cudaEventSynchronize(e->e));
}
static int event_elapsed(dl_event *from, dl_event *to, double *ms) {
  float f = 0;
  DL_CUDA_ENTER(from->dev);
  int code = dl_cuda_code(from->dev, cudaEventElapsedTime(&f, from->e, to->e));
  *ms = f;
  return code;
}

void dl_cuda_queue_rows(dl_driver *d) {
  d->stream_new = stream_new, d->stream_free = stream_free, d->stream_query = stream_query;
  d->stream_sync = stream_sync, d->stream_wait = stream_wait, d->device_sync = device_sync;
  d->event_new = event_new, d->event_free = event_free, d->event_record = event_record;
  d->event_query = event_query, d->event_sync = event_sync, d->event_elapsed = event_elapsed;
}
