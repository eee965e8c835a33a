-- class.lua -- nn.Module's classes: how a module is made, read, written and called
--
--     local Net = nn.Module:class("Net")
--     function Net:init(n) self.fc = nn.Linear(n, 10) end
--     function Net:forward(x) return self.fc(x) end
--
-- For nn/module.lua, which adds the methods. An instance is a table: plain attributes
-- are raw fields; parameters, buffers and children live in ordered tables
-- (`_parameters`, `_buffers`, `_modules`), as in PyTorch.
--
-- INVARIANT  A parameter or module assigned by name is registered, in order of assignment.
--            `_known` holds every plain name ever assigned, so that a name set to nil reads
--            as nil while a name never set raises AttributeError.
-- MUST NOT   know layers.

local core = require "dlrepl.core"
local odict = require "dlrepl.odict"
local near = require "dlrepl.near"

local rawget, rawset, getmetatable = rawget, rawset, debug.getmetatable
local None = core.None
local is_tensor, is_parameter, raise = core.is_tensor, core.is_parameter, core.raise

local M = {}
local Module = {__name__ = "Module", _parameters = false, _buffers = false, _modules = false,
                _known = false, _hooked = false}
M.Module = Module

function M.is_module(v)
  local mt = getmetatable(v)
  return type(v) == "table" and mt ~= nil and rawget(mt, "module_class") ~= nil
end
local is_module = M.is_module

-- Is m an instance of `class` or of a class made from it?
function M.isinstance(m, class)
  local mt = getmetatable(m)
  local c = type(m) == "table" and mt and rawget(mt, "module_class")
  while c do
    if c == class then return true end
    c = rawget(c, "__base__")
  end
  return false
end

-- ---- modules inside modules --------------------------------------------------------------------

local DEEPEST = 1000 -- as many as Python has frames
local depth = 0
local leave = setmetatable({}, {__close = function() depth = depth - 1 end})

function M.check_depth(n)
  if n < DEEPEST then return end
  raise("RecursionError", "maximum recursion depth exceeded", {kind = "argument", notes = {
    "modules lie " .. DEEPEST .. " deep in one another: does one hold itself?"}})
end

-- local _ <close> = class.enter(): for a method that calls itself on the children.
function M.enter()
  M.check_depth(depth)
  depth = depth + 1
  return leave
end

-- ---- reading ----------------------------------------------------------------------------------

local function names_of(self, class)
  local names = {}
  for _, d in ipairs {"_parameters", "_buffers", "_modules", "_known"} do
    for k in pairs(rawget(self, d) or {}) do names[#names + 1] = k end
  end
  while class do
    for k in pairs(class) do names[#names + 1] = k end
    class = rawget(class, "__base__")
  end
  return names
end

local function no_attribute(self, class, k)
  if k == "__class__" then return class end
  local text = string.format("'%s' object has no attribute '%s'", class.__name__, tostring(k))
  local meant = near.best(k, names_of(self, class))
  raise("AttributeError", text,
        {kind = "argument", notes = meant and {"did you mean '" .. meant .. "'?"} or nil})
end

local function not_subscriptable(class)
  raise("TypeError", string.format("'%s' object is not subscriptable", class.__name__))
end

local is_none = {[None] = true} -- tensors cannot be compared with ==

-- The reads below are plain field accesses: `_parameters` and its kin are raw fields of every
-- instance (the class holds false for one that was never set up).
local function make_index(class)
  return function(self, k)
    local v = class[k]
    if v ~= nil then return v end
    local d = self._modules
    if not d then return no_attribute(self, class, k) end
    v = rawget(d, k)
    if v == nil then
      v = rawget(self._parameters, k)
      if v == nil then v = rawget(self._buffers, k) end
    end
    if v ~= nil then
      if is_none[v] then return nil end
      return v
    end
    if self._known[k] then return nil end
    if type(k) ~= "string" or class.getattr then
      if class.getitem then return class.getitem(self, k) end
      if type(k) ~= "string" then return not_subscriptable(class) end
    end
    return no_attribute(self, class, k)
  end
end

-- ---- writing ------------------------------------------------------------------------------------

local function forget(self, k, keep)
  if rawget(self, k) ~= nil then rawset(self, k, nil) end
  for _, name in ipairs {"_parameters", "_buffers", "_modules"} do
    local d = rawget(self, name)
    if name ~= keep and rawget(d, k) ~= nil then d[k] = nil end
  end
  if keep ~= "_buffers" then rawget(self, "_non_persistent")[k] = nil end
end

local function not_ready(what)
  raise("AttributeError", "cannot assign " .. what .. " before Module.__init__() call",
        {notes = {"make instances by calling the class, Net(…): that does the parent's set-up"}})
end

local function wrong(v, what, k, wanted)
  raise("TypeError", string.format("cannot assign '%s' as %s '%s' (%s or None expected)",
                                   core.typename(v), what, k, wanted))
end

local function newindex(self, k, v)
  local params = rawget(self, "_parameters")
  if not params then
    if is_module(v) then not_ready("module") end
    if is_parameter(v) then not_ready("parameters") end
    return rawset(self, k, v)
  end
  local class = getmetatable(self).module_class
  if type(k) ~= "string" then
    if class.setitem then return class.setitem(self, k, v) end
    raise("TypeError", string.format("'%s' object does not support item assignment",
      class.__name__))
  end
  if is_parameter(v) then
    forget(self, k, "_parameters")
    self:register_parameter(k, v)
  elseif rawget(params, k) ~= nil then
    if v ~= nil and not rawequal(v, None) then wrong(v, "parameter", k, "torch.nn.Parameter") end
    params[k] = None
  elseif is_module(v) then
    forget(self, k, "_modules")
    rawget(self, "_modules")[k] = v
  elseif rawget(rawget(self, "_modules"), k) ~= nil then
    if v ~= nil and not rawequal(v, None) then wrong(v, "child module", k, "torch.nn.Module") end
    rawget(self, "_modules")[k] = None
  elseif rawget(rawget(self, "_buffers"), k) ~= nil then
    if v == nil then v = None end
    if not rawequal(v, None) and not is_tensor(v) then wrong(v, "buffer", k,
      "torch.nn.Buffer, torch.Tensor") end
    rawget(self, "_buffers")[k] = v
  else
    rawget(self, "_known")[k] = true
    if not rawequal(v, None) then rawset(self, k, v) end
  end
end

-- A plain attribute that was overwritten by a parameter or a module is registered now
-- (Lua tells nobody when an existing field changes). Called before every walk.
function M.adopt(self)
  local found
  for k, v in next, self do
    if type(k) == "string" and (is_parameter(v) or is_module(v)) then
      found = found or {}
      found[#found + 1] = k
    end
  end
  if not found then return end
  table.sort(found)
  for _, k in ipairs(found) do
    local v = rawget(self, k)
    rawset(self, k, nil)
    newindex(self, k, v)
  end
end

-- ---- calling, printing ---------------------------------------------------------------------

local function make_call(class)
  local function call(self, ...)
    if self._hooked then return class._call_hooked(self, ...) end
    return self:forward(...)
  end
  return function(self, ...)
    if (...) == nil and select("#", ...) == 2 and class.iterate then -- `for x in self do`
      return class.iterate(self, (select(2, ...)))
    end
    if M.watch then return M.watch(call, self, ...) end -- a run record is being kept
    if self._hooked then return class._call_hooked(self, ...) end
    return self:forward(...)
  end
end

local function length(self)
  local class = getmetatable(self).module_class
  if class.len then return class.len(self) end
  raise("TypeError", string.format("object of type '%s' has no len()", class.__name__))
end

-- ipairs(self) counts from 0, as ipairs of a tensor does.
local function each(self)
  local class = getmetatable(self).module_class
  if class.enumerate then return class.enumerate(self) end
  raise("TypeError", string.format("'%s' object is not iterable", class.__name__),
        {notes = {class.items and "write for name, value in x:items() do … end"
                  or "its parts: for name, m in x:named_children() do … end"}})
end

local function construct(class, ...)
  local self = setmetatable({
    training = true, _hooked = false, _known = {}, _non_persistent = {},
    _parameters = odict.new(), _buffers = odict.new(), _modules = odict.new(),
  }, rawget(class, "_meta"))
  class.init(self, ...)
  return self
end

local function class_text(class)
  return string.format("<class '%s'>", rawget(class, "__qualname__") or "__main__."
    .. class.__name__)
end

local function equip(class, base)
  class.__base__ = base
  class._meta = {
    __index = make_index(class), __newindex = newindex, __call = make_call(class),
    __len = length, __ipairs = each,
    __tostring = function(self) return self:__repr__() end,
    __name = class.__name__, module_class = class,
  }
  return setmetatable(class, {__index = base, __call = construct, __tostring = class_text,
                              __name = "type"})
end
equip(Module, nil)

-- Parent:class("Name") makes a class; `init` and `forward` are then defined on it.
function Module.class(parent, name)
  if type(parent) ~= "table" or type(name) ~= "string" then
    raise("TypeError", "class() takes a name: local Net = nn.Module:class(\"Net\")")
  end
  return equip({__name__ = name}, parent)
end

-- Module's own set-up takes nothing: arguments reach here when a class defines no `init`.
function Module.init(self, ...)
  local n = select("#", ...)
  if n > 0 then
    raise("TypeError", string.format(
      "%s.__init__() takes 1 positional argument but %d were given",
      getmetatable(self).module_class.__name__, n + 1),
      {notes = {"define function Net:init(…) to take arguments"}})
  end
end

function Module.forward(self)
  raise("NotImplementedError", string.format(
    'Module [%s] is missing the required "forward" function',
    getmetatable(self).module_class.__name__))
end

function Module._get_name(self) return getmetatable(self).module_class.__name__ end
function Module.extra_repr() return "" end

local function indent(text) return (text:gsub("\n", "\n  ")) end

-- "(name): repr" of each child, indented for the parent's text.
function Module._child_lines(self)
  local lines = {}
  for name, child in pairs(self._modules) do
    lines[#lines + 1] = string.format("(%s): %s", name, indent(M.text(child)))
  end
  return lines
end

-- A child in words; tostring would go through C, which nests 200 calls.
function M.text(child)
  if is_module(child) then return child:__repr__() end
  return rawequal(child, None) and "None" or tostring(child)
end

function Module.__repr__(self)
  local _ <close> = M.enter()
  M.adopt(self)
  local extra = self:extra_repr()
  local lines, children = {}, self:_child_lines()
  if extra ~= "" then
    for line in (extra .. "\n"):gmatch("(.-)\n") do lines[#lines + 1] = line end
  end
  local single = #lines == 1 and #children == 0
  for _, line in ipairs(children) do lines[#lines + 1] = line end
  local body = ""
  if single then body = lines[1]
  elseif #lines > 0 then body = "\n  " .. table.concat(lines, "\n  ") .. "\n"
  end
  return self:_get_name() .. "(" .. body .. ")"
end

return M
