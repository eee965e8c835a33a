-- record_cuda.lua -- the run record and the memory tools on a (simulated) GPU
local tap = require "tap"
local record = dlrepl.debug.record

if not torch.cuda.is_available() then dlrepl.simulate("t4") end

-- one training step, everything counted ----------------------------------------------------------
torch.manual_seed(0)
local model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)):to("cuda")
local opt = optim.Adam(model:parameters(), {lr = 1e-2})
local scaler = torch.amp.GradScaler("cuda")
local ds = TensorDataset(torch.randn(128, 64), torch.randint(10, {128}))
local bytes = (64 * 128 + 128 + 128 * 10 + 10) * 4

local r = record(function()
  for x, y in DataLoader(ds, {batch_size = 64}) do
    x, y = x:to("cuda"), y:to("cuda")
    opt:zero_grad()
    local loss = torch.autocast("cuda", function() return F.cross_entropy(model(x), y) end)
    scaler:scale(loss):backward()
    scaler:step(opt)
    scaler:update()
  end
end, {watch = model, exact = true})
tap.is(r.error, nil, "an AMP loop is recorded on a GPU")
tap.is(r.copies.h2d.count, 4, "two batches went to the device")
tap.is(r.copies.h2d.by_role.batch, 128 * 64 * 4 + 128 * 8, "known as batches")
tap.is(r.copies.d2h.by_role.parameter, 0, "no parameter came back")
tap.is(r.syncs_by_reason["copy to the host"], 2, "the scaler waits once a step")
tap.is(r.optimizer.taken, 2, "two steps")
local gpu = r.memory["cuda:0"]
tap.ok(gpu.start_by_role.parameter == bytes, "parameters on the device")
tap.is(gpu.now_by_role.gradient, bytes, "gradients")
tap.is(gpu.now_by_role["optimizer state"], 2 * bytes, "Adam's state")
tap.ok(gpu.peak_by_role["saved activation"] > 0, "what backward needed")
tap.is(gpu.now_by_role["saved activation"], 0, "which is gone")
tap.ok(gpu.reserved >= gpu.now and gpu.capacity > gpu.reserved, "the pool's figures are there")
if dlrepl.is_simulated() then
  local v = r.virtual_seconds
  tap.ok(v.forward > 0 and v.backward > 0 and v.optimizer > 0 and v.copy > 0
         and v.elapsed >= v.forward + v.backward + v.optimizer + v.copy - 1e-9 and v.busy > 0,
         "virtual time by stage")
  local x = torch.ones(1024, 1024, {device = "cuda"})
  local ahead = record(function() for _ = 1, 20 do x:mm(x) end end).virtual_seconds
  tap.ok(ahead.busy > 0 and ahead.busy <= ahead.elapsed,
         "the clock goes on to the end of what nobody waited for")
end
local changed, half = 0, 0
for _, p in ipairs(r.params) do
  if p.changed and p.grad == "finite" and p.delta_norm > 0 then changed = changed + 1 end
end
for _, o in ipairs(r.ops) do
  if o.op == "addmm" and o.dtype == "float16" and o.autocast then half = half + 1 end
end
tap.is(changed, 4, "every parameter changed, seen without waiting for the device")
tap.is(half, 4, "the products ran in float16")
tap.is(r.scales[2], 65536.0, "the scale is known, too")
local mixed = 0
for _, o in ipairs(r.ops) do if not o.one_device then mixed = mixed + 1 end end
tap.is(mixed, 4, "only the copies touch two devices")

-- values lost on the device -----
do
  local t = torch.full({5}, 1e-4, {dtype = torch.float16, device = "cuda"})
  r = record(function()
    local _ = t * t
    return torch.tensor({1e-8, 70000.0}, {device = "cuda"}):half()
  end)
  tap.is(r.by_op.mul.flushed, 5, "values flushed to zero by a kernel of the device")
  tap.is(r.overflowed, 1, "and those that overflowed")
end

-- checkpoint, saved tensors on the host, held graphs -----
do
  local x = torch.ones(64, 64, {device = "cuda", requires_grad = true})
  local function drop(t) return F.dropout(t, 0.5) end
  for _, reentrant in ipairs {false, true} do
    x.grad = nil
    local y = torch.utils.checkpoint.checkpoint(drop, x, {use_reentrant = reentrant})
    y:sum():backward()
    tap.ok(torch.equal(y:detach(), x.grad), "dropout on the device falls on the same elements, "
      .. (reentrant and "reentrant" or "with hooks"))
  end
  x.grad = nil
  r = record(function()
    torch.autograd.graph.save_on_cpu(function() return (x * 2):exp():sum() end):backward()
  end)
  tap.is(r.copies.d2h.bytes, 64 * 64 * 4, "save_on_cpu takes what exp saves to the host")
  tap.is(r.copies.h2d.bytes, 64 * 64 * 4, "and brings it back")
  tap.close(x.grad[{0, 0}]:item(), 2 * math.exp(2), 1e-4, "for the same gradient")
  held = (x * 2):exp()
  local g = dlrepl.graphs()[1]
  tap.is(g.path .. " " .. g.bytes, "held 16384", "a graph on the device is found")
  tap.like(g.where or "", "record_cuda.lua:%d+", "with the line that made it")
  held = nil
end

-- a scaled inf is found there -----
do
  local w = nn.Parameter(torch.ones(4, {device = "cuda"}))
  local o, s = optim.SGD({w}, {lr = 0.1}), torch.amp.GradScaler("cuda", 4.0)
  s:scale(w:sum()):backward()
  w.grad[2] = math.huge
  s:step(o)
  s:update()
  tap.is(w:sum():item() .. " " .. s:get_scale(), "4.0 2.0", "inf on the device skips the step")
  s:scale(w:sum()):backward()
  tap.is(torch.cuda.amp.GradScaler ~= nil, true, "torch.cuda.amp is there")
end
tap.done()
