/* comp_einsum.c -- torch.einsum: sums of products named by index letters
 *
 * Each operand is brought to one layout: the output's letters, then the summed ones, absent
 * letters of size 1. Operands are then contracted from left to right; a letter is summed as soon
 * as no later operand has it. A contraction of two is one batched product.
 *
 * SOURCE ATen/native/Linear.cpp (einsum, sumproduct_pair): checks, texts, order. */
#include "op/op.h"

#include <string.h>

#define LETTERS 52 /* A-Z, a-z; a '.' is one dim of the ellipsis */
#define MAX_OPERANDS 32

/* label DOTS: "..." */
typedef struct term { signed char label[DL_MAXDIM + 4]; int n; bool dots; } term;
enum { DOTS = LETTERS };

typedef struct equation {
  term in[MAX_OPERANDS], out;
  bool has_out;
  int nin;
  int dims[LETTERS + 1];      /* dims a label stands for: 1, or the widest ellipsis */
  int at[LETTERS + 1];        /* place of the label in the common layout, -1 = absent */
  int count[LETTERS + 1];     /* in how many operands (with repeats) it occurs */
  int nout, ntotal;           /* dims of the output, of the common layout */
} equation;

static dl_status bad(const char *text) {
  return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "einsum(): %s", text);
}

static int label_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

static char letter(int label) { return (char)(label < 26 ? 'A' + label : 'a' + label - 26); }

/* ---- reading ------------------------------------------------------------------------------- */
static dl_status dots(const char *s, size_t *i, int operand, term *t) {
  if (t->dots && operand >= 0)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "einsum(): found '.' for operand %d for which an ellipsis was already found",
                   operand);
  if (s[*i + 1] != '.' || s[*i + 2] != '.' || t->dots) {
    if (operand < 0) return bad("found '.' for output that is not part of any ellipsis (...)");
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                   "einsum(): found '.' for operand %d that is not part of any ellipsis", operand);
  }
  *i += 2;
  t->dots = true;
  t->label[t->n++] = DOTS;
  return DL_OK;
}

static dl_status subscript(const char *s, size_t i, term *t) {
  int l = label_of(s[i]);
  if (l < 0)
    return dl_fail(
        DL_RuntimeError, DL_E_ARGUMENT,
        "einsum(): invalid subscript given at index %zu in the equation string, subscripts must "
        "be in [a-zA-Z]",
        i);
  if (t->n > DL_MAXDIM)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "einsum(): more than %d dimensions", DL_MAXDIM);
  t->label[t->n++] = (signed char)l;
  return DL_OK;
}

static dl_status parse(const char *s, int noperands, equation *q) {
  term *t = &q->in[0];
  for (size_t i = 0; s[i]; i++) {
    if (s[i] == ' ') continue;
    if (s[i] == '-' && s[i + 1] == '>' && !q->has_out) {
      q->has_out = true, t = &q->out, i++;
    } else if (s[i] == ',' && !q->has_out) {
      if (++q->nin >= noperands)
        return bad("fewer operands were provided than specified in the equation");
      t = &q->in[q->nin];
    } else if (s[i] == '.') {
      DL_TRY(dots(s, &i, q->has_out ? -1 : q->nin, t));
    } else {
      DL_TRY(subscript(s, i, t));
    }
  }
  q->nin++;
  if (q->nin < noperands) return bad("more operands were provided than specified in the equation");
  return DL_OK;
}

/* Every operand's letters against its dims; counts how often each letter occurs. */
static dl_status match(equation *q, dl_tensor *const *t) {
  for (int k = 0; k < q->nin; k++) {
    const term *m = &q->in[k];
    int letters = m->n - m->dots;
    if (m->dots ? letters > t[k]->ndim : letters != t[k]->ndim)
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          m->dots ? "einsum(): the number of subscripts in the equation (%d) is more than the "
                    "number of dimensions (%d) for operand %d"
                  : "einsum(): the number of subscripts in the equation (%d) does not match the "
                    "number of dimensions (%d) for operand %d and no ellipsis was given",
          letters, t[k]->ndim, k);
    for (int i = 0; i < m->n; i++) q->count[m->label[i]]++;
    if (m->dots && t[k]->ndim - letters > q->dims[DOTS]) q->dims[DOTS] = t[k]->ndim - letters;
  }
  for (int l = 0; l < LETTERS; l++) q->dims[l] = 1;
  return DL_OK;
}

static void place(equation *q, int label) {
  q->at[label] = q->ntotal;
  q->ntotal += q->dims[label];
}

/* The common layout: output first. Without "->": the ellipsis, then letters that occur once. */
static dl_status lay_out(equation *q) {
  for (int l = 0; l <= DOTS; l++) q->at[l] = -1;
  if (!q->has_out && q->count[DOTS]) place(q, DOTS);
  for (int l = 0; l < LETTERS && !q->has_out; l++)
    if (q->count[l] == 1) place(q, l);
  for (int i = 0; i < q->out.n && q->has_out; i++) {
    int l = q->out.label[i];
    if (l != DOTS && q->at[l] >= 0)
      return dl_fail(DL_RuntimeError, DL_E_ARGUMENT,
                     "einsum(): output subscript %c appears more than once in the output",
                     letter(l));
    if (l != DOTS && !q->count[l])
      return dl_fail(
          DL_RuntimeError, DL_E_ARGUMENT,
          "einsum(): output subscript %c does not appear in the equation for any input operand",
          letter(l));
    place(q, l);
  }
  q->nout = q->ntotal;
  if (q->count[DOTS] && q->at[DOTS] < 0) place(q, DOTS);
  for (int l = 0; l < LETTERS; l++)
    if (q->count[l] && q->at[l] < 0) place(q, l);
  if (q->ntotal > DL_MAXDIM)
    return dl_fail(DL_RuntimeError, DL_E_SHAPE, "einsum(): more than %d dimensions in all",
                   DL_MAXDIM);
  return DL_OK;
}

/* ---- operands in the common layout --------------------------------------------------------- */
/* A repeated letter: its diagonal, appended as the last dim; `label` follows the dims. */
static dl_tensor *diagonal(dl_ex *e, dl_tensor *t, int *label, int k) {
  for (int a = 0; t && a < t->ndim; a++)
    for (int b = a + 1; t && b < t->ndim; b++) {
      if (label[a] != label[b] || label[a] < 0) continue;
      if (t->size[a] != t->size[b]) {
        e->st = dl_fail(
            DL_RuntimeError, DL_E_SHAPE,
            "einsum(): subscript %c is repeated for operand %d but the sizes don't match, %lld != "
            "%lld",
            letter(label[a]), k, (long long)t->size[b], (long long)t->size[a]);
        return NULL;
      }
      int l = label[a], n = t->ndim;
      t = EX(e, diagonal, T(t), I(0), I(a), I(b));
      memmove(label + b, label + b + 1, (size_t)(n - b - 1) * sizeof *label);
      memmove(label + a, label + a + 1, (size_t)(n - a - 2) * sizeof *label);
      label[n - 2] = l;
      return diagonal(e, t, label, k);
    }
  return t;
}

/* labels of t's dims: a letter, or -1 - j for the j-th dim of the ellipsis counted from its end */
static int label_dims(const term *m, const dl_tensor *t, int *label) {
  int n = 0, wide = t->ndim - (m->n - m->dots);
  for (int i = 0; i < m->n; i++) {
    if (m->label[i] != DOTS) label[n++] = m->label[i];
    else for (int j = wide - 1; j >= 0; j--) label[n++] = -1 - j;
  }
  return n;
}

static dl_tensor *align(dl_ex *e, const equation *q, dl_tensor *t, int k) {
  int label[DL_MAXDIM];
  int64_t order[DL_MAXDIM];
  label_dims(&q->in[k], t, label);
  t = diagonal(e, t, label, k);
  if (!t) return NULL;
  int from[DL_MAXDIM], n = 0;
  for (int d = 0; d < q->ntotal; d++) from[d] = -1;
  for (int d = 0; d < t->ndim; d++) {
    int to = label[d] >= 0 ? q->at[label[d]] : q->at[DOTS] + q->dims[DOTS] + label[d];
    from[to] = d;
  }
  for (int d = 0; d < q->ntotal; d++)
    if (from[d] >= 0) order[n++] = from[d];
  t = EX(e, permute, T(t), L(order, n));
  for (int d = 0; d < q->ntotal && t; d++)
    if (from[d] < 0) t = EX(e, unsqueeze, T(t), I(d));
  return t;
}

/* Sizes must agree or be 1. */
static dl_status broadcastable(const equation *q, dl_tensor *const *t) {
  int64_t size[DL_MAXDIM];
  for (int d = 0; d < q->ntotal; d++) {
    size[d] = 1;
    for (int k = 0; k < q->nin; k++) {
      int64_t s = t[k]->size[d];
      if (size[d] == 1) size[d] = s;
      if (s == 1 || s == size[d]) continue;
      int l = 0;
      while (l < LETTERS && q->at[l] != d) l++;
      if (l == LETTERS)
        return dl_fail(
            DL_RuntimeError, DL_E_SHAPE,
            "einsum(): dimension %d covered by ellipsis in operand %d has size %lld which does not "
            "broadcast with previously seen size %lld",
            d - q->at[DOTS], k, (long long)s, (long long)size[d]);
      return dl_fail(
          DL_RuntimeError, DL_E_SHAPE,
          "einsum(): subscript %c has size %lld for operand %d which does not broadcast with "
          "previously seen size %lld",
          letter(l), (long long)s, k, (long long)size[d]);
    }
  }
  return DL_OK;
}

/* ---- contraction --------------------------------------------------------------------------- */
/* Kinds of dim in a product of two: in both and kept, left only, right only, summed. */
enum { BOTH, LEFT, RIGHT, SUMMED, KINDS };
typedef struct split {
  int64_t order[DL_MAXDIM], product[KINDS];
  int n[KINDS], list[KINDS][DL_MAXDIM];
} split;

static void sort_dims(const dl_tensor *a, const dl_tensor *b, uint32_t sum, split *s) {
  memset(s, 0, sizeof *s);
  for (int k = 0; k < KINDS; k++) s->product[k] = 1;
  for (int d = 0; d < a->ndim; d++) {
    int k = sum & (1u << d)                      ? SUMMED
            : a->size[d] != 1 && b->size[d] != 1 ? BOTH
            : b->size[d] == 1                    ? LEFT
                                                 : RIGHT;
    s->list[k][s->n[k]++] = d;
    s->product[k] *= a->size[d] > b->size[d] ? a->size[d] : b->size[d] == 0 ? 0 : b->size[d];
    if (a->size[d] == 0 || b->size[d] == 0) s->product[k] = 0;
  }
}

/* t as (both, own, summed) or (both, summed, own) */
static dl_tensor *matrix(dl_ex *e, dl_tensor *t, const split *s, int own, bool own_first) {
  int kinds[KINDS] = {BOTH, own_first ? own : SUMMED, own_first ? SUMMED : own,
                      own == LEFT ? RIGHT : LEFT};
  int64_t order[DL_MAXDIM],
      size[3] = {s->product[BOTH], s->product[kinds[1]], s->product[kinds[2]]};
  int n = 0;
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < s->n[kinds[k]]; i++) order[n++] = s->list[kinds[k]][i];
  return EX(e, reshape, T(EX(e, permute, T(t), L(order, n))), L(size, 3));
}

/* Sum over `sum` of a * b; the summed dims stay, of size 1. */
static dl_tensor *contract(dl_ex *e, dl_tensor *a, dl_tensor *b, uint32_t sum) {
  int64_t one[DL_MAXDIM], size[DL_MAXDIM], back[DL_MAXDIM];
  int ones = 0, n = 0;
  for (int d = 0; d < a->ndim; d++) /* summed in one operand alone: at once */
    if ((sum & (1u << d)) && (a->size[d] == 1) != (b->size[d] == 1)) one[ones++] = d;
  for (int i = 0; i < ones && a && b; i++) {
    bool left = a->size[one[i]] != 1;
    dl_tensor *t = EX(e, sum_dim, T(left ? a : b), L(&one[i], 1), B(true));
    if (left) a = t;
    else b = t;
  }
  if (!a || !b) return NULL;
  if (!sum) return EX(e, mul, T(a), T(b));
  split s;
  sort_dims(a, b, sum, &s);
  dl_tensor *y = EX(e, bmm, T(matrix(e, a, &s, LEFT, true)), T(matrix(e, b, &s, RIGHT, false)));
  for (int k = 0; k < KINDS; k++)
    for (int i = 0; i < s.n[k]; i++, n++) {
      int d = s.list[k][i];
      back[d] = n;
      size[n] = k == SUMMED ? 1 : a->size[d] == 1 ? b->size[d] : a->size[d];
    }
  return EX(e, permute, T(EX(e, view, T(y), L(size, n))), L(back, n));
}

/* Dims beyond the output that no operand from k on has. */
static uint32_t finished(const equation *q, dl_tensor *const *t, int k, uint32_t done) {
  uint32_t mask = 0;
  for (int d = q->nout; d < q->ntotal; d++) {
    bool later = false;
    for (int i = k; i < q->nin; i++) later = later || t[i]->size[d] != 1;
    if (!later && !(done & (1u << d))) mask |= 1u << d;
  }
  return mask;
}

static dl_tensor *contract_all(dl_ex *e, const equation *q, dl_tensor *const *t) {
  int64_t dims[DL_MAXDIM];
  dl_tensor *y = t[0];
  uint32_t done = 0;
  for (int k = 1; k < q->nin && y; k++) {
    uint32_t sum = finished(q, t, k + 1, done);
    y = contract(e, y, t[k], sum);
    done |= sum;
  }
  if (!y) return NULL;
  if (q->ntotal == q->nout) return y;
  if (q->nin > 1) return EX(e, reshape, T(y), L(y->size, q->nout));
  int n = 0;
  for (int d = q->nout; d < q->ntotal; d++) dims[n++] = d;
  return EX(e, sum_dim, T(y), L(dims, n));
}

/* arg: equation, operands */
dl_status dl_comp_einsum(dl_ex *e, const dl_arg *arg, dl_tensor **out) {
  int n = arg[1].n;
  dl_tensor *t[MAX_OPERANDS];
  equation q = {.nin = 0};
  if (n == 0) return bad("must provide at least one operand");
  if (n > MAX_OPERANDS)
    return dl_fail(DL_RuntimeError, DL_E_ARGUMENT, "einsum(): at most %d operands", MAX_OPERANDS);
  DL_TRY(parse(arg[0].s, n, &q));
  DL_TRY(match(&q, arg[1].ts));
  DL_TRY(lay_out(&q));
  for (int k = 0; k < n; k++) {
    t[k] = align(e, &q, arg[1].ts[k], k);
    if (!t[k]) return e->st;
  }
  DL_TRY(broadcastable(&q, t));
  return dl_ex_return(e, contract_all(e, &q, t), out);
}
