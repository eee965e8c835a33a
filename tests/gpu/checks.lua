-- checks.lua -- devices, memory and training on a GPU, whatever it is
--
-- For tests/gpu/run; the GPU is to be used by nobody else meanwhile.

local t = require "tap"
local device = require "device"
local cuda = torch.cuda
local MiB = 2 ^ 20 // 1 | 0
local dev = {device = "cuda"}

-- ---- devices -------------------------------------------------------------------------------
t.ok(cuda.is_available() and cuda.device_count() > 0, "there is a GPU: " .. cuda.get_device_name())
t.is(dlrepl.is_simulated(), device.simulated == true, "it is what was asked for")
for _, name in ipairs {"float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"} do
  local x = (torch.arange(1000) % 7):to(torch[name])
  t.ok(torch.equal(x:cuda():cpu(), x), name .. " goes there and comes back")
end
local rows = torch.arange(12.0):reshape(3, 4)
t.ok(torch.equal(rows:t():cuda():cpu(), rows:t()), "so does a transposed view")
t.ok(torch.equal(rows:pin_memory():to("cuda", {non_blocking = true}):cpu(), rows),
     "and a pinned tensor, without waiting")
t.raises(function() return torch.ones(2):cuda() + torch.ones(2) end,
         "RuntimeError: Expected all tensors to be on the same device, but found at least two "
         .. "devices, cuda:0 and cpu!…", "two devices in one call: PyTorch's error")
t.raises(function() return torch.ones(2, {device = "cuda:15"}) end,
         "AcceleratorError: CUDA error: invalid device ordinal…", "a card that is not there")

-- ---- streams and events --------------------------------------------------------------------
local a, b = cuda.Event({enable_timing = true}), cuda.Event({enable_timing = true})
a:record()
local n = device.small and 4096 or MiB
local x = torch.ones(n, dev)
for _ = 1, 20 do x = x + 1 end
b:record()
b:synchronize()
t.ok(a:elapsed_time(b) > 0, "events measure time (" .. a:elapsed_time(b) .. " ms for 20 adds)")
t.is(x:sum():item(), 21.0 * n, "and the work in between is done")
local side = cuda.Stream()
local y
side:wait_stream(cuda.current_stream())
cuda.stream(side, function() y = x * 2 end)
cuda.current_stream():wait_stream(side)
t.is(y:mean():item(), 42.0, "one stream waits for another")
x, y = nil, nil

-- ---- the pool ------------------------------------------------------------------------------
t.is(device.settled(), 0, "garbage is given back")
cuda.empty_cache()
local free, total = cuda.mem_get_info()
local reserved = cuda.memory_reserved()
t.ok(free <= total and free > 0, "free and total memory: " .. free // MiB .. " of "
     .. total // MiB .. " MiB")
local one = torch.ones(1, dev)
t.is(cuda.memory_allocated(), 512, "one float takes 512 bytes")
t.is(cuda.memory_reserved() - reserved, 2 * MiB, "of a segment of 2 MiB")
local sizes, kept = {3, 10, 34, 64, 200}, {}
for i, m in ipairs(sizes) do kept[i] = torch.empty(m * MiB // 4, dev) end
local taken = free - cuda.mem_get_info()
local pool = cuda.memory_reserved() - reserved
t.is(taken, pool, "the driver has as many bytes less as the pool has more")
t.is(cuda.memory_allocated() - 512, (3 + 10 + 34 + 64 + 200) * MiB, "tensors take their bytes")
one, kept = nil, nil
t.is(device.settled(), 0, "nothing is left of them")
t.ok(cuda.memory_reserved() >= pool, "the pool keeps its segments")
cuda.empty_cache()
t.is(cuda.memory_reserved(), reserved, "until empty_cache")
t.is(cuda.mem_get_info(), free, "then the driver has all back")

-- ---- training ------------------------------------------------------------------------------
local square = torch.ones(64, 64, dev)
square = F.linear(square:mm(square), square, torch.ones(64, dev)):sum():item() and nil
local workspace = device.settled() -- what the first products take, as PyTorch's do, and keep
local function train(where, make, shape, steps, dtype)
  torch.manual_seed(0)
  local model, data = make(), torch.rand(table.unpack(shape))
  local label = torch.randint(0, 10, {shape[1]})
  model:to(where)
  local images, labels = data:to(where), label:to(where)
  local opt = optim.Adam(model:parameters(), {lr = 1e-3})
  local scaler = dtype == torch.float16 and torch.amp.GradScaler(where)
  local function loss() return F.cross_entropy(model(images), labels) end
  local losses = {}
  for i = 1, steps do
    opt:zero_grad()
    local l = dtype and torch.autocast({device_type = where, dtype = dtype}, loss) or loss()
    if scaler then
      scaler:scale(l):backward()
      scaler:step(opt)
      scaler:update()
    else
      l:backward()
      opt:step()
    end
    losses[i] = l:item()
  end
  return losses
end
local nets = {{"an MLP", device.mlp, {device.small and 8 or 64, 784}},
              {"a CNN", device.cnn, {device.small and 2 or 16, 1, 28, 28}}}
for _, n in ipairs(nets) do
  local name, make, shape = table.unpack(n)
  t.close(train("cuda", make, shape, 5), train("cpu", make, shape, 5), 2e-3,
          name .. " trains as on the CPU")
end
for _, dtype in ipairs {torch.float16, torch.bfloat16} do
  local l = train("cuda", device.mlp, {16, 784}, 8, dtype)
  t.ok(l[8] < l[1] and l[8] == l[8], "mixed precision trains (" .. tostring(dtype) .. ": " .. l[1]
       .. " to " .. l[8] .. ")")
end

-- ---- leaks ---------------------------------------------------------------------------------
t.is(device.settled(), workspace, "after training nothing but the products' workspace is allocated")
local model = device.mlp():cuda()
local opt = optim.SGD(model:parameters(), {lr = 0.01})
local images = torch.rand(32, 784, dev)
local function step()
  opt:zero_grad()
  model(images):sum():backward()
  opt:step()
end
for _ = 1, 3 do step() end
local before, segments = device.settled(), cuda.memory_reserved()
for _ = 1, device.small and 20 or 300 do step() end
t.is(device.settled(), before, "many steps leave as many bytes as three")
t.is(cuda.memory_reserved(), segments, "and take no more of the card")
t.done()
