-- python.lua -- an example's line as PyTorch has it
--
-- For help pages: `x:sum(1, {keepdim=true})` reads `x.sum(1, keepdim=True)`.
--
-- MUST NOT guess: what has no plain counterpart gives nil.

local M = {}

-- Words after which a line is more than an expression or an assignment.
local foreign = {"function", "for ", " do ", "<close>", "pcall", "table%.unpack", "math%.",
                 "dlrepl", "~= nil", " and .* or ", "%.%."}

local words = {["true"] = "True", ["false"] = "False", ["nil"] = "None", Repeat = "repeat",
               ["local"] = ""}

-- What a `{` becomes, and the `}` that closes it. before: the text so far; rest: what follows.
local function braces(before, rest)
  local last = before:match("(%S)%s*$") or ""
  local called = last:match("[%w_%)]") ~= nil
  if rest:match("^%s*[%a_][%w_]*%s*=[^=]") then
    if called then return "(", ")" end
    return "", ""
  end
  if called then return "([", "])" end
  return "[", "]"
end

-- One token at position i of text: what it becomes, and where the next begins.
local function token(text, i, out, closers)
  local c = text:sub(i, i)
  if c == '"' or c == "'" then
    local stop = text:find(c, i + 1, true) or #text
    return text:sub(i, stop), stop + 1
  elseif c:match("[%a_]") then
    local word = text:match("^[%w_]+", i)
    return words[word] or word, i + #word
  elseif c == "{" then
    local open, close = braces(table.concat(out), text:sub(i + 1))
    closers[#closers + 1] = close
    return open, i + 1
  elseif c == "}" then
    return table.remove(closers) or "", i + 1
  elseif text:sub(i, i + 1) == "~=" then
    return "!=", i + 2
  elseif c == "~" then
    return table.concat(out):match("[%w_%)%]]%s*$") and "^" or "~", i + 1
  elseif c == "^" then
    return "**", i + 1
  elseif c == ":" then
    return ".", i + 1
  end
  return c, i + 1
end

-- The line in Python, or nil.
function M.line(text)
  for _, pattern in ipairs(foreign) do
    if text:find(pattern) then return nil end
  end
  local inside = text:match("^#(.*)$")
  if inside then
    inside = M.line(inside)
    return inside and "len(" .. inside .. ")"
  end
  text = text:gsub('%["([^"]*)"%]', function(index)
    return index:match("^[%a_][%w_]*$") and '["' .. index .. '"]' or "[" .. index:gsub(":", "\1")
      .. "]"
  end)
  local out, closers, i = {}, {}, 1
  while i <= #text do
    out[#out + 1], i = token(text, i, out, closers)
  end
  local line = table.concat(out):gsub("\1", ":"):gsub("^%s+", ""):gsub(", %)", ")")
  return line
end

return M
