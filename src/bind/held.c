/* held.c -- how much of a graph a tensor keeps alive
 *
 * For lua/dlrepl/graphs.lua, which finds who holds the tensors.
 *
 * INVARIANT  Nothing is changed: `seen` bits are back at 0 afterwards. */
#include "bind/bind.h"
#include "tensor/devmem.h"
#include "tensor/ledger.h"

#include <stdlib.h>
#include <string.h>

void dl_held_open(lua_State *L, int dlrepl);

/* ---- the nodes below some tensors ----------------------------------------------------------- */
typedef struct search {
  dl_node **node;
  size_t n, cap;
  const dl_storage **kept; /* open addressing; NULL = free */
  size_t n_kept, cap_kept;
  int64_t bytes;
  const dl_devmem *newest; /* of what is kept on a GPU: those know the line that made them */
  bool full;               /* no memory: what was counted is too little */
} search;

static void visit(search *s, dl_node *n) {
  if (!n || n->seen || s->full) return;
  if (s->n == s->cap) {
    size_t cap = s->cap ? 2 * s->cap : 256;
    dl_node **bigger = realloc(s->node, cap * sizeof *bigger);
    if (!bigger) {
      s->full = true;
      return;
    }
    s->node = bigger;
    s->cap = cap;
  }
  n->seen = 1;
  s->node[s->n++] = n;
}

static bool kept_grow(search *s) {
  size_t cap = s->cap_kept ? 2 * s->cap_kept : 256;
  const dl_storage **v = calloc(cap, sizeof *v);
  if (!v) return false;
  for (size_t i = 0; i < s->cap_kept; i++) {
    if (!s->kept[i]) continue;
    size_t at = ((uintptr_t)s->kept[i] >> 6) & (cap - 1);
    while (v[at]) at = (at + 1) & (cap - 1);
    v[at] = s->kept[i];
  }
  free(s->kept);
  s->kept = v;
  s->cap_kept = cap;
  return true;
}

/* A storage that only the graph needs is counted once. */
static void keep(search *s, const dl_tensor *t) {
  const dl_storage *st = t->st;
  if (st->role == DL_ROLE_PARAM || st->role == DL_ROLE_GRAD || st->role == DL_ROLE_STATE) return;
  if (2 * (s->n_kept + 1) > s->cap_kept && !kept_grow(s)) {
    s->full = true;
    return;
  }
  size_t at = ((uintptr_t)st >> 6) & (s->cap_kept - 1);
  while (s->kept[at] && s->kept[at] != st) at = (at + 1) & (s->cap_kept - 1);
  if (s->kept[at]) return;
  s->kept[at] = st;
  s->n_kept++;
  s->bytes += (int64_t)st->nbytes;
  const dl_devmem *m = dl_is_gpu(st->dev) && st->nbytes ? dl_devmem_of(st) : NULL;
  if (m && m->where.source && (!s->newest || m->born > s->newest->born)) s->newest = m;
}

static void walk(search *s) {
  for (size_t i = 0; i < s->n; i++) {
    dl_node *n = s->node[i];
    const dl_saved *saved = dl_node_saved(n);
    for (uint32_t k = 0; k < n->n_saved; k++)
      if (!saved[k].packed && saved[k].t) keep(s, saved[k].t);
    for (uint32_t k = 0; k < n->n_edges; k++) visit(s, n->edges[k].node);
  }
}

/* ---- lines: what the newest node was when each line ended ------------------------------------ */
static uint64_t *line_end;
static size_t n_lines, cap_lines;
extern uint64_t dl_node_seq;

/* A line, cell or script has ended. */
void dl_held_line(void) {
  if (n_lines == cap_lines) {
    size_t cap = cap_lines ? 2 * cap_lines : 64;
    uint64_t *bigger = realloc(line_end, cap * sizeof *bigger);
    if (!bigger) return;
    line_end = bigger;
    cap_lines = cap;
  }
  line_end[n_lines++] = dl_node_seq;
}

/* How many lines have ended since the node was made: 0 is the one that runs. */
static int64_t lines_ago(uint64_t seq) {
  size_t i = n_lines;
  while (i > 0 && line_end[i - 1] >= seq) i--;
  return (int64_t)(n_lines - i);
}

/* "file:line" of the newest thing kept on a GPU, or what anomaly mode noted; nil for neither. */
static void push_where(lua_State *L, const search *s, int line_slot) {
  const char *noted = line_slot && dl_host.line ? dl_host.line(line_slot) : NULL;
  if (noted) {
    lua_pushstring(L, noted);
    return;
  }
  if (!s->newest) {
    lua_pushnil(L);
    return;
  }
  const char *source = s->newest->where.source, *slash = strrchr(source, '/');
  if (slash) source = slash + 1;
  else if (*source == '@' || *source == '=') source++;
  lua_pushfstring(L, "%s:%d", source, s->newest->where.line);
}

/* _held(list of tensors) -> nodes, bytes they keep saved, lines ago that the newest was made, where
 * (on a GPU and in anomaly mode) */
static int l_held(lua_State *L) {
  search s = {0};
  uint64_t newest = 0;
  int line = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  int n = (int)lua_rawlen(L, 1);
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    dl_tensor *t = dl_get_tensor(L, -1);
    dl_nodebox *box = dl_object(L, -1, &dl_t_node);
    dl_node *node = t ? t->grad_fn : box ? box->n : NULL;
    lua_pop(L, 1);
    if (!node) continue;
    if (node->seq > newest) {
      newest = node->seq;
      line = node->ext ? node->ext->line_slot : 0;
    }
    visit(&s, node);
  }
  walk(&s);
  for (size_t i = 0; i < s.n; i++) s.node[i]->seen = 0;
  free(s.node);
  free(s.kept);
  lua_pushinteger(L, (lua_Integer)s.n);
  lua_pushinteger(L, s.bytes);
  lua_pushinteger(L, newest ? lines_ago(newest) : 0);
  push_where(L, &s, line);
  return 4;
}

void dl_held_open(lua_State *L, int dlrepl) {
  lua_pushcfunction(L, l_held);
  lua_setfield(L, dlrepl, "_held");
}
