-- dlrepl_plot.lua -- plots in text: what they show, and that no value breaks them
local t = require "tap"

local plot = dlrepl.plot
local inf, nan = math.huge, 0 / 0

local function text(p, columns) return p:text(columns) end

-- The widest line, in characters.
local function width(s)
  local most = 0
  for line in (s .. "\n"):gmatch("(.-)\n") do most = math.max(most, utf8.len(line) or #line) end
  return most
end

local function lines(s) return select(2, s:gsub("\n", "\n")) + 1 end

local utf8_ok = os.setlocale("C.UTF-8", "ctype") ~= nil

-- ---- lines -------------------------------------------------------------------------------------
t.is(text(plot({1, 2, 3}, {height = 3, ascii = true}), 20), table.concat({
  "3+             *****",
  "2+     ********",
  "1+*****",
  " ++--------+-------+",
  "  1        2       3"}, "\n"), "a line from the lowest left to the highest right, with ticks")
t.is(plot({1, 2}).series[1].x, {1, 2}, "positions in a list count from 1")
t.is(plot(torch.tensor {5., 6.}).series[1].x, {0, 1}, "positions in a tensor count from 0")
t.is(plot({1, 2}, {3, 4}).series[1].x, {1, 2}, "plot(x, y) is y against x")
t.is(plot(torch.ones(2, {requires_grad = true}):mul(2)).series[1].y, {2, 2},
     "a tensor that requires grad is drawn")
t.is(plot(torch.tensor {true, false}).series[1].y, {1, 0}, "booleans are 1 and 0")
t.is(plot(np.array {1.5, 2.5}).series[1].y, {1.5, 2.5}, "an array is drawn")
local several = plot({train = {1, 2}, valid = {2, 1}}, {title = "loss"})
t.like(text(several, 40), "^loss\n", "the title comes first")
t.like(text(several, 40), "%* train  o valid", "several series have a mark and a name each")
t.is(plot({{1, 2}, torch.ones(2)}).series[2].name, "2", "series in a list are numbered")
local list = {1, 2}
local snapshot = plot(list)
list[3] = 9
t.is(#snapshot.series[1].y, 2, "a plot is a snapshot")
t.is(tostring(snapshot), snapshot:text(), "a plot prints its text")
if utf8_ok then
  t.like(text(plot({1, 2}, {height = 3}), 20), "[\u{2801}-\u{28ff}]", "braille where it can be")
end
t.ok(not text(plot({1, 2}, {height = 3, ascii = true}), 20):find("[\128-\255]"),
     "ascii=true has nothing but ASCII")

-- ---- no value breaks it --------------------------------------------------------------------
t.is(tostring(plot({})), "(nothing to draw: no finite values)", "an empty list says so")
t.is(tostring(plot(torch.empty(0))), "(nothing to draw: no finite values)", "an empty tensor too")
t.is(tostring(plot({nan, inf})), "(nothing to draw: no finite values)", "nothing finite says so")
t.like(text(plot({1, nan, inf, -inf, 2}), 40), "%(3 values are not finite and left out%)$",
       "what is not finite is left out and counted")
local strange = {
  ["one point"] = {5}, ["a constant"] = {3, 3, 3}, ["zeros"] = {0, 0},
  ["the largest numbers"] = {-1.7976931348623157e308, 1.7976931348623157e308},
  ["the smallest number"] = {0, 5e-324}, ["one huge number"] = {1.7976931348623157e308},
  ["neighbours"] = {1e16, 1e16 + 2}, ["integers at the end"] = {math.mininteger, math.maxinteger},
}
for name, values in pairs(strange) do
  for _, columns in ipairs {40, 100} do
    for _, ascii in ipairs {true, false} do
      local s = text(plot(values, {ascii = ascii}), columns)
      local h = text(plot.hist(values, {ascii = ascii}), columns)
      local i = text(plot.image(torch.tensor {values}, {ascii = ascii}), columns)
      local at = string.format("%s at %d columns%s", name, columns, ascii and ", ASCII" or "")
      t.ok(width(s) <= columns and lines(s) >= 17, "a line fits: " .. at)
      t.ok(width(h) <= columns, "a histogram fits: " .. at)
      t.ok(width(i) <= columns, "an image fits: " .. at)
    end
  end
end
t.like(text(plot({1e16, 1e16 + 2}), 40), "10000000000000002", "ticks tell neighbours apart")

local peak = torch.zeros(1000000)
peak[123456] = 1
local began = dlrepl.clock()
local top = text(plot(peak, {ascii = true}), 60):match("^[^\n]*")
t.like(top, "%*", "a million points lose no peak")
t.ok(dlrepl.clock() - began < 20, "and are drawn in a moment")

-- ---- the others ----------------------------------------------------------------------------
local h = plot.hist({0, 0.1, 0.9, 1, nan}, {bins = 2})
t.is(h.counts, {2, 2}, "a histogram counts, the right edge with the last bin")
t.is(h.edges, {0, 0.5, 1}, "a histogram keeps its edges")
t.is(h.missing, 1, "nan is in no bin")
t.is(plot.hist({1, 2, 9}, {bins = 2, range = {1, 3}}).missing, 1, "range leaves others out")
t.is(text(plot.hist({0, 0, 1}, {bins = 2, ascii = true}), 20),
     "  0|############## 2\n0.5|####### 1\n  1|", "one line a bin, with its count")
t.is(text(plot.scatter({0, 1}, {0, 1}, {height = 3, ascii = true}), 20):match("^.-\n.-\n[^\n]*"),
     "1.0+               *\n0.5+\n  0+*", "scatter sets points and no lines")
t.is(text(plot.image({{0, 1}, {2, nan}}, {ascii = true}), 40),
     "  ++\n@@??\n0  .:-=+*#%@ 2  (2 x 2)", "an image is shaded cell by cell")
t.like(text(plot.image(torch.rand(3, 100, 300)), 60), "100 x 300, drawn as 10 x 60",
       "a large image is averaged down in its proportions")
t.is(plot(torch.eye(2)).kind, "image", "a matrix is a picture")
t.is(text(plot.image(torch.zeros(0, 3)), 40), "(nothing to draw: 0 rows, 3 columns)",
     "an empty matrix says so")

local shown = {}
local display = dlrepl.show.display
dlrepl.show.display = function(p) shown[#shown + 1] = p.kind end
dlrepl.show(torch.rand(1, 28, 28))
dlrepl.show(torch.rand(2, 1, 8, 8))
dlrepl.show.display = display
t.is(shown, {"image", "image", "image"}, "show() takes an image or a batch, and can be redirected")

-- ---- errors --------------------------------------------------------------------------------
t.raises(function() plot("abc") end,
         "TypeError: plot() expects a tensor or a list of numbers, but got str", "no string")
t.raises(function() plot({1, "a"}) end,
         "TypeError: plot() expects numbers, but element 2 is str", "no string in a list")
t.raises(function() plot({1, 2}, {1}) end,
         "ValueError: plot(): x and y must have the same length, but have 2 and 1", "lengths")
t.raises(function() plot({1}, {colour = 1}) end,
         "TypeError: plot() got an unexpected keyword argument 'colour'…", "unknown options")
t.raises(function() plot({1}, {title = {}}) end,
         "TypeError: plot(): option 'title' must be a string", "options of another type")
t.raises(function() plot.image(torch.ones(3)) end,
         "TypeError: image() expects a matrix or an image of 1 or 3 channels, "
         .. "but got a tensor of shape [3]", "an image has rows and columns")
t.raises(function() plot.hist({1}, {range = {2, 1}}) end,
         "ValueError: hist(): range must be two numbers, the smaller first", "a range ascends")

t.done()
