-- draw.lua -- lines, points, bars and areas as an SVG picture
--
-- For rich/plot.lua: what pages, mails and nbconvert show, which cannot draw Vega-Lite.
--
-- INVARIANT  Nothing a user wrote is in it unescaped; coordinates are finite.
-- MUST NOT   know Vega.

local axis = require "dlrepl.plot.axis"
local html = require "dlrepl.rich.html"
local ranks = require "dlrepl.plot.ranks"

local M = {}

local WIDTH, HEIGHT = 560, 320
local LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 30   -- margins; on top title and legend
local COLOURS = {"#4c78a8", "#f58518", "#e45756", "#72b7b2", "#54a24b", "#eeca3b", "#b279a2",
                 "#9d755d"}
local INK, GREY = "#333", "#ddd"

function M.colour(k) return COLOURS[(k - 1) % #COLOURS + 1] end

-- Where values lie in pixels.
local function scale(a, from, to)
  return function(v) return from + axis.share(a, v) * (to - from) end
end

local function text(out, x, y, s, more)
  out[#out + 1] = string.format('<text x="%.1f" y="%.1f"%s>%s</text>', x, y, more or "",
                                html.escape(s))
end

local function line(out, x0, y0, x1, y1, colour)
  out[#out + 1] = string.format('<path d="M%.1f %.1fL%.1f %.1f" stroke="%s"/>', x0, y0, x1, y1,
                                colour)
end

-- Both axes with their ticks; unit: that of y, or nil. Returns the functions that place x and y.
local function frame(out, xa, ya, unit)
  local x, y = scale(xa, LEFT, WIDTH - RIGHT), scale(ya, HEIGHT - BOTTOM, TOP)
  local divide, word = ranks.scale(ya.hi, unit)
  for _, tick in ipairs(axis.ticks({lo = ya.lo / divide, hi = ya.hi / divide}, 6)) do
    local at = y(tick[1] * divide)
    line(out, LEFT, at, WIDTH - RIGHT, at, GREY)
    text(out, LEFT - 6, at + 4, tick[2] .. word, ' text-anchor="end"')
  end
  for _, tick in ipairs(axis.ticks(xa, 8)) do
    line(out, x(tick[1]), HEIGHT - BOTTOM, x(tick[1]), HEIGHT - BOTTOM + 4, INK)
    text(out, x(tick[1]), HEIGHT - BOTTOM + 17, tick[2], ' text-anchor="middle"')
  end
  line(out, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, INK)
  return x, y
end

local function legend(out, names)
  local at = LEFT
  for k, name in ipairs(names) do
    name = html.cut(name, 24)
    local wide = 6.5 * utf8.len(name) + 30
    if at + wide > WIDTH then
      text(out, at, 33, "…")
      break
    end
    out[#out + 1] = string.format('<rect x="%.1f" y="24" width="10" height="10" fill="%s"/>', at,
                                  M.colour(k))
    text(out, at + 14, 33, name)
    at = at + wide
  end
end

-- The finite stretches of a series as path data; x and y place values.
local function path(s, places, x, y)
  local parts, pen = {}, "M"
  for _, i in ipairs(places) do
    if axis.finite(s.x[i]) and axis.finite(s.y[i]) then
      parts[#parts + 1] = string.format("%s%.1f %.1f", pen, x(s.x[i]), y(s.y[i]))
      pen = "L"
    else
      pen = "M"
    end
  end
  return table.concat(parts)
end

local function dots(out, s, places, x, y, colour)
  for _, i in ipairs(places) do
    if axis.finite(s.x[i]) and axis.finite(s.y[i]) then
      out[#out + 1] = string.format('<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>', x(s.x[i]),
                                    y(s.y[i]), colour)
    end
  end
end

local function series(out, plot)
  local thinned = require("dlrepl.rich.plot").thinned
  local xs, ys, names = {}, {}, {}
  for k, s in ipairs(plot.series) do xs[k], ys[k], names[k] = s.x, s.y, s.name or tostring(k) end
  local xa, ya = axis.around(xs), axis.around(ys)
  xa.whole = plot.series[1].counted
  local x, y = frame(out, xa, ya)
  for k, s in ipairs(plot.series) do
    local places = thinned(s, plot.kind == "lines")
    if plot.kind == "scatter" or #s.y == 1 then
      dots(out, s, places, x, y, M.colour(k))
    else
      out[#out + 1] = string.format(
        '<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>', path(s, places, x, y),
        M.colour(k))
    end
  end
  if #names > 1 or plot.series[1].name then legend(out, names) end
end

local function bars(out, plot)
  local edges, most = plot.edges, 0
  for _, n in ipairs(plot.counts) do most = math.max(most, n) end
  local x, y = frame(out, axis.axis(edges[1], edges[#edges]), axis.axis(0, math.max(most, 1)))
  for i, n in ipairs(plot.counts) do
    local left, top = x(edges[i]), y(n)
    out[#out + 1] = string.format(
      '<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>', left + 0.5, top,
      math.max(x(edges[i + 1]) - left - 1, 0.5), y(0) - top, M.colour(1))
  end
end

local MOST_BARS, BAR = 16, 30 -- names that are drawn; pixels of one, at most
local NAMES, NUMBERS = 190, 90 -- pixels for the texts left and right

local function named_bars(out, plot)
  local n, most = math.min(#plot.names, MOST_BARS), 0
  local high = math.min(BAR, (HEIGHT - TOP - BOTTOM) / n)
  for i = 1, n do
    local v = plot.values[i]
    if axis.finite(v) then most = math.max(most, v) end
  end
  for i = 1, n do
    local v, top = plot.values[i], TOP + (i - 1) * high
    local share = most > 0 and axis.finite(v) and math.max(v / most, 0) or 0
    local wide = share * (WIDTH - NAMES - NUMBERS)
    out[#out + 1] = string.format('<rect x="%d" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>',
                                  NAMES, top + high * 0.1, wide, high * 0.8, M.colour(1))
    text(out, NAMES - 6, top + high / 2 + 4, html.cut(plot.names[i], 26), ' text-anchor="end"')
    text(out, NAMES + wide + 5, top + high / 2 + 4, ranks.text(v, plot.unit))
  end
  if #plot.names > n then
    text(out, NAMES, TOP + n * high + 16, string.format("… %d more", #plot.names - n))
  end
end

-- Areas, each on the sum of those before it.
local function areas(out, plot)
  local total, names, below = plot.series[1], {}, {}
  local places = require("dlrepl.rich.plot").thinned(total, true)
  local xa, ya = axis.around {total.x}, axis.around {total.y, {0}}
  local x, y = frame(out, xa, ya, plot.unit)
  for k = 2, #plot.series do
    local s, there, back = plot.series[k], {}, {}
    names[k - 1] = s.name
    for n, i in ipairs(places) do
      local low = below[i] or 0
      local high = axis.finite(s.y[i]) and low + s.y[i] or low
      local at = axis.finite(s.x[i]) and x(s.x[i]) or LEFT
      there[n] = string.format("%.1f %.1f", at, y(high))
      back[#places - n + 1] = string.format("%.1f %.1f", at, y(low))
      below[i] = high
    end
    out[#out + 1] = '<path d="M' .. table.concat(there, "L") .. "L" .. table.concat(back, "L")
                    .. 'z" fill="' .. M.colour(k - 1) .. '" fill-opacity="0.8"/>'
  end
  legend(out, names)
end

-- An SVG element of this size around the parts, on white, so that it reads on dark pages too.
function M.svg(width, height, parts)
  return string.format('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
    .. 'viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="%s">'
    .. '<rect width="100%%" height="100%%" fill="#fff"/>%s</svg>', width, height, width, height,
    INK, table.concat(parts))
end

local DRAW = {lines = series, scatter = series, hist = bars, bars = named_bars, stack = areas}

-- A plot that has finite values, of any kind but image.
function M.plot(plot)
  local out = {}
  if plot.title then text(out, LEFT, 16, html.cut(plot.title, 60), ' font-weight="bold"') end
  DRAW[plot.kind](out, plot)
  return M.svg(WIDTH, HEIGHT, out)
end

return M
