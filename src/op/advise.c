/* advise.c -- out of memory: what to try, and what it would save
 *
 * For explain.c. What each piece of advice would save is computed from what lives now:
 *
 *   retained    tensors of a line that made some in several steps, the newest step apart; or what a
 *               variable or table of the user's keeps of earlier passes
 *   gradients   those of the last step, while the next forward pass runs
 *   batch       a part of what was made since the step's first saved activation, and of the request
 *   checkpoint  the activations of an earlier line that has the most, but for the last
 *   mixed       half of what ops have made since then, less the copies in half precision of what
 *               they were given and of the parameters
 *   detach      half of the activations, where each weight was used many times
 *   segments    of n activations of one pass, all but the segments' inputs and one segment: with
 *               about the root of n segments least is kept
 *
 * Where the forward pass had not met all parameters, what is to come is taken to be like what was:
 * `whole` is the saving in such a step, and decides whether advice is enough.
 *
 * INVARIANT  See explain.h.
 * MUST NOT   know Lua. */
#include "op/explain.h"

#include <stdio.h>
#include <string.h>

#include "op/workspace.h"

static bool forward(const dl_explanation *e) { return !e->pass.backward && !e->pass.step; }

static bool before(const dl_advice *a, dl_effort effort, int64_t saves) {
  return a->effort != effort ? a->effort < effort : a->saves >= saves;
}

/* A guess of a whole step may be beyond all bounds. */
static int64_t bytes_of(double n) {
  return n < 0x1p62 ? n > -0x1p62 ? (int64_t)n : 0 : (int64_t)1 << 62;
}

static void advise(dl_explanation *e, dl_effort effort, int64_t saves, int64_t whole,
                   const char *text) {
  if (saves < 512 || e->advices == DL_ADVICE) return;
  int k = e->advices++;
  for (; k > 0 && !before(&e->advice[k - 1], effort, saves); k--) e->advice[k] = e->advice[k - 1];
  e->advice[k].saves = saves;
  e->advice[k].whole = whole > saves ? whole : saves;
  e->advice[k].effort = effort;
  snprintf(e->advice[k].text, sizeof e->advice[k].text, "%s", text);
}

/* ---- what was kept -------------------------------------------------------------------------- */
static void advise_keeper(dl_explanation *e) {
  const dl_keeper *k = &e->keeper;
  char text[320];
  if (k->graphs == 0)
    snprintf(text, sizeof text, "let go of what is done with in `%s`, or keep it on the CPU "
             "(x:cpu())", k->path);
  else
    snprintf(text, sizeof text, "keep loss:item(), or x:detach():cpu(), in `%s`; where no "
             "backward() follows, torch.no_grad(function() ... end) makes no graph", k->path);
  advise(e, DL_FREE, k->retained, k->retained, text);
}

static void advise_retained(dl_explanation *e, const dl_holder *worst) {
  char at[80], text[320];
  dl_holder_place(worst, at, sizeof at);
  snprintf(text, sizeof text, "let go of what earlier steps left (most was made at %s): keep "
           "loss:item(), or x:detach():cpu(), not the tensor", at);
  advise(e, DL_FREE, e->retained, e->retained, text);
}

/* No pass is under way: the line that holds most of what is neither model nor optimizer. */
static void advise_letting_go(dl_explanation *e) {
  const dl_holder *most = NULL;
  char at[80], text[320];
  for (int i = 0; i < e->holders; i++) {
    const dl_holder *h = &e->holder[i];
    if (h->transients && (!most || h->bytes > most->bytes)) most = h;
  }
  if (!most || !most->source) return;
  snprintf(text, sizeof text, "set to nil, if it is done with, what was made at %s",
           dl_holder_place(most, at, sizeof at));
  advise(e, DL_FREE, most->bytes, 0, text);
}

/* ---- less work at a time -------------------------------------------------------------------- */
/* The first halving of the batch with which a whole step fits; one half where none does. */
static void advise_batch(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  static const struct { const char *part, *times; } cut[] = {
      {"half", "two"}, {"a quarter of", "four"}, {"an eighth of", "eight"}, {"a sixteenth of", "16"}};
  char text[320];
  double now = (double)p->grows + (forward(e) ? (double)e->asked : 0);
  double all = (double)p->given + (now - (double)p->given) * p->rest;
  int best = 0;
  for (int i = 3; i >= 0; i--)
    if ((double)e->whole - all * (1 - 1.0 / (2 << i)) <= (double)e->capacity) best = i;
  double saved = 1 - 1.0 / (2 << best);
  int n = snprintf(text, sizeof text, "%s the batch", cut[best].part);
  if (!dl_grad_enabled() && forward(e))
    snprintf(text + n, sizeof text - (size_t)n, " at a time");
  else
    snprintf(text + n, sizeof text - (size_t)n, " (%s backward() a step, each of loss / %d, to the "
             "same effect)", cut[best].times, 2 << best);
  advise(e, DL_LESS, bytes_of(now * saved), bytes_of(all * saved), text);
}

static void advise_mixed(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  double now = (double)p->mixed + (forward(e) ? (double)e->asked / 2 : 0);
  double copies = (double)e->role[DL_ROLE_PARAM] / 2, given = (double)p->given / 2;
  char text[320];
  snprintf(text, sizeof text, "torch.autocast(\"%s\", function() return model(x) end): activations "
           "in half precision", dl_gpu_type == DL_MPS ? "mps" : "cuda");
  advise(e, DL_LESS, bytes_of(now - copies),
         bytes_of((now + given) * p->rest - given - copies), text);
}

/* Fewest bytes: segments of the root of what there is, their inputs and one segment kept. */
static void advise_segments(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  char text[320];
  int k = 1, n = (int)(p->layers * p->rest + 0.5), seen = p->layers;
  while (k * k < n) k++;
  int kept = k + (n + k - 1) / k;
  if (n < 6) return;
  double each = seen ? (double)p->saved / seen : 0;
  int now = seen > kept ? seen - kept : 0;
  snprintf(text, sizeof text, "torch.utils.checkpoint.checkpoint_sequential(model, %d, x, "
           "{use_reentrant=false}): activations of one segment at a time, computed twice", k);
  advise(e, DL_OTHER_WAY, bytes_of(each * (now ? now : 1)), bytes_of(each * (n - kept)), text);
}

/* The line with the most activations, if it is not the one under way: what it called, run again in
 * backward. */
static void advise_checkpoint(dl_explanation *e) {
  const dl_holder *h = NULL;
  dl_where here = {NULL, 0, 0};
  char at[80], text[320];
  for (int i = 0; i < e->holders; i++)
    if (!h || e->holder[i].saved > h->saved) h = &e->holder[i];
  if (dl_where_fn) dl_where_fn(&here);
  if (!h || !h->source || (here.source == h->source && here.line == h->line)) return;
  snprintf(text, sizeof text, "torch.utils.checkpoint.checkpoint(f, x, {use_reentrant=false}) "
           "at %s: activations are computed again", dl_holder_place(h, at, sizeof at));
  advise(e, DL_LESS, h->saved - h->last_saved, 0, text);
}

/* Each weight many times in one graph: a state is carried on and on. */
static void advise_detach(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  if (e->reached == 0 || p->layers < 8 * e->reached || p->layers < 32) return;
  advise(e, DL_LESS, p->saved / 2, 0, "h = h:detach() half-way, where a state h is carried on: "
         "backward() reaches half as far back");
}

/* A model in evaluation, and yet its activations are kept for backward: the last would do. */
static void advise_no_grad(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  if (!dl_phase_eval || !dl_grad_enabled() || p->layers < 2) return;
  int64_t left = p->largest;
  advise(e, DL_FREE, p->saved - left, (int64_t)((double)p->saved * p->rest) - left,
         "torch.no_grad(function() return model(x) end): evaluation keeps nothing for backward()");
}

static void advise_pass(dl_explanation *e) {
  const dl_pass *p = &e->pass;
  if (!e->pass.step && p->grows > 0) advise_batch(e);
  if (forward(e)) advise_no_grad(e);
  if (forward(e)) advise_checkpoint(e);
  if (forward(e) && p->grows == 0) advise_letting_go(e);
  if (!e->pass.step && p->mixed > 0 && !(dl_mode & DL_MODE_AUTOCAST)) advise_mixed(e);
  if (forward(e)) advise_detach(e);
  if (!e->pass.step) advise_segments(e);
}

/* ---- all ------------------------------------------------------------------------------------ */
void dl_advise(dl_explanation *e, const dl_holder *worst) {
  const dl_pass *p = &e->pass;
  bool kept = e->verdict == DL_OOM_RETENTION && *e->keeper.path;
  e->advices = 0;
  if (*e->keeper.path) advise_keeper(e);
  else if (worst) advise_retained(e, worst);
  if (e->verdict == DL_OOM_FRAGMENTATION)
    advise(e, DL_FREE, e->holes, e->holes,
           dl_conf.expandable ? "torch.cuda.empty_cache() after large tensors went"
                              : "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or here "
                                "torch.cuda.memory._set_allocator_settings("
                                "\"expandable_segments:True\")");
  int64_t grads = e->role[DL_ROLE_GRAD], model = e->role[DL_ROLE_PARAM];
  if (forward(e))
    advise(e, DL_FREE, grads < model ? grads : model, 0, "opt:zero_grad() before the forward pass: "
           "the last step's gradients still live (set_to_none=false keeps them)");
  if (kept) return;              /* what lives is of many passes: of one pass it tells nothing */
  advise_pass(e);
  if (e->pass.step || e->role[DL_ROLE_STATE] > e->role[DL_ROLE_PARAM])
    advise(e, DL_OTHER_WAY, e->role[DL_ROLE_STATE] + (e->pass.step ? e->asked : 0), 0,
           "optim.SGD: it keeps no state, Adam two values a parameter");
  if (e->pass.step) return;
  int64_t half = (model + grads + (p->backward ? e->asked : 0)) / 2;
  if (p->grows == 0 || model > p->grows)
    advise(e, DL_OTHER_WAY, half, 0, "a model in half precision: model:to(torch.bfloat16)");
  if (p->backward && model > p->grows)
    advise(e, DL_OTHER_WAY, e->asked, 0, "layers that need no training: p:requires_grad_(false) "
           "leaves their gradients out");
}
