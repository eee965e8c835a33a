-- amp_scaler.lua -- GradScaler: PyTorch's traces step by step, its errors, its state
local tap = require "tap"
local json = require "dlrepl.json"

-- tests/parity/scaler.json: 200 scripted steps a trace, with inf and nan put into the gradient at
-- `bad` steps; scales after each update, which steps changed the parameter, its sum at each tenth.
local file = assert(io.open("tests/parity/scaler.json"))
local traces = json.decode(file:read("a"))
file:close()

local function play(trace)
  local bad, scales, stepped, sums = {}, {}, {}, {}
  for _, i in ipairs(trace.bad) do bad[i] = true end
  local w = nn.Parameter(torch.tensor({1.0, 2.0, 3.0}))
  local opt = optim.SGD({w}, {lr = 0.01, momentum = 0.9})
  local scaler = torch.amp.GradScaler("cpu", trace.options)
  for i = 0, 199 do
    opt:zero_grad()
    local loss = ((w - torch.tensor({0.5, -0.5, i % 3 + 0.0})) ^ 2):sum()
    scaler:scale(loss):backward()
    if bad[i] then w.grad[i % 3] = i % 2 == 1 and math.huge or 0 / 0 end
    local before = w:detach():clone()
    if i % 5 == 0 then scaler:unscale_(opt) end
    scaler:step(opt)
    scaler:update()
    scales[i + 1] = scaler:get_scale()
    stepped[i + 1] = torch.equal(before, w:detach()) and 0 or 1
    if i % 10 == 0 then sums[#sums + 1] = w:sum():item() end
  end
  return scales, stepped, sums, scaler
end

local function first_difference(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then return string.format("step %d: %s, not %s", i - 1, a[i], b[i]) end
  end
end

for _, trace in ipairs(traces) do
  local scales, stepped, sums, scaler = play(trace)
  tap.is(first_difference(scales, trace.scales), nil, trace.name .. ": every scale is PyTorch's")
  tap.is(first_difference(stepped, trace.stepped), nil, trace.name .. ": the same steps are taken")
  tap.is(scaler:_get_growth_tracker(), trace.tracker, trace.name .. ": the same growth tracker")
  local worst = 0
  for i, s in ipairs(sums) do
    local want = trace.sums[i]
    if want == "nan" then
      worst = s ~= s and worst or math.huge
    else
      worst = math.max(worst, math.abs(s - want))
    end
  end
  tap.ok(worst < 1e-4, trace.name .. ": the parameter follows, worst " .. worst)
end

-- order and errors ------------------------------------------------------------------------------
local function fresh(device)
  local m = nn.Linear(2, 2)
  return m, optim.SGD(m:parameters(), {lr = 0.1}), torch.amp.GradScaler(device or "cpu", 4.0)
end

do
  local m, opt, s = fresh()
  local none = "AssertionError: Attempted %s but _scale is None.  This may indicate your script "
    .. "did not use scaler.scale(loss or outputs) earlier in the iteration.…"
  tap.raises(function() s:step(opt) end, none:format("step"), "step before scale")
  tap.raises(function() s:unscale_(opt) end, none:format("unscale_"), "unscale_ before scale")
  tap.raises(function() s:update() end, none:format("update"), "update before scale")
  s:scale(torch.ones(1))
  tap.raises(function() s:step(opt) end,
    "AssertionError: No inf checks were recorded for this optimizer.…", "step without gradients")
  s = torch.amp.GradScaler("cpu", 4.0)
  s:scale(torch.ones(1))
  tap.raises(function() s:update() end,
    "AssertionError: No inf checks were recorded prior to update.…", "update without step")
  s:scale(m(torch.ones(1, 2)):sum()):backward()
  local scaled = m.bias.grad[0]:item()
  s:unscale_(opt)
  tap.is(scaled, 4.0, "scale multiplies the gradients")
  tap.is(m.bias.grad[0]:item(), 1.0, "unscale_ divides them")
  tap.raises(function() s:unscale_(opt) end, "RuntimeError: unscale_() has already been called on "
    .. "this optimizer since the last update().…", "unscale_ twice")
  s:step(opt)
  tap.raises(function() s:step(opt) end,
    "RuntimeError: step() has already been called since the last update().…", "step twice")
  tap.raises(function() s:unscale_(opt) end,
    "RuntimeError: unscale_() is being called after step().…", "unscale_ after step")
  s:update()
  s:scale(m(torch.ones(1, 2)):sum()):backward()
  tap.is(s:step(opt), nil, "after update a new iteration begins")
end
do
  local m = nn.Linear(2, 2):half()
  local opt, s = optim.SGD(m:parameters(), {lr = 0.1}), torch.amp.GradScaler("cpu")
  s:scale(torch.ones(1))
  for p in m:parameters() do p.grad = torch.ones_like(p) end
  tap.raises(function() s:unscale_(opt) end, "ValueError: Attempting to unscale FP16 gradients.…",
    "a float16 model is refused")
  tap.raises(function() s:step(opt, function() end) end,
    "RuntimeError: Closure use is not currently supported if GradScaler is enabled.…", "closures")
  tap.raises(function() s:scale(5) end,
    "ValueError: outputs must be a Tensor or an iterable of Tensors…", "a number is not scaled")
  tap.raises(function() torch.amp.GradScaler("cpu", {growth_factor = 1.0}) end,
    "AssertionError: The growth factor must be > 1.0.…", "growth factor 1")
  tap.raises(function() torch.amp.GradScaler("cpu", {backoff_factor = 1.0}) end,
    "AssertionError: The backoff factor must be < 1.0.…", "backoff factor 1")
end

-- state ------------------------------------------------------------------------------------------
do
  local _, _, s = fresh()
  local keys = {}
  for k in pairs(s:state_dict()) do keys[#keys + 1] = k end
  tap.is(table.concat(keys, " "),
    "scale growth_factor backoff_factor growth_interval _growth_tracker",
    "state_dict has PyTorch's keys in their order")
  tap.is(s:get_scale(), 4.0, "get_scale before the first use")
  tap.raises(function() s:load_state_dict({}) end, "RuntimeError: The source state dict is empty, "
    .. "possibly because it was saved from a disabled instance of GradScaler.…", "empty state")
  tap.raises(function() s:load_state_dict({scale = 1.0}) end, "KeyError: 'growth_factor'…",
    "a state with a key missing")
  local other = torch.amp.GradScaler("cpu")
  other:load_state_dict(s:state_dict())
  tap.is(other:get_scale(), 4.0, "load_state_dict brings the scale")
  s:scale(torch.ones(1))
  s:update(8.0)
  tap.is(s:get_scale(), 8.0, "update(x) sets the scale")
  s:update(torch.tensor(2.0))
  tap.is(s:get_scale(), 2.0, "from a tensor too")
  local off = torch.amp.GradScaler("cpu", {enabled = false})
  tap.is(off:get_scale(), 1.0, "a disabled scaler has scale 1")
  local x = torch.ones(1)
  tap.ok(rawequal(off:scale(x), x), "and hands the loss through")
  tap.is(tostring(off:state_dict()), "{}", "its state is empty")
end

-- several optimizers, warnings -----
do
  local a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
  local oa, ob = optim.SGD({a}, {lr = 0.5}), optim.SGD({b}, {lr = 0.5})
  local s = torch.amp.GradScaler("cpu", 16.0)
  s:scale((a + b):sum()):backward()
  b.grad[0] = math.huge
  local r = dlrepl.debug.record(function()
    s:step(oa)
    s:step(ob)
    s:update()
  end)
  tap.is(r.error, nil, "two optimizers share a scaler")
  tap.is(a[0]:item(), 0.5, "the one with good gradients steps")
  tap.is(b[0]:item(), 1.0, "the other is skipped")
  tap.is(s:get_scale(), 8.0, "and the scale shrinks once")
  tap.is(r.optimizer.skipped .. " " .. r.optimizer.taken, "1 1",
    "the record shows the skipped step")
  tap.is(r.scales[1], 8.0, "and the scale")
  tap.is(r.by_op._amp_unscale_.calls, 2, "one pass an optimizer looks at all its gradients")
end
do
  local said = {}
  local warn = dlrepl.warn
  require("dlrepl.core").warn = function(text) said[#said + 1] = text end
  package.loaded["torch.nn.utils"], package.loaded["torch.amp.grad_scaler"] = nil, nil
  local utils, Scaler = require "torch.nn.utils", require "torch.amp.grad_scaler"
  local m, opt = fresh()
  local s = Scaler("cpu", 4.0)
  s:scale(m(torch.ones(1, 2)):sum()):backward()
  utils.clip_grad_norm_(m:parameters(), 1.0)
  tap.like(said[1] or "", "still multiplied by the loss scale 4", "clipping before unscale_ warns")
  s:step(opt)
  s:update()
  opt:zero_grad()
  s:scale(m(torch.ones(1, 2)):sum()):backward()
  s:unscale_(opt)
  utils.clip_grad_norm_(m:parameters(), 1.0)
  tap.is(#said, 1, "clipping after it does not")
  s:step(opt)
  s:update()
  for _ = 1, 40 do
    opt:zero_grad()
    s:scale(m(torch.full({1, 2}, 0 / 0)):sum()):backward()
    s:step(opt)
    s:update()
  end
  tap.like(said[2] or "", "the loss scale has fallen", "a loss that is nan for long is said once")
  tap.is(#said, 2, "and not again")
  require("dlrepl.core").warn = warn
end

-- a model in two places ------------------------------------------------------------------------
do
  local there = torch.cuda.is_available()
  if not there then dlrepl.simulate("t4") end
  local a, b = nn.Linear(4, 4):to("cuda"), nn.Linear(4, 4)
  local opt = optim.SGD({{params = a:parameters()}, {params = b:parameters()}}, {lr = 0.1})
  local s = torch.amp.GradScaler("cuda", {init_scale = 4})
  s:scale(a(torch.ones(1, 4, {device = "cuda"})):sum())  -- the scale lives on the GPU
  local loss = b(a(torch.ones(1, 4, {device = "cuda"})):cpu()):sum()
  tap.is(s:scale(loss):item(), loss:item() * 4, "a loss on the CPU is scaled by what the GPU holds")
  s:scale(loss):backward()
  s:unscale_(opt)
  tap.close(b.bias.grad, {1, 1, 1, 1}, 0, "gradients on the CPU are unscaled by it")
  s:step(opt)
  s:update()
  tap.is(s:get_scale(), 4.0, "and none of them is taken for infinite")
  if not there then dlrepl.simulate(false, {force = true}) end
end
tap.done()
