/* index.c -- picking and writing slices by index tensors
 *
 * For dispatch: index, index_put, index_select, index_add, index_copy, index_fill, nonzero.
 * All are one engine. The index tensors of a call are broadcast together to nb places; each place
 * names an offset in the indexed tensor (the "far" side). The other dims of the far side are split
 * in those before the indexed ones ("outer") and those after ("block"). The near side (result or
 * values) is laid out outer x places x block.
 *
 * INVARIANT  Every index is checked before the first element is written. */
#include "rows.h"

typedef struct side { char *data; int64_t outer[DL_MAXDIM], block[DL_MAXDIM], *place; } side;

typedef struct engine {
  dl_dtype dtype;
  int n_outer, n_block;          /* dims */
  int64_t outer[DL_MAXDIM], block[DL_MAXDIM]; /* sizes */
  int64_t n_places, rows;        /* rows = product(outer) * n_places; each moves one block */
  side far, near;                /* place[]: offset in elements of each place */
  enum { PICK, PUT, ADD } what;  /* near <- far, far <- near, far += alpha * near */
  double alpha;
  int64_t times;
  void *mem[DL_MAXDIM + 2];      /* scratch, freed by engine_end */
  size_t bytes[DL_MAXDIM + 2];
  int n_mem;
} engine;

static dl_status engine_scratch(engine *e, size_t bytes, void **out) {
  DL_TRY(dl_scratch(bytes ? bytes : 1, out));
  e->mem[e->n_mem] = *out;
  e->bytes[e->n_mem++] = bytes ? bytes : 1;
  return DL_OK;
}

static void engine_end(engine *e) {
  while (e->n_mem > 0) {
    e->n_mem--;
    dl_scratch_free(e->mem[e->n_mem], e->bytes[e->n_mem]);
  }
}

/* ---- moving ---------------------------------------------------------------------- */
static void move_row(const engine *e, char *d, int64_t ds, const char *s, int64_t ss, int64_t n) {
  if (e->what == ADD) dl_row_add(e->dtype, d, ds, s, ss, n, e->alpha, e->times);
  else dl_row_copy(dl_dtype_size(e->dtype), d, ds, s, ss, n);
}

/* One block between near + a and far + b (elements). */
static void move_block(const engine *e, int64_t a, int64_t b) {
  int64_t es = (int64_t)dl_dtype_size(e->dtype);
  int last = e->n_block - 1;
  bool pick = e->what == PICK;
  const side *to = pick ? &e->near : &e->far, *from = pick ? &e->far : &e->near;
  char *d = to->data + (pick ? a : b) * es;
  const char *s = from->data + (pick ? b : a) * es;
  if (last == 0) {
    move_row(e, d, to->block[0], s, from->block[0], e->block[0]);
    return;
  }
  dl_walk w;
  dl_walk_begin(&w, e->n_block, e->block, last);
  dl_walk_add(&w, e->n_block, to->block, last);
  dl_walk_add(&w, e->n_block, from->block, last);
  for (; w.left > 0; dl_walk_next(&w))
    move_row(e, d + w.off[0] * es, to->block[last], s + w.off[1] * es, from->block[last],
             e->block[last]);
}

/* Blocks of one element and no outer dims: nothing but the places. */
static void move_places(const engine *e, int64_t lo, int64_t hi) {
  int64_t es = (int64_t)dl_dtype_size(e->dtype);
  for (int64_t p = lo; p < hi; p++) {
    char *near = e->near.data + e->near.place[p] * es, *far = e->far.data + e->far.place[p] * es;
    if (e->what == PICK) dl_elem_copy(near, far, (size_t)es);
    else move_row(e, far, 1, near, 1, 1);
  }
}

static void move_rows(void *ctx, int64_t lo, int64_t hi) {
  const engine *e = ctx;
  if (e->n_outer == 0 && e->n_block == 1 && e->block[0] == 1) {
    move_places(e, lo, hi);
    return;
  }
  dl_walk w;
  dl_walk_begin(&w, e->n_outer, e->outer, -1);
  dl_walk_add(&w, e->n_outer, e->near.outer, -1);
  dl_walk_add(&w, e->n_outer, e->far.outer, -1);
  dl_walk_seek(&w, lo / e->n_places, 1);
  for (int64_t i = lo, p = lo % e->n_places; i < hi; i++) {
    move_block(e, w.off[0] + e->near.place[p], w.off[1] + e->far.place[p]);
    if (++p < e->n_places) continue;
    p = 0;
    dl_walk_next(&w);
  }
}

/* Writes run on one thread: where an index stands twice, the last one wins as in PyTorch. */
static dl_status engine_run(engine *e) {
  int64_t block = 1;
  for (int d = 0; d < e->n_block; d++) block *= e->block[d];
  if (e->rows == 0 || block == 0) return DL_OK;
  e->n_block = dl_merge_dims(e->n_block, e->block, e->far.block, e->near.block);
  int64_t grain = block >= 16384 ? 1 : 16384 / block;
  if (e->what == PICK) return dl_parallel(e->rows, grain, move_rows, e);
  for (int64_t lo = 0; lo < e->rows; lo += grain * 64) {
    move_rows(e, lo, lo + grain * 64 < e->rows ? lo + grain * 64 : e->rows);
    DL_TRY(dl_poll());
  }
  return DL_OK;
}

/* ---- places ---------------------------------------------------------------------- */
typedef struct bounds { bool wraps; dl_class cls; const char *format; } bounds;
static const bounds as_subscript = {true, DL_IndexError,
                                    "index %lld is out of bounds for dimension %d with size %lld"};
static const bounds as_select = {false, DL_IndexError, "index out of range in self"};
static const bounds as_add = {false, DL_RuntimeError,
                              "index %lld is out of bounds for dimension %d with size %lld"};
static const bounds as_copy =
    {false, DL_IndexError,
     "index_copy_(): index %lld is out of bounds for dimension %d with size %lld"};

static dl_status out_of_bounds(const bounds *b, int64_t i, int dim, int64_t n) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  return dl_fail(b->cls, DL_E_INDEX, b->format, (long long)i, dim, (long long)n);
#pragma GCC diagnostic pop
}

/* Add index * stride of one index tensor, broadcast to the common shape, to far.place. */
static dl_status add_places(engine *e, const dl_view *idx, const bounds *b, int nb,
                            const int64_t *shape, int dim, int64_t n, int64_t far_stride) {
  int64_t stride[DL_MAXDIM] = {0}, at = 0;
  int lead = nb - idx->ndim;
  for (int d = 0; d < nb; d++)
    stride[d] = d < lead || idx->size[d - lead] == 1 ? 0 : idx->stride[d - lead];
  int64_t least = b->wraps ? -n : 0, inner = nb ? shape[nb - 1] : 1, step = nb ? stride[nb - 1] : 0;
  dl_walk w;
  dl_walk_begin(&w, nb, shape, nb - 1);
  dl_walk_add(&w, nb, stride, nb - 1);
  for (; w.left > 0; dl_walk_next(&w)) {
    for (int64_t k = 0; k < inner; k++) {
      int64_t i = dl_index_at(idx, w.off[0] + k * step);
      if (i >= n || i < least) return out_of_bounds(b, i, dim, n);
      e->far.place[at++] += (i < 0 ? i + n : i) * far_stride;
    }
  }
  return DL_OK;
}

/* The offsets of places on the near side, whose place dims have these strides. */
static void near_places(engine *e, int nb, const int64_t *shape, const int64_t *stride) {
  int64_t at = 0, inner = nb ? shape[nb - 1] : 1, step = nb ? stride[nb - 1] : 0;
  dl_walk w;
  dl_walk_begin(&w, nb, shape, nb - 1);
  dl_walk_add(&w, nb, stride, nb - 1);
  for (; w.left > 0; dl_walk_next(&w))
    for (int64_t k = 0; k < inner; k++) e->near.place[at++] = w.off[0] + k * step;
}

static dl_status alloc_places(engine *e, int nb, const int64_t *shape) {
  void *far, *near;
  e->n_places = 1;
  for (int d = 0; d < nb; d++) e->n_places *= shape[d];
  size_t bytes = (size_t)e->n_places * sizeof(int64_t);
  DL_TRY(engine_scratch(e, bytes, &far));
  DL_TRY(engine_scratch(e, bytes, &near));
  e->far.place = memset(far, 0, bytes);
  e->near.place = near;
  return DL_OK;
}

/* ---- subscripts: several index tensors, some of them masks ----------------------- */
typedef struct subscript {
  int n;                         /* index tensors, one an indexed dim */
  dl_view idx[DL_MAXDIM];
  int dim[DL_MAXDIM];
  int64_t length[DL_MAXDIM];     /* sizes and strides of those made from masks */
  int nb;                        /* common shape */
  int64_t shape[DL_MAXDIM];
} subscript;

static const int64_t one_stride = 1;

/* List the places that are not zero: coordinate d of the k-th goes to
 * out[k * row + d * col]. */
static void list_nonzero(const dl_view *v, int64_t *out, int64_t row, int64_t col) {
  size_t es = dl_view_esize(v);
  bool is_float = dl_dtype_is_float((dl_dtype)v->dtype);
  int last = v->ndim - 1;
  int64_t inner = v->ndim ? v->size[last] : 1, step = v->ndim ? v->stride[last] * (int64_t)es : 0;
  dl_walk w;
  dl_walk_begin(&w, v->ndim, v->size, last);
  dl_walk_add(&w, v->ndim, v->stride, last);
  for (; w.left > 0; dl_walk_next(&w)) {
    const char *p = v->data + w.off[0] * (int64_t)es;
    for (int64_t k = 0; k < inner; k++, p += step) {
      if (!dl_elem_nonzero(p, es, is_float)) continue;
      for (int d = 0; d < last; d++) out[d * col] = w.at[d];
      if (last >= 0) out[last * col] = k;
      out += row;
    }
  }
}

/* A mask of m dims becomes m index vectors. */
static dl_status expand_mask(engine *e, subscript *s, const dl_view *mask, int dim) {
  int64_t count = dl_view_count_nonzero(mask);
  void *mem;
  DL_TRY(engine_scratch(e, (size_t)(count * mask->ndim) * sizeof(int64_t), &mem));
  list_nonzero(mask, mem, 1, count);
  for (int d = 0; d < mask->ndim; d++) {
    s->length[s->n] = count;
    s->dim[s->n] = dim + d;
    s->idx[s->n] = (dl_view){.data = (char *)mem + (size_t)(d * count) * sizeof(int64_t),
                             .dtype = DL_I64,
                             .ndim = 1,
                             .numel = count,
                             .size = &s->length[s->n],
                             .stride = &one_stride};
    s->n++;
  }
  return DL_OK;
}

static dl_status read_subscript(engine *e, subscript *s, const dl_view *list, int n) {
  int dim = 0;
  s->n = s->nb = 0;
  for (int k = 0; k < n; k++) {
    const dl_view *v = &list[k];
    if (v->dtype == DL_NODTYPE) {
      dim++;
    } else if (v->dtype == DL_BOOL || v->dtype == DL_U8) {
      DL_TRY(expand_mask(e, s, v, dim));
      dim += v->ndim;
    } else {
      s->idx[s->n] = *v;
      s->dim[s->n++] = dim++;
    }
  }
  for (int k = 0; k < s->n; k++) {
    const dl_view *v = &s->idx[k];
    int grow = v->ndim - s->nb;
    if (grow > 0) {
      memmove(s->shape + grow, s->shape, (size_t)s->nb * sizeof *s->shape);
      for (int d = 0; d < grow; d++) s->shape[d] = 1;
      s->nb = v->ndim;
    }
    for (int d = 0; d < v->ndim; d++) {
      int64_t *have = &s->shape[s->nb - v->ndim + d];
      if (*have == 1) *have = v->size[d];
    }
  }
  return DL_OK;
}

/* Split the far dims around the indexed ones; near strides follow the result's layout
 * (places come first when the indexed dims are not neighbours). near: of the result's shape. */
static void split_dims(engine *e, const subscript *s, const dl_view *far,
                       const int64_t *near_stride, int64_t *place_stride) {
  bool joined = true;
  for (int k = 1; k < s->n; k++) joined = joined && s->dim[k] == s->dim[k - 1] + 1;
  int before = joined && s->n ? s->dim[0] : 0, r = 0, place_at = joined ? before : 0;
  uint32_t indexed = 0;
  for (int k = 0; k < s->n; k++) indexed |= 1u << s->dim[k];
  for (int d = 0; d < far->ndim; d++) {
    if (indexed & (1u << d)) continue;
    int near_dim = r < place_at ? r : r + s->nb;
    r++;
    if (d < before) {
      e->outer[e->n_outer] = far->size[d];
      e->far.outer[e->n_outer] = far->stride[d];
      e->near.outer[e->n_outer++] = near_stride[near_dim];
    } else {
      e->block[e->n_block] = far->size[d];
      e->far.block[e->n_block] = far->stride[d];
      e->near.block[e->n_block++] = near_stride[near_dim];
    }
  }
  for (int d = 0; d < s->nb; d++) place_stride[d] = near_stride[place_at + d];
  e->rows = e->n_places;
  for (int d = 0; d < e->n_outer; d++) e->rows *= e->outer[d];
}

static dl_status subscript_run(engine *e, dl_kcall *c, const dl_view *far, int64_t numel,
                               const int64_t *near_stride) {
  subscript s;
  int64_t place_stride[DL_MAXDIM];
  DL_TRY(read_subscript(e, &s, c->list, c->nlist));
  DL_TRY(alloc_places(e, s.nb, s.shape));
  split_dims(e, &s, far, near_stride, place_stride);
  for (int k = 0; k < s.n; k++) {
    if (far->size[s.dim[k]] == 0 && e->n_places)
      return dl_fail(DL_IndexError, DL_E_INDEX, "index is out of bounds for dimension with size 0");
    if (numel)
      DL_TRY(add_places(e, &s.idx[k], &as_subscript, s.nb, s.shape, s.dim[k], far->size[s.dim[k]],
                        far->stride[s.dim[k]]));
  }
  near_places(e, s.nb, s.shape, place_stride);
  return engine_run(e);
}

DL_KERNEL(index) {
  engine e = {.dtype = (dl_dtype)c->in[0].dtype, .what = PICK};
  e.far.data = c->in[0].data;
  e.near.data = c->out[0].data;
  dl_status st = subscript_run(&e, c, &c->in[0], c->out[0].numel, c->out[0].stride);
  engine_end(&e);
  return st;
}

/* Strides of `v` broadcast to the shape of the indexed result: its dims are those of far outside
 * the index, with the common shape put in their place. Only its ndim is needed, and where v has
 * size 1. */
static void spread_strides(const dl_view *v, int ndim, int64_t *stride) {
  int lead = ndim - v->ndim;
  for (int d = 0; d < ndim; d++)
    stride[d] = d < lead || v->size[d - lead] == 1 ? 0 : v->stride[d - lead];
}

/* c->dims holds the number of dims of the indexed result. */
DL_KERNEL(index_put) {
  const dl_view *v = &c->in[1];
  bool add = c->arg[3].i;
  int64_t stride[DL_MAXDIM + 1];
  engine e = {.dtype = (dl_dtype)c->out[0].dtype, .what = add ? ADD : PUT, .alpha = 1, .times = 1};
  if (v->numel == 0) return DL_OK;
  /* leading dims of size 1 beyond the result's own change nothing */
  dl_view trimmed = *v;
  while (trimmed.ndim > (int)c->dims) {
    trimmed.ndim--;
    trimmed.size++;
    trimmed.stride++;
  }
  spread_strides(&trimmed, (int)c->dims, stride);
  e.far.data = c->out[0].data;
  e.near.data = v->data;
  dl_status st = subscript_run(&e, c, &c->out[0], c->out[0].numel, stride);
  engine_end(&e);
  return st;
}

/* ---- one index vector along one dim ---------------------------------------------- */
static int wrapped(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + (ndim ? ndim : 1) : dim); }

/* near has far's shape but for size[dim] = number of indices; 0-dim views count as one row. */
static dl_status vector_run(engine *e, const dl_view *far, const dl_view *idx, int dim,
                            const bounds *b, const int64_t *near_stride) {
  int64_t n = far->ndim ? far->size[dim] : 1, fs = far->ndim ? far->stride[dim] : 1;
  int64_t ns = far->ndim ? near_stride[dim] : 1;
  DL_TRY(alloc_places(e, 1, &idx->numel));
  for (int d = 0; d < far->ndim; d++) {
    if (d == dim) continue;
    bool outer = d < dim;
    int k = outer ? e->n_outer++ : e->n_block++;
    (outer ? e->outer : e->block)[k] = far->size[d];
    (outer ? e->far.outer : e->far.block)[k] = far->stride[d];
    (outer ? e->near.outer : e->near.block)[k] = near_stride[d];
  }
  e->rows = e->n_places;
  for (int d = 0; d < e->n_outer; d++) e->rows *= e->outer[d];
  DL_TRY(add_places(e, idx, b, 1, &idx->numel, dim, n, fs));
  near_places(e, 1, &idx->numel, &ns);
  return engine_run(e);
}

DL_KERNEL(index_select) {
  const dl_view *x = &c->in[0];
  engine e = {.dtype = (dl_dtype)x->dtype, .what = PICK};
  e.far.data = x->data;
  e.near.data = c->out[0].data;
  dl_status st =
      vector_run(&e, x, &c->in[1], wrapped(c->arg[1].i, x->ndim), &as_select, c->out[0].stride);
  engine_end(&e);
  return st;
}

static dl_status write_rows(dl_kcall *c, engine *e, const char *near, const int64_t *near_stride,
                            const bounds *b) {
  const dl_view *out = &c->out[0];
  e->dtype = (dl_dtype)out->dtype;
  e->far.data = out->data;
  e->near.data = (char *)near;
  dl_status st = vector_run(e, out, &c->in[1], wrapped(c->arg[1].i, out->ndim), b, near_stride);
  engine_end(e);
  return st;
}

DL_KERNEL(index_add) {
  engine e = {.what = ADD, .alpha = dl_arg_f(&c->arg[4]), .times = dl_arg_i(&c->arg[4])};
  return write_rows(c, &e, c->in[2].data, c->in[2].stride, &as_add);
}

DL_KERNEL(index_copy) {
  engine e = {.what = PUT};
  return write_rows(c, &e, c->in[2].data, c->in[2].stride, &as_copy);
}

DL_KERNEL(index_fill) {
  engine e = {.what = PUT};
  uint64_t elem = 0;
  dl_dtype d = (dl_dtype)c->out[0].dtype;
  const int64_t still[DL_MAXDIM] = {0};
  const dl_arg *a = &c->arg[3];
  if (a->tag == DL_A_FLOAT) dl_elem_set_f64(d, &elem, a->f);
  else if (dl_arg_is_num(a)) dl_elem_set_i64(d, &elem, a->i);
  else if (dl_dtype_is_float((dl_dtype)c->in[2].dtype))
    dl_elem_set_f64(d, &elem, dl_elem_get_f64((dl_dtype)c->in[2].dtype, c->in[2].data));
  else dl_elem_set_i64(d, &elem, dl_elem_get_i64((dl_dtype)c->in[2].dtype, c->in[2].data));
  return write_rows(c, &e, (const char *)&elem, still, &as_subscript);
}

/* ---- nonzero --------------------------------------------------------------------- */
DL_KERNEL(nonzero) {
  list_nonzero(&c->in[0], (int64_t *)c->out[0].data, c->in[0].ndim, 1);
  return DL_OK;
}
