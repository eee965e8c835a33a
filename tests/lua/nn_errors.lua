-- nn_errors.lua -- PyTorch's errors of matrix products, layers and losses; and grad_fn names
--
-- Each line of `errors` is an expression and the first line of what it raises.
local t = require "tap"

local function r(...) return torch.randn(...):requires_grad_() end

local function run(code)
  return assert(load("return " .. code, code, "t", setmetatable({ r = r }, { __index = _G })))()
end

local errors = {
  { "torch.zeros(2, 3):mm(torch.zeros(4, 5))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)" },
  { "torch.zeros(2, 3):mm(torch.zeros(3, 2, {dtype=torch.double}))",
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != double" },
  { "torch.zeros(2, 3, {dtype=torch.bool}):mm(torch.zeros(3, 2, {dtype=torch.bool}))",
    "NotImplementedError: \"addmm_impl_cpu_\" not implemented for 'Bool'" },
  { "torch.addmm(torch.zeros(3), torch.zeros(2, 3), torch.zeros(3, 2))",
    "RuntimeError: The expanded size of the tensor (2) must match the existing size (3) at " ..
    "non-singleton dimension 1.  Target sizes: [2, 2].  Tensor sizes: [3]" },
  { "torch.addmm(torch.zeros(3, 2, 2), torch.zeros(2, 3), torch.zeros(3, 2))",
    "RuntimeError: expand(torch.FloatTensor{[3, 2, 2]}, size=[2, 2]): the number of sizes " ..
    "provided (2) must be greater or equal to the number of dimensions in the tensor (3)" },
  { "torch.addmm(torch.zeros(2), torch.zeros(2, 3), torch.zeros(2, 3))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)" },
  { "torch.addmm(torch.zeros(2), torch.zeros(2, 3), torch.zeros(3))",
    "RuntimeError: mat2 must be a matrix, got 1-D tensor" },
  { "torch.addmm(torch.zeros(2), torch.zeros(2, 3, {dtype=torch.double}), torch.zeros(3, 2))",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float" },
  { "torch.addmm(torch.zeros(2, {dtype=torch.double}), torch.zeros(2, 3), torch.zeros(3, 2))",
    "RuntimeError: self and mat2 must have the same dtype, but got Double and Float" },
  { "torch.zeros(2, 3):bmm(torch.zeros(3, 2))", "RuntimeError: batch1 must be a 3D tensor" },
  { "torch.zeros(1, 2, 3):bmm(torch.zeros(3, 2))", "RuntimeError: batch2 must be a 3D tensor" },
  { "torch.zeros(2, 3, 4):bmm(torch.zeros(2, 5, 6))",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 4] " ..
    "but got: [2, 5]." },
  { "torch.zeros(2, 3, 4):bmm(torch.zeros(2, 4, 6, {dtype=torch.double}))",
    "RuntimeError: expected scalar type Float but found Double" },
  { "torch.zeros(2, 3, 4, {dtype=torch.bool}):bmm(torch.zeros(2, 4, 6, {dtype=torch.bool}))",
    "NotImplementedError: \"bmm\" not implemented for 'Bool'" },
  { "torch.zeros(2, 3):mv(torch.zeros(4))",
    "RuntimeError: size mismatch, got input (2), mat (2x3), vec (4)" },
  { "torch.zeros(3):mv(torch.zeros(4))",
    "RuntimeError: vector + matrix @ vector expected, got 1, 1, 1" },
  { "torch.zeros(2, 3):mv(torch.zeros(3, 1))",
    "RuntimeError: vector + matrix @ vector expected, got 1, 2, 2" },
  { "torch.zeros(2, 3):mv(torch.zeros(3, {dtype=torch.double}))",
    "RuntimeError: addmv input tensors must have the same dtype, but got Double, Float, " ..
    "and Double" },
  { "torch.zeros(2, 3, {dtype=torch.bool}):mv(torch.zeros(3, {dtype=torch.bool}))",
    "NotImplementedError: \"addmv_impl_cpu\" not implemented for 'Bool'" },
  { "torch.zeros(3):dot(torch.zeros(4))",
    "RuntimeError: inconsistent tensor size, expected tensor [3] and src [4] to have the " ..
    "same number of elements, but got 3 and 4 elements respectively" },
  { "torch.zeros(3, 1):dot(torch.zeros(4))",
    "RuntimeError: 1D tensors expected, but got 2D and 1D tensors" },
  { "torch.zeros(3):dot(torch.zeros(3, {dtype=torch.double}))",
    "RuntimeError: dot : expected both vectors to have same dtype, but found Float and " ..
    "Double" },
  { "torch.zeros(3, {dtype=torch.bool}):dot(torch.zeros(3, {dtype=torch.bool}))",
    "NotImplementedError: \"dot\" not implemented for 'Bool'" },
  { "torch.matmul(torch.zeros(3), torch.zeros(4))",
    "RuntimeError: inconsistent tensor size, expected tensor [3] and src [4] to have the " ..
    "same number of elements, but got 3 and 4 elements respectively" },
  { "torch.matmul(torch.zeros(2, 3), torch.zeros(4))",
    "RuntimeError: size mismatch, got input (2), mat (2x3), vec (4)" },
  { "torch.matmul(torch.zeros(4), torch.zeros(3, 2))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x4 and 3x2)" },
  { "torch.matmul(torch.zeros({}), torch.zeros(3))",
    "RuntimeError: both arguments to matmul need to be at least 1D, but they are 0D and 1D" },
  { "torch.matmul(torch.zeros(2, 3, 4), torch.zeros(5, 6))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x4 and 5x6)" },
  { "torch.matmul(torch.zeros(2, 3, 4), torch.zeros(3, 4, 5))",
    "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
    "non-singleton dimension 0" },
  { "torch.matmul(torch.zeros(2, 3, 4), torch.zeros(2, 5, 6))",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 4] " ..
    "but got: [2, 5]." },
  { "torch.matmul(torch.zeros(2, 3, 4), torch.zeros(5))",
    "RuntimeError: size mismatch, got input (6), mat (6x4), vec (5)" },
  { "torch.matmul(torch.zeros(5), torch.zeros(2, 3, 4))",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 5] " ..
    "but got: [2, 3]." },
  { "torch.matmul(torch.zeros(2, 3), torch.zeros(2, 4, 5))",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 3] " ..
    "but got: [2, 4]." },
  { "F.linear(r(2, 5), r(4, 3), r(4))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)" },
  { "F.linear(r(2, 5), r(4, 3))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x5 and 3x4)" },
  { "F.linear(r(5), r(4, 3), r(4))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1x5 and 3x4)" },
  { "F.linear(r(2, 2, 5), r(4, 3), r(4))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x4)" },
  { "F.linear(torch.zeros(2, 3, {dtype=torch.double}), r(4, 3), r(4))",
    "RuntimeError: mat1 and mat2 must have the same dtype, but got Double and Float" },
  { "F.linear(torch.zeros(2, 3, {dtype=torch.double}), r(4, 3))",
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: double != float" },
  { "F.linear(torch.zeros(2, 3), torch.zeros(3), torch.zeros({}))",
    "RuntimeError: mat2 must be a matrix, got 1-D tensor" },
  { "F.linear(torch.zeros(2, 3), torch.zeros(4, 3), torch.zeros(3))",
    "RuntimeError: The expanded size of the tensor (4) must match the existing size (3) at " ..
    "non-singleton dimension 1.  Target sizes: [2, 4].  Tensor sizes: [3]" },
  { "F.linear(torch.zeros(2, 3), torch.zeros(1, 4, 3))",
    "RuntimeError: t() expects a tensor with <= 2 dimensions, but self is 3D" },
  { "F.linear(torch.zeros({}), torch.zeros(4, 3))",
    "RuntimeError: both arguments to linear need to be at least 1D, but they are 0D and 2D" },
  { "torch.baddbmm(torch.zeros(2, 3, 4), torch.zeros(2, 3, 5), torch.zeros(2, 4, 4))",
    "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [2, 5] " ..
    "but got: [2, 4]." },
  { "torch.outer(torch.zeros(2, 2), torch.zeros(3))",
    "RuntimeError: outer: Expected 1-D argument self, but got 2-D" },
  { "torch.tensordot(torch.zeros(2, 3), torch.zeros(4, 5), {dims=1})",
    "RuntimeError: contracted dimensions need to match, but first has size 3 in dim -1 and " ..
    "second has size 4 in dim 0" },
  { "torch.tensordot(torch.zeros(2, 3), torch.zeros(3, 5), {dims={{1}, {0, 1}}})",
    "RuntimeError: both dimension lists should have same length" },
  { "torch.tensordot(torch.zeros(2, 3), torch.zeros(3, 5), {dims=-1})",
    "RuntimeError: tensordot expects dims >= 0, but got dims=-1" },
  { "torch.einsum('ij, jk', torch.zeros(2, 3), torch.zeros(4, 5))",
    "RuntimeError: einsum(): subscript j has size 4 for operand 1 which does not broadcast " ..
    "with previously seen size 3" },
  { "torch.einsum('ij, jk->ik', torch.zeros(2, 3))",
    "RuntimeError: einsum(): fewer operands were provided than specified in the equation" },
  { "torch.einsum('ij->i', torch.zeros(2, 3), torch.zeros(2))",
    "RuntimeError: einsum(): more operands were provided than specified in the equation" },
  { "torch.einsum('i1', torch.zeros(2, 3))",
    "RuntimeError: einsum(): invalid subscript given at index 1 in the equation string, " ..
    "subscripts must be in [a-zA-Z]" },
  { "torch.einsum('ij.k', torch.zeros(2, 3))",
    "RuntimeError: einsum(): found '.' for operand 0 that is not part of any ellipsis" },
  { "torch.einsum('...j..', torch.zeros(2, 3))",
    "RuntimeError: einsum(): found '.' for operand 0 for which an ellipsis was already " ..
    "found" },
  { "torch.einsum('...j...', torch.zeros(2, 3))",
    "RuntimeError: einsum(): found '.' for operand 0 for which an ellipsis was already " ..
    "found" },
  { "torch.einsum('ijk', torch.zeros(2, 3))",
    "RuntimeError: einsum(): the number of subscripts in the equation (3) does not match " ..
    "the number of dimensions (2) for operand 0 and no ellipsis was given" },
  { "torch.einsum('i', torch.zeros(2, 3))",
    "RuntimeError: einsum(): the number of subscripts in the equation (1) does not match " ..
    "the number of dimensions (2) for operand 0 and no ellipsis was given" },
  { "torch.einsum('...ijk', torch.zeros(2, 3))",
    "RuntimeError: einsum(): the number of subscripts in the equation (3) is more than the " ..
    "number of dimensions (2) for operand 0" },
  { "torch.einsum('ij->ik', torch.zeros(2, 3))",
    "RuntimeError: einsum(): output subscript k does not appear in the equation for any " ..
    "input operand" },
  { "torch.einsum('ij->ii', torch.zeros(2, 3))",
    "RuntimeError: einsum(): output subscript i appears more than once in the output" },
  { "torch.einsum('ii->i', torch.zeros(2, 3))",
    "RuntimeError: einsum(): subscript i is repeated for operand 0 but the sizes don't " ..
    "match, 3 != 2" },
  { "torch.einsum('ij->.', torch.zeros(2, 3))",
    "RuntimeError: einsum(): found '.' for output that is not part of any ellipsis (...)" },
  { "torch.einsum('ij->i.j', torch.zeros(2, 3))",
    "RuntimeError: einsum(): found '.' for output that is not part of any ellipsis (...)" },
  { "torch.einsum('ij->i->j', torch.zeros(2, 3))",
    "RuntimeError: einsum(): invalid subscript given at index 5 in the equation string, " ..
    "subscripts must be in [a-zA-Z]" },
  { "torch.einsum('i->i-', torch.zeros(2))",
    "RuntimeError: einsum(): invalid subscript given at index 4 in the equation string, " ..
    "subscripts must be in [a-zA-Z]" },
  { "torch.einsum('ij')",
    "ValueError: einsum(): must specify the equation string and at least one operand, or " ..
    "at least one operand and its subscripts list" },
  { "torch.einsum('ij, jk->ik', torch.zeros(2, 3), torch.zeros(3, 4, {dtype=torch.double}))",
    "RuntimeError: expected scalar type Float but found Double" },
  { "torch.einsum('ij, j', torch.zeros(2, 3), torch.zeros(2, 3))",
    "RuntimeError: einsum(): the number of subscripts in the equation (1) does not match " ..
    "the number of dimensions (2) for operand 1 and no ellipsis was given" },
  { "F.mse_loss(r(2, 3), torch.zeros(4))",
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at " ..
    "non-singleton dimension 1" },
  { "F.mse_loss(r(2, 3), torch.zeros(2, 3), {reduction='foo'})",
    "ValueError: foo is not a valid value for reduction" },
  { "F.mse_loss(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {dtype=torch.long}))",
    "NotImplementedError: \"mse_cpu\" not implemented for 'Long'" },
  { "F.l1_loss(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {dtype=torch.long}))",
    "NotImplementedError: mean(): could not infer output dtype. Input dtype must be either " ..
    "a floating point or complex dtype. Got: Long" },
  { "F.smooth_l1_loss(r(2, 3), torch.zeros(2, 3), {beta=-1})",
    "RuntimeError: smooth_l1_loss does not support negative values for beta." },
  { "F.huber_loss(r(2, 3), torch.zeros(2, 3), {delta=0})",
    "RuntimeError: huber_loss does not support non-positive values for delta." },
  { "F.smooth_l1_loss(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {dtype=torch.long}))",
    "NotImplementedError: \"smooth_l1_cpu\" not implemented for 'Long'" },
  { "F.huber_loss(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {dtype=torch.long}))",
    "NotImplementedError: \"huber_cpu\" not implemented for 'Long'" },
  { "F.huber_loss(torch.zeros(2), torch.zeros(3))",
    "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
    "non-singleton dimension 0" },
  { "F.smooth_l1_loss(torch.zeros(2), torch.zeros(3))",
    "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
    "non-singleton dimension 0" },
  { "F.l1_loss(torch.zeros(2), torch.zeros(3))",
    "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
    "non-singleton dimension 0" },
  { "F.binary_cross_entropy(torch.tensor({1.5}), torch.zeros(1))",
    "RuntimeError: all elements of input should be between 0 and 1" },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(2, 1))",
    "ValueError: Using a target size (torch.Size([2, 1])) that is different to the input " ..
    "size (torch.Size([2])) is deprecated. Please ensure they have the same size." },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(2, {dtype=torch.double}))",
    "RuntimeError: Found dtype Double but expected Float" },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(2, {dtype=torch.long}))",
    "RuntimeError: Found dtype Long but expected Float" },
  { "F.binary_cross_entropy(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {dtype=torch.l" ..
    "ong}))",
    "NotImplementedError: \"binary_cross_entropy\" not implemented for 'Long'" },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(2), {weight=torch.zeros(3)})",
    "RuntimeError: Attempting to broadcast a dimension of length 3 at -1! Mismatching " ..
    "argument at index 1 had torch.Size([3]); but expected shape should be broadcastable " ..
    "to [2]" },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(2), {reduction='x'})",
    "ValueError: x is not a valid value for reduction" },
  { "F.binary_cross_entropy(torch.zeros(2), torch.zeros(3), {reduction='x'})",
    "ValueError: x is not a valid value for reduction" },
  { "F.binary_cross_entropy_with_logits(r(2), torch.zeros(2, 1))",
    "ValueError: Target size (torch.Size([2, 1])) must be the same as input size " ..
    "(torch.Size([2]))" },
  { "F.binary_cross_entropy_with_logits(r(2), torch.zeros(2, {dtype=torch.long}))",
    "RuntimeError: result type Float can't be cast to the desired output type Long" },
  { "F.binary_cross_entropy_with_logits(torch.zeros(2, {dtype=torch.long}), torch.zeros(2, {d" ..
    "type=torch.long}))",
    "NotImplementedError: \"log_sigmoid_cpu\" not implemented for 'Long'" },
  { "F.binary_cross_entropy_with_logits(r(2, 3), torch.zeros(2, 3), {pos_weight=torch.zeros(2)})",
    "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at " ..
    "non-singleton dimension 1" },
  { "F.binary_cross_entropy_with_logits(r(2, 3), torch.zeros(2, 3), {weight=torch.zeros(2)})",
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (2) at " ..
    "non-singleton dimension 1" },
  { "F.binary_cross_entropy_with_logits(r(2), torch.zeros(3), {reduction='x'})",
    "ValueError: x is not a valid value for reduction" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3), {reduction='q'})",
    "ValueError: q is not a valid value for reduction" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 3}))", "IndexError: Target 3 is out of bounds." },
  { "F.nll_loss(r(2, 3), torch.tensor({0, -1}))", "IndexError: Target -1 is out of bounds." },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1, 2}))",
    "ValueError: Expected input batch_size (2) to match target batch_size (3)." },
  { "F.nll_loss(r(2, 3), torch.tensor({0., 1.}))",
    "RuntimeError: expected target dtype to be Long or Byte, but got Float" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1}, {dtype=torch.int}))",
    "RuntimeError: expected target dtype to be Long or Byte, but got Int" },
  { "F.nll_loss(r(2, 3), torch.tensor({{0}, {1}}))",
    "RuntimeError: 0D or 1D target tensor expected, multi-target not supported" },
  { "F.nll_loss(r(3), torch.tensor({1, 2}))",
    "ValueError: For 1D input, 1D target must have size 1, but got target size: 2" },
  { "F.nll_loss(torch.randn({}, {requires_grad=true}), torch.tensor(1))",
    "ValueError: Expected 1 or more dimensions (got 0)" },
  { "F.nll_loss(r(2, 3), torch.tensor(1))",
    "ValueError: Expected input batch_size (2) to match target batch_size (0)." },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1}), {weight=torch.zeros(2)})",
    "RuntimeError: weight tensor should be defined either for all 3 classes or no classes " ..
    "but got weight tensor of shape: [2]" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1}), {weight=torch.zeros(3, {dtype=torch.double})})",
    "RuntimeError: expected scalar type Float but found Double" },
  { "F.nll_loss(r(2, 3, 4), torch.tensor({{0, 1, 2}, {0, 1, 2}}))",
    "RuntimeError: Expected target size [2, 4], got [2, 3]" },
  { "F.nll_loss(r(2, 3, 4, 5), torch.zeros(2, 4, 4, {dtype=torch.long}))",
    "RuntimeError: size mismatch (got input: [2, 3, 4, 5] , target: [2, 4, 4]" },
  { "F.nll_loss(r(2, 3, 4, 5), torch.zeros(2, 4, {dtype=torch.long}))",
    "RuntimeError: only batches of spatial targets supported (3D tensors) but got targets " ..
    "of dimension: 2" },
  { "F.nll_loss(r(2, 3, 4, 5), torch.zeros(2, 4, 5))",
    "RuntimeError: expected target dtype to be Long or Byte, but got Float" },
  { "F.nll_loss(torch.zeros(2, 3, {dtype=torch.long}), torch.tensor({0, 1}))",
    "NotImplementedError: \"nll_loss_out_frame\" not implemented for 'Long'" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 2}), {label_smoothing=1.5})",
    "RuntimeError: label_smoothing must be between 0.0 and 1.0. Got: 1.5" },
  { "F.cross_entropy(r(2, 3), torch.zeros(2, 3, {dtype=torch.long}))",
    "RuntimeError: Expected floating point type for target with class probabilities, got " ..
    "Long" },
  { "F.cross_entropy(r(2, 3), torch.rand(2, 3), {ignore_index=1})",
    "RuntimeError: ignore_index is not supported for floating point target" },
  { "F.cross_entropy(r(2, 3), torch.rand(2, 3), {weight=torch.zeros(2)})",
    "RuntimeError: cross_entropy: weight tensor should be defined either for all 3 classes " ..
    "or no classes but got weight tensor of shape: [2]" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 5}))", "IndexError: Target 5 is out of bounds." },
  { "F.cross_entropy(r(2, 3), torch.tensor({0., 1.}))",
    "RuntimeError: expected target dtype to be Long or Byte, but got Float" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 1, 2}))",
    "ValueError: Expected input batch_size (2) to match target batch_size (3)." },
  { "F.cross_entropy(torch.randn({}, {requires_grad=true}), torch.tensor(1))",
    "RuntimeError: Expected floating point type for target with class probabilities, got " ..
    "Long" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 1}), {weight=torch.zeros(2)})",
    "RuntimeError: weight tensor should be defined either for all 3 classes or no classes " ..
    "but got weight tensor of shape: [2]" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 1}), {weight=torch.zeros(2), label_smoothing=.1})",
    "RuntimeError: weight tensor should be defined either for all 3 classes or no classes " ..
    "but got weight tensor of shape: [2]" },
  { "F.cross_entropy(torch.zeros(2, 3, {dtype=torch.long}), torch.tensor({0, 1}))",
    "NotImplementedError: \"log_softmax_lastdim_kernel_impl\" not implemented for 'Long'" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 1}), {reduction='bad'})",
    "ValueError: bad is not a valid value for reduction" },
  { "F.cross_entropy(r(2, 3, 4), torch.zeros(2, 5, {dtype=torch.long}))",
    "RuntimeError: Expected target size [2, 4], got [2, 5]" },
  { "F.cross_entropy(r(2, 3), torch.tensor({{0}, {1}}))",
    "RuntimeError: 0D or 1D target tensor expected, multi-target not supported" },
  { "F.conv2d(torch.zeros(1, 4, 8, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 4, 8, 8] " ..
    "to have 3 channels, but got 4 channels instead" },
  { "F.conv2d(torch.zeros(4, 8, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 4, 8, 8] " ..
    "to have 3 channels, but got 4 channels instead" },
  { "F.conv2d(torch.zeros(1, 3, 2, 2), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Calculated padded input size per channel: (2 x 2). Kernel size: (3 x " ..
    "3). Kernel size can't be greater than actual input size" },
  { "F.conv2d(torch.zeros(1, 3, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 1, 3, 8] " ..
    "to have 3 channels, but got 1 channels instead" },
  { "F.conv2d(torch.zeros(8, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input " ..
    "of size: [8, 8]" },
  { "F.conv2d(torch.zeros(1, 1, 3, 8, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input " ..
    "of size: [1, 1, 3, 8, 8]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3))",
    "RuntimeError: expected stride to be a single integer value or a list of 1 values to " ..
    "match the convolution dimensions, but got stride=[1, 1]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), torch.zeros(5))",
    "RuntimeError: Given weight of size [4, 3, 3, 3], expected bias to be 1-dimensional " ..
    "with 4 elements, but got bias of size [5] instead" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), torch.zeros(4, 1))",
    "RuntimeError: Given weight of size [4, 3, 3, 3], expected bias to be 1-dimensional " ..
    "with 4 elements, but got bias of size [4, 1] instead" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8, {dtype=torch.double}), torch.zeros(4, 3, 3, 3), torch.z" ..
    "eros(4))",
    "RuntimeError: Input type (double) and bias type (float) should be the same" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8, {dtype=torch.double}), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: expected scalar type Double but found Float" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), torch.zeros(4, {dtype=torch.d" ..
    "ouble}))",
    "RuntimeError: Input type (float) and bias type (double) should be the same" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3, {dtype=torch.double}))",
    "RuntimeError: expected scalar type Float but found Double" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8, {dtype=torch.half}), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: expected scalar type Half but found Float" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8, {dtype=torch.long}), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: expected scalar type Long but found Float" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {groups=2})",
    "RuntimeError: Given groups=2, weight of size [4, 3, 3, 3], expected input[1, 3, 8, 8] " ..
    "to have 6 channels, but got 3 channels instead" },
  { "F.conv2d(torch.zeros(1, 4, 8, 8), torch.zeros(3, 2, 3, 3), {groups=2})",
    "RuntimeError: Given groups=2, expected weight to be divisible by 2 at dimension 0, " ..
    "but got weight of size [[3, 2, 3, 3]] instead" },
  { "F.conv2d(torch.zeros(1, 4, 8, 8), torch.zeros(4, 2, 3, 3), {groups=0})",
    "RuntimeError: non-positive groups is not supported" },
  { "F.conv2d(torch.zeros(1, 4, 8, 8), torch.zeros(4, 2, 3, 3), {groups=-1})",
    "RuntimeError: non-positive groups is not supported" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {stride=0})",
    "RuntimeError: non-positive stride is not supported" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {stride=-1})",
    "RuntimeError: non-positive stride is not supported" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {padding=-1})",
    "RuntimeError: negative padding is not supported" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {dilation=0})",
    "RuntimeError: dilation should be greater than zero, but got [0, 0]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {stride={1, 2, 3}})",
    "RuntimeError: expected stride to be a single integer value or a list of 2 values to " ..
    "match the convolution dimensions, but got stride=[1, 2, 3]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {padding={1, 2, 3}})",
    "RuntimeError: expected padding to be a single integer value or a list of 2 values to " ..
    "match the convolution dimensions, but got padding=[1, 2, 3]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(0, 3, 3, 3)).shape",
    "RuntimeError: Given groups=1, expected weight to be at least 1 at dimension 0, but " ..
    "got weight of size [0, 3, 3, 3] instead" },
  { "F.conv2d(torch.zeros(1, 3, 0, 8), torch.zeros(4, 3, 3, 3), {padding=2}).shape",
    "RuntimeError: Only zero batch or zero channel inputs are supported, but got input " ..
    "shape: [1, 3, 0, 8]" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 0, 3)).shape",
    "RuntimeError: kernel size should be greater than zero, but got kernel_height: 0 " ..
    "kernel_width: 3" },
  { "F.conv2d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3, 3), {stride={}}).shape",
    "RuntimeError: expected stride to be a single integer value or a list of 2 values to " ..
    "match the convolution dimensions, but got stride=[]" },
  { "F.conv1d(torch.zeros(1, 4, 8), torch.zeros(4, 3, 3))",
    "RuntimeError: Given groups=1, weight of size [4, 3, 3], expected input[1, 4, 8] to " ..
    "have 3 channels, but got 4 channels instead" },
  { "F.conv1d(torch.zeros(8), torch.zeros(4, 3, 3))",
    "RuntimeError: Expected 2D (unbatched) or 3D (batched) input to conv1d, but got input " ..
    "of size: [8]" },
  { "F.conv1d(torch.zeros(1, 3, 2), torch.zeros(4, 3, 3))",
    "RuntimeError: Calculated padded input size per channel: (2). Kernel size: (3). Kernel " ..
    "size can't be greater than actual input size" },
  { "F.conv1d(torch.zeros(1, 3, 8, 8), torch.zeros(4, 3, 3))",
    "RuntimeError: Expected 2D (unbatched) or 3D (batched) input to conv1d, but got input " ..
    "of size: [1, 3, 8, 8]" },
  { "F.conv1d(torch.zeros(1, 3, 8), torch.zeros(4, 3, 3), {stride={1, 2}})",
    "RuntimeError: expected stride to be a single integer value or a list of 1 values to " ..
    "match the convolution dimensions, but got stride=[1, 2]" },
  { "F.conv1d(torch.zeros(1, 3, 8), torch.zeros(4, 3, 3, 3))",
    "RuntimeError: Expected 4-dimensional input for 4-dimensional weight [4, 3, 3, 3], but " ..
    "got 3-dimensional input of size [1, 3, 8] instead" },
  { "F.max_pool2d(torch.zeros(4, 4), 2)",
    "RuntimeError: non-empty 3D or 4D (batch mode) tensor expected for input" },
  { "F.max_pool2d(torch.zeros(1, 1, 1, 4, 4), 2)",
    "RuntimeError: non-empty 3D or 4D (batch mode) tensor expected for input" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 0)", "RuntimeError: stride should not be zero" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, {stride=0})",
    "RuntimeError: stride should not be zero" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, {padding=2})",
    "RuntimeError: pad should be at most half of effective kernel size, but got pad=2, " ..
    "kernel_size=2 and dilation=1" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, {padding=-1})",
    "RuntimeError: pad must be non-negative, but got pad: -1" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, {dilation=0})",
    "RuntimeError: dilation should be greater than zero, but got dilationH: 0 dilationW: 0" },
  { "F.max_pool2d(torch.zeros(1, 1, 2, 2), 3)",
    "RuntimeError: Given input size: (1x2x2). Calculated output size: (1x0x0). Output size " ..
    "is too small" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), {2, 2, 2})",
    "RuntimeError: max_pool2d: kernel_size must either be a single int, or a tuple of two " ..
    "ints" },
  { "F.max_pool2d(torch.zeros(1, 0, 4, 4), 2)",
    "RuntimeError: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size " ..
    "for input, but got:[1, 0, 4, 4]" },
  { "F.max_pool2d(torch.zeros(1, 1, 0, 4), 2)",
    "RuntimeError: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size " ..
    "for input, but got:[1, 1, 0, 4]" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4, {dtype=torch.bool}), 2)",
    "NotImplementedError: \"max_pool2d\" not implemented for 'Bool'" },
  { "F.max_pool2d(torch.zeros(1, 1, 4, 4), 2, {stride={1, 1, 1}})",
    "RuntimeError: max_pool2d: stride must either be omitted, a single int, or a tuple of " ..
    "two ints" },
  { "F.avg_pool2d(torch.zeros(4, 4), 2)",
    "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got -3)" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4), 0)", "RuntimeError: stride should not be zero" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4), 2, {padding=2})",
    "RuntimeError: pad should be at most half of effective kernel size, but got pad=2, " ..
    "kernel_size=2 and dilation=1" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4), 2, {stride=0})",
    "RuntimeError: stride should not be zero" },
  { "F.avg_pool2d(torch.zeros(1, 1, 2, 2), 3)",
    "RuntimeError: Given input size: (1x2x2). Calculated output size: (1x0x0). Output size " ..
    "is too small" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4), 2, {divisor_override=0})",
    "RuntimeError: divisor must be not zero" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4, {dtype=torch.int}), 2).dtype",
    "NotImplementedError: \"avg_pool2d\" not implemented for 'Int'" },
  { "F.avg_pool2d(torch.zeros(1, 1, 4, 4), {2, 2, 2})",
    "RuntimeError: avg_pool2d: kernel_size must either be a single int, or a tuple of two " ..
    "ints" },
  { "F.avg_pool2d(torch.zeros(1, 0, 4, 4), 2)",
    "RuntimeError: Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size " ..
    "for input, but got:[1, 0, 4, 4]" },
  { "F.adaptive_avg_pool2d(torch.zeros(4, 4), 2)",
    "RuntimeError: adaptive_avg_pool2d(): Expected 3D or 4D tensor, but got [4, 4]" },
  { "F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4), -1)",
    "RuntimeError: adaptive_avg_pool2d: elements of output_size must be greater than or " ..
    "equal to 0 but received {-1, -1}" },
  { "F.adaptive_avg_pool2d(torch.zeros(1, 1, 0, 4), 2)",
    "RuntimeError: adaptive_avg_pool2d(): Expected input to have non-zero size for " ..
    "non-batch dimensions, but input has sizes [1, 1, 0, 4] with dimension 2 being empty" },
  { "F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4, {dtype=torch.long}), 2)",
    "NotImplementedError: \"adaptive_avg_pool2d\" not implemented for 'Long'" },
  { "F.adaptive_avg_pool2d(torch.zeros(1, 1, 4, 4), {1, 2, 3})",
    "RuntimeError: adaptive_avg_pool2d: output_size must be 2" },
  { "F.batch_norm(torch.zeros(1, 3), torch.zeros(3), torch.zeros(3), {training=true})",
    "ValueError: Expected more than 1 value per channel when training, got input size " ..
    "torch.Size([1, 3])" },
  { "F.batch_norm(torch.zeros(1, 3, 1, 1), torch.zeros(3), torch.zeros(3), {training=true})",
    "ValueError: Expected more than 1 value per channel when training, got input size " ..
    "torch.Size([1, 3, 1, 1])" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(4), torch.zeros(3)+1)",
    "RuntimeError: running_mean should contain 3 elements not 4" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3), torch.zeros(4)+1)",
    "RuntimeError: running_var should contain 3 elements not 4" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3), torch.zeros(3)+1, torch.zeros(4))",
    "RuntimeError: weight should contain 3 elements not 4" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3), torch.zeros(3)+1, torch.zeros(3), torch." ..
    "zeros(4))",
    "RuntimeError: bias should contain 3 elements not 4" },
  { "F.batch_norm(torch.zeros(2, 3), None, None)",
    "RuntimeError: running_mean must be defined in evaluation mode" },
  { "F.batch_norm(torch.zeros(3), torch.zeros(3), torch.zeros(3)+1)",
    "RuntimeError: running_mean should contain 0 elements not 3" },
  { "F.batch_norm(torch.zeros({}), torch.zeros(3), torch.zeros(3)+1)",
    "RuntimeError: running_mean should contain 0 elements not 3" },
  { "F.batch_norm(torch.zeros(2, 3, {dtype=torch.long}), torch.zeros(3), torch.zeros(3)+1)",
    "NotImplementedError: \"batch_norm\" not implemented for 'Long'" },
  { "F.batch_norm(torch.zeros(2, 3, {dtype=torch.double}), torch.zeros(3), torch.zeros(3)+1)",
    "RuntimeError: mixed dtype (CPU): all inputs must share same datatype." },
  { "F.batch_norm(torch.zeros(2, 3, {dtype=torch.half}), torch.zeros(3), torch.zeros(3)+1, to" ..
    "rch.zeros(3, {dtype=torch.half}), torch.zeros(3, {dtype=torch.half})).dtype",
    "RuntimeError: expected scalar type Half but found Float" },
  { "F.batch_norm(torch.zeros(2, 3, {dtype=torch.bfloat16}), torch.zeros(3, {dtype=torch.doub" ..
    "le}), torch.zeros(3, {dtype=torch.double})+1).dtype",
    "RuntimeError: mixed dtype (CPU): expect parameter to have scalar type of Float" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3, {dtype=torch.double}), torch.zeros(3, {dt" ..
    "ype=torch.double})+1)",
    "RuntimeError: mixed dtype (CPU): expect parameter to have scalar type of Float" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3), None)",
    "RuntimeError: running_var must be defined in evaluation mode" },
  { "F.batch_norm(torch.zeros(2, 3), torch.zeros(3), None, {training=true})",
    "ValueError: running_mean and running_var must either both be None or neither be None" },
  { "F.scaled_dot_product_attention(torch.zeros(8), torch.zeros(5, 8), torch.zeros(5, 8))",
    "RuntimeError: Expected query, key, and value to all be  at least 2 dimensional, but " ..
    "got query.dim: 1 key.dim: 2 and value.dim: 2 instead." },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 7), torch.zeros(5, 8))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 7x5)" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(6, 8))",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x5 and 6x8)" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8), " ..
    "{attn_mask=torch.zeros(4, 5), is_causal=true})",
    "RuntimeError: _scaled_dot_product_attention: Explicit attn_mask should not be set " ..
    "when is_causal=True" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8), " ..
    "{attn_mask=torch.zeros(4, 5, {dtype=torch.long})})",
    "RuntimeError: Expected attn_mask dtype to be bool or float or to match query dtype, " ..
    "but got attn_mask.dtype: long int and  query.dtype: float instead." },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8), " ..
    "{attn_mask=torch.zeros(3, 5)})",
    "RuntimeError: The size of tensor a (4) must match the size of tensor b (3) at " ..
    "non-singleton dimension 0" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8, {" ..
    "dtype=torch.double}))",
    "RuntimeError: Expected query, key, and value to have the same dtype, but got " ..
    "query.dtype: float key.dtype: float and value.dtype: double instead." },
  { "F.scaled_dot_product_attention(torch.zeros(2, 6, 4, 8), torch.zeros(2, 2, 5, 8), torch.z" ..
    "eros(2, 2, 5, 8))",
    "RuntimeError: The size of tensor a (6) must match the size of tensor b (2) at " ..
    "non-singleton dimension 1" },
  { "F.scaled_dot_product_attention(torch.zeros(2, 5, 4, 8), torch.zeros(2, 2, 5, 8), torch.z" ..
    "eros(2, 2, 5, 8), {enable_gqa=true}).shape",
    "RuntimeError: Number of heads in key and value must divide the number of heads in " ..
    "query" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8), " ..
    "{dropout_p=1.5})",
    "RuntimeError: dropout probability has to be between 0 and 1, but got 1.5" },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8), torch.zeros(5, 8), torch.zeros(5, 8), " ..
    "{attn_mask=torch.zeros(4, 5, {dtype=torch.double})})",
    "RuntimeError: Expected attn_mask dtype to be bool or float or to match query dtype, " ..
    "but got attn_mask.dtype: double and  query.dtype: float instead." },
  { "F.scaled_dot_product_attention(torch.zeros(4, 8, {dtype=torch.long}), torch.zeros(5, 8, " ..
    "{dtype=torch.long}), torch.zeros(5, 8, {dtype=torch.long}))",
    "RuntimeError: expected m1 and m2 to have the same dtype, but got: float != long int" },
  { "F.embedding(torch.tensor({0, 3}), r(3, 2))", "IndexError: index out of range in self" },
  { "F.embedding(torch.tensor({0, -1}), r(3, 2))", "IndexError: index out of range in self" },
  { "F.embedding(torch.tensor({0., 1.}), r(3, 2))",
    "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following " ..
    "scalar types: Long, Int; but got torch.FloatTensor instead (while checking arguments " ..
    "for embedding)" },
  { "F.embedding(torch.tensor({0, 1}, {dtype=torch.uint8}), r(3, 2))",
    "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following " ..
    "scalar types: Long, Int; but got torch.ByteTensor instead (while checking arguments " ..
    "for embedding)" },
  { "F.embedding(torch.tensor({0, 1}, {dtype=torch.int16}), r(3, 2))",
    "RuntimeError: Expected tensor for argument #1 'indices' to have one of the following " ..
    "scalar types: Long, Int; but got torch.ShortTensor instead (while checking arguments " ..
    "for embedding)" },
  { "F.embedding(torch.tensor({0, 1}), r(3))", "RuntimeError: 'weight' must be 2-D" },
  { "F.embedding(torch.tensor({0, 1}), r(3, 2, 2)).shape", "RuntimeError: 'weight' must be 2-D" },
  { "F.embedding(torch.tensor({0, 1}), r(3, 2), {padding_idx=3})",
    "AssertionError: Padding_idx must be within num_embeddings" },
  { "F.embedding(torch.tensor({0, 1}), r(3, 2), {padding_idx=-4})",
    "AssertionError: Padding_idx must be within num_embeddings" },
}
for _, case in ipairs(errors) do
  t.raises(function() return run(case[1]) end, case[2], case[1])
end

local names = {
  { "torch.matmul(r(2, 3), r(3, 4))", "MmBackward0" },
  { "torch.matmul(r(2, 3), r(3))", "MvBackward0" },
  { "torch.matmul(r(3), r(3))", "DotBackward0" },
  { "torch.matmul(r(5, 2, 3), r(3, 4))", "UnsafeViewBackward0" },
  { "torch.matmul(r(5, 2, 3), r(3))", "UnsafeViewBackward0" },
  { "torch.matmul(r(3), r(5, 3, 2))", "UnsafeViewBackward0" },
  { "torch.matmul(r(2, 3), r(5, 3, 2))", "CloneBackward0" },
  { "torch.matmul(r(5, 2, 3), r(5, 3, 2))", "UnsafeViewBackward0" },
  { "torch.matmul(r(5, 1, 2, 3), r(4, 3, 2))", "UnsafeViewBackward0" },
  { "torch.matmul(torch.zeros(2, 3), r(5, 3, 2))", "UnsafeViewBackward0" },
  { "F.linear(r(2, 3), r(4, 3), r(4))", "AddmmBackward0" },
  { "F.linear(r(2, 3), r(4, 3))", "MmBackward0" },
  { "F.linear(r(5, 2, 3), r(4, 3), r(4))", "UnsafeViewBackward0" },
  { "F.linear(r(5, 2, 3), r(4, 3))", "UnsafeViewBackward0" },
  { "F.linear(r(3), r(4, 3), r(4))", "UnsafeViewBackward0" },
  { "F.linear(r(6, 5, 2, 3), r(4, 3), r(4))", "UnsafeViewBackward0" },
  { "F.linear(r(2, 5, 3):transpose(0, 1), r(4, 3), r(4))", "AddBackward0" },
  { "torch.baddbmm(r(2, 3, 4), r(2, 3, 5), r(2, 5, 4))", "BaddbmmBackward0" },
  { "torch.addmv(r(2), r(2, 3), r(3))", "AddmvBackward0" },
  { "torch.outer(r(2), r(3))", "MulBackward0" },
  { "torch.tensordot(r(2, 3), r(3, 5), {dims=1})", "ViewBackward0" },
  { "torch.tensordot(r(2, 3), r(2, 3), {dims=2})", "ViewBackward0" },
  { "torch.einsum('ij, jk->ik', r(2, 3), r(3, 4))", "ViewBackward0" },
  { "torch.einsum('ii->i', r(3, 3))", "PermuteBackward0" },
  { "torch.einsum('ii', r(3, 3))", "SumBackward1" },
  { "torch.einsum('...ij, ...jk->...ik', r(5, 2, 3), r(3, 4))", "ViewBackward0" },
  { "torch.einsum('ij', r(2, 3))", "PermuteBackward0" },
  { "torch.einsum('ji', r(2, 3))", "PermuteBackward0" },
  { "torch.einsum('i...->...', r(2, 3))", "SumBackward1" },
  { "torch.einsum('ij, ij->ij', r(2, 3), r(2, 3))", "MulBackward0" },
  { "torch.einsum('i, j->ij', r(2), r(3))", "MulBackward0" },
  { "torch.einsum('ij, kj->ik', r(1, 3), r(2, 1))", "ViewBackward0" },
  { "torch.einsum('bi, ijk, bk->bj', r(2, 3), r(3, 4, 5), r(2, 5))", "ViewBackward0" },
  { "torch.einsum('Ab, bA', r(2, 3), r(3, 2))", "ViewBackward0" },
  { "F.mse_loss(r(2, 3), torch.zeros(2, 3))", "MseLossBackward0" },
  { "F.mse_loss(r(2, 3), torch.zeros(2, 3), {reduction='none'})", "MseLossBackward0" },
  { "F.mse_loss(r(2, 3), torch.zeros(2, 3), {reduction='sum'})", "MseLossBackward0" },
  { "F.mse_loss(r(2, 3), torch.zeros(3))", "MseLossBackward0" },
  { "F.mse_loss(r(2), torch.zeros(2, 1))", "MseLossBackward0" },
  { "F.mse_loss(r(2), torch.zeros(2, {dtype=torch.long}))", "MseLossBackward0" },
  { "F.mse_loss(r(0), torch.zeros(0))", "MseLossBackward0" },
  { "F.l1_loss(r(2, 3), torch.zeros(2, 3))", "MeanBackward0" },
  { "F.l1_loss(r(2, 3), torch.zeros(2, 3), {reduction='none'})", "AbsBackward0" },
  { "F.smooth_l1_loss(r(2, 3), torch.zeros(2, 3))", "SmoothL1LossBackward0" },
  { "F.smooth_l1_loss(r(2, 3), torch.zeros(2, 3), {beta=0})", "MeanBackward0" },
  { "F.huber_loss(r(2, 3), torch.zeros(2, 3))", "HuberLossBackward0" },
  { "F.binary_cross_entropy(torch.rand(2, {requires_grad=true}), torch.zeros(2))",
    "BinaryCrossEntropyBackward0" },
  { "F.binary_cross_entropy_with_logits(r(2), torch.zeros(2))",
    "BinaryCrossEntropyWithLogitsBackward0" },
  { "F.binary_cross_entropy_with_logits(r(2), torch.zeros(2), {reduction='none'})",
    "BinaryCrossEntropyWithLogitsBackward0" },
  { "F.binary_cross_entropy_with_logits(r(2, 3), torch.zeros(2, 3), {pos_weight=torch.zeros(3" ..
    ")+2, weight=torch.zeros(3)+1})",
    "BinaryCrossEntropyWithLogitsBackward0" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3))", "MeanBackward0" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3), {reduction='batchmean'})", "DivBackward0" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3), {reduction='sum'})", "SumBackward0" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3), {reduction='none'})", "SubBackward0" },
  { "F.kl_div(r(2, 3), torch.rand(2, 3), {reduction='none', log_target=true})", "MulBackward0" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 2}))", "NllLossBackward0" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1}, {dtype=torch.uint8}))", "NllLossBackward0" },
  { "F.nll_loss(r(3), torch.tensor(1))", "NllLossBackward0" },
  { "F.nll_loss(r(3), torch.tensor({1}))", "NllLossBackward0" },
  { "F.nll_loss(r(2, 3), torch.tensor({-100, -100}))", "NllLossBackward0" },
  { "F.nll_loss(r(2, 3), torch.tensor({-100, -100}), {reduction='sum'})", "NllLossBackward0" },
  { "F.nll_loss(r(2, 3, 4), torch.tensor({{0, 1, 2, 0}, {0, 1, 2, 0}}))", "NllLoss2DBackward0" },
  { "F.nll_loss(r(2, 3, 4), torch.tensor({{0, 1, 2, 0}, {0, 1, 2, 0}}), {reduction='none'})",
    "ViewBackward0" },
  { "F.nll_loss(r(2, 3, 4, 5), torch.zeros(2, 4, 5, {dtype=torch.long}))", "NllLoss2DBackward0" },
  { "F.nll_loss(r(2, 3), torch.tensor({0, 1}), {reduction='none'})", "NllLossBackward0" },
  { "F.nll_loss(r(2, 3, 4, 5, 2), torch.zeros(2, 4, 5, 2, {dtype=torch.long}))",
    "NllLoss2DBackward0" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 2}))", "NllLossBackward0" },
  { "F.cross_entropy(r(3), torch.tensor(1))", "NllLossBackward0" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 2}), {label_smoothing=.1})", "AddBackward0" },
  { "F.cross_entropy(r(2, 3), torch.tensor({0, 2}), {label_smoothing=.1, reduction='sum'})",
    "AddBackward0" },
  { "F.cross_entropy(r(2, 3), torch.rand(2, 3), {reduction='sum'})", "NegBackward0" },
  { "F.cross_entropy(r(2, 3), torch.rand(2, 3), {reduction='none'})", "NegBackward0" },
  { "F.cross_entropy(r(2, 3, 4), torch.zeros(2, 4, {dtype=torch.long}))", "NllLoss2DBackward0" },
  { "F.conv2d(r(1, 3, 8, 8), r(4, 3, 3, 3), r(4))", "ConvolutionBackward0" },
  { "F.conv2d(r(3, 8, 8), r(4, 3, 3, 3), r(4))", "SqueezeBackward1" },
  { "F.conv1d(r(1, 3, 8), r(4, 3, 3), r(4))", "ConvolutionBackward0" },
  { "F.conv1d(r(3, 8), r(4, 3, 3), r(4))", "SqueezeBackward1" },
  { "F.max_pool2d(r(1, 1, 4, 4), 2)", "MaxPool2DWithIndicesBackward0" },
  { "F.max_pool2d(r(1, 1, 4, 4), 2, {return_indices=true})", "MaxPool2DWithIndicesBackward0" },
  { "F.avg_pool2d(r(1, 1, 4, 4), 2)", "AvgPool2DBackward0" },
  { "F.adaptive_avg_pool2d(r(1, 1, 4, 4), 2)", "AdaptiveAvgPool2DBackward0" },
  { "F.adaptive_avg_pool2d(r(1, 1, 4, 4), 1)", "MeanBackward1" },
  { "F.batch_norm(r(2, 3), torch.zeros(3), torch.zeros(3)+1)", "NativeBatchNormBackward0" },
  { "F.batch_norm(r(2, 3), torch.zeros(3), torch.zeros(3)+1, {training=true})",
    "NativeBatchNormBackward0" },
  { "F.batch_norm(r(2, 3, 4, 5), torch.zeros(3), torch.zeros(3)+1, {training=true})",
    "NativeBatchNormBackward0" },
  { "F.embedding(torch.tensor({0, 1}), r(3, 2))", "EmbeddingBackward0" },
  { "F.embedding(torch.tensor({0, 1}, {dtype=torch.int}), r(3, 2))", "EmbeddingBackward0" },
  { "F.embedding(torch.tensor({0, 1}), r(3, 2), {max_norm=1.})", "EmbeddingBackward0" },
}
for _, case in ipairs(names) do
  t.like(tostring(run(case[1]).grad_fn), case[2], case[1] .. " has " .. case[2])
end

t.done()
