-- read.lua -- what a plot is given, as plain lists of numbers
--
-- For the plots. A snapshot: what happens to the tensor or list afterwards is not seen.
--
-- INVARIANT  A series is {x = list, y = list, name = string or nil, counted = x is positions}, the
--            lists of equal length.

local core = require "dlrepl.core"
local repr = require "dlrepl.pyrepr"

local torch = core.torch
local M = {}

local function complain(fn, what, v)
  core.raise("TypeError", string.format("%s() expects %s, but got %s", fn, what,
    core.is_tensor(v) and "a tensor of shape " .. tostring(v.shape):match("%[.*%]")
    or repr.typename(v)))
end
M.complain = complain

local function is_array(v)
  local mt = type(v) == "userdata" and getmetatable(v)
  return mt and mt.__name == "numpy.ndarray" or false
end

-- A tensor of any dtype and device, or an array, as a double tensor on the CPU; nil for others.
function M.tensor(v)
  if is_array(v) then v = torch.from_numpy(v) end
  if core.is_tensor(v) then return v:detach():cpu():to(torch.float64) end
end

local function number(v, fn, i)
  if type(v) == "number" then return v + 0.0 end
  if type(v) == "boolean" then return v and 1.0 or 0.0 end
  if core.is_tensor(v) and v:numel() == 1 then return v:item() + 0.0 end
  core.raise("TypeError", string.format("%s() expects numbers, but element %d is %s", fn, i,
                                        repr.typename(v)))
end

local LARGEST = 10000000 -- numbers in one plot: as a list they take 160 MB

-- A list, tensor or array as a list of floats; and the number its first element counts as.
function M.list(v, fn)
  local t = M.tensor(v)
  if t then
    if t:numel() > LARGEST then
      core.raise("ValueError", string.format("%s() draws at most %d numbers, and these are %d",
                                             fn, LARGEST, t:numel()),
                 {notes = {"draw a part: x:flatten()[\"::100\"]"}})
    end
    local list = t:flatten():tolist()
    return type(list) == "table" and list or {list}, 0
  end
  if type(v) ~= "table" then complain(fn, "a tensor or a list of numbers", v) end
  local out = {}
  for i = 1, #v do out[i] = number(v[i], fn, i) end
  return out, 1
end

local function count(from, n)
  local x = {}
  for i = 1, n do x[i] = from + i - 1 end
  return x
end

-- Rows {name, value, place in a list or false}: as they stood, else the largest first and nan last.
local function by_size(a, b)
  if a[3] and b[3] then return a[3] < b[3] end
  if a[3] or b[3] then return a[3] and true or false end
  local x, y = a[2] == a[2] and a[2] or -math.huge, b[2] == b[2] and b[2] or -math.huge
  if x ~= y then return x > y end
  return a[1] < b[1]
end

-- {name = value, …}, the largest first, or {{name, value}, …}: a list of names and one of values.
function M.named(v, fn)
  local rows, names, values = {}, {}, {}
  for key, value in pairs(v) do
    local pair = math.type(key) and type(value) == "table" and value
    rows[#rows + 1] = pair and {tostring(pair[1]), pair[2], key} or {tostring(key), value, false}
  end
  for i, row in ipairs(rows) do row[2] = number(row[2], fn, i) end
  table.sort(rows, by_size)
  for i, row in ipairs(rows) do names[i], values[i] = row[1], row[2] end
  return names, values
end

-- One series; x may be nil.
function M.one(x, y, fn, name)
  local values, from = M.list(y, fn)
  local places = x ~= nil and M.list(x, fn) or count(from, #values)
  if #places ~= #values then
    core.raise("ValueError", string.format("%s(): x and y must have the same length, but have "
               .. "%d and %d", fn, #places, #values))
  end
  return {x = places, y = values, name = name, counted = x == nil}
end

-- Is this {name = values, …}, or a list of lists or tensors?
local function is_many(v)
  if type(v) ~= "table" then return false end
  local key = next(v)
  if type(key) == "string" then return v[1] == nil end
  local first = v[1]
  return type(first) == "table" or (core.is_tensor(first) and first:numel() ~= 1)
end

-- One series or several: (y), (x, y), ({name = y, …}), ({y1, y2}).
function M.many(x, y, fn)
  if y ~= nil then return {M.one(x, y, fn)} end
  if not is_many(x) then return {M.one(nil, x, fn)} end
  local names, out = {}, {}
  for name in pairs(x) do names[#names + 1] = name end
  table.sort(names, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  for i, name in ipairs(names) do out[i] = M.one(nil, x[name], fn, tostring(name)) end
  return out
end

return M
