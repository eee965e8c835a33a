/* explain.c -- out of memory: who holds it, why it does not fit, what to try
 *
 * See explain.h. What each piece of advice would save is computed from what lives now:
 *
 *   retained    tensors of a line that made some in several steps, the newest step apart
 *   gradients   those of the last step, while the next forward pass runs
 *   batch       half of what was made since the step's first saved activation, and of the request
 *   checkpoint  the activations of an earlier line that has the most, but for the last
 *   mixed       half of what ops have made since then, less the copies in half precision of what
 *               they were given and of the parameters
 *   segments    of n activations of one pass, all but the segments' inputs and one segment: with
 *               about the root of n segments least is kept
 *
 * INVARIANT  See explain.h.
 * MUST NOT   know Lua. */
#include "op/explain.h"

#include <stdio.h>
#include <string.h>

#include "op/workspace.h"
#include "tensor/devmem.h"

int dl_phase_backward, dl_phase_step;

static const char *const plural[DL_ROLE_COUNT] = {
    "other", "parameters", "gradients", "optimizer state", "saved activations", "batch"};

/* ---- looking -------------------------------------------------------------------------------- */
static bool lives_on(const dl_devmem *m, int dev) {
  return m->st->dev.index == dev && dl_devmem_lives(m);
}
static int64_t taken(const dl_devmem *m) { return (int64_t)dl_chunk_bytes(m->chunk); }
static bool transient(uint8_t role) {
  return role == DL_ROLE_OTHER || role == DL_ROLE_SAVED || role == DL_ROLE_BATCH;
}

/* The holder of a line; the last one stands for all lines that found no place. */
static dl_holder *holder_of(dl_explanation *e, const dl_devmem *m) {
  for (int i = 0; i < e->holders; i++) {
    dl_holder *h = &e->holder[i];
    if (h->line == m->where.line && h->source == m->where.source) return h;
  }
  if (e->holders == DL_HOLDERS) return &e->holder[DL_HOLDERS - 1];
  dl_holder *h = &e->holder[e->holders++];
  *h = (dl_holder){.source = m->where.source, .line = m->where.line};
  return h;
}

/* Made by a factory, a copy or the user: no op computed it. */
static bool given(const dl_devmem *m) {
  static const char *const copies[] = {"_to_copy", "copy_", "clone"};
  if (!m->op || m->st->role == DL_ROLE_BATCH) return true;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (!strcmp(m->op, copies[i])) return true;
  for (int i = 0; i < DL_OP_COUNT; i++)
    if (dl_ops[i].kind == DL_FACTORY && !strcmp(dl_op_schema((dl_opid)i)->name, m->op)) return true;
  return false;
}

static void add_to_holder(dl_explanation *e, const dl_devmem *m) {
  dl_holder *h = holder_of(e, m);
  int64_t n = taken(m);
  h->bytes += n;
  h->count++;
  if (n > h->largest) {
    h->largest = n;
    h->op = m->op;
    h->role = m->st->role;
  }
  if (!transient(m->st->role)) return;
  if (h->transients++ == 0) h->first_step = m->step;
  h->last_step = m->step;        /* the list is in order of birth */
  if (m->step + 1 < dl_devmem_steps) h->old += n;
  if (m->st->role != DL_ROLE_SAVED || m->step != dl_devmem_steps || given(m)) return;
  h->saved += n;
  h->last_saved = n;
}

static void largest_first(dl_explanation *e) {
  for (int i = 1; i < e->holders; i++) {
    dl_holder h = e->holder[i];
    int k = i;
    for (; k > 0 && e->holder[k - 1].bytes < h.bytes; k--) e->holder[k] = e->holder[k - 1];
    e->holder[k] = h;
  }
}

/* What the pass under way has made so far. */
typedef struct pass { int64_t grows, mixed, saved; int layers; } pass; /* layers: tensors saved */

static pass look_at_pass(int dev) {
  pass p = {0};
  bool begun = false;
  for (const dl_devmem *m = dl_devmem_first; m; m = m->next) {
    if (!lives_on(m, dev) || m->step != dl_devmem_steps || !transient(m->st->role)) continue;
    begun = begun || m->st->role != DL_ROLE_OTHER;
    if (!begun) continue;
    p.grows += taken(m);
    p.mixed += given(m) ? -taken(m) / 2 : taken(m) / 2;
    if (m->st->role != DL_ROLE_SAVED || given(m)) continue;
    p.saved += taken(m);
    p.layers++;
  }
  return p;
}

static int64_t retained(const dl_explanation *e, const dl_holder **worst) {
  int64_t n = 0;
  *worst = NULL;
  for (int i = 0; i < e->holders; i++) {
    const dl_holder *h = &e->holder[i];
    if (h->old == 0 || h->last_step == h->first_step) continue;
    n += h->old;
    if (!*worst || h->old > (*worst)->old) *worst = h;
  }
  return n;
}

/* ---- what to try ---------------------------------------------------------------------------- */
static const char *place(const dl_holder *h, char *buf, size_t cap) {
  const char *s = h->source;
  if (!s) {
    snprintf(buf, cap, "?");
    return buf;
  }
  if (*s == '@' || *s == '=') s++;
  const char *end = strrchr(s, '/');
  snprintf(buf, cap, "%.60s:%d", end ? end + 1 : s, h->line);
  return buf;
}

static bool before(const dl_advice *a, dl_effort effort, int64_t saves) {
  return a->effort != effort ? a->effort < effort : a->saves >= saves;
}

static void advise(dl_explanation *e, dl_effort effort, int64_t saves, const char *text) {
  if (saves < 512 || e->advices == DL_ADVICE) return;
  int k = e->advices++;
  for (; k > 0 && !before(&e->advice[k - 1], effort, saves); k--) e->advice[k] = e->advice[k - 1];
  e->advice[k].saves = saves;
  e->advice[k].effort = effort;
  snprintf(e->advice[k].text, sizeof e->advice[k].text, "%s", text);
}

/* Fewest bytes: segments of the root of what there is, their inputs and one segment kept. */
static void advise_segments(dl_explanation *e, pass p) {
  char text[200];
  int k = 1;
  while (k * k < p.layers) k++;
  int kept = k + (p.layers + k - 1) / k;
  if (p.layers < 6) return;
  snprintf(text, sizeof text, "torch.utils.checkpoint.checkpoint_sequential(model, %d, x): "
           "activations of one segment at a time, computed twice", k);
  advise(e, DL_OTHER_WAY, p.saved / p.layers * (p.layers - kept), text);
}

/* The line with the most activations, if it is not the one under way: what it called, run again in
 * backward. */
static void advise_checkpoint(dl_explanation *e) {
  const dl_holder *h = NULL;
  dl_where here = {NULL, 0};
  char at[80], text[200];
  for (int i = 0; i < e->holders; i++)
    if (!h || e->holder[i].saved > h->saved) h = &e->holder[i];
  if (dl_where_fn) dl_where_fn(&here);
  if (!h || !h->source || (here.source == h->source && here.line == h->line)) return;
  snprintf(text, sizeof text, "torch.utils.checkpoint.checkpoint(f, x) at %s: activations are "
           "computed again", place(h, at, sizeof at));
  advise(e, DL_LESS, h->saved - h->last_saved, text);
}

/* No pass is under way: the line that holds most of what is neither model nor optimizer. */
static void advise_letting_go(dl_explanation *e) {
  const dl_holder *most = NULL;
  char at[80], text[200];
  for (int i = 0; i < e->holders; i++) {
    const dl_holder *h = &e->holder[i];
    if (h->transients && (!most || h->bytes > most->bytes)) most = h;
  }
  if (!most || !most->source) return;
  snprintf(text, sizeof text, "set to nil, if it is done with, what was made at %s",
           place(most, at, sizeof at));
  advise(e, DL_FREE, most->bytes, text);
}

static void advise_all(dl_explanation *e, const dl_holder *worst, pass p) {
  bool forward = !dl_phase_backward && !dl_phase_step;
  char at[80], text[200];
  if (worst) {
    snprintf(text, sizeof text, "let go of what earlier steps left (most was made at %s): keep "
             "loss:item(), or x:detach():cpu(), not the tensor", place(worst, at, sizeof at));
    advise(e, DL_FREE, e->retained, text);
  }
  if (e->verdict == DL_OOM_FRAGMENTATION)
    advise(e, DL_FREE, e->holes,
           dl_conf.expandable ? "torch.cuda.empty_cache() after large tensors went"
                              : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
  if (forward)
    advise(e, DL_FREE, e->role[DL_ROLE_GRAD], "opt:zero_grad() before the forward pass: the last "
           "step's gradients still live (set_to_none=false keeps them)");
  if (!dl_phase_step && p.grows > 0)
    advise(e, DL_LESS, (p.grows + (forward ? e->asked : 0)) / 2,
           "half the batch (and two backward() a step, to the same effect)");
  if (forward) advise_checkpoint(e);
  if (forward && p.grows == 0) advise_letting_go(e);
  if (!dl_phase_step && p.mixed > 0 && !(dl_mode & DL_MODE_AUTOCAST))
    advise(e, DL_LESS, p.mixed + (forward ? e->asked / 2 : 0) - e->role[DL_ROLE_PARAM] / 2,
           "torch.autocast(\"cuda\"): activations in half precision");
  if (!dl_phase_step) advise_segments(e, p);
  if (dl_phase_step || e->role[DL_ROLE_STATE] > e->role[DL_ROLE_PARAM])
    advise(e, DL_OTHER_WAY, e->role[DL_ROLE_STATE] + (dl_phase_step ? e->asked : 0),
           "optim.SGD: it keeps no state, Adam two values a parameter");
  if (forward && p.grows == 0)
    advise(e, DL_OTHER_WAY, e->role[DL_ROLE_PARAM] / 2,
           "a model in half precision: model:to(torch.bfloat16)");
}

void dl_explain(dl_pool *p, int dev, int64_t asked, dl_explanation *e) {
  const dl_pool_stats *s = dl_pool_figures(p);
  const dl_holder *worst;
  memset(e, 0, sizeof *e);
  e->asked = asked;
  e->live = s->allocated_bytes[0].current;
  e->workspace = dl_workspace_bytes(dev);
  e->role[DL_ROLE_OTHER] = e->live - e->workspace;
  e->capacity = dl_pool_capacity(p);
  dl_pool_free_space(p, &e->largest_hole, &e->holes);
  for (const dl_devmem *m = dl_devmem_first; m; m = m->next) {
    if (!lives_on(m, dev)) continue;
    add_to_holder(e, m);
    e->role[m->st->role] += taken(m);
    e->role[DL_ROLE_OTHER] -= taken(m);
  }
  e->retained = retained(e, &worst);
  int64_t lacks = e->live + asked - e->capacity;
  if (e->retained >= lacks && e->retained >= asked && e->retained > 0)
    e->verdict = DL_OOM_RETENTION;
  else if (lacks > 0) e->verdict = DL_OOM_SIZE;
  else e->verdict = e->holes > 0 ? DL_OOM_FRAGMENTATION : DL_OOM_REFUSED;
  advise_all(e, worst, look_at_pass(dev));
  largest_first(e);
}

/* ---- telling -------------------------------------------------------------------------------- */
/* Append to a line; what does not fit is dropped. */
static void join(char *line, size_t cap, const char *comma, const char *what, int64_t bytes) {
  char n[32];
  size_t len = strlen(line);
  snprintf(line + len, cap - len, "%s%s %s", len ? comma : "", what, dl_bytes_str(bytes, n));
}

static void tell_roles(const dl_explanation *e, int dev) {
  static const uint8_t order[] = {DL_ROLE_PARAM, DL_ROLE_GRAD, DL_ROLE_STATE, DL_ROLE_SAVED,
                                  DL_ROLE_BATCH, DL_ROLE_OTHER};
  char line[400] = "";
  for (size_t i = 0; i < sizeof order; i++)
    if (e->role[order[i]]) join(line, sizeof line, ", ", plural[order[i]], e->role[order[i]]);
  if (e->workspace) join(line, sizeof line, ", ", "cuBLAS's workspace", e->workspace);
  if (*line) dl_note("alive on GPU %d: %s", dev, line);
}

static void tell_holders(const dl_explanation *e) {
  char at[80], n[32], line[500] = "";
  for (int i = 0; i < e->holders && i < 3; i++) {
    const dl_holder *h = &e->holder[i];
    size_t len = strlen(line);
    snprintf(line + len, sizeof line - len, "%s%s at %s (%s%s%s", len ? "; " : "",
             dl_bytes_str(h->bytes, n), place(h, at, sizeof at), dl_role_name[h->role],
             h->op ? ", " : "", h->op ? h->op : "");
    len = strlen(line);
    if (h->count > 1) snprintf(line + len, sizeof line - len, ", %d tensors)", h->count);
    else snprintf(line + len, sizeof line - len, ")");
  }
  if (*line) dl_note("largest: %s", line);
}

static void tell_verdict(const dl_explanation *e) {
  char a[32], b[32], c[32];
  int64_t lacks = e->live + e->asked - e->capacity;
  switch (e->verdict) {
    case DL_OOM_SIZE:
      dl_note("why: size. %s alive and %s asked for are %s more than the card can give",
              dl_bytes_str(e->live, a), dl_bytes_str(e->asked, b), dl_bytes_str(lacks, c));
      break;
    case DL_OOM_RETENTION:
      dl_note("why: retention. %s were left by earlier steps, in lists or graphs; without them it "
              "would fit", dl_bytes_str(e->retained, a));
      break;
    case DL_OOM_FRAGMENTATION:
      dl_note("why: fragmentation. %s are free but scattered between live tensors; the largest "
              "piece has %s", dl_bytes_str(e->holes, a), dl_bytes_str(e->largest_hole, b));
      break;
    case DL_OOM_REFUSED:
      dl_note("why: the driver refused, though %s would have fitted", dl_bytes_str(e->asked, a));
      break;
  }
}

static dl_explanation last;      /* 5 KB that a deep stack need not carry */
const dl_explanation *dl_last_oom(void) { return &last; }

void dl_explain_oom(dl_pool *p, int dev, size_t asked) {
  char n[32];
  dl_explanation *e = &last;
  dl_explain(p, dev, (int64_t)asked, e);
  tell_roles(e, dev);
  tell_holders(e);
  tell_verdict(e);
  int64_t lacks = e->live + e->asked - e->capacity;
  for (int i = 0; i < e->advices && i < 3; i++)
    dl_note("%s: %s (saves %s%s)", i ? "or" : "try", e->advice[i].text,
            dl_bytes_str(e->advice[i].saves, n),
            lacks > 0 && e->advice[i].saves >= lacks ? ", enough" : "");
}
