-- bench.lua -- the measured programs, ours: one JSON object a line on standard output
--
-- For tests/bench/run.py, which runs this and bench.py in turn and prints ratios.
-- Usage: dlrepl bench.lua THREADS [NAME …]
-- INVARIANT  bench.py times the same work under the same names.

local threads = math.tointeger(arg[1] or 1)
torch.set_num_threads(threads)
local only = {}
for i = 2, #arg do only[arg[i]] = true end

local clock = dlrepl.clock -- seconds, monotonic

-- Median of `rounds` samples of at least 60 ms each; seconds a call.
local function measure(fn, rounds)
  fn()
  local n, t = 1, 0
  while true do
    local t0 = clock()
    for _ = 1, n do fn() end
    t = clock() - t0
    if t > 0.06 then break end
    n = math.ceil(n * math.max(2, math.min(100, 0.08 / math.max(t, 1e-7))))
  end
  local s = {}
  for r = 1, rounds do
    local t0 = clock()
    for _ = 1, n do fn() end
    s[r] = (clock() - t0) / n
  end
  table.sort(s)
  return s[(#s + 1) // 2]
end

local function once_each(fn, rounds)
  local s = {}
  for r = 1, rounds do
    local t0 = clock()
    fn()
    s[r] = clock() - t0
  end
  table.sort(s)
  return s[(#s + 1) // 2]
end

local programs = {}
local function bench(name, make, rounds)
  programs[#programs + 1] = {name = name, make = make, rounds = rounds or 7}
end

-- Of two programs of a hundred ops each: what one op of the second takes more. They run in turn and
-- the best of each counts, as the difference is a hundredth of the whole.
local function more(a, b)
  local best = {math.huge, math.huge}
  for _ = 1, 400 do
    for k, fn in ipairs {a, b} do
      local t0 = clock()
      for _ = 1, 7 do fn() end -- 700 tensors: less than two collections are apart
      best[k] = math.min(best[k], (clock() - t0) / 700)
    end
  end
  return best[2] - best[1]
end

local function compare(name, make)
  programs[#programs + 1] = {name = name, make = make, two = true}
end

local function hundred(fn)
  return function() for _ = 1, 100 do fn() end end
end

-- One step of a small CNN on 28 x 28 images.
local function cnn_step(amp)
  torch.manual_seed(0)
  local x, y = torch.rand(64, 1, 28, 28), torch.randint(0, 10, {64})
  local model = nn.Sequential(
    nn.Conv2d(1, 32, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, {padding = 1}), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(64 * 49, 10))
  local opt = optim.Adam(model:parameters(), {lr = 1e-3})
  return function()
    opt:zero_grad()
    local loss = torch.autocast({device_type = "cpu", enabled = amp},
      function() return F.cross_entropy(model(x), y) end)
    loss:backward()
    opt:step()
  end
end

bench("100 adds, 16 elements", function()
  local x, y = torch.ones(16), torch.ones(16)
  return hundred(function() return x + y end)
end)
bench("100 adds, 16 elements, with graph", function()
  local x, y = torch.ones(16, {requires_grad = true}), torch.ones(16)
  return hundred(function() return x + y end)
end)
bench("100 muls by a number, 16 elements", function()
  local x = torch.ones(16)
  return hundred(function() return x * 2.5 end)
end)
bench("100-op chain, forward and backward", function()
  local x, y = torch.ones(16, {requires_grad = true}), torch.full({16}, 1.01)
  return function()
    local h = x
    for _ = 1, 50 do h = h * y; h = h + y end
    h:sum():backward()
    x.grad = None
  end
end)
for label, n in pairs {["1e6"] = 1000000, ["1e7"] = 10000000} do
  bench("add, " .. label, function()
    local x, y = torch.rand(n), torch.rand(n)
    return function() return x + y end
  end)
end
for _, op in ipairs {"tanh", "gelu", "exp", "sigmoid", "relu", "sum"} do
  bench(op .. ", 1e6", function()
    local x = torch.randn(1000000)
    local f = op == "gelu" and F.gelu or torch[op]
    return function() return f(x) end
  end)
end
bench("softmax, 1000x1000", function()
  local x = torch.randn(1000, 1000)
  return function() return x:softmax(1) end
end)
bench("layer_norm, 1000x1000", function()
  local x, w, b = torch.randn(1000, 1000), torch.ones(1000), torch.zeros(1000)
  return function() return F.layer_norm(x, {1000}, w, b) end
end)
bench("sgemm 1024", function()
  local a, b = torch.rand(1024, 1024), torch.rand(1024, 1024)
  return function() return a:mm(b) end
end)
bench("sgemm 64x784x128", function()
  local a, b = torch.rand(64, 784), torch.rand(784, 128)
  return function() return a:mm(b) end
end)
bench("gemm 1024, bfloat16", function()
  local a = torch.rand(1024, 1024):to(torch.bfloat16)
  return function() return a:mm(a) end
end)
-- What autocast adds to an op that it does not cast, and to a product whose cast weight is kept.
local function region(on, fn)
  return function() return torch.autocast({device_type = "cpu", enabled = on}, fn) end
end
compare("autocast on an op that it does not cast", function()
  local x = torch.ones(16)
  local fn = hundred(function() return x:relu() end)
  return region(false, fn), region(true, fn)
end)
compare("autocast on a product whose cast weight is kept", function()
  local x, w = torch.ones(4, 4):to(torch.bfloat16), nn.Parameter(torch.ones(4, 4))
  local narrow = nn.Parameter(w:detach():to(torch.bfloat16))
  return region(false, hundred(function() return x:mm(narrow) end)),
    region(true, hundred(function() return x:mm(w) end))
end)
bench("bmm 256x16x16x16", function()
  local a, b = torch.rand(256, 16, 16), torch.rand(256, 16, 16)
  return function() return a:bmm(b) end
end)
bench("conv2d 64x32x14x14 -> 64, forward and backward", function()
  local x = torch.rand(64, 32, 14, 14, {requires_grad = true})
  local w = torch.rand(64, 32, 3, 3, {requires_grad = true})
  local b = torch.rand(64, {requires_grad = true})
  return function() F.conv2d(x, w, b, {padding = 1}):sum():backward() end
end, 3)

-- 60,000 images through 784-128-10 in batches of 64; random pixels, so that no file is needed.
for _, amp in ipairs {false, true} do
  bench("MLP epoch, batch 64" .. (amp and ", bfloat16" or ""), function()
    torch.manual_seed(0)
    local images = torch.rand(60000, 784)
    local labels = torch.randint(0, 10, {60000})
    local model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
    local opt = optim.Adam(model:parameters(), {lr = 1e-3})
    return function()
      for i = 0, 60000 - 64, 64 do
        local x, y = images:narrow(0, i, 64), labels:narrow(0, i, 64)
        opt:zero_grad()
        local loss = torch.autocast({device_type = "cpu", enabled = amp},
          function() return F.cross_entropy(model(x), y) end)
        loss:backward()
        opt:step()
      end
    end
  end, 3)
end
bench("CNN step, batch 64", function()
  return cnn_step(false)
end, 3)
bench("CNN step, batch 64, bfloat16", function()
  return cnn_step(true)
end, 3)

for _, p in ipairs(programs) do
  if not next(only) or only[p.name] then
    local time = p.name:find("^MLP") and once_each or measure
    local t = p.two and more(p.make()) or time(p.make(), p.rounds)
    print(string.format('{"name": "%s", "seconds": %.6g}', p.name, t))
    io.stdout:flush()
  end
end
