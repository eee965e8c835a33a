-- bind_index.lua -- x[…]: reading and assigning, with the texts of PyTorch
local t = require "tap"
local function arange(...) return torch.arange(torch.Size({...}):numel()):reshape(...) end
local x = arange(2, 3, 4)

t.is(tostring(x[{1, -1, -1}]), "tensor(23)", "a table is the tuple")
t.is(tostring(x["0, 1:, ::2"]), "tensor([[ 4,  6],\n        [ 8, 10]])", "Python's own index text")
t.is(tostring(x["..., -1"].shape), "torch.Size([2, 3])", "an ellipsis")
t.is(tostring(x[":, None"].shape), "torch.Size([2, 1, 3, 4])", "None adds a dimension")
t.is(tostring(x[{0, "1:3", None}].shape), "torch.Size([2, 1, 4])", "texts and None inside a tuple")
t.is(tostring(x[{slice(1, 2), slice(nil, nil, 2)}].shape), "torch.Size([1, 2, 4])", "slice objects")
t.is(tostring(arange(3)[{{0, 2}}]), "tensor([0, 2])", "a list inside the tuple picks elements")
t.is(tostring(arange(3)[torch.tensor {2, 0}]), "tensor([2, 0])", "an integer tensor")
t.is(tostring(x[x:gt(20)]), "tensor([21, 22, 23])", "a mask")
t.is(tostring(x[{{0, 1}, "...", {1, 2}}].shape), "torch.Size([2, 3])",
  "two index lists around a slice")
t.is(tostring(arange(2)[true].shape), "torch.Size([1, 2])", "a boolean")
t.is(tostring(arange(2)[false].shape), "torch.Size([0, 2])", "false picks nothing")
t.is(tostring(arange(3)[torch.tensor(1)]), "tensor(1)", "a 0-dim tensor is an int")
t.is(tostring(arange(3)["-2:"]), "tensor([1, 2])", "a negative start")
t.is(tostring(arange(3)[" 1 : 3 "]), "tensor([1, 2])", "blanks do not matter")
t.ok(x[0]:storage_offset() == 0 and x[1]:storage_offset() == 12, "an int gives a view")
local y = torch.zeros(3)
y["1:"]:fill_(4)
t.is(tostring(y), "tensor([0., 4., 4.])", "a slice gives a view")

local z = torch.zeros(3, 3)
z[0] = 1
z[{1, 2}] = 5
z[":, 0"] = torch.tensor {7., 8., 9.}
z[z:eq(0)] = -1
t.is(tostring(z), "tensor([[ 7.,  1.,  1.],\n        [ 8., -1.,  5.],\n        [ 9., -1., -1.]])",
  "assignment in place")
z[{{0, 2}, {0, 2}}] = torch.tensor {0.5, 0.25}
t.close(z[{0, 0}]:item() + z[{2, 2}]:item(), 0.75, "index lists assign element by element")
local l = torch.zeros(2, {dtype = torch.int64})
l[0] = 1.9
t.is(l[0]:item(), 1, "a float is cut when it goes into an integer tensor")
local g = torch.ones(3, {requires_grad = true})
local h = g * 1
h[1] = 10
h:backward(torch.ones(3))
t.is(tostring(g.grad), "tensor([1., 0., 1.])", "an assignment is part of the graph")

local m = torch.ones(2, 3)
for _, case in ipairs {
  {m, 5, "IndexError: index 5 is out of bounds for dimension 0 with size 2", "an int too large"},
  {m, {0, 7}, "IndexError: index 7 is out of bounds for dimension 1 with size 3",
    "its place in the tuple is named"},
  {m, {0, 0, 0}, "IndexError: too many indices for tensor of dimension 2", "too many"},
  {m, "::-1", "ValueError: step must be greater than zero", "a negative step"},
  {m, m, "IndexError: tensors used as indices must be long, int, byte or bool tensors",
    "a float tensor"},
  {m, torch.tensor {true, false, true},
    "IndexError: The shape of the mask [3] at index 0 does not match the shape of "
    .. "the indexed tensor [2, 3] at index 0", "a mask that does not fit"},
  {m, 1.5, "IndexError: only integers, slices (`:`), ellipsis (`...`), None and long or byte "
    .. "Variables are valid "
    .. "indices (got float)", "a fraction"},
  {torch.tensor(1), 0, "IndexError: invalid index of a 0-dim tensor. Use `tensor.item()` in "
    .. "Python or "
    .. "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number",
      "a number has no elements"},
  {torch.tensor(1), ":", "IndexError: slice() cannot be applied to a 0-dim tensor.", "nor slices"},
  {m, "1:2:3:4", 'IndexError: invalid index text "1:2:3:4"', "three colons"},
} do
  t.raises(function() return case[1][case[2]] end, case[3], case[4])
end
t.raises(function() m[0] = {1, 2} end, "TypeError: can't assign a list to a torch.FloatTensor",
  "a list is no value")
t.raises(function() m[0] = torch.ones(2) end,
  "RuntimeError: The expanded size of the tensor (3) must match the "
  .. "existing size (2) at non-singleton dimension 0.  Target sizes: [3].  Tensor sizes: [2]",
    "a value of another size")
t.raises(function() m[m:gt(0)] = torch.ones(2) end,
  "RuntimeError: shape mismatch: value tensor of shape [2] cannot be "
  .. "broadcast to indexing result of shape [6]", "a value that does not fit the mask")

-- names
t.raises(function() return m.sun end, "AttributeError: 'Tensor' object has no attribute 'sun'",
  "an identifier is a name")
t.raises(function() m.colour = 1 end, "AttributeError: 'Tensor' object has no attribute 'colour'",
  "also when assigned")
t.raises(function() m.shape = 1 end,
  "AttributeError: attribute 'shape' of 'torch._C.TensorBase' objects is not writable",
         "a property that is only read")

-- iteration
local rows = {}
for row in arange(2, 2) do for v in row do rows[#rows + 1] = v:item() end end
t.is(rows, {0, 1, 2, 3}, "a loop walks the rows, nested loops too")
local seen = {}
for i, v in torch.tensor({5, 6}):enumerate() do seen[#seen + 1] = i * 10 + v:item() end
t.is(seen, {5, 16}, "enumerate counts from 0")
seen = {}
for i, v in ipairs(torch.tensor {5, 6}) do seen[#seen + 1] = i * 10 + v:item() end
t.is(seen, {5, 16}, "ipairs of a tensor counts from 0")
t.raises(function() for _ in torch.tensor(1) do end end, "TypeError: iteration over a 0-d tensor",
  "a number has no rows")
t.raises(function() m() end, "TypeError: 'Tensor' object is not callable",
  "a tensor is no function")
do
  local x = torch.arange(6):view(2, 3)
  t.is(tostring(x[":, [0, -1]"]), "tensor([[0, 2],\n        [3, 5]])", "a list in index text")
  t.is(tostring(x["[True, False]"]), "tensor([[0, 1, 2]])", "a mask in index text")
  t.raises(function() return x[("["):rep(100000)] end, "IndexError: invalid index text…",
    "100,000 open brackets in index text")
  t.is(tostring(x:all {dim = {}}.shape), "torch.Size([2, 3])", "all over no dims keeps them")
end

t.done()
