/* pointwise_test.c -- comparison, logic, bits
 *
 * For table.c. A test's result is a byte a element; bits work on int64. */
#include "pw.h"

#define DL_FORMULAS_TEST
#define PW_GRAIN 65536
#include "pw_make.h"

/* ~true is false: a bool has one bit */
DL_KERNEL(bitwise_not) {
  return DL_K(dl_pw_run)(c, c->in[0].dtype == DL_BOOL ? &pw_logical_not : &pw_flip_bits);
}
