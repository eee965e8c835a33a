/* card.c -- the cards: figures with their sources, copies that a user changes, and their lint
 *
 * For driver.c, the binding and tests. cards.def is the data; here it is found, copied, doubted.
 *
 * INVARIANT  A card has one figure a field at most; what a card does not say, the card `any` does.
 *            An absurd figure never enters a card.
 * MUST NOT   know how the figures are used. */
#include "state.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */
typedef struct source { const char *text, *date; } source;
#define DL_SOURCE(key, text, date) static const source src_##key = {text, date};
#include "sim/cards.def"

typedef struct field { const char *name, *unit, *meaning; double least, most; } field;
static const field fields[] = {
#define DL_FIELD(name, unit, least, most, meaning) {#name, unit, meaning, least, most},
#include "sim/cards.def"
};
#define NFIELD ((int)(sizeof fields / sizeof *fields))
enum {
#define DL_FIELD(name, ...) F_##name,
#include "sim/cards.def"
};

#define KIND_SPEC "spec"
#define KIND_MEASURED "measured"
#define KIND_DERIVED "derived"
#define KIND_ASSUMED "assumed"
#define CONF_HIGH "high"
#define CONF_MEDIUM "medium"
#define CONF_LOW "low"
typedef struct figure {
  const char *card;
  int field;
  double value;
  const char *kind;
  const source *src;
  const char *confidence;
} figure;
static const figure figures[] = {
#define DL_FIGURE(card, fld, value, kind, src, confidence) \
  {card, F_##fld, value, KIND_##kind, &src_##src, CONF_##confidence},
#include "sim/cards.def"
};

struct dl_card {
  char name[32], title[72];
  bool owned;
  dl_figure f[NFIELD];           /* f[i].field NULL: nothing known, not even that it is unknown */
  char *text[NFIELD];            /* a user's own words for source, date … */
};

static struct { const char *name, *title; } names[] = {
#define DL_CARD(name, title) {name, title},
#include "sim/cards.def"
};
#define NCARD ((int)(sizeof names / sizeof *names))
static dl_card cards[NCARD];     /* [0] is `any` */

static void fill(dl_card *c, const char *from) {
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    const figure *g = &figures[i];
    if (strcmp(g->card, from)) continue;
    c->f[g->field] = (dl_figure){.field = fields[g->field].name, .unit = fields[g->field].unit,
                                 .kind = g->kind, .source = g->src->text, .date = g->src->date,
                                 .confidence = g->confidence, .value = g->value};
  }
}

static void load(void) {
  if (cards[0].name[0]) return;
  for (int i = 0; i < NCARD; i++) {
    snprintf(cards[i].name, sizeof cards[i].name, "%s", names[i].name);
    snprintf(cards[i].title, sizeof cards[i].title, "%s", names[i].title);
    fill(&cards[i], names[0].name);
    if (i) fill(&cards[i], names[i].name);
  }
}

/* ---- finding ---- */
const dl_card *dl_card_at(int i) {
  load();
  return i >= 0 && i < NCARD - 1 ? &cards[i + 1] : NULL;
}

/* "RTX 4090", "nvidia_a100-80", "A100-80" are 4090, a100-80: letters and digits count. */
static void squeeze(const char *s, char out[32]) {
  static const char *const skip[] = {"nvidia", "geforce", "rtx", "tesla", NULL};
  size_t n = 0;
  for (; *s && n < 31; s++)
    if (isalnum((unsigned char)*s)) out[n++] = (char)tolower((unsigned char)*s);
  out[n] = '\0';
  for (int i = 0; skip[i]; i++) {
    size_t len = strlen(skip[i]);
    if (strncmp(out, skip[i], len) == 0) memmove(out, out + len, strlen(out + len) + 1);
  }
}

const dl_card *dl_card_find(const char *name) {
  static const char *const alias[][2] = {
      {"a100", "a100-40"}, {"a10040gb", "a100-40"}, {"a10080gb", "a100-80"},
      {"h100sxm", "h100"}, {"a10", "a10g"}};
  char want[32], have[32];
  squeeze(name, want);
  for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
    if (strcmp(want, alias[i][0]) == 0) squeeze(alias[i][1], want);
  for (int i = 0; dl_card_at(i); i++) {
    squeeze(dl_card_at(i)->name, have);
    if (strcmp(have, want) == 0) return dl_card_at(i);
  }
  return NULL;
}

const char *dl_card_name(const dl_card *c) { return c->name; }
const char *dl_card_title(const dl_card *c) { return c->title; }

static int field_index(const char *name) {
  for (int i = 0; i < NFIELD; i++)
    if (strcmp(fields[i].name, name) == 0) return i;
  return -1;
}

const dl_figure *dl_card_figure(const dl_card *c, const char *name) {
  int i = field_index(name);
  return i >= 0 && c->f[i].field ? &c->f[i] : NULL;
}

const dl_figure *dl_card_figure_at(const dl_card *c, int n) {
  for (int i = 0; i < NFIELD; i++)
    if (c->f[i].field && n-- == 0) return &c->f[i];
  return NULL;
}

double dl_card_value(const dl_card *c, const char *name) {
  const dl_figure *f = dl_card_figure(c, name);
  return f ? f->value : NAN;
}

/* ---- cards of the user ---- */
dl_status dl_card_copy(const dl_card *base, const char *name, const char *title, dl_card **out) {
  load();
  dl_card *c = calloc(1, sizeof *c);
  *out = c;
  if (!c) return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a card");
  memcpy(c->f, base ? base->f : cards[0].f, sizeof c->f);
  c->owned = true;
  snprintf(c->name, sizeof c->name, "%s", name ? name : base ? base->name : "mine");
  snprintf(c->title, sizeof c->title, "%s", title ? title : base ? base->title : c->name);
  for (int i = 0; base && base->owned && i < NFIELD; i++) {
    if (!base->text[i]) continue;
    dl_status st = dl_card_set(c, &base->f[i]);
    if (st == DL_OK) continue;
    dl_card_free(c);
    *out = NULL;
    return st;
  }
  return DL_OK;
}

/* The user's words, kept with the card: kind, source, date, confidence, one after the other. */
static bool keep_words(dl_card *c, int i, const dl_figure *f) {
  const char *word[4] = {f->kind ? f->kind : "assumed", f->source ? f->source : "the user",
                         f->date ? f->date : "", f->confidence ? f->confidence : "low"};
  size_t n = 0, at = 0;
  for (int k = 0; k < 4; k++) n += strlen(word[k]) + 1;
  char *text = malloc(n);
  if (!text) return false;
  const char *kept[4];
  for (int k = 0; k < 4; k++) {
    kept[k] = text + at;
    memcpy(text + at, word[k], strlen(word[k]) + 1);
    at += strlen(word[k]) + 1;
  }
  c->f[i] = (dl_figure){fields[i].name, fields[i].unit, kept[0], kept[1], kept[2], kept[3],
                        f->value};
  free(c->text[i]);
  c->text[i] = text;
  return true;
}

static bool kind_known(const char *k) {
  return !k || !strcmp(k, KIND_SPEC) || !strcmp(k, KIND_MEASURED) || !strcmp(k, KIND_DERIVED) ||
         !strcmp(k, KIND_ASSUMED);
}

dl_status dl_card_set(dl_card *c, const dl_figure *f) {
  int i = field_index(f->field);
  if (i < 0)
    return dl_fail(DL_ValueError, DL_E_ARGUMENT, "a card has no field '%s'", f->field);
  const field *d = &fields[i];
  if (f->unit && strcmp(f->unit, d->unit))
    return dl_fail(DL_ValueError, DL_E_ARGUMENT, "%s of a card is in %s, not in %s", d->name,
                   d->unit[0] ? d->unit : "plain numbers", f->unit);
  if (!kind_known(f->kind))
    return dl_fail(DL_ValueError, DL_E_ARGUMENT,
                   "%s: a figure is spec, measured, derived or assumed, not '%s'", d->name,
                   f->kind);
  if (f->value < d->least || f->value > d->most || (isinf(f->value))) {
    dl_fail(DL_ValueError, DL_E_ARGUMENT, "%s of a card cannot be %g %s", d->name, f->value,
            d->unit);
    dl_note("%s: %s, from %g to %g %s", d->name, d->meaning, d->least, d->most, d->unit);
    return dl_err.kind;
  }
  if (keep_words(c, i, f)) return DL_OK;
  return dl_fail(DL_MemoryError, DL_E_OOM, "not enough memory for a card");
}

void dl_card_free(dl_card *c) {
  if (!c || !c->owned) return;
  for (int i = 0; i < NFIELD; i++) free(c->text[i]);
  free(c);
}

/* ---- lint ---- */
/* Dense fp16 FLOPs that an SM's tensor cores do in a clock, at most, by compute capability. */
static double per_clock(double cc) {
  static const double rate[][2] = {{7.0, 1024}, {7.5, 1024}, {8.0, 2048}, {8.6, 1024}, {8.9, 1024},
                                   {9.0, 4096}, {10.0, 8192}, {12.0, 1024}};
  double best = 8192;
  for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
    if (cc >= rate[i][0]) best = rate[i][1];
  return best;
}

static dl_status doubt(const dl_card *c, const char *what) {
  dl_fail(DL_ValueError, DL_E_ARGUMENT, "card %s: %s", c->name, what);
  dl_note("vendors print sparse peaks and box labels beside the real ones: look again");
  return dl_err.kind;
}

static dl_status lint_needs(const dl_card *c) {
  static const int needs[] = {F_cc, F_sm_count, F_fp32, F_bandwidth, F_memory, F_h2d_pinned,
                              F_l2, F_clock, F_kernel_start};
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    if (!c->f[needs[i]].field || isnan(c->f[needs[i]].value)) {
      dl_fail(DL_ValueError, DL_E_ARGUMENT, "card %s says no %s", c->name, fields[needs[i]].name);
      dl_note("%s: %s, %s", fields[needs[i]].name, fields[needs[i]].meaning, fields[needs[i]].unit);
      return dl_err.kind;
    }
  return DL_OK;
}

dl_status dl_card_lint(const dl_card *c) {
#define V(x) (c->f[F_##x].field ? c->f[F_##x].value : NAN)
  DL_TRY(lint_needs(c));
  double most = 1.05 * V(sm_count) * per_clock(V(cc)) * V(clock) * 1e6 / 1e12;
  double lanes = V(sm_count) * V(cores_per_sm) * 2 * V(clock) * 1e6 / 1e12;
  if (V(fp16) > most)
    return doubt(c, "fp16 is above what its SMs can do at that clock; is it a sparse peak?");
  if (!isnan(V(bf16)) && V(bf16) != V(fp16))
    return doubt(c, "bf16 is neither fp16's rate nor none");
  if (!isnan(V(fp8)) && (V(fp8) < 1.95 * V(fp16) || V(fp8) > 2.05 * V(fp16)))
    return doubt(c, "fp8 is not twice fp16");
  if (V(fp32) > 1.05 * lanes) return doubt(c, "fp32 is above SMs x lanes x 2 x clock");
  if (V(tf32) > V(fp16)) return doubt(c, "tf32 is above fp16");
  if (V(memory) >= V(label) * 1073741824.0) return doubt(c, "CUDA reports more than the label");
  if (V(context) * 1048576.0 >= V(memory)) return doubt(c, "the context alone fills its memory");
  if (V(h2d_pageable) > V(h2d_pinned) || V(d2h_pageable) > V(d2h_pinned))
    return doubt(c, "pageable copies are faster than pinned ones");
#undef V
  return DL_OK;
}
