-- rates.lua -- what a GPU does in a second, ours: one JSON object a line
--
--     dlrepl tests/gpu/rates.lua [--simulated] [--small] [--names]
--
-- For tests/gpu/run. The first line tells of the card. Time is the device's, between two events;
-- where CUDA's libraries do the same work they are measured too, called without our kernels.
-- --names: the rows alone.
--
-- INVARIANT  peer.py measures the same work under the same names (tests/cli/gpu_rates.t).

local json = require "dlrepl.json"
local device = require "device"
local measure = require "dlrepl.measure"
local small, dev, cuda = device.small, {device = "cuda"}, torch.cuda

-- ---- the rows ------------------------------------------------------------------------------
-- amount: bytes or operations of a call; unit: what 1e9 or 1e12 of them in a second are called, or
-- ms. make() gives the call, and the library's where there is one.
local rows = {}
local function add(name, unit, amount, make)
  rows[#rows + 1] = {name = name, unit = unit, amount = amount, make = make}
end

local side = small and 64 or 4096 -- of a square of 64 MB
local bytes = side * side * 4
local function square() return torch.rand(side, side, dev) end

local function one_pass(name, passes, fn)
  add(name, "GB/s", passes * bytes, function()
    local x = square()
    return function() return fn(x) end
  end)
end

add("copy device to device", "GB/s", 2 * bytes, function()
  local x, y = square(), square()
  return function() y:copy_(x) end, function() return cuda._plain(y, x) end
end)
add("copy host to device, pinned", "GB/s", bytes, function()
  local x, pinned = square(), torch.rand(side, side):pin_memory()
  return function() x:copy_(pinned, {non_blocking = true}) end
end)
add("copy host to device, pageable", "GB/s", bytes, function()
  local x, host = square(), torch.rand(side, side)
  return function() x:copy_(host) end
end)
add("copy device to host, pinned", "GB/s", bytes, function()
  local x, pinned = square(), torch.rand(side, side):pin_memory()
  return function() pinned:copy_(x, {non_blocking = true}) end
end)
add("add", "GB/s", 3 * bytes, function()
  local x, y = square(), square()
  return function() return x + y end
end)
one_pass("mul by a number", 2, function(x) return x * 1.5 end)
one_pass("relu", 2, function(x) return x:relu() end)
one_pass("gelu", 2, function(x) return F.gelu(x) end)
one_pass("exp", 2, function(x) return x:exp() end)
one_pass("sum", 1, function(x) return x:sum() end)
one_pass("softmax", 2, function(x) return x:softmax(-1) end)
add("layer norm", "GB/s", 2 * bytes, function()
  local x, w, b = square(), torch.ones(side, dev), torch.zeros(side, dev)
  return function() return F.layer_norm(x, {side}, w, b) end
end)
one_pass("transpose", 2, function(x) return x:t():contiguous() end)
add("add of one element", "ms", 0, function()
  local one = torch.ones(1, dev)
  return function() return one + one end
end)

for _, kind in ipairs {{"fp32", "float32", false}, {"tf32", "float32", true},
                       {"fp16", "float16", false}, {"bf16", "bfloat16", false}} do
  for _, n in ipairs(small and {48} or {512, 1024, 2048, 4096, 8192}) do
    add("gemm " .. kind[1] .. " " .. n, "TFLOP/s", 2 * n ^ 3, function()
      local dtype = torch[kind[2]]
      local a, b = torch.rand(n, n, dev):to(dtype), torch.rand(n, n, dev):to(dtype)
      local c = torch.empty(n, n, {device = "cuda", dtype = dtype})
      torch.backends.cuda.matmul.allow_tf32 = kind[3]
      return function() return a:mm(b) end, function() return cuda._plain(c, a, b) end
    end)
  end
end

local function training(name, make, ...)
  local shape = {...}
  add(name, "ms", 0, function()
    torch.backends.cuda.matmul.allow_tf32 = false
    torch.backends.cudnn.allow_tf32 = false
    local model = make():to("cuda")
    local images = torch.rand(table.unpack(shape)):cuda()
    local labels = torch.randint(0, 10, {shape[1]}):cuda()
    local opt = optim.Adam(model:parameters(), {lr = 1e-3})
    return function()
      opt:zero_grad()
      F.cross_entropy(model(images), labels):backward()
      opt:step()
    end
  end)
end
local batch = small and 4 or 256
training("training step, MLP", device.mlp, batch, 784)
training("training step, CNN", device.cnn, batch, 1, 28, 28)

-- ---- measuring -----------------------------------------------------------------------------
local scale = {["GB/s"] = 1e-6, ["TFLOP/s"] = 1e-9}

local function report(row)
  local ours, library = row.make()
  if library and not library() then library = nil end
  local mine, theirs = measure.ms(ours, library)
  local function value(ms) return scale[row.unit] and row.amount * scale[row.unit] / ms or ms end
  print(json.encode {name = row.name, unit = row.unit, value = value(mine), ms = mine,
                     library = theirs and value(theirs)})
  io.stdout:flush()
end

if device.names then
  for _, row in ipairs(rows) do print(row.name) end
  return
end
local card = cuda.get_device_properties(0)
print(json.encode {
  card = card.name, capability = card.major .. "." .. card.minor, memory = card.total_memory,
  multiprocessors = card.multi_processor_count, libraries = dlrepl._facts().cuda or "",
})
for _, row in ipairs(rows) do
  report(row)
  collectgarbage()
  cuda.empty_cache()
end
