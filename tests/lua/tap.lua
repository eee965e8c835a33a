-- tap.lua -- tests that print TAP, one sentence a behaviour
--
-- For the Lua tests:
--
--     local t = require "tap"
--     t.ok(x:requires_grad(), "a parameter requires grad")
--     t.is(x.shape[1], 3, "three rows")
--     t.like(tostring(x), "^tensor", "prints as a tensor")
--     t.raises(function() x:view(5) end, "RuntimeError: shape '[5]' is invalid…", "bad view")
--     t.close(x, {1, 2, 3}, 1e-6, "the values")
--     t.done()
--
-- A failing check prints both sides with file and line. Text after "…" at the end of an expected
-- error may be anything. Output is line-buffered, so a crash loses nothing.

local t = {}
local count, failed = 0, 0
io.stdout:setvbuf("line")

local function where()
  for level = 3, 12 do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.what ~= "C" and not info.short_src:find("tap%.lua$") then
      return info.short_src .. ":" .. info.currentline
    end
  end
  return "?"
end

local function quoted(v)
  return type(v) == "string" and v or tostring(v)
end

local function report(good, name, ...)
  count = count + 1
  name = tostring(name or "unnamed"):gsub("\n", " "):gsub("#", "\\#")
  print((good and "ok " or "not ok ") .. count .. " - " .. name)
  if good then return true end
  failed = failed + 1
  print("#   at " .. where())
  for _, line in ipairs { ... } do print("#   " .. tostring(line):gsub("\n", "\n#         ")) end
  return false
end

function t.ok(cond, name)
  return report(cond and true or false, name, "value: " .. tostring(cond))
end

-- Equal values; tables are compared element by element, 0 and 1 and -0.0 as numbers.
local function same(a, b)
  if rawequal(a, b) then return true end
  if type(a) == "number" and type(b) == "number" then
    return a == b or (a ~= a and b ~= b)
  end
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for k, v in pairs(a) do if not same(v, b[k]) then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

local function show(v)
  if type(v) ~= "table" or (getmetatable(v) or {}).__tostring then return quoted(v) end
  local parts = {}
  for i, x in ipairs(v) do parts[i] = show(x) end
  for k, x in pairs(v) do
    if math.type(k) ~= "integer" then parts[#parts + 1] = tostring(k) .. " = " .. show(x) end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

function t.is(got, want, name)
  return report(same(got, want), name, " got: " .. show(got), "want: " .. show(want))
end

function t.isnt(got, unwanted, name)
  return report(not same(got, unwanted), name, "got what must not be: " .. show(got))
end

-- A Lua pattern somewhere in the text.
function t.like(got, pattern, name)
  return report(tostring(got):find(pattern) ~= nil, name, " got: " .. quoted(got),
                "want: " .. pattern)
end

-- "Class: text" of an error value; plain Lua errors count as "Error: text".
local function error_line(e)
  local text = tostring(e)
  local class = type(e) ~= "string" and e.class
  if class and text:sub(1, #class) ~= class then text = class .. ": " .. text end
  return text
end

-- fn must raise an error whose first line is `want`.
function t.raises(fn, want, name)
  local fine, e = pcall(fn)
  if fine then return report(false, name, " got: no error", "want: " .. want) end
  local got = error_line(e)
  local head, open = want, false
  if want:sub(-#"…") == "…" then head, open = want:sub(1, -#"…" - 1), true end
  local rest = got:sub(#head + 1)
  local good = got:sub(1, #head) == head and (open or rest == "" or rest:sub(1, 1) == "\n")
  return report(good, name, " got: " .. got, "want: " .. want)
end

-- Numbers of a tensor, nested table or number, flattened.
local function flatten(v, into)
  if type(v) == "number" then into[#into + 1] = v
  elseif type(v) == "boolean" then into[#into + 1] = v and 1 or 0
  elseif type(v) == "userdata" then flatten(v:tolist(), into)
  else for i = 1, #v do flatten(v[i], into) end end
  return into
end

-- Every number of `got` (a tensor or table) within tol * max(1, |want|) of `want`.
function t.close(got, want, tol, name)
  if type(tol) == "string" then tol, name = nil, tol end
  tol = tol or 1e-6
  local a, b = flatten(got, {}), flatten(want, {})
  local good = #a == #b
  for i = 1, good and #a or 0 do
    local x, y = a[i], b[i]
    if not (x == y or (x ~= x and y ~= y) or math.abs(x - y) <= tol * math.max(1, math.abs(y))) then
      good = false
    end
  end
  return report(good, name, " got: " .. show(a), "want: " .. show(b) .. " within " .. tol)
end

function t.diag(text)
  print("#   " .. tostring(text):gsub("\n", "\n#   "))
end

function t.skip(reason, name)
  count = count + 1
  print("ok " .. count .. " - " .. name .. " # SKIP " .. reason)
end

function t.done()
  print("1.." .. count)
  if failed > 0 then os.exit(1) end
end

-- rows{{name, function, text}, …}: its results have that text (several joined by " | "),
-- or it raises where the text is that of an error.
local function text(v)
  if type(v) ~= "table" or getmetatable(v) then return tostring(v) end
  local parts = {}
  for i, e in ipairs(v) do parts[i] = text(e) end
  return table.concat(parts, " | ")
end

function t.rows(list)
  for _, r in ipairs(list) do
    if r[3]:find("^%u%a+Error: ") then
      t.raises(r[2], r[3], r[1])
    else
      t.is(text({r[2]()}), r[3], r[1])
    end
  end
end

return t
