/* record.c -- the run record: beginning, end, what is watched, what others report
 *
 * See record.h. What dispatch writes down is in record_run.c; hooks and loaders in record_seen.c.
 *
 * MUST NOT   fail a program: where memory for the record itself is short, entries are dropped. */
#include "op/record.h"

#include "graph/graph.h"
#include "op/explain.h"
#include "op/record_in.h"
#include "tensor/devmem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

dl_record *dl_rec; /* being kept, or kept last */
int dl_rec_backward, dl_rec_stepping;

const dl_record *dl_record_get(void) { return dl_rec; }

bool dl_rec_grow(void *list, int64_t *cap, int64_t n, size_t size) {
  if (n < *cap) return true;
  int64_t bigger = *cap ? *cap * 2 : 64;
  void *p = realloc(*(void **)list, (size_t)bigger * size);
  if (!p) return false;
  *(void **)list = p;
  *cap = bigger;
  return true;
}

/* ---- memory --------------------------------------------------------------------------------- */
static void on_ledger(int slot) {
  dl_rec_memory *m = &dl_rec->memory[slot];
  int64_t total = 0;
  for (int r = 0; r < DL_ROLE_COUNT; r++) {
    total += dl_ledger[slot][r];
    if (dl_ledger[slot][r] > m->peak_role[r]) m->peak_role[r] = dl_ledger[slot][r];
  }
  if (total <= m->peak) return;
  m->peak = total;
  memcpy(m->at_peak, dl_ledger[slot], sizeof m->at_peak);
}

static void memory_begin(void) {
  for (int s = 0; s < DL_LEDGER_SLOTS; s++) {
    memcpy(dl_rec->memory[s].start, dl_ledger[s], sizeof dl_ledger[s]);
    on_ledger(s);
  }
  dl_ledger_watch = on_ledger;
}

/* ---- the device layer ----------------------------------------------------------------------- */
static void on_copy(dl_device from, dl_device to, int64_t bytes, int role) {
  int way = from.type == DL_CPU ? (to.type == DL_CPU ? 3 : 0) : to.type == DL_CPU ? 1 : 2;
  dl_rec_copy *c = &dl_rec->copy[way];
  c->count++;
  c->bytes += bytes;
  if (role >= 0 && role < DL_ROLE_COUNT) c->role[role] += bytes;
}

static void on_sync(const char *why) {
  dl_rec->syncs++;
  for (int i = 0; i < DL_REC_WHY; i++) {
    if (!dl_rec->sync_why[i].why) dl_rec->sync_why[i].why = why;
    if (strcmp(dl_rec->sync_why[i].why, why)) continue;
    dl_rec->sync_why[i].n++;
    return;
  }
}

static void on_kernel(dl_device dev, int64_t n) { dl_rec->kernels += n; }

static void on_oom(dl_device dev, int64_t bytes) { dl_rec->memory[dl_ledger_slot(dev)].ooms++; }

static const dl_recorder recorder = {on_copy, on_sync, on_kernel, on_oom};

/* ---- a simulated GPU's clock, GPUs' pools --------------------------------------------------- */
double dl_rec_clock(void) { return dl_gpu && dl_gpu->simulated ? dl_gpu->host_us() : 0; }

/* Kernels' time so far; *until: when the device has done what it was given, or the host's now. */
static double busy_us(double *until) {
  double busy = 0;
  *until = dl_rec_clock();
  if (!dl_gpu || !dl_gpu->simulated || dl_gpu->busy(dl_gpu_current(), &busy, until)) return 0;
  return busy;
}

static void clock_begin(void) {
  double until;
  dl_rec->clock_us = dl_rec_clock();
  dl_rec->busy_us = busy_us(&until);
}

/* To the end of what the device was given: without a wait the host is far ahead of it. */
static void clock_end(void) {
  double until;
  dl_rec->busy_us = busy_us(&until) - dl_rec->busy_us;
  dl_rec->elapsed_us = until - dl_rec->clock_us;
}

static void pools_end(void) {
  for (int d = 0; dl_gpu && d < dl_gpu_count() && d < DL_GPU_MAX; d++) {
    dl_pool *p = dl_gpu_pool(d);
    dl_rec_memory *m = &dl_rec->memory[dl_ledger_slot((dl_device){(int8_t)dl_gpu_type, (int8_t)d})];
    if (!p) continue;
    m->reserved = dl_pool_figures(p)->reserved_bytes[0].current;
    m->reserved_peak = dl_pool_figures(p)->reserved_bytes[0].peak;
    m->capacity = dl_pool_capacity(p);
  }
}

/* ---- beginning and end ---------------------------------------------------------------------- */
static void params_free(dl_record *r) {
  for (int64_t i = 0; i < r->nparam; i++) {
    free(r->param[i].before);
    dl_tensor_release(r->param[i].t);
  }
  free(r->param);
  r->param = NULL;
  r->nparam = r->capparam = 0;
}

void dl_record_free(void) {
  if (dl_record_on()) dl_record_stop();
  if (!dl_rec) return;
  params_free(dl_rec);
  free(dl_rec->op);
  free(dl_rec->scale);
  free(dl_rec->lr);
  free(dl_rec->module);
  free(dl_rec->hook);
  free(dl_rec->served);
  free(dl_rec);
  dl_rec = NULL;
}

dl_status dl_record_start(void) {
  if (dl_record_on()) {
    dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "a record is being kept already");
    dl_note("one record at a time: end the outer one first");
    return DL_E_ARGUMENT;
  }
  dl_record_free();
  dl_rec = calloc(1, sizeof *dl_rec);
  if (!dl_rec) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a run record");
  dl_rec_backward = dl_rec_stepping = 0;
  dl_rec_loading = 0;
  dl_rec->stretch = 1;
  dl_rec->nodes_start = dl_rec->nodes_peak = dl_nodes_live;
  dl_mode |= DL_MODE_RECORD;
  dl_recording = &recorder;
  memory_begin();
  clock_begin();
  return DL_OK;
}

/* ---- parameters ----------------------------------------------------------------------------- */
size_t dl_rec_bytes(const dl_tensor *t) {
  return (size_t)t->numel * dl_dtype_size((dl_dtype)t->dtype);
}

bool dl_rec_can_read(const dl_tensor *t) { return t->numel == 0 || dl_tensor_peek(t); }

/* The elements in row-major order, in memory of their own; NULL where they cannot be read. */
void *dl_rec_snapshot(dl_tensor *t) {
  char *data = (char *)dl_tensor_peek(t); /* only read: a view has no const */
  void *p = data ? malloc(dl_rec_bytes(t) + 1) : NULL;
  int64_t stride[DL_MAXDIM];
  if (!p) return NULL;
  dl_strides_contig(t->ndim, t->size, stride);
  dl_view from = {data, t->dtype, t->ndim, t->numel, t->size, t->stride}, to = from;
  to.data = p;
  to.stride = stride;
  dl_copy_view(&to, &from);
  return p;
}

double dl_rec_distance(dl_dtype d, int64_t n, const char *a, const char *b) {
  size_t size = dl_dtype_size(d);
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = dl_elem_get_f64(d, a + (size_t)i * size);
    double y = b ? dl_elem_get_f64(d, b + (size_t)i * size) : 0;
    sum += (x - y) * (x - y);
  }
  return sqrt(sum);
}

dl_rec_param *dl_rec_param_of(const dl_tensor *t) {
  for (int64_t i = 0; i < dl_rec->nparam; i++)
    if (dl_rec->param[i].storage == t->st) return &dl_rec->param[i];
  if (!dl_rec_grow(&dl_rec->param, &dl_rec->capparam, dl_rec->nparam, sizeof *dl_rec->param))
    return NULL;
  dl_rec_param *p = &dl_rec->param[dl_rec->nparam++];
  memset(p, 0, sizeof *p);
  p->storage = t->st;
  p->numel = t->numel;
  p->ndim = t->ndim < DL_REC_DIMS ? t->ndim : DL_REC_DIMS;
  for (int i = 0; i < p->ndim; i++) p->size[i] = t->size[i];
  p->grad = -1;
  return p;
}

dl_status dl_record_watch(dl_tensor *t, const char *name) {
  if (!dl_record_on())
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "no record is being kept");
  dl_rec_param *p = dl_rec_param_of(t);
  if (!p) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a run record");
  snprintf(p->name, sizeof p->name, "%s", name);
  if (p->t) return DL_OK;
  p->t = dl_tensor_retain(t);
  p->before = dl_rec_snapshot(t);
  return DL_OK;
}

void dl_record_watch_buffer(dl_tensor *t) {
  dl_rec_param *p = dl_record_on() ? dl_rec_param_of(t) : NULL;
  if (p) p->buffer = true;
}

static void judge_grad(dl_rec_param *p, dl_tensor *g) {
  void *v = dl_rec_snapshot(g);
  if (!v) return;
  p->grad_norm = dl_rec_distance((dl_dtype)g->dtype, g->numel, v, NULL);
  p->grad = !isfinite(p->grad_norm) ? 2 : p->grad_norm > 0;
  free(v);
}

static void judge_param(dl_rec_param *p) {
  dl_tensor *t = p->t;
  void *now = p->before ? dl_rec_snapshot(t) : NULL;
  if (now && t->numel == p->numel) {
    p->changed = memcmp(now, p->before, dl_rec_bytes(t)) != 0;
    p->delta = dl_rec_distance((dl_dtype)t->dtype, p->numel, now, p->before);
  }
  free(now);
  if (t->extra && t->extra->grad) judge_grad(p, t->extra->grad);
}

void dl_record_stop(void) {
  if (!dl_record_on()) return;
  dl_mode &= ~(unsigned)DL_MODE_RECORD;
  dl_recording = NULL;
  dl_ledger_watch = NULL;
  dl_rec->nodes_end = dl_nodes_live;
  clock_end();
  pools_end();
  for (int64_t i = 0; i < dl_rec->nparam; i++) {
    dl_rec_param *p = &dl_rec->param[i];
    if (p->t) judge_param(p);
    free(p->before);
    p->before = NULL;
    dl_tensor_drop(&p->t);
  }
}

/* ---- who reports ---------------------------------------------------------------------------- */
void dl_record_backward(bool enters) {
  dl_phase_backward += enters ? 1 : -1;
  if (!dl_record_on()) return;
  dl_rec_backward += enters ? 1 : -1;
  if (enters && dl_rec_backward == 1) dl_rec->backwards++;
}

void dl_record_step(int what) {
  if (what >= 0) dl_phase_step = what;
  if (what == 0) dl_devmem_steps++;
  if (!dl_record_on()) return;
  if (what < 0) {
    dl_rec->skipped++;
    return;
  }
  dl_rec_stepping = what;
  dl_rec->steps += what;
}

void dl_record_lr(double lr) {
  if (!dl_record_on()) return;
  if (dl_rec_grow(&dl_rec->lr, &dl_rec->caplr, dl_rec->nlr, sizeof *dl_rec->lr))
    dl_rec->lr[dl_rec->nlr++] = (dl_rec_lr){dl_rec->steps, lr};
}

void dl_record_scale(double scale) {
  if (!dl_record_on()) return;
  if (dl_rec_grow(&dl_rec->scale, &dl_rec->capscale, dl_rec->nscale, sizeof scale))
    dl_rec->scale[dl_rec->nscale++] = scale;
}

static int64_t saved_bytes(void) {
  int64_t n = 0;
  for (int s = 0; s < DL_LEDGER_SLOTS; s++) n += dl_ledger[s][DL_ROLE_SAVED];
  return n;
}

int64_t dl_record_module(const char *name, bool training) {
  if (!dl_record_on() || dl_rec->nmodule == DL_REC_LOG) return -1;
  if (!dl_rec_grow(&dl_rec->module, &dl_rec->capmodule, dl_rec->nmodule, sizeof *dl_rec->module))
    return -1;
  dl_rec_module *m = &dl_rec->module[dl_rec->nmodule];
  snprintf(m->name, sizeof m->name, "%s", name);
  m->training = training;
  m->grad = dl_grad_enabled();
  m->depth = dl_rec->module_depth++;
  m->saved = -saved_bytes();
  return dl_rec->nmodule++;
}

void dl_record_module_end(int64_t at) {
  if (!dl_record_on() || at < 0 || at >= dl_rec->nmodule) return;
  dl_rec->module[at].saved += saved_bytes();
  dl_rec->module_depth = dl_rec->module[at].depth;
}

bool dl_record_peek(dl_tensor *t, double *v) {
  char *bytes = t->numel ? dl_rec_snapshot(t) : NULL;
  if (!bytes) return false;
  *v = dl_elem_get_f64((dl_dtype)t->dtype, bytes);
  free(bytes);
  return true;
}
