-- container.lua -- Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict
--
-- INVARIANT  Indices count from 0 and may be negative, as in PyTorch; the children are kept under
--            the names "0", "1", …, so that state_dict has PyTorch's keys.

local core = require "dlrepl.core"
local class = require "torch.nn.class"
local list = require "dlrepl.list"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"
local Module = require "torch.nn.module"
local args = require "dlrepl.args"

local raise, is_module = core.raise, class.is_module
local None = core.None
local M = {}

-- ---- what lists of modules share -----------------------------------------------------------

-- The children as a plain list from 1.
local function items(self) return self._modules:values() end

local function whole(k)
  return math.type(k) and math.tointeger(k) or nil
end

local function place(self, k, n)
  n = n or #self._modules
  if k < -n or k >= n then
    raise("IndexError", "index " .. k .. " is out of range", {kind = "index"})
  end
  return k < 0 and k + n or k
end

local function refill(self, modules)
  local fresh = odict.new()
  for i, m in ipairs(modules) do fresh[tostring(i - 1)] = m end
  rawset(self, "_modules", fresh)
end

-- slice(a, b, step) or the text "a:b:step" -> list of positions from 0.
local function slice_places(k, n)
  local a, b, step
  if type(k) == "string" then
    local x, y, z = k:match("^%s*(-?%d*)%s*:%s*(-?%d*)%s*:?%s*(-?%d*)%s*$")
    if not x then return nil end
    a, b, step = tonumber(x), tonumber(y), tonumber(z)
  elseif type(k) == "userdata" and getmetatable(k).__name == "slice" then
    a, b, step = k.start, k.stop, k.step
  else
    return nil
  end
  step = step or 1
  if step == 0 then raise("ValueError", "slice step cannot be zero") end
  local low, high = step > 0 and 0 or -1, step > 0 and n or n - 1
  local function clip(v, default)
    if v == nil then return default end
    if v < 0 then v = v + n end
    return math.max(low, math.min(high, v))
  end
  local places = {}
  local from, to = clip(a, step > 0 and 0 or n - 1), clip(b, step > 0 and n or -1)
  for i = from, to + (step > 0 and -1 or 1), step do places[#places + 1] = i end
  return places
end

local function getitem(self, k)
  local i = whole(k)
  local modules = items(self)
  if i then return modules[place(self, i) + 1] end
  local places = slice_places(k, #modules)
  if not places then
    if type(k) == "string" then
      raise("AttributeError", string.format("'%s' object has no attribute '%s'", self:_get_name(),
        k))
    end
    raise("TypeError", self:_get_name() .. " indices must be integers or slices, not "
          .. repr.typename(k))
  end
  local names, part = self._modules:keys(), {}
  for _, at in ipairs(places) do part[#part + 1] = {names[at + 1], modules[at + 1]} end
  return self:_like(part)
end

local function setitem(self, k, m)
  local i = whole(k)
  if not i then raise("TypeError", "indices must be integers, not " .. repr.typename(k)) end
  local name = tostring(place(self, i))
  if m == nil then
    local modules = items(self)
    table.remove(modules, tonumber(name) + 1)
    return refill(self, modules)
  end
  self[name] = m
end

-- One step of `for m in self do`: the children are listed anew when a loop begins.
local function walk(self, control, values)
  local at = rawget(self, "_walk")
  if control == nil or not at then
    at = list.new(values(self))
    rawset(self, "_walk", at)
  end
  return list.next(at, control)
end

local function sequence(cls)
  cls.getattr = true
  cls.getitem, cls.setitem = getitem, setitem
  function cls.len(self) return #self._modules end
  function cls.iterate(self, control) return walk(self, control, items) end
  function cls.enumerate(self) return list.new(items(self)):enumerate() end
  function cls.unpack(self) return table.unpack(items(self)) end
  function cls.append(self, m)
    self:add_module(tostring(#self._modules), m)
    return self
  end
  function cls.insert(self, k, m)
    local modules = items(self)
    local n = #modules
    if not is_module(m) then
      raise("AssertionError", "module should be of type: <class 'torch.nn.modules.module.Module'>")
    end
    if k < -n or k > n then raise("IndexError", "Index out of range: " .. k, {kind = "index"}) end
    table.insert(modules, (k < 0 and k + n or k) + 1, m)
    refill(self, modules)
    return self
  end
  function cls.extend(self, more)
    for _, m in ipairs(more.children and items(more) or more) do self:append(m) end
    return self
  end
  function cls.pop(self, k)
    local m = self[k]
    self[k] = nil
    return m
  end
end

-- A list of {name, value} pairs, or ValueError.
local function check_pairs(pairs_list)
  for i, pair in ipairs(pairs_list) do
    if type(pair) ~= "table" or type(pair[1]) ~= "string" or pair[2] == nil then
      raise("ValueError", "update sequence element #" .. (i - 1) .. " must be a {name, value} pair")
    end
  end
  return pairs_list
end

-- ---- Sequential ----------------------------------------------------------------------------

M.Sequential = Module:class("Sequential")
sequence(M.Sequential)

-- Modules in order; or one ordered table, or one list of {name, module} pairs.
function M.Sequential.init(self, ...)
  local first = ...
  if select("#", ...) == 1 and type(first) == "table" and not is_module(first) then
    if odict.is(first) or args.is_keywords(first) then
      for name, m in odict.pairs(first) do self:add_module(name, m) end
      return
    elseif type(first[1]) == "table" and type(first[1][1]) == "string" then
      for _, pair in ipairs(first) do self:add_module(pair[1], pair[2]) end
      return
    end
  end
  for i = 1, select("#", ...) do self:add_module(tostring(i - 1), (select(i, ...))) end
end

local FRAMES = 5000 -- of Lua, which has room for many more

function M.Sequential.forward(self, ...)
  if debug.getinfo(FRAMES, "l") then class.check_depth(FRAMES) end
  local first = true
  local out = table.pack(...)
  for _, m in pairs(self._modules) do
    if first and out.n ~= 1 then
      raise("TypeError", string.format("%s.forward() takes 2 positional arguments but %d were "
        .. "given",
                                       self:_get_name(), out.n + 1))
    end
    if first then out, first = out[1], false end
    if rawequal(m, None) then raise("TypeError", "'NoneType' object is not callable") end
    out = m(out)
  end
  if first then return ... end
  return out
end

-- A slice keeps the names of its modules.
function M.Sequential._like(_, pairs_list) return M.Sequential(odict.new(pairs_list)) end

-- ---- ModuleList ----------------------------------------------------------------------------

M.ModuleList = Module:class("ModuleList")
sequence(M.ModuleList)

function M.ModuleList.init(self, modules)
  if modules == nil then return end
  if type(modules) ~= "table" or (is_module(modules) and not modules._get_class(modules).len) then
    raise("TypeError", "ModuleList.extend should be called with an iterable, but got "
          .. repr.typename(modules))
  end
  self:extend(modules)
end

function M.ModuleList._like(_, pairs_list)
  local part = M.ModuleList()
  for _, pair in ipairs(pairs_list) do part:append(pair[2]) end
  return part
end

-- Runs of equal texts print once: (0-2): 3 x Linear(…)
function M.ModuleList._child_lines(self)
  local lines, texts = {}, {}
  for _, m in pairs(self._modules) do texts[#texts + 1] = class.text(m) end
  local i = 1
  while i <= #texts do
    local j = i
    while texts[j + 1] == texts[i] do j = j + 1 end
    local text = texts[i]:gsub("\n", "\n  ")
    if j == i then lines[#lines + 1] = string.format("(%d): %s", i - 1, text)
    else lines[#lines + 1] = string.format("(%d-%d): %d x %s", i - 1, j - 1, j - i + 1, text)
    end
    i = j + 1
  end
  return lines
end

-- ---- ModuleDict ----------------------------------------------------------------------------

M.ModuleDict = Module:class("ModuleDict")

-- A list of {name, module} pairs keeps its order; a string-keyed table is read in sorted order.
function M.ModuleDict.init(self, modules)
  if modules ~= nil then self:update(modules) end
end

function M.ModuleDict.update(self, modules)
  if type(modules) ~= "table" then
    raise("TypeError", "ModuleDict.update should be called with an iterable of key/value pairs, "
          .. "but got " .. repr.typename(modules))
  end
  if is_module(modules) then modules = modules._modules end
  if not odict.is(modules) and modules[1] ~= nil then
    for _, pair in ipairs(check_pairs(modules)) do self:add_module(pair[1], pair[2]) end
    return
  end
  for name, m in odict.pairs(modules) do self:add_module(name, m) end
end

M.ModuleDict.getattr = true
function M.ModuleDict.getitem(_, k) raise("KeyError", repr.repr(k)) end
function M.ModuleDict.len(self) return #self._modules end
function M.ModuleDict.iterate(self, control) return walk(self, control, self.keys) end
function M.ModuleDict.keys(self) return list.new(self._modules:keys()) end
function M.ModuleDict.values(self) return list.new(self._modules:values()) end
function M.ModuleDict.items(self) return list.pairs(self._modules:items()) end
function M.ModuleDict.contains(self, k) return odict.has(self._modules, k) end
function M.ModuleDict.clear(self) refill(self, {}) end
function M.ModuleDict.pop(self, k)
  local m = self[k]
  self._modules[k] = nil
  return m
end

-- ---- parameters in a row -------------------------------------------------------------------

local function list_of(values, name)
  return core.check_list(values or {}, name, "Parameter", core.is_tensor)
end

local function to_parameter(v)
  return core.is_tensor(v) and not core.is_parameter(v) and core.parameter(v) or v
end

local function parameter_lines(self, dict_style)
  local lines = {}
  for name, p in pairs(self._parameters) do
    local sizes = {}
    for i = 0, p:dim() - 1 do sizes[#sizes + 1] = tostring(p:size(i)) end
    local dtype = dict_style and p:type() or tostring(p.dtype)
    local where = p.device.type == "cpu" and "" or " (" .. tostring(p.device) .. ")"
    lines[#lines + 1] = string.format("  (%s): Parameter containing: [%s of size %s%s]", name,
      dtype,
                                      table.concat(sizes, "x"), where)
  end
  return table.concat(lines, "\n")
end

M.ParameterList = Module:class("ParameterList")

function M.ParameterList.init(self, values)
  for _, v in ipairs(list_of(values, "ParameterList")) do self:append(v) end
end

-- A plain tensor becomes a parameter.
function M.ParameterList.append(self, v)
  self[tostring(#self._parameters)] = to_parameter(v)
  return self
end
function M.ParameterList.extend(self, values)
  for _, v in ipairs(list_of(values, "ParameterList.extend")) do self:append(v) end
  return self
end
function M.ParameterList.len(self) return #self._parameters end
function M.ParameterList.getitem(self, k)
  local i = whole(k)
  local values = self._parameters:values()
  return values[place(self, i, #values) + 1]
end
function M.ParameterList.setitem(self, k, v)
  self[tostring(place(self, whole(k), #self._parameters))] = to_parameter(v)
end
local function parameter_values(self) return self._parameters:values() end
function M.ParameterList.iterate(self, control) return walk(self, control, parameter_values) end
function M.ParameterList.enumerate(self) return list.new(self._parameters:values()):enumerate() end
function M.ParameterList.unpack(self) return table.unpack(self._parameters:values()) end
function M.ParameterList.forward() raise("RuntimeError", "ParameterList should not be called.") end
function M.ParameterList.extra_repr(self) return parameter_lines(self, false) end

M.ParameterDict = Module:class("ParameterDict")

function M.ParameterDict.init(self, values)
  if values == nil then return end
  if type(values) ~= "table" then list_of(values, "ParameterDict") end
  if values[1] ~= nil and not odict.is(values) then values = odict.new(check_pairs(values)) end
  for name, v in odict.pairs(values) do self[name] = to_parameter(v) end
end
function M.ParameterDict.len(self) return #self._parameters end
function M.ParameterDict.keys(self) return list.new(self._parameters:keys()) end
function M.ParameterDict.values(self) return list.new(self._parameters:values()) end
function M.ParameterDict.items(self) return list.pairs(self._parameters:items()) end
function M.ParameterDict.forward() raise("RuntimeError", "ParameterDict should not be called.") end
function M.ParameterDict.extra_repr(self) return parameter_lines(self, true) end

for name, class in pairs(M) do
  require("dlrepl.methods").guard(class, require("torch.nn.class").is_module, name, "list",
    {init = true, forward = true, extra_repr = true})
end

return M
