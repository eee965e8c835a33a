-- refuse.lua -- each allocation refused in turn: a program ends in a clear error or in its result
--
-- Usage: dlrepl refuse.lua [SAMPLES [cuda]]   (TAP; SAMPLES 0: every allocation of every program;
--        cuda: on the GPU there is, else on a simulated one, where the host's allocations and then
--        the device's are refused)
-- A program runs with its n-th allocation refused (tensors, nodes and Lua's own blocks), for
-- n = 1, 2, 3, … until it passes. After each run nothing of it may be alive, and the session
-- works on.
-- SOURCE  Lua's testes/memerr.lua, applied to the engine's allocator.

local samples = math.tointeger(arg[1])
if samples == 0 then samples = nil end
local debug = dlrepl.debug
local on_gpu = arg[2] == "cuda"
if on_gpu then
  if not torch.cuda.is_available() then dlrepl.simulate "t4" end
  torch.set_default_device("cuda")
end

local scratch_file = os.tmpname()
local programs = {
  {"arithmetic and printing", function()
    local x = torch.arange(6.):reshape(2, 3)
    return tostring(x * 2 + x:t():contiguous():view(2, 3):exp() / 3)
  end},
  {"backward through a small network", function()
    local w = torch.ones(3, 4, {requires_grad = true})
    local b = torch.zeros(4, {requires_grad = true})
    local h = torch.addmm(b, torch.ones(2, 3), w):relu()
    F.cross_entropy(h, torch.tensor({1, 2})):backward()
    return tostring(w.grad) .. tostring(b.grad)
  end},
  {"second derivatives", function()
    local x = torch.tensor({1., 2.}, {requires_grad = true})
    local g = torch.autograd.grad((x ^ 3):sum(), x, {create_graph = true})
    g:sum():backward()
    return tostring(x.grad)
  end},
  {"indexing and assignment", function()
    local x = torch.zeros(4, 4)
    x[1] = 5
    x["2:, ::2"] = torch.ones(2, 2)
    x[x:gt(3)] = -1
    return tostring(x[torch.tensor({0, 2})]) .. tostring(x["..., 1"])
  end},
  {"cat, split, stack and sort", function()
    local x = torch.arange(10.)
    local parts = x:split(3)
    return tostring(torch.cat({parts[1], parts[4]})) .. tostring(torch.stack({x, x}):sum(0):sort())
  end},
  {"in-place writes to views under autograd", function()
    local w = torch.ones(2, {requires_grad = true})
    local y = w * 2
    y[0] = 3
    y:view(2, 1):mul_(2)
    y:sum():backward()
    return tostring(w.grad)
  end},
  {"hooks", function()
    local x = torch.ones(2, {requires_grad = true})
    x:register_hook(function(g) return g * 5 end)
    local y = x * 2
    y:retain_grad()
    y:sum():backward()
    return tostring(x.grad) .. tostring(y.grad)
  end},
  {"a custom function", function()
    local Double = torch.autograd.Function:class("Double")
    function Double.forward(ctx, x)
      ctx:save_for_backward(x)
      return x * 2
    end
    function Double.backward(ctx, g) return g * 2 end
    local x = torch.ones(2, {requires_grad = true})
    Double.apply(x):sum():backward()
    return tostring(x.grad)
  end},
  {"a module, its training step and its state", function()
    torch.manual_seed(0)
    local m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))
    local o = optim.Adam(m:parameters(), {lr = 0.1})
    for _ = 1, 2 do
      o:zero_grad()
      F.mse_loss(m(torch.ones(2, 3)), torch.zeros(2, 2)):backward()
      o:step()
    end
    m:load_state_dict(m:state_dict())
    return tostring(m) .. tostring(m[0].weight)
  end},
  {"convolution, pooling and normalisation", function()
    local x = torch.ones(2, 2, 4, 4, {requires_grad = true})
    local w = torch.ones(3, 2, 3, 3, {requires_grad = true})
    local y = F.max_pool2d(F.conv2d(x, w, None, {padding = 1}), 2)
    F.layer_norm(y, {2, 2}):sum():backward()
    return tostring(x.grad)
  end},
  {"a loader", function()
    torch.manual_seed(0)
    local ds = torch.utils.data.TensorDataset(torch.arange(10.), torch.arange(10))
    local out = {}
    local order = on_gpu and torch.Generator({device = "cuda"}) or nil
    local how = {batch_size = 4, shuffle = true, generator = order}
    for x, y in torch.utils.data.DataLoader(ds, how) do
      out[#out + 1] = tostring(x) .. tostring(y)
    end
    return table.concat(out)
  end},
  {"saved-tensor hooks and a run record", function()
    local x = torch.ones(2, {requires_grad = true})
    local r = dlrepl.record(function()
      local twice = function(t) return t * 2 end
      torch.autograd.graph.saved_tensors_hooks(twice, function(t) return t / 2 end,
        function() return x:exp():sum() end):backward()
    end, {watch = {x = x}})
    if r.error then error(r.error, 0) end
    return tostring(x.grad) .. r:hooks_text() .. #r.ops
  end},
  {"who holds graphs", function()
    local x = torch.ones(2, {requires_grad = true})
    held_before = held_before or (x * 2):exp() -- whose nodes outlive a search that fails
    local list = {(x * 2):exp(), (x * 3):sum()}
    local text = ""
    for _, h in ipairs(dlrepl.graphs()) do text = text .. h.nodes .. ":" .. h.bytes .. " " end
    return text .. #list
  end},
  {"a checkpoint, saved and loaded", function()
    local w = torch.ones(300, {requires_grad = true})
    local o = optim.SGD({w}, {lr = 0.1, momentum = 0.9})
    w:sum():backward()
    o:step()
    torch.save({w = w, turned = w:view(30, 10):t(), opt = o:state_dict(), p = nn.Parameter(w),
      n = {1, 2.5, "s", None}}, scratch_file)
    local s = torch.load(scratch_file)
    o:load_state_dict(s.opt)
    return tostring(s.turned) .. tostring(s.p[1]) .. tostring(s.opt)
  end},
  {"random numbers", function()
    torch.manual_seed(3)
    local dropped = F.dropout(torch.ones(8))
    return tostring(torch.randn(20)) .. tostring(torch.randperm(5)) .. tostring(dropped)
  end},
}

-- Runs once with the n-th request refused: ok, value or error, whether the request came.
local function refused(fn, n)
  debug.refuse(n)
  local ok, value = pcall(fn)
  local unused = debug.refuse(0)
  return ok, value, not unused
end

-- The same for requests of the device, from the n-th on, so that trying again is of no use.
local function refused_there(fn, n)
  debug.refuse_device(n, true)
  local ok, value = pcall(fn)
  local unused = debug.refuse_device(0, false)
  return ok, value, not unused
end

local function is_memory_error(e)
  if type(e) == "table" then return e.kind == "out_of_memory" end
  return type(e) == "string" and e:find("not enough memory", 1, true) ~= nil
end

local function requests_of(fn)
  local before = debug.requests()
  fn()
  return debug.requests() - before
end

local bad, count = 0, 0

-- What is wrong after the n-th request was refused, or nil; and whether it came at all.
local function wrong(fn, refuse, n, want, tensors, nodes)
  local ok, value, came = refuse(fn, n)
  local t, g = debug.live()
  if not ok and not is_memory_error(value) then return "raised " .. tostring(value) end
  if ok and came and value ~= want then return "gave " .. tostring(value) end
  if t ~= tensors or g ~= nodes then
    return string.format("%d tensors and %d nodes alive, were %d and %d", t, g, tensors, nodes)
  end
  return nil, came
end

-- Every step-th request of fn refused, up to `total` of them, or as many as come.
local function refuse_all(name, fn, refuse, total, step)
  local want = fn()
  local tensors, nodes = debug.live()
  local problem, tried, came = nil, 0, true
  for n = 1, total, step do
    problem, came = wrong(fn, refuse, n, want, tensors, nodes)
    tried = tried + 1
    if problem then problem = n .. ": " .. problem end
    if problem or (refuse == refused_there and not came) then break end
  end
  if not problem and fn() ~= want then problem = "the session does not work afterwards" end
  count = count + 1
  print(string.format("%s %d - %s: %d allocations refused in turn", problem and "not ok" or "ok",
                      count, name, tried))
  if problem then print("# allocation " .. problem) bad = bad + 1 end
end

print("1.." .. #programs * (on_gpu and 2 or 1))
for _, p in ipairs(programs) do
  local name, fn = p[1], p[2]
  fn()
  local total = requests_of(fn)
  local step = samples and math.max(1, total * #programs // samples) or 1
  refuse_all(name, fn, refused, total, step)
  if on_gpu then
    refuse_all(name .. ", on the device", fn, refused_there, math.maxinteger, samples and 3 or 1)
  end
end
os.remove(scratch_file)
os.exit(bad == 0)
