/* explain.c -- out of memory: who holds it, and why it does not fit
 *
 * See explain.h; what to try is advise.c's. A keeper, a variable that keeps several passes alive,
 * is found by the binding when the error is raised; then the same is told again, with its name.
 *
 * INVARIANT  See explain.h.
 * MUST NOT   know Lua. */
#include "op/explain.h"

#include <stdio.h>
#include <string.h>

#include "op/workspace.h"
#include "tensor/devmem.h"

int dl_phase_backward, dl_phase_step;
bool dl_phase_eval;

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

/* The holder of a line, of what is the model's or of what is not; the last one stands for all lines
 * that found no place. */
static dl_holder *holder_of(dl_explanation *e, const dl_devmem *m) {
  for (int i = 0; i < e->holders; i++) {
    dl_holder *h = &e->holder[i];
    if (h->line == m->where.line && h->source == m->where.source &&
        h->input == m->where.input && transient(h->role) == transient(m->st->role))
      return h;
  }
  if (e->holders == DL_HOLDERS) return &e->holder[DL_HOLDERS - 1];
  dl_holder *h = &e->holder[e->holders++];
  *h = (dl_holder){.source = m->where.source, .line = m->where.line,
                    .input = m->where.input, .role = m->st->role};
  return h;
}

/* A factory, a copy or the user: nothing is computed. */
static bool gives(const char *op) {
  static const char *const copies[] = {"_to_copy", "copy_", "clone"};
  if (!op) return true;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (!strcmp(op, copies[i])) return true;
  for (int i = 0; i < DL_OP_COUNT; i++)
    if (dl_ops[i].kind == DL_FACTORY && !strcmp(dl_op_schema((dl_opid)i)->name, op)) return true;
  return false;
}
static bool given(const dl_devmem *m) { return m->st->role == DL_ROLE_BATCH || gives(m->op); }

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

static void add_to_pass(dl_pass *p, const dl_devmem *m) {
  int64_t n = taken(m);
  bool is_given = given(m);
  p->grows += n;
  p->mixed += is_given ? -n / 2 : n / 2;
  if (is_given) p->given += n;
  if (m->st->role != DL_ROLE_SAVED || is_given) return;
  p->saved += n;
  p->layers++;
  if (n > p->largest) p->largest = n;
}

/* It begins at the step's first saved activation or batch; where there is none, and something is
 * computed nevertheless, with what the step has made. */
static dl_pass look_at_pass(int dev) {
  dl_pass p = {.rest = 1, .backward = dl_phase_backward > 0, .step = dl_phase_step > 0};
  for (int all = 0; all < 2 && p.grows == 0; all++) {
    bool begun = all;
    if (all && gives(dl_devmem_op)) break;
    for (const dl_devmem *m = dl_devmem_first; m; m = m->next) {
      if (!lives_on(m, dev) || m->step != dl_devmem_steps || !transient(m->st->role)) continue;
      begun = begun || m->st->role != DL_ROLE_OTHER;
      if (begun) add_to_pass(&p, m);
    }
  }
  return p;
}

/* How far the forward pass is: the parameters that its graph has met. */
static void look_at_progress(dl_explanation *e, int dev) {
  dl_pass *p = &e->pass;
  for (const dl_devmem *m = dl_devmem_first; m; m = m->next) {
    if (!lives_on(m, dev) || m->st->role != DL_ROLE_PARAM || m->st->frozen) continue;
    e->params++;
    e->reached += m->st->reached;
  }
  bool forward = !p->backward && !p->step && p->saved > 0;
  if (forward && e->reached && e->reached < e->params)
    p->rest = (double)e->params / e->reached;
  e->whole = e->live + e->asked;
  if (!forward) return;
  /* When backward begins, two gradients of an activation join all that was saved. */
  double pass = (double)p->given + (double)(p->grows - p->given + e->asked) * p->rest;
  double most = (double)(e->live - p->grows) + pass + 2 * (double)p->largest;
  if (most > (double)e->whole && most < 0x1p62) e->whole = (int64_t)most;
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

const char *dl_holder_place(const dl_holder *h, char *buf, size_t cap) {
  const char *s = h->source;
  if (!s) {
    snprintf(buf, cap, "?");
    return buf;
  }
  if (*s == '@' || *s == '=') s++;
  const char *end = strrchr(s, '/');
  int n = snprintf(buf, cap, "%.60s:%d", end ? end + 1 : s, h->line);
  dl_where here = {NULL, 0, 0};
  if (dl_where_fn) dl_where_fn(&here);
  uint32_t ago = here.input - h->input;
  if (here.source == h->source && ago > 0 && here.input && n > 0 && (size_t)n < cap)
    snprintf(buf + n, cap - (size_t)n, ", %u input%s ago", ago, ago == 1 ? "" : "s");
  return buf;
}

/* ---- why ------------------------------------------------------------------------------------ */
const char *const dl_verdict_name[] = {"size", "fragmentation", "retention", "refused", "segment"};

/* Is so little free that no order of things would help for long? */
static bool full(const dl_explanation *e) {
  int64_t unused = e->capacity - e->live;
  return unused < e->asked || unused < e->capacity / 16;
}

static dl_verdict judge(const dl_explanation *e) {
  int64_t lacks = e->live + e->asked - e->capacity;
  bool helps = e->retained > 0 && e->retained >= e->asked && e->retained >= lacks;
  if (helps && (full(e) || e->retained >= e->holes)) return DL_OOM_RETENTION;
  if (full(e)) return DL_OOM_SIZE;
  if (e->largest_hole >= e->asked) return DL_OOM_SEGMENT;
  int64_t unreserved = e->capacity - e->live - e->holes;
  if (e->holes == 0 && unreserved >= 20 << 20) return DL_OOM_REFUSED;
  if (e->holes == 0) return DL_OOM_SIZE; /* less is left than the 20 MiB of a segment */
  if (e->holes + unreserved < e->asked + e->capacity / 8) return DL_OOM_SIZE;
  return e->whole > e->capacity ? DL_OOM_SIZE : DL_OOM_FRAGMENTATION;
}

/* Without steps between them, what seemed one pass was many: the older ones are taken out. */
static void without_older(dl_pass *p, int64_t older) {
  double left = p->grows > older ? 1 - (double)older / (double)p->grows : 0;
  p->grows = (int64_t)((double)p->grows * left);
  p->given = (int64_t)((double)p->given * left);
  p->saved = (int64_t)((double)p->saved * left);
  p->mixed = (int64_t)((double)p->mixed * left);
  p->layers = (int)(p->layers * left);
}

static void conclude(dl_explanation *e) {
  const dl_holder *worst;
  e->retained = retained(e, &worst);
  if (e->keeper.retained > e->retained) {
    without_older(&e->pass, e->keeper.retained - e->retained);
    e->retained = e->keeper.retained;
  }
  e->verdict = judge(e);
  dl_advise(e, worst);
}

void dl_explain(dl_pool *p, int dev, int64_t asked, dl_explanation *e) {
  const dl_pool_stats *s = dl_pool_figures(p);
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
  e->pass = look_at_pass(dev);
  look_at_progress(e, dev);
  largest_first(e);
  conclude(e);
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
             dl_bytes_str(h->bytes, n), dl_holder_place(h, at, sizeof at), dl_role_name[h->role],
             h->op ? ", " : "", h->op ? h->op : "");
    len = strlen(line);
    if (h->count > 1) snprintf(line + len, sizeof line - len, ", %d tensors)", h->count);
    else snprintf(line + len, sizeof line - len, ")");
  }
  if (*line) dl_note("largest: %s", line);
}

/* "4.56 GiB alive and 512.00 MiB asked for are …": and what the rest of the step would add. */
static void tell_size(const dl_explanation *e) {
  char a[32], b[32], c[32], more[160] = "";
  int64_t lacks = e->live + e->asked - e->capacity;
  if (e->whole > e->live + e->asked && e->reached < e->params)
    snprintf(more, sizeof more, "; the forward pass had met %d of %d parameters: a whole step may "
             "take about %s", e->reached, e->params, dl_bytes_str(e->whole, c));
  dl_bytes_str(e->live, a);
  dl_bytes_str(e->asked, b);
  if (e->asked > e->capacity)
    dl_note("why: size. %s asked for are more than the %s that the card can give, were it empty", b,
            dl_bytes_str(e->capacity, c));
  else if (lacks > 0)
    dl_note("why: size. %s alive and %s asked for are %s more than the card can give%s", a, b,
            dl_bytes_str(lacks, c), more);
  else if (e->live + e->asked < e->capacity / 2)
    dl_note("why: size. %s asked for come out of a piece of 20 MiB or more, and less than that is "
            "left of the card's %s", b, dl_bytes_str(e->capacity, c));
  else
    dl_note("why: size. %s alive and %s asked for all but fill the %s that the card can give, and "
            "no piece is large enough%s", a, b, dl_bytes_str(e->capacity, c), more);
}

static void tell_retention(const dl_explanation *e) {
  const dl_keeper *k = &e->keeper;
  char a[32], graphs[60] = "", at[110] = "";
  if (!*k->path) {
    dl_note("why: retention. %s were left by earlier steps, in lists or graphs; without them it "
            "would fit", dl_bytes_str(e->retained, a));
    return;
  }
  if (k->graphs) snprintf(graphs, sizeof graphs, ", %d separate graphs", k->graphs);
  if (*k->place) snprintf(at, sizeof at, ", made at %s", k->place);
  dl_note("why: retention. `%s` (%d tensor%s%s) keeps %s alive%s; without the older ones it would "
          "fit", k->path, k->tensors, k->tensors == 1 ? "" : "s", graphs, dl_bytes_str(k->bytes, a),
          at);
}

/* A free piece is large enough and may not be taken. */
static void tell_segment(const dl_explanation *e) {
  char a[32];
  if (e->asked <= 1 << 20)
    dl_note("why: segments. %s are free in segments of 20 MiB, which serve tensors above 1 MiB; "
            "one of up to 1 MiB needs a segment of 2 MiB, and so much is not left on the card",
            dl_bytes_str(e->holes, a));
  else
    dl_note("why: segments. %s are free, but in segments of another stream or for tensors of up to "
            "1 MiB; this one needs a segment of its own, and so much is not left on the card",
            dl_bytes_str(e->holes, a));
}

static void tell_verdict(const dl_explanation *e) {
  char a[32], b[32];
  switch (e->verdict) {
    case DL_OOM_SIZE: tell_size(e); break;
    case DL_OOM_RETENTION: tell_retention(e); break;
    case DL_OOM_SEGMENT: tell_segment(e); break;
    case DL_OOM_FRAGMENTATION:
      dl_note("why: fragmentation. %s are free but scattered between live tensors; the largest "
              "piece has %s", dl_bytes_str(e->holes, a), dl_bytes_str(e->largest_hole, b));
      break;
    case DL_OOM_REFUSED:
      dl_note("why: the driver refused, though %s would have fitted", dl_bytes_str(e->asked, a));
      break;
  }
}

/* "saves 2.50 GiB, enough"; of a pass that was not through also what it would save in all. */
static void tell_advice(const dl_explanation *e, int i) {
  const dl_advice *v = &e->advice[i];
  char a[32], b[32], whole[80] = "";
  int64_t least = e->live + e->asked, need = e->whole > least ? e->whole : least;
  bool guessed = v->whole > v->saves + v->saves / 16;
  if (guessed)
    snprintf(whole, sizeof whole, " here, about %s in a whole step", dl_bytes_str(v->whole, b));
  const char *enough = "";
  if (need > e->capacity)
    enough = need - v->whole <= e->capacity ? ", enough" : ", not enough alone";
  else if (e->verdict == DL_OOM_RETENTION && v->saves == e->retained)
    enough = ", enough";
  dl_note("%s: %s (saves %s%s%s)", i ? "or" : "try", v->text, dl_bytes_str(v->saves, a), whole,
          enough);
}

/* ---- the last one --------------------------------------------------------------------------- */
static dl_explanation last;      /* 5 KB that a deep stack need not carry */
static int last_dev = -1;        /* of an error that was not looked at yet */
static size_t told_from, told_to; /* where in dl_err.notes it stands */
const dl_explanation *dl_last_oom(void) { return &last; }

static void tell(int dev) {
  told_from = strlen(dl_err.notes);
  tell_roles(&last, dev);
  tell_holders(&last);
  tell_verdict(&last);
  for (int i = 0; i < last.advices && i < 3; i++) tell_advice(&last, i);
  told_to = strlen(dl_err.notes);
}

void dl_explain_oom(dl_pool *p, int dev, size_t asked) {
  dl_explain(p, dev, (int64_t)asked, &last);
  tell(dev);
  last_dev = dev;
}

int dl_explain_pending(void) {
  int dev = dl_err.kind == DL_E_OOM ? last_dev : -1;
  last_dev = -1;
  return dev;
}

void dl_explain_keeper(const dl_keeper *k, int dev) {
  char after[DL_MESSAGE_MAX] = "";
  if (strlen(dl_err.notes) < told_to) return;
  snprintf(after, sizeof after, "%s", dl_err.notes + told_to);
  dl_err.notes[told_from] = '\0';
  last.keeper = *k;
  conclude(&last);
  tell(dev);
  if (*after) dl_note("%s", after + (*after == '\n'));
}
