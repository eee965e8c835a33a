-- module_hooks.lua -- forward and backward hooks of modules
--
-- A hook sees the positional arguments and gradients as plain lists (Python's tuples); an
-- output of one value is that value, of several a list.
--
-- INVARIANT  A module without hooks never enters this file when it is called (`_hooked`).
-- MUST NOT   know layers.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "torch.nn.class"

local torch, raise = core.torch, core.raise
local Module = class.Module
local note = dlrepl._record_hook -- (kind, module): for the run record

local kinds = {"pre", "post", "backward_pre", "backward"}

local function hooks_of(self)
  local h = rawget(self, "_hooked")
  if not h then
    h = {}
    for _, kind in ipairs(kinds) do h[kind] = {} end
    rawset(self, "_hooked", h)
  end
  return h
end

local handle_meta = {__name = "RemovableHandle", __index = {}}

-- handle:remove() takes the hook away; a second call does nothing.
function handle_meta.__index.remove(handle)
  local list = handle._list
  for i = #list, 1, -1 do
    if list[i] == handle._entry then table.remove(list, i) end
  end
  for _, kind in ipairs(kinds) do
    if #handle._hooks[kind] > 0 then return end
  end
  if rawget(handle._module, "_hooked") == handle._hooks then
    rawset(handle._module, "_hooked", false)
  end
end
handle_meta.__close = function(handle) handle:remove() end

local function add(self, kind, entry, prepend)
  local h = hooks_of(self)
  local list = h[kind]
  table.insert(list, prepend and 1 or #list + 1, entry)
  return setmetatable({_list = list, _entry = entry, _hooks = h, _module = self}, handle_meta)
end

local function define(name, kind, keywords)
  local read = args("Module." .. name .. "(fn hook, *, bool prepend=False" .. keywords .. ")")
  Module[name] = function(self, ...)
    local hook, prepend, with_kwargs, always_call = read(...)
    return add(self, kind, {hook = hook, with_kwargs = with_kwargs, always = always_call}, prepend)
  end
end
define("register_forward_pre_hook", "pre", ", bool with_kwargs=False")
define("register_forward_hook", "post", ", bool with_kwargs=False, bool always_call=False")
define("register_full_backward_pre_hook", "backward_pre", "")
define("register_full_backward_hook", "backward", "")

-- ---- backward hooks ---------------------------------------------------------------------------
-- Two identity functions stand in the graph, one behind the inputs and one before the outputs.
-- The outer one sees the gradients of the outputs, the inner one those of the inputs.

local through -- autograd.Function: hands its tensors on and calls `seen` with their gradients

local function identity(seen, tensors)
  if not through then
    through = torch.autograd.Function:class("BackwardHookFunction")
    function through.forward(ctx, watcher, ...)
      ctx.seen = watcher
      local out = {...}
      for i, t in ipairs(out) do out[i] = t:view_as(t) end
      return table.unpack(out)
    end
    function through.backward(ctx, ...)
      local grads = table.pack(...)
      local replaced = ctx.seen(grads) or grads
      return nil, table.unpack(replaced, 1, grads.n)
    end
  end
  return {through:apply(seen, table.unpack(tensors))}
end

-- Replaces the tensors among values[1..n] that need gradients by watched copies.
local function watch(values, n, seen)
  local at, tensors = {}, {}
  for i = 1, n do
    local v = values[i]
    if core.is_tensor(v) and v.requires_grad then
      at[#at + 1] = i
      tensors[#tensors + 1] = v
    end
  end
  if #tensors == 0 then return false end
  local function spread(grads)
    local full = {n = n}
    for j, i in ipairs(at) do full[i] = grads[j] end
    local replaced = seen(full)
    if replaced == nil then return nil end
    if type(replaced) ~= "table" then replaced = {replaced} end
    local back = {}
    for j, i in ipairs(at) do back[j] = replaced[i] end
    return back
  end
  for j, t in ipairs(identity(spread, tensors)) do values[at[j]] = t end
  return true
end

local function run_backward_hooks(self, hooks, grad_in, grad_out)
  local result
  for _, entry in ipairs(hooks.backward) do
    note("backward", self)
    local r = entry.hook(self, grad_in, grad_out)
    if r ~= nil then
      grad_in, result = r, r
    end
  end
  return result
end

-- ---- a call with hooks ---------------------------------------------------------------------

local function run_pre(self, hooks, packed)
  for _, entry in ipairs(hooks.pre) do
    note("forward_pre", self)
    local r
    if entry.with_kwargs then
      local kw
      if args.is_keywords(packed[packed.n]) then kw = packed[packed.n] end
      local plain = {table.unpack(packed, 1, packed.n - (kw and 1 or 0))}
      local new_args, new_kw = entry.hook(self, plain, kw or {})
      if new_args ~= nil then
        if type(new_args) ~= "table" or type(new_kw) ~= "table" then
          raise("RuntimeError", "forward pre-hook must return None or a tuple of "
                .. "(new_args, new_kwargs), but got " .. tostring(new_args) .. ".")
        end
        r = {table.unpack(new_args)}
        if next(new_kw) ~= nil then r[#r + 1] = new_kw end
      end
    else
      r = entry.hook(self, packed)
      if r ~= nil and (type(r) ~= "table" or getmetatable(r)) then r = {r} end
    end
    if r ~= nil then
      packed = r
      packed.n = packed.n or #packed
    end
  end
  return packed
end

local function run_post(self, hooks, packed, out, ran)
  for _, entry in ipairs(hooks.post) do
    ran[entry] = true
    note("forward", self)
    local value = out.n == 1 and out[1] or out
    local r
    if entry.with_kwargs then
      local kw = args.is_keywords(packed[packed.n]) and packed[packed.n] or {}
      r = entry.hook(self, packed, kw, value)
    else
      r = entry.hook(self, packed, value)
    end
    if r ~= nil then
      if type(r) == "table" and getmetatable(r) == nil and out.n > 1 then
        out = r
        out.n = #r
      else
        out = {r, n = 1}
      end
    end
  end
  return out
end

local function hooked_forward(self, hooks, packed, ran)
  packed = run_pre(self, hooks, packed)
  local grad_out
  local backward = #hooks.backward + #hooks.backward_pre > 0
  local inputs_watched = false
  if backward then
    packed = table.pack(table.unpack(packed, 1, packed.n))
    inputs_watched = watch(packed, packed.n, function(grads)
      return run_backward_hooks(self, hooks, grads, grad_out)
    end)
  end
  local out = table.pack(self:forward(table.unpack(packed, 1, packed.n)))
  out = run_post(self, hooks, packed, out, ran)
  if backward then
    watch(out, out.n, function(grads)
      local replaced
      for _, entry in ipairs(hooks.backward_pre) do
        note("backward_pre", self)
        local r = entry.hook(self, grads)
        if r ~= nil then
          if type(r) ~= "table" then r = {r} end
          grads, replaced = r, r
        end
      end
      grad_out = grads
      if not inputs_watched then run_backward_hooks(self, hooks, {n = 0}, grads) end
      return replaced
    end)
  end
  return out
end

-- Called by a module's __call when `_hooked` is set.
function Module._call_hooked(self, ...)
  local hooks, packed, ran = rawget(self, "_hooked"), table.pack(...), {}
  local ok, out = xpcall(hooked_forward, core.keep_traceback, self, hooks, packed, ran)
  if ok then return table.unpack(out, 1, out.n) end
  for _, entry in ipairs(hooks.post) do
    if entry.always and not ran[entry] then
      note("forward", self)
      pcall(entry.hook, self, packed, nil)
    end
  end
  error(out, 0)
end
