-- record.lua -- the run record: what it counts, and that it changes nothing
local tap = require "tap"
local record = dlrepl.debug.record

local function sum(bytes)
  local n = 0
  for _, v in pairs(bytes) do n = n + v end
  return n
end

local function model()
  torch.manual_seed(0)
  return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
end

local function train(m, opt, steps)
  local x, y = torch.randn(5, 4), torch.tensor({0, 1, 0, 1, 1})
  for _ = 1, steps do
    opt:zero_grad()
    F.cross_entropy(m(x), y):backward()
    opt:step()
  end
end

-- ops -----------------------------------------------------------------------------------------
do
  local a, b = torch.ones(3, 4), torch.ones(4, 5)
  local r = record(function() return (a:mm(b) + 1):sum() end)
  tap.is(#r.ops, 3, "each op is logged")
  tap.is(r.ops[1].op, "mm", "in the order in which they end")
  tap.is(r.flops, 2 * 3 * 4 * 5 + 15 + 15, "a product is two operations, a sum one an element")
  tap.is(r.kernels, 3, "three kernels ran")
  tap.is(table.concat(r.ops[1].shape, "x"), "3x5", "the log knows the result's shape")
  tap.is(r.ops[1].dtype .. " " .. r.ops[1].device, "float32 cpu", "and its dtype and device")
  tap.ok(r.ops[1].one_device, "operands and result are on one device")
  tap.is(r.results[1]:item(), 75.0, "what the function returned is in results")
  tap.is(r.by_op.mm.calls, 1, "calls are counted by op")
end
do
  local lin = nn.Linear(4, 2)
  local x = torch.randn(3, 4)
  local r = record(function() return lin(x) end)
  local depth = {}
  for _, o in ipairs(r.ops) do depth[o.op] = o.depth end
  tap.is(depth.linear, 0, "an op that the program calls has depth 0")
  tap.is(depth.addmm, 1, "one that a composite calls has depth 1")
  tap.is(r.modules[1].name, "Linear", "module calls are logged")
  tap.ok(r.modules[1].training, "with their mode")
  lin:eval()
  r = record(function() torch.no_grad(function() lin(x) end) end)
  tap.ok(not r.modules[1].training and not r.modules[1].grad, "eval and no_grad are seen")
  tap.ok(not r.ops[1].grad, "the mode of each op is kept")
end

-- training ------------------------------------------------------------------------------------
do
  local m = model()
  local opt = optim.SGD(m:parameters(), {lr = 0.1})
  local r = record(function() train(m, opt, 3) end, {watch = m})
  tap.is(r.error, nil, "a training loop is recorded")
  tap.is(r.optimizer.taken, 3, "three steps")
  tap.is(r.optimizer.updates, 12, "of four parameters each")
  tap.is(r.graph.backward_calls, 3, "three backward calls")
  tap.is(r.graph.nodes_end, r.graph.nodes_start, "no graph is left")
  local names, changed = {}, 0
  for i, p in ipairs(r.params) do
    names[i] = p.name
    if p.changed and p.delta_norm > 0 and p.grad == "finite" and p.grad_norm > 0 then
      changed = changed + 1
    end
  end
  tap.is(table.concat(names, " "), "0.weight 0.bias 2.weight 2.bias", "watched by name")
  tap.is(changed, 4, "each changed and has a gradient that is finite")
  tap.is(r.params[1].updates, 3, "a parameter's updates are counted")
end
do
  local m = model()
  local opt = optim.SGD(m:parameters(), {lr = 0.0})
  m[0].weight.requires_grad = false
  local r = record(function() train(m, opt, 1) end, {watch = m})
  tap.is(r.params[1].grad, "none", "a frozen parameter has no gradient")
  tap.ok(not r.params[3].changed, "lr 0 changes no bit")
  tap.is(r.params[3].delta_norm, 0.0, "and moves nothing")
end
do
  local w = torch.ones(3, {requires_grad = true})
  local r = record(function()
    (w * 2):sum():backward()
    torch.no_grad(function() w:sub_(w.grad) end)
  end, {watch = {w = w}})
  tap.ok(r.params[1].changed, "an update by hand is seen")
  tap.is(r.params[1].updates, 1, "as one update")
end

do
  local m = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
  local opt = optim.SGD({{params = m[0]:parameters()}, {params = m[1]:parameters(), lr = 0.5}},
                        {lr = 0.25})
  local function step()
    opt:zero_grad()
    m(torch.randn(6, 4)):sum():backward()
    opt:step()
  end
  local r = record(function() step() step() end, {watch = m})
  tap.is(table.concat(r.optimizer.lr[2], " "), "0.25 0.5", "learning rates by step and group")
  tap.is(r.buffers[1].name .. " " .. tostring(r.buffers[1].changed), "1.running_mean true",
         "buffers are watched too")
  m:eval()
  r = record(function() m(torch.randn(6, 4)) end, {watch = m})
  tap.ok(not r.buffers[1].changed, "eval leaves them alone")
  tap.is(#r.params, 4, "they are no parameters")
end

-- hooks and loaders ---------------------------------------------------------------------------
do
  local m = model()
  m[0]:register_forward_pre_hook(function() end)
  m[0]:register_forward_hook(function() end)
  m[2].weight:register_hook(function() end)
  m[2].bias:register_post_accumulate_grad_hook(function() end)
  local opt = optim.SGD(m:parameters(), {lr = 0.1})
  local r = record(function() train(m, opt, 2) end, {watch = m})
  local seen = {}
  for i, h in ipairs(r.hooks) do seen[i] = h.kind .. " " .. h.name .. " " .. h.count end
  table.sort(seen)
  tap.is(table.concat(seen, ", "), "forward 0 2, forward_pre 0 2, post_accumulate_grad 2.bias 2, "
         .. "tensor 2.weight 2", "hooks that ran, by kind and name")
  local w = torch.ones(2, {requires_grad = true})
  local same = function(t) return t end
  r = record(function()
    torch.autograd.graph.saved_tensors_hooks(same, same, function()
      return w:exp():sum()
    end):backward()
  end)
  tap.is(r.hooks[1].kind .. r.hooks[1].count .. r.hooks[2].kind, "pack1unpack",
         "hooks of saved tensors are")
end
do
  local slow = Dataset:class("Slow")
  function slow:len() return 6 end
  function slow:getitem(i)
    local until_ = dlrepl.clock() + 2e-3
    while dlrepl.clock() < until_ do end
    if rawget(self, "fails") then error("no such file") end
    return torch.ones(2):mul(i)
  end
  local data = slow()
  local r = record(function() for x in DataLoader(data, {batch_size = 2}) do x:exp() end end)
  tap.is(r.loader.batches .. " " .. r.loader.epochs, "3 1", "a loader's batches and epochs")
  tap.ok(r.loader.wait >= 0.012 and r.seconds.load == r.loader.wait,
         "the wait for them is a stage of its own")
  tap.ok(r.seconds.forward < r.loader.wait, "and no part of forward")
  tap.is(table.concat(r.loader.indices[1], " "), "0 1 2 3 4 5", "with the indices that it served")
  data.fails = true
  r = record(function() for _ in DataLoader(data) do end end)
  tap.ok(r.error and r.loader.wait >= 2e-3, "a dataset that fails was waited for too")
  data.fails = nil
  local outer = Dataset:class("Outer")
  function outer:len() return 2 end
  function outer:getitem(i)
    local x = DataLoader(torch.utils.data.TensorDataset(torch.ones(2))):iter()()
    return data:getitem(i):add(x[0])
  end
  r = record(function() for _ in DataLoader(outer()) do end end)
  tap.ok(r.loader.wait >= 4e-3, "a loader within a loader is one wait")
  r = record(function() torch.ones(3):exp() end)
  tap.ok(r.loader.batches == 0 and r.seconds.forward > 0, "and the next record begins anew")
end
do
  local r = dlrepl.record(function() return torch.ones(2, 2):mm(torch.ones(2, 2)) end)
  tap.like(tostring(r), "^ops +%d+, %d+ kernels, 18?%d? FLOPs", "a record prints a summary")
  tap.is(#r:calls("mm"), 1, "and answers questions")
  tap.raises(function() dlrepl.record(3) end,
             "TypeError: record() takes a function to run, but got int…", "no function")
end

-- memory --------------------------------------------------------------------------------------
do
  local m = nn.Linear(1000, 100)
  local opt = optim.Adam(m:parameters())
  local x = torch.randn(50, 1000)
  local r = record(function()
    m(x):relu():sum():backward()
    opt:step()
  end, {exact = true})
  local cpu, bytes = r.memory.cpu, (1000 * 100 + 100) * 4
  tap.ok(cpu.start_by_role.parameter >= bytes, "parameters are known by their bytes")
  tap.is(cpu.now_by_role.gradient - cpu.start_by_role.gradient, bytes, "gradients too")
  tap.is(cpu.now_by_role["optimizer state"] - cpu.start_by_role["optimizer state"], 2 * bytes,
         "Adam keeps two numbers a parameter")
  tap.ok(cpu.peak_by_role["saved activation"] >= 50 * 1000 * 4,
         "what backward needs was counted as saved")
  tap.is(cpu.now_by_role["saved activation"], cpu.start_by_role["saved activation"],
         "and let go by backward")
  tap.is(cpu.peak, sum(cpu.at_peak), "the peak is the sum of its roles")
end
do
  local ds = TensorDataset(torch.randn(8, 100), torch.zeros(8))
  local role
  for x in DataLoader(ds, {batch_size = 4}) do role = dlrepl.debug.role(x) end
  tap.is(role, "batch", "what a DataLoader gives is a batch")
  tap.is(dlrepl.debug.role(nn.Linear(2, 2).weight), "parameter", "a parameter is one")
  tap.is(dlrepl.debug.role(torch.ones(2)), "other", "anything else is other")
end

-- number formats --------------------------------------------------------------------------------
do
  local x = torch.tensor({1e-8, 1.0, 70000.0, 0.0})
  local r = record(function() return x:half() end)
  tap.is(r.flushed, 1, "a value too small for float16 is counted")
  tap.is(r.overflowed, 1, "so is one too large")
  tap.is(r.nonfinite, 1, "and the inf that it became")
  local h = torch.full({5}, 1e-4, {dtype = torch.float16})
  r = record(function() return h * h end)
  tap.is(r.by_op.mul.flushed, 5, "products that vanish are counted by op")
  r = record(function() h:mul_(h) end)
  tap.is(r.flushed, 5, "in place too")
  tap.is(h:sum():item(), 0.0, "and the op ran once")
  r = record(function() return torch.zeros(3, {dtype = torch.float16}) * 2 end)
  tap.is(r.flushed, 0, "a zero that was zero is no loss")
  local big = torch.full({2, 300}, 200.0, {dtype = torch.float16})
  r = record(function() return big:mm(big:t()) end)
  tap.is(r.by_op.mm.overflowed, 4, "sums beyond 65504 overflow, in a product too")
end

-- it changes nothing ------------------------------------------------------------------------------
do
  local function run()
    torch.manual_seed(1)
    local m = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.BatchNorm1d(16),
                            nn.Linear(16, 1))
    m:half():float()
    local opt = optim.Adam(m:parameters(), {lr = 0.01})
    for _ = 1, 3 do
      opt:zero_grad()
      m(torch.randn(7, 6)):pow(2):mean():backward()
      opt:step()
    end
    return m[0].weight:sum():item(), m[2].running_mean:sum():item()
  end
  local a, b = run()
  local c, d
  record(function() c, d = run() end)
  tap.is(c, a, "a recorded run gives the same weights")
  tap.is(d, b, "and the same running statistics")
end

-- memory of a simulated GPU that nobody has touched
do
  dlrepl.simulate "t4"
  local w = torch.empty(3000000, {device = "cuda"})
  local r = record(function()
    w:fill_(5)
    return torch.empty(3000000, {device = "cuda", dtype = torch.float16}) + 1
  end, {watch = {w = w}})
  tap.ok(r.params[1].changed, "a GPU's tensor is watched before anything was written into it")
  tap.is(r.error, nil, "and one of a record's own is an operand then")
  dlrepl.simulate(false, {force = true})
  r = record(function() return 1 end, {watch = {w = w}})
  tap.ok(not r.params[1].changed, "a tensor whose GPU is gone is watched and not read")
end

-- bad use -----
do
  local r = record(function() return torch.ones(2) + torch.ones(3) end)
  tap.like(tostring(r.error), "The size of tensor a", "an error inside is in r.error")
  local inner
  record(function() inner = select(2, pcall(record, function() end)) end)
  tap.like(tostring(inner), "a record is being kept already", "records do not nest")
  tap.ok(not pcall(record, 5), "record takes a function")
  tap.ok(not pcall(record, function() end, {watch = {5}}), "watch takes tensors")
  tap.raises(function() record(function() end, {watch = 5}) end,
    "TypeError: record(): watch takes a module or a list of tensors, not int", "not a number")
  tap.raises(function() dlrepl.record(function() end, {wacth = {}}) end,
    "TypeError: record() got an unexpected keyword argument 'wacth'…", "a wrong option is told")
  local evil = setmetatable({}, {__index = function(_, k) if k == "watch" then error("no") end end})
  tap.ok(not pcall(record, function() end, evil), "options may fail")
  tap.is(#record(function() return torch.ones(1) + 1 end).ops, 2, "after errors a record works")
end
tap.done()
