-- rich_live.lua -- what a running cell shows: displays, progress bars, graphs, notes of errors
local t = require "tap"

local rich = require "dlrepl.rich"

-- The kernel's table, as far as Lua sees it.
local shown = {}
local function kernel(on)
  shown = {}
  dlrepl.kernel = on and {active = true, display = function(data, metadata, id, update)
    shown[#shown + 1] = {data = data, metadata = metadata, id = id, update = update}
  end} or nil
end
local function plain(i) return shown[i].data["text/plain"] end

-- What fn prints.
local function printed(fn)
  local was, out = print, {}
  print = function(...) out[#out + 1] = table.concat({...}, "\t") end
  local ok, e = pcall(fn)
  print = was
  if not ok then error(e, 0) end
  return table.concat(out, "\n")
end

-- ---- display -------------------------------------------------------------------------------
t.is(printed(function() dlrepl.display(torch.ones(2)) end), "tensor([1., 1.])",
     "at the prompt a value is printed")
t.is(printed(function() dlrepl.display("a") end), '"a"', "as the prompt prints it")
kernel(true)
t.is(select("#", dlrepl.display(torch.ones(2))), 0, "in a notebook it is shown and returns nothing")
t.ok(shown[1].data["text/html"] and shown[1].id == nil, "with all its forms and no id")
local handle = dlrepl.display(1, {display_id = true})
handle:update("two")
t.is({plain(2), plain(3)}, {"1", '"two"'}, "a handle changes what is shown")
t.ok(shown[2].id and shown[2].id == shown[3].id, "under the same id")
t.is({shown[2].update, shown[3].update}, {false, true}, "the second time as an update")
t.isnt(dlrepl.display(1, {display_id = true}).display_id, handle.display_id, "ids are fresh")
t.is(dlrepl.display(1, {display_id = "mine"}).display_id, "mine", "or the user's own")
t.raises(function() dlrepl.display(1, {id = 1}) end,
         "TypeError: display() got an unexpected keyword argument 'id'…", "unknown options")

local cleared = {}
dlrepl.kernel.clear_output = function(wait) cleared[#cleared + 1] = wait end
dlrepl.clear_output()
dlrepl.clear_output(true)
dlrepl.clear_output {wait = true}
t.is(cleared, {false, true, true}, "clear_output, at once or with the next output")
kernel(false)
t.is(pcall(dlrepl.clear_output), true, "at the prompt nothing is cleared")

-- ---- progress ------------------------------------------------------------------------------
kernel(true)
local sum = 0
for i in dlrepl.progress(5, {desc = "<b>"}) do sum = sum + i end
t.is(sum, 10, "values pass through")
t.is({shown[1].update, shown[2].update}, {false, true}, "a bar is shown once, then updated")
t.is(shown[1].id, shown[#shown].id, "in place")
t.like(plain(1), "^<b>:   0%% |", "its text begins at nothing")
t.like(plain(#shown), "^<b>: 100%% |.*5/5", "and ends when the loop does")
t.like(shown[#shown].data["text/html"], '&lt;b&gt;: 100%%<progress value="1.0000" max="1"',
       "its HTML has a bar, and is escaped")
local first = shown[1].id
kernel(true)
for _ = 1, 1 do for _ in dlrepl.progress(2) do end end
t.isnt(shown[1].id, first, "the next bar has an output of its own")
kernel(true)
for _ in dlrepl.progress(1000) do end
t.ok(#shown < 20, "a fast loop is not drawn each time")
kernel(true)
for _ in dlrepl.progress(3, {desc = "outer"}) do
  for _ in dlrepl.progress(2, {desc = "inner"}) do
    local stop = dlrepl.clock() + 0.06
    repeat until dlrepl.clock() > stop
  end
end
local ids, both = {}, false
for i, s in ipairs(shown) do
  ids[s.id] = true
  both = both or plain(i):find("outer.*\n.*inner") ~= nil
end
t.is(next(ids, next(ids)), nil, "an inner bar shares the output")
t.ok(both, "below the outer one")
t.ok(not plain(#shown):find("inner"), "and is gone at the end")
kernel(true)
for x in dlrepl.progress({1, 2, 3}) do if x == 2 then break end end
t.like(plain(#shown), "1/3", "a loop that is left keeps its last state")
kernel(true)
local bar = dlrepl.progress(2)
bar:update(1)
bar:set {loss = 0.5}
bar:close()
t.like(plain(#shown), "loss 0.5", "values are shown")
kernel(true)
local endless = dlrepl.progress(function() return 1 end)
local n = 0
for _ in endless do
  n = n + 1
  if n == 3 then break end
end
t.ok(not shown[1].data["text/html"]:find("<progress"), "without a total there is no bar")
kernel(true)
local file = io.tmpfile()
for _ in dlrepl.progress(2, {out = file}) do end
t.is(#shown, 0, "a bar that is sent to a file goes there")
kernel(false)

-- ---- graphs --------------------------------------------------------------------------------
local w = torch.ones(2, {requires_grad = true})
local y = w * 3
local loss = (y + y:exp()):sum()
local g = dlrepl.graph(loss, {w = w})
t.is(tostring(g), table.concat({
  "SumBackward0 []", "  AddBackward0 [2]", "    MulBackward0 [2]", "      w [2] (leaf)",
  "    ExpBackward0 [2]", "      MulBackward0 [2] (see above)"}, "\n"), "a graph as text")
t.is(#g.nodes, 5, "each node stands once")
local svg = rich.bundle(g)["image/svg+xml"]
t.is(select(2, svg:gsub("<rect [^>]*rx", "")), 5, "a box a node")
t.is(select(2, svg:gsub("marker%-end", "")), 5, "an arrow an edge")
t.ok(not svg:find("nan") and not svg:find("inf"), "every coordinate is a number")
local model = nn.Sequential(nn.Linear(2, 2))
t.like(dlrepl.graph(model(torch.ones(1, 2)), model), "0.weight %[2, 2%] %(leaf%)",
       "leaves are named from a model")
t.like(rich.bundle(loss.grad_fn)["image/svg+xml"], "SumBackward0", "a grad_fn is drawn too")
t.is(rich.bundle(loss.grad_fn)["text/plain"], "<SumBackward0 object>", "its text stays")
local hostile = dlrepl.graph(loss, {["<script>&"] = w})
t.like(rich.bundle(hostile)["image/svg+xml"], "&lt;script&gt;&amp;", "names are escaped")
local deep = torch.ones(1, {requires_grad = true})
for _ = 1, 400 do deep = deep * 2 end
local long = dlrepl.graph(deep)
t.is(#long.nodes, 300, "a long graph is cut")
t.like(long, "%(1 edges lead further%)$", "which is said")
local wide = deep
for _ = 1, 30 do wide = wide + wide * wide end
t.like(rich.bundle(dlrepl.graph(wide))["image/svg+xml"], "^<svg", "a thick graph is drawn")
t.raises(function() dlrepl.graph(torch.ones(1)) end,
         "RuntimeError: graph(): this tensor has no grad_fn…", "no graph")
t.raises(function() dlrepl.graph(3) end,
         "TypeError: graph() expects a tensor or a grad_fn, but got int", "no tensor")
t.raises(function() dlrepl.graph(loss, 3) end,
         "TypeError: graph() expects a module or a table of tensors by name, but got int",
         "no names")
local before = dlrepl.debug.live()
g, long, wide, hostile, deep = nil, nil, nil, nil, nil
t.ok(dlrepl.debug.live() <= before, "a graph object keeps no tensor alive")

-- ---- errors --------------------------------------------------------------------------------
local _, e = pcall(function() return torch.ones(2, 3):matmul(torch.ones(2, 3)) end)
local bundle = rich.bundle(e)
t.is(bundle["text/plain"], tostring(e), "a caught error has the text it always has")
t.like(bundle["text/html"], "^<div[^>]*><div><b>RuntimeError</b>: mat1", "its class stands out")
t.like(bundle["text/html"], "<details><summary>notes</summary>.*self: torch.float32",
       "its notes are folded under it")
local failure = require "dlrepl.rich.failure"
local notes = failure.notes(tostring(e))
t.like(notes["text/html"], "<details><summary>3 notes", "the notes alone, for the kernel")
t.like(notes["text/plain"], "^self: torch.float32 %[2, 3%] on cpu\n", "as text")
t.is(failure.notes("RuntimeError: short"), nil, "an error without notes has none")
t.like(failure.notes("E: a\n  <b>")["text/html"], "&lt;b&gt;", "they are escaped")

-- ---- plots that others fill ------------------------------------------------------------------
local bars = dlrepl.plot.bars({conv = 0.02, relu = 2e-4, add = 0 / 0}, {unit = "s", title = "t"})
t.is(bars.names[1], "conv", "bars: the largest first")
t.like(bars:text(60), "^t\nconv┤?|?.* 20 ms\n", "with scaled units")
t.is(dlrepl.plot.bars({{"b", 1}, {"a", 2}}).names, {"b", "a"}, "a list keeps its order")
t.like(dlrepl.plot.bars({x = 3 * 2 ^ 20}, {unit = "B"}):text(40), " 3 MiB$", "bytes")
t.like(dlrepl.plot.bars({}):text(40), "nothing to draw", "none")
t.like(rich.bundle(bars)["application/vnd.vegalite.v5+json"], '"value": 20[,}]', "as Vega-Lite")
t.like(rich.bundle(bars)["image/svg+xml"], ">20 ms<", "as SVG")
local stack = dlrepl.plot.stack({0, 1, 2}, {weights = {1, 1, 1}, saved = {0, 5, 2}}, {unit = "B"})
t.is(stack.series[1].y, {1, 6, 3}, "stack: the sum comes first")
t.like(stack:text(60), "%* all  o saved  x weights", "and has a name in the text")
t.like(rich.bundle(stack)["application/vnd.vegalite.v5+json"], '"stack": "zero"', "as Vega-Lite")
t.like(rich.bundle(stack)["image/svg+xml"], "fill%-opacity", "as SVG")
local net = nn.Linear(2, 2)
local function step() net(torch.ones(1, 2)):sum():backward() end
local report = rich.bundle(dlrepl.report(step, net))
t.like(report["text/html"], "at the peak.*<table>.*Linear.*>24 B</td>", "a report: tables")
t.like(report["text/html"], "<svg.*bytes on cpu by role", "and the timeline, drawn")
t.raises(function() dlrepl.plot.bars(3) end,
         "TypeError: bars() expects a table of numbers by name, but got int", "no table")
t.raises(function() dlrepl.plot.bars({a = "x"}) end,
         "TypeError: bars() expects numbers, but element 1 is str", "no numbers")
t.raises(function() dlrepl.plot.stack({1}, {1, 2}) end,
         "TypeError: stack() expects values by name, {name = values, …}, but got list", "no names")
t.raises(function() dlrepl.plot.stack({1}, {a = {1, 2}}) end,
         "ValueError: stack(): x and y must have the same length, but have 1 and 2", "lengths")

t.done()
