-- curve.lua -- lines and points in a frame with ticks
--
-- For plot.lua. Series come from read.lua; the text is made anew for each width.
--
-- INVARIANT  No line of the text is wider than asked for (20 columns at least).
-- MUST NOT   keep anything between two texts.

local new_canvas = require "dlrepl.plot.canvas"
local axis = require "dlrepl.plot.axis"

local M = {}

local MARKS = {"*", "o", "x", "#", "@", "%", "&", "$"}
local SIGNS = { -- how the frame is drawn
  [true] = {side = "│", tick = "┤", corner = "└", floor = "─", mark = "┬"},
  [false] = {side = "|", tick = "+", corner = "+", floor = "-", mark = "+"},
}

local function mark_of(k) return MARKS[(k - 1) % #MARKS + 1] end
M.mark_of = mark_of

-- The dots of a series as a path: several points in one column of dots become its first, lowest,
-- highest and last, so that a million points cost a few lines and lose no peak. Calls
-- join(x0, y0, x1, y1) for each line, the same dot twice for one that stands alone.
local function trace(s, to_x, to_y, join)
  local xs, ys = s.x, s.y
  local px, py, alone          -- the last dot; is it still without a line?
  local cx, low, high, last    -- the column that is being collected
  local function go(x, y)
    if px then join(px, py, x, y) end
    alone = px == nil
    px, py = x, y
  end
  local function flush()
    if cx and low ~= high then go(cx, low) go(cx, high) end
    if cx and (low == high or last ~= high) then go(cx, last) end
    cx = nil
  end
  local function cut()
    flush()
    if px and alone then join(px, py, px, py) end
    px, py = nil, nil
  end
  for i = 1, #ys do
    local x, y = xs[i], ys[i]
    if x - x == 0 and y - y == 0 then
      x, y = to_x(x), to_y(y)
      if x ~= cx then
        flush()
        go(x, y)
        cx, low, high = x, y, y
      elseif y < low then low = y
      elseif y > high then high = y
      end
      last = y
    else
      cut()
    end
  end
  cut()
end

local function fill_lines(canvas, s, mark, to_x, to_y)
  trace(s, to_x, to_y, function(x0, y0, x1, y1) canvas:line(x0, y0, x1, y1, mark) end)
end

local function fill_points(canvas, s, mark, to_x, to_y)
  for i = 1, #s.y do
    local x, y = s.x[i], s.y[i]
    if axis.finite(x) and axis.finite(y) then canvas:dot(to_x(x), to_y(y), mark) end
  end
end

-- The line with marks below the plot and the line with their numbers.
local function foot(xa, columns, margin, signs)
  local marks, labels, used = {}, "", -2
  local to_x = axis.placer(xa, columns)
  for i = 1, columns do marks[i] = signs.floor end
  for _, tick in ipairs(axis.ticks(xa, math.max(2, columns // 10))) do
    local at, text = to_x(tick[1]), tick[2]
    local from = math.max(0, math.min(at - #text // 2, columns - #text))
    marks[at + 1] = signs.mark
    if from >= used + 2 or used < 0 then
      labels = labels .. string.rep(" ", from - #labels) .. text
      used = #labels
    end
  end
  local pad = string.rep(" ", margin)
  return pad .. signs.corner .. table.concat(marks), pad .. " " .. labels
end

local function legend(series)
  if #series < 2 and not series[1].name then return nil end
  local parts = {}
  for k, s in ipairs(series) do
    local mark = #series > 1 and mark_of(k) .. " " or ""
    parts[k] = mark .. (s.name or tostring(k))
  end
  return parts
end

-- Words in lines of at most `columns`.
local function wrapped(parts, columns, out)
  local line = ""
  for _, p in ipairs(parts) do
    if line ~= "" and (utf8.len(line) or #line) + (utf8.len(p) or #p) + 2 > columns then
      out[#out + 1] = line
      line = ""
    end
    line = line == "" and p or line .. "  " .. p
  end
  if line ~= "" then out[#out + 1] = line end
end

-- The axes around the points whose coordinates are both finite, and how many others there are.
local function ranges(series)
  local inf, missing, whole = math.huge, 0, true
  local x0, x1, y0, y1 = inf, -inf, inf, -inf
  for _, s in ipairs(series) do
    local xs, ys = s.x, s.y
    whole = whole and s.counted
    for i = 1, #ys do
      local x, y = xs[i], ys[i]
      if x - x == 0 and y - y == 0 then
        if x < x0 then x0 = x end
        if x > x1 then x1 = x end
        if y < y0 then y0 = y end
        if y > y1 then y1 = y end
      else
        missing = missing + 1
      end
    end
  end
  if x0 > x1 then return nil end
  local xa = axis.axis(x0, x1)
  xa.whole = whole
  return xa, axis.axis(y0, y1), missing
end

local function framed(plot, xa, ya, look, out)
  local rows = look.height
  local at, margin = {}, 0
  local to_row = axis.placer(ya, rows)
  for _, tick in ipairs(axis.ticks(ya, math.max(2, rows // 3))) do
    at[rows - 1 - to_row(tick[1])] = tick[2]
    margin = math.max(margin, #tick[2])
  end
  local columns = math.max(look.columns - margin - 1, 4)
  local canvas = new_canvas(columns, rows, look.utf8 and #plot.series == 1)
  local fill = plot.kind == "scatter" and fill_points or fill_lines
  local to_x, to_y = axis.placer(xa, canvas.width), axis.placer(ya, canvas.height)
  for k, s in ipairs(plot.series) do fill(canvas, s, mark_of(k), to_x, to_y) end
  local signs = SIGNS[look.utf8]
  for r = 0, rows - 1 do
    local text = at[r] or ""
    local edge = at[r] and signs.tick or signs.side
    out[#out + 1] = (string.rep(" ", margin - #text) .. text .. edge .. canvas:row(r))
                    :gsub(" +$", "")
  end
  out[#out + 1], out[#out + 2] = foot(xa, columns, margin, signs)
end

-- plot: {kind = "lines" or "scatter", series =}; look: {columns =, height =, utf8 =}.
-- Appends the lines of the text to out.
function M.draw(plot, look, out)
  local xa, ya, n = ranges(plot.series)
  if not xa then
    out[#out + 1] = "(nothing to draw: no finite values)"
    return
  end
  framed(plot, xa, ya, look, out)
  local names = legend(plot.series)
  if names then wrapped(names, look.columns, out) end
  if n > 0 then
    out[#out + 1] = string.format("(%d value%s not finite and left out)", n,
                                  n == 1 and " is" or "s are")
  end
end

return M
