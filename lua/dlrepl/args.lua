-- args.lua -- reads the arguments of a Lua function as Python reads them
--
--     local read = args "Linear.__init__(int in_features, int out_features, bool bias=True)"
--     local n_in, n_out, bias = read(...)
--
-- For everything of PyTorch's that is written in Lua. Positions first, then keywords in ONE
-- trailing table with string keys. Types: Tensor, int, float, number, bool, str, fn, list (any
-- table), int2 (one integer or a list; read back as given), any; `?` allows None; `*` as in
-- Python. `dict` is any value too, but takes a table with string keys for itself.
--
-- ERRORS     TypeError with Python's text, and the parameter list as a note.
-- INVARIANT  None is read back as nil; an integral float given for an int becomes one.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local core = require "dlrepl.core"
local near = require "dlrepl.near"
local odict = require "dlrepl.odict"
local repr = require "dlrepl.pyrepr"

local function whole(v)
  if math.type(v) == "integer" then return v end
  if math.type(v) == "float" then return math.tointeger(v) end
end

local function whole_list(v)
  if type(v) ~= "table" then return whole(v) end
  local n = #v
  for i = 1, n do if not whole(v[i]) then return nil end end
  return v
end

local function is(kind)
  return function(v) if type(v) == kind then return v end end
end

local function callable(v)
  local mt = getmetatable(v)
  if type(v) == "function" or (mt and mt.__call) then return v end
end

-- Each reader gives the value to use, or nil where the type is wrong. `word` is what errors say.
local readers = {
  int = {whole, "int"}, int2 = {whole_list, "int or tuple of ints"},
  float = {is "number", "float"}, number = {is "number", "Number"}, bool = {is "boolean", "bool"},
  str = {is "string", "str"}, list = {is "table", "list"}, dict = {function(v) return v end,
    "dict"},
  fn = {callable, "callable"},
  Tensor = {function(v) if core.is_tensor(v) then return v end end, "Tensor"},
}

local function parse_default(text)
  text = text:gsub("%(", "{"):gsub("%)", "}")
  local env = {True = true, False = false, inf = math.huge}
  return assert(load("return " .. text, "=default", "t", env))()
end

local function parse(signature)
  local name, inside = signature:match("^([%w_%.]*)%((.*)%)$")
  local sig = {name = name, params = {}, at = {}, npos = 0, text = signature}
  local keyword_only = false
  inside = inside:gsub("%b()", function(s) return (s:gsub(",", "\1")) end)
  for part in inside:gmatch("[^,]+") do
    part = part:gsub("\1", ","):match("^%s*(.-)%s*$")
    if part == "*" then
      keyword_only = true
    else
      local head, default = part:match("^([^=]-)=(.*)$")
      local kind, pname = (head or part):match("^(%S+)%s+(%S+)$")
      local optional = kind:sub(-1) == "?"
      if optional then kind = kind:sub(1, -2) end
      local p = {name = pname, kind = kind, optional = optional or default == "None",
                 required = default == nil, keyword_only = keyword_only}
      if default then p.default = parse_default(default) end
      sig.params[#sig.params + 1] = p
      sig.at[pname] = #sig.params
      if not keyword_only then sig.npos = #sig.params end
    end
  end
  return sig
end

local function describe(sig)
  local parts = {}
  for _, p in ipairs(sig.params) do
    if p.keyword_only and parts.star == nil then
      parts.star = true
      parts[#parts + 1] = "*"
    end
    parts[#parts + 1] = p.required and p.name or p.name .. "=" .. repr.repr(p.default)
  end
  return "parameters: " .. table.concat(parts, ", ")
end

local function fail(sig, fmt, ...)
  core.raise("TypeError", string.format("%s() " .. fmt, sig.name, ...),
             {kind = "argument", notes = {describe(sig)}})
end

local function too_many(sig, given)
  local least = 0
  for i = 1, sig.npos do if sig.params[i].required then least = least + 1 end end
  local self = sig.name:find(".", 1, true) and 1 or 0 -- Python counts the receiver of a method
  local most = sig.npos + self
  local takes = least == sig.npos and tostring(most)
                or string.format("from %d to %d", least + self, most)
  fail(sig, "takes %s positional argument%s but %d were given", takes, most == 1 and "" or "s",
       given + self)
end

local function missing(sig, values)
  local names = {}
  for i, p in ipairs(sig.params) do
    if p.required and values[i] == nil then names[#names + 1] = "'" .. p.name .. "'" end
  end
  local last = table.remove(names)
  local text = #names == 0 and last or table.concat(names, ", ") .. " and " .. last
  fail(sig, "missing %d required positional argument%s: %s", #names + 1,
       #names == 0 and "" or "s", text)
end

local function unknown(sig, key)
  local names = {}
  for _, p in ipairs(sig.params) do names[#names + 1] = p.name end
  local meant = near.best(key, names)
  fail(sig, "got an unexpected keyword argument '%s'%s", tostring(key),
       meant and ". Did you mean '" .. meant .. "'?" or "")
end

local function check(sig, i, v)
  local p = sig.params[i]
  local reader = readers[p.kind]
  if not reader or (p.kind == "any") then return v end
  local good = reader[1](v)
  if good == nil then
    fail(sig, "argument '%s' (position %d) must be %s, not %s", p.name, i, reader[2],
         repr.typename(v))
  end
  return good
end

-- Is v a trailing keyword table: not empty, string keys only? Plain, or a dict that was loaded.
local function is_keywords(v)
  if type(v) ~= "table" then return false end
  if getmetatable(v) == nil then return type(next(v)) == "string" and v[1] == nil end
  if not (odict.is(v) and odict.is_dict(v)) then return false end
  for key in pairs(v) do if type(key) ~= "string" then return false end end
  return #v > 0
end

local function read_keywords(sig, values, given, kw)
  for key, v in pairs(kw) do
    local i = sig.at[key]
    if not i then unknown(sig, key) end
    if i <= given then fail(sig, "got multiple values for argument '%s'", key) end
    values[i] = v
  end
end

-- A function that reads (...) by the signature and returns the values in its order.
local function compile(signature)
  local sig = parse(signature)
  local params, n = sig.params, #sig.params
  local last_dict = false
  for _, p in ipairs(params) do last_dict = last_dict or p.kind == "dict" end
  return function(...)
    local given = select("#", ...)
    local values = {...}
    local kw = given > 0 and values[given]
    if kw and is_keywords(kw) and not (last_dict and given <= sig.npos
                                       and params[given].kind == "dict") then
      values[given] = nil
      given = given - 1
    else
      kw = nil
    end
    while given > 0 and values[given] == nil do given = given - 1 end -- nil is "not given"
    if given > sig.npos then too_many(sig, given) end
    if kw then read_keywords(sig, values, given, kw) end
    local None = core.None
    for i = 1, n do
      local v, p = values[i], params[i]
      if rawequal(v, None) and v ~= nil then
        if not p.optional then check(sig, i, nil) end
        values[i] = nil
      elseif v ~= nil then values[i] = check(sig, i, v)
      elseif p.required then missing(sig, values)
      else values[i] = p.default
      end
    end
    return table.unpack(values, 1, n)
  end, sig
end

return setmetatable({is_keywords = is_keywords}, {__call = function(_, s) return compile(s) end})
