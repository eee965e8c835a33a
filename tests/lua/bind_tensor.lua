-- bind_tensor.lua -- making tensors from Lua values, reading them back, converting, comparing
local t = require "tap"
local T = torch.tensor
local function is(x, want, name) t.is(tostring(x), want, name) end

is(T {{1, 2}, {3, 4}}, "tensor([[1, 2],\n        [3, 4]])", "nested lists")
is(T {1, 2.5}, "tensor([1.0000, 2.5000])", "a mix of ints and floats is floating")
is(T {true, 1}, "tensor([1, 1])", "a mix of booleans and ints is integer")
is(T {}, "tensor([])", "an empty list")
is(T {{}, {}}, "tensor([], size=(2, 0))", "empty lists inside a list")
is(T({-1}, {dtype = torch.uint8}), "tensor([255], dtype=torch.uint8)",
  "a negative number wraps in uint8")
is(T({1.7}, {dtype = torch.int64}), "tensor([1])", "a float is cut")
is(T {T(1), 2}, "tensor([1, 2])", "0-dim tensors inside a list")
is(T(T(1.)), "tensor(1.)", "a tensor is copied")
is(torch.as_tensor(T {1, 2}), "tensor([1, 2])", "as_tensor of a tensor")
local x = T {1., 2.}
t.ok(rawequal(torch.as_tensor(x), x), "as_tensor of a fitting tensor is the tensor")
is(T(torch.zeros(2, 3).shape), "tensor([2, 3])", "a Size is a list")

local cyclic = {}
cyclic[1] = cyclic
for _, case in ipairs {
  {{{1, 2}, {3}}, "ValueError: expected sequence of length 2 at dim 1 (got 1)", "a ragged list"},
  {{1, {2}}, "TypeError: 'list' object cannot be interpreted as an integer",
    "a list where a number stood"},
  {{{1}, 2}, "TypeError: not a sequence", "a number where a list stood"},
  {{"a"}, "ValueError: too many dimensions 'str'", "a string in a list"},
  {"a", "TypeError: new(): invalid data type 'str'", "a string"},
  {{None}, "RuntimeError: Could not infer dtype of NoneType", "None in a list"},
  {print, "RuntimeError: Could not infer dtype of function", "a function"},
  {cyclic, "ValueError: too many dimensions 'list'", "a list that holds itself"},
  {{torch.ones(2)}, "ValueError: only one element tensors can be converted to Python scalars",
    "a vector in a list"},
} do
  t.raises(function() T(case[1]) end, case[2], case[3])
end
t.raises(function() T({300}, {dtype = torch.uint8}) end,
         "RuntimeError: value cannot be converted to type uint8 without overflow",
           "too large for the dtype")
t.raises(function() T() end, 'TypeError: tensor() missing 1 required positional arguments: "data"',
  "no data")
t.raises(function() T({1}, {requires_grad = true}) end,
         "RuntimeError: Only Tensors of floating point and complex dtype can require gradients",
           "integers have no gradient")

t.is(T {{1, 2}, {3, 4}}:tolist(), {{1, 2}, {3, 4}}, "tolist")
t.is(T(true):item(), true, "item of a boolean")
t.is(math.type(T(3):item()), "integer", "item of an integer")
t.raises(function() torch.ones(2):item() end,
  "RuntimeError: a Tensor with 2 elements cannot be converted to Scalar",
         "item of many")
t.is({x:size(0), x:size(-1), x:dim(), x:numel(), #x}, {2, 2, 1, 2, 2}, "size, dim, numel, length")
t.is(torch.zeros(2, 3):stride(), {3, 1}, "stride")
t.raises(function() x:size(3) end,
  "IndexError: Dimension out of range (expected to be in range of [-1, 0], but got 3)",
         "size of a dimension that is not there")

t.ok(x:to(torch.float64).dtype == torch.float64 and x:double().dtype == torch.float64, "casts")
t.ok(x:to("cpu", torch.float64).dtype == torch.float64
     and x:to({dtype = torch.float16}).dtype == torch.float16, "to with device and dtype")
t.ok(rawequal(x:to("cpu"), x) and rawequal(x:float(), x), "nothing to convert: the same tensor")
t.ok(not rawequal(x:to {dtype = torch.float32, copy = true}, x), "copy=true copies")
t.ok(x:to(T(1)).dtype == torch.int64, "to another tensor's dtype")
t.is(x:type(), "torch.FloatTensor", "type without argument is a name")
t.ok(x:type("torch.LongTensor").dtype == torch.int64, "type with a name converts")
t.is({torch.equal(x, T {1., 2.}), torch.equal(x, T {1.})}, {true, false}, "equal gives a boolean")
t.is({torch.allclose(x, x + 1e-9), torch.allclose(x, x + 1)}, {true, false},
  "allclose gives a boolean")
is(x:new_zeros(2).dtype, "torch.float32", "new_zeros keeps the dtype")
is(torch.Tensor(2, 3).shape, "torch.Size([2, 3])", "the old constructor with sizes")
is(torch.LongTensor {1, 2}, "tensor([1, 2])", "the old constructor with data")

-- operators
is(T {5} // 2, "tensor([2])", "//")
is(T {-5} % 3, "tensor([1])", "% has the sign of the divisor")
is(2 ^ T {1., 2.}, "tensor([2., 4.])", "a number on the left of ^")
is(1 - x, "tensor([ 0., -1.])", "a number on the left of -")
is(2 / x, "tensor([2., 1.])", "a number on the left of /")
is(-x, "tensor([-1., -2.])", "minus")
is(T {true, false} & T {true, true}, "tensor([ True, False])", "&")
is(~T {true}, "tensor([False])", "~")
is(T {1} << 3, "tensor([8])", "<<")
is(1 << T {3}, "tensor([8])", "a number on the left of <<")
t.raises(function() return x + "a" end,
  "TypeError: unsupported operand type(s) for +: 'Tensor' and 'str'", "a string operand")
t.raises(function() return x + None end,
  "TypeError: unsupported operand type(s) for +: 'Tensor' and 'NoneType'", "None as operand")
t.raises(function() return x == T {1.} end,
  "TypeError: == between tensors answers only true or false in Lua", "==")
t.raises(function() return x < 1 end,
  "TypeError: < between tensors answers only true or false in Lua", "<")
t.is("x = " .. x, "x = tensor([1., 2.])", "a tensor joins to a string")
local key = {[x] = 1}
t.is(key[x], 1, "a tensor is a table key")

-- functions the generic form cannot express
is(torch.einsum("ij,jk->ik", torch.ones(2, 3), torch.ones(3, 1)), "tensor([[3.],\n        [3.]])",
  "einsum")
local i, j = torch.where(T {{0, 1}, {1, 0}})
t.is({i:tolist(), j:tolist()}, {{0, 1}, {1, 0}}, "where with a condition alone")
local u, inverse, counts = torch.unique(T {3, 1, 1}, {return_inverse = true, return_counts = true})
t.is({u:tolist(), inverse:tolist(), counts:tolist()}, {{1, 3}, {1, 0, 0}, {2, 1}},
  "unique with all its results")
t.is(select("#", torch.unique(T {3, 1}, {return_counts = true})), 2, "unique with counts alone")
local gx, gy = torch.meshgrid(torch.arange(2), torch.arange(3), {indexing = "xy"})
t.is({gx:tolist(), gy:tolist()}, {{{0, 1}, {0, 1}, {0, 1}}, {{0, 0}, {1, 1}, {2, 2}}}, "meshgrid")
is(torch.tensordot(torch.ones(2, 3), torch.ones(3, 2), 1), "tensor([[3., 3.],\n        [3., 3.]])",
  "tensordot")
is(torch.hstack {T {1}, T {2}}, "tensor([1, 2])", "hstack")
local values, indices = T {3., 1., 2.}:max(0)
t.is({values:item(), indices:item()}, {3, 0}, "two results are two values")
t.is(#torch.arange(10):split(4), 3, "a result of variable length is a list")

-- memory: a loop over 40 MB tensors keeps few of them
local big = torch.zeros(10000000)
collectgarbage()
local peak = 0
for _ = 1, 12 do
  big = big + 1
  peak = math.max(peak, dlrepl.debug.bytes())
end
t.ok(peak < 5 * 40e6, "a loop over 40 MB tensors keeps at most five of them")
t.is(big[0]:item(), 12, "and counted")
t.done()
