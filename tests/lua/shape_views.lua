-- shape_views.lua -- views and shape ops: results, strides, errors, names in the graph
--
-- Every expected text was printed by PyTorch. A row: what is shown, how, the text or the error.
local t = require "tap"
local x, y, z = torch.arange(6.):reshape(2, 3), torch.arange(24.):reshape(2, 3, 4), torch.tensor(1.)
local g = torch.arange(6.):reshape(2, 3):requires_grad_()
local tt = torch.tensor

local rows = t.rows

-- view and reshape
rows {
  {"view shows the same data with another size", function() return x:view(3, 2) end,
   "tensor([[0., 1.],\n        [2., 3.],\n        [4., 5.]])"},
  {"-1 is filled in", function() return x:view(-1, 2).shape end, "torch.Size([3, 2])"},
  {"a view of the wrong size", function() return x:view(4, 2) end,
   "RuntimeError: shape '[4, 2]' is invalid for input of size 6"},
  {"two free sizes", function() return x:view(-1, -1) end,
   "RuntimeError: only one dimension can be inferred"},
  {"a negative size", function() return x:view(3, -2) end,
   "RuntimeError: invalid shape dimension -2 at index 1 of shape [3, -2]"},
  {"a view that would need a copy", function() return x:t():view(6) end,
   "RuntimeError: view size is not compatible with input tensor's size and stride " ..
   "(at least one dimension spans across two contiguous subspaces). Use .reshape(...) " ..
   "instead."},
  {"reshape copies when it must", function() return x:t():reshape(6) end,
   "tensor([0., 3., 1., 4., 2., 5.])"},
  {"a copied reshape is UnsafeView in the graph", function() return g:t():reshape(6) end,
   "tensor([0., 3., 1., 4., 2., 5.], grad_fn=<UnsafeViewBackward0>)"},
  {"a reshape that is a view", function() return g:reshape(6) end,
   "tensor([0., 1., 2., 3., 4., 5.], grad_fn=<ViewBackward0>)"},
  {"-1 is ambiguous for an empty tensor", function() return torch.zeros(0, 2):view(-1, 0) end,
   "RuntimeError: cannot reshape tensor of 0 elements into shape [-1, 0] because " ..
   "the unspecified dimension size -1 can be any value and is ambiguous"},
  {"flatten from dim 1", function() return y:flatten(1).shape end, "torch.Size([2, 12])"},
  {"flatten backwards", function() return y:flatten(1, 0) end,
   "RuntimeError: flatten() has invalid args: start_dim cannot come after end_dim"},
  {"unflatten", function() return x:unflatten(1, {3, 1}).shape end, "torch.Size([2, 3, 1])"},
  {"unflatten to sizes that do not fit", function() return x:unflatten(1, {2, 2}) end,
   "RuntimeError: unflatten: Provided sizes [2, 2] don't multiply up to the size " ..
   "of dim 1 (3) in the input tensor"},
  {"ravel", function() return x:ravel() end, "tensor([0., 1., 2., 3., 4., 5.])"},
}

-- the order of dimensions
rows {
  {"permute moves strides", function() return table.unpack({y:permute(2, 0, 1):stride()}) end,
   "1 | 12 | 4"},
  {"permute with too few dims", function() return x:permute(0) end,
   "RuntimeError: permute(sparse_coo): number of dimensions in the tensor input does " ..
   "not match the length of the desired ordering of dimensions i.e. input.dim() = " ..
   "2 is not equal to len(dims) = 1"},
  {"permute with a dim twice", function() return x:permute(0, 0) end,
   "RuntimeError: permute(): duplicate dims are not allowed."},
  {"transpose out of range", function() return x:transpose(0, 2) end,
   "IndexError: Dimension out of range (expected to be in range of [-2, 1], but got " ..
   "2)"},
  {"t in the graph", function() return g:t() end,
   "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]], grad_fn=<TBackward0>)"},
  {"t of three dims", function() return y:t() end,
   "RuntimeError: t() expects a tensor with <= 2 dimensions, but self is 3D"},
  {"movedim", function() return y:movedim(0, 2).shape end, "torch.Size([3, 4, 2])"},
  {"movedim with lists of different lengths", function() return y:movedim({0, 1}, {0}) end,
   "RuntimeError: movedim: Invalid source or destination dims: source ([0, 1] dims) " ..
   "should contain the same number of dims as destination ([0] dims)"},
}

-- expand, squeeze, unsqueeze
rows {
  {"expand adds dims in front", function() return x:expand(2, 2, 3).shape end,
   "torch.Size([2, 2, 3])"},
  {"expand of a size that is not 1", function() return x:expand(4, 3) end,
   "RuntimeError: The expanded size of the tensor (4) must match the existing size " ..
   "(2) at non-singleton dimension 0.  Target sizes: [4, 3].  Tensor sizes: [2, 3]"},
  {"expand to fewer dims", function() return x:expand(3) end,
   "RuntimeError: expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes " ..
   "provided (1) must be greater or equal to the number of dimensions in the tensor " ..
   "(2)"},
  {"squeeze everything", function() return torch.zeros(1, 2, 1):squeeze().shape end,
   "torch.Size([2])"},
  {"squeeze one dim", function() return torch.zeros(1, 2, 1):squeeze(0).shape end,
   "torch.Size([2, 1])"},
  {"unsqueeze at the end", function() return x:unsqueeze(-1).shape end, "torch.Size([2, 3, 1])"},
  {"unsqueeze out of range", function() return x:unsqueeze(3) end,
   "IndexError: Dimension out of range (expected to be in range of [-3, 2], but got " ..
   "3)"},
}

-- parts
rows {
  {"select the last", function() return y:select(1, -1) end,
   "tensor([[ 8.,  9., 10., 11.],\n        [20., 21., 22., 23.]])"},
  {"select out of range", function() return x:select(0, 2) end,
   "IndexError: select(): index 2 out of range for tensor of size [2, 3] at dimension " ..
   "0"},
  {"select from a number", function() return z:select(0, 0) end,
   "IndexError: select() cannot be applied to a 0-dim tensor."},
  {"narrow is a slice in the graph", function() return g:narrow(1, 1, 2) end,
   "tensor([[1., 2.],\n        [4., 5.]], grad_fn=<SliceBackward0>)"},
  {"narrow past the end", function() return x:narrow(0, 1, 2) end,
   "RuntimeError: start (1) + length (2) exceeds dimension size (2)."},
  {"narrow with a negative length", function() return x:narrow(0, 0, -1) end,
   "RuntimeError: narrow(): length must be non-negative."},
  {"a diagonal of two of three dims", function() return torch.diagonal(y, 1, 0, 2) end,
   "tensor([[ 1., 14.],\n        [ 5., 18.],\n        [ 9., 22.]])"},
  {"a diagonal of one dim", function() return torch.diagonal(x, 0, 0, 0) end,
   "RuntimeError: diagonal dimensions cannot be identical 0, 0"},
  {"unfold gives overlapping windows", function() return x:unfold(1, 2, 1) end,
   "tensor([[[0., 1.],\n         [1., 2.]],\n\n        [[3., 4.],\n         [4., " ..
   "5.]]])"},
  {"unfold wider than the dim", function() return x:unfold(1, 4, 1) end,
   "RuntimeError: maximum size for tensor at dimension 1 is 3 but size is 4"},
  {"as_strided", function() return torch.as_strided(x, {2, 2}, {1, 1}, 2) end,
   "tensor([[2., 3.],\n        [3., 4.]])"},
  {"an empty as_strided far beyond the storage", function()
    local far = torch.as_strided(x, {0, 2}, {1, 1}, 1 << 40)
    torch.as_strided(x, {0}, {1}, math.maxinteger):clone()
    return far:storage_offset()
  end, tostring(1 << 40)},
  {"as_strided beyond the storage", function() return torch.as_strided(x, {10, 2}, {1, 1}) end,
   "RuntimeError: setStorage: sizes [10, 2], strides [1, 1], storage offset 0, and " ..
   "itemsize 4 requiring a storage size of 44 are out of bounds for storage of size " ..
   "24"},
  {"split", function() return x:split(1) end, "tensor([[0., 1., 2.]]) | tensor([[3., 4., 5.]])"},
  {"split sizes that do not add up", function() return x:split({1, 2}) end,
   "RuntimeError: split_with_sizes expects split_sizes to sum exactly to 2 (input " ..
   "tensor's size at dimension 0), but got split_sizes=[1, 2]"},
  {"split into negative pieces", function() return x:split(-1) end,
   "RuntimeError: split expects split_size be non-negative, but got split_size=-1"},
  {"chunk into nothing", function() return x:chunk(0) end,
   "RuntimeError: chunk expects `chunks` to be greater than 0, got: 0"},
  {"chunk sizes",
   function() local c = torch.zeros(7):chunk(3)   return {c[1].shape, c[2].shape, c[3].shape} end,
   "torch.Size([3]) | torch.Size([3]) | torch.Size([1])"},
  {"a chunk in the graph", function() return g:chunk(2)[2] end,
   "tensor([[3., 4., 5.]], grad_fn=<SplitBackward0>)"},
  {"unbind in the graph", function() return g:unbind()[1] end,
   "tensor([0., 1., 2.], grad_fn=<UnbindBackward0>)"},
  {"unbind of a number", function() return z:unbind() end,
   "IndexError: Dimension specified as 0 but tensor has no dimensions"},
}

-- joining and repeating
rows {
  {"cat along dim 1", function() return torch.cat({x, x}, 1) end,
   "tensor([[0., 1., 2., 0., 1., 2.],\n        [3., 4., 5., 3., 4., 5.]])"},
  {"cat of unequal sizes", function() return torch.cat({x, torch.zeros(2, 4)}) end,
   "RuntimeError: Sizes of tensors must match except in dimension 0. Expected size " ..
   "3 but got size 4 for tensor number 1 in the list."},
  {"cat with a number", function() return torch.cat({x, z}) end,
   "RuntimeError: zero-dimensional tensor (at position 1) cannot be concatenated"},
  {"cat of unequal ranks", function() return torch.cat({x, torch.zeros(3)}) end,
   "RuntimeError: Tensors must have same number of dimensions: got 2 and 1"},
  {"cat promotes", function() return torch.cat({tt{1, 2}, tt{true}}) end, "tensor([1, 2, 1])"},
  {"stack", function() return torch.stack({x, x}).shape end, "torch.Size([2, 2, 3])"},
  {"stack of unequal sizes", function() return torch.stack({x, torch.zeros(2, 4)}) end,
   "RuntimeError: stack expects each tensor to be equal size, but got [2, 3] at entry " ..
   "0 and [2, 4] at entry 1"},
  {"repeat", function() return x:Repeat(2, 1, 2).shape end, "torch.Size([2, 2, 6])"},
  {"repeat in the graph", function() return g:Repeat(1, 1) end,
   "tensor([[0., 1., 2.],\n        [3., 4., 5.]], grad_fn=<RepeatBackward0>)"},
  {"repeat with too few numbers", function() return x:Repeat(2) end,
   "RuntimeError: Number of dimensions of repeat dims can not be smaller than number " ..
   "of dimensions of tensor"},
  {"tile", function() return torch.tile(x, {2}) end,
   "tensor([[0., 1., 2., 0., 1., 2.],\n        [3., 4., 5., 3., 4., 5.]])"},
  {"repeat_interleave by a number", function() return x:repeat_interleave(2, 1) end,
   "tensor([[0., 0., 1., 1., 2., 2.],\n        [3., 3., 4., 4., 5., 5.]])"},
  {"repeat_interleave by a tensor", function() return x:repeat_interleave(tt{1, 2}, 0) end,
   "tensor([[0., 1., 2.],\n        [3., 4., 5.],\n        [3., 4., 5.]])"},
  {"negative repeats", function() return x:repeat_interleave(tt{1, -2}, 0) end,
   "RuntimeError: repeats can not be negative"},
}

-- reordering and padding
rows {
  {"flip", function() return x:flip(0, 1) end, "tensor([[5., 4., 3.],\n        [2., 1., 0.]])"},
  {"flip of a dim twice", function() return x:flip(0, 0) end,
   "RuntimeError: dim 0 appears multiple times in the list of dims"},
  {"roll of the flat tensor", function() return x:roll(1) end,
   "tensor([[5., 0., 1.],\n        [2., 3., 4.]])"},
  {"roll of two dims", function() return x:roll({1, 1}, {0, 1}) end,
   "tensor([[5., 3., 4.],\n        [2., 0., 1.]])"},
  {"roll with a dim missing", function() return x:roll({1, 1}, {0}) end,
   "RuntimeError: shifts and dimensions must align. shifts: 2, dims:1"},
  {"tril below the diagonal", function() return torch.ones(3, 3):tril(-1) end,
   "tensor([[0., 0., 0.],\n        [1., 0., 0.],\n        [1., 1., 0.]])"},
  {"triu above the diagonal", function() return torch.ones(2, 3):triu(1) end,
   "tensor([[0., 1., 1.],\n        [0., 0., 1.]])"},
  {"tril of a vector", function() return torch.arange(3):tril() end,
   "RuntimeError: tril: input tensor must have at least 2 dimensions"},
  {"diag of a vector", function() return torch.arange(3):diag(1) end,
   "tensor([[0, 0, 0, 0],\n        [0, 0, 1, 0],\n        [0, 0, 0, 2],\n        " ..
   "[0, 0, 0, 0]])"},
  {"diag of three dims", function() return y:diag() end,
   "RuntimeError: diag(): Supports 1D or 2D tensors. Got 3D"},
  {"diag_embed", function() return torch.diag_embed(tt{1, 2}, -1) end,
   "tensor([[0, 0, 0],\n        [1, 0, 0],\n        [0, 2, 0]])"},
  {"a negative pad crops", function() return F.pad(x, {1, -1}, {value=7.}) end,
   "tensor([[7., 0., 1.],\n        [7., 3., 4.]])"},
  {"reflect", function() return F.pad(x, {2, 1}, "reflect") end,
   "tensor([[2., 1., 0., 1., 2., 1.],\n        [5., 4., 3., 4., 5., 4.]])"},
  {"replicate", function() return F.pad(x, {2, 1}, "replicate") end,
   "tensor([[0., 0., 0., 1., 2., 2.],\n        [3., 3., 3., 4., 5., 5.]])"},
  {"circular", function() return F.pad(x, {2, 1}, "circular") end,
   "tensor([[1., 2., 0., 1., 2., 0.],\n        [4., 5., 3., 4., 5., 3.]])"},
  {"reflect wider than the dim", function() return F.pad(x, {3, 1}, "reflect") end,
   "RuntimeError: Argument #4: Padding size should be less than the corresponding " ..
   "input dimension, but got: padding (3, 1) at dimension 1 of input [2, 3]"},
  {"an odd number of pads", function() return F.pad(x, {1}) end,
   "RuntimeError: Padding length must be divisible by 2"},
  {"reflect of a matrix in two dims", function() return F.pad(x, {1, 1, 1, 1}, "reflect") end,
   "NotImplementedError: Padding size 4 is not supported for 2D input tensor.…"},
}

t.done()
