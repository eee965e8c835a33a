-- layers_rows.lua -- every op with a public name occurs in a parity case

local t = require "tap"
local json = require "dlrepl.json"

local text = {}
for _, name in ipairs {"golden", "ops"} do
  for line in io.lines("tests/parity/" .. name .. ".jsonl") do
    text[#text + 1] = json.decode(line).lua
  end
end
text = table.concat(text, "\n")

local function called(name)
  for _, form in ipairs {"torch." .. name .. "(", "F." .. name .. "(", ":" .. name .. "(",
                         ":" .. name .. "_(", "linalg." .. name .. "("} do
    if text:find(form, 1, true) then return true end
  end
  return false
end

-- Rows whose users write them as operators or properties only.
local by_operator = {}

local missing, seen = {}, 0
for line in io.lines("src/op/ops.def") do
  local where, name = line:match('^DL_OP%([%w_]+, %u+, "(%l+)", "([%w_]+)')
  if where and where:find("[tmfl]") then
    seen = seen + 1
    if not called(name) and not by_operator[name] then missing[#missing + 1] = name end
  end
end
t.ok(seen > 200, "the op table was read: " .. seen .. " public rows")
t.is(table.concat(missing, " "), "", "every public row occurs in a parity case")
t.done()
