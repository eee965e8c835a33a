-- gpu_oom_safe.lua -- out of memory on a GPU, wherever it strikes: an error, and nothing half-done
local tap = require "tap"
local cuda = torch.cuda
local MiB = 2 ^ 20 // 1 | 0

dlrepl.simulate("t4")
local dev = {device = "cuda"}
local _, total = cuda.mem_get_info()
torch.ones(2, 2, dev):mm(torch.ones(2, 2, dev)) -- brings cuBLAS's workspaces along
F.linear(torch.ones(2, 2, dev), torch.ones(2, 2, dev), torch.ones(2, dev))
local workspace = cuda.memory_allocated()

local function cap(bytes) cuda.set_per_process_memory_fraction(bytes and bytes / total or 1.0) end

local function clean()
  cap()
  model, opt, x, y, keep = nil, nil, nil, nil, nil
  cuda.empty_cache()
end

-- The error of fn, which must be out of memory.
local function oom(fn, ...)
  local ok, e = pcall(fn, ...)
  if ok or e.class ~= "OutOfMemoryError" then
    tap.ok(false, "it runs out of memory")
    tap.diag(tostring(e))
  end
  return e
end

local function small()
  torch.manual_seed(1)
  model = nn.Sequential(nn.Linear(8, 16, dev), nn.ReLU(), nn.Linear(16, 4, dev))
  opt = optim.Adam(model:parameters(), {lr = 0.1})
  x = torch.randn(5, 8, dev)
  y = torch.zeros(5, {dtype = torch.int64, device = "cuda"})
end
local function train()
  opt:zero_grad()
  local loss = F.cross_entropy(model(x), y)
  loss:backward()
  opt:step()
end
-- What a program can see of a model and its optimizer, as text.
local function state()
  local list = {}
  for name, p in model:named_parameters() do
    list[#list + 1] = name .. tostring(p:detach():cpu():double():sum():item())
    local s = opt.state[p]
    if s and rawget(s, "exp_avg") then
      list[#list + 1] = tostring(s.exp_avg:cpu():double():sum():item())
    end
  end
  return table.concat(list, " ")
end

do
  clean()
  small()
  local before = state()
  train()
  local after = state()
  local n, other, gone = 0, {}, 0
  repeat
    n = n + 1
    small()
    dlrepl.debug.refuse_device(n, true)
    local ok, e = pcall(train)
    local met = not dlrepl.debug.refuse_device(0, false)
    if met and (ok or e.class ~= "OutOfMemoryError") then
      other[#other + 1] = n .. ": " .. tostring(e)
    end
    local now = state()
    if met and now ~= before then other[#other + 1] = n .. " left half a step" end
    if met then
      train()
      if state() ~= after then other[#other + 1] = n .. " changed the next step" end
      gone = gone + 1
    end
  until not met or n > 300
  tap.is(table.concat(other, "\n"), "", "each device allocation of a step refused in turn: an "
         .. "error, nothing half-done, the next step is whole")
  tap.ok(gone > 20, "that were " .. gone .. " allocations")
  model, opt, x, y = nil, nil, nil, nil
  tap.is(cuda.memory_allocated(), workspace, "and no memory is lost")
end

do
  clean()
  small()
  local before = state()
  train()
  local after = state()
  local n, other, failed = 0, {}, 0
  repeat
    n = n + 1
    small()
    cuda.empty_cache()
    dlrepl.debug.refuse(n)
    local ok, e = pcall(train)
    local met = not dlrepl.debug.refuse(0)
    if met and not ok then
      failed = failed + 1
      if e.class ~= "MemoryError" and e.class ~= "RuntimeError" then
        other[#other + 1] = n .. ": " .. tostring(e)
      end
      if state() == before then train() end
      if state() ~= after then other[#other + 1] = n .. " left half a step" end
    end
  until not met or n > 600
  tap.is(table.concat(other, "\n"), "", "each allocation of the host refused in turn: an error, "
         .. "nothing half-done")
  tap.ok(failed > 50, "that were " .. failed .. " allocations")
  model, opt, x, y = nil, nil, nil, nil
  tap.is(cuda.memory_allocated(), workspace, "and no memory of the GPU is lost")
end

-- fn fails with out of memory where the callback allocates; afterwards all is well.
local function refused(name, fn)
  clean()
  small()
  local base = cuda.memory_allocated()
  cap(cuda.memory_reserved())
  oom(fn, function() return torch.empty(64 * MiB, dev) end)
  cap()
  model:zero_grad()
  tap.is(cuda.memory_allocated(), base, "out of memory in " .. name .. ": nothing is held")
  tap.ok(pcall(train), "and training goes on")
end

refused("a tensor's hook", function(much)
  local out = model(x)
  out:register_hook(function(g) much() return g end)
  out:sum():backward()
end)
refused("a module's hook", function(much)
  local hook = model:register_forward_hook(function() much() end)
  local ok, e = pcall(function() return model(x) end)
  hook:remove()
  if not ok then error(e, 0) end
end)
refused("a function of one's own", function(much)
  local Twice = torch.autograd.Function:class("Twice")
  function Twice.forward(ctx, t) return t * 2 end
  function Twice.backward(ctx, g)
    much()
    return g * 2
  end
  Twice.apply(model(x)):sum():backward()
end)
refused("a loader", function(much)
  local set = TensorDataset(torch.zeros(4, 8))
  for _ in DataLoader(set, {batch_size = 2, collate_fn = function(b) return much() end}) do end
end)
refused("a closure of step", function(much) opt:step(function() return much() end) end)
refused("no_grad", function(much) torch.no_grad(function() much() end) end)
tap.ok(torch.is_grad_enabled(), "modes are as before")

do
  clean()
  keep = torch.zeros(MiB, dev)
  cap(cuda.memory_reserved())
  local e = oom(function() return torch.zeros(64 * MiB, dev) end)
  local again = oom(function()
    return tostring(e) .. tostring(torch.zeros(64 * MiB, dev))
  end)
  tap.like(tostring(again), "CUDA out of memory", "out of memory while out of memory is printed")
  tap.ok(pcall(tostring, keep), "a tensor prints on a full card")
  local set = {}
  for i = 1, 50 do set[i] = oom(function() return torch.zeros(64 * MiB, dev) end) end
  tap.is(cuda.memory_allocated() - workspace, 4 * MiB, "caught errors hold no memory")
end

tap.done()
