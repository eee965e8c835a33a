-- optable.lua -- src/op/ops.def as Lua tables
--
-- For `make docs`: sections = {{title =, ops = {{id =, name =, where =, schema =, help =} …}} …}.

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

-- Rows of a table in C: one call of `macro` a line.
local function rows(path, macro)
  local file = assert(io.open(path))
  return coroutine.wrap(function()
    for line in file:lines() do
      local row = line:match("^" .. macro .. "%((.*)%)%s*$")
      local f = row and fields(row)
      for i = 1, f and #f or 0 do f[i] = unquote(f[i]) end
      coroutine.yield(line, f)
    end
    file:close()
  end)
end

local sections = {}
for line, f in rows("src/op/ops.def", "DL_OP") do
  local title = line:match("^/%* %-%-%-%- (.-) %-+ %*/")
  if title then sections[#sections + 1] = {title = title, ops = {}} end
  if f then
    local ops = sections[#sections].ops
    ops[#ops + 1] = {id = f[1], name = f[4]:match("^([%w_]+)"), where = f[3], schema = f[4],
                     help = f[11]}
  end
end

local options = {}
for _, f in rows("src/repl/options.def", "DL_OPTION") do
  if f then options[#options + 1] = {form = f[1]:match("^(.-)%s*$"), text = f[2]} end
end

return {sections = sections, options = options}
