-- ranks.lua -- named values as bars, one line a name
--
-- For plot.lua and the rich forms: what takes how much.
--
-- INVARIANT  No line of the text is wider than asked for (20 columns at least).

local M = {}

local FULL, HALF = "█", "▌"
local NAME_SHARE = 0.4 -- of the width, at most, is the names'

local SCALES = {
  s = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}},
  B = {{2 ^ 40, "TiB"}, {2 ^ 30, "GiB"}, {2 ^ 20, "MiB"}, {2 ^ 10, "KiB"}, {1, "B"}},
}

-- How a value of this size is told: divide by the first, add the second. 2048 "B" -> 1024, " KiB"
function M.scale(v, unit)
  for _, scale in ipairs(SCALES[unit] or {}) do
    if math.abs(v) >= scale[1] then return scale[1], " " .. scale[2] end
  end
  return 1, unit and " " .. unit or ""
end

-- A value with its unit: 0.00025 "s" -> "250 us", 2048 "B" -> "2 KiB", 3 -> "3"
function M.text(v, unit)
  if v ~= v then return "nan" end
  if v - v ~= 0 then return v > 0 and "inf" or "-inf" end
  local divide, word = M.scale(v, unit)
  if divide ~= 1 then return string.format("%.4g", v / divide) .. word end
  local number = math.type(v) == "integer" and string.format("%d", v) or string.format("%.4g", v)
  return number .. word
end

local function length(s) return utf8.len(s) or #s end

local function fit(s, columns)
  if length(s) <= columns then return s .. string.rep(" ", columns - length(s)) end
  local stop = utf8.len(s) and utf8.offset(s, columns) or columns
  return s:sub(1, stop - 1) .. "~"
end

local function bar(share, columns, utf8_ok)
  if not utf8_ok then return string.rep("#", math.floor(share * columns + 0.5)) end
  local halves = math.floor(share * columns * 2 + 0.5)
  return string.rep(FULL, halves // 2) .. (halves % 2 == 1 and HALF or "")
end

-- plot: {names = list, values = list, unit = string or nil}
function M.draw(plot, look, out)
  if #plot.names == 0 then
    out[#out + 1] = "(nothing to draw)"
    return
  end
  local most, names, numbers, texts = 0, 0, 0, {}
  for i, name in ipairs(plot.names) do
    local v = plot.values[i]
    texts[i] = M.text(v, plot.unit)
    names, numbers = math.max(names, length(name)), math.max(numbers, length(texts[i]))
    if v - v == 0 then most = math.max(most, v) end
  end
  names = math.min(names, math.floor(look.columns * NAME_SHARE))
  local room = math.max(look.columns - names - numbers - 3, 1)
  local side = look.utf8 and "┤" or "|"
  for i, name in ipairs(plot.names) do
    local v = plot.values[i]
    local share = most > 0 and v - v == 0 and math.max(v / most, 0) or 0
    out[#out + 1] = fit(name, names) .. side .. bar(share, room, look.utf8) .. " " .. texts[i]
  end
end

return M
