-- plot.lua -- a plot as Vega-Lite, with an SVG picture for what cannot draw that
--
-- For rich.lua. The text beside them is the plot's own.
-- FORMAT     vega.github.io/schema/vega-lite/v5.json: what JupyterLab 4 and Notebook 7 draw.
--
-- INVARIANT  A specification holds at most some ten thousand values; no peak is lost.

local core = require "dlrepl.core"
local json = require "dlrepl.json"
local ranks = require "dlrepl.plot.ranks"

local torch = core.torch
local M = {}

local SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
local WIDTH, HEIGHT = 480, 280     -- pixels
local MOST_POINTS, BUCKETS = 4000, 1000
local MOST_CELLS, LARGEST, SMALLEST = 96, 24, 2 -- of a side; pixels of one cell

local function finite(v) return v - v == 0 end

-- ---- fewer points -----------------------------------------------------------------------------

-- The places of a series that are kept: all of a short one; of points each k-th; of a line the
-- first, lowest, highest and last of each of 1000 stretches.
local function thinned(s, is_line)
  local n, keep = #s.y, {}
  if n <= MOST_POINTS or not is_line then
    local step = math.max(1, math.ceil(n / MOST_POINTS))
    for i = 1, n, step do keep[#keep + 1] = i end
    return keep
  end
  for b = 0, BUCKETS - 1 do
    local from, to = n * b // BUCKETS + 1, n * (b + 1) // BUCKETS
    local low, high = from, from
    for i = from, to do
      local v = s.y[i]
      if v < s.y[low] or not finite(s.y[low]) then low = i end
      if v > s.y[high] or not finite(s.y[high]) then high = i end
    end
    local places = {from, low, high, to}
    table.sort(places)
    for _, i in ipairs(places) do
      if keep[#keep] ~= i then keep[#keep + 1] = i end
    end
  end
  return keep
end
M.thinned = thinned

-- Means of blocks, so that no side is longer than MOST_CELLS.
local function shrunk(t)
  local h, w = t.shape[0], t.shape[1]
  if h <= MOST_CELLS and w <= MOST_CELLS then return t end
  local rows, columns = math.min(h, MOST_CELLS), math.min(w, MOST_CELLS)
  return torch.nn.functional.adaptive_avg_pool2d(t:unsqueeze(0), {rows, columns}):squeeze(0)
end
M.shrunk = shrunk

-- ---- specifications ---------------------------------------------------------------------------

local function axis(field, more)
  local out = {field = field, type = "quantitative", title = core.None}
  for k, v in pairs(more or {}) do out[k] = v end
  return out
end

-- Seven digits are more than a screen has.
local function value(v) return finite(v) and tonumber(string.format("%.7g", v)) or core.None end

local function series_values(plot, is_line)
  local out = {}
  for k, s in ipairs(plot.series) do
    local name = s.name or tostring(k)
    for _, i in ipairs(thinned(s, is_line)) do
      if finite(s.x[i]) then
        out[#out + 1] = {x = s.x[i], y = value(s.y[i]), series = name, at = i}
      end
    end
  end
  return out
end

local function series_spec(plot, mark)
  local encoding = {x = axis("x", {scale = {zero = false, nice = false}}),
                    y = axis("y", {scale = {zero = false}})}
  if plot.series[1] and plot.series[1].counted then encoding.x.axis = {tickMinStep = 1} end
  if #plot.series > 1 or plot.series[1] and plot.series[1].name then
    encoding.color = {field = "series", type = "nominal", title = core.None}
  end
  if mark == "line" then encoding.order = {field = "at", type = "quantitative"} end
  return {mark = {type = mark, tooltip = true}, encoding = encoding,
          data = {values = series_values(plot, mark == "line")}}
end

local SPECS = {}
function SPECS.lines(plot) return series_spec(plot, "line") end
function SPECS.scatter(plot) return series_spec(plot, "point") end

function SPECS.hist(plot)
  local values = {}
  for i, n in ipairs(plot.counts) do
    values[i] = {lo = plot.edges[i], hi = plot.edges[i + 1], count = n}
  end
  return {mark = {type = "bar", tooltip = true}, data = {values = values}, encoding = {
    x = axis("lo", {bin = {binned = true}}), x2 = {field = "hi"}, y = axis("count")}}
end

-- What values of a plot with a unit are divided by, and the axis' title: 0.02 "s" -> 1e-3, "ms"
local function scale_of(lists, unit)
  local most = 0
  for _, list in ipairs(lists) do
    for _, v in ipairs(list) do
      if finite(v) then most = math.max(most, math.abs(v)) end
    end
  end
  local divide, word = ranks.scale(most, unit)
  return divide, word ~= "" and word:sub(2) or core.None
end

function SPECS.bars(plot)
  local values, divide, title = {}, scale_of({plot.values}, plot.unit)
  for i, name in ipairs(plot.names) do
    values[i] = {name = name, value = value(plot.values[i] / divide)}
  end
  return {
    mark = {type = "bar", tooltip = true}, data = {values = values}, height = {step = 20},
    encoding = {x = axis("value", {title = title}),
                y = {field = "name", type = "nominal", sort = core.None, title = core.None}},
  }
end

-- Areas on top of each other; the sum needs no line of its own.
function SPECS.stack(plot)
  local divide, title = scale_of({plot.series[1].y}, plot.unit)
  local parts = {series = table.move(plot.series, 2, #plot.series, 1, {})}
  local spec = series_spec(parts, "area")
  for _, point in ipairs(spec.data.values) do
    if point.y ~= core.None then point.y = value(point.y / divide) end
  end
  spec.encoding.y = axis("y", {stack = "zero", title = title})
  return spec
end

-- The values row by row; where each stands is computed by the front end.
function SPECS.image(plot)
  local t = torch.no_grad(function() return shrunk(plot.values) end)
  local h, w = t.shape[0], t.shape[1]
  local values = t:flatten():tolist()
  for i, v in ipairs(values) do values[i] = value(v) end
  local side = math.max(SMALLEST, math.min(LARGEST, HEIGHT // h, WIDTH // w))
  local scale = {scheme = "viridis"}
  if plot.range then scale.domain, scale.clamp = {plot.range[1], plot.range[2]}, true end
  local function place(field)
    return {field = field, type = "ordinal", title = core.None,
            axis = {labelOverlap = "greedy", labelAngle = 0}}
  end
  return {
    mark = {type = "rect", tooltip = true}, width = w * side, height = h * side,
    data = {values = values},
    transform = {
      {window = {{op = "row_number", as = "n"}}},
      {calculate = string.format("(datum.n - 1) %% %d", w), as = "column"},
      {calculate = string.format("floor((datum.n - 1) / %d)", w), as = "row"},
    },
    encoding = {x = place "column", y = place "row",
                color = axis("data", {scale = scale})},
  }
end

-- The specification as a table; nil for a kind that has none.
function M.spec(plot)
  local make = SPECS[plot.kind]
  if not make then return nil end
  local spec = make(plot)
  spec["$schema"] = SCHEMA
  spec.width, spec.height = spec.width or WIDTH, spec.height or HEIGHT
  spec.title = plot.title
  return spec
end

-- Is there anything to draw?
local function has_values(plot)
  if plot.kind == "hist" then return #plot.counts > 0 end
  if plot.kind == "bars" then return #plot.names > 0 end
  if plot.kind == "image" then return plot.values:numel() > 0 end
  for _, s in ipairs(plot.series or {}) do
    for i = 1, #s.y do
      if finite(s.x[i]) and finite(s.y[i]) then return true end
    end
  end
  return false
end

function M.bundle(plot)
  local data = {["text/plain"] = tostring(plot)}
  if not has_values(plot) then return data end
  data["application/vnd.vegalite.v5+json"] = json.encode(M.spec(plot))
  if plot.kind == "image" then
    data["image/png"] = require("dlrepl.rich.picture").heat(shrunk(plot.values), plot.range)
  else
    data["image/svg+xml"] = require("dlrepl.rich.draw").plot(plot)
  end
  return data
end

return M
