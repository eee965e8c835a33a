-- bind_hostile.lua -- nothing that a program does to our objects ends the process
--
-- Metamethods called on what they were not made for, tensors used after their finalizer, indices
-- that live in the memory they write to, hooks that change what they must not.
local t = require "tap"

-- ---- metamethods on anything ---------------------------------------------------------------
local function objects()
  local x = torch.ones(2, {requires_grad = true})
  return {
    {"a tensor", torch.ones(2)}, {"a dtype", torch.float32}, {"a device", torch.device("cpu")},
    {"a Size", torch.ones(2).shape}, {"a Generator", torch.Generator()}, {"None", None},
    {"an array", np.array {1., 2.}}, {"an array's dtype", np.array {1.}.dtype},
    {"a grad_fn", (x * 2).grad_fn}, {"a slice", slice(1, 2)},
    {"a hook's handle", x:register_hook(print)}, {"a module", nn.Linear(2, 2)},
    {"an optimizer", optim.SGD({x}, {lr = 1.0})},
  }
end

local anything = {
  io.stdout, 1, "x", {}, print, torch.ones(2), None, torch.float32, torch.Generator(), "shape",
  setmetatable({}, {__index = error}), coroutine.create(print),
}

local function call_all(f, ...)
  pcall(f)
  pcall(f, ...)
  for _, a in ipairs(anything) do
    pcall(f, a)
    pcall(f, a, a)
    pcall(f, a, ...)
    pcall(f, ..., a)
    pcall(f, ..., a, a)
  end
end

for _, case in ipairs(objects()) do
  local name, object = case[1], case[2]
  for event, f in pairs(debug.getmetatable(object)) do
    if type(f) == "function" and event ~= "__gc" then call_all(f, object) end
  end
  t.ok(true, "the metamethods of " .. name .. " survive any operand")
end

-- ---- after the finalizer -------------------------------------------------------------------
local function freed()
  local x = torch.ones(2)
  debug.getmetatable(x).__gc(x)
  return x
end

local raised = "TypeError: this tensor was freed"
t.raises(function() return freed() + 1 end, raised, "x + 1 of a freed tensor raises")
t.raises(function() return torch.ones(2) * freed() end, raised, "y * x of a freed tensor raises")
t.raises(function() return -freed() end, raised, "-x of a freed tensor raises")
t.raises(function() return freed().shape end, raised, "x.shape of a freed tensor raises")
t.ok(not pcall(function() return #freed() end), "#x of a freed tensor raises")
for _, name in ipairs(dlrepl.debug.methods()) do
  local f = torch.Tensor[name]
  pcall(f, freed())
  pcall(f, freed(), freed())
  pcall(f, torch.ones(2), freed())
end
t.ok(true, "every method survives freed tensors")

do
  local kept
  setmetatable({torch.ones(3)}, {__gc = function(self) kept = self[1] end})
  collectgarbage()
  collectgarbage()
  pcall(function() return kept + 1 end)
  t.ok(kept ~= nil, "a finalizer may bring a tensor back")
end

t.raises(function() return torch.ones(2).shape.numel() end,
  "TypeError: unbound method of torch.Size needs a Size, not NoneType…",
  "x.shape.numel() without a Size names the colon")

-- ---- indices in the memory that they write to --------------------------------------------------
local overlap = "RuntimeError: unsupported operation: some elements of the input tensor and the "
  .. "written-to tensor refer to a single memory location. Please clone() the tensor before "
  .. "performing the operation."
local far = torch.tensor {1000000, 1000000, 1000000}
local writers = {
  {"x[x] = y", function(x) x[x] = far end},
  {"index_put_", function(x) x:index_put_({x}, far) end},
  {"scatter_", function(x) x:scatter_(0, x, far) end},
  {"scatter_add_", function(x) x:scatter_add_(0, x, far) end},
  {"index_add_", function(x) x:index_add_(0, x, far) end},
  {"index_copy_", function(x) x:index_copy_(0, x, far) end},
  {"index_fill_", function(x) x:index_fill_(0, x, 1000000) end},
}
for _, case in ipairs(writers) do
  t.raises(function() case[2](torch.tensor {1, 2, 0}) end, overlap,
    case[1] .. " refuses an index that is the tensor itself")
end
t.raises(function()
  local x = torch.arange(8)
  x["::2"][x["0:4"]] = torch.tensor {100, 100, 100, 100}
end, overlap, "an index that crosses the written-to view is refused")

-- ---- hooks -----------------------------------------------------------------------------------
local function backward_with(hook)
  local x = torch.ones(3, {requires_grad = true})
  x:register_hook(hook)
  local y = (x * 2):sum()
  return function() y:backward() end
end
t.raises(backward_with(function() return torch.ones(4) end),
  "RuntimeError: hook '<lambda>' has changed the size of value", "a hook keeps the size")
t.raises(backward_with(function(g) return g:double() end),
  "RuntimeError: hook '<lambda>' has changed the type of value (was torch.FloatTensor got "
  .. "torch.DoubleTensor)", "a hook keeps the dtype")

-- ---- sizes at the end of the range -------------------------------------------------------------
local image, kernel = torch.zeros(1, 1, 3, 3), torch.ones(1, 1, 3, 3)
local wide = "RuntimeError: convolution: padding or dilation is too large"
t.raises(function() F.conv2d(image, kernel, {padding = 2 ^ 62}) end, wide, "a padding of 2^62")
t.raises(function() F.conv2d(image, kernel, {dilation = 2 ^ 62}) end, wide, "a dilation of 2^62")
t.is(tostring(torch.ones(3):unfold(0, 1, math.maxinteger)), "tensor([[1.]])",
  "a window of unfold far beyond the end prints")

t.raises(function()
  dlrepl.ops.nll_loss_backward(torch.ones({}), torch.zeros(2, {dtype = torch.int64}), nil,
                               torch.ones({}), {4000, 3}, "mean", -100)
end, "RuntimeError: nll_loss_backward: target, weight and grad do not fit input_size",
  "a gradient's sizes are checked before its kernel runs")
t.done()
