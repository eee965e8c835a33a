-- odict.lua -- a table that remembers the order of its keys
--
-- For parameters, buffers, children and state_dict: `pairs` walks in the order of
-- insertion, `#` counts, d[k] = nil removes. A key may be present with no value
-- (Python's None): store the global None.
--
-- INVARIANT  values sit in the table itself (reads are raw and fast); order and
--            position sit under two private keys; a removed key leaves a hole that
--            walking skips.
-- MUST NOT   know tensors.

local M = {}
local ORDER, PLACE, DICT, HOLE = {}, {}, {}, {}
local methods, mt = {}, {__name = "OrderedDict"}

-- An empty ordered table, or one filled from a list of {key, value} pairs.
function M.new(list)
  local d = setmetatable({[ORDER] = {}, [PLACE] = {}}, mt)
  for _, pair in ipairs(list or {}) do d[pair[1]] = pair[2] end
  return d
end

-- The same, printed as Python prints a plain dict.
function M.dict(list)
  local d = M.new(list)
  rawset(d, DICT, true)
  return d
end

function M.is(v) return getmetatable(v) == mt end
-- Of an ordered table: does it stand for a plain dict?
function M.is_dict(d) return rawget(d, DICT) or false end
M.meta = mt

function mt.__newindex(d, key, value) -- called for keys that are absent
  if value == nil then return end
  local order, place = rawget(d, ORDER), rawget(d, PLACE)
  if place[key] then order[place[key]] = HOLE end
  order[#order + 1] = key
  place[key] = #order
  rawset(d, key, value)
end

local function step(d, key)
  local order = rawget(d, ORDER)
  local i = key == nil and 0 or rawget(d, PLACE)[key]
  for j = i + 1, #order do
    local k = order[j]
    if not rawequal(k, HOLE) then
      local v = rawget(d, k)
      if v ~= nil then return k, v end
    end
  end
end

function mt.__pairs(d) return step, d, nil end

function mt.__len(d)
  local n = 0
  for _ in step, d do n = n + 1 end
  return n
end

mt.__index = function(_, key) return methods[key] end

-- The keys in order, as a plain list; likewise values and {key, value} pairs.
function methods.keys(d)
  local list = {}
  for k in step, d do list[#list + 1] = k end
  return list
end

function methods.values(d)
  local list = {}
  for _, v in step, d do list[#list + 1] = v end
  return list
end

function methods.items(d)
  local list = {}
  for k, v in step, d do list[#list + 1] = {k, v} end
  return list
end

M.keys = methods.keys

-- Put every pair of `other` (ordered or plain) into d; a plain table is read in sorted order.
function methods.update(d, other)
  for k, v in M.pairs(other) do d[k] = v end
  return d
end

-- pairs(t) in a reproducible order: an ordered table's own, sorted keys for a plain one.
function M.pairs(t)
  if getmetatable(t) == mt then return step, t, nil end
  local keys = {}
  for k in pairs(t) do keys[#keys + 1] = k end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local i = 0
  return function()
    i = i + 1
    return keys[i], t[keys[i]]
  end
end

-- Is the key there (even with None)? Reads past the methods.
function M.has(d, key) return rawget(d, key) ~= nil end

local function text(d)
  local repr = require("dlrepl.pyrepr").repr
  local parts, form = {}, rawget(d, DICT) and "%s: %s" or "(%s, %s)"
  for k, v in step, d do parts[#parts + 1] = form:format(repr(k), repr(v)) end
  if rawget(d, DICT) then return "{" .. table.concat(parts, ", ") .. "}" end
  if #parts == 0 then return "OrderedDict()" end
  return "OrderedDict([" .. table.concat(parts, ", ") .. "])"
end

function mt.__tostring(d)
  return require("dlrepl.pyrepr").once(d, rawget(d, DICT) and "{...}" or "...", text)
end

return M
