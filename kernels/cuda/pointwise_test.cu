/* pointwise_test.cu -- comparison, logic, bits
 *
 * For table.cu. A test's result is a byte a element; bits work on int64. */
#include "pw.h"

#define DL_FORMULAS_TEST
#include "pw_make.h"

/* ~true is false: a bool has one bit */
DL_CUDA(bitwise_not) {
  return pw_run(c, c->in[0].dtype == DL_BOOL ? &pw_logical_not : &pw_flip_bits, stream);
}
