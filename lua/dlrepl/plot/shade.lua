-- shade.lua -- a matrix as a heat map, one shade of grey a cell
--
-- For plot.lua. Cells are two characters wide where that fits, so that images keep their shape;
-- what is too large is averaged down.
--
-- INVARIANT  No line of the text is wider than asked for. A cell that is not finite is a "?".

local axis = require "dlrepl.plot.axis"
local core = require "dlrepl.core"

local torch = core.torch
local M = {}

local RAMP = {
  [true] = {" ", "░", "▒", "▓", "█"},
  [false] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"},
}

-- How many cells are drawn, and how many characters wide one is.
local function layout(h, w, look)
  local columns, most = look.columns, look.height
  local wide = 2 * w <= columns and h <= most and 2 or 1
  local share = math.min(1, columns / (wide * w), most / (h * wide / 2))
  if wide == 2 then return h, w, 2 end
  return math.max(1, math.floor(h * share / 2 + 0.5)), math.max(1, math.floor(w * share)), 1
end

-- Means of blocks: [h, w] -> [rows, columns]
local function shrink(t, rows, columns)
  if t.shape[0] == rows and t.shape[1] == columns then return t end
  return torch.nn.functional.adaptive_avg_pool2d(t:unsqueeze(0), {rows, columns}):squeeze(0)
end

local function shade_of(a, ramp, v)
  if not axis.finite(v) then return v == math.huge and ramp[#ramp] or v ~= v and "?" or ramp[1] end
  local share = math.max(0, math.min(1, axis.share(a, v)))
  return ramp[math.min(math.floor(share * #ramp), #ramp - 1) + 1]
end

-- plot: {values = [h, w] tensor, range = {lo, hi} or nil}
function M.draw(plot, look, out)
  local h, w = plot.values.shape[0], plot.values.shape[1]
  if h == 0 or w == 0 then
    out[#out + 1] = string.format("(nothing to draw: %d rows, %d columns)", h, w)
    return
  end
  local rows, columns, wide = layout(h, w, look)
  local cells = torch.no_grad(function() return shrink(plot.values, rows, columns) end):tolist()
  local a = plot.range and axis.axis(plot.range[1] + 0.0, plot.range[2] + 0.0)
            or axis.around(cells) or {lo = 0, hi = 1}
  local ramp = RAMP[look.utf8]
  for r = 1, rows do
    local line = {}
    for c = 1, columns do line[c] = string.rep(shade_of(a, ramp, cells[r][c]), wide) end
    out[#out + 1] = table.concat(line)
  end
  local size = rows == h and columns == w and string.format("%d x %d", h, w)
               or string.format("%d x %d, drawn as %d x %d", h, w, rows, columns)
  out[#out + 1] = string.format("%.4g %s %.4g  (%s)", a.lo, table.concat(ramp), a.hi, size)
end

return M
