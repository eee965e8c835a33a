-- pyrepr.lua -- values written as Python writes them: 1e-05, True, (3, 3), 'mean'
--
-- For module reprs, optimizer reprs and error texts, which must match PyTorch's
-- to the character.
--
-- MUST NOT know tensors or modules: anything else is written by tostring.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local M = {}

-- Shortest decimal digits that read back as the same double (Python's repr).
local function shortest(v)
  for digits = 1, 17 do
    local text = string.format("%." .. digits .. "g", v)
    if tonumber(text) == v then return text end
  end
  return string.format("%.17g", v)
end

local function float(v)
  if v ~= v then return "nan" end
  if v == math.huge then return "inf" elseif v == -math.huge then return "-inf" end
  local exponent = tonumber(string.match(string.format("%.16e", v), "e(.+)$"))
  local text = shortest(v)
  local has_e = text:find("e", 1, true)
  if exponent >= -4 and exponent < 16 then -- Python writes these without an exponent
    if has_e or not text:find(".", 1, true) then text = string.format("%.1f", v) end
    return text
  end
  if has_e then return text end
  local mantissa = shortest(v / 10.0 ^ exponent)
  return string.format("%se%s%02d", mantissa, exponent < 0 and "-" or "+", math.abs(exponent))
end

local function string_repr(s)
  local quote = s:find("'", 1, true) and not s:find('"', 1, true) and '"' or "'"
  local body = s:gsub("\\", "\\\\"):gsub("\n", "\\n"):gsub("\t", "\\t")
  if quote == "'" then body = body:gsub("'", "\\'") end
  return quote .. body .. quote
end

-- once(v, again, f): the text f(v), or `again` where v is being written already, inside of itself.
local busy = {}
local leave = {__close = function(mark) busy[mark.v] = nil end}
function M.once(v, again, f)
  if busy[v] then return again end
  busy[v] = true
  local _ <close> = setmetatable({v = v}, leave)
  return f(v)
end

local function sequence(list, open, close)
  local parts = {}
  for i = 1, #list do parts[i] = M.repr(list[i]) end
  local comma = open == "(" and #parts == 1 and "," or ""
  return open .. table.concat(parts, ", ") .. comma .. close
end

-- A plain Lua list reads as a tuple, because PyTorch's attributes are tuples.
function M.tuple(list)
  return M.once(list, "(...)", function() return sequence(list, "(", ")") end)
end
function M.list(list)
  return M.once(list, "[...]", function() return sequence(list, "[", "]") end)
end

-- repr(v). Lists are written as tuples; None for nil.
function M.repr(v)
  local kind = type(v)
  if kind == "number" then
    return math.type(v) == "integer" and string.format("%d", v) or float(v)
  elseif kind == "string" then return string_repr(v)
  elseif kind == "boolean" then return v and "True" or "False"
  elseif kind == "nil" then return "None"
  elseif kind == "table" and getmetatable(v) == nil then return M.tuple(v)
  end
  return tostring(v)
end

-- str(v): like repr, but strings stand bare.
function M.str(v) return type(v) == "string" and v or M.repr(v) end

-- Python's name of a value's type.
function M.typename(v)
  local kind = type(v)
  if kind == "number" then return math.type(v) == "integer" and "int" or "float" end
  local names = {string = "str", boolean = "bool", ["nil"] = "NoneType", ["function"] = "function"}
  if names[kind] then return names[kind] end
  if kind == "table" and getmetatable(v) == nil then
    return (next(v) == nil or v[1] ~= nil) and "list" or "dict"
  end
  local mt = getmetatable(v)
  return mt and type(mt.__name) == "string" and mt.__name or kind
end

return M
