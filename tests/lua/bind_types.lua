-- bind_types.lua -- Size, dtype, device, None, generators, global names
local t = require "tap"
local s = torch.zeros(2, 3, 4).shape

t.is({s[0], s[1], s[-1]}, {2, 3, 4}, "a Size counts from 0 and takes negatives")
t.raises(function() return s[3] end, "IndexError: tuple index out of range",
  "reading past the end raises")
t.ok(s == {2, 3, 4} and s == torch.Size {2, 3, 4} and s ~= {2, 3},
  "a Size compares by value, with lists too")
t.is({s:unpack()}, {2, 3, 4}, "unpack")
t.raises(function() table.unpack(s) end,
  "TypeError: table.unpack counts from 1, a torch.Size from 0", "table.unpack says so")
t.is(#s, 3, "length")
t.is(s:numel(), 24, "numel")
t.is(tostring(s["1:"]), "torch.Size([3, 4])", "a slice of a Size")
t.is(tostring(s + {5}), "torch.Size([2, 3, 4, 5])", "a sum of Sizes")
local seen = {}
for i, n in ipairs(s) do seen[#seen + 1] = i * 10 + n end
t.is(seen, {2, 13, 24}, "ipairs starts at 0")
t.is(tostring(torch.Size {}), "torch.Size([])", "an empty Size")
t.is(torch.zeros({}).shape:numel(), 1, "the Size of a number holds one element")

t.ok(torch.float == torch.float32 and torch.long == torch.int64,
  "second names of dtypes are the same objects")
t.is({torch.float16.itemsize, torch.int64.is_floating_point}, {2, false}, "properties of a dtype")
t.ok(torch.zeros(1).dtype == torch.float32, "a dtype compares by value")
t.ok(torch.device("cpu") == torch.zeros(1).device, "a device compares by value")
t.is({torch.device("cuda:1").type, torch.device("cuda:1").index}, {"cuda", 1}, "parts of a device")
t.is(torch.device("cpu").index, nil, "the CPU has no index")
t.raises(function() torch.device("gpu") end, "RuntimeError: Expected one of cpu, cuda, …",
  "an unknown device")
t.raises(function() torch.device("cuda:x") end, "RuntimeError: Invalid device string: 'cuda:x'",
  "a bad device index")
t.is(torch.finfo(torch.float32).max, 3.4028234663852886e38, "finfo")
t.is({torch.iinfo(torch.int8).min, torch.iinfo(torch.uint8).max}, {-128, 255}, "iinfo")
t.raises(function() torch.finfo(torch.int32) end,
  "TypeError: torch.finfo() requires a floating point input type. "
  .. "Use torch.iinfo to handle 'torch.finfo'", "finfo of an integer")
t.is({torch.promote_types(torch.int8, torch.uint8) == torch.int16,
  torch.can_cast(torch.float, torch.int)},
     {true, false}, "promotion")
t.ok(torch.result_type(torch.ones(2, {dtype = torch.int32}), 2.5) == torch.float32,
  "result_type with a number")

torch.manual_seed(0)
local a = torch.rand(3)
torch.manual_seed(0)
t.ok(torch.equal(a, torch.rand(3)), "the same seed gives the same numbers")
t.is(torch.initial_seed(), 0, "initial_seed")
local state = torch.get_rng_state()
local b = torch.randn(4)
torch.set_rng_state(state)
t.ok(torch.equal(b, torch.randn(4)), "the state can be put back")
t.is(state.shape[0], 5056, "the state has PyTorch's size")
local g = torch.Generator()
t.is(g:initial_seed(), 67280421310721, "a Generator's first seed")
t.ok(rawequal(g:manual_seed(0), g), "manual_seed gives the generator back")
t.ok(torch.equal(torch.rand(3, {generator = g}), a), "an op draws from the generator it is given")
t.ok(torch.manual_seed(1) == torch.default_generator,
  "torch.manual_seed gives the default generator")

t.ok(require "torch" == torch, "require \"torch\" gives torch")
t.ok(nn.functional == F and torch.nn == nn, "the names are the same tables")
t.raises(function() return torch.zeos end,
  "AttributeError: module 'torch' has no attribute 'zeos'", "an unknown function")
t.is(torch.cuda.is_available(), false, "no GPU here")
t.raises(function() torch.ones(1):cuda() end,
  "AssertionError: Torch not compiled with CUDA enabled", "cuda() without CUDA")
torch.set_default_dtype(torch.float64)
t.ok(torch.tensor(1.5).dtype == torch.float64, "the default dtype can be set")
torch.set_default_dtype(torch.float32)
t.raises(function() torch.set_default_dtype(torch.int32) end,
         "TypeError: only floating-point types are supported as the default type",
           "but not to an integer")
t.done()
