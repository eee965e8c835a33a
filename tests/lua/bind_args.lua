-- bind_args.lua -- how arguments are read, and what a wrong one says
local t = require "tap"
local x = torch.ones(2, 3)

t.is(tostring(x:sum(1, {keepdim = true}).shape), "torch.Size([2, 1])",
  "a keyword after a positional argument")
t.is(tostring(x:sum {dim = 1}), "tensor([3., 3.])", "a parameter by name alone")
t.is(tostring(x:sum {axis = 0}), "tensor([2., 2., 2.])", "numpy's name of dim")
t.is(tostring(torch.sum {input = x}), "tensor(6.)", "self is called input in a function")
t.is(tostring(torch.zeros(2, 3).shape), "torch.Size([2, 3])", "sizes one by one")
t.is(tostring(torch.zeros({2, 3}).shape), "torch.Size([2, 3])", "sizes as a list")
t.is(tostring(torch.zeros(x.shape).shape), "torch.Size([2, 3])", "sizes as a Size")
t.is(tostring(torch.zeros({}).shape), "torch.Size([])", "an empty list is a value")
t.is(tostring(torch.zeros(2 ^ 1, 6 / 2).shape), "torch.Size([2, 3])",
  "floats with an integral value are sizes")
t.is(tostring(torch.zeros(torch.tensor(2)).shape), "torch.Size([2])",
  "a 0-dim integer tensor is an int")
t.is(tostring(x:sum(None)), "tensor(6.)", "None where PyTorch takes None")
t.is(tostring(x:clamp(nil, 0.5)), tostring(x:clamp {max = 0.5}), "nil stands for the default")
t.is(tostring(torch.ones(2, {dtype = torch.int64})), "tensor([1, 1])", "dtype by name")
t.is(tostring(torch.add(2, torch.tensor({1, 2}))), "tensor([3, 4])",
  "a number where self is a tensor")
t.is(tostring(torch.arange {End = 3}), "tensor([0, 1, 2])",
  "a word of Lua is spelled with a capital")

local out = torch.empty(0)
t.ok(rawequal(torch.add(x, x, {out = out}), out), "out= gives back the tensor that was given")
t.is(tostring(out), "tensor([[2., 2., 2.],\n        [2., 2., 2.]])", "out= is resized and filled")
t.ok(rawequal(x:add_(0), x), "an in-place op gives back its tensor")
t.ok(rawequal(x:contiguous(), x), "contiguous of a contiguous tensor is the tensor")

local function fails(fn, want, name) t.raises(fn, want, name) end
fails(function() torch.zeros("a") end,
  "TypeError: zeros(): argument 'size' (position 1) must be tuple of ints, not str",
      "a wrong type names function, argument, place and type")
fails(function() x:cumsum {dim = "a"} end,
  "TypeError: cumsum(): argument 'dim' must be int, not str",
      "no place for an argument given by name")
fails(function() x:transpose(1) end,
  'TypeError: transpose() missing 1 required positional arguments: "dim1"',
      "a missing argument")
fails(function() x:transpose(1, 2, 3) end,
  "TypeError: transpose() takes 2 positional arguments but 3 were given",
      "one argument too many")
fails(function() x:sum(0, true, true) end,
  "TypeError: sum() takes from 1 to 2 positional arguments but 3 were given",
      "too many where some are optional")
fails(function() x:relu(1) end, "TypeError: TensorBase.relu() takes no arguments (1 given)",
  "no arguments at all")
fails(function() x:add(x, {beta = 3}) end,
  "TypeError: add() got an unexpected keyword argument 'beta'",
      "an unknown keyword")
fails(function() x:cumsum(0, {dim = 1}) end,
  "TypeError: cumsum() got multiple values for argument 'dim'",
      "one parameter given twice")
fails(function() torch.zeros(2, "a") end,
  "TypeError: zeros(): argument 'size' failed to unpack the object at pos 2 "
      .. 'with error "type must be tuple of ints,but got str"', "a wrong element of a list")
fails(function() torch.cat {x, 1} end,
  "TypeError: expected Tensor as element 1 in argument 0, but got int",
      "a wrong element of a list of tensors")
fails(function() F.cross_entropy(x) end,
  "TypeError: cross_entropy() missing 1 required positional argument: 'target'",
      "Python's words where PyTorch has the function in Python")

local _, e = pcall(function() x:max("a") end)
t.is(e.message, "max() received an invalid combination of arguments - got (str), but expected "
  .. "one of:\n"
  .. " * ()\n      didn't match because some of the arguments have invalid types: (!str!)\n"
  .. " * (int dim, bool keepdim = False)\n"
  .. " * (Tensor other)\n      didn't match because some of the arguments have invalid types: "
    .. "(!str!)",
  "several overloads: all of them are listed")
_, e = pcall(function() x:sum {dim = "a"} end)
t.like(e.message, "got %(dim=str, %)", "keywords in the list of what was given")
_, e = pcall(function() x:add(x, {beta = 3}) end)
t.like(tostring(e), "\n  parameters: other, alpha$", "an unknown keyword lists the parameters")

_, e = pcall(function() x.sum() end)
t.like(tostring(e), "called with a colon: x:sum", "a dot where a colon belongs")
_, e = pcall(function() F:relu(x) end)
t.like(tostring(e), "called with a dot: torch.nn.functional.relu", "a colon where a dot belongs")
_, e = pcall(function() torch.zeros {2, 3, dtype = torch.float64} end)
t.like(tostring(e), "keywords travel in a table of their own", "values and keywords in one table")
t.raises(function() torch.ones(2, {device = "gpu"}) end,
  "RuntimeError: Expected one of cpu, cuda, …", "a bad device")
t.raises(function() torch.ones(2, {dtype = "float32"}) end,
         "TypeError: ones(): argument 'dtype' must be torch.dtype, not str", "a dtype is an object")

-- error values
_, e = pcall(function() return torch.ones(2, 3) + torch.ones(4, 3) end)
t.is(e.class, "RuntimeError", "an error has PyTorch's class")
t.is(e.kind, "shape", "and a stable kind")
t.like("seen: " .. e, "^seen: RuntimeError: The size", "an error joins to a string")
t.like(e.traceback, "bind_args", "and knows where it was raised")
_, e = pcall(error, dlrepl.error {class = "ValueError", message = "no", notes = {"try yes"}})
t.is(tostring(e), "ValueError: no\n  try yes", "Lua code makes such errors too")
t.raises(function() dlrepl.raise("KeyError", "'k'") end, "KeyError: 'k'", "and raises them")
t.done()
