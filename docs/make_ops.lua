-- make_ops.lua -- docs/ops.md from the op table: dlrepl docs/make_ops.lua src/op/ops.def
--
-- For `make docs`. One section a family, one row an op: how it is called, and what it does.

local file = assert(io.open(arg[1] or "src/op/ops.def"))

-- The fields of DL_OP(...): text between commas that are neither quoted nor in brackets.
local function fields(row)
  local out, depth, at, i = {}, 0, 1, 1
  while i <= #row do
    local c = row:sub(i, i)
    if c == '"' then
      i = i + 1
      while row:sub(i, i) ~= '"' do i = i + (row:sub(i, i) == "\\" and 2 or 1) end
    elseif c == "(" then depth = depth + 1
    elseif c == ")" then depth = depth - 1
    elseif c == "," and depth == 0 then
      out[#out + 1] = row:sub(at, i - 1):match("^%s*(.-)%s*$")
      at = i + 1
    end
    i = i + 1
  end
  out[#out + 1] = row:sub(at):match("^%s*(.-)%s*$")
  return out
end

local function unquote(text)
  return (text:gsub('^"', ""):gsub('"$', ""):gsub("\\(.)", "%1"))
end

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

local sections, current = {}, nil
for line in file:lines() do
  local title = line:match("^/%* %-%-%-%- (.-) %-+ %*/")
  if title then
    current = { title = title, rows = {} }
    sections[#sections + 1] = current
  end
  local row = line:match("^DL_OP%((.*)%)%s*$")
  if row and current then
    local f = fields(row)
    local where, schema, help = unquote(f[3]), unquote(f[4]), unquote(f[11])
    local name = schema:match("^([%w_]+)")
    if ways(where, name) ~= "" then
      current.rows[#current.rows + 1] = string.format("| `%s` | %s | %s |",
        schema_text(schema, name):gsub("|", "\\|"), ways(where, name), cell(help))
    end
  end
end

print("# Operations\n")
print("Written by `make docs` from `src/op/ops.def`. Signatures are PyTorch's; every parameter may")
print("be given by name in one trailing table, `x:sum{dim=1}`. `TN` is a tensor or a number, `*`")
print("begins the parameters that are given by name only.\n")
for _, s in ipairs(sections) do
  if #s.rows > 0 then
    print("## " .. s.title:sub(1, 1):upper() .. s.title:sub(2) .. "\n")
    print("| signature | reached as | what it does |\n|---|---|---|")
    for _, r in ipairs(s.rows) do print(r) end
    print("")
  end
end
