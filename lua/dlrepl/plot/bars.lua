-- bars.lua -- a histogram: one line a bin
--
-- For plot.lua.
--
-- INVARIANT  The counts add up to the number of finite values in the range.

local axis = require "dlrepl.plot.axis"

local M = {}

local EIGHTHS = {"▏", "▎", "▍", "▌", "▋", "▊", "▉"}

-- values -> {edges = bins + 1 numbers, counts = bins numbers, missing = how many not counted}
-- As numpy counts: the last bin includes its right edge.
function M.count(values, bins, range)
  local a = range and axis.axis(range[1] + 0.0, range[2] + 0.0) or axis.around {values}
  local counts, edges, missing = {}, {}, 0
  if not a then return {edges = edges, counts = counts, missing = #values} end
  for i = 1, bins do counts[i] = 0 end
  for i = 0, bins do edges[i + 1] = a.lo * (1 - i / bins) + a.hi * (i / bins) end
  for i = 1, #values do
    local v = values[i]
    if v >= a.lo and v <= a.hi then
      local bin = math.min(math.floor(axis.share(a, v) * bins), bins - 1) + 1
      counts[bin] = counts[bin] + 1
    else
      missing = missing + 1
    end
  end
  return {edges = edges, counts = counts, missing = missing}
end

local function bar(share, columns, utf8_ok)
  if not utf8_ok then
    return string.rep("#", math.max(math.floor(share * columns + 0.5), share > 0 and 1 or 0))
  end
  local eighths = math.max(math.floor(share * columns * 8 + 0.5), share > 0 and 1 or 0)
  return string.rep("█", eighths // 8) .. (EIGHTHS[eighths % 8] or "")
end

local function edge_texts(edges)
  local texts, width = {}, 0
  local nothing = math.max(math.abs(edges[1]), math.abs(edges[#edges])) * 1e-9
  for digits = 3, 9 do
    local same = false
    width = 0
    for i, e in ipairs(edges) do
      texts[i] = math.abs(e) < nothing and "0" or string.format("%." .. digits .. "g", e)
      width = math.max(width, #texts[i])
      same = same or texts[i] == texts[i - 1]
    end
    if not same then break end
  end
  return texts, width
end

function M.draw(plot, look, out)
  local edges, counts = plot.edges, plot.counts
  local most = 0
  for _, n in ipairs(counts) do most = math.max(most, n) end
  if most == 0 then
    out[#out + 1] = "(nothing to draw: no finite values)"
    return
  end
  local texts, width = edge_texts(edges)
  local count_width = #tostring(most) + 1
  local side = look.utf8 and "┤" or "|"
  local columns = math.max(look.columns - width - 1 - count_width, 4)
  for i, n in ipairs(counts) do
    out[#out + 1] = string.format("%" .. width .. "s%s%s%s", texts[i], side,
      bar(n / most, columns, look.utf8), n > 0 and " " .. n or "")
  end
  out[#out + 1] = string.format("%" .. width .. "s%s", texts[#texts], side)
  if plot.missing > 0 then
    out[#out + 1] = string.format("(%d value%s outside or not finite)", plot.missing,
                                  plot.missing == 1 and " is" or "s are")
  end
end

return M
