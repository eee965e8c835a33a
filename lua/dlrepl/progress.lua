-- progress.lua -- a progress bar around any loop
--
--     local bar = dlrepl.progress(loader, {desc = "epoch 1"})
--     for x, y in bar do … bar:set {loss = loss:item()} end
--
-- On a terminal: one line that is redrawn at most ten times a second, with rate and time left.
-- Elsewhere (a file, a pipe): a few plain lines for each loop, so that logs stay readable.
--
-- INVARIANT  Values pass through unchanged; every `for` loop over the bar starts anew.
-- MUST NOT   write more often than the clock allows, however fast the loop is.

local loop = require "dlrepl.loop"

local methods, meta = {}, {__name = "progress"}
meta.__index = methods

local REDRAW, PLAIN_LINES = 0.1, 4 -- seconds between redraws; lines a loop without a terminal
local WIDTH = 24                   -- columns of the bar itself

local now, is_terminal = dlrepl.clock, dlrepl._isatty

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

local function postfix_text(self)
  local parts = {}
  for _, k in ipairs(self.order) do
    local v = self.values[k]
    if math.type(v) == "float" then v = string.format("%.4f", v) end
    parts[#parts + 1] = k .. " " .. tostring(v)
  end
  return #parts > 0 and "  " .. table.concat(parts, "  ") or ""
end

-- The whole line, without colour: desc, share, bar, count, time, rate, postfix.
local function line(self, with_bar)
  local elapsed = math.max(now() - self.began, 1e-9)
  local rate = self.n / elapsed
  local unit_rate = rate_text(rate * self.scale, self.unit)
  local head = self.desc and self.desc .. ": " or ""
  if not self.total then
    return string.format("%s%d %s  %s  %s%s", head, self.n, self.unit, duration(elapsed), unit_rate,
                         postfix_text(self))
  end
  local share = self.total > 0 and self.n / self.total or 1
  local bar = ""
  if with_bar then
    local full = math.floor(share * WIDTH)
    bar = " |" .. string.rep("█", full) .. string.rep("·", WIDTH - full) .. "|"
  end
  local left = rate > 0 and (self.total - self.n) / rate or math.huge
  return string.format("%s%3d%%%s %d/%d  %s<%s  %s%s", head, math.floor(share * 100), bar, self.n,
                       self.total, duration(elapsed), duration(left), unit_rate, postfix_text(self))
end

local function draw(self, final)
  if self.terminal then
    self.out:write("\r\27[K", line(self, true), final and "\n" or "")
    self.out:flush()
  else
    self.out:write(line(self, false), "\n")
    self.out:flush()
  end
end

local function due(self)
  if self.terminal then
    local t = now()
    if t - self.drawn < REDRAW then return false end
    self.drawn = t
    return true
  end
  return self.total and self.n < self.total
         and self.n * PLAIN_LINES // self.total > (self.n - 1) * PLAIN_LINES // self.total
end

-- set{loss = 0.5}: values shown after the rate; set("text") is one of them.
function methods.set(self, values)
  if type(values) ~= "table" then values = {[""] = values} end
  local fresh = {}
  for k in pairs(values) do
    if self.values[k] == nil then fresh[#fresh + 1] = k end
  end
  table.sort(fresh)
  for _, k in ipairs(fresh) do self.order[#self.order + 1] = k end
  for k, v in pairs(values) do
    if type(v) == "userdata" then v = v:item() end
    self.values[k] = v
  end
end

-- update(n): advance by hand, for bars that wrap nothing.
function methods.update(self, n)
  if not self.began then self:_begin() end
  self.n = self.n + (n or 1)
  if due(self) then draw(self, false) end
end

-- close(): draw the last state and end the line. Closing twice does nothing.
function methods.close(self)
  if self.began and not self.closed then draw(self, true) end
  self.closed = true
end
meta.__close = methods.close

function methods._begin(self)
  self.n, self.began, self.drawn, self.closed = 0, now(), -math.huge, false
end

-- What `for x in iterable` would call: an iterator function and where its loop stands.
local function source(iterable)
  if type(iterable) == "function" then return iterable end
  if type(iterable) == "number" then
    local i = -1
    return function()
      i = i + 1
      if i < iterable then return i end
    end
  end
  local mt = getmetatable(iterable)
  if mt and mt.__call then
    local control
    return function()
      local values = table.pack(iterable(nil, control))
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

local function start(self)
  local step = source(self.iterable)
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
    if begun then self:update(1) end
    begun = true
    return pass(step())
  end
end

function meta.__call(self, _, control) return loop.step(self, control, start) end

local function length(iterable)
  if type(iterable) == "number" then return iterable end
  local mt = getmetatable(iterable)
  if type(iterable) == "table" or (mt and mt.__len) then
    local ok, n = pcall(function() return #iterable end)
    return ok and n or nil
  end
end

-- dlrepl.progress(iterable, {total =, desc =, unit = "it", scale = 1, out = io.stderr})
-- scale: items a step, so that a bar over batches of 64 shows samples a second.
local function progress(iterable, options)
  local o = options or {}
  local self = setmetatable({
    iterable = iterable, total = o.total or length(iterable), desc = o.desc, unit = o.unit or "it",
    scale = o.scale or 1, out = o.out or io.stderr, values = {}, order = {}, n = 0,
  }, meta)
  self.terminal = o.terminal
  if self.terminal == nil then self.terminal = is_terminal(self.out) end
  return self
end

return progress
