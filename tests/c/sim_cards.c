/* sim_cards.c -- the cards: every figure has its source, the lint finds what is printed wrongly */
#include <math.h>

#include "sim_help.h"

static void complete(void) {
  int cards = 0, figures = 0, unsourced = 0, unsound = 0, doubled = 0;
  for (const dl_card *c; (c = dl_card_at(cards)); cards++) {
    if (dl_card_lint(c) != DL_OK) {
      unsound++;
      tap_diag("%s", dl_err.message);
    }
    for (const dl_figure *f; (f = dl_card_figure_at(c, figures % 1000)); figures++) {
      unsourced += !f->source[0] || !f->date[0] || !f->kind[0] || !f->confidence[0];
      doubled += dl_card_figure(c, f->field) != f;
    }
    figures += 1000 - figures % 1000;
  }
  is_int(cards, 13, "there are 13 cards");
  is_int(unsound, 0, "each passes the lint");
  is_int(unsourced, 0, "each figure has source, date, kind and confidence");
  is_int(doubled, 0, "and stands once");
}

static void as_known(void) {
  const dl_card *t4 = dl_card_find("t4");
  is_double(dl_card_figure(t4, "fp16")->value, 65, 0, "a T4 does 65 TFLOP/s in float16");
  ok(isnan(dl_card_figure(t4, "bf16")->value), "and has no bfloat16: unknown stays unknown");
  ok(dl_card_figure(t4, "speed") == NULL, "a card has no field called speed");
  is_str(dl_card_name(dl_card_find("RTX 4090")), "4090", "RTX 4090 is found");
  is_str(dl_card_name(dl_card_find("a100-80GB")), "a100-80", "so is a100-80GB");
  is_str(dl_card_name(dl_card_find("Tesla T4")), "t4", "and Tesla T4");
  ok(dl_card_find("gtx 9999") == NULL && dl_card_find("") == NULL,
     "what is not there is not found");
}

static void set(dl_card *c, const char *field, double value) {
  dl_figure f = {.field = field, .value = value};
  dl_card_set(c, &f);
}

static void lint(const char *base, const char *field, double value, const char *want,
                 const char *why) {
  dl_card *c;
  dl_card_copy(dl_card_find(base), NULL, NULL, &c);
  set(c, field, value);
  is_status(dl_card_lint(c), want, "%s", why);
  dl_card_free(c);
}

static void doubts(void) {
  lint("h100", "fp16", 1979, "ValueError: card h100: fp16 is above what its SMs can do…",
       "a sparse peak on an H100 is found");
  lint("l4", "fp16", 242, "ValueError: card l4: fp16 is above…", "on an L4 too");
  lint("t4", "bf16", 30, "ValueError: card t4: bf16 is neither…", "a bfloat16 rate of its own");
  lint("h100", "fp8", 3958, "ValueError: card h100: fp8 is not twice fp16", "sparse fp8");
  lint("4090", "memory", 24.0 * 1073741824, "ValueError: card 4090: CUDA reports more…",
       "the label taken for the capacity");
  lint("a100-80", "memory", NAN, "ValueError: card a100-80 says no memory",
       "a card without memory");
  lint("t4", "h2d_pageable", 13, "ValueError: card t4: pageable copies are faster…",
       "pageable copies faster than pinned ones");
}

static void refusals(void) {
  dl_card *c;
  dl_card_copy(dl_card_find("t4"), "mine", "My GPU", &c);
  dl_figure f = {.field = "speed", .value = 1};
  is_status(dl_card_set(c, &f), "ValueError: a card has no field 'speed'", "an unknown field");
  f.field = "bandwidth";
  f.unit = "TB/s";
  is_status(dl_card_set(c, &f), "ValueError: bandwidth of a card is in GB/s, not in TB/s",
            "another unit");
  f.unit = NULL;
  f.value = -5;
  is_status(dl_card_set(c, &f), "ValueError: bandwidth of a card cannot be -5 GB/s",
            "below nothing");
  f.value = INFINITY;
  is_status(dl_card_set(c, &f), "ValueError: bandwidth of a card cannot be inf GB/s", "infinite");
  f.value = 500;
  f.kind = "guessed";
  is_status(dl_card_set(c, &f), "ValueError: bandwidth: a figure is spec, measured…",
            "no such kind");
  f.kind = "measured";
  f.source = "my own test";
  is_status(dl_card_set(c, &f), "", "500 GB/s are taken");
  is_str(dl_card_figure(c, "bandwidth")->source, "my own test", "with their source");
  is_double(dl_card_figure(dl_card_find("t4"), "bandwidth")->value, 320, 0, "a T4 stays as it was");
  dl_card *again;
  dl_card_copy(c, NULL, NULL, &again);
  dl_card_free(c);
  is_str(dl_card_figure(again, "bandwidth")->source, "my own test",
         "a copy of a copy has its own words");
  is_str(dl_card_title(again), "My GPU", "and its name");
  dl_card_free(again);
  dl_card_copy(NULL, "empty", NULL, &c);
  is_status(dl_card_lint(c), "ValueError: card empty says no cc", "from nothing, much is missing");
  dl_card_free(c);
}

int main(void) {
  complete();
  as_known();
  doubts();
  refusals();
  return tap_done();
}
