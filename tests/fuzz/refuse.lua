-- refuse.lua -- each allocation refused in turn: a program ends in a clear error or in its result
--
-- Usage: dlrepl refuse.lua [SAMPLES]      (TAP; without a number every allocation of every program)
-- A program runs with its n-th allocation refused (tensors, nodes and Lua's own blocks), for
-- n = 1, 2, 3, … until it passes. After each run nothing of it may be alive, and the session
-- works on.
-- SOURCE  Lua's testes/memerr.lua, applied to the engine's allocator.

local samples = math.tointeger(arg[1])
local debug = dlrepl.debug

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
    for x, y in torch.utils.data.DataLoader(ds, {batch_size = 4, shuffle = true}) do
      out[#out + 1] = tostring(x) .. tostring(y)
    end
    return table.concat(out)
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

local function is_memory_error(e)
  if type(e) == "table" then return e.kind == "out_of_memory" end
  return type(e) == "string" and e:find("not enough memory", 1, true) ~= nil
end

local function requests_of(fn)
  local before = debug.requests()
  fn()
  return debug.requests() - before
end

print("1.." .. #programs)
local bad = 0
for i, p in ipairs(programs) do
  local name, fn = p[1], p[2]
  local want = fn()
  local total = requests_of(fn)
  local tensors, nodes = debug.live()
  local step = samples and math.max(1, total * #programs // samples) or 1
  local problem, tried = nil, 0
  for n = 1, total, step do
    local ok, value, came = refused(fn, n)
    local t, g = debug.live()
    tried = tried + 1
    if not ok and not is_memory_error(value) then problem = n .. ": raised " .. tostring(value) end
    if ok and came and value ~= want then problem = n .. ": gave " .. tostring(value) end
    if t ~= tensors or g ~= nodes then
      problem = string.format("%d: %d tensors and %d nodes alive, were %d and %d", n, t, g,
                              tensors, nodes)
    end
    value = nil
    if problem then break end
  end
  if not problem and fn() ~= want then problem = "the session does not work afterwards" end
  print(string.format("%s %d - %s: %d of %d allocations refused in turn",
                      problem and "not ok" or "ok", i, name, tried, total))
  if problem then print("# allocation " .. problem) bad = bad + 1 end
end
os.exit(bad == 0)
