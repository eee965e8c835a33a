-- checkpoint.lua -- torch.utils.checkpoint: the same gradients for less memory, both ways
local tap = require "tap"
local checkpoint = torch.utils.checkpoint.checkpoint
local sequential = torch.utils.checkpoint.checkpoint_sequential
local both = {{"hooks", false}, {"reentrant", true}}

local function model()
  torch.manual_seed(0)
  return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
end

local function gradients(run)
  local m = model()
  local x = torch.linspace(-1, 1, 12):reshape(3, 4):requires_grad_()
  run(m, x):pow(2):sum():backward()
  local all = {x.grad:flatten()}
  for _, p in ipairs(m:parameters()) do all[#all + 1] = p.grad:flatten() end
  return torch.cat(all)
end
local plain = gradients(function(m, x) return m(x) end)

for _, way in ipairs(both) do
  local name, reentrant = way[1], way[2]
  local opts = {use_reentrant = reentrant}
  local got = gradients(function(m, x) return checkpoint(m, x, opts) end)
  tap.ok(torch.equal(got, plain), name .. ": gradients are equal bit for bit")
  got = gradients(function(m, x) return sequential(m, 3, x, opts) end)
  tap.ok(torch.equal(got, plain), name .. ": in segments too")
  local function inner(m)
    return function(x) return checkpoint(m[1], checkpoint(m[0], x, opts), opts) end
  end
  got = gradients(function(m, x)
    local h = checkpoint(inner(m), x, opts)
    return m[4](m[3](m[2](h)))
  end)
  tap.ok(torch.equal(got, plain), name .. ": a checkpoint inside a checkpoint")

  -- random numbers
  local function drop(x) return F.dropout(x, 0.5) end
  local x = torch.ones(64, {requires_grad = true})
  torch.manual_seed(1)
  local y = checkpoint(drop, x, opts)
  local after = torch.rand(1):item()
  y:sum():backward()
  tap.ok(torch.equal(y:detach(), x.grad), name .. ": dropout falls on the same elements")
  torch.manual_seed(1)
  drop(x)
  tap.is(torch.rand(1):item(), after, name .. ": the forward draws as it would")
  local a = torch.rand(1):item()
  torch.manual_seed(1)
  drop(x)
  torch.rand(1)
  tap.is(torch.rand(1):item(), a, name .. ": backward leaves the generator as it was")
  x.grad = nil
  torch.manual_seed(1)
  y = checkpoint(drop, x, {use_reentrant = reentrant, preserve_rng_state = false})
  y:sum():backward()
  tap.ok(not torch.equal(y:detach(), x.grad), name .. ": unless it is told not to care")

  -- errors inside
  tap.raises(function() checkpoint(function() error("inside", 0) end, x, opts) end, "inside",
    name .. ": an error in the forward comes out")
  local calls = 0
  local function second(t)
    calls = calls + 1
    if calls > 1 then error("second", 0) end
    return t:sin()
  end
  tap.raises(function() checkpoint(second, x, opts):sum():backward() end, "second",
    name .. ": and one in the second run")
  x.grad = nil
  checkpoint(function(t) return t:sin() end, x, opts):sum():backward()
  tap.ok(x.grad ~= nil, name .. ": after errors it works again")
  y = checkpoint(function(t) return t:sin() end, x, opts):sum()
  y:backward{retain_graph = true}
  y:backward()
  tap.ok(true, name .. ": backward twice with retain_graph")
  local s, c, five = checkpoint(function(t) return t:sin(), t:cos(), 5 end, x, opts)
  tap.ok(s.requires_grad and c.requires_grad and five == 5, name .. ": several results")
  tap.is(torch.no_grad(function() return checkpoint(torch.sin, x, opts).requires_grad end), false,
    name .. ": under no_grad nothing is kept")

  -- autocast
  local lin, seen = nn.Linear(3, 3), {}
  local x3 = torch.ones(2, 3, {requires_grad = true})
  local function cast(t)
    local h = lin(t)
    seen[#seen + 1] = tostring(h.dtype)
    return h:sin()
  end
  local out = torch.autocast("cpu", function() return checkpoint(cast, x3, opts) end)
  out:float():sum():backward()
  tap.is(table.concat(seen, " "), "torch.bfloat16 torch.bfloat16",
    name .. ": the second run is in the forward's autocast")
  tap.ok(not torch.is_autocast_enabled("cpu"), name .. ": and afterwards there is none")
end

-- memory ---------------------------------------------------------------------------------------
local function saved_peak(run)
  torch.manual_seed(0)
  local layers = {}
  for i = 1, 16 do
    layers[2 * i - 1], layers[2 * i] = nn.Linear(64, 64), nn.Tanh()
  end
  local m, x = nn.Sequential(table.unpack(layers)), torch.randn(256, 64)
  x.requires_grad = true
  local r = dlrepl.debug.record(function() run(m, x):sum():backward() end, {exact = true})
  assert(not r.error, r.error)
  return r.memory.cpu.peak - r.memory.cpu.start, r
end
do
  local all = saved_peak(function(m, x) return m(x) end)
  for _, way in ipairs(both) do
    local opts = {use_reentrant = way[2]}
    local part, r = saved_peak(function(m, x) return sequential(m, 4, x, opts) end)
    tap.ok(part < 0.7 * all, string.format("%s: four segments keep less: %d of %d bytes", way[1],
      part, all))
    tap.is(r.graph.nodes_end, r.graph.nodes_start, way[1] .. ": and leave no graph")
  end
end

-- early stop, texts ------------------------------------------------------------------------------
local x = torch.ones(2, 3, {requires_grad = true})
do
  local calls = {}
  local function layers(t)
    local a = t:sin() calls[#calls + 1] = "a"
    local b = a:cos() calls[#calls + 1] = "b"
    local c = b + 1 calls[#calls + 1] = "c"
    return c
  end
  local function trace(run)
    calls = {}
    local y = run():sum()
    calls[#calls + 1] = "|"
    y:backward()
    return table.concat(calls)
  end
  tap.is(trace(function() return checkpoint(layers, x, {use_reentrant = false}) end), "abc|a",
    "the second run stops once all that was saved is there")
  tap.is(trace(function()
    return checkpoint(layers, x, {use_reentrant = false, early_stop = false})
  end), "abc|abc", "early_stop=false runs to the end")
  tap.is(trace(function()
    return torch.utils.checkpoint.set_checkpoint_early_stop(false, function()
      return checkpoint(layers, x, {use_reentrant = false})
    end)
  end), "abc|abc", "so does set_checkpoint_early_stop(false)")
end
do
  local n = 1
  local function vary(t)
    n = n + 1
    local y = t * t
    if n % 2 == 0 then y = y:sin() end
    return y:exp()
  end
  tap.raises(function() checkpoint(vary, x, {use_reentrant = false}):sum():backward() end,
    "CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during the "
    .. "original forward and recomputation.…", "a function that does less the second time")
  local k = 0
  local function shrink(t)
    k = k + 1
    local y = k % 2 == 1 and t * t or (t * t)["0:1"]
    return y:exp()
  end
  local _, e = pcall(function()
    checkpoint(shrink, x, {use_reentrant = false}):sum():backward()
  end)
  tap.like(tostring(e), "tensor at position 2:\nsaved metadata: {'shape': torch.Size%(%[2, 3%]%), "
    .. "'dtype': torch.float32, 'device': device%(type='cpu'%)}\nrecomputed metadata: "
    .. "{'shape': torch.Size%(%[1, 3%]%)", "shapes that differ are named")
  k = 0
  tap.ok(pcall(function()
    checkpoint(shrink, x, {use_reentrant = false, determinism_check = "none"}):sum():backward()
  end), "determinism_check='none' does not look")
  local fn = function(t) return t:sin() end
  tap.raises(function() torch.autograd.grad(checkpoint(fn, x, {use_reentrant = true}):sum(), x) end,
    "RuntimeError: When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
    .. "passing an `inputs` parameter to .backward(). To resolve this error, you can either set "
    .. "use_reentrant=False, or call .backward() without passing the `inputs` argument.…",
    "reentrant and autograd.grad")
  tap.is(torch.autograd.grad(checkpoint(fn, x, {use_reentrant = false}):sum(), x):dim(), 2,
    "with hooks autograd.grad works")
  local v = torch.tensor({2.0}, {requires_grad = true})
  local function cube(t) return (t * t * t):exp():log() end
  local y = checkpoint(cube, v, {use_reentrant = false})
  local g = torch.autograd.grad(y, v, {create_graph = true})
  tap.close(g, {12}, 1e-5, "the gradient of a cube")
  tap.close(torch.autograd.grad(g, v), {12}, 1e-4, "and the gradient of that gradient")
  tap.raises(function() checkpoint("x", x, {use_reentrant = false}) end,
    "TypeError: 'str' object is not callable…", "what is no function")
  tap.raises(function() checkpoint(fn, x, {use_reentrant = true, k = 2}) end,
    "ValueError: Unexpected keyword arguments: k…", "keywords and reentrant")
  local scaled = checkpoint(function(t, o) return t * o.k end, x, {use_reentrant = false, k = 2})
  tap.is(scaled:sum():item(), 12.0, "with hooks keywords go to the function")
  tap.raises(function() sequential(model(), 6, x, {use_reentrant = false}) end,
    "ValueError: range() arg 3 must not be zero…", "more segments than layers")
  local t = torch.ones(3, {requires_grad = true})
  local function mutate(h) h:add_(1) return h:sin() end
  tap.raises(function() checkpoint(mutate, t * 1, {use_reentrant = false}):sum():backward() end,
    "RuntimeError: one of the variables needed for gradient computation has been modified by an "
    .. "inplace operation: [torch.FloatTensor [3]], which is output 0 of Add, is at version 1; "
    .. "expected version 0 instead.…", "a function that changes its input")
  tap.raises(function() checkpoint(mutate, t * 1, {use_reentrant = true}):sum():backward() end,
    "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.…",
    "the same, reentrant")
  local how = checkpoint(fn, x, {use_reentrant = true}).grad_fn
  tap.like(tostring(how), "CheckpointFunctionBackward",
    "the reentrant form has a node of its own")
end

-- saved-tensor hooks ----------------------------------------------------------------------------
do
  local hooks = torch.autograd.graph.saved_tensors_hooks
  local packed = 0
  local y = hooks(function(t) packed = packed + 1 return t:half() end,
                  function(t) return t:float() end, function() return (x * x):exp():sum() end)
  y:backward()
  tap.is(packed, 3, "each saved tensor passes pack")
  tap.raises(function()
    hooks(function() return 5 end, function(v) return v end,
          function() return (x * x):sum() end):backward()
  end, "TypeError: Output of saved tensor unpack_hook expected to be a Tensor but got result of "
    .. "type int", "unpack must give a tensor")
  tap.raises(function()
    hooks(function(t) t:add_(1) return t end, function(v) return v end,
          function() return (x:sin() * x:cos()):sum() end)
  end, "RuntimeError: A saved tensor pack hook is modifying its input in place.…",
    "pack may not change its input")
  local off = torch.autograd.graph.disable_saved_tensors_hooks
  tap.raises(function()
    off("not here", function() hooks(function() end, function() end, function() end) end)
  end, "RuntimeError: not here…", "disable_saved_tensors_hooks forbids them")
  tap.is(off("not here", function() return 5 end), 5, "within its function")
  tap.ok(pcall(hooks, function(t) return t end, function(t) return t end, function() end),
    "and not beyond")
  x = torch.ones(2, 3, {requires_grad = true})
  torch.autograd.graph.save_on_cpu(function() return (x * x):exp():sum() end):backward()
  tap.close(x.grad, torch.full({2, 3}, 2 * math.exp(1)), 1e-6, "save_on_cpu gives the gradients")
end
tap.done()
