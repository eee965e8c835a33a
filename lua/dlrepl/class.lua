-- class.lua -- small classes for datasets, samplers and transforms
--
--     local Squares = Dataset:class("Squares")
--     function Squares:init(n) self.n = n end
--     function Squares:len() return self.n end
--     function Squares:getitem(i) return i * i end
--
-- An instance reads x[i] through getitem, #x through len, x(…) through call, and can stand in a
-- `for` loop if it has iter (a function that gives the next value).
--
-- MUST NOT know tensors.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local core = require "dlrepl.core"
local lists = require "dlrepl.list"
local loop = require "dlrepl.loop"
local near = require "dlrepl.near"

local raise = core.raise
local M = {}

-- The class of an instance, nil for anything else.
function M.of(v)
  local mt = type(v) == "table" and getmetatable(v)
  return mt and rawget(mt, "class") or nil
end

-- Is v an instance of `class` or of a class made from it?
function M.isinstance(v, class)
  local c = M.of(v)
  while c do
    if c == class then return true end
    c = rawget(c, "__base__")
  end
  return false
end

-- Several results of getitem make one sample: a list that knows it is a tuple.
function M.tuple(...) return lists.tuple {n = select("#", ...), ...} end
function M.is_tuple(v) return getmetatable(v) == lists.tuple_meta end

-- One value as it is, several as a tuple.
function M.sample(...)
  if select("#", ...) == 1 then return (...) end
  return M.tuple(...)
end

local function names_of(class)
  local names = {}
  while class do
    for k in pairs(class) do names[#names + 1] = k end
    class = rawget(class, "__base__")
  end
  return names
end

-- Every name ever assigned: one that was set to nil reads as nil, any other raises.
local NAMES = {}
local function newindex(self, k, v)
  rawget(self, NAMES)[k] = true
  rawset(self, k, v)
end

local function make_index(class)
  return function(self, k)
    local v = class[k]
    if v ~= nil then return v end
    if rawget(self, NAMES)[k] then return nil end
    if type(k) ~= "string" and class.getitem then
      local i = math.type(k) == "float" and math.tointeger(k) or k
      return M.sample(class.getitem(self, i))
    end
    if k == "__class__" then return class end
    local meant = near.best(k, names_of(class))
    raise("AttributeError", string.format("'%s' object has no attribute '%s'", class.__name__,
          tostring(k)), {notes = meant and {"did you mean '" .. meant .. "'?"} or nil})
  end
end

local function length(self)
  local class = M.of(self)
  if class.len then return class.len(self) end
  raise("TypeError", string.format("object of type '%s' has no len()", class.__name__),
        {notes = {"define function " .. class.__name__ .. ":len()"}})
end

local function call(self, ...)
  local class = M.of(self)
  if class.iter and select("#", ...) == 2 and (...) == nil then
    return loop.step(self, (select(2, ...)), class.iter)
  elseif class.call then return class.call(self, ...)
  end
  raise("TypeError", string.format("'%s' object is not callable", class.__name__))
end

local function text(self)
  local class = M.of(self)
  if class.repr then return class.repr(self) end
  return string.format("<%s object>", class.__name__)
end

-- ipairs(self) counts from 0, as ipairs of a tensor does.
local function each(self)
  local class = M.of(self)
  if class.enumerate then return class.enumerate(self) end
  if not (class.getitem and class.len) then
    raise("TypeError", string.format("'%s' object is not iterable", class.__name__))
  end
  local n = class.len(self)
  return function(_, i)
    if i + 1 < n then return i + 1, self[i + 1] end
  end, self, -1
end

local function construct(class, ...)
  local self = setmetatable({[NAMES] = {}}, rawget(class, "_meta"))
  if class.init then class.init(self, ...) end
  return self
end

-- A class; `Base:class("Name")` makes one from it.
function M.new(name, base)
  local class = {__name__ = name, __base__ = base}
  class._meta = {__index = make_index(class), __newindex = newindex, __len = length, __call = call,
    __tostring = text, __ipairs = each,
                 __name = name, class = class, __add = base and rawget(base._meta, "__add")}
  if not base then
    class.class = function(parent, child)
      if type(child) ~= "string" then
        raise("TypeError", "class() takes a name: " .. name .. ":class(\"Mine\")")
      end
      return M.new(child, parent)
    end
  end
  return setmetatable(class, {__index = base, __call = construct, __name = "type",
                              __tostring = function() return "<class '" .. name .. "'>" end})
end

return M
