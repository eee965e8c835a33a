-- shape_index.lua -- indexing by tensors, sorting and counting: results and errors
--
-- Every expected text was printed by PyTorch. A row: what is shown, how, the text or the error.
local t = require "tap"
local x, y, z = torch.arange(6.):reshape(2, 3), torch.arange(24.):reshape(2, 3, 4), torch.tensor(1.)
local g = torch.arange(6.):reshape(2, 3):requires_grad_()
local tt = torch.tensor

local rows = t.rows

-- gather and scatter
rows {
  {"gather", function() return torch.gather(x, 1, tt{{0, 2}, {1, 0}}) end,
   "tensor([[0., 2.],\n        [4., 3.]])"},
  {"gather out of bounds", function() return torch.gather(x, 1, tt{{0, 5}}) end,
   "RuntimeError: index 5 is out of bounds for dimension 1 with size 3"},
  {"gather with another rank", function() return torch.gather(x, 1, tt{0}) end,
   "RuntimeError: Index tensor must have the same number of dimensions as input tensor"},
  {"gather by floats", function() return torch.gather(x, 1, tt{{0.}}) end,
   "RuntimeError: gather(): Expected dtype int32/int64 for index"},
  {"scatter a tensor", function() return torch.zeros(2, 3):scatter(1, tt{{0, 1}, {1, 2}}, x) end,
   "tensor([[0., 1., 0.],\n        [0., 3., 4.]])"},
  {"scatter a number", function() return torch.zeros(2, 3):scatter(1, tt{{2}}, 1.5) end,
   "tensor([[0.0000, 0.0000, 1.5000],\n        [0.0000, 0.0000, 0.0000]])"},
  {"scatter out of bounds", function() return torch.zeros(2, 3):scatter(1, tt{{0, 5}}, 1.) end,
   "RuntimeError: index 5 is out of bounds for dimension 1 with size 3"},
  {"scatter_add adds twice",
   function() return torch.zeros(2, 3):scatter_add(1, tt{{0, 0}}, torch.ones(1, 2)) end,
   "tensor([[2., 0., 0.],\n        [0., 0., 0.]])"},
  {"scatter_add of another dtype",
   function() return torch.zeros(2, 3):scatter_add(1, tt{{0}}, torch.ones(1, 1):double()) end,
   "RuntimeError: scatter(): Expected self.dtype to be equal to src.dtype"},
}

-- one index vector
rows {
  {"index_select", function() return x:index_select(1, tt{2, 0}) end,
   "tensor([[2., 0.],\n        [5., 3.]])"},
  {"index_select out of range", function() return x:index_select(0, tt{5}) end,
   "IndexError: index out of range in self"},
  {"index_select by a matrix", function() return x:index_select(0, tt{{0}}) end,
   "IndexError: index_select(): Index is supposed to be a vector"},
  {"index_add", function() return x:index_add(0, tt{0, 0}, torch.ones(2, 3), {alpha=2}) end,
   "tensor([[4., 5., 6.],\n        [3., 4., 5.]])"},
  {"index_add out of bounds", function() return x:index_add(0, tt{5}, torch.ones(1, 3)) end,
   "RuntimeError: index 5 is out of bounds for dimension 0 with size 2"},
  {"index_add with too many indices",
   function() return x:index_add(0, tt{0, 1}, torch.ones(1, 3)) end,
   "RuntimeError: index_add_(): Number of indices (2) should be equal to source.size(dim): " ..
   "(1), for dim: 0"},
  {"index_copy", function() return x:index_copy(0, tt{1}, torch.ones(1, 3)) end,
   "tensor([[0., 1., 2.],\n        [1., 1., 1.]])"},
  {"index_copy out of bounds", function() return x:index_copy(0, tt{5}, torch.ones(1, 3)) end,
   "IndexError: index_copy_(): index 5 is out of bounds for dimension 0 with size " ..
   "2"},
  {"index_fill counts from the end", function() return x:index_fill(0, tt{-1}, 1.) end,
   "tensor([[0., 1., 2.],\n        [1., 1., 1.]])"},
  {"index_fill out of bounds", function() return x:index_fill(0, tt{5}, 1.) end,
   "IndexError: index 5 is out of bounds for dimension 0 with size 2"},
}

-- subscripts
rows {
  {"index_put", function() return x:index_put({tt{0, 1}, tt{1, 2}}, tt{7., 8.}) end,
   "tensor([[0., 7., 2.],\n        [3., 4., 8.]])"},
  {"index_put adds up", function() return x:index_put({tt{0, 0}}, tt(1.), true) end,
   "tensor([[2., 3., 4.],\n        [3., 4., 5.]])"},
  {"index_put of a value that does not fit", function() return x:index_put({tt{0}}, tt{1., 2.}) end,
   "RuntimeError: shape mismatch: value tensor of shape [2] cannot be broadcast to " ..
   "indexing result of shape [1, 3]"},
  {"index_put of another dtype", function() return x:index_put({tt{0}}, tt(1)) end,
   "RuntimeError: Index put requires the source and destination dtypes match, got " ..
   "Float for the destination and Long for the source."},
  {"indices that do not broadcast",
   function() return x:index_put({tt{0, 1, 1}, tt{1, 2}}, tt(1.)) end,
   "IndexError: shape mismatch: indexing tensors could not be broadcast together " ..
   "with shapes [3], [2]"},
  {"an index out of bounds", function() return x[tt{5}] end,
   "IndexError: index 5 is out of bounds for dimension 0 with size 2"},
  {"a mask of another shape", function() return x[tt{true, false, true}] end,
   "IndexError: The shape of the mask [3] at index 0 does not match the shape of " ..
   "the indexed tensor [2, 3] at index 0"},
  {"a float index", function() return x[tt{0.5}] end,
   "IndexError: tensors used as indices must be long, int, byte or bool tensors"},
  {"an index in the graph", function() return g[tt{1, 0}] end,
   "tensor([[3., 4., 5.],\n        [0., 1., 2.]], grad_fn=<IndexBackward0>)"},
  {"separated indices come first", function() return y[{tt{0, 1}, ":", tt{0, 1}}] end,
   "tensor([[ 0.,  4.,  8.],\n        [13., 17., 21.]])"},
}

-- masks and places
rows {
  {"masked_select", function() return x:masked_select(x:gt(2)) end, "tensor([3., 4., 5.])"},
  {"masked_select by numbers", function() return x:masked_select(tt{1, 0, 1}) end,
   "RuntimeError: masked_select: expected BoolTensor for mask"},
  {"masked_scatter", function() return x:masked_scatter(x:gt(2), tt{7., 8., 9.}) end,
   "tensor([[0., 1., 2.],\n        [7., 8., 9.]])"},
  {"masked_scatter of too little", function() return x:masked_scatter(x:gt(2), tt{7.}) end,
   "RuntimeError: Number of elements of source < number of ones in mask"},
  {"take", function() return x:take(tt{0, 5, -1}) end, "tensor([0., 5., 5.])"},
  {"take out of range", function() return x:take(tt{6}) end,
   "IndexError: out of range: tried to access index 6 on a tensor of 6 elements."},
  {"take_along_dim", function() return torch.take_along_dim(x, tt{{0}}, 1) end,
   "tensor([[0.],\n        [3.]])"},
  {"nonzero", function() return x:nonzero() end,
   "tensor([[0, 1],\n        [0, 2],\n        [1, 0],\n        [1, 1],\n        [1," ..
   " 2]])"},
  {"argwhere", function() return torch.argwhere(x:gt(3)) end, "tensor([[1, 1],\n        [1, 2]])"},
  {"one_hot", function() return F.one_hot(tt{0, 2}) end,
   "tensor([[1, 0, 0],\n        [0, 0, 1]])"},
  {"one_hot with too few classes", function() return F.one_hot(tt{0, 2}, 2) end,
   "RuntimeError: Class values must be smaller than num_classes."},
  {"one_hot of a negative class", function() return F.one_hot(tt{0, -2}) end,
   "RuntimeError: Class values must be non-negative."},
}

-- order
rows {
  {"sort puts nan last", function() return torch.sort(tt{3., 0/0, 1., 2.}) end,
   "tensor([1., 2., 3., nan]) | tensor([2, 3, 0, 1])"},
  {"equal elements keep their order",
   function() return torch.sort(tt{1, 1, 0, 0, 1}, {descending=true}) end,
   "tensor([1, 1, 1, 0, 0]) | tensor([0, 1, 4, 2, 3])"},
  {"argsort", function() return torch.argsort(x, 1, true) end,
   "tensor([[2, 1, 0],\n        [2, 1, 0]])"},
  {"topk, equal elements as in PyTorch",
   function() return torch.topk(tt{1., 3., 2., 3., 3.}, 3) end,
   "tensor([3., 3., 3.]) | tensor([1, 4, 3])"},
  {"topk of too many", function() return torch.topk(x, 4) end,
   "RuntimeError: selected index k out of range"},
  {"the lower median", function() return torch.median(x) end, "tensor(2.)"},
  {"median along a dim", function() return torch.median(tt{{1., 0/0, 3.}, {2., 2., 1.}}, 1) end,
   "tensor([nan, 2.]) | tensor([1, 0])"},
  {"kthvalue", function() return torch.kthvalue(x, 2) end, "tensor([1., 4.]) | tensor([1, 1])"},
  {"kthvalue out of range", function() return torch.kthvalue(x, 4) end,
   "RuntimeError: kthvalue(): selected number k out of range for dimension 1"},
  {"searchsorted", function() return torch.searchsorted(tt{1, 3, 5}, tt{3, 6}) end,
   "tensor([1, 3])"},
  {"searchsorted from the right",
   function() return torch.searchsorted(tt{1, 3, 5}, tt{3, 6}, {right=true}) end,
   "tensor([2, 3])"},
}

-- counting
rows {
  {"bincount", function() return torch.bincount(tt{1, 1, 3}) end, "tensor([0, 2, 0, 1])"},
  {"bincount with weights", function() return torch.bincount(tt{1, 1, 3}, tt{.5, 1., 2.}) end,
   "tensor([0.0000, 1.5000, 0.0000, 2.0000])"},
  {"bincount of a negative", function() return torch.bincount(tt{1, -1}) end,
   "RuntimeError: bincount only supports 1-d non-negative integral inputs."},
  {"histc", function() return torch.histc(x, 3) end, "tensor([2., 2., 2.])"},
  {"histc of no bins", function() return torch.histc(x, 0) end,
   "RuntimeError: torch.histogram(): bins must be > 0, but got 0 for dimension 0"},
}

t.done()
