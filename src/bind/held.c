/* held.c -- how much of a graph a tensor keeps alive, and how many passes
 *
 * For lua/dlrepl/graphs.lua, which finds who holds the tensors; for error.c, which has it asked
 * when a GPU is out of memory.
 *
 * INVARIANT  Nothing is changed: `seen` and `fresh` are back at 0 afterwards. */
#include "bind/bind.h"
#include "op/explain.h"

#include <stdio.h>
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
  int dev;                 /* count bytes of this GPU alone, as its pool counts; -1: of all */
  bool met;                /* came to a node of an earlier part, but for leaves */
  bool full;               /* no memory: what was counted is too little */
} search;

/* A leaf's own node, or one made of a leaf alone: autocast's copies of weights serve all passes. */
static bool of_leaf(const dl_node *n) {
  const dl_node *below = n->n_edges == 1 ? n->edges[0].node : NULL;
  return n->kind == DL_NODE_ACCUM || (below && below->kind == DL_NODE_ACCUM);
}

static void visit(search *s, dl_node *n) {
  if (n && n->seen && !n->fresh && !of_leaf(n)) s->met = true;
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
  n->seen = n->fresh = 1;
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
  if (st->role == DL_ROLE_PARAM || st->role == DL_ROLE_STATE) return;
  if (st->role == DL_ROLE_GRAD && s->dev < 0) return;
  const dl_devmem *m = dl_is_gpu(st->dev) && st->nbytes ? dl_devmem_of(st) : NULL;
  if (s->dev >= 0 && (!m || st->dev.index != s->dev || !dl_devmem_lives(m))) return;
  if (2 * (s->n_kept + 1) > s->cap_kept && !kept_grow(s)) {
    s->full = true;
    return;
  }
  size_t at = ((uintptr_t)st >> 6) & (s->cap_kept - 1);
  while (s->kept[at] && s->kept[at] != st) at = (at + 1) & (s->cap_kept - 1);
  if (s->kept[at]) return;
  s->kept[at] = st;
  s->n_kept++;
  s->bytes += (int64_t)(s->dev >= 0 ? dl_chunk_bytes(m->chunk) : st->nbytes);
  if (m && m->where.source && (!s->newest || m->born > s->newest->born)) s->newest = m;
}

/* Everything below the nodes from `from` on. */
static void walk(search *s, size_t from) {
  for (size_t i = from; i < s->n; i++) {
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

uint32_t dl_held_input(void) { return (uint32_t)n_lines; }

/* How many lines have ended since the node was made: 0 is the one that runs. */
static int64_t lines_ago(uint64_t seq) {
  size_t i = n_lines;
  while (i > 0 && line_end[i - 1] >= seq) i--;
  return (int64_t)(n_lines - i);
}

/* "file:line" of something on a GPU */
static void push_place(lua_State *L, const dl_devmem *m) {
  const char *source = m->where.source, *slash = strrchr(source, '/');
  if (slash) source = slash + 1;
  else if (*source == '@' || *source == '=') source++;
  lua_pushfstring(L, "%s:%d", source, m->where.line);
}

/* "file:line" of the newest thing kept on a GPU, or what anomaly mode noted; nil for neither. */
static void push_where(lua_State *L, const search *s, int line_slot) {
  const char *noted = line_slot && dl_host.line ? dl_host.line(line_slot) : NULL;
  if (noted) lua_pushstring(L, noted);
  else if (s->newest) push_place(L, s->newest);
  else lua_pushnil(L);
}

static void search_end(search *s) {
  for (size_t i = 0; i < s->n; i++) s->node[i]->seen = s->node[i]->fresh = 0;
  free(s->node);
  free(s->kept);
}

/* _held(list of tensors) -> nodes, bytes they keep saved, lines ago that the newest was made, where
 * (on a GPU and in anomaly mode) */
static int l_held(lua_State *L) {
  search s = {.dev = -1};
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
  walk(&s, 0);
  search_end(&s);               /* what is pushed may raise */
  lua_pushinteger(L, (lua_Integer)s.n);
  lua_pushinteger(L, s.bytes);
  lua_pushinteger(L, newest ? lines_ago(newest) : 0);
  push_where(L, &s, line);
  return 4;
}

/* ---- apart: the passes that some tensors keep ------------------------------------------------ */
/* Made by one step of a program: a tensor's graph, or the tensor alone. */
typedef struct root { dl_node *node; const dl_tensor *t; uint64_t age; } root;
typedef struct roots { root *at; size_t n, cap; bool full; } roots;

static void add_root(roots *r, dl_node *node, const dl_tensor *t, uint64_t age) {
  if (r->n == r->cap) {
    size_t cap = r->cap ? 2 * r->cap : 64;
    root *bigger = realloc(r->at, cap * sizeof *bigger);
    r->full = r->full || !bigger;
    if (!bigger) return;
    r->at = bigger;
    r->cap = cap;
  }
  r->at[r->n++] = (root){node, t, age};
}

static int64_t numel_of(const dl_node *n, uint32_t nr, int *ndim) {
  dl_meta m;
  int64_t numel;
  dl_node_out_meta(n, nr, &m);
  *ndim = m.ndim;
  return dl_numel(m.ndim, m.size, &numel) == DL_OK ? numel : INT64_MAX;
}

/* A running total: one element made of others of one element, or a list of such. */
static bool joins(const dl_node *n) {
  int ndim;
  if (n->kind != DL_NODE_OP) return false;
  bool list = n->op == DL_OP_cat || n->op == DL_OP_stack;
  if (numel_of(n, 0, &ndim) != 1 && !(list && ndim <= 1)) return false;
  for (uint32_t k = 0; k < n->n_edges; k++) {
    const dl_edge *e = &n->edges[k];
    if (!e->node || e->node->kind == DL_NODE_ACCUM) continue;
    if (numel_of(e->node, e->nr, &ndim) != 1 && !(list && ndim <= 1)) return false;
  }
  return true;
}

/* The totals below the nodes visited so far are taken apart: what they sum is a root each. */
static void take_apart(search *s, roots *r) {
  for (size_t i = 0; i < s->n; i++) {
    dl_node *n = s->node[i];
    if (!joins(n)) continue;
    for (uint32_t k = 0; k < n->n_edges; k++) {
      dl_node *below = n->edges[k].node;
      if (!below || below->kind == DL_NODE_ACCUM || below->seen) continue;
      if (joins(below)) visit(s, below);
      else add_root(r, below, NULL, below->seq);
    }
  }
}

static int by_age(const void *a, const void *b) {
  const root *x = a, *y = b;
  if (!x->node != !y->node) return x->node ? 1 : -1;
  return (x->age > y->age) - (x->age < y->age);
}

static bool is_root(const dl_tensor *t, int dev) {
  if (!t) return false;
  if (t->grad_fn) return true;
  uint8_t role = t->st->role;
  return role != DL_ROLE_PARAM && role != DL_ROLE_STATE && dl_is_gpu(t->dev) &&
         t->dev.index == dev && t->st->nbytes;
}

/* _transient(value, device) -> may it keep something of a pass alive there? */
static int l_transient(lua_State *L) {
  lua_pushboolean(L, is_root(dl_get_tensor(L, 1), (int)luaL_checkinteger(L, 2)));
  return 1;
}

/* What each root adds to those before it; a graph that meets none of theirs is one more. */
static void weigh(search *s, const roots *r, int *graphs, int *alone, int64_t *newest) {
  int64_t before = 0;
  for (size_t k = 0; k < s->n; k++) s->node[k]->fresh = 0;
  for (size_t i = 0; i < r->n; i++) {
    const root *x = &r->at[i];
    size_t from = s->n;
    s->met = false;
    int64_t bytes = s->bytes;
    if (x->t) keep(s, x->t);
    if (x->node) visit(s, x->node);
    walk(s, from);
    for (size_t k = from; k < s->n; k++) s->node[k]->fresh = 0;
    bool fresh = x->node ? s->n > from && !s->met : s->bytes > bytes;
    if (!fresh) continue;
    before = bytes;
    ++*(x->node ? graphs : alone);
  }
  *newest = s->bytes - before;
}

/* _apart(list of tensors, device) -> separate graphs, tensors without one, the bytes that live
 * there because of them, those of the newest, where that was made */
static int l_apart(lua_State *L) {
  search s = {.dev = (int)luaL_checkinteger(L, 2)};
  roots r = {0};
  int64_t newest = 0;
  int n = (int)lua_rawlen(L, 1), graphs = 0, alone = 0;
  for (int i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, i);
    dl_tensor *t = dl_get_tensor(L, -1);
    lua_pop(L, 1);
    if (!is_root(t, s.dev)) continue;
    const dl_devmem *m = dl_is_gpu(t->dev) && t->st->nbytes ? dl_devmem_of(t->st) : NULL;
    if (t->grad_fn && joins(t->grad_fn)) visit(&s, t->grad_fn);
    else add_root(&r, t->grad_fn, t, t->grad_fn ? t->grad_fn->seq : m ? m->born : 0);
  }
  take_apart(&s, &r);
  if (r.n) qsort(r.at, r.n, sizeof *r.at, by_age);
  weigh(&s, &r, &graphs, &alone, &newest);
  search_end(&s);
  free(r.at);
  lua_pushinteger(L, graphs);
  lua_pushinteger(L, alone);
  lua_pushinteger(L, s.full || r.full ? 0 : s.bytes);
  lua_pushinteger(L, newest);
  push_where(L, &s, 0);
  return 5;
}

/* _own_source(source) -> is it a file of dlrepl's own? */
static int l_own_source(lua_State *L) {
  lua_pushboolean(L, dl_own_source && dl_own_source(luaL_checkstring(L, 1)));
  return 1;
}

/* ---- out of memory: who keeps what ----------------------------------------------------------- */
/* (device) -> path, tensors, graphs, bytes, retained, place: what dlrepl.graphs finds. The global
 * require may be a program's own. */
static int l_ask(lua_State *L) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  if (lua_getfield(L, -1, "dlrepl.graphs") != LUA_TTABLE) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "dlrepl.graphs");
    lua_call(L, 1, 1);
  }
  lua_getfield(L, -1, "keeper");
  lua_pushvalue(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_call(L, 2, 6);
  return 6;
}

/* Where that fails, the host is short, nothing is added. */
void dl_find_keeper(lua_State *L) {
  int dev = dl_explain_pending(), top = lua_gettop(L);
  if (dev < 0 || !lua_checkstack(L, 20)) return;
  dl_error kept = dl_err;
  lua_pushcfunction(L, l_ask);
  lua_pushinteger(L, dev);
  int st = lua_pcall(L, 1, 6, 0);
  dl_err = kept;
  if (st == LUA_OK && lua_isstring(L, -6)) {
    dl_keeper k = {.tensors = (int)lua_tointeger(L, -5), .graphs = (int)lua_tointeger(L, -4),
                   .bytes = lua_tointeger(L, -3), .retained = lua_tointeger(L, -2)};
    snprintf(k.path, sizeof k.path, "%s", lua_tostring(L, -6));
    snprintf(k.place, sizeof k.place, "%s", luaL_optstring(L, -1, ""));
    dl_explain_keeper(&k, dev);
  }
  lua_settop(L, top);
}

void dl_held_open(lua_State *L, int dlrepl) {
  static const luaL_Reg fn[] = {{"_held", l_held}, {"_apart", l_apart},
                                {"_transient", l_transient}, {"_own_source", l_own_source},
                                {NULL, NULL}};
  dl_set_funcs(L, dlrepl, fn);
}
