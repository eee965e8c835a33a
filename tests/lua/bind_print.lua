-- bind_print.lua -- a tensor's text, to the character (cases printed by PyTorch)
local t = require "tap"
local function is(x, want) t.is(tostring(x), want, want:gsub("\n", "|")) end
local inf, nan = math.huge, 0 / 0
local function T(v, d) return torch.tensor(v, d and {dtype = d}) end

is(T(3.14159), "tensor(3.1416)")
is(T(7), "tensor(7)")
is(T {1., 2.5, -3.}, "tensor([ 1.0000,  2.5000, -3.0000])")
is(T {1., inf, nan}, "tensor([1., inf, nan])")
is(T {0., -0.0}, "tensor([0., -0.])")
is(T {1e-5, 1.}, "tensor([1.0000e-05, 1.0000e+00])")
is(T {0.00012, 0.1}, "tensor([0.0001, 0.1000])")
is(T {1., 1001.}, "tensor([1.0000e+00, 1.0010e+03])")
is(T {1., 1000.}, "tensor([   1., 1000.])")
is(T {100000000.}, "tensor([100000000.])")
is(T {1e-8, 2e-8, inf}, "tensor([1.0000e-08, 2.0000e-08,        inf])")
is(T {true, false}, "tensor([ True, False])")
is(T({1, 2}, torch.int32), "tensor([1, 2], dtype=torch.int32)")
is(T({0.1, 2.}, torch.float16), "tensor([0.1000, 2.0000], dtype=torch.float16)")
is(torch.tensor({1.5}, {dtype = torch.bfloat16, requires_grad = true}),
   "tensor([1.5000], dtype=torch.bfloat16, requires_grad=True)")
is(torch.ones(2, {requires_grad = true}) * 2, "tensor([2., 2.], grad_fn=<MulBackward0>)")
is(torch.empty(0), "tensor([])")
is(torch.empty(0, {dtype = torch.int64}), "tensor([], dtype=torch.int64)")
is(torch.empty(2, 0), "tensor([], size=(2, 0))")
is(torch.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])")
is(torch.zeros(40, 30),
  "tensor([[0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.],\n"
  .. "        [0., 0., 0.,  ..., 0., 0., 0.],\n        ...,\n        [0., 0., 0.,  ..., 0., "
    .. "0., 0.],\n"
  .. "        [0., 0., 0.,  ..., 0., 0., 0.],\n        [0., 0., 0.,  ..., 0., 0., 0.]])")
is(torch.arange(8.):reshape(2, 2, 2),
  "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])")
is(torch.ones(12, {requires_grad = true}) * 1.23456,
  "tensor([1.2346, 1.2346, 1.2346, 1.2346, 1.2346, 1.2346, 1.2346, "
  .. "1.2346, 1.2346,\n        1.2346, 1.2346, 1.2346], grad_fn=<MulBackward0>)")
is(torch.arange(14.):requires_grad_(),
  "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.],\n"
  .. "       requires_grad=True)")
is(nn.Parameter(torch.zeros(2, 2)),
  "Parameter containing:\ntensor([[0., 0.],\n        [0., 0.]], requires_grad=True)")
is(torch.arange(4):reshape(2, 2):t(), "tensor([[0, 2],\n        [1, 3]])")

torch.set_printoptions {precision = 2}
is(T {1.234, 2.}, "tensor([1.23, 2.00])")
torch.set_printoptions {sci_mode = true}
is(T {1.5}, "tensor([1.50e+00])")
torch.set_printoptions {profile = "full"}
t.ok(#tostring(torch.arange(2000)) > 8000, "profile full shows every element")
torch.set_printoptions {threshold = 4, edgeitems = 1}
is(torch.arange(6), "tensor([0,  ..., 5])")
torch.set_printoptions {profile = "default"}
is(T {1.234}, "tensor([1.2340])")

local before = collectgarbage("count")
local big = torch.zeros(2000, 2000)
t.ok(#tostring(big) < 1000 and collectgarbage("count") - before < 200,
  "a large tensor prints without a copy of it")

is(torch.zeros(2, 3).shape, "torch.Size([2, 3])")
is(torch.float32, "torch.float32")
is(torch.device("cuda", 1), "cuda:1")
is(None, "None")
t.done()
