-- sim_simulate.lua -- dlrepl.simulate: cards, options, files, faults; what a simulated GPU does
local tap = require "tap"

local cuda = torch.cuda
local on = {device = "cuda"}

-- ---- cards --------------------------------------------------------------------------------------
tap.is(#dlrepl.cards(), 13, "there are 13 cards")
tap.like(tostring(dlrepl.cards()), "Tesla T4 +14%.56 +65", "they print as a table")
tap.is(dlrepl.cards("t4").fp16, 65.0, "a figure is a field")
tap.is(dlrepl.cards("t4").bf16, nil, "unknown is nil")
tap.like(tostring(dlrepl.cards("4090")), "bandwidth +1008 GB/s +spec +high", "with its source")
tap.raises(function() dlrepl.cards("t5") end, "ValueError: there is no card 't5'…", "a slip")

-- ---- opening ------------------------------------------------------------------------------------
tap.is(cuda.is_available(), false, "nothing is simulated unless asked for")
tap.is(dlrepl.is_simulated(), false, "and it says so")
tap.raises(function() dlrepl.gpu() end, "RuntimeError: no GPU is simulated…", "no report either")
dlrepl.simulate("t4")
tap.is(cuda.is_available(), true, "simulate gives a GPU")
tap.is(dlrepl.is_simulated(), true, "is_simulated tells")
tap.is(cuda.get_device_name(), "Tesla T4 [SIMULATED]", "so does its name")
local major, minor = cuda.get_device_capability()
tap.is(major * 10 + minor, 75, "compute capability 7.5")
tap.close((torch.ones(3, on) * 2):cpu(), {2, 2, 2}, 0, "and it computes")
dlrepl.simulate {card = "RTX 4090", count = 2}
tap.is(cuda.device_count(), 2, "another simulation takes its place")
tap.is(cuda.get_device_name(1), "NVIDIA GeForce RTX 4090 [SIMULATED]", "two of another card")
dlrepl.simulate {card = {"t4", "a100-80"}}
tap.is(cuda.get_device_name(1), "NVIDIA A100-SXM4-80GB [SIMULATED]", "or two different ones")
dlrepl.simulate {card = "t4", memory = "1GiB"}
local free, total = cuda.mem_get_info()
tap.is(total, 2 ^ 30 | 0, "with the memory that is asked for")
dlrepl.simulate(false)
tap.is(cuda.is_available(), false, "false ends it")
dlrepl.simulate(false)
tap.ok(true, "twice does no harm")

-- ---- what makes no sense ------------------------------------------------------------------------
local function refused(options, want, name)
  tap.raises(function() dlrepl.simulate(options) end, want, name)
  tap.is(cuda.is_available(), false, name .. ": nothing is open")
end
refused("t44", "ValueError: there is no card 't44'…", "no such card")
refused({card = "t4", conut = 2},
        "TypeError: simulate() got an unexpected keyword argument 'conut'…", "a slip in an option")
refused({card = "t4", count = 17}, "ValueError: 1 to 16 GPUs can be simulated, not 17", "17 GPUs")
refused({card = "t4", count = 0}, "ValueError: 1 to 16 GPUs can be simulated, not 0", "no GPU")
refused({card = "t4", memory = 0}, "ValueError: simulate(): memory must be positive, not 0",
        "capacity zero")
refused({card = "t4", memory = "a lot"}, "ValueError: simulate(): memory is a number of bytes…",
        "a capacity in words")
refused({card = "t4", memory = 1000}, "ValueError: a simulated card has at least 8 MiB…",
        "a card of 1000 bytes")
refused({card = "t4", device = "xpu"}, "ValueError: a simulated GPU stands as 'cuda' or 'mps'…",
        "another device")
refused({card = "t4", host_us_per_op = -1}, "ValueError: simulate(): host_us_per_op…",
        "ops before time")
refused({card = {base = "t4", fields = {bandwidth = -3}}},
        "ValueError: bandwidth of a card cannot be -3 GB/s", "an absurd figure")
refused({card = {base = "h100", fields = {fp16 = 1979}}},
        "ValueError: card h100: fp16 is above what its SMs can do…", "a sparse peak")
refused({card = {base = "t4", fields = {speed = 1}}}, "ValueError: a card has no field 'speed'",
        "an unknown field")
refused({card = {name = "mine", fields = {bandwidth = 100}}}, "ValueError: card mine says no cc",
        "a card with holes")
refused({card = 42}, "TypeError: simulate(): argument 'card' must be…", "a number for a card")
refused({file = "/nonexistent.json"}, "OSError: /nonexistent.json…", "a file that is not there")

for i, spec in ipairs {{}, {cards = 1}, {cards = {}}, {cards = {true}},
    {cards = {{figures = {1}}}}, {cards = {{figures = {{value = 1}}}}}, {cards = {{base = "t4"}}, memory = -1}} do
  tap.is(pcall(dlrepl._sim_open, spec), false, "the binding refuses nonsense, case " .. i)
end
tap.is(cuda.is_available(), false, "and nothing is open")
for _, options in ipairs {"", 0 / 0, {card = {}}, {card = ("x"):rep(1000)},
    {card = "t4", count = 1.5}, {card = "t4", memory = 0 / 0}, {card = "t4", memory = math.huge}, {card = {"t4", 5}},
    {card = {base = 5}}, {card = {base = "t4", fields = {clock = "fast"}}}, true} do
  tap.is(pcall(dlrepl.simulate, options), false, "so does simulate")
end
dlrepl.simulate "t4"
pcall(dlrepl.simulate, {card = {base = "t4", fields = {bandwidth = -3}}})
tap.is(cuda.get_device_name(), "Tesla T4 [SIMULATED]", "a card that makes no sense changes nothing")
dlrepl.simulate(false)

-- ---- a card of one's own ------------------------------------------------------------------------
local path = os.tmpname()
local function write(text)
  local f <close> = io.open(path, "w")
  f:write(text)
end
write [[{"name": "slow", "title": "Slow GPU", "base": "t4", "fields": {
  "bandwidth": {"value": 10, "unit": "GB/s", "kind": "measured", "source": "my bench",
                "date": "2026-11-30", "confidence": "low"}, "tdp": null}}]]
dlrepl.simulate {file = path}
tap.is(cuda.get_device_name(), "Slow GPU [SIMULATED]", "a card from a file")
local function seconds(n)
  local a, b = cuda.Event {enable_timing = true}, cuda.Event {enable_timing = true}
  local x = torch.ones(n, on)
  a:record()
  local _ = x + 1
  b:record()
  cuda.synchronize()
  return a:elapsed_time(b) / 1e3
end
tap.close(torch.tensor(seconds(10000000)), 8e7 / (10e9 * 0.88), 2e-4, "has the bandwidth it says")
write '{"fields": {"bandwidth": {"value": 10, "unit": "TB/s"}}, "base": "t4"}'
tap.raises(function() dlrepl.simulate {file = path} end,
           "ValueError: bandwidth of a card is in GB/s, not in TB/s", "a wrong unit")
write '{"base": "t4", '
tap.raises(function() dlrepl.simulate {file = path} end, "ValueError: JSON: …", "half a file")
os.remove(path)

-- ---- tensors that live --------------------------------------------------------------------------
dlrepl.simulate "t4"
local x = torch.ones(256, on)
tap.raises(function() dlrepl.simulate "a100-40" end,
           "RuntimeError: 1 tensor on the GPU (1.00 KiB) would lose its values…",
           "a GPU with tensors does not go away unasked")
tap.is(cuda.get_device_name(), "Tesla T4 [SIMULATED]", "it stays")
dlrepl.simulate {card = "a100-40", force = true}
tap.raises(function() return x + 1 end, "RuntimeError: …", "forced, the tensors are empty shells")
x = nil

-- ---- memory that nothing was written to ---------------------------------------------------------
dlrepl.simulate {card = "b200", host = "16MiB"}
do
  local kernels = dlrepl.gpu().kernels
  local room = torch.empty(10000, 1000000, on)
  tap.is(cuda.memory_allocated(), 40000000000 // 512 * 512, "40 GB that nobody has written to")
  tap.is(dlrepl.gpu().kernels, kernels, "take no kernel")
  room[7][5] = 3
  tap.is(room[7][5]:item(), 3.0, "and hold what is written to a part")
  room = nil
end

-- ---- values and none ----------------------------------------------------------------------------
dlrepl.simulate {card = "b200", host = "16MiB"}
tap.raises(function() return torch.ones(100, 1000, 1000, on) end,
           "RuntimeError: the host is short: …", "values that this machine cannot hold")
tap.close(torch.ones(3, on):cpu(), {1, 1, 1}, 0, "small ones go on")
dlrepl.simulate {card = "b200", compute = false}
local big = torch.ones(100, 1000, 100000, on)
tap.is(cuda.memory_allocated(), 40000000000 // 512 * 512, "without values 40 GB are no matter")
local sum = (big * 2):sum()
tap.is(#sum.shape, 0, "shapes are right")
big, sum = nil, nil

-- ---- errors that come late ----------------------------------------------------------------------
dlrepl.simulate "t4"
local logits, labels = torch.randn(2, 3, on), torch.tensor({1, 7}, on)
local loss = F.cross_entropy(logits, labels)
tap.raises(function() return loss:item() end, "AcceleratorError: CUDA error: device-side assert…",
           "a bad label is met at the next synchronisation")
local _, e = pcall(function() return torch.ones(2, on) end)
tap.like(tostring(e), "^AcceleratorError: CUDA error: device%-side assert",
         "and by everything after it")
tap.like(tostring(e), "the kernel on device 0 said: Target 7 is out of bounds",
         "with what the kernel said")
dlrepl.reset_device()
tap.close(torch.ones(2, on):cpu(), {1, 1}, 0, "until the device is reset")
logits, labels, loss = nil, nil, nil

-- ---- faults on demand ---------------------------------------------------------------------------
dlrepl.simulate "t4"
dlrepl.debug.sim {refuse = 1, times = 9}
tap.raises(function() return torch.ones(2, on) end, "OutOfMemoryError: CUDA out of memory…",
           "an allocation refused is out of memory")
dlrepl.debug.sim {refuse = 0}
tap.close(torch.ones(2, on):cpu(), {1, 1}, 0, "the session goes on")
dlrepl.debug.sim {lose = true}
tap.raises(function() return torch.ones(2, on) end, "AcceleratorError: CUDA error: …",
           "a lost device says so")
dlrepl.reset_device()

-- ---- late copies --------------------------------------------------------------------------------
local late = torch.full({3}, 5.0, on):to("cpu", {non_blocking = true})
tap.ok(late[0]:item() ~= late[0]:item(), "a copy nobody waited for is nan")
cuda.synchronize()
tap.close(late, {5, 5, 5}, 0, "and right after a synchronisation")

-- ---- the clock ----------------------------------------------------------------------------------
local function train()
  dlrepl.simulate {card = "a100-40", force = true}
  torch.manual_seed(0)
  local model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)):cuda()
  local opt = optim.SGD(model:parameters(), {lr = 0.1})
  local input = torch.randn(32, 64, on)
  local target = torch.zeros(32, {dtype = torch.long, device = "cuda"})
  for _ = 1, 5 do
    opt:zero_grad()
    F.cross_entropy(model(input), target):backward()
    opt:step()
  end
  cuda.synchronize()
  return dlrepl.gpu()
end
local first, again = train(), train()
tap.is(first.host_us, again.host_us, "the same program takes the same microseconds")
tap.is(first.kernels, again.kernels, "and launches the same kernels")
tap.ok(first.utilization > 0 and first.utilization < 0.6, "a small model leaves the GPU idle")
tap.like(tostring(first), "SIMULATED", "the report says that it is simulated")
tap.like(tostring(first), "utilisation +%d+ %%", "with utilisation")
tap.like(tostring(first), "error band .*products %+%-15 %%.* launch overhead x2",
         "and its error band, by what a kernel does")
tap.ok(cuda.utilization() > 0, "torch.cuda.utilization() knows it too")

-- ---- as mps -------------------------------------------------------------------------------------
dlrepl.simulate {card = "t4", device = "mps", force = true}
tap.is(torch.backends.mps.is_available(), true, "it can stand as mps")
tap.is(cuda.is_available(), false, "then there is no cuda")
tap.is(tostring((torch.ones(2, {device = "mps"}) + 1).device), "mps:0", "and computes there")
dlrepl.simulate(false, {force = true})
tap.is(torch.backends.mps.is_available(), false, "gone again")

-- ---- the context ------------------------------------------------------------------------
dlrepl.simulate {card = "t4", memory = "8GiB", force = true}
tap.like(tostring(dlrepl.gpu()), "memory +8.00 GiB, of which the CUDA context takes 450 MiB\n",
  "the context is charged, and said")
dlrepl.simulate {card = "t4", memory = "64MiB", force = true}
tap.like(tostring(dlrepl.gpu()), "memory +0.06 GiB, so small that no CUDA context is charged",
  "a card too small for one says that it is not")
local _, small = pcall(torch.empty, 2 ^ 26, {device = "cuda"})
tap.like(tostring(small), "so small that no CUDA context is charged", "so does its out of memory")
dlrepl.simulate(false, {force = true})
tap.done()
