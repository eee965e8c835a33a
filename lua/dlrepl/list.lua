-- list.lua -- lists that a `for` loop can call: for p in model:parameters() do
--
-- A list is a plain table from 1. As Lua's generic `for` calls the value after `in`
-- with (state, control), the list finds its place from the control value, so nested
-- loops over one list do not disturb each other.
--
-- INVARIANT  A list made by `new` or `pairs` is not changed afterwards by us; a hint of
--            the last place keeps a loop O(1) a step.
-- MUST NOT   know what its elements are.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local M = {}
local hints = setmetatable({}, {__mode = "k"})  -- list -> place of the value given last
local indexes = setmetatable({}, {__mode = "k"}) -- list -> {n, at = value -> place}

local function places(list, keyed)
  local map = indexes[list]
  if map and map.n == #list then return map.at end
  local at = {}
  for i = #list, 1, -1 do
    local key = list[i]
    if keyed then key = key[1] end
    at[key] = at[key] and {i, many = true} or i
  end
  indexes[list] = {n = #list, at = at}
  return at
end

local function next_index(list, control, keyed)
  if control == nil then return 1 end
  local hint = hints[list]
  local at = hint and list[hint]
  if keyed and at then at = at[1] end
  if hint and rawequal(at, control) then return hint + 1 end
  local place = places(list, keyed)[control]
  if type(place) == "table" then
    error("nested loops over a list that holds one value twice: use :enumerate()", 0)
  end
  return place and place + 1 or #list + 1
end

local function advance(list, control, keyed)
  local i = next_index(list, control, keyed)
  hints[list] = list[i] ~= nil and i or nil
  return list[i]
end

local methods = {}

-- for i, v in list:enumerate() do   (i from 0)
function methods.enumerate(list)
  local i = -1
  return function()
    i = i + 1
    if list[i + 1] ~= nil then return i, list[i + 1] end
  end
end

function methods.unpack(list) return table.unpack(list, 1, #list) end

local plain = {__name = "list", __index = methods}
plain.__call = function(list, _, control) return advance(list, control, false) end

local keyed = {__name = "list", __index = methods}
keyed.__call = function(list, _, control)
  local pair = advance(list, control, true)
  if pair then return pair[1], pair[2] end
end

local function tostring_list(list) return require("dlrepl.pyrepr").list(list) end
plain.__tostring, keyed.__tostring = tostring_list, tostring_list

-- `values` becomes the list itself. `next` is the step for objects that loop over a list
-- of their own: return M.next(list, control).
function M.new(values) return setmetatable(values, plain) end
-- A list of {name, value} pairs; the loop gives name, value.
function M.pairs(values) return setmetatable(values, keyed) end
M.meta = plain

-- Is it a list of Lua's or one of these?
function M.is(v)
  return type(v) == "table" and (getmetatable(v) == nil or getmetatable(v) == plain)
end

-- A tuple of Python's: a list that prints, and is saved, as one; field n where it may have holes.
local tuple_meta = {__name = "tuple", __call = plain.__call, __index = {
  enumerate = methods.enumerate,
  unpack = function(t) return table.unpack(t, 1, rawget(t, "n") or #t) end}}
function tuple_meta.__tostring(t) return require("dlrepl.pyrepr").tuple(t) end
function M.tuple(values) return setmetatable(values, tuple_meta) end
M.tuple_meta = tuple_meta

function M.next(list, control) return advance(list, control, false) end

return M
