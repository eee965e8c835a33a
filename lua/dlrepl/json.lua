-- json.lua -- reads JSON text into Lua values, and writes it
--
-- For tests and programs that carry data in JSON. Objects become tables with string keys, arrays
-- tables from 1, null the global None.
--
-- ERRORS  ValueError with the place in the text; nesting deeper than 200 is refused.

local M = {}
local None = None

local function fail(s, at, what)
  local line = select(2, s:sub(1, at):gsub("\n", "\n")) + 1
  local text = string.format("JSON: %s at byte %d (line %d)", what, at, line)
  if dlrepl then dlrepl.raise {class = "ValueError", message = text, kind = "io"} end
  error(text, 0)
end

local escapes = {['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r",
                 t = "\t"}

local function read_escape(s, at)
  local c = s:sub(at + 1, at + 1)
  if escapes[c] then return escapes[c], at + 2 end
  local code = c == "u" and tonumber(s:match("^%x%x%x%x", at + 2) or "", 16)
  if not code then fail(s, at, "bad escape") end
  at = at + 6
  if code >= 0xD800 and code < 0xDC00 then -- the first half of a pair
    local low = tonumber(s:match("^\\u([dD][c-fC-F]%x%x)", at) or "", 16)
    if not low then fail(s, at, "lone surrogate") end
    return utf8.char(0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00)), at + 6
  end
  return utf8.char(code), at
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local stop = s:find('["\\%c]', at)
    if not stop then fail(s, at, "unfinished string") end
    parts[#parts + 1] = s:sub(at, stop - 1)
    local c = s:sub(stop, stop)
    if c == '"' then return table.concat(parts), stop + 1 end
    if c ~= "\\" then fail(s, stop, "control character in a string") end
    parts[#parts + 1], at = read_escape(s, stop)
  end
end

local read_value

local function skip(s, at) return s:find("[^ \t\r\n]", at) or #s + 1 end

-- Reads "a, b, c" up to `close`; one(at) reads an element and returns the place after it.
local function read_items(s, at, close, one)
  at = skip(s, at + 1)
  if s:sub(at, at) == close then return at + 1 end
  while true do
    at = skip(s, one(at))
    local c = s:sub(at, at)
    if c == close then return at + 1 end
    if c ~= "," then fail(s, at, "expected ',' or '" .. close .. "'") end
    at = skip(s, at + 1)
  end
end

local words = {["true"] = true, ["false"] = false, null = None}

function read_value(s, at, depth)
  if depth > 200 then fail(s, at, "nested too deeply") end
  at = skip(s, at)
  local c = s:sub(at, at)
  if c == '"' then return read_string(s, at) end
  if c == "[" then
    local list = {}
    return list, read_items(s, at, "]", function(i)
      local v, after = read_value(s, i, depth + 1)
      list[#list + 1] = v
      return after
    end)
  elseif c == "{" then
    local map = {}
    return map, read_items(s, at, "}", function(i)
      if s:sub(i, i) ~= '"' then fail(s, i, "expected a key") end
      local key, after = read_string(s, i)
      after = skip(s, after)
      if s:sub(after, after) ~= ":" then fail(s, after, "expected ':'") end
      map[key], after = read_value(s, after + 1, depth + 1)
      return after
    end)
  end
  local word = s:match("^%a+", at)
  if word then
    if words[word] == nil then fail(s, at, "unknown word") end
    return words[word], at + #word
  end
  local number = s:match("^-?%d+%.?%d*[eE]?[+-]?%d*", at)
  local v = number and tonumber(number)
  if not v then fail(s, at, "expected a value") end
  return v, at + #number
end

-- decode(text) -> value
function M.decode(s)
  local v, at = read_value(s, 1, 0)
  at = skip(s, at)
  if at <= #s then fail(s, at, "text after the value") end
  return v
end

local quoted = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r"}

local function quote(s)
  return '"' .. s:gsub('[%c"\\]', function(c)
    return quoted[c] or string.format("\\u%04x", c:byte())
  end) .. '"'
end

-- encode(value) -> text. A table with an element 1 (or empty) is an array; keys are sorted. Numbers
-- that are not finite become null.
function M.encode(v)
  local kind = type(v)
  if kind == "string" then return quote(v) end
  if v == nil or rawequal(v, None) then return "null" end
  if kind == "number" then
    if v - v ~= 0 then return "null" end -- JSON has no nan and no infinity
    if math.type(v) == "integer" then return string.format("%d", v) end
    local short = string.format("%.15g", v)
    return tonumber(short) == v and short or string.format("%.17g", v)
  elseif kind ~= "table" then return tostring(v)
  end
  local parts = {}
  if #v > 0 or next(v) == nil then
    for i, x in ipairs(v) do parts[i] = M.encode(x) end
    return "[" .. table.concat(parts, ", ") .. "]"
  end
  local keys = {}
  for k in pairs(v) do keys[#keys + 1] = k end
  table.sort(keys)
  for i, k in ipairs(keys) do parts[i] = quote(k) .. ": " .. M.encode(v[k]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

return M
