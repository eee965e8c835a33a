-- dlrepl_progress.lua -- progress bars: what passes through, what is drawn, how a loop may end
local t = require "tap"

local progress = dlrepl.progress

-- Everything that f(options) makes its bars write.
local function written(terminal, f)
  local out = io.tmpfile()
  local ok, e = pcall(f, {out = out, terminal = terminal})
  out:seek("set")
  local text = out:read("a")
  out:close()
  return text, ok, e
end

-- What a terminal shows after this text: lines, with \r, \n, ESC[K and ESC[nA obeyed.
local function screen(text)
  local rows, row, column, at = {{}}, 1, 1, 1
  while at <= #text do
    local up = text:match("^\27%[(%d+)A", at)
    local char = text:match("^" .. utf8.charpattern, at)
    if up then row, at = row - tonumber(up), at + #up + 3
    elseif text:sub(at, at + 2) == "\27[K" then
      for i = column, #rows[row] do rows[row][i] = nil end
      at = at + 3
    elseif char == "\r" then column, at = 1, at + 1
    elseif char == "\n" then
      row, column, at = row + 1, 1, at + 1
      rows[row] = rows[row] or {}
    else
      rows[row][column] = char
      column, at = column + 1, at + #char
    end
  end
  for i, cells in ipairs(rows) do rows[i] = table.concat(cells) end
  return rows, row
end

local function collect(iterable, ...)
  local options, seen = ..., {}
  options = options or {}
  options.out = io.tmpfile()
  for v, w in progress(iterable, options) do seen[#seen + 1] = w == nil and v or {v, w} end
  options.out:close()
  return seen
end

-- ---- what may be looped over -------------------------------------------------------------------
t.is(collect {5, 6}, {5, 6}, "a list")
t.is(collect(3), {0, 1, 2}, "a number counts from 0")
t.is(collect(0), {}, "zero steps are none")
t.is(collect(("a b"):gmatch("%a")), {"a", "b"}, "an iterator")
t.is(collect(torch.tensor({7, 8}):enumerate())[2][1], 1, "an iterator that wants its control value")
t.is(#collect(torch.ones(3, 2)), 3, "a tensor's rows")
local loader = DataLoader(TensorDataset(torch.ones(5, 2), torch.zeros(5)), {batch_size = 2})
t.is(collect(loader)[3][2]:numel(), 1, "a loader, with all its values")
local sum = 0
for _, v in progress(ipairs {1, 2, 3}) do sum = sum + v end
t.is(sum, 6, "ipairs(t), whose three values belong together")
local bar = progress(2, {out = io.tmpfile()})
local twice = 0
for _ = 1, 2 do for _ in bar do twice = twice + 1 end end
t.is(twice, 4, "every loop over a bar starts anew")

-- ---- without a terminal ------------------------------------------------------------------------
local text = written(false, function(o)
  o.desc = "epoch\n1"
  for _ in progress(100, o) do end
end)
t.is(select(2, text:gsub("\n", "")), 4, "a loop is four lines")
t.like(text, "^epoch 1:  25%% 25/100  00:00<00:00  [%d.]+[kM]? it/s\n",
       "with desc, share, count, time, time left and rate")
t.like(text, "epoch 1: 100%% 100/100  [^\n]*\n$", "the last is complete")
t.ok(not text:find("[\r\27]"), "and nothing that only a terminal understands")
text = written(false, function(o)
  local inner = {out = o.out, desc = "inner"}
  for _ in progress(2, o) do for _ in progress(50, inner) do end end
end)
t.is(select(2, text:gsub("inner", "")), 2, "an inner loop is one line")
text = written(false, function(o)
  local b = progress(3, o)
  for _ in b do b:set {loss = torch.tensor(0.5), acc = 1e-7, step = 3} end
end)
t.like(text, "  acc 1e%-07  loss 0.5000  step 3\n$", "set() shows values in a steady order")
text = written(false, function(o)
  o.total = 4
  local b = progress(("abcd"):gmatch("."), o)
  for c in b do b:set(c) end
end)
t.like(text, "  d\n$", "set() takes a text too")
t.like(text, "50%% 2/4", "total= is for what has no length")
text = written(false, function(o)
  for _ in progress(("abc"):gmatch("."), o) do end
end)
t.like(text, "^3 it  00:00  [%d.]+[kM]? it/s\n$", "without a length: how many, and how fast")
text = written(false, function(o)
  o.total = 2
  for _ in progress({1, 2, 3}, o) do end
end)
t.like(text, "3 it  00:00[^\n]*\n$", "more than total= is no error")

-- ---- on a terminal -----------------------------------------------------------------------------
local function leave(how)
  return written(true, function(o)
    for i in progress(10, o) do
      if i == 5 and how == "break" then break end
      if i == 5 and how == "error" then error("stop", 0) end
    end
  end)
end
for _, how in ipairs {"break", "error", "end"} do
  local rows, row = screen((leave(how)))
  t.ok(#rows == 2 and row == 2 and rows[2] == "", "after " .. how .. " the cursor is on a new line")
  t.like(rows[1], how == "end" and "^100%%.*10/10" or "^ 50%%.*5/10", "and the bar says how far")
end
text = written(true, function(o)
  local inner = {out = o.out, terminal = true, desc = "inner"}
  o.desc = "outer"
  for _ in progress(2, o) do
    for i in progress(3, inner) do if i == 1 then break end end
  end
end)
local rows, row = screen(text)
t.like(rows[1], "^outer: 100%%", "the outer bar stays on its line")
t.is(table.concat(rows, "", 2), "", "the inner bar is wiped")
t.is(row, 2, "nested bars end on a new line")
t.like(table.concat(screen(text:sub(1, (text:find("inner", 1, true)) + 40)), "\n", 1, 2),
       "^outer.*\ninner", "the inner bar stands below the outer one")
text = written(true, function(o)
  for _ in progress(3, o) do
    local kept = progress(4, {out = o.out, terminal = true})
    for _ in kept do break end
  end
end)
rows, row = screen(text)
t.is(row, 2, "inner bars that were left without being closed pile up nothing")
t.is(table.concat(rows, "", 2), "", "and leave nothing behind")
text = written(true, function(o)
  o.desc = "a description that goes on and on and on and on for longer than the line is wide"
  for _ in progress(2, o) do end
end)
local widest, columns = 0, dlrepl._columns(io.tmpfile())
for _, line in ipairs((screen(text))) do widest = math.max(widest, utf8.len(line)) end
t.ok(widest < columns, "a line never wraps")
text = written(true, function(o)
  o.desc = ("d"):rep(columns - 30)
  local b = progress(2, o)
  for _ in b do b:set {loss = 0.5} end
end)
t.like(screen(text)[1], "^d+: 100%% 2/2  00:00<00:00$", "what does not fit is left out whole")
text = written(true, function(o) for _ in progress(200000, o) do end end)
t.ok(#text < 4000, "a fast loop draws few lines")

-- ---- by hand -----------------------------------------------------------------------------------
text = written(false, function(o)
  o.total = 10
  local b <close> = progress({}, o)
  b:update(5)
  b:update(2.5)
end)
t.like(text, " 75%% 7.5/10", "update(n) advances by hand")

-- ---- errors ------------------------------------------------------------------------------------
local wants = "TypeError: progress() expects a list, a loader, a tensor, an iterator or a number, "
t.raises(function() progress() end, wants .. "but got NoneType", "nothing to loop over")
t.raises(function() progress("abc") end, wants .. "but got str", "no string")
t.raises(function() progress(0 / 0) end, wants .. "but got …", "no nan")
t.raises(function() progress {a = 1} end,
         "TypeError: progress() expects a list, but this table has no element 1…", "no bare keys")
t.raises(function() progress({1}, {totl = 1}) end,
         "TypeError: progress() got an unexpected keyword argument 'totl'…", "unknown options")
t.raises(function() progress({1}, {total = "x"}) end,
         "TypeError: progress(): option 'total' must be a number, not str", "total is a number")

t.done()
