-- pickle.lua -- tables, texts and numbers as Python's pickle module reads them (protocol 2)
--
-- For torch.cuda.memory._dump_snapshot. A table with a value at 1, or empty, is a list; M.tuple{…}
-- is a tuple; any other table with string keys is a dict, in the order of its keys.
--
-- ERRORS  TypeError for what has no form there.

local core = require "dlrepl.core"

local M = {}
local tuple_meta = {}
function M.tuple(list) return setmetatable(list, tuple_meta) end

local put

local function integer(n)
  if n >= 0 and n < 256 then return "K" .. string.char(n) end
  if n >= -2 ^ 31 and n < 2 ^ 31 then return "J" .. string.pack("<i4", n) end
  return "\x8a\8" .. string.pack("<i8", n)
end

local function list(out, v)
  out[#out + 1] = "]("
  for _, x in ipairs(v) do put(out, x) end
  out[#out + 1] = "e"
end

local function tuple(out, v)
  out[#out + 1] = "("
  for _, x in ipairs(v) do put(out, x) end
  out[#out + 1] = "t"
end

local function dict(out, v)
  local keys = {}
  for k in next, v do keys[#keys + 1] = k end
  table.sort(keys)
  out[#out + 1] = "}("
  for _, k in ipairs(keys) do
    put(out, k)
    put(out, v[k])
  end
  out[#out + 1] = "u"
end

local simple = {[true] = "\x88", [false] = "\x89", [core.None] = "N"}

function put(out, v)
  local kind = math.type(v) or type(v)
  if simple[v] then out[#out + 1] = simple[v]
  elseif kind == "string" then out[#out + 1] = "X" .. string.pack("<s4", v)
  elseif kind == "integer" then out[#out + 1] = integer(v)
  elseif kind == "float" then out[#out + 1] = "G" .. string.pack(">d", v)
  elseif kind ~= "table" then
    core.raise("TypeError", "cannot pickle '" .. require("dlrepl.pyrepr").typename(v) .. "' object")
  elseif getmetatable(v) == tuple_meta then tuple(out, v)
  elseif rawget(v, 1) ~= nil or next(v) == nil then list(out, v)
  else dict(out, v)
  end
end

-- The bytes of a pickle file.
function M.encode(v)
  local out = {"\x80\2"}
  put(out, v)
  out[#out + 1] = "."
  return table.concat(out)
end

return M
