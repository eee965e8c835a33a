-- bind_memory.lua -- the binding leaks nothing: allocations refused in turn, the collector forced
--
-- Each snippet runs with allocation number 1, 2, 3 … refused until it passes. Afterwards as many
-- tensors and graph nodes are alive as before.
local t = require "tap"
local debug_, pcall, collectgarbage = dlrepl.debug, pcall, collectgarbage

local Cube = torch.autograd.Function:class("Cube")
function Cube.forward(ctx, v)
  ctx:save_for_backward(v)
  return v * v * v
end
function Cube.backward(ctx, grad)
  local v = ctx.saved_tensors[1]
  return grad * 3 * v * v
end

local snippets = {
  {"making and reading", function()
    local x = torch.tensor {{1, 2, 3}, {4, 5, 6}}
    return (x * 2 + 1):tolist(), tostring(x), x[{0, 0}]:item()
  end},
  {"arguments of every kind", function()
    local x = torch.zeros(2, 3, {dtype = torch.float64})
    return torch.cat({x, x}, {dim = 1}):sum({0, 1}, {keepdim = true}), x:view(-1):split {1, 2, 3}
  end},
  {"indices", function()
    local x = torch.arange(24.):reshape(2, 3, 4)
    x[{0, "1:", None}] = 7
    x[{{0, 1}, {2, 0}}] = torch.ones(4)
    x[x:gt(20)] = 0
    return x[{torch.tensor {1, 0}, "...", -1}], x["..., ::2"]
  end},
  {"backward", function()
    local x = torch.ones(4, {requires_grad = true})
    local y = (x * 2):relu():sum() + (x:view(2, 2):t() * 3):sum()
    y:backward()
    return x.grad, x.grad_fn, y.grad_fn.next_functions
  end},
  {"hooks", function()
    local x = torch.ones(2, {requires_grad = true})
    x:register_hook(function(g) return g * 2 end)
    x:register_post_accumulate_grad_hook(function(v) return v.grad end)
    local y = x * 3
    y:retain_grad()
    y:sum():backward()
  end},
  {"a custom function", function()
    local x = torch.ones(2, {requires_grad = true})
    local g = torch.autograd.grad(Cube.apply(x):sum(), x, {create_graph = true})
    return torch.autograd.grad(g:sum(), x)
  end},
  {"saved-tensor hooks", function()
    local x = torch.ones(2, {requires_grad = true})
    local y = torch.autograd.graph.saved_tensors_hooks(
      function(v) return {v} end, function(p) return p[1] end, function() return x:exp() end)
    y:sum():backward()
  end},
  {"arrays", function()
    local a = np.array {{1., 2.}, {3., 4.}}
    return torch.from_numpy(a[0] * 2 + 1), tostring(a), a:sum()
  end},
  {"errors", function()
    local x = torch.ones(2, 3)
    pcall(function() return x + torch.ones(4) end)
    pcall(function() return x:sum("a") end)
    pcall(function() return torch.tensor {{1}, {2, 3}} end)
    pcall(function() return x[7] end)
  end},
}
local function settle()
  local _ = torch.zeros(1) + 1 -- dropped hooks are freed at the next op
  collectgarbage()
  collectgarbage()
  return {debug_.live()}
end

local MOST = tonumber(os.getenv "DLREPL_REFUSE_MAX") or 400
for _, s in ipairs(snippets) do
  s[2]()
  local before = settle()
  local n, passed = 0, false
  while not passed and n < MOST do
    n = n + 1
    debug_.refuse(n)
    local ok = pcall(s[2])
    passed = debug_.refuse(0) and ok
  end
  local after = settle()
  t.ok(n > 1, s[1] .. ": allocations were refused")
  t.is({after[1], after[2]}, {before[1], before[2]}, s[1] .. ": nothing is left after a refusal")
end

debug_.collect_always(true)
for _, s in ipairs(snippets) do
  t.ok(pcall(s[2]), s[1] .. ": the collector runs before every op")
end
debug_.collect_always(false)

-- pacing
local function peak_of(f)
  collectgarbage()
  local base, peak = select(3, debug_.live()), 0
  f(function()
    local now = select(3, debug_.live()) - base
    if now > peak then peak = now end
  end)
  return peak / 2 ^ 20
end
local peak = peak_of(function(look)
  local x = torch.zeros(10000000)
  for _ = 1, 10 do
    x = x + 1
    look()
  end
end)
t.ok(peak < 130, ("x = x + 1 on 40 MB keeps few alive (peak %.0f MB)"):format(peak))
peak = peak_of(function(look)
  for _ = 1, 20000 do
    local y = torch.zeros(1000) + 1
    look()
  end
end)
t.ok(peak < 20, ("80 MB of small temporaries do not pile up (peak %.1f MB)"):format(peak))
peak = peak_of(function(look)
  for i = 1, 300000 do
    local s = {i, tostring(i)}
    if i % 1000 == 0 then look() end
  end
end)
t.ok(collectgarbage("count") < 20000, "plain Lua garbage is collected too")
t.done()
