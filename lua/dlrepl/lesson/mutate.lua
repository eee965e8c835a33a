-- mutate.lua -- small changes to a right answer that ought to make it wrong
--
-- For lint.lua: a check that lets one through measures too little. A line is dropped, two
-- neighbours change places, a flag or an operator is turned round.
--
-- MUST NOT   run anything.

local M = {}

local host = dlrepl._lesson

local function lines_of(text)
  local out = {}
  for line in (text:gsub("%s+$", "") .. "\n"):gmatch("(.-)\n") do out[#out + 1] = line end
  return out
end

local flips = {
  {"%f[%w]true%f[%W]", "false"}, {"%f[%w]false%f[%W]", "true"}, {" %+ ", " - "}, {" %- ", " + "},
  {" %* ", " / "}, {" / ", " * "}, {"%f[%w]max%f[%W]", "min"}, {"%f[%w]min%f[%W]", "max"},
}

local function bare(line) return (line:gsub("%-%-.*$", ""):gsub("%s+", "")) end

-- list(code) -> {{name, code}, …}, each of which is Lua
function M.list(code)
  local lines, out = lines_of(code), {}
  local function add(name, changed)
    local text = table.concat(changed, "\n")
    if text ~= table.concat(lines, "\n") and host.check(text) == "complete" then
      out[#out + 1] = {name = name, code = text}
    end
  end
  for i, line in ipairs(lines) do
    if bare(line) ~= "" then
      local less = {table.unpack(lines)}
      table.remove(less, i)
      add("without line " .. i .. ": " .. line:match("^%s*(.-)%s*$"), less)
      local after = lines[i + 1]
      if after and bare(after) ~= "" and bare(after) ~= bare(line) then
        local swapped = {table.unpack(lines)}
        swapped[i], swapped[i + 1] = after, line
        add("lines " .. i .. " and " .. i + 1 .. " swapped", swapped)
      end
      for _, flip in ipairs(flips) do
        local new, n = line:gsub(flip[1], flip[2], 1)
        if n > 0 then
          local flipped = {table.unpack(lines)}
          flipped[i] = new
          add("line " .. i .. " as: " .. new:match("^%s*(.-)%s*$"), flipped)
        end
      end
    end
  end
  return out
end

return M
