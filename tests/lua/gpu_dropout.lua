-- gpu_dropout.lua -- F.dropout on a GPU: PyTorch's one kernel, its mask, its memory, its gradient
local tap = require "tap"
local cuda = torch.cuda

dlrepl.simulate("t4")
local dev = {device = "cuda"}

-- ---- where it drops -----------------------------------------------------------------------------
-- The zeros and ones follow from Dropout.cu, read thread by thread with a Philox of its own; the
-- number after them tells where the launch leaves the generator.
local function bits(mask) return table.concat(mask:int():flatten():tolist()) end

local function drops(name, x, p, want, after)
  torch.manual_seed(1)
  local y, mask = torch.native_dropout(x, p, true)
  tap.is(bits(mask), want, name .. ": the elements that stay")
  tap.close(torch.rand(1, dev):item(), after, 1e-7, name .. ": what the generator gives next")
  tap.ok(torch.equal(y, x * mask * (1 / (1 - p))), name .. ": they are scaled, the others zero")
end

local first = 0.67199826
local half = {device = "cuda", dtype = torch.float16}
local double = {device = "cuda", dtype = torch.float64}
drops("four floats a thread", torch.ones(32, dev), 0.5, "00001111001100010110001110111101", first)
drops("two, where four do not divide", torch.ones(30, dev), 0.5, "001100000100101100100001100000",
      first)
drops("one, where two do not", torch.ones(31, dev), 0.5, "0100001101001001001000111111001", first)
drops("eight halves", torch.ones(32, half), 0.3, "00101011111110010111001110011011", first)
drops("two doubles", torch.ones(32, double), 0.3, "00110110010010111110001111101010", first)
drops("one, off the address", torch.ones(33, dev):narrow(0, 1, 32), 0.5,
      "01000011010010010010001111110011", first)
drops("memory order of a transposed tensor", torch.ones(4, 8, dev):t(), 0.5,
      bits((function()
        torch.manual_seed(1)
        local _, mask = torch.native_dropout(torch.ones(4, 8, dev), 0.5, true)
        return mask:t()
      end)()), first)

-- More elements than the card has threads for: the sum of the places that stay.
local function drops_many(name, n, how, stay, places, after)
  torch.manual_seed(1)
  local _, mask = torch.native_dropout(torch.ones(n, how), 0.5, true)
  local at = torch.arange(n, dev)
  tap.is(mask:sum():item() .. " " .. (mask * at):sum():item(), stay .. " " .. places, name)
  tap.close(torch.rand(1, dev):item(), after, 1e-7, name .. ", and then")
end
drops_many("second rounds of four", 200000, dev, 99849, 9989803531, 0.24740148)
drops_many("of two", 200002, dev, 100204, 10025004722, 0.24740148)
drops_many("of one", 200001, dev, 99920, 9987791823, 0.24740148)
drops_many("of eight", 400000, half, 199707, 39931587189, 0.75762653)

torch.manual_seed(1)
local plain = F.dropout(torch.ones(32, dev), 0.5)
tap.is(bits(plain:ne(0)), "00001111001100010110001110111101", "F.dropout draws that mask")
torch.manual_seed(1)
tap.is(bits(nn.Dropout(0.5):to("cuda")(torch.ones(32, dev)):ne(0)),
       "00001111001100010110001110111101", "so does the layer")

-- ---- one launch, one byte an element ------------------------------------------------------------
do
  local x = torch.ones(1000, 1000, {device = "cuda", requires_grad = true})
  local y
  local r = dlrepl.debug.record(function() y = F.dropout(x, 0.25) end)
  tap.is(r.kernels, 1, "one kernel drops and scales")
  tap.is(r.draws, 1, "the record counts the draw")
  tap.is(tostring(y.grad_fn):match("%a+0"), "NativeDropoutBackward0", "its node has PyTorch's name")
  r = dlrepl.debug.record(function() torch.autograd.grad(y, x, torch.ones_like(y)) end)
  tap.is(r.by_op.native_dropout_backward.calls, 1, "one kernel takes the gradient back")
  y = nil
  dlrepl.exact_memory(true)
  local before = cuda.memory_allocated()
  cuda.reset_peak_memory_stats()
  y = F.dropout(x, 0.25)
  tap.is(cuda.memory_allocated() - before, 4000256 + 1000448, "result and mask are kept")
  tap.is(cuda.max_memory_allocated() - before, 4000256 + 1000448, "and nothing else was taken")
  local g = torch.ones_like(y)
  before = cuda.memory_allocated()
  cuda.reset_peak_memory_stats()
  y:backward(g)
  tap.is(cuda.max_memory_allocated() - before, 4000256, "backward takes the gradient alone")
  tap.is(cuda.memory_allocated() - before, 4000256 - 1000448, "and frees the mask")
  dlrepl.exact_memory(false)
end

-- ---- gradients ----------------------------------------------------------------------------------
do
  local x = torch.rand(3, 4, double):requires_grad_()
  local function f(t)
    torch.manual_seed(3)
    return F.dropout(t, 0.4)
  end
  tap.ok(torch.autograd.gradcheck(f, {x}), "the gradient is that of central differences")
  local y = (f(x * x) * x):sum()
  local dx = torch.autograd.grad(y, x, {create_graph = true})
  local ddx = torch.autograd.grad(dx:sum(), x)
  tap.ok(torch.allclose(ddx, 6 * f(x)), "the second derivative of x^3 keeps the mask")
  local mask = torch.tensor({true, false, true}, dev)
  local up = torch.ones(3, {device = "cuda", requires_grad = true})
  local down = dlrepl.ops.native_dropout_backward(up, mask, 2)
  tap.is(tostring(torch.autograd.grad(down:sum(), up)),
         "tensor([2., 0., 2.], device='cuda:0')", "the backward has a gradient of its own")
  tap.raises(function() dlrepl.ops.native_dropout_backward(up, up, 2) end,
             "RuntimeError: Mask should be Bool Scalar TypeFloat…", "its mask must be bool")
end

-- ---- what draws nothing, what goes another way --------------------------------------------------
do
  local x = torch.tensor({1., -2., math.huge}, dev)
  torch.manual_seed(1)
  local y, mask = torch.native_dropout(x, 1, true)
  tap.is(bits(y) .. bits(mask), "000000", "p = 1 gives zeros, of inf too")
  y, mask = torch.native_dropout(torch.tensor({1, 2}, dev), 0.5, false)
  tap.is(bits(y) .. bits(mask), "1211", "without training all stays, in any dtype")
  tap.raises(function() torch.native_dropout(torch.tensor({1, 2}, dev), 0.5, true) end,
             "NotImplementedError: \"fused_dropout\" not implemented for 'Long'…",
             "integers are not dropped")
  local next = torch.rand(1, dev):item()
  torch.manual_seed(1)
  tap.is(torch.rand(1, dev):item(), next, "none of these draws")
  local r = dlrepl.debug.record(function()
    F.dropout(torch.ones(8, dev), 0.5, true, true)
    F.dropout2d(torch.ones(2, 3, 2, 2, dev))
  end)
  tap.is(r.by_op.native_dropout, nil, "in place and by channel there is no such kernel")
  torch.manual_seed(1)
  local was = torch.rand(1):item()
  torch.manual_seed(1)
  dlrepl.debug.record(function() F.dropout(torch.ones(8, half), 0.5) end)
  tap.is(torch.rand(1):item(), was, "a record of float16 leaves the CPU's generator alone")
end

plain = nil
dlrepl.simulate {card = "t4", device = "mps"}
do
  local r = dlrepl.debug.record(function() F.dropout(torch.ones(8, {device = "mps"}), 0.5) end)
  tap.is(r.by_op.native_dropout, nil, "nor on mps")
end
tap.done()
