/* record_seen.c -- hooks that ran and loaders that were waited for, in the run record
 *
 * For the binding, which runs both.
 *
 * INVARIANT  Nothing here is timed twice: what an op costs while a batch is waited for is the
 *            loader's.
 * MUST NOT   fail a program: where memory for the record itself is short, entries are dropped. */
#include "op/record_in.h"

#include <stdio.h>
#include <string.h>

/* ---- hooks ---------------------------------------------------------------------------------- */
static dl_rec_hook *hook_of(const char *kind, const char *name) {
  for (int64_t i = 0; i < dl_rec->nhook; i++)
    if (!strcmp(dl_rec->hook[i].kind, kind) && !strcmp(dl_rec->hook[i].name, name))
      return &dl_rec->hook[i];
  if (dl_rec->nhook == DL_REC_LOG ||
      !dl_rec_grow(&dl_rec->hook, &dl_rec->caphook, dl_rec->nhook, sizeof *dl_rec->hook))
    return NULL;
  dl_rec_hook *h = &dl_rec->hook[dl_rec->nhook++];
  memset(h, 0, sizeof *h);
  h->kind = kind;
  snprintf(h->name, sizeof h->name, "%s", name);
  return h;
}

void dl_record_hook(const char *kind, const char *name) {
  dl_rec_hook *h = dl_record_on() ? hook_of(kind, name) : NULL;
  if (h) h->count++;
}

const char *dl_record_name(const void *st) {
  for (int64_t i = 0; dl_record_on() && i < dl_rec->nparam; i++)
    if (dl_rec->param[i].storage == st) return dl_rec->param[i].name;
  return "";
}

/* ---- loaders -------------------------------------------------------------------------------- */
int dl_rec_loading;
static int64_t since;       /* of the outermost batch that is waited for: this machine's clock … */
static double since_us;     /* … and of a simulated GPU's host */

int64_t dl_record_epoch(void) { return dl_record_on() ? ++dl_rec->epochs : 0; }

void dl_record_served(int64_t epoch, int64_t index) {
  if (!dl_record_on() || epoch == 0 || epoch > dl_rec->epochs) return;
  if (dl_rec->nserved < DL_REC_LOG &&
      dl_rec_grow(&dl_rec->served, &dl_rec->capserved, dl_rec->nserved, sizeof *dl_rec->served))
    dl_rec->served[dl_rec->nserved++] = (dl_rec_served){epoch, index};
  else
    dl_rec->dropped_served++;
}

void dl_record_wait(int what) {
  if (!dl_record_on() || (!what && !dl_rec_loading)) return;
  if (what && dl_rec_loading++ == 0) {
    since = dl_rec_now();
    since_us = dl_rec_clock();
  } else if (!what && --dl_rec_loading == 0) {
    dl_rec->ns[DL_REC_LOAD] += dl_rec_now() - since;
    dl_rec->virtual_us[DL_REC_LOAD] += dl_rec_clock() - since_us;
  }
}

void dl_record_batch(void) {
  if (dl_record_on()) dl_rec->batches++;
}
