-- record.lua -- the engine's record of an answer's run, and questions to it
--
-- For judge.lua and, as r.rec, for a lesson's check. The record is kept in C and copied into a
-- table when the run has ended; nothing of it is a name of an answer's.
--
-- MUST NOT   be loaded by a session.

local keep = dlrepl.debug.record
local ipairs, pairs = ipairs, pairs
local M = {}

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

-- run(fn, {watch=, exact=}) -> results (packed), record; or nil, record, the error
function M.run(fn, options)
  local r = keep(fn, options)
  for k, f in pairs(Record) do r[k] = f end
  if r.error ~= nil then return nil, r, r.error end
  return r.results, r
end

return M
