-- ops.lua -- the page of operations: one section a family, one row an op
--
-- For `make docs`.

local sections = require("optable").sections

-- Table cells: a bar ends a cell, angle brackets are HTML.
local function cell(text)
  return (text:gsub("|", "\\|"):gsub("<", "&lt;"):gsub("%*", "\\*"))
end

local places = { -- letter in the table's column "where" -> how it is reached
  { "t", function(n) return "torch." .. n end },
  { "m", function(n) return "x:" .. n end },
  { "i", function(n) return "x:" .. n .. "_" end },
  { "f", function(n) return "F." .. n end },
  { "l", function(n) return "torch.linalg." .. n end },
}

local reserved = { ["repeat"] = "Repeat", ["end"] = "End", ["not"] = "Not" }

local function ways(where, name)
  local out = {}
  name = reserved[name] or name
  for _, p in ipairs(places) do
    if where:find(p[1], 1, true) then out[#out + 1] = "`" .. p[2](name) .. "`" end
  end
  if where:find("o", 1, true) then out[#out + 1] = "`out=`" end
  return table.concat(out, " ")
end

local function schema_text(schema, name)
  local args, result = schema:match("^[%w_.]+%((.*)%) %-> (.*)$")
  return string.format("%s(%s) → %s", name, args or "", result or "")
end

local function row(op)
  return string.format("| `%s` | %s | %s |", (schema_text(op.schema, op.name):gsub("|", "\\|")),
                       ways(op.where, op.name), cell(op.help))
end

return function(out)
  local function print(text) out:write(text, "\n") end
  print("# Operations\n")
  print("Written by `make docs` from `src/op/ops.def`. Signatures are PyTorch's; every parameter may")
  print("be given by name in one trailing table, `x:sum{dim=1}`. `TN` is a tensor or a number, `*`")
  print("begins the parameters that are given by name only.\n")
  for _, s in ipairs(sections) do
    local rows = {}
    for _, op in ipairs(s.ops) do
      if ways(op.where, op.name) ~= "" then rows[#rows + 1] = row(op) end
    end
    if #rows > 0 then
      print("## " .. s.title:sub(1, 1):upper() .. s.title:sub(2) .. "\n")
      print("| signature | reached as | what it does |\n|---|---|---|")
      for _, r in ipairs(rows) do print(r) end
      print("")
    end
  end
end
