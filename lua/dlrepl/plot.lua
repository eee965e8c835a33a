-- plot.lua -- plots in text
--
--     dlrepl.plot(losses)                      a list or tensor against its positions
--     dlrepl.plot(x, y)                        y against x
--     dlrepl.plot({train = a, valid = b})      several series
--     dlrepl.plot.scatter(x, y)   dlrepl.plot.hist(x, {bins = 20})   dlrepl.plot.image(matrix)
--     dlrepl.plot.bars({conv = 0.02, linear = 0.003}, {unit = "s"})
--     dlrepl.plot.stack(times, {parameter = bytes, gradient = bytes}, {unit = "B"})
--
-- Options, in one table at the end: title, columns, height, ascii; bins and range (hist), range
-- (image), unit (bars, stack; "s" and "B" are scaled). The prompt and print() show the text; a
-- front end that can do better has the data in the object: kind, title, and series, edges and
-- counts, values, or names and values.
--
-- INVARIANT  A plot is a snapshot; its text fits the width it is asked for. No value can break it.

local core = require "dlrepl.core"
local read = require "dlrepl.plot.read"

local methods, meta = {}, {__name = "plot", _rich = "plot"}
meta.__index = methods

local DRAW = {lines = "curve", scatter = "curve", hist = "bars", image = "shade", bars = "ranks",
              stack = "curve"}
local HEIGHT, IMAGE_HEIGHT, FEWEST = 15, 32, 20
local OPTIONS = {
  title = "string", columns = "number", height = "number", ascii = "boolean", bins = "number",
  range = "table", unit = "string",
}

-- Options checked; unknown names are errors.
local function check(options, fn)
  for key, v in pairs(options or {}) do
    if not OPTIONS[key] then
      core.raise("TypeError", string.format("%s() got an unexpected keyword argument '%s'", fn,
                                            tostring(key)),
                 {notes = {"options: title, columns, height, ascii, bins, range, unit"}})
    elseif type(v) ~= OPTIONS[key] then
      core.raise("TypeError", string.format("%s(): option '%s' must be a %s", fn, key,
                                            OPTIONS[key]))
    end
  end
  local range = options and options.range
  if range and not (math.type(range[1]) and math.type(range[2]) and range[1] <= range[2]
                    and range[2] - range[1] == range[2] - range[1]) then
    core.raise("ValueError", fn .. "(): range must be two numbers, the smaller first")
  end
  return options or {}
end

local function whole(v, least, default)
  if not v or v ~= v then return default end
  return math.floor(math.max(least, math.min(v, 10000)))
end

local function make(kind, fields, options)
  fields.kind, fields.title, fields.options = kind, options.title, options
  return setmetatable(fields, meta)
end

-- text(columns): the plot as lines of at most so many columns; the terminal's width by default.
function methods.text(self, columns)
  local o = self.options
  local look = {
    columns = whole(columns or o.columns, FEWEST, math.max(dlrepl._columns(io.stdout) - 1, FEWEST)),
    height = whole(o.height, 3, self.kind == "image" and IMAGE_HEIGHT or HEIGHT),
    utf8 = not o.ascii and dlrepl._utf8(),
  }
  local out = {self.title}
  require("dlrepl.plot." .. DRAW[self.kind]).draw(self, look, out)
  return table.concat(out, "\n")
end

function meta.__tostring(self) return self:text() end

local M = {}

-- (x, y, options), (y, options): nil for what is not there
local function split(x, y, options)
  if options == nil and type(y) == "table" and type(next(y)) == "string" then
    return x, nil, y
  end
  return x, y, options
end

function M.lines(x, y, options)
  x, y, options = split(x, y, options)
  options = check(options, "plot")
  return make("lines", {series = read.many(x, y, "plot")}, options)
end

function M.scatter(x, y, options)
  x, y, options = split(x, y, options)
  options = check(options, "scatter")
  return make("scatter", {series = read.many(x, y, "scatter")}, options)
end

function M.hist(values, options)
  options = check(options, "hist")
  local list = read.list(values, "hist")
  local bins = whole(options.bins, 1, math.max(1, math.min(20, math.ceil((#list) ^ 0.5))))
  return make("hist", require("dlrepl.plot.bars").count(list, bins, options.range), options)
end

-- A matrix, or an image [1 or 3, h, w], whose channels are averaged.
function M.image(values, options)
  options = check(options, "image")
  if type(values) == "table" then values = core.torch.tensor(values) end
  local t = read.tensor(values)
  local c = t and t:dim() == 3 and t.shape[0]
  if c == 1 or c == 3 then t = t:mean(0) end
  if not t or t:dim() ~= 2 then
    read.complain("image", "a matrix or an image of 1 or 3 channels", values)
  end
  return make("image", {values = t, range = options.range}, options)
end

-- Named values as bars, the largest first: {name = value, …}, or {{name, value}, …} as they stand.
function M.bars(values, options)
  options = check(options, "bars")
  if type(values) ~= "table" then
    read.complain("bars", "a table of numbers by name", values)
  end
  local names, list = read.named(values, "bars")
  return make("bars", {names = names, values = list, unit = options.unit}, options)
end

-- What adds up, over x: {name = values, …}. The text draws each and their sum.
function M.stack(x, parts, options)
  options = check(options, "stack")
  if type(parts) ~= "table" or type(next(parts)) ~= "string" then
    read.complain("stack", "values by name, {name = values, …}", parts)
  end
  local series = read.many(parts, nil, "stack")
  for i, s in ipairs(series) do series[i] = read.one(x, s.y, "stack", s.name) end
  local sum = {}
  for i = 1, #series[1].y do
    sum[i] = 0.0
    for _, s in ipairs(series) do sum[i] = sum[i] + s.y[i] end
  end
  local total = {x = series[1].x, y = sum, name = "all"}
  return make("stack", {series = {total, table.unpack(series)}, unit = options.unit}, options)
end

-- A matrix is a picture, everything else a line.
local function plot(_, x, y, options)
  x, y, options = split(x, y, options)
  if y == nil and core.is_tensor(x) and x:dim() >= 2 then return M.image(x, options) end
  return M.lines(x, y, options)
end

return setmetatable(M, {__call = plot})
