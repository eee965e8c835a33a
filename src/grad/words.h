/* words.h -- arithmetic for gradient rules: MUL(a, b) instead of EX(E, mul, T(a), T(b))
 *
 * For src/grad/grad_*.c. Two tensors of one shape take the short path of dl_op2. */
#ifndef DL_WORDS_H
#define DL_WORDS_H

#include "grad/rule.h"

static inline dl_tensor *words_two(dl_ex *e, dl_opid op, dl_tensor *a, dl_tensor *b) {
  dl_tensor *out = NULL;
  if (e->st != DL_OK || !a || !b) return NULL;
  e->st = dl_op2(op, a, b, &out);
  return dl_ex_keep_take(e, out);
}

static inline dl_tensor *words_num(dl_ex *e, dl_opid op, dl_tensor *a, double x) {
  return dl_ex_call(e, op, (dl_arg[]){T(a), F(x)}, 2, 0);
}

static inline dl_tensor *words_one(dl_ex *e, dl_opid op, dl_tensor *a) {
  return dl_ex_call(e, op, (dl_arg[]){T(a)}, 1, 0);
}

#define ADD(a, b) words_two(E, DL_OP_add, a, b)
#define SUB(a, b) words_two(E, DL_OP_sub, a, b)
#define MUL(a, b) words_two(E, DL_OP_mul, a, b)
#define DIV(a, b) words_two(E, DL_OP_div, a, b)
#define ADDN(a, x) words_num(E, DL_OP_add, a, x)
#define MULN(a, x) words_num(E, DL_OP_mul, a, x)
#define DIVN(a, x) words_num(E, DL_OP_div, a, x)
#define POWN(a, x) words_num(E, DL_OP_pow, a, x)
#define NEG(a) words_one(E, DL_OP_neg, a)
#define DO(op, a) words_one(E, DL_OP_##op, a) /* one operand, defaults for the rest */

#define ZEROS(k) dl_g_zeros(g, k)
#define ZERO_WHERE(t, mask) EX(E, masked_fill, T(t), T(mask), F(0))
#define KEEP_WHERE(t, mask) EX(E, where, T(mask), T(t), F(0))

#endif
