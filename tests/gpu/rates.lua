-- rates.lua -- what a GPU does in a second, ours: one JSON object a line
--
-- For tests/gpu/run. The first line tells of the card. Time is the device's, between two events.
--
-- INVARIANT  peer.py measures the same work under the same names.

local json = require "dlrepl.json"
local device = require "device"
local small, dev = device.small, {device = "cuda"}
local cuda = torch.cuda

local card = cuda.get_device_properties(0)
print(json.encode {
  card = card.name, capability = card.major .. "." .. card.minor, memory = card.total_memory,
  multiprocessors = card.multi_processor_count, libraries = dlrepl._facts().cuda or "",
})

-- ---- measuring -----------------------------------------------------------------------------
local first, last = cuda.Event {enable_timing = true}, cuda.Event {enable_timing = true}
local function run(fn, n)
  cuda.synchronize()
  first:record()
  for _ = 1, n do fn() end
  last:record()
  last:synchronize()
  return first:elapsed_time(last) / n
end

-- Milliseconds a call: the median of five samples of about 20 ms, after three calls to warm up.
local function measure(fn)
  for _ = 1, small and 1 or 3 do fn() end
  local once = run(fn, 1)
  local n = small and 2 or math.max(1, math.min(2000, math.ceil(20 / math.max(once, 0.001))))
  local s = {}
  for i = 1, small and 1 or 5 do s[i] = run(fn, n) end
  table.sort(s)
  return s[(#s + 1) // 2]
end

-- amount: bytes or operations of a call; unit: what 1e9 or 1e12 of them in a second are called.
local function report(name, unit, amount, fn)
  local ms = measure(fn)
  local scale = {["GB/s"] = 1e-6, ["TFLOP/s"] = 1e-9}
  local value = scale[unit] and amount * scale[unit] / ms or ms
  print(json.encode {name = name, unit = unit, value = value, ms = ms})
  io.stdout:flush()
  collectgarbage()
end

-- ---- copies and one pass over memory -------------------------------------------------------
local side = small and 256 or 4096 -- of a square of 64 MB
local bytes = side * side * 4
local x, y = torch.rand(side, side, dev), torch.empty(side, side, dev)
local host = torch.rand(side, side)
local pinned = host:pin_memory()
report("copy device to device", "GB/s", 2 * bytes, function() y:copy_(x) end)
report("copy host to device, pinned", "GB/s", bytes,
       function() x:copy_(pinned, {non_blocking = true}) end)
report("copy host to device, pageable", "GB/s", bytes, function() x:copy_(host) end)
report("copy device to host, pinned", "GB/s", bytes,
       function() pinned:copy_(x, {non_blocking = true}) end)
local w, bias = torch.ones(side, dev), torch.zeros(side, dev)
local one = torch.ones(1, dev)
report("add", "GB/s", 3 * bytes, function() return x + y end)
report("mul by a number", "GB/s", 2 * bytes, function() return x * 1.5 end)
report("relu", "GB/s", 2 * bytes, function() return x:relu() end)
report("gelu", "GB/s", 2 * bytes, function() return F.gelu(x) end)
report("exp", "GB/s", 2 * bytes, function() return x:exp() end)
report("sum", "GB/s", bytes, function() return x:sum() end)
report("softmax", "GB/s", 2 * bytes, function() return x:softmax(-1) end)
report("layer norm", "GB/s", 2 * bytes, function() return F.layer_norm(x, {side}, w, bias) end)
report("transpose", "GB/s", 2 * bytes, function() return x:t():contiguous() end)
report("add of one element", "ms", 0, function() return one + one end)
x, y, host, pinned = nil, nil, nil, nil

-- ---- matrix products -----------------------------------------------------------------------
local kinds = {{"fp32", torch.float32, false}, {"tf32", torch.float32, true},
               {"fp16", torch.float16, false}, {"bf16", torch.bfloat16, false}}
for _, k in ipairs(kinds) do
  torch.backends.cuda.matmul.allow_tf32 = k[3]
  for _, n in ipairs(small and {128} or {512, 1024, 2048, 4096, 8192}) do
    local a, b = torch.rand(n, n, dev):to(k[2]), torch.rand(n, n, dev):to(k[2])
    report("gemm " .. k[1] .. " " .. n, "TFLOP/s", 2 * n ^ 3, function() return a:mm(b) end)
  end
end
torch.backends.cuda.matmul.allow_tf32 = false

-- ---- training steps ------------------------------------------------------------------------
local function training(name, model, shape)
  model:to("cuda")
  local images = torch.rand(table.unpack(shape)):cuda()
  local labels = torch.randint(0, 10, {shape[1]}):cuda()
  local opt = optim.Adam(model:parameters(), {lr = 1e-3})
  report(name, "ms", 0, function()
    opt:zero_grad()
    local loss = F.cross_entropy(model(images), labels)
    loss:backward()
    opt:step()
  end)
end
local batch = small and 8 or 256
training("training step, MLP", device.mlp(), {batch, 784})
training("training step, CNN", device.cnn(), {batch, 1, 28, 28})
