-- progress.lua -- a progress bar around any loop
--
--     for x, y in dlrepl.progress(loader, {desc = "epoch 1"}) do … end
--     local bar = dlrepl.progress(loader)
--     for x, y in bar do … bar:set {loss = loss:item()} end
--
-- On a terminal: one line that is redrawn at most ten times a second, with rate and time left; the
-- bar of an inner loop stands below that of the outer one and is wiped when it ends.
-- In a notebook: the open bars share one output, which is redrawn as often (rich/board.lua).
-- Elsewhere (a file, a pipe): a few plain lines for each outer loop, so that logs stay readable.
--
-- INVARIANT  Values pass through unchanged; every `for` loop over the bar starts anew. On a
--            terminal the cursor rests on the line of the outermost open bar.
-- MUST NOT   write more often than the clock allows, however fast the loop is.

local getmetatable = debug.getmetatable -- __metatable hides nothing from us
local core = require "dlrepl.core"
local loop = require "dlrepl.loop"
local repr = require "dlrepl.pyrepr"

local methods, meta = {}, {__name = "progress"}
meta.__index = methods

local REDRAW, PLAIN_LINES = 0.1, 4 -- seconds between redraws; lines a loop without a terminal
local WIDTH, NARROW = 24, 4        -- columns of the bar itself: at most, and not worth drawing

local now, is_terminal = dlrepl.clock, dlrepl._isatty
local open = {}                    -- bars whose loops run, the outermost first

local function duration(seconds) -- 75 -> "01:15"
  if seconds ~= seconds or seconds == math.huge then return "?" end
  seconds = math.floor(seconds + 0.5)
  if seconds >= 3600 then
    return string.format("%d:%02d:%02d", seconds // 3600, seconds // 60 % 60, seconds % 60)
  end
  return string.format("%02d:%02d", seconds // 60, seconds % 60)
end

local function rate_text(rate, unit)
  if rate >= 1e6 then return string.format("%.1fM %s/s", rate / 1e6, unit)
  elseif rate >= 1e4 then return string.format("%.1fk %s/s", rate / 1e3, unit)
  elseif rate >= 1 then return string.format("%.1f %s/s", rate, unit)
  elseif rate > 0 then return string.format("%.2f s/%s", 1 / rate, unit)
  end
  return "? " .. unit .. "/s"
end

local function value_text(v)
  if math.type(v) ~= "float" then return tostring(v) end
  local size = math.abs(v)
  return string.format((size >= 1e-3 and size < 1e6 or v == 0) and "%.4f" or "%.4g", v)
end

local function postfix_text(self)
  local parts = {}
  for _, k in ipairs(self.order) do
    parts[#parts + 1] = (k == "" and "" or k .. " ") .. value_text(self.values[k])
  end
  return #parts > 0 and "  " .. table.concat(parts, "  ") or ""
end

local function number(v)
  return string.format(math.tointeger(v) and "%d" or "%.6g", math.tointeger(v) or v)
end

local function length(s) return utf8.len(s) or #s end

-- The first `columns` characters.
local function cut(s, columns)
  if length(s) <= columns then return s end
  local stop = utf8.len(s) and utf8.offset(s, columns + 1) or columns + 1
  return s:sub(1, stop - 1)
end

local function bar_text(share, columns)
  columns = math.min(columns, WIDTH)
  if columns < NARROW then return "" end
  local full = math.floor(share * columns)
  local on, off = "#", "."
  if dlrepl._utf8() then on, off = "█", "·" end
  return " |" .. on:rep(full) .. off:rep(columns - full) .. "|"
end

-- What stands before and after the bar itself, and the share that is done (nil: nobody knows of how
-- much): desc, share; count, time, rate, postfix. columns: as wide as that at most; nil: any width.
local function sides(self, columns)
  local elapsed = math.max(now() - self.began, 1e-9)
  local rate = self.n / elapsed
  local head = self.desc and self.desc .. ": " or ""
  local speed = "  " .. rate_text(rate * self.scale, self.unit)
  local postfix = postfix_text(self)
  local tail, total = "", self.total
  local done = total and self.n <= total and (total > 0 and self.n / total or 1)
  if done then
    local left = rate > 0 and (total - self.n) / rate or math.huge
    head = head .. string.format("%3d%%", math.floor(done * 100))
    tail = string.format(" %s/%s  %s<%s", number(self.n), number(total), duration(elapsed),
                         duration(left))
  else
    tail = string.format("%s %s  %s", number(self.n), self.unit, duration(elapsed))
  end
  local room = columns or math.huge -- what does not fit is left out: the rate before the values
  if length(head .. tail .. speed .. postfix) <= room then tail = tail .. speed end
  if length(head .. tail .. postfix) <= room then tail = tail .. postfix end
  return head, tail, done or nil
end

-- The whole line; with a bar if there is room for one.
local function line(self, columns)
  local head, tail, done = sides(self, columns)
  local share = done and columns and bar_text(done, columns - length(head .. tail) - 3) or ""
  local text = head .. share .. tail
  return columns and cut(text, columns) or text
end
meta.__tostring = function(self) return self.began and line(self) or "progress" end

local function depth(self)
  for i, bar in ipairs(open) do if bar == self then return i - 1 end end
end

-- Write text into the bar's line of the terminal, and go back to the outermost bar's.
local function put(self, text)
  local below = depth(self) or 0
  self.out:write(("\n"):rep(below), "\r\27[K", text, below > 0 and "\27[" .. below .. "A\r" or "")
  self.out:flush()
end

-- The output of a notebook that the open bars share, nil outside.
local board

local function draw_board() board:draw(open, sides, line) end

local function draw(self)
  if self.board then draw_board()
  elseif self.terminal then put(self, line(self, dlrepl._columns(self.out) - 1))
  else self.out:write(line(self), "\n") self.out:flush()
  end
end

-- The line, cell or script ends while bars are open (a loop was left): the cursor goes below them.
local function settle()
  local bars = open
  if board then draw_board() end
  open, board = {}, nil
  for _, bar in ipairs(bars) do
    if bar.terminal then
      draw(bar)
      bar.out:write("\n")
      bar.out:flush()
    end
  end
end

local function join(self)
  if depth(self) then return end
  open[#open + 1] = self
  if self.board and not board then board = require("dlrepl.rich.board").new() end
  dlrepl._at_settle(settle)
end

local function due(self)
  if self.board then return now() - board.drawn >= REDRAW end
  if self.terminal then
    local t = now()
    if t - self.drawn < REDRAW then return false end
    self.drawn = t
    return true
  end
  return self.total and self.n < self.total and open[1] == self
         and self.n * PLAIN_LINES // self.total > (self.n - 1) * PLAIN_LINES // self.total
end

-- set{loss = 0.5}: values shown after the rate; set("text") is one of them.
function methods.set(self, values)
  if type(values) ~= "table" then values = {[""] = values} end
  local fresh = {}
  for k, v in pairs(values) do
    if self.values[k] == nil then fresh[#fresh + 1] = tostring(k) end
    if core.is_tensor(v) then v = v:item() end
    self.values[tostring(k)] = v
  end
  table.sort(fresh)
  for _, k in ipairs(fresh) do self.order[#self.order + 1] = k end
end

-- update(n): advance by hand, for bars that wrap nothing.
function methods.update(self, n)
  if n ~= nil and type(n) ~= "number" then
    core.raise("TypeError", "update() expects a number, but got " .. repr.typename(n))
  end
  if not self.began or self.closed then self:_begin() end
  join(self)
  self.n = self.n + (n or 1)
  if due(self) then draw(self) end
end

-- close(): draw the last state and end the line. Closing twice does nothing.
function methods.close(self)
  if not self.began or self.closed then return end
  self.closed = true
  local below = depth(self)
  while below and #open > below + 1 do open[#open]:close() end -- left without being closed
  if self.board then
    if below == 0 then draw(self) end
  elseif not self.terminal then draw(self)
  elseif below == 0 then
    draw(self)
    self.out:write("\n")
    self.out:flush()
  elseif below then
    put(self, "")
  end
  if below then table.remove(open, below + 1) end
  if #open == 0 then board = nil end
end
meta.__close = methods.close

function methods._begin(self)
  self.n, self.began, self.drawn, self.closed = 0, now(), now(), false
  join(self)
  if self.terminal or self.board and (#open == 1 or due(self)) then draw(self) end
end

-- What `for x in iterable` would call: an iterator function and where its loop stands.
local function source(self)
  local iterable = self.iterable
  if type(iterable) == "number" then
    local i = -1
    return function()
      i = i + 1
      if i < iterable then return i end
    end
  end
  local mt = getmetatable(iterable)
  if type(iterable) == "function" or mt and mt.__call then
    local control = self.control
    return function()
      local values = table.pack(iterable(self.state, control))
      control = values[1]
      return table.unpack(values, 1, values.n)
    end
  end
  local i = 0
  return function()
    i = i + 1
    return iterable[i]
  end
end

-- The next step of an outer loop: inner loops are over, however they were left.
local function close_inner(self)
  local top = open[#open]
  while top and top ~= self and top.looping and depth(self) do
    top:close()
    top = open[#open]
  end
end

local function start(self)
  local step = source(self)
  self.looping = true
  self:_begin()
  local function pass(first, ...)
    if first == nil then
      self:close()
      return nil
    end
    return first, ...
  end
  local begun = false
  return function()
    if begun then
      close_inner(self)
      self:update(1)
    end
    begun = true
    return pass(step())
  end
end

function meta.__call(self, _, control) return loop.step(self, control, start) end

local function count(iterable)
  if type(iterable) == "number" then return math.max(0, math.ceil(iterable)) end
  local mt = getmetatable(iterable)
  if type(iterable) == "table" or (mt and mt.__len) then
    local ok, n = pcall(function() return #iterable end)
    return ok and n or nil
  end
end

local OPTIONS = {total = "number", desc = "any", unit = "string", scale = "number", out = "any",
                 terminal = "boolean"}

local function is_options(t)
  if type(t) ~= "table" or getmetatable(t) then return false end
  for key in pairs(t) do if type(key) ~= "string" then return false end end
  return true
end

local function check_options(o)
  for key, v in pairs(o) do
    if not OPTIONS[key] then
      core.raise("TypeError", "progress() got an unexpected keyword argument '" .. tostring(key)
                 .. "'", {notes = {"options: total, desc, unit, scale, out, terminal"}})
    elseif OPTIONS[key] ~= "any" and type(v) ~= OPTIONS[key] then
      core.raise("TypeError", string.format("progress(): option '%s' must be a %s, not %s", key,
                                            OPTIONS[key], repr.typename(v)))
    end
  end
end

local function check_iterable(v)
  local mt = getmetatable(v)
  if type(v) == "function" or type(v) == "number" and v - v == 0 then return end
  if type(v) == "table" and not mt and #v == 0 and next(v) ~= nil then
    core.raise("TypeError", "progress() expects a list, but this table has no element 1",
               {notes = {"for its keys and values: dlrepl.progress(pairs(t))"}})
  end
  if type(v) == "table" or type(v) ~= "string" and mt and (mt.__call or mt.__index) then return end
  core.raise("TypeError", "progress() expects a list, a loader, a tensor, an iterator or a number, "
             .. "but got " .. (type(v) == "number" and tostring(v) or repr.typename(v)))
end

-- dlrepl.progress(iterable, {total =, desc =, unit = "it", scale = 1, out = io.stderr})
-- iterable: a list, whatever can stand after `in` (pairs(t) too), or n for 0 to n - 1.
-- scale: items a step, so that a bar over batches of 64 shows samples a second.
-- Returns the bar, and what lets a `for` loop close it however the loop ends.
local function progress(iterable, ...)
  local state, control = ...
  local o = {}
  if is_options(state) and select("#", ...) == 1 then o, state = state, nil end
  check_iterable(iterable)
  check_options(o)
  local total = o.total or count(iterable)
  local self = setmetatable({
    iterable = iterable, state = state, control = control, unit = o.unit or "it",
    total = total and total - total == 0 and total or nil,
    desc = o.desc ~= nil and tostring(o.desc):gsub("%c", " ") or nil,
    scale = o.scale or 1, out = o.out or io.stderr, values = {}, order = {}, n = 0,
  }, meta)
  local kernel = rawget(dlrepl, "kernel")
  self.board = o.out == nil and o.terminal == nil and kernel and kernel.active or false
  self.terminal = o.terminal
  if self.terminal == nil and not self.board then
    self.terminal = is_terminal(self.out) and os.getenv("TERM") ~= "dumb"
  end
  return self, nil, nil, self
end

return progress
