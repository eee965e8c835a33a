-- recorded.lua -- questions to a run record, and its text
--
-- For record.lua (what the prompt has) and lesson/record.lua (what a check asks).
--
-- MUST NOT   know lessons.

local size_text = require "dlrepl.bytes"
local ipairs, pairs = ipairs, pairs

local Record = {}

-- The operations that the program itself or a layer called, of that name; all without a name.
function Record:calls(name)
  local out = {}
  for _, o in ipairs(self.ops) do
    if not name or o.op == name or o.id == name then out[#out + 1] = o end
  end
  return out
end

-- The first operation that `good` says no to; nil when it says yes to all.
function Record:first_not(good)
  for _, o in ipairs(self.ops) do if not good(o) then return o end end
end

local copies = {_to_copy = true, copy_ = true, clone = true}

-- The first operation, copies apart, whose operands and results are not on one device; nil.
function Record:mixed()
  return self:first_not(function(o) return o.one_device or copies[o.op] or copies[o.id] end)
end

-- The last call of an operation by one of these names; nil.
function Record:last(...)
  for i = #self.ops, 1, -1 do
    for _, name in ipairs {...} do
      if self.ops[i].op == name or self.ops[i].id == name then return self.ops[i] end
    end
  end
end

-- "mul on cuda:0, cpu"
function Record.describe(o)
  local parts, seen = {}, {}
  for _, d in ipairs(o.devices) do
    if not seen[d] then
      seen[d] = true
      parts[#parts + 1] = d
    end
  end
  return o.op .. " on " .. (#parts > 0 and table.concat(parts, " and ") or tostring(o.device))
end

-- Bytes at the peak of the device ("cuda:0"); 0 where nothing was there.
function Record:peak(device)
  local m = self.memory[device]
  return m and m.peak or 0
end

-- The watched parameter of that name.
function Record:param(name)
  for _, p in ipairs(self.params) do if p.name == name then return p end end
end

-- Names of watched parameters for which `test` is true.
function Record:params_where(test)
  local out = {}
  for _, p in ipairs(self.params) do if test(p) then out[#out + 1] = p.name end end
  return out
end

-- How often hooks of a kind ran ("forward", "tensor", …), for that name; for all without a name.
function Record:hook_runs(kind, name)
  local n = 0
  for _, h in ipairs(self.hooks) do
    if h.kind == kind and (not name or h.name == name) then n = n + h.count end
  end
  return n
end

-- Bytes and number of the copies between devices (host to host left out).
function Record:moved()
  local bytes, count = 0, 0
  for _, way in ipairs {"h2d", "d2h", "d2d"} do
    bytes, count = bytes + self.copies[way].bytes, count + self.copies[way].count
  end
  return bytes, count
end

-- ---- text -------------------------------------------------------------------------------------

local function seconds(s)
  if s < 1e-3 then return string.format("%.3g us", s * 1e6) end
  return s < 1 and string.format("%.3g ms", s * 1e3) or string.format("%.3g s", s)
end

local function stages(t)
  local parts = {}
  for _, stage in ipairs {"load", "copy", "forward", "backward", "optimizer"} do
    if t[stage] > 0 then parts[#parts + 1] = stage .. " " .. seconds(t[stage]) end
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

local function time_lines(self, add)
  local virtual = self.virtual_seconds
  add("time", stages(self.seconds))
  if virtual.elapsed > 0 then
    add("simulated", string.format("%s; device busy %.0f %%", stages(virtual) or "no stage",
                                   100 * virtual.busy / virtual.elapsed))
  end
end

local function memory_lines(self, add)
  local names = {}
  for name in pairs(self.memory) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local m = self.memory[name]
    add("memory " .. name, string.format("peak %s, %s at the start, %s at the end%s",
      size_text(m.peak), size_text(m.start), size_text(m.now),
      m.ooms > 0 and ", out of memory " .. m.ooms .. " times" or ""))
  end
end

-- "3 batches, waited for 1.2 ms"; nil without a loader.
function Record:loader_text()
  local l = self.loader
  if l.batches == 0 then return nil end
  local text = string.format("%d batches, waited for %s", l.batches, seconds(l.wait))
  if l.virtual_wait > 0 then text = text .. ", simulated " .. seconds(l.virtual_wait) end
  return text
end

-- "forward of 0.fc: 3, …"; nil where no hook ran.
function Record:hooks_text()
  local parts = {}
  for _, h in ipairs(self.hooks) do
    local name = h.name ~= "" and " of " .. h.name or ""
    parts[#parts + 1] = string.format("%s%s: %d", h.kind, name, h.count)
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

local function precision_line(self)
  if self.flushed + self.overflowed + self.nonfinite == 0 then return nil end
  return string.format("%d values flushed to zero, %d overflowed, %d inf or nan in results",
                       self.flushed, self.overflowed, self.nonfinite)
end

-- The record in some lines, each with a word in front.
function Record:text()
  local lines = {}
  local function add(word, text)
    if text then lines[#lines + 1] = string.format("%-16s %s", word, text) end
  end
  local bytes, moves = self:moved()
  local g, o = self.graph, self.optimizer
  add("ops", string.format("%d, %d kernels, %.3g FLOPs, %s read, %s written", #self.ops
      + self.dropped, self.kernels, self.flops, size_text(self.bytes_read),
      size_text(self.bytes_written)))
  time_lines(self, add)
  memory_lines(self, add)
  add("copies", moves > 0 and string.format("%d between devices, %s; %d syncs", moves,
      size_text(bytes), self.syncs) or nil)
  add("graph", g.nodes_peak > 0 and string.format("%d nodes at most, %d left; %d backward call%s",
      g.nodes_peak, g.nodes_end, g.backward_calls, g.backward_calls == 1 and "" or "s") or nil)
  add("optimizer", o.taken + o.skipped > 0 and string.format("%d steps, %d skipped", o.taken,
      o.skipped) or nil)
  add("loader", self:loader_text())
  add("hooks", self:hooks_text())
  add("precision", precision_line(self))
  if self.error ~= nil then add("it failed", tostring(self.error)) end
  return table.concat(lines, "\n")
end

return Record
