-- checkpoint.lua -- torch.utils.checkpoint: forget activations, compute them again in backward
--
--     y = torch.utils.checkpoint.checkpoint(block, x, {use_reentrant=false})
--
-- use_reentrant=false: saved-tensor hooks put an empty cell in the graph for each saved tensor. The
-- first that backward asks for runs the function again; its own saves fill the cells, and it is
-- stopped once all are filled.
-- use_reentrant=true: an autograd.Function runs it without a graph, and in backward with one.
--
-- INVARIANT  Random numbers and autocast are the forward's while a function runs again, and
--            afterwards what they were.
-- SOURCE     torch/utils/checkpoint.py

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local core = require "dlrepl.core"
local args = require "dlrepl.args"
local repr = require "dlrepl.pyrepr"

local torch, raise, warn = core.torch, core.raise, core.warn_once
local saved_hooks = torch.autograd.graph.saved_tensors_hooks
local unpack_saved, graph_task = dlrepl._unpack_saved, dlrepl._graph_task

local M = {}

-- ---- what must be as it was -------------------------------------------------------------------

-- The devices other than the CPU among the tensors of a list.
local function devices_of(values)
  local found, list = {}, {}
  for i = 1, values.n do
    local t = values[i]
    local name = core.is_tensor(t) and not t.is_cpu and tostring(t.device)
    if name and not found[name] then
      found[name] = true
      list[#list + 1] = name
    end
  end
  return list
end

local function remember_random(values)
  local state = {cpu = torch.get_rng_state(), device = {}}
  if rawget(torch.cuda, "get_rng_state") then
    for _, d in ipairs(devices_of(values)) do state.device[d] = torch.cuda.get_rng_state(d) end
  end
  return state
end

local function set_random(state)
  torch.set_rng_state(state.cpu)
  for d, s in pairs(state.device) do torch.cuda.set_rng_state(s, d) end
end

local function remember_autocast(values)
  local regions = {}
  for _, kind in ipairs {"cpu", "cuda"} do
    regions[#regions + 1] = {kind, dlrepl._autocast_state(kind)}
  end
  return regions
end

-- f(…) in the random state and the autocast regions of the forward; back to what was, whatever
-- happens.
local function as_then(then_, f, ...)
  local given = table.pack(...)
  local now = then_.random and remember_random(given)
  local _ <close> = setmetatable({}, {__close = function()
    if now then set_random(now) end
  end})
  if then_.random then set_random(then_.random) end
  local cpu, cuda = then_.autocast[1], then_.autocast[2]
  return dlrepl._autocast("cuda", cuda[3], cuda[2], cuda[4], function(...)
    return dlrepl._autocast("cpu", cpu[3], cpu[2], cpu[4], f, ...)
  end, ...)
end

local function remember(values, preserve)
  return {random = preserve and remember_random(values), autocast = remember_autocast(values)}
end

-- ---- with hooks (use_reentrant=false) ---------------------------------------------------------

-- Keeps the tensor arguments in the graph, under the hooks of whoever is outside: the tensors of a
-- checkpoint inside a checkpoint are themselves computed again.
local Saver
local function save_inputs(values)
  if not Saver then
    Saver = torch.autograd.Function:class("_NoopSaveInputs")
    function Saver.forward(ctx, _, frame, ...)
      local tensors = {}
      for i = 1, frame.args.n do
        local t = frame.args[i]
        if core.is_tensor(t) then
          tensors[#tensors + 1] = t
          frame.at[#tensors] = i
          frame.args[i] = false
        end
      end
      ctx:save_for_backward(table.unpack(tensors))
      frame.ctx = ctx
      return torch.empty({0})
    end
    function Saver.backward()
      raise("AssertionError", "Did not expect to backward on this graph")
    end
  end
  local frame = {args = values, at = {}}
  local dummy = torch.empty({0}, {requires_grad = true})
  frame.out = Saver:apply(dummy, frame, table.unpack(values, 1, values.n))
  return frame
end

-- The function changed what it was given: its second run has nothing to begin with.
local function changed_inputs(e)
  local text = type(e) == "table" and rawget(e, "message")
  if text and text:find("modified by an inplace operation", 1, true) then
    e.notes = {"the function is run again from its inputs, so it may not change them: let it begin "
               .. "with x:clone()"}
  end
  error(e, 0)
end

local function load_inputs(frame)
  local values = {n = frame.args.n}
  for i = 1, values.n do values[i] = frame.args[i] end
  local ok, tensors = pcall(function()
    return frame.out and unpack_saved(frame.ctx, frame.out) or frame.ctx.saved_tensors
  end)
  if not ok then changed_inputs(tensors) end
  for k, i in pairs(frame.at) do values[i] = tensors[k] end
  return values
end

local weak = {__mode = "v"}
local STOP = setmetatable({}, {__name = "StopRecomputation", __tostring = function()
  return "the recomputation of a checkpoint is complete: this error ends it and may not be caught"
end})

local function describe(t)
  return string.format("{'shape': %s, 'dtype': %s, 'device': device(%s)}", tostring(t.shape),
    tostring(t.dtype), t.device.index and string.format("type='%s', index=%d", t.device.type,
    t.device.index) or string.format("type='%s'", t.device.type))
end

local function mismatch(text, note)
  raise("CheckpointError", "torch.utils.checkpoint: " .. text, {kind = "autograd", notes = {
    note or "the function must do the same both times: no counters, no random choices of its own, "
    .. "no global that changes between forward and backward"}})
end

local function check_same(frame, got)
  local n = #frame.metas
  if got.n ~= n then
    mismatch(string.format("A different number of tensors was saved during the original forward "
      .. "and recomputation.\nNumber of tensors saved during forward: %d\n"
      .. "Number of tensors saved during recomputation: %d.", n, got.n))
  end
  if not frame.check then return end
  local wrong = {}
  for i = 1, n do
    if got.metas[i] and got.metas[i] ~= frame.metas[i] then
      wrong[#wrong + 1] = string.format("tensor at position %d:\nsaved metadata: %s\n"
        .. "recomputed metadata: %s\n", i - 1, frame.metas[i], got.metas[i])
    end
  end
  if #wrong > 0 then
    mismatch("Recomputed values for the following tensors have different metadata than during the "
      .. "forward pass.\n" .. table.concat(wrong, "\n") .. ".")
  end
end

-- Runs the function again for one walk of the graph: got[i] is what the i-th save holds.
local function recompute(frame, task)
  local got = {n = 0, metas = {}}
  frame.got[task] = got
  local function pack(t)
    got.n = got.n + 1
    local holder = frame.holders[got.n]
    if holder then
      got[got.n] = t
      got.metas[got.n] = describe(t)
    end
    if frame.early_stop and got.n == #frame.metas then error(STOP, 0) end
    return setmetatable({t}, weak) -- got keeps it, as long as it is wanted
  end
  local values = load_inputs(frame.inputs)
  for i = 1, values.n do
    local t = values[i]
    if core.is_tensor(t) then values[i] = t:detach():requires_grad_(frame.needs[i]) end
  end
  local ok, e = pcall(torch.enable_grad, function()
    as_then(frame.then_, function(...)
      return saved_hooks(pack, function(kept) return kept[1] end, frame.fn, ...)
    end, table.unpack(values, 1, values.n))
  end)
  if not ok and not rawequal(e, STOP) then error(e, 0) end
  check_same(frame, got)
  return got
end

local function hooked(frame, fn, ...)
  local function pack(t)
    local holder = {#frame.metas + 1}
    frame.metas[holder[1]] = describe(t)
    frame.holders[holder[1]] = holder
    return holder
  end
  local function unpack(holder)
    local task = graph_task()
    local got = frame.got[task] or recompute(frame, task)
    local t = got[holder[1]]
    got[holder[1]] = false
    if not t then
      mismatch("Unpack is being triggered for a tensor that was already unpacked once. If you are "
        .. "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please "
        .. "open an issue with details on your use case.")
    end
    return t
  end
  return saved_hooks(pack, unpack, fn, ...)
end

local early_stop_default = true

local function without_reentry(fn, values, options)
  local check = options.determinism_check or "default"
  if check ~= "default" and check ~= "none" then
    raise("ValueError", "determinism_check should be one of ['default', 'none'], but got "
          .. tostring(check), {kind = "argument"})
  end
  if not torch.is_grad_enabled() then return fn(table.unpack(values, 1, values.n)) end
  local early = early_stop_default
  if options.early_stop == false then early = false end
  local frame = {fn = fn, metas = {}, got = setmetatable({}, {__mode = "k"}), early_stop = early,
    holders = setmetatable({}, weak), check = check == "default",
    then_ = remember(values, options.preserve)}
  local copy = {n = values.n, table.unpack(values, 1, values.n)}
  frame.needs = {}
  for i = 1, values.n do
    frame.needs[i] = core.is_tensor(values[i]) and values[i].requires_grad
  end
  frame.inputs = save_inputs(copy)
  return hooked(frame, fn, table.unpack(values, 1, values.n))
end

-- ---- with a function of its own (use_reentrant=true) ------------------------------------------

local Reentrant

local function walk_again(ctx, grads)
  local inputs = load_inputs({args = ctx.args, at = ctx.at, ctx = ctx})
  local live = {}
  for i = 1, inputs.n do
    local t = inputs[i]
    if core.is_tensor(t) then
      live[i] = t:detach():requires_grad_(ctx.needs_input_grad[i + 1])
      inputs[i] = live[i]
    end
  end
  local out = table.pack(torch.enable_grad(function()
    return as_then(ctx.then_, ctx.run, table.unpack(inputs, 1, inputs.n))
  end))
  local roots, seeds = {}, {}
  for i = 1, out.n do
    if core.is_tensor(out[i]) and out[i].requires_grad then
      roots[#roots + 1] = out[i]
      seeds[#seeds + 1] = grads[i]
    end
  end
  if #roots == 0 then
    raise("RuntimeError", "none of output has requires_grad=True, this checkpoint() is not "
          .. "necessary", {kind = "autograd"})
  end
  torch.autograd.backward(roots, seeds)
  return live, inputs.n
end

local function reentrant_class()
  if Reentrant then return Reentrant end
  Reentrant = torch.autograd.Function:class("CheckpointFunction")
  function Reentrant.forward(ctx, call)
    ctx.run, ctx.then_, ctx.args, ctx.at = call.fn, call.then_, call.values, {}
    local tensors = {}
    local values = {n = call.values.n, table.unpack(call.values, 1, call.values.n)}
    for i = 1, values.n do
      if core.is_tensor(values[i]) then
        tensors[#tensors + 1] = values[i]
        ctx.at[#tensors] = i
        ctx.args[i] = false
      end
    end
    ctx:save_for_backward(table.unpack(tensors))
    return call.fn(table.unpack(values, 1, values.n))
  end
  function Reentrant.backward(ctx, ...)
    local _, with_inputs = graph_task()
    if with_inputs then
      raise("RuntimeError", "When use_reentrant=True, torch.utils.checkpoint is incompatible with "
        .. ".grad() or passing an `inputs` parameter to .backward(). To resolve this error, you "
        .. "can either set use_reentrant=False, or call .backward() without passing the `inputs` "
        .. "argument.", {kind = "autograd"})
    end
    local live, n = walk_again(ctx, {...})
    local grads = {}
    for i = 1, n do grads[i] = live[i] and live[i].grad or nil end
    return nil, table.unpack(grads, 1, n)
  end
  return Reentrant
end

local function with_reentry(fn, values, options, keywords)
  local extra = {}
  for k in pairs(keywords) do extra[#extra + 1] = k end
  if #extra > 0 then
    table.sort(extra)
    raise("ValueError", "Unexpected keyword arguments: " .. table.concat(extra, ","),
          {kind = "argument"})
  end
  local any = false
  for i = 1, values.n do
    any = any or (core.is_tensor(values[i]) and values[i].requires_grad)
  end
  if not any then warn("None of the inputs have requires_grad=True. Gradients will be None") end
  local call = {fn = fn, then_ = remember(values, options.preserve),
                values = {n = values.n, table.unpack(values, 1, values.n)}}
  return reentrant_class():apply(call, table.unpack(values, 1, values.n))
end

-- ---- checkpoint -------------------------------------------------------------------------------

local own = {use_reentrant = true, preserve_rng_state = true, context_fn = true,
             determinism_check = true, debug = true, early_stop = true}

-- Positional arguments, our options, keywords for the function.
local function take_apart(...)
  local values = table.pack(...)
  local last = values[values.n]
  if not args.is_keywords(last) then return values, {}, {} end
  local options, keywords = {}, {}
  for k, v in pairs(last) do
    if own[k] then options[k] = v else keywords[k] = v end
  end
  values[values.n] = nil
  values.n = values.n - 1
  return values, options, keywords
end

local function says_passed(where)
  warn(where .. ": the use_reentrant parameter should be passed explicitly. In a future release, "
    .. "calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
    .. "recommended, but if you need to preserve the current default behavior, you can pass "
    .. "use_reentrant=True. Refer to docs for more details on the differences between the two "
    .. "variants.")
end

-- checkpoint(function, …, {use_reentrant=, preserve_rng_state=true, determinism_check='default',
-- early_stop=true, …}): what function(…) returns. Further keywords go to the function
-- (use_reentrant=false only).
function M.checkpoint(fn, ...)
  core.check_callable(fn)
  local module = fn
  if type(fn) ~= "function" then fn = function(...) return module(...) end end
  local values, options, keywords = take_apart(...)
  options.preserve = options.preserve_rng_state ~= false
  local reentrant = options.use_reentrant
  if reentrant == nil or rawequal(reentrant, core.None) then
    says_passed("torch.utils.checkpoint")
    reentrant = true
  end
  if reentrant then return with_reentry(fn, values, options, keywords) end
  if next(keywords) ~= nil then
    values.n = values.n + 1
    values[values.n] = keywords
  end
  return without_reentry(fn, values, options)
end

-- ---- checkpoint_sequential --------------------------------------------------------------------

local function layers_of(functions)
  local class, nn = require "torch.nn.class", require "torch.nn"
  if type(functions) == "table" and getmetatable(functions) == nil then return functions end
  if not class.isinstance(functions, nn.Sequential)
     and not class.isinstance(functions, nn.ModuleList) then
    raise("TypeError", "object of type '" .. repr.typename(functions) .. "' has no len()",
          {kind = "argument", notes = {"an nn.Sequential or a list of functions goes here"}})
  end
  local list = {}
  for _, layer in functions:named_children() do list[#list + 1] = layer end
  return list
end

local function range(list, first, last)
  return function(x)
    for i = first, last do x = list[i](x) end
    return x
  end
end

-- checkpoint_sequential(functions, segments, input, {use_reentrant=, preserve_rng_state=true}): a
-- Sequential or list of functions, run in segments; all but the last are checkpointed.
function M.checkpoint_sequential(functions, segments, input, given)
  local options = {}
  if type(given) == "boolean" then given = {use_reentrant = given} end
  if given ~= nil and type(given) ~= "table" then
    raise("TypeError", "checkpoint_sequential() argument 'use_reentrant' (position 4) must be "
          .. "bool, not " .. repr.typename(given), {kind = "argument"})
  end
  for k, v in pairs(given or {}) do options[k] = v end
  for k in pairs(options) do
    if k ~= "use_reentrant" and k ~= "preserve_rng_state" then
      raise("ValueError", "Unexpected keyword arguments: " .. tostring(k), {kind = "argument"})
    end
  end
  if options.use_reentrant == nil then
    says_passed("torch.utils.checkpoint.checkpoint_sequential")
    options.use_reentrant = true
  end
  local list = layers_of(functions)
  if math.type(segments) ~= "integer" or segments < 1 then
    raise("ValueError", "segments must be a positive integer, got " .. tostring(segments),
          {kind = "argument"})
  end
  local size = #list // segments
  if size == 0 then
    raise("ValueError", "range() arg 3 must not be zero", {kind = "argument",
          notes = {string.format("%d segments for %d functions", segments, #list)}})
  end
  local x, last = input, 0
  for _ = 1, segments - 1 do
    x = M.checkpoint(range(list, last + 1, last + size), x, options)
    last = last + size
  end
  return range(list, last + 1, #list)(x)
end

-- set_checkpoint_early_stop(bool [, function, …]): for the function, or until the guard closes.
function M.set_checkpoint_early_stop(on, fn, ...)
  local before = early_stop_default
  early_stop_default = on
  local guard = setmetatable({}, {__close = function() early_stop_default = before end})
  if fn == nil then return guard end
  local _ <close> = guard
  core.check_callable(fn)
  return fn(...)
end

return M
