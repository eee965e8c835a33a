-- module.lua -- nn.Module: registration, walks over the tree, moving and freezing
--
-- Saving is in module_state.lua, hooks in module_hooks.lua; both add to the same class.
--
-- INVARIANT  Walks visit a shared module or parameter once, parents before children.
-- MUST NOT   know layers.

local core = require "dlrepl.core"
local args = require "dlrepl.args"
local class = require "torch.nn.class"
local list = require "dlrepl.list"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local torch, None, raise = core.torch, core.None, core.raise
local evaluating = dlrepl._evaluating -- advice on memory depends on it
local Module, is_module, adopt = class.Module, class.is_module, class.adopt

-- ---- registration -------------------------------------------------------------------------------

local function check_name(self, what, name, home)
  if not rawget(self, "_parameters") then
    raise("AttributeError", "cannot assign " .. what .. " before Module.__init__() call")
  elseif type(name) ~= "string" then
    raise("TypeError", what .. " name should be a string. Got " .. repr.typename(name))
  elseif name:find(".", 1, true) then
    raise("KeyError", repr.repr(what .. ' name can\'t contain "."' .. (what == "module" and
                                ", got: " .. name or "")))
  elseif name == "" then
    raise("KeyError", repr.repr(what .. ' name can\'t be empty string ""'))
  end
  local taken = rawget(self, name) ~= nil or getmetatable(self).module_class[name] ~= nil
  for _, d in ipairs {"_parameters", "_buffers", "_modules"} do
    taken = taken or (d ~= home and odict.has(rawget(self, d), name))
  end
  if taken then raise("KeyError", repr.repr("attribute '" .. name .. "' already exists")) end
end

-- register_parameter(name, param): param is an nn.Parameter or None.
function Module.register_parameter(self, name, param)
  check_name(self, "parameter", name, "_parameters")
  if param == nil then param = None end
  if not rawequal(param, None) and not core.is_parameter(param) then
    raise("TypeError", string.format(
      "cannot assign '%s' object to parameter '%s' (torch.nn.Parameter or None required)",
      core.typename(param), name))
  end
  self._parameters[name] = param
end

local read_buffer = args "Module.register_buffer(str name, any? tensor, bool persistent=True)"

-- register_buffer(name, tensor or None, persistent=true): saved with the state if persistent.
function Module.register_buffer(self, ...)
  local name, tensor, persistent = read_buffer(...)
  check_name(self, "buffer", name, "_buffers")
  if tensor == nil then tensor = None end
  if not rawequal(tensor, None) and not core.is_tensor(tensor) then
    raise("TypeError", string.format(
      "cannot assign '%s' object to buffer '%s' (torch Tensor or None required)",
      core.typename(tensor), name))
  end
  self._buffers[name] = tensor
  self._non_persistent[name] = not persistent or nil
end

-- add_module(name, module or None); register_module is the same.
function Module.add_module(self, name, module)
  if module ~= nil and not rawequal(module, None) and not is_module(module) then
    raise("TypeError", core.typename(module) .. " is not a Module subclass")
  end
  check_name(self, "module", name, "_modules")
  self._modules[name] = module == nil and None or module
end
Module.register_module = Module.add_module

-- ---- walks ---------------------------------------------------------------------------------

-- Appends {name, module} pairs, parents first; `seen` drops repeats unless it is false.
local function walk(self, prefix, seen, out, depth)
  depth = depth or 0
  if not seen then class.check_depth(depth) end
  if seen then
    if seen[self] then return end
    seen[self] = true
  end
  adopt(self)
  out[#out + 1] = {prefix, self}
  for name, child in pairs(self._modules) do
    if not rawequal(child, None) then
      walk(child, prefix == "" and name or prefix .. "." .. name, seen, out, depth + 1)
    end
  end
  return out
end

-- Appends {name, value} pairs of one ordered table ("_parameters", "_buffers") of every module.
local function members(self, field, prefix, recurse, dedupe)
  local modules = recurse and walk(self, prefix, dedupe and {} or false, {}) or {{prefix, self}}
  if not recurse then adopt(self) end
  local out, seen = {}, {}
  for _, pair in ipairs(modules) do
    local at = pair[1] == "" and "" or pair[1] .. "."
    for name, v in pairs(pair[2][field]) do
      if not rawequal(v, None) and not (dedupe and seen[v]) then
        seen[v] = true
        out[#out + 1] = {at .. name, v}
      end
    end
  end
  return out
end

local function seconds(pairs_list)
  for i, pair in ipairs(pairs_list) do pairs_list[i] = pair[2] end
  return list.new(pairs_list)
end

local function define_members(what, field)
  local read = args("Module." .. what .. "(bool recurse=True)")
  local read_named = args("Module.named_" .. what ..
                          "(str prefix='', bool recurse=True, bool remove_duplicate=True)")
  Module[what] = function(self, ...) return seconds(members(self, field, "", read(...), true)) end
  Module["named_" .. what] = function(self, ...)
    local prefix, recurse, dedupe = read_named(...)
    return list.pairs(members(self, field, prefix, recurse, dedupe))
  end
end
define_members("parameters", "_parameters")
define_members("buffers", "_buffers")

-- Direct children as {name, module} pairs, each once.
function Module.named_children(self)
  adopt(self)
  local out, seen = {}, {}
  for name, child in pairs(self._modules) do
    if not rawequal(child, None) and not seen[child] then
      seen[child] = true
      out[#out + 1] = {name, child}
    end
  end
  return list.pairs(out)
end

function Module.children(self)
  local out = {}
  for i, pair in ipairs(self:named_children()) do out[i] = pair[2] end
  return list.new(out)
end

local read_modules = args("Module.named_modules(any memo=None, str prefix='', bool "
  .. "remove_duplicate=True)")
function Module.named_modules(self, ...)
  local _, prefix, dedupe = read_modules(...)
  return list.pairs(walk(self, prefix, dedupe and {} or false, {}))
end

function Module.modules(self) return seconds(walk(self, "", {}, {})) end

local function check_path(target, method)
  if type(target) == "string" then return end
  raise("AttributeError", string.format("'%s' object has no attribute '%s'", repr.typename(target),
        method), {kind = "argument", notes = {'a path of names goes here, as in "0.weight"'}})
end

-- get_submodule("a.b"): "" is the module itself.
function Module.get_submodule(self, target)
  check_path(target, "split")
  local mod = self
  for name in target:gmatch("[^.]+") do
    adopt(mod)
    local child = rawget(mod._modules, name)
    if child == nil or rawequal(child, None) then
      if rawget(mod, name) == nil and mod:_get_class()[name] == nil then
        raise("AttributeError", string.format("%s has no attribute `%s`", mod:_get_name(), name))
      end
      raise("AttributeError", "`" .. name .. "` is not an nn.Module")
    end
    mod = child
  end
  return mod
end

local function get_member(field, wanted)
  return function(self, target)
    check_path(target, "rpartition")
    local path, name = target:match("^(.*)%.([^.]*)$")
    local mod = self:get_submodule(path or "")
    name = name or target
    adopt(mod)
    local v = rawget(mod[field], name)
    if v ~= nil and not rawequal(v, None) then return v end
    if rawget(mod, name) == nil and not odict.has(mod._parameters, name)
       and not odict.has(mod._buffers, name) and not odict.has(mod._modules, name) then
      raise("AttributeError", string.format("%s has no attribute `%s`", mod:_get_name(), name))
    end
    raise("AttributeError", "`" .. name .. "` is not " .. wanted)
  end
end
Module.get_parameter = get_member("_parameters", "an nn.Parameter")
Module.get_buffer = get_member("_buffers", "a buffer")
function Module._get_class(self) return getmetatable(self).module_class end

-- ---- modes and moves -----------------------------------------------------------------------

local read_train = args "Module.train(any mode=True)"
function Module.train(self, ...)
  local mode = read_train(...)
  if type(mode) ~= "boolean" then
    raise("ValueError", "training mode is expected to be boolean")
  end
  local _ <close> = class.enter()
  evaluating(not mode)
  self.training = mode
  for child in self:children() do child:train(mode) end
  return self
end

function Module.eval(self) return self:train(false) end

-- apply(fn): fn(module) on every child, then on the module itself.
function Module.apply(self, fn)
  core.check_callable(fn)
  local _ <close> = class.enter()
  for child in self:children() do child:apply(fn) end
  fn(self)
  return self
end

function Module.requires_grad_(self, on)
  if on == nil then on = true end
  for p in self:parameters() do p:requires_grad_(on) end
  return self
end

local read_zero = args "Module.zero_grad(bool set_to_none=True)"
function Module.zero_grad(self, ...)
  local set_to_none = read_zero(...)
  for p in self:parameters() do core.zero_grad(p, set_to_none) end
end

-- Runs convert(t) over parameters (in place, gradients too) and buffers of the tree.
function Module._apply(self, convert)
  local done = {}
  for m in self:modules() do
    for _, p in pairs(m._parameters) do
      if not rawequal(p, None) and not done[p] then
        done[p] = true
        local grad = p.grad
        p.data = convert(p.data)
        if grad then p.grad = convert(grad) end
      end
    end
    for name, b in pairs(m._buffers) do
      if not rawequal(b, None) then m._buffers[name] = convert(b) end
    end
  end
  return self
end

local function to_dtype(dtype)
  return function(t) return t:is_floating_point() and t:to(dtype) or t end
end

for name, dtype in pairs {float = "float32", double = "float64", half = "float16",
                          bfloat16 = "bfloat16"} do
  Module[name] = function(self) return self:_apply(to_dtype(torch[dtype])) end
end

function Module.type(self, dtype) return self:_apply(function(t) return t:to(dtype) end) end
function Module.cpu(self) return self:_apply(function(t) return t:cpu() end) end
function Module.cuda(self, device) return self:_apply(function(t) return t:cuda(device) end) end

local read_to = args "Module.to(any device=None, any dtype=None, bool non_blocking=False)"

-- to(device), to(dtype), to(device, dtype), to(tensor): floating point values change dtype, all
-- move.
function Module.to(self, first, ...)
  if core.is_dtype(first) then
    return self:to({dtype = first})
  elseif core.is_tensor(first) then
    return self:to(first.device, first.dtype)
  end
  local device, dtype, non_blocking = read_to(first, ...)
  if dtype ~= nil and not core.is_dtype(dtype) then
    raise("TypeError", "to() argument 'dtype' must be torch.dtype, not " .. repr.typename(dtype),
          {kind = "argument"})
  end
  if dtype and not dtype.is_floating_point then
    raise("TypeError", "nn.Module.to only accepts floating point or complex dtypes, but got "
                       .. "desired dtype=" .. tostring(dtype))
  end
  return self:_apply(function(t)
    return t:to({non_blocking = non_blocking, device = device or None,
                 dtype = t:is_floating_point() and dtype or None})
  end)
end

require "torch.nn.module_state"
require "torch.nn.module_hooks"

require("dlrepl.methods").guard(Module, is_module, "Module", "net",
  {class = true, init = true, forward = true, extra_repr = true})

return Module
