-- report.lua -- dlrepl.report(): what memory is for, and who holds graphs
--
--     dlrepl.report()                        -- now: bytes by role on each device, held graphs
--     dlrepl.report(model)                   -- and by module
--     dlrepl.report(function() … end, model) -- while the function runs: peak, timeline, by module
--
-- The object prints as text. For front ends: roles (bytes by device and role), modules, graphs,
-- peak, timeline (a dlrepl.plot of bytes by role over the ops).
--
-- INVARIANT  A snapshot: it keeps no tensor alive.

local core = require "dlrepl.core"
local class = require "torch.nn.class"
local graphs = require "dlrepl.graphs"
local odict = require "dlrepl.odict"
local Record = require "dlrepl.recorded"

local size_text = require "dlrepl.bytes"
local meta = {__name = "report", _rich = "report"}
local ROLES = {"parameter", "gradient", "optimizer state", "saved activation", "batch", "other"}

-- ---- tables in text ----------------------------------------------------------------------------

-- Rows of texts in columns, the first to the left, the others to the right.
local function columns(rows)
  local width = {}
  for _, row in ipairs(rows) do
    for i, text in ipairs(row) do width[i] = math.max(width[i] or 0, #text) end
  end
  local lines = {}
  for r, row in ipairs(rows) do
    local parts = {}
    for i, text in ipairs(row) do
      parts[i] = i == 1 and text .. (" "):rep(width[i] - #text)
        or (" "):rep(width[i] - #text) .. text
    end
    lines[r] = (table.concat(parts, "  "):gsub("%s+$", ""))
  end
  return lines
end

local function sum(bytes)
  local n = 0
  for _, role in ipairs(ROLES) do n = n + (bytes[role] or 0) end
  return n
end

local function role_rows(by_device)
  local rows = {{"", table.unpack(ROLES)}}
  rows[1][#rows[1] + 1] = "total"
  for device, bytes in odict.pairs(by_device) do
    local row = {device}
    for _, role in ipairs(ROLES) do row[#row + 1] = size_text(bytes[role] or 0) end
    row[#row + 1] = size_text(sum(bytes))
    rows[#rows + 1] = row
  end
  return rows
end

local function append(lines, more)
  for _, line in ipairs(more) do lines[#lines + 1] = line end
end

-- ---- by module ---------------------------------------------------------------------------------

local function bytes_of(t) return t:numel() * t:element_size() end

-- Parameters and gradients of a module's own, not of its children.
local function own_bytes(module)
  local params, grads = 0, 0
  for _, p in module:named_parameters({recurse = false}) do
    params = params + bytes_of(p)
    if p.grad then grads = grads + bytes_of(p.grad) end
  end
  return params, grads
end

-- What each call left saved, without what the calls inside it left.
local function saved_by_name(calls)
  local saved, inside = {}, {}
  for i = #calls, 1, -1 do
    local c = calls[i]
    local own = c.saved - (inside[c.depth + 1] or 0)
    inside[c.depth + 1] = nil
    inside[c.depth] = (inside[c.depth] or 0) + c.saved
    saved[c.name] = (saved[c.name] or 0) + math.max(own, 0)
  end
  return saved
end

local function modules_of(model, record)
  local saved = record and saved_by_name(record.modules) or {}
  local list = {}
  for path, module in model:named_modules() do
    local params, grads = own_bytes(module)
    local name = getmetatable(module).__name
    local kept = saved[path ~= "" and path or name]
    if params > 0 or (kept or 0) > 0 then
      list[#list + 1] = {path = path ~= "" and path or name, class = name, parameter = params,
                         gradient = grads, saved = kept}
    end
  end
  return list
end

local function module_rows(list)
  local rows = {{"module", "class", "parameter", "gradient", "saved by forward"}}
  for _, m in ipairs(list) do
    rows[#rows + 1] = {m.path, m.class, size_text(m.parameter), size_text(m.gradient),
                       m.saved and size_text(m.saved) or "-"}
  end
  return rows
end

-- ---- a run -------------------------------------------------------------------------------------

-- Bytes by role over the ops, of the busiest device.
local function timeline_of(record)
  local device, most = "cpu", 0
  for name, m in pairs(record.memory) do
    local kind = name == "cuda:0" and "cuda" or name
    if (kind == "cuda" or kind == "cpu") and (kind == "cuda" or m.peak > most) then
      if device ~= "cuda" then device, most = kind, m.peak end
    end
  end
  if #record.timeline < 2 then return nil end
  local x, parts = {}, {}
  for _, role in ipairs(ROLES) do parts[role] = {} end
  for i, s in ipairs(record.timeline) do
    x[i] = s.op
    for _, role in ipairs(ROLES) do parts[role][i] = s[device][role] end
  end
  for _, role in ipairs(ROLES) do
    local any = false
    for _, v in ipairs(parts[role]) do any = any or v > 0 end
    if not any then parts[role] = nil end
  end
  if next(parts) == nil then return nil end
  return require("dlrepl.plot").stack(x, parts,
    {title = "bytes on " .. device .. " by role, op by op", unit = "B"})
end

local function peaks_of(record)
  local at, rows = {}, {}
  for device, m in pairs(record.memory) do
    at[device] = m.at_peak
    rows[device] = m.peak
  end
  return at, rows
end

local function run_text(self, lines)
  local r = self.record
  lines[#lines + 1] = "at the peak, bytes by role"
  append(lines, columns(role_rows(self.at_peak)))
  lines[#lines + 1] = string.format("%d kernels, %.3g FLOPs, graph of %d nodes at most, %d steps "
    .. "(%d skipped)", r.kernels, r.flops, r.graph.nodes_peak, r.optimizer.taken,
    r.optimizer.skipped)
  if r.flushed + r.overflowed > 0 then
    lines[#lines + 1] = string.format("%d values were flushed to zero and %d overflowed in 16 bits",
                                      r.flushed, r.overflowed)
  end
  local loader, hooks = Record.loader_text(r), Record.hooks_text(r)
  if loader then lines[#lines + 1] = "loader: " .. loader end
  if hooks then lines[#lines + 1] = "hooks that ran: " .. hooks end
  if r.error ~= nil then lines[#lines + 1] = "it failed: " .. tostring(r.error) end
  lines[#lines + 1] = ""
end

-- ---- the object --------------------------------------------------------------------------------

function meta.__tostring(self)
  local lines = {}
  if self.record then run_text(self, lines) end
  lines[#lines + 1] = self.record and "afterwards, bytes by role" or "bytes by role"
  append(lines, columns(role_rows(self.roles)))
  if self.modules then
    lines[#lines + 1] = ""
    append(lines, columns(module_rows(self.modules)))
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = #self.graphs > 0 and "graphs that are held" or nil
  lines[#lines + 1] = tostring(self.graphs)
  if self.timeline then
    lines[#lines + 1] = ""
    lines[#lines + 1] = tostring(self.timeline)
  end
  return table.concat(lines, "\n")
end

local function read(first, second)
  local fn, model
  for _, v in ipairs {first, second} do
    if type(v) == "function" then fn = v
    elseif class.is_module(v) then model = v
    else
      core.raise("TypeError", "report() takes a function and a module, but got "
                 .. core.typename(v))
    end
  end
  return fn, model
end

return function(first, second)
  local fn, model = read(first, second)
  local self = setmetatable({}, meta)
  if fn then
    local record = dlrepl.debug.record(fn, {watch = model})
    self.at_peak, self.peak = peaks_of(record)
    self.timeline = timeline_of(record)
    record.results, record.ops = nil, nil
    self.record = record
  end
  self.graphs = graphs.find(2)
  self.roles = dlrepl.debug.ledger()
  if model then self.modules = modules_of(model, self.record) end
  return self
end
